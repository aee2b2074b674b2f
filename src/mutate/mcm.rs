//! The mutators of MC Mutants: makes conformance tests, whose target the model forbids, from three
//! templates of happens-before cycles, and mutants, whose target it allows, by disrupting one edge.
//!
//! A template has events a and b in one thread, c (and d) in another, and the cycle a -> b -> c (->
//! d) -> a. Edges inside a thread are program order or synchronisation. Edges between threads are
//! communication, so one of their ends is a write.
//!
//! It does not check targets against a model.

use litmake_base::diag::{Result, Source};
use litmake_litmus::{self as litmus, Test};

/// The edge that a mutator disrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mutator {
    /// Three events on one location; the two of one thread are swapped.
    ReversingPoLoc,
    /// Four events on one location; b and c move to another.
    WeakeningPoLoc,
    /// Four events and two fences; one or both are removed.
    WeakeningSw,
    /// Four events and two fences; one or both get a smaller scope. Not in the paper.
    WeakeningScope,
    /// Four events, one a release and one an acquire; one or both become relaxed. Not in the paper,
    /// whose language cannot express it.
    WeakeningOrder,
}

impl Mutator {
    /// All mutators, those of the paper first.
    pub const ALL: [Mutator; 5] = [
        Mutator::ReversingPoLoc,
        Mutator::WeakeningPoLoc,
        Mutator::WeakeningSw,
        Mutator::WeakeningScope,
        Mutator::WeakeningOrder,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Mutator::ReversingPoLoc => "reversing_po",
            Mutator::WeakeningPoLoc => "weakening_po",
            Mutator::WeakeningSw => "weakening_sw",
            Mutator::WeakeningScope => "weakening_scope",
            Mutator::WeakeningOrder => "weakening_order",
        }
    }
}

/// A conformance test or a mutant.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The test in the C dialect, whose condition is the target. Info lines give the mutator, the
    /// key, and the test that it mutates.
    pub test: Test,
    /// The mutator that was applied, or that applies to a conformance test.
    pub mutator: Mutator,
    /// The name of the results in the paper's artifact, if it has this test.
    pub key: String,
    /// The conformance test that it comes from; `None` for a conformance test itself.
    pub mutates: Option<String>,
}

/// The memory order of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Relaxed,
    Acquire,
    Release,
}

/// The fence of a thread in a test with synchronisation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fence {
    /// Orders accesses of all threads.
    Far,
    /// Orders accesses inside a workgroup only, and so does not synchronise the threads of these
    /// tests.
    Near,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Write,
    Read,
}

use Access::{Read, Write};

#[derive(Clone, Copy)]
struct Event {
    access: Access,
    /// Whether it is a read-modify-write: an exchange for a write, an addition of 0 for a read.
    rmw: bool,
    order: Order,
    location: usize,
    /// The written value.
    value: u32,
    /// The register for the read value, if it is observed.
    register: Option<usize>,
}

#[derive(Clone)]
struct Program {
    name: String,
    threads: Vec<Vec<Op>>,
    /// The values of registers in the target.
    reads: Vec<(usize, u32)>,
    /// The final values of locations in the target; if a location has several, any of them.
    finals: Vec<(usize, u32)>,
}

#[derive(Clone, Copy)]
enum Op {
    Access(Event),
    Fence(Fence),
}

/// The shapes of four events: names, and the kinds of a, b, c and d.
const SHAPES: [(&str, &str, [Access; 4]); 6] = [
    ("MP", "Message Passing", [Write, Write, Read, Read]),
    ("S", "Store", [Write, Write, Read, Write]),
    ("R", "Read", [Write, Write, Write, Read]),
    ("LB", "Load Buffer", [Read, Write, Read, Write]),
    ("SB", "Store Buffer", [Write, Read, Write, Read]),
    ("2+2W", "2+2 Write", [Write, Write, Write, Write]),
];

