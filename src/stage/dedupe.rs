//! `dedupe`: tests that are equal but for layout and names that nothing observes.

use super::items::read_test;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome};
use litmake_litmus::canon;

/// Gives each test the hash of its canonical form.
pub struct Canon;

pub fn fingerprint() -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_DEDUPE"))
        .with_text("stage", "dedupe")
}

impl Map for Canon {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| match read_test(&item[0]) {
            Ok(test) => Outcome::Done(canon::canonical_hash(&test).as_bytes().to_vec()),
            Err(message) => Outcome::Failed(message),
        };
        items.iter().map(one).collect()
    }
}
