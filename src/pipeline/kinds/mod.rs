//! The kinds of stages: one file a kind, with its options and what planning asks of it, and one table
//! of them all.
//!
//! The parser, the JSON Schema and the reference in `docs/` come from the same types. How a stage
//! does its work is not known here.

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
use serde::Deserialize;

use litmake_base::diag::Span;
use litmake_profile::yaml::{Scalar, Sp, Words};

/// What the items are that a stage gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// Tests of any dialect.
    Tests,
    /// Parts of C tests.
    Parts,
    /// What a compiler made of parts of tests.
    Code,
    /// What simulations came to.
    Outcomes,
    /// What comparisons and runs found: findings, and the rest.
    Verdicts,
}

impl Items {
    /// What they are called, for people.
    pub fn name(self) -> &'static str {
        match self {
            Items::Tests => "tests",
            Items::Parts | Items::Code => "parts of tests",
            Items::Outcomes => "outcomes",
            Items::Verdicts => "verdicts",
        }
    }
}

/// The options of a kind of stages, and what planning and the report ask of them.
pub trait Options {
    /// What stages of this kind do, for the schema and the reference.
    fn about() -> &'static str
    where
        Self: Sized;

    /// The stages that it consumes.
    fn inputs(&self) -> Vec<&Sp<String>> {
        Vec::new()
    }

    /// What it consumes; diagnostics name the first.
    fn takes(&self) -> &'static [Items] {
        &[Items::Tests]
    }

    /// What it gives, where the first stage that it consumes gives `from`.
    fn gives(&self, from: Option<Items>) -> Items;

    /// The profile that it names, which what consumes it goes by.
    fn profile(&self) -> Option<&Sp<String>> {
        None
    }

    /// The profiles whose code shares a machine here, where it names several.
    fn mixes(&self) -> Option<&Words> {
        None
    }

    /// Whether one instance consumes all instances of a stage that agree with it, whose profiles
    /// then share a machine.
    fn gathers(&self) -> bool {
        false
    }

    /// Whether what it gives was compiled with the profile of the first stage that it consumes, if that
    /// has one; else with that of the last stage that has one.
    fn follows_first(&self) -> bool {
        false
    }

    /// Whether what it gives can be findings.
    fn judges(&self) -> bool {
        false
    }
}

/// Makes what stands for every kind of the table: the keys of a stage, and a type that is one of them.
macro_rules! kinds {
    ($($key:ident: $Kind:ident,)*) => {
        $(pub use $key::$Kind;)*

        /// One stage: a name, exactly one kind with its options, and how it is fanned out.
        #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Stage {
            /// The name by which other stages, targets and reports refer to it.
            pub name: Sp<String>,
            /// What the stage is for, for people.
            #[serde(default)]
            pub about: Option<String>,
            /// Fans the stage out over every combination of the values of these variables. A stage that
            /// consumes it is fanned out likewise.
            #[serde(default)]
            pub matrix: BTreeMap<String, Words>,
            /// Fans the stage out over these assignments of variables, one after the other.
            #[serde(default)]
            pub foreach: Vec<BTreeMap<String, Sp<Scalar>>>,
            $(
                #[serde(default)]
                #[schemars(description = format!("Kind: {}", $Kind::about()))]
                #[allow(missing_docs, reason = "the kind says it")]
                pub $key: Option<Sp<$Kind>>,
            )*
        }

        /// The kinds of stages, by the key that says each.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(clippy::large_enum_variant, reason = "a pipeline has a few dozen stages")]
        pub enum Kind {
            $(#[allow(missing_docs, reason = "the kind says it")] $Kind($Kind),)*
        }

        impl Kind {
            /// The keys that say them, in the order of the table.
            pub const NAMES: &[&str] = &[$(stringify!($key)),*];

            /// The key that says it.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Kind::$Kind(_) => stringify!($key),)*
                }
            }

            /// What planning asks of it.
            pub fn options(&self) -> &dyn Options {
                match self {
                    $(Kind::$Kind(options) => options,)*
                }
            }
        }

        impl Stage {
            /// The kinds that this stage names; a right one names exactly one.
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
