//! The keys of pipeline files, each defined once; those of stages are in `kinds/`.
//!
//! The parser, the JSON Schema and the reference in `docs/` come from these types and their
//! comments. Nothing here knows how a stage does its work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::kinds::Stage;
use litmake_profile::yaml::{Sp, Value, Words};

/// A pipeline: stages through which tests go, and what they share.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PipelineFile {
    /// The name that reports show; the file's name where it is left out.
    #[serde(default)]
    pub name: Option<Sp<String>>,
    /// What the pipeline is for, for people.
    #[serde(default)]
    pub about: Option<String>,
    /// Other pipeline files. Their variables, environment, profiles and stages come before those
    /// of this file; paths are relative to this file.
    #[serde(default)]
    pub include: Words,
    /// Variables and their defaults: texts, numbers, booleans or lists. `${name}` stands for the
    /// value, in any text of a stage and as the whole of a number, a boolean or a list;
    /// `--set name=value` replaces it, with commas between the items of a list. Where a key is
    /// optional, an empty variable is as good as no key.
    #[serde(default)]
    pub vars: BTreeMap<String, Sp<Value>>,
    /// Environment variables that `${env.NAME}` may read. All others are hidden, so that results
    /// do not depend on them; what compilers see is declared by profiles.
    #[serde(default)]
    pub env: Words,
    /// Profile files or globs, relative to this file. Profiles under `profiles/` beside the
    /// pipeline or in the working directory, and those that litmake brings, need no mention.
    #[serde(default)]
    pub profiles: Words,
    /// A file of known findings, relative to this file; only what is not in it counts as new.
    #[serde(default)]
    pub baseline: Option<Sp<String>>,
    /// A place for anchors that stages refer to; its content is not looked at.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub templates: Option<IgnoredAny>,
    /// The stages. Their order does not matter.
    #[serde(default)]
    pub stages: Vec<Sp<Stage>>,
}
