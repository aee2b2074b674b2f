//! Encodings of integer instructions: RV64IM, Zicsr, Zba, Zbb, Zbs, Zicond and Zawrs.

use super::fields::Field::{
    After, Before, Branch, Csr, Imm12, Jump, Load, Rd, Rs1, Rs2, Shift5, Shift6, Store, Upper, Zimm,
};
use super::fields::{ALL, F3, F6, F7, Field, OP, Row, UNARY, f7, row};

pub const BRANCH: u32 = 0x63;
pub const JALR: u32 = 0x67;
pub const JAL: u32 = 0x6f;
pub const SYSTEM: u32 = 0x73;
const IMM: u32 = 0x13;
const IMM_W: u32 = 0x1b;
const REG: u32 = 0x33;
const REG_W: u32 = 0x3b;
const LOAD: u32 = 0x03;
const STORE: u32 = 0x23;
const FENCE: u32 = 0x0f;

pub const NOP: u32 = IMM;
pub const UNIMP: u32 = 0xc000_1073;
pub const EBREAK: u32 = 0x0010_0073;
const ECALL: u32 = 0x0000_0073;

/// Whether an instruction of the system's kind does not go on.
pub fn is_trap(word: u32) -> bool {
    matches!(word, UNIMP | EBREAK | ECALL)
}

const R3: &[Field] = &[Rd, Rs1, Rs2];
const R2: &[Field] = &[Rd, Rs1];
const I: &[Field] = &[Rd, Rs1, Imm12];
const S6: &[Field] = &[Rd, Rs1, Shift6];
const S5: &[Field] = &[Rd, Rs1, Shift5];
const L: &[Field] = &[Rd, Load];
const S: &[Field] = &[Rs2, Store];
const B: &[Field] = &[Rs1, Rs2, Branch];
const C: &[Field] = &[Rd, Csr, Rs1];
const CI: &[Field] = &[Rd, Csr, Zimm];

const fn f3(opcode: u32, funct3: u32) -> u32 {
    f7(opcode, funct3, 0)
}

/// An opcode with funct3 and the 12 bits from 20 up.
const fn f12(opcode: u32, funct3: u32, high: u32) -> u32 {
    opcode | funct3 << 12 | high << 20
}

