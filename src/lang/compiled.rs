//! Makes tests of machine code that ask the questions of the C tests that they were compiled from: the
//! places of locals, the locations, and the condition.
//!
//! It does not know the code of their threads, nor compilers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::c11::emit::shared_locations;
use litmake_base::diag::{Source, Span};
use litmake_base::failure::Failure;
use litmake_litmus::c::types::{opaque, size_of};
use litmake_litmus::scopes::Scopes;
use litmake_litmus::{
    self as litmus, Arch, Body, Condition, InitItem, Observed, Operand, Place, Prop, Test, Type,
};

/// The info line that says where a compiled test keeps the locals of its source.
pub const MAP: &str = "Locals";

/// The info line with the locations that the source only reads and the code writes: if they are in
/// read-only memory, the code crashes.
pub const FAULTS: &str = "Faults";

/// The info line that says that the test has a location for the lock of a library.
pub const LOCKS: &str = "Locks";

/// For each location that holds a local, the name of the local.
pub fn locals(test: &Test) -> BTreeMap<String, String> {
    let line = test.info.iter().find(|(k, _)| k == MAP);
    line.into_iter()
        .flat_map(|(_, v)| v.split_whitespace())
        .filter_map(|pair| pair.rsplit_once('='))
        .map(|(local, place)| (place.to_string(), local.to_string()))
        .collect()
}

/// The name of the location that a local ends up in.
pub fn out_name(function: &str, local: &str) -> String {
    format!("out_{function}_{local}")
}

/// The location that is the lock of another.
pub fn lock_of(location: &str) -> String {
    format!("{PREFIX}{location}")
}

const PREFIX: &str = "libat_lock_";

