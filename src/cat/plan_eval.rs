//! Running a plan over one complete execution, node by node, with no pruning.
//!
//! It is the plain meaning of plans: the simulator's levels and shortcuts are tested against it.

use super::eval::Failed;
use super::exec::{Exec, Verdict, rel_has};
use super::plan::*;
use crate::diag::{Diag, Result};
use crate::rel::{Rel, Set};

#[derive(Clone, Debug, PartialEq)]
pub enum Val {
    Set(Set),
    Rel(Rel),
}

/// What a staged model says of an execution.
pub fn run(plan: &Plan, exec: &Exec) -> Result<Verdict> {
    let values = values(plan, exec)?;
    let mut verdict = Verdict::default();
    for check in &plan.checks {
        let answer = match &values[check.node as usize] {
            Val::Set(s) => s.iter().next().map_or(Ok(()), |e| Err(vec![e])),
            Val::Rel(r) => rel_has(check.shape, r),
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
pub fn values(plan: &Plan, exec: &Exec) -> Result<Vec<Val>> {
    let n = plan.nodes.len();
    // The groups whose variables each node depends on and does not solve.
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
        values: plan.is_set.iter().map(|s| nothing(*s, exec.n)).collect(),
        solutions: plan
            .groups
            .iter()
            .map(|g| g.is_set.iter().map(|s| nothing(*s, exec.n)).collect())
            .collect(),
    };
    for id in 0..n {
        if eval.free[id].is_empty() {
            eval.node(id)?;
        }
    }
    Ok(eval.values)
}

fn nothing(is_set: bool, n: usize) -> Val {
    if is_set { Val::Set(Set::empty(n)) } else { Val::Rel(Rel::empty(n)) }
}

struct PlanEval<'p> {
    plan: &'p Plan,
    exec: &'p Exec,
    free: Vec<Vec<u32>>,
    values: Vec<Val>,
    solutions: Vec<Vec<Val>>,
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
            group.is_set.iter().map(|s| nothing(*s, self.exec.n)).collect();
        // A monotone body gains at least one pair in each round but the last.
        let rounds = group.bodies.len() * (self.exec.n * self.exec.n + 1) + 1;
        for _ in 0..rounds {
            if group.iterated {
                let before = self.solutions[g as usize].clone();
                for (i, body) in group.bodies.iter().enumerate() {
                    self.inner(g)?;
                    self.solutions[g as usize][i] = self.values[*body as usize].clone();
                }
                if self.solutions[g as usize] == before {
                    return Ok(());
                }
                continue;
            }
            self.inner(g)?;
            let next: Vec<_> =
                group.bodies.iter().map(|b| self.values[*b as usize].clone()).collect();
            let over = next == self.solutions[g as usize];
            self.solutions[g as usize] = next;
            if over {
                return Ok(());
            }
        }
        Err(Diag::new("a recursive definition never settles"))
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
            Val::Set(s) => Ok(s),
            Val::Rel(_) => Err(Diag::new("the plan takes a relation for a set")),
        }
    }

    fn rel(&self, id: NodeId) -> Result<&Rel> {
        match &self.values[id as usize] {
            Val::Rel(r) => Ok(r),
            Val::Set(_) => Err(Diag::new("the plan takes a set for a relation")),
        }
    }

    fn either(
        &self,
        a: NodeId,
        b: NodeId,
        sets: impl Fn(&Set, &Set) -> Set,
        rels: impl Fn(&Rel, &Rel) -> Rel,
    ) -> Result<Val> {
        Ok(match &self.values[a as usize] {
            Val::Set(x) => Val::Set(sets(x, self.set(b)?)),
            Val::Rel(x) => Val::Rel(rels(x, self.rel(b)?)),
        })
    }

    fn plain(&self, node: &Node) -> Result<Val> {
        let n = self.exec.n;
        let restricted = |f: fn(&mut Rel, &Rel, &Set), r, s| -> Result<Val> {
            let mut out = Rel::empty(n);
            f(&mut out, self.rel(r)?, self.set(s)?);
            Ok(Val::Rel(out))
        };
        Ok(match *node {
            Node::BaseSet(base) => Val::Set(self.exec.set(base)),
            Node::BaseRel(base) => Val::Rel(self.exec.rel(base)),
            Node::EmptySet => Val::Set(Set::empty(n)),
            Node::EmptyRel | Node::FixVar(..) | Node::Fix(..) => Val::Rel(Rel::empty(n)),
            Node::Union(a, b) => self.either(a, b, Set::union, Rel::union)?,
            Node::Inter(a, b) => self.either(a, b, Set::inter, Rel::inter)?,
            Node::Diff(a, b) => self.either(a, b, Set::diff, Rel::diff)?,
            Node::Complement(a) => match &self.values[a as usize] {
                Val::Set(s) => Val::Set(s.complement()),
                Val::Rel(r) => Val::Rel(r.complement()),
            },
            Node::Seq(a, b) => Val::Rel(self.rel(a)?.seq(self.rel(b)?)),
            Node::Inverse(a) => Val::Rel(self.rel(a)?.inverse()),
            Node::Plus(a) => Val::Rel(self.rel(a)?.closure()),
            Node::Cross(a, b) => Val::Rel(Rel::cross(self.set(a)?, self.set(b)?)),
            Node::IdentityOn(a) => Val::Rel(Rel::identity_on(self.set(a)?)),
            Node::Domain(a) => Val::Set(self.rel(a)?.domain()),
            Node::Range(a) => Val::Set(self.rel(a)?.range()),
            Node::RestrictDomain(r, s) => restricted(Rel::set_restrict_domain, r, s)?,
            Node::RestrictRange(r, s) => restricted(Rel::set_restrict_range, r, s)?,
        })
    }
}
