//! Values of the cat language, and which of them are certainly the same. It does not know how they are
//! computed.

use super::algebra::{Algebra, EarlyEnd, SetOrRel};
use super::ast::{Function, Ins, Name, Pat};
use super::prims::Prim;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub enum Value<'m, S, R> {
    /// `{}`, of any type of set or relation.
    Empty,
    /// `_`, of any type of set or relation.
    Universe,
    Set(S),
    Rel(R),
    Event(usize),
    Pair(usize, usize),
    /// Some member of a set, while staging.
    Member(S),
    MemberPair(R),
    /// The set of all relations of one pair of this one.
    Singles(R),
    /// For each member of a set, the set of all relations of one pair that ends in it.
    Families(S, R),
    Tag(Name),
    /// A set of values, without repetition.
    Values(Rc<Vec<Value<'m, S, R>>>),
    Tuple(Rc<Vec<Value<'m, S, R>>>),
    Closure(Closure<'m>),
    Prim(Prim),
    Procedure(Procedure<'m>),
    /// A definition with an error, which matters only if it is used.
    Broken(Rc<EarlyEnd>),
}

#[derive(Clone, Copy, Debug)]
pub struct Closure<'m> {
    pub(super) fun: &'m Function,
    pub(super) env: Env,
    pub(super) file: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Procedure<'m> {
    pub(super) params: &'m Pat,
    pub(super) body: &'m [Ins],
    pub(super) env: Env,
    pub(super) file: usize,
}

/// A list of bindings: the index of the newest, or 0 for none.
pub type Env = u32;

pub type ValueOf<'m, A> = Value<'m, <A as Algebra>::S, <A as Algebra>::R>;

/// Whether the first values are certainly among the second.
pub(super) fn within<S: PartialEq, R: PartialEq>(
    a: &[Value<'_, S, R>],
    b: &[Value<'_, S, R>],
) -> bool {
    a.iter().all(|v| b.iter().any(|w| same(v, w)))
}

/// Whether two values are certainly the same.
pub fn same<S: PartialEq, R: PartialEq>(a: &Value<'_, S, R>, b: &Value<'_, S, R>) -> bool {
    match (a, b) {
        (Value::Empty, Value::Empty) | (Value::Universe, Value::Universe) => true,
        (Value::Set(a), Value::Set(b)) => a == b,
        (Value::Rel(a), Value::Rel(b)) => a == b,
        (Value::Event(a), Value::Event(b)) => a == b,
        (Value::Pair(a, x), Value::Pair(b, y)) => a == b && x == y,
        (Value::Tag(a), Value::Tag(b)) => a == b,
        (Value::Values(a), Value::Values(b)) => a.len() == b.len() && within(a, b) && within(b, a),
        (Value::Tuple(a), Value::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}

pub fn to_value<'m, S, R>(v: SetOrRel<S, R>) -> Value<'m, S, R> {
    match v {
        SetOrRel::Set(s) => Value::Set(s),
        SetOrRel::Rel(r) => Value::Rel(r),
    }
}
