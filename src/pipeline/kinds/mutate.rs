//! `mutate`: tests rewritten.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `mutate`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutate {
    /// The stage whose C tests are rewritten.
    pub from: Sp<String>,
    /// How, with the same meaning: `dead-code`, `register-pressure`, `declarations`, `loop`,
    /// `blocks` or `helpers`.
    #[serde(default)]
    pub rewrite: Option<Sp<String>>,
    /// Or how they are weakened, in all places at once: `orders` (each memory order by a step),
    /// `relaxed` (all of them, without fences) or `fences` (without them).
    #[serde(default)]
    pub weaken: Option<Sp<String>>,
}

impl Options for Mutate {
    fn about() -> &'static str {
        "rewrites C tests so that compilers see something else and the meaning stays."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Tests
    }
}
