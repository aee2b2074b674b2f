//! `split`: takes C tests apart, so that equal parts are compiled once, whichever tests have them.

use std::sync::Arc;

use super::building::{Build, Building};
use super::items::read_test;
use litmake_base::diag;
use litmake_base::failure::Failure;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Work};
use litmake_engine::parts::Bundle;
use litmake_mix::{self as mix, By};
use litmake_pipeline::kinds::Split;
use litmake_pipeline::kinds::split::SplitBy;

impl Build for Split {
    fn build(&self, graph: &mut Building) -> diag::Result<usize> {
        let work = Work::Map(Arc::new(Stage { by: by(self.by) }));
        let inputs = graph.inputs();
        let whole = graph.add(inputs, fingerprint(self.by), work);
        let parts = graph.add_hidden(vec![whole], Fingerprint::default(), Work::Parts);
        graph.splits.insert(parts, self.by);
        Ok(parts)
    }
}

struct Stage {
    by: By,
}

/// How tests are taken apart, from the option.
pub fn by(by: SplitBy) -> By {
    match by {
        SplitBy::Whole => By::Whole,
        SplitBy::Thread => By::Thread,
        SplitBy::Instruction => By::Instruction,
    }
}

fn fingerprint(by: SplitBy) -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_SPLIT"))
        .with_text("stage", "split")
        .with_text("by", &format!("{by:?}"))
}

impl Map for Stage {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| -> Result<Vec<u8>, Failure> {
            let test = read_test(&item[0])?;
            let split = mix::split(&test, self.by)?;
            let part = |p: &mix::Piece| {
                // A whole test is compiled as if it had not been split.
                let content = if split.whole { item[0].clone() } else { p.text.clone().into() };
                (p.name.clone(), content)
            };
            let parts = split.pieces.iter().map(part).collect();
            Ok(Bundle { parts, rest: Vec::new() }.encode())
        };
        items.iter().map(|item| one(item).into()).collect()
    }
}
