//! Integer instructions on general registers: arithmetic, logic, moves, shifts, bit fields,
//! selects, and the addresses of locations. No memory, no control flow.

pub use litmake_ops::mask;

use super::emit::{Emit, Lowered, Refusal, wrap, wrong_width};
use super::operand::{Operand, Shift};
use super::regs::{Flag, View};
use litmake_ops::{BinOp, Port, Temp, UnOp, Val};
use table::{Alter, Field};
pub use table::{Int, TABLE, Unary};

mod table;

#[expect(clippy::too_many_lines, reason = "an arm an instruction")]
pub fn lower(int: Int, e: &mut Emit) -> Lowered {
    match int {
        Int::Arith { sub, flags } => {
            let d = e.gpr(0)?;
            let n = e.gpr_like(1, &d)?;
            let a = e.read_raw(&n, Port::None);
            let b = second(e, 2, &d)?;
            let sum = arith(e, a, b, sub, flags, d.bits);
            e.write(&d, sum);
        }
        Int::Compare { sub } => {
            let n = e.gpr(0)?;
            let a = e.read_raw(&n, Port::None);
            let b = second(e, 1, &n)?;
            arith(e, a, b, sub, true, n.bits);
        }
        Int::CompareIf { sub } => {
            let n = e.gpr(0)?;
            let a = e.read_raw(&n, Port::None);
            let b = match e.operands.get(1) {
                Some(Operand::Imm(k)) => e.number(*k),
                _ => {
                    let m = e.gpr_like(1, &n)?;
                    e.read_raw(&m, Port::None)
                }
            };
            let otherwise = e.imm_in(2, 0..16)?;
            let cond = e.cond(3)?;
            e.only(4)?;
            let holds = e.condition(cond);
            let result = flags_of(e, a, b, sub, n.bits);
            // NZCV from the immediate, from bit 3 down.
            for (i, (flag, yes)) in Flag::ALL.into_iter().zip(result.1).enumerate() {
                let no = e.number(i128::from(otherwise >> (3 - i) & 1));
                let value = e.select(holds, yes, no);
                e.set_flag(flag, value);
            }
        }
        Int::Neg { flags } => {
            let d = e.gpr(0)?;
            let zero = e.int(0);
            let b = second(e, 1, &d)?;
            let result = arith(e, zero, b, true, flags, d.bits);
            e.write(&d, result);
        }
        Int::Carry { sub, flags } => {
            let d = e.gpr(0)?;
            let (n, m) = (e.gpr_like(1, &d)?, e.gpr_like(2, &d)?);
            e.only(3)?;
            let a = e.read(&n, Port::None);
            let b = e.read(&m, Port::None);
            carry(e, &d, a, b, sub, flags);
        }
        Int::NegCarry { flags } => {
            let d = e.gpr(0)?;
            let m = e.gpr_like(1, &d)?;
            e.only(2)?;
            let zero = e.int(0);
            let b = e.read(&m, Port::None);
            carry(e, &d, zero, b, true, flags);
        }
        Int::Logic { op, invert, flags } => {
            let d = e.gpr(0)?;
            let n = e.gpr_like(1, &d)?;
            let a = e.read_raw(&n, Port::None);
            let result = logic(e, a, 2, op, invert, &d)?;
            if flags {
                logic_flags(e, result, d.bits);
            }
            e.write(&d, result);
        }
        Int::Test => {
            let n = e.gpr(0)?;
            let a = e.read_raw(&n, Port::None);
            let result = logic(e, a, 1, BinOp::And, false, &n)?;
            logic_flags(e, result, n.bits);
        }
        Int::Mvn => {
            let d = e.gpr(0)?;
            let b = second(e, 1, &d)?;
            let result = e.un(UnOp::Not, b, d.bits);
            e.write(&d, result);
        }
        Int::Mov => mov(e)?,
        Int::MovWide { invert } => {
            let d = e.gpr(0)?;
            let value = wide_imm(e, &d)?.0;
            let value = if invert { !value } else { value };
            let result = e.val(Val::Int(value & mask(d.bits)));
            e.write(&d, result);
        }
        Int::MovKeep => {
            let d = e.gpr(0)?;
            let (value, shift) = wide_imm(e, &d)?;
            let old = e.read_raw(&d, Port::None);
            let rest = e.bin_int(BinOp::And, old, mask(d.bits) & !(0xffff << shift), d.bits);
            let result = e.bin_int(BinOp::Or, rest, value, d.bits);
            e.write(&d, result);
        }
        Int::Shift(op) => {
            let d = e.gpr(0)?;
            let n = e.gpr_like(1, &d)?;
            let a = e.read_raw(&n, Port::None);
            let by = match e.operands.get(2) {
                Some(Operand::Imm(_)) => {
                    let k = e.imm_in(2, 0..d.bits.into())?;
                    e.number(k.into())
                }
                _ => {
                    let m = e.gpr(2)?;
                    let m = e.read_raw(&m, Port::None);
                    e.bin_int(BinOp::And, m, u128::from(d.bits - 1), d.bits)
                }
            };
            e.only(3)?;
            let result = e.bin(op, a, by, d.bits);
            e.write(&d, result);
        }
        Int::FieldRaw(kind) => {
            let d = e.gpr(0)?;
            let n = e.gpr_like(1, &d)?;
            let rotate = e.imm_in(2, 0..d.bits.into())?;
            let last = e.imm_in(3, 0..d.bits.into())?;
            e.only(4)?;
            if last >= rotate {
                field_out(e, kind, &d, &n, rotate, last - rotate + 1);
            } else {
                field_in(e, kind, &d, &n, d.bits - rotate, last + 1);
            }
        }
        Int::FieldOut(kind) => {
            let (d, n, at, width) = field_operands(e)?;
            field_out(e, kind, &d, &n, at, width);
        }
        Int::FieldIn(kind) => {
            let (d, n, at, width) = field_operands(e)?;
            field_in(e, kind, &d, &n, at, width);
        }
        Int::FieldClear => {
            let d = e.gpr(0)?;
            let at = e.imm_in(1, 0..d.bits.into())?;
            let width = e.imm_in(2, 1..i128::from(d.bits - at) + 1)?;
            e.only(3)?;
            let zero = View { name: super::regs::Name::Zero, bits: d.bits };
            field_in(e, Field::Keep, &d, &zero, at, width);
        }
        Int::Extend { signed, from } => {
            let (d, n) = (e.gpr(0)?, e.gpr(1)?);
            e.only(2)?;
            let a = e.read_raw(&n, Port::None);
            let result = narrow(e, a, signed, from, d.bits);
            e.write(&d, result);
        }
        Int::Extract => {
            let d = e.gpr(0)?;
            let (n, m) = (e.gpr_like(1, &d)?, e.gpr_like(2, &d)?);
            let at = e.imm_in(3, 0..d.bits.into())?;
            e.only(4)?;
            let high = e.read_raw(&n, Port::None);
            let low = e.read_raw(&m, Port::None);
            let low = e.bin_int(BinOp::Shr, low, at.into(), d.bits);
            let high = e.bin_int(BinOp::Shl, high, u128::from(d.bits - at), d.bits);
            let result = e.bin(BinOp::Or, high, low, d.bits);
            e.write(&d, result);
        }
        Int::Mul | Int::MulNeg | Int::MulAdd { .. } => {
            let d = e.gpr(0)?;
            let (n, m) = (e.gpr_like(1, &d)?, e.gpr_like(2, &d)?);
            let a = e.read_raw(&n, Port::None);
            let b = e.read_raw(&m, Port::None);
            let product = e.bin(BinOp::Mul, a, b, d.bits);
            let result = match int {
                Int::MulAdd { sub } => {
                    let acc = e.gpr_like(3, &d)?;
                    e.only(4)?;
                    let acc = e.read_raw(&acc, Port::None);
                    accumulate(e, acc, product, sub, d.bits)
                }
                _ => {
                    e.only(3)?;
                    match int {
                        Int::MulNeg => e.un(UnOp::Neg, product, d.bits),
                        _ => product,
                    }
                }
            };
            e.write(&d, result);
        }
        Int::MulLong { signed } | Int::MulLongNeg { signed } | Int::MulLongAdd { signed, .. } => {
            let d = e.gpr(0)?;
            let (n, m) = (e.gpr(1)?, e.gpr(2)?);
            let mut factor = |view: &View| {
                let raw = e.read_raw(view, Port::None);
                if signed { e.sign_extend(raw, 32, 64) } else { e.zero_extend(raw, 32, 64) }
            };
            let (a, b) = (factor(&n), factor(&m));
            let product = e.bin(BinOp::Mul, a, b, 64);
            let result = match int {
                Int::MulLongAdd { sub, .. } => {
                    let acc = e.gpr_like(3, &d)?;
                    e.only(4)?;
                    let acc = e.read_raw(&acc, Port::None);
                    accumulate(e, acc, product, sub, 64)
                }
                _ => {
                    e.only(3)?;
                    match int {
                        Int::MulLongNeg { .. } => e.un(UnOp::Neg, product, 64),
                        _ => product,
                    }
                }
            };
            e.write(&d, result);
        }
        Int::MulHigh { signed } => {
            let op = if signed { BinOp::MulHiS } else { BinOp::MulHiU };
            binary(e, |e, a, b, w| e.bin(op, a, b, w))?;
        }
        Int::Div { signed } => {
            let op = if signed { BinOp::DivS } else { BinOp::DivU };
            binary(e, |e, a, b, w| {
                // Division by zero gives zero: the divisor becomes 1, the quotient is masked.
                let zero = e.un(UnOp::IsZero, b, w);
                let divisor = e.bin(BinOp::Or, b, zero, w);
                let quotient = e.bin(op, a, divisor, w);
                let keep = e.bin_int(BinOp::Sub, zero, 1, w);
                e.bin(BinOp::And, quotient, keep, w)
            })?;
        }
        Int::MinMax(op) => {
            let d = e.gpr(0)?;
            let n = e.gpr_like(1, &d)?;
            let a = e.read_raw(&n, Port::None);
            let b = second(e, 2, &d)?;
            let result = e.bin(op, a, b, d.bits);
            e.write(&d, result);
        }
        Int::Unary(op) => {
            let d = e.gpr(0)?;
            let n = e.gpr_like(1, &d)?;
            e.only(2)?;
            let a = e.read_raw(&n, Port::None);
            let result = unary(e, op, a, d.bits);
            e.write(&d, result);
        }
        Int::Select(alter) => {
            let d = e.gpr(0)?;
            let (n, m) = (e.gpr_like(1, &d)?, e.gpr_like(2, &d)?);
            let cond = e.cond(3)?;
            e.only(4)?;
            let holds = e.condition(cond);
            let yes = e.read(&n, Port::None);
            let no = e.read(&m, Port::None);
            let no = altered(e, alter, no, d.bits);
            let result = e.select(holds, yes, no);
            e.write(&d, result);
        }
        Int::Set { mask: ones } => {
            let d = e.gpr(0)?;
            let cond = e.cond(1)?;
            e.only(2)?;
            let holds = e.condition(cond);
            let yes = e.val(Val::Int(if ones { mask(d.bits) } else { 1 }));
            let no = e.int(0);
            let result = e.select(holds, yes, no);
            e.write(&d, result);
        }
        Int::SelectSame(alter) => {
            let d = e.gpr(0)?;
            let n = e.gpr_like(1, &d)?;
            let cond = e.cond(2)?;
            e.only(3)?;
            let holds = e.condition(cond);
            let same = e.read(&n, Port::None);
            let changed = altered(e, alter, same, d.bits);
            let result = e.select(holds, changed, same);
            e.write(&d, result);
        }
        Int::Adr | Int::Adrp => adr(e, int == Int::Adrp)?,
    }
    Ok(())
}

