//! Feeds broken inputs to every reader of what users write: pipelines, profiles, baselines,
//! reports, results, lists of tests and archives of them; and to those of object files and libraries. Whatever they say, they must say it without a
//! panic and in reasonable time.
//!
//!     cargo run --profile fast --example fuzz_inputs -- [CPU-SECONDS] [SEED] [KIND]
//!
//! Seeds are the pipelines and profiles that come with litmake, mutated with words that mean
//! something in them. The input in hand lies in `target/fuzz/current`, so that one that kills the
//! process is known; those that panic or take over a second are kept beside it. The exit status
//! is 1 where there was any.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use litmake::base::digest::Digest;
use litmake::base::records::Nowhere;
use litmake::litmus::{Arch, list, pack};
use litmake::pipeline::kinds::Kind;
use litmake::pipeline::query;
use litmake::profile::Profiles;
use litmake::profile::files::Files;
use litmake::report::baseline::{Baseline, Seen};
use litmake::report::{Report, github, junit, merge, terminal};
use litmake::stage::workspace::Workspace;
use litmake::stats::results::Results;
use litmake::toolchain::image::Image;
use litmake::toolchain::image::library::Library;
use litmake::toolchain::{layout, lift};

const SLOW: Duration = Duration::from_secs(1);

/// Words that pipelines, profiles and reports are made of.
const WORDS: &[&str] = &[
    "stages",
    "name",
    "generate",
    "compile",
    "simulate",
    "dedupe",
    "compare",
    "mutate",
    "run",
    "files",
    "from",
    "profile",
    "profiles",
    "matrix",
    "foreach",
    "vars",
    "env",
    "include",
    "templates",
    "baseline",
    "model",
    "timeout",
    "limit",
    "sample",
    "seed",
    "arch",
    "vocabulary",
    "cycles",
    "shapes",
    "families",
    "size",
    "threads",
    "observe",
    "extends",
    "args",
    "compiler",
    "mapping",
    "runtime",
    "suite",
    "exclude",
    "device",
    "gpu",
    "${x}",
    "${",
    "}",
    "$${",
    "${env.A}",
    "&a",
    "*a",
    "<<: *a",
    "<<",
    "- ",
    ": ",
    "\n",
    "\n  ",
    "\n    ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    "\"",
    "|",
    ">",
    "#",
    "~",
    "null",
    "true",
    "yes",
    "0",
    "-1",
    "1e9",
    "0x10",
    "99999999999999999999",
    ".inf",
    "!!binary",
    "!tag",
    "---",
    "...",
    "%YAML 1.2",
    "? ",
    "\t",
    "\u{feff}",
    "\u{0}",
    "é",
    "\u{2028}",
    "**/*.litmus",
    "@all",
    "../..",
    "/",
    "PodWW",
    "Rfe",
    "Pod**",
    "[Rfe Fre]",
    "C",
    "AArch64",
    "all",
    "mp",
    "sc",
    "rc11",
    "x86tso",
    "p.yaml",
    "q.yaml",
    "findings",
    "status",
    "new",
    "known",
    "fixed",
    "outcomes",
    "errors",
    "tasks",
    "executed",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() >> 11) as usize % n }
    }
}

