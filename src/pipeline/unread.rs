//! Finds variables and keys of a `matrix` or `foreach` that nothing reads: a misspelt name would
//! otherwise change nothing, without a word.
//!
//! This file does not know what stages do.

use std::collections::BTreeSet;

use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_profile::tree::{Tree, What};
use litmake_profile::yaml::Sp;

use super::load::{Form, LoadedStage};

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
        if let Form::Written(_, tree) = &stage.form {
            self.tree(tree);
        }
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

/// The keys of a map.
fn keys(tree: Option<&Tree>) -> Vec<&Sp<String>> {
    match tree.map(|t| &t.what) {
        Some(What::Map(entries)) => entries.iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

/// The keys of each entry of a stage's `foreach`.
fn entries(stage: &LoadedStage) -> Vec<Vec<&Sp<String>>> {
    match stage.key("foreach").map(|t| &t.what) {
        Some(What::List(list)) => list.iter().map(|t| keys(Some(t))).collect(),
        _ => Vec::new(),
    }
}

/// An error if nothing reads a key of a `matrix`, or any key of an entry of `foreach`: the other keys
/// of an entry may name it. Stages that have a key in common are combined by its values, which reads
/// it, too.
pub fn check_axes(stages: &[LoadedStage], read: &Read) -> Result<()> {
    let matrix = |stage: &'_ LoadedStage| -> Vec<String> {
        let own = keys(stage.key("matrix")).into_iter().chain(entries(stage).concat());
        own.map(|key| key.value.clone()).collect()
    };
    let all: Vec<Vec<String>> = stages.iter().map(matrix).collect();
    for (i, stage) in stages.iter().enumerate() {
        let is_shared = |key: &str| {
            let mut others = all.iter().enumerate().filter(|(j, _)| *j != i);
            others.any(|(_, keys)| keys.iter().any(|k| k == key))
        };
        let check = |key: &Sp<String>| match is_shared(&key.value) {
            true => Ok(()),
            false => read.check(&key.value, &stage.source, key.span),
        };
        keys(stage.key("matrix")).into_iter().try_for_each(check)?;
        for entry in entries(stage) {
            if let Some(first) = entry.first()
                && !entry.iter().any(|key| check(key).is_ok())
            {
                check(first)?;
            }
        }
    }
    Ok(())
}
