//! The kind `layout`: compares how profiles lay out atomic types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Words;

/// Options of `layout`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The profiles whose code shares objects, all for one machine.
    pub profiles: Words,
    /// The types, as C names them without `_Atomic` (default: scalars, and structures of 1 to 32
    /// bytes).
    #[serde(default)]
    pub types: Words,
}

impl Options for Layout {
    fn about() -> &'static str {
        "compares how profiles lay out atomic types."
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Verdicts
    }

    fn mixes(&self) -> Option<&Words> {
        Some(&self.profiles)
    }

    fn judges(&self) -> bool {
        true
    }
}
