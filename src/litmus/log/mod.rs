//! herd's log format: what was found about each test, as text.
//!
//! It knows neither tests nor models; states are lines. Logs of herd7, litmus7 and klitmus7
//! are read. What is printed is herd's form, or litmus7's where the states were counted.

mod compare;
mod read;
mod sum;

pub use compare::{Difference, LogDiff, State, compare, normal_state};
pub use read::read;
pub use sum::sum;

use std::fmt;

use super::Quantifier;

/// The question of a test, as logs name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `exists`
    Allowed,
    /// `~exists`
    Forbidden,
    /// `forall`
    Required,
    /// Not said.
    Final,
}

impl Kind {
    /// The word for it behind the test's name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Allowed => "Allowed",
            Kind::Forbidden => "Forbidden",
            Kind::Required => "Required",
            Kind::Final => "Final",
        }
    }
}

impl From<Quantifier> for Kind {
    fn from(q: Quantifier) -> Kind {
        match q {
            Quantifier::Exists => Kind::Allowed,
            Quantifier::NotExists => Kind::Forbidden,
            Quantifier::Forall => Kind::Required,
        }
    }
}

/// Whether the condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Ok,
    /// It does not.
    No,
    /// The test has undefined behaviour, so that no answer means anything.
    Undef,
    /// The log does not say.
    Unknown,
}

/// How often the proposition of the condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// In no execution.
    Never,
    /// In some, and not in others.
    Sometimes,
    /// In every one.
    Always,
}

impl Observation {
    /// As logs have it.
    pub fn word(self) -> &'static str {
        match self {
            Observation::Never => "Never",
            Observation::Sometimes => "Sometimes",
            Observation::Always => "Always",
        }
    }
}

/// How often a machine showed a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How often, in all runs of the test.
    pub count: u64,
    /// Whether the proposition of the condition holds in the state.
    pub holds: bool,
}

/// One test of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// The name of the test.
    pub name: String,
    /// The question of the test.
    pub kind: Kind,
    /// One line each, as `0:X1=1; [x]=2;`, in printing order.
    pub states: Vec<String>,
    /// For each state, how often it was seen; empty in logs of simulators.
    pub seen: Vec<Seen>,
    /// Whether the condition holds.
    pub verdict: Verdict,
    /// Whether loops were cut, so that legal outcomes may be missing.
    pub cut: bool,
    /// How many executions satisfy the proposition, and how many do not. The quantifier does
    /// not matter here; in print, `Positive` counts for `~exists` those that do not.
    pub positive: u64,
    /// How many executions do not satisfy the proposition.
    pub negative: u64,
    /// The names of flags that a model raised, `*undef*` among them.
    pub flags: Vec<String>,
    /// With its quantifier: `exists (0:X1=1)`.
    pub condition: String,
    /// As the log has it, where it was read; `None` where it did not say.
    pub observation: Option<Observation>,
    /// How long the test took; `None` where the log does not say.
    pub seconds: Option<f64>,
    /// The hash of the test that the log's tool made; `None` where there is none.
    pub hash: Option<String>,
}

/// The flag of undefined behaviour.
pub const UNDEF: &str = "*undef*";

impl LogEntry {
    /// An entry with its verdict and observation worked out from the counts.
    pub fn new(
        name: impl Into<String>,
        quantifier: Quantifier,
        condition: impl Into<String>,
        states: Vec<String>,
        (positive, negative): (u64, u64),
    ) -> LogEntry {
        let holds = match quantifier {
            Quantifier::Exists => positive > 0,
            Quantifier::NotExists => positive == 0,
            Quantifier::Forall => negative == 0,
        };
        let observation = if positive == 0 {
            Observation::Never
        } else if negative == 0 {
            Observation::Always
        } else {
            Observation::Sometimes
        };
        LogEntry {
            name: name.into(),
            kind: quantifier.into(),
            states,
            seen: Vec::new(),
            verdict: if holds { Verdict::Ok } else { Verdict::No },
            cut: false,
            positive,
            negative,
            flags: Vec::new(),
            condition: condition.into(),
            observation: Some(observation),
            seconds: None,
            hash: None,
        }
    }

