//! The operators of cat on values of every type, and the built-in functions.
//!
//! Typing is herd's: `{}` and `_` have every type, and a tag counts as the set with this tag.

use super::algebra::{Algebra, EarlyEnd, Outcome};
use super::ast::{BinOp, Expr, UnOp};
use super::eval::Eval;
use super::plan::{BaseRel, BaseSet};
use super::value::{Env, Value, ValueOf, same};
use litmake_base::diag::Span;
use litmake_base::watch;
use std::rc::Rc;

/// A built-in function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prim {
    Domain,
    Range,
    ClassesLoc,
    Classes,
    Linearisations,
    FromTo,
    TagToEvents,
    AsTransitive,
    Fail,
    Lift,
    Delift,
    DeliftInter,
    /// A function of values or scopes, which executions here lack. Only its value for the empty set is
    /// known.
    Other(&'static str),
}

const OTHERS: &[&str] = &[
    "at-least-one-writable",
    "same-oa",
    "different-values",
    "bisimulation",
    "tag2scope",
    "tag2level",
    "tag2fenced",
    "loc2events",
];

/// At most so many linear orders are listed.
const MAX_ORDERS: usize = 50_000;

/// Sets of values are compared member by member, up to this many pairs.
const MAX_COMPARED: usize = 5_000_000;

impl Prim {
    pub fn named(name: &str) -> Option<Prim> {
        Some(match name {
            "domain" => Prim::Domain,
            "range" => Prim::Range,
            "classes-loc" => Prim::ClassesLoc,
            "classes" => Prim::Classes,
            "linearisations" => Prim::Linearisations,
            "fromto" => Prim::FromTo,
            "tag2events" | "tag2set" => Prim::TagToEvents,
            "as_transitive" => Prim::AsTransitive,
            "fail" => Prim::Fail,
            "lift" => Prim::Lift,
            "delift" => Prim::Delift,
            "deliftinter" => Prim::DeliftInter,
            _ => Prim::Other(OTHERS.iter().find(|n| **n == name)?),
        })
    }
}

impl<S, R> Value<'_, S, R> {
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Empty => "`{}`",
            Value::Universe => "`_`",
            Value::Set(_) => "a set of events",
            Value::Rel(_) => "a relation",
            Value::Event(_) | Value::Member(_) => "an event",
            Value::Pair(..) | Value::MemberPair(_) => "a pair of events",
            Value::Singles(_) | Value::Families(..) => "a set of relations",
            Value::Tag(_) => "a tag",
            Value::Values(_) => "a set of values",
            Value::Tuple(_) => "a tuple",
            Value::Closure(_) | Value::Prim(_) => "a function",
            Value::Procedure(_) => "a procedure",
            Value::Broken(_) => "nothing",
        }
    }
}

impl<'m, A: Algebra> Eval<'m, A> {
    pub(super) fn as_rel(&mut self, value: ValueOf<'m, A>, span: Span) -> Outcome<A::R> {
        match value {
            Value::Rel(r) => Ok(r),
            Value::Pair(a, b) => Ok(self.alg.rel_of(&[(a, b)])),
            Value::MemberPair(r) => Ok(r),
            Value::Empty => Ok(self.alg.rel_of(&[])),
            Value::Universe => Ok(self.alg.full_rel()),
            other => {
                let kind = other.kind();
                self.error(span, format!("expected a relation, found {kind}"))
            }
        }
    }

    pub(super) fn as_set(&mut self, value: ValueOf<'m, A>, span: Span) -> Outcome<A::S> {
        match value {
            Value::Set(s) => Ok(s),
            Value::Event(e) => Ok(self.alg.set_of(&[e])),
            Value::Member(s) => Ok(s),
            Value::Empty => Ok(self.alg.set_of(&[])),
            Value::Universe => Ok(self.alg.base_set(BaseSet::All)),
            other => {
                let kind = other.kind();
                self.error(span, format!("expected a set of events, found {kind}"))
            }
        }
    }

