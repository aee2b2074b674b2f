//! The parts of a finding beyond its outcomes: executions, other compilers, a smaller test.
//!
//! It does not know how any of it was computed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Outcomes, State};

/// Why an outcome is wrong: an execution of the target that shows it, and why the source's model
/// forbids it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The final state.
    pub outcome: State,
    /// The execution of the target, under its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Execution>,
    /// The execution that the source would need, with the checks of its model that it fails. Absent
    /// where no execution shows the outcome, so that no memory model is needed to forbid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Execution>,
}

/// The events of an execution, and the order in which memory saw them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// The model that judges it.
    pub model: String,
    /// Initial writes first, then each thread's events in its order.
    pub events: Vec<Event>,
    /// For each read, the write that it reads from, by the letters of the events.
    pub rf: Vec<(String, String)>,
    /// The order of the writes to each location; pairs that follow from others are left out.
    pub co: Vec<(String, String)>,
    /// The checks that the execution fails; none if the model allows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fails: Vec<Failed>,
}

/// One access or fence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The letter of the event in relations.
    pub id: String,
    /// The thread; `None` for an initial write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u16>,
    /// The line in the text of the test, counted from 1; 0 for an initial write.
    #[serde(default)]
    pub line: usize,
    /// The instruction or expression.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The event, such as `R(ACQ)[x]=1`.
    pub event: String,
}

/// A check of a model that an execution fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failed {
    /// The name of the check in the model.
    pub check: String,
    /// The place of the check in the model.
    pub place: String,
    /// Whether the edges form a cycle. Otherwise they lead from one event to another.
    pub is_cycle: bool,
    /// The edges in order; each begins where the one before ends.
    pub edges: Vec<Edge>,
}

/// Two events in a relation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Edge {
    /// The letter of the first event.
    pub from: String,
    /// The name of the relation in the model.
    pub edge: String,
    /// The letter of the second event.
    pub to: String,
}

/// Whether another compiler, or another version, also shows a positive difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Presence {
    /// The profile.
    pub profile: String,
    /// The compiler with its version, such as `clang 16`.
    pub compiler: String,
    /// Whether the compiler shows the difference.
    pub shows: Shows,
    /// The error, where the answer is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
/// Whether a compiler shows a difference.
#[serde(rename_all = "lowercase")]
pub enum Shows {
    /// It shows it.
    Present,
    /// It does not show it.
    Absent,
    /// Unknown, because something failed.
    #[default]
    Unknown,
}

/// Each compiler once, in their order. A compiler shows the difference if it does with any of its
/// profiles.
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

/// The last version without the difference and the first with it, of the compiler that comes first:
/// where it was last introduced. Empty where no version before was asked, or none shows it.
pub fn since(presence: &[Presence]) -> (String, String) {
    let compilers = by_compiler(presence);
    let Some((tool, tried)) = by_tool(&compilers).into_iter().next() else {
        return Default::default();
    };
    let known: Vec<(&str, Shows)> =
        tried.into_iter().filter(|(_, shows)| *shows != Shows::Unknown).collect();
    let begins = |n: &usize| {
        let is_new = n.checked_sub(1).is_none_or(|before| known[before].1 == Shows::Absent);
        known[*n].1 == Shows::Present && is_new
    };
    let Some(first) = (0..known.len()).rev().find(begins) else { return Default::default() };
    let name = |n: usize| format!("{tool} {}", known[n].0).trim_end().to_string();
    (first.checked_sub(1).map(name).unwrap_or_default(), name(first))
}

/// A compiler, and its versions that were tried.
type Tried<'a> = (&'a str, Vec<(&'a str, Shows)>);

/// The versions of each compiler: the first word of a name is the compiler, and what follows is its
/// version.
fn by_tool<'a>(compilers: &[(&'a str, Shows)]) -> Vec<Tried<'a>> {
    let mut out: Vec<Tried> = Vec::new();
    for (compiler, shows) in compilers {
        let (tool, version) = compiler.split_once(' ').unwrap_or((compiler, ""));
        match out.iter_mut().find(|(t, _)| *t == tool) {
            Some((_, tried)) => tried.push((version, *shows)),
            None => out.push((tool, vec![(version, *shows)])),
        }
    }
    out
}

/// The compilers that show the difference, those that do not, and the versions between which that
/// changed, a line each.
pub fn presence_lines(presence: &[Presence]) -> Vec<String> {
    let compilers = by_compiler(presence);
    let tools = by_tool(&compilers);
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

/// The first few names, and the number of the others.
fn few(names: &[&str]) -> String {
    const FEW: usize = 4;
    match names.len() {
        0..=FEW => names.join(", "),
        n => format!("{} and {} others", names[..FEW].join(", "), n - FEW),
    }
}

/// The tried versions with this answer; three or more in a row become a range.
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

/// A smaller test that also shows a positive difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reduced {
    /// The test, in C.
    pub source: String,
    /// The mix that is wrong, if profiles were mixed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mix: String,
    /// The lifted test.
    pub target: String,
    /// The outcomes that differ.
    pub outcomes: Outcomes,
    /// The thread whose code alone is to blame, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u16>,
    /// A digest that is equal for tests that differ only in names and layout: findings with equal
    /// digests are most likely one bug.
    pub digest: String,
}

/// A barrier that makes every mix right when it is added to all code that one profile makes of an
/// operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mend {
    /// The profile whose code gets the barrier.
    pub profile: String,
    /// The operation, such as `load seq_cst 32`.
    pub operation: String,
    /// The instruction of the barrier.
    pub barrier: String,
    /// Whether the barrier comes before the operation's code; otherwise it comes after.
    pub before: bool,
}

