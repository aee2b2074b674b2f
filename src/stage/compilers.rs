//! Finds the compilers of a run, their libraries and other tools. Each is looked up once; from then
//! on a guard watches the files that it depends on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::guard::{Asked, Guard};
use super::probes::{self, probe};
use super::said::said;
use litmake_base::diag;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_base::records::Records;
use litmake_pipeline::query::Db;
use litmake_profile::Profile;
use litmake_toolchain::evidence::{Evidence, Looks};
use litmake_toolchain::fingerprint::{self, Fingerprint, fingerprint};
use litmake_toolchain::kind;
use litmake_toolchain::runtime::Runtime;
use serde::{Deserialize, Serialize};

/// The compiler of a profile, with its libraries and what these depend on; or why there is none.
type Found = Result<(Fingerprint, Libraries), Failure>;

#[derive(Clone)]
struct Libraries {
    runtime: Arc<Runtime>,
    digest: Digest,
    evidence: Arc<Evidence>,
}

/// The compilers and libraries that were looked up already.
#[derive(Default)]
pub struct Compilers {
    looks: Arc<Looks>,
    told: Arc<Mutex<BTreeSet<String>>>,
    known: Mutex<LookedUp>,
    /// If given, only the compilers of the profiles with these names are looked up.
    only: Option<BTreeSet<String>>,
    /// Compilers that this machine lacks and other machines have, by the name of the profile.
    away: BTreeMap<String, Away>,
}

#[derive(Default)]
struct LookedUp {
    found: HashMap<Digest, Found>,
    notes: BTreeSet<String>,
}

/// A reason to look compilers up again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// A file of some compiler changed after the compiler was looked up.
    Changed(PathBuf),
    /// Some compiler looked at this path, or property of the process, for the first time.
    LooksElsewhere(String),
}

/// The compiler of a profile, its libraries, and their parts of a stage's fingerprint.
#[derive(Clone, PartialEq)]
pub struct Tool {
    /// The path of the compiler, or why there is none.
    pub program: Result<PathBuf, Failure>,
    /// The digest that identifies the compiler.
    pub digest: Digest,
    /// Its kind and its libraries.
    pub runtime: Arc<Runtime>,
    /// The digest that identifies the libraries.
    pub libraries: Digest,
    /// Guards the files that all of this depends on.
    pub guard: Guard,
    /// Whether only other machines have it.
    pub is_away: bool,
}

/// A compiler on another machine, as far as planning needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Away {
    digest: Digest,
    libraries: Digest,
    kind: kind::Kind,
    version: String,
}

impl Compilers {
    /// Restricts look-ups to the compilers of some profiles. Any other compiler counts as missing.
    pub fn only(&mut self, profiles: BTreeSet<String>) {
        self.only = Some(profiles);
    }

    /// Takes compilers that this machine lacks from other machines.
    pub fn away(&mut self, away: BTreeMap<String, Away>) {
        self.away = away;
    }

    /// The description of a compiler of this machine, for another machine.
    pub fn told(&self, profile: &Profile, records: &dyn Records) -> Result<Away, Failure> {
        let tool = self.tool(profile, records);
        let program = tool.program?;
        let version = said(profile, &program, tool.digest, records);
        let (digest, libraries) = (tool.digest, tool.libraries);
        Ok(Away { digest, libraries, kind: tool.runtime.kind(), version })
    }

    /// Whether this machine lacks a profile's compiler.
    pub fn lacks(&self, profile: &Profile, records: &dyn Records) -> bool {
        let missing = FailureKind::Broken(Fault::Missing);
        self.tool(profile, records).program.is_err_and(|failure| failure.kind == missing)
    }

    /// The version of a compiler on another machine, in its own words.
    pub fn version_away(&self, profile: &Profile) -> Option<&str> {
        self.away.get(&profile.name).map(|away| away.version.as_str())
    }

