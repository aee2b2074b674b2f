//! Finds the core of a difference: the threads to blame, in a form that depends neither on the
//! threads that watch them nor on the shape of the test.
//!
//! A thread is to blame if the difference still shows when every other thread is ordered as
//! strongly as possible: the cause then lies in the code of that thread alone. Beside such watchers
//! the thread is reduced further. Plain accesses beside the operation at fault become stores that
//! the watcher reads, if the difference still shows. So message passing, `S` and `R` around the
//! same operation have one core. It does not know what the difference is.

use litmake_base::diag::Span;
use litmake_litmus::c::ast::{
    Declarator, Expr, ExprKind, Function, IntLit, PartMut, Stmt, StmtKind,
};
use litmake_litmus::c::print_function;
use litmake_litmus::{
    self as litmus, Arch, Body, CmpOp, Operand, Place, Prop, Quantifier, Test, Type, Value,
};

use super::code::order;
use super::copies::rewrite;
use super::normal::{is_constant, normal, uses};
use super::{code, descend, fewer_observed, finish, names, with_body};

/// The threads to blame for the difference of a test.
#[derive(Clone, Debug)]
pub struct Core {
    /// The test in which the difference shows, in normal form.
    pub test: Test,
    /// The threads of that test that are to blame.
    pub threads: Vec<usize>,
    /// The code of these threads with neutral names; equal for equal cores.
    pub key: String,
}

/// The core of a reduced test.
pub fn core(test: &Test, budget: usize, shows: &mut dyn FnMut(&[Test]) -> Vec<bool>) -> Core {
    let n = test.threads.len();
    let all = || Core { test: test.clone(), threads: (0..n).collect(), key: key(test, None) };
    if n < 2 || test.arch != Arch::C {
        return all();
    }
    // If several threads are to blame, each alone, they usually are for the same reason.
    let blamed = blamed(test, (0..n).collect(), shows);
    let first = blamed.into_iter().min_by_key(|(t, test)| key(test, Some(*t)));
    let Some((thread, watched)) = first else { return all() };
    let best = descend(&watched, budget, &|test| smaller_beside(test, thread), shows);
    // The normal form sorts threads.
    let key = key(&best, Some(thread));
    Core { test: best, threads: vec![thread], key }
}

/// The text of one thread or of all threads, in normal form.
fn key(test: &Test, thread: Option<usize>) -> String {
    let mut own = test.clone();
    if let Some(t) = thread {
        own.threads = vec![test.threads[t].clone()];
        own.init.retain(|i| !matches!(&i.place, Place::Reg { .. }));
    }
    let accessed = |name: &str| {
        own.threads.iter().any(|b| match b {
            Body::C(f) => uses(f, name) > 0,
            Body::Asm(_) => true,
        })
    };
    let kept: Vec<bool> = own
        .init
        .iter()
        .map(|i| !matches!(&i.place, Place::Mem { name, .. } if !accessed(name)))
        .collect();
    let mut kept = kept.into_iter();
    own.init.retain(|_| kept.next().unwrap_or(true));
    own.locations.clear();
    own.filter = None;
    own.condition = litmus::Condition {
        quantifier: Quantifier::Exists,
        prop: Prop::True,
        span: Span::default(),
    };
    for f in own.threads.iter_mut().filter_map(Body::function_mut) {
        f.params.retain(|p| p.name.is_empty() || uses_any(&f.body, &p.name));
        f.body.iter_mut().for_each(neutral_values);
    }
    names::only_called(&mut own);
    let own = normal(&own);
    let mut out: Vec<String> = own.helpers.iter().map(print_function).collect();
    out.extend(own.threads.iter().map(|body| match body {
        Body::C(f) => print_function(f),
        Body::Asm(lines) => lines.iter().map(|l| format!("{}\n", l.text)).collect(),
    }));
    // Initial values are part of the key if they are more than a plain number.
    out.extend(own.init.iter().map(litmus::init_text));
    out.concat()
}

fn uses_any(body: &[Stmt], name: &str) -> bool {
    let f = Function {
        name: String::new(),
        told: Default::default(),
        params: Vec::new(),
        ret: Type::Void,
        body: body.to_vec(),
        span: Span::default(),
    };
    uses(&f, name) > 0
}

