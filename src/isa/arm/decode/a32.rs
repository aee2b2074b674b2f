//! A32: instructions of 4 bytes, nearly all with a condition in the highest 4 bits.

use super::coprocessor;
use super::field::Field::*;
use super::field::{Field, Row, find, loads_pc, row};
use super::part::{PC, Part, SHIFTS, bit, bits, hint, imm, reg, shift, shifted, to_pc};
use super::{AL, part};
use crate::machine::{Flow, Operand};

/// Condition and instruction.
pub fn decode(word: u32, at: u64) -> Option<(u8, Part)> {
    let cond = (word >> 28) as u8;
    if cond == 15 {
        let part = match word & 0xff90_0000 {
            0xf400_0000 => coprocessor::elements(word),
            _ => {
                coprocessor::vector_constant(word, false).or_else(|| find(UNCONDITIONAL, word, at))
            }
        };
        return Some((AL, part?));
    }
    // Without the condition, the tables need not say it.
    let plain = word & 0x0fff_ffff;
    let part = match data(plain, at) {
        Some(part) => part,
        None => match plain & 0x0fff_ff00 {
            0x0320_f000 => Part::new(hint(plain & 0xff)?, Vec::new()),
            _ => match find(TABLE, plain, at) {
                Some(part) => loads_pc(part, plain),
                None => coprocessor::decode(plain, at, false)?,
            },
        },
    };
    // These have no condition.
    if cond != AL && matches!(part.name, "UDF" | "BKPT") {
        return None;
    }
    let returns = matches!(part.name, "POP" | "LDM") && bit(word, 15) && bits(word, 25, 3) == 4;
    let flow = match part.name {
        _ if returns => Flow::Return,
        "BX" => to_pc(plain & 15),
        "POP" if bits(word, 12, 4) == PC && bits(word, 25, 3) == 2 => Flow::Return,
        _ => part.flow,
    };
    Some((cond, part.flow(flow)))
}

const OPS: [&str; 16] = [
    "AND", "EOR", "SUB", "RSB", "ADD", "ADC", "SBC", "RSC", "TST", "TEQ", "CMP", "CMN", "ORR",
    "MOV", "BIC", "MVN",
];

/// Integer data processing with a flexible second operand.
fn data(word: u32, at: u64) -> Option<Part> {
    let constant = bit(word, 25);
    let by_register = !constant && bit(word, 4);
    if word >> 26 != 0 || (by_register && bit(word, 7)) {
        return None;
    }
    let op = OPS[bits(word, 21, 4) as usize];
    let sets = bit(word, 20);
    let (rn, rd, rm) = (bits(word, 16, 4), bits(word, 12, 4), bits(word, 0, 4));
    let is_test = matches!(op, "TST" | "TEQ" | "CMP" | "CMN");
    let is_move = matches!(op, "MOV" | "MVN");
    // Fields that an operation does not have are 0; tests that set no flags are other things.
    if (is_test && (!sets || rd != 0)) || (is_move && rn != 0) {
        return None;
    }
    if by_register && [rn, rd, rm, bits(word, 8, 4)].contains(&PC) {
        return None;
    }
    let flow = match rd == PC && !is_test {
        // A return from an exception.
        true if sets => return None,
        true if op == "MOV" && !constant => to_pc(rm),
        // The form in which Go's assembler writes a return.
        true if op == "ADD" && constant && bits(word, 0, 12) == 0 => to_pc(rn),
        true => Flow::JumpRegister,
        false => Flow::Next,
    };
    if constant {
        let value = rotated(word, sets)?;
        if rn == PC && !sets && matches!(op, "ADD" | "SUB") {
            let n = part::direction(op == "ADD", value);
            let place = at.wrapping_add(8).wrapping_add(n as u64);
            return Some(Part::new("ADR", vec![reg(rd), Operand::Code(place)]).flow(flow));
        }
        let operands = if is_test {
            vec![reg(rn), imm(value)]
        } else if is_move {
            vec![reg(rd), imm(value)]
        } else {
            vec![reg(rd), reg(rn), imm(value)]
        };
        return Some(Part::new(op, operands).sets(sets && !is_test).flow(flow));
    }
    let kind = bits(word, 5, 2);
    if op == "MOV" {
        // Shifts are moves of a shifted register.
        let (name, last) = match (by_register, shift(kind, bits(word, 7, 5))) {
            (true, _) => (SHIFTS[kind as usize], Some(reg(bits(word, 8, 4)))),
            (false, None) => ("MOV", None),
            (false, Some(("RRX", _))) => ("RRX", None),
            (false, Some((name, amount))) => (name, Some(imm(amount))),
        };
        let mut operands = vec![reg(rd), reg(rm)];
        operands.extend(last);
        return Some(Part::new(name, operands).sets(sets).flow(flow));
    }
    let mut operands = Vec::new();
    if !is_test {
        operands.push(reg(rd));
    }
    if !is_move {
        operands.push(reg(rn));
    }
    if by_register {
        let by = part::name(bits(word, 8, 4));
        operands.push(reg(rm));
        operands.push(Operand::Text(format!("{} {by}", SHIFTS[kind as usize])));
    } else {
        operands.extend(shifted(rm, kind, bits(word, 7, 5)));
    }
    Some(Part::new(op, operands).sets(sets && !is_test).flow(flow))
}

