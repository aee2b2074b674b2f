//! The fields of Power instructions, as operands.
//!
//! Bits are counted here from the lowest, other than in Power's manuals.

use crate::machine::{Mem, Operand, Update};

/// An encoding: where `word & mask == value`, and `only` says so too, it is this instruction.
pub struct Row {
    pub mask: u32,
    pub value: u32,
    pub name: &'static str,
    pub fields: &'static [Field],
    /// The lowest bit says whether the result is compared with 0.
    pub dot: bool,
    pub only: Option<fn(u32) -> bool>,
}

pub const fn row(name: &'static str, code: (u32, u32), fields: &'static [Field]) -> Row {
    Row { mask: code.0, value: code.1, name, fields, dot: false, only: None }
}

impl Row {
    pub const fn dot(self) -> Row {
        Row { dot: true, ..self }
    }

    pub const fn only(self, only: fn(u32) -> bool) -> Row {
        Row { only: Some(only), ..self }
    }
}

/// One or more operands.
#[derive(Clone, Copy)]
pub enum Field {
    /// The target or source register, in bits 21 to 25.
    T,
    /// Bits 16 to 20, 11 to 15 and 6 to 10.
    A,
    B,
    C,
    /// Like `A`, but 0 stands for the number 0.
    A0,
    /// Vector registers: of 128 bits (32 and 64 of them), and of floating point.
    Vt,
    /// VSX: the highest bit of each number lies elsewhere (bits 0, 2 and 1).
    Xt,
    Xa,
    Xb,
    /// The highest bit of the target's number in bit 3.
    Xt3,
    Ft,
    /// The constant of 16 bits, signed or not.
    Si,
    Ui,
    /// Displacement and base: of 16 bits; with the lowest 2 or 4 of them in use for other things.
    D,
    Ds,
    Dq,
    /// Base and index.
    X,
    /// Bits 21 to 25, where they are not 0.
    Touch,
    /// Shifts and bit numbers of rotations on words, and on doublewords.
    Sh5,
    Mb5,
    Me5,
    Sh6,
    Mb6,
    /// A field of the condition register; the first is left out where it is 0.
    Cr,
    CrT,
    CrA,
    /// Bits of the condition register in the places of `T`, `A`, `B` and `C`.
    BitT,
    BitA,
    BitB,
    BitC,
    /// Which fields of the condition register are moved.
    Mask,
    /// The number of a special register.
    Spr,
    /// A number: lowest bit and width.
    Num(u8, u8),
}

pub const fn bits(word: u32, low: u8, width: u8) -> u32 {
    word >> low & ((1 << width) - 1)
}

pub fn t(word: u32) -> u32 {
    bits(word, 21, 5)
}

pub fn a(word: u32) -> u32 {
    bits(word, 16, 5)
}

pub fn b(word: u32) -> u32 {
    bits(word, 11, 5)
}

/// The shift of a rotation on doublewords.
pub fn sh6(word: u32) -> u32 {
    b(word) | bits(word, 1, 1) << 5
}

/// The bit number of a rotation on doublewords.
pub fn mb6(word: u32) -> u32 {
    bits(word, 6, 5) | bits(word, 5, 1) << 5
}

pub fn reg(n: u32) -> String {
    format!("r{n}")
}

/// `eq`, or `4*cr7+eq`.
fn cr_bit(n: u32) -> Operand {
    let part = ["lt", "gt", "eq", "so"][n as usize % 4];
    Operand::Text(match n / 4 {
        0 => part.to_string(),
        field => format!("4*cr{field}+{part}"),
    })
}

/// Displacement and base; register 0 stands for no base.
pub fn based(word: u32, offset: i64) -> Operand {
    let base = (a(word) != 0).then(|| reg(a(word)));
    Operand::Mem(Mem { base, offset, index: None, update: update(word) })
}

/// Forms with update have odd primary opcodes among loads and stores, and one bit of the
/// extended ones.
fn update(word: u32) -> Update {
    let updates = match word >> 26 {
        33 | 35 | 37 | 39 | 41 | 43 | 45 | 49 | 51 | 53 | 55 => true,
        58 | 62 => bits(word, 0, 2) == 1,
        31 => INDEXED_UPDATE.contains(&bits(word, 1, 10)),
        _ => false,
    };
    if updates { Update::Pre } else { Update::None }
}

const INDEXED_UPDATE: [u32; 11] = [53, 55, 119, 181, 183, 247, 311, 373, 375, 439, 695];

fn indexed(word: u32) -> Operand {
    let base = (a(word) != 0).then(|| reg(a(word)));
    Operand::Mem(Mem { base, offset: 0, index: Some(reg(b(word))), update: update(word) })
}

impl Field {
    pub fn push(self, word: u32, operands: &mut Vec<Operand>) {
        let half = i64::from(word as u16 as i16);
        let num = |n: u32| Operand::Imm(n.into());
        operands.push(match self {
            Field::T => Operand::Reg(reg(t(word))),
            Field::A => Operand::Reg(reg(a(word))),
            Field::B => Operand::Reg(reg(b(word))),
            Field::C => Operand::Reg(reg(bits(word, 6, 5))),
            Field::A0 if a(word) == 0 => Operand::Imm(0),
            Field::A0 => Operand::Reg(reg(a(word))),
            Field::Vt => Operand::Reg(format!("v{}", t(word))),
            Field::Xt => Operand::Reg(format!("vs{}", t(word) | bits(word, 0, 1) << 5)),
            Field::Xa => Operand::Reg(format!("vs{}", a(word) | bits(word, 2, 1) << 5)),
            Field::Xb => Operand::Reg(format!("vs{}", b(word) | bits(word, 1, 1) << 5)),
            Field::Xt3 => Operand::Reg(format!("vs{}", t(word) | bits(word, 3, 1) << 5)),
            Field::Ft => Operand::Reg(format!("f{}", t(word))),
            Field::Si => Operand::Imm(half),
            Field::Ui => Operand::Imm((word & 0xffff).into()),
            Field::D => based(word, half),
            Field::Ds => based(word, half & !3),
            Field::Dq => based(word, half & !15),
            Field::X => indexed(word),
            Field::Touch if t(word) == 0 => return,
            Field::Touch => num(t(word)),
            Field::Sh5 => num(b(word)),
            Field::Mb5 => num(bits(word, 6, 5)),
            Field::Me5 => num(bits(word, 1, 5)),
            Field::Sh6 => num(sh6(word)),
            Field::Mb6 => num(mb6(word)),
            Field::Cr if bits(word, 23, 3) == 0 => return,
            Field::Cr | Field::CrT => Operand::Text(format!("cr{}", bits(word, 23, 3))),
            Field::CrA => Operand::Text(format!("cr{}", bits(word, 18, 3))),
            Field::BitT => cr_bit(t(word)),
            Field::BitA => cr_bit(a(word)),
            Field::BitB => cr_bit(b(word)),
            Field::BitC => cr_bit(bits(word, 6, 5)),
            Field::Mask => num(bits(word, 12, 8)),
            Field::Spr => num(a(word) | b(word) << 5),
            Field::Num(low, width) => num(bits(word, low, width)),
        });
    }
}
