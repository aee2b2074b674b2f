//! Computes mutation scores and average death rates, by mutator and in all (figure 5 of the paper).
//!
//! It does not know how the results were obtained.

use serde_json::{Map, Value, json};

use super::results::{Counts, Results};
use super::{rounded, sum};

/// The mutators of the paper, in its order; others follow.
pub const MUTATORS: [&str; 3] = ["reversing_po", "weakening_po", "weakening_sw"];

/// The mutator of a test in the artifact, by its name.
pub fn mutator_by_name(test: &str) -> &'static str {
    if test.contains("Mutations") {
        "reversing_po"
    } else if test.contains("Coherency") {
        "weakening_po"
    } else {
        "weakening_sw"
    }
}

/// The environment in which a test showed its behaviour most often per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The test's name.
    pub test: String,
    /// The name of the mutator in results.
    pub mutator: String,
    /// The number of the environment, as written.
    pub env: String,
    /// Observations per second in this environment.
    pub rate: f64,
    /// All counts of the test in this environment.
    pub counts: Counts,
    /// Whether the behaviour showed in any environment.
    pub killed: bool,
}

/// The share of mutants that were killed, and their average rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The number of mutants that were killed.
    pub killed: usize,
    /// The number of mutants.
    pub of: usize,
    /// The share in percent.
    pub mutation_score_pct: f64,
    /// The mean of the rates in the best environments.
    pub avg_death_rate_per_s: f64,
}

impl Part {
    fn of<'a>(best: impl Iterator<Item = &'a Best>) -> Part {
        let best: Vec<&Best> = best.collect();
        let killed = best.iter().filter(|b| b.killed).count();
        let of = best.len();
        let share = if of == 0 { 0.0 } else { killed as f64 / of as f64 };
        let mean = if of == 0 { 0.0 } else { sum(best.iter().map(|b| b.rate)) / of as f64 };
        Part {
            killed,
            of,
            mutation_score_pct: share * 100.0,
            avg_death_rate_per_s: rounded(mean, 3),
        }
    }

    /// The form that the command prints for programs.
    pub fn json(&self) -> Value {
        json!({
            "killed": self.killed,
            "of": self.of,
            "mutation_score_pct": self.mutation_score_pct,
            "avg_death_rate_per_s": self.avg_death_rate_per_s,
        })
    }
}

/// The scores of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The number of environments in the results.
    pub environments: usize,
    /// The best environments, grouped by mutator, in the order of the file.
    pub best: Vec<Best>,
    /// The scores by mutator: always of those in the paper, and of others with tests.
    pub parts: Vec<(String, Part)>,
    /// The score of all mutants.
    pub all: Part,
}

/// The best environment of each test, in the order of the file.
pub fn best_of(results: &Results) -> Vec<Best> {
    let told = results.mutators();
    let mut at = rustc_hash::FxHashMap::default();
    let mut out: Vec<Best> = Vec::new();
    for env in &results.environments {
        for (name, counts) in env.tests.iter().filter(|(name, _)| results.is_mutant(name)) {
            let rate = counts.rate();
            // Without a time there is no rate, but the kill counts.
            let killed = rate > 0.0 || (!counts.is_timed() && counts.weak > 0);
            let i = *at.entry(name.as_str()).or_insert_with(|| {
                let mutator = told.get(name.as_str()).copied();
                out.push(Best {
                    test: name.clone(),
                    mutator: mutator.unwrap_or_else(|| mutator_by_name(name)).to_string(),
                    env: env.key.clone(),
                    rate,
                    counts: *counts,
                    killed: false,
                });
                out.len() - 1
            });
            out[i].killed |= killed;
            if rate > out[i].rate {
                out[i] = Best { env: env.key.clone(), rate, counts: *counts, ..out[i].clone() };
            }
        }
    }
    out
}

