//! Compares what a test may show with what it showed: classifies outcomes by models, and draws
//! conclusions.
//!
//! It does not know how tests run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use super::columns::{Columns, shown_bits};
use super::run::Counted;
use litmake_base::diag::Result;
use litmake_cat::{self as cat, LoadOptions};
use litmake_devices::Class;
use litmake_devices::record::{Cell, UNKNOWN};
use litmake_litmus::{self as litmus, Arch, Test};
use litmake_ops::Val;
use litmake_sim::program::Program;
use litmake_sim::results::{Outcome, holds};
use litmake_sim::{self as sim, Model, Options, Simulator};

pub use litmake_sim::State;

/// A state as text: `0:rax=1; [x]=2;`.
pub fn text(state: &State) -> String {
    let parts: Vec<String> = state.iter().map(|(k, v)| format!("{k}={v};")).collect();
    parts.join(" ")
}

/// A state as in reports, without brackets.
pub fn named(state: &State) -> BTreeMap<String, String> {
    state.iter().map(|(k, v)| (litmus::bare(k).to_string(), v.to_string())).collect()
}

/// Models by dialect, loaded on first use.
pub struct Models {
    wanted: Option<String>,
    loaded: HashMap<Arch, std::result::Result<(Model, Model), Box<litmake_base::diag::Diag>>>,
    simulator: Simulator,
    timeout: Duration,
}

impl Models {
    /// Uses the model with a name or path, or each dialect's own.
    pub fn new(wanted: Option<&str>) -> Models {
        Models {
            wanted: wanted.map(str::to_string),
            loaded: HashMap::new(),
            simulator: Simulator::default(),
            timeout: Duration::from_secs(60),
        }
    }

    /// The name of the model for a dialect.
    pub fn name(&self, arch: Arch) -> String {
        self.wanted.clone().unwrap_or_else(|| arch.default_model().to_string())
    }

    /// Simulates a test under its model and under interleaving.
    pub fn expect(&mut self, test: &Test) -> Result<Expected> {
        let name = self.name(test.arch);
        let load = |name: &str| Model::load(&cat::load(name, &LoadOptions::new(test.arch))?);
        let both = self.loaded.entry(test.arch).or_insert_with(|| Ok((load(&name)?, load("sc")?)));
        let (model, sc) = match both {
            Ok(both) => both,
            Err(e) => return Err(e.clone()),
        };
        let options = Options { timeout: Some(self.timeout), ..Options::default() };
        let allowed = self.simulator.simulate(test, model, &options)?;
        let interleaved = self.simulator.simulate(test, sc, &options)?;
        Ok(Expected {
            model: name,
            allowed: allowed.states.iter().collect(),
            interleaved: interleaved.states.iter().collect(),
            undefined: allowed.undefined,
            cut: allowed.cut,
        })
    }
}

/// The outcomes that a model allows for a test.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The name of the model.
    pub model: String,
    /// The final states that the model allows.
    pub allowed: BTreeSet<State>,
    /// The final states of interleavings.
    pub interleaved: BTreeSet<State>,
    /// Whether the test has undefined behaviour, so that nothing is forbidden.
    pub undefined: bool,
    /// Whether loops were cut, so that outcomes may be missing and nothing counts as forbidden.
    pub cut: bool,
}

impl Expected {
    /// The class of a state.
    pub fn class(&self, state: &State) -> Class {
        if self.interleaved.contains(state) && self.allowed.contains(state) {
            Class::Interleaved
        } else if self.allowed.contains(state) {
            Class::Weak
        } else {
            Class::Forbidden
        }
    }

    /// Whether an outcome that is not allowed is a violation.
    pub fn is_binding(&self) -> bool {
        !self.undefined && !self.cut
    }
}

/// An observed outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How often it was observed.
    pub count: u64,
    /// Whether the proposition of the condition holds.
    pub holds: bool,
    /// The class of the outcome.
    pub class: Class,
}

/// The outcomes that a test showed, in one environment or several.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of rounds that ran.
    pub rounds: u64,
    /// The time that they took.
    pub seconds: f64,
    /// The observed final states.
    pub states: BTreeMap<State, Seen>,
    /// The number of outcomes that were not kept apart, because they have too many different
    /// unexpected values.
    pub lost: u64,
}

impl Tally {
    /// The number of instances that ran.
    pub fn total(&self) -> u64 {
        self.states.values().map(|s| s.count).sum::<u64>() + self.lost
    }

