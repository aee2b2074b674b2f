//! The scheduler: runs a graph on all cores, and does only the work whose results the store lacks.
//!
//! A unit is one shard in one node. A unit whose manifest is known costs one look-up. Otherwise its items
//! are looked up one by one, and the missing ones run in chunks on whichever workers are free. Deeper nodes
//! go first, so that the number of results in flight stays small however long the list is.
//!
//! Invariants:
//! - a result is in the store before it is reported as done;
//! - a manifest exists only for a unit that was not stopped, in which nothing broke, and of which no
//!   result is kept for a day only;
//! - the cells of a unit depend on its inputs alone, never on the number of workers.

mod content;
mod elsewhere;
mod join;
mod keys;
mod lists;
mod remote;
mod results;
mod units;

use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::elsewhere::Elsewhere;
use super::events::{Event, Listener};
use super::graph::{Context, Graph, Map, Outcome, Work};
use super::remote::{Answers, Remote};
use super::rows::{Cell, Entry, Shard, State, encode_entries};
use super::store::Store;
use litmake_base::cuts::cuts;
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Fault};

/// How a graph is run.
#[derive(Clone)]
pub struct Options {
    /// The number of threads.
    pub jobs: usize,
    /// The part of the run that work may ask about.
    pub context: Context,
    /// Run only part `i` of `n` (from 1) of the items, chosen by their names.
    pub part: Option<(u32, u32)>,
    /// Stop at the first thing that breaks.
    pub fail_fast: bool,
    /// When the run began.
    pub now: SystemTime,
    /// Compute again the results that earlier runs kept for a day only.
    pub ask_again: bool,
    /// A cache on another machine, which is asked for results that the store lacks.
    pub remote: Option<Arc<dyn Remote>>,
    /// Workers on other machines, which take a part of the work. They go with a remote cache.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Leaves all work that other machines can do to them, as long as they take jobs.
    pub only_elsewhere: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            jobs: std::thread::available_parallelism().map_or(1, |n| n.get()),
            context: Context::default(),
            part: None,
            fail_fast: false,
            #[expect(
                clippy::disallowed_methods,
                reason = "what is kept for a day only is kept from now on"
            )]
            now: SystemTime::now(),
            ask_again: false,
            remote: None,
            elsewhere: None,
            only_elsewhere: false,
        }
    }
}

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
    strips: Option<Vec<Range<usize>>>,
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

    /// How many shards it has.
    pub fn shards(&self) -> usize {
        self.digests.len()
    }

    /// The items of one shard.
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

/// The results of a run in one node, as numbers of tasks.
#[derive(Clone, Debug, Default)]
pub struct NodeSummary {
    /// All tasks of the node.
    pub tasks: u64,
    /// Tasks that this run executed.
    pub executed: u64,
    /// Executed tasks that another machine did.
    pub elsewhere: u64,
    /// Tasks that this run did not execute.
    pub cached: u64,
    /// Cached tasks whose results came from the remote cache in this run.
    pub fetched: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks that broke.
    pub broke: u64,
    /// Tasks one of whose inputs has no result.
    pub skipped: u64,
    /// Tasks whose results someone should look at.
    pub findings: u64,
    /// Time spent in work, over all workers.
    pub time: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    Root(usize),
    Unit(usize, usize),
    /// A chunk of a begun unit: the unit's place in the queue's list, and the range.
    Chunk(usize, u32, u32),
    /// A unit for which the remote cache has answered, by the number of the question.
    Answered(u64),
    /// A job that has come back from another machine, by its number.
    Returned(u64),
}

/// The shard and row of each of an item's parts in their list.
type Places = SmallVec<[Option<(u32, u32)>; 4]>;
type PlacesOfShards = FxHashMap<(usize, usize), Arc<Vec<Places>>>;

struct UnitRun {
    node: usize,
    shard: usize,
    inputs: Vec<Vec<Cell>>,
    cells: Mutex<Vec<Option<Cell>>>,
    /// The keys without a result, and the rows that need each.
    missing: Vec<(Digest, Vec<u32>)>,
    left: AtomicUsize,
    executed: Mutex<Vec<u32>>,
    /// The executed rows that another machine did.
    elsewhere: Mutex<Vec<u32>>,
    /// The rows whose results came from the remote cache.
    fetched: Mutex<Vec<u32>>,
    /// The rows whose cells are kept for a day only, and when these were made.
    for_now: Mutex<FxHashMap<u32, u64>>,
    /// Its actions by the packet in which they travel; empty without a remote cache.
    parcels: Vec<remote::Parcel>,
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
    /// Units that wait for an answer of the remote cache, by the number of the question.
    asked: BTreeMap<u64, remote::Asked>,
    answers: FxHashMap<u64, Answers>,
    questions: u64,
    /// When the last answer came.
    last_answer: Option<Instant>,
    /// The state of work on other machines.
    away: elsewhere::Away,
}

