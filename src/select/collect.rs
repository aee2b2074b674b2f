//! Everything that a recipe and its families give, in one list: deduplicated, sampled, found by
//! name.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::filter::Filter;
use litmake_base::diag::{Diag, Result, Source};
use litmake_generate::recipe::Recipe;
use litmake_generate::{
    EXCLUDED, FILTERED, LIMITED, Made, Names, REPEATED, SAMPLED, Tally, families,
};
use litmake_litmus::{self as litmus, Arch};

/// Tests by name.
pub struct Collected {
    arch: Arch,
    /// Sorted by name.
    all: Vec<Made>,
    /// What became of everything that was looked at.
    pub tally: Tally,
}

impl Collected {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Names and texts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        self.all.iter().map(|m| (m.name.as_str(), m.text(self.arch)))
    }

    /// The text of the test of a name.
    pub fn find(&self, name: &str) -> Option<String> {
        let at = self.all.binary_search_by(|m| m.name.as_str().cmp(name)).ok()?;
        Some(self.all[at].text(self.arch))
    }
}

/// Which of the tests that are made are wanted, in the order in which that is asked.
pub struct Wanted<'w> {
    /// Whether a test of this name is left out.
    pub excluded: &'w dyn Fn(&str) -> bool,
    /// What they have to be like.
    pub keep: &'w Filter,
    /// So many, and a seed.
    pub sample: Option<(usize, u64)>,
    /// The first so many, by name.
    pub limit: usize,
}

impl<'w> Wanted<'w> {
    /// All that a filter keeps.
    pub fn all(keep: &'w Filter) -> Wanted<'w> {
        Wanted { excluded: &|_| false, keep, sample: None, limit: usize::MAX }
    }
}

/// Makes all tests, and keeps those that are wanted.
pub fn collect(
    recipe: &Recipe,
    families: &[Source],
    wanted: &Wanted,
    jobs: usize,
) -> Result<Collected> {
    let Wanted { excluded, keep, sample, limit } = *wanted;
    let (mut all, mut tally) = recipe.prepare()?.all(jobs)?;
    for family in families {
        let part = families::each(family, &mut |made| {
            all.push(made);
            ControlFlow::Continue(())
        })?;
        tally.add(&part);
    }
    let arch = if recipe.is_empty() { Arch::C } else { recipe.arch };
    if !families.is_empty() && arch != Arch::C {
        return Err(Diag::new("families are of C tests; `arch` is another dialect")
            .help("make two stages of it"));
    }
    // Parts may share tests, and names.
    let mut seen = FxHashSet::default();
    let mut names = Names::default();
    let mut left = all.len();
    let mut dropped = |why, all: &[Made], tally: &mut Tally| {
        tally.take_out(why, (left - all.len()) as u64);
        left = all.len();
    };
    all.retain_mut(|m| {
        let new = seen.insert(m.hash);
        if new {
            names.unique(&mut m.name);
        }
        new
    });
    dropped(REPEATED, &all, &mut tally);
    all.retain(|m| !excluded(&m.name));
    dropped(EXCLUDED, &all, &mut tally);
    if !keep.is_empty() {
        all.retain(|m| {
            let test = litmus::read(&Source::new(m.name.as_str(), m.text(arch)));
            test.map_or(true, |t| keep.keeps(&t))
        });
    }
    dropped(FILTERED, &all, &mut tally);
    if let Some((count, seed)) = sample {
        all = stratified(all, count, seed);
    }
    dropped(SAMPLED, &all, &mut tally);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.truncate(limit);
    dropped(LIMITED, &all, &mut tally);
    all.shrink_to_fit();
    Ok(Collected { arch, all, tally })
}

/// What a test is an example of: its construct where it has one, else its family.
fn stratum(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((_, construct)) if !construct.bytes().all(|b| b.is_ascii_digit()) => construct,
        _ => name.split('+').next().unwrap_or(name),
    }
}

/// A sample in which every stratum is, while there is room: strata give in turn.
pub fn stratified(all: Vec<Made>, count: usize, seed: u64) -> Vec<Made> {
    if all.len() <= count {
        return all;
    }
    let rank = |m: &Made| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes());
        hasher.update(&m.hash.to_le_bytes());
        *hasher.finalize().as_bytes()
    };
    let mut ranked: Vec<([u8; 32], Made)> = all.into_iter().map(|m| (rank(&m), m)).collect();
    ranked.sort_by_key(|a| a.0);
    let mut turn: FxHashMap<String, usize> = FxHashMap::default();
    let mut queue: Vec<(usize, [u8; 32], Made)> = ranked
        .into_iter()
        .map(|(rank, m)| {
            let n = turn.entry(stratum(&m.name).to_string()).or_insert(0);
            *n += 1;
            (*n, rank, m)
        })
        .collect();
    queue.sort_by_key(|a| (a.0, a.1));
    queue.truncate(count);
    queue.into_iter().map(|(_, _, m)| m).collect()
}
