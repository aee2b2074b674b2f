//! Encodings of release 6 that earlier releases do not have.

use super::fields::Field::{
    Branch16, Branch21, Branch26, Bytes4, Bytes8, Hint, Mem9, Pc18, Pc19, Rd, Rs, Rt, Scale, Simm,
    Uimm,
};
use super::fields::{
    Field, OP, OPF, RS, RT, Row, SA, SPECIAL, SPECIAL3, f, goes, op, regimm, row, rs, rt, sa,
};
use crate::machine::Flow;

const ALU: &[Field] = &[Rd, Rs, Rt];
const MEM: &[Field] = &[Rt, Mem9];

const fn alu(name: &'static str, funct: u32, which: u32) -> Row {
    row(name, OPF | SA, sa(SPECIAL, funct, which), ALU)
}

const fn bits(name: &'static str, funct: u32) -> Row {
    row(name, OPF | RT | SA, sa(SPECIAL, funct, 1), &[Rd, Rs])
}

/// A function of `SPECIAL3` with 9 bits of offset.
const fn access(name: &'static str, funct: u32, fields: &'static [Field]) -> Row {
    row(name, OPF | 1 << 6, f(SPECIAL3, funct), fields)
}

const fn swap(name: &'static str, funct: u32) -> Row {
    row(name, OPF | RS | SA, f(SPECIAL3, funct), &[Rd, Rt])
}

const PCREL: u32 = 0x3b;

const ROWS: &[Row] = &[
    row("lsa", OPF | 0x1c << 6, f(SPECIAL, 0x05), &[Rd, Rs, Rt, Scale]),
    row("dlsa", OPF | 0x1c << 6, f(SPECIAL, 0x15), &[Rd, Rs, Rt, Scale]),
    bits("clz", 0x10),
    bits("clo", 0x11),
    bits("dclz", 0x12),
    bits("dclo", 0x13),
    alu("mul", 0x18, 2),
    alu("muh", 0x18, 3),
    alu("mulu", 0x19, 2),
    alu("muhu", 0x19, 3),
    alu("div", 0x1a, 2),
    alu("mod", 0x1a, 3),
    alu("divu", 0x1b, 2),
    alu("modu", 0x1b, 3),
    alu("dmul", 0x1c, 2),
    alu("dmuh", 0x1c, 3),
    alu("dmulu", 0x1d, 2),
    alu("dmuhu", 0x1d, 3),
    alu("ddiv", 0x1e, 2),
    alu("dmod", 0x1e, 3),
    alu("ddivu", 0x1f, 2),
    alu("dmodu", 0x1f, 3),
    alu("seleqz", 0x35, 0),
    alu("selnez", 0x37, 0),
    row("dahi", OP | RT, regimm(0x06), &[Rs, Uimm]),
    row("dati", OP | RT, regimm(0x1e), &[Rs, Uimm]),
    row("sigrie", OP | RS | RT, regimm(0x17), &[Uimm]),
    access("cache", 0x25, &[Hint, Mem9]),
    access("sc", 0x26, MEM),
    access("scd", 0x27, MEM),
    access("pref", 0x35, &[Hint, Mem9]),
    access("ll", 0x36, MEM),
    access("lld", 0x37, MEM),
    swap("bitswap", 0x20),
    swap("dbitswap", 0x24),
    row("align", OPF | 0x1c << 6, sa(SPECIAL3, 0x20, 0x08), &[Rd, Rs, Rt, Bytes4]),
    row("dalign", OPF | 0x18 << 6, sa(SPECIAL3, 0x24, 0x08), &[Rd, Rs, Rt, Bytes8]),
    goes("bc", OP, op(0x32), &[Branch26], Flow::Jump),
    goes("balc", OP, op(0x3a), &[Branch26], Flow::Call),
    goes("jic", OP | RS, op(0x36), &[Rt, Simm], Flow::JumpRegister),
    goes("beqzc", OP, op(0x36), &[Rs, Branch21], Flow::Branch),
    goes("jialc", OP | RS, op(0x3e), &[Rt, Simm], Flow::CallRegister),
    goes("bnezc", OP, op(0x3e), &[Rs, Branch21], Flow::Branch),
    row("addiupc", OP | 3 << 19, op(PCREL), &[Rs, Pc19]),
    row("lwpc", OP | 3 << 19, op(PCREL) | 1 << 19, &[Rs, Pc19]),
    row("lwupc", OP | 3 << 19, op(PCREL) | 2 << 19, &[Rs, Pc19]),
    row("ldpc", OP | 7 << 18, op(PCREL) | 6 << 18, &[Rs, Pc18]),
    row("auipc", OP | RT, op(PCREL) | 0x1e << 16, &[Rs, Simm]),
    row("aluipc", OP | RT, op(PCREL) | 0x1f << 16, &[Rs, Simm]),
];

/// The instructions of an opcode that stands for several, by its registers: without a first register, with
/// the same one twice (or, for `beqc`, in descending order), and with any two others.
struct Shared {
    opcode: u32,
    none: Row,
    same: Row,
    both: Row,
}

const fn one(name: &'static str, opcode: u32) -> Row {
    goes(name, OP, op(opcode), &[Rt, Branch16], Flow::Branch)
}

const fn two(name: &'static str, opcode: u32) -> Row {
    goes(name, OP, op(opcode), &[Rs, Rt, Branch16], Flow::Branch)
}

const fn shared(opcode: u32, none: &'static str, same: &'static str, both: &'static str) -> Shared {
    Shared { opcode, none: one(none, opcode), same: one(same, opcode), both: two(both, opcode) }
}

const SHARED: &[Shared] = &[
    shared(0x06, "blezalc", "bgezalc", "bgeuc"),
    shared(0x07, "bgtzalc", "bltzalc", "bltuc"),
    shared(0x16, "blezc", "bgezc", "bgec"),
    shared(0x17, "bgtzc", "bltzc", "bltc"),
];

const ORDERED: &[Shared] = &[
    Shared {
        opcode: 0x08,
        none: one("beqzalc", 0x08),
        same: two("bovc", 0x08),
        both: two("beqc", 0x08),
    },
    Shared {
        opcode: 0x18,
        none: one("bnezalc", 0x18),
        same: two("bnvc", 0x18),
        both: two("bnec", 0x18),
    },
];

/// `rt = rs + constant` in an upper part; without a register the first is `lui`.
const UPPER: &[Row] =
    &[row("aui", OP, op(0x0f), &[Rt, Rs, Uimm]), row("daui", OP, op(0x1d), &[Rt, Rs, Uimm])];

pub fn find(word: u32) -> Option<&'static Row> {
    let (rs, rt, opcode) = (rs(word), rt(word), word >> 26);
    if let Some(s) = SHARED.iter().find(|s| s.opcode == opcode) {
        return match (rs, rt) {
            // Of 0x06 and 0x07, what all releases have.
            (_, 0) => None,
            (0, _) => Some(&s.none),
            _ if rs == rt => Some(&s.same),
            _ => Some(&s.both),
        };
    }
    if let Some(s) = ORDERED.iter().find(|s| s.opcode == opcode) {
        return Some(match rs {
            _ if rs >= rt => &s.same,
            0 => &s.none,
            _ => &s.both,
        });
    }
    let upper = UPPER.iter().find(|r| r.is(word) && rs != 0);
    upper.or_else(|| ROWS.iter().find(|r| r.is(word)))
}
