//! Pipelines that a command makes as values, such as `check`: they have no file and no variables.
//!
//! This file does not know what commands ask, or how a pipeline is planned.

use std::path::Path;

use litmake_base::diag::{Result, Source};
use litmake_profile::files::{Files, folder_of};
use litmake_profile::yaml::Sp;
use serde::{Deserialize, Serialize};

use super::kinds::Kind;
use super::load::{Axes, Form, LoadedStage, Pipeline, load_text};

/// The name of such a pipeline in errors, in place of a file's.
pub const NAME: &str = "made by the command";

/// A pipeline as a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Made {
    name: String,
    /// The text of a pipeline file whose stages come before these.
    before: Option<String>,
    stages: Vec<MadeStage>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct MadeStage {
    name: String,
    instances: Vec<(Axes, Kind)>,
}

impl Made {
    /// A pipeline without stages.
    pub fn new(name: impl Into<String>) -> Made {
        Made { name: name.into(), ..Made::default() }
    }

    /// Puts the stages of a pipeline file, given by its text, before the others.
    pub fn after(self, text: &str) -> Made {
        Made { before: Some(text.to_string()), ..self }
    }

    /// Adds a stage.
    pub fn add(&mut self, name: impl Into<String>, kind: impl Into<Kind>) {
        self.add_each(name, [(Axes::new(), kind)]);
    }

    /// Adds a stage with an instance for each value of a variable.
    pub fn add_for<K: Into<Kind>>(
        &mut self,
        name: impl Into<String>,
        (variable, values): (&str, &[String]),
        kind: impl Fn(&str) -> K,
    ) {
        let axes = |value: &String| Axes::from([(variable.to_string(), value.clone())]);
        self.add_each(name, values.iter().map(|value| (axes(value), kind(value))));
    }

    /// Adds a stage with several instances, and the variables that tell each from the others. A
    /// stage that consumes it has as many.
    pub fn add_each<K: Into<Kind>>(
        &mut self,
        name: impl Into<String>,
        instances: impl IntoIterator<Item = (Axes, K)>,
    ) {
        let instances = instances.into_iter().map(|(axes, kind)| (axes, kind.into())).collect();
        self.stages.push(MadeStage { name: name.into(), instances });
    }

    /// The pipeline, as if it were loaded.
    pub fn pipeline(&self, files: &dyn Files) -> Result<Pipeline> {
        let path = Path::new(NAME);
        let mut out = match &self.before {
            Some(text) => load_text(files, path, Source::new(NAME, text.as_str()), &[])?,
            None => Pipeline::empty(path, Source::new(NAME, "")),
        };
        out.name.clone_from(&self.name);
        out.stages.extend(self.stages.iter().map(|stage| LoadedStage {
            source: out.source.clone(),
            dir: folder_of(path),
            name: Sp::nowhere(stage.name.clone()),
            form: Form::Made(stage.instances.clone()),
        }));
        Ok(out)
    }
}
