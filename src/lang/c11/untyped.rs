//! Kernel-style tests as herd reads them: every variable is an `int` that may hold an address.
//!
//! Such tests store pointers in `int`s, leave locals undeclared, and use in one block what
//! another declares. So locals are hoisted to the function and declared where they are not, and
//! every shared object has one size. It does not know primitives.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use litmake_base::diag::Span;
use litmake_litmus::Type;
use litmake_litmus::c::ast::{Declarator, Expr, ExprKind, Function, PartMut, Stmt, StmtKind};

/// The type that an object has here.
pub fn object(ty: &Type) -> Type {
    match ty.bare() {
        Type::Array(t, n) => Type::Array(Arc::new(object(t)), *n),
        Type::Void => Type::Void,
        _ => Type::INT,
    }
}

/// The function with all locals at its beginning, each an `int`, and parameters that point to
/// objects of [`object`] types. The error is where it has floating point, which is no kind of `int`.
pub fn function(mut f: Function) -> Result<Function, Span> {
    if is_float(&f.ret) || f.params.iter().any(|p| is_float(&p.ty)) {
        return Err(f.span);
    }
    for p in &mut f.params {
        p.ty = match p.ty.bare() {
            Type::Pointer(t) => Type::Pointer(Arc::new(match object(t) {
                Type::Void => Type::INT,
                t => t,
            })),
            _ => Type::INT,
        };
    }
    if f.ret.bare() != &Type::Void {
        f.ret = Type::INT;
    }
    let mut names = Names {
        seen: f.params.iter().map(|p| p.name.clone()).collect(),
        locals: Vec::new(),
        float: None,
    };
    f.body.iter_mut().for_each(|s| names.statement(s));
    if let Some(span) = names.float {
        return Err(span);
    }
    let declare =
        |name: String| Declarator { name, ty: Type::INT, init: None, span: Span::default() };
    if !names.locals.is_empty() {
        let all = names.locals.into_iter().map(declare).collect();
        f.body.insert(0, Stmt::new(StmtKind::Decl(all), Span::default()));
    }
    Ok(f)
}

/// Whether a type is made of floating point, behind pointers and in arrays, too.
fn is_float(ty: &Type) -> bool {
    match ty.bare() {
        Type::Pointer(t) | Type::Array(t, _) => is_float(t),
        ty => matches!(ty, Type::Float { .. }),
    }
}

struct Names {
    seen: FxHashSet<String>,
    locals: Vec<String>,
    /// Where floating point was seen first.
    float: Option<Span>,
}

impl Names {
    fn note(&mut self, name: &str) {
        if self.seen.insert(name.to_string()) {
            self.locals.push(name.to_string());
        }
    }

    fn statement(&mut self, s: &mut Stmt) {
        s.each_part_mut(&mut |part| match part {
            PartMut::Expr(e) => self.expr(e),
            PartMut::Stmt(s) => self.statement(s),
        });
        if let StmtKind::Decl(list) = &mut s.kind {
            let span = s.span;
            let mut out = Vec::new();
            for d in std::mem::take(list) {
                self.note(&d.name);
                self.typed(&d.ty, d.span);
                if let Some(init) = d.init {
                    let target = Box::new(Expr::new(ExprKind::Name(d.name), d.span));
                    let set = ExprKind::Assign(None, target, Box::new(init));
                    out.push(Stmt::new(StmtKind::Expr(Expr::new(set, d.span)), span));
                }
            }
            s.kind = match out.len() {
                0 => StmtKind::Empty,
                1 => out.remove(0).kind,
                _ => StmtKind::Block(out),
            };
        }
    }

    fn typed(&mut self, ty: &Type, span: Span) {
        if is_float(ty) {
            self.float.get_or_insert(span);
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        if let ExprKind::Cast(ty, _) = &e.kind {
            self.typed(ty, e.span);
        }
        match &mut e.kind {
            ExprKind::Name(n) => self.note(n),
            ExprKind::Float(_) => {
                self.float.get_or_insert(e.span);
            }
            ExprKind::Cast(ty, _) if ty.bare() != &Type::Void => *ty = Type::INT,
            _ => {}
        }
        e.each_child_mut(&mut |c| self.expr(c));
    }
}
