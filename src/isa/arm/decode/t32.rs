//! T32's instructions of 4 bytes; their first half is in the high bits of a word here.

use super::coprocessor;
use super::field::Field::*;
use super::field::{Field, Row, find, loads_pc, plain, row};
use super::part::{PC, Part, bit, bits, hint, imm, reg, shift, shifted, signed};
use crate::machine::{Flow, Operand};

pub fn decode(word: u32, at: u64) -> Option<Part> {
    if let Some(part) = data(word) {
        return Some(part);
    }
    if word & 0xffff_ff00 == 0xf3af_8000 {
        return Some(Part::new(hint(word & 0xff)?, Vec::new()));
    }
    if let Some(part) = conditional_branch(word, at) {
        return Some(part);
    }
    if word & 0xff90_0000 == 0xf900_0000 {
        return coprocessor::elements(word);
    }
    if let Some(part) = coprocessor::vector_constant(word, true) {
        return Some(part);
    }
    let part = match find(TABLE, word, at) {
        Some(part) => loads_pc(part, word),
        None if word >> 28 == 14 => coprocessor::decode(word, at, true)?,
        None => return None,
    };
    let returns = matches!(part.name, "POP" | "LDM" | "LDMDB")
        && (bit(word, 15) && word >> 25 == 0x74
            || part.name == "POP" && bits(word, 12, 4) == PC && word >> 25 != 0x74);
    Some(if returns { part.flow(Flow::Return) } else { part })
}

/// Integer data processing with a shifted register or a constant.
fn data(word: u32) -> Option<Part> {
    let register = word >> 25 == 0b111_0101;
    let constant = word >> 27 == 0b11110 && !bit(word, 25) && !bit(word, 15);
    if !(register || constant) {
        return None;
    }
    let (rn, rd, rm) = (bits(word, 16, 4), bits(word, 8, 4), bits(word, 0, 4));
    let sets = bit(word, 20);
    let is_test = rd == PC && sets;
    let is_move = rn == PC;
    let op = match bits(word, 21, 4) {
        0 if is_test => "TST",
        0 => "AND",
        1 => "BIC",
        2 if is_move => "MOV",
        2 => "ORR",
        3 if is_move => "MVN",
        3 => "ORN",
        4 if is_test => "TEQ",
        4 => "EOR",
        8 if is_test => "CMN",
        8 => "ADD",
        10 => "ADC",
        11 => "SBC",
        13 if is_test => "CMP",
        13 => "SUB",
        14 => "RSB",
        _ => return None,
    };
    let is_test = matches!(op, "TST" | "TEQ" | "CMN" | "CMP");
    let is_move = matches!(op, "MOV" | "MVN");
    // PC is no operand where it does not mean another instruction.
    if (rd == PC && !is_test) || (rn == PC && !is_move) {
        return None;
    }
    let last = if constant {
        vec![imm(expanded(word))]
    } else {
        // A reserved bit; and PC again.
        if bit(word, 15) || rm == PC {
            return None;
        }
        let (kind, amount) = (bits(word, 4, 2), bits(word, 12, 3) << 2 | bits(word, 6, 2));
        if op == "MOV" {
            return Some(moved(rd, rm, shift(kind, amount)).sets(sets));
        }
        shifted(rm, kind, amount)
    };
    let mut operands = Vec::new();
    if !is_test {
        operands.push(reg(rd));
    }
    if !is_move {
        operands.push(reg(rn));
    }
    operands.extend(last);
    Some(Part::new(op, operands).sets(sets && !is_test))
}