/// The scores of some results.
pub fn score(results: &Results) -> Score {
    let mut best = best_of(results);
    let mut names: Vec<String> = MUTATORS.iter().map(|m| m.to_string()).collect();
    for b in &best {
        if !names.contains(&b.mutator) {
            names.push(b.mutator.clone());
        }
    }
    // The order matters: `all` sums the rates in this order.
    best.sort_by_key(|b| names.iter().position(|n| *n == b.mutator));
    let parts = names
        .into_iter()
        .map(|name| {
            let part = Part::of(best.iter().filter(|b| b.mutator == name));
            (name, part)
        })
        .collect();
    Score { environments: results.environments.len(), all: Part::of(best.iter()), parts, best }
}

/// The score of all devices together, in which each pair of a test and a device counts once.
pub fn total<'a>(scores: impl IntoIterator<Item = &'a Score>) -> Part {
    let all: Vec<&Score> = scores.into_iter().collect();
    Part::of(all.iter().flat_map(|s| &s.best))
}

impl Score {
    /// The score of one mutator; all zero if it has no tests.
    pub fn part(&self, mutator: &str) -> Part {
        self.parts.iter().find(|(n, _)| n == mutator).map_or(Part::default(), |(_, p)| *p)
    }

    /// The scores, without single tests.
    pub fn json(&self) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, part) in &self.parts {
            out.insert(name.clone(), part.json());
        }
        out.insert("all".into(), self.all.json());
        out.insert("_environments".into(), self.environments.into());
        out
    }

    /// The best environment of each test.
    pub fn per_test_json(&self) -> Value {
        let one = |b: &Best| {
            let value = json!({
                "rate": b.rate,
                "env": env_json(&b.env),
                "weak": b.counts.weak,
                "durationSeconds": b.counts.seconds,
            });
            (b.test.clone(), value)
        };
        Value::Object(self.best.iter().map(one).collect())
    }
}

/// The number of an environment as a JSON number.
pub fn env_json(key: &str) -> Value {
    key.parse::<u64>().map_or_else(|_| key.into(), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(text: &str) -> Results {
        Results::read(text).unwrap()
    }

    #[test]
    fn the_first_best_environment_counts() {
        let r = results(
            r#"{"0": {"RR Mutations Default": {"weak": 0, "durationSeconds": 2.0},
                      "Store Coherency": {"weak": 1, "durationSeconds": 16}},
                "1": {"RR Mutations Default": {"weak": 8, "durationSeconds": 2.0},
                      "MP": {"weak": 3, "durationSeconds": 0}},
                "2": {"RR Mutations Default": {"weak": 4, "durationSeconds": 1.0}}}"#,
        );
        let s = score(&r);
        assert_eq!(s.environments, 3);
        let rr = &s.best[0];
        assert_eq!((rr.rate, rr.env.as_str()), (4.0, "1"));
        // 1/16 is a tie, and rounds to the even digit.
        assert_eq!(s.part("weakening_po").avg_death_rate_per_s, 0.062);
        // Killed, though no time was measured.
        let sw = s.part("weakening_sw");
        assert_eq!((sw.killed, sw.of, sw.avg_death_rate_per_s), (1, 1, 0.0));
        assert_eq!(s.all.killed, 3);
        assert_eq!(s.all.mutation_score_pct, 100.0);
        assert_eq!(total([&s, &s]).of, 6);
    }

    #[test]
    fn a_mutator_without_tests_is_empty() {
        let s = score(&results(r#"{"0": {"A": {"weak": 0, "durationSeconds": 1}}}"#));
        assert_eq!(s.part("reversing_po"), Part::default());
        assert_eq!(s.part("weakening_sw").of, 1);
    }

    #[test]
    fn files_may_name_other_mutators() {
        let s = score(&results(
            r#"{"0": {"A": {"weak": 1, "durationSeconds": 1}, "conformance": {"weak": 0}},
                "mutators": {"A": "weakening_scope"}}"#,
        ));
        assert_eq!(s.all.of, 1);
        assert_eq!(s.part("weakening_scope").killed, 1);
        assert_eq!(s.part("weakening_sw").of, 0);
    }
}
