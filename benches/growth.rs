//! How the time of one test grows with its size, on one core: nine families, each with a size that
//! counts one thing. A family ends at the first size that takes longer than the limit.
//!
//!     HERD7="herd7" cargo bench --bench growth -- --limit 20 --plot docs/growth.svg
//!
//! Where HERD7 names a herd7, with its options, it gets the same tests, one process a test.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a measurement stands alone, and prints what it measures"
)]

use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus;
use litmake::sim::{Model, Options, Simulator};

/// A family: what its size counts, and the test of a size.
type Family = (&'static str, &'static str, fn(usize) -> String);

const FAMILIES: [Family; 9] = [
    ("store buffering around a ring", "threads", ring),
    ("readers of two locations", "threads that read", readers),
    ("updates of one location", "threads that add", updates),
    ("different updates", "threads that add", amounts),
    ("updates that are looked at", "threads that add", counters),
    ("writers of one location", "threads that store, and two that load", writers),
    ("reads of one location", "stores, and as many loads", reads),
    ("a message of many fields", "fields", fields),
    ("stores of two threads", "stores a thread", stores),
];

const SIZES: std::ops::RangeInclusive<usize> = 1..=32;

fn c(name: &str, size: usize, threads: &[String], condition: &str) -> String {
    format!("C {name}{size}\n{{}}\n{}exists ({condition})\n", threads.concat())
}

fn thread(n: usize, params: &[String], body: &str) -> String {
    let params: Vec<String> = params.iter().map(|p| format!("atomic_int* {p}")).collect();
    format!("P{n} ({}) {{\n{body}}}\n", params.join(", "))
}

fn names(stem: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{stem}{i}")).collect()
}

fn both<T: ToString>(list: &[T]) -> String {
    list.iter().map(T::to_string).collect::<Vec<_>>().join(" /\\ ")
}

fn store(place: &str, value: usize, order: &str) -> String {
    format!("  atomic_store_explicit({place}, {value}, memory_order_{order});\n")
}

fn load(local: &str, place: &str, order: &str) -> String {
    format!("  int {local} = atomic_load_explicit({place}, memory_order_{order});\n")
}

/// Each thread stores to its location and loads the next thread's.
fn ring(n: usize) -> String {
    let n = n + 1;
    let threads: Vec<String> = (0..n)
        .map(|i| {
            let (own, next) = (format!("x{i}"), format!("x{}", (i + 1) % n));
            let body = store(&own, 1, "relaxed") + &load("r0", &next, "relaxed");
            thread(i, &[own, next], &body)
        })
        .collect();
    let zero: Vec<String> = (0..n).map(|i| format!("{i}:r0=0")).collect();
    c("ring", n, &threads, &both(&zero))
}

/// Two threads store, each to its location; all others load both.
fn readers(n: usize) -> String {
    let places = ["x".to_string(), "y".to_string()];
    let mut threads = vec![
        thread(0, &places[..1], &store("x", 1, "release")),
        thread(1, &places[1..], &store("y", 1, "release")),
    ];
    for i in 0..n {
        let body = load("r0", "x", "acquire") + &load("r1", "y", "acquire");
        threads.push(thread(i + 2, &places, &body));
    }
    let seen: Vec<String> = (0..n).map(|i| format!("{t}:r0=1 /\\ {t}:r1=0", t = i + 2)).collect();
    c("readers", n, &threads, &both(&seen))
}

/// Each thread adds one to a counter and keeps what was there.
fn updates(n: usize) -> String {
    let add = "  int r0 = atomic_fetch_add_explicit(x, 1, memory_order_relaxed);\n";
    let threads: Vec<String> = (0..n).map(|i| thread(i, &["x".into()], add)).collect();
    c("updates", n, &threads, &format!("x={n}"))
}

