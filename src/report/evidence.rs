//! What is known of a finding beyond its outcomes: executions, other compilers, a smaller test.
//!
//! It does not know how any of that was found out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Outcomes, State};

/// Why one outcome is wrong: an execution of the target that shows it, and what in the source's
/// model forbids it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Evidence {
    /// The final state.
    pub outcome: State,
    /// What the target does, under its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Execution>,
    /// What the source would have to do, and which checks of its model that fails. There is none
    /// where no execution at all shows the outcome: then no memory model is needed to forbid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Execution>,
}

/// What the threads of a test did, and in which order memory saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Execution {
    /// The model that judges it.
    pub model: String,
    /// By thread, each in its order; initial writes first.
    pub events: Vec<Event>,
    /// Which write each read reads from, by the events' letters.
    pub rf: Vec<(String, String)>,
    /// The order of writes to each location, without what follows from it.
    pub co: Vec<(String, String)>,
    /// The checks that it fails; none where the model allows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fails: Vec<Failed>,
}

/// One access or fence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Event {
    /// The letter by which relations name it.
    pub id: String,
    /// `None` for an initial write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u16>,
    /// In the text of the test, counted from 1; 0 for an initial write.
    #[serde(default)]
    pub line: usize,
    /// The instruction or expression.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Such as `R(ACQ)[x]=1`.
    pub event: String,
}

/// A check of a model that an execution fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failed {
    /// As the model calls it.
    pub check: String,
    /// Where the model says so.
    pub place: String,
    /// Its edges lead back to where they began; otherwise from one event to another.
    pub is_cycle: bool,
    /// In order: each begins where the one before ends.
    pub edges: Vec<Edge>,
}

/// Two events in a relation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Edge {
    /// The letter of the first event.
    pub from: String,
    /// The relation, as models call it.
    pub edge: String,
    /// The letter of the second event.
    pub to: String,
}

/// Whether another compiler, or another version of one, shows a positive difference too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Presence {
    /// The profile.
    pub profile: String,
    /// The compiler as people call it: `clang 16`.
    pub compiler: String,
    /// Whether it does.
    pub shows: Shows,
    /// Why that cannot be said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
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
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
/// Whether a compiler shows something.
#[serde(rename_all = "lowercase")]
pub enum Shows {
    /// It does.
    Present,
    /// It does not.
    Absent,
    /// Something failed.
    #[default]
    Unknown,
}

/// Each compiler once, in their order: it has it if it has it with any of the profiles that were asked.
pub fn by_compiler(presence: &[Presence]) -> Vec<(&str, Shows)> {
    let mut out: Vec<(&str, Shows)> = Vec::new();
    for p in presence {
        match out.iter_mut().find(|(compiler, _)| *compiler == p.compiler) {
            Some((_, shows)) => *shows = p.shows.min(*shows),
            None => out.push((&p.compiler, p.shows)),
        }
    }
    out
}

/// In which compilers it is, in which not, and between which versions that changed, a line each.
pub fn presence_lines(presence: &[Presence]) -> Vec<String> {
    // One word a compiler, and its versions behind it, in their order.
    let compilers = by_compiler(presence);
    let mut tools: Vec<(&str, Vec<(&str, Shows)>)> = Vec::new();
    for (compiler, shows) in &compilers {
        let (tool, version) = compiler.split_once(' ').unwrap_or((compiler, ""));
        match tools.iter_mut().find(|(t, _)| *t == tool) {
            Some((_, tried)) => tried.push((version, *shows)),
            None => tools.push((tool, vec![(version, *shows)])),
        }
    }
    let has_it_otherwise = |p: &&Presence| {
        p.shows == Shows::Absent && compilers.contains(&(&*p.compiler, Shows::Present))
    };
    let partly: Vec<&str> = presence.iter().filter(has_it_otherwise).map(|p| &*p.profile).collect();
    let mut out = Vec::new();
    for (shows, word) in [
        (Shows::Present, "present in"),
        (Shows::Absent, "absent from"),
        (Shows::Unknown, "unknown for"),
    ] {
        let names: Vec<String> = tools
            .iter()
            .map(|(tool, tried)| (tool, ranges(tried, shows)))
            .filter(|(_, ranges)| !ranges.is_empty())
            .map(|(tool, ranges)| format!("{tool} {}", ranges.join(", ")).trim().to_string())
            .collect();
        if !names.is_empty() {
            out.push(format!("{word} {}", names.join("; ")));
        }
    }
    if !partly.is_empty() {
        out.push(format!("though not with {}", few(&partly)));
    }
    for (tool, tried) in &tools {
        let known: Vec<_> = tried.iter().filter(|(_, shows)| *shows != Shows::Unknown).collect();
        for pair in known.windows(2) {
            match pair {
                [(a, Shows::Absent), (b, Shows::Present)] => {
                    out.push(format!("began between {tool} {a} and {b}"));
                }
                [(a, Shows::Present), (b, Shows::Absent)] => {
                    out.push(format!("ended between {tool} {a} and {b}"));
                }
                _ => {}
            }
        }
    }
    out
}

