//! The graph that the engine runs: nodes, what they consume, and the work in each.
//!
//! Work is behind traits. The engine knows that it is a function of the content of its inputs
//! and of the node's fingerprint, and nothing else about it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::rows::Entry;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::Records;
use litmake_base::stop::{Stop, Stopping};

/// What one item came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result, which counts from now on.
    Done(Vec<u8>),
    /// Done, and someone should look at it.
    Finding(Vec<u8>),
    /// Done, as far as a tool said no to nothing: what it refused is left out. It is kept, and made
    /// anew when it is old or when that is asked for, as refusals are.
    DoneForNow(Vec<u8>),
    /// Whether that is kept, and for how long, its kind says.
    Failed(Failure),
}

impl Outcome {
    /// The outcome of work that was told to stop.
    pub fn stopped() -> Outcome {
        Outcome::Failed(Failure::stopped())
    }

    /// For how long it is believed.
    pub fn lasting(&self) -> Lasting {
        match self {
            Outcome::Done(_) | Outcome::Finding(_) => Lasting::ForGood,
            Outcome::DoneForNow(_) => Lasting::ForNow,
            Outcome::Failed(failure) => failure.kind.lasting(),
        }
    }
}

impl From<Result<Vec<u8>, Failure>> for Outcome {
    fn from(made: Result<Vec<u8>, Failure>) -> Outcome {
        made.map_or_else(Outcome::Failed, Outcome::Done)
    }
}

/// What work may ask about the run.
#[derive(Clone, Default)]
pub struct Context {
    /// Whether the run should end early, and who asks it to.
    pub stop: Stop,
    /// Where work on one item that takes long may keep what it has done of it.
    pub records: Option<Arc<dyn Records>>,
}

impl Context {
    /// Whether the run is to end early, so that work on an item may give up.
    pub fn stopped(&self) -> bool {
        self.stop.asked()
    }
}

/// Where items come from.
pub trait Source: Send + Sync {
    /// The items in order of their names. Errors are those of the whole list. What it takes to
    /// find them quickly next time may be kept among the records.
    fn list(&self, known: &dyn Records) -> litmake_base::diag::Result<Vec<Entry>>;

    /// The content of an item; `None` where it is gone.
    fn fetch(&self, name: &str) -> Option<Vec<u8>>;

    /// The key of the record in which the list is remembered, where it is the same on every machine.
    fn record(&self) -> Option<Digest> {
        None
    }

    /// What the last list was made from, and why it is not longer.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// What a list was made from: so many were looked at, of which so many are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many candidates were looked at.
    pub considered: u64,
    /// How many of them were left out, by the reason in words.
    pub dropped: BTreeMap<String, u64>,
    /// How many of its items were made for it, and not before. Not part of what is encoded.
    pub made: u64,
    /// What was to be in the list and cannot be read, by name, with the reason. Not part of what is
    /// encoded.
    pub unreadable: Vec<(String, String)>,
}

impl Counts {
    /// Notes that so many were left out for a reason.
    pub fn drop(&mut self, why: &str, n: u64) {
        if n > 0 {
            *self.dropped.entry(why.to_string()).or_default() += n;
        }
    }

    /// The bytes that [`Counts::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.considered.to_le_bytes().to_vec();
        out.extend_from_slice(&(self.dropped.len() as u32).to_le_bytes());
        for (why, n) in &self.dropped {
            out.extend_from_slice(&n.to_le_bytes());
            out.extend_from_slice(&(why.len() as u32).to_le_bytes());
            out.extend_from_slice(why.as_bytes());
        }
        out
    }

    /// Reads what `encode` wrote at the start of some bytes, and gives what stands behind.
    pub fn decode(bytes: &[u8]) -> Option<(Counts, &[u8])> {
        let (considered, rest) = bytes.split_first_chunk()?;
        let (count, mut rest) = rest.split_first_chunk()?;
        let mut out = Counts { considered: u64::from_le_bytes(*considered), ..Counts::default() };
        for _ in 0..u32::from_le_bytes(*count) {
            let (n, after) = rest.split_first_chunk()?;
            let (len, after) = after.split_first_chunk()?;
            let (why, after) = after.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            out.drop(std::str::from_utf8(why).ok()?, u64::from_le_bytes(*n));
            rest = after;
        }
        Some((out, rest))
    }
}

/// Whether work may be done on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travels {
    /// It measures this machine.
    Never,
    /// It takes less time than sending it, and goes along with what it needs.
    Along,
    /// It takes long enough to be sent on its own.
    Alone,
    /// Like alone; and this machine lacks what it takes.
    Only,
}

/// Work on one item at a time. What it gives depends on the inputs' content and on what the
/// node's fingerprint covers, never on names, time or order.
pub trait Map: Send + Sync {
    /// How many items one call should get, where there are as many.
    fn batch(&self) -> usize {
        16
    }

    /// Told before any of its items how many there are in all, those included whose results are
    /// known.
    fn told(&self, _items: usize) {}

    /// A digest of what in the inputs matters, where that is less than their bytes. Inputs with
    /// the same digest must give the same bytes.
    fn normal(&self, _inputs: &[Vec<u8>]) -> Option<Digest> {
        None
    }

