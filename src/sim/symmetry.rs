//! Threads that can change places, and the order among them that a search may assume.
//!
//! Two threads can change places where they have the same code and the same initial registers, and nobody
//! looks at the registers of either. Exchanging them maps each execution to one that the same models
//! allow, since no model can name a thread, and that has the same outcome and flags. So each
//! outcome has an execution in which the paths of such threads come in the order of their numbers and, where
//! two of them take the same path, the first writes of these come in the order of the threads. It is enough to
//! look for that one. Models are not known here.

use super::path::Path;
use super::program::{ObservedPlace, Program, Thread};
use super::skeleton::Skeleton;
use litmake_litmus::scopes::Scopes;

/// For each thread, the threads before it that it can change places with.
#[derive(Clone, Debug, Default)]
pub struct Symmetry(Vec<Vec<usize>>);

impl Symmetry {
    pub fn of(program: &Program) -> Symmetry {
        let observed = |t: usize| {
            let of = |place| matches!(place, ObservedPlace::Reg { thread, .. } if usize::from(thread) == t);
            program.observed.iter().any(|o| of(o.place))
        };
        let threads = &program.threads;
        // A model with events of its own may order what takes a lock in its own way.
        // Threads that scopes place together are told apart from others.
        let placed = *program.scopes != Scopes::apart(threads.len());
        if program.extra_events || placed || threads.len() < 2 {
            return Symmetry::default();
        }
        let free: Vec<bool> = (0..threads.len()).map(|t| !observed(t)).collect();
        let fits = |t: usize, u: usize| free[t] && free[u] && equal(&threads[t], &threads[u]);
        let before = |t: usize| (0..t).filter(|u| fits(t, *u)).collect();
        Symmetry((0..threads.len()).map(before).collect())
    }

    /// Whether the paths of a choice come in the order that is assumed.
    pub fn keeps(&self, picked: &[&Path]) -> bool {
        let in_order = |(t, before): (usize, &Vec<usize>)| {
            before.iter().all(|u| picked[*u].number <= picked[t].number)
        };
        self.0.iter().enumerate().all(in_order)
    }

    /// Pairs of writes of which the first may be taken to come before the second in coherence.
    pub fn ordered(&self, skeleton: &Skeleton) -> Vec<(u16, u16)> {
        let mut out = Vec::new();
        for (t, before) in self.0.iter().enumerate() {
            for u in before {
                if skeleton.paths[*u].number == skeleton.paths[t].number
                    && let (Some(a), Some(b)) =
                        (first_write(skeleton, *u), first_write(skeleton, t))
                {
                    out.push((a, b));
                }
            }
        }
        out
    }
}

/// Whether two threads do the same. The text of their instructions is for people, and is not compared.
fn equal(a: &Thread, b: &Thread) -> bool {
    let widths = |t: &Thread| t.code.regs.iter().map(|r| (r.bits, r.signed)).collect::<Vec<_>>();
    a.reg_init == b.reg_init
        && a.code.locations == b.code.locations
        && a.code.insts.len() == b.code.insts.len()
        && a.code.insts.iter().zip(&b.code.insts).all(|(x, y)| x.ops == y.ops)
        && widths(a) == widths(b)
}

fn first_write(skeleton: &Skeleton, thread: usize) -> Option<u16> {
    let mut range = skeleton.thread_events(thread);
    range.find(|e| skeleton.events[*e].writes()).map(|e| e as u16)
}
