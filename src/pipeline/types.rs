//! The keys of pipeline files, each defined once; the keys of stages are in `kinds/`.
//!
//! The parser, the JSON Schema and the reference in `docs/` come from these types and their
//! comments. This file does not know how a stage does its work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::kinds::Stage;
use litmake_profile::yaml::{Sp, Value, Words};

/// A pipeline: stages that tests go through, and what these share.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PipelineFile {
    /// The name in reports (default: the name of the file).
    pub name: Option<Sp<String>>,
    /// The purpose of the pipeline, for people.
    pub about: Option<String>,
    /// Other pipeline files, relative to this file. Their variables, environment, profiles and
    /// stages come before those of this file.
    pub include: Words,
    /// Variables and their defaults: texts, numbers, booleans or lists. `${name}` stands for the
    /// value, inside any text of a stage, and in place of a number, a boolean or a list. `--set
    /// name=value` gives it another value, with commas between the items of a list. If a variable
    /// is empty, an optional key that it stands for counts as left out.
    pub vars: BTreeMap<String, Sp<Value>>,
    /// The environment variables that `${env.NAME}` may read. All others are hidden, so that
    /// results do not depend on them. The environment of compilers is declared in profiles.
    pub env: Words,
    /// Profile files or globs, relative to this file. Profiles in `profiles/` beside the pipeline
    /// or in the working directory, and those that come with litmake, need not be listed.
    pub profiles: Words,
    /// A file of known findings, relative to this file. Only findings that are not in it make a run
    /// fail.
    pub baseline: Option<Sp<String>>,
    /// The part of the stored results that each run makes again by chance and compares, such as `1%`
    /// (`litmake cache audit`). A wrong one is an error.
    pub audit: Option<Sp<String>>,
    /// A place for YAML anchors that stages refer to; its content is ignored.
    #[schemars(with = "serde_json::Value")]
    pub templates: Option<IgnoredAny>,
    /// The stages, in any order.
    pub stages: Vec<Sp<Stage>>,
}
