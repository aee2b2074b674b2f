//! LoongArch instructions as rows: name, encoding, operands in the order in which they are written, and what
//! the instruction does. The decoder and the reader of text share them. It does not know micro-ops, but for
//! the operations that they name.

use litmake_ops::BinOp;

/// One instruction. The bits of `value` that no operand takes are fixed.
pub struct Row {
    pub name: &'static str,
    pub value: u32,
    pub fields: &'static [Field],
    pub does: Does,
}

impl Row {
    /// Whether a word encodes this instruction.
    pub fn is(&self, word: u32) -> bool {
        word & !self.taken() == self.value
    }

    /// The bits that operands take.
    fn taken(&self) -> u32 {
        self.fields.iter().fold(0, |taken, field| taken | field.bits())
    }

    /// The instruction with these bits for its operands.
    #[cfg(test)]
    pub fn with(&self, bits: u32) -> u32 {
        self.value | bits & self.taken()
    }
}

/// An operand, or two that belong together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Rd,
    Rj,
    Rk,
    /// Registers for floating point, which are the low halves of vector registers.
    Fd,
    Fj,
    Vd,
    Vj,
    /// A number without a sign: its lowest bit, and how many bits it has.
    Unsigned(u32, u32),
    /// A number with a sign, likewise.
    Signed(u32, u32),
    /// The count of `alsl`, of which the encoding has one less.
    Count,
    /// A base register with an offset of 12 bits.
    Mem12,
    /// A base register with an offset of 14 bits, in words.
    Mem14,
    /// A base register with an offset of 8 bits, in double words.
    Mem8,
    /// A base register and an index register.
    Indexed,
    /// A base register alone. Assemblers take a 0 behind it.
    Base,
    /// The register that a jump goes to, with a distance in instructions.
    Place,
    /// The target of a branch: 16, 21 and 26 bits, in instructions.
    Near,
    Far,
    Farthest,
}

impl Field {
    /// The bits of an encoding that it takes.
    const fn bits(self) -> u32 {
        match self {
            Field::Rd | Field::Fd | Field::Vd => 0x1f,
            Field::Rj | Field::Fj | Field::Vj | Field::Base => 0x1f << 5,
            Field::Rk => 0x1f << 10,
            Field::Unsigned(low, bits) | Field::Signed(low, bits) => ((1 << bits) - 1) << low,
            Field::Count => 3 << 15,
            Field::Mem12 => 0x1f << 5 | 0xfff << 10,
            Field::Mem14 => 0x1f << 5 | 0x3fff << 10,
            Field::Mem8 => 0x1f << 5 | 0xff << 10,
            Field::Indexed => 0x1f << 5 | 0x1f << 10,
            Field::Place => 0x1f << 5 | 0xffff << 10,
            Field::Near => 0xffff << 10,
            Field::Far => 0xffff << 10 | 0x1f,
            Field::Farthest => 0x03ff_ffff,
        }
    }
}

/// Operations on two values, in 64 bits or (sign-extended then) in 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op2 {
    /// One whose meaning is a micro-op's.
    Bin(BinOp),
    /// Shifts and rotations, whose counts are masked.
    Shift(BinOp),
    Nor,
    AndNot,
    OrNot,
    /// The product of the low halves.
    MulHalves {
        signed: bool,
    },
    Divide(BinOp),
    /// The first operand, or 0 where the second is 0 (or is not).
    ZeroIf {
        zero: bool,
    },
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op1 {
    LeadingOnes,
    LeadingZeros,
    TrailingOnes,
    TrailingZeros,
    /// Extends the low bits, with their sign.
    Extend(u8),
    /// Reverses the bits of the whole.
    ReverseBits,
    /// Reverses what is in each part of so many bits: the units of so many bits.
    Reverse {
        part: u8,
        unit: u8,
    },
}

/// Which bits of a register a constant sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upper {
    /// `lu12i.w`: bits 12 to 31, with zeros below and the sign above.
    Word,
    /// `lu32i.d`: bits 32 to 51 with the sign above; those below stay.
    Middle,
    /// `lu52i.d`: bits 52 to 63; those below are another register's.
    Top,
    /// `addu16i.d`: adds it from bit 16 up.
    Add,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amo {
    Swap,
    Op(BinOp),
}

