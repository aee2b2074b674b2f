//! Rewrites C tests so that their meaning, and so every outcome, stays the same.
//!
//! Rewritings change the code that a compiler sees: dead code, register pressure, the order of
//! declarations, loops of one round, helper functions. Observed variables and all accesses stay. It
//! knows no compilers and no models.

use litmake_base::diag::Span;
use litmake_litmus::c::ast::{
    BinaryOp, Declarator, Expr, ExprKind, Function, Param, Stmt, StmtKind,
};
use litmake_litmus::{Arch, Body, Test, Type};

/// A change to a test's source that keeps all outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rewriting {
    /// Branches that are never taken, with assignments to a local.
    DeadCode,
    /// Many values that are live across every access.
    Pressure,
    /// Local variables are declared at the start, in reverse order.
    Declarations,
    /// The body of each thread is in a loop of one round.
    Loop,
    /// Every top-level statement that declares nothing is in a block that always runs.
    Blocks,
    /// Each top-level statement that uses only parameters, such as a store or a fence, moves into a
    /// helper function.
    Helpers,
}

impl Rewriting {
    /// The rewritings by their names in pipelines.
    pub const NAMES: [(&'static str, Rewriting); 6] = [
        ("dead-code", Rewriting::DeadCode),
        ("register-pressure", Rewriting::Pressure),
        ("declarations", Rewriting::Declarations),
        ("loop", Rewriting::Loop),
        ("blocks", Rewriting::Blocks),
        ("helpers", Rewriting::Helpers),
    ];

    /// The name in pipelines.
    pub fn name(self) -> &'static str {
        Rewriting::NAMES.iter().find(|(_, r)| *r == self).map_or("", |(n, _)| n)
    }

    /// The rewritten test; `None` if there is nothing to rewrite.
    pub fn apply(self, test: &Test) -> Option<Test> {
        if test.arch != Arch::C {
            return None;
        }
        let mut out = test.clone();
        let mut changed = false;
        let mut helpers = Vec::new();
        for (i, body) in out.threads.iter_mut().enumerate() {
            let Body::C(f) = body else { return None };
            if has_labels(&f.body) {
                continue;
            }
            changed |= match self {
                Rewriting::DeadCode => dead_code(f),
                Rewriting::Pressure => pressure(f),
                Rewriting::Declarations => declarations(f, true),
                Rewriting::Loop => one_turn(f),
                Rewriting::Blocks => blocks(f),
                Rewriting::Helpers => call_helpers(f, i, &mut helpers),
            };
        }
        out.helpers.extend(helpers);
        out.name = format!("{}.{}", test.name, self.name());
        debug_assert!(out.threads.len() == test.threads.len());
        changed.then_some(out)
    }
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt::new(kind, Span::default())
}

fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, Span::default())
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

fn declare(name: &str, init: Option<Expr>) -> Stmt {
    stmt(StmtKind::Decl(vec![Declarator {
        name: name.to_string(),
        ty: Type::INT,
        init,
        span: Span::default(),
    }]))
}

/// Whether a thread jumps or returns; it is then left as it is.
fn has_labels(body: &[Stmt]) -> bool {
    let leaves =
        |k: &StmtKind| matches!(k, StmtKind::Label(..) | StmtKind::Goto(_) | StmtKind::Return(_));
    body.iter().any(|s| s.any(&leaves))
}

/// A name that is not used in the function.
fn fresh(f: &Function, stem: &str) -> String {
    let mut taken: Vec<String> = f.params.iter().map(|p| p.name.clone()).collect();
    f.each_declarator(&mut |d, _| taken.push(d.name.clone()));
    (0..).map(|i| format!("{stem}{i}")).find(|n| !taken.contains(n)).unwrap_or_default()
}

/// `int never0 = 0; int dead0 = 0;` at the start, and `if (never0) { dead0 = dead0 + 1; }` after
/// each statement, with growing numbers.
fn dead_code(f: &mut Function) -> bool {
    let flag = fresh(f, "never");
    let extra = fresh(f, "dead");
    let dead = |i: u128| {
        let value = binary(BinaryOp::Add, Expr::name(&extra), Expr::int(i + 1));
        let assign = expr(ExprKind::Assign(None, Box::new(Expr::name(&extra)), Box::new(value)));
        stmt(StmtKind::If {
            cond: Expr::name(&flag),
            yes: Box::new(stmt(StmtKind::Block(vec![stmt(StmtKind::Expr(assign))]))),
            no: None,
        })
    };
    let body = std::mem::take(&mut f.body);
    f.body.push(declare(&flag, Some(Expr::int(0))));
    f.body.push(declare(&extra, Some(Expr::int(0))));
    for (i, s) in body.into_iter().enumerate() {
        f.body.push(s);
        f.body.push(dead(i as u128));
    }
    true
}

/// The number of values that are kept live.
const PRESSURE: u128 = 12;

