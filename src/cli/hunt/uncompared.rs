//! Counts the tests of a hunt that were not compared, by the reason in the message, with one test
//! for each reason.
//!
//! Messages are only shown: the word under which a failure is counted follows from its kind.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use litmake::base::failure::{FailureKind, Fault};
use litmake::report::Error;
use serde::{Deserialize, Serialize};

/// The largest number of reasons that are kept for a word; further ones count for the word alone.
const REASONS: usize = 200;

/// The largest number of reasons that are printed for a word.
const SHOWN: usize = 5;

/// A reason, how often it was given, and the first test that it was given for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    count: u64,
    test: String,
    stage: String,
    message: String,
}

/// The reasons by word: `refused` by the lifting or the readers, `not for the compiler`, which
/// lacks a type, `given up` by the simulation, or `failed`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uncompared(BTreeMap<String, BTreeMap<String, Reason>>);

/// The word that a failure is counted under.
pub fn word(error: &Error) -> &'static str {
    let is_of = |stages: &[&str]| stages.iter().any(|s| error.stage.starts_with(s));
    let simulates = is_of(&["target", "source", "mixed-target", "mixed-source"]);
    let compiles = is_of(&["code", "parts", "link", "mixes"]);
    match error.kind {
        // A compiler that refuses a test, such as one with a 128-bit type that it lacks, is not
        // broken, and litmake did not refuse the test; nor where its language has no such thing.
        FailureKind::Refused | FailureKind::Inexpressible | FailureKind::Broken(Fault::Open) => {
            "not for the compiler"
        }
        FailureKind::Broken(Fault::OutOfTime) if simulates => "given up",
        FailureKind::Broken(_) => "failed",
        _ if compiles || error.kind == FailureKind::Unreadable => "refused",
        _ if simulates => "given up",
        _ => "failed",
    }
}

/// A message without the name of its test, places and numbers, so that all tests with one reason
/// give the same text.
fn reason(message: &str, test: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line.rsplit_once(" error: ").map_or(line, |(_, said)| said);
    let name = Path::new(test).file_stem().map(|n| n.to_string_lossy().into_owned());
    let line = match name {
        Some(name) if !name.is_empty() => line.replace(&name, "TEST"),
        _ => line.to_string(),
    };
    let line = line.strip_prefix("TEST: ").unwrap_or(&line);
    let mut out = String::new();
    let mut before = ' ';
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let is_number = c.is_ascii_digit() && !(before.is_ascii_alphanumeric() || before == '_');
        if is_number {
            while rest.next_if(char::is_ascii_alphanumeric).is_some() {}
        }
        out.push(if is_number { 'N' } else { c });
        before = c;
    }
    out
}

impl Uncompared {
    pub fn count(&mut self, error: &Error) {
        let reasons = self.0.entry(word(error).into()).or_default();
        let reason = reason(&error.message, &error.test);
        if let Some(known) = reasons.get_mut(&reason) {
            known.count += 1;
        } else if reasons.len() < REASONS {
            let Error { test, stage, message, .. } = error.clone();
            reasons.insert(reason, Reason { count: 1, test, stage, message });
        }
    }

    /// The most frequent reasons for each word, as text.
    pub fn told(&self) -> String {
        let mut out = String::new();
        for (word, reasons) in &self.0 {
            let mut list: Vec<_> = reasons.iter().collect();
            list.sort_by_key(|(_, reason)| std::cmp::Reverse(reason.count));
            let _ = writeln!(out, "{word}:");
            for (said, reason) in list.iter().take(SHOWN) {
                let test = Path::new(&reason.test).file_stem().unwrap_or_default();
                let test = test.to_string_lossy();
                let _ = writeln!(out, "  {} {said} ({test}, {})", reason.count, reason.stage);
            }
            if let Some(more) = list.len().checked_sub(SHOWN).filter(|n| *n > 0) {
                let _ = writeln!(out, "  ... and for {more} other reasons, which --json has");
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(test: &str, message: &str, kind: FailureKind) -> Error {
        let stage = "code[gcc-12-mips64el-O2]".to_string();
        Error { stage, test: test.into(), message: message.into(), kind, ..Error::default() }
    }

    #[test]
    fn the_same_reason_is_counted_once_for_all_tests() {
        let mut all = Uncompared::default();
        for (test, at) in [("round/MP+a.litmus", "0x8"), ("round/SB+b.litmus", "0x1c")] {
            let name = &test[6..10];
            let message = format!("{test}:3:1: error: {name}: `swr` at {at}, of `$4`, v8\n 3 | x");
            all.count(&error(test, &message, FailureKind::Unsupported));
        }
        all.count(&error("round/MP+a.litmus", "no __int128", FailureKind::Refused));
        assert_eq!(
            all.told(),
            "not for the compiler:\n  1 no __int128 (MP+a, code[gcc-12-mips64el-O2])\n\
             refused:\n  2 `swr` at N, of `$N`, v8 (MP+a, code[gcc-12-mips64el-O2])\n"
        );
    }

    #[test]
    fn the_most_frequent_reasons_come_first() {
        let mut all = Uncompared::default();
        for n in 0..7 {
            let message = "x".repeat(n + 1);
            (0..=n).for_each(|_| all.count(&error("t", &message, FailureKind::Unsupported)));
        }
        let told = all.told();
        assert!(told.starts_with("refused:\n  7 xxxxxxx (t, "), "{told}");
        assert!(told.ends_with("and for 2 other reasons, which --json has\n"), "{told}");
    }
}
