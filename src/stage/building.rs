//! A graph in the making: what a kind of stages is told when it puts its nodes into it.
//!
//! It does not know the kinds. What they share is found by its type, so that nothing is named here
//! that some of them use and others do not: what a stage's file names is in the keys of its results.

use std::any::{Any, TypeId};
use std::collections::HashMap;

use litmake_base::diag::Result;
use litmake_base::records::Records;
use litmake_engine::graph::{Fingerprint, Graph, Node, Work};
use litmake_pipeline::plan::{Node as PlanNode, Plan};

/// How the work of a kind stands in the graph. The options of each kind implement it.
pub trait Build {
    /// Adds the nodes of the stage that is being built; gives the one that others consume.
    fn build(&self, graph: &mut Building) -> Result<usize>;
}

/// A graph with the nodes of all stages up to one.
pub struct Building<'a> {
    pub plan: &'a Plan,
    pub records: &'a dyn Records,
    /// The stage that is being built, as its place in the plan.
    pub at: usize,
    pub graph: Graph,
    /// For each node of the graph, the node of the plan that it came from.
    pub of_plan: Vec<usize>,
    /// For each node of the plan so far, the graph's node that others consume.
    pub node_of: Vec<usize>,
    /// The models by which stages go, by node of the plan.
    pub models: Vec<Option<String>>,
    pub shared: Shared,
}

impl<'a> Building<'a> {
    pub fn new(plan: &'a Plan, records: &'a dyn Records) -> Building<'a> {
        Building {
            plan,
            records,
            at: 0,
            graph: Graph::default(),
            of_plan: Vec::new(),
            node_of: Vec::new(),
            models: vec![None; plan.nodes.len()],
            shared: Shared::default(),
        }
    }

    /// The stage that is being built.
    pub fn node(&self) -> &'a PlanNode {
        &self.plan.nodes[self.at]
    }

    /// The graph's nodes that it consumes.
    pub fn inputs(&self) -> Vec<usize> {
        self.node().inputs.iter().map(|j| self.node_of[*j]).collect()
    }

    pub fn add(&mut self, inputs: Vec<usize>, fingerprint: Fingerprint, work: Work) -> usize {
        let node = self.node();
        self.graph.nodes.push(Node {
            label: node.label.clone(),
            kind: node.kind.name().to_string(),
            inputs,
            joined: Vec::new(),
            fingerprint,
            work,
            hidden: false,
        });
        self.of_plan.push(self.at);
        self.graph.nodes.len() - 1
    }

    /// Adds a node whose failures are of interest only where they are not those of an input.
    pub fn add_hidden(
        &mut self,
        inputs: Vec<usize>,
        fingerprint: Fingerprint,
        work: Work,
    ) -> usize {
        let at = self.add(inputs, fingerprint, work);
        self.graph.nodes[at].hidden = true;
        at
    }
}

/// What the stages of one plan share: one value of a type.
#[derive(Default)]
pub struct Shared(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Shared {
    pub fn of<T: Any + Default + Send + Sync>(&mut self) -> &mut T {
        let made = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        made.downcast_mut().expect("what is kept under a type is of it")
    }

    pub fn take<T: Any + Default>(&mut self) -> T {
        let made = self.0.remove(&TypeId::of::<T>()).and_then(|made| made.downcast().ok());
        made.map_or_else(T::default, |made| *made)
    }

    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}
