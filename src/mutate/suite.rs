//! The suites of tests for GPUs by their names: those of MC Mutants, torn read-modify-writes, and every small program.
//!
//! It does not know how tests are run.

use litmake_base::diag::Result;
use litmake_litmus::Test;

use super::mcm::{Mutant, conformance, mutants, orders, scope_mutants};
use super::small::{self, Size};
use super::updates;

/// The suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// The mutants of the paper.
    Mutants,
    /// The conformance tests that these come from.
    Conformance,
    /// Mutants with fences of a smaller scope.
    Scope,
    /// Six tests with acquire and release accesses in place of fences, and their mutants.
    Orders,
    /// The first three suites, whose accesses are all relaxed.
    All,
    /// Read-modify-writes between whose halves another thread could write.
    Updates,
    /// Every small program.
    Exhaustive,
}

impl Suite {
    /// All suites, in the order in which the command lists them.
    pub const ALL: [Suite; 7] = [
        Suite::Mutants,
        Suite::Conformance,
        Suite::Scope,
        Suite::Orders,
        Suite::All,
        Suite::Updates,
        Suite::Exhaustive,
    ];

    /// The name on the command line and in pipelines.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Mutants => "mutants",
            Suite::Conformance => "conformance",
            Suite::Scope => "scope",
            Suite::Orders => "orders",
            Suite::All => "all",
            Suite::Updates => "updates",
            Suite::Exhaustive => "exhaustive",
        }
    }

    /// The suite with a name.
    pub fn named(word: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|s| s.name() == word)
    }

    /// Calls `take` for each test, like [`Suite::tests`], and holds one small program at a time.
    pub fn each(self, size: Size, take: &mut dyn FnMut(Test)) -> Result<()> {
        match self {
            Suite::Exhaustive => small::each(size, take),
            _ => {
                self.tests(size)?.into_iter().for_each(take);
                Ok(())
            }
        }
    }

    /// Makes the tests; `size` is for small programs. An error is a mistake in a template.
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
            Suite::Updates => updates::tests()?,
            Suite::Exhaustive => small::tests(size)?,
        })
    }
}
