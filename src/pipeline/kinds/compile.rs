//! `compile`: tests through a compiler.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Items, Options};
use litmake_profile::types::{Observe, Storage};
use litmake_profile::yaml::Sp;

/// Options of `compile`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compile {
    /// The stage whose C tests, or parts of tests, are compiled.
    pub from: Sp<String>,
    /// The profile: a name or a file.
    pub profile: Sp<String>,
    /// Which locals are kept alive to the end of a thread, so that their final values can be
    /// compared: those of the condition, all, or none. Keeping them can hide bugs. With `none`, shared
    /// locations alone are compared, those that the test's condition or its `locations` name.
    #[serde(default)]
    pub observe: Observe,
    /// Where the shared locations are: behind pointers that threads are given, or variables,
    /// global or static, as programs have them.
    #[serde(default)]
    pub storage: Storage,
    /// Whether each atomic operation is in a helper function that is not inlined, as real code
    /// has them behind the functions of a library.
    #[serde(default)]
    pub helpers: bool,
    /// Compiles one test in so many alone as well, and fails where what stands beside a test
    /// changed what the compiler makes of it.
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
