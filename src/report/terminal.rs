//! Writes the summary at the end of a run.
//!
//! It does not know how findings were made.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::baseline::CALIBRATION;
use super::evidence::{Evidence, Execution, presence_lines};
use super::verdict::Colour;
use super::{
    Class, Finding, Outcomes, Report, State, Status, clause, matrix, number, state_text, table,
};

/// How much is shown, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Use the colours of terminals.
    pub color: bool,
    /// Show all findings with their code, not only the first few.
    pub verbose: bool,
    /// Show only findings and errors.
    pub quiet: bool,
}

const SHOWN: usize = 10;

impl Style {
    pub(super) fn paint(&self, code: &str, text: &str) -> String {
        match self.color {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}

/// The summary of a run for a terminal.
pub fn summary(report: &Report, style: Style) -> String {
    let mut out = String::new();
    if !style.quiet {
        stages(report, &mut out);
    }
    let limit = if style.verbose { usize::MAX } else { SHOWN };
    let mut new: Vec<&Finding> =
        report.findings.iter().filter(|f| f.status == Status::New).collect();
    // Findings without a label come first, and among them those that were looked into.
    new.sort_by_key(|f| (!f.label.is_empty(), f.evidence.is_none()));
    for f in new.iter().take(limit) {
        // A finding that a weaker model of the source allows needs no details.
        match f.label.is_empty() || style.verbose {
            true => finding(f, style, &mut out),
            false => line(f, style, &mut out),
        }
    }
    if new.len() > limit {
        let _ = writeln!(out, "\n... and {} more (-v shows all)", new.len() - limit);
    }
    for rest in &report.not_looked_into {
        let _ = writeln!(
            out,
            "{} (--investigate and --investigate-seconds say how much is)",
            style.paint("33;1", &rest.said())
        );
    }
    for f in report.findings.iter().filter(|f| f.status == Status::Fixed) {
        let _ = writeln!(
            out,
            "{} {} [{}]: the baseline's finding {} is gone; `litmake report baseline` forgets it",
            style.paint("32", "fixed"),
            f.test,
            f.profiles.join(", "),
            f.id
        );
    }
    mixes(report, limit, &mut out);
    for c in &report.compatibility {
        matrix::matrix(c, style.verbose, &mut out);
    }
    out.push_str(&table::changes(&report.changes, style.verbose));
    errors(report, limit, style, &mut out);
    for f in report.findings.iter().filter(|f| f.is_load_buffering()) {
        if f.status == Status::Known {
            let _ = writeln!(
                out,
                "{} {} ({}): {CALIBRATION}",
                style.paint("33", "known"),
                f.title(),
                f.id
            );
        }
    }
    for line in notes(report, limit) {
        let _ = writeln!(out, "{} {line}", style.paint("33;1", "note:"));
    }
    let _ = writeln!(out, "{}", verdict(report, style));
    headline(report, style, &new, &mut out);
    out
}

/// The last line: how many findings there are, and what else there is.
fn headline(report: &Report, style: Style, new: &[&Finding], out: &mut String) {
    let known = report.count(Status::Known);
    let (colour, word) = report.headline("finding");
    let _ = write!(out, "{}", style.paint(colour.code(), &word));
    let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
    for f in new.iter().filter(|f| !f.label.is_empty()) {
        *labels.entry(&f.label).or_default() += 1;
    }
    for (label, n) in labels {
        let _ = write!(out, ", {n} of them {label}");
    }
    if known > 0 {
        let _ = write!(out, ", {known} known");
    }
    if report.unexplored() > 0 && !new.is_empty() {
        let rest = format!("not looked into: {}", report.unexplored());
        let _ = write!(out, ", {}", style.paint("33;1", &rest));
    }
    if !report.errors.is_empty() {
        let _ = write!(out, ", {}", number(report.errors.len() as u64, "error"));
    }
    out.push('\n');
}

/// How many of the mixes of each test differ.
fn mixes(report: &Report, limit: usize, out: &mut String) {
    for m in report.mixes.iter().take(limit) {
        let each: Vec<String> = m.sequences.iter().map(|(p, n)| format!("{p}: {n}")).collect();
        let _ = writeln!(
            out,
            "{}: {} mixes, {} of distinct code ({}), {} distinct tests",
            m.test,
            m.assignments,
            m.combinations,
            each.join(", "),
            m.tests
        );
        if !m.adds_nothing.is_empty() {
            let _ = writeln!(out, "  no new code from {}", m.adds_nothing.join(", "));
        }
        if !m.left_out.is_empty() {
            let _ = writeln!(
                out,
                "  left out, since they do not compile it: {}",
                m.left_out.join(", ")
            );
        }
        if m.unknown > 0 {
            let _ = writeln!(out, "  {} of these tests have no outcomes", m.unknown);
        }
    }
    if report.mixes.len() > limit {
        let _ = writeln!(out, "... and {} more tests (-v shows all)", report.mixes.len() - limit);
    }
}

/// The numbers of the verdict in one line.
pub(super) fn verdict(report: &Report, style: Style) -> String {
    let words = report.verdict.words();
    match report.verdict.headline("").0 {
        Colour::Good => words,
        colour => style.paint(colour.code(), &words),
    }
}

/// The notes of the verdict, at most `limit` lines.
fn notes(report: &Report, limit: usize) -> Vec<String> {
    let lines = report.verdict.notes();
    let more = lines.len().saturating_sub(limit);
    let mut out: Vec<String> = lines.into_iter().take(limit).collect();
    if more > 0 {
        out.push(format!("... and {more} more (-v shows all)"));
    }
    out
}

/// A bug in one line.
fn line(f: &Finding, style: Style, out: &mut String) {
    let _ = writeln!(out, "{} {} ({})", style.paint("31;1", "finding"), f.title(), f.id);
}

fn stages(report: &Report, out: &mut String) {
    let width =
        report.stages.iter().map(|s| s.name.chars().count()).max().unwrap_or(0).clamp(5, 48);
    for stage in report.stages.iter().take(40) {
        let tasks = if stage.tasks == 1 { "task " } else { "tasks" };
        let _ = write!(out, "{:width$}  {:>8} {tasks}", stage.name, stage.tasks);
        if let (Some(executed), Some(cached)) = (stage.executed, stage.cached) {
            let _ = write!(out, "  {executed:>8} run  {cached:>8} cached");
            if let Some(elsewhere) = stage.elsewhere.filter(|n| *n > 0) {
                let _ = write!(out, " ({elsewhere} run elsewhere)");
            }
            if let Some(fetched) = stage.fetched.filter(|n| *n > 0) {
                let _ = write!(out, " ({fetched} from the remote cache)");
            }
        }
        if stage.failed > 0 {
            let _ = write!(out, "  {:>6} failed", stage.failed);
        }
        if stage.skipped > 0 {
            let _ = write!(out, "  {:>6} skipped", stage.skipped);
        }
        if let Some(seconds) = stage.seconds
            && seconds >= 0.01
        {
            let _ = write!(out, "  {seconds:.2} s");
        }
        out.push('\n');
        if let Some(device) = &stage.device {
            let _ = writeln!(out, "  {}", device.line());
        }
        let mut dropped: Vec<(&String, &u64)> = stage.dropped.iter().collect();
        dropped.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        if !dropped.is_empty() {
            let _ = writeln!(out, "  of {} considered", stage.considered);
        }
        for (why, n) in dropped {
            let _ = writeln!(out, "    {n:>8} {why}");
        }
    }
    if report.stages.len() > 40 {
        let _ = writeln!(out, "... and {} more stages", report.stages.len() - 40);
    }
}

/// A finding with what a person needs to judge it: the smallest test that shows it, the code that
/// the compiler makes of it, and why that is wrong.
pub fn finding(f: &Finding, style: Style, out: &mut String) {
    let _ = writeln!(
        out,
        "\n{} {} ({})",
        style.paint("31;1", "finding"),
        style.paint("1", &f.fault()),
        f.id
    );
    let seen = match f.count > 1 {
        true => {
            let each: Vec<String> = f.by_profile.iter().map(|(p, n)| format!("{p}: {n}")).collect();
            format!("; {} ({})", f.seen(), each.join(", "))
        }
        false => String::new(),
    };
    let _ = writeln!(out, "  in {}{seen}", f.test);
    let _ = writeln!(out, "  {}:", f.claim());
    for fact in f.facts() {
        let _ = writeln!(out, "    {fact}");
    }
    for wrong in f.wrong().iter().take(8) {
        let _ = writeln!(out, "    {}", style.paint("31", wrong));
    }
    for line in presence_lines(&f.presence) {
        let _ = writeln!(out, "  {line}");
    }
    if !f.cause.is_empty() {
        let _ = writeln!(out, "  due to {}", f.cause.replace('\n', "\n    "));
    }
    let (source, target, outcomes) = f.smallest();
    if !source.is_empty() {
        let word = if f.reduced.is_some() { "reduced to" } else { "source" };
        let _ = writeln!(out, "  {word}:");
        indent(source, out);
        if let Some(mix) = f.reduced.as_ref().map(|r| &r.mix).filter(|m| !m.is_empty()) {
            let _ = writeln!(out, "  mix: {mix}");
        }
    }
    if !target.is_empty() {
        // For a crash, `target` is the message of the crash.
        if f.class != Class::RuntimeCrash || !f.outcomes.forbidden.is_empty() {
            let _ = writeln!(out, "  what the compiler made of it:");
        }
        indent(target, out);
    }
    sets(f, outcomes, style, out);
    if let Some(e) = &f.evidence {
        evidence(f, e, out);
    }
    if let Some(culprit) = &f.pass {
        out.push_str(&culprit.lines());
    }
    if !f.folder.is_empty() {
        let _ = writeln!(out, "  folder: {}", f.folder);
    }
    let _ = writeln!(out, "  again: {}\n", f.command);
}

/// Both outcome sets, side by side.
fn sets(f: &Finding, outcomes: &Outcomes, style: Style, out: &mut String) {
    let all: BTreeSet<&State> = outcomes.source.iter().chain(&outcomes.target).collect();
    if all.is_empty() || all.len() > 24 {
        return;
    }
    let (source, target) = (&f.model_source, &f.model_target);
    let width = all.iter().map(|s| state_text(s).chars().count()).max().unwrap_or(0).max(8);
    let _ = writeln!(out, "  {:width$}    {source}  {target}", "outcomes");
    for state in all {
        let mark = |list: &[State], name: &str| {
            format!("{:<w$}", if list.contains(state) { "yes" } else { "-" }, w = name.len())
        };
        let wrong = outcomes.forbidden.contains(state);
        let line = format!(
            "    {:width$}  {}  {}{}",
            state_text(state),
            mark(&outcomes.source, source),
            mark(&outcomes.target, target),
            if wrong { "  <- wrong" } else { "" }
        );
        let line = line.trim_end();
        let _ = writeln!(out, "{}", if wrong { style.paint("31", line) } else { line.to_string() });
    }
}

/// The execution that shows the outcome, and the reason why the source forbids it.
fn evidence(f: &Finding, e: &Evidence, out: &mut String) {
    if let Some(run) = &e.target {
        let _ = writeln!(out, "  {} under {}:", state_text(&e.outcome), run.model);
        events(run, out);
        let pairs = |list: &[(String, String)]| {
            list.iter().map(|(a, b)| format!("{a} -> {b}")).collect::<Vec<_>>().join(", ")
        };
        for (name, list) in [("rf", &run.rf), ("co", &run.co)] {
            if !list.is_empty() {
                let _ = writeln!(out, "    {name}: {}", pairs(list));
            }
        }
    }
    let Some(run) = &e.source else {
        if f.outcomes.source.is_empty() {
            return;
        }
        let _ = writeln!(out, "  no execution of the source shows it, whatever the model");
        return;
    };
    let _ = writeln!(out, "  {} forbids that of the source:", run.model);
    events(run, out);
    for failed in &run.fails {
        let what = if failed.is_cycle { "a cycle" } else { "a pair" };
        let _ = writeln!(out, "    `{}` ({}) finds {what}:", failed.check, failed.place);
        for edge in &failed.edges {
            let _ = writeln!(out, "      {} -{}-> {}", edge.from, edge.edge, edge.to);
        }
        let _ = writeln!(out, "    in words: {}", clause::sentence(run, failed));
        let _ = writeln!(out, "    that cannot be: {}", clause::argument(run, failed).clause);
    }
}

fn events(run: &Execution, out: &mut String) {
    let width = run.events.iter().map(|e| e.event.chars().count()).max().unwrap_or(0).min(40);
    for e in &run.events {
        let at = match e.thread {
            None => "initially".to_string(),
            Some(t) => format!("P{t}: {}", e.code),
        };
        let _ = writeln!(out, "    {}: {:width$}  {at}", e.id, e.event);
    }
}

fn indent(text: &str, out: &mut String) {
    for line in text.trim().lines().take(60) {
        let _ = writeln!(out, "    {line}");
    }
}

/// Errors; those with equal messages share a line.
pub(super) fn errors(report: &Report, limit: usize, style: Style, out: &mut String) {
    let groups = report.error_groups();
    for ((_, stage), errors) in groups.iter().take(limit) {
        let first = errors[0];
        let _ = writeln!(
            out,
            "{}{}: {}",
            style.paint("33;1", "error"),
            if stage.is_empty() { String::new() } else { format!(" {stage}") },
            first.told(),
        );
        if errors.len() > 1 {
            let more = number(errors.len() as u64 - 1, "more test");
            let _ = writeln!(out, "  and {more}, the same");
        }
        if !first.reproducer.is_empty() {
            let _ = writeln!(out, "  reduced to:");
            indent(&first.reproducer, out);
        }
    }
    if groups.len() > limit {
        let _ =
            writeln!(out, "... and {} more kinds of errors (-v shows all)", groups.len() - limit);
    }
}