/// Shifts are moves of a shifted register.
fn moved(rd: u32, rm: u32, shift: Option<(&'static str, u32)>) -> Part {
    let (name, last) = match shift {
        None => ("MOV", None),
        Some(("RRX", _)) => ("RRX", None),
        Some((name, amount)) => (name, Some(imm(amount))),
    };
    let mut operands = vec![reg(rd), reg(rm)];
    operands.extend(last);
    Part::new(name, operands)
}

/// A constant made of a byte that is repeated or rotated.
fn expanded(word: u32) -> u32 {
    let (n, byte) = (plain(word), word & 0xff);
    match n >> 8 {
        0 => byte,
        1 => byte | byte << 16,
        2 => byte << 8 | byte << 24,
        3 => byte * 0x0101_0101,
        _ => (byte & 0x7f | 0x80).rotate_right(n >> 7),
    }
}

/// With a condition of its own; the others are in the table.
fn conditional_branch(word: u32, at: u64) -> Option<Part> {
    let cond = bits(word, 22, 4);
    // J1 is bit 13.
    if word & 0xf800_d000 != 0xf000_8000 || cond >= 14 {
        return None;
    }
    let distance = bits(word, 26, 1) << 20
        | bits(word, 11, 1) << 19
        | bits(word, 13, 1) << 18
        | bits(word, 16, 6) << 12
        | bits(word, 0, 11) << 1;
    let distance = signed(distance, 21);
    let target = Operand::Code(at.wrapping_add(4).wrapping_add(distance as u64));
    let part = Part::new("B", vec![target]).flow(Flow::Jump);
    Some(Part { cond: Some(cond as u8), ..part })
}

const DNM: &[Field] = &[R(8), R(16), R(0)];
const DNMA: &[Field] = &[R(8), R(16), R(0), R(12)];
const LONG: &[Field] = &[R(12), R(8), R(16), R(0)];
const DM: &[Field] = &[R(8), R(0)];
const TB: &[Field] = &[R(12), Base];
const EX: &[Field] = &[R(0), R(12), Base];
const EX2: &[Field] = &[R(0), R(12), R(8), Base];

/// The first that fits counts. Encodings with PC as the base stand before those with any base.
const TABLE: &[Row] = &[
    row(0xfbff_8000, 0xf20f_0000, "ADR", &[R(8), AheadT]),
    row(0xfbff_8000, 0xf2af_0000, "ADR", &[R(8), BehindT]),
    row(0xfbf0_8000, 0xf200_0000, "ADD", &[R(8), R(16), PlainT]),
    row(0xfbf0_8000, 0xf2a0_0000, "SUB", &[R(8), R(16), PlainT]),
    row(0xfbf0_8000, 0xf240_0000, "MOVW", &[R(8), WideT]),
    row(0xfbf0_8000, 0xf2c0_0000, "MOVT", &[R(8), WideT]),
    row(0xffff_f0ff, 0xf3ef_8000, "MRS", &[R(8), Fixed("APSR")]),
    // Parts of registers.
    row(0xfff0_8020, 0xf340_0000, "SBFX", &[R(8), R(16), ExtractT]),
    row(0xfff0_8020, 0xf3c0_0000, "UBFX", &[R(8), R(16), ExtractT]),
    row(0xffff_8020, 0xf36f_0000, "BFC", &[R(8), InsertT]),
    row(0xfff0_8020, 0xf360_0000, "BFI", &[R(8), R(16), InsertT]),
    row(0xfff0_f0f0, 0xfa80_f040, "UADD8", DNM),
    row(0xfff0_f0f0, 0xfa90_f040, "UADD16", DNM),
    row(0xfff0_f0f0, 0xfaa0_f080, "SEL", DNM),
    row(0xffd0_8020, 0xf300_0000, "SSAT", &[R(8), WidthSigned(0), R(16), SaturateT]),
    row(0xffd0_8020, 0xf380_0000, "USAT", &[R(8), Width(0), R(16), SaturateT]),
    row(0xffff_f0c0, 0xfa4f_f080, "SXTB", &[R(8), R(0), Rotate(4)]),
    row(0xfff0_f0c0, 0xfa40_f080, "SXTAB", &[R(8), R(16), R(0), Rotate(4)]),
    row(0xffff_f0c0, 0xfa0f_f080, "SXTH", &[R(8), R(0), Rotate(4)]),
    row(0xfff0_f0c0, 0xfa00_f080, "SXTAH", &[R(8), R(16), R(0), Rotate(4)]),
    row(0xffff_f0c0, 0xfa5f_f080, "UXTB", &[R(8), R(0), Rotate(4)]),
    row(0xfff0_f0c0, 0xfa50_f080, "UXTAB", &[R(8), R(16), R(0), Rotate(4)]),
    row(0xffff_f0c0, 0xfa1f_f080, "UXTH", &[R(8), R(0), Rotate(4)]),
    row(0xfff0_f0c0, 0xfa10_f080, "UXTAH", &[R(8), R(16), R(0), Rotate(4)]),
    row(0xffe0_f0f0, 0xfa00_f000, "LSL", DNM).sets(),
    row(0xffe0_f0f0, 0xfa20_f000, "LSR", DNM).sets(),
    row(0xffe0_f0f0, 0xfa40_f000, "ASR", DNM).sets(),
    row(0xffe0_f0f0, 0xfa60_f000, "ROR", DNM).sets(),
    row(0xfff0_f0f0, 0xfa90_f080, "REV", DM),
    row(0xfff0_f0f0, 0xfa90_f090, "REV16", DM),
    row(0xfff0_f0f0, 0xfa90_f0a0, "RBIT", DM),
    row(0xfff0_f0f0, 0xfa90_f0b0, "REVSH", DM),
    row(0xfff0_f0f0, 0xfab0_f080, "CLZ", DM),
    // Products.
    row(0xfff0_f0f0, 0xfb00_f000, "MUL", DNM),
    row(0xfff0_00f0, 0xfb00_0000, "MLA", DNMA),
    row(0xfff0_00f0, 0xfb00_0010, "MLS", DNMA),
    row(0xfff0_f0f0, 0xfb10_f000, "SMULBB", DNM),
    row(0xfff0_f0f0, 0xfb10_f010, "SMULBT", DNM),
    row(0xfff0_f0f0, 0xfb10_f020, "SMULTB", DNM),
    row(0xfff0_f0f0, 0xfb10_f030, "SMULTT", DNM),
    row(0xfff0_00f0, 0xfb10_0000, "SMLABB", DNMA),
    row(0xfff0_00f0, 0xfb10_0010, "SMLABT", DNMA),
    row(0xfff0_00f0, 0xfb10_0020, "SMLATB", DNMA),
    row(0xfff0_00f0, 0xfb10_0030, "SMLATT", DNMA),
    row(0xfff0_f0f0, 0xfb50_f000, "SMMUL", DNM),
    row(0xfff0_00f0, 0xfb50_0000, "SMMLA", DNMA),
    row(0xfff0_00f0, 0xfb60_0000, "SMMLS", DNMA),
    row(0xfff0_00f0, 0xfb80_0000, "SMULL", LONG),
    row(0xfff0_00f0, 0xfba0_0000, "UMULL", LONG),
    row(0xfff0_00f0, 0xfbc0_0000, "SMLAL", LONG),
    row(0xfff0_00f0, 0xfbe0_0000, "UMLAL", LONG),
    row(0xfff0_00f0, 0xfbe0_0060, "UMAAL", LONG),
    row(0xfff0_f0f0, 0xfb90_f0f0, "SDIV", DNM),
    row(0xfff0_f0f0, 0xfbb0_f0f0, "UDIV", DNM),
    // Exclusive, acquire and release.
    row(0xfff0_0f00, 0xe850_0f00, "LDREX", &[R(12), MemExT]),
    row(0xfff0_0000, 0xe840_0000, "STREX", &[R(8), R(12), MemExT]),
    row(0xfff0_0fff, 0xe8d0_0f4f, "LDREXB", TB),
    row(0xfff0_0fff, 0xe8d0_0f5f, "LDREXH", TB),
    row(0xfff0_00ff, 0xe8d0_007f, "LDREXD", &[R(12), R(8), Base]),
    row(0xfff0_0ff0, 0xe8c0_0f40, "STREXB", EX),
    row(0xfff0_0ff0, 0xe8c0_0f50, "STREXH", EX),
    row(0xfff0_00f0, 0xe8c0_0070, "STREXD", EX2),
    row(0xfff0_0fff, 0xe8d0_0fcf, "LDAEXB", TB),
    row(0xfff0_0fff, 0xe8d0_0fdf, "LDAEXH", TB),
    row(0xfff0_0fff, 0xe8d0_0fef, "LDAEX", TB),
    row(0xfff0_00ff, 0xe8d0_00ff, "LDAEXD", &[R(12), R(8), Base]),
    row(0xfff0_0ff0, 0xe8c0_0fc0, "STLEXB", EX),
    row(0xfff0_0ff0, 0xe8c0_0fd0, "STLEXH", EX),
    row(0xfff0_0ff0, 0xe8c0_0fe0, "STLEX", EX),
    row(0xfff0_00f0, 0xe8c0_00f0, "STLEXD", EX2),
    row(0xfff0_0fff, 0xe8d0_0f8f, "LDAB", TB),
    row(0xfff0_0fff, 0xe8d0_0f9f, "LDAH", TB),
    row(0xfff0_0fff, 0xe8d0_0faf, "LDA", TB),
    row(0xfff0_0fff, 0xe8c0_0f8f, "STLB", TB),
    row(0xfff0_0fff, 0xe8c0_0f9f, "STLH", TB),
    row(0xfff0_0fff, 0xe8c0_0faf, "STL", TB),
    row(0xfff0_fff0, 0xe8d0_f000, "TBB", &[Table("")]).flow(Flow::JumpRegister),
    row(0xfff0_fff0, 0xe8d0_f010, "TBH", &[Table(",LSL #1")]).flow(Flow::JumpRegister),
    // Pairs and blocks.
    row(0xff7f_0000, 0xe95f_0000, "LDRD", &[R(12), R(8), LiteralWordsT]),
    row(0xff50_0000, 0xe950_0000, "LDRD", &[R(12), R(8), MemWordsT]),
    row(0xff70_0000, 0xe870_0000, "LDRD", &[R(12), R(8), MemWordsT]),
    row(0xff70_0000, 0xe8f0_0000, "LDRD", &[R(12), R(8), MemWordsT]),
    row(0xff50_0000, 0xe940_0000, "STRD", &[R(12), R(8), MemWordsT]),
    row(0xff70_0000, 0xe860_0000, "STRD", &[R(12), R(8), MemWordsT]),
    row(0xff70_0000, 0xe8e0_0000, "STRD", &[R(12), R(8), MemWordsT]),
    row(0xffff_2000, 0xe8bd_0000, "POP", &[List]),
    row(0xffff_a000, 0xe92d_0000, "PUSH", &[List]),
    row(0xffd0_2000, 0xe890_0000, "LDM", &[BlockBase, List]),
    row(0xffd0_2000, 0xe910_0000, "LDMDB", &[BlockBase, List]),
    row(0xffd0_a000, 0xe880_0000, "STM", &[BlockBase, List]),
    row(0xffd0_a000, 0xe900_0000, "STMDB", &[BlockBase, List]),
    // Prefetches are loads to PC of less than a word.
    row(0xffd0_f000, 0xf890_f000, "PLD", &[MemT]),
    row(0xffd0_ff00, 0xf810_fc00, "PLD", &[Mem8T]),
    row(0xffd0_ffc0, 0xf810_f000, "PLD", &[MemRegT]),
    // Loads relative to PC.
    row(0xff7f_0000, 0xf81f_0000, "LDRB", &[R(12), LiteralT]),
    row(0xff7f_0000, 0xf83f_0000, "LDRH", &[R(12), LiteralT]),
    row(0xff7f_0000, 0xf85f_0000, "LDR", &[R(12), LiteralT]),
    row(0xff7f_0000, 0xf91f_0000, "LDRSB", &[R(12), LiteralT]),
    row(0xff7f_0000, 0xf93f_0000, "LDRSH", &[R(12), LiteralT]),
    // Loads and stores.
    row(0xffff_0fff, 0xf85d_0b04, "POP", &[ListOne]),
    row(0xffff_0fff, 0xf84d_0d04, "PUSH", &[ListOne]),
    row(0xfff0_0000, 0xf880_0000, "STRB", &[R(12), MemT]),
    row(0xfff0_0000, 0xf890_0000, "LDRB", &[R(12), MemT]),
    row(0xfff0_0000, 0xf8a0_0000, "STRH", &[R(12), MemT]),
    row(0xfff0_0000, 0xf8b0_0000, "LDRH", &[R(12), MemT]),
    row(0xfff0_0000, 0xf8c0_0000, "STR", &[R(12), MemT]),
    row(0xfff0_0000, 0xf8d0_0000, "LDR", &[R(12), MemT]),
    row(0xfff0_0000, 0xf990_0000, "LDRSB", &[R(12), MemT]),
    row(0xfff0_0000, 0xf9b0_0000, "LDRSH", &[R(12), MemT]),
    row(0xfff0_0800, 0xf800_0800, "STRB", &[R(12), Mem8T]),
    row(0xfff0_0800, 0xf810_0800, "LDRB", &[R(12), Mem8T]),
    row(0xfff0_0800, 0xf820_0800, "STRH", &[R(12), Mem8T]),
    row(0xfff0_0800, 0xf830_0800, "LDRH", &[R(12), Mem8T]),
    row(0xfff0_0800, 0xf840_0800, "STR", &[R(12), Mem8T]),
    row(0xfff0_0800, 0xf850_0800, "LDR", &[R(12), Mem8T]),
    row(0xfff0_0800, 0xf910_0800, "LDRSB", &[R(12), Mem8T]),
    row(0xfff0_0800, 0xf930_0800, "LDRSH", &[R(12), Mem8T]),
    row(0xfff0_0fc0, 0xf800_0000, "STRB", &[R(12), MemRegT]),
    row(0xfff0_0fc0, 0xf810_0000, "LDRB", &[R(12), MemRegT]),
    row(0xfff0_0fc0, 0xf820_0000, "STRH", &[R(12), MemRegT]),
    row(0xfff0_0fc0, 0xf830_0000, "LDRH", &[R(12), MemRegT]),
    row(0xfff0_0fc0, 0xf840_0000, "STR", &[R(12), MemRegT]),
    row(0xfff0_0fc0, 0xf850_0000, "LDR", &[R(12), MemRegT]),
    row(0xfff0_0fc0, 0xf910_0000, "LDRSB", &[R(12), MemRegT]),
    row(0xfff0_0fc0, 0xf930_0000, "LDRSH", &[R(12), MemRegT]),
    // Control.
    row(0xf800_d000, 0xf000_9000, "B", &[TargetT]).flow(Flow::Jump),
    row(0xf800_d000, 0xf000_d000, "BL", &[TargetT]).flow(Flow::Call),
    row(0xf800_d000, 0xf000_c000, "BLX", &[TargetExchangeT]).flow(Flow::Call),
    row(0xffff_ffff, 0xf3bf_8f2f, "CLREX", &[]),
    row(0xffff_fff0, 0xf3bf_8f40, "DSB", &[Barrier]),
    row(0xffff_fff0, 0xf3bf_8f50, "DMB", &[Barrier]),
    row(0xffff_ffff, 0xf3bf_8f6f, "ISB", &[]),
    row(0xfff0_f000, 0xf7f0_a000, "UDF", &[TrapT]).flow(Flow::Trap),
];