/// Values that are added to each other after each statement.
fn pressure(f: &mut Function) -> bool {
    let stem = fresh(f, "live");
    let name = |i: u128| format!("{stem}_{i}");
    let body = std::mem::take(&mut f.body);
    for i in 0..PRESSURE {
        f.body.push(declare(&name(i), Some(Expr::int(i))));
    }
    for s in body {
        f.body.push(s);
        for i in 0..PRESSURE {
            let next = Expr::name(&name((i + 1) % PRESSURE));
            let sum = binary(BinaryOp::Add, Expr::name(&name(i)), next);
            let to = Box::new(Expr::name(&name(i)));
            f.body.push(stmt(StmtKind::Expr(expr(ExprKind::Assign(None, to, Box::new(sum))))));
        }
    }
    true
}

/// Moves declarations to the start, in reverse if asked, and leaves assignments in their places.
/// Declarations of arrays, constants and atomics stay.
fn declarations(f: &mut Function, reverse: bool) -> bool {
    let mut moved = Vec::new();
    let mut body = Vec::new();
    for s in std::mem::take(&mut f.body) {
        let StmtKind::Decl(list) = &s.kind else {
            body.push(s);
            continue;
        };
        let simple = |d: &Declarator| {
            !d.ty.is_const()
                && !d.ty.is_atomic()
                && matches!(d.ty.bare(), Type::Int { .. } | Type::Float { .. } | Type::Pointer(_))
        };
        if !list.iter().all(simple) {
            body.push(s);
            continue;
        }
        for d in list {
            if let Some(init) = &d.init {
                let to = Box::new(Expr::name(&d.name));
                let assign = ExprKind::Assign(None, to, Box::new(init.clone()));
                body.push(stmt(StmtKind::Expr(expr(assign))));
            }
            moved.push(stmt(StmtKind::Decl(vec![Declarator { init: None, ..d.clone() }])));
        }
    }
    let changed = !moved.is_empty();
    if reverse {
        moved.reverse();
    }
    f.body = moved;
    f.body.append(&mut body);
    changed
}

/// `for (int turn0 = 0; turn0 < 1; turn0 = turn0 + 1) { ... }` around the body, with the
/// declarations before it.
fn one_turn(f: &mut Function) -> bool {
    let turn = fresh(f, "turn");
    declarations(f, false);
    let at = f.body.iter().position(|s| !matches!(s.kind, StmtKind::Decl(_)));
    let Some(at) = at else { return false };
    if f.body[at..].iter().any(|s| matches!(s.kind, StmtKind::Decl(_))) {
        return false;
    }
    let inside = f.body.split_off(at);
    let next = binary(BinaryOp::Add, Expr::name(&turn), Expr::int(1));
    let step = expr(ExprKind::Assign(None, Box::new(Expr::name(&turn)), Box::new(next)));
    f.body.push(stmt(StmtKind::For {
        init: Box::new(declare(&turn, Some(Expr::int(0)))),
        cond: Some(binary(BinaryOp::Lt, Expr::name(&turn), Expr::int(1))),
        step: Some(step),
        body: Box::new(stmt(StmtKind::Block(inside))),
    }));
    true
}

/// `if (1) { ... }` around each statement that declares nothing.
fn blocks(f: &mut Function) -> bool {
    let mut changed = false;
    for s in &mut f.body {
        if !matches!(s.kind, StmtKind::Decl(_) | StmtKind::Empty) {
            let inner = std::mem::replace(s, stmt(StmtKind::Empty));
            let yes = Box::new(stmt(StmtKind::Block(vec![inner])));
            *s = stmt(StmtKind::If { cond: Expr::int(1), yes, no: None });
            changed = true;
        }
    }
    changed
}

/// Moves each top-level expression statement that uses only parameters into a function.
fn call_helpers(f: &mut Function, thread: usize, helpers: &mut Vec<Function>) -> bool {
    let mut changed = false;
    let params: Vec<Param> = f.params.clone();
    for s in &mut f.body {
        let StmtKind::Expr(e) = &s.kind else { continue };
        let known = |name: &str| params.iter().any(|p| p.name == name);
        let foreign = e.any(&mut |e| {
            matches!(&e.kind, ExprKind::Name(n)
            if !known(n) && !n.starts_with("memory_order_"))
        });
        if foreign {
            continue;
        }
        let used: Vec<Param> = params
            .iter()
            .filter(|p| e.any(&mut |e| matches!(&e.kind, ExprKind::Name(n) if *n == p.name)))
            .cloned()
            .collect();
        let name = format!("helper{thread}_{}", helpers.len());
        let args = used.iter().map(|p| Expr::name(&p.name)).collect();
        let inner = std::mem::replace(s, stmt(StmtKind::Expr(Expr::call(&name, args))));
        helpers.push(Function {
            name,
            told: Default::default(),
            params: used,
            ret: Type::Void,
            body: vec![inner],
            span: Span::default(),
        });
        changed = true;
    }
    changed
}
