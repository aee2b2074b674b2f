//! `mutate`: rewrites C tests without a change of meaning, or weakens them.

use std::sync::Arc;

use super::building::{Build, Building};
use super::items::read_test;
use litmake_base::diag::{Diag, Result, Span, nearest};
use litmake_base::failure::Failure;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Work};
use litmake_litmus::{self as litmus, Test};
use litmake_mutate::rewrite::Rewriting;
use litmake_mutate::weaken::Weakening;
use litmake_pipeline::kinds;
use litmake_pipeline::slice::Instance;

/// The change that is made to each test.
pub enum Mutate {
    /// The test is rewritten without a change of meaning.
    Rewrite(Rewriting),
    /// The test is weakened.
    Weaken(Weakening),
}

impl Build for kinds::Mutate {
    fn build(&self, graph: &mut Building) -> Result<usize> {
        let (work, fingerprint) = stage(graph.node(), self)?;
        let inputs = graph.inputs();
        Ok(graph.add(inputs, fingerprint, Work::Map(Arc::new(work))))
    }
}

fn stage(node: &Instance, options: &kinds::Mutate) -> Result<(Mutate, Fingerprint)> {
    let at = |span: Span, message: String| Diag::at(&node.source, span, message);
    let work = match (&options.rewrite, &options.weaken) {
        (Some(word), None) => {
            let what = "rewriting of tests";
            Mutate::Rewrite(choose(&Rewriting::NAMES, &word.value, what, |e| at(word.span, e))?)
        }
        (None, Some(word)) => {
            let what = "weakening of tests";
            Mutate::Weaken(choose(&Weakening::NAMES, &word.value, what, |e| at(word.span, e))?)
        }
        _ => {
            return Err(at(node.span, "a `mutate` stage has one of `rewrite` and `weaken`".into()));
        }
    };
    let fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_MUTATE"))
        .with_text("stage", "mutate")
        .with_text("how", work.name());
    Ok((work, fingerprint))
}

fn choose<T: Copy>(
    names: &[(&'static str, T)],
    word: &str,
    what: &str,
    at: impl Fn(String) -> Box<Diag>,
) -> Result<T> {
    if let Some((_, found)) = names.iter().find(|(n, _)| *n == word) {
        return Ok(*found);
    }
    let all: Vec<&str> = names.iter().map(|(n, _)| *n).collect();
    let diag = at(format!("`{word}` is no {what}"));
    Err(match nearest(word, all.iter().copied()) {
        Some(near) => diag.help(format!("did you mean `{near}`?")),
        None => diag.help(format!("expected one of {}", all.join(", "))),
    })
}

impl Mutate {
    fn name(&self) -> &'static str {
        match self {
            Mutate::Rewrite(r) => r.name(),
            Mutate::Weaken(w) => w.name(),
        }
    }

    fn apply(&self, test: &Test) -> Option<Test> {
        match self {
            Mutate::Rewrite(r) => r.apply(test),
            Mutate::Weaken(w) => w.everywhere(test),
        }
    }
}

impl Map for Mutate {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| match read_test(&item[0]) {
            Err(failure) => Outcome::Failed(failure),
            Ok(test) => match self.apply(&test) {
                Some(test) => Outcome::Done(litmus::write(&test).into_bytes()),
                None => {
                    let why = format!("{} finds nothing to change", self.name());
                    Outcome::Failed(Failure::left_out(why))
                }
            },
        };
        items.iter().map(one).collect()
    }
}
