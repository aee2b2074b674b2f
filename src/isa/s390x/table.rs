//! s390x's instructions as rows: name, encoding, operands in the order in which they are written, and what the
//! instruction does. The decoder and the reader of text share them. It does not know micro-ops, but for the operations
//! that they name.

use litmake_ops::BinOp;

/// One instruction. Bits are numbered as the manual does, from the highest one of 48.
pub struct Row {
    /// The name; `*` stands for a condition.
    pub name: &'static str,
    /// The fixed bits, as if the instruction had 48.
    pub value: u64,
    pub fields: &'static [Field],
    pub does: Does,
}

/// So many bits from bit `at` on.
pub const fn bits(word: u64, at: u8, count: u8) -> u64 {
    word >> (48 - at - count) & ((1 << count) - 1)
}

/// A value as so many bits from bit `at` on.
pub const fn placed(value: u64, at: u8, count: u8) -> u64 {
    (value & ((1 << count) - 1)) << (48 - at - count)
}

impl Row {
    /// The length in bytes, which the first two bits of an instruction tell.
    pub const fn len(&self) -> u8 {
        match self.value >> 46 {
            0 => 2,
            3 => 6,
            _ => 4,
        }
    }

    /// Whether a word of 48 bits begins with this instruction.
    pub fn is(&self, word: u64) -> bool {
        let own = u64::MAX << (48 - 8 * u32::from(self.len()));
        word & own & !self.taken() & ((1 << 48) - 1) == self.value
    }

    /// The bits that operands take.
    pub fn taken(&self) -> u64 {
        self.fields.iter().fold(0, |taken, field| taken | field.bits())
    }
}

/// An operand, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Registers, by the place of their numbers.
    R(u8),
    F(u8),
    /// A vector register, with the bit behind bit 35 that is the highest of its number.
    V(u8, u8),
    /// A number without a sign: where it is, and how many bits it has.
    U(u8, u8),
    /// Such a number that may be left out where it is 0.
    Last(u8, u8),
    /// A number with a sign, likewise.
    S(u8, u8),
    /// Memory: an offset of 12 bits with a base register, where both are; an offset of 20 bits; both with an index.
    Mem(u8),
    Mem20,
    Indexed,
    Indexed20,
    /// Memory with the number of bytes less one, which is at bit 8.
    Bytes,
    /// A count in the form of an address.
    Count,
    Count20,
    /// The target of a branch, in half words: of 16 and of 32 bits.
    Near,
    Far,
    /// The place of data, likewise.
    Data,
    /// The mask of a condition, which is in the name.
    Cond(u8),
    /// The register 0, which stands for none.
    None,
}

impl Field {
    /// The bits of an encoding that it takes.
    const fn bits(self) -> u64 {
        match self {
            Field::R(at) | Field::F(at) | Field::Cond(at) => placed(0xf, at, 4),
            Field::V(at, high) => placed(0xf, at, 4) | placed(1, high, 1),
            Field::U(at, n) | Field::Last(at, n) | Field::S(at, n) => placed(u64::MAX, at, n),
            Field::Mem(at) => placed(0xffff, at, 16),
            Field::Mem20 | Field::Count20 => placed(0xff_ffff, 16, 24),
            Field::Count => placed(0xffff, 16, 16),
            Field::Indexed => placed(0xf_ffff, 12, 20),
            Field::Indexed20 => placed(0xfff_ffff, 12, 28),
            Field::Bytes => placed(0xff_ffff, 8, 24),
            Field::Near => placed(0xffff, 16, 16),
            Field::Far | Field::Data => placed(0xffff_ffff, 16, 32),
            Field::None => 0,
        }
    }
}

/// The part of a register that an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Low,
    High,
    All,
}

impl Part {
    pub fn bits(self) -> u8 {
        if self == Part::All { 64 } else { 32 }
    }
}

/// The second operand: how many bits it has, and whether these have a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended(pub u8, pub bool);

/// What an instruction leaves in the condition code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cc {
    /// Nothing.
    Stays,
    /// Zero, less, greater, overflow.
    Signed,
    /// The first bit: not zero; the second: a carry, or no borrow.
    Carry,
    /// Zero, or not.
    Logic,
}

/// What an instruction does. Its operands are in [`super::insn::Insn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Nothing,
    Trap,
    /// Where its mask has the first three bits, everything before it is done before everything behind it.
    Serialize,
    /// The first operand becomes the second.
    Copy(Part, Extended),
    /// Likewise, with the condition code by its sign.
    Test(Part, Extended),
    /// Likewise, negated; its absolute value; that negated.
    Negate(Part, Extended),
    Absolute(Part, Extended),
    NegativeAbsolute(Part, Extended),
    /// The address of memory.
    Address,
    Bin(BinOp, Part, Extended, Cc),
    /// The same with the carry of the condition code.
    WithCarry(BinOp, Part),
    Compare(Part, Extended, bool),
    /// Of a number of 16 or 32 bits, which begins at this bit (counted from the lowest one): put into a register,
    /// alone or beside what is there; combined with what is there.
    Set(u8),
    Insert(u8, u8),
    WithPart(BinOp, u8, u8),
    /// Tests bits of a half word that begins at this bit.
    TestUnder(u8),
    InsertByte,
    Store(Part, u8),
    StoreNumber(u8),
    CompareMemory(u8, bool),
    TestMemory,
    /// Changes memory by a number, as one update if it says so.
    Update(BinOp, u8, Cc, bool),
    LoadAnd(BinOp, u8, Cc),
    /// Compares and exchanges so many bytes: of one register, or of two.
    Exchange(u8),
    ExchangePair(u8),
    TestAndSet,
    LoadPair,
    StorePair,
    LoadMany(u8),
    StoreMany(u8),
    MoveBytes,
    XorBytes,
    Shift(BinOp, Part),
    /// An arithmetic shift to the right, with the condition code by the sign.
    ShiftSigned(Part),
    Rotate(Part),
    /// Rotates and then takes bits; without an operation, they replace those that are there, or all.
    Bits(Option<BinOp>, Part, bool, Cc),
    LoadIf(Part, Extended),
    StoreIf(Part, u8),
    Select(Part),
    Mask,
    /// The product and the quotient of a pair of registers.
    MulPair,
    Divide(Part, Extended, bool),
    Leading,
    Reverse(Part),
    Branch,
    /// Branches unless a count is then 0.
    BranchCount(Part),
    CompareBranch(Part, bool),
    /// The same to an address in a register.
    CompareReturn(Part, bool),
    Call,
    CallRegister,
    JumpRegister,
    Float(Float),
}

