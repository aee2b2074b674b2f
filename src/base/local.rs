//! Whether what lies in the working folder may stand for what comes with the program. A tree that
//! somebody else wrote can bring profiles, and a profile says which program is run.
//!
//! Here it is only said and asked; who looks things up heeds it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The option and the variable that forbid it.
pub const OPTION: &str = "no-local";
/// See [`OPTION`].
pub const VARIABLE: &str = "LITMAKE_NO_LOCAL";

static FORBIDDEN: AtomicBool = AtomicBool::new(false);
static SAY: OnceLock<fn(&str)> = OnceLock::new();
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// From now on nothing of the working folder stands for anything.
pub fn forbid() {
    FORBIDDEN.store(true, Ordering::Relaxed);
}

/// Whether the option or the variable was given.
pub fn is_forbidden() -> bool {
    let by_variable = || std::env::var_os(VARIABLE).is_some_and(|v| !v.is_empty() && v != "0");
    FORBIDDEN.load(Ordering::Relaxed) || by_variable()
}

/// Who says what hides what.
pub fn say_with(say: fn(&str)) {
    let _ = SAY.set(say);
}

/// Says, once, that something of the working folder hides what comes with the program.
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
