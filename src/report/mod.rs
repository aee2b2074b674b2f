//! Reports: JSON, the terminal, HTML, JUnit, SARIF, GitHub; baselines and merging.
//!
//! This room does not know how findings were made.

pub mod baseline;
pub mod bugs;
pub mod changes;
pub mod coverage;
pub mod evidence;
pub mod explorer;
pub mod github;
pub mod html;
pub mod issue;
pub mod judged;
pub mod junit;
pub mod logs;
pub mod matrix;
pub mod merge;
pub mod page;
pub mod passes;
pub mod picture;
pub mod plot;
pub mod root;
pub mod sarif;
pub mod statement;
pub mod table;
pub mod terminal;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use bugs::{Occurrence, Unexplored};
use coverage::Coverage;
use evidence::{Changes, Differences, Evidence, Mend, Presence, Reduced};
use judged::BugChange;
use litmake_base::failure::FailureKind;
use litmake_base::plain;
use passes::Culprit;
use root::Root;

/// One run, as a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Report {
    /// The version that made it.
    pub litmake: String,
    /// The pipeline's name.
    pub pipeline: String,
    /// What was done, an instance of a stage each.
    pub stages: Vec<Stage>,
    /// Bugs, one each.
    pub findings: Vec<Finding>,
    /// Differences of which it was not found out which bug they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_into: Vec<Unexplored>,
    /// As many occurrences of each bug are in the report; all where this is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_occurrences: Option<usize>,
    /// What failed.
    pub errors: Vec<Error>,
    /// The compilers that made the code, a profile each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compilers: Vec<Compiler>,
    /// Which tests were judged; left out where there are very many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// What comparisons came to, a stage each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Differences>,
    /// What changed from one compiler to another, a stage each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Changes>,
    /// What a change to a compiler does to each bug, where both sides of a `diff` are compared with the
    /// source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bug_changes: Vec<BugChange>,
    /// How the mixes of each test were counted, where profiles were mixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<Mixes>,
    /// Which of the mixed profiles are compatible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compatibility: Vec<Compatibility>,
    /// Whether the run was stopped before its end, so that this is a part of what there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

/// The compiler behind a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Compiler {
    /// The profile's name.
    pub profile: String,
    /// As people call it: `clang 16`.
    pub compiler: String,
    /// The dialect of its code.
    pub arch: String,
    /// What it says of its version: `Debian clang version 16.0.6`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The beginning of the digest of all that it reads. Two builds of one version differ in it. A stable
    /// report has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
}

/// The mixes of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Mixes {
    /// The test's name.
    pub test: String,
    /// Profiles to the power of parts; a text, since it can be beyond what JSON's readers hold.
    pub assignments: String,
    /// Distinct code sequences, by part.
    pub sequences: BTreeMap<String, usize>,
    /// Combinations of distinct sequences.
    pub combinations: String,
    /// Those that differ as tests, symmetric ones counted once.
    pub tests: u64,
    /// How many of them had to be simulated now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<u64>,
    /// Mixes whose outcomes are not known, because something failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// Profiles that make no sequence which those before them do not make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds_nothing: Vec<String>,
    /// Profiles that do not compile all of the test, and so took no part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// How profiles get on with each other, over all tests of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Compatibility {
    /// The `compare` stage.
    pub stage: String,
    /// What was compiled on its own: `thread` or `instruction`.
    pub split: String,
    /// The model of the sources.
    pub model_source: String,
    /// The model of the machine on which all of the code runs.
    pub model_target: String,
    /// Those that were mixed.
    pub profiles: Vec<String>,
    /// Tests of which mixes were judged.
    pub tests: u64,
    /// Sums over all tests.
    pub assignments: String,
    /// See `assignments`.
    pub combinations: String,
    /// Mixes that differ as tests, over all tests.
    pub mixes: u64,
    /// Profiles that never make a sequence which those before them do not make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds_nothing: Vec<String>,
    /// On how many tests each profile, and each pair of them, was judged.
    pub judged: Vec<Judged>,
    /// Within which bounds: the most threads and parts that a test had.
    pub threads: usize,
    /// See `threads`.
    pub parts: usize,
    /// What profiles make of each operation: `store seq_cst 32`.
    pub mappings: BTreeMap<String, Vec<Coded>>,
}

/// The instructions of an operation, and the profiles that make them of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Coded {
    /// The instructions.
    pub code: String,
    /// In the order in which they were named.
    pub profiles: Vec<String>,
}

