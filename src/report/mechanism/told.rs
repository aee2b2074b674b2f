//! Tells the mechanism of a bug from two executions with one outcome: the one that the source forbids,
//! and the one that the code shows.
//!
//! It does not know how executions are found.

use std::collections::BTreeSet;

use super::{Change, FAILING, FENCE, Mechanism, PLAIN, WIDE};
use crate::evidence::{Event, Evidence, Execution, Failed};
use litmake_litmus::scopes::Level;

/// What the executions of a source do not say of its accesses.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// The locations of 128 bits.
    pub wide: BTreeSet<String>,
    /// The locations that each access reads or writes as a whole: no structures, no arrays.
    pub scalars: BTreeSet<String>,
    /// The scopes of a GPU that do not have all threads of the code.
    pub narrow: Vec<Level>,
    /// An access of the source, by what makes it special, for results that tell nothing else:
    /// `128-bit access`, `read-modify-write`.
    pub special: String,
}

/// An access or fence of an execution.
struct Op<'a> {
    event: &'a Event,
    tags: Vec<&'a str>,
    place: &'a str,
    read: Option<&'a str>,
    written: Option<&'a str>,
    is_wide: bool,
}

impl<'a> Op<'a> {
    /// Reads the text of an event: `R(ACQ,A)[x]=1`, `RW(RLX,A)[y]=0->1`, `F(REL)`.
    fn of(event: &'a Event) -> Option<Op<'a>> {
        let is_wide = false;
        let text = event.event.as_str();
        let (head, rest) = text.split_once('[').unwrap_or((text, ""));
        let (kind, tags) = head.split_once('(').unwrap_or((head, ""));
        let tags = tags.trim_end_matches(')').split([',', ' ']).collect();
        if kind == "F" {
            return Some(Op { event, tags, place: "", read: None, written: None, is_wide });
        }
        let (reads, writes) = (kind.contains('R'), kind.contains('W'));
        let (place, value) = rest.split_once("]=").filter(|_| reads || writes)?;
        let (old, new) = value.split_once("->").unwrap_or((value, value));
        let (read, written) = (reads.then_some(old), writes.then_some(new));
        Some(Op { event, tags, place, read, written, is_wide })
    }

    /// The location without an offset.
    fn object(&self) -> &'a str {
        self.place.split_once('+').map_or(self.place, |(object, _)| object)
    }

    fn is_fence(&self) -> bool {
        self.read.is_none() && self.written.is_none()
    }

    fn is_update(&self) -> bool {
        self.read.is_some() && self.written.is_some()
    }

    fn has(&self, tags: &[&str]) -> bool {
        self.tags.iter().any(|tag| tags.contains(tag))
    }

    fn acquires(&self) -> bool {
        self.written.is_none_or(|_| self.read.is_some())
            && self.has(&["ACQ", "ACQ_REL", "SC", "CON"])
    }

    fn releases(&self) -> bool {
        self.read.is_none_or(|_| self.written.is_some()) && self.has(&["REL", "ACQ_REL", "SC"])
    }

    /// Whether it is a plain access of SPIR-V, which marks atomic ones.
    fn is_plain(&self) -> bool {
        self.has(&["NONPRIV"]) && !self.has(&["A"])
    }

    /// The scope that it names.
    fn scope(&self) -> Option<Level> {
        self.tags.iter().find_map(|tag| Level::named(&tag.to_lowercase()))
    }

