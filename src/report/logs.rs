//! Compares logs: a row for each test, a column for each log, each compared with the first.
//!
//! It does not know which machines or models the logs are from, nor where they were read.

use std::collections::BTreeMap;
use std::fmt::Write;

use litmake_litmus::log::{LogEntry, Observation, Verdict, compare};
use serde::Serialize;

/// A log with a name.
pub struct Log {
    /// The name that tables show.
    pub name: String,
    /// The entries, in the order of the log.
    pub entries: Vec<LogEntry>,
}

/// The comparison of several logs with the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The names of the logs, the first one included.
    pub logs: Vec<String>,
    /// The tests of all logs, in the order in which the logs have them.
    pub tests: Vec<Row>,
    /// The totals of each log but the first.
    pub totals: Vec<Totals>,
}

/// The entries of all logs for one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The test's name.
    pub test: String,
    /// The kind of condition: `Allowed`, `Forbidden`, `Required`, or `Final` where the log does not
    /// say.
    pub kind: &'static str,
    /// A cell for each log; `None` where the log lacks the test.
    pub cells: Vec<Option<Cell>>,
}

/// The entry of one log for a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The verdict `Ok`, `No` or `Undef`, or empty where the log has none.
    pub verdict: &'static str,
    /// How often the condition's proposition held: `Never`, `Sometimes`, `Always`, or empty.
    pub observation: &'static str,
    /// The number of final states.
    pub states: usize,
    /// How often states were seen; 0 in logs of simulators.
    pub seen: u64,
    /// How the states compare with those of the first log.
    pub relation: Relation,
    /// States that the first log lacks, and states that only the first log has.
    pub more: Vec<String>,
    /// See `more`.
    pub fewer: Vec<String>,
}

/// How the states of a test in a log compare with those in the first log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// It is the first log, or the first log lacks the test.
    Alone,
    /// Both logs have the same states.
    Equal,
    /// The log has all states of the first log, and more.
    More,
    /// The log has some states of the first log, and no others.
    Fewer,
    /// The log has some states more and lacks some, or only one of the logs says undefined.
    Both,
    /// The logs have different hashes: two tests share the name.
    OtherTest,
}

/// The number of tests of a log for each relation to the first log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Tests with the same states.
    pub equal: usize,
    /// Tests with states that the first log lacks.
    pub more: usize,
    /// Tests that lack states of the first log.
    pub fewer: usize,
    /// Tests with some more and some fewer.
    pub both: usize,
    /// Tests whose name stands for another test in the first log.
    pub other_test: usize,
    /// Tests that only one of the two logs contains.
    pub missing: usize,
}

/// The rows to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// Rows in which a log differs from the first, or lacks the test.
    #[default]
    Differing,
    /// Rows in which a log has states that the first log lacks: a machine shows an outcome that a
    /// model forbids.
    More,
    /// All rows.
    All,
}

impl Comparison {
    /// Compares each log with the first.
    pub fn new(logs: &[Log]) -> Comparison {
        let mut order: Vec<&str> = Vec::new();
        let mut by_test: BTreeMap<&str, Vec<Option<&LogEntry>>> = BTreeMap::new();
        for (n, log) in logs.iter().enumerate() {
            for entry in &log.entries {
                let cells = by_test.entry(&entry.name).or_insert_with(|| {
                    order.push(&entry.name);
                    vec![None; logs.len()]
                });
                // If a log has a test twice, the last entry counts.
                cells[n] = Some(entry);
            }
        }
        let mut totals = vec![Totals::default(); logs.len().saturating_sub(1)];
        let tests = order
            .into_iter()
            .map(|name| {
                let entries = &by_test[name];
                let first = entries.first().copied().flatten();
                let cells: Vec<Option<Cell>> = entries
                    .iter()
                    .enumerate()
                    .map(|(n, entry)| Some(cell(if n == 0 { None } else { first }, (*entry)?)))
                    .collect();
                for (total, cell) in totals.iter_mut().zip(&cells[1..]) {
                    total.count(first.is_some(), cell.as_ref());
                }
                let kind = entries.iter().flatten().next().map_or("", |e| e.kind.word());
                Row { test: name.to_string(), kind, cells }
            })
            .collect();
        Comparison { logs: logs.iter().map(|l| l.name.clone()).collect(), tests, totals }
    }

    /// Whether a log differs from the first in a test, or only one of them has it.
    pub fn differs(&self) -> bool {
        self.totals.iter().any(|t| t.differing() > 0)
    }

    /// Whether a log has a state that the first lacks.
    pub fn has_more(&self) -> bool {
        self.totals.iter().any(|t| t.more + t.both > 0)
    }

    fn shown(&self, rows: Rows) -> Vec<&Row> {
        let shows = |row: &&Row| match rows {
            Rows::All => true,
            Rows::Differing => row.differs(),
            Rows::More => row.others().any(|c| c.is_some_and(|c| !c.more.is_empty())),
        };
        self.tests.iter().filter(shows).collect()
    }