/// Whether a location is a lock.
pub fn is_lock(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The location whose lock this is.
pub fn locked_by(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// The part of a compiled test's initial state that its source determines: its locations, with types
/// without qualifiers. `_Atomic`, `const` and `volatile` matter to a compiler only; tools that read tests
/// of machine code know sizes alone.
pub fn locations(test: &Test) -> Vec<InitItem> {
    let mut init: Vec<InitItem> =
        test.init.iter().filter(|i| matches!(i.place, Place::Mem { .. })).cloned().collect();
    for item in &mut init {
        item.ty = item.ty.as_ref().map(unqualified);
    }
    for (name, ty) in shared_locations(test) {
        let is_opaque = matches!(ty.bare(), Type::Named(_));
        let ty = if is_opaque { unqualified(&ty) } else { ty.bare().clone() };
        declare(&mut init, &name, ty);
    }
    init
}

fn unqualified(ty: &Type) -> Type {
    match ty.bare() {
        Type::Array(element, n) => Type::Array(Arc::new(unqualified(element)), *n),
        Type::Pointer(to) => Type::Pointer(Arc::new(unqualified(to))),
        Type::Named(name) => match opaque(name) {
            Some(bytes) => Type::Int { bytes, signed: true },
            None => Type::Named(name.clone()),
        },
        ty => as_bits(ty),
    }
}

/// The integer type that holds the bits of a floating-point type.
fn as_bits(ty: &Type) -> Type {
    match ty {
        Type::Float { bytes } => Type::Int { bytes: *bytes, signed: false },
        // Of a structure, code knows the bytes.
        Type::Struct(s) => s.bytes(),
        Type::Array(element, n) => Type::Array(Arc::new(as_bits(element)), *n),
        ty => ty.clone(),
    }
}

/// Which locals of its source a compiled test has.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    /// The locals that it has: thread, name, and the location or the register (`0:X0`).
    In(&'a [(usize, String, String)]),
    /// None: the test observes shared locations only.
    Nothing,
}

/// The value of [`MAP`] if no local is kept.
const NOTHING: &str = "none";

/// Whether a compiled test says that it keeps no local.
pub fn keeps_nothing(test: &Test) -> bool {
    test.info.iter().any(|(k, v)| k == MAP && v == NOTHING)
}

/// A test of machine code with the questions of its source, read from its own text: a test that is printed
/// must be readable.
pub fn compose(
    test: &Test,
    arch: Arch,
    kept: Kept,
    init: Vec<InitItem>,
    threads: Vec<Body>,
) -> Result<Test, Failure> {
    let text = litmus::write(&composed(test, arch, kept, init, threads)?);
    let mut read = litmus::read(&Source::new(format!("{} (lifted)", test.name), text))?;
    read.doc = None;
    Ok(read)
}

/// As [`compose`], from parts that are read already.
pub fn composed(
    test: &Test,
    arch: Arch,
    kept: Kept,
    init: Vec<InitItem>,
    threads: Vec<Body>,
) -> Result<Test, Failure> {
    let shared;
    let (test, locals, map) = match kept {
        Kept::In(locals) => {
            let map: Vec<String> = locals.iter().map(|(t, l, n)| format!("{t}:{l}={n}")).collect();
            (test, locals, map.join(" "))
        }
        Kept::Nothing => {
            shared = shared_alone(test)?;
            (&shared, &[][..], NOTHING.to_string())
        }
    };
    let rename = |p: &Place| rename(p, locals);
    // Everything that the source shows is shown by the target too.
    let shown = test.shown().into_iter().map(|place| rename(&place)).collect();
    let mut out = Test {
        info: vec![(MAP.to_string(), map.clone())],
        scopes: test.scopes.clone().or_else(|| places(arch, test.threads.len())),
        filter: test.filter.as_ref().map(|f| renamed(f, &rename)),
        condition: Condition {
            quantifier: test.condition.quantifier,
            prop: renamed(&test.condition.prop, &rename),
            span: Span::default(),
        },
        ..Test::of_code(arch, test.name.clone(), init, threads, shown)
    };
    if map.is_empty() {
        out.info.clear();
    }
    if out.init.iter().any(|i| matches!(&i.place, Place::Mem { name, .. } if is_lock(name))) {
        out.info.push((LOCKS.to_string(), "spin locks stand for those of libatomic".to_string()));
    }
    Ok(out)
}

/// A test that observes shared locations only. Each statement of its condition about a local may be true or
/// false.
fn shared_alone(test: &Test) -> Result<Test, Failure> {
    let is_local = |p: &Place| matches!(p, Place::Reg { .. });
    if let Some(local) = test.filter.iter().flat_map(Prop::places).find(|p| is_local(p)) {
        return Err(Failure::unsupported(format!(
            "with `observe: none` locals are not kept, and the test's `filter` asks for `{local}`"
        )));
    }
    let mut out = test.clone();
    // What the condition no longer names is compared nevertheless.
    let shown = test.shown().into_iter().filter(|p| !is_local(p));
    out.locations =
        shown.map(|place| Observed { place, ty: None, span: Span::default() }).collect();
    out.condition.prop = without(&test.condition.prop, &is_local, true);
    Ok(out)
}

/// A proposition without the places that are `gone`. With `can`, it holds wherever some values of those
/// would make the whole hold; without, only where all values would.
fn without(prop: &Prop, gone: &dyn Fn(&Place) -> bool, can: bool) -> Prop {
    match prop {
        Prop::Cmp(place, _, operand) => {
            let other = matches!(operand, Operand::Place(p) if gone(p));
            match (gone(place) || other, can) {
                (false, _) => prop.clone(),
                (true, true) => Prop::True,
                (true, false) => Prop::False,
            }
        }
        Prop::True | Prop::False => prop.clone(),
        Prop::Not(p) => match without(p, gone, !can) {
            Prop::True => Prop::False,
            Prop::False => Prop::True,
            p => Prop::Not(Box::new(p)),
        },
        Prop::And(list) => joined(list.iter().map(|p| without(p, gone, can)), true),
        Prop::Or(list) => joined(list.iter().map(|p| without(p, gone, can)), false),
        Prop::Implies(a, b) => match (without(a, gone, !can), without(b, gone, can)) {
            (Prop::False, _) | (_, Prop::True) => Prop::True,
            (Prop::True, b) => b,
            (a, b) => Prop::Implies(Box::new(a), Box::new(b)),
        },
    }
}

/// A conjunction (`all`) or a disjunction, without the members that never decide it.
fn joined(props: impl Iterator<Item = Prop>, all: bool) -> Prop {
    let (idle, decides) = if all { (Prop::True, Prop::False) } else { (Prop::False, Prop::True) };
    let mut left: Vec<Prop> = props.filter(|p| *p != idle).collect();
    match left.len() {
        0 => idle,
        1 => left.remove(0),
        _ if left.contains(&decides) => decides,
        _ if all => Prop::And(left),
        _ => Prop::Or(left),
    }
}

/// The scopes of threads if the test gives none. C has one scope, that of the system, so its threads may be
/// on different devices.
fn places(arch: Arch, threads: usize) -> Option<Scopes> {
    matches!(arch, Arch::Ptx | Arch::AmdGcn).then(|| Scopes::far(threads))
}

/// The type that a location is declared with.
fn type_of<'i>(init: &'i [InitItem], name: &str) -> Option<&'i Type> {
    let named = |i: &&InitItem| matches!(&i.place, Place::Mem { name: n, .. } if n == name);
    init.iter().find(named)?.ty.as_ref().map(Type::bare)
}

