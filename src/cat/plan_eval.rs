//! Evaluates a plan over one complete execution, node by node.
//!
//! It states the meaning of plans plainly; tests compare the simulator's faster evaluation with it.

use super::algebra::Failed;
use super::define::{MAX_ROUNDS, NEVER_SETTLES};
use super::exec::{Exec, Verdict, rel_has};
use super::plan::*;
use litmake_base::diag::{Diag, Result};
use litmake_base::rel::{Rel, Set};

/// The value of a node over one execution.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A set of events.
    Set(Set),
    /// A relation between events.
    Rel(Rel),
}

impl Value {
    /// The empty set or relation over `n` events.
    pub fn empty(is_set: bool, n: usize) -> Value {
        if is_set { Value::Set(Set::empty(n)) } else { Value::Rel(Rel::empty(n)) }
    }

    /// Whether all members are in `old`, which is of the same kind.
    pub fn is_within(&self, old: &Value) -> bool {
        match (self, old) {
            (Value::Set(new), Value::Set(old)) => new.subset_of(old),
            (Value::Rel(new), Value::Rel(old)) => new.subset_of(old),
            _ => false,
        }
    }

    /// A value of no size, as a placeholder.
    pub fn hollow() -> Value {
        Value::Set(Set::hollow())
    }

    /// Takes all members out.
    pub fn clear(&mut self) {
        match self {
            Value::Set(s) => s.clear(),
            Value::Rel(r) => r.clear(),
        }
    }

    /// Whether it has the pair; for a set, whether it has `a`.
    pub fn has(&self, a: usize, b: usize) -> bool {
        match self {
            Value::Set(s) => s.contains(a),
            Value::Rel(r) => r.contains(a, b),
        }
    }

    /// The members in a row; for a set, the row itself if it is a member.
    pub fn row(&self, a: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Value::Set(s) => Box::new(std::iter::once(a).filter(|a| s.contains(*a))),
            Value::Rel(r) => Box::new(r.successors(a)),
        }
    }
}

/// A staged model's verdict on an execution.
pub fn run(plan: &Plan, exec: &Exec) -> Result<Verdict> {
    let values = values(plan, exec)?;
    let mut verdict = Verdict::default();
    for check in &plan.checks {
        let answer = match &values[check.node as usize] {
            Value::Set(s) => s.iter().next().map_or(Ok(()), |e| Err(vec![e])),
            Value::Rel(r) => rel_has(check.shape, r),
        };
        let holds = answer.is_ok() != check.negated;
        match (check.kind, holds) {
            (CheckKind::Flag, true) => {
                verdict.flags.insert(check.name.clone());
            }
            (CheckKind::Flag, false) | (_, true) => {}
            (CheckKind::UndefinedUnless, false) => verdict.undefined = true,
            (CheckKind::Assert, false) => {
                return Err(Diag::new(format!(
                    "the assertion {} fails: the test is not for it",
                    check.name
                )));
            }
            (CheckKind::Require, false) => {
                verdict.failed.get_or_insert(Failed {
                    name: check.name.clone(),
                    place: check.place.clone(),
                    events: answer.err().unwrap_or_default(),
                });
            }
        }
    }
    Ok(verdict)
}

/// The value of each node; of variables, the last one tried.
pub fn values(plan: &Plan, exec: &Exec) -> Result<Vec<Value>> {
    let n = plan.nodes.len();
    // For each node, the groups on whose variables it depends without solving them.
    let mut free: Vec<Vec<u32>> = Vec::with_capacity(n);
    for node in &plan.nodes {
        let mut groups: Vec<u32> = node.operands().flat_map(|o| free[o as usize].clone()).collect();
        match node {
            Node::FixVar(g, _) => groups.push(*g),
            Node::Fix(g, _) => {
                let bodies = &plan.groups[*g as usize].bodies;
                groups.extend(bodies.iter().flat_map(|b| free[*b as usize].clone()));
                groups.retain(|x| x != g);
            }
            _ => {}
        }
        groups.sort_unstable();
        groups.dedup();
        free.push(groups);
    }
    let mut eval = PlanEval {
        plan,
        exec,
        free,
        values: plan.is_set.iter().map(|s| Value::empty(*s, exec.n)).collect(),
        solutions: plan
            .groups
            .iter()
            .map(|g| g.is_set.iter().map(|s| Value::empty(*s, exec.n)).collect())
            .collect(),
    };
    for id in 0..n {
        if eval.free[id].is_empty() {
            eval.node(id)?;
        }
    }
    Ok(eval.values)
}

struct PlanEval<'p> {
    plan: &'p Plan,
    exec: &'p Exec,
    free: Vec<Vec<u32>>,
    values: Vec<Value>,
    solutions: Vec<Vec<Value>>,
}

