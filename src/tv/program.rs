//! Writes a function in a context as a litmus test in the dialect of intermediate code.
//!
//! The function's own thread is a function that runs the accesses before the call, calls, keeps the result in memory,
//! and runs the accesses after it; all that it calls is inlined (`isa/llvm/thread`). It does not know which contexts
//! there are, nor what outcomes mean.

use litmake_base::diag::{Source, Span};
use litmake_isa::llvm::access::UPPER_FIRST;
use litmake_isa::llvm::thread::{Given, thread};
use litmake_litmus::{Arch, Body, Features, InitItem, InitValue, Line, Place, Test, Type, Value};

use super::context::{Around, Context, Kind, Op, Order, Spot};
use super::ir::{self, Read, Signature, line};
use super::machine;
use super::observe::{ENTRIES, Effect, Observed, RECORD, RECORDED, UNDEFINED};
use super::setting::{Setting, mask};

/// The name of the function's own thread.
const THREAD: &str = "context";

/// A function, ready to be called.
pub struct Subject {
    /// Its name, with the sigil.
    pub function: String,
    /// Its parameters and results.
    pub signature: Signature,
    /// Its module, whose functions record what they do. It is empty where the function is machine code.
    pub observed: Observed,
    /// The function as machine code, if it is.
    pub machine: Option<machine::Callee>,
}

/// The function's own thread in a context, and the locations that it needs beside those of the setting.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its code.
    pub lines: Vec<Line>,
    /// Further locations.
    pub init: Vec<InitItem>,
}

/// The function's own thread.
pub fn own(subject: &Subject, setting: &Setting, around: &Around) -> Read<Own> {
    thread_of(subject, setting, around, true)
}

/// The function's own thread, with a record of what it does or without.
fn thread_of(subject: &Subject, setting: &Setting, around: &Around, records: bool) -> Read<Own> {
    let mut lines = Vec::new();
    let mut init = hidden(subject, records);
    let mut seen = 0;
    let mut add = |ops: &[Op], lines: &mut Vec<Vec<String>>, init: &mut Vec<InitItem>| {
        for op in ops {
            let spot = &setting.spots[op.spot];
            let (text, result) = access(op, spot, setting, &format!("%tv.seen.{seen}"));
            let fenced = op.order == Order::Fenced;
            if fenced && !op.kind.writes() {
                lines.push(line("fence acquire"));
            }
            lines.push(line(&text));
            if fenced && op.kind.writes() {
                lines.push(line("fence release"));
            }
            if is_mapped(op, setting) {
                lines.push(line("fence seq_cst"));
            }
            if let Some(result) = result {
                let bits = 8 * spot.size;
                lines.push(line(&format!("store i{bits} {result}, ptr @seen_{seen}")));
                init.push(place(&format!("seen_{seen}"), spot.size, 1));
                seen += 1;
            }
        }
    };
    add(&around.before, &mut lines, &mut init);
    let args = subject.signature.params.iter().zip(&setting.operands);
    let args: Vec<String> = args.map(|(p, o)| format!("{} {o}", p.text())).collect();
    let call =
        format!("call {} {} ({})", subject.signature.returns, subject.function, args.join(", "));
    match subject.signature.results[..] {
        [] => lines.push(line(&call)),
        _ => lines.push(line(&format!("%tv.result = {call}"))),
    }
    let pointer = subject.observed.module.pointer();
    for (n, (at, scalar)) in subject.signature.results.iter().enumerate() {
        let mut value = "%tv.result".to_string();
        if !at.is_empty() {
            let at: Vec<String> = at.iter().map(ToString::to_string).collect();
            let whole = &subject.signature.returns;
            // Lanes of vectors are parts here, too.
            let at = at.join(", ");
            lines.push(line(&format!("%tv.result.{n} = extractvalue {whole} {value}, {at}")));
            value = format!("%tv.result.{n}");
        }
        lines.push(line(&format!("store {} {value}, ptr @returned_{n}", scalar.text())));
        init.push(place(&format!("returned_{n}"), scalar.bytes(pointer), 1));
    }
    add(&around.after, &mut lines, &mut init);
    lines.push(line("ret void"));
    let of = &subject.observed;
    let mut module = if records { of.module.clone() } else { of.bare.clone() };
    for call in &of.calls {
        let mut within = Vec::new();
        let mut read = None;
        let acts = call.synchronises || call.effect == Effect::Reads;
        for (n, op) in around.during.iter().filter(|_| acts).enumerate() {
            let spot = &setting.spots[op.spot];
            let (text, result) = access(op, spot, setting, &format!("%tv.within.{n}"));
            within.push(line(&text));
            let Some(result) = result else { continue };
            match call.effect {
                Effect::Reads => read = Some((result, spot.size)),
                _ => {
                    let name = format!("seen_within_{n}");
                    let bits = 8 * spot.size;
                    within.push(line(&format!("store i{bits} {result}, ptr @{name}")));
                    let item = place(&name, spot.size, 1);
                    if !init.contains(&item) {
                        init.push(item);
                    }
                }
            }
        }
        module.functions.insert(call.name.clone(), call.body(records, &within, read.as_ref()));
    }
    module.functions.insert(format!("@{THREAD}"), ir::function(lines));
    let given = Given { module: &module, thread: 0, params: &[], globals: &setting.globals };
    let made = thread(THREAD, &given)?;
    // Several calls of a function read at several times; each leaves what the last one saw.
    init.extend(made.init);
    Ok(Own { lines: made.lines, init })
}

