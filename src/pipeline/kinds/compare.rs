//! `compare`: outcomes of sources and of targets.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Items, Options};
use litmake_profile::yaml::{Sp, Words};

/// Options of `compare`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The `simulate` stage that says what the sources allow.
    pub source: Sp<String>,
    /// The `simulate` stage that says what the targets allow; every mix of a test is a target.
    pub target: Sp<String>,
    /// Further `simulate` stages of the sources, under weaker models. A difference that
    /// disappears under one of them is labelled: `load buffering` where it is `rc11-lb`.
    #[serde(default)]
    pub also: Words,
    /// How many new findings are looked into: reduced, explained, and looked for in other
    /// versions of the compiler; 10 where left out. Labelled ones are explained and no more.
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
