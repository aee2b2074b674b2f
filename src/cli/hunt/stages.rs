//! The stages of a round: those that compile the drawn tests, and those that compare them.
//!
//! This file does not know which tests are drawn, or what their results mean.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use litmake::file;
use litmake::hunt::questions::QUESTIONS;
use litmake::hunt::turns::Turns;
use litmake::isa::target::lifts_floats;
use litmake::lang::Language;
use litmake::litmus::Arch;
use litmake::pipeline::kinds::{
    Compare, Compile, Generate, Layout, Link, Simulate, Split, split::SplitBy,
};
use litmake::pipeline::made::Made;
use litmake::profile::Profile;
use litmake::toolchain::compile::follows_calls;

use super::super::{common, made};
use super::{Args, Kept};

/// Seconds after which the simulation of a test is given up. There are many tests, and most need
/// far less.
const SIMULATE: u64 = 2;

/// The number of drawn tests in a round for each mixed one.
pub const MIXED: usize = 16;

/// A profile of a hunt.
struct Compiler {
    name: String,
    /// The machine that runs its code.
    machine: String,
    /// Whether its code can be in one program with that of others for its machine.
    mixes: bool,
    /// See [`unread`].
    unread: Vec<&'static str>,
}

/// The profiles of a hunt, and their turns.
pub struct Machines {
    all: Vec<Compiler>,
    pub turns: Turns,
}

/// The profiles of a round.
pub struct Turn {
    profiles: Vec<Taking>,
    /// In so many parts the drawn tests are divided among the profiles.
    parts: usize,
    /// Groups of profiles whose code can be in one program.
    groups: Vec<Vec<String>>,
}

/// A profile of a round.
struct Taking {
    name: String,
    /// See [`unread`].
    unread: Vec<&'static str>,
    /// The part of the drawn tests that it compiles; none if it is there for open tests alone.
    part: Option<usize>,
}

/// The tests of a round.
#[derive(Default)]
pub struct Tests<'a> {
    /// Drawn tests, with their numbers.
    pub drawn: Vec<(usize, &'a PathBuf)>,
    /// Further tests, each for some profiles alone.
    pub others: Vec<(&'a PathBuf, &'a BTreeSet<String>)>,
}

impl Tests<'_> {
    pub fn is_empty(&self) -> bool {
        self.drawn.is_empty() && self.others.is_empty()
    }
}

/// How many tests of each profile are worth a round of their own.
pub const FEW: usize = 16;

/// With so many times as many profiles as parts, the drawn tests are divided.
const DIVIDED: usize = 8;

/// The largest number of parts.
const PARTS: usize = 4;

impl Machines {
    /// The profiles with these names.
    pub fn of(names: &[String]) -> Machines {
        let known = common::known_profiles();
        let compiler = |name: &String| {
            let found = known.get(name);
            let profile = found.as_deref();
            // The target is the second word, as in `clang-aarch64be-O2`.
            let family = profile.and_then(|p| p.unversioned());
            let target = family.as_deref().and_then(|f| f.split('-').nth(1)).map(String::from);
            // One machine runs the code of both.
            let machine = match target.as_deref() {
                Some("armv7" | "armv8") => "arm",
                Some(target) => target,
                None => name,
            };
            let links = |p: &Profile| {
                p.language == Language::C && p.model.as_deref() != Some("ptx") && machine != "spirv"
            };
            Compiler {
                name: name.clone(),
                machine: machine.into(),
                mixes: target.is_some() && profile.is_some_and(links),
                unread: profile.map(|p| unread(p.arch)).unwrap_or_default(),
            }
        };
        let all: Vec<Compiler> = names.iter().map(compiler).collect();
        let turns = Turns::of(all.iter().map(|c| (c.name.as_str(), c.machine.as_str())));
        Machines { all, turns }
    }

    /// In how many parts the drawn tests of a round are divided. A test is worth more with some of many profiles
    /// than with all: what is wrong in a pass shows on many machines.
    pub fn parts(&self) -> usize {
        (self.turns.round(0).len() / DIVIDED).clamp(1, PARTS)
    }

