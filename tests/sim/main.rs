//! The simulator: outcome sets as they must be, and its engines against the exhaustive reference.

mod addresses;
mod amdgcn;
mod bpf;
mod commute;
#[path = "../common/differ.rs"]
mod differ;
mod drawn;
mod engines;
#[path = "../common/exec.rs"]
#[allow(dead_code, reason = "whole executions are for the tests of cat")]
mod exec;
mod finals;
#[path = "../common/kernel.rs"]
mod kernel;
#[path = "../common/listings.rs"]
mod listings;
mod outcomes;
#[allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]
mod ptx;
#[path = "../common/litmus.rs"]
mod random;
mod reference;
#[allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]
mod sanitizer;
mod scoped;
mod statics;
mod structures;
mod undefined;
mod visible;
#[path = "../common/wide.rs"]
mod wide;
mod witness;
