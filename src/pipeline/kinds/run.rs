//! The kind `run`: runs tests on a device.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Items, Options};
use litmake_profile::yaml::Sp;

/// Options of `run`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The stage whose tests are run.
    pub from: Sp<String>,
    /// The kind of device that the tests run on.
    pub device: RunDevice,
    /// On CPUs: the profile that tests are built with (default: the machine's own compiler, which
    /// `CC` names, or else `cc`).
    #[serde(default)]
    pub profile: Option<Sp<String>>,
    /// On GPUs: the device, by a part of its name or kind (default: the best one).
    #[serde(default)]
    pub adapter: Option<Sp<String>>,
    /// On GPUs: the kind of environments, `pte` (the default), `site`, `pte_baseline` or
    /// `site_baseline`.
    #[serde(default)]
    pub preset: Option<Sp<String>>,
    /// How many environments are drawn (default: the preset's number; 16 on CPUs).
    #[serde(default)]
    pub environments: Option<Sp<u32>>,
    /// Iterations of a test in an environment, which are rounds on CPUs (default: the preset's
    /// number; on CPUs as many as there is time for).
    #[serde(default)]
    pub iterations: Option<Sp<u32>>,
    /// Seconds after which a test leaves an environment, even if iterations remain (default on
    /// CPUs: 1/16).
    #[serde(default)]
    pub seconds: Option<Sp<f64>>,
    /// On GPUs: seconds for all tests of the stage together. In each round every test runs in one
    /// more environment, and every test runs in at least one.
    #[serde(default)]
    pub budget: Option<Sp<f64>>,
    /// On GPUs: iterations in each submission to the device, 1 to 128 (default: as many as fit into
    /// 60 ms).
    #[serde(default)]
    pub batch: Option<Sp<u32>>,
    /// The seed of all random choices (default: `webgpu`, as in the paper; `cpu` on CPUs).
    #[serde(default)]
    pub seed: Option<Sp<String>>,
    /// How the code of tests is made on GPUs: by naga, `checked` (the default), `bounds`, `loops`
    /// or `unchecked`; or as SPIR-V, `spirv`, `spirv-bounds`, `vulkan` or `vulkan-bounds`.
    #[serde(default)]
    pub variant: Option<Sp<String>>,
    /// For SPIR-V: how far accesses and fences reach, `device` (the default), `queue`, `workgroup`
    /// or `subgroup`.
    #[serde(default)]
    pub scope: Option<Sp<String>>,
    /// On GPUs: where the threads of a test are.
    #[serde(default)]
    pub reach: RunReach,
    /// On GPUs: where the locations of a test are.
    #[serde(default)]
    pub memory: RunMemory,
    /// On GPUs that a driver emulates on a CPU: whether threads wait for each other and all of them
    /// stress memory, although workgroups wait for each other in vain there.
    #[serde(default)]
    pub spin: bool,
    /// The model whose outcomes are allowed (default: `wgsl-rel-acq`, or `vulkan` for tests whose
    /// accesses acquire or release; on CPUs that of the dialect).
    #[serde(default)]
    pub model: Option<Sp<String>>,
    /// Values for parameters of the environments, instead of those drawn.
    #[serde(default)]
    pub set: BTreeMap<String, Sp<u32>>,
    /// On GPUs: whether to measure the device's best speed, and which part of it each test reaches.
    #[serde(default)]
    pub speed: bool,
    /// A number that is part of the key: changing it runs tests again whose results are stored.
    #[serde(default)]
    pub again: Option<Sp<u32>>,
    /// A file for the results in the form of the MC Mutants artifact, relative to the pipeline
    /// file.
    #[serde(default)]
    pub results: Option<Sp<String>>,
}

impl Options for Run {
    fn about() -> &'static str {
        "runs tests on a device and counts the outcomes."
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

/// The kind of device that tests run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum RunDevice {
    Gpu,
    Cpu,
}

/// Where the threads of a test are: in different `workgroups`, in one `workgroup`, or in one
/// `subgroup`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum RunReach {
    #[default]
    Workgroups,
    Workgroup,
    Subgroup,
}

/// Where the locations of a test are: in a `storage` buffer, or in `workgroup` memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the key that takes it says what each value is")]
pub enum RunMemory {
    #[default]
    Storage,
    Workgroup,
}
