//! The engine: what runs and what does not, on made-up work whose runs are counted.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use litmake::base::digest::{Digest, Keyer};
use litmake::base::failure::{Failure, FailureKind, Fault};
use litmake::base::records::{Kind, Put, Records};
use litmake::diag::Result;
use litmake::engine::events::Silent;
use litmake::engine::graph::{
    Context, Fingerprint, Forms, Graph, Map, Node, Outcome, Source, Work,
};
use litmake::engine::parts::{Bundle, decode_results};
use litmake::engine::remote::{Remote, Taker};
use litmake::engine::rows::{Entry, State};
use litmake::engine::run::audit::{Audit, Sample};
use litmake::engine::run::{Engine, Found, Options};
use litmake::engine::store::{Store, StoreOptions};
use litmake::report::audited::Audited;

/// A list of items in memory.
struct List(Mutex<BTreeMap<String, Vec<u8>>>);

impl List {
    fn numbers(n: u64) -> Arc<List> {
        Arc::new(List(Mutex::new(
            (0..n).map(|i| (format!("item-{i:06}"), i.to_string().into_bytes())).collect(),
        )))
    }

    fn set(&self, i: u64, text: &str) {
        self.0.lock().unwrap().insert(format!("item-{i:06}"), text.into());
    }
}

impl Source for List {
    fn list(&self, _: &dyn Records) -> Result<Vec<Entry>> {
        Ok(self
            .0
            .lock()
            .unwrap()
            .iter()
            .map(|(name, content)| Entry {
                name: name.as_str().into(),
                content: Digest::of(content),
            })
            .collect())
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(name).cloned()
    }
}

type Function = Box<dyn Fn(&[Vec<u8>]) -> Outcome + Send + Sync>;
type Normal = fn(&[Vec<u8>]) -> Digest;
type Form = fn(&[u8]) -> Option<Digest>;

/// A function with a counter.
struct Counted {
    runs: AtomicU64,
    work: Function,
    normal: Option<Normal>,
    /// Whether results are kept, and whether parts that are missing are none of its business.
    keeps: bool,
    /// The form of what it is made from.
    form: Option<Form>,
    asks_forms: bool,
}

impl Counted {
    fn new(work: impl Fn(&[Vec<u8>]) -> Outcome + Send + Sync + 'static) -> Arc<Counted> {
        Arc::new(Counted::of(work))
    }

    fn of(work: impl Fn(&[Vec<u8>]) -> Outcome + Send + Sync + 'static) -> Counted {
        Counted {
            runs: AtomicU64::new(0),
            work: Box::new(work),
            normal: None,
            keeps: true,
            form: None,
            asks_forms: false,
        }
    }

    /// Work whose results are made when they are read, and that needs all parts.
    fn when_read(work: impl Fn(&[Vec<u8>]) -> Outcome + Send + Sync + 'static) -> Arc<Counted> {
        Arc::new(Counted { keeps: false, ..Counted::of(work) })
    }

    fn take(&self) -> u64 {
        self.runs.swap(0, Ordering::Relaxed)
    }
}

impl Map for Counted {
    fn normal(&self, inputs: &[Vec<u8>]) -> Option<Digest> {
        self.normal.map(|f| f(inputs))
    }

    fn keeps(&self) -> bool {
        self.keeps
    }

    fn needs_all_parts(&self) -> bool {
        !self.keeps
    }

    fn forms(&self) -> Option<&dyn Forms> {
        self.form.as_ref().map(|_| self as &dyn Forms)
    }

    fn asks_forms(&self) -> bool {
        self.asks_forms
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| {
            if context.stopped() {
                return Outcome::stopped();
            }
            self.runs.fetch_add(1, Ordering::Relaxed);
            (self.work)(item)
        };
        items.iter().map(one).collect()
    }
}

impl Forms for Counted {
    fn form(
        &self,
        _: &[Digest],
        read: &dyn Fn(usize) -> std::result::Result<Vec<u8>, Failure>,
    ) -> std::result::Result<Option<Digest>, Failure> {
        let content = read(0)?;
        Ok(self.form.and_then(|form| form(&content)))
    }
}

fn number(bytes: &[u8]) -> u64 {
    std::str::from_utf8(bytes).unwrap().trim().parse().unwrap()
}

fn node(label: &str, inputs: &[usize], work: Work) -> Node {
    Node {
        label: label.into(),
        kind: "test".into(),
        inputs: inputs.to_vec(),
        joined: Vec::new(),
        fingerprint: Fingerprint::default().with_text("work", label),
        work,
        hidden: false,
    }
}

/// source -> tens -> squared, and source, squared -> odd: a chain and a join.
struct Made {
    list: Arc<List>,
    tens: Arc<Counted>,
    squared: Arc<Counted>,
    odd: Arc<Counted>,
    graph: Graph,
}

