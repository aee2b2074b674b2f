//! Tests on a GPU.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::super::building::Made;
use super::super::items::read_test;
use super::super::models::Models;
use super::super::probes::{self, Question};
use litmake_base::diag::{Diag, Result};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_base::records::{Kind, Put};
use litmake_devices::record::Cell;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Travels};
use litmake_gpu::device::{self, Info};
use litmake_gpu::environment::{Environment, Preset};
use litmake_gpu::oracle::{self, MODEL};
use litmake_gpu::session::{Ending, Prepared, Session, Setup};
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
    /// What decides the result in one environment, apart from the test and the environment.
    cells: Digest,
    model: Option<String>,
    /// One test runs at a time: tests that share a device disturb each other.
    session: Mutex<Session>,
    missing: Option<Failure>,
}

/// A device, or why there is none.
#[derive(PartialEq)]
pub struct Found(std::result::Result<Info, Failure>);

/// What runs the tests of a stage.
pub fn question(options: &kinds::Run) -> Question {
    let wanted = options.adapter.as_ref().map(|a| a.value.clone());
    Question::new(key(options), true, move |_| Found(device::choose(wanted.as_deref())))
}

pub fn known(db: &dyn Db, options: &kinds::Run) -> Result<Arc<Found>> {
    probes::answer(db, key(options))
}

fn key(options: &kinds::Run) -> Digest {
    let mut key = Keyer::new("device/1");
    if let Some(adapter) = &options.adapter {
        key.add("adapter", adapter.value.as_bytes());
    }
    key.finish()
}

/// The setup that a stage asks for, and its environments.
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
    setup.iterations = number(&options.iterations, setup.iterations, u32::MAX)?;
    setup.batch = number(&options.batch, 0, litmake_gpu::run::MAX_BATCH)?;
    if let Some(seconds) = &options.seconds {
        let time = Duration::try_from_secs_f64(seconds.value)
            .map_err(|_| at(seconds.span, format!("{} is no time in seconds", seconds.value)))?;
        setup.time = Some(time);
    }
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
    // How many environments there are decides nothing in any of them.
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
    let fingerprint = fingerprint.with_text("environments", &setup.environments.to_string());
    let judge = model.clone().unwrap_or_else(|| MODEL.to_string());
    let stage = Stage {
        setup,
        environments,
        cells,
        model,
        session: Mutex::new(Session::new(wanted)),
        missing: found.as_ref().err().cloned(),
    };
    Ok((Made { work: Arc::new(stage), fingerprint }, judge))
}

impl Stage {
    /// Under what the result of a test in one environment is kept, until all of them are there.
    fn cell_key(&self, content: &[u8], i: usize) -> Digest {
        let environment = Value::Object(self.environments[i].params()).to_string();
        let key = Keyer::new("gpu/1").field("node", &self.cells.0);
        let key = key.field("content", &Digest::of(content).0);
        let key = key.field("environment", environment.as_bytes());
        key.field("number", &(i as u64).to_le_bytes()).finish()
    }

    fn one(&self, models: &mut oracle::Models, content: &[u8], context: &Context) -> Outcome {
        if let Some(missing) = &self.missing {
            return Outcome::Failed(missing.clone());
        }
        let test = match read_test(content) {
            Ok(test) => test,
            Err(failure) => return Outcome::Failed(failure),
        };
        let prepared = match Prepared::new(&test, self.setup.preset.scheme(), models) {
            Ok(prepared) => prepared,
            Err(e) => {
                return Outcome::Failed(e.or_at(&test.source, test.condition.span).into());
            }
        };
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let keys: Vec<Digest> =
            (0..self.environments.len()).map(|i| self.cell_key(content, i)).collect();
        let records = context.records.as_deref();
        let known = records.map_or(Vec::new(), |r| r.get(&keys)).into_iter();
        let known = known.map(|v| serde_json::from_slice(&v?).ok()).collect();
        let mut keep = |i: usize, cell: &Cell| {
            if let (Some(records), Ok(value)) = (records, serde_json::to_vec(cell)) {
                records.put(&[Put { kind: Kind::Action, key: keys[i], value: &value }]);
            }
        };
        let stop = || context.stopped();
        let (record, ending) =
            session.record(&prepared, &self.setup, &self.environments, known, &stop, &mut keep);
        match ending {
            Ending::Stopped => Outcome::stopped(),
            Ending::Whole => {
                let bytes = serde_json::to_vec(&record).unwrap_or_default();
                match record.violations.is_empty() {
                    true => Outcome::Done(bytes),
                    false => Outcome::Finding(bytes),
                }
            }
            Ending::Failed(failure) => Outcome::Failed(failure),
        }
    }
}

impl Map for Stage {
    fn travels(&self) -> Travels {
        Travels::Never
    }

    fn batch(&self) -> usize {
        1
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let mut models = match oracle::Models::new(self.model.as_deref()) {
            Ok(models) => models,
            Err(e) => {
                let failure = Failure::from(e).kind(FailureKind::Broken(Fault::Missing));
                return vec![Outcome::Failed(failure); items.len()];
            }
        };
        let mut one = |item: &Vec<Vec<u8>>| match context.stopped() {
            true => Outcome::stopped(),
            false => self.one(&mut models, &item[0], context),
        };
        items.iter().map(&mut one).collect()
    }
}
