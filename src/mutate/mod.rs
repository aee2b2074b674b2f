//! Makes mutants: tests that differ from a given test by one disruption.
//!
//! A mutant of a conformance test has an outcome that is allowed and close to a forbidden one
//! ([`mcm`], [`disrupt`]). A rewriting keeps the meaning of a C test and gives compilers different
//! code ([`rewrite`]). A weakening removes order from a test ([`weaken`]). Two further modules make
//! the other tests for GPUs: every small program ([`small`]), and the suites by their names
//! ([`suite`]).
//!
//! Nothing here knows a model. A caller that wants only mutants that a model allows simulates them.

pub mod cycles;
pub mod disrupt;
pub mod mcm;
pub mod rewrite;
pub mod small;
pub mod suite;
mod updates;
pub mod weaken;

#[cfg(test)]
mod tests;
