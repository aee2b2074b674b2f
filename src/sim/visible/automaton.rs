//! A relation of a plan as an automaton: the ways through the relation are the runs from its start to its
//! end. It does not know what is left out.
//!
//! Unions, sequences and closures become states. A step of a run is along a *leaf*: a relation that
//! is looked at as a whole.

use super::facts::{Event, Facts, Truth};
use litmake_cat::plan::{BaseRel, Node, NodeId};
use smallvec::SmallVec;

pub type State = u16;

/// Whether an event has to be in a set, or outside of it.
pub type Test = (NodeId, bool);
pub type Tests = SmallVec<[Test; 2]>;

/// A step: the event before it passes tests, the leaf relates it to the event after it, and that one
/// passes tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arc {
    pub before: Tests,
    pub leaf: NodeId,
    pub after: Tests,
    pub to: State,
    /// Whether the run is at the start of the automaton before the step.
    pub starts: bool,
}

/// An edge while states are made.
#[derive(Clone)]
enum Edge {
    Free(Option<Test>, State),
    Leaf(NodeId, State),
}

impl Edge {
    fn to(&self) -> State {
        match *self {
            Edge::Free(_, to) | Edge::Leaf(_, to) => to,
        }
    }
}

pub struct Automaton {
    pub arcs: Vec<Vec<Arc>>,
    /// For each state, the tests after which a run may end there.
    pub ends: Vec<Vec<Tests>>,
    pub start: State,
    /// The states to which the body of a closure comes back, and the bodies. For a relation that must be
    /// acyclic, the start is one of them.
    pub loops: Vec<(State, NodeId)>,
    /// The states inside recursive definitions.
    pub inner: Vec<State>,
    /// For each state, the states of closures that it is as good as after tests.
    pub free: Vec<Vec<(Tests, State)>>,
    /// All edges, of an automaton whose states are not merged.
    edges: Vec<Vec<Edge>>,
}

/// Most states of an automaton.
const MOST: usize = 2000;

struct Builder<'f, 'p> {
    facts: &'f Facts<'p>,
    edges: Vec<Vec<Edge>>,
    loops: Vec<(State, NodeId)>,
    /// The states inside recursive definitions.
    inner: Vec<State>,
}

/// The relation is not one of which an automaton is made.
pub struct Irregular;

impl Automaton {
    /// With `around`, of the relation's closure.
    pub fn new(facts: &Facts, rel: NodeId, around: bool) -> Result<Automaton, Irregular> {
        let mut automaton = Automaton::unmerged(facts, rel, around)?;
        automaton.edges = Vec::new();
        automaton.merge();
        Ok(automaton)
    }

    /// The same, with more states.
    pub fn unmerged(facts: &Facts, rel: NodeId, around: bool) -> Result<Automaton, Irregular> {
        let mut builder =
            Builder { facts, edges: vec![Vec::new()], loops: Vec::new(), inner: Vec::new() };
        let start = 0;
        let end = if around { start } else { builder.state() };
        if around {
            builder.loops.push((start, rel));
        }
        builder.build(rel, start, end)?;
        Ok(builder.finish(start, end))
    }

    /// Whether an event passes tests.
    pub fn passes(facts: &Facts, e: &Event, tests: &[Test]) -> Truth {
        tests.iter().fold(Truth::Yes, |sum, (set, inside)| {
            let truth = facts.contains(*set, e);
            match (sum, if *inside { truth } else { truth.not() }) {
                (Truth::No, _) | (_, Truth::No) => Truth::No,
                (Truth::Yes, Truth::Yes) => Truth::Yes,
                _ => Truth::Open,
            }
        })
    }

    /// The event, with what follows from its passing tests; `None` if it does not pass them.
    pub fn passed(facts: &Facts, e: &Event, tests: &[Test]) -> Option<Event> {
        let mut e = e.clone();
        for (set, inside) in tests {
            e = facts.learn(&e, *set, *inside)?;
        }
        Some(e)
    }

