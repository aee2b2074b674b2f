//! Bugs: joins equal differences to one finding, and lists the tests and profiles that show it.
//!
//! It does not know how differences are recognised as equal.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Class, Finding, Outcomes, Report, Status, number};
use litmake_base::digest::Keyer;

/// How many occurrences of a bug are kept, the first by the names of their tests; the others are
/// only counted.
pub const OCCURRENCES: usize = 20;

/// A test that shows a bug when some profiles compile it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Occurrence {
    /// The test's name.
    pub test: String,
    /// The profile that compiled it, or the profiles that were mixed.
    pub profiles: Vec<String>,
    /// The outcomes that differ.
    pub outcomes: Outcomes,
}

/// Differences that the budget did not suffice to assign to bugs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unexplored {
    /// The class of the bugs that they may be.
    pub class: Class,
    /// The compilers without their versions.
    pub family: String,
    /// The number of differences, in all and by profiles.
    pub count: u64,
    /// See `count`.
    pub by_profile: BTreeMap<String, u64>,
    /// The first occurrences, by the names of their tests.
    pub occurrences: Vec<Occurrence>,
}

impl Unexplored {
    /// A description in one line.
    pub fn said(&self) -> String {
        let profiles: Vec<String> =
            self.by_profile.iter().map(|(p, n)| format!("{p}: {n}")).collect();
        format!(
            "not looked into: {} of {} ({}; {})",
            number(self.count, "difference"),
            self.family,
            self.class.name(),
            profiles.join(", ")
        )
    }
}

/// The name under which the occurrences of some profiles are counted.
pub fn profiles_key(profiles: &[String]) -> String {
    profiles.join(" + ")
}

/// The identity of a bug: its class, the family of compilers, its label, and its form: the test
/// without all that the bug does not need.
pub fn id(class: Class, family: &str, label: &str, form: &str) -> String {
    Keyer::new("bug/1")
        .field("class", class.name().as_bytes())
        .field("family", family.as_bytes())
        .field("label", label.as_bytes())
        .field("form", form.as_bytes())
        .finish()
        .short()
}

/// Occurrences by test and profiles, at most a given number.
#[derive(Clone, Debug, Default)]
struct Kept {
    list: BTreeMap<(String, Vec<String>), Outcomes>,
}

impl Kept {
    /// Adds an occurrence if it is among the first; only then computes its outcomes.
    fn add(
        &mut self,
        test: &str,
        profiles: &[String],
        limit: Option<usize>,
        outcomes: impl FnOnce() -> Outcomes,
    ) {
        if let Some(limit) = limit
            && self.list.len() >= limit
            && let Some(((last, of), _)) = self.list.last_key_value()
            && (last.as_str(), of.as_slice()) < (test, profiles)
        {
            return;
        }
        let key = (test.to_string(), profiles.to_vec());
        self.list.entry(key).or_insert_with(outcomes);
        while limit.is_some_and(|n| self.list.len() > n) {
            self.list.pop_last();
        }
    }

    fn take(self) -> Vec<Occurrence> {
        let one = |((test, profiles), outcomes)| Occurrence { test, profiles, outcomes };
        self.list.into_iter().map(one).collect()
    }
}

/// Orders occurrences as examples of a bug, best first: small sets of outcomes, which small tests
/// have, then short names.
pub type Rank = (usize, usize);

/// The rank of an occurrence; the smallest is the best.
pub fn rank(test: &str, outcomes: &Outcomes) -> Rank {
    (outcomes.source.len() + outcomes.target.len(), test.len())
}

/// A bug while its occurrences are collected.
struct Bug {
    /// The example.
    finding: Finding,
    kept: Kept,
    by_profile: BTreeMap<String, u64>,
    /// Hashes of the counted tests and profiles, if one can come twice.
    seen: HashSet<u64>,
}

/// Collects bugs; their occurrences may come in any order.
pub struct Bugs {
    limit: Option<usize>,
    /// Whether a test can come more than once with the same profiles.
    repeat: bool,
    list: Vec<Bug>,
    by_id: HashMap<String, usize>,
}

