//! Where tests come from: cycles of relaxations, vocabularies of them, ready-made families.
//!
//! It makes litmus tests of every dialect and knows how instructions are written, but neither
//! what a model allows (only `distinguish` asks the simulator) nor how tests are stored.

pub mod axes;
pub mod cycle;
pub mod dialect;
pub mod draft;
pub mod edge;
pub mod emit;
pub mod enumerate;
pub mod exhaustive;
pub mod families;
pub mod name;
pub mod named;
mod observe;
mod packed;
pub mod recipe;
pub mod scopes;
pub mod syntax;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use cycle::{Refused, Shape, Workshop};
use dialect::Dialect;
use draft::Draft;
use edge::Edge;
use emit::Style;
use enumerate::{Family, Search};
use litmake_litmus::Arch;
use name::Namer;
use packed::Packed;

/// Makes tests out of cycles, one after the other, in buffers that are used again.
#[derive(Default)]
pub struct Maker {
    /// The cycle, and its events.
    pub shop: Workshop,
    /// The test that was made last.
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

/// Counts of candidates: each became a test or was dropped for a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The candidates: cycles, or programs.
    pub cycles: u64,
    /// The candidates that became tests.
    pub tests: u64,
    dropped: Vec<(Refused, u64)>,
}

/// A reason why a candidate is no test. This and the next ones leave out good tests; all others say why
/// there is none.
pub const REPEATED: Refused = "the same test as another";
/// A reason: only some families of cycles were asked for.
pub const OTHER_FAMILY: Refused = "of a family that was not asked for";
/// A reason: its name is among those to leave out.
pub const EXCLUDED: Refused = "excluded by name";
/// A reason: `keep` asks for tests that it is not among.
pub const FILTERED: Refused = "not what `keep` asks for";
/// A reason: only some of the tests were asked for, by chance.
pub const SAMPLED: Refused = "not in the sample";
/// A reason: variants with scopes were asked for, and it has none.
pub const UNSCOPED: Refused = "no atomic operation that could name a scope";
/// A reason: there are as many tests before it as were asked for.
pub const LIMITED: Refused = "beyond the limit";

impl Tally {
    /// Counts a candidate that was dropped for a reason.
    pub fn drop(&mut self, why: Refused) {
        self.dropped_many(why, 1);
    }

    /// Counts candidates that were dropped for a reason.
    pub(crate) fn dropped_many(&mut self, why: Refused, n: u64) {
        if n == 0 {
            return;
        }
        match self.dropped.iter_mut().find(|(w, _)| std::ptr::eq(*w, why) || *w == why) {
            Some((_, sum)) => *sum += n,
            None => self.dropped.push((why, n)),
        }
    }

    /// Takes back tests that were counted, for a reason.
    pub fn take_out(&mut self, why: Refused, n: u64) {
        self.tests = self.tests.saturating_sub(n);
        self.dropped_many(why, n);
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Tally) {
        self.cycles += other.cycles;
        self.tests += other.tests;
        for (why, n) in &other.dropped {
            self.dropped_many(why, *n);
        }
    }

    /// The number of candidates that were the same test as another.
    pub fn repeated(&self) -> u64 {
        self.dropped.iter().filter(|(w, _)| *w == REPEATED).map(|(_, n)| n).sum()
    }

    /// Reasons with their counts, the commonest first.
    pub fn dropped(&self) -> Vec<(Refused, u64)> {
        let mut out = self.dropped.clone();
        out.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        out
    }
}

/// The first 128 bits of a hash; the chance that two tests share them is negligible.
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
    /// Changes a name that was there before to one that was not.
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
    /// Notes a test by its hash; returns whether it is new.
    pub fn insert(&mut self, hash: &blake3::Hash) -> bool {
        self.hashes.insert(short(hash))
    }
}

/// A generated test, copied out of the buffers in which it was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The name of the test.
    pub name: String,
    /// Everything behind the line with the name.
    body: Packed,
    /// The first bits of the hash of its canonical form, as [`short`] has them.
    pub hash: u128,
}

impl Made {
    /// Takes a test whose text is `text`, a line with the name first.
    pub fn new(arch: Arch, name: String, text: &str, hash: u128) -> Made {
        let body = text.split_once('\n').map_or("", |(_, body)| body);
        Made { name, body: Packed::new(arch, body), hash }
    }

    /// The test as it is written into files.
    pub fn text(&self, arch: Arch) -> String {
        format!("{} {}\n{}", arch.name(), self.name, self.body.text(arch))
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
        if let Err(why) = maker.make(dialect, cycle, &family.shape, style) {
            tally.drop(why);
            return ControlFlow::Continue(());
        }
        let hash = maker.draft.canonical_hash();
        if !seen.insert(&hash) {
            tally.drop(REPEATED);
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
                            Err(why) => tally.drop(why),
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
        tally.add(&part);
        for mut test in made {
            if seen.insert(test.hash) {
                names.unique(&mut test.name);
                out.push(test);
            } else {
                tally.drop(REPEATED);
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

/// Copies a test, whose canonical hash is known, out of its buffers.
pub fn made(draft: &Draft, hash: &blake3::Hash) -> Made {
    let mut text = String::with_capacity(512);
    draft.print(&mut text);
    Made::new(draft.arch.unwrap_or(Arch::C), draft.name.clone(), &text, short(hash))
}
