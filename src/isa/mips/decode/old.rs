//! Encodings of releases 2 to 5 that release 6 took away or gave to other instructions.

use super::fields::Field::{Branch16, FlagRead, Hint, Mem16, Rd, Rs, Rt, Simm};
use super::fields::{
    Field, OP, OPF, RD, RS, RT, Row, SA, SPECIAL, SPECIAL2, f, goes, op, regimm, row, sa,
};
use crate::machine::Flow;

const ALU: &[Field] = &[Rd, Rs, Rt];
const MEM: &[Field] = &[Rt, Mem16];

/// Into HI and LO.
const fn hi_lo(name: &'static str, funct: u32) -> Row {
    row(name, OPF | RD | SA, f(SPECIAL, funct), &[Rs, Rt])
}

const fn accumulate(name: &'static str, funct: u32) -> Row {
    row(name, OPF | RD | SA, f(SPECIAL2, funct), &[Rs, Rt])
}

const fn bits(name: &'static str, funct: u32) -> Row {
    row(name, OPF | SA, f(SPECIAL2, funct), &[Rd, Rs])
}

const fn trap(name: &'static str, which: u32) -> Row {
    row(name, OP | RT, regimm(which), &[Rs, Simm])
}

const fn branch(name: &'static str, mask: u32, value: u32, fields: &'static [Field]) -> Row {
    goes(name, mask, value, fields, Flow::Branch)
}

pub const ROWS: &[Row] = &[
    row("movf", OPF | SA | 3 << 16, f(SPECIAL, 0x01), &[Rd, Rs, FlagRead]),
    row("movt", OPF | SA | 3 << 16, f(SPECIAL, 0x01) | 1 << 16, &[Rd, Rs, FlagRead]),
    goes("jr", OPF | RT | RD | SA, f(SPECIAL, 0x08), &[Rs], Flow::JumpRegister),
    goes("jr.hb", OPF | RT | RD | SA, sa(SPECIAL, 0x08, 0x10), &[Rs], Flow::JumpRegister),
    row("movz", OPF | SA, f(SPECIAL, 0x0a), ALU),
    row("movn", OPF | SA, f(SPECIAL, 0x0b), ALU),
    row("mfhi", OPF | RS | RT | SA, f(SPECIAL, 0x10), &[Rd]),
    row("mthi", OPF | RT | RD | SA, f(SPECIAL, 0x11), &[Rs]),
    row("mflo", OPF | RS | RT | SA, f(SPECIAL, 0x12), &[Rd]),
    row("mtlo", OPF | RT | RD | SA, f(SPECIAL, 0x13), &[Rs]),
    hi_lo("mult", 0x18),
    hi_lo("multu", 0x19),
    hi_lo("div", 0x1a),
    hi_lo("divu", 0x1b),
    hi_lo("dmult", 0x1c),
    hi_lo("dmultu", 0x1d),
    hi_lo("ddiv", 0x1e),
    hi_lo("ddivu", 0x1f),
    branch("bltzl", OP | RT, regimm(0x02), &[Rs, Branch16]),
    branch("bgezl", OP | RT, regimm(0x03), &[Rs, Branch16]),
    trap("tgei", 0x08),
    trap("tgeiu", 0x09),
    trap("tlti", 0x0a),
    trap("tltiu", 0x0b),
    trap("teqi", 0x0c),
    trap("tnei", 0x0e),
    branch("bltzal", OP | RT, regimm(0x10), &[Rs, Branch16]),
    branch("bgezal", OP | RT, regimm(0x11), &[Rs, Branch16]),
    branch("bltzall", OP | RT, regimm(0x12), &[Rs, Branch16]),
    branch("bgezall", OP | RT, regimm(0x13), &[Rs, Branch16]),
    row("addi", OP, op(0x08), &[Rt, Rs, Simm]),
    branch("beql", OP, op(0x14), &[Rs, Rt, Branch16]),
    branch("bnel", OP, op(0x15), &[Rs, Rt, Branch16]),
    branch("blezl", OP | RT, op(0x16), &[Rs, Branch16]),
    branch("bgtzl", OP | RT, op(0x17), &[Rs, Branch16]),
    row("daddi", OP, op(0x18), &[Rt, Rs, Simm]),
    accumulate("madd", 0x00),
    accumulate("maddu", 0x01),
    row("mul", OPF | SA, f(SPECIAL2, 0x02), ALU),
    accumulate("msub", 0x04),
    accumulate("msubu", 0x05),
    bits("clz", 0x20),
    bits("clo", 0x21),
    bits("dclz", 0x24),
    bits("dclo", 0x25),
    // Unaligned accesses, a part at a time.
    row("ldl", OP, op(0x1a), MEM),
    row("ldr", OP, op(0x1b), MEM),
    row("lwl", OP, op(0x22), MEM),
    row("lwr", OP, op(0x26), MEM),
    row("swl", OP, op(0x2a), MEM),
    row("sdl", OP, op(0x2c), MEM),
    row("sdr", OP, op(0x2d), MEM),
    row("swr", OP, op(0x2e), MEM),
    row("cache", OP, op(0x2f), &[Hint, Mem16]),
    row("ll", OP, op(0x30), MEM),
    row("pref", OP, op(0x33), &[Hint, Mem16]),
    row("lld", OP, op(0x34), MEM),
    row("sc", OP, op(0x38), MEM),
    row("scd", OP, op(0x3c), MEM),
];
