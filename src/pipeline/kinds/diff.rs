//! The kind `diff`: compares the code and outcomes of two compilers for the same tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `diff`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// The `simulate` stage for the code of the first compiler, version, level or architecture.
    pub before: Sp<String>,
    /// The `simulate` stage for the code of the second one.
    pub after: Sp<String>,
}

impl Options for Diff {
    fn about() -> &'static str {
        "compares the code and the outcomes of two compilers for the same tests."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.before, &self.after]
    }

    fn takes(&self) -> &'static [Items] {
        &[Items::Outcomes]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Verdicts
    }
}
