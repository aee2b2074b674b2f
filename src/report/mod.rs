//! Reports of runs: JSON, terminal, HTML, JUnit, SARIF and GitHub; baselines; merging.
//!
//! It does not know how findings were made.

pub mod audited;
pub mod baseline;
pub mod bugs;
pub mod changes;
pub mod clause;
pub mod compilation;
mod compilers;
pub mod coverage;
pub mod evidence;
pub mod explorer;
mod finding;
pub mod github;
pub mod html;
pub mod issue;
pub mod judged;
pub mod junit;
pub mod logs;
pub mod matrix;
pub mod mechanism;
pub mod merge;
mod mixes;
pub mod page;
pub mod passes;
pub mod picture;
pub mod plot;
pub mod sarif;
mod stage;
pub mod statement;
pub mod table;
pub mod terminal;
pub mod verdict;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use bugs::Unexplored;
pub use compilers::{Compiler, compiler_name};
use coverage::Coverage;
use evidence::{Changes, Differences};
pub use finding::{Class, Finding, LOAD_BUFFERING, Outcomes, State, Status};
use judged::BugChange;
use litmake_base::failure::FailureKind;
use litmake_base::plain;
pub use mixes::{Clash, Coded, Compatibility, FirstCode, Judged, Mixes};
pub use stage::{DeviceUse, Distinct, Share, Stage};
use verdict::Verdict;

/// The largest size of a file with a report or a baseline. It is read as a whole, so this bounds the memory.
pub const MAX_BYTES: u64 = 256 << 20;

/// The report of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of litmake.
    pub litmake: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// How much was judged of the comparisons that were asked for.
    #[serde(default)]
    pub verdict: Verdict,
    /// The stages, an entry for each instance.
    pub stages: Vec<Stage>,
    /// The findings, one for each bug.
    pub findings: Vec<Finding>,
    /// Differences that were not assigned to a bug.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_into: Vec<Unexplored>,
    /// How many occurrences of each bug are kept; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_occurrences: Option<usize>,
    /// The errors.
    pub errors: Vec<Error>,
    /// The compilers of the run, one for each profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compilers: Vec<Compiler>,
    /// The tests that were judged; absent if there are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// The results of comparisons, one for each stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Differences>,
    /// The changes from one compiler to another, one for each stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Changes>,
    /// How a change to a compiler affects each bug, if both sides of a `diff` are compared with the
    /// source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bug_changes: Vec<BugChange>,
    /// The numbers of mixes of each test, if profiles were mixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<Mixes>,
    /// The compatibility of the mixed profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compatibility: Vec<Compatibility>,
    /// Whether the run was stopped before its end, so that the report is incomplete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
/// Who has to act on an error.
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A test or another input is wrong.
    Input,
    /// Something that the run needs failed.
    #[default]
    Run,
}

/// Something that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// The instance of a stage.
    pub stage: String,
    /// The test.
    pub test: String,
    /// The message.
    pub message: String,
    /// The cause, which decides the exit status.
    pub cause: Cause,
    /// The kind of failure, for decisions during the run; it is not written.
    #[serde(skip)]
    pub kind: FailureKind,
    /// The smallest source with which the compiler fails in this way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reproducer: String,
}

impl Error {
    /// The message with the test that it is about, in front of the place if it has one.
    pub fn told(&self) -> String {
        match self.test.is_empty() || self.message.starts_with(&*self.test) {
            true => self.message.clone(),
            false => format!("{}: {}", self.test, self.message),
        }
    }
}

/// Looks for characters in JSON that are shown as their number.
struct Scan {
    found: bool,
}

