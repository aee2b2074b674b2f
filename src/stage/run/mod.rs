//! `run`: tests on a device, over environments. What ran is a measurement: it is stored like any
//! other result, under the device that it was taken on.

pub(crate) mod cpu;
pub(crate) mod gpu;

use super::building::{Build, Building, Made, gone};
use super::models::Models;
use super::probes::Question;
use litmake_base::diag::Result;
use litmake_pipeline::kinds::run::RunDevice;
use litmake_pipeline::kinds::{Kind, Run};
use litmake_pipeline::query::{Db, Part, instance};
use litmake_pipeline::slice::Instance;

impl Build for Run {
    fn asks(&self, of: &Instance, _: &[&Instance]) -> Vec<Question> {
        vec![match self.device {
            RunDevice::Gpu => gpu::question(self),
            RunDevice::Cpu => cpu::question(of.profile.as_ref()),
        }]
    }

    fn build(&self, graph: &mut Building) -> Result<usize> {
        let (made, model) = run(graph.db, graph.part())?;
        graph.models[graph.at] = Some(model);
        let inputs = graph.inputs();
        Ok(graph.add_made(inputs, made))
    }
}

/// What runs the tests of an instance, and the model that judges.
#[salsa::tracked(returns(clone), no_eq)]
fn run<'db>(db: &'db dyn Db, of: Part<'db>) -> Result<(Made, String)> {
    let node = instance(db, of).ok_or_else(gone)?;
    let Kind::Run(options) = &node.kind else { return Err(gone()) };
    match options.device {
        RunDevice::Gpu => {
            let found = gpu::known(db, options)?;
            gpu::stage(&node, options, &found, Models(db))
        }
        RunDevice::Cpu => {
            let found = cpu::known(db, node.profile.as_ref())?;
            cpu::stage(&node, options, &found, Models(db))
        }
    }
}
