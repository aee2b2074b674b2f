//! Makes a random part of the results again that the store claims, and compares them. It finds what
//! no checksum shows: results that were forged, or that depend on more than their keys have in them.
//!
//! A claim that turns out to be wrong is replaced by what was made. Measurements of this machine are
//! no claims that can be made again. This file does not know what the work does.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::keys::Decision;
use super::{Engine, across, guarded};
use crate::graph::{Map, Outcome, Travels, Work};
use crate::rows::{Cell, Kept, Shard, State, encode_cells};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Audit {
    /// The results that the store claims, and that can be made again.
    pub claims: u64,
    /// Those that were made again.
    pub made: u64,
    /// Those that were chosen and could not be made, because a tool or an input is missing or breaks.
    pub not_made: u64,
    /// The claims that are wrong.
    pub wrong: Vec<Wrong>,
}

/// A claim that is not what the work makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The node.
    pub node: String,
    /// The item.
    pub item: String,
    /// The key of the action.
    pub key: Digest,
    /// The result in the record.
    pub claimed: String,
    /// The result that the work makes.
    pub made: String,
}

impl Audit {
    /// Adds what another audit covered.
    pub fn and(mut self, other: Audit) -> Audit {
        self.claims += other.claims;
        self.made += other.made;
        self.not_made += other.not_made;
        self.wrong.extend(other.wrong);
        self
    }
}

/// The results that an audit chooses.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The part of all results.
    pub part: f64,
    /// The seed of the choice.
    pub seed: u64,
}

impl Sample {
    fn has(self, key: &Digest) -> bool {
        let digest = Keyer::new("audit/1")
            .field("seed", &self.seed.to_le_bytes())
            .field("key", &key.0)
            .finish();
        let number = digest.0[..8].iter().fold(0, |n: u64, b| n << 8 | u64::from(*b));
        (number as f64) < self.part * (u64::MAX as f64)
    }
}

/// A chosen claim: a row, the key of its action, and what the store says.
struct Claim {
    row: usize,
    key: Digest,
    cell: Cell,
}

