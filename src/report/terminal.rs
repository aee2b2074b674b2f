//! The summary at the end of a run, for a person.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Error, Finding, Report, Status, state_text};

#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub color: bool,
    /// Show all findings with their code, not only the first few.
    pub verbose: bool,
    pub quiet: bool,
}

const SHOWN: usize = 10;

impl Style {
    fn paint(&self, code: &str, text: &str) -> String {
        match self.color {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}

pub fn summary(report: &Report, style: Style) -> String {
    let mut out = String::new();
    if !style.quiet {
        stages(report, &mut out);
    }
    let limit = if style.verbose { usize::MAX } else { SHOWN };
    let new: Vec<&Finding> = report.findings.iter().filter(|f| f.status == Status::New).collect();
    for f in new.iter().take(limit) {
        finding(f, style, &mut out);
    }
    if new.len() > limit {
        let _ = writeln!(out, "\n... and {} more (-v shows all)", new.len() - limit);
    }
    for f in report.findings.iter().filter(|f| f.status == Status::Fixed) {
        let _ = writeln!(
            out,
            "{} {} [{}]: the baseline's finding {} is gone; `litmake baseline update` forgets it",
            style.paint("32", "fixed"),
            f.test,
            f.profiles.join(", "),
            f.id
        );
    }
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
    }
    errors(&report.errors, limit, style, &mut out);
    let known = report.count(Status::Known);
    let word = match new.len() {
        0 => style.paint("32;1", "no new findings"),
        1 => style.paint("31;1", "1 finding"),
        n => style.paint("31;1", &format!("{n} findings")),
    };
    let _ = write!(out, "{word}");
    if known > 0 {
        let _ = write!(out, ", {known} known");
    }
    if !report.errors.is_empty() {
        let _ = write!(out, ", {} errors", report.errors.len());
    }
    out.push('\n');
    out
}

fn stages(report: &Report, out: &mut String) {
    let width =
        report.stages.iter().map(|s| s.name.chars().count()).max().unwrap_or(0).clamp(5, 48);
    for stage in report.stages.iter().take(40) {
        let _ = write!(out, "{:width$}  {:>8} tasks", stage.name, stage.tasks);
        if let (Some(executed), Some(cached)) = (stage.executed, stage.cached) {
            let _ = write!(out, "  {executed:>8} run  {cached:>8} cached");
        }
        if stage.failed > 0 {
            let _ = write!(out, "  {:>6} failed", stage.failed);
        }
        if let Some(seconds) = stage.seconds
            && seconds >= 0.01
        {
            let _ = write!(out, "  {seconds:.2} s");
        }
        out.push('\n');
    }
    if report.stages.len() > 40 {
        let _ = writeln!(out, "... and {} more stages", report.stages.len() - 40);
    }
}

/// One finding, with what a person needs to judge it.
pub fn finding(f: &Finding, style: Style, out: &mut String) {
    let _ = writeln!(
        out,
        "\n{} {} ({}, {})",
        style.paint("31;1", "finding"),
        style.paint("1", &f.test),
        f.class.name(),
        f.id
    );
    let _ = writeln!(
        out,
        "  compiled with {}, {} allows what {} forbids:",
        f.profiles.join(" and "),
        f.model_target,
        f.model_source
    );
    if !f.mix.is_empty() {
        let _ = writeln!(out, "    mix: {}", f.mix);
    }
    for state in f.outcomes.forbidden.iter().take(8) {
        let _ = writeln!(out, "    {}", style.paint("31", &state_text(state)));
    }
    if !f.source.is_empty() {
        let _ = writeln!(out, "  source:");
        indent(&f.source, out);
    }
    if !f.target.is_empty() {
        let _ = writeln!(out, "  what the compiler made of it:");
        indent(&f.target, out);
    }
    let _ = writeln!(out, "  again: {}\n", f.reproducer);
}

fn indent(text: &str, out: &mut String) {
    for line in text.trim().lines().take(60) {
        let _ = writeln!(out, "    {line}");
    }
}

/// Errors, those that say the same under one line.
fn errors(list: &[Error], limit: usize, style: Style, out: &mut String) {
    let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for error in list {
        let message = error.message.strip_prefix(&*error.test).unwrap_or(&error.message);
        groups.entry((message, error.stage.as_str())).or_default().push(&error.test);
    }
    for ((message, stage), tests) in groups.iter().take(limit) {
        let _ = writeln!(
            out,
            "{} {stage}: {}{message}",
            style.paint("33;1", "error"),
            tests[0].is_empty().then_some("").unwrap_or(&format!("{}: ", tests[0])),
        );
        if tests.len() > 1 {
            let _ = writeln!(out, "  and {} more tests, the same", tests.len() - 1);
        }
    }
    if groups.len() > limit {
        let _ =
            writeln!(out, "... and {} more kinds of errors (-v shows all)", groups.len() - limit);
    }
}
