//! Encodings that all releases of MIPS64 from 2 on share.

use super::fields::Field::{
    Branch16, Code10, Code20, CodeLow10, Hardware, Jump, Last, Mem16, Pos, Pos32, Rd, Rs, Rt, Sa,
    Sa32, Simm, Size, Uimm,
};
use super::fields::{
    Field, OP, OPF, RD, RS, RT, Row, SA, SPECIAL, SPECIAL3, f, goes, op, regimm, row, sa,
};
use crate::machine::Flow;

const ALU: &[Field] = &[Rd, Rs, Rt];
const BY: &[Field] = &[Rd, Rt, Sa];
const BY32: &[Field] = &[Rd, Rt, Sa32];
const BYV: &[Field] = &[Rd, Rt, Rs];
const IMM: &[Field] = &[Rt, Rs, Simm];
const LOGIC: &[Field] = &[Rt, Rs, Uimm];
const MEM: &[Field] = &[Rt, Mem16];
const SWAP: &[Field] = &[Rd, Rt];
const TRAP: &[Field] = &[Rs, Rt, CodeLow10];

/// A function of `SPECIAL` on three registers.
const fn alu(name: &'static str, funct: u32) -> Row {
    row(name, OPF | SA, f(SPECIAL, funct), ALU)
}

/// A shift, by a constant or (with `BYV`) by a register; `rotate` stands where nothing else does.
const fn by(name: &'static str, funct: u32, rotate: u32, fields: &'static [Field]) -> Row {
    row(name, OPF | RS, f(SPECIAL, funct) | rotate << 21, fields)
}

const fn byv(name: &'static str, funct: u32, rotate: u32) -> Row {
    row(name, OPF | SA, sa(SPECIAL, funct, rotate), BYV)
}

/// Swaps and extensions.
const fn swap(name: &'static str, funct: u32, which: u32) -> Row {
    row(name, OPF | RS | SA, sa(SPECIAL3, funct, which), SWAP)
}

const ALL: u32 = 0xffff_ffff;

