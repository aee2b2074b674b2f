//! What is behind cells and rows: out of the store, or worked out again where it was lost.

use super::{Engine, across, guarded, lock};
use crate::graph::{Outcome, Work};
use crate::parts::encode_results;
use crate::rows::{Cell, State, decode_cells};
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;
use litmake_base::records::{Kind, Put, Records};

impl Engine<'_> {
    /// The cells of a shard, from memory, from the store, or worked out again.
    pub fn cells(&self, node: usize, shard: usize) -> Result<Vec<Cell>, Box<Diag>> {
        if self.is_root(node) {
            return Ok(self.root_of(node)?.cells(shard));
        }
        if let Some(kept) = lock(&self.kept).get(&(node, shard)) {
            return Ok(kept.to_vec());
        }
        if let Some(digest) = self.shard_digest(node, shard)
            && let Some(bytes) = self.store.get_one(&digest)
            && Digest::of(&bytes) == digest
            && let Some(cells) = decode_cells(&bytes)
        {
            return Ok(cells);
        }
        let inputs = self.input_cells(node, shard)?;
        let mut out = Vec::new();
        for row in 0..inputs[0].len() {
            let cell = match self.decide(node, shard, row, &across(&inputs, row)) {
                Ok(cell) => cell,
                Err(key) => match self.recall(self.store.get_one(&key)) {
                    Some(kept) => kept.cell,
                    None => self.redo(node, shard, row, &inputs)?.0,
                },
            };
            out.push(cell);
        }
        Ok(out)
    }

    pub(super) fn input_cells(
        &self,
        node: usize,
        shard: usize,
    ) -> Result<Vec<Vec<Cell>>, Box<Diag>> {
        self.graph.nodes[node].inputs.iter().map(|j| self.cells(*j, shard)).collect()
    }

    /// Runs one row again, because what it gave is no longer to be had.
    pub(super) fn redo(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        inputs: &[Vec<Cell>],
    ) -> Result<(Cell, Vec<u8>), Box<Diag>> {
        let Work::Map(work) = &self.graph.nodes[node].work else {
            return Err(Diag::new("only work on items can be done again"));
        };
        let contents = self.contents(node, shard, row, inputs).map_err(Diag::new)?;
        let outcome = guarded(work.as_ref(), &[contents], &self.options.context)
            .pop()
            .unwrap_or(Outcome::Stopped);
        self.settle(outcome)
            .map(|(cell, bytes)| {
                self.store.put(&[Put { kind: Kind::Blob, key: cell.content, value: &bytes }]);
                (cell, bytes)
            })
            .ok_or_else(|| Diag::new("the run was stopped"))
    }

    /// A cell and its content out of an outcome; nothing where the work was stopped.
    pub(super) fn settle(&self, outcome: Outcome) -> Option<(Cell, Vec<u8>)> {
        let (state, bytes) = match outcome {
            Outcome::Done(bytes) => (State::Done, bytes),
            Outcome::Finding(bytes) => (State::Finding, bytes),
            Outcome::Failed(message) => (State::Failed, message.into_bytes()),
            Outcome::ForNow(outcome) => return self.settle(*outcome),
            Outcome::Broke(message) => {
                let digest = Digest::of(message.as_bytes());
                lock(&self.messages).insert(digest, message.clone());
                if self.options.fail_fast {
                    self.options.context.stop.ask();
                }
                (State::Broke, message.into_bytes())
            }
            Outcome::Stopped => return None,
        };
        let content = Digest::of(&bytes);
        Some((Cell { state, content }, bytes))
    }

    /// The content behind a cell; worked out again where the store has lost it.
    pub fn content(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        cell: Cell,
    ) -> Result<Vec<u8>, String> {
        if let Some(bytes) = self.store.get_one(&cell.content)
            && Digest::of(&bytes) == cell.content
        {
            return Ok(bytes);
        }
        if let Some(message) = lock(&self.messages).get(&cell.content) {
            return Ok(message.clone().into_bytes());
        }
        match &self.graph.nodes[node].work {
            Work::Source(source) => {
                let root = self.root_of(node).map_err(|e| e.message)?;
                let name = &root.rows(shard)[row].name;
                match source.fetch(name) {
                    Some(bytes) if Digest::of(&bytes) == cell.content => Ok(bytes),
                    Some(_) => Err(format!("{name} changed while the run went on; run again")),
                    None => Err(format!("{name} went away while the run went on; run again")),
                }
            }
            Work::Distinct => {
                let root = self.root_of(node).map_err(|e| e.message)?;
                let (s, r) = root.origin[root.bounds[shard] + row];
                self.content(self.graph.nodes[node].inputs[0], s as usize, r as usize, cell)
            }
            Work::Parts => {
                let root = self.root_of(node).map_err(|e| e.message)?;
                let (s, r) = root.origin[root.bounds[shard] + row];
                let input = self.graph.nodes[node].inputs[0];
                let cells = self.cells(input, s as usize).map_err(|e| e.message)?;
                let whole = cells.get(r as usize).copied().ok_or("a part of nothing")?;
                let parts = self.bundle(node, s as usize, r as usize, whole)?.parts;
                let part = parts.into_iter().find(|(_, c)| Digest::of(c) == cell.content);
                part.map(|(_, c)| c).ok_or_else(|| "a part that went away; run again".into())
            }
            Work::Map(_) => {
                let inputs = self.input_cells(node, shard).map_err(|e| e.message)?;
                if let Ok(skipped) = self.decide(node, shard, row, &across(&inputs, row)) {
                    let input = (0..inputs.len())
                        .find(|i| inputs[*i][row].content == skipped.content)
                        .unwrap_or(0);
                    let from = self.graph.nodes[node].inputs[input];
                    return self.content(from, shard, row, inputs[input][row]);
                }
                let (again, bytes) = self.redo(node, shard, row, &inputs).map_err(|e| e.message)?;
                if again.content == cell.content {
                    Ok(bytes)
                } else {
                    Err(format!(
                        "`{}` gave {:?} before and gives {:?} now for equal inputs",
                        self.graph.nodes[node].label, cell.content, again.content
                    ))
                }
            }
        }
    }

    pub(super) fn contents(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        inputs: &[Vec<Cell>],
    ) -> Result<Vec<Vec<u8>>, String> {
        let this = &self.graph.nodes[node];
        let mut out = this
            .inputs
            .iter()
            .zip(inputs)
            .map(|(j, cells)| self.content(*j, shard, row, cells[row]))
            .collect::<Result<Vec<_>, String>>()?;
        if !this.joined.is_empty() {
            let bundle = self.bundle(node, shard, row, inputs[0][row])?;
            for j in &this.joined {
                let found = self.joined(*j, &bundle).map_err(|e| e.message)?;
                let result = |f: &Option<(u32, u32, Cell)>| match f {
                    Some((s, r, cell)) => {
                        self.content(*j, *s as usize, *r as usize, *cell).map(Some)
                    }
                    None => Ok(None),
                };
                let results = found.iter().map(result).collect::<Result<Vec<_>, String>>()?;
                out.push(encode_results(&results));
            }
        }
        Ok(out)
    }
}
