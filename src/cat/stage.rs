//! Stages a model: runs it once with nodes of a plan for sets and relations, which gives the plan.
//!
//! The plan has what an execution decides: base sets and relations, operators on them, fixpoints and
//! checks. Staging does not know executions.

use super::algebra::{Algebra, EarlyEnd, Halt, SetOrRel, Site, co0};
use super::ast::{BinOp, CheckKind, Shape};
use super::eval::Eval;
use super::graph::{DEPTH, Graph, MAX_DEPTH};
use super::load::Model;
use super::plan::*;
use litmake_base::diag::Diag;
use litmake_ops::{Annotations, tag};
use std::fmt;

/// How deep the search goes for facts that only few terms need.
const FAR: usize = 16;

/// Why there is no plan.
#[derive(Clone, Debug)]
pub enum StageError {
    /// The model has an error.
    Invalid(Box<Diag>),
    /// The model has a question that only an execution answers, so the interpreter must run it.
    Unstageable(Box<Diag>),
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StageError::Invalid(d) | StageError::Unstageable(d) => write!(f, "{d}"),
        }
    }
}

impl std::error::Error for StageError {}

/// Stages a model.
pub fn stage(model: &Model) -> Result<Plan, StageError> {
    let mut eval = Eval::new(model, Stager::new(model));
    match eval.run_model() {
        Ok(()) if eval.alg.graph.too_deep => {
            let message = format!(
                "{}: sets and relations are built on one another more than {MAX_DEPTH} deep",
                model.name
            );
            Err(StageError::Invalid(Diag::new(message).help("join fewer of them, or in groups")))
        }
        Ok(()) => Ok(eval.alg.finish(model.catdep())),
        Err(EarlyEnd::Error(d) | EarlyEnd::Limit(d)) => Err(StageError::Invalid(d)),
        Err(EarlyEnd::Unstageable(d)) => Err(StageError::Unstageable(d)),
        Err(EarlyEnd::Failed(f)) => Err(StageError::Invalid(Diag::new(format!(
            "{}: {} can never hold, so the model allows nothing",
            f.place, f.name
        )))),
    }
}

struct Group {
    vars: Vec<NodeId>,
    /// Empty until the group is solved.
    bodies: Vec<NodeId>,
    is_set: Vec<bool>,
    /// See [`FixGroup::iterated`].
    iterated: bool,
}

struct Stager {
    graph: Graph,
    /// See [`Graph::new`].
    locks: bool,
    annotations: Annotations,
    groups: Vec<Group>,
    /// The groups that have variables but no bodies yet.
    open: Vec<usize>,
    checks: Vec<Check>,
    shows: Vec<(String, NodeId)>,
    names: Vec<(String, NodeId)>,
}

type Either = SetOrRel<NodeId, NodeId>;

fn id_of(v: &Either) -> NodeId {
    match v {
        SetOrRel::Set(id) | SetOrRel::Rel(id) => *id,
    }
}

impl Stager {
    fn new(model: &Model) -> Stager {
        Stager {
            graph: Graph::new(model.arch, model.has_bell()),
            locks: model.has_bell(),
            annotations: model.annotations(),
            groups: Vec::new(),
            open: Vec::new(),
            checks: Vec::new(),
            shows: Vec::new(),
            names: Vec::new(),
        }
    }

    fn either(&self, id: NodeId) -> Either {
        if self.graph.is_set[id as usize] { SetOrRel::Set(id) } else { SetOrRel::Rel(id) }
    }

    /// The operands of a node; for a fixpoint, the bodies of its group.
    fn parts(&self, id: NodeId) -> Vec<NodeId> {
        match *self.graph.get(id) {
            Node::Fix(g, _) => self.groups[g as usize].bodies.clone(),
            ref node => node.operands().collect(),
        }
    }

