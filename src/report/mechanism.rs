//! The mechanism of a bug: what compiled code does to an access, and which operation of its source
//! should have prevented that. It is the bug's identity and its title.
//!
//! It is told from two executions with one outcome: the one that the source forbids, and the one
//! that the code shows. Names, values, and threads that only watch are not part of it. It does not
//! know how executions are found, nor how passes are examined.

use serde::{Deserialize, Serialize};

use super::evidence::{Event, Evidence, Execution, Failed};
use super::passes::Sure;

/// The way in which the code is wrong, compared with the source.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The access comes after an operation that it comes before in the source.
    Below,
    /// The access comes before an operation that it comes after in the source.
    Above,
    /// The access only loads, where it updates in the source.
    Load,
    /// The access only stores, where it updates in the source.
    Store,
    /// The access is missing.
    Removed,
    /// All is in its place, and the operation does not order the access before it.
    Earlier,
    /// All is in its place, and the operation does not order the access after it.
    Later,
    /// The access writes to a location that the source only reads.
    Writes,
    /// A value is kept over a call that synchronises.
    Survives,
    /// Two accesses to one location are seen in the wrong order.
    Incoherent,
    /// A result that no execution of the source has, in whatever order.
    #[default]
    Value,
}

/// The mechanism of a bug.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Mechanism {
    /// The target whose code is wrong; empty if a pass on intermediate code is shown to be at fault,
    /// which is the same for every target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The pass, by its short name, if one is shown to be at fault.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pass: String,
    /// How certain it is which pass is at fault, if passes were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_certainty: Option<Sure>,
    /// The way in which the code is wrong.
    pub change: Change,
    /// The access that moved or changed, or that is not ordered: `plain load`.
    #[serde(default, alias = "access", skip_serializing_if = "String::is_empty")]
    pub moved: String,
    /// The operation that it crosses, or that does not order it: `release store`.
    #[serde(default, alias = "operation", skip_serializing_if = "String::is_empty")]
    pub crossed: String,
}

impl Mechanism {
    /// The kind of fault, equal for all tests that show it. Whether an access loads or stores does
    /// not matter to it, nor does the width.
    fn fault(&self, is_plain: bool) -> String {
        let access = match (is_plain, self.moved.starts_with(PLAIN)) {
            (true, true) => PLAIN,
            _ => "",
        };
        let parts = match self.change {
            Change::Below | Change::Above if is_fence(&self.crossed) => vec![access, FENCE],
            Change::Below | Change::Above => vec![access],
            Change::Load | Change::Store | Change::Removed => vec![group(&self.moved)],
            Change::Earlier | Change::Later if is_fence(&self.crossed) => {
                vec![FENCE, group(&self.moved)]
            }
            Change::Earlier | Change::Later if self.crossed.starts_with(FAILING) => {
                vec![FAILING, group(&self.crossed)]
            }
            Change::Earlier | Change::Later => vec![group(&self.crossed)],
            Change::Incoherent => vec![&*self.crossed, &*self.moved],
            Change::Writes | Change::Survives | Change::Value => Vec::new(),
        };
        format!("{:?} {}", self.change, parts.join(" "))
    }

    /// The text that is equal for equal bugs. `form` is the form of a test, for bugs that nothing
    /// else tells apart.
    pub fn key(&self, form: &str) -> String {
        let form = if self.change == Change::Value { form } else { "" };
        format!("{}\n{}\n{}\n{form}", self.target, self.pass, self.fault(true))
    }

    /// Whether it is the same mechanism, as far as executions tell.
    pub fn is(&self, other: &Mechanism) -> bool {
        self.target == other.target && self.fault(true) == other.fault(true)
    }

    /// Whether two tests show the same fault. A smaller test may have an atomic access in place of a
    /// plain one.
    pub fn is_alike(&self, other: &Mechanism) -> bool {
        self.fault(false) == other.fault(false)
    }

