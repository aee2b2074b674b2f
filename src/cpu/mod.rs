//! Runs tests on the processors of this machine: code generation, environments, histograms.
//!
//! It knows neither pipelines nor how results are stored. A test comes in as a litmus test of the
//! machine's own dialect, or of C; what it may show comes from the simulator.

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