    /// Marks the nodes below `root`, and says whether a variable of `group` is among them.
    fn mentions(&self, root: NodeId, group: u32) -> bool {
        let mut seen = vec![false; self.graph.nodes.len()];
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut seen[id as usize], true) {
                continue;
            }
            if matches!(self.graph.get(id), Node::FixVar(g, _) if *g == group) {
                return true;
            }
            todo.extend(self.parts(id));
        }
        false
    }

    /// Whether `root` grows with the variables of `group`.
    fn is_monotone(&self, root: NodeId, group: u32) -> bool {
        let mut seen = vec![[false; 2]; self.graph.nodes.len()];
        let mut todo = vec![(root, false)];
        while let Some((id, flipped)) = todo.pop() {
            if std::mem::replace(&mut seen[id as usize][usize::from(flipped)], true) {
                continue;
            }
            match *self.graph.get(id) {
                Node::FixVar(g, _) if g == group && flipped => return false,
                Node::Complement(a) => todo.push((a, !flipped)),
                Node::Diff(a, b) => todo.extend([(a, flipped), (b, !flipped)]),
                _ => todo.extend(self.parts(id).into_iter().map(|p| (p, flipped))),
            }
        }
        true
    }

    /// Forbids executions in which this set or relation has members.
    fn require_empty(&mut self, node: NodeId, place: &Site) {
        if self.graph.is_empty(node) {
            return;
        }
        self.record(Check {
            kind: CheckKind::Require,
            shape: Shape::Empty,
            negated: false,
            node,
            name: place.name.clone(),
            place: place.at.clone(),
        });
    }

    /// Whether `root` depends on nothing but the program and the variables of `group`.
    fn is_static_but(&self, root: NodeId, group: u32) -> bool {
        let mut seen = vec![false; self.graph.nodes.len()];
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut seen[id as usize], true) {
                continue;
            }
            match self.graph.get(id) {
                Node::FixVar(g, _) if *g != group => return false,
                node if node.is_choice() => return false,
                _ => todo.extend(self.parts(id)),
            }
        }
        true
    }

    /// Whether a set or relation over a variable is the union of its values over the single members of the
    /// variable: no operation combines two occurrences of the variable, or subtracts it.
    fn is_linear(&self, root: NodeId, var: NodeId) -> bool {
        let group = match self.graph.get(var) {
            Node::FixVar(g, _) => *g,
            _ => return false,
        };
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            if id == var {
                continue;
            }
            let open = |x: NodeId| self.mentions(x, group);
            match *self.graph.get(id) {
                Node::Union(a, b) if open(a) && open(b) => todo.extend([a, b]),
                Node::Diff(a, b) if open(a) && !open(b) => todo.push(a),
                Node::Inter(a, b)
                | Node::Seq(a, b)
                | Node::Cross(a, b)
                | Node::RestrictDomain(a, b)
                | Node::RestrictRange(a, b)
                    if open(a) != open(b) =>
                {
                    todo.push(if open(a) { a } else { b });
                }
                Node::Inverse(a) | Node::IdentityOn(a) | Node::Domain(a) | Node::Range(a)
                    if open(a) =>
                {
                    todo.push(a);
                }
                _ => return false,
            }
        }
        true
    }

    /// `let rec r = a | r; r` and other linear forms, as a closure.
    fn closure(&mut self, body: NodeId, var: NodeId, group: u32) -> Option<NodeId> {
        if self.graph.is_set[body as usize] {
            return None;
        }
        let (mut base, mut squared) = (Vec::new(), false);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for part in self.graph.union_parts(body) {
            if part == var {
                continue;
            }
            if !self.mentions(part, group) {
                base.push(part);
                continue;
            }
            // A restriction at the end of a sequence has been moved into it.
            match *self.graph.get(part) {
                Node::Seq(a, b) if a == var && b == var => squared = true,
                Node::Seq(a, b) if a == var && !self.mentions(b, group) => right.push(b),
                Node::Seq(a, b) if b == var && !self.mentions(a, group) => left.push(a),
                Node::RestrictRange(a, s) if a == var && !self.mentions(s, group) => {
                    let on = self.graph.identity_on(s);
                    right.push(on);
                }
                Node::RestrictDomain(a, s) if a == var && !self.mentions(s, group) => {
                    let on = self.graph.identity_on(s);
                    left.push(on);
                }
                _ => return None,
            }
        }
        let base = self.graph.union_of(&base);
        let left = self.graph.union_of(&left);
        let right = self.graph.union_of(&right);
        if squared {
            // x;r and r;x add to the square only if x is not in r.
            let rest = self.graph.union(left, right);
            return (self.graph.is_empty(rest) || self.graph.within(rest, base, DEPTH))
                .then(|| self.graph.plus(base));
        }
        // The least solution of r = base | left;r | r;right is left*;base;right*.
        let mut out = base;
        if !self.graph.is_empty(left) {
            let plus = self.graph.plus(left);
            let longer = self.graph.seq(plus, out);
            out = self.graph.union(out, longer);
        }
        if !self.graph.is_empty(right) {
            let plus = self.graph.plus(right);
            let longer = self.graph.seq(out, plus);
            out = self.graph.union(out, longer);
        }
        Some(out)
    }

    fn record(&mut self, check: Check) {
        let same = |c: &Check| {
            c.kind == check.kind
                && c.shape == check.shape
                && c.negated == check.negated
                && c.node == check.node
                && c.name == check.name
        };
        if !self.checks.iter().any(same) {
            self.checks.push(check);
        }
    }

    /// The answer of a check, if it is the same in every execution.
    fn known(&mut self, shape: Shape, node: NodeId) -> Option<bool> {
        if self.graph.is_empty(node) {
            return Some(true);
        }
        let id = self.graph.base_rel(BaseRel::Id);
        match shape {
            Shape::Irreflexive if self.graph.disjoint(node, id, DEPTH) => Some(true),
            _ => None,
        }
    }

    /// Keeps the nodes that checks and drawings need, operands first.
    fn finish(self, catdep: bool) -> Plan {
        let annotations = self.annotations.clone();
        let mut plan = Plan { catdep, annotations, ..Plan::default() };
        let mut new_ids: Vec<Option<NodeId>> = vec![None; self.graph.nodes.len()];
        let mut new_groups: Vec<Option<u32>> = vec![None; self.groups.len()];
        let mut todo: Vec<NodeId> = self.shows.iter().rev().map(|s| s.1).collect();
        todo.extend(self.checks.iter().rev().map(|c| c.node));
        // Variables have no operands, so the walk ends although fixpoints are cyclic.
        while let Some(&id) = todo.last() {
            if new_ids[id as usize].is_some() {
                todo.pop();
                continue;
            }
            let parts = self.parts(id);
            let before = todo.len();
            todo.extend(parts.iter().filter(|p| new_ids[**p as usize].is_none()));
            if todo.len() > before {
                continue;
            }
            todo.pop();
            let new = |p: NodeId| new_ids[p as usize].unwrap_or(0);
            let mut group_of = |g: u32, plan: &mut Plan| {
                *new_groups[g as usize].get_or_insert_with(|| {
                    plan.groups.push(FixGroup {
                        bodies: Vec::new(),
                        is_set: self.groups[g as usize].is_set.clone(),
                        iterated: self.groups[g as usize].iterated,
                    });
                    (plan.groups.len() - 1) as u32
                })
            };
            let node = match *self.graph.get(id) {
                Node::FixVar(g, i) => Node::FixVar(group_of(g, &mut plan), i),
                Node::Fix(g, i) => {
                    let group = group_of(g, &mut plan);
                    plan.groups[group as usize].bodies = parts.iter().map(|p| new(*p)).collect();
                    Node::Fix(group, i)
                }
                ref node => node.map(new),
            };
            new_ids[id as usize] = Some(plan.nodes.len() as NodeId);
            plan.nodes.push(node);
            plan.is_set.push(self.graph.is_set[id as usize]);
        }
        let new = |p: NodeId| new_ids[p as usize].unwrap_or(0);
        for mut check in self.checks {
            check.node = new(check.node);
            plan.checks.push(check);
        }
        for (name, node) in self.shows {
            plan.shows.push((name, new(node)));
        }
        for (name, node) in self.names {
            if let Some(node) = new_ids[node as usize] {
                plan.names.push((name, node));
            }
        }
        plan
    }
}

