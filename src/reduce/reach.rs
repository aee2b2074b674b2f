//! Simplifies how a test accesses its data: attributes, functions, elements and pointers that it
//! does not need.
//!
//! It does not know which of the tests still show the difference.

use std::collections::HashMap;

use litmake_base::diag::Span;
use litmake_litmus::c::ast::{
    BinaryOp, Expr, ExprKind, Function, IntLit, PartMut, Stmt, StmtKind, UnaryOp,
};
use litmake_litmus::{Body, InitValue, Place, Test, Type, Value};

use super::names;
use super::normal::uses;

/// Candidates that access the same data in a simpler way.
pub fn simpler(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    if test.helpers.iter().any(|h| !h.told.is_empty()) {
        let mut next = test.clone();
        next.helpers.iter_mut().for_each(|h| h.told = Default::default());
        out.push(next);
    }
    let called = |name: &str| {
        let in_thread = test.threads.iter().any(|body| match body {
            Body::C(f) => calls(f, name),
            Body::Asm(_) => false,
        });
        in_thread || test.helpers.iter().any(|h| h.name != name && calls(h, name))
    };
    if test.helpers.iter().any(|h| !called(&h.name)) {
        let mut next = test.clone();
        next.helpers.retain(|h| called(&h.name));
        out.push(next);
    }
    out.extend(without_pointers(test));
    for inlined in test.helpers.iter().filter_map(|h| inlined(test, h)) {
        // A compiler must keep the result of a function whose body it cannot see. After inlining,
        // it may remove results that nothing observes.
        let mut observed = inlined.clone();
        names::observe_locals(&mut observed);
        out.extend([inlined, observed]);
    }
    out.extend(at_the_end(test));
    out.extend(found(test));
    let arrays = test.init.iter().filter_map(|i| match (&i.place, &i.ty) {
        (Place::Mem { name, index: None }, Some(Type::Array(..))) => Some(name.clone()),
        _ => None,
    });
    out.extend(arrays.filter_map(|name| scalar(test, &name)));
    let mut names: Vec<&str> = Vec::new();
    for f in test.threads.iter().filter_map(Body::function) {
        names.extend(f.params.iter().map(|p| &*p.name));
    }
    names.sort_unstable();
    names.dedup();
    out.extend(names.iter().filter_map(|name| without_casts(test, name)));
    out.extend(names.iter().filter_map(|name| only_read(test, name)));
    out.extend(with_whole_numbers(test));
    out
}

/// The test with 1 in place of each floating-point number other than 0.
fn with_whole_numbers(test: &Test) -> Option<Test> {
    let mut next = test.clone();
    let mut changed = false;
    each_body(&mut next, &mut |body| {
        for s in body {
            s.each_expr_mut(&mut |e| {
                e.bottom_up(&mut |e| {
                    if let ExprKind::Float(lit) = &e.kind {
                        e.kind = ExprKind::Int(IntLit::plain(u128::from(lit.bits != 0)));
                        changed = true;
                    }
                });
            });
        }
    });
    changed.then_some(next)
}

/// The test with a location's constant value in place of its loads, in all threads at once: if they
/// index shared data with it, changing one thread alone would change which data is shared.
fn only_read(test: &Test, name: &str) -> Option<Test> {
    let held = test.init.iter().find_map(|item| match (&item.place, &item.value) {
        (Place::Mem { name: n, .. }, Some(value)) if n == name => Some(value),
        _ => None,
    });
    let value = match held {
        None => 0,
        Some(InitValue::One(Value::Int(n))) => u128::try_from(*n).ok()?,
        Some(_) => return None,
    };
    let is_load = |e: &Expr| read_from(e).is_some_and(|from| is_name(from, name));
    let mut next = test.clone();
    let (mut loads, mut written) = (0, false);
    for body in &mut next.threads {
        let Body::C(f) = body else { return None };
        for s in &mut f.body {
            s.each_expr_mut(&mut |e| {
                written |= e.any(&mut |e| match &e.kind {
                    ExprKind::Assign(_, to, _) | ExprKind::Step { target: to, .. } => is_load(to),
                    _ => false,
                });
                e.bottom_up(&mut |e| {
                    if is_load(e) {
                        *e = Expr::new(ExprKind::Int(IntLit::plain(value)), e.span);
                        loads += 1;
                    }
                });
            });
        }
    }
    // The remaining uses are atomic writes, or uses of the address.
    let is_left = |body: &Body| matches!(body, Body::C(f) if uses(f, name) > 0);
    (loads > 0 && !written && !next.threads.iter().any(is_left)).then_some(next)
}

