//! The fields of instructions of 32 bits, as operands; T32 has its first half in the high bits.

use super::part::{PC, Part, name};
use super::part::{
    bit, bits, block_base, direction, imm, list, mem, mem_index, reg, shift, shift_text, signed,
    update,
};
use crate::machine::{Flow, Operand, Update};

/// An encoding: where `word & mask == value`, it is this instruction.
pub struct Row {
    pub mask: u32,
    pub value: u32,
    pub name: &'static str,
    pub fields: &'static [Field],
    /// Bit 20 says whether the flags are set.
    pub sets: bool,
    pub flow: Flow,
}

pub const fn row(mask: u32, value: u32, name: &'static str, fields: &'static [Field]) -> Row {
    Row { mask, value, name, fields, sets: false, flow: Flow::Next }
}

impl Row {
    pub const fn sets(self) -> Row {
        Row { sets: true, mask: self.mask & !0x0010_0000, ..self }
    }

    pub const fn flow(self, flow: Flow) -> Row {
        Row { flow, ..self }
    }
}

/// The first row that fits; `None` too where its fields have a value that they cannot have.
pub fn find(table: &'static [Row], word: u32, at: u64) -> Option<Part> {
    let row = table.iter().find(|row| word & row.mask == row.value)?;
    let mut operands = Vec::new();
    for field in row.fields {
        field.push(word, at, &mut operands)?;
    }
    let sets = row.sets && bit(word, 20);
    Some(Part::new(row.name, operands).sets(sets).flow(row.flow))
}

