//! The cat language: read, check, evaluate, and lower to relational code.
//!
//! It does not know instruction sets, nor how executions are found.

pub mod plan;
