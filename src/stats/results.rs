//! Reads and writes result files in the form of the paper's artifact: environments by number, each
//! with the counts of tests by name, and with its parameters.
//!
//! Top-level keys that are numbers are environments, and entries with counts are tests. Everything
//! else is kept unchanged: the artifact's `randomSeed`, and what litmake adds about the device and
//! the run. This module does not know what the counts mean.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::rounded;

/// The largest file that is read.
pub const MAX_BYTES: u64 = 1 << 30;

/// The counts of one test in one environment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Instances that ran as if one thread had run after the other.
    pub seq: u64,
    /// Instances that ran as some interleaving.
    pub interleaved: u64,
    /// Instances that showed the behaviour that the test looks for; for a mutant, kills.
    pub weak: u64,
    /// The time that all instances took.
    pub seconds: f64,
}

impl Counts {
    /// Whether a time was measured.
    pub fn is_timed(&self) -> bool {
        self.seconds.is_finite() && self.seconds > 0.0
    }

    /// Observations of the behaviour per second, to three digits; 0 if no time was measured.
    pub fn rate(&self) -> f64 {
        if self.is_timed() { rounded(self.weak as f64 / self.seconds, 3) } else { 0.0 }
    }

    /// The number of instances that ran.
    pub fn instances(&self) -> u64 {
        self.seq.saturating_add(self.interleaved).saturating_add(self.weak)
    }
}

/// The counts of all tests in one environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// The number, as written.
    pub key: String,
    /// The counts by test, in the order of the file.
    pub tests: Vec<(String, Counts)>,
    /// The parameters.
    pub params: Map<String, Value>,
    /// Entries that are neither tests nor parameters.
    pub other: Map<String, Value>,
}

impl Environment {
    /// The counts of one test, if it ran.
    pub fn test(&self, name: &str) -> Option<&Counts> {
        self.tests.iter().find(|(n, _)| n == name).map(|(_, c)| c)
    }
}

/// The results of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The environments, in the order of the file.
    pub environments: Vec<Environment>,
    /// Top-level entries that are not environments.
    pub other: Map<String, Value>,
}

impl Results {
    /// Reads a result file; the error says what was expected.
    pub fn read(text: &str) -> Result<Results, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| format!("this is no JSON: {e}"))?;
        let Value::Object(top) = value else {
            return Err("expected an object with an environment a key, as {\"0\": {...}}".into());
        };
        let mut out = Results::default();
        for (key, value) in top {
            match value {
                Value::Object(entries) if is_number(&key) => {
                    out.environments.push(environment(key, entries)?);
                }
                other => {
                    out.other.insert(key, other);
                }
            }
        }
        if out.environments.is_empty() {
            return Err(
                "there is no environment in it: no key is a number, as in {\"0\": {...}}".into()
            );
        }
        Ok(out)
    }

    /// The results in the form of the paper's artifact.
    pub fn write(&self) -> String {
        let mut top = Map::new();
        for env in &self.environments {
            let mut entries = Map::new();
            for (name, c) in &env.tests {
                let counts = json!({
                    "seq": c.seq,
                    "interleaved": c.interleaved,
                    "weak": c.weak,
                    "durationSeconds": c.seconds,
                });
                entries.insert(name.clone(), counts);
            }
            if !env.params.is_empty() {
                entries.insert("params".into(), Value::Object(env.params.clone()));
            }
            entries.extend(env.other.clone());
            top.insert(env.key.clone(), Value::Object(entries));
        }
        top.extend(self.other.clone());
        let mut text = serde_json::to_string_pretty(&Value::Object(top)).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The names of all tests, in the order of their first use.
    pub fn tests(&self) -> Vec<&str> {
        let mut seen = rustc_hash::FxHashSet::default();
        let all = self.environments.iter().flat_map(|e| &e.tests);
        all.map(|(name, _)| name.as_str()).filter(|name| seen.insert(*name)).collect()
    }

    /// Whether a test counts as a mutant. Every test does, unless the file lists the mutants.
    pub fn is_mutant(&self, test: &str) -> bool {
        match self.other.get("mutators").and_then(Value::as_object) {
            Some(told) => told.contains_key(test),
            None => true,
        }
    }

    /// The mutator of each test, if the file lists mutators.
    pub fn mutators(&self) -> BTreeMap<&str, &str> {
        let told = self.other.get("mutators").and_then(Value::as_object);
        told.into_iter().flatten().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?))).collect()
    }
}

fn is_number(key: &str) -> bool {
    !key.is_empty() && key.len() <= 18 && key.bytes().all(|b| b.is_ascii_digit())
}

fn environment(key: String, entries: Map<String, Value>) -> Result<Environment, String> {
    let mut out = Environment { key, ..Environment::default() };
    for (name, value) in entries {
        match value {
            Value::Object(params) if name == "params" => out.params = params,
            Value::Object(fields) if fields.contains_key("weak") => {
                let counts = counts(&fields)
                    .map_err(|e| format!("environment {}, test `{name}`: {e}", out.key))?;
                out.tests.push((name, counts));
            }
            other => {
                out.other.insert(name, other);
            }
        }
    }
    Ok(out)
}

fn counts(fields: &Map<String, Value>) -> Result<Counts, String> {
    let count = |name: &str| match fields.get(name) {
        None => Ok(0),
        Some(v) => whole(v).ok_or_else(|| format!("`{name}` is {v}, and not a count")),
    };
    let seconds = match fields.get("durationSeconds") {
        None | Some(Value::Null) => 0.0,
        Some(v) => match v.as_f64() {
            Some(s) if s >= 0.0 && s.is_finite() => s,
            _ => return Err(format!("`durationSeconds` is {v}, and not a time")),
        },
    };
    Ok(Counts {
        seq: count("seq")?,
        interleaved: count("interleaved")?,
        weak: count("weak")?,
        seconds,
    })
}

/// A count, which may be written as `3.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let f = value.as_f64()?;
        (f >= 0.0 && f.fract() == 0.0 && f < 9.0e15).then_some(f as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{
        "0": {"A": {"seq": 5, "interleaved": 1, "weak": 2, "durationSeconds": 0.5},
              "params": {"memStride": 3}},
        "1": {"B": {"seq": 1.0, "weak": 0, "durationSeconds": 0}},
        "randomSeed": "webgpu"
    }"#;

    #[test]
    fn files_of_the_artifact_are_read_and_written() {
        let results = Results::read(FILE).unwrap();
        assert_eq!(results.tests(), ["A", "B"]);
        assert_eq!(results.environments[0].test("A").unwrap().rate(), 4.0);
        assert_eq!(results.environments[0].params["memStride"], 3);
        let b = results.environments[1].test("B").unwrap();
        assert_eq!((b.seq, b.rate()), (1, 0.0));
        assert_eq!(results.other["randomSeed"], "webgpu");
        assert_eq!(Results::read(&results.write()).unwrap(), results);
    }

    #[test]
    fn what_is_no_result_file_is_said() {
        let error = |text| Results::read(text).unwrap_err();
        assert!(error("[1]").starts_with("expected an object"));
        assert!(error("{\"a\": {}}").starts_with("there is no environment"));
        assert!(error("{").starts_with("this is no JSON"));
        assert_eq!(
            error(r#"{"0": {"A": {"weak": -1}}}"#),
            "environment 0, test `A`: `weak` is -1, and not a count"
        );
        assert_eq!(
            error(r#"{"0": {"A": {"weak": 1, "durationSeconds": "x"}}}"#),
            "environment 0, test `A`: `durationSeconds` is \"x\", and not a time"
        );
    }
}
