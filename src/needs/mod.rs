//! Parts of a machine that a test needs: a compiler, an emulator, a device. With `LITMAKE_REQUIRE=all` a
//! test that misses one fails; otherwise it says that it is skipped, and passes. Material beside the checkout
//! is never required.
//!
//! Only tests use this crate. It does not know what any crate does.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

use std::fmt::Display;
use std::io::Write;

/// The variable that says which parts must be there. Its one value is `all`; without it, none must.
pub const REQUIRE: &str = "LITMAKE_REQUIRE";

/// Whether a program can be started by its name. Where it cannot, the caller leaves out what needs it.
pub fn here(program: &str) -> bool {
    holds(program, is_in_path(program))
}

/// Whether the machine has a part, given that somebody looked. Where it has not, the caller leaves
/// out what needs it.
pub fn holds(part: &str, is_there: bool) -> bool {
    need(part, is_there.then_some(()).ok_or("it is not here")).is_some()
}

/// Whether material lies beside the checkout, given that somebody looked. Where it does not, the caller leaves
/// out what needs it, whatever `LITMAKE_REQUIRE` says: the project passes its tests without.
pub fn beside(material: &str, is_there: bool) -> bool {
    unless_missing(None, material, is_there.then_some(()).ok_or("it is not here")).is_some()
}

/// A part of the machine, or nothing where it is missing: the caller then leaves out what needs it.
/// The error says why it is missing.
pub fn need<T, E: Display>(part: &str, found: Result<T, E>) -> Option<T> {
    unless_missing(std::env::var(REQUIRE).ok().as_deref(), part, found)
}

fn unless_missing<T, E: Display>(
    wanted: Option<&str>,
    part: &str,
    found: Result<T, E>,
) -> Option<T> {
    let why = match found {
        Ok(part) => return Some(part),
        Err(why) => why,
    };
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    match verdict(wanted, test, part, &why.to_string()) {
        // The harness keeps back what a test that passes prints with `eprintln!`.
        Ok(skipped) => drop(writeln!(std::io::stderr(), "{skipped}")),
        Err(failure) => panic!("{failure}"),
    }
    None
}

/// The words for a test that misses a part; an error if it must not.
fn verdict(wanted: Option<&str>, test: &str, part: &str, why: &str) -> Result<String, String> {
    match wanted {
        None | Some("") => Ok(format!("skipped: {test} needs {part}: {why}")),
        Some("all") => Err(format!(
            "{test} needs {part}: {why}; {REQUIRE}=all lets no test do without. \
             `scripts/setup --all` installs all parts that are packaged"
        )),
        Some(other) => Err(format!("{REQUIRE} is `{other}`; its one value is `all`")),
    }
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests;