impl Engine<'_> {
    /// Makes a part of the results of a finished run again. `seen` has the keys that were looked at
    /// before, so that no claim counts twice.
    pub fn audit(&self, sample: Sample, seen: &mut HashSet<Digest>) -> Audit {
        let mut out = Audit::default();
        for (node, of) in self.graph.nodes.iter().enumerate() {
            let Work::Map(work) = &of.work else { continue };
            let is_made_here = !matches!(work.travels(), Travels::Never | Travels::Only);
            if !work.keeps() || !is_made_here {
                continue;
            }
            for shard in 0..self.root_table(node).map_or(0, |root| root.shards()) {
                if self.options.context.stopped() {
                    return out;
                }
                self.audit_unit((node, shard), work.as_ref(), sample, seen, &mut out);
            }
        }
        out
    }

    fn audit_unit(
        &self,
        (node, shard): (usize, usize),
        work: &dyn Map,
        sample: Sample,
        seen: &mut HashSet<Digest>,
        out: &mut Audit,
    ) {
        let (Ok(inputs), Ok(cells)) = (self.input_cells(node, shard), self.cells(node, shard))
        else {
            return;
        };
        let mut chosen = Vec::new();
        for (row, cell) in cells.iter().enumerate() {
            let Decision::Action(key) = self.decide(node, shard, row, &across(&inputs, row)) else {
                continue;
            };
            let kept = Kept::decode(&self.store.get_one(&key).unwrap_or_default());
            // What is kept for a day only promises nothing, and what broke is not kept.
            let promises =
                cell.state != State::Broke && kept.is_none_or(|kept| kept.made.is_none());
            if promises && seen.insert(key) {
                out.claims += 1;
                if sample.has(&key) {
                    chosen.push(Claim { row, key, cell: *cell });
                }
            }
        }
        let mut right: FxHashMap<usize, Cell> = FxHashMap::default();
        for batch in chosen.chunks(work.batch().max(1)) {
            let rows: Vec<u32> = batch.iter().map(|claim| claim.row as u32).collect();
            let items = self.items(node, shard, &rows, &inputs);
            let made = self.make(work, &items);
            for ((claim, item), made) in batch.iter().zip(items).zip(made) {
                if let Some(cell) = self.check((node, shard), work, claim, item.ok(), made, out) {
                    right.insert(claim.row, cell);
                }
            }
        }
        if !right.is_empty() {
            self.correct(node, shard, cells, &right);
        }
    }

    /// The results of some items, made together; `None` where there is none.
    fn make<E>(&self, work: &dyn Map, items: &[Result<Vec<Vec<u8>>, E>]) -> Vec<Option<Outcome>> {
        let ready: Vec<Vec<Vec<u8>>> =
            items.iter().filter_map(|item| item.as_ref().ok().cloned()).collect();
        let mut made = guarded(work, &ready, &self.options.context).into_iter();
        items.iter().map(|item| item.as_ref().ok().and_then(|_| made.next())).collect()
    }

    /// Compares a claim, in all records that make it, with what was made. Returns the right cell if
    /// some record is wrong.
    fn check(
        &self,
        (node, shard): (usize, usize),
        work: &dyn Map,
        claim: &Claim,
        item: Option<Vec<Vec<u8>>>,
        made: Option<Outcome>,
        out: &mut Audit,
    ) -> Option<Cell> {
        let settled = made.and_then(|made| self.settle(made));
        let (Some((mut cell, mut bytes)), Some(item)) = (settled, item) else {
            out.not_made += 1;
            return None;
        };
        if cell.state == State::Broke {
            out.not_made += 1;
            return None;
        }
        let alias = self.alias(node, work, &item);
        let record = |key: Digest| {
            let kept = Kept::decode(&self.store.get_one(&key)?)?;
            kept.made.is_none().then_some(kept.cell)
        };
        let records = [Some(claim.key), alias].into_iter().flatten().filter_map(record);
        let claimed: Vec<Cell> = std::iter::once(claim.cell).chain(records).collect();
        out.made += 1;
        if claimed.iter().all(|claimed| *claimed == cell) {
            return None;
        }
        // Items that are made together must not change each other; this one is made alone, too.
        if let Some(alone) = self.make::<()>(work, &[Ok(item)]).pop().flatten()
            && let Some(alone) = self.settle(alone)
        {
            (cell, bytes) = alone;
        }
        let wrong = claimed.iter().find(|claimed| **claimed != cell)?;
        let root = self.root_table(node);
        let name = root.map(|root| root.rows(shard)[claim.row].name.to_string());
        let told = |cell: &Cell| format!("{:?} {}", cell.state, cell.content.short());
        out.wrong.push(Wrong {
            node: self.graph.nodes[node].label.clone(),
            item: name.unwrap_or_default(),
            key: claim.key,
            claimed: told(wrong),
            made: told(&cell),
        });
        let value = Kept { cell, made: None }.encode();
        let mut puts = vec![
            Put { kind: Kind::Blob, key: cell.content, value: &bytes },
            Put { kind: Kind::Action, key: claim.key, value: &value },
        ];
        puts.extend(alias.map(|key| Put { kind: Kind::Alias, key, value: &value }));
        self.store.put(&puts);
        Some(cell)
    }

    /// Stores the list of a unit's results without what is wrong in it.
    fn correct(
        &self,
        node: usize,
        shard: usize,
        mut cells: Vec<Cell>,
        right: &FxHashMap<usize, Cell>,
    ) {
        let Some(digests) = self.read_by(node, shard) else { return };
        right.iter().for_each(|(row, cell)| cells[*row] = *cell);
        let unit = Shard::of(&cells);
        self.store.put(&[
            Put { kind: Kind::Blob, key: unit.digest, value: &encode_cells(&cells) },
            Put {
                kind: Kind::Manifest,
                key: self.manifest_key(node, &digests),
                value: &unit.encode(),
            },
        ]);
    }
}
