//! Defines what a record contains: one run, and a note on a bug.
//!
//! It does not know where these are stored, nor the history of a bug over several runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use litmake_base::diag::{Diag, Result};
use litmake_base::plain;
use litmake_report::baseline::Seen;
use litmake_report::bugs::{Unexplored, profiles_key};
use litmake_report::coverage::Coverage;
use litmake_report::verdict::Verdict;
use litmake_report::{Class, Compiler, Finding, Report, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lives::Bug;

/// The version of the format.
pub const FORMAT: u32 = 1;

/// The number of tests with which later runs look for a bug, for each profile.
const TESTS: usize = 5;

/// A time in seconds since 1970, written as `2026-11-23T02:00:00Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub u64);

/// The last second of the year 9999, the largest time that can be written.
const LAST: u64 = 253_402_300_799;

impl Date {
    /// The current time.
    pub fn now() -> Date {
        #[expect(clippy::disallowed_methods, reason = "a record says when a run was")]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Date(now.unwrap_or_default().as_secs())
    }

    /// The day.
    pub fn day(&self) -> String {
        self.to_string().chars().take(10).collect()
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.0.min(LAST));
        humantime::format_rfc3339_seconds(time).fmt(f)
    }
}

impl std::str::FromStr for Date {
    type Err = String;

    /// Reads a day, or a day and a time in UTC.
    fn from_str(text: &str) -> std::result::Result<Date, String> {
        let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_string() };
        let time = humantime::parse_rfc3339_weak(&whole).map_err(|_| {
            format!("`{text}` is no date such as 2026-11-23 or 2026-11-23T02:00:00Z")
        })?;
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        Ok(Date(since.map_err(|_| format!("`{text}` is before 1970"))?.as_secs()))
    }
}

impl Serialize for Date {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Date, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Date {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Date".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// Facts about a run that are not in its report.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// The time at which it began.
    pub date: Date,
    /// The machine on which it ran.
    pub host: Option<String>,
    /// The commit that was tested.
    pub commit: Option<String>,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The version of the format.
    pub history: u32,
    /// The name, which is also the name of the file.
    #[serde(default)]
    pub id: String,
    /// The time at which it began.
    pub date: Date,
    /// The machine on which it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The commit that was tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The version of litmake.
    pub litmake: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// The compilers of the run, one for each profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compilers: Vec<Compiler>,
    /// How much of the tests asked for was judged; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The results in numbers.
    pub counts: Counts,
    /// The time that the work took, summed over all workers; absent if the report has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Whether the run was stopped before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The profiles, or choices of mixed profiles, to which the numbers below refer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// The bugs that the run showed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<Shown>,
    /// For earlier bugs, the profiles with which their tests ran and did not differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clean: BTreeMap<String, Vec<usize>>,
    /// For bugs that are new with a profile: the run before, if it looked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
}

/// An earlier run that did not show bugs of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Before {
    /// The name of the earlier run.
    pub run: String,
    /// For each bug, the profiles with which its tests ran in the earlier run and did not differ.
    pub clean: BTreeMap<String, Vec<usize>>,
}

/// The parts of the last run of a pipeline with which the next one tells where a new bug began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latest {
    /// The version of the format.
    pub history: u32,
    /// The name of the run.
    pub run: String,
    /// Its time.
    pub date: Date,
    /// The tests that it judged.
    pub coverage: Coverage,
    /// Its differences that may be any bug.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_into: Vec<Unexplored>,
}

impl Latest {
    /// Of a run with a report; `None` if the report does not say what it judged.
    pub fn of(run: &Run, report: &Report) -> Option<Latest> {
        let rest = report
            .not_looked_into
            .iter()
            .map(|u| Unexplored { occurrences: Vec::new(), ..u.clone() });
        Some(Latest {
            history: FORMAT,
            run: run.id.clone(),
            date: run.date,
            coverage: report.coverage.clone()?,
            not_looked_into: rest.collect(),
        })
    }
}

/// A bug that a run showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// The id in the report.
    pub id: String,
    /// Whether it was in the run's baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Pairs of a profile and the number of tests that show the bug with it.
    pub on: Vec<(usize, u64)>,
    /// For profiles that are new for this bug, the tests with which later runs look for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<(usize, Vec<String>)>,
}

/// The results of a run in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// The number of tasks.
    pub tasks: u64,
    /// The number of tasks that were not in the cache, if the report has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<u64>,
    /// The number of tasks that failed.
    pub failed: u64,
    /// The number of compiled tests that were compared with their sources.
    pub compared: u64,
    /// The number of bugs.
    pub bugs: u64,
    /// The number of differences that were not looked into.
    pub not_looked_into: u64,
    /// The number of errors in the report.
    pub errors: u64,
}

