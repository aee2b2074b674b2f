//! A skeleton: one path of each thread, as numbered events, with everything that reads-from and
//! coherence leave unchanged: base sets, base relations, the candidate writes of each read.
//!
//! Initial writes come first, then each thread's events in program order. An access that
//! partly overlaps another is split into cells, with one event for each cell.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::chain::Chain;
use super::domain::Domains;
use super::expr::{ExprId, Exprs, Var};
use super::path::{Kind, Path, PathEvent, Taint};
use super::program::{ObservedPlace, Program};
use litmake_base::rel::{Rel, Set};
use litmake_cat::plan::{BaseRel, BaseSet};
use litmake_litmus::scopes::Scopes;
use litmake_ops::{Port, Tags, Val, tag};

/// A cell: a range of a location that every access of the test covers as a whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub loc: u16,
    pub off: u32,
    pub size: u8,
}

/// The cells of a test.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    pub places: Vec<Place>,
    /// For each location, the numbers of its cells, ascending.
    by_loc: Vec<SmallVec<[u16; 4]>>,
    /// Set under models with events of their own.
    locks: Option<Box<LockPlaces>>,
}

/// The cells of locks.
#[derive(Clone, Debug, Default)]
struct LockPlaces {
    /// The cells in which locks are taken. They hold no values.
    taken: Vec<u16>,
    /// One of these that is also accessed in other ways.
    mixed: Option<u16>,
    /// The cells that final states show.
    observed: Vec<u16>,
}

impl Cells {
    /// Splits every location at the borders of overlapping accesses.
    pub fn new<'a>(program: &Program, accesses: impl Iterator<Item = &'a PathEvent>) -> Cells {
        type Ranges = SmallVec<[(u32, u32); 2]>;
        let mut ranges: Vec<Ranges> = vec![Ranges::new(); program.locations.len()];
        let mut note = |loc: u16, from: u32, to: u32| {
            let list = &mut ranges[usize::from(loc)];
            if !list.contains(&(from, to)) {
                list.push((from, to));
            }
        };
        let (mut takes, mut plain) = (Vec::new(), Vec::new());
        for e in accesses {
            note(e.loc, e.off, e.off + u32::from(e.size));
            if e.kind == Kind::LockWrite {
                takes.push((e.loc, e.off, e.size));
            } else if program.extra_events && !matches!(e.kind, Kind::LockRead | Kind::Touch) {
                plain.push((e.loc, e.off, e.size));
            }
        }
        let mut cells = Cells {
            places: Vec::with_capacity(ranges.len()),
            by_loc: vec![SmallVec::new(); ranges.len()],
            locks: None,
        };
        for (loc, list) in ranges.iter().enumerate() {
            let mut borders: SmallVec<[u32; 4]> = SmallVec::new();
            for (from, to) in list {
                borders.extend_from_slice(&[*from, *to]);
            }
            borders.sort_unstable();
            borders.dedup();
            for pair in borders.windows(2) {
                if list.iter().any(|(a, b)| *a <= pair[0] && pair[1] <= *b) {
                    // More of them are an error before any is used.
                    cells.by_loc[loc].push(cells.places.len() as u16);
                    let size = (pair[1] - pair[0]) as u8;
                    cells.places.push(Place { loc: loc as u16, off: pair[0], size });
                }
            }
        }
        if program.extra_events {
            let mut locks = LockPlaces::default();
            for (loc, off, size) in takes {
                locks.taken.extend(cells.covering(loc, off, size));
            }
            locks.mixed = plain
                .into_iter()
                .flat_map(|(l, o, s)| cells.covering(l, o, s))
                .find(|c| locks.taken.contains(c));
            for o in &program.observed {
                locks.observed.extend(cells.meeting(o.place).map(|(c, _)| c));
            }
            cells.locks = Some(Box::new(locks));
        }
        cells
    }

    /// The location of a lock that is also accessed in other ways, if there is one.
    pub fn mixed_lock(&self) -> Option<u16> {
        let cell = self.locks.as_ref()?.mixed?;
        Some(self.places[usize::from(cell)].loc)
    }

    /// How many events a path becomes: one for each cell of an access.
    pub fn events_of(&self, path: &Path) -> usize {
        let parts = |e: &PathEvent| match e.is_access() {
            true => self.covering(e.loc, e.off, e.size).count(),
            false => 1,
        };
        path.events.iter().map(parts).sum()
    }

    fn is_lock(&self, cell: u16) -> bool {
        self.locks.as_ref().is_some_and(|locks| locks.taken.contains(&cell))
    }

    fn is_observed(&self, cell: u16) -> bool {
        self.locks.as_ref().is_some_and(|locks| locks.observed.contains(&cell))
    }

    /// The cells that overlap an observed place, with their offset from its start, in bytes.
    fn meeting(&self, what: ObservedPlace) -> impl Iterator<Item = (u16, i64)> + '_ {
        let (cells, off, size) = match what {
            ObservedPlace::Mem { loc, off, size } => {
                (&self.by_loc[usize::from(loc)][..], off, size)
            }
            ObservedPlace::Reg { .. } => (&[][..], 0, 0),
        };
        cells.iter().filter_map(move |c| {
            let p = self.places[usize::from(*c)];
            let inside = p.off < off + u32::from(size) && off < p.off + u32::from(p.size);
            inside.then(|| (*c, i64::from(p.off) - i64::from(off)))
        })
    }

    pub fn covering(&self, loc: u16, off: u32, size: u8) -> impl Iterator<Item = u16> + '_ {
        self.by_loc[usize::from(loc)].iter().copied().filter(move |c| {
            let p = self.places[usize::from(*c)];
            off <= p.off && p.off + u32::from(p.size) <= off + u32::from(size)
        })
    }
}

