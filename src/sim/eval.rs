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
use crate::rel::{Rel, Set};

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
    /// Requirements that depend on the search, cheapest first, and those that do not.
    requires: Vec<Test>,
    static_requires: Vec<Test>,
    flags: Vec<Test>,
    pub checks: Vec<Check>,
    /// Branch and register events are looked at.
    pub branches: bool,
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
        for (index, check) in plan.checks.iter().enumerate() {
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
            // A requirement fails for good when its lower bound does; a negated one, or a flag,
            // is decided by the upper bound.
            let wants_high = (check.kind == CheckKind::Require) == check.negated;
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
        let uses = |want: &[BaseSet]| {
            plan.nodes.iter().any(|n| matches!(n, Node::BaseSet(b) if want.contains(b)))
        };
        Ok(Program {
            statics: c.statics,
            dynamics: c.dynamics,
            sets: c.sets,
            rels: c.rels,
            requires,
            static_requires,
            flags,
            checks: plan.checks.clone(),
            branches: uses(&[BaseSet::Branch, BaseSet::Bcc]),
            registers: plan.catdep,
        })
    }
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
}

/// The values of a program's slots for one skeleton.
#[derive(Default)]
pub struct Machine {
    n: usize,
    sets: Vec<Set>,
    rels: Vec<Rel>,
    writes: Option<Set>,
}

impl Machine {
    /// Computes what is static; false where a static requirement fails.
    pub fn bind(&mut self, program: &Program, skeleton: &Skeleton) -> bool {
        let n = skeleton.len();
        if self.n != n
            || self.sets.len() != program.sets as usize
            || self.rels.len() != program.rels as usize
        {
            self.n = n;
            self.sets = vec![Set::empty(n); program.sets as usize];
            self.rels = vec![Rel::empty(n); program.rels as usize];
            self.writes = Some(Set::empty(n));
        }
        if let Some(writes) = &mut self.writes {
            skeleton.set(BaseSet::W, writes);
        }
        for step in &program.statics {
            self.run(step, Some(skeleton), None);
        }
        program.static_requires.iter().all(|t| self.holds(t, t.low))
    }

    /// The requirement that is broken for good, by its index among the checks.
    pub fn first_broken(&mut self, program: &Program, choices: &Choices) -> Option<usize> {
        let mut done = 0;
        for test in &program.requires {
            while done < test.steps {
                self.run(&program.dynamics[done], None, Some(choices));
                done += 1;
            }
            if !self.holds(test, test.early) {
                return Some(test.check);
            }
        }
        None
    }

    /// Runs every step, so that flags and relations to show are known.
    pub fn complete(&mut self, program: &Program, choices: &Choices) {
        for step in &program.dynamics {
            self.run(step, None, Some(choices));
        }
    }

    fn raised(&self, program: &Program, test: &Test, slot: Slot) -> bool {
        let holds = self.holds(test, slot);
        match program.checks[test.check].kind {
            CheckKind::UndefinedUnless => !holds,
            _ => holds,
        }
    }

    fn holds(&self, test: &Test, slot: Slot) -> bool {
        let plain = if test.is_set {
            self.sets[slot as usize].is_empty()
        } else {
            let r = &self.rels[slot as usize];
            match test.shape {
                Shape::Acyclic => r.is_acyclic(),
                Shape::Irreflexive => r.is_irreflexive(),
                Shape::Empty => r.is_empty(),
            }
        };
        plain != test.negated
    }

    fn run(&mut self, step: &Step, skeleton: Option<&Skeleton>, choices: Option<&Choices>) {
        let out = step.out as usize;
        match &step.code {
            Code::SetUnion(..)
            | Code::SetInter(..)
            | Code::SetDiff(..)
            | Code::SetComplement(_)
            | Code::Domain(_)
            | Code::Range(_)
            | Code::FinalWrites(_)
            | Code::StaticSet(_)
            | Code::EmptySet => {
                let mut set = std::mem::replace(&mut self.sets[out], Set::hollow());
                self.run_set(&step.code, &mut set, skeleton, choices);
                self.sets[out] = set;
            }
            Code::Fix { steps, vars } => {
                for (var, _, is_set) in vars {
                    if *is_set {
                        self.sets[*var as usize].clear();
                    } else {
                        self.rels[*var as usize].clear();
                    }
                }
                loop {
                    for step in steps {
                        self.run(step, skeleton, choices);
                    }
                    let mut changed = false;
                    for (var, end, is_set) in vars {
                        let (var, end) = (*var as usize, *end as usize);
                        if var == end {
                            continue;
                        }
                        if *is_set {
                            if self.sets[var] != self.sets[end] {
                                let value = self.sets[end].clone();
                                self.sets[var].copy_from(&value);
                                changed = true;
                            }
                        } else if self.rels[var] != self.rels[end] {
                            let mut value = std::mem::replace(&mut self.rels[var], Rel::hollow());
                            value.copy_from(&self.rels[end]);
                            self.rels[var] = value;
                            changed = true;
                        }
                    }
                    if !changed {
                        break;
                    }
                }
            }
            code => {
                let mut rel = std::mem::replace(&mut self.rels[out], Rel::hollow());
                self.run_rel(code, &mut rel, skeleton, choices);
                self.rels[out] = rel;
            }
        }
    }

