//! Shows that a model cannot tell private events missing, or finds where it may.
//!
//! Let E be an execution with the events of private memory, and E' the same one without them. In E' what
//! depended on a private read depends directly on what the value came from. A model cannot tell the two apart
//! if each of its checks has the same answer in both.
//!
//! *Facts about private events.* They are reads and writes without annotations, in instructions that have no other
//! events, at addresses that depend on no event of E'. Their reads-from, coherence and from-reads are within one place
//! and thread, and agree with program order: the model has to forbid everything else ([`keeps_private_order`]).
//! So an event of E' is related to a private one by program order, dependencies and what follows from
//! these alone ([`super::facts`]).
//!
//! *Runs.* A check forbids ways through a relation: cycles, or ways that come back to an event, or any way. The ways
//! are the runs of an [`Automaton`]. Its leaves have the same pairs in E and E' ([`Facts::is_exact`]), except
//! dependencies. It remains to show that each run in E is one in E', and the other way round:
//!
//! - A run in E that comes to private events is followed through its thread. Of the events before the private ones it is
//!   remembered in which states they can be reached in E', and what is known of them: all of them come before
//!   whatever follows in program order; from some the value of a private read comes, so that E' has a
//!   dependency on them; from some a control dependency leads to all that follows. Steps that certainly can be
//!   made from these events ([`Derivation::certain`]) give the states in which the next event can be reached in E'. If the
//!   run's own state is among them, there is a run that comes here with fewer private events, and goes on alike.
//!   If not, the run is *in debt*, and goes on. One that leaves its thread in debt, or ends, may be seen.
//! - A run in E' that takes a dependency is followed along writes and reads of private memory instead, in the same way.
//!
//! Every run of an execution is among those that are followed: where one begins, where a step may come from another
//! thread, and where a closure with such steps starts again, runs are followed anew, remembering that event
//! alone. To remember less is safe, since then less is certain.
//!
//! *Cycles.* A run that stands in for a cycle does not pass the start of the automaton where the cycle did so at private
//! events only. It is a cycle all the same: whatever else comes round in the automaton leads forward in program order at
//! each turn, so that it does not come round in an execution, or is by itself a cycle of a relation that has to be
//! acyclic ([`Derivation::cycles_come_round`]). Within private memory steps lead forward, so there is no cycle.
//!
//! *Exceptions.* If the argument fails, it is tried again for threads without the annotations of the events that
//! the failing run passed, and for places that are written once.

use super::Private;
use super::automaton::{Arc, Automaton, State, Test};
use super::facts::{
    DEPENDENCIES, Event, Facts, Kind, Link, Near, Pair, PrivatePair, Truth, at_one_place,
    one_access, private_pairs, visible_apart, visible_instruction, visible_later,
};
use litmake_cat::plan::{BaseRel, CheckKind, Node, NodeId, Plan, Shape};
use litmake_litmus::Arch;
use litmake_ops::Tags;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cell::RefCell;

/// Why it is not shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stuck {
    /// The annotations of the events that the order in question goes through.
    pub annotations: Tags,
    /// It goes through a place that is written more than once.
    pub twice: bool,
}

/// States at an event, another event, and how the first is related to it.
type Asked = (SmallVec<[State; 8]>, Event, Event, Link);

/// A requirement, a flag, or another check, with the automaton of its relation.
struct Rule {
    automaton: Automaton,
    shape: Shape,
    /// The states from which runs are looked at by themselves.
    resets: Vec<State>,
    certain: RefCell<FxHashMap<Asked, Vec<State>>>,
}

/// How a value, or a decision, depends on what an event returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Flow {
    No,
    Data,
    Pick,
}

/// An event that is not private, which the run has passed in this thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    event: Event,
    /// The states in which it can be reached without private events.
    states: SmallVec<[State; 8]>,
    /// Whether all later events depend on it by control.
    ctrl: Flow,
    /// Whether the private event at hand holds a value that depends on it.
    carried: Flow,
    /// Whether there has been a private event since.
    crossed: bool,
}

/// A private event at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Hidden {
    kind: Kind,
    /// Whether it reads what the run has passed just before.
    flowed: bool,
}

/// A run through the events of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Run {
    state: State,
    /// The private event where it is; else it is at the last of the others.
    hidden: Option<Hidden>,
    held: SmallVec<[Held; 4]>,
    /// Whether it is not known to be possible without private events.
    debt: bool,
    twice: bool,
    /// Whether it is one without private events, which has to be possible with them.
    back: bool,
    /// The annotations of the events that it has passed before the first private event, and since.
    passed: [Tags; 2],
}

/// How a run comes to an event that is not private.
#[derive(Clone, Copy)]
enum By {
    /// From another such event, by a leaf; in program order, or else inside an instruction.
    Leaf(NodeId, bool),
    /// From a private one, by a dependency or without.
    Private(Option<BaseRel>),
    /// The same, where a run without private events takes a leaf from the event before.
    Instead(BaseRel, NodeId),
}

/// Most events that a run remembers: before the first private one, and in all.
const MOST_BEFORE: usize = 4;
const MOST_HELD: usize = 6;
/// Most runs of a model that are looked at.
const MOST_RUNS: usize = 1_000;

