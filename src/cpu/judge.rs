//! What a test may show, and what it showed: outcomes by their text, classed by models, and the
//! table that compares both.

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

/// `0:rax=1; [x]=2;`
pub fn text(state: &State) -> String {
    let parts: Vec<String> = state.iter().map(|(k, v)| format!("{k}={v};")).collect();
    parts.join(" ")
}

/// A state as reports have it, without brackets.
pub fn named(state: &State) -> BTreeMap<String, String> {
    state.iter().map(|(k, v)| (litmus::bare(k).to_string(), v.to_string())).collect()
}

/// Models by dialect, loaded when the first test asks.
pub struct Models {
    wanted: Option<String>,
    loaded: HashMap<Arch, std::result::Result<(Model, Model), Box<litmake_base::diag::Diag>>>,
    simulator: Simulator,
    timeout: Duration,
}

impl Models {
    /// The model that says what is allowed: a name or a path, or each dialect's own.
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

    /// What a test may show.
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
            allowed: allowed.states.into_iter().collect(),
            interleaved: interleaved.states.into_iter().collect(),
            undefined: allowed.undefined,
            cut: allowed.cut,
        })
    }
}

/// What a model allows.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Its name.
    pub model: String,
    /// The final states that it allows.
    pub allowed: BTreeSet<State>,
    /// Those that some interleaving gives.
    pub interleaved: BTreeSet<State>,
    /// The test has undefined behaviour: nothing is forbidden.
    pub undefined: bool,
    /// Loops were cut: outcomes may be missing, so that nothing is taken as forbidden.
    pub cut: bool,
}

impl Expected {
    /// What a state is to it.
    pub fn class(&self, state: &State) -> Class {
        if self.interleaved.contains(state) && self.allowed.contains(state) {
            Class::Interleaved
        } else if self.allowed.contains(state) {
            Class::Weak
        } else {
            Class::Forbidden
        }
    }

    /// Whether an outcome outside of the allowed ones means anything.
    pub fn is_binding(&self) -> bool {
        !self.undefined && !self.cut
    }
}

/// An outcome that showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How often.
    pub count: u64,
    /// Whether the proposition of the condition holds.
    pub holds: bool,
    /// What it is to the model.
    pub class: Class,
}

/// What a test showed, in one environment or in several.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many there was time for.
    pub rounds: u64,
    /// How long they took.
    pub seconds: f64,
    /// The final states that showed.
    pub states: BTreeMap<State, Seen>,
    /// Outcomes with so many different unexpected values that they were not kept apart.
    pub lost: u64,
}

impl Tally {
    /// Instances that ran.
    pub fn total(&self) -> u64 {
        self.states.values().map(|s| s.count).sum::<u64>() + self.lost
    }

    fn sum(&self, which: impl Fn(&Seen) -> bool) -> u64 {
        self.states.values().filter(|s| which(s)).map(|s| s.count).sum()
    }

    /// Instances that satisfy the proposition of the condition.
    pub fn positive(&self) -> u64 {
        self.sum(|s| s.holds)
    }

    /// Instances that show what no interleaving gives.
    pub fn weak(&self) -> u64 {
        self.sum(|s| s.class == Class::Weak)
    }

    /// Instances that the model forbids.
    pub fn forbidden(&self) -> u64 {
        self.sum(|s| s.class == Class::Forbidden) + self.lost
    }

    /// Takes in what the same test showed elsewhere.
    pub fn add(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.seconds += other.seconds;
        self.lost += other.lost;
        for (state, seen) in other.states {
            self.states.entry(state).and_modify(|s| s.count += seen.count).or_insert(seen);
        }
    }

    /// Turns numbers into states.
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
            // What has a value without a number comes with its values, below.
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

    /// As results have it. What a mutant looks for is its condition; what other tests look for is
    /// what the model forbids.
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

/// What comparing a model with a machine says of one outcome, or of a test's condition.
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
    /// Nothing can be said.
    Open,
}

impl Conclusion {
    /// What follows for an outcome, where the test is defined.
    pub fn new(allowed: bool, seen: bool) -> Conclusion {
        match (allowed, seen) {
            (true, true) => Conclusion::Agrees,
            (true, false) => Conclusion::Unseen,
            (false, true) => Conclusion::Unsound,
            (false, false) => Conclusion::Excluded,
        }
    }

    /// As tables call it.
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
