//! Compiles a model's plan to a list of steps over numbered slots: first the static steps, then
//! those that depend on the search, with lower and upper bounds.
//!
//! A node that depends on reads-from or coherence has a lower bound (what is in it in every
//! completion of a partial execution) and, where a negation needs it, an upper bound (what is in it
//! in some completion). When the lower bound of a requirement already has a cycle, no further
//! decision removes it, so the search cuts there. On a complete execution both bounds are the exact
//! value. This module does not know any execution.

use smallvec::SmallVec;

use litmake_cat::plan::{BaseRel, BaseSet, Check, CheckKind, Node, NodeId, Plan, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bound {
    /// The node does not depend on the search, so its value is exact.
    Static,
    /// The elements that the node has in every completion.
    Lower,
    /// The elements that the node has in some completion.
    Upper,
}

/// The number of a set or of a relation; sets and relations are numbered apart.
pub(super) type Slot = u32;

#[derive(Clone, Debug)]
pub(super) enum Code {
    SetUnion(Slot, Slot),
    SetInter(Slot, Slot),
    SetDiff(Slot, Slot),
    SetComplement(Slot),
    Domain(Slot),
    Range(Slot),
    FinalWrites(Bound),
    StaticSet(BaseSet),
    EmptySet,

    RelUnion(Slot, Slot),
    RelInter(Slot, Slot),
    RelDiff(Slot, Slot),
    RelComplement(Slot),
    Seq(Slot, Slot),
    Inverse(Slot),
    Plus(Slot),
    Cross(Slot, Slot),
    IdentityOn(Slot),
    RestrictDomain(Slot, Slot),
    RestrictRange(Slot, Slot),
    StaticRel(BaseRel),
    EmptyRel,
    Rf(Bound),
    Co(Bound),

    /// A recursive definition: the least solution in which each variable equals its body.
    Fix(Vec<Body>),
}

/// A variable of a recursive definition, with its body: the steps that compute its value.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) var: Slot,
    pub(super) is_set: bool,
    /// These compute `end`. A step that several bodies share is in the first of them.
    pub(super) steps: Vec<Step>,
    pub(super) end: Slot,
    /// The bodies that read the variable, as a mask. Masks are used only up to 64 bodies.
    pub(super) readers: u64,
    /// The later bodies that use steps of this one, as a mask.
    pub(super) feeds: u64,
}

impl Code {
    /// Whether the step makes a relation of relations, and perhaps a set.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        matches!(
            self,
            Code::RelUnion(..)
                | Code::RelInter(..)
                | Code::RelDiff(..)
                | Code::Seq(..)
                | Code::RestrictDomain(..)
                | Code::RestrictRange(..)
                | Code::Plus(_)
                | Code::Inverse(_)
        )
    }

    /// Calls `f` with each slot that the step reads, and whether it is a set.
    fn each_operand(&self, f: &mut dyn FnMut(Slot, bool)) {
        match self {
            Code::SetUnion(a, b)
            | Code::SetInter(a, b)
            | Code::SetDiff(a, b)
            | Code::Cross(a, b) => {
                f(*a, true);
                f(*b, true);
            }
            Code::SetComplement(a) | Code::IdentityOn(a) => f(*a, true),
            Code::Domain(r) | Code::Range(r) | Code::RelComplement(r) => f(*r, false),
            Code::Inverse(r) | Code::Plus(r) => f(*r, false),
            Code::RelUnion(a, b) | Code::RelInter(a, b) | Code::RelDiff(a, b) | Code::Seq(a, b) => {
                f(*a, false);
                f(*b, false);
            }
            Code::RestrictDomain(r, s) | Code::RestrictRange(r, s) => {
                f(*r, false);
                f(*s, true);
            }
            Code::Fix(bodies) => {
                for body in bodies {
                    body.steps.iter().for_each(|s| s.code.each_operand(f));
                    f(body.end, body.is_set);
                }
            }
            Code::FinalWrites(_) | Code::Rf(_) | Code::Co(_) => {}
            Code::StaticSet(_) | Code::EmptySet | Code::StaticRel(_) | Code::EmptyRel => {}
        }
    }

    pub(super) fn gives_relation(&self) -> bool {
        !matches!(
            self,
            Code::SetUnion(..)
                | Code::SetInter(..)
                | Code::SetDiff(..)
                | Code::SetComplement(_)
                | Code::Domain(_)
                | Code::Range(_)
                | Code::FinalWrites(_)
                | Code::StaticSet(_)
                | Code::EmptySet
                | Code::Fix(_)
        )
    }
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) out: Slot,
    pub(super) code: Code,
}