/// A profile, or two, and what was found of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Judged {
    /// One or two.
    pub profiles: Vec<String>,
    /// Tests in which all of them took part.
    pub tests: u64,
    /// Tests with a finding, and the first of these.
    pub found: u64,
    /// See `found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// A part that profiles make differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Clash {
    /// Its name: `P0_1`.
    pub part: String,
    /// The statement.
    pub source: String,
    /// The instructions of each profile.
    pub code: BTreeMap<String, String>,
}

/// What an instance of a stage did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stage {
    /// The stage's name, with the values of its variables.
    pub name: String,
    /// What it does: `compile`, `simulate`, ...
    pub kind: String,
    /// How many results there were to have.
    pub tasks: u64,
    /// What tells of the run and not of its results; left out of a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<u64>,
    /// Of the executed ones, those that other machines executed; left out where none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<u64>,
    /// See `executed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Of the cached ones, those that came from the remote cache; left out where none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<u64>,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks whose input came to nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// How long its work took, the sum over all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What the tests of the stage were chosen or made from: files, cycles, tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub considered: u64,
    /// Why some of that gives no test, and how much of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
    /// How much of a GPU its tests used, where that was asked; left out of a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
}

/// How much of a device the tests of a stage used: shares of what it does at best, by an estimate of what tests cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeviceUse {
    /// Tests of which there is an estimate.
    pub tests: u64,
    /// Bytes that a copy reads and writes in a second.
    pub bytes_per_second: f64,
    /// Operations on numbers in a second.
    pub operations_per_second: f64,
    /// Atomic operations in a second.
    pub atomics_per_second: f64,
    /// Of the memory's bandwidth.
    pub memory: Share,
    /// Of the rate of operations.
    pub operations: Share,
    /// Of the rate of atomic operations.
    pub atomics: Share,
    /// What limits how many of the tests.
    pub limits: BTreeMap<String, u64>,
}

/// A share, over tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Share {
    /// Half of the tests have less.
    pub median: f64,
    /// The largest one.
    pub most: f64,
}

impl Share {
    /// Over some tests.
    pub fn of(mut shares: Vec<f64>) -> Share {
        shares.sort_by(f64::total_cmp);
        let most = shares.last().copied().unwrap_or(0.0);
        Share { median: shares.get(shares.len() / 2).copied().unwrap_or(0.0), most }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} % (at most {:.3} %)", self.median * 100.0, self.most * 100.0)
    }
}

impl DeviceUse {
    /// For people.
    pub fn line(&self) -> String {
        let mut limits: Vec<(&String, &u64)> = self.limits.iter().collect();
        limits.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let limits: Vec<String> = limits.iter().map(|(what, n)| format!("{n} by {what}")).collect();
        format!(
            "half of {} tests use up to: of a copy's memory ({:.3e} bytes/s) {}, operations {}, atomics {}; limited: {}",
            self.tests,
            self.bytes_per_second,
            self.memory,
            self.operations,
            self.atomics,
            limits.join(", ")
        )
    }
}

#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
/// What kind of bug a finding is.
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Compiled code allows what its source forbids.
    #[default]
    Concurrency,
    /// Each compiler's code is right alone, and together they are not.
    Mixing,
    /// Compilers do not agree on the layout of a type.
    AbiLayout,
    /// Compiled code crashes, or would where memory cannot be written.
    RuntimeCrash,
    /// A model and a machine do not agree.
    Model,
    /// A device shows what the model forbids.
    Conformance,
}

impl Class {
    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Concurrency => "concurrency",
            Class::Mixing => "mixing",
            Class::AbiLayout => "abi-layout",
            Class::RuntimeCrash => "runtime-crash",
            Class::Model => "model",
            Class::Conformance => "conformance",
        }
    }
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
/// What a baseline says of a finding.
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is not in the baseline.
    #[default]
    New,
    /// It is in the baseline.
    Known,
    /// In the baseline, looked for, and not there any more.
    Fixed,
}

/// A final state: values by the names of registers, locals and locations.
pub type State = BTreeMap<String, String>;

/// The outcomes that make a finding, and both sets that they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outcomes {
    /// What the target allows and the source forbids.
    pub forbidden: Vec<State>,
    /// All that the source allows.
    pub source: Vec<State>,
    /// All that the target allows.
    pub target: Vec<State>,
}

