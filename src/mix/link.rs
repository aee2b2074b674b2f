//! Linking: the tests that compiled parts make together, each once.
//!
//! All mixes are linked, or one that was asked for, with each of its profiles alone. Distinct code sequences are counted
//! first; of combinations that a symmetry of the test maps
//! to each other the first is taken; and of joined tests one of each canonical form is kept. What
//! compiled a part is a number here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::count::{Combination, Interner, Table};
use super::symmetry::symmetries;
use super::{Compiled, Split, splice};
use litmake_base::failure::Failure;
use litmake_litmus::{self as litmus, Test, canon};

/// Tests beyond this number are refused, and so are combinations that are not looked at.
const MAX_TESTS: usize = 100_000;
const MAX_COMBINATIONS: usize = 4_000_000;

/// Stands in [`Linked::at`] for a combination that could not be joined.
pub const NONE: u32 = u32::MAX;

/// What linking one test came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// The profiles that compile all of the test. The table counts these.
    pub usable: Vec<usize>,
    /// Which sequence each profile has for each part.
    pub table: Table,
    /// The test of each combination, in the order in which [`Linked::each`] goes through them.
    pub at: Vec<u32>,
    /// The combinations that were asked for: a mix, then each of its profiles alone. Empty where all were.
    #[serde(default)]
    pub asked: Vec<Combination>,
    /// Why combinations could not be joined.
    pub messages: BTreeSet<String>,
    /// The code of each part, in each sequence.
    pub code: BTreeMap<u32, String>,
}

/// Who makes the test of a combination other than by joining its code; it gets a profile for each
/// part. A failure that is told elsewhere is none here.
pub type Join<'a> = &'a mut dyn FnMut(&[usize]) -> Result<Test, Option<Failure>>;

/// Links a test: `parts` has, for each profile, for each part, what the profile makes of it. Where `mix`
/// has a profile for each part, only that mix is linked, and each of its profiles alone. Gives the tests too.
pub fn link(
    test: &Test,
    split: &Split,
    parts: &[Vec<Option<Test>>],
    mix: Option<&[usize]>,
    mut join: Option<Join>,
    stop: &dyn Fn() -> bool,
) -> Option<(Linked, Vec<String>)> {
    let mut out = Linked::default();
    let complete = |p: &usize| parts[*p].iter().all(Option::is_some);
    out.usable = (0..parts.len()).filter(complete).collect();
    let mut numbers = Interner::default();
    // By text: the number, so that equal texts are looked into once.
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut first: BTreeMap<u32, &Test> = BTreeMap::new();
    let mut compiled: BTreeMap<u32, Compiled> = BTreeMap::new();
    for (i, piece) in split.pieces.iter().enumerate() {
        let mut row = Vec::new();
        for p in &out.usable {
            let Some(part) = parts[*p].get(i).and_then(Option::as_ref) else { continue };
            let text = canon::canonical_text(part);
            let n = match known.get(&text) {
                Some(n) => *n,
                None if split.whole => numbers.number(text.clone()),
                None => match Compiled::new(part) {
                    Ok(made) => {
                        let n = numbers.number(made.meaning.clone().unwrap_or(text.clone()));
                        compiled.entry(n).or_insert(made);
                        n
                    }
                    Err(failure) => {
                        out.messages.insert(failure.text());
                        numbers.number(text.clone())
                    }
                },
            };
            known.insert(text, n);
            first.entry(n).or_insert(part);
            row.push(n);
        }
        out.table.sequences.push(row);
        out.table.chosen.push(piece.chosen);
    }
    let mut texts = Vec::new();
    if out.usable.is_empty() {
        return Some((out, texts));
    }
    out.code = first.iter().map(|(n, t)| (*n, code(t))).collect();
    if let Some(mix) = mix {
        match asked(&out, split, mix) {
            Some(asked) => out.asked = asked,
            None => {
                let message = "a profile of the mix does not compile all parts of the test";
                out.messages.insert(message.into());
                return Some((out, texts));
            }
        }
    }
    let symmetries = symmetries(test, split);
    let mut seen: HashMap<blake3::Hash, u32> = HashMap::new();
    let (table, asked) = (&out.table, &out.asked);
    let (at, messages) = (&mut out.at, &mut out.messages);
    let all: Vec<usize> = (0..out.usable.len()).collect();
    let usable = &out.usable;
    let profiles = |combination: &Vec<u32>| -> Option<Vec<usize>> {
        let assignment = table.assign(combination, &all)?;
        let of = |(i, p): (usize, &usize)| usable[if table.chosen[i] { *p } else { 0 }];
        Some(assignment.iter().enumerate().map(of).collect())
    };
    let mut stopped = false;
    let mut too_many = false;
    each(table, asked, &symmetries, &mut |combination| {
        let joined = match split.whole {
            true => first.get(&combination[0]).map(|t| (*t).clone()).ok_or(None),
            false if join.is_some() => match (profiles(combination), join.as_mut()) {
                (Some(profiles), Some(join)) => join(&profiles),
                _ => Err(None),
            },
            false => {
                let parts: Option<Vec<&Compiled>> =
                    combination.iter().map(|n| compiled.get(n)).collect();
                match parts {
                    Some(parts) => splice(test, split, &parts).map_err(Some),
                    None => Err(None),
                }
            }
        };
        at.push(match joined {
            Ok(test) => *seen.entry(canon::canonical_hash(&test)).or_insert_with(|| {
                texts.push(litmus::write(&test));
                texts.len() as u32 - 1
            }),
            Err(failure) => {
                messages.extend(failure.map(|f| f.text()));
                NONE
            }
        });
        stopped = stop();
        too_many = texts.len() > MAX_TESTS || at.len() > MAX_COMBINATIONS;
        !too_many && !stopped
    });
    if too_many {
        messages.insert(format!(
            "of {} combinations of code that differs, the first {} were looked at: one test has at \
             most {MAX_TESTS} mixes and {MAX_COMBINATIONS} combinations",
            table.up_to(&symmetries),
            at.len()
        ));
    }
    (!stopped).then_some((out, texts))
}

