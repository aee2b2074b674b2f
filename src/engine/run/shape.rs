//! The edges of a graph as the scheduler asks about them.
//!
//! It does not know what runs, nor what is done.

use crate::graph::Graph;
use litmake_base::digest::Digest;

/// Facts about the nodes of a graph, by node.
pub(crate) struct Shape {
    pub(crate) fingerprints: Vec<Digest>,
    /// The length of the longest way from a source. Deeper nodes go first.
    pub(super) depth: Vec<usize>,
    /// The node with the list on which the node works.
    pub(crate) root_index: Vec<usize>,
    /// The nodes that consume the node, each with the number of times that it does.
    pub(super) consumers: Vec<Vec<(usize, u16)>>,
    /// The nodes that join the results of the node.
    pub(super) joiners: Vec<Vec<usize>>,
}

impl Shape {
    pub(super) fn of(graph: &Graph) -> Shape {
        let n = graph.nodes.len();
        let mut shape = Shape {
            fingerprints: graph.nodes.iter().map(|n| n.fingerprint.digest()).collect(),
            depth: vec![0; n],
            root_index: graph.roots(),
            consumers: vec![Vec::new(); n],
            joiners: vec![Vec::new(); n],
        };
        for (i, node) in graph.nodes.iter().enumerate() {
            let before = node.inputs.iter().chain(&node.joined);
            shape.depth[i] = before.map(|j| shape.depth[*j] + 1).max().unwrap_or(0);
            for j in &node.joined {
                shape.joiners[*j].push(i);
            }
            for j in &node.inputs {
                match shape.consumers[*j].iter_mut().find(|c| c.0 == i) {
                    Some(c) => c.1 += 1,
                    None => shape.consumers[*j].push((i, 1)),
                }
            }
        }
        shape
    }
}
