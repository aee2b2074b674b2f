//! Decides cheaply whether a test may show the core of another: makes the tests whose threads keep
//! only what the core needs. If one of them still shows the difference, the test has that core, and
//! no reduction is needed.
//!
//! It compares sequences of operations. Cores and threads with branches are left to reduction.

use std::collections::HashMap;

use litmake_base::diag::Span;
use litmake_litmus::c::ast::{Expr, ExprKind, Function, Stmt, StmtKind, UnaryOp};
use litmake_litmus::c::orders::{at_least, orders};
use litmake_litmus::c::scoped::{first_order, reach};
use litmake_litmus::{Arch, Place, Test, Type};

use super::code::order;
use super::core::{Core, strengthened};
use super::normal::{is_constant, permutations, uses};
use super::types::of_int;
use super::{finish, with_body};

/// How many places in a test are tried.
const PLACES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Load,
    Store,
    Update,
    Compare,
    Fence,
}

/// One operation of a thread.
#[derive(Clone, Debug)]
struct Op {
    /// The index of the statement.
    at: usize,
    group: Group,
    place: String,
    orders: Vec<String>,
    /// The local that gets its result.
    local: Option<String>,
    /// The number of bytes that it accesses, if known.
    bytes: Option<u8>,
}

/// Cores use `int` where the width does not matter.
const ANY: u8 = 4;

impl Op {
    /// Whether the operation orders nothing, so that any other access can replace it.
    fn is_plain(&self) -> bool {
        matches!(self.group, Group::Load | Group::Store) && self.orders == ["relaxed"]
    }

    fn is_of_int(&self) -> bool {
        self.group == Group::Fence || self.bytes == Some(ANY)
    }

    /// Whether this operation of a test can stand for the one that a core needs.
    fn may_be(&self, needed: &Op) -> bool {
        if let (Some(own), Some(bytes)) = (self.bytes, needed.bytes)
            && bytes != ANY
            && own != bytes
        {
            return false;
        }
        if needed.is_plain() {
            return matches!(self.group, Group::Load | Group::Store);
        }
        self.group == needed.group
            && self.orders.iter().zip(&needed.orders).all(|(own, o)| at_least(own, o))
    }
}

/// The tests that keep only the core of some threads, at most a few.
pub fn within(test: &Test, core: &Core) -> Vec<Test> {
    let needed: Option<Vec<Vec<Op>>> =
        core.threads.iter().map(|t| function(&core.test, *t).and_then(ops)).collect();
    let Some(needed) = needed else { return Vec::new() };
    if test.arch != Arch::C || needed.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let observed = core.test.shown();
    let own: Vec<Vec<Op>> = (0..test.threads.len())
        .map(|t| function(test, t).map(some_ops).unwrap_or_default())
        .collect();
    let mut out = Vec::new();
    for threads in chosen(own.len(), needed.len()) {
        let mut found = Vec::new();
        embed(&needed, &threads, &own, &mut Places::default(), &mut found);
        for picked in found {
            let mut next = test.clone();
            // Observe for these operations what the core's test observes.
            for (n, needed) in needed.iter().enumerate() {
                for (op, needed) in picked[n].iter().zip(needed) {
                    for place in &observed {
                        observe(&mut next, (threads[n], op), (core.threads[n], needed), place);
                    }
                }
            }
            for ((t, ops), needed) in threads.iter().zip(&picked).zip(&needed) {
                if let Some(f) = function(test, *t) {
                    next = with_body(&next, *t, kept(f, ops, needed));
                }
            }
            // If the other threads were weakly ordered, it would be unknown which thread is to
            // blame.
            match threads.len() < next.threads.len() {
                true => out.extend(strengthened(&next, &threads)),
                false => out.push(next),
            }
        }
        if out.len() >= PLACES {
            break;
        }
    }
    out.truncate(PLACES);
    // If the core shows the difference with `int`, the candidates have to show it with `int`, too:
    // another width of the same operations may be wrong for another reason.
    if needed.iter().flatten().all(Op::is_of_int) {
        out = out.iter().map(of_int).collect();
    }
    finish(out)
}

/// Observes the place of an operation if the core's test observes the place of its counterpart.
fn observe(test: &mut Test, own: (usize, &Op), core: (usize, &Op), observed: &Place) {
    let place = match observed {
        Place::Mem { name, index: None } if *name == core.1.place => {
            Place::Mem { name: own.1.place.clone(), index: None }
        }
        Place::Reg { thread, name } if *thread == core.0 && core.1.local.as_ref() == Some(name) => {
            let Some(name) = own.1.local.clone() else { return };
            Place::Reg { thread: own.0, name }
        }
        _ => return,
    };
    super::names::observe(test, place);
}

fn function(test: &Test, thread: usize) -> Option<&Function> {
    test.threads.get(thread)?.function()
}