impl Algebra for Stager {
    type S = NodeId;
    type R = NodeId;

    fn base_set(&mut self, base: BaseSet) -> NodeId {
        self.graph.base_set(base)
    }

    fn base_rel(&mut self, base: BaseRel) -> NodeId {
        self.graph.base_rel(base)
    }

    fn set_of(&mut self, _: &[usize]) -> NodeId {
        // No event is known here, so there is nothing to make sets of.
        self.graph.empty_set()
    }

    fn rel_of(&mut self, _: &[(usize, usize)]) -> NodeId {
        self.graph.empty_rel()
    }

    fn full_rel(&mut self) -> NodeId {
        self.graph.full_rel()
    }

    fn set_op(&mut self, op: BinOp, a: &NodeId, b: &NodeId) -> NodeId {
        match op {
            BinOp::Union => self.graph.union(*a, *b),
            BinOp::Inter => self.graph.inter(*a, *b),
            _ => self.graph.diff(*a, *b),
        }
    }

    fn rel_op(&mut self, op: BinOp, a: &NodeId, b: &NodeId) -> NodeId {
        match op {
            BinOp::Seq => self.graph.seq(*a, *b),
            op => self.set_op(op, a, b),
        }
    }

    fn inverse(&mut self, r: &NodeId) -> NodeId {
        self.graph.inverse(*r)
    }

