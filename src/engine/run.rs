//! The scheduler: runs a graph on all cores, doing only what the store does not know.
//!
//! A unit is one shard in one node. A unit whose manifest is known costs one look-up; else its
//! items are looked up one by one, and what is missing is run in chunks by whichever workers are
//! free. Deeper nodes go first, so that results in flight stay few however long the list is.
//!
//! Invariants:
//! - what is reported done was put into the store before;
//! - a manifest exists only for a unit in which nothing broke and that was not stopped;
//! - the cells of a unit depend on its inputs alone, never on the number of workers.

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use super::digest::{Digest, Keyer};
use super::events::{Event, Listener};
use super::graph::{Context, Graph, Map, Outcome, REFRESH, Work};
use super::parts::{Bundle, encode_results};
use super::rows::{
    Cell, Entry, Shard, State, cuts, decode_cells, decode_entries, encode_cells, encode_entries,
};
use super::store::{Kind, Put, Records, Store};
use crate::diag::Diag;

#[derive(Clone)]
pub struct Options {
    pub jobs: usize,
    pub context: Context,
    /// Run only part `i` of `n` (from 1) of the items, chosen by their names.
    pub part: Option<(u32, u32)>,
    /// Stop at the first thing that breaks.
    pub fail_fast: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            jobs: std::thread::available_parallelism().map_or(1, |n| n.get()),
            context: Context::default(),
            part: None,
            fail_fast: false,
        }
    }
}

/// The list of items of a root.
pub struct Root {
    pub entries: Vec<Entry>,
    /// Start of each shard, and the end of the last.
    pub bounds: Vec<usize>,
    pub digests: Vec<Digest>,
    /// For a list that was made from another, where each item stands in that: shard and row.
    pub origin: Vec<(u32, u32)>,
    /// Where an item of this content stands: shard and row.
    places: OnceLock<FxHashMap<Digest, (u32, u32)>>,
}

impl Root {
    pub fn new(entries: Vec<Entry>, origin: Vec<(u32, u32)>) -> Root {
        let mut bounds = vec![0];
        bounds.extend(cuts(entries.iter().map(|e| &*e.name)));
        let digests =
            bounds.windows(2).map(|w| Digest::of(&encode_entries(&entries[w[0]..w[1]]))).collect();
        Root { entries, bounds, digests, origin, places: OnceLock::new() }
    }

    /// Where the item of some content stands, in a list where each content is there once.
    fn place_of(&self, content: &Digest) -> Option<(u32, u32)> {
        let places = self.places.get_or_init(|| {
            let rows = (0..self.shards()).flat_map(|s| {
                let place = move |(r, e): (usize, &Entry)| (e.content, (s as u32, r as u32));
                self.rows(s).iter().enumerate().map(place)
            });
            rows.collect()
        });
        places.get(content).copied()
    }

    pub fn shards(&self) -> usize {
        self.digests.len()
    }

    pub fn rows(&self, shard: usize) -> &[Entry] {
        &self.entries[self.bounds[shard]..self.bounds[shard + 1]]
    }

    fn cells(&self, shard: usize) -> Vec<Cell> {
        let done = |e: &Entry| Cell { state: State::Done, content: e.content };
        self.rows(shard).iter().map(done).collect()
    }
}

/// Whether an item belongs to part `i` of `n`.
pub fn in_part(name: &str, (i, n): (u32, u32)) -> bool {
    let hash = Digest::of(name.as_bytes()).prefix();
    hash % u64::from(n.max(1)) == u64::from(i.saturating_sub(1))
}

#[derive(Clone, Debug, Default)]
pub struct NodeSummary {
    pub tasks: u64,
    pub executed: u64,
    pub cached: u64,
    pub failed: u64,
    pub broke: u64,
    pub findings: u64,
    /// Time spent in work, over all workers.
    pub time: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    Root(usize),
    Unit(usize, usize),
    /// A chunk of a unit that has begun: its place in the list of those, and the range.
    Chunk(usize, u32, u32),
}

struct UnitRun {
    node: usize,
    shard: usize,
    inputs: Vec<Vec<Cell>>,
    cells: Mutex<Vec<Option<Cell>>>,
    /// Keys that are missing, and the rows that want each.
    missing: Vec<(Digest, Vec<u32>)>,
    left: AtomicUsize,
    executed: Mutex<Vec<u32>>,
}

