//! Runs tests on one device in many environments, and opens the device again when it is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::device::{Device, Info, missing};
use super::environment::{Environment, Preset, Scheme};
use super::oracle::{Class, Models, Oracle};
use super::program::Program;
use super::run::{Buffers, Loaded, Measured, Request};
use super::speed::{Cost, Reached, Speed, can_tell};
use super::variant::{Scope, Variant};
use super::wgsl::{Memory, Reach, Shape};
use litmake_base::diag::Result;
use litmake_base::failure::{self, Failure, FailureKind, Fault};
use litmake_devices::record::{Cell, Record, UNKNOWN};
use litmake_litmus::Test;
use litmake_mutate::mcm;

/// A test with everything that running it and naming its outcomes needs.
#[derive(Clone)]
pub struct Prepared {
    /// Its name in results.
    pub key: String,
    /// The name of the test.
    pub name: String,
    /// The mutator that made it; `None` for tests that are to show no violation.
    pub mutator: Option<String>,
    /// The test as a GPU runs it.
    pub program: Program,
    /// Its possible outcomes.
    pub oracle: Oracle,
}

impl Prepared {
    /// Prepares a C test. Its info lines say whether it is a mutant, and its name in results.
    pub fn new(test: &Test, scheme: Scheme, models: &mut Models) -> Result<Prepared> {
        let info = |key: &str| test.info.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        let is_mutant = info("Mutates").is_some();
        let program = Program::new(test)?;
        let oracle = Oracle::new(test, &program, models)?;
        let key = match (info("Key"), scheme) {
            (Some(key), Scheme::Parallel) if is_mutant => key,
            (Some(key), Scheme::Single) if is_mutant => mcm::site_key(&key),
            _ => test.name.clone(),
        };
        Ok(Prepared {
            key,
            name: test.name.clone(),
            mutator: if is_mutant { info("Mutator") } else { None },
            program,
            oracle,
        })
    }

    /// Whether a mutator made it.
    pub fn is_mutant(&self) -> bool {
        self.mutator.is_some()
    }
}

/// How tests are run, apart from the environments.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where the environments come from.
    pub preset: Preset,
    /// How many environments are drawn.
    pub environments: u32,
    /// How many iterations a test runs in each.
    pub iterations: u32,
    /// The most time of one test in one environment.
    pub time: Option<Duration>,
    /// The time of all tests in all environments.
    pub budget: Option<Duration>,
    /// The iterations in a submission; 0: as many as take about 60 ms.
    pub batch: u32,
    /// The seed of all random choices.
    pub seed: String,
    /// How shaders are compiled.
    pub variant: Variant,
    /// Where the threads of an instance are.
    pub reach: Reach,
    /// Which memory the locations are in.
    pub memory: Memory,
    /// How far accesses and fences reach.
    pub scope: Scope,
    /// As [`Request::spin_anywhere`].
    pub spin_anywhere: bool,
    /// Parameters of the environments with fixed values, by name.
    pub overrides: Vec<(String, u32)>,
}

impl Setup {
    /// The settings of a preset, each at its default.
    pub fn new(preset: Preset) -> Setup {
        Setup {
            preset,
            environments: preset.environments(),
            iterations: preset.iterations(),
            time: None,
            budget: None,
            batch: 0,
            seed: "webgpu".into(),
            variant: Variant::CHECKED,
            reach: Reach::Workgroups,
            memory: Memory::Storage,
            scope: Scope::Device,
            spin_anywhere: false,
            overrides: Vec::new(),
        }
    }

    /// The environments, by number.
    pub fn draw(&self) -> std::result::Result<Vec<Environment>, String> {
        let mut all = self.preset.draw(&self.seed, self.environments);
        for env in &mut all {
            for (name, value) in &self.overrides {
                env.set(name, *value)?;
            }
            // A changed minimum moves the maximum along.
            env.max_workgroups = env.max_workgroups.max(env.testing_workgroups);
            env.check()?;
        }
        Ok(all)
    }

    /// How a test is laid out in code for this setup.
    pub fn shape(&self, program: &Program) -> Shape {
        Shape {
            reach: self.reach,
            memory: self.memory,
            scope: self.scope,
            ..Shape::new(self.preset.scheme(), program)
        }
    }