/// The low `from` bits of `a`, extended to the width of the destination and within it.
fn narrow(e: &mut Emit, a: Temp, signed: bool, from: u8, width: u8) -> Temp {
    if signed && from < width {
        e.sign_extend(a, from, width)
    } else {
        e.zero_extend(a, from.min(width), 64)
    }
}

fn binary(e: &mut Emit, f: impl FnOnce(&mut Emit, Temp, Temp, u8) -> Temp) -> Lowered {
    let d = e.gpr(0)?;
    let (n, m) = (e.gpr_like(1, &d)?, e.gpr_like(2, &d)?);
    e.only(3)?;
    let a = e.read_raw(&n, Port::None);
    let b = e.read_raw(&m, Port::None);
    let result = f(e, a, b, d.bits);
    e.write(&d, result);
    Ok(())
}

/// The last source of arithmetic and logic, with what may follow it: an immediate and its
/// shift, a register shifted or extended, or the low bits of an address. What is above the
/// width is not masked away.
fn second(e: &mut Emit, i: usize, like: &View) -> Lowered<Temp> {
    let operands = e.operands;
    let follow = match operands.get(i + 1) {
        None => None,
        Some(Operand::Shift(s, n)) => Some((*s, *n)),
        Some(_) => return Err(e.missing(i + 1, "a shift, such as `LSL #3`")),
    };
    e.only(i + 2)?;
    match operands.get(i) {
        Some(Operand::Imm(n)) => match follow {
            None => Ok(e.number(*n)),
            Some((Shift::Lsl, Some(k))) if k < like.bits => Ok(e.number((wrap(*n) << k) as i128)),
            Some(_) => Err(e.missing(i + 1, "`LSL` with an amount after an immediate")),
        },
        Some(Operand::Symbol(s)) if follow.is_none() && s.modifier.is_some() => {
            let zero = e.int(0);
            e.low_bits(i, zero, s)
        }
        Some(Operand::Reg(v)) if !v.is_vec() => {
            let Some((shift, amount)) = follow else {
                e.gpr_like(i, like)?;
                return Ok(e.read_raw(v, Port::None));
            };
            let raw = e.read_raw(v, Port::None);
            shifted(e, i + 1, raw, shift, amount, v.bits, like.bits)
        }
        _ => Err(e.missing(i, "a register or an immediate")),
    }
}

