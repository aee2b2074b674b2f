//! The cases of `tests/tv`: pairs of functions, each with the answer that its source says. A case begins with a line
//! `## NAME`, then lines `# expect: refuted|holds|same|not understood`, `# model: NAME` (llvm-lb if it says nothing),
//! `# accesses: N` where fewer than usual are tried, and `# source: ...`, and then a module with `@src` and `@tgt`. The
//! tables have a cell in each line, of which the functions are made here.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests look at files, and say what they find"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use litmake_isa::llvm::module::Module;
use litmake_tv::context::Bound;
use litmake_tv::judge::{Answer, Court, Evidence, Report, Settings};
use litmake_tv::pair;

/// The largest contexts that the command tries.
const USUAL: Bound = Bound { threads: 2, accesses: 4 };

struct Case {
    place: String,
    expect: String,
    model: String,
    accesses: usize,
    text: String,
}

fn cases(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("reads");
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut out = Vec::new();
    for part in text.split("\n## ").skip(1) {
        let (title, body) = part.split_once('\n').expect("a title");
        let told = |key: &str| {
            let mut lines = body.lines();
            lines.find_map(|l| {
                l.strip_prefix("# ")?.strip_prefix(key)?.strip_prefix(':').map(str::trim)
            })
        };
        assert!(told("source").is_some_and(|s| !s.is_empty()), "{name}: {title}: no source");
        let code: Vec<&str> = body.lines().filter(|l| !l.starts_with("# ")).collect();
        out.push(Case {
            place: format!("{name}: {title}"),
            expect: told("expect").expect("an answer").to_string(),
            model: told("model").unwrap_or("llvm-lb").to_string(),
            accesses: told("accesses").map_or(USUAL.accesses, |n| n.parse().expect("a number")),
            text: code.join("\n"),
        });
    }
    assert!(!out.is_empty(), "{name} has no cases");
    out
}

/// The cases of a table.
fn cells(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("reads");
    let lines = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let cell = |line: &str| {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [model, change, first, second, expect, why] = parts[..] else { panic!("{line}") };
        assert!(!why.is_empty(), "{line}: no reason");
        let (before, after) = functions(change, first, second);
        let head = "(ptr noalias %x, ptr noalias %y)";
        let define = |name: &str, (body, returns): &(Vec<String>, String)| {
            let body = body.join("\n  ");
            format!("define {RETURNS} @{name}{head} {{\n  {body}\n  ret {returns}\n}}\n")
        };
        Case {
            place: format!("{model}: {change} {first} {second}"),
            expect: if expect == "legal" { "holds" } else { "refuted" }.to_string(),
            model: model.to_string(),
            accesses: USUAL.accesses,
            text: define("src", &before) + &define("tgt", &after),
        }
    };
    lines.map(cell).collect()
}

/// An access of a table at a place, with the value that it stores or the name of what it loads.
fn access(of: &str, place: &str, value: &str) -> String {
    let (kind, order) = of.split_at(1);
    let order = match order {
        "na" => "",
        "rlx" => "monotonic",
        "acq" => "acquire",
        "rel" => "release",
        "sc" => "seq_cst",
        other => panic!("{other}"),
    };
    let atomic = if order.is_empty() { "" } else { "atomic " };
    match kind {
        "R" => {
            format!("{value} = load {atomic}i32, ptr %{place} {order}, align 4").replace(" ,", ",")
        }
        "W" => {
            format!("store {atomic}i32 {value}, ptr %{place} {order}, align 4").replace(" ,", ",")
        }
        other => panic!("{other}"),
    }
}

type Body = (Vec<String>, String);

/// The type that functions of tables return: what both accesses read.
const RETURNS: &str = "{ i32, i32 }";

/// A body that returns two values. They are only moved, since undef may be among them.
fn body(mut lines: Vec<String>, a: &str, b: &str) -> Body {
    lines.push(format!("%p = insertvalue {RETURNS} poison, i32 {a}, 0"));
    lines.push(format!("%q = insertvalue {RETURNS} %p, i32 {b}, 1"));
    (lines, format!("{RETURNS} %q"))
}

