//! Reduces structures: removes and simplifies members, and makes members locations of their own.
//!
//! It does not know which of the tests still show the difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use litmake_base::diag::{Source, Span};
use litmake_litmus::c::ast::{Expr, ExprKind, Param, UnaryOp};
use litmake_litmus::c::structs::{Member, Struct, structs};
use litmake_litmus::c::types::qualify;
use litmake_litmus::{self as litmus, Body, InitItem, Place, Test, Type};

use super::reach::each_body;
use super::types::{functions, plain, unqualified};

/// Tests without the members that no expression names: without all of them, and without each.
pub fn fewer(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    for s in structs(test) {
        let unnamed: Vec<&Member> = s.members.iter().filter(|m| !is_named(test, &m.name)).collect();
        let without = |gone: &dyn Fn(&Member) -> bool| {
            let left = s.members.iter().filter(|m| !gone(m)).cloned().collect();
            with_members(test, &s, left)
        };
        out.extend(without(&|m| unnamed.contains(&m)));
        if unnamed.len() > 1 {
            out.extend(unnamed.iter().filter_map(|one| without(&|m| m == *one)));
        }
    }
    out
}

/// Tests with simpler types of members, or with the members of a location as locations.
pub fn simpler(test: &Test) -> Vec<Test> {
    let mut out = Vec::new();
    for s in structs(test) {
        let all = |f: &dyn Fn(&Type) -> Type| -> Vec<Member> {
            s.members.iter().map(|m| Member { name: m.name.clone(), ty: f(&m.ty) }).collect()
        };
        out.extend(with_members(test, &s, all(&plain)));
        out.extend(with_members(test, &s, all(&unqualified)));
        for at in 0..s.members.len() {
            let mut members = s.members.clone();
            members[at].ty = plain(&members[at].ty);
            out.extend(with_members(test, &s, members));
        }
    }
    let mut names: Vec<&str> = functions(test).flat_map(|f| &f.params).map(|p| &*p.name).collect();
    names.sort_unstable();
    names.dedup();
    out.extend(names.iter().filter_map(|name| apart(test, name)));
    out
}

fn is_named(test: &Test, member: &str) -> bool {
    let mut found = false;
    for f in functions(test).chain(&test.helpers) {
        f.each_expr(&mut |e| {
            found |=
                e.any(&mut |e| matches!(&e.kind, ExprKind::Member { name, .. } if name == member));
        });
    }
    found
}

/// The test with other members of a structure.
fn with_members(test: &Test, of: &Struct, members: Vec<Member>) -> Option<Test> {
    if members.is_empty() || members == of.members {
        return None;
    }
    let new = Struct { members, ..of.clone() };
    let definition = |s: &Struct| s.definition(&|ty| ty.clone());
    // Members are listed in the definition only.
    let text = litmus::write(test).replacen(&definition(of), &definition(&new), 1);
    litmus::read(&Source::new(test.source.name.clone(), text)).ok()
}

/// The test in which the used members of a location are locations themselves.
fn apart(test: &Test, name: &str) -> Option<Test> {
    let param = functions(test).flat_map(|f| &f.params).find(|p| p.name == name)?;
    let Type::Pointer(object) = param.ty.bare() else { return None };
    let Type::Struct(of) = object.bare() else { return None };
    let types: BTreeMap<String, Type> = of
        .members
        .iter()
        .map(|m| {
            let ty = qualify(m.ty.clone(), object.is_const(), object.is_volatile(), false);
            (m.name.clone(), ty)
        })
        .collect();
    let own = |member: &str| format!("{name}_{member}");
    let mut out = test.clone();
    let mut used: Vec<String> = Vec::new();
    let mut whole = false;
    each_body(&mut out, &mut |body| {
        for s in body {
            s.each_expr_mut(&mut |e| {
                e.bottom_up(&mut |e| member(e, name, &types, &own, &mut used));
                whole |= e.any(&mut |e| matches!(&e.kind, ExprKind::Name(n) if n == name));
            });
        }
    });
    used.sort();
    used.dedup();
    // Members of a union share their bytes, so they cannot become separate locations.
    if whole || used.is_empty() || of.is_union && used.len() > 1 {
        return None;
    }
    for body in &mut out.threads {
        let Body::C(f) = body else { return None };
        let Some(at) = f.params.iter().position(|p| p.name == name) else { continue };
        let old = f.params.remove(at);
        for member in used.iter().rev() {
            let ty = match types[member].bare() {
                Type::Array(element, _) => (**element).clone(),
                _ => types[member].clone(),
            };
            let ty = Type::Pointer(Arc::new(ty));
            f.params.insert(at, Param { name: own(member), ty, ..old.clone() });
        }
    }
    let is_it = |i: &InitItem| matches!(&i.place, Place::Mem { name: n, .. } if n == name);
    out.init.retain(|i| !is_it(i));
    for member in &used {
        out.init.push(InitItem {
            place: Place::Mem { name: own(member), index: None },
            ty: Some(types[member].clone()),
            value: None,
            span: Span::default(),
        });
    }
    Some(out)
}

/// Replaces an access of a member by an access of its location.
fn member(
    e: &mut Expr,
    of: &str,
    types: &BTreeMap<String, Type>,
    own: &dyn Fn(&str) -> String,
    used: &mut Vec<String>,
) {
    match &e.kind {
        ExprKind::Member { base, arrow: true, name } => {
            let is_of = matches!(&base.kind, ExprKind::Name(n) if n == of);
            let Some(ty) = types.get(name).filter(|_| is_of) else { return };
            used.push(name.clone());
            let location = Expr::name(&own(name));
            *e = match ty.bare() {
                Type::Array(..) => location,
                _ => Expr::new(ExprKind::Unary(UnaryOp::Deref, Box::new(location)), e.span),
            };
        }
        // `&*p` is `p`.
        ExprKind::Unary(UnaryOp::Addr, to) => {
            if let ExprKind::Unary(UnaryOp::Deref, pointer) = &to.kind {
                *e = (**pointer).clone();
            }
        }
        _ => {}
    }
}
