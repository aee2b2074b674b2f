//! Mutants: tests that differ from a given one by one disruption.
//!
//! A mutant of a conformance test shows a behaviour that is allowed and close to a forbidden one
//! ([`mcm`], [`disrupt`]); a rewriting keeps a C test's meaning and gives compilers something else
//! to chew on ([`rewrite`]); a weakening takes order away from it ([`weaken`]). Nothing here knows a model: who wants only mutants that a model
//! allows simulates them. Beside mutants stands what they are run with on GPUs: every small program
//! ([`small`]), and the names of all suites ([`suite`]).

pub mod cycles;
pub mod disrupt;
pub mod mcm;
pub mod rewrite;
pub mod small;
pub mod suite;
pub mod weaken;

#[cfg(test)]
mod tests;
