//! Tools that every room may use: digests, stored records, files, diagnostics, failures, relations.
//!
//! It knows nothing of tests or pipelines, nor where records are stored. What looks at files is there on Unix alone:
//! in a browser the rooms that read, simulate and compare tests have none.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

#[cfg(unix)]
pub mod content;
pub mod cuts;
pub mod diag;
pub mod digest;
pub mod failure;
#[cfg(unix)]
pub mod file;
pub mod framed;
#[cfg(unix)]
pub mod local;
pub mod numbers;
pub mod plain;
pub mod records;
pub mod rel;
pub mod stop;
pub mod watch;
