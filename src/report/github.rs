//! GitHub: annotations, of which a step shows ten, and the job summary for the rest.

use std::fmt::Write;

use super::{Cause, Report, Status, state_text};
use litmake_base::plain;

/// As many annotations of a kind are shown for a step.
const SHOWN: usize = 10;

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn data(text: &str) -> String {
    plain::text(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Workflow commands for what matters most.
pub fn annotations(report: &Report) -> String {
    let mut out = String::new();
    let new = report.findings.iter().filter(|f| f.status == Status::New);
    for finding in new.clone().take(SHOWN) {
        let states = finding.wrong();
        let _ = writeln!(
            out,
            "::error file={},title={}::{}",
            property(&finding.test),
            property(&format!("{} bug", finding.class.name())),
            data(&format!(
                "{} allows what {} forbids: {}\n{}",
                finding.profiles.join(", "),
                finding.model_source,
                states.join(" | "),
                finding.command
            ))
        );
    }
    for error in report.errors.iter().take(SHOWN) {
        let _ = writeln!(
            out,
            "::warning file={},title={}::{}",
            property(&error.test),
            property(&error.stage),
            data(&error.message)
        );
    }
    let hidden = new.count().saturating_sub(SHOWN);
    if hidden > 0 {
        let _ = writeln!(out, "::notice::{hidden} more findings are in the job summary");
    }
    out
}

fn cell(text: &str) -> String {
    let text = plain::text(text).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('`', "&#96;").replace('|', "\\|").replace('\n', " ")
}

/// The job summary, as Markdown.
pub fn summary(report: &Report) -> String {
    let mut out = format!("## litmake: {}\n\n", cell(&report.pipeline));
    let _ = writeln!(
        out,
        "{} new, {} known, {} fixed, {} errors\n",
        report.count(Status::New),
        report.count(Status::Known),
        report.count(Status::Fixed),
        report.errors.len()
    );
    if !report.findings.is_empty() {
        out += "| | test | profiles | forbidden outcome |\n| --- | --- | --- | --- |\n";
        for finding in report.findings.iter().take(1000) {
            let state = finding.outcomes.forbidden.first().map(state_text);
            let _ = writeln!(
                out,
                "| {:?} | {} | {} | <code>{}</code> |",
                finding.status,
                cell(&finding.test),
                cell(&finding.profiles.join(", ")),
                cell(&state.unwrap_or_default())
            );
        }
        out.push('\n');
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
