//! Runs tests on GPUs: code generation, environments, histograms.
//!
//! It knows neither pipelines nor how results are stored. A test comes in as a litmus test of
//! the C dialect whose accesses are atomics; what it may show comes from the simulator.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

pub mod code;
pub mod device;
pub mod environment;
pub mod layout;
pub mod oracle;
pub mod program;
pub mod reproduce;
pub mod rounds;
pub mod run;
pub mod session;
pub mod speed;
mod spirv;
pub mod tuning;
pub mod variant;
pub mod wgsl;

#[cfg(test)]
mod tests;
