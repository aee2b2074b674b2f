//! Where runs of an automaton come round: from which states they are followed anew, and which cycles stay
//! cycles. It knows nothing of private events.

use super::{Derivation, Stuck};
use crate::visible::automaton::{Automaton, State, Test};
use litmake_cat::plan::{CheckKind, NodeId, Shape};
use rustc_hash::FxHashSet;

impl Derivation<'_> {
    /// The start, and the states to which runs come back that have been in other threads.
    pub(super) fn resets(&mut self, automaton: &Automaton) -> Vec<State> {
        let mut out = vec![automaton.start];
        for (state, _) in &automaton.loops {
            let mut leaves = arcs_round(automaton, *state, &[]).into_iter().map(|(_, leaf)| leaf);
            if leaves.any(|leaf| !self.is_forward(leaf)) {
                out.push(*state);
            }
        }
        out
    }

    /// A cycle stays one where runs go without private events, even if they leave out where it comes round:
    /// whatever else in the automaton comes round is no cycle in an execution, or forbidden by itself.
    pub(super) fn cycles_come_round(&mut self, node: NodeId) -> Result<(), Stuck> {
        let automaton =
            Automaton::unmerged(&self.facts, node, true).map_err(|_| Stuck::default())?;
        let inner = automaton.loops.iter().map(|(s, _)| *s).filter(|s| *s != automaton.start);
        let inner: Vec<State> = inner.chain(automaton.inner.iter().copied()).collect();
        let mut forbidden: Vec<State> = Vec::new();
        for state in inner {
            let round = automaton.leaves_round(state, &forbidden);
            let strict = round
                .iter()
                .all(|(leaf, first)| self.is_strict(*leaf) || !first && self.is_forward(*leaf));
            if !strict {
                if !self.is_forbidden_round(&automaton, state, &forbidden) {
                    return Err(Stuck::default());
                }
                forbidden.push(state);
            }
        }
        Ok(())
    }

    /// Whether each way from a state of a closure back to it is one of a relation that has to be acyclic.
    fn is_forbidden_round(&self, automaton: &Automaton, state: State, without: &[State]) -> bool {
        let plan = self.facts.plan;
        let required = plan.checks.iter().filter(|c| {
            (c.kind, c.shape, c.negated) == (CheckKind::Require, Shape::Acyclic, false)
        });
        required.into_iter().any(|check| {
            Automaton::new(&self.facts, check.node, true)
                .is_ok_and(|other| is_included(automaton, state, without, &other))
        })
    }
}

/// The arcs on ways from a state back to it, which do not pass the start of the automaton.
fn arcs_round(automaton: &Automaton, state: State, without: &[State]) -> Vec<(State, NodeId)> {
    let n = automaton.arcs.len();
    let inside = |from: State| {
        let arcs = automaton.arcs[usize::from(from)].iter();
        arcs.filter(|a| !a.starts && a.to != automaton.start && !without.contains(&a.to))
    };
    let mut away = vec![false; n];
    let mut todo = vec![state];
    while let Some(s) = todo.pop() {
        if !std::mem::replace(&mut away[usize::from(s)], true) {
            todo.extend(inside(s).map(|a| a.to));
        }
    }
    let mut home = vec![false; n];
    home[usize::from(state)] = true;
    loop {
        let before = home.clone();
        for s in 0..n as State {
            home[usize::from(s)] |= inside(s).any(|a| home[usize::from(a.to)]);
        }
        if home == before {
            break;
        }
    }
    let from = (0..n as State).filter(|s| away[usize::from(*s)]);
    from.flat_map(|s| inside(s).filter(|a| home[usize::from(a.to)]).map(move |a| (s, a.leaf)))
        .collect()
}

/// Whether each way from a state back to it is, step by step, a way of another automaton from its start back
/// to its start.
fn is_included(automaton: &Automaton, state: State, without: &[State], other: &Automaton) -> bool {
    let mut seen: FxHashSet<(State, Vec<State>, Vec<Test>)> = FxHashSet::default();
    let mut todo: Vec<(State, Vec<State>, Vec<Test>)> =
        vec![(state, vec![other.start], Vec::new())];
    let relevant = arcs_round(automaton, state, without);
    while let Some((at, states, known)) = todo.pop() {
        if !seen.insert((at, states.clone(), known.clone())) {
            continue;
        }
        if seen.len() > 2000 {
            return false;
        }
        for arc in &automaton.arcs[usize::from(at)] {
            if !relevant.contains(&(at, arc.leaf)) || arc.starts || arc.to == automaton.start {
                continue;
            }
            let mut next = Vec::new();
            for s in &states {
                for step in &other.arcs[usize::from(*s)] {
                    let before = |t: &Test| arc.before.contains(t) || known.contains(t);
                    if step.leaf == arc.leaf
                        && step.before.iter().all(before)
                        && step.after.iter().all(|t| arc.after.contains(t))
                        && !next.contains(&step.to)
                    {
                        next.push(step.to);
                    }
                }
            }
            next.sort_unstable();
            if arc.to == state && !next.contains(&other.start) {
                return false;
            }
            if arc.to != state {
                todo.push((arc.to, next, arc.after.to_vec()));
            }
        }
    }
    true
}
