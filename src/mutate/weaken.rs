//! Weakens C tests: memory orders one step down, everything relaxed, or no fences.
//!
//! A mutant allows all outcomes of its test, and perhaps more; only a simulation can say. This
//! module knows no models.

use litmake_base::diag::Span;
use litmake_litmus::c::ast::{Expr, ExprKind, Function, PartMut, Stmt, StmtKind};
use litmake_litmus::c::orders::{Kind, orders};
use litmake_litmus::c::scoped::first_order;
use litmake_litmus::{Arch, Body, Test};

/// A change to a test's source after which it allows all outcomes that it did, and perhaps more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weakening {
    /// Each memory order becomes one step weaker; the weakest fences are removed.
    Orders,
    /// Every order becomes relaxed, and all fences are removed.
    Relaxed,
    /// All fences are removed.
    Fences,
}

impl Weakening {
    /// The weakenings by their names in pipelines.
    pub const NAMES: [(&'static str, Weakening); 3] = [
        ("orders", Weakening::Orders),
        ("relaxed", Weakening::Relaxed),
        ("fences", Weakening::Fences),
    ];

    /// The name in pipelines.
    pub fn name(self) -> &'static str {
        Weakening::NAMES.iter().find(|(_, w)| *w == self).map_or("", |(n, _)| n)
    }

    /// The test with every place weakened; `None` if there is no place to weaken.
    pub fn everywhere(self, test: &Test) -> Option<Test> {
        let mut out = test.clone();
        let mut changed = false;
        visit(&mut out, &mut |place| {
            let to = self.steps(place).into_iter().next();
            changed |= to.is_some();
            to
        });
        out.name = format!("{}.weaker-{}", test.name, self.name());
        changed.then_some(out)
    }

    /// The tests with one place weakened, in the order of the text.
    pub fn one_by_one(self, test: &Test) -> Vec<Test> {
        let mut places = Vec::new();
        visit(&mut test.clone(), &mut |place| {
            places.push(self.steps(place).len());
            None
        });
        let mut out = Vec::new();
        for (chosen, steps) in places.into_iter().enumerate() {
            for step in 0..steps {
                let mut mutant = test.clone();
                let mut at = 0;
                visit(&mut mutant, &mut |place| {
                    at += 1;
                    (at - 1 == chosen).then(|| self.steps(place).into_iter().nth(step)).flatten()
                });
                mutant.name = format!("{}.weaker-{}{}", test.name, self.name(), out.len());
                out.push(mutant);
            }
        }
        out
    }

    /// The weaker replacements of an order at a place.
    fn steps(self, place: &WrittenOrder) -> Vec<Step> {
        let to = |list: &[&'static str]| list.iter().map(|o| Step::To(o)).collect();
        match (self, place.kind) {
            (Weakening::Fences | Weakening::Relaxed, Kind::Fence) => vec![Step::Drop],
            (Weakening::Fences, _) => Vec::new(),
            (Weakening::Relaxed, _) if place.order == "relaxed" => Vec::new(),
            (Weakening::Relaxed, _) => to(&["relaxed"]),
            (Weakening::Orders, kind) => match (kind, place.order.as_str()) {
                (Kind::Load, "seq_cst") => to(&["acquire"]),
                (Kind::Load, "acquire" | "consume") => to(&["relaxed"]),
                (Kind::Store, "seq_cst") => to(&["release"]),
                (Kind::Store, "release") => to(&["relaxed"]),
                (Kind::Both, "seq_cst") => to(&["acq_rel"]),
                (Kind::Both | Kind::Fence, "acq_rel") => to(&["acquire", "release"]),
                (Kind::Both, "acquire" | "release" | "consume") => to(&["relaxed"]),
                (Kind::Fence, "seq_cst") => to(&["acq_rel"]),
                (Kind::Fence, _) => vec![Step::Drop],
                _ => Vec::new(),
            },
        }
    }
}

/// A memory order in a program.
struct WrittenOrder {
    kind: Kind,
    /// The order without `memory_order_`.
    order: String,
}

enum Step {
    To(&'static str),
    /// The fence is removed.
    Drop,
}

/// Calls `f` on every memory order in the order of the text, including implicit ones, and applies
/// the change that it returns.
fn visit(test: &mut Test, f: &mut dyn FnMut(&WrittenOrder) -> Option<Step>) {
    if test.arch != Arch::C {
        return;
    }
    let threads = test.threads.iter_mut().filter_map(Body::function_mut);
    let functions: Vec<&mut Function> = test.helpers.iter_mut().chain(threads).collect();
    for function in functions {
        for s in &mut function.body {
            statement(s, f);
        }
    }
}

fn statement(s: &mut Stmt, f: &mut dyn FnMut(&WrittenOrder) -> Option<Step>) {
    let mut goes = false;
    s.each_part_mut(&mut |part| match part {
        PartMut::Expr(e) => goes = expr(e, f),
        PartMut::Stmt(s) => statement(s, f),
    });
    if goes && matches!(s.kind, StmtKind::Expr(_)) {
        s.kind = StmtKind::Empty;
    }
}

/// Returns whether the expression is a fence that is to be removed.
fn expr(e: &mut Expr, f: &mut dyn FnMut(&WrittenOrder) -> Option<Step>) -> bool {
    e.each_child_mut(&mut |e| {
        expr(e, f);
    });
    match &mut e.kind {
        ExprKind::Call(name, args) => call(name, args, f),
        _ => false,
    }
}

fn call(
    name: &mut String,
    args: &mut Vec<Expr>,
    f: &mut dyn FnMut(&WrittenOrder) -> Option<Step>,
) -> bool {
    let Some((core, kinds)) = orders(name) else { return false };
    let explicit = name.ends_with("_explicit") || core == "atomic_thread_fence";
    let first = if explicit { first_order(args, kinds.len()) } else { args.len() };
    let order = |text: &str| Expr::name(&format!("memory_order_{text}"));
    let mut new: Vec<Option<&'static str>> = Vec::new();
    for (i, kind) in kinds.iter().enumerate() {
        let said = match args.get(first + i).map(|e| &e.kind) {
            Some(ExprKind::Name(n)) => n.strip_prefix("memory_order_").map(str::to_string),
            Some(_) => None,
            None => Some("seq_cst".to_string()),
        };
        let step = said.and_then(|order| f(&WrittenOrder { kind: *kind, order }));
        match step {
            Some(Step::Drop) => return true,
            Some(Step::To(to)) => new.push(Some(to)),
            None => new.push(None),
        }
    }
    if new.iter().all(Option::is_none) {
        return false;
    }
    if !explicit {
        *name = format!("{core}_explicit");
        args.extend(kinds.iter().map(|_| order("seq_cst")));
    }
    for (i, to) in new.into_iter().enumerate() {
        if let (Some(to), Some(slot)) = (to, args.get_mut(first + i)) {
            *slot = Expr::new(order(to).kind, Span::default());
        }
    }
    false
}
