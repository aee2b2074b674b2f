//! KnownChange changes: the differences of outcomes between two compilers that a baseline contains.
//!
//! A change has no identity of its own: two profiles, a test and outcomes identify it.

use serde::{Deserialize, Serialize};

use super::evidence::{Changed, Changes};
use super::{Report, State};

/// The outcomes of a test that differ between two profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownChange {
    /// The profile of the first side.
    pub before: String,
    /// The profile of the second side.
    pub after: String,
    /// The test's name.
    pub test: String,
    /// Outcomes that only the second allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gained: Vec<State>,
    /// Outcomes that only the first allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<State>,
}

impl KnownChange {
    fn is_of(&self, changes: &Changes, test: &str) -> bool {
        self.test == test && self.before == changes.before && self.after == changes.after
    }

    /// Whether the test gains and loses no other outcomes.
    fn covers(&self, changed: &Changed) -> bool {
        changed.gained.iter().all(|state| self.gained.contains(state))
            && changed.lost.iter().all(|state| self.lost.contains(state))
    }
}

/// Marks the known changes, and lists the known changes that are gone. `saw` says whether a stage
/// compared a test.
pub fn mark(known: &[KnownChange], report: &mut Report, saw: impl Fn(&str, &str) -> bool) {
    for changes in &mut report.changes {
        let mut tests = std::mem::take(&mut changes.tests);
        for changed in tests.iter_mut().filter(|t| t.moved()) {
            changed.known =
                known.iter().any(|k| k.is_of(changes, &changed.test) && k.covers(changed));
        }
        let gone = |k: &&KnownChange| {
            k.is_of(changes, &k.test)
                && !tests.iter().any(|t| t.test == k.test && t.moved())
                && saw(&changes.stage, &k.test)
        };
        let gone: Vec<String> = known.iter().filter(gone).map(|k| k.test.clone()).collect();
        (changes.tests, changes.gone) = (tests, gone);
    }
}

/// The known changes after a run: those of the run, and those for which it did not look.
pub fn update(known: &[KnownChange], report: &Report) -> Vec<KnownChange> {
    let told = |k: &KnownChange| {
        report.changes.iter().any(|c| {
            let moved = || c.tests.iter().any(|t| t.test == k.test && t.moved());
            k.is_of(c, &k.test) && (c.gone.contains(&k.test) || moved())
        })
    };
    let mut out: Vec<KnownChange> = known.iter().filter(|k| !told(k)).cloned().collect();
    for changes in &report.changes {
        out.extend(changes.tests.iter().filter(|t| t.moved()).map(|t| KnownChange {
            before: changes.before.clone(),
            after: changes.after.clone(),
            test: t.test.clone(),
            gained: t.gained.clone(),
            lost: t.lost.clone(),
        }));
    }
    out.sort();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(value: &str) -> State {
        [("0:r".to_string(), value.to_string())].into()
    }

    fn changed(test: &str, gained: &[&str], lost: &[&str]) -> Changed {
        let states = |list: &[&str]| list.iter().map(|v| state(v)).collect();
        Changed {
            test: test.into(),
            code: true,
            gained: states(gained),
            lost: states(lost),
            ..Changed::default()
        }
    }

    fn report(tests: Vec<Changed>) -> Report {
        let changes = Changes {
            stage: "diff".into(),
            before: "old".into(),
            after: "new".into(),
            tests,
            ..Changes::default()
        };
        Report { changes: vec![changes], ..Report::default() }
    }

    #[test]
    fn a_change_is_known_with_its_outcomes_and_between_its_profiles() {
        let first = report(vec![changed("a", &["1", "2"], &[]), changed("b", &[], &[])]);
        let known = update(&[], &first);
        assert_eq!(known.len(), 1, "other code alone is no change of outcomes");
        let marked = |mut report: Report| {
            mark(&known, &mut report, |_, _| true);
            report.changes[0].tests.iter().map(|t| t.known).collect::<Vec<bool>>()
        };
        assert_eq!(marked(first.clone()), [true, false]);
        // A change with fewer outcomes is known; one with other outcomes or in the other direction
        // is not.
        assert_eq!(marked(report(vec![changed("a", &["2"], &[])])), [true]);
        assert_eq!(marked(report(vec![changed("a", &["2", "3"], &[])])), [false]);
        assert_eq!(marked(report(vec![changed("a", &[], &["1"])])), [false]);
        assert_eq!(marked(report(vec![changed("c", &["1"], &[])])), [false]);
        let mut others = first;
        others.changes[0].after = "newer".into();
        assert_eq!(marked(others), [false, false]);
    }

    #[test]
    fn what_is_gone_is_forgotten_and_what_was_not_looked_at_stays() {
        let first = ["a", "b", "c"].map(|test| changed(test, &["1"], &[]));
        let known = update(&[], &report(first.into()));
        let mut second = report(vec![changed("b", &["2"], &[])]);
        mark(&known, &mut second, |stage, test| stage == "diff" && test == "a");
        assert_eq!(second.changes[0].gone, ["a"]);
        let after = update(&known, &second);
        let tests: Vec<(&str, &State)> = after.iter().map(|k| (&*k.test, &k.gained[0])).collect();
        assert_eq!(tests, [("b", &state("2")), ("c", &state("1"))]);
    }
}