fn shifted(
    e: &mut Emit,
    i: usize,
    raw: Temp,
    shift: Shift,
    amount: Option<u8>,
    from: u8,
    width: u8,
) -> Lowered<Temp> {
    let amount = amount.unwrap_or(0);
    if amount >= width {
        return Err(Refusal::new(format!("a shift of at most {}", width - 1)).on(i));
    }
    let op = match shift {
        Shift::Lsl => BinOp::Shl,
        Shift::Lsr => BinOp::Shr,
        Shift::Asr => BinOp::Sar,
        Shift::Ror => BinOp::Ror,
        Shift::Msl => return Err(Refusal::new("MSL goes with vectors only").on(i)),
        _ => {
            let (signed, bits) = shift.extension().unwrap_or((false, width));
            let bits = bits.min(from);
            let wide = if signed {
                e.sign_extend(raw, bits, width)
            } else {
                e.zero_extend(raw, bits, width)
            };
            return Ok(match amount {
                0 => wide,
                n => e.bin_int(BinOp::Shl, wide, n.into(), width),
            });
        }
    };
    if from != width {
        return Err(wrong_width(i - 1, from, width));
    }
    Ok(match amount {
        0 => raw,
        n => e.bin_int(op, raw, n.into(), width),
    })
}

/// The flags of `a + b` or `a - b`, in the order N, Z, C, V.
fn flags_of(e: &mut Emit, a: Temp, b: Temp, sub: bool, w: u8) -> (Temp, [Temp; 4]) {
    let result = e.bin(if sub { BinOp::Sub } else { BinOp::Add }, a, b, w);
    let n = sign(e, result, w);
    // For a comparison Z is equality itself, which is defined for addresses too.
    let z = if sub { e.bin(BinOp::Eq, a, b, w) } else { e.un(UnOp::IsZero, result, w) };
    let (c, differs) = if sub {
        (e.bin(BinOp::LeU, b, a, w), e.bin(BinOp::Xor, a, b, w))
    } else {
        (e.bin(BinOp::LtU, result, a, w), e.bin(BinOp::Xor, result, b, w))
    };
    let changed = e.bin(BinOp::Xor, a, result, w);
    let both = e.bin(BinOp::And, differs, changed, w);
    let v = sign(e, both, w);
    (result, [n, z, c, v])
}

