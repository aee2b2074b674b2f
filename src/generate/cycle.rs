//! Turns a sequence of edges into the events of a test: merges annotations, finds the normal rotation, and
//! assigns locations, values and threads.
//!
//! This follows the method of Alglave and Maranget's diy, so that a cycle means the same test in both. It
//! knows no instruction. All work is done in buffers that are used again, since a family has millions of
//! cycles.

use std::cmp::Ordering;

use super::dialect::Dialect;
use super::edge::{Atom, Com, Dir, Edge, Ie, Kind, Order, Rmw, Sd, Size, merge, settled};

/// Why a sequence of edges makes no test.
pub type Refused = &'static str;

const ONE_WAY: Refused =
    "only one edge is external: a cycle that leaves a thread needs another to return";

/// The most locations of a test: the number of names for them.
pub const MAX_LOCS: usize = 26;
/// The names of locations, in the order in which a cycle meets them.
pub const LOCS: [&str; MAX_LOCS] = [
    "x", "y", "z", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
    "q", "r", "s", "t", "u", "v", "w",
];

/// The most separate fences directly before one event.
pub const MAX_INSERTS: usize = 3;

/// One event, with the edge that starts from it.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The edge that starts from it.
    pub(crate) edge: Edge,
    /// Whether it reads or writes.
    pub(crate) dir: Dir,
    /// The annotation that it bears.
    pub(crate) atom: Option<Atom>,
    /// Its location, as an index into [`LOCS`].
    pub(crate) loc: u8,
    /// The value that is read, or the operand that is written.
    pub(crate) value: i32,
    /// The content of the location after a write.
    pub(crate) cell: i32,
    /// The read or the write of a read-modify-write.
    pub(crate) rmw: bool,
    /// The content of the location before a write.
    pub(crate) before: i32,
    /// Whether the value that is read helps to tell the cycle.
    pub(crate) telling: bool,
    /// The separate fences directly before it, as indices into those of the dialect.
    pub(crate) inserts: [u8; MAX_INSERTS],
    /// How many of `inserts` there are.
    pub(crate) n_inserts: u8,
}

/// The writes to one location, in coherence order.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// The content of the location after each write.
    pub(crate) cells: Vec<i32>,
    /// Whether the annotation of an access makes the final value worth observing.
    pub(crate) worth: bool,
    /// The final value of the second element, if accesses are to two elements.
    pub(crate) pair: Option<i32>,
}

/// A position in a cycle of `n`, less than once around it: a division costs more than the rest.
fn around(at: usize, n: usize) -> usize {
    if at >= n { at - n } else { at }
}

/// The bounds on a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The most threads; with `exact_threads` also the least.
    pub(crate) threads: usize,
    /// Whether it has exactly so many threads.
    pub(crate) exact_threads: bool,
    /// The most events and separate fences in one thread.
    pub(crate) per_thread: usize,
    /// Threads may go against coherence from their first to their last event.
    pub(crate) allow_back: bool,
    /// All events may be at one location.
    pub(crate) one_location: bool,
}

impl Shape {
    /// No bounds but those of the dialects.
    pub const ANY: Shape = Shape {
        threads: 16,
        exact_threads: false,
        per_thread: 16,
        allow_back: true,
        one_location: true,
    };
}

/// Buffers, and the result of the last cycle that went through them.
#[derive(Default)]
pub struct Workshop {
    /// Edges after merging, in normal rotation.
    pub edges: Vec<Edge>,
    /// Events from the first of the first thread on.
    pub(crate) events: Vec<Event>,
    /// Where each thread begins in `events`; the last entry is their number.
    pub(crate) threads: Vec<usize>,
    /// The writes to each location, by its index into [`LOCS`].
    pub(crate) writes: Vec<Writes>,
    /// How many locations there are.
    pub(crate) locs: usize,
    work: Vec<Event>,
    starts: Vec<usize>,
}

impl Workshop {
    /// The events of one thread, in program order.
    pub(crate) fn thread(&self, i: usize) -> &[Event] {
        &self.events[self.threads[i]..self.threads[i + 1]]
    }

