//! `run`: tests on a device.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `run`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The stage whose tests are run.
    pub from: Sp<String>,
    /// What they run on.
    pub device: RunDevice,
    /// On CPUs: the profile that tests are built with; where left out, the machine's own compiler, which is what `CC` names or else `cc`.
    #[serde(default)]
    pub profile: Option<Sp<String>>,
    /// A part of the name or kind of the device; the best one where left out.
    #[serde(default)]
    pub adapter: Option<Sp<String>>,
    /// The kind of environments: `pte` (where left out), `site`, `pte_baseline` or
    /// `site_baseline`.
    #[serde(default)]
    pub preset: Option<Sp<String>>,
    /// How many environments are drawn; the preset's number, or 16 on CPUs, where left out.
    #[serde(default)]
    pub environments: Option<Sp<u32>>,
    /// Iterations of a test in an environment (rounds on CPUs); the preset's number, or as many
    /// as there is time for, where left out.
    #[serde(default)]
    pub iterations: Option<Sp<u32>>,
    /// Seconds after which a test leaves an environment, done or not; 1/16 on CPUs where left
    /// out.
    #[serde(default)]
    pub seconds: Option<Sp<f64>>,
    /// On GPUs: seconds that all tests of the stage share, by rounds: in each round every test runs in one more
    /// environment. Every test runs in one environment at least.
    #[serde(default)]
    pub budget: Option<Sp<f64>>,
    /// Iterations a submission, from 1 to 128; as many as fit into 60 ms where left out.
    #[serde(default)]
    pub batch: Option<Sp<u32>>,
    /// The seed of everything that is random; `webgpu`, as in the paper, or `cpu`, where left
    /// out.
    #[serde(default)]
    pub seed: Option<Sp<String>>,
    /// How the code of tests is made on GPUs: by naga, `checked` (where left out), `bounds`, `loops`
    /// or `unchecked`; or as SPIR-V, `spirv`, `spirv-bounds`, `vulkan` or `vulkan-bounds`.
    #[serde(default)]
    pub variant: Option<Sp<String>>,
    /// How far accesses and fences reach where the code is SPIR-V: `device` (where left out),
    /// `queue`, `workgroup` or `subgroup`.
    #[serde(default)]
    pub scope: Option<Sp<String>>,
    /// Where the threads of a test are.
    #[serde(default)]
    pub reach: RunReach,
    /// Where the locations of a test are.
    #[serde(default)]
    pub memory: RunMemory,
    /// Whether threads wait for each other, and all of them stress memory, also on CPUs, where they
    /// do so in vain.
    #[serde(default)]
    pub spin: bool,
    /// The model that says what is allowed; `wgsl-rel-acq`, or `vulkan` for tests whose accesses
    /// acquire or release, or on CPUs the dialect's own, where left out.
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// Parameters of the environments that take other values than those drawn.
    #[serde(default)]
    pub set: BTreeMap<String, Sp<u32>>,
    /// On GPUs: whether to measure what the device does at best, and to say how much of that tests use.
    #[serde(default)]
    pub speed: bool,
    /// Another number measures again what is stored.
    #[serde(default)]
    pub again: Option<Sp<u32>>,
    /// A file for the results in the form of the MC Mutants artifact, relative to this file.
    #[serde(default)]
    pub results: Option<Sp<String>>,
}

impl Options for Run {
    fn about() -> &'static str {
        "runs tests on a device and counts what they show."
    }

    fn inputs(&self) -> Vec<&Sp<String>> {
        vec![&self.from]
    }

    fn gives(&self, _: Option<Items>) -> Items {
        Items::Verdicts
    }

    fn profile(&self) -> Option<&Sp<String>> {
        self.profile.as_ref()
    }

    fn judges(&self) -> bool {
        true
    }
}

/// What tests run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum RunDevice {
    Gpu,
    Cpu,
}

/// Where the threads of a test are: in different workgroups, in one, or side by side in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum RunReach {
    #[default]
    Workgroups,
    Workgroup,
    Subgroup,
}

/// Where the locations of a test are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum RunMemory {
    #[default]
    Storage,
    Workgroup,
}
