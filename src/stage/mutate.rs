//! `mutate`: C tests rewritten so that their meaning stays.

use super::{ITEM, read_test};
use crate::diag::{Diag, Result, Span, nearest};
use crate::engine::graph::{Context, Fingerprint, Map, Outcome};
use crate::litmus;
use crate::mutate::rewrite::Rewriting;
use crate::pipeline::plan::Node;
use crate::pipeline::types;

pub struct Mutate {
    rewriting: Rewriting,
}

pub fn stage(node: &Node, options: &types::Mutate) -> Result<(Mutate, Fingerprint)> {
    let word = &options.rewrite;
    let names = || Rewriting::NAMES.iter().map(|(n, _)| *n);
    let Some((_, rewriting)) = Rewriting::NAMES.iter().find(|(n, _)| *n == word.value) else {
        let span: Span = word.span;
        let diag =
            Diag::at(&node.source, span, format!("`{}` is no rewriting of tests", word.value));
        return Err(match nearest(&word.value, names()) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => diag.help(format!("rewritings are {}", names().collect::<Vec<_>>().join(", "))),
        });
    };
    let fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_TESTS"))
        .with_text("stage", "mutate")
        .with_text("rewrite", rewriting.name());
    Ok((Mutate { rewriting: *rewriting }, fingerprint))
}

impl Map for Mutate {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| match read_test(&item[0]) {
            Err(message) => Outcome::Failed(message),
            Ok(test) => match self.rewriting.apply(&test) {
                Some(test) => Outcome::Done(litmus::write(&test).into_bytes()),
                None => {
                    let name = self.rewriting.name();
                    Outcome::Failed(format!("{ITEM}: {name} finds nothing to rewrite in it"))
                }
            },
        };
        items.iter().map(one).collect()
    }
}