/// The address that an expression reads, if the expression is only a read.
fn read_from(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Unary(UnaryOp::Deref, from) => Some(from),
        ExprKind::Call(name, args) if matches!(&**name, "atomic_load_explicit" | "atomic_load") => {
            args.first()
        }
        _ => None,
    }
}

fn is_name(e: &Expr, name: &str) -> bool {
    matches!(&e.kind, ExprKind::Name(n) if n == name)
}

pub(super) fn each_body(test: &mut Test, f: &mut dyn FnMut(&mut Vec<Stmt>)) {
    for function in test.threads.iter_mut().filter_map(Body::function_mut) {
        f(&mut function.body);
    }
    test.helpers.iter_mut().for_each(|h| f(&mut h.body));
}

/// Replaces names by expressions.
fn replace(e: &mut Expr, with: &HashMap<String, Expr>) {
    if let ExprKind::Name(n) = &e.kind {
        if let Some(new) = with.get(n) {
            *e = new.clone();
        }
        return;
    }
    e.each_child_mut(&mut |e| replace(e, with));
    // `*&x` is `x`.
    if let ExprKind::Unary(UnaryOp::Deref, to) = &e.kind
        && let ExprKind::Unary(UnaryOp::Addr, of) = &to.kind
    {
        *e = (**of).clone();
    }
}

/// Whether a body writes to a name or takes its address.
fn is_written(body: &[Stmt], name: &str) -> bool {
    let mut found = false;
    for s in &mut body.to_vec() {
        s.each_expr_mut(&mut |e| {
            found |= e.any(&mut |e| match &e.kind {
                ExprKind::Assign(_, t, _)
                | ExprKind::Step { target: t, .. }
                | ExprKind::Unary(UnaryOp::Addr, t) => {
                    matches!(&t.kind, ExprKind::Name(n) if n == name)
                }
                _ => false,
            });
        });
    }
    found
}

/// The test without locals that are never changed and hold the value of another pointer.
fn without_pointers(test: &Test) -> Option<Test> {
    let mut next = test.clone();
    let mut changed = false;
    each_body(&mut next, &mut |body| {
        let mut held: HashMap<String, Expr> = HashMap::new();
        for s in body.iter() {
            if let StmtKind::Decl(list) = &s.kind
                && let [d] = &list[..]
                && matches!(d.ty.bare(), Type::Pointer(_))
                && let Some(init) = &d.init
                && matches!(init.kind, ExprKind::Name(_))
                && !is_written(body, &d.name)
            {
                let mut init = init.clone();
                replace(&mut init, &held);
                held.insert(d.name.clone(), init);
            }
        }
        if held.is_empty() {
            return;
        }
        changed = true;
        body.retain(|s| {
            !matches!(&s.kind, StmtKind::Decl(list) if list.iter().any(|d| held.contains_key(&d.name)))
        });
        body.iter_mut().for_each(|s| s.each_expr_mut(&mut |e| replace(e, &held)));
    });
    changed.then_some(next)
}

/// The test with all functions inlined; `None` if it has none, or one that cannot be inlined.
pub fn without_functions(test: &Test) -> Option<Test> {
    if test.helpers.is_empty() {
        return None;
    }
    let mut out = test.clone();
    // A function that calls another is inlined after it.
    for _ in 0..test.helpers.len() {
        let next = out.helpers.iter().find_map(|h| inlined(&out, h));
        out = next?;
        if out.helpers.is_empty() {
            return super::read_again(&out);
        }
    }
    None
}

