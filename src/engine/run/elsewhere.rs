//! Work of a run on other machines: the choice of work for each job, and the results of jobs.
//!
//! The missing actions of a unit are split into portions, one for each packet. Workers of this machine take
//! portions, and jobs take portions; the first to come gets it. Besides its portions, a job does all later
//! work in the graph that needs nothing else, and returns a packet for each; such packets are kept until
//! their unit asks for them. A portion that a job did not return is sent once more, with remembered results
//! ignored, and then done on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use super::schedule::{Job as Queued, Queue};
use super::{Engine, UnitRun, lock, remote::Answered};
use crate::elsewhere::{Elsewhere, Executed, Made, Order};
use crate::events::Event;
use crate::graph::{Travels, Work};
use crate::job::{Contents, Job, Part, Task};
use crate::rows::{Cell, State};
use litmake_base::digest::Digest;
use litmake_base::failure::Failure;

/// A job is expected to take so many seconds, less towards the end of a run.
const LEAST_SECONDS: f64 = 2.0;
const MOST_SECONDS: f64 = 20.0;
/// The assumed seconds of an item before any was done.
const GUESS_SECONDS: f64 = 0.005;
/// The most portions in a job of work whose time is not known.
const UNKNOWN_PORTIONS: usize = 2;
/// The most bytes of content in a job, roughly.
const MAX_BYTES: usize = 24 << 20;
const MAX_PORTIONS: usize = 512;
/// How long a job waits for more portions.
const GATHERING: Duration = Duration::from_millis(300);
/// The most failures that are reported to the user.
const TOLD: usize = 5;
/// How often it checks whether jobs are taken.
const LOOK: Duration = Duration::from_millis(100);

/// The missing actions of one parcel of a unit, to be run here or elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portion {
    /// The unit's place in the list of those that have begun, and its parcel.
    place: usize,
    parcel: usize,
    from: u32,
    to: u32,
    /// Whether a job has failed to return it.
    again: bool,
}

impl Portion {
    pub(super) fn job(&self) -> Queued {
        Queued::Chunk(self.place, self.from, self.to)
    }

    fn len(&self) -> f64 {
        f64::from(self.to - self.from)
    }
}

/// How portions are ordered: by priority, by place in the list, and by when they came.
pub(super) type Rank = (usize, u64, u64);

/// The scheduler's state of work on other machines.
#[derive(Default)]
pub(super) struct Away {
    /// Portions that nobody has taken.
    pub(super) open: BTreeMap<Rank, Portion>,
    came: u64,
    /// The portions of each job under way, with their ranks.
    out: BTreeMap<u64, Vec<(Rank, Portion)>>,
    back: FxHashMap<u64, Executed>,
    jobs: u64,
    /// When the oldest open portion came that is in no job.
    since: Option<Instant>,
    pub(super) ended: bool,
}

impl Away {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.out.is_empty()
    }
}

/// The state of the work that other machines do for a run.
pub(super) struct Others {
    /// Packets that jobs returned for units that have not asked yet; and whether they are of an earlier run
    /// of the job.
    pub(super) ready: Mutex<FxHashMap<Digest, (Vec<u8>, bool)>>,
    /// Whether each job has the work of one node only. Set when workers refuse a job of several nodes, so
    /// that the next refusal shows which node it was.
    apart: AtomicBool,
    /// For each node, whether other machines have refused its work.
    at_home: Vec<AtomicBool>,
    /// For each node: the number of items done, here or there, and the nanoseconds that they took.
    rates: Mutex<FxHashMap<usize, (u64, u64)>>,
    /// The failures that were told.
    told: Mutex<FxHashSet<String>>,
    /// Receives the answers of the remote cache while the graph runs.
    pub(super) answered: Mutex<Option<Sender<Answered>>>,
}

impl Others {
    pub(super) fn new(nodes: usize) -> Others {
        Others {
            ready: Mutex::default(),
            apart: AtomicBool::new(false),
            at_home: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            rates: Mutex::default(),
            told: Mutex::default(),
            answered: Mutex::default(),
        }
    }
}

/// Strips with one set of starts, that is, portions that go into one task: the shard, its rows, and
/// the portions.
type Strip = (usize, Range<usize>, Vec<Portion>);