    /// How many threads there are.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.len().saturating_sub(1)
    }

    /// The event after this one in the cycle.
    pub fn next(&self, at: usize) -> &Event {
        &self.events[around(at + 1, self.events.len())]
    }

    /// Merges annotations at each event and drops those that stood alone.
    pub fn resolve(&mut self, raw: &[Edge]) -> Result<(), Refused> {
        let edges = &mut self.edges;
        edges.clear();
        // The annotation that stands before the first real edge belongs to the last boundary.
        let mut leading: Option<Atom> = None;
        let mut pending: Option<Atom> = None;
        let mut last: Option<usize> = None;
        let mut first: Option<usize> = None;
        const CLASH: Refused = "annotations that meet at one event differ";
        for edge in raw {
            match edge.kind {
                Kind::Id => match last {
                    None => leading = merge(leading, edge.a1).ok_or(CLASH)?,
                    Some(_) => pending = merge(pending, edge.a1).ok_or(CLASH)?,
                },
                Kind::Insert(_) => edges.push(*edge),
                _ => {
                    let at = edges.len();
                    edges.push(*edge);
                    match last {
                        None => first = Some(at),
                        Some(before) => boundary(edges, before, pending, at)?,
                    }
                    pending = None;
                    last = Some(at);
                }
            }
        }
        let (Some(first), Some(last)) = (first, last) else {
            return Err("there is no access");
        };
        if first == last {
            return Err("a cycle has at least two edges");
        }
        let around = merge(pending, leading).ok_or(CLASH)?;
        boundary(edges, last, around, first)?;
        all_sized(edges)
    }

    /// Rotates the merged edges so that equal cycles are equal sequences.
    pub fn normalise(&mut self) -> Result<(), Refused> {
        let n = self.edges.len();
        let ext = self.edges.iter().filter(|e| e.is_ext()).count();
        if ext == 0 {
            return self.normalise_one_thread();
        }
        if ext == 1 {
            return Err(ONE_WAY);
        }
        self.starts.clear();
        // Threads begin after each external edge, in order from the first edge.
        let first = match self.edges.iter().rposition(|e| e.is_real()) {
            Some(p) if self.edges[p].is_ext() => around(p + 1, n),
            _ => self.edges.iter().position(|e| e.is_ext()).map_or(0, |p| around(p + 1, n)),
        };
        let mut at = first;
        loop {
            // An event begins a thread, not the fences before it.
            let mut start = at;
            while !self.edges[start].is_real() {
                start = around(start + 1, n);
            }
            self.starts.push(start);
            while !self.edges[at].is_ext() {
                at = around(at + 1, n);
            }
            at = around(at + 1, n);
            if at == first {
                break;
            }
        }
        let threads = self.starts.len();
        let mut best = 0;
        for other in 1..threads {
            if self.compare_rotations(best, other) != Ordering::Less {
                best = other;
            }
        }
        let start = self.starts[best];
        if start > 0 {
            self.edges.rotate_left(start);
        }
        Ok(())
    }

    /// A cycle in one thread begins behind its first communication.
    fn normalise_one_thread(&mut self) -> Result<(), Refused> {
        let n = self.edges.len();
        let com = self.edges.iter().position(|e| e.is_com()).ok_or("there is no communication")?;
        let start = (0..n).map(|i| around(com + 1 + i, n)).find(|i| self.edges[*i].is_real());
        self.edges.rotate_left(start.unwrap_or(0));
        Ok(())
    }

    /// First and last direction of a thread, as the place in the order of thread shapes.
    fn points(&self, thread: usize) -> u8 {
        let n = self.edges.len();
        let start = self.starts[thread];
        let first = self.edges[start].source().unwrap_or(Dir::W);
        let mut at = start;
        while !self.edges[at].is_ext() {
            at = around(at + 1, n);
        }
        let last = self.edges[at].source().unwrap_or(Dir::W);
        match (at == start, first, last) {
            (true, Dir::W, _) => 0,
            (false, Dir::W, Dir::W) => 1,
            (false, Dir::R, Dir::R) => 2,
            (false, Dir::R, Dir::W) => 3,
            (false, Dir::W, Dir::R) => 4,
            (true, Dir::R, _) => 5,
        }
    }

    fn compare_rotations(&self, a: usize, b: usize) -> Ordering {
        let threads = self.starts.len();
        for i in 0..threads {
            let by_points =
                self.points(around(a + i, threads)).cmp(&self.points(around(b + i, threads)));
            if by_points != Ordering::Equal {
                return by_points;
            }
        }
        let n = self.edges.len();
        let (a, b) = (self.starts[a], self.starts[b]);
        let internal =
            |s: usize| (0..n).take_while(|i| !self.edges[around(s + i, n)].is_ext()).count();
        internal(a).cmp(&internal(b)).then_with(|| {
            (0..n)
                .map(|i| compare_edges(self.edges[around(a + i, n)], self.edges[around(b + i, n)]))
                .find(|o| *o != Ordering::Equal)
                .unwrap_or(Ordering::Equal)
        })
    }

    /// Makes events out of the merged edges.
    pub fn build(&mut self, dialect: &Dialect, shape: &Shape) -> Result<(), Refused> {
        self.collect(dialect)?;
        self.locate(dialect, shape)?;
        self.split(shape)
    }

    /// The real edges, with fences attached to the event after them.
    fn collect(&mut self, dialect: &Dialect) -> Result<(), Refused> {
        self.work.clear();
        let mut inserts = [0u8; MAX_INSERTS];
        let mut count = 0u8;
        // From a real edge on, so that fences find their event.
        let n = self.edges.len();
        let from = self.edges.iter().position(|e| e.is_real()).ok_or("there is no access")?;
        let mut before = self.edges[(0..n)
            .map(|i| around(from + n - 1 - i, n))
            .find(|i| self.edges[*i].is_real())
            .unwrap_or(from)];
        for i in 0..n {
            let edge = self.edges[around(from + i, n)];
            if let Kind::Insert(f) = edge.kind {
                if matches!(before.kind, Kind::Com(Com::Rf | Com::Fr, Ie::Ext)) {
                    return Err("a separate fence stands directly behind an external edge");
                }
                let slot = inserts.get_mut(usize::from(count)).ok_or("too many fences at once")?;
                *slot = f;
                count += 1;
                continue;
            }
            let (Some(dir), Some(target)) = (edge.source(), before.target()) else {
                return Err("there is no access");
            };
            if dir != target {
                return Err("one edge ends in a read where the next begins with a write, or the \
                            other way round");
            }
            let rmw = if dir == Dir::R { edge.is_rmw() } else { before.is_rmw() };
            if let Kind::Rmw(kind) = edge.kind
                && !dialect.applies_rmw(kind, edge.a1, edge.a2)
            {
                return Err("these annotations do not fit a read-modify-write");
            }
            if let (Some(a), false) = (edge.a1, rmw)
                && !dialect.applies(a, dir)
            {
                return Err("this annotation does not fit the access");
            }
            self.work.push(Event {
                edge,
                dir,
                atom: edge.a1,
                loc: 0,
                value: 0,
                cell: 0,
                rmw,
                before: 0,
                telling: false,
                inserts,
                n_inserts: count,
            });
            inserts = [0; MAX_INSERTS];
            count = 0;
            before = edge;
        }
        // Fences behind the last real edge belong to the first event.
        if count > 0 {
            let first = self.work.first_mut().ok_or("there is no access")?;
            if matches!(before.kind, Kind::Com(Com::Rf | Com::Fr, Ie::Ext)) {
                return Err("a separate fence stands directly behind an external edge");
            }
            first.inserts = inserts;
            first.n_inserts = count;
        }
        Ok(())
    }

    /// Locations, values written and values read.
    fn locate(&mut self, dialect: &Dialect, shape: &Shape) -> Result<(), Refused> {
        let n = self.work.len();
        let start = self.number_locations(shape)?;
        for writes in &mut self.writes {
            writes.cells.clear();
            writes.worth = false;
            writes.pair = None;
        }
        if self.writes.len() < self.locs {
            self.writes.resize_with(self.locs, Writes::default);
        }
        self.writes.truncate(self.locs);
        self.count(start)?;
        let work = &mut self.work;
        // A read tells something where communication or another access of its thread to the
        // same location is beside it, and the location is written at all.
        for i in 0..n {
            let next = &work[around(i + 1, n)];
            if let (Some(a), Some(b)) = (size(work[i].atom), size(next.atom))
                && work[i].edge.sd() == Sd::Same
                && !a.overlaps(b)
            {
                return Err("two accesses to one location have no byte in common");
            }
            let before = work[around(i + n - 1, n)].edge;
            let event = &mut work[i];
            let written = !self.writes[usize::from(event.loc)].cells.is_empty();
            event.telling = written && (valid(dialect, before) || valid(dialect, event.edge));
        }
        // Threads are counted from here.
        work.rotate_left(start);
        Ok(())
    }

    /// Numbers the locations; returns the event at which they start.
    fn number_locations(&mut self, shape: &Shape) -> Result<usize, Refused> {
        let work = &mut self.work;
        let n = work.len();
        let back = |from: usize, i: usize| around(from + n - i, n);
        let ext = (0..n).map(|i| back(0, i)).find(|i| work[*i].edge.is_ext());
        let com = || {
            let internal = |i: &usize| matches!(work[*i].edge.kind, Kind::Com(_, Ie::Int));
            (0..n).map(|i| back(0, i)).find(internal)
        };
        let change = ext.or_else(com).and_then(|from| {
            (0..n).map(|i| back(from, i)).find(|i| work[*i].edge.sd() == Sd::Diff)
        });
        match change {
            Some(from) => {
                let start = (0..n)
                    .map(|i| around(from + i, n))
                    .find(|i| work[*i].edge.sd() == Sd::Same)
                    .ok_or(
                        "every edge changes the location, so that no location is accessed twice",
                    )?;
                let mut loc = 0usize;
                for i in 0..n {
                    let at = around(start + i, n);
                    let before = work[around(at + n - 1, n)].edge;
                    if i > 0 && before.sd() == Sd::Diff {
                        loc += 1;
                    }
                    if loc >= MAX_LOCS {
                        return Err("there are more locations than names for them");
                    }
                    work[at].loc = loc as u8;
                }
                if loc == 0 {
                    return Err(
                        "only one edge changes the location, so the cycle does not return to the first one",
                    );
                }
                self.locs = loc + 1;
                Ok(start)
            }
            None if !shape.one_location => Err("all accesses are at one location"),
            None => {
                self.locs = 1;
                one_location_start(work)
                    .ok_or("there are only communication edges, which alone order no values")
            }
        }
    }

    /// Counts writes up along each location; reads see the last write.
    fn count(&mut self, start: usize) -> Result<(), Refused> {
        let work = &mut self.work;
        let n = work.len();
        let mut content = 0;
        let mut second = 0;
        let mut counter = 0;
        let mut stored: u32 = 0;
        for i in 0..n {
            let at = around(start + i, n);
            let before = work[around(at + n - 1, n)];
            if i > 0 && before.loc != work[at].loc {
                (content, second, counter, stored) = (0, 0, 0, 0);
            }
            let event = &mut work[at];
            let writes = &mut self.writes[usize::from(event.loc)];
            writes.worth |= matches!(event.atom, Some(Atom::Loop(..)));
            let pair = matches!(event.atom, Some(Atom::Pair(_)));
            let bytes = size(event.atom);
            match event.dir {
                Dir::W if pair => {
                    // The two elements get two values, and the event is known by the second.
                    event.before = content;
                    counter += 2;
                    (content, second) = (counter - 1, counter);
                    (event.value, event.cell) = (counter, content);
                    writes.cells.push(content);
                }
                Dir::W if bytes.is_some() => {
                    let size = bytes.unwrap_or(Size::WORD);
                    counter += 1;
                    if counter > Size::MOST {
                        return Err("there are more writes to a byte than it has values");
                    }
                    event.before = size.of(content);
                    event.value = size.spread(counter);
                    content = size.put(content, event.value);
                    event.cell = content;
                    writes.cells.push(content);
                }
                Dir::W => {
                    event.before = content;
                    counter += 1;
                    event.value = counter;
                    content = counter;
                    if let Kind::Rmw(rmw) = before.edge.kind {
                        content = rmw.compute(before.value, counter);
                        if let Rmw::Store(op) = rmw {
                            let bit = 1 << op as u32;
                            if stored & bit != 0 {
                                return Err(
                                    "two stores of the same operation commute, so that nothing tells their order",
                                );
                            }
                            stored |= bit;
                        }
                    }
                    event.cell = content;
                    writes.cells.push(content);
                }
                Dir::R if pair => event.value = content + second,
                Dir::R => event.value = bytes.map_or(content, |s| s.of(content)),
            }
            if pair || writes.pair.is_some() {
                writes.pair = Some(second);
            }
        }
        Ok(())
    }

    /// Cuts the cycle at external edges.
    fn split(&mut self, shape: &Shape) -> Result<(), Refused> {
        let work = &self.work;
        let n = work.len();
        let ext = work.iter().filter(|e| e.edge.is_ext()).count();
        if ext == 1 {
            return Err(ONE_WAY);
        }
        let count = ext.max(1);
        if count > shape.threads || shape.exact_threads && count != shape.threads {
            return Err("there are too many or too few threads");
        }
        let first = if ext == 0 {
            let com =
                work.iter().position(|e| e.edge.is_com()).ok_or("there is no communication")?;
            around(com + 1, n)
        } else if work[n - 1].edge.is_ext() {
            0
        } else {
            let ext = work.iter().position(|e| e.edge.is_ext()).unwrap_or(0);
            (0..n).map(|i| around(ext + i, n)).find(|i| !work[*i].edge.is_ext()).unwrap_or(ext)
        };
        self.events.clear();
        self.events.extend_from_slice(&work[first..]);
        self.events.extend_from_slice(&work[..first]);
        self.threads.clear();
        self.threads.push(0);
        for (i, event) in self.events.iter().enumerate() {
            if event.edge.is_ext() {
                self.threads.push(i + 1);
            }
        }
        if ext == 0 {
            self.threads.push(n);
        }
        if self.threads.last() != Some(&n) {
            return Err("a thread does not end");
        }
        for i in 0..count {
            let thread = &self.events[self.threads[i]..self.threads[i + 1]];
            let size: usize = thread.iter().map(|e| 1 + usize::from(e.n_inserts)).sum();
            if size > shape.per_thread {
                return Err("a thread is too long");
            }
            if let ([a, .., b], false) = (thread, shape.allow_back)
                && a.loc == b.loc
                && b.value < a.value
            {
                return Err("a thread goes against coherence from its first to its last access");
            }
        }
        Ok(())
    }
}