/// The first of many names, and how many more there are.
fn few(names: &[&str]) -> String {
    const FEW: usize = 4;
    match names.len() {
        0..=FEW => names.join(", "),
        n => format!("{} and {} others", names[..FEW].join(", "), n - FEW),
    }
}

/// The versions that say this, of those that were tried: three in a row and more as a range.
fn ranges(tried: &[(&str, Shows)], shows: Shows) -> Vec<String> {
    let mut out = Vec::new();
    for run in tried.chunk_by(|a, b| (a.1 == shows) == (b.1 == shows)) {
        match run {
            [(_, first), ..] if *first != shows => {}
            [(first, _), _, .., (last, _)] => out.push(format!("{first} to {last}")),
            run => out.extend(run.iter().map(|(version, _)| version.to_string())),
        }
    }
    out
}

/// A smaller test that shows a positive difference too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reduced {
    /// The test, in C.
    pub source: String,
    /// The mix of it that is wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mix: String,
    /// What was made of it.
    pub target: String,
    /// What differs.
    pub outcomes: Outcomes,
    /// The thread whose code alone is to blame, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u16>,
    /// The same for tests that are equal but for names and layout: findings with equal digests
    /// are most likely one bug.
    pub digest: String,
}

/// A barrier that, in all that one profile makes of an operation, makes every mix right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Mend {
    /// Whose code it would be put into.
    pub profile: String,
    /// Such as `load seq_cst 32`.
    pub operation: String,
    /// The instruction.
    pub barrier: String,
    /// Before the operation's code; else behind it.
    pub before: bool,
}

/// What the comparisons of one stage came to, tests counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Differences {
    /// The `compare` stage, with the values of its variables.
    pub stage: String,
    /// The profile, or those that were mixed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// The compiler without its version (`gcc`), and the dialect of its code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub compiler: String,
    /// See `compiler`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arch: String,
    /// What tells the profile from the others of its family.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The model of the sources.
    pub model_source: String,
    /// Tests of which both sides are known.
    pub compared: u64,
    /// Tests with outcomes that the source forbids; those of undefined sources are not counted.
    pub positive: u64,
    /// Of those, under each weaker model of the sources, how many do not disappear.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub positive_under: BTreeMap<String, u64>,
    /// Tests without some outcome that the source allows.
    pub negative: u64,
    /// Tests whose source has undefined behaviour, and how many of them differ.
    pub undefined: u64,
    /// See `undefined`.
    pub undefined_positive: u64,
    /// Of the undefined sources, how many do arithmetic that C leaves undefined, by the flags of simulations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub undefined_by: BTreeMap<String, u64>,
}

/// What changed from one compiler to another, tests counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Changes {
    /// The `diff` stage, with the values of its variables.
    pub stage: String,
    /// The profile of the first side.
    pub before: String,
    /// The profile of the second side.
    pub after: String,
    /// Tests of which both sides are known.
    pub compared: u64,
    /// Tests whose code differs.
    pub code: u64,
    /// Tests whose outcomes differ; with equal code that is the models' doing.
    pub outcomes: u64,
    /// Tests with outcomes that only the second allows, and only the first.
    pub gained: u64,
    /// See `gained`.
    pub lost: u64,
    /// The code of threads, where both were compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<Threads>,
    /// Each of those tests, in order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Changed>,
    /// Tests of which the baseline has a change of outcomes that was looked for and is gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

