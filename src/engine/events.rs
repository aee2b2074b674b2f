//! The events of a run while it goes, and their listeners.
//!
//! Nothing here prints by itself but the listeners, which are chosen by the command line.

use std::io::Write;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use serde::Serialize;

/// An event of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// A run begins.
    Started {
        /// The labels of its nodes, in the order of the graph.
        nodes: &'a [String],
    },
    /// A node's number of tasks has become known.
    Sized {
        /// The label of the node.
        node: &'a str,
        /// How many tasks the node has.
        tasks: u64,
    },
    /// Part of a node is done.
    Progress {
        /// The label of the node.
        node: &'a str,
        /// How many tasks the node has.
        tasks: u64,
        /// How many of them were executed so far.
        executed: u64,
        /// How many of them are done so far without being executed.
        cached: u64,
        /// How many of them failed so far.
        failed: u64,
        /// How many of them are findings so far.
        findings: u64,
    },
    /// One item could not be done.
    Failed {
        /// The label of the node.
        node: &'a str,
        /// The name of the item.
        item: &'a str,
        /// Why it could not be done.
        message: &'a str,
    },
    /// Something that the user should know, and that no item is to blame for.
    Notice {
        /// The notice in words.
        message: &'a str,
    },
    /// The number of jobs on other machines in each state.
    Elsewhere {
        /// Jobs that wait for a worker.
        queued: u64,
        /// Jobs that a worker has begun.
        running: u64,
        /// Jobs whose results came.
        fetched: u64,
    },
    /// All tasks are done, or the run was stopped.
    Finished {
        /// Whether the run was stopped before its end.
        stopped: bool,
        /// How long the run took; in JSON, in seconds.
        #[serde(serialize_with = "seconds")]
        time: Duration,
    },
    /// After the tasks, differences are grouped into findings, and each finding is investigated. The event
    /// comes before each investigation, and once after the last.
    Investigating {
        /// How many findings were investigated.
        done: u64,
        /// How many findings there are.
        findings: u64,
        /// The test whose finding is investigated next; empty after the last.
        test: &'a str,
    },
}

fn seconds<S: serde::Serializer>(time: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// Someone who hears the events of a run.
pub trait Listener: Send + Sync {
    /// Hears one event. It comes from whichever thread it happens in.
    fn event(&self, event: &Event);

    /// Why it could not hand on all that it heard.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// Hears nothing.
pub struct Silent;

impl Listener for Silent {
    fn event(&self, _: &Event) {}
}

/// Several listeners as one.
pub struct All(pub Vec<Box<dyn Listener>>);

impl Listener for All {
    fn event(&self, event: &Event) {
        for listener in &self.0 {
            listener.event(event);
        }
    }

    fn trouble(&self) -> Option<String> {
        self.0.iter().find_map(|l| l.trouble())
    }
}

/// One JSON object a line.
pub struct Lines<W: Write + Send> {
    out: Mutex<W>,
    failed: OnceLock<String>,
}

impl<W: Write + Send> Lines<W> {
    /// A listener that writes to `out`.
    pub fn new(out: W) -> Lines<W> {
        Lines { out: Mutex::new(out), failed: OnceLock::new() }
    }
}

impl<W: Write + Send> Listener for Lines<W> {
    fn event(&self, event: &Event) {
        // Lines behind a missing one would be misread. The run itself goes on.
        if self.failed.get().is_some() {
            return;
        }
        if let Ok(text) = serde_json::to_string(event)
            && let Ok(mut out) = self.out.lock()
        {
            // Whoever follows the file sees what was done when it was done.
            if let Err(e) = writeln!(out, "{text}").and_then(|()| out.flush()) {
                let _ = self.failed.set(e.to_string());
            }
        }
    }

    fn trouble(&self) -> Option<String> {
        self.failed.get().cloned()
    }
}