impl Bugs {
    /// Keeps `limit` occurrences of each bug, or all. `repeat` says whether a test can come more
    /// than once with the same profiles, as when compilers are given it in several preparations.
    pub fn new(limit: Option<usize>, repeat: bool) -> Bugs {
        Bugs { limit, repeat, list: Vec::new(), by_id: HashMap::new() }
    }

    /// The bug of this identity.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The finding of a bug so far.
    pub fn finding(&self, bug: usize) -> &Finding {
        &self.list[bug].finding
    }

    /// Adds an occurrence to the bug with this identity. `make` is called only if the occurrence
    /// becomes the example.
    pub fn add(
        &mut self,
        id: &str,
        (test, profiles): (&str, &[String]),
        outcomes: &Outcomes,
        make: impl FnOnce() -> Finding,
    ) -> usize {
        let bug = match self.by_id.get(id) {
            Some(bug) => *bug,
            None => {
                let finding = Finding { id: id.to_string(), ..make() };
                self.by_id.insert(id.to_string(), self.list.len());
                self.list.push(Bug {
                    finding,
                    kept: Kept::default(),
                    by_profile: BTreeMap::new(),
                    seen: HashSet::new(),
                });
                self.count(self.list.len() - 1, test, profiles, || outcomes.clone());
                return self.list.len() - 1;
            }
        };
        let old = &self.list[bug].finding;
        let key = |rank: Rank, test: &str, profiles: &[String]| {
            (rank, test.to_string(), profiles.to_vec())
        };
        let now = key(rank(&old.test, &old.outcomes), &old.test, &old.profiles);
        // A reduced example stays, because the identity was made from its test.
        if old.reduced.is_none() && key(rank(test, outcomes), test, profiles) < now {
            self.list[bug].finding = Finding { id: id.to_string(), ..make() };
        }
        self.count(bug, test, profiles, || outcomes.clone());
        bug
    }

    /// Counts an occurrence of a bug.
    pub fn count(
        &mut self,
        bug: usize,
        test: &str,
        profiles: &[String],
        outcomes: impl FnOnce() -> Outcomes,
    ) {
        let limit = self.limit;
        let bug = &mut self.list[bug];
        if self.repeat {
            let mut hasher = DefaultHasher::new();
            (test, profiles).hash(&mut hasher);
            if !bug.seen.insert(hasher.finish()) {
                return;
            }
        }
        *bug.by_profile.entry(profiles_key(profiles)).or_default() += 1;
        bug.kept.add(test, profiles, limit, outcomes);
    }

    /// The findings.
    pub fn finish(self) -> Vec<Finding> {
        let one = |bug: Bug| Finding {
            count: bug.by_profile.values().sum(),
            by_profile: bug.by_profile,
            occurrences: bug.kept.take(),
            ..bug.finding
        };
        self.list.into_iter().map(one).collect()
    }
}

/// Collects the differences that are not looked into.
#[derive(Default)]
pub struct Rest {
    limit: Option<usize>,
    groups: BTreeMap<(Class, String), (BTreeMap<String, u64>, Kept)>,
}

impl Rest {
    /// Keeps `limit` occurrences of each group, or all.
    pub fn new(limit: Option<usize>) -> Rest {
        Rest { limit, groups: BTreeMap::new() }
    }

    /// Counts an occurrence. Its outcomes are computed only if it is kept.
    pub fn add(
        &mut self,
        (class, family): (Class, &str),
        (test, profiles): (&str, &[String]),
        outcomes: impl FnOnce() -> Outcomes,
    ) {
        let (counts, kept) = self.groups.entry((class, family.to_string())).or_default();
        *counts.entry(profiles_key(profiles)).or_default() += 1;
        kept.add(test, profiles, self.limit, outcomes);
    }

