//! Every type in a piece of a program replaced, for languages that write types in their own way.

use super::ast::{Declarator, Expr, ExprKind, Function, Param, Stmt, StmtKind};
use crate::litmus::Type;

/// A function with every type in it spelt.
pub fn function(f: &mut Function, spell: fn(&Type) -> Type) {
    f.ret = spell(&f.ret);
    for Param { ty, .. } in &mut f.params {
        *ty = spell(ty);
    }
    for s in &mut f.body {
        statement(s, spell);
    }
}

pub fn statement(s: &mut Stmt, spell: fn(&Type) -> Type) {
    let below = |s: &mut Stmt| statement(s, spell);
    match &mut s.kind {
        StmtKind::Decl(list) => {
            for Declarator { ty, init, .. } in list {
                *ty = spell(ty);
                if let Some(e) = init {
                    expr(e, spell);
                }
            }
        }
        StmtKind::Expr(e) => expr(e, spell),
        StmtKind::If { cond, yes, no } => {
            expr(cond, spell);
            below(yes);
            if let Some(no) = no {
                below(no);
            }
        }
        StmtKind::While { cond, body } | StmtKind::DoWhile { body, cond } => {
            expr(cond, spell);
            below(body);
        }
        StmtKind::For { init, cond, step, body } => {
            below(init);
            below(body);
            for e in cond.iter_mut().chain(step) {
                expr(e, spell);
            }
        }
        StmtKind::Block(list) => list.iter_mut().for_each(below),
        StmtKind::Return(e) => {
            if let Some(e) = e {
                expr(e, spell);
            }
        }
        StmtKind::Label(_, s) => below(s),
        StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Empty => {}
    }
}

fn expr(e: &mut Expr, spell: fn(&Type) -> Type) {
    match &mut e.kind {
        ExprKind::Cast(ty, _) | ExprKind::SizeofType(ty) => *ty = spell(ty),
        _ => {}
    }
    match &mut e.kind {
        ExprKind::Int(_) | ExprKind::Name(_) | ExprKind::SizeofType(_) => {}
        ExprKind::Unary(_, a)
        | ExprKind::Step { target: a, .. }
        | ExprKind::Cast(_, a)
        | ExprKind::SizeofExpr(a)
        | ExprKind::Member { base: a, .. } => expr(a, spell),
        ExprKind::Binary(_, a, b)
        | ExprKind::Assign(_, a, b)
        | ExprKind::Comma(a, b)
        | ExprKind::Index(a, b) => {
            expr(a, spell);
            expr(b, spell);
        }
        ExprKind::Cond(a, b, c) => {
            expr(a, spell);
            expr(b, spell);
            expr(c, spell);
        }
        ExprKind::Call(_, args) => args.iter_mut().for_each(|a| expr(a, spell)),
    }
}
