//! Numbers in floating point: values of 16, 32 or 64 bits, as IEEE 754 has them, rounded to the nearest
//! and then to even. It knows bits alone: no type, no register.

use super::sign_extend;
use crate::{BinOp, mask};

/// The bits of a number where it is one.
fn number32(x: f32) -> Option<u128> {
    (!x.is_nan()).then(|| x.to_bits().into())
}

fn number64(x: f64) -> Option<u128> {
    (!x.is_nan()).then(|| x.to_bits().into())
}

/// The bits of the number of 16 bits that is nearest to one of 64.
fn number16(x: f64) -> Option<u128> {
    let sign = u128::from(x.is_sign_negative()) << 15;
    let size = x.abs();
    let exponent = (size.to_bits() >> 52) as i32 - 1023;
    let bits = match exponent {
        _ if x.is_nan() => return None,
        // From half way between the greatest number and the next power of two on, it is infinite.
        _ if size >= 65520.0 => 0x7c00,
        // Below the least normal number the steps are equal.
        ..-14 => (size * f64::from(1 << 24)).round_ties_even() as u128,
        // A number that is rounded up to the next power of two has the next exponent.
        _ => {
            let digits = (size * 2f64.powi(10 - exponent)).round_ties_even() as u128;
            (((exponent + 14) as u128) << 10) + digits
        }
    };
    Some(sign | bits)
}

/// The number that 16 bits stand for.
fn decode16(bits: u128) -> f64 {
    let (exponent, digits) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
    let size = match exponent {
        0 => digits / f64::from(1 << 24),
        31 if digits == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + digits) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 & 1 == 1 { -size } else { size }
}

/// The number that bits stand for. One of fewer bits is one of 64 bits, too.
fn decode(bits: u128, width: u8) -> Option<f64> {
    match width {
        16 => Some(decode16(bits)),
        32 => Some(f64::from(f32::from_bits(bits as u32))),
        64 => Some(f64::from_bits(bits as u64)),
        _ => None,
    }
}

/// The number nearest to an integer of `from` bits.
pub fn from_int(v: u128, from: u8, signed: bool, width: u8) -> Option<u128> {
    let v = v & mask(from);
    match (signed, width) {
        // Of more digits than 64 bits hold, the number is infinite in 16.
        (true, 16) => number16(sign_extend(v, from) as f64),
        (false, 16) => number16(v as f64),
        (true, 32) => number32(sign_extend(v, from) as f32),
        (true, 64) => number64(sign_extend(v, from) as f64),
        (false, 32) => number32(v as f32),
        (false, 64) => number64(v as f64),
        _ => None,
    }
}

/// The integer of `width` bits without the fraction, or the nearest one that there is.
pub fn to_int(v: u128, from: u8, signed: bool, width: u8) -> Option<u128> {
    let x = decode(v & mask(from), from)?;
    // A conversion to an integer saturates, and makes 0 of what is no number.
    Some(match signed {
        true => {
            let most = (mask(width) >> 1) as i128;
            (x as i128).clamp(-most - 1, most) as u128 & mask(width)
        }
        false => (x as u128).min(mask(width)),
    })
}

/// The number of another width that is nearest.
pub fn resize(v: u128, from: u8, width: u8) -> Option<u128> {
    let x = decode(v & mask(from), from)?;
    match width {
        16 => number16(x),
        32 => number32(x as f32),
        64 => number64(x),
        _ => None,
    }
}

/// A sum, difference, product or quotient.
pub fn arithmetic(op: BinOp, a: u128, b: u128, width: u8) -> Option<u128> {
    macro_rules! result {
        ($x:expr, $y:expr) => {{
            let (x, y) = ($x, $y);
            match op {
                BinOp::FloatAdd => x + y,
                BinOp::FloatSub => x - y,
                BinOp::FloatMul => x * y,
                BinOp::FloatDiv => x / y,
                _ => return None,
            }
        }};
    }
    match width {
        // Rounded twice, which changes nothing: 64 bits have more than twice the digits of 16.
        16 => number16(result!(decode16(a), decode16(b))),
        32 => number32(result!(f32::from_bits(a as u32), f32::from_bits(b as u32))),
        64 => number64(result!(f64::from_bits(a as u64), f64::from_bits(b as u64))),
        _ => None,
    }
}