    pub fn is_loop(&self, state: State) -> bool {
        self.loops.iter().any(|(l, _)| *l == state)
    }

    /// The leaves on ways from a state back to it that pass neither the start nor the states `without`, of an automaton whose
    /// states are not merged; and whether there is no leaf between one and the state, or a closure.
    pub fn leaves_round(&self, state: State, without: &[State]) -> Vec<(NodeId, bool)> {
        let inside = |from: State| {
            let edges = self.edges[usize::from(from)].iter();
            edges.filter(|e| e.to() != self.start && !without.contains(&e.to()))
        };
        let reached = |from: &[State], free: bool| {
            let mut seen = vec![false; self.edges.len()];
            let mut todo = from.to_vec();
            while let Some(s) = todo.pop() {
                if !std::mem::replace(&mut seen[usize::from(s)], true) {
                    let next = inside(s).filter(|e| !free || matches!(e, Edge::Free(..)));
                    todo.extend(next.map(Edge::to));
                }
            }
            seen
        };
        let away = reached(&[state], false);
        let comes_home = |s: State| reached(&[s], false)[usize::from(state)];
        let round: Vec<State> =
            (0..away.len() as State).filter(|s| away[usize::from(*s)] && comes_home(*s)).collect();
        let closed = round.iter().copied().filter(|s| *s == state || self.is_loop(*s));
        let first = reached(&closed.collect::<Vec<_>>(), true);
        let mut out = Vec::new();
        for from in &round {
            for edge in inside(*from) {
                if let Edge::Leaf(leaf, to) = *edge
                    && round.contains(&to)
                {
                    out.push((leaf, first[usize::from(*from)]));
                }
            }
        }
        out
    }
}

impl Builder<'_, '_> {
    fn state(&mut self) -> State {
        self.edges.push(Vec::new());
        (self.edges.len() - 1) as State
    }

    fn free(&mut self, from: State, test: Option<Test>, to: State) {
        if from != to || test.is_some() {
            self.edges[usize::from(from)].push(Edge::Free(test, to));
        }
    }

    fn build(&mut self, rel: NodeId, start: State, end: State) -> Result<(), Irregular> {
        if self.edges.len() > MOST {
            return Err(Irregular);
        }
        match *self.facts.node(rel) {
            Node::EmptyRel => {}
            Node::BaseRel(BaseRel::Id) => self.free(start, None, end),
            Node::IdentityOn(s) => self.free(start, Some((s, true)), end),
            Node::Union(a, b) => {
                self.build(a, start, end)?;
                self.build(b, start, end)?;
            }
            Node::Seq(a, b) if !self.facts.is_from_reads(rel) => {
                let middle = self.state();
                self.build(a, start, middle)?;
                self.build(b, middle, end)?;
            }
            Node::RestrictDomain(r, s) => self.tested(r, start, Some((s, true)), None, end)?,
            Node::RestrictRange(r, s) => self.tested(r, start, None, Some((s, true)), end)?,
            // A closure inside a closure of more adds nothing.
            Node::Plus(a) if start == end => self.build(a, start, end)?,
            Node::Plus(a) => {
                let (first, again) = (self.state(), self.state());
                self.free(start, None, first);
                self.build(a, first, again)?;
                self.free(again, None, first);
                self.free(again, None, end);
                self.loops.push((again, a));
            }
            // One of another form is looked at as a whole.
            Node::Fix(group, var) => {
                if self.definition(group, var, start, end).is_err() {
                    self.leaf(rel, start, end);
                }
            }
            Node::Diff(a, b) if !self.is_simple(a) => match *self.facts.node(b) {
                // Outside of a product is: outside of its first set, or of its second one.
                Node::Cross(s, t) => {
                    self.tested(a, start, Some((s, false)), None, end)?;
                    self.tested(a, start, None, Some((t, false)), end)?;
                }
                // A way through other events does not come back to the instruction from where it started, if
                // its steps are in program order. Others are taken as they are.
                Node::BaseRel(BaseRel::SameInstance | BaseRel::SameInstr) => {
                    self.build(a, start, end)?;
                }
                _ => self.leaf(rel, start, end),
            },
            Node::FixVar(..) => return Err(Irregular),
            _ => self.leaf(rel, start, end),
        }
        Ok(())
    }

