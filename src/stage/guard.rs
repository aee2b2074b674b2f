//! Guards results against changes of the files that they depend on beside their inputs: the files
//! of compilers, which may be exchanged during a run. A result from such a moment is not kept,
//! because its compiler is unknown.
//!
//! This file does not know what a stage does.

use std::path::Path;
use std::sync::Arc;

use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Nowhere, Records};
use litmake_engine::graph::{Context, Map, Outcome, Travels};
use litmake_toolchain::evidence::{Evidence, Looks};

/// Evidence that must be unchanged after the work is done.
#[derive(Clone, Default)]
pub struct Guard {
    looks: Arc<Looks>,
    evidence: Vec<Arc<Evidence>>,
}

/// Two guards are equal if their evidence is; what was looked at does not count.
impl PartialEq for Guard {
    fn eq(&self, other: &Guard) -> bool {
        self.evidence == other.evidence
    }
}

impl Guard {
    /// A guard for evidence.
    pub fn new(looks: &Arc<Looks>, evidence: Vec<Arc<Evidence>>) -> Guard {
        Guard { looks: looks.clone(), evidence }
    }

    /// Joins two guards. All guards of a run share what they looked at.
    pub fn and(mut self, other: Guard) -> Guard {
        self.looks = other.looks;
        for evidence in other.evidence {
            if !self.evidence.iter().any(|e| Arc::ptr_eq(e, &evidence)) {
                self.evidence.push(evidence);
            }
        }
        self
    }

    /// Wraps work, so that its results are kept only while the guard holds.
    pub fn around<M: Map>(self, work: M) -> Guarded<M> {
        Guarded { work, guard: self }
    }

    /// A file that has changed, if there is one.
    pub fn changed(&self, records: &dyn Records) -> Option<&Path> {
        self.evidence.iter().find_map(|evidence| self.looks.changed(evidence, records))
    }
}

/// Work whose results count only while its guard holds.
pub struct Guarded<M> {
    /// The work.
    pub work: M,
    guard: Guard,
}

impl<M: Map> Map for Guarded<M> {
    fn batch(&self) -> usize {
        self.work.batch()
    }

    fn told(&self, items: usize) {
        self.work.told(items);
    }

    fn travels(&self) -> Travels {
        self.work.travels()
    }

    fn normal(&self, inputs: &[Vec<u8>]) -> Option<Digest> {
        self.work.normal(inputs)
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let mut out = self.work.run(items, context);
        let records = context.records.as_deref().unwrap_or(&Nowhere);
        if let Some(path) = self.guard.changed(records) {
            let failure = Failure::machine(format!(
                "{} changed while the run was on; run again to have this done by what is there now",
                path.display()
            ));
            for outcome in &mut out {
                // Results of work that broke or was stopped are not kept anyway.
                if outcome.lasting() != Lasting::Never {
                    *outcome = Outcome::Failed(failure.clone());
                }
            }
        }
        out
    }
}