impl Engine<'_> {
    fn elsewhere(&self) -> Option<&Arc<dyn Elsewhere>> {
        self.options.elsewhere.as_ref()
    }

    fn travels(&self, node: usize) -> Travels {
        match &self.graph.nodes[node].work {
            _ if self.others.at_home[node].load(Ordering::Relaxed) => Travels::Never,
            Work::Map(work) => work.travels(),
            _ => Travels::Never,
        }
    }

    /// Whether workers of this machine take portions that others could take.
    pub(super) fn works_here(&self) -> bool {
        !self.options.only_elsewhere || self.elsewhere().is_none_or(|e| !e.is_open())
    }

    /// Whether a portion is of work for which this machine lacks something.
    fn is_only_elsewhere(&self, queue: &Queue, portion: &Portion) -> bool {
        let unit = queue.units[portion.place].as_ref();
        unit.is_some_and(|unit| self.travels(unit.node) == Travels::Only)
    }

    /// Takes a portion for a worker of this machine.
    pub(super) fn take_open(&self, queue: &mut Queue) -> Option<(Rank, Portion)> {
        if !self.works_here() {
            return None;
        }
        let is_open = self.elsewhere().is_some_and(|elsewhere| elsewhere.is_open());
        let fits = |p: &Portion| !is_open || !self.is_only_elsewhere(queue, p);
        let rank = *queue.away.open.iter().rev().find(|(_, portion)| fits(portion))?.0;
        queue.away.open.remove_entry(&rank)
    }

    /// Lays a unit out in portions, where that may be done elsewhere.
    pub(super) fn laid_out(&self, unit: &Arc<UnitRun>) -> bool {
        if self.elsewhere().is_none()
            || !matches!(self.travels(unit.node), Travels::Alone | Travels::Only)
        {
            return false;
        }
        let mut portions: Vec<Portion> = Vec::new();
        let mut parcels = unit.parcels.iter().enumerate().peekable();
        for (at, (_, rows)) in unit.missing.iter().enumerate() {
            let row = rows[0] as usize;
            while parcels.peek().is_some_and(|(_, parcel)| row >= parcel.rows.end) {
                parcels.next();
            }
            let Some((parcel, _)) = parcels.peek() else { return false };
            match portions.last_mut() {
                Some(last) if last.parcel == *parcel => last.to = at as u32 + 1,
                _ => portions.push(Portion {
                    place: 0,
                    parcel: *parcel,
                    from: at as u32,
                    to: at as u32 + 1,
                    again: false,
                }),
            }
        }
        unit.left.store(portions.len(), Ordering::Relaxed);
        let mut queue = self.schedule.queue();
        let place = queue.begun(unit.clone());
        let priority = self.shape.depth[unit.node] * 2 + 1;
        for portion in portions {
            self.lay_open(&mut queue, priority, unit.shard, Portion { place, ..portion });
        }
        true
    }

    fn lay_open(&self, queue: &mut Queue, priority: usize, shard: usize, portion: Portion) {
        let away = &mut queue.away;
        away.came += 1;
        // Earlier shards go first, and of one shard the earlier strip.
        let rank = (priority, u64::MAX - shard as u64, u64::MAX - away.came);
        away.open.insert(rank, portion);
        away.since.get_or_insert_with(Instant::now);
        self.schedule.wake_one();
        self.schedule.laid();
    }

    /// Notes how long some work took.
    pub(super) fn took(&self, node: usize, items: u64, nanos: u64) {
        let mut rates = lock(&self.others.rates);
        let rate = rates.entry(node).or_default();
        *rate = (rate.0 + items, rate.1 + nanos);
    }

    /// The seconds that an item takes in a node, as far as that is known: of the node itself, or else of
    /// others that do work of its kind.
    fn rate(&self, node: usize) -> Option<f64> {
        let kind = |node: usize| &self.graph.nodes[node].kind;
        let rates = lock(&self.others.rates);
        let of_kind = || {
            let same = rates.iter().filter(|(other, _)| kind(**other) == kind(node));
            same.fold((0, 0), |sum, (_, rate)| (sum.0 + rate.0, sum.1 + rate.1))
        };
        let (items, nanos) = rates.get(&node).copied().unwrap_or_else(of_kind);
        (items > 0).then(|| nanos as f64 / 1e9 / items as f64)
    }

    /// Makes jobs for as long as the graph runs.
    pub(super) fn send_jobs(&self) {
        let Some(elsewhere) = self.elsewhere() else { return };
        let mut told = crate::elsewhere::Tally::default();
        let mut queue = self.schedule.queue();
        while !queue.away.ended && !self.options.context.stopped() {
            let tally = elsewhere.tally();
            if tally != told {
                told = tally;
                let crate::elsewhere::Tally { queued, running, fetched } = tally;
                drop(queue);
                self.listener.event(&Event::Elsewhere { queued, running, fetched });
                queue = self.schedule.queue();
            }
            let chosen = match elsewhere.is_open() && queue.away.out.len() < elsewhere.slots() {
                true => self.choose(&mut queue, elsewhere.slots()),
                false => Vec::new(),
            };
            if chosen.is_empty() {
                queue = self.schedule.wait_for_portions(queue, LOOK);
                continue;
            }
            // As long as it counts as running, nobody takes the graph for done.
            queue.running += 1;
            queue.away.jobs += 1;
            let number = queue.away.jobs;
            drop(queue);
            let (job, sent, left) = self.job(chosen);
            queue = self.schedule.queue();
            queue.running -= 1;
            for (rank, portion) in left {
                queue.away.open.insert(rank, portion);
            }
            let Some(job) = job else {
                // An item that cannot be read is found where it is run.
                for (rank, portion) in sent {
                    queue.heap.push((rank.0, rank.1, portion.job()));
                }
                self.schedule.wake_all();
                continue;
            };
            let Some(answered) = lock(&self.others.answered).clone() else { return };
            let anew = self.options.ask_again || sent.iter().any(|(_, p)| p.again);
            queue.away.out.insert(number, sent);
            drop(queue);
            let order = Order { outputs: job.outputs(), job: job.encode(), anew };
            let taker = move |done| drop(answered.send(Answered::Executed(number, done)));
            elsewhere.execute(number, order, Box::new(taker));
            queue = self.schedule.queue();
        }
    }

    /// Takes portions for one job.
    fn choose(&self, queue: &mut Queue, slots: usize) -> Vec<(Rank, Portion)> {
        let Some(since) = queue.away.since else { return Vec::new() };
        // Units that are being opened lay out more.
        if !queue.heap.is_empty() && since.elapsed() < GATHERING {
            return Vec::new();
        }
        let node = |p: &Portion| queue.units[p.place].as_ref().map_or(0, |unit| unit.node);
        let cost = |p: &Portion| p.len() * self.rate(node(p)).unwrap_or(GUESS_SECONDS);
        let is_known = |p: &Portion| self.rate(node(p)).is_some();
        let total: f64 = queue.away.open.values().map(cost).sum();
        let all_known = queue.away.open.values().all(is_known);
        // Work that takes less time than sending it is left to the workers of this machine.
        if all_known
            && total < LEAST_SECONDS / 2.0
            && self.works_here()
            && !queue.away.open.values().any(|p| self.is_only_elsewhere(queue, p))
        {
            return Vec::new();
        }
        let target = (total / (2 * slots) as f64).clamp(LEAST_SECONDS, MOST_SECONDS);
        let mut out: Vec<(Rank, Portion)> = Vec::new();
        let (mut seconds, mut unknown) = (0.0, 0);
        let apart = self.others.apart.load(Ordering::Relaxed);
        for (rank, portion) in queue.away.open.iter().rev() {
            let fits = |first: &Portion| {
                first.again == portion.again && (!apart || node(first) == node(portion))
            };
            if !out.first().is_none_or(|(_, first)| fits(first)) {
                continue;
            }
            seconds += cost(portion);
            unknown += usize::from(!is_known(portion));
            out.push((*rank, *portion));
            if seconds >= target || unknown >= UNKNOWN_PORTIONS || out.len() >= MAX_PORTIONS {
                break;
            }
        }
        for (rank, _) in &out {
            queue.away.open.remove(rank);
        }
        queue.away.since = (!queue.away.open.is_empty()).then(Instant::now);
        out
    }

    /// The nodes that a job can do together with `starts` on a strip of a shard: all later nodes whose
    /// other inputs are known.
    fn closure(&self, starts: &BTreeSet<usize>, root: usize, shard: usize) -> BTreeSet<usize> {
        let done = |j: usize| j == root || self.held.shard(j, shard).is_some();
        let whole = |j: usize| {
            lock(&self.held.roots[self.shape.root_index[j]]).is_some() && self.held.is_done(j)
        };
        let mut out = starts.clone();
        for (m, node) in self.graph.nodes.iter().enumerate() {
            if self.shape.root_index[m] == root
                && self.travels(m) != Travels::Never
                && node.inputs.iter().any(|j| out.contains(j))
                && node.inputs.iter().all(|j| out.contains(j) || done(*j))
                && node.joined.iter().all(|j| whole(*j))
            {
                out.insert(m);
            }
        }
        out
    }

    /// Makes a job of portions. Gives those that are in it, and those that did not fit.
    #[expect(clippy::type_complexity, reason = "both lists are of the same kind")]
    fn job(
        &self,
        chosen: Vec<(Rank, Portion)>,
    ) -> (Option<Job>, Vec<(Rank, Portion)>, Vec<(Rank, Portion)>) {
        let (mut sent, mut left) = (Vec::new(), Vec::new());
        let mut by_strip: BTreeMap<(usize, usize, usize), Vec<(Rank, Portion)>> = BTreeMap::new();
        let mut rows_of: FxHashMap<(usize, usize, usize), Range<usize>> = FxHashMap::default();
        for (rank, portion) in chosen {
            let Some(unit) = self.schedule.queue().units[portion.place].clone() else { continue };
            let rows = unit.parcels[portion.parcel].rows.clone();
            let strip = (self.shape.root_index[unit.node], unit.shard, rows.start);
            rows_of.insert(strip, rows);
            by_strip.entry(strip).or_default().push((rank, portion));
        }
        let mut tasks: BTreeMap<(usize, BTreeSet<usize>), Vec<Strip>> = BTreeMap::new();
        let mut ranks: FxHashMap<(usize, usize), Rank> = FxHashMap::default();
        for (strip, portions) in by_strip {
            let (root, shard, _) = strip;
            let starts = portions.iter().filter_map(|(_, p)| self.unit_of(p)).map(|u| u.node);
            let work = self.closure(&starts.collect(), root, shard);
            for (rank, p) in &portions {
                ranks.insert((p.place, p.parcel), *rank);
            }
            let portions = portions.into_iter().map(|(_, p)| p).collect();
            let rows = rows_of.get(&strip).cloned().unwrap_or_default();
            tasks.entry((root, work)).or_default().push((shard, rows, portions));
        }
        let mut contents = Contents::default();
        let mut job = Job::default();
        for ((root, work), strips) in tasks {
            let (now, later): (Vec<Strip>, Vec<Strip>) = match contents.bytes < MAX_BYTES {
                true => (strips, Vec::new()),
                false => (Vec::new(), strips),
            };
            let ranked = |strips: &[Strip]| -> Vec<(Rank, Portion)> {
                let all = strips.iter().flat_map(|(_, _, portions)| portions);
                all.filter_map(|p| Some((*ranks.get(&(p.place, p.parcel))?, *p))).collect()
            };
            left.extend(ranked(&later));
            if now.is_empty() {
                continue;
            }
            sent.extend(ranked(&now));
            match self.task(root, &work, &now, &mut contents) {
                Ok(task) => job.tasks.push(task),
                Err(_) => return (None, sent, left),
            }
        }
        job.contents = contents.all;
        (Some(job), sent, left)
    }

    fn unit_of(&self, portion: &Portion) -> Option<Arc<UnitRun>> {
        self.schedule.queue().units[portion.place].clone()
    }

    /// A task: some work on some strips of a list.
    fn task(
        &self,
        root: usize,
        work: &BTreeSet<usize>,
        strips: &[Strip],
        contents: &mut Contents,
    ) -> Result<Task, Failure> {
        let mut making = Making {
            engine: self,
            root,
            work,
            strips,
            contents,
            task: Task { parts: vec![Part::Items], known: vec![Vec::new()], ..Task::default() },
            places: FxHashMap::from_iter([(root, 0)]),
        };
        making.items()?;
        for node in work {
            if self.made_when_read(*node).is_none() {
                making.part(*node)?;
            }
        }
        making.done()?;
        Ok(making.task)
    }

    /// Handles the end of a job.
    pub(super) fn returned(&self, number: u64, done: Executed) {
        let mut queue = self.schedule.queue();
        if !queue.away.out.contains_key(&number) {
            return;
        }
        queue.away.back.insert(number, done);
        self.schedule.push(&mut queue, usize::MAX, 0, Queued::Returned(number));
        self.schedule.laid();
    }

    pub(super) fn run_returned(&self, number: u64) {
        let taken = {
            let mut queue = self.schedule.queue();
            queue.away.out.remove(&number).zip(queue.away.back.remove(&number))
        };
        let Some((portions, done)) = taken else { return };
        self.schedule.laid();
        match done {
            Executed::Made(made) => self.take_made(portions, made),
            Executed::Gone => self.lay_back(portions, false),
            Executed::Failed(why) => {
                self.say_elsewhere(&why, "it is tried once more, and then done here");
                self.lay_back(portions, true);
            }
            Executed::Refused(why) => {
                let nodes: BTreeSet<usize> =
                    portions.iter().filter_map(|(_, p)| self.unit_of(p)).map(|u| u.node).collect();
                if nodes.len() > 1 {
                    // Which of them it is shows where each goes alone.
                    self.others.apart.store(true, Ordering::Relaxed);
                    return self.lay_back(portions, false);
                }
                for node in nodes {
                    self.others.at_home[node].store(true, Ordering::Relaxed);
                }
                self.say_elsewhere(&why, "such work is done here");
                self.do_here(portions);
            }
        }
    }

    /// Reports a failure of remote execution, each text once, and only the first few.
    fn say_elsewhere(&self, why: &str, then: &str) {
        let count = {
            let mut said = lock(&self.others.told);
            let is_new = said.insert(why.to_string());
            said.len() * usize::from(is_new)
        };
        if (1..=TOLD).contains(&count) {
            let more = if count == TOLD { ". More of this is not said" } else { "" };
            let message = format!("remote execution: {why}; {then}{more}");
            self.listener.event(&Event::Notice { message: &message });
        }
    }

    /// Returns portions to the open ones; those that failed a second time are done here.
    fn lay_back(&self, portions: Vec<(Rank, Portion)>, failed: bool) {
        let (here, again): (Vec<_>, Vec<_>) =
            portions.into_iter().partition(|(_, p)| failed && p.again);
        let mut queue = self.schedule.queue();
        for (rank, portion) in again {
            let again = portion.again || failed;
            queue.away.open.insert(rank, Portion { again, ..portion });
        }
        if !queue.away.open.is_empty() {
            queue.away.since.get_or_insert_with(Instant::now);
        }
        drop(queue);
        self.do_here(here);
        self.schedule.wake_all();
        self.schedule.laid();
    }

    fn do_here(&self, portions: Vec<(Rank, Portion)>) {
        let mut queue = self.schedule.queue();
        for (rank, portion) in portions {
            queue.heap.push((rank.0, rank.1, portion.job()));
        }
        self.schedule.wake_all();
    }

    /// Takes portions back from a job that no worker has begun, for a worker of this machine that has
    /// nothing to do.
    pub(super) fn recalled(&self, queue: &mut Queue) -> bool {
        let Some(elsewhere) = self.elsewhere().filter(|_| self.works_here()) else { return false };
        let of_use = |portions: &[(Rank, Portion)]| {
            portions.iter().any(|(_, portion)| !self.is_only_elsewhere(queue, portion))
        };
        let out = queue.away.out.iter().rev().filter(|(_, portions)| of_use(portions));
        let number = out.map(|(number, _)| *number).find(|number| elsewhere.recall(*number));
        let Some(number) = number else { return false };
        let Some(portions) = queue.away.out.remove(&number) else { return false };
        queue.away.open.extend(portions);
        queue.away.since.get_or_insert_with(Instant::now);
        true
    }

    fn take_made(&self, portions: Vec<(Rank, Portion)>, made: Made) {
        for spent in &made.spent {
            let node = self.shape.fingerprints.iter().position(|f| *f == spent.work);
            if let Some(node) = node.filter(|_| spent.items > 0) {
                self.took(node, spent.items, spent.nanos);
                self.tallies[node].nanos.fetch_add(spent.nanos, Ordering::Relaxed);
            }
        }
        {
            let mut ready = lock(&self.others.ready);
            for (key, packet) in made.packets {
                ready.insert(key, (packet, made.remembered));
            }
        }
        let (mut back, mut taken) = (Vec::new(), Vec::new());
        for (rank, portion) in portions {
            let Some(unit) = self.unit_of(&portion) else { continue };
            // Portions of two nodes that do the same have one packet.
            let key = unit.parcels[portion.parcel].key;
            let packet = lock(&self.others.ready).get(&key).cloned();
            taken.push(key);
            let came = packet.is_some_and(|(packet, remembered)| {
                self.take_portion(&unit, &portion, &packet, remembered)
            });
            match came {
                true => self.chunk_done(&unit, portion.place),
                false => back.push((rank, portion)),
            }
        }
        let mut ready = lock(&self.others.ready);
        taken.iter().for_each(|key| drop(ready.remove(key)));
        drop(ready);
        if !back.is_empty() {
            self.say_elsewhere(
                "a worker did not bring all that it was asked for",
                "the rest is tried once more, and then done here",
            );
            self.lay_back(back, true);
        }
    }

    /// Takes the packet of a portion. Items that broke elsewhere are not in it, and remain to be done.
    fn take_portion(
        &self,
        unit: &UnitRun,
        portion: &Portion,
        packet: &[u8],
        remembered: bool,
    ) -> bool {
        let missing = &unit.missing[portion.from as usize..portion.to as usize];
        let wanted = missing.iter().map(|(key, _)| *key).collect();
        let Some(known) = self.admit(&unit.parcels[portion.parcel], packet, &wanted, true) else {
            return false;
        };
        let mut whole = true;
        for (at, (key, rows)) in missing.iter().enumerate() {
            let Some(kept) = known.get(key) else {
                whole = false;
                continue;
            };
            let at = portion.from as usize + at;
            // A job that was done again brings what an earlier one has brought, too.
            if lock(&unit.cells)[rows[0] as usize].is_some() {
                continue;
            }
            self.set(unit, at, *kept);
            self.count_made(unit, rows, remembered);
            if kept.cell.state == State::Failed
                && let Some(bytes) = self.store.get_one(&kept.cell.content)
            {
                self.say_failed(unit, at, &bytes);
            }
        }
        whole
    }

    /// Counts rows that came from elsewhere.
    pub(super) fn count_made(&self, unit: &UnitRun, rows: &[u32], remembered: bool) {
        match remembered {
            true => lock(&unit.fetched).extend_from_slice(rows),
            // Of rows that are one action, one counts as run.
            false => {
                lock(&unit.executed).push(rows[0]);
                lock(&unit.elsewhere).push(rows[0]);
            }
        }
    }
}

