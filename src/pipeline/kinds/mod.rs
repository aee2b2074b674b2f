//! The kinds of stages: one file for each kind, with its options and what planning asks of them,
//! and one table of all kinds.
//!
//! The parser, the JSON Schema and the reference in `docs/` come from the same types. This module
//! does not know how a stage does its work.

pub mod changed;
pub mod compare;
pub mod compile;
pub mod dedupe;
pub mod diff;
pub mod generate;
pub mod layout;
pub mod link;
pub mod mutate;
pub mod run;
pub mod simulate;
pub mod split;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use litmake_base::diag::Span;
use litmake_profile::yaml::{Scalar, Sp, Words};

/// The items that a stage gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// Tests of any dialect.
    Tests,
    /// Parts of C tests.
    Parts,
    /// The code that a compiler made of parts of tests.
    Code,
    /// The outcomes of simulations.
    Outcomes,
    /// The results of comparisons and runs: findings and counts.
    Verdicts,
}

impl Items {
    /// The name of the items, in messages.
    pub fn name(self) -> &'static str {
        match self {
            Items::Tests => "tests",
            Items::Parts | Items::Code => "parts of tests",
            Items::Outcomes => "outcomes",
            Items::Verdicts => "verdicts",
        }
    }
}

/// The options of a kind of stages: what planning and the report ask of them.
pub trait Options {
    /// A description of the work of stages of this kind, for the schema and the reference.
    fn about() -> &'static str
    where
        Self: Sized;

    /// The stages that it consumes.
    fn inputs(&self) -> Vec<&Sp<String>> {
        Vec::new()
    }

    /// The items that it can consume; diagnostics name the first.
    fn takes(&self) -> &'static [Items] {
        &[Items::Tests]
    }

    /// The items that it gives, if the first stage that it consumes gives `from`.
    fn gives(&self, from: Option<Items>) -> Items;

    /// The profile that it names, which also holds for the stages that consume it.
    fn profile(&self) -> Option<&Sp<String>> {
        None
    }

    /// The profiles that it names if their code shares a machine here.
    fn mixes(&self) -> Option<&Words> {
        None
    }

    /// Whether one instance consumes all instances of a stage with the same values of shared
    /// variables. Their profiles then share a machine.
    fn gathers(&self) -> bool {
        false
    }

    /// Whether the profile of its items is that of the first stage that it consumes, if that one
    /// has a profile. Otherwise it is that of the last consumed stage with a profile.
    fn follows_first(&self) -> bool {
        false
    }

    /// Whether its results can be findings.
    fn judges(&self) -> bool {
        false
    }
}

/// From the table of kinds, makes the keys of a stage, and a type with a variant for each kind.
macro_rules! kinds {
    ($($key:ident: $Kind:ident,)*) => {
        $(pub use $key::$Kind;)*

        /// One stage: a name, exactly one kind with its options, and the variables that give it
        /// several instances.
        #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Stage {
            /// The name by which other stages, targets and reports refer to it.
            pub name: Sp<String>,
            /// The purpose of the stage, for people.
            #[serde(default)]
            pub about: Option<String>,
            /// Makes one instance for each combination of the values of these variables. A stage
            /// that consumes this one has as many instances.
            #[serde(default)]
            pub matrix: BTreeMap<String, Words>,
            /// Makes one instance for each of these assignments of variables.
            #[serde(default)]
            pub foreach: Vec<BTreeMap<String, Sp<Scalar>>>,
            $(
                #[serde(default)]
                #[schemars(description = format!("Kind: {}", $Kind::about()))]
                #[allow(missing_docs, reason = "the kind says it")]
                pub $key: Option<Sp<$Kind>>,
            )*
        }

        /// The kinds of stages, named like their keys.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
        #[expect(clippy::large_enum_variant, reason = "a pipeline has a few dozen stages")]
        pub enum Kind {
            $(#[allow(missing_docs, reason = "the kind says it")] $Kind($Kind),)*
        }

        $(impl From<$Kind> for Kind {
            fn from(options: $Kind) -> Kind {
                Kind::$Kind(options)
            }
        })*

        impl Kind {
            /// The keys of the kinds, in the order of the table.
            pub const NAMES: &[&str] = &[$(stringify!($key)),*];

            /// The key of the kind.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Kind::$Kind(_) => stringify!($key),)*
                }
            }

            /// The options, for planning.
            pub fn options(&self) -> &dyn Options {
                match self {
                    $(Kind::$Kind(options) => options,)*
                }
            }

            /// Whether stages of the kind judge something, or tell two sides apart.
            pub fn judges(&self) -> bool {
                self.options().judges() || matches!(self, Kind::Diff(_))
            }
        }

        impl Stage {
            /// The kinds that this stage names. A valid stage names exactly one.
            pub fn kinds(&self) -> Vec<(Kind, Span)> {
                let mut out = Vec::new();
                $(
                    if let Some(options) = &self.$key {
                        out.push((Kind::$Kind(options.value.clone()), options.span));
                    }
                )*
                out
            }
        }
    };
}

kinds! {
    generate: Generate,
    mutate: Mutate,
    split: Split,
    compile: Compile,
    link: Link,
    simulate: Simulate,
    dedupe: Dedupe,
    changed: Changed,
    layout: Layout,
    compare: Compare,
    diff: Diff,
    run: Run,
}
