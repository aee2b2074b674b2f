//! Definitions: `let`, and `let rec` of functions, sets and relations.
//!
//! Recursive sets and relations are solved over variables if the algebra has variables, else by
//! iteration from the empty set.

use super::algebra::{Algebra, EarlyEnd, Outcome, SetOrRel};
use super::ast::*;
use super::eval::Eval;
use super::value::{Env, Value, ValueOf, same, to_value};
use litmake_base::diag::Span;
use std::rc::Rc;

/// A recursive definition that still gains members after so many rounds has no value.
pub const MAX_ROUNDS: usize = 10_000;
/// The error of a recursive definition whose values do not stop changing.
pub const NEVER_SETTLES: &str = "this recursive definition never settles";

impl<'m, A: Algebra> Eval<'m, A> {
    pub(super) fn define(&mut self, l: &'m Let, env: Env) -> Outcome<Env> {
        if l.rec {
            return self.define_rec(l, env);
        }
        let mut out = env;
        for b in &l.bindings {
            let value = match self.eval(&b.value, env) {
                Ok(value) => value,
                Err(stop @ (EarlyEnd::Failed(_) | EarlyEnd::Limit(_))) => return Err(stop),
                Err(stop) => Value::Broken(Rc::new(stop)),
            };
            if let [Some(name)] = b.pat.as_slice() {
                match &value {
                    Value::Set(v) => self.alg.named(name, &SetOrRel::Set(v.clone())),
                    Value::Rel(v) => self.alg.named(name, &SetOrRel::Rel(v.clone())),
                    _ => {}
                }
            }
            out = match (&value, b.pat.as_slice()) {
                (Value::Broken(_), vars) => {
                    vars.iter().fold(out, |e, v| self.bind_var(e, v, value.clone()))
                }
                _ => match self.bind_pat(out, &b.pat, value) {
                    Some(env) => env,
                    None => return self.error(b.span, "the names do not fit the value"),
                },
            };
        }
        Ok(out)
    }

    fn define_rec(&mut self, l: &'m Let, env: Env) -> Outcome<Env> {
        let (funs, values): (Vec<_>, Vec<_>) =
            l.bindings.iter().partition(|b| matches!(b.value.kind, ExprKind::Fun(_)));
        if values.is_empty() {
            return self.define_funs(&funs, env);
        }
        let n = values.len();
        // Whether the names are sets or relations is found by trying, relations first.
        let mut error = None;
        for guess in 0..1usize << n.min(6) {
            let is_set: Vec<bool> = (0..n).map(|i| guess >> i.min(6) & 1 != 0).collect();
            let Some(vars) = self.alg.fix_vars(&is_set) else {
                return self.iterate(&funs, &values, env);
            };
            match self.bodies(&funs, &values, &is_set, vars, env) {
                Ok(Some(bodies)) => {
                    let solved = match self.alg.fix_solve(bodies) {
                        Ok(solved) => solved,
                        Err(message) => return self.unstageable(values[0].span, message),
                    };
                    let mut out = env;
                    for (b, value) in values.iter().zip(solved) {
                        if let Some(name) = &b.pat[0] {
                            self.alg.named(name, &value);
                        }
                        out = self.bind_var(out, &b.pat[0], to_value(value));
                    }
                    return self.define_funs(&funs, out);
                }
                Ok(None) => {}
                Err(stop @ EarlyEnd::Error(_)) => {
                    error.get_or_insert(stop);
                }
                Err(stop) => {
                    self.alg.fix_forget();
                    return Err(stop);
                }
            }
            self.alg.fix_forget();
        }
        match error {
            Some(stop) => Err(stop),
            None => {
                self.error(values[0].span, "a recursive definition of neither sets nor relations")
            }
        }
    }

