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

/// The result of work on one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result. It is stored for good.
    Done(Vec<u8>),
    /// The result, which someone should look at. It is stored for good.
    Finding(Vec<u8>),
    /// A result without the parts that a tool refused. It is stored like a refusal: until it is old, or
    /// until the user wants tools to be asked again.
    DoneForNow(Vec<u8>),
    /// No result. The kind of the failure says whether it is stored, and for how long.
    Failed(Failure),
}

impl Outcome {
    /// The outcome of work that was told to stop.
    pub fn stopped() -> Outcome {
        Outcome::Failed(Failure::stopped())
    }

    /// How long it may be used from the store.
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

/// The part of a run that work may ask about.
#[derive(Clone, Default)]
pub struct Context {
    /// Whether the run should end early, and who asks it to.
    pub stop: Stop,
    /// Where long work on one item may store its partial results.
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
    /// The items in order of their names; an error is one of the whole list. The source may store among the
    /// records what makes the next listing quick.
    fn list(&self, known: &dyn Records) -> litmake_base::diag::Result<Vec<Entry>>;

    /// The content of an item; `None` where it is gone.
    fn fetch(&self, name: &str) -> Option<Vec<u8>>;

    /// The key of the record in which the list is remembered, where it is the same on every machine.
    fn record(&self) -> Option<Digest> {
        None
    }

    /// How many candidates the last list was made from, and why the others are not in it.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// How many candidates a list was made from, and how many of them are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many candidates were looked at.
    pub considered: u64,
    /// How many of them were left out, by the reason in words.
    pub dropped: BTreeMap<String, u64>,
    /// How many items were newly made for this list. Not encoded.
    pub made: u64,
    /// Candidates that cannot be read, by name, with the reason. Not encoded.
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

    /// Reads what `encode` wrote from the start of `bytes`; also returns the rest of them.
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
    /// Never: it measures this machine.
    Never,
    /// Only in the job of an input, because sending it takes longer than doing it.
    Along,
    /// In a job of its own, too.
    Alone,
    /// Only on other machines, because this one lacks a tool for it.
    Only,
}

/// Work on one item at a time. Its result depends on the inputs' content and on the node's fingerprint,
/// never on names, time or order.
pub trait Map: Send + Sync {
    /// How many items one call should get, if there are so many.
    fn batch(&self) -> usize {
        16
    }

    /// Called before the first item with the number of all items, those with known results included.
    fn told(&self, _items: usize) {}

    /// A digest of the part of the inputs that decides the result, if that is less than all their bytes.
    /// Inputs with equal digests must give equal results.
    fn normal(&self, _inputs: &[Vec<u8>]) -> Option<Digest> {
        None
    }

    /// Whether its results are stored. A result that is made more quickly than it is looked up is not: it
    /// is made when something reads it, and its cell holds the digest of its inputs.
    fn keeps(&self) -> bool {
        true
    }

    /// How its results are known without being made, where they are made when something reads them.
    fn forms(&self) -> Option<&dyn Forms> {
        None
    }

    /// Whether inputs of equal forms give equal results. Other work sees all of an input, such as its name.
    fn asks_forms(&self) -> bool {
        false
    }

    /// Whether its failures are items that it leaves out on purpose.
    fn leaves_out(&self) -> bool {
        false
    }

    /// Whether it may be done on another machine.
    fn travels(&self) -> Travels {
        Travels::Along
    }

    /// Whether an item fails for the reason that one of its parts failed. If not, the work sees which parts
    /// are missing.
    fn needs_all_parts(&self) -> bool {
        false
    }

    /// Whether it looks at the content of an input. If not, the item has nothing in its place.
    fn reads(&self, _input: usize) -> bool {
        true
    }

    /// One outcome for each item, in order; an item is the contents of its inputs.
    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome>;
}

/// Tells results apart by what they are made from, so that most of them need not be made.
pub trait Forms {
    /// The form of the result for these inputs and then parts, which are given by their digests; `read` gives
    /// the content of one of them. Nothing where the result has no form, such as one that cannot be made.
    fn form(
        &self,
        from: &[Digest],
        read: &dyn Fn(usize) -> Result<Vec<u8>, Failure>,
    ) -> Result<Option<Digest>, Failure>;
}

/// The work of a node.
#[derive(Clone)]
pub enum Work {
    /// Finds the items of a list.
    Source(Arc<dyn Source>),
    /// Works on each item of its inputs.
    Map(Arc<dyn Map>),
    /// The items of the first input without duplicates: of items whose results in the second input are
    /// equal, the first stays.
    Distinct,
    /// The list of all parts of the input's bundles, each distinct part once.
    Parts,
}

/// The named parts of a node's key, so that a change can be reported by name.
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
    /// Nodes that work on the parts of the first input's bundles. The content of an item here is its
    /// inputs' results and then, for each of these nodes, the results of the item's parts.
    pub joined: Vec<usize>,
    /// Everything that its results depend on besides its inputs.
    pub fingerprint: Fingerprint,
    /// The work.
    pub work: Work,
    /// Reports leave out its failures where the item already failed in an input.
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

    /// The root of each node.
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
            // The list of parts says nothing of the items that results of equal forms differ by.
            let has_forms = |j: &usize| matches!(&self.nodes[*j].work, Work::Map(work) if work.forms().is_some());
            if node.joined.iter().any(has_forms) {
                return Err(format!("`{}` joins what is known by its form", node.label));
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

/// How long a run waits before it looks again at the results of other processes.
pub const REFRESH: Duration = Duration::from_millis(100);
