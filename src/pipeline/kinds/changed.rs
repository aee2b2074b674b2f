//! The kind `changed`: keeps the tests that two compilers compile to different code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `changed`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// The stage whose tests are kept: the sources, or the code of one of the compilers.
    pub of: Sp<String>,
    /// The `compile` stage of the first compiler, version, level or architecture.
    pub before: Sp<String>,
    /// The `compile` stage of the second one, for the same tests.
    pub after: Sp<String>,
}

impl Options for Changed {
    fn about() -> &'static str {
        "keeps the tests that two compilers compile to different code, so that only these are simulated."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.of, &self.before, &self.after]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Tests
    }

    fn follows_first(&self) -> bool {
        true
    }
}
