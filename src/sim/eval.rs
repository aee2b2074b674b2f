//! A plan made ready to run: what is static is computed once for a skeleton, the rest for each
//! partial execution, with bounds from below and from above.
//!
//! A node that depends on reads-from or coherence has a lower bound (from what is decided) and,
//! where a negation asks for it, an upper bound (from what is still possible). A requirement
//! whose lower bound already has a cycle cannot be mended by deciding more, so the search cuts
//! there; on a complete execution both bounds are the value itself.

use smallvec::SmallVec;

use super::search::Judge;
use super::skeleton::Skeleton;
use crate::cat::plan::{BaseRel, BaseSet, Check, CheckKind, Node, NodeId, Plan, Shape};
use crate::rel::{Rel, Set, rows};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Bound {
    /// The node does not depend on the search.
    Static,
    Low,
    High,
}

type Slot = u32;

#[derive(Clone, Debug)]
enum Code {
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

    /// Runs the steps until the bodies' values (second) are those of the variables (first).
    Fix {
        steps: Vec<Step>,
        vars: Vec<(Slot, Slot, bool)>,
    },
}

impl Step {
    /// What the result depends on, noted for its slot.
    fn note_needs(&self, rels: &mut [Needs], sets: &mut [Needs]) -> Needs {
        let join = |a: Needs, b: Needs| Needs { rf: a.rf || b.rf, co: a.co || b.co };
        let rel = |s: &Slot| rels[*s as usize];
        let set = |s: &Slot| sets[*s as usize];
        let needs = match &self.code {
            Code::SetUnion(a, b) | Code::SetInter(a, b) | Code::SetDiff(a, b) => {
                join(set(a), set(b))
            }
            Code::Cross(a, b) => join(set(a), set(b)),
            Code::SetComplement(a) | Code::IdentityOn(a) => set(a),
            Code::Domain(a)
            | Code::Range(a)
            | Code::RelComplement(a)
            | Code::Inverse(a)
            | Code::Plus(a) => rel(a),
            Code::RelUnion(a, b) | Code::RelInter(a, b) | Code::RelDiff(a, b) | Code::Seq(a, b) => {
                join(rel(a), rel(b))
            }
            Code::RestrictDomain(r, s) | Code::RestrictRange(r, s) => join(rel(r), set(s)),
            Code::FinalWrites(_) | Code::Co(_) => Needs { rf: false, co: true },
            Code::Rf(_) => Needs { rf: true, co: false },
            // Recursive definitions are few; taking them to need all is simple and safe.
            Code::Fix { vars, .. } => {
                let all = Needs { rf: true, co: true };
                for (var, _, is_set) in vars {
                    if *is_set {
                        sets[*var as usize] = all;
                    } else {
                        rels[*var as usize] = all;
                    }
                }
                return all;
            }
            Code::StaticSet(_) | Code::EmptySet | Code::StaticRel(_) | Code::EmptyRel => {
                Needs::default()
            }
        };
        if self.code.gives_relation() {
            rels[self.out as usize] = needs;
        } else {
            sets[self.out as usize] = needs;
        }
        needs
    }
}

/// What a step comes to once some operands are known to be empty.
enum Simple {
    Empty,
    Copy(Slot),
    No,
}

