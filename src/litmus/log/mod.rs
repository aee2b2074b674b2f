//! herd's log format: what was found about each test, as text.
//!
//! It knows neither tests nor models; states are lines. Logs of herd7, litmus7 and klitmus7
//! are read; what is printed is herd's form.

mod compare;
mod read;

pub use compare::{Difference, LogDiff, State, compare, normal_state};
pub use read::read;

use std::fmt;

use super::Quantifier;

/// What a test asks.
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
    Ok,
    No,
    /// The test has undefined behaviour, so that no answer means anything.
    Undef,
    /// The log does not say.
    Unknown,
}

/// How often the proposition of the condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    Never,
    Sometimes,
    Always,
}

impl Observation {
    pub fn word(self) -> &'static str {
        match self {
            Observation::Never => "Never",
            Observation::Sometimes => "Sometimes",
            Observation::Always => "Always",
        }
    }
}

/// One test of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    pub name: String,
    pub kind: Kind,
    /// One line each, as `0:X1=1; [x]=2;`, in printing order.
    pub states: Vec<String>,
    pub verdict: Verdict,
    /// Whether loops were cut, so that legal outcomes may be missing.
    pub cut: bool,
    /// How many executions satisfy the proposition, and how many do not. The quantifier does
    /// not matter here; in print, `Positive` counts for `~exists` those that do not.
    pub positive: u64,
    pub negative: u64,
    /// The names of flags that a model raised, `*undef*` among them.
    pub flags: Vec<String>,
    /// With its quantifier: `exists (0:X1=1)`.
    pub condition: String,
    /// As the log has it, where it was read; `None` where it did not say.
    pub observation: Option<Observation>,
    pub seconds: Option<f64>,
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

    pub fn is_undefined(&self) -> bool {
        self.verdict == Verdict::Undef || self.flags.iter().any(|f| f == UNDEF)
    }
}

/// One block, with the empty line that ends it.
impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |parts: &[&str]| {
            parts.iter().try_for_each(|p| f.write_str(p))?;
            f.write_str("\n")
        };
        line(&["Test ", &self.name, " ", self.kind.word()])?;
        line(&["States ", &self.states.len().to_string()])?;
        for state in &self.states {
            line(&[state])?;
        }
        let loops = if self.cut { "Loop " } else { "" };
        let verdict = match self.verdict {
            Verdict::Ok => "Ok",
            Verdict::No => "No",
            Verdict::Undef => "Undef",
            Verdict::Unknown => "??",
        };
        line(&[loops, verdict])?;
        line(&["Witnesses"])?;
        let (positive, negative) = match self.kind {
            Kind::Forbidden => (self.negative, self.positive),
            _ => (self.positive, self.negative),
        };
        writeln!(f, "Positive: {positive} Negative: {negative}")?;
        for flag in &self.flags {
            writeln!(f, "Flag {flag}")?;
        }
        f.write_str("Condition ")?;
        f.write_str(&self.condition)?;
        f.write_str("\n")?;
        if let Some(observation) = self.observation {
            writeln!(
                f,
                "Observation {} {} {} {}",
                self.name,
                observation.word(),
                self.positive,
                self.negative
            )?;
        }
        if let Some(seconds) = self.seconds {
            writeln!(f, "Time {} {seconds:.2}", self.name)?;
        }
        if let Some(hash) = &self.hash {
            f.write_str("Hash=")?;
            f.write_str(hash)?;
            f.write_str("\n")?;
        }
        f.write_str("\n")
    }
}