#[derive(Clone, Debug)]
pub struct Event {
    pub kind: Kind,
    pub tags: Tags,
    /// `None` for an initial write.
    pub thread: Option<u16>,
    /// Index in its thread's path.
    pub index: u16,
    pub instance: u16,
    /// The cell of an event at a place.
    pub cell: Option<u16>,
    /// Whether final states show it.
    pub observed: bool,
    pub reg: u16,
    pub port: Port,
    pub value: Source,
    pub is_const: bool,
    pub line: u16,
}

/// Where a write's value comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    None,
    Init(Val),
    /// The bits `shift..shift+bits` of an expression.
    Part {
        value: ExprId,
        shift: u32,
        bits: u8,
        whole: bool,
    },
}

impl Event {
    pub fn reads(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::ReadWrite)
    }

    pub fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::ReadWrite)
    }

    pub fn is_memory(&self) -> bool {
        self.reads() || self.writes()
    }

    fn same(&self, other: &Event) -> bool {
        self.thread.is_some()
            && (self.thread, self.index, self.cell) == (other.thread, other.index, other.cell)
    }

    pub fn is_init(&self) -> bool {
        self.thread.is_none()
    }
}

/// One event that reads one cell.
#[derive(Clone, Debug)]
pub struct CellRead {
    pub event: u16,
    pub cell: u16,
    pub var: Var,
    /// The offset of the cell in the access, in bits.
    pub shift: u32,
    pub candidates: Vec<u16>,
}

pub struct Skeleton<'p> {
    pub paths: Vec<&'p Path>,
    pub events: Vec<Event>,
    pub reads: Vec<CellRead>,
    /// The writes of each cell, the initial one first.
    pub writes: Vec<Vec<u16>>,
    /// By thread and index of a path event, the range of events that it became.
    first: Vec<Vec<(u16, u16)>>,
    /// The events of each thread.
    threads: Vec<std::ops::Range<usize>>,
    scopes: Arc<Scopes>,
    /// Which events have different values, for models that ask.
    values: Option<Values>,
    /// Pairs of writes of a cell whose order in coherence may be taken for granted, transitively.
    pub ordered: Vec<(u16, u16)>,
    /// The cells whose read-modify-writes are atomic, as far as that was asked.
    pub chains: Vec<Chain>,
}

