//! A RISC-V instruction as a value: what reading text (or machine code) makes, and what lowering
//! takes. Pseudo-instructions are gone. It knows neither syntax nor micro-ops.

use super::float::Float;
use crate::microcode::Emit;
use litmake_ops::{BinOp, Tags, Temp, tag};

/// A register number.
pub type X = u8;

pub const RA: X = 1;

/// A constant that code names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imm {
    Int(i64),
    /// The address of a shared location or label, plus bytes.
    Symbol(String, i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Reg(X),
    Imm(i64),
}

/// Operations on two values, in 64 bits or (sign-extended then) in 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op2 {
    /// One whose meaning is a micro-op's.
    Bin(BinOp),
    /// Shifts and rotations, whose counts are masked.
    Shift(BinOp),
    RotateLeft,
    AndNot,
    OrNot,
    XorNot,
    MulHiSU,
    Div {
        signed: bool,
    },
    Rem {
        signed: bool,
    },
    /// The first operand, shifted left, plus the second.
    ShiftAdd(u8),
    /// The same with the low 32 bits of the first; `add.uw` is the one with 0.
    ShiftAddUw(u8),
    /// `slli.uw`.
    ShiftUw,
    /// The first operand, or 0 where the second is 0 (or is not).
    ZeroIf {
        zero: bool,
    },
    BitSet,
    BitClear,
    BitInvert,
    BitExtract,
}

/// The meaning of an operation on one register: its result, of so many bits.
pub type Op1 = fn(&mut Emit, Temp, u8) -> Temp;

/// The ordering annotation of a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    pub aq: bool,
    pub rl: bool,
}

impl Order {
    /// As annotations of an access that both bits may be on.
    pub fn tags(self) -> Tags {
        match (self.aq, self.rl) {
            (false, false) => Tags::NONE,
            (true, false) => tag::RV_Acq,
            (false, true) => tag::RV_Rel,
            (true, true) => tag::RV_AcqRel,
        }
    }

    /// As annotations of a load, for which a release alone means nothing.
    pub fn of_load(self) -> Tags {
        if self.aq { self.tags() } else { Tags::NONE }
    }

    /// As annotations of a store, for which an acquire alone means nothing.
    pub fn of_store(self) -> Tags {
        if self.rl { self.tags() } else { Tags::NONE }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amo {
    Swap,
    Op(BinOp),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Base(X, i64),
    /// `lw a0, x`: the location itself.
    Symbol(String, i64),
}

#[derive(Clone, Debug)]
pub enum Insn {
    Nop,
    Stop,
    Const {
        rd: X,
        value: Imm,
    },
    Op2 {
        op: Op2,
        word: bool,
        rd: X,
        a: X,
        b: Operand,
    },
    Op1 {
        op: Op1,
        word: bool,
        rd: X,
        a: X,
    },
    /// A plain copy, which keeps addresses as they are.
    Copy {
        rd: X,
        a: X,
    },
    Load {
        bytes: u8,
        signed: bool,
        order: Order,
        rd: X,
        addr: Address,
    },
    Store {
        bytes: u8,
        order: Order,
        value: X,
        addr: Address,
    },
    LoadReserved {
        bytes: u8,
        order: Order,
        rd: X,
        addr: X,
    },
    StoreConditional {
        bytes: u8,
        order: Order,
        rd: X,
        value: X,
        addr: X,
    },
    Amo {
        op: Amo,
        bytes: u8,
        order: Order,
        rd: X,
        value: X,
        addr: X,
    },
    /// `amocas`; `rd` is also what is expected. Of 16 bytes, register pairs.
    Cas {
        bytes: u8,
        order: Order,
        rd: X,
        value: X,
        addr: X,
    },
    /// A fence that orders memory; one that orders only devices is a [`Insn::Nop`].
    Fence(Tags),
    /// Branches where the comparison holds, or where it does not.
    Branch {
        op: BinOp,
        holds: bool,
        a: X,
        b: X,
        target: String,
    },
    /// Jumps, and keeps where to go on.
    Jump {
        rd: X,
        target: String,
    },
    JumpReg {
        rd: X,
        base: X,
        off: i64,
    },
    Float(Float),
}
