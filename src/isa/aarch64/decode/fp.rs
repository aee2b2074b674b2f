//! Floating point: moves, conversions, comparisons and arithmetic of scalars, and a few of vectors.

use super::fields::*;
use super::{Out, Row, Word, row};

// One row a line, whatever its length.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Between general and vector registers.
    row("0 0011110 00 1 00 110 000000 nnnnn ddddd", "FMOV", &[w::<RD>, scalar::<RN>]),
    row("0 0011110 00 1 00 111 000000 nnnnn ddddd", "FMOV", &[scalar::<RD>, w::<RN>]),
    row("s 0011110 11 1 00 110 000000 nnnnn ddddd", "FMOV", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 11 1 00 111 000000 nnnnn ddddd", "FMOV", &[scalar::<RD>, r::<RN>]),
    row("1 0011110 01 1 00 110 000000 nnnnn ddddd", "FMOV", &[x::<RD>, scalar::<RN>]),
    row("1 0011110 01 1 00 111 000000 nnnnn ddddd", "FMOV", &[scalar::<RD>, x::<RN>]),
    row("1 0011110 10 1 01 110 000000 nnnnn ddddd", "MOV", &[x::<RD>, upper::<RN>]),
    row("1 0011110 10 1 01 111 000000 nnnnn ddddd", "MOV", &[upper::<RD>, x::<RN>]),
    // Conversions.
    row("s 0011110 tt 1 00 000 000000 nnnnn ddddd", "FCVTNS", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 00 001 000000 nnnnn ddddd", "FCVTNU", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 00 010 000000 nnnnn ddddd", "SCVTF", &[scalar::<RD>, r::<RN>]),
    row("s 0011110 tt 1 00 011 000000 nnnnn ddddd", "UCVTF", &[scalar::<RD>, r::<RN>]),
    row("s 0011110 tt 1 00 100 000000 nnnnn ddddd", "FCVTAS", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 00 101 000000 nnnnn ddddd", "FCVTAU", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 01 000 000000 nnnnn ddddd", "FCVTPS", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 01 001 000000 nnnnn ddddd", "FCVTPU", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 10 000 000000 nnnnn ddddd", "FCVTMS", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 10 001 000000 nnnnn ddddd", "FCVTMU", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 11 000 000000 nnnnn ddddd", "FCVTZS", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 1 11 001 000000 nnnnn ddddd", "FCVTZU", &[r::<RD>, scalar::<RN>]),
    row("s 0011110 tt 0 00 010 kkkkkk nnnnn ddddd", "SCVTF", &[scalar::<RD>, r::<RN>, fraction]),
    row("s 0011110 tt 0 00 011 kkkkkk nnnnn ddddd", "UCVTF", &[scalar::<RD>, r::<RN>, fraction]),
    row("s 0011110 tt 0 11 000 kkkkkk nnnnn ddddd", "FCVTZS", &[r::<RD>, scalar::<RN>, fraction]),
    row("s 0011110 tt 0 11 001 kkkkkk nnnnn ddddd", "FCVTZU", &[r::<RD>, scalar::<RN>, fraction]),
    row("01 0 11110 0 z 10000 11101 10 nnnnn ddddd", "SCVTF", &[in_place::<RD>, in_place::<RN>]),
    row("01 1 11110 0 z 10000 11101 10 nnnnn ddddd", "UCVTF", &[in_place::<RD>, in_place::<RN>]),
    row("01 0 11110 1 z 10000 11011 10 nnnnn ddddd", "FCVTZS", &[in_place::<RD>, in_place::<RN>]),
    row("01 1 11110 1 z 10000 11011 10 nnnnn ddddd", "FCVTZU", &[in_place::<RD>, in_place::<RN>]),
    row("01 0 111110 hhhh kkk 111001 nnnnn ddddd", "SCVTF", &[in_fixed::<RD>, in_fixed::<RN>, parts_of_one]),
    row("01 1 111110 hhhh kkk 111001 nnnnn ddddd", "UCVTF", &[in_fixed::<RD>, in_fixed::<RN>, parts_of_one]),
    row("01 0 111110 hhhh kkk 111111 nnnnn ddddd", "FCVTZS", &[in_fixed::<RD>, in_fixed::<RN>, parts_of_one]),
    row("01 1 111110 hhhh kkk 111111 nnnnn ddddd", "FCVTZU", &[in_fixed::<RD>, in_fixed::<RN>, parts_of_one]),
    // Of each element of a vector.
    row("0 q 0 01110 0 z 10000 11101 10 nnnnn ddddd", "SCVTF", &[numbers::<RD>, numbers::<RN>]),
    row("0 q 1 01110 0 z 10000 11101 10 nnnnn ddddd", "UCVTF", &[numbers::<RD>, numbers::<RN>]),
    row("0 q 0 01110 1 z 10000 11011 10 nnnnn ddddd", "FCVTZS", &[numbers::<RD>, numbers::<RN>]),
    row("0 q 1 01110 1 z 10000 11011 10 nnnnn ddddd", "FCVTZU", &[numbers::<RD>, numbers::<RN>]),
    row("0 q 0 011110 hhhh kkk 111001 nnnnn ddddd", "SCVTF", &[fixed::<RD>, fixed::<RN>, parts_of_one]),
    row("0 q 1 011110 hhhh kkk 111001 nnnnn ddddd", "UCVTF", &[fixed::<RD>, fixed::<RN>, parts_of_one]),
    row("0 q 0 011110 hhhh kkk 111111 nnnnn ddddd", "FCVTZS", &[fixed::<RD>, fixed::<RN>, parts_of_one]),
    row("0 q 1 011110 hhhh kkk 111111 nnnnn ddddd", "FCVTZU", &[fixed::<RD>, fixed::<RN>, parts_of_one]),
    row("0 q 0 01110 0 z 1 mmmmm 110101 nnnnn ddddd", "FADD", &[numbers::<RD>, numbers::<RN>, numbers::<RM>]),
    row("0 q 0 01110 1 z 1 mmmmm 110101 nnnnn ddddd", "FSUB", &[numbers::<RD>, numbers::<RN>, numbers::<RM>]),
    row("0 q 1 01110 0 z 1 mmmmm 110111 nnnnn ddddd", "FMUL", &[numbers::<RD>, numbers::<RN>, numbers::<RM>]),
    row("00011110 tt 1 0001 oo 10000 nnnnn ddddd", "FCVT", &[changes, converted, scalar::<RN>]),
    // One source.
    row("00011110 tt 1 000000 10000 nnnnn ddddd", "FMOV", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 000001 10000 nnnnn ddddd", "FABS", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 000010 10000 nnnnn ddddd", "FNEG", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 000011 10000 nnnnn ddddd", "FSQRT", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 001000 10000 nnnnn ddddd", "FRINTN", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 001001 10000 nnnnn ddddd", "FRINTP", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 001010 10000 nnnnn ddddd", "FRINTM", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 001011 10000 nnnnn ddddd", "FRINTZ", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 001100 10000 nnnnn ddddd", "FRINTA", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 001110 10000 nnnnn ddddd", "FRINTX", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 001111 10000 nnnnn ddddd", "FRINTI", &[scalar::<RD>, scalar::<RN>]),
    row("00011110 tt 1 kkkkkkkk 100 00000 ddddd", "FMOV", &[scalar::<RD>, constant::<13>]),
    // Two sources.
    row("00011110 tt 1 mmmmm 0000 10 nnnnn ddddd", "FMUL", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 0001 10 nnnnn ddddd", "FDIV", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 0010 10 nnnnn ddddd", "FADD", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 0011 10 nnnnn ddddd", "FSUB", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 0100 10 nnnnn ddddd", "FMAX", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 0101 10 nnnnn ddddd", "FMIN", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 0110 10 nnnnn ddddd", "FMAXNM", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 0111 10 nnnnn ddddd", "FMINNM", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 mmmmm 1000 10 nnnnn ddddd", "FNMUL", &[scalar::<RD>, scalar::<RN>, scalar::<RM>]),
    row("00011111 tt 0 mmmmm 0 aaaaa nnnnn ddddd", "FMADD", &[scalar::<RD>, scalar::<RN>, scalar::<RM>, scalar::<RA>]),
    row("00011111 tt 0 mmmmm 1 aaaaa nnnnn ddddd", "FMSUB", &[scalar::<RD>, scalar::<RN>, scalar::<RM>, scalar::<RA>]),
    row("00011111 tt 1 mmmmm 0 aaaaa nnnnn ddddd", "FNMADD", &[scalar::<RD>, scalar::<RN>, scalar::<RM>, scalar::<RA>]),
    row("00011111 tt 1 mmmmm 1 aaaaa nnnnn ddddd", "FNMSUB", &[scalar::<RD>, scalar::<RN>, scalar::<RM>, scalar::<RA>]),
    // Comparisons.
    row("00011110 tt 1 mmmmm 00 1000 nnnnn 00000", "FCMP", &[scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 00000 00 1000 nnnnn 01000", "FCMP", &[scalar::<RN>, zero]),
    row("00011110 tt 1 mmmmm 00 1000 nnnnn 10000", "FCMPE", &[scalar::<RN>, scalar::<RM>]),
    row("00011110 tt 1 00000 00 1000 nnnnn 11000", "FCMPE", &[scalar::<RN>, zero]),
    row("00011110 tt 1 mmmmm cccc 01 nnnnn 0 ffff", "FCCMP", &[scalar::<RN>, scalar::<RM>, unsigned::<0, 4>, cond::<12>]),
    row("00011110 tt 1 mmmmm cccc 01 nnnnn 1 ffff", "FCCMPE", &[scalar::<RN>, scalar::<RM>, unsigned::<0, 4>, cond::<12>]),
    row("00011110 tt 1 mmmmm cccc 11 nnnnn ddddd", "FCSEL", &[scalar::<RD>, scalar::<RN>, scalar::<RM>, cond::<12>]),
];

/// The letter of a scalar by the two bits of its type; `10` is no scalar.
fn letter(kind: u32) -> Option<char> {
    [Some('S'), Some('D'), None, Some('H')][kind as usize & 3]
}

pub fn scalar<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(format!("{}{}", letter(w.get(22, 2))?, w.get(AT, 5)))
}

/// A scalar that is converted without leaving the vector registers.
fn in_place<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(format!("{}{}", letter(w.get(22, 1))?, w.get(AT, 5)))
}

/// The type of a scalar by the bits that hold a count: 0 for numbers of 32 bits, 1 for 64.
fn fixed_size(w: Word) -> Option<u32> {
    match w.get(19, 4) {
        4..8 => Some(0),
        8.. => Some(1),
        _ => None,
    }
}

fn in_fixed<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(format!("{}{}", letter(fixed_size(w)?)?, w.get(AT, 5)))
}