    /// The profiles of a round of so many tests: those whose turn it is, and those that are asked for besides.
    pub fn turn(&self, round: u64, tests: usize, besides: &BTreeSet<&str>) -> Turn {
        let turn = self.turns.round(round);
        // Few tests are for all profiles, so that each compares some.
        let parts = (tests / FEW).clamp(1, self.parts());
        let is_of = |c: &&Compiler| turn.contains(&c.name.as_str());
        let all = self.all.iter().filter(|c| is_of(c) || besides.contains(c.name.as_str()));
        let taking = |c: &Compiler| {
            // Two profiles of one machine have different parts.
            let at = turn.iter().position(|name| *name == c.name);
            let part = at.map(|at| (at + round as usize) % parts);
            Taking { name: c.name.clone(), unread: c.unread.clone(), part }
        };
        let profiles = all.map(taking).collect();
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for c in self.all.iter().filter(is_of).filter(|c| c.mixes) {
            groups.entry(&c.machine).or_default().push(c.name.clone());
        }
        let groups = groups.into_values().filter(|names| names.len() > 1).collect();
        Turn { profiles, parts, groups }
    }
}

impl Turn {
    /// The profiles that compile drawn tests, each with the number of these of `tests`.
    pub fn given(&self, tests: usize) -> impl Iterator<Item = (&str, u64)> {
        self.profiles.iter().map(move |profile| {
            let own = (0..tests).filter(|n| profile.part == Some(self.part(*n)));
            (profile.name.as_str(), own.count() as u64)
        })
    }

    /// The files of each profile; profiles with the same files are together.
    fn shares(&self, tests: &Tests) -> Vec<(Vec<PathBuf>, Vec<String>)> {
        let mut out: Vec<(Vec<PathBuf>, Vec<String>)> = Vec::new();
        let all = tests.drawn.iter().map(|(_, path)| *path);
        let all = all.chain(tests.others.iter().map(|(path, _)| *path));
        let words: BTreeMap<&PathBuf, BTreeSet<String>> =
            all.map(|path| (path, words(path))).collect();
        for profile in &self.profiles {
            let drawn = tests.drawn.iter().filter(|(n, _)| profile.part == Some(self.part(*n)));
            let others = tests.others.iter().filter(|(_, of)| of.contains(&profile.name));
            let all = drawn.map(|(_, path)| *path).chain(others.map(|(path, _)| *path));
            let is_read =
                |path: &&PathBuf| !profile.unread.iter().any(|w| words[path].contains(*w));
            let files: Vec<PathBuf> = all.filter(is_read).cloned().collect();
            match out.iter_mut().find(|(known, _)| *known == files) {
                _ if files.is_empty() => {}
                Some((_, profiles)) => profiles.push(profile.name.clone()),
                None => out.push((files, vec![profile.name.clone()])),
            }
        }
        out
    }

    /// The part of a drawn test. The first tests go round the questions, so those of one question are in
    /// different parts.
    fn part(&self, test: usize) -> usize {
        (test + test / QUESTIONS.len()) % self.parts
    }
}

/// Words of tests whose code for an instruction set is not read: those of floating point, and of functions that
/// compilers do not inline.
fn unread(arch: Arch) -> Vec<&'static str> {
    let floats: &[&str] = if lifts_floats(arch) { &[] } else { &["float", "double"] };
    let calls: &[&str] = if follows_calls(arch) { &[] } else { &["noinline", "recursive"] };
    [floats, calls].concat()
}

/// The words of a test, those of its name too.
fn words(path: &Path) -> BTreeSet<String> {
    let text = file::read_text(path, file::MAX_DATA).unwrap_or_default();
    text.split(|c: char| !c.is_ascii_alphanumeric()).map(String::from).collect()
}

/// A simulation that is given up soon.
fn simulate(from: &str, model: Option<&str>) -> Simulate {
    let (model, timeout) = (model.map(Into::into), Some(SIMULATE.into()));
    Simulate { from: from.into(), model, timeout, ..Simulate::default() }
}

/// A comparison of which some differences are reduced: as many as the command line says, and known bugs.
fn compare(kept: &Kept, args: &Args, source: &str, target: &str) -> Compare {
    let known = kept.report.as_ref().map_or(0, |report| report.findings.len() as u64);
    let investigate = Some((args.investigate + known).into());
    Compare { source: source.into(), target: target.into(), investigate, ..Compare::default() }
}