fn sign(e: &mut Emit, a: Temp, w: u8) -> Temp {
    e.bin_int(BinOp::Shr, a, u128::from(w - 1), w)
}

fn set_flags(e: &mut Emit, values: [Temp; 4]) {
    for (flag, value) in Flag::ALL.into_iter().zip(values) {
        e.set_flag(flag, value);
    }
}

fn arith(e: &mut Emit, a: Temp, b: Temp, sub: bool, flags: bool, w: u8) -> Temp {
    if !flags {
        return e.bin(if sub { BinOp::Sub } else { BinOp::Add }, a, b, w);
    }
    let (result, values) = flags_of(e, a, b, sub, w);
    set_flags(e, values);
    result
}

/// `a + b + C`, or `a + ~b + C`. The operands fit the width, so that one bit more holds the sum.
fn carry(e: &mut Emit, d: &View, a: Temp, b: Temp, sub: bool, flags: bool) {
    let w = d.bits;
    let b = if sub { e.un(UnOp::Not, b, w) } else { b };
    let c = e.flag(Flag::C);
    let sum = e.bin(BinOp::Add, a, b, w + 1);
    let sum = e.bin(BinOp::Add, sum, c, w + 1);
    let result = e.zero_extend(sum, w, w + 1);
    if flags {
        let n = sign(e, result, w);
        let z = e.un(UnOp::IsZero, result, w);
        let c = e.bin_int(BinOp::Shr, sum, w.into(), w + 1);
        let from_a = e.bin(BinOp::Xor, a, result, w);
        let from_b = e.bin(BinOp::Xor, b, result, w);
        let both = e.bin(BinOp::And, from_a, from_b, w);
        let v = sign(e, both, w);
        set_flags(e, [n, z, c, v]);
    }
    e.write(d, result);
}

