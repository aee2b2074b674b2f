//! An x86 instruction as a value: what reading text (or machine code) makes, and what lowering
//! takes. It does not know syntax.

use litmake_ops::BinOp;

/// Operand size of an integer instruction, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    B = 8,
    W = 16,
    L = 32,
    Q = 64,
}

impl Size {
    pub fn bits(self) -> u8 {
        self as u8
    }

    pub fn bytes(self) -> u8 {
        self as u8 / 8
    }
}

/// General registers by their number in machine code.
pub const RAX: u8 = 0;
pub const RCX: u8 = 1;
pub const RDX: u8 = 2;
pub const RBX: u8 = 3;
pub const RSP: u8 = 4;
pub const RBP: u8 = 5;

/// A general register, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpr {
    pub num: u8,
    pub size: Size,
    /// Bits 8 to 15 (`ah`); `size` is then B.
    pub high: bool,
}

impl Gpr {
    pub fn new(num: u8, size: Size) -> Gpr {
        Gpr { num, size, high: false }
    }
}

/// A constant that the code names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imm {
    Int(i128),
    /// The address of a shared location plus bytes, or of a label of this thread.
    Symbol(String, i64),
}

/// A memory operand: the sum of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mem {
    pub symbol: Option<String>,
    pub disp: i64,
    pub base: Option<Gpr>,
    /// Index register and its scale.
    pub index: Option<(Gpr, u8)>,
    /// An entry of the global offset table: the operand's contents is the symbol's address.
    pub got: bool,
    /// Relative to `fs` or `gs`: memory of the thread, which nobody else sees.
    pub thread_local: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    Reg(Gpr),
    Xmm(u8),
    Imm(Imm),
    Mem(Mem),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    Add,
    Adc,
    Sub,
    Sbb,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Shl,
    Shr,
    Sar,
    Rol,
    Ror,
}

/// The question of a condition to the flags; the name is that without its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    Overflow,
    Carry,
    Zero,
    CarryOrZero,
    Sign,
    Parity,
    Less,
    LessOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cond {
    pub flag: Flag,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bit {
    Test,
    Set,
    Reset,
    Complement,
}

/// An operation of a vector instruction on two 128-bit values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vec2 {
    Xor,
    And,
    AndNot,
    Or,
    /// Low halves side by side: the first operand's below.
    UnpackLow64,
    UnpackHigh64,
    /// Alternating 32-bit parts of the low or high halves.
    UnpackLow32,
    UnpackHigh32,
    /// The second operand's high half goes into the first's low half, and the other way.
    HighToLow,
    LowToHigh,
}

/// A comparison of numbers in floating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicate {
    /// None: whether one is no number.
    pub op: Option<BinOp>,
    pub negated: bool,
}

