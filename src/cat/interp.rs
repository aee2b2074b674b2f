//! Interprets a model over one complete execution, in the plainest way.
//!
//! It runs models that cannot be staged, and tests compare staging with it.

use super::algebra::{Algebra, EarlyEnd, Failed, Halt, SetOrRel, Site};
use super::ast::{BinOp, CheckKind, Shape};
use super::eval::Eval;
use super::exec::{Exec, Verdict, rel_has};
use super::load::Model;
use super::plan::{BaseRel, BaseSet};
use litmake_base::diag::{Diag, Result};
use litmake_base::rel::{Rel, Set};
use std::rc::Rc;

/// At most so many ways through the `with` instructions of a model are tried.
const MAX_WAYS: usize = 200_000;

/// A model's verdict on an execution. If the model leaves values open (`with`), the execution is
/// allowed if some choice of them allows it.
pub fn interpret(model: &Model, exec: &Exec) -> Result<Verdict> {
    let mut total: Option<Verdict> = None;
    // For each `with`, the member that it takes and the number of members.
    let mut script: Vec<(usize, usize)> = Vec::new();
    for _ in 0..MAX_WAYS {
        let algebra = Concrete {
            exec,
            verdict: Verdict::default(),
            script: std::mem::take(&mut script),
            at: 0,
        };
        let mut eval = Eval::new(model, algebra);
        let outcome = eval.run_model();
        let mut verdict = eval.alg.verdict;
        script = eval.alg.script;
        match outcome {
            Ok(()) => {}
            Err(EarlyEnd::Failed(failed)) => verdict.failed = Some(failed),
            Err(EarlyEnd::Error(d) | EarlyEnd::Unstageable(d) | EarlyEnd::Limit(d)) => {
                return Err(d);
            }
        }
        total = Some(match total {
            None => verdict,
            Some(total) if !verdict.allowed() => total,
            Some(total) if !total.allowed() => verdict,
            Some(mut total) => {
                total.flags.append(&mut verdict.flags);
                total.undefined |= verdict.undefined;
                total
            }
        });
        while script.last().is_some_and(|(i, n)| i + 1 >= *n) {
            script.pop();
        }
        match script.last_mut() {
            Some((i, _)) => *i += 1,
            None => return Ok(total.unwrap_or_default()),
        }
    }
    Err(Diag::new(format!("the model {} leaves too much open to be interpreted", model.name)))
}

struct Concrete<'e> {
    exec: &'e Exec,
    verdict: Verdict,
    script: Vec<(usize, usize)>,
    at: usize,
}

