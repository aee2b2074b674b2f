//! Runs single passes of LLVM's `opt` on the code of a test, without a back end, and checks whether
//! a pass adds outcomes to the code that it is given.
//!
//! It does not know where tests come from, nor what passes do.

use std::path::Path;

use serde::Serialize;

use super::blame::{before_passes, code};
use super::ir;
use super::judge::{Court, State};
use litmake_base::failure::Failure;
use litmake_base::stop::Stopping;
use litmake_litmus::Test;
use litmake_toolchain::compile::{Compiler, Frame, request};
use litmake_toolchain::dumps::{list, printing};
use litmake_toolchain::scratch::Scratch;
use litmake_toolchain::trouble;

/// One run of a pass on the code of a test.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The name of the pass in `opt`.
    pub pass: String,
    /// The effect of the pass.
    #[serde(flatten)]
    pub effect: Effect,
}

/// The effect of a pass on code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "effect", rename_all = "lowercase")]
pub enum Effect {
    /// The code is unchanged.
    Nothing,
    /// The code differs and has no new outcomes.
    Sound,
    /// The code before the pass has a race, so that any outcome is possible.
    Open,
    /// The code has new outcomes.
    #[expect(missing_docs, reason = "tests of the code before the pass and after it")]
    Adds { outcomes: Vec<State>, before: String, after: String },
    /// The module is invalid after the pass and was valid before.
    #[expect(missing_docs, reason = "words for people")]
    Invalid { why: String },
    /// The code cannot be read as a test.
    #[expect(missing_docs, reason = "words for people")]
    Refused { why: String },
}

/// An `opt` and the passes that it runs.
pub struct Opt<'a> {
    /// The program, `opt` of some version.
    pub program: &'a Path,
    /// The passes, in the notation of `opt -passes`.
    pub passes: &'a str,
    /// The request to stop that ends it.
    pub stop: &'a dyn Stopping,
}

impl Opt<'_> {
    /// The output of `opt`: a module after each pass.
    fn dumps(&self, module: &str, compiler: &Compiler) -> Result<String, Failure> {
        let dir =
            Scratch::new().map_err(|e| Failure::machine(format!("no temporary folder: {e}")))?;
        dir.write("test.ll", module)
            .map_err(|e| Failure::machine(format!("the module cannot be written: {e}")))?;
        let passes = format!("-passes={}", self.passes);
        let words =
            [&*passes, "-print-after-all", "-print-module-scope", "-S", "-o", "out.ll", "test.ll"];
        let args: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        let profile = compiler.profile;
        let (ended, printed) =
            printing(&request(profile, self.program, &args, dir.path(), self.stop));
        let name = self.program.display().to_string();
        trouble::judge(&name, ended, profile.timeout)?;
        Ok(printed)
    }
}

/// Runs passes on the code that the compiler's front end makes of a test.
pub fn run(
    compiler: &Compiler,
    opt: &Opt,
    test: &Test,
    court: &mut Court,
) -> Result<Vec<Step>, Failure> {
    let (frame, first) = before_passes(compiler, test)?;
    let printed = opt.dumps(&first, compiler)?;
    let made = |text: &str, frame: &Frame| ir::test(test, frame, text);
    let mut before = made(&first, &frame);
    let mut out = Vec::new();
    for dump in list(&printed).iter().filter(|d| !d.machine && !is_bookkeeping(d.pass)) {
        let after = made(dump.text, &frame);
        let effect = match (&before, &after) {
            (Ok(before), Ok(after)) => court.step(before, after),
            (_, Err(why)) | (Err(why), _) => Effect::Refused { why: why.clone() },
        };
        out.push(Step { pass: dump.pass.to_string(), effect });
        before = after;
    }
    Ok(out)
}

/// Whether a pass only checks or prints.
fn is_bookkeeping(pass: &str) -> bool {
    ["VerifierPass", "PrintModulePass", "Module Verifier"].iter().any(|p| pass.starts_with(p))
}

impl Court {
    /// The effect of one pass on code.
    pub(super) fn step(&mut self, before: &Test, after: &Test) -> Effect {
        if code(before) == code(after) {
            return Effect::Nothing;
        }
        let mut compare = || -> Result<Effect, String> {
            let old = self.code(before)?;
            if old.races {
                return Ok(Effect::Open);
            }
            let new = self.code(after)?;
            let verdict = litmake_stage::verdict::compare(&old.allowed, &new.allowed)
                .map_err(|e| e.text())?;
            Ok(match verdict.positive.is_empty() {
                true => Effect::Sound,
                false => Effect::Adds {
                    outcomes: verdict.positive,
                    before: code(before),
                    after: code(after),
                },
            })
        };
        compare().unwrap_or_else(|why| Effect::Refused { why })
    }
}