/// If one access has a size, gives every other the size of a word.
fn all_sized(edges: &mut [Edge]) -> Result<(), Refused> {
    let any = edges.iter().any(|e| size(e.a1).is_some() || size(e.a2).is_some());
    if !any {
        return Ok(());
    }
    let whole = |atom| match atom {
        None => Ok(Some(Atom::Sized(Order::Plain, Size::WORD))),
        Some(Atom::Order(order)) => Ok(Some(Atom::Sized(order, Size::WORD))),
        Some(Atom::Sized(..)) => Ok(atom),
        Some(_) => Err("the annotation of an access fixes its size, and other accesses have sizes"),
    };
    for edge in edges.iter_mut().filter(|e| e.is_real()) {
        (edge.a1, edge.a2) = (whole(edge.a1)?, whole(edge.a2)?);
    }
    Ok(())
}

/// The bytes that an access is restricted to.
pub fn size(atom: Option<Atom>) -> Option<Size> {
    match atom {
        Some(Atom::Sized(_, size)) => Some(size),
        _ => None,
    }
}

/// The event at which the values of a cycle on one location begin.
fn one_location_start(work: &[Event]) -> Option<usize> {
    let n = work.len();
    let before = |i: usize| work[around(i + n - 1, n)].edge;
    let com_or_rmw = |e: Edge| e.is_com() || e.is_rmw();
    let tests: [&dyn Fn(usize) -> bool; 4] = [
        &|i| !com_or_rmw(before(i)) && com_or_rmw(work[i].edge) && work[i].dir == Dir::R,
        &|i| !com_or_rmw(before(i)) && com_or_rmw(work[i].edge),
        &|i| !before(i).is_com() && work[i].edge.is_com() && work[i].dir == Dir::R,
        &|i| !before(i).is_com() && work[i].edge.is_com(),
    ];
    tests.iter().find_map(|t| (0..n).find(|i| t(*i)))
}

