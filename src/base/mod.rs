//! Tools that every room may use: digests, stored records, files, diagnostics, failures, relations.
//!
//! It knows nothing of tests or pipelines, nor where records are stored.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

pub mod content;
pub mod cuts;
pub mod diag;
pub mod digest;
pub mod failure;
pub mod file;
pub mod framed;
pub mod local;
pub mod numbers;
pub mod plain;
pub mod records;
pub mod rel;
pub mod stop;
pub mod watch;