    /// The comparison for a terminal: the rows, the states that differ under each row, and the
    /// totals.
    pub fn text(&self, rows: Rows) -> String {
        let shown = self.shown(rows);
        let head = ["test", "kind"].map(String::from).into_iter().chain(self.logs.iter().cloned());
        let mut lines: Vec<Vec<String>> = vec![head.collect()];
        lines.extend(shown.iter().map(|row| {
            let cells = row.cells.iter().map(|c| said(c.as_ref()));
            [row.test.clone(), row.kind.to_string()].into_iter().chain(cells).collect()
        }));
        let widths: Vec<usize> = (0..self.logs.len() + 2)
            .map(|i| lines.iter().map(|l| l[i].chars().count()).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for (n, line) in lines.iter().enumerate() {
            if n == 0 && shown.is_empty() {
                break;
            }
            let padded: Vec<String> =
                line.iter().zip(&widths).map(|(text, w)| format!("{text:<w$}")).collect();
            let _ = writeln!(out, "{}", padded.join("  ").trim_end());
            if n > 0 {
                for (sign, log, state) in self.states(shown[n - 1]) {
                    let _ = writeln!(out, "    {sign} {state}  {log}");
                }
            }
        }
        if !shown.is_empty() {
            out.push('\n');
        }
        for (name, total) in self.logs[1..].iter().zip(&self.totals) {
            let _ = writeln!(out, "{name} against {}: {}", self.logs[0], total.said());
        }
        out
    }

    /// The states that differ, each with its sign and log.
    fn states<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (char, &'a str, &'a str)> {
        self.logs.iter().zip(&row.cells).skip(1).flat_map(|(log, cell)| {
            let signed = |sign: char, states: &'a [String]| {
                states.iter().map(move |s| (sign, log.as_str(), s.as_str()))
            };
            let of = |pick: fn(&Cell) -> &Vec<String>| {
                cell.as_ref().map_or(&[][..], |c| pick(c).as_slice())
            };
            signed('+', of(|c| &c.more)).chain(signed('-', of(|c| &c.fewer)))
        })
    }

    /// The comparison as Markdown, for an issue or a merge request.
    pub fn markdown(&self, rows: Rows) -> String {
        let shown = self.shown(rows);
        let mut out = String::new();
        for (name, total) in self.logs[1..].iter().zip(&self.totals) {
            let _ =
                writeln!(out, "{} against {}: {}\n", cut(name), cut(&self.logs[0]), total.said());
        }
        if shown.is_empty() {
            return out;
        }
        let names: Vec<String> = self.logs.iter().map(|l| cut(l)).collect();
        let _ = writeln!(out, "| test | kind | {} |", names.join(" | "));
        let _ = writeln!(out, "| --- | --- |{}", " --- |".repeat(names.len()));
        for row in &shown {
            let cells: Vec<String> = row.cells.iter().map(|c| cut(&said(c.as_ref()))).collect();
            let _ = writeln!(out, "| {} | {} | {} |", cut(&row.test), row.kind, cells.join(" | "));
        }
        let states: Vec<String> = shown
            .iter()
            .flat_map(|row| {
                let of = |(sign, log, state)| format!("{sign} {}  {state}  {log}", row.test);
                self.states(row).map(of)
            })
            .collect();
        if !states.is_empty() {
            let _ = writeln!(out, "\n```diff\n{}\n```", states.join("\n"));
        }
        out
    }

    /// The comparison as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl Row {
    fn others(&self) -> impl Iterator<Item = Option<&Cell>> {
        self.cells.iter().skip(1).map(Option::as_ref)
    }

    fn differs(&self) -> bool {
        let there = self.cells.first().is_some_and(Option::is_some);
        self.others().any(|cell| match cell {
            Some(cell) => !there || cell.relation != Relation::Equal,
            None => there,
        })
    }
}

impl Totals {
    fn count(&mut self, first_has_it: bool, cell: Option<&Cell>) {
        match (first_has_it, cell.map(|c| c.relation)) {
            (false, None) => {}
            (true, None) | (false, Some(_)) | (true, Some(Relation::Alone)) => self.missing += 1,
            (true, Some(Relation::Equal)) => self.equal += 1,
            (true, Some(Relation::More)) => self.more += 1,
            (true, Some(Relation::Fewer)) => self.fewer += 1,
            (true, Some(Relation::Both)) => self.both += 1,
            (true, Some(Relation::OtherTest)) => self.other_test += 1,
        }
    }

    fn differing(&self) -> usize {
        self.more + self.fewer + self.both + self.other_test + self.missing
    }

    fn said(&self) -> String {
        let counts = [
            (self.equal, "equal"),
            (self.more, "with more states"),
            (self.fewer, "with fewer states"),
            (self.both, "with states both more and fewer"),
            (self.other_test, "under one name for two tests"),
            (self.missing, "in one of the two alone"),
        ];
        let some = counts.iter().filter(|(n, what)| *n > 0 || *what == "equal");
        let words: Vec<String> = some.map(|(n, what)| format!("{n} {what}")).collect();
        words.join(", ")
    }
}

