//! Runs tests on one machine in many environments: from a test to the record that is stored.
//!
//! It does not know how records are stored.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::build::{Builder, Program as Built};
use super::columns::{self, Columns};
use super::emit::{self, Code};
use super::environment::Environment;
use super::judge::{Expected, Models, State, Tally, named, text};
use super::machine::{self, Machine};
use super::run::{self, Counted, Request};
use litmake_base::diag::{Diag, Result};
use litmake_base::failure::Failure;
use litmake_base::records::Records;
use litmake_base::stop::Stopping;
use litmake_devices::random::Rng;
use litmake_devices::record::{Record, UNKNOWN};
use litmake_litmus::{Arch, Test};
use litmake_profile::Profile;
use litmake_sim::program::Program;
use litmake_sim::results::holds;

/// A test with everything that is needed to run it and to judge its outcomes.
pub struct Prepared {
    /// The key in results.
    pub key: String,
    /// The mutator that made it; `None` if the test is to show no violation.
    pub mutator: Option<String>,
    /// The test.
    pub test: Test,
    /// The program for the simulator.
    pub program: Program,
    /// The numbering of its outcomes.
    pub columns: Columns,
    /// The outcomes that the model allows.
    pub expected: Expected,
}

impl Prepared {
    /// Simulates a test, to know its allowed outcomes.
    pub fn new(test: &Test, models: &mut Models) -> Result<Prepared> {
        let info = |key: &str| test.info.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        let expected =
            models.expect(test).map_err(|e| e.or_at(&test.source, test.condition.span))?;
        let program = Program::new(test)?;
        let states: Vec<_> =
            expected.allowed.iter().chain(&expected.interleaved).cloned().collect();
        let columns = Columns::new(test, &program, &states)?;
        Ok(Prepared {
            key: info("Key").unwrap_or_else(|| test.name.clone()),
            mutator: info("Mutates").and_then(|of| info("Mutator").or(Some(of))),
            test: test.clone(),
            program,
            columns,
            expected,
        })
    }

    /// Whether it counts for the mutation score.
    pub fn is_mutant(&self) -> bool {
        self.mutator.is_some()
    }

    /// Whether the proposition of the condition holds in a state.
    pub fn holds(&self, state: &State) -> bool {
        let Some(outcome) = columns::outcome(&self.program, state) else { return false };
        holds(&self.program.condition, &self.program, &outcome)
    }

    /// The C code, as test number `n` of a program.
    pub fn code(&self, n: usize) -> Result<Code> {
        emit::emit(&self.test, &self.program, &self.columns, n)
    }
}

/// The settings of runs, apart from the environments.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The number of environments.
    pub environments: u32,
    /// The largest number of rounds in each environment; 0 for as many as the time allows.
    pub rounds: u64,
    /// The time for one test in one environment.
    pub seconds: f64,
    /// The share of a test's time for the environment in which its condition showed most often.
    pub focus: f64,
    /// Whether the known good environments are left out.
    pub drawn: bool,
    /// The seed of all random choices.
    pub seed: String,
    /// Parameters that replace drawn ones.
    pub overrides: Vec<(String, u32)>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            environments: 16,
            rounds: 0,
            seconds: 1.0 / 16.0,
            focus: 0.0,
            drawn: false,
            seed: "cpu".into(),
            overrides: Vec::new(),
        }
    }
}

impl Setup {
    /// The environments, in order.
    pub fn draw(&self) -> std::result::Result<Vec<Environment>, String> {
        if !(0.0..1e6).contains(&self.seconds) {
            return Err(format!("{} is no time in seconds", self.seconds));
        }
        if !(0.0..1.0).contains(&self.focus) {
            return Err(format!("{} is no share of the time", self.focus));
        }
        let mut all = match self.drawn {
            true => Environment::drawn(&self.seed, self.environments),
            false => Environment::draw(&self.seed, self.environments),
        };
        for env in &mut all {
            for (name, value) in &self.overrides {
                env.set(name, *value)?;
            }
            env.check()?;
        }
        Ok(all)
    }

