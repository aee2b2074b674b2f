//! `run`: tests on a device, over environments. What ran is a measurement: it is stored like any
//! other result, under the device that it was taken on.

pub(crate) mod cpu;
pub(crate) mod gpu;

use std::sync::Arc;

use super::building::{Build, Building};
use super::compilers::Compilers;
use litmake_base::diag::Result;
use litmake_engine::graph::{Fingerprint, Map, Work};
use litmake_pipeline::kinds::Run;
use litmake_pipeline::kinds::run::RunDevice;

/// What does the work, what it depends on, and the model that judges.
type Made = (Arc<dyn Map>, Fingerprint, String);

impl Build for Run {
    fn build(&self, graph: &mut Building) -> Result<usize> {
        let (node, records) = (graph.node(), graph.records);
        let (work, fingerprint, model) = match self.device {
            RunDevice::Gpu => gpu::stage(node, self)?,
            RunDevice::Cpu => cpu::stage(node, self, graph.shared.of::<Compilers>(), records)?,
        };
        graph.models[graph.at] = Some(model);
        let inputs = graph.inputs();
        Ok(graph.add(inputs, fingerprint, Work::Map(work)))
    }
}
