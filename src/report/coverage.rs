//! Which tests a run judged with which profiles, and which of them differ. By that it can be told later,
//! from the report alone, that a bug was looked for and is gone.
//!
//! Tests are known by the first 48 bits of the digests of their names, so that a hundred thousand of them
//! are about a megabyte. It does not know what tests are.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::baseline::Seen;
use litmake_base::digest::Digest;

/// A run with more tests than this has no coverage in its report.
const MOST: usize = 1 << 20;

/// The digits of one test.
const DIGITS: usize = 12;

/// Tests by marks of their names: twelve hexadecimal digits each, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Tests(String);

impl Tests {
    fn of(marks: &BTreeSet<u64>) -> Tests {
        Tests(marks.iter().map(|m| format!("{m:012x}")).collect())
    }

    fn is_empty(&self) -> bool {
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

/// The mark of a test.
fn mark(test: &str) -> u64 {
    Digest::of(test.as_bytes()).prefix() >> 16
}

/// The tests of a run, and what became of them with each profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Coverage {
    /// Every test that was judged with some profile.
    pub tests: Tests,
    pub profiles: Vec<Share>,
}

/// What became of these tests with one profile, or with the mixes of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Share {
    pub profiles: Vec<String>,
    /// The profiles were mixed, so that it stands for each choice among them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
    /// The tests that were not judged.
    #[serde(default, skip_serializing_if = "Tests::is_empty")]
    pub without: Tests,
    /// Those that differ.
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
    /// What the run saw of a test with some profiles.
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

/// Coverage while it is gathered, from one comparison or one part of a run after the other.
#[derive(Default)]
pub struct Gather {
    all: BTreeSet<u64>,
    of: BTreeMap<(Vec<String>, bool), Sets>,
}

/// The tests that were not judged with some profiles, and those that differ.
#[derive(Default)]
struct Sets {
    without: BTreeSet<u64>,
    differ: BTreeSet<u64>,
}

impl Gather {
    /// Adds tests that were judged with some profiles, each with whether it differs.
    pub fn add<'t>(
        &mut self,
        profiles: &[String],
        mixed: bool,
        tests: impl Iterator<Item = (&'t str, bool)>,
    ) {
        self.add_marks(profiles, mixed, tests.map(|(test, differs)| (mark(test), differs)));
    }

    fn add_marks(
        &mut self,
        profiles: &[String],
        mixed: bool,
        tests: impl Iterator<Item = (u64, bool)>,
    ) {
        let key = (profiles.to_vec(), mixed);
        let own = || Sets { without: self.all.clone(), ..Sets::default() };
        let mut sets = self.of.remove(&key).unwrap_or_else(own);
        for (mark, differs) in tests {
            sets.without.remove(&mark);
            if differs {
                sets.differ.insert(mark);
            }
            if self.all.insert(mark) {
                for other in self.of.values_mut() {
                    other.without.insert(mark);
                }
            }
        }
        self.of.insert(key, sets);
    }

    pub fn finish(self) -> Option<Coverage> {
        if self.all.is_empty() || self.all.len() > MOST {
            return None;
        }
        let one = |((profiles, mixed), sets): (_, Sets)| Share {
            profiles,
            mixed,
            without: Tests::of(&sets.without),
            differ: Tests::of(&sets.differ),
        };
        Some(Coverage {
            tests: Tests::of(&self.all),
            profiles: self.of.into_iter().map(one).collect(),
        })
    }
}

/// The coverage of two parts of a run.
pub fn join(parts: [Option<Coverage>; 2]) -> Option<Coverage> {
    let mut sum = Gather::default();
    for part in parts.into_iter().flatten() {
        let tests = part.tests.marks();
        for share in &part.profiles {
            let differ = share.differ.marks();
            let judged = tests.difference(&share.without.marks()).copied().collect::<Vec<_>>();
            let marks = judged.into_iter().map(|m| (m, differ.contains(&m)));
            sum.add_marks(&share.profiles, share.mixed, marks);
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
            // A second comparison of the same profile.
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
