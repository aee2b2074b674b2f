//! Numbers in floating point, by their format: arithmetic, comparisons, conversions and constants. It does not know
//! instructions, nor where values come from.

use super::super::types::{Float, Type};
use super::memory::either;
use super::{Read, lane};
use crate::microcode::{Emit, mask};
use litmake_ops::{BinOp, Temp, UnOp};

/// A number of the format as one that is computed with, with the bits of that. `bfloat` is the upper half of `float`.
fn wide(e: &mut Emit, a: Temp, format: Float) -> (Temp, u8) {
    match format {
        Float::Brain => (e.bin_int(BinOp::Shl, a, 16, 32), 32),
        _ => (a, format.bits()),
    }
}

/// The opposite of [`wide`]: the nearest number of the format, and of two as near the even one. It is rounded twice, which
/// changes no sum, product or quotient, since `float` has more than twice the digits of `bfloat`.
fn narrow(e: &mut Emit, a: Temp, format: Float) -> Temp {
    if format != Float::Brain {
        return a;
    }
    let upper = e.bin_int(BinOp::Shr, a, 16, 32);
    let odd = e.bin_int(BinOp::And, upper, 1, 32);
    let more = e.bin_int(BinOp::Add, odd, 0x7fff, 32);
    let rounded = e.bin(BinOp::Add, a, more, 32);
    e.bin_int(BinOp::Shr, rounded, 16, 32)
}

/// 1 where both are numbers.
fn numbers(e: &mut Emit, a: Temp, b: Temp, format: Float) -> Temp {
    let left = holds(e, BinOp::FloatEq, a, a, format);
    let right = holds(e, BinOp::FloatEq, b, b, format);
    e.bin(BinOp::And, left, right, 1)
}

/// The result of an operation that one has where both are numbers. Where one is none, the result is what is none, as it is:
/// one of several ways that the language permits, and the one that remains where an operation is left out.
fn of_numbers(
    e: &mut Emit,
    a: Temp,
    b: Temp,
    format: Float,
    of: impl FnOnce(&mut Emit, Temp, Temp) -> Temp,
) -> Temp {
    let bits = format.bits();
    let both = numbers(e, a, b, format);
    let right = holds(e, BinOp::FloatEq, b, b, format);
    let none = either(e, right, a, b, bits);
    // 1 is a number whichever operation follows.
    let one = e.int(match format {
        Float::Half => 0x3c00,
        Float::Brain => 0x3f80,
        Float::Single => 0x3f80_0000,
        Float::Double => 0x3ff0 << 48,
    });
    let [a, b] = [a, b].map(|x| either(e, both, x, one, bits));
    let result = of(e, a, b);
    either(e, both, result, none, bits)
}

/// A sum, difference, product or quotient.
pub fn bin(e: &mut Emit, op: BinOp, a: Temp, b: Temp, format: Float) -> Temp {
    of_numbers(e, a, b, format, |e, a, b| {
        let ((a, bits), (b, _)) = (wide(e, a, format), wide(e, b, format));
        let result = e.bin(op, a, b, bits);
        narrow(e, result, format)
    })
}

/// 1 where the comparison holds.
fn holds(e: &mut Emit, op: BinOp, a: Temp, b: Temp, format: Float) -> Temp {
    let ((a, bits), (b, _)) = (wide(e, a, format), wide(e, b, format));
    e.bin(op, a, b, bits)
}

/// The greater or the lesser of two numbers (`maxnum`, `minnum`); of a number and what is none, the number.
pub fn extreme(e: &mut Emit, greater: bool, a: Temp, b: Temp, format: Float) -> Temp {
    let (least, most) = if greater { (a, b) } else { (b, a) };
    let other = holds(e, BinOp::FloatLt, least, most, format);
    let number = holds(e, BinOp::FloatEq, a, a, format);
    let of_two = either(e, other, b, a, format.bits());
    either(e, number, of_two, b, format.bits())
}

/// The greater or the lesser of two numbers (`maximum`, `minimum`), of which -0 is less than 0; no number where one of both
/// is none.
pub fn strict_extreme(e: &mut Emit, greater: bool, a: Temp, b: Temp, format: Float) -> Temp {
    of_numbers(e, a, b, format, |e, a, b| {
        let equal = holds(e, BinOp::FloatEq, a, b, format);
        let sign = if greater { BinOp::And } else { BinOp::Or };
        let same = e.bin(sign, a, b, format.bits());
        let differs = extreme(e, greater, a, b, format);
        either(e, equal, same, differs, format.bits())
    })
}