    /// The operation in words: `plain load`, `failing acquire compare-exchange`.
    fn words(&self) -> String {
        let order = [
            ("NA", PLAIN),
            ("RLX", "relaxed"),
            ("CON", "consume"),
            ("ACQ_REL", "acquire-release"),
            ("ACQ", "acquire"),
            ("REL", "release"),
            ("SC", "seq_cst"),
        ];
        let order = order.iter().find(|(tag, _)| self.has(&[tag])).map(|(_, word)| *word);
        let compares = self.event.code.contains("compare_exchange");
        let kind = match (self.read, self.written) {
            (None, None) => FENCE,
            (Some(_), _) if compares => "compare-exchange",
            (Some(_), Some(_)) => "read-modify-write",
            (Some(_), None) => "load",
            (None, Some(_)) => "store",
        };
        let failing = (compares && self.written.is_none()).then_some(FAILING);
        let wide = self.is_wide.then_some(WIDE);
        failing.into_iter().chain(order).chain(wide).chain([kind]).collect::<Vec<_>>().join(" ")
    }

    /// How likely it is that a compiler forgets to order it, compared with other seq_cst accesses.
    fn oddity(&self) -> u8 {
        match self.written {
            _ if self.is_wide => 3,
            None if self.event.code.contains("compare_exchange") => 2,
            _ => u8::from(self.is_update()),
        }
    }
}

/// Where the code has an access of the source.
#[derive(Clone, Copy, Default)]
struct Found {
    read: Option<Position>,
    written: Option<Position>,
}

/// The place of half an access in its thread's code.
#[derive(Clone, Copy)]
enum Position {
    /// At this number.
    At(usize),
    /// With another value, so that it may be any of several.
    Somewhere,
}

impl Found {
    fn places(&self) -> impl Iterator<Item = usize> {
        [self.read, self.written].into_iter().flatten().filter_map(|place| match place {
            Position::At(n) => Some(n),
            Position::Somewhere => None,
        })
    }

    /// Whether the code has all of it behind a position.
    fn is_behind(&self, position: usize) -> bool {
        self.places().min().is_some_and(|own| own > position)
    }

    /// Whether the code has all of it before a position.
    fn is_before(&self, position: usize) -> bool {
        self.places().max().is_some_and(|own| own < position)
    }

    /// Whether the code has all of it after another access.
    fn is_after(&self, other: &Found) -> bool {
        match (self.places().min(), other.places().max()) {
            (Some(own), Some(other)) => own > other,
            _ => false,
        }
    }
}

/// The value that one half of an access reads or writes.
type Half = for<'a, 'b> fn(&'b Op<'a>) -> Option<&'a str>;

/// Finds one half of each access of a thread in its code: those with the same value first.
fn find(source: &[Op], code: &[Op], half: Half) -> Vec<Option<Position>> {
    let mut out = vec![None; source.len()];
    let mut used = vec![false; code.len()];
    for is_same in [true, false] {
        for (op, place) in source.iter().zip(&mut out).filter(|(_, place)| place.is_none()) {
            let Some(value) = half(op) else { continue };
            let fits =
                |c: &Op| c.place == op.place && half(c).is_some_and(|own| !is_same || own == value);
            if let Some(at) = (0..code.len()).find(|at| !used[*at] && fits(&code[*at])) {
                used[at] = true;
                *place = Some(if is_same { Position::At(at) } else { Position::Somewhere });
            }
        }
    }
    out
}

/// The mechanisms that two executions of one outcome can have, with their threads. Where the code of
/// a thread lost or moved something, threads whose code has all in its place are not at fault.
pub fn told(evidence: &Evidence, objects: &Objects) -> Vec<(Option<u16>, Mechanism)> {
    let Some(code) = &evidence.target else { return Vec::new() };
    let Some(source) = &evidence.source else {
        let value = || Mechanism { moved: objects.special.clone(), ..Mechanism::default() };
        return vec![(None, split(code, objects).unwrap_or_else(value))];
    };
    let all = source.fails.iter().map(|failed| of_failed(source, failed, code, objects));
    let all: Vec<Vec<_>> = all.filter(|list| !list.is_empty()).collect();
    // Of the checks that fail, the first by whose cycle the code lost or moved something.
    let lost = |list: &Vec<(_, Mechanism)>| -> Vec<_> {
        list.iter().filter(|(_, m)| !m.is_in_place()).cloned().collect()
    };
    let mut shown = all.iter().map(lost).filter(|list| !list.is_empty());
    shown.next().or_else(|| all.first().cloned()).unwrap_or_default()
}