/// Whether a comparison holds.
pub fn compare(op: BinOp, a: u128, b: u128, width: u8) -> Option<bool> {
    let (x, y) = (decode(a, width)?, decode(b, width)?);
    match op {
        BinOp::FloatEq => Some(x == y),
        BinOp::FloatLt => Some(x < y),
        BinOp::FloatLe => Some(x <= y),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: u128 = 0x7fc0_0000;

    fn f(x: f32) -> u128 {
        x.to_bits().into()
    }

    fn d(x: f64) -> u128 {
        x.to_bits().into()
    }

    /// Bits from the tables of IEEE 754 and from the C standard's rules for conversions.
    #[test]
    fn integers_become_the_nearest_number() {
        assert_eq!(from_int(1, 32, true, 32), Some(0x3f80_0000));
        assert_eq!(from_int(u128::from(u32::MAX), 32, true, 32), Some(0xbf80_0000));
        assert_eq!(from_int(u128::from(u32::MAX), 32, false, 32), Some(0x4f80_0000));
        // 2^24 + 1 lies half way, and the even one is below; 2^24 + 3 goes up.
        assert_eq!(from_int((1 << 24) + 1, 32, true, 32), Some(0x4b80_0000));
        assert_eq!(from_int((1 << 24) + 3, 32, true, 32), Some(0x4b80_0002));
        assert_eq!(from_int((1 << 24) + 1, 32, true, 64), Some(0x4170_0000_1000_0000));
        // Bits above those of the integer do not count.
        assert_eq!(from_int(0xff01, 8, true, 32), Some(0x3f80_0000));
    }

    #[test]
    fn a_fraction_is_cut_off_and_the_range_kept() {
        for (x, signed, wanted) in [
            (f(1.9), true, 1),
            (f(-1.9), true, 0xffff_ffff),
            (f(3e9), true, 0x7fff_ffff),
            (f(-3e9), true, 0x8000_0000),
            (f(3e9), false, 3_000_000_000),
            (f(-1.0), false, 0),
            (f(1e20), false, 0xffff_ffff),
            (f(f32::NEG_INFINITY), true, 0x8000_0000),
            (NAN, true, 0),
        ] {
            assert_eq!(to_int(x, 32, signed, 32), Some(wanted), "{x:#x} {signed}");
        }
        assert_eq!(
            to_int(d(-5e18), 64, true, 64),
            Some(-5_000_000_000_000_000_000i64 as u64 as u128)
        );
        assert_eq!(to_int(d(2.5), 64, false, 8), Some(2));
    }

    #[test]
    fn widths_change_by_rounding() {
        assert_eq!(resize(f(0.1), 32, 64), Some(0x3fb9_9999_a000_0000));
        assert_eq!(resize(d(0.1), 64, 32), Some(0x3dcc_cccd));
        assert_eq!(resize(d(1e300), 64, 32), Some(0x7f80_0000));
        // The least number of 32 bits, and half of it, which rounds to even.
        assert_eq!(resize(1, 32, 64), Some(0x36a0_0000_0000_0000));
        assert_eq!(resize(0x3690_0000_0000_0000, 64, 32), Some(0));
        assert_eq!(resize(NAN, 32, 64), None);
    }

    #[test]
    fn arithmetic_rounds_to_the_width() {
        assert_eq!(arithmetic(BinOp::FloatAdd, f(16_777_216.0), f(1.0), 32), Some(0x4b80_0000));
        assert_eq!(arithmetic(BinOp::FloatDiv, f(1.0), f(3.0), 32), Some(0x3eaa_aaab));
        assert_eq!(arithmetic(BinOp::FloatDiv, d(1.0), d(3.0), 64), Some(0x3fd5_5555_5555_5555));
        assert_eq!(arithmetic(BinOp::FloatMul, f(-2.0), f(0.0), 32), Some(0x8000_0000));
        assert_eq!(arithmetic(BinOp::FloatSub, f(1.5), f(1.25), 32), Some(0x3e80_0000));
        let infinity = f(f32::INFINITY);
        assert_eq!(arithmetic(BinOp::FloatSub, infinity, infinity, 32), None);
        assert_eq!(arithmetic(BinOp::FloatAdd, 1, 2, 8), None);
    }

    /// Bits from the tables of IEEE 754 for binary16.
    #[test]
    fn numbers_of_16_bits() {
        for (x, bits) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (1e300, 0x7c00),
            (f64::NEG_INFINITY, 0xfc00),
            (2f64.powi(-14), 0x0400),
            (2f64.powi(-24), 0x0001),
            (2f64.powi(-25), 0x0000),
            (1.5 * 2f64.powi(-24), 0x0002),
            (1.0 / 3.0, 0x3555),
            // Half way, to the even one; and up into the next power of two.
            (2049.0, 0x6800),
            (2051.0, 0x6802),
            (1.0 - 2f64.powi(-12), 0x3c00),
        ] {
            assert_eq!(resize(d(x), 64, 16), Some(bits), "{x}");
        }
        // Every number of 16 bits is one of 32 and of 64 bits, and comes back.
        for bits in (0..0x1_0000u128).filter(|bits| bits & 0x7c00 != 0x7c00 || bits & 1023 == 0) {
            for width in [32, 64] {
                let wide = resize(bits, 16, width).unwrap();
                assert_eq!(resize(wide, width, 16), Some(bits), "{bits:#x}");
            }
        }
        assert_eq!(resize(0x7e00, 16, 32), None);
        assert_eq!(arithmetic(BinOp::FloatAdd, 0x6800, 0x3c00, 16), Some(0x6800));
        assert_eq!(arithmetic(BinOp::FloatDiv, 0x3c00, 0x4200, 16), Some(0x3555));
        assert_eq!(from_int(65519, 32, false, 16), Some(0x7bff));
        assert_eq!(from_int(u128::from(u64::MAX), 64, true, 16), Some(0xbc00));
        assert_eq!(to_int(0xc100, 16, true, 32), Some(0xffff_fffe));
        assert_eq!(compare(BinOp::FloatLt, 0xbc00, 0x3c00, 16), Some(true));
    }

    #[test]
    fn what_is_no_number_compares_with_nothing() {
        for op in [BinOp::FloatEq, BinOp::FloatLt, BinOp::FloatLe] {
            assert_eq!(compare(op, NAN, NAN, 32), Some(false), "{op:?}");
            assert_eq!(compare(op, NAN, f(1.0), 32), Some(false), "{op:?}");
        }
        assert_eq!(compare(BinOp::FloatEq, f(0.0), f(-0.0), 32), Some(true));
        assert_eq!(compare(BinOp::FloatLt, f(-1.0), f(1.0), 32), Some(true));
        assert_eq!(compare(BinOp::FloatLe, d(2.0), d(2.0), 64), Some(true));
    }
}
