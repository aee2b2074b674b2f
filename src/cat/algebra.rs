//! The operations that the cat language needs of sets and relations. Staging implements them on
//! nodes of a plan, interpretation on the sets and relations of one execution. Nothing here knows the
//! language.

use super::ast::{BinOp, CheckKind, Shape};
use super::plan::{BaseRel, BaseSet};
use litmake_base::diag::Diag;

/// A set or a relation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetOrRel<S, R> {
    Set(S),
    Rel(R),
}

/// A kind of sets (`S`) and relations (`R`).
pub(crate) trait Algebra {
    type S: Clone + PartialEq;
    type R: Clone + PartialEq;

    fn base_set(&mut self, base: BaseSet) -> Self::S;
    fn base_rel(&mut self, base: BaseRel) -> Self::R;
    fn set_of(&mut self, events: &[usize]) -> Self::S;
    fn rel_of(&mut self, pairs: &[(usize, usize)]) -> Self::R;
    fn full_rel(&mut self) -> Self::R;
    /// Union, intersection or difference.
    fn set_op(&mut self, op: BinOp, a: &Self::S, b: &Self::S) -> Self::S;
    /// Union, intersection, difference or sequence.
    fn rel_op(&mut self, op: BinOp, a: &Self::R, b: &Self::R) -> Self::R;
    fn inverse(&mut self, r: &Self::R) -> Self::R;
    fn plus(&mut self, r: &Self::R) -> Self::R;
    fn cross(&mut self, a: &Self::S, b: &Self::S) -> Self::R;
    fn identity_on(&mut self, s: &Self::S) -> Self::R;
    fn domain(&mut self, r: &Self::R) -> Self::S;
    fn range(&mut self, r: &Self::R) -> Self::S;

    /// The elements, ascending, if they are known.
    fn elements(&self, s: &Self::S) -> Option<Vec<usize>>;
    fn pairs(&self, r: &Self::R) -> Option<Vec<(usize, usize)>>;

    /// This execution's coherence order of the writes in `s`, if it contains `r`.
    fn coherence(&mut self, s: &Self::S, r: &Self::R, place: &Site) -> Result<Self::R, Halt>;

    /// Picks one of `of` values that the language leaves open, if this algebra can.
    fn choose(&mut self, of: usize) -> Option<usize>;

    /// Where members are unknown, a value that stands for any one member of a set or a relation.
    fn member(&mut self, is_set: bool) -> Option<SetOrRel<Self::S, Self::R>>;

    /// Whether `pairs`, which were computed from `member`, all have it as their target, and the pairs of
    /// several members are the union of the pairs of each.
    fn by_target(&mut self, member: &Self::S, pairs: &Self::R) -> bool;

    /// For each target in `of`, the one of the pairs that this execution has.
    fn pick(&mut self, of: &Self::S, pairs: &Self::R, place: &Site) -> Result<Self::R, Halt>;

    fn check(
        &mut self,
        kind: CheckKind,
        shape: Shape,
        negated: bool,
        value: SetOrRel<Self::S, Self::R>,
        place: &Site,
    ) -> Result<(), Halt>;

    /// Variables for a recursive definition, with a set where `is_set` says so. `None` if this algebra
    /// solves definitions by iteration.
    fn fix_vars(&mut self, is_set: &[bool]) -> Option<Vec<SetOrRel<Self::S, Self::R>>>;

    /// Solves for the latest unsolved variables of [`Algebra::fix_vars`].
    #[expect(clippy::type_complexity, reason = "sets or relations, or why there are none")]
    fn fix_solve(
        &mut self,
        bodies: Vec<SetOrRel<Self::S, Self::R>>,
    ) -> Result<Vec<SetOrRel<Self::S, Self::R>>, String>;

    /// Forgets the latest variables of [`Algebra::fix_vars`].
    fn fix_forget(&mut self);

    fn show(&mut self, name: &str, value: SetOrRel<Self::S, Self::R>);
    fn unshow(&mut self, name: &str);

    /// Notes that a definition gives a value this name.
    fn named(&mut self, _name: &str, _value: &SetOrRel<Self::S, Self::R>) {}
}

/// The name of a check or definition, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) name: String,
    /// `file:line`
    pub(crate) at: String,
}

/// A check that an execution fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The check, as the model calls it.
    pub name: String,
    /// Where the check stands, as `file:line`.
    pub place: String,
    /// The events that show the failure: a cycle in order, or a pair or element that should be absent.
    pub events: Vec<usize>,
}

/// [`EarlyEnd`] as an algebra reports it, which does not know places in the text.
#[derive(Clone, Debug)]
pub(crate) enum Halt {
    Failed(Failed),
    Error(String),
    Unstageable(String),
}

/// Why an evaluation ends early.
#[derive(Clone, Debug)]
pub(crate) enum EarlyEnd {
    /// The model has an error.
    Error(Box<Diag>),
    /// Staging cannot answer: the answer depends on the execution.
    Unstageable(Box<Diag>),
    /// The execution is forbidden.
    Failed(Failed),
    /// A limit of time, steps or depth was met. Neither `try` nor a definition that nothing uses goes on
    /// after that.
    Limit(Box<Diag>),
}

pub(crate) type Outcome<T> = Result<T, EarlyEnd>;

/// The relation `co0`: initial writes before the other writes of their place, and these before the final
/// ones.
pub(crate) fn co0<A: Algebra>(alg: &mut A) -> A::R {
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
