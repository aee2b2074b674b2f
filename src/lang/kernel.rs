//! Emission as the kernel's C: primitives stay calls, and mean what the kernel's own headers make of them.
//!
//! A kernel is many kernels: its configuration decides what `spin_lock` and `rcu_read_lock` are. [`HEADER`] settles what
//! bears on tests, and the rest is as the headers say. What is no code of the headers at all is either stood in for,
//! which docs/kernel.md argues, or refused by name. Where the headers are, and models, are not known here.

use std::collections::BTreeSet;

use super::c11::emit::{EmitOptions, HEADER as C_HEADER, Storage, emit_c};
use litmake_base::diag::Span;
use litmake_base::failure::Failure;
use litmake_litmus::c::ast::{Declarator, ExprKind, Function, Stmt, StmtKind};
use litmake_litmus::{Body, Test, Type};

/// The beginning of every translation unit, below the kernel's own `kconfig.h` and `compiler_types.h`.
///
/// Threads of tests are neither preempted nor debugged, and locks are inlined, so that their code is in the
/// test. The slow path of a queued lock never returns, nor does a wait that is not over at its first look.
/// So a thread that enters one has no execution there; its code after a wait runs only in executions
/// without waiting.
pub const HEADER: &str = "\
#undef CONFIG_PREEMPTION
#undef CONFIG_PREEMPT_BUILD
#undef CONFIG_PREEMPT_COUNT
#undef CONFIG_PREEMPT_DYNAMIC
#undef CONFIG_PREEMPT_LAZY
#undef CONFIG_PREEMPT_RCU
#undef CONFIG_PREEMPT_RT
#undef CONFIG_DEBUG_SPINLOCK
#undef CONFIG_DEBUG_LOCK_ALLOC
#undef CONFIG_DEBUG_PREEMPT
#undef CONFIG_LOCKDEP
#undef CONFIG_PROVE_LOCKING
#undef CONFIG_PROVE_RCU
#undef CONFIG_GENERIC_LOCKBREAK
#undef CONFIG_KCSAN
#undef CONFIG_KASAN
#undef CONFIG_KMSAN
#undef CONFIG_LTO
#undef CONFIG_PARAVIRT_SPINLOCKS
#undef CONFIG_PPC_QUEUED_SPINLOCKS
#undef CONFIG_PPC_SPLPAR
#undef CONFIG_UNINLINE_SPIN_UNLOCK
#undef CONFIG_INLINE_SPIN_LOCK
#undef CONFIG_INLINE_SPIN_TRYLOCK
#undef CONFIG_ARM64_LSE_ATOMICS
#define CONFIG_INLINE_SPIN_LOCK 1
#define CONFIG_INLINE_SPIN_TRYLOCK 1
#if defined(CONFIG_ARM64) && defined(LITMAKE_ATOMICS_lse)
#define CONFIG_ARM64_LSE_ATOMICS 1
#include <asm/alternative-macros.h>
#define alternative_has_cap_likely(capability) 1
#endif
#include <linux/compiler.h>
#include <linux/types.h>
extern void litmake_never(void);
#define smp_cond_load_relaxed(ptr, cond_expr) ({          \\
  typeof(ptr) __PTR = (ptr);                              \\
  __unqual_scalar_typeof(*ptr) VAL = READ_ONCE(*__PTR);   \\
  if (!(cond_expr)) litmake_never();                      \\
  (typeof(*ptr))VAL;                                      \\
})
#include <asm/barrier.h>
#include <asm/processor.h>
#define cpu_relax() barrier()
#ifdef CONFIG_PPC64
#include <asm/paca.h>
#include <asm/hw_irq.h>
#include <linux/spinlock_types.h>
static const struct paca_struct litmake_paca = { .lock_token = 0x8000, .paca_index = 1 };
#undef get_paca
#define get_paca() (&litmake_paca)
#include <asm/simple_spinlock.h>
#undef get_paca
#define get_paca() local_paca
#endif
#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/rcupdate.h>
__weak noinline void litmake_never(void) { for (;;) barrier(); }
#ifdef CONFIG_QUEUED_SPINLOCKS
__weak noinline void queued_spin_lock_slowpath(struct qspinlock *lock, u32 val)
{
  for (;;) barrier();
}
#endif

";

/// A test without the header.
pub fn emit(test: &Test, options: &EmitOptions) -> Result<String, Failure> {
    if options.storage != Storage::Params {
        let what = "locations of a kernel test that are variables: its threads are given pointers";
        return Err(Failure::unsupported(what));
    }
    let own: BTreeSet<String> = test.helpers.iter().map(|f| f.name.clone()).collect();
    let options = EmitOptions { own: Some(own), ..options.clone() };
    let text = emit_c(test, &options);
    Ok(text.strip_prefix(C_HEADER).unwrap_or(&text).to_string())
}

