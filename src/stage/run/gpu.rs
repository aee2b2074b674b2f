//! Runs tests on a GPU.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::super::building::Made;
use super::super::items::read_test;
use super::super::models::Models;
use super::super::probes::{Question, probe};
use litmake_base::diag::{Diag, Result};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_base::records::{Kind, Put};
use litmake_devices::record::{Cell, Record};
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Travels};
use litmake_gpu::device::{self, Info};
use litmake_gpu::environment::{Environment, Preset};
use litmake_gpu::oracle::{self, MODEL};
use litmake_gpu::rounds::{self, Rounds, Turn};
use litmake_gpu::session::{Ending, MAX_LOADED, Prepared, Session, Setup};
use litmake_gpu::variant::{Scope, Variant};
use litmake_gpu::wgsl::{Memory, Reach};
use litmake_litmus::Arch;
use litmake_pipeline::kinds;
use litmake_pipeline::query::Db;
use litmake_pipeline::slice::Instance;
use litmake_profile::yaml::Sp;

struct Stage {
    setup: Setup,
    environments: Vec<Environment>,
    /// A digest of everything that decides the result in one environment, apart from the test and
    /// the environment.
    cells: Digest,
    model: Option<String>,
    /// Whether records say how much of the device's speed tests use.
    speed: bool,
    /// One test runs at a time, because tests that share a device disturb each other.
    session: Mutex<Session>,
    missing: Option<Failure>,
    purse: Mutex<Purse>,
}

/// The rest of a stage's budget.
#[derive(Default)]
struct Purse {
    /// Tests that did not run yet.
    tests: usize,
    spent: Duration,
}

impl Purse {
    /// The time that some tests may spend: their share of the rest.
    fn share(&self, budget: Duration, tests: usize) -> Duration {
        let all = self.tests.max(tests).max(1);
        budget.saturating_sub(self.spent).mul_f64(tests as f64 / all as f64)
    }

    /// Records that so many tests spent so much time.
    fn spend(&mut self, tests: usize, time: Duration) {
        self.tests = self.tests.saturating_sub(tests);
        self.spent += time;
    }
}

/// A device, or why there is none.
#[derive(PartialEq)]
pub struct Found(std::result::Result<Info, Failure>);

/// The question for the device that runs the tests of a stage.
pub fn question(options: &kinds::Run) -> Question {
    Question::Device(options.adapter.as_ref().map(|a| a.value.clone()))
}

/// Finds the device that runs tests. The answer stays the same while litmake runs.
pub fn ask(db: &mut dyn Db, wanted: Option<&str>) {
    let key = Question::Device(wanted.map(String::from)).key();
    if Probe::known(db, key).is_err() {
        Probe::put(db, key, Found(device::choose(wanted)));
    }
}

probe!(Probe, Found);

pub fn known(db: &dyn Db, options: &kinds::Run) -> Result<Arc<Found>> {
    Probe::known(db, question(options).key())
}

