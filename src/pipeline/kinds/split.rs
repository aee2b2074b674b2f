//! The kind `split`: takes tests apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `split`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The stage whose C tests are taken apart.
    pub from: Sp<String>,
    /// The parts that are compiled separately.
    #[serde(default)]
    pub by: SplitBy,
}

impl Options for Split {
    fn about() -> &'static str {
        "takes C tests apart, so that their parts are compiled separately."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Parts
    }
}

/// The parts that are compiled separately: the `whole` test, each `thread`, or each `instruction`,
/// which is a statement, in branches and loops too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum SplitBy {
    Whole,
    Thread,
    #[default]
    Instruction,
}
