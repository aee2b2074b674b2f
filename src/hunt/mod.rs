//! Hunts for bugs: chooses the next tests by the code of earlier ones.
//!
//! A test whose code has a new sequence of instructions leads to tests near it, and a source whose
//! tests bring nothing new is drawn from less often. Sources are drawn from by what they bring for
//! their cost, and a part of the compiled tests is chosen for comparison (`choose`). It does not
//! know how tests are compiled and compared: it proposes tests and is given the code that compilers
//! made of them.

pub mod asks;
pub mod choose;
pub mod cover;
pub mod questions;
pub mod sequences;
pub mod sources;
pub mod turns;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use choose::{Chosen, Code, Uses};
use cover::Cover;
use litmake_base::digest::Digest;
use litmake_generate::axes::Random;
use questions::QUESTIONS;
use sources::{Position, Sources};

/// The version of the stored state.
const FORMAT: u32 = 7;

/// How many leads are kept; the best are.
const LEADS: usize = 4000;

/// How many tests near a new one are tried.
const NEIGHBOURS: usize = 4;

/// About how many recent draws decide how often a source is drawn from.
const RECENT: u32 = 32;

/// The arm of tests near new ones.
const BESIDE: &str = "beside new ones";

/// How many candidates are drawn; the one whose source has the most new sequences is taken.
const DRAWN_OF: usize = 8;

/// How many tests are drawn for each question before sources are drawn from by what they bring.
const FOR_EACH: usize = 16;

/// The cost of a test in addition to its code, in instructions, for writing, reading and passing it
/// on.
const EACH: u64 = 16;

/// A test to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The name, which can be the name of a file.
    pub name: String,
    /// The test, in C.
    pub text: String,
    /// The arm that it was drawn from.
    pub arm: usize,
    /// The position in its source.
    pub place: Position,
}

/// The record of one source, or of the tests near new ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// The name in reports.
    pub name: String,
    /// The number of tests that were drawn from it.
    pub drawn: u64,
    /// The number of these with new code.
    pub novel: u64,
    /// The number of new sequences in them.
    pub brought: u64,
    /// The cost of them, in instructions.
    pub cost: u64,
    /// Whether each of the last draws was new; the lowest bit is the last draw.
    recent: u32,
    /// The new sequences and the cost of recent draws; older draws count less.
    lately: (u64, u64),
}

impl Arm {
    fn seen(&mut self, new: u64, cost: u64) {
        self.drawn += 1;
        self.novel += u64::from(new > 0);
        self.brought += new;
        self.cost += cost;
        self.recent = self.recent << 1 | u32::from(new > 0);
        let fade = |sum: u64, add: u64| sum - sum / u64::from(RECENT) + add * 1024;
        self.lately = (fade(self.lately.0, new), fade(self.lately.1, cost));
    }

    /// Adds the cost of a test that was given up after it was counted.
    fn was_in_vain(&mut self) {
        self.cost += choose::MOST;
        self.lately.1 += choose::MOST * 1024;
    }

    /// New sequences per 1000 instructions of cost, over recent draws.
    fn worth(&self) -> u64 {
        self.lately.0 * 1000 / self.lately.1.max(1)
    }

    /// How often the arm is drawn from, given the worth of the best arm. An arm of half the worth
    /// is drawn from a quarter as often; an arm without new code is still tried now and then.
    fn weight(&self, best: u64) -> u64 {
        let of_best = |worth: u64| 1 + 255 * worth * worth / (best * best).max(1);
        match self.drawn {
            0..8 => 128,
            _ => of_best(self.worth().min(best)),
        }
    }

    /// Whether none of its recent draws was new.
    pub fn is_left(&self) -> bool {
        self.drawn >= RECENT.into() && self.recent == 0
    }
}

/// A test to try because a test near it was new.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Lead {
    /// The new sequences of that test per cost, negated so that the best is first.
    rank: i64,
    number: u64,
    place: Position,
}

/// The progress of a hunt at the end of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The number of tests so far.
    pub tests: u64,
    /// The tests with new code since the mark before.
    pub novel: u64,
    /// The number of sequences so far.
    pub sequences: u64,
}

