//! The order of the jobs of a run: which is next, who does it, and which jobs wait for which others.
//!
//! It does not know results, nor how work is done.

use std::collections::{BTreeMap, BinaryHeap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{UnitRun, elsewhere, lock, remote};
use crate::graph::Context;
use crate::remote::Answers;
use litmake_base::digest::Digest;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Job {
    Root(usize),
    Unit(usize, usize),
    /// A chunk of a begun unit: the unit's place in the queue's list, and the range.
    Chunk(usize, u32, u32),
    /// A unit for which the remote cache has answered, by the number of the question.
    Answered(u64),
    /// A job that has come back from another machine, by its number.
    Returned(u64),
}

#[derive(Default)]
pub(super) struct Queue {
    pub(super) heap: BinaryHeap<(usize, u64, Job)>,
    /// How many jobs are being done.
    pub(super) running: usize,
    /// For each node, how many shards are not done yet.
    pub(super) shards_left: Vec<usize>,
    /// For each list that is made of nodes, how many of these are not done yet.
    pub(super) inputs_left: Vec<usize>,
    /// The units that have begun and are not done.
    pub(super) units: Vec<Option<Arc<UnitRun>>>,
    free_units: Vec<usize>,
    /// Units that wait for an answer of the remote cache, by the number of the question.
    pub(super) asked: BTreeMap<u64, remote::Asked>,
    pub(super) answers: FxHashMap<u64, Answers>,
    pub(super) questions: u64,
    /// When the last answer came.
    pub(super) last_answer: Option<Instant>,
    /// The state of work on other machines.
    pub(super) away: elsewhere::Away,
}

impl Queue {
    pub(super) fn is_done(&self) -> bool {
        self.heap.is_empty() && self.running == 0 && self.asked.is_empty() && self.away.is_empty()
    }

    /// Gives a unit that begins a place in the list of begun units.
    pub(super) fn begun(&mut self, unit: Arc<UnitRun>) -> usize {
        let place = self.free_units.pop().unwrap_or_else(|| {
            self.units.push(None);
            self.units.len() - 1
        });
        self.units[place] = Some(unit);
        place
    }

    /// Frees the place of a unit that is done.
    pub(super) fn ended(&mut self, place: usize) {
        self.units[place] = None;
        self.free_units.push(place);
    }
}

/// The queue of jobs with those who wait for it, and the actions that workers have claimed.
pub(super) struct Schedule {
    queue: Mutex<Queue>,
    /// Notified when there is a job, or nothing left to do.
    wake: Condvar,
    /// Notified when there are more portions for other machines, or room for more jobs.
    laid: Condvar,
    /// Whether units are taken from the back, so that two processes on one store meet in the middle.
    reverse: AtomicBool,
    met: AtomicBool,
    claims: Mutex<FxHashSet<Digest>>,
    released: Condvar,
}

impl Schedule {
    /// Begins at the other end where another process is at work on the same things.
    pub(super) fn new(has_company: bool) -> Schedule {
        Schedule {
            queue: Mutex::default(),
            wake: Condvar::new(),
            laid: Condvar::new(),
            reverse: AtomicBool::new(has_company),
            met: AtomicBool::new(has_company),
            claims: Mutex::default(),
            released: Condvar::new(),
        }
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    pub(super) fn push(&self, queue: &mut Queue, priority: usize, shard: usize, job: Job) {
        let order = match self.reverse.load(Ordering::Relaxed) {
            true => shard as u64,
            false => u64::MAX - shard as u64,
        };
        queue.heap.push((priority, order, job));
        self.wake.notify_one();
    }

    /// If two processes work on one store, the later one takes units from the back from now on.
    pub(super) fn meet(&self, is_later: impl FnOnce() -> bool) {
        if self.met.swap(true, Ordering::Relaxed) || !is_later() {
            return;
        }
        let mut queue = self.queue();
        self.reverse.store(true, Ordering::Relaxed);
        let jobs = std::mem::take(&mut queue.heap);
        queue.heap = jobs.into_iter().map(|(p, order, job)| (p, u64::MAX - order, job)).collect();
    }

    /// Waits for a job, at most for some time where one is given.
    pub(super) fn wait<'q>(
        &self,
        queue: MutexGuard<'q, Queue>,
        most: Option<Duration>,
    ) -> MutexGuard<'q, Queue> {
        match most {
            Some(most) => {
                self.wake.wait_timeout(queue, most).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(super) fn wake_one(&self) {
        self.wake.notify_one();
    }

    pub(super) fn wake_all(&self) {
        self.wake.notify_all();
    }

    /// Waits for portions for other machines, or for room for more jobs.
    pub(super) fn wait_for_portions<'q>(
        &self,
        queue: MutexGuard<'q, Queue>,
        most: Duration,
    ) -> MutexGuard<'q, Queue> {
        self.laid.wait_timeout(queue, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Says that there are portions, or room for jobs.
    pub(super) fn laid(&self) {
        self.laid.notify_all();
    }

    /// Splits actions into those that are claimed now, and those that another worker has claimed.
    pub(super) fn claim(
        &self,
        all: impl Iterator<Item = usize>,
        key: impl Fn(usize) -> Digest,
    ) -> (Vec<usize>, Vec<usize>) {
        let mut claims = lock(&self.claims);
        all.partition(|i| claims.insert(key(*i)))
    }

    /// Claims an action as soon as no other worker has it.
    pub(super) fn claim_after_others(&self, key: Digest, context: &Context) {
        let mut claims = lock(&self.claims);
        while claims.contains(&key) && !context.stopped() {
            claims = self.released.wait(claims).unwrap_or_else(PoisonError::into_inner);
        }
        claims.insert(key);
    }

    pub(super) fn release(&self, keys: impl Iterator<Item = Digest>) {
        let mut claims = lock(&self.claims);
        for key in keys {
            claims.remove(&key);
        }
        drop(claims);
        self.released.notify_all();
    }
}
