//! How commands print: a reader that has seen enough, as `| head`, is no error, and any other
//! failure to write is said once and ends the program. In this room these macros stand for the
//! standard library's, which panic.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

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

pub fn out(what: Arguments) {
    match std::io::stdout().write_fmt(what) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            err(format_args!("error: cannot write the results: {e}"));
            std::process::exit(2);
        }
        _ => {}
    }
}

/// Where nobody hears, there is nobody to tell.
pub fn err(what: Arguments) {
    let _ = std::io::stderr().write_fmt(format_args!("{what}\n"));
}
