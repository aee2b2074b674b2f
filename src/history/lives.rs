//! Follows each bug over the runs: when it was first seen, last seen, fixed and reopened, and with
//! which compilers.
//!
//! It does not know where runs are stored, nor how results are shown.

use std::collections::{BTreeMap, BTreeSet};

use litmake_report::compiler_name;
use litmake_report::evidence::{Shows, by_compiler};
use litmake_report::{Class, Finding};
use serde::Serialize;

use crate::record::{Date, Note, Run};

/// The contents of a record.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The runs, by date.
    pub runs: Vec<Run>,
    /// An example of each bug, by the id of the bug.
    pub examples: BTreeMap<String, Finding>,
    /// The notes, by date.
    pub notes: Vec<Note>,
}

/// The state of a bug after the last run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Some profile showed it when it was last looked for.
    #[default]
    Open,
    /// A bug of a device that comes and goes while the device and its driver are the same.
    Flaky,
    /// Every profile that showed it was tried again and does not show it.
    Fixed,
}

impl State {
    /// The name on pages and in lists.
    pub fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Flaky => "flaky",
            State::Fixed => "fixed",
        }
    }
}

/// The change of a bug in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// No earlier run showed it.
    New,
    /// The last profile that showed it does not any more.
    Fixed,
    /// It was fixed, and some profile shows it again.
    Reopened,
}

impl Change {
    /// The name on pages and in lists.
    pub fn name(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Fixed => "fixed",
            Change::Reopened => "reopened",
        }
    }
}

/// A bug with its history.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bug {
    /// The id in reports.
    pub id: String,
    /// The class of the bug.
    pub class: Class,
    /// The family of compilers.
    pub family: String,
    /// The kind of difference that a weaker model explains, if any.
    pub label: String,
    /// A title of a few words.
    pub title: String,
    /// The state after the last run.
    pub state: State,
    /// The indices of the first and the last run that showed it.
    #[serde(skip)]
    pub first: usize,
    /// See `first`.
    #[serde(skip)]
    pub last: usize,
    /// The dates of these runs.
    pub first_seen: Date,
    /// See `first_seen`.
    pub last_seen: Date,
    /// The dates on which it appeared, was fixed and was reopened.
    pub changes: Vec<(Date, Change)>,
    /// The same changes, with the indices of runs.
    #[serde(skip)]
    pub turns: Vec<(usize, Change)>,
    /// The number of runs that showed it.
    pub nights: u64,
    /// The record with each profile or choice of mixed profiles.
    pub profiles: BTreeMap<String, Life>,
    /// Whether each compiler version, or device, showed it when it was last tried.
    pub compilers: BTreeMap<String, bool>,
    /// The owner, from a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The number or address of an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracker: Option<String>,
    /// The texts of notes, with their dates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<(Date, String)>,
}

/// The record of a bug with one profile.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Life {
    /// Whether it showed when it was last looked for.
    pub shows: bool,
    /// The number of tests in the last run that showed it.
    pub tests_that_show: u64,
    /// The tests with which later runs look for it.
    pub tests: BTreeSet<String>,
    /// Each change of the answer: the index of the run, and whether it showed.
    #[serde(skip)]
    pub turns: Vec<(usize, bool)>,
    /// The index of the last run that looked for it.
    #[serde(skip)]
    pub asked: usize,
    /// The last answer for each compiler version of the profile.
    #[serde(skip)]
    pub compilers: BTreeMap<String, bool>,
}

/// The runs and bugs of a record.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The runs, by date.
    pub runs: Vec<Run>,
    /// The bugs, by id.
    pub bugs: Vec<Bug>,
    /// An example of each bug, by the id of the bug.
    pub examples: BTreeMap<String, Finding>,
}

/// Whether bugs of a class are measured, because they show when tests run and not in a simulation.
fn is_measured(class: Class) -> bool {
    matches!(class, Class::Conformance | Class::RuntimeCrash)
}

/// The column of a profile: its compiler with the version; mixes and devices keep their own names.
fn column(run: &Run, profile: &str) -> String {
    match run.compiler(profile) {
        Some(c) if !profile.contains(" + ") => compiler_name(&c.compiler, &c.version),
        _ => profile.to_string(),
    }
}

impl Bug {
    /// Notes whether a run showed the bug with a profile.
    fn look(&mut self, at: usize, profile: &str, column: &str, shows: bool) {
        if !self.profiles.contains_key(profile) {
            self.profiles.insert(profile.to_string(), Life::default());
        }
        let Some(life) = self.profiles.get_mut(profile) else { return };
        life.asked = at;
        if life.turns.last().map(|(_, s)| *s) != Some(shows) {
            life.turns.push((at, shows));
        }
        life.shows = shows;
        match life.compilers.get_mut(column) {
            Some(known) => *known = shows,
            None => drop(life.compilers.insert(column.to_string(), shows)),
        }
    }

