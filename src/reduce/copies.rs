//! Removes copies: joins two variables with equal values, and keeps a value in a local that a
//! thread stored to memory for itself.
//!
//! Each result is a candidate. The caller checks whether it still shows the difference; nothing
//! here checks that the values are always equal.

use litmake_base::diag::Span;
use litmake_litmus::c::ast::{Expr, ExprKind, PartMut, Stmt, StmtKind, UnaryOp};
use litmake_litmus::{Body, Test};

use super::normal;

/// Tests without a copy (`a = b;` or `int a = b;`), in which `b` is renamed to `a`.
pub fn joined(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    for (t, body) in test.threads.iter().enumerate() {
        let Body::C(f) = body else { return Vec::new() };
        let mut locals = Vec::new();
        f.each_declarator(&mut |d, _| locals.push(d.name.clone()));
        let mut copies: Vec<Copy> = Vec::new();
        rewrite(f.body.clone(), &mut |s| {
            copies.extend(copy(&s));
            vec![s]
        });
        copies.retain(|c| c.to != c.from && locals.contains(&c.to) && locals.contains(&c.from));
        out.extend(copies.iter().map(|c| super::with_body(test, t, without(&f.body, c))));
    }
    out
}

/// Tests without a store whose value the same thread reads back; the first read becomes the value.
pub fn not_stored(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    for (t, body) in test.threads.iter().enumerate() {
        let Body::C(f) = body else { return Vec::new() };
        for (i, s) in f.body.iter().enumerate() {
            let Some((place, value)) = stored(s) else { continue };
            let mut body = f.body.clone();
            let mut put = false;
            for s in &mut body[i + 1..] {
                put = put
                    || in_statement(s, &mut |e| {
                        let is_read = read(e) == Some(place);
                        if is_read {
                            *e = value.clone();
                        }
                        is_read
                    });
            }
            body.remove(i);
            out.extend(put.then(|| super::with_body(test, t, body)));
        }
    }
    out
}

/// Applies `f` to expressions in order until it returns true.
fn in_statement(s: &mut Stmt, f: &mut dyn FnMut(&mut Expr) -> bool) -> bool {
    fn below(e: &mut Expr, f: &mut dyn FnMut(&mut Expr) -> bool) -> bool {
        let mut done = f(e);
        e.each_child_mut(&mut |e| done = done || below(e, f));
        done
    }
    let mut done = false;
    s.each_part_mut(&mut |part| {
        done = done
            || match part {
                PartMut::Expr(e) => below(e, f),
                PartMut::Stmt(s) => in_statement(s, f),
            };
    });
    done
}

fn named(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Name(n) => Some(n),
        _ => None,
    }
}

fn stored(s: &Stmt) -> Option<(&str, &Expr)> {
    let StmtKind::Expr(e) = &s.kind else { return None };
    match &e.kind {
        ExprKind::Assign(None, to, value) => match &to.kind {
            ExprKind::Unary(UnaryOp::Deref, at) => Some((named(at)?, value)),
            _ => None,
        },
        ExprKind::Call(name, args) if name.starts_with("atomic_store") => {
            Some((named(args.first()?)?, args.get(1)?))
        }
        _ => None,
    }
}

fn read(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Unary(UnaryOp::Deref, at) => named(at),
        ExprKind::Call(name, args) if name.starts_with("atomic_load") => named(args.first()?),
        _ => None,
    }
}

struct Copy {
    to: String,
    from: String,
    /// Whether the copy is the declaration of `to`.
    declares: bool,
}

fn copy(s: &Stmt) -> Option<Copy> {
    let (to, from, declares) = match &s.kind {
        StmtKind::Expr(Expr { kind: ExprKind::Assign(None, to, from), .. }) => match &to.kind {
            ExprKind::Name(to) => (to, &**from, false),
            _ => return None,
        },
        StmtKind::Decl(list) => match &list[..] {
            [d] => (&d.name, d.init.as_ref()?, true),
            _ => return None,
        },
        _ => return None,
    };
    match &from.kind {
        ExprKind::Name(from) => Some(Copy { to: to.clone(), from: from.clone(), declares }),
        _ => None,
    }
}

fn without(body: &[Stmt], c: &Copy) -> Vec<Stmt> {
    let is_it =
        |s: &Stmt| copy(s).is_some_and(|o| (o.to, o.from) == (c.to.clone(), c.from.clone()));
    // If `from` begins with a number, so does `to`, wherever the number was assigned.
    let mut first = None;
    let mut out = rewrite(body.to_vec(), &mut |s| match &s.kind {
        _ if is_it(&s) => Vec::new(),
        StmtKind::Decl(list) if !c.declares && list.len() == 1 && list[0].name == c.from => {
            match &list[0].init {
                None => Vec::new(),
                Some(e) if matches!(e.kind, ExprKind::Int(_)) => {
                    first = Some(e.clone());
                    Vec::new()
                }
                Some(e) => {
                    let to = Box::new(Expr::name(&c.to));
                    let assigned = ExprKind::Assign(None, to, Box::new(e.clone()));
                    vec![Stmt::new(StmtKind::Expr(Expr::new(assigned, e.span)), s.span)]
                }
            }
        }
        _ => vec![s],
    });
    let mut rename = |name: &str| (name == c.from).then(|| c.to.clone());
    out.iter_mut().for_each(|s| normal::rename(s, &mut rename));
    let Some(first) = first else { return out };
    rewrite(out, &mut |mut s| {
        if let StmtKind::Decl(list) = &mut s.kind {
            for d in list.iter_mut().filter(|d| d.name == c.to) {
                d.init = Some(first.clone());
            }
        }
        vec![s]
    })
}

/// Replaces each statement by the statements that `f` makes of it, the innermost first.
pub fn rewrite(body: Vec<Stmt>, f: &mut dyn FnMut(Stmt) -> Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for mut s in body {
        s.each_part_mut(&mut |part| {
            let PartMut::Stmt(inner) = part else { return };
            let whole = std::mem::replace(inner, Stmt::new(StmtKind::Empty, Span::default()));
            let span = whole.span;
            *inner = match whole.kind {
                StmtKind::Block(list) => Stmt::new(StmtKind::Block(rewrite(list, f)), span),
                _ => {
                    let mut list = rewrite(vec![whole], f);
                    match list.len() {
                        1 => list.remove(0),
                        _ => Stmt::new(StmtKind::Block(list), span),
                    }
                }
            };
        });
        out.extend(f(s));
    }
    out
}