/// Replaces stored and expected values above 1 by 1: values do not distinguish cores, except for 0.
fn neutral_values(s: &mut Stmt) {
    if let StmtKind::Decl(list) = &mut s.kind {
        for Declarator { init, .. } in list {
            if let Some(Expr { kind: ExprKind::Int(lit), .. }) = init
                && lit.value > 1
            {
                *lit = IntLit::plain(1);
            }
        }
    }
    fn expr(e: &mut Expr) {
        if let ExprKind::Call(name, args) = &mut e.kind
            && matches!(&**name, "atomic_store_explicit" | "atomic_exchange_explicit")
            && let Some(Expr { kind: ExprKind::Int(lit), .. }) = args.get_mut(1)
            && lit.value > 1
        {
            *lit = IntLit::plain(1);
        }
        e.each_child_mut(&mut expr);
    }
    s.each_part_mut(&mut |part| match part {
        PartMut::Expr(e) => expr(e),
        PartMut::Stmt(s) => neutral_values(s),
    });
}

/// The test with all threads except `but` ordered as strongly as possible; `None` if a thread is
/// not C.
pub fn strengthened(test: &Test, but: &[usize]) -> Option<Test> {
    let mut out = test.clone();
    for (t, body) in out.threads.iter_mut().enumerate() {
        let Body::C(f) = body else { return None };
        if but.contains(&t) {
            continue;
        }
        f.body.iter_mut().for_each(strengthen);
        let fence = || {
            let call = Expr::call("atomic_thread_fence", vec![order("seq_cst")]);
            Stmt::new(StmtKind::Expr(call), Span::default())
        };
        f.body = rewrite(std::mem::take(&mut f.body), &mut |s| match s.kind {
            // A constant or a jump accesses no memory, and the first part of a `for` must stay a
            // single declaration.
            StmtKind::Decl(_) if is_constant(&s) => vec![s],
            StmtKind::Break | StmtKind::Continue | StmtKind::Empty => vec![s],
            _ => vec![fence(), s],
        });
    }
    super::read_again(&out)
}

/// The threads of some that are to blame, each with the test that shows it: the difference shows if all others are as
/// strong as possible.
pub fn blamed(
    test: &Test,
    threads: Vec<usize>,
    shows: &mut dyn FnMut(&[Test]) -> Vec<bool>,
) -> Vec<(usize, Test)> {
    let watched: Vec<(usize, Test)> =
        threads.into_iter().filter_map(|t| Some((t, strengthened(test, &[t])?))).collect();
    let asked: Vec<Test> = watched.iter().map(|(_, test)| test.clone()).collect();
    let shown = watched.into_iter().zip(shows(&asked)).filter(|(_, shows)| *shows);
    let mut blamed: Vec<(usize, Test)> = shown.map(|(watched, _)| watched).collect();
    let sure = surest(test, blamed.iter().map(|(t, _)| *t).collect(), shows);
    blamed.retain(|(t, _)| sure.contains(t));
    blamed
}

/// The largest number of updates that the threads beside a blamed one may have.
const UPDATES: u32 = 3;

/// Of several threads that seem to blame, those with which the difference shows although the others
/// have no updates. Where a compiler gets updates wrong, those of a thread that only watches stay
/// wrong however strong they are.
pub fn surest(
    test: &Test,
    blamed: Vec<usize>,
    shows: &mut dyn FnMut(&[Test]) -> Vec<bool>,
) -> Vec<usize> {
    if blamed.len() < 2 {
        return blamed;
    }
    let mut is_sure = |thread: &usize| {
        let mut plain = halved(test, *thread);
        if plain.is_empty() {
            return true;
        }
        for _ in 1..UPDATES {
            let halves = |test: Test| match halved(&test, *thread) {
                list if list.is_empty() => vec![test],
                list => list,
            };
            plain = plain.into_iter().flat_map(halves).collect();
        }
        let asked: Vec<Test> =
            plain.iter().filter_map(|plain| strengthened(plain, &[*thread])).collect();
        shows(&asked).contains(&true)
    };
    let sure: Vec<usize> = blamed.iter().copied().filter(&mut is_sure).collect();
    if sure.is_empty() { blamed } else { sure }
}

