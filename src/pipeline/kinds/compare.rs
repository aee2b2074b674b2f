//! The kind `compare`: compares the outcomes of sources and of targets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::{Sp, Words};

/// Options of `compare`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The `simulate` stage of the sources.
    pub source: Sp<String>,
    /// The `simulate` stage of the targets. Every mix of a test is a target of its own.
    pub target: Sp<String>,
    /// Further `simulate` stages of the sources, under weaker models. A difference that disappears
    /// under one of them gets its label: `load buffering` for `rc11-lb`.
    #[serde(default)]
    pub also: Words,
    /// How many differences of this stage are reduced to their bugs, and how many of its new
    /// findings are explained and looked for in other versions of the compiler, at most (default:
    /// 10). With 0 nothing is reduced, and the whole tests tell the bugs.
    #[serde(default)]
    pub investigate: Option<Sp<u64>>,
}

impl Options for Compare {
    fn about() -> &'static str {
        "compares outcomes of sources with outcomes of targets."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        [&self.source, &self.target].into_iter().chain(self.also.iter()).collect()
    }

    fn takes(&self) -> &'static [Items] {
        &[Items::Outcomes]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Verdicts
    }

    fn judges(&self) -> bool {
        true
    }
}
