//! The syntax of cat: models, instructions, expressions, and printing them.
//!
//! These are only trees: names are not resolved and nothing has a type. A printed tree reads back as
//! the same tree.

use litmake_base::diag::Span;
use std::fmt::{self, Display, Write};
use std::sync::Arc;

pub type Name = Arc<str>;

/// One `.cat` (or `.bell`) file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The architecture in the title, if the title has one besides the name.
    pub arch: Option<Name>,
    pub title: Option<Name>,
    /// Old-style options after the title (`withco`, `withoutsc` and so on), as written.
    pub options: Vec<Name>,
    /// The model computes dependencies from register events.
    pub catdep: bool,
    pub body: Vec<Ins>,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    Plus,
    Star,
    Opt,
    Inverse,
    Complement,
    /// `[s]`
    Identity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    Union,
    /// `e ++ s`: a set and one element more.
    Add,
    Seq,
    Diff,
    Inter,
    Cross,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `0`
    EmptyRel,
    /// `_`
    Universe,
    Tag(Name),
    Var(Name),
    Un(UnOp, Box<Expr>),
    /// Two operands or more of one operator.
    Bin(BinOp, Vec<Expr>),
    Tuple(Vec<Expr>),
    /// `{a, b}`
    Set(Vec<Expr>),
    App(Box<Expr>, Box<Expr>),
    Let(Let, Box<Expr>),
    Fun(Box<Function>),
    MatchTag {
        on: Box<Expr>,
        arms: Vec<(Name, Expr)>,
        default: Option<Box<Expr>>,
    },
    MatchSet {
        on: Box<Expr>,
        empty: Box<Expr>,
        other: Box<SetArm>,
    },
    Try(Box<Expr>, Box<Expr>),
    If(Box<Cond>, Box<Expr>, Box<Expr>),
}

/// A variable to bind; `None` for `_`.
pub type Var = Option<Name>;

/// A pattern: one variable, or a tuple of none or several.
pub type Pat = Vec<Var>;

#[derive(Clone, Debug)]
pub struct Function {
    pub name: Var,
    pub params: Pat,
    pub body: Expr,
}

#[derive(Clone, Debug)]
pub struct Let {
    pub rec: bool,
    pub bindings: Vec<Binding>,
}

#[derive(Clone, Debug)]
pub struct Binding {
    pub pat: Pat,
    pub value: Expr,
    pub span: Span,
}

/// The arm of a match on a set for sets that have elements: `before | elem ++ after -> body`,
/// or `elem ++ after -> body`, where `before` is not asked for.
#[derive(Clone, Debug)]
pub struct SetArm {
    pub before: Option<Var>,
    pub elem: Var,
    pub after: Var,
    pub body: Expr,
}

#[derive(Clone, Debug)]
pub enum Cond {
    Eq(Expr, Expr),
    Subset(Expr, Expr),
    In(Expr, Expr),
    Variant(Variant),
}

#[derive(Clone, Debug)]
pub enum Variant {
    Name(Name),
    Not(Box<Variant>),
    And(Box<Variant>, Box<Variant>),
    Or(Box<Variant>, Box<Variant>),
}

#[derive(Clone, Debug)]
pub struct Ins {
    pub span: Span,
    pub kind: InsKind,
}

pub use super::plan::{CheckKind, Shape};

/// What a check says: `~acyclic e as name`.
#[derive(Clone, Debug)]
pub struct CheckedExpr {
    pub shape: Shape,
    pub negated: bool,
    pub expr: Expr,
    pub name: Option<Name>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum InsKind {
    Let(Let),
    /// `let rec .. when check`
    LetWhen(Let, CheckedExpr),
    Match {
        on: Expr,
        arms: Vec<(Name, Vec<Ins>)>,
        default: Option<Vec<Ins>>,
    },
    Check(CheckKind, CheckedExpr),
    Show(Vec<Name>),
    ShowAs(Expr, Name),
    Unshow(Vec<Name>),
    Include(Name),
    Procedure {
        name: Name,
        params: Pat,
        body: Vec<Ins>,
        rec: bool,
    },
    Call {
        procedure: Name,
        arg: Expr,
        name: Option<Name>,
    },
    Enum(Name, Vec<Name>),
    Forall {
        var: Name,
        set: Expr,
        body: Vec<Ins>,
    },
    With {
        var: Name,
        from: Expr,
    },
    If(Variant, Vec<Ins>, Vec<Ins>),
    Debug(Expr),
    /// `instructions K[..]`, and `default K[..]` of bell files: the annotations that events of
    /// a kind may have, position by position.
    Events {
        kind: Name,
        args: Vec<Expr>,
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
    pub fn symbol(self) -> &'static str {
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