impl Step {
    /// Calls `f` with each slot that the step writes, and whether it is a set.
    fn each_result(&self, f: &mut dyn FnMut(Slot, bool)) {
        match &self.code {
            Code::Fix(bodies) => bodies.iter().for_each(|body| f(body.var, body.is_set)),
            code => f(self.out, !code.gives_relation()),
        }
    }
}

/// A check of the model, with the slots that it looks at and the steps that have to run before.
#[derive(Clone, Debug)]
pub(super) struct CompiledCheck {
    /// The number of the check in the plan.
    pub(super) index: usize,
    pub(super) shape: Shape,
    pub(super) negated: bool,
    pub(super) is_set: bool,
    /// The slot whose value is exact on complete executions.
    pub(super) exact: Slot,
    /// The slot of the bound that decides on partial executions.
    pub(super) early: Slot,
    /// How many of a skeleton's live steps must have run before.
    pub(super) steps: usize,
    /// Whether it is a requirement that more reads-from or coherence can only break.
    pub(super) grows: bool,
}

/// A model as steps, ready to run on skeletons.
#[derive(Clone, Debug)]
pub struct CompiledModel {
    pub(super) statics: Vec<Step>,
    pub(super) dynamics: Vec<Step>,
    pub(super) sets: u32,
    pub(super) rels: u32,
    /// For each dynamic step, the dynamic steps whose results it reads.
    pub(super) inputs: Vec<SmallVec<[u32; 2]>>,
    /// For each relation, and each set, the dynamic step that makes it.
    pub(super) rel_makers: Vec<Option<u32>>,
    pub(super) set_makers: Vec<Option<u32>>,
    /// Which relations a skeleton alone determines.
    pub(super) static_rels: Vec<bool>,
    /// Which sets depend on the search.
    pub(super) dynamic_sets: Vec<bool>,
    /// Requirements that depend on the search, cheapest first, and static ones.
    pub(super) requires: Vec<CompiledCheck>,
    pub(super) static_requires: Vec<CompiledCheck>,
    pub(super) flags: Vec<CompiledCheck>,
    pub checks: Vec<Check>,
    /// Whether the model sees register events.
    pub registers: bool,
}

/// Why a plan cannot run here.
#[derive(Clone, Debug)]
pub struct NotMonotone(pub String);

struct Compiler<'p> {
    plan: &'p Plan,
    dynamic: Vec<bool>,
    slots: rustc_hash::FxHashMap<(NodeId, Bound), Slot>,
    vars: rustc_hash::FxHashMap<(u32, u32, Bound), Slot>,
    statics: Vec<Step>,
    dynamics: Vec<Step>,
    /// Steps of the fixpoints being compiled, innermost last.
    inner: Vec<Vec<Step>>,
    /// Whether a node depends on a variable of some fixpoint.
    open: Vec<bool>,
    sets: u32,
    rels: u32,
}