    /// The settings that decide results; they are recorded with these.
    pub fn json(&self) -> Value {
        json!({
            "preset": self.preset.name(),
            "environments": self.environments,
            "iterations": self.iterations,
            "seconds": self.time.map(|t| t.as_secs_f64()),
            "budget": self.budget.map(|t| t.as_secs_f64()),
            "batch": self.batch,
            "seed": self.seed,
            "variant": self.variant.name(),
            "reach": match self.reach {
                Reach::Workgroups => "workgroups".to_string(),
                Reach::Workgroup => "workgroup".to_string(),
                Reach::Subgroup(n) => format!("subgroup of {n}"),
            },
            "memory": match self.memory {
                Memory::Storage => "storage",
                Memory::Workgroup => "workgroup",
            },
            "scope": self.scope.name(),
            "spin": self.spin_anywhere,
            "set": self.overrides.iter().map(|(k, v)| (k.clone(), Value::from(*v))).collect::<Map<_, _>>(),
        })
    }
}

/// The results of a test in one environment.
pub fn cell(measured: &Measured, test: &Prepared) -> Cell {
    let c = measured.counts(&test.oracle, test.is_mutant());
    let text = |i: usize| {
        if i < test.oracle.classes.len() { test.oracle.text(i) } else { UNKNOWN.to_string() }
    };
    Cell {
        seq: c.seq,
        interleaved: c.interleaved,
        weak: c.weak,
        seconds: (measured.seconds * 1e6).round() / 1e6,
        device_seconds: measured.device_seconds,
        iterations: measured.iterations.into(),
        submissions: measured.submissions,
        violations: measured.violations(&test.oracle),
        outcomes: measured
            .outcomes
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(i, n)| (text(i), *n))
            .collect(),
    }
}

/// An outcome as names and values.
fn state(oracle: &Oracle, index: usize) -> BTreeMap<String, String> {
    let values = oracle.outcome(index);
    oracle.observed.iter().zip(values).map(|(p, v)| (p.to_string(), v.to_string())).collect()
}

/// The record of a test that is about to run.
pub(super) fn begun(test: &Prepared, device: &Info, setup: &Setup) -> Record {
    Record {
        test: test.name.clone(),
        key: test.key.clone(),
        mutator: test.mutator.clone(),
        device: device.to_string(),
        setup: setup.json(),
        model: test.oracle.model.clone(),
        ..Record::default()
    }
}

/// Says which forbidden outcomes showed, once all environments ran.
pub(super) fn conclude(record: &mut Record, test: &Prepared) {
    let shown = |i: &usize| {
        let text = test.oracle.text(*i);
        record.cells.iter().any(|c| c.outcomes.contains_key(&text))
    };
    let of = |class: fn(Class) -> bool| {
        (0..test.oracle.classes.len()).filter(move |i| class(test.oracle.classes[*i]))
    };
    let mut violations: Vec<_> =
        of(|c| c == Class::Forbidden).filter(shown).map(|i| state(&test.oracle, i)).collect();
    if record.cells.iter().any(|c| c.outcomes.contains_key(UNKNOWN)) {
        violations.push(BTreeMap::from([("outcome".into(), UNKNOWN.into())]));
    }
    if !violations.is_empty() {
        record.allowed = of(|c| c != Class::Forbidden).map(|i| state(&test.oracle, i)).collect();
    }
    record.violations = violations;
}

/// A device that is opened when it is needed, and again when it was lost.
pub struct Session {
    wanted: Option<String>,
    device: Option<Arc<Device>>,
    buffers: Buffers,
    /// The tests that ran last, so that the next environment need not compile them again.
    loaded: Vec<(Variant, Loaded)>,
    /// The device's greatest speed, once it was measured.
    best: Option<Speed>,
    /// How often a device was lost.
    pub lost: u32,
    /// How long a submission may take before the device is taken as hanging.
    pub timeout: Duration,
}

/// The most tests that stay compiled: a search goes from one to the next and back.
pub const MAX_LOADED: usize = 128;
/// A device that is lost more often is not opened again.
const MAX_LOST: u32 = 8;

impl Session {
    /// A session without a device; the first use opens the one that is wanted, or the best.
    pub fn new(wanted: Option<&str>) -> Session {
        Session {
            wanted: wanted.map(str::to_string),
            device: None,
            buffers: Buffers::default(),
            loaded: Vec::new(),
            best: None,
            lost: 0,
            timeout: Duration::from_secs(120),
        }
    }

    /// The device, which is opened where it is not open.
    pub fn device(&mut self) -> failure::Result<Arc<Device>> {
        if let Some(device) = &self.device {
            return Ok(device.clone());
        }
        if self.lost > MAX_LOST {
            let message = "the device was lost too often; it is not tried again";
            return Err(missing(message.into()));
        }
        let mut device = Device::open(self.wanted.as_deref())?;
        device.timeout = self.timeout;
        let device = Arc::new(device);
        self.device = Some(device.clone());
        Ok(device)
    }