/// Moves of vector registers, whose low parts floating point has: nothing else is done with them here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vector {
    /// So many bytes; the rest of the register is 0 here, and no compiler looks at it.
    Load(u8),
    Store(u8),
    /// So many bits of a general register to the lowest ones of a vector register, and back.
    To(u8),
    From(u8),
    Copy,
    /// A constant or a general register in all parts.
    Fill,
    Spread,
    /// One of the halves to a general register and to memory, and from a general register.
    Pick,
    StoreHalf,
    Put,
}

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Nothing,
    Trap,
    Op2(Op2, u8),
    Op1(Op1, u8),
    /// The first register, shifted left, plus the second one; the sum's bits, and whether it has a sign.
    ShiftAdd(u8, bool),
    /// The bytes from the middle of two registers, of so many bits each.
    BytePick(u8),
    Insert(u8),
    Extract(u8),
    Upper(Upper),
    /// Computes from its own address.
    Relative,
    Load(u8, bool),
    Store(u8),
    /// With an acquire or not.
    LoadLinked(u8, bool),
    /// With a release or not.
    StoreConditional(u8, bool),
    /// A store conditional of two registers.
    StorePair,
    /// With a full barrier or not.
    Amo(Amo, u8, bool),
    /// Compares with the target register, and swaps.
    Cas(u8, bool),
    Barrier,
    /// Branches where the comparison holds, or where it does not.
    Branch(BinOp, bool),
    /// Branches where the register is 0, or where it is not.
    BranchZero(bool),
    /// Jumps, with the return address in its register or not.
    Jump(bool),
    JumpRegister,
    Vector(Vector),
}

use Does as D;
use Field::{
    Base, Count, Far, Farthest, Fd, Fj, Indexed, Mem8, Mem12, Mem14, Near, Place, Rd, Rj, Rk,
    Signed, Unsigned, Vd, Vj,
};

const R2: &[Field] = &[Rd, Rj];
const R3: &[Field] = &[Rd, Rj, Rk];
const I12: &[Field] = &[Rd, Rj, Signed(10, 12)];
const U12: &[Field] = &[Rd, Rj, Unsigned(10, 12)];
const U5: &[Field] = &[Rd, Rj, Unsigned(10, 5)];
const U6: &[Field] = &[Rd, Rj, Unsigned(10, 6)];
const I20: &[Field] = &[Rd, Signed(5, 20)];
const R3C: &[Field] = &[Rd, Rj, Rk, Count];
const BITS_W: &[Field] = &[Rd, Rj, Unsigned(16, 5), Unsigned(10, 5)];
const BITS_D: &[Field] = &[Rd, Rj, Unsigned(16, 6), Unsigned(10, 6)];
const M12: &[Field] = &[Rd, Mem12];
const M14: &[Field] = &[Rd, Mem14];
const MX: &[Field] = &[Rd, Indexed];
const A: &[Field] = &[Rd, Rk, Base];
const BARE: &[Field] = &[Rd, Base];
const CODE: &[Field] = &[Unsigned(0, 15)];
const B: &[Field] = &[Rj, Rd, Near];
const BZ: &[Field] = &[Rj, Far];

const fn row(name: &'static str, value: u32, fields: &'static [Field], does: Does) -> Row {
    Row { name, value, fields, does }
}

const fn op(op: BinOp) -> Op2 {
    Op2::Bin(op)
}

const fn shift(op: BinOp, bits: u8) -> Does {
    D::Op2(Op2::Shift(op), bits)
}

const fn reverse(part: u8, unit: u8) -> Does {
    D::Op1(Op1::Reverse { part, unit }, 64)
}

const fn amo(op: BinOp, bytes: u8, barrier: bool) -> Does {
    D::Amo(Amo::Op(op), bytes, barrier)
}

const fn swap(bytes: u8, barrier: bool) -> Does {
    D::Amo(Amo::Swap, bytes, barrier)
}

