//! The fields of 32-bit RISC-V encodings, and the rows of which tables are made.

use crate::machine::{Mem, Operand, Update};

/// One encoding.
pub type Row = crate::machine::Row<Field>;

/// Masks: opcode; with funct3; with funct7; with what stands above a shift's count; with all but
/// two registers; everything.
pub const OP: u32 = 0x7f;
pub const F3: u32 = 0x707f;
pub const F7: u32 = 0xfe00_707f;
pub const F6: u32 = 0xfc00_707f;
pub const UNARY: u32 = 0xfff0_707f;
pub const ALL: u32 = 0xffff_ffff;

pub const fn row(name: &'static str, mask: u32, value: u32, fields: &'static [Field]) -> Row {
    Row::new(name, mask, value, fields)
}

/// An opcode with funct3 and the bits from 25 up.
pub const fn f7(opcode: u32, funct3: u32, funct7: u32) -> u32 {
    opcode | funct3 << 12 | funct7 << 25
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Rd,
    Rs1,
    Rs2,
    Fd,
    Fs1,
    Fs2,
    Fs3,
    /// The rounding mode, where it is not that of the machine's state.
    Rounding,
    /// The rounding mode of an operation whose result is exact; text without a mode means 0.
    ExactRounding,
    Imm12,
    Shift6,
    Shift5,
    /// The 20 bits of `lui`.
    Upper,
    /// The address that a load (or `jalr`) takes.
    Load,
    Store,
    /// The address that an atomic takes.
    Base,
    Branch,
    Jump,
    Before,
    After,
    Csr,
    /// Five bits where a register would stand.
    Zimm,
}

pub fn reg(num: u32) -> Operand {
    Operand::Reg(format!("x{num}"))
}

fn float(num: u32) -> Operand {
    Operand::Reg(format!("f{num}"))
}

/// The low `bits` of `value`, as a signed number.
fn signed(value: u32, bits: u32) -> i64 {
    let spare = 32 - bits;
    i64::from(((value << spare) as i32) >> spare)
}

fn based(word: u32, offset: i64) -> Operand {
    let base = Some(format!("x{}", Field::rs1(word)));
    Operand::Mem(Mem { base, offset, index: None, update: Update::None })
}

impl Field {
    pub fn rd(word: u32) -> u32 {
        word >> 7 & 31
    }

    pub fn rs1(word: u32) -> u32 {
        word >> 15 & 31
    }

    pub fn rs2(word: u32) -> u32 {
        word >> 20 & 31
    }

    /// None where nothing is written.
    pub fn operand(self, word: u32, at: u64) -> Option<Operand> {
        let store = word >> 25 << 5 | Self::rd(word);
        Some(match self {
            Field::Rd => reg(Self::rd(word)),
            Field::Rs1 => reg(Self::rs1(word)),
            Field::Rs2 => reg(Self::rs2(word)),
            Field::Fd => float(Self::rd(word)),
            Field::Fs1 => float(Self::rs1(word)),
            Field::Fs2 => float(Self::rs2(word)),
            Field::Fs3 => float(word >> 27),
            Field::Rounding | Field::ExactRounding => {
                let mode = word >> 12 & 7;
                if mode == if self == Field::Rounding { 7 } else { 0 } {
                    return None;
                }
                let names = ["rne", "rtz", "rdn", "rup", "rmm", "5", "6", "dyn"];
                Operand::Text(names[mode as usize].to_string())
            }
            Field::Imm12 => Operand::Imm(signed(word >> 20, 12)),
            Field::Shift6 => Operand::Imm(i64::from(word >> 20 & 63)),
            Field::Shift5 => Operand::Imm(i64::from(Self::rs2(word))),
            Field::Upper => Operand::Imm(i64::from(word >> 12)),
            Field::Load => based(word, signed(word >> 20, 12)),
            Field::Store => based(word, signed(store, 12)),
            Field::Base => based(word, 0),
            Field::Branch => {
                let off = (word >> 8 & 0xf) << 1
                    | (word >> 25 & 0x3f) << 5
                    | (word >> 7 & 1) << 11
                    | (word >> 31) << 12;
                Operand::Code(at.wrapping_add_signed(signed(off, 13)))
            }
            Field::Jump => {
                let off = (word >> 21 & 0x3ff) << 1
                    | (word >> 20 & 1) << 11
                    | (word >> 12 & 0xff) << 12
                    | (word >> 31) << 20;
                Operand::Code(at.wrapping_add_signed(signed(off, 21)))
            }
            Field::Before => accesses(word >> 24 & 15),
            Field::After => accesses(word >> 20 & 15),
            Field::Csr => Operand::Text(match word >> 20 {
                0x001 => "fflags".to_string(),
                0x002 => "frm".to_string(),
                0x003 => "fcsr".to_string(),
                0xc00 => "cycle".to_string(),
                0xc01 => "time".to_string(),
                0xc02 => "instret".to_string(),
                n => n.to_string(),
            }),
            Field::Zimm => Operand::Imm(i64::from(Self::rs1(word))),
        })
    }
}

/// A set that a fence names.
fn accesses(set: u32) -> Operand {
    let letters = [(8, 'i'), (4, 'o'), (2, 'r'), (1, 'w')];
    let named: String = letters.iter().filter(|(bit, _)| set & bit != 0).map(|(_, c)| c).collect();
    Operand::Text(if named.is_empty() { "0".to_string() } else { named })
}
