//! The syntax of cat: models, instructions, expressions, and printing them.
//!
//! These are only trees: names are not resolved and nothing has a type. A printed tree reads back as
//! the same tree.

use litmake_base::diag::Span;
use std::fmt::{self, Display, Write};
use std::sync::Arc;

/// A name or a text of a model.
pub(crate) type Name = Arc<str>;

/// One `.cat` (or `.bell`) file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The architecture in the title, if the title has one besides the name.
    pub arch: Option<Name>,
    /// The name of the model in its title.
    pub title: Option<Name>,
    /// Old-style options after the title (`withco`, `withoutsc` and so on), as written.
    pub options: Vec<Name>,
    /// The model computes dependencies from register events.
    pub catdep: bool,
    /// The instructions, in order.
    pub body: Vec<Ins>,
}

impl File {
    /// Whether it has a requirement. A model without one allows everything.
    pub fn requires(&self) -> bool {
        fn any(body: &[Ins]) -> bool {
            body.iter().any(|ins| match &ins.kind {
                InsKind::Check(kind, _) => *kind == CheckKind::Require,
                InsKind::Match { arms, default, .. } => {
                    arms.iter().map(|(_, body)| body).chain(default).any(|body| any(body))
                }
                // Procedures check what they are called with.
                InsKind::Call { .. } => true,
                InsKind::Forall { body, .. } => any(body),
                InsKind::If(_, yes, no) => any(yes) || any(no),
                _ => false,
            })
        }
        any(&self.body)
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Where it stands in the file.
    pub(crate) span: Span,
    /// Its kind and operands.
    pub(crate) kind: ExprKind,
}

/// An operator on one set or relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnOp {
    /// `e+`: the transitive closure.
    Plus,
    /// `e*`: the reflexive and transitive closure.
    Star,
    /// `e?`: with the identity.
    Opt,
    /// `e^-1`: the other way round.
    Inverse,
    /// `~e`: what is not in it.
    Complement,
    /// `[s]`
    Identity,
}

/// An operator on two sets or relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// `e | e`.
    Union,
    /// `e ++ s`: a set and one element more.
    Add,
    /// `e ; e`: one after the other.
    Seq,
    /// `e \ e`.
    Diff,
    /// `e & e`.
    Inter,
    /// `e * e`: all pairs.
    Cross,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// `0`
    EmptyRel,
    /// `_`
    Universe,
    /// `'tag`.
    Tag(Name),
    /// A variable, or a base name.
    Var(Name),
    /// An operator and its operand.
    Un(UnOp, Box<Expr>),
    /// Two operands or more of one operator.
    Bin(BinOp, Vec<Expr>),
    /// `(a, b)`, or `()`.
    Tuple(Vec<Expr>),
    /// `{a, b}`
    Set(Vec<Expr>),
    /// A function and its argument.
    App(Box<Expr>, Box<Expr>),
    /// `let .. in e`.
    Let(Let, Box<Expr>),
    /// `fun x -> e`, or what `let f x = e` binds.
    Fun(Box<Function>),
    /// A choice by a tag.
    MatchTag {
        /// The tag.
        on: Box<Expr>,
        /// The expression for each tag.
        arms: Vec<(Name, Expr)>,
        /// The expression for all other tags.
        default: Option<Box<Expr>>,
    },
    /// A choice by whether a set is empty.
    MatchSet {
        /// The set.
        on: Box<Expr>,
        /// The expression for the empty set.
        empty: Box<Expr>,
        /// The arm for all other sets.
        other: Box<SetArm>,
    },
    /// `try e with e`: the second where the first has an error.
    Try(Box<Expr>, Box<Expr>),
    /// `if c then e else e`.
    If(Box<Cond>, Box<Expr>, Box<Expr>),
}

/// A variable to bind; `None` for `_`.
pub type Var = Option<Name>;

/// A pattern: one variable, or a tuple of none or several.
pub type Pat = Vec<Var>;

/// A function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The name that `let` gives it; `None` for one without a name.
    pub name: Var,
    /// The parameters.
    pub params: Pat,
    /// Its value.
    pub body: Expr,
}

