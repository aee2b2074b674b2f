//! Failures and their kinds. Every decision about a failure (whether it is cached, who is to blame,
//! what is reported) uses its kind; its message is for people only.
//!
//! It does not know which work fails.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::diag::Diag;

/// The kind of a failure, on which decisions depend.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The item cannot be read.
    Unreadable,
    /// The item needs something that litmake does not support.
    Unsupported,
    /// The item has something that the language of the compiler lacks.
    Inexpressible,
    /// Any other reason that lies in the item.
    #[default]
    Item,
    /// The item is left out on purpose: work on it would be of no use.
    LeftOut,
    /// A tool or a device rejected the item, perhaps for a reason of its own.
    Refused,
    /// A tool or the machine failed, or that has not been ruled out.
    Broken(Fault),
    /// The run is being stopped.
    Stopped,
}

/// The ways in which a tool or its machine fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The tool ended with a failing status; the cause may be the item or the tool.
    Open,
    /// The tool was ended by this signal; `None` where the tool itself reported a crash.
    Crashed(Option<i32>),
    /// The tool did not end in time.
    Hung,
    /// The work did not end in time.
    OutOfTime,
    /// A tool, device or model is missing or cannot be started.
    Missing,
    /// The tool reported success, but its output cannot be used.
    Output,
    /// The device was lost or hangs.
    Lost,
    /// The machine is at fault: the tool rejects even a simple input, files cannot be written, or
    /// content has gone.
    Machine,
    /// The fault is litmake's own.
    Own,
}

/// How long a failure is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// For ever: it depends on the item alone.
    ForGood,
    /// Until it is old, or until the user asks again.
    ForNow,
    /// Not at all: another run may succeed.
    Never,
}

impl FailureKind {
    /// Whether a tool crashed or hung.
    pub fn is_crash(self) -> bool {
        matches!(self, FailureKind::Broken(Fault::Crashed(_) | Fault::Hung))
    }

    /// How long a result with this failure may stay in the cache.
    pub fn lasting(self) -> Lasting {
        match self {
            FailureKind::Unreadable
            | FailureKind::Unsupported
            | FailureKind::Inexpressible
            | FailureKind::Item
            | FailureKind::LeftOut => Lasting::ForGood,
            FailureKind::Refused => Lasting::ForNow,
            FailureKind::Broken(_) | FailureKind::Stopped => Lasting::Never,
        }
    }
}

/// Stands for the name of an item while the name is not known.
const NAMELESS: &str = "@";

/// Why work on an item gave no result. It does not implement `Display`, because a formatted message
/// would lose the kind: [`Failure::of`] adds words to it, and code that shows it asks for its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind, on which decisions depend.
    pub kind: FailureKind,
    /// The message for people.
    message: String,
    #[serde(default, skip_serializing_if = "Form::is_plain")]
    form: Form,
    /// The thread of the test that the message is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<usize>,
}

/// The forms of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// Says what is wrong.
    #[default]
    Plain,
    /// A diagnostic: it begins with the place and "error".
    Diagnostic,
    /// The text after the item's name, which the work does not know.
    AfterName,
}

impl Form {
    fn is_plain(&self) -> bool {
        *self == Form::Plain
    }
}