/// Exact encodings come before those that they are cases of.
pub const ROWS: &[Row] = &[
    row("lui", OP, 0x37, &[Rd, Upper]),
    row("auipc", OP, 0x17, &[Rd, Upper]),
    row("jal", OP, JAL, &[Rd, Jump]),
    row("jalr", F3, f3(JALR, 0), &[Rd, Load]),
    row("beq", F3, f3(BRANCH, 0), B),
    row("bne", F3, f3(BRANCH, 1), B),
    row("blt", F3, f3(BRANCH, 4), B),
    row("bge", F3, f3(BRANCH, 5), B),
    row("bltu", F3, f3(BRANCH, 6), B),
    row("bgeu", F3, f3(BRANCH, 7), B),
    row("lb", F3, f3(LOAD, 0), L),
    row("lh", F3, f3(LOAD, 1), L),
    row("lw", F3, f3(LOAD, 2), L),
    row("ld", F3, f3(LOAD, 3), L),
    row("lbu", F3, f3(LOAD, 4), L),
    row("lhu", F3, f3(LOAD, 5), L),
    row("lwu", F3, f3(LOAD, 6), L),
    row("sb", F3, f3(STORE, 0), S),
    row("sh", F3, f3(STORE, 1), S),
    row("sw", F3, f3(STORE, 2), S),
    row("sd", F3, f3(STORE, 3), S),
    // With a constant.
    row("addi", F3, f3(IMM, 0), I),
    row("slti", F3, f3(IMM, 2), I),
    row("sltiu", F3, f3(IMM, 3), I),
    row("xori", F3, f3(IMM, 4), I),
    row("ori", F3, f3(IMM, 6), I),
    row("andi", F3, f3(IMM, 7), I),
    row("slli", F6, f7(IMM, 1, 0x00), S6),
    row("bseti", F6, f7(IMM, 1, 0x14), S6),
    row("bclri", F6, f7(IMM, 1, 0x24), S6),
    row("binvi", F6, f7(IMM, 1, 0x34), S6),
    row("clz", UNARY, f12(IMM, 1, 0x600), R2),
    row("ctz", UNARY, f12(IMM, 1, 0x601), R2),
    row("cpop", UNARY, f12(IMM, 1, 0x602), R2),
    row("sext.b", UNARY, f12(IMM, 1, 0x604), R2),
    row("sext.h", UNARY, f12(IMM, 1, 0x605), R2),
    row("srli", F6, f7(IMM, 5, 0x00), S6),
    row("srai", F6, f7(IMM, 5, 0x20), S6),
    row("bexti", F6, f7(IMM, 5, 0x24), S6),
    row("rori", F6, f7(IMM, 5, 0x30), S6),
    row("orc.b", UNARY, f12(IMM, 5, 0x287), R2),
    row("rev8", UNARY, f12(IMM, 5, 0x6b8), R2),
    row("addiw", F3, f3(IMM_W, 0), I),
    row("slliw", F7, f7(IMM_W, 1, 0x00), S5),
    row("slli.uw", F6, f7(IMM_W, 1, 0x04), S6),
    row("clzw", UNARY, f12(IMM_W, 1, 0x600), R2),
    row("ctzw", UNARY, f12(IMM_W, 1, 0x601), R2),
    row("cpopw", UNARY, f12(IMM_W, 1, 0x602), R2),
    row("srliw", F7, f7(IMM_W, 5, 0x00), S5),
    row("sraiw", F7, f7(IMM_W, 5, 0x20), S5),
    row("roriw", F7, f7(IMM_W, 5, 0x30), S5),
    // With two registers.
    row("add", F7, f7(REG, 0, 0x00), R3),
    row("sub", F7, f7(REG, 0, 0x20), R3),
    row("sll", F7, f7(REG, 1, 0x00), R3),
    row("slt", F7, f7(REG, 2, 0x00), R3),
    row("sltu", F7, f7(REG, 3, 0x00), R3),
    row("xor", F7, f7(REG, 4, 0x00), R3),
    row("srl", F7, f7(REG, 5, 0x00), R3),
    row("sra", F7, f7(REG, 5, 0x20), R3),
    row("or", F7, f7(REG, 6, 0x00), R3),
    row("and", F7, f7(REG, 7, 0x00), R3),
    row("mul", F7, f7(REG, 0, 0x01), R3),
    row("mulh", F7, f7(REG, 1, 0x01), R3),
    row("mulhsu", F7, f7(REG, 2, 0x01), R3),
    row("mulhu", F7, f7(REG, 3, 0x01), R3),
    row("div", F7, f7(REG, 4, 0x01), R3),
    row("divu", F7, f7(REG, 5, 0x01), R3),
    row("rem", F7, f7(REG, 6, 0x01), R3),
    row("remu", F7, f7(REG, 7, 0x01), R3),
    row("andn", F7, f7(REG, 7, 0x20), R3),
    row("orn", F7, f7(REG, 6, 0x20), R3),
    row("xnor", F7, f7(REG, 4, 0x20), R3),
    row("min", F7, f7(REG, 4, 0x05), R3),
    row("minu", F7, f7(REG, 5, 0x05), R3),
    row("max", F7, f7(REG, 6, 0x05), R3),
    row("maxu", F7, f7(REG, 7, 0x05), R3),
    row("rol", F7, f7(REG, 1, 0x30), R3),
    row("ror", F7, f7(REG, 5, 0x30), R3),
    row("sh1add", F7, f7(REG, 2, 0x10), R3),
    row("sh2add", F7, f7(REG, 4, 0x10), R3),
    row("sh3add", F7, f7(REG, 6, 0x10), R3),
    row("bset", F7, f7(REG, 1, 0x14), R3),
    row("bclr", F7, f7(REG, 1, 0x24), R3),
    row("binv", F7, f7(REG, 1, 0x34), R3),
    row("bext", F7, f7(REG, 5, 0x24), R3),
    row("czero.eqz", F7, f7(REG, 5, 0x07), R3),
    row("czero.nez", F7, f7(REG, 7, 0x07), R3),
    row("addw", F7, f7(REG_W, 0, 0x00), R3),
    row("subw", F7, f7(REG_W, 0, 0x20), R3),
    row("sllw", F7, f7(REG_W, 1, 0x00), R3),
    row("srlw", F7, f7(REG_W, 5, 0x00), R3),
    row("sraw", F7, f7(REG_W, 5, 0x20), R3),
    row("mulw", F7, f7(REG_W, 0, 0x01), R3),
    row("divw", F7, f7(REG_W, 4, 0x01), R3),
    row("divuw", F7, f7(REG_W, 5, 0x01), R3),
    row("remw", F7, f7(REG_W, 6, 0x01), R3),
    row("remuw", F7, f7(REG_W, 7, 0x01), R3),
    row("rolw", F7, f7(REG_W, 1, 0x30), R3),
    row("rorw", F7, f7(REG_W, 5, 0x30), R3),
    row("add.uw", F7, f7(REG_W, 0, 0x04), R3),
    row("sh1add.uw", F7, f7(REG_W, 2, 0x10), R3),
    row("sh2add.uw", F7, f7(REG_W, 4, 0x10), R3),
    row("sh3add.uw", F7, f7(REG_W, 6, 0x10), R3),
    row("zext.h", UNARY, f12(REG_W, 4, 0x080), R2),
    // Fences and the system.
    row("fence.tso", ALL, 0x8330_000f, &[]),
    row("pause", ALL, 0x0100_000f, &[]),
    row("fence", 0xf00f_ffff, FENCE, &[Before, After]),
    row("fence.i", ALL, 0x0000_100f, &[]),
    row("ecall", ALL, ECALL, &[]),
    row("ebreak", ALL, EBREAK, &[]),
    row("wrs.nto", ALL, 0x00d0_0073, &[]),
    row("wrs.sto", ALL, 0x01d0_0073, &[]),
    row("unimp", ALL, UNIMP, &[]),
    row("csrrw", F3, f3(SYSTEM, 1), C),
    row("csrrs", F3, f3(SYSTEM, 2), C),
    row("csrrc", F3, f3(SYSTEM, 3), C),
    row("csrrwi", F3, f3(SYSTEM, 5), CI),
    row("csrrsi", F3, f3(SYSTEM, 6), CI),
    row("csrrci", F3, f3(SYSTEM, 7), CI),
];
