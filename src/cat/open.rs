//! Values that a model does not compute: base names, the choices of `with`, and functions over members
//! that are unknown while staging.

use super::algebra::{Algebra, EarlyEnd, Failed, Outcome, SetOrRel, co0};
use super::ast::{BinOp, Expr, ExprKind};
use super::eval::Eval;
use super::names::{self, Base};
use super::plan::{BaseRel, BaseSet};
use super::value::{Env, Value, ValueOf};
use litmake_base::diag::Span;

impl<'m, A: Algebra> Eval<'m, A> {
    /// The value of a base name.
    pub(super) fn base_named(&mut self, name: &str) -> Option<ValueOf<'m, A>> {
        let model = self.model;
        if model.has_bell() {
            if let Some(tags) = model.annotation(name) {
                return Some(Value::Set(self.alg.base_set(BaseSet::Tags(tags))));
            }
            // The search also covers locks; the model adds these itself.
            let (r, w) = (self.alg.base_set(BaseSet::R), self.alg.base_set(BaseSet::W));
            let (on_r, on_w) = (self.alg.identity_on(&r), self.alg.identity_on(&w));
            let co = self.alg.base_rel(BaseRel::Co);
            let co = self.alg.rel_op(BinOp::Seq, &co, &on_w);
            match name {
                "rf" => {
                    let rf = self.alg.base_rel(BaseRel::Rf);
                    return Some(Value::Rel(self.alg.rel_op(BinOp::Seq, &rf, &on_r)));
                }
                "co" => return Some(Value::Rel(self.alg.rel_op(BinOp::Seq, &on_w, &co))),
                // As in herd, only places that final states show.
                "FW" => {
                    let observed = self.alg.base_set(BaseSet::Observed);
                    let shown = self.alg.set_op(BinOp::Inter, &w, &observed);
                    let before = self.alg.domain(&co);
                    return Some(Value::Set(self.alg.set_op(BinOp::Diff, &shown, &before)));
                }
                _ => {}
            }
        }
        names::base(model.arch, name).map(|base| self.base(base))
    }

    fn base(&mut self, base: Base) -> ValueOf<'m, A> {
        match base {
            Base::Set(s) => Value::Set(self.alg.base_set(s)),
            Base::NotSet(s) => {
                let all = self.alg.base_set(BaseSet::All);
                let s = self.alg.base_set(s);
                Value::Set(self.alg.set_op(BinOp::Diff, &all, &s))
            }
            Base::EitherSet(a, b) => {
                let a = self.alg.base_set(a);
                let b = self.alg.base_set(b);
                Value::Set(self.alg.set_op(BinOp::Union, &a, &b))
            }
            Base::Rel(r) => Value::Rel(self.alg.base_rel(r)),
            Base::EitherRel(a, b) => {
                let a = self.alg.base_rel(a);
                let b = self.alg.base_rel(b);
                Value::Rel(self.alg.rel_op(BinOp::Union, &a, &b))
            }
            Base::EmptySet => Value::Set(self.alg.set_of(&[])),
            Base::EmptyRel => Value::Rel(self.alg.rel_of(&[])),
            Base::Co0 => Value::Rel(co0(&mut self.alg)),
        }
    }

    /// The value of a `with`: one member of a set; while staging, one that stands for any.
    pub(super) fn from(&mut self, from: &'m Expr, env: Env) -> Outcome<ValueOf<'m, A>> {
        if let ExprKind::App(fun, arg) = &from.kind
            && let ExprKind::Var(name) = &fun.kind
            && matches!(name.as_ref(), "generate_cos" | "generate_orders")
        {
            let arg = self.eval(arg, env)?;
            let (set, rel) = match (name.as_ref(), arg) {
                // The function refers to the writes that were in scope where it was defined.
                ("generate_cos", rel) => {
                    let home = match self.bound(env, name) {
                        Some(Value::Closure(c)) => c.env,
                        _ => env,
                    };
                    let writes = self.lookup(home, "W", from.span)?;
                    (self.as_set(writes, from.span)?, rel)
                }
                (_, Value::Tuple(parts)) if parts.len() == 2 => {
                    (self.as_set(parts[0].clone(), from.span)?, parts[1].clone())
                }
                _ => return self.error(from.span, "expected a set and a relation"),
            };
            let rel = self.as_rel(rel, from.span)?;
            let place = self.place("coherence".into(), from.span);
            let order = self.alg.coherence(&set, &rel, &place);
            return order.map(Value::Rel).map_err(|h| self.halt(h, from.span));
        }
        if let ExprKind::App(fun, arg) = &from.kind
            && let ExprKind::Var(name) = &fun.kind
            && name.as_ref() == "cross"
            && let Value::Families(of, pairs) = self.eval(arg, env)?
        {
            let place = self.place("with".into(), from.span);
            let picked = self.alg.pick(&of, &pairs, &place);
            return picked.map(Value::Rel).map_err(|h| self.halt(h, from.span));
        }
        let members = self.members(from, env)?;
        let failed = |ev: &Self| {
            let place = ev.place("with".into(), from.span);
            EarlyEnd::Failed(Failed { name: place.name, place: place.at, events: Vec::new() })
        };
        match members.len() {
            0 => Err(failed(self)),
            1 => Ok(members[0].clone()),
            n => match self.alg.choose(n) {
                Some(i) => Ok(members[i.min(n - 1)].clone()),
                None => self.unstageable(from.span, "which values there are is not known yet"),
            },
        }
    }

    /// Applies a function to each member of a set or a relation whose members are unknown. It knows two
    /// shapes of functions: those that make a relation of each pair, and those that pair each member with
    /// others. `None` for any other.
    pub(super) fn map_members(
        &mut self,
        of: &ValueOf<'m, A>,
        each: &'m Expr,
        env: Env,
    ) -> Outcome<Option<ValueOf<'m, A>>> {
        let span = each.span;
        match of {
            Value::Rel(r) if self.alg.pairs(r).is_none() => {
                let Some(SetOrRel::Rel(one)) = self.alg.member(false) else { return Ok(None) };
                let f = self.eval(each, env)?;
                let value = self.apply_open(f, Value::MemberPair(one.clone()), span, env)?;
                Ok(match value {
                    Value::Rel(same) if same == one => Some(Value::Singles(r.clone())),
                    _ => None,
                })
            }
            Value::Set(s) if self.alg.elements(s).is_none() => {
                let Some(SetOrRel::Set(one)) = self.alg.member(true) else { return Ok(None) };
                let f = self.eval(each, env)?;
                let value = self.apply_open(f.clone(), Value::Member(one.clone()), span, env)?;
                let Value::Singles(pairs) = value else { return Ok(None) };
                if !self.alg.by_target(&one, &pairs) {
                    return Ok(None);
                }
                // The pairs of the whole set are the union of those of each member.
                let all = self.apply_open(f, Value::Member(s.clone()), span, env)?;
                Ok(match all {
                    Value::Singles(pairs) => Some(Value::Families(s.clone(), pairs)),
                    _ => None,
                })
            }
            _ => Ok(None),
        }
    }

    /// Applies a function to an unknown member. An error becomes "unstageable": with a known member there
    /// may be none.
    fn apply_open(
        &mut self,
        f: ValueOf<'m, A>,
        member: ValueOf<'m, A>,
        span: Span,
        env: Env,
    ) -> Outcome<ValueOf<'m, A>> {
        self.apply(f, member, span, env).map_err(|stop| match stop {
            EarlyEnd::Error(d) => EarlyEnd::Unstageable(d),
            stop => stop,
        })
    }
}