/// Each thread adds a number of its own, and nobody looks at what was there.
fn amounts(n: usize) -> String {
    let add =
        |i| format!("  int r0 = atomic_fetch_add_explicit(x, {}, memory_order_relaxed);\n", i + 1);
    let threads: Vec<String> = (0..n).map(|i| thread(i, &["x".into()], &add(i))).collect();
    c("amounts", n, &threads, &format!("x={}", n * (n + 1) / 2))
}

/// Each thread adds one to a counter, and all look at what was there.
fn counters(n: usize) -> String {
    let add = "  int r0 = atomic_fetch_add_explicit(x, 1, memory_order_relaxed);\n";
    let threads: Vec<String> = (0..n).map(|i| thread(i, &["x".into()], add)).collect();
    let each: Vec<String> = (0..n).map(|i| format!("{i}:r0={i}")).collect();
    c("counters", n, &threads, &both(&each))
}

/// Each thread stores a value of its own; two others load twice.
fn writers(n: usize) -> String {
    let place = ["x".to_string()];
    let mut threads: Vec<String> =
        (0..n).map(|i| thread(i, &place, &store("x", i + 1, "relaxed"))).collect();
    let loads = load("r0", "x", "relaxed") + &load("r1", "x", "relaxed");
    threads.extend((n..n + 2).map(|i| thread(i, &place, &loads)));
    let seen: Vec<String> = (n..n + 2).map(|t| format!("{t}:r0=1 /\\ {t}:r1={n}")).collect();
    c("writers", n, &threads, &both(&seen))
}

/// One thread stores different values, one after the other; another one loads as often.
fn reads(n: usize) -> String {
    let writes: String = (1..=n).map(|v| store("x", v, "relaxed")).collect();
    let loads: String = (0..n).map(|i| load(&format!("r{i}"), "x", "relaxed")).collect();
    let threads = [thread(0, &["x".into()], &writes), thread(1, &["x".into()], &loads)];
    c("reads", n, &threads, &format!("1:r0={n}"))
}

/// Message passing in which the message has fields.
fn fields(n: usize) -> String {
    let (places, mut params) = (names("x", n), names("x", n));
    params.push("y".to_string());
    let writes: String = places.iter().map(|x| store(x, 1, "relaxed")).collect();
    let loads: String =
        places.iter().enumerate().map(|(i, x)| load(&format!("r{i}"), x, "relaxed")).collect();
    let threads = [
        thread(0, &params, &(writes + &store("y", 1, "release"))),
        thread(1, &params, &(load("s", "y", "acquire") + &loads)),
    ];
    c("fields", n, &threads, "1:s=1 /\\ 1:r0=0")
}

/// Two threads store to the same locations, and only the last values are looked at.
fn stores(n: usize) -> String {
    let places = names("x", n);
    let body = |v: usize| -> String { places.iter().map(|x| store(x, v, "relaxed")).collect() };
    let threads = [thread(0, &places, &body(1)), thread(1, &places, &body(2))];
    let last: Vec<String> = places.iter().map(|x| format!("{x}=1")).collect();
    c("stores", n, &threads, &both(&last))
}

/// Seconds by size, and the size that took too long.
#[derive(Default)]
struct Curve {
    points: Vec<(usize, f64)>,
    ended: Option<usize>,
}

