//! Moves atomic operations into helper functions, as programs have them behind the functions of a library.
//! So the test also covers a compiler's assumptions about a call that synchronises.
//!
//! It knows neither compilers nor how a test is emitted; the result is a test like any other.

use std::collections::HashMap;
use std::sync::Arc;

use super::emit::{pointer_to, shared_locations};
use super::lower::{Gives, gives};
use litmake_base::diag::Span;
use litmake_litmus::c::ast::{Expr, ExprKind, Function, Param, Stmt, StmtKind, UnaryOp};
use litmake_litmus::{Body, Test, Type};

/// The test with every atomic operation and every fence of its threads in a function of its own,
/// as far as their arguments can be handed on: the parameters of the thread, its locals and their
/// addresses, and constants. What else there is stays where it is. Where `variables`, the shared
/// locations that the thread sees as they are declared are not handed on but named, for emission as
/// variables.
pub fn outline(test: &Test, variables: bool) -> Test {
    let mut out = test.clone();
    let locations: HashMap<String, Type> =
        shared_locations(test).into_iter().map(|(name, ty)| (name, pointer_to(&ty))).collect();
    let mut helpers = Vec::new();
    for f in out.threads.iter_mut().filter_map(Body::function_mut) {
        let mut types: HashMap<String, Type> =
            f.params.iter().map(|p| (p.name.clone(), p.ty.clone())).collect();
        f.each_declarator(&mut |d, _| {
            types.entry(d.name.clone()).or_insert_with(|| d.ty.clone());
        });
        let mut shared = Vec::new();
        if variables {
            let alike = |p: &&Param| locations.get(&p.name).is_some_and(|ty| ty == p.ty.bare());
            shared.extend(f.params.iter().filter(alike).map(|p| p.name.clone()));
            // A local of that name hides it.
            f.each_declarator(&mut |d, _| shared.retain(|n| *n != d.name));
        }
        let mut pass = Pass { thread: f.name.clone(), types, shared, helpers: &mut helpers };
        f.body.iter_mut().for_each(|s| s.each_expr_mut(&mut |e| pass.expr(e)));
    }
    let taken = |name: &str| test.helpers.iter().any(|h| h.name == name);
    if helpers.iter().any(|h: &Function| taken(&h.name)) {
        return test.clone();
    }
    out.helpers.extend(helpers);
    out
}

struct Pass<'a> {
    thread: String,
    /// The types of the names of the thread.
    types: HashMap<String, Type>,
    /// The parameters that helpers know without being given them.
    shared: Vec<String>,
    helpers: &'a mut Vec<Function>,
}

impl Pass<'_> {
    fn expr(&mut self, e: &mut Expr) {
        if let ExprKind::SizeofExpr(_) = e.kind {
            return;
        }
        e.each_child_mut(&mut |e| self.expr(e));
        if let ExprKind::Call(name, args) = &e.kind
            && let Some((name, args)) = self.call(name, args)
        {
            e.kind = ExprKind::Call(name, args);
        }
    }

    /// The call of a new helper that makes this call; `None` if an argument cannot be handed on.
    fn call(&mut self, name: &str, args: &[Expr]) -> Option<(String, Vec<Expr>)> {
        let gives = gives(name)?;
        let object = args.first().and_then(|e| self.pointee(e));
        let mut params: Vec<Param> = Vec::new();
        let mut handed = Vec::new();
        let mut inner = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let (variable, ty) = match &arg.kind {
                ExprKind::Int(_) => {
                    inner.push(arg.clone());
                    continue;
                }
                ExprKind::Name(n) => match self.types.get(n) {
                    // The name of an order.
                    None => {
                        inner.push(arg.clone());
                        continue;
                    }
                    Some(_) if self.shared.contains(n) => {
                        inner.push(arg.clone());
                        continue;
                    }
                    Some(ty) if matches!(ty.bare(), Type::Array(..)) => return None,
                    Some(ty) => (n, ty.clone()),
                },
                ExprKind::Unary(UnaryOp::Addr, a) => match &a.kind {
                    ExprKind::Name(n) => {
                        let ty = self.types.get(n)?;
                        (n, Type::Pointer(Arc::new(ty.clone())))
                    }
                    _ => return None,
                },
                // A value: it becomes one of the object's type here or there.
                _ if i > 0 => {
                    let param = format!("value_{i}");
                    if self.types.contains_key(&param) {
                        return None;
                    }
                    params.push(Param {
                        name: param.clone(),
                        ty: object.clone()?,
                        local: false,
                        span: Span::default(),
                    });
                    handed.push(arg.clone());
                    inner.push(Expr::name(&param));
                    continue;
                }
                _ => return None,
            };
            // One parameter a variable where it is handed on in one way only.
            let param = match params.iter().find(|p| p.name == *variable) {
                Some(p) if p.ty == ty => p.name.clone(),
                Some(_) => format!("{variable}_{i}"),
                None => variable.clone(),
            };
            if !params.iter().any(|p| p.name == param) {
                params.push(Param { name: param.clone(), ty, local: false, span: Span::default() });
                handed.push(arg.clone());
            }
            inner.push(Expr::name(&param));
        }
        let ret = match gives {
            Gives::Nothing => Type::Void,
            Gives::Truth => Type::INT,
            Gives::Pointee => object?,
        };
        let call = Expr::call(name, inner);
        let body = match gives {
            Gives::Nothing => StmtKind::Expr(call),
            _ => StmtKind::Return(Some(call)),
        };
        let helper = format!("do_{}_{}", self.thread, self.helpers.len());
        self.helpers.push(Function {
            name: helper.clone(),
            told: Default::default(),
            params,
            ret,
            body: vec![Stmt::new(body, Span::default())],
            span: Span::default(),
        });
        Some((helper, handed))
    }

    /// The integer type that a variable points to.
    fn pointee(&self, e: &Expr) -> Option<Type> {
        let ExprKind::Name(n) = &e.kind else { return None };
        let Type::Pointer(ty) = self.types.get(n)?.bare() else { return None };
        matches!(ty.bare(), Type::Int { .. }).then(|| ty.bare().clone())
    }
}
