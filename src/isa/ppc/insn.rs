//! The instructions of Power as data: what a reader of text or of machine code gives, and what
//! `lower` gives meaning to. Neither spelling nor encoding is known here.

use super::vsx::Vsx;
use crate::lex::R;
use litmake_ops::{Label, Tags};

/// A bit of the condition register: four to a field, in the order of [`LT`] to [`SO`].
pub type CrBit = u8;

pub const LT: CrBit = 0;
pub const GT: CrBit = 1;
pub const EQ: CrBit = 2;
pub const SO: CrBit = 3;

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
    Andc,
    Or,
    Orc,
    Xor,
    Nor,
    Nand,
    Eqv,
    Mullw,
    Mulld,
    Mulhw,
    Mulhwu,
    Mulhd,
    Mulhdu,
    Divw,
    Divwu,
    Divd,
    Divdu,
    Modsw,
    Moduw,
    Modsd,
    Modud,
    Slw,
    Srw,
    Sld,
    Srd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Neg,
    Extsb,
    Extsh,
    Extsw,
    Cntlzw,
    Cntlzd,
    Cnttzw,
    Cnttzd,
    Popcntb,
    Popcntw,
    Popcntd,
    Brh,
    Brw,
    Brd,
}

/// The half of a product of 128 bits that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Low,
    HighSigned,
    HighUnsigned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarryIn {
    Zero,
    One,
    Ca,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrOp {
    And,
    Or,
    Xor,
    Nand,
    Nor,
    Eqv,
    Andc,
    Orc,
}

/// How much of an address a displacement gives. The high part of a symbol gives nothing: the
/// low part carries the whole address, whatever happens in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    High,
    Low,
    /// A slot that holds the address.
    Got,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disp {
    Imm(i64),
    Symbol { name: String, off: i64, part: Part },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addr {
    /// With no base where the code says 0 in the place of a register.
    Disp(Option<R>, Disp),
    Index(R, R),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extend {
    Zero,
    Sign,
    /// Zero-extended, with the bytes the other way round; of a pair, with the registers so.
    Reversed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spr {
    Lr,
    Ctr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Label(Label),
    Spr(Spr),
}

/// When a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    Bit(CrBit, bool),
    /// CTR is decremented; taken where it is then zero, or not.
    Counter(bool),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Insn {
    Nop,
    Vsx(Vsx),
    Trap,
    /// A trap where the comparison is one that `on` has: less, greater, equal, and less and
    /// greater without sign, from the bit of 16 down.
    TrapIf {
        on: u8,
        word: bool,
        a: R,
        b: Src,
    },
    /// Immediate operands are of logical and multiply instructions.
    Alu {
        op: Alu,
        record: bool,
        rd: R,
        a: R,
        b: Src,
    },
    /// `rd = a + b + carry`, or with `a` inverted; leaves the carry out in CA.
    Carry {
        record: bool,
        rd: R,
        invert: bool,
        a: R,
        b: Src,
        carry: CarryIn,
    },
    Unary {
        op: Unary,
        record: bool,
        rd: R,
        a: R,
    },
    /// A word, sign-extended and shifted left.
    ExtendShift {
        record: bool,
        rd: R,
        a: R,
        amount: u8,
    },
    /// A product, and a sum: its low half, or the high one.
    MulAdd {
        half: Half,
        rd: R,
        a: R,
        b: R,
        c: R,
    },
    Move {
        record: bool,
        rd: R,
        a: R,
    },
    /// `rd = a + value`, the value shifted left by 16 where `high`; register 0 reads as 0.
    AddImm {
        rd: R,
        a: R,
        value: Disp,
        high: bool,
    },
    /// Rotates left by `amount` and keeps the bits `begin` to `end` (0 is the highest of 64,
    /// and the range may wrap); the others are 0, or stay where `insert`.
    Rotate {
        record: bool,
        word: bool,
        insert: bool,
        rd: R,
        a: R,
        amount: Src,
        begin: u8,
        end: u8,
    },
    /// Arithmetic shift to the right.
    Sra {
        record: bool,
        word: bool,
        rd: R,
        a: R,
        amount: Src,
    },
    Compare {
        field: u8,
        word: bool,
        signed: bool,
        a: R,
        b: Src,
    },
    Isel {
        rd: R,
        a: R,
        b: R,
        bit: CrBit,
    },
    /// -1, 1 or 0 as the field says less, greater or neither.
    SetB {
        rd: R,
        field: u8,
    },
    /// 1 (or -1 where `negate`) where the bit is as `want`, else 0.
    SetBit {
        rd: R,
        bit: CrBit,
        want: bool,
        negate: bool,
    },
    Cr {
        op: CrOp,
        d: CrBit,
        a: CrBit,
        b: CrBit,
    },
    MoveField {
        to: u8,
        from: u8,
    },
    /// The fields of `mask` (the highest bit is field 0).
    FromCr {
        rd: R,
        mask: u8,
    },
    ToCr {
        mask: u8,
        rs: R,
    },
    Load {
        size: u8,
        extend: Extend,
        update: bool,
        rt: R,
        addr: Addr,
    },
    Store {
        size: u8,
        reversed: bool,
        update: bool,
        rs: R,
        addr: Addr,
    },
    /// `lwarx` and the like; with 16 bytes, `rt` is the first of two.
    LoadEx {
        size: u8,
        rt: R,
        addr: Addr,
    },
    StoreEx {
        size: u8,
        rs: R,
        addr: Addr,
    },
    Fence(Tags),
    Branch {
        when: When,
        to: To,
        link: bool,
    },
    ToSpr {
        spr: Spr,
        rs: R,
    },
    FromSpr {
        spr: Spr,
        rd: R,
    },
}
