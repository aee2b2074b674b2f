//! Predicts a run without doing it: the same keys, the same look-ups, no work.

use super::graph::Work;
use super::rows::{Cell, Shard, State};
use super::run::{Decision, Engine};
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;

/// The predicted states of a node's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// How many tasks the node has.
    pub tasks: u64,
    /// Tasks whose results are known.
    pub cached: u64,
    /// Tasks that certainly run.
    pub run: u64,
    /// Tasks that run unless the tasks before them give the same results as last time.
    pub maybe: u64,
    /// Names of the first few that run.
    pub names: Vec<String>,
}

const NAMES: usize = 5;

impl Engine<'_> {
    /// One prediction for each node. A list that depends on missing results is unknown, and so are all
    /// nodes after it.
    pub fn predict(&self) -> Result<Vec<Prediction>, Box<Diag>> {
        let n = self.graph.nodes.len();
        let mut out = vec![Prediction::default(); n];
        // The cells as far as they are known, where a shard is not known as a whole.
        let mut partial: Vec<Vec<Option<Vec<Option<Cell>>>>> = vec![Vec::new(); n];
        let mut unknown = vec![false; n];
        for node in 0..n {
            let inputs = self.graph.nodes[node].inputs.clone();
            let open = |i: &usize| unknown[*i] || partial[*i].iter().any(Option::is_some);
            match &self.graph.nodes[node].work {
                Work::Map(_) if inputs.iter().any(|i| unknown[*i]) => {
                    unknown[node] = true;
                    out[node].tasks = out[inputs[0]].tasks;
                    out[node].maybe = out[node].tasks;
                }
                // A joined node counts as a whole: any part may be of any item.
                Work::Map(_) if self.graph.nodes[node].joined.iter().any(&open) => {
                    unknown[node] = true;
                    out[node].tasks = self.root_table(node).map_or(0, |r| r.entries.len() as u64);
                    out[node].maybe = out[node].tasks;
                }
                Work::Map(_) => {
                    let count = self.root_table(node).map_or(0, |r| r.shards());
                    self.set_units(node, count);
                    partial[node] = vec![None; count];
                    for shard in 0..count {
                        let known = self.predict_unit(node, shard, &partial, &mut out[node])?;
                        partial[node][shard] = known;
                    }
                }
                Work::Source(_) | Work::Distinct | Work::Parts => {
                    if inputs.iter().any(open) {
                        unknown[node] = true;
                        out[node].tasks = out[inputs[0]].tasks;
                        out[node].maybe = out[node].tasks;
                    } else {
                        let root = self.list(node)?;
                        out[node].tasks = root.entries.len() as u64;
                        out[node].cached = out[node].tasks;
                    }
                }
            }
        }
        Ok(out)
    }

    /// Counts one unit; gives its cells where they are not all known.
    fn predict_unit(
        &self,
        node: usize,
        shard: usize,
        partial: &[Vec<Option<Vec<Option<Cell>>>>],
        out: &mut Prediction,
    ) -> Result<Option<Vec<Option<Cell>>>, Box<Diag>> {
        let inputs = &self.graph.nodes[node].inputs;
        if let Some(digests) = self.read_by(node, shard) {
            let known = self.store.get_one(&self.manifest_key(node, &digests));
            if let Some(known) = known.and_then(|b| Shard::decode(&b)) {
                out.tasks += u64::from(known.rows());
                out.cached += u64::from(known.rows());
                self.set_shard(node, shard, known);
                return Ok(None);
            }
        }
        let mut cells: Vec<Vec<Option<Cell>>> = Vec::new();
        for input in inputs {
            cells.push(match partial[*input].get(shard) {
                Some(Some(known)) => known.clone(),
                _ => self
                    .cells_if_known(*input, shard)
                    .map(|c| c.into_iter().map(Some).collect())
                    .unwrap_or_default(),
            });
        }
        let root = self.root_table(node);
        let rows = root.as_ref().map_or(0, |r| r.rows(shard).len());
        let mut result = Vec::with_capacity(rows);
        let mut running: rustc_hash::FxHashSet<Digest> = Default::default();
        for row in 0..rows {
            out.tasks += 1;
            let known: Option<Vec<Cell>> =
                cells.iter().map(|c| c.get(row).copied().flatten()).collect();
            let Some(known) = known else {
                out.maybe += 1;
                result.push(None);
                continue;
            };
            let cell = match self.decide(node, shard, row, &known) {
                Decision::Settled(cell) => Some(cell),
                Decision::Action(key) => {
                    let found = self.recall(self.store.get_one(&key)).map(|k| k.cell);
                    let found = found.or_else(|| self.known_by_normal(node, shard, row, &known));
                    if found.is_none() && !running.insert(key) {
                        // An equal task of this unit runs already.
                        out.cached += 1;
                        result.push(None);
                        continue;
                    }
                    found
                }
            };
            match cell {
                Some(_) => out.cached += 1,
                None => {
                    out.run += 1;
                    if out.names.len() < NAMES
                        && let Some(root) = &root
                    {
                        out.names.push(root.rows(shard)[row].name.to_string());
                    }
                }
            }
            result.push(cell);
        }
        let all: Option<Vec<Cell>> = result.iter().copied().collect();
        match all {
            Some(all) if all.iter().all(|c| c.state != State::Broke) => {
                self.set_shard(node, shard, Shard::of(&all));
                self.keep_cells(node, shard, all);
                Ok(None)
            }
            _ => Ok(Some(result)),
        }
    }

    /// Whether an equal task was done, where the inputs' content is at hand.
    fn known_by_normal(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        known: &[Cell],
    ) -> Option<Cell> {
        let Work::Map(work) = &self.graph.nodes[node].work else {
            return None;
        };
        // An item that joins parts has no shorter form, and one that is known by its form was looked up by it.
        if !self.graph.nodes[node].joined.is_empty() || self.goes_by_forms(node) {
            return None;
        }
        let mut contents = Vec::new();
        for (input, cell) in self.graph.nodes[node].inputs.iter().zip(known) {
            if self.made_when_read(*input).is_some() {
                // All that it is made from is known, or its cell would not be.
                let cells = self.cells_if_known(*input, shard)?;
                contents.push(self.contents(*input, shard, &[row as u32], &cells).pop()?.ok()?);
                continue;
            }
            let digest = cell.content;
            let stored = self.store.get_one(&digest);
            contents.push(stored.or_else(|| self.source_content(*input, shard, row, digest))?);
        }
        let key = self.alias(node, work.as_ref(), &contents)?;
        self.recall(self.store.get_one(&key)).map(|k| k.cell)
    }
}
