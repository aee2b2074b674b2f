//! The instructions of AArch32 as data: what a reader of text or of machine code gives, and
//! what `lower` gives meaning to. Neither spelling nor encoding is known here.

use super::vfp::Vfp;
use crate::lex::R;
use litmake_ops::{Label, Tags};

pub const SP: R = R(13);
pub const LR: R = R(14);
pub const PC: R = R(15);

#[derive(Clone, Debug, PartialEq)]
pub struct Insn {
    pub cond: Cond,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cond {
    Eq,
    Ne,
    Cs,
    Cc,
    Mi,
    Pl,
    Vs,
    Vc,
    Hi,
    Ls,
    Ge,
    Lt,
    Gt,
    Le,
    Al,
}

impl Cond {
    pub const NAMES: [(&'static str, Cond); 17] = [
        ("eq", Cond::Eq),
        ("ne", Cond::Ne),
        ("cs", Cond::Cs),
        ("hs", Cond::Cs),
        ("cc", Cond::Cc),
        ("lo", Cond::Cc),
        ("mi", Cond::Mi),
        ("pl", Cond::Pl),
        ("vs", Cond::Vs),
        ("vc", Cond::Vc),
        ("hi", Cond::Hi),
        ("ls", Cond::Ls),
        ("ge", Cond::Ge),
        ("lt", Cond::Lt),
        ("gt", Cond::Gt),
        ("le", Cond::Le),
        ("al", Cond::Al),
    ];

    pub fn named(name: &str) -> Option<Cond> {
        Cond::NAMES.iter().find(|(n, _)| *n == name).map(|(_, c)| *c)
    }

    pub fn name(self) -> &'static str {
        Cond::NAMES.iter().find(|(_, c)| *c == self).map_or("al", |(n, _)| n)
    }