/// The setup and the environments that a stage asks for.
pub fn setup(
    node: &Instance,
    options: &kinds::Run,
    subgroup: u32,
) -> Result<(Setup, Vec<Environment>)> {
    let at = |span, message: String| Diag::at(&node.source, span, message);
    if let Some(profile) = &options.profile {
        return Err(at(
            profile.span,
            "a profile is for tests on CPUs; tests on GPUs need none".into(),
        ));
    }
    let preset = match &options.preset {
        None => Preset::Pte,
        Some(p) => Preset::ALL.into_iter().find(|x| x.name() == p.value).ok_or_else(|| {
            at(p.span, format!("there is no preset `{}`", p.value))
                .help("presets are pte, site, pte_baseline and site_baseline")
        })?,
    };
    let mut setup = Setup::new(preset);
    let number = |n: &Option<Sp<u32>>, default: u32, most: u32| match n {
        None => Ok(default),
        Some(n) if (1..=most).contains(&n.value) => Ok(n.value),
        Some(n) => Err(at(n.span, format!("{} is not between 1 and {most}", n.value))),
    };
    setup.environments = number(&options.environments, setup.environments, 100_000)?;
    // With a budget, only time ends a measurement.
    let iterations = if options.budget.is_some() { u32::MAX } else { setup.iterations };
    setup.iterations = number(&options.iterations, iterations, u32::MAX)?;
    setup.batch = number(&options.batch, 0, litmake_gpu::run::MAX_BATCH)?;
    let time = |seconds: &Option<Sp<f64>>| match seconds {
        None => Ok(None),
        Some(s) => Duration::try_from_secs_f64(s.value)
            .map(Some)
            .map_err(|_| at(s.span, format!("{} is no time in seconds", s.value))),
    };
    setup.time = time(&options.seconds)?;
    setup.budget = time(&options.budget)?;
    if let Some(seed) = &options.seed {
        setup.seed = seed.value.clone();
    }
    if let Some(word) = &options.variant {
        setup.variant = Variant::named(&word.value).ok_or_else(|| {
            at(word.span, format!("there is no compile variant `{}`", word.value))
                .help(format!("variants are {}", Variant::ALL.map(Variant::name).join(", ")))
        })?;
    }
    if let Some(word) = &options.scope {
        setup.scope = Scope::named(&word.value).ok_or_else(|| {
            at(word.span, format!("there is no scope `{}`", word.value))
                .help(format!("scopes are {}", Scope::ALL.map(Scope::name).join(", ")))
        })?;
    }
    setup.reach = match options.reach {
        kinds::run::RunReach::Workgroups => Reach::Workgroups,
        kinds::run::RunReach::Workgroup => Reach::Workgroup,
        kinds::run::RunReach::Subgroup => Reach::Subgroup(subgroup.max(4)),
    };
    setup.memory = match options.memory {
        kinds::run::RunMemory::Storage => Memory::Storage,
        kinds::run::RunMemory::Workgroup => Memory::Workgroup,
    };
    setup.spin_anywhere = options.spin;
    for (name, value) in &options.set {
        setup.overrides.push((name.clone(), value.value));
    }
    let environments = setup.draw().map_err(|e| at(node.span, e))?;
    Ok((setup, environments))
}

pub fn stage(
    node: &Instance,
    options: &kinds::Run,
    Found(found): &Found,
    models: Models,
) -> Result<(Made, String)> {
    let wanted = options.adapter.as_ref().map(|a| a.value.as_str());
    let subgroup = found.as_ref().map_or(4, |i| i.subgroup);
    let (setup, environments) = setup(node, options, subgroup)?;
    let model = options.model.as_ref().map(|m| models.name(&node.dir, &m.value));
    // The number of environments has no influence on the result in one of them.
    let one = Setup { environments: 1, ..setup.clone() };
    let mut fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_RUN"))
        .with_text("stage", "run")
        .with_text("setup", &one.json().to_string())
        .with_text("device", &found.as_ref().map_or(String::new(), |i| i.json().to_string()))
        .with_text("again", &options.again.as_ref().map_or(0, |a| a.value).to_string());
    let names = oracle::Models::names(model.as_deref()).into_iter();
    for (name, part) in names.zip(["model", "second model"]) {
        let loaded = models.get(name, Arch::C).there().map_err(|e| match &options.model {
            Some(m) => e.or_at(&node.source, m.span),
            None => e,
        })?;
        fingerprint = fingerprint.with(part, loaded.fingerprint());
    }
    let cells = fingerprint.digest();
    let mut fingerprint = fingerprint.with_text("environments", &setup.environments.to_string());
    // Measuring the speed does not change the result in an environment.
    if options.speed {
        fingerprint = fingerprint.with_text("speed", "asked");
    }
    let judge = model.clone().unwrap_or_else(|| MODEL.to_string());
    let stage = Stage {
        setup,
        environments,
        cells,
        model,
        speed: options.speed,
        session: Mutex::new(Session::new(wanted)),
        missing: found.as_ref().err().cloned(),
        purse: Mutex::default(),
    };
    Ok((Made { work: Arc::new(stage), fingerprint }, judge))
}

impl Stage {
    /// The key of a test's result in one environment, until all environments are done.
    fn cell_key(&self, content: &[u8], i: usize) -> Digest {
        let environment = Value::Object(self.environments[i].params()).to_string();
        let key = Keyer::new("gpu/1").field("node", &self.cells.0);
        let key = key.field("content", &Digest::of(content).0);
        let key = key.field("environment", environment.as_bytes());
        key.field("number", &(i as u64).to_le_bytes()).finish()
    }

    fn prepare(
        &self,
        models: &mut oracle::Models,
        content: &[u8],
    ) -> std::result::Result<Prepared, Failure> {
        if let Some(missing) = &self.missing {
            return Err(missing.clone());
        }
        let test = read_test(content)?;
        Prepared::new(&test, self.setup.preset.scheme(), models)
            .map_err(|e| e.or_at(&test.source, test.condition.span).into())
    }

