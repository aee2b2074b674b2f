//! Prints for all commands. A reader that closes the pipe, as `| head` does, is no error; any other
//! failed write ends the program with one message. In this folder these macros replace those of the
//! standard library, which panic.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use litmake::plain;

macro_rules! print {
    ($($what:tt)*) => { $crate::cli::output::out(format_args!($($what)*)) };
}

macro_rules! println {
    () => { print!("\n") };
    ($form:literal $($what:tt)*) => { print!("{}\n", format_args!($form $($what)*)) };
}

/// Prints a note for the user, unless `--quiet` is given.
macro_rules! note {
    ($form:literal $($what:tt)*) => {
        if !$crate::cli::output::is_hushed() {
            eprintln!("note: {}", format_args!($form $($what)*))
        }
    };
}

macro_rules! eprintln {
    ($($what:tt)*) => { $crate::cli::output::err(format_args!($($what)*)) };
}

static HUSHED: AtomicBool = AtomicBool::new(false);

/// Suppresses all notes from here on.
pub fn hush() {
    HUSHED.store(true, Ordering::Relaxed);
}

pub fn is_hushed() -> bool {
    HUSHED.load(Ordering::Relaxed)
}

/// Calls a function while nobody hears standard error, where drivers print what only their makers
/// understand.
pub fn without_errors<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: each call takes a descriptor that is open, or fails; then nothing is redirected.
    let kept = unsafe {
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        let kept = libc::fcntl(2, libc::F_DUPFD_CLOEXEC, 3);
        if nowhere >= 0 && kept >= 0 {
            libc::dup2(nowhere, 2);
        }
        if nowhere >= 0 {
            libc::close(nowhere);
        }
        kept
    };
    let out = call();
    if kept >= 0 {
        // SAFETY: it is the descriptor that was made above.
        unsafe {
            libc::dup2(kept, 2);
            libc::close(kept);
        }
    }
    out
}

/// Prints text for people and programs, without characters that control a terminal or a CI server.
pub fn out(what: Arguments) {
    let text = what.to_string();
    raw(&harmless(&text));
}

/// Prints text that is harmless already, and has colours or commands for a CI server.
pub fn raw(text: &str) {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            err(format_args!("error: cannot write the results: {e}"));
            #[expect(
                clippy::disallowed_methods,
                reason = "nobody reads on, whatever is printed next"
            )]
            std::process::exit(2);
        }
        _ => {}
    }
}

/// Prints to standard error. A failed write is ignored: there is no other place to report it.
pub fn err(what: Arguments) {
    let text = what.to_string();
    let text = harmless(&text);
    let painted = match super::common::color(std::io::stderr().is_terminal()) {
        true => painted(&text),
        false => None,
    };
    let text = painted.as_deref().unwrap_or(&text);
    let _ = std::io::stderr().write_fmt(format_args!("{text}\n"));
}

/// Colours the first word of a message (`error:`, `warning:`, `note:`) like clap does. A place may
/// stand before it. None if there is no such word.
fn painted(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let words = [("error:", "31;1"), ("warning:", "33;1"), ("note:", "32;1")];
    words.into_iter().find_map(|(word, color)| {
        let at = line.find(word)?;
        let is_first = at == 0 || line[..at].ends_with(": ");
        is_first.then(|| {
            let (before, after) = (&text[..at], &text[at + word.len()..]);
            format!("{before}\x1b[{color}m{word}\x1b[0m{after}")
        })
    })
}

fn harmless(text: &str) -> Cow<'_, str> {
    match (plain::text(text), super::run::on_github()) {
        (text, false) => text,
        (text, true) => Cow::Owned(plain::no_commands(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::painted;

    #[test]
    fn the_word_that_says_how_bad_it_is_has_a_colour() {
        let red = "\x1b[31;1merror:\x1b[0m";
        assert_eq!(painted("error: no\n  help: x"), Some(format!("{red} no\n  help: x")));
        assert_eq!(painted("a.litmus:1:2: error: no"), Some(format!("a.litmus:1:2: {red} no")));
        assert_eq!(painted("12 tests"), None);
        assert_eq!(painted("what an error: is"), None);
        assert_eq!(painted("done\nerror: no"), None);
    }
}