/// The state of a hunt. Equal states draw equal tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hunt {
    format: u32,
    /// The seed of all draws.
    pub seed: u64,
    /// Whether drawing ignores what was learned; steering is measured against such hunts.
    pub blind: bool,
    /// The number of finished rounds.
    pub rounds: u64,
    /// The number of tests in these rounds.
    pub tests: u64,
    draws: u64,
    /// The record of each source, in the order of the sources.
    pub arms: Vec<Arm>,
    leads: BTreeSet<Lead>,
    next_lead: u64,
    /// The sequences that were seen, by instruction set.
    seen: BTreeMap<String, BTreeSet<u64>>,
    /// The sequences that no compared test had.
    unjudged: BTreeMap<String, BTreeSet<u64>>,
    /// The operations of sources that were compared, with their code.
    uses: Uses,
    /// Hashes of the texts of drawn tests.
    done: BTreeSet<u64>,
    /// The sequences of operations in their sources.
    asked: BTreeSet<u64>,
    /// The progress after each round.
    pub marks: Vec<Mark>,
    /// The constructs in the tests.
    pub cover: Cover,
    /// How many tests ask each question of [`questions`], in their order.
    pub asked_of_passes: Vec<u64>,
}

impl Hunt {
    /// A hunt that has not tried any test.
    pub fn new(seed: u64, blind: bool) -> Hunt {
        let arm = |name: String| Arm { name, ..Arm::default() };
        Hunt {
            format: FORMAT,
            seed,
            blind,
            rounds: 0,
            tests: 0,
            draws: 0,
            arms: names().map(arm).collect(),
            leads: BTreeSet::new(),
            next_lead: 0,
            seen: BTreeMap::new(),
            unjudged: BTreeMap::new(),
            uses: Uses::default(),
            done: BTreeSet::new(),
            asked: BTreeSet::new(),
            marks: Vec::new(),
            cover: Cover::default(),
            asked_of_passes: vec![0; QUESTIONS.len()],
        }
    }

    /// Whether this version can continue the hunt.
    pub fn is_current(&self) -> bool {
        self.format == FORMAT
            && self.asked_of_passes.len() == QUESTIONS.len()
            && self.arms.iter().map(|a| a.name.clone()).eq(names())
    }

    /// Draws the next tests, at most `count`. [`Hunt::learn`] must be called with them before the
    /// next call.
    pub fn draw(&mut self, sources: &mut Sources, count: usize) -> Vec<Drawn> {
        let mut out: Vec<Drawn> = Vec::new();
        let mut names = BTreeSet::new();
        for _ in 0..count * 20 {
            if out.len() >= count {
                break;
            }
            self.draws += 1;
            let mut random = Random::of(self.seed, self.draws);
            let arm = self.pick(&mut random);
            let drawn = match arm.checked_sub(self.arms.len() - 1) {
                Some(_) => self.leads.pop_first().and_then(|lead| self.at(sources, lead.place)),
                None => self.of_source(sources, arm, &mut random),
            };
            let Some((place, name, text)) = drawn else { continue };
            if self.done.insert(Digest::of(text.as_bytes()).prefix()) && names.insert(name.clone())
            {
                self.asked.extend(asks::sequences(&text));
                out.push(Drawn { name, text, arm, place });
            }
        }
        out
    }

    fn at(&self, sources: &mut Sources, place: Position) -> Option<(Position, String, String)> {
        let (name, text) = sources.test(&place)?;
        Some((place, name, text))
    }

    /// Draws a few tests of a source, and takes the one with the most new sequences for its size.
    fn of_source(
        &self,
        sources: &mut Sources,
        arm: usize,
        random: &mut Random,
    ) -> Option<(Position, String, String)> {
        // The plainest tests show most of what the first ones are drawn for.
        let tries = if self.blind || self.asks_first() { 1 } else { DRAWN_OF };
        let mut best: Option<(usize, (Position, String, String))> = None;
        for _ in 0..tries {
            let place = sources.draw(arm, random);
            let Some(test) = place.and_then(|place| self.at(sources, place)) else { continue };
            let all = asks::sequences(&test.2);
            let new = all.iter().filter(|s| !self.asked.contains(s)).count();
            // Even a small test costs something.
            let worth = new * 1000 / (all.len() + 4);
            if best.as_ref().is_none_or(|(most, _)| worth > *most) {
                best = Some((worth, test));
            }
        }
        best.map(|(_, test)| test)
    }

    /// Whether the draw is one of the first, which go round the questions.
    fn asks_first(&self) -> bool {
        self.draws <= (QUESTIONS.len() * FOR_EACH) as u64
    }

