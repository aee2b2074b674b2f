//! Joins the parts of a test with a linker: each part is compiled to an object of its own, the
//! linker makes a program of them, and the test's threads are lifted from that.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::compilers::{Compilers, Tool};
use super::guard::Guard;
use super::items::read_test;
use super::probes::{Question, probe};
use litmake_base::diag;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Fault};
use litmake_base::records::Records;
use litmake_engine::graph::{Context, Fingerprint};
use litmake_lang::Language;
use litmake_litmus::{Arch, Test};
use litmake_mix::Split;
use litmake_mix::driver::{Driver, driver};
use litmake_pipeline::query::Db;
use litmake_profile::Profile;
use litmake_profile::types::{Observe, Storage};
use litmake_toolchain::compile::Compiler;
use litmake_toolchain::image::Image;
use litmake_toolchain::image::library::Library;
use litmake_toolchain::ld::{self, Linker, Threads};
use litmake_toolchain::runtime::Runtime;

struct Prepared {
    profile: Arc<Profile>,
    program: Result<PathBuf, Failure>,
    runtime: Arc<Runtime>,
}

type Object = Result<Arc<Vec<u8>>, Failure>;

/// A mix as a program, with the profiles whose code is in it.
pub struct Linked {
    image: Image,
    program: Driver,
    profiles: Vec<usize>,
}

/// The largest number of objects that are kept for other mixes.
const MAX_KEPT: usize = 20_000;

/// A linker, or why there is none, with its part of a stage's fingerprint.
#[derive(Clone, PartialEq)]
pub struct Found {
    program: Result<Linker, Failure>,
    digest: Digest,
    guard: Guard,
}

impl Found {
    /// The identity of a linker, and the guard of the results that it takes part in.
    pub fn new(linker: Option<Linker>, compilers: &Compilers, records: &dyn Records) -> Found {
        let program = linker.ok_or_else(|| {
            let message =
                "there is no linker for these profiles (Debian: lld, or binutils for the target)";
            Failure::broken(Fault::Missing, message)
        });
        let (digest, guard) = match &program {
            Ok(found) => compilers.other(&found.path, records),
            Err(_) => (Digest::of(b"missing"), Guard::default()),
        };
        Found { program, digest, guard }
    }
}

/// Finds a linker of an architecture's code.
pub fn ask(db: &mut dyn Db, arch: Arch, compilers: &Compilers, records: &dyn Records) {
    let linker = ld::linkers(arch, false).into_iter().next();
    Probe::put(db, Question::Linker(arch).key(), Found::new(linker, compilers, records));
}

probe!(Probe, Found);

/// The answer about it.
pub fn known(db: &dyn Db, arch: Arch) -> diag::Result<Arc<Found>> {
    Probe::known(db, Question::Linker(arch).key())
}

/// Joins mixes with a linker.
pub struct Ld {
    profiles: Vec<Prepared>,
    linker: Result<Linker, Failure>,
    /// The objects of parts, and of the programs around them, by profile.
    made: Mutex<HashMap<(usize, String), Object>>,
}

impl Ld {
    /// A linker for the mixes of some profiles, and the fingerprint of its results.
    pub fn new(
        base: Fingerprint,
        profiles: &[(Arc<Profile>, Arc<Tool>)],
        linker: &Found,
    ) -> (Ld, Fingerprint, Guard) {
        let mut out = base;
        let mut guard = Guard::default();
        let mut prepared = Vec::new();
        for (profile, tool) in profiles {
            let tool = Tool::clone(tool);
            out = out
                .with(&format!("profile {}", profile.name), profile.fingerprint())
                .with(&format!("compiler {}", profile.compiler), tool.digest)
                .with(&format!("runtime library of {}", profile.name), tool.libraries);
            guard = guard.and(tool.guard);
            let (program, runtime) = (tool.program, tool.runtime);
            prepared.push(Prepared { profile: profile.clone(), program, runtime });
        }
        guard = guard.and(linker.guard.clone());
        out = out.with("linker", linker.digest);
        (
            Ld { profiles: prepared, linker: linker.program.clone(), made: Mutex::default() },
            out,
            guard,
        )
    }

