//! Mistakes on a command line that clap words for programmers, in words for people. It does not know what the
//! commands do.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// The error in other words, where there are better ones.
pub fn reworded(error: Error, command: &mut Command) -> Error {
    let Some(words) = better(&error) else { return error };
    Error::raw(error.kind(), format!("{words}\n")).with_cmd(command)
}

fn better(error: &Error) -> Option<String> {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    match error.kind() {
        ErrorKind::ValueValidation => {
            let expected = expected(error)?;
            let (value, option) = (said(ContextKind::InvalidValue), said(ContextKind::InvalidArg));
            Some(format!("invalid value '{value}' for '{option}': {expected}"))
        }
        ErrorKind::UnknownArgument => {
            let word = said(ContextKind::InvalidArg);
            let is_number = word.strip_prefix('-')?.starts_with(|c: char| c.is_ascii_digit());
            is_number.then(|| format!("there is no option '{word}', and no value here is negative"))
        }
        ErrorKind::InvalidSubcommand => match said(ContextKind::InvalidSubcommand) {
            word @ ("clear" | "clean" | "purge" | "prune" | "reset") => Some(format!(
                "there is no command '{word}'; `litmake cache gc --max-size 0` drops all that is cached, and \
                 nothing has to be dropped for a right answer: what changed runs again"
            )),
            word => of_file(word),
        },
        _ => None,
    }
}

/// Of a file in place of a command: the command that it probably was meant for.
fn of_file(word: &str) -> Option<String> {
    let (_, end) = word.rsplit_once('.')?;
    let hint = match end {
        "litmus" => format!(
            "`litmake check {word}` judges compilers by a test, `litmake sim {word}` simulates it"
        ),
        "c" | "ll" => format!("`litmake check {word}` judges compilers by a test"),
        "yaml" | "yml" => format!("`litmake run {word}` runs a pipeline"),
        "s" | "o" | "a" | "so" => format!("`litmake lift {word} --function NAME` reads code"),
        _ => return None,
    };
    Some(format!("there is no command '{word}'; {hint}"))
}

/// The number that was expected, where the value is none.
fn expected(error: &Error) -> Option<&'static str> {
    let source = error.source()?;
    if source.is::<ParseFloatError>() {
        return Some("a number was expected, such as 10 or 2.5");
    }
    match source.downcast_ref::<ParseIntError>()?.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => Some("the number is too large"),
        _ => Some("a whole number was expected, such as 4"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> String {
        let words = ["litmake"].iter().chain(words);
        let error = super::super::parsed(words).err().expect("it is a mistake");
        reworded(error, &mut super::super::definition()).to_string()
    }

    #[test]
    fn what_is_no_number_is_told_what_a_number_is() {
        let cases: [(&[&str], &str); 8] = [
            (&["sim", "--timeout", "abc", "x.litmus"], "'abc' for '--timeout <S>': a number was"),
            (&["sim", "--jobs", "many", "x.litmus"], "'many' for '--jobs <N>': a whole number was"),
            (&["tv", "--unroll", "x", "a.ll"], "'x' for '--unroll <N>': a whole number was"),
            (&["sim", "--jobs", "99999999999999999999", "x.litmus"], "the number is too large"),
            (&["cache", "clear"], "`litmake cache gc --max-size 0`"),
            (&["hunt", "--budget", "-5m"], "no value here is negative"),
            (&["mp.litmus"], "`litmake check mp.litmus` judges"),
            (&["nightly.yaml"], "`litmake run nightly.yaml` runs"),
        ];
        for (words, expected) in cases {
            let said = said(words);
            assert!(said.contains(expected), "{words:?}: {said}");
        }
    }
}