/// A task while it is being built.
struct Making<'m, 'e> {
    engine: &'m Engine<'e>,
    root: usize,
    work: &'m BTreeSet<usize>,
    strips: &'m [Strip],
    contents: &'m mut Contents,
    task: Task,
    /// Where nodes of the graph stand in the task.
    places: FxHashMap<usize, usize>,
}

impl Making<'_, '_> {
    fn push(&mut self, node: usize, part: Part, known: Vec<(Digest, Cell)>) -> usize {
        self.task.parts.push(part);
        self.task.known.push(known);
        let place = self.task.parts.len() - 1;
        self.places.insert(node, place);
        place
    }

    fn items(&mut self) -> Result<(), Failure> {
        let root = self.engine.root_of(self.root).map_err(super::content::gone)?;
        for (shard, rows, _) in self.strips {
            let cells = root.cells(*shard);
            let numbers: Vec<u32> = rows.clone().map(|row| row as u32).collect();
            let found = self.engine.contents(self.root, *shard, &numbers, &cells);
            for (row, content) in rows.clone().zip(found) {
                self.task.items.push(cells[row].content);
                self.contents.add(cells[row].content, content?);
            }
            self.task.strips.push(rows.len() as u32);
        }
        Ok(())
    }

    /// The place of a node that works on the items of the task.
    fn part(&mut self, node: usize) -> Result<usize, Failure> {
        if let Some(place) = self.places.get(&node) {
            return Ok(*place);
        }
        let this = &self.engine.graph.nodes[node];
        let thin = self.engine.made_when_read(node).is_some();
        if !thin && !self.work.contains(&node) {
            let known = self.known(node)?;
            return Ok(self.push(node, Part::Known { of: 0 }, known));
        }
        let inputs = this.inputs.iter().map(|j| self.part(*j)).collect::<Result<Vec<_>, _>>()?;
        let joined = this.joined.iter().map(|j| self.joined(*j)).collect::<Result<Vec<_>, _>>()?;
        let part = Part::Work {
            label: this.label.clone(),
            fingerprint: this.fingerprint.parts.clone(),
            inputs,
            joined,
            wanted: !thin,
        };
        Ok(self.push(node, part, Vec::new()))
    }