    /// Raises a flag; `*undef*` also takes the verdict away.
    pub fn flag(&mut self, name: &str) {
        if name == UNDEF {
            self.verdict = Verdict::Undef;
        }
        if !self.flags.iter().any(|f| f == name) {
            self.flags.push(name.to_string());
            // herd's order: undefined behaviour first, then by name.
            self.flags.sort_by_key(|f| (f != UNDEF, f.clone()));
        }
    }

    /// Whether two logs can speak of one test: hashes tell tests apart. Each tool hashes in its own way,
    /// so that only hashes of one length are compared.
    pub fn is_same_test(&self, other: &LogEntry) -> bool {
        match (&self.hash, &other.hash) {
            (Some(a), Some(b)) => a.len() != b.len() || a == b,
            _ => true,
        }
    }

    /// Whether the test has undefined behaviour, by its verdict or by a flag.
    pub(crate) fn is_undefined(&self) -> bool {
        self.verdict == Verdict::Undef || self.flags.iter().any(|f| f == UNDEF)
    }
}

/// One block, with the empty line that ends it.
impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.print(&mut out);
        f.write_str(&out)
    }
}

impl LogEntry {
    /// Appends the entry to a text. A campaign prints millions of entries, so that nothing here goes
    /// through a format.
    pub fn print(&self, out: &mut String) {
        let states: usize = self.states.iter().map(|s| s.len() + 1).sum();
        out.reserve(256 + 2 * self.name.len() + self.condition.len() + states);
        let mut line = |parts: &[&str]| {
            parts.iter().for_each(|p| out.push_str(p));
            out.push('\n');
        };
        let name = self.name.as_str();
        line(&["Test ", name, " ", self.kind.word()]);
        let counted = !self.seen.is_empty();
        match counted {
            false => line(&["States ", &self.states.len().to_string()]),
            true => line(&["Histogram (", &self.states.len().to_string(), " states)"]),
        }
        for (n, state) in self.states.iter().enumerate() {
            match self.seen.get(n) {
                None => line(&[state]),
                Some(seen) => {
                    let mark = if seen.holds { "*>" } else { ":>" };
                    line(&[&format!("{:<6}", seen.count), mark, state]);
                }
            }
        }
        let loops = if self.cut { "Loop " } else { "" };
        let verdict = match self.verdict {
            Verdict::Ok => "Ok",
            Verdict::No => "No",
            Verdict::Undef => "Undef",
            Verdict::Unknown => "??",
        };
        line(&[loops, verdict]);
        if counted {
            line(&[]);
        }
        line(&["Witnesses"]);
        let (positive, negative) = (&*self.positive.to_string(), &*self.negative.to_string());
        let (first, second) = match self.kind {
            Kind::Forbidden => (negative, positive),
            _ => (positive, negative),
        };
        let comma = if counted { "," } else { "" };
        line(&["Positive: ", first, comma, " Negative: ", second]);
        for flag in &self.flags {
            line(&["Flag ", flag]);
        }
        let validated = match (counted, self.verdict) {
            (true, Verdict::Ok) => " is validated",
            (true, Verdict::No) => " is NOT validated",
            _ => "",
        };
        line(&["Condition ", &self.condition, validated]);
        if let Some(observation) = self.observation {
            line(&["Observation ", name, " ", observation.word(), " ", positive, " ", negative]);
        }
        match self.seconds {
            Some(0.0..0.005) => line(&["Time ", name, " 0.00"]),
            Some(seconds) => line(&["Time ", name, &format!(" {seconds:.2}")]),
            None => {}
        }
        if let Some(hash) = &self.hash {
            line(&["Hash=", hash]);
        }
        line(&[]);
    }
}