/// `let`, with all its bindings.
#[derive(Clone, Debug)]
pub struct Let {
    /// `let rec`: the values may name what is bound.
    pub(crate) rec: bool,
    /// The bindings in order; the file joins them by `and`.
    pub(crate) bindings: Vec<Binding>,
}

/// One binding of a `let`.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    /// The variables.
    pub(crate) pat: Pat,
    /// Its value.
    pub(crate) value: Expr,
    /// Where it stands in the file.
    pub(crate) span: Span,
}

/// The arm of a match on a set for sets that have elements: `before | elem ++ after -> body`,
/// or `elem ++ after -> body`, where `before` is not asked for.
#[derive(Clone, Debug)]
pub struct SetArm {
    /// The elements before; `None` where the arm does not ask for them.
    pub(crate) before: Option<Var>,
    /// The element that is taken out.
    pub(crate) elem: Var,
    /// The elements left.
    pub(crate) after: Var,
    /// The value of the arm.
    pub(crate) body: Expr,
}

/// The condition of an `if` in an expression.
#[derive(Clone, Debug)]
pub(crate) enum Cond {
    /// `e = e`.
    Eq(Expr, Expr),
    /// `e subset e`.
    Subset(Expr, Expr),
    /// `e in e`: whether a set has an element.
    In(Expr, Expr),
    /// Whether variants are set.
    Variant(Variant),
}

/// Which variants have to be set.
#[derive(Clone, Debug)]
pub enum Variant {
    /// `"name"`: whether it is set.
    Name(Name),
    /// `not v`.
    Not(Box<Variant>),
    /// `v && v`.
    And(Box<Variant>, Box<Variant>),
    /// `v || v`.
    Or(Box<Variant>, Box<Variant>),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Ins {
    /// Where it stands in the file.
    pub span: Span,
    /// Its kind and operands.
    pub kind: InsKind,
}

pub use super::plan::{CheckKind, Shape};

/// The content of a check: `~acyclic e as name`.
#[derive(Clone, Debug)]
pub struct CheckedExpr {
    /// The property that is checked.
    pub(crate) shape: Shape,
    /// `~`: the property must not hold.
    pub(crate) negated: bool,
    /// The set or relation.
    pub(crate) expr: Expr,
    /// The name behind `as`.
    pub(crate) name: Option<Name>,
    /// Where it stands in the file.
    pub(crate) span: Span,
}

/// The kinds of instructions.
#[derive(Clone, Debug)]
pub enum InsKind {
    /// `let`.
    Let(Let),
    /// `let rec .. when check`
    LetWhen(Let, CheckedExpr),
    /// A choice of instructions by a tag.
    Match {
        /// The tag.
        on: Expr,
        /// The instructions for each tag.
        arms: Vec<(Name, Vec<Ins>)>,
        /// The instructions for all other tags.
        default: Option<Vec<Ins>>,
    },
    /// A check: a requirement, a flag or an assertion.
    Check(CheckKind, CheckedExpr),
    /// `show a, b`: draws relations under their names.
    Show(Vec<Name>),
    /// `show e as name`.
    ShowAs(Expr, Name),
    /// `unshow a, b`: draws them no longer.
    Unshow(Vec<Name>),
    /// `include "file"`.
    Include(Name),
    /// `procedure name (params) = .. end`.
    Procedure {
        /// The name.
        name: Name,
        /// The parameters.
        params: Pat,
        /// The instructions.
        body: Vec<Ins>,
        /// Whether it may call itself.
        rec: bool,
    },
    /// `call procedure (arg)`.
    Call {
        /// The name of the procedure.
        procedure: Name,
        /// The argument.
        arg: Expr,
        /// The name behind `as`, which its checks get.
        name: Option<Name>,
    },
    /// `enum name = 'a || 'b`.
    Enum(Name, Vec<Name>),
    /// `forall var in set do .. end`.
    Forall {
        /// The variable.
        var: Name,
        /// The set whose elements it takes.
        set: Expr,
        /// The instructions that are run for each.
        body: Vec<Ins>,
    },
    /// `with var from set`: each element gives an execution of its own.
    With {
        /// The variable.
        var: Name,
        /// The set whose elements it takes.
        from: Expr,
    },
    /// `if variant .. else .. end`.
    If(Variant, Vec<Ins>, Vec<Ins>),
    /// `debug e`: prints in herd, and does nothing here.
    Debug(Expr),
    /// `instructions K[..]`, and `default K[..]` of bell files: the annotations that events of
    /// a kind may have, position by position.
    Events {
        /// The kind of events: `R`, `W`, `F`, `RMW` and others.
        kind: Name,
        /// The annotations at each position.
        args: Vec<Expr>,
        /// `default`: those that an event has that says none.
        default: bool,
    },
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    sep: &str,
    mut show: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(sep)?;
        }
        show(f, item)?;
    }
    Ok(())
}

