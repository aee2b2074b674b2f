//! Which events a model needs. An event may be left out if the outcomes are the same without it.
//!
//! The events that a model cannot tell missing are derived from its plan ([`derive`]); where the plan does not show it,
//! the events stay. For LLVM's models alone this module has an argument instead. That each exception is needed, tests
//! show on random programs. It does not know programs.

mod automaton;
mod derive;
mod facts;
#[cfg(test)]
mod tests;

use litmake_cat::Model;
use litmake_cat::plan::Plan;
use litmake_litmus::{Arch, Branches};
use litmake_ops::{Tags, tag};

/// Whether private memory (memory that one thread alone can reach) makes events. Values and
/// dependencies flow through it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// It makes events like any memory.
    Events,
    /// It makes none, but for exceptions.
    LeftOut(Excepted),
}

/// Private memory that makes events under a model that can do without other private memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excepted {
    /// That of threads with one of these annotations.
    pub unless: Tags,
    /// A location that is written twice at the same place.
    pub once: bool,
    /// A location that is read after an access whose address depends on a read.
    pub addressed: bool,
}

impl Excepted {
    const fn unless(unless: Tags) -> Excepted {
        Excepted { unless, once: false, addressed: false }
    }
}

/// Whether LLVM's models can see private memory, which [`derive`] does not show, with the argument. Code that no pass has
/// changed keeps every pointer in such memory.
///
/// Only accesses without annotations, at addresses that depend on no read, are candidates for
/// being left out. Their reads-from, coherence and from-reads stay in one thread and agree with
/// program order, so axioms about them hold. So a model sees a private event P only if an order
/// X -> P -> Y orders X and Y that are unordered without P. X and Y are in P's thread, since
/// nothing in another thread communicates with P. The question for each model is therefore: if X and Y
/// are ordered through private events, are they ordered without them? Dependencies through
/// private memory are kept as direct ones from X to Y, like those through registers.
fn argued(model: &str) -> Option<Excepted> {
    match model {
        // Program order is part of happens-before, which is transitive. A private access is not
        // atomic, so that it synchronises with nothing, and its reads-from and coherence stay in its
        // thread. The order of sequentially consistent accesses looks at accesses of that
        // annotation, at happens-before, and at what communicates between threads.
        "llvm" | "llvm-lb" | "llvm-undef" => Some(Excepted::default()),
        _ => None,
    }
}

/// What [`derive`] shows for large built-in models, with more runs than a process has time for. A test derives it anew.
fn derived(model: &str) -> Option<Excepted> {
    match model {
        // Fences for writes alone, and reads that fences for reads do not see: where the value of such a read goes through
        // private memory, the private read is seen by these fences.
        "aarch64" => Some(Excepted::unless(
            tag::DMB_ST
                | tag::DMB_ISHST
                | tag::DMB_OSHST
                | tag::DSB_ST
                | tag::DSB_ISHST
                | tag::DSB_OSHST
                | tag::NoRet,
        )),
        "aarch32" => Some(Excepted::unless(STORES)),
        // What comes after an access whose address depends on a read is ordered after that read: so is a private read,
        // and what a branch on it and an ISB order after it.
        "armv7" => Some(Excepted { addressed: true, ..Excepted::unless(STORES.with(ARM_FULL)) }),
        // The same with ISYNC. A place that is written twice passes on the order of its first content, too, though no
        // value flows.
        "ppc" => Some(Excepted { unless: tag::EIEIO.with(PPC_FULL), once: true, addressed: true }),
        _ => None,
    }
}

/// The fences of 32-bit Arm for writes alone.
const STORES: Tags = tag::ARM_DMB_ST
    .with(tag::ARM_DMB_ISHST)
    .with(tag::ARM_DSB_ST)
    .with(tag::ARM_DSB_ISHST)
    .with(tag::DMB_OSHST)
    .with(tag::DSB_OSHST);

/// Fences that order everything, as Armv7's and Power's models have them: the derivation does not end at their
/// propagation order, so threads with one keep their private events.
const ARM_FULL: Tags = tag::DMB
    .with(tag::ARM_DMB_ISH)
    .with(tag::DMB_OSH)
    .with(tag::DSB)
    .with(tag::ARM_DSB_ISH)
    .with(tag::DSB_OSH);
const PPC_FULL: Tags = tag::PPC_SYNC.with(tag::LWSYNC);

#[derive(Clone, Copy, Debug)]
pub struct Visible {
    pub branches: Branches,
    /// Whether reads that return a later write of their own thread are tried.
    pub early: bool,
}

impl Visible {
    /// All events of a dialect.
    pub fn all(arch: Arch) -> Visible {
        Visible { branches: arch.facts().branches, early: true }
    }

    /// The events that a model needs.
    pub fn under(model: &Model, plan: Option<&Plan>, arch: Arch) -> Visible {
        let early = !plan.is_some_and(|plan| derive::forbids_early_reads(plan, arch));
        let all = Visible { early, ..Visible::all(arch) };
        // A model with `catdep` follows values through memory itself.
        if model.catdep() || plan.is_none() {
            return all;
        }
        // No built-in model asks for branches or orders anything after one by itself.
        let branches = match all.branches {
            Branches::All if model.built_in().is_some() => Branches::Conditional,
            other => other,
        };
        Visible { branches, early }
    }
}

impl Private {
    /// The events of private memory that a model needs.
    pub fn under(model: &Model, plan: Option<&Plan>, arch: Arch) -> Private {
        // In C every access has an annotation, so none is left out. A model with `catdep` follows values
        // through memory itself.
        let (Some(plan), false, false) = (plan, model.catdep(), arch == Arch::C) else {
            return Private::Events;
        };
        let name = match model.built_in() {
            // It adds to the architecture's model a flag for writes to const memory, which is never
            // private.
            Some("const-write") => Some(arch.default_model()),
            name => name,
        };
        let now = || derive::left_out(plan, arch, Excepted::default(), derive::MOST_RUNS);
        let known = name.and_then(|name| derived(name).or_else(|| argued(name)));
        known.or_else(now).map_or(Private::Events, Private::LeftOut)
    }
}
