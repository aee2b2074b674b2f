//! The normal form of a C test: equal for tests that differ only in names, in the order of threads,
//! or in the order of declarations.
//!
//! It changes nothing that a compiler or a model could observe.

use std::collections::{HashMap, HashSet};

use litmake_litmus::c::ast::{Expr, ExprKind, Function, Param, PartMut, Stmt, StmtKind};
use litmake_litmus::{
    self as litmus, Body, InitValue, Operand, Place, Prop, Test, Type, Value, canon,
};

use super::read_again;

/// With more threads, only the given order is tried.
const MAX_THREADS: usize = 5;

/// The name of all reduced tests, because their names carry no information.
const NAME: &str = "reduced";

/// The normal form, or the test itself if its names cannot be changed.
pub fn normal(test: &Test) -> Test {
    let mut best: Option<(String, Test)> = None;
    let n = test.threads.len();
    let all: Vec<usize> = (0..n).collect();
    let orders = if n <= MAX_THREADS { permutations(&all) } else { vec![all] };
    for order in orders {
        let Some(next) = renamed(test, &order).and_then(|t| read_again(&t)) else { continue };
        let text = canon::canonical_text(&next);
        if best.as_ref().is_none_or(|(least, _)| text < *least) {
            best = Some((text, next));
        }
    }
    best.map_or_else(|| test.clone(), |(_, test)| test)
}

/// All permutations of some numbers.
pub fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut out = Vec::new();
    for (i, first) in of.iter().enumerate() {
        let rest: Vec<usize> = [&of[..i], &of[i + 1..]].concat();
        out.extend(permutations(&rest).into_iter().map(|p| [&[*first], &p[..]].concat()));
    }
    out
}

/// The new names of locations, given in the order of their use.
#[derive(Default)]
struct Names {
    new: HashMap<String, String>,
}

impl Names {
    fn of(&mut self, old: &str) -> String {
        let n = self.new.len();
        let letters = ["x", "y", "z"];
        let make = || letters.get(n).map_or_else(|| format!("x{n}"), ToString::to_string);
        self.new.entry(old.to_string()).or_insert_with(make).clone()
    }
}

/// The names in a function, in the order of their use.
fn named(f: &Function) -> Vec<String> {
    fn walk(e: &Expr, out: &mut Vec<String>) {
        if let ExprKind::Name(name) = &e.kind {
            out.push(name.clone());
        }
        e.children().into_iter().for_each(|c| walk(c, out));
    }
    let mut out = Vec::new();
    f.each_expr(&mut |e| walk(e, &mut out));
    out
}

/// Puts declarations of constants first, in the order in which they are used: neither the place where
/// a constant is assigned to a local nor the order of such declarations matters.
fn put_constants_first(f: &mut Function) {
    let (mut constants, rest): (Vec<Stmt>, Vec<Stmt>) =
        std::mem::take(&mut f.body).into_iter().partition(is_constant);
    f.body = rest;
    let named = named(f);
    constants.sort_by_key(|s| match &s.kind {
        StmtKind::Decl(list) => {
            let first = |name: &str| named.iter().position(|n| n == name);
            list.iter().map(|d| first(&d.name).unwrap_or(named.len())).min()
        }
        _ => None,
    });
    f.body.splice(0..0, constants);
}

/// The test with renamed places and with its threads in another order: new thread `i` is old thread
/// `order[i]`.
fn renamed(test: &Test, order: &[usize]) -> Option<Test> {
    let mut out = test.clone();
    out.name = NAME.to_string();
    out.doc = None;
    out.threads = order.iter().map(|t| test.threads[*t].clone()).collect();
    out.scopes = test.scopes.as_ref().map(|s| s.of(order));
    let mut places = Names::default();
    let mut locals: Vec<HashMap<String, String>> = vec![HashMap::new(); order.len()];
    for (t, body) in out.threads.iter_mut().enumerate() {
        let Body::C(f) = body else { return None };
        f.name = format!("P{t}");
        put_constants_first(f);
        let mut shadowed = false;
        let mut declared: HashSet<String> = HashSet::new();
        f.each_declarator(&mut |d, _| {
            declared.insert(d.name.clone());
            shadowed |= f.params.iter().any(|p| p.name == d.name)
                || test.helpers.iter().any(|h| h.name == d.name);
        });
        let is_shared = |p: &Param| matches!(p.ty.bare(), litmus::Type::Pointer(_));
        if shadowed || !f.params.iter().all(is_shared) {
            return None;
        }
        let params: Vec<String> = f.params.iter().map(|p| p.name.clone()).collect();
        let own = &mut locals[t];
        let mut rename = |name: &str| -> Option<String> {
            if params.iter().any(|p| p == name) {
                return Some(places.of(name));
            }
            let free = format!("r{}", own.len());
            declared.contains(name).then(|| own.entry(name.to_string()).or_insert(free).clone())
        };
        f.body.iter_mut().for_each(|s| self::rename(s, &mut rename));
        for p in &mut f.params {
            p.name = places.of(&p.name);
        }
        f.params.sort_by(|a, b| a.name.cmp(&b.name));
    }
    // Locations that are no thread's parameter come last.
    let kept = test.init.iter().map(|i| i.place.clone());
    let filtered = test.filter.iter().flat_map(|p| p.places()).cloned();
    for place in kept.chain(test.shown()).chain(filtered) {
        if let Place::Mem { name, .. } = place {
            places.of(&name);
        }
    }
    let place = |p: &Place| match p {
        Place::Mem { name, index } => {
            Some(Place::Mem { name: places.new.get(name)?.clone(), index: *index })
        }
        Place::Reg { thread, name } => {
            let now = order.iter().position(|t| t == thread)?;
            Some(Place::Reg { thread: now, name: locals[now].get(name)?.clone() })
        }
    };
    let value = |v: &Value| match v {
        Value::Addr { name, index } => {
            let name = places.new.get(name).cloned().unwrap_or_else(|| name.clone());
            Value::Addr { name, index: *index }
        }
        v => v.clone(),
    };
    for item in &mut out.init {
        item.place = place(&item.place)?;
        match &mut item.value {
            Some(InitValue::One(v)) => *v = value(v),
            Some(InitValue::Array(list)) => list.iter_mut().for_each(|v| *v = value(v)),
            None => {}
        }
    }
    // A thread's parameter says the type of a location, and a location is 0 where nothing else is said.
    for item in &mut out.init {
        let Place::Mem { name, index: None } = &item.place else { continue };
        let is_said = |f: &Function| {
            let same = |ty: &Type, p: &Param| p.name == *name && same_memory(ty, &p.ty);
            item.ty.as_ref().is_some_and(|ty| f.params.iter().any(|p| same(ty, p)))
        };
        if out.threads.iter().filter_map(Body::function).any(is_said) {
            item.ty = None;
            item.value.get_or_insert(InitValue::One(Value::Int(0)));
        }
    }
    let is_param = |name: &str| {
        let mut all = out.threads.iter().filter_map(Body::function).flat_map(|f| &f.params);
        all.any(|p| p.name == *name)
    };
    out.init.retain(|item| match &item.place {
        Place::Mem { name, index: None } if item.ty.is_none() => {
            item.value != Some(InitValue::One(Value::Int(0))) || !is_param(name)
        }
        _ => true,
    });
    out.init.sort_by(|a, b| a.place.cmp(&b.place));
    for observed in &mut out.locations {
        observed.place = place(&observed.place)?;
    }
    out.locations.sort_by(|a, b| a.place.cmp(&b.place));
    out.condition.prop = prop(&out.condition.prop, &place, &value)?;
    if let Some(filter) = &out.filter {
        out.filter = Some(prop(filter, &place, &value)?);
    }
    Some(out)
}

