//! Chooses which compiled tests are compared; a comparison costs more than a compilation.
//!
//! First come the cheapest tests that together have every sequence of instructions that no compared
//! test had. Then come others, up to a quarter of the drawn tests: those in which operations of the
//! source were rarely compiled to these sequences. Sequences alone are not enough, because the same
//! code is right for one memory order and wrong for another. It does not know how tests are
//! compared.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::hash::{Hash, Hasher};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Drawn;
use super::asks::words;
use super::sequences::{Form, form};
use litmake_litmus::Test;

/// One in this many drawn tests may be compared although none of its sequences is new.
const OTHERS: usize = 4;

/// How often an operation of the source together with a sequence counts as new.
const LOOKS: u8 = 2;

/// The largest weight of a test that is compared; the simulation of a heavier one would be given
/// up. Its new sequences are left to other tests. A simulation that is given up costs this much.
pub const MOST: u64 = 4096;

/// The cost of a comparison in addition to the code, in instructions.
const COMPARED: u64 = 8;

/// The code that a compiler made of a test.
#[derive(Clone, Debug)]
pub struct Code {
    /// The index of the test among the drawn ones.
    pub at: usize,
    /// The instruction set.
    pub arch: &'static str,
    /// The number of instructions.
    pub size: u64,
    /// The estimated cost of the simulation, in instructions.
    pub weight: u64,
    /// The sequences of each thread.
    threads: Vec<BTreeSet<u64>>,
    /// The sequences of all threads.
    pub grams: BTreeSet<u64>,
}

impl Code {
    /// The code of the test with an index.
    pub fn of(at: usize, test: &Test) -> Code {
        let Form { threads, size, weight } = form(test);
        let grams = threads.iter().flatten().copied().collect();
        Code { at, arch: test.arch.name(), size, weight, threads, grams }
    }
}

/// The tests that were chosen to be compared.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The indices of the tests, in order.
    pub tests: Vec<usize>,
    /// The code of all drawn tests.
    pub code: Vec<Code>,
    /// The numbers of the leads that come from each drawn test.
    pub leads: BTreeMap<usize, Range<u64>>,
}

impl Chosen {
    /// Chooses all of `count` tests.
    pub fn all(code: Vec<Code>, count: usize) -> Chosen {
        Chosen { tests: (0..count).collect(), code, leads: BTreeMap::new() }
    }

    /// The cost of each test's comparison, in instructions.
    pub fn costs(&self) -> Vec<(usize, u64)> {
        let costs = costs(&self.code);
        self.tests.iter().map(|at| (*at, costs.get(at).copied().unwrap_or(COMPARED))).collect()
    }
}

fn costs(code: &[Code]) -> BTreeMap<usize, u64> {
    let mut out = BTreeMap::new();
    for code in code {
        *out.entry(code.at).or_insert(COMPARED) += code.weight;
    }
    out
}

/// How often each operation of the source was compared together with each sequence of code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses(BTreeMap<u32, u8>);

impl Uses {
    /// Chooses from the drawn tests. `unjudged` are the sequences, by instruction set, that no
    /// compared test had.
    pub fn choose(
        &mut self,
        drawn: &[Drawn],
        code: Vec<Code>,
        unjudged: &BTreeMap<String, BTreeSet<u64>>,
    ) -> Chosen {
        let costs = costs(&code);
        let mut of: BTreeMap<usize, Vec<&Code>> = BTreeMap::new();
        for code in &code {
            of.entry(code.at).or_default().push(code);
        }
        of.retain(|_, all| all.iter().all(|code| code.weight <= MOST));
        let is_open =
            |code: &Code, gram: &u64| unjudged.get(code.arch).is_some_and(|s| s.contains(gram));
        let mut covered: BTreeSet<(&str, u64)> = BTreeSet::new();
        let open =
            |covered: &BTreeSet<(&'static str, u64)>, at: usize| -> BTreeSet<(&'static str, u64)> {
                let all = of[&at].iter().flat_map(|c| c.grams.iter().map(move |g| (*c, *g)));
                all.filter(|(c, g)| is_open(c, g) && !covered.contains(&(c.arch, *g)))
                    .map(|(c, g)| (c.arch, g))
                    .collect()
            };
        let mut taken = BTreeSet::new();
        greedy(
            of.keys().copied().collect(),
            usize::MAX,
            &costs,
            &mut covered,
            |covered, at| open(covered, at).len() as u64,
            |covered, at| {
                let new = open(covered, at);
                covered.extend(new);
                taken.insert(at);
            },
        );
        let asked: BTreeMap<usize, Vec<u32>> =
            of.iter().map(|(at, code)| (*at, uses(&words(&drawn[*at].text), code))).collect();
        for at in &taken {
            self.compared(&asked[at]);
        }
        let rest = of.keys().copied().filter(|at| !taken.contains(at)).collect();
        greedy(
            rest,
            drawn.len() / OTHERS,
            &costs,
            self,
            |uses, at| uses.worth(&asked[&at]),
            |uses, at| {
                uses.compared(&asked[&at]);
                taken.insert(at);
            },
        );
        let tests = taken.into_iter().collect();
        Chosen { tests, code, leads: BTreeMap::new() }
    }

    fn worth(&self, of: &[u32]) -> u64 {
        let times = |key: &u32| self.0.get(key).copied().unwrap_or(0);
        of.iter().map(|key| u64::from(LOOKS.saturating_sub(times(key)))).sum()
    }

    fn compared(&mut self, of: &[u32]) {
        for key in of {
            let times = self.0.entry(*key).or_default();
            *times = (*times + 1).min(LOOKS);
        }
    }
}

/// Repeatedly takes the item with the best ratio of worth to cost. The worth of an item may fall as
/// others are taken, and never rises.
fn greedy<S>(
    items: Vec<usize>,
    most: usize,
    costs: &BTreeMap<usize, u64>,
    state: &mut S,
    worth: impl Fn(&S, usize) -> u64,
    mut take: impl FnMut(&mut S, usize),
) {
    let rank = |state: &S, at: usize| {
        let worth = worth(state, at);
        (worth > 0).then(|| worth * 1_000_000 / costs.get(&at).copied().unwrap_or(1).max(1))
    };
    // Of equal items, the first is taken.
    let mut heap: BinaryHeap<(u64, std::cmp::Reverse<usize>)> = items
        .into_iter()
        .filter_map(|at| Some((rank(state, at)?, std::cmp::Reverse(at))))
        .collect();
    let mut count = 0;
    while count < most
        && let Some((was, at)) = heap.pop()
    {
        match rank(state, at.0) {
            Some(now) if now < was => heap.push((now, at)),
            Some(_) => {
                take(state, at.0);
                count += 1;
            }
            None => {}
        }
    }
}

/// The pairs of an operation and a sequence of the same thread, as hashes.
fn uses(asked: &[BTreeSet<String>], code: &[&Code]) -> Vec<u32> {
    let mut out = BTreeSet::new();
    for code in code {
        for (words, grams) in asked.iter().zip(&code.threads) {
            for word in words {
                for gram in grams {
                    let mut hasher = rustc_hash::FxHasher::default();
                    (code.arch, word, gram).hash(&mut hasher);
                    out.insert((hasher.finish() >> 32) as u32);
                }
            }
        }
    }
    out.into_iter().collect()
}