    pub(super) fn unary(
        &mut self,
        op: UnOp,
        value: ValueOf<'m, A>,
        span: Span,
    ) -> Outcome<ValueOf<'m, A>> {
        let id = |ev: &mut Self| ev.alg.base_rel(BaseRel::Id);
        Ok(match (op, value) {
            (UnOp::Complement, Value::Empty) => Value::Universe,
            (UnOp::Complement, Value::Universe) => Value::Empty,
            (UnOp::Complement, Value::Set(s)) => {
                let all = self.alg.base_set(BaseSet::All);
                Value::Set(self.alg.set_op(BinOp::Diff, &all, &s))
            }
            (UnOp::Complement, value @ (Value::Values(_) | Value::Tag(_))) => {
                self.binary(BinOp::Diff, Value::Universe, value, span)?
            }
            (UnOp::Complement, value) => {
                let r = self.as_rel(value, span)?;
                let all = self.alg.full_rel();
                Value::Rel(self.alg.rel_op(BinOp::Diff, &all, &r))
            }
            (UnOp::Identity, Value::Empty) => Value::Empty,
            (UnOp::Identity, Value::Universe) => Value::Rel(id(self)),
            (UnOp::Identity, value) => {
                let s = self.as_set(value, span)?;
                Value::Rel(self.alg.identity_on(&s))
            }
            (UnOp::Plus | UnOp::Inverse, Value::Empty) => Value::Empty,
            (_, Value::Universe) => Value::Universe,
            (UnOp::Inverse, Value::Pair(a, b)) => Value::Pair(b, a),
            (UnOp::Inverse, value) => {
                let r = self.as_rel(value, span)?;
                Value::Rel(self.alg.inverse(&r))
            }
            (op, value) => {
                let mut r = self.as_rel(value, span)?;
                if op != UnOp::Opt {
                    r = self.alg.plus(&r);
                }
                if op != UnOp::Plus {
                    let id = id(self);
                    r = self.alg.rel_op(BinOp::Union, &r, &id);
                }
                Value::Rel(r)
            }
        })
    }

    /// A sequence. Once it is known to be empty, the rest is not evaluated.
    pub(super) fn seq(&mut self, items: &'m [Expr], env: Env) -> Outcome<ValueOf<'m, A>> {
        let mut out: Option<A::R> = None;
        for item in items {
            let value = self.eval(item, env)?;
            let r = self.as_rel(value, item.span)?;
            let r = match out {
                None => r,
                Some(left) => self.alg.rel_op(BinOp::Seq, &left, &r),
            };
            if self.alg.pairs(&r).is_some_and(|p| p.is_empty()) {
                return Ok(Value::Rel(r));
            }
            out = Some(r);
        }
        Ok(out.map_or(Value::Empty, Value::Rel))
    }

    /// Union, intersection or difference.
    pub(super) fn binary(
        &mut self,
        op: BinOp,
        a: ValueOf<'m, A>,
        b: ValueOf<'m, A>,
        span: Span,
    ) -> Outcome<ValueOf<'m, A>> {
        let a = self.lifted(a);
        let b = self.lifted(b);
        Ok(match (op, a, b) {
            (BinOp::Union, Value::Empty, x) | (BinOp::Union, x, Value::Empty) => x,
            (BinOp::Union, Value::Universe, _) | (BinOp::Union, _, Value::Universe) => {
                Value::Universe
            }
            (BinOp::Inter, Value::Universe, x) | (BinOp::Inter, x, Value::Universe) => x,
            (BinOp::Inter, Value::Empty, _) | (BinOp::Inter, _, Value::Empty) => Value::Empty,
            (BinOp::Diff, x, Value::Empty) => x,
            (BinOp::Diff, Value::Empty, _) | (BinOp::Diff, _, Value::Universe) => Value::Empty,
            (_, Value::Universe, Value::Set(s)) => {
                let all = self.alg.base_set(BaseSet::All);
                Value::Set(self.alg.set_op(op, &all, &s))
            }
            (_, Value::Universe, Value::Rel(r)) => {
                let all = self.alg.full_rel();
                Value::Rel(self.alg.rel_op(op, &all, &r))
            }
            (_, Value::Universe, Value::Values(b)) => {
                let tags = match b.first() {
                    Some(Value::Tag(tag)) => self.tag_set(tag),
                    _ => return self.error(span, "this type of set has no universe"),
                };
                let all = Value::Values(Rc::new(tags.into_iter().map(Value::Tag).collect()));
                self.binary(op, all, Value::Values(b), span)?
            }
            (_, Value::Set(a), Value::Set(b)) => Value::Set(self.alg.set_op(op, &a, &b)),
            (_, Value::Rel(a), Value::Rel(b)) => Value::Rel(self.alg.rel_op(op, &a, &b)),
            (_, Value::Values(a), Value::Values(b)) => {
                if a.len().saturating_mul(b.len()) > MAX_COMPARED {
                    return self.error(span, "these sets of values are too large");
                }
                let in_b = |v: &ValueOf<'m, A>| b.iter().any(|w| same(v, w));
                let mut out: Vec<_> = match op {
                    BinOp::Union => a.to_vec(),
                    BinOp::Inter => a.iter().filter(|v| in_b(v)).cloned().collect(),
                    _ => a.iter().filter(|v| !in_b(v)).cloned().collect(),
                };
                if op == BinOp::Union {
                    for v in b.iter() {
                        if !a.iter().any(|w| same(v, w)) {
                            out.push(v.clone());
                        }
                    }
                }
                Value::Values(Rc::new(out))
            }
            (_, a, b) => {
                let (a, b) = (a.kind(), b.kind());
                let sign = op.symbol();
                return self.error(span, format!("`{sign}` cannot join {a} and {b}"));
            }
        })
    }

    /// Single elements as the sets of them.
    fn lifted(&mut self, value: ValueOf<'m, A>) -> ValueOf<'m, A> {
        match value {
            Value::Tag(_) => Value::Values(Rc::new(vec![value])),
            Value::Event(e) => Value::Set(self.alg.set_of(&[e])),
            Value::Pair(a, b) => Value::Rel(self.alg.rel_of(&[(a, b)])),
            Value::Member(s) => Value::Set(s),
            Value::MemberPair(r) => Value::Rel(r),
            other => other,
        }
    }

    /// `elem ++ set`.
    pub(super) fn add(
        &mut self,
        elem: ValueOf<'m, A>,
        set: ValueOf<'m, A>,
        span: Span,
    ) -> Outcome<ValueOf<'m, A>> {
        let elem = match elem {
            Value::Tuple(parts) => match parts.as_slice() {
                [Value::Event(a), Value::Event(b)] if matches!(set, Value::Rel(_)) => {
                    Value::Pair(*a, *b)
                }
                _ => Value::Tuple(parts),
            },
            other => other,
        };
        Ok(match (elem, set) {
            (Value::Universe, _) => return self.error(span, "`_` cannot be an element"),
            (_, Value::Universe) => Value::Universe,
            (Value::Member(s), Value::Empty) => Value::Set(s),
            (Value::MemberPair(r), Value::Empty) => Value::Rel(r),
            (Value::MemberPair(r), Value::Rel(more)) => {
                Value::Rel(self.alg.rel_op(BinOp::Union, &r, &more))
            }
            (Value::Event(e), Value::Empty) => Value::Set(self.alg.set_of(&[e])),
            (Value::Pair(a, b), Value::Empty) => Value::Rel(self.alg.rel_of(&[(a, b)])),
            (Value::Pair(a, b), Value::Rel(r)) => {
                let one = self.alg.rel_of(&[(a, b)]);
                Value::Rel(self.alg.rel_op(BinOp::Union, &one, &r))
            }
            // A pair that a match took from a relation, added to the empty set.
            (Value::Pair(a, b), Value::Set(s)) if self.alg.elements(&s) == Some(Vec::new()) => {
                Value::Rel(self.alg.rel_of(&[(a, b)]))
            }
            (Value::Event(e), Value::Set(s)) => {
                let one = self.alg.set_of(&[e]);
                Value::Set(self.alg.set_op(BinOp::Union, &one, &s))
            }
            (elem, Value::Empty) => Value::Values(Rc::new(vec![elem])),
            (elem, Value::Values(values)) => {
                if values.iter().any(|v| same(v, &elem)) {
                    return Ok(Value::Values(values));
                }
                let mut out = values.to_vec();
                out.push(elem);
                Value::Values(Rc::new(out))
            }
            (elem, set) => {
                let (elem, set) = (elem.kind(), set.kind());
                return self.error(span, format!("`++` cannot add {elem} to {set}"));
            }
        })
    }

    pub(super) fn primitive(
        &mut self,
        prim: Prim,
        arg: ValueOf<'m, A>,
        span: Span,
        env: Env,
    ) -> Outcome<ValueOf<'m, A>> {
        match prim {
            Prim::Domain | Prim::Range => {
                if matches!(arg, Value::Empty | Value::Universe) {
                    return Ok(arg);
                }
                let r = self.as_rel(arg, span)?;
                Ok(Value::Set(if prim == Prim::Domain {
                    self.alg.domain(&r)
                } else {
                    self.alg.range(&r)
                }))
            }
            Prim::AsTransitive => {
                if matches!(arg, Value::Empty | Value::Universe) {
                    return Ok(arg);
                }
                let r = self.as_rel(arg, span)?;
                Ok(Value::Rel(self.alg.plus(&r)))
            }
            Prim::FromTo => {
                let s = self.as_set(arg, span)?;
                let po = self.alg.base_rel(BaseRel::Po);
                let on = self.alg.identity_on(&s);
                let before = self.alg.rel_op(BinOp::Seq, &po, &on);
                Ok(Value::Rel(self.alg.rel_op(BinOp::Seq, &before, &po)))
            }
            Prim::Fail => self.error(span, format!("the model fails on {}", arg.kind())),
            Prim::TagToEvents => {
                let Value::Tag(tag) = arg else {
                    return self.error(span, format!("expected a tag, found {}", arg.kind()));
                };
                let mut name = tag.to_string();
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_uppercase();
                }
                match self.lookup(env, &name, span)? {
                    Value::Set(s) => Ok(Value::Set(s)),
                    v => self.error(span, format!("`{name}` is {}, not a set", v.kind())),
                }
            }
            Prim::ClassesLoc => {
                let s = self.as_set(arg, span)?;
                let members = self.known(&s, span)?;
                let loc = self.alg.base_rel(BaseRel::Loc);
                let places: Vec<_> = match self.alg.pairs(&loc) {
                    Some(pairs) => pairs,
                    None if members.is_empty() => Vec::new(),
                    None => return self.open(span),
                };
                Ok(self.classes(&members, &places))
            }
            Prim::Classes => {
                let r = self.as_rel(arg, span)?;
                let pairs = self.known_pairs(&r, span)?;
                let mut members: Vec<_> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
                members.sort_unstable();
                members.dedup();
                Ok(self.classes(&members, &pairs))
            }
            Prim::Linearisations => self.linearisations(arg, span),
            Prim::Lift => self.lift(arg, span),
            Prim::Delift => {
                let m = self.alg.full_rel();
                self.delift(m, arg, span)
            }
            Prim::DeliftInter => match arg {
                Value::Tuple(parts) if parts.len() == 2 => {
                    let m = self.as_rel(parts[0].clone(), span)?;
                    self.delift(m, parts[1].clone(), span)
                }
                _ => self.error(span, "expected a relation and a relation over classes"),
            },
            Prim::Other(name) => match arg {
                Value::Empty => Ok(Value::Empty),
                Value::Rel(r) if self.alg.pairs(&r) == Some(Vec::new()) => Ok(Value::Rel(r)),
                Value::Rel(r) if name == "different-values" => {
                    // Executions do not fix values. Where the answer depends on them, a flag says so.
                    let open = self.alg.base_rel(BaseRel::MayDiffer);
                    let open = self.alg.rel_op(BinOp::Inter, &r, &open);
                    self.flag(open, "different-values-not-known", span)?;
                    let differ = self.alg.base_rel(BaseRel::Differ);
                    Ok(Value::Rel(self.alg.rel_op(BinOp::Inter, &r, &differ)))
                }
                _ => self.error(span, format!("`{name}` has no meaning for executions here")),
            },
        }
    }

    fn open<T>(&self, span: Span) -> Outcome<T> {
        self.unstageable(span, "the elements are not known before there is an execution")
    }

    fn known(&self, s: &A::S, span: Span) -> Outcome<Vec<usize>> {
        match self.alg.elements(s) {
            Some(events) => Ok(events),
            None => self.open(span),
        }
    }

    fn known_pairs(&self, r: &A::R, span: Span) -> Outcome<Vec<(usize, usize)>> {
        match self.alg.pairs(r) {
            Some(pairs) => Ok(pairs),
            None => self.open(span),
        }
    }

    /// The classes of the least equivalence on `members` that contains `pairs`.
    fn classes(&mut self, members: &[usize], pairs: &[(usize, usize)]) -> ValueOf<'m, A> {
        let mut class: Vec<usize> = (0..members.len()).collect();
        let at = |e: usize| members.binary_search(&e).ok();
        for &(a, b) in pairs {
            if let (Some(a), Some(b)) = (at(a), at(b)) {
                let (from, to) = (class[a].max(class[b]), class[a].min(class[b]));
                class.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
            }
        }
        let mut out = Vec::new();
        for c in 0..members.len() {
            let of_class = class.iter().enumerate().filter(|(_, x)| **x == c);
            let events: Vec<_> = of_class.map(|(i, _)| members[i]).collect();
            if !events.is_empty() {
                out.push(Value::Set(self.alg.set_of(&events)));
            }
        }
        if out.is_empty() {
            return Value::Empty;
        }
        Value::Values(Rc::new(out))
    }

    /// All strict total orders of a set that contain what a relation says of it.
    fn linearisations(&mut self, arg: ValueOf<'m, A>, span: Span) -> Outcome<ValueOf<'m, A>> {
        let (s, r) = match arg {
            Value::Tuple(parts) if parts.len() == 2 => (parts[0].clone(), parts[1].clone()),
            _ => return self.error(span, "expected a set and a relation"),
        };
        let s = self.as_set(s, span)?;
        let members = self.known(&s, span)?;
        if members.is_empty() {
            let none = self.alg.rel_of(&[]);
            return Ok(Value::Values(Rc::new(vec![Value::Rel(none)])));
        }
        let r = self.as_rel(r, span)?;
        let pairs = self.known_pairs(&r, span)?;
        let mut before = vec![Vec::new(); members.len()];
        for (a, b) in pairs {
            if let (Ok(a), Ok(b)) = (members.binary_search(&a), members.binary_search(&b)) {
                before[b].push(a);
            }
        }
        let mut orders = Vec::new();
        let all = topological(&before, &mut Vec::new(), &mut orders);
        if !all && watch::is_over() {
            return Err(EarlyEnd::Limit(watch::over()));
        }
        if !all {
            return self.limit(span, "there are too many linear orders");
        }
        let orders = orders
            .into_iter()
            .map(|order| {
                let mut pairs = Vec::new();
                for (i, a) in order.iter().enumerate() {
                    pairs.extend(order[i + 1..].iter().map(|b| (members[*a], members[*b])));
                }
                Value::Rel(self.alg.rel_of(&pairs))
            })
            .collect();
        Ok(Value::Values(Rc::new(orders)))
    }

    /// The pairs of classes that a relation joins.
    fn lift(&mut self, arg: ValueOf<'m, A>, span: Span) -> Outcome<ValueOf<'m, A>> {
        let (classes, r) = match arg {
            Value::Tuple(parts) if parts.len() == 2 => (parts[0].clone(), parts[1].clone()),
            _ => return self.error(span, "expected a set of classes and a relation"),
        };
        let r = self.as_rel(r, span)?;
        let pairs = self.known_pairs(&r, span)?;
        let mut sets = Vec::new();
        for class in self.members_of(classes, span)? {
            let s = self.as_set(class, span)?;
            sets.push((self.known(&s, span)?, s));
        }
        let mut out: Vec<ValueOf<'m, A>> = Vec::new();
        for (a, b) in pairs {
            let class = |e: usize| sets.iter().find(|(events, _)| events.contains(&e));
            if let (Some((_, a)), Some((_, b))) = (class(a), class(b)) {
                let pair = vec![Value::Set(a.clone()), Value::Set(b.clone())];
                let pair = Value::Tuple(Rc::new(pair));
                if !out.iter().any(|v| same(v, &pair)) {
                    out.push(pair);
                }
            }
        }
        Ok(if out.is_empty() { Value::Empty } else { Value::Values(Rc::new(out)) })
    }

    /// The pairs of `m` between classes that are joined.
    fn delift(&mut self, m: A::R, classes: ValueOf<'m, A>, span: Span) -> Outcome<ValueOf<'m, A>> {
        let mut out = self.alg.rel_of(&[]);
        for pair in self.members_of(classes, span)? {
            let Value::Tuple(parts) = pair else {
                return self.error(span, "expected a relation over classes");
            };
            let [a, b] = parts.as_slice() else {
                return self.error(span, "expected a relation over classes");
            };
            let a = self.as_set(a.clone(), span)?;
            let b = self.as_set(b.clone(), span)?;
            let all = self.alg.cross(&a, &b);
            let some = self.alg.rel_op(BinOp::Inter, &m, &all);
            out = self.alg.rel_op(BinOp::Union, &out, &some);
        }
        Ok(Value::Rel(out))
    }
}

/// Lists the orders in which each item comes after those in `before`; false if there are too many.
fn topological(before: &[Vec<usize>], done: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) -> bool {
    if done.len() == before.len() {
        out.push(done.clone());
        return out.len() <= MAX_ORDERS;
    }
    // The caller sees why when it polls next.
    if before.len() > 64 || watch::poll().is_err() {
        return false;
    }
    for i in 0..before.len() {
        if !done.contains(&i) && before[i].iter().all(|b| done.contains(b)) {
            done.push(i);
            if !topological(before, done, out) {
                return false;
            }
            done.pop();
        }
    }
    true
}
