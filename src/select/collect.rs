//! Collects the tests of a recipe and its families in one list, without duplicates and sampled, in
//! which tests are found by name.
//!
//! It does not know pipelines.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::filter::Filter;
use litmake_base::diag::{Diag, Result, Source};
use litmake_generate::recipe::Recipe;
use litmake_generate::{
    EXCLUDED, FILTERED, LIMITED, Made, Names, REPEATED, SAMPLED, Tally, UNSCOPED, families, scopes,
};
use litmake_litmus::{self as litmus, Arch};

/// Tests that are found by name.
pub struct Collected {
    arch: Arch,
    /// The tests, sorted by name.
    all: Vec<Made>,
    /// How many variants with scopes stand for each test, and the seed of what is drawn.
    scopes: Option<(u64, u64)>,
    /// The counts of tests that were kept and dropped.
    pub tally: Tally,
}

impl Collected {
    /// The number of tests.
    pub fn len(&self) -> usize {
        self.all.len() * self.scopes.map_or(1, |(count, _)| count as usize)
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The names and texts of the tests, in the order of the names, variants in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (String, String)> {
        self.all.iter().flat_map(|m| {
            let text = m.text(self.arch);
            let Some((count, seed)) = self.scopes else { return vec![(m.name.to_string(), text)] };
            let variant = |n| Some((scopes::name(&m.name, n), scopes::variant(&text, n, seed)?));
            (0..count).filter_map(variant).collect()
        })
    }

    /// The text of the test with a name.
    pub fn find(&self, name: &str) -> Option<String> {
        let text = |name: &str| {
            let at = self.all.binary_search_by(|m| m.name.as_str().cmp(name)).ok()?;
            Some(self.all[at].text(self.arch))
        };
        let Some((_, seed)) = self.scopes else { return text(name) };
        let (base, number) = scopes::base(name)?;
        scopes::variant(&text(base)?, number, seed)
    }
}

/// The selection of tests, in the order in which its parts apply.
pub struct Wanted<'w> {
    /// Whether the test with a name is excluded.
    pub excluded: &'w dyn Fn(&str) -> bool,
    /// The filter that tests must pass.
    pub keep: &'w Filter,
    /// The size of a sample, and its seed.
    pub sample: Option<(usize, u64)>,
    /// The largest number of tests, the first by name.
    pub limit: usize,
    /// How many variants with scopes stand for each test, and the seed of what is drawn.
    pub scopes: Option<(u64, u64)>,
}

impl<'w> Wanted<'w> {
    /// Selects all tests that pass a filter.
    pub fn all(keep: &'w Filter) -> Wanted<'w> {
        Wanted { excluded: &|_| false, keep, sample: None, limit: usize::MAX, scopes: None }
    }
}

/// Makes all tests, and keeps the selected ones.
pub fn collect(
    recipe: &Recipe,
    families: &[Source],
    wanted: &Wanted,
    jobs: usize,
) -> Result<Collected> {
    let Wanted { excluded, keep, sample, limit, scopes } = *wanted;
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
    // Recipe and families may give equal tests, and different tests with equal names.
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
    keep.begin();
    if !keep.is_empty() {
        all.retain(|m| {
            let test = litmus::read(&Source::new(m.name.as_str(), m.text(arch)));
            test.map_or(true, |t| keep.keeps(&t))
        });
    }
    dropped(FILTERED, &all, &mut tally);
    if !all.is_empty() {
        keep.check_held()?;
    }
    if let Some((_, seed)) = scopes {
        if arch != Arch::C {
            return Err(Diag::new(
                "variants with scopes are of C tests; `arch` is another dialect",
            ));
        }
        all.retain(|m| scopes::variant(&m.text(arch), 0, seed).is_some());
    }
    dropped(UNSCOPED, &all, &mut tally);
    if let Some((count, seed)) = sample {
        all = stratified(all, count, seed);
    }
    dropped(SAMPLED, &all, &mut tally);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.truncate(limit);
    dropped(LIMITED, &all, &mut tally);
    all.shrink_to_fit();
    Ok(Collected { arch, all, scopes, tally })
}

/// The stratum of a test: its construct if it has one, else its family.
fn stratum(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((_, construct)) if !construct.bytes().all(|b| b.is_ascii_digit()) => construct,
        _ => name.split('+').next().unwrap_or(name),
    }
}

/// A sample that takes tests from all strata in turn, so that each is represented while there is
/// room.
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
