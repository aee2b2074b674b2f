//! `run`: runs tests on a device, in many environments. The result is a measurement. It is stored
//! like any other result, and its key contains the device.

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
            RunDevice::Cpu => Question::Machine(of.profile.clone()),
        }]
    }

    fn build(&self, graph: &mut Building) -> Result<usize> {
        let (made, model) = run(graph.db, graph.part())?;
        graph.models[graph.at] = Some(model);
        let inputs = graph.inputs();
        Ok(graph.add_made(inputs, made))
    }
}

/// The work that runs the tests of an instance, and the name of the model that judges outcomes.
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
