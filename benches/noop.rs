//! A run with nothing to do, and with one in a hundred items changed, against ninja on as many
//! trivial edges that are up to date.
//!
//!     cargo bench --bench noop -- [TASKS] [--no-ninja]
//!
//! The engine runs in this process over items in memory, as a packed list gives them, and over
//! loose files, as ninja has them.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use litmake::diag::Result;
use litmake::engine::digest::Digest;
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
    fn list(&self) -> Result<Vec<Entry>> {
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

/// Loose files in a folder.
struct Loose {
    dir: std::path::PathBuf,
}

impl Source for Loose {
    fn list(&self) -> Result<Vec<Entry>> {
        let mut out: Vec<Entry> = walkdir::WalkDir::new(&self.dir)
            .into_iter()
            .flatten()
            .filter(|e| e.file_type().is_file())
            .filter_map(|e| {
                let content = Digest::of(&std::fs::read(e.path()).ok()?);
                Some(Entry { name: e.path().to_string_lossy().into(), content })
            })
            .collect();
        out.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(out)
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(name).ok()
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

fn run(source: Arc<dyn Source>, dir: &Path) -> (Duration, u64) {
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

fn ninja(dir: &Path, count: u64) -> Option<(Duration, Duration)> {
    let mut text = String::from("rule cp\n  command = cp $in $out\n");
    std::fs::create_dir_all(dir.join("in")).ok()?;
    for i in 0..count {
        text += &format!("build out/{i}: cp in/{i:08}\n");
    }
    std::fs::write(dir.join("build.ninja"), text).ok()?;
    // Making the outputs by hand spares starting a process for each; ninja then has no log of
    // them, so one restat run writes it.
    std::fs::create_dir_all(dir.join("out")).ok()?;
    let go = |args: &[&str]| {
        let start = Instant::now();
        let out = Command::new("ninja").args(args).current_dir(dir).output().ok()?;
        out.status.success().then(|| start.elapsed())
    };
    go(&[])?;
    let none = go(&[])?;
    for i in (0..count).step_by(100) {
        std::fs::write(dir.join(format!("in/{i:08}")), "changed").ok()?;
    }
    Some((none, go(&[])?))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let count: u64 = args.iter().find_map(|a| a.parse().ok()).unwrap_or(100_000);
    let scratch = tempfile::tempdir().expect("a folder");
    let cache = scratch.path().join("cache");
    let numbers = Arc::new(Numbers { count, round: AtomicU64::new(0) });
    println!("{count} tasks");
    let show = |what: &str, (time, runs): (Duration, u64)| {
        println!("{what:44} {:>8.3} s  {runs:>8} run", time.as_secs_f64());
    };
    show("litmake, cold", run(numbers.clone(), &cache));
    show("litmake, nothing changed", run(numbers.clone(), &cache));
    numbers.round.store(1, Ordering::Relaxed);
    show("litmake, one in a hundred changed", run(numbers.clone(), &cache));
    println!("{:44} {:>8} MiB", "litmake, peak memory of all of these", peak_mib());
    if args.iter().any(|a| a == "--no-ninja") {
        return;
    }
    let files = scratch.path().join("ninja");
    std::fs::create_dir_all(files.join("in")).expect("a folder");
    for i in 0..count {
        let path = files.join(format!("in/{i:08}"));
        std::fs::write(path, numbers.content(i)).expect("a file");
    }
    let loose = Arc::new(Loose { dir: files.join("in") });
    let cache = scratch.path().join("cache-loose");
    show("litmake, loose files, cold", run(loose.clone(), &cache));
    show("litmake, loose files, nothing changed", run(loose.clone(), &cache));
    match ninja(&files, count) {
        Some((none, some)) => {
            println!("{:44} {:>8.3} s", "ninja, nothing changed", none.as_secs_f64());
            println!("{:44} {:>8.3} s", "ninja, one in a hundred changed", some.as_secs_f64());
        }
        None => println!("ninja is not installed (package ninja-build), or failed"),
    }
    show("litmake, loose files, one in a hundred", run(loose, &cache));
}
