//! Shows what a change to a compiler does, for the people who decide about it: code, outcomes, new
//! bugs and fixed bugs, as text for a terminal and as Markdown for the change.
//!
//! It does not know how the changes were found.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::{Changed, Changes, Moved, Share, Threads};
use super::github::{block, cell};
use super::terminal::{Style, errors, finding, verdict};
use super::verdict::Colour;
use super::{Finding, Report, Status, number, state_text};

/// How a bug changed from one compiler to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BugChange {
    /// The id of the finding.
    pub id: String,
    /// The kind of change.
    pub change: Change,
    /// The profiles of each side that show the bug.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// See `before`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
/// How the profiles that show a bug differ between two compilers.
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// No profile of the old compiler shows it.
    #[default]
    New,
    /// A profile of the new compiler shows it that did not before, and others did.
    Wider,
    /// The same profiles show it.
    Same,
    /// Some profiles do not show it any more.
    Narrower,
    /// No profile shows it any more.
    Fixed,
}

impl Change {
    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Wider => "wider",
            Change::Same => "as before",
            Change::Narrower => "narrower",
            Change::Fixed => "fixed",
        }
    }

    /// Whether a profile shows the bug that did not before.
    fn is_worse(self) -> bool {
        matches!(self, Change::New | Change::Wider)
    }
}

/// How many operations, tests and outcomes are listed unless all are asked for.
const OPERATIONS: usize = 6;
const TESTS: usize = 5;
const OUTCOMES: usize = 4;

impl Report {
    /// The exit status of a judgement: 1 if the change brings a bug that the baseline does not
    /// know, or may bring one, because differences of the new compiler were not looked into; otherwise
    /// that of what was judged.
    pub fn judged_status(&self) -> u8 {
        match self.exit_status() {
            1 if !self.brings_bugs() && self.unexplored_after() == 0 => self.verdict.status(),
            status => status,
        }
    }

    fn brings_bugs(&self) -> bool {
        self.worse().next().is_some()
    }

    /// The bugs that the change brings, without those in the baseline.
    fn worse(&self) -> impl Iterator<Item = (&BugChange, &Finding)> {
        let new = |(change, f): &(&BugChange, &Finding)| {
            change.change.is_worse() && f.status == Status::New
        };
        self.judged().filter(new)
    }

    /// Each bug with its change.
    fn judged(&self) -> impl Iterator<Item = (&BugChange, &Finding)> {
        self.bug_changes.iter().filter_map(|change| {
            let finding = self.findings.iter().find(|f| f.id == change.id)?;
            Some((change, finding))
        })
    }

    /// The number of differences of the new compiler that were not looked into.
    fn unexplored_after(&self) -> u64 {
        let is_after = |profile: &str| self.changes.iter().any(|c| c.after == profile);
        let all = self.not_looked_into.iter().flat_map(|u| &u.by_profile);
        all.filter(|(profile, _)| is_after(profile)).map(|(_, n)| n).sum()
    }

