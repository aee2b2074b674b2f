//! Aligned accesses are whole: none observes a part of another and not the rest. Models that relate the parts of
//! an access (`sm`) say so themselves; for those that do not, herd's own among them, it is said here.
//!
//! It does not know how executions are gone through.

use smallvec::SmallVec;

use super::eval::Choices;
use super::search::{Judge, Look};
use super::skeleton::Skeleton;
use litmake_base::rel::Rel;

/// A judge that also wants accesses to be whole.
pub struct Whole<'j> {
    pub inner: &'j mut dyn Judge,
    /// For each event, the events of its access.
    parts: Rel,
}

impl<'j> Whole<'j> {
    /// Nothing where no aligned access has several parts.
    pub fn parts_of(skeleton: &Skeleton) -> Option<Rel> {
        let mut parts = Rel::identity(skeleton.len());
        let mut any = false;
        for (thread, path) in skeleton.paths.iter().enumerate() {
            for (index, e) in path.events.iter().enumerate().filter(|(_, e)| e.is_access()) {
                let range = skeleton.events_of(thread, index);
                let aligned = e.off.is_multiple_of(u32::from(e.size.max(1)));
                if range.len() > 1 && aligned {
                    any = true;
                    for i in range.clone() {
                        parts.insert_range(i, range.clone());
                    }
                }
            }
        }
        any.then_some(parts)
    }

    pub fn new(inner: &'j mut dyn Judge, parts: Rel) -> Whole<'j> {
        Whole { inner, parts }
    }

    /// Whether what is decided has each access observe, and be observed, as one: no way through reads-from,
    /// coherence and from-reads comes back to where it began, if each step may go on from any part.
    fn holds(&self, choices: &Choices) -> bool {
        let mut steps = choices.rf_lower.union(&choices.co_lower);
        for (write, read) in choices.rf_lower.iter() {
            for later in choices.co_lower.successors(write) {
                if later != read {
                    steps.insert(read, later);
                }
            }
        }
        steps.seq(&self.parts).is_acyclic()
    }
}

impl Judge for Whole<'_> {
    fn bind(&mut self, skeleton: &Skeleton, choices: &Choices) -> Result<bool, String> {
        self.inner.bind(skeleton, choices)
    }

    fn may_allow(&mut self, choices: &Choices, look: Look) -> bool {
        self.inner.may_allow(choices, look) && self.holds(choices)
    }

    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String> {
        if self.holds(choices) { self.inner.judge(choices) } else { Ok(None) }
    }

    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool {
        self.inner.may_flag(choices, raised)
    }
}