impl Queue {
    fn is_done(&self) -> bool {
        self.heap.is_empty() && self.running == 0 && self.asked.is_empty() && self.away.is_empty()
    }

    /// Gives a unit that begins a place in the list of begun units.
    fn begun(&mut self, unit: Arc<UnitRun>) -> usize {
        let place = self.free_units.pop().unwrap_or_else(|| {
            self.units.push(None);
            self.units.len() - 1
        });
        self.units[place] = Some(unit);
        place
    }
}

/// A run of a graph.
pub struct Engine<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The store of results.
    pub(crate) store: &'a Store,
    /// How it is run.
    pub options: Options,
    listener: &'a dyn Listener,
    fingerprints: Vec<Digest>,
    depth: Vec<usize>,
    root_index: Vec<usize>,
    /// The nodes that consume a node, each with the number of times that it does.
    consumers: Vec<Vec<(usize, u16)>>,
    /// The nodes that join the results of a node.
    joiners: Vec<Vec<usize>>,
    /// All cells of each node that is joined, by shard.
    whole: Vec<OnceLock<Vec<Vec<Cell>>>>,
    /// Where the parts of items stand, by their list and by the shard of the items.
    places: Mutex<PlacesOfShards>,
    /// Whether units are taken from the back, so that two processes on one store meet in the middle.
    reverse: AtomicBool,
    met: AtomicBool,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Notified when there are more portions for other machines, or room for more jobs.
    laid: Condvar,
    roots: Vec<Mutex<Option<Arc<Root>>>>,
    shards: Vec<Mutex<Vec<Option<Shard>>>>,
    /// The cells of units that are not in the store because an item broke.
    kept: Mutex<FxHashMap<(usize, usize), Cells>>,
    /// The failures of items that broke, which are not in the store.
    broken: Mutex<FxHashMap<Digest, Vec<u8>>>,
    claims: Mutex<FxHashSet<Digest>>,
    released: Condvar,
    executed: Vec<Mutex<Vec<Rows>>>,
    fetched: Vec<Mutex<Vec<Rows>>>,
    elsewhere: Vec<Mutex<Vec<Rows>>>,
    /// Packets that jobs returned for units that have not asked yet; and whether they are of an earlier run
    /// of the job.
    ready: Mutex<FxHashMap<Digest, (Vec<u8>, bool)>>,
    /// Whether each job has the work of one node only. Set when workers refuse a job of several nodes, so
    /// that the next refusal shows which node it was.
    apart: AtomicBool,
    /// For each node, whether other machines have refused its work.
    at_home: Vec<AtomicBool>,
    /// For each node: the number of items done, and the nanoseconds that they took.
    rates: Mutex<FxHashMap<usize, (u64, u64)>>,
    said_elsewhere: Mutex<FxHashSet<String>>,
    /// Receives the answers of the remote cache while the graph runs.
    answered: Mutex<Option<Sender<remote::Answered>>>,
    nanos: Vec<AtomicU64>,
    #[expect(clippy::vec_box, reason = "they come in boxes")]
    errors: Mutex<Vec<Box<Diag>>>,
    said: AtomicUsize,
}

/// The cells of a unit.
type Cells = Arc<Vec<Cell>>;

/// A shard, and some of its rows.
type Rows = (u32, Vec<u32>);

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
        vec![Outcome::Failed(Failure::broken(Fault::Own, message)); items.len()]
    })
}

/// The content of a cell with its item's name, for reports.
#[derive(Clone, Debug)]
pub struct Found {
    /// The node, as an index into [`Graph::nodes`].
    pub node: usize,
    /// The name of the item.
    pub item: String,
    /// The state of the cell.
    pub state: State,
    /// The result, or the failure, encoded.
    pub content: Vec<u8>,
}

impl Found {
    /// The failure, if the cell has failed.
    pub fn failure(&self) -> Failure {
        let read = Failure::decode(&self.content);
        read.unwrap_or_else(|| Failure::machine("the reason of a failure is lost; run again"))
    }
}

