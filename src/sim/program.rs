//! What the simulator runs: threads as micro-ops, locations with initial contents, and what is
//! observed. Made from a test by [`Program::new`]; from here on no text format matters.

use compact_str::CompactString;

use crate::isa::ops::{Code, Reg, Val};
use crate::litmus::{Arch, CmpOp, Quantifier};

#[derive(Clone, Debug)]
pub struct Program {
    pub arch: Arch,
    pub name: String,
    pub locations: Vec<Location>,
    pub threads: Vec<Code>,
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
