//! Explains why a pair is, or is not, in the value of a node: by choices of reads-from and coherence
//! that suffice for it.
//!
//! A reason is found by walking the plan backwards. A membership that holds in every execution needs
//! no choice, so ways through such pairs are preferred. Membership in a fixpoint is explained by
//! the turn in which the pair first appeared. Absence from a fixpoint is explained by the absence of
//! everything that could add the pair, other pairs of the fixpoint included. How reasons are used
//! is not known here.

use rustc_hash::FxHashSet;
use std::collections::VecDeque;

use super::theory::{Base, Check, Theory, Value, Values, Which};
use litmake_base::rel::Rel;
use litmake_cat::plan::{BaseRel, BaseSet, Node, NodeId, Shape};

/// A choice of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// The second event reads from the first.
    Rf(u16, u16),
    NotRf(u16, u16),
    /// The first event is before the second in coherence.
    Co(u16, u16),
}

/// A membership to explain. `turn` matters for a pair that is present in a fixpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Goal {
    node: NodeId,
    a: u16,
    b: u16,
    present: bool,
    turn: u16,
}

pub struct Explain<'a> {
    theory: &'a Theory,
    values: &'a mut Values,
    /// The execution at hand.
    base: &'a Base,
    todo: Vec<Goal>,
    seen: FxHashSet<Goal>,
    atoms: Vec<Atom>,
}

/// At most so many reasons for one broken check.
const MOST: usize = 12;