/// The stages of a round: those that compile tests and, with a number of `mixed` tests, those that
/// compare them. Tests go only to profiles whose code for them can be read.
pub fn pipeline(
    kept: &Kept,
    args: &Args,
    machines: &Machines,
    turn: &Turn,
    tests: &Tests,
    mixed: Option<u32>,
) -> Made {
    let mut out = Made::new("hunt");
    for (n, (files, profiles)) in turn.shares(tests).iter().enumerate() {
        let [tests, code, source, target, comparison] =
            ["tests", "code", "source", "target", "compare"].map(|stage| format!("{stage}-{n}"));
        out.add(&tests, made::tests(files));
        out.add_for(&code, ("profile", profiles), |profile| Compile {
            from: tests.as_str().into(),
            profile: profile.into(),
            storage: args.storage.into(),
            ..Compile::default()
        });
        if mixed.is_some() {
            out.add(&source, simulate(&tests, Some(&kept.source_model)));
            out.add(&target, simulate(&code, None));
            out.add(comparison, compare(kept, args, &source, &target));
        }
    }
    if let Some(mixed) = mixed {
        // Until every profile had its turn, all time is for the drawn tests.
        let cycle = machines.turns.cycle(kept.hunt.rounds);
        if cycle > 0 {
            mix(kept, args, &turn.groups, (mixed, cycle == 1), &mut out);
        }
    }
    out
}

/// Adds stages that mix the code of profiles for one machine, statement by statement, in so many tests, and that
/// compare their `layouts` of atomic types. Mixed tests are a plain sample: a
/// clash depends on how two compilers implement an operation, and there are few ways.
fn mix(
    kept: &Kept,
    args: &Args,
    groups: &[Vec<String>],
    (count, layouts): (u32, bool),
    out: &mut Made,
) {
    if kept.hunt.blind || groups.is_empty() || count == 0 {
        return;
    }
    let seed = kept.hunt.seed.wrapping_add(kept.hunt.rounds) % (1 << 32);
    let sample = Generate {
        families: ["mix-table4"].into_iter().collect(),
        sample: Some(u64::from(count).into()),
        seed: Some(seed.into()),
        ..Generate::default()
    };
    out.add("mixed", sample);
    out.add("mixed-source", simulate("mixed", Some(&kept.source_model)));
    out.add("parts", Split { from: "mixed".into(), by: SplitBy::Instruction });
    for (i, group) in groups.iter().enumerate() {
        let [code, mixes, target, comparison, layout] =
            ["parts-code", "mixes", "mixed-target", "mixed-compare", "layout"]
                .map(|stage| format!("{stage}-{i}"));
        out.add_for(&code, ("profile", group), |profile| Compile {
            from: "parts".into(),
            profile: profile.into(),
            ..Compile::default()
        });
        out.add(&mixes, Link { from: code.into(), ..Link::default() });
        out.add(&target, Simulate { unroll: Some(1.into()), ..simulate(&mixes, None) });
        out.add(comparison, compare(kept, args, "mixed-source", &target));
        if layouts {
            let profiles = group.iter().map(String::as_str).collect();
            out.add(layout, Layout { profiles, ..Layout::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each drawn test has a quarter of the profiles, the two of a machine have different tests, and other tests
    /// only the profiles that are named.
    #[test]
    fn drawn_tests_are_divided_among_many_profiles() {
        let taking =
            |n: usize| Taking { name: format!("p{n}"), unread: Vec::new(), part: Some(n % 4) };
        let profiles = (0..8).map(taking).collect();
        let turn = Turn { profiles, parts: 4, groups: Vec::new() };
        let paths: Vec<PathBuf> = (0..64).map(|n| PathBuf::from(format!("{n}"))).collect();
        let (open, of) = (PathBuf::from("open"), BTreeSet::from(["p5".to_string()]));
        let tests = Tests { drawn: paths.iter().enumerate().collect(), others: vec![(&open, &of)] };
        let shares = turn.shares(&tests);
        for path in &paths {
            let has = shares.iter().filter(|(files, _)| files.contains(path));
            let names: Vec<&String> = has.flat_map(|(_, names)| names).collect();
            assert_eq!(names.len(), 2, "{names:?}");
        }
        let has_open = shares.iter().filter(|(files, _)| files.contains(&open));
        let names: Vec<&String> = has_open.flat_map(|(_, names)| names).collect();
        assert_eq!(names, ["p5"]);
        // The tests of one question are in all parts.
        let parts = (0..4).map(|n| turn.part(3 + n * QUESTIONS.len())).collect::<BTreeSet<_>>();
        assert_eq!(parts.len(), 4);
        // Without drawn tests, the others have none.
        let drawn = Tests { others: vec![(&open, &of)], ..Tests::default() };
        assert_eq!(turn.shares(&drawn), [(vec![open.clone()], vec!["p5".to_string()])]);
    }
}
