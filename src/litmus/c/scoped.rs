//! Operations of C that name a scope, which is their last argument: `atomic_load_explicit(p, order, memory_scope_device)`.
//!
//! Tests keep them in the words of OpenCL C. clang's and HIP's operations are put into these words as they are read. It
//! does not know what a scope means, nor in what words a compiler is given one.

use super::ast::{BinaryOp, Expr, ExprKind, Function, IntLit};
use super::orders::orders;
use crate::Test;
use litmake_base::diag::Span;

/// The threads that an operation reaches, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The thread itself.
    Item,
    /// The threads of its subgroup.
    Subgroup,
    /// The threads of its workgroup.
    Workgroup,
    /// The threads of its device.
    Device,
    /// All threads, as where an operation names no scope.
    System,
}

/// The words for a scope: OpenCL C's, its suffix in clang's (`__MEMORY_SCOPE_`), its suffix in HIP's (`__HIP_MEMORY_SCOPE_`).
const WORDS: [(Reach, &str, &str, &str); 5] = [
    (Reach::Item, "memory_scope_work_item", "SINGLE", "SINGLETHREAD"),
    (Reach::Subgroup, "memory_scope_sub_group", "WVFRNT", "WAVEFRONT"),
    (Reach::Workgroup, "memory_scope_work_group", "WRKGRP", "WORKGROUP"),
    (Reach::Device, "memory_scope_device", "DEVICE", "AGENT"),
    (Reach::System, "memory_scope_all_svm_devices", "SYSTEM", "SYSTEM"),
];

impl Reach {
    /// Every scope, the narrowest first.
    pub const ALL: [Reach; 5] = [WORDS[0].0, WORDS[1].0, WORDS[2].0, WORDS[3].0, WORDS[4].0];

    /// The scope that a word names.
    pub fn named(word: &str) -> Option<Reach> {
        let clang = word.strip_prefix("__MEMORY_SCOPE_");
        let hip = word.strip_prefix("__HIP_MEMORY_SCOPE_");
        // The newer name in OpenCL 3.0.
        let word = if word == "memory_scope_all_devices" { WORDS[4].1 } else { word };
        let is = |(_, o, c, h): &&(Reach, &str, &str, &str)| {
            *o == word || Some(*c) == clang || Some(*h) == hip
        };
        WORDS.iter().find(is).map(|row| row.0)
    }

    /// The word in tests.
    pub fn word(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// The word that clang's operations have.
    pub fn clang(self) -> String {
        format!("__MEMORY_SCOPE_{}", WORDS[self as usize].2)
    }
}

/// A fence that says which memory it orders, its order, and its scope.
pub const FENCE: &str = "atomic_work_item_fence";

/// The memory that a fence or a barrier orders, as an argument says it: `CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// The memory of the device.
    pub global: bool,
    /// The memory of a workgroup.
    pub local: bool,
}

impl Ordered {
    /// The memory that flags name.
    pub fn flags(e: &Expr) -> Option<Ordered> {
        match &e.kind {
            ExprKind::Name(n) if n == "CLK_GLOBAL_MEM_FENCE" => {
                Some(Ordered { global: true, local: false })
            }
            ExprKind::Name(n) if n == "CLK_LOCAL_MEM_FENCE" => {
                Some(Ordered { global: false, local: true })
            }
            ExprKind::Binary(BinaryOp::Or, a, b) => {
                let (a, b) = (Ordered::flags(a)?, Ordered::flags(b)?);
                Some(Ordered { global: a.global || b.global, local: a.local || b.local })
            }
            _ => None,
        }
    }
}

/// The threads that wait for each other at a call, if it is a barrier.
pub fn barrier(name: &str) -> Option<Reach> {
    match name {
        "barrier" | "work_group_barrier" => Some(Reach::Workgroup),
        "sub_group_barrier" => Some(Reach::Subgroup),
        _ => None,
    }
}

/// The scope that a call names.
pub fn reach(args: &[Expr]) -> Option<Reach> {
    match &args.last()?.kind {
        ExprKind::Name(word) => Reach::named(word),
        _ => None,
    }
}

/// The place of the first of so many orders among the arguments of an operation that says them.
pub fn first_order(args: &[Expr], orders: usize) -> usize {
    args.len().saturating_sub(orders + usize::from(reach(args).is_some()))
}

/// What the code of a test says about groups of threads.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// The scopes that operations name.
    pub reaches: Vec<Reach>,
    /// The groups that wait for each other at barriers.
    pub barriers: Vec<Reach>,
    /// Whether some location lies in the memory of a workgroup.
    pub local: bool,
}