/// The ways to choose `some` of `n` threads, in each order.
fn chosen(n: usize, some: usize) -> Vec<Vec<usize>> {
    if n > 5 || some > n {
        return Vec::new();
    }
    let all: Vec<usize> = (0..n).collect();
    let mut out: Vec<Vec<usize>> =
        permutations(&all).into_iter().map(|p| p[..some].to_vec()).collect();
    out.sort();
    out.dedup();
    out
}

/// The operations of a thread, or `None` if the thread contains more than operations and constants.
fn ops(f: &Function) -> Option<Vec<Op>> {
    let out = some_ops(f);
    let constants = f.body.iter().filter(|s| is_constant(s)).count();
    (out.len() + constants == f.body.len()).then_some(out)
}

fn some_ops(f: &Function) -> Vec<Op> {
    let bytes = |place: &str| {
        let to = f.params.iter().find(|p| p.name == place)?;
        let Type::Pointer(to) = to.ty.bare() else { return None };
        match to.bare() {
            Type::Int { bytes, .. } => Some(*bytes),
            _ => None,
        }
    };
    let all = f.body.iter().enumerate().filter_map(|(i, s)| op(i, s));
    all.map(|op| Op { bytes: bytes(&op.place), ..op }).collect()
}

fn op(at: usize, s: &Stmt) -> Option<Op> {
    let is_deref = |e: &Expr| match &e.kind {
        ExprKind::Unary(UnaryOp::Deref, to) => match &to.kind {
            ExprKind::Name(n) => Some(n.clone()),
            _ => None,
        },
        _ => None,
    };
    let plain = |group, place, local| {
        let orders = vec!["relaxed".to_string()];
        Some(Op { at, group, place, orders, local, bytes: None })
    };
    let (e, local) = match &s.kind {
        StmtKind::Expr(e) => match &e.kind {
            ExprKind::Assign(None, to, value) => match (&to.kind, is_deref(to)) {
                (_, Some(place)) => return plain(Group::Store, place, None),
                (ExprKind::Name(n), _) => (&**value, Some(n.clone())),
                _ => return None,
            },
            _ => (e, None),
        },
        StmtKind::Decl(list) => match &list[..] {
            [d] => (d.init.as_ref()?, Some(d.name.clone())),
            _ => return None,
        },
        _ => return None,
    };
    if let Some(place) = is_deref(e) {
        return plain(Group::Load, place, local);
    }
    let ExprKind::Call(name, args) = &e.kind else { return None };
    let (core, kinds) = orders(name)?;
    let group = match core {
        "atomic_load" => Group::Load,
        "atomic_store" => Group::Store,
        "atomic_thread_fence" => Group::Fence,
        _ if core.starts_with("atomic_compare") => Group::Compare,
        _ => Group::Update,
    };
    let place = match args.first().map(|a| &a.kind) {
        _ if group == Group::Fence => String::new(),
        Some(ExprKind::Name(n)) => n.clone(),
        _ => return None,
    };
    let said = |i: usize| match args.get(first_order(args, kinds.len()) + i) {
        _ if !name.ends_with("_explicit") && group != Group::Fence => Some("seq_cst".to_string()),
        Some(Expr { kind: ExprKind::Name(n), .. }) => {
            n.strip_prefix("memory_order_").map(str::to_string)
        }
        _ => None,
    };
    let orders = (0..kinds.len()).map(said).collect::<Option<_>>()?;
    Some(Op { at, group, place, orders, local, bytes: None })
}

/// The location of the test for each location of the core.
#[derive(Clone, Default)]
struct Places {
    of: HashMap<String, String>,
}

impl Places {
    fn joins(&mut self, core: &str, own: &str) -> bool {
        match self.of.get(core) {
            Some(there) => there == own,
            None => {
                let free = !self.of.values().any(|o| o == own);
                if free {
                    self.of.insert(core.to_string(), own.to_string());
                }
                free
            }
        }
    }
}

/// Finds the operations of some threads that can stand for those of the core, thread by thread.
fn embed(
    needed: &[Vec<Op>],
    threads: &[usize],
    own: &[Vec<Op>],
    places: &mut Places,
    found: &mut Vec<Vec<Vec<Op>>>,
) {
    fn go(
        needed: &[Vec<Op>],
        threads: &[usize],
        own: &[Vec<Op>],
        places: &Places,
        so_far: &mut Vec<Vec<Op>>,
        found: &mut Vec<Vec<Vec<Op>>>,
    ) {
        if found.len() >= PLACES {
            return;
        }
        let t = so_far.len() - 1;
        let done = so_far[t].len();
        if done == needed[t].len() {
            if t + 1 == needed.len() {
                found.push(so_far.clone());
                return;
            }
            so_far.push(Vec::new());
            go(needed, threads, own, places, so_far, found);
            so_far.pop();
            return;
        }
        let wanted = &needed[t][done];
        let after = so_far[t].last().map_or(0, |op| op.at + 1);
        for op in own[threads[t]].iter().filter(|op| op.at >= after && op.may_be(wanted)) {
            let mut places = places.clone();
            if op.group != Group::Fence && !places.joins(&wanted.place, &op.place) {
                continue;
            }
            so_far[t].push(op.clone());
            go(needed, threads, own, &places, so_far, found);
            so_far[t].pop();
        }
    }
    go(needed, threads, own, places, &mut vec![Vec::new()], found);
}

