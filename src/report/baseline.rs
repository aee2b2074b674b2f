//! Baselines: the findings that are known, so that a run goes red only on what is new.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Finding, Report, Status};
use litmake_base::diag::{Diag, Result};
use litmake_base::file;

const FORMAT: u32 = 1;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The format's version.
    pub baseline: u32,
    pub known: Vec<Finding>,
}

impl Baseline {
    /// A file that is not there is an empty baseline.
    pub fn read(path: &Path) -> Result<Baseline> {
        let text = match file::read_text(path, file::MAX_DATA) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Baseline::default()),
            Err(e) => {
                return Err(Diag::new(format!("cannot read the baseline {}: {e}", path.display())));
            }
        };
        let baseline: Baseline = serde_json::from_str(&text).map_err(|e| {
            Diag::new(format!("{}: this is no baseline: {e}", path.display()))
                .help("`litmake baseline update` writes one from a report")
        })?;
        if baseline.baseline != FORMAT {
            return Err(Diag::new(format!(
                "{}: a baseline of version {}; this litmake reads {FORMAT}",
                path.display(),
                baseline.baseline
            )));
        }
        Ok(baseline)
    }

    /// Marks what is known, and adds what was looked for and is fixed. `looked` says whether the
    /// run looked at a test with some profiles.
    pub fn apply(&self, report: &mut Report, looked: impl Fn(&Finding) -> bool) {
        let known: BTreeSet<&str> = self.known.iter().map(|f| f.id.as_str()).collect();
        let mut found = BTreeSet::new();
        for finding in &mut report.findings {
            found.insert(finding.id.clone());
            if known.contains(finding.id.as_str()) {
                finding.status = Status::Known;
            }
        }
        for old in &self.known {
            if !found.contains(&old.id) && looked(old) {
                let mut fixed = old.clone();
                fixed.status = Status::Fixed;
                report.findings.push(fixed);
            }
        }
    }

    /// The baseline after a run: what it found, without what it saw fixed; what it did not look
    /// at stays.
    pub fn update(&self, report: &Report) -> Baseline {
        let seen: BTreeSet<&str> = report.findings.iter().map(|f| f.id.as_str()).collect();
        let mut known: Vec<Finding> =
            report.findings.iter().filter(|f| f.status != Status::Fixed).cloned().collect();
        known.extend(self.known.iter().filter(|f| !seen.contains(f.id.as_str())).cloned());
        for finding in &mut known {
            finding.status = Status::Known;
        }
        known.sort_by(|a, b| (&a.test, &a.profiles, &a.id).cmp(&(&b.test, &b.profiles, &b.id)));
        Baseline { baseline: FORMAT, known }
    }

    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
