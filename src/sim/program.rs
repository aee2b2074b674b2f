//! A test ready to be simulated: threads as micro-ops, locations with initial contents, and what is
//! observed. [`Program::new`] makes it from a test; it knows no text format.

use std::sync::Arc;

use compact_str::CompactString;

use litmake_base::diag::Span;
use litmake_litmus::scopes::Scopes;
use litmake_litmus::{Arch, CmpOp, Quantifier};
use litmake_ops::{Code, Reg, Tags, Val};

/// A test ready to be simulated.
#[derive(Clone, Debug)]
pub struct Program {
    /// The dialect of the test.
    pub arch: Arch,
    /// The name of the test.
    pub name: String,
    /// The locations; code names them by their indices.
    pub locations: Vec<Location>,
    /// The threads, from `P0` on.
    pub threads: Vec<Thread>,
    /// Where the threads lie.
    pub scopes: Arc<Scopes>,
    /// For each thread, its labels and the instruction that each stands before.
    pub labels: Vec<Vec<(String, u32)>>,
    /// The columns of a final state, in printing order.
    pub shown: Vec<Shown>,
    /// All places that final states or the condition look at.
    pub observed: Vec<Observable>,
    /// The proposition that final states have to satisfy to count, where the test has one.
    pub filter: Option<Cond>,
    /// The proposition of the test's condition.
    pub condition: Cond,
    /// The quantifier of the test's condition.
    pub quantifier: Quantifier,
    /// It has plain accesses to atomic objects, which herd reads otherwise than C.
    pub plain_atomics: bool,
    /// The model has a bell file, so that there may be other events than reads, writes and fences.
    pub extra_events: bool,
}

/// One thread. Tests with equal threads share the code.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its micro-ops and its registers.
    pub code: Arc<Code>,
    /// Initial values of registers; the others hold 0.
    pub reg_init: Vec<(Reg, Val)>,
    /// Where each instruction stands in this test; where there is none, the code's own span holds.
    pub spans: Vec<Span>,
}

impl Thread {
    /// A thread from code; the initial values move out of the code.
    pub(crate) fn new(mut code: Code) -> Thread {
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

/// A location: an object in shared memory.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its name, as the test has it.
    pub name: String,
    /// Size in bytes.
    pub size: u32,
    /// Size of an element of an array; of a scalar, its size.
    pub elem: u8,
    /// Whether its values are printed with a sign.
    pub signed: bool,
    /// Whether it is declared `const`.
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
    /// Where the value lies.
    pub place: ObservedPlace,
    /// How many low bits of it are read.
    pub bits: u8,
    /// Whether these have a sign.
    pub signed: bool,
}

/// A column of the final states: one observed place, or the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// How it is printed.
    pub label: CompactString,
    /// The places, as indices into [`Program::observed`]: one, or one for each element.
    pub parts: Vec<usize>,
    /// Whether it is printed as an array, in braces.
    pub array: bool,
}

impl Shown {
    /// The column of one observed place.
    pub(crate) fn one(i: usize, observed: &[Observable]) -> Shown {
        Shown { label: observed[i].label.clone(), parts: vec![i], array: false }
    }
}

/// A register, or a range of bytes of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObservedPlace {
    /// A register of a thread.
    Reg {
        /// The number of the thread.
        thread: u16,
        /// The register.
        reg: Reg,
    },
    /// Bytes of a location.
    Mem {
        /// The location, as an index into those of the program.
        loc: u16,
        /// The first byte.
        off: u32,
        /// How many bytes.
        size: u8,
    },
}

/// A proposition over [`Program::observed`].
#[derive(Clone, Debug)]
pub enum Cond {
    /// Holds always, or never.
    Const(bool),
    /// Compares an observed place with something.
    Cmp(usize, CmpOp, Rhs),
    /// Holds where the other does not.
    Not(Box<Cond>),
    /// Holds where all of them do.
    And(Vec<Cond>),
    /// Holds where one of them does.
    Or(Vec<Cond>),
}

/// The other side of a comparison with an observed place.
#[derive(Clone, Debug)]
pub enum Rhs {
    /// A constant.
    Val(Val),
    /// Another observed place.
    Observable(usize),
}
