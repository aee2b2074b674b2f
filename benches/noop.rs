//! Runs with nothing to do, with every file touched, and with one test in a hundred changed,
//! against ninja on as many edges over the same files.
//!
//!     cargo bench --bench noop -- [TESTS] [--no-ninja] [--only-engine] [--generated]
//!
//! First the engine alone, in this process, over items in memory. Then the program itself, as a
//! user starts it, on a pipeline that reads that many litmus tests and simulates each: as loose
//! files, as one tar file, and (with `--generated`) made by the `generate` stage. ninja copies
//! the same loose files; its outputs are made by hand and its rule is a generator's, so that it
//! need not run once for each first.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a measurement stands alone, and prints what it measures"
)]

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use litmake::base::digest::Digest;
use litmake::base::records::Records;
use litmake::diag::Result;
use litmake::engine::events::Silent;
use litmake::engine::graph::{Context, Fingerprint, Graph, Map, Node, Outcome, Source, Work};
use litmake::engine::rows::Entry;
use litmake::engine::run::{Engine, Options};
use litmake::engine::store::{Store, StoreOptions};

/// Items that are made from their numbers; one in a hundred can be given other content.
struct Numbers {
    count: u64,
    round: AtomicU64,
}

impl Numbers {
    fn content(&self, i: u64) -> String {
        let round = if i.is_multiple_of(100) { self.round.load(Ordering::Relaxed) } else { 0 };
        format!("item {i} in round {round}, with some text to make it as long as a small test is")
    }
}

impl Source for Numbers {
    fn list(&self, _: &dyn Records) -> Result<Vec<Entry>> {
        let entry = |i| Entry {
            name: format!("item-{i:08}").into(),
            content: Digest::of(self.content(i).as_bytes()),
        };
        Ok((0..self.count).map(entry).collect())
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        let i = name.strip_prefix("item-")?.parse().ok()?;
        Some(self.content(i).into_bytes())
    }
}

struct Hash {
    runs: AtomicU64,
}

impl Map for Hash {
    fn batch(&self) -> usize {
        256
    }

    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        self.runs.fetch_add(items.len() as u64, Ordering::Relaxed);
        items.iter().map(|i| Outcome::Done(Digest::of(&i[0]).0.to_vec())).collect()
    }
}

fn engine(source: Arc<dyn Source>, dir: &Path) -> (Duration, u64) {
    let start = Instant::now();
    let work = Arc::new(Hash { runs: AtomicU64::new(0) });
    let node = |label: &str, inputs: Vec<usize>, work: Work| Node {
        label: label.into(),
        kind: "bench".into(),
        inputs,
        joined: Vec::new(),
        fingerprint: Fingerprint::default().with_text("work", label),
        work,
        hidden: false,
    };
    let graph = Graph {
        nodes: vec![
            node("source", vec![], Work::Source(source)),
            node("hash", vec![0], Work::Map(work.clone())),
        ],
    };
    let store = Store::open(dir, &StoreOptions::default()).expect("opens");
    let engine = Engine::new(&graph, &store, Options::default(), &Silent).expect("a sound graph");
    assert!(engine.run());
    drop(engine);
    drop(store);
    (start.elapsed(), work.runs.load(Ordering::Relaxed))
}

fn peak_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Time, tasks and tasks that ran, and peak memory of the program.
struct Ran {
    time: Duration,
    cpu: Duration,
    tasks: u64,
    executed: u64,
    mib: u64,
}

/// Runs a command to its end: the time it took, what it used, and whether it went well.
fn timed(command: &mut Command) -> Option<(Duration, libc::rusage, bool)> {
    let start = Instant::now();
    let child = command.stdout(Stdio::null()).spawn().ok()?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the child is ours and is waited for once; the places are valid.
    let usage = unsafe {
        libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr());
        usage.assume_init()
    };
    let status = std::process::ExitStatus::from_raw(status);
    Some((start.elapsed(), usage, status.success()))
}

fn cpu(usage: &libc::rusage) -> Duration {
    let one = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    one(usage.ru_utime) + one(usage.ru_stime)
}

