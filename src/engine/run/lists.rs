//! Lists of items: where they come from, and what is known of their shards.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Engine, Root, in_part, lock};
use crate::graph::Work;
use crate::rows::{Cell, Entry, Shard, decode_cells};
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;

impl Engine<'_> {
    /// The list of a root, made where it is not there yet.
    pub(crate) fn list(&self, node: usize) -> Result<Arc<Root>, Box<Diag>> {
        if let Some(root) = lock(&self.roots[node]).clone() {
            return Ok(root);
        }
        let root = match &self.graph.nodes[node].work {
            Work::Source(source) => {
                let mut entries = self.list_of(source.as_ref())?;
                if let Some(part) = self.options.part {
                    entries.retain(|e| in_part(&e.name, part));
                }
                Root::new(entries, Vec::new())
            }
            Work::Parts => self.parts(node)?,
            _ => self.distinct(node)?,
        };
        let root = Arc::new(root);
        *lock(&self.roots[node]) = Some(root.clone());
        Ok(root)
    }

    /// The items of the first input, the first of each whose content in the second is equal.
    pub(super) fn distinct(&self, node: usize) -> Result<Root, Box<Diag>> {
        let inputs = &self.graph.nodes[node].inputs;
        let root = self.root_of(inputs[0])?;
        let mut seen = FxHashSet::default();
        let mut entries = Vec::new();
        let mut origin = Vec::new();
        for shard in 0..root.shards() {
            let items = self.cells(inputs[0], shard)?;
            let by = self.cells(inputs[1], shard)?;
            for (row, (item, by)) in items.iter().zip(&by).enumerate() {
                if item.state.usable() && by.state.usable() && seen.insert(by.content) {
                    entries.push(Entry {
                        name: root.rows(shard)[row].name.clone(),
                        content: item.content,
                    });
                    origin.push((shard as u32, row as u32));
                }
            }
        }
        Ok(Root::new(entries, origin))
    }

    pub(super) fn root_of(&self, node: usize) -> Result<Arc<Root>, Box<Diag>> {
        let root = self.root_index[node];
        lock(&self.roots[root])
            .clone()
            .ok_or_else(|| Diag::new(format!("`{}` has no list yet", self.graph.nodes[root].label)))
    }

    pub(super) fn is_root(&self, node: usize) -> bool {
        !matches!(self.graph.nodes[node].work, Work::Map(_))
    }

    pub(crate) fn set_shards(&self, node: usize, shards: Vec<Option<Shard>>) {
        *lock(&self.shards[node]) = shards;
    }

    pub(crate) fn set_shard(&self, node: usize, shard: usize, value: Shard) {
        lock(&self.shards[node])[shard] = Some(value);
    }

    pub(crate) fn keep_cells(&self, node: usize, shard: usize, cells: Vec<Cell>) {
        lock(&self.kept).insert((node, shard), Arc::new(cells));
    }

    /// The cells of a shard, where that takes no work.
    pub(crate) fn cells_if_known(&self, node: usize, shard: usize) -> Option<Vec<Cell>> {
        if self.is_root(node) {
            return Some(self.root_of(node).ok()?.cells(shard));
        }
        if let Some(kept) = lock(&self.kept).get(&(node, shard)) {
            return Some(kept.to_vec());
        }
        let digest = self.shard_digest(node, shard)?;
        decode_cells(&self.store.get_one(&digest)?)
    }

    /// The content of an item of a source, where it is still what it was.
    pub(crate) fn source_content(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        digest: Digest,
    ) -> Option<Vec<u8>> {
        let Work::Source(source) = &self.graph.nodes[node].work else {
            return None;
        };
        let root = self.root_of(node).ok()?;
        let bytes = source.fetch(&root.rows(shard).get(row)?.name)?;
        (Digest::of(&bytes) == digest).then_some(bytes)
    }
}