    /// The bodies of a recursive definition over its variables, if their types are those guessed.
    #[expect(clippy::type_complexity, reason = "sets or relations, or why there are none")]
    fn bodies(
        &mut self,
        funs: &[&'m Binding],
        values: &[&'m Binding],
        is_set: &[bool],
        vars: Vec<SetOrRel<A::S, A::R>>,
        env: Env,
    ) -> Outcome<Option<Vec<SetOrRel<A::S, A::R>>>> {
        let mut inner = env;
        for (b, var) in values.iter().zip(vars) {
            let [name] = b.pat.as_slice() else {
                return self.unstageable(b.span, "a recursive definition of a tuple");
            };
            inner = self.bind_var(inner, name, to_value(var));
        }
        inner = self.define_funs(funs, inner)?;
        let mut bodies = Vec::with_capacity(values.len());
        for (b, set) in values.iter().zip(is_set) {
            let value = self.eval(&b.value, inner)?;
            let any = matches!(value, Value::Empty | Value::Universe);
            if !any && *set != matches!(value, Value::Set(_) | Value::Event(_)) {
                return Ok(None);
            }
            bodies.push(if *set {
                SetOrRel::Set(self.as_set(value, b.span)?)
            } else {
                SetOrRel::Rel(self.as_rel(value, b.span)?)
            });
        }
        Ok(Some(bodies))
    }

    fn define_funs(&mut self, funs: &[&'m Binding], env: Env) -> Outcome<Env> {
        let mut out = env;
        for b in funs {
            if b.pat.len() != 1 {
                return self.error(b.span, "a function needs one name");
            }
            let value = self.eval(&b.value, env)?;
            out = self.bind_var(out, &b.pat[0], value);
        }
        // The functions can call one another: their bindings are the newest.
        let mut at = out;
        while at != env {
            let b = &mut self.bound[at as usize - 1];
            if let Value::Closure(c) = &mut b.value {
                c.env = out;
            }
            at = b.older;
        }
        Ok(out)
    }

    /// Computes the least solution by iteration from nothing.
    fn iterate(&mut self, funs: &[&'m Binding], values: &[&'m Binding], env: Env) -> Outcome<Env> {
        let mut old: Vec<ValueOf<'m, A>> = values
            .iter()
            .map(|b| match b.pat.len() {
                1 => Value::Empty,
                n => Value::Tuple(Rc::new(vec![Value::Empty; n])),
            })
            .collect();
        for _ in 0..MAX_ROUNDS {
            let mut inner = env;
            for (b, value) in values.iter().zip(&old) {
                inner = match self.bind_pat(inner, &b.pat, value.clone()) {
                    Some(env) => env,
                    None => return self.error(b.span, "the names do not fit the value"),
                };
            }
            inner = self.define_funs(funs, inner)?;
            // Each body sees the new values of those before it.
            let mut new = Vec::with_capacity(old.len());
            for b in values {
                let value = self.eval(&b.value, inner)?;
                inner = match self.bind_pat(inner, &b.pat, value.clone()) {
                    Some(env) => env,
                    None => return self.error(b.span, "the names do not fit the value"),
                };
                new.push(value);
            }
            inner = self.define_funs(funs, inner)?;
            let mut over = true;
            for ((b, old), new) in values.iter().zip(&old).zip(&new) {
                over &= self.is_within(new, old, b.span)?;
            }
            if over {
                return Ok(inner);
            }
            old = new;
        }
        self.error(values[0].span, NEVER_SETTLES)
    }

    /// Whether all members of `new` are in `old`.
    fn is_within(
        &mut self,
        new: &ValueOf<'m, A>,
        old: &ValueOf<'m, A>,
        span: Span,
    ) -> Outcome<bool> {
        Ok(match (old, new) {
            (_, Value::Empty) | (Value::Universe, _) => true,
            (Value::Tuple(old), Value::Tuple(new)) if old.len() == new.len() => {
                let mut all = true;
                for (old, new) in old.iter().zip(new.iter()) {
                    all &= self.is_within(new, old, span)?;
                }
                all
            }
            (old, Value::Values(new)) => match old {
                Value::Empty => new.is_empty(),
                Value::Values(old) => new.iter().all(|v| old.iter().any(|w| same(v, w))),
                _ => return self.error(span, "a recursive definition that changes its type"),
            },
            (old, Value::Set(new)) => {
                let old = self.as_set(old.clone(), span)?;
                let more = self.alg.set_op(BinOp::Diff, new, &old);
                self.alg.elements(&more).is_some_and(|e| e.is_empty())
            }
            (old, new) => {
                let old = self.as_rel(old.clone(), span)?;
                let new = self.as_rel(new.clone(), span)?;
                let more = self.alg.rel_op(BinOp::Diff, &new, &old);
                self.alg.pairs(&more).is_some_and(|p| p.is_empty())
            }
        })
    }
}
