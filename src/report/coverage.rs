//! Coverage: the tests that a run judged, with their profiles, and those that differ. From it, a
//! later run can tell that a bug was looked for and is gone.
//!
//! Tests are stored as the first 48 bits of the digests of their names, so that 100,000 tests take
//! about a megabyte. It does not know what tests are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::baseline::Seen;
use litmake_base::digest::Digest;

/// A run with more tests has no coverage in its report.
const MOST: usize = 1 << 20;

/// The number of hexadecimal digits of a test's mark.
const DIGITS: usize = 12;

/// Tests as the marks of their names: twelve hexadecimal digits each, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Tests(String);

impl Tests {
    /// Items other than tests, by their digests.
    pub fn of_digests(list: impl Iterator<Item = Digest>) -> Tests {
        Tests::of(&list.map(|digest| digest.prefix() >> 16).collect())
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.digits().len() as u64
    }

    /// The items of both.
    pub fn union(&self, other: &Tests) -> Tests {
        Tests::of(&self.marks().union(&other.marks()).copied().collect())
    }

    fn of(marks: &BTreeSet<u64>) -> Tests {
        Tests(marks.iter().map(|m| format!("{m:012x}")).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn digits(&self) -> &[[u8; DIGITS]] {
        self.0.as_bytes().as_chunks().0
    }

    fn has(&self, mark: u64) -> bool {
        let wanted = format!("{mark:012x}");
        self.digits().binary_search_by(|d| d.as_slice().cmp(wanted.as_bytes())).is_ok()
    }

    fn marks(&self) -> BTreeSet<u64> {
        let one = |d: &[u8; DIGITS]| u64::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok();
        self.digits().iter().filter_map(one).collect()
    }
}

/// The mark of a test: 48 bits of the digest of its name.
fn mark(test: &str) -> u64 {
    Digest::of(test.as_bytes()).prefix() >> 16
}

/// The tests of a run, and their results with each profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Every test that was judged with at least one profile.
    pub tests: Tests,
    /// The results, one entry for each profile and for each set of mixed profiles.
    pub profiles: Vec<Share>,
}

/// The results of the tests with one profile, or with mixes of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// The profile, or the profiles that were mixed.
    pub profiles: Vec<String>,
    /// Whether the profiles were mixed; the entry then covers each choice among them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
    /// The tests that were not judged with these profiles.
    #[serde(default, skip_serializing_if = "Tests::is_empty")]
    pub without: Tests,
    /// The tests that differ.
    #[serde(default, skip_serializing_if = "Tests::is_empty")]
    pub differ: Tests,
}

impl Share {
    fn is_of(&self, profiles: &[String]) -> bool {
        match self.mixed {
            true => !profiles.is_empty() && profiles.iter().all(|p| self.profiles.contains(p)),
            false => self.profiles == profiles,
        }
    }
}

impl Coverage {
    /// The result of the run for a test with some profiles.
    pub fn saw(&self, test: &str, profiles: &[String]) -> Seen {
        let mark = mark(test);
        if !self.tests.has(mark) {
            return Seen::Nothing;
        }
        let of = self.profiles.iter().filter(|s| s.is_of(profiles) && !s.without.has(mark));
        let all: Vec<Seen> =
            of.map(|s| if s.differ.has(mark) { Seen::Differs } else { Seen::Clean }).collect();
        let first = [Seen::Differs, Seen::Clean].into_iter().find(|s| all.contains(s));
        first.unwrap_or(Seen::Nothing)
    }
}

/// Collects coverage from several comparisons or parts of a run.
#[derive(Default)]
pub struct Gather {
    marks: Vec<u64>,
    places: HashMap<u64, u32>,
    of: BTreeMap<(Vec<String>, bool), Sets>,
}

/// The index of a test in a [`Gather`]. Profiles often share a list of tests, so that each test is
/// looked up once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TestNumber(u32);

/// The tests that were judged with some profiles, and those that differ.
#[derive(Default)]
struct Sets {
    judged: Places,
    differ: Places,
}

/// A set of indices into [`Gather::marks`], one bit each.
#[derive(Clone, Default)]
struct Places(Vec<u64>);

impl Places {
    fn insert(&mut self, TestNumber(place): TestNumber) {
        let word = place as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % 64);
    }

    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

impl Gather {
    /// The index of a test; adds the test if it is new.
    pub fn test(&mut self, name: &str) -> TestNumber {
        self.known(mark(name))
    }

    fn known(&mut self, mark: u64) -> TestNumber {
        let marks = &mut self.marks;
        TestNumber(*self.places.entry(mark).or_insert_with(|| {
            marks.push(mark);
            marks.len() as u32 - 1
        }))
    }

    /// Adds tests that were judged with some profiles, and whether each differs.
    pub fn add<'t>(
        &mut self,
        profiles: &[String],
        mixed: bool,
        tests: impl Iterator<Item = (&'t str, bool)>,
    ) {
        let known: Vec<(TestNumber, bool)> = tests.map(|(name, d)| (self.test(name), d)).collect();
        self.add_known(profiles, mixed, known.into_iter());
    }

