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

pub mod audit;
mod content;
mod elsewhere;
mod held;
mod join;
mod keys;
mod lists;
mod remote;
mod results;
mod schedule;
mod shape;
mod units;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustc_hash::FxHashMap;

use super::elsewhere::Elsewhere;
use super::events::{Event, Listener};
use super::graph::{Context, Graph, Map, Outcome, Work};
use super::remote::Remote;
use super::rows::{Cell, Shard, State};
use super::store::Store;
use elsewhere::Others;
use held::{Held, Tally, Unit};
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Fault};
use schedule::{Job, Queue, Schedule};
use shape::Shape;

pub(crate) use keys::Decision;
pub use lists::{Root, in_part};
pub use results::{Found, NodeSummary};

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
    /// A thread without other work waits for the remote cache until no answer has come for so long.
    pub patience: Duration,
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
            patience: Duration::from_secs(5),
            elsewhere: None,
            only_elsewhere: false,
        }
    }
}

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

/// A run of a graph.
pub struct Engine<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The store of results.
    pub(crate) store: &'a Store,
    /// How it is run.
    pub options: Options,
    listener: &'a dyn Listener,
    shape: Shape,
    schedule: Schedule,
    held: Held,
    /// The rows that were done, and the time that they took, by node.
    tallies: Vec<Tally>,
    /// The state of the work that other machines do.
    others: Others,
    /// How many failures were told.
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
        vec![Outcome::Failed(Failure::broken(Fault::Own, message)); items.len()]
    })
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
        Ok(Engine {
            graph,
            store,
            options,
            listener,
            shape: Shape::of(graph),
            schedule: Schedule::new(store.has_company()),
            held: Held::new(n),
            tallies: (0..n).map(|_| Tally::default()).collect(),
            others: Others::new(n),
            said: AtomicUsize::new(0),
        })
    }

    /// Gives a root its list of items, where the caller knows it already.
    pub fn preset(&self, node: usize, root: Arc<Root>) {
        *lock(&self.held.roots[node]) = Some(root);
    }

    /// Runs everything. Returns whether it came to its end.
    pub fn run(&self) -> bool {
        let start = Instant::now();
        let labels: Vec<String> = self.graph.nodes.iter().map(|n| n.label.clone()).collect();
        self.listener.event(&Event::Started { nodes: &labels });
        {
            let mut queue = self.schedule.queue();
            let n = self.graph.nodes.len();
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
        let mut queue = self.schedule.queue();
        loop {
            if self.options.context.stopped() {
                self.schedule.wake_all();
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
                queue = self.schedule.queue();
                queue.running -= 1;
                if queue.is_done() {
                    self.schedule.wake_all();
                    return;
                }
            } else if queue.is_done() {
                self.schedule.wake_all();
                return;
            } else if self.recalled(&mut queue) {
                continue;
            } else if !queue.asked.is_empty() {
                queue = self.wait_for_answers(queue);
            } else if !queue.away.is_empty() {
                // Whether anybody elsewhere takes work shows with time.
                queue = self.schedule.wait(queue, Some(Duration::from_millis(100)));
            } else {
                // Whoever runs something comes back, and sooner where a stop is asked for.
                queue = self.schedule.wait(queue, None);
            }
        }
    }

    fn run_root(&self, node: usize) {
        let root = self.list(node);
        let root = match root {
            Ok(root) => root,
            Err(e) => {
                lock(&self.held.errors).push(e);
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
        let mut queue = self.schedule.queue();
        for (i, consumer) in self.graph.nodes.iter().enumerate() {
            let Work::Map(work) = &consumer.work else { continue };
            if self.shape.root_index[i] != node {
                continue;
            }
            work.told(root.entries.len());
            self.listener
                .event(&Event::Sized { node: &consumer.label, tasks: root.entries.len() as u64 });
            let maps = consumer.inputs.iter().filter(|j| **j != node).count();
            let unit = match maps + consumer.joined.len() {
                0 => Unit::Ready,
                reads => Unit::Waiting(reads as u16),
            };
            *lock(&self.held.units[i]) = vec![unit; count];
            queue.shards_left[i] = count;
            if let Unit::Ready = unit {
                (0..count).for_each(|shard| self.push_unit(&mut queue, i, shard));
            }
        }
        if count == 0 {
            // Nothing flows, so whoever waits for the whole of it is ready now.
            for i in 0..self.graph.nodes.len() {
                if i == node || (queue.shards_left[i] == 0 && self.shape.root_index[i] == node) {
                    self.node_done(&mut queue, i);
                }
            }
        } else {
            self.node_done(&mut queue, node);
        }
    }

    /// A node is done as a whole: lists that are made from it may be ready.
    fn node_done(&self, queue: &mut Queue, node: usize) {
        for (i, uses) in &self.shape.consumers[node] {
            if let Work::Distinct | Work::Parts = self.graph.nodes[*i].work {
                queue.inputs_left[*i] -= usize::from(*uses);
                if queue.inputs_left[*i] == 0 {
                    self.schedule.push(queue, self.shape.depth[*i] * 2, 0, Job::Root(*i));
                }
            }
        }
        for i in &self.shape.joiners[node] {
            let shards = lock(&self.held.units[*i]).len();
            (0..shards).for_each(|shard| self.input_done(queue, *i, shard, 1));
        }
    }

    fn push_unit(&self, queue: &mut Queue, node: usize, shard: usize) {
        self.schedule.push(queue, self.shape.depth[node] * 2, shard, Job::Unit(node, shard));
    }

    /// Something is done that a unit reads so many times.
    fn input_done(&self, queue: &mut Queue, node: usize, shard: usize, times: u16) {
        if self.held.input_done(node, shard, times) {
            self.push_unit(queue, node, shard);
        }
    }

    fn say_notices(&self) {
        let remote = self.options.remote.iter().flat_map(|remote| remote.take_notices());
        for notice in self.store.take_notices().into_iter().chain(remote) {
            self.listener.event(&Event::Notice { message: &notice });
        }
    }

    fn unit_done(&self, node: usize, shard: usize, result: Shard, executed: u64) {
        self.held.done(node, shard, result);
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
        let mut queue = self.schedule.queue();
        for (i, uses) in &self.shape.consumers[node] {
            if !matches!(self.graph.nodes[*i].work, Work::Map(_)) {
                continue;
            }
            self.input_done(&mut queue, *i, shard, *uses);
        }
        queue.shards_left[node] -= 1;
        if queue.shards_left[node] == 0 {
            self.node_done(&mut queue, node);
        }
    }
}
