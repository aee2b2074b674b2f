//! The canonical form of a test: equal for tests that differ only in layout.
//!
//! Left out: the name, title, info lines (but what they say of machines), comments, spans, and labels that nothing refers to.
//! Made uniform: the order of initialisations, blanks, the names of labels, equal ways to
//! write a type or a proposition. Kept: location names, the order of threads, what is
//! observed. Two tests with one canonical form have the same outcomes under every model, so
//! results may be stored under its hash.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::c;
use super::print::{condition_source, prop_source, value_text};
use super::scan::is_ident;
use super::scopes::Scopes;
use super::{
    Body, CmpOp, Condition, InitItem, Line, Observed, Operand, Prop, Test, Type, Value, types,
};

/// Marks a reference to a line of the thread's own code. No instruction that was read holds it.
const LINE: char = '\u{1}';

/// The hash of [`canonical_text`].
pub fn canonical_hash(test: &Test) -> blake3::Hash {
    blake3::hash(canonical_text(test).as_bytes())
}

/// The canonical form as a text. It is made for hashing, and no reader takes it.
pub fn canonical_text(test: &Test) -> String {
    let labels: Vec<FxHashMap<&str, usize>> = test
        .threads
        .iter()
        .map(|body| match body {
            Body::Asm(lines) => line_numbers(lines),
            Body::C(_) => FxHashMap::default(),
        })
        .collect();
    let value = |v: &Value| match v {
        Value::Label { thread: Some(thread), name } => {
            match labels.get(*thread).and_then(|l| l.get(name.as_str())) {
                Some(line) => Value::Label { thread: Some(*thread), name: format!("{LINE}{line}") },
                None => v.clone(),
            }
        }
        v => v.clone(),
    };
    let mut out = format!("litmus 1 {}\n", test.arch.name());
    for feature in test.features().names() {
        let _ = writeln!(out, "feature {feature}");
    }
    let mut init: Vec<String> = test.init.iter().map(|i| item(i, &value)).collect();
    init.sort_unstable();
    for line in init {
        let _ = writeln!(out, "init {line}");
    }
    for s in c::structs::structs(test) {
        out.push_str(&s.definition(&|ty| ty.clone()));
    }
    for helper in &test.helpers {
        function(&c::print_function(helper), &mut out);
    }
    for (i, body) in test.threads.iter().enumerate() {
        let _ = writeln!(out, "thread {i}");
        match body {
            Body::Asm(lines) => {
                for line in lines.iter().filter(|l| !l.text.is_empty()) {
                    instruction(&line.text, &labels[i], &mut out);
                    out.push('\n');
                }
            }
            Body::C(f) => function(&c::print_function(f), &mut out),
        }
    }
    // Without a tree, or with one that says the same, threads lie apart.
    let scopes = test.placed();
    if scopes != Scopes::apart(test.threads.len()) {
        let _ = writeln!(out, "scopes {scopes}");
    }
    for Observed { place, ty, .. } in &test.locations {
        let ty = ty.as_ref().map(|t| types::text(&types::normal(t)));
        let _ = writeln!(out, "location {place} {}", ty.unwrap_or_default());
    }
    if let Some(filter) = &test.filter {
        let filter = map_values(&normal_prop(filter), &value);
        let _ = writeln!(out, "filter {}", prop_source(&filter));
    }
    let condition = Condition {
        prop: map_values(&normal_prop(&test.condition.prop), &value),
        ..test.condition.clone()
    };
    let _ = writeln!(out, "{}", condition_source(&condition));
    out
}

fn line_numbers(lines: &[Line]) -> FxHashMap<&str, usize> {
    let mut numbers = FxHashMap::default();
    let mut number = 0;
    for line in lines {
        for label in &line.labels {
            numbers.insert(label.as_str(), number);
        }
        number += usize::from(!line.text.is_empty());
    }
    numbers
}

/// An initialisation; what is 0 anyway says so.
fn item(item: &InitItem, value: &dyn Fn(&Value) -> Value) -> String {
    let ty = item.ty.as_ref().map(types::normal);
    let count = match &ty {
        Some(Type::Array(_, n)) => *n as usize,
        _ => 1,
    };
    let mut values: Vec<String> = item.values().iter().map(|v| value_text(&value(v))).collect();
    // Zeros at the end go without saying, in arrays and alone.
    while values.last().is_some_and(|v| v == "0") {
        values.pop();
    }
    format!(
        "{} {}[{count}]={}",
        item.place,
        ty.as_ref().map(types::text).unwrap_or_default(),
        values.join(",")
    )
}

/// A text of any shape: its length keeps it apart from what follows.
fn function(text: &str, out: &mut String) {
    let _ = writeln!(out, "function {}\n{text}", text.len());
}