    /// Whether the answer for a profile changed while its compiler, or its device with the driver,
    /// was the same.
    fn comes_and_goes(&self, runs: &[Run]) -> bool {
        let build = |at: usize, p: &str| runs[at].compiler(p).map(|c| c.build.as_str());
        self.profiles
            .iter()
            .any(|(p, life)| life.turns.windows(2).any(|w| build(w[0].0, p) == build(w[1].0, p)))
    }

    fn is_shown(&self) -> bool {
        self.profiles.values().any(|life| life.shows)
    }

    fn turn(&mut self, at: usize, date: Date, change: Change) {
        self.turns.push((at, change));
        self.changes.push((date, change));
    }

    /// The change of the bug in a run.
    pub fn change_in(&self, at: usize) -> Option<Change> {
        self.turns.iter().find(|(run, _)| *run == at).map(|(_, change)| *change)
    }

    /// The profiles that showed it when it was last looked for.
    pub fn shown_on(&self) -> impl Iterator<Item = &str> {
        self.profiles.iter().filter(|(_, life)| life.shows).map(|(p, _)| p.as_str())
    }
}

impl History {
    /// The history of all bugs in a record.
    pub fn of(kept: Kept) -> History {
        let Kept { runs, examples, notes } = kept;
        let mut bugs: BTreeMap<String, Bug> = BTreeMap::new();
        let mut columns = BTreeSet::new();
        for (at, run) in runs.iter().enumerate() {
            let names: Vec<String> = run.profiles.iter().map(|p| column(run, p)).collect();
            let name = |number: usize| names.get(number).map_or("", String::as_str);
            columns.extend(run.compilers.iter().map(|c| compiler_name(&c.compiler, &c.version)));
            for shown in &run.bugs {
                let bug = bugs.entry(shown.id.clone()).or_insert_with(|| Bug {
                    id: shown.id.clone(),
                    first: at,
                    first_seen: run.date,
                    ..Bug::default()
                });
                let before = (!bug.turns.is_empty()).then(|| bug.is_shown());
                (bug.last, bug.last_seen) = (at, run.date);
                bug.nights += 1;
                for (number, tests) in &shown.tests {
                    let life = bug.profiles.entry(run.profile(*number).to_string()).or_default();
                    life.tests.extend(tests.iter().cloned());
                }
                for (number, n) in &shown.on {
                    bug.look(at, run.profile(*number), name(*number), true);
                    if let Some(life) = bug.profiles.get_mut(run.profile(*number)) {
                        life.tests_that_show = *n;
                    }
                }
                match before {
                    None => bug.turn(at, run.date, Change::New),
                    Some(false) => bug.turn(at, run.date, Change::Reopened),
                    Some(true) => {}
                }
            }
            for (id, numbers) in &run.clean {
                let Some(bug) = bugs.get_mut(id) else { continue };
                let before = bug.is_shown();
                for number in numbers {
                    bug.look(at, run.profile(*number), name(*number), false);
                }
                if before && !bug.is_shown() {
                    bug.turn(at, run.date, Change::Fixed);
                }
            }
        }
        for note in notes {
            let Some(bug) = bugs.get_mut(&note.bug) else { continue };
            let set = |place: &mut Option<String>, value: Option<String>| {
                if let Some(value) = value {
                    *place = Some(value).filter(|v| !v.is_empty());
                }
            };
            set(&mut bug.owner, note.owner);
            set(&mut bug.tracker, note.tracker);
            bug.notes.extend(note.text.map(|text| (note.date, text)));
        }
        let mut out = History { runs, bugs: bugs.into_values().collect(), examples };
        for bug in &mut out.bugs {
            for (name, shows) in bug.profiles.values().flat_map(|life| &life.compilers) {
                *bug.compilers.entry(name.clone()).or_default() |= shows;
            }
            if let Some(example) = out.examples.get(&bug.id) {
                bug.class = example.class;
                bug.family = example.family.clone();
                bug.label = example.label.clone();
                bug.title = short(example);
                // Other versions that were tried when the example was looked into.
                let asked = by_compiler(&example.presence);
                for (compiler, shows) in asked.into_iter().filter(|(_, s)| *s != Shows::Unknown) {
                    let longer = format!("{compiler}.");
                    let known = columns.iter().find(|c| c.starts_with(&longer));
                    let name = known.map_or(compiler, String::as_str).to_string();
                    bug.compilers.entry(name).or_insert(shows == Shows::Present);
                }
            }
            if bug.title.is_empty() {
                bug.title = "bug".to_string();
            }
            let comes_and_goes = bug.comes_and_goes(&out.runs);
            bug.state = match bug.is_shown() {
                _ if is_measured(bug.class) && comes_and_goes => State::Flaky,
                true => State::Open,
                false => State::Fixed,
            };
        }
        out
    }