/// What is done with registers of floating point and vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    /// Loads and stores the left half of a register, or its left quarter.
    Load(u8),
    Store(u8),
    /// Loads the left quarter, with zeros behind it.
    Lengthened,
    Copy,
    /// Copies the left quarter.
    CopyShort,
    Zero,
    /// The left quarter becomes 0.
    ZeroShort,
    FromGeneral,
    ToGeneral,
    LoadVector,
    StoreVector,
    CopyVector,
    ZeroVector,
    /// A vector of two registers; one of its halves.
    Pair,
    PutHalf,
    TakeHalf,
    Bin(BinOp),
}

use Field::{
    Bytes, Cond, Count, Count20, Data, F, Far, Indexed, Indexed20, Last, Mem, Mem20, Near, R, S, U,
    V,
};
use Part::{All, High, Low};

/// A number or register of all 32 or 64 bits; parts of one.
const W: Extended = Extended(32, false);
const G: Extended = Extended(64, false);
const GF: Extended = Extended(32, true);
const LGF: Extended = Extended(32, false);
const H: Extended = Extended(16, true);
const LH: Extended = Extended(16, false);
const B: Extended = Extended(8, true);
const LB: Extended = Extended(8, false);

const fn row(name: &'static str, value: u64, fields: &'static [Field], does: Does) -> Row {
    Row { name, value, fields, does }
}

// The places of opcodes.

const fn rr(op: u64) -> u64 {
    placed(op, 0, 8)
}

const fn rre(op: u64) -> u64 {
    placed(op, 0, 16)
}

/// Of two parts, the second one at bit 12.
const fn ri(op: u64) -> u64 {
    placed(op >> 4, 0, 8) | placed(op, 12, 4)
}

/// Of two parts, the second one at bit 40.
const fn rxy(op: u64) -> u64 {
    placed(op >> 8, 0, 8) | placed(op, 40, 8)
}

const RR: &[Field] = &[R(8), R(12)];
const RRE: &[Field] = &[R(24), R(28)];
/// The third operand is at bit 16.
const RRF: &[Field] = &[R(24), R(28), R(16)];
const RX: &[Field] = &[R(8), Indexed];
const RXY: &[Field] = &[R(8), Indexed20];
const RI: &[Field] = &[R(8), S(16, 16)];
const RIU: &[Field] = &[R(8), U(16, 16)];
const RIL: &[Field] = &[R(8), S(16, 32)];
const RILU: &[Field] = &[R(8), U(16, 32)];
const RIE: &[Field] = &[R(8), R(12), S(16, 16)];
const REL: &[Field] = &[R(8), Data];
const RS: &[Field] = &[R(8), R(12), Mem(16)];
const RSY: &[Field] = &[R(8), R(12), Mem20];
const SIL: &[Field] = &[Mem(16), S(32, 16)];
const SILU: &[Field] = &[Mem(16), U(32, 16)];
const SI: &[Field] = &[Mem(16), U(8, 8)];
const SIY: &[Field] = &[Mem20, U(8, 8)];
const SIYS: &[Field] = &[Mem20, S(8, 8)];
const SHIFT: &[Field] = &[R(8), Count];
const SHIFT3: &[Field] = &[R(8), R(12), Count20];
/// The count may be left out.
const ROTATE: &[Field] = &[R(8), R(12), U(18, 6), U(26, 6), Last(34, 6)];

const ROTATED: &[Field] = &[R(8), R(12), U(18, 6), U(26, 6), U(34, 6)];

const fn add(part: Part, from: Extended) -> Does {
    Does::Bin(BinOp::Add, part, from, Cc::Signed)
}

const fn sub(part: Part, from: Extended) -> Does {
    Does::Bin(BinOp::Sub, part, from, Cc::Signed)
}

const fn addl(part: Part, from: Extended) -> Does {
    Does::Bin(BinOp::Add, part, from, Cc::Carry)
}

const fn subl(part: Part, from: Extended) -> Does {
    Does::Bin(BinOp::Sub, part, from, Cc::Carry)
}

const fn logic(op: BinOp, part: Part, from: Extended) -> Does {
    Does::Bin(op, part, from, Cc::Logic)
}

const fn mul(part: Part, from: Extended) -> Does {
    Does::Bin(BinOp::Mul, part, from, Cc::Stays)
}