impl CompiledModel {
    pub fn new(plan: &Plan) -> Result<CompiledModel, NotMonotone> {
        let mut c = Compiler {
            plan,
            dynamic: plan.varying(),
            slots: Default::default(),
            vars: Default::default(),
            statics: Vec::new(),
            dynamics: Vec::new(),
            inner: Vec::new(),
            open: open(plan),
            sets: 0,
            rels: 0,
        };
        let mut requires = Vec::new();
        let mut static_requires = Vec::new();
        let mut flags = Vec::new();
        let mut order: Vec<usize> = (0..plan.checks.len()).collect();
        order.sort_by_key(|i| cost(plan, &c.dynamic, plan.checks[*i].node));
        for index in order {
            let check = &plan.checks[index];
            if check.kind == CheckKind::Assert {
                continue;
            }
            // `irreflexive r+` is `acyclic r`, which needs no closure.
            let (shape, node) = match (check.shape, &plan.nodes[check.node as usize]) {
                (Shape::Irreflexive | Shape::Acyclic, Node::Plus(inner)) => {
                    (Shape::Acyclic, *inner)
                }
                (shape, _) => (shape, check.node),
            };
            let is_static = !c.dynamic[node as usize];
            let lower = c.node(node, Bound::Lower)?;
            // A requirement fails for good when its lower bound does (a negated one, its upper bound).
            // A flag can still be raised if its bound can.
            let wants_upper = match check.kind {
                CheckKind::UndefinedUnless => !check.negated,
                _ => check.negated,
            };
            let early = if wants_upper { c.node(node, Bound::Upper)? } else { lower };
            let compiled = CompiledCheck {
                index,
                shape,
                negated: check.negated,
                is_set: plan.is_set[node as usize],
                exact: lower,
                early,
                steps: 0,
                grows: false,
            };
            match check.kind {
                CheckKind::Require if is_static => static_requires.push(compiled),
                CheckKind::Require => requires.push(compiled),
                _ => flags.push(compiled),
            }
        }
        let mut dynamic_sets = vec![false; c.sets as usize];
        note_sets(&c.dynamics, &mut dynamic_sets);
        let mut static_rels = vec![false; c.rels as usize];
        for step in &c.statics {
            step.each_result(&mut |slot, is_set| {
                if !is_set {
                    static_rels[slot as usize] = true;
                }
            });
        }
        let (rel_makers, set_makers, inputs) = makers(&c);
        Ok(CompiledModel {
            inputs,
            rel_makers,
            set_makers,
            static_rels,
            dynamic_sets,
            statics: c.statics,
            dynamics: c.dynamics,
            sets: c.sets,
            rels: c.rels,
            requires,
            static_requires,
            flags,
            checks: plan.checks.clone(),
            registers: plan.catdep,
        })
    }
}

/// The dynamic step that makes each relation and each set, and the inputs of each dynamic step.
#[expect(clippy::type_complexity, reason = "the three belong together once, here")]
fn makers(c: &Compiler) -> (Vec<Option<u32>>, Vec<Option<u32>>, Vec<SmallVec<[u32; 2]>>) {
    let mut rels = vec![None; c.rels as usize];
    let mut sets = vec![None; c.sets as usize];
    for (i, step) in c.dynamics.iter().enumerate() {
        step.each_result(&mut |slot, is_set| {
            let of = if is_set { &mut sets } else { &mut rels };
            of[slot as usize] = Some(i as u32);
        });
    }
    let inputs = c.dynamics.iter().enumerate().map(|(i, step)| {
        let mut inputs = SmallVec::new();
        step.code.each_operand(&mut |slot, is_set| {
            let of = if is_set { &sets } else { &rels };
            if let Some(maker) = of[slot as usize]
                && maker != i as u32
                && !inputs.contains(&maker)
            {
                inputs.push(maker);
            }
        });
        inputs
    });
    let inputs = inputs.collect();
    (rels, sets, inputs)
}

