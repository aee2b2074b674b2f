//! Simplifies types: widths, qualifiers and plain accesses that a test does not need.
//!
//! It does not know which of the tests still show the difference.

use std::collections::BTreeSet;
use std::sync::Arc;

use litmake_base::diag::Span;
use litmake_litmus::c::ast::{
    Declarator, Expr, ExprKind, Function, IntLit, Param, PartMut, Stmt, StmtKind, UnaryOp,
};
use litmake_litmus::{Body, InitValue, Place, Test, Type, Value};

/// Tests with simpler types: `int` and no qualifiers, for all locations and locals at once or for
/// one location.
pub fn plainer(test: &Test) -> Vec<Test> {
    let all_plain = with_types(test, None, &plain);
    let mut out = vec![of_int(test)];
    out.extend([all_plain, with_types(test, None, &unqualified)]);
    out.push(locals(&with_types(test, None, &signed), None, &signed));
    out.push(locals(&with_types(test, None, &narrower), None, &narrower));
    let mut names: Vec<&str> = functions(test).flat_map(|f| &f.params).map(|p| &*p.name).collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        let one_plain = with_types(test, Some(name), &plain);
        // Locals with the values of the location have the same type.
        if let Some(of) = pointee(test, name) {
            out.push(locals(&one_plain, Some(&of), &plain));
        }
        out.push(one_plain);
        out.extend(atomic(test, name));
        out.extend(local(test, name));
    }
    out.push(locals(test, None, &plain));
    out.extend(small_values(test));
    out.extend(small_numbers(test));
    let text = litmake_litmus::write(test);
    out.retain(|t| litmake_litmus::write(t) != text);
    out
}

/// The test with `int` as the type of every number in a location or a local.
pub(super) fn of_int(test: &Test) -> Test {
    locals(&with_types(test, None, &plain), None, &plain)
}

/// Tests in which an initial value other than 0 and 1 becomes 1, or 2.
fn small_values(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    for (i, item) in test.init.iter().enumerate() {
        let Some(InitValue::One(Value::Int(now))) = &item.value else { continue };
        for small in [1, 2].into_iter().filter(|small| !(0..=*small).contains(now)) {
            let mut next = test.clone();
            next.init[i].value = Some(InitValue::One(Value::Int(small)));
            out.push(next);
        }
    }
    out
}

/// Tests in which a number above 1 becomes 1, or 2, everywhere at once: a thread may expect the
/// value that another one stores.
fn small_numbers(test: &Test) -> Vec<Test> {
    let mut numbers = BTreeSet::new();
    for f in functions(test) {
        f.each_expr(&mut |e| {
            e.any(&mut |e| {
                if let ExprKind::Int(lit) = &e.kind {
                    numbers.insert(lit.value);
                }
                false
            });
        });
    }
    let tries = numbers.iter().flat_map(|n| [1, 2].map(|small| (*n, small)));
    tries
        .filter(|(now, small)| now > small)
        .map(|(now, small)| renumbered(test, now, small))
        .collect()
}

fn renumbered(test: &Test, now: u128, new: u128) -> Test {
    fn expr(e: &mut Expr, now: u128, new: u128) {
        match &mut e.kind {
            ExprKind::Int(lit) if lit.value == now => *lit = IntLit::plain(new),
            _ => e.each_child_mut(&mut |e| expr(e, now, new)),
        }
    }
    let mut out = test.clone();
    for f in out.threads.iter_mut().filter_map(Body::function_mut) {
        f.body.iter_mut().for_each(|s| s.each_expr_mut(&mut |e| expr(e, now, new)));
    }
    out
}

/// The threads in C.
pub(super) fn functions(test: &Test) -> impl Iterator<Item = &Function> {
    test.threads.iter().filter_map(Body::function)
}

/// `int` in place of every number, atomic where the type was, without other qualifiers.
pub(super) fn plain(ty: &Type) -> Type {
    match ty {
        Type::Array(of, n) => Type::Array(Arc::new(plain(of)), *n),
        _ if !matches!(ty.bare(), Type::Int { .. } | Type::Float { .. }) => ty.clone(),
        _ if ty.is_atomic() => Type::Atomic(Arc::new(Type::INT)),
        _ => Type::INT,
    }
}

/// The type with its integer made signed.
fn signed(ty: &Type) -> Type {
    with_integer(ty, &|bytes, _| Type::Int { bytes, signed: true })
}

