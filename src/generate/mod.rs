//! Where tests come from: cycles of relaxations, vocabularies of them, ready-made families.
//!
//! It makes litmus tests of every dialect and knows how instructions are written, but neither
//! what a model allows (only `distinguish` asks the simulator) nor how tests are stored.

pub mod collect;
pub mod cycle;
pub mod dialect;
pub mod distinguish;
pub mod draft;
pub mod edge;
pub mod emit;
pub mod enumerate;
pub mod exhaustive;
pub mod families;
pub mod filter;
pub mod name;
pub mod observe;
pub mod recipe;
pub mod syntax;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::litmus::Arch;
use cycle::{Refused, Shape, Workshop};
use dialect::Dialect;
use draft::Draft;
use edge::Edge;
use emit::Style;
use enumerate::{Family, Search};
use name::Namer;

/// Makes tests out of cycles, one after the other, in buffers that are used again.
#[derive(Default)]
pub struct Maker {
    pub shop: Workshop,
    pub draft: Draft,
    namer: Namer,
}

impl Maker {
    /// Makes the test of a cycle in `draft`.
    pub fn make(
        &mut self,
        dialect: &Dialect,
        cycle: &[Edge],
        shape: &Shape,
        style: &Style,
    ) -> Result<(), Refused> {
        self.shop.resolve(cycle)?;
        self.shop.normalise()?;
        self.finish(dialect, shape, style)
    }

    /// The same without looking for the normal rotation first.
    pub fn make_as_is(
        &mut self,
        dialect: &Dialect,
        cycle: &[Edge],
        shape: &Shape,
        style: &Style,
    ) -> Result<(), Refused> {
        self.shop.resolve(cycle)?;
        self.finish(dialect, shape, style)
    }

    fn finish(&mut self, dialect: &Dialect, shape: &Shape, style: &Style) -> Result<(), Refused> {
        self.shop.build(dialect, shape)?;
        emit::emit(dialect, &self.shop, style, &mut self.draft)?;
        self.namer.name(dialect, &self.shop.edges, &mut self.draft.name);
        let doc = &mut self.draft.doc;
        for edge in &self.shop.edges {
            if !doc.is_empty() {
                doc.push(' ');
            }
            syntax::print_edge(dialect, *edge, doc);
        }
        Ok(())
    }
}

/// What became of the cycles of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cycles that were enumerated.
    pub cycles: u64,
    /// Cycles that make no test.
    pub refused: u64,
    /// Cycles whose test another cycle had given.
    pub repeated: u64,
    pub tests: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.cycles += other.cycles;
        self.refused += other.refused;
        self.repeated += other.repeated;
        self.tests += other.tests;
    }
}

/// The first 128 bits of a hash; two tests have the same with a chance that does not count.
pub fn short(hash: &blake3::Hash) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    u128::from_le_bytes(bytes)
}

/// Gives each test a name of its own: the second of a name gets a number.
#[derive(Default)]
pub struct Names {
    seen: FxHashMap<u64, u32>,
}

impl Names {
    pub fn unique(&mut self, name: &mut String) {
        use std::hash::{Hash, Hasher};
        loop {
            let mut hasher = rustc_hash::FxHasher::default();
            name.hash(&mut hasher);
            let count = self.seen.entry(hasher.finish()).or_insert(0);
            *count += 1;
            if *count == 1 {
                return;
            }
            let n = *count - 1;
            let digits = n.to_string();
            name.extend(std::iter::repeat_n('0', 3usize.saturating_sub(digits.len())));
            name.push_str(&digits);
        }
    }
}

/// Which tests have been met, by canonical form.
#[derive(Default)]
pub struct Seen {
    hashes: FxHashSet<u128>,
}

impl Seen {
    pub fn insert(&mut self, hash: &blake3::Hash) -> bool {
        self.hashes.insert(short(hash))
    }

    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }
}

/// A generated test, away from the buffers it was made in.
#[derive(Clone, Debug)]
pub struct Made {
    pub name: String,
    /// Everything behind the line with the name.
    pub body: String,
    pub hash: u128,
}

impl Made {
    /// The test as it is written into files.
    pub fn text(&self, arch: Arch) -> String {
        format!("{} {}\n{}", arch.name(), self.name, self.body)
    }
}

/// Calls `f` on every test of a family, each once by canonical form, with a name of its own, in
/// an order that depends on the family alone. `f` says whether to go on.
pub fn each_test(
    dialect: &Dialect,
    family: &Family,
    style: &Style,
    f: &mut dyn FnMut(&Draft, &blake3::Hash) -> ControlFlow<()>,
) -> Tally {
    let search = Search::new(dialect, family);
    let mut maker = Maker::default();
    let mut seen = Seen::default();
    let mut names = Names::default();
    let mut tally = Tally::default();
    // Whoever stops it knows.
    let _ = search.each(None, &mut |cycle| {
        tally.cycles += 1;
        if maker.make(dialect, cycle, &family.shape, style).is_err() {
            tally.refused += 1;
            return ControlFlow::Continue(());
        }
        let hash = maker.draft.canonical_hash();
        if !seen.insert(&hash) {
            tally.repeated += 1;
            return ControlFlow::Continue(());
        }
        tally.tests += 1;
        names.unique(&mut maker.draft.name);
        f(&maker.draft, &hash)
    });
    tally
}

/// The tests of a family on several cores. The result does not depend on how many.
pub fn all_tests(
    dialect: &Dialect,
    family: &Family,
    style: &Style,
    jobs: usize,
) -> (Vec<Made>, Tally) {
    let search = Search::new(dialect, family);
    let width = search.width();
    let next = AtomicUsize::new(0);
    let parts: Mutex<Vec<(usize, Vec<Made>, Tally)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, 64) {
            scope.spawn(|| {
                let mut maker = Maker::default();
                loop {
                    let first = next.fetch_add(1, Ordering::Relaxed);
                    if first >= width {
                        return;
                    }
                    let (mut made, mut tally) = (Vec::new(), Tally::default());
                    let _ = search.each(Some(first), &mut |cycle| {
                        tally.cycles += 1;
                        match maker.make(dialect, cycle, &family.shape, style) {
                            Ok(()) => made.push(take(&mut maker.draft)),
                            Err(_) => tally.refused += 1,
                        }
                        ControlFlow::Continue(())
                    });
                    if let Ok(mut parts) = parts.lock() {
                        parts.push((first, made, tally));
                    }
                }
            });
        }
    });
    let mut parts = parts.into_inner().unwrap_or_default();
    parts.sort_by_key(|(first, ..)| *first);
    let mut seen = FxHashSet::default();
    let mut names = Names::default();
    let mut out = Vec::new();
    let mut tally = Tally::default();
    for (_, made, part) in parts {
        tally.add(part);
        for mut test in made {
            if seen.insert(test.hash) {
                names.unique(&mut test.name);
                out.push(test);
            } else {
                tally.repeated += 1;
            }
        }
    }
    tally.tests = out.len() as u64;
    (out, tally)
}

/// Copies a test out of its buffers.
pub fn take(draft: &mut Draft) -> Made {
    let hash = draft.canonical_hash();
    made(draft, &hash)
}

/// The same where the hash is known.
pub fn made(draft: &Draft, hash: &blake3::Hash) -> Made {
    let mut text = String::with_capacity(512);
    draft.print(&mut text);
    let body = text.find('\n').map_or("", |i| &text[i + 1..]).to_string();
    Made { name: draft.name.clone(), body, hash: short(hash) }
}
