//! Jobs: work of a run for another machine, as self-contained bytes.
//!
//! A job holds the content of its items and the known results that they need. It names the work by the
//! parts of its fingerprint, and so determines the compiler and the model. It has no names of items, no
//! paths and no times. It does not know which machine does it.

use std::collections::BTreeMap;

use litmake_base::digest::Digest;
use litmake_base::framed::{Reader, put, put_number};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::rows::Cell;

/// One step of a task, or one of its inputs. Its place is its index; it names other places by theirs, which
/// are smaller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The items of the task. It is the first.
    Items,
    /// Results that are known, by the content of the item that they are of.
    Known {
        /// The place whose results are known.
        of: usize,
    },
    /// The list of the parts of another place's bundles.
    Parts {
        /// The place that gives the bundles.
        of: usize,
    },
    /// Work to be done.
    Work {
        /// The stage, for people.
        label: String,
        /// The parts of the work's fingerprint.
        fingerprint: BTreeMap<String, Digest>,
        /// The places whose results the work takes, in order.
        inputs: Vec<usize>,
        /// The places that work on parts of the items, and whose results the work takes, too.
        joined: Vec<usize>,
        /// Whether the job returns its results; if not, only later places use them.
        wanted: bool,
    },
}

/// Some rows of one list, and the work on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// The places, from the items on.
    pub parts: Vec<Part>,
    /// The number of items in each strip. Each wanted place returns one packet for each strip.
    pub strips: Vec<u32>,
    /// The items, by the digests of their content.
    pub items: Vec<Digest>,
    /// For each known part, the results by the content of the item.
    pub known: Vec<Vec<(Digest, Cell)>>,
    /// Results of this work that are known already, by their keys.
    pub done: Vec<(Digest, Cell)>,
}

/// Tasks with all contents that they name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// A question to the other machine about itself; mostly empty. The answer is a packet under the digest
    /// of the question, before all others.
    pub question: Vec<u8>,
    /// The tasks, in the order in which they are done.
    pub tasks: Vec<Task>,
    /// Every content that a task names by its digest, each once.
    pub contents: Vec<Vec<u8>>,
}

/// The part of a task that is encoded as text.
#[derive(Serialize, Deserialize)]
struct Head {
    parts: Vec<Part>,
    strips: Vec<u32>,
}

impl Task {
    /// The places whose results the job returns.
    pub fn wanted(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().enumerate().filter_map(|(at, part)| match part {
            Part::Work { wanted: true, .. } => Some(at),
            _ => None,
        })
    }

    /// How many packets it gives.
    pub fn outputs(&self) -> usize {
        self.wanted().count() * self.strips.len()
    }

    fn is_sound(&self) -> bool {
        let before = |at: usize, of: &usize| *of < at;
        let sound = |(at, part): (usize, &Part)| match part {
            Part::Items => at == 0,
            Part::Known { of } | Part::Parts { of } => before(at, of),
            Part::Work { inputs, joined, .. } => {
                !inputs.is_empty() && inputs.iter().chain(joined).all(|of| before(at, of))
            }
        };
        let rows: u64 = self.strips.iter().map(|n| u64::from(*n)).sum();
        matches!(self.parts.first(), Some(Part::Items))
            && self.parts.iter().enumerate().all(sound)
            && self.known.len() == self.parts.len()
            && self.strips.iter().all(|n| *n > 0)
            && rows == self.items.len() as u64
    }
}

/// Contents of a job that is being made, each once.
#[derive(Default)]
pub struct Contents {
    seen: FxHashSet<Digest>,
    /// The contents, in the order in which they were added.
    pub(crate) all: Vec<Vec<u8>>,
    /// The size of all contents.
    pub(crate) bytes: usize,
}

impl Contents {
    /// Whether a content is there already.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.seen.contains(digest)
    }

    /// Adds a content by its digest, where it is new.
    pub(crate) fn add(&mut self, digest: Digest, content: Vec<u8>) {
        if self.seen.insert(digest) {
            self.bytes += content.len();
            self.all.push(content);
        }
    }
}

fn put_cells(out: &mut Vec<u8>, cells: &[(Digest, Cell)]) {
    put_number(out, cells.len());
    for (key, cell) in cells {
        out.extend_from_slice(&key.0);
        out.extend_from_slice(&cell.encode());
    }
}