/// The pairs of events with different values, and those for which this is open.
struct Values {
    differ: Rel,
    may_differ: Rel,
}

impl<'p> Skeleton<'p> {
    /// With `early`, reads may return later writes of their own thread.
    pub fn new(
        program: &Program,
        cells: &Cells,
        paths: Vec<&'p Path>,
        early: bool,
    ) -> Skeleton<'p> {
        let most = cells.places.len() + paths.iter().map(|p| p.events.len()).sum::<usize>();
        let mut events = Vec::with_capacity(most);
        let room = || Vec::with_capacity(4);
        let mut writes: Vec<Vec<u16>> = (0..cells.places.len()).map(|_| room()).collect();
        let mut reads = Vec::with_capacity(most - cells.places.len());
        for (c, place) in cells.places.iter().enumerate() {
            let location = &program.locations[usize::from(place.loc)];
            writes[c].push(events.len() as u16);
            events.push(Event {
                kind: Kind::Write,
                tags: Tags::NONE,
                thread: None,
                index: 0,
                instance: 0,
                cell: Some(c as u16),
                observed: cells.is_observed(c as u16),
                reg: 0,
                port: Port::None,
                value: Source::Init(initial_value(location, place.off, place.size)),
                is_const: location.is_const,
                line: 0,
            });
        }
        let mut first = Vec::with_capacity(paths.len());
        let mut threads = Vec::with_capacity(paths.len());
        for (thread, path) in paths.iter().enumerate() {
            let mut ranges = Vec::with_capacity(path.events.len());
            let begin = events.len();
            for (index, e) in path.events.iter().enumerate() {
                let start = events.len() as u16;
                let mut event = Event {
                    kind: e.kind,
                    tags: e.tags,
                    thread: Some(thread as u16),
                    index: index as u16,
                    instance: e.instance,
                    cell: None,
                    observed: false,
                    reg: e.reg,
                    port: e.port,
                    value: Source::None,
                    is_const: false,
                    line: e.line,
                };
                if e.is_access() {
                    let location = &program.locations[usize::from(e.loc)];
                    event.is_const = location.is_const;
                    event.tags = event.tags | location.tags;
                    for cell in cells.covering(e.loc, e.off, e.size) {
                        let place = cells.places[usize::from(cell)];
                        let shift = (place.off - e.off) * 8;
                        let number = events.len() as u16;
                        let mut part = event.clone();
                        part.cell = Some(cell);
                        part.observed = cells.is_observed(cell);
                        if e.tags.meets(tag::C_UL) {
                            // A release of a lock writes a known value. The model says where it
                            // comes in coherence.
                            part.value = Source::Init(Val::ZERO);
                        }
                        if e.writes() {
                            writes[usize::from(cell)].push(number);
                            part.value = Source::Part {
                                value: e.value,
                                shift,
                                bits: place.size.saturating_mul(8),
                                whole: place.size == e.size,
                            };
                        }
                        if e.reads() {
                            reads.push(CellRead {
                                event: number,
                                cell,
                                var: Var { thread: thread as u16, access: e.access },
                                shift,
                                candidates: Vec::new(),
                            });
                        }
                        events.push(part);
                    }
                } else {
                    events.push(event);
                }
                ranges.push((start, events.len() as u16));
            }
            first.push(ranges);
            threads.push(begin..events.len());
        }
        Self::find_candidates(&events, &mut reads, &writes, cells.locks.is_some(), early);
        let scopes = program.scopes.clone();
        Skeleton {
            paths,
            events,
            reads,
            writes,
            first,
            threads,
            scopes,
            values: None,
            ordered: Vec::new(),
            chains: Vec::new(),
        }
    }

    /// Finds the writes that each read may return.
    fn find_candidates(
        events: &[Event],
        reads: &mut [CellRead],
        writes: &[Vec<u16>],
        locks: bool,
        early: bool,
    ) {
        for read in reads {
            let r = &events[usize::from(read.event)];
            // No read returns a write of its own instruction: herd has no such candidates under any
            // model. Writes of later instructions are left to the model.
            let later = |w: &u16| {
                let w = &events[usize::from(*w)];
                w.thread == r.thread && w.index >= r.index && (w.instance == r.instance || !early)
            };
            if r.kind == Kind::LockRead {
                // Under any model, a look at a lock sees only what happened before it.
                let before = |w: &Event| w.thread != r.thread || w.index < r.index;
                let fits = |w: &u16| {
                    let w = &events[usize::from(*w)];
                    source_of(r.tags, w, read.cell) && before(w)
                };
                let all = (0..events.len() as u16).filter(fits);
                read.candidates = all.collect();
                continue;
            }
            let writes = &writes[usize::from(read.cell)];
            read.candidates = writes.iter().copied().filter(|w| !later(w)).collect();
            if locks {
                read.candidates.retain(|w| events[usize::from(*w)].kind != Kind::LockWrite);
            }
        }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// For each read that returns the same value in every execution, that value.
    fn known_values(&self, exprs: &Exprs) -> FxHashMap<Var, Val> {
        let mut known = FxHashMap::default();
        loop {
            let before = known.len();
            for r in self.reads.iter().filter(|r| r.shift == 0) {
                let written = |w: &u16| self.written(exprs, &known, &self.events[usize::from(*w)]);
                let mut all = r.candidates.iter().map(written);
                if let Some(Some(first)) = all.next()
                    && all.all(|v| v == Some(first))
                {
                    known.insert(r.var, first);
                }
            }
            if known.len() == before {
                return known;
            }
        }
    }

    fn written(&self, exprs: &Exprs, known: &FxHashMap<Var, Val>, w: &Event) -> Option<Val> {
        match w.value {
            Source::Init(v) => Some(v),
            Source::Part { value, shift: 0, whole: true, .. } => {
                exprs.eval(value, &|v| known.get(&v).copied())
            }
            _ => None,
        }
    }

    /// The value that a memory event has in every execution, if there is one.
    fn value_of(&self, exprs: &Exprs, known: &FxHashMap<Var, Val>, e: &Event) -> Option<Val> {
        if e.writes() {
            return self.written(exprs, known, e);
        }
        let read = self.reads.iter().find(|r| self.events[usize::from(r.event)].same(e))?;
        known.get(&read.var).copied()
    }

    /// Finds out which events have different values, as far as the domains tell.
    pub fn compare_values(&mut self, exprs: &Exprs, domains: &Domains) {
        let n = self.len();
        let known = self.known_values(exprs);
        let of = |e: &Event| -> Option<Vec<Val>> {
            if let Some(v) = self.value_of(exprs, &known, e) {
                return Some(vec![v]);
            }
            let Some(thread) = e.thread.map(usize::from) else {
                return match e.value {
                    Source::Init(v) => Some(vec![v]),
                    _ => None,
                };
            };
            let path = self.paths[thread];
            let event = &path.events[usize::from(e.index)];
            match e.writes() {
                true => domains.possible(exprs, thread, path, event.value),
                false => domains.at(event),
            }
        };
        let reads =
            |e: &Event| self.reads.iter().find(|r| self.events[usize::from(r.event)].same(e));
        let copies = |r: &Event, w: &Event| match (reads(r), w.value) {
            (Some(r), Source::Part { value, .. }) => exprs.is_var(value, r.var),
            _ => false,
        };
        let memory = |e: &usize| self.events[*e].is_memory();
        let all: Vec<(usize, Option<Vec<Val>>)> =
            (0..n).filter(memory).map(|e| (e, of(&self.events[e]))).collect();
        let mut values = Values { differ: Rel::empty(n), may_differ: Rel::empty(n) };
        for (a, x) in &all {
            for (b, y) in &all {
                let (e, f) = (&self.events[*a], &self.events[*b]);
                if a == b || copies(e, f) || copies(f, e) {
                    continue;
                }
                let apart = match (x, y) {
                    (Some(x), Some(y)) if x.len() == 1 && x == y => continue,
                    (Some(x), Some(y)) => x.iter().all(|v| !y.contains(v)),
                    _ => false,
                };
                let to = if apart { &mut values.differ } else { &mut values.may_differ };
                to.insert(*a, *b);
            }
        }
        self.values = Some(values);
    }

    /// The events that a path event has become.
    pub fn events_of(&self, thread: usize, index: usize) -> std::ops::Range<usize> {
        let (a, b) = self.first[thread][index];
        usize::from(a)..usize::from(b)
    }

    /// A set that neither reads-from nor coherence changes.
    pub fn set(&self, base: BaseSet, out: &mut Set) {
        out.clear();
        match base {
            BaseSet::All => self.fill(out, |_| true),
            BaseSet::R => self.fill(out, Event::reads),
            BaseSet::W => self.fill(out, Event::writes),
            BaseSet::M => self.fill(out, Event::is_memory),
            BaseSet::Exp => self.fill(out, |e| !e.is_init() && e.is_memory()),
            BaseSet::F => self.fill(out, |e| e.kind == Kind::Fence),
            BaseSet::Branch => self.fill(out, |e| matches!(e.kind, Kind::Branch | Kind::Decision)),
            BaseSet::Bcc => self.fill(out, |e| e.kind == Kind::Branch),
            BaseSet::Pred => self.fill(out, |e| e.kind == Kind::Decision),
            BaseSet::Rmw => self.fill(out, |e| e.kind == Kind::ReadWrite),
            BaseSet::Iw => self.fill(out, Event::is_init),
            BaseSet::Rreg => self.fill(out, |e| e.kind == Kind::RegRead),
            BaseSet::Wreg => self.fill(out, |e| e.kind == Kind::RegWrite),
            BaseSet::AddrPort => {
                self.fill(out, |e| e.kind == Kind::RegRead && e.port == Port::Addr)
            }
            BaseSet::DataPort => {
                self.fill(out, |e| e.kind == Kind::RegRead && e.port == Port::Data)
            }
            BaseSet::Const => self.fill(out, |e| e.is_memory() && e.is_const),
            BaseSet::Tags(tags) => self.fill(out, |e| e.tags.meets(tags)),
            BaseSet::Observed => self.fill(out, |e| e.observed),
            // It depends on coherence, so the search computes it.
            BaseSet::Fw => {}
        }
    }

    /// The events of which something is true.
    fn fill(&self, out: &mut Set, inside: impl Fn(&Event) -> bool) {
        for (i, e) in self.events.iter().enumerate() {
            if inside(e) {
                out.insert(i);
            }
        }
    }

    /// A relation that neither reads-from nor coherence changes.
    pub fn rel(&self, base: BaseRel, out: &mut Rel) {
        out.clear();
        match base {
            BaseRel::Id => out.add_identity(),
            BaseRel::Po => {
                for (i, e) in self.events.iter().enumerate().filter(|(_, e)| !e.is_init()) {
                    let instance = self.instance_range(i);
                    out.insert_range(i, instance.end..self.thread_range(e).end);
                    if e.tags.meets(tag::C_PART) {
                        let part = |j: &usize| self.events[*j].tags.meets(tag::C_PART);
                        (i + 1..instance.end).filter(part).for_each(|j| out.insert(i, j));
                    }
                }
            }
            BaseRel::Loc => self.same_location(out),
            BaseRel::Int | BaseRel::SameThread => {
                for (i, e) in self.events.iter().enumerate().filter(|(_, e)| !e.is_init()) {
                    out.insert_range(i, self.thread_range(e));
                }
                if base == BaseRel::SameThread {
                    out.remove_identity();
                }
            }
            BaseRel::SameLevel(level) => {
                let threads = 0..self.threads.len();
                for (i, e) in self.events.iter().enumerate() {
                    let Some(own) = e.thread.map(usize::from) else { continue };
                    for other in threads.clone().filter(|t| self.scopes.share(level, own, *t)) {
                        out.insert_range(i, self.threads[other].clone());
                    }
                }
            }
            BaseRel::SameBarrier => self.meetings(out),
            BaseRel::Ext => {
                let inits = self.events.iter().take_while(|e| e.is_init()).count();
                for (i, e) in self.events.iter().enumerate() {
                    let from = if e.is_init() { inits } else { 0 };
                    out.insert_range(i, from..self.events.len());
                    if !e.is_init() {
                        out.remove_range(i, self.thread_range(e));
                    }
                }
            }
            BaseRel::SameInstance | BaseRel::SameInstr => {
                for (i, _) in self.events.iter().enumerate().filter(|(_, e)| !e.is_init()) {
                    out.insert_range(i, self.instance_range(i));
                }
            }
            BaseRel::SameAccess => self.same_access(out),
            BaseRel::Addr => self.dependency(out, |e| e.addr.data),
            BaseRel::Data => self.dependency(out, |e| if e.is_access() { e.data.data } else { 0 }),
            BaseRel::Ctrl => self.dependency(out, |e| e.ctrl.data),
            BaseRel::PickAddr => self.dependency(out, |e| pick(e.addr)),
            BaseRel::PickData => {
                self.dependency(out, |e| if e.is_access() { pick(e.data) } else { 0 });
            }
            BaseRel::PickCtrl => self.dependency(out, |e| pick(e.ctrl)),
            BaseRel::Amo => self.partners(out, false),
            BaseRel::LxSx => self.partners(out, true),
            BaseRel::IicoData => self.dependency(out, |e| e.iico_data),
            BaseRel::IicoCtrl => self.dependency(out, |e| e.iico_ctrl),
            BaseRel::IicoOrder => {
                for (i, e) in self.events.iter().enumerate().filter(|(_, e)| !e.is_init()) {
                    if e.tags.meets(tag::AFTER) {
                        let before = self.instance_range(i).start..i;
                        for j in before.filter(|j| self.events[*j].is_memory()) {
                            out.insert(j, i);
                        }
                    }
                }
            }
            BaseRel::RfReg => self.register_reads(out),
            BaseRel::Differ => self.values.iter().for_each(|v| out.copy_from(&v.differ)),
            BaseRel::MayDiffer => self.values.iter().for_each(|v| out.copy_from(&v.may_differ)),
            BaseRel::Rf | BaseRel::Co => {}
        }
    }

    /// The pairs of events that one access was split into.
    fn same_access(&self, out: &mut Rel) {
        out.add_identity();
        for (thread, path) in self.paths.iter().enumerate() {
            for (index, _) in path.events.iter().enumerate().filter(|(_, e)| e.is_access()) {
                let range = self.events_of(thread, index);
                for i in range.clone() {
                    out.insert_range(i, range.clone());
                }
            }
        }
    }

    /// The pairs of events at one location, or at one register of a thread.
    fn same_location(&self, out: &mut Rel) {
        let reg = |e: &Event| matches!(e.kind, Kind::RegRead | Kind::RegWrite);
        for (i, a) in self.events.iter().enumerate() {
            if a.cell.is_none() && !reg(a) {
                continue;
            }
            for (j, b) in self.events.iter().enumerate() {
                let same = match (a.cell, b.cell) {
                    (Some(x), Some(y)) => x == y,
                    (None, None) => reg(b) && a.thread == b.thread && a.reg == b.reg,
                    _ => false,
                };
                if same {
                    out.insert(i, j);
                }
            }
        }
    }

    /// Whether no model tells two threads apart that have the same events.
    pub fn is_exchangeable(&self) -> bool {
        self.values.is_none() && *self.scopes == Scopes::apart(self.threads.len())
    }

    /// The events of a thread, in program order.
    pub fn thread_events(&self, thread: usize) -> std::ops::Range<usize> {
        self.threads[thread].clone()
    }

    /// The events at which threads wait for one another: the first of each thread with equal
    /// annotations, the second of each, and so on.
    fn meetings(&self, out: &mut Rel) {
        let all: Vec<_> = (0..self.len()).map(|i| self.meeting(i)).collect();
        for (i, a) in all.iter().enumerate().filter(|(_, a)| a.is_some()) {
            for (j, b) in all.iter().enumerate() {
                if a == b && self.events[i].thread != self.events[j].thread {
                    out.insert(i, j);
                }
            }
        }
    }

    /// Where an event waits for other threads, its annotations and how many waits of its thread with the same
    /// ones came before: it meets events of which both are equal.
    pub fn meeting(&self, event: usize) -> Option<(Tags, usize)> {
        let waits = |e: &Event| e.kind == Kind::Fence && e.tags.meets(tag::CBAR);
        let e = &self.events[event];
        let before = &self.events[self.thread_range(e).start.min(event)..event];
        let same = before.iter().filter(|b| waits(b) && b.tags == e.tags);
        waits(e).then(|| (e.tags, same.count()))
    }

    fn thread_range(&self, e: &Event) -> std::ops::Range<usize> {
        e.thread.map_or(0..0, |t| self.thread_events(usize::from(t)))
    }

    /// The events of the same execution of an instruction.
    fn instance_range(&self, i: usize) -> std::ops::Range<usize> {
        let e = &self.events[i];
        let same = |j: &usize| {
            let o = &self.events[*j];
            o.thread == e.thread && o.instance == e.instance
        };
        let start = (0..i).rev().take_while(same).last().unwrap_or(i);
        let end = (i..self.events.len()).take_while(same).last().unwrap_or(i) + 1;
        start..end
    }

    /// Edges to each event from the path events in a mask.
    fn dependency(&self, out: &mut Rel, sources: impl Fn(&PathEvent) -> u128) {
        for (thread, path) in self.paths.iter().enumerate() {
            for (index, e) in path.events.iter().enumerate() {
                let mut mask = sources(e);
                while mask != 0 {
                    let source = mask.trailing_zeros() as usize;
                    mask &= mask - 1;
                    for a in self.events_of(thread, source) {
                        for b in self.events_of(thread, index) {
                            out.insert(a, b);
                        }
                    }
                }
            }
        }
    }

    fn partners(&self, out: &mut Rel, exclusive: bool) {
        for (thread, path) in self.paths.iter().enumerate() {
            for (index, e) in path.events.iter().enumerate() {
                let Some(read) = e.partner.filter(|_| e.exclusive == exclusive) else {
                    continue;
                };
                for a in self.events_of(thread, usize::from(read)) {
                    for b in self.events_of(thread, index) {
                        if self.events[a].cell == self.events[b].cell {
                            out.insert(a, b);
                        }
                    }
                }
            }
        }
    }

    fn register_reads(&self, out: &mut Rel) {
        for (i, read) in self.events.iter().enumerate() {
            if read.kind != Kind::RegRead {
                continue;
            }
            let writer = self.events[..i].iter().rposition(|w| {
                w.kind == Kind::RegWrite
                    && w.thread == read.thread
                    && w.reg == read.reg
                    && w.instance < read.instance
            });
            if let Some(w) = writer {
                out.insert(w, i);
            }
        }
    }

    /// The address that pieces of a place make up, if each piece comes from the same write of an
    /// address and lies where it belongs. `pieces` are writes, with the offset of each piece in
    /// the place, in bits.
    pub fn address(
        &self,
        mut pieces: impl Iterator<Item = (u16, i64)>,
        eval: impl Fn(ExprId) -> Option<Val>,
    ) -> Option<Val> {
        let (first, at) = pieces.next()?;
        let first = &self.events[usize::from(first)];
        let (found, expr) = match first.value {
            Source::Init(v) if at == 0 => (v, None),
            Source::Part { value, shift, .. } if i64::from(shift) == at => {
                (eval(value)?, Some(value))
            }
            _ => return None,
        };
        let one = pieces.all(|(w, at)| {
            let w = &self.events[usize::from(w)];
            match w.value {
                Source::Init(_) => expr.is_none(),
                Source::Part { value, shift, .. } => {
                    expr == Some(value)
                        && i64::from(shift) == at
                        && (w.thread, w.index) == (first.thread, first.index)
                }
                Source::None => false,
            }
        });
        (one && !matches!(found, Val::Int(_))).then_some(found)
    }

    /// Whether some write may store an address.
    pub fn holds_addresses(&self, exprs: &Exprs) -> bool {
        let mut any = false;
        let mut note = |v: Val| any |= !matches!(v, Val::Int(_));
        for e in &self.events {
            match e.value {
                Source::None => {}
                Source::Init(v) => note(v),
                Source::Part { value, .. } => exprs.each_const(value, &mut note),
            }
        }
        any
    }

    /// Whether the value of a write is known, or known not to exist, as for a part of an address.
    pub fn settled(&self, write: u16, eval: impl Fn(ExprId) -> Option<Val>) -> bool {
        match self.events[usize::from(write)].value {
            Source::Init(_) => true,
            Source::Part { value, .. } => eval(value).is_some(),
            Source::None => false,
        }
    }

    /// The cells from which the final value of an observed place is read, with the offset of each
    /// in the place, in bits (negative if the cell begins before the place). A lock keeps its
    /// initial value.
    pub fn observed_cells(cells: &Cells, what: ObservedPlace) -> Vec<(u16, i32)> {
        let written = cells.meeting(what).filter(|(c, _)| !cells.is_lock(*c));
        // They overlap, so the distance is less than the size of an access.
        written.map(|(c, distance)| (c, distance as i32 * 8)).collect()
    }
}

