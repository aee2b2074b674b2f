//! Recognises a bug of optimisers: they assume that a call changes no object that only this unit
//! can name, so that a value survives a call that synchronises.
//!
//! The tests that show it have little in common: any plain access before or after any call may be
//! wrong, so each test reduces to a form of its own. They agree in where they show it: in variables
//! that no other unit can name, and only with functions.

use std::sync::Arc;

use super::bugs::shows;
use super::{Chain, Investigator, Piece, piece};
use crate::compiled;
use litmake_litmus::Test;
use litmake_pipeline::kinds::{self, Kind};
use litmake_profile::Profile;
use litmake_profile::types::Storage;
use litmake_report::Finding;
use litmake_report::mechanism::{Change, Mechanism};

/// The text for the cause of such a bug.
pub(super) const CAUSE: &str = "a value survives a call that synchronises: it shows where no other unit \
    can name the object, and neither where one can nor without functions";

/// Its mechanism, which is the same for every target.
pub(super) fn mechanism() -> Mechanism {
    Mechanism { change: Change::Survives, ..Mechanism::default() }
}

impl Investigator<'_> {
    /// Whether a difference shows only with static variables and functions: neither with global
    /// variables, which other units can change, nor without functions.
    pub(super) fn survives(
        &mut self,
        (chain, profile): &(Chain, Arc<Profile>),
        finding: &Finding,
        test: &Test,
    ) -> bool {
        let Kind::Compile(options) = &self.plan.nodes[chain.compile].kind else { return false };
        if options.storage != Storage::Statics || chain.parts.is_some() {
            return false;
        }
        let plain = litmake_reduce::without_functions(test);
        if !options.helpers && plain.is_none() {
            return false;
        }
        let named = kinds::Compile { storage: Storage::Globals, ..options.clone() };
        let alone = kinds::Compile { helpers: false, ..options.clone() };
        let plain = plain.as_ref().unwrap_or(test);
        [(named, test), (alone, plain)].into_iter().all(|(options, test)| {
            let code = self.with_options(profile, &options);
            let verdicts = self.verdicts_of(chain, profile, code, std::slice::from_ref(test));
            verdicts.iter().all(|v| v.is_ok() && !shows(v, finding))
        })
    }

    fn with_options(&self, profile: &Arc<Profile>, options: &kinds::Compile) -> Option<Piece> {
        let tool = self.compilers.tool(profile, self.records);
        Some(piece(compiled::stage(profile, options, tool)))
    }
}
