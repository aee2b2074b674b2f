//! Asks for a second opinion on a suspected pass of code generation: finds the first pass with
//! which the machine code is wrong.
//!
//! `-opt-bisect-limit=N` makes LLVM skip all passes after the N-th among those that may be skipped.
//! A binary search finds the limit at which the code becomes wrong: without the pass there it is
//! right, with it wrong, after the same passes. All later passes are skipped, too. So the result
//! counts as long as leaving out the pass alone does not contradict it.

use serde::Serialize;

use super::blame::{is_shown, named};
use super::judge::{Court, Source, State, is_wrong};
use litmake_base::failure::Failure;
use litmake_litmus::Test;
use litmake_profile::Profile;
use litmake_toolchain::compile::{Compiler, Frame};

/// The result of trying limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Opinion {
    /// The code is right with this pass and all later ones skipped, and wrong with the pass.
    #[expect(missing_docs, reason = "they are as the compiler calls them")]
    Names { pass: String, on: String },
    /// The code is wrong even if every pass that may be skipped is skipped.
    Always,
    /// The code is right with every limit: skipping or printing itself changes the code.
    Never,
}

impl Opinion {
    /// A description in words.
    pub fn said(&self) -> String {
        let limit = "with -opt-bisect-limit, the code";
        match self {
            Opinion::Names { pass, on } => {
                format!("{limit} becomes wrong where {pass} runs on {on}")
            }
            Opinion::Always => {
                format!("{limit} is wrong even where every pass is skipped that may be")
            }
            Opinion::Never => format!("{limit} is not wrong with any limit"),
        }
    }

    /// Whether the result supports the suspicion against a pass. `selection` is the pass of
    /// instruction selection, which cannot be skipped.
    pub fn supports(&self, pass: &str, selection: &str) -> bool {
        match self {
            Opinion::Names { pass: named, .. } => is_called(pass, named),
            Opinion::Always => pass == selection,
            Opinion::Never => false,
        }
    }
}

/// Whether a dump's name of a pass, which may end in its short name, is this name or this short one:
/// later versions count passes by their short names.
pub(super) fn is_called(dumped: &str, name: &str) -> bool {
    dumped.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
        || dumped.strip_suffix(')').and_then(|d| d.rsplit_once('(')).is_some_and(|d| d.1 == name)
}

/// A profile with additional arguments.
pub(super) fn extended(profile: &Profile, words: &[String]) -> Profile {
    let args = [&profile.args[..], words].concat();
    Profile { args, ..profile.clone() }
}

/// A profile with which LLVM skips the passes after a limit.
pub fn limited(profile: &Profile, limit: usize) -> Profile {
    extended(profile, &["-mllvm".to_string(), format!("-opt-bisect-limit={limit}")])
}

/// A test whose machine code shows some outcomes that its source forbids.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The test.
    pub test: &'a Test,
    /// The outcomes that the source allows.
    pub source: &'a Source,
    /// The outcomes that the machine code shows.
    pub shown: &'a [State],
}

impl Asked<'_> {
    /// The model for a compiler's machine code.
    pub(super) fn model<'c>(&self, compiler: &'c Compiler) -> &'c str {
        let profile = compiler.profile;
        profile.model.as_deref().unwrap_or(profile.arch.default_model())
    }

    /// The code of the test under another profile of the same target.
    pub(super) fn compiled(&self, compiler: &Compiler, profile: &Profile) -> Result<Test, Failure> {
        let other = Compiler { profile, ..*compiler };
        let made = other.compile(std::slice::from_ref(self.test)).pop();
        made.unwrap_or_else(|| Err(Failure::stopped()))
    }

    /// Whether code shows one of the outcomes.
    pub(super) fn is_wrong(
        &self,
        court: &mut Court,
        compiler: &Compiler,
        code: &Test,
    ) -> Result<bool, Failure> {
        let verdict = court.judge_machine(self.source, code, self.model(compiler))?;
        Ok(is_wrong(&verdict) && is_shown(&verdict.positive, self.shown))
    }
}

/// Finds the first pass with which the machine code of a test is wrong.
pub fn opinion(compiler: &Compiler, asked: &Asked, court: &mut Court) -> Result<Opinion, Failure> {
    let (frame, printed) = compiler.numbered(asked.test)?;
    let passes = numbered(&printed, &frame);
    let mut wrong = |limit: usize| -> Result<bool, Failure> {
        let code = asked.compiled(compiler, &limited(compiler.profile, limit))?;
        asked.is_wrong(court, compiler, &code)
    };
    match first_wrong(passes.len(), &mut wrong)? {
        None => Ok(Opinion::Never),
        Some(0) => Ok(Opinion::Always),
        // LLVM counts passes from 1.
        Some(n) => {
            let (pass, on) = passes[n - 1].clone();
            Ok(Opinion::Names { pass, on })
        }
    }
}

