//! What a run tells while it goes: events, and who listens to them.
//!
//! Nothing here prints by itself but the listeners, which are chosen by the command line.

use std::io::Write;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    Started {
        nodes: &'a [String],
    },
    /// A node's number of tasks has become known.
    Sized {
        node: &'a str,
        tasks: u64,
    },
    /// Part of a node is done.
    Progress {
        node: &'a str,
        tasks: u64,
        executed: u64,
        cached: u64,
        failed: u64,
        findings: u64,
    },
    /// One item could not be done.
    Failed {
        node: &'a str,
        item: &'a str,
        message: &'a str,
    },
    Notice {
        message: &'a str,
    },
    /// Jobs on other machines: those that wait for a worker, that are worked on, and whose results came.
    Elsewhere {
        queued: u64,
        running: u64,
        fetched: u64,
    },
    /// All tasks are done, or the run was stopped.
    Finished {
        stopped: bool,
        #[serde(serialize_with = "seconds")]
        time: Duration,
    },
    /// After the tasks, differences are told apart as bugs, and then findings are looked into: so many
    /// of them were, and the next one is of this test. Once all of them were, there is no next one.
    Investigating {
        done: u64,
        findings: u64,
        test: &'a str,
    },
}

fn seconds<S: serde::Serializer>(time: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}

pub trait Listener: Send + Sync {
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
    pub fn new(out: W) -> Lines<W> {
        Lines { out: Mutex::new(out), failed: OnceLock::new() }
    }
}

impl<W: Write + Send> Listener for Lines<W> {
    fn event(&self, event: &Event) {
        // What is behind a line that is missing would be misread. The run itself goes on.
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