/// The body with only some operations. Their orders become those of the core, and a result is
/// dropped if the core has none.
fn kept(f: &Function, own: &[Op], needed: &[Op]) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = Vec::new();
    for (op, needed) in own.iter().zip(needed) {
        let mut s = f.body[op.at].clone();
        if op.group == needed.group || needed.is_plain() {
            weaken(&mut s, &needed.orders);
        }
        let unused = op.local.as_ref().is_some_and(|l| uses(f, l) == 0);
        if needed.local.is_none() && unused && needed.group != Group::Load && !needed.is_plain() {
            bare(&mut s);
        }
        out.push(s);
    }
    // Declarations of the stored values stay.
    let declared: Vec<String> = out.iter().flat_map(locals).collect();
    let mut before: Vec<Stmt> = Vec::new();
    for s in &f.body {
        let StmtKind::Decl(list) = &s.kind else { continue };
        let is_needed = |name: &str| {
            let body = Function { body: out.clone(), ..f.clone() };
            uses(&body, name) > 0 && !declared.iter().any(|d| d == name)
        };
        for d in list.iter().filter(|d| is_needed(&d.name)) {
            let mut d = d.clone();
            let constant = d.init.as_ref().is_some_and(|e| matches!(e.kind, ExprKind::Int(_)));
            if !constant {
                d.init = Some(Expr::int(1));
            }
            before.push(Stmt::new(StmtKind::Decl(vec![d]), Span::default()));
        }
    }
    before.extend(out);
    before
}

fn locals(s: &Stmt) -> Vec<String> {
    match &s.kind {
        StmtKind::Decl(list) => list.iter().map(|d| d.name.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The call in a statement.
fn call(s: &mut Stmt) -> Option<&mut Expr> {
    let e = match &mut s.kind {
        StmtKind::Expr(e) => e,
        StmtKind::Decl(list) => list.first_mut()?.init.as_mut()?,
        _ => return None,
    };
    match &mut e.kind {
        ExprKind::Assign(None, _, _) => match &mut e.kind {
            ExprKind::Assign(None, _, value) => Some(value),
            _ => None,
        },
        _ => Some(e),
    }
}

fn weaken(s: &mut Stmt, to: &[String]) {
    let Some(Expr { kind: ExprKind::Call(name, args), .. }) = call(s) else { return };
    let Some((core, kinds)) = orders(name) else { return };
    let core = core.to_string();
    let is_explicit = name.ends_with("_explicit") || core == "atomic_thread_fence";
    let said = reach(args);
    let scope = args.pop_if(|_| is_explicit && said.is_some());
    if is_explicit {
        args.truncate(args.len().saturating_sub(kinds.len()));
    }
    args.extend(to.iter().take(kinds.len()).map(|o| order(o)).chain(scope));
    if core != "atomic_thread_fence" {
        *name = format!("{core}_explicit");
    }
}

/// Drops the result of a statement's call.
fn bare(s: &mut Stmt) {
    if let Some(e) = call(s)
        && matches!(e.kind, ExprKind::Call(..))
    {
        let e = e.clone();
        s.kind = StmtKind::Expr(e);
    }
}

/// The kinds of operations that a test has, or that a core needs. This alone excludes most cores
/// quickly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u8);

impl Needs {
    fn of_ops(ops: impl Iterator<Item = Op>) -> Needs {
        let bit = |op: Op| match op.group {
            _ if op.is_plain() => 0,
            Group::Load => 1,
            Group::Store => 2,
            Group::Update => 4,
            Group::Compare => 8,
            Group::Fence => 16,
        };
        Needs(ops.fold(0, |all, op| all | bit(op)))
    }

    /// The kinds of all threads of a test together.
    pub fn of(test: &Test) -> Needs {
        let threads = 0..test.threads.len();
        Needs::of_ops(threads.filter_map(|t| function(test, t)).flat_map(some_ops))
    }

    /// The kinds of the threads to blame in a core.
    pub fn of_core(core: &Core) -> Needs {
        let threads = core.threads.iter();
        Needs::of_ops(threads.filter_map(|t| function(&core.test, *t)).flat_map(some_ops))
    }

    /// Whether all needed kinds are present.
    pub fn has(self, needed: Needs) -> bool {
        self.0 & needed.0 == needed.0
    }
}