impl<'a> Engine<'a> {
    /// Prepares a run; an error where the graph is not sound.
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
            root_index: graph.roots(),
            consumers,
            joiners,
            whole: (0..n).map(|_| OnceLock::new()).collect(),
            places: Mutex::default(),
            graph,
            store,
            options,
            listener,
            fingerprints: graph.nodes.iter().map(|n| n.fingerprint.digest()).collect(),
            depth,
            // Another process at work on the same things begins at the other end.
            reverse: AtomicBool::new(store.has_company()),
            met: AtomicBool::new(store.has_company()),
            queue: Mutex::default(),
            wake: Condvar::new(),
            laid: Condvar::new(),
            roots: (0..n).map(|_| Mutex::default()).collect(),
            shards: (0..n).map(|_| Mutex::default()).collect(),
            kept: Mutex::default(),
            broken: Mutex::default(),
            claims: Mutex::default(),
            released: Condvar::new(),
            executed: (0..n).map(|_| Mutex::default()).collect(),
            fetched: (0..n).map(|_| Mutex::default()).collect(),
            elsewhere: (0..n).map(|_| Mutex::default()).collect(),
            ready: Mutex::default(),
            apart: AtomicBool::new(false),
            at_home: (0..n).map(|_| AtomicBool::new(false)).collect(),
            rates: Mutex::default(),
            said_elsewhere: Mutex::default(),
            answered: Mutex::default(),
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
        self.with_answers(|| {
            std::thread::scope(|scope| {
                for _ in 0..self.options.jobs.max(1) {
                    scope.spawn(|| self.work());
                }
            });
        });
        self.say_notices();
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
            if queue.heap.is_empty()
                && let Some((rank, portion)) = self.take_open(&mut queue)
            {
                queue.heap.push((rank.0, rank.1, portion.job()));
            }
            if let Some((_, _, job)) = queue.heap.pop() {
                queue.running += 1;
                drop(queue);
                match job {
                    Job::Root(node) => self.run_root(node),
                    Job::Unit(node, shard) => self.run_unit(node, shard),
                    Job::Chunk(unit, from, to) => self.run_chunk(unit, from, to),
                    Job::Answered(question) => self.run_answered(question),
                    Job::Returned(number) => self.run_returned(number),
                }
                queue = lock(&self.queue);
                queue.running -= 1;
                if queue.is_done() {
                    self.wake.notify_all();
                    return;
                }
            } else if queue.is_done() {
                self.wake.notify_all();
                return;
            } else if self.recalled(&mut queue) {
                continue;
            } else if !queue.asked.is_empty() {
                queue = self.wait_for_answers(queue);
            } else if !queue.away.is_empty() {
                // Whether anybody elsewhere takes work shows with time.
                let wait = self.wake.wait_timeout(queue, Duration::from_millis(100));
                queue = wait.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                // Whoever runs something comes back, and sooner where a stop is asked for.
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn push(&self, queue: &mut Queue, priority: usize, shard: usize, job: Job) {
        let order = match self.reverse.load(Ordering::Relaxed) {
            true => shard as u64,
            false => u64::MAX - shard as u64,
        };
        queue.heap.push((priority, order, job));
        self.wake.notify_one();
    }

    /// If two processes work on one store, the later one takes units from the back from now on.
    fn meet(&self) {
        if self.met.swap(true, Ordering::Relaxed) || !self.store.is_later() {
            return;
        }
        let mut queue = lock(&self.queue);
        self.reverse.store(true, Ordering::Relaxed);
        let jobs = std::mem::take(&mut queue.heap);
        queue.heap = jobs.into_iter().map(|(p, order, job)| (p, u64::MAX - order, job)).collect();
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
            let Work::Map(work) = &consumer.work else { continue };
            if self.root_index[i] != node {
                continue;
            }
            work.told(root.entries.len());
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

    fn say_notices(&self) {
        let remote = self.options.remote.iter().flat_map(|remote| remote.take_notices());
        for notice in self.store.take_notices().into_iter().chain(remote) {
            self.listener.event(&Event::Notice { message: &notice });
        }
    }

    fn unit_done(&self, node: usize, shard: usize, result: Shard, executed: u64) {
        lock(&self.shards[node])[shard] = Some(result);
        let leaves_out =
            matches!(&self.graph.nodes[node].work, Work::Map(work) if work.leaves_out());
        let failed = if leaves_out { 0 } else { result.count(State::Failed) };
        let failed = u64::from(failed + result.count(State::Broke));
        self.listener.event(&Event::Progress {
            node: &self.graph.nodes[node].label,
            tasks: u64::from(result.rows()),
            executed,
            cached: u64::from(result.rows()) - executed.min(u64::from(result.rows())),
            failed,
            findings: u64::from(result.count(State::Finding)),
        });
        self.say_notices();
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
}
