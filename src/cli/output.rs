//! How commands print: a reader that has seen enough, as `| head`, is no error, and any other
//! failure to write is said once and ends the program. In this room these macros stand for the
//! standard library's, which panic.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

use litmake::plain;

macro_rules! print {
    ($($what:tt)*) => { $crate::cli::output::out(format_args!($($what)*)) };
}

macro_rules! println {
    () => { print!("\n") };
    ($form:literal $($what:tt)*) => { print!("{}\n", format_args!($form $($what)*)) };
}

macro_rules! eprintln {
    ($($what:tt)*) => { $crate::cli::output::err(format_args!($($what)*)) };
}

/// What is for people and for other programs: nothing in it drives a terminal or a CI server.
pub fn out(what: Arguments) {
    let text = what.to_string();
    raw(&harmless(&text));
}

/// What was made harmless already, and is painted, or commands a CI server.
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

/// Where nobody hears, there is nobody to tell.
pub fn err(what: Arguments) {
    let text = what.to_string();
    let _ = std::io::stderr().write_fmt(format_args!("{}\n", harmless(&text)));
}

fn harmless(text: &str) -> Cow<'_, str> {
    match (plain::text(text), super::run::on_github()) {
        (text, false) => text,
        (text, true) => Cow::Owned(plain::no_commands(&text).into_owned()),
    }
}