/// Whether the value of a read beside an edge shows the edge.
fn valid(dialect: &Dialect, edge: Edge) -> bool {
    match edge.kind {
        Kind::Com(..) => true,
        Kind::Rmw(rmw) => dialect.shows(rmw),
        Kind::Po(sd, ..) | Kind::Fenced(_, sd, ..) | Kind::Dp(_, sd, _) => sd == Sd::Same,
        Kind::Insert(_) | Kind::Id => false,
    }
}

fn boundary(
    edges: &mut [Edge],
    before: usize,
    at: Option<Atom>,
    after: usize,
) -> Result<(), Refused> {
    const CLASH: Refused = "annotations that meet at one event differ";
    let all = merge(edges[before].a2, at).and_then(|a| merge(a, edges[after].a1)).ok_or(CLASH)?;
    let all = settled(all);
    edges[before].a2 = all;
    edges[after].a1 = all;
    Ok(())
}

/// Fences before dependencies before program order; others by their kind.
fn compare_edges(a: Edge, b: Edge) -> Ordering {
    let class = |e: Edge| match e.kind {
        Kind::Fenced(..) => 1,
        Kind::Dp(..) => 2,
        Kind::Po(..) | Kind::Com(Com::Rf, _) => 3,
        _ => 0,
    };
    match (class(a), class(b)) {
        (0, _) | (_, 0) => a.cmp(&b),
        (x, y) if x != y => x.cmp(&y),
        _ => a.cmp(&b),
    }
}