fn logic(e: &mut Emit, a: Temp, i: usize, op: BinOp, invert: bool, like: &View) -> Lowered<Temp> {
    let b = second(e, i, like)?;
    let b = if invert { e.un(UnOp::Not, b, like.bits) } else { b };
    Ok(e.bin(op, a, b, like.bits))
}

fn logic_flags(e: &mut Emit, result: Temp, w: u8) {
    let n = sign(e, result, w);
    let z = e.un(UnOp::IsZero, result, w);
    let zero = e.int(0);
    set_flags(e, [n, z, zero, zero]);
}

fn accumulate(e: &mut Emit, acc: Temp, product: Temp, sub: bool, w: u8) -> Temp {
    e.bin(if sub { BinOp::Sub } else { BinOp::Add }, acc, product, w)
}

fn mov(e: &mut Emit) -> Lowered {
    let d = e.gpr(0)?;
    e.only(2)?;
    let value = match e.operands.get(1) {
        Some(Operand::Imm(n)) => e.val(Val::Int(wrap(*n) & mask(d.bits))),
        Some(Operand::Reg(_)) => {
            let n = e.gpr_like(1, &d)?;
            e.read(&n, Port::None)
        }
        _ => return Err(e.missing(1, "a register or an immediate")),
    };
    e.write(&d, value);
    Ok(())
}

/// The immediate of MOVZ and its kin, in place, and its shift.
fn wide_imm(e: &Emit, d: &View) -> Lowered<(u128, u8)> {
    let shift = match e.operands.get(2) {
        None => 0,
        Some(Operand::Shift(Shift::Lsl, Some(k))) if k % 16 == 0 && *k < d.bits => *k,
        Some(_) => return Err(e.missing(2, "`LSL` by a multiple of 16 within the register")),
    };
    e.only(3)?;
    match e.imm(1)? {
        n @ 0..=0xffff => Ok(((n as u128) << shift, shift)),
        _ => Err(Refusal::new("expected an immediate of 0 to 65535").on(1)),
    }
}

fn field_operands(e: &Emit) -> Lowered<(View, View, u8, u8)> {
    let d = e.gpr(0)?;
    let n = e.gpr_like(1, &d)?;
    let at = e.imm_in(2, 0..d.bits.into())?;
    let width = e.imm_in(3, 1..i128::from(d.bits - at) + 1)?;
    e.only(4)?;
    Ok((d, n, at, width))
}

/// Bits `at..at + width` of `n` become the low bits of `d`.
fn field_out(e: &mut Emit, kind: Field, d: &View, n: &View, at: u8, width: u8) {
    let raw = e.read_raw(n, Port::None);
    let low = match at {
        0 => raw,
        k => e.bin_int(BinOp::Shr, raw, k.into(), d.bits),
    };
    let result = match kind {
        Field::Sign | Field::Zero => narrow(e, low, kind == Field::Sign, width, d.bits),
        Field::Keep => {
            let field = e.bin_int(BinOp::And, low, mask(width), d.bits);
            keep_around(e, d, field, mask(width))
        }
    };
    e.write(d, result);
}