/// How many bits are the fraction.
fn parts_of_one(w: Word, out: &mut Out) -> Option<()> {
    out.imm(i64::from((64 << fixed_size(w)?) - w.get(16, 7)))
}

fn elements(at: u32, size: u32, whole: u32) -> Option<String> {
    match (size, whole) {
        (0, 0) => Some(format!("V{at}.2S")),
        (0, _) => Some(format!("V{at}.4S")),
        (_, 0) => None,
        _ => Some(format!("V{at}.2D")),
    }
}

fn numbers<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(elements(w.get(AT, 5), w.get(22, 1), w.get(30, 1))?)
}

fn fixed<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(elements(w.get(AT, 5), fixed_size(w)?, w.get(30, 1))?)
}

fn converted(w: Word, out: &mut Out) -> Option<()> {
    out.reg(format!("{}{}", letter(w.get(15, 2))?, w.get(RD, 5)))
}

/// A conversion is between different types.
fn changes(w: Word, _: &mut Out) -> Option<()> {
    (w.get(15, 2) != w.get(22, 2)).then_some(())
}

/// A move to or from the upper half is one of an element.
fn upper<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(format!("V{}.D[1]", w.get(AT, 5)))
}

fn fraction(w: Word, out: &mut Out) -> Option<()> {
    let bits = 64 - w.get(10, 6);
    if !w.is(31) && bits > 32 {
        return None;
    }
    out.imm(bits.into())
}

/// A number of 8 bits: sign, exponent of 3, fraction of 4.
pub fn small_float(bits: u32) -> f64 {
    let exponent = (bits >> 4 & 7) as i32;
    let exponent = if exponent >= 4 { exponent - 7 } else { exponent + 1 };
    let value = (1.0 + f64::from(bits & 15) / 16.0) * f64::powi(2.0, exponent);
    if bits & 0x80 != 0 { -value } else { value }
}

fn constant<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    letter(w.get(22, 2))?;
    out.text(format!("#{:?}", small_float(w.get(AT, 8))))
}

fn zero(_: Word, out: &mut Out) -> Option<()> {
    out.text("#0.0")
}
