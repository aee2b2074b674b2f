//! The compiler's pass that introduced a wrong outcome, as part of a finding.
//!
//! It does not know how passes are examined.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{State, state_text};

/// How certain it is that the pass is to blame.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Sure {
    /// No pass is named.
    #[default]
    Unknown,
    /// One of several that could have done it.
    Possible,
    /// The only pass that is seen to change the code that matters, while some of the code cannot be
    /// seen.
    Likely,
    /// The code after the pass allows the outcome, and all code before it forbids it; or the
    /// compiled code is right without the pass.
    Shown,
}

/// The pass to blame, and the evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// The compiler's name for the pass; empty if none is named.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pass: String,
    /// The part of the compiler that the pass belongs to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// How certain it is.
    #[serde(default)]
    pub sure: Sure,
    /// The argument that this pass is to blame.
    pub why: String,
    /// The target, if the pass works on machine code; empty for passes on intermediate code, which
    /// are the same for every target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The function that the pass ran on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// The code before the pass, and the code after it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// See `before`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// The compiler's own dumps of the functions that the pass changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dump_before: String,
    /// See `dump_before`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dump_after: String,
    /// The operation that the pass removed, replaced or moved, with its memory order and its width
    /// in bits: `read-modify-write relaxed 32`; empty if none can be named.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// The outcomes of the code after the pass that the source forbids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<State>,
    /// The number of dumps, and the number of different ones that were simulated.
    #[serde(default)]
    pub dumps: usize,
    /// See `dumps`.
    #[serde(default)]
    pub simulated: usize,
    /// Further remarks, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The beginning of a function in LLVM's intermediate code.
const LLVM: &str = "define ";

/// Wider code is shown one below the other.
const WIDEST: usize = 76;

impl Culprit {
    /// The short name of the pass: `machine-sink` of `Machine code sinking (machine-sink)`.
    pub fn short(&self) -> &str {
        match self.pass.strip_suffix(')').and_then(|p| p.rsplit_once('(')) {
            Some((_, name)) => name,
            None => &self.pass,
        }
    }

    /// The pass with its part of the compiler, as certain as it is.
    pub fn head(&self) -> String {
        match (self.pass.is_empty(), self.sure) {
            (true, _) => "No pass is named".to_string(),
            (false, Sure::Shown) => format!("The pass that did it: {}", self.pass),
            (false, _) => format!("A pass that may have done it: {}", self.pass),
        }
    }

    /// The argument without the word for how certain it is, which stands before a colon.
    pub fn argument(&self) -> &str {
        self.why.split_once(": ").map_or(&self.why, |(_, argument)| argument)
    }

    /// Whether its dumps are LLVM's intermediate code.
    pub fn is_llvm(&self) -> bool {
        self.dump_after.lines().any(|line| line.starts_with(LLVM))
    }

    /// The culprit as indented lines.
    pub fn lines(&self) -> String {
        let mut out = String::new();
        match self.pass.is_empty() {
            true => {
                let _ = writeln!(out, "  no pass is named: {}", self.why);
            }
            false => {
                let on = match self.function.is_empty() {
                    true => String::new(),
                    false => format!(" on {}", self.function),
                };
                let what = match self.sure {
                    Sure::Shown => "the pass that did it",
                    _ => "a pass that may have done it",
                };
                let _ = writeln!(out, "  {what}: {}{on} ({})", self.pass, self.place);
                let _ = writeln!(out, "    {}", self.why);
            }
        }
        for note in &self.notes {
            let _ = writeln!(out, "    {note}");
        }
        for state in self.outcomes.iter().take(8) {
            let _ = writeln!(out, "    new after it: {}", state_text(state));
        }
        out.push_str(&side_by_side(&self.before, &self.after));
        if self.dumps > 0 {
            let _ = writeln!(
                out,
                "    {} dumps of code, {} different ones simulated",
                self.dumps, self.simulated
            );
        }
        out
    }
}

/// Two texts side by side, without the parts (`P0:`) that are equal.
pub fn side_by_side(before: &str, after: &str) -> String {
    let mut out = String::new();
    let (left, right) = (parts(before), parts(after));
    for (i, old) in left.iter().enumerate() {
        let none = Vec::new();
        let new = right.get(i).unwrap_or(&none);
        if old == new {
            continue;
        }
        let width = old.iter().map(|l| l.chars().count()).max().unwrap_or(0).max(6);
        if width > WIDEST {
            for (head, text) in [("before", old), ("after", new)] {
                let _ = writeln!(out, "    {head}:");
                for line in text {
                    let _ = writeln!(out, "      {line}");
                }
            }
            continue;
        }
        let _ = writeln!(out, "    {:width$}  |  after", "before");
        for row in 0..old.len().max(new.len()) {
            let cell = |list: &[&str]| list.get(row).map(|l| l.to_string()).unwrap_or_default();
            let line = format!("    {:width$}  |  {}", cell(old), cell(new));
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    out
}

/// The lines of each part. A part begins with a line `P0:` that is not indented.
fn parts(text: &str) -> Vec<Vec<&str>> {
    let mut out: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        let head = line.strip_prefix('P').and_then(|l| l.strip_suffix(':'));
        if out.is_empty() || head.is_some_and(|n| n.parse::<u32>().is_ok()) {
            out.push(Vec::new());
        }
        if let Some(part) = out.last_mut() {
            part.push(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_threads_are_left_out() {
        let before = "P0:\n  fence acquire\nP1:\n  a\n  b\n";
        let after = "P0:\n  fence acquire\nP1:\n  b\n";
        let text = side_by_side(before, after);
        assert!(!text.contains("fence"), "{text}");
        assert_eq!(
            text,
            "    before  |  after\n    P1:     |  P1:\n      a     |    b\n      b     |\n"
        );
    }

    #[test]
    fn a_pass_is_called_by_its_short_name() {
        let of = |pass: &str| Culprit { pass: pass.into(), ..Culprit::default() };
        assert_eq!(of("Machine code sinking (machine-sink)").short(), "machine-sink");
        assert_eq!(of("InstCombinePass").short(), "InstCombinePass");
    }

    #[test]
    fn what_names_no_pass_says_why() {
        let culprit = Culprit { why: "gcc".into(), ..Culprit::default() };
        assert_eq!(culprit.lines(), "  no pass is named: gcc\n");
    }
}