/// A place in a text that is no inside of a character.
fn place(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn mutated(seeds: &[String], random: &mut Random) -> String {
    let mut text = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let (a, b) = (place(&text, random), place(&text, random));
        let (a, b) = (a.min(b), a.max(b));
        let near = {
            let mut end = b.min(a + random.below(30));
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            end.max(a)
        };
        match random.below(8) {
            0 => text.replace_range(a..near, ""),
            1 => text.insert_str(a, WORDS[random.below(WORDS.len())]),
            2 => text.replace_range(a..near, WORDS[random.below(WORDS.len())]),
            3 => {
                let part = text[a..b].to_string();
                let at = place(&text, random);
                text.insert_str(at, &part[..place(&part, random)]);
            }
            4 => text.truncate(b),
            5 => {
                let other = &seeds[random.below(seeds.len())];
                let (c, d) = (place(other, random), place(other, random));
                text.insert_str(a, &other[c.min(d)..c.max(d)]);
            }
            6 => {
                // A line once more, somewhere else.
                let lines: Vec<&str> = text.lines().collect();
                if let Some(line) = lines.get(random.below(lines.len())) {
                    let line = format!("{line}\n");
                    text.insert_str(a, &line);
                }
            }
            _ => {
                let c = char::from_u32(random.next() as u32 % 0x300).unwrap_or(' ');
                text.insert(a, c);
            }
        }
        if text.len() > 1 << 16 {
            let mut end = 1 << 16;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
    }
    text
}

/// Files in memory.
struct Memory(BTreeMap<PathBuf, Arc<str>>);

impl Files for Memory {
    fn content(&self, path: &Path, _: u64) -> io::Result<Arc<[u8]>> {
        let text = self.0.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.as_bytes().into())
    }
    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        self.0.keys().filter(|p| p.parent() == Some(folder)).cloned().collect()
    }
    fn env(&self, name: &str) -> Option<String> {
        (name == "A").then(|| "b".into())
    }

    fn installed(&self, _: &str) -> bool {
        false
    }
}

fn pipeline(text: &str, other: &str) -> bool {
    let files = Memory(BTreeMap::from([
        ("p.yaml".into(), text.into()),
        ("q.yaml".into(), other.into()),
        ("profiles/x.yaml".into(), other.into()),
    ]));
    let set = [("x".to_string(), "a, b".to_string())];
    let files = Arc::new(files);
    let of = |sets: &[_]| {
        query::Workspace::over(files.clone(), query::Origin::File("p.yaml".into()), sets, &[])
    };
    let all = [of(&[]), of(&set)].into_iter().map(Workspace::from);
    let Some((mut workspace, plan)) = all.into_iter().find_map(|w| w.plan().ok().map(|p| (w, p)))
    else {
        return false;
    };
    let _ = (plan.dot(false), plan.mermaid(true));
    // Compilers and devices are asked for when a graph is built; the rest is only read.
    let quiet = |k: &Kind| !matches!(k.name(), "compile" | "link" | "layout" | "run");
    if plan.nodes.len() < 50 && plan.nodes.iter().all(|n| quiet(&n.kind)) {
        let _ = workspace.prepare(&Nowhere);
    }
    true
}

fn profile(text: &str) -> bool {
    let files = Memory(BTreeMap::from([
        ("x.yaml".into(), text.into()),
        ("base.yaml".into(), "name: base\ncompiler: cc\narch: C\n".into()),
    ]));
    let profiles = Profiles::load(&files, &[], &["x.yaml".into()]);
    profiles.broken().iter().for_each(|d| drop(d.to_string()));
    let _ = profiles.find(&files, Path::new("."), "x.yaml");
    profiles.broken().is_empty()
}

fn report(text: &str) -> bool {
    let Ok(report) = serde_json::from_str::<Report>(text) else { return false };
    let merged = merge::merge(vec![report.clone(), report]);
    if let Ok(merged) = merged {
        let _ = (junit::junit(&merged), github::annotations(&merged), github::summary(&merged));
        let _ = terminal::summary(&merged, terminal::Style::default());
        let _ = merged.stable().json();
    }
    true
}

fn baseline(path: &Path, text: &str) -> bool {
    std::fs::write(path, text).expect("a file");
    let Ok(known) = Baseline::read(path) else { return false };
    let mut report = Report::default();
    known.apply(&mut report, |_, _| Seen::Clean);
    true
}

