//! Instructions of 16 bits (C and Zcb) as those of 32 bits that they stand for.

use super::base;

/// Moves runs of bits: each is (highest, lowest, where the lowest goes).
fn gather(half: u32, runs: &[(u32, u32, u32)]) -> u32 {
    runs.iter().fold(0, |v, (high, low, to)| {
        let ones = (1 << (high - low + 1)) - 1;
        v | (half >> low & ones) << to
    })
}

/// The low `bits` of `value`, sign-extended.
fn sign(value: u32, bits: u32) -> u32 {
    let spare = 32 - bits;
    (((value << spare) as i32) >> spare) as u32
}

// The encodings of 32 bits, by their usual letters.

fn r(opcode: u32, funct3: u32, funct7: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    opcode | rd << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | funct7 << 25
}

fn i(opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: u32) -> u32 {
    opcode | rd << 7 | funct3 << 12 | rs1 << 15 | (imm & 0xfff) << 20
}

fn s(opcode: u32, funct3: u32, rs1: u32, rs2: u32, imm: u32) -> u32 {
    opcode | (imm & 31) << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5 & 0x7f) << 25
}

fn b(funct3: u32, rs1: u32, imm: u32) -> u32 {
    let runs = [(4, 1, 8), (10, 5, 25), (11, 11, 7), (12, 12, 31)];
    base::BRANCH | funct3 << 12 | rs1 << 15 | gather(imm, &runs)
}

fn j(imm: u32) -> u32 {
    base::JAL | gather(imm, &[(10, 1, 21), (11, 11, 20), (19, 12, 12), (20, 20, 31)])
}

const LOAD: u32 = 0x03;
const LOAD_FP: u32 = 0x07;
const IMM: u32 = 0x13;
const IMM_W: u32 = 0x1b;
const STORE: u32 = 0x23;
const STORE_FP: u32 = 0x27;
const REG: u32 = 0x33;
const LUI: u32 = 0x37;
const REG_W: u32 = 0x3b;
const SP: u32 = 2;

/// None where there is no such instruction.
pub fn expand(half: u16) -> Option<u32> {
    let half = u32::from(half);
    match half & 3 {
        0 => memory(half),
        1 => arithmetic(half),
        2 => stack(half),
        _ => None,
    }
}

/// Loads and stores with registers x8 to x15.
fn memory(half: u32) -> Option<u32> {
    if half == 0 {
        return Some(base::UNIMP);
    }
    let (rd, rs1) = (8 + (half >> 2 & 7), 8 + (half >> 7 & 7));
    let word = gather(half, &[(12, 10, 3), (6, 6, 2), (5, 5, 6)]);
    let double = gather(half, &[(12, 10, 3), (6, 5, 6)]);
    let byte = gather(half, &[(6, 6, 0), (5, 5, 1)]);
    Some(match half >> 13 {
        0 => {
            let imm = gather(half, &[(12, 11, 4), (10, 7, 6), (6, 6, 2), (5, 5, 3)]);
            if imm == 0 {
                return None;
            }
            i(IMM, 0, rd, SP, imm)
        }
        1 => i(LOAD_FP, 3, rd, rs1, double),
        2 => i(LOAD, 2, rd, rs1, word),
        3 => i(LOAD, 3, rd, rs1, double),
        4 => match (half >> 10 & 7, half >> 6 & 1) {
            (0, _) => i(LOAD, 4, rd, rs1, byte),
            (1, 0) => i(LOAD, 5, rd, rs1, byte & 2),
            (1, _) => i(LOAD, 1, rd, rs1, byte & 2),
            (2, _) => s(STORE, 0, rs1, rd, byte),
            (3, 0) => s(STORE, 1, rs1, rd, byte & 2),
            _ => return None,
        },
        5 => s(STORE_FP, 3, rs1, rd, double),
        6 => s(STORE, 2, rs1, rd, word),
        _ => s(STORE, 3, rs1, rd, double),
    })
}