/// Calls for which the headers have no code, by a part of the name, and why.
const ABSENT: [(&str, &str); 4] = [
    ("srcu", "SRCU's sections and grace periods are code of kernel/rcu/srcutree.c"),
    ("call_rcu", "callbacks are run by code of kernel/rcu/tree.c"),
    ("rcu_barrier", "callbacks are run by code of kernel/rcu/tree.c"),
    ("kfree", "memory is freed by code of mm/"),
];

/// Declares every local of a test of the kernel's primitives. Such tests may assign to undeclared locals,
/// which are `int`s; compilers want declarations. Other tests stay as they are.
pub fn declared(mut test: Test) -> Test {
    if !test.functions().any(|f| called(f, &is_primitive).is_some()) {
        return test;
    }
    for body in &mut test.threads {
        let Body::C(f) = body else { continue };
        let mut known: BTreeSet<String> = f.params.iter().map(|p| p.name.clone()).collect();
        f.each_declarator(&mut |d, _| {
            known.insert(d.name.clone());
        });
        let mut missing: Vec<String> = Vec::new();
        f.each_expr(&mut |e| {
            e.any(&mut |e| {
                if let ExprKind::Assign(_, target, _) = &e.kind
                    && let ExprKind::Name(name) = &target.kind
                    && known.insert(name.clone())
                {
                    missing.push(name.clone());
                }
                false
            });
        });
        let declare = |name| Declarator { name, ty: Type::INT, init: None, span: Span::default() };
        let all: Vec<Declarator> = missing.into_iter().map(declare).collect();
        if !all.is_empty() {
            f.body.insert(0, Stmt::new(StmtKind::Decl(all), Span::default()));
        }
    }
    test
}

/// Whether a function is one of the kernel's, by its name.
fn is_primitive(name: &str) -> bool {
    let begins = ["READ_ONCE", "WRITE_ONCE", "smp_", "rcu_", "spin_", "srcu_", "synchronize_"];
    begins.iter().any(|b| name.starts_with(b))
}

/// Prepares a test for a compiler: writes out the waits for grace periods, or refuses the test.
pub fn prepare(test: &Test) -> Result<Test, Failure> {
    for f in test.functions() {
        if let Some(name) = called(f, &|name| absent(name).is_some()) {
            return Err(refused(&name, absent(&name).unwrap_or_default()));
        }
    }
    grace::stand_in(test)
}

fn absent(name: &str) -> Option<&'static str> {
    ABSENT.iter().find(|(part, _)| name.contains(part)).map(|(_, why)| *why)
}

fn refused(name: &str, why: &str) -> Failure {
    Failure::unsupported(format!("`{name}` is not in the kernel's headers: {why}"))
}

/// The first call of a wanted function.
fn called(f: &Function, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut found = None;
    f.each_expr(&mut |e| {
        e.any(&mut |e| {
            if let ExprKind::Call(name, _) = &e.kind
                && wanted(name)
            {
                found = found.take().or(Some(name.clone()));
            }
            false
        });
    });
    found
}

/// Whether a thread's code depends on the other threads of its test, as a wait for their sections does.
pub fn waits(test: &Test) -> bool {
    test.functions().any(|f| called(f, &grace::waits).is_some())
}

/// Grace periods. In a kernel that preempts nobody, a thread is in a quiescent state before it begins, after it ends and
/// while it waits for a grace period itself; each such state has a full fence on either side. A thread that waits
/// reads of each other thread that has sections a location which is odd outside of these states.
mod grace {
    use std::sync::Arc;

    use super::called;
    use litmake_base::diag::Span;
    use litmake_base::failure::Failure;
    use litmake_litmus::c::ast::{
        BinaryOp, Expr, ExprKind, Function, Param, PartMut, Stmt, StmtKind, UnaryOp,
    };
    use litmake_litmus::{Body, Test, Type};

    const WAITS: [&str; 2] = ["synchronize_rcu", "synchronize_rcu_expedited"];

    pub fn waits(name: &str) -> bool {
        WAITS.contains(&name)
    }

    fn reads(name: &str) -> bool {
        name == "rcu_read_lock"
    }