/// A constant of 8 bits rotated. A small one that is rotated all the same would set another
/// carry than what its text says.
fn rotated(word: u32, sets: bool) -> Option<u32> {
    let turn = 2 * bits(word, 8, 4);
    let value = (word & 0xff).rotate_right(turn);
    (turn == 0 || value > 0xff || !sets).then_some(value)
}

const DNM: &[Field] = &[R(16), R(0), R(8)];
const DNMA: &[Field] = &[R(16), R(0), R(8), R(12)];
const LONG: &[Field] = &[R(12), R(16), R(0), R(8)];
const TB: &[Field] = &[R(12), Base];
const DM: &[Field] = &[R(12), R(0)];
const DTB: &[Field] = &[R(12), R(0), Base];

/// Without the condition. The first that fits counts.
const TABLE: &[Row] = &[
    row(0x0ff0_0000, 0x0300_0000, "MOVW", &[R(12), WideA]),
    row(0x0ff0_0000, 0x0340_0000, "MOVT", &[R(12), WideA]),
    row(0x0fff_0fff, 0x010f_0000, "MRS", &[R(12), Fixed("APSR")]),
    // Products.
    row(0x0ff0_f0f0, 0x0000_0090, "MUL", DNM).sets(),
    row(0x0ff0_00f0, 0x0020_0090, "MLA", DNMA).sets(),
    row(0x0ff0_00f0, 0x0040_0090, "UMAAL", LONG),
    row(0x0ff0_00f0, 0x0060_0090, "MLS", DNMA),
    row(0x0ff0_00f0, 0x0080_0090, "UMULL", LONG).sets(),
    row(0x0ff0_00f0, 0x00a0_0090, "UMLAL", LONG).sets(),
    row(0x0ff0_00f0, 0x00c0_0090, "SMULL", LONG).sets(),
    row(0x0ff0_00f0, 0x00e0_0090, "SMLAL", LONG).sets(),
    row(0x0ff0_00f0, 0x0100_0080, "SMLABB", DNMA),
    row(0x0ff0_00f0, 0x0100_00a0, "SMLATB", DNMA),
    row(0x0ff0_00f0, 0x0100_00c0, "SMLABT", DNMA),
    row(0x0ff0_00f0, 0x0100_00e0, "SMLATT", DNMA),
    row(0x0ff0_f0f0, 0x0160_0080, "SMULBB", DNM),
    row(0x0ff0_f0f0, 0x0160_00a0, "SMULTB", DNM),
    row(0x0ff0_f0f0, 0x0160_00c0, "SMULBT", DNM),
    row(0x0ff0_f0f0, 0x0160_00e0, "SMULTT", DNM),
    row(0x0ff0_f0f0, 0x0710_f010, "SDIV", DNM),
    row(0x0ff0_f0f0, 0x0730_f010, "UDIV", DNM),
    row(0x0ff0_f0f0, 0x0750_f010, "SMMUL", DNM),
    row(0x0ff0_00f0, 0x0750_0010, "SMMLA", DNMA),
    row(0x0ff0_00f0, 0x0750_00d0, "SMMLS", DNMA),
    // Exclusive, acquire and release.
    row(0x0ff0_0ff0, 0x0100_0090, "SWP", DTB),
    row(0x0ff0_0ff0, 0x0140_0090, "SWPB", DTB),
    row(0x0ff0_0fff, 0x0190_0f9f, "LDREX", TB),
    row(0x0ff0_1fff, 0x01b0_0f9f, "LDREXD", &[R(12), Next(12), Base]),
    row(0x0ff0_0fff, 0x01d0_0f9f, "LDREXB", TB),
    row(0x0ff0_0fff, 0x01f0_0f9f, "LDREXH", TB),
    row(0x0ff0_0ff0, 0x0180_0f90, "STREX", DTB),
    row(0x0ff0_0ff1, 0x01a0_0f90, "STREXD", &[R(12), R(0), Next(0), Base]),
    row(0x0ff0_0ff0, 0x01c0_0f90, "STREXB", DTB),
    row(0x0ff0_0ff0, 0x01e0_0f90, "STREXH", DTB),
    row(0x0ff0_0fff, 0x0190_0e9f, "LDAEX", TB),
    row(0x0ff0_1fff, 0x01b0_0e9f, "LDAEXD", &[R(12), Next(12), Base]),
    row(0x0ff0_0fff, 0x01d0_0e9f, "LDAEXB", TB),
    row(0x0ff0_0fff, 0x01f0_0e9f, "LDAEXH", TB),
    row(0x0ff0_0ff0, 0x0180_0e90, "STLEX", DTB),
    row(0x0ff0_0ff1, 0x01a0_0e90, "STLEXD", &[R(12), R(0), Next(0), Base]),
    row(0x0ff0_0ff0, 0x01c0_0e90, "STLEXB", DTB),
    row(0x0ff0_0ff0, 0x01e0_0e90, "STLEXH", DTB),
    row(0x0ff0_0fff, 0x0190_0c9f, "LDA", TB),
    row(0x0ff0_0fff, 0x01d0_0c9f, "LDAB", TB),
    row(0x0ff0_0fff, 0x01f0_0c9f, "LDAH", TB),
    row(0x0ff0_fff0, 0x0180_fc90, "STL", &[R(0), Base]),
    row(0x0ff0_fff0, 0x01c0_fc90, "STLB", &[R(0), Base]),
    row(0x0ff0_fff0, 0x01e0_fc90, "STLH", &[R(0), Base]),
    // Halves, signed bytes and pairs.
    row(0x0f7f_00f0, 0x015f_00b0, "LDRH", &[R(12), LiteralHalfA]),
    row(0x0f7f_00f0, 0x015f_00d0, "LDRSB", &[R(12), LiteralHalfA]),
    row(0x0f7f_00f0, 0x015f_00f0, "LDRSH", &[R(12), LiteralHalfA]),
    row(0x0f7f_10f0, 0x014f_00d0, "LDRD", &[R(12), Next(12), LiteralHalfA]),
    row(0x0e50_00f0, 0x0050_00b0, "LDRH", &[R(12), MemHalfA]),
    row(0x0e50_00f0, 0x0050_00d0, "LDRSB", &[R(12), MemHalfA]),
    row(0x0e50_00f0, 0x0050_00f0, "LDRSH", &[R(12), MemHalfA]),
    row(0x0e50_00f0, 0x0040_00b0, "STRH", &[R(12), MemHalfA]),
    row(0x0e50_10f0, 0x0040_00d0, "LDRD", &[R(12), Next(12), MemHalfA]),
    row(0x0e50_10f0, 0x0040_00f0, "STRD", &[R(12), Next(12), MemHalfA]),
    row(0x0e50_0ff0, 0x0010_00b0, "LDRH", &[R(12), MemHalfRegA]),
    row(0x0e50_0ff0, 0x0010_00d0, "LDRSB", &[R(12), MemHalfRegA]),
    row(0x0e50_0ff0, 0x0010_00f0, "LDRSH", &[R(12), MemHalfRegA]),
    row(0x0e50_0ff0, 0x0000_00b0, "STRH", &[R(12), MemHalfRegA]),
    row(0x0e50_1ff0, 0x0000_00d0, "LDRD", &[R(12), Next(12), MemHalfRegA]),
    row(0x0e50_1ff0, 0x0000_00f0, "STRD", &[R(12), Next(12), MemHalfRegA]),
    // Words and bytes.
    row(0x0fff_0fff, 0x049d_0004, "POP", &[ListOne]),
    row(0x0fff_0fff, 0x052d_0004, "PUSH", &[ListOne]),
    row(0x0f7f_0000, 0x051f_0000, "LDR", &[R(12), LiteralA]),
    row(0x0f7f_0000, 0x055f_0000, "LDRB", &[R(12), LiteralA]),
    row(0x0e50_0000, 0x0410_0000, "LDR", &[R(12), MemA]),
    row(0x0e50_0000, 0x0450_0000, "LDRB", &[R(12), MemA]),
    row(0x0e50_0000, 0x0400_0000, "STR", &[R(12), MemA]),
    row(0x0e50_0000, 0x0440_0000, "STRB", &[R(12), MemA]),
    row(0x0e50_0010, 0x0610_0000, "LDR", &[R(12), MemRegA]),
    row(0x0e50_0010, 0x0650_0000, "LDRB", &[R(12), MemRegA]),
    row(0x0e50_0010, 0x0600_0000, "STR", &[R(12), MemRegA]),
    row(0x0e50_0010, 0x0640_0000, "STRB", &[R(12), MemRegA]),
    // Blocks.
    row(0x0fff_0000, 0x08bd_0000, "POP", &[List]),
    row(0x0fff_0000, 0x092d_0000, "PUSH", &[List]),
    row(0x0fd0_0000, 0x0890_0000, "LDM", &[BlockBase, List]),
    row(0x0fd0_0000, 0x0810_0000, "LDMDA", &[BlockBase, List]),
    row(0x0fd0_0000, 0x0910_0000, "LDMDB", &[BlockBase, List]),
    row(0x0fd0_0000, 0x0990_0000, "LDMIB", &[BlockBase, List]),
    row(0x0fd0_0000, 0x0880_0000, "STM", &[BlockBase, List]),
    row(0x0fd0_0000, 0x0800_0000, "STMDA", &[BlockBase, List]),
    row(0x0fd0_0000, 0x0900_0000, "STMDB", &[BlockBase, List]),
    row(0x0fd0_0000, 0x0980_0000, "STMIB", &[BlockBase, List]),
    // Parts of registers.
    row(0x0fff_03f0, 0x06af_0070, "SXTB", &[R(12), R(0), Rotate(10)]),
    row(0x0ff0_03f0, 0x06a0_0070, "SXTAB", &[R(12), R(16), R(0), Rotate(10)]),
    row(0x0fff_03f0, 0x06bf_0070, "SXTH", &[R(12), R(0), Rotate(10)]),
    row(0x0ff0_03f0, 0x06b0_0070, "SXTAH", &[R(12), R(16), R(0), Rotate(10)]),
    row(0x0fff_03f0, 0x06ef_0070, "UXTB", &[R(12), R(0), Rotate(10)]),
    row(0x0ff0_03f0, 0x06e0_0070, "UXTAB", &[R(12), R(16), R(0), Rotate(10)]),
    row(0x0fff_03f0, 0x06ff_0070, "UXTH", &[R(12), R(0), Rotate(10)]),
    row(0x0ff0_03f0, 0x06f0_0070, "UXTAH", &[R(12), R(16), R(0), Rotate(10)]),
    row(0x0fff_0ff0, 0x06bf_0f30, "REV", DM),
    row(0x0fff_0ff0, 0x06bf_0fb0, "REV16", DM),
    row(0x0fff_0ff0, 0x06ff_0fb0, "REVSH", DM),
    row(0x0fff_0ff0, 0x06ff_0f30, "RBIT", DM),
    row(0x0fff_0ff0, 0x016f_0f10, "CLZ", DM),
    row(0x0fe0_0070, 0x07a0_0050, "SBFX", &[R(12), R(0), ExtractA]),
    row(0x0fe0_0070, 0x07e0_0050, "UBFX", &[R(12), R(0), ExtractA]),
    row(0x0fe0_007f, 0x07c0_001f, "BFC", &[R(12), InsertA]),
    row(0x0fe0_0070, 0x07c0_0010, "BFI", &[R(12), R(0), InsertA]),
    row(0x0ff0_0ff0, 0x0650_0f90, "UADD8", &[R(12), R(16), R(0)]),
    row(0x0ff0_0ff0, 0x0650_0f10, "UADD16", &[R(12), R(16), R(0)]),
    row(0x0ff0_0ff0, 0x0680_0fb0, "SEL", &[R(12), R(16), R(0)]),
    row(0x0fe0_0030, 0x06a0_0010, "SSAT", &[R(12), WidthSigned(16), R(0), SaturateA]),
    row(0x0fe0_0030, 0x06e0_0010, "USAT", &[R(12), Width(16), R(0), SaturateA]),
    // Control.
    row(0x0fff_fff0, 0x012f_ff10, "BX", &[R(0)]).flow(Flow::JumpRegister),
    row(0x0fff_fff0, 0x012f_ff30, "BLX", &[R(0)]).flow(Flow::CallRegister),
    row(0x0f00_0000, 0x0a00_0000, "B", &[TargetA]).flow(Flow::Jump),
    row(0x0f00_0000, 0x0b00_0000, "BL", &[TargetA]).flow(Flow::Call),
    row(0x0ff0_00f0, 0x0120_0070, "BKPT", &[Trap]).flow(Flow::Trap),
    row(0x0ff0_00f0, 0x07f0_00f0, "UDF", &[Trap]).flow(Flow::Trap),
    row(0x0f00_0000, 0x0f00_0000, "SVC", &[Num(0, 24)]),
];

const UNCONDITIONAL: &[Row] = &[
    row(0xffff_ffff, 0xf57f_f01f, "CLREX", &[]),
    row(0xffff_fff0, 0xf57f_f040, "DSB", &[Barrier]),
    row(0xffff_fff0, 0xf57f_f050, "DMB", &[Barrier]),
    row(0xffff_ffff, 0xf57f_f06f, "ISB", &[]),
    row(0xff70_f000, 0xf550_f000, "PLD", &[MemA]),
    row(0xff70_f000, 0xf510_f000, "PLDW", &[MemA]),
    row(0xff70_f010, 0xf750_f000, "PLD", &[MemRegA]),
    row(0xff70_f010, 0xf710_f000, "PLDW", &[MemRegA]),
    row(0xfe00_0000, 0xfa00_0000, "BLX", &[TargetExchangeA]).flow(Flow::Call),
];