/// The test with a function inlined at the calls that are statements or give the value of one.
fn inlined(test: &Test, helper: &Function) -> Option<Test> {
    let (rest, result) = match helper.body.split_last() {
        Some((Stmt { kind: StmtKind::Return(Some(e)), .. }, rest)) => (rest, Some(e.clone())),
        _ => (&helper.body[..], None),
    };
    let simple = |s: &Stmt| matches!(s.kind, StmtKind::Expr(_) | StmtKind::Decl(_));
    let written = helper.params.iter().any(|p| is_written(&helper.body, &p.name));
    if !rest.iter().all(simple) || written {
        return None;
    }
    let mut next = test.clone();
    let mut count = 0;
    let call = |e: &Expr, count: &mut usize| -> Option<(Vec<Stmt>, Option<Expr>)> {
        let ExprKind::Call(name, args) = &e.kind else { return None };
        if *name != helper.name || args.len() != helper.params.len() {
            return None;
        }
        *count += 1;
        let mut with: HashMap<String, Expr> =
            helper.params.iter().map(|p| p.name.clone()).zip(args.iter().cloned()).collect();
        helper.each_declarator(&mut |d, _| {
            with.insert(d.name.clone(), Expr::name(&format!("{}_{count}", d.name)));
        });
        let mut body = rest.to_vec();
        for s in &mut body {
            if let StmtKind::Decl(list) = &mut s.kind {
                for d in list {
                    d.name = format!("{}_{count}", d.name);
                }
            }
            s.each_expr_mut(&mut |e| replace(e, &with));
        }
        let mut value = result.clone();
        if let Some(value) = &mut value {
            replace(value, &with);
        }
        Some((body, value))
    };
    for body in &mut next.threads {
        let Body::C(f) = body else { continue };
        f.body = inline_list(&f.body, &mut |e| call(e, &mut count));
        // A body that is only an expression can be inlined anywhere.
        if rest.is_empty() && result.is_some() {
            let mut value = |e: &mut Expr| {
                if let Some((_, Some(value))) = call(e, &mut count) {
                    *e = value;
                }
            };
            f.body.iter_mut().for_each(|s| s.each_expr_mut(&mut |e| e.bottom_up(&mut value)));
        }
    }
    if count == 0 {
        return None;
    }
    let still = next.threads.iter().any(|body| match body {
        Body::C(f) => calls(f, &helper.name),
        Body::Asm(_) => false,
    }) || next.helpers.iter().any(|h| calls(h, &helper.name));
    if !still {
        next.helpers.retain(|h| h.name != helper.name);
    }
    Some(next)
}

fn calls(f: &Function, name: &str) -> bool {
    let mut found = false;
    f.each_expr(&mut |e| {
        found |= e.any(&mut |e| matches!(&e.kind, ExprKind::Call(n, _) if n == name));
    });
    found
}

type Call<'c> = &'c mut dyn FnMut(&Expr) -> Option<(Vec<Stmt>, Option<Expr>)>;

fn inline_list(body: &[Stmt], call: Call) -> Vec<Stmt> {
    let statement = |kind| Stmt::new(kind, Span::default());
    let mut out = Vec::new();
    for s in body {
        match &s.kind {
            StmtKind::Expr(e) => {
                let (target, inner) = match &e.kind {
                    ExprKind::Assign(None, t, v) => (Some(t), &**v),
                    _ => (None, e),
                };
                match (call(inner), target) {
                    (Some((list, Some(value))), Some(t)) => {
                        out.extend(list);
                        let kind = ExprKind::Assign(None, t.clone(), Box::new(value));
                        out.push(statement(StmtKind::Expr(Expr::new(kind, Span::default()))));
                    }
                    (Some((list, None)), None) => out.extend(list),
                    (Some((list, Some(value))), None) => {
                        out.extend(list);
                        out.push(statement(StmtKind::Expr(value)));
                    }
                    _ => out.push(s.clone()),
                }
            }
            StmtKind::Decl(list) => match &list[..] {
                [d] => {
                    let made = match &d.init {
                        Some(init) => call(init),
                        None => None,
                    };
                    match made {
                        Some((body, Some(value))) => {
                            out.extend(body);
                            let mut d = d.clone();
                            d.init = Some(value);
                            out.push(statement(StmtKind::Decl(vec![d])));
                        }
                        _ => out.push(s.clone()),
                    }
                }
                _ => out.push(s.clone()),
            },
            _ => {
                let mut s = s.clone();
                s.each_part_mut(&mut |part| {
                    if let PartMut::Stmt(inner) = part {
                        let list = match &inner.kind {
                            StmtKind::Block(list) => inline_list(list, call),
                            _ => inline_list(std::slice::from_ref(inner), call),
                        };
                        *inner = statement(StmtKind::Block(list));
                    }
                });
                out.push(s);
            }
        }
    }
    out
}