/// All cycles of four events. Each communication has a write at one end, and of two cycles that
/// differ in where they start, the one that starts with more writes is kept.
fn shapes() -> impl Iterator<Item = (&'static str, &'static str, [Access; 4])> {
    let all =
        (0..16u8).map(|bits| [8, 4, 2, 1].map(|bit| if bits & bit == 0 { Write } else { Read }));
    let mut found: Vec<_> = all
        .filter(|[a, b, c, d]| (*b == Write || *c == Write) && (*d == Write || *a == Write))
        .filter(|[a, b, c, d]| [a, b, c, d].map(|x| *x == Read) <= [c, d, a, b].map(|x| *x == Read))
        .filter_map(|shape| SHAPES.iter().position(|s| s.2 == shape))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|i| SHAPES[i])
}

/// The conformance tests of the paper: 8, 6 and 6.
pub fn conformance() -> Result<Vec<Mutant>> {
    let mut out = Vec::new();
    for shape in shapes() {
        let po = weakening_po(shape.0, &shape.2, false);
        out.push(mutant(
            &po,
            Mutator::WeakeningPoLoc,
            format!("{} Coherency One-Loc", shape.1),
            None,
        )?);
        let sw = weakening_sw(&format!("{}-relacq", shape.0), &shape.2, [Fence::Far; 2]);
        let key = format!("{} Barrier{}", long_name(shape.1, &shape.2), variant(&shape.2));
        out.push(mutant(&sw, Mutator::WeakeningSw, key, None)?);
    }
    for (name, artifact, shape) in COHERENCE {
        for rmw in [false, true] {
            let key = format!("{artifact} {}", if rmw { "RMW" } else { "Default" });
            let program = reversing(&conformance_name(name, rmw), shape, rmw, false);
            out.push(mutant(&program, Mutator::ReversingPoLoc, key, None)?);
        }
    }
    Ok(out)
}

/// The mutants of the paper, in the order of its artifact: 18 and 6, then 8.
pub fn mutants() -> Result<Vec<Mutant>> {
    let mut out = Vec::new();
    for (short, long, shape) in shapes() {
        let from = format!("{short}-relacq");
        let name = long_name(long, &shape);
        let kept = [
            ("none", [Fence::None, Fence::None], String::new()),
            ("acq", [Fence::None, Fence::Far], format!(" Barrier{} 1", variant(&shape))),
            ("rel", [Fence::Far, Fence::None], format!(" Barrier{} 2", variant(&shape))),
        ];
        for (word, fences, key) in kept {
            let program = weakening_sw(&format!("{from}.{word}"), &shape, fences);
            let plain = if key.is_empty() && !needs_rmw(&shape) { " Default" } else { "" };
            let key = format!("{name}{key}{plain}");
            out.push(mutant(&program, Mutator::WeakeningSw, key, Some(from.clone()))?);
        }
        let program = weakening_po(short, &shape, true);
        let key = format!("{long} Coherency");
        out.push(mutant(&program, Mutator::WeakeningPoLoc, key, Some(format!("{short}-CO")))?);
    }
    for (name, artifact, shape) in COHERENCE {
        for rmw in [false, true] {
            let from = conformance_name(name, rmw);
            let key = format!("{artifact} Mutations {}", if rmw { "RMW" } else { "Default" });
            let program = reversing(&format!("{from}.reversed"), shape, rmw, true);
            out.push(mutant(&program, Mutator::ReversingPoLoc, key, Some(from))?);
        }
    }
    Ok(out)
}

/// Mutants with fences of a smaller scope: one, the other, or both.
pub fn scope_mutants() -> Result<Vec<Mutant>> {
    let mut out = Vec::new();
    for (short, long, shape) in shapes() {
        let from = format!("{short}-relacq");
        let narrowed = [
            ("near", [Fence::Near, Fence::Near]),
            ("near-rel", [Fence::Near, Fence::Far]),
            ("near-acq", [Fence::Far, Fence::Near]),
        ];
        for (word, fences) in narrowed {
            let program = weakening_sw(&format!("{from}.{word}"), &shape, fences);
            let key = format!("{long} Scope {word}");
            out.push(mutant(&program, Mutator::WeakeningScope, key, Some(from.clone()))?);
        }
    }
    Ok(out)
}

