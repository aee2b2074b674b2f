//! Expressions over reads, and their values: numbers and addresses. It does not know executions.

use std::fmt;

/// A number, an address (a location and an offset in bytes), or an address of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Int(u128),
    At(u16, i64),
    Code(u32),
}

/// `5`, `@3+4`, `#7`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::At(location, offset) => write!(f, "@{location}{offset:+}"),
            Value::Code(at) => write!(f, "#{at}"),
        }
    }
}

impl Value {
    pub fn read(text: &str) -> Option<Value> {
        if let Some(rest) = text.strip_prefix('@') {
            let (location, offset) = rest.split_at(rest.find(['+', '-'])?);
            return Some(Value::At(location.parse().ok()?, offset.parse().ok()?));
        }
        match text.strip_prefix('#') {
            Some(at) => at.parse().ok().map(Value::Code),
            None => text.parse().ok().map(Value::Int),
        }
    }

    /// Everything but the number 0.
    pub fn is_true(self) -> bool {
        self != Value::Int(0)
    }
}

/// An expression; operands come before it in the list of all.
pub enum Expr {
    Constant(Value),
    /// The value that an access of a thread reads.
    Read {
        thread: usize,
        access: usize,
    },
    /// An operation modulo 2^`width`, with a parameter if it has one.
    One {
        op: String,
        width: u32,
        of: usize,
        from: u32,
    },
    Two {
        op: String,
        width: u32,
        a: usize,
        b: usize,
    },
}

/// So many low bits of an address are known: every location is aligned to 16 bytes.
const ALIGNED: i128 = 16;

pub fn low(n: u128, bits: u32) -> u128 {
    if bits >= 128 { n } else { n & ((1 << bits) - 1) }
}

pub fn signed(n: u128, bits: u32) -> i128 {
    let unused = 128 - bits.clamp(1, 128);
    ((n << unused) as i128) >> unused
}

/// The value of an expression; `None` if a read that it needs has none yet, or if it has no meaning.
pub fn evaluate(
    all: &[Expr],
    at: usize,
    read: &dyn Fn(usize, usize) -> Option<Value>,
) -> Option<Value> {
    match &all[at] {
        Expr::Constant(value) => Some(*value),
        Expr::Read { thread, access } => read(*thread, *access),
        Expr::One { op, width, of, from } => one(op, *width, *from, evaluate(all, *of, read)?),
        Expr::Two { op, width, a, b } => {
            let (a, b) = (evaluate(all, *a, read), evaluate(all, *b, read));
            let full = low(u128::MAX, *width);
            let is = |v, n| matches!(v, Some(Value::Int(m)) if low(m, *width) == n);
            match op.as_str() {
                "And" if a == Some(Value::Int(0)) || b == Some(Value::Int(0)) => {
                    Some(Value::Int(0))
                }
                "Or" if is(a, full) || is(b, full) => Some(Value::Int(full)),
                "Mul" if a == Some(Value::Int(0)) => a,
                _ => two(op, *width, a?, b?),
            }
        }
    }
}

fn one(op: &str, width: u32, from: u32, of: Value) -> Option<Value> {
    let Value::Int(n) = of else {
        return match op {
            "IsZero" => Some(Value::Int(0)),
            "ZeroExt" | "SignExt" if from >= 32 && width >= 32 => Some(of),
            _ => None,
        };
    };
    let (own, n) = (low(n, from), low(n, width));
    let most = low(u128::MAX, width.saturating_sub(1)) as i128;
    let result = match op {
        "FloatFromS" if width == 32 => nearest((signed(own, from) as f32).into(), width)?,
        "FloatFromU" if width == 32 => nearest((own as f32).into(), width)?,
        "FloatFromS" => nearest(signed(own, from) as f64, width)?,
        "FloatFromU" => nearest(own as f64, width)?,
        "FloatToS" => (float(own, from)? as i128).clamp(-most - 1, most) as u128,
        "FloatToU" => (float(own, from)? as u128).min(low(u128::MAX, width)),
        "FloatResize" => nearest(float(own, from)?, width)?,
        "Not" => !n,
        "Neg" => n.wrapping_neg(),
        "SignExt" => signed(n, from) as u128,
        "ZeroExt" => low(n, from),
        "IsZero" => u128::from(n == 0),
        "Clz" => u128::from(n.leading_zeros() - (128 - width)),
        "ByteSwap" => n.swap_bytes() >> (128 - width),
        "BitReverse" => n.reverse_bits() >> (128 - width),
        "PopCount" => u128::from(n.count_ones()),
        _ => return None,
    };
    Some(Value::Int(low(result, width)))
}