/// A comparison by its name. One that is ordered (`o...`) does not hold where one of the numbers is none, and the other
/// kind is what is left of its opposite.
pub fn compared(e: &mut Emit, name: &str, a: Temp, b: Temp, format: Float) -> Read<Temp> {
    let (ordered, positive) = match name {
        "false" => return Ok(e.int(0)),
        "true" => return Ok(e.int(1)),
        "oeq" => ("eq", true),
        "une" => ("eq", false),
        "olt" => ("lt", true),
        "uge" => ("lt", false),
        "ole" => ("le", true),
        "ugt" => ("le", false),
        "ogt" => ("gt", true),
        "ule" => ("gt", false),
        "oge" => ("ge", true),
        "ult" => ("ge", false),
        "one" => ("ne", true),
        "ueq" => ("ne", false),
        "ord" => ("ord", true),
        "uno" => ("ord", false),
        other => return Err(format!("expected a comparison such as `oeq`, found `{other}`")),
    };
    let mut holds = |op, a, b| holds(e, op, a, b, format);
    let found = match ordered {
        "eq" => holds(BinOp::FloatEq, a, b),
        "lt" => holds(BinOp::FloatLt, a, b),
        "le" => holds(BinOp::FloatLe, a, b),
        "gt" => holds(BinOp::FloatLt, b, a),
        "ge" => holds(BinOp::FloatLe, b, a),
        "ne" => {
            let (less, more) = (holds(BinOp::FloatLt, a, b), holds(BinOp::FloatLt, b, a));
            e.bin(BinOp::Or, less, more, 1)
        }
        // What is no number is not equal to itself.
        _ => numbers(e, a, b, format),
    };
    Ok(if positive { found } else { e.bin_int(BinOp::Xor, found, 1, 1) })
}

/// A conversion of a scalar from or to a number in floating point.
pub fn converted(e: &mut Emit, name: &str, value: Temp, from: &Type, to: &Type) -> Read<Temp> {
    let (Some(bits), Some(wanted)) = (lane(from), lane(to)) else {
        return Err(format!("unsupported: `{name}` of aggregates"));
    };
    let signed = matches!(name, "sitofp" | "fptosi");
    Ok(match (from.format(), to.format()) {
        (Some(format), None) => {
            let (value, from) = wide(e, value, format);
            e.un(UnOp::FloatToInt { from, signed }, value, wanted)
        }
        (_, Some(Float::Brain)) if bits > 32 => {
            return Err(format!(
                "unsupported: `{name}` of {bits} bits to `bfloat`, which is rounded once"
            ));
        }
        (None, Some(format)) => {
            // An integer of 32 bits is rounded once on the way to `double`, and then to the format: not at all before.
            let into = if format == Float::Brain { 32 } else { wanted };
            if format == Float::Brain && bits > 24 {
                return Err(format!(
                    "unsupported: `{name}` of {bits} bits to `bfloat`, which is rounded once"
                ));
            }
            let number = e.un(UnOp::FloatFromInt { from: bits, signed }, value, into);
            narrow(e, number, format)
        }
        (Some(old), Some(new)) => {
            let (value, from) = wide(e, value, old);
            let into = if new == Float::Brain { 32 } else { wanted };
            let number =
                if from == into { value } else { e.un(UnOp::FloatResize { from }, value, into) };
            narrow(e, number, new)
        }
        (None, None) => value,
    })
}

/// A constant: a decimal number, or bits. `0x` gives those that the number has as a `double`, whichever type it has; `0xH`
/// those of a `half`, `0xR` those of a `bfloat`.
pub fn constant(e: &mut Emit, text: &str, format: Float) -> Option<Temp> {
    let short = match format {
        Float::Half => text.strip_prefix("0xH"),
        Float::Brain => text.strip_prefix("0xR"),
        Float::Single | Float::Double => None,
    };
    if let Some(bits) = short {
        return Some(e.int(u128::from_str_radix(bits, 16).ok()? & mask(16)));
    }
    let number = match text.strip_prefix("0x") {
        Some(bits) => f64::from_bits(u64::from_str_radix(bits, 16).ok()?),
        None => text.parse().ok().filter(|_| text.contains('.'))?,
    };
    Some(match format {
        Float::Double => e.int(number.to_bits().into()),
        Float::Single => e.int((number as f32).to_bits().into()),
        // A constant is written in a format in which it is exact.
        Float::Brain => e.int(((number as f32).to_bits() >> 16).into()),
        Float::Half => {
            let number = e.int(number.to_bits().into());
            e.un(UnOp::FloatResize { from: 64 }, number, 16)
        }
    })
}
