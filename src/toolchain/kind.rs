//! Decides whether a compiler takes clang's own arguments.
//!
//! The compiler's predefined macros tell, as they tell crate `cc` in build scripts. Its name
//! does not tell: a wrapper, `cc`, or a cross compiler may be of either kind. Crate `cc` itself
//! runs the compiler with the whole environment and without limits, does not report which files the
//! compiler read, and uses the name if the question fails. It is therefore used only to find the
//! machine's own compiler ([`super::host`]), and profiles' compilers are asked here. This module
//! does not know what is compiled.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::compile::{arguments, question};
use super::process::{Ended, Request};
use super::scratch::Scratch;
use litmake_base::file;
use litmake_lang::Language;
use litmake_profile::Profile;

/// The kinds of compilers, by their options and behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// clang, and compilers based on it, such as `zig cc`.
    Clang,
    /// gcc, and any compiler that does not identify itself as clang.
    #[default]
    Other,
}

/// The text to be preprocessed; only one branch is left.
const QUESTION: &str = "#ifdef __clang__\nlitmake_clang\n#else\nlitmake_other\n#endif\n";

/// The same as a variable, for the end of a text that is compiled. Its name is in whatever is made of the text.
pub(super) const MARK: &str =
    "#ifdef __clang__\nint litmake_clang = 1;\n#else\nint litmake_other = 1;\n#endif\n";

impl Kind {
    /// The kind that the result of a text with [`MARK`] tells, if it tells one.
    pub(super) fn told(output: &[u8]) -> Option<Kind> {
        let has = |name: &str| output.windows(name.len()).any(|part| part == name.as_bytes());
        Kind::of(has("litmake_clang"), has("litmake_other"))
    }

    fn of(is_clang: bool, is_other: bool) -> Option<Kind> {
        match (is_clang, is_other) {
            (true, false) => Some(Kind::Clang),
            (false, true) => Some(Kind::Other),
            _ => None,
        }
    }

    /// The name in stored results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Clang => "clang",
            Kind::Other => "other",
        }
    }

    /// Asks a profile's compiler, which `run` runs; `None` if it gave no answer.
    pub fn asked(
        profile: &Profile,
        program: &Path,
        run: &dyn Fn(&Request) -> Ended,
    ) -> Option<Kind> {
        use Language::{Glsl, Go, Rust, Wgsl};
        if matches!(profile.language, Rust | Go | Glsl | Wgsl) {
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
        Kind::of(says("litmake_clang"), says("litmake_other"))
    }
}