/// Tests with acquire and release accesses, and their mutants, in which one, the other or both are
/// relaxed.
pub fn orders() -> Result<Vec<Mutant>> {
    use Order::{Acquire, Relaxed, Release};
    let mut out = Vec::new();
    for (short, long, shape) in shapes() {
        let from = format!("{short}-orders");
        for (word, orders) in [
            ("", [Release, Acquire]),
            ("none", [Relaxed, Relaxed]),
            ("rel", [Release, Relaxed]),
            ("acq", [Relaxed, Acquire]),
        ] {
            let is_mutant = !word.is_empty();
            let name = if is_mutant { format!("{from}.{word}") } else { from.clone() };
            let mut program = weakening_sw(&name, &shape, [Fence::None; 2]);
            // The last access of the first thread and the first access of the second synchronise.
            for (thread, order) in orders.into_iter().enumerate() {
                if let Some(Op::Access(e)) = program.threads[thread].get_mut(1 - thread) {
                    e.order = order;
                }
            }
            let key =
                format!("{long} Order{}", if is_mutant { format!(" {word}") } else { "".into() });
            let mutates = is_mutant.then(|| from.clone());
            out.push(mutant(&program, Mutator::WeakeningOrder, key, mutates)?);
        }
    }
    Ok(out)
}

/// The artifact's key for one instance of the test in a run.
pub fn site_key(key: &str) -> String {
    let single = "Single Instance";
    if let Some((head, tail)) = key.split_once(" Mutations ") {
        let tail = if tail == "Default" { String::new() } else { format!(" {tail}") };
        return format!("{head} Mutations {single}{tail}");
    }
    for word in [" RMW", " Barrier", " Coherency", " Scope", " Order"] {
        if let Some((head, tail)) = key.split_once(word) {
            return format!("{head} {single}{word}{}", tail.replace(" Variant", ""));
        }
    }
    match key.strip_suffix(" Default") {
        Some(head) => format!("{head} {single}"),
        None => format!("{key} {single}"),
    }
}

/// The shapes of three events, without c, which is a write. `CoWR` is a write followed by a read.
const COHERENCE: [(&str, &str, [Access; 2]); 4] = [
    ("CoRR", "RR", [Read, Read]),
    ("CoRW", "RW", [Read, Write]),
    ("CoWR", "WR", [Write, Read]),
    ("CoWW", "WW", [Write, Write]),
];

fn conformance_name(name: &str, rmw: bool) -> String {
    if rmw { format!("{name}-RMW") } else { name.to_string() }
}

/// Whether the shape needs read-modify-writes, because fences alone do not forbid it: the event
/// after the release fence must write, and the event before the acquire fence must read.
fn needs_rmw([_, b, c, _]: &[Access; 4]) -> bool {
    *b == Read || *c == Write
}

fn long_name(long: &str, shape: &[Access; 4]) -> String {
    if needs_rmw(shape) { format!("{long} RMW") } else { long.to_string() }
}

fn variant(shape: &[Access; 4]) -> &'static str {
    if needs_rmw(shape) { "" } else { " Variant" }
}

/// Numbers registers in the order of the cycle.
fn registers(events: &mut [Event]) {
    let reads = events.iter_mut().filter(|e| e.access == Read);
    for (next, e) in reads.enumerate() {
        e.register = Some(next);
    }
}

fn event(access: Access, location: usize) -> Event {
    Event { access, rmw: false, order: Order::Relaxed, location, value: 0, register: None }
}

/// Adds the values that the cycle's communications require to the target.
fn target(program: &mut Program, cycle: &[Event], communications: &[(usize, usize)]) {
    for (from, to) in communications {
        let (from, to) = (cycle[*from], cycle[*to]);
        match (from.access, to.access, from.register, to.register) {
            (_, Read, _, Some(r)) => program.reads.push((r, from.value)),
            // A read before a write in coherence reads the initial state.
            (Read, _, Some(r), _) => program.reads.push((r, 0)),
            _ => program.finals.push((to.location, to.value)),
        }
    }
    program.reads.sort_unstable();
    program.finals.sort_unstable();
}

