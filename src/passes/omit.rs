//! Asks for a second opinion on a pass of LLVM's code generation: leaves out that pass alone, and
//! checks whether the machine code is then right.
//!
//! The compiler stops before the pass and writes its machine code as text, and `llc` continues
//! after the pass (`-stop-before`, `-start-after`). All other passes run as before. As a check that
//! stopping and continuing change nothing themselves, `llc` also continues with the pass, and that
//! code must be wrong, too. A pass that later passes need cannot be left out. This module does not
//! know how a pass came under suspicion.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::cross::{Asked, extended};
use super::judge::Court;
use super::machine::Change;
use litmake_base::failure::{Failure, Fault};
use litmake_profile::Profile;
use litmake_toolchain::compile::Compiler;
use litmake_toolchain::process;

/// The largest number of passes that are left out.
pub const MOST: usize = 8;

/// The result of leaving a pass out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Opinion {
    /// The code is right without it.
    Right,
    /// The code is still wrong without it.
    Wrong,
    /// It cannot be left out.
    Needed,
}

impl Opinion {
    /// A description in words, given the name of the pass.
    pub fn said(&self, pass: &str) -> String {
        match self {
            Opinion::Right => format!("where {pass} alone is left out, the code is right"),
            Opinion::Wrong => {
                format!("where {pass} alone is left out, the code is wrong all the same")
            }
            Opinion::Needed => format!("{pass} cannot be left out: later passes need it"),
        }
    }
}

/// Runs the passes after one.
pub struct Rest<'a> {
    compiler: &'a Compiler<'a>,
    llc: PathBuf,
}

impl<'a> Rest<'a> {
    /// Uses the `llc` that belongs to a compiler.
    pub fn of(compiler: &'a Compiler<'a>) -> Result<Rest<'a>, Failure> {
        let name = beside(&compiler.profile.compiler).ok_or_else(|| {
            let what = format!("going on behind a pass of {}", compiler.profile.compiler);
            Failure::unsupported(what)
        })?;
        let sibling = compiler.program.with_file_name(&name);
        let found = if sibling.is_file() { Some(sibling) } else { process::find(&name) };
        let llc = found.ok_or_else(|| {
            let what = format!("`{name}` is not installed, which goes on behind a pass");
            Failure::broken(Fault::Missing, format!("{what}; Debian has it in `llvm-N`"))
        })?;
        Ok(Rest { compiler, llc })
    }

    /// Leaves out the pass that made a change, for a test whose machine code is wrong.
    pub fn opinion(
        &self,
        asked: &Asked,
        court: &mut Court,
        change: &Change,
    ) -> Result<Opinion, Failure> {
        let Some(name) = short(&change.pass) else {
            let what = format!("leaving out {}, which has no short name", change.pass);
            return Err(Failure::unsupported(what));
        };
        let place = format!("{name},{}", change.earlier);
        // Some later passes depend on the relocation model, which is not part of the text.
        for model in ["pic", "static"] {
            let again = self.continued(&place, "-start-before", model);
            let code = match asked.compiled(self.compiler, &again) {
                Ok(code) => code,
                Err(failure) if failure.is_stopped() => return Err(failure),
                Err(_) => continue,
            };
            if !asked.is_wrong(court, self.compiler, &code)? {
                continue;
            }
            let without = self.continued(&place, "-start-after", model);
            let code = match asked.compiled(self.compiler, &without) {
                Ok(code) => code,
                Err(failure) if failure.is_stopped() => return Err(failure),
                Err(_) => return Ok(Opinion::Needed),
            };
            if asked.is_wrong(court, self.compiler, &code)? {
                return Ok(Opinion::Wrong);
            }
            // Code without all interleavings of the test does not implement it.
            let is_whole = court.can_interleave(asked.test, &code, asked.model(self.compiler))?;
            return Ok(if is_whole { Opinion::Right } else { Opinion::Needed });
        }
        let what =
            format!("stopping before {} and going on with it, which changes the code", change.pass);
        Err(Failure::unsupported(what))
    }

    /// A profile whose compiler stops before a pass, so that `llc` continues from there.
    fn continued(&self, place: &str, from: &str, model: &str) -> Profile {
        let stop = ["-mllvm".to_string(), format!("-stop-before={place}")];
        let profile = extended(self.compiler.profile, &stop);
        let mut words = vec![self.llc.to_string_lossy().into_owned()];
        words.extend(["-x", "mir", "-filetype=obj", "-data-sections"].map(String::from));
        words.push("-enable-global-merge=false".into());
        words.push(level(&profile.args));
        words.extend([format!("-relocation-model={model}"), format!("{from}={place}")]);
        let asked = self.compiler.profile.args.windows(2).filter(|pair| pair[0] == "-mllvm");
        words.extend(asked.map(|pair| pair[1].clone()));
        words.extend(["{in}", "-o", "{out}"].map(String::from));
        Profile { then: vec![words], ..profile }
    }
}

/// The name of a compiler's `llc`: `llc-14` for `clang-14` and `clang++-14`; `None` for compilers
/// other than clang.
fn beside(compiler: &str) -> Option<String> {
    let file = Path::new(compiler).file_name()?.to_str()?;
    let rest = file.strip_prefix("clang")?;
    let rest = rest.strip_prefix("++").unwrap_or(rest);
    (rest.is_empty() || rest.starts_with('-')).then(|| format!("llc{rest}"))
}

/// The name of a pass in options, which dumps give after the long name:
/// `Machine code sinking (machine-sink)`.
fn short(pass: &str) -> Option<&str> {
    Some(pass.strip_suffix(')')?.rsplit_once('(')?.1)
}

/// The optimisation level for `llc`, from the arguments of a compiler, of which the last counts.
fn level(args: &[String]) -> String {
    let last = args.iter().rev().find_map(|arg| arg.strip_prefix("-O"));
    let level = match last.unwrap_or("0") {
        level @ ("0" | "1" | "2" | "3") => level,
        "g" | "" => "1",
        "fast" | "4" => "3",
        _ => "2",
    };
    format!("-O{level}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_has_an_llc_of_its_version() {
        for (compiler, expected) in [
            ("clang-14", Some("llc-14")),
            ("clang++-16", Some("llc-16")),
            ("/opt/llvm/bin/clang", Some("llc")),
            ("zig-0.13.0", None),
            ("clangd", None),
        ] {
            assert_eq!(beside(compiler).as_deref(), expected, "{compiler}");
        }
        assert_eq!(short("Machine code sinking (machine-sink)"), Some("machine-sink"));
        assert_eq!(short("Machine code sinking"), None);
        let args = |words: &[&str]| words.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        for (words, expected) in [
            (&["-O2", "-Os"][..], "-O2"),
            (&["-Ofast"], "-O3"),
            (&["-Og"], "-O1"),
            (&["-c"], "-O0"),
        ] {
            assert_eq!(level(&args(words)), expected);
        }
    }
}