fn lists(text: &str, other: &str) -> bool {
    let read = |path: &Path| match path.to_str() {
        Some("all") => Ok(text.to_string()),
        Some("q.yaml") => Ok(other.to_string()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    list::read(Path::new("all"), &read).is_ok()
}

/// Object files of a compiler that is here, and a library of them; none where there is none.
fn objects(folder: &Path) -> Vec<Vec<u8>> {
    let types = layout::types()[..20].to_vec();
    let test = "#include <stdatomic.h>\nvoid P0(atomic_int *x, atomic_int *y, int *out) {\n  \
                atomic_store(x, 1);\n  for (int i = 0; i < 2; i++) *out += atomic_load(y);\n}\n";
    let mut out = Vec::new();
    for (i, (text, debug)) in
        [(layout::source(&types), "-g"), (test.into(), "-O2")].iter().enumerate()
    {
        for compiler in ["cc", "aarch64-linux-gnu-gcc"] {
            let (source, object) = (folder.join("seed.c"), folder.join(format!("seed{i}.o")));
            std::fs::write(&source, text).expect("a file");
            let status = std::process::Command::new(compiler)
                .args(["-c", debug, "-w", "-fno-pic", "-o"])
                .args([&object, &source])
                .status();
            if status.is_ok_and(|s| s.success()) {
                out.extend(std::fs::read(&object));
            }
        }
    }
    let library = folder.join("seed.a");
    let _ = std::fs::remove_file(&library);
    let made = std::process::Command::new("ar")
        .arg("rcs")
        .args([&library, &folder.join("seed0.o"), &folder.join("seed1.o")])
        .status();
    if made.is_ok_and(|s| s.success()) {
        out.extend(std::fs::read(&library));
    }
    out
}

/// An object file with some bytes changed, of which most are in its headers and tables.
fn broken(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(8) {
        let len = bytes.len();
        let at = match random.below(3) {
            0 => random.below(len.min(128)),
            1 => len - 1 - random.below(len.min(2048)),
            _ => random.below(len),
        };
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => bytes[at] ^= 1 << random.below(8),
            3 => {
                let to = (at + 8).min(len);
                bytes[at..to].fill([0, 0xff, 0x7f][random.below(3)]);
            }
            _ if random.below(20) == 0 => bytes.truncate(at.max(1)),
            _ => {}
        }
    }
    bytes
}

fn object(folder: &Path, bytes: &[u8]) -> bool {
    let path = folder.join("broken.a");
    if bytes.starts_with(b"!<arch>") {
        std::fs::write(&path, bytes).expect("a file");
        let Ok(library) = Library::open(&path) else { return false };
        let libraries = [library];
        return litmake::toolchain::image::library::member(&libraries, "P0").is_some();
    }
    let mut good = layout::read(bytes, 20).is_ok();
    for arch in [Arch::X86_64, Arch::AArch64, Arch::Arm, Arch::Ppc, Arch::RiscV, Arch::Mips] {
        let images = [Image::new(arch, bytes, &|_| None), Image::of_program(arch, bytes, &[])];
        for image in images.into_iter().flatten() {
            let given = lift::Given {
                thread: 0,
                params: &["x".into(), "y".into(), "out".into()],
                globals: &[],
                unit: &|_| 4,
                members: &Default::default(),
                published: None,
                array: &|_| false,
                flags: &BTreeMap::new(),
                instead: &|_| None,
                calls: false,
                foreign: None,
                lists: false,
            };
            good |= lift::lift(&image, "P0", &given).is_ok();
        }
    }
    good
}

fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn texts(folder: &str) -> Vec<String> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths.into_iter().filter_map(|p| std::fs::read_to_string(p).ok()).collect()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds = args.next().and_then(|a| a.parse().ok()).unwrap_or(60);
    let seed: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(1);
    let limit = Duration::from_secs(seconds);
    let folder = Path::new("target/fuzz");
    std::fs::create_dir_all(folder).expect("a folder");
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);

    let mut pipelines = texts("pipelines");
    pipelines.push(
        "vars: {x: [MP, SB], n: 3}\ntemplates: {t: &a {from: t, timeout: \"${n}\"}}\nstages:\n  - {name: t, generate: {arch: C, vocabulary: [PodWW, Rfe, Fre], shapes: \"${x}\", size: 4}}\n  - {name: s, matrix: {m: [sc, rc11]}, simulate: {<<: *a, model: \"${m}\"}}\n  - {name: c, compare: {source: s, target: s}}\n".into(),
    );
    let profiles = texts("profiles");
    let both: Vec<String> = pipelines.iter().chain(&profiles).cloned().collect();
    let finding = litmake::report::Finding { test: "a".into(), ..Default::default() };
    let sample = Report { findings: vec![finding], ..Report::default() };
    let reports = vec![sample.json(), "{\"known\": []}".into()];
    let results = vec![
        "{\"randomSeed\": \"a\", \"0\": {\"MP\": {\"seq0\": 5, \"weak\": 1, \"durationSeconds\": 0.5}, \"params\": {\"iterations\": 10}}}".to_string(),
    ];
    let lists_seeds = vec!["a.litmus\n@q.yaml # all\n\nb/c.litmus\n".to_string()];
    println!("{} pipelines and {} profiles as seeds", pipelines.len(), profiles.len());

    let objects = objects(folder);
    let names =
        ["pipeline", "profile", "report", "baseline", "list", "archive", "results", "object"];
    let only = args.next();
    let chosen: Vec<usize> = match &only {
        Some(only) => (0..8).filter(|i| names[*i] == only).collect(),
        None => vec![0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7],
    };
    let mut runs = [(0u64, 0u64); 8];
    let mut bad = 0;
    let mut slowest = Duration::ZERO;
    std::panic::set_hook(Box::new(|_| {}));
    while cpu() < limit {
        let which = chosen[random.below(chosen.len())];
        if which == 7 && objects.is_empty() {
            continue;
        }
        let seeds = match which {
            0 => &pipelines,
            1 => &profiles,
            2 | 3 => &reports,
            4 => &lists_seeds,
            6 => &results,
            _ => &both,
        };
        let text = mutated(seeds, &mut random);
        let other = mutated(&both, &mut random);
        let bytes = if which == 7 { broken(&objects, &mut random) } else { Vec::new() };
        let mut current = format!("{}\n{text}\n-----\n{other}", names[which]).into_bytes();
        if which == 7 {
            current = bytes.clone();
        }
        std::fs::write(folder.join("current"), &current).expect("a file");
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| match which {
            0 => pipeline(&text, &other),
            1 => profile(&text),
            2 => report(&text),
            3 => baseline(&folder.join("baseline.json"), &text),
            4 => lists(&text, &other),
            6 => Results::read(&text).is_ok(),
            7 => object(folder, &bytes),
            _ => {
                // Blocks as an archive has them, with something broken in them.
                let mut bytes = text.into_bytes();
                bytes.resize(bytes.len().next_multiple_of(512), 0);
                for start in (0..bytes.len()).step_by(512) {
                    let block = &mut bytes[start..start + 512];
                    block[148..156].fill(b' ');
                    let sum: u64 = block.iter().map(|b| u64::from(*b)).sum();
                    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
                }
                pack::members(&bytes[..], |_, _| {}).is_ok()
            }
        }));
        let time = start.elapsed();
        slowest = slowest.max(time);
        runs[which].0 += 1;
        runs[which].1 += u64::from(matches!(outcome, Ok(true)));
        if outcome.is_err() || time > SLOW {
            bad += 1;
            let what = if outcome.is_err() { "panic" } else { "slow" };
            let name = folder.join(format!("{what}-{}", Digest::of(&current).short()));
            std::fs::write(&name, &current).expect("a file");
            println!("{what} ({} ms): {}", time.as_millis(), name.display());
        }
    }
    for (name, (all, accepted)) in names.iter().zip(runs) {
        println!("{name:10} {all:>9} inputs, {accepted:>8} of them accepted");
    }
    println!(
        "{:.0} s of CPU, seed {seed}: {bad} panics or slow inputs; the slowest took {} ms",
        cpu().as_secs_f64(),
        slowest.as_millis()
    );
    std::process::exit(i32::from(bad > 0));
}