/// The bodies before and after a change, with what they return.
fn functions(change: &str, first: &str, second: &str) -> (Body, Body) {
    let loads = |of: &str| of.starts_with('R');
    let value = |of, name| if loads(of) { name } else { "0" };
    match change {
        "swap" => {
            let a = access(first, "x", if loads(first) { "%a" } else { "1" });
            let b = access(second, "y", if loads(second) { "%b" } else { "2" });
            let with = |lines: [&String; 2]| {
                let lines = lines.into_iter().cloned().collect();
                body(lines, value(first, "%a"), value(second, "%b"))
            };
            (with([&a, &b]), with([&b, &a]))
        }
        "becomes" => {
            let stored = if loads(first) { "%a" } else { "1" };
            let one = |of| body(vec![access(of, "x", stored)], value(first, "%a"), "0");
            (one(first), one(second))
        }
        "merge" if loads(first) => {
            let (a, b) = (access(first, "x", "%a"), access(second, "x", "%b"));
            (body(vec![a.clone(), b], "%a", "%b"), body(vec![a], "%a", "%a"))
        }
        "merge" => {
            let (a, b) = (access(first, "x", "1"), access(second, "x", "2"));
            (body(vec![a, b.clone()], "0", "0"), body(vec![b], "0", "0"))
        }
        "forward" => {
            let (a, b) = (access(first, "x", "1"), access(second, "x", "%b"));
            (body(vec![a.clone(), b], "%b", "0"), body(vec![a], "1", "0"))
        }
        "introduce" => {
            let load = access(&first.replace('W', "R"), "x", "%a");
            let after = match loads(first) {
                true => vec![load],
                false => vec![load, access(first, "x", "%a")],
            };
            (body(Vec::new(), "0", "0"), body(after, "0", "0"))
        }
        other => panic!("{other}"),
    }
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Same => "same",
        Answer::Holds => "holds",
        Answer::Refuted(_) => "refuted",
        Answer::NotUnderstood(_) => "not understood",
        Answer::NotJudged(..) => "not judged",
        Answer::Different(_) => "different",
    }
}

fn details(report: &Report) -> String {
    match &report.answer {
        Answer::Refuted(r) => {
            let why = match &r.evidence {
                Evidence::Outcome { state, undef, .. } => format!("{state:?} undef={undef:?}"),
                Evidence::Undefined(_) => "undefined".into(),
            };
            format!(
                "{:?} {:?}\n{why}\n{}",
                r.arguments,
                r.context,
                litmake_litmus::write(&r.target)
            )
        }
        answer => format!("{answer:?}"),
    }
}

/// Judges the cases that no other thread has taken, and says which have another answer than their source.
fn judged(all: &[Case], next: &AtomicUsize, show: bool) -> Vec<String> {
    let (mut wrong, mut courts) = (Vec::new(), BTreeMap::<(&str, usize), Court>::new());
    while let Some(case) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
        let court = courts.entry((&case.model, case.accesses)).or_insert_with(|| {
            let bound = Bound { accesses: case.accesses, ..USUAL };
            let settings = Settings { model: case.model.clone(), bound, ..Settings::default() };
            Court::new(settings).expect("loads")
        });
        let module = Module::read(&case.text).unwrap_or_else(|e| panic!("{}: {e}", case.place));
        let pairs = pair::within(&module);
        let [pair] = &pairs[..] else { panic!("{}: not one pair", case.place) };
        let report = court.judge(pair);
        let found = word(&report.answer);
        println!(
            "{:<60} {found:<10} {} contexts, {} excused, {} ms",
            case.place,
            report.judged,
            report.excused,
            report.time.as_millis()
        );
        if found != case.expect {
            let details = details(&report);
            wrong.push(format!("{}: expected {}, {details}", case.place, case.expect));
        } else if show {
            println!("{}", details(&report));
        }
    }
    wrong
}

#[test]
fn every_case_has_the_answer_of_its_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tv");
    let wanted = std::env::var("LITMAKE_TV_CASE").ok();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|e| e.expect("an entry").path())
        .collect();
    files.sort();
    let of = |file: &std::path::PathBuf| match file.extension().and_then(|e| e.to_str()) {
        Some("cases") => cases(file),
        Some("table") => cells(file),
        _ => panic!("{} is neither cases nor a table", file.display()),
    };
    let mut all: Vec<Case> = files.iter().flat_map(of).collect();
    all.retain(|case| wanted.as_ref().is_none_or(|w| case.place.contains(w)));
    assert!(!all.is_empty(), "no case");
    let next = AtomicUsize::new(0);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let one = || judged(&all, &next, wanted.is_some());
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        started.into_iter().flat_map(|thread| thread.join().expect("a thread's cases")).collect()
    });
    assert!(
        wrong.is_empty(),
        "{} of {} are wrong:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n\n")
    );
}