/// The combinations of a mix and of each of its profiles alone; none where one of them is not usable.
fn asked(linked: &Linked, split: &Split, mix: &[usize]) -> Option<Vec<Combination>> {
    let table = &linked.table;
    let (mut combination, mut used) = (Vec::new(), BTreeSet::new());
    for (i, piece) in split.pieces.iter().enumerate() {
        let profile = linked.usable.iter().position(|p| *p == mix[i]);
        // What only the thread itself sees is the first profile's.
        let profile = if piece.chosen { profile? } else { 0 };
        if piece.chosen {
            used.insert(profile);
        }
        combination.push(table.sequences[i][profile]);
    }
    let mut out = vec![combination];
    for alone in used.into_iter().map(|p| table.uniform(p)) {
        if !out.contains(&alone) {
            out.push(alone);
        }
    }
    Some(out)
}

/// Calls `f` with each combination that was asked for, or with all where none was, until it says false.
fn each(
    table: &Table,
    asked: &[Combination],
    symmetries: &[Vec<usize>],
    f: &mut dyn FnMut(&Combination) -> bool,
) {
    match asked {
        [] => table.each(symmetries, f),
        asked => {
            asked.iter().all(f);
        }
    }
}

/// The instructions of a compiled part, on one line.
fn code(part: &Test) -> String {
    let mut out = Vec::new();
    for body in &part.threads {
        if let litmus::Body::Asm(lines) = body {
            let texts = lines.iter().map(|l| {
                let labels: String = l.labels.iter().map(|l| format!("{l}: ")).collect();
                format!("{labels}{}", l.text)
            });
            out.push(texts.filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; "));
        }
    }
    out.join(" || ")
}

impl Linked {
    /// Calls `f` with each combination and its test.
    pub fn each(&self, test: &Test, split: &Split, f: &mut dyn FnMut(&[u32], Option<usize>)) {
        let mut tests = self.at.iter();
        let symmetries = symmetries(test, split);
        each(&self.table, &self.asked, &symmetries, &mut |combination| match tests.next() {
            Some(at) => {
                f(combination, (*at != NONE).then_some(*at as usize));
                true
            }
            None => false,
        });
    }

    /// The profiles that make of each part what this one makes of it, itself among them.
    pub fn alike(&self, profile: usize) -> Vec<usize> {
        let mine = self.table.uniform(profile);
        (0..self.usable.len()).filter(|p| self.table.uniform(*p) == mine).collect()
    }
}

/// What is wrong with the mixes of a test: which profiles are at fault alone, and the smallest
/// sets of others that are at fault together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Profiles that are right alone, one of each set of alike ones.
    pub clean: Vec<usize>,
    /// A fault's profiles, the profile of each part, and the test that shows it.
    pub faults: Vec<(Vec<usize>, Vec<usize>, usize)>,
}

/// Looks for the smallest mixes that are bad. Mixing is at fault only between profiles that are
/// right alone.
pub fn faults(linked: &Linked, test: &Test, split: &Split, bad: &dyn Fn(usize) -> bool) -> Faults {
    let table = &linked.table;
    let profiles = linked.usable.len();
    let mut first: Vec<usize> = Vec::new();
    for p in 0..profiles {
        let mine = table.uniform(p);
        if !first.iter().any(|q| table.uniform(*q) == mine) {
            first.push(p);
        }
    }
    let alone: BTreeMap<Vec<u32>, usize> = first.iter().map(|p| (table.uniform(*p), *p)).collect();
    let mut out = Faults::default();
    let mut wrong: Vec<(Vec<u32>, usize)> = Vec::new();
    linked.each(test, split, &mut |combination, at| {
        let Some(at) = at else { return };
        let is_bad = bad(at);
        if let Some(p) = alone.get(combination) {
            match is_bad {
                true => out.faults.push((vec![*p], vec![*p; split.pieces.len()], at)),
                false => out.clean.push(*p),
            }
        }
        if is_bad {
            wrong.push((combination.to_vec(), at));
        }
    });
    out.clean.sort_unstable();
    out.faults.sort();
    // For each set of profiles the mix with the fewest parts that are foreign in it.
    let mut best: BTreeMap<Vec<usize>, (usize, Vec<usize>, usize)> = BTreeMap::new();
    for (combination, at) in &wrong {
        for (set, assignment) in table.smallest(combination, &out.clean) {
            if set.len() < 2 {
                continue;
            }
            let foreign = foreign(split, &set, &assignment);
            if best.get(&set).is_none_or(|(n, ..)| foreign < *n) {
                best.insert(set, (foreign, assignment, *at));
            }
        }
    }
    let sets: Vec<Vec<usize>> = best.keys().cloned().collect();
    let smaller = |set: &Vec<usize>| {
        sets.iter().any(|s| s.len() < set.len() && s.iter().all(|p| set.contains(p)))
    };
    for (set, (_, assignment, at)) in best {
        if !smaller(&set) {
            out.faults.push((set, assignment, at));
        }
    }
    out
}

/// How many parts are not those of the profile that has most.
fn foreign(split: &Split, set: &[usize], assignment: &[usize]) -> usize {
    let mine = |p: usize| {
        let of = |i: &usize| split.pieces[*i].chosen && assignment[*i] == p;
        (0..assignment.len()).filter(of).count()
    };
    let all: usize = set.iter().map(|p| mine(*p)).sum();
    all - set.iter().map(|p| mine(*p)).max().unwrap_or(0)
}
