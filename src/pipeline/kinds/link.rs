//! The kind `link`: joins compiled parts to mixed tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `link`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The `compile` stage of the parts. All its instances are mixed with each other, except for
    /// those that differ in a variable of this stage's own `matrix`.
    pub from: Sp<String>,
    /// How parts are joined.
    #[serde(default)]
    pub link: LinkBy,
    /// Only this mix, and each of its profiles alone: in `(A(P0_0); B(P0_1)) || (A(P1_0))` a letter
    /// stands for an instance of `from`, in their order. The name of a profile can stand in its
    /// place.
    #[serde(default)]
    pub mix: Option<Sp<String>>,
}

impl Options for Link {
    fn about() -> &'static str {
        "joins compiled parts into every test that the profiles can make together."
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

/// How parts are joined: `splice` joins their code where it would be called; `ld` has a linker join
/// separately compiled objects to a program, and lifts the test from that, with its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum LinkBy {
    #[default]
    Splice,
    Ld,
}
