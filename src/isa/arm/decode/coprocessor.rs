//! The coprocessor instructions that turn up among integer ones: CP15 (barriers of Armv6, the
//! thread pointer), and moves and transfers of VFP registers. T32 has them too, as A32 would
//! without a condition.

use super::field::Field::*;
use super::field::{Row, find, row};
use super::part::{Part, bit, bits, name, reg};
use crate::machine::Operand;

pub fn decode(word: u32, at: u64, thumb: bool) -> Option<Part> {
    let word = word & 0x0fff_ffff;
    let literals = if thumb { LITERALS_T } else { LITERALS_A };
    let part = find(literals, word, at).or_else(|| find(TABLE, word, at))?;
    let between = word & 0x0fbf_0ed0 == 0x0eb0_0a40;
    let suffix = match between {
        true if bit(word, 8) => ".F64",
        true => ".F32",
        false => "",
    };
    Some(Part { suffix, ..part })
}

/// VMOV of a constant to every element of a vector register: words with one byte that is not 0, and
/// bytes.
pub fn vector_constant(word: u32, thumb: bool) -> Option<Part> {
    let (fixed, high) = match thumb {
        true => (word & 0xefb8_00b0 == 0xef80_0010, bit(word, 28)),
        false => (word & 0xfeb8_00b0 == 0xf280_0010, bit(word, 24)),
    };
    if !fixed {
        return None;
    }
    let byte = u32::from(high) << 7 | bits(word, 16, 3) << 4 | bits(word, 0, 4);
    let (suffix, value) = match bits(word, 8, 4) {
        mode @ (0 | 2 | 4 | 6) => (".I32", byte << (4 * mode)),
        0b1110 => (".I8", byte),
        _ => return None,
    };
    let first = bits(word, 22, 1) << 4 | bits(word, 12, 4);
    let name = match bit(word, 6) {
        true if first % 2 == 1 => return None,
        true => format!("Q{}", first / 2),
        false => format!("D{first}"),
    };
    let operands = vec![Operand::Reg(name), Operand::Imm(value.into())];
    Some(Part { suffix, ..Part::new("VMOV", operands) })
}

/// Structures of one element (VLD1, VST1), as copies of memory use them: whole registers from
/// the base upwards.
pub fn elements(word: u32) -> Option<Part> {
    let count = match bits(word, 8, 4) {
        0b0111 => 1,
        0b1010 => 2,
        0b0110 => 3,
        0b0010 => 4,
        _ => return None,
    };
    let align = match bits(word, 4, 2) {
        0 => "",
        1 => ":64",
        2 if count != 1 && count != 3 => ":128",
        3 if count == 4 => ":256",
        _ => return None,
    };
    let suffix = [".8", ".16", ".32", ".64"][bits(word, 6, 2) as usize];
    let first = bits(word, 22, 1) << 4 | bits(word, 12, 4);
    if first + count > 32 {
        return None;
    }
    let names: Vec<String> = (first..first + count).map(|n| format!("D{n}")).collect();
    let base = format!("[{}{align}]", name(bits(word, 16, 4)));
    let mut operands = vec![Operand::Text(format!("{{{}}}", names.join(",")))];
    match bits(word, 0, 4) {
        15 => operands.push(Operand::Text(base)),
        13 => operands.push(Operand::Text(format!("{base}!"))),
        index => operands.extend([Operand::Text(base), reg(index)]),
    }
    let part = Part::new(if bit(word, 21) { "VLD1" } else { "VST1" }, operands);
    Some(Part { suffix, ..part })
}

const LITERALS_A: &[Row] = &[
    row(0x0f3f_0f00, 0x0d1f_0b00, "VLDR", &[D, LiteralWordsA]),
    row(0x0f3f_0f00, 0x0d1f_0a00, "VLDR", &[S, LiteralWordsA]),
];

const LITERALS_T: &[Row] = &[
    row(0x0f3f_0f00, 0x0d1f_0b00, "VLDR", &[D, LiteralWordsT]),
    row(0x0f3f_0f00, 0x0d1f_0a00, "VLDR", &[S, LiteralWordsT]),
];

const TABLE: &[Row] = &[
    row(
        0x0f10_0f10,
        0x0e00_0f10,
        "MCR",
        &[Fixed("p15"), Num(21, 3), R(12), C(16), C(0), Num(5, 3)],
    ),
    row(
        0x0f10_0f10,
        0x0e10_0f10,
        "MRC",
        &[Fixed("p15"), Num(21, 3), R(12), C(16), C(0), Num(5, 3)],
    ),
    // Words of memory in VFP registers.
    row(0x0f30_0f00, 0x0d10_0b00, "VLDR", &[D, MemVfp]),
    row(0x0f30_0f00, 0x0d00_0b00, "VSTR", &[D, MemVfp]),
    row(0x0f30_0f00, 0x0d10_0a00, "VLDR", &[S, MemVfp]),
    row(0x0f30_0f00, 0x0d00_0a00, "VSTR", &[S, MemVfp]),
    // Between those and integer registers.
    row(0x0ff0_0fd0, 0x0c40_0b10, "VMOV", &[DM, R(12), R(16)]),
    row(0x0ff0_0fd0, 0x0c50_0b10, "VMOV", &[R(12), R(16), DM]),
    row(0x0ff0_0f7f, 0x0e00_0a10, "VMOV", &[SN, R(12)]),
    row(0x0ff0_0f7f, 0x0e10_0a10, "VMOV", &[R(12), SN]),
    // Between registers of one size.
    row(0x0fbf_0fd0, 0x0eb0_0b40, "VMOV", &[D, DM]),
    row(0x0fbf_0fd0, 0x0eb0_0a40, "VMOV", &[S, SM]),
    // Blocks of them.
    row(0x0fbf_0f00, 0x0cbd_0b00, "VPOP", &[ListD]),
    row(0x0fbf_0f00, 0x0d2d_0b00, "VPUSH", &[ListD]),
    row(0x0fb0_0f00, 0x0c90_0b00, "VLDMIA", &[BlockBase, ListD]),
    row(0x0fb0_0f00, 0x0cb0_0b00, "VLDMIA", &[BlockBase, ListD]),
    row(0x0fb0_0f00, 0x0c80_0b00, "VSTMIA", &[BlockBase, ListD]),
    row(0x0fb0_0f00, 0x0ca0_0b00, "VSTMIA", &[BlockBase, ListD]),
];
