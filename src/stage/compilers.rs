//! The compilers of a run, their libraries and other tools: each is looked up once, and what it rests on is
//! guarded from then on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::guard::Guard;
use super::probes::{self, Question};
use super::said::said;
use litmake_base::diag;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, FailureKind, Fault};
use litmake_base::records::Records;
use litmake_pipeline::query::Db;
use litmake_profile::Profile;
use litmake_toolchain::evidence::{Evidence, Looks};
use litmake_toolchain::fingerprint::{self, Fingerprint, fingerprint};
use litmake_toolchain::kind;
use litmake_toolchain::runtime::Runtime;
use serde::{Deserialize, Serialize};

/// A compiler that a profile names, with its libraries and what these rest on; or why there is none.
type Found = Result<(Fingerprint, Libraries), Failure>;

#[derive(Clone)]
struct Libraries {
    runtime: Arc<Runtime>,
    digest: Digest,
    evidence: Arc<Evidence>,
}

/// Compilers and their libraries that were looked up already.
#[derive(Default)]
pub struct Compilers {
    looks: Arc<Looks>,
    known: Mutex<Known>,
    /// Where these are named, only the compilers of profiles of these names are looked up.
    only: Option<BTreeSet<String>>,
    /// Those that this machine lacks and other machines have, by the names of profiles.
    away: BTreeMap<String, Away>,
}

#[derive(Default)]
struct Known {
    found: HashMap<Digest, Found>,
    notes: BTreeSet<String>,
}

/// A compiler for a profile, its libraries, and what they are in a stage's fingerprint.
#[derive(Clone, PartialEq)]
pub struct Tool {
    /// The compiler, or why there is none.
    pub program: Result<PathBuf, Failure>,
    /// What tells it from every other compiler.
    pub digest: Digest,
    /// Its kind and its libraries.
    pub runtime: Arc<Runtime>,
    /// What tells these from others.
    pub libraries: Digest,
    /// What it all rests on.
    pub guard: Guard,
    /// Whether it is on other machines alone.
    pub is_away: bool,
}

/// A compiler on another machine, as far as a plan has to know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Away {
    digest: Digest,
    libraries: Digest,
    kind: kind::Kind,
    version: String,
}

impl Compilers {
    /// Has none looked up but those of some profiles: the others are taken for missing.
    pub fn only(&mut self, profiles: BTreeSet<String>) {
        self.only = Some(profiles);
    }

    /// Takes what this machine lacks from other machines.
    pub fn away(&mut self, away: BTreeMap<String, Away>) {
        self.away = away;
    }

    /// What another machine has to know of a compiler that is here.
    pub fn told(&self, profile: &Profile, records: &dyn Records) -> Result<Away, Failure> {
        let tool = self.tool(profile, records);
        let program = tool.program?;
        let version = said(profile, &program, tool.digest, records);
        let (digest, libraries) = (tool.digest, tool.libraries);
        Ok(Away { digest, libraries, kind: tool.runtime.kind, version })
    }

    /// Whether a profile's compiler is not on this machine.
    pub fn lacks(&self, profile: &Profile, records: &dyn Records) -> bool {
        let missing = FailureKind::Broken(Fault::Missing);
        self.tool(profile, records).program.is_err_and(|failure| failure.kind == missing)
    }

    /// What a compiler on another machine says of its version.
    pub fn version_away(&self, profile: &Profile) -> Option<&str> {
        self.away.get(&profile.name).map(|away| away.version.as_str())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What cannot be known about them, for people, each once.
    pub fn notes(&self) -> Vec<String> {
        self.known().notes.iter().cloned().collect()
    }

    /// Looks some profiles' compilers up at the same time, since each is asked several times and all that is done
    /// meanwhile is to wait.
    pub fn look_up(&self, profiles: &[Arc<Profile>], records: &dyn Records) {
        let distinct: BTreeMap<Digest, &Profile> =
            profiles.iter().map(|profile| (key(profile), &**profile)).collect();
        let profiles: Vec<&Profile> = distinct.into_values().collect();
        let next = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(profiles.len()) {
                scope.spawn(|| {
                    while let Some(profile) = profiles.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // Why there is none is said to whoever needs it.
                        let _ = self.found(profile, records);
                    }
                });
            }
        });
    }

    /// What a profile's compiler is, asked where that is not known.
    fn found(&self, profile: &Profile, records: &dyn Records) -> Found {
        let is_wanted = self.only.as_ref().is_none_or(|only| only.contains(&profile.name));
        if !is_wanted {
            return Err(fingerprint::not_installed(&profile.compiler));
        }
        let key = key(profile);
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
        let said = found.unseen.iter().map(|what| {
            format!(
                "what `{}` makes may depend on what cannot be seen: {what}; if it does, name it under \
                 `inputs` in the profile",
                profile.compiler
            )
        });
        self.known().notes.extend(said);
        Tool {
            program: Ok(found.program),
            digest: found.digest,
            runtime: libraries.runtime,
            libraries: libraries.digest,
            guard: Guard::new(&self.looks, vec![found.evidence, libraries.evidence]),
            is_away: false,
        }
    }

    /// What a tool that is no compiler is, and what that rests on.
    pub fn other(&self, program: &Path, records: &dyn Records) -> (Digest, Guard) {
        let evidence = Arc::new(fingerprint::of_tool(program, &self.looks, records));
        let digest = fingerprint::digest(program, &evidence);
        (digest, Guard::new(&self.looks, vec![evidence]))
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

/// What a profile's compiler is.
pub fn question(profile: &Arc<Profile>) -> Question {
    let profile = profile.clone();
    Question::new(key(&profile), false, move |asking| {
        asking.shared.of::<Compilers>().tool(&profile, asking.records)
    })
}

/// What was answered about a profile's compiler.
pub fn known(db: &dyn Db, profile: &Profile) -> diag::Result<Arc<Tool>> {
    probes::answer(db, key(profile))
}

/// All of a profile that has a part in what is found for it.
pub fn key(profile: &Profile) -> Digest {
    let mut key = Keyer::new("profile's compiler/1").field("asks", &profile.fingerprint().0);
    for input in &profile.inputs {
        key.add("input", input.as_os_str().as_encoded_bytes());
    }
    key.finish()
}
