//! The stages of a round: those that compile the drawn tests, and those that compare them.
//!
//! This file does not know which tests are drawn, or what their results mean.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use litmake::file;
use litmake::hunt::turns::Turns;
use litmake::isa::target::lifts_floats;
use litmake::lang::Language;
use litmake::pipeline::kinds::{
    Compare, Compile, Generate, Layout, Link, Simulate, Split, split::SplitBy,
};
use litmake::pipeline::made::Made;
use litmake::profile::Profile;

use super::super::{common, made};
use super::{Args, Kept};

/// Seconds after which the simulation of a test is given up. There are many tests, and most need
/// far less.
const SIMULATE: u64 = 2;

/// The number of drawn tests in a round for each mixed one.
const MIXED: u32 = 16;

/// A profile of a hunt.
struct Compiler {
    name: String,
    /// The machine that runs its code.
    machine: String,
    /// Whether its code can be in one program with that of others for its machine.
    mixes: bool,
    /// Whether its floating-point code can be lifted.
    floats: bool,
}

/// The profiles of a hunt, and their turns.
pub struct Machines {
    all: Vec<Compiler>,
    pub turns: Turns,
}

/// The profiles of a round by what their code can be used for.
pub struct Turn {
    /// Those whose floating-point code can be lifted.
    floats: Vec<String>,
    /// The others.
    integers: Vec<String>,
    /// Groups of profiles whose code can be in one program.
    groups: Vec<Vec<String>>,
}

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
                floats: profile.is_some_and(|p| lifts_floats(p.arch)),
            }
        };
        let all: Vec<Compiler> = names.iter().map(compiler).collect();
        let turns = Turns::of(all.iter().map(|c| (c.name.as_str(), c.machine.as_str())));
        Machines { all, turns }
    }

    /// The profiles of a round: those whose turn it is, and those that are asked for besides.
    pub fn turn(&self, round: u64, besides: &BTreeSet<&str>) -> Turn {
        let turn = self.turns.round(round);
        let is_of = |c: &&Compiler| turn.contains(&c.name.as_str());
        let all = self.all.iter().filter(|c| is_of(c) || besides.contains(c.name.as_str()));
        let (floats, integers): (Vec<_>, Vec<_>) = all.partition(|c| c.floats);
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for c in self.all.iter().filter(is_of).filter(|c| c.mixes) {
            groups.entry(&c.machine).or_default().push(c.name.clone());
        }
        let names = |all: Vec<&Compiler>| all.iter().map(|c| c.name.clone()).collect();
        let groups = groups.into_values().filter(|names| names.len() > 1).collect();
        Turn { floats: names(floats), integers: names(integers), groups }
    }
}

/// Whether a test uses floating point.
fn has_floats(path: &Path) -> bool {
    let text = file::read_text(path, file::MAX_DATA).unwrap_or_default();
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| matches!(w, "float" | "double"))
}

/// A simulation that is given up soon.
fn simulate(from: &str, model: Option<&str>) -> Simulate {
    let (model, timeout) = (model.map(Into::into), Some(SIMULATE.into()));
    Simulate { from: from.into(), model, timeout, ..Simulate::default() }
}

fn compare(args: &Args, source: &str, target: &str) -> Compare {
    let investigate = Some(args.investigate.into());
    Compare { source: source.into(), target: target.into(), investigate, ..Compare::default() }
}

/// The stages of a round: those that compile tests and, if `compares`, those that compare them.
/// Tests with floating point go only to profiles whose floating-point code can be lifted.
pub fn pipeline(
    kept: &Kept,
    args: &Args,
    machines: &Machines,
    turn: &Turn,
    files: &[&PathBuf],
    compares: bool,
) -> Made {
    let mut out = Made::new("hunt");
    let integers: Vec<&PathBuf> = files.iter().copied().filter(|p| !has_floats(p)).collect();
    for (set, profiles, files) in
        [("", &turn.floats, files), ("-integers", &turn.integers, &integers[..])]
    {
        if profiles.is_empty() || files.is_empty() {
            continue;
        }
        let [tests, code, source, target, comparison] =
            ["tests", "code", "source", "target", "compare"].map(|stage| format!("{stage}{set}"));
        out.add(&tests, made::tests(files.iter().copied()));
        out.add_for(&code, ("profile", profiles), |profile| Compile {
            from: tests.as_str().into(),
            profile: profile.into(),
            storage: args.storage.into(),
            ..Compile::default()
        });
        if compares {
            out.add(&source, simulate(&tests, Some(&kept.source_model)));
            out.add(&target, simulate(&code, None));
            out.add(comparison, compare(args, &source, &target));
        }
    }
    if compares {
        let layouts = kept.hunt.rounds < machines.turns.cycle();
        mix(kept, args, &turn.groups, layouts, &mut out);
    }
    out
}

/// Adds stages that mix the code of profiles for one machine, statement by statement, and that
/// compare their `layouts` of atomic types. Mixed tests are a plain sample: a
/// clash depends on how two compilers implement an operation, and there are few ways.
fn mix(kept: &Kept, args: &Args, groups: &[Vec<String>], layouts: bool, out: &mut Made) {
    let count = args.round / MIXED;
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
        out.add(comparison, compare(args, "mixed-source", &target));
        if layouts {
            let profiles = group.iter().map(String::as_str).collect();
            out.add(layout, Layout { profiles, ..Layout::default() });
        }
    }
}
