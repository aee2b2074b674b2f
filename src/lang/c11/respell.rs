//! Replaces every type in a piece of a program, for languages that write types in their own way.

use litmake_litmus::Type;
use litmake_litmus::c::ast::{Expr, ExprKind, Function, Param, PartMut, Stmt, StmtKind};

/// Replaces every type in a function.
pub fn function(f: &mut Function, spell: fn(&Type) -> Type) {
    f.ret = spell(&f.ret);
    for Param { ty, .. } in &mut f.params {
        *ty = spell(ty);
    }
    for s in &mut f.body {
        statement(s, spell);
    }
}

/// Replaces every type in a statement.
pub fn statement(s: &mut Stmt, spell: fn(&Type) -> Type) {
    if let StmtKind::Decl(list) = &mut s.kind {
        list.iter_mut().for_each(|d| d.ty = spell(&d.ty));
    }
    s.each_part_mut(&mut |part| match part {
        PartMut::Expr(e) => expr(e, spell),
        PartMut::Stmt(s) => statement(s, spell),
    });
}

fn expr(e: &mut Expr, spell: fn(&Type) -> Type) {
    if let ExprKind::Cast(ty, _) | ExprKind::SizeofType(ty) = &mut e.kind {
        *ty = spell(ty);
    }
    e.each_child_mut(&mut |e| expr(e, spell));
}
