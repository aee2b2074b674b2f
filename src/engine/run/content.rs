//! Reads the content of cells and rows from the store, or computes it again where the store lost it.

use std::sync::Arc;

use super::keys::Decision;
use super::{Engine, across, guarded, lock};
use crate::graph::{Map, Outcome, Work};
use crate::parts::encode_results;
use crate::rows::{Cell, State, decode_cells};
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Kind, Put, Records};

/// The failure of an item whose content cannot be read any more.
#[expect(clippy::boxed_local, reason = "it comes in a box")]
pub(super) fn gone(e: Box<Diag>) -> Failure {
    Failure::machine(e.message)
}

impl Engine<'_> {
    /// The cells of a shard, from memory, from the store, or worked out again.
    pub fn cells(&self, node: usize, shard: usize) -> Result<Vec<Cell>, Box<Diag>> {
        if self.is_root(node) {
            return Ok(self.root_of(node)?.cells(shard));
        }
        if let Some(kept) = lock(&self.held.kept).get(&(node, shard)) {
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
                Decision::Settled(cell) => cell,
                Decision::Action(key) => match self.recall(self.store.get_one(&key)) {
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
            return Err(Diag::new("a result of a list, and not of an item, is lost; run again"));
        };
        let outcome = match self.items(node, shard, &[row as u32], inputs).pop() {
            Some(Ok(item)) => guarded(work.as_ref(), &[item], &self.options.context)
                .pop()
                .unwrap_or_else(Outcome::stopped),
            Some(Err(failure)) => Outcome::Failed(failure),
            None => Outcome::stopped(),
        };
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
            Outcome::DoneForNow(bytes) => (State::Done, bytes),
            Outcome::Failed(failure) if failure.is_stopped() => return None,
            Outcome::Failed(failure) => match failure.kind.lasting() {
                Lasting::ForGood | Lasting::ForNow => (State::Failed, failure.encode()),
                Lasting::Never => {
                    let bytes = failure.encode();
                    lock(&self.held.broken).insert(Digest::of(&bytes), bytes.clone());
                    if self.options.fail_fast {
                        self.options.context.stop.ask();
                    }
                    (State::Broke, bytes)
                }
            },
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
    ) -> Result<Vec<u8>, Failure> {
        let kept = !cell.state.usable() || self.made_when_read(node).is_none();
        if kept
            && let Some(bytes) = self.store.get_one(&cell.content)
            && Digest::of(&bytes) == cell.content
        {
            return Ok(bytes);
        }
        if let Some(bytes) = lock(&self.held.broken).get(&cell.content) {
            return Ok(bytes.clone());
        }
        match &self.graph.nodes[node].work {
            Work::Source(source) => {
                let root = self.root_of(node).map_err(gone)?;
                let name = &root.rows(shard)[row].name;
                match source.fetch(name) {
                    Some(bytes) if Digest::of(&bytes) == cell.content => Ok(bytes),
                    Some(_) => Err(Failure::machine(format!(
                        "{name} changed while the run went on; run again"
                    ))),
                    None => Err(Failure::machine(format!(
                        "{name} went away while the run went on; run again"
                    ))),
                }
            }
            Work::Distinct => {
                let root = self.root_of(node).map_err(gone)?;
                let (s, r) = root.origin[root.bounds[shard] + row];
                self.content(self.graph.nodes[node].inputs[0], s as usize, r as usize, cell)
            }
            Work::Parts => {
                let root = self.root_of(node).map_err(gone)?;
                let (s, r) = root.origin[root.bounds[shard] + row];
                let input = self.graph.nodes[node].inputs[0];
                let cells = self.cells(input, s as usize).map_err(gone)?;
                let whole = cells.get(r as usize).copied().ok_or_else(|| {
                    Failure::machine("the item that a part belongs to is lost; run again")
                })?;
                let parts = self.bundle(input, s as usize, r as usize, whole)?.parts;
                let part = parts.into_iter().find(|(_, c)| Digest::of(c) == cell.content);
                part.map(|(_, c)| c)
                    .ok_or_else(|| Failure::machine("the content of a part is lost; run again"))
            }
            Work::Map(work) if cell.state.usable() && !work.keeps() => {
                let made = self.made(node, work, shard, &[row as u32]).pop();
                made.unwrap_or_else(|| Err(Failure::stopped()))
            }
            Work::Map(_) => {
                let inputs = self.input_cells(node, shard).map_err(gone)?;
                if let Decision::Settled(skipped) =
                    self.decide(node, shard, row, &across(&inputs, row))
                {
                    let this = &self.graph.nodes[node];
                    let at = (0..inputs.len()).find(|i| inputs[*i][row].content == skipped.content);
                    if let Some(input) = at {
                        return self.content(this.inputs[input], shard, row, inputs[input][row]);
                    }
                    for j in &this.joined {
                        let found = self.joined(*j, shard, row).map_err(gone)?;
                        let same = |f: &(u32, u32, Cell)| f.2.content == skipped.content;
                        if let Some((s, r, cell)) = found.into_iter().flatten().find(same) {
                            return self.content(*j, s as usize, r as usize, cell);
                        }
                    }
                    return Err(Failure::machine("the reason of a failure is lost; run again"));
                }
                let (again, bytes) = self.redo(node, shard, row, &inputs).map_err(gone)?;
                if again.content == cell.content {
                    Ok(bytes)
                } else {
                    Err(Failure::machine(format!(
                        "the stage `{}` gave {:?} before and gives {:?} now for equal inputs",
                        self.graph.nodes[node].label, cell.content, again.content
                    )))
                }
            }
        }
    }

    /// The contents of what some rows are made from. Where there is none, why.
    pub(super) fn items(
        &self,
        node: usize,
        shard: usize,
        rows: &[u32],
        inputs: &[Vec<Cell>],
    ) -> Vec<Result<Vec<Vec<u8>>, Failure>> {
        let this = &self.graph.nodes[node];
        let mut out: Vec<Result<Vec<Vec<u8>>, Failure>> = vec![Ok(Vec::new()); rows.len()];
        let reads = |at: usize| !matches!(&this.work, Work::Map(work) if !work.reads(at));
        for (at, (j, cells)) in this.inputs.iter().zip(inputs).enumerate() {
            if !reads(at) {
                out.iter_mut().flatten().for_each(|item| item.push(Vec::new()));
                continue;
            }
            let contents = self.contents(*j, shard, rows, cells);
            for (item, content) in out.iter_mut().zip(contents) {
                match (&mut *item, content) {
                    (Ok(item), Ok(content)) => item.push(content),
                    (Ok(_), Err(failure)) => *item = Err(failure),
                    (Err(_), _) => {}
                }
            }
        }
        for j in &this.joined {
            for (item, row) in out.iter_mut().zip(rows) {
                let Ok(contents) = item else { continue };
                match self.part_contents(*j, shard, *row as usize) {
                    Ok(parts) => contents.push(encode_results(&parts)),
                    Err(failure) => *item = Err(failure),
                }
            }
        }
        out
    }

    /// The contents of some rows of a node, whose cells these are.
    pub(crate) fn contents(
        &self,
        node: usize,
        shard: usize,
        rows: &[u32],
        cells: &[Cell],
    ) -> Vec<Result<Vec<u8>, Failure>> {
        let one = |row: &u32| {
            let cell = cells[*row as usize];
            self.content(node, shard, *row as usize, cell)
        };
        match self.made_when_read(node) {
            Some(work) => self.made(node, work, shard, rows),
            None => rows.iter().map(one).collect(),
        }
    }

    /// The work of a node whose results are not stored.
    pub(crate) fn made_when_read(&self, node: usize) -> Option<&Arc<dyn Map>> {
        match &self.graph.nodes[node].work {
            Work::Map(work) if !work.keeps() => Some(work),
            _ => None,
        }
    }

    /// Computes the results of such a node for some rows.
    fn made(
        &self,
        node: usize,
        work: &Arc<dyn Map>,
        shard: usize,
        rows: &[u32],
    ) -> Vec<Result<Vec<u8>, Failure>> {
        let inputs = match self.input_cells(node, shard) {
            Ok(inputs) => inputs,
            Err(e) => return vec![Err(gone(e)); rows.len()],
        };
        let items = self.items(node, shard, rows, &inputs);
        let ready: Vec<Vec<Vec<u8>>> = items.iter().filter_map(|i| i.clone().ok()).collect();
        let mut made = guarded(work.as_ref(), &ready, &self.options.context).into_iter();
        let one = |item: Result<Vec<Vec<u8>>, Failure>| match item {
            Err(failure) => Err(failure),
            Ok(_) => match made.next().unwrap_or_else(Outcome::stopped) {
                Outcome::Done(bytes) | Outcome::Finding(bytes) | Outcome::DoneForNow(bytes) => {
                    Ok(bytes)
                }
                Outcome::Failed(failure) => Err(failure),
            },
        };
        items.into_iter().map(one).collect()
    }
}