fn made(n: u64) -> Made {
    let list = List::numbers(n);
    let tens = Counted::new(|i| Outcome::Done((number(&i[0]) / 10).to_string().into_bytes()));
    let squared = Counted::new(|i| {
        let n = number(&i[0]);
        Outcome::Done((n * n).to_string().into_bytes())
    });
    let odd = Counted::new(|i| match number(&i[0]) {
        n if n % 1000 == 7 => Outcome::Finding(format!("{n} of {}", number(&i[1])).into_bytes()),
        n if n % 1000 == 8 => Outcome::Failed(format!("{n} is no good").into()),
        n => Outcome::Done(n.to_string().into_bytes()),
    });
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list.clone())),
            node("tens", &[0], Work::Map(tens.clone())),
            node("squared", &[1], Work::Map(squared.clone())),
            node("odd", &[0, 2], Work::Map(odd.clone())),
        ],
    };
    Made { list, tens, squared, odd, graph }
}

impl Made {
    fn counts(&self) -> [u64; 3] {
        [self.tens.take(), self.squared.take(), self.odd.take()]
    }

    /// Runs and gives everything that was found, as one text.
    fn run(&self, dir: &Path, jobs: usize) -> String {
        let store = Store::open(dir, &StoreOptions::default()).unwrap();
        self.run_on(&store, jobs)
    }

    fn run_on(&self, store: &Store, jobs: usize) -> String {
        run_graph(&self.graph, store, jobs)
    }
}

/// What a cell holds, as text.
fn content_of(found: &Found) -> String {
    match found.state.usable() {
        true => String::from_utf8_lossy(&found.content).into_owned(),
        false => found.failure().text(),
    }
}

fn run_graph(graph: &Graph, store: &Store, jobs: usize) -> String {
    let options = Options { jobs, ..Options::default() };
    let engine = Engine::new(graph, store, options, &Silent).unwrap();
    assert!(engine.run());
    let mut out = String::new();
    for f in engine.found(&[State::Finding, State::Failed, State::Broke]) {
        let content = content_of(&f);
        let label = &graph.nodes[f.node].label;
        out += &format!("{label} {} {:?} {content}\n", f.item, f.state);
    }
    for n in 0..graph.nodes.len() {
        let shards = engine.shards_of(n);
        assert!(shards.iter().all(Option::is_some), "all of it is done");
        for shard in shards.into_iter().flatten() {
            out += &format!("{n} {}\n", shard.digest);
        }
    }
    out
}

#[test]
fn nothing_runs_twice() {
    let dir = tempfile::tempdir().unwrap();
    let made = made(3000);
    let first = made.run(dir.path(), 2);
    assert!(first.contains("odd item-000007 Finding 7 of 0"), "{first}");
    assert!(first.contains("odd item-001008 Failed 1008 is no good"));
    // Equal inputs are one action, whichever items they belong to: 300 different tens.
    assert_eq!(made.counts(), [3000, 300, 3000]);
    assert_eq!(made.run(dir.path(), 2), first);
    assert_eq!(made.counts(), [0, 0, 0]);
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let made = made(2000);
    let results: Vec<String> = [1, 2, 7]
        .into_iter()
        .map(|jobs| made.run(tempfile::tempdir().unwrap().path(), jobs))
        .collect();
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn a_change_runs_what_it_touches_until_a_result_is_equal() {
    let dir = tempfile::tempdir().unwrap();
    let made = made(3000);
    made.run(dir.path(), 2);
    made.counts();
    // 45 -> 46: its ten is the same, so the square is not looked at; the join reads it.
    made.list.set(45, "46 ");
    made.run(dir.path(), 2);
    assert_eq!(made.counts(), [1, 0, 1]);
    // A ten that was never there.
    made.list.set(45, "98765");
    made.run(dir.path(), 2);
    assert_eq!(made.counts(), [1, 1, 1]);
    // And back: all of it is remembered.
    made.list.set(45, "45");
    made.run(dir.path(), 2);
    assert_eq!(made.counts(), [0, 0, 0]);
    // An item more.
    made.list.set(3000, "3000");
    made.run(dir.path(), 2);
    assert_eq!(made.counts(), [1, 1, 1]);
}

#[test]
fn one_in_a_hundred_changed_runs_exactly_those() {
    let dir = tempfile::tempdir().unwrap();
    let made = made(5000);
    made.run(dir.path(), 2);
    made.counts();
    for i in (0..5000).step_by(100) {
        made.list.set(i, &format!("{}", 1_000_000 + i * 10));
    }
    made.run(dir.path(), 2);
    assert_eq!(made.counts(), [50, 50, 50]);
}

#[test]
fn a_changed_fingerprint_runs_that_node_and_what_differs_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = made(1000);
    made.run(dir.path(), 2);
    made.counts();
    made.graph.nodes[1].fingerprint = Fingerprint::default().with_text("work", "tens, version 2");
    made.run(dir.path(), 2);
    assert_eq!(made.counts(), [1000, 0, 0], "its results were equal");
}

