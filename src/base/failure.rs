//! Why something came to nothing, in kinds. Whatever is decided about a failure is decided by its kind:
//! whether it is kept, whose doing it is, what is said of it. Its words are for people alone.
//!
//! It does not know who fails at what.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::diag::Diag;

/// What a failure is, for whoever decides something about it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The item is wrong in itself: it cannot be read.
    Unreadable,
    /// The item needs something that is not done here.
    Unsupported,
    /// The language in which the item would have to be written has nothing that says it.
    Inexpressible,
    /// Any other reason that lies in the item.
    #[default]
    Item,
    /// The item is left out on purpose: what was to be done would be of no use.
    LeftOut,
    /// A tool or a device says no to the item. It may have said so for a reason of its own.
    Refused,
    /// A tool or the machine failed, or nobody has looked whether they did.
    Broken(Fault),
    /// The run is being stopped.
    Stopped,
}

/// What is wrong with a tool or with the machine that it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The tool ended with a status that says no. Whether that is the item's doing is open.
    Open,
    /// The tool was ended by this signal; by none where the tool itself says that it crashed.
    Crashed(Option<i32>),
    /// The tool did not end in its time.
    Hung,
    /// The work did not end in its time.
    OutOfTime,
    /// What it takes is not there, or cannot be started: a tool, a device, a model.
    Missing,
    /// The tool says that all is well, and what it wrote cannot be used.
    Output,
    /// The device was lost, or hangs.
    Lost,
    /// The tool says no to a plain input too, files cannot be written, content has gone.
    Machine,
    /// The fault is litmake's own.
    Own,
}

/// For how long a failure is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// It depends on the item alone.
    ForGood,
    /// Until it is old, or until somebody asks again.
    ForNow,
    /// Another run may fare better.
    Never,
}

impl FailureKind {
    /// Whether a program crashed or did not end.
    pub fn is_crash(self) -> bool {
        matches!(self, FailureKind::Broken(Fault::Crashed(_) | Fault::Hung))
    }

    /// How long a result with such a failure may stay in the cache.
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

/// Stands for the name of an item where that is not known.
const NAMELESS: &str = "@";

/// Why there is no result. It cannot be formatted, so that no message is made of it by which its kind would
/// be lost: [`Failure::of`] says more of it, and whoever shows it asks for its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What decisions go by.
    pub kind: FailureKind,
    /// For people.
    message: String,
    #[serde(default, skip_serializing_if = "Form::is_plain")]
    form: Form,
    /// The thread of the test that the message is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<usize>,
}

/// What a message is the whole of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// What is wrong.
    #[default]
    Plain,
    /// A diagnostic, which says where, and that it is an error.
    Diagnostic,
    /// What stands behind the item's name, which work does not know.
    AfterName,
}

impl Form {
    fn is_plain(&self) -> bool {
        *self == Form::Plain
    }
}

/// What work on an item gives.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure, and what people are told.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), form: Form::Plain, thread: None }
    }

    /// A failure whose message goes on from the item's name.
    pub fn after_name(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), form: Form::AfterName, thread: None }
    }

    /// What is not done here, by its name.
    pub fn unsupported(what: impl Display) -> Failure {
        Failure::new(FailureKind::Unsupported, format!("unsupported: {what}"))
    }

    /// What a language does not have.
    pub fn inexpressible(language: &str, what: impl Display) -> Failure {
        Failure::new(FailureKind::Inexpressible, format!("{language} has no {what}"))
    }

    /// An item that is left out on purpose.
    pub fn left_out(why: impl Into<String>) -> Failure {
        Failure::new(FailureKind::LeftOut, why)
    }

    /// A tool or a machine that failed.
    pub fn broken(fault: Fault, message: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Broken(fault), message)
    }

    /// A machine that failed in a way that says nothing of the item.
    pub fn machine(message: impl Into<String>) -> Failure {
        Failure::broken(Fault::Machine, message)
    }

    /// Work that a stop ended.
    pub fn stopped() -> Failure {
        Failure::new(FailureKind::Stopped, "stopped")
    }

    /// The same failure of another kind.
    pub fn kind(self, kind: FailureKind) -> Failure {
        Failure { kind, ..self }
    }

    /// The same, said of a part.
    pub fn of(self, part: impl Display) -> Failure {
        Failure::new(self.kind, format!("{part}: {}", self.text()))
    }

    /// The same, said of a thread of the test.
    pub fn of_thread(self, thread: usize) -> Failure {
        Failure { thread: Some(thread), ..self }
    }

    /// The message for people who know no name.
    pub fn text(&self) -> String {
        self.told(NAMELESS)
    }

    /// The message where the thread that it is of, being the only one of its test, is a part of another
    /// test.
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

    /// The message as a diagnostic about something.
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

    /// Whether another run may fare better without a change to the item.
    pub fn is_broken(&self) -> bool {
        matches!(self.kind, FailureKind::Broken(_))
    }

    /// Whether a stop is the reason.
    pub fn is_stopped(&self) -> bool {
        self.kind == FailureKind::Stopped
    }

    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what `encode` wrote.
    pub fn decode(bytes: &[u8]) -> Option<Failure> {
        serde_json::from_slice(bytes).ok()
    }
}

/// What lies in the item and is of no other kind.
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
        // The words decide nothing.
        assert_eq!(Failure::from("unsupported: vectors").kind, FailureKind::Item);
    }
}
