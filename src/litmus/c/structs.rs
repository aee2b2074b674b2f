//! Structures and unions: their members, where these lie, and all that a test names.
//!
//! Members lie as the ABIs of 64-bit machines have it: each at the next multiple of its own size, an
//! array at that of its elements. It does not read text: the parser does.

use std::fmt::Write;
use std::sync::Arc;

use super::ast::{ExprKind, Function};
use super::print_declaration;
use super::types::size_of;
use crate::{Body, Test, Type};

/// A structure or a union, with its definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Struct {
    /// All members begin where it begins.
    pub is_union: bool,
    /// The name behind `struct` or `union`.
    pub tag: String,
    /// In order.
    pub members: Vec<Member>,
}

/// A member of a structure or a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type, with qualifiers.
    pub ty: Type,
}

impl Struct {
    /// As a type's name.
    pub fn name(&self) -> String {
        let word = if self.is_union { "union" } else { "struct" };
        format!("{word} {}", self.tag)
    }

    /// Where each member begins.
    fn places(&self) -> impl Iterator<Item = (u64, &Member)> {
        let mut end = 0u64;
        self.members.iter().map(move |m| {
            let at = if self.is_union { 0 } else { end.next_multiple_of(alignment(&m.ty)) };
            end = at + size_of(&m.ty).unwrap_or(0);
            (at, m)
        })
    }

    /// A member, and where it begins.
    pub fn member(&self, name: &str) -> Option<(u64, &Type)> {
        self.places().find(|(_, m)| m.name == name).map(|(at, m)| (at, &m.ty))
    }

    /// Its bytes, with those that align the next object of the type.
    pub fn size(&self) -> u64 {
        let ends = self.places().map(|(at, m)| at + size_of(&m.ty).unwrap_or(0));
        ends.max().unwrap_or(0).next_multiple_of(self.alignment())
    }

    /// The type that it has where its members are not known: an array of bytes.
    pub fn bytes(&self) -> Type {
        Type::Array(Arc::new(Type::Int { bytes: 1, signed: false }), self.size())
    }

    fn alignment(&self) -> u64 {
        self.members.iter().map(|m| alignment(&m.ty)).max().unwrap_or(1)
    }

    /// Its values: where each begins, its type, and its name from here. Of a union, those of every
    /// member.
    pub fn values(&self) -> Vec<(u64, Type, String)> {
        let mut out = Vec::new();
        for (at, m) in self.places() {
            values(at, &m.ty, &m.name, &mut out);
        }
        out
    }

    /// Whether some value in it satisfies a predicate on its type, or a structure in it does.
    pub fn any(&self, f: &dyn Fn(&Type) -> bool) -> bool {
        self.members.iter().any(|m| f(&m.ty) || within(&m.ty).is_some_and(|s| s.any(f)))
    }

    /// The definition, with its types as `spell` has them.
    pub fn definition(&self, spell: &dyn Fn(&Type) -> Type) -> String {
        let mut out = format!("{} {{", self.name());
        for m in &self.members {
            let _ = write!(out, " {};", print_declaration(&spell(&m.ty), &m.name));
        }
        out.push_str(" };\n");
        out
    }
}

fn values(at: u64, ty: &Type, name: &str, out: &mut Vec<(u64, Type, String)>) {
    match ty.bare() {
        Type::Struct(s) => {
            let inner = s.values();
            out.extend(inner.into_iter().map(|(o, t, n)| (at + o, t, format!("{name}.{n}"))));
        }
        Type::Array(of, n) => {
            let size = size_of(of).unwrap_or(0);
            for i in 0..*n {
                values(at + i * size, of, &format!("{name}[{i}]"), out);
            }
        }
        _ => out.push((at, ty.clone(), name.to_string())),
    }
}

/// The number of values in an object.
pub fn count(ty: &Type) -> usize {
    let mut out = Vec::new();
    values(0, ty, "", &mut out);
    out.len()
}

/// Objects of a type begin at a multiple of this.
fn alignment(ty: &Type) -> u64 {
    match ty.bare() {
        Type::Struct(s) => s.alignment(),
        Type::Array(of, _) => alignment(of),
        ty => size_of(ty).unwrap_or(1).max(1),
    }
}

/// The structure that a type is made of.
fn within(ty: &Type) -> Option<&Arc<Struct>> {
    match ty.bare() {
        Type::Struct(s) => Some(s),
        Type::Pointer(of) | Type::Array(of, _) => within(of),
        _ => None,
    }
}

/// The structures that a test names, each behind those that it is made of.
pub fn structs(test: &Test) -> Vec<Arc<Struct>> {
    let mut out = Vec::new();
    for item in &test.init {
        item.ty.iter().for_each(|ty| add(ty, &mut out));
    }
    for f in &test.helpers {
        function(f, &mut out);
    }
    for f in test.threads.iter().filter_map(Body::function) {
        function(f, &mut out);
    }
    out
}

fn add(ty: &Type, out: &mut Vec<Arc<Struct>>) {
    let Some(s) = within(ty) else { return };
    if out.iter().any(|o| o == s) {
        return;
    }
    s.members.iter().for_each(|m| add(&m.ty, out));
    out.push(s.clone());
}

fn function(f: &Function, out: &mut Vec<Arc<Struct>>) {
    add(&f.ret, out);
    f.params.iter().for_each(|p| add(&p.ty, out));
    f.each_declarator(&mut |d, _| add(&d.ty, out));
    f.each_expr(&mut |e| {
        e.any(&mut |e| {
            if let ExprKind::Cast(ty, _) | ExprKind::SizeofType(ty) = &e.kind {
                add(ty, out);
            }
            false
        });
    });
}

/// Gives the names of structures in a test their definitions.
pub fn define(ty: &mut Type, known: &[Arc<Struct>]) {
    match ty {
        Type::Named(name) => {
            if let Some(s) = known.iter().find(|s| s.name() == *name) {
                *ty = Type::Struct(s.clone());
            }
        }
        Type::Pointer(t)
        | Type::Array(t, _)
        | Type::Atomic(t)
        | Type::Const(t)
        | Type::Volatile(t)
        | Type::Restrict(t) => define(Arc::make_mut(t), known),
        Type::Int { .. } | Type::Float { .. } | Type::Void | Type::Struct(_) => {}
    }
}