    /// The environments' indices in a random order.
    pub fn order(&self) -> Vec<usize> {
        let mut random = Rng::of(&self.seed, &["order"]);
        let mut out: Vec<usize> = (0..self.environments as usize).collect();
        for i in (1..out.len()).rev() {
            out.swap(i, (random.next() % (i as u64 + 1)) as usize);
        }
        out
    }

    /// The settings that are recorded with results and decide them.
    pub fn json(&self) -> Value {
        let mut out = json!({
            "environments": self.environments,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "seed": self.seed,
            "set": self.overrides.iter().map(|(k, v)| (k.clone(), Value::from(*v))).collect::<Map<_, _>>(),
        });
        if self.focus > 0.0 {
            out["focus"] = self.focus.into();
        }
        if self.drawn {
            out["drawn"] = true.into();
        }
        out
    }
}

/// A machine, and a compiler for it.
pub struct Session {
    /// The machine.
    pub machine: Machine,
    /// The profile that builds programs for it.
    pub profile: Arc<Profile>,
    builder: Builder,
}

/// A test that was built.
#[derive(Clone)]
pub struct Ready {
    program: Arc<Built>,
    number: usize,
}

/// The largest number of tests in a program.
const BATCH: usize = 24;

impl Session {
    /// The session for the machine on which a profile's programs run; without a profile, for this
    /// machine. The compiler of this machine may be stored in `known`.
    pub fn new(
        profile: Option<Arc<Profile>>,
        known: &dyn Records,
    ) -> std::result::Result<Session, String> {
        let profile = match profile {
            Some(profile) => profile,
            None => machine::own_profile(known)?,
        };
        let machine = Machine::of(profile.arch)?;
        let builder = Builder::new(machine.clone(), profile.clone())?;
        Ok(Session { machine, profile, builder })
    }

    /// Checks that tests of a dialect run here; the error says which do.
    pub fn accepts(&self, test: &Test) -> Result<()> {
        // 32-bit code runs as 64-bit code; only addresses are wider.
        let runs: &[Arch] = match self.machine.arch {
            Arch::X86_64 => &[Arch::X86_64, Arch::X86, Arch::C],
            ref own => &[*own, Arch::C],
        };
        if runs.contains(&test.arch) {
            return Ok(());
        }
        let names: Vec<&str> = runs.iter().map(|a| a.name()).collect();
        Err(Diag::new(format!(
            "{}: a test of {}; what runs here are tests of {}",
            test.name,
            test.arch.name(),
            names.join(", ")
        )))
    }

    /// Builds tests, many in a program.
    pub fn build(
        &self,
        tests: &[Prepared],
        stop: &dyn Stopping,
    ) -> Vec<std::result::Result<Ready, Failure>> {
        let mut out = Vec::with_capacity(tests.len());
        // A program without a library has one test.
        let batch = if self.machine.emulator.is_some() { 1 } else { BATCH };
        for part in tests.chunks(batch) {
            let code = |test: usize, n: usize| {
                let prepared = &part[test];
                let runs = self.accepts(&prepared.test);
                runs.and_then(|()| prepared.code(n)).map_err(Failure::from)
            };
            let built = self.builder.build(part.len(), &code, stop);
            out.extend(
                built.into_iter().map(|b| b.map(|(program, number)| Ready { program, number })),
            );
        }
        out
    }

    /// Runs a test in some environments, one after the other in one process.
    pub fn run(
        &self,
        ready: &Ready,
        environments: &[Environment],
        setup: &Setup,
        key: &str,
        stop: &dyn Stopping,
    ) -> std::result::Result<Vec<Counted>, Failure> {
        let request = Request {
            test: ready.number,
            environments,
            seconds: setup.seconds,
            rounds: setup.rounds,
            seed: Rng::of(&setup.seed, &[key]).next(),
        };
        run::run(&self.machine, &ready.program, &request, stop)
    }