impl PlanEval<'_> {
    fn node(&mut self, id: usize) -> Result<()> {
        let value = match self.plan.nodes[id] {
            Node::FixVar(g, i) => self.solutions[g as usize][i as usize].clone(),
            Node::Fix(g, i) => {
                self.solve(g)?;
                self.solutions[g as usize][i as usize].clone()
            }
            ref node => self.plain(node)?,
        };
        self.values[id] = value;
        Ok(())
    }

    fn solve(&mut self, g: u32) -> Result<()> {
        let group = &self.plan.groups[g as usize];
        self.solutions[g as usize] =
            group.is_set.iter().map(|s| Value::empty(*s, self.exec.n)).collect();
        if group.iterated {
            return self.iterate(g);
        }
        // A monotone body gains at least one pair in every round except the last.
        loop {
            self.inner(g)?;
            let next: Vec<_> =
                group.bodies.iter().map(|b| self.values[*b as usize].clone()).collect();
            let over = next == self.solutions[g as usize];
            self.solutions[g as usize] = next;
            if over {
                return Ok(());
            }
        }
    }

    fn iterate(&mut self, g: u32) -> Result<()> {
        let bodies = &self.plan.groups[g as usize].bodies;
        for _ in 0..MAX_ROUNDS {
            let mut over = true;
            for (i, body) in bodies.iter().enumerate() {
                self.inner(g)?;
                let new = self.values[*body as usize].clone();
                let old = &mut self.solutions[g as usize][i];
                over &= new.is_within(old);
                *old = new;
            }
            if over {
                return Ok(());
            }
        }
        Err(Diag::new(NEVER_SETTLES))
    }

    /// Computes the nodes inside a fixpoint once.
    fn inner(&mut self, g: u32) -> Result<()> {
        for id in 0..self.plan.nodes.len() {
            if self.free[id].contains(&g) && self.solvable(id, g) {
                self.node(id)?;
            }
        }
        Ok(())
    }

    /// Whether a node inside `g` is not inside a further group that `g` itself solves.
    fn solvable(&self, id: usize, g: u32) -> bool {
        let outside = |x: &u32| {
            *x == g
                || self.plan.groups[g as usize]
                    .bodies
                    .iter()
                    .any(|b| self.free[*b as usize].contains(x))
        };
        self.free[id].iter().all(outside)
    }

    fn set(&self, id: NodeId) -> Result<&Set> {
        match &self.values[id as usize] {
            Value::Set(s) => Ok(s),
            Value::Rel(_) => Err(Diag::new("the plan takes a relation for a set")),
        }
    }

    fn rel(&self, id: NodeId) -> Result<&Rel> {
        match &self.values[id as usize] {
            Value::Rel(r) => Ok(r),
            Value::Set(_) => Err(Diag::new("the plan takes a set for a relation")),
        }
    }

    fn either(
        &self,
        a: NodeId,
        b: NodeId,
        sets: impl Fn(&Set, &Set) -> Set,
        rels: impl Fn(&Rel, &Rel) -> Rel,
    ) -> Result<Value> {
        Ok(match &self.values[a as usize] {
            Value::Set(x) => Value::Set(sets(x, self.set(b)?)),
            Value::Rel(x) => Value::Rel(rels(x, self.rel(b)?)),
        })
    }

    fn plain(&self, node: &Node) -> Result<Value> {
        let n = self.exec.n;
        let restricted = |f: fn(&mut Rel, &Rel, &Set), r, s| -> Result<Value> {
            let mut out = Rel::empty(n);
            f(&mut out, self.rel(r)?, self.set(s)?);
            Ok(Value::Rel(out))
        };
        Ok(match *node {
            Node::BaseSet(base) => Value::Set(self.exec.set(base)),
            Node::BaseRel(base) => Value::Rel(self.exec.rel(base)),
            Node::EmptySet => Value::Set(Set::empty(n)),
            Node::EmptyRel | Node::FixVar(..) | Node::Fix(..) => Value::Rel(Rel::empty(n)),
            Node::Union(a, b) => self.either(a, b, Set::union, Rel::union)?,
            Node::Inter(a, b) => self.either(a, b, Set::inter, Rel::inter)?,
            Node::Diff(a, b) => self.either(a, b, Set::diff, Rel::diff)?,
            Node::Complement(a) => match &self.values[a as usize] {
                Value::Set(s) => Value::Set(s.complement()),
                Value::Rel(r) => Value::Rel(r.complement()),
            },
            Node::Seq(a, b) => Value::Rel(self.rel(a)?.seq(self.rel(b)?)),
            Node::Inverse(a) => Value::Rel(self.rel(a)?.inverse()),
            Node::Plus(a) => Value::Rel(self.rel(a)?.closure()),
            Node::Cross(a, b) => Value::Rel(Rel::cross(self.set(a)?, self.set(b)?)),
            Node::IdentityOn(a) => Value::Rel(Rel::identity_on(self.set(a)?)),
            Node::Domain(a) => Value::Set(self.rel(a)?.domain()),
            Node::Range(a) => Value::Set(self.rel(a)?.range()),
            Node::RestrictDomain(r, s) => restricted(Rel::set_restrict_domain, r, s)?,
            Node::RestrictRange(r, s) => restricted(Rel::set_restrict_range, r, s)?,
        })
    }
}