/// The mechanism of code in which one access reads parts that different accesses wrote: the access
/// that is made of several instructions.
fn split(code: &Execution, objects: &Objects) -> Option<Mechanism> {
    let ops: Vec<Op> = code.events.iter().filter_map(Op::of).collect();
    // The instruction that wrote what is read; none for an initial value.
    let writer = |read: &Op| {
        let (from, _) = code.rf.iter().find(|(_, to)| *to == read.event.id)?;
        let event = code.events.iter().find(|e| e.id == *from)?;
        Some(event.thread.map(|thread| (thread, event.line)))
    };
    let reads = |op: &&Op| op.read.is_some() && objects.scalars.contains(op.object());
    let (one, other) = ops.iter().filter(reads).find_map(|one| {
        let is_torn = |other: &&Op| {
            one.event.thread == other.event.thread
                && one.object() == other.object()
                && one.place != other.place
                && writer(one).zip(writer(other)).is_some_and(|(a, b)| a != b)
        };
        Some((one, ops.iter().filter(reads).find(is_torn)?))
    })?;
    // A load of one instruction is whole, so the store is not.
    let access = if one.event.line == other.event.line { "atomic store" } else { "atomic load" };
    Some(Mechanism { change: Change::Split, moved: access.to_string(), ..Mechanism::default() })
}

/// The mechanisms for one failed check: one for each way of its cycle through a thread.
fn of_failed(
    source: &Execution,
    failed: &Failed,
    code: &Execution,
    objects: &Objects,
) -> Vec<(Option<u16>, Mechanism)> {
    let one = |way: (u16, usize, usize)| {
        let (mut ops, first, last) = on_way(source, way)?;
        ops.iter_mut().for_each(|op| op.is_wide = objects.wide.contains(op.object()));
        let made = operations(code, way.0);
        let reads = find(&ops, &made, |op| op.read);
        let writes = find(&ops, &made, |op| op.written);
        let found = reads.into_iter().zip(writes).map(|(read, written)| Found { read, written });
        let found: Vec<Found> = found.collect();
        let own = (&ops[first..=last], &found[first..=last]);
        // Only a fence of the source makes one where all accesses are weak.
        let is_weak = |op: &Op| op.is_fence() || op.has(&["NA", "RLX"]);
        let moved = ops.iter().all(is_weak).then(|| across(own.0, own.1, &made)).flatten();
        let lost = moved.or_else(|| between(own.0, own.1));
        let mechanism = match lost {
            Some(lost) if !lost.is_in_place() => lost,
            lost => {
                let fenced = fences(own.1, &made).next().is_some();
                // One access alone, whose result is wrong, has no order to lose.
                let is_alone = lost.is_none();
                let lost = lost.map(|lost| Mechanism { fenced, ..lost });
                weaker(own.0, own.1, &made, objects, is_alone).or(lost)?
            }
        };
        Some((Some(way.0), mechanism))
    };
    ways(source, failed).into_iter().filter_map(one).collect()
}

/// The mechanism of an outcome that a device showed, from the execution that its model forbids. The
/// device's own execution is not known, so all accesses count as being in their places. Where the
/// order of two accesses to one location is lost, nothing else needs to be wrong.
pub fn seen(source: &Execution) -> Option<Mechanism> {
    if let Some((first, second)) = source.fails.iter().find_map(|f| incoherent(source, f)) {
        let (crossed, moved) = (first.words(), second.words());
        return Some(Mechanism {
            change: Change::Incoherent,
            moved,
            crossed,
            ..Mechanism::default()
        });
    }
    let one = |way: (u16, usize, usize)| {
        let (ops, first, last) = on_way(source, way)?;
        let place =
            |n: usize| Found { read: Some(Position::At(n)), written: Some(Position::At(n)) };
        let found: Vec<Found> = (first..=last).map(place).collect();
        between(&ops[first..=last], &found)
    };
    let all = source.fails.iter().flat_map(|failed| ways(source, failed)).filter_map(one);
    all.min_by_key(Mechanism::key)
}