    /// Runs a test in one environment. Where the device is lost or hangs, that is the error, and
    /// the next call opens a new one.
    pub fn measure(
        &mut self,
        test: &Prepared,
        shape: Shape,
        variant: Variant,
        request: &Request,
    ) -> failure::Result<Measured> {
        let device = self.device()?;
        // Tests that share a device disturb each other, whoever runs them.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.with(&device, test, shape, variant, request);
        if done.as_ref().is_err_and(|e| e.kind == FailureKind::Broken(Fault::Lost)) {
            self.lost += 1;
            // Ending what belongs to a device that hangs would wait for it.
            std::mem::forget(std::mem::take(&mut self.loaded));
            std::mem::forget(std::mem::take(&mut self.buffers));
            std::mem::forget(self.device.take());
            std::mem::forget(device);
        }
        drop(turn);
        done
    }

    fn with(
        &mut self,
        device: &Device,
        test: &Prepared,
        shape: Shape,
        variant: Variant,
        request: &Request,
    ) -> failure::Result<Measured> {
        // Tests of one name can have other code.
        let fits = |(v, l): &(Variant, Loaded)| {
            *v == variant && l.shape == shape && l.program == test.program
        };
        let at = match self.loaded.iter().position(fits) {
            Some(at) => at,
            None => {
                let loaded =
                    Loaded::new(device, test.program.clone(), test.oracle.clone(), shape, variant)?;
                if self.loaded.len() >= MAX_LOADED {
                    self.loaded.remove(0);
                }
                self.loaded.push((variant, loaded));
                self.loaded.len() - 1
            }
        };
        self.loaded[at].1.measure(device, &mut self.buffers, request)
    }

    /// The device's greatest speed, and the part of it that a test reached; `None` if it cannot be
    /// estimated.
    pub fn speed(
        &mut self,
        test: &Prepared,
        setup: &Setup,
        record: &Record,
    ) -> failure::Result<Option<(Speed, Reached)>> {
        let shape = setup.shape(&test.program);
        if record.cells.is_empty() || !can_tell(&shape) {
            return Ok(None);
        }
        let device = self.device()?;
        let best = match self.best {
            Some(best) => best,
            None => *self.best.insert(Speed::measure(&device)?),
        };
        let (program, oracle) = (&test.program, &test.oracle);
        let cost = Cost::new(program, oracle, &shape, setup.variant, device.driver())?;
        let seconds = record.cells.iter().map(|c| c.seconds).sum();
        let of_device = record.cells.iter().map(|c| c.device_seconds).sum();
        let instances = record.cells.iter().map(Cell::instances).sum();
        Ok(Some((best, Reached::new(&best, &cost, instances, seconds, of_device))))
    }

    /// Runs a test in an environment of a setup, for no longer than a share of time.
    pub(super) fn once(
        &mut self,
        test: &Prepared,
        setup: &Setup,
        (number, env): (usize, &Environment),
        share: Option<Duration>,
    ) -> failure::Result<Cell> {
        let request = Request {
            env: *env,
            iterations: setup.iterations,
            time: setup.time.into_iter().chain(share).min(),
            batch: setup.batch,
            seed: format!("{}/{number}/{}", setup.seed, test.key),
            spin_anywhere: setup.spin_anywhere,
        };
        let measured = self.measure(test, setup.shape(&test.program), setup.variant, &request)?;
        Ok(cell(&measured, test))
    }

    /// Runs a test in all environments of a setup without a recorded result. `stop` is asked between them,
    /// and `keep` receives each result. An early end loses no measurement.
    pub fn record(
        &mut self,
        test: &Prepared,
        setup: &Setup,
        environments: &[Environment],
        mut known: Vec<Option<Cell>>,
        stop: &dyn Fn() -> bool,
        keep: &mut dyn FnMut(usize, &Cell),
    ) -> (Record, Ending) {
        let device = match self.device() {
            Ok(device) => device,
            Err(e) => return (Record::default(), Ending::Failed(e)),
        };
        let mut record = begun(test, &device.info, setup);
        drop(device);
        let mut ending = Ending::Whole;
        for (i, env) in environments.iter().enumerate() {
            if let Some(cell) = known.get_mut(i).and_then(Option::take) {
                record.cells.push(cell);
                continue;
            }
            if stop() {
                ending = Ending::Stopped;
                break;
            }
            match self.once(test, setup, (i, env), None) {
                Ok(cell) => {
                    keep(i, &cell);
                    record.cells.push(cell);
                }
                Err(e) => {
                    ending = Ending::Failed(e);
                    break;
                }
            }
        }
        conclude(&mut record, test);
        (record, ending)
    }
}

/// How a test in many environments ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ran in all of them.
    Whole,
    /// It was asked to stop.
    Stopped,
    /// Something went wrong in the environment after the last that is recorded.
    Failed(Failure),
}