/// The tests in which the first update of a thread other than `but` only loads or only stores.
fn halved(test: &Test, but: usize) -> Vec<Test> {
    for thread in (0..test.threads.len()).filter(|t| *t != but) {
        let Body::C(f) = &test.threads[thread] else { continue };
        let mut halves: Vec<Vec<Stmt>> = Vec::new();
        for n in 0..2 {
            let mut is_done = false;
            let body = rewrite(f.body.clone(), &mut |s| {
                let half = if is_done { None } else { half(&s, n) };
                is_done |= half.is_some();
                vec![half.unwrap_or(s)]
            });
            if is_done {
                halves.push(body);
            }
        }
        if !halves.is_empty() {
            return halves.into_iter().map(|body| with_body(test, thread, body)).collect();
        }
    }
    Vec::new()
}

/// A statement that is one update, as a load (0) or as a store (1).
fn half(s: &Stmt, n: usize) -> Option<Stmt> {
    let call = called(s)?.0;
    let ExprKind::Call(name, args) = &call.kind else { return None };
    let half = code::halves(name, args)?.into_iter().nth(n)?;
    let mut out = s.clone();
    match &mut out.kind {
        // A store has no result.
        kind if n == 1 => *kind = StmtKind::Expr(half),
        StmtKind::Expr(Expr { kind: ExprKind::Assign(_, _, value), .. }) => **value = half,
        StmtKind::Expr(e) => *e = half,
        StmtKind::Decl(list) => list[0].init = Some(half),
        _ => return None,
    }
    Some(out)
}

/// The expression that a statement consists of, and the local for its result.
fn called(s: &Stmt) -> Option<(&Expr, Option<&str>)> {
    match &s.kind {
        StmtKind::Expr(e) => match &e.kind {
            ExprKind::Assign(None, to, value) => match &to.kind {
                ExprKind::Name(local) => Some((value, Some(local))),
                _ => None,
            },
            _ => Some((e, None)),
        },
        StmtKind::Decl(list) => match &list[..] {
            [Declarator { name, init: Some(e), .. }] => Some((e, Some(name))),
            _ => None,
        },
        _ => None,
    }
}

fn strengthen(s: &mut Stmt) {
    let mut expr = |e: &mut Expr| {
        if let ExprKind::Name(n) = &e.kind
            && n.starts_with("memory_order_")
        {
            *e = order("seq_cst");
        }
    };
    s.each_expr_mut(&mut |e| e.bottom_up(&mut expr));
}

/// The candidates for a test in which only one thread matters, whatever the others do.
fn smaller_beside(test: &Test, thread: usize) -> Vec<Test> {
    let Body::C(f) = &test.threads[thread] else { return Vec::new() };
    let mut out = Vec::new();
    for cut in code::CUTS {
        out.extend(cut(&f.body).into_iter().map(|body| with_body(test, thread, body)));
    }
    for p in &f.params {
        out.extend(turned(test, thread, &p.name));
    }
    for watcher in (0..test.threads.len()).filter(|t| *t != thread) {
        let Some(plain) = unconditional(test, watcher) else { continue };
        out.extend(f.params.iter().flat_map(|p| turned(&plain, thread, &p.name)));
    }
    out.extend(fewer_observed(test));
    let mut out = finish(out);
    out.extend(super::simpler(test));
    out
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Load,
    Store,
}

/// The only access of a location in a thread, if it is a statement of its own: its index, its kind,
/// and the local for its result.
fn only_access(f: &Function, name: &str) -> Option<(usize, Access, Option<String>)> {
    if uses(f, name) != 1 {
        return None;
    }
    let mut found = None;
    for (i, s) in f.body.iter().enumerate() {
        let Some((e, local)) = called(s) else { continue };
        let ExprKind::Call(function, args) = &e.kind else { continue };
        let is_it = matches!(args.first().map(|a| &a.kind), Some(ExprKind::Name(n)) if n == name);
        let access = match &**function {
            "atomic_load_explicit" => Access::Load,
            "atomic_store_explicit" => Access::Store,
            _ => continue,
        };
        if is_it {
            found = Some((i, access, local.map(str::to_string)));
        }
    }
    found
}