/// A note on a bug. Fields that are absent change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The version of the format.
    pub history: u32,
    /// The date of the note.
    pub date: Date,
    /// The id of the bug.
    pub bug: String,
    /// The owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The number or address of an issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracker: Option<String>,
    /// The state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Mark>,
    /// For a duplicate, the id of the other bug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A state that a person gives a bug. Runs go on to say whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The state that the runs say: takes an earlier one back.
    Open,
    /// It is reported.
    Sent,
    /// It is fixed, although no run says so. It is open again when a run shows it.
    Fixed,
    /// It is no bug.
    Invalid,
    /// Nobody will mend it.
    WontFix,
    /// It is another bug of the record.
    Duplicate,
}

/// A name in a record, on one line and fit to be shown.
fn name(text: &str) -> String {
    plain::line(text.trim()).into_owned()
}

/// Checks the id of a bug, which is also the name of a file.
pub fn bug_name(id: &str) -> Result<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !id.is_empty() && id.len() <= 64 && id.chars().all(is_plain) {
        true => Ok(id),
        false => Err(Diag::new(format!("`{}` is no name of a bug", plain::line(id)))
            .help("a bug's name is the `id` of a finding, such as 8e96f294544f")),
    }
}

impl Run {
    /// The record of a report. `known` are the bugs of earlier runs; the record says for each
    /// whether this run looked for it. `latest` is the run of the pipeline before this one.
    pub fn of(
        report: &Report,
        about: &Circumstances,
        known: &[Bug],
        latest: Option<&Latest>,
    ) -> Result<Run> {
        let mut profiles = Names::default();
        let mut bugs = Vec::new();
        let shown = report.findings.iter().filter(|f| f.status != Status::Fixed);
        for finding in shown {
            bug_name(&finding.id)?;
            let old = known.iter().find(|b| b.id == finding.id);
            bugs.push(self::shown(finding, old, &mut profiles));
        }
        bugs.sort_by(|a, b| a.id.cmp(&b.id));
        let mut clean: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for bug in known {
            let now = bugs.iter().find(|b| b.id == bug.id);
            for (key, life) in &bug.profiles {
                let at = profiles.find(key);
                let is_shown =
                    now.is_some_and(|b| b.on.iter().any(|(p, n)| Some(*p) == at && *n > 0));
                let looked = report.coverage.as_ref().map(|c| (c, &*report.not_looked_into));
                let subject = (bug.class, &*bug.family);
                if !is_shown && looked.is_some_and(|l| is_gone(l, subject, key, &life.tests)) {
                    clean.entry(bug.id.clone()).or_default().push(profiles.number(key));
                }
            }
        }
        let before = latest.filter(|l| l.date < about.date);
        let before = before.and_then(|l| new_since(l, report, known, &bugs, &profiles));
        let seconds: Option<f64> = report.stages.iter().map(|s| s.seconds).sum();
        let sum = |f: &dyn Fn(&litmake_report::Stage) -> u64| report.stages.iter().map(f).sum();
        let executed: Option<u64> = report.stages.iter().map(|s| s.executed).sum();
        Ok(Run {
            history: FORMAT,
            id: String::new(),
            date: about.date,
            host: about.host.as_deref().map(name).filter(|h| !h.is_empty()),
            commit: about.commit.as_deref().map(name).filter(|c| !c.is_empty()),
            litmake: name(&report.litmake),
            pipeline: name(&report.pipeline),
            compilers: report.compilers.clone(),
            // The reasons are in the report.
            verdict: Some(Verdict { why_undefined: Vec::new(), ..report.verdict.clone() }),
            counts: Counts {
                tasks: sum(&|s| s.tasks),
                executed,
                failed: sum(&|s| s.failed),
                compared: report.differences.iter().map(|d| d.compared).sum(),
                bugs: bugs.len() as u64,
                not_looked_into: report.unexplored(),
                errors: report.errors.len() as u64,
            },
            seconds: seconds.map(|s| (s * 1000.0).round() / 1000.0),
            stopped: report.stopped,
            profiles: profiles.list,
            bugs,
            clean,
            before,
        })
    }

    /// How much was judged. For a record of an older version it is derived from the record's counts.
    pub fn verdict(&self) -> Verdict {
        if let Some(verdict) = &self.verdict {
            return verdict.clone();
        }
        let counts = &self.counts;
        let mut out = Verdict {
            asked: counts.compared,
            judged: counts.compared,
            errors: counts.errors,
            stopped: self.stopped,
            ..Verdict::default()
        };
        // Runs on devices compare nothing.
        if counts.compared == 0 && counts.errors == 0 {
            (out.asked, out.judged) =
                (counts.tasks, counts.tasks - counts.failed.min(counts.tasks));
        }
        out.settle();
        out
    }

