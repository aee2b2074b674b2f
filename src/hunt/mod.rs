//! The hunt: which tests to try next, by what the code of earlier ones was like.
//!
//! A test whose code has a sequence of instructions that no test had before leads to tests beside it; a
//! source of tests whose code is all known is left. It does not know how tests are compiled and
//! compared: it gives tests, and is told the code that compilers made of them.

pub mod cover;
pub mod sequences;
pub mod sources;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use cover::Cover;
use litmake_base::digest::Digest;
use litmake_generate::axes::Random;
use sequences::grams;
use sources::{Place, Sources};

/// The version of what is kept of a hunt.
const FORMAT: u32 = 1;

/// So many leads are kept, the best.
const LEADS: usize = 4000;

/// So many tests beside one that was new are tried.
const NEIGHBOURS: usize = 4;

/// As many draws of a source count for how much it is drawn from.
const RECENT: u32 = 32;

/// A test to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Its name, which can be that of a file.
    pub name: String,
    /// The test, in C.
    pub text: String,
    /// The source that it came from, or that the test came from which it is beside.
    pub source: usize,
    /// Where in its source it was drawn.
    pub place: Place,
}

/// What became of the tests of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// What reports call the source.
    pub name: String,
    /// How many tests were drawn from it.
    pub drawn: u64,
    /// Those of which some code was new.
    pub novel: u64,
    /// The last draws, a bit each, the last one lowest.
    recent: u32,
}

impl Arm {
    fn seen(&mut self, novel: bool) {
        self.drawn += 1;
        self.novel += u64::from(novel);
        self.recent = self.recent << 1 | u32::from(novel);
    }

    /// How often it is drawn from, against others: as its last draws were new. One of which all code
    /// is known is left, but for a try now and then.
    fn weight(&self) -> u64 {
        let count = self.drawn.min(RECENT.into());
        match count {
            0..4 => 64,
            count => 1 + 63 * u64::from(self.recent.count_ones()) / count,
        }
    }

    /// Whether none of its last draws was new.
    pub fn is_left(&self) -> bool {
        self.drawn >= RECENT.into() && self.recent == 0
    }
}

/// A test to try because one beside it was new.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Lead {
    /// How many sequences of the test beside it were new, with the sign turned: the best is first.
    rank: i64,
    number: u64,
    source: usize,
    place: Place,
}

/// How far a hunt was after some tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// How many tests there were until then.
    pub tests: u64,
    /// Tests of which some code was new, since the mark before.
    pub novel: u64,
    /// Sequences in all.
    pub sequences: u64,
}

/// Where a hunt is: with the same state, the same tests come next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hunt {
    format: u32,
    /// What all draws follow from.
    pub seed: u64,
    /// Nothing is learned for drawing: what steering is measured against.
    pub blind: bool,
    /// Rounds that came to their end.
    pub rounds: u64,
    /// Tests that were tried in them.
    pub tests: u64,
    draws: u64,
    /// What became of each source, in the order of the sources.
    pub arms: Vec<Arm>,
    leads: BTreeSet<Lead>,
    next_lead: u64,
    /// Sequences that were seen, by instruction set.
    seen: BTreeMap<String, BTreeSet<u64>>,
    /// Tests that were drawn, by their texts.
    done: BTreeSet<u64>,
    /// How it went on.
    pub marks: Vec<Mark>,
    /// What was in the tests.
    pub cover: Cover,
}

impl Hunt {
    /// A hunt that has tried nothing yet.
    pub fn new(seed: u64, blind: bool) -> Hunt {
        let arm = |name: String| Arm { name, ..Arm::default() };
        Hunt {
            format: FORMAT,
            seed,
            blind,
            rounds: 0,
            tests: 0,
            draws: 0,
            arms: Sources::names().into_iter().map(arm).collect(),
            leads: BTreeSet::new(),
            next_lead: 0,
            seen: BTreeMap::new(),
            done: BTreeSet::new(),
            marks: Vec::new(),
            cover: Cover::default(),
        }
    }

    /// Whether this version can go on with it.
    pub fn is_current(&self) -> bool {
        self.format == FORMAT && self.arms.iter().map(|a| a.name.clone()).eq(Sources::names())
    }

