//! `generate`: which of the sources of tests a stage means.

use std::sync::Arc;

use super::building::{Build, Building};
use super::files::{Files, Listed};
use super::generated::Generated;
use super::suite::Suites;
use litmake_base::diag::{Diag, Result};
use litmake_engine::graph::{Fingerprint, Source, Work};
use litmake_pipeline::kinds::Generate;

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
            (false, true) => Arc::new(Suites::new(node, self)?),
            (true, true) => Arc::new(Generated::new(node, self)?),
            (true, false) => {
                let files = Arc::new(Files::new(node, self)?);
                graph.shared.of::<Listed>().0.push(files.clone());
                files
            }
        };
        let inputs = graph.inputs();
        Ok(graph.add(inputs, Fingerprint::default(), Work::Source(source)))
    }
}
