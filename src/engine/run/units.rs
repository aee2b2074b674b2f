//! The work in one unit: its known results, and the chunks of the missing ones.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::keys::Decision;
use super::schedule::Job;
use super::{Engine, UnitRun, across, guarded, lock, remote};
use crate::events::Event;
use crate::graph::{Map, Outcome, REFRESH, Work};
use crate::rows::Kept;
use crate::rows::{Cell, Shard, State, encode_cells};
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Kind, Put, Records};

/// An action that is to be run.
struct Todo {
    /// Its place among the missing actions of the unit.
    missing: usize,
    /// The contents of what it is made from, until they are taken, or why one of them has none.
    item: Result<Vec<Vec<u8>>, Failure>,
    /// The key of its normal form.
    alias: Option<Digest>,
    /// An earlier action with the same normal form, whose result is this one's, too.
    same_as: Option<usize>,
}

impl Engine<'_> {
    pub(super) fn run_unit(&self, node: usize, shard: usize) {
        let Some(digests) = self.read_by(node, shard) else { return };
        let known =
            self.store.get_one(&self.manifest_key(node, &digests)).and_then(|b| Shard::decode(&b));
        if let Some(known) = known {
            return self.unit_done(node, shard, known, 0);
        }
        let inputs = match self.input_cells(node, shard) {
            Ok(inputs) => inputs,
            Err(e) => return lock(&self.held.errors).push(e),
        };
        let rows = inputs[0].len();
        let mut cells: Vec<Option<Cell>> = vec![None; rows];
        let mut wanted: FxHashMap<Digest, u32> = FxHashMap::default();
        let mut keys: Vec<(Digest, Vec<u32>)> = Vec::new();
        for (row, cell) in cells.iter_mut().enumerate() {
            match self.decide(node, shard, row, &across(&inputs, row)) {
                Decision::Settled(settled) => *cell = Some(settled),
                Decision::Action(key) => {
                    let at = *wanted.entry(key).or_insert_with(|| {
                        keys.push((key, Vec::new()));
                        keys.len() as u32 - 1
                    });
                    keys[at as usize].1.push(row as u32);
                }
            }
        }
        let digests: Vec<Digest> = keys.iter().map(|k| k.0).collect();
        let mut parcels = self.parcels(node, shard, &keys);
        let mut missing = Vec::new();
        let mut for_now = FxHashMap::default();
        for (known, (key, rows)) in self.store.get(&digests).into_iter().zip(keys) {
            match self.recall(known) {
                Some(kept) => {
                    for_now.extend(rows.iter().filter_map(|r| Some((*r, kept.made?))));
                    rows.iter().for_each(|r| cells[*r as usize] = Some(kept.cell));
                }
                None => missing.push((key, rows)),
            }
        }
        remote::mark_missing(&mut parcels, &missing);
        let unit = UnitRun {
            node,
            shard,
            inputs,
            cells: Mutex::new(cells),
            missing,
            left: AtomicUsize::new(0),
            executed: Mutex::default(),
            elsewhere: Mutex::default(),
            fetched: Mutex::default(),
            for_now: Mutex::new(for_now),
            parcels,
        };
        if let Some(unit) = self.asked_elsewhere(unit) {
            self.begin_unit(unit);
        }
    }

    /// Makes chunks of the missing actions of a unit.
    pub(super) fn begin_unit(&self, unit: UnitRun) {
        let unit = Arc::new(unit);
        let (node, shard, count) = (unit.node, unit.shard, unit.missing.len());
        if count == 0 {
            return self.finish_unit(&unit);
        }
        if self.laid_out(&unit) {
            return;
        }
        let batch = match &self.graph.nodes[node].work {
            Work::Map(work) => work.batch().max(1),
            _ => 1,
        };
        let jobs = self.options.jobs.max(1);
        let mut queue = self.schedule.queue();
        // Tools cost much to start. So a batch is whole where every worker has other work, and is
        // shared out where some would wait.
        let size = match queue.heap.len() >= jobs {
            true => batch,
            false => count.div_ceil(jobs).clamp(1, batch),
        };
        unit.left.store(count.div_ceil(size), Ordering::Relaxed);
        let place = queue.begun(unit);
        for from in (0..count).step_by(size) {
            let to = (from + size).min(count);
            let job = Job::Chunk(place, from as u32, to as u32);
            self.schedule.push(&mut queue, self.shape.depth[node] * 2 + 1, shard, job);
        }
    }

    pub(super) fn run_chunk(&self, place: usize, from: u32, to: u32) {
        let Some(unit) = self.schedule.queue().units[place].clone() else {
            return;
        };
        let Work::Map(work) = &self.graph.nodes[unit.node].work else {
            return;
        };
        // A portion that was laid out for others may be more than a batch.
        let end = to.min(from.saturating_add(u32::try_from(work.batch().max(1)).unwrap_or(to)));
        if end < to {
            unit.left.fetch_add(1, Ordering::AcqRel);
            let priority = self.shape.depth[unit.node] * 2 + 1;
            self.schedule.push(
                &mut self.schedule.queue(),
                priority,
                unit.shard,
                Job::Chunk(place, end, to),
            );
        }
        let to = end;
        // Actions that another worker has claimed are left to it, and looked up when it is done.
        let all = from as usize..to as usize;
        let (mine, others) = self.schedule.claim(all, |i| unit.missing[i].0);
        self.run_rows(&unit, work.as_ref(), &mine);
        for i in others {
            self.schedule.claim_after_others(unit.missing[i].0, &self.options.context);
            self.run_rows(&unit, work.as_ref(), &[i]);
        }
        self.chunk_done(&unit, place);
    }

    /// Finishes a unit with the last of its chunks.
    pub(super) fn chunk_done(&self, unit: &UnitRun, place: usize) {
        if unit.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.schedule.queue().ended(place);
            self.finish_unit(unit);
        }
    }

    pub(super) fn set(&self, unit: &UnitRun, missing: usize, kept: Kept) {
        if let Some(made) = kept.made {
            lock(&unit.for_now).extend(unit.missing[missing].1.iter().map(|row| (*row, made)));
        }
        let cell = kept.cell;
        let mut cells = lock(&unit.cells);
        for row in &unit.missing[missing].1 {
            cells[*row as usize] = Some(cell);
        }
    }

    /// Runs claimed actions, stores their results, and gives the claims back.
    fn run_rows(&self, unit: &UnitRun, work: &dyn Map, mine: &[usize]) {
        if mine.is_empty() {
            return;
        }
        // Another process may have come since this one began.
        self.store.refresh(REFRESH);
        if self.store.has_company() {
            self.schedule.meet(|| self.store.is_later());
        }
        let mut todo = self.to_do(unit, work, mine);
        let settled = self.run_once(unit, work, &mut todo);
        self.keep(unit, &todo, &settled);
        self.schedule.release(mine.iter().map(|i| unit.missing[*i].0));
    }

    /// The actions that nobody has done since they were found missing: neither another worker, nor another
    /// process, nor anybody an action with the same normal form.
    fn to_do(&self, unit: &UnitRun, work: &dyn Map, mine: &[usize]) -> Vec<Todo> {
        let mut left = Vec::new();
        for i in mine {
            match self.recall(self.store.get_one(&unit.missing[*i].0)) {
                Some(kept) => self.set(unit, *i, kept),
                None => left.push(*i),
            }
        }
        let rows: Vec<u32> = left.iter().map(|i| unit.missing[*i].1[0]).collect();
        let made = self.items(unit.node, unit.shard, &rows, &unit.inputs);
        let mut todo = Vec::new();
        for (missing, item) in left.into_iter().zip(made) {
            let mut alias = None;
            match &item {
                Ok(item) => {
                    alias = self.alias(unit.node, work, item);
                    if let Some(kept) = self.recall(alias.and_then(|a| self.store.get_one(&a))) {
                        let key = unit.missing[missing].0;
                        let value = &kept.encode();
                        self.store.put(&[Put { kind: Kind::Action, key, value }]);
                        self.set(unit, missing, kept);
                        continue;
                    }
                }
                Err(failure) if failure.is_broken() => {
                    if let Some((cell, _)) = self.settle(Outcome::Failed(failure.clone())) {
                        self.set(unit, missing, Kept { cell, made: None });
                    }
                    continue;
                }
                // An input failed for good, and that is the result.
                Err(_) => {}
            }
            todo.push(Todo { missing, item, alias, same_as: None });
        }
        let mut first_of: FxHashMap<Digest, usize> = FxHashMap::default();
        for (n, one) in todo.iter_mut().enumerate() {
            let first = one.alias.map(|alias| *first_of.entry(alias).or_insert(n));
            one.same_as = first.filter(|first| *first != n);
        }
        todo
    }

    /// Runs each normal form once. Gives the results with their contents; `None` for one that was stopped.
    fn run_once(
        &self,
        unit: &UnitRun,
        work: &dyn Map,
        todo: &mut [Todo],
    ) -> Vec<Option<(Kept, Vec<u8>)>> {
        let mut settled: Vec<Option<(Kept, Vec<u8>)>> = vec![None; todo.len()];
        let mut run: Vec<usize> = Vec::new();
        let mut items: Vec<Vec<Vec<u8>>> = Vec::new();
        for (n, one) in todo.iter_mut().enumerate().filter(|(_, one)| one.same_as.is_none()) {
            match std::mem::replace(&mut one.item, Ok(Vec::new())) {
                Ok(item) => {
                    run.push(n);
                    items.push(item);
                }
                Err(failure) => settled[n] = self.kept(Outcome::Failed(failure)),
            }
        }
        if items.is_empty() || self.options.context.stopped() {
            return settled;
        }
        let start = Instant::now();
        let outcomes = guarded(work, &items, &self.options.context);
        let nanos = start.elapsed().as_nanos() as u64;
        self.tallies[unit.node].nanos.fetch_add(nanos, Ordering::Relaxed);
        self.took(unit.node, items.len() as u64, nanos);
        for (n, outcome) in run.into_iter().zip(outcomes) {
            settled[n] = self.kept(outcome);
            if settled[n].is_some() {
                lock(&unit.executed).push(unit.missing[todo[n].missing].1[0]);
            }
        }
        settled
    }

    /// Stores results, and sets the cells of the rows that need them.
    fn keep(&self, unit: &UnitRun, todo: &[Todo], settled: &[Option<(Kept, Vec<u8>)>]) {
        let result = |(n, one): (usize, &Todo)| {
            let (kept, bytes) = settled[one.same_as.unwrap_or(n)].as_ref()?;
            Some((*kept, kept.encode(), bytes.as_slice()))
        };
        let results: Vec<_> = todo.iter().enumerate().map(result).collect();
        let mut puts: Vec<Put> = Vec::new();
        for (one, result) in todo.iter().zip(&results) {
            let Some((Kept { cell, .. }, record, bytes)) = result else { continue };
            if cell.state == State::Broke {
                continue;
            }
            if one.same_as.is_none() {
                if !self.store.has(&[cell.content])[0] {
                    puts.push(Put { kind: Kind::Blob, key: cell.content, value: bytes });
                }
                if let Some(key) = one.alias {
                    puts.push(Put { kind: Kind::Alias, key, value: record });
                }
            }
            let key = unit.missing[one.missing].0;
            puts.push(Put { kind: Kind::Action, key, value: record });
        }
        self.store.put(&puts);
        for (one, result) in todo.iter().zip(&results) {
            let Some((kept, _, bytes)) = result else { continue };
            self.set(unit, one.missing, *kept);
            if matches!(kept.cell.state, State::Broke | State::Failed) {
                self.say_failed(unit, one.missing, bytes);
            }
        }
    }

    /// The cell of an outcome as it is stored, with its content; `None` if the work was stopped.
    fn kept(&self, outcome: Outcome) -> Option<(Kept, Vec<u8>)> {
        let made = (outcome.lasting() == Lasting::ForNow).then(|| self.now());
        let (cell, bytes) = self.settle(outcome)?;
        Some((Kept { cell, made }, bytes))
    }

    pub(super) fn say_failed(&self, unit: &UnitRun, missing: usize, bytes: &[u8]) {
        if self.said.fetch_add(1, Ordering::Relaxed) >= 1000 {
            return;
        }
        if let Ok(root) = self.root_of(unit.node) {
            let row = unit.missing[missing].1[0] as usize;
            let item = &root.rows(unit.shard)[row].name;
            self.listener.event(&Event::Failed {
                node: &self.graph.nodes[unit.node].label,
                item,
                message: &Failure::decode(bytes).map_or(String::new(), |f| f.told(item)),
            });
        }
    }

    pub(super) fn finish_unit(&self, unit: &UnitRun) {
        let cells: Option<Vec<Cell>> = lock(&unit.cells).iter().copied().collect();
        // A unit that was stopped half-way has gaps; what it did is in the store.
        let Some(cells) = cells else { return };
        let shard = Shard::of(&cells);
        let executed = std::mem::take(&mut *lock(&unit.executed));
        self.offer(unit, &cells);
        for (rows, of_node) in [
            (&unit.fetched, &self.tallies[unit.node].fetched),
            (&unit.elsewhere, &self.tallies[unit.node].elsewhere),
        ] {
            let rows = std::mem::take(&mut *lock(rows));
            if !rows.is_empty() {
                lock(of_node).push((unit.shard as u32, rows));
            }
        }
        let count = executed.len() as u64;
        if !executed.is_empty() {
            lock(&self.tallies[unit.node].executed).push((unit.shard as u32, executed));
        }
        if shard.count(State::Broke) > 0 || !lock(&unit.for_now).is_empty() {
            lock(&self.held.kept).insert((unit.node, unit.shard), Arc::new(cells));
        } else if let Some(digests) = self.read_by(unit.node, unit.shard) {
            self.store.put(&[
                Put { kind: Kind::Blob, key: shard.digest, value: &encode_cells(&cells) },
                Put {
                    kind: Kind::Manifest,
                    key: self.manifest_key(unit.node, &digests),
                    value: &shard.encode(),
                },
            ]);
        }
        self.unit_done(unit.node, unit.shard, shard, count);
    }
}
