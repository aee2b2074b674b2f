//! Which events a model needs. An event may be left out if the outcomes are the same without it.
//!
//! A user's model gets every event of its dialect. For each built-in model, this module has the
//! argument why it cannot tell that some events are missing. It does not know programs.

#[cfg(test)]
mod tests;

use super::unfold::Branches;
use litmake_cat::Model;
use litmake_cat::plan::{BaseRel, BaseSet, CheckKind, Node, NodeId, Plan, Shape};
use litmake_litmus::Arch;
use litmake_ops::{Tags, tag};

/// Whether private memory (memory that one thread alone can reach) makes events. Values and
/// dependencies flow through it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// It makes events like any memory.
    Events,
    /// It makes none, except in threads that have one of these fences, and, with `once`, except for
    /// a location that is written twice at the same place.
    LeftOut { unless_fenced: Tags, once: bool },
}

impl Private {
    /// Private memory never makes events.
    const NEVER_SEEN: Private = Private::LeftOut { unless_fenced: Tags::NONE, once: false };

    const fn unless_fenced(tags: Tags) -> Private {
        Private::LeftOut { unless_fenced: tags, once: false }
    }
}

/// Whether a built-in model can see private memory, with the argument.
///
/// Only accesses without annotations, at addresses that depend on no read, are candidates for
/// being left out. Their reads-from, coherence and from-reads stay in one thread and agree with
/// program order, so axioms about them hold. So a model sees a private event P only if an order
/// X -> P -> Y orders X and Y that are unordered without P. X and Y are in P's thread, since
/// nothing in another thread communicates with P. The question for each model is therefore: if X and Y
/// are ordered through private events, are they ordered without them? Dependencies through
/// private memory are kept as direct ones from X to Y, like those through registers.
fn private(model: &str) -> Private {
    match model {
        // Program order is transitive and orders all of X, P and Y.
        "sc" => Private::NEVER_SEEN,
        // Program order is part of happens-before, which is transitive. A private access is not
        // atomic, so that it synchronises with nothing, and its reads-from and coherence stay in its
        // thread. The order of sequentially consistent accesses looks at accesses of that
        // annotation, at happens-before, and at what communicates between threads.
        "llvm" => Private::NEVER_SEEN,
        // A private access is not atomic, so that it synchronizes with nothing. Happens-before has it by program
        // order, which is transitive, and by semantics that list its storage class: what they order before it and
        // after it they order directly. Availability and visibility operations do not go through an access without
        // annotations. The order of sequentially consistent operations goes through it by program order, or by
        // communication within its thread, which agrees with program order. It has no race.
        "spirv" | "spirv-opencl" => Private::NEVER_SEEN,
        // Program order is part of causality order, which is transitive. A private access is weak, so that
        // it is in no pattern, and its reads-from and coherence stay in its thread.
        "ptx" => Private::NEVER_SEEN,
        // TSO. If P reads, X is a read, a locked write or before an MFENCE: each of these comes
        // before Y anyway, whatever Y is. If P writes, Y is a write, locked or after an MFENCE,
        // and X comes before that anyway. If P stands between the read and the write of one
        // instruction, program order to its other neighbours says the same.
        "x86tso" | "x86tso-herd2025" => Private::NEVER_SEEN,
        // All accesses after a read come after it. If X writes, a SYNC orders it before P, and every
        // kind of SYNC that does so orders X before Y, too: if the kind takes P for being a write,
        // then P comes before Y only if Y is a write.
        "mips" => Private::NEVER_SEEN,
        // A read X comes before a private write by a dependency. A Y that comes after this write
        // and not after X is ordered by a fence for writes alone; threads with such a fence are
        // excepted. A private read comes after X by a dependency through memory. What this read
        // orders, X orders as well, except by dependencies, which are kept. Control
        // dependencies and choices inside an instruction order writes: the private one and all
        // later ones alike.
        "aarch64" => Private::unless_fenced(
            tag::DMB_ST
                | tag::DMB_ISHST
                | tag::DMB_OSHST
                | tag::DMB_NSHST
                | tag::DSB_ST
                | tag::DSB_ISHST
                | tag::DSB_OSHST
                | tag::DSB_NSHST,
        ),
        // AArch32 has the same rules, and so has Armv7, whose `cc` contains dependencies but no
        // program order at one place.
        "aarch32" | "armv7" => Private::unless_fenced(
            tag::ARM_DMB_ST
                | tag::ARM_DMB_ISHST
                | tag::ARM_DSB_ST
                | tag::ARM_DSB_ISHST
                | tag::DMB_OSHST
                | tag::DMB_NSHST
                | tag::DSB_OSHST
                | tag::DSB_NSHST,
        ),
        // As for AArch64: rules 9 to 13 are dependencies, and rule 12 takes them through memory.
        // Fences that order only writes before them order P and not X, and are excepted. (FENCE.TSO
        // orders reads before it, too.) So are fences that order only reads after them: the write Y may
        // depend on a private read P behind such a fence, and X comes before Y through P alone.
        "riscv" => Private::unless_fenced(
            tag::Fence_w_r | tag::Fence_w_w | tag::Fence_w_rw | tag::Fence_r_r | tag::Fence_rw_r,
        ),
        // As for AArch64; SYNC.WMB is the fence for writes alone, and SYNC.RMB orders only reads after it.
        "mips-weak" => Private::unless_fenced(tag::SYNC_WMB | tag::SYNC_RMB),
        // As for Armv7, with EIEIO as the fence for writes alone. But `cc` contains program order at
        // one place, too: a place that is written twice passes on the order of its first content,
        // though no value flows.
        "ppc" => Private::LeftOut { unless_fenced: tag::EIEIO, once: true },
        _ => Private::Events,
    }
}

