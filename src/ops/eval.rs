//! Evaluates micro-ops: the one statement of their arithmetic.
//!
//! The simulator, lifting, the folding of constants in C and the machines of tests all ask here. It knows
//! numbers and addresses, and no instruction.

mod float;

use super::{BinOp, UnOp, Val, mask};

/// Every location starts at a multiple of so many bytes.
pub const ALIGN: u128 = 16;

/// The low bits of a number as a signed one.
pub fn sign_extend(v: u128, bits: u8) -> i128 {
    let shift = 128 - u32::from(bits.clamp(1, 128));
    ((v << shift) as i128) >> shift
}

/// Everything but 0 is true; addresses are never 0.
pub fn truth(v: Val) -> bool {
    v != Val::ZERO
}

/// The value of a one-operand operation; `None` where it has none (a bit of an address).
pub fn eval_un(op: UnOp, v: Val, width: u8) -> Option<Val> {
    let Val::Int(x) = v else {
        return match op {
            UnOp::IsZero => Some(Val::ZERO),
            // Addresses fit any register that holds them.
            UnOp::ZeroExt { from } | UnOp::SignExt { from } if from >= 32 && width >= 32 => Some(v),
            _ => None,
        };
    };
    let m = mask(width);
    let wide = x;
    let x = x & m;
    Some(Val::Int(match op {
        UnOp::FloatFromInt { from, signed } => float::from_int(wide, from, signed, width)?,
        UnOp::FloatToInt { from, signed } => float::to_int(wide, from, signed, width)?,
        UnOp::FloatResize { from } => float::resize(wide, from, width)?,
        UnOp::Not => !x & m,
        UnOp::Neg => x.wrapping_neg() & m,
        UnOp::SignExt { from } => sign_extend(x, from) as u128 & m,
        UnOp::ZeroExt { from } => x & mask(from) & m,
        UnOp::IsZero => u128::from(x == 0),
        UnOp::Clz => {
            u128::from((x << (128 - u32::from(width.max(1)))).leading_zeros().min(u32::from(width)))
        }
        UnOp::ByteSwap => x.swap_bytes() >> (128 - u32::from(width.max(8))),
        UnOp::BitReverse => x.reverse_bits() >> (128 - u32::from(width.max(1))),
        UnOp::PopCount => u128::from(x.count_ones()),
    }))
}

/// The value of a two-operand operation; `None` where it has none: a quotient by zero, a product of
/// addresses. An instruction set that gives a quotient by zero a value says which, with ops.
pub fn eval_bin(op: BinOp, a: Val, b: Val, width: u8) -> Option<Val> {
    let (x, y) = match (a, b) {
        (Val::Int(x), Val::Int(y)) => (x & mask(width), y & mask(width)),
        _ => return eval_pointer(op, a, b, width),
    };
    let m = mask(width);
    let (sx, sy) = (sign_extend(x, width), sign_extend(y, width));
    let wide = u32::from(width);
    let count = u32::try_from(y).unwrap_or(u32::MAX);
    Some(Val::Int(match op {
        BinOp::Add => x.wrapping_add(y) & m,
        BinOp::Sub => x.wrapping_sub(y) & m,
        BinOp::Mul => x.wrapping_mul(y) & m,
        BinOp::MulHiU | BinOp::MulHiS if width > 64 => return None,
        BinOp::MulHiU => (x * y) >> wide & m,
        BinOp::MulHiS => (sx.wrapping_mul(sy) >> wide) as u128 & m,
        BinOp::DivU => x.checked_div(y)?,
        BinOp::RemU => x.checked_rem(y)?,
        BinOp::DivS if y == 0 => return None,
        BinOp::RemS if y == 0 => return None,
        BinOp::DivS => sx.wrapping_div(sy) as u128 & m,
        BinOp::RemS => sx.wrapping_rem(sy) as u128 & m,
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::Shl => {
            if count >= wide {
                0
            } else {
                x << count & m
            }
        }
        BinOp::Shr => {
            if count >= wide {
                0
            } else {
                x >> count
            }
        }
        BinOp::Sar => (sx >> count.min(127)) as u128 & m,
        BinOp::Ror => {
            let c = (y % u128::from(wide.max(1))) as u32;
            if c == 0 { x } else { (x >> c | x << (wide - c)) & m }
        }
        BinOp::Eq => u128::from(x == y),
        BinOp::Ne => u128::from(x != y),
        BinOp::LtU => u128::from(x < y),
        BinOp::LeU => u128::from(x <= y),
        BinOp::LtS => u128::from(sx < sy),
        BinOp::LeS => u128::from(sx <= sy),
        BinOp::MinU => x.min(y),
        BinOp::MaxU => x.max(y),
        BinOp::MinS => {
            if sx <= sy {
                x
            } else {
                y
            }
        }
        BinOp::MaxS => {
            if sx >= sy {
                x
            } else {
                y
            }
        }
        BinOp::FloatAdd | BinOp::FloatSub | BinOp::FloatMul | BinOp::FloatDiv => {
            float::arithmetic(op, x, y, width)?
        }
        BinOp::FloatEq | BinOp::FloatLt | BinOp::FloatLe => {
            u128::from(float::compare(op, x, y, width)?)
        }
        BinOp::AddOverflows => u128::from(!fits(sx.checked_add(sy), width)),
        BinOp::SubOverflows => u128::from(!fits(sx.checked_sub(sy), width)),
        BinOp::MulOverflows => u128::from(!fits(sx.checked_mul(sy), width)),
        BinOp::ShlOverflows => {
            let out = 1i128.checked_shl(count).filter(|n| *n > 0).and_then(|n| sx.checked_mul(n));
            let zero = sx == 0 && count < wide;
            u128::from(!(zero || sx > 0 && count < wide && fits(out, width)))
        }
    }))
}