fn var(f: &mut fmt::Formatter<'_>, v: &Var) -> fmt::Result {
    f.write_str(v.as_deref().unwrap_or("_"))
}

fn params(f: &mut fmt::Formatter<'_>, pat: &Pat) -> fmt::Result {
    f.write_char('(')?;
    list(f, pat, ", ", var)?;
    f.write_char(')')
}

fn block(f: &mut fmt::Formatter<'_>, body: &[Ins]) -> fmt::Result {
    body.iter().try_for_each(|i| writeln!(f, "{i}"))
}

impl Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.arch, &self.title) {
            (Some(a), Some(t)) => writeln!(f, "{a} \"{t}\"")?,
            (_, Some(t)) => writeln!(f, "\"{t}\"")?,
            _ => {}
        }
        for option in &self.options {
            writeln!(f, "{option}")?;
        }
        if self.catdep {
            writeln!(f, "catdep")?;
        }
        block(f, &self.body)
    }
}

impl BinOp {
    /// As it is written.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            BinOp::Union => "|",
            BinOp::Add => "++",
            BinOp::Seq => ";",
            BinOp::Diff => "\\",
            BinOp::Inter => "&",
            BinOp::Cross => "*",
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::EmptyRel => f.write_char('0'),
            ExprKind::Universe => f.write_char('_'),
            ExprKind::Tag(t) => write!(f, "'{t}"),
            ExprKind::Var(v) => f.write_str(v),
            ExprKind::Un(UnOp::Identity, e) => write!(f, "[{e}]"),
            ExprKind::Un(UnOp::Complement, e) => write!(f, "(~{e})"),
            ExprKind::Un(op, e) => {
                let op = match op {
                    UnOp::Plus => "+",
                    UnOp::Star => "*",
                    UnOp::Opt => "?",
                    _ => "^-1",
                };
                write!(f, "({e}{op})")
            }
            ExprKind::Bin(op, es) => {
                f.write_char('(')?;
                list(f, es, &format!(" {} ", op.symbol()), |f, e| write!(f, "{e}"))?;
                f.write_char(')')
            }
            ExprKind::Tuple(es) => {
                f.write_char('(')?;
                list(f, es, ", ", |f, e| write!(f, "{e}"))?;
                f.write_char(')')
            }
            ExprKind::Set(es) => {
                f.write_char('{')?;
                list(f, es, ", ", |f, e| write!(f, "{e}"))?;
                f.write_char('}')
            }
            ExprKind::App(fun, arg) => write!(f, "{fun} ({arg})"),
            ExprKind::Let(l, body) => write!(f, "({l} in {body})"),
            ExprKind::Fun(fun) => {
                f.write_str("(fun ")?;
                params(f, &fun.params)?;
                write!(f, " -> {})", fun.body)
            }
            ExprKind::MatchTag { on, arms, default } => {
                write!(f, "(match {on} with")?;
                for (tag, e) in arms {
                    write!(f, " || '{tag} -> {e}")?;
                }
                if let Some(e) = default {
                    write!(f, " || _ -> {e}")?;
                }
                f.write_str(" end)")
            }
            ExprKind::MatchSet { on, empty, other } => {
                write!(f, "(match {on} with || {{}} -> {empty} || ")?;
                if let Some(before) = &other.before {
                    var(f, before)?;
                    f.write_str(" | ")?;
                }
                var(f, &other.elem)?;
                f.write_str(" ++ ")?;
                var(f, &other.after)?;
                write!(f, " -> {} end)", other.body)
            }
            ExprKind::Try(a, b) => write!(f, "(try {a} with {b})"),
            ExprKind::If(c, a, b) => write!(f, "(if {c} then {a} else {b})"),
        }
    }
}

