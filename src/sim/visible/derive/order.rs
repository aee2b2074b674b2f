//! Whether a model makes the memory of one thread return what was written last, so that private memory can
//! be kept like registers. It knows nothing of runs.

use crate::visible::automaton::{Automaton, State};
use crate::visible::facts::{
    Event, Facts, Kind, Link, Pair, Truth, at_one_place, one_access, visible_later,
};
use litmake_cat::plan::{BaseRel, CheckKind, NodeId, Plan, Shape};
use litmake_litmus::Arch;
use litmake_ops::Tags;
use rustc_hash::FxHashSet;

/// Whether a model forbids that reads return later writes of their thread.
pub fn forbids_early_reads(plan: &Plan, arch: Arch) -> bool {
    let facts = Facts::new(plan, arch, Tags::NONE);
    let kinds = |of: [Kind; 2]| facts.kinds.iter().copied().filter(move |k| of.contains(k));
    let (_, back) = visible_later();
    let (later, _) = visible_later();
    kinds([Kind::Read, Kind::Update]).all(|read| {
        kinds([Kind::Write, Kind::Update]).all(|write| {
            let ways = [later.with(&[BaseRel::Loc]), back.with(&[BaseRel::Loc, BaseRel::Rf])];
            is_forbidden(&facts, [read, write], ways)
        })
    })
}

/// Whether a model makes private memory hold what was written last: in each execution where it does not,
/// two events are as in one of these cases.
pub fn keeps_private_order(plan: &Plan, arch: Arch) -> bool {
    let facts = Facts::new(plan, arch, Tags::NONE);
    let (read, write) = (Kind::PrivateRead, Kind::PrivateWrite);
    let (later, back) = (Link::later().with(&[BaseRel::Loc]), at_one_place());
    [
        // A read returns a later write, the order of two writes is the other one, a read returns what was
        // overwritten before.
        ([read, write], [later, back.with(&[BaseRel::Rf])]),
        ([write, write], [later, back.with(&[BaseRel::Co])]),
        ([write, read], [later, back.with_fr()]),
    ]
    .into_iter()
    .all(|(kinds, ways)| is_forbidden(&facts, kinds, ways))
}

/// Whether an execution with two such events, the first related to the second and the second to the first,
/// certainly fails a requirement.
fn is_forbidden(facts: &Facts, kinds: [Kind; 2], ways: [Link; 2]) -> bool {
    let events = kinds.map(Event::new);
    let required = facts.plan.checks.iter().filter(|c| {
        let closed = matches!(c.shape, Shape::Acyclic | Shape::Irreflexive);
        c.kind == CheckKind::Require && !c.negated && closed && !facts.is_set(c.node)
    });
    let mut checks: Vec<_> = required.collect();
    // Small ones first.
    checks.sort_by_key(|c| size(facts, c.node));
    checks.into_iter().any(|check| {
        let around = check.shape == Shape::Acyclic;
        Automaton::unmerged(facts, check.node, around)
            .is_ok_and(|automaton| comes_round(facts, &automaton, &events, ways))
    })
}

fn size(facts: &Facts, node: NodeId) -> usize {
    let mut seen = FxHashSet::default();
    let mut todo = vec![node];
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            todo.extend(facts.node(id).operands());
        }
    }
    seen.len()
}

/// Whether a run over two events certainly comes back to where it began.
fn comes_round(facts: &Facts, automaton: &Automaton, events: &[Event; 2], ways: [Link; 2]) -> bool {
    [0, 1].into_iter().any(|begin| {
        let mut seen: FxHashSet<(usize, State)> = FxHashSet::default();
        let mut todo = vec![(begin, automaton.start)];
        while let Some((at, state)) = todo.pop() {
            let arcs = automaton.arcs[usize::from(state)].iter();
            for (arc, next) in arcs.flat_map(|arc| [(arc, 1 - at), (arc, at)]) {
                let (from, to) = (&events[at], &events[next]);
                let [_, itself] = one_access();
                let (link, back) = match next == at {
                    true => (itself, itself),
                    false => (ways[at], ways[next]),
                };
                let pair = Pair { from, to, link, back, near: None };
                let certain = Automaton::passes(facts, from, &arc.before) == Truth::Yes
                    && Automaton::passes(facts, to, &arc.after) == Truth::Yes
                    && facts.holds(arc.leaf, &pair) == Truth::Yes;
                if !certain || !seen.insert((next, arc.to)) {
                    continue;
                }
                let ends = &automaton.ends[usize::from(arc.to)];
                let ended = ends.iter().any(|t| Automaton::passes(facts, to, t) == Truth::Yes);
                if next == begin && ended {
                    return true;
                }
                todo.push((next, arc.to));
            }
        }
        false
    })
}