    fn leaf(&mut self, rel: NodeId, start: State, end: State) {
        self.edges[usize::from(start)].push(Edge::Leaf(rel, end));
    }

    fn tested(
        &mut self,
        rel: NodeId,
        start: State,
        before: Option<Test>,
        after: Option<Test>,
        end: State,
    ) -> Result<(), Irregular> {
        let mut first = start;
        if before.is_some() {
            first = self.state();
            self.free(start, before, first);
        }
        let mut last = end;
        if after.is_some() {
            last = self.state();
            self.free(last, after, end);
        }
        self.build(rel, first, last)
    }

    /// Whether a relation is made of base relations without sequences and closures.
    fn is_simple(&self, rel: NodeId) -> bool {
        match self.facts.node(rel) {
            Node::Seq(..) => self.facts.is_from_reads(rel),
            Node::Plus(_) | Node::Fix(..) | Node::FixVar(..) => false,
            Node::Diff(a, _) => self.is_simple(*a),
            Node::Domain(_) | Node::Range(_) => true,
            node => node.operands().all(|o| self.facts.is_set(o) || self.is_simple(o)),
        }
    }

    /// A recursive definition of relations by unions and sequences of its variables. Give each variable
    /// a source port and a target port, and join the ports that its sequences join. Then each
    /// value is a set of ways from port to port. All such ways are in the value of the variable, if there is one
    /// variable for each two ports, and its definition has all sequences and all inclusions that fit.
    fn definition(
        &mut self,
        group: u32,
        var: u32,
        start: State,
        end: State,
    ) -> Result<(), Irregular> {
        let plan = self.facts.plan;
        let bodies = &plan.groups[group as usize];
        if bodies.iterated || bodies.is_set.iter().any(|s| *s) {
            return Err(Irregular);
        }
        let number = |id: NodeId| match *self.facts.node(id) {
            Node::FixVar(g, i) if g == group => Some(i as usize),
            _ => None,
        };
        let (mut base, mut same, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        for (a, body) in bodies.bodies.iter().enumerate() {
            let mut todo = vec![*body];
            while let Some(id) = todo.pop() {
                match *self.facts.node(id) {
                    Node::Union(x, y) => todo.extend([x, y]),
                    Node::FixVar(g, i) if g == group => same.push((a, i as usize)),
                    Node::Seq(x, y) => match (number(x), number(y)) {
                        (Some(b), Some(c)) => joined.push((a, b, c)),
                        _ => base.push((a, id)),
                    },
                    _ => base.push((a, id)),
                }
            }
        }
        let n = bodies.bodies.len();
        // Port 2i is the source of variable i, and 2i+1 its target.
        let mut port: Vec<usize> = (0..2 * n).collect();
        let mut join = |x: usize, y: usize| {
            let (a, b) = (port[x], port[y]);
            port.iter_mut().filter(|p| **p == b).for_each(|p| *p = a);
        };
        for (a, b, c) in &joined {
            join(2 * a, 2 * b);
            join(2 * b + 1, 2 * c);
            join(2 * a + 1, 2 * c + 1);
        }
        let ends: Vec<(usize, usize)> = (0..n).map(|i| (port[2 * i], port[2 * i + 1])).collect();
        let between = |from: usize, to: usize| ends.iter().position(|e| *e == (from, to));
        let mut ports: Vec<usize> = port.clone();
        ports.sort_unstable();
        ports.dedup();
        for from in &ports {
            for to in &ports {
                let Some(a) = between(*from, *to) else { return Err(Irregular) };
                for middle in &ports {
                    let parts = between(*from, *middle).zip(between(*middle, *to));
                    if !parts.is_some_and(|(b, c)| joined.contains(&(a, b, c))) {
                        return Err(Irregular);
                    }
                }
            }
        }
        if ends.len() != ports.len() * ports.len() {
            return Err(Irregular);
        }
        // An inclusion is a step without an event, from port to port.
        let mut free: Vec<(usize, usize)> = Vec::new();
        for (a, d) in &same {
            free.extend([(ends[*a].0, ends[*d].0), (ends[*d].1, ends[*a].1)]);
        }
        free.retain(|(x, y)| x != y);
        for (x, y) in &free {
            for other in &ports {
                let at_start = between(*x, *other).zip(between(*y, *other));
                let at_end = between(*other, *y).zip(between(*other, *x));
                for pair in [at_start, at_end].into_iter().flatten() {
                    if pair.0 != pair.1 && !same.contains(&pair) {
                        return Err(Irregular);
                    }
                }
            }
        }
        // Before the first step, and after it: a way of no steps is none.
        let at = |p: usize| ports.iter().position(|q| *q == p).unwrap_or(0);
        let early: Vec<State> = ports.iter().map(|_| self.state()).collect();
        let late: Vec<State> = ports.iter().map(|_| self.state()).collect();
        for (x, y) in free {
            self.free(early[at(x)], None, early[at(y)]);
            self.free(late[at(x)], None, late[at(y)]);
        }
        for (a, rel) in base {
            let (from, to) = (at(ends[a].0), at(ends[a].1));
            let first = self.state();
            self.free(early[from], None, first);
            self.free(late[from], None, first);
            self.build(rel, first, late[to])?;
        }
        let (from, to) = ends[var as usize];
        self.free(start, None, early[at(from)]);
        self.free(late[at(to)], None, end);
        self.inner.extend(&late);
        Ok(())
    }

    fn finish(self, start: State, end: State) -> Automaton {
        // Whatever follows a step without a choice belongs to the step.
        let settle = |mut state: State, after: &mut Tests| {
            while state != end
                && !self.loops.iter().any(|(l, _)| *l == state)
                && !self.inner.contains(&state)
                && let [Edge::Free(test, to)] = self.edges[usize::from(state)][..]
            {
                after.extend(test);
                state = to;
            }
            state
        };
        let n = self.edges.len();
        let mut out = Automaton {
            arcs: vec![Vec::new(); n],
            ends: vec![Vec::new(); n],
            start,
            loops: self.loops.clone(),
            inner: self.inner.clone(),
            free: vec![Vec::new(); n],
            edges: self.edges.clone(),
        };
        let mut todo = vec![start];
        let mut seen = vec![false; n];
        while let Some(from) = todo.pop() {
            if std::mem::replace(&mut seen[usize::from(from)], true) {
                continue;
            }
            // Every way along free edges, with its tests.
            let mut ways: Vec<(State, Tests, bool)> = vec![(from, Tests::new(), false)];
            let mut next = 0;
            while let Some((at, tests, mut starts)) = ways.get(next).cloned() {
                next += 1;
                starts |= at == start;
                if at != from && (at == start || self.loops.iter().any(|(l, _)| *l == at)) {
                    out.free[usize::from(from)].push((tests.clone(), at));
                }
                if at == end {
                    out.ends[usize::from(from)].push(tests.clone());
                }
                for edge in &self.edges[usize::from(at)] {
                    match *edge {
                        Edge::Free(test, to) => {
                            let mut tests = tests.clone();
                            if let Some(test) = test
                                && !tests.contains(&test)
                            {
                                tests.push(test);
                                tests.sort_unstable();
                            }
                            let way = (to, tests, starts);
                            if !ways.contains(&way) {
                                ways.push(way);
                            }
                        }
                        Edge::Leaf(leaf, to) => {
                            let mut after = Tests::new();
                            let to = settle(to, &mut after);
                            let arc = Arc { before: tests.clone(), leaf, after, to, starts };
                            if !out.arcs[usize::from(from)].contains(&arc) {
                                out.arcs[usize::from(from)].push(arc);
                            }
                            todo.push(to);
                        }
                    }
                }
            }
        }
        out
    }
}

impl Automaton {
    /// Merges states from which the same ways go on, and states to which the same ways lead, until there are
    /// none.
    fn merge(&mut self) {
        loop {
            let before = self.arcs.iter().filter(|a| !a.is_empty()).count();
            let ahead = self.classes(true);
            self.join(&ahead);
            let behind = self.classes(false);
            self.join(&behind);
            if self.arcs.iter().filter(|a| !a.is_empty()).count() == before {
                return;
            }
        }
    }

