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
pub mod github;
pub mod html;
pub mod issue;
pub mod judged;
pub mod junit;
pub mod logs;
pub mod matrix;
pub mod mechanism;
pub mod merge;
pub mod page;
pub mod passes;
pub mod picture;
pub mod plot;
pub mod sarif;
pub mod statement;
pub mod table;
pub mod terminal;
pub mod verdict;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use bugs::{Occurrence, Unexplored};
use compilation::Compilation;
pub use compilers::{Compiler, compiler_name};
use coverage::Coverage;
use evidence::{Changes, Differences, Evidence, Mend, Presence, Reduced};
use judged::BugChange;
use litmake_base::failure::FailureKind;
use litmake_base::plain;
use mechanism::Mechanism;
use passes::Culprit;
use verdict::Verdict;

/// The report of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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

/// The mixes of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Mixes {
    /// The test's name.
    pub test: String,
    /// Profiles to the power of parts, as text because the number can exceed what readers of JSON
    /// hold.
    pub assignments: String,
    /// The number of distinct code sequences of each part.
    pub sequences: BTreeMap<String, usize>,
    /// The number of combinations of distinct code sequences.
    pub combinations: String,
    /// The number of mixes that differ as tests; symmetric ones count once.
    pub tests: u64,
    /// How many of these tests were simulated in this run; absent in a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<u64>,
    /// Mixes without outcomes, because something failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// Profiles whose code sequences all come from profiles before them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds_nothing: Vec<String>,
    /// Profiles that do not compile the whole test and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The compatibility of profiles, over all tests of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Compatibility {
    /// The `compare` stage.
    pub stage: String,
    /// The parts that were compiled separately: `thread` or `instruction`.
    pub split: String,
    /// The model of the sources.
    pub model_source: String,
    /// The model of the machine that runs the code.
    pub model_target: String,
    /// The profiles that were mixed.
    pub profiles: Vec<String>,
    /// The number of tests whose mixes were judged.
    pub tests: u64,
    /// The sums over all tests, as in [`Mixes`].
    pub assignments: String,
    /// See `assignments`.
    pub combinations: String,
    /// The number of mixes that differ as tests, over all tests.
    pub mixes: u64,
    /// Profiles whose code sequences all come from profiles before them, too, in every test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds_nothing: Vec<String>,
    /// The results of each profile alone, and of each pair.
    pub judged: Vec<Judged>,
    /// The largest numbers of threads and parts of a test.
    pub threads: usize,
    /// See `threads`.
    pub parts: usize,
    /// For each operation, such as `store seq_cst 32`, the code that profiles make of it.
    pub mappings: BTreeMap<String, Vec<Coded>>,
}

/// One code of an operation, and the profiles that make it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Coded {
    /// The instructions.
    pub code: String,
    /// The profiles, in the order in which they were named.
    pub profiles: Vec<String>,
    /// In the report of a part of a run, the first test in which each of the profiles makes the code.
    /// Only the code in the first test of all counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
}

/// The code of an operation in the first test with it: for the position of each profile, the test
/// and the code.
pub type FirstCode = BTreeMap<usize, (String, String)>;

impl Coded {
    /// The distinct codes of an operation, in the order of their first profiles.
    pub fn distinct(code: FirstCode, profiles: &[String]) -> Vec<Coded> {
        let mut out: Vec<Coded> = Vec::new();
        for (profile, (test, code)) in code {
            let at = out.iter().position(|c| c.code == code).unwrap_or_else(|| {
                out.push(Coded { code, ..Coded::default() });
                out.len() - 1
            });
            out[at].profiles.push(profiles[profile].clone());
            out[at].first.push(test);
        }
        out
    }
}

/// The results of one profile or of a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Judged {
    /// The profile, or the two profiles.
    pub profiles: Vec<String>,
    /// Tests with code of all these profiles.
    pub tests: u64,
    /// Tests with a finding, and the first of them.
    pub found: u64,
    /// See `found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// A part whose code differs between profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Clash {
    /// The name of the part, such as `P0_1`.
    pub part: String,
    /// The source of the part.
    pub source: String,
    /// The instructions of each profile.
    pub code: BTreeMap<String, String>,
}

