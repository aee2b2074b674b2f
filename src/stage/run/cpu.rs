//! Runs tests on the processors of this machine, or of an emulated one.

use std::sync::{Arc, Mutex, PoisonError};

use super::super::building::Made;
use super::super::compilers::{Compilers, Tool};
use super::super::guard::Guard;
use super::super::items::read_test;
use super::super::models::Models;
use super::super::probes::{Question, probe};
use litmake_base::diag::{Diag, Result, Span};
use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_base::records::Records;
use litmake_cpu::environment::Environment;
use litmake_cpu::judge;
use litmake_cpu::killable::{self, Fate, Judge};
use litmake_cpu::machine::Machine;
use litmake_cpu::session::{Prepared, Ready, Session, Setup};
use litmake_devices::record::Record;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Travels};
use litmake_litmus::Arch;
use litmake_pipeline::kinds;
use litmake_pipeline::query::Db;
use litmake_pipeline::slice::Instance;
use litmake_profile::Profile;

struct Stage {
    setup: Setup,
    environments: Vec<Environment>,
    model: Option<String>,
    /// One test runs at a time, because tests that share a machine disturb each other.
    session: std::result::Result<Arc<Mutex<Session>>, Failure>,
}

/// A machine with a compiler for it, or why there is none.
pub struct Found(std::result::Result<Equipment, String>);

struct Equipment {
    session: Arc<Mutex<Session>>,
    machine: Machine,
    profile: Arc<Profile>,
    tool: Tool,
}

impl PartialEq for Found {
    fn eq(&self, other: &Found) -> bool {
        let what =
            |ready: &Equipment| (ready.machine.clone(), ready.profile.clone(), ready.tool.clone());
        self.0.as_ref().map(what) == other.0.as_ref().map(what)
    }
}

/// Finds the machine that runs a profile's tests; without a profile, this machine.
pub fn ask(
    db: &mut dyn Db,
    profile: Option<&Arc<Profile>>,
    compilers: &Compilers,
    records: &dyn Records,
) {
    let session = Session::new(profile.cloned(), records);
    let found = Found(session.map(|session| Equipment {
        machine: session.machine.clone(),
        profile: session.profile.clone(),
        tool: compilers.tool(&session.profile, records),
        session: Arc::new(Mutex::new(session)),
    }));
    Probe::put(db, Question::Machine(profile.cloned()).key(), found);
}

probe!(Probe, Found);

pub fn known(db: &dyn Db, profile: Option<&Arc<Profile>>) -> Result<Arc<Found>> {
    Probe::known(db, Question::Machine(profile.cloned()).key())
}

/// The setup and the environments that a stage asks for.
pub fn setup(node: &Instance, options: &kinds::Run) -> Result<(Setup, Vec<Environment>)> {
    let at = |span: Span, message: String| Diag::at(&node.source, span, message);
    let words = [
        ("adapter", &options.adapter),
        ("preset", &options.preset),
        ("variant", &options.variant),
        ("scope", &options.scope),
    ];
    for (name, word) in words {
        if let Some(word) = word {
            let message = format!("`{name}` is for tests on GPUs");
            return Err(at(word.span, message).help("leave it out where `device` is `cpu`"));
        }
    }
    let plain = options.reach == kinds::run::RunReach::default()
        && options.memory == kinds::run::RunMemory::default()
        && !options.spin
        && !options.speed
        && options.batch.is_none()
        && options.budget.is_none();
    if !plain {
        let message =
            "`reach`, `memory`, `spin`, `speed`, `batch` and `budget` are for tests on GPUs";
        return Err(at(node.span, message.into()).help("leave them out where `device` is `cpu`"));
    }
    let mut setup = Setup::default();
    if let Some(n) = &options.environments {
        if !(1..=100_000).contains(&n.value) {
            return Err(at(n.span, format!("{} is not between 1 and 100000", n.value)));
        }
        setup.environments = n.value;
    }
    if let Some(n) = &options.iterations {
        setup.rounds = n.value.into();
    }
    if let Some(seconds) = &options.seconds {
        setup.seconds = seconds.value;
    }
    if let Some(seed) = &options.seed {
        setup.seed = seed.value.clone();
    }
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
    let (setup, environments) = setup(node, options)?;
    let model = options.model.as_ref().map(|m| models.name(&node.dir, &m.value));
    let mut fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_RUN"))
        .with_text("stage", "run")
        .with_text("setup", &setup.json().to_string())
        .with_text("again", &options.again.as_ref().map_or(0, |a| a.value).to_string());
    let mut archs = vec![Arch::C];
    let mut guard = Guard::default();
    if let Ok(Equipment { machine, profile, tool, .. }) = found {
        fingerprint = fingerprint
            .with("profile", profile.fingerprint())
            .with("compiler", tool.digest)
            .with("libraries", tool.libraries)
            .with_text("device", &machine.json().to_string());
        guard = tool.guard.clone();
        archs.push(machine.arch);
        // Mutants are pruned by the machine's own model, whatever the model that judges outcomes.
        let name = killable::model_name(profile);
        let loaded = models.get(name, machine.arch).there()?.fingerprint();
        fingerprint = fingerprint.with(&format!("model {name} of the machine"), loaded);
    }
    let mut names = Vec::new();
    for arch in archs {
        let name = model.as_deref().unwrap_or(arch.default_model());
        let loaded = models.get(name, arch).there().map_err(|e| match &options.model {
            Some(m) => e.or_at(&node.source, m.span),
            None => e,
        })?;
        let part = format!("model {name} for {}", arch.name());
        fingerprint = fingerprint.with(&part, loaded.fingerprint());
        if !names.contains(&name.to_string()) {
            names.push(name.to_string());
        }
    }
    let session = found.as_ref().map(|ready| ready.session.clone()).map_err(|e| missing(e.clone()));
    let stage = Stage { setup, environments, model, session };
    Ok((Made { work: Arc::new(guard.around(stage)), fingerprint }, names.join(", ")))
}