#[test]
fn what_needs_something_failed_is_skipped_and_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let list = List::numbers(20);
    let first = Counted::new(|i| match number(&i[0]) {
        3 => Outcome::Failed("three".into()),
        n => Outcome::Done(i[0].repeat(1 + n as usize % 2)),
    });
    let second = Counted::new(|i| Outcome::Done(i[0].clone()));
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list)),
            node("first", &[0], Work::Map(first)),
            node("second", &[1], Work::Map(second.clone())),
        ],
    };
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let out = run_graph(&graph, &store, 2);
    assert!(
        out.starts_with("first item-000003 Failed three\n1 ")
            || out.starts_with("first item-000003 Failed three\n"),
        "{out}"
    );
    assert_eq!(out.matches("three").count(), 1);
    assert_eq!(second.take(), 19);
}

#[test]
fn what_broke_is_tried_again_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let missing = Arc::new(AtomicBool::new(true));
    let flag = missing.clone();
    let list = List::numbers(200);
    let first = Counted::new(move |i| {
        if number(&i[0]).is_multiple_of(50) && flag.load(Ordering::Relaxed) {
            Outcome::Failed(Failure::broken(Fault::Missing, "no such compiler"))
        } else {
            Outcome::Done(i[0].clone())
        }
    });
    let second = Counted::new(|i| Outcome::Done(i[0].clone()));
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list)),
            node("first", &[0], Work::Map(first.clone())),
            node("second", &[1], Work::Map(second.clone())),
        ],
    };
    let out = run_graph(&graph, &store, 2);
    assert_eq!(out.matches("Broke no such compiler").count(), 4, "{out}");
    assert_eq!((first.take(), second.take()), (200, 196));
    missing.store(false, Ordering::Relaxed);
    let out = run_graph(&graph, &store, 2);
    assert!(!out.contains("Broke"));
    assert_eq!((first.take(), second.take()), (4, 4));
}

#[test]
fn a_failure_has_its_kind_when_it_comes_out_of_the_store_whatever_its_words() {
    let dir = tempfile::tempdir().unwrap();
    // Words that speak of another kind.
    let failures = [
        Failure::new(FailureKind::LeftOut, "unsupported: no answer within 60 s"),
        Failure::new(FailureKind::Unsupported, "left out: it is of no use"),
        Failure::new(FailureKind::Item, "cannot be read: @:1:1: error: cc crashed"),
        Failure::after_name(FailureKind::Unreadable, ": left out"),
    ];
    let given = failures.clone();
    let work = Counted::new(move |i| Outcome::Failed(given[number(&i[0]) as usize].clone()));
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(List::numbers(4))),
            node("work", &[0], Work::Map(work.clone())),
        ],
    };
    for runs in [4, 0] {
        let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
        let engine = Engine::new(&graph, &store, Options::default(), &Silent).unwrap();
        assert!(engine.run());
        assert_eq!(work.take(), runs);
        let found = engine.found(&[State::Failed]);
        assert_eq!(found.iter().map(|f| f.failure()).collect::<Vec<_>>(), failures);
        assert_eq!(found[3].failure().told("a"), "a: left out");
    }
}

/// The state of each item of the last node, and whether the run that began at a time made it anew.
fn asked(graph: &Graph, store: &Store, options: Options) -> Vec<String> {
    let engine = Engine::new(graph, store, options, &Silent).unwrap();
    let predicted: u64 = {
        let dry = Engine::new(graph, store, engine.options.clone(), &Silent).unwrap();
        dry.predict().unwrap().iter().map(|p| p.run).sum()
    };
    assert!(engine.run());
    let executed = engine.summary(1).executed;
    assert_eq!(predicted, executed, "a dry run agrees with the run");
    engine.found(&[State::Failed]).iter().map(|f| f.item.clone()).collect()
}

#[test]
fn what_a_tool_refused_is_kept_for_a_day_and_asked_again_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let refuses = Arc::new(AtomicBool::new(true));
    let flag = refuses.clone();
    let work = Counted::new(move |i| match number(&i[0]) {
        3 if flag.load(Ordering::Relaxed) => {
            Outcome::Failed(Failure::new(FailureKind::Refused, "it says no"))
        }
        4 => Outcome::DoneForNow(b"nothing".to_vec()),
        _ => Outcome::Done(i[0].clone()),
    });
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(List::numbers(10))),
            node("work", &[0], Work::Map(work.clone())),
        ],
    };
    let start = std::time::SystemTime::now();
    let after = |seconds: u64| Options {
        now: start + Duration::from_secs(seconds),
        jobs: 2,
        ..Options::default()
    };
    let three = ["item-000003"];
    assert_eq!(asked(&graph, &store, after(0)), three);
    assert_eq!(work.take(), 10);
    assert_eq!(asked(&graph, &store, after(60)), three);
    assert_eq!(work.take(), 0);
    // The tool has come to its senses, and nobody asks it before a day has passed.
    refuses.store(false, Ordering::Relaxed);
    assert_eq!(asked(&graph, &store, after(23 * 3600)), three);
    assert_eq!(work.take(), 0);
    let again = Options { ask_again: true, ..after(24 * 3600 - 1) };
    assert!(asked(&graph, &store, again).is_empty());
    assert_eq!(work.take(), 2);
    assert!(asked(&graph, &store, after(24 * 3600)).is_empty());
    assert_eq!(work.take(), 0);
    // What is no refusal any more is kept for good.
    assert!(asked(&graph, &store, after(49 * 3600)).is_empty());
    assert_eq!(work.take(), 1);
}

