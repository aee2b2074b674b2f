//! `generate`: chooses the source of tests for a stage.

use std::sync::Arc;

use super::building::{Build, Building, gone};
use super::files;
use super::generated::Generated;
use super::suite::Suites;
use litmake_base::diag::{Diag, Result};
use litmake_engine::graph::{Fingerprint, Source, Work};
use litmake_pipeline::kinds::{Generate, Kind};
use litmake_pipeline::query::{Db, Part, instance};

impl Build for Generate {
    fn build(&self, graph: &mut Building) -> Result<usize> {
        let node = graph.node();
        let source: Arc<dyn Source> = match (self.suite.is_empty(), self.files.is_empty()) {
            (false, false) => {
                return Err(Diag::at(
                    &node.source,
                    node.span,
                    "tests come from files or from a suite, not from both",
                )
                .help("make two stages of it"));
            }
            (true, false) => files::listed(graph.db, graph.part())?,
            (_, true) => made(graph.db, graph.part())?,
        };
        let inputs = graph.inputs();
        Ok(graph.add(inputs, Fingerprint::default(), Work::Source(source)))
    }
}

/// The source of an instance's generated tests. They are made when a run asks for them.
#[salsa::tracked(returns(clone), no_eq)]
fn made<'db>(db: &'db dyn Db, of: Part<'db>) -> Result<Arc<dyn Source>> {
    let node = instance(db, of).ok_or_else(gone)?;
    let Kind::Generate(options) = &node.kind else { return Err(gone()) };
    Ok(match options.suite.is_empty() {
        false => Arc::new(Suites::new(&node, options)?),
        true => Arc::new(Generated::new(&node.source, node.span, options)?),
    })
}
