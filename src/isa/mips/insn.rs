//! The instructions of MIPS as data: readers of text and of machine code make them, and `lower` gives them
//! meaning. Knows neither spelling nor encoding.

use crate::lex::R;
use litmake_ops::{Label, Tags};

pub const ZERO: R = R(0);
pub const GP: R = R(28);
pub const RA: R = R(31);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Src {
    Reg(R),
    Imm(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nor,
    /// Set where less, equal, and so on.
    Slt,
    Sltu,
    Seq,
    Sne,
    Mul,
    Muh,
    Muhu,
    Div,
    Divu,
    Mod,
    Modu,
    Sll,
    Srl,
    Sra,
    Rotr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Seb,
    Seh,
    Clz,
    Clo,
    Dclz,
    Dclo,
    Wsbh,
    Dsbh,
    Dshd,
}

/// The part of a symbol's address that an operand stands for. The low part carries the whole address and
/// the high part nothing, whatever happens between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    High,
    Low,
    /// A slot that holds the address.
    Got,
    /// The same; but if code uses the low part too, the slot holds the page only (o32).
    GotOrPage,
    /// The address, from the global pointer.
    GpRel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disp {
    Imm(i64),
    Symbol { name: String, off: i64, part: Part },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mem {
    pub base: R,
    pub disp: Disp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Eq,
    Ne,
    Lt,
    Ge,
    Gt,
    Le,
    Ltu,
    Geu,
    Gtu,
    Leu,
}

/// How a branch treats the instruction after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// It is executed before the branch takes effect, if the code is written with delay slots.
    Delayed,
    /// The same, but only if the branch is taken.
    Likely,
    /// Nothing.
    Compact,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Insn {
    Nop,
    /// A line that is no instruction.
    Directive,
    /// Whether the instruction after a branch is in its delay slot, from here on (`false`), or not
    /// (`true`).
    Reorder(bool),
    Push,
    Pop,
    Trap,
    /// Where `word`, the result is a word, sign-extended.
    Alu {
        op: Alu,
        word: bool,
        rd: R,
        a: R,
        b: Src,
    },
    Move {
        rd: R,
        rs: R,
    },
    Load64 {
        rd: R,
        value: i64,
    },
    /// `rd = a + value`
    Address {
        word: bool,
        rd: R,
        a: R,
        value: Disp,
    },
    /// Into HI and LO.
    Multiply {
        word: bool,
        signed: bool,
        a: R,
        b: R,
    },
    /// Into HI and LO.
    Divide {
        word: bool,
        signed: bool,
        a: R,
        b: R,
    },
    /// The product of words, added to what HI and LO hold or taken from it.
    Accumulate {
        signed: bool,
        subtract: bool,
        a: R,
        b: R,
    },
    FromHi(R),
    FromLo(R),
    ToHi(R),
    ToLo(R),
    Unary {
        op: Unary,
        rd: R,
        rs: R,
    },
    Extract {
        rd: R,
        rs: R,
        pos: u8,
        size: u8,
        word: bool,
    },
    Insert {
        rd: R,
        rs: R,
        pos: u8,
        size: u8,
        word: bool,
    },
    /// `rd = rs` where `rt` is zero (or is not).
    MoveIf {
        rd: R,
        rs: R,
        rt: R,
        zero: bool,
    },
    /// `rs`, or 0 where `rt` is zero (or is not).
    SelectOr0 {
        rd: R,
        rs: R,
        rt: R,
        zero: bool,
    },
    ScaledAdd {
        word: bool,
        rd: R,
        rs: R,
        rt: R,
        shift: u8,
    },
    Load {
        size: u8,
        signed: bool,
        rt: R,
        mem: Mem,
    },
    Store {
        size: u8,
        rt: R,
        mem: Mem,
    },
    LoadLinked {
        size: u8,
        rt: R,
        mem: Mem,
    },
    StoreConditional {
        size: u8,
        rt: R,
        mem: Mem,
    },
    Fence(Tags),
    Branch {
        test: Test,
        a: R,
        b: Src,
        target: Label,
        link: bool,
        slot: Slot,
    },
    Jump {
        target: Label,
        link: bool,
        slot: Slot,
    },
    JumpReg {
        rs: R,
        link: Option<R>,
        slot: Slot,
    },
}

impl Insn {
    /// How it treats the instruction after it, if it is a branch.
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Insn::Branch { slot, .. } | Insn::Jump { slot, .. } | Insn::JumpReg { slot, .. } => {
                Some(*slot)
            }
            _ => None,
        }
    }

    pub fn is_directive(&self) -> bool {
        matches!(self, Insn::Directive | Insn::Reorder(_) | Insn::Push | Insn::Pop)
    }
}
