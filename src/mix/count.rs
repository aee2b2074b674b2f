//! Counts assignments of profiles to parts, and finds those that differ and those that say most.
//!
//! Profiles and code sequences are numbers here; it does not know what they stand for.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The code sequence that each profile makes of each part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The sequences, by part and then by profile.
    pub sequences: Vec<Vec<u32>>,
    /// Whether the choice of a profile matters for a part. For other parts the first profile is
    /// taken.
    pub chosen: Vec<bool>,
}

/// A sequence for each part.
pub type Combination = Vec<u32>;

/// A profile for each part.
pub type Assignment = Vec<usize>;

impl Table {
    /// The number of profiles.
    pub fn profiles(&self) -> usize {
        self.sequences.first().map_or(0, Vec::len)
    }

    /// |P|^|I|: how many assignments there are.
    pub fn assignments(&self) -> u128 {
        let parts = self.chosen.iter().filter(|c| **c).count() as u32;
        (self.profiles() as u128).saturating_pow(parts)
    }

    /// The distinct sequences of a part.
    pub fn distinct(&self, part: usize) -> BTreeSet<u32> {
        match self.chosen[part] {
            true => self.sequences[part].iter().copied().collect(),
            false => self.sequences[part].first().copied().into_iter().collect(),
        }
    }

    /// The number of combinations of distinct sequences.
    pub fn combinations(&self) -> u128 {
        (0..self.sequences.len())
            .map(|i| self.distinct(i).len() as u128)
            .fold(1, u128::saturating_mul)
    }

    /// The number of combinations that [`Table::each`] visits, without visiting them. By Burnside's
    /// lemma it is the mean, over all symmetries with the identity, of the number of combinations
    /// that a symmetry leaves unchanged. Such a combination has one sequence for all parts that the
    /// symmetry maps to each other. The symmetries with the identity form a group.
    pub fn up_to(&self, symmetries: &[Vec<usize>]) -> u128 {
        let choices: Vec<BTreeSet<u32>> =
            (0..self.sequences.len()).map(|i| self.distinct(i)).collect();
        let fixed = |symmetry: &Vec<usize>| {
            let mut all = 1u128;
            let mut seen = vec![false; choices.len()];
            for first in 0..choices.len() {
                let mut common = choices[first].clone();
                let mut part = first;
                while !seen[part] {
                    seen[part] = true;
                    common.retain(|sequence| choices[part].contains(sequence));
                    part = symmetry[part];
                    if part == first {
                        all = all.saturating_mul(common.len() as u128);
                    }
                }
            }
            all
        };
        let identity: Vec<usize> = (0..choices.len()).collect();
        let sum = symmetries.iter().map(fixed).fold(fixed(&identity), u128::saturating_add);
        sum / (symmetries.len() as u128 + 1)
    }

    /// The combination in which one profile compiles everything.
    pub fn uniform(&self, profile: usize) -> Combination {
        (0..self.sequences.len())
            .map(|i| self.sequences[i][if self.chosen[i] { profile } else { 0 }])
            .collect()
    }

    /// Profiles whose sequences all come from profiles before them, too.
    pub fn adds_nothing(&self) -> Vec<usize> {
        let new = |p: usize| {
            (0..self.sequences.len())
                .filter(|i| self.chosen[*i])
                .any(|i| !self.sequences[i][..p].contains(&self.sequences[i][p]))
        };
        (1..self.profiles()).filter(|p| !new(*p)).collect()
    }

    /// Calls `f` with every combination of distinct sequences, until it returns false. Of
    /// combinations that a symmetry maps to each other, only the first is visited.
    pub fn each(&self, symmetries: &[Vec<usize>], f: &mut dyn FnMut(&Combination) -> bool) {
        let choices: Vec<Vec<u32>> =
            (0..self.sequences.len()).map(|i| self.distinct(i).into_iter().collect()).collect();
        if choices.iter().any(Vec::is_empty) {
            return;
        }
        let mut at = vec![0usize; choices.len()];
        let mut now: Combination = choices.iter().map(|c| c[0]).collect();
        loop {
            // A symmetry gives for each part the part that it is mapped to.
            let first = symmetries.iter().all(|s| {
                let other = s.iter().map(|j| now[*j]);
                other.cmp(now.iter().copied()) != std::cmp::Ordering::Less
            });
            if first && !f(&now) {
                return;
            }
            let mut i = choices.len();
            loop {
                if i == 0 {
                    return;
                }
                i -= 1;
                at[i] += 1;
                if at[i] < choices[i].len() {
                    now[i] = choices[i][at[i]];
                    break;
                }
                at[i] = 0;
                now[i] = choices[i][0];
            }
        }
    }

    /// The best assignment of these profiles for a combination: the one with the fewest parts from
    /// other profiles than the main one.
    pub fn assign(&self, combination: &Combination, profiles: &[usize]) -> Option<Assignment> {
        let fits = |i: usize, p: usize| !self.chosen[i] || self.sequences[i][p] == combination[i];
        let parts = combination.len();
        let mut best: Option<(usize, Assignment)> = None;
        for host in profiles {
            let mut out = Vec::with_capacity(parts);
            let mut foreign = 0;
            for i in 0..parts {
                let p = match fits(i, *host) {
                    true => *host,
                    false => {
                        foreign += 1;
                        *profiles.iter().find(|p| fits(i, **p))?
                    }
                };
                out.push(p);
            }
            if best.as_ref().is_none_or(|(n, _)| foreign < *n) {
                best = Some((foreign, out));
            }
        }
        best.map(|(_, a)| a)
    }

    /// The smallest sets of these profiles that can make a combination, each with its best
    /// assignment. If more than three profiles are needed, only one set is given.
    pub fn smallest(
        &self,
        combination: &Combination,
        from: &[usize],
    ) -> Vec<(Vec<usize>, Assignment)> {
        for size in 1..=3 {
            if size == 3 && from.len() > 24 {
                break;
            }
            let mut out = Vec::new();
            subsets(from, size, &mut |set| {
                if let Some(a) = self.assign(combination, set)
                    && set.iter().all(|p| a.contains(p))
                {
                    out.push((set.to_vec(), a));
                }
            });
            if !out.is_empty() {
                return out;
            }
        }
        let mut out = Vec::new();
        if let Some(a) = self.assign(combination, from) {
            let set: BTreeSet<usize> = a.iter().copied().collect();
            out.push((set.into_iter().collect(), a));
        }
        out
    }
}

/// Every subset of this size, in order.
fn subsets(from: &[usize], size: usize, f: &mut dyn FnMut(&[usize])) {
    fn below(from: &[usize], size: usize, set: &mut Vec<usize>, f: &mut dyn FnMut(&[usize])) {
        if size == 0 {
            return f(set);
        }
        for (n, p) in from.iter().enumerate() {
            set.push(*p);
            below(&from[n + 1..], size - 1, set, f);
            set.pop();
        }
    }
    below(from, size, &mut Vec::new(), f);
}

/// Numbers code sequences.
#[derive(Default)]
pub struct Interner<K: Ord>(BTreeMap<K, u32>);

impl<K: Ord> Interner<K> {
    /// The number of a sequence; a new sequence gets the next number.
    pub fn number(&mut self, key: K) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(key).or_insert(next)
    }
}
