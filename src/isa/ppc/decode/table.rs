//! The instructions of Power on integer registers, the condition register and memory.

use super::field::Field::{self, *};
use super::field::{Row, a, b, bits, mb6, row, sh6, t};

/// By the primary opcode alone.
const fn p(opcode: u32) -> (u32, u32) {
    (0xfc00_0000, opcode << 26)
}

/// With an extended opcode in bits 1 to 10, and the lowest bit 0 (or a dot).
const fn x(opcode: u32, extended: u32) -> (u32, u32) {
    (0xfc00_07ff, opcode << 26 | extended << 1)
}

/// With an extended opcode as in `x`, and no register B.
const fn x_a(opcode: u32, extended: u32) -> (u32, u32) {
    (0xfc00_ffff, opcode << 26 | extended << 1)
}

/// With an extended opcode in the lowest bits.
const fn low(opcode: u32, width: u32, extended: u32) -> (u32, u32) {
    (0xfc00_0000 | ((1 << width) - 1), opcode << 26 | extended)
}

/// One word, but for the target register.
const fn t_only(word: u32) -> (u32, u32) {
    (0xfc1f_ffff, word)
}

const fn exact(word: u32) -> (u32, u32) {
    (u32::MAX, word)
}

/// Comparisons: bit 21 says whether of doublewords.
const fn compare(code: (u32, u32), doubleword: bool) -> (u32, u32) {
    (code.0 | 0x0060_0000, code.1 | if doubleword { 0x0020_0000 } else { 0 })
}

const TAB: &[Field] = &[T, A, B];
const ATB: &[Field] = &[A, T, B];
const TA: &[Field] = &[T, A];
const AT: &[Field] = &[A, T];
const LOGIC: &[Field] = &[A, T, Ui];
const CR3: &[Field] = &[BitT, BitA, BitB];

fn even(word: u32) -> bool {
    t(word).is_multiple_of(2)
}