    fn plus(&mut self, r: &NodeId) -> NodeId {
        self.graph.plus(*r)
    }

    fn cross(&mut self, a: &NodeId, b: &NodeId) -> NodeId {
        self.graph.cross(*a, *b)
    }

    fn identity_on(&mut self, s: &NodeId) -> NodeId {
        self.graph.identity_on(*s)
    }

    fn domain(&mut self, r: &NodeId) -> NodeId {
        self.graph.domain(*r)
    }

    fn range(&mut self, r: &NodeId) -> NodeId {
        self.graph.range(*r)
    }

    fn elements(&self, s: &NodeId) -> Option<Vec<usize>> {
        self.graph.is_empty(*s).then(Vec::new)
    }

    fn pairs(&self, r: &NodeId) -> Option<Vec<(usize, usize)>> {
        self.graph.is_empty(*r).then(Vec::new)
    }

    /// The order that the simulator searches, which must contain the constraint.
    fn coherence(&mut self, s: &NodeId, r: &NodeId, place: &Site) -> Result<NodeId, Halt> {
        let mut writes = self.graph.base_set(BaseSet::W);
        if self.locks {
            let taken = self.graph.base_set(BaseSet::Tags(tag::C_LKW));
            writes = self.graph.union(writes, taken);
        }
        if !self.graph.within(*s, writes, DEPTH) {
            let message = "only writes have a coherence order to take here";
            return Err(Halt::Unstageable(message.into()));
        }
        let co = self.graph.base_rel(BaseRel::Co);
        let order = self.graph.restrict_domain(co, *s);
        let order = self.graph.restrict_range(order, *s);
        let co0 = co0(self);
        let mut parts = self.graph.union_parts(*r);
        parts.retain(|p| !self.graph.within(*p, co0, DEPTH));
        let asked = self.graph.union_of(&parts);
        let loc = self.graph.base_rel(BaseRel::Loc);
        let asked = self.graph.inter(asked, loc);
        let asked = self.graph.restrict_domain(asked, *s);
        let asked = self.graph.restrict_range(asked, *s);
        let missing = self.graph.diff(asked, co);
        self.require_empty(missing, place);
        Ok(order)
    }

    fn choose(&mut self, _: usize) -> Option<usize> {
        None
    }

    fn member(&mut self, is_set: bool) -> Option<Either> {
        let group = self.groups.len();
        let var = self.graph.fix_var(group as u32, 0, is_set);
        let (vars, is_set) = (vec![var], vec![is_set]);
        self.groups.push(Group { vars, bodies: Vec::new(), is_set, iterated: false });
        Some(self.either(var))
    }

    fn by_target(&mut self, var: &NodeId, pairs: &NodeId) -> bool {
        let targets = self.graph.range(*pairs);
        self.graph.within(targets, *var, FAR) && self.is_linear(*pairs, *var)
    }

