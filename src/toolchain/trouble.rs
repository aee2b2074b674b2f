//! Classifies the failures of compilers and linkers: rejections of the input, and failures of the
//! tool itself.
//!
//! The output of a tool decides nothing, with two exceptions. A tool that says that it crashed is
//! believed, because crashes are never stored. A back end of LLVM that ends because it lacks something
//! for its target reports that like a crash, and is believed where it says so: it rejected the input.
//! This module does not know what tools do.

use std::time::Duration;

use super::process::Ended;
use litmake_base::failure::{Failure, FailureKind, Fault};

/// Messages of compilers that crashed.
const CRASHED: [&str; 3] =
    ["internal compiler error", "PLEASE submit a bug report", "Please submit a full bug report"];

/// The beginnings of messages with which back ends of LLVM end.
const ENDED: [&str; 2] = ["error in backend: ", "LLVM ERROR: "];

/// The words in such a message that say that the target lacks something.
const LACKS: [&str; 4] = ["Cannot select", "not supported", "nsupported", "nimplemented"];

/// Whether a back end says that its target lacks something. A failed assertion or a signal has no such
/// message.
fn lacks(stderr: &str) -> bool {
    let message = |line: &str| {
        let said = ENDED.iter().find_map(|begin| line.split_once(begin));
        said.is_some_and(|(_, said)| LACKS.iter().any(|words| said.contains(words)))
    };
    stderr.lines().any(message)
}

/// Judges the end of a tool, given only its time limit.
pub fn judge(name: &str, ended: Ended, timeout: Duration) -> Result<(), Failure> {
    let broken = |fault, what: String| Err(Failure::broken(fault, format!("{name} {what}")));
    match ended {
        Ended::Exit { code: 0, .. } => Ok(()),
        // A driver that reports the crash of its child exits with an ordinary status.
        Ended::Exit { stderr, .. } if lacks(&stderr) => {
            let said = format!("{name} has no code for it: {}", first_error(&stderr));
            Err(Failure::new(FailureKind::Refused, said))
        }
        Ended::Exit { stderr, .. } if CRASHED.iter().any(|c| stderr.contains(c)) => {
            broken(Fault::Crashed(None), format!("crashed: {}", first_error(&stderr)))
        }
        Ended::Exit { code, stderr, .. } => {
            broken(Fault::Open, format!("failed with status {code}: {}", first_error(&stderr)))
        }
        Ended::Signal { signal, stderr } => {
            let what = format!("crashed (signal {signal}): {}", first_error(&stderr));
            broken(Fault::Crashed(Some(signal)), what)
        }
        Ended::TooSlow => {
            broken(Fault::Hung, format!("hung: it took over {} s", timeout.as_secs()))
        }
        Ended::Stopped => Err(Failure::stopped()),
        Ended::NotStarted(e) => broken(Fault::Missing, format!("did not start: {e}")),
    }
}

/// Whether a tool rejected its input, and the cause is still open.
pub fn is_open(failure: &Failure) -> bool {
    failure.kind == FailureKind::Broken(Fault::Open)
}

/// Decides who is to blame for a rejection. `control` runs the tool on a simple input in the same
/// way and place, and `again` runs it on the input once more.
pub fn settle<T>(
    first: Result<T, Failure>,
    control: impl FnOnce() -> Result<(), Failure>,
    again: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let said = match first {
        Err(failure) if is_open(&failure) => failure,
        settled => return settled,
    };
    match control() {
        Ok(()) => {}
        Err(failure) if failure.is_stopped() => return Err(failure),
        Err(_) => {
            let message = format!("{} (and it fails on a plain input too)", said.text());
            return Err(Failure::machine(message));
        }
    }
    match again() {
        Err(failure) if is_open(&failure) => Err(failure.kind(FailureKind::Refused)),
        other => other,
    }
}

/// The line of a tool's output that states the error.
pub fn first_error(text: &str) -> String {
    let wanted = ["error", "Error", "Assertion", "crash", "fatal"];
    let line = text
        .lines()
        .find(|l| wanted.iter().any(|w| l.contains(w)))
        .or(text.lines().find(|l| !l.trim().is_empty()))
        .unwrap_or("it said nothing");
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no(said: &str) -> Result<(), Failure> {
        let stderr = format!("error: {said}");
        judge("cc", Ended::Exit { code: 1, stdout: Vec::new(), stderr }, Duration::ZERO)
    }

    fn kind(made: Result<(), Failure>) -> FailureKind {
        made.unwrap_err().kind
    }

    #[test]
    fn a_refusal_is_one_where_a_plain_input_is_taken_and_the_second_try_fails_too() {
        let refused = settle(no("__int128"), || Ok(()), || no("__int128"));
        let said = "cc failed with status 1: error: __int128";
        assert_eq!(refused, Err(Failure::new(FailureKind::Refused, said)));
        // A full disk.
        let full = settle(no("No space left"), || no("No space left"), || panic!("no second try"));
        assert_eq!(kind(full), FailureKind::Broken(Fault::Machine));
        // A disk that was full for a moment.
        assert_eq!(settle(no("No space left"), || Ok(()), || Ok(())), Ok(()));
    }

    #[test]
    fn what_crashed_is_not_asked_about_again() {
        let ended = Ended::Signal { signal: 11, stderr: String::new() };
        let crashed = judge("cc", ended, Duration::ZERO);
        let settled = settle(crashed, || panic!("no control"), || panic!("no second try"));
        assert_eq!(kind(settled), FailureKind::Broken(Fault::Crashed(Some(11))));
        assert_eq!(
            kind(no("internal compiler error: oh")),
            FailureKind::Broken(Fault::Crashed(None))
        );
    }

    /// The messages are those of clang 22 for BPF, and of an assertion in a build with assertions.
    #[test]
    fn a_back_end_that_lacks_something_rejects_its_input() {
        let bug = "\nPLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/";
        let of = |said: &str| kind(no(&format!("{said}{bug}")));
        for said in [
            "error in backend: Cannot select: 0x5: i32,ch = AtomicLoadMax<(load store seq_cst (s32))>",
            "error in backend: Runtime fence is not supported at the moment",
            "error in backend: unimplemented opcode: 24",
        ] {
            assert_eq!(of(said), FailureKind::Refused, "{said}");
        }
        for said in [
            "error in backend: ran out of registers",
            "clang: Select.cpp:7: Assertion `isLegal() && \"not supported\"' failed.",
        ] {
            assert_eq!(of(said), FailureKind::Broken(Fault::Crashed(None)), "{said}");
        }
    }
}