#[test]
fn reduced_lists_keep_the_first_of_equals() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let list = List::numbers(3000);
    let class = Counted::new(|i| Outcome::Done((number(&i[0]) % 7).to_string().into_bytes()));
    let after = Counted::new(|i| Outcome::Finding(i[0].clone()));
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list)),
            node("class", &[0], Work::Map(class)),
            node("distinct", &[0, 1], Work::Distinct),
            node("after", &[2], Work::Map(after.clone())),
        ],
    };
    let out = run_graph(&graph, &store, 2);
    assert_eq!(after.take(), 7);
    for i in 0..7 {
        assert!(out.contains(&format!("after item-00000{i} Finding {i}\n")), "{out}");
    }
    run_graph(&graph, &store, 2);
    assert_eq!(after.take(), 0);
}

#[test]
fn equal_in_what_matters_is_run_once() {
    let dir = tempfile::tempdir().unwrap();
    let list = List::numbers(100);
    let work = Arc::new(Counted {
        normal: Some(|i| Digest::of(&[(number(&i[0]) % 10) as u8])),
        ..Counted::of(|i| Outcome::Done((number(&i[0]) % 10).to_string().into_bytes()))
    });
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list.clone())),
            node("last", &[0], Work::Map(work.clone())),
        ],
    };
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    run_graph(&graph, &store, 1);
    assert_eq!(work.take(), 10);
    list.set(5, "1235");
    run_graph(&graph, &store, 1);
    assert_eq!(work.take(), 0);
}

#[test]
fn what_the_store_lost_is_worked_out_again() {
    let made = made(600);
    let clean = made.run(tempfile::tempdir().unwrap().path(), 2);
    let dir = tempfile::tempdir().unwrap();
    made.run(dir.path(), 2);
    let segment = std::fs::read_dir(dir.path().join("segments"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "seg"))
        .unwrap();
    let sound = std::fs::read(&segment).unwrap();
    let mut seed = 99u64;
    for _ in 0..25 {
        let mut broken = sound.clone();
        for _ in 0..40 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let at = 64 + (seed >> 20) as usize % (broken.len() - 64);
            broken[at] ^= 1 << (seed % 8);
        }
        let copy = tempfile::tempdir().unwrap();
        std::fs::create_dir(copy.path().join("segments")).unwrap();
        std::fs::write(copy.path().join("segments/a.seg"), broken).unwrap();
        assert_eq!(made.run(copy.path(), 2), clean);
    }
}

#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let clean = made(2000).run(tempfile::tempdir().unwrap().path(), 2);
    let made = made(2000);
    let mut total = 0;
    for round in 1..6 {
        let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
        let options = Options { jobs: 2, ..Options::default() };
        let stop = options.context.stop.clone();
        let engine = Engine::new(&made.graph, &store, options, &Silent).unwrap();
        std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_micros(300 * round));
                stop.ask();
            });
            engine.run();
        });
        total += made.counts()[0];
    }
    assert_eq!(made.run(dir.path(), 2), clean);
    total += made.counts()[0];
    assert_eq!(total, 2000, "what was done was not done again");
}

#[test]
fn two_engines_on_one_cache_agree() {
    let dir = tempfile::tempdir().unwrap();
    let clean = made(2000).run(tempfile::tempdir().unwrap().path(), 2);
    let results: Vec<String> = std::thread::scope(|s| {
        let runs: Vec<_> = (0..2).map(|_| s.spawn(|| made(2000).run(dir.path(), 2))).collect();
        runs.into_iter().map(|r| r.join().unwrap()).collect()
    });
    assert_eq!(results, [clean.clone(), clean]);
}

#[test]
fn parts_cover_everything_once() {
    let made = made(1000);
    let mut seen = 0;
    for i in 1..=3 {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
        let options = Options { part: Some((i, 3)), ..Options::default() };
        let engine = Engine::new(&made.graph, &store, options, &Silent).unwrap();
        engine.run();
        let tasks = engine.summary(3).tasks;
        assert!(tasks > 200, "the parts are about equal");
        seen += tasks;
    }
    assert_eq!(seen, 1000);
}

#[test]
fn a_store_of_anything_else_under_our_keys_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let made = made(50);
    let clean = made.run(dir.path(), 1);
    // Every value replaced by junk, with sound checksums.
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let segment = std::fs::read_dir(dir.path().join("segments"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "seg"))
        .unwrap();
    let bytes = std::fs::read(segment).unwrap();
    let other = tempfile::tempdir().unwrap();
    let junk = Store::open(other.path(), &StoreOptions::default()).unwrap();
    for at in (64..bytes.len() - 56).step_by(8) {
        if &bytes[at..at + 4] == b"rLM1" {
            let key = Digest::from_slice(&bytes[at + 16..at + 48]).unwrap();
            assert!(store.has(&[key])[0]);
            junk.put(&[Put { kind: Kind::Action, key, value: b"junk" }]);
        }
    }
    assert_eq!(made.run_on(&junk, 1), clean);
}

