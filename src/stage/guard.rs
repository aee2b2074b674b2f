//! Guards results against changes of the files that they depend on beside their inputs: the files
//! of compilers, which may be exchanged during a run. A result from such a moment is not kept,
//! because its compiler is unknown.
//!
//! If the files are as they were, the work is done again at once. If they differ, it is left undone,
//! and whoever runs it identifies the compilers again and goes on with the new keys.
//!
//! This file does not know what a stage does.

use std::sync::Arc;

use litmake_base::digest::Digest;
use litmake_base::failure::Lasting;
use litmake_base::records::{Nowhere, Records};
use litmake_engine::graph::{Context, Map, Outcome, Travels};
use litmake_toolchain::evidence::{Evidence, Looks, Moment, Standing};

/// How often work is done again whose files are touched while it is on.
const AGAIN: usize = 3;

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

    /// The present moment, for work that begins.
    pub fn now(&self) -> Moment {
        self.looks.now()
    }

    /// Whether the results of work since a moment count. If not, the path says why.
    pub fn standing(&self, since: Moment, records: &dyn Records) -> Standing<'_> {
        let mut out = Standing::Unchanged;
        for evidence in &self.evidence {
            match self.looks.standing(evidence, since, records) {
                Standing::Unchanged => {}
                Standing::Touched(path) => out = Standing::Touched(path),
                changed @ Standing::Changed(_) => return changed,
            }
        }
        out
    }

    /// Whether the files are known to have changed.
    fn is_moved(&self) -> bool {
        self.evidence.iter().any(|evidence| self.looks.is_moved(evidence))
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
        let records = context.records.as_deref().unwrap_or(&Nowhere);
        let undone = || vec![Outcome::stopped(); items.len()];
        let mut restless = None;
        for _ in 0..AGAIN {
            if self.guard.is_moved() {
                return undone();
            }
            let since = self.guard.now();
            let out = self.work.run(items, context);
            // Results of work that broke or was stopped are not kept anyway.
            if out.iter().all(|outcome| outcome.lasting() == Lasting::Never) {
                return out;
            }
            match self.guard.standing(since, records) {
                Standing::Unchanged => return out,
                Standing::Touched(path) => restless = Some(path),
                Standing::Changed(_) => return undone(),
            }
        }
        if let Some(path) = restless {
            self.guard.looks.has_moved(path);
        }
        undone()
    }
}
