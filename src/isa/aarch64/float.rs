//! Floating point of 32 and 64 bits: conversions, arithmetic and comparisons of scalars, and a few of
//! vectors. Moves are in
//! [`super::simd`]. Halves and fused operations are refused.

use super::emit::{Emit, Lowered, Refusal, wrong_width};
use super::operand::Operand;
use super::regs::{Flag, View};
use super::simd::{each_lane, lane_value, vector, whole};
use litmake_ops::{BinOp, Port, Temp, UnOp, Val};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    /// SCVTF, UCVTF: from a general register, or from a scalar of its own width.
    FromInt {
        signed: bool,
    },
    /// FCVTZS, FCVTZU: towards zero.
    ToInt {
        signed: bool,
    },
    /// FCVT: between widths.
    Resize,
    Arith {
        op: BinOp,
        negate: bool,
    },
    Neg,
    Abs,
    Compare,
    /// FCCMP: compares where a condition holds.
    CompareIf,
}

const fn arith(op: BinOp) -> Float {
    Float::Arith { op, negate: false }
}

pub const TABLE: &[(&str, Float)] = &[
    ("SCVTF", Float::FromInt { signed: true }),
    ("UCVTF", Float::FromInt { signed: false }),
    ("FCVTZS", Float::ToInt { signed: true }),
    ("FCVTZU", Float::ToInt { signed: false }),
    ("FCVT", Float::Resize),
    ("FADD", arith(BinOp::FloatAdd)),
    ("FSUB", arith(BinOp::FloatSub)),
    ("FMUL", arith(BinOp::FloatMul)),
    ("FDIV", arith(BinOp::FloatDiv)),
    ("FNMUL", Float::Arith { op: BinOp::FloatMul, negate: true }),
    ("FNEG", Float::Neg),
    ("FABS", Float::Abs),
    ("FCMP", Float::Compare),
    ("FCMPE", Float::Compare),
    ("FCCMP", Float::CompareIf),
    ("FCCMPE", Float::CompareIf),
];

pub fn lower(float: Float, e: &mut Emit) -> Lowered {
    if let Some(Operand::Vector(_)) = e.operands.first() {
        return on_vectors(float, e);
    }
    match float {
        Float::FromInt { signed } => {
            let (d, n) = (scalar(e, 0)?, e.any_reg(1)?);
            let fraction = fraction(e, n.bits)?;
            if n.is_vec() && n.bits != d.bits {
                return Err(wrong_width(1, n.bits, d.bits));
            }
            let value = e.read(&n, Port::None);
            let value = e.un(UnOp::FloatFromInt { from: n.bits, signed }, value, d.bits);
            let value = scaled(e, value, -fraction, d.bits);
            e.write(&d, value);
        }
        Float::ToInt { signed } => {
            let (d, n) = (e.any_reg(0)?, scalar(e, 1)?);
            let fraction = fraction(e, d.bits)?;
            if d.is_vec() && n.bits != d.bits {
                return Err(wrong_width(1, n.bits, d.bits));
            }
            let value = e.read(&n, Port::None);
            let value = scaled(e, value, fraction, n.bits);
            let value = e.un(UnOp::FloatToInt { from: n.bits, signed }, value, d.bits);
            e.write(&d, value);
        }
        Float::Resize => {
            let (d, n) = (scalar(e, 0)?, scalar(e, 1)?);
            e.only(2)?;
            let value = e.read(&n, Port::None);
            let value = e.un(UnOp::FloatResize { from: n.bits }, value, d.bits);
            e.write(&d, value);
        }
        Float::Arith { op, negate } => {
            let d = scalar(e, 0)?;
            let (n, m) = (like(e, 1, &d)?, like(e, 2, &d)?);
            e.only(3)?;
            let (a, b) = (e.read(&n, Port::None), e.read(&m, Port::None));
            let mut value = e.bin(op, a, b, d.bits);
            if negate {
                value = e.bin_int(BinOp::Xor, value, 1 << (d.bits - 1), d.bits);
            }
            e.write(&d, value);
        }
        Float::Neg | Float::Abs => {
            let d = scalar(e, 0)?;
            let n = like(e, 1, &d)?;
            e.only(2)?;
            let value = e.read(&n, Port::None);
            let sign = 1u128 << (d.bits - 1);
            let value = match float {
                Float::Neg => e.bin_int(BinOp::Xor, value, sign, d.bits),
                _ => e.bin_int(BinOp::And, value, sign - 1, d.bits),
            };
            e.write(&d, value);
        }
        Float::Compare => {
            let (a, b, bits) = operands(e)?;
            e.only(2)?;
            let flags = flags(e, a, b, bits);
            for (flag, value) in Flag::ALL.into_iter().zip(flags) {
                e.set_flag(flag, value);
            }
        }
        Float::CompareIf => {
            let (a, b, bits) = operands(e)?;
            let otherwise = e.imm_in(2, 0..16)?;
            let cond = e.cond(3)?;
            e.only(4)?;
            let holds = e.condition(cond);
            let flags = flags(e, a, b, bits);
            for (i, (flag, yes)) in Flag::ALL.into_iter().zip(flags).enumerate() {
                let no = e.number(i128::from(otherwise >> (3 - i) & 1));
                let value = e.select(holds, yes, no);
                e.set_flag(flag, value);
            }
        }
    }
    Ok(())
}