/// The failure that a machine or a compiler is missing.
fn missing(message: String) -> Failure {
    Failure::broken(Fault::Missing, message)
}

impl Stage {
    fn one(&self, session: &Session, test: &Prepared, ready: &Ready, context: &Context) -> Outcome {
        let tallies = session.tallies(test, ready, &self.environments, &self.setup, &context.stop);
        let record = match tallies {
            Ok(tallies) => session.record(test, &tallies, &self.setup),
            Err(failure) if failure.kind.is_crash() => {
                let record = session.record(test, &[], &self.setup);
                Record { crash: Some(failure.text()), ..record }
            }
            Err(failure) => return Outcome::Failed(failure),
        };
        let bytes = serde_json::to_vec(&record).unwrap_or_default();
        let violated = !record.violations.is_empty() && session.machine.emulator.is_none();
        match violated || record.crash.is_some() {
            true => Outcome::Finding(bytes),
            false => Outcome::Done(bytes),
        }
    }
}

impl Map for Stage {
    fn travels(&self) -> Travels {
        Travels::Never
    }

    /// So many tests are built into one program.
    fn batch(&self) -> usize {
        24
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let session = match &self.session {
            Ok(session) => session.lock().unwrap_or_else(PoisonError::into_inner),
            Err(failure) => return vec![Outcome::Failed(failure.clone()); items.len()],
        };
        let mut models = judge::Models::new(self.model.as_deref());
        let mut out = vec![Outcome::stopped(); items.len()];
        let (mut tests, mut places) = (Vec::new(), Vec::new());
        for (i, item) in items.iter().enumerate() {
            let prepared = read_test(&item[0]).and_then(|test| {
                Prepared::new(&test, &mut models)
                    .map_err(|e| e.or_at(&test.source, test.condition.span).into())
            });
            match prepared {
                Ok(test) => {
                    tests.push(test);
                    places.push(i);
                }
                Err(failure) => out[i] = Outcome::Failed(failure),
            }
        }
        let mut left_out = vec![None; tests.len()];
        if tests.iter().any(Prepared::is_mutant) {
            let mut judge = match Judge::new(&session.profile) {
                Ok(judge) => judge,
                Err(e) => {
                    let failure = Failure::from(e).kind(FailureKind::Broken(Fault::Missing));
                    return vec![Outcome::Failed(failure); items.len()];
                }
            };
            let fates = judge.prune(&session, &tests, &context.stop);
            for (i, (fate, test)) in fates.iter().zip(&tests).enumerate() {
                left_out[i] = judge.why(fate, &session, test).map(|why| match fate {
                    Fate::Broke(_) => Outcome::Failed(Failure::machine(why)),
                    _ => {
                        let left_out = Some(why);
                        let record = Record { left_out, ..session.record(test, &[], &self.setup) };
                        Outcome::Done(serde_json::to_vec(&record).unwrap_or_default())
                    }
                });
            }
        }
        let built = session.build(&tests, &context.stop);
        let all = places.into_iter().zip(&tests).zip(left_out).zip(built);
        for (((place, test), left_out), built) in all {
            if context.stopped() {
                continue;
            }
            if let Some(left_out) = left_out {
                out[place] = left_out;
                continue;
            }
            out[place] = match built {
                Ok(ready) => self.one(&session, test, &ready, context),
                Err(failure) => Outcome::Failed(failure),
            };
        }
        out
    }
}
