//! What kind of compiler a program is: one that takes clang's own arguments, or another.
//!
//! The program is asked for the macros that it predefines, as crate `cc` asks the compilers of
//! build scripts. Its name does not tell: a wrapper, `cc`, or a cross compiler may be either kind.
//! Crate `cc` itself asks with the whole environment and without limits, tells nobody what the
//! program looked at, and goes by the name where the question fails; so it finds the machine's own
//! compiler ([`super::host`]), and profiles' compilers are asked here.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::compile::{arguments, question};
use super::process::{Ended, Request};
use super::scratch::Scratch;
use litmake_base::file;
use litmake_lang::Language;
use litmake_profile::Profile;

/// Which compiler's options and habits a compiler has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// clang, and what is made of it, such as `zig cc`.
    Clang,
    /// gcc, and whatever does not say that it is clang.
    #[default]
    Other,
}

/// What is preprocessed: only the branch that is taken is left.
const QUESTION: &str = "#ifdef __clang__\nlitmake_clang\n#else\nlitmake_other\n#endif\n";

impl Kind {
    /// As results store it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Clang => "clang",
            Kind::Other => "other",
        }
    }

    /// Asks a profile's compiler, which `run` runs; nothing where it gave no answer.
    pub fn asked(
        profile: &Profile,
        program: &Path,
        run: &dyn Fn(&Request) -> Ended,
    ) -> Option<Kind> {
        if matches!(profile.language, Language::Rust | Language::Glsl | Language::Wgsl) {
            return Some(Kind::Other);
        }
        let dir = Scratch::new().ok()?;
        let name = format!("kind.{}", profile.language.extension());
        file::write(&dir.path().join(&name), QUESTION).ok()?;
        let args = arguments(profile, &["-w"], &["-E", &name]);
        let ended = run(&question(profile, program, &args, dir.path()));
        let Ended::Exit { code: 0, stdout, .. } = ended else { return None };
        let text = String::from_utf8_lossy(&stdout);
        let says = |word: &str| text.lines().any(|line| line.trim() == word);
        match (says("litmake_clang"), says("litmake_other")) {
            (true, false) => Some(Kind::Clang),
            (false, true) => Some(Kind::Other),
            _ => None,
        }
    }
}
