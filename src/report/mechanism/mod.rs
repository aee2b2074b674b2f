//! The mechanism of a bug: what compiled code does to an access, and which operation of its source
//! should have prevented that. It is the bug's identity and its title.
//!
//! Names, values, and threads that only watch are not part of it. `told` makes it from executions. It
//! does not know how passes are examined.

mod told;

pub use told::{Objects, distance, seen, told};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::passes::Sure;

/// The way in which the code is wrong, compared with the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The access comes after an operation that it comes before in the source.
    Below,
    /// The access comes before an operation that it comes after in the source.
    Above,
    /// The access only loads, where it updates in the source.
    Load,
    /// The access only stores, where it updates in the source.
    Store,
    /// The access is missing.
    Removed,
    /// The access is a plain one, where it is atomic in the source.
    Plain,
    /// The access is atomic among too few threads.
    Narrow,
    /// All is in its place, and the operation does not order the access before it.
    Earlier,
    /// All is in its place, and the operation does not order the access after it.
    Later,
    /// The access is made of several smaller ones, between which other threads come.
    Split,
    /// The access writes to a location that the source only reads.
    Writes,
    /// A value is kept over a call that synchronises.
    Survives,
    /// Two accesses to one location are seen in the wrong order.
    Incoherent,
    /// A result that no execution of the source has, in whatever order: the access reads, writes or
    /// computes a wrong value.
    #[default]
    Value,
}

/// The mechanism of a bug.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mechanism {
    /// The target whose code is wrong; empty if a pass on intermediate code is shown to be at fault,
    /// which is the same for every target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The pass, by its short name, if one is shown to be at fault.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pass: String,
    /// How certain it is which pass is at fault, if passes were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_certainty: Option<Sure>,
    /// The way in which the code is wrong.
    pub change: Change,
    /// The access that moved or changed, or that is not ordered: `plain load`.
    #[serde(default, alias = "access", skip_serializing_if = "String::is_empty")]
    pub moved: String,
    /// The operation that it crosses, that does not order it, or that forbids to leave it out: `release store`.
    #[serde(default, alias = "operation", skip_serializing_if = "String::is_empty")]
    pub crossed: String,
    /// Whether the code has a barrier for the operation, which does not suffice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fenced: bool,
}

impl Mechanism {
    /// The kind of fault, equal for all tests that show it. Whether an access loads or stores does
    /// not matter to it, nor does the width.
    fn fault(&self, is_plain: bool) -> String {
        let access = match (is_plain, self.moved.starts_with(PLAIN)) {
            (true, true) => PLAIN,
            _ => "",
        };
        let parts = match self.change {
            Change::Below | Change::Above if is_fence(&self.crossed) => vec![access, FENCE],
            Change::Below | Change::Above => vec![access],
            // A fence, and an operation that fails, are forgotten by other code than an access is.
            Change::Removed if is_fence(&self.crossed) => vec![FENCE, group(&self.moved)],
            Change::Removed if self.crossed.starts_with(FAILING) => {
                vec![FAILING, group(&self.moved)]
            }
            Change::Load | Change::Store | Change::Removed | Change::Plain | Change::Narrow => {
                vec![group(&self.moved)]
            }
            Change::Earlier | Change::Later if is_fence(&self.crossed) => {
                vec![FENCE, group(&self.moved)]
            }
            Change::Earlier | Change::Later if self.crossed.starts_with(FAILING) => {
                vec![FAILING, group(&self.crossed)]
            }
            Change::Earlier | Change::Later if self.crossed.contains(WIDE) => {
                vec![WIDE, group(&self.crossed)]
            }
            // A barrier is made in the same way for each operation that needs one.
            Change::Earlier | Change::Later if self.fenced => vec![FENCE, group(&self.moved)],
            // One update that lost its order loses it on both sides, and a test shows one of them.
            Change::Earlier | Change::Later if UPDATES.contains(&group(&self.crossed)) => {
                return format!("Unordered {}", group(&self.crossed));
            }
            Change::Earlier | Change::Later => vec![group(&self.crossed)],
            Change::Incoherent => vec![&*self.crossed, &*self.moved],
            Change::Split => vec![&*self.moved],
            // A smaller test may lack what makes an access special.
            Change::Value if is_plain => vec![&*self.moved],
            Change::Writes | Change::Survives | Change::Value => Vec::new(),
        };
        format!("{:?} {}", self.change, parts.join(" "))
    }