/// Whether a location of type `ty` is what a pointer points to, apart from qualifiers.
fn same_memory(ty: &Type, pointer: &Type) -> bool {
    let number = |ty: &Type| match ty.bare() {
        Type::Int { .. } => Some(ty.bare().clone()),
        _ => None,
    };
    match pointer.bare() {
        Type::Pointer(to) => number(ty).is_some() && number(ty) == number(to),
        _ => false,
    }
}

/// The proposition with other names, and its parts sorted.
fn prop(
    p: &Prop,
    place: &dyn Fn(&Place) -> Option<Place>,
    value: &dyn Fn(&Value) -> Value,
) -> Option<Prop> {
    let all = |list: &[Prop]| -> Option<Vec<Prop>> {
        let mut out: Vec<Prop> =
            list.iter().map(|p| prop(p, place, value)).collect::<Option<_>>()?;
        out.sort_by_cached_key(litmus::prop_source);
        Some(out)
    };
    Some(match p {
        Prop::True | Prop::False => p.clone(),
        Prop::Cmp(at, op, operand) => {
            let operand = match operand {
                Operand::Value(v) => Operand::Value(value(v)),
                Operand::Array(list) => Operand::Array(list.iter().map(value).collect()),
                Operand::Place(p) => Operand::Place(place(p)?),
            };
            Prop::Cmp(place(at)?, *op, operand)
        }
        Prop::Not(p) => Prop::Not(Box::new(prop(p, place, value)?)),
        Prop::And(list) => Prop::And(all(list)?),
        Prop::Or(list) => Prop::Or(all(list)?),
        Prop::Implies(a, b) => {
            Prop::Implies(Box::new(prop(a, place, value)?), Box::new(prop(b, place, value)?))
        }
    })
}

type Rename<'a> = &'a mut dyn FnMut(&str) -> Option<String>;

/// Renames the names that a statement uses and declares.
pub fn rename(s: &mut Stmt, rename: Rename) {
    if let StmtKind::Decl(list) = &mut s.kind {
        for d in list {
            if let Some(e) = &mut d.init {
                expr(e, rename);
            }
            d.name = rename(&d.name).unwrap_or_else(|| d.name.clone());
        }
        return;
    }
    s.each_part_mut(&mut |part| match part {
        PartMut::Expr(e) => expr(e, rename),
        PartMut::Stmt(s) => self::rename(s, rename),
    });
}

fn expr(e: &mut Expr, rename: Rename) {
    if let ExprKind::Name(n) = &mut e.kind {
        if let Some(new) = rename(n) {
            *n = new;
        }
        return;
    }
    e.each_child_mut(&mut |e| expr(e, rename));
}

/// Whether a statement only declares variables with constant values.
pub fn is_constant(s: &Stmt) -> bool {
    let holds = |e: &Expr| matches!(e.kind, ExprKind::Int(_));
    match &s.kind {
        StmtKind::Decl(list) => list.iter().all(|d| d.init.as_ref().is_some_and(holds)),
        _ => false,
    }
}

/// The number of times that a function uses a name.
pub fn uses(f: &Function, name: &str) -> usize {
    fn count(e: &Expr, name: &str) -> usize {
        let here = matches!(&e.kind, ExprKind::Name(n) if n == name);
        usize::from(here) + e.children().into_iter().map(|c| count(c, name)).sum::<usize>()
    }
    let mut out = 0;
    f.each_expr(&mut |e| out += count(e, name));
    out
}
