//! What a model can see: which events it needs, and which may be left out because no execution
//! with them has an outcome that it lacks without them.
//!
//! A model that comes from a user needs every event that its dialect has. The built-in ones are
//! known, and for each of them it is argued here why it cannot tell. It does not know programs.

use super::unfold::Branches;
use litmake_cat::Model;
use litmake_cat::plan::{BaseRel, BaseSet, CheckKind, Node, NodeId, Plan, Shape};
use litmake_litmus::Arch;
use litmake_ops::{Tags, tag};

/// Under which conditions memory that one thread alone can reach makes no events. Values and
/// dependencies go through it all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// It makes events like all memory.
    Events,
    /// It makes none, but in threads with such a fence, and but for a location that is written
    /// where it was written before, if `once`.
    LeftOut { unless_fenced: Tags, once: bool },
}

impl Private {
    /// It may always be left out.
    const NEVER_SEEN: Private = Private::LeftOut { unless_fenced: Tags::NONE, once: false };

    const fn unless_fenced(tags: Tags) -> Private {
        Private::LeftOut { unless_fenced: tags, once: false }
    }
}

/// How models see private memory.
///
/// Of such memory, accesses have no annotation and an address that depends on no read (others
/// are kept). Its reads-from, coherence and from-reads stay in one thread and agree with program
/// order, so that its own axioms hold, and a model sees a private event P only where an order
/// X -> P -> Y says more than it says without P. Both X and Y are in P's thread, since nothing of
/// another thread communicates with P. The question for each model is therefore: where X and Y
/// are ordered through private events, are they ordered anyway? Dependencies that flow through
/// private memory are kept as direct ones from X to Y, as they are through registers.
fn private(model: &str) -> Private {
    match model {
        // Program order is transitive and orders all of X, P and Y.
        "sc" => Private::NEVER_SEEN,
        // TSO. If P reads, X is a read, a locked write or before an MFENCE: each of these comes
        // before Y anyway, whatever Y is. If P writes, Y is a write, locked or after an MFENCE,
        // and X comes before that anyway. Between the read and the write of one instruction is
        // nothing that program order to its other neighbours does not say.
        "x86tso" | "x86tso-herd2025" => Private::NEVER_SEEN,
        // All accesses after a read come after it. If X writes, it comes before P by a SYNC, of
        // which every kind that orders X before P orders it before the Y that P comes before: a
        // kind which takes P as a write wants Y to be a write, and so does what X went through.
        "mips" => Private::NEVER_SEEN,
        // A read X comes before a private write by a dependency. What comes after a write, but
        // not after X itself, is what a fence says that orders writes alone; and only that. To a
        // private read, orders come by dependencies through memory, and all that such a read
        // orders, it orders for any read before it, dependencies apart, which are kept. What a
        // control dependency or a choice inside an instruction orders are writes, that of the
        // private write and all later ones alike.
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
        // The same rules in AArch32, and Armv7, where `cc` has dependencies but not program order
        // on one place.
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
        // As for AArch64: rules 9 to 13 are dependencies, and rule 12 is what makes them go
        // through memory; fences with writes alone before them take P and not X. (FENCE.TSO
        // takes a read before it too.)
        "riscv" => Private::unless_fenced(tag::Fence_w_r | tag::Fence_w_w | tag::Fence_w_rw),
        // The same; SYNC.WMB is the fence for writes alone.
        "mips-weak" => Private::unless_fenced(tag::SYNC_WMB),
        // As for Armv7, with EIEIO as the fence for writes alone. But `cc` has program order on
        // one place as well: a place that is written again carries the order of what was in it
        // before, which flows through no value.
        "ppc" => Private::LeftOut { unless_fenced: tag::EIEIO, once: true },
        _ => Private::Events,
    }
}

/// Whether a built-in model has an axiom by which no read returns what comes later in program order
/// at its place: it forbids a circle of program order and reads-from there.
fn coherent(model: &str) -> bool {
    let list = [
        "sc",
        "rc11",
        "rc11-lb",
        "c11",
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
    ];
    list.contains(&model)
}

/// The same for any model, where it can be seen at once: it requires a union with reads-from and
/// program order at one place to be acyclic.
fn coherent_plan(plan: &Plan) -> bool {
    let node = |id: NodeId| &plan.nodes[id as usize];
    let base = |id: NodeId, of: BaseRel| *node(id) == Node::BaseRel(of);
    // Of a model with locks, rf is that of reads.
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
    /// Reads may return what their own thread writes later, unless the model rules it out.
    pub early: bool,
}

impl Visible {
    /// All that a dialect has.
    pub fn all(arch: Arch) -> Visible {
        Visible { branches: branches(arch), private: Private::Events, early: true }
    }

    /// What a model needs of it.
    pub fn under(model: &Model, plan: Option<&Plan>, arch: Arch) -> Visible {
        let early = !plan.is_some_and(coherent_plan);
        let all = Visible { early, ..Visible::all(arch) };
        // Values that go through memory are followed by such a model itself.
        if model.catdep() {
            return all;
        }
        let name = match model.built_in() {
            None => return all,
            // The model of the architecture, with a flag for writes to const memory, which is never
            // private.
            Some("const-write") => arch.default_model(),
            Some(name) => name,
        };
        // No built-in model asks for branches, and none has an order that goes on from one.
        let branches = match all.branches {
            Branches::All => Branches::Conditional,
            other => other,
        };
        Visible { branches, private: private(name), early: early && !coherent(name) }
    }
}

/// The decisions that herd makes events of, which models see in program order.
fn branches(arch: Arch) -> Branches {
    match arch {
        Arch::C | Arch::X86 | Arch::X86_64 => Branches::None,
        Arch::AArch64 => Branches::All,
        Arch::Arm | Arch::RiscV | Arch::Ppc | Arch::Mips => Branches::Conditional,
    }
}
