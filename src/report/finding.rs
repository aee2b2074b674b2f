//! A finding: a bug, its example, and what was found out about it; and its words for people.
//!
//! It does not know how findings were made.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bugs::{self, Occurrence};
use super::compilation::Compilation;
use super::evidence::{Evidence, Mend, Presence, Reduced};
use super::mechanism::Mechanism;
use super::mixes::Clash;
use super::passes::Culprit;
use super::{is_zero, state_text};

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
    JsonSchema,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// The outcomes that the target allows and the source forbids.
    pub forbidden: Vec<State>,
    /// All outcomes that the source allows.
    pub source: Vec<State>,
    /// All outcomes that the target allows.
    pub target: Vec<State>,
}

/// A bug, with an example of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        let key = self.mechanism.as_ref().map_or(form.to_string(), Mechanism::key);
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

    /// The fault as the title of a bug: the mechanism, the label, what does not fit together, or the class.
    pub fn fault(&self) -> String {
        let what = match (&self.mechanism, self.label.is_empty()) {
            (Some(mechanism), true) => return mechanism.said(&self.family),
            (None, true) => match self.class {
                Class::AbiLayout | Class::Mixing if self.profiles.len() > 1 => {
                    return format!("{}: {}", self.family, self.clashes());
                }
                class => format!("{} bug", class.name()),
            },
            (_, false) => self.label.clone(),
        };
        match self.family.is_empty() {
            true => what,
            false => format!("{what} in {}", self.family),
        }
    }

    /// What does not fit together: a layout, an operation that needs a barrier, or else whole code.
    fn clashes(&self) -> String {
        let pair = self.profiles.join(" and ");
        match (self.class, self.clash.first(), self.mends.first()) {
            (Class::AbiLayout, Some(clash), _) => {
                format!("{} of `{}` differs between {pair}", clash.part, clash.source)
            }
            (Class::Mixing, _, Some(mend)) => {
                let others = self.profiles.iter().filter(|p| **p != mend.profile);
                let others = others.cloned().collect::<Vec<_>>().join(" and ");
                format!(
                    "`{}` of {} is too weak beside code of {others}",
                    mend.operation, mend.profile
                )
            }
            _ => format!("code of {pair} is wrong when it is mixed"),
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