    /// All groups.
    pub fn finish(self) -> Vec<Unexplored> {
        let one =
            |((class, family), (by_profile, kept)): ((Class, String), (BTreeMap<_, u64>, Kept))| {
                Unexplored {
                    class,
                    family,
                    count: by_profile.values().sum(),
                    by_profile,
                    occurrences: kept.take(),
                }
            };
        self.groups.into_iter().map(one).collect()
    }
}

fn add_counts(sum: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (profile, n) in more {
        *sum.entry(profile).or_default() += n;
    }
}

/// The first occurrences of two lists.
fn first(mut a: Vec<Occurrence>, b: Vec<Occurrence>, limit: Option<usize>) -> Vec<Occurrence> {
    let mut kept = Kept::default();
    a.extend(b);
    for o in a {
        kept.add(&o.test, &o.profiles, limit, || o.outcomes.clone());
    }
    kept.take()
}

/// Joins the findings of one bug from two parts of a run. The better example is kept.
pub fn join(a: Finding, b: Finding, limit: Option<usize>) -> Finding {
    let key = |f: &Finding| (rank(&f.test, &f.outcomes), f.test.clone(), f.profiles.clone());
    let (mut best, other) = if key(&b) < key(&a) { (b, a) } else { (a, b) };
    best.count += other.count;
    add_counts(&mut best.by_profile, other.by_profile);
    best.occurrences = first(std::mem::take(&mut best.occurrences), other.occurrences, limit);
    if other.status == Status::New {
        best.status = Status::New;
    }
    best
}

/// Joins the bugs of a report that have one whole mechanism: those of compilers whose pass is shown,
/// and those of devices. They get the id of the mechanism; `forms` keeps the ids that they had.
pub fn join_whole(report: &mut Report) {
    let limit = report.kept_occurrences;
    let mut out: Vec<Finding> = Vec::new();
    for mut finding in std::mem::take(&mut report.findings) {
        let of_device = finding.class == Class::Conformance && finding.forms.is_empty();
        if finding.mechanism.as_ref().is_some_and(|m| !m.pass.is_empty() || of_device) {
            let before = finding.id.clone();
            finding = finding.identify(&before);
            finding.forms = vec![before];
        }
        match out.iter_mut().find(|f| f.id == finding.id) {
            Some(old) => {
                let mut forms = [&old.forms[..], &finding.forms[..]].concat();
                forms.sort();
                forms.dedup();
                *old = Finding { forms, ..join(std::mem::take(old), finding, limit) };
            }
            None => out.push(finding),
        }
    }
    report.findings = out;
}