/// Every instruction; where one encoding is another one's special case, it stands first.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Branches.
    row("nopr", rr(0x07), &[R(12)], Does::Nothing),
    row("bcr", rr(0x07), &[U(8, 4), Field::None], Does::Serialize),
    row("b*r", rr(0x07), &[Cond(8), R(12)], Does::JumpRegister),
    row("basr", rr(0x0d), RR, Does::CallRegister),
    row("crb*", rxy(0xecf6), &[Cond(32), R(8), R(12), Mem(16)], Does::CompareReturn(Low, true)),
    row("cgrb*", rxy(0xece4), &[Cond(32), R(8), R(12), Mem(16)], Does::CompareReturn(All, true)),
    row("clrb*", rxy(0xecf7), &[Cond(32), R(8), R(12), Mem(16)], Does::CompareReturn(Low, false)),
    row("clgrb*", rxy(0xece5), &[Cond(32), R(8), R(12), Mem(16)], Does::CompareReturn(All, false)),
    row("cib*", rxy(0xecfe), &[Cond(12), R(8), S(32, 8), Mem(16)], Does::CompareReturn(Low, true)),
    row("cgib*", rxy(0xecfc), &[Cond(12), R(8), S(32, 8), Mem(16)], Does::CompareReturn(All, true)),
    row("clib*", rxy(0xecff), &[Cond(12), R(8), U(32, 8), Mem(16)], Does::CompareReturn(Low, false)),
    row("clgib*", rxy(0xecfd), &[Cond(12), R(8), U(32, 8), Mem(16)], Does::CompareReturn(All, false)),
    row("trap", ri(0xa74) | placed(15, 8, 4) | placed(1, 16, 16), &[], Does::Trap),
    row("j*", ri(0xa74), &[Cond(8), Near], Does::Branch),
    row("jg*", ri(0xc04), &[Cond(8), Far], Does::Branch),
    row("brasl", ri(0xc05), &[R(8), Far], Does::Call),
    row("bras", ri(0xa75), &[R(8), Near], Does::Call),
    row("brct", ri(0xa76), &[R(8), Near], Does::BranchCount(Low)),
    row("brctg", ri(0xa77), &[R(8), Near], Does::BranchCount(All)),
    row("brcth", ri(0xcc6), &[R(8), Far], Does::BranchCount(High)),
    row("crj*", rxy(0xec76), &[Cond(32), R(8), R(12), Near], Does::CompareBranch(Low, true)),
    row("cgrj*", rxy(0xec64), &[Cond(32), R(8), R(12), Near], Does::CompareBranch(All, true)),
    row("clrj*", rxy(0xec77), &[Cond(32), R(8), R(12), Near], Does::CompareBranch(Low, false)),
    row("clgrj*", rxy(0xec65), &[Cond(32), R(8), R(12), Near], Does::CompareBranch(All, false)),
    row("cij*", rxy(0xec7e), &[Cond(12), R(8), S(32, 8), Near], Does::CompareBranch(Low, true)),
    row("cgij*", rxy(0xec7c), &[Cond(12), R(8), S(32, 8), Near], Does::CompareBranch(All, true)),
    row("clij*", rxy(0xec7f), &[Cond(12), R(8), U(32, 8), Near], Does::CompareBranch(Low, false)),
    row("clgij*", rxy(0xec7d), &[Cond(12), R(8), U(32, 8), Near], Does::CompareBranch(All, false)),

    // Loads and copies.
    row("lr", rr(0x18), RR, Does::Copy(Low, W)),
    row("lgr", rre(0xb904), RRE, Does::Copy(All, G)),
    row("lgfr", rre(0xb914), RRE, Does::Copy(All, GF)),
    row("llgfr", rre(0xb916), RRE, Does::Copy(All, LGF)),
    row("lhr", rre(0xb927), RRE, Does::Copy(Low, H)),
    row("lghr", rre(0xb907), RRE, Does::Copy(All, H)),
    row("llhr", rre(0xb995), RRE, Does::Copy(Low, LH)),
    row("llghr", rre(0xb985), RRE, Does::Copy(All, LH)),
    row("lbr", rre(0xb926), RRE, Does::Copy(Low, B)),
    row("lgbr", rre(0xb906), RRE, Does::Copy(All, B)),
    row("llcr", rre(0xb994), RRE, Does::Copy(Low, LB)),
    row("llgcr", rre(0xb984), RRE, Does::Copy(All, LB)),
    row("ltr", rr(0x12), RR, Does::Test(Low, W)),
    row("ltgr", rre(0xb902), RRE, Does::Test(All, G)),
    row("ltgfr", rre(0xb912), RRE, Does::Test(All, GF)),
    row("lcr", rr(0x13), RR, Does::Negate(Low, W)),
    row("lcgr", rre(0xb903), RRE, Does::Negate(All, G)),
    row("lcgfr", rre(0xb913), RRE, Does::Negate(All, GF)),
    row("lpr", rr(0x10), RR, Does::Absolute(Low, W)),
    row("lpgr", rre(0xb900), RRE, Does::Absolute(All, G)),
    row("lpgfr", rre(0xb910), RRE, Does::Absolute(All, GF)),
    row("lnr", rr(0x11), RR, Does::NegativeAbsolute(Low, W)),
    row("lngr", rre(0xb901), RRE, Does::NegativeAbsolute(All, G)),
    row("lngfr", rre(0xb911), RRE, Does::NegativeAbsolute(All, GF)),
    row("l", rr(0x58), RX, Does::Copy(Low, W)),
    row("ly", rxy(0xe358), RXY, Does::Copy(Low, W)),
    row("lg", rxy(0xe304), RXY, Does::Copy(All, G)),
    row("lgf", rxy(0xe314), RXY, Does::Copy(All, GF)),
    row("llgf", rxy(0xe316), RXY, Does::Copy(All, LGF)),
    row("lh", rr(0x48), RX, Does::Copy(Low, H)),
    row("lhy", rxy(0xe378), RXY, Does::Copy(Low, H)),
    row("lgh", rxy(0xe315), RXY, Does::Copy(All, H)),
    row("llh", rxy(0xe395), RXY, Does::Copy(Low, LH)),
    row("llgh", rxy(0xe391), RXY, Does::Copy(All, LH)),
    row("lb", rxy(0xe376), RXY, Does::Copy(Low, B)),
    row("lgb", rxy(0xe377), RXY, Does::Copy(All, B)),
    row("llc", rxy(0xe394), RXY, Does::Copy(Low, LB)),
    row("llgc", rxy(0xe390), RXY, Does::Copy(All, LB)),
    row("lt", rxy(0xe312), RXY, Does::Test(Low, W)),
    row("ltg", rxy(0xe302), RXY, Does::Test(All, G)),
    row("ltgf", rxy(0xe332), RXY, Does::Test(All, GF)),
    row("lfh", rxy(0xe3ca), RXY, Does::Copy(High, W)),
    row("lhh", rxy(0xe3c4), RXY, Does::Copy(High, H)),
    row("llhh", rxy(0xe3c6), RXY, Does::Copy(High, LH)),
    row("lbh", rxy(0xe3c0), RXY, Does::Copy(High, B)),
    row("llch", rxy(0xe3c2), RXY, Does::Copy(High, LB)),
    row("lrl", ri(0xc4d), REL, Does::Copy(Low, W)),
    row("lgrl", ri(0xc48), REL, Does::Copy(All, G)),
    row("lgfrl", ri(0xc4c), REL, Does::Copy(All, GF)),
    row("llgfrl", ri(0xc4e), REL, Does::Copy(All, LGF)),
    row("lhrl", ri(0xc45), REL, Does::Copy(Low, H)),
    row("lghrl", ri(0xc44), REL, Does::Copy(All, H)),
    row("llhrl", ri(0xc42), REL, Does::Copy(Low, LH)),
    row("llghrl", ri(0xc46), REL, Does::Copy(All, LH)),
    row("lhi", ri(0xa78), RI, Does::Copy(Low, W)),
    row("lghi", ri(0xa79), RI, Does::Copy(All, G)),
    row("lgfi", ri(0xc01), RIL, Does::Copy(All, G)),
    row("llihh", ri(0xa5c), RIU, Does::Set(48)),
    row("llihl", ri(0xa5d), RIU, Does::Set(32)),
    row("llilh", ri(0xa5e), RIU, Does::Set(16)),
    row("llill", ri(0xa5f), RIU, Does::Set(0)),
    row("llihf", ri(0xc0e), RILU, Does::Set(32)),
    row("llilf", ri(0xc0f), RILU, Does::Set(0)),
    row("iihh", ri(0xa50), RIU, Does::Insert(48, 16)),
    row("iihl", ri(0xa51), RIU, Does::Insert(32, 16)),
    row("iilh", ri(0xa52), RIU, Does::Insert(16, 16)),
    row("iill", ri(0xa53), RIU, Does::Insert(0, 16)),
    row("iihf", ri(0xc08), RILU, Does::Insert(32, 32)),
    row("iilf", ri(0xc09), RILU, Does::Insert(0, 32)),
    row("ic", rr(0x43), RX, Does::InsertByte),
    row("icy", rxy(0xe373), RXY, Does::InsertByte),
    row("la", rr(0x41), RX, Does::Address),
    row("lay", rxy(0xe371), RXY, Does::Address),
    row("larl", ri(0xc00), REL, Does::Address),
    row("loc*", rxy(0xebf2), &[Cond(12), R(8), Mem20], Does::LoadIf(Low, W)),
    row("locg*", rxy(0xebe2), &[Cond(12), R(8), Mem20], Does::LoadIf(All, G)),
    row("locfh*", rxy(0xebe0), &[Cond(12), R(8), Mem20], Does::LoadIf(High, W)),
    row("locr*", rre(0xb9f2), &[Cond(16), R(24), R(28)], Does::LoadIf(Low, W)),
    row("locgr*", rre(0xb9e2), &[Cond(16), R(24), R(28)], Does::LoadIf(All, G)),
    row("lochi*", rxy(0xec42), &[Cond(12), R(8), S(16, 16)], Does::LoadIf(Low, W)),
    row("locghi*", rxy(0xec46), &[Cond(12), R(8), S(16, 16)], Does::LoadIf(All, G)),
    row("selr*", rre(0xb9f0), &[Cond(20), R(24), R(28), R(16)], Does::Select(Low)),
    row("selgr*", rre(0xb9e3), &[Cond(20), R(24), R(28), R(16)], Does::Select(All)),
    row("ipm", rre(0xb222), &[R(24)], Does::Mask),

    // Stores.
    row("st", rr(0x50), RX, Does::Store(Low, 4)),
    row("sty", rxy(0xe350), RXY, Does::Store(Low, 4)),
    row("stg", rxy(0xe324), RXY, Does::Store(All, 8)),
    row("sth", rr(0x40), RX, Does::Store(Low, 2)),
    row("sthy", rxy(0xe370), RXY, Does::Store(Low, 2)),
    row("stc", rr(0x42), RX, Does::Store(Low, 1)),
    row("stcy", rxy(0xe372), RXY, Does::Store(Low, 1)),
    row("stfh", rxy(0xe3cb), RXY, Does::Store(High, 4)),
    row("sthh", rxy(0xe3c7), RXY, Does::Store(High, 2)),
    row("stch", rxy(0xe3c3), RXY, Does::Store(High, 1)),
    row("strl", ri(0xc4f), REL, Does::Store(Low, 4)),
    row("stgrl", ri(0xc4b), REL, Does::Store(All, 8)),
    row("sthrl", ri(0xc47), REL, Does::Store(Low, 2)),
    row("stoc*", rxy(0xebf3), &[Cond(12), R(8), Mem20], Does::StoreIf(Low, 4)),
    row("stocg*", rxy(0xebe3), &[Cond(12), R(8), Mem20], Does::StoreIf(All, 8)),
    row("mvi", rr(0x92), SI, Does::StoreNumber(1)),
    row("mviy", rxy(0xeb52), SIY, Does::StoreNumber(1)),
    row("mvhhi", rre(0xe544), SIL, Does::StoreNumber(2)),
    row("mvhi", rre(0xe54c), SIL, Does::StoreNumber(4)),
    row("mvghi", rre(0xe548), SIL, Does::StoreNumber(8)),
    row("mvc", rr(0xd2), &[Bytes, Mem(32)], Does::MoveBytes),
    row("xc", rr(0xd7), &[Bytes, Mem(32)], Does::XorBytes),
    row("lmg", rxy(0xeb04), RSY, Does::LoadMany(8)),
    row("lm", rr(0x98), RS, Does::LoadMany(4)),
    row("stmg", rxy(0xeb24), RSY, Does::StoreMany(8)),
    row("stm", rr(0x90), RS, Does::StoreMany(4)),
    row("lpq", rxy(0xe38f), RXY, Does::LoadPair),
    row("stpq", rxy(0xe38e), RXY, Does::StorePair),

    // Arithmetic.
    row("ar", rr(0x1a), RR, add(Low, W)),
    row("agr", rre(0xb908), RRE, add(All, G)),
    row("agfr", rre(0xb918), RRE, add(All, GF)),
    row("ark", rre(0xb9f8), RRF, add(Low, W)),
    row("agrk", rre(0xb9e8), RRF, add(All, G)),
    row("a", rr(0x5a), RX, add(Low, W)),
    row("ay", rxy(0xe35a), RXY, add(Low, W)),
    row("ag", rxy(0xe308), RXY, add(All, G)),
    row("agf", rxy(0xe318), RXY, add(All, GF)),
    row("ah", rr(0x4a), RX, add(Low, H)),
    row("ahy", rxy(0xe37a), RXY, add(Low, H)),
    row("agh", rxy(0xe338), RXY, add(All, H)),
    row("ahi", ri(0xa7a), RI, add(Low, W)),
    row("aghi", ri(0xa7b), RI, add(All, G)),
    row("afi", ri(0xc29), RIL, add(Low, W)),
    row("agfi", ri(0xc28), RIL, add(All, G)),
    row("aih", ri(0xcc8), RIL, add(High, W)),
    row("ahik", rxy(0xecd8), RIE, add(Low, W)),
    row("aghik", rxy(0xecd9), RIE, add(All, G)),
    row("alr", rr(0x1e), RR, addl(Low, W)),
    row("algr", rre(0xb90a), RRE, addl(All, G)),
    row("algfr", rre(0xb91a), RRE, addl(All, LGF)),
    row("alrk", rre(0xb9fa), RRF, addl(Low, W)),
    row("algrk", rre(0xb9ea), RRF, addl(All, G)),
    row("al", rr(0x5e), RX, addl(Low, W)),
    row("aly", rxy(0xe35e), RXY, addl(Low, W)),
    row("alg", rxy(0xe30a), RXY, addl(All, G)),
    row("algf", rxy(0xe31a), RXY, addl(All, LGF)),
    row("alfi", ri(0xc2b), RILU, addl(Low, W)),
    row("algfi", ri(0xc2a), RILU, addl(All, G)),
    row("alhsik", rxy(0xecda), RIE, addl(Low, W)),
    row("alghsik", rxy(0xecdb), RIE, addl(All, G)),
    row("alcr", rre(0xb998), RRE, Does::WithCarry(BinOp::Add, Low)),
    row("alcgr", rre(0xb988), RRE, Does::WithCarry(BinOp::Add, All)),
    row("sr", rr(0x1b), RR, sub(Low, W)),
    row("sgr", rre(0xb909), RRE, sub(All, G)),
    row("sgfr", rre(0xb919), RRE, sub(All, GF)),
    row("srk", rre(0xb9f9), RRF, sub(Low, W)),
    row("sgrk", rre(0xb9e9), RRF, sub(All, G)),
    row("s", rr(0x5b), RX, sub(Low, W)),
    row("sy", rxy(0xe35b), RXY, sub(Low, W)),
    row("sg", rxy(0xe309), RXY, sub(All, G)),
    row("sgf", rxy(0xe319), RXY, sub(All, GF)),
    row("sh", rr(0x4b), RX, sub(Low, H)),
    row("shy", rxy(0xe37b), RXY, sub(Low, H)),
    row("slr", rr(0x1f), RR, subl(Low, W)),
    row("slgr", rre(0xb90b), RRE, subl(All, G)),
    row("slgfr", rre(0xb91b), RRE, subl(All, LGF)),
    row("slrk", rre(0xb9fb), RRF, subl(Low, W)),
    row("slgrk", rre(0xb9eb), RRF, subl(All, G)),
    row("sl", rr(0x5f), RX, subl(Low, W)),
    row("sly", rxy(0xe35f), RXY, subl(Low, W)),
    row("slg", rxy(0xe30b), RXY, subl(All, G)),
    row("slgf", rxy(0xe31b), RXY, subl(All, LGF)),
    row("slfi", ri(0xc25), RILU, subl(Low, W)),
    row("slgfi", ri(0xc24), RILU, subl(All, G)),
    row("slbr", rre(0xb999), RRE, Does::WithCarry(BinOp::Sub, Low)),
    row("slbgr", rre(0xb989), RRE, Does::WithCarry(BinOp::Sub, All)),
    row("msr", rre(0xb252), RRE, mul(Low, W)),
    row("msgr", rre(0xb90c), RRE, mul(All, G)),
    row("msgfr", rre(0xb91c), RRE, mul(All, GF)),
    row("ms", rr(0x71), RX, mul(Low, W)),
    row("msy", rxy(0xe351), RXY, mul(Low, W)),
    row("msg", rxy(0xe30c), RXY, mul(All, G)),
    row("mh", rr(0x4c), RX, mul(Low, H)),
    row("mhi", ri(0xa7c), RI, mul(Low, W)),
    row("mghi", ri(0xa7d), RI, mul(All, G)),
    row("msfi", ri(0xc21), RIL, mul(Low, W)),
    row("msgfi", ri(0xc20), RIL, mul(All, G)),
    row("mlgr", rre(0xb986), RRE, Does::MulPair),
    row("dsgr", rre(0xb90d), RRE, Does::Divide(All, G, true)),
    row("dsgfr", rre(0xb91d), RRE, Does::Divide(All, GF, true)),

    // Logic.
    row("nr", rr(0x14), RR, logic(BinOp::And, Low, W)),
    row("ngr", rre(0xb980), RRE, logic(BinOp::And, All, G)),
    row("nrk", rre(0xb9f4), RRF, logic(BinOp::And, Low, W)),
    row("ngrk", rre(0xb9e4), RRF, logic(BinOp::And, All, G)),
    row("n", rr(0x54), RX, logic(BinOp::And, Low, W)),
    row("ny", rxy(0xe354), RXY, logic(BinOp::And, Low, W)),
    row("ng", rxy(0xe380), RXY, logic(BinOp::And, All, G)),
    row("or", rr(0x16), RR, logic(BinOp::Or, Low, W)),
    row("ogr", rre(0xb981), RRE, logic(BinOp::Or, All, G)),
    row("ork", rre(0xb9f6), RRF, logic(BinOp::Or, Low, W)),
    row("ogrk", rre(0xb9e6), RRF, logic(BinOp::Or, All, G)),
    row("o", rr(0x56), RX, logic(BinOp::Or, Low, W)),
    row("oy", rxy(0xe356), RXY, logic(BinOp::Or, Low, W)),
    row("og", rxy(0xe381), RXY, logic(BinOp::Or, All, G)),
    row("xr", rr(0x17), RR, logic(BinOp::Xor, Low, W)),
    row("xgr", rre(0xb982), RRE, logic(BinOp::Xor, All, G)),
    row("xrk", rre(0xb9f7), RRF, logic(BinOp::Xor, Low, W)),
    row("xgrk", rre(0xb9e7), RRF, logic(BinOp::Xor, All, G)),
    row("x", rr(0x57), RX, logic(BinOp::Xor, Low, W)),
    row("xy", rxy(0xe357), RXY, logic(BinOp::Xor, Low, W)),
    row("xg", rxy(0xe382), RXY, logic(BinOp::Xor, All, G)),
    row("nihh", ri(0xa54), RIU, Does::WithPart(BinOp::And, 48, 16)),
    row("nihl", ri(0xa55), RIU, Does::WithPart(BinOp::And, 32, 16)),
    row("nilh", ri(0xa56), RIU, Does::WithPart(BinOp::And, 16, 16)),
    row("nill", ri(0xa57), RIU, Does::WithPart(BinOp::And, 0, 16)),
    row("nihf", ri(0xc0a), RILU, Does::WithPart(BinOp::And, 32, 32)),
    row("nilf", ri(0xc0b), RILU, Does::WithPart(BinOp::And, 0, 32)),
    row("oihh", ri(0xa58), RIU, Does::WithPart(BinOp::Or, 48, 16)),
    row("oihl", ri(0xa59), RIU, Does::WithPart(BinOp::Or, 32, 16)),
    row("oilh", ri(0xa5a), RIU, Does::WithPart(BinOp::Or, 16, 16)),
    row("oill", ri(0xa5b), RIU, Does::WithPart(BinOp::Or, 0, 16)),
    row("oihf", ri(0xc0c), RILU, Does::WithPart(BinOp::Or, 32, 32)),
    row("oilf", ri(0xc0d), RILU, Does::WithPart(BinOp::Or, 0, 32)),
    row("xihf", ri(0xc06), RILU, Does::WithPart(BinOp::Xor, 32, 32)),
    row("xilf", ri(0xc07), RILU, Does::WithPart(BinOp::Xor, 0, 32)),
    row("flogr", rre(0xb983), RRE, Does::Leading),
    row("lrvr", rre(0xb91f), RRE, Does::Reverse(Low)),
    row("lrvgr", rre(0xb90f), RRE, Does::Reverse(All)),

    // Comparisons.
    row("cr", rr(0x19), RR, Does::Compare(Low, W, true)),
    row("cgr", rre(0xb920), RRE, Does::Compare(All, G, true)),
    row("cgfr", rre(0xb930), RRE, Does::Compare(All, GF, true)),
    row("c", rr(0x59), RX, Does::Compare(Low, W, true)),
    row("cy", rxy(0xe359), RXY, Does::Compare(Low, W, true)),
    row("cg", rxy(0xe320), RXY, Does::Compare(All, G, true)),
    row("cgf", rxy(0xe330), RXY, Does::Compare(All, GF, true)),
    row("ch", rr(0x49), RX, Does::Compare(Low, H, true)),
    row("chy", rxy(0xe379), RXY, Does::Compare(Low, H, true)),
    row("cgh", rxy(0xe334), RXY, Does::Compare(All, H, true)),
    row("chf", rxy(0xe3cd), RXY, Does::Compare(High, W, true)),
    row("chi", ri(0xa7e), RI, Does::Compare(Low, W, true)),
    row("cghi", ri(0xa7f), RI, Does::Compare(All, G, true)),
    row("cfi", ri(0xc2d), RIL, Does::Compare(Low, W, true)),
    row("cgfi", ri(0xc2c), RIL, Does::Compare(All, G, true)),
    row("cih", ri(0xccd), RIL, Does::Compare(High, W, true)),
    row("crl", ri(0xc6d), REL, Does::Compare(Low, W, true)),
    row("cgrl", ri(0xc68), REL, Does::Compare(All, G, true)),
    row("cgfrl", ri(0xc6c), REL, Does::Compare(All, GF, true)),
    row("chrl", ri(0xc65), REL, Does::Compare(Low, H, true)),
    row("cghrl", ri(0xc64), REL, Does::Compare(All, H, true)),
    row("clr", rr(0x15), RR, Does::Compare(Low, W, false)),
    row("clgr", rre(0xb921), RRE, Does::Compare(All, G, false)),
    row("clgfr", rre(0xb931), RRE, Does::Compare(All, LGF, false)),
    row("cl", rr(0x55), RX, Does::Compare(Low, W, false)),
    row("cly", rxy(0xe355), RXY, Does::Compare(Low, W, false)),
    row("clg", rxy(0xe321), RXY, Does::Compare(All, G, false)),
    row("clgf", rxy(0xe331), RXY, Does::Compare(All, LGF, false)),
    row("clhf", rxy(0xe3cf), RXY, Does::Compare(High, W, false)),
    row("clfi", ri(0xc2f), RILU, Does::Compare(Low, W, false)),
    row("clgfi", ri(0xc2e), RILU, Does::Compare(All, G, false)),
    row("clih", ri(0xccf), RILU, Does::Compare(High, W, false)),
    row("clrl", ri(0xc6f), REL, Does::Compare(Low, W, false)),
    row("clgrl", ri(0xc6a), REL, Does::Compare(All, G, false)),
    row("clgfrl", ri(0xc6e), REL, Does::Compare(All, LGF, false)),
    row("clhrl", ri(0xc67), REL, Does::Compare(Low, LH, false)),
    row("clghrl", ri(0xc66), REL, Does::Compare(All, LH, false)),
    row("cli", rr(0x95), SI, Does::CompareMemory(1, false)),
    row("cliy", rxy(0xeb55), SIY, Does::CompareMemory(1, false)),
    row("chhsi", rre(0xe554), SIL, Does::CompareMemory(2, true)),
    row("chsi", rre(0xe55c), SIL, Does::CompareMemory(4, true)),
    row("cghsi", rre(0xe558), SIL, Does::CompareMemory(8, true)),
    row("clhhsi", rre(0xe555), SILU, Does::CompareMemory(2, false)),
    row("clfhsi", rre(0xe55d), SILU, Does::CompareMemory(4, false)),
    row("clghsi", rre(0xe559), SILU, Does::CompareMemory(8, false)),
    row("tm", rr(0x91), SI, Does::TestMemory),
    row("tmy", rxy(0xeb51), SIY, Does::TestMemory),
    row("tmhh", ri(0xa72), RIU, Does::TestUnder(48)),
    row("tmhl", ri(0xa73), RIU, Does::TestUnder(32)),
    row("tmlh", ri(0xa70), RIU, Does::TestUnder(16)),
    row("tmll", ri(0xa71), RIU, Does::TestUnder(0)),

    // Shifts and parts of registers.
    row("sll", rr(0x89), SHIFT, Does::Shift(BinOp::Shl, Low)),
    row("srl", rr(0x88), SHIFT, Does::Shift(BinOp::Shr, Low)),
    row("sra", rr(0x8a), SHIFT, Does::ShiftSigned(Low)),
    row("sllk", rxy(0xebdf), SHIFT3, Does::Shift(BinOp::Shl, Low)),
    row("srlk", rxy(0xebde), SHIFT3, Does::Shift(BinOp::Shr, Low)),
    row("srak", rxy(0xebdc), SHIFT3, Does::ShiftSigned(Low)),
    row("sllg", rxy(0xeb0d), SHIFT3, Does::Shift(BinOp::Shl, All)),
    row("srlg", rxy(0xeb0c), SHIFT3, Does::Shift(BinOp::Shr, All)),
    row("srag", rxy(0xeb0a), SHIFT3, Does::ShiftSigned(All)),
    row("rll", rxy(0xeb1d), SHIFT3, Does::Rotate(Low)),
    row("rllg", rxy(0xeb1c), SHIFT3, Does::Rotate(All)),
    row("risbgz", rxy(0xec55) | placed(1, 24, 1), ROTATE, Does::Bits(None, All, true, Cc::Signed)),
    row("risbg", rxy(0xec55), ROTATE, Does::Bits(None, All, false, Cc::Signed)),
    row("risbgnz", rxy(0xec59) | placed(1, 24, 1), ROTATE, Does::Bits(None, All, true, Cc::Stays)),
    row("risbgn", rxy(0xec59), ROTATE, Does::Bits(None, All, false, Cc::Stays)),
    row("risbhgz", rxy(0xec5d) | placed(1, 24, 1), ROTATE, Does::Bits(None, High, true, Cc::Stays)),
    row("risbhg", rxy(0xec5d), ROTATE, Does::Bits(None, High, false, Cc::Stays)),
    row("risblgz", rxy(0xec51) | placed(1, 24, 1), ROTATE, Does::Bits(None, Low, true, Cc::Stays)),
    row("risblg", rxy(0xec51), ROTATE, Does::Bits(None, Low, false, Cc::Stays)),
    row("rnsbg", rxy(0xec54), ROTATED, Does::Bits(Some(BinOp::And), All, false, Cc::Logic)),
    row("rosbg", rxy(0xec56), ROTATED, Does::Bits(Some(BinOp::Or), All, false, Cc::Logic)),
    row("rxsbg", rxy(0xec57), ROTATED, Does::Bits(Some(BinOp::Xor), All, false, Cc::Logic)),

    // Updates of memory. Those of bytes are one update on later processors only.
    row("asi", rxy(0xeb6a), SIYS, Does::Update(BinOp::Add, 4, Cc::Signed, true)),
    row("agsi", rxy(0xeb7a), SIYS, Does::Update(BinOp::Add, 8, Cc::Signed, true)),
    row("alsi", rxy(0xeb6e), SIYS, Does::Update(BinOp::Add, 4, Cc::Carry, true)),
    row("algsi", rxy(0xeb7e), SIYS, Does::Update(BinOp::Add, 8, Cc::Carry, true)),
    row("ni", rr(0x94), SI, Does::Update(BinOp::And, 1, Cc::Logic, false)),
    row("niy", rxy(0xeb54), SIY, Does::Update(BinOp::And, 1, Cc::Logic, false)),
    row("oi", rr(0x96), SI, Does::Update(BinOp::Or, 1, Cc::Logic, false)),
    row("oiy", rxy(0xeb56), SIY, Does::Update(BinOp::Or, 1, Cc::Logic, false)),
    row("xi", rr(0x97), SI, Does::Update(BinOp::Xor, 1, Cc::Logic, false)),
    row("xiy", rxy(0xeb57), SIY, Does::Update(BinOp::Xor, 1, Cc::Logic, false)),
    row("laa", rxy(0xebf8), RSY, Does::LoadAnd(BinOp::Add, 4, Cc::Signed)),
    row("laag", rxy(0xebe8), RSY, Does::LoadAnd(BinOp::Add, 8, Cc::Signed)),
    row("laal", rxy(0xebfa), RSY, Does::LoadAnd(BinOp::Add, 4, Cc::Carry)),
    row("laalg", rxy(0xebea), RSY, Does::LoadAnd(BinOp::Add, 8, Cc::Carry)),
    row("lan", rxy(0xebf4), RSY, Does::LoadAnd(BinOp::And, 4, Cc::Logic)),
    row("lang", rxy(0xebe4), RSY, Does::LoadAnd(BinOp::And, 8, Cc::Logic)),
    row("lao", rxy(0xebf6), RSY, Does::LoadAnd(BinOp::Or, 4, Cc::Logic)),
    row("laog", rxy(0xebe6), RSY, Does::LoadAnd(BinOp::Or, 8, Cc::Logic)),
    row("lax", rxy(0xebf7), RSY, Does::LoadAnd(BinOp::Xor, 4, Cc::Logic)),
    row("laxg", rxy(0xebe7), RSY, Does::LoadAnd(BinOp::Xor, 8, Cc::Logic)),
    row("cs", rr(0xba), RS, Does::Exchange(4)),
    row("csy", rxy(0xeb14), RSY, Does::Exchange(4)),
    row("csg", rxy(0xeb30), RSY, Does::Exchange(8)),
    row("cds", rr(0xbb), RS, Does::ExchangePair(8)),
    row("cdsy", rxy(0xeb31), RSY, Does::ExchangePair(8)),
    row("cdsg", rxy(0xeb3e), RSY, Does::ExchangePair(16)),
    row("ts", rre(0x9300), &[Mem(16)], Does::TestAndSet),

    // Floating point and vectors: moves.
    row("le", rr(0x78), &[F(8), Indexed], Does::Float(Float::Load(4))),
    row("ley", rxy(0xed64), &[F(8), Indexed20], Does::Float(Float::Load(4))),
    row("lde", placed(0xed, 0, 8) | placed(0x24, 40, 8), &[F(8), Indexed], Does::Float(Float::Lengthened)),
    row("ld", rr(0x68), &[F(8), Indexed], Does::Float(Float::Load(8))),
    row("ldy", rxy(0xed65), &[F(8), Indexed20], Does::Float(Float::Load(8))),
    row("ste", rr(0x70), &[F(8), Indexed], Does::Float(Float::Store(4))),
    row("stey", rxy(0xed66), &[F(8), Indexed20], Does::Float(Float::Store(4))),
    row("std", rr(0x60), &[F(8), Indexed], Does::Float(Float::Store(8))),
    row("stdy", rxy(0xed67), &[F(8), Indexed20], Does::Float(Float::Store(8))),
    row("ler", rr(0x38), &[F(8), F(12)], Does::Float(Float::CopyShort)),
    row("ldr", rr(0x28), &[F(8), F(12)], Does::Float(Float::Copy)),
    row("lzer", rre(0xb374), &[F(24)], Does::Float(Float::ZeroShort)),
    row("lzdr", rre(0xb375), &[F(24)], Does::Float(Float::Zero)),
    row("ldgr", rre(0xb3c1), &[F(24), R(28)], Does::Float(Float::FromGeneral)),
    row("lgdr", rre(0xb3cd), &[R(24), F(28)], Does::Float(Float::ToGeneral)),
    row("vl", rxy(0xe706), &[V(8, 36), Indexed, Last(32, 4)], Does::Float(Float::LoadVector)),
    row("vst", rxy(0xe70e), &[V(8, 36), Indexed, Last(32, 4)], Does::Float(Float::StoreVector)),
    row("vlr", rxy(0xe756), &[V(8, 36), V(12, 37)], Does::Float(Float::CopyVector)),
    row("vzero", rxy(0xe744), &[V(8, 36)], Does::Float(Float::ZeroVector)),
    row("vlvgp", rxy(0xe762), &[V(8, 36), R(12), R(16)], Does::Float(Float::Pair)),
    row("vlvgg", rxy(0xe722) | placed(3, 32, 4), &[V(8, 36), R(12), Count], Does::Float(Float::PutHalf)),
    row("vlgvg", rxy(0xe721) | placed(3, 32, 4), &[R(8), V(12, 37), Count], Does::Float(Float::TakeHalf)),
    row("vn", rxy(0xe768), &[V(8, 36), V(12, 37), V(16, 38)], Does::Float(Float::Bin(BinOp::And))),
    row("vo", rxy(0xe76a), &[V(8, 36), V(12, 37), V(16, 38)], Does::Float(Float::Bin(BinOp::Or))),
    row("vx", rxy(0xe76d), &[V(8, 36), V(12, 37), V(16, 38)], Does::Float(Float::Bin(BinOp::Xor))),
    row("vaq", rxy(0xe7f3) | placed(4, 32, 4), &[V(8, 36), V(12, 37), V(16, 38)], Does::Float(Float::Bin(BinOp::Add))),
    row("vsq", rxy(0xe7f7) | placed(4, 32, 4), &[V(8, 36), V(12, 37), V(16, 38)], Does::Float(Float::Bin(BinOp::Sub))),
];

/// The names of conditions by their masks, of which the highest bit is for the condition code 0.
pub const CONDITIONS: &[(&str, u8)] = &[
    ("o", 1),
    ("h", 2),
    ("nle", 3),
    ("l", 4),
    ("nhe", 5),
    ("lh", 6),
    ("ne", 7),
    ("e", 8),
    ("nlh", 9),
    ("he", 10),
    ("nl", 11),
    ("le", 12),
    ("nh", 13),
    ("no", 14),
    ("", 15),
];

/// Other names.
pub const ALIASES: &[(&str, u8)] =
    &[("z", 8), ("nz", 7), ("p", 2), ("m", 4), ("np", 13), ("nm", 11)];