    /// The text that is equal for equal bugs.
    pub fn key(&self) -> String {
        format!("{}\n{}\n{}\n", self.target, self.pass, self.fault(true))
    }

    /// Whether it is the same mechanism, as far as executions tell.
    pub fn is(&self, other: &Mechanism) -> bool {
        self.target == other.target && self.fault(true) == other.fault(true)
    }

    /// Whether two tests show the same fault. A smaller test may have an atomic access in place of a
    /// plain one.
    pub fn is_alike(&self, other: &Mechanism) -> bool {
        self.fault(false) == other.fault(false)
    }

    /// Whether the code has all accesses in their places, so that it is an operation that does not
    /// order them.
    fn is_in_place(&self) -> bool {
        matches!(self.change, Change::Earlier | Change::Later)
    }

    /// Sets the pass that is shown to be at fault. A pass on intermediate code is the same for every
    /// target, and one on machine code for every selector of instructions.
    pub fn shown(&mut self, pass: &str, is_of_target: bool) {
        self.pass = pass.to_string();
        let target = self.target.split(" (").next().filter(|_| is_of_target);
        self.target = target.unwrap_or_default().to_string();
    }

    /// The fault in a sentence. `family` stands for the target if every target has it.
    pub fn said(&self, family: &str) -> String {
        let (access, operation) = (a(&self.moved), a(&self.crossed));
        let fault = match self.change {
            Change::Below => format!("{access} moves below {operation}"),
            Change::Above => format!("{access} moves above {operation}"),
            Change::Load => format!("{access} becomes a load"),
            Change::Store => format!("{access} becomes a store"),
            Change::Removed if self.crossed.is_empty() => format!("{access} is removed"),
            Change::Removed if self.moved.ends_with("store") => {
                format!("{access} before {operation} is removed")
            }
            Change::Removed => format!("{access} behind {operation} is removed"),
            Change::Plain => format!("{access} becomes a plain one"),
            Change::Narrow => format!("{access} has too narrow a scope"),
            Change::Earlier => format!("{operation} does not order {}", after(&access, "earlier")),
            Change::Later => format!("{operation} does not order {}", after(&access, "later")),
            Change::Split => format!("{access} becomes several smaller ones"),
            Change::Writes => "a load writes to what it reads".to_string(),
            Change::Survives => "a value survives a call that synchronises".to_string(),
            Change::Incoherent => {
                format!(
                    "{} of one location come in the wrong order",
                    two(&self.crossed, &self.moved)
                )
            }
            Change::Value if self.moved.is_empty() => {
                "a result that no order of the accesses gives".to_string()
            }
            Change::Value => format!("{access} has a wrong value"),
        };
        let place = if self.target.is_empty() { family } else { &self.target };
        let pass = if self.pass.is_empty() { String::new() } else { format!(" ({})", self.pass) };
        format!("{place}: {fault}{pass}")
    }
}

const PLAIN: &str = "plain";
const FENCE: &str = "fence";
const FAILING: &str = "failing";
const WIDE: &str = "128-bit";

fn is_fence(words: &str) -> bool {
    words.ends_with(FENCE)
}

/// The operations that read and write.
const UPDATES: [&str; 2] = ["compare-exchange", "read-modify-write"];

/// The group of an access or operation. Loads and stores are one.
fn group(words: &str) -> &'static str {
    let mut all = UPDATES.into_iter().chain([FENCE]);
    all.find(|group| words.ends_with(group)).unwrap_or("access")
}

/// Words with their article.
fn a(words: &str) -> String {
    let article = if words.starts_with(['a', 'e', '8']) { "an" } else { "a" };
    format!("{article} {words}")
}

/// Two operations in words: `two relaxed loads`, `a plain store and a relaxed load`.
fn two(first: &str, second: &str) -> String {
    match first == second {
        true => format!("two {first}s"),
        false => format!("{} and {}", a(first), a(second)),
    }
}

/// Puts a word behind the article.
fn after(words: &str, word: &str) -> String {
    let bare = words.split_once(' ').map_or(words, |(_, bare)| bare);
    a(&format!("{word} {bare}"))
}

#[cfg(test)]
mod tests;
