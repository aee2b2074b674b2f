//! GitHub: annotations, of which a step shows ten, and the job summary for the rest.
//!
//! It does not know how findings were made.

use std::fmt::Write;

use super::{Cause, Report, Status, number, state_text};
use litmake_base::plain;

/// How many annotations of a kind GitHub shows for a step.
const SHOWN: usize = 10;

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn data(text: &str) -> String {
    plain::text(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Workflow commands for new findings and errors.
pub fn annotations(report: &Report) -> String {
    let mut out = String::new();
    let verdict = &report.verdict;
    let command = match (verdict.is_complete(), verdict.part()) {
        (true, None) => "notice",
        _ => "warning",
    };
    let _ = writeln!(out, "::{command} title=litmake::{}", data(&verdict.words()));
    for line in verdict.notes().iter().take(SHOWN) {
        let _ = writeln!(out, "::warning title=sources::{}", data(line));
    }
    let new = report.findings.iter().filter(|f| f.status == Status::New);
    for finding in new.clone().take(SHOWN) {
        // GitHub needs an existing file as a place.
        let file = match finding.file.is_empty() {
            true => String::new(),
            false => format!("file={},", property(&finding.file)),
        };
        let _ = writeln!(
            out,
            "::error {file}title={}::{}",
            property(&finding.title()),
            data(&format!(
                "{}: {}\n{}",
                finding.claim(),
                finding.wrong().join(" | "),
                finding.command
            ))
        );
    }
    for error in report.errors.iter().take(SHOWN) {
        let _ =
            writeln!(out, "::warning title={}::{}", property(&error.stage), data(&error.told()));
    }
    for rest in &report.not_looked_into {
        let _ = writeln!(out, "::warning title=not looked into::{}", data(&rest.said()));
    }
    let hidden = new.count().saturating_sub(SHOWN);
    if hidden > 0 {
        let _ =
            writeln!(out, "::notice::{} in the job summary", number(hidden as u64, "more finding"));
    }
    out
}

/// A text as a cell of a table.
pub(super) fn cell(text: &str) -> String {
    let text = plain::text(text).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('`', "&#96;").replace('|', "\\|").replace('\n', " ")
}

/// A code block whose fence is longer than any fence in the text.
pub fn block(language: &str, text: &str, out: &mut String) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(out, "{fence}{language}\n{}\n{fence}\n", plain::text(text.trim_end()));
}

/// The job summary, as Markdown.
pub fn summary(report: &Report) -> String {
    let mut out = format!("## litmake: {}\n\n", cell(&report.pipeline));
    let (_, said) = report.headline("new finding");
    let _ = writeln!(out, "**{}**. {}\n", cell(&said), cell(&report.verdict.words()));
    for line in report.verdict.notes() {
        let _ = writeln!(out, "- {}", cell(&line));
    }
    if !report.verdict.notes().is_empty() {
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{} new, {} known, {} fixed, {}\n",
        report.count(Status::New),
        report.count(Status::Known),
        report.count(Status::Fixed),
        number(report.errors.len() as u64, "error")
    );
    if !report.findings.is_empty() {
        out += "| | bug | what | example | forbidden outcome |\n| --- | --- | --- | --- | --- |\n";
        for finding in report.findings.iter().take(1000) {
            let state = finding.outcomes.forbidden.first().map(state_text);
            let _ = writeln!(
                out,
                "| {:?} | {} | {} | {} [{}] | <code>{}</code> |",
                finding.status,
                finding.id,
                cell(&finding.title()),
                cell(&finding.test),
                cell(&finding.profiles.join(", ")),
                cell(&state.unwrap_or_default())
            );
        }
        out.push('\n');
    }
    for rest in &report.not_looked_into {
        let _ = writeln!(out, "{}\n", cell(&rest.said()));
    }
    if !report.errors.is_empty() {
        out += "| stage | test | error |\n| --- | --- | --- |\n";
        for error in report.errors.iter().take(200) {
            let mark = if error.cause == Cause::Input { "input: " } else { "" };
            let _ = writeln!(
                out,
                "| {} | {} | {mark}{} |",
                cell(&error.stage),
                cell(&error.test),
                cell(&error.message)
            );
        }
        out.push('\n');
    }
    out += "| stage | tasks | failed |\n| --- | --- | --- |\n";
    for stage in &report.stages {
        let _ = writeln!(out, "| {} | {} | {} |", cell(&stage.name), stage.tasks, stage.failed);
    }
    out
}
