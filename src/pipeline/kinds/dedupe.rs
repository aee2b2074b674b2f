//! The kind `dedupe`: keeps one of each set of equal tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `dedupe`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dedupe {
    /// The stage whose duplicates are dropped.
    pub from: Sp<String>,
}

impl Options for Dedupe {
    fn about() -> &'static str {
        "keeps one of each set of tests that differ only in their own names, info lines, comments, blanks, labels and spelling. Names of locations and registers, and the order of threads, count."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Tests
    }
}
