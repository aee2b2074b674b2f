//! The kind `mutate`: rewrites tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `mutate`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutate {
    /// The stage whose C tests are rewritten.
    pub from: Sp<String>,
    /// How tests are rewritten, without a change of meaning: `dead-code`, `register-pressure`,
    /// `declarations`, `loop`, `blocks` or `helpers`.
    #[serde(default)]
    pub rewrite: Option<Sp<String>>,
    /// Or how tests are weakened, in all places at once: `orders` (each memory order by one step),
    /// `relaxed` (all orders become relaxed, and fences are dropped) or `fences` (fences are
    /// dropped).
    #[serde(default)]
    pub weaken: Option<Sp<String>>,
}

impl Options for Mutate {
    fn about() -> &'static str {
        "rewrites C tests without a change of meaning, or weakens them."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Tests
    }
}
