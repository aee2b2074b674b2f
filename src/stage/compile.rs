//! `compile`: whole tests, or the list of their distinct threads, to a compiler.
//!
//! How tests are compiled is not known here (`compiled`), nor how they are taken apart (`threads`).

use std::sync::Arc;

use super::building::{Build, Building};
use super::compiled;
use super::compilers::Compilers;
use super::split::Splits;
use super::threads;
use litmake_base::diag::Result;
use litmake_engine::graph::Work;
use litmake_pipeline::kinds::Compile;
use litmake_profile::types::Storage;

impl Build for Compile {
    fn build(&self, graph: &mut Building) -> Result<usize> {
        let (node, records) = (graph.node(), graph.records);
        let (work, fingerprint) =
            compiled::stage(node, self, graph.shared.of::<Compilers>(), records)?;
        let work = Work::Map(Arc::new(work));
        let tests = graph.inputs()[0];
        // What a pipeline has split already is compiled as it is.
        let is_split = graph.shared.of::<Splits>().0.contains_key(&graph.graph.root(tests));
        Ok(match is_split || !is_by_thread(self) {
            true => graph.add(vec![tests], fingerprint, work),
            false => threads::build(graph, tests, fingerprint, work),
        })
    }
}

/// Whether threads are compiled by themselves. Where locations are variables of the unit, a compiler
/// sees what all threads do with them; and functions of operations are numbered through the test.
fn is_by_thread(options: &Compile) -> bool {
    options.storage == Storage::Pointers && !options.helpers
}
