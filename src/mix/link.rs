//! Links compiled parts: makes the tests of all mixes, each distinct test once.
//!
//! Either all mixes are linked, or one mix together with each of its profiles alone. Distinct code
//! sequences are counted first. Of combinations that a symmetry of the test maps to each other,
//! only the first is linked, and of tests with equal canonical forms one is kept. Profiles are
//! numbers here; it does not know what they stand for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::count::{Combination, Interner, Table};
use super::symmetry::symmetries;
use super::{Compiled, Split, splice};
use litmake_base::failure::Failure;
use litmake_litmus::{self as litmus, Test, canon};

/// The limits on the tests of one test's mixes, and on the combinations that are tried.
const MAX_TESTS: usize = 100_000;
const MAX_COMBINATIONS: usize = 4_000_000;

/// The value in [`Linked::at`] of a combination that could not be joined.
pub const NONE: u32 = u32::MAX;

/// The result of linking a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Linked {
    /// The profiles that compile the whole test; indices in `table` refer to these.
    pub usable: Vec<usize>,
    /// The sequence that each profile makes of each part.
    pub table: Table,
    /// The index of each combination's test, in the order of [`Linked::each`].
    pub at: Vec<u32>,
    /// The combinations that were asked for: a mix, then each of its profiles alone. Empty if all
    /// mixes are linked.
    #[serde(default)]
    pub asked: Vec<Combination>,
    /// Why some combinations could not be joined.
    pub messages: BTreeSet<String>,
    /// The instructions of each sequence.
    pub code: BTreeMap<u32, String>,
}

/// Makes the test of a combination in another way than by joining code; it is given a profile for
/// each part. Returns `Err(None)` for a failure that is reported elsewhere.
pub type Join<'a> = &'a mut dyn FnMut(&[usize]) -> Result<Test, Option<Failure>>;

/// Links a test. `parts` has the compiled parts, by profile and then by part. If `mix` has a
/// profile for each part, only that mix and each of its profiles alone are linked. Also returns the
/// texts of the tests.
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
    let (first, compiled) = number_parts(split, parts, &mut out);
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

/// The parts with different code: the first of each, by its number.
type Different<'a> = (BTreeMap<u32, &'a Test>, BTreeMap<u32, Compiled>);

/// Numbers the parts by their code, into the table of a linked test.
fn number_parts<'a>(
    split: &Split,
    parts: &'a [Vec<Option<Test>>],
    out: &mut Linked,
) -> Different<'a> {
    let mut numbers = Interner::default();
    // Numbers by text, so that equal texts are read once.
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
    (first, compiled)
}

/// The combinations of a mix and of each of its profiles alone; `None` if one of them is not
/// usable.
fn asked(linked: &Linked, split: &Split, mix: &[usize]) -> Option<Vec<Combination>> {
    let table = &linked.table;
    let (mut combination, mut used) = (Vec::new(), BTreeSet::new());
    for (i, piece) in split.pieces.iter().enumerate() {
        let profile = linked.usable.iter().position(|p| *p == mix[i]);
        // Parts that no other thread can observe are compiled by the first profile.
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

/// Calls `f` with each combination that was asked for, or with all if none was, until it returns
/// false.
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
    /// Calls `f` with each combination and the index of its test.
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

    /// The profiles that make the same code of every part as this one, itself included.
    pub fn alike(&self, profile: usize) -> Vec<usize> {
        let mine = self.table.uniform(profile);
        (0..self.usable.len()).filter(|p| self.table.uniform(*p) == mine).collect()
    }
}

/// The faults of a test's mixes: profiles that are wrong alone, and the smallest sets of other
/// profiles that are wrong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Profiles that are right alone, one for each set of equal profiles.
    pub clean: Vec<usize>,
    /// For each fault its profiles, the profile of each part, and the index of the test that shows
    /// it.
    pub faults: Vec<(Vec<usize>, Vec<usize>, usize)>,
}

/// Finds the smallest mixes whose test is bad. Only profiles that are right alone can make a mix
/// wrong.
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
    // For each set of profiles, the mix with the fewest parts from other profiles than the main
    // one.
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

/// The number of parts that are not from the profile with the most parts.
fn foreign(split: &Split, set: &[usize], assignment: &[usize]) -> usize {
    let mine = |p: usize| {
        let of = |i: &usize| split.pieces[*i].chosen && assignment[*i] == p;
        (0..assignment.len()).filter(of).count()
    };
    let all: usize = set.iter().map(|p| mine(*p)).sum();
    all - set.iter().map(|p| mine(*p)).max().unwrap_or(0)
}
