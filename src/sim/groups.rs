//! What C tests for GPUs say about groups of threads: scopes, barriers, and the memory of workgroups.
//!
//! A model that never asks for one of these would judge as if the test did not say it, so it is refused. The file does
//! not know what models make of them.

use std::sync::Arc;

use super::program::{Location, Program, Thread};
use litmake_base::diag::{Diag, Result};
use litmake_base::failure::FailureKind;
use litmake_cat::plan::{BaseRel, BaseSet, Node, Plan};
use litmake_ops::{Op, Tags, tag};

const SCOPES: Tags = tag::WI.with(tag::SG).with(tag::WG).with(tag::DV);

/// Refuses a test that says what the model never asks for.
pub(super) fn known_to(program: &Program, plan: &Plan, model: &str) -> Result<()> {
    let says = |tags: Tags| {
        program.threads.iter().any(|t| t.code.is_annotated(tags))
            || program.locations.iter().any(|l| l.tags.meets(tags))
    };
    let asks = |tags: Tags| {
        let is = |n: &Node| matches!(n, Node::BaseSet(BaseSet::Tags(asked)) if asked.meets(tags));
        plan.nodes.iter().any(is)
    };
    let lacks = if says(SCOPES) && !asks(SCOPES) {
        "scopes of operations"
    } else if says(tag::CBAR) && !plan.nodes.contains(&Node::BaseRel(BaseRel::SameBarrier)) {
        "barriers"
    } else if says(tag::WORKGROUP) && !asks(tag::WORKGROUP) {
        "the memory of a workgroup (`local`)"
    } else {
        return Ok(());
    };
    let message = format!("{}: the model `{model}` does not know {lacks}", program.name);
    Err(Diag::new(message).kind(FailureKind::Unsupported).help(
        "`opencl` knows scopes, barriers and `local` memory; `rc11` and `rc11-lb` know scopes and barriers",
    ))
}

/// Where no location lies in the memory of a workgroup, a fence of the device's memory is one of all memory, and one of
/// workgroups' memory alone orders nothing.
pub(super) fn one_memory(threads: &mut [Thread], locations: &[Location]) {
    let listed = tag::SEM_WORKGROUP | tag::SEM_CROSSWORKGROUP;
    if locations.iter().any(|l| l.tags.meets(tag::WORKGROUP)) {
        return;
    }
    for thread in threads.iter_mut().filter(|t| t.code.is_annotated(listed)) {
        for inst in &mut Arc::make_mut(&mut thread.code).insts {
            for op in &mut inst.ops {
                let Op::Fence { tags } = op else { continue };
                if tags.meets(tag::SEM_CROSSWORKGROUP) {
                    *tags = tags.without(listed);
                } else if tags.meets(listed) {
                    *tags = tag::C_SIGNAL;
                }
            }
        }
    }
}