/// Notes which bodies of a recursive definition read each other's variables and steps.
fn note_readers(bodies: &mut [Body]) {
    type Origins = rustc_hash::FxHashMap<(Slot, bool), (u64, Option<usize>)>;
    let mut readers = vec![0u64; bodies.len()];
    let mut feeds = vec![0u64; bodies.len()];
    let bit = |k: usize| 1u64 << (k % 64);
    // For each slot: the variables that its value comes from, and the body whose step writes it.
    let mut origins: Origins = bodies
        .iter()
        .enumerate()
        .map(|(k, body)| ((body.var, body.is_set), (bit(k), None)))
        .collect();
    for (k, body) in bodies.iter().enumerate() {
        let mut note = |slot: Slot, is_set: bool, origins: &Origins| {
            let Some((vars, of)) = origins.get(&(slot, is_set)) else { return 0 };
            if let Some(of) = of.filter(|of| *of != k) {
                feeds[of] |= bit(k);
            }
            *vars
        };
        let mut all = 0;
        for step in &body.steps {
            let mut vars = 0;
            step.code.each_operand(&mut |slot, is_set| vars |= note(slot, is_set, &origins));
            all |= vars;
            step.each_result(&mut |slot, is_set| {
                origins.insert((slot, is_set), (vars, Some(k)));
            });
        }
        all |= note(body.end, body.is_set, &origins);
        for (v, readers) in readers.iter_mut().enumerate() {
            if all & bit(v) != 0 {
                *readers |= bit(k);
            }
        }
    }
    for ((body, readers), feeds) in bodies.iter_mut().zip(readers).zip(feeds) {
        (body.readers, body.feeds) = (readers, feeds);
    }
}

/// Marks the sets that steps compute.
fn note_sets(steps: &[Step], sets: &mut [bool]) {
    for step in steps {
        step.each_result(&mut |slot, is_set| {
            if is_set {
                sets[slot as usize] = true;
            }
        });
        if let Code::Fix(bodies) = &step.code {
            bodies.iter().for_each(|body| note_sets(&body.steps, sets));
        }
    }
}

/// An estimate of the work to compute a node. Cheap requirements are checked first.
fn cost(plan: &Plan, dynamic: &[bool], node: NodeId) -> u32 {
    let mut seen = vec![false; plan.nodes.len()];
    let mut todo = vec![node];
    let mut sum = 0;
    while let Some(id) = todo.pop() {
        let i = id as usize;
        if seen[i] || !dynamic[i] {
            continue;
        }
        seen[i] = true;
        sum += match plan.nodes[i] {
            Node::Plus(_) => 8,
            Node::Fix(..) => 40,
            Node::Seq(..) | Node::Inverse(_) => 4,
            _ => 1,
        };
        if let Node::Fix(g, _) | Node::FixVar(g, _) = plan.nodes[i] {
            todo.extend(&plan.groups[g as usize].bodies);
        }
        todo.extend(plan.nodes[i].operands());
    }
    sum
}

/// For each node, whether it depends on a fixpoint variable that is not bound inside it.
fn open(plan: &Plan) -> Vec<bool> {
    let mut open: Vec<bool> = Vec::with_capacity(plan.nodes.len());
    // The plan lists operands before the nodes that use them.
    for node in &plan.nodes {
        open.push(match node {
            Node::FixVar(..) => true,
            Node::Fix(..) => false,
            other => other.operands().any(|c| open[c as usize]),
        });
    }
    open
}