impl Curve {
    fn add(&mut self, size: usize, took: Option<Duration>, limit: Duration) {
        match took.filter(|t| *t <= limit) {
            Some(t) => self.points.push((size, t.as_secs_f64())),
            None => self.ended = Some(size),
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let limit = value("--limit").and_then(|l| l.parse().ok()).unwrap_or(10.0);
    let limit = Duration::from_secs_f64(limit);
    let herd: Option<Vec<String>> =
        std::env::var("HERD7").ok().map(|h| h.split_whitespace().map(String::from).collect());
    let options = Options { timeout: Some(limit), ..Options::default() };
    let cat = cat::load("rc11", &LoadOptions::new(litmus::Arch::C)).expect("the model loads");
    let model = Model::load(&cat).expect("the model compiles");
    let mut curves = Vec::new();
    for (name, counts, test) in FAMILIES {
        let (mut ours, mut theirs) = (Curve::default(), Curve::default());
        println!("{name}; the size counts {counts}");
        for size in SIZES {
            let text = test(size);
            if ours.ended.is_none() {
                // A simulator of its own, as who asks about one test has it.
                let start = Instant::now();
                let read = litmus::read(&Source::new(name, text.as_str())).expect("a test");
                let found = Simulator::default().simulate(&read, &model, &options);
                let took = start.elapsed();
                if let Ok(found) = &found {
                    println!(
                        "{size:>4} {:>10.4} s  {} outcomes",
                        took.as_secs_f64(),
                        found.states.len()
                    );
                }
                ours.add(size, found.ok().map(|_| took), limit);
            }
            if let (Some(herd), None) = (&herd, theirs.ended) {
                let took = run(herd, &text, limit);
                if let Some(took) = took {
                    println!("{size:>4} {:>10.4} s  herd7", took.as_secs_f64());
                }
                theirs.add(size, took, limit);
            }
        }
        curves.push((name, counts, ours, theirs));
    }
    if let Some(path) = value("--plot") {
        std::fs::write(path, plot(&curves, limit)).expect("the plot can be written");
    }
}

/// How long herd7 takes for a test; nothing if it does not end in time.
fn run(herd: &[String], text: &str, limit: Duration) -> Option<Duration> {
    let file = std::env::temp_dir().join(format!("growth-{}.litmus", std::process::id()));
    std::fs::write(&file, text).ok()?;
    let start = Instant::now();
    let mut child = Command::new(herd.first()?)
        .args(&herd[1..])
        .args(["-model", "rc11.cat"])
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return status.success().then(|| start.elapsed());
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The curves, a panel a family; time is logarithmic.
fn plot(curves: &[(&str, &str, Curve, Curve)], limit: Duration) -> String {
    const W: f64 = 250.0;
    const H: f64 = 150.0;
    const LEFT: f64 = 45.0;
    const TOP: f64 = 30.0;
    const LEAST: f64 = 1e-4;
    let mut out = String::new();
    let most = limit.as_secs_f64();
    let x = |size: usize| LEFT + W * size as f64 / *SIZES.end() as f64;
    let y = |s: f64| TOP + H * (1.0 - (s.max(LEAST) / LEAST).log10() / (most / LEAST).log10());
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 940 700\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"940\" height=\"700\" fill=\"white\"/>\n"
    );
    for (i, (name, counts, ours, theirs)) in curves.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate({},{})\">", i % 3 * 312, i / 3 * 230);
        let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{name}</text>");
        for (s, label) in [
            (1e-4, "0.1 ms"),
            (1e-3, "1 ms"),
            (1e-2, "10 ms"),
            (0.1, "0.1 s"),
            (1.0, "1 s"),
            (10.0, "10 s"),
        ] {
            if s <= most {
                let (y, end) = (y(s), LEFT + W);
                let _ = writeln!(
                    out,
                    "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"#ddd\"/><text x=\"41\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                    y + 4.0
                );
            }
        }
        for size in (0..=*SIZES.end()).step_by(8) {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"194\" text-anchor=\"middle\">{size}</text>",
                x(size)
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"208\" text-anchor=\"middle\">{counts}</text>",
            LEFT + W / 2.0
        );
        for (curve, colour) in [(theirs, "#c05020"), (ours, "#2060c0")] {
            let points: Vec<String> =
                curve.points.iter().map(|(n, s)| format!("{:.1},{:.1}", x(*n), y(*s))).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points.join(" ")
            );
            if let Some(size) = curve.ended {
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{colour}\">\u{d7}</text>",
                    x(size),
                    y(most) + 4.0
                );
            }
        }
        out += "</g>\n";
    }
    out += "<text x=\"45\" y=\"692\"><tspan fill=\"#2060c0\">litmake</tspan>, <tspan fill=\"#c05020\">herd7</tspan>: seconds for one test; \u{d7}: not within the limit</text>\n</svg>\n";
    out
}
