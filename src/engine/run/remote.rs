//! The questions of a run to a remote cache, and its offers.
//!
//! A unit with missing results asks once, for all packets in which some are missing, and the worker goes on
//! with other units. The answer is put into the store, and the rest of the unit runs here. If the workers
//! have nothing else to do and no answer comes for a while, the unit runs here without it.

use std::ops::Range;
use std::sync::MutexGuard;
use std::sync::mpsc::channel;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use super::keys::Decision;
use super::schedule::{Job, Queue};
use super::{Engine, UnitRun, across, lock};
use crate::elsewhere::Executed;
use crate::graph::Source;
use crate::packet::{self, Packet};
use crate::remote::{Answers, fetch_records, offer_record};
use crate::rows::{Cell, Entry, Kept, State};
use litmake_base::diag::Result;
use litmake_base::digest::Digest;
use litmake_base::records::{Kind, Put, Records};

/// The part of a unit that travels in one packet.
pub(super) struct Parcel {
    pub(super) key: Digest,
    /// Its rows of the shard.
    pub(super) rows: Range<usize>,
    /// The keys of its actions, each with one of the rows that need it.
    pub(super) actions: Vec<(Digest, u32)>,
    /// Whether the store lacks the result of any.
    missing: bool,
    /// Whether the remote cache sent the results of all.
    came: bool,
}

/// A unit that waits for an answer.
pub(super) struct Asked {
    unit: UnitRun,
    since: Instant,
}

/// A message to the thread that takes answers.
pub(super) enum Answered {
    To(u64, Answers),
    /// Another machine is done with the job of this number.
    Executed(u64, Executed),
    /// The graph is done.
    End,
}

/// Notes which parcels have something that the store does not know.
pub(super) fn mark_missing(parcels: &mut [Parcel], missing: &[(Digest, Vec<u32>)]) {
    if parcels.is_empty() || missing.is_empty() {
        return;
    }
    let missing: FxHashSet<Digest> = missing.iter().map(|m| m.0).collect();
    for parcel in parcels {
        parcel.missing = parcel.actions.iter().any(|(key, _)| missing.contains(key));
    }
}

