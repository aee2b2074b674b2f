//! Stages: one file a kind, and one table of them (`kinds`). A stage turns items of the plan into calls of the library, and says
//! what its results depend on. It does not know how results are stored, nor when it runs.

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
pub mod mutate;
pub mod run;
pub mod simulate;
pub mod split;
pub mod suite;
pub mod threads;
pub mod verdict;
pub mod versions;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use building::{Building, Shared};
use compilers::Compilers;
use litmake_base::diag::{Diag, Result};
use litmake_base::records::Records;
use litmake_engine::graph::Graph;
use litmake_pipeline::plan::Plan;

/// A graph, and for each of its nodes the node of the plan that it came from.
pub struct Built {
    pub graph: Graph,
    pub of_plan: Vec<usize>,
    /// For each node of the plan, the graph's node that others consume.
    pub node_of: Vec<usize>,
    /// The models by which stages go, by node of the plan.
    pub models: Vec<Option<String>>,
    /// The compilers of the run.
    pub compilers: Compilers,
    shared: Shared,
}

impl Built {
    /// The files of stages that read some, for whoever wants to know what changes in them.
    pub fn files(&self) -> &[Arc<files::Files>] {
        self.shared.get::<files::Listed>().map_or(&[], |listed| &listed.0)
    }

    /// The files of models that are no built-in ones, with their texts.
    pub fn model_files(&self) -> Vec<(PathBuf, Arc<str>)> {
        self.shared.get::<simulate::Models>().map_or_else(Vec::new, simulate::Models::files)
    }
}

/// Turns a plan into a graph. Compilers and models are looked up here, since what they are is
/// part of every key.
pub fn build(plan: &Plan, records: &dyn Records) -> Result<Built> {
    build_in(Building::new(plan, records))
}

/// The same, where only the compilers of some profiles are of interest.
pub fn build_for(plan: &Plan, records: &dyn Records, profiles: BTreeSet<String>) -> Result<Built> {
    let mut building = Building::new(plan, records);
    building.shared.of::<Compilers>().only(profiles);
    build_in(building)
}

fn build_in(mut building: Building) -> Result<Built> {
    let plan = building.plan;
    for (i, node) in plan.nodes.iter().enumerate() {
        building.at = i;
        let last = kinds::of(&node.kind).build.build(&mut building)?;
        building.node_of.push(last);
    }
    let Building { graph, of_plan, node_of, models, mut shared, .. } = building;
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
    let compilers = shared.take::<Compilers>();
    Ok(Built { graph, of_plan, node_of, models, compilers, shared })
}