/// The digits of a number, as its parts.
fn digits_of(item: &[Vec<u8>]) -> Outcome {
    let part = |(n, c): (usize, char)| (format!("d{n}"), c.to_string().into_bytes());
    let parts = String::from_utf8_lossy(&item[0]).chars().enumerate().map(part).collect();
    Outcome::Done(Bundle { parts, rest: Vec::new() }.encode())
}

fn square(item: &[Vec<u8>]) -> Outcome {
    match number(&item[0]) {
        9 => Outcome::Failed("nine".into()),
        n => Outcome::Done((n * n).to_string().into_bytes()),
    }
}

/// Numbers taken apart into digits, which are squared and summed.
fn digits(n: u64) -> (Arc<List>, [Arc<Counted>; 3], Graph) {
    let list = List::numbers(n);
    let split = Counted::new(digits_of);
    let squared = Counted::new(square);
    let sum = Counted::new(|i| {
        let parts = decode_results(&i[1]).unwrap();
        let missing = parts.iter().filter(|p| p.is_none()).count();
        let sum: u64 = parts.iter().flatten().map(|p| number(p)).sum();
        Outcome::Done(format!("{sum} without {missing}").into_bytes())
    });
    let mut join = node("sum", &[1], Work::Map(sum.clone()));
    join.joined = vec![3];
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list.clone())),
            node("split", &[0], Work::Map(split.clone())),
            node("digits", &[1], Work::Parts),
            node("squared", &[2], Work::Map(squared.clone())),
            join,
        ],
    };
    (list, [split, squared, sum], graph)
}

#[test]
fn equal_parts_are_worked_on_once_and_joined() {
    let dir = tempfile::tempdir().unwrap();
    let (list, counters, graph) = digits(3000);
    let look = || {
        let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
        let engine = Engine::new(&graph, &store, Options::default(), &Silent).unwrap();
        let predicted: u64 = engine.predict().unwrap().iter().map(|p| p.run + p.maybe).sum();
        let engine = Engine::new(&graph, &store, Options::default(), &Silent).unwrap();
        assert!(engine.run());
        let root = engine.root_table(4).unwrap();
        let mut found = BTreeMap::new();
        for shard in 0..root.shards() {
            for (row, cell) in engine.cells(4, shard).unwrap().into_iter().enumerate() {
                let content = engine.content(4, shard, row, cell).unwrap();
                let name = root.rows(shard)[row].name.to_string();
                found.insert(name, String::from_utf8(content).unwrap());
            }
        }
        let runs: Vec<u64> = counters.iter().map(|c| c.take()).collect();
        assert_eq!(engine.summary(3).failed, 1);
        (found, runs, predicted)
    };
    let (found, runs, predicted) = look();
    assert!(predicted > 0);
    assert_eq!(runs, [3000, 10, 3000], "ten digits, whatever has them");
    assert_eq!(found["item-000012"], "5 without 0");
    assert_eq!(found["item-002919"], "5 without 2");
    // Nothing to do.
    let (again, runs, predicted) = look();
    assert_eq!((again, runs, predicted), (found.clone(), vec![0, 0, 0], 0));
    // Another item of the same digits: only it is split and summed.
    list.set(12, "4321");
    let (changed, runs, predicted) = look();
    assert_eq!((&*changed["item-000012"], runs), ("30 without 0", vec![1, 0, 1]));
    assert!(predicted >= 1);
}