fn arithmetic(half: u32) -> Option<u32> {
    let rd = half >> 7 & 31;
    let imm = sign(gather(half, &[(12, 12, 5), (6, 2, 0)]), 6);
    let small = 8 + (half >> 7 & 7);
    Some(match half >> 13 {
        0 => i(IMM, 0, rd, rd, imm),
        1 if rd == 0 => return None,
        1 => i(IMM_W, 0, rd, rd, imm),
        2 => i(IMM, 0, rd, 0, imm),
        3 if imm == 0 => return None,
        3 if rd == SP => {
            let runs = [(12, 12, 9), (6, 6, 4), (5, 5, 6), (4, 3, 7), (2, 2, 5)];
            i(IMM, 0, SP, SP, sign(gather(half, &runs), 10))
        }
        3 => LUI | rd << 7 | imm << 12,
        4 => return registers(half, small, imm),
        5 => {
            let runs = [
                (12, 12, 11),
                (11, 11, 4),
                (10, 9, 8),
                (8, 8, 10),
                (7, 7, 6),
                (6, 6, 7),
                (5, 3, 1),
                (2, 2, 5),
            ];
            j(sign(gather(half, &runs), 12))
        }
        funct3 => {
            let runs = [(12, 12, 8), (11, 10, 3), (6, 5, 6), (4, 3, 1), (2, 2, 5)];
            b(funct3 & 1, small, sign(gather(half, &runs), 9))
        }
    })
}

/// Operations on `rd`, one of x8 to x15.
fn registers(half: u32, rd: u32, imm: u32) -> Option<u32> {
    let rs2 = 8 + (half >> 2 & 7);
    let on = |opcode, funct3, funct7| r(opcode, funct3, funct7, rd, rd, rs2);
    Some(match half >> 10 & 3 {
        0 => i(IMM, 5, rd, rd, imm & 63),
        1 => i(IMM, 5, rd, rd, imm & 63 | 0x400),
        2 => i(IMM, 7, rd, rd, imm),
        _ => match (half >> 12 & 1, half >> 5 & 3) {
            (0, 0) => on(REG, 0, 0x20),
            (0, 1) => on(REG, 4, 0),
            (0, 2) => on(REG, 6, 0),
            (0, _) => on(REG, 7, 0),
            (_, 0) => on(REG_W, 0, 0x20),
            (_, 1) => on(REG_W, 0, 0),
            (_, 2) => on(REG, 0, 1),
            _ => match half >> 2 & 7 {
                0 => i(IMM, 7, rd, rd, 0xff),
                1 => i(IMM, 1, rd, rd, 0x604),
                2 => i(REG_W, 4, rd, rd, 0x080),
                3 => i(IMM, 1, rd, rd, 0x605),
                4 => r(REG_W, 0, 4, rd, rd, 0),
                5 => i(IMM, 4, rd, rd, 0xfff),
                _ => return None,
            },
        },
    })
}

/// Loads and stores on the stack, and what takes any two registers.
fn stack(half: u32) -> Option<u32> {
    let (rd, rs2) = (half >> 7 & 31, half >> 2 & 31);
    let word = gather(half, &[(12, 12, 5), (6, 4, 2), (3, 2, 6)]);
    let double = gather(half, &[(12, 12, 5), (6, 5, 3), (4, 2, 6)]);
    let store_word = gather(half, &[(12, 9, 2), (8, 7, 6)]);
    let store_double = gather(half, &[(12, 10, 3), (9, 7, 6)]);
    Some(match half >> 13 {
        0 => i(IMM, 1, rd, rd, gather(half, &[(12, 12, 5), (6, 2, 0)])),
        1 => i(LOAD_FP, 3, rd, SP, double),
        2 | 3 if rd == 0 => return None,
        2 => i(LOAD, 2, rd, SP, word),
        3 => i(LOAD, 3, rd, SP, double),
        4 => match (half >> 12 & 1, rd, rs2) {
            (0, 0, 0) => return None,
            (0, _, 0) => i(base::JALR, 0, 0, rd, 0),
            // As an addition of nothing, as `mv` is everywhere.
            (0, ..) => i(IMM, 0, rd, rs2, 0),
            (_, 0, 0) => base::EBREAK,
            (_, _, 0) => i(base::JALR, 0, 1, rd, 0),
            (..) => r(REG, 0, 0, rd, rd, rs2),
        },
        5 => s(STORE_FP, 3, SP, rs2, store_double),
        6 => s(STORE, 2, SP, rs2, store_word),
        _ => s(STORE, 3, SP, rs2, store_double),
    })
}