#[derive(Default)]
struct Queue {
    heap: BinaryHeap<(usize, u64, Job)>,
    running: usize,
    /// For each map node and shard, how many inputs are not done yet.
    waiting: Vec<Vec<u16>>,
    /// For each node, how many shards are not done yet.
    shards_left: Vec<usize>,
    inputs_left: Vec<usize>,
    units: Vec<Option<Arc<UnitRun>>>,
    free_units: Vec<usize>,
}

pub struct Engine<'a> {
    pub graph: &'a Graph,
    pub store: &'a Store,
    pub options: Options,
    listener: &'a dyn Listener,
    fingerprints: Vec<Digest>,
    depth: Vec<usize>,
    root_index: Vec<usize>,
    /// Who consumes a node, and how often.
    consumers: Vec<Vec<(usize, u16)>>,
    /// Who joins what became of its parts in a node.
    joiners: Vec<Vec<usize>>,
    /// All cells of nodes that are joined, by shard.
    whole: Vec<OnceLock<Vec<Vec<Cell>>>>,
    reverse: bool,
    queue: Mutex<Queue>,
    wake: Condvar,
    roots: Vec<Mutex<Option<Arc<Root>>>>,
    shards: Vec<Mutex<Vec<Option<Shard>>>>,
    /// Cells that are not in the store because something in them broke.
    kept: Mutex<FxHashMap<(usize, usize), Arc<Vec<Cell>>>>,
    messages: Mutex<FxHashMap<Digest, String>>,
    claims: Mutex<FxHashSet<Digest>>,
    released: Condvar,
    executed: Vec<Mutex<Vec<(u32, Vec<u32>)>>>,
    nanos: Vec<AtomicU64>,
    errors: Mutex<Vec<Box<Diag>>>,
    said: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cells of one row.
fn across(inputs: &[Vec<Cell>], row: usize) -> smallvec::SmallVec<[Cell; 4]> {
    inputs.iter().map(|cells| cells[row]).collect()
}

/// Runs work so that a panic in it costs these items and not the run.
fn guarded(work: &dyn Map, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
    let run = std::panic::AssertUnwindSafe(|| work.run(items, context));
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        let message = "litmake itself failed on this item (a panic); please report it";
        vec![Outcome::Broke(message.into()); items.len()]
    })
}

/// Content of a cell and its item's name, for reports.
#[derive(Clone, Debug)]
pub struct Found {
    pub node: usize,
    pub item: String,
    pub state: State,
    pub content: Vec<u8>,
}