impl<'a> Explain<'a> {
    /// To be made after [`Values::bound`] and [`Values::evaluate`].
    pub fn new(theory: &'a Theory, values: &'a mut Values, base: &'a Base) -> Explain<'a> {
        Explain {
            theory,
            values,
            base,
            todo: Vec::new(),
            seen: FxHashSet::default(),
            atoms: Vec::new(),
        }
    }

    /// Reasons why the execution at hand does not satisfy a check.
    pub fn against(&mut self, check: &Check, out: &mut Vec<Vec<Atom>>) {
        if !check.want {
            let reason = self.nothing(check);
            out.push(reason);
            return;
        }
        let first = out.len();
        let node = check.node;
        let n = self.values.len();
        match (self.values.at(self.theory, Which::Now, node), check.shape) {
            (Value::Set(s), _) => {
                let members: Vec<usize> = s.iter().take(MOST).collect();
                for a in members {
                    let reason = self.present(&[(node, a, a)]);
                    out.push(reason);
                }
            }
            (Value::Rel(r), Shape::Empty | Shape::Irreflexive) => {
                let wanted = |p: &(usize, usize)| check.shape == Shape::Empty || p.0 == p.1;
                let pairs: Vec<(usize, usize)> = r.iter().filter(wanted).take(MOST).collect();
                for (a, b) in pairs {
                    let reason = self.present(&[(node, a, b)]);
                    out.push(reason);
                }
            }
            (Value::Rel(r), Shape::Acyclic) => {
                let core = core(r);
                let cycles: Vec<Vec<usize>> = (0..n)
                    .filter(|e| core[*e])
                    .filter_map(|e| self.path(node, 0, e, e, Some(&core)))
                    .collect();
                let mut reasons: Vec<Vec<Atom>> = Vec::new();
                for cycle in cycles {
                    let edges: Vec<(NodeId, usize, usize)> =
                        cycle.windows(2).map(|w| (node, w[0], w[1])).collect();
                    let reason = self.present(&edges);
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
                reasons.sort_by_key(Vec::len);
                reasons.truncate(MOST);
                out.append(&mut reasons);
            }
        }
        out[first..].sort_by_key(Vec::len);
    }

    /// Why each of these pairs is in its node.
    fn present(&mut self, pairs: &[(NodeId, usize, usize)]) -> Vec<Atom> {
        for (node, a, b) in pairs {
            self.goal(*node, *a, *b, true, 0);
        }
        self.run()
    }

    /// Why one pair is not in a node.
    pub fn absent(&mut self, node: NodeId, a: usize, b: usize) -> Vec<Atom> {
        self.goal(node, a, b, false, 0);
        self.run()
    }

    /// Why the node of a check is empty, irreflexive or acyclic.
    fn nothing(&mut self, check: &Check) -> Vec<Atom> {
        for (a, b) in self.targets(check) {
            if !self.values.at(self.theory, Which::Now, check.node).has(a, b) {
                self.goal(check.node, a, b, false, 0);
            }
        }
        self.run()
    }

    /// For a check that wants its node not to be empty (irreflexive, acyclic): the pairs of which at
    /// least one must be in the node.
    pub fn targets(&self, check: &Check) -> Vec<(usize, usize)> {
        match (self.values.at(self.theory, Which::Upper, check.node), check.shape) {
            (Value::Set(s), _) => s.iter().map(|a| (a, a)).collect(),
            (Value::Rel(r), Shape::Empty) => r.iter().collect(),
            (Value::Rel(r), Shape::Irreflexive) => r.iter().filter(|(a, b)| a == b).collect(),
            (Value::Rel(r), Shape::Acyclic) => {
                let core = core(r);
                r.iter().filter(|(a, b)| core[*a] && core[*b]).collect()
            }
        }
    }

    fn run(&mut self) -> Vec<Atom> {
        while let Some(goal) = self.todo.pop() {
            if goal.present {
                self.explain_present(goal);
            } else {
                self.explain_absent(goal);
            }
        }
        self.seen.clear();
        let mut atoms = std::mem::take(&mut self.atoms);
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// Whether a membership is the same in every execution.
    fn free(&self, node: NodeId, a: usize, b: usize, present: bool) -> bool {
        let which = if present { Which::Lower } else { Which::Upper };
        !self.theory.dynamic[node as usize]
            || self.values.at(self.theory, which, node).has(a, b) == present
    }

    fn goal(&mut self, node: NodeId, a: usize, b: usize, present: bool, turn: usize) {
        if self.free(node, a, b, present) {
            return;
        }
        let open = self.theory.inside[node as usize].is_some();
        let turn = if open && present { turn as u16 } else { 0 };
        let goal = Goal { node, a: a as u16, b: b as u16, present, turn };
        if self.seen.insert(goal) {
            self.todo.push(goal);
        }
    }

    /// The value of a node; inside a fixpoint, in a turn of it.
    fn value(&mut self, node: NodeId, turn: usize) -> &Value {
        match self.theory.inside[node as usize] {
            Some(g) => {
                let inner = &self.theory.inner[g as usize];
                let at = inner.iter().position(|x| *x == node).unwrap_or(0);
                let turns = self.values.turns(self.theory, g, self.base);
                &turns[turn.min(turns.len() - 1)][at]
            }
            None => self.values.at(self.theory, Which::Now, node),
        }
    }

    /// The first turn in which a body of a fixpoint has a pair.
    fn first_turn(&mut self, g: u32, body: NodeId, a: usize, b: usize) -> usize {
        if self.theory.inside[body as usize].is_none() {
            return 0;
        }
        let inner = &self.theory.inner[g as usize];
        let at = inner.iter().position(|x| *x == body).unwrap_or(0);
        let turns = self.values.turns(self.theory, g, self.base);
        turns.iter().position(|values| values[at].has(a, b)).unwrap_or(0)
    }

    fn explain_present(&mut self, goal: Goal) {
        let Goal { node, turn, .. } = goal;
        let (a, b, turn) = (usize::from(goal.a), usize::from(goal.b), usize::from(turn));
        let theory = self.theory;
        match theory.plan.nodes[node as usize] {
            Node::BaseRel(BaseRel::Rf) => self.atoms.push(Atom::Rf(goal.a, goal.b)),
            Node::BaseRel(BaseRel::Co) => self.atoms.push(Atom::Co(goal.a, goal.b)),
            Node::BaseSet(BaseSet::Fw) => {
                for w in 0..self.values.len() {
                    if self.base.co.contains(w, a) {
                        self.atoms.push(Atom::Co(w as u16, goal.a));
                    }
                }
            }
            Node::BaseSet(_) | Node::BaseRel(_) | Node::EmptySet | Node::EmptyRel => {}
            Node::Union(x, y) => {
                let in_x = self.value(x, turn).has(a, b);
                let in_y = self.value(y, turn).has(a, b);
                let side = match (in_x, in_y) {
                    (true, true) if self.free(y, a, b, true) => y,
                    (true, _) => x,
                    _ => y,
                };
                self.goal(side, a, b, true, turn);
            }
            Node::Inter(x, y) => {
                self.goal(x, a, b, true, turn);
                self.goal(y, a, b, true, turn);
            }
            Node::Diff(x, y) => {
                self.goal(x, a, b, true, turn);
                self.goal(y, a, b, false, turn);
            }
            Node::Complement(x) => self.goal(x, a, b, false, turn),
            Node::Seq(x, y) => {
                let mids: Vec<usize> = self.value(x, turn).row(a).collect();
                let mut best = None;
                for c in mids {
                    if !self.value(y, turn).has(c, b) {
                        continue;
                    }
                    let cost = usize::from(!self.free(x, a, c, true))
                        + usize::from(!self.free(y, c, b, true));
                    if best.is_none_or(|(least, _)| cost < least) {
                        best = Some((cost, c));
                    }
                }
                if let Some((_, c)) = best {
                    self.goal(x, a, c, true, turn);
                    self.goal(y, c, b, true, turn);
                }
            }
            Node::Inverse(x) => self.goal(x, b, a, true, turn),
            Node::Plus(x) => {
                for w in self.path(x, turn, a, b, None).unwrap_or_default().windows(2) {
                    self.goal(x, w[0], w[1], true, turn);
                }
            }
            Node::Cross(s, t) => {
                self.goal(s, a, a, true, turn);
                self.goal(t, b, b, true, turn);
            }
            Node::IdentityOn(s) => self.goal(s, a, a, true, turn),
            Node::RestrictDomain(r, s) => {
                self.goal(r, a, b, true, turn);
                self.goal(s, a, a, true, turn);
            }
            Node::RestrictRange(r, s) => {
                self.goal(r, a, b, true, turn);
                self.goal(s, b, b, true, turn);
            }
            Node::Domain(r) => {
                let ends: Vec<usize> = self.value(r, turn).row(a).collect();
                let free = ends.iter().find(|c| self.free(r, a, **c, true));
                if let Some(c) = free.or(ends.first()) {
                    self.goal(r, a, *c, true, turn);
                }
            }
            Node::Range(r) => {
                let n = self.values.len();
                let starts: Vec<usize> = {
                    let value = self.value(r, turn);
                    (0..n).filter(|c| value.has(*c, a)).collect()
                };
                let free = starts.iter().find(|c| self.free(r, **c, a, true));
                if let Some(c) = free.or(starts.first()) {
                    self.goal(r, *c, a, true, turn);
                }
            }
            Node::FixVar(g, v) | Node::Fix(g, v) => {
                let body = theory.plan.groups[g as usize].bodies[v as usize];
                let turn = self.first_turn(g, body, a, b);
                self.goal(body, a, b, true, turn);
            }
        }
    }

    fn explain_absent(&mut self, goal: Goal) {
        let node = goal.node;
        let (a, b) = (usize::from(goal.a), usize::from(goal.b));
        let theory = self.theory;
        let n = self.values.len();
        match theory.plan.nodes[node as usize] {
            Node::BaseRel(BaseRel::Rf) => self.atoms.push(Atom::NotRf(goal.a, goal.b)),
            Node::BaseRel(BaseRel::Co) => self.atoms.push(Atom::Co(goal.b, goal.a)),
            Node::BaseSet(BaseSet::Fw) => {
                if let Some(w) = self.base.co.successors(a).next() {
                    self.atoms.push(Atom::Co(goal.a, w as u16));
                }
            }
            Node::BaseSet(_) | Node::BaseRel(_) | Node::EmptySet | Node::EmptyRel => {}
            Node::Union(x, y) => {
                self.goal(x, a, b, false, 0);
                self.goal(y, a, b, false, 0);
            }
            Node::Inter(x, y) => self.absent_from_one((x, a, b), (y, a, b)),
            Node::Diff(x, y) => {
                let out_x = !self.now(x, a, b);
                let in_y = self.now(y, a, b);
                let free_y = in_y && self.free(y, a, b, true);
                if free_y || (out_x && self.free(x, a, b, false)) {
                    return;
                }
                if out_x {
                    self.goal(x, a, b, false, 0);
                } else {
                    self.goal(y, a, b, true, 0);
                }
            }
            Node::Complement(x) => self.goal(x, a, b, true, 0),
            Node::Seq(x, y) => {
                for c in 0..n {
                    self.absent_from_one((x, a, c), (y, c, b));
                }
            }
            Node::Inverse(x) => self.goal(x, b, a, false, 0),
            Node::Plus(x) => self.cut(x, a, b),
            Node::Cross(s, t) => self.absent_from_one((s, a, a), (t, b, b)),
            Node::IdentityOn(s) => {
                if a == b {
                    self.goal(s, a, a, false, 0);
                }
            }
            Node::RestrictDomain(r, s) => self.absent_from_one((s, a, a), (r, a, b)),
            Node::RestrictRange(r, s) => self.absent_from_one((s, b, b), (r, a, b)),
            Node::Domain(r) => {
                for c in 0..n {
                    self.goal(r, a, c, false, 0);
                }
            }
            Node::Range(r) => {
                for c in 0..n {
                    self.goal(r, c, a, false, 0);
                }
            }
            Node::FixVar(g, v) | Node::Fix(g, v) => {
                let body = theory.plan.groups[g as usize].bodies[v as usize];
                self.goal(body, a, b, false, 0);
            }
        }
    }

    fn now(&self, node: NodeId, a: usize, b: usize) -> bool {
        self.values.at(self.theory, Which::Now, node).has(a, b)
    }

    /// Explains the absence from one of two nodes, whichever is cheaper; the pair is missing in at
    /// least one.
    fn absent_from_one(&mut self, x: (NodeId, usize, usize), y: (NodeId, usize, usize)) {
        let out = |s: &Self, g: (NodeId, usize, usize)| !s.now(g.0, g.1, g.2);
        let free = |s: &Self, g: (NodeId, usize, usize)| out(s, g) && s.free(g.0, g.1, g.2, false);
        if free(self, x) || free(self, y) {
            return;
        }
        let pick = if out(self, x) { x } else { y };
        self.goal(pick.0, pick.1, pick.2, false, 0);
    }

    /// Explains why no path leads from `a` to `b`: there is no edge from an event that `a` reaches to an
    /// event that could reach `b`.
    fn cut(&mut self, x: NodeId, a: usize, b: usize) {
        let n = self.values.len();
        let (Value::Rel(now), Value::Rel(upper)) = (
            self.values.at(self.theory, Which::Now, x),
            self.values.at(self.theory, Which::Upper, x),
        ) else {
            return;
        };
        let mut reached = vec![false; n];
        let mut todo = vec![a];
        reached[a] = true;
        while let Some(u) = todo.pop() {
            for v in now.successors(u) {
                if !std::mem::replace(&mut reached[v], true) {
                    todo.push(v);
                }
            }
        }
        // `b` may be `a` itself, reached by no path of at least one step.
        reached[b] = false;
        let mut useful = vec![false; n];
        useful[b] = true;
        let mut todo = vec![b];
        while let Some(v) = todo.pop() {
            for (u, useful) in useful.iter_mut().enumerate() {
                if !*useful && upper.contains(u, v) {
                    *useful = true;
                    todo.push(u);
                }
            }
        }
        let from = |u: usize| reached[u] || u == a;
        let edges: Vec<(usize, usize)> =
            upper.iter().filter(|(u, v)| from(*u) && !reached[*v] && useful[*v]).collect();
        for (u, v) in edges {
            self.goal(x, u, v, false, 0);
        }
    }

    /// A path of at least one step, with as few edges as possible that are not in every execution.
    fn path(
        &mut self,
        node: NodeId,
        turn: usize,
        a: usize,
        b: usize,
        within: Option<&[bool]>,
    ) -> Option<Vec<usize>> {
        let rel = match self.value(node, turn) {
            Value::Rel(r) => r.clone(),
            Value::Set(_) => return None,
        };
        let n = rel.universe();
        // The start and the end may be the same event, so the start has an entry of its own.
        let mut from = vec![usize::MAX; n];
        let mut cost = vec![usize::MAX; n];
        let mut done = vec![false; n];
        let mut queue = VecDeque::from([(a, 0, true)]);
        while let Some((u, so_far, start)) = queue.pop_front() {
            if !start {
                if std::mem::replace(&mut done[u], true) {
                    continue;
                }
                if u == b {
                    break;
                }
            }
            for v in rel.successors(u) {
                if done[v] || within.is_some_and(|w| !w[v]) {
                    continue;
                }
                let free = self.free(node, u, v, true);
                let next = so_far + usize::from(!free);
                if next < cost[v] {
                    cost[v] = next;
                    from[v] = if start { usize::MAX } else { u };
                    if free {
                        queue.push_front((v, next, false));
                    } else {
                        queue.push_back((v, next, false));
                    }
                }
            }
        }
        if cost[b] == usize::MAX {
            return None;
        }
        let mut path = vec![b];
        let mut at = b;
        while from[at] != usize::MAX && path.len() <= n {
            at = from[at];
            path.push(at);
        }
        path.push(a);
        path.reverse();
        Some(path)
    }
}

/// The events that lie on cycles, or between them.
fn core(r: &Rel) -> Vec<bool> {
    let n = r.universe();
    let mut inside = vec![true; n];
    let back = r.inverse();
    loop {
        let mut changed = false;
        for e in 0..n {
            if inside[e]
                && !(r.successors(e).any(|x| inside[x]) && back.successors(e).any(|x| inside[x]))
            {
                inside[e] = false;
                changed = true;
            }
        }
        if !changed {
            return inside;
        }
    }
}
