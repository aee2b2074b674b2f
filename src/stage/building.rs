//! A graph in the making: what a kind of stages is told when it puts its nodes into it.
//!
//! It does not know the kinds. What is dear of a stage is in queries of its own ([`litmake_pipeline::query`]), so
//! that a graph is made anew from what is known where little has changed.

use std::sync::Arc;

use super::probes::Question;
use super::shared::Shared;
use litmake_base::diag::{Diag, Result};
use litmake_engine::graph::{Fingerprint, Graph, Map, Node, Work};
use litmake_pipeline::plan::{Node as PlanNode, Plan};
use litmake_pipeline::query::{Db, Part, Request, part};
use litmake_pipeline::slice::Instance;

/// How the work of a kind stands in the graph. The options of each kind implement it.
pub trait Build {
    /// What compilers, machines and devices are asked before the keys of an instance can be known. No
    /// query asks them.
    fn asks(&self, _of: &Instance, _consumed: &[&Instance]) -> Vec<Question> {
        Vec::new()
    }

    /// Adds the nodes of the stage that is being built; gives the one that others consume.
    fn build(&self, graph: &mut Building) -> Result<usize>;
}

/// The work of an instance, and what it depends on beside its inputs.
#[derive(Clone)]
pub struct Made {
    pub work: Arc<dyn Map>,
    pub fingerprint: Fingerprint,
}

/// What a query is told of an instance that the plan has no more.
pub fn gone() -> Box<Diag> {
    Diag::new("the plan has no such stage any more")
}

/// A graph with the nodes of all stages up to one.
pub struct Building<'a> {
    pub db: &'a dyn Db,
    request: Request,
    pub plan: &'a Plan,
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
    pub fn new(db: &'a dyn Db, request: Request, plan: &'a Plan) -> Building<'a> {
        Building {
            db,
            request,
            plan,
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

    /// The same, for queries about it.
    pub fn part(&self) -> Part<'a> {
        part(self.db, self.request, self.node())
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

    /// Adds a node that does the work of an instance.
    pub fn add_made(&mut self, inputs: Vec<usize>, made: Made) -> usize {
        self.add(inputs, made.fingerprint, Work::Map(made.work))
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