    /// The judgement in one line: `1 new bug, 2 fixed`.
    pub fn judgement(&self) -> String {
        let mut counts: BTreeMap<Change, u64> = BTreeMap::new();
        let mut known = 0;
        for (change, f) in self.judged() {
            match change.change.is_worse() && f.status != Status::New {
                true => known += 1,
                false => *counts.entry(change.change).or_default() += 1,
            }
        }
        let count = |change: Change| counts.get(&change).copied().unwrap_or(0);
        let mut parts = vec![match count(Change::New) {
            0 => self.verdict.headline("no new bugs").1,
            n => number(n, "new bug"),
        }];
        let more = [
            (count(Change::Wider), "where they were not before"),
            (known, "that the baseline knows"),
            (count(Change::Fixed), "fixed"),
            (count(Change::Narrower), "fixed in part"),
            (count(Change::Same), "as before"),
        ];
        parts.extend(more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        match self.unexplored_after() {
            0 => {}
            n => parts.push(format!("{} not looked into", number(n, "difference"))),
        }
        if !self.errors.is_empty() {
            parts.push(number(self.errors.len() as u64, "error"));
        }
        parts.join(", ")
    }
}

fn moved(t: &Changed) -> bool {
    !t.gained.is_empty() || !t.lost.is_empty()
}

/// Operations by the share of threads that changed, largest first.
fn by_share(threads: &Threads) -> Vec<(&String, &Share)> {
    let mut out: Vec<(&String, &Share)> = threads.constructs.iter().collect();
    let share = |s: &Share| s.changed as f64 / s.compared.max(1) as f64;
    out.sort_by(|a, b| {
        share(b.1).total_cmp(&share(a.1)).then(b.1.changed.cmp(&a.1.changed)).then(a.0.cmp(b.0))
    });
    out
}

/// `=`, or the change of a number.
fn by(moved: Moved) -> String {
    if moved.before == moved.after { "=".into() } else { moved.to_string() }
}

/// The judgement for a terminal; if `style` is verbose, with every test and operation.
pub fn text(report: &Report, style: Style) -> String {
    let mut out = String::new();
    let (operations, tests, outcomes) = match style.verbose {
        true => (usize::MAX, usize::MAX, usize::MAX),
        false => (OPERATIONS, TESTS, OUTCOMES),
    };
    for c in &report.changes {
        let name = style.paint("1", &format!("{} -> {}", c.before, c.after));
        let _ = writeln!(out, "{name}: {}", code_line(c));
        if let Some(threads) = c.threads.as_ref().filter(|t| t.changed > 0) {
            let (instructions, barriers) = (by(threads.instructions), by(threads.barriers));
            let _ = writeln!(out, "  in these: instructions {instructions}, barriers {barriers}");
            let list = by_share(threads);
            for (operation, share) in list.iter().take(operations) {
                let _ = writeln!(out, "    {operation}: {} of {}", share.changed, share.compared);
            }
            if list.len() > operations {
                let _ = writeln!(out, "    ... and {} more (-v)", list.len() - operations);
            }
        }
        if let Some(line) = outcomes_line(c) {
            let _ = writeln!(out, "  {line}");
        }
        let changed: Vec<&Changed> = c.tests.iter().filter(|t| style.verbose || moved(t)).collect();
        for t in changed.iter().take(tests) {
            let _ = writeln!(out, "    {}", t.test);
            for (sign, states) in [('+', &t.gained), ('-', &t.lost)] {
                for state in states.iter().take(outcomes) {
                    let _ = writeln!(out, "      {sign} {}", state_text(state));
                }
                if states.len() > outcomes {
                    let _ = writeln!(out, "      {sign} ... and {} more", states.len() - outcomes);
                }
            }
        }
        if changed.len() > tests {
            let _ = writeln!(out, "    ... and {} more (-v)", changed.len() - tests);
        }
    }
    for (change, f) in report.judged() {
        if change.change.is_worse() && f.status == Status::New {
            finding(f, style, &mut out);
        }
        let color = match (change.change, f.status) {
            (Change::New | Change::Wider, Status::New) => "31;1",
            (Change::Fixed | Change::Narrower, _) => "32",
            _ => "33",
        };
        let word = style.paint(color, change.change.name());
        let _ = writeln!(out, "{word}: {}{}", f.title(), known(change, f));
        let _ = writeln!(out, "  {}", sides(change));
    }
    for rest in &report.not_looked_into {
        let _ = writeln!(out, "{}", style.paint("33;1", &rest.said()));
    }
    errors(report, tests, style, &mut out);
    let colour = if report.brings_bugs() { Colour::Bad } else { report.verdict.headline("").0 };
    let _ = writeln!(out, "{}", verdict(report, style));
    let _ = writeln!(out, "{}", style.paint(colour.code(), &report.judgement()));
    out
}

/// A line such as `other code: 12 of 840 distinct threads, in 30 of 1000 tests`.
fn code_line(c: &Changes) -> String {
    let tests = format!("{} of {}", c.code, number(c.compared, "test"));
    match &c.threads {
        Some(t) if t.compared == 0 => "no thread has code on both sides".to_string(),
        Some(t) if t.changed == 0 => {
            format!("the code of all {} is the same", number(t.compared, "thread"))
        }
        Some(t) => format!(
            "other code: {} of {}, in {tests}",
            t.changed,
            number(t.compared, "distinct thread")
        ),
        None => format!("other code: {tests}"),
    }
}

fn outcomes_line(c: &Changes) -> Option<String> {
    let says = |n: u64, what: &str| match n {
        0 => None,
        1 => Some(format!("1 test {what}s some")),
        n => Some(format!("{n} tests {what} some")),
    };
    let parts: Vec<String> =
        [says(c.gained, "gain"), says(c.lost, "lose")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("outcomes: {}", parts.join(", ")))
}

/// The id of a bug, and whether the baseline has it.
fn known(change: &BugChange, f: &Finding) -> String {
    match change.change.is_worse() && f.status == Status::Known {
        true => format!(" ({}, known)", f.id),
        false => format!(" ({})", f.id),
    }
}

/// The profiles that show a bug, before and after.
fn sides(change: &BugChange) -> String {
    let list = |profiles: &[String]| match profiles {
        [] => "none".to_string(),
        some => some.join(", "),
    };
    format!("before: {}; after: {}", list(&change.before), list(&change.after))
}

/// The judgement as a comment on the change.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("### litmake: {}\n\n", cell(&report.judgement()));
    let _ = writeln!(out, "{}\n", cell(&report.verdict.words()));
    out += "| before | after | threads with other code | instructions | barriers | tests that gain outcomes | that lose some |\n\
            | --- | --- | --- | --- | --- | --- | --- |\n";
    for c in &report.changes {
        let t = c.threads.clone().unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {} | {} of {} | {} | {} | {} | {} |",
            cell(&c.before),
            cell(&c.after),
            t.changed,
            t.compared,
            by(t.instructions),
            by(t.barriers),
            c.gained,
            c.lost
        );
    }
    out.push('\n');
    let judged: Vec<(&BugChange, &Finding)> = report.judged().collect();
    if !judged.is_empty() {
        out += "| | bug | what | before | after |\n| --- | --- | --- | --- | --- |\n";
        for (change, f) in &judged {
            let list = |profiles: &[String]| cell(&profiles.join(", "));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                change.change.name(),
                f.id,
                cell(&f.title()),
                list(&change.before),
                list(&change.after)
            );
        }
        out.push('\n');
    }
    for (change, f) in report.worse() {
        let (source, target, _) = f.smallest();
        let _ = writeln!(
            out,
            "<details><summary>{}: {} ({})</summary>\n\n{}:\n",
            change.change.name(),
            cell(&f.title()),
            f.id,
            cell(&f.claim())
        );
        block("", &f.wrong().join("\n"), &mut out);
        block("c", source, &mut out);
        if !target.is_empty() {
            out += "The compiler makes of it:\n\n";
            block("", target, &mut out);
        }
        out += "</details>\n\n";
    }
    let operations: Vec<&Changes> = report
        .changes
        .iter()
        .filter(|c| c.threads.as_ref().is_some_and(|t| t.changed > 0))
        .collect();
    if !operations.is_empty() {
        out += "<details><summary>Operations with other code</summary>\n\n";
        for c in operations {
            let list = by_share(c.threads.as_ref().unwrap_or(&Threads::default()))
                .into_iter()
                .map(|(operation, s)| format!("{operation}: {} of {}", s.changed, s.compared))
                .collect::<Vec<_>>();
            let _ = writeln!(out, "- {}: {}", cell(&c.after), cell(&list.join("; ")));
        }
        out += "\n</details>\n\n";
    }
    for rest in &report.not_looked_into {
        let _ = writeln!(out, "{}\n", cell(&rest.said()));
    }
    if !report.errors.is_empty() {
        out += "| stage | test | error |\n| --- | --- | --- |\n";
        for error in report.errors.iter().take(20) {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                cell(&error.stage),
                cell(&error.test),
                cell(&error.message)
            );
        }
    }
    out
}
