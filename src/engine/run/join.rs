//! Bundles of parts: the list of all parts, and the results of the parts of one bundle.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::content::gone;
use super::held::Places;
use super::{Engine, Root, lock};
use crate::graph::Work;
use crate::parts::Bundle;
use crate::remote::offer_record;
use crate::rows::{Cell, Entry, State, decode_entries, encode_entries};
use litmake_base::diag::Diag;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Kind, Put, Records};

/// Where a part lies, and its cell.
pub(super) type Placed = (u32, u32, Cell);

/// The parts of an item in a joined node; `None` for a part that is in no list.
pub(super) type Joined = SmallVec<[Option<Placed>; 4]>;

/// The results of an item's parts, if there are all that its work needs.
pub(super) enum PartsRead {
    /// The parts in each joined node.
    All(SmallVec<[Joined; 1]>),
    /// The cell of the item, where its work needs all parts and one has no result.
    Lacking(Cell),
}

impl Engine<'_> {
    /// The parts of all bundles that the input gives.
    pub(super) fn parts(&self, node: usize) -> Result<Root, Box<Diag>> {
        let input = self.graph.nodes[node].inputs[0];
        let root = self.root_of(input)?;
        self.fetch_part_lists(node, root.shards());
        let mut seen = FxHashSet::default();
        let mut all: Vec<(Entry, (u32, u32))> = Vec::new();
        for shard in 0..root.shards() {
            let list = self.part_list(node, shard)?;
            for entry in list {
                let Some((row, part)) = entry.name.split_once('#') else { continue };
                let row = row.parse::<u32>().unwrap_or(u32::MAX);
                let Some(item) = root.rows(shard).get(row as usize) else { continue };
                if seen.insert(entry.content) {
                    let name = format!("{}#{part}", item.name).into_boxed_str();
                    let entry = Entry { name, content: entry.content };
                    all.push((entry, (shard as u32, row)));
                }
            }
        }
        all.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let (entries, origin) = all.into_iter().unzip();
        Ok(Root::new(entries, origin))
    }

    /// The parts of one shard, named by row and part. Their digests are recorded, so that the bundles need
    /// not be read again.
    fn part_list(&self, node: usize, shard: usize) -> Result<Vec<Entry>, Box<Diag>> {
        let input = self.graph.nodes[node].inputs[0];
        let key = self.shard_digest(input, shard).map(|d| self.manifest_key(node, &[d]));
        let known = key.and_then(|k| self.store.get_one(&k)).and_then(|b| decode_entries(&b));
        match known {
            Some(list) => Ok(list),
            None => self.parts_of(input, shard, key),
        }
    }

    fn parts_of(
        &self,
        input: usize,
        shard: usize,
        key: Option<Digest>,
    ) -> Result<Vec<Entry>, Box<Diag>> {
        let mut list = Vec::new();
        let mut complete = true;
        let mut blobs: Vec<(Digest, Vec<u8>)> = Vec::new();
        let cells = self.cells(input, shard)?;
        let rows: Vec<u32> =
            (0..cells.len() as u32).filter(|row| cells[*row as usize].state.usable()).collect();
        complete &= cells.iter().all(|cell| cell.state != State::Broke);
        for (row, content) in rows.iter().zip(self.contents(input, shard, &rows, &cells)) {
            let bytes = match content {
                Ok(bytes) => bytes,
                // An item that failed has no parts, and its failure is told where it is read.
                Err(failure) if failure.kind.lasting() != Lasting::Never => continue,
                Err(failure) => return Err(Diag::new(failure.text())),
            };
            let bundle = self.unpacked(input, &bytes)?;
            for (name, content) in bundle.parts {
                let digest = Digest::of(&content);
                let name = format!("{row}#{name}").into_boxed_str();
                list.push(Entry { name, content: digest });
                blobs.push((digest, content));
            }
        }
        let digests: Vec<Digest> = blobs.iter().map(|b| b.0).collect();
        let there = self.store.has(&digests);
        let mut puts: Vec<Put> = blobs
            .iter()
            .zip(there)
            .filter(|(_, there)| !there)
            .map(|((key, value), _)| Put { kind: Kind::Blob, key: *key, value })
            .collect();
        let encoded = encode_entries(&list);
        if let (Some(key), true) = (key, complete) {
            puts.push(Put { kind: Kind::Manifest, key, value: &encoded });
            if let Some(remote) = &self.options.remote {
                offer_record(&**remote, Kind::Manifest, &key, &encoded);
            }
        }
        self.store.put(&puts);
        Ok(list)
    }

    /// All cells of a node, by shard.
    pub(super) fn whole(&self, node: usize) -> Result<&Vec<Vec<Cell>>, Box<Diag>> {
        if let Some(cells) = self.held.whole[node].get() {
            return Ok(cells);
        }
        let shards = self.root_of(node)?.shards();
        let cells = (0..shards).map(|s| self.cells(node, s)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.held.whole[node].get_or_init(|| cells))
    }

    /// Where the parts of each item of a shard stand in their list, which is the same for every
    /// node that works on that list.
    fn places(&self, parts: usize, shard: usize) -> Result<Arc<Vec<Places>>, Box<Diag>> {
        if let Some(places) = lock(&self.held.places).get(&(parts, shard)) {
            return Ok(places.clone());
        }
        let root = self.root_of(parts)?;
        let whole = self.root_of(self.graph.nodes[parts].inputs[0])?;
        let mut places = vec![Places::default(); whole.rows(shard).len()];
        for entry in self.part_list(parts, shard)? {
            let row = entry.name.split_once('#').and_then(|(row, _)| row.parse::<usize>().ok());
            if let Some(places) = row.and_then(|row| places.get_mut(row)) {
                places.push(root.place_of(&entry.content));
            }
        }
        let places = Arc::new(places);
        lock(&self.held.places).insert((parts, shard), places.clone());
        Ok(places)
    }

    /// The parts that a node gave for an item.
    pub(super) fn bundle(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        cell: Cell,
    ) -> Result<Bundle, Failure> {
        let bytes = self.content(node, shard, row, cell)?;
        self.unpacked(node, &bytes).map_err(gone)
    }

    fn unpacked(&self, node: usize, bytes: &[u8]) -> Result<Bundle, Box<Diag>> {
        let label = &self.graph.nodes[node].label;
        Bundle::decode(bytes).ok_or_else(|| {
            Diag::new(format!("the stage `{label}` gave a result that is no list of parts"))
        })
    }

    /// The cells of an item's parts in a node, and their places there.
    pub(super) fn joined(
        &self,
        joined: usize,
        shard: usize,
        row: usize,
    ) -> Result<Joined, Box<Diag>> {
        let places = self.places(self.shape.root_index[joined], shard)?;
        let cells = self.whole(joined)?;
        let find = |place: &Option<(u32, u32)>| {
            let (shard, row) = (*place)?;
            Some((shard, row, *cells.get(shard as usize)?.get(row as usize)?))
        };
        Ok(places.get(row).into_iter().flatten().map(find).collect())
    }

    /// The results of an item's parts in a node; `None` for a part without one.
    pub(super) fn part_contents(
        &self,
        joined: usize,
        shard: usize,
        row: usize,
    ) -> Result<Vec<Option<Vec<u8>>>, Failure> {
        let found = self.joined(joined, shard, row).map_err(gone)?;
        let content = |found: &Option<(u32, u32, Cell)>| match found {
            Some((s, r, cell)) if cell.state.usable() => {
                self.content(joined, *s as usize, *r as usize, *cell).map(Some)
            }
            _ => Ok(None),
        };
        found.iter().map(content).collect()
    }

    /// The results of an item's parts in all joined nodes.
    pub(super) fn parts_read(
        &self,
        node: usize,
        shard: usize,
        row: usize,
    ) -> Result<PartsRead, Failure> {
        let this = &self.graph.nodes[node];
        let needs_all = matches!(&this.work, Work::Map(work) if work.needs_all_parts());
        let mut out = SmallVec::new();
        for j in &this.joined {
            let joined = self.joined(*j, shard, row).map_err(gone)?;
            let lacking = joined.iter().flatten().find(|(_, _, cell)| !cell.state.usable());
            if let (true, Some((_, _, cell))) = (needs_all, lacking) {
                return Ok(PartsRead::Lacking(cell.handed_on()));
            }
            out.push(joined);
        }
        Ok(PartsRead::All(out))
    }
}

/// A digest of the results of an item's parts in a node; all failures of parts count as equal.
pub(super) fn digest(joined: &Joined) -> Digest {
    let mut key = Keyer::new("joined/1");
    for found in joined {
        match found {
            Some((_, _, cell)) if cell.state.usable() => key.add("part", &cell.content.0),
            _ => key.add("none", b""),
        }
    }
    key.finish()
}