impl Code {
    fn gives_relation(&self) -> bool {
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
                | Code::Fix { .. }
        )
    }

    /// Reads relations from the slots that stand for them.
    fn rename(&mut self, stands: &[Slot]) {
        let of = |s: &mut Slot| *s = stands[*s as usize];
        match self {
            Code::RelUnion(a, b) | Code::RelInter(a, b) | Code::RelDiff(a, b) | Code::Seq(a, b) => {
                of(a);
                of(b);
            }
            Code::RelComplement(a)
            | Code::Inverse(a)
            | Code::Plus(a)
            | Code::Domain(a)
            | Code::Range(a)
            | Code::RestrictDomain(a, _)
            | Code::RestrictRange(a, _) => of(a),
            Code::Fix { steps, vars } => {
                for step in steps {
                    step.code.rename(stands);
                }
                for (_, end, is_set) in vars {
                    if !*is_set {
                        of(end);
                    }
                }
            }
            _ => {}
        }
    }

    fn simple(
        &self,
        none: &dyn Fn(Slot) -> bool,
        no_set: &dyn Fn(Slot) -> bool,
        dynamic_sets: &[bool],
    ) -> Simple {
        let no_set = |s: Slot| !dynamic_sets[s as usize] && no_set(s);
        match *self {
            Code::RelUnion(a, b) if none(a) && none(b) => Simple::Empty,
            Code::RelUnion(a, b) if none(b) => Simple::Copy(a),
            Code::RelUnion(a, b) if none(a) => Simple::Copy(b),
            Code::RelInter(a, b) | Code::Seq(a, b) if none(a) || none(b) => Simple::Empty,
            Code::RelDiff(a, _) if none(a) => Simple::Empty,
            Code::RelDiff(a, b) if none(b) => Simple::Copy(a),
            Code::Inverse(a) | Code::Plus(a) if none(a) => Simple::Empty,
            Code::RestrictDomain(a, s) | Code::RestrictRange(a, s) if none(a) || no_set(s) => {
                Simple::Empty
            }
            Code::Cross(a, b) if no_set(a) || no_set(b) => Simple::Empty,
            _ => Simple::No,
        }
    }
}

#[derive(Clone, Debug)]
struct Step {
    out: Slot,
    code: Code,
}

/// When a check can be looked at, and what it looks at.
#[derive(Clone, Debug)]
struct Test {
    check: usize,
    shape: Shape,
    negated: bool,
    is_set: bool,
    /// Slot of the value on complete executions, and of the bound that decides early.
    low: Slot,
    early: Slot,
    /// How many of the dynamic steps must have run.
    steps: usize,
}

