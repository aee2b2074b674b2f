//! Finds the names that a test declares and uses, and removes those that nothing uses.
//!
//! It does not know why a test is reduced.

use std::collections::HashSet;

use litmake_litmus::c::ast::{Expr, ExprKind, Function};
use litmake_litmus::{self as litmus, Body, CmpOp, Operand, Place, Prop, Test, Type, Value};

/// Maps the observed places of a test; a place that `f` maps to `None` is not observed any more.
pub fn keep(test: &mut Test, f: &dyn Fn(&Place) -> Option<Place>) {
    test.locations.retain_mut(|o| f(&o.place).map(|p| o.place = p).is_some());
    test.condition.prop = kept(&test.condition.prop, f).unwrap_or(Prop::True);
    test.filter = test.filter.as_ref().and_then(|p| kept(p, f));
}

fn kept(prop: &Prop, f: &dyn Fn(&Place) -> Option<Place>) -> Option<Prop> {
    let all = |list: &[Prop]| -> Vec<Prop> { list.iter().filter_map(|p| kept(p, f)).collect() };
    Some(match prop {
        Prop::True | Prop::False => prop.clone(),
        Prop::Cmp(place, op, operand) => {
            let operand = match operand {
                Operand::Place(p) => Operand::Place(f(p)?),
                other => other.clone(),
            };
            Prop::Cmp(f(place)?, *op, operand)
        }
        Prop::Not(p) => Prop::Not(Box::new(kept(p, f)?)),
        Prop::And(list) => match all(list) {
            none if none.is_empty() => return None,
            some => litmus::and(some),
        },
        Prop::Or(list) => match all(list) {
            none if none.is_empty() => return None,
            some => litmus::or(some),
        },
        Prop::Implies(a, b) => Prop::Implies(Box::new(kept(a, f)?), Box::new(kept(b, f)?)),
    })
}

/// The locals of each thread, with its parameters.
pub fn declared(test: &Test) -> Vec<HashSet<String>> {
    let names = |body: &Body| {
        let mut out = HashSet::new();
        if let Body::C(f) = body {
            out.extend(f.params.iter().map(|p| p.name.clone()));
            f.each_declarator(&mut |d, _| {
                out.insert(d.name.clone());
            });
        }
        out
    };
    test.threads.iter().map(names).collect()
}

fn used(f: &Function, out: &mut HashSet<String>) {
    fn walk(e: &Expr, out: &mut HashSet<String>) {
        match &e.kind {
            ExprKind::Name(n) => {
                out.insert(n.clone());
            }
            ExprKind::Call(n, _) => {
                out.insert(n.clone());
            }
            _ => {}
        }
        e.children().into_iter().for_each(|c| walk(c, out));
    }
    f.each_expr(&mut |e| walk(e, out));
}

/// Adds the names that the named helpers use; helpers may call helpers.
fn with_helpers(test: &Test, names: &mut HashSet<String>) {
    loop {
        let before = names.len();
        for helper in &test.helpers {
            if names.contains(&helper.name) {
                used(helper, names);
            }
        }
        if names.len() == before {
            break;
        }
    }
}

/// Removes the helpers that no thread calls, directly or through other helpers.
pub fn only_called(test: &mut Test) {
    let mut names = HashSet::new();
    for f in test.threads.iter().filter_map(Body::function) {
        used(f, &mut names);
    }
    with_helpers(test, &mut names);
    test.helpers.retain(|h| names.contains(&h.name));
}

/// The test without unused parameters, helpers and locations, and without its description and info
/// lines, which were about the original test.
pub fn tidy(test: &Test) -> Test {
    let mut out = test.clone();
    out.doc = None;
    out.info.clear();
    let mut places: HashSet<String> = HashSet::new();
    for place in test.shown() {
        if let Place::Mem { name, .. } = place {
            places.insert(name);
        }
    }
    let mut called = HashSet::new();
    for body in &mut out.threads {
        let Body::C(f) = body else { return test.clone() };
        let mut names = HashSet::new();
        used(f, &mut names);
        f.params.retain(|p| names.contains(&p.name));
        places.extend(f.params.iter().map(|p| p.name.clone()));
        called.extend(names);
    }
    with_helpers(&out, &mut called);
    out.helpers.retain(|h| called.contains(&h.name));
    for item in &test.init {
        // A location whose address is stored can be used where the address is read.
        if let Some(litmus::InitValue::One(litmus::Value::Addr { name, .. })) = &item.value {
            places.insert(name.clone());
        }
    }
    out.init.retain(|i| match &i.place {
        // Memory is 0 initially, so the initial value 0 need not be stated.
        Place::Mem { .. }
            if i.ty.is_none() && i.value == Some(litmus::InitValue::One(litmus::Value::Int(0))) =>
        {
            false
        }
        Place::Mem { name, .. } => places.contains(name) || called.contains(name),
        Place::Reg { .. } => true,
    });
    out
}

/// Makes the condition name another place, so that its value is observed.
pub fn observe(test: &mut Test, place: Place) {
    if test.shown().contains(&place) {
        return;
    }
    let seen = Prop::Cmp(place, CmpOp::Eq, Operand::Value(Value::Int(1)));
    test.condition.prop = match std::mem::replace(&mut test.condition.prop, Prop::True) {
        Prop::True => seen,
        before => litmus::and(vec![before, seen]),
    };
}

/// Observes all locals of threads that are integers.
pub fn observe_locals(test: &mut Test) {
    let mut places = Vec::new();
    for (thread, body) in test.threads.iter().enumerate() {
        if let Body::C(f) = body {
            f.each_declarator(&mut |d, _| {
                if matches!(d.ty.bare(), Type::Int { .. }) {
                    places.push(Place::Reg { thread, name: d.name.clone() });
                }
            });
        }
    }
    places.into_iter().for_each(|place| observe(test, place));
}