    fn compiler<'a>(&'a self, p: usize, context: &'a Context) -> Result<Compiler<'a>, Failure> {
        let found = self.profiles.get(p).ok_or("there is no such profile")?;
        Ok(Compiler {
            profile: &found.profile,
            program: found.program.as_ref().map_err(Clone::clone)?,
            observe: Observe::Condition,
            storage: Storage::Pointers,
            helpers: false,
            runtime: &found.runtime,
            stop: &context.stop,
        })
    }

    fn made(&self, p: usize, text: &str, make: &dyn Fn() -> Result<Vec<u8>, Failure>) -> Object {
        let key = (p, text.to_string());
        let lock = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let made = make().map(Arc::new);
        let mut all = lock();
        if all.len() < MAX_KEPT && !made.as_ref().is_err_and(Failure::is_stopped) {
            all.insert(key, made.clone());
        }
        made
    }

    /// The test that the parts give if these profiles compile them, one for each part. Calls are
    /// replaced by the code that they run, as in all lifted code.
    pub fn join(
        &self,
        test: &Test,
        split: &Split,
        assignment: &[usize],
        context: &Context,
    ) -> Result<Test, Failure> {
        let linked = self.link(test, split, assignment, context)?;
        self.test(test, split, &linked, false)
    }

    /// The program of such a mix.
    pub fn link(
        &self,
        test: &Test,
        split: &Split,
        assignment: &[usize],
        context: &Context,
    ) -> Result<Linked, Failure> {
        let linker = self.linker.as_ref().map_err(Clone::clone)?;
        let in_c =
            |p: &&usize| self.profiles.get(**p).is_some_and(|p| p.profile.language == Language::C);
        let all: Vec<usize> = (0..self.profiles.len()).collect();
        let host = assignment
            .iter()
            .chain(&all)
            .find(in_c)
            .ok_or_else(|| Failure::unsupported("no profile is for C, which calls parts"))?;
        // Equal parts of one profile share a function.
        let prefix = |i: usize| {
            let text = format!("{} {}", assignment[i], split.pieces[i].text);
            format!("p{}_", &blake3::hash(text.as_bytes()).to_hex()[..16])
        };
        let program = driver(test, split, &|i| prefix(i) + "P0")?;
        let around = self
            .made(*host, &program.text, &|| self.compiler(*host, context)?.driver(&program.text))?;
        let mut objects = vec![around];
        let mut seen: Vec<String> = Vec::new();
        for (i, piece) in split.pieces.iter().enumerate() {
            let (p, prefix) = (assignment[i], prefix(i));
            if seen.contains(&prefix) {
                continue;
            }
            objects.push(self.made(p, &piece.text, &|| {
                let part = read_test(piece.text.as_bytes())?;
                self.compiler(p, context)?.part(&part, &prefix)
            })?);
            seen.push(prefix);
        }
        let mut mixed: Vec<usize> = vec![*host];
        mixed.extend(assignment);
        mixed.sort_unstable();
        mixed.dedup();
        let libraries: Vec<&Library> =
            mixed.iter().flat_map(|p| self.profiles[*p].runtime.libraries()).collect();
        let bytes: Vec<&[u8]> = objects.iter().map(|o| o.as_slice()).collect();
        let arch = self.profiles[*host].profile.arch;
        let entry = program.functions.first().map_or("thread_0", String::as_str);
        let image = ld::program(arch, &bytes, &libraries, linker, entry, &context.stop)?;
        Ok(Linked { image, program, profiles: mixed })
    }

    /// The test of a program. If its calls are kept, the called code follows each thread, and
    /// returns.
    pub fn test(
        &self,
        test: &Test,
        split: &Split,
        linked: &Linked,
        calls: bool,
    ) -> Result<Test, Failure> {
        let profiles: Vec<&Profile> =
            linked.profiles.iter().map(|p| self.profiles[*p].profile.as_ref()).collect();
        let threads = Threads {
            functions: &linked.program.functions,
            variables: &linked.program.variables,
            init: linked.program.init.clone(),
            observed: &split.observed,
            profiles: &profiles,
            calls,
        };
        ld::lift(test, &linked.image, threads)
    }
}