    /// The name of the profile with a number; empty if the record is damaged.
    pub fn profile(&self, number: usize) -> &str {
        self.profiles.get(number).map_or("", String::as_str)
    }

    /// The compiler of a profile; for a mix, that of the first profile.
    pub fn compiler(&self, profile: &str) -> Option<&Compiler> {
        let first = profile.split(" + ").next().unwrap_or(profile);
        self.compilers.iter().find(|c| c.profile == first)
    }
}

/// Numbers names.
#[derive(Default)]
struct Names {
    list: Vec<String>,
}

impl Names {
    fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|n| n == name)
    }

    fn number(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            self.list.push(name.to_string());
            self.list.len() - 1
        })
    }
}

fn shown(finding: &Finding, old: Option<&Bug>, profiles: &mut Names) -> Shown {
    let own = BTreeMap::from([(profiles_key(&finding.profiles), finding.count.max(1))]);
    let by_profile = if finding.by_profile.is_empty() { &own } else { &finding.by_profile };
    let mut out = Shown {
        id: finding.id.clone(),
        known: finding.status == Status::Known,
        ..Shown::default()
    };
    for (key, n) in by_profile {
        let number = profiles.number(key);
        out.on.push((number, *n));
        if old.and_then(|b| b.profiles.get(key)).is_some_and(|life| !life.tests.is_empty()) {
            continue;
        }
        let occurrences = finding.occurrences.iter();
        let mut tests: BTreeSet<&str> = occurrences
            .filter(|o| profiles_key(&o.profiles) == *key)
            .map(|o| o.test.as_str())
            .take(TESTS)
            .collect();
        if profiles_key(&finding.profiles) == *key {
            tests.insert(&finding.test);
        }
        if !tests.is_empty() {
            out.tests.push((number, tests.into_iter().map(String::from).collect()));
        }
    }
    out
}

/// The bugs of a report that are new with a profile and were looked for before in vain.
fn new_since(
    latest: &Latest,
    report: &Report,
    known: &[Bug],
    bugs: &[Shown],
    profiles: &Names,
) -> Option<Before> {
    let looked = (&latest.coverage, &*latest.not_looked_into);
    let mut clean: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for shown in bugs {
        let Some(finding) = report.findings.iter().find(|f| f.id == shown.id) else { continue };
        let old = known.iter().find(|b| b.id == shown.id);
        for (number, tests) in &shown.tests {
            let key = &profiles.list[*number];
            let is_new = !old.is_some_and(|b| b.profiles.contains_key(key));
            let tests = tests.iter().cloned().collect();
            if is_new && is_gone(looked, (finding.class, &finding.family), key, &tests) {
                clean.entry(shown.id.clone()).or_default().push(*number);
            }
        }
    }
    (!clean.is_empty()).then(|| Before { run: latest.run.clone(), clean })
}

/// Whether a run looked for a bug, of some class and family, with a profile and did not find it: at
/// least one of its tests ran, none of them differs, and no difference that may be this bug was left
/// without a look.
fn is_gone(
    (coverage, not_looked_into): (&Coverage, &[Unexplored]),
    (class, family): (Class, &str),
    key: &str,
    tests: &BTreeSet<String>,
) -> bool {
    let open =
        |u: &Unexplored| u.class == class && u.family == family && u.by_profile.contains_key(key);
    if not_looked_into.iter().any(open) {
        return false;
    }
    let profiles: Vec<String> = match key.is_empty() {
        true => Vec::new(),
        false => key.split(" + ").map(String::from).collect(),
    };
    let all: Vec<Seen> = tests.iter().map(|t| coverage.saw(t, &profiles)).collect();
    all.contains(&Seen::Clean) && !all.contains(&Seen::Differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_written() {
        let date: Date = "2026-11-23T02:00:00Z".parse().unwrap();
        assert_eq!(date.to_string(), "2026-11-23T02:00:00Z");
        assert_eq!(
            (date.day(), "2026-11-23".parse()),
            ("2026-11-23".into(), Ok(Date(date.0 - 7200)))
        );
        for wrong in ["", "yesterday", "2026-13-01", "1969-01-01", "2026-11-23é"] {
            assert!(wrong.parse::<Date>().is_err(), "{wrong}");
        }
        assert_eq!(Date(u64::MAX).to_string(), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn a_name_of_a_bug_leads_into_no_other_folder() {
        assert!(bug_name("8e96f294544f").is_ok());
        for wrong in ["", "../x", "a/b", "a b", "\u{1b}[m", &"a".repeat(65)] {
            assert!(bug_name(wrong).is_err(), "{wrong}");
        }
    }
}