/// A model ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    statics: Vec<Step>,
    dynamics: Vec<Step>,
    sets: u32,
    rels: u32,
    /// Which relations are known once a skeleton is.
    static_rels: Vec<bool>,
    /// Which sets depend on the search.
    dynamic_sets: Vec<bool>,
    /// Requirements that depend on the search, cheapest first, and those that do not.
    requires: Vec<Test>,
    static_requires: Vec<Test>,
    flags: Vec<Test>,
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
        let (dynamic, open) = depends(plan);
        let mut c = Compiler {
            plan,
            dynamic,
            slots: Default::default(),
            vars: Default::default(),
            statics: Vec::new(),
            dynamics: Vec::new(),
            inner: Vec::new(),
            open,
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
                steps: c.dynamics.len(),
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
            match &step.code {
                Code::Fix { vars, .. } => {
                    for (var, _, _) in vars.iter().filter(|v| !v.2) {
                        static_rels[*var as usize] = true;
                    }
                }
                code if code.gives_relation() => static_rels[step.out as usize] = true,
                _ => {}
            }
        }
        Ok(Program {
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

/// Marks the sets that steps compute.
fn note_sets(steps: &[Step], sets: &mut [bool]) {
    for step in steps {
        match &step.code {
            Code::Fix { steps, vars } => {
                note_sets(steps, sets);
                for (var, _, _) in vars.iter().filter(|v| v.2) {
                    sets[*var as usize] = true;
                }
            }
            code if !code.gives_relation() => sets[step.out as usize] = true,
            _ => {}
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
        todo.extend(children(&plan.nodes[i]));
    }
    sum
}

/// For each node, whether it depends on rf or co, and whether on a fixpoint variable that is
/// not bound inside it.
fn depends(plan: &Plan) -> (Vec<bool>, Vec<bool>) {
    let n = plan.nodes.len();
    let mut dynamic = vec![false; n];
    let mut open = vec![false; n];
    let mut group_dynamic = vec![false; plan.groups.len()];
    // A group is dynamic where any body is; bodies may refer to the variables before the
    // bodies are known to be, so go round until nothing changes.
    loop {
        let mut changed = false;
        for (i, node) in plan.nodes.iter().enumerate() {
            let d = match node {
                Node::BaseRel(b) => matches!(b, BaseRel::Rf | BaseRel::Co),
                Node::BaseSet(b) => *b == BaseSet::Fw,
                Node::FixVar(g, _) | Node::Fix(g, _) => group_dynamic[*g as usize],
                other => children(other).any(|c| dynamic[c as usize]),
            };
            let o = match node {
                Node::FixVar(..) => true,
                Node::Fix(..) => false,
                other => children(other).any(|c| open[c as usize]),
            };
            changed |= d != dynamic[i] || o != open[i];
            dynamic[i] = d;
            open[i] = o;
        }
        for (g, group) in plan.groups.iter().enumerate() {
            let d = group.bodies.iter().any(|b| dynamic[*b as usize]);
            changed |= d != group_dynamic[g];
            group_dynamic[g] = d;
        }
        if !changed {
            return (dynamic, open);
        }
    }
}

fn children(node: &Node) -> impl Iterator<Item = NodeId> {
    let (a, b) = match *node {
        Node::Union(a, b)
        | Node::Inter(a, b)
        | Node::Diff(a, b)
        | Node::Seq(a, b)
        | Node::Cross(a, b)
        | Node::RestrictDomain(a, b)
        | Node::RestrictRange(a, b) => (Some(a), Some(b)),
        Node::Complement(a)
        | Node::Inverse(a)
        | Node::Plus(a)
        | Node::IdentityOn(a)
        | Node::Domain(a)
        | Node::Range(a) => (Some(a), None),
        _ => (None, None),
    };
    a.into_iter().chain(b)
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
                let bodies = g.bodies.clone();
                let kinds = g.is_set.clone();
                let mut vars = Vec::new();
                for (v, is_set) in kinds.iter().enumerate() {
                    let slot = self.fresh(*is_set);
                    self.vars.insert((group, v as u32, bound), slot);
                    vars.push(slot);
                }
                self.inner.push(Vec::new());
                let mut ends = Vec::new();
                for body in &bodies {
                    ends.push(self.node(*body, bound));
                }
                let steps = self.inner.pop().unwrap_or_default();
                let mut pairs = Vec::new();
                for ((var, end), is_set) in vars.iter().zip(ends).zip(&kinds) {
                    pairs.push((*var, end?, *is_set));
                }
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
                let step = Step { out: own, code: Code::Fix { steps, vars: pairs } };
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

/// What is decided and what is possible, of reads-from and coherence.
#[derive(Clone, Debug)]
pub struct Choices {
    pub rf_low: Rel,
    pub rf_high: Rel,
    pub co_low: Rel,
    pub co_high: Rel,
    /// Change whenever reads-from, or coherence, does: never the same for two states of one
    /// skeleton's search.
    pub rf_stamp: u64,
    pub co_stamp: u64,
}

/// The values of a program's slots for one skeleton, all relations in one allocation and all
/// sets in another. A step's operands lie before its result, so that the two can be borrowed
/// apart.
#[derive(Default)]
pub struct Machine {
    n: usize,
    words: usize,
    sets: Vec<u64>,
    rels: Vec<u64>,
    writes: Vec<u64>,
    live: Live,
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Needs {
    rf: bool,
    co: bool,
}

impl Live {
    /// Prepares for other choices: what ran with the same ones need not run again.
    fn turn_to(&mut self, choices: &Choices) {
        for (done, stamp) in
            [(&mut self.rf_done, choices.rf_stamp), (&mut self.co_done, choices.co_stamp)]
        {
            if done.0 != stamp {
                *done = (stamp, 0);
            }
        }
    }

    /// Whether the result of a step is still there.
    fn is_done(&self, step: usize) -> bool {
        let needs = self.needs[step];
        (!needs.rf || step < self.rf_done.1) && (!needs.co || step < self.co_done.1)
    }

    /// The first `steps` steps have run.
    fn ran(&mut self, steps: usize) {
        self.rf_done.1 = self.rf_done.1.max(steps);
        self.co_done.1 = self.co_done.1.max(steps);
    }
}

/// What is left to do for a skeleton: steps whose result is empty whatever is decided are
/// gone, and those that copy an operand stand for it.
#[derive(Default)]
struct Live {
    steps: Vec<Step>,
    /// What each step depends on.
    needs: Vec<Needs>,
    /// How many of the first steps have run with the reads-from, and with the coherence, of
    /// these stamps.
    rf_done: (u64, usize),
    co_done: (u64, usize),
    requires: Vec<Test>,
    flags: Vec<Test>,
    /// Some flag can be raised.
    flags_possible: bool,
}

/// The slot at `out`, to be written, and all before it.
#[inline(always)]
fn split(bits: &mut [u64], out: Slot, stride: usize) -> (&[u64], &mut [u64]) {
    let (before, rest) = bits.split_at_mut(out as usize * stride);
    (before, &mut rest[..stride])
}

#[inline(always)]
fn slot(bits: &[u64], s: Slot, stride: usize) -> &[u64] {
    &bits[s as usize * stride..(s as usize + 1) * stride]
}

impl Machine {
    /// Computes what is static; false where a static requirement fails.
    pub fn bind(&mut self, program: &Program, skeleton: &Skeleton) -> bool {
        let mut set = Set::empty(skeleton.len());
        let mut rel = Rel::empty(skeleton.len());
        self.n = skeleton.len();
        self.words = set.words().len();
        self.sets.resize(program.sets as usize * self.words, 0);
        self.rels.resize(program.rels as usize * self.words * self.n, 0);
        skeleton.set(BaseSet::W, &mut set);
        self.writes.clear();
        self.writes.extend_from_slice(set.words());
        for step in &program.statics {
            match &step.code {
                Code::StaticSet(base) => {
                    skeleton.set(*base, &mut set);
                    self.set_mut(step.out).copy_from_slice(set.words());
                }
                Code::StaticRel(base) => {
                    skeleton.rel(*base, &mut rel);
                    self.rel_mut(step.out).copy_from_slice(rel.bits());
                }
                _ => self.run(step, None),
            }
        }
        self.specialise(program);
        program.static_requires.iter().all(|t| self.holds(t, t.low))
    }

    /// Makes [`Live`]: emptiness and copies follow from the static slots.
    fn specialise(&mut self, program: &Program) {
        let stride = self.words * self.n;
        let mut empty: Vec<bool> = (0..program.rels)
            .map(|s| {
                program.static_rels[s as usize]
                    && slot(&self.rels, s, stride).iter().all(|w| *w == 0)
            })
            .collect();
        let mut stands: Vec<Slot> = (0..program.rels).collect();
        let mut live = std::mem::take(&mut self.live);
        live.steps.clear();
        live.needs.clear();
        live.rf_done = (u64::MAX, 0);
        live.co_done = (u64::MAX, 0);
        live.requires.clear();
        live.flags.clear();
        let mut needs: Vec<Needs> = vec![Needs::default(); program.rels as usize];
        let mut set_needs: Vec<Needs> = vec![Needs::default(); program.sets as usize];
        // How many live steps stand for the first so many steps of the program.
        let mut at = Vec::with_capacity(program.dynamics.len() + 1);
        at.push(0);
        for step in &program.dynamics {
            let mut step = step.clone();
            step.code.rename(&stands);
            match step.code.simple(
                &|s| empty[s as usize],
                &|s| slot(&self.sets, s, self.words).iter().all(|w| *w == 0),
                &program.dynamic_sets,
            ) {
                Simple::Empty => {
                    empty[step.out as usize] = true;
                    self.rels[step.out as usize * stride..][..stride].fill(0);
                }
                Simple::Copy(of) => {
                    stands[step.out as usize] = of;
                    empty[step.out as usize] = empty[of as usize];
                }
                Simple::No => {
                    live.needs.push(step.note_needs(&mut needs, &mut set_needs));
                    live.steps.push(step);
                }
            }
            at.push(live.steps.len());
        }
        let rename = |t: &Test| {
            let mut t = t.clone();
            t.steps = at[t.steps];
            if !t.is_set {
                t.low = stands[t.low as usize];
                t.early = stands[t.early as usize];
            }
            t
        };
        let trivial = |t: &Test| !t.is_set && !t.negated && empty[t.early as usize];
        live.requires.extend(program.requires.iter().map(rename).filter(|t| !trivial(t)));
        live.flags.extend(program.flags.iter().map(rename));
        live.flags_possible = live.flags.iter().any(|t| {
            let never = trivial(t) && program.checks[t.check].kind == CheckKind::UndefinedUnless
                || !t.is_set
                    && t.negated
                    && empty[t.early as usize]
                    && program.checks[t.check].kind == CheckKind::Flag;
            !never
        });
        // What turned out to depend on nothing is known now.
        for (step, needs) in live.steps.iter().zip(&live.needs) {
            if *needs == Needs::default() {
                self.run(step, None);
            }
        }
        self.live = live;
    }

    fn set_mut(&mut self, s: Slot) -> &mut [u64] {
        split(&mut self.sets, s, self.words).1
    }

    fn rel_mut(&mut self, s: Slot) -> &mut [u64] {
        split(&mut self.rels, s, self.words * self.n).1
    }

    /// The requirement that is broken for good, by its index among the checks.
    pub fn first_broken(&mut self, choices: &Choices) -> Option<usize> {
        let mut live = std::mem::take(&mut self.live);
        live.turn_to(choices);
        let mut done = 0;
        let mut broken = None;
        for test in &live.requires {
            self.run_to(&live, &mut done, test.steps, choices);
            if !self.holds(test, test.early) {
                broken = Some(test.check);
                break;
            }
        }
        live.ran(done);
        self.live = live;
        broken
    }

    fn run_to(&mut self, live: &Live, done: &mut usize, end: usize, choices: &Choices) {
        while *done < end {
            if !live.is_done(*done) {
                self.run(&live.steps[*done], Some(choices));
            }
            *done += 1;
        }
    }

    /// Runs every step, so that flags are known.
    pub fn complete(&mut self, choices: &Choices) {
        let mut live = std::mem::take(&mut self.live);
        live.turn_to(choices);
        let (mut done, end) = (0, live.steps.len());
        self.run_to(&live, &mut done, end, choices);
        live.ran(end);
        self.live = live;
    }

    fn raised(&self, program: &Program, test: &Test, slot: Slot) -> bool {
        let holds = self.holds(test, slot);
        match program.checks[test.check].kind {
            CheckKind::UndefinedUnless => !holds,
            _ => holds,
        }
    }

    fn holds(&self, test: &Test, at: Slot) -> bool {
        let plain = if test.is_set {
            slot(&self.sets, at, self.words).iter().all(|w| *w == 0)
        } else {
            let r = slot(&self.rels, at, self.words * self.n);
            match test.shape {
                Shape::Acyclic => rows::is_acyclic(r, self.words),
                Shape::Irreflexive => rows::is_irreflexive(r, self.words),
                Shape::Empty => r.iter().all(|w| *w == 0),
            }
        };
        plain != test.negated
    }

    fn run(&mut self, step: &Step, choices: Option<&Choices>) {
        let words = self.words;
        let stride = words * self.n;
        match &step.code {
            Code::Fix { steps, vars } => return self.solve(steps, vars, choices),
            Code::SetUnion(..)
            | Code::SetInter(..)
            | Code::SetDiff(..)
            | Code::SetComplement(_)
            | Code::Domain(_)
            | Code::Range(_)
            | Code::FinalWrites(_)
            | Code::StaticSet(_)
            | Code::EmptySet => {
                let (sets, out) = split(&mut self.sets, step.out, words);
                let set = |s: &Slot| slot(sets, *s, words);
                let rel = |s: &Slot| slot(&self.rels, *s, stride);
                match &step.code {
                    Code::SetUnion(a, b) => rows::zip(out, set(a), set(b), |a, b| a | b),
                    Code::SetInter(a, b) => rows::zip(out, set(a), set(b), |a, b| a & b),
                    Code::SetDiff(a, b) => rows::zip(out, set(a), set(b), |a, b| a & !b),
                    Code::SetComplement(a) => rows::complement(out, set(a), self.n, words),
                    Code::Domain(r) => rows::domain(out, rel(r)),
                    Code::Range(r) => rows::range(out, rel(r)),
                    Code::FinalWrites(bound) => {
                        if let Some(c) = choices {
                            final_writes(out, &self.writes, c, *bound);
                        }
                    }
                    _ => out.fill(0),
                }
                return;
            }
            _ => {}
        }
        let (rels, out) = split(&mut self.rels, step.out, stride);
        let set = |s: &Slot| slot(&self.sets, *s, words);
        let rel = |s: &Slot| slot(rels, *s, stride);
        match &step.code {
            Code::RelUnion(a, b) => rows::zip(out, rel(a), rel(b), |a, b| a | b),
            Code::RelInter(a, b) => rows::zip(out, rel(a), rel(b), |a, b| a & b),
            Code::RelDiff(a, b) => rows::zip(out, rel(a), rel(b), |a, b| a & !b),
            Code::RelComplement(a) => rows::complement(out, rel(a), self.n, words),
            Code::Seq(a, b) => rows::seq(out, rel(a), rel(b), words),
            Code::Inverse(a) => rows::inverse(out, rel(a), words),
            Code::Plus(a) => {
                out.copy_from_slice(rel(a));
                rows::close(out, words);
            }
            Code::Cross(a, b) => rows::cross(out, set(a), set(b)),
            Code::IdentityOn(a) => rows::identity_on(out, set(a)),
            Code::RestrictDomain(r, s) => rows::restrict_domain(out, rel(r), set(s)),
            Code::RestrictRange(r, s) => rows::restrict_range(out, rel(r), set(s)),
            Code::Rf(bound) => {
                if let Some(c) = choices {
                    let r = if *bound == Bound::High { &c.rf_high } else { &c.rf_low };
                    out.copy_from_slice(r.bits());
                }
            }
            Code::Co(bound) => {
                if let Some(c) = choices {
                    let r = if *bound == Bound::High { &c.co_high } else { &c.co_low };
                    out.copy_from_slice(r.bits());
                }
            }
            _ => out.fill(0),
        }
    }

    /// The least solution of a recursive definition, from below.
    fn solve(&mut self, steps: &[Step], vars: &[(Slot, Slot, bool)], choices: Option<&Choices>) {
        for (var, _, is_set) in vars {
            if *is_set {
                self.set_mut(*var).fill(0);
            } else {
                self.rel_mut(*var).fill(0);
            }
        }
        loop {
            for step in steps {
                self.run(step, choices);
            }
            let mut changed = false;
            for (var, end, is_set) in vars {
                let (bits, stride) = if *is_set {
                    (&mut self.sets, self.words)
                } else {
                    (&mut self.rels, self.words * self.n)
                };
                let (var, end) = (*var as usize * stride, *end as usize * stride);
                if bits[var..var + stride] != bits[end..end + stride] {
                    bits.copy_within(end..end + stride, var);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }
}

/// From below: writes after which none can come; from above: writes after which none must.
fn final_writes(out: &mut [u64], writes: &[u64], choices: &Choices, bound: Bound) {
    let co = if bound == Bound::High { &choices.co_low } else { &choices.co_high };
    rows::domain(out, co.bits());
    for (out, w) in out.iter_mut().zip(writes) {
        *out = w & !*out;
    }
}

/// A compiled model and the values of its slots, as a judge of executions.
pub struct Compiled<'m> {
    pub program: &'m Program,
    pub machine: &'m mut Machine,
}

impl Judge for Compiled<'_> {
    fn bind(&mut self, skeleton: &Skeleton) -> bool {
        self.machine.bind(self.program, skeleton)
    }

    fn possible(&mut self, choices: &Choices) -> bool {
        self.machine.first_broken(choices).is_none()
    }

    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String> {
        // Every decision was followed by a look at the requirements.
        if !self.machine.live.flags_possible {
            return Ok(Some(SmallVec::new()));
        }
        self.machine.complete(choices);
        let m = &*self.machine;
        let raised = m.live.flags.iter().filter(|t| m.raised(self.program, t, t.low));
        Ok(Some(raised.map(|t| t.check).collect()))
    }

    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool {
        if !self.machine.live.flags_possible
            || self.machine.live.flags.iter().all(|t| raised.contains(&t.check))
        {
            return false;
        }
        self.machine.complete(choices);
        let m = &*self.machine;
        let mut open = m.live.flags.iter().filter(|t| !raised.contains(&t.check));
        open.any(|t| m.raised(self.program, t, t.early))
    }
}
