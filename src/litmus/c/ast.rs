//! The syntax tree of the C subset.
//!
//! It says what was written, not what it means. Equality is of the trees alone: where they stand
//! in the text does not matter. Every tree that the parser gives has a bounded height, so that
//! walking one by recursion is safe.

use crate::Type;
use litmake_base::diag::Span;

/// A function: a thread of a test, or a helper that threads call.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name: of a thread, `P0` and on.
    pub name: String,
    /// Its attributes.
    pub told: Told,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// The type that it returns.
    pub ret: Type,
    /// The statements of its body.
    pub body: Vec<Stmt>,
    /// Where it stands in the test.
    pub span: Span,
}

/// The attributes in a function's head, for compilers. They change nothing of the meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Whether it is declared `inline`.
    pub inline: bool,
    /// Words of `__attribute__((...))`, in order.
    pub attributes: Vec<String>,
}

impl Told {
    /// The known attributes: promises about the function, and requests for a way to compile it.
    pub const ATTRIBUTES: [&str; 12] = [
        "always_inline",
        "cold",
        "const",
        "flatten",
        "hot",
        "leaf",
        "noclone",
        "noinline",
        "nothrow",
        "pure",
        "unused",
        "used",
    ];

    /// Whether it says if the function is to be inlined.
    pub fn says_inlining(&self) -> bool {
        self.inline || self.attributes.iter().any(|a| a == "noinline" || a == "always_inline")
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.inline && self.attributes.is_empty()
    }
}

impl std::fmt::Display for Told {
    /// As it stands before the type, with a blank at its end.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.inline {
            write!(f, "inline ")?;
        }
        match self.attributes.is_empty() {
            true => Ok(()),
            false => write!(f, "__attribute__(({})) ", self.attributes.join(", ")),
        }
    }
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type, as it is written.
    pub ty: Type,
    /// Whether what it points to lies in the memory of a workgroup (`local` in OpenCL C).
    pub local: bool,
    /// Where it stands in the test.
    pub span: Span,
}

/// A statement, and where it stands.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Its kind and parts.
    pub kind: StmtKind,
    /// Where it stands in the test.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Declarators that share one type specifier, in order.
    Decl(Vec<Declarator>),
    /// An expression whose value is dropped.
    Expr(Expr),
    /// `if (cond) yes else no`.
    If {
        /// Chooses the side.
        cond: Expr,
        /// The statement for a condition that holds.
        yes: Box<Stmt>,
        /// The statement behind `else`, if there is one.
        no: Option<Box<Stmt>>,
    },
    /// `while (cond) body`.
    While {
        /// Asked before each turn.
        cond: Expr,
        /// The repeated statement.
        body: Box<Stmt>,
    },
    /// `do body while (cond);`.
    DoWhile {
        /// The repeated statement.
        body: Box<Stmt>,
        /// Asked after each turn.
        cond: Expr,
    },
    /// `for (init; cond; step) body`.
    For {
        /// A declaration, an expression, or nothing ([`StmtKind::Empty`]).
        init: Box<Stmt>,
        /// Asked before each turn; without one the loop goes on.
        cond: Option<Expr>,
        /// Evaluated after each turn.
        step: Option<Expr>,
        /// The repeated statement.
        body: Box<Stmt>,
    },
    /// Statements in braces.
    Block(Vec<Stmt>),
    /// `return`, with its value where it has one.
    Return(Option<Expr>),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `goto`, with the name of its label.
    Goto(String),
    /// A label, and the statement that it marks.
    Label(String, Box<Stmt>),
    /// `;` alone.
    Empty,
}

/// A name that a declaration declares.
#[derive(Clone, Debug)]
pub struct Declarator {
    /// The name.
    pub name: String,
    /// Its type, as it is written.
    pub ty: Type,
    /// The initialiser.
    pub init: Option<Expr>,
    /// Where it stands in the test.
    pub span: Span,
}

