//! Finds the machine's own compiler, as crate `cc` does for build scripts: the one in `CC`, else
//! `cc`, with `CFLAGS`.
//!
//! It does not know what is compiled.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ask::{self, Answer};
use super::evidence::Looks;
use super::process;
use super::trace::Look;
use litmake_base::digest::Keyer;
use litmake_base::records::Records;

/// A command that compiles C for this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The compiler.
    pub command: String,
    /// Arguments that are always passed.
    pub args: Vec<String>,
}

/// Finds the compiler. Crate `cc` runs it to learn its kind, so the result is stored for as long as
/// the compiler and the relevant environment are unchanged.
pub fn find(looks: &Looks, known: &dyn Records) -> Result<Host, String> {
    let mut key = Keyer::new("host compiler/1").field("arch", std::env::consts::ARCH.as_bytes());
    for (name, value) in environment() {
        key.add("name", name.as_bytes());
        key.add("value", value.as_bytes());
    }
    let Answer { value: host, .. } = ask::ask(key.finish(), looks, known, |watched| {
        let found = asked();
        if let Some(path) = found.as_ref().and_then(|host| process::locate(&host.command)) {
            watched.look(path, Look::Content);
        }
        let keep = found.is_some();
        (found, keep)
    });
    let none = || {
        "no C compiler is found: `cc` is not installed, and `CC` names none; install one, or name \
         a profile"
            .to_string()
    };
    host.ok_or_else(none)
}

/// The environment variables that influence crate `cc`.
fn environment() -> impl Iterator<Item = (String, String)> {
    let decides = |name: &str| {
        name == "PATH" || name.contains("CC") || name.contains("CFLAGS") || name == "RUSTC_WRAPPER"
    };
    let mut all: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into()))
        .filter(|(name, _): &(String, String)| decides(name))
        .collect();
    all.sort();
    all.into_iter()
}

fn asked() -> Option<Host> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    // Sets what cargo sets for build scripts, and prints nothing for cargo.
    let tool = cc::Build::new()
        .target(&target)
        .host(&target)
        .opt_level(2)
        .no_default_flags(true)
        .warnings(false)
        .extra_warnings(false)
        .inherit_rustflags(false)
        .cargo_metadata(false)
        .cargo_warnings(false)
        .cargo_debug(false)
        .cargo_output(false)
        .try_get_compiler()
        .ok()?;
    let command = tool.to_command();
    let text = |word: &std::ffi::OsStr| word.to_str().map(String::from);
    let host = Host {
        command: text(command.get_program())?,
        args: command.get_args().map(text).collect::<Option<_>>()?,
    };
    // Crate `cc` also returns names of programs that do not exist.
    process::locate(&host.command).map(|_: PathBuf| host)
}
