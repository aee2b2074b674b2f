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
//! alone. To remember less is safe, since then less is certain; so a run stands for all that remember more. Of the steps along
//! program order it is remembered only which can still be made: whatever follows makes them.
//!
//! *Cycles.* A run that stands in for a cycle does not pass the start of the automaton where the cycle did so at private
//! events only. It is a cycle all the same: whatever else comes round in the automaton leads forward in program order at
//! each turn, so that it does not come round in an execution, or is by itself a cycle of a relation that has to be
//! acyclic ([`Derivation::cycles_come_round`]). Within private memory steps lead forward, so there is no cycle.
//!
//! *Exceptions.* If the argument fails, it is tried again for threads without the annotations of the events that
//! the failing run passed, and for places that are written once.

mod order;
mod rounds;
mod runs;

use super::Excepted;
use super::automaton::{Automaton, State, Tests};
use super::facts::{
    DEPENDENCIES, Event, Facts, Kind, Link, Near, Pair, PrivatePair, Truth, private_pairs,
    visible_apart, visible_later,
};
use litmake_cat::plan::{BaseRel, Node, NodeId, Plan, Shape};
use litmake_litmus::Arch;
use litmake_ops::Tags;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

pub use order::forbids_early_reads;
use order::keeps_private_order;

/// Why it is not shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stuck {
    /// The annotations of the events that the order in question goes through.
    pub annotations: Tags,
    /// It goes through a place that is written more than once.
    pub twice: bool,
    /// It goes through a private read after an access whose address depends on a read.
    pub addressed: bool,
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
    /// The steps along program order.
    steps: Vec<Step>,
}

/// Where a step along program order leads, and the tests that the event there has to pass.
#[derive(PartialEq)]
struct Step {
    after: Tests,
    to: State,
}

pub struct Derivation<'p> {
    pub facts: Facts<'p>,
    once: bool,
    addressed: bool,
    pairs: Vec<PrivatePair>,
    forward: FxHashMap<NodeId, bool>,
    /// Whether a leaf can relate events of two kinds, in one of the ways in which they can be linked.
    possible: RefCell<FxHashMap<(NodeId, Kind, Kind, u8), bool>>,
    runs: usize,
    /// Most runs that are looked at.
    most: usize,
}

impl<'p> Derivation<'p> {
    pub fn new(plan: &'p Plan, arch: Arch, excepted: Excepted, most: usize) -> Derivation<'p> {
        let Excepted { unless, once, addressed } = excepted;
        Derivation {
            facts: Facts::new(plan, arch, unless),
            once,
            addressed,
            pairs: private_pairs(),
            forward: FxHashMap::default(),
            possible: RefCell::default(),
            runs: 0,
            most,
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
        let mut steps: Vec<Step> = Vec::new();
        for arc in automaton.arcs.iter().flatten() {
            let step = Step { after: arc.after.clone(), to: arc.to };
            if self.facts.is_program_order(arc.leaf) && !steps.contains(&step) {
                steps.push(step);
            }
        }
        // A run forgets the steps that do not fit.
        steps.truncate(u128::BITS as usize);
        let rule = Rule { automaton, shape, resets, certain: RefCell::default(), steps };
        self.steps_are_kept(&rule)?;
        if around {
            self.cycles_come_round(node)?;
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
                if self.dependency(arc.leaf).is_none() && !self.facts.is_exact(arc.leaf) {
                    return Err(Stuck::default());
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

    /// The dependency that a leaf is, in any case or between instructions.
    fn dependency(&self, leaf: NodeId) -> Option<BaseRel> {
        let base = |node| match *self.facts.node(node) {
            Node::BaseRel(base) => Some(base),
            _ => None,
        };
        let whole = match *self.facts.node(leaf) {
            Node::Diff(a, b) if base(b) == Some(BaseRel::SameInstance) => a,
            _ => leaf,
        };
        base(whole).filter(|base| DEPENDENCIES.contains(base))
    }

    fn is_dependency(&self, leaf: NodeId) -> bool {
        self.dependency(leaf).is_some()
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
}

/// Most runs that a process looks at.
pub const MOST_RUNS: usize = 1_000;

/// The events of private memory that executions can do without under a model, if that is shown within so many runs for each
/// set of exceptions. The first set is given.
pub fn left_out(plan: &Plan, arch: Arch, first: Excepted, most: usize) -> Option<Excepted> {
    if !keeps_private_order(plan, arch) {
        return None;
    }
    let mut excepted = first;
    loop {
        let Err(stuck) = Derivation::new(plan, arch, excepted, most).all_checks() else {
            return Some(excepted);
        };
        if stuck.twice && !excepted.once {
            excepted.once = true;
        } else if stuck.annotations.without(excepted.unless) != Tags::NONE {
            excepted.unless = excepted.unless | stuck.annotations;
        } else if stuck.addressed && !excepted.addressed {
            excepted.addressed = true;
        } else {
            return None;
        }
    }
}