impl Compiler<'_> {
    fn fresh(&mut self, is_set: bool) -> Slot {
        let counter = if is_set { &mut self.sets } else { &mut self.rels };
        *counter += 1;
        *counter - 1
    }

    fn flip(bound: Bound) -> Bound {
        match bound {
            Bound::Static => Bound::Static,
            Bound::Lower => Bound::Upper,
            Bound::Upper => Bound::Lower,
        }
    }

    fn node(&mut self, id: NodeId, bound: Bound) -> Result<Slot, NotMonotone> {
        let i = id as usize;
        let bound = if self.dynamic[i] { bound } else { Bound::Static };
        if let Node::FixVar(g, v) = self.plan.nodes[i] {
            return self.vars.get(&(g, v, bound)).copied().ok_or_else(|| {
                NotMonotone("a recursive definition that uses itself under a negation".into())
            });
        }
        if let Some(slot) = self.slots.get(&(id, bound)) {
            return Ok(*slot);
        }
        let is_set = self.plan.is_set[i];
        let same = |c: &mut Self, n| c.node(n, bound);
        let code = match self.plan.nodes[i].clone() {
            Node::BaseSet(BaseSet::Fw) => Code::FinalWrites(bound),
            Node::BaseSet(b) => Code::StaticSet(b),
            Node::BaseRel(BaseRel::Rf) => Code::Rf(bound),
            Node::BaseRel(BaseRel::Co) => Code::Co(bound),
            Node::BaseRel(b) => Code::StaticRel(b),
            Node::EmptySet => Code::EmptySet,
            Node::EmptyRel => Code::EmptyRel,
            Node::Union(a, b) => {
                let (a, b) = (same(self, a)?, same(self, b)?);
                if is_set { Code::SetUnion(a, b) } else { Code::RelUnion(a, b) }
            }
            Node::Inter(a, b) => {
                let (a, b) = (same(self, a)?, same(self, b)?);
                if is_set { Code::SetInter(a, b) } else { Code::RelInter(a, b) }
            }
            Node::Diff(a, b) => {
                let (a, b) = (same(self, a)?, self.node(b, Self::flip(bound))?);
                if is_set { Code::SetDiff(a, b) } else { Code::RelDiff(a, b) }
            }
            Node::Complement(a) => {
                let a = self.node(a, Self::flip(bound))?;
                if is_set { Code::SetComplement(a) } else { Code::RelComplement(a) }
            }
            Node::Seq(a, b) => Code::Seq(same(self, a)?, same(self, b)?),
            Node::Inverse(a) => Code::Inverse(same(self, a)?),
            Node::Plus(a) => Code::Plus(same(self, a)?),
            Node::Cross(a, b) => Code::Cross(same(self, a)?, same(self, b)?),
            Node::IdentityOn(a) => Code::IdentityOn(same(self, a)?),
            Node::Domain(a) => Code::Domain(same(self, a)?),
            Node::Range(a) => Code::Range(same(self, a)?),
            Node::RestrictDomain(r, s) => Code::RestrictDomain(same(self, r)?, same(self, s)?),
            Node::RestrictRange(r, s) => Code::RestrictRange(same(self, r)?, same(self, s)?),
            Node::FixVar(..) => unreachable!("handled above"),
            Node::Fix(group, index) => {
                let g = &self.plan.groups[group as usize];
                let (bodies, iterated) = (g.bodies.clone(), g.iterated);
                let kinds = g.is_set.clone();
                let mut vars = Vec::new();
                for (v, is_set) in kinds.iter().enumerate() {
                    let slot = self.fresh(*is_set);
                    self.vars.insert((group, v as u32, bound), slot);
                    vars.push(slot);
                }
                let mut solved = Vec::new();
                for ((node, var), is_set) in bodies.iter().zip(&vars).zip(kinds) {
                    self.inner.push(Vec::new());
                    let end = self.node(*node, bound);
                    let steps = self.inner.pop().unwrap_or_default();
                    let end = end?;
                    solved.push(Body { var: *var, is_set, steps, end, readers: 0, feeds: 0 });
                    if iterated {
                        // Later bodies see other values of the variables.
                        self.slots.retain(|(node, _), _| !self.open[*node as usize]);
                    }
                }
                note_readers(&mut solved);
                // The one loop solves every variable of the group.
                for (v, slot) in vars.iter().enumerate() {
                    self.vars.remove(&(group, v as u32, bound));
                    if v as u32 != index
                        && let Some(other) =
                            self.plan.nodes.iter().position(|n| *n == Node::Fix(group, v as u32))
                    {
                        self.slots.insert((other as NodeId, bound), *slot);
                    }
                }
                // Values that the loop computes along the way are valid inside it only.
                let own = vars[index as usize];
                self.slots.retain(|(node, _), _| !self.open[*node as usize]);
                self.slots.insert((id, bound), own);
                let step = Step { out: own, code: Code::Fix(solved) };
                self.emit(false, bound, step);
                return Ok(own);
            }
        };
        let out = self.fresh(is_set);
        self.slots.insert((id, bound), out);
        self.emit(self.open[i], bound, Step { out, code });
        Ok(out)
    }

    /// Adds a step: to the innermost loop if it uses a loop's variable, else before the loops.
    fn emit(&mut self, open: bool, bound: Bound, step: Step) {
        if open && let Some(inner) = self.inner.last_mut() {
            inner.push(step);
        } else if bound == Bound::Static {
            self.statics.push(step);
        } else {
            self.dynamics.push(step);
        }
    }
}