/// The low `width` bits of `n` become the bits of `d` from `at`.
fn field_in(e: &mut Emit, kind: Field, d: &View, n: &View, at: u8, width: u8) {
    let raw = e.read_raw(n, Port::None);
    let field = match kind {
        Field::Sign => narrow(e, raw, true, width, d.bits),
        _ => narrow(e, raw, false, width, d.bits),
    };
    let placed = e.bin_int(BinOp::Shl, field, at.into(), d.bits);
    let result = match kind {
        Field::Keep => keep_around(e, d, placed, mask(width) << at),
        _ => placed,
    };
    e.write(d, result);
}

fn keep_around(e: &mut Emit, d: &View, field: Temp, covered: u128) -> Temp {
    let old = e.read_raw(d, Port::None);
    let rest = e.bin_int(BinOp::And, old, mask(d.bits) & !covered, d.bits);
    e.bin(BinOp::Or, rest, field, d.bits)
}

fn unary(e: &mut Emit, op: Unary, a: Temp, w: u8) -> Temp {
    match op {
        Unary::Clz => e.un(UnOp::Clz, a, w),
        Unary::Cls => {
            let sign = e.bin_int(BinOp::Sar, a, u128::from(w - 1), w);
            let differs = e.bin(BinOp::Xor, a, sign, w);
            let leading = e.un(UnOp::Clz, differs, w);
            e.bin_int(BinOp::Sub, leading, 1, w)
        }
        Unary::Ctz => {
            let reversed = e.un(UnOp::BitReverse, a, w);
            e.un(UnOp::Clz, reversed, w)
        }
        Unary::Cnt => e.un(UnOp::PopCount, a, w),
        Unary::Rbit => e.un(UnOp::BitReverse, a, w),
        Unary::Rev => e.un(UnOp::ByteSwap, a, w),
        Unary::Rev16 => {
            let even = 0x00ff_00ff_00ff_00ff & mask(w);
            let up = e.bin_int(BinOp::And, a, even, w);
            let up = e.bin_int(BinOp::Shl, up, 8, w);
            let down = e.bin_int(BinOp::Shr, a, 8, w);
            let down = e.bin_int(BinOp::And, down, even, w);
            e.bin(BinOp::Or, up, down, w)
        }
        Unary::Rev32 => {
            let swapped = e.un(UnOp::ByteSwap, a, w);
            if w == 64 { e.bin_int(BinOp::Ror, swapped, 32, w) } else { swapped }
        }
        Unary::Abs => {
            let sign = e.bin_int(BinOp::Sar, a, u128::from(w - 1), w);
            let flipped = e.bin(BinOp::Xor, a, sign, w);
            e.bin(BinOp::Sub, flipped, sign, w)
        }
    }
}

fn altered(e: &mut Emit, alter: Alter, a: Temp, w: u8) -> Temp {
    match alter {
        Alter::Keep => a,
        Alter::Inc => e.bin_int(BinOp::Add, a, 1, w),
        Alter::Inv => e.un(UnOp::Not, a, w),
        Alter::Neg => e.un(UnOp::Neg, a, w),
    }
}

/// The address of a location. ADRP gives the whole address without the offset, which the low
/// bits (`:lo12:x+8`) add.
fn adr(e: &mut Emit, page: bool) -> Lowered {
    let d = e.gpr(0)?;
    if d.bits != 64 {
        return Err(Refusal::new("expected an X register here").on(0));
    }
    e.only(2)?;
    let operands = e.operands;
    let address = match operands.get(1) {
        Some(Operand::Word(name)) => e.address_of(name, 0),
        Some(Operand::Symbol(s)) if s.name == "." => {
            let label = e.label(1)?;
            e.val(Val::Code(label))
        }
        Some(Operand::Symbol(s)) => match (s.modifier.as_deref(), page) {
            (None, _) | (Some("got" | "pg_hi21" | "pg_hi21_nc"), true) => {
                e.address_of(&s.name, if page { 0 } else { s.offset })
            }
            (Some(m), _) => {
                return Err(
                    Refusal::new(format!("the relocation `:{m}:` is not supported here")).on(1)
                );
            }
        },
        _ => return Err(e.missing(1, "the name of a location or a label")),
    };
    e.write(&d, address);
    Ok(())
}