#[test]
fn what_is_cheap_is_made_when_it_is_read_and_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let list = List::numbers(3000);
    let split = Counted::when_read(digits_of);
    let squared = Counted::new(square);
    let sum = Counted::when_read(|i| {
        let parts = decode_results(&i[1]).unwrap();
        match parts.iter().flatten().map(|p| number(p)).sum::<u64>() {
            64 => Outcome::Failed("sixty-four".into()),
            sum => Outcome::Done(sum.to_string().into_bytes()),
        }
    });
    let root = Counted::new(|i| {
        Outcome::Finding((number(&i[0]) as f64).sqrt().floor().to_string().into_bytes())
    });
    let mut join = node("sum", &[1], Work::Map(sum.clone()));
    join.joined = vec![3];
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list.clone())),
            node("split", &[0], Work::Map(split.clone())),
            node("digits", &[1], Work::Parts),
            node("squared", &[2], Work::Map(squared.clone())),
            join,
            node("root", &[4], Work::Map(root.clone())),
        ],
    };
    let runs = || [&split, &squared, &sum, &root].map(|c| c.take());
    let predict = |store: &Store| -> Vec<u64> {
        let engine = Engine::new(&graph, store, Options::default(), &Silent).unwrap();
        let out = engine.predict().unwrap().iter().map(|p| p.run + p.maybe).collect();
        runs();
        out
    };
    let look = |store: &Store| {
        let engine = Engine::new(&graph, store, Options::default(), &Silent).unwrap();
        assert!(engine.run());
        let done = runs();
        let mut found = BTreeMap::new();
        for f in engine.found(&[State::Finding, State::Failed, State::Skipped]) {
            let content = content_of(&f);
            let of = (graph.nodes[f.node].label.clone(), f.item);
            found.insert(of, (f.state, content));
        }
        let summary = engine.summary(5);
        assert_eq!(summary.tasks, summary.findings + summary.failed + summary.skipped);
        // A test of whose parts one failed says why.
        let s = engine.root_table(4).unwrap();
        let nine = s.entries.iter().position(|e| &*e.name == "item-002919").unwrap();
        let shard = s.bounds.partition_point(|b| *b <= nine) - 1;
        let row = nine - s.bounds[shard];
        let cell = engine.cells(5, shard).unwrap()[row];
        assert_eq!(cell.state, State::Skipped);
        let why = Failure::decode(&engine.content(5, shard, row, cell).unwrap()).unwrap();
        assert_eq!(why, Failure::from("nine"));
        (done, found)
    };
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let (done, found) = look(&store);
    // 271 of the first thousand numbers have a nine in them, and as many of each further thousand.
    let whole = 3000 - 3 * 271;
    assert_eq!((done[0], done[1]), (3000 + whole, 10), "for the list of parts, and for the sums");
    assert_eq!(done[2], whole, "made once for each item that something reads");
    let eight = ("root".to_string(), "item-000008".to_string());
    assert_eq!(found[&eight], (State::Failed, "sixty-four".to_string()), "what is made may say no");
    // Nothing to do, and nothing of it is made.
    assert_eq!(predict(&store), [0; 6]);
    let (again, same) = look(&store);
    assert_eq!(again, [0; 4]);
    assert_eq!(same, found);
    // Another item of the same digits.
    list.set(12, "4321");
    assert_eq!(predict(&store)[5], 1);
    let (changed, found) = look(&store);
    assert_eq!((changed[1], changed[2], changed[3]), (0, 1, 1), "{changed:?}");
    let item = ("root".to_string(), "item-000012".to_string());
    assert_eq!(found[&item], (State::Finding, "5".to_string()));
}

/// Numbers whose last digit is their form, but those that end in 5; one stage asks for no more than that,
/// one sees all, and one sees all of the numbers with different digits.
#[test]
fn results_of_equal_forms_are_one_for_work_that_asks_for_forms() {
    let dir = tempfile::tempdir().unwrap();
    let list = List::numbers(1000);
    let same = |i: &[Vec<u8>]| Outcome::Done(i[0].clone());
    let form: Form = |n| Some(*n.last()?).filter(|d| *d != b'5').map(|d| Digest::of(&[d]));
    let whole = Arc::new(Counted { keeps: false, form: Some(form), ..Counted::of(same) });
    let digit = |i: &[Vec<u8>]| Outcome::Done((number(&i[0]) % 10).to_string().into_bytes());
    let asks = Arc::new(Counted { asks_forms: true, ..Counted::of(digit) });
    let [sees, digits, of_list] = [Counted::new(same), Counted::new(digit), Counted::new(same)];
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(list.clone())),
            node("whole", &[0], Work::Map(whole.clone())),
            node("asks", &[1], Work::Map(asks.clone())),
            node("sees", &[1], Work::Map(sees.clone())),
            node("digits", &[1], Work::Map(digits)),
            node("different", &[1, 4], Work::Distinct),
            node("of the list", &[5], Work::Map(of_list.clone())),
        ],
    };
    let look = || {
        let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
        let engine =
            Engine::new(&graph, &store, Options { jobs: 1, ..Options::default() }, &Silent);
        let engine = engine.unwrap();
        assert!(engine.run());
        for (node, of) in [(2, 10), (3, 10_000), (6, 10_000)] {
            let root = engine.root_table(node).unwrap();
            for shard in 0..root.shards() {
                for (row, cell) in engine.cells(node, shard).unwrap().into_iter().enumerate() {
                    let content = engine.content(node, shard, row, cell).unwrap();
                    let item = list.fetch(&root.rows(shard)[row].name).unwrap();
                    assert_eq!(number(&content), number(&item) % of, "node {node}");
                }
            }
        }
        [&asks, &sees, &of_list].map(|c| c.take())
    };
    assert_eq!(look(), [9 + 100, 1000, 10]);
    assert_eq!(look(), [0; 3]);
    // Another number of the same form, which is in the list of different ones, too.
    list.set(7, "1007");
    assert_eq!(look(), [0, 1, 1]);
    list.set(5, "1005");
    assert_eq!(look(), [1, 1, 1]);
}

/// A remote cache in memory.
#[derive(Default)]
struct Far {
    kept: Mutex<BTreeMap<Digest, Vec<u8>>>,
    asked: Mutex<Vec<usize>>,
    refused: AtomicU64,
    /// The keys of what it sent, and of what it was offered.
    sent: Mutex<BTreeSet<Digest>>,
    offered: Mutex<BTreeSet<Digest>>,
    /// What it makes of the bytes that it sends.
    lie: Option<fn(&mut Vec<u8>)>,
    /// Those that it never answers, where it is silent.
    silent: Option<Mutex<Vec<Taker>>>,
}