    /// Runs a test in all environments of the settings.
    pub fn tallies(
        &self,
        test: &Prepared,
        ready: &Ready,
        environments: &[Environment],
        setup: &Setup,
        stop: &dyn Stopping,
    ) -> std::result::Result<Vec<Tally>, Failure> {
        let tally = |c: &Counted| Tally::new(c, &test.program, &test.columns, &test.expected);
        // Environments have no effect on an emulator.
        let environments = match self.machine.emulator {
            Some(_) => environments.get(..1).unwrap_or_default(),
            None => environments,
        };
        let focused = setup.focus > 0.0 && environments.len() > 1;
        let share = if focused { 1.0 - setup.focus } else { 1.0 };
        let first = Setup { seconds: setup.seconds * share, ..setup.clone() };
        let counted = self.run(ready, environments, &first, &test.key, stop)?;
        let mut tallies: Vec<Tally> = counted.iter().map(tally).collect();
        if focused && let Some(at) = most_telling(&tallies) {
            let seconds = setup.seconds * environments.len() as f64 * setup.focus;
            let more = Setup { seconds, ..setup.clone() };
            let key = format!("{}/focus", test.key);
            let one = std::slice::from_ref(&environments[at]);
            for counted in &self.run(ready, one, &more, &key, stop)? {
                tallies[at].add(tally(counted));
            }
        }
        Ok(tallies)
    }

    /// The record of a test. Outcomes under an emulator are the emulator's own and never violations
    /// of the emulated machine.
    pub fn record(&self, test: &Prepared, tallies: &[Tally], setup: &Setup) -> Record {
        let mut record = Record {
            test: test.test.name.clone(),
            key: test.key.clone(),
            mutator: test.mutator.clone(),
            device: self.machine.to_string(),
            setup: setup.json(),
            cells: tallies.iter().map(|t| t.cell(test.is_mutant())).collect(),
            ..Record::default()
        };
        let mut all = Tally::default();
        for tally in tallies {
            all.add(tally.clone());
        }
        if all.forbidden() > 0 && test.expected.is_binding() {
            let forbidden =
                all.states.iter().filter(|(_, s)| s.class == litmake_devices::Class::Forbidden);
            record.violations = forbidden.map(|(state, _)| named(state)).collect();
            if all.lost > 0 {
                record.violations.push([("outcome".to_string(), UNKNOWN.to_string())].into());
            }
            record.allowed = test.expected.allowed.iter().map(named).collect();
        }
        record
    }
}

/// The tally of a test over all environments.
pub fn whole(tallies: &[Tally]) -> Tally {
    let mut out = Tally::default();
    for tally in tallies {
        out.add(tally.clone());
    }
    out
}

/// The environment in which more time is best spent: where the condition showed most often per
/// second; if it never did, where weak outcomes did; else where most instances ran.
fn most_telling(tallies: &[Tally]) -> Option<usize> {
    let rate = |n: u64, t: &Tally| if t.seconds > 0.0 { n as f64 / t.seconds } else { 0.0 };
    let rates = |t: &Tally| [rate(t.positive(), t), rate(t.weak(), t), rate(t.total(), t)];
    let all: Vec<[f64; 3]> = tallies.iter().map(rates).collect();
    let asked = (0..3).find(|k| all.iter().any(|r| r[*k] > 0.0))?;
    (0..all.len()).max_by(|a, b| all[*a][asked].total_cmp(&all[*b][asked]))
}

/// The environment in which the condition showed most often per second, with that rate.
pub fn best(tallies: &[Tally]) -> Option<(usize, f64)> {
    let rate = |t: &Tally| if t.seconds > 0.0 { t.positive() as f64 / t.seconds } else { 0.0 };
    let rates = tallies.iter().map(rate).enumerate().filter(|(_, r)| *r > 0.0);
    rates.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Outcomes that the model allows and that did not show.
pub fn unseen(test: &Prepared, tally: &Tally) -> Vec<String> {
    let missing = test.expected.allowed.iter().filter(|s| !tally.states.contains_key(*s));
    missing.map(text).collect()
}