/// The type with half the width for 16 and 128 bits: where `int` does not show a fault of 16 bits,
/// 8 bits often do, and 64 bits instead of 128.
fn narrower(ty: &Type) -> Type {
    with_integer(ty, &|bytes, signed| match bytes {
        2 | 16 => Type::Int { bytes: bytes / 2, signed },
        _ => Type::Int { bytes, signed },
    })
}

/// The type with its innermost integer replaced, given its bytes and signedness.
fn with_integer(ty: &Type, f: &dyn Fn(u8, bool) -> Type) -> Type {
    let of = |of: &Type| Arc::new(with_integer(of, f));
    match ty {
        Type::Int { bytes, signed } => f(*bytes, *signed),
        Type::Array(to, n) => Type::Array(of(to), *n),
        Type::Pointer(to) => Type::Pointer(of(to)),
        Type::Atomic(to) => Type::Atomic(of(to)),
        Type::Const(to) => Type::Const(of(to)),
        Type::Volatile(to) => Type::Volatile(of(to)),
        Type::Restrict(to) => Type::Restrict(of(to)),
        Type::Float { .. } | Type::Void | Type::Struct(_) | Type::Named(_) => ty.clone(),
    }
}

pub(super) fn unqualified(ty: &Type) -> Type {
    match ty {
        Type::Const(of) | Type::Volatile(of) | Type::Restrict(of) => unqualified(of),
        Type::Atomic(of) => Type::Atomic(Arc::new(unqualified(of))),
        _ => ty.clone(),
    }
}

/// The test with other types behind the parameters, for all locations or for one.
fn with_types(test: &Test, of: Option<&str>, f: &dyn Fn(&Type) -> Type) -> Test {
    let mut out = test.clone();
    let asked = |name: &str| of.is_none_or(|n| n == name);
    let pointee = |p: &mut Param| {
        if let (true, Type::Pointer(to)) = (asked(&p.name), unqualified(&p.ty)) {
            p.ty = Type::Pointer(Arc::new(f(&to)));
        }
    };
    for function in out.threads.iter_mut().filter_map(Body::function_mut) {
        function.params.iter_mut().for_each(pointee);
    }
    for helper in &mut out.helpers {
        helper.params.iter_mut().for_each(|p| {
            if let (None, Type::Pointer(to)) = (of, unqualified(&p.ty)) {
                p.ty = Type::Pointer(Arc::new(f(&to)));
            }
        });
    }
    for item in &mut out.init {
        if let (Place::Mem { name, .. }, Some(ty)) = (&item.place, &item.ty)
            && asked(name)
        {
            item.ty = Some(f(ty));
        }
    }
    out
}

/// The type of a location, without qualifiers.
fn pointee(test: &Test, name: &str) -> Option<Type> {
    let of = functions(test).flat_map(|f| &f.params).find(|p| p.name == name)?;
    match of.ty.bare() {
        Type::Pointer(to) => Some(to.bare().clone()),
        _ => None,
    }
}

/// The test with other types of its locals, or of the locals of one type.
fn locals(test: &Test, of: Option<&Type>, f: &dyn Fn(&Type) -> Type) -> Test {
    fn statement(s: &mut Stmt, of: Option<&Type>, f: &dyn Fn(&Type) -> Type) {
        if let StmtKind::Decl(list) = &mut s.kind {
            for d in list.iter_mut().filter(|d| of.is_none_or(|of| d.ty.bare() == of)) {
                d.ty = f(&d.ty);
            }
        }
        s.each_part_mut(&mut |part| {
            if let PartMut::Stmt(s) = part {
                statement(s, of, f);
            }
        });
    }
    let mut out = test.clone();
    for function in out.threads.iter_mut().filter_map(Body::function_mut) {
        function.body.iter_mut().for_each(|s| statement(s, of, f));
    }
    out
}

/// The test with plain accesses of a location made explicit. A plain location becomes atomic and
/// its accesses relaxed; plain accesses of an atomic location become calls with `seq_cst`, which
/// they were.
fn atomic(test: &Test, name: &str) -> Option<Test> {
    let mut is_atomic = true;
    for p in functions(test).flat_map(|f| &f.params).filter(|p| p.name == name) {
        let Type::Pointer(to) = p.ty.bare() else { return None };
        if !matches!(to.bare(), Type::Int { .. }) {
            return None;
        }
        is_atomic &= to.is_atomic();
    }
    let order = if is_atomic { "seq_cst" } else { "relaxed" };
    let to_atomic = |ty: &Type| match ty.is_atomic() {
        true => ty.clone(),
        false => Type::Atomic(Arc::new(ty.clone())),
    };
    let mut out = with_types(test, Some(name), &to_atomic);
    let mut only_accessed = true;
    for body in &mut out.threads {
        let Body::C(f) = body else { return None };
        for s in &mut f.body {
            s.each_expr_mut(&mut |e| access(e, name, order, &mut only_accessed));
        }
    }
    only_accessed.then_some(out)
}

