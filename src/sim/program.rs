//! What the simulator runs: threads as micro-ops, locations with initial contents, and what is
//! observed. Made from a test by [`Program::new`]; from here on no text format matters.

use std::sync::Arc;

use compact_str::CompactString;

use litmake_base::diag::Span;
use litmake_litmus::{Arch, CmpOp, Quantifier};
use litmake_ops::{Code, Reg, Val};

#[derive(Clone, Debug)]
pub struct Program {
    pub arch: Arch,
    pub name: String,
    pub locations: Vec<Location>,
    pub threads: Vec<Thread>,
    /// The labels of each thread, and the instruction that each stands before.
    pub labels: Vec<Vec<(String, u32)>>,
    /// What a final state shows, in printing order; the condition may look at more.
    pub shown: Vec<Shown>,
    pub observed: Vec<Observable>,
    pub filter: Option<Cond>,
    pub condition: Cond,
    pub quantifier: Quantifier,
    /// Its events may be others than reads, writes and fences: a model with a bell file has them.
    pub own_events: bool,
}

/// What one thread runs. Tests share code.
#[derive(Clone, Debug)]
pub struct Thread {
    pub code: Arc<Code>,
    /// Initial values of registers; those that are not listed hold 0.
    pub reg_init: Vec<(Reg, Val)>,
    /// Where instructions stand, unless it is where the code says.
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

    /// The register of this name, added where it is new.
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
    /// Size in bytes, and of one element of an array (equal for a scalar).
    pub size: u32,
    pub elem: u8,
    pub signed: bool,
    pub is_const: bool,
    /// Initial contents by byte offset and size; the rest is 0.
    pub init: Vec<(u32, u8, Val)>,
}

/// Something that final states show, as `bytes` low bytes read with or without a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observable {
    /// As it is printed (`0:X1`, `[x]`, `x[1]`).
    pub label: CompactString,
    pub what: What,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
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