/// The bytes of a location's value, or of an element if it is an array; 0 if they are not known.
pub fn unit_of(init: &[InitItem], name: &str) -> u64 {
    let mut ty = type_of(init, name);
    while let Some(Type::Array(of, _)) = ty {
        ty = Some(of.bare());
    }
    ty.and_then(size_of).unwrap_or(0)
}

/// Whether a location is declared as an array.
pub fn is_array(init: &[InitItem], name: &str) -> bool {
    matches!(type_of(init, name), Some(Type::Array(..)))
}

/// Gives a location its type, where it has none yet.
pub fn declare(init: &mut Vec<InitItem>, name: &str, ty: Type) {
    let ty = as_bits(&ty);
    let place = Place::Mem { name: name.to_string(), index: None };
    match init.iter_mut().find(|i| i.place == place) {
        Some(item) => item.ty = item.ty.take().or(Some(ty)),
        None => init.push(InitItem { place, ty: Some(ty), value: None, span: Span::default() }),
    }
}

fn rename(place: &Place, locals: &[(usize, String, String)]) -> Place {
    if let Place::Reg { thread, name } = place
        && let Some((_, _, out)) = locals.iter().find(|(t, l, _)| t == thread && l == name)
    {
        return match out.split_once(':') {
            Some((_, register)) => Place::Reg { thread: *thread, name: register.to_string() },
            None => Place::Mem { name: out.clone(), index: None },
        };
    }
    place.clone()
}

fn renamed(prop: &Prop, rename: &dyn Fn(&Place) -> Place) -> Prop {
    match prop {
        Prop::True => Prop::True,
        Prop::False => Prop::False,
        Prop::Cmp(place, op, operand) => Prop::Cmp(
            rename(place),
            *op,
            match operand {
                Operand::Place(p) => Operand::Place(rename(p)),
                value => value.clone(),
            },
        ),
        Prop::Not(p) => Prop::Not(Box::new(renamed(p, rename))),
        Prop::And(list) => Prop::And(list.iter().map(|p| renamed(p, rename)).collect()),
        Prop::Or(list) => Prop::Or(list.iter().map(|p| renamed(p, rename)).collect()),
        Prop::Implies(a, b) => {
            Prop::Implies(Box::new(renamed(a, rename)), Box::new(renamed(b, rename)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last line of a test without its locals, and what it shows.
    fn of(condition: &str) -> Result<(String, Vec<String>), Failure> {
        let text = format!(
            "C t
{{}}
P0(atomic_int *x, atomic_int *y) {{ int r0 = 0; int r1 = 0; *x = 1; *y = 1; }}
{condition}
"
        );
        let test = litmus::read(&Source::new("t", text)).expect("a test");
        let shared = shared_alone(&test)?;
        let shown = shared.shown().iter().map(Place::to_string).collect();
        let text = litmus::write(&shared);
        let last = text.trim().lines().last().unwrap_or_default().to_string();
        Ok((last, shown))
    }

    #[test]
    fn without_locals_shared_locations_are_asked_for() {
        for (condition, left, shown) in [
            ("exists (x=1 /\\ 0:r0=0)", "exists ([x]=1)", vec!["x"]),
            (
                "exists (x=1 /\\ ~(y=2 \\/ 0:r0=0))",
                "exists ([x]=1 /\\ not ([y]=2))",
                vec!["x", "y"],
            ),
            // It may hold by what is gone, and x is compared nevertheless.
            ("exists (x=1 \\/ 0:r0=0)", "exists (true)", vec!["x"]),
            ("locations [y; 0:r1;]\nexists (0:r0=0)", "exists (true)", vec!["y"]),
            ("exists (0:r0=0)", "exists (true)", vec![]),
        ] {
            let found = of(condition).expect(condition);
            assert_eq!(found.0, left, "{condition}");
            assert_eq!(found.1, shown, "{condition}");
        }
    }

    #[test]
    fn a_filter_on_a_local_is_refused() {
        let refused = of("filter (0:r1=1)\nexists (x=1)").expect_err("the filter");
        assert!(refused.text().contains("0:r1"), "{refused:?}");
    }
}