/// Two accesses of a thread to one location, next to one another in a failed check, whose order in
/// the thread is all that connects them.
fn incoherent<'a>(run: &'a Execution, failed: &Failed) -> Option<(Op<'a>, Op<'a>)> {
    let at = |id: &str| run.events.iter().position(|e| e.id == *id);
    failed.edges.iter().find_map(|edge| {
        let (first, second) = (at(&edge.from)?, at(&edge.to)?);
        let (a, b) = (&run.events[first], &run.events[second]);
        let communicates = run.rf.iter().chain(&run.co).any(|(x, y)| *x == a.id && *y == b.id);
        let in_thread = a.thread.is_some() && a.thread == b.thread && first < second;
        let (a, b) = (Op::of(a)?, Op::of(b)?);
        let alike = !a.is_fence() && !b.is_fence() && a.place == b.place;
        (in_thread && alike && !communicates).then_some((a, b))
    })
}

/// How far the execution of a source is from the one of its code: the halves of accesses that the code
/// lacks, then the pairs of writes that the two order differently.
pub fn distance(source: &Execution, code: &Execution) -> (usize, usize) {
    let threads: BTreeSet<u16> = source.events.iter().filter_map(|e| e.thread).collect();
    let lacks = |thread: u16| {
        let (ops, made) = (operations(source, thread), operations(code, thread));
        let halves: [Half; 2] = [|op| op.read, |op| op.written];
        let missing = |half: Half| {
            let found = find(&ops, &made, half);
            ops.iter().zip(found).filter(|(op, at)| half(op).is_some() && at.is_none()).count()
        };
        halves.into_iter().map(missing).sum::<usize>()
    };
    (threads.into_iter().map(lacks).sum(), turned(source, code))
}

/// The number of pairs of writes that two executions order differently.
fn turned(one: &Execution, other: &Execution) -> usize {
    let others = write_orders(other);
    write_orders(one).into_iter().filter(|(a, b)| others.contains(&(*b, *a))).count()
}

/// A write: its thread, its place and its value.
type Write<'a> = (Option<u16>, &'a str, &'a str);

/// The writes of an execution of which one comes before the other.
fn write_orders(run: &Execution) -> Vec<(Write<'_>, Write<'_>)> {
    let write = |id: &String| {
        let op = Op::of(run.events.iter().find(|e| e.id == *id)?)?;
        Some((op.event.thread, op.place, op.written?))
    };
    run.co.iter().filter_map(|(a, b)| Some((write(a)?, write(b)?))).collect()
}

/// The operations of a thread.
fn operations(run: &Execution, thread: u16) -> Vec<Op<'_>> {
    run.events.iter().filter(|e| e.thread == Some(thread)).filter_map(Op::of).collect()
}

/// The operations of a thread, and the first and the last of them on a way through it.
fn on_way(
    run: &Execution,
    (thread, first, last): (u16, usize, usize),
) -> Option<(Vec<Op<'_>>, usize, usize)> {
    let ops = operations(run, thread);
    let at = |event: usize| ops.iter().position(|op| op.event.id == run.events[event].id);
    let (first, last) = (at(first)?, at(last)?);
    let (first, last) = around(&ops, first.min(last), first.max(last), run);
    Some((ops, first, last))
}