impl Engine<'_> {
    /// The parcels of a unit.
    pub(super) fn parcels(
        &self,
        node: usize,
        shard: usize,
        keys: &[(Digest, Vec<u32>)],
    ) -> Vec<Parcel> {
        let (Some(_), Ok(root)) = (&self.options.remote, self.root_of(node)) else {
            return Vec::new();
        };
        let items = root.rows(shard);
        let mut key_of: Vec<Option<Digest>> = vec![None; items.len()];
        for (key, rows) in keys {
            rows.iter().for_each(|row| key_of[*row as usize] = Some(*key));
        }
        let parcel = |rows: Range<usize>| {
            let mut seen = FxHashSet::default();
            let keyed = rows.clone().filter_map(|row| Some((key_of[row]?, row as u32)));
            let actions: Vec<(Digest, u32)> = keyed.filter(|(key, _)| seen.insert(*key)).collect();
            let key = packet::key(&actions.iter().map(|a| a.0).collect::<Vec<_>>());
            Parcel { key, rows, actions, missing: false, came: false }
        };
        let strips = match &root.strips {
            Some(strips) => strips.clone(),
            None => packet::cut(items.iter().map(|item| item.content)),
        };
        let all = strips.into_iter().map(parcel);
        all.filter(|parcel| !parcel.actions.is_empty()).collect()
    }

    /// The keys of the packets that a shard gives in a node, with the rows that each is of.
    pub(crate) fn packet_keys(&self, node: usize, shard: usize) -> Vec<(Range<usize>, Digest)> {
        let Ok(inputs) = self.input_cells(node, shard) else { return Vec::new() };
        let mut keys: Vec<(Digest, Vec<u32>)> = Vec::new();
        for row in 0..inputs.first().map_or(0, |cells| cells.len()) {
            if let Decision::Action(key) = self.decide(node, shard, row, &across(&inputs, row)) {
                keys.push((key, vec![row as u32]));
            }
        }
        self.parcels(node, shard, &keys).into_iter().map(|p| (p.rows, p.key)).collect()
    }

    /// Asks the remote cache for what is missing in a unit, and keeps the unit until it answers.
    /// Gives it back where there is nothing to ask.
    pub(super) fn asked_elsewhere(&self, mut unit: UnitRun) -> Option<UnitRun> {
        self.take_ready(&mut unit);
        let keys: Vec<Digest> = unit.parcels.iter().filter(|p| p.missing).map(|p| p.key).collect();
        let Some(remote) = self.options.remote.as_ref().filter(|_| !keys.is_empty()) else {
            return Some(unit);
        };
        let Some(answered) = lock(&self.others.answered).clone() else { return Some(unit) };
        let question = {
            let mut queue = self.schedule.queue();
            queue.questions += 1;
            let question = queue.questions;
            queue.asked.insert(question, Asked { unit, since: Instant::now() });
            question
        };
        let taker = move |answers| drop(answered.send(Answered::To(question, answers)));
        remote.ask(keys, Box::new(taker));
        None
    }

    /// Runs something during which answers are taken.
    pub(super) fn with_answers(&self, work: impl FnOnce()) {
        if self.options.remote.is_none() {
            return work();
        }
        let (send, receive) = channel();
        *lock(&self.others.answered) = Some(send.clone());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while let Ok(answer) = receive.recv() {
                    match answer {
                        Answered::To(question, answers) => self.answer(question, answers),
                        Answered::Executed(number, done) => self.returned(number, done),
                        Answered::End => return,
                    }
                }
            });
            scope.spawn(|| self.send_jobs());
            work();
            *lock(&self.others.answered) = None;
            self.schedule.queue().away.ended = true;
            self.schedule.laid();
            drop(send.send(Answered::End));
        });
    }

    fn answer(&self, question: u64, answers: Answers) {
        let mut queue = self.schedule.queue();
        queue.last_answer = Some(Instant::now());
        // A unit that runs without its answer needs it no more.
        let Some(asked) = queue.asked.get(&question) else { return };
        let (node, shard) = (asked.unit.node, asked.unit.shard);
        queue.answers.insert(question, answers);
        let priority = self.shape.depth[node] * 2 + 1;
        self.schedule.push(&mut queue, priority, shard, Job::Answered(question));
    }

    /// Waits for an answer or for other work. A unit whose answer takes long runs without it.
    pub(super) fn wait_for_answers<'q>(
        &self,
        mut queue: MutexGuard<'q, Queue>,
    ) -> MutexGuard<'q, Queue> {
        let Some((question, asked)) = queue.asked.iter().next() else { return queue };
        let last = queue.last_answer.map_or(asked.since, |last| last.max(asked.since));
        let (question, waited) = (*question, last.elapsed());
        let patience = self.options.patience;
        if waited < patience {
            return self.schedule.wait(queue, Some(patience - waited));
        }
        let (node, shard) = (asked.unit.node, asked.unit.shard);
        queue.answers.entry(question).or_default();
        let priority = self.shape.depth[node] * 2 + 1;
        self.schedule.push(&mut queue, priority, shard, Job::Answered(question));
        queue
    }

    pub(super) fn run_answered(&self, question: u64) {
        let taken = {
            let mut queue = self.schedule.queue();
            let answers = queue.answers.remove(&question);
            queue.asked.remove(&question).map(|asked| (asked.unit, answers.unwrap_or_default()))
        };
        let Some((mut unit, answers)) = taken else { return };
        let asked: Vec<usize> =
            (0..unit.parcels.len()).filter(|i| unit.parcels[*i].missing).collect();
        for (at, answer) in asked.into_iter().zip(answers) {
            if let Some(bytes) = answer {
                self.take_in(&mut unit, at, &bytes);
            }
        }
        self.begin_unit(unit);
    }

    /// Takes what jobs elsewhere brought along for a unit.
    fn take_ready(&self, unit: &mut UnitRun) {
        for at in 0..unit.parcels.len() {
            let ready = match unit.parcels[at].missing {
                true => lock(&self.others.ready).remove(&unit.parcels[at].key),
                false => None,
            };
            let Some((packet, remembered)) = ready else { continue };
            let (came, _) = self.take_from(unit, at, &packet, true);
            came.iter().for_each(|rows| self.count_made(unit, rows, remembered));
            let left: FxHashSet<Digest> = unit.missing.iter().map(|m| m.0).collect();
            let parcel = &mut unit.parcels[at];
            parcel.missing = parcel.actions.iter().any(|(key, _)| left.contains(key));
        }
    }

    /// Takes a packet that the remote cache sent.
    fn take_in(&self, unit: &mut UnitRun, at: usize, bytes: &[u8]) {
        let (came, whole) = self.take_from(unit, at, bytes, false);
        unit.parcels[at].came = whole;
        // Of rows that are one action, one counts as run, and so one as fetched.
        lock(&unit.fetched).extend(came.into_iter().flatten());
    }

    /// Takes what is missing of a unit from a packet; gives the rows of each action that came, and
    /// whether the packet has all that it should have.
    fn take_from(
        &self,
        unit: &mut UnitRun,
        at: usize,
        bytes: &[u8],
        is_new: bool,
    ) -> (Vec<Vec<u32>>, bool) {
        let wanted: FxHashSet<Digest> = unit.missing.iter().map(|m| m.0).collect();
        let Some(known) = self.admit(&unit.parcels[at], bytes, &wanted, is_new) else {
            return (Vec::new(), false);
        };
        let whole = known.len() == unit.parcels[at].actions.len();
        let (came, missing): (Vec<_>, Vec<_>) = std::mem::take(&mut unit.missing)
            .into_iter()
            .partition(|(key, _)| known.contains_key(key));
        unit.missing = missing;
        let mut cells = lock(&unit.cells);
        for (key, rows) in &came {
            let kept = known[key];
            for row in rows {
                cells[*row as usize] = Some(kept.cell);
                if let Some(made) = kept.made {
                    lock(&unit.for_now).insert(*row, made);
                }
            }
        }
        drop(cells);
        (came.into_iter().map(|(_, rows)| rows).collect(), whole)
    }

    /// Checks a packet, puts the wanted results into the store, and returns the results that count. Results of
    /// this run count even where tools are to be asked again.
    pub(super) fn admit(
        &self,
        parcel: &Parcel,
        bytes: &[u8],
        wanted: &FxHashSet<Digest>,
        is_new: bool,
    ) -> Option<FxHashMap<Digest, Kept>> {
        let remote = self.options.remote.as_ref()?;
        let Some(packet) = Packet::decode(bytes, parcel.actions.len()) else {
            remote.refuse(parcel.key, "its results are not those of these tasks");
            return None;
        };
        let today = packet::day(self.now());
        let mut known: FxHashMap<Digest, Kept> = FxHashMap::default();
        for ((key, _), result) in parcel.actions.iter().zip(&packet.results) {
            let Some(result) = result else { continue };
            // A refusal of another day is asked again.
            let asked_again = self.options.ask_again && !is_new;
            if result.for_now && (packet.day != today || asked_again) {
                continue;
            }
            let made = match (result.for_now, is_new) {
                (false, _) => None,
                (true, false) => Some(packet::begin_of(packet.day)),
                (true, true) => Some(self.now()),
            };
            known.insert(*key, Kept { cell: result.cell, made });
        }
        let digests: Vec<Digest> = packet.contents.iter().map(|c| c.0).collect();
        let new = || known.iter().filter(|(key, _)| wanted.contains(*key));
        let contents: FxHashSet<Digest> = new().map(|(_, kept)| kept.cell.content).collect();
        let there = self.store.has(&digests);
        let mut puts: Vec<Put> = packet
            .contents
            .iter()
            .zip(there)
            .filter(|((key, _), there)| !there && contents.contains(key))
            .map(|((key, value), _)| Put { kind: Kind::Blob, key: *key, value })
            .collect();
        let records: Vec<(Digest, Vec<u8>)> =
            new().map(|(key, kept)| (*key, kept.encode())).collect();
        puts.extend(records.iter().map(|(key, value)| Put {
            kind: Kind::Action,
            key: *key,
            value,
        }));
        self.store.put(&puts);
        Some(known)
    }

    /// Offers the packets of a unit that did not come. What the store knew from other units is offered,
    /// too: whoever asks for this packet may not have asked for theirs.
    pub(super) fn offer(&self, unit: &UnitRun, cells: &[Cell]) {
        let Some(remote) = &self.options.remote else { return };
        let today = packet::day(self.now());
        for parcel in unit.parcels.iter().filter(|p| !p.came) {
            let mut packet = Packet::default();
            let mut seen = FxHashSet::default();
            for (_, row) in &parcel.actions {
                let cell = cells[*row as usize];
                let made = lock(&unit.for_now).get(row).copied();
                let is_of_today = made.is_none_or(|made| packet::day(made) == today);
                let content = match cell.state == State::Broke || !is_of_today {
                    true => None,
                    false => self.store.get_one(&cell.content),
                };
                let Some(content) = content else {
                    packet.results.push(None);
                    continue;
                };
                if made.is_some() {
                    packet.day = today;
                }
                packet.results.push(Some(packet::Result { cell, for_now: made.is_some() }));
                if seen.insert(cell.content) {
                    packet.contents.push((cell.content, content));
                }
            }
            if !packet.contents.is_empty() {
                remote.offer(parcel.key, packet.encode());
            }
        }
    }

    /// The list of a source. One that is the same on every machine may be known to the remote cache.
    pub(super) fn list_of(&self, source: &dyn Source) -> Result<Vec<Entry>> {
        let (Some(remote), Some(record)) = (&self.options.remote, source.record()) else {
            return source.list(self.store);
        };
        fetch_records(&**remote, self.store, &[record]);
        let was_known = self.store.has(&[record])[0];
        let entries = source.list(self.store)?;
        if !was_known && let Some(value) = self.store.get_one(&record) {
            offer_record(&**remote, Kind::Alias, &record, &value);
        }
        Ok(entries)
    }

    /// Asks the remote cache for the lists of parts that the store has not, in one go.
    pub(super) fn fetch_part_lists(&self, node: usize, shards: usize) {
        let Some(remote) = &self.options.remote else { return };
        let input = self.graph.nodes[node].inputs[0];
        let digests = (0..shards).filter_map(|shard| self.shard_digest(input, shard));
        let keys: Vec<Digest> = digests.map(|d| self.manifest_key(node, &[d])).collect();
        fetch_records(&**remote, self.store, &keys);
    }
}