    /// The coarsest classes of states with equal arcs from classes to classes: those that leave a state, or
    /// those that lead to it.
    fn classes(&self, leaving: bool) -> Vec<usize> {
        type Signature<'a> = (usize, Vec<(usize, bool, &'a Tests, NodeId, &'a Tests)>);
        let n = self.arcs.len();
        let kept = |s: usize| {
            let state = s as State;
            let end = if leaving { self.ends[s].clone() } else { Vec::new() };
            (state == self.start, self.is_loop(state), self.inner.contains(&state), end)
        };
        let mut class: Vec<usize> = vec![0; n];
        let mut firsts: Vec<usize> = Vec::new();
        for (s, class) in class.iter_mut().enumerate() {
            let found = firsts.iter().position(|f| kept(*f) == kept(s));
            *class = found.unwrap_or(firsts.len());
            if found.is_none() {
                firsts.push(s);
            }
        }
        loop {
            let mut signatures: Vec<Signature> = class.iter().map(|c| (*c, Vec::new())).collect();
            for (from, arcs) in self.arcs.iter().enumerate() {
                for arc in arcs {
                    let (at, far) = match leaving {
                        true => (from, usize::from(arc.to)),
                        false => (usize::from(arc.to), from),
                    };
                    let far = class[far];
                    let label = (far, arc.starts, &arc.before, arc.leaf, &arc.after);
                    if !signatures[at].1.contains(&label) {
                        signatures[at].1.push(label);
                    }
                }
            }
            for (_, labels) in &mut signatures {
                labels.sort_unstable();
            }
            let mut known: rustc_hash::FxHashMap<&Signature, usize> =
                rustc_hash::FxHashMap::default();
            let mut next = vec![0; n];
            for (s, signature) in signatures.iter().enumerate() {
                let number = known.len();
                next[s] = *known.entry(signature).or_insert(number);
            }
            let more = known.len();
            drop(known);
            let before = class.iter().max().map_or(0, |m| m + 1);
            class = next;
            if more == before {
                return class;
            }
        }
    }