/// Tests without a load whose value only the condition uses. They observe the final value of its
/// location instead.
fn at_the_end(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    let shown = test.shown();
    for (thread, body) in test.threads.iter().enumerate() {
        let Body::C(f) = body else { return Vec::new() };
        for (at, s) in f.body.iter().enumerate() {
            let Some((local, name)) = loaded(s) else { continue };
            let mut rest = f.clone();
            rest.body.remove(at);
            let own = Place::Reg { thread, name: local.clone() };
            if !shown.contains(&own) || uses(&rest, &local) > 0 {
                continue;
            }
            let array = test.init.iter().any(|i| {
                let is_it = matches!(&i.place, Place::Mem { name: n, .. } if *n == name);
                is_it && matches!(i.ty, Some(Type::Array(..)))
            });
            let location = Place::Mem { name, index: array.then_some(0) };
            let mut next = test.clone();
            next.threads[thread] = Body::C(rest);
            names::keep(&mut next, &|place| {
                Some(if *place == own { location.clone() } else { place.clone() })
            });
            out.push(next);
        }
    }
    out
}

/// Tests that ignore the success of a compare-exchange. They observe the value that it read
/// instead.
fn found(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    for (thread, body) in test.threads.iter().enumerate() {
        let Body::C(f) = body else { return Vec::new() };
        for (at, s) in f.body.iter().enumerate() {
            let Some((local, expected, call)) = told(s) else { continue };
            let mut rest = f.clone();
            rest.body[at] = Stmt::new(StmtKind::Expr(call), s.span);
            if uses(&rest, &local) > 0 {
                continue;
            }
            let own = Place::Reg { thread, name: local };
            let found = Place::Reg { thread, name: expected };
            let mut next = test.clone();
            next.threads[thread] = Body::C(rest);
            if test.shown().contains(&own) {
                names::keep(&mut next, &|place| (*place != own).then(|| place.clone()));
                names::observe(&mut next, found);
            }
            out.push(next);
        }
    }
    out
}

/// For a statement that stores the success of a compare-exchange: the local for it, the local with
/// the expected value, and the call.
fn told(s: &Stmt) -> Option<(String, String, Expr)> {
    let (local, value) = set(s)?;
    let call = match &value.kind {
        ExprKind::Cond(call, ..) => call,
        _ => value,
    };
    let ExprKind::Call(function, args) = &call.kind else { return None };
    let ExprKind::Unary(UnaryOp::Addr, expected) = &args.get(1)?.kind else { return None };
    match &expected.kind {
        ExprKind::Name(expected) if function.starts_with("atomic_compare_exchange") => {
            Some((local, expected.clone(), call.clone()))
        }
        _ => None,
    }
}

/// The local that a statement sets, and the value.
fn set(s: &Stmt) -> Option<(String, &Expr)> {
    match &s.kind {
        StmtKind::Decl(list) => match &list[..] {
            [d] => Some((d.name.clone(), d.init.as_ref()?)),
            _ => None,
        },
        StmtKind::Expr(Expr { kind: ExprKind::Assign(None, to, value), .. }) => match &to.kind {
            ExprKind::Name(n) => Some((n.clone(), &**value)),
            _ => None,
        },
        _ => None,
    }
}

/// The local and the location of a statement that loads.
fn loaded(s: &Stmt) -> Option<(String, String)> {
    let (local, value) = set(s)?;
    let from = read_from(value)?;
    match &from.kind {
        ExprKind::Name(n) => Some((local, n.clone())),
        _ => None,
    }
}

