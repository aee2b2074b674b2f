//! The kind `simulate`: computes the outcomes that a model allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `simulate`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulate {
    /// The stage whose tests are simulated.
    pub from: Sp<String>,
    /// The model: a name, a `.cat` file, or a `.cfg` file of herd's, which names a model with its
    /// bell and macro files (default: the profile's model for compiled tests, otherwise that of the
    /// test's dialect).
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// How often the body of a loop may run (default: 2, or the number in the `.cfg` file).
    #[serde(default)]
    pub unroll: Option<Sp<u32>>,
    /// Seconds after which the simulation of a test is given up (default: 60).
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
