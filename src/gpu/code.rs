//! The SPIR-V of the pass that runs a test, in every variant: either litmake writes it, or naga translates
//! the WGSL. wgpu has naga translate the same WGSL for a driver, so the options here are those of wgpu's
//! Vulkan back end.
//!
//! It does not know devices, only the properties of a driver that decide how naga writes.

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use super::device::refused;
use super::oracle::Oracle;
use super::program::Program;
use super::spirv;
use super::variant::{Code, Variant};
use super::wgsl::{self, Shape};
use litmake_base::failure::Result;

/// The properties of a driver that decide how naga writes code for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// The version of SPIR-V that it takes.
    pub version: (u8, u8),
    /// It keeps accesses to buffers in bounds itself.
    pub robust_buffers: bool,
    /// It sets workgroup memory to 0 itself.
    pub zeroes_workgroups: bool,
}

impl Default for Driver {
    /// A driver that does nothing by itself.
    fn default() -> Driver {
        Driver { version: (1, 3), robust_buffers: false, zeroes_workgroups: false }
    }
}

/// The pass that runs a test; its entry point is `test`.
pub fn test(
    program: &Program,
    oracle: &Oracle,
    shape: &Shape,
    variant: Variant,
    driver: Driver,
) -> Result<Vec<u32>> {
    match variant.has_words() {
        true => Ok(spirv::module(program, shape, variant)),
        false => naga(&wgsl::module(program, oracle, shape), "test", variant, driver),
    }
}

/// An entry point of a module in WGSL, as naga writes it.
pub fn naga(text: &str, entry: &str, variant: Variant, driver: Driver) -> Result<Vec<u32>> {
    let no = |e: &dyn std::fmt::Display| refused(format!("naga does not take the WGSL: {e}"));
    let module = naga::front::wgsl::parse_str(text).map_err(|e| no(&e))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&module).map_err(|e| no(&e))?;
    let bounds = |kept: bool| match kept {
        true => BoundsCheckPolicy::Restrict,
        false => BoundsCheckPolicy::Unchecked,
    };
    let options = spv::Options {
        lang_version: driver.version,
        flags: spv::WriterFlags::LABEL_VARYINGS,
        bounds_check_policies: BoundsCheckPolicies {
            index: bounds(variant.bounds),
            buffer: bounds(variant.bounds && !driver.robust_buffers),
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: match driver.zeroes_workgroups {
            true => spv::ZeroInitializeWorkgroupMemoryMode::Native,
            false => spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        },
        force_loop_bounding: variant.code == Code::Naga { loops: true },
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: entry.to_string(),
    };
    spv::write_vec(&module, &info, &options, Some(&pipeline)).map_err(|e| no(&e))
}
