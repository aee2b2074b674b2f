//! Keys: under which digest a unit, an action and a normal form are known.

use std::time::UNIX_EPOCH;

use smallvec::SmallVec;

use super::content::gone;
use super::join::{self, Joined, PartsRead, Placed};
use super::{Engine, lock};
use crate::graph::{Forms, Map, Outcome, Work};
use crate::rows::{Cell, Kept, State};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::Failure;

/// A result that is kept for a day only is computed again after this time, in milliseconds.
const FOR_NOW: u64 = 24 * 60 * 60 * 1000;

/// The work that an item needs in a node.
pub(crate) enum Decision {
    /// Nothing: an input has no result, or the result is made when it is read, and stands for itself by its key.
    Settled(Cell),
    /// An action, by its key.
    Action(Digest),
}

impl Engine<'_> {
    /// When the run began, as it is stored.
    pub(super) fn now(&self) -> u64 {
        self.options.now.duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64)
    }

    /// The stored cell of an item, if it may still be used.
    pub(crate) fn recall(&self, bytes: Option<Vec<u8>>) -> Option<Kept> {
        let kept = Kept::decode(&bytes?)?;
        let counts = match (kept.made, self.options.ask_again) {
            (None, _) => true,
            (Some(made), true) => made == self.now(),
            // A clock that was wrong is no reason to keep it longer.
            (Some(made), false) => made.abs_diff(self.now()) < FOR_NOW,
        };
        counts.then_some(kept)
    }

    pub(crate) fn shard_digest(&self, node: usize, shard: usize) -> Option<Digest> {
        if self.is_root(node) {
            let root = lock(&self.held.roots[node]).clone()?;
            return root.digests.get(shard).copied();
        }
        self.held.shard(node, shard).map(|s| s.digest)
    }

    /// A digest of all items of a node with their results.
    pub fn whole_digest(&self, node: usize) -> Option<Digest> {
        let root = lock(&self.held.roots[self.shape.root_index[node]]).clone()?;
        let mut key = Keyer::new("whole/1");
        for shard in 0..root.shards() {
            key.add("items", &root.digests[shard].0);
            key.add("shard", &self.shard_digest(node, shard)?.0);
        }
        Some(key.finish())
    }

    /// The digests in a unit's manifest key: of the shards that it reads, and of each joined node as a
    /// whole.
    pub(crate) fn read_by(&self, node: usize, shard: usize) -> Option<Vec<Digest>> {
        let this = &self.graph.nodes[node];
        let mut out: Vec<Digest> =
            this.inputs.iter().map(|j| self.shard_digest(*j, shard)).collect::<Option<_>>()?;
        if self.sees_beyond_forms(node) {
            out.push(self.shard_digest(self.shape.root_index[node], shard)?);
        }
        for j in &this.joined {
            out.push(self.whole_digest(*j)?);
        }
        Some(out)
    }

    pub(crate) fn manifest_key(&self, node: usize, digests: &[Digest]) -> Digest {
        let mut key = Keyer::new("manifest/1").field("node", &self.shape.fingerprints[node].0);
        for digest in digests {
            key.add("shard", &digest.0);
        }
        key.finish()
    }

    pub(crate) fn action_key(&self, node: usize, inputs: &[Digest]) -> Digest {
        let mut key = Keyer::new("action/1").field("node", &self.shape.fingerprints[node].0);
        for digest in inputs {
            key.add("input", &digest.0);
        }
        key.finish()
    }

    fn alias_key(&self, node: usize, normal: &Digest) -> Digest {
        Keyer::new("normal/1")
            .field("node", &self.shape.fingerprints[node].0)
            .field("input", &normal.0)
            .finish()
    }

    /// Decides which work a row needs, by the cells of its inputs.
    pub(crate) fn decide(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        inputs: &[Cell],
    ) -> Decision {
        if let Some(cell) = inputs.iter().find(|cell| !cell.state.usable()) {
            return Decision::Settled(cell.handed_on());
        }
        match self.known_by(node, shard, row, inputs) {
            Ok(decision) => decision,
            Err(failure) => {
                let broke = Cell { state: State::Broke, content: Digest::of(b"") };
                let settled = self.settle(Outcome::Failed(failure));
                Decision::Settled(settled.map_or(broke, |(cell, _)| cell))
            }
        }
    }

    fn known_by(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        inputs: &[Cell],
    ) -> Result<Decision, Failure> {
        let joined = match self.parts_read(node, shard, row)? {
            PartsRead::All(joined) => joined,
            PartsRead::Lacking(cell) => return Ok(Decision::Settled(cell)),
        };
        let settled = |content| Decision::Settled(Cell { state: State::Done, content });
        if let Some(form) = self.form(node, (shard, row), inputs, &joined)? {
            return Ok(settled(form));
        }
        let mut digests: SmallVec<[Digest; 4]> = inputs.iter().map(|cell| cell.content).collect();
        if self.sees_beyond_forms(node) {
            let root = self.root_of(node).map_err(gone)?;
            digests.push(root.rows(shard)[row].content);
        }
        digests.extend(joined.iter().map(join::digest));
        let key = self.action_key(node, &digests);
        Ok(match self.made_when_read(node) {
            Some(_) => settled(key),
            None => Decision::Action(key),
        })
    }

    /// The form of a result that is made when it is read, where it has one.
    fn form(
        &self,
        node: usize,
        (shard, row): (usize, usize),
        inputs: &[Cell],
        joined: &[Joined],
    ) -> Result<Option<Digest>, Failure> {
        let this = &self.graph.nodes[node];
        let Some(forms) = self.forms(node) else { return Ok(None) };
        let parts = this.joined.iter().zip(joined).flat_map(|(j, found)| {
            let placed = |(s, r, cell): &Placed| (*j, *s as usize, *r as usize, *cell);
            found.iter().flatten().map(placed)
        });
        let own = this.inputs.iter().zip(inputs).map(|(j, cell)| (*j, shard, row, *cell));
        let from: SmallVec<[_; 8]> = own.chain(parts).collect();
        let digests: SmallVec<[Digest; 8]> = from.iter().map(|(.., cell)| cell.content).collect();
        forms.form(&digests, &|at| {
            let (node, shard, row, cell) = from[at];
            self.content(node, shard, row, cell)
        })
    }

    pub(super) fn forms(&self, node: usize) -> Option<&dyn Forms> {
        self.made_when_read(node)?.forms()
    }

    /// Whether items of equal forms may differ for the work of a node.
    pub fn sees_beyond_forms(&self, node: usize) -> bool {
        let this = &self.graph.nodes[node];
        let asks = matches!(&this.work, Work::Map(work) if work.asks_forms());
        !asks && this.inputs.iter().any(|j| self.forms(*j).is_some())
    }

    /// The key of the normal form of an item; `None` where the work has none, or the key of the action is
    /// one of forms already.
    pub(crate) fn alias(&self, node: usize, work: &dyn Map, item: &[Vec<u8>]) -> Option<Digest> {
        let normal = (!self.goes_by_forms(node)).then(|| work.normal(item)).flatten()?;
        Some(self.alias_key(node, &normal))
    }

    /// Whether the keys of a node's actions are made of forms alone.
    pub(crate) fn goes_by_forms(&self, node: usize) -> bool {
        let this = &self.graph.nodes[node];
        let asks = matches!(&this.work, Work::Map(work) if work.asks_forms());
        asks && this.inputs.iter().all(|j| self.forms(*j).is_some())
    }
}