/// How the code of distinct threads changed. A test that is compiled as a whole counts as one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Threads {
    /// Threads that both compiled, and those of which the code differs.
    pub compared: u64,
    /// See `compared`.
    pub changed: u64,
    /// The same of the threads that have an operation, such as `exchange relaxed 32`, for each operation
    /// that is in a changed one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constructs: BTreeMap<String, Share>,
    /// In the changed threads: instructions of the lifted code, and how many of these are barriers.
    pub instructions: Moved,
    /// See `instructions`.
    pub barriers: Moved,
}

/// A part of a number of threads.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Share {
    /// Those that changed.
    pub changed: u64,
    /// All.
    pub compared: u64,
}

/// A number before and after.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Moved {
    /// With the first compiler.
    pub before: u64,
    /// With the second.
    pub after: u64,
}

impl std::fmt::Display for Moved {
    /// `+3 (40 -> 43)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.after < self.before { '-' } else { '+' };
        let by = self.after.abs_diff(self.before);
        write!(f, "{sign}{by} ({} -> {})", self.before, self.after)
    }
}

/// A test whose code or outcomes changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Changed {
    /// The test's name.
    pub test: String,
    /// Whether its code differs.
    pub code: bool,
    /// Whether the baseline has all that it gains and loses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Outcomes that only the second compiler's code allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gained: Vec<State>,
    /// Outcomes that only the first compiler's code allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<State>,
    /// The code of both, for the first few.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code_before: String,
    /// See `code_before`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code_after: String,
}

impl Changed {
    /// Whether its outcomes differ.
    pub fn moved(&self) -> bool {
        !self.gained.is_empty() || !self.lost.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_say_the_same_are_a_range_and_where_they_change_is_said() {
        use Shows::{Absent, Present, Unknown};
        let said = |list: &[(&str, Shows)]| {
            let presence: Vec<Presence> = list
                .iter()
                .map(|(compiler, shows)| Presence {
                    compiler: compiler.to_string(),
                    shows: *shows,
                    ..Presence::default()
                })
                .collect();
            presence_lines(&presence)
        };
        let list = [
            ("clang 13", Absent),
            ("clang 14", Present),
            ("clang 15", Present),
            ("clang 16", Present),
            ("clang 19", Unknown),
            ("clang 22", Absent),
            ("gcc 11", Absent),
            ("gcc 12", Absent),
        ];
        let expected = [
            "present in clang 14 to 16",
            "absent from clang 13, 22; gcc 11, 12",
            "unknown for clang 19",
            "began between clang 13 and 14",
            "ended between clang 16 and 22",
        ];
        assert_eq!(said(&list), expected);
        assert_eq!(said(&[("rustc", Present)]), ["present in rustc"]);
    }

    #[test]
    fn a_version_that_has_it_with_some_options_has_it_and_nothing_changed_within_it() {
        use Shows::{Absent, Present, Unknown};
        let tried = [
            ("clang-13-O2", "clang 13", Absent),
            ("clang-13-pic-O2", "clang 13", Absent),
            ("clang-14-O2", "clang 14", Absent),
            ("clang-14-pic-O2", "clang 14", Present),
            ("clang-15-O2", "clang 15", Unknown),
            ("clang-15-pic-O2", "clang 15", Present),
        ];
        let presence: Vec<Presence> = tried
            .iter()
            .map(|(profile, compiler, shows)| Presence {
                profile: profile.to_string(),
                compiler: compiler.to_string(),
                shows: *shows,
                error: String::new(),
            })
            .collect();
        let expected = [
            "present in clang 14, 15",
            "absent from clang 13",
            "though not with clang-14-O2",
            "began between clang 13 and 14",
        ];
        assert_eq!(presence_lines(&presence), expected);
    }
}
