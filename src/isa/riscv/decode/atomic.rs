//! Encodings of atomics: A, Zacas, Zabha and Zalasr. The ordering bits are not in the rows.

use super::fields::Field::{Base, Rd, Rs2};
use super::fields::{Field, Row, row};

pub const OPCODE: u32 = 0x2f;

/// The opcode, the width and the operation.
const AMO: u32 = 0xf800_707f;
/// As `AMO`, with rs2 = 0 or with rd = 0.
const NO_RS2: u32 = AMO | 31 << 20;
const NO_RD: u32 = AMO | 31 << 7;

const A: &[Field] = &[Rd, Rs2, Base];
const LOAD: &[Field] = &[Rd, Base];
const STORE: &[Field] = &[Rs2, Base];

const fn at(operation: u32, width: u32) -> u32 {
    OPCODE | width << 12 | operation << 27
}

const LOAD_ORDERED: u32 = 0x06;
const STORE_ORDERED: u32 = 0x07;

/// Checks the conditions that masks cannot express: some loads must acquire, some stores must release, and
/// pairs have even registers.
pub fn is_valid(row: &Row, word: u32) -> bool {
    let (aq, rl) = (word >> 26 & 1 == 1, word >> 25 & 1 == 1);
    match row.pattern.value >> 27 {
        LOAD_ORDERED => aq,
        STORE_ORDERED => rl,
        _ if row.name.ends_with(".q") => (Field::rd(word) | Field::rs2(word)) & 1 == 0,
        _ => true,
    }
}

pub const ROWS: &[Row] = &[
    row("lr.w", NO_RS2, at(0x02, 2), LOAD),
    row("lr.d", NO_RS2, at(0x02, 3), LOAD),
    row("sc.w", AMO, at(0x03, 2), A),
    row("sc.d", AMO, at(0x03, 3), A),
    row("amoadd.b", AMO, at(0x00, 0), A),
    row("amoadd.h", AMO, at(0x00, 1), A),
    row("amoadd.w", AMO, at(0x00, 2), A),
    row("amoadd.d", AMO, at(0x00, 3), A),
    row("amoswap.b", AMO, at(0x01, 0), A),
    row("amoswap.h", AMO, at(0x01, 1), A),
    row("amoswap.w", AMO, at(0x01, 2), A),
    row("amoswap.d", AMO, at(0x01, 3), A),
    row("amoxor.b", AMO, at(0x04, 0), A),
    row("amoxor.h", AMO, at(0x04, 1), A),
    row("amoxor.w", AMO, at(0x04, 2), A),
    row("amoxor.d", AMO, at(0x04, 3), A),
    row("amoor.b", AMO, at(0x08, 0), A),
    row("amoor.h", AMO, at(0x08, 1), A),
    row("amoor.w", AMO, at(0x08, 2), A),
    row("amoor.d", AMO, at(0x08, 3), A),
    row("amoand.b", AMO, at(0x0c, 0), A),
    row("amoand.h", AMO, at(0x0c, 1), A),
    row("amoand.w", AMO, at(0x0c, 2), A),
    row("amoand.d", AMO, at(0x0c, 3), A),
    row("amomin.b", AMO, at(0x10, 0), A),
    row("amomin.h", AMO, at(0x10, 1), A),
    row("amomin.w", AMO, at(0x10, 2), A),
    row("amomin.d", AMO, at(0x10, 3), A),
    row("amomax.b", AMO, at(0x14, 0), A),
    row("amomax.h", AMO, at(0x14, 1), A),
    row("amomax.w", AMO, at(0x14, 2), A),
    row("amomax.d", AMO, at(0x14, 3), A),
    row("amominu.b", AMO, at(0x18, 0), A),
    row("amominu.h", AMO, at(0x18, 1), A),
    row("amominu.w", AMO, at(0x18, 2), A),
    row("amominu.d", AMO, at(0x18, 3), A),
    row("amomaxu.b", AMO, at(0x1c, 0), A),
    row("amomaxu.h", AMO, at(0x1c, 1), A),
    row("amomaxu.w", AMO, at(0x1c, 2), A),
    row("amomaxu.d", AMO, at(0x1c, 3), A),
    row("amocas.b", AMO, at(0x05, 0), A),
    row("amocas.h", AMO, at(0x05, 1), A),
    row("amocas.w", AMO, at(0x05, 2), A),
    row("amocas.d", AMO, at(0x05, 3), A),
    row("amocas.q", AMO, at(0x05, 4), A),
    row("lb", NO_RS2, at(LOAD_ORDERED, 0), LOAD),
    row("lh", NO_RS2, at(LOAD_ORDERED, 1), LOAD),
    row("lw", NO_RS2, at(LOAD_ORDERED, 2), LOAD),
    row("ld", NO_RS2, at(LOAD_ORDERED, 3), LOAD),
    row("sb", NO_RD, at(STORE_ORDERED, 0), STORE),
    row("sh", NO_RD, at(STORE_ORDERED, 1), STORE),
    row("sw", NO_RD, at(STORE_ORDERED, 2), STORE),
    row("sd", NO_RD, at(STORE_ORDERED, 3), STORE),
];
