//! The last line of a report, to be quoted: which tests were judged, and how many outcomes are forbidden. The tests are
//! named by a digest of their content. It does not know how they were judged.

use std::path::PathBuf;

use litmake::base::digest::Digest;
use litmake::file;
use litmake::report::{Report, number};

/// `litmake 0.2.0 suite-1a2b3c4d5e6f: 12 tests, 24 of 24 comparisons judged, 0 forbidden outcomes`
pub fn line(report: &Report, tests: &[PathBuf]) -> String {
    let content = |path: &PathBuf| {
        let bytes = file::read(path, file::MAX_DATA).unwrap_or_default();
        Digest::of(&bytes).hex()
    };
    let mut all: Vec<String> = tests.iter().map(content).collect();
    all.sort();
    let suite = Digest::of(all.join("\n").as_bytes()).short();
    let left = report.not_looked_into.iter().flat_map(|u| &u.occurrences);
    let shown = report.findings.iter().flat_map(|f| &f.occurrences).chain(left);
    let forbidden: usize = shown.map(|o| o.outcomes.forbidden.len()).sum();
    format!(
        "litmake {} suite-{suite}: {}, {} of {} judged, {}",
        env!("CARGO_PKG_VERSION"),
        number(tests.len() as u64, "test"),
        report.verdict.judged,
        number(report.verdict.asked, "comparison"),
        number(forbidden as u64, "forbidden outcome"),
    )
}
