//! `link`: compiled parts joined.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `link`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The `compile` stage of parts. All its instances are mixed with each other, but for those
    /// that differ in a variable of this stage's own `matrix`.
    pub from: Sp<String>,
    /// How parts are put together.
    #[serde(default)]
    pub link: LinkBy,
    /// Only this mix, and each of its profiles alone: `(A(P0_0); B(P0_1)) || (A(P1_0))`, where a letter stands
    /// for an instance of `from` in their order; a profile may also be written by its name.
    #[serde(default)]
    pub mix: Option<Sp<String>>,
}

impl Options for Link {
    fn about() -> &'static str {
        "joins compiled parts into every test that profiles make together."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn takes(&self) -> &'static [Items] {
        &[Items::Code]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Tests
    }

    fn gathers(&self) -> bool {
        true
    }
}

/// How parts are put together: `splice` joins their code where it would be called; `ld` has a
/// linker make a program of separately compiled objects, and takes the test out of that, with its
/// calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum LinkBy {
    #[default]
    Splice,
    Ld,
}
