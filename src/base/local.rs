//! Decides whether files of the working folder may replace files of the same name that come with
//! litmake. A foreign source tree can contain profiles, and a profile says which program is run.
//!
//! It only holds the answer; the code that looks files up asks for it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The option that forbids such files.
pub const OPTION: &str = "no-local";
/// The environment variable that forbids such files.
pub const VARIABLE: &str = "LITMAKE_NO_LOCAL";

static FORBIDDEN: AtomicBool = AtomicBool::new(false);
static SAY: OnceLock<fn(&str)> = OnceLock::new();
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Forbids files of the working folder from now on.
pub fn forbid() {
    FORBIDDEN.store(true, Ordering::Relaxed);
}

/// Whether the option was given or the variable is set.
pub fn is_forbidden() -> bool {
    let by_variable = || std::env::var_os(VARIABLE).is_some_and(|v| !v.is_empty() && v != "0");
    FORBIDDEN.load(Ordering::Relaxed) || by_variable()
}

/// Sets the function that prints the warnings of [`hides`].
pub fn say_with(say: fn(&str)) {
    let _ = SAY.set(say);
}

/// Warns, once for each message, that a file of the working folder hides one that comes with
/// litmake.
pub fn hides(local: &str, shipped: &str) {
    let message =
        format!("{local} hides {shipped}; --{OPTION} takes nothing from the working folder");
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(message.clone())
        && let Some(say) = SAY.get()
    {
        say(&message);
    }
}