/// The meaning of an instruction. Its arguments are listed with the destination first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    Nop,
    /// `ud2`, `hlt`, `int3`: nothing comes after.
    Stop,
    Mov,
    /// Extension from the given size.
    MovExtend {
        from: Size,
        signed: bool,
    },
    Lea,
    Alu(Alu),
    Cmp,
    Test,
    Inc,
    Dec,
    Neg,
    Not,
    Shift(Shift),
    /// `shld`, `shrd`.
    DoubleShift {
        left: bool,
    },
    /// Shifts of BMI2, which leave flags alone: destination, source, count.
    ShiftX(Shift),
    /// `andn`: the complement of the second operand, and the third.
    AndN,
    Bit(Bit),
    /// `mulx`: high half, low half, and what multiplies the data register.
    MulX,
    /// `imul` with two or three operands.
    Mul2,
    /// `mul`, `imul` of the accumulator.
    MulWide {
        signed: bool,
    },
    Div {
        signed: bool,
    },
    /// `cbw`, `cwde`, `cdqe`: the accumulator's lower half extended to the size.
    ExtendAcc,
    /// `cwd`, `cdq`, `cqo`: the accumulator's sign into the data register.
    SignAcc,
    Bswap,
    Popcnt,
    /// `bsf`, `tzcnt`, `bsr`, `lzcnt`. The first and third leave the destination where the
    /// source is zero.
    ScanForward {
        keep: bool,
    },
    ScanReverse {
        keep: bool,
    },
    Set(Cond),
    Cmov(Cond),
    Jump,
    JumpIf(Cond),
    Call,
    Ret,
    Push,
    Pop,
    Leave,
    Xchg,
    Xadd,
    Cmpxchg,
    /// `cmpxchg8b`, `cmpxchg16b`.
    CmpxchgPair,
    Mfence,
    Lfence,
    Sfence,
    /// Clear, set or complement the carry flag.
    Clc,
    Stc,
    Cmc,
    /// `movnti` and the 16-byte forms.
    StoreNonTemporal,
    /// Between a vector register's low part and an integer register or memory.
    MovLow(Size),
    /// A whole vector register. Single-copy atomic as 16 bytes where `atomic`.
    MovVec {
        atomic: bool,
    },
    /// `movhps`, `movlps`: 8 bytes of memory and one half.
    MovHalf {
        high: bool,
    },
    Vec2(Vec2),
    /// `pinsrb` to `pinsrq`: destination, first source, inserted, where.
    Insert(Size),
    Extract(Size),
    /// `movddup`: the low half, twice.
    Duplicate,
    /// `pshufd`.
    Shuffle32,
    /// `shufpd`, `shufps`: parts of that many bits, the lower half of them from the first
    /// source and the upper from the second.
    Shuffle2(Size),
    /// `palignr`: both sources side by side, shifted right by bytes.
    AlignRight,
    /// `pcmpeqb` and its like: all ones where parts of that many bits are equal.
    EqualParts(u8),
    /// `pmovmskb`: the top bit of each byte.
    MoveMask,
    /// `ptest`.
    TestVec,
    /// `psrlq` and its like: each part shifted by itself.
    ShiftParts {
        left: bool,
        bits: u8,
    },
    /// `psrldq`, `pslldq`.
    ShiftBytes {
        left: bool,
    },
    /// `movss`, `movsd`: a low part between vector registers, or between one and memory.
    MovScalar(Size),
    /// `cvtsi2ss` and its like, by the size that comes out.
    FloatFromInt(Size),
    /// `cvttss2si` and its like, by the size of the number: towards zero.
    FloatToInt(Size),
    /// `cvtss2sd`, `cvtsd2ss`, by the size that goes in.
    FloatResize(Size),
    /// `cvtps2pd`, `cvtpd2ps`.
    FloatResizeAll(Size),
    /// `cvttps2dq`, `cvttpd2dq`, by the size of the numbers.
    FloatToInts(Size),
    /// `paddd` and its like: each part by itself.
    AddParts {
        sub: bool,
        size: Size,
    },
    /// `cvtdq2ps`, `cvtdq2pd`.
    FloatFromInts(Size),
    /// `addss`, and `addps` for `all` parts.
    FloatArith {
        op: BinOp,
        size: Size,
        all: bool,
    },
    /// `ucomiss` and its like.
    FloatCompare(Size),
    /// `cmpeqss` and its like: all ones where the comparison holds.
    FloatMask(Size, Predicate),
    /// `fild`, `fistp`: the x87 stack as a way to move integers.
    X87Load,
    X87StorePop,
}

impl Do {
    /// Whether it works on vector registers or the floating-point stack, without floating-point arithmetic.
    pub fn is_vector(self) -> bool {
        matches!(
            self,
            Do::StoreNonTemporal
                | Do::MovLow(_)
                | Do::MovVec { .. }
                | Do::MovHalf { .. }
                | Do::Vec2(_)
                | Do::Insert(_)
                | Do::Extract(_)
                | Do::Duplicate
                | Do::Shuffle32
                | Do::Shuffle2(_)
                | Do::AlignRight
                | Do::EqualParts(_)
                | Do::MoveMask
                | Do::TestVec
                | Do::ShiftParts { .. }
                | Do::ShiftBytes { .. }
                | Do::X87Load
                | Do::X87StorePop
        )
    }

    /// Whether it works on numbers in vector registers.
    pub fn is_float(self) -> bool {
        matches!(
            self,
            Do::MovScalar(_)
                | Do::FloatFromInt(_)
                | Do::FloatToInt(_)
                | Do::FloatResize(_)
                | Do::FloatResizeAll(_)
                | Do::FloatFromInts(_)
                | Do::FloatToInts(_)
                | Do::AddParts { .. }
                | Do::FloatArith { .. }
                | Do::FloatCompare(_)
                | Do::FloatMask(..)
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insn {
    pub what: Do,
    pub size: Size,
    pub lock: bool,
    pub args: Vec<Arg>,
}
