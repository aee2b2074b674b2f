//! The C subset of litmus tests: syntax, meaning, emission as compilable code.
//!
//! It does not know assembly.

pub mod ast;
