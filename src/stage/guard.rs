//! What the results of a stage rest on besides their inputs: files of compilers, which may be
//! exchanged while a run is on. What was made then is made by nobody knows what, and is not kept.
//!
//! It does not know what a stage does.

use std::path::Path;
use std::sync::Arc;

use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, Lasting};
use litmake_base::records::{Nowhere, Records};
use litmake_engine::graph::{Context, Map, Outcome, Travels};
use litmake_toolchain::evidence::{Evidence, Looks};

/// Evidence that has to hold still after work was done.
#[derive(Clone, Default)]
pub struct Guard {
    looks: Arc<Looks>,
    evidence: Vec<Arc<Evidence>>,
}

/// Evidence counts; that somebody looked at it is no difference.
impl PartialEq for Guard {
    fn eq(&self, other: &Guard) -> bool {
        self.evidence == other.evidence
    }
}

impl Guard {
    /// A guard of what some answers rest on.
    pub fn new(looks: &Arc<Looks>, evidence: Vec<Arc<Evidence>>) -> Guard {
        Guard { looks: looks.clone(), evidence }
    }

    /// Both guards as one. All guards of a run share what they looked at.
    pub fn and(mut self, other: Guard) -> Guard {
        self.looks = other.looks;
        for evidence in other.evidence {
            if !self.evidence.iter().any(|e| Arc::ptr_eq(e, &evidence)) {
                self.evidence.push(evidence);
            }
        }
        self
    }

    /// Work whose results are kept only while the guard holds.
    pub fn around<M: Map>(self, work: M) -> Guarded<M> {
        Guarded { work, guard: self }
    }

    /// A file that is not what it was.
    pub fn changed(&self, records: &dyn Records) -> Option<&Path> {
        self.evidence.iter().find_map(|evidence| self.looks.changed(evidence, records))
    }
}

/// Work whose results count only while its guard holds.
pub struct Guarded<M> {
    /// What is guarded.
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
                // What broke or was stopped is not kept anyway.
                if outcome.lasting() != Lasting::Never {
                    *outcome = Outcome::Failed(failure.clone());
                }
            }
        }
        out
    }
}
