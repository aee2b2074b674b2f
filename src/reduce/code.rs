//! The cuts: for the body of a function, each gives the bodies that are one step smaller.
//!
//! It does not know what the code does.

use litmake_base::diag::Span;
use litmake_litmus::Type;
use litmake_litmus::c::ast::{
    BinaryOp, Declarator, Expr, ExprKind, IntLit, PartMut, Stmt, StmtKind,
};
use litmake_litmus::c::orders::{self, Kind};
use litmake_litmus::c::scoped::reach;

type Cut = fn(&[Stmt]) -> Vec<Vec<Stmt>>;

/// The kinds of cuts, the largest first: statements, then what encloses statements, then orders and
/// values.
pub const CUTS: [Cut; 3] = [
    |body| lists(body, &drop_statement),
    |body| lists(body, &unwrap),
    |body| lists(body, &|s| inside(s, &simpler)),
];

/// The possible replacements of a statement, each a list of statements.
type Change<'c> = &'c dyn Fn(&Stmt) -> Vec<Vec<Stmt>>;

/// Every list in which one statement, at this level or below, was changed.
fn lists(body: &[Stmt], change: Change) -> Vec<Vec<Stmt>> {
    let mut out = Vec::new();
    for (i, statement) in body.iter().enumerate() {
        let here = change(statement);
        let below = below(statement, change).into_iter().map(|s| vec![s]);
        for instead in here.into_iter().chain(below) {
            let mut list = body[..i].to_vec();
            list.extend(instead);
            list.extend_from_slice(&body[i + 1..]);
            out.push(list);
        }
    }
    out
}

/// A list as one statement: a block, unless it is a single statement that needs none.
fn joined(mut list: Vec<Stmt>) -> Box<Stmt> {
    Box::new(match list.len() {
        1 if !matches!(list[0].kind, StmtKind::Decl(_)) => list.remove(0),
        _ => Stmt::new(StmtKind::Block(list), Span::default()),
    })
}

/// The statements of a body, without the enclosing block.
fn flat(s: &Stmt) -> Vec<Stmt> {
    match &s.kind {
        StmtKind::Block(list) => list.clone(),
        StmtKind::Empty => Vec::new(),
        _ => vec![s.clone()],
    }
}