impl Groups {
    /// All that a test says.
    pub fn of(test: &Test) -> Groups {
        let mut said = Groups::default();
        for f in test.functions() {
            said.local |= f.params.iter().any(|p| p.local);
            f.each_expr(&mut |e| {
                e.any(&mut |e| {
                    if let ExprKind::Call(name, args) = &e.kind {
                        said.reaches.extend(reach(args));
                        said.barriers.extend(barrier(name));
                    }
                    false
                });
            });
        }
        said
    }
}

/// A call of clang's or HIP's scoped operations in the words of OpenCL C; others as they are.
pub(super) fn canonical(name: String, args: Vec<Expr>) -> (String, Vec<Expr>) {
    match convert(&name, &args) {
        Some((name, args)) => (name, args),
        None => (name, args),
    }
}

fn convert(name: &str, args: &[Expr]) -> Option<(String, Vec<Expr>)> {
    let hip = name.strip_prefix("__hip_atomic_");
    let core = match hip {
        Some(core) => core,
        None => name.strip_prefix("__scoped_atomic_")?,
    };
    let reach = reach(args)?;
    let (_, mut args) = args.split_last().map(|(last, rest)| (last, rest.to_vec()))?;
    for arg in &mut args {
        if let ExprKind::Name(word) = &mut arg.kind
            && let Some(order) = word.strip_prefix("__ATOMIC_")
        {
            *word = format!("memory_order_{}", order.to_ascii_lowercase());
        }
    }
    let name = match (core, hip) {
        ("thread_fence", None) => {
            args.insert(0, all_memory(args.first().map(|a| a.span).unwrap_or_default()));
            FENCE.to_string()
        }
        ("compare_exchange_n", None) if args.len() == 6 => {
            let weak = args.remove(3);
            let weak = matches!(weak.kind, ExprKind::Int(IntLit { value: 1.., .. }));
            format!("atomic_compare_exchange_{}_explicit", if weak { "weak" } else { "strong" })
        }
        ("load_n" | "store_n" | "exchange_n", None) => {
            format!("atomic_{}_explicit", &core[..core.len() - 2])
        }
        (
            "load" | "store" | "exchange" | "compare_exchange_strong" | "compare_exchange_weak",
            Some(_),
        ) => format!("atomic_{core}_explicit"),
        (core, _) if core.starts_with("fetch_") => format!("atomic_{core}_explicit"),
        _ => return None,
    };
    args.push(Expr::name(reach.word()));
    Some((name, args))
}

/// A call that names a scope in the words of clang, whose operations take pointers to plain objects. A fence of one of
/// two memories becomes one of both.
pub fn clang(name: &str, args: &[Expr]) -> Option<(String, Vec<Expr>)> {
    let reach = reach(args)?;
    let word = |e: &Expr| match &e.kind {
        ExprKind::Name(n) => match n.strip_prefix("memory_order_") {
            Some(order) => Expr::name(&format!("__ATOMIC_{}", order.to_ascii_uppercase())),
            None => e.clone(),
        },
        _ => e.clone(),
    };
    let mut args: Vec<Expr> = args[..args.len() - 1].iter().map(word).collect();
    let core = name.strip_prefix("atomic_")?;
    let name = match core.strip_suffix("_explicit").unwrap_or(core) {
        "work_item_fence" => {
            args.remove(0);
            "thread_fence".to_string()
        }
        core @ ("load" | "store" | "exchange") => format!("{core}_n"),
        core @ ("compare_exchange_strong" | "compare_exchange_weak") => {
            args.insert(3, Expr::int(u128::from(core.ends_with("weak"))));
            "compare_exchange_n".to_string()
        }
        core => core.to_string(),
    };
    args.push(Expr::name(&reach.clang()));
    Some((format!("__scoped_atomic_{name}"), args))
}

/// Writes out a scope for each operation that names none, and its order if that is unsaid, too: sequentially
/// consistent.
pub fn say_each(f: &mut Function, scope: &mut dyn FnMut() -> Reach) {
    let mut expression = |e: &mut Expr| {
        let span = e.span;
        let ExprKind::Call(name, args) = &mut e.kind else { return };
        let Some((core, kinds)) = orders(name).filter(|_| reach(args).is_none()) else { return };
        if core == "atomic_thread_fence" {
            args.insert(0, all_memory(span));
            *name = FENCE.to_string();
        } else if core.len() == name.len() {
            args.extend(kinds.iter().map(|_| Expr::name("memory_order_seq_cst")));
            name.push_str("_explicit");
        }
        args.push(Expr::name(scope().word()));
    };
    f.body.iter_mut().for_each(|s| s.each_expr_mut(&mut |e| e.bottom_up(&mut expression)));
}

/// The flags of a fence of all memory.
fn all_memory(span: Span) -> Expr {
    let word = |w: &str| Box::new(Expr::name(w));
    let (global, local) = (word("CLK_GLOBAL_MEM_FENCE"), word("CLK_LOCAL_MEM_FENCE"));
    Expr::new(ExprKind::Binary(BinaryOp::Or, global, local), span)
}