fn cell(first: Option<&LogEntry>, entry: &LogEntry) -> Cell {
    let mut out = Cell {
        verdict: match entry.verdict {
            Verdict::Ok => "Ok",
            Verdict::No => "No",
            Verdict::Undef => "Undef",
            Verdict::Unknown => "",
        },
        observation: entry.observation.map_or("", Observation::word),
        states: entry.states.len(),
        seen: entry.seen.iter().map(|s| s.count).sum(),
        relation: Relation::Alone,
        more: Vec::new(),
        fewer: Vec::new(),
    };
    let Some(first) = first else { return out };
    if !first.is_same_test(entry) {
        out.relation = Relation::OtherTest;
        return out;
    }
    let diff = compare(std::slice::from_ref(first), std::slice::from_ref(entry));
    out.relation = Relation::Equal;
    if let Some(difference) = diff.differ.into_iter().next() {
        let one_undefined = difference.undefined.0 != difference.undefined.1;
        out.relation = match (difference.extra.is_empty(), difference.lacking.is_empty()) {
            _ if one_undefined => Relation::Both,
            (false, true) => Relation::More,
            (true, false) => Relation::Fewer,
            _ => Relation::Both,
        };
        out.more = difference.extra;
        out.fewer = difference.lacking;
    }
    out
}

/// A cell in few words: the verdict, and the comparison with the first log.
fn said(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return "-".to_string() };
    let states = match cell.relation {
        Relation::Alone => match cell.states {
            1 => "1 state".to_string(),
            n => format!("{n} states"),
        },
        Relation::Equal => "=".to_string(),
        Relation::OtherTest => "another test".to_string(),
        _ => {
            let part = |sign: &str, states: &[String]| match states.len() {
                0 => None,
                n => Some(format!("{sign}{n}")),
            };
            let parts = [part("+", &cell.more), part("-", &cell.fewer)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            if parts.is_empty() { "differs".to_string() } else { parts.join(" ") }
        }
    };
    match cell.verdict {
        "" => states,
        verdict => format!("{verdict}, {states}"),
    }
}

/// A text as a cell of a table in Markdown.
fn cut(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_base::diag::Source;
    use litmake_litmus::log::read;

    fn log(name: &str, text: &str) -> Log {
        Log { name: name.into(), entries: read(&Source::new(name, text)).unwrap() }
    }

    const MODEL: &str = "Test SB Allowed\nStates 2\n0:rax=0; 1:rax=1;\n0:rax=1; 1:rax=0;\nNo\nWitnesses\n\
        Positive: 0 Negative: 2\nCondition exists (0:rax=0 /\\ 1:rax=0)\nObservation SB Never 0 2\n\n\
        Test MP Allowed\nStates 1\n[x]=1;\nNo\n\nTest LB Allowed\nStates 1\n[x]=1;\nNo\n\
        Hash=12ab\n\n";
    const MACHINE: &str = "Test SB Allowed\nHistogram (2 states)\n3     *>0:rax=0; 1:rax=0;\n\
        97    :>0:rax=0x1; 1:rax=0;\nOk\n\nWitnesses\nPositive: 3, Negative: 97\n\
        Condition exists (0:rax=0 /\\ 1:rax=0) is validated\nObservation SB Sometimes 3 97\n\n\
        Test LB Allowed\nHistogram (1 states)\n9     :>[x]=1;\nNo\nHash=12ac\n\n\
        Test S Allowed\nHistogram (1 states)\n9     :>[x]=1;\nNo\n";

    #[test]
    fn a_machine_beside_a_model() {
        let both = Comparison::new(&[log("model", MODEL), log("machine", MACHINE)]);
        assert_eq!(
            both.text(Rows::Differing),
            "test  kind     model         machine\n\
             SB    Allowed  No, 2 states  Ok, +1 -1\n    \
                 + 0:rax=0; 1:rax=0;  machine\n    \
                 - 0:rax=0; 1:rax=1;  machine\n\
             MP    Allowed  No, 1 state   -\n\
             LB    Allowed  No, 1 state   No, another test\n\
             S     Allowed  -             No, 1 state\n\n\
             machine against model: 0 equal, 1 with states both more and fewer, 1 under one name for two \
             tests, 2 in one of the two alone\n"
        );
        assert!(both.has_more() && both.differs());
        assert!(both.text(Rows::More).starts_with("test  kind     model         machine\nSB"));
        let markdown = both.markdown(Rows::Differing);
        assert!(markdown.contains("| SB | Allowed | No, 2 states | Ok, +1 -1 |"), "{markdown}");
        assert!(markdown.contains("```diff\n+ SB  0:rax=0; 1:rax=0;  machine\n"), "{markdown}");
        let same = Comparison::new(&[log("a", MODEL), log("b", MODEL)]);
        assert_eq!(same.text(Rows::Differing), "b against a: 3 equal\n");
        assert!(!same.differs());
        let json: serde_json::Value = serde_json::from_str(&both.json()).unwrap();
        assert_eq!(json["tests"][0]["cells"][1]["seen"], 100);
        assert_eq!(json["tests"][0]["cells"][1]["relation"], "both");
    }
}