fn two(op: &str, width: u32, a: Value, b: Value) -> Option<Value> {
    let (Value::Int(x), Value::Int(y)) = (a, b) else { return address(op, width, a, b) };
    let (x, y) = (low(x, width), low(y, width));
    let (sx, sy) = (signed(x, width), signed(y, width));
    let shift = y.min(u128::from(width)) as u32;
    let fits = |n: Option<i128>| n.is_some_and(|n| signed(low(n as u128, width), width) == n);
    let flag = u128::from;
    let result = match op {
        "Add" => x.wrapping_add(y),
        "Sub" => x.wrapping_sub(y),
        "Mul" => x.wrapping_mul(y),
        "MulHiU" if width <= 64 => (x * y) >> width,
        "MulHiS" if width <= 64 => ((sx * sy) >> width) as u128,
        "DivU" => x.checked_div(y)?,
        "RemU" => x.checked_rem(y)?,
        "DivS" if y != 0 => sx.wrapping_div(sy) as u128,
        "RemS" if y != 0 => sx.wrapping_rem(sy) as u128,
        "And" => x & y,
        "Or" => x | y,
        "Xor" => x ^ y,
        "Shl" if shift == width => 0,
        "Shl" => x << shift,
        "Shr" if shift == width => 0,
        "Shr" => x >> shift,
        "Sar" => (sx >> shift.min(127)) as u128,
        "Ror" => match (y % u128::from(width)) as u32 {
            0 => x,
            by => x >> by | x << (width - by),
        },
        "Eq" => flag(x == y),
        "Ne" => flag(x != y),
        "LtU" => flag(x < y),
        "LeU" => flag(x <= y),
        "LtS" => flag(sx < sy),
        "LeS" => flag(sx <= sy),
        "MinU" => x.min(y),
        "MaxU" => x.max(y),
        "MinS" => sx.min(sy) as u128,
        "MaxS" => sx.max(sy) as u128,
        // Rounded twice, which changes nothing: 64 bits have more than twice the digits of 32.
        "FloatAdd" => nearest(float(x, width)? + float(y, width)?, width)?,
        "FloatSub" => nearest(float(x, width)? - float(y, width)?, width)?,
        "FloatMul" => nearest(float(x, width)? * float(y, width)?, width)?,
        "FloatDiv" => nearest(float(x, width)? / float(y, width)?, width)?,
        "FloatEq" => flag(float(x, width)? == float(y, width)?),
        "FloatLt" => flag(float(x, width)? < float(y, width)?),
        "FloatLe" => flag(float(x, width)? <= float(y, width)?),
        "AddOverflows" => flag(!fits(sx.checked_add(sy))),
        "SubOverflows" => flag(!fits(sx.checked_sub(sy))),
        "MulOverflows" => flag(!fits(sx.checked_mul(sy))),
        "ShlOverflows" => {
            let moved = (sx == 0 || shift < 127).then(|| sx.checked_mul(1 << shift.min(126)));
            flag(shift == width || sx < 0 || !fits(moved.flatten()))
        }
        _ => return None,
    };
    Some(Value::Int(low(result, width)))
}

