//! Why a compiler or a linker gave nothing, in kinds: what a tool says about its input is told from
//! what befell the tool.
//!
//! Nothing here is decided by the words of a message, but that a tool which calls itself crashed is
//! believed: what crashed is never kept, so that words can only spare it from being kept.

use std::time::Duration;

use super::process::Ended;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The test or its code is beyond what can be done here; that will not change by itself.
    Test(String),
    /// The tool says no to this input: it did so twice, and took a plain input in between.
    Refused(String),
    /// The tool or the machine failed, or nobody has looked whether they did.
    Broken(Fault, String),
    Stopped,
}

/// What is wrong with a tool or with the machine that it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The tool ended with a status that says no. Whether that is the input's doing is open.
    Open,
    Crashed,
    Hung,
    /// It is not there, or cannot be started.
    Missing,
    /// It says that all is well, and what it wrote cannot be used.
    Output,
    /// It says no to a plain input too, or files cannot be written.
    Machine,
}

/// What compilers say of themselves when they end against their will.
const CRASHED: [&str; 3] =
    ["internal compiler error", "PLEASE submit a bug report", "Please submit a full bug report"];

impl Trouble {
    /// For people.
    pub fn message(self) -> String {
        match self {
            Trouble::Test(message) | Trouble::Refused(message) | Trouble::Broken(_, message) => {
                message
            }
            Trouble::Stopped => "stopped".to_string(),
        }
    }

    pub fn machine(message: String) -> Trouble {
        Trouble::Broken(Fault::Machine, message)
    }
}

/// What the end of a tool means, of which nothing is known but that it had so much time.
pub fn judge(name: &str, ended: Ended, timeout: Duration) -> Result<(), Trouble> {
    let broken = |fault, what: String| Err(Trouble::Broken(fault, format!("{name} {what}")));
    match ended {
        Ended::Exit { code: 0, .. } => Ok(()),
        // A driver that tells of its child's end does not end so itself.
        Ended::Exit { stderr, .. } if CRASHED.iter().any(|c| stderr.contains(c)) => {
            broken(Fault::Crashed, format!("crashed: {}", first_error(&stderr)))
        }
        Ended::Exit { code, stderr, .. } => {
            broken(Fault::Open, format!("failed with status {code}: {}", first_error(&stderr)))
        }
        Ended::Signal { signal, stderr } => {
            broken(Fault::Crashed, format!("crashed (signal {signal}): {}", first_error(&stderr)))
        }
        Ended::TooSlow => {
            broken(Fault::Hung, format!("hung: it took over {} s", timeout.as_secs()))
        }
        Ended::Stopped => Err(Trouble::Stopped),
        Ended::NotStarted(e) => broken(Fault::Missing, format!("did not start: {e}")),
    }
}

/// Settles whose doing it is that a tool says no. `control` asks it about a plain input, in the same
/// way and in the same place, and `again` about the input itself once more.
pub fn settle<T>(
    first: Result<T, Trouble>,
    control: impl FnOnce() -> Result<(), Trouble>,
    again: impl FnOnce() -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let Err(Trouble::Broken(Fault::Open, said)) = first else { return first };
    match control() {
        Ok(()) => {}
        Err(Trouble::Stopped) => return Err(Trouble::Stopped),
        Err(_) => {
            let message = format!("{said} (and it fails on a plain input too)");
            return Err(Trouble::machine(message));
        }
    }
    match again() {
        Err(Trouble::Broken(Fault::Open, said)) => Err(Trouble::Refused(said)),
        other => other,
    }
}

/// The line of a tool's output that says what is wrong.
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

    fn no(said: &str) -> Result<(), Trouble> {
        let stderr = format!("error: {said}");
        judge("cc", Ended::Exit { code: 1, stdout: Vec::new(), stderr }, Duration::ZERO)
    }

    #[test]
    fn a_refusal_is_one_where_a_plain_input_is_taken_and_the_second_try_fails_too() {
        let refused = settle(no("__int128"), || Ok(()), || no("__int128"));
        let said = "cc failed with status 1: error: __int128";
        assert_eq!(refused, Err(Trouble::Refused(said.into())));
        // A disk that is full.
        let full = settle(no("No space left"), || no("No space left"), || panic!("no second try"));
        assert!(matches!(full, Err(Trouble::Broken(Fault::Machine, _))), "{full:?}");
        // One that was full for a moment.
        assert_eq!(settle(no("No space left"), || Ok(()), || Ok(())), Ok(()));
    }

    #[test]
    fn what_crashed_is_not_asked_about_again() {
        let ended = Ended::Signal { signal: 11, stderr: String::new() };
        let crashed = judge("cc", ended, Duration::ZERO);
        let settled = settle(crashed, || panic!("no control"), || panic!("no second try"));
        assert!(matches!(settled, Err(Trouble::Broken(Fault::Crashed, _))), "{settled:?}");
        let stderr = "x.c: internal compiler error: oh".to_string();
        let told = judge("cc", Ended::Exit { code: 1, stdout: Vec::new(), stderr }, Duration::ZERO);
        assert!(matches!(told, Err(Trouble::Broken(Fault::Crashed, _))), "{told:?}");
    }
}
