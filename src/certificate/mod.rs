//! Certificates: what a model allows for a test, with everything that somebody else needs to confirm it.
//!
//! [`check()`] confirms a certificate, and shares no code with the simulator. It **trusts** the first part: the
//! paths of the test's threads (events, values as expressions over reads, conditions, relations such as
//! program order and dependencies), and the model as steps over relations. That these are the test's and the
//! model's is checked by making them again. It does **not trust** anything that searches: which executions
//! were looked at, what was left out and why, symmetries, bounds, the solver.
//!
//! For each outcome a certificate has an execution that shows it. That there is no other outcome is proved:
//! variables say which write a read returns and which of two writes is first, clauses say why executions need
//! not be looked at (the model forbids them, their values are impossible, or they show an outcome that is
//! listed), and steps of unit propagation lead to a contradiction. [`check()`] makes the clauses of what an
//! execution is itself, and evaluates each other clause by itself.
//!
//! [`prove()`] looks for the proof. It uses the evaluation of the checker, and nothing trusts it.

mod check;
mod clauses;
mod execution;
mod model;
mod problem;
mod prove;
mod value;

use std::fmt;

pub use check::{Confirmed, check};
pub use prove::{Proved, prove};

/// The first line. Another version is another format.
const HEAD: &str = "litmake certificate 1";
/// The line between what is trusted and what is claimed.
const CLAIM: &str = "claim\n";
/// The last line.
const END: &str = "end\n";

/// Why a certificate is not confirmed, or cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

/// The line that tells whether the trusted part is as it was written.
fn seal(problem: &str) -> String {
    format!("seal {}", blake3::hash(problem.as_bytes()).to_hex())
}

/// The trusted part of a certificate, to be compared with another one.
pub fn problem(certificate: &str) -> Option<&str> {
    let (problem, _) = certificate.strip_prefix(HEAD)?.strip_prefix('\n')?.split_once(CLAIM)?;
    Some(problem.split_once('\n')?.1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checker_uses_no_other_crate_of_ours() {
        let manifest = include_str!("Cargo.toml");
        let uses = manifest.split("[dependencies]").nth(1).and_then(|t| t.split('[').next());
        assert!(uses.is_some_and(|t| t.contains("blake3") && !t.contains("litmake")), "{manifest}");
    }
}