impl Remote for Far {
    fn ask(&self, keys: Vec<Digest>, taker: Taker) {
        self.asked.lock().unwrap().push(keys.len());
        if let Some(silent) = &self.silent {
            return silent.lock().unwrap().push(taker);
        }
        let kept = self.kept.lock().unwrap();
        let one = |key: &Digest| {
            let mut bytes = kept.get(key).cloned()?;
            self.sent.lock().unwrap().insert(*key);
            if let Some(lie) = self.lie {
                lie(&mut bytes);
            }
            Some(bytes)
        };
        taker(keys.iter().map(one).collect());
    }

    fn offer(&self, key: Digest, bytes: Vec<u8>) {
        self.offered.lock().unwrap().insert(key);
        self.kept.lock().unwrap().insert(key, bytes);
    }

    fn refuse(&self, _: Digest, _: &str) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The digests of all that a client with an empty cache of its own gets, and how many rows came.
fn far_run(graph: &Graph, far: &Arc<Far>, jobs: usize, now: SystemTime) -> (String, u64) {
    far_run_in(tempfile::tempdir().unwrap().path(), graph, far, jobs, now)
}

fn far_run_in(
    dir: &Path,
    graph: &Graph,
    far: &Arc<Far>,
    jobs: usize,
    now: SystemTime,
) -> (String, u64) {
    let store = Store::open(dir, &StoreOptions::default()).unwrap();
    let patience = Duration::from_millis(500);
    let options = Options { jobs, now, patience, remote: Some(far.clone()), ..Options::default() };
    let engine = Engine::new(graph, &store, options, &Silent).unwrap();
    assert!(engine.run());
    let nodes = 0..graph.nodes.len();
    let out = nodes.clone().map(|n| format!("{n} {:?}\n", engine.whole_digest(n).unwrap()));
    (out.collect(), nodes.map(|n| engine.summary(n).fetched).sum())
}

#[test]
fn what_a_remote_cache_has_is_run_by_nobody_else_and_asked_for_in_batches() {
    let made = made(3000);
    let far = Arc::new(Far::default());
    let now = SystemTime::now();
    let (first, fetched) = far_run(&made.graph, &far, 2, now);
    assert_eq!((made.counts(), fetched), ([3000, 300, 3000], 0));
    let kept = far.kept.lock().unwrap().clone();
    assert!((30..300).contains(&kept.len()), "{}", kept.len());
    far.asked.lock().unwrap().clear();
    far.offered.lock().unwrap().clear();
    let (second, fetched) = far_run(&made.graph, &far, 7, now);
    assert_eq!((second, made.counts()), (first, [0, 0, 0]));
    // Nothing that came is sent back. What was not asked for may be: a packet whose results all came
    // in packets of others, which depends on who is first.
    assert!(far.sent.lock().unwrap().is_disjoint(&far.offered.lock().unwrap()));
    assert!(far.sent.lock().unwrap().len() > 60);
    assert_eq!(far.kept.lock().unwrap().len(), kept.len());
    assert!(fetched >= 8000, "{fetched}");
    // One question a unit; there are three nodes of some shards.
    let asked = far.asked.lock().unwrap().clone();
    assert!(asked.len() < 60, "{asked:?}");
    // The same work gives the same packets, whoever does it.
    far.kept.lock().unwrap().clear();
    far_run(&made.graph, &far, 1, now);
    assert!(*far.kept.lock().unwrap() == kept);
}

#[test]
fn what_the_local_cache_has_is_not_fetched_again() {
    let far = Arc::new(Far::default());
    let now = SystemTime::now();
    let all = made(3000);
    let right = far_run(&all.graph, &far, 2, now).0;
    all.counts();
    far.asked.lock().unwrap().clear();
    // Of the first two nodes, the local cache has all; of the third, the first tenth.
    let dir = tempfile::tempdir().unwrap();
    made(300).run(dir.path(), 2);
    let mut two = made(3000);
    two.graph.nodes.truncate(3);
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    run_graph(&two.graph, &store, 2);
    drop(store);
    let (second, fetched) = far_run_in(dir.path(), &all.graph, &far, 2, now);
    assert_eq!((second, all.counts()), (right, [0, 0, 0]));
    assert_eq!(fetched, 2700);
    assert_eq!(far.refused.load(Ordering::Relaxed), 0);
    let packets: usize = far.asked.lock().unwrap().iter().sum();
    assert!((2..40).contains(&packets), "{packets}");
}

#[test]
fn what_a_remote_cache_makes_up_counts_as_missing() {
    let made = made(3000);
    let honest = Arc::new(Far::default());
    let now = SystemTime::now();
    let (right, _) = far_run(&made.graph, &honest, 2, now);
    made.counts();
    let lies: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| *bytes.last_mut().unwrap() ^= 1,
        |bytes| bytes.extend_from_slice(b"more"),
    ];
    for lie in lies {
        let kept = Mutex::new(honest.kept.lock().unwrap().clone());
        let far = Arc::new(Far { kept, lie: Some(lie), ..Far::default() });
        assert_eq!(far_run(&made.graph, &far, 2, now), (right.clone(), 0));
        assert_eq!(made.counts(), [3000, 300, 3000]);
        assert!(far.refused.load(Ordering::Relaxed) > 30);
    }
}

