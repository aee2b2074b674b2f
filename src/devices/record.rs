//! The results of tests on a device: as they are stored, and as result files in the artifact's
//! form.
//!
//! It does not know how tests ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use litmake_stats::results::{Counts, Environment as Row, Results};

/// The result of one test in one environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Instances that ran as if one thread had run after the other.
    pub seq: u64,
    /// Instances that ran as some interleaving.
    pub interleaved: u64,
    /// Instances that showed the outcome that the test looks for.
    pub weak: u64,
    /// The time that the test took, with the work of the host.
    #[serde(rename = "durationSeconds")]
    pub seconds: f64,
    /// The time that the device worked, if it is measured.
    #[serde(rename = "deviceSeconds", default, skip_serializing_if = "Option::is_none")]
    pub device_seconds: Option<f64>,
    /// The number of iterations or rounds.
    pub iterations: u64,
    /// The number of submissions of work to the device; 0 if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub submissions: u32,
    /// Instances with an outcome that the model forbids.
    pub violations: u64,
    /// The number of instances with each outcome.
    pub outcomes: BTreeMap<String, u64>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The name of outcomes with unexpected values that were not kept.
pub const UNKNOWN: &str = "other values";

impl Cell {
    /// The counts for statistics.
    pub fn counts(&self) -> Counts {
        Counts {
            seq: self.seq,
            interleaved: self.interleaved,
            weak: self.weak,
            seconds: self.seconds,
        }
    }

    /// The number of instances that ran.
    pub fn instances(&self) -> u64 {
        self.outcomes.values().sum()
    }
}

/// The results of one test in all environments, as a pipeline stores them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The name of the test in the pipeline.
    pub test: String,
    /// The name of the test in result files.
    pub key: String,
    /// The mutator, for a mutant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutator: Option<String>,
    /// The device, for people.
    pub device: String,
    /// The settings of the run, as in the key of the result.
    pub setup: Value,
    /// The model that judged, if several models judge tests of one list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The results, by the number of the environment.
    pub cells: Vec<Cell>,
    /// The observed outcomes that are forbidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<BTreeMap<String, String>>,
    /// The outcomes that the model allows, if forbidden ones were observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<BTreeMap<String, String>>,
    /// How the test crashed, or that it did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<String>,
    /// The reason for which the test was not run and does not count: a mutant that cannot be
    /// killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// The peak rates of the device (`best`), and the share of them that the test used (`reached`),
    /// if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Value>,
}

impl Record {
    /// Whether it counts for the mutation score.
    pub fn is_mutant(&self) -> bool {
        self.mutator.is_some()
    }

    /// A line for people: the instances, their rate, and the kills or violations.
    pub fn line(&self) -> String {
        let sum = |f: &dyn Fn(&Cell) -> u64| -> u64 { self.cells.iter().map(f).sum() };
        let seconds: f64 = self.cells.iter().map(|c| c.seconds).sum();
        let instances = sum(&Cell::instances);
        let what = match self.is_mutant() {
            true => format!("{} kills", sum(&|c| c.weak)),
            false => format!("{} violations", sum(&|c| c.violations)),
        };
        format!(
            "  {:44} {instances:>12} instances {seconds:>8.2} s {:>12.0} /s  {what}",
            self.key,
            instances as f64 / seconds.max(1e-9)
        )
    }
}

/// The results of many tests in the artifact's form; environments are given by their parameters.
pub fn results(
    records: &[Record],
    environments: impl IntoIterator<Item = Map<String, Value>>,
    device: &Value,
    seed: &str,
    setup: Value,
) -> Results {
    let mut out = Results::default();
    for (i, params) in environments.into_iter().enumerate() {
        let mut row = Row { key: i.to_string(), params, ..Row::default() };
        let mut more = Map::new();
        for record in records {
            let Some(cell) = record.cells.get(i) else { continue };
            row.tests.push((record.key.clone(), cell.counts()));
            let mut value = serde_json::to_value(cell).unwrap_or_default();
            if let Some(fields) = value.as_object_mut() {
                for counted in ["seq", "interleaved", "weak", "durationSeconds"] {
                    fields.remove(counted);
                }
            }
            more.insert(record.key.clone(), value);
        }
        row.other.insert("more".into(), Value::Object(more));
        out.environments.push(row);
    }
    let counted = || records.iter().filter(|r| r.left_out.is_none());
    let mutators: Map<String, Value> =
        counted().filter_map(|r| Some((r.key.clone(), Value::from(r.mutator.clone()?)))).collect();
    out.other.insert("randomSeed".into(), seed.into());
    out.other.insert("mutators".into(), Value::Object(mutators));
    out.other.insert("device".into(), device.clone());
    out.other.insert("setup".into(), setup);
    let left_out: Map<String, Value> = records
        .iter()
        .filter_map(|r| Some((r.key.clone(), Value::from(r.left_out.clone()?))))
        .collect();
    let used = |key: &'static str| {
        let each = records.iter().filter_map(move |r| Some((r, r.speed.as_ref()?.get(key)?)));
        each.map(|(r, value)| (r.key.clone(), value.clone()))
    };
    if let Some((_, best)) = used("best").next() {
        let reached: Map<String, Value> = used("reached").collect();
        out.other.insert("speed".into(), json!({ "best": best, "reached": reached }));
    }
    if !left_out.is_empty() {
        out.other.insert("leftOut".into(), Value::Object(left_out));
    }
    out.other.insert("litmake".into(), env!("CARGO_PKG_VERSION").into());
    out
}
