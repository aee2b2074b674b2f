//! Writes a report as JUnit XML, which most CI servers show.
//!
//! It does not know how findings were made.

use std::fmt::Write;

use super::{Report, Status};
use litmake_base::plain;

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain::text(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            // XML 1.0 does not allow these characters.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A test case for the verdict, each bug, each group of differences that were not looked into, each
/// error, and each stage. The verdict's case is an error unless everything was judged, and is
/// skipped for a part of a run.
pub fn junit(report: &Report) -> String {
    let mut failures = report.count(Status::New);
    let mut cases = String::new();
    let mut count = 1;
    let verdict = &report.verdict;
    let words = escape(&verdict.words());
    let notes: String = verdict.notes().iter().map(|n| format!("\n{}", escape(n))).collect();
    let _ = write!(cases, "    <testcase classname=\"verdict\" name=\"{}\"", verdict.state.name());
    let _ = match (verdict.is_complete(), verdict.part()) {
        (true, None) => {
            writeln!(cases, ">\n      <system-out>{words}{notes}</system-out>\n    </testcase>")
        }
        (true, Some(_)) => {
            writeln!(cases, ">\n      <skipped message=\"{words}\"/>\n    </testcase>")
        }
        (false, _) => {
            writeln!(cases, ">\n      <error message=\"{words}\">{notes}</error>\n    </testcase>")
        }
    };
    let (mut skipped, unjudged) = (
        usize::from(verdict.is_complete() && verdict.part().is_some()),
        usize::from(!verdict.is_complete()),
    );
    for finding in &report.findings {
        count += 1;
        let _ = write!(
            cases,
            "    <testcase classname=\"{}\" name=\"{} {}\"",
            finding.class.name(),
            escape(&finding.id),
            escape(&finding.title())
        );
        if !finding.file.is_empty() {
            let _ = write!(cases, " file=\"{}\"", escape(&finding.file));
        }
        if finding.status == Status::New {
            let states = finding.wrong();
            let _ = writeln!(
                cases,
                ">\n      <failure message=\"{}: {}\">{}</failure>\n    </testcase>",
                escape(&finding.claim()),
                escape(&states.join(" | ")),
                escape(&finding.command)
            );
        } else {
            cases.push_str("/>\n");
        }
    }
    for rest in &report.not_looked_into {
        count += 1;
        failures += 1;
        let said = escape(&rest.said());
        let _ = writeln!(
            cases,
            "    <testcase classname=\"{}\" name=\"{said}\">\n      <failure message=\"{said}\"/>\n    </testcase>",
            rest.class.name()
        );
    }
    for error in &report.errors {
        count += 1;
        let _ = writeln!(
            cases,
            "    <testcase classname=\"{}\" name=\"{}\">\n      <error message=\"{}\"/>\n    </testcase>",
            escape(&error.stage),
            escape(&error.test),
            escape(&error.message)
        );
    }
    for stage in &report.stages {
        count += 1;
        let name = escape(&stage.name);
        let _ = write!(cases, "    <testcase classname=\"stage\" name=\"{name}\"");
        let lacks = stage.failed + stage.skipped;
        let why = match verdict.is_complete() {
            false if verdict.stopped => "the run was stopped".to_string(),
            false if stage.tasks == 0 => "it had nothing to do".to_string(),
            false if lacks > 0 => format!("{lacks} of {} have no result", stage.tasks),
            _ => {
                cases.push_str("/>\n");
                continue;
            }
        };
        skipped += 1;
        let _ = writeln!(cases, ">\n      <skipped message=\"{why}\"/>\n    </testcase>");
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{count}\" failures=\"{failures}\" errors=\"{}\" skipped=\"{skipped}\">\n{cases}  </testsuite>\n</testsuites>\n",
        escape(&report.pipeline),
        report.errors.len() + unjudged
    )
}