/// An instruction with one space where blanks count, none where they do not, and its labels
/// as line numbers.
fn instruction(text: &str, labels: &FxHashMap<&str, usize>, out: &mut String) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut first = true;
    let mut space = false;
    while at < bytes.len() {
        let start = at;
        let b = bytes[at];
        if b.is_ascii_whitespace() {
            space = true;
            at += 1;
            continue;
        }
        if is_ident(b) {
            while at < bytes.len() && is_ident(bytes[at]) {
                at += 1;
            }
        } else if b == b'"' {
            at += 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += 1;
            }
            at = (at + 1).min(bytes.len());
        } else {
            at += 1;
            while at < bytes.len() && bytes[at] >= 0x80 {
                at += 1;
            }
        }
        let closes = matches!(b, b',' | b']' | b')' | b'}' | b'!');
        let behind = out.as_bytes().last().copied();
        let opened = matches!(behind, Some(b',' | b'[' | b'(' | b'{' | b'\n'));
        if space && !closes && !opened {
            out.push(' ');
        }
        space = false;
        let token = &text[start..at];
        match labels.get(token) {
            Some(line) if !first => {
                out.push(LINE);
                let _ = write!(out, "{line}");
            }
            _ => out.push_str(token),
        }
        first = false;
    }
}

/// An equal proposition without `!=`, and without `/\` in `/\` or `\/` in `\/`.
pub fn normal_prop(prop: &Prop) -> Prop {
    match prop {
        Prop::Cmp(place, CmpOp::Ne, operand) => {
            Prop::Not(Box::new(Prop::Cmp(place.clone(), CmpOp::Eq, operand.clone())))
        }
        Prop::True | Prop::False | Prop::Cmp(..) => prop.clone(),
        Prop::Not(p) => Prop::Not(Box::new(normal_prop(p))),
        Prop::And(ps) => super::and(ps.iter().map(normal_prop).collect()),
        Prop::Or(ps) => super::or(ps.iter().map(normal_prop).collect()),
        Prop::Implies(p, q) => Prop::Implies(Box::new(normal_prop(p)), Box::new(normal_prop(q))),
    }
}

fn map_values(prop: &Prop, f: &dyn Fn(&Value) -> Value) -> Prop {
    let all = |ps: &[Prop]| ps.iter().map(|p| map_values(p, f)).collect();
    match prop {
        Prop::Cmp(place, op, Operand::Value(v)) => {
            Prop::Cmp(place.clone(), *op, Operand::Value(f(v)))
        }
        Prop::Cmp(place, op, Operand::Array(vs)) => {
            Prop::Cmp(place.clone(), *op, Operand::Array(vs.iter().map(f).collect()))
        }
        Prop::True | Prop::False | Prop::Cmp(..) => prop.clone(),
        Prop::Not(p) => Prop::Not(Box::new(map_values(p, f))),
        Prop::And(ps) => Prop::And(all(ps)),
        Prop::Or(ps) => Prop::Or(all(ps)),
        Prop::Implies(p, q) => {
            Prop::Implies(Box::new(map_values(p, f)), Box::new(map_values(q, f)))
        }
    }
}

impl Test {
    /// Whether two tests say the same, wherever their parts stood in a text. Stricter than
    /// equal canonical forms: names, titles, info lines and labels count.
    pub fn same_as(&self, other: &Test) -> bool {
        let (a, b) = (self, other);
        a.arch == b.arch
            && a.name == b.name
            && a.doc == b.doc
            && a.info == b.info
            && same(&a.init, &b.init, |x, y| {
                x.place == y.place && x.value == y.value && same_type(&x.ty, &y.ty)
            })
            && same(&a.threads, &b.threads, same_body)
            && same(&a.helpers, &b.helpers, |x, y| c::print_function(x) == c::print_function(y))
            && a.scopes == b.scopes
            && same(&a.locations, &b.locations, |x, y| {
                x.place == y.place && same_type(&x.ty, &y.ty)
            })
            && a.filter.as_ref().map(normal_prop) == b.filter.as_ref().map(normal_prop)
            && a.condition.quantifier == b.condition.quantifier
            && normal_prop(&a.condition.prop) == normal_prop(&b.condition.prop)
    }
}

fn same<T>(a: &[T], b: &[T], eq: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| eq(x, y))
}

fn same_type(a: &Option<Type>, b: &Option<Type>) -> bool {
    a.as_ref().map(types::normal) == b.as_ref().map(types::normal)
}

fn same_body(a: &Body, b: &Body) -> bool {
    match (a, b) {
        (Body::Asm(a), Body::Asm(b)) => same(a, b, |x, y| x.labels == y.labels && x.text == y.text),
        (Body::C(a), Body::C(b)) => c::print_function(a) == c::print_function(b),
        _ => false,
    }
}
