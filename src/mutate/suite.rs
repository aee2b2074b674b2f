//! The suites of tests for GPUs, by their names: those of MC Mutants, and every small program.

use litmake_base::diag::Result;
use litmake_litmus::Test;

use super::mcm::{Mutant, conformance, mutants, orders, scope_mutants};
use super::small::{self, Size};

/// Which tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// The paper's mutants.
    Mutants,
    /// The tests that they come from.
    Conformance,
    /// Mutants whose fences reach less far.
    Scope,
    /// Accesses that acquire and release in place of fences: six tests, and their mutants.
    Orders,
    /// All of these whose accesses are relaxed.
    All,
    /// Every small program.
    Exhaustive,
}

impl Suite {
    /// In the order in which the command lists them.
    pub const ALL: [Suite; 6] = [
        Suite::Mutants,
        Suite::Conformance,
        Suite::Scope,
        Suite::Orders,
        Suite::All,
        Suite::Exhaustive,
    ];

    /// As the command line and pipelines call it.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Mutants => "mutants",
            Suite::Conformance => "conformance",
            Suite::Scope => "scope",
            Suite::Orders => "orders",
            Suite::All => "all",
            Suite::Exhaustive => "exhaustive",
        }
    }

    /// The suite of a name.
    pub fn named(word: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|s| s.name() == word)
    }

    /// Makes the tests; the size is that of small programs. An error is a mistake in a template.
    pub fn tests(self, size: Size) -> Result<Vec<Test>> {
        let of = |list: Vec<Mutant>| list.into_iter().map(|m| m.test);
        Ok(match self {
            Suite::Mutants => of(mutants()?).collect(),
            Suite::Conformance => of(conformance()?).collect(),
            Suite::Scope => of(scope_mutants()?).collect(),
            Suite::Orders => of(orders()?).collect(),
            Suite::All => {
                of(conformance()?).chain(of(mutants()?)).chain(of(scope_mutants()?)).collect()
            }
            Suite::Exhaustive => small::tests(size)?,
        })
    }
}