/// Four events on one location, or with b and c on another.
fn weakening_po(short: &str, shape: &[Access; 4], disrupted: bool) -> Program {
    let other = usize::from(disrupted);
    let mut events =
        [event(shape[0], 0), event(shape[1], other), event(shape[2], other), event(shape[3], 0)];
    // Written values differ and count up. If d writes, a comes after it in coherence; here it also
    // comes after b.
    let swapped = shape[0] == Write && shape[1] == Write && shape[3] == Write;
    let order = if swapped { [1, 0, 2, 3] } else { [0, 1, 2, 3] };
    let mut value = 0;
    for i in order {
        if events[i].access == Write {
            value += 1;
            events[i].value = value;
        }
    }
    if disrupted && shape[0] == Read {
        // The first write is to x.
        events.iter_mut().for_each(|e| e.location = 1 - e.location);
    }
    registers(&mut events);
    let name = if disrupted { format!("{short}-CO.two") } else { format!("{short}-CO") };
    let ops = |e: &[Event]| e.iter().copied().map(Op::Access).collect();
    let mut program = Program {
        name,
        threads: vec![ops(&events[..2]), ops(&events[2..])],
        reads: Vec::new(),
        finals: Vec::new(),
    };
    target(&mut program, &events, &[(1, 2), (3, 0)]);
    program
}

/// Four events on two locations, with a fence between those of a thread.
fn weakening_sw(name: &str, shape: &[Access; 4], fences: [Fence; 2]) -> Program {
    let x = usize::from(shape[0] == Read);
    let mut events =
        [event(shape[0], x), event(shape[1], 1 - x), event(shape[2], 1 - x), event(shape[3], x)];
    // On each location, values count up in coherence order: d before a, b before c.
    for (first, second) in [(3, 0), (1, 2)] {
        let mut value = 0;
        for i in [first, second] {
            if events[i].access == Write {
                value += 1;
                events[i].value = value;
            }
        }
    }
    events[1].rmw = shape[1] == Read;
    events[2].rmw = shape[2] == Write;
    registers(&mut events);
    let thread = |pair: &[Event], fence: Fence| {
        let mut ops = vec![Op::Access(pair[0])];
        if fence != Fence::None {
            ops.push(Op::Fence(fence));
        }
        ops.push(Op::Access(pair[1]));
        ops
    };
    let mut program = Program {
        name: name.to_string(),
        threads: vec![thread(&events[..2], fences[0]), thread(&events[2..], fences[1])],
        reads: Vec::new(),
        finals: Vec::new(),
    };
    target(&mut program, &events, &[(1, 2), (3, 0)]);
    program
}

/// Three events on one location, with a and b in order or reversed.
fn reversing(name: &str, shape: [Access; 2], rmw: bool, reversed: bool) -> Program {
    let mut events = [event(shape[0], 0), event(shape[1], 0), event(Write, 0)];
    let mut value = 0;
    for e in events.iter_mut().filter(|e| e.access == Write) {
        value += 1;
        e.value = value;
    }
    registers(&mut events);
    let only_writes = shape == [Write, Write];
    if rmw {
        // As in the paper: of equal instances of the cycle, the one with the most
        // read-modify-writes whose other half does not disturb it is kept.
        events[2].rmw = true;
        // The later of two reads, because its write then comes after both.
        events[usize::from(!reversed)].rmw = shape == [Read, Read];
        events[0].rmw |= only_writes;
    }
    let [a, b, c] = events.map(Op::Access);
    let pair = if reversed { vec![b, a] } else { vec![a, b] };
    let mut threads = vec![pair, vec![c]];
    if shape == [Read, Read] {
        // Threads that write come first.
        threads.reverse();
    }
    let mut program =
        Program { name: name.to_string(), threads, reads: Vec::new(), finals: Vec::new() };
    if only_writes {
        // The order of three writes does not show in the final state, so one more thread observes
        // it.
        let look = |r: usize| Event { register: Some(r), ..event(Read, 0) };
        let last = Event { rmw, ..look(1) };
        program.threads.push(vec![Op::Access(look(0)), Op::Access(last)]);
        program.reads = vec![(0, events[1].value), (1, events[2].value)];
        program.finals = vec![(0, events[0].value)];
    } else {
        target(&mut program, &events, &[(1, 2), (2, 0)]);
    }
    program
}

