//! The instructions on vector and floating-point registers that move data: they turn up where
//! compilers copy, not where programs synchronise.

use super::field::Field::*;
use super::field::{Row, row};

const fn p(opcode: u32) -> (u32, u32) {
    (0xfc00_0000, opcode << 26)
}

const fn x(opcode: u32, extended: u32) -> (u32, u32) {
    (0xfc00_07ff, opcode << 26 | extended << 1)
}

/// With the highest bit of the register's number in bit 0.
const fn x1(extended: u32) -> (u32, u32) {
    (0xfc00_07fe, 31 << 26 | extended << 1)
}

pub const TABLE: &[Row] = &[
    row("lfs", p(48), &[Ft, D]),
    row("lfd", p(50), &[Ft, D]),
    row("stfs", p(52), &[Ft, D]),
    row("stfd", p(54), &[Ft, D]),
    row("lvx", x(31, 103), &[Vt, X]),
    row("stvx", x(31, 231), &[Vt, X]),
    row("lxv", (0xfc00_0007, 61 << 26 | 1), &[Xt3, Dq]),
    row("stxv", (0xfc00_0007, 61 << 26 | 5), &[Xt3, Dq]),
    row("lxvx", x1(268), &[Xt, X]),
    row("stxvx", x1(396), &[Xt, X]),
    row("lxvd2x", x1(844), &[Xt, X]),
    row("stxvd2x", x1(972), &[Xt, X]),
    row("lxvw4x", x1(780), &[Xt, X]),
    row("stxvw4x", x1(908), &[Xt, X]),
    row("mfvsrd", (0xfc00_fffe, 31 << 26 | 51 << 1), &[A, Xt]),
    row("mtvsrd", (0xfc00_fffe, 31 << 26 | 179 << 1), &[Xt, A]),
    row("mfvsrld", (0xfc00_fffe, 31 << 26 | 307 << 1), &[A, Xt]),
    row("mtvsrdd", (0xfc00_07fe, 31 << 26 | 435 << 1), &[Xt, A0, B]),
    row("mfvsrwz", (0xfc00_fffe, 31 << 26 | 115 << 1), &[A, Xt]),
    row("mtvsrwz", (0xfc00_fffe, 31 << 26 | 243 << 1), &[Xt, A]),
    row("mtvsrwa", (0xfc00_fffe, 31 << 26 | 211 << 1), &[Xt, A]),
    row("xxpermdi", (0xfc00_04f8, 60 << 26 | 10 << 3), &[Xt, Xa, Xb, Num(8, 2)]),
    row("xxlor", (0xfc00_07f8, 60 << 26 | 146 << 3), &[Xt, Xa, Xb]),
    row("xxlxor", (0xfc00_07f8, 60 << 26 | 154 << 3), &[Xt, Xa, Xb]),
    row("xxspltib", (0xfc18_07fe, 60 << 26 | 360 << 1), &[Xt, Num(11, 8)]),
];
