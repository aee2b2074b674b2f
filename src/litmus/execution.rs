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
    pub instruction: String,
    /// Counted from 1; 0 for an initial write.
    pub line: usize,
}

pub type Pairs = Vec<(usize, usize)>;

/// An execution, for people.
#[derive(Clone, Debug)]
pub struct Execution {
    pub events: Vec<Event>,
    /// Program order, but for what follows from it.
    pub po: Pairs,
    pub rf: Pairs,
    pub co: Pairs,
    pub fr: Pairs,
    /// Dependencies, and what the model shows.
    pub others: Vec<(String, Pairs)>,
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
    pub from: usize,
    pub to: usize,
    pub label: String,
    /// The label is a name of the model's and what it stands for.
    pub named: bool,
}

impl Edge {
    pub fn new(from: usize, to: usize, label: String) -> Edge {
        Edge { from, to, label, named: false }
    }
}

/// A requirement that an execution does not meet.
#[derive(Clone, Debug)]
pub struct Failure {
    pub name: String,
    /// `file:line`
    pub place: String,
    /// What was found and should not be: a cycle, or ways from one event to another.
    pub chains: Vec<Vec<Edge>>,
    /// The events in question, where there is nothing to derive.
    pub events: Vec<usize>,
    pub is_cycle: bool,
    pub negated: bool,
}
