//! `split`: C tests taken apart, so that equal parts are compiled once wherever they stand.

use super::items::read_test;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome};
use litmake_engine::parts::Bundle;
use litmake_mix::{self as mix, By};
use litmake_pipeline::types::SplitBy;

pub struct Stage {
    pub by: By,
}

pub fn by(by: SplitBy) -> By {
    match by {
        SplitBy::Whole => By::Whole,
        SplitBy::Thread => By::Thread,
        SplitBy::Instruction => By::Instruction,
    }
}

pub fn fingerprint(by: SplitBy) -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_SPLIT"))
        .with_text("stage", "split")
        .with_text("by", &format!("{by:?}"))
}

impl Map for Stage {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| -> Result<Vec<u8>, String> {
            let test = read_test(&item[0])?;
            let split = mix::split(&test, self.by)?;
            let part = |p: &mix::Piece| {
                // A whole test is compiled as it is, as if it had not been split.
                let content = if split.whole { item[0].clone() } else { p.text.clone().into() };
                (p.name.clone(), content)
            };
            let parts = split.pieces.iter().map(part).collect();
            Ok(Bundle { parts, rest: Vec::new() }.encode())
        };
        let outcome = |item| one(item).map_or_else(Outcome::Failed, Outcome::Done);
        items.iter().map(outcome).collect()
    }
}