/// The limit with which the code becomes wrong. Some compilers crash where most passes are skipped:
/// such limits count as right, but for the one before the limit that is found.
fn first_wrong(
    last: usize,
    wrong: &mut dyn FnMut(usize) -> Result<bool, Failure>,
) -> Result<Option<usize>, Failure> {
    let mut crash: Option<(usize, Failure)> = None;
    let mut is_wrong = |limit: usize| match wrong(limit) {
        Err(failure) if failure.is_stopped() => Err(failure),
        Err(failure) => {
            if crash.as_ref().is_none_or(|(last, _)| *last < limit) {
                crash = Some((limit, failure));
            }
            Ok(false)
        }
        answer => answer,
    };
    if is_wrong(0)? {
        return Ok(Some(0));
    }
    let (mut right, mut bad) = (0, last);
    if !is_wrong(last)? {
        return match crash {
            Some((at, failure)) if at == last => Err(failure),
            _ => Ok(None),
        };
    }
    while bad - right > 1 {
        let middle = right + (bad - right) / 2;
        if is_wrong(middle)? { bad = middle } else { right = middle }
    }
    match crash {
        Some((at, failure)) if at == right => Err(failure),
        _ => Ok(Some(bad)),
    }
}

/// The passes that may be skipped, in order, each with the function that it ran on:
/// `BISECT: running pass (3) SROAPass on f`.
fn numbered(printed: &str, frame: &Frame) -> Vec<(String, String)> {
    let one = |line: &str| {
        let (_, rest) = line.strip_prefix("BISECT: running pass (")?.split_once(") ")?;
        let (pass, on) = rest.rsplit_once(" on ").unwrap_or((rest, ""));
        // Passes on machine code: `on function (f)`.
        let on = on.strip_prefix("function ").unwrap_or(on).trim_matches(['(', ')']);
        let pass = pass.strip_suffix(" on function").unwrap_or(pass);
        Some((pass.to_string(), named(on, frame)))
    };
    printed.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_numbered_as_they_are_printed() {
        let frame = Frame {
            init: Vec::new(),
            globals: Vec::new(),
            threads: vec![("t0_P0".into(), Vec::new())],
            locals: Vec::new(),
        };
        let printed = "BISECT: running pass (1) SimplifyCFGPass on t0_P0\nwarning: something\n\
                       BISECT: running pass (2) AArch64 Dead register definitions on function (t0_P0)\n";
        let expected = [("SimplifyCFGPass", "P0"), ("AArch64 Dead register definitions", "P0")];
        let own = expected.map(|(pass, on)| (pass.to_string(), on.to_string()));
        assert_eq!(numbered(printed, &frame), own);
    }

    #[test]
    fn a_limit_that_crashes_the_compiler_is_passed_over() {
        let found = |crashes: usize, turns: usize| {
            first_wrong(100, &mut |limit| match limit {
                n if n < crashes => Err("the compiler crashed".into()),
                n => Ok(n >= turns),
            })
        };
        assert_eq!(found(0, 0), Ok(Some(0)));
        assert_eq!(found(0, 37), Ok(Some(37)));
        assert_eq!(found(20, 37), Ok(Some(37)));
        assert_eq!(found(0, 101), Ok(None));
        // Nothing is known where the limit before the first wrong one crashes.
        assert!(found(37, 37).is_err() && found(101, 37).is_err());
    }

    #[test]
    fn an_opinion_supports_the_pass_that_it_names() {
        let names = |pass: &str| Opinion::Names { pass: pass.into(), on: "P0".into() };
        let dumped = "AArch64 Dead register definitions (aarch64-dead-defs)";
        assert!(names("AArch64 Dead register definitions").supports(dumped, "Selection"));
        assert!(names("aarch64-dead-defs").supports(dumped, "Selection"));
        assert!(!names("dead-defs").supports(dumped, "Selection"));
        assert!(!names("AArch64 Dead").supports(dumped, "Selection"));
        assert!(!names("Machine code sinking").supports(dumped, "Selection"));
        assert!(Opinion::Always.supports("Selection", "Selection"));
        assert!(!Opinion::Always.supports(dumped, "Selection"));
        assert!(!Opinion::Never.supports(dumped, "Selection"));
    }
}
