//! Runs tests on the processors of this machine: generates code, draws environments, counts
//! outcomes.
//!
//! It does not know pipelines, nor how results are stored. A test is a litmus test in C or in the
//! dialect of the machine; the simulator says which outcomes are allowed.

pub mod alone;
pub mod build;
pub mod columns;
pub mod emit;
pub mod environment;
pub mod judge;
pub mod killable;
pub mod log;
pub mod machine;
pub mod run;
pub mod session;
pub mod suite;
pub mod topology;
pub mod tuning;

#[cfg(test)]
mod tests;
