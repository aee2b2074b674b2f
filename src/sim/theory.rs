//! Evaluates a plan node by node, as bounds or on one complete execution, and keeps the value of
//! every node, so that `reasons` can explain the answer. (`eval` keeps less and is faster.)
//!
//! It does not know how executions are searched for, nor values of reads.

use super::skeleton::Skeleton;
use litmake_base::rel::{Rel, Set};
use litmake_cat::define::MAX_ROUNDS;
use litmake_cat::plan::{BaseRel, BaseSet, CheckKind, Node, NodeId, Plan, Shape};
pub use litmake_cat::plan_eval::Value;

/// A check, without closures that its shape makes superfluous.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its number among the plan's checks.
    pub index: usize,
    pub shape: Shape,
    pub node: NodeId,
    /// Whether the node is to have the shape or to lack it: in every allowed execution for a
    /// requirement, in those that raise it for a flag.
    pub want: bool,
}

/// A plan prepared for evaluation.
#[derive(Debug)]
pub struct Theory {
    pub plan: Plan,
    /// Whether a node depends on reads-from or coherence.
    pub dynamic: Vec<bool>,
    /// For each node, the fixpoint on whose variables it depends.
    pub inside: Vec<Option<u32>>,
    /// The nodes that depend on the variables of each fixpoint, operands first.
    pub inner: Vec<Vec<NodeId>>,
    /// The nodes from which a closed node is computed.
    operands: Vec<Vec<NodeId>>,
    /// Closed nodes, operands first: static ones, those that requirements need, the rest.
    statics: Vec<NodeId>,
    for_requires: Vec<NodeId>,
    for_flags: Vec<NodeId>,
    pub requires: Vec<Check>,
    pub flags: Vec<Check>,
}

impl Theory {
    /// The error says why a plan cannot be explained.
    pub fn new(plan: &Plan) -> Result<Theory, &'static str> {
        let n = plan.nodes.len();
        let dynamic = plan.varying();
        let mut inside: Vec<Option<u32>> = vec![None; n];
        for (i, node) in plan.nodes.iter().enumerate() {
            if let Node::FixVar(g, _) = node {
                inside[i] = Some(*g);
            }
            for c in node.operands() {
                let of = inside[c as usize];
                if of.is_some() && inside[i].is_some() && of != inside[i] {
                    return Err("fixpoints inside each other");
                }
                inside[i] = inside[i].or(of);
            }
            let negated = match node {
                Node::Complement(a) | Node::Diff(_, a) => Some(*a),
                _ => None,
            };
            if negated.is_some_and(|a| {
                inside[a as usize].is_some_and(|g| !plan.groups[g as usize].iterated)
            }) {
                return Err("a negation inside a fixpoint");
            }
            if let Node::Fix(g, _) = node {
                let bodies = &plan.groups[*g as usize].bodies;
                if bodies.iter().any(|b| inside[*b as usize].is_some_and(|of| of != *g)) {
                    return Err("fixpoints inside each other");
                }
            }
        }
        let mut t = Theory {
            dynamic,
            inside,
            inner: vec![Vec::new(); plan.groups.len()],
            operands: vec![Vec::new(); n],
            statics: Vec::new(),
            for_requires: Vec::new(),
            for_flags: Vec::new(),
            requires: Vec::new(),
            flags: Vec::new(),
            plan: plan.clone(),
        };
        t.sort_checks();
        t.sort_nodes();
        Ok(t)
    }

    fn sort_checks(&mut self) {
        for (index, check) in self.plan.checks.iter().enumerate() {
            let (shape, node) = match (check.shape, &self.plan.nodes[check.node as usize]) {
                (Shape::Irreflexive | Shape::Acyclic, Node::Plus(inner)) => {
                    (Shape::Acyclic, *inner)
                }
                (shape, _) => (shape, check.node),
            };
            let want = (check.kind == CheckKind::UndefinedUnless) == check.negated;
            let check_kind = check.kind;
            let check = Check { index, shape, node, want };
            match check_kind {
                CheckKind::Require => self.requires.push(check),
                CheckKind::Flag | CheckKind::UndefinedUnless => self.flags.push(check),
                CheckKind::Assert => {}
            }
        }
    }

    fn sort_nodes(&mut self) {
        let n = self.plan.nodes.len();
        for i in 0..n {
            if let Some(g) = self.inside[i] {
                self.inner[g as usize].push(i as NodeId);
            }
        }
        for i in 0..n {
            self.operands[i] = match self.plan.nodes[i] {
                Node::Fix(g, _) => {
                    let group = &self.plan.groups[g as usize];
                    let inner = self.inner[g as usize].iter();
                    let used = inner.flat_map(|x| self.plan.nodes[*x as usize].operands());
                    let closed = |x: &NodeId| self.inside[*x as usize].is_none();
                    used.chain(group.bodies.iter().copied()).filter(closed).collect()
                }
                ref node => node.operands().collect(),
            };
        }
        let needed = |checks: &[Check]| {
            let mut seen = vec![false; n];
            let mut todo: Vec<NodeId> = checks.iter().map(|c| c.node).collect();
            while let Some(x) = todo.pop() {
                if !std::mem::replace(&mut seen[x as usize], true) {
                    todo.extend(&self.operands[x as usize]);
                }
            }
            seen
        };
        let (required, flagged) = (needed(&self.requires), needed(&self.flags));
        for i in 0..n {
            if self.inside[i].is_some() {
                continue;
            }
            let list = match (required[i] || flagged[i], self.dynamic[i]) {
                (false, _) => continue,
                (true, false) => &mut self.statics,
                (true, true) if required[i] => &mut self.for_requires,
                (true, true) => &mut self.for_flags,
            };
            list.push(i as NodeId);
        }
    }
}