fn program(dir: &Path, pipeline: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_litmake"));
    command
        .args(["run", pipeline, "-q", "--report", "report.json"])
        .args(["--cache", &format!("cache-{pipeline}")])
        .current_dir(dir)
        .env_remove("GITHUB_ACTIONS");
    let (time, usage, well) = timed(&mut command).expect("litmake starts");
    assert!(well, "litmake run {pipeline} failed");
    let report = std::fs::read_to_string(dir.join("report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let sum = |key: &str| -> u64 {
        let stages = report["stages"].as_array().into_iter().flatten();
        stages.map(|s| s[key].as_u64().unwrap_or(0)).sum()
    };
    Ran {
        time,
        cpu: cpu(&usage),
        tasks: sum("tasks"),
        executed: sum("executed"),
        mib: usage.ru_maxrss as u64 / 1024,
    }
}

fn show(what: &str, ran: &Ran) {
    println!(
        "{what:40} {:>8.3} s {:>8.3} s of CPU {:>8} tasks {:>8} run {:>5} MiB",
        ran.time.as_secs_f64(),
        ran.cpu.as_secs_f64(),
        ran.tasks,
        ran.executed,
        ran.mib
    );
}

/// A test like no other: its name and a value tell it from the rest.
fn test(i: u64, round: u64) -> String {
    let value = 1 + i + 1_000_000_000 * round;
    format!(
        "C t{i:08}\n{{}}\nP0 (atomic_long* x) {{\n  atomic_store_explicit(x, {value}, memory_order_relaxed);\n}}\nP1 (atomic_long* x) {{\n  long r0 = atomic_load_explicit(x, memory_order_relaxed);\n}}\nexists (1:r0={value})\n"
    )
}

/// A tar file of tests, as `tar cf` writes it.
fn tar(path: &Path, count: u64) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    for i in 0..count {
        let text = test(i, 0);
        let mut header = [0; 512];
        let mut put = |at: usize, text: &str| {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        put(0, &format!("tests/{i:08}.litmus"));
        put(124, &format!("{:011o}", text.len()));
        put(156, "0");
        put(257, "ustar");
        put(148, "        ");
        let sum: u64 = header.iter().map(|b| u64::from(*b)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        out.write_all(&header)?;
        out.write_all(text.as_bytes())?;
        out.write_all(&[0; 512][..text.len().next_multiple_of(512) - text.len()])?;
    }
    out.write_all(&[0; 1024])?;
    out.flush()
}

fn ninja(dir: &Path, what: &str) {
    match timed(Command::new("ninja").current_dir(dir)) {
        Some((time, usage, true)) => println!(
            "{what:40} {:>8.3} s {:>8.3} s of CPU",
            time.as_secs_f64(),
            cpu(&usage).as_secs_f64()
        ),
        _ => println!("ninja is not installed (package ninja-build), or failed"),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let count: u64 = args.iter().find_map(|a| a.parse().ok()).unwrap_or(100_000);
    let scratch = tempfile::tempdir().expect("a folder");
    let dir = scratch.path();
    let numbers = Arc::new(Numbers { count, round: AtomicU64::new(0) });
    println!("{count} tests");
    let show_engine = |what: &str, (time, runs): (Duration, u64)| {
        println!("{what:40} {:>8.3} s {runs:>42} run", time.as_secs_f64());
    };
    let cache = dir.join("cache-engine");
    show_engine("engine alone, cold", engine(numbers.clone(), &cache));
    show_engine("engine alone, nothing changed", engine(numbers.clone(), &cache));
    numbers.round.store(1, Ordering::Relaxed);
    show_engine("engine alone, one in a hundred changed", engine(numbers, &cache));
    println!("{:40} {:>8} MiB", "engine alone, peak memory of these", peak_mib());
    if has("--only-engine") {
        return;
    }

    let pipeline = |what: &str| {
        format!(
            "stages:\n  - {{name: tests, generate: {{{what}}}}}\n  - {{name: allowed, simulate: {{from: tests, model: sc}}}}\n"
        )
    };
    std::fs::write(dir.join("loose.yaml"), pipeline("files: tests")).expect("a file");
    std::fs::write(dir.join("packed.yaml"), pipeline("files: tests.tar")).expect("a file");
    std::fs::create_dir(dir.join("tests")).expect("a folder");
    std::fs::create_dir(dir.join("out")).expect("a folder");
    let path = |i: u64| dir.join(format!("tests/{i:08}.litmus"));
    for i in 0..count {
        std::fs::write(path(i), test(i, 0)).expect("a file");
    }
    tar(&dir.join("tests.tar"), count).expect("a file");
    show("litmake, loose files, cold", &program(dir, "loose.yaml"));
    show("litmake, loose files, nothing changed", &program(dir, "loose.yaml"));
    show("litmake, loose files, nothing changed", &program(dir, "loose.yaml"));
    show("litmake, tar file, cold", &program(dir, "packed.yaml"));
    show("litmake, tar file, nothing changed", &program(dir, "packed.yaml"));
    if has("--generated") {
        let what = format!(
            "arch: AArch64, vocabulary: [PodWW, PodRR, PodRW, PodWR, Rfe, Fre, Coe], annotations: all, size: 6, limit: {count}"
        );
        std::fs::write(dir.join("made.yaml"), pipeline(&what)).expect("a file");
        show("litmake, generated, cold", &program(dir, "made.yaml"));
        show("litmake, generated, nothing changed", &program(dir, "made.yaml"));
    }

    let with_ninja = !has("--no-ninja");
    if with_ninja {
        let mut text = String::from("rule cp\n  command = cp $in $out\n  generator = 1\n");
        for i in 0..count {
            text += &format!("build out/{i:08}: cp tests/{i:08}.litmus\n");
            std::fs::write(dir.join(format!("out/{i:08}")), "").expect("a file");
        }
        std::fs::write(dir.join("build.ninja"), text).expect("a file");
        for _ in 0..2 {
            ninja(dir, "ninja, nothing changed");
        }
    }
    // As a fresh checkout has it: other inodes and other times, the same content.
    for i in 0..count {
        let copy = dir.join("copy");
        std::fs::copy(path(i), &copy).expect("a copy");
        std::fs::rename(&copy, path(i)).expect("a file");
    }
    show("litmake, loose files, every file touched", &program(dir, "loose.yaml"));
    show("litmake, loose files, nothing changed", &program(dir, "loose.yaml"));
    let changed = (0..count).step_by(100);
    for i in changed.clone() {
        std::fs::write(path(i), test(i, 1)).expect("a file");
    }
    let ran = program(dir, "loose.yaml");
    show("litmake, loose files, one in a hundred", &ran);
    let expected = changed.count() as u64;
    assert_eq!(ran.executed, expected, "what changed runs, and nothing else");
    if with_ninja {
        // Every output is older than its input by now; only those that changed are to count.
        for i in (0..count).filter(|i| !i.is_multiple_of(100)) {
            std::fs::write(dir.join(format!("out/{i:08}")), "").expect("a file");
        }
        ninja(dir, "ninja, one in a hundred");
    }
}
