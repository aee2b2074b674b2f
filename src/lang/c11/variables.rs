//! The shared locations that functions name directly, as programs name variables at file scope.
//!
//! It does not know how a variable is emitted, nor where a compiler puts it.

use std::collections::BTreeSet;

use litmake_litmus::c::ast::ExprKind;
use litmake_litmus::{Place, Prop, Test, Type};

/// The variables of a test with their types: locations that the initial state declares with a type,
/// that some function names, and whose name no function declares. In a function such a name is the object
/// itself, and all threads mean the same object.
pub fn variables(test: &Test) -> Vec<(String, Type)> {
    let typed = test.init.iter().filter_map(|item| match (&item.place, &item.ty) {
        (Place::Mem { name, index: None }, Some(ty)) => Some((name, ty)),
        _ => None,
    });
    let mut typed: Vec<(&String, &Type)> = typed.collect();
    if typed.is_empty() {
        return Vec::new();
    }
    let (mut named, mut declared) = (BTreeSet::new(), BTreeSet::new());
    for f in test.functions() {
        declared.extend(f.params.iter().map(|p| p.name.as_str()));
        f.each_declarator(&mut |d, _| {
            declared.insert(d.name.as_str());
        });
        f.each_expr(&mut |e| {
            e.any(&mut |e| {
                if let ExprKind::Name(n) = &e.kind {
                    named.insert(n.as_str());
                }
                false
            });
        });
    }
    typed.retain(|(name, _)| named.contains(name.as_str()) && !declared.contains(name.as_str()));
    typed.into_iter().map(|(name, ty)| (name.clone(), ty.clone())).collect()
}

/// Whether a test looks at the final value of a location, so that code outside its functions reads it.
pub fn is_observed(test: &Test, location: &str) -> bool {
    let filtered = test.filter.iter().flat_map(Prop::places);
    let mut places = test.shown().into_iter().chain(filtered.cloned());
    places.any(|p| matches!(p, Place::Mem { name, .. } if name == location))
}
