//! `dedupe`: keeps one of the tests with equal canonical forms.

use std::sync::Arc;

use super::building::{Build, Building};
use super::items::read_test;
use litmake_base::diag::Result;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Work};
use litmake_litmus::canon;
use litmake_pipeline::kinds::Dedupe;

impl Build for Dedupe {
    fn build(&self, graph: &mut Building) -> Result<usize> {
        let inputs = graph.inputs();
        let canon = Work::Map(Arc::new(Canon));
        let canon = graph.add_hidden(inputs.clone(), fingerprint(), canon);
        Ok(graph.add(vec![inputs[0], canon], Fingerprint::default(), Work::Distinct))
    }
}

/// Gives each test the hash of its canonical form.
struct Canon;

fn fingerprint() -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_DEDUPE"))
        .with_text("stage", "dedupe")
}

impl Map for Canon {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let hash = |test| canon::canonical_hash(&test).as_bytes().to_vec();
        items.iter().map(|item| read_test(&item[0]).map(hash).into()).collect()
    }
}
