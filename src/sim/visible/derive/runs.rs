//! Runs of a check's automaton through the events of one thread: those that pass private events, and those
//! that go without them. How a check comes to be asked about runs is the business of the module above.

use super::{Derivation, Rule, Step, Stuck};
use crate::visible::automaton::{Arc, Automaton, State};
use crate::visible::facts::{
    DEPENDENCIES, Event, Kind, Link, Near, Pair, Truth, at_one_place, one_access, visible_apart,
    visible_instruction, visible_later,
};
use litmake_cat::plan::{BaseRel, Node, NodeId, Shape};
use litmake_ops::Tags;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BTreeSet;

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
    /// Whether it has passed an access whose address depends on a read.
    addressed: bool,
    /// Whether it has passed a private read since.
    behind_address: bool,
    /// Whether it is one without private events, which has to be possible with them.
    back: bool,
    /// The steps in program order that the events before can make to whatever follows.
    open: Steps,
    /// Those that events of the instruction at hand can make to whatever follows it.
    inside: Steps,
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

/// Of the steps in program order of a rule ([`Rule::steps`]), those that can be made: a bit each.
type Steps = u128;

/// Most events that a run remembers.
const MOST_HELD: usize = 6;

impl Derivation<'_> {
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
        if self.addressed && run.addressed {
            return Ok(());
        }
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
                    run.behind_address |= run.addressed;
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

    /// Runs that start at a private event. A run of a cycle has another event to start at, or is within
    /// private memory, where steps lead forward.
    pub(super) fn starts_in_private(&mut self, rule: &Rule) -> Result<(), Stuck> {
        let automaton = &rule.automaton;
        if rule.shape == Shape::Acyclic {
            return Ok(());
        }
        for kind in [Kind::PrivateRead, Kind::PrivateWrite] {
            let hidden = Some(Hidden { kind, flowed: false });
            let mut todo = vec![Run::begun(automaton.start, hidden, SmallVec::new())];
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

    pub(super) fn explore(&mut self, rule: &Rule) -> Result<(), Stuck> {
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
            let mut states = vec![state];
            self.add_free(rule, &event, &mut states);
            let states = states.into_iter().collect();
            let held = Held { event, states, ctrl: Flow::No, carried: Flow::No, crossed: false };
            todo.push(Run::begun(state, None, SmallVec::from_iter([held])));
        }
        // Those that remember little come first: they stand for many.
        let weight = |run: &Run| {
            run.held.iter().fold((run.held.len(), 0), |(n, w), h| (n, w + h.states.len()))
        };
        let mut waiting: BTreeSet<((usize, usize), usize)> = BTreeSet::new();
        let mut seen: FxHashMap<Run, Vec<Run>> = FxHashMap::default();
        let mut listed = 0;
        loop {
            waiting.extend((listed..todo.len()).map(|i| (weight(&todo[i]), i)));
            listed = todo.len();
            let Some((_, next)) = waiting.pop_first() else { return Ok(()) };
            let run = todo[next].clone();
            let alike = seen.entry(run.outline(self.addressed)).or_default();
            if alike.iter().any(|known| known.stands_for(&run)) {
                continue;
            }
            alike.retain(|known| !run.stands_for(known));
            alike.push(run.clone());
            self.runs += 1;
            if self.runs > self.most {
                return Err(Stuck::default());
            }
            match run.hidden {
                None => self.step_visible(rule, &run, &mut todo)?,
                Some(_) => self.step_private(rule, &run, &mut todo)?,
            }
        }
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
            if let Some(base) = self.dependency(arc.leaf)
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
            let behind_address = run.addressed && kind == Kind::PrivateRead;
            let to = Event::new(kind);
            if behind_address && self.addressed
                || !Automaton::passes(&self.facts, &to, &arc.after).possible()
            {
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
                next.behind_address |= behind_address;
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
                        h.crossed || !h.states.is_empty() && (depended || run.debt)
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
            let behind_address = run.addressed && second == Kind::PrivateRead;
            if self.once && twice || self.addressed && behind_address {
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
                next.behind_address |= behind_address;
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
        self.at_private(rule, run, arc, own, hidden, todo)
    }

    /// Steps from a private event to itself.
    fn at_private(
        &self,
        rule: &Rule,
        run: &Run,
        arc: &Arc,
        own: &Event,
        hidden: Hidden,
        todo: &mut Vec<Run>,
    ) -> Result<(), Stuck> {
        let to = Event::new(hidden.kind);
        if !Automaton::passes(&self.facts, &to, &arc.after).possible() {
            return Ok(());
        }
        for (itself, link) in one_access().into_iter().enumerate() {
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

    /// The steps in program order that an event can make.
    fn leaving(&self, rule: &Rule, held: &Held) -> Steps {
        let arcs = held.states.iter().flat_map(|s| &rule.automaton.arcs[usize::from(*s)]);
        let made = arcs.filter(|arc| {
            self.facts.is_program_order(arc.leaf)
                && Automaton::passes(&self.facts, &held.event, &arc.before) == Truth::Yes
        });
        made.fold(0, |sum, arc| {
            let same = |step: &Step| (&step.after, step.to) == (&arc.after, arc.to);
            rule.steps.iter().position(same).map_or(sum, |number| sum | 1 << number)
        })
    }

    /// Adds the states of closures that an event is in, too.
    fn add_free(&self, rule: &Rule, at: &Event, states: &mut Vec<State>) {
        for state in states.clone() {
            let free = rule.automaton.free[usize::from(state)].iter();
            let free =
                free.filter(|(tests, _)| Automaton::passes(&self.facts, at, tests) == Truth::Yes);
            states.extend(free.map(|(_, s)| *s));
        }
        states.sort_unstable();
        states.dedup();
    }

    /// The states to which steps in program order lead at an event.
    fn by_steps(&self, rule: &Rule, open: Steps, to: &Event) -> Vec<State> {
        let steps = rule.steps.iter().enumerate().filter(|(number, _)| open >> number & 1 == 1);
        let fit = steps.filter(|(_, s)| Automaton::passes(&self.facts, to, &s.after) == Truth::Yes);
        fit.map(|(_, step)| step.to).collect()
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
                    if i == newest {
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
        let ordered = !matches!(by, By::Leaf(_, false));
        if let Some(last) = next.held.last() {
            let leaving = self.leaving(rule, last);
            if ordered {
                next.open |= next.inside | leaving;
                next.inside = 0;
            } else {
                next.inside |= leaving;
            }
        }
        if direct {
            states.push(state);
        }
        if !direct {
            states.extend(self.by_steps(rule, next.open, to));
        }
        self.add_free(rule, to, &mut states);
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
        let addr = [Some(BaseRel::Addr), Some(BaseRel::PickAddr)];
        next.addressed |= match by {
            By::Leaf(leaf, _) => addr.contains(&self.dependency(leaf)),
            By::Private(_) | By::Instead(..) => addr.contains(&by.dependency()),
        };
        next.debt = !kept;
        next.state = if kept { rule.automaton.start } else { state };
        next.hidden = None;
        for held in &mut next.held {
            held.carried = Flow::No;
        }
        forget(&mut next.held);
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

impl Run {
    /// One that has made no step yet.
    fn begun(state: State, hidden: Option<Hidden>, held: SmallVec<[Held; 4]>) -> Run {
        Run {
            state,
            hidden,
            held,
            debt: false,
            twice: false,
            addressed: false,
            behind_address: false,
            back: false,
            open: 0,
            inside: 0,
            passed: [Tags::NONE; 2],
        }
    }

    /// What two runs have to have in common if one is to stand for the other. Much is for the report alone; whether an address was
    /// passed counts where that is an exception.
    fn outline(&self, addressed: bool) -> Run {
        Run {
            held: SmallVec::new(),
            open: 0,
            inside: 0,
            twice: false,
            addressed: self.addressed && addressed,
            behind_address: false,
            passed: [Tags::NONE; 2],
            ..self.clone()
        }
    }

    /// Whether this run, which has the same outline, remembers nothing that the other does not: what may follow the other
    /// may follow this one.
    fn stands_for(&self, other: &Run) -> bool {
        // Such a run makes the steps of all states of the event at hand, and of one at its beginning more.
        let from_states = self.hidden.is_none() && !self.debt;
        if from_states && (self.held.len() == 1) != (other.held.len() == 1) {
            return false;
        }
        let less = |a: &Held, b: &Held| {
            (&a.event, a.ctrl, a.carried, a.crossed) == (&b.event, b.ctrl, b.carried, b.crossed)
                && a.states.iter().all(|s| b.states.contains(s))
        };
        if let (None, Some(own), Some(last)) = (self.hidden, self.held.last(), other.held.last())
            && !(less(own, last) && (!from_states || own.states == last.states))
        {
            return false;
        }
        let mut rest = other.held.iter();
        self.open & !other.open == 0
            && self.inside & !other.inside == 0
            && self.held.iter().all(|own| rest.any(|held| less(own, held)))
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

/// Forgets events from which nothing follows but by their steps in program order.
fn forget(held: &mut SmallVec<[Held; 4]>) {
    let mut first = true;
    held.retain(|h| std::mem::take(&mut first) || !h.states.is_empty() && h.ctrl != Flow::No);
    let mut i = 1;
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
    while held.len() >= MOST_HELD {
        held.remove(1);
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
    Stuck { annotations, twice: run.twice, addressed: run.behind_address }
}