/// The first that fits counts.
pub const TABLE: &[Row] = &[
    row("nop", exact(0x6000_0000), &[]),
    row("trap", exact(0x7fe0_0008), &[]),
    row("twi", p(3), &[Num(21, 5), A, Si]),
    row("tdi", p(2), &[Num(21, 5), A, Si]),
    row("tw", x(31, 4), &[Num(21, 5), A, B]),
    row("td", x(31, 68), &[Num(21, 5), A, B]),
    row("isync", exact(0x4c00_012c), &[]),
    row("eieio", exact(0x7c00_06ac), &[]),
    row("sync", exact(0x7c00_04ac), &[]),
    row("lwsync", exact(0x7c20_04ac), &[]),
    row("ptesync", exact(0x7c40_04ac), &[]),
    row("sync", (0xff9f_ffff, 0x7c80_04ac), &[Num(21, 3), Num(16, 2)]),
    // Constants.
    row("mulli", p(7), &[T, A, Si]),
    row("subfic", p(8), &[T, A, Si]),
    row("cmplwi", compare(p(10), false), &[Cr, A, Ui]),
    row("cmpldi", compare(p(10), true), &[Cr, A, Ui]),
    row("cmpwi", compare(p(11), false), &[Cr, A, Si]),
    row("cmpdi", compare(p(11), true), &[Cr, A, Si]),
    row("addic", p(12), &[T, A, Si]),
    row("addic.", p(13), &[T, A, Si]),
    row("li", (0xfc1f_0000, 14 << 26), &[T, Si]),
    row("addi", p(14), &[T, A, Si]),
    row("lis", (0xfc1f_0000, 15 << 26), &[T, Si]),
    row("addis", p(15), &[T, A, Si]),
    row("ori", p(24), LOGIC),
    row("oris", p(25), LOGIC),
    row("xori", p(26), LOGIC),
    row("xoris", p(27), LOGIC),
    row("andi.", p(28), LOGIC),
    row("andis.", p(29), LOGIC),
    // Rotations.
    row("rlwimi", p(20), &[A, T, Sh5, Mb5, Me5]).dot(),
    row("rlwinm", p(21), &[A, T, Sh5, Mb5, Me5]).dot(),
    row("rlwnm", p(23), &[A, T, B, Mb5, Me5]).dot(),
    row("clrldi", (0xfc00_f81e, 30 << 26), &[A, T, Mb6]).dot().only(|w| sh6(w) == 0),
    row("rotldi", (0xfc00_07fc, 30 << 26), &[A, T, Sh6]).dot(),
    row("srdi", (0xfc00_001c, 30 << 26), &[A, T, Mb6]).dot().only(|w| sh6(w) + mb6(w) == 64),
    row("rldicl", (0xfc00_001c, 30 << 26), &[A, T, Sh6, Mb6]).dot(),
    row("sldi", (0xfc00_001c, 30 << 26 | 4), &[A, T, Sh6]).dot().only(|w| sh6(w) + mb6(w) == 63),
    row("rldicr", (0xfc00_001c, 30 << 26 | 4), &[A, T, Sh6, Mb6]).dot(),
    row("rldic", (0xfc00_001c, 30 << 26 | 8), &[A, T, Sh6, Mb6]).dot(),
    row("rldimi", (0xfc00_001c, 30 << 26 | 12), &[A, T, Sh6, Mb6]).dot(),
    row("rldcl", (0xfc00_001e, 30 << 26 | 16), &[A, T, B, Mb6]).dot(),
    row("rldcr", (0xfc00_001e, 30 << 26 | 18), &[A, T, B, Mb6]).dot(),
    row("slw", x(31, 24), ATB).dot(),
    row("srw", x(31, 536), ATB).dot(),
    row("sraw", x(31, 792), ATB).dot(),
    row("srawi", x(31, 824), &[A, T, Sh5]).dot(),
    row("sld", x(31, 27), ATB).dot(),
    row("srd", x(31, 539), ATB).dot(),
    row("srad", x(31, 794), ATB).dot(),
    row("sradi", (0xfc00_07fd, 31 << 26 | 413 << 2), &[A, T, Sh6]).dot(),
    row("extswsli", (0xfc00_07fd, 31 << 26 | 445 << 2), &[A, T, Sh6]).dot(),
    // Arithmetic.
    row("add", x(31, 266), TAB).dot(),
    row("subf", x(31, 40), TAB).dot(),
    row("addc", x(31, 10), TAB).dot(),
    row("subfc", x(31, 8), TAB).dot(),
    row("adde", x(31, 138), TAB).dot(),
    row("subfe", x(31, 136), TAB).dot(),
    row("addme", x_a(31, 234), TA).dot(),
    row("subfme", x_a(31, 232), TA).dot(),
    row("addze", x_a(31, 202), TA).dot(),
    row("subfze", x_a(31, 200), TA).dot(),
    row("neg", x_a(31, 104), TA).dot(),
    row("mullw", x(31, 235), TAB).dot(),
    row("mulhw", x(31, 75), TAB).dot(),
    row("mulhwu", x(31, 11), TAB).dot(),
    row("mulld", x(31, 233), TAB).dot(),
    row("mulhd", x(31, 73), TAB).dot(),
    row("mulhdu", x(31, 9), TAB).dot(),
    row("divw", x(31, 491), TAB).dot(),
    row("divwu", x(31, 459), TAB).dot(),
    row("divd", x(31, 489), TAB).dot(),
    row("divdu", x(31, 457), TAB).dot(),
    row("modsw", x(31, 779), TAB),
    row("moduw", x(31, 267), TAB),
    row("modsd", x(31, 777), TAB),
    row("modud", x(31, 265), TAB),
    row("maddhd", low(4, 6, 48), &[T, A, B, C]),
    row("maddhdu", low(4, 6, 49), &[T, A, B, C]),
    row("maddld", low(4, 6, 51), &[T, A, B, C]),
    // Logic.
    row("and", x(31, 28), ATB).dot(),
    row("andc", x(31, 60), ATB).dot(),
    row("mr", x(31, 444), AT).dot().only(|w| t(w) == b(w)),
    row("or", x(31, 444), ATB).dot(),
    row("orc", x(31, 412), ATB).dot(),
    row("xor", x(31, 316), ATB).dot(),
    row("nand", x(31, 476), ATB).dot(),
    row("nor", x(31, 124), ATB).dot(),
    row("eqv", x(31, 284), ATB).dot(),
    row("extsb", x_a(31, 954), AT).dot(),
    row("extsh", x_a(31, 922), AT).dot(),
    row("extsw", x_a(31, 986), AT).dot(),
    row("cntlzw", x_a(31, 26), AT).dot(),
    row("cntlzd", x_a(31, 58), AT).dot(),
    row("cnttzw", x_a(31, 538), AT).dot(),
    row("cnttzd", x_a(31, 570), AT).dot(),
    row("popcntb", x_a(31, 122), AT),
    row("popcntw", x_a(31, 378), AT),
    row("popcntd", x_a(31, 506), AT),
    row("brw", x_a(31, 155), AT),
    row("brd", x_a(31, 187), AT),
    row("brh", x_a(31, 219), AT),
    // The condition register.
    row("cmpw", compare(x(31, 0), false), &[Cr, A, B]),
    row("cmpd", compare(x(31, 0), true), &[Cr, A, B]),
    row("cmplw", compare(x(31, 32), false), &[Cr, A, B]),
    row("cmpld", compare(x(31, 32), true), &[Cr, A, B]),
    row("isel", low(31, 6, 15 << 1), &[T, A0, B, BitC]),
    row("setb", (0xfc03_ffff, 31 << 26 | 128 << 1), &[T, CrA]),
    row("setbc", x_a(31, 384), &[T, BitA]),
    row("setbcr", x_a(31, 416), &[T, BitA]),
    row("setnbc", x_a(31, 448), &[T, BitA]),
    row("setnbcr", x_a(31, 480), &[T, BitA]),
    row("crand", x(19, 257), CR3),
    row("crandc", x(19, 129), CR3),
    row("creqv", x(19, 289), CR3),
    row("crnand", x(19, 225), CR3),
    row("crnor", x(19, 33), CR3),
    row("cror", x(19, 449), CR3),
    row("crorc", x(19, 417), CR3),
    row("crxor", x(19, 193), CR3),
    row("mcrf", (0xfc63_ffff, 19 << 26), &[CrT, CrA]),
    row("mfcr", t_only(0x7c00_0026), &[T]),
    row("mfocrf", (0xfc10_0fff, 0x7c10_0026), &[T, Mask]).only(one_field),
    row("mtcrf", (0xfc10_0fff, 0x7c00_0120), &[Mask, T]),
    row("mtocrf", (0xfc10_0fff, 0x7c10_0120), &[Mask, T]).only(one_field),
    // Special registers.
    row("mflr", t_only(0x7c08_02a6), &[T]),
    row("mfctr", t_only(0x7c09_02a6), &[T]),
    row("mfspr", x(31, 339), &[T, Spr]),
    row("mtlr", t_only(0x7c08_03a6), &[T]),
    row("mtctr", t_only(0x7c09_03a6), &[T]),
    row("mtspr", x(31, 467), &[Spr, T]),
    // Loads.
    row("lwz", p(32), &[T, D]),
    row("lwzu", p(33), &[T, D]),
    row("lbz", p(34), &[T, D]),
    row("lbzu", p(35), &[T, D]),
    row("lhz", p(40), &[T, D]),
    row("lhzu", p(41), &[T, D]),
    row("lha", p(42), &[T, D]),
    row("lhau", p(43), &[T, D]),
    row("lq", low(56, 4, 0), &[T, Dq]).only(|w| even(w) && t(w) != a(w)),
    row("ld", low(58, 2, 0), &[T, Ds]),
    row("ldu", low(58, 2, 1), &[T, Ds]),
    row("lwa", low(58, 2, 2), &[T, Ds]),
    row("lbzx", x(31, 87), &[T, X]),
    row("lbzux", x(31, 119), &[T, X]),
    row("lhzx", x(31, 279), &[T, X]),
    row("lhzux", x(31, 311), &[T, X]),
    row("lhax", x(31, 343), &[T, X]),
    row("lhaux", x(31, 375), &[T, X]),
    row("lwzx", x(31, 23), &[T, X]),
    row("lwzux", x(31, 55), &[T, X]),
    row("lwax", x(31, 341), &[T, X]),
    row("lwaux", x(31, 373), &[T, X]),
    row("ldx", x(31, 21), &[T, X]),
    row("ldux", x(31, 53), &[T, X]),
    row("lhbrx", x(31, 790), &[T, X]),
    row("lwbrx", x(31, 534), &[T, X]),
    row("ldbrx", x(31, 532), &[T, X]),
    // The lowest bit of these is a hint.
    row("lbarx", (0xfc00_07fe, 31 << 26 | 52 << 1), &[T, X]),
    row("lharx", (0xfc00_07fe, 31 << 26 | 116 << 1), &[T, X]),
    row("lwarx", (0xfc00_07fe, 31 << 26 | 20 << 1), &[T, X]),
    row("ldarx", (0xfc00_07fe, 31 << 26 | 84 << 1), &[T, X]),
    row("lqarx", (0xfc00_07fe, 31 << 26 | 276 << 1), &[T, X])
        .only(|w| even(w) && t(w) != a(w) && t(w) != b(w)),
    // Stores.
    row("stw", p(36), &[T, D]),
    row("stwu", p(37), &[T, D]),
    row("stb", p(38), &[T, D]),
    row("stbu", p(39), &[T, D]),
    row("sth", p(44), &[T, D]),
    row("sthu", p(45), &[T, D]),
    row("std", low(62, 2, 0), &[T, Ds]),
    row("stdu", low(62, 2, 1), &[T, Ds]),
    row("stq", low(62, 2, 2), &[T, Ds]).only(even),
    row("stbx", x(31, 215), &[T, X]),
    row("stbux", x(31, 247), &[T, X]),
    row("sthx", x(31, 407), &[T, X]),
    row("sthux", x(31, 439), &[T, X]),
    row("stwx", x(31, 151), &[T, X]),
    row("stwux", x(31, 183), &[T, X]),
    row("stdx", x(31, 149), &[T, X]),
    row("stdux", x(31, 181), &[T, X]),
    row("sthbrx", x(31, 918), &[T, X]),
    row("stwbrx", x(31, 662), &[T, X]),
    row("stdbrx", x(31, 660), &[T, X]),
    row("stbcx.", conditional(694), &[T, X]),
    row("sthcx.", conditional(726), &[T, X]),
    row("stwcx.", conditional(150), &[T, X]),
    row("stdcx.", conditional(214), &[T, X]),
    row("stqcx.", conditional(182), &[T, X]).only(even),
    // Caches.
    row("dcbt", x(31, 278), &[X, Touch]),
    row("dcbtst", x(31, 246), &[X, Touch]),
    row("dcbst", x(31, 54), &[X]).only(|w| t(w) == 0),
    row("dcbf", x(31, 86), &[X, Touch]),
];

const fn conditional(extended: u32) -> (u32, u32) {
    let (mask, value) = x(31, extended);
    (mask, value | 1)
}

/// Whether the instruction names one field of the condition register.
fn one_field(word: u32) -> bool {
    bits(word, 12, 8).is_power_of_two()
}