/// Whether a signed number was computed and has a place in so many bits.
fn fits(n: Option<i128>, width: u8) -> bool {
    n.is_some_and(|n| sign_extend(n as u128 & mask(width), width) == n)
}

/// Whether all bits are set.
pub fn is_full(v: Option<Val>, width: u8) -> bool {
    matches!(v, Some(Val::Int(n)) if n & mask(width) == mask(width))
}

/// Arithmetic with addresses: offsets, differences, comparisons, and masks of alignment
/// ([`ALIGN`]).
fn eval_pointer(op: BinOp, a: Val, b: Val, width: u8) -> Option<Val> {
    let flag = |c: bool| Some(Val::Int(u128::from(c)));
    match (op, a, b) {
        (BinOp::Add, Val::Ptr { loc, off }, Val::Int(i))
        | (BinOp::Add, Val::Int(i), Val::Ptr { loc, off }) => {
            let d = sign_extend(i, width) as i64;
            Some(Val::Ptr { loc, off: off.wrapping_add(d) })
        }
        (BinOp::Sub, Val::Ptr { loc, off }, Val::Int(i)) => {
            let d = sign_extend(i, width) as i64;
            Some(Val::Ptr { loc, off: off.wrapping_sub(d) })
        }
        (BinOp::Sub, Val::Ptr { loc: l, off: x }, Val::Ptr { loc: m, off: y }) if l == m => {
            Some(Val::Int(i128::from(x.wrapping_sub(y)) as u128 & mask(width)))
        }
        (BinOp::Xor, a, b) if a == b => Some(Val::ZERO),
        (BinOp::And | BinOp::Mul, _, Val::ZERO) | (BinOp::And | BinOp::Mul, Val::ZERO, _) => {
            Some(Val::ZERO)
        }
        (BinOp::Or, v, _) | (BinOp::Or, _, v) if is_full(Some(v), width) => {
            Some(Val::Int(mask(width)))
        }
        (BinOp::And, Val::Ptr { loc, off }, Val::Int(i))
        | (BinOp::And, Val::Int(i), Val::Ptr { loc, off }) => {
            let keep = sign_extend(i, width);
            if (-(ALIGN as i128)..0).contains(&keep) {
                Some(Val::Ptr { loc, off: off & keep as i64 })
            } else if (0..ALIGN as i128).contains(&keep) {
                Some(Val::Int((off as i128 & keep) as u128))
            } else if i & mask(width) & mask(32) == 0 {
                // The upper half, as below.
                Some(Val::ZERO)
            } else {
                None
            }
        }
        // A tag in the low bits of an address.
        (op @ (BinOp::Or | BinOp::Xor), Val::Ptr { loc, off }, Val::Int(i))
        | (op @ (BinOp::Or | BinOp::Xor), Val::Int(i), Val::Ptr { loc, off })
            if i < ALIGN =>
        {
            let tag = i as i64;
            Some(Val::Ptr { loc, off: if op == BinOp::Or { off | tag } else { off ^ tag } })
        }
        (BinOp::Or | BinOp::Xor, p @ (Val::Ptr { .. } | Val::Code(_)), Val::ZERO)
        | (BinOp::Or | BinOp::Xor | BinOp::Add, Val::ZERO, p @ (Val::Ptr { .. } | Val::Code(_)))
        | (
            BinOp::Shl | BinOp::Shr | BinOp::Sar | BinOp::Add | BinOp::Sub,
            p @ (Val::Ptr { .. } | Val::Code(_)),
            Val::ZERO,
        ) => Some(p),
        // The high half of an address, which is below 2^31.
        (BinOp::Shr, Val::Ptr { .. }, Val::Int(32)) if width == 64 => Some(Val::ZERO),
        (BinOp::And | BinOp::Or, a, b) if a == b => Some(a),
        (BinOp::Eq, a, b) => flag(a == b),
        (BinOp::Ne, a, b) => flag(a != b),
        // No object lies at the end of memory.
        (BinOp::AddOverflows | BinOp::SubOverflows | BinOp::MulOverflows, ..) => flag(false),
        (
            BinOp::LtU | BinOp::LeU | BinOp::LtS | BinOp::LeS,
            Val::Ptr { loc: l, off: x },
            Val::Ptr { loc: m, off: y },
        ) if l == m => flag(if matches!(op, BinOp::LtU | BinOp::LtS) { x < y } else { x <= y }),
        // An address is above every number that a test compares it with.
        (BinOp::LtU | BinOp::LeU, Val::Int(_), Val::Ptr { .. }) => flag(true),
        (BinOp::LtU | BinOp::LeU, Val::Ptr { .. }, Val::Int(_)) => flag(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bin(op: BinOp, a: u128, b: u128, width: u8) -> Option<u128> {
        match eval_bin(op, Val::Int(a), Val::Int(b), width)? {
            Val::Int(n) => Some(n),
            other => panic!("{other:?}"),
        }
    }

    fn un(op: UnOp, a: u128, width: u8) -> u128 {
        match eval_un(op, Val::Int(a), width) {
            Some(Val::Int(n)) => n,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_quotient_by_zero_has_no_value() {
        for op in [BinOp::DivU, BinOp::DivS, BinOp::RemU, BinOp::RemS] {
            for width in [8, 32, 64, 128] {
                assert_eq!(bin(op, 7, 0, width), None, "{op:?} {width}");
            }
            // Bits above the width are no part of a divisor.
            assert_eq!(bin(op, 7, 1 << 32, 32), None, "{op:?}");
        }
    }

    #[test]
    fn a_rotation_takes_all_of_its_count() {
        assert_eq!(bin(BinOp::Ror, 1, 1 << 32, 64), Some(1));
        assert_eq!(bin(BinOp::Ror, 1, (1 << 40) + 1, 64), Some(1 << 63));
    }

    #[test]
    fn a_product_of_addresses_has_no_value() {
        let x = Val::Ptr { loc: 0, off: 0 };
        assert_eq!(eval_bin(BinOp::Mul, x, x, 64), None);
        assert_eq!(eval_bin(BinOp::Mul, x, Val::ZERO, 64), Some(Val::ZERO));
        assert_eq!(eval_un(UnOp::IsZero, x, 64), Some(Val::ZERO));
        assert_eq!(eval_un(UnOp::Not, x, 64), None);
        assert_eq!(eval_bin(BinOp::Shr, x, Val::Int(32), 64), Some(Val::ZERO));
        assert_eq!(eval_bin(BinOp::Shr, x, Val::Int(32), 32), None);
        assert_eq!(eval_bin(BinOp::And, x, Val::Int(mask(32) << 32), 64), Some(Val::ZERO));
        assert_eq!(eval_bin(BinOp::And, x, Val::Int(mask(33) << 31), 64), None);
    }

    /// Whether C has a value for a number shifted left: twice the number, so many times, fits.
    fn shifts(n: i128, count: u128, width: u8) -> bool {
        let most = (1i128 << (width - 1)) - 1;
        let doubled = (0..count.min(128)).fold(n, |n, _| n.min(most).saturating_mul(2));
        n >= 0 && count < u128::from(width) && doubled <= most
    }

    /// The arithmetic of one width, by that of Rust's integers.
    macro_rules! as_rust_has_it {
        ($name:ident, $u:ty, $i:ty, $wide:ty, $wide_signed:ty) => {
            proptest! {
                #[test]
                fn $name(a: $u, b: $u, high: u64) {
                    let width = <$u>::BITS as u8;
                    let (sa, sb) = (a as $i, b as $i);
                    // Bits above the width do not count.
                    let over = |n: $u| u128::from(n) | u128::from(high).checked_shl(width.into()).unwrap_or(0);
                    let some = |n: $u| Some(u128::from(n));
                    let flag = |c: bool| Some(u128::from(c));
                    let shift = |n: $u| u32::try_from(n).unwrap_or(u32::MAX);
                    let high_half = |n: $wide| some((n >> width) as $u);
                    for (op, wanted) in [
                        (BinOp::Add, some(a.wrapping_add(b))),
                        (BinOp::Sub, some(a.wrapping_sub(b))),
                        (BinOp::Mul, some(a.wrapping_mul(b))),
                        (BinOp::MulHiU, high_half(a as $wide * b as $wide)),
                        (BinOp::MulHiS, high_half((sa as $wide_signed * sb as $wide_signed) as $wide)),
                        (BinOp::DivU, a.checked_div(b).and_then(some)),
                        (BinOp::RemU, a.checked_rem(b).and_then(some)),
                        (BinOp::DivS, (sb != 0).then(|| u128::from(sa.wrapping_div(sb) as $u))),
                        (BinOp::RemS, (sb != 0).then(|| u128::from(sa.wrapping_rem(sb) as $u))),
                        (BinOp::And, some(a & b)),
                        (BinOp::Or, some(a | b)),
                        (BinOp::Xor, some(a ^ b)),
                        (BinOp::Shl, some(a.checked_shl(shift(b)).unwrap_or(0))),
                        (BinOp::Shr, some(a.checked_shr(shift(b)).unwrap_or(0))),
                        (BinOp::Sar, some((sa >> shift(b).min(u32::from(width) - 1)) as $u)),
                        (BinOp::Ror, some(a.rotate_right((b % <$u>::from(width)) as u32))),
                        (BinOp::Eq, flag(a == b)),
                        (BinOp::Ne, flag(a != b)),
                        (BinOp::LtU, flag(a < b)),
                        (BinOp::LeU, flag(a <= b)),
                        (BinOp::LtS, flag(sa < sb)),
                        (BinOp::LeS, flag(sa <= sb)),
                        (BinOp::MinU, some(a.min(b))),
                        (BinOp::MaxU, some(a.max(b))),
                        (BinOp::MinS, some(sa.min(sb) as $u)),
                        (BinOp::MaxS, some(sa.max(sb) as $u)),
                        (BinOp::AddOverflows, flag(sa.checked_add(sb).is_none())),
                        (BinOp::SubOverflows, flag(sa.checked_sub(sb).is_none())),
                        (BinOp::MulOverflows, flag(sa.checked_mul(sb).is_none())),
                        (BinOp::ShlOverflows, flag(!shifts(i128::from(sa), u128::from(b), width))),
                    ] {
                        prop_assert_eq!(bin(op, over(a), over(b), width), wanted, "{:?}", op);
                        let small = b % <$u>::from(width);
                        if matches!(op, BinOp::Shl) {
                            prop_assert_eq!(bin(op, over(a), small.into(), width), some(a << small));
                        }
                    }
                    for (op, wanted) in [
                        (UnOp::Not, !a),
                        (UnOp::Neg, a.wrapping_neg()),
                        (UnOp::SignExt { from: 8 }, a as i8 as $u),
                        (UnOp::ZeroExt { from: 8 }, a as u8 as $u),
                        (UnOp::IsZero, (a == 0).into()),
                        (UnOp::Clz, a.leading_zeros() as $u),
                        (UnOp::ByteSwap, a.swap_bytes()),
                        (UnOp::BitReverse, a.reverse_bits()),
                        (UnOp::PopCount, a.count_ones() as $u),
                    ] {
                        prop_assert_eq!(un(op, over(a), width), u128::from(wanted), "{:?}", op);
                    }
                }
            }
        };
    }

    as_rust_has_it!(bytes_as_rust_has_them, u8, i8, u16, i16);
    as_rust_has_it!(words_as_rust_has_them, u32, i32, u64, i64);
    as_rust_has_it!(long_words_as_rust_has_them, u64, i64, u128, i128);
}