/// The locations for what a function records.
fn hidden(subject: &Subject, records: bool) -> Vec<InitItem> {
    let mut out = Vec::new();
    let observed = &subject.observed;
    if records && observed.records {
        out.push(place(RECORD, 8, ENTRIES));
        out.push(place(RECORDED, 8, 1));
    }
    if observed.undefined {
        out.push(place(UNDEFINED, 1, 1));
    }
    out
}

/// A location that holds 0 at first.
pub(super) fn place(name: &str, bytes: u8, count: u64) -> InitItem {
    let one = Type::Int { bytes, signed: false };
    let ty = if count == 1 { one } else { Type::Array(one.into(), count) };
    let place = Place::Mem { name: name.to_string(), index: None };
    InitItem { place, ty: Some(ty), value: None, span: Span::default() }
}

/// Whether an access has a fence behind it, as seq_cst writes have where they are mapped to fences.
fn is_mapped(op: &Op, setting: &Setting) -> bool {
    setting.maps && op.order == Order::Strong && op.kind.writes()
}

/// An access as text, and the name of what it reads.
fn access(op: &Op, spot: &Spot, setting: &Setting, name: &str) -> (String, Option<String>) {
    let location = &setting.locations[spot.location].name;
    let address = match spot.off {
        0 => format!("ptr @{location}"),
        off => format!("ptr getelementptr (i8, ptr @{location}, i64 {off})"),
    };
    let bits = 8 * u16::from(spot.size);
    let (atomic, order) = match op.order {
        Order::Plain => ("", ""),
        Order::Relaxed | Order::Fenced => ("atomic ", " monotonic"),
        Order::Strong => ("atomic ", " seq_cst"),
    };
    let upper = match setting.upper_first && !spot.pointer {
        true => format!("{UPPER_FIRST} "),
        false => String::new(),
    };
    match op.kind {
        Kind::Read | Kind::Await => (
            format!("{name} = load {upper}{atomic}i{bits}, {address}{order}"),
            Some(name.to_string()),
        ),
        Kind::Write(value) => {
            (format!("store {upper}{atomic}i{bits} {value}, {address}{order}"), None)
        }
        Kind::Add(value) => {
            let order = if order.is_empty() { " monotonic" } else { order };
            let text = format!("{name} = atomicrmw {upper}add {address}, i{bits} {value}{order}");
            (text, Some(name.to_string()))
        }
    }
}

/// The test of a function that is called alone, in which locations have so many bytes and hold a value. Nothing is
/// recorded.
pub fn alone(subject: &Subject, setting: &Setting, bytes: u64, initial: u64) -> Read<Test> {
    let own = thread_of(subject, setting, &Around::default(), false)?;
    let mut init: Vec<InitItem> = Vec::new();
    let word = setting.word;
    for item in setting.items(initial) {
        let Place::Mem { name, .. } = &item.place else { continue };
        let one = Type::Int { bytes: word, signed: false };
        let ty = Type::Array(one.into(), bytes / u64::from(word));
        init.push(InitItem { ty: Some(ty), value: item.value.clone(), ..place(name, 8, 1) });
    }
    init.extend(own.init.clone());
    Ok(finish(subject, init, vec![own.lines], Vec::new()))
}

