//! Encodings of F and D.

use super::fields::Field::{ExactRounding, Fd, Fs1, Fs2, Fs3, Load, Rd, Rounding, Rs1, Store};
use super::fields::{F3, F7, Field, Row, UNARY, f7, row};

const LOAD: u32 = 0x07;
const STORE: u32 = 0x27;
const FP: u32 = 0x53;

pub const OPCODES: &[u32] = &[LOAD, STORE, 0x43, 0x47, 0x4b, 0x4f, FP];

/// All but the registers and the rounding mode; the same with rs2.
const R: u32 = 0xfe00_007f;
const R_RS2: u32 = 0xfff0_007f;
/// The opcode and the width.
const FUSED: u32 = 0x0600_007f;

const F3R: &[Field] = &[Fd, Fs1, Fs2, Rounding];
const F4R: &[Field] = &[Fd, Fs1, Fs2, Fs3, Rounding];
const F3S: &[Field] = &[Fd, Fs1, Fs2];
const F2R: &[Field] = &[Fd, Fs1, Rounding];
const F2E: &[Field] = &[Fd, Fs1, ExactRounding];
const CMP: &[Field] = &[Rd, Fs1, Fs2];
const TO_X: &[Field] = &[Rd, Fs1];
const TO_XR: &[Field] = &[Rd, Fs1, Rounding];
const FROM_X: &[Field] = &[Fd, Rs1];
const FROM_XR: &[Field] = &[Fd, Rs1, Rounding];
const FROM_XE: &[Field] = &[Fd, Rs1, ExactRounding];

/// The operation (with its width), rs2 and funct3.
const fn at(funct7: u32, rs2: u32, funct3: u32) -> u32 {
    f7(FP, funct3, funct7) | rs2 << 20
}

pub const ROWS: &[Row] = &[
    row("flw", F3, f7(LOAD, 2, 0), &[Fd, Load]),
    row("fld", F3, f7(LOAD, 3, 0), &[Fd, Load]),
    row("fsw", F3, f7(STORE, 2, 0), &[Fs2, Store]),
    row("fsd", F3, f7(STORE, 3, 0), &[Fs2, Store]),
    row("fmadd.s", FUSED, f7(0x43, 0, 0), F4R),
    row("fmadd.d", FUSED, f7(0x43, 0, 1), F4R),
    row("fmsub.s", FUSED, f7(0x47, 0, 0), F4R),
    row("fmsub.d", FUSED, f7(0x47, 0, 1), F4R),
    row("fnmsub.s", FUSED, f7(0x4b, 0, 0), F4R),
    row("fnmsub.d", FUSED, f7(0x4b, 0, 1), F4R),
    row("fnmadd.s", FUSED, f7(0x4f, 0, 0), F4R),
    row("fnmadd.d", FUSED, f7(0x4f, 0, 1), F4R),
    row("fadd.s", R, at(0x00, 0, 0), F3R),
    row("fadd.d", R, at(0x01, 0, 0), F3R),
    row("fsub.s", R, at(0x04, 0, 0), F3R),
    row("fsub.d", R, at(0x05, 0, 0), F3R),
    row("fmul.s", R, at(0x08, 0, 0), F3R),
    row("fmul.d", R, at(0x09, 0, 0), F3R),
    row("fdiv.s", R, at(0x0c, 0, 0), F3R),
    row("fdiv.d", R, at(0x0d, 0, 0), F3R),
    row("fsqrt.s", R_RS2, at(0x2c, 0, 0), F2R),
    row("fsqrt.d", R_RS2, at(0x2d, 0, 0), F2R),
    row("fsgnj.s", F7, at(0x10, 0, 0), F3S),
    row("fsgnjn.s", F7, at(0x10, 0, 1), F3S),
    row("fsgnjx.s", F7, at(0x10, 0, 2), F3S),
    row("fsgnj.d", F7, at(0x11, 0, 0), F3S),
    row("fsgnjn.d", F7, at(0x11, 0, 1), F3S),
    row("fsgnjx.d", F7, at(0x11, 0, 2), F3S),
    row("fmin.s", F7, at(0x14, 0, 0), F3S),
    row("fmax.s", F7, at(0x14, 0, 1), F3S),
    row("fmin.d", F7, at(0x15, 0, 0), F3S),
    row("fmax.d", F7, at(0x15, 0, 1), F3S),
    row("fcvt.s.d", R_RS2, at(0x20, 1, 0), F2R),
    row("fcvt.d.s", R_RS2, at(0x21, 0, 0), F2E),
    row("fle.s", F7, at(0x50, 0, 0), CMP),
    row("flt.s", F7, at(0x50, 0, 1), CMP),
    row("feq.s", F7, at(0x50, 0, 2), CMP),
    row("fle.d", F7, at(0x51, 0, 0), CMP),
    row("flt.d", F7, at(0x51, 0, 1), CMP),
    row("feq.d", F7, at(0x51, 0, 2), CMP),
    row("fcvt.w.s", R_RS2, at(0x60, 0, 0), TO_XR),
    row("fcvt.wu.s", R_RS2, at(0x60, 1, 0), TO_XR),
    row("fcvt.l.s", R_RS2, at(0x60, 2, 0), TO_XR),
    row("fcvt.lu.s", R_RS2, at(0x60, 3, 0), TO_XR),
    row("fcvt.w.d", R_RS2, at(0x61, 0, 0), TO_XR),
    row("fcvt.wu.d", R_RS2, at(0x61, 1, 0), TO_XR),
    row("fcvt.l.d", R_RS2, at(0x61, 2, 0), TO_XR),
    row("fcvt.lu.d", R_RS2, at(0x61, 3, 0), TO_XR),
    row("fcvt.s.w", R_RS2, at(0x68, 0, 0), FROM_XR),
    row("fcvt.s.wu", R_RS2, at(0x68, 1, 0), FROM_XR),
    row("fcvt.s.l", R_RS2, at(0x68, 2, 0), FROM_XR),
    row("fcvt.s.lu", R_RS2, at(0x68, 3, 0), FROM_XR),
    row("fcvt.d.w", R_RS2, at(0x69, 0, 0), FROM_XE),
    row("fcvt.d.wu", R_RS2, at(0x69, 1, 0), FROM_XE),
    row("fcvt.d.l", R_RS2, at(0x69, 2, 0), FROM_XR),
    row("fcvt.d.lu", R_RS2, at(0x69, 3, 0), FROM_XR),
    row("fmv.x.w", UNARY, at(0x70, 0, 0), TO_X),
    row("fclass.s", UNARY, at(0x70, 0, 1), TO_X),
    row("fmv.x.d", UNARY, at(0x71, 0, 0), TO_X),
    row("fclass.d", UNARY, at(0x71, 0, 1), TO_X),
    row("fmv.w.x", UNARY, at(0x78, 0, 0), FROM_X),
    row("fmv.d.x", UNARY, at(0x79, 0, 0), FROM_X),
];
