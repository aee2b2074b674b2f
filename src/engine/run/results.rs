//! The results of a run, for reports.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Engine, Root, lock};
use crate::graph::Work;
use crate::rows::{Shard, State};
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;
use litmake_base::failure::Failure;

/// The results of a run in one node, as numbers of tasks.
#[derive(Clone, Debug, Default)]
pub struct NodeSummary {
    /// All tasks of the node.
    pub tasks: u64,
    /// Tasks that this run executed.
    pub executed: u64,
    /// Executed tasks that another machine did.
    pub elsewhere: u64,
    /// Tasks that this run did not execute.
    pub cached: u64,
    /// Cached tasks whose results came from the remote cache in this run.
    pub fetched: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks that broke.
    pub broke: u64,
    /// Tasks one of whose inputs has no result.
    pub skipped: u64,
    /// Tasks whose results someone should look at.
    pub findings: u64,
    /// Time spent in work, over all workers.
    pub time: Duration,
}

/// The content of a cell with its item's name, for reports.
#[derive(Clone, Debug)]
pub struct Found {
    /// The node, as an index into [`crate::graph::Graph::nodes`].
    pub node: usize,
    /// The name of the item.
    pub item: String,
    /// The state of the cell.
    pub state: State,
    /// The result, or the failure, encoded.
    pub content: Vec<u8>,
}

impl Found {
    /// The failure, if the cell has failed.
    pub fn failure(&self) -> Failure {
        let read = Failure::decode(&self.content);
        read.unwrap_or_else(|| Failure::machine("the reason of a failure is lost; run again"))
    }
}

impl Engine<'_> {
    /// Errors of whole lists.
    pub fn take_errors(&self) -> Vec<Box<Diag>> {
        std::mem::take(&mut *lock(&self.held.errors))
    }

    /// The list of items that a node works on; `None` where it is not known yet.
    pub fn root_table(&self, node: usize) -> Option<Arc<Root>> {
        lock(&self.held.roots[self.shape.root_index[node]]).clone()
    }

    /// The shards of a node, in order; `None` for each that is not known yet.
    pub fn shards_of(&self, node: usize) -> Vec<Option<Shard>> {
        lock(&self.held.units[node]).iter().map(|unit| unit.shard()).collect()
    }

    /// The rows that a node ran, by shard.
    pub fn executed_rows(&self, node: usize) -> Vec<(u32, Vec<u32>)> {
        let mut out = lock(&self.tallies[node].executed).clone();
        out.sort();
        out
    }

    /// The rows of a node that came from the remote cache, by shard.
    pub fn fetched_rows(&self, node: usize) -> Vec<(u32, Vec<u32>)> {
        let mut out = lock(&self.tallies[node].fetched).clone();
        out.sort();
        out
    }

    /// The rows of a node that workers on other machines ran, by shard. They count among those that it ran.
    pub fn elsewhere_rows(&self, node: usize) -> Vec<(u32, Vec<u32>)> {
        let mut out = lock(&self.tallies[node].elsewhere).clone();
        out.sort();
        out
    }

    /// The digests by which the items of a list of distinct ones or of parts differ, in the order of the
    /// list; `None` for other lists, whose items have names of their own.
    pub fn identities(&self, node: usize) -> Option<Vec<Digest>> {
        let at = self.shape.root_index[node];
        let root = self.root_table(at)?;
        match &self.graph.nodes[at].work {
            Work::Parts => Some(root.entries.iter().map(|e| e.content).collect()),
            Work::Distinct => {
                let by = self.graph.nodes[at].inputs[1];
                let mut cells = std::collections::HashMap::new();
                let one = |(shard, row): &(u32, u32)| {
                    let shard = *shard as usize;
                    let all = cells.entry(shard).or_insert_with(|| self.cells(by, shard).ok());
                    Some(all.as_ref()?.get(*row as usize)?.content)
                };
                root.origin.iter().map(one).collect()
            }
            _ => None,
        }
    }

    /// The results in a node so far, in numbers.
    pub fn summary(&self, node: usize) -> NodeSummary {
        let mut out = NodeSummary {
            time: Duration::from_nanos(self.tallies[node].nanos.load(Ordering::Relaxed)),
            ..NodeSummary::default()
        };
        if self.is_root(node) {
            out.tasks = self.root_table(node).map_or(0, |r| r.entries.len() as u64);
            if let Work::Source(source) = &self.graph.nodes[node].work {
                out.executed = source.counts().made.min(out.tasks);
            }
            out.cached = out.tasks - out.executed;
            return out;
        }
        for shard in self.shards_of(node).iter().flatten() {
            out.tasks += u64::from(shard.rows());
            out.findings += u64::from(shard.count(State::Finding));
            out.failed += u64::from(shard.count(State::Failed));
            out.broke += u64::from(shard.count(State::Broke));
            out.skipped += u64::from(shard.count(State::Skipped));
        }
        let executed = lock(&self.tallies[node].executed);
        out.executed = executed.iter().map(|(_, rows)| rows.len() as u64).sum();
        out.cached = out.tasks.saturating_sub(out.executed);
        out.elsewhere =
            lock(&self.tallies[node].elsewhere).iter().map(|(_, rows)| rows.len() as u64).sum();
        out.fetched =
            lock(&self.tallies[node].fetched).iter().map(|(_, rows)| rows.len() as u64).sum();
        out
    }

    /// The cells of some states over all nodes, in order of node and name, with content.
    pub fn found(&self, states: &[State]) -> Vec<Found> {
        let mut out = Vec::new();
        self.each_found(states, &mut |found, _, _| out.push(found));
        out
    }

    /// Calls `f` for each of these cells, with its shard and its row. One is held at a time.
    pub fn each_found(&self, states: &[State], f: &mut dyn FnMut(Found, usize, usize)) {
        for node in 0..self.graph.nodes.len() {
            // What is made when it is read fails where it is read; else it hands on.
            if self.is_root(node) || self.made_when_read(node).is_some() {
                continue;
            }
            let Some(root) = self.root_table(node) else {
                continue;
            };
            for (s, shard) in self.shards_of(node).into_iter().enumerate() {
                let any = shard.is_some_and(|h| states.iter().any(|st| h.count(*st) > 0));
                if !any {
                    continue;
                }
                let Ok(cells) = self.cells(node, s) else {
                    continue;
                };
                let inherited = self.input_cells(node, s).unwrap_or_default();
                for (row, cell) in cells.iter().enumerate() {
                    // The failure of an input is told where the input is.
                    let own = inherited.iter().all(|i| i[row].state.usable());
                    if states.contains(&cell.state) && own {
                        let content = self
                            .content(node, s, row, *cell)
                            .unwrap_or_else(|failure| failure.encode());
                        let item = root.rows(s)[row].name.to_string();
                        f(Found { node, item, state: cell.state, content }, s, row);
                    }
                }
            }
        }
    }
}
