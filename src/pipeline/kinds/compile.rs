//! The kind `compile`: compiles tests, and lifts the code back to tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::types::{Observe, Storage};
use litmake_profile::yaml::Sp;

/// Options of `compile`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compile {
    /// The stage whose C tests, or parts of tests, are compiled.
    pub from: Sp<String>,
    /// The profile: a name or a file.
    pub profile: Sp<String>,
    /// The locals that are kept to the end of a thread, so that their final values can be compared:
    /// those of the `condition`, `all`, or `none`. Keeping locals can hide bugs. With `none`, only
    /// the shared locations that the test's condition or its `locations` name are compared.
    #[serde(default)]
    pub observe: Observe,
    /// How tests reach the shared locations: through `pointers` that threads are given, or as
    /// variables, `globals` or `statics`.
    #[serde(default)]
    pub storage: Storage,
    /// Whether each atomic operation is in a helper function that is not inlined, as in code that
    /// calls a library.
    #[serde(default)]
    pub helpers: bool,
    /// Also compiles one test in N alone, and fails if that gives other code than compiling it
    /// together with other tests (default: none).
    #[serde(default)]
    pub alone: Option<Sp<u64>>,
}

impl Options for Compile {
    fn about() -> &'static str {
        "compiles C tests and lifts the object code back to litmus tests."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn takes(&self) -> &'static [Items] {
        &[Items::Tests, Items::Parts]
    }

    fn gives(&self, from: Option<Items>) -> Items {
        match from {
            Some(Items::Parts) => Items::Code,
            _ => Items::Tests,
        }
    }

    fn profile(&self) -> Option<&Sp<String>> {
        Some(&self.profile)
    }
}