/// The ways of a failed check through threads: the first and the last event of each.
fn ways(run: &Execution, failed: &Failed) -> Vec<(u16, usize, usize)> {
    let mut ids: Vec<&str> = failed.edges.iter().map(|e| &*e.from).collect();
    if !failed.is_cycle {
        ids.extend(failed.edges.last().map(|e| &*e.to));
    }
    let event = |id: &&str| run.events.iter().position(|e| e.id == **id);
    let mut events: Vec<usize> = ids.iter().filter_map(event).collect();
    let thread = |event: usize| run.events[event].thread;
    // A cycle may begin in the middle of a way.
    if failed.is_cycle
        && let Some(n) = (1..events.len()).find(|n| thread(events[*n]) != thread(events[n - 1]))
    {
        events.rotate_left(n);
    }
    let ways = events.chunk_by(|a, b| thread(*a) == thread(*b));
    ways.filter_map(|way| Some((thread(way[0])?, way[0], *way.last()?))).collect()
}

/// A way from a fence begins with the access before it that the fence orders, and a way to a fence
/// ends with the access behind it: one that communicates with another thread where there is one.
fn around(ops: &[Op], first: usize, last: usize, run: &Execution) -> (usize, usize) {
    let thread = |id: &str| run.events.iter().find(|e| e.id == id).and_then(|e| e.thread);
    let external = |a: &str, b: &str| thread(a).is_some() && thread(a) != thread(b);
    let reads = |n: &usize| {
        let id = &ops[*n].event.id;
        run.rf.iter().any(|(from, to)| to == id && external(from, to))
    };
    let is_read = |n: &usize| {
        let id = &ops[*n].event.id;
        run.rf.iter().any(|(from, to)| from == id && external(from, to))
    };
    let access = |n: &usize| !ops[*n].is_fence();
    let before = || (0..first).rev().find(reads).or((0..first).rev().find(access));
    let behind = || (last + 1..ops.len()).find(is_read).or((last + 1..ops.len()).find(access));
    let from = if ops[first].is_fence() { before() } else { None };
    let to = if ops[last].is_fence() { behind() } else { None };
    (from.unwrap_or(first), to.unwrap_or(last))
}

/// The barriers that code has between the first and the last of some accesses.
fn fences<'a>(found: &'a [Found], made: &'a [Op]) -> impl Iterator<Item = usize> + 'a {
    let ends = found.first().zip(found.last());
    (0..made.len()).filter(move |n| {
        made[*n].is_fence()
            && ends.is_some_and(|(before, behind)| before.is_before(*n) && behind.is_behind(*n))
    })
}

/// The mechanism of an access that left its side of a fence: the code has no fence between the first
/// and the last of some operations, and has one on the other side of one of them.
fn across(ops: &[Op], found: &[Found], made: &[Op]) -> Option<Mechanism> {
    let fence = ops.iter().find(|op| op.is_fence())?;
    let (first, last) = (ops.first()?, ops.last()?);
    let (before, behind) = (found.first()?, found.last()?);
    if first.is_fence() || last.is_fence() || fences(found, made).next().is_some() {
        return None;
    }
    let fences: Vec<usize> = (0..made.len()).filter(|n| made[*n].is_fence()).collect();
    let (change, moved) = if fences.iter().any(|n| before.is_behind(*n)) {
        (Change::Below, first)
    } else if fences.iter().any(|n| behind.is_before(*n)) {
        (Change::Above, last)
    } else {
        return None;
    };
    Some(Mechanism { change, moved: moved.words(), crossed: fence.words(), ..Mechanism::default() })
}

/// The mechanism of an access that is in its place and whole, but plain, or atomic among too few
/// threads. One that also lost its order is a matter of order, unless it is alone.
fn weaker(
    ops: &[Op],
    found: &[Found],
    made: &[Op],
    objects: &Objects,
    is_alone: bool,
) -> Option<Mechanism> {
    let atomic = ops.iter().zip(found).filter(|(op, _)| !op.is_fence() && !op.has(&["NA"]));
    let change = |(op, found): (&Op, &Found)| {
        let code: Vec<&Op> = found.places().map(|at| &made[at]).collect();
        let is_narrow = |code: &&Op| {
            let is_unordered = !is_alone && code.has(&["RLX"]) && (op.acquires() || op.releases());
            code.scope().is_some_and(|scope| objects.narrow.contains(&scope)) && !is_unordered
        };
        if code.iter().any(|code| code.is_plain()) {
            return Some((Change::Plain, op.words()));
        }
        let is_narrow = op.scope().is_none() && code.iter().any(is_narrow);
        is_narrow.then(|| (Change::Narrow, op.words()))
    };
    let (change, moved) = atomic.into_iter().find_map(change)?;
    Some(Mechanism { change, moved, ..Mechanism::default() })
}

