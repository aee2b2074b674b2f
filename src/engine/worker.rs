//! The other end of a job: does what it says with the work of a graph, and gives its packets.
//!
//! A worker believes nothing: it works keys out from the content that it has really read, and does
//! work only where its own graph has work with the very fingerprint that the job names. It does not
//! know where jobs come from, nor how packets travel.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use litmake_base::diag::Result as Listed;
use litmake_base::digest::Digest;
use litmake_base::failure::Failure;
use litmake_base::records::{Kind, Put, Records};
use rustc_hash::{FxHashMap, FxHashSet};

use super::elsewhere::Spent;
use super::events::Silent;
use super::graph::{Context, Fingerprint, Graph, Map, Node, Outcome, Source, Work};
use super::job::{Job, Part, Task};
use super::remote::{Remote, Taker};
use super::rows::{Entry, Kept, State};
use super::run::{Engine, Options, Root};
use super::store::Store;

/// The most reasons of broken work that are returned.
const TOLD: usize = 3;

/// A packet with its key and its place among those that the job may give.
pub struct Given {
    /// Its place among the packets that the job may give.
    pub place: usize,
    /// The key under which the other machine looks for it.
    pub key: Digest,
    /// The packet, encoded.
    pub packet: Vec<u8>,
}

/// The results of a job.
#[derive(Default)]
pub struct Done {
    /// The packets, in the order of their places.
    pub packets: Vec<Given>,
    /// The time of each kind of work.
    pub spent: Vec<Spent>,
    /// Why parts of the work broke, each reason once.
    pub broke: Vec<String>,
}

/// Why a worker does not do a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its own work has another fingerprint; names the parts that differ.
    Other(String),
    /// The job contradicts itself.
    Unsound(&'static str),
}

/// Does a job. `graph` has the work of this machine; results go to `store`.
pub fn run(
    job: &Job,
    graph: &Graph,
    store: &Store,
    jobs: usize,
    context: &Context,
) -> Result<Done, Refusal> {
    let mut there = FxHashSet::default();
    let digests: Vec<Digest> = job.contents.iter().map(|content| Digest::of(content)).collect();
    let puts: Vec<Put> = digests
        .iter()
        .zip(&job.contents)
        .filter(|(key, _)| there.insert(**key))
        .map(|(key, value)| Put { kind: Kind::Blob, key: *key, value })
        .collect();
    store.put(&puts);
    let mut out = Done::default();
    let mut place = usize::from(job.asks());
    for (number, task) in job.tasks.iter().enumerate() {
        if !task.items.iter().all(|item| there.contains(item)) {
            return Err(Refusal::Unsound("the content of an item is missing"));
        }
        let sub = sub_graph(graph, task, number)?;
        one(task, &sub, store, jobs, context, place, &mut out)?;
        place += task.outputs();
    }
    Ok(out)
}

fn one(
    task: &Task,
    graph: &Graph,
    store: &Store,
    jobs: usize,
    context: &Context,
    first_place: usize,
    out: &mut Done,
) -> Result<(), Refusal> {
    let collector = Arc::new(Collector::default());
    let options = Options {
        jobs,
        context: context.clone(),
        remote: Some(collector.clone()),
        ..Options::default()
    };
    let engine = Engine::new(graph, store, options, &Silent)
        .map_err(|_| Refusal::Unsound("its parts do not fit together"))?;
    let name = |i: usize| format!("{i:08}").into_boxed_str();
    let entry = |(i, content): (usize, &Digest)| Entry { name: name(i), content: *content };
    let entries: Vec<Entry> = task.items.iter().enumerate().map(entry).collect();
    engine.preset(0, Arc::new(Root::of_strips(entries, &task.strips)));
    put_known(task, &engine, store);
    engine.run();
    let packets = std::mem::take(&mut *collector.lock());
    for (n, at) in task.wanted().enumerate() {
        let keys: FxHashMap<usize, Digest> =
            engine.packet_keys(at, 0).into_iter().map(|(rows, key)| (rows.start, key)).collect();
        let mut start = 0;
        for (strip, length) in task.strips.iter().enumerate() {
            let key = keys.get(&start);
            start += *length as usize;
            let Some((key, packet)) = key.and_then(|key| Some((*key, packets.get(key)?))) else {
                continue;
            };
            let place = first_place + n * task.strips.len() + strip;
            out.packets.push(Given { place, key, packet: packet.clone() });
        }
    }
    for (at, part) in task.parts.iter().enumerate() {
        if let Part::Work { .. } = part {
            let summary = engine.summary(at);
            out.spent.push(Spent {
                work: graph.nodes[at].fingerprint.digest(),
                items: summary.executed,
                nanos: summary.time.as_nanos() as u64,
            });
        }
    }
    for found in engine.found(&[State::Broke]) {
        let text = found.failure().text();
        if out.broke.len() < TOLD && !out.broke.contains(&text) {
            out.broke.push(text);
        }
    }
    out.broke.extend(engine.take_errors().iter().map(|e| e.message.clone()));
    out.broke.truncate(TOLD);
    Ok(())
}