    /// The fault in a sentence. `family` stands for the target if every target has it.
    pub fn said(&self, family: &str) -> String {
        let (access, operation) = (a(&self.moved), a(&self.crossed));
        let fault = match self.change {
            Change::Below => format!("{access} moves below {operation}"),
            Change::Above => format!("{access} moves above {operation}"),
            Change::Load => format!("{access} becomes a load"),
            Change::Store => format!("{access} becomes a store"),
            Change::Removed => format!("{access} is removed"),
            Change::Earlier => format!("{operation} does not order {}", after(&access, "earlier")),
            Change::Later => format!("{operation} does not order {}", after(&access, "later")),
            Change::Writes => "a load writes to what it reads".to_string(),
            Change::Survives => "a value survives a call that synchronises".to_string(),
            Change::Incoherent => {
                format!(
                    "{} of one location come in the wrong order",
                    two(&self.crossed, &self.moved)
                )
            }
            Change::Value => "a result that no order of the accesses gives".to_string(),
        };
        let place = if self.target.is_empty() { family } else { &self.target };
        let pass = match self.pass.is_empty() {
            true => String::new(),
            false => format!(" ({})", self.pass),
        };
        format!("{place}: {fault}{pass}")
    }
}

const PLAIN: &str = "plain";
const FENCE: &str = "fence";
const FAILING: &str = "failing";

fn is_fence(words: &str) -> bool {
    words.ends_with(FENCE)
}

/// The group of an access or operation. Loads and stores are one.
fn group(words: &str) -> &'static str {
    let all = ["compare-exchange", "read-modify-write", FENCE];
    all.into_iter().find(|group| words.ends_with(group)).unwrap_or("access")
}

/// Words with their article.
fn a(words: &str) -> String {
    let article = if words.starts_with(['a', 'e']) { "an" } else { "a" };
    format!("{article} {words}")
}

/// Two operations in words: `two relaxed loads`, `a plain store and a relaxed load`.
fn two(first: &str, second: &str) -> String {
    match first == second {
        true => format!("two {first}s"),
        false => format!("{} and {}", a(first), a(second)),
    }
}

/// Puts a word behind the article.
fn after(words: &str, word: &str) -> String {
    let bare = words.split_once(' ').map_or(words, |(_, bare)| bare);
    a(&format!("{word} {bare}"))
}

/// An access or fence of an execution.
struct Op<'a> {
    event: &'a Event,
    tags: Vec<&'a str>,
    place: &'a str,
    read: Option<&'a str>,
    written: Option<&'a str>,
}

impl<'a> Op<'a> {
    /// Reads the text of an event: `R(ACQ,A)[x]=1`, `RW(RLX,A)[y]=0->1`, `F(REL)`.
    fn of(event: &'a Event) -> Option<Op<'a>> {
        let text = event.event.as_str();
        let (head, rest) = text.split_once('[').unwrap_or((text, ""));
        let (kind, tags) = head.split_once('(').unwrap_or((head, ""));
        let tags = tags.trim_end_matches(')').split([',', ' ']).collect();
        if kind == "F" {
            return Some(Op { event, tags, place: "", read: None, written: None });
        }
        let (reads, writes) = (kind.contains('R'), kind.contains('W'));
        let (place, value) = rest.split_once("]=").filter(|_| reads || writes)?;
        let (old, new) = value.split_once("->").unwrap_or((value, value));
        Some(Op { event, tags, place, read: reads.then_some(old), written: writes.then_some(new) })
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
        failing.into_iter().chain(order).chain([kind]).collect::<Vec<_>>().join(" ")
    }
}

/// Where the code has an access of the source.
#[derive(Clone, Copy, Default)]
struct Found {
    read: Option<Place>,
    written: Option<Place>,
}

/// The place of half an access in its thread's code.
#[derive(Clone, Copy)]
enum Place {
    /// At this number.
    At(usize),
    /// With another value, so that it may be any of several.
    Somewhere,
}

impl Found {
    fn places(&self) -> impl Iterator<Item = usize> {
        [self.read, self.written].into_iter().flatten().filter_map(|place| match place {
            Place::At(n) => Some(n),
            Place::Somewhere => None,
        })
    }

