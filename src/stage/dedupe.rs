//! `dedupe`: tests that are equal but for layout and names that nothing observes.

use super::read_test;
use crate::engine::graph::{Context, Fingerprint, Map, Outcome};
use crate::litmus::canon;

/// Gives each test the hash of its canonical form.
pub struct Canon;

pub fn fingerprint() -> Fingerprint {
    Fingerprint::default().with_text("litmake", env!("LITMAKE_TESTS")).with_text("stage", "dedupe")
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
