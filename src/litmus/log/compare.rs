//! Compares two logs by the sets of final states of their tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rustc_hash::FxHashMap;

use super::LogEntry;
use crate::bare;

/// A final state with its cells sorted and its numbers in decimal.
pub type State = BTreeMap<String, String>;

/// The difference between two logs on one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the test.
    pub name: String,
    /// States that only the second log has: the target allows more.
    pub extra: Vec<String>,
    /// States that only the first log has.
    pub lacking: Vec<String>,
    /// Whether each calls the test undefined.
    pub undefined: (bool, bool),
}

/// The result of a comparison of two logs, each list in the first log's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogDiff {
    /// How many tests have equal states in both.
    pub agree: usize,
    /// Tests that both have and that differ.
    pub differ: Vec<Difference>,
    /// Tests of the first log that the second lacks.
    pub missing: Vec<String>,
    /// Tests of the second log that the first lacks.
    pub unexpected: Vec<String>,
}

/// Cells are `name=value;`. Brackets around a name, blanks and the base of a number do not
/// count; faults and the like are cells without a value.
pub fn normal_state(line: &str) -> State {
    let mut state = State::new();
    for cell in line.split(';') {
        let cell = cell.trim();
        if cell.is_empty() {
            continue;
        }
        let (name, value) = cell.split_once('=').unwrap_or((cell, ""));
        state.insert(bare(name.trim()).to_string(), normal_value(value.trim()));
    }
    state
}

fn normal_value(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
        let each: Vec<String> = inner.split(',').map(|v| normal_number(v.trim())).collect();
        return format!("{{{}}}", each.join(","));
    }
    normal_number(text)
}

fn normal_number(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u128::from_str_radix(hex, 16),
        None if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse(),
        None => return text.to_string(),
    };
    match number {
        Ok(0) => "0".to_string(),
        Ok(n) => format!("{sign}{n}"),
        Err(_) => text.to_string(),
    }
}

/// Compares by name. A test that a log has twice counts as its last entry.
pub fn compare(expected: &[LogEntry], actual: &[LogEntry]) -> LogDiff {
    let last: FxHashMap<&str, &LogEntry> = actual.iter().map(|e| (e.name.as_str(), e)).collect();
    let wanted: FxHashMap<&str, &LogEntry> =
        expected.iter().map(|e| (e.name.as_str(), e)).collect();
    let mut diff = LogDiff::default();
    for want in expected {
        if !std::ptr::eq(wanted[want.name.as_str()], want) {
            continue;
        }
        let Some(got) = last.get(want.name.as_str()) else {
            diff.missing.push(want.name.clone());
            continue;
        };
        let undefined = (want.is_undefined(), got.is_undefined());
        if want.states == got.states && undefined.0 == undefined.1 {
            diff.agree += 1;
            continue;
        }
        let extra = only(&got.states, &want.states);
        let lacking = only(&want.states, &got.states);
        if extra.is_empty() && lacking.is_empty() && undefined.0 == undefined.1 {
            diff.agree += 1;
        } else {
            diff.differ.push(Difference { name: want.name.clone(), extra, lacking, undefined });
        }
    }
    for got in actual {
        if std::ptr::eq(last[got.name.as_str()], got) && !wanted.contains_key(got.name.as_str()) {
            diff.unexpected.push(got.name.clone());
        }
    }
    diff
}

/// The states of the first that the second lacks, as they were printed.
fn only(these: &[String], those: &[String]) -> Vec<String> {
    let those: BTreeSet<State> = those.iter().map(|s| normal_state(s)).collect();
    these.iter().filter(|s| !those.contains(&normal_state(s))).cloned().collect()
}

/// A line for each test that differs or is missing, and one with the counts.
impl fmt::Display for LogDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for d in &self.differ {
            writeln!(f, "differs  {}", d.name)?;
            for state in &d.extra {
                writeln!(f, "  + {state}")?;
            }
            for state in &d.lacking {
                writeln!(f, "  - {state}")?;
            }
            match d.undefined {
                (false, true) => writeln!(f, "  + undefined")?,
                (true, false) => writeln!(f, "  - undefined")?,
                _ => {}
            }
        }
        for name in &self.missing {
            writeln!(f, "missing  {name}")?;
        }
        for name in &self.unexpected {
            writeln!(f, "only in the second log  {name}")?;
        }
        writeln!(
            f,
            "{} agree, {} differ, {} missing",
            self.agree,
            self.differ.len(),
            self.missing.len()
        )
    }
}