/// The test in which a location that is always accessed through one cast gets the type of the cast.
fn without_casts(test: &Test, name: &str) -> Option<Test> {
    fn expr(e: &mut Expr, name: &str, found: &mut Vec<Option<(Type, u128)>>) {
        let is_it = |e: &Expr| matches!(&e.kind, ExprKind::Name(n) if n == name);
        let at = |e: &Expr| match &e.kind {
            _ if is_it(e) => Some(0),
            ExprKind::Binary(BinaryOp::Add, a, b) if is_it(a) => match &b.kind {
                ExprKind::Int(n) => Some(n.value),
                _ => None,
            },
            _ => None,
        };
        match &e.kind {
            ExprKind::Cast(to, inner) if matches!(to.bare(), Type::Pointer(_)) => {
                if let Some(at) = at(inner) {
                    found.push(Some((to.clone(), at)));
                    *e = Expr::name(name);
                    return;
                }
            }
            _ if is_it(e) => found.push(None),
            _ => {}
        }
        e.each_child_mut(&mut |e| expr(e, name, found));
    }
    let mut next = test.clone();
    let mut found = Vec::new();
    for f in next.threads.iter_mut().filter_map(Body::function_mut) {
        f.body.iter_mut().for_each(|s| s.each_expr_mut(&mut |e| expr(e, name, &mut found)));
    }
    let (to, _) = found.first().cloned().flatten()?;
    let one = found.iter().all(|other| *other == found[0]);
    let is_it = |place: &Place| matches!(place, Place::Mem { name: n, .. } if n == name);
    if !one || next.init.iter().any(|item| is_it(&item.place) && item.value.is_some()) {
        return None;
    }
    next.init.retain(|item| !is_it(&item.place));
    for f in next.threads.iter_mut().filter_map(Body::function_mut) {
        f.params.iter_mut().filter(|p| p.name == name).for_each(|p| p.ty = to.clone());
    }
    names::keep(&mut next, &|place| match place {
        Place::Mem { index: Some(_), .. } if is_it(place) => None,
        other => Some(other.clone()),
    });
    Some(next)
}

/// The test with a single object in place of an array, if every access is to the same element.
fn scalar(test: &Test, name: &str) -> Option<Test> {
    let mut next = test.clone();
    let mut at: Option<u128> = None;
    let mut one = true;
    fn expr(e: &mut Expr, name: &str, at: &mut Option<u128>, one: &mut bool) {
        let is_it = |e: &Expr| matches!(&e.kind, ExprKind::Name(n) if n == name);
        let element = match &e.kind {
            ExprKind::Binary(BinaryOp::Add, a, b) | ExprKind::Index(a, b) if is_it(a) => {
                match &b.kind {
                    ExprKind::Int(n) => Some(n.value),
                    _ => None,
                }
            }
            ExprKind::Name(n) if n == name => Some(0),
            _ => {
                e.each_child_mut(&mut |e| expr(e, name, at, one));
                return;
            }
        };
        *one &= element.is_some() && at.is_none_or(|known| Some(known) == element);
        *at = at.or(element);
        let whole = Expr::name(name);
        *e = match &e.kind {
            ExprKind::Index(..) => {
                Expr::new(ExprKind::Unary(UnaryOp::Deref, Box::new(whole)), Span::default())
            }
            _ => whole,
        };
    }
    for f in next.threads.iter_mut().filter_map(Body::function_mut) {
        f.body.iter_mut().for_each(|s| s.each_expr_mut(&mut |e| expr(e, name, &mut at, &mut one)));
    }
    let at = at.filter(|_| one)?;
    // A location without an initial value needs no declaration.
    let is_it = |place: &Place| matches!(place, Place::Mem { name: n, .. } if n == name);
    let holds = |value: &Option<InitValue>| match value {
        None => false,
        Some(InitValue::Array(list)) => !list.is_empty(),
        Some(InitValue::One(_)) => true,
    };
    if next.init.iter().any(|item| is_it(&item.place) && holds(&item.value)) {
        return None;
    }
    next.init.retain(|item| !is_it(&item.place));
    let moved = |place: &Place| match place {
        Place::Mem { name: n, index } if n == name => {
            let same = index.map_or(0, u128::from) == at;
            same.then(|| Place::Mem { name: n.clone(), index: None })
        }
        other => Some(other.clone()),
    };
    names::keep(&mut next, &moved);
    Some(next)
}