/// The tests in which a relaxed access of a thread and the access that watches it change their
/// kinds. A store that is read is preferred to a load of what is written, and that to two stores.
fn turned(test: &Test, thread: usize, name: &str) -> Vec<Test> {
    let functions: Vec<&Function> = test.threads.iter().filter_map(Body::function).collect();
    let others: Vec<usize> =
        (0..functions.len()).filter(|t| *t != thread && uses(functions[*t], name) > 0).collect();
    let [watcher] = others[..] else { return Vec::new() };
    let (Some((at, own, local)), Some((there, other, _))) =
        (only_access(functions[thread], name), only_access(functions[watcher], name))
    else {
        return Vec::new();
    };
    let is_relaxed =
        matches!(&functions[thread].body[at].kind, StmtKind::Expr(_) | StmtKind::Decl(_))
            && print_function(&Function {
                body: vec![functions[thread].body[at].clone()],
                ..functions[thread].clone()
            })
            .contains("memory_order_relaxed");
    // The result of the load must not be used elsewhere.
    let elsewhere = || {
        let mut rest = functions[thread].clone();
        rest.body.remove(at);
        rest
    };
    let needed = local.is_some_and(|l| uses(&elsewhere(), &l) > 0);
    if !is_relaxed || needed {
        return Vec::new();
    }
    let better: &[(Access, Access)] = match (own, other) {
        (Access::Store, Access::Load) | (Access::Load, Access::Load) => &[],
        (Access::Load, Access::Store) => &[(Access::Store, Access::Load)],
        (Access::Store, Access::Store) => {
            &[(Access::Store, Access::Load), (Access::Load, Access::Store)]
        }
    };
    let one = |&(own, other): &(Access, Access)| {
        let mut out = test.clone();
        set(&mut out, thread, at, name, own, "relaxed");
        set(&mut out, watcher, there, name, other, "seq_cst");
        out
    };
    better.iter().map(one).collect()
}

/// The test in which a thread executes its conditional statements unconditionally. All its locals
/// are observed, because its actions no longer show what it read.
fn unconditional(test: &Test, thread: usize) -> Option<Test> {
    let Body::C(f) = &test.threads[thread] else { return None };
    let mut changed = false;
    let body = rewrite(f.body.clone(), &mut |s| match s.kind {
        StmtKind::If { yes, no: None, .. } => {
            changed = true;
            match yes.kind {
                StmtKind::Block(list) => list,
                _ => vec![*yes],
            }
        }
        _ => vec![s],
    });
    if !changed {
        return None;
    }
    let mut out = with_body(test, thread, body);
    let mut locals = Vec::new();
    f.each_declarator(&mut |d, _| locals.push(d.name.clone()));
    for name in locals {
        super::names::observe(&mut out, Place::Reg { thread, name });
    }
    Some(out)
}

/// Replaces a statement by a load or a store of a location; the loaded value is observed.
fn set(test: &mut Test, thread: usize, at: usize, name: &str, access: Access, how: &str) {
    let taken = super::names::declared(test);
    let Body::C(f) = &mut test.threads[thread] else { return };
    let make = |kind| Stmt::new(kind, Span::default());
    let place = Expr::name(name);
    let (statement, local) = match access {
        Access::Store => {
            let args = vec![place, Expr::int(1), order(how)];
            (make(StmtKind::Expr(Expr::call("atomic_store_explicit", args))), None)
        }
        Access::Load => {
            let free = (0..).map(|n| format!("seen{n}")).find(|n| !taken[thread].contains(n));
            let local = free.unwrap_or_default();
            let d = Declarator {
                name: local.clone(),
                ty: Type::INT,
                init: Some(Expr::call("atomic_load_explicit", vec![place, order(how)])),
                span: Span::default(),
            };
            (make(StmtKind::Decl(vec![d])), Some(local))
        }
    };
    f.body[at] = statement;
    if let Some(name) = local {
        let seen = Prop::Cmp(Place::Reg { thread, name }, CmpOp::Eq, Operand::Value(Value::Int(1)));
        let before = std::mem::replace(&mut test.condition.prop, Prop::True);
        test.condition.prop = litmus::and(vec![before, seen]);
    }
}