/// Exact encodings come before those that they are cases of.
pub const ROWS: &[Row] = &[
    row("nop", ALL, 0x0000_0000, &[]),
    row("ssnop", ALL, 0x0000_0040, &[]),
    row("ehb", ALL, 0x0000_00c0, &[]),
    row("pause", ALL, 0x0000_0140, &[]),
    by("sll", 0x00, 0, BY),
    by("srl", 0x02, 0, BY),
    by("rotr", 0x02, 1, BY),
    by("sra", 0x03, 0, BY),
    byv("sllv", 0x04, 0),
    byv("srlv", 0x06, 0),
    byv("rotrv", 0x06, 1),
    byv("srav", 0x07, 0),
    by("dsll", 0x38, 0, BY),
    by("dsrl", 0x3a, 0, BY),
    by("drotr", 0x3a, 1, BY),
    by("dsra", 0x3b, 0, BY),
    by("dsll", 0x3c, 0, BY32),
    by("dsrl", 0x3e, 0, BY32),
    by("drotr", 0x3e, 1, BY32),
    by("dsra", 0x3f, 0, BY32),
    byv("dsllv", 0x14, 0),
    byv("dsrlv", 0x16, 0),
    byv("drotrv", 0x16, 1),
    byv("dsrav", 0x17, 0),
    goes("jalr", OPF | RT | SA, f(SPECIAL, 0x09), &[Rd, Rs], Flow::CallRegister),
    goes("jalr.hb", OPF | RT | SA, sa(SPECIAL, 0x09, 0x10), &[Rd, Rs], Flow::CallRegister),
    row("syscall", OPF, f(SPECIAL, 0x0c), &[Code20]),
    goes("break", OPF, f(SPECIAL, 0x0d), &[Code10, CodeLow10], Flow::Trap),
    row("sync", OPF | RS | RT | RD, f(SPECIAL, 0x0f), &[Sa]),
    alu("add", 0x20),
    alu("addu", 0x21),
    alu("sub", 0x22),
    alu("subu", 0x23),
    alu("and", 0x24),
    alu("or", 0x25),
    alu("xor", 0x26),
    alu("nor", 0x27),
    alu("slt", 0x2a),
    alu("sltu", 0x2b),
    alu("dadd", 0x2c),
    alu("daddu", 0x2d),
    alu("dsub", 0x2e),
    alu("dsubu", 0x2f),
    row("tge", OPF, f(SPECIAL, 0x30), TRAP),
    row("tgeu", OPF, f(SPECIAL, 0x31), TRAP),
    row("tlt", OPF, f(SPECIAL, 0x32), TRAP),
    row("tltu", OPF, f(SPECIAL, 0x33), TRAP),
    row("teq", OPF, f(SPECIAL, 0x34), TRAP),
    row("tne", OPF, f(SPECIAL, 0x36), TRAP),
    goes("bltz", OP | RT, regimm(0x00), &[Rs, Branch16], Flow::Branch),
    goes("bgez", OP | RT, regimm(0x01), &[Rs, Branch16], Flow::Branch),
    // On the register that is 0: calls, of which release 6 has no others.
    goes("bgezal", OP | RT | RS, regimm(0x11), &[Rs, Branch16], Flow::Branch),
    row("synci", OP | RT, regimm(0x1f), &[Mem16]),
    goes("j", OP, op(0x02), &[Jump], Flow::Jump),
    goes("jal", OP, op(0x03), &[Jump], Flow::Call),
    goes("beq", OP, op(0x04), &[Rs, Rt, Branch16], Flow::Branch),
    goes("bne", OP, op(0x05), &[Rs, Rt, Branch16], Flow::Branch),
    goes("blez", OP | RT, op(0x06), &[Rs, Branch16], Flow::Branch),
    goes("bgtz", OP | RT, op(0x07), &[Rs, Branch16], Flow::Branch),
    row("addiu", OP, op(0x09), IMM),
    row("slti", OP, op(0x0a), IMM),
    row("sltiu", OP, op(0x0b), IMM),
    row("andi", OP, op(0x0c), LOGIC),
    row("ori", OP, op(0x0d), LOGIC),
    row("xori", OP, op(0x0e), LOGIC),
    row("lui", OP | RS, op(0x0f), &[Rt, Uimm]),
    row("daddiu", OP, op(0x19), IMM),
    // Bit fields: the names are those of the whole range, of which an encoding holds a part.
    row("ext", OPF, f(SPECIAL3, 0x00), &[Rt, Rs, Pos, Size(0, 0, 32)]),
    row("dext", OPF, f(SPECIAL3, 0x01), &[Rt, Rs, Pos, Size(0, 32, 64)]),
    row("dext", OPF, f(SPECIAL3, 0x02), &[Rt, Rs, Pos32, Size(32, 0, 64)]),
    row("dext", OPF, f(SPECIAL3, 0x03), &[Rt, Rs, Pos, Size(0, 0, 64)]),
    row("ins", OPF, f(SPECIAL3, 0x04), &[Rt, Rs, Pos, Last(0)]),
    row("dins", OPF, f(SPECIAL3, 0x05), &[Rt, Rs, Pos, Last(32)]),
    row("dins", OPF, f(SPECIAL3, 0x06), &[Rt, Rs, Pos32, Last(0)]),
    row("dins", OPF, f(SPECIAL3, 0x07), &[Rt, Rs, Pos, Last(0)]),
    swap("wsbh", 0x20, 0x02),
    swap("seb", 0x20, 0x10),
    swap("seh", 0x20, 0x18),
    swap("dsbh", 0x24, 0x02),
    swap("dshd", 0x24, 0x05),
    row("rdhwr", OPF | RS | SA, f(SPECIAL3, 0x3b), &[Rt, Hardware]),
    row("lb", OP, op(0x20), MEM),
    row("lh", OP, op(0x21), MEM),
    row("lw", OP, op(0x23), MEM),
    row("lbu", OP, op(0x24), MEM),
    row("lhu", OP, op(0x25), MEM),
    row("lwu", OP, op(0x27), MEM),
    row("sb", OP, op(0x28), MEM),
    row("sh", OP, op(0x29), MEM),
    row("sw", OP, op(0x2b), MEM),
    row("ld", OP, op(0x37), MEM),
    row("sd", OP, op(0x3f), MEM),
];
