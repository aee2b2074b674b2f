//! `changed`: leaves out the tests that two compilers compile to the same code.

use std::sync::Arc;

use super::building::{Build, Building};
use super::items::read_test;
use litmake_base::diag;
use litmake_base::failure::{Failure, Result};
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Work};
use litmake_litmus::canon;
use litmake_pipeline::kinds;

impl Build for kinds::Changed {
    fn build(&self, graph: &mut Building) -> diag::Result<usize> {
        let inputs = graph.inputs();
        let fingerprint = Fingerprint::default()
            .with_text("litmake", env!("LITMAKE_STAGE_CHANGED"))
            .with_text("stage", "changed");
        Ok(graph.add(inputs, fingerprint, Work::Map(Arc::new(Changed))))
    }
}

/// Whether two tests differ in more than blanks and the names of labels.
pub fn differ(before: &[u8], after: &[u8]) -> Result<bool> {
    let canonical = |text: &[u8]| read_test(text).map(|test| canon::canonical_text(&test));
    Ok(before != after && canonical(before)? != canonical(after)?)
}

struct Changed;

impl Map for Changed {
    fn leaves_out(&self) -> bool {
        true
    }

    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| {
            let [of, before, after] = &item[..] else {
                return Outcome::Failed(
                    "a test, and the code of two compilers, were needed".into(),
                );
            };
            match differ(before, after) {
                Ok(true) => Outcome::Done(of.clone()),
                Ok(false) => Outcome::Failed(Failure::left_out("the code is the same")),
                Err(failure) => Outcome::Failed(failure),
            }
        };
        items.iter().map(one).collect()
    }
}
