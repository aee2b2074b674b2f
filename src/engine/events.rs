//! What a run tells while it goes: events, and who listens to them.
//!
//! Nothing here prints by itself but the listeners, which are chosen by the command line.

use std::io::Write;
use std::sync::Mutex;
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
    Finished {
        stopped: bool,
        #[serde(serialize_with = "seconds")]
        time: Duration,
    },
}

fn seconds<S: serde::Serializer>(time: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}

pub trait Listener: Send + Sync {
    fn event(&self, event: &Event);
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
}

/// One JSON object a line.
pub struct Lines<W: Write + Send>(pub Mutex<W>);

impl<W: Write + Send> Listener for Lines<W> {
    fn event(&self, event: &Event) {
        if let Ok(text) = serde_json::to_string(event)
            && let Ok(mut out) = self.0.lock()
        {
            // A listener that cannot be written to does not stop a run.
            // Whoever follows the file sees what was done when it was done.
            let _ = writeln!(out, "{text}").and_then(|()| out.flush());
        }
    }
}
