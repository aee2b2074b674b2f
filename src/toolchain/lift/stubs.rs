//! Calls that are not followed: what they are taken to do instead of the function's code.
//!
//! Names of functions decide, whether or not their code is at hand. Nothing here knows the code that calls.

use std::fmt;
use std::str::FromStr;

/// The effect that a call is taken to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stub {
    /// It accesses no memory, and gives this number.
    Gives(u64),
    /// It does not return: executions that reach it are left out.
    Never,
}

impl FromStr for Stub {
    type Err = String;

    fn from_str(text: &str) -> Result<Stub, String> {
        let number = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        match (text, number) {
            ("never", _) => Ok(Stub::Never),
            ("nothing", _) => Ok(Stub::Gives(0)),
            (_, Some(number)) => Ok(Stub::Gives(number)),
            _ => Err(format!("`{text}` is not `nothing`, `never` or a number")),
        }
    }
}

impl fmt::Display for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stub::Never => f.write_str("never"),
            Stub::Gives(0) => f.write_str("nothing"),
            Stub::Gives(number) => write!(f, "{number}"),
        }
    }
}

/// Functions that end the program or the thread, or jump elsewhere for good.
const NEVER: [&str; 16] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "pthread_exit",
    "__assert_fail",
    "__assert_perror_fail",
    "__assert",
    "__stack_chk_fail",
    "__fortify_fail",
    "__chk_fail",
    "g_assertion_message",
    "g_assertion_message_expr",
    "g_abort",
    "_ZSt9terminatev",
];

/// Functions that write to files or wait, and leave the program's memory alone.
const NOTHING: [&str; 26] = [
    "printf",
    "fprintf",
    "vfprintf",
    "dprintf",
    "puts",
    "fputs",
    "putchar",
    "fputc",
    "fwrite",
    "fflush",
    "perror",
    "syslog",
    "vsyslog",
    "__printf_chk",
    "__fprintf_chk",
    "__vfprintf_chk",
    "g_log",
    "g_logv",
    "g_log_structured",
    "g_log_structured_standard",
    "g_return_if_fail_warning",
    "g_warn_message",
    "sched_yield",
    "usleep",
    "nanosleep",
    "poll",
];

/// The effect that calls of a function are taken to have unless somebody says otherwise; `None` if they are
/// followed.
pub fn usual(name: &str) -> Option<Stub> {
    match name {
        _ if NEVER.contains(&name) => Some(Stub::Never),
        // Exceptions of C++'s library, and panics of Go and Rust.
        _ if name.starts_with("_ZSt") && name.contains("__throw_") => Some(Stub::Never),
        _ if name.starts_with("runtime.panic") || name == "runtime.gopanic" => Some(Stub::Never),
        _ if name.starts_with("_ZN4core9panicking") => Some(Stub::Never),
        _ if NOTHING.contains(&name) => Some(Stub::Gives(0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_are_read_as_they_are_written() {
        for text in ["never", "nothing", "7"] {
            assert_eq!(text.parse::<Stub>().map(|s| s.to_string()), Ok(text.to_string()));
        }
        assert_eq!("0x10".parse(), Ok(Stub::Gives(16)));
        assert!("soon".parse::<Stub>().is_err());
        assert_eq!(usual("abort"), Some(Stub::Never));
        assert_eq!(usual("_ZSt20__throw_length_errorPKc"), Some(Stub::Never));
        assert_eq!(usual("g_log"), Some(Stub::Gives(0)));
        assert_eq!(usual("malloc"), None);
    }
}