/// LA64 of the manual's version 1.0, of floating point and vectors moves alone, and the atomics of 1.1.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // One register.
    row("clo.w", 0x0000_1000, R2, D::Op1(Op1::LeadingOnes, 32)),
    row("clz.w", 0x0000_1400, R2, D::Op1(Op1::LeadingZeros, 32)),
    row("cto.w", 0x0000_1800, R2, D::Op1(Op1::TrailingOnes, 32)),
    row("ctz.w", 0x0000_1c00, R2, D::Op1(Op1::TrailingZeros, 32)),
    row("clo.d", 0x0000_2000, R2, D::Op1(Op1::LeadingOnes, 64)),
    row("clz.d", 0x0000_2400, R2, D::Op1(Op1::LeadingZeros, 64)),
    row("cto.d", 0x0000_2800, R2, D::Op1(Op1::TrailingOnes, 64)),
    row("ctz.d", 0x0000_2c00, R2, D::Op1(Op1::TrailingZeros, 64)),
    row("revb.2h", 0x0000_3000, R2, D::Op1(Op1::Reverse { part: 16, unit: 8 }, 32)),
    row("revb.4h", 0x0000_3400, R2, reverse(16, 8)),
    row("revb.2w", 0x0000_3800, R2, reverse(32, 8)),
    row("revb.d", 0x0000_3c00, R2, reverse(64, 8)),
    row("revh.2w", 0x0000_4000, R2, reverse(32, 16)),
    row("revh.d", 0x0000_4400, R2, reverse(64, 16)),
    row("bitrev.4b", 0x0000_4800, R2, D::Op1(Op1::Reverse { part: 8, unit: 1 }, 32)),
    row("bitrev.8b", 0x0000_4c00, R2, reverse(8, 1)),
    row("bitrev.w", 0x0000_5000, R2, D::Op1(Op1::ReverseBits, 32)),
    row("bitrev.d", 0x0000_5400, R2, D::Op1(Op1::ReverseBits, 64)),
    row("ext.w.h", 0x0000_5800, R2, D::Op1(Op1::Extend(16), 64)),
    row("ext.w.b", 0x0000_5c00, R2, D::Op1(Op1::Extend(8), 64)),
    // Two registers.
    row("alsl.w", 0x0004_0000, R3C, D::ShiftAdd(32, true)),
    row("alsl.wu", 0x0006_0000, R3C, D::ShiftAdd(32, false)),
    row("alsl.d", 0x002c_0000, R3C, D::ShiftAdd(64, true)),
    row("bytepick.w", 0x0008_0000, &[Rd, Rj, Rk, Unsigned(15, 2)], D::BytePick(32)),
    row("bytepick.d", 0x000c_0000, &[Rd, Rj, Rk, Unsigned(15, 3)], D::BytePick(64)),
    row("add.w", 0x0010_0000, R3, D::Op2(op(BinOp::Add), 32)),
    row("add.d", 0x0010_8000, R3, D::Op2(op(BinOp::Add), 64)),
    row("sub.w", 0x0011_0000, R3, D::Op2(op(BinOp::Sub), 32)),
    row("sub.d", 0x0011_8000, R3, D::Op2(op(BinOp::Sub), 64)),
    row("slt", 0x0012_0000, R3, D::Op2(op(BinOp::LtS), 64)),
    row("sltu", 0x0012_8000, R3, D::Op2(op(BinOp::LtU), 64)),
    row("maskeqz", 0x0013_0000, R3, D::Op2(Op2::ZeroIf { zero: true }, 64)),
    row("masknez", 0x0013_8000, R3, D::Op2(Op2::ZeroIf { zero: false }, 64)),
    row("nor", 0x0014_0000, R3, D::Op2(Op2::Nor, 64)),
    row("and", 0x0014_8000, R3, D::Op2(op(BinOp::And), 64)),
    row("or", 0x0015_0000, R3, D::Op2(op(BinOp::Or), 64)),
    row("xor", 0x0015_8000, R3, D::Op2(op(BinOp::Xor), 64)),
    row("orn", 0x0016_0000, R3, D::Op2(Op2::OrNot, 64)),
    row("andn", 0x0016_8000, R3, D::Op2(Op2::AndNot, 64)),
    row("sll.w", 0x0017_0000, R3, shift(BinOp::Shl, 32)),
    row("srl.w", 0x0017_8000, R3, shift(BinOp::Shr, 32)),
    row("sra.w", 0x0018_0000, R3, shift(BinOp::Sar, 32)),
    row("sll.d", 0x0018_8000, R3, shift(BinOp::Shl, 64)),
    row("srl.d", 0x0019_0000, R3, shift(BinOp::Shr, 64)),
    row("sra.d", 0x0019_8000, R3, shift(BinOp::Sar, 64)),
    row("rotr.w", 0x001b_0000, R3, shift(BinOp::Ror, 32)),
    row("rotr.d", 0x001b_8000, R3, shift(BinOp::Ror, 64)),
    row("mul.w", 0x001c_0000, R3, D::Op2(op(BinOp::Mul), 32)),
    row("mulh.w", 0x001c_8000, R3, D::Op2(op(BinOp::MulHiS), 32)),
    row("mulh.wu", 0x001d_0000, R3, D::Op2(op(BinOp::MulHiU), 32)),
    row("mul.d", 0x001d_8000, R3, D::Op2(op(BinOp::Mul), 64)),
    row("mulh.d", 0x001e_0000, R3, D::Op2(op(BinOp::MulHiS), 64)),
    row("mulh.du", 0x001e_8000, R3, D::Op2(op(BinOp::MulHiU), 64)),
    row("mulw.d.w", 0x001f_0000, R3, D::Op2(Op2::MulHalves { signed: true }, 64)),
    row("mulw.d.wu", 0x001f_8000, R3, D::Op2(Op2::MulHalves { signed: false }, 64)),
    row("div.w", 0x0020_0000, R3, D::Op2(Op2::Divide(BinOp::DivS), 32)),
    row("mod.w", 0x0020_8000, R3, D::Op2(Op2::Divide(BinOp::RemS), 32)),
    row("div.wu", 0x0021_0000, R3, D::Op2(Op2::Divide(BinOp::DivU), 32)),
    row("mod.wu", 0x0021_8000, R3, D::Op2(Op2::Divide(BinOp::RemU), 32)),
    row("div.d", 0x0022_0000, R3, D::Op2(Op2::Divide(BinOp::DivS), 64)),
    row("mod.d", 0x0022_8000, R3, D::Op2(Op2::Divide(BinOp::RemS), 64)),
    row("div.du", 0x0023_0000, R3, D::Op2(Op2::Divide(BinOp::DivU), 64)),
    row("mod.du", 0x0023_8000, R3, D::Op2(Op2::Divide(BinOp::RemU), 64)),
    // A register and a constant.
    row("slli.w", 0x0040_8000, U5, shift(BinOp::Shl, 32)),
    row("slli.d", 0x0041_0000, U6, shift(BinOp::Shl, 64)),
    row("srli.w", 0x0044_8000, U5, shift(BinOp::Shr, 32)),
    row("srli.d", 0x0045_0000, U6, shift(BinOp::Shr, 64)),
    row("srai.w", 0x0048_8000, U5, shift(BinOp::Sar, 32)),
    row("srai.d", 0x0049_0000, U6, shift(BinOp::Sar, 64)),
    row("rotri.w", 0x004c_8000, U5, shift(BinOp::Ror, 32)),
    row("rotri.d", 0x004d_0000, U6, shift(BinOp::Ror, 64)),
    row("bstrins.w", 0x0060_0000, BITS_W, D::Insert(32)),
    row("bstrpick.w", 0x0060_8000, BITS_W, D::Extract(32)),
    row("bstrins.d", 0x0080_0000, BITS_D, D::Insert(64)),
    row("bstrpick.d", 0x00c0_0000, BITS_D, D::Extract(64)),
    row("slti", 0x0200_0000, I12, D::Op2(op(BinOp::LtS), 64)),
    row("sltui", 0x0240_0000, I12, D::Op2(op(BinOp::LtU), 64)),
    row("addi.w", 0x0280_0000, I12, D::Op2(op(BinOp::Add), 32)),
    row("addi.d", 0x02c0_0000, I12, D::Op2(op(BinOp::Add), 64)),
    row("lu52i.d", 0x0300_0000, I12, D::Upper(Upper::Top)),
    row("andi", 0x0340_0000, U12, D::Op2(op(BinOp::And), 64)),
    row("ori", 0x0380_0000, U12, D::Op2(op(BinOp::Or), 64)),
    row("xori", 0x03c0_0000, U12, D::Op2(op(BinOp::Xor), 64)),
    row("addu16i.d", 0x1000_0000, &[Rd, Rj, Signed(10, 16)], D::Upper(Upper::Add)),
    row("lu12i.w", 0x1400_0000, I20, D::Upper(Upper::Word)),
    row("lu32i.d", 0x1600_0000, I20, D::Upper(Upper::Middle)),
    row("pcaddi", 0x1800_0000, I20, D::Relative),
    row("pcalau12i", 0x1a00_0000, I20, D::Relative),
    row("pcaddu12i", 0x1c00_0000, I20, D::Relative),
    row("pcaddu18i", 0x1e00_0000, I20, D::Relative),
    // Memory.
    row("ldptr.w", 0x2400_0000, M14, D::Load(4, true)),
    row("stptr.w", 0x2500_0000, M14, D::Store(4)),
    row("ldptr.d", 0x2600_0000, M14, D::Load(8, true)),
    row("stptr.d", 0x2700_0000, M14, D::Store(8)),
    row("ld.b", 0x2800_0000, M12, D::Load(1, true)),
    row("ld.h", 0x2840_0000, M12, D::Load(2, true)),
    row("ld.w", 0x2880_0000, M12, D::Load(4, true)),
    row("ld.d", 0x28c0_0000, M12, D::Load(8, true)),
    row("st.b", 0x2900_0000, M12, D::Store(1)),
    row("st.h", 0x2940_0000, M12, D::Store(2)),
    row("st.w", 0x2980_0000, M12, D::Store(4)),
    row("st.d", 0x29c0_0000, M12, D::Store(8)),
    row("ld.bu", 0x2a00_0000, M12, D::Load(1, false)),
    row("ld.hu", 0x2a40_0000, M12, D::Load(2, false)),
    row("ld.wu", 0x2a80_0000, M12, D::Load(4, false)),
    row("preld", 0x2ac0_0000, &[Unsigned(0, 5), Mem12], D::Nothing),
    row("ldx.b", 0x3800_0000, MX, D::Load(1, true)),
    row("ldx.h", 0x3804_0000, MX, D::Load(2, true)),
    row("ldx.w", 0x3808_0000, MX, D::Load(4, true)),
    row("ldx.d", 0x380c_0000, MX, D::Load(8, true)),
    row("stx.b", 0x3810_0000, MX, D::Store(1)),
    row("stx.h", 0x3814_0000, MX, D::Store(2)),
    row("stx.w", 0x3818_0000, MX, D::Store(4)),
    row("stx.d", 0x381c_0000, MX, D::Store(8)),
    row("ldx.bu", 0x3820_0000, MX, D::Load(1, false)),
    row("ldx.hu", 0x3824_0000, MX, D::Load(2, false)),
    row("ldx.wu", 0x3828_0000, MX, D::Load(4, false)),
    // Atomics.
    row("ll.w", 0x2000_0000, M14, D::LoadLinked(4, false)),
    row("sc.w", 0x2100_0000, M14, D::StoreConditional(4, false)),
    row("ll.d", 0x2200_0000, M14, D::LoadLinked(8, false)),
    row("sc.d", 0x2300_0000, M14, D::StoreConditional(8, false)),
    row("sc.q", 0x3857_0000, A, D::StorePair),
    row("llacq.w", 0x3857_8000, BARE, D::LoadLinked(4, true)),
    row("screl.w", 0x3857_8400, BARE, D::StoreConditional(4, true)),
    row("llacq.d", 0x3857_8800, BARE, D::LoadLinked(8, true)),
    row("screl.d", 0x3857_8c00, BARE, D::StoreConditional(8, true)),
    row("amcas.b", 0x3858_0000, A, D::Cas(1, false)),
    row("amcas.h", 0x3858_8000, A, D::Cas(2, false)),
    row("amcas.w", 0x3859_0000, A, D::Cas(4, false)),
    row("amcas.d", 0x3859_8000, A, D::Cas(8, false)),
    row("amcas_db.b", 0x385a_0000, A, D::Cas(1, true)),
    row("amcas_db.h", 0x385a_8000, A, D::Cas(2, true)),
    row("amcas_db.w", 0x385b_0000, A, D::Cas(4, true)),
    row("amcas_db.d", 0x385b_8000, A, D::Cas(8, true)),
    row("amswap.b", 0x385c_0000, A, swap(1, false)),
    row("amswap.h", 0x385c_8000, A, swap(2, false)),
    row("amadd.b", 0x385d_0000, A, amo(BinOp::Add, 1, false)),
    row("amadd.h", 0x385d_8000, A, amo(BinOp::Add, 2, false)),
    row("amswap_db.b", 0x385e_0000, A, swap(1, true)),
    row("amswap_db.h", 0x385e_8000, A, swap(2, true)),
    row("amadd_db.b", 0x385f_0000, A, amo(BinOp::Add, 1, true)),
    row("amadd_db.h", 0x385f_8000, A, amo(BinOp::Add, 2, true)),
    row("amswap.w", 0x3860_0000, A, swap(4, false)),
    row("amswap.d", 0x3860_8000, A, swap(8, false)),
    row("amadd.w", 0x3861_0000, A, amo(BinOp::Add, 4, false)),
    row("amadd.d", 0x3861_8000, A, amo(BinOp::Add, 8, false)),
    row("amand.w", 0x3862_0000, A, amo(BinOp::And, 4, false)),
    row("amand.d", 0x3862_8000, A, amo(BinOp::And, 8, false)),
    row("amor.w", 0x3863_0000, A, amo(BinOp::Or, 4, false)),
    row("amor.d", 0x3863_8000, A, amo(BinOp::Or, 8, false)),
    row("amxor.w", 0x3864_0000, A, amo(BinOp::Xor, 4, false)),
    row("amxor.d", 0x3864_8000, A, amo(BinOp::Xor, 8, false)),
    row("ammax.w", 0x3865_0000, A, amo(BinOp::MaxS, 4, false)),
    row("ammax.d", 0x3865_8000, A, amo(BinOp::MaxS, 8, false)),
    row("ammin.w", 0x3866_0000, A, amo(BinOp::MinS, 4, false)),
    row("ammin.d", 0x3866_8000, A, amo(BinOp::MinS, 8, false)),
    row("ammax.wu", 0x3867_0000, A, amo(BinOp::MaxU, 4, false)),
    row("ammax.du", 0x3867_8000, A, amo(BinOp::MaxU, 8, false)),
    row("ammin.wu", 0x3868_0000, A, amo(BinOp::MinU, 4, false)),
    row("ammin.du", 0x3868_8000, A, amo(BinOp::MinU, 8, false)),
    row("amswap_db.w", 0x3869_0000, A, swap(4, true)),
    row("amswap_db.d", 0x3869_8000, A, swap(8, true)),
    row("amadd_db.w", 0x386a_0000, A, amo(BinOp::Add, 4, true)),
    row("amadd_db.d", 0x386a_8000, A, amo(BinOp::Add, 8, true)),
    row("amand_db.w", 0x386b_0000, A, amo(BinOp::And, 4, true)),
    row("amand_db.d", 0x386b_8000, A, amo(BinOp::And, 8, true)),
    row("amor_db.w", 0x386c_0000, A, amo(BinOp::Or, 4, true)),
    row("amor_db.d", 0x386c_8000, A, amo(BinOp::Or, 8, true)),
    row("amxor_db.w", 0x386d_0000, A, amo(BinOp::Xor, 4, true)),
    row("amxor_db.d", 0x386d_8000, A, amo(BinOp::Xor, 8, true)),
    row("ammax_db.w", 0x386e_0000, A, amo(BinOp::MaxS, 4, true)),
    row("ammax_db.d", 0x386e_8000, A, amo(BinOp::MaxS, 8, true)),
    row("ammin_db.w", 0x386f_0000, A, amo(BinOp::MinS, 4, true)),
    row("ammin_db.d", 0x386f_8000, A, amo(BinOp::MinS, 8, true)),
    row("ammax_db.wu", 0x3870_0000, A, amo(BinOp::MaxU, 4, true)),
    row("ammax_db.du", 0x3870_8000, A, amo(BinOp::MaxU, 8, true)),
    row("ammin_db.wu", 0x3871_0000, A, amo(BinOp::MinU, 4, true)),
    row("ammin_db.du", 0x3871_8000, A, amo(BinOp::MinU, 8, true)),
    row("dbar", 0x3872_0000, CODE, D::Barrier),
    row("ibar", 0x3872_8000, CODE, D::Nothing),
    // Control.
    row("break", 0x002a_0000, CODE, D::Trap),
    row("syscall", 0x002b_0000, CODE, D::Trap),
    row("beqz", 0x4000_0000, BZ, D::BranchZero(true)),
    row("bnez", 0x4400_0000, BZ, D::BranchZero(false)),
    row("jirl", 0x4c00_0000, &[Rd, Place], D::JumpRegister),
    row("b", 0x5000_0000, &[Farthest], D::Jump(false)),
    row("bl", 0x5400_0000, &[Farthest], D::Jump(true)),
    row("beq", 0x5800_0000, B, D::Branch(BinOp::Eq, true)),
    row("bne", 0x5c00_0000, B, D::Branch(BinOp::Ne, true)),
    row("blt", 0x6000_0000, B, D::Branch(BinOp::LtS, true)),
    row("bge", 0x6400_0000, B, D::Branch(BinOp::LtS, false)),
    row("bltu", 0x6800_0000, B, D::Branch(BinOp::LtU, true)),
    row("bgeu", 0x6c00_0000, B, D::Branch(BinOp::LtU, false)),
    // Moves of floating point and of vectors.
    row("fld.s", 0x2b00_0000, &[Fd, Mem12], D::Vector(Vector::Load(4))),
    row("fst.s", 0x2b40_0000, &[Fd, Mem12], D::Vector(Vector::Store(4))),
    row("fld.d", 0x2b80_0000, &[Fd, Mem12], D::Vector(Vector::Load(8))),
    row("fst.d", 0x2bc0_0000, &[Fd, Mem12], D::Vector(Vector::Store(8))),
    row("fldx.s", 0x3830_0000, &[Fd, Indexed], D::Vector(Vector::Load(4))),
    row("fldx.d", 0x3834_0000, &[Fd, Indexed], D::Vector(Vector::Load(8))),
    row("fstx.s", 0x3838_0000, &[Fd, Indexed], D::Vector(Vector::Store(4))),
    row("fstx.d", 0x383c_0000, &[Fd, Indexed], D::Vector(Vector::Store(8))),
    row("movgr2fr.w", 0x0114_a400, &[Fd, Rj], D::Vector(Vector::To(32))),
    row("movgr2fr.d", 0x0114_a800, &[Fd, Rj], D::Vector(Vector::To(64))),
    row("movfr2gr.s", 0x0114_b400, &[Rd, Fj], D::Vector(Vector::From(32))),
    row("movfr2gr.d", 0x0114_b800, &[Rd, Fj], D::Vector(Vector::From(64))),
    row("fmov.s", 0x0114_9400, &[Fd, Fj], D::Vector(Vector::Copy)),
    row("fmov.d", 0x0114_9800, &[Fd, Fj], D::Vector(Vector::Copy)),
    row("vld", 0x2c00_0000, &[Vd, Mem12], D::Vector(Vector::Load(16))),
    row("vst", 0x2c40_0000, &[Vd, Mem12], D::Vector(Vector::Store(16))),
    row("vldx", 0x3840_0000, &[Vd, Indexed], D::Vector(Vector::Load(16))),
    row("vstx", 0x3844_0000, &[Vd, Indexed], D::Vector(Vector::Store(16))),
    row("vstelm.d", 0x3110_0000, &[Vd, Mem8, Unsigned(18, 1)], D::Vector(Vector::StoreHalf)),
    row("vldi", 0x73e0_0000, &[Vd, Signed(5, 13)], D::Vector(Vector::Fill)),
    row("vreplgr2vr.d", 0x729f_0c00, &[Vd, Rj], D::Vector(Vector::Spread)),
    row("vpickve2gr.d", 0x72ef_f000, &[Rd, Vj, Unsigned(10, 1)], D::Vector(Vector::Pick)),
    row("vpickve2gr.du", 0x72f3_f000, &[Rd, Vj, Unsigned(10, 1)], D::Vector(Vector::Pick)),
    row("vinsgr2vr.d", 0x72eb_f000, &[Vd, Rj, Unsigned(10, 1)], D::Vector(Vector::Put)),
];