/// One or more operands.
#[derive(Clone, Copy)]
pub enum Field {
    /// A register, in 4 bits from this one.
    R(u8),
    /// A number: lowest bit and width.
    Num(u8, u8),
    /// A constant of 16 bits in A32 and in T32.
    WideA,
    WideT,
    /// One of 12 bits in T32; added to PC, and subtracted from it.
    PlainT,
    AheadT,
    BehindT,
    /// A table of distances: a base and an index, shifted so.
    Table(&'static str),
    /// The number of an undefined instruction, in A32 and in T32.
    Trap,
    TrapT,
    /// Addresses. `[Rn]`.
    Base,
    /// The address of LDR and its like in A32: 12 bits, or a register that may be shifted.
    MemA,
    MemRegA,
    /// The address of LDRH and its like in A32: 8 bits, or a register.
    MemHalfA,
    MemHalfRegA,
    /// In T32: 12 bits upwards; 8 bits with an update; a register shifted left; 8 bits of words.
    MemT,
    Mem8T,
    MemRegT,
    MemWordsT,
    /// `[Rn,#n]` of T32's exclusives.
    MemExT,
    /// A place relative to PC, in A32 with its direction in bit 23, and in T32.
    LiteralA,
    LiteralHalfA,
    LiteralWordsA,
    LiteralT,
    LiteralWordsT,
    /// The base of a block, with its update in bit 21.
    BlockBase,
    /// 16 registers.
    List,
    /// One register, as a list, in bits 12 to 15.
    ListOne,
    /// A rotation by bytes, from this bit.
    Rotate(u8),
    /// Lowest bit and width, from the width less one, or from the highest bit.
    ExtractA,
    ExtractT,
    InsertA,
    InsertT,
    /// How many bits are left of a number (signed: one more than the field says).
    Width(u8),
    WidthSigned(u8),
    /// The shift before a saturation, in A32 and in T32.
    SaturateA,
    SaturateT,
    /// Where branches go.
    TargetA,
    TargetExchangeA,
    TargetT,
    TargetExchangeT,
    Barrier,
    /// The register after the one in 4 bits from this one.
    Next(u8),
    /// A word that stands as it is.
    Fixed(&'static str),
    /// A coprocessor's register, in 4 bits from this one.
    C(u8),
    /// VFP registers of 64 bits (in the places of D and M) and of 32 (in those of D, N and M).
    D,
    DM,
    S,
    SN,
    SM,
    /// As many of them as the lowest 8 bits say in words.
    ListD,
    /// 8 bits of words.
    MemVfp,
}

/// PC as an instruction sees it, for data.
fn pc_of_thumb(at: u64) -> u64 {
    at.wrapping_add(4) & !3
}

fn place(pc: u64, offset: i64) -> Operand {
    Operand::Code(pc.wrapping_add(offset as u64))
}

/// The 12 bits of constants in T32.
pub fn plain(word: u32) -> u32 {
    bits(word, 26, 1) << 11 | bits(word, 12, 3) << 8 | word & 0xff
}

/// The distance of Thumb's long branches.
fn long_branch(word: u32) -> i64 {
    let s = bits(word, 26, 1);
    let j1 = bits(word, 13, 1);
    let j2 = bits(word, 11, 1);
    let (i1, i2) = (!(j1 ^ s) & 1, !(j2 ^ s) & 1);
    let n = s << 24 | i1 << 23 | i2 << 22 | bits(word, 16, 10) << 12 | bits(word, 0, 11) << 1;
    signed(n, 25)
}

impl Field {
    /// `None`: this value is not one that the field can have.
    fn push(self, word: u32, at: u64, operands: &mut Vec<Operand>) -> Option<()> {
        let rn = bits(word, 16, 4);
        let pc = at.wrapping_add(8);
        let operand = match self {
            Field::R(low) => reg(bits(word, low, 4)),
            Field::Num(low, width) => imm(bits(word, low, width)),
            Field::WideA => imm(rn << 12 | bits(word, 0, 12)),
            Field::WideT => imm(rn << 12 | plain(word)),
            Field::PlainT => imm(plain(word)),
            Field::AheadT => place(pc_of_thumb(at), plain(word).into()),
            Field::BehindT => place(pc_of_thumb(at), -i64::from(plain(word))),
            Field::Table(shift) => {
                mem_index(rn, format!("{}{shift}", name(bits(word, 0, 4))), Update::None)
            }
            Field::Trap => imm(bits(word, 8, 12) << 4 | bits(word, 0, 4)),
            Field::TrapT => imm(rn << 12 | bits(word, 0, 12)),
            Field::BlockBase => block_base(rn, bit(word, 21)),
            Field::List if word & 0xffff == 0 => return None,
            Field::List => list(word & 0xffff),
            Field::ListOne => list(1 << bits(word, 12, 4)),
            Field::Rotate(low) => match bits(word, low, 2) {
                0 => return Some(()),
                n => Operand::Text(format!("ROR #{}", 8 * n)),
            },
            Field::ExtractA | Field::ExtractT => {
                let (lsb, width) = match self {
                    Field::ExtractA => (bits(word, 7, 5), rn | bits(word, 20, 1) << 4),
                    _ => (low_bit_t(word), bits(word, 0, 5)),
                };
                if lsb + width > 31 {
                    return None;
                }
                operands.push(imm(lsb));
                imm(width + 1)
            }
            Field::InsertA | Field::InsertT => {
                let (lsb, msb) = match self {
                    Field::InsertA => (bits(word, 7, 5), rn | bits(word, 20, 1) << 4),
                    _ => (low_bit_t(word), bits(word, 0, 5)),
                };
                let width = (msb + 1).checked_sub(lsb).filter(|n| *n > 0)?;
                operands.push(imm(lsb));
                imm(width)
            }
            Field::Width(low) => imm(bits(word, low, 5)),
            Field::WidthSigned(low) => imm(bits(word, low, 5) + 1),
            Field::SaturateA | Field::SaturateT => {
                let (right, amount) = match self {
                    Field::SaturateA => (bit(word, 6), bits(word, 7, 5)),
                    _ => (bit(word, 21), low_bit_t(word)),
                };
                match shift(if right { 2 } else { 0 }, amount) {
                    None => return Some(()),
                    // A word shifted by all its bits is of A32 only.
                    Some((_, 32)) if matches!(self, Field::SaturateT) => return None,
                    Some(s) => Operand::Text(shift_text(s)),
                }
            }
            Field::TargetA => place(pc, signed(word << 2, 26)),
            Field::TargetExchangeA => {
                place(pc, signed(word << 2, 26) + i64::from(bits(word, 24, 1)) * 2)
            }
            Field::TargetT => place(at.wrapping_add(4), long_branch(word)),
            Field::TargetExchangeT if bit(word, 0) => return None,
            Field::TargetExchangeT => place(pc_of_thumb(at), long_branch(word)),
            Field::Barrier => super::part::barrier(word & 15)?,
            Field::Next(low) => match bits(word, low, 4) + 1 {
                PC => return None,
                n => reg(n),
            },
            Field::Fixed(text) => Operand::Text(text.to_string()),
            Field::C(low) => Operand::Text(format!("c{}", bits(word, low, 4))),
            Field::D => Operand::Reg(format!("D{}", double(word))),
            Field::DM => Operand::Reg(format!("D{}", bits(word, 5, 1) << 4 | bits(word, 0, 4))),
            Field::S => Operand::Reg(format!("S{}", bits(word, 12, 4) << 1 | bits(word, 22, 1))),
            Field::SN => Operand::Reg(format!("S{}", rn << 1 | bits(word, 7, 1))),
            Field::SM => Operand::Reg(format!("S{}", bits(word, 0, 4) << 1 | bits(word, 5, 1))),
            Field::ListD => {
                let (first, count) = (double(word), (word & 0xff) / 2);
                if word & 1 == 1 || count == 0 || first + count > 32 {
                    return None;
                }
                let names: Vec<String> = (first..first + count).map(|n| format!("D{n}")).collect();
                Operand::Text(format!("{{{}}}", names.join(",")))
            }
            _ => self.memory(word, at)?,
        };
        operands.push(operand);
        Some(())
    }

    /// The operand of a field that is a place in memory.
    fn memory(self, word: u32, at: u64) -> Option<Operand> {
        let rn = bits(word, 16, 4);
        let up = bit(word, 23);
        let pc = at.wrapping_add(8);
        let half = bits(word, 8, 4) << 4 | bits(word, 0, 4);
        Some(match self {
            Field::Base => mem(rn, 0, Update::None),
            Field::MemA => {
                let update = update(bit(word, 24), bit(word, 21))?;
                mem(rn, direction(up, bits(word, 0, 12)), update)
            }
            Field::MemRegA => {
                let update = update(bit(word, 24), bit(word, 21))?;
                let sign = if up { "" } else { "-" };
                let shift = shift(bits(word, 5, 2), bits(word, 7, 5));
                let shift = shift.map(|s| format!(",{}", shift_text(s))).unwrap_or_default();
                mem_index(rn, format!("{sign}{}{shift}", name(bits(word, 0, 4))), update)
            }
            Field::MemHalfA => {
                let update = update(bit(word, 24), bit(word, 21))?;
                mem(rn, direction(up, half), update)
            }
            Field::MemHalfRegA => {
                let update = update(bit(word, 24), bit(word, 21))?;
                let sign = if up { "" } else { "-" };
                mem_index(rn, format!("{sign}{}", name(bits(word, 0, 4))), update)
            }
            Field::MemT => mem(rn, bits(word, 0, 12).into(), Update::None),
            Field::Mem8T => {
                let update = update_thumb(bit(word, 10), bit(word, 8))?;
                // Upwards without update there are 12 bits; this is for unprivileged code.
                if update == Update::None && bit(word, 9) {
                    return None;
                }
                mem(rn, direction(bit(word, 9), word & 0xff), update)
            }
            Field::MemRegT => {
                let shift = match bits(word, 4, 2) {
                    0 => String::new(),
                    n => format!(",LSL #{n}"),
                };
                mem_index(rn, format!("{}{shift}", name(bits(word, 0, 4))), Update::None)
            }
            Field::MemWordsT => {
                let update = update_thumb(bit(word, 24), bit(word, 21))?;
                mem(rn, direction(up, 4 * (word & 0xff)), update)
            }
            Field::MemExT => mem(rn, 4 * i64::from(word & 0xff), Update::None),
            Field::LiteralA => place(pc, direction(up, bits(word, 0, 12))),
            Field::LiteralHalfA => place(pc, direction(up, half)),
            Field::LiteralWordsA => place(pc, direction(up, 4 * (word & 0xff))),
            Field::LiteralT => place(pc_of_thumb(at), direction(up, bits(word, 0, 12))),
            Field::LiteralWordsT => place(pc_of_thumb(at), direction(up, 4 * (word & 0xff))),
            Field::MemVfp => mem(rn, direction(up, 4 * (word & 0xff)), Update::None),
            _ => return None,
        })
    }
}

/// The number of a VFP register of 64 bits.
fn double(word: u32) -> u32 {
    bits(word, 22, 1) << 4 | bits(word, 12, 4)
}

/// How T32's bits P and W have it; without both it is another instruction.
fn update_thumb(pre: bool, writeback: bool) -> Option<Update> {
    match pre {
        true => update(true, writeback),
        false => writeback.then_some(Update::Post),
    }
}

/// The lowest bit of a bit field in T32.
fn low_bit_t(word: u32) -> u32 {
    bits(word, 12, 3) << 2 | bits(word, 6, 2)
}

/// Loads of PC are jumps; from the top of the stack, which is then given back, they are returns.
pub fn loads_pc(mut part: Part, word: u32) -> Part {
    if bits(word, 12, 4) == PC && part.name == "LDR" {
        let gives_back = |o: &Operand| match o {
            Operand::Mem(m) => m.base.as_deref() == Some("SP") && m.update == Update::Post,
            _ => false,
        };
        part.flow = match part.operands.iter().any(gives_back) {
            true => Flow::Return,
            false => Flow::JumpRegister,
        };
    }
    part
}
