//! A GPU as a place to search for environments in.

use std::time::Duration;

use super::device::Info;
use super::environment::Environment;
use super::run::Request;
use super::session::{Prepared, Session, Setup};
use super::variant::Variant;
use litmake_base::failure::Failure;
use litmake_devices::tuning::Key;
use litmake_stats::search::Bench;

/// The key under which results of a device and a variant are recorded.
pub fn key(info: &Info, variant: Variant) -> Key {
    Key {
        vendor: info.vendor,
        device: info.device,
        name: info.name.clone(),
        driver: info.driver.clone(),
        driver_info: info.driver_info.clone(),
        variant: variant.name().into(),
    }
}

/// A device as a place to search in.
pub struct OnDevice<'a> {
    /// The device that is searched on.
    pub(crate) session: &'a mut Session,
    /// The tests that environments are searched for.
    pub(crate) tests: &'a [Prepared],
    /// The environments that are tried.
    pub(crate) environments: &'a [Environment],
    /// How tests are run.
    pub(crate) setup: &'a Setup,
    /// Ends the search where it says so.
    pub(crate) stop: &'a dyn Fn() -> bool,
    /// Failures, by test.
    pub failures: Vec<(String, Failure)>,
    runs: u64,
}

/// The failures after which a search ends.
const MAX_FAILURES: usize = 100;

impl<'a> OnDevice<'a> {
    /// A search that has not begun.
    pub fn new(
        session: &'a mut Session,
        tests: &'a [Prepared],
        environments: &'a [Environment],
        setup: &'a Setup,
        stop: &'a dyn Fn() -> bool,
    ) -> OnDevice<'a> {
        OnDevice { session, tests, environments, setup, stop, failures: Vec::new(), runs: 0 }
    }
}

impl Bench for OnDevice<'_> {
    fn tests(&self) -> usize {
        self.tests.len()
    }

    fn environments(&self) -> usize {
        self.environments.len()
    }

    fn group(&self, test: usize) -> usize {
        let mutator = &self.tests[test].mutator;
        self.tests.iter().position(|t| t.mutator == *mutator).unwrap_or(test)
    }

    fn pull(&mut self, test: usize, env: usize, seconds: f64) -> Option<(u64, f64)> {
        if self.failures.len() >= MAX_FAILURES || (self.stop)() {
            return None;
        }
        self.runs += 1;
        let t = &self.tests[test];
        let request = Request {
            env: self.environments[env],
            iterations: u32::MAX,
            time: Some(Duration::try_from_secs_f64(seconds).unwrap_or_default()),
            batch: self.setup.batch,
            // No two runs of a test in an environment draw the same.
            seed: format!("{}/{env}/{}/{}", self.setup.seed, t.key, self.runs),
            spin_anywhere: self.setup.spin_anywhere,
        };
        let shape = self.setup.shape(&t.program);
        match self.session.measure(t, shape, self.setup.variant, &request) {
            Ok(measured) => {
                let counts = measured.counts(&t.oracle, true);
                Some((counts.weak, measured.seconds))
            }
            Err(e) => {
                self.failures.push((t.name.clone(), e));
                None
            }
        }
    }
}