/// An expression. Parentheses leave no trace: the tree says how it groups.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its kind and operands.
    pub kind: ExprKind,
    /// Where it stands in the test.
    pub span: Span,
    height: u32,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An integer constant.
    Int(IntLit),
    /// A constant in floating point.
    Float(FloatLit),
    /// A variable.
    Name(String),
    /// An operator and its operand.
    Unary(UnaryOp, Box<Expr>),
    /// `++e`, `--e`, `e++`, `e--`.
    Step {
        /// `++`; else `--`.
        up: bool,
        /// Whether the operator stands before its operand, so that the value is the new one.
        prefix: bool,
        /// The changed object.
        target: Box<Expr>,
    },
    /// An operator between two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `=`, or `op=`.
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    /// `a ? b : c`.
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a, b`.
    Comma(Box<Expr>, Box<Expr>),
    /// A conversion to a type: `(int)e`.
    Cast(Type, Box<Expr>),
    /// `sizeof(int)`.
    SizeofType(Type),
    /// `sizeof e`.
    SizeofExpr(Box<Expr>),
    /// A call of a function by its name, with its arguments.
    Call(String, Vec<Expr>),
    /// The elements that an array starts with: `{1, 2}`.
    List(Vec<Expr>),
    /// `__load{once}(x)` and its kin.
    Annotated(Box<Annotated>),
    /// An array or a pointer, and the index: `a[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// A member of a structure or a union: `base.name` or `base->name`.
    Member {
        /// The structure, or the pointer to it.
        base: Box<Expr>,
        /// Whether it is written `->`: the base is a pointer.
        arrow: bool,
        /// The name of the member.
        name: String,
    },
}

/// A primitive of which models are written, with annotations that a model declares. Macros
/// stand for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotated {
    /// Which primitive it is.
    pub primitive: Primitive,
    /// The annotations in braces, in order.
    pub tags: Vec<String>,
    /// `+` in `__atomic_op{noreturn}(x, +, 1)`.
    pub op: Option<Change>,
    /// The arguments, without the operator.
    pub args: Vec<Expr>,
}

/// The function that is called where a test has `__asm__ volatile("" ::: "memory")`, which printers write
/// again.
pub const BARRIER: &str = "__asm__";

/// How an atomic operation computes the new value from the old one and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The operator between the old value and the operand.
    Op(BinaryOp),
    /// `&~`: the bits of the operand are cleared.
    Clear,
}

impl Change {
    /// As it stands in a test.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Change::Op(op) => op.text(),
            Change::Clear => "&~",
        }
    }
}

/// The operation of an [`Annotated`] expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// `__load`: reads a location.
    Load,
    /// `__store`: writes a value to a location.
    Store,
    /// `__fence`: orders other events.
    Fence,
    /// `__xchg`: writes a value and gives the old one.
    Exchange,
    /// `__cmpxchg`: writes a value where the location holds the one expected, and gives the old
    /// one.
    CompareExchange,
    /// `__atomic_op`: changes a location and gives nothing.
    Op,
    /// `__atomic_op_return`: changes a location and gives the new value.
    OpReturn,
    /// `__atomic_fetch_op`: changes a location and gives the old value.
    FetchOp,
    /// `__atomic_add_unless`: adds a value where the location does not hold another one, and says
    /// whether it did.
    AddUnless,
    /// `__srcu`: an event at a location that neither reads nor writes it.
    Srcu,
    /// `__lock`: takes a lock, once it is free.
    Lock,
    /// `__unlock`: releases a lock.
    Unlock,
    /// `__trylock`: takes a lock or fails, and says which.
    TryLock,
    /// `__islocked`: says whether a lock is taken.
    IsLocked,
}

impl Primitive {
    /// Each with its name and the number of its arguments, operators left out.
    const ALL: [(Primitive, &str, usize); 14] = [
        (Primitive::Load, "__load", 1),
        (Primitive::Store, "__store", 2),
        (Primitive::Fence, "__fence", 0),
        (Primitive::Exchange, "__xchg", 2),
        (Primitive::CompareExchange, "__cmpxchg", 3),
        (Primitive::Op, "__atomic_op", 2),
        (Primitive::OpReturn, "__atomic_op_return", 2),
        (Primitive::FetchOp, "__atomic_fetch_op", 2),
        (Primitive::AddUnless, "__atomic_add_unless", 3),
        (Primitive::Srcu, "__srcu", 1),
        (Primitive::Lock, "__lock", 1),
        (Primitive::Unlock, "__unlock", 1),
        (Primitive::TryLock, "__trylock", 1),
        (Primitive::IsLocked, "__islocked", 1),
    ];

    /// The primitive of this name.
    pub(crate) fn named(name: &str) -> Option<Primitive> {
        Self::ALL.iter().find(|(_, n, _)| *n == name).map(|(p, ..)| *p)
    }

    fn row(self) -> (Primitive, &'static str, usize) {
        Self::ALL.into_iter().find(|(p, ..)| *p == self).unwrap_or(Self::ALL[0])
    }