/// Adds the differences that one part of a run did not look into.
pub fn join_rest(sum: &mut Vec<Unexplored>, part: Unexplored, limit: Option<usize>) {
    match sum.iter_mut().find(|u| (u.class, &u.family) == (part.class, &part.family)) {
        Some(old) => {
            old.count += part.count;
            add_counts(&mut old.by_profile, part.by_profile);
            old.occurrences = first(std::mem::take(&mut old.occurrences), part.occurrences, limit);
        }
        None => sum.push(part),
    }
    sum.sort_by(|a, b| (a.class, &a.family).cmp(&(b.class, &b.family)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str) -> Vec<String> {
        vec![name.to_string()]
    }

    fn outcomes(n: usize) -> Outcomes {
        let state = |i: usize| BTreeMap::from([("x".to_string(), i.to_string())]);
        Outcomes {
            forbidden: vec![state(0)],
            source: Vec::new(),
            target: (0..n).map(state).collect(),
        }
    }

    fn bugs(limit: Option<usize>, which: &[(&str, &str, usize)]) -> Vec<Finding> {
        let mut bugs = Bugs::new(limit, true);
        for (test, of, n) in which {
            let profiles = profile(of);
            let make = || Finding {
                test: test.to_string(),
                profiles: profiles.clone(),
                outcomes: outcomes(*n),
                ..Finding::default()
            };
            bugs.add("one", (test, &profiles), &outcomes(*n), make);
        }
        bugs.finish()
    }

    const ALL: [(&str, &str, usize); 6] = [
        ("c", "p", 3),
        ("a", "p", 2),
        ("b", "q", 2),
        ("a", "q", 4),
        ("long name", "p", 2),
        ("a", "p", 2),
    ];

    #[test]
    fn a_bug_counts_all_and_keeps_the_first() {
        let [bug] = &bugs(Some(2), &ALL)[..] else { panic!() };
        assert_eq!(bug.count, 5, "one came twice");
        assert_eq!(bug.by_profile, BTreeMap::from([("p".into(), 3), ("q".into(), 2)]));
        let kept: Vec<_> = bug.occurrences.iter().map(|o| (&*o.test, &*o.profiles[0])).collect();
        assert_eq!(kept, [("a", "p"), ("a", "q")]);
        assert_eq!((&*bug.test, &*bug.profiles[0]), ("a", "p"), "the smallest is the example");
        assert_eq!(bugs(None, &ALL)[0].occurrences.len(), 5);
        // The result does not depend on the order.
        let mut turned = ALL;
        turned.reverse();
        assert_eq!(bugs(Some(2), &turned), bugs(Some(2), &ALL));
    }

    #[test]
    fn a_hundred_thousand_differences_are_a_small_report() {
        let mut bugs = Bugs::new(Some(OCCURRENCES), false);
        let (profiles, shown) = (profile("clang-14-aarch64-O2"), outcomes(4));
        for n in 0..100_000 {
            let test = format!("LB+po+data+ctrl{}-{n}", n % 7);
            let form = format!("form {}", n % 50);
            bugs.add(
                &id(Class::Concurrency, "clang", "", &form),
                (&test, &profiles),
                &shown,
                || Finding {
                    test: test.clone(),
                    profiles: profiles.clone(),
                    source: "x".repeat(1000),
                    outcomes: shown.clone(),
                    ..Finding::default()
                },
            );
        }
        let report = crate::Report { findings: bugs.finish(), ..crate::Report::default() };
        assert_eq!(report.findings.iter().map(|f| f.count).sum::<u64>(), 100_000);
        let size = report.json().len();
        assert!(size < 4 << 20, "{size} bytes");
    }

    #[test]
    fn parts_join_to_the_whole() {
        for limit in [None, Some(2), Some(20)] {
            let whole = bugs(limit, &ALL[..5]);
            let (a, b) = (bugs(limit, &ALL[..2]).remove(0), bugs(limit, &ALL[2..5]).remove(0));
            assert_eq!(join(a.clone(), b.clone(), limit), whole[0]);
            assert_eq!(join(b, a, limit), whole[0]);
        }
    }

    #[test]
    fn what_is_not_looked_into_is_counted_apart() {
        let mut rest = Rest::new(Some(1));
        for (test, of) in [("b", "p"), ("a", "p"), ("a", "q")] {
            rest.add((Class::Concurrency, "gcc"), (test, &profile(of)), || outcomes(1));
        }
        rest.add((Class::Mixing, "gcc"), ("b", &profile("p")), || outcomes(1));
        let groups = rest.finish();
        assert_eq!(groups.iter().map(|g| g.count).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(groups[0].occurrences[0].test, "a");
        let mut sum = Vec::new();
        for group in groups.clone().into_iter().chain(groups) {
            join_rest(&mut sum, group, Some(1));
        }
        assert_eq!(sum.iter().map(|g| g.count).collect::<Vec<_>>(), [6, 2]);
    }

    #[test]
    fn an_identity_has_what_a_bug_is_and_not_where_it_was_seen() {
        let base = id(Class::Concurrency, "clang", "", "form");
        assert_eq!(base, id(Class::Concurrency, "clang", "", "form"));
        for other in [
            id(Class::Mixing, "clang", "", "form"),
            id(Class::Concurrency, "gcc", "", "form"),
            id(Class::Concurrency, "clang", "load buffering", "form"),
            id(Class::Concurrency, "clang", "", "other"),
        ] {
            assert_ne!(base, other);
        }
    }
}