/// The statement with a change somewhere inside it.
fn below(s: &Stmt, change: Change) -> Vec<Stmt> {
    let make = |kind| Stmt::new(kind, s.span);
    let bodies = |b: &Stmt| lists(&flat(b), change).into_iter().map(joined);
    match &s.kind {
        StmtKind::If { cond, yes, no } => {
            let yes_changed = bodies(yes)
                .map(|yes| make(StmtKind::If { cond: cond.clone(), yes, no: no.clone() }));
            let no_changed = no.iter().flat_map(|n| bodies(n)).map(|no| {
                make(StmtKind::If { cond: cond.clone(), yes: yes.clone(), no: Some(no) })
            });
            yes_changed.chain(no_changed).collect()
        }
        StmtKind::While { cond, body } => {
            bodies(body).map(|body| make(StmtKind::While { cond: cond.clone(), body })).collect()
        }
        StmtKind::DoWhile { body, cond } => {
            bodies(body).map(|body| make(StmtKind::DoWhile { body, cond: cond.clone() })).collect()
        }
        StmtKind::For { init, cond, step, body } => bodies(body)
            .map(|body| {
                make(StmtKind::For {
                    init: init.clone(),
                    cond: cond.clone(),
                    step: step.clone(),
                    body,
                })
            })
            .collect(),
        StmtKind::Block(list) => {
            lists(list, change).into_iter().map(|l| make(StmtKind::Block(l))).collect()
        }
        StmtKind::Label(name, inner) => {
            bodies(inner).map(|inner| make(StmtKind::Label(name.clone(), inner))).collect()
        }
        StmtKind::Decl(_)
        | StmtKind::Expr(_)
        | StmtKind::Return(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Goto(_)
        | StmtKind::Empty => Vec::new(),
    }
}

fn drop_statement(s: &Stmt) -> Vec<Vec<Stmt>> {
    match &s.kind {
        StmtKind::Decl(list) if list.len() > 1 => (0..list.len())
            .map(|i| {
                let mut list = list.clone();
                list.remove(i);
                vec![Stmt::new(StmtKind::Decl(list), s.span)]
            })
            .collect(),
        _ => vec![Vec::new()],
    }
}

/// One round of a loop's body, without the jumps that leave the loop.
fn once(body: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for mut s in body {
        match &mut s.kind {
            StmtKind::Break | StmtKind::Continue => continue,
            StmtKind::Block(list) => *list = once(std::mem::take(list)),
            // Jumps in an inner loop still belong to it.
            StmtKind::While { .. } | StmtKind::DoWhile { .. } | StmtKind::For { .. } => {}
            _ => s.each_part_mut(&mut |part| {
                if let PartMut::Stmt(inner) = part {
                    *inner = *joined(once(flat(inner)));
                }
            }),
        }
        out.push(s);
    }
    out
}

/// The simplest loop around a loop's body: two rounds, without jumps.
fn twice(body: &Stmt) -> Stmt {
    let named = |name: &str| Box::new(Expr::name(name));
    let make = |kind| Expr::new(kind, Span::default());
    let round = "round";
    let counted = Declarator {
        name: round.to_string(),
        ty: Type::INT,
        init: Some(Expr::int(0)),
        span: Span::default(),
    };
    Stmt::new(
        StmtKind::For {
            init: Box::new(Stmt::new(StmtKind::Decl(vec![counted]), Span::default())),
            cond: Some(make(ExprKind::Binary(BinaryOp::Lt, named(round), Box::new(Expr::int(2))))),
            step: Some(make(ExprKind::Step { up: true, prefix: false, target: named(round) })),
            body: joined(once(flat(body))),
        },
        Span::default(),
    )
}

/// Removes what encloses statements, and keeps a call that computes a local without the local.
fn unwrap(s: &Stmt) -> Vec<Vec<Stmt>> {
    match &s.kind {
        StmtKind::If { yes, no, cond } => {
            let mut out = vec![flat(yes)];
            if let Some(no) = no {
                out.push(flat(no));
                let kind = StmtKind::If { cond: cond.clone(), yes: yes.clone(), no: None };
                out.push(vec![Stmt::new(kind, s.span)]);
            }
            out.push(vec![Stmt::new(StmtKind::Expr(cond.clone()), s.span)]);
            out
        }
        StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => {
            vec![once(flat(body)), vec![twice(body)]]
        }
        StmtKind::For { init, body, .. } => {
            let mut list = flat(init);
            list.extend(once(flat(body)));
            vec![list, vec![twice(body)]]
        }
        StmtKind::Block(list) => vec![list.clone()],
        StmtKind::Label(_, inner) => vec![flat(inner)],
        StmtKind::Decl(list) if list.len() == 1 => match &list[0].init {
            Some(e) if matches!(e.kind, ExprKind::Call(..)) => {
                vec![vec![Stmt::new(StmtKind::Expr(e.clone()), e.span)]]
            }
            _ => Vec::new(),
        },
        StmtKind::Expr(e) => match &e.kind {
            ExprKind::Assign(None, _, value) if matches!(value.kind, ExprKind::Call(..)) => {
                vec![vec![Stmt::new(StmtKind::Expr((**value).clone()), e.span)]]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The statement with one of its own expressions changed.
fn inside(s: &Stmt, change: &dyn Fn(&Expr) -> Vec<Expr>) -> Vec<Vec<Stmt>> {
    let mut out = Vec::new();
    let mut add = |kind| out.push(vec![Stmt::new(kind, s.span)]);
    match &s.kind {
        StmtKind::Decl(list) => {
            for (i, d) in list.iter().enumerate() {
                for e in d.init.iter().flat_map(change) {
                    let mut list = list.clone();
                    list[i].init = Some(e);
                    add(StmtKind::Decl(list));
                }
            }
        }
        StmtKind::Expr(e) => change(e).into_iter().for_each(|e| add(StmtKind::Expr(e))),
        StmtKind::If { cond, yes, no } => {
            for cond in change(cond) {
                add(StmtKind::If { cond, yes: yes.clone(), no: no.clone() });
            }
        }
        StmtKind::While { cond, body } => {
            for cond in change(cond) {
                add(StmtKind::While { cond, body: body.clone() });
            }
        }
        StmtKind::DoWhile { body, cond } => {
            for cond in change(cond) {
                add(StmtKind::DoWhile { body: body.clone(), cond });
            }
        }
        StmtKind::Return(Some(e)) => {
            change(e).into_iter().for_each(|e| add(StmtKind::Return(Some(e))));
        }
        _ => {}
    }
    out
}

/// A memory order as an expression.
pub fn order(name: &str) -> Expr {
    Expr::name(&format!("memory_order_{name}"))
}

/// Simpler expressions for one: a weaker order, a smaller number, one operand of an operation, or a
/// simpler operation.
fn simpler(e: &Expr) -> Vec<Expr> {
    let make = |kind| Expr::new(kind, e.span);
    let mut out = Vec::new();
    match &e.kind {
        ExprKind::Int(lit) => {
            let smaller = [1, 2].into_iter().filter(|small| lit.value > *small);
            out.extend(smaller.map(|small| make(ExprKind::Int(IntLit::plain(small)))));
        }
        ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) => {
            out.extend([(**b).clone(), (**a).clone()]);
        }
        ExprKind::Cond(_, b, c) => out.extend([(**b).clone(), (**c).clone()]),
        ExprKind::Unary(op, a) => {
            use litmake_litmus::c::ast::UnaryOp::{LogicalNot, Neg, Not, Plus};
            if matches!(op, Plus | Neg | Not | LogicalNot) {
                out.push((**a).clone());
            }
        }
        ExprKind::Cast(_, a) => out.push((**a).clone()),
        // A write to memory need not depend on the old value. Locals are excluded, because they
        // count the rounds of loops.
        ExprKind::Assign(Some(_), to, value) if !is_local(to) => {
            out.push(make(ExprKind::Assign(None, to.clone(), value.clone())));
        }
        ExprKind::Step { target, .. } if !is_local(target) => {
            let one = Box::new(Expr::int(1));
            out.push(make(ExprKind::Assign(None, target.clone(), one)));
        }
        ExprKind::Call(name, args) => out.extend(simpler_call(name, args)),
        _ => {}
    }
    for (i, child) in e.children().into_iter().enumerate() {
        for new in simpler(child) {
            out.extend(with_child(&e.kind, i, new).map(make));
        }
    }
    out
}

fn is_local(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Name(_))
}

/// Simpler operations for one, the largest steps first. Steps have one direction only, so that
/// every reduction ends at the same operation: loads and stores before read-modify-writes, among
/// these additions of 1, and the weakest orders.
fn simpler_call(name: &str, args: &[Expr]) -> Vec<Expr> {
    let Some((scope, rest)) = args.split_last().filter(|_| reach(args).is_some()) else {
        return simpler_unscoped(name, args);
    };
    // The simpler operation has the same scope.
    let mut out = simpler_unscoped(name, rest);
    for call in &mut out {
        if let ExprKind::Call(_, args) = &mut call.kind {
            args.push(scope.clone());
        }
    }
    out
}

fn simpler_unscoped(name: &str, args: &[Expr]) -> Vec<Expr> {
    let Some((core, kinds)) = orders::orders(name) else { return Vec::new() };
    let mut out = Vec::new();
    if !name.ends_with("_explicit") && core != "atomic_thread_fence" {
        let mut args = args.to_vec();
        args.extend(kinds.iter().map(|_| order("seq_cst")));
        return vec![Expr::call(&format!("{core}_explicit"), args)];
    }
    let Some(first) = args.len().checked_sub(kinds.len()) else { return out };
    let said = |i: usize| match &args[first + i].kind {
        ExprKind::Name(n) => n.strip_prefix("memory_order_"),
        _ => None,
    };
    let is_update = core == "atomic_exchange" || core.starts_with("atomic_fetch_");
    out.extend(halves(name, args).into_iter().flatten());
    if let (true, [place, value, now]) = (is_update, args) {
        let add = |value: Expr| {
            let args = vec![place.clone(), value, now.clone()];
            Expr::call("atomic_fetch_add_explicit", args)
        };
        if core != "atomic_fetch_add" {
            out.extend([add(Expr::int(1)), add(value.clone()), add(Expr::int(0))]);
        } else if matches!(value.kind, ExprKind::Int(lit) if lit.value == 0) {
            out.push(add(Expr::int(1)));
        }
    }
    if core == "atomic_compare_exchange_weak" {
        out.push(Expr::call("atomic_compare_exchange_strong_explicit", args.to_vec()));
    }
    // A written value need not depend on a read value. The expected value is behind a pointer.
    let value = if core.contains("compare_exchange") { 2 } else { 1 };
    if let Some(ExprKind::Name(_)) = args[..first].get(value).map(|e| &e.kind) {
        let mut args = args.to_vec();
        args[value] = Expr::int(1);
        out.push(Expr::call(name, args));
    }
    for (i, kind) in kinds.iter().enumerate() {
        let Some(now) = said(i) else { continue };
        for weaker in kind.orders().iter().filter(|o| **o != now && orders::at_least(now, o)) {
            let mut args = args.to_vec();
            args[first + i] = order(weaker);
            out.push(Expr::call(name, args));
        }
    }
    out
}

/// The load and the store that do a half each of a read-modify-write or compare-exchange, as strong as
/// they can be. A compare-exchange that succeeds is a write, and one that fails is a read.
pub fn halves(name: &str, args: &[Expr]) -> Option<[Expr; 2]> {
    let (core, _) = orders::orders(name)?;
    let (place, value, now) = match args {
        [place, _, value, now, _] if core.contains("compare_exchange") => {
            (place, value.clone(), now)
        }
        [place, _, now] if core == "atomic_exchange" || core.starts_with("atomic_fetch_") => {
            (place, Expr::int(1), now)
        }
        _ => return None,
    };
    let ExprKind::Name(now) = &now.kind else { return None };
    let now = now.strip_prefix("memory_order_")?;
    let strongest = |kind: Kind| {
        let fits = |o: &&&str| orders::at_least(now, o);
        order(kind.orders().iter().rev().find(fits).unwrap_or(&"relaxed"))
    };
    let load = vec![place.clone(), strongest(Kind::Load)];
    let store = vec![place.clone(), value, strongest(Kind::Store)];
    Some([Expr::call("atomic_load_explicit", load), Expr::call("atomic_store_explicit", store)])
}

/// The expression with its `i`th child replaced, in the order of [`Expr::children`].
fn with_child(kind: &ExprKind, i: usize, new: Expr) -> Option<ExprKind> {
    let mut kind = kind.clone();
    let slot: &mut Expr = match (&mut kind, i) {
        (
            ExprKind::Unary(_, e)
            | ExprKind::Step { target: e, .. }
            | ExprKind::Cast(_, e)
            | ExprKind::SizeofExpr(e)
            | ExprKind::Member { base: e, .. },
            0,
        ) => e,
        (
            ExprKind::Binary(_, a, _)
            | ExprKind::Assign(_, a, _)
            | ExprKind::Comma(a, _)
            | ExprKind::Index(a, _),
            0,
        ) => a,
        (
            ExprKind::Binary(_, _, b)
            | ExprKind::Assign(_, _, b)
            | ExprKind::Comma(_, b)
            | ExprKind::Index(_, b),
            1,
        ) => b,
        (ExprKind::Cond(a, _, _), 0) => a,
        (ExprKind::Cond(_, b, _), 1) => b,
        (ExprKind::Cond(_, _, c), 2) => c,
        (ExprKind::Call(_, args), i) => args.get_mut(i)?,
        (ExprKind::Annotated(a), i) => a.args.get_mut(i)?,
        _ => return None,
    };
    *slot = new;
    Some(kind)
}
