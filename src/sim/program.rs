//! A test ready to be simulated: threads as micro-ops, locations with initial contents, and what is
//! observed. [`Program::new`] makes it from a test; it knows no text format.

use std::sync::Arc;

use compact_str::CompactString;

use litmake_base::diag::Span;
use litmake_litmus::scopes::Scopes;
use litmake_litmus::{Arch, CmpOp, Quantifier};
use litmake_ops::{Code, Reg, Tags, Val};

#[derive(Clone, Debug)]
pub struct Program {
    pub arch: Arch,
    pub name: String,
    pub locations: Vec<Location>,
    pub threads: Vec<Thread>,
    pub scopes: Arc<Scopes>,
    /// For each thread, its labels and the instruction that each stands before.
    pub labels: Vec<Vec<(String, u32)>>,
    /// The columns of a final state, in printing order.
    pub shown: Vec<Shown>,
    /// All places that final states or the condition look at.
    pub observed: Vec<Observable>,
    pub filter: Option<Cond>,
    pub condition: Cond,
    pub quantifier: Quantifier,
    /// The model has a bell file, so that there may be other events than reads, writes and fences.
    pub extra_events: bool,
}

/// One thread. Tests with equal threads share the code.
#[derive(Clone, Debug)]
pub struct Thread {
    pub code: Arc<Code>,
    /// Initial values of registers; the others hold 0.
    pub reg_init: Vec<(Reg, Val)>,
    /// Where each instruction stands in this test; where there is none, the code's own span holds.
    pub spans: Vec<Span>,
}

impl Thread {
    pub fn new(mut code: Code) -> Thread {
        let reg_init = std::mem::take(&mut code.reg_init);
        Thread { code: Arc::new(code), reg_init, spans: Vec::new() }
    }

    /// Where an instruction stands.
    pub fn span(&self, inst: usize) -> Option<Span> {
        let own = || self.code.insts.get(inst).map(|i| i.span);
        self.spans.get(inst).copied().or_else(own)
    }

    /// The register of this name, which is added if it is new.
    pub fn reg(&mut self, name: &str, bits: u8, signed: bool) -> Reg {
        match self.code.find_reg(name) {
            Some(reg) => reg,
            None => Arc::make_mut(&mut self.code).reg(name, bits, signed),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Location {
    pub name: String,
    /// Size in bytes.
    pub size: u32,
    /// Size of an element of an array; of a scalar, its size.
    pub elem: u8,
    pub signed: bool,
    pub is_const: bool,
    /// The annotations that every access to it has.
    pub tags: Tags,
    /// Initial contents by byte offset and size; the rest is 0.
    pub init: Vec<(u32, u8, Val)>,
}

/// A place whose final value is observed, and how its value is read: the low `bits`, with or
/// without a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observable {
    /// How it is printed (`0:X1`, `[x]`, `x[1]`).
    pub label: CompactString,
    pub place: ObservedPlace,
    pub bits: u8,
    pub signed: bool,
}

/// A column of the final states: one observed place, or the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub label: CompactString,
    pub parts: Vec<usize>,
    pub array: bool,
}

impl Shown {
    pub fn one(i: usize, observed: &[Observable]) -> Shown {
        Shown { label: observed[i].label.clone(), parts: vec![i], array: false }
    }
}

/// A register, or a range of bytes of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObservedPlace {
    Reg { thread: u16, reg: Reg },
    Mem { loc: u16, off: u32, size: u8 },
}

/// A proposition over [`Program::observed`].
#[derive(Clone, Debug)]
pub enum Cond {
    Const(bool),
    Cmp(usize, CmpOp, Rhs),
    Not(Box<Cond>),
    And(Vec<Cond>),
    Or(Vec<Cond>),
}

#[derive(Clone, Debug)]
pub enum Rhs {
    Val(Val),
    Observable(usize),
}