/// Whether a look at a lock can have this event as its source. A look that finds the lock taken
/// reads from the taking of it; one that finds it free, from a release or the initial state.
fn source_of(read: Tags, w: &Event, cell: u16) -> bool {
    let free = w.is_init() || w.tags.meets(tag::C_UL);
    let fits = if read.meets(tag::C_RU) { free } else { w.kind == Kind::LockWrite };
    w.cell == Some(cell) && fits
}

/// Puts the `bits` low bits of a cell's value into `sum` at `shift`.
pub fn lay(sum: u128, value: u128, bits: u8, shift: i32) -> u128 {
    let covered = litmake_ops::mask(bits);
    let at = shift.unsigned_abs();
    let moved =
        |v: u128| if shift < 0 { v.checked_shr(at) } else { v.checked_shl(at) }.unwrap_or(0);
    sum & !moved(covered) | moved(value & covered)
}

fn pick(t: Taint) -> u128 {
    t.pick & !t.data
}

/// The initial contents of part of a location. An address is read only as a whole.
pub fn initial_value(location: &super::program::Location, off: u32, size: u8) -> Val {
    let mut value = 0u128;
    for byte in 0..u32::from(size) {
        let at = off + byte;
        let Some((o, s, v)) =
            location.init.iter().rev().find(|(o, s, _)| *o <= at && at < *o + u32::from(*s))
        else {
            continue;
        };
        match v {
            Val::Int(v) => value |= (v >> ((at - o) * 8) & 0xff) << (byte * 8),
            other if *o == off && *s == size => return *other,
            // A read wider than the pointer, with nothing beside it, sees the pointer.
            other if *o == off && byte == 0 => return *other,
            _ => {}
        }
    }
    Val::Int(value)
}
