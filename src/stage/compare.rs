//! `compare`: adds the nodes that compare sources and targets, with one target for each test, or
//! with every mix of a test as a target.

use std::sync::Arc;

use super::building::{Build, Building};
use super::split::by;
use super::{mixes, verdict};
use litmake_base::diag::Result;
use litmake_engine::graph::Work;
use litmake_pipeline::kinds::Compare;

impl Build for Compare {
    fn build(&self, graph: &mut Building) -> Result<usize> {
        let inputs = graph.inputs();
        let list = graph.graph.root(inputs[1]);
        let Some(link) = graph.links.get(&list).copied() else {
            let work = Work::Map(Arc::new(verdict::Compare));
            return Ok(graph.add(inputs, verdict::fingerprint(), work));
        };
        let work = Work::Map(Arc::new(mixes::Stage { by: by(link.by) }));
        let sources = [&inputs[..1], &inputs[2..]].concat();
        let from = [&[link.link, link.tests], &sources[..]].concat();
        let at = graph.add(from, mixes::fingerprint(by(link.by)), work);
        graph.graph.nodes[at].joined = vec![inputs[1]];
        Ok(at)
    }
}
