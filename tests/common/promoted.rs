//! Files of the repository that the program itself writes: words for people, and pages made from its tables.
//! Nothing that says what a model, a compiler or a machine does is such a file.
//!
//!     LITMAKE_PROMOTE=1 cargo test --test program --test litmus -- docs::the_reference diagnostics::
//!
//! writes them anew, and `git diff` shows what became of them.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::path::Path;

/// Compares a file with what the program makes of it now, or writes it where that is asked for.
#[track_caller]
pub fn is(path: &str, made: &str) {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("LITMAKE_PROMOTE").is_some_and(|v| v == "1") {
        std::fs::write(whole, made).unwrap_or_else(|e| panic!("{path}: {e}"));
        return;
    }
    let kept = std::fs::read_to_string(whole).unwrap_or_default();
    let line = kept.lines().zip(made.lines()).take_while(|(a, b)| a == b).count();
    let of = |text: &str| text.lines().nth(line).unwrap_or("the end").to_string();
    assert!(
        kept == made,
        "{path}:{}: `{}` would be `{}`; LITMAKE_PROMOTE=1 writes the file anew",
        line + 1,
        of(&kept),
        of(made)
    );
}