#[test]
fn a_remote_cache_that_never_answers_is_not_waited_for() {
    let made = made(300);
    let far = Arc::new(Far { silent: Some(Mutex::default()), ..Far::default() });
    let now = SystemTime::now();
    let silent = far_run(&made.graph, &far, 2, now);
    assert_eq!(made.counts(), [300, 30, 300]);
    assert_eq!(silent, far_run(&made.graph, &Arc::new(Far::default()), 2, now));
}

#[test]
fn what_is_kept_for_now_travels_for_a_day() {
    let hour = Duration::from_secs(3600);
    // The clock of the packets is that of the world, whose days begin at a multiple of 24 hours.
    let day = SystemTime::UNIX_EPOCH + 24 * 20_000 * hour;
    let work = Counted::new(|i| match number(&i[0]) {
        n if n % 3 == 0 => Outcome::DoneForNow(b"refused".to_vec()),
        n => Outcome::Done(n.to_string().into_bytes()),
    });
    let graph = Graph {
        nodes: vec![
            node("source", &[], Work::Source(List::numbers(900))),
            node("work", &[0], Work::Map(work.clone())),
        ],
    };
    let far = Arc::new(Far::default());
    let first = far_run(&graph, &far, 2, day + hour).0;
    assert_eq!(work.take(), 900);
    let kept = far.kept.lock().unwrap().clone();
    for (hours, runs) in [(2, 0), (23, 0), (25, 300), (26, 0), (24 * 40, 300)] {
        assert_eq!(far_run(&graph, &far, 2, day + hours * hour).0, first);
        assert_eq!(work.take(), runs, "after {hours} hours");
    }
    // Nothing finer than the day is in a packet.
    let other = Arc::new(Far::default());
    far_run(&graph, &other, 2, day + 7 * hour);
    assert!(*other.kept.lock().unwrap() == kept);
}

/// Puts a wrong result under the key of an item's action, with all checksums right.
fn forge(store: &Store, node: &Node, item: u64) {
    let input = Digest::of(item.to_string().as_bytes());
    let key = Keyer::new("action/1")
        .field("node", &node.fingerprint.digest().0)
        .field("input", &input.0)
        .finish();
    assert!(store.has(&[key])[0], "it forges what is there");
    let content = Digest::of(b"forged");
    let value = [&[State::Done as u8][..], &content.0].concat();
    store.put(&[
        Put { kind: Kind::Blob, key: content, value: b"forged" },
        Put { kind: Kind::Action, key, value: &value },
    ]);
}

/// One result of 2,000 is forged, which is the least that an audit promises to find at its rate. It
/// is found as often as promised, by name, and is gone from then on.
#[test]
fn an_audit_finds_what_is_forged_as_often_as_it_promises() {
    const AUDITS: u64 = 150;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let work = Counted::new(|i| Outcome::Done((number(&i[0]) * 2).to_string().into_bytes()));
    let nodes = vec![
        node("source", &[], Work::Source(List::numbers(2000))),
        node("double", &[0], Work::Map(work.clone())),
    ];
    let graph = Graph { nodes };
    let clean = run_graph(&graph, &store, 2);
    let audit = |part: f64, seed: u64| {
        let engine = Engine::new(&graph, &store, Options::default(), &Silent).unwrap();
        assert!(engine.run());
        engine.audit(Sample { part, seed }, &mut HashSet::new())
    };
    let rate = |a: &Audit| Audited { claims: a.claims, made: a.made, ..Audited::default() }.rate();
    work.take();
    let all = audit(1.0, 0);
    assert_eq!((all.claims, all.made, all.not_made, all.wrong.len()), (2000, 2000, 0, 0));
    assert_eq!((work.take(), rate(&all)), (2000, 1.0));
    let (mut found, mut promised) = (0.0, 0.0);
    for seed in 0..AUDITS {
        let item = seed * 13 % 2000;
        forge(&store, &graph.nodes[1], item);
        let told = audit(0.3, seed);
        promised += rate(&told);
        if let [wrong] = &told.wrong[..] {
            assert_eq!((&*wrong.node, &*wrong.item), ("double", &*format!("item-{item:06}")));
            found += 1.0;
            assert_eq!(audit(1.0, seed).wrong, [], "it is corrected");
        } else {
            assert_eq!(told.wrong, []);
            assert_eq!(audit(1.0, seed).wrong.len(), 1, "it was not in the sample");
        }
    }
    // Three standard deviations of 150 throws.
    let spread = 3.0 * (AUDITS as f64 * 0.3 * 0.7).sqrt();
    assert!((found - promised).abs() < spread, "{found} found, {promised} promised");
    assert!((promised / AUDITS as f64 - 0.3).abs() < 0.03, "{promised}");
    assert_eq!(run_graph(&graph, &store, 2), clean);
}