    /// Makes one state of each class.
    fn join(&mut self, class: &[usize]) {
        let first = |s: State| {
            let own = class[usize::from(s)];
            class.iter().position(|c| *c == own).unwrap_or(0) as State
        };
        let old = std::mem::replace(&mut self.arcs, vec![Vec::new(); class.len()]);
        for (from, arcs) in old.into_iter().enumerate() {
            let from = usize::from(first(from as State));
            for mut arc in arcs {
                arc.to = first(arc.to);
                if !self.arcs[from].contains(&arc) {
                    self.arcs[from].push(arc);
                }
            }
        }
        let old = std::mem::replace(&mut self.ends, vec![Vec::new(); class.len()]);
        for (from, ends) in old.into_iter().enumerate() {
            let from = usize::from(first(from as State));
            for end in ends {
                if !self.ends[from].contains(&end) {
                    self.ends[from].push(end);
                }
            }
        }
        let old = std::mem::replace(&mut self.free, vec![Vec::new(); class.len()]);
        for (from, ways) in old.into_iter().enumerate() {
            let from = usize::from(first(from as State));
            for (tests, to) in ways {
                let way = (tests, first(to));
                if !self.free[from].contains(&way) {
                    self.free[from].push(way);
                }
            }
        }
        self.start = first(self.start);
        for (state, _) in &mut self.loops {
            *state = first(*state);
        }
        for state in &mut self.inner {
            *state = first(*state);
        }
        self.loops.dedup();
        self.inner.sort_unstable();
        self.inner.dedup();
    }
}