    fn run_set(
        &self,
        code: &Code,
        out: &mut Set,
        skeleton: Option<&Skeleton>,
        choices: Option<&Choices>,
    ) {
        let set = |s: &Slot| &self.sets[*s as usize];
        let rel = |s: &Slot| &self.rels[*s as usize];
        match code {
            Code::SetUnion(a, b) => out.set_union(set(a), set(b)),
            Code::SetInter(a, b) => out.set_inter(set(a), set(b)),
            Code::SetDiff(a, b) => out.set_diff(set(a), set(b)),
            Code::SetComplement(a) => *out = set(a).complement(),
            Code::Domain(r) => *out = rel(r).domain(),
            Code::Range(r) => *out = rel(r).range(),
            Code::StaticSet(base) => {
                if let Some(s) = skeleton {
                    s.set(*base, out);
                }
            }
            Code::FinalWrites(bound) => {
                // From below: writes after all others; from above: writes not yet before one.
                let (Some(c), Some(writes)) = (choices, &self.writes) else {
                    return;
                };
                out.copy_from(writes);
                for w in writes.iter() {
                    let before = match bound {
                        Bound::High => c.co_low.row(w).iter().any(|x| *x != 0),
                        _ => c.co_high.row(w).iter().any(|x| *x != 0),
                    };
                    if before {
                        out.remove(w);
                    }
                }
            }
            _ => out.clear(),
        }
    }

    fn run_rel(
        &self,
        code: &Code,
        out: &mut Rel,
        skeleton: Option<&Skeleton>,
        choices: Option<&Choices>,
    ) {
        let set = |s: &Slot| &self.sets[*s as usize];
        let rel = |s: &Slot| &self.rels[*s as usize];
        match code {
            Code::RelUnion(a, b) => out.set_union(rel(a), rel(b)),
            Code::RelInter(a, b) => out.set_inter(rel(a), rel(b)),
            Code::RelDiff(a, b) => out.set_diff(rel(a), rel(b)),
            Code::RelComplement(a) => out.set_complement(rel(a)),
            Code::Seq(a, b) => out.set_seq(rel(a), rel(b)),
            Code::Inverse(a) => out.set_inverse(rel(a)),
            Code::Plus(a) => {
                out.copy_from(rel(a));
                out.close();
            }
            Code::Cross(a, b) => out.set_cross(set(a), set(b)),
            Code::IdentityOn(a) => out.set_identity_on(set(a)),
            Code::RestrictDomain(r, s) => out.set_restrict_domain(rel(r), set(s)),
            Code::RestrictRange(r, s) => out.set_restrict_range(rel(r), set(s)),
            Code::StaticRel(base) => {
                if let Some(s) = skeleton {
                    s.rel(*base, out);
                }
            }
            Code::Rf(bound) => {
                if let Some(c) = choices {
                    out.copy_from(if *bound == Bound::High { &c.rf_high } else { &c.rf_low });
                }
            }
            Code::Co(bound) => {
                if let Some(c) = choices {
                    out.copy_from(if *bound == Bound::High { &c.co_high } else { &c.co_low });
                }
            }
            _ => out.clear(),
        }
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
        self.machine.first_broken(self.program, choices).is_none()
    }

    fn judge(&mut self, choices: &Choices) -> Result<Option<SmallVec<[usize; 2]>>, String> {
        // Every decision was followed by a look at the requirements.
        if self.program.flags.is_empty() {
            return Ok(Some(SmallVec::new()));
        }
        self.machine.complete(self.program, choices);
        let m = &*self.machine;
        let raised = self.program.flags.iter().filter(|t| m.raised(self.program, t, t.low));
        Ok(Some(raised.map(|t| t.check).collect()))
    }

    fn may_flag(&mut self, choices: &Choices, raised: &[usize]) -> bool {
        let mut open = self.program.flags.iter().filter(|t| !raised.contains(&t.check)).peekable();
        if open.peek().is_none() {
            return false;
        }
        self.machine.complete(self.program, choices);
        open.any(|t| self.machine.raised(self.program, t, t.early))
    }
}
