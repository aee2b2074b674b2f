//! A plan as a list of steps over numbered slots: what is static first, then what depends on
//! the search, with bounds from below and from above.
//!
//! A node that depends on reads-from or coherence has a lower bound (from what is decided) and,
//! where a negation asks for it, an upper bound (from what is still possible). A requirement
//! whose lower bound already has a cycle cannot be mended by deciding more, so the search cuts
//! there; on a complete execution both bounds are the value itself. This module does not know
//! any execution.

use smallvec::SmallVec;

use litmake_cat::plan::{BaseRel, BaseSet, Check, CheckKind, Node, NodeId, Plan, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bound {
    /// The node does not depend on the search.
    Static,
    Low,
    High,
}

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

    /// The least values that the variables can have, each that of its body.
    Fix(Vec<Body>),
}

/// A variable of a recursive definition and what it is.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) var: Slot,
    pub(super) is_set: bool,
    /// These compute `end`. What they share with earlier bodies stands there.
    pub(super) steps: Vec<Step>,
    pub(super) end: Slot,
    /// The bodies that take the variable, a bit for each, and the later ones that share steps of
    /// this one; where there are more than 64, of no use.
    pub(super) readers: u64,
    pub(super) feeds: u64,
}

impl Code {
    /// Takes relations, and perhaps a set, and gives a relation.
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

    /// The slots that are read, and whether each is a set.
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
    /// The slots that are given, and whether each is a set.
    fn each_result(&self, f: &mut dyn FnMut(Slot, bool)) {
        match &self.code {
            Code::Fix(bodies) => bodies.iter().for_each(|body| f(body.var, body.is_set)),
            code => f(self.out, !code.gives_relation()),
        }
    }
}

/// When a check can be looked at, and what it looks at.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) check: usize,
    pub(super) shape: Shape,
    pub(super) negated: bool,
    pub(super) is_set: bool,
    /// Slot of the value on complete executions, and of the bound that decides early.
    pub(super) low: Slot,
    pub(super) early: Slot,
    /// How many of a skeleton's live steps must have run.
    pub(super) steps: usize,
}

/// A model ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) statics: Vec<Step>,
    pub(super) dynamics: Vec<Step>,
    pub(super) sets: u32,
    pub(super) rels: u32,
    /// The dynamic steps whose results each dynamic step takes.
    pub(super) inputs: Vec<SmallVec<[u32; 2]>>,
    /// The dynamic step that makes each relation, and each set, that depends on the search.
    pub(super) rel_makers: Vec<Option<u32>>,
    pub(super) set_makers: Vec<Option<u32>>,
    /// Which relations are known once a skeleton is.
    pub(super) static_rels: Vec<bool>,
    /// Which sets depend on the search.
    pub(super) dynamic_sets: Vec<bool>,
    /// Requirements that depend on the search, cheapest first, and those that do not.
    pub(super) requires: Vec<Test>,
    pub(super) static_requires: Vec<Test>,
    pub(super) flags: Vec<Test>,
    pub checks: Vec<Check>,
    /// Register events are looked at.
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

impl Program {
    pub fn new(plan: &Plan) -> Result<Program, NotMonotone> {
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
            let low = c.node(node, Bound::Low)?;
            // What decides early: a requirement fails for good when its lower bound does (its
            // upper, where negated); a flag can still be raised as far as the other bound goes.
            let wants_high = match check.kind {
                CheckKind::UndefinedUnless => !check.negated,
                _ => check.negated,
            };
            let early = if wants_high { c.node(node, Bound::High)? } else { low };
            let test = Test {
                check: index,
                shape,
                negated: check.negated,
                is_set: plan.is_set[node as usize],
                low,
                early,
                steps: 0,
            };
            match check.kind {
                CheckKind::Require if is_static => static_requires.push(test),
                CheckKind::Require => requires.push(test),
                _ => flags.push(test),
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
        Ok(Program {
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

/// What makes each relation and each set, and what each dynamic step takes of it.
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

/// Notes which bodies of a recursive definition take each other's variables and steps.
fn note_readers(bodies: &mut [Body]) {
    type Known = rustc_hash::FxHashMap<(Slot, bool), (u64, Option<usize>)>;
    let mut readers = vec![0u64; bodies.len()];
    let mut feeds = vec![0u64; bodies.len()];
    let bit = |k: usize| 1u64 << (k % 64);
    // By slot: the variables that go into a value, and the body whose step it is.
    let mut known: Known = bodies
        .iter()
        .enumerate()
        .map(|(k, body)| ((body.var, body.is_set), (bit(k), None)))
        .collect();
    for (k, body) in bodies.iter().enumerate() {
        let mut note = |slot: Slot, is_set: bool, known: &Known| {
            let Some((vars, of)) = known.get(&(slot, is_set)) else { return 0 };
            if let Some(of) = of.filter(|of| *of != k) {
                feeds[of] |= bit(k);
            }
            *vars
        };
        let mut all = 0;
        for step in &body.steps {
            let mut vars = 0;
            step.code.each_operand(&mut |slot, is_set| vars |= note(slot, is_set, &known));
            all |= vars;
            step.each_result(&mut |slot, is_set| {
                known.insert((slot, is_set), (vars, Some(k)));
            });
        }
        all |= note(body.end, body.is_set, &known);
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

/// What it takes to compute a node: an estimate, by which cheap requirements come first.
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
    // Operands stand before what they are operands of.
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
            Bound::Low => Bound::High,
            Bound::High => Bound::Low,
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
                // Every variable of the group is solved by the one loop.
                for (v, slot) in vars.iter().enumerate() {
                    self.vars.remove(&(group, v as u32, bound));
                    if v as u32 != index
                        && let Some(other) =
                            self.plan.nodes.iter().position(|n| *n == Node::Fix(group, v as u32))
                    {
                        self.slots.insert((other as NodeId, bound), *slot);
                    }
                }
                // What the loop computes along the way is not valid outside it.
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

    /// Steps on variables of a fixpoint go into its loop; all others before it, once.
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
