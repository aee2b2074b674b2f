//! Baselines: files of known findings, so that a run fails only on new ones.
//!
//! It does not know how a run finds bugs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::bugs::{Occurrence, Unexplored, profiles_key};
use super::{Class, Finding, Report, Status, changes};
use litmake_base::diag::{Diag, Result};

const FORMAT: u32 = 2;

/// The version of baselines in which each test with its profiles was a separate finding.
const BY_TEST: u32 = 1;

/// The reason why load buffering is known without a file: it calibrates the source's model and is
/// no bug. C11's repaired model forbids it, the standard does not, and every compiler does it.
pub const CALIBRATION: &str =
    "RC11 forbids it, the C standard does not, and every compiler does it";

/// Marks load buffering as known.
pub fn calibrate(report: &mut Report) {
    for finding in report.findings.iter_mut().filter(|f| f.is_load_buffering()) {
        if finding.status == Status::New {
            finding.status = Status::Known;
        }
    }
}

/// The result of a run for a test with some profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The run did not look.
    Nothing,
    /// The run looked and there is no difference.
    Clean,
    /// The run looked and there is a difference.
    Differs,
}

/// Whether a finding is of one test with its profiles, as in baselines of version [`BY_TEST`].
fn is_by_test(f: &Finding) -> bool {
    f.occurrences.is_empty()
}

/// Whether two findings are one bug. Where the passes of both are shown, only these tell; otherwise
/// one of them may have been found without looking at passes.
fn is_same(a: &Finding, b: &Finding) -> bool {
    let shown = |f: &Finding| f.mechanism.as_ref().is_some_and(|m| !m.pass.is_empty());
    match shown(a) && shown(b) {
        true => a.id == b.id,
        false => a.ids().any(|id| b.ids().any(|other| other == id)),
    }
}

fn subject(f: &Finding) -> (Class, &str, &[String]) {
    (f.class, &f.test, &f.profiles)
}

/// A file of known findings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The format's version.
    pub baseline: u32,
    /// The known findings, one for each bug.
    pub known: Vec<Finding>,
    /// Differences of outcomes between two profiles, one for each test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<changes::KnownChange>,
}