    /// Whether the code has all of it after another access.
    fn is_after(&self, other: &Found) -> bool {
        match (self.places().min(), other.places().max()) {
            (Some(own), Some(other)) => own > other,
            _ => false,
        }
    }
}

/// Finds one half of each access of a thread in its code: those with the same value first.
fn find(
    source: &[Op],
    code: &[Op],
    half: for<'a, 'b> fn(&'b Op<'a>) -> Option<&'a str>,
) -> Vec<Option<Place>> {
    let mut out = vec![None; source.len()];
    let mut used = vec![false; code.len()];
    for is_same in [true, false] {
        for (op, place) in source.iter().zip(&mut out).filter(|(_, place)| place.is_none()) {
            let Some(value) = half(op) else { continue };
            let fits =
                |c: &Op| c.place == op.place && half(c).is_some_and(|own| !is_same || own == value);
            if let Some(at) = (0..code.len()).find(|at| !used[*at] && fits(&code[*at])) {
                used[at] = true;
                *place = Some(if is_same { Place::At(at) } else { Place::Somewhere });
            }
        }
    }
    out
}

/// The mechanisms that two executions of one outcome can have, with their threads. Where the code of
/// a thread lost or moved something, threads whose code has all in its place are not at fault.
pub fn told(evidence: &Evidence) -> Vec<(Option<u16>, Mechanism)> {
    let Some(code) = &evidence.target else { return Vec::new() };
    let Some(source) = &evidence.source else { return vec![(None, Mechanism::default())] };
    let mut all = source.fails.iter().map(|failed| of_failed(source, failed, code));
    let mut out = all.find(|list| !list.is_empty()).unwrap_or_default();
    let in_place = |m: &Mechanism| matches!(m.change, Change::Earlier | Change::Later);
    if out.iter().any(|(_, m)| !in_place(m)) {
        out.retain(|(_, m)| !in_place(m));
    }
    out
}

/// The mechanisms for one failed check: one for each way of its cycle through a thread.
fn of_failed(
    source: &Execution,
    failed: &Failed,
    code: &Execution,
) -> Vec<(Option<u16>, Mechanism)> {
    let one = |way: (u16, usize, usize)| {
        let (ops, first, last) = on_way(source, way)?;
        let made = operations(code, way.0);
        let reads = find(&ops, &made, |op| op.read);
        let writes = find(&ops, &made, |op| op.written);
        let found = reads.into_iter().zip(writes).map(|(read, written)| Found { read, written });
        let found: Vec<Found> = found.collect();
        let mechanism = between(&ops[first..=last], &found[first..=last])?;
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
        let place = |n: usize| Found { read: Some(Place::At(n)), written: Some(Place::At(n)) };
        let found: Vec<Found> = (first..=last).map(place).collect();
        between(&ops[first..=last], &found)
    };
    let all = source.fails.iter().flat_map(|failed| ways(source, failed)).filter_map(one);
    all.min_by_key(|m| m.key(""))
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
    match end {
        0 => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Edge;

    /// An execution from lines `THREAD ID CODE | EVENT`, with communication and one failed cycle.
    fn run(lines: &str, rf: &[(&str, &str)], cycle: &str) -> Execution {
        let events = lines.lines().map(|line| {
            let (head, event) = line.split_once(" | ").unwrap();
            let words: Vec<&str> = head.split(' ').collect();
            Event {
                id: words[1].into(),
                thread: words[0].parse().ok(),
                line: 1,
                code: words[2..].join(" "),
                event: event.into(),
            }
        });
        let ids: Vec<&str> = cycle.split(' ').filter(|w| !w.is_empty()).collect();
        let edge = |n: usize| Edge {
            from: ids[n].into(),
            edge: String::new(),
            to: ids[(n + 1) % ids.len()].into(),
        };
        let fails = vec![Failed {
            is_cycle: true,
            edges: (0..ids.len()).map(edge).collect(),
            ..Failed::default()
        }];
        Execution {
            events: events.collect(),
            rf: rf.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
            fails: if ids.is_empty() { Vec::new() } else { fails },
            ..Execution::default()
        }
    }

    fn only(source: Execution, code: &str) -> Mechanism {
        let target = Some(run(code, &[], ""));
        let evidence = Evidence { source: Some(source), target, ..Evidence::default() };
        let mut all = told(&evidence);
        assert_eq!(all.len(), 1, "{all:#?}");
        Mechanism { target: "AArch64".into(), ..all.remove(0).1 }
    }

    /// A plain load before a release store, as a source with names and values of its own.
    fn pair(field: &str, value: &str) -> Mechanism {
        let source = run(
            &format!(
                "0 b r0 | R(NA)[{field}]={value}\n0 c s | W(REL,A)[f]=1\n0 d r1 | R(NA)[z]=0\n\
                 1 e l | R(ACQ,A)[f]=1\n1 f s | W(NA)[{field}]={value}"
            ),
            &[("c", "e"), ("f", "b")],
            "b c e f",
        );
        let code = format!(
            "0 b STLR | W(L)[f]=1\n0 c LDP | R[{field}]={value}\n0 d LDP | R[z]=0\n\
             1 e LDAR | R(A)[f]=1\n1 f CBZ | B\n1 g STR | W[{field}]={value}"
        );
        only(source, &code)
    }

    #[test]
    fn an_access_that_moves_below_a_release_says_so() {
        let one = pair("x", "1");
        assert_eq!(one.said("clang"), "AArch64: a plain load moves below a release store");
        assert_eq!(one.key(""), pair("s+4", "7").key("another test"));
        // A store across an update is the same fault.
        let source = run(
            "0 c s | W(NA)[x]=2\n0 d u | RW(REL,A)[f]=0->1\n0 e s | W(NA)[y]=0\n\
             1 f l | R(ACQ,A)[f]=1\n1 g l | R(NA)[x]=0",
            &[("d", "f")],
            "c d f g",
        );
        let code = "0 c LDADDL | R(X)[f]=0\n0 d LDADDL | W(X,L)[f]=1\n0 e STP | W[x]=2\n\
                    0 f STP | W[y]=0\n1 g LDAR | R(A)[f]=1\n1 i LDR | R[x]=0";
        let other = only(source, code);
        let said = "AArch64: a plain store moves below a release read-modify-write";
        assert_eq!(other.said("clang"), said);
        assert_eq!(one.key(""), other.key(""));
        let arm = Mechanism { target: "ARM".into(), ..other };
        assert_ne!(one.key(""), arm.key(""));
        let shown = Mechanism { pass: "aarch64-ldst-opt".into(), ..one.clone() };
        assert_ne!(one.key(""), shown.key(""));
        assert!(shown.said("clang").ends_with("a release store (aarch64-ldst-opt)"));
    }

    /// Message passing by fences: the second thread is an update, a fence and a load.
    fn fenced(update: &str, code: &str) -> Mechanism {
        let source = run(
            &format!(
                "0 b s | W(RLX,A)[x]=1\n0 c f | F(REL)\n0 d s | W(RLX,A)[y]=1\n{update}\n\
                 1 f f | F(ACQ)\n1 g l | R(RLX,A)[x]=0"
            ),
            &[("d", "e")],
            "b c f g",
        );
        let first = "0 b STR | W[x]=1\n0 c DMB | F(DMB.ISH)\n0 d STR | W[y]=1\n";
        let evidence = Evidence {
            source: Some(source),
            target: Some(run(&format!("{first}{code}"), &[], "")),
            ..Evidence::default()
        };
        let mut all = told(&evidence);
        all.retain(|(thread, _)| *thread == Some(1));
        Mechanism { target: "AArch64".into(), ..all.remove(0).1 }
    }

    #[test]
    fn an_update_that_loses_a_half_says_which() {
        let update = "1 e u | RW(RLX,A)[y]=1->2";
        let load = "1 g LDR | R[x]=0";
        let store = fenced(update, &format!("1 e STR | W[y]=2\n{load}"));
        assert_eq!(store.said(""), "AArch64: a relaxed read-modify-write becomes a store");
        let idle = fenced("1 e u | RW(RLX,A)[y]=1->1", &format!("1 e LDR | R[y]=1\n{load}"));
        assert_eq!(idle.said(""), "AArch64: a relaxed read-modify-write becomes a load");
        let whole = format!("1 e SWP | R(X)[y]=1\n1 h SWP | W(X)[y]=2\n{load}");
        let whole = fenced(update, &whole);
        assert_eq!(
            whole.said(""),
            "AArch64: an acquire fence does not order an earlier relaxed read-modify-write"
        );
        assert!(!store.is_alike(&idle) && !store.is_alike(&whole) && !idle.is_alike(&whole));
    }

    #[test]
    fn a_device_that_reads_backwards_is_incoherent() {
        // A larger test, in which other accesses are in order, shows the same.
        let small = run(
            "0 a s | W(RLX,A)[x]=1\n1 b l | R(RLX,A)[x]=1\n1 c l | R(RLX,A)[x]=0",
            &[("a", "b")],
            "b c a",
        );
        let large = run(
            "0 a s | W(RLX,A)[x]=1\n0 b s | W(RLX,A)[x]=2\n0 c l | R(RLX,A)[x]=2\n\
             0 d l | R(RLX,A)[x]=1",
            &[("b", "c"), ("a", "d")],
            "c d b",
        );
        let one = seen(&small).unwrap();
        assert_eq!(
            one.said("GPU"),
            "GPU: two relaxed loads of one location come in the wrong order"
        );
        assert_eq!(one.key(""), seen(&large).unwrap().key("another test"));
        // Message passing is another bug: its fence does not order.
        let passing = run(
            "0 a s | W(RLX,A)[x]=1\n0 b f | F(REL)\n0 c s | W(RLX,A)[y]=1\n\
             1 d l | R(RLX,A)[y]=1\n1 e f | F(ACQ)\n1 f l | R(RLX,A)[x]=0",
            &[("c", "d")],
            "a c d f",
        );
        let other = seen(&passing).unwrap();
        assert!(matches!(other.change, Change::Earlier | Change::Later), "{other:?}");
        assert_ne!(one.key(""), other.key(""));
    }

    #[test]
    fn an_order_that_is_lost_in_place_is_that_of_an_operation() {
        let source = run(
            "0 b s | W(RLX,A)[x]=1\n0 c s | W(REL,A)[y]=1\n\
             1 d atomic_compare_exchange_strong_explicit(y) | R(ACQ,A)[y]=1\n\
             1 e l | R(RLX,A)[x]=0",
            &[("c", "d")],
            "b c d e",
        );
        let code = "0 b stw | W[x]=1\n0 c lwsync | F(LWSYNC)\n0 d stw | W[y]=1\n\
                    1 f lwarx | R(EX)[y]=1\n1 h lwz | R[x]=0";
        let target = Some(run(code, &[], ""));
        let evidence = Evidence { source: Some(source), target, ..Evidence::default() };
        let said: Vec<String> = told(&evidence).iter().map(|(_, m)| m.said("gcc")).collect();
        assert_eq!(
            said,
            [
                "gcc: a failing acquire compare-exchange does not order a later relaxed load",
                "gcc: a release store does not order an earlier relaxed store",
            ]
        );
    }
}