    fn known(&self) -> MutexGuard<'_, LookedUp> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Warnings for people about compilers that cannot be identified completely, without those that
    /// were taken before.
    pub fn take_notes(&self) -> Vec<String> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notes = self.known().notes.clone();
        notes.extend(self.looks.notes());
        notes.into_iter().filter(|note| told.insert(note.clone())).collect()
    }

    /// Goes on with what others looked at, so that guards that were made before stay in force.
    pub fn goes_on_from(&mut self, before: &Compilers) {
        self.looks = before.looks.clone();
        self.told = before.told.clone();
        self.looks.begin_anew();
    }

    /// Says whether the compilers are not looked up again: then work with one that changes fails.
    pub fn set_last_round(&self, is_last: bool) {
        self.looks.set_last_round(is_last);
    }

    /// Why the compilers have to be looked up again, if so: some work with them is left undone.
    pub fn moved(&self) -> Option<Moved> {
        if self.looks.is_last_round() {
            return None;
        }
        let beyond = || self.looks.widened().map(Moved::LooksElsewhere);
        self.looks.moved().map(Moved::Changed).or_else(beyond)
    }

    /// Looks up the compilers of some profiles in parallel: a look-up runs the compiler several
    /// times, and mostly waits.
    pub fn look_up(&self, profiles: &[Arc<Profile>], records: &dyn Records) {
        let distinct: BTreeMap<Digest, &Profile> =
            profiles.iter().map(|profile| (probes::compiler(profile), &**profile)).collect();
        let profiles: Vec<&Profile> = distinct.into_values().collect();
        let next = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(profiles.len()) {
                scope.spawn(|| {
                    while let Some(profile) = profiles.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // The error is reported where the compiler is needed.
                        let _ = self.found(profile, records);
                    }
                });
            }
        });
    }

    /// The compiler of a profile, looked up if that was not done yet.
    fn found(&self, profile: &Profile, records: &dyn Records) -> Found {
        let is_wanted = self.only.as_ref().is_none_or(|only| only.contains(&profile.name));
        if !is_wanted {
            return Err(fingerprint::not_installed(&profile.compiler));
        }
        let key = probes::compiler(profile);
        if let Some(found) = self.known().found.get(&key) {
            return found.clone();
        }
        let found = fingerprint(profile, &self.looks, records).map(|compiler| {
            let (runtime, evidence) = Runtime::remembered(
                profile,
                &compiler.program,
                compiler.kind,
                &self.looks,
                records,
            );
            let digest = runtime.digest(records);
            let evidence = Arc::new(evidence);
            (compiler, Libraries { runtime: Arc::new(runtime), digest, evidence })
        });
        self.known().found.entry(key).or_insert(found).clone()
    }

    /// The compiler of a profile, with its libraries.
    pub fn tool(&self, profile: &Profile, records: &dyn Records) -> Tool {
        let found = self.found(profile, records);
        let (found, libraries) = match found {
            Ok(found) => found,
            Err(failure) => {
                if let Some(away) = self.away.get(&profile.name) {
                    return away.tool(profile);
                }
                return Tool {
                    program: Err(failure),
                    digest: Digest::of(b"missing"),
                    runtime: Arc::default(),
                    libraries: Digest::default(),
                    guard: Guard::default(),
                    is_away: false,
                };
            }
        };
        let said = found.unseen.iter().flatten().map(|what| {
            let advice = match what.is_look() {
                true => "so it is asked again in each run, unless the profile names under `inputs` what counts",
                false => "if it does, name it under `inputs` in the profile",
            };
            let compiler = &profile.compiler;
            format!("what `{compiler}` makes may depend on what cannot be seen: {what}; {advice}")
        });
        self.known().notes.extend(said);
        Tool {
            program: Ok(found.program),
            digest: found.digest,
            runtime: libraries.runtime,
            libraries: libraries.digest,
            guard: Guard::new(
                &self.looks,
                vec![found.evidence, libraries.evidence],
                Asked { question: found.question, unseen: found.unseen },
            ),
            is_away: false,
        }
    }

    /// The digest of a tool that is no compiler, and a guard for it.
    pub fn other(&self, program: &Path, records: &dyn Records) -> (Digest, Guard) {
        let answer = fingerprint::of_tool(program, &self.looks, records);
        let digest = fingerprint::digest(&answer.evidence);
        let asked = Asked { question: answer.question, unseen: Some(answer.unseen) };
        (digest, Guard::new(&self.looks, vec![Arc::new(answer.evidence)], asked))
    }
}

impl Away {
    fn tool(&self, profile: &Profile) -> Tool {
        let message = format!(
            "the compiler `{}` is on other machines alone, and none of them did this",
            profile.compiler
        );
        Tool {
            program: Err(Failure::broken(Fault::Missing, message)),
            digest: self.digest,
            runtime: Arc::new(Runtime::new(self.kind, Vec::new())),
            libraries: self.libraries,
            guard: Guard::default(),
            is_away: true,
        }
    }
}

/// Finds a profile's compiler.
pub fn ask(db: &mut dyn Db, profile: &Arc<Profile>, compilers: &Compilers, records: &dyn Records) {
    Probe::put(db, probes::compiler(profile), compilers.tool(profile, records));
}

probe!(Probe, Tool);

/// The answer about a profile's compiler.
pub fn known(db: &dyn Db, profile: &Profile) -> diag::Result<Arc<Tool>> {
    Probe::known(db, probes::compiler(profile))
}