impl Baseline {
    /// Reads a baseline. A missing file is an empty baseline.
    #[cfg(unix)]
    pub fn read(path: &std::path::Path) -> Result<Baseline> {
        use litmake_base::file;
        let name = path.display().to_string();
        match file::read_text(path, crate::MAX_BYTES) {
            Ok(text) => Baseline::of(&text, &name),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Baseline::default()),
            Err(e) => Err(Diag::new(format!("cannot read the baseline {name}: {e}"))),
        }
    }

    /// The baseline that a text is; `name` is that of its file.
    pub fn of(text: &str, name: &str) -> Result<Baseline> {
        let baseline: Baseline = serde_json::from_str(text).map_err(|e| {
            Diag::new(format!("{name}: this is no baseline: {e}"))
                .help("`litmake report baseline` writes one from a report")
        })?;
        if ![BY_TEST, FORMAT].contains(&baseline.baseline) {
            return Err(Diag::new(format!(
                "{name}: a baseline of version {}; this litmake reads {BY_TEST} and {FORMAT}",
                baseline.baseline
            )));
        }
        Ok(baseline)
    }

    /// Marks the known findings, and adds as fixed those that the run looked for and did not see.
    /// `seen` gives the run's result for a test with some profiles.
    pub fn apply(&self, report: &mut Report, seen: impl Fn(&str, &[String]) -> Seen) {
        let by_test: BTreeSet<_> = self.by_test().map(subject).collect();
        for finding in &mut report.findings {
            let class = finding.class;
            let named = |o: &Occurrence| by_test.contains(&(class, &*o.test, &*o.profiles));
            let is_known = self.known.iter().any(|known| is_same(known, finding));
            if is_known || finding.occurrences.iter().any(named) {
                finding.status = Status::Known;
            }
        }
        let mut fixed = Vec::new();
        let is_found = |old: &&Finding| report.findings.iter().any(|f| is_same(old, f));
        for old in self.known.iter().filter(|old| !is_found(old)) {
            // The finding may be among the differences that were not looked into.
            let open = |u: &Unexplored| u.class == old.class && u.family == old.family;
            if !is_by_test(old) && report.not_looked_into.iter().any(open) {
                continue;
            }
            let own = (&old.test, &old.profiles);
            let others = old.occurrences.iter().map(|o| (&o.test, &o.profiles));
            let all: Vec<Seen> = std::iter::once(own)
                .chain(others)
                .map(|(test, profiles)| seen(test, profiles))
                .collect();
            if all.contains(&Seen::Clean) && !all.contains(&Seen::Differs) {
                fixed.push(Finding { status: Status::Fixed, ..old.clone() });
            }
        }
        report.findings.extend(fixed);
    }

    /// The baseline after a run: its findings, without those that are fixed. Findings for which the
    /// run did not look stay.
    pub fn update(&self, report: &Report) -> Baseline {
        let mut known: Vec<Finding> =
            report.findings.iter().filter(|f| f.status != Status::Fixed).cloned().collect();
        // A bug replaces all known findings by test that have its class, label and profiles.
        let stands_for = |old: &Finding| {
            let profiles = profiles_key(&old.profiles);
            known.iter().any(|f| {
                f.class == old.class && f.label == old.label && f.by_profile.contains_key(&profiles)
            })
        };
        let stays = |old: &&Finding| {
            let is_seen = report.findings.iter().any(|f| is_same(old, f));
            !(is_seen || is_by_test(old) && stands_for(old))
        };
        let stay: Vec<Finding> = self.known.iter().filter(stays).cloned().collect();
        known.extend(stay);
        for finding in &mut known {
            finding.status = Status::Known;
            // The folder belongs to the run.
            finding.folder.clear();
            finding.file.clear();
        }
        known.sort_by(|a, b| (&a.test, &a.profiles, &a.id).cmp(&(&b.test, &b.profiles, &b.id)));
        let changes = changes::update(&self.changes, report);
        Baseline { baseline: FORMAT, known, changes }
    }

    fn by_test(&self) -> impl Iterator<Item = &Finding> {
        self.known.iter().filter(|f| is_by_test(f))
    }

    /// The content of the file.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Mechanism;

    fn finding(id: &str, tests: &[&str]) -> Finding {
        let occurrence = |test: &&str| Occurrence {
            test: test.to_string(),
            profiles: vec!["p".into()],
            ..Occurrence::default()
        };
        Finding {
            id: id.into(),
            test: tests[0].into(),
            profiles: vec!["p".into()],
            by_profile: [("p".to_string(), tests.len() as u64)].into(),
            occurrences: tests.iter().map(occurrence).collect(),
            ..Finding::default()
        }
    }

    fn statuses(report: &Report) -> Vec<(&str, Status)> {
        report.findings.iter().map(|f| (&*f.id, f.status)).collect()
    }

    #[test]
    fn a_bug_is_known_by_its_identity_whichever_tests_show_it() {
        let known = Baseline {
            baseline: FORMAT,
            known: vec![finding("one", &["a", "b"])],
            ..Baseline::default()
        };
        let mut report = Report {
            findings: vec![finding("one", &["c"]), finding("two", &["a"])],
            ..Report::default()
        };
        known.apply(&mut report, |_, _| Seen::Differs);
        assert_eq!(statuses(&report), [("one", Status::Known), ("two", Status::New)]);
    }

    #[test]
    fn a_bug_is_fixed_where_its_tests_were_looked_at_and_none_differs() {
        let known = Baseline {
            baseline: FORMAT,
            known: vec![finding("one", &["a", "b"])],
            ..Baseline::default()
        };
        let after = |seen: &dyn Fn(&str) -> Seen, open: bool| {
            let mut report = Report::default();
            if open {
                report.not_looked_into.push(Unexplored::default());
            }
            known.apply(&mut report, |test, _| seen(test));
            statuses(&report).iter().map(|(_, s)| *s).collect::<Vec<_>>()
        };
        assert_eq!(after(&|_| Seen::Clean, false), [Status::Fixed]);
        let partly = |t: &str| if t == "a" { Seen::Clean } else { Seen::Nothing };
        assert_eq!(after(&partly, false), [Status::Fixed]);
        let still = |t: &str| if t == "a" { Seen::Clean } else { Seen::Differs };
        assert_eq!(after(&still, false), []);
        assert_eq!(after(&|_| Seen::Nothing, false), []);
        // A difference that was not looked into may be that bug.
        assert_eq!(after(&|_| Seen::Clean, true), []);
    }

    /// A run that examines passes recognises a bug from a baseline without them, and the other way
    /// round.
    #[test]
    fn a_bug_is_known_by_its_root_cause_and_by_its_forms() {
        let root = |id: &str, forms: &[&str]| Finding {
            forms: forms.iter().map(|f| f.to_string()).collect(),
            ..finding(id, &["a"])
        };
        for (known, found) in [
            (root("form", &[]), root("cause", &["form", "another"])),
            (root("cause", &["form"]), root("form", &[])),
            (root("cause", &["form"]), root("cause", &["another"])),
        ] {
            let baseline = Baseline { baseline: FORMAT, known: vec![known], ..Baseline::default() };
            let mut report = Report { findings: vec![found], ..Report::default() };
            baseline.apply(&mut report, |_, _| Seen::Clean);
            assert_eq!(statuses(&report).len(), 1, "nothing is fixed");
            assert_eq!(report.findings[0].status, Status::Known);
            assert_eq!(baseline.update(&report).known.len(), 1);
        }
        let baseline = Baseline {
            baseline: FORMAT,
            known: vec![root("cause", &["form"])],
            ..Baseline::default()
        };
        let mut report = Report { findings: vec![root("other", &["more"])], ..Report::default() };
        baseline.apply(&mut report, |_, _| Seen::Differs);
        assert_eq!(statuses(&report), [("other", Status::New)]);
    }

    /// Two passes can have the same fault. A bug of one of them says nothing of the other.
    #[test]
    fn a_shown_pass_is_known_only_by_itself() {
        let of = |id: &str, pass: &str| Finding {
            mechanism: Some(Mechanism { pass: pass.into(), ..Mechanism::default() }),
            forms: vec!["without".into()],
            ..finding(id, &["a"])
        };
        let known = vec![of("one", "P")];
        let baseline = Baseline { baseline: FORMAT, known, ..Baseline::default() };
        let findings = vec![of("one", "P"), of("two", "Q"), finding("without", &["a"])];
        let mut report = Report { findings, ..Report::default() };
        baseline.apply(&mut report, |_, _| Seen::Differs);
        let expected = [("one", Status::Known), ("two", Status::New), ("without", Status::Known)];
        assert_eq!(statuses(&report), expected);
    }

    #[test]
    fn a_baseline_by_tests_is_matched_by_them() {
        let old = |test: &str| Finding { occurrences: Vec::new(), ..finding(test, &[test]) };
        let known = Baseline {
            baseline: BY_TEST,
            known: vec![old("a"), old("b"), old("gone")],
            ..Baseline::default()
        };
        let mut report =
            Report { findings: vec![finding("new", &["a", "b"])], ..Report::default() };
        let seen = |test: &str| if test == "gone" { Seen::Clean } else { Seen::Differs };
        known.apply(&mut report, |test, _| seen(test));
        assert_eq!(statuses(&report), [("new", Status::Known), ("gone", Status::Fixed)]);
        let next = known.update(&report);
        let ids: Vec<&str> = next.known.iter().map(|f| &*f.id).collect();
        assert_eq!((next.baseline, ids), (FORMAT, vec!["new"]));
    }
}