    /// The bug with an id.
    pub fn bug(&self, id: &str) -> Option<&Bug> {
        self.bugs.binary_search_by(|b| b.id.as_str().cmp(id)).ok().map(|i| &self.bugs[i])
    }

    /// The bugs with a change of this kind in a run.
    pub fn changed(&self, at: usize, change: Change) -> Vec<&Bug> {
        self.bugs.iter().filter(|b| b.change_in(at) == Some(change)).collect()
    }

    /// The number of open bugs after each run.
    pub fn open_after(&self) -> Vec<u64> {
        let mut steps = vec![0i64; self.runs.len()];
        for (at, change) in self.bugs.iter().flat_map(|b| &b.turns) {
            steps[*at] += if *change == Change::Fixed { -1 } else { 1 };
        }
        let mut open = 0;
        steps
            .iter()
            .map(|step| {
                open += step;
                open.max(0) as u64
            })
            .collect()
    }

    /// The index of the run with a name, or with the only name that begins so; `last` is the last
    /// run.
    pub fn run(&self, name: &str) -> Option<usize> {
        if name == "last" {
            return self.runs.len().checked_sub(1);
        }
        let found: Vec<usize> = (0..self.runs.len())
            .filter(|i| !name.is_empty() && self.runs[*i].id.starts_with(name))
            .collect();
        let whole = found.iter().copied().find(|i| self.runs[*i].id == name);
        whole.or(match found[..] {
            [one] => Some(one),
            _ => None,
        })
    }
}

/// The atomic operations in a text, each once. Plain loads, stores and fences are only listed if
/// there is nothing else.
fn operations(text: &str) -> String {
    let mut all: Vec<&str> = Vec::new();
    for part in text.split("atomic_").skip(1) {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let name = part[..end].strip_suffix("_explicit").unwrap_or(&part[..end]);
        if part[end..].starts_with('(') && !all.contains(&name) {
            all.push(name);
        }
    }
    let is_usual = |name: &&str| ["load", "store", "thread_fence"].contains(name);
    if !all.iter().all(is_usual) {
        all.retain(|n| !is_usual(n));
    }
    all.join(", ")
}

/// A title of a few words: the fault, or else the operations of the test.
fn short(f: &Finding) -> String {
    if f.mechanism.is_some() && f.label.is_empty() {
        return f.fault();
    }
    let what = match (f.label.is_empty(), f.cause.is_empty()) {
        (false, _) => f.label.clone(),
        (true, false) => operations(&f.cause),
        (true, true) => operations(&f.reproducer),
    };
    let what = match what.is_empty() {
        true => format!("{} bug", f.class.name()),
        false => what,
    };
    match f.family.is_empty() {
        true => what,
        false => format!("{what} in {}", f.family),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_called_by_its_operations() {
        let said = |cause: &str, label: &str| {
            short(&Finding {
                cause: cause.into(),
                label: label.into(),
                family: "clang".into(),
                ..Finding::default()
            })
        };
        let core = "P0(atomic_int* x) { atomic_store_explicit(x, 1); atomic_thread_fence(r); atomic_fetch_add_explicit(x); }";
        assert_eq!(said(core, ""), "fetch_add in clang");
        assert_eq!(said("atomic_store(x, 1); atomic_load(y);", ""), "store, load in clang");
        assert_eq!(said(core, "load buffering"), "load buffering in clang");
        assert_eq!(said("", ""), "concurrency bug in clang");
    }

    #[test]
    fn a_compiler_is_called_by_the_number_that_it_says() {
        let name = |version: &str| compiler_name("gcc 12", version);
        assert_eq!(name("gcc-12 (Debian 12.2.0-14) 12.2.1"), "gcc 12.2.1");
        assert_eq!(name("Debian clang version 16.0.6 (15~deb12u1)"), "gcc 16.0.6");
        assert_eq!(name("clang version 23.0.0git (https://x.y 1.2)"), "gcc 23.0.0git");
        // Each night's build of a release to come is a column of its own.
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let llvm = format!("clang version 23.0.0git (https://github.com/llvm/x.git {hash})");
        assert_eq!(name(&llvm), "gcc 23.0.0git 0123456789ab");
        let debian =
            "Debian clang version 23.0.0 (++20261101041234+1a2b3c4d5e6f-1~exp1~20261101.7)";
        assert_eq!(name(debian), "gcc 23.0.0 1a2b3c4d5e6f");
        let gcc = "gcc (GCC) 17.0.0 20261101 (experimental) [master r17-2663-gabcdef012345]";
        assert_eq!(name(gcc), "gcc 17.0.0 r17-2663-gabcdef012345");
        assert_eq!(name(""), "gcc 12");
    }
}