impl std::io::Write for Scan {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // JSON escapes most control characters as `\u`; the serialiser passes text in whole pieces.
        let text = std::str::from_utf8(bytes).unwrap_or("\0");
        self.found |= text.contains("\\u") || matches!(plain::text(text), Cow::Owned(_));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Makes all texts in a report fit to be shown; names are on one line.
fn harmless(value: &mut Value, is_name: bool) {
    match value {
        Value::String(text) => {
            *text = match is_name {
                true => plain::line(text).into_owned(),
                false => plain::text(text).into_owned(),
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|v| harmless(v, is_name)),
        Value::Object(map) => {
            let names = ["test", "name", "stage", "profiles", "command", "file", "folder"];
            for (key, value) in std::mem::take(map) {
                let mut value = value;
                harmless(&mut value, names.contains(&key.as_str()));
                map.insert(plain::line(&key).into_owned(), value);
            }
        }
        _ => {}
    }
}

/// The JSON Schema of a report.
pub fn schema() -> Value {
    schemars::schema_for!(Report).to_value()
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A number with a noun: `1 error`, `2 errors`.
pub fn number(n: impl Into<u64>, thing: &str) -> String {
    match n.into() {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

/// A final state on one line, as herd writes it.
pub fn state_text(state: &State) -> String {
    let parts: Vec<String> = state.iter().map(|(k, v)| format!("{k}={v};")).collect();
    parts.join(" ")
}

impl Report {
    /// The report with all texts fit to be shown to people.
    pub fn harmless(&self) -> Cow<'_, Report> {
        let occurrences = self.findings.iter().flat_map(|f| &f.occurrences);
        let mut names = self.findings.iter().map(|f| &f.test).chain(occurrences.map(|o| &o.test));
        let clean = |text: &str| matches!(plain::line(text), Cow::Borrowed(_));
        let mut scan = Scan { found: false };
        let scanned = serde_json::to_writer(&mut scan, self);
        let errors = self.errors.iter().all(|e| clean(&e.test));
        if scanned.is_ok() && !scan.found && errors && names.all(|n| clean(n)) {
            return Cow::Borrowed(self);
        }
        let value = serde_json::to_value(self).map(|mut value| {
            harmless(&mut value, false);
            value
        });
        // Reports can be read back.
        Cow::Owned(value.and_then(serde_json::from_value).unwrap_or_default())
    }

    /// The report without the fields that differ between runs with equal results.
    pub fn stable(mut self) -> Report {
        for stage in &mut self.stages {
            stage.executed = None;
            stage.elsewhere = None;
            stage.cached = None;
            stage.fetched = None;
            stage.seconds = None;
            stage.device = None;
        }
        for mixes in &mut self.mixes {
            mixes.simulated = None;
        }
        // Equal compilers give equal results.
        for compiler in &mut self.compilers {
            compiler.build.clear();
        }
        self.verdict.audit = None;
        self
    }

    /// Gives each finding its title, and the versions between which it came. Nothing that these are
    /// made of may change after this.
    pub fn entitle(&mut self) {
        for finding in &mut self.findings {
            finding.title = finding.fault();
            (finding.last_good, finding.first_bad) = evidence::since(&finding.presence);
        }
    }

    /// The content of the file.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The number of findings with this status.
    pub fn count(&self, status: Status) -> usize {
        self.findings.iter().filter(|f| f.status == status).count()
    }

    /// Errors grouped by message and stage, without the names of tests.
    pub fn error_groups(&self) -> BTreeMap<(&str, &str), Vec<&Error>> {
        let mut groups: BTreeMap<(&str, &str), Vec<&Error>> = BTreeMap::new();
        for error in &self.errors {
            let message = error.message.strip_prefix(&*error.test).unwrap_or(&error.message);
            groups.entry((message, error.stage.as_str())).or_default().push(error);
        }
        groups
    }

    /// The number of differences that were not looked into.
    pub fn unexplored(&self) -> u64 {
        self.not_looked_into.iter().map(|u| u.count).sum()
    }

    /// The exit status: 0 if everything was judged and nothing new was found, 1 with new findings or
    /// with differences that were not looked into, 2 if inputs are wrong, 3 if something failed or was
    /// not judged. What failed comes before what was found, and what was found before what was not
    /// judged.
    pub fn exit_status(&self) -> u8 {
        if self.errors.iter().any(|e| e.cause == Cause::Run) {
            3
        } else if !self.errors.is_empty() {
            2
        } else if self.count(Status::New) > 0 || !self.not_looked_into.is_empty() {
            // A difference that was not looked into may be a new bug.
            1
        } else {
            self.verdict.status()
        }
    }
}