    pub fn stand_in(test: &Test) -> Result<Test, Failure> {
        if !super::waits(test) {
            return Ok(test.clone());
        }
        for helper in &test.helpers {
            if let Some(name) = called(helper, &|name| waits(name) || reads(name)) {
                let what = format!("`{name}` in a function that threads call");
                return Err(Failure::unsupported(what));
            }
        }
        for body in &test.threads {
            if let Body::C(f) = body
                && waits_inside(f)
            {
                let what = "a wait for a grace period inside of a section of the same thread, which never ends";
                return Err(Failure::unsupported(what));
            }
        }
        let has_sections = |body: &Body| matches!(body, Body::C(f) if called(f, &reads).is_some());
        let readers: Vec<String> = (0..test.threads.len())
            .filter(|n| has_sections(&test.threads[*n]))
            .map(|n| format!("rcu_P{n}"))
            .collect();
        let mut out = test.clone();
        for (n, body) in out.threads.iter_mut().enumerate() {
            if let Body::C(f) = body {
                thread(f, &format!("rcu_P{n}"), &readers);
            }
        }
        Ok(out)
    }

    /// Whether a wait stands between the beginning and the end of a section.
    fn waits_inside(f: &Function) -> bool {
        let (mut depth, mut inside) = (0_usize, false);
        f.each_expr(&mut |e| {
            e.any(&mut |e| {
                if let ExprKind::Call(name, _) = &e.kind {
                    match name.as_str() {
                        "rcu_read_lock" => depth += 1,
                        "rcu_read_unlock" => depth = depth.saturating_sub(1),
                        name => inside |= depth > 0 && waits(name),
                    }
                }
                false
            });
        });
        inside
    }

    /// Makes a thread announce its quiescent states, if it has sections, and wait for the others.
    fn thread(f: &mut Function, own: &str, readers: &[String]) {
        let mut at = readers.iter().any(|r| r == own).then_some(1);
        let mut used = false;
        let mut body = Vec::new();
        if at.is_some() {
            body.extend([store(own, 1), fence()]);
        }
        for s in std::mem::take(&mut f.body) {
            statement(s, own, readers, &mut at, &mut used, &mut body);
        }
        if let Some(at) = at {
            body.extend([fence(), store(own, at + 1)]);
        }
        f.body = body;
        for r in readers {
            if r == own || used {
                let ty = Type::Pointer(Arc::new(Type::INT));
                f.params.push(Param { name: r.clone(), ty, local: false, span: Span::default() });
            }
        }
    }

    /// A statement with its waits written out. Only those of the thread's own block count quiescent states; a wait
    /// below another statement is quiescent too, which the thread then does not show to the others: they wait longer
    /// than they would have to.
    fn statement(
        mut s: Stmt,
        own: &str,
        readers: &[String],
        at: &mut Option<u128>,
        used: &mut bool,
        out: &mut Vec<Stmt>,
    ) {
        if !is_wait(&s) {
            s.each_part_mut(&mut |part| {
                if let PartMut::Stmt(s) = part {
                    let mut inner = Vec::new();
                    let taken = std::mem::replace(s, Stmt::new(StmtKind::Empty, s.span));
                    statement(taken, own, readers, &mut None, used, &mut inner);
                    *s = match inner.len() {
                        1 => inner.remove(0),
                        _ => Stmt::new(StmtKind::Block(inner), Span::default()),
                    };
                }
            });
            out.push(s);
            return;
        }
        *used = true;
        out.push(fence());
        if let Some(n) = at {
            out.push(store(own, *n + 1));
        }
        for r in readers.iter().filter(|r| *r != own) {
            let read = Expr::call("READ_ONCE", vec![deref(r)]);
            let odd = ExprKind::Binary(BinaryOp::And, Box::new(read), Box::new(Expr::int(1)));
            let never =
                Stmt::new(StmtKind::Expr(Expr::call("litmake_never", Vec::new())), Span::default());
            let cond = Expr::new(odd, Span::default());
            let kind = StmtKind::If { cond, yes: Box::new(never), no: None };
            out.push(Stmt::new(kind, Span::default()));
        }
        if let Some(n) = at {
            *n += 2;
            out.push(store(own, *n));
        }
        out.push(fence());
    }

    fn is_wait(s: &Stmt) -> bool {
        matches!(&s.kind, StmtKind::Expr(Expr { kind: ExprKind::Call(name, _), .. }) if waits(name))
    }

    fn deref(name: &str) -> Expr {
        let kind = ExprKind::Unary(UnaryOp::Deref, Box::new(Expr::name(name)));
        Expr::new(kind, Span::default())
    }

    fn store(name: &str, value: u128) -> Stmt {
        let kind = StmtKind::Expr(Expr::call("WRITE_ONCE", vec![deref(name), Expr::int(value)]));
        Stmt::new(kind, Span::default())
    }

    fn fence() -> Stmt {
        Stmt::new(StmtKind::Expr(Expr::call("smp_mb", Vec::new())), Span::default())
    }
}
