//! Builds a graph: stages of each kind add their nodes to it.
//!
//! This file does not know the kinds. The expensive parts of a stage are queries of their own
//! ([`litmake_pipeline::query`]), so that after a small change a graph is built again from what is
//! computed already.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::probes::Question;
use litmake_base::diag::{Diag, Result};
use litmake_engine::graph::{Fingerprint, Graph, Map, Node, Work};
use litmake_pipeline::kinds::split::SplitBy;
use litmake_pipeline::plan::{Node as PlanNode, Plan};
use litmake_pipeline::query::{Db, Part, Request, part};
use litmake_pipeline::slice::Instance;

/// Adds the work of a kind to the graph. The options of each kind implement it.
pub trait Build {
    /// The questions to compilers, machines and devices on whose answers the keys of an instance
    /// depend. They are asked outside of queries.
    fn asks(&self, _of: &Instance, _consumed: &[&Instance]) -> Vec<Question> {
        Vec::new()
    }

    /// Adds the nodes of the stage that is being built; returns the node that other stages consume.
    fn build(&self, graph: &mut Building) -> Result<usize>;
}

/// The work of an instance, and its fingerprint.
#[derive(Clone)]
pub struct Made {
    pub work: Arc<dyn Map>,
    pub fingerprint: Fingerprint,
}

/// The error of a query about an instance that is no longer in the plan.
pub fn gone() -> Box<Diag> {
    Diag::new("the plan has no such stage any more")
}

/// How a list of mixes was made.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// How tests were taken apart.
    pub by: SplitBy,
    /// The node of the plan.
    pub plan: usize,
    /// The nodes of the graph that link, and that have the tests.
    pub link: usize,
    /// See `link`.
    pub tests: usize,
}

/// A graph under construction, with the nodes of all stages so far.
pub struct Building<'a> {
    pub db: &'a dyn Db,
    request: Request,
    pub plan: &'a Plan,
    /// The stage that is being built, by its position in the plan.
    pub at: usize,
    pub graph: Graph,
    /// For each node of the graph, the node of the plan that it belongs to.
    pub of_plan: Vec<usize>,
    /// For each node of the plan so far, the node of the graph that other stages consume.
    pub node_of: Vec<usize>,
    /// The names of the models, by node of the plan.
    pub models: Vec<Option<String>>,
    /// How the tests of each list of parts were taken apart, by the list's node in the graph.
    pub splits: BTreeMap<usize, SplitBy>,
    /// Every list of mixes, by its node in the graph.
    pub links: BTreeMap<usize, Link>,
    /// The list of threads, by the node of the graph whose tests they are taken from.
    pub threads: BTreeMap<usize, usize>,
    /// The work that takes threads apart and joins them, which all lists share.
    pub thread_work: Option<[Arc<dyn Map>; 2]>,
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
            splits: BTreeMap::new(),
            links: BTreeMap::new(),
            threads: BTreeMap::new(),
            thread_work: None,
        }
    }

    /// The node of the plan that is being built.
    pub fn node(&self) -> &'a PlanNode {
        &self.plan.nodes[self.at]
    }

    /// The key of the node that is being built, for queries about it.
    pub fn part(&self) -> Part<'a> {
        part(self.db, self.request, self.node())
    }

    /// The nodes of the graph that the stage consumes.
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

    /// Adds a node for the work of an instance.
    pub fn add_made(&mut self, inputs: Vec<usize>, made: Made) -> usize {
        self.add(inputs, made.fingerprint, Work::Map(made.work))
    }

    /// Adds a node that the user does not see, except for failures of its own.
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