/// The results that `put_cells` put.
fn cells(reader: &mut Reader) -> Option<Vec<(Digest, Cell)>> {
    // Each takes some bytes, so an absurd count ends where the bytes do.
    let mut out = Vec::new();
    for _ in 0..reader.number()? {
        out.push((reader.digest()?, Cell::decode(reader.take(33)?)?));
    }
    Some(out)
}

impl Job {
    /// Whether it has a question.
    pub fn asks(&self) -> bool {
        !self.question.is_empty()
    }

    /// How many packets it gives.
    pub fn outputs(&self) -> usize {
        usize::from(self.asks()) + self.tasks.iter().map(Task::outputs).sum::<usize>()
    }

    /// The bytes that [`Job::decode`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, &self.question);
        put_number(&mut out, self.tasks.len());
        for task in &self.tasks {
            let head = Head { parts: task.parts.clone(), strips: task.strips.clone() };
            put(&mut out, &serde_json::to_vec(&head).unwrap_or_default());
            put_number(&mut out, task.items.len());
            task.items.iter().for_each(|item| out.extend_from_slice(&item.0));
            task.known.iter().for_each(|known| put_cells(&mut out, known));
            put_cells(&mut out, &task.done);
        }
        for content in &self.contents {
            put(&mut out, content);
        }
        out
    }

    /// Reads a job; `None` if any of it is damaged.
    pub fn decode(bytes: &[u8]) -> Option<Job> {
        let mut reader = Reader(bytes);
        let mut out = Job { question: reader.bytes()?.to_vec(), ..Job::default() };
        for _ in 0..reader.number()? {
            let head: Head = serde_json::from_slice(reader.bytes()?).ok()?;
            let mut task = Task { parts: head.parts, strips: head.strips, ..Task::default() };
            for _ in 0..reader.number()? {
                task.items.push(reader.digest()?);
            }
            for _ in 0..task.parts.len() {
                task.known.push(cells(&mut reader)?);
            }
            task.done = cells(&mut reader)?;
            if !task.is_sound() {
                return None;
            }
            out.tasks.push(task);
        }
        while !reader.is_empty() {
            out.contents.push(reader.bytes()?.to_vec());
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::State;

    fn job() -> Job {
        let item = Digest::of(b"item");
        let cell = Cell { state: State::Done, content: Digest::of(b"result") };
        let work = Part::Work {
            label: "target".into(),
            fingerprint: BTreeMap::from([("model".to_string(), Digest::of(b"m"))]),
            inputs: vec![1],
            joined: Vec::new(),
            wanted: true,
        };
        let task = Task {
            parts: vec![Part::Items, Part::Known { of: 0 }, work],
            strips: vec![1],
            items: vec![item],
            known: vec![Vec::new(), vec![(item, cell)], Vec::new()],
            done: vec![(Digest::of(b"key"), cell)],
        };
        Job {
            question: b"who".to_vec(),
            tasks: vec![task],
            contents: vec![b"item".to_vec(), b"result".to_vec()],
        }
    }

    #[test]
    fn a_job_reads_back() {
        let job = job();
        let bytes = job.encode();
        assert_eq!(Job::decode(&bytes), Some(job.clone()));
        assert_eq!(job.outputs(), 2);
        for len in 0..bytes.len() {
            // A job that is cut where a content begins has fewer contents, and differs in nothing else.
            if let Some(read) = Job::decode(&bytes[..len]) {
                assert_eq!(read.tasks, job.tasks);
                assert!(read.contents.len() < job.contents.len());
            }
        }
    }

    #[test]
    fn a_job_that_goes_in_circles_is_none() {
        let mut wrong = job();
        wrong.tasks[0].parts[1] = Part::Known { of: 2 };
        assert_eq!(Job::decode(&wrong.encode()), None);
        let mut wrong = job();
        wrong.tasks[0].strips = vec![2];
        assert_eq!(Job::decode(&wrong.encode()), None);
        let mut wrong = job();
        wrong.tasks[0].parts.swap(0, 1);
        assert_eq!(Job::decode(&wrong.encode()), None);
    }
}