pub struct Derivation<'p> {
    pub facts: Facts<'p>,
    once: bool,
    pairs: Vec<PrivatePair>,
    forward: FxHashMap<NodeId, bool>,
    /// Whether a leaf can relate events of two kinds, in one of the ways in which they can be linked.
    possible: RefCell<FxHashMap<(NodeId, Kind, Kind, u8), bool>>,
    runs: usize,
}

impl<'p> Derivation<'p> {
    pub fn new(plan: &'p Plan, arch: Arch, without: Tags, once: bool) -> Derivation<'p> {
        Derivation {
            facts: Facts::new(plan, arch, without),
            once,
            pairs: private_pairs(),
            forward: FxHashMap::default(),
            possible: RefCell::default(),
            runs: 0,
        }
    }

    /// Whether every check of the plan has the same answer with private events and without.
    pub fn all_checks(&mut self) -> Result<(), Stuck> {
        let mut done: Vec<(Shape, NodeId)> = Vec::new();
        for check in &self.facts.plan.checks {
            if done.contains(&(check.shape, check.node)) {
                continue;
            }
            done.push((check.shape, check.node));
            self.check(check.shape, check.node)?;
        }
        Ok(())
    }

    fn check(&mut self, shape: Shape, node: NodeId) -> Result<(), Stuck> {
        if self.facts.is_exact(node) && self.facts.is_without_private(node) {
            return Ok(());
        }
        if self.facts.is_set(node) {
            return Err(Stuck::default());
        }
        let around = shape == Shape::Acyclic;
        let Ok(automaton) = Automaton::new(&self.facts, node, around) else {
            return Err(Stuck::default());
        };
        let resets = self.resets(&automaton);
        let rule = Rule { automaton, shape, resets, certain: RefCell::default() };
        self.steps_are_kept(&rule)?;
        if around {
            self.cycles_come_round(&rule)?;
        }
        self.starts_in_private(&rule)?;
        self.explore(&rule)
    }

    /// Whether a step between events that are not private is one in either case. A dependency through
    /// private memory is a direct one if that makes no events; then the run has to be possible through
    /// them, too.
    fn steps_are_kept(&mut self, rule: &Rule) -> Result<(), Stuck> {
        for arcs in &rule.automaton.arcs {
            for arc in arcs {
                let mut tests = arc.before.iter().chain(&arc.after);
                if !tests.all(|(set, _)| self.facts.is_exact(*set)) {
                    return Err(Stuck::default());
                }
                match *self.facts.node(arc.leaf) {
                    Node::BaseRel(base) if DEPENDENCIES.contains(&base) => {}
                    _ if self.facts.is_exact(arc.leaf) => {}
                    _ => return Err(Stuck::default()),
                }
            }
        }
        Ok(())
    }

    /// A dependency through private memory is a direct one if that makes no events. Then a run that takes
    /// it has to be possible by writes and reads of private memory, too.
    fn by_private(
        &self,
        rule: &Rule,
        run: &Run,
        arc: &Arc,
        dependency: BaseRel,
        todo: &mut Vec<Run>,
    ) -> Result<(), Stuck> {
        use BaseRel as B;
        let reads = |h: &&Held| matches!(h.event.kind, Kind::Read | Kind::Update);
        let Some(last) = run.held.last().filter(reads) else {
            return Ok(());
        };
        let (write, read) = (Event::new(Kind::PrivateWrite), Event::new(Kind::PrivateRead));
        let (plain, pick) = both_sorts(dependency);
        let later = |by: BaseRel| Link::later().with(&[by]);
        // States at a private read, and whether a choice is on the way there.
        let mut seen: Vec<(Vec<State>, bool)> = Vec::new();
        let mut reads: Vec<(Vec<State>, Event, bool)> =
            vec![(last.states.to_vec(), last.event.clone(), false)];
        while let Some((states, at, chosen)) = reads.pop() {
            for (by, chosen) in [(B::Data, chosen), (B::PickData, true)] {
                let stored =
                    self.certain(rule, &states, &at, &write, later(by), Link::thread(), None);
                let (link, back) = (Near::Flow.link(), at_one_place());
                let loaded =
                    self.certain(rule, &stored, &write, &read, link, back, Some(Near::Flow));
                if !seen.contains(&(loaded.clone(), chosen)) {
                    seen.push((loaded.clone(), chosen));
                    reads.push((loaded, read.clone(), chosen));
                }
            }
        }
        for kind in &self.facts.kinds {
            let to = Event::new(*kind);
            let Some(to) = Automaton::passed(&self.facts, &to, &arc.after) else { continue };
            let (open, back) = visible_later();
            let link = open.with(&[dependency]);
            let direct = Pair { from: &last.event, to: &to, link, back, near: None };
            if !self.facts.holds(arc.leaf, &direct).possible() {
                continue;
            }
            for (states, chosen) in &seen {
                let ways: &[BaseRel] = match (dependency == plain, *chosen) {
                    (true, true) => &[],
                    (true, false) => &[plain],
                    (false, false) => &[pick],
                    (false, true) => &[plain, pick],
                };
                for by in ways {
                    let mut run = run.clone();
                    run.back = true;
                    run.held.iter_mut().for_each(|h| h.crossed = true);
                    run.held.push(Held {
                        event: read.clone(),
                        states: states.iter().copied().collect(),
                        ctrl: Flow::No,
                        carried: Flow::Data,
                        crossed: true,
                    });
                    self.arrive(rule, &run, &to, arc.to, By::Instead(*by, arc.leaf), todo)?;
                }
            }
        }
        Ok(())
    }

    /// The states in which a run certainly can come from an event in some states to another one.
    #[expect(clippy::too_many_arguments, reason = "a pair of events, spelled out")]
    fn certain(
        &self,
        rule: &Rule,
        states: &[State],
        from: &Event,
        to: &Event,
        link: Link,
        back: Link,
        near: Option<Near>,
    ) -> Vec<State> {
        if states.is_empty() {
            return Vec::new();
        }
        let key = (SmallVec::from_slice(states), from.clone(), to.clone(), link);
        if let Some(known) = rule.certain.borrow().get(&key) {
            return known.clone();
        }
        let mut out = Vec::new();
        for state in states {
            for arc in &rule.automaton.arcs[usize::from(*state)] {
                if !out.contains(&arc.to)
                    && self.may(arc.leaf, from.kind, to.kind, 2, Link::any(), Link::any())
                    && Automaton::passes(&self.facts, from, &arc.before) == Truth::Yes
                    && Automaton::passes(&self.facts, to, &arc.after) == Truth::Yes
                    && self.facts.holds(arc.leaf, &Pair { from, to, link, back, near })
                        == Truth::Yes
                {
                    out.push(arc.to);
                }
            }
        }
        out.sort_unstable();
        rule.certain.borrow_mut().insert(key, out.clone());
        out
    }

    /// Whether a leaf can relate two events, as far as their kinds tell. What is known of them besides only
    /// rules out more. `way` stands for the link.
    fn may(&self, leaf: NodeId, from: Kind, to: Kind, way: u8, link: Link, back: Link) -> bool {
        let key = (leaf, from, to, way);
        if let Some(known) = self.possible.borrow().get(&key) {
            return *known;
        }
        let (from, to) = (&Event::new(from), &Event::new(to));
        let pair = Pair { from, to, link, back, near: None };
        let possible = self.facts.holds(leaf, &pair).possible();
        self.possible.borrow_mut().insert(key, possible);
        possible
    }

    /// Whether program order can be all that a leaf asks for.
    fn is_program_order(&self, leaf: NodeId) -> bool {
        let kinds = &self.facts.kinds;
        kinds
            .iter()
            .any(|a| kinds.iter().any(|b| self.may(leaf, *a, *b, 4, Link::later(), Link::thread())))
    }

    fn is_dependency(&self, leaf: NodeId) -> bool {
        matches!(*self.facts.node(leaf), Node::BaseRel(base) if DEPENDENCIES.contains(&base))
    }

    /// Whether a leaf leads only to later events of the thread, or to others of the instruction.
    fn is_forward(&mut self, leaf: NodeId) -> bool {
        if let Some(known) = self.forward.get(&leaf) {
            return *known;
        }
        let (later, back) = visible_later();
        let (apart, _) = visible_apart();
        let forward = !self.links(leaf, apart, apart) && !self.links(leaf, back, later);
        self.forward.insert(leaf, forward);
        forward
    }

    /// Whether it leads to later events only.
    fn is_strict(&mut self, leaf: NodeId) -> bool {
        let same = Link::instruction().with(&[BaseRel::SameAccess]);
        self.is_forward(leaf) && !self.links(leaf, same, same)
    }

    fn links(&self, leaf: NodeId, link: Link, back: Link) -> bool {
        let kinds = &self.facts.kinds;
        kinds.iter().any(|a| {
            kinds.iter().any(|b| {
                let (from, to) = (&Event::new(*a), &Event::new(*b));
                self.facts.holds(leaf, &Pair { from, to, link, back, near: None }).possible()
            })
        })
    }

    /// The start, and the states to which runs come back that have been in other threads.
    fn resets(&mut self, automaton: &Automaton) -> Vec<State> {
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
    fn cycles_come_round(&mut self, rule: &Rule) -> Result<(), Stuck> {
        let automaton = &rule.automaton;
        let inner = automaton.loops.iter().map(|(s, _)| *s).filter(|s| *s != automaton.start);
        let inner: Vec<State> = inner.chain(automaton.inner.iter().copied()).collect();
        let mut forbidden: Vec<State> = Vec::new();
        for state in inner {
            if forbidden.contains(&state) {
                continue;
            }
            let round = arcs_round(automaton, state, &forbidden);
            let mut strict = true;
            for (from, leaf) in &round {
                let may_stay = *from != state && !automaton.is_loop(*from);
                strict &= self.is_strict(*leaf) || may_stay && self.is_forward(*leaf);
            }
            if !strict {
                if !self.is_forbidden_round(automaton, state, &forbidden) {
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

    /// Runs that start at a private event. A run of a cycle has another event to start at, or is within
    /// private memory, where steps lead forward.
    fn starts_in_private(&mut self, rule: &Rule) -> Result<(), Stuck> {
        let automaton = &rule.automaton;
        if rule.shape == Shape::Acyclic {
            return Ok(());
        }
        for kind in [Kind::PrivateRead, Kind::PrivateWrite] {
            let hidden = Some(Hidden { kind, flowed: false });
            let run = Run {
                state: automaton.start,
                hidden,
                held: SmallVec::new(),
                debt: false,
                twice: false,
                back: false,
                passed: [Tags::NONE; 2],
            };
            let mut todo = vec![run];
            let mut seen = FxHashSet::default();
            while let Some(run) = todo.pop() {
                if !seen.insert(run.clone()) {
                    continue;
                }
                let mut next = Vec::new();
                self.step_private(rule, &run, &mut next)?;
                // Elsewhere the run would have to be taken up at another event.
                if next.iter().any(|r| r.hidden.is_none())
                    || rule.shape == Shape::Empty && !next.is_empty()
                {
                    return Err(stuck(&run));
                }
                todo.extend(next);
            }
        }
        let init = Event::new(Kind::PrivateInit);
        if rule.shape == Shape::Empty
            && automaton.arcs[usize::from(automaton.start)].iter().any(|arc| {
                Automaton::passes(&self.facts, &init, &arc.before).possible()
                    && !self.facts.is_without_private(arc.leaf)
            })
        {
            return Err(Stuck::default());
        }
        Ok(())
    }

    fn explore(&mut self, rule: &Rule) -> Result<(), Stuck> {
        let automaton = &rule.automaton;
        let kinds = self.facts.kinds.clone();
        let mut starts: Vec<(State, Event)> = Vec::new();
        for state in &rule.resets {
            starts.extend(kinds.iter().map(|k| (*state, Event::new(*k))));
        }
        for arc in automaton.arcs.iter().flatten() {
            if !self.is_forward(arc.leaf) {
                for kind in &kinds {
                    let event = Automaton::passed(&self.facts, &Event::new(*kind), &arc.after);
                    starts.extend(event.map(|e| (arc.to, e)));
                }
            }
        }
        let mut todo: Vec<Run> = Vec::new();
        for (state, event) in starts {
            let states = SmallVec::from_slice(&[state]);
            let held = Held { event, states, ctrl: Flow::No, carried: Flow::No, crossed: false };
            let held = SmallVec::from_iter([held]);
            todo.push(Run {
                state,
                hidden: None,
                held,
                debt: false,
                twice: false,
                back: false,
                passed: [Tags::NONE; 2],
            });
        }
        let mut seen = FxHashSet::default();
        let mut next = 0;
        while let Some(run) = todo.get(next).cloned() {
            next += 1;
            // The annotations are for the report alone.
            if !seen.insert(Run { passed: [Tags::NONE; 2], ..run.clone() }) {
                continue;
            }
            self.runs += 1;
            if self.runs > MOST_RUNS {
                return Err(Stuck::default());
            }
            match run.hidden {
                None => self.step_visible(rule, &run, &mut todo)?,
                Some(_) => self.step_private(rule, &run, &mut todo)?,
            }
        }
        Ok(())
    }

    /// The next steps of a run at an event that is not private.
    fn step_visible(&mut self, rule: &Rule, run: &Run, todo: &mut Vec<Run>) -> Result<(), Stuck> {
        let Some(last) = run.held.last() else { return Ok(()) };
        // Without debt the run is in any of the states of the event.
        let mut arcs: Vec<&Arc> = Vec::new();
        let states = if run.debt { std::slice::from_ref(&run.state) } else { &last.states[..] };
        let own = |s: &&State| run.debt || run.held.len() == 1 || !rule.resets.contains(s);
        for arc in states.iter().filter(own).flat_map(|s| &rule.automaton.arcs[usize::from(*s)]) {
            if !arcs.contains(&arc) {
                arcs.push(arc);
            }
        }
        let at_start = run.held.len() == 1 && last.states[..] == [rule.automaton.start];
        for arc in arcs {
            // Such a run is looked at where it is at the start.
            if arc.starts && !run.debt && !at_start {
                continue;
            }
            let Some(mut from) = Automaton::passed(&self.facts, &last.event, &arc.before) else {
                continue;
            };
            let dependency = self.is_dependency(arc.leaf);
            from.source |= dependency;
            let mut run = run.clone();
            if let Some(last) = run.held.last_mut() {
                last.event = from.clone();
            }
            // Where a run without private events can make the same step, it goes on as this one does.
            let covered = run.debt && self.makes_step(rule, &run, arc);
            if covered && (!run.back || !dependency && !self.is_forward(arc.leaf)) {
                continue;
            }
            if let Node::BaseRel(base) = *self.facts.node(arc.leaf)
                && dependency
                && (!run.debt || run.back)
            {
                self.by_private(rule, &run, arc, base, todo)?;
            }
            if !run.back {
                self.enter_private(rule, &run, arc, &from, todo)?;
            }
            if !self.is_forward(arc.leaf) {
                if run.debt && self.leads_on(arc, &from) {
                    return Err(stuck(&run));
                }
                continue;
            }
            if !run.debt && rule.resets.contains(&arc.to) {
                continue;
            }
            let (later, back) = visible_later();
            let (inside, _) = visible_instruction();
            for kind in self.facts.kinds.clone() {
                let to = Event::new(kind);
                if !self.may(arc.leaf, from.kind, kind, 0, later, back)
                    && !self.may(arc.leaf, from.kind, kind, 1, inside, inside)
                {
                    continue;
                }
                let Some(to) = Automaton::passed(&self.facts, &to, &arc.after) else { continue };
                for (link, back, ordered) in [(later, back, true), (inside, inside, false)] {
                    let pair = Pair { from: &from, to: &to, link, back, near: None };
                    if self.facts.holds(arc.leaf, &pair).possible() {
                        self.arrive(rule, &run, &to, arc.to, By::Leaf(arc.leaf, ordered), todo)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the same step can be made from a state in which the event at hand certainly can be reached.
    fn makes_step(&self, rule: &Rule, run: &Run, arc: &Arc) -> bool {
        run.held.last().is_some_and(|last| {
            let arcs = last.states.iter().flat_map(|s| &rule.automaton.arcs[usize::from(*s)]);
            let mut same = arcs.filter(|a| (a.leaf, a.to) == (arc.leaf, arc.to));
            same.any(|a| {
                Automaton::passes(&self.facts, &last.event, &a.before) == Truth::Yes
                    && a.after.iter().all(|test| arc.after.contains(test))
            })
        })
    }

    /// Whether a step that is not forward is possible at all.
    fn leads_on(&self, arc: &Arc, from: &Event) -> bool {
        let (later, back) = visible_later();
        let (apart, _) = visible_apart();
        let (inside, _) = visible_instruction();
        self.facts.kinds.iter().any(|kind| {
            let to = Event::new(*kind);
            let Some(to) = Automaton::passed(&self.facts, &to, &arc.after) else { return false };
            [(later, back), (back, later), (apart, apart), (inside, inside)].iter().any(
                |(link, back)| {
                    let (link, back) = (*link, *back);
                    let pair = Pair { from, to: &to, link, back, near: None };
                    self.facts.holds(arc.leaf, &pair).possible()
                },
            )
        })
    }

    /// Steps to private events.
    fn enter_private(
        &self,
        rule: &Rule,
        run: &Run,
        arc: &Arc,
        from: &Event,
        todo: &mut Vec<Run>,
    ) -> Result<(), Stuck> {
        use BaseRel as B;
        let crossed = run.held.iter().any(|h| h.crossed);
        for kind in [Kind::PrivateRead, Kind::PrivateWrite, Kind::PrivateInit] {
            if !self.may(arc.leaf, from.kind, kind, 3, Link::any_private(), Link::any_private()) {
                continue;
            }
            let to = Event::new(kind);
            if !Automaton::passes(&self.facts, &to, &arc.after).possible() {
                continue;
            }
            let holds = |link: Link, back: Link| {
                let pair = Pair { from, to: &to, link, back, near: None };
                self.facts.holds(arc.leaf, &pair).possible()
            };
            let earlier = holds(Link::thread(), Link::later());
            if holds(Link::apart(), Link::apart()) || kind != Kind::PrivateInit && earlier {
                return Err(stuck(run));
            }
            if kind == Kind::PrivateInit {
                continue;
            }
            let by = |by: &[BaseRel]| holds(Link::later().with(by), Link::thread());
            let mut go = |carried: Flow, ctrl: Flow| {
                let mut next = run.clone();
                next.state = arc.to;
                next.hidden = Some(Hidden { kind, flowed: false });
                for held in &mut next.held {
                    held.carried = Flow::No;
                }
                if let Some(last) = next.held.last_mut() {
                    last.carried = carried;
                    last.event.source |= carried != Flow::No || ctrl != Flow::No;
                    last.depends_by_ctrl(ctrl);
                }
                if crossed {
                    next.held.retain(|h| {
                        let depended = h.ctrl != Flow::No || h.carried != Flow::No;
                        h.crossed || !h.states.is_empty() && depended
                    });
                }
                next.held.iter_mut().for_each(|h| h.crossed = true);
                if !crossed || !self.is_looked_at(rule, &next) {
                    todo.push(next);
                }
            };
            if by(&[]) {
                go(Flow::No, Flow::No);
                continue;
            }
            let mut any = false;
            let mut also = |of: B, carried: Flow, ctrl: Flow| {
                if by(&[of]) {
                    any = true;
                    go(carried, ctrl);
                }
            };
            also(B::Ctrl, Flow::No, Flow::Data);
            also(B::PickCtrl, Flow::No, Flow::Pick);
            if kind == Kind::PrivateWrite {
                also(B::Data, Flow::Data, Flow::No);
                also(B::PickData, Flow::Pick, Flow::No);
            }
            // Several dependencies at once.
            if !any
                && by(&[B::Ctrl, B::Data])
                    | by(&[B::PickCtrl, B::PickData])
                    | by(&[B::Ctrl, B::PickData])
                    | by(&[B::PickCtrl, B::Data])
            {
                return Err(stuck(run));
            }
        }
        Ok(())
    }

    /// The next steps of a run at a private event.
    fn step_private(&mut self, rule: &Rule, run: &Run, todo: &mut Vec<Run>) -> Result<(), Stuck> {
        let Some(hidden) = run.hidden else { return Ok(()) };
        let own = Event::new(hidden.kind);
        let reads = hidden.kind == Kind::PrivateRead;
        let deps: &[BaseRel] = if reads { &DEPENDENCIES } else { &[] };
        let ends = &rule.automaton.ends[usize::from(run.state)];
        if rule.shape == Shape::Empty
            && ends.iter().any(|tests| Automaton::passes(&self.facts, &own, tests).possible())
        {
            return Err(stuck(run));
        }
        for arc in &rule.automaton.arcs[usize::from(run.state)] {
            if !Automaton::passes(&self.facts, &own, &arc.before).possible() {
                continue;
            }
            for kind in self.facts.kinds.clone() {
                let to = Event::new(kind);
                if !self.may(arc.leaf, own.kind, kind, 3, Link::any_private(), Link::any_private())
                {
                    continue;
                }
                let Some(to) = Automaton::passed(&self.facts, &to, &arc.after) else { continue };
                let holds = |link: Link, back: Link| {
                    let pair = Pair { from: &own, to: &to, link, back, near: None };
                    self.facts.holds(arc.leaf, &pair).possible()
                };
                if holds(Link::apart(), Link::apart()) || holds(Link::thread(), Link::later()) {
                    return Err(stuck(run));
                }
                if holds(Link::later(), Link::thread()) {
                    self.arrive(rule, run, &to, arc.to, By::Private(None), todo)?;
                    continue;
                }
                let mut any = false;
                for dep in deps {
                    if holds(Link::later().with(&[*dep]), Link::thread()) {
                        any = true;
                        self.arrive(rule, run, &to, arc.to, By::Private(Some(*dep)), todo)?;
                    }
                }
                let all = Link::later().with(deps);
                if !any && holds(all, Link::thread()) {
                    return Err(stuck(run));
                }
            }
            self.within_private(rule, run, arc, &own, hidden, todo)?;
        }
        Ok(())
    }

    /// Steps from private events to private events.
    fn within_private(
        &self,
        rule: &Rule,
        run: &Run,
        arc: &Arc,
        own: &Event,
        hidden: Hidden,
        todo: &mut Vec<Run>,
    ) -> Result<(), Stuck> {
        use BaseRel as B;
        let fits = |kind: Kind| {
            let to = Event::new(kind);
            Automaton::passes(&self.facts, &to, &arc.after).possible().then_some(to)
        };
        for pair in &self.pairs {
            let (first, second) = pair.ends;
            // Not against the order.
            if second == hidden.kind
                && let Some(to) = fits(first)
            {
                let (link, back) = (pair.back, pair.link);
                let pair = Pair { from: own, to: &to, link, back, near: None };
                if self.facts.holds(arc.leaf, &pair).possible() {
                    return Err(stuck(run));
                }
            }
            if first != hidden.kind {
                continue;
            }
            let Some(to) = fits(second) else { continue };
            let twice = match pair.near {
                Some(Near::Overwrites | Near::Hidden) => true,
                Some(Near::WriteAfter | Near::Changed) => hidden.flowed,
                _ => false,
            };
            if self.once && twice {
                continue;
            }
            let holds = |by: &[BaseRel]| {
                let (link, back, near) = (pair.link_by(by), pair.back, pair.near);
                self.facts
                    .holds(arc.leaf, &Pair { from: own, to: &to, link, back, near })
                    .possible()
            };
            let mut go = |by: Option<BaseRel>| {
                let mut next = run.clone();
                next.state = arc.to;
                let flowed = match pair.near {
                    Some(Near::Flow) => true,
                    Some(Near::Same) => hidden.flowed,
                    _ => false,
                };
                next.hidden = Some(Hidden { kind: second, flowed });
                next.twice |= twice;
                for held in &mut next.held {
                    let carried = held.carried;
                    match by {
                        Some(B::Ctrl) => held.depends_by_ctrl(carried),
                        Some(B::PickCtrl) if carried != Flow::No => {
                            held.depends_by_ctrl(Flow::Pick)
                        }
                        _ => {}
                    }
                    held.carried = match (pair.near, by) {
                        (Some(Near::Flow | Near::Same), _) => carried,
                        (_, Some(B::Data)) => carried,
                        (_, Some(B::PickData)) if carried != Flow::No => Flow::Pick,
                        _ => Flow::No,
                    };
                }
                if !self.is_looked_at(rule, &next) {
                    todo.push(next);
                }
            };
            if holds(&[]) {
                go(None);
                continue;
            }
            if hidden.kind != Kind::PrivateRead {
                continue;
            }
            // The address of a private access depends on no event that is not private.
            let fixed = run.held.iter().all(|h| h.carried == Flow::No);
            for by in DEPENDENCIES {
                let possible = match by {
                    B::Addr | B::PickAddr => fixed,
                    B::Data | B::PickData => second == Kind::PrivateWrite,
                    _ => true,
                };
                if possible && holds(&[by]) {
                    go(Some(by));
                }
            }
        }
        for (itself, link) in one_access().into_iter().enumerate() {
            let Some(to) = fits(hidden.kind) else { continue };
            let pair = Pair { from: own, to: &to, link, back: link, near: None };
            if !self.facts.holds(arc.leaf, &pair).possible() {
                continue;
            }
            // A cycle makes a step forward where it starts.
            let automaton = &rule.automaton;
            if automaton.is_loop(run.state) || run.state == automaton.start {
                return Err(stuck(run));
            }
            let mut next = run.clone();
            next.state = arc.to;
            let flowed = hidden.flowed && itself == 1;
            next.hidden = Some(Hidden { flowed, ..hidden });
            todo.push(next);
        }
        Ok(())
    }

    /// Whether another run comes to the same private event in the same state, directly from an event that was
    /// reached without private ones. It goes on as this one does, and has fewer private events.
    fn is_looked_at(&self, rule: &Rule, run: &Run) -> bool {
        let Some(hidden) = run.hidden else { return false };
        let own = Event::new(hidden.kind);
        run.held.iter().any(|held| {
            let (link, back) = (Link::later(), Link::thread());
            let states = self.certain(rule, &held.states, &held.event, &own, link, back, None);
            states.contains(&run.state)
        })
    }

    /// The run comes to an event that is not private. It is possible without private events if its state
    /// is one of those in which that event certainly can be reached from the events before.
    fn arrive(
        &self,
        rule: &Rule,
        run: &Run,
        to: &Event,
        state: State,
        by: By,
        todo: &mut Vec<Run>,
    ) -> Result<(), Stuck> {
        let mut run = run.clone();
        match by {
            By::Leaf(leaf, _) => {
                if let (Node::BaseRel(base), Some(last)) =
                    (self.facts.node(leaf), run.held.last_mut())
                {
                    last.depends_by_ctrl(match base {
                        BaseRel::Ctrl => Flow::Data,
                        BaseRel::PickCtrl => Flow::Pick,
                        _ => Flow::No,
                    });
                }
            }
            By::Private(Some(BaseRel::Ctrl)) | By::Instead(BaseRel::Ctrl, _) => {
                run.held.iter_mut().for_each(|h| h.depends_by_ctrl(h.carried));
            }
            By::Private(Some(BaseRel::PickCtrl)) | By::Instead(BaseRel::PickCtrl, _) => {
                let carriers = run.held.iter_mut().filter(|h| h.carried != Flow::No);
                carriers.for_each(|h| h.depends_by_ctrl(Flow::Pick));
            }
            By::Private(_) | By::Instead(..) => {}
        }
        // A dependency by choice is none where there is one without. Both cases are looked at for the latest
        // event of each sort; of others nothing is assumed.
        let mut newest = [true; 2];
        for held in run.held.iter_mut().rev() {
            for (flow, newest) in [&mut held.ctrl, &mut held.carried].into_iter().zip(&mut newest) {
                if *flow == Flow::Pick && !std::mem::replace(newest, false) {
                    *flow = Flow::No;
                }
            }
        }
        let is_pick = |f: &dyn Fn(&Held) -> Flow| run.held.iter().any(|h| f(h) == Flow::Pick);
        let choices = |pick: bool| if pick { [Flow::Pick, Flow::Data] } else { [Flow::Pick; 2] };
        let by_choice = is_pick(&|h| h.carried)
            || matches!(by.dependency(), Some(BaseRel::PickAddr | BaseRel::PickData))
                && run.held.iter().any(|h| h.carried != Flow::No);
        let mut seen: Vec<(Flow, Flow)> = Vec::new();
        for ctrl in choices(is_pick(&|h| h.ctrl)) {
            for carried in choices(by_choice) {
                if !seen.contains(&(ctrl, carried)) {
                    seen.push((ctrl, carried));
                    self.arrive_so(rule, &run, to, state, by, (ctrl, carried), todo)?;
                }
            }
        }
        Ok(())
    }

    /// The states to which a step along a leaf leads from all states of an event.
    fn same_step(&self, rule: &Rule, held: &Held, leaf: NodeId, to: &Event) -> Vec<State> {
        let arcs = held.states.iter().flat_map(|s| &rule.automaton.arcs[usize::from(*s)]);
        let same = arcs.filter(|a| {
            a.leaf == leaf
                && Automaton::passes(&self.facts, &held.event, &a.before) == Truth::Yes
                && Automaton::passes(&self.facts, to, &a.after) == Truth::Yes
        });
        same.map(|a| a.to).collect()
    }

    /// The same, where dependencies by choice are such ones, or ones without.
    #[expect(clippy::too_many_arguments, reason = "a step has this many parts")]
    fn arrive_so(
        &self,
        rule: &Rule,
        run: &Run,
        to: &Event,
        state: State,
        by: By,
        (ctrl, value): (Flow, Flow),
        todo: &mut Vec<Run>,
    ) -> Result<(), Stuck> {
        let mut next = run.clone();
        let mut states: Vec<State> = Vec::new();
        let newest = next.held.len().saturating_sub(1);
        let direct = matches!(by, By::Leaf(..)) && !run.debt;
        for (i, held) in next.held.iter_mut().enumerate() {
            if held.ctrl == Flow::Pick {
                held.ctrl = ctrl;
            }
            let (link, back) = visible_later();
            let mut facts: SmallVec<[BaseRel; 2]> = SmallVec::new();
            match held.ctrl {
                Flow::Data => facts.push(BaseRel::Ctrl),
                Flow::Pick => facts.push(BaseRel::PickCtrl),
                Flow::No => {}
            }
            if let Some(dep) = by.dependency()
                && held.carried != Flow::No
            {
                facts.push(combined(dep, held.carried, value));
            }
            let from = &held.event;
            let ordered = match by {
                By::Leaf(leaf, ordered) => {
                    if i == newest && (run.debt || self.is_dependency(leaf)) {
                        states.extend(self.same_step(rule, held, leaf, to));
                    }
                    ordered || held.crossed
                }
                By::Private(_) | By::Instead(..) => true,
            };
            if ordered && !direct {
                let link = link.with(&facts);
                states.extend(self.certain(rule, &held.states, from, to, link, back, None));
            }
        }
        if direct {
            states.push(state);
        }
        for state in states.clone() {
            let free = rule.automaton.free[usize::from(state)].iter();
            let free =
                free.filter(|(tests, _)| Automaton::passes(&self.facts, to, tests) == Truth::Yes);
            states.extend(free.map(|(_, s)| *s));
        }
        states.sort_unstable();
        states.dedup();
        if let By::Instead(_, leaf) = by
            && let Some(last) = run.held.iter().rev().nth(1)
            && self.same_step(rule, last, leaf, to).iter().all(|s| states.contains(s))
        {
            return Ok(());
        }
        let kept = states.contains(&state);
        let behind = usize::from(run.held.iter().any(|h| h.crossed));
        for set in &to.known {
            next.passed[behind] = next.passed[behind] | self.facts.annotations(*set);
        }
        next.debt = !kept;
        next.state = if kept { rule.automaton.start } else { state };
        next.hidden = None;
        for held in &mut next.held {
            held.carried = Flow::No;
        }
        // What a step in program order goes on to, the event before goes on to as well; from other events of
        // a run without private ones nothing is needed but where it began.
        if let By::Leaf(leaf, ordered) = by
            && direct
            && newest > 0
            && !(ordered && self.is_program_order(leaf))
            && next.held[newest].ctrl == Flow::No
            && (run.back || !next.held[newest].crossed)
        {
            next.held.remove(newest);
        }
        forget(&mut next.held, run.back, kept);
        next.held.push(Held {
            event: to.clone(),
            states: states.into_iter().collect(),
            ctrl: Flow::No,
            carried: Flow::No,
            crossed: false,
        });
        let ends = !rule.automaton.ends[usize::from(state)].is_empty();
        if !kept && ends && rule.shape != Shape::Acyclic {
            return Err(stuck(&next));
        }
        // Another run comes here without private events. From where a closure starts again, runs are looked
        // at by themselves.
        let private = !run.back && next.held.iter().any(|h| h.crossed);
        if !kept || !private && !rule.resets.contains(&state) {
            todo.push(next);
        }
        Ok(())
    }
}

impl By {
    fn dependency(self) -> Option<BaseRel> {
        match self {
            By::Private(dep) => dep,
            By::Instead(dep, _) => Some(dep),
            By::Leaf(..) => None,
        }
    }
}

impl Held {
    fn depends_by_ctrl(&mut self, flow: Flow) {
        if flow != Flow::No {
            self.event.source = true;
        }
        self.ctrl = match (self.ctrl, flow) {
            (Flow::Data, _) | (_, Flow::Data) => Flow::Data,
            (Flow::Pick, _) | (_, Flow::Pick) => Flow::Pick,
            _ => Flow::No,
        };
    }
}

/// How an event depends on one whose value it gets through private memory. `value` says what a dependency
/// with a choice on its way is.
fn combined(dep: BaseRel, carried: Flow, value: Flow) -> BaseRel {
    let (plain, pick) = both_sorts(dep);
    let chosen = carried == Flow::Pick || dep == pick;
    if chosen && value == Flow::Pick { pick } else { plain }
}

/// Forgets events from which nothing follows, or nothing that does not follow from earlier ones, and those
/// behind the first private event on which nothing depends.
fn forget(held: &mut SmallVec<[Held; 4]>, back: bool, kept: bool) {
    let crossed = !back && held.iter().any(|h| h.crossed);
    held.retain(|h| !h.states.is_empty() && (!crossed || h.crossed || h.ctrl != Flow::No));
    let mut i = 0;
    while i < held.len() {
        let (event, states, ctrl) = (&held[i].event, &held[i].states, held[i].ctrl);
        let more = |h: &Held| {
            (&h.event, h.ctrl) == (event, ctrl) && states.iter().all(|s| h.states.contains(s))
        };
        if held[..i].iter().any(more) {
            held.remove(i);
        } else {
            i += 1;
        }
    }
    let most = if crossed || !kept { MOST_HELD } else { MOST_BEFORE };
    while held.len() >= most {
        let free = held.iter().skip(1).position(|h| h.ctrl == Flow::No);
        if free.is_none() && held.len() < MOST_HELD {
            break;
        }
        held.remove(1 + free.unwrap_or(0));
    }
}

/// A dependency without a choice on its way, and with one.
fn both_sorts(dep: BaseRel) -> (BaseRel, BaseRel) {
    use BaseRel as B;
    match dep {
        B::Addr | B::PickAddr => (B::Addr, B::PickAddr),
        B::Data | B::PickData => (B::Data, B::PickData),
        _ => (B::Ctrl, B::PickCtrl),
    }
}

fn stuck(run: &Run) -> Stuck {
    // Those behind private events first.
    let [before, behind] = run.passed;
    let annotations = if behind == Tags::NONE { before } else { behind };
    Stuck { annotations, twice: run.twice }
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

/// The events of private memory that executions can do without under a model, if it is shown that the model cannot
/// tell.
pub fn left_out(plan: &Plan, arch: Arch) -> Option<Private> {
    if !keeps_private_order(plan, arch) {
        return None;
    }
    let (mut unless, mut once) = (Tags::NONE, false);
    loop {
        let Err(stuck) = Derivation::new(plan, arch, unless, once).all_checks() else {
            return Some(Private::LeftOut { unless, once, addressed: false });
        };
        if stuck.twice && !once {
            once = true;
        } else if stuck.annotations.without(unless) != Tags::NONE {
            unless = unless | stuck.annotations;
        } else {
            return None;
        }
    }
}

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
fn keeps_private_order(plan: &Plan, arch: Arch) -> bool {
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