/// The work of an instance of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stage {
    /// The stage's name, with the values of its variables.
    pub name: String,
    /// The kind of the stage: `compile`, `simulate`, ...
    pub kind: String,
    /// The number of results that were to be computed.
    pub tasks: u64,
    /// Results that were computed in this run, and results from the cache. Both describe the run
    /// and not its results, and are absent in a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<u64>,
    /// Of the executed tasks, those that other machines executed; absent if no other machine was
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<u64>,
    /// See `executed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Of the cached tasks, those from the remote cache; absent if no remote cache was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<u64>,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks that were not run because their input failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// The time that the work took, summed over all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The number of files, cycles or tests from which the tests of the stage were chosen or made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub considered: u64,
    /// The reasons for which some of these gave no test, and how many each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
    /// In the report of a part of a run: which distinct items the stage has, such as threads that
    /// several tests have in common. Other parts may have the same ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<Distinct>,
    /// How much of a GPU the tests used, if that was asked for; absent in a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
}

/// The distinct items of a stage, as marks of their content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Distinct {
    /// All of them.
    pub tasks: coverage::Tests,
    /// Those that failed.
    #[serde(default, skip_serializing_if = "coverage::Tests::is_empty")]
    pub failed: coverage::Tests,
}

/// How much of a device the tests of a stage used, as shares of its peak rates. The cost of a test
/// is estimated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeviceUse {
    /// The number of tests with an estimate.
    pub tests: u64,
    /// The peak rate of memory: bytes per second that a copy reads and writes.
    pub bytes_per_second: f64,
    /// The peak rate of arithmetic operations per second.
    pub operations_per_second: f64,
    /// The peak rate of atomic operations per second.
    pub atomics_per_second: f64,
    /// The used share of the memory's bandwidth.
    pub memory: Share,
    /// The used share of the rate of operations.
    pub operations: Share,
    /// The used share of the rate of atomic operations.
    pub atomics: Share,
    /// The number of tests that each of these limits.
    pub limits: BTreeMap<String, u64>,
}

/// The distribution of a share over tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Share {
    /// The median.
    pub median: f64,
    /// The maximum.
    pub most: f64,
}

impl Share {
    /// The distribution over some tests.
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
    /// A description in one line.
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
/// The kinds of bugs.
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Compiled code allows what its source forbids.
    #[default]
    Concurrency,
    /// The code of each compiler is right alone, and wrong when it is mixed.
    Mixing,
    /// Compilers do not agree on the layout of a type.
    AbiLayout,
    /// Compiled code crashes, or would crash where memory is read-only.
    RuntimeCrash,
    /// A model and a machine disagree.
    Model,
    /// A device shows what the model forbids.
    Conformance,
}

impl Class {
    /// The name in reports.
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
/// The status of a finding against the baseline.
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The finding is not in the baseline.
    #[default]
    New,
    /// The finding is in the baseline.
    Known,
    /// The finding is in the baseline, and its tests ran and passed.
    Fixed,
}

/// The label of differences that `rc11-lb` allows.
pub const LOAD_BUFFERING: &str = "load buffering";

/// A final state: values by the names of registers, locals and locations.
pub type State = BTreeMap<String, String>;

/// The outcomes of a finding, and the two sets that were compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outcomes {
    /// The outcomes that the target allows and the source forbids.
    pub forbidden: Vec<State>,
    /// All outcomes that the source allows.
    pub source: Vec<State>,
    /// All outcomes that the target allows.
    pub target: Vec<State>,
}