    pub fn inverse(self) -> Cond {
        match self {
            Cond::Eq => Cond::Ne,
            Cond::Ne => Cond::Eq,
            Cond::Cs => Cond::Cc,
            Cond::Cc => Cond::Cs,
            Cond::Mi => Cond::Pl,
            Cond::Pl => Cond::Mi,
            Cond::Vs => Cond::Vc,
            Cond::Vc => Cond::Vs,
            Cond::Hi => Cond::Ls,
            Cond::Ls => Cond::Hi,
            Cond::Ge => Cond::Lt,
            Cond::Lt => Cond::Ge,
            Cond::Gt => Cond::Le,
            Cond::Le => Cond::Gt,
            Cond::Al => Cond::Al,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataOp {
    And,
    Eor,
    Sub,
    Rsb,
    Add,
    Adc,
    Sbc,
    Rsc,
    Orr,
    Orn,
    Bic,
    Mov,
    Mvn,
    Tst,
    Teq,
    Cmp,
    Cmn,
}

impl DataOp {
    /// Tests and comparisons have no destination.
    pub fn is_test(self) -> bool {
        matches!(self, DataOp::Tst | DataOp::Teq | DataOp::Cmp | DataOp::Cmn)
    }

    /// Moves have no first operand.
    pub fn is_move(self) -> bool {
        matches!(self, DataOp::Mov | DataOp::Mvn)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Lsl,
    Lsr,
    Asr,
    Ror,
    /// Right by one through the carry.
    Rrx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// 0 to 32.
    Imm(u8),
    Reg(R),
}

/// A name in the code that is no register, and an offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub off: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Imm(u32),
    Reg(R),
    Shifted(R, Shift, Amount),
    /// The address of something.
    Address(Symbol),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    Imm(i64),
    Reg { reg: R, negative: bool, shift: Shift, amount: u8 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The base stays as it is.
    Offset,
    Pre,
    Post,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mem {
    pub base: R,
    pub offset: Offset,
    pub index: Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Clz,
    Rev,
    Rev16,
    RevSh,
    Rbit,
}

/// A bit field of `width` bits from bit `lsb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub lsb: u8,
    pub width: u8,
}

/// The addend of a long product: none, the two registers as one number, or each of the two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plus {
    Nothing,
    Wide,
    Both,
}

/// Where a block transfer goes: upwards or downwards from the base, which is in it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Ia,
    Ib,
    Da,
    Db,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Nop,
    /// Undefined instructions and breakpoints.
    Trap,
    /// Makes the next instructions conditional, each with its condition.
    It(Vec<Cond>),
    Data {
        op: DataOp,
        flags: bool,
        rd: R,
        rn: R,
        operand: Operand,
    },
    /// MOVT; without `imm` it sets the top half of a symbol's address, which MOVW has set as a whole.
    MovTop {
        rd: R,
        imm: Option<u16>,
    },
    /// `rd = rn * rm`, added to or subtracted from `ra` (`true`: subtracted).
    Mul {
        flags: bool,
        rd: R,
        rn: R,
        rm: R,
        ra: Option<(R, bool)>,
    },
    MulLong {
        flags: bool,
        signed: bool,
        plus: Plus,
        lo: R,
        hi: R,
        rn: R,
        rm: R,
    },
    /// The high word of a product. `ra` is the high word of a number that the product is added to or
    /// (`true`) subtracted from.
    MulTop {
        rd: R,
        rn: R,
        rm: R,
        ra: Option<(R, bool)>,
    },
    /// Multiplies one half of each of two registers: `tops` says which take the top half. `ra` is added.
    MulHalf {
        rd: R,
        rn: R,
        rm: R,
        tops: (bool, bool),
        ra: Option<R>,
    },
    Div {
        signed: bool,
        rd: R,
        rn: R,
        rm: R,
    },
    Unary {
        op: Unary,
        rd: R,
        rm: R,
    },
    Extend {
        signed: bool,
        from: u8,
        rotate: u8,
        rd: R,
        /// Added to.
        rn: Option<R>,
        rm: R,
    },
    /// Adds the parts of `bits` bits separately; `Select` reads their carries.
    AddParts {
        bits: u8,
        rd: R,
        rn: R,
        rm: R,
    },
    /// Takes each byte from `rn` if the carry of its part is set, else from `rm`.
    Select {
        rd: R,
        rn: R,
        rm: R,
    },
    /// Saturates the operand to the nearest number of `bits` bits.
    Saturate {
        signed: bool,
        bits: u8,
        rd: R,
        operand: Operand,
    },
    Extract {
        signed: bool,
        rd: R,
        rn: R,
        field: Field,
    },
    /// `None` clears.
    Insert {
        rd: R,
        rn: Option<R>,
        field: Field,
    },
    Load {
        size: u8,
        signed: bool,
        tags: Tags,
        rt: R,
        mem: Mem,
    },
    /// From a place that the code names, such as a literal pool.
    LoadNamed {
        size: u8,
        signed: bool,
        rt: R,
        from: Symbol,
    },
    Store {
        size: u8,
        tags: Tags,
        rt: R,
        mem: Mem,
    },
    LoadDual {
        rt: R,
        rt2: R,
        mem: Mem,
    },
    StoreDual {
        rt: R,
        rt2: R,
        mem: Mem,
    },
    LoadBlock {
        block: Block,
        base: R,
        writeback: bool,
        regs: Vec<R>,
    },
    StoreBlock {
        block: Block,
        base: R,
        writeback: bool,
        regs: Vec<R>,
    },
    /// With two registers, of 8 bytes at once.
    LoadEx {
        size: u8,
        tags: Tags,
        rt: R,
        rt2: Option<R>,
        rn: R,
        offset: i64,
    },
    StoreEx {
        size: u8,
        tags: Tags,
        rd: R,
        rt: R,
        rt2: Option<R>,
        rn: R,
        offset: i64,
    },
    Swap {
        size: u8,
        rt: R,
        rt2: R,
        rn: R,
    },
    Fence(Tags),
    Vfp(Vfp),
    Branch {
        target: Label,
        link: bool,
    },
    BranchReg {
        rm: R,
        link: bool,
    },
    CompareBranch {
        nonzero: bool,
        rn: R,
        target: Label,
    },
    /// A word in the code that is no instruction; `None` where it is not understood.
    Literal(Option<Operand>),
}
