//! Writes a record for people and for programs: runs, bugs and one run, as text, Markdown and JSON.
//!
//! It does not know where the record is stored.

use std::fmt::Write;

use litmake_base::plain;
use litmake_report::number;
use litmake_report::verdict::Colour;
use serde_json::{Value, json};

use crate::builds::Span;
use crate::lives::{Bug, Change, History, State};
use crate::record::Run;

/// The formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Text for a terminal.
    #[default]
    Text,
    /// Markdown for a comment or a file.
    Markdown,
    /// JSON for programs.
    Json,
}

/// A table with a row of headings.
struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn told(&self, form: Form) -> String {
        let mut out = String::new();
        if form == Form::Markdown {
            let cell = |text: &str| {
                let text = plain::line(text).replace('&', "&amp;").replace('<', "&lt;");
                text.replace('|', "\\|").replace('`', "&#96;")
            };
            let _ = writeln!(out, "| {} |", self.heads.join(" | "));
            let _ = writeln!(out, "|{}", " --- |".repeat(self.heads.len()));
            for row in &self.rows {
                let cells: Vec<String> = row.iter().map(|c| cell(c)).collect();
                let _ = writeln!(out, "| {} |", cells.join(" | "));
            }
            return out;
        }
        let wide = |column: usize| {
            let cells = self.rows.iter().map(|r| r[column].chars().count());
            cells.chain([self.heads[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(wide).collect();
        let heads = self.heads.iter().map(|h| h.to_string()).collect();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let cells =
                row.iter().zip(&widths).map(|(cell, w)| format!("{:w$}", plain::line(cell)));
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The text for a run without changes.
const NOTHING: &str = "nothing new";

/// The numbers of new, reopened and fixed bugs in a run, in one line.
fn changes(history: &History, at: usize) -> String {
    let parts = [Change::New, Change::Reopened, Change::Fixed].map(|change| {
        match history.changed(at, change).len() {
            0 => String::new(),
            n => format!("{n} {}", change.name()),
        }
    });
    let said: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    if said.is_empty() { NOTHING.to_string() } else { said.join(", ") }
}

/// The headline of a run: its colour, and what changed by it. Only a run that judged everything can
/// say that nothing is new.
pub fn headline(history: &History, at: usize) -> (Colour, String) {
    let verdict = history.runs[at].verdict();
    let changed = changes(history, at);
    let bad = [Change::New, Change::Reopened].iter().any(|c| !history.changed(at, *c).is_empty());
    let (colour, said) = verdict.headline(NOTHING);
    let text = if changed == NOTHING { said } else { changed };
    (if bad { Colour::Bad } else { colour }, text)
}

/// The compilers of a run in one line, each name with its version once.
pub fn compilers(run: &Run) -> String {
    let mut names: Vec<String> = Vec::new();
    for c in &run.compilers {
        let name = c.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// All runs, the last one first.
pub fn runs(history: &History, form: Form) -> String {
    let open = history.open_after();
    if form == Form::Json {
        let one = |(at, run): (usize, &Run)| {
            let ids = |change| -> Vec<&str> {
                history.changed(at, change).iter().map(|b| b.id.as_str()).collect()
            };
            json!({
                "id": run.id, "date": run.date, "host": run.host, "commit": run.commit,
                "litmake": run.litmake, "pipeline": run.pipeline, "counts": run.counts,
                "verdict": run.verdict(),
                "seconds": run.seconds, "stopped": run.stopped, "open": open[at],
                "compilers": run.compilers,
                "new": ids(Change::New), "reopened": ids(Change::Reopened), "fixed": ids(Change::Fixed),
            })
        };
        let list: Vec<Value> = history.runs.iter().enumerate().rev().map(one).collect();
        return pretty(&json!({ "runs": list }));
    }
    let row = |(at, run): (usize, &Run)| {
        vec![
            run.id.clone(),
            run.pipeline.clone(),
            compilers(run),
            headline(history, at).1,
            open[at].to_string(),
            run.counts.errors.to_string(),
            run.commit.clone().unwrap_or_default(),
            run.verdict().words(),
        ]
    };
    let heads = vec!["run", "pipeline", "compilers", "bugs", "open", "errors", "commit", "judged"];
    Table { heads, rows: history.runs.iter().enumerate().rev().map(row).collect() }.told(form)
}

/// All bugs: open ones first, and among these the newest first.
pub fn bugs(history: &History, form: Form) -> String {
    let list = history.by_state();
    if form == Form::Json {
        return pretty(&json!({ "bugs": list }));
    }
    let row = |bug: &&Bug| {
        let fixed = bug.changes.iter().rev().find(|(_, c)| *c == Change::Fixed);
        let fixed = fixed.filter(|_| bug.shown_on().next().is_none());
        let last = bug.spans.last();
        let good = last.and_then(|span| span.last_good.clone());
        vec![
            bug.id.clone(),
            state(bug),
            bug.title.clone(),
            bug.first_seen.day(),
            bug.last_seen.day(),
            fixed.map(|(date, _)| date.day()).unwrap_or_default(),
            present(bug),
            good.unwrap_or_default(),
            bug.owner.clone().unwrap_or_default(),
            bug.tracker.clone().unwrap_or_default(),
        ]
    };
    let heads = vec![
        "bug",
        "state",
        "what",
        "first seen",
        "last seen",
        "fixed",
        "present in",
        "last good before",
        "owner",
        "tracker",
    ];
    Table { heads, rows: list.iter().map(row).collect() }.told(form)
}

/// The state of a bug: whose duplicate it is, and how often it came back.
pub fn state(bug: &Bug) -> String {
    let mut out = bug.state.name().to_string();
    if let Some(other) = bug.duplicate_of.as_ref().filter(|_| bug.state == State::Duplicate) {
        let _ = write!(out, " of {other}");
    }
    let times = bug.changes.iter().filter(|(_, c)| *c == Change::Reopened).count();
    if times > 0 {
        let _ = write!(out, " (reopened {})", number(times as u64, "time"));
    }
    out
}

/// The state of a bug that a run shows without a change.
fn still(bug: &Bug) -> String {
    let is_said = !matches!(bug.state, State::Fixed | State::Open | State::Flaky);
    if is_said { bug.state.name().to_string() } else { State::Open.name().to_string() }
}

/// The builds that have a bug, whether or not it is fixed in later ones.
pub fn present(bug: &Bug) -> String {
    bug.spans.iter().map(Span::said).collect::<Vec<_>>().join("; ")
}

/// One run.
pub fn run(history: &History, at: usize, form: Form) -> String {
    let run = &history.runs[at];
    if form == Form::Json {
        let value = serde_json::to_value(run).unwrap_or_default();
        return pretty(&value);
    }
    let mut out = String::new();
    let head = if form == Form::Markdown { "## " } else { "" };
    let line = plain::line(&run.pipeline);
    let _ = writeln!(out, "{head}{line}, {}\n", run.date);
    let _ = writeln!(out, "{}\n", plain::line(&headline(history, at).1));
    for (name, value) in facts(run) {
        match form {
            Form::Markdown => drop(writeln!(out, "- {name}: {}", plain::line(&value))),
            _ => drop(writeln!(out, "{name}: {}", plain::line(&value))),
        }
    }
    out.push('\n');
    let mut rows = Vec::new();
    for change in [Change::New, Change::Reopened, Change::Fixed] {
        rows.extend(history.changed(at, change).iter().map(|b| {
            vec![b.id.clone(), change.name().to_string(), b.title.clone(), on(run, &b.id)]
        }));
    }
    for shown in &run.bugs {
        let Some(bug) = history.bug(&shown.id) else { continue };
        if bug.change_in(at).is_none() {
            rows.push(vec![bug.id.clone(), still(bug), bug.title.clone(), on(run, &bug.id)]);
        }
    }
    match rows.is_empty() {
        true => drop(writeln!(out, "{}", run.verdict().headline("no bugs").1)),
        false => out.push_str(&Table { heads: vec!["bug", "", "what", "on"], rows }.told(form)),
    }
    out
}

/// The profiles with which a run showed a bug, and those with which it looked for the bug and did
/// not find it.
pub fn on(run: &Run, id: &str) -> String {
    let shown = run.bugs.iter().find(|b| b.id == id);
    let shown = shown.iter().flat_map(|b| &b.on).map(|(p, n)| format!("{}: {n}", run.profile(*p)));
    let clean = run.clean.get(id).into_iter().flatten();
    let clean = clean.map(|p| format!("not on {}", run.profile(*p)));
    shown.chain(clean).collect::<Vec<_>>().join(", ")
}

/// The facts about a run other than its bugs.
pub fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let counts = &run.counts;
    let mut out = vec![("run", run.id.clone()), ("date", run.date.to_string())];
    let mut add = |name, value: Option<String>| out.extend(value.map(|v| (name, v)));
    add("host", run.host.clone());
    add("commit", run.commit.clone());
    add("judged", Some(run.verdict().words()));
    add("stopped", run.stopped.then(|| "before its end".to_string()));
    add("compared", Some(number(counts.compared, "compiled test")));
    let executed = counts.executed.map_or(String::new(), |n| format!(", {n} run now"));
    add("work", Some(format!("{}{executed}", number(counts.tasks, "task"))));
    add("time", run.seconds.map(|s| format!("{s:.1} s of work")));
    add("errors", (counts.errors > 0).then(|| counts.errors.to_string()));
    let rest = counts.not_looked_into;
    add("not looked into", (rest > 0).then(|| number(rest, "difference")));
    add("litmake", Some(run.litmake.clone()));
    for c in &run.compilers {
        let version = if c.version.is_empty() { &c.compiler } else { &c.version };
        add("compiler", Some(format!("{}: {version} ({})", c.profile, c.build)));
    }
    out
}
