//! `simulate`: what a model allows.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `simulate`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulate {
    /// The stage whose tests are simulated.
    pub from: Sp<String>,
    /// The model: a name, a `.cat` file, or a `.cfg` file of herd's, which names a model with its bell and
    /// macro files. Where it is left out, the profile's model for compiled tests, else the default of
    /// the test's architecture.
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// How often a loop is unrolled.
    #[serde(default)]
    pub unroll: Option<Sp<u32>>,
    /// Seconds after which one test is given up.
    #[serde(default)]
    pub timeout: Option<Sp<u64>>,
}

impl Options for Simulate {
    fn about() -> &'static str {
        "computes the outcomes that a model allows."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Outcomes
    }
}
