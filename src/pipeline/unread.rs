//! Finds variables and keys of a `matrix` or `foreach` that nothing reads: a misspelt name would
//! otherwise change nothing, without a word.
//!
//! This file does not know what stages do.

use std::collections::BTreeSet;

use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_profile::tree::{Tree, What};
use litmake_profile::yaml::Sp;

use super::load::LoadedStage;

/// The names that texts read as `${name}`.
#[derive(Default)]
pub struct Read(BTreeSet<String>);

impl Read {
    /// Adds the names in a text.
    pub fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let is_escaped = rest[..at].ends_with('$');
            let end = rest[at..].find('}').map_or(rest.len(), |end| at + end);
            if !is_escaped {
                self.0.insert(rest[at + 2..end].trim().to_string());
            }
            rest = &rest[at + 2..];
        }
    }

    fn tree(&mut self, tree: &Tree) {
        match &tree.what {
            What::Nothing => {}
            What::Text(text, _) => self.text(text),
            What::List(list) => list.iter().for_each(|t| self.tree(t)),
            What::Map(entries) => entries.iter().for_each(|(_, t)| self.tree(t)),
        }
    }

    /// Adds the names in a stage.
    pub fn stage(&mut self, stage: &LoadedStage) {
        self.tree(&stage.tree);
    }

    /// An error if nothing reads a variable.
    pub fn check(&self, name: &str, source: &Source, span: Span) -> Result<()> {
        if self.0.contains(name) {
            return Ok(());
        }
        let diag = Diag::at(source, span, format!("nothing reads the variable `{name}`"));
        Err(match nearest(name, self.0.iter().map(String::as_str)) {
            Some(near) => diag.help(format!("`${{{near}}}` is read; is that the one?")),
            None => {
                diag.help(format!("write `${{{name}}}` where its value is to stand, or remove it"))
            }
        })
    }
}

/// The keys of a stage's `matrix` and `foreach`, each once.
fn axes(stage: &LoadedStage) -> Vec<&Sp<String>> {
    fn of(tree: Option<&Tree>) -> Vec<&Sp<String>> {
        match tree.map(|t| &t.what) {
            Some(What::Map(entries)) => entries.iter().map(|(key, _)| key).collect(),
            _ => Vec::new(),
        }
    }
    let mut out: Vec<&Sp<String>> = Vec::new();
    let mut keys = of(stage.tree.get("matrix"));
    if let Some(What::List(list)) = stage.tree.get("foreach").map(|t| &t.what) {
        keys.extend(list.iter().flat_map(|t| of(Some(t))));
    }
    for key in keys {
        if !out.iter().any(|k| k.value == key.value) {
            out.push(key);
        }
    }
    out
}

/// An error if nothing reads a key of a `matrix` or `foreach`. Stages that have a key in common are
/// combined by its values, which reads it, too.
pub fn check_axes(stages: &[LoadedStage], read: &Read) -> Result<()> {
    for (i, stage) in stages.iter().enumerate() {
        for key in axes(stage) {
            let is_shared = || {
                let others = stages.iter().enumerate().filter(|(j, _)| *j != i);
                others.flat_map(|(_, s)| axes(s)).any(|k| k.value == key.value)
            };
            if !is_shared() {
                read.check(&key.value, &stage.source, key.span)?;
            }
        }
    }
    Ok(())
}