    /// Whether its results are kept. Where a result is made more quickly than it is looked up, it
    /// is not: it is made whenever something reads it, and its cell says what it is made from.
    fn keeps(&self) -> bool {
        true
    }

    /// Whether the items to which it says no are left out on purpose, and did not fail.
    fn leaves_out(&self) -> bool {
        false
    }

    /// Whether it may be done elsewhere.
    fn travels(&self) -> Travels {
        Travels::Along
    }

    /// Whether an item of which a part came to nothing comes to nothing itself, for the same
    /// reason. Else the work sees which parts are missing.
    fn needs_all_parts(&self) -> bool {
        false
    }

    /// One outcome for each item, in order; an item is the contents of its inputs.
    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome>;
}

/// What a node does.
#[derive(Clone)]
pub enum Work {
    /// Finds the items of a list.
    Source(Arc<dyn Source>),
    /// Works on each item of its inputs.
    Map(Arc<dyn Map>),
    /// Of the items of the first input, the first of each that have equal content in the second.
    Distinct,
    /// The parts of all bundles that the input gives, one of each that are equal.
    Parts,
}

/// The parts that a node's fingerprint is made of, by name, so that it can be said which changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// The digest of each part, by its name.
    pub parts: BTreeMap<String, Digest>,
}

impl Fingerprint {
    /// Adds a part, or replaces the one of its name.
    pub fn with(mut self, name: &str, digest: Digest) -> Fingerprint {
        self.parts.insert(name.to_string(), digest);
        self
    }

    /// Adds the digest of a text as a part.
    pub fn with_text(self, name: &str, text: &str) -> Fingerprint {
        self.with(name, Digest::of(text.as_bytes()))
    }

    /// The digest of all parts, which goes into every key of the node.
    pub fn digest(&self) -> Digest {
        let mut key = Keyer::new("node/1");
        for (name, part) in &self.parts {
            key.add(name, &part.0);
        }
        key.finish()
    }
}

/// A node of the graph: an instance of a stage, with the work that it does.
#[derive(Clone)]
pub struct Node {
    /// As people see it; several nodes may share one.
    pub label: String,
    /// The kind of its stage.
    pub kind: String,
    /// The nodes that it consumes, as indices into [`Graph::nodes`].
    pub inputs: Vec<usize>,
    /// Nodes that work on the parts of what the first input gives: the content of an item has,
    /// after that of its inputs, for each of these what became of the item's parts in it.
    pub joined: Vec<usize>,
    /// What its results depend on beside its inputs.
    pub fingerprint: Fingerprint,
    /// What it does.
    pub work: Work,
    /// Failures of this kind are of interest only where they are not those of an input.
    pub hidden: bool,
}

/// Nodes, each after those that it consumes.
#[derive(Clone, Default)]
pub struct Graph {
    /// Nodes name each other by their places here.
    pub nodes: Vec<Node>,
}

impl Graph {
    /// The node whose list of items a node works on.
    pub fn root(&self, node: usize) -> usize {
        let mut at = node;
        while let Work::Map(_) = self.nodes[at].work {
            at = self.nodes[at].inputs[0];
        }
        at
    }

    /// That of each node.
    pub fn roots(&self) -> Vec<usize> {
        let mut out: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            let first = node.inputs.first().filter(|_| matches!(node.work, Work::Map(_)));
            // What comes before what it consumes is found out by the check.
            out.push(first.and_then(|j| out.get(*j)).copied().unwrap_or(i));
        }
        out
    }

    /// Checks what the engine relies on.
    pub fn check(&self) -> Result<(), String> {
        let roots = self.roots();
        for (i, node) in self.nodes.iter().enumerate() {
            if node.inputs.iter().chain(&node.joined).any(|j| *j >= i) {
                return Err(format!("`{}` comes before what it consumes", node.label));
            }
            match node.work {
                Work::Source(_) if !node.inputs.is_empty() => {
                    return Err(format!("the source `{}` consumes something", node.label));
                }
                Work::Map(_) | Work::Distinct | Work::Parts if node.inputs.is_empty() => {
                    return Err(format!("`{}` consumes nothing", node.label));
                }
                Work::Distinct if node.inputs.len() != 2 => {
                    return Err(format!("`{}` needs two inputs", node.label));
                }
                Work::Parts if node.inputs.len() != 1 => {
                    return Err(format!("`{}` needs one input", node.label));
                }
                _ => {}
            }
            let whole = node.inputs.first();
            let of_parts = |j: &usize| {
                let root = &self.nodes[roots[*j]];
                matches!(root.work, Work::Parts) && root.inputs.first() == whole
            };
            if !node.joined.iter().all(of_parts) {
                return Err(format!("`{}` joins what is not made from its parts", node.label));
            }
            let root = node.inputs.first().map(|j| roots[*j]);
            if node.inputs.iter().any(|j| Some(roots[*j]) != root) {
                return Err(format!(
                    "`{}` consumes stages that work on different lists of tests",
                    node.label
                ));
            }
        }
        Ok(())
    }
}

/// How long a run waits between looks at what other processes have done.
pub const REFRESH: Duration = Duration::from_millis(100);