/// A bug, with an example of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// The same for the same bug in each run, whichever profiles, versions of a compiler and tests
    /// show it.
    pub id: String,
    /// What kind of bug it is.
    pub class: Class,
    /// The compilers that have it, without their versions; or the device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub family: String,
    /// What it is due to, where that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// How many tests show it with some profiles, and how many with each.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub count: u64,
    /// See `count`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_profile: BTreeMap<String, u64>,
    /// The first tests and profiles that show it, in order of the tests' names.
    #[serde(default)]
    pub occurrences: Vec<Occurrence>,
    /// The example of it that the rest tells of: the smallest test.
    pub test: String,
    /// A file that shows it: the test's, or one in `folder`; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The folder that `--findings` wrote about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The source test's text.
    pub source: String,
    /// What compiled the example: one profile, or those that were mixed.
    pub profiles: Vec<String>,
    /// How the test was put to the compiler, where that is not behind pointers alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preparation: String,
    /// Which profile compiled which part, in the notation `(c1(P0_0); c2(P0_1)) || (c1(P1_0))`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mix: String,
    /// For profiles of a mix, others that make of this test the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alike: BTreeMap<String, Vec<String>>,
    /// The parts that the profiles of a mix make differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clash: Vec<Clash>,
    /// Barriers of which each alone would mend a mix, the weakest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mends: Vec<Mend>,
    /// The model of the source.
    pub model_source: String,
    /// The model of the target.
    pub model_target: String,
    /// What differs.
    pub outcomes: Outcomes,
    /// Further models of the source, weaker ones, that allow all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<String>,
    /// What kind of difference that is: `load buffering` where `rc11-lb` allows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Locations that the source only reads and the target writes, which crashes where they
    /// cannot be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// What ended it when it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The smallest source that shows it.
    pub reproducer: String,
    /// A command that shows it again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The lifted target, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Why the outcome is wrong; of the reduced test, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// A smaller test, where one was looked for and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduced: Option<Reduced>,
    /// The pass of the compiler that did it, where that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Culprit>,
    /// Its root cause, where a pass is shown or likely to be it. Then `id` is made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
    /// The ids by which its parts are known where passes are not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<String>,
    /// Other versions of the compiler, and other compilers of the same code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presence: Vec<Presence>,
    /// What the baseline says of it.
    pub status: Status,
}

impl Finding {
    /// All ids that it is known by.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.id).chain(&self.forms).map(String::as_str)
    }

    /// The finding with its identity, which is that of a bug of this form.
    pub fn identify(mut self, form: &str) -> Finding {
        self.id = bugs::id(self.class, &self.family, &self.label, form);
        self
    }

    /// A finding that occurred once, with itself as its occurrence.
    pub fn once(mut self) -> Finding {
        self.count = 1;
        self.by_profile = BTreeMap::from([(bugs::profiles_key(&self.profiles), 1)]);
        self.occurrences = vec![Occurrence {
            test: self.test.clone(),
            profiles: self.profiles.clone(),
            outcomes: self.outcomes.clone(),
        }];
        self
    }

    /// In one line, what it is called and how often it was seen.
    pub fn title(&self) -> String {
        let what = match self.label.is_empty() {
            true => format!("{} bug", self.class.name()),
            false => self.label.clone(),
        };
        let family = match self.family.is_empty() {
            true => String::new(),
            false => format!(" in {}", self.family),
        };
        format!("{what}{family}: {}", self.seen())
    }

    /// How often it was seen: `3 times on 2 profiles`.
    pub fn seen(&self) -> String {
        let own = || bugs::profiles_key(&self.profiles);
        match (self.count, self.by_profile.len()) {
            (0 | 1, _) => format!("1 test [{}]", own()),
            (n, 1) => format!("{n} tests [{}]", own()),
            (n, profiles) => format!("{n} times on {profiles} profiles"),
        }
    }

    /// What it says, before what is wrong.
    pub fn claim(&self) -> String {
        let who = self.profiles.join(" and ");
        let (source, target) = (&self.model_source, &self.model_target);
        match self.class {
            Class::Conformance if target.is_empty() => {
                format!("{who} showed what {source} forbids")
            }
            Class::Conformance => format!("{who} on {target} showed what {source} forbids"),
            // What a machine did says for itself how it ended.
            Class::RuntimeCrash if self.wrong().is_empty() => who,
            Class::RuntimeCrash => {
                format!("compiled with {who}, it crashes where constants cannot be written")
            }
            Class::AbiLayout => format!("{who} cannot share it"),
            _ => format!("compiled with {who}, {target} allows what {source} forbids"),
        }
    }

    /// How it was made and what would mend it, a line each.
    pub fn facts(&self) -> Vec<String> {
        let mut out = Vec::new();
        if !self.preparation.is_empty() {
            out.push(format!("with {}", self.preparation));
        }
        if !self.mix.is_empty() {
            out.push(format!("mix: {}", self.mix));
        }
        for clash in self.clash.iter().take(8) {
            out.push(format!("{}: {}", clash.part, clash.source));
            out.extend(clash.code.iter().map(|(profile, code)| format!("  {profile}: {code}")));
        }
        for Mend { profile, operation, barrier, before } in self.mends.iter().take(4) {
            let place = if *before { "before" } else { "behind" };
            out.push(format!("mended by `{barrier}` {place} each `{operation}` of {profile}"));
        }
        let alike = self.alike.iter();
        out.extend(alike.map(|(profile, like)| format!("like {profile}: {}", like.join(", "))));
        out
    }

    /// The smallest source that shows it, its target, and their outcomes.
    pub fn smallest(&self) -> (&str, &str, &Outcomes) {
        match &self.reduced {
            Some(r) => (&r.source, &r.target, &r.outcomes),
            None => (&self.source, &self.target, &self.outcomes),
        }
    }

    /// What is wrong, a line each.
    pub fn wrong(&self) -> Vec<String> {
        let states = self.outcomes.forbidden.iter().map(state_text);
        let faults = self.faults.iter().map(|place| format!("a write to `{place}`"));
        let signal = self.signal.map(|n| format!("signal {n} when it is run"));
        states.chain(faults).chain(signal).collect()
    }
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
/// Who has to do something about an error.
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A test or another input is wrong.
    Input,
    /// Something that the run needs failed.
    #[default]
    Run,
}

