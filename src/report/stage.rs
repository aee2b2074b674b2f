//! The stages of a run in its report: counts, times, and how much of a device they used.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{coverage, is_zero};

/// The work of an instance of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// The stage's name, with the values of its variables.
    pub name: String,
    /// The kind of the stage: `compile`, `simulate`, ...
    pub kind: String,
    /// The number of results that were to be computed.
    pub tasks: u64,
    /// Results that were computed in this run, and results from the cache. Both describe the run
    /// and not its results, and are absent in a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<u64>,
    /// Of the executed tasks, those that other machines executed; absent if no other machine was
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<u64>,
    /// See `executed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Of the cached tasks, those from the remote cache; absent if no remote cache was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<u64>,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks that were not run because their input failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// The time that the work took, summed over all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The number of files, cycles or tests from which the tests of the stage were chosen or made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub considered: u64,
    /// The reasons for which some of these gave no test, and how many each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
    /// In the report of a part of a run: which distinct items the stage has, such as threads that
    /// several tests have in common. Other parts may have the same ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<Distinct>,
    /// How much of a GPU the tests used, if that was asked for; absent in a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
}

/// The distinct items of a stage, as marks of their content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Distinct {
    /// All of them.
    pub tasks: coverage::Tests,
    /// Those that failed.
    #[serde(default, skip_serializing_if = "coverage::Tests::is_empty")]
    pub failed: coverage::Tests,
}

/// How much of a device the tests of a stage used, as shares of its peak rates. The cost of a test
/// is estimated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUse {
    /// The number of tests with an estimate.
    pub tests: u64,
    /// The peak rate of memory: bytes per second that a copy reads and writes.
    pub bytes_per_second: f64,
    /// The peak rate of arithmetic operations per second.
    pub operations_per_second: f64,
    /// The peak rate of atomic operations per second.
    pub atomics_per_second: f64,
    /// The used share of the memory's bandwidth.
    pub memory: Share,
    /// The used share of the rate of operations.
    pub operations: Share,
    /// The used share of the rate of atomic operations.
    pub atomics: Share,
    /// The number of tests that each of these limits.
    pub limits: BTreeMap<String, u64>,
}

/// The distribution of a share over tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// The median.
    pub median: f64,
    /// The maximum.
    pub most: f64,
}

impl Share {
    /// The distribution over some tests.
    pub fn of(mut shares: Vec<f64>) -> Share {
        shares.sort_by(f64::total_cmp);
        let most = shares.last().copied().unwrap_or(0.0);
        Share { median: shares.get(shares.len() / 2).copied().unwrap_or(0.0), most }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} % (at most {:.3} %)", self.median * 100.0, self.most * 100.0)
    }
}

impl DeviceUse {
    /// A description in one line.
    pub fn line(&self) -> String {
        let mut limits: Vec<(&String, &u64)> = self.limits.iter().collect();
        limits.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let limits: Vec<String> = limits.iter().map(|(what, n)| format!("{n} by {what}")).collect();
        format!(
            "half of {} tests use up to: of a copy's memory ({:.3e} bytes/s) {}, operations {}, atomics {}; limited: {}",
            self.tests,
            self.bytes_per_second,
            self.memory,
            self.operations,
            self.atomics,
            limits.join(", ")
        )
    }
}