    /// The sources that the search gives to looks at locks, if it tries all that the model asks for.
    fn pick(&mut self, of: &NodeId, pairs: &NodeId, place: &Site) -> Result<NodeId, Halt> {
        let g = &mut self.graph;
        let tags = |g: &mut Graph, tags| g.base_set(BaseSet::Tags(tags));
        let (taken, free) = (tags(g, tag::C_LKW), tags(g, tag::C_UL));
        let (looks_taken, looks_free) = (tags(g, tag::C_LF | tag::C_RL), tags(g, tag::C_RU));
        let init = g.base_set(BaseSet::Iw);
        let free = g.union(free, init);
        let loc = g.base_rel(BaseRel::Loc);
        let (po, ext) = (g.base_rel(BaseRel::Po), g.base_rel(BaseRel::Ext));
        let earlier = g.union(po, ext);
        let sources = g.domain(*pairs);
        let tried = self.locks
            && (g.within(*of, looks_taken, FAR) && g.within(sources, taken, FAR)
                || g.within(*of, looks_free, FAR) && g.within(sources, free, FAR))
            && g.within(*pairs, loc, FAR)
            && g.within(*pairs, earlier, FAR);
        if !tried {
            let message = "which values there are is not known yet";
            return Err(Halt::Unstageable(message.into()));
        }
        let rf = g.base_rel(BaseRel::Rf);
        let chosen = g.inter(*pairs, rf);
        let reached = g.range(chosen);
        let missing = g.diff(*of, reached);
        self.require_empty(missing, place);
        Ok(chosen)
    }

    fn check(
        &mut self,
        kind: CheckKind,
        shape: Shape,
        negated: bool,
        value: Either,
        place: &Site,
    ) -> Result<(), Halt> {
        let mut node = id_of(&value);
        let mut shape = shape;
        // A relation is acyclic if its closure is, so the closure need not be computed.
        while let (Shape::Acyclic | Shape::Irreflexive, Node::Plus(r)) =
            (shape, self.graph.get(node))
        {
            (shape, node) = (Shape::Acyclic, *r);
        }
        if let Some(answer) = self.known(shape, node) {
            let ok = answer != negated;
            match (kind, ok) {
                // A check that always holds, or a flag that is never raised, is left out.
                (CheckKind::Flag, false) => return Ok(()),
                (CheckKind::Flag, true) => {}
                (_, true) => return Ok(()),
                (_, false) => {}
            }
        }
        self.record(Check {
            kind,
            shape,
            negated,
            node,
            name: place.name.clone(),
            place: place.at.clone(),
        });
        Ok(())
    }

    fn fix_vars(&mut self, is_set: &[bool]) -> Option<Vec<Either>> {
        let group = self.groups.len();
        let vars: Vec<_> = is_set
            .iter()
            .enumerate()
            .map(|(i, set)| self.graph.fix_var(group as u32, i as u32, *set))
            .collect();
        let out = vars.iter().map(|v| self.either(*v)).collect();
        let is_set = is_set.to_vec();
        self.groups.push(Group { vars, bodies: Vec::new(), is_set, iterated: false });
        self.open.push(group);
        Some(out)
    }

    fn fix_solve(&mut self, bodies: Vec<Either>) -> Result<Vec<Either>, String> {
        let Some(group) = self.open.pop() else {
            return Err("no recursive definition is open".into());
        };
        let g = group as u32;
        let bodies: Vec<_> = bodies.iter().map(id_of).collect();
        if bodies.iter().all(|b| !self.mentions(*b, g)) {
            return Ok(bodies.into_iter().map(|b| self.either(b)).collect());
        }
        if bodies.iter().any(|b| !self.is_monotone(*b, g)) {
            if bodies.iter().any(|b| !self.is_static_but(*b, g)) {
                return Err("a recursive definition that does not grow with itself".into());
            }
            self.groups[group].iterated = true;
        }
        if let [body] = bodies[..]
            && let Some(closure) = self.closure(body, self.groups[group].vars[0], g)
        {
            return Ok(vec![SetOrRel::Rel(closure)]);
        }
        let is_set = self.groups[group].is_set.clone();
        self.groups[group].bodies = bodies;
        let fixes: Vec<_> =
            is_set.iter().enumerate().map(|(i, set)| self.graph.fix(g, i as u32, *set)).collect();
        Ok(fixes.into_iter().map(|f| self.either(f)).collect())
    }

    fn fix_forget(&mut self) {
        self.open.pop();
    }

    fn show(&mut self, name: &str, value: Either) {
        self.unshow(name);
        let node = id_of(&value);
        if !self.graph.is_empty(node) {
            self.shows.push((name.to_string(), node));
        }
    }

    fn named(&mut self, name: &str, value: &Either) {
        let node = id_of(value);
        if !self.names.iter().any(|(_, n)| *n == node) {
            self.names.push((name.to_string(), node));
        }
    }

    fn unshow(&mut self, name: &str) {
        self.shows.retain(|(n, _)| n != name);
    }
}
