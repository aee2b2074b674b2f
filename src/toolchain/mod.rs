//! Finds and fingerprints compilers, compiles tests in batches, and lifts the code that compilers
//! make.
//!
//! It does not know models.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

mod amdgcn;
pub mod ask;
pub mod assemble;
pub mod bench;
pub mod cage;
pub mod compile;
pub mod dumps;
pub mod evidence;
pub mod execute;
pub mod fingerprint;
pub mod foreign;
pub mod host;
pub mod image;
pub mod kernel;
pub mod kind;
pub mod layout;
pub mod ld;
pub mod lift;
pub mod listing;
pub mod process;
pub mod ptx;
pub mod runtime;
pub mod scratch;
mod spirv;
pub mod supervisor;
pub mod table;
pub mod trace;
pub mod trouble;
mod variables;