impl Display for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cond::Eq(a, b) => write!(f, "{a} = {b}"),
            Cond::Subset(a, b) => write!(f, "{a} subset {b}"),
            Cond::In(a, b) => write!(f, "{a} in {b}"),
            Cond::Variant(v) => write!(f, "{v}"),
        }
    }
}

impl Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variant::Name(n) => write!(f, "\"{n}\""),
            Variant::Not(v) => write!(f, "(not {v})"),
            Variant::And(a, b) => write!(f, "({a} && {b})"),
            Variant::Or(a, b) => write!(f, "({a} || {b})"),
        }
    }
}

impl Display for Let {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.rec { "let rec " } else { "let " })?;
        list(f, &self.bindings, " and ", |f, b| {
            match b.pat.as_slice() {
                [v] => var(f, v)?,
                _ => params(f, &b.pat)?,
            }
            write!(f, " = {}", b.value)
        })
    }
}

impl Display for CheckedExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Acyclic => "acyclic",
            Shape::Irreflexive => "irreflexive",
            Shape::Empty => "empty",
        };
        let not = if self.negated { "~" } else { "" };
        write!(f, "{not}{shape} {}", self.expr)?;
        match &self.name {
            Some(name) => write!(f, " as {name}"),
            None => Ok(()),
        }
    }
}

impl Display for Ins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            InsKind::Let(l) => write!(f, "{l}"),
            InsKind::LetWhen(l, t) => write!(f, "{l} when {t}"),
            InsKind::Match { on, arms, default } => {
                write!(f, "match {on} with")?;
                for (tag, body) in arms {
                    writeln!(f, " || '{tag} ->")?;
                    block(f, body)?;
                }
                if let Some(body) = default {
                    writeln!(f, " || _ ->")?;
                    block(f, body)?;
                }
                f.write_str("end")
            }
            InsKind::Check(kind, t) => {
                f.write_str(match kind {
                    CheckKind::Require => "",
                    CheckKind::Flag => "flag ",
                    CheckKind::UndefinedUnless => "undefined_unless ",
                    CheckKind::Assert => "assert ",
                })?;
                write!(f, "{t}")
            }
            InsKind::Show(names) => write!(f, "show {}", names.join(", ")),
            InsKind::ShowAs(e, name) => write!(f, "show {e} as {name}"),
            InsKind::Unshow(names) => write!(f, "unshow {}", names.join(", ")),
            InsKind::Include(file) => write!(f, "include \"{file}\""),
            InsKind::Procedure { name, params: pat, body, rec } => {
                write!(f, "procedure {}{name} ", if *rec { "rec " } else { "" })?;
                params(f, pat)?;
                writeln!(f, " =")?;
                block(f, body)?;
                f.write_str("end")
            }
            InsKind::Call { procedure, arg, name } => {
                write!(f, "call {procedure} ({arg})")?;
                match name {
                    Some(name) => write!(f, " as {name}"),
                    None => Ok(()),
                }
            }
            InsKind::Enum(name, tags) => {
                write!(f, "enum {name} = ")?;
                list(f, tags, " || ", |f, t| write!(f, "'{t}"))
            }
            InsKind::Forall { var, set, body } => {
                writeln!(f, "forall {var} in {set} do")?;
                block(f, body)?;
                f.write_str("end")
            }
            InsKind::With { var, from } => write!(f, "with {var} from {from}"),
            InsKind::If(cond, yes, no) => {
                writeln!(f, "if {cond}")?;
                block(f, yes)?;
                writeln!(f, "else")?;
                block(f, no)?;
                f.write_str("end")
            }
            InsKind::Debug(e) => write!(f, "debug {e}"),
            InsKind::Events { kind, args, default } => {
                let word = if *default { "default" } else { "instructions" };
                write!(f, "{word} {kind}[")?;
                list(f, args, ", ", |f, e| write!(f, "{e}"))?;
                f.write_char(']')
            }
        }
    }
}
