//! Follows each bug over the runs: when it was first seen, last seen, fixed and reopened, and with
//! which compilers.
//!
//! It does not know where runs are stored, nor how results are shown.

use std::collections::{BTreeMap, BTreeSet};

use litmake_report::evidence::{Shows, by_compiler};
use litmake_report::{Class, Finding, LOAD_BUFFERING};
use serde::Serialize;

use crate::builds::{Build, Numbers, Span, spans};
use crate::record::{Date, Mark, Note, Run};

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
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Some profile showed it when it was last looked for.
    #[default]
    Open,
    /// A bug of a device that comes and goes while the device and its driver are the same.
    Flaky,
    /// It is open, and a note says that it is reported.
    Sent,
    /// It is there, and a note says that nobody will mend it.
    WontFix,
    /// Every profile that showed it was tried again and does not show it; or a note says that it is fixed, and
    /// no run has shown it since.
    Fixed,
    /// A note says that it is another one of the record.
    Duplicate,
    /// A note says that it is no bug.
    Invalid,
    /// Load buffering, which the C standard allows: it calibrates the model of the sources.
    Expected,
}

impl State {
    /// The name on pages and in lists.
    pub fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Flaky => "flaky",
            State::Sent => "sent",
            State::WontFix => "will not fix",
            State::Fixed => "fixed",
            State::Duplicate => "duplicate",
            State::Invalid => "invalid",
            State::Expected => "expected",
        }
    }

    /// Whether somebody has still to act on it.
    pub fn is_open(self) -> bool {
        matches!(self, State::Open | State::Flaky | State::Sent)
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
    /// Whether each build of a compiler, or device, showed it when it was last tried.
    pub compilers: BTreeMap<String, bool>,
    /// The same, by the places in `History::builds`.
    #[serde(skip)]
    pub builds: BTreeMap<usize, bool>,
    /// The builds that show it, with the last good one before and the first good one behind.
    pub spans: Vec<Span>,
    /// The owner, from a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The number or address of an issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracker: Option<String>,
    /// The bug of which it is a duplicate, from a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// The last state that a note gave it, with the date of the note.
    #[serde(skip)]
    pub mark: Option<(Date, Mark)>,
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
    /// The last answer for each build of the profile's compiler, by its number.
    #[serde(skip)]
    builds: BTreeMap<usize, bool>,
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
    /// The builds of compilers that were asked, in their order.
    pub builds: Vec<Build>,
}

/// Whether bugs of a class are measured, because they show when tests run and not in a simulation.
fn is_measured(class: Class) -> bool {
    matches!(class, Class::Conformance | Class::RuntimeCrash)
}

/// The build that compiled with a profile; mixes and devices keep their own names.
fn build(run: &Run, profile: &str) -> String {
    match run.compiler(profile) {
        Some(c) if !profile.contains(" + ") => c.name(),
        _ => profile.to_string(),
    }
}

impl Bug {
    /// Notes whether a run showed the bug with a profile, whose compiler is of a build.
    fn look(&mut self, at: usize, profile: &str, build: usize, shows: bool) {
        if !self.profiles.contains_key(profile) {
            self.profiles.insert(profile.to_string(), Life::default());
        }
        let Some(life) = self.profiles.get_mut(profile) else { return };
        life.asked = at;
        if life.turns.last().map(|(_, s)| *s) != Some(shows) {
            life.turns.push((at, shows));
        }
        life.shows = shows;
        life.builds.insert(build, shows);
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

    /// Takes over what an example says of the bug.
    fn describe(&mut self, example: &Finding, numbers: &mut Numbers) {
        self.class = example.class;
        self.family = example.family.clone();
        self.label = example.label.clone();
        self.title = short(example);
        // Other versions that were tried when the example was looked into.
        let asked = by_compiler(&example.presence);
        for (compiler, shows) in asked.into_iter().filter(|(_, s)| *s != Shows::Unknown) {
            let build = numbers.named(compiler);
            self.builds.entry(build).or_insert(shows == Shows::Present);
        }
    }

    /// The state: the word of a person counts until runs say otherwise.
    fn state_of(&self, runs: &[Run]) -> State {
        if self.label == LOAD_BUFFERING {
            return State::Expected;
        }
        let mark = self.mark.map(|(_, mark)| mark);
        match mark {
            Some(Mark::Invalid) => return State::Invalid,
            Some(Mark::Duplicate) => return State::Duplicate,
            _ => {}
        }
        let closed = self.mark.is_some_and(|(date, m)| m == Mark::Fixed && self.last_seen <= date);
        match (self.is_shown(), mark) {
            _ if closed => State::Fixed,
            _ if is_measured(self.class) && self.comes_and_goes(runs) => State::Flaky,
            (false, _) => State::Fixed,
            (true, Some(Mark::WontFix)) => State::WontFix,
            (true, Some(Mark::Sent)) => State::Sent,
            (true, _) => State::Open,
        }
    }

    /// The profiles that showed it when it was last looked for.
    pub fn shown_on(&self) -> impl Iterator<Item = &str> {
        self.profiles.iter().filter(|(_, life)| life.shows).map(|(p, _)| p.as_str())
    }
}

/// The earlier run that a run names, with the bugs that it had looked for in vain.
fn earlier<'a>(runs: &[Run], run: &'a Run) -> Option<(usize, &'a BTreeMap<String, Vec<usize>>)> {
    let before = run.before.as_ref()?;
    Some((runs.iter().position(|r| r.id == before.run)?, &before.clean))
}

