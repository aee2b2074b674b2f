//! `compile`: C tests through a compiler and back to litmus tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::read_test;
use crate::diag::{Diag, Result};
use crate::engine::digest::Digest;
use crate::engine::graph::{Context, Fingerprint, Map, Outcome};
use crate::engine::store::Records;
use crate::litmus::canon::canonical_text;
use crate::litmus::{self, Test};
use crate::pipeline::plan::Node;
use crate::pipeline::profile::Profile;
use crate::pipeline::types::{self, Observe, Storage};
use crate::toolchain::compile::{Compiler, Trouble};
use crate::toolchain::fingerprint::{self, fingerprint};
use crate::toolchain::runtime::Runtime;

type Found = std::result::Result<(PathBuf, Digest), String>;

/// Compilers that were looked up already, by command and environment.
#[derive(Default)]
pub struct Compilers {
    found: HashMap<String, Found>,
    runtimes: HashMap<String, (Arc<Runtime>, Digest)>,
}

impl Compilers {
    pub fn find(&mut self, profile: &Profile, records: &dyn Records) -> Found {
        let key = format!("{} {:?}", profile.compiler, profile.env);
        let entry = self.found.entry(key).or_insert_with(|| {
            let found: fingerprint::Fingerprint =
                fingerprint(&profile.compiler, &profile.env, records)?;
            Ok((found.program, found.digest))
        });
        entry.clone()
    }

    /// The libraries that a profile's programs are linked with, and their digest.
    pub fn runtime(
        &mut self,
        profile: &Profile,
        program: &Path,
        records: &dyn Records,
    ) -> (Arc<Runtime>, Digest) {
        // Levels of optimisation change nothing about where libraries are.
        let args: Vec<&String> = profile.args.iter().filter(|a| !a.starts_with("-O")).collect();
        let key = format!("{} {:?} {args:?}", profile.compiler, profile.env);
        let entry = self.runtimes.entry(key).or_insert_with(|| {
            let runtime = Runtime::of(profile, program);
            let digest = runtime.digest(records);
            (Arc::new(runtime), digest)
        });
        entry.clone()
    }
}

pub struct Stage {
    profile: Arc<Profile>,
    program: std::result::Result<PathBuf, String>,
    runtime: Arc<Runtime>,
    observe: Observe,
    storage: Storage,
    helpers: bool,
    /// One test in so many is compiled alone as well; 0: none.
    alone: u64,
}

pub fn stage(
    node: &Node,
    options: &types::Compile,
    compilers: &mut Compilers,
    records: &dyn Records,
) -> Result<(Stage, Fingerprint)> {
    let profile = node
        .profile
        .clone()
        .ok_or_else(|| Diag::at(&node.source, options.profile.span, "the profile is not known"))?;
    let found = compilers.find(&profile, records);
    let compiler = match &found {
        Ok((_, digest)) => *digest,
        Err(_) => Digest::of(b"missing"),
    };
    let (runtime, libraries) = match &found {
        Ok((program, _)) => compilers.runtime(&profile, program, records),
        Err(_) => Default::default(),
    };
    let mut fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_COMPILE"))
        .with_text("stage", "compile")
        .with(&format!("profile {}", profile.name), profile.fingerprint())
        .with(&format!("compiler {}", profile.compiler), compiler)
        .with("runtime library", libraries)
        .with_text("observe", &format!("{:?}", options.observe))
        .with_text("storage", &format!("{:?}", options.storage))
        .with_text("helpers", &options.helpers.to_string());
    let alone = options.alone.as_ref().map_or(0, |n| n.value);
    if alone > 0 {
        fingerprint = fingerprint.with_text("alone", &alone.to_string());
    }
    Ok((
        Stage {
            program: found.map(|(program, _)| program),
            runtime,
            profile,
            observe: options.observe,
            storage: options.storage,
            helpers: options.helpers,
            alone,
        },
        fingerprint,
    ))
}

impl Stage {
    /// Whether a test is compiled alone too: by its text, so that each run asks the same.
    fn is_sampled(&self, text: &[u8]) -> bool {
        let digest = Digest::of(text).0;
        let number = digest[..8].iter().fold(0, |n: u64, b| n << 8 | u64::from(*b));
        self.alone > 0 && number % self.alone == 0
    }
}

/// What becomes of an item for which a tool gave nothing.
pub fn outcome(trouble: Trouble) -> Outcome {
    match trouble {
        Trouble::Test(message) => Outcome::Failed(message),
        Trouble::Refused(message) => Outcome::ForNow(Box::new(Outcome::Failed(message))),
        Trouble::Broken(_, message) => Outcome::Broke(message),
        Trouble::Stopped => Outcome::Stopped,
    }
}

/// The code of a test, where the test compiled alone gives the same.
fn compare_alone(compiler: &Compiler, test: &Test, code: &Test) -> Outcome {
    match compiler.compile(std::slice::from_ref(test)).pop() {
        Some(Ok(alone)) if canonical_text(&alone) == canonical_text(code) => {
            Outcome::Done(litmus::write(code).into_bytes())
        }
        Some(Ok(alone)) => Outcome::Failed(format!(
            "{} makes other code of it alone than beside other tests; alone:\n{}\nbeside others:\n{}",
            compiler.profile.compiler,
            litmus::write(&alone),
            litmus::write(code)
        )),
        Some(Err(Trouble::Test(message))) => {
            Outcome::Failed(format!("alone, and not beside other tests: {message}"))
        }
        Some(Err(trouble)) => outcome(trouble),
        None => Outcome::Stopped,
    }
}

impl Map for Stage {
    fn batch(&self) -> usize {
        192
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let program = match &self.program {
            Ok(program) => program,
            Err(message) => return vec![Outcome::Broke(message.clone()); items.len()],
        };
        let compiler = Compiler {
            profile: &self.profile,
            program,
            observe: self.observe,
            storage: self.storage,
            helpers: self.helpers,
            runtime: &self.runtime,
            stop: &context.stop,
        };
        let mut out = vec![Outcome::Stopped; items.len()];
        let mut tests = Vec::new();
        let mut places = Vec::new();
        for (i, item) in items.iter().enumerate() {
            match read_test(&item[0]) {
                Ok(test) => {
                    tests.push(test);
                    places.push(i);
                }
                Err(message) => out[i] = Outcome::Failed(message),
            }
        }
        for ((place, result), test) in places.into_iter().zip(compiler.compile(&tests)).zip(&tests)
        {
            out[place] = match result {
                Ok(code) if self.is_sampled(&items[place][0]) => {
                    compare_alone(&compiler, test, &code)
                }
                Ok(test) => Outcome::Done(litmus::write(&test).into_bytes()),
                Err(trouble) => outcome(trouble),
            };
        }
        out
    }
}