impl Algebra for Concrete<'_> {
    type S = Rc<Set>;
    type R = Rc<Rel>;

    fn base_set(&mut self, base: BaseSet) -> Rc<Set> {
        Rc::new(self.exec.set(base))
    }

    fn base_rel(&mut self, base: BaseRel) -> Rc<Rel> {
        Rc::new(self.exec.rel(base))
    }

    fn set_of(&mut self, events: &[usize]) -> Rc<Set> {
        Rc::new(Set::of(self.exec.n, events.iter().copied()))
    }

    fn rel_of(&mut self, pairs: &[(usize, usize)]) -> Rc<Rel> {
        Rc::new(Rel::of(self.exec.n, pairs.iter().copied()))
    }

    fn full_rel(&mut self) -> Rc<Rel> {
        Rc::new(Rel::full(self.exec.n))
    }

    fn set_op(&mut self, op: BinOp, a: &Rc<Set>, b: &Rc<Set>) -> Rc<Set> {
        Rc::new(match op {
            BinOp::Union => a.union(b),
            BinOp::Inter => a.inter(b),
            _ => a.diff(b),
        })
    }

    fn rel_op(&mut self, op: BinOp, a: &Rc<Rel>, b: &Rc<Rel>) -> Rc<Rel> {
        Rc::new(match op {
            BinOp::Union => a.union(b),
            BinOp::Inter => a.inter(b),
            BinOp::Seq => a.seq(b),
            _ => a.diff(b),
        })
    }

    fn inverse(&mut self, r: &Rc<Rel>) -> Rc<Rel> {
        Rc::new(r.inverse())
    }

    fn plus(&mut self, r: &Rc<Rel>) -> Rc<Rel> {
        Rc::new(r.closure())
    }

    fn cross(&mut self, a: &Rc<Set>, b: &Rc<Set>) -> Rc<Rel> {
        Rc::new(Rel::cross(a, b))
    }

    fn identity_on(&mut self, s: &Rc<Set>) -> Rc<Rel> {
        Rc::new(Rel::identity_on(s))
    }

    fn domain(&mut self, r: &Rc<Rel>) -> Rc<Set> {
        Rc::new(r.domain())
    }

    fn range(&mut self, r: &Rc<Rel>) -> Rc<Set> {
        Rc::new(r.range())
    }

    fn elements(&self, s: &Rc<Set>) -> Option<Vec<usize>> {
        Some(s.iter().collect())
    }

    fn pairs(&self, r: &Rc<Rel>) -> Option<Vec<(usize, usize)>> {
        Some(r.iter().collect())
    }

    /// The execution's coherence order, if it is one of those that the model asks for.
    fn coherence(&mut self, s: &Rc<Set>, r: &Rc<Rel>, place: &Site) -> Result1<Rc<Rel>> {
        let all = Rel::cross(s, s);
        let co = self.exec.rel(BaseRel::Co).inter(&all);
        let asked = r.inter(&all).inter(&self.exec.rel(BaseRel::Loc));
        match asked.diff(&co).iter().next() {
            None => Ok(Rc::new(co)),
            Some((a, b)) => Err(Halt::Failed(Failed {
                name: place.name.clone(),
                place: place.at.clone(),
                events: vec![a, b],
            })),
        }
    }

    fn choose(&mut self, of: usize) -> Option<usize> {
        if self.at == self.script.len() {
            self.script.push((0, of));
        }
        self.at += 1;
        Some(self.script[self.at - 1].0)
    }

    fn member(&mut self, _: bool) -> Option<SetOrRel<Rc<Set>, Rc<Rel>>> {
        None
    }

    fn by_target(&mut self, _: &Rc<Set>, _: &Rc<Rel>) -> bool {
        false
    }

    fn pick(&mut self, _: &Rc<Set>, _: &Rc<Rel>, _: &Site) -> Result1<Rc<Rel>> {
        Err(Halt::Unstageable("a choice without members".to_string()))
    }

    fn check(
        &mut self,
        kind: CheckKind,
        shape: Shape,
        negated: bool,
        value: SetOrRel<Rc<Set>, Rc<Rel>>,
        place: &Site,
    ) -> Result1<()> {
        let answer = match &value {
            SetOrRel::Set(s) => s.iter().next().map_or(Ok(()), |e| Err(vec![e])),
            SetOrRel::Rel(r) => rel_has(shape, r),
        };
        let answer = match (negated, answer) {
            (false, answer) => answer,
            (true, Ok(())) => Err(Vec::new()),
            (true, Err(_)) => Ok(()),
        };
        match (kind, answer) {
            (CheckKind::Flag, Ok(())) => {
                self.verdict.flags.insert(place.name.clone());
                Ok(())
            }
            (CheckKind::Flag, Err(_)) | (_, Ok(())) => Ok(()),
            (CheckKind::UndefinedUnless, Err(_)) => {
                self.verdict.undefined = true;
                Ok(())
            }
            (CheckKind::Assert, Err(_)) => {
                let message = format!("the assertion {} fails: the test is not for it", place.name);
                Err(Halt::Error(message))
            }
            (CheckKind::Require, Err(events)) => Err(Halt::Failed(Failed {
                name: place.name.clone(),
                place: place.at.clone(),
                events,
            })),
        }
    }

    fn fix_vars(&mut self, _: &[bool]) -> Option<Vec<SetOrRel<Rc<Set>, Rc<Rel>>>> {
        None
    }

    fn fix_solve(
        &mut self,
        bodies: Vec<SetOrRel<Rc<Set>, Rc<Rel>>>,
    ) -> std::result::Result<Vec<SetOrRel<Rc<Set>, Rc<Rel>>>, String> {
        Ok(bodies)
    }

    fn fix_forget(&mut self) {}

    fn show(&mut self, _: &str, _: SetOrRel<Rc<Set>, Rc<Rel>>) {}

    fn unshow(&mut self, _: &str) {}
}

type Result1<T> = std::result::Result<T, Halt>;
