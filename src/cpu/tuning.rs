//! Presents a machine as a device on which environments are searched for.
//!
//! It does not know how the search works.

use litmake_base::stop::Stopping;

use super::environment::Environment;
use super::judge::Tally;
use super::session::{Prepared, Ready, Session, Setup};
use litmake_base::failure::Failure;
use litmake_devices::tuning::Key;
use litmake_stats::search::Bench;

/// The key of a machine's results; the compiler takes the place of the driver.
pub fn key(session: &Session) -> Key {
    let name = &session.machine.name;
    let digest = blake3::hash(name.as_bytes());
    let number = digest.as_bytes().first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
    Key {
        // Processors have names and no numbers.
        vendor: 0,
        device: number,
        name: name.clone(),
        driver: session.profile.compiler.clone(),
        driver_info: session.profile.args.join(" "),
        variant: session.machine.arch.name().into(),
    }
}

/// A machine with the tests for which a search looks for the best environments.
pub struct OnMachine<'a> {
    /// The machine and its compiler.
    pub session: &'a Session,
    /// The tests to be killed.
    pub tests: &'a [(Prepared, Ready)],
    /// The environments to choose from.
    pub environments: &'a [Environment],
    /// The settings of runs.
    pub setup: &'a Setup,
    /// The request to stop the search.
    pub stop: &'a dyn Stopping,
    /// The failures, by test.
    pub failures: Vec<(String, Failure)>,
    runs: u64,
}

/// The number of failures after which a search ends.
const MAX_FAILURES: usize = 100;

impl<'a> OnMachine<'a> {
    /// Begins a search.
    pub fn new(
        session: &'a Session,
        tests: &'a [(Prepared, Ready)],
        environments: &'a [Environment],
        setup: &'a Setup,
        stop: &'a dyn Stopping,
    ) -> OnMachine<'a> {
        OnMachine { session, tests, environments, setup, stop, failures: Vec::new(), runs: 0 }
    }
}

impl Bench for OnMachine<'_> {
    fn tests(&self) -> usize {
        self.tests.len()
    }

    fn environments(&self) -> usize {
        self.environments.len()
    }

    fn group(&self, test: usize) -> usize {
        let mutator = &self.tests[test].0.mutator;
        self.tests.iter().position(|(t, _)| t.mutator == *mutator).unwrap_or(test)
    }

    fn pull(&mut self, test: usize, env: usize, seconds: f64) -> Option<(u64, f64)> {
        if self.failures.len() >= MAX_FAILURES {
            return None;
        }
        self.runs += 1;
        let (prepared, ready) = &self.tests[test];
        let setup = Setup { seconds, rounds: 0, ..self.setup.clone() };
        // Every run of a test in an environment has its own seed.
        let key = format!("{}/{env}/{}", prepared.key, self.runs);
        let environments = std::slice::from_ref(&self.environments[env]);
        match self.session.run(ready, environments, &setup, &key, self.stop) {
            Ok(counted) => {
                let counted = counted.first()?;
                let (program, columns) = (&prepared.program, &prepared.columns);
                let tally = Tally::new(counted, program, columns, &prepared.expected);
                Some((tally.positive(), tally.seconds))
            }
            Err(e) => {
                self.failures.push((prepared.test.name.clone(), e));
                None
            }
        }
    }
}
