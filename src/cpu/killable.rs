//! Decides whether a mutant can be killed: whether the machine's model allows its condition in the
//! code that runs. A mutant in C is compiled and lifted, and the lifted code is simulated, because
//! the source's model says nothing about a machine.
//!
//! It does not run tests.

use std::path::PathBuf;
use std::time::Duration;

use super::session::{Prepared, Session};
use litmake_base::diag::Result;
use litmake_base::failure::{Failure, Lasting};
use litmake_base::stop::Stopping;
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::{Arch, Test};
use litmake_profile::Profile;
use litmake_profile::types::{Observe, Storage};
use litmake_sim::{Model, Options, Simulator};
use litmake_toolchain::compile::Compiler;
use litmake_toolchain::fingerprint::not_installed;
use litmake_toolchain::process;
use litmake_toolchain::runtime::Runtime;

/// Whether a mutant can be killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The machine's model allows the condition.
    CanDie,
    /// The machine's model forbids the condition.
    CannotDie,
    /// The code cannot be lifted or simulated.
    Unknown(String),
    /// A compiler is missing or failed.
    Broke(String),
}

/// Judges mutants for one machine and one compiler.
pub struct Judge {
    /// The machine's model, by its name.
    pub model: String,
    loaded: Model,
    simulator: Simulator,
    options: Options,
    runtime: Option<(PathBuf, Runtime)>,
}

/// The name of the model of the machine on which a profile's programs run.
pub fn model_name(profile: &Profile) -> &str {
    profile.model.as_deref().unwrap_or(profile.arch.default_model())
}

impl Judge {
    /// A judge for the machine on which a profile's programs run.
    pub fn new(profile: &Profile) -> Result<Judge> {
        let model = model_name(profile).to_string();
        let loaded = Model::load(&cat::load(&model, &LoadOptions::new(profile.arch))?)?;
        let timeout = Some(Duration::from_secs(60));
        Ok(Judge {
            model,
            loaded,
            simulator: Simulator::default(),
            options: Options { timeout, ..Options::default() },
            runtime: process::find(&profile.compiler).map(|program| {
                let runtime = Runtime::of(profile, &program);
                (program, runtime)
            }),
        })
    }

    /// The fates of some tests.
    pub fn fates(&mut self, profile: &Profile, tests: &[&Test], stop: &dyn Stopping) -> Vec<Fate> {
        let mut compiled = self.lifted(profile, tests, stop).into_iter();
        let mut out = Vec::with_capacity(tests.len());
        for test in tests {
            let fate = if test.arch == Arch::C {
                match compiled.next() {
                    Some(Ok(code)) => self.fate(&code),
                    Some(Err(failure)) => match failure.kind.lasting() {
                        Lasting::ForGood | Lasting::ForNow => Fate::Unknown(failure.text()),
                        Lasting::Never => Fate::Broke(failure.text()),
                    },
                    None => Fate::Broke(Failure::stopped().text()),
                }
            } else {
                self.fate(test)
            };
            out.push(fate);
        }
        out
    }

    /// The lifted code of the tests in C.
    fn lifted(
        &self,
        profile: &Profile,
        tests: &[&Test],
        stop: &dyn Stopping,
    ) -> Vec<std::result::Result<Test, Failure>> {
        let sources: Vec<Test> =
            tests.iter().filter(|t| t.arch == Arch::C).map(|t| (*t).clone()).collect();
        let Some((program, runtime)) = &self.runtime else {
            return vec![Err(not_installed(&profile.compiler)); sources.len()];
        };
        // Observed and stored as in `emit`, so that the code is the code that runs.
        let compiler = Compiler {
            profile,
            program,
            observe: Observe::Condition,
            storage: Storage::Pointers,
            helpers: false,
            runtime,
            stop,
        };
        compiler.compile(&sources)
    }

    fn fate(&mut self, code: &Test) -> Fate {
        match self.simulator.simulate(code, &self.loaded, &self.options) {
            Ok(found) if found.positive > 0 => Fate::CanDie,
            Ok(found) if found.cut => Fate::Unknown("its loops had to be cut".into()),
            Ok(_) => Fate::CannotDie,
            Err(e) => Fate::Unknown(e.message.clone()),
        }
    }

    /// The fates of tests. A test that is not a mutant always counts and gets [`Fate::CanDie`].
    pub fn prune(
        &mut self,
        session: &Session,
        tests: &[Prepared],
        stop: &dyn Stopping,
    ) -> Vec<Fate> {
        let mutants: Vec<&Test> = tests.iter().filter(|t| t.is_mutant()).map(|t| &t.test).collect();
        let mut fates = self.fates(&session.profile, &mutants, stop).into_iter();
        let one = |test: &Prepared| match test.is_mutant() {
            true => fates.next().unwrap_or(Fate::CanDie),
            false => Fate::CanDie,
        };
        tests.iter().map(one).collect()
    }

    /// The reason for which a test does not count, if it does not.
    pub fn why(&self, fate: &Fate, session: &Session, test: &Prepared) -> Option<String> {
        match fate {
            Fate::CanDie => None,
            Fate::CannotDie if test.test.arch == Arch::C => Some(format!(
                "it cannot die: {} forbids its outcome in the code that {} makes of it",
                self.model, session.profile.name
            )),
            Fate::CannotDie => Some(format!("it cannot die: {} forbids its outcome", self.model)),
            Fate::Unknown(e) | Fate::Broke(e) => {
                Some(format!("whether it can die is not known: {e}"))
            }
        }
    }
}