    /// Like [`Gather::add`], for tests whose indices are known.
    pub fn add_known(
        &mut self,
        profiles: &[String],
        mixed: bool,
        tests: impl Iterator<Item = (TestNumber, bool)>,
    ) {
        let sets = self.of.entry((profiles.to_vec(), mixed)).or_default();
        for (test, differs) in tests {
            sets.judged.insert(test);
            if differs {
                sets.differ.insert(test);
            }
        }
    }

    /// The coverage, or `None` if there are too many tests or none.
    pub fn finish(self) -> Option<Coverage> {
        let Gather { marks, of, .. } = self;
        let picked = |which: &dyn Fn(usize) -> bool| -> BTreeSet<u64> {
            marks.iter().enumerate().filter(|(i, _)| which(*i)).map(|(_, m)| *m).collect()
        };
        let some: Vec<bool> =
            (0..marks.len()).map(|i| of.values().any(|sets| sets.judged.has(i))).collect();
        let all = picked(&|i| some[i]);
        if all.is_empty() || all.len() > MOST {
            return None;
        }
        let tests = Tests::of(&all);
        let one = |((profiles, mixed), sets): (_, Sets)| Share {
            profiles,
            mixed,
            without: Tests::of(&picked(&|i| some[i] && !sets.judged.has(i))),
            differ: Tests::of(&picked(&|i| sets.differ.has(i))),
        };
        Some(Coverage { tests, profiles: of.into_iter().map(one).collect() })
    }
}

/// Joins the coverage of two parts of a run.
pub fn join(parts: [Option<Coverage>; 2]) -> Option<Coverage> {
    let mut sum = Gather::default();
    for part in parts.into_iter().flatten() {
        let tests = part.tests.marks();
        for share in &part.profiles {
            let differ = share.differ.marks();
            let without = share.without.marks();
            let judged: Vec<(TestNumber, bool)> = tests
                .difference(&without)
                .map(|mark| (sum.known(*mark), differ.contains(mark)))
                .collect();
            sum.add_known(&share.profiles, share.mixed, judged.into_iter());
        }
    }
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|n| n.to_string()).collect()
    }

    /// Profiles, whether they are mixed, and tests with whether they differ.
    type Judged<'t> = (&'t [&'t str], bool, &'t [(&'t str, bool)]);

    fn gathered(list: &[Judged]) -> Option<Coverage> {
        let mut gather = Gather::default();
        for (profiles, mixed, tests) in list {
            gather.add(&names(profiles), *mixed, tests.iter().copied());
        }
        gather.finish()
    }

    #[test]
    fn it_says_what_was_seen_of_each_test_with_each_profile() {
        let coverage = gathered(&[
            (&["p"], false, &[("a", false), ("b", true)]),
            (&["q"], false, &[("b", false), ("c", false)]),
            // Another comparison with the same profile.
            (&["p"], false, &[("a", true), ("c", false)]),
            (&["x", "y", "z"], true, &[("a", false)]),
        ])
        .unwrap();
        let saw = |test: &str, profiles: &[&str]| coverage.saw(test, &names(profiles));
        let p = ["a", "b", "c", "d"].map(|t| saw(t, &["p"]));
        assert_eq!(p, [Seen::Differs, Seen::Differs, Seen::Clean, Seen::Nothing]);
        let q = ["a", "b", "c"].map(|t| saw(t, &["q"]));
        assert_eq!(q, [Seen::Nothing, Seen::Clean, Seen::Clean]);
        let mixes = [&["x", "z"][..], &["z"], &["x", "p"], &[]].map(|p| saw("a", p));
        assert_eq!(mixes, [Seen::Clean, Seen::Clean, Seen::Nothing, Seen::Nothing]);
        let text = serde_json::to_string(&coverage).unwrap();
        assert_eq!(serde_json::from_str::<Coverage>(&text).unwrap(), coverage);
    }

    #[test]
    fn parts_join_to_the_whole_in_any_order() {
        let whole = gathered(&[
            (&["p"], false, &[("a", false), ("b", true), ("c", false)]),
            (&["q"], false, &[("b", false)]),
        ]);
        let one = gathered(&[(&["p"], false, &[("a", false)])]);
        let two = gathered(&[
            (&["q"], false, &[("b", false)]),
            (&["p"], false, &[("b", true), ("c", false)]),
        ]);
        assert_eq!(join([one.clone(), two.clone()]), whole);
        assert_eq!(join([two, one.clone()]), whole);
        assert_eq!(join([one.clone(), None]), one);
        assert_eq!(join([None, None]), None);
    }

    #[test]
    fn broken_digits_say_nothing() {
        let coverage = Coverage {
            tests: Tests("zz\u{e9}zzzzzzzzzz 12".into()),
            profiles: vec![Share { profiles: names(&["p"]), ..Share::default() }],
        };
        assert_eq!(coverage.saw("a", &names(&["p"])), Seen::Nothing);
        assert_eq!(join([Some(coverage), None]), None);
    }
}