    /// Its name, with the underscores.
    pub(crate) fn name(self) -> &'static str {
        self.row().1
    }

    /// The number of its arguments, the operator left out.
    pub fn arity(self) -> usize {
        self.row().2
    }

    /// Whether an operator stands between its arguments.
    pub fn changes(self) -> bool {
        matches!(self, Primitive::Op | Primitive::OpReturn | Primitive::FetchOp)
    }

    /// Whether it is written with annotations in braces: always, never, or either way.
    pub fn braces(self) -> Option<bool> {
        match self {
            Primitive::Lock | Primitive::Unlock | Primitive::TryLock | Primitive::IsLocked => {
                Some(false)
            }
            Primitive::Op => None,
            _ => Some(true),
        }
    }
}

/// An integer constant, with what its spelling says about its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntLit {
    /// The number; a sign before it is an operator of its own.
    pub value: u128,
    /// Written in decimal: then it is never unsigned without a suffix.
    pub decimal: bool,
    /// Suffix `u`.
    pub unsigned: bool,
    /// Suffix `l` or `ll`.
    pub long: bool,
}

impl IntLit {
    /// A decimal constant without a suffix.
    pub fn plain(value: u128) -> IntLit {
        IntLit { value, decimal: true, unsigned: false, long: false }
    }
}

/// A constant in floating point: its bits, as many as its type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatLit {
    /// As IEEE 754 has them; of `float`, the low 32.
    pub bits: u64,
    /// Of `float`, 4; of `double`, 8.
    pub bytes: u8,
}

impl FloatLit {
    /// The constant that a decimal number is, rounded once.
    pub fn parse(digits: &str, bytes: u8) -> Option<FloatLit> {
        let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
        if !digits.bytes().all(plain) {
            return None;
        }
        let bits = match bytes {
            4 => digits.parse::<f32>().ok().filter(|x| x.is_finite())?.to_bits().into(),
            _ => digits.parse::<f64>().ok().filter(|x| x.is_finite())?.to_bits(),
        };
        Some(FloatLit { bits, bytes })
    }
}