    /// The next tests, no more than `count`. They are drawn when this is called; [`Hunt::learn`] is
    /// called with them before it is called again.
    pub fn draw(&mut self, sources: &mut Sources, count: usize) -> Vec<Drawn> {
        let mut out: Vec<Drawn> = Vec::new();
        let mut names = BTreeSet::new();
        for _ in 0..count * 20 {
            if out.len() >= count {
                break;
            }
            self.draws += 1;
            let mut random = Random::of(self.seed, self.draws);
            // Every second test is one beside a test that was new, while there are such.
            let lead = if out.len() % 2 == 1 { self.leads.pop_first() } else { None };
            let (source, place) = match lead {
                Some(lead) => (lead.source, Some(lead.place)),
                None => {
                    let source = self.choose(&mut random);
                    (source, sources.draw(source, &mut random))
                }
            };
            let Some(place) = place else { continue };
            let Some((name, text)) = sources.test(&place) else { continue };
            if self.done.insert(Digest::of(text.as_bytes()).prefix()) && names.insert(name.clone())
            {
                out.push(Drawn { name, text, source, place });
            }
        }
        out
    }

    fn choose(&self, random: &mut Random) -> usize {
        let weight = |arm: &Arm| if self.blind { 1 } else { arm.weight() };
        let all: u64 = self.arms.iter().map(weight).sum();
        let mut at = random.number() % all.max(1);
        for (i, arm) in self.arms.iter().enumerate() {
            match at.checked_sub(weight(arm)) {
                Some(rest) => at = rest,
                None => return i,
            }
        }
        0
    }

    /// Takes in what compilers made of tests that were drawn: `code` has pairs of a test's place among
    /// them and a test of assembly.
    pub fn learn(
        &mut self,
        sources: &mut Sources,
        drawn: &[Drawn],
        code: &[(usize, litmake_litmus::Test)],
    ) {
        let mut new: Vec<i64> = vec![0; drawn.len()];
        for (at, test) in code {
            let seen = self.seen.entry(test.arch.name().to_string()).or_default();
            for gram in grams(test) {
                if seen.insert(gram) {
                    new[*at] += 1;
                }
            }
        }
        for (test, new) in drawn.iter().zip(&new) {
            self.tests += 1;
            self.cover.add(&test.text);
            self.arms[test.source].seen(*new > 0);
            if *new == 0 || self.blind {
                continue;
            }
            let mut random = Random::of(self.seed ^ 1, self.next_lead);
            for place in sources.beside(&test.place, &mut random, NEIGHBOURS) {
                let (number, source) = (self.next_lead, test.source);
                self.next_lead += 1;
                self.leads.insert(Lead { rank: -new, number, source, place });
            }
        }
        while self.leads.len() > LEADS {
            self.leads.pop_last();
        }
        self.rounds += 1;
        self.marks.push(Mark {
            tests: self.tests,
            novel: new.iter().filter(|n| **n > 0).count() as u64,
            sequences: self.sequences(),
        });
    }

    /// How many sequences were seen.
    pub fn sequences(&self) -> u64 {
        self.seen.values().map(|s| s.len() as u64).sum()
    }

    /// How many were seen, by instruction set.
    pub fn by_arch(&self) -> impl Iterator<Item = (&str, usize)> {
        self.seen.iter().map(|(arch, seen)| (arch.as_str(), seen.len()))
    }

    /// How many tests beside such as were new wait to be tried.
    pub fn leads(&self) -> usize {
        self.leads.len()
    }

    /// The share of tests that were new, in each tenth of the hunt.
    pub fn rates(&self) -> Vec<f64> {
        let parts = self.marks.len().min(10);
        let mut out = Vec::new();
        for i in 0..parts {
            let (from, to) = (i * self.marks.len() / parts, (i + 1) * self.marks.len() / parts);
            let before = if from == 0 { 0 } else { self.marks[from - 1].tests };
            let tests = self.marks[to - 1].tests - before;
            let novel: u64 = self.marks[from..to].iter().map(|m| m.novel).sum();
            out.push(if tests == 0 { 0.0 } else { novel as f64 / tests as f64 });
        }
        out
    }
}