impl History {
    /// The history of all bugs in a record.
    pub fn of(kept: Kept) -> History {
        let Kept { runs, examples, notes } = kept;
        let mut bugs: BTreeMap<String, Bug> = BTreeMap::new();
        let mut numbers = Numbers::default();
        for (at, run) in runs.iter().enumerate() {
            for compiler in &run.compilers {
                numbers.used(&compiler.name(), at);
            }
            // Profiles are named by their numbers; other numbers are in damaged records only.
            let used: Vec<usize> =
                run.profiles.iter().map(|p| numbers.used(&build(run, p), at)).collect();
            let vain = earlier(&runs, run);
            let vain = vain.map(|(earlier, clean)| {
                let of = |p: &String| numbers.used(&build(&runs[earlier], p), earlier);
                (run.profiles.iter().map(of).collect::<Vec<_>>(), clean)
            });
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
                let clean = vain.iter().filter_map(|(used, all)| Some((used, all.get(&shown.id)?)));
                for (used, numbers) in clean {
                    for number in numbers.iter().filter(|n| **n < used.len()) {
                        let life =
                            bug.profiles.entry(run.profile(*number).to_string()).or_default();
                        life.builds.entry(used[*number]).or_insert(false);
                    }
                }
                for (number, n) in shown.on.iter().filter(|(n, _)| *n < used.len()) {
                    bug.look(at, run.profile(*number), used[*number], true);
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
                for number in numbers.iter().filter(|n| **n < used.len()) {
                    bug.look(at, run.profile(*number), used[*number], false);
                }
                if before && !bug.is_shown() {
                    bug.turn(at, run.date, Change::Fixed);
                }
            }
        }
        let mut bugs: Vec<Bug> = bugs.into_values().collect();
        for bug in &mut bugs {
            for (build, shows) in bug.profiles.values().flat_map(|life| &life.builds) {
                *bug.builds.entry(*build).or_default() |= shows;
            }
            if let Some(example) = examples.get(&bug.id) {
                bug.describe(example, &mut numbers);
            }
        }
        let (builds, places) = numbers.ordered();
        let mut out = History { runs, bugs, examples, builds };
        out.heed(notes);
        for bug in &mut out.bugs {
            bug.builds = bug.builds.iter().map(|(n, shows)| (places[*n], *shows)).collect();
            bug.spans = spans(&out.builds, &bug.builds);
            let named = bug.builds.iter().map(|(p, shows)| (out.builds[*p].name.clone(), *shows));
            bug.compilers = named.collect();
            bug.state = bug.state_of(&out.runs);
        }
        out
    }

    /// Takes the owners, trackers, states and texts of notes over to their bugs.
    fn heed(&mut self, notes: Vec<Note>) {
        for note in notes {
            let at = self.bugs.binary_search_by(|b| b.id.cmp(&note.bug));
            let Some(bug) = at.ok().map(|at| &mut self.bugs[at]) else { continue };
            let set = |place: &mut Option<String>, value: Option<String>| {
                if let Some(value) = value {
                    *place = Some(value).filter(|v| !v.is_empty());
                }
            };
            set(&mut bug.owner, note.owner);
            set(&mut bug.tracker, note.tracker);
            if let Some(mark) = note.state {
                bug.mark = Some((note.date, mark));
                bug.duplicate_of = note.of.filter(|_| mark == Mark::Duplicate);
            }
            bug.notes.extend(note.text.map(|text| (note.date, text)));
        }
    }

    /// The bug with an id.
    pub fn bug(&self, id: &str) -> Option<&Bug> {
        self.bugs.binary_search_by(|b| b.id.as_str().cmp(id)).ok().map(|i| &self.bugs[i])
    }

    /// The bugs with a change of this kind in a run. Those that are no bugs change nothing.
    pub fn changed(&self, at: usize, change: Change) -> Vec<&Bug> {
        let is_bug = |b: &&Bug| !matches!(b.state, State::Expected | State::Invalid);
        self.bugs.iter().filter(is_bug).filter(|b| b.change_in(at) == Some(change)).collect()
    }

    /// The number of open bugs after each run. A bug that a note closed is not open from then on.
    pub fn open_after(&self) -> Vec<u64> {
        let mut open = vec![0; self.runs.len()];
        for bug in self.bugs.iter().filter(|b| b.state != State::Expected) {
            let is_closed = !bug.state.is_open();
            let until = bug.mark.filter(|_| is_closed).map(|(date, _)| date);
            let mut turns = bug.turns.iter().peekable();
            let mut is_there = false;
            for (at, run) in self.runs.iter().enumerate() {
                while let Some((_, change)) = turns.next_if(|(turn, _)| *turn == at) {
                    is_there = *change != Change::Fixed;
                }
                open[at] += u64::from(is_there && until.is_none_or(|date| run.date < date));
            }
        }
        open
    }

    /// The number of bugs that are open now.
    pub fn open(&self) -> u64 {
        self.bugs.iter().filter(|b| b.state.is_open()).count() as u64
    }

    /// The bugs, those that somebody has to act on first, and among these the newest first.
    pub fn by_state(&self) -> Vec<&Bug> {
        let mut list: Vec<&Bug> = self.bugs.iter().collect();
        list.sort_by(|a, b| (a.state, b.first, &a.id).cmp(&(b.state, a.first, &b.id)));
        list
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
    let what = if what.is_empty() { format!("{} bug", f.class.name()) } else { what };
    match f.family.is_empty() {
        true => what,
        false => format!("{what} in {}", f.family),
    }
}

#[cfg(test)]
mod tests {
    use litmake_report::compiler_name;

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