/// Something that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Error {
    /// In which instance of a stage.
    pub stage: String,
    /// With which test.
    pub test: String,
    /// What is wrong, for people.
    pub message: String,
    /// What the exit status follows.
    pub cause: Cause,
    /// For decisions of the run itself; reports have the words.
    #[serde(skip)]
    pub kind: FailureKind,
    /// The smallest source with which a compiler fails in this way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reproducer: String,
}

/// Looks in JSON for characters that are shown by their number.
struct Scan {
    found: bool,
}

impl std::io::Write for Scan {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // In JSON, controls are escaped but for the rare ones; text comes in whole pieces.
        let text = std::str::from_utf8(bytes).unwrap_or("\0");
        self.found |= text.contains("\\u") || matches!(plain::text(text), Cow::Owned(_));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Makes all texts in a report harmless; names are on one line.
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

/// A number of things: `1 error`, `2 errors`.
pub fn number(n: impl Into<u64>, thing: &str) -> String {
    match n.into() {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

/// A state on one line, as herd writes it.
pub fn state_text(state: &State) -> String {
    let parts: Vec<String> = state.iter().map(|(k, v)| format!("{k}={v};")).collect();
    parts.join(" ")
}

impl Report {
    /// The report with nothing in it that drives a terminal, for people.
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
        // A report reads back what it wrote.
        Cow::Owned(value.and_then(serde_json::from_value).unwrap_or_default())
    }

    /// The report without what differs between runs that found the same.
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
        // An equal compiler finds the same.
        for compiler in &mut self.compilers {
            compiler.build.clear();
        }
        self
    }

    /// As the file has it.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// How many findings the baseline says that of.
    pub fn count(&self, status: Status) -> usize {
        self.findings.iter().filter(|f| f.status == status).count()
    }

    /// Errors that say the same of different tests, by what they say and in which stage.
    pub fn error_groups(&self) -> BTreeMap<(&str, &str), Vec<&Error>> {
        let mut groups: BTreeMap<(&str, &str), Vec<&Error>> = BTreeMap::new();
        for error in &self.errors {
            let message = error.message.strip_prefix(&*error.test).unwrap_or(&error.message);
            groups.entry((message, error.stage.as_str())).or_default().push(error);
        }
        groups
    }

    /// How many differences were not looked into.
    pub fn unexplored(&self) -> u64 {
        self.not_looked_into.iter().map(|u| u.count).sum()
    }

    /// 0: nothing new; 1: new findings; 2: inputs are wrong; 3: something failed.
    pub fn exit_status(&self) -> u8 {
        if self.errors.iter().any(|e| e.cause == Cause::Run) {
            3
        } else if !self.errors.is_empty() {
            2
        } else if self.count(Status::New) > 0 || !self.not_looked_into.is_empty() {
            // What was not looked into may be new.
            1
        } else {
            0
        }
    }
}
