//! The work in one unit: its known results, and the chunks of the missing ones.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::{Engine, Job, UnitRun, across, guarded, lock, remote};
use crate::events::Event;
use crate::graph::{Map, Outcome, REFRESH, Work};
use crate::rows::Kept;
use crate::rows::{Cell, Shard, State, encode_cells};
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Kind, Put, Records};

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
            Err(e) => return lock(&self.errors).push(e),
        };
        let rows = inputs[0].len();
        let mut cells: Vec<Option<Cell>> = vec![None; rows];
        let mut wanted: FxHashMap<Digest, u32> = FxHashMap::default();
        let mut keys: Vec<(Digest, Vec<u32>)> = Vec::new();
        let made_when_read = self.made_when_read(node).is_some();
        for (row, cell) in cells.iter_mut().enumerate() {
            match self.decide(node, shard, row, &across(&inputs, row)) {
                Ok(decided) => *cell = Some(decided),
                Err(content) if made_when_read => {
                    *cell = Some(Cell { state: State::Done, content });
                }
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
        let mut queue = lock(&self.queue);
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
            self.push(&mut queue, self.depth[node] * 2 + 1, shard, job);
        }
    }

    pub(super) fn run_chunk(&self, place: usize, from: u32, to: u32) {
        let Some(unit) = lock(&self.queue).units[place].clone() else {
            return;
        };
        let Work::Map(work) = &self.graph.nodes[unit.node].work else {
            return;
        };
        // What was laid out for others may be more than a batch.
        let end = to.min(from.saturating_add(u32::try_from(work.batch().max(1)).unwrap_or(to)));
        if end < to {
            unit.left.fetch_add(1, Ordering::AcqRel);
            let priority = self.depth[unit.node] * 2 + 1;
            self.push(&mut lock(&self.queue), priority, unit.shard, Job::Chunk(place, end, to));
        }
        let to = end;
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
                claims = self.released.wait(claims).unwrap_or_else(PoisonError::into_inner);
            }
            claims.insert(key);
            drop(claims);
            match self.recall(self.store.get_one(&key)) {
                Some(kept) => {
                    self.set(&unit, i, kept);
                    lock(&self.claims).remove(&key);
                    self.released.notify_all();
                }
                None => self.run_rows(&unit, work.as_ref(), &[i]),
            }
        }
        self.chunk_done(&unit, place);
    }

    /// Finishes a unit with the last of its chunks.
    pub(super) fn chunk_done(&self, unit: &UnitRun, place: usize) {
        if unit.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            {
                let mut queue = lock(&self.queue);
                queue.units[place] = None;
                queue.free_units.push(place);
            }
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

    /// Runs claimed rows, stores their results, and gives the claims back.
    pub(super) fn run_rows(&self, unit: &UnitRun, work: &dyn Map, mine: &[usize]) {
        if mine.is_empty() {
            return;
        }
        let node = unit.node;
        let mut todo = Vec::new();
        let mut items = Vec::new();
        let mut aliases = Vec::new();
        let mut wanted = Vec::new();
        // Another process may have come since this one began.
        self.store.refresh(REFRESH);
        if self.store.has_company() {
            self.meet();
        }
        for i in mine {
            // Since it was found missing, somebody may have done it: another worker, or another process.
            let key = &unit.missing[*i].0;
            if let Some(kept) = self.recall(self.store.get_one(key)) {
                self.set(unit, *i, kept);
                continue;
            }
            wanted.push(*i);
        }
        let rows: Vec<u32> = wanted.iter().map(|i| unit.missing[*i].1[0]).collect();
        let made = self.items(node, unit.shard, &rows, &unit.inputs);
        for (i, item) in wanted.into_iter().zip(made) {
            match item {
                Ok(item) => {
                    let alias = work.normal(&item).map(|n| self.alias_key(node, &n));
                    let known = self.recall(alias.and_then(|a| self.store.get_one(&a)));
                    if let Some(kept) = known {
                        self.store.put(&[Put {
                            kind: Kind::Action,
                            key: unit.missing[i].0,
                            value: &kept.encode(),
                        }]);
                        self.set(unit, i, kept);
                        continue;
                    }
                    todo.push(i);
                    items.push(Ok(item));
                    aliases.push(alias);
                }
                Err(failure) if failure.is_broken() => {
                    if let Some((cell, _)) = self.settle(Outcome::Failed(failure)) {
                        self.set(unit, i, Kept { cell, made: None });
                    }
                }
                // What it is made from says no.
                Err(failure) => {
                    todo.push(i);
                    items.push(Err(failure));
                    aliases.push(None);
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
        let mut run: Vec<usize> = Vec::new();
        let mut picked: Vec<Vec<Vec<u8>>> = Vec::new();
        let mut settled: Vec<Option<(Kept, Vec<u8>)>> = vec![None; todo.len()];
        for (n, item) in items.into_iter().enumerate().filter(|(n, _)| same_as[*n].is_none()) {
            match item {
                Ok(item) => {
                    run.push(n);
                    picked.push(item);
                }
                Err(failure) => settled[n] = self.kept(Outcome::Failed(failure)),
            }
        }
        let mut outcomes = Vec::new();
        if !picked.is_empty() && !self.options.context.stopped() {
            let start = Instant::now();
            outcomes = guarded(work, &picked, &self.options.context);
            let nanos = start.elapsed().as_nanos() as u64;
            self.nanos[node].fetch_add(nanos, Ordering::Relaxed);
            self.took(node, picked.len() as u64, nanos);
        }
        for (n, outcome) in run.iter().zip(outcomes) {
            settled[*n] = self.kept(outcome);
            if settled[*n].is_some() {
                lock(&unit.executed).push(unit.missing[todo[*n]].1[0]);
            }
        }
        let mut puts: Vec<Put> = Vec::new();
        let encode = |n: usize| {
            let (kept, bytes) = settled[same_as[n].unwrap_or(n)].as_ref()?;
            Some((*kept, kept.encode(), bytes.as_slice()))
        };
        let encoded: Vec<_> = (0..todo.len()).map(encode).collect();
        for (n, entry) in encoded.iter().enumerate() {
            let Some((Kept { cell, .. }, record, bytes)) = entry else {
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
            if let Some((kept, _, bytes)) = entry {
                self.set(unit, todo[n], *kept);
                if matches!(kept.cell.state, State::Broke | State::Failed) {
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
            (&unit.fetched, &self.fetched[unit.node]),
            (&unit.elsewhere, &self.elsewhere[unit.node]),
        ] {
            let rows = std::mem::take(&mut *lock(rows));
            if !rows.is_empty() {
                lock(of_node).push((unit.shard as u32, rows));
            }
        }
        let count = executed.len() as u64;
        if !executed.is_empty() {
            lock(&self.executed[unit.node]).push((unit.shard as u32, executed));
        }
        if shard.count(State::Broke) > 0 || !lock(&unit.for_now).is_empty() {
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
}