/// The result of work on an item.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure with a message for people.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), form: Form::Plain, thread: None }
    }

    /// A failure whose message continues after the item's name.
    pub fn after_name(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), form: Form::AfterName, thread: None }
    }

    /// The failure for a feature that is not supported, by its name.
    pub fn unsupported(what: impl Display) -> Failure {
        Failure::new(FailureKind::Unsupported, format!("unsupported: {what}"))
    }

    /// The failure for a test that has something which a language lacks.
    pub fn inexpressible(language: &str, what: impl Display) -> Failure {
        Failure::new(FailureKind::Inexpressible, format!("{language} has no {what}"))
    }

    /// The failure for an item that is left out on purpose.
    pub fn left_out(why: impl Into<String>) -> Failure {
        Failure::new(FailureKind::LeftOut, why)
    }

    /// The failure of a tool or a machine.
    pub fn broken(fault: Fault, message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Broken(fault), message)
    }

    /// The failure of a machine, which says nothing about the item.
    pub fn machine(message: impl Into<String>) -> Failure {
        Failure::broken(Fault::Machine, message)
    }

    /// The failure of work that was stopped.
    pub fn stopped() -> Failure {
        Failure::new(FailureKind::Stopped, "stopped")
    }

    /// The same failure with another kind.
    pub fn kind(self, kind: FailureKind) -> Failure {
        Failure { kind, ..self }
    }

    /// The same failure, with the name of a part before its message.
    pub fn of(self, part: impl Display) -> Failure {
        Failure::new(self.kind, format!("{part}: {}", self.text()))
    }

    /// The same failure, about one thread of the test.
    pub fn of_thread(self, thread: usize) -> Failure {
        Failure { thread: Some(thread), ..self }
    }

    /// The message where the item's name is not known.
    pub fn text(&self) -> String {
        self.told(NAMELESS)
    }

    /// The message where the test of the failure is one part of another test. It begins with the
    /// name of the part, in place of the thread's number.
    pub fn told_of(&self, part: &str, item: &str) -> String {
        let whole = Failure { thread: None, ..self.clone() };
        format!("{part}: {}", whole.told(item))
    }

    /// The message where the item's name is known.
    pub fn told(&self, item: &str) -> String {
        match self.form {
            Form::AfterName => format!("{item}{}", self.message),
            Form::Plain | Form::Diagnostic => match self.thread {
                Some(thread) => format!("P{thread}: {}", self.message),
                None => self.message.clone(),
            },
        }
    }

    /// The message in the form of a diagnostic about something.
    pub fn diagnostic(&self, about: impl Display) -> String {
        match self.form {
            Form::Diagnostic => self.message.clone(),
            Form::Plain | Form::AfterName => format!("error: {about}: {}", self.text()),
        }
    }

    /// Whether the message is about one thread of the test.
    pub fn is_of_thread(&self) -> bool {
        self.thread.is_some()
    }

    /// Whether another run may succeed although the item is unchanged.
    pub fn is_broken(&self) -> bool {
        matches!(self.kind, FailureKind::Broken(_))
    }

    /// Whether the work was stopped.
    pub fn is_stopped(&self) -> bool {
        self.kind == FailureKind::Stopped
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what `encode` wrote.
    pub fn decode(bytes: &[u8]) -> Option<Failure> {
        serde_json::from_slice(bytes).ok()
    }
}

/// A message alone is a failure of the item that has no other kind.
impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::new(FailureKind::Item, message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Failure {
        Failure::from(message.to_string())
    }
}

impl From<Box<Diag>> for Failure {
    fn from(diag: Box<Diag>) -> Failure {
        match diag.without_name() {
            Some(message) => Failure::after_name(diag.kind, message),
            None => {
                let message = diag.to_string();
                Failure { kind: diag.kind, message, form: Form::Diagnostic, thread: None }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Source, Span};

    #[test]
    fn kinds_are_kept_and_names_are_put_in_where_they_are_known() {
        let diag = |source: Source| Diag::at(&source, Span::new(2, 3), "no");
        let failure = Failure::from(diag(Source::nameless("C x")));
        assert_eq!(failure.told("a.litmus"), "a.litmus:1:3: error: no\n 1 | C x\n   |   ^");
        assert!(failure.text().starts_with("@:1:3: error"), "{failure:?}");
        assert_eq!(Failure::decode(&failure.encode()), Some(failure));
        let named = Failure::from(diag(Source::new("@", "C x")));
        assert!(named.told("a.litmus").starts_with("@:1:3: error"), "{named:?}");
        let crashed = Failure::broken(Fault::Crashed(Some(11)), "cc crashed").of("P0");
        assert_eq!(Failure::decode(&crashed.encode()), Some(crashed.clone()));
        assert_eq!(crashed.text(), "P0: cc crashed");
        let of = Failure::unsupported("vectors").of_thread(0);
        assert_eq!(of.text(), "P0: unsupported: vectors");
        assert_eq!(of.told_of("P3", "a"), "P3: unsupported: vectors");
        assert_eq!(crashed.kind, FailureKind::Broken(Fault::Crashed(Some(11))));
        assert_eq!(Failure::decode(b"what an older version wrote"), None);
    }

    #[test]
    fn what_lies_in_the_item_is_kept_and_what_lies_elsewhere_is_not() {
        let lasting = |failure: Failure| failure.kind.lasting();
        assert_eq!(lasting(Failure::unsupported("vectors")), Lasting::ForGood);
        assert_eq!(lasting("it has no threads".into()), Lasting::ForGood);
        assert_eq!(lasting(Failure::new(FailureKind::Refused, "no")), Lasting::ForNow);
        assert_eq!(lasting(Failure::machine("the disk is full")), Lasting::Never);
        assert_eq!(lasting(Failure::stopped()), Lasting::Never);
        // The kind never depends on the words.
        assert_eq!(Failure::from("unsupported: vectors").kind, FailureKind::Item);
    }
}
