//! A BPF instruction as a value: what reading text makes, and what lowering takes. It knows neither syntax
//! nor micro-ops.

use litmake_ops::BinOp;

/// A register's number.
pub type R = u8;

/// The frame pointer, which herd calls `fp`.
pub const FRAME: R = 10;

/// The part of registers that arithmetic works on. A result in the low half clears the high one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Low,
    Whole,
}

impl Part {
    pub fn bits(self) -> u8 {
        match self {
            Part::Low => 32,
            Part::Whole => 64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Reg(R),
    Imm(i64),
}

/// An operation on two values. Shifts take their count modulo the width; division by zero gives 0, and the
/// remainder then is the dividend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    Bin(BinOp),
    Shift(BinOp),
    Div { signed: bool },
    Rem { signed: bool },
}

/// The value that a move takes from a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    All,
    /// So many low bits, with their sign.
    Signed(u8),
    Negative,
    /// So many low bits, their bytes turned round.
    Swapped(u8),
    /// So many low bits.
    Cut(u8),
}

/// A read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Without a result it orders nothing, with one everything. The result is in the operand's register.
    Op {
        op: BinOp,
        fetch: bool,
    },
    Exchange,
    /// r0 is what is expected, and takes what is found.
    CompareExchange,
}

/// A comparison, or (`holds` is false) its opposite. [`BinOp::And`] asks for a common bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    pub op: BinOp,
    pub holds: bool,
    /// Whether the operands change places.
    pub swap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub base: R,
    pub off: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Insn {
    Const {
        dst: R,
        part: Part,
        value: i64,
    },
    /// The address of a location, plus bytes.
    Location {
        dst: R,
        name: String,
        off: i64,
    },
    Move {
        dst: R,
        part: Part,
        from: R,
        taken: Taken,
    },
    Alu {
        op: Alu,
        part: Part,
        dst: R,
        by: Operand,
    },
    Load {
        dst: R,
        bytes: u8,
        signed: bool,
        acquire: bool,
        at: Address,
    },
    Store {
        bytes: u8,
        release: bool,
        at: Address,
        value: Operand,
    },
    Atomic {
        op: Atomic,
        bytes: u8,
        at: Address,
        value: R,
    },
    Jump {
        label: String,
    },
    Branch {
        test: Test,
        part: Part,
        a: R,
        b: Operand,
        label: String,
    },
    Exit,
}