/// A bug, with an example of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// The identity: equal for the same bug in each run, whichever profiles, versions of a compiler
    /// and tests show it.
    pub id: String,
    /// The fault in a sentence, for the title of an issue.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The class of the bug.
    pub class: Class,
    /// The compilers with the bug, without their versions; or the device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub family: String,
    /// The cause, where it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// The number of pairs of test and profiles that show the bug, in all and for each profile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub count: u64,
    /// See `count`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_profile: BTreeMap<String, u64>,
    /// The first tests and profiles that show the bug, in the order of the tests' names.
    #[serde(default)]
    pub occurrences: Vec<Occurrence>,
    /// The example, the smallest test; the fields below describe it.
    pub test: String,
    /// The file of the test, or one in `folder`; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The folder that `--findings` wrote for the bug.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The source test's text.
    pub source: String,
    /// The profile that compiled the example, or the profiles that were mixed.
    pub profiles: Vec<String>,
    /// How the test was prepared for the compiler, if more was done than passing its locations as
    /// pointers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preparation: String,
    /// The profile that compiled each part, in the notation
    /// `(c1(P0_0); c2(P0_1)) || (c1(P1_0))`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mix: String,
    /// For each profile of a mix, the other profiles that make the same code of this test.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alike: BTreeMap<String, Vec<String>>,
    /// The parts whose code differs between the profiles of the mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clash: Vec<Clash>,
    /// Barriers that would each mend the mix, the weakest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mends: Vec<Mend>,
    /// The model of the source.
    pub model_source: String,
    /// The model of the target.
    pub model_target: String,
    /// The outcomes that differ.
    pub outcomes: Outcomes,
    /// Weaker models of the source that allow all of the forbidden outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<String>,
    /// The kind of difference: `load buffering` where `rc11-lb` allows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Locations that the source only reads and the target writes. The target crashes if they are
    /// read-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The signal that ended the program when it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The smallest source that shows the bug.
    pub reproducer: String,
    /// A command that shows the bug again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The lifted target, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// How the smallest test is compiled, with each profile of the example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compilations: Vec<Compilation>,
    /// Why the outcome is wrong, for the reduced test if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// A smaller test, if one was looked for and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduced: Option<Reduced>,
    /// The compiler's pass to blame, if it was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Culprit>,
    /// The mechanism, if the executions tell it. `id` is then made from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<Mechanism>,
    /// The ids of its parts while no pass was known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<String>,
    /// The results of other versions of the compiler, and of other compilers for the same target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presence: Vec<Presence>,
    /// The last version of the compiler that was asked and lacks the bug, before `first_bad`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_good: String,
    /// The version with which the bug came, the last time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first_bad: String,
    /// The status against the baseline.
    pub status: Status,
}

impl Finding {
    /// Whether only load buffering tells the target from the source.
    pub fn is_load_buffering(&self) -> bool {
        self.label == LOAD_BUFFERING
    }

    /// All ids of the finding.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.id).chain(&self.forms).map(String::as_str)
    }

    /// Sets the identity: that of its mechanism, or if none is known that of this form.
    pub fn identify(mut self, form: &str) -> Finding {
        let key = self.mechanism.as_ref().map_or(form.to_string(), |m| m.key(form));
        self.id = bugs::id(self.class, &self.family, &self.label, &key);
        self
    }

    /// Sets the counts of a finding that occurred once, in this test.
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

    /// The fault as the title of a bug: the mechanism, the label or the class, with the compiler's family.
    pub fn fault(&self) -> String {
        let what = match (&self.mechanism, self.label.is_empty()) {
            (Some(mechanism), true) => return mechanism.said(&self.family),
            (None, true) => format!("{} bug", self.class.name()),
            (_, false) => self.label.clone(),
        };
        match self.family.is_empty() {
            true => what,
            false => format!("{what} in {}", self.family),
        }
    }

    /// The fault, and how often it was seen.
    pub fn title(&self) -> String {
        format!("{}: {}", self.fault(), self.seen())
    }

    /// How often the bug was seen: `3 times on 2 profiles`.
    pub fn seen(&self) -> String {
        let own = || bugs::profiles_key(&self.profiles);
        match (self.count, self.by_profile.len()) {
            (0 | 1, _) => format!("1 test [{}]", own()),
            (n, 1) => format!("{n} tests [{}]", own()),
            (n, profiles) => format!("{n} times on {profiles} profiles"),
        }
    }

    /// The claim that the wrong outcomes support.
    pub fn claim(&self) -> String {
        let who = self.profiles.join(" and ");
        let (source, target) = (&self.model_source, &self.model_target);
        match self.class {
            Class::Conformance if target.is_empty() => {
                format!("{who} showed what {source} forbids")
            }
            Class::Conformance => format!("{who} on {target} showed what {source} forbids"),
            // The name of a machine's run already says how it ended.
            Class::RuntimeCrash if self.wrong().is_empty() => who,
            Class::RuntimeCrash => {
                format!("compiled with {who}, it crashes where constants cannot be written")
            }
            Class::AbiLayout => format!("{who} cannot share it"),
            _ => format!("compiled with {who}, {target} allows what {source} forbids"),
        }
    }

    /// How the example was made and what would mend it, a line each.
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

    /// The smallest source that shows the bug, its target, and their outcomes.
    pub fn smallest(&self) -> (&str, &str, &Outcomes) {
        match &self.reduced {
            Some(r) => (&r.source, &r.target, &r.outcomes),
            None => (&self.source, &self.target, &self.outcomes),
        }
    }

    /// The wrong outcomes and events, a line each.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
