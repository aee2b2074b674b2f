//! Compiles C tests, and lifts the code back to litmus tests.

use std::path::PathBuf;
use std::sync::Arc;

use super::compilers::Tool;
use super::guard::Guarded;
use super::items::read_test;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Lasting};
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Travels};
use litmake_litmus::canon::canonical_text;
use litmake_litmus::{self as litmus, Test};
use litmake_pipeline::kinds;
use litmake_profile::Profile;
use litmake_profile::types::{Observe, Storage};
use litmake_toolchain::compile::Compiler;
use litmake_toolchain::runtime::Runtime;

/// The work that compiles tests with a profile.
pub struct Stage {
    profile: Arc<Profile>,
    program: std::result::Result<PathBuf, Failure>,
    runtime: Arc<Runtime>,
    observe: Observe,
    storage: Storage,
    helpers: bool,
    /// One test in `alone` is also compiled alone; 0 for none.
    alone: u64,
    is_away: bool,
}

/// The work that compiles with a profile, and its fingerprint.
pub fn stage(
    profile: &Arc<Profile>,
    options: &kinds::Compile,
    tool: Tool,
) -> (Guarded<Stage>, Fingerprint) {
    let mut fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_COMPILED"))
        .with_text("stage", "compile")
        .with(&format!("profile {}", profile.name), profile.fingerprint())
        .with(&format!("compiler {}", profile.compiler), tool.digest)
        .with("runtime library", tool.libraries)
        .with_text("observe", &format!("{:?}", options.observe))
        .with_text("storage", &format!("{:?}", options.storage))
        .with_text("helpers", &options.helpers.to_string());
    let alone = options.alone.as_ref().map_or(0, |n| n.value);
    if alone > 0 {
        fingerprint = fingerprint.with_text("alone", &alone.to_string());
    }
    let stage = Stage {
        program: tool.program,
        runtime: tool.runtime,
        profile: profile.clone(),
        observe: options.observe,
        storage: options.storage,
        helpers: options.helpers,
        alone,
        is_away: tool.is_away,
    };
    (tool.guard.around(stage), fingerprint)
}

impl Stage {
    /// Whether a test is also compiled alone. This depends on its text, so that each run chooses
    /// the same tests.
    fn is_sampled(&self, text: &[u8]) -> bool {
        let digest = Digest::of(text).0;
        let number = digest[..8].iter().fold(0, |n: u64, b| n << 8 | u64::from(*b));
        self.alone > 0 && number % self.alone == 0
    }
}

/// The code of a test; a failure if the test gives other code when it is compiled alone.
fn compare_alone(compiler: &Compiler, test: &Test, code: &Test) -> Outcome {
    match compiler.compile(std::slice::from_ref(test)).pop() {
        Some(Ok(alone)) if canonical_text(&alone) == canonical_text(code) => {
            Outcome::Done(litmus::write(code).into_bytes())
        }
        Some(Ok(alone)) => {
            let message = format!(
                "{} makes other code of it alone than beside other tests; alone:\n{}\nbeside others:\n{}",
                compiler.profile.compiler,
                litmus::write(&alone),
                litmus::write(code)
            );
            Outcome::Failed(message.into())
        }
        Some(Err(failure)) => Outcome::Failed(match failure.kind.lasting() {
            Lasting::ForGood => failure.of("alone, and not beside other tests"),
            Lasting::ForNow | Lasting::Never => failure,
        }),
        None => Outcome::stopped(),
    }
}

impl Map for Stage {
    fn batch(&self) -> usize {
        512
    }

    fn travels(&self) -> Travels {
        if self.is_away { Travels::Only } else { Travels::Alone }
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let program = match &self.program {
            Ok(program) => program,
            Err(failure) => return vec![Outcome::Failed(failure.clone()); items.len()],
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
        let mut out = vec![Outcome::stopped(); items.len()];
        let mut tests = Vec::new();
        let mut places = Vec::new();
        for (i, item) in items.iter().enumerate() {
            match read_test(&item[0]) {
                Ok(test) => {
                    tests.push(test);
                    places.push(i);
                }
                Err(failure) => out[i] = Outcome::Failed(failure),
            }
        }
        for ((place, result), test) in places.into_iter().zip(compiler.compile(&tests)).zip(&tests)
        {
            out[place] = match result {
                Ok(code) if self.is_sampled(&items[place][0]) => {
                    compare_alone(&compiler, test, &code)
                }
                Ok(test) => Outcome::Done(litmus::write(&test).into_bytes()),
                Err(failure) => Outcome::Failed(failure),
            };
        }
        out
    }
}
