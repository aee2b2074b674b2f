//! Mixes of profiles in a report: how many there are, and which profiles fit together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_zero;

/// The mixes of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mixes {
    /// The test's name.
    pub test: String,
    /// Profiles to the power of parts, as text because the number can exceed what readers of JSON
    /// hold.
    pub assignments: String,
    /// The number of distinct code sequences of each part.
    pub sequences: BTreeMap<String, usize>,
    /// The number of combinations of distinct code sequences.
    pub combinations: String,
    /// The number of mixes that differ as tests; symmetric ones count once.
    pub tests: u64,
    /// How many of these tests were simulated in this run; absent in a stable report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<u64>,
    /// Mixes without outcomes, because something failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// Profiles whose code sequences all come from profiles before them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds_nothing: Vec<String>,
    /// Profiles that do not compile the whole test and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The compatibility of profiles, over all tests of a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compatibility {
    /// The `compare` stage.
    pub stage: String,
    /// The parts that were compiled separately: `thread` or `instruction`.
    pub split: String,
    /// The model of the sources.
    pub model_source: String,
    /// The model of the machine that runs the code.
    pub model_target: String,
    /// The profiles that were mixed.
    pub profiles: Vec<String>,
    /// The number of tests whose mixes were judged.
    pub tests: u64,
    /// The sums over all tests, as in [`Mixes`].
    pub assignments: String,
    /// See `assignments`.
    pub combinations: String,
    /// The number of mixes that differ as tests, over all tests.
    pub mixes: u64,
    /// Profiles whose code sequences all come from profiles before them, too, in every test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds_nothing: Vec<String>,
    /// The results of each profile alone, and of each pair.
    pub judged: Vec<Judged>,
    /// The largest numbers of threads and parts of a test.
    pub threads: usize,
    /// See `threads`.
    pub parts: usize,
    /// For each operation, such as `store seq_cst 32`, the code that profiles make of it.
    pub mappings: BTreeMap<String, Vec<Coded>>,
}

/// One code of an operation, and the profiles that make it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coded {
    /// The instructions.
    pub code: String,
    /// The profiles, in the order in which they were named.
    pub profiles: Vec<String>,
    /// In the report of a part of a run, the first test in which each of the profiles makes the code.
    /// Only the code in the first test of all counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
}

/// The code of an operation in the first test with it: for the position of each profile, the test
/// and the code.
pub type FirstCode = BTreeMap<usize, (String, String)>;

impl Coded {
    /// The distinct codes of an operation, in the order of their first profiles.
    pub fn distinct(code: FirstCode, profiles: &[String]) -> Vec<Coded> {
        let mut out: Vec<Coded> = Vec::new();
        for (profile, (test, code)) in code {
            let at = out.iter().position(|c| c.code == code).unwrap_or_else(|| {
                out.push(Coded { code, ..Coded::default() });
                out.len() - 1
            });
            out[at].profiles.push(profiles[profile].clone());
            out[at].first.push(test);
        }
        out
    }
}

/// The results of one profile or of a pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The profile, or the two profiles.
    pub profiles: Vec<String>,
    /// Tests with code of all these profiles.
    pub tests: u64,
    /// Tests with a finding, and the first of them.
    pub found: u64,
    /// See `found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// A part whose code differs between profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clash {
    /// The name of the part, such as `P0_1`.
    pub part: String,
    /// The source of the part.
    pub source: String,
    /// The instructions of each profile.
    pub code: BTreeMap<String, String>,
}
