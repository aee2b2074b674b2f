//! What sets and relations of any kind must be able to do for the cat language to mean something
//! over them, and how they stop it. It does not know the language.

use super::ast::{BinOp, CheckKind, Shape};
use super::plan::{BaseRel, BaseSet};
use litmake_base::diag::Diag;

/// A set or a relation.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOrRel<S, R> {
    Set(S),
    Rel(R),
}

/// What a kind of sets and relations must be able to do.
pub trait Algebra {
    type S: Clone + PartialEq;
    type R: Clone + PartialEq;

    fn base_set(&mut self, base: BaseSet) -> Self::S;
    fn base_rel(&mut self, base: BaseRel) -> Self::R;
    fn set_of(&mut self, events: &[usize]) -> Self::S;
    fn rel_of(&mut self, pairs: &[(usize, usize)]) -> Self::R;
    fn full_rel(&mut self) -> Self::R;
    /// Union, intersection or difference.
    fn set_op(&mut self, op: BinOp, a: &Self::S, b: &Self::S) -> Self::S;
    /// The same, or sequence.
    fn rel_op(&mut self, op: BinOp, a: &Self::R, b: &Self::R) -> Self::R;
    fn inverse(&mut self, r: &Self::R) -> Self::R;
    fn plus(&mut self, r: &Self::R) -> Self::R;
    fn cross(&mut self, a: &Self::S, b: &Self::S) -> Self::R;
    fn identity_on(&mut self, s: &Self::S) -> Self::R;
    fn domain(&mut self, r: &Self::R) -> Self::S;
    fn range(&mut self, r: &Self::R) -> Self::S;

    /// The elements, ascending, where they are known.
    fn elements(&self, s: &Self::S) -> Option<Vec<usize>>;
    fn pairs(&self, r: &Self::R) -> Option<Vec<(usize, usize)>>;

    /// The total orders, place by place, of the writes in `s` that contain `r`: the one of this
    /// execution.
    fn coherence(&mut self, s: &Self::S, r: &Self::R, place: &Place) -> Result<Self::R, Halt>;

    /// Picks one of several values that the language leaves open, where that can be done.
    fn choose(&mut self, of: usize) -> Option<usize>;

    /// Stands for a member of a set or a relation, whichever it is, where members are not known.
    fn member(&mut self, is_set: bool) -> Option<SetOrRel<Self::S, Self::R>>;

    /// Whether pairs that are made of a member all have it as their target, and those made of
    /// several are the union of those made of each.
    fn by_target(&mut self, member: &Self::S, pairs: &Self::R) -> bool;

    /// One of the pairs for each of its targets, which are `of`: those of this execution.
    fn pick(&mut self, of: &Self::S, pairs: &Self::R, place: &Place) -> Result<Self::R, Halt>;

    fn check(
        &mut self,
        kind: CheckKind,
        shape: Shape,
        negated: bool,
        value: SetOrRel<Self::S, Self::R>,
        place: &Place,
    ) -> Result<(), Halt>;

    /// Variables for a recursive definition, sets where `is_set` says so; nothing where
    /// definitions are solved by iteration.
    fn fix_vars(&mut self, is_set: &[bool]) -> Option<Vec<SetOrRel<Self::S, Self::R>>>;

    /// Solves for the variables that [`Algebra::fix_vars`] gave last and that are not solved.
    #[expect(clippy::type_complexity, reason = "sets or relations, or why there are none")]
    fn fix_solve(
        &mut self,
        bodies: Vec<SetOrRel<Self::S, Self::R>>,
    ) -> Result<Vec<SetOrRel<Self::S, Self::R>>, String>;

    /// Gives up the variables that [`Algebra::fix_vars`] gave last.
    fn fix_forget(&mut self);

    fn show(&mut self, name: &str, value: SetOrRel<Self::S, Self::R>);
    fn unshow(&mut self, name: &str);

    /// A definition gives a value this name.
    fn named(&mut self, _name: &str, _value: &SetOrRel<Self::S, Self::R>) {}
}

/// Where something stands that may go wrong, and what it is called.
#[derive(Clone, Debug)]
pub struct Place {
    pub name: String,
    /// `file:line`
    pub at: String,
}

/// A check that an execution fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub name: String,
    pub place: String,
    /// The events of a cycle in order, or of the first pair or element that should not be.
    pub events: Vec<usize>,
}

/// Why an algebra stops an evaluation.
#[derive(Clone, Debug)]
pub enum Halt {
    Failed(Failed),
    Error(String),
    Unstageable(String),
}

/// Why an evaluation ends early.
#[derive(Clone, Debug)]
pub enum Stop {
    /// The model is wrong.
    Error(Box<Diag>),
    /// The answer depends on the execution.
    Unstageable(Box<Diag>),
    /// The execution is not allowed.
    Failed(Failed),
}

pub type Outcome<T> = Result<T, Stop>;

/// The initial writes before the others of their place, and these before the final ones.
pub fn co0<A: Algebra>(alg: &mut A) -> A::R {
    let w = alg.base_set(BaseSet::W);
    let iw = alg.base_set(BaseSet::Iw);
    let fw = alg.base_set(BaseSet::Fw);
    let later = alg.set_op(BinOp::Diff, &w, &iw);
    let earlier = alg.set_op(BinOp::Diff, &w, &fw);
    let first = alg.cross(&iw, &later);
    let last = alg.cross(&earlier, &fw);
    let both = alg.rel_op(BinOp::Union, &first, &last);
    let loc = alg.base_rel(BaseRel::Loc);
    alg.rel_op(BinOp::Inter, &loc, &both)
}