    /// The arm of the next draw. The first draws go round the questions, so that a short hunt asks all.
    fn pick(&self, random: &mut Random) -> usize {
        if !self.blind && self.asks_first() {
            let questions = Sources::of_questions();
            return questions.start + self.draws as usize % questions.len();
        }
        let best = self.arms.iter().map(Arm::worth).max().unwrap_or(0);
        let last = self.arms.len() - 1;
        let weight = |(i, arm): (usize, &Arm)| match () {
            // Without leads there are no tests near new ones.
            () if i == last && self.leads.is_empty() => 0,
            () if self.blind => 1,
            () => arm.weight(best),
        };
        let all: u64 = self.arms.iter().enumerate().map(weight).sum();
        let mut at = random.number() % all.max(1);
        for (i, arm) in self.arms.iter().enumerate() {
            match at.checked_sub(weight((i, arm))) {
                Some(rest) => at = rest,
                None => return i,
            }
        }
        0
    }

    /// Learns from the code that compilers made of the drawn tests: `code` has pairs of a test's
    /// index and a test of assembly. Returns the tests that are worth comparing.
    pub fn learn(
        &mut self,
        sources: &mut Sources,
        drawn: &[Drawn],
        code: &[(usize, litmake_litmus::Test)],
    ) -> Chosen {
        let all: Vec<Code> = code.iter().map(|(at, test)| Code::of(*at, test)).collect();
        let (mut new, mut cost) = (vec![0; drawn.len()], vec![EACH; drawn.len()]);
        for code in &all {
            cost[code.at] += code.size + EACH;
            let seen = self.seen.entry(code.arch.into()).or_default();
            for gram in &code.grams {
                if seen.insert(*gram) {
                    new[code.at] += 1;
                    self.unjudged.entry(code.arch.into()).or_default().insert(*gram);
                }
            }
        }
        let mut chosen = match self.blind {
            true => Chosen::all(all, drawn.len()),
            false => self.uses.choose(drawn, all, &self.unjudged),
        };
        for (at, more) in chosen.costs() {
            cost[at] += more;
        }
        for (at, ((test, new), cost)) in drawn.iter().zip(&new).zip(&cost).enumerate() {
            self.tests += 1;
            self.cover.add(&test.text);
            for (count, question) in self.asked_of_passes.iter_mut().zip(&QUESTIONS) {
                *count += u64::from(question.is_asked_by(&test.place, &Sources::family));
            }
            self.arms[test.arm].seen(*new, *cost);
            if *new == 0 || self.blind {
                continue;
            }
            let mut random = Random::of(self.seed ^ 1, self.next_lead);
            let first = self.next_lead;
            for place in sources.beside(&test.place, &mut random, NEIGHBOURS) {
                let number = self.next_lead;
                self.next_lead += 1;
                let rank = -((new * 1000 / cost) as i64);
                self.leads.insert(Lead { rank, number, place });
            }
            chosen.leads.insert(at, first..self.next_lead);
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
        chosen
    }

    /// Learns which chosen tests were compared: their indices, each with an instruction set.
    /// Sequences of the others stay unjudged. A test without any comparison has cost the time until
    /// it was given up; its leads are dropped, because they would likely cost as much.
    pub fn judged(&mut self, drawn: &[Drawn], chosen: &Chosen, compared: &BTreeSet<(usize, &str)>) {
        let done: BTreeSet<usize> = compared.iter().map(|(at, _)| *at).collect();
        let mut vain: Vec<&Range<u64>> = Vec::new();
        for at in chosen.tests.iter().filter(|at| !done.contains(at)) {
            self.arms[drawn[*at].arm].was_in_vain();
            vain.extend(chosen.leads.get(at));
        }
        self.leads.retain(|lead| !vain.iter().any(|numbers| numbers.contains(&lead.number)));
        for code in chosen.code.iter().filter(|c| compared.contains(&(c.at, c.arch))) {
            if let Some(unjudged) = self.unjudged.get_mut(code.arch) {
                for gram in &code.grams {
                    unjudged.remove(gram);
                }
            }
        }
    }

    /// The number of sequences that no compared test had.
    pub fn unjudged(&self) -> u64 {
        self.unjudged.values().map(|s| s.len() as u64).sum()
    }

    /// The number of sequences that were seen.
    pub fn sequences(&self) -> u64 {
        self.seen.values().map(|s| s.len() as u64).sum()
    }

    /// The number of sequences that were seen, by instruction set.
    pub fn by_arch(&self) -> impl Iterator<Item = (&str, usize)> {
        self.seen.iter().map(|(arch, seen)| (arch.as_str(), seen.len()))
    }

    /// The number of leads that are left.
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

/// The names of the arms: the sources, and the tests near new ones.
fn names() -> impl Iterator<Item = String> {
    Sources::names().into_iter().chain([BESIDE.to_string()])
}
