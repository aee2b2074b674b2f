//! The locations that a test only reads, so that they may lie in memory that cannot be written.
//!
//! It goes by what is written: a location whose address goes anywhere but into a load counts as
//! written. It does not know what compilers make of a load.

use std::collections::BTreeSet;

use super::emit::shared_locations;
use litmake_litmus::Test;
use litmake_litmus::c::ast::{Expr, ExprKind, UnaryOp};

/// Locations that are declared `const`, and those that no thread writes.
pub fn only_read(test: &Test) -> Vec<String> {
    let mut written = BTreeSet::new();
    for f in test.functions() {
        f.each_expr(&mut |e| expr(e, &mut written));
    }
    shared_locations(test)
        .into_iter()
        .filter(|(name, ty)| ty.is_const() || !written.contains(name))
        .map(|(name, _)| name)
        .collect()
}

/// Whether a call only reads what its first argument points to.
fn is_load(name: &str) -> bool {
    matches!(
        name,
        "atomic_load"
            | "atomic_load_explicit"
            | "__c11_atomic_load"
            | "__atomic_load_n"
            | "__atomic_load"
    )
}

/// Whether a call is a macro of the kernel that writes what its first argument names (`WRITE_ONCE(*x, 1)`).
fn is_macro_that_writes(name: &str) -> bool {
    matches!(name, "WRITE_ONCE" | "rcu_assign_pointer" | "smp_store_mb")
}

/// Adds the names that an expression mentions other than to read what they point to.
fn expr(e: &Expr, out: &mut BTreeSet<String>) {
    match &e.kind {
        ExprKind::Call(name, args) if is_load(name) => {
            if let Some((first, rest)) = args.split_first() {
                pointer(first, out);
                rest.iter().for_each(|e| expr(e, out));
            }
        }
        ExprKind::Call(name, args) if is_macro_that_writes(name) => {
            args.iter().for_each(|e| names(e, out));
        }
        ExprKind::Unary(UnaryOp::Deref, inner) => pointer(inner, out),
        ExprKind::Step { target, .. } => names(target, out),
        ExprKind::Assign(_, target, value) => {
            names(target, out);
            expr(value, out);
        }
        ExprKind::Name(name) => {
            out.insert(name.clone());
        }
        // Its operand is not evaluated.
        ExprKind::SizeofExpr(_) => {}
        _ => e.children().into_iter().for_each(|e| expr(e, out)),
    }
}

/// A pointer that is only read through.
fn pointer(e: &Expr, out: &mut BTreeSet<String>) {
    match &e.kind {
        ExprKind::Name(_) => {}
        ExprKind::Cast(_, inner) => pointer(inner, out),
        _ => expr(e, out),
    }
}

/// Every name of an expression that is written through.
fn names(e: &Expr, out: &mut BTreeSet<String>) {
    match &e.kind {
        ExprKind::Unary(_, inner) | ExprKind::Cast(_, inner) => names(inner, out),
        ExprKind::Member { base, .. } => names(base, out),
        ExprKind::Index(a, b) | ExprKind::Comma(a, b) => {
            names(a, out);
            names(b, out);
        }
        _ => expr(e, out),
    }
}

#[cfg(test)]
mod tests {
    use super::only_read;
    use litmake_base::diag::Source;

    fn of(params: &str, body: &str) -> Vec<String> {
        let text = format!(
            "C t
{{}}
P0({params}) {{ {body} }}
exists (true)
"
        );
        only_read(&litmake_litmus::read(&Source::new("t", text)).unwrap())
    }

    #[test]
    fn loads_are_no_writes() {
        let x = "atomic_int* x";
        assert_eq!(of(x, "int r = atomic_load_explicit(x, memory_order_relaxed);"), ["x"]);
        assert_eq!(of(x, "int r = atomic_load(x) + 1;"), ["x"]);
        assert_eq!(of("int* x", "int r = *x;"), ["x"]);
    }

    #[test]
    fn everything_else_is() {
        let x = "atomic_int* x";
        let none: [&str; 0] = [];
        assert_eq!(of(x, "atomic_store(x, 1);"), none);
        assert_eq!(of(x, "int r = atomic_fetch_add(x, 0);"), none);
        assert_eq!(of("int* x", "*x = 1;"), none);
        assert_eq!(of("int* x", "int r = (*x)++;"), none);
        assert_eq!(of("int* x, int* y", "*y = *x;"), ["x"]);
    }

    #[test]
    fn what_is_declared_const_is_not_written() {
        assert_eq!(of("const atomic_int* x", "int r = atomic_load(x);"), ["x"]);
    }
}