/// Lowers an operation on each element of a vector.
fn on_vectors(float: Float, e: &mut Emit) -> Lowered {
    let (d, n) = (vector(e, 0)?, vector(e, 1)?);
    if (n.elem, n.count) != (d.elem, d.count) || !matches!(d.elem, 32 | 64) {
        return Err(Refusal::new("expected two vectors of one shape with elements of 32 or 64 bits, such as `V0.4S,V1.4S`").on(1));
    }
    let a = e.read_raw(&whole(n), Port::None);
    let bits = d.elem;
    match float {
        Float::FromInt { signed } => {
            let fraction = fraction(e, bits)?;
            each_lane(e, d, |e, lane| {
                let x = lane_value(e, a, bits, lane);
                let x = e.un(UnOp::FloatFromInt { from: bits, signed }, x, bits);
                scaled(e, x, -fraction, bits)
            });
        }
        Float::ToInt { signed } => {
            let fraction = fraction(e, bits)?;
            each_lane(e, d, |e, lane| {
                let x = lane_value(e, a, bits, lane);
                let x = scaled(e, x, fraction, bits);
                e.un(UnOp::FloatToInt { from: bits, signed }, x, bits)
            });
        }
        Float::Arith { op, negate: false } => {
            let m = vector(e, 2)?;
            e.only(3)?;
            if (m.elem, m.count) != (d.elem, d.count) {
                return Err(Refusal::new("expected vectors of one shape, such as `V0.4S`").on(2));
            }
            let b = e.read_raw(&whole(m), Port::None);
            each_lane(e, d, |e, lane| {
                let (x, y) = (lane_value(e, a, bits, lane), lane_value(e, b, bits, lane));
                e.bin(op, x, y, bits)
            });
        }
        _ => return Err(Refusal::new("this instruction on vectors is not supported").on(0)),
    }
    Ok(())
}

/// A number times a power of two, which has the same digits.
fn scaled(e: &mut Emit, value: Temp, exponent: i32, bits: u8) -> Temp {
    match exponent {
        0 => value,
        _ => e.bin_int(BinOp::FloatMul, value, power(exponent, bits), bits),
    }
}

/// How many bits of a number in fixed point are its fraction.
fn fraction(e: &Emit, bits: u8) -> Lowered<i32> {
    e.only(3)?;
    match e.operands.get(2) {
        None => Ok(0),
        Some(_) => e.imm_in(2, 1..i128::from(bits) + 1).map(i32::from),
    }
}

/// The bits of a power of two.
fn power(exponent: i32, bits: u8) -> u128 {
    match bits {
        32 => 2f32.powi(exponent).to_bits().into(),
        _ => 2f64.powi(exponent).to_bits().into(),
    }
}

/// A scalar of 32 or 64 bits.
fn scalar(e: &Emit, i: usize) -> Lowered<View> {
    let view = e.any_reg(i)?;
    match view.is_vec() && matches!(view.bits, 32 | 64) {
        true => Ok(view),
        false => Err(e.missing(i, "a number of 32 or 64 bits, such as `S0` or `D0`")),
    }
}

/// A scalar of the width of another.
fn like(e: &Emit, i: usize, other: &View) -> Lowered<View> {
    let view = scalar(e, i)?;
    if view.bits == other.bits { Ok(view) } else { Err(wrong_width(i, view.bits, other.bits)) }
}

/// The operands of a comparison and their width: two scalars, or one and zero.
fn operands(e: &mut Emit) -> Lowered<(Temp, Temp, u8)> {
    let n = scalar(e, 0)?;
    let a = e.read(&n, Port::None);
    let b = match e.operands.get(1) {
        Some(Operand::Float(0)) | Some(Operand::Imm(0)) => e.val(Val::ZERO),
        _ => {
            let m = like(e, 1, &n)?;
            e.read(&m, Port::None)
        }
    };
    Ok((a, b, n.bits))
}

/// N, Z, C and V of a comparison: C where it is not less, V where one is no number.
fn flags(e: &mut Emit, a: Temp, b: Temp, bits: u8) -> [Temp; 4] {
    let less = e.bin(BinOp::FloatLt, a, b, bits);
    let equal = e.bin(BinOp::FloatEq, a, b, bits);
    let carry = e.un(UnOp::IsZero, less, 1);
    let numbers = [a, b].map(|x| e.bin(BinOp::FloatEq, x, x, bits));
    let both = e.bin(BinOp::And, numbers[0], numbers[1], 1);
    let unordered = e.un(UnOp::IsZero, both, 1);
    [less, equal, carry, unordered]
}