/// The test of a function in a context.
pub fn test(
    subject: &Subject,
    setting: &Setting,
    context: &Context,
    own: &Own,
    initial: u64,
) -> Test {
    let mut init = setting.items(initial);
    let mut shown: Vec<Place> = setting
        .locations
        .iter()
        .map(|l| Place::Mem { name: l.name.clone(), index: None })
        .collect();
    for item in &own.init {
        if let Place::Mem { name, .. } = &item.place
            && !name.starts_with("stack_")
            && !name.starts_with("module_")
        {
            shown.push(item.place.clone());
        }
        init.push(item.clone());
    }
    let mut threads = vec![own.lines.clone()];
    for (number, ops) in context.others.iter().enumerate() {
        let mut lines: Vec<Line> = Vec::new();
        let (mut reads, mut waits) = (0, 0);
        for op in ops {
            let spot = &setting.spots[op.spot];
            let (text, result) = access(op, spot, setting, &format!("%r{reads}"));
            lines.push(plain(text));
            if is_mapped(op, setting) {
                lines.push(plain("fence seq_cst".into()));
            }
            if op.kind == Kind::Await {
                let bits = 8 * spot.size;
                let first = initial & mask(bits);
                lines.push(plain(format!("%c{reads} = icmp ne i{bits} %r{reads}, {first}")));
                lines.push(plain(format!("br i1 %c{reads}, label %L{waits}, label %never")));
                lines.push(labelled(&format!("L{waits}"), String::new()));
                waits += 1;
            }
            if result.is_some() {
                let place = Place::Reg { thread: number + 1, name: format!("%r{reads}") };
                let ty = Some(Type::Int { bytes: spot.size.min(8), signed: false });
                init.push(InitItem {
                    place: place.clone(),
                    ty,
                    value: None,
                    span: Span::default(),
                });
                shown.push(place);
                reads += 1;
            }
        }
        lines.push(plain("ret void".into()));
        if waits > 0 {
            lines.push(labelled("never", "unreachable".into()));
        }
        threads.push(lines);
    }
    finish(subject, init, threads, shown)
}

fn plain(text: String) -> Line {
    Line { labels: Vec::new(), text, span: Span::default() }
}

fn labelled(label: &str, text: String) -> Line {
    Line { labels: vec![label.into()], ..plain(text) }
}

/// The test with a thread for each place where undef matters, which writes the value that stands for undef, for the
/// model `llvm-undef`: where a function's access that is not atomic conflicts with one of the context.
pub fn with_undef(test: &Test, setting: &Setting, context: &Context, value: u64) -> Test {
    let mut out = test.clone();
    let ops = || context.others.iter().flatten();
    let races = |spot: &Spot| {
        let conflicts =
            |op: &Op| setting.spots[op.spot].meets(spot) && (op.kind.writes() || spot.written);
        spot.plain && spot.size <= 8 && ops().any(conflicts)
    };
    for spot in setting.spots.iter().filter(|s| races(s)) {
        let op = Op { spot: 0, kind: Kind::Write(value), order: Order::Plain };
        let (text, _) = access(&op, spot, setting, "");
        let text = text.replacen(" i", " atomic volatile i", 1) + " unordered";
        out.threads.push(Body::Asm(vec![plain(text), plain("ret void".into())]));
    }
    out
}

fn finish(
    subject: &Subject,
    init: Vec<InitItem>,
    threads: Vec<Vec<Line>>,
    shown: Vec<Place>,
) -> Test {
    let name = subject.function.trim_start_matches('@').to_string();
    let threads = threads.into_iter().map(Body::Asm).collect();
    let source = Source::new(subject.function.clone(), "");
    let mut test = Test { source, ..Test::of_code(Arch::Llvm, name, init, threads, shown) };
    if subject.observed.module.is_narrow() {
        test.add_features(Features { ptr32: true, ..Features::default() });
    }
    test
}

/// A value as a state shows it: a number, or an address.
pub fn value(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse() {
        return Some(Value::Int(number));
    }
    let (name, index) = match text.split_once('[') {
        Some((name, rest)) => (name, rest.trim_end_matches(']').parse().ok()?),
        None => (text, 0),
    };
    (!name.contains(['+', ' '])).then(|| Value::Addr { name: name.to_string(), index })
}

/// The initial value of a place, for people.
pub fn shown(item: &InitItem) -> Option<String> {
    let one = |v: &Value| match v {
        Value::Int(n) => n.to_string(),
        Value::Addr { name, .. } => format!("&{name}"),
        Value::Label { name, .. } => name.clone(),
    };
    let Place::Mem { name, .. } = &item.place else { return None };
    match item.value.as_ref()? {
        InitValue::One(value) => Some(format!("{name} = {}", one(value))),
        InitValue::Array(values) => {
            let all: Vec<String> = values.iter().map(one).collect();
            Some(format!("{name} = {{{}}}", all.join(", ")))
        }
    }
}