impl<'a> Engine<'a> {
    pub fn new(
        graph: &'a Graph,
        store: &'a Store,
        options: Options,
        listener: &'a dyn Listener,
    ) -> Result<Engine<'a>, Box<Diag>> {
        graph.check().map_err(Diag::new)?;
        let n = graph.nodes.len();
        let mut depth = vec![0; n];
        for (i, node) in graph.nodes.iter().enumerate() {
            let before = node.inputs.iter().chain(&node.joined);
            depth[i] = before.map(|j| depth[*j] + 1).max().unwrap_or(0);
        }
        let mut consumers: Vec<Vec<(usize, u16)>> = vec![Vec::new(); n];
        let mut joiners: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (i, node) in graph.nodes.iter().enumerate() {
            for j in &node.joined {
                joiners[*j].push(i);
            }
            for j in &node.inputs {
                match consumers[*j].iter_mut().find(|c| c.0 == i) {
                    Some(c) => c.1 += 1,
                    None => consumers[*j].push((i, 1)),
                }
            }
        }
        Ok(Engine {
            root_index: (0..n).map(|i| graph.root(i)).collect(),
            consumers,
            joiners,
            whole: (0..n).map(|_| OnceLock::new()).collect(),
            graph,
            store,
            options,
            listener,
            fingerprints: graph.nodes.iter().map(|n| n.fingerprint.digest()).collect(),
            depth,
            // Another process at work on the same things begins at the other end.
            reverse: store.has_company(),
            queue: Mutex::default(),
            wake: Condvar::new(),
            roots: (0..n).map(|_| Mutex::default()).collect(),
            shards: (0..n).map(|_| Mutex::default()).collect(),
            kept: Mutex::default(),
            messages: Mutex::default(),
            claims: Mutex::default(),
            released: Condvar::new(),
            executed: (0..n).map(|_| Mutex::default()).collect(),
            nanos: (0..n).map(|_| AtomicU64::new(0)).collect(),
            errors: Mutex::default(),
            said: AtomicUsize::new(0),
        })
    }

    /// Gives a root its list of items, where the caller knows it already.
    pub fn preset(&self, node: usize, root: Arc<Root>) {
        *lock(&self.roots[node]) = Some(root);
    }

    /// Runs everything. Returns whether it came to its end.
    pub fn run(&self) -> bool {
        let start = Instant::now();
        let labels: Vec<String> = self.graph.nodes.iter().map(|n| n.label.clone()).collect();
        self.listener.event(&Event::Started { nodes: &labels });
        {
            let mut queue = lock(&self.queue);
            let n = self.graph.nodes.len();
            queue.waiting = vec![Vec::new(); n];
            queue.shards_left = vec![usize::MAX; n];
            queue.inputs_left = self.graph.nodes.iter().map(|n| n.inputs.len()).collect();
            for (i, node) in self.graph.nodes.iter().enumerate() {
                if let Work::Source(_) = node.work {
                    queue.heap.push((0, 0, Job::Root(i)));
                }
            }
        }
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs.max(1) {
                scope.spawn(|| self.work());
            }
        });
        for notice in self.store.take_notices() {
            self.listener.event(&Event::Notice { message: &notice });
        }
        let stopped = self.options.context.stopped();
        self.listener.event(&Event::Finished { stopped, time: start.elapsed() });
        !stopped
    }

    fn work(&self) {
        let mut queue = lock(&self.queue);
        loop {
            if self.options.context.stopped() {
                self.wake.notify_all();
                return;
            }
            if let Some((_, _, job)) = queue.heap.pop() {
                queue.running += 1;
                drop(queue);
                match job {
                    Job::Root(node) => self.run_root(node),
                    Job::Unit(node, shard) => self.run_unit(node, shard),
                    Job::Chunk(unit, from, to) => self.run_chunk(unit, from, to),
                }
                queue = lock(&self.queue);
                queue.running -= 1;
                if queue.heap.is_empty() && queue.running == 0 {
                    self.wake.notify_all();
                    return;
                }
            } else if queue.running == 0 {
                self.wake.notify_all();
                return;
            } else {
                // The time limit lets a stop be noticed.
                queue = self
                    .wake
                    .wait_timeout(queue, Duration::from_millis(100))
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
        }
    }

    fn push(&self, queue: &mut Queue, priority: usize, shard: usize, job: Job) {
        let order = if self.reverse { shard as u64 } else { u64::MAX - shard as u64 };
        queue.heap.push((priority, order, job));
        self.wake.notify_one();
    }

    fn run_root(&self, node: usize) {
        let root = self.list(node);
        let root = match root {
            Ok(root) => root,
            Err(e) => {
                lock(&self.errors).push(e);
                return;
            }
        };
        let count = root.shards();
        let label = &self.graph.nodes[node].label;
        self.listener.event(&Event::Sized { node: label, tasks: root.entries.len() as u64 });
        self.listener.event(&Event::Progress {
            node: label,
            tasks: root.entries.len() as u64,
            executed: 0,
            cached: root.entries.len() as u64,
            failed: 0,
            findings: 0,
        });
        let mut queue = lock(&self.queue);
        for (i, consumer) in self.graph.nodes.iter().enumerate() {
            if !matches!(consumer.work, Work::Map(_)) || self.root_index[i] != node {
                continue;
            }
            self.listener
                .event(&Event::Sized { node: &consumer.label, tasks: root.entries.len() as u64 });
            *lock(&self.shards[i]) = vec![None; count];
            let maps = consumer.inputs.iter().filter(|j| **j != node).count();
            let maps = maps + consumer.joined.len();
            queue.waiting[i] = vec![maps as u16; count];
            queue.shards_left[i] = count;
            if maps == 0 {
                for shard in 0..count {
                    self.push(&mut queue, self.depth[i] * 2, shard, Job::Unit(i, shard));
                }
            }
        }
        if count == 0 {
            // Nothing flows, so whoever waits for the whole of it is ready now.
            for i in 0..self.graph.nodes.len() {
                if i == node || (queue.shards_left[i] == 0 && self.root_index[i] == node) {
                    self.node_done(&mut queue, i);
                }
            }
        } else {
            self.node_done(&mut queue, node);
        }
    }

    /// The list of a root, made where it is not there yet.
    pub(super) fn list(&self, node: usize) -> Result<Arc<Root>, Box<Diag>> {
        if let Some(root) = lock(&self.roots[node]).clone() {
            return Ok(root);
        }
        let root = match &self.graph.nodes[node].work {
            Work::Source(source) => {
                let mut entries = source.list(self.store)?;
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

    pub(super) fn set_shards(&self, node: usize, shards: Vec<Option<Shard>>) {
        *lock(&self.shards[node]) = shards;
    }

    pub(super) fn set_shard(&self, node: usize, shard: usize, value: Shard) {
        lock(&self.shards[node])[shard] = Some(value);
    }

    pub(super) fn keep_cells(&self, node: usize, shard: usize, cells: Vec<Cell>) {
        lock(&self.kept).insert((node, shard), Arc::new(cells));
    }

    /// The cells of a shard, where that takes no work.
    pub(super) fn cells_if_known(&self, node: usize, shard: usize) -> Option<Vec<Cell>> {
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
    pub(super) fn source_content(
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

    /// A node is done as a whole: lists that are made from it may be ready.
    fn node_done(&self, queue: &mut Queue, node: usize) {
        for (i, uses) in &self.consumers[node] {
            if let Work::Distinct | Work::Parts = self.graph.nodes[*i].work {
                queue.inputs_left[*i] -= usize::from(*uses);
                if queue.inputs_left[*i] == 0 {
                    self.push(queue, self.depth[*i] * 2, 0, Job::Root(*i));
                }
            }
        }
        for i in &self.joiners[node] {
            for shard in 0..queue.waiting[*i].len() {
                queue.waiting[*i][shard] -= 1;
                if queue.waiting[*i][shard] == 0 {
                    self.push(queue, self.depth[*i] * 2, shard, Job::Unit(*i, shard));
                }
            }
        }
    }

    /// The parts of all bundles that the input gives.
    fn parts(&self, node: usize) -> Result<Root, Box<Diag>> {
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
    fn parts_of(
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
    fn whole(&self, node: usize) -> Result<&Vec<Vec<Cell>>, Box<Diag>> {
        if let Some(cells) = self.whole[node].get() {
            return Ok(cells);
        }
        let shards = self.root_of(node)?.shards();
        let cells = (0..shards).map(|s| self.cells(node, s)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.whole[node].get_or_init(|| cells))
    }

    /// What became of the parts of an item in a node; nothing where a part is in no list.
    fn joined(
        &self,
        joined: usize,
        bundle: &Bundle,
    ) -> Result<Vec<Option<(u32, u32, Cell)>>, Box<Diag>> {
        let root = self.root_of(joined)?;
        let cells = self.whole(joined)?;
        let find = |(_, content): &(String, Vec<u8>)| {
            let (shard, row) = root.place_of(&Digest::of(content))?;
            let cell = *cells.get(shard as usize)?.get(row as usize)?;
            cell.state.usable().then_some((shard, row, cell))
        };
        Ok(bundle.parts.iter().map(find).collect())
    }

    fn bundle(&self, node: usize, shard: usize, row: usize, cell: Cell) -> Result<Bundle, String> {
        let input = self.graph.nodes[node].inputs[0];
        let bytes = self.content(input, shard, row, cell)?;
        let label = &self.graph.nodes[input].label;
        Bundle::decode(&bytes).ok_or_else(|| format!("`{label}` gave something without parts"))
    }

    /// What a unit's manifest is of: the shards that it reads, and all of what it joins.
    pub(super) fn read_by(&self, node: usize, shard: usize) -> Option<Vec<Digest>> {
        let this = &self.graph.nodes[node];
        let mut out: Vec<Digest> =
            this.inputs.iter().map(|j| self.shard_digest(*j, shard)).collect::<Option<_>>()?;
        for j in &this.joined {
            out.push(self.whole_digest(*j)?);
        }
        Some(out)
    }

    /// A digest of all that a node gave, and to what.
    pub fn whole_digest(&self, node: usize) -> Option<Digest> {
        let root = lock(&self.roots[self.root_index[node]]).clone()?;
        let mut key = Keyer::new("whole/1");
        for shard in 0..root.shards() {
            key.add("items", &root.digests[shard].0);
            key.add("shard", &self.shard_digest(node, shard)?.0);
        }
        Some(key.finish())
    }

    /// The items of the first input, the first of each whose content in the second is equal.
    fn distinct(&self, node: usize) -> Result<Root, Box<Diag>> {
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

    fn root_of(&self, node: usize) -> Result<Arc<Root>, Box<Diag>> {
        let root = self.root_index[node];
        lock(&self.roots[root])
            .clone()
            .ok_or_else(|| Diag::new(format!("`{}` has no list yet", self.graph.nodes[root].label)))
    }

    fn is_root(&self, node: usize) -> bool {
        !matches!(self.graph.nodes[node].work, Work::Map(_))
    }

    pub(super) fn shard_digest(&self, node: usize, shard: usize) -> Option<Digest> {
        if self.is_root(node) {
            let root = lock(&self.roots[node]).clone()?;
            return root.digests.get(shard).copied();
        }
        (*lock(&self.shards[node]).get(shard)?).map(|s| s.digest)
    }

    pub(super) fn manifest_key(&self, node: usize, digests: &[Digest]) -> Digest {
        let mut key = Keyer::new("manifest/1").field("node", &self.fingerprints[node].0);
        for digest in digests {
            key.add("shard", &digest.0);
        }
        key.finish()
    }

    pub(super) fn action_key(&self, node: usize, inputs: &[Digest]) -> Digest {
        let mut key = Keyer::new("action/1").field("node", &self.fingerprints[node].0);
        for digest in inputs {
            key.add("input", &digest.0);
        }
        key.finish()
    }

    pub(super) fn alias_key(&self, node: usize, normal: &Digest) -> Digest {
        Keyer::new("normal/1")
            .field("node", &self.fingerprints[node].0)
            .field("input", &normal.0)
            .finish()
    }

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
                Err(key) => match self.store.get_one(&key).and_then(|b| Cell::decode(&b)) {
                    Some(cell) => cell,
                    None => self.redo(node, shard, row, &inputs)?.0,
                },
            };
            out.push(cell);
        }
        Ok(out)
    }

    fn input_cells(&self, node: usize, shard: usize) -> Result<Vec<Vec<Cell>>, Box<Diag>> {
        self.graph.nodes[node].inputs.iter().map(|j| self.cells(*j, shard)).collect()
    }

    /// What is plain from a row's inputs: a cell where one of them has failed, else its key.
    pub(super) fn decide(
        &self,
        node: usize,
        shard: usize,
        row: usize,
        inputs: &[Cell],
    ) -> Result<Cell, Digest> {
        let mut digests = smallvec::SmallVec::<[Digest; 4]>::new();
        for cell in inputs {
            if !cell.state.usable() {
                return Ok(Cell {
                    state: if cell.state == State::Broke { State::Broke } else { State::Skipped },
                    content: cell.content,
                });
            }
            digests.push(cell.content);
        }
        if !self.graph.nodes[node].joined.is_empty() {
            match self.part_digests(node, shard, row, inputs[0]) {
                Ok(parts) => digests.extend(parts),
                Err(message) => {
                    return Ok(self.settle(Outcome::Broke(message)).map_or(
                        Cell { state: State::Broke, content: Digest::of(b"") },
                        |(cell, _)| cell,
                    ));
                }
            }
        }
        Err(self.action_key(node, &digests))
    }

    /// The digests of what became of an item's parts, in each node that is joined. Of what failed
    /// only that it did counts.
    fn part_digests(
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

    /// Runs one row again, because what it gave is no longer to be had.
    fn redo(
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
    fn settle(&self, outcome: Outcome) -> Option<(Cell, Vec<u8>)> {
        let (state, bytes) = match outcome {
            Outcome::Done(bytes) => (State::Done, bytes),
            Outcome::Finding(bytes) => (State::Finding, bytes),
            Outcome::Failed(message) => (State::Failed, message.into_bytes()),
            Outcome::Broke(message) => {
                let digest = Digest::of(message.as_bytes());
                lock(&self.messages).insert(digest, message.clone());
                if self.options.fail_fast {
                    self.options.context.stop.store(true, Ordering::Relaxed);
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

    fn contents(
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

    fn run_unit(&self, node: usize, shard: usize) {
        let Some(digests) = self.read_by(node, shard) else { return };
        let known =
            self.store.get_one(&self.manifest_key(node, &digests)).and_then(|b| Shard::decode(&b));
        if let Some(known) = known {
            return self.unit_done(node, shard, known, 0);
        }
        let inputs = match self.input_cells(node, shard) {
            Ok(inputs) => inputs,
            Err(e) => return lock(&self.errors).push(e),
        };
        let rows = inputs[0].len();
        let mut cells: Vec<Option<Cell>> = vec![None; rows];
        let mut wanted: FxHashMap<Digest, u32> = FxHashMap::default();
        let mut keys: Vec<(Digest, Vec<u32>)> = Vec::new();
        for (row, cell) in cells.iter_mut().enumerate() {
            match self.decide(node, shard, row, &across(&inputs, row)) {
                Ok(decided) => *cell = Some(decided),
                Err(key) => {
                    let at = *wanted.entry(key).or_insert_with(|| {
                        keys.push((key, Vec::new()));
                        keys.len() as u32 - 1
                    });
                    keys[at as usize].1.push(row as u32);
                }
            }
        }
        let digests: Vec<Digest> = keys.iter().map(|k| k.0).collect();
        let mut missing = Vec::new();
        for (known, (key, rows)) in self.store.get(&digests).into_iter().zip(keys) {
            match known.and_then(|b| Cell::decode(&b)) {
                Some(cell) => rows.iter().for_each(|r| cells[*r as usize] = Some(cell)),
                None => missing.push((key, rows)),
            }
        }
        let count = missing.len();
        let unit = Arc::new(UnitRun {
            node,
            shard,
            inputs,
            cells: Mutex::new(cells),
            missing,
            left: AtomicUsize::new(count.max(1)),
            executed: Mutex::default(),
        });
        if count == 0 {
            return self.finish_unit(&unit);
        }
        let batch = match &self.graph.nodes[node].work {
            Work::Map(work) => work.batch().max(1),
            _ => 1,
        };
        let size = count.div_ceil(self.options.jobs.max(1)).clamp(1, batch);
        unit.left.store(count.div_ceil(size), Ordering::Relaxed);
        let mut queue = lock(&self.queue);
        let place = match queue.free_units.pop() {
            Some(i) => i,
            None => {
                queue.units.push(None);
                queue.units.len() - 1
            }
        };
        queue.units[place] = Some(unit);
        for from in (0..count).step_by(size) {
            let to = (from + size).min(count);
            let job = Job::Chunk(place, from as u32, to as u32);
            self.push(&mut queue, self.depth[node] * 2 + 1, shard, job);
        }
    }

    fn run_chunk(&self, place: usize, from: u32, to: u32) {
        let Some(unit) = lock(&self.queue).units[place].clone() else {
            return;
        };
        let Work::Map(work) = &self.graph.nodes[unit.node].work else {
            return;
        };
        let all: Vec<usize> = (from as usize..to as usize).collect();
        // What another worker is at is left to it, and looked up when it is done.
        let (mine, others): (Vec<usize>, Vec<usize>) = {
            let mut claims = lock(&self.claims);
            all.into_iter().partition(|i| claims.insert(unit.missing[*i].0))
        };
        self.run_rows(&unit, work.as_ref(), &mine);
        for i in others {
            let key = unit.missing[i].0;
            let mut claims = lock(&self.claims);
            while claims.contains(&key) && !self.options.context.stopped() {
                claims = self
                    .released
                    .wait_timeout(claims, Duration::from_millis(100))
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            claims.insert(key);
            drop(claims);
            match self.store.get_one(&key).and_then(|b| Cell::decode(&b)) {
                Some(cell) => {
                    self.set(&unit, i, cell);
                    lock(&self.claims).remove(&key);
                    self.released.notify_all();
                }
                None => self.run_rows(&unit, work.as_ref(), &[i]),
            }
        }
        if unit.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            {
                let mut queue = lock(&self.queue);
                queue.units[place] = None;
                queue.free_units.push(place);
            }
            self.finish_unit(&unit);
        }
    }

    fn set(&self, unit: &UnitRun, missing: usize, cell: Cell) {
        let mut cells = lock(&unit.cells);
        for row in &unit.missing[missing].1 {
            cells[*row as usize] = Some(cell);
        }
    }

    /// Runs claimed rows, puts what they give, and gives the claims back.
    fn run_rows(&self, unit: &UnitRun, work: &dyn Map, mine: &[usize]) {
        if mine.is_empty() {
            return;
        }
        let node = unit.node;
        let mut todo = Vec::new();
        let mut items = Vec::new();
        let mut aliases = Vec::new();
        let company = self.store.has_company();
        if company {
            self.store.refresh(REFRESH);
        }
        for i in mine {
            let (key, rows) = &unit.missing[*i];
            if company && let Some(cell) = self.store.get_one(key).and_then(|b| Cell::decode(&b)) {
                self.set(unit, *i, cell);
                continue;
            }
            match self.contents(node, unit.shard, rows[0] as usize, &unit.inputs) {
                Ok(item) => {
                    let alias = work.normal(&item).map(|n| self.alias_key(node, &n));
                    let known =
                        alias.and_then(|a| self.store.get_one(&a)).and_then(|b| Cell::decode(&b));
                    if let Some(cell) = known {
                        self.store.put(&[Put {
                            kind: Kind::Action,
                            key: *key,
                            value: &cell.encode(),
                        }]);
                        self.set(unit, *i, cell);
                        continue;
                    }
                    todo.push(*i);
                    items.push(item);
                    aliases.push(alias);
                }
                Err(message) => {
                    if let Some((cell, _)) = self.settle(Outcome::Broke(message)) {
                        self.set(unit, *i, cell);
                    }
                }
            }
        }
        // Items that are equal in what matters are run once.
        let mut first_of: FxHashMap<Digest, usize> = FxHashMap::default();
        let mut same_as = vec![None; todo.len()];
        for (n, alias) in aliases.iter().enumerate() {
            if let Some(alias) = alias {
                let first = *first_of.entry(*alias).or_insert(n);
                if first != n {
                    same_as[n] = Some(first);
                }
            }
        }
        let run: Vec<usize> = (0..todo.len()).filter(|n| same_as[*n].is_none()).collect();
        let picked: Vec<Vec<Vec<u8>>> =
            run.iter().map(|n| std::mem::take(&mut items[*n])).collect();
        let mut outcomes = Vec::new();
        if !picked.is_empty() && !self.options.context.stopped() {
            let start = Instant::now();
            outcomes = guarded(work, &picked, &self.options.context);
            self.nanos[node].fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        let mut settled: Vec<Option<(Cell, Vec<u8>)>> = vec![None; todo.len()];
        for (n, outcome) in run.iter().zip(outcomes) {
            settled[*n] = self.settle(outcome);
            if settled[*n].is_some() {
                lock(&unit.executed).push(unit.missing[todo[*n]].1[0]);
            }
        }
        let mut puts: Vec<Put> = Vec::new();
        let encoded: Vec<Option<(Cell, [u8; 33], &[u8])>> = (0..todo.len())
            .map(|n| {
                let (cell, bytes) = settled[same_as[n].unwrap_or(n)].as_ref()?;
                Some((*cell, cell.encode(), bytes.as_slice()))
            })
            .collect();
        for (n, entry) in encoded.iter().enumerate() {
            let Some((cell, record, bytes)) = entry else {
                continue;
            };
            if cell.state != State::Broke {
                if same_as[n].is_none() {
                    if !self.store.has(&[cell.content])[0] {
                        puts.push(Put { kind: Kind::Blob, key: cell.content, value: bytes });
                    }
                    if let Some(alias) = aliases[n] {
                        puts.push(Put { kind: Kind::Alias, key: alias, value: record });
                    }
                }
                puts.push(Put { kind: Kind::Action, key: unit.missing[todo[n]].0, value: record });
            }
        }
        self.store.put(&puts);
        for (n, entry) in encoded.iter().enumerate() {
            if let Some((cell, _, bytes)) = entry {
                self.set(unit, todo[n], *cell);
                if matches!(cell.state, State::Broke | State::Failed) {
                    self.say_failed(unit, todo[n], bytes);
                }
            }
        }
        let mut claims = lock(&self.claims);
        for i in mine {
            claims.remove(&unit.missing[*i].0);
        }
        drop(claims);
        self.released.notify_all();
    }

    fn say_failed(&self, unit: &UnitRun, missing: usize, bytes: &[u8]) {
        if self.said.fetch_add(1, Ordering::Relaxed) >= 1000 {
            return;
        }
        if let Ok(root) = self.root_of(unit.node) {
            let row = unit.missing[missing].1[0] as usize;
            self.listener.event(&Event::Failed {
                node: &self.graph.nodes[unit.node].label,
                item: &root.rows(unit.shard)[row].name,
                message: &String::from_utf8_lossy(bytes),
            });
        }
    }

    fn finish_unit(&self, unit: &UnitRun) {
        let cells: Option<Vec<Cell>> = lock(&unit.cells).iter().copied().collect();
        // A unit that was stopped half-way has gaps; what it did is in the store.
        let Some(cells) = cells else { return };
        let shard = Shard::of(&cells);
        let executed = std::mem::take(&mut *lock(&unit.executed));
        let count = executed.len() as u64;
        if !executed.is_empty() {
            lock(&self.executed[unit.node]).push((unit.shard as u32, executed));
        }
        if shard.count(State::Broke) > 0 {
            lock(&self.kept).insert((unit.node, unit.shard), Arc::new(cells));
        } else {
            if let Some(digests) = self.read_by(unit.node, unit.shard) {
                self.store.put(&[
                    Put { kind: Kind::Blob, key: shard.digest, value: &encode_cells(&cells) },
                    Put {
                        kind: Kind::Manifest,
                        key: self.manifest_key(unit.node, &digests),
                        value: &shard.encode(),
                    },
                ]);
            }
        }
        self.unit_done(unit.node, unit.shard, shard, count);
    }

    fn unit_done(&self, node: usize, shard: usize, result: Shard, executed: u64) {
        lock(&self.shards[node])[shard] = Some(result);
        let failed = u64::from(result.count(State::Failed) + result.count(State::Broke));
        self.listener.event(&Event::Progress {
            node: &self.graph.nodes[node].label,
            tasks: u64::from(result.rows()),
            executed,
            cached: u64::from(result.rows()) - executed.min(u64::from(result.rows())),
            failed,
            findings: u64::from(result.count(State::Finding)),
        });
        for notice in self.store.take_notices() {
            self.listener.event(&Event::Notice { message: &notice });
        }
        let mut queue = lock(&self.queue);
        for (i, uses) in &self.consumers[node] {
            if !matches!(self.graph.nodes[*i].work, Work::Map(_)) {
                continue;
            }
            if let Some(waiting) = queue.waiting[*i].get_mut(shard) {
                *waiting -= uses;
                if *waiting == 0 {
                    self.push(&mut queue, self.depth[*i] * 2, shard, Job::Unit(*i, shard));
                }
            }
        }
        queue.shards_left[node] -= 1;
        if queue.shards_left[node] == 0 {
            self.node_done(&mut queue, node);
        }
    }

    /// Errors of whole lists.
    pub fn take_errors(&self) -> Vec<Box<Diag>> {
        std::mem::take(&mut *lock(&self.errors))
    }

    pub fn root_table(&self, node: usize) -> Option<Arc<Root>> {
        lock(&self.roots[self.root_index[node]]).clone()
    }

    pub fn shards_of(&self, node: usize) -> Vec<Option<Shard>> {
        lock(&self.shards[node]).clone()
    }

    /// The rows that a node ran, by shard.
    pub fn executed_rows(&self, node: usize) -> Vec<(u32, Vec<u32>)> {
        let mut out = lock(&self.executed[node]).clone();
        out.sort();
        out
    }

    pub fn summary(&self, node: usize) -> NodeSummary {
        let mut out = NodeSummary {
            time: Duration::from_nanos(self.nanos[node].load(Ordering::Relaxed)),
            ..NodeSummary::default()
        };
        if self.is_root(node) {
            out.tasks = self.root_table(node).map_or(0, |r| r.entries.len() as u64);
            out.cached = out.tasks;
            return out;
        }
        for shard in lock(&self.shards[node]).iter().flatten() {
            out.tasks += u64::from(shard.rows());
            out.findings += u64::from(shard.count(State::Finding));
            out.failed += u64::from(shard.count(State::Failed));
            out.broke += u64::from(shard.count(State::Broke));
        }
        let executed = lock(&self.executed[node]);
        out.executed = executed.iter().map(|(_, rows)| rows.len() as u64).sum();
        out.cached = out.tasks.saturating_sub(out.executed);
        out
    }

    /// The cells of some states over all nodes, in order of node and name, with content.
    pub fn found(&self, states: &[State]) -> Vec<Found> {
        let mut out = Vec::new();
        for node in 0..self.graph.nodes.len() {
            if self.is_root(node) {
                continue;
            }
            let Some(root) = self.root_table(node) else {
                continue;
            };
            for (s, shard) in self.shards_of(node).into_iter().enumerate() {
                let any = shard.is_some_and(|h| states.iter().any(|st| h.count(*st) > 0));
                if !any {
                    continue;
                }
                let Ok(cells) = self.cells(node, s) else {
                    continue;
                };
                let inherited = self.input_cells(node, s).unwrap_or_default();
                for (row, cell) in cells.iter().enumerate() {
                    // What an input suffered is told there.
                    let own = inherited.iter().all(|i| i[row].state.usable());
                    if states.contains(&cell.state) && own {
                        let content =
                            self.content(node, s, row, *cell).unwrap_or_else(String::into_bytes);
                        out.push(Found {
                            node,
                            item: root.rows(s)[row].name.to_string(),
                            state: cell.state,
                            content,
                        });
                    }
                }
            }
        }
        out
    }
}
