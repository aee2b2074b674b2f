//! Stages: one file for each kind, and one table of the kinds (`kinds`). A stage turns nodes of the
//! plan into calls of the library, and names what its results depend on. It does not know how
//! results are stored, or when it runs.

pub mod apply;
mod building;
mod changed;
pub mod collect;
mod compare;
mod compile;
pub mod compiled;
pub mod compilers;
mod dedupe;
pub mod diff;
pub mod files;
mod generate;
pub mod generated;
pub mod guard;
pub mod investigate;
pub mod items;
mod kinds;
pub mod layout;
pub mod ld;
pub mod link;
pub mod mixes;
pub mod models;
pub mod mutate;
mod probes;
pub mod run;
mod said;
pub mod simulate;
pub mod split;
pub mod suite;
pub mod threads;
pub mod verdict;
pub mod versions;
mod words;
pub mod workspace;

use std::collections::BTreeMap;
use std::sync::Arc;

use building::Building;
use litmake_base::diag::{Diag, Result};
use litmake_engine::graph::Graph;
use litmake_pipeline::kinds::Kind;
use litmake_pipeline::plan::Node;
use litmake_pipeline::query::{Db, Request, part, planned};

/// The graph of a plan.
pub struct Built {
    /// The graph that runs.
    pub graph: Graph,
    /// For each node of the graph, the node of the plan that it belongs to.
    pub of_plan: Vec<usize>,
    /// For each node of the plan, the node of the graph that other stages consume.
    pub node_of: Vec<usize>,
    /// The names of the models, by node of the plan.
    pub models: Vec<Option<String>>,
    links: BTreeMap<usize, building::Link>,
    files: Vec<Arc<files::Files>>,
}

impl Built {
    /// The files of stages that read some, to watch them for changes.
    pub fn files(&self) -> &[Arc<files::Files>] {
        &self.files
    }
}

/// Builds the graph of a plan. The identities of compilers, machines and devices are part of its
/// keys, and were asked for before.
#[salsa::tracked(returns(clone), no_eq)]
fn built(db: &dyn Db, request: Request) -> Result<Arc<Built>> {
    let plan = planned(db, request)?;
    let mut building = Building::new(db, request, &plan);
    for (i, node) in plan.nodes.iter().enumerate() {
        building.at = i;
        let last = kinds::of(&node.kind).build.build(&mut building)?;
        building.node_of.push(last);
    }
    let Building { graph, of_plan, node_of, models, links, .. } = building;
    let reads = |node: &&Node| matches!(&node.kind, Kind::Generate(g) if !g.files.is_empty());
    let files = plan.nodes.iter().filter(reads);
    let files = files.map(|node| files::listed(db, part(db, request, node)));
    let files = files.collect::<Result<_>>()?;
    let roots = graph.roots();
    for (i, node) in plan.nodes.iter().enumerate() {
        let mut inputs = graph.nodes[node_of[i]].inputs.iter();
        if let Some(first) = inputs.next() {
            let root = roots[*first];
            if inputs.any(|j| roots[*j] != root) {
                return Err(Diag::at(
                    &node.source,
                    node.span,
                    "source and target are made from different lists of tests",
                )
                .help(
                    "reduce tests with `dedupe` before they are compiled, not between; mixes are \
                     compared with what their own tests allow",
                ));
            }
        }
    }
    graph.check().map_err(Diag::new)?;
    Ok(Arc::new(Built { graph, of_plan, node_of, models, links, files }))
}
