//! Keys: under which digest a unit, an action and a normal form are known.

use std::time::UNIX_EPOCH;

use smallvec::SmallVec;

use super::join::PartsRead;
use super::{Engine, lock};
use crate::graph::Outcome;
use crate::rows::{Cell, Kept, State};
use litmake_base::digest::{Digest, Keyer};

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

    pub(crate) fn alias_key(&self, node: usize, normal: &Digest) -> Digest {
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
        let mut digests = SmallVec::<[Digest; 4]>::new();
        for cell in inputs {
            if !cell.state.usable() {
                return Decision::Settled(cell.handed_on());
            }
            digests.push(cell.content);
        }
        if !self.graph.nodes[node].joined.is_empty() {
            match self.parts_read(node, shard, row) {
                Ok(PartsRead::All(parts)) => digests.extend(parts),
                Ok(PartsRead::Lacking(cell)) => return Decision::Settled(cell),
                Err(failure) => {
                    let broke = Cell { state: State::Broke, content: Digest::of(b"") };
                    let settled = self.settle(Outcome::Failed(failure));
                    return Decision::Settled(settled.map_or(broke, |(cell, _)| cell));
                }
            }
        }
        let key = self.action_key(node, &digests);
        match self.made_when_read(node) {
            Some(_) => Decision::Settled(Cell { state: State::Done, content: key }),
            None => Decision::Action(key),
        }
    }
}