/// Whether a built-in model has an axiom that forbids a read to return a later write of its own
/// thread: it forbids cycles of reads-from and program order at one place.
fn coherent(model: &str) -> bool {
    let list = [
        "sc",
        "rc11",
        "rc11-lb",
        "c11",
        "llvm",
        "ptx",
        "aarch64",
        "aarch32",
        "armv7",
        "x86tso",
        "x86tso-herd2025",
        "riscv",
        "ppc",
        "mips",
        "mips-weak",
        "wgsl-sc-per-loc",
        "wgsl-rel-acq",
        "vulkan",
        "spirv",
        "spirv-opencl",
    ];
    list.contains(&model)
}

/// The same for any model, if its plan shows it at once: a requirement that a union with reads-from
/// and program order at one place is acyclic.
fn coherent_plan(plan: &Plan) -> bool {
    let node = |id: NodeId| &plan.nodes[id as usize];
    let base = |id: NodeId, of: BaseRel| *node(id) == Node::BaseRel(of);
    // A model with locks restricts rf to reads.
    let is_rf = |id: NodeId| match *node(id) {
        Node::BaseRel(BaseRel::Rf) => true,
        Node::RestrictRange(r, s) => base(r, BaseRel::Rf) && *node(s) == Node::BaseSet(BaseSet::R),
        _ => false,
    };
    let is_po_loc = |id: NodeId| match *node(id) {
        Node::BaseRel(BaseRel::Po) => true,
        Node::Inter(a, b) => {
            [(a, b), (b, a)].iter().any(|(x, y)| base(*x, BaseRel::Po) && base(*y, BaseRel::Loc))
        }
        _ => false,
    };
    plan.checks.iter().any(|check| {
        let (mut rf, mut po_loc, mut todo) = (false, false, vec![check.node]);
        while let Some(id) = todo.pop() {
            if let Node::Union(a, b) = *node(id) {
                todo.extend([a, b]);
            }
            rf |= is_rf(id);
            po_loc |= is_po_loc(id);
        }
        let asked = check.kind == CheckKind::Require && check.shape == Shape::Acyclic;
        asked && !check.negated && rf && po_loc
    })
}

#[derive(Clone, Copy, Debug)]
pub struct Visible {
    pub branches: Branches,
    pub private: Private,
    /// Whether reads that return a later write of their own thread are tried.
    pub early: bool,
}

impl Visible {
    /// All events of a dialect.
    pub fn all(arch: Arch) -> Visible {
        Visible { branches: branches(arch), private: Private::Events, early: true }
    }

    /// The events that a model needs.
    pub fn under(model: &Model, plan: Option<&Plan>, arch: Arch) -> Visible {
        let early = !plan.is_some_and(coherent_plan);
        let all = Visible { early, ..Visible::all(arch) };
        // Such a model follows values through memory itself.
        if model.catdep() {
            return all;
        }
        let name = match model.built_in() {
            None => return all,
            // It adds to the architecture's model a flag for writes to const memory, which is never
            // private.
            Some("const-write") => arch.default_model(),
            Some(name) => name,
        };
        // No built-in model asks for branches or orders anything after one by itself.
        let branches = match all.branches {
            Branches::All => Branches::Conditional,
            other => other,
        };
        Visible { branches, private: private(name), early: early && !coherent(name) }
    }
}

/// The decisions that are events in herd, where models see them in program order.
fn branches(arch: Arch) -> Branches {
    match arch {
        Arch::C | Arch::X86 | Arch::X86_64 | Arch::Llvm | Arch::Ptx | Arch::Spirv => Branches::None,
        Arch::AArch64 => Branches::All,
        Arch::Arm | Arch::RiscV | Arch::Ppc | Arch::Mips => Branches::Conditional,
    }
}
