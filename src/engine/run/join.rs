//! Bundles of parts: the list of all parts, and what became of those of one bundle.

use rustc_hash::FxHashSet;

use super::{Engine, Root};
use crate::parts::Bundle;
use crate::rows::{Cell, Entry, State, decode_entries, encode_entries};
use litmake_base::diag::Diag;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};

/// Where a part lies, and its cell.
type Placed = (u32, u32, Cell);

impl Engine<'_> {
    /// The parts of all bundles that the input gives.
    pub(super) fn parts(&self, node: usize) -> Result<Root, Box<Diag>> {
        let input = self.graph.nodes[node].inputs[0];
        let root = self.root_of(input)?;
        let mut seen = FxHashSet::default();
        let mut all: Vec<(Entry, (u32, u32))> = Vec::new();
        for shard in 0..root.shards() {
            // Which parts a shard has is noted, so that the bundles need not be read again.
            let key = self.shard_digest(input, shard).map(|d| self.manifest_key(node, &[d]));
            let known = key.and_then(|k| self.store.get_one(&k)).and_then(|b| decode_entries(&b));
            let list = match known {
                Some(list) => list,
                None => self.parts_of(input, shard, key)?,
            };
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

    /// The parts of one shard, named by row and part; they are put into the store.
    pub(super) fn parts_of(
        &self,
        input: usize,
        shard: usize,
        key: Option<Digest>,
    ) -> Result<Vec<Entry>, Box<Diag>> {
        let mut list = Vec::new();
        let mut complete = true;
        let mut blobs: Vec<(Digest, Vec<u8>)> = Vec::new();
        for (row, cell) in self.cells(input, shard)?.into_iter().enumerate() {
            complete &= cell.state != State::Broke;
            if !cell.state.usable() {
                continue;
            }
            let bytes = self.content(input, shard, row, cell).map_err(Diag::new)?;
            let bundle = Bundle::decode(&bytes).ok_or_else(|| {
                let label = &self.graph.nodes[input].label;
                Diag::new(format!("`{label}` gave something that has no parts"))
            })?;
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
        }
        self.store.put(&puts);
        Ok(list)
    }

    /// All cells of a node, by shard.
    pub(super) fn whole(&self, node: usize) -> Result<&Vec<Vec<Cell>>, Box<Diag>> {
        if let Some(cells) = self.whole[node].get() {
            return Ok(cells);
        }
        let shards = self.root_of(node)?.shards();
        let cells = (0..shards).map(|s| self.cells(node, s)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.whole[node].get_or_init(|| cells))
    }

    /// What became of the parts of an item in a node; nothing where a part is in no list.
    pub(super) fn joined(
        &self,
        joined: usize,
        bundle: &Bundle,
    ) -> Result<Vec<Option<Placed>>, Box<Diag>> {
        let root = self.root_of(joined)?;
        let cells = self.whole(joined)?;
        let find = |(_, content): &(String, Vec<u8>)| {
            let (shard, row) = root.place_of(&Digest::of(content))?;
            let cell = *cells.get(shard as usize)?.get(row as usize)?;
            cell.state.usable().then_some((shard, row, cell))
        };
        Ok(bundle.parts.iter().map(find).collect())
    }

    pub(super) fn bundle(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        cell: Cell,
    ) -> Result<Bundle, String> {
        let input = self.graph.nodes[node].inputs[0];
        let bytes = self.content(input, shard, row, cell)?;
        let label = &self.graph.nodes[input].label;
        Bundle::decode(&bytes).ok_or_else(|| format!("`{label}` gave something without parts"))
    }

    /// The digests of what became of an item's parts, in each node that is joined. Of what failed
    /// only that it did counts.
    pub(super) fn part_digests(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        cell: Cell,
    ) -> Result<Vec<Digest>, String> {
        let bundle = self.bundle(node, shard, row, cell)?;
        let mut out = Vec::new();
        for j in &self.graph.nodes[node].joined {
            let mut key = Keyer::new("joined/1");
            for found in self.joined(*j, &bundle).map_err(|e| e.message)? {
                match found {
                    Some((_, _, cell)) => key.add("part", &cell.content.0),
                    None => key.add("none", b""),
                };
            }
            out.push(key.finish());
        }
        Ok(out)
    }
}