    /// The results of a node for the items.
    fn known(&mut self, node: usize) -> Result<Vec<(Digest, Cell)>, Failure> {
        let root = self.engine.root_of(self.root).map_err(super::content::gone)?;
        let mut out = Vec::new();
        for (shard, rows, _) in self.strips {
            let cells = self.engine.cells(node, *shard).map_err(super::content::gone)?;
            for row in rows.clone() {
                out.push((root.rows(*shard)[row].content, cells[row]));
                self.content_of(node, *shard, row, cells[row])?;
            }
        }
        Ok(out)
    }

    fn content_of(
        &mut self,
        node: usize,
        shard: usize,
        row: usize,
        cell: Cell,
    ) -> Result<(), Failure> {
        // Why something failed is handed on by its digest, and is known where the job comes from.
        if cell.state.usable() && !self.contents.has(&cell.content) {
            let content = self.engine.content(node, shard, row, cell)?;
            self.contents.add(cell.content, content);
        }
        Ok(())
    }

    /// The place of a node that works on the parts of items.
    fn joined(&mut self, node: usize) -> Result<usize, Failure> {
        if let Some(place) = self.places.get(&node) {
            return Ok(*place);
        }
        let list = self.engine.shape.root_index[node];
        let parts = match self.places.get(&list) {
            Some(place) => *place,
            None => {
                let of = self.part(self.engine.graph.nodes[list].inputs[0])?;
                self.push(list, Part::Parts { of }, Vec::new())
            }
        };
        let root = self.engine.root_of(list).map_err(super::content::gone)?;
        let mut known: BTreeMap<Digest, Cell> = BTreeMap::new();
        for (shard, rows, _) in self.strips {
            for row in rows.clone() {
                let found = self.engine.joined(node, *shard, row).map_err(super::content::gone)?;
                for (s, r, cell) in found.into_iter().flatten() {
                    let part = root.rows(s as usize)[r as usize].content;
                    if known.insert(part, cell).is_none() {
                        self.content_of(node, s as usize, r as usize, cell)?;
                    }
                }
            }
        }
        Ok(self.push(node, Part::Known { of: parts }, known.into_iter().collect()))
    }

    /// Results of the work itself that are known already.
    fn done(&mut self) -> Result<(), Failure> {
        for (_, _, portions) in self.strips {
            for portion in portions {
                let Some(unit) = self.engine.unit_of(portion) else { continue };
                let cells = lock(&unit.cells).clone();
                for (key, row) in &unit.parcels[portion.parcel].actions {
                    let Some(cell) = cells[*row as usize] else { continue };
                    let lasts = !lock(&unit.for_now).contains_key(row);
                    let is_kept =
                        matches!(cell.state, State::Done | State::Finding | State::Failed);
                    if lasts
                        && is_kept
                        && let Some(bytes) = self.engine.store.get_one(&cell.content)
                    {
                        self.contents.add(cell.content, bytes);
                        self.task.done.push((*key, cell));
                    }
                }
            }
        }
        Ok(())
    }
}