/// The result of the comparisons of one stage, as numbers of tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    /// The `compare` stage, with the values of its variables.
    pub stage: String,
    /// The profile that compiled the tests, or those that were mixed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// The compiler without its version (`gcc`), and the dialect of its code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub compiler: String,
    /// See `compiler`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arch: String,
    /// The variables that tell the profile from others of its family.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The model of the sources.
    pub model_source: String,
    /// Tests with known outcomes on both sides.
    pub compared: u64,
    /// Tests with outcomes that the source forbids, without those whose source is undefined.
    pub positive: u64,
    /// The number of positive differences that remain under each weaker model of the sources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub positive_under: BTreeMap<String, u64>,
    /// Tests that lack an outcome that the source allows.
    pub negative: u64,
    /// Tests whose source has undefined behaviour, and the number of them that differ.
    pub undefined: u64,
    /// See `undefined`.
    pub undefined_positive: u64,
    /// How many undefined sources do arithmetic that C leaves undefined, by the flags of
    /// simulations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub undefined_by: BTreeMap<String, u64>,
}

/// The changes from one compiler to another, as numbers of tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Changes {
    /// The `diff` stage, with the values of its variables.
    pub stage: String,
    /// The profile of the first side.
    pub before: String,
    /// The profile of the second side.
    pub after: String,
    /// Tests that have results on both sides.
    pub compared: u64,
    /// Tests whose code differs.
    pub code: u64,
    /// Tests whose outcomes differ. With equal code, the models are the reason.
    pub outcomes: u64,
    /// Tests with outcomes that only the second side allows, and with outcomes that only the first
    /// side allows.
    pub gained: u64,
    /// See `gained`.
    pub lost: u64,
    /// How the code of threads changed, if both sides were compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<Threads>,
    /// The changed tests, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Changed>,
    /// Tests with a known change of outcomes that the run looked for and did not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

/// How the code of distinct threads changed. A test that is compiled as a whole counts as one
/// thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Threads {
    /// Threads that both sides compiled, and those with different code.
    pub compared: u64,
    /// See `compared`.
    pub changed: u64,
    /// The same for the threads with an operation, such as `exchange relaxed 32`, for each
    /// operation of a changed thread.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constructs: BTreeMap<String, Share>,
    /// In the changed threads: the instructions of the lifted code, and the barriers among them.
    pub instructions: Moved,
    /// See `instructions`.
    pub barriers: Moved,
    /// In the report of a part of a run: the threads one by one, since other parts may have the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<Thread>,
}

/// A thread that both sides compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// The mark that tells the thread from other threads.
    pub mark: String,
    /// Its operations, each once.
    pub operations: Vec<String>,
    /// If its code differs: the instructions, and the barriers among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<[Moved; 2]>,
}

impl Threads {
    /// The counts of some threads, which differ.
    pub fn of(each: &[Thread]) -> Threads {
        let mut out = Threads { compared: each.len() as u64, ..Threads::default() };
        for thread in each {
            out.changed += u64::from(thread.changed.is_some());
            for operation in &thread.operations {
                let share = out.constructs.entry(operation.clone()).or_default();
                share.compared += 1;
                share.changed += u64::from(thread.changed.is_some());
            }
            let [instructions, barriers] = thread.changed.unwrap_or_default();
            for (sum, part) in
                [(&mut out.instructions, instructions), (&mut out.barriers, barriers)]
            {
                sum.before += part.before;
                sum.after += part.after;
            }
        }
        out.constructs.retain(|_, share| share.changed > 0);
        out
    }

    /// The threads of both; those of a part of a run have to be told one by one.
    pub(super) fn join(mut self, other: Threads) -> Threads {
        self.each.extend(other.each);
        self.each.sort_by(|a, b| a.mark.cmp(&b.mark));
        self.each.dedup_by(|a, b| a.mark == b.mark);
        Threads { each: self.each.clone(), ..Threads::of(&self.each) }
    }
}

/// The changed threads out of a number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Threads that changed.
    pub changed: u64,
    /// All threads.
    pub compared: u64,
}

/// A number before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// The number with the first compiler.
    pub before: u64,
    /// The number with the second compiler.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The test's name.
    pub test: String,
    /// Whether the code differs.
    pub code: bool,
    /// Whether the baseline contains all gained and lost outcomes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Outcomes that only the second compiler's code allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gained: Vec<State>,
    /// Outcomes that only the first compiler's code allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<State>,
    /// The code of both sides; only the first few changed tests have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code_before: String,
    /// See `code_before`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code_after: String,
}

impl Changed {
    /// Whether the outcomes differ.
    pub fn moved(&self) -> bool {
        !self.gained.is_empty() || !self.lost.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_there_since_it_was_last_introduced() {
        let tried = |list: &[(&str, Shows)]| {
            let one = |(compiler, shows): &(&str, Shows)| Presence {
                compiler: compiler.to_string(),
                shows: *shows,
                ..Presence::default()
            };
            since(&list.iter().map(one).collect::<Vec<_>>())
        };
        let words = |(a, b): (String, String)| format!("{a}|{b}");
        use Shows::{Absent, Present, Unknown};
        let came = [
            ("clang 13", Absent),
            ("clang 14", Unknown),
            ("clang 15", Present),
            ("clang 16", Absent),
            ("clang 17", Present),
            ("clang 18", Present),
            ("gcc 12", Present),
        ];
        assert_eq!(words(tried(&came)), "clang 16|clang 17");
        assert_eq!(words(tried(&came[..3])), "clang 13|clang 15");
        assert_eq!(words(tried(&came[2..3])), "|clang 15");
        assert_eq!(words(tried(&came[..1])), "|");
        assert_eq!(words(tried(&[])), "|");
    }

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
