//! An execution of a test as it is shown to people: events as text, arrows between them, and which
//! requirements of a model it fails.
//!
//! It does not know how executions are found, nor how they are drawn.

use compact_str::CompactString;

/// An event, for people.
#[derive(Clone, Debug)]
pub struct Event {
    /// `None` for an initial write.
    pub thread: Option<u16>,
    /// As herd labels it, without the letter: `W[x]=1`.
    pub text: String,
    /// The instruction or statement that it belongs to, as text.
    pub instruction: String,
    /// Counted from 1; 0 for an initial write.
    pub line: usize,
}

/// Pairs of events, by their places in [`Execution::events`].
pub type Pairs = Vec<(usize, usize)>;

/// An execution, for people.
#[derive(Clone, Debug)]
pub struct Execution {
    /// All of them, in the order in which they get their letters.
    pub events: Vec<Event>,
    /// Program order, but for what follows from it.
    pub po: Pairs,
    /// Reads-from: each write, and a read that returns it.
    pub rf: Pairs,
    /// Coherence: writes of one place, the earlier before the later.
    pub co: Pairs,
    /// From-reads: each read, and a write that comes later in coherence than the one that it
    /// returns.
    pub fr: Pairs,
    /// Dependencies, and what the model shows.
    pub others: Vec<(String, Pairs)>,
    /// The requirements that it fails; none where it is allowed.
    pub failures: Vec<Failure>,
    /// The final state: label and value of what is shown.
    pub state: Vec<(CompactString, CompactString)>,
}

impl Execution {
    /// `a` to `z`, `a1` and on.
    pub fn letter(e: usize) -> String {
        let letter = char::from(b'a' + (e % 26) as u8);
        if e < 26 { letter.to_string() } else { format!("{letter}{}", e / 26) }
    }
}

/// An arrow between two events, by their places in [`Execution::events`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// The text on it.
    pub label: String,
    /// The label is a name in the model, with its definition.
    pub named: bool,
}

impl Edge {
    /// An arrow whose label is not a name of the model's.
    pub fn new(from: usize, to: usize, label: String) -> Edge {
        Edge { from, to, label, named: false }
    }
}

/// A requirement that an execution does not meet.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// The requirement, as the model calls it.
    pub name: String,
    /// `file:line`
    pub place: String,
    /// The arrows that fail the requirement: each is a cycle, or a way from one event to another.
    pub chains: Vec<Vec<Edge>>,
    /// The events that fail the requirement, where it has no arrows.
    pub events: Vec<usize>,
    /// Whether each chain is a cycle.
    pub is_cycle: bool,
    /// Whether the model asks that the check fails, as `~empty` does.
    pub negated: bool,
}