/// Makes a test from a program, by way of its text.
fn mutant(
    program: &Program,
    mutator: Mutator,
    key: String,
    mutates: Option<String>,
) -> Result<Mutant> {
    let text = program.text(mutator, &key, mutates.as_deref());
    let test = litmus::read(&Source::new(program.name.as_str(), text))?;
    Ok(Mutant { test, mutator, key, mutates })
}

const LOCATIONS: [&str; 2] = ["x", "y"];

impl Program {
    fn text(&self, mutator: Mutator, key: &str, mutates: Option<&str>) -> String {
        let accesses = || {
            self.threads.iter().flatten().filter_map(|op| match op {
                Op::Access(e) => Some(*e),
                Op::Fence(_) => None,
            })
        };
        let places = accesses().map(|e| e.location).max().unwrap_or(0) + 1;
        let mut out = format!("C {}\nMutator={}\nKey={key}\n", self.name, mutator.name());
        if let Some(from) = mutates {
            out += &format!("Mutates={from}\n");
        }
        let inits: Vec<String> = LOCATIONS[..places].iter().map(|x| format!("{x}=0;")).collect();
        out += &format!("{{ {} }}\n", inits.join(" "));
        let mut observed: Vec<String> =
            LOCATIONS[..places].iter().map(|x| format!("{x};")).collect();
        let mut owner = [0; 2];
        for (t, ops) in self.threads.iter().enumerate() {
            let used: Vec<usize> = (0..places)
                .filter(|x| ops.iter().any(|op| matches!(op, Op::Access(e) if e.location == *x)))
                .collect();
            let params: Vec<String> =
                used.iter().map(|x| format!("atomic_int* {}", LOCATIONS[*x])).collect();
            out += &format!("\nP{t}({}) {{\n", params.join(", "));
            for op in ops {
                out += &format!("  {};\n", op.text());
                if let Op::Access(Event { register: Some(r), .. }) = op {
                    owner[*r] = t;
                    observed.push(format!("{t}:r{r};"));
                }
            }
            out += "}\n";
        }
        let mut parts: Vec<String> =
            self.reads.iter().map(|(r, v)| format!("{}:r{r}={v}", owner[*r])).collect();
        for (x, location) in LOCATIONS.iter().enumerate().take(places) {
            let values: Vec<String> = self
                .finals
                .iter()
                .filter(|(l, _)| *l == x)
                .map(|(_, v)| format!("{location}={v}"))
                .collect();
            match &values[..] {
                [] => {}
                [one] => parts.push(one.clone()),
                many => parts.push(format!("({})", many.join(" \\/ "))),
            }
        }
        out + &format!("\nlocations [{}]\nexists ({})\n", observed.join(" "), parts.join(" /\\ "))
    }
}

impl Op {
    fn text(&self) -> String {
        match self {
            Op::Fence(Fence::Near) => "atomic_signal_fence(memory_order_acq_rel)".into(),
            Op::Fence(_) => "atomic_thread_fence(memory_order_acq_rel)".into(),
            Op::Access(e) => {
                let (x, v) = (LOCATIONS[e.location], e.value);
                let order = match e.order {
                    Order::Relaxed => "memory_order_relaxed",
                    Order::Acquire => "memory_order_acquire",
                    Order::Release => "memory_order_release",
                };
                let call = match (e.access, e.rmw) {
                    (Write, false) => format!("atomic_store_explicit({x}, {v}, {order})"),
                    (Write, true) => format!("atomic_exchange_explicit({x}, {v}, {order})"),
                    (Read, false) => format!("atomic_load_explicit({x}, {order})"),
                    (Read, true) => format!("atomic_fetch_add_explicit({x}, 0, {order})"),
                };
                match e.register {
                    Some(r) => format!("int r{r} = {call}"),
                    None => call,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