    /// Runs tests. With a budget, all of them together get their share of it.
    fn measure(&self, tests: &[(&[u8], Prepared)], context: &Context) -> Vec<Outcome> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let records = context.records.as_deref();
        let stop = || context.stopped();
        let (mut keys, mut turns) = (Vec::new(), Vec::new());
        for (content, test) in tests {
            let own: Vec<Digest> =
                (0..self.environments.len()).map(|i| self.cell_key(content, i)).collect();
            let known = records.map_or(Vec::new(), |r| r.get(&own)).into_iter();
            let known = known.map(|v| serde_json::from_slice(&v?).ok()).collect();
            keys.push(own);
            turns.push(Turn { test, known });
        }
        let mut keep = |test: usize, i: usize, cell: &Cell| {
            if let (Some(records), Ok(value)) = (records, serde_json::to_vec(cell)) {
                records.put(&[Put { kind: Kind::Action, key: keys[test][i], value: &value }]);
            }
        };
        let purse = || self.purse.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = match self.setup.budget {
            Some(budget) => {
                let rounds = Rounds {
                    setup: &self.setup,
                    environments: &self.environments,
                    budget: purse().share(budget, tests.len()),
                    stop: &stop,
                };
                let (ended, spent) = rounds::run(&mut session, turns, &rounds, &mut keep);
                purse().spend(tests.len(), spent);
                ended
            }
            None => turns
                .into_iter()
                .enumerate()
                .map(|(test, Turn { test: prepared, known })| {
                    let (setup, environments) = (&self.setup, &self.environments);
                    let mut keep = |i: usize, cell: &Cell| keep(test, i, cell);
                    session.record(prepared, setup, environments, known, &stop, &mut keep)
                })
                .collect(),
        };
        let mut ended = ended;
        for ((record, ending), (_, test)) in ended.iter_mut().zip(tests) {
            if !self.speed || *ending != Ending::Whole {
                continue;
            }
            match session.speed(test, &self.setup, record) {
                Ok(found) => record.speed = found.map(|(best, reached)| reached.with(&best)),
                Err(failure) => *ending = Ending::Failed(failure),
            }
        }
        let outcome = |(record, ending): (Record, Ending)| match ending {
            Ending::Stopped => Outcome::stopped(),
            Ending::Whole => {
                let bytes = serde_json::to_vec(&record).unwrap_or_default();
                match record.violations.is_empty() {
                    true => Outcome::Done(bytes),
                    false => Outcome::Finding(bytes),
                }
            }
            Ending::Failed(failure) => Outcome::Failed(failure),
        };
        ended.into_iter().map(outcome).collect()
    }
}

impl Map for Stage {
    fn travels(&self) -> Travels {
        Travels::Never
    }

    fn batch(&self) -> usize {
        match self.setup.budget {
            None => 1,
            // The number of tests that stay compiled from one round to the next.
            Some(_) => MAX_LOADED,
        }
    }

    fn told(&self, items: usize) {
        self.purse.lock().unwrap_or_else(PoisonError::into_inner).tests = items;
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let mut models = match oracle::Models::new(self.model.as_deref()) {
            Ok(models) => models,
            Err(e) => {
                let failure = Failure::from(e).kind(FailureKind::Broken(Fault::Missing));
                return vec![Outcome::Failed(failure); items.len()];
            }
        };
        if context.stopped() {
            return items.iter().map(|_| Outcome::stopped()).collect();
        }
        let mut tests = Vec::new();
        let mut out: Vec<Option<Outcome>> = Vec::new();
        for item in items {
            match self.prepare(&mut models, &item[0]) {
                Ok(prepared) => {
                    tests.push((item[0].as_slice(), prepared));
                    out.push(None);
                }
                Err(failure) => out.push(Some(Outcome::Failed(failure))),
            }
        }
        let mut ran = self.measure(&tests, context).into_iter();
        let out =
            out.into_iter().map(|o| o.or_else(|| ran.next()).unwrap_or_else(Outcome::stopped));
        out.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_early_tests_leave_of_a_budget_goes_to_later_ones() {
        let budget = Duration::from_secs(100);
        let mut purse = Purse { tests: 10, spent: Duration::ZERO };
        assert_eq!(purse.share(budget, 4), Duration::from_secs(40));
        purse.spend(4, Duration::from_secs(10));
        assert_eq!(purse.share(budget, 3), Duration::from_secs(45));
        purse.spend(3, Duration::from_secs(95));
        assert_eq!(purse.share(budget, 3), Duration::ZERO);
        // The number of tests is not known here.
        assert_eq!(Purse::default().share(budget, 2), budget);
    }
}
