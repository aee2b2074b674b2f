//! `compile`: gives a compiler whole tests, or the list of their distinct threads.
//!
//! This file does not know how tests are compiled (`compiled`), or how they are taken apart
//! (`threads`).

use std::sync::Arc;

use super::building::{Build, Building, Made, gone};
use super::compiled;
use super::compilers::{self, Tool};
use super::probes::Question;
use super::threads;
use litmake_base::diag::{Diag, Result};
use litmake_pipeline::kinds::{Compile, Kind};
use litmake_pipeline::query::{Db, Part, instance};
use litmake_pipeline::slice::Instance;
use litmake_profile::types::Storage;

impl Build for Compile {
    fn asks(&self, of: &Instance, _: &[&Instance]) -> Vec<Question> {
        of.profile.iter().cloned().map(Question::Compiler).collect()
    }

    fn build(&self, graph: &mut Building) -> Result<usize> {
        let made = compiling(graph.db, graph.part())?;
        let tests = graph.inputs()[0];
        // Parts from a `split` stage are compiled as they are.
        let is_split = graph.splits.contains_key(&graph.graph.root(tests));
        Ok(match is_split || !is_by_thread(self) {
            true => graph.add_made(vec![tests], made),
            false => threads::build(graph, tests, made),
        })
    }
}

/// The work that compiles for an instance.
#[salsa::tracked(returns(clone), no_eq)]
fn compiling<'db>(db: &'db dyn Db, of: Part<'db>) -> Result<Made> {
    let node = instance(db, of).ok_or_else(gone)?;
    let Kind::Compile(options) = &node.kind else { return Err(gone()) };
    let profile = node
        .profile
        .as_ref()
        .ok_or_else(|| Diag::at(&node.source, options.profile.span, "the profile is not known"))?;
    let tool = compilers::known(db, profile)?;
    let (work, fingerprint) = compiled::stage(profile, options, Tool::clone(&tool));
    Ok(Made { work: Arc::new(work), fingerprint })
}

/// Whether threads are compiled separately. If locations are variables of the unit, the compiler
/// sees how all threads use them; and helper functions are numbered through the whole test.
fn is_by_thread(options: &Compile) -> bool {
    options.storage == Storage::Pointers && !options.helpers
}