impl std::fmt::Display for FloatLit {
    /// The shortest digits that round to it, with a point or an exponent.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bytes {
            4 => write!(f, "{:?}f", f32::from_bits(self.bits as u32)),
            _ => write!(f, "{:?}", f64::from_bits(self.bits)),
        }
    }
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `+`
    Plus,
    /// `-`
    Neg,
    /// `~`
    Not,
    /// `!`
    LogicalNot,
    /// `*`
    Deref,
    /// `&`
    Addr,
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&`
    And,
    /// `^`
    Xor,
    /// `|`
    Or,
    /// `&&`
    LogicalAnd,
    /// `||`
    LogicalOr,
}

const _: () = {
    let mut at = 0;
    while at < BinaryOp::ROWS.len() {
        assert!(BinaryOp::ROWS[at].0 as usize == at, "the rows have the order of the operators");
        at += 1;
    }
};

impl BinaryOp {
    /// Every operator, in the order of the type, with its text and how tightly it binds.
    const ROWS: [(BinaryOp, &str, u8); 18] = [
        (BinaryOp::Mul, "*", 10),
        (BinaryOp::Div, "/", 10),
        (BinaryOp::Rem, "%", 10),
        (BinaryOp::Add, "+", 9),
        (BinaryOp::Sub, "-", 9),
        (BinaryOp::Shl, "<<", 8),
        (BinaryOp::Shr, ">>", 8),
        (BinaryOp::Lt, "<", 7),
        (BinaryOp::Gt, ">", 7),
        (BinaryOp::Le, "<=", 7),
        (BinaryOp::Ge, ">=", 7),
        (BinaryOp::Eq, "==", 6),
        (BinaryOp::Ne, "!=", 6),
        (BinaryOp::And, "&", 5),
        (BinaryOp::Xor, "^", 4),
        (BinaryOp::Or, "|", 3),
        (BinaryOp::LogicalAnd, "&&", 2),
        (BinaryOp::LogicalOr, "||", 1),
    ];

    /// Every operator.
    pub fn all() -> impl Iterator<Item = BinaryOp> {
        Self::ROWS.into_iter().map(|(op, ..)| op)
    }

    /// As it stands in C.
    pub fn text(self) -> &'static str {
        Self::ROWS[self as usize].1
    }

    /// The operator of this text.
    pub fn of(text: &str) -> Option<BinaryOp> {
        Self::ROWS.into_iter().find(|(_, known, _)| *known == text).map(|(op, ..)| op)
    }

    /// How tightly it binds; a larger number binds tighter. All group to the left.
    pub fn precedence(self) -> u8 {
        Self::ROWS[self as usize].2
    }

    /// Whether `op=` exists.
    pub fn assigns(self) -> bool {
        matches!(self.precedence(), 3..=5 | 8..=10)
    }
}

/// Calls a function on the expressions directly below one, left to right; `iter` or `iter_mut` goes through lists.
macro_rules! each_child {
    ($kind:expr, $f:ident, $iter:ident) => {
        match $kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Name(_) | ExprKind::SizeofType(_) => {
            }
            ExprKind::Unary(_, e)
            | ExprKind::Step { target: e, .. }
            | ExprKind::Cast(_, e)
            | ExprKind::SizeofExpr(e)
            | ExprKind::Member { base: e, .. } => $f(e),
            ExprKind::Binary(_, a, b)
            | ExprKind::Assign(_, a, b)
            | ExprKind::Comma(a, b)
            | ExprKind::Index(a, b) => {
                $f(a);
                $f(b);
            }
            ExprKind::Cond(a, b, c) => {
                $f(a);
                $f(b);
                $f(c);
            }
            ExprKind::Call(_, args) | ExprKind::List(args) => args.$iter().for_each($f),
            ExprKind::Annotated(a) => a.args.$iter().for_each($f),
        }
    };
}

impl Expr {
    /// An expression; its height follows from those below it.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        let mut height = 0;
        each_child(&kind, &mut |e| height = height.max(e.height));
        Expr { kind, span, height: height.saturating_add(1) }
    }

    /// A variable that stands nowhere in the test.
    pub fn name(name: &str) -> Expr {
        Expr::new(ExprKind::Name(name.to_string()), Span::default())
    }

    /// A decimal constant that stands nowhere in the test.
    pub fn int(value: u128) -> Expr {
        Expr::new(ExprKind::Int(IntLit::plain(value)), Span::default())
    }

    /// A call that stands nowhere in the test.
    pub fn call(function: &str, args: Vec<Expr>) -> Expr {
        Expr::new(ExprKind::Call(function.to_string(), args), Span::default())
    }

    /// The length of the longest path to a leaf.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The expressions directly below this one, left to right.
    pub fn children(&self) -> Vec<&Expr> {
        let mut out = Vec::new();
        each_child(&self.kind, &mut |e| out.push(e));
        out
    }

    /// Whether a predicate holds of this expression or of one below it.
    pub fn any<'a>(&'a self, f: &mut dyn FnMut(&'a Expr) -> bool) -> bool {
        let mut found = f(self);
        if !found {
            each_child(&self.kind, &mut |e| found = found || e.any(f));
        }
        found
    }

    /// Calls `f` on the expressions directly below this one, left to right.
    pub fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        each_child!(&mut self.kind, f, iter_mut)
    }

    /// Calls `f` on every expression below this one and then on this one, the innermost first.
    pub fn bottom_up(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.each_child_mut(&mut |e| e.bottom_up(f));
        f(self);
    }
}

/// An expression or a statement directly below a statement.
pub enum Part<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A statement.
    Stmt(&'a Stmt),
}

/// The same, to be changed.
pub enum PartMut<'a> {
    /// An expression.
    Expr(&'a mut Expr),
    /// A statement.
    Stmt(&'a mut Stmt),
}

/// Calls a function on the parts directly below a statement, in text order; the words are for parts that are looked at
/// or changed.
macro_rules! each_part {
    ($kind:expr, $f:ident, $part:ident, $iter:ident, $as_ref:ident) => {
        match $kind {
            StmtKind::Decl(list) => {
                let inits = list.$iter().filter_map(|d| d.init.$as_ref());
                inits.for_each(|e| $f($part::Expr(e)));
            }
            StmtKind::Expr(e) => $f($part::Expr(e)),
            StmtKind::If { cond, yes, no } => {
                $f($part::Expr(cond));
                $f($part::Stmt(yes));
                if let Some(no) = no {
                    $f($part::Stmt(no));
                }
            }
            StmtKind::While { cond, body } => {
                $f($part::Expr(cond));
                $f($part::Stmt(body));
            }
            StmtKind::DoWhile { body, cond } => {
                $f($part::Stmt(body));
                $f($part::Expr(cond));
            }
            StmtKind::For { init, cond, step, body } => {
                $f($part::Stmt(init));
                cond.$iter().chain(step).for_each(|e| $f($part::Expr(e)));
                $f($part::Stmt(body));
            }
            StmtKind::Block(list) => list.$iter().for_each(|s| $f($part::Stmt(s))),
            StmtKind::Label(_, s) => $f($part::Stmt(s)),
            StmtKind::Return(value) => value.$iter().for_each(|e| $f($part::Expr(e))),
            StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Empty => {}
        }
    };
}

fn each_child<'a>(kind: &'a ExprKind, f: &mut dyn FnMut(&'a Expr)) {
    each_child!(kind, f, iter)
}

impl Function {
    /// Calls `f` on every full expression of the body, in text order.
    pub fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        for s in &self.body {
            s.each_expr(f);
        }
    }

    /// Calls `f` on every declarator of the body, with the depth of the block it stands in
    /// (0: the function's own).
    pub fn each_declarator<'a>(&'a self, f: &mut dyn FnMut(&'a Declarator, usize)) {
        for s in &self.body {
            s.each_declarator(0, f);
        }
    }
}

impl Function {
    /// Whether every way through the body ends with `return`, as far as that can be seen.
    pub fn always_returns(&self) -> bool {
        self.body.iter().any(Stmt::always_returns)
    }
}

impl Stmt {
    fn always_returns(&self) -> bool {
        let endless = |cond: Option<&Expr>, body: &Stmt| {
            let holds = |c: &Expr| matches!(c.kind, ExprKind::Int(lit) if lit.value != 0);
            cond.is_none_or(holds) && !body.breaks()
        };
        match &self.kind {
            StmtKind::Return(_) => true,
            // Where it goes is looked at there.
            StmtKind::Goto(_) => true,
            StmtKind::Block(list) => list.iter().any(Stmt::always_returns),
            StmtKind::Label(_, s) => s.always_returns(),
            StmtKind::If { yes, no: Some(no), .. } => yes.always_returns() && no.always_returns(),
            StmtKind::While { cond, body } => endless(Some(cond), body),
            StmtKind::DoWhile { body, cond } => {
                !body.breaks() && (body.always_returns() || endless(Some(cond), body))
            }
            StmtKind::For { cond, body, .. } => endless(cond.as_ref(), body),
            _ => false,
        }
    }

    /// Whether a `break` in it leaves the loop around it.
    fn breaks(&self) -> bool {
        match &self.kind {
            StmtKind::Break => true,
            StmtKind::If { yes, no, .. } => yes.breaks() || no.as_ref().is_some_and(|n| n.breaks()),
            StmtKind::Block(list) => list.iter().any(Stmt::breaks),
            StmtKind::Label(_, s) => s.breaks(),
            _ => false,
        }
    }

    /// A statement that stands there.
    pub fn new(kind: StmtKind, span: Span) -> Stmt {
        Stmt { kind, span }
    }

    /// Calls `f` on the expressions and statements directly below this one, in text order.
    pub fn each_part<'a>(&'a self, f: &mut dyn FnMut(Part<'a>)) {
        each_part!(&self.kind, f, Part, iter, as_ref)
    }

    /// The same, to change them.
    pub fn each_part_mut(&mut self, f: &mut dyn FnMut(PartMut)) {
        each_part!(&mut self.kind, f, PartMut, iter_mut, as_mut)
    }

    /// Whether a predicate holds of this statement or of one below it.
    pub fn any(&self, f: &dyn Fn(&StmtKind) -> bool) -> bool {
        let mut found = f(&self.kind);
        self.each_part(&mut |part| {
            if let Part::Stmt(s) = part {
                found = found || s.any(f);
            }
        });
        found
    }

    /// Calls `f` on every full expression of this statement and those below it, in text order.
    pub fn each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.each_part_mut(&mut |part| match part {
            PartMut::Expr(e) => f(e),
            PartMut::Stmt(s) => s.each_expr_mut(f),
        });
    }

    fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.each_part(&mut |part| match part {
            Part::Expr(e) => f(e),
            Part::Stmt(s) => s.each_expr(f),
        });
    }

    fn each_declarator<'a>(&'a self, depth: usize, f: &mut dyn FnMut(&'a Declarator, usize)) {
        match &self.kind {
            StmtKind::Decl(list) => list.iter().for_each(|d| f(d, depth)),
            StmtKind::Label(_, s) => s.each_declarator(depth, f),
            _ => self.each_part(&mut |part| {
                if let Part::Stmt(s) = part {
                    s.each_declarator(depth + 1, f);
                }
            }),
        }
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
            && self.told == other.told
            && self.params == other.params
            && self.ret == other.ret
            && self.body == other.body
    }
}

impl PartialEq for Param {
    fn eq(&self, other: &Param) -> bool {
        self.name == other.name && self.ty == other.ty && self.local == other.local
    }
}

impl PartialEq for Stmt {
    fn eq(&self, other: &Stmt) -> bool {
        self.kind == other.kind
    }
}

impl PartialEq for Declarator {
    fn eq(&self, other: &Declarator) -> bool {
        self.name == other.name && self.ty == other.ty && self.init == other.init
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.kind == other.kind
    }
}
