//! `run`: tests on a device, over environments. What ran is a measurement: it is stored like any
//! other result, under the device that it was taken on.

pub(crate) mod cpu;
pub(crate) mod gpu;

use std::sync::Arc;

use litmake_base::diag::Result;
use litmake_base::records::Records;
use litmake_engine::graph::{Fingerprint, Map};
use litmake_pipeline::plan::Node;
use litmake_pipeline::types::{self, RunDevice};

/// What does the work, what it depends on, and the model that judges.
pub type Made = (Arc<dyn Map>, Fingerprint, String);

pub fn stage(
    node: &Node,
    options: &types::Run,
    compilers: &mut super::compile::Compilers,
    records: &dyn Records,
) -> Result<Made> {
    match options.device {
        RunDevice::Gpu => gpu::stage(node, options),
        RunDevice::Cpu => cpu::stage(node, options, compilers, records),
    }
}