/// The results that are known already, under the keys under which the engine looks for them.
fn put_known(task: &Task, engine: &Engine, store: &Store) {
    let mut records: Vec<(Digest, Vec<u8>)> = Vec::new();
    let kept = |cell| Kept { cell, made: None }.encode();
    for (at, known) in task.known.iter().enumerate() {
        if let Part::Known { .. } = task.parts[at] {
            let record =
                |(item, cell): &(Digest, _)| (engine.action_key(at, &[*item]), kept(*cell));
            records.extend(known.iter().map(record));
        }
    }
    records.extend(task.done.iter().map(|(key, cell)| (*key, kept(*cell))));
    let puts: Vec<Put> =
        records.iter().map(|(key, value)| Put { kind: Kind::Action, key: *key, value }).collect();
    store.put(&puts);
}

/// The graph of a task, with the work of this machine's graph in it.
fn sub_graph(graph: &Graph, task: &Task, number: usize) -> Result<Graph, Refusal> {
    let mut out = Graph::default();
    for (at, part) in task.parts.iter().enumerate() {
        let own = Fingerprint::default()
            .with_text("task", &number.to_string())
            .with_text("part", &at.to_string());
        let mut node = Node {
            label: String::new(),
            kind: String::new(),
            inputs: Vec::new(),
            joined: Vec::new(),
            fingerprint: own,
            work: Work::Source(Arc::new(Items)),
            hidden: false,
        };
        match part {
            Part::Items => {}
            Part::Known { of } => {
                node.inputs = vec![*of];
                node.work = Work::Map(Arc::new(Brought));
            }
            Part::Parts { of } => {
                node.inputs = vec![*of];
                node.work = Work::Parts;
            }
            Part::Work { label, fingerprint, inputs, joined, .. } => {
                let found = here(graph, label, fingerprint)?;
                node.label = label.clone();
                node.inputs = inputs.clone();
                node.joined = joined.clone();
                node.fingerprint = found.fingerprint.clone();
                node.work = found.work.clone();
            }
        }
        out.nodes.push(node);
    }
    Ok(out)
}

/// The node that does work with a fingerprint.
fn here<'g>(
    graph: &'g Graph,
    label: &str,
    fingerprint: &BTreeMap<String, Digest>,
) -> Result<&'g Node, Refusal> {
    let maps = || graph.nodes.iter().filter(|node| matches!(node.work, Work::Map(_)));
    if let Some(node) = maps().find(|node| node.fingerprint.parts == *fingerprint) {
        return Ok(node);
    }
    let differing = |node: &Node| -> Vec<String> {
        let mut out = Vec::new();
        for (name, wanted) in fingerprint {
            match node.fingerprint.parts.get(name) {
                Some(own) if own == wanted => {}
                Some(own) => out.push(format!(
                    "{name} is {} here, and {} was asked for",
                    own.short(),
                    wanted.short()
                )),
                None => out.push(format!("there is no {name} here")),
            }
        }
        out
    };
    let of_stage = maps().filter(|node| node.label == label);
    let nearest = of_stage.map(differing).min_by_key(Vec::len);
    Err(Refusal::Other(match nearest {
        Some(words) => format!("`{label}`: {}", words.join("; ")),
        None => format!("`{label}`: there is no such stage here"),
    }))
}

/// The items of a task: their list is given, and their contents are in the store.
struct Items;

impl Source for Items {
    fn list(&self, _: &dyn Records) -> Listed<Vec<Entry>> {
        Ok(Vec::new())
    }

    fn fetch(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// Results that came with the job. A missing one is not computed here, because that may take a compiler
/// that this machine lacks.
struct Brought;

impl Map for Brought {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let message = "a result that the job needs did not come with it";
        vec![Outcome::Failed(Failure::machine(message)); items.len()]
    }
}

/// Takes packets as a remote cache would, and has none.
#[derive(Default)]
struct Collector(Mutex<FxHashMap<Digest, Vec<u8>>>);

impl Collector {
    fn lock(&self) -> std::sync::MutexGuard<'_, FxHashMap<Digest, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remote for Collector {
    fn ask(&self, keys: Vec<Digest>, taker: Taker) {
        taker(vec![None; keys.len()]);
    }

    fn offer(&self, key: Digest, bytes: Vec<u8>) {
        self.lock().insert(key, bytes);
    }

    fn refuse(&self, _: Digest, _: &str) {}

    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }
}