/// Which value of a node is meant: its lower bound, its upper bound, or that of the execution at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Lower,
    Upper,
    Now,
}

/// Reads-from and coherence, with the set of last writes.
#[derive(Clone, Debug)]
pub struct Base {
    pub rf: Rel,
    pub co: Rel,
    pub last: Set,
}

impl Base {
    pub fn new(n: usize) -> Base {
        Base { rf: Rel::empty(n), co: Rel::empty(n), last: Set::empty(n) }
    }
}

/// The values of all nodes for one skeleton.
pub struct Values {
    n: usize,
    lower: Vec<Value>,
    upper: Vec<Value>,
    now: Vec<Value>,
    /// When a node's value last changed, and when it was last computed.
    changed: Vec<u32>,
    computed: Vec<u32>,
    clock: u32,
    /// The values of a fixpoint's inner nodes, turn by turn, where they have been asked for.
    turns: Vec<Option<Vec<Vec<Value>>>>,
    /// A recursive definition found no solution: it does not grow with itself.
    pub unsettled: bool,
}

impl Values {
    pub fn new(t: &Theory, skeleton: &Skeleton) -> Values {
        let n = skeleton.len();
        let blank = |want: bool| -> Vec<Value> {
            let node = |(d, s): (&bool, &bool)| {
                if *d || want { Value::empty(*s, n) } else { Value::hollow() }
            };
            t.dynamic.iter().zip(&t.plan.is_set).map(node).collect()
        };
        let count = t.plan.nodes.len();
        let mut values = Values {
            n,
            lower: blank(false),
            upper: blank(false),
            now: blank(true),
            changed: vec![0; count],
            computed: vec![0; count],
            clock: 0,
            turns: vec![None; t.plan.groups.len()],
            unsettled: false,
        };
        let none = Base::new(0);
        for id in &t.statics {
            values.compute(t, *id, Which::Now, &none, Some(skeleton));
        }
        values
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn at(&self, t: &Theory, which: Which, id: NodeId) -> &Value {
        let i = id as usize;
        match which {
            Which::Lower if t.dynamic[i] => &self.lower[i],
            Which::Upper if t.dynamic[i] => &self.upper[i],
            _ => &self.now[i],
        }
    }

    fn vec(&mut self, which: Which) -> &mut Vec<Value> {
        match which {
            Which::Lower => &mut self.lower,
            Which::Upper => &mut self.upper,
            Which::Now => &mut self.now,
        }
    }

    fn set(&self, t: &Theory, which: Which, id: NodeId) -> &Set {
        match self.at(t, which, id) {
            Value::Set(s) => s,
            Value::Rel(_) => unreachable!("the plan says which nodes are sets"),
        }
    }

    fn rel(&self, t: &Theory, which: Which, id: NodeId) -> &Rel {
        match self.at(t, which, id) {
            Value::Rel(r) => r,
            Value::Set(_) => unreachable!("the plan says which nodes are sets"),
        }
    }

    /// Bounds on every node from bounds on reads-from and coherence.
    pub fn bound(&mut self, t: &Theory, lower: &Base, upper: &Base, flags: bool) {
        let more = if flags { &t.for_flags[..] } else { &[] };
        for id in t.for_requires.iter().chain(more) {
            self.compute(t, *id, Which::Lower, lower, None);
            self.compute(t, *id, Which::Upper, upper, None);
        }
    }

    /// Computes the values on a complete execution, as far as they have changed.
    pub fn evaluate(&mut self, t: &Theory, base: &Base, flags: bool) {
        self.clock += 1;
        self.turns.fill(None);
        let more = if flags { &t.for_flags[..] } else { &[] };
        let mut old = Value::hollow();
        for id in t.for_requires.iter().chain(more) {
            let i = *id as usize;
            let (computed, changed) = (self.computed[i], &self.changed);
            let is_base = matches!(t.plan.nodes[i], Node::BaseRel(_) | Node::BaseSet(_));
            let stale = |x: &NodeId| t.dynamic[*x as usize] && changed[*x as usize] > computed;
            if computed != 0 && !is_base && !t.operands[i].iter().any(stale) {
                self.computed[i] = self.clock;
                continue;
            }
            old.clone_from(&self.now[i]);
            self.compute(t, *id, Which::Now, base, None);
            if computed == 0 || old != self.now[i] {
                self.changed[i] = self.clock;
            }
            self.computed[i] = self.clock;
        }
    }

    /// Computes one node from its operands.
    fn compute(
        &mut self,
        t: &Theory,
        id: NodeId,
        which: Which,
        base: &Base,
        skeleton: Option<&Skeleton>,
    ) {
        if let Node::Fix(g, v) = t.plan.nodes[id as usize] {
            self.solve(t, g, which, base, skeleton, None);
            let body = t.plan.groups[g as usize].bodies[v as usize];
            let value = self.at(t, which, body).clone();
            self.vec(which)[id as usize] = value;
            return;
        }
        let mut out = std::mem::replace(&mut self.vec(which)[id as usize], Value::hollow());
        match &mut out {
            Value::Set(s) => self.compute_set(t, id, which, base, skeleton, s),
            Value::Rel(r) => self.compute_rel(t, id, which, base, skeleton, r),
        }
        self.vec(which)[id as usize] = out;
    }

    /// Solves a fixpoint, turn by turn until its variables are stable. The values of each turn go to
    /// `turns`.
    fn solve(
        &mut self,
        t: &Theory,
        g: u32,
        which: Which,
        base: &Base,
        skeleton: Option<&Skeleton>,
        mut turns: Option<&mut Vec<Vec<Value>>>,
    ) {
        let group = &t.plan.groups[g as usize];
        let inner = &t.inner[g as usize];
        let var = |x: &NodeId| match t.plan.nodes[*x as usize] {
            Node::FixVar(_, v) => Some((v, *x)),
            _ => None,
        };
        let mut vars: Vec<(u32, NodeId)> = inner.iter().filter_map(var).collect();
        vars.sort_unstable();
        let vars: Vec<(NodeId, NodeId)> =
            vars.into_iter().map(|(v, x)| (x, group.bodies[v as usize])).collect();
        for (var, _) in &vars {
            self.vec(which)[*var as usize].clear();
        }
        if group.iterated {
            return self.iterate(t, &vars, inner, skeleton);
        }
        loop {
            for x in inner {
                if !matches!(t.plan.nodes[*x as usize], Node::FixVar(..)) {
                    self.compute(t, *x, which, base, skeleton);
                }
            }
            if let Some(turns) = &mut turns {
                turns.push(inner.iter().map(|x| self.at(t, which, *x).clone()).collect());
            }
            // Read all bodies before writing a variable, since a body may be a variable.
            let new: Vec<Value> = vars.iter().map(|(_, b)| self.at(t, which, *b).clone()).collect();
            let mut changed = false;
            for ((var, _), new) in vars.iter().zip(new) {
                let old = &mut self.vec(which)[*var as usize];
                if *old != new {
                    *old = new;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Solves a static definition that need not grow with itself, body by body.
    fn iterate(
        &mut self,
        t: &Theory,
        vars: &[(NodeId, NodeId)],
        inner: &[NodeId],
        skeleton: Option<&Skeleton>,
    ) {
        let none = Base::new(0);
        for _ in 0..MAX_ROUNDS {
            let mut over = true;
            for (var, body) in vars {
                for x in inner {
                    if !matches!(t.plan.nodes[*x as usize], Node::FixVar(..)) {
                        self.compute(t, *x, Which::Now, &none, skeleton);
                    }
                }
                let new = self.at(t, Which::Now, *body).clone();
                let old = &mut self.now[*var as usize];
                over &= new.is_within(old);
                *old = new;
            }
            if over {
                return;
            }
        }
        self.unsettled = true;
    }

    /// The values of a fixpoint's inner nodes on the execution at hand, turn by turn.
    pub fn turns(&mut self, t: &Theory, g: u32, base: &Base) -> &[Vec<Value>] {
        if self.turns[g as usize].is_none() {
            let mut turns = Vec::new();
            self.solve(t, g, Which::Now, base, None, Some(&mut turns));
            self.turns[g as usize] = Some(turns);
        }
        self.turns[g as usize].as_deref().unwrap_or(&[])
    }

    fn compute_set(
        &self,
        t: &Theory,
        id: NodeId,
        which: Which,
        base: &Base,
        skeleton: Option<&Skeleton>,
        out: &mut Set,
    ) {
        let set = |x: &NodeId| self.set(t, which, *x);
        let not = |x: &NodeId| self.set(t, other(which), *x);
        match &t.plan.nodes[id as usize] {
            Node::Union(a, b) => out.set_union(set(a), set(b)),
            Node::Inter(a, b) => out.set_inter(set(a), set(b)),
            Node::Diff(a, b) => out.set_diff(set(a), not(b)),
            Node::Complement(a) => *out = not(a).complement(),
            Node::Domain(r) => *out = self.rel(t, which, *r).domain(),
            Node::Range(r) => *out = self.rel(t, which, *r).range(),
            Node::BaseSet(BaseSet::Fw) => out.copy_from(&base.last),
            Node::BaseSet(b) => {
                if let Some(s) = skeleton {
                    s.set(*b, out);
                }
            }
            _ => out.clear(),
        }
    }

    fn compute_rel(
        &self,
        t: &Theory,
        id: NodeId,
        which: Which,
        base: &Base,
        skeleton: Option<&Skeleton>,
        out: &mut Rel,
    ) {
        let set = |x: &NodeId| self.set(t, which, *x);
        let rel = |x: &NodeId| self.rel(t, which, *x);
        let not = |x: &NodeId| self.rel(t, other(which), *x);
        match &t.plan.nodes[id as usize] {
            Node::Union(a, b) => out.set_union(rel(a), rel(b)),
            Node::Inter(a, b) => out.set_inter(rel(a), rel(b)),
            Node::Diff(a, b) => out.set_diff(rel(a), not(b)),
            Node::Complement(a) => out.set_complement(not(a)),
            Node::Seq(a, b) => out.set_seq(rel(a), rel(b)),
            Node::Inverse(a) => out.set_inverse(rel(a)),
            Node::Plus(a) => {
                out.copy_from(rel(a));
                out.close();
            }
            Node::Cross(a, b) => out.set_cross(set(a), set(b)),
            Node::IdentityOn(a) => out.set_identity_on(set(a)),
            Node::RestrictDomain(r, s) => out.set_restrict_domain(rel(r), set(s)),
            Node::RestrictRange(r, s) => out.set_restrict_range(rel(r), set(s)),
            Node::BaseRel(BaseRel::Rf) => out.copy_from(&base.rf),
            Node::BaseRel(BaseRel::Co) => out.copy_from(&base.co),
            Node::BaseRel(b) => {
                if let Some(s) = skeleton {
                    s.rel(*b, out);
                }
            }
            _ => out.clear(),
        }
    }

    /// Whether a check is satisfied.
    pub fn holds(&self, t: &Theory, check: &Check, which: Which) -> bool {
        let plain = match (self.at(t, which, check.node), check.shape) {
            (Value::Set(s), _) => s.is_empty(),
            (Value::Rel(r), Shape::Acyclic) => r.is_acyclic(),
            (Value::Rel(r), Shape::Irreflexive) => r.is_irreflexive(),
            (Value::Rel(r), Shape::Empty) => r.is_empty(),
        };
        plain == check.want
    }

    /// Whether the bounds leave it open that a check is satisfied.
    pub fn may_hold(&self, t: &Theory, check: &Check) -> bool {
        self.holds(t, check, if check.want { Which::Lower } else { Which::Upper })
    }
}

fn other(which: Which) -> Which {
    match which {
        Which::Lower => Which::Upper,
        Which::Upper => Which::Lower,
        Which::Now => Which::Now,
    }
}