/// The mechanism that lost the order of the first and the last of some operations of a thread.
fn between(ops: &[Op], found: &[Found]) -> Option<Mechanism> {
    let (first, last) = (ops.first()?, ops.last()?);
    let end = ops.len() - 1;
    let make = |change, access: &Op, operation: Option<&Op>| {
        let operation = operation.map(Op::words).unwrap_or_default();
        Some(Mechanism {
            change,
            moved: access.words(),
            crossed: operation,
            ..Mechanism::default()
        })
    };
    // An update that lost a half.
    for (op, found) in ops.iter().zip(found).filter(|(op, _)| op.is_update()) {
        match (found.read, found.written) {
            (Some(_), None) => return make(Change::Load, op, None),
            (None, Some(_)) => return make(Change::Store, op, None),
            (None, None) => return make(Change::Removed, op, None),
            (Some(_), Some(_)) => {}
        }
    }
    // The code lacks an access whose order matters: its value was taken from elsewhere, or nobody was
    // thought to read it.
    let is_missing =
        |n: &usize| !ops[*n].is_fence() && found[*n].read.is_none() && found[*n].written.is_none();
    if let Some(n) = [end, 0].into_iter().filter(|_| end > 0).find(is_missing) {
        let operation = match n {
            0 => ops[1..].iter().find(|op| op.releases()),
            n => ops[..n].iter().rev().find(|op| op.acquires()),
        };
        return make(Change::Removed, &ops[n], operation);
    }
    let below = (1..=end).find(|n| ops[*n].releases() && found[0].is_after(&found[*n]));
    if let Some(n) = below {
        return make(Change::Below, first, Some(&ops[n]));
    }
    let above = (0..end).rev().find(|n| ops[*n].acquires() && found[*n].is_after(&found[end]));
    if let Some(n) = above {
        return make(Change::Above, last, Some(&ops[n]));
    }
    let fence = ops.iter().find(|op| op.is_fence());
    if end > 0 && found[0].is_after(&found[end]) {
        return make(Change::Below, first, fence.or(Some(last)));
    }
    if let Some(fence) = fence {
        // An update is more likely to escape a fence than a plain access.
        let (change, access) = match (fence.acquires(), first.is_fence(), last.is_fence()) {
            (_, true, true) => return None,
            (_, true, false) => (Change::Later, last),
            (true, false, _) if first.is_update() || !last.is_update() => (Change::Earlier, first),
            (false, false, true) => (Change::Earlier, first),
            (false, false, false) if first.is_update() => (Change::Earlier, first),
            _ => (Change::Later, last),
        };
        return make(change, access, Some(fence));
    }
    let is_odd = last.oddity() > 0 && last.oddity() >= first.oddity();
    match end {
        0 => None,
        _ if first.has(&["SC"]) && last.has(&["SC"]) && is_odd => {
            make(Change::Earlier, first, Some(last))
        }
        _ if first.acquires() => make(Change::Later, last, Some(first)),
        _ if last.releases() => make(Change::Earlier, first, Some(last)),
        // An operation between them orders both.
        _ => ops[1..end].iter().find(|op| op.acquires() || op.releases()).map_or(
            make(Change::Later, last, Some(first)),
            |op| match op.releases() {
                true => make(Change::Earlier, first, Some(op)),
                false => make(Change::Later, last, Some(op)),
            },
        ),
    }
}