/// The number that bits stand for in floating point, as IEEE 754 has it.
fn float(n: u128, bits: u32) -> Option<f64> {
    let digits = (n & 1023) as f64;
    Some(match (bits, n >> 10 & 31) {
        (64, _) => f64::from_bits(n as u64),
        (32, _) => f32::from_bits(n as u32).into(),
        (16, 31) if digits != 0.0 => f64::NAN,
        (16, exponent) => {
            let size = match exponent {
                0 => digits * 2f64.powi(-24),
                31 => f64::INFINITY,
                exponent => (1024.0 + digits) * 2f64.powi(exponent as i32 - 25),
            };
            if n >> 15 & 1 == 1 { -size } else { size }
        }
        _ => return None,
    })
}

/// The bits of the number that is nearest, or of the even one of two; `None` for what is no number.
fn nearest(x: f64, bits: u32) -> Option<u128> {
    let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (x.abs() * 2f64.powi(10 - exponent)).round_ties_even();
    match bits {
        _ if x.is_nan() => None,
        64 => Some(x.to_bits().into()),
        32 => Some((x as f32).to_bits().into()),
        // A number that is rounded up to the next power of two has the next exponent.
        16 => {
            let size = ((exponent + 14) as f64 * 1024.0 + steps).min(31744.0);
            Some(size as u128 | u128::from(x.is_sign_negative()) << 15)
        }
        _ => None,
    }
}

/// Arithmetic in which an operand is an address.
fn address(op: &str, width: u32, a: Value, b: Value) -> Option<Value> {
    use Value::{At, Int};
    let flag = |c: bool| Some(Int(u128::from(c)));
    match op {
        "Eq" => return flag(a == b),
        "Ne" => return flag(a != b),
        // No object lies at the end of memory.
        "AddOverflows" | "SubOverflows" | "MulOverflows" => return flag(false),
        "Xor" if a == b => return Some(Int(0)),
        "And" | "Or" if a == b => return Some(a),
        "Mul" if b == Int(0) => return Some(b),
        "Add" | "Or" | "Xor" if a == Int(0) => return Some(b),
        "Add" | "Sub" | "Or" | "Xor" | "Shl" | "Shr" | "Sar" if b == Int(0) => return Some(a),
        _ => {}
    }
    match (op, a, b) {
        ("Add", At(of, off), Int(n)) | ("Add", Int(n), At(of, off)) => {
            Some(At(of, off.wrapping_add(signed(n, width) as i64)))
        }
        ("Sub", At(of, off), Int(n)) => Some(At(of, off.wrapping_sub(signed(n, width) as i64))),
        ("And", At(of, off), Int(n)) | ("And", Int(n), At(of, off)) => match signed(n, width) {
            keep if (-ALIGNED..0).contains(&keep) => Some(At(of, off & keep as i64)),
            keep if (0..ALIGNED).contains(&keep) => Some(Int((off & keep as i64) as u128)),
            // The high half, as below.
            _ if low(n, width.min(32)) == 0 => Some(Int(0)),
            _ => None,
        },
        // The high half: an address is a number below 2^31.
        ("Shr", At(..), Int(32)) if width == 64 => Some(Int(0)),
        // A tag in the low bits.
        ("Or" | "Xor", At(of, off), Int(n)) | ("Or" | "Xor", Int(n), At(of, off))
            if n < ALIGNED as u128 =>
        {
            Some(At(of, if op == "Or" { off | n as i64 } else { off ^ n as i64 }))
        }
        (_, At(one, x), At(other, y)) if one == other => match op {
            "Sub" => Some(Int(low(i128::from(x.wrapping_sub(y)) as u128, width))),
            "LtU" | "LtS" => flag(x < y),
            "LeU" | "LeS" => flag(x <= y),
            _ => None,
        },
        // An address is above every number that a test compares it with.
        ("LtU" | "LeU", Int(_), At(..)) => flag(true),
        ("LtU" | "LeU", At(..), Int(_)) => flag(false),
        _ => None,
    }
}
