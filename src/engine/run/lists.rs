//! Lists of items: where they come from, and what is known of their shards.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::held::Unit;
use super::{Engine, lock};
use crate::graph::Work;
use crate::rows::{Cell, Entry, Shard, State, decode_cells, encode_entries};
use litmake_base::cuts::cuts;
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;

/// The list of items of a root.
pub struct Root {
    /// The items, in the order of their rows.
    pub entries: Vec<Entry>,
    /// The start of each shard, and the end of the last.
    pub bounds: Vec<usize>,
    /// The digest of each shard.
    pub digests: Vec<Digest>,
    /// For a list that was made from another one: the shard and row of each item there.
    pub(crate) origin: Vec<(u32, u32)>,
    /// For a list of a job, which is one shard: the strips in which it is cut into packets. Other lists are
    /// cut by their content.
    pub(super) strips: Option<Vec<Range<usize>>>,
    /// The shard and row of the item of each content.
    places: OnceLock<FxHashMap<Digest, (u32, u32)>>,
}

impl Root {
    /// A list that is cut into shards by the names of its items.
    pub(crate) fn new(entries: Vec<Entry>, origin: Vec<(u32, u32)>) -> Root {
        let mut bounds = vec![0];
        bounds.extend(cuts(entries.iter().map(|e| &*e.name)));
        Root { origin, ..Root::of_shards(entries, bounds) }
    }

    fn of_shards(entries: Vec<Entry>, bounds: Vec<usize>) -> Root {
        let digests =
            bounds.windows(2).map(|w| Digest::of(&encode_entries(&entries[w[0]..w[1]]))).collect();
        let places = OnceLock::new();
        Root { entries, bounds, digests, origin: Vec::new(), strips: None, places }
    }

    /// A list of strips with so many items each. It is one shard, so that tools, which cost much to start,
    /// take items of several strips together.
    pub fn of_strips(entries: Vec<Entry>, lengths: &[u32]) -> Root {
        let mut end = 0;
        let mut strip = |length: &u32| {
            let start = end;
            end += *length as usize;
            start..end
        };
        let strips = lengths.iter().map(&mut strip).collect();
        let bounds = vec![0, entries.len()];
        Root { strips: Some(strips), ..Root::of_shards(entries, bounds) }
    }

    /// The shard and row of the item with some content, in a list of distinct contents.
    pub(super) fn place_of(&self, content: &Digest) -> Option<(u32, u32)> {
        let places = self.places.get_or_init(|| {
            let rows = (0..self.shards()).flat_map(|s| {
                let place = move |(r, e): (usize, &Entry)| (e.content, (s as u32, r as u32));
                self.rows(s).iter().enumerate().map(place)
            });
            rows.collect()
        });
        places.get(content).copied()
    }

    /// How many shards it has.
    pub fn shards(&self) -> usize {
        self.digests.len()
    }

    /// The items of one shard.
    pub fn rows(&self, shard: usize) -> &[Entry] {
        &self.entries[self.bounds[shard]..self.bounds[shard + 1]]
    }

    pub(super) fn cells(&self, shard: usize) -> Vec<Cell> {
        let done = |e: &Entry| Cell { state: State::Done, content: e.content };
        self.rows(shard).iter().map(done).collect()
    }
}

/// Whether an item belongs to part `i` of `n`.
pub fn in_part(name: &str, (i, n): (u32, u32)) -> bool {
    let hash = Digest::of(name.as_bytes()).prefix();
    hash % u64::from(n.max(1)) == u64::from(i.saturating_sub(1))
}

impl Engine<'_> {
    /// The list of a root, made where it is not there yet.
    pub(crate) fn list(&self, node: usize) -> Result<Arc<Root>, Box<Diag>> {
        if let Some(root) = lock(&self.held.roots[node]).clone() {
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
        *lock(&self.held.roots[node]) = Some(root.clone());
        Ok(root)
    }

    /// The items of the first input, the first of each whose content in the second is equal.
    pub(super) fn distinct(&self, node: usize) -> Result<Root, Box<Diag>> {
        let inputs = &self.graph.nodes[node].inputs;
        let root = self.root_of(inputs[0])?;
        let has_forms = self.forms(inputs[0]).is_some();
        let mut seen = FxHashSet::default();
        let mut entries = Vec::new();
        let mut origin = Vec::new();
        for shard in 0..root.shards() {
            let items = self.cells(inputs[0], shard)?;
            let by = self.cells(inputs[1], shard)?;
            for (row, (item, by)) in items.iter().zip(&by).enumerate() {
                if item.state.usable() && by.state.usable() && seen.insert(by.content) {
                    let Entry { name, content } = root.rows(shard)[row].clone();
                    // Items of a list are told apart by more than their forms.
                    let content = match has_forms {
                        true => self.action_key(node, &[item.content, content]),
                        false => item.content,
                    };
                    entries.push(Entry { name, content });
                    origin.push((shard as u32, row as u32));
                }
            }
        }
        Ok(Root::new(entries, origin))
    }

    pub(super) fn root_of(&self, node: usize) -> Result<Arc<Root>, Box<Diag>> {
        let root = self.shape.root_index[node];
        lock(&self.held.roots[root])
            .clone()
            .ok_or_else(|| Diag::new(format!("`{}` has no list yet", self.graph.nodes[root].label)))
    }

    pub(super) fn is_root(&self, node: usize) -> bool {
        !matches!(self.graph.nodes[node].work, Work::Map(_))
    }

    /// Says how many units a node has, of which nothing is known.
    pub(crate) fn set_units(&self, node: usize, count: usize) {
        *lock(&self.held.units[node]) = vec![Unit::Ready; count];
    }

    pub(crate) fn set_shard(&self, node: usize, shard: usize, value: Shard) {
        self.held.done(node, shard, value);
    }

    pub(crate) fn keep_cells(&self, node: usize, shard: usize, cells: Vec<Cell>) {
        lock(&self.held.kept).insert((node, shard), Arc::new(cells));
    }

    /// The cells of a shard, where that takes no work.
    pub(crate) fn cells_if_known(&self, node: usize, shard: usize) -> Option<Vec<Cell>> {
        if self.is_root(node) {
            return Some(self.root_of(node).ok()?.cells(shard));
        }
        if let Some(kept) = lock(&self.held.kept).get(&(node, shard)) {
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
