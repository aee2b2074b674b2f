//! A complete candidate execution as cat sees it, and a model's verdict on it.
//!
//! It knows no models, nor where executions come from.

use super::algebra::Failed;
use super::plan::{BaseRel, BaseSet, Shape};
use litmake_base::rel::{Rel, Set};
use litmake_ops::Tags;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// An execution: the values of the base names. A name without a value is empty, except those that
/// follow from the number of events, from tags or from co.
#[derive(Clone, Debug, Default)]
pub struct Exec {
    /// How many events there are.
    pub n: usize,
    /// The annotations of each event.
    pub tags: Vec<Tags>,
    /// The values of base sets.
    pub sets: FxHashMap<BaseSet, Set>,
    /// The values of base relations.
    pub rels: FxHashMap<BaseRel, Rel>,
}

impl Exec {
    /// The value of a base set.
    pub(crate) fn set(&self, base: BaseSet) -> Set {
        if let Some(set) = self.sets.get(&base) {
            return set.clone();
        }
        match base {
            BaseSet::All => Set::full(self.n),
            BaseSet::Tags(tags) => {
                let has = |e: &usize| self.tags.get(*e).is_some_and(|t| t.meets(tags));
                Set::of(self.n, (0..self.n).filter(has))
            }
            BaseSet::Fw => {
                let co = self.rel(BaseRel::Co);
                self.set(BaseSet::W).diff(&co.domain())
            }
            _ => Set::empty(self.n),
        }
    }

    /// The value of a base relation.
    pub fn rel(&self, base: BaseRel) -> Rel {
        if let Some(rel) = self.rels.get(&base) {
            return rel.clone();
        }
        match base {
            BaseRel::Id => Rel::identity(self.n),
            _ => Rel::empty(self.n),
        }
    }
}

/// A model's verdict on an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The check that forbids it, if one does.
    pub failed: Option<Failed>,
    /// The names of the flags that it raises.
    pub flags: BTreeSet<String>,
    /// Whether it makes the program undefined.
    pub undefined: bool,
}

impl Verdict {
    /// Whether no requirement forbids it.
    pub fn allowed(&self) -> bool {
        self.failed.is_none()
    }
}

/// Checks that a relation has a shape. The error has the events that show that it lacks it: a cycle in
/// order, or a pair.
pub fn rel_has(shape: Shape, r: &Rel) -> Result<(), Vec<usize>> {
    match shape {
        Shape::Empty => match r.iter().next() {
            Some((a, b)) => Err(vec![a, b]),
            None => Ok(()),
        },
        Shape::Irreflexive => match (0..r.universe()).find(|e| r.contains(*e, *e)) {
            Some(e) => Err(vec![e]),
            None => Ok(()),
        },
        Shape::Acyclic => match cycle(r) {
            Some(events) => Err(events),
            None => Ok(()),
        },
    }
}

/// A shortest cycle, if there is one.
pub fn cycle(r: &Rel) -> Option<Vec<usize>> {
    let n = r.universe();
    let mut best: Option<Vec<usize>> = None;
    for start in 0..n {
        let mut from = vec![usize::MAX; n];
        let mut todo = std::collections::VecDeque::from([start]);
        'search: while let Some(a) = todo.pop_front() {
            for b in r.successors(a) {
                if b == start {
                    let mut path = vec![a];
                    while path[path.len() - 1] != start {
                        path.push(from[path[path.len() - 1]]);
                    }
                    path.reverse();
                    if best.as_ref().is_none_or(|p| p.len() > path.len()) {
                        best = Some(path);
                    }
                    break 'search;
                }
                if from[b] == usize::MAX {
                    from[b] = a;
                    todo.push_back(b);
                }
            }
        }
    }
    best
}