/// The test with a local in place of a plain location that only one thread uses and that nothing
/// observes, such as the expected value of a compare-exchange.
fn local(test: &Test, name: &str) -> Option<Test> {
    let mut having = Vec::new();
    for (t, f) in functions(test).enumerate() {
        if let Some(p) = f.params.iter().find(|p| p.name == name) {
            let Type::Pointer(to) = p.ty.bare() else { return None };
            if to.is_atomic() || !matches!(to.bare(), Type::Int { .. }) {
                return None;
            }
            having.push((t, unqualified(to)));
        }
    }
    let [(thread, ty)] = &having[..] else { return None };
    let is_it = |place: &Place| matches!(place, Place::Mem { name: n, .. } if n == name);
    if test.shown().iter().any(is_it) || test.filter.is_some() {
        return None;
    }
    let mut out = test.clone();
    let mut first = Expr::int(0);
    for item in test.init.iter().filter(|i| is_it(&i.place)) {
        match &item.value {
            Some(InitValue::One(Value::Int(n))) => first = Expr::int(u128::try_from(*n).ok()?),
            None => {}
            Some(_) => return None,
        }
    }
    out.init.retain(|i| !is_it(&i.place));
    let Body::C(f) = &mut out.threads[*thread] else { return None };
    f.params.retain(|p| p.name != name);
    f.body.iter_mut().for_each(|s| taken_from(s, name));
    let d = Declarator {
        name: name.to_string(),
        ty: ty.clone(),
        init: Some(first),
        span: Span::default(),
    };
    f.body.insert(0, Stmt::new(StmtKind::Decl(vec![d]), Span::default()));
    Some(out)
}

/// Replaces a pointer by the variable that it points to.
fn taken_from(s: &mut Stmt, name: &str) {
    fn expr(e: &mut Expr, name: &str) {
        let is_it = |e: &Expr| matches!(&e.kind, ExprKind::Name(n) if n == name);
        match &mut e.kind {
            ExprKind::Unary(UnaryOp::Deref, to) if is_it(to) => *e = Expr::name(name),
            ExprKind::Name(n) if n == name => {
                let variable = Box::new(Expr::name(name));
                *e = Expr::new(ExprKind::Unary(UnaryOp::Addr, variable), Span::default());
            }
            _ => e.each_child_mut(&mut |e| expr(e, name)),
        }
    }
    s.each_expr_mut(&mut |e| expr(e, name));
}

fn access(e: &mut Expr, name: &str, order: &str, only: &mut bool) {
    let is_it = |e: &Expr| match &e.kind {
        ExprKind::Unary(UnaryOp::Deref, at) => {
            matches!(&at.kind, ExprKind::Name(n) if n == name)
        }
        _ => false,
    };
    let call = |function: &str, mut args: Vec<Expr>| {
        args.insert(0, Expr::name(name));
        args.push(super::code::order(order));
        Expr::new(Expr::call(function, args).kind, Span::default())
    };
    if is_it(e) {
        *e = call("atomic_load_explicit", Vec::new());
        return;
    }
    match &mut e.kind {
        ExprKind::Assign(None, to, value) if is_it(to) => {
            access(value, name, order, only);
            *e = call("atomic_store_explicit", vec![(**value).clone()]);
        }
        ExprKind::Assign(_, to, _) if is_it(to) => *only = false,
        ExprKind::Step { target, .. } if is_it(target) => *only = false,
        // Atomic operations access the location and nothing else; other functions may do anything
        // with its address.
        ExprKind::Call(function, args) => {
            let known = litmake_litmus::c::orders::orders(function).is_some();
            for (i, e) in args.iter_mut().enumerate() {
                match &e.kind {
                    ExprKind::Name(n) if n == name => *only &= known && i == 0,
                    _ => access(e, name, order, only),
                }
            }
        }
        ExprKind::Name(n) => *only &= n != name,
        _ => e.each_child_mut(&mut |e| access(e, name, order, only)),
    }
}