    fn sum(&self, which: impl Fn(&Seen) -> bool) -> u64 {
        self.states.values().filter(|s| which(s)).map(|s| s.count).sum()
    }

    /// The number of instances that satisfy the proposition of the condition.
    pub fn positive(&self) -> u64 {
        self.sum(|s| s.holds)
    }

    /// The number of instances with a weak outcome.
    pub fn weak(&self) -> u64 {
        self.sum(|s| s.class == Class::Weak)
    }

    /// The number of instances with an outcome that the model forbids.
    pub fn forbidden(&self) -> u64 {
        self.sum(|s| s.class == Class::Forbidden) + self.lost
    }

    /// Adds the outcomes of the same test in another environment.
    pub fn add(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.seconds += other.seconds;
        self.lost += other.lost;
        for (state, seen) in other.states {
            self.states.entry(state).and_modify(|s| s.count += seen.count).or_insert(seen);
        }
    }

    /// Converts counted numbers into states.
    pub fn new(
        counted: &Counted,
        program: &Program,
        columns: &Columns,
        expected: &Expected,
    ) -> Tally {
        let mut out = Tally {
            rounds: counted.rounds,
            seconds: counted.seconds,
            lost: counted.lost,
            ..Tally::default()
        };
        for (number, count) in &counted.outcomes {
            // Outcomes that have a value without a number are in `raw`.
            let values: Option<Vec<Val>> = columns.read(*number).into_iter().collect();
            if let Some(values) = values {
                out.put(values, *count, program, expected);
            }
        }
        for (number, count, raw) in &counted.raw {
            let known = columns.read(*number).into_iter().enumerate();
            let value = |(c, v): (usize, Option<Val>)| {
                let raw = raw.get(c).copied().unwrap_or(0);
                v.unwrap_or_else(|| shown_bits(&program.observed[c], raw))
            };
            out.put(known.map(value).collect(), *count, program, expected);
        }
        out
    }

    fn put(&mut self, values: Vec<Val>, count: u64, program: &Program, expected: &Expected) {
        let outcome: Outcome = values.into_iter().collect();
        if let Some(filter) = &program.filter
            && !holds(filter, program, &outcome)
        {
            return;
        }
        let parts = program.shown.iter().flat_map(|s| &s.parts);
        let state = sim::state(program, parts.map(|i| outcome[*i]));
        let seen = self.states.entry(state.clone()).or_insert_with(|| Seen {
            count: 0,
            holds: holds(&program.condition, program, &outcome),
            class: expected.class(&state),
        });
        seen.count += count;
    }

    /// The form in results. A mutant looks for its condition, other tests for outcomes that the
    /// model forbids.
    pub fn cell(&self, is_mutant: bool) -> Cell {
        let weak = if is_mutant { self.positive() } else { self.forbidden() };
        let mut outcomes: BTreeMap<String, u64> =
            self.states.iter().map(|(s, seen)| (text(s), seen.count)).collect();
        if self.lost > 0 {
            outcomes.insert(UNKNOWN.into(), self.lost);
        }
        Cell {
            seq: 0,
            interleaved: self.total() - weak,
            weak,
            seconds: self.seconds,
            device_seconds: None,
            iterations: self.rounds,
            submissions: 0,
            violations: self.forbidden(),
            outcomes,
        }
    }
}

/// The conclusion about an outcome, or about a test's condition, on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conclusion {
    /// Allowed and seen.
    Agrees,
    /// Allowed and not seen: the model is looser than the machine, or testing was too gentle.
    Unseen,
    /// Forbidden and seen: the model is wrong, or the machine, or a compiler.
    Unsound,
    /// Forbidden and not seen.
    Excluded,
    /// No conclusion is possible.
    Open,
}

impl Conclusion {
    /// The conclusion about an outcome of a defined test.
    pub fn new(allowed: bool, seen: bool) -> Conclusion {
        match (allowed, seen) {
            (true, true) => Conclusion::Agrees,
            (true, false) => Conclusion::Unseen,
            (false, true) => Conclusion::Unsound,
            (false, false) => Conclusion::Excluded,
        }
    }

    /// The words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Conclusion::Agrees => "agrees",
            Conclusion::Unseen => "model looser, or testing too gentle",
            Conclusion::Unsound => "model not sound, or a bug",
            Conclusion::Excluded => "agrees",
            Conclusion::Open => "undefined behaviour: says nothing",
        }
    }
}
