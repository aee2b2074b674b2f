//! Floating point in vector registers: scalars of 32 and 64 bits in their low parts, and a few
//! operations on all parts of a register. The rounding is to the nearest, as code starts with it.

use super::insn::{Arg, Do, Insn, Predicate, Size};
use super::lower::{CF, Lower, OF, PF, SF, ZF};
use crate::microcode::mask;
use crate::thread::Done;
use litmake_ops::{BinOp, Temp, UnOp};

impl Lower<'_> {
    pub fn float(&mut self, insn: &Insn) -> Done {
        let args = insn.args.as_slice();
        match insn.what {
            Do::MovScalar(size) => self.mov_scalar(args, size),
            Do::FloatFromInt(to) => {
                let (dst, above, src) = merging(args)?;
                let value = self.value(src, insn.size)?;
                let op = UnOp::FloatFromInt { from: insn.size.bits(), signed: true };
                let value = self.e.un(op, value, to.bits());
                self.merge(dst, above, to, value);
                Ok(())
            }
            Do::FloatToInt(from) => {
                let [Arg::Reg(dst), src] = args else {
                    return Err("a general register and a number are expected".to_string());
                };
                let value = self.scalar(src, from)?;
                let value = self.integer_of(value, from, dst.size);
                self.write_reg(*dst, value, dst.size);
                Ok(())
            }
            Do::FloatResize(from) => {
                let to = if from == Size::L { Size::Q } else { Size::L };
                let (dst, above, src) = merging(args)?;
                let value = self.scalar(src, from)?;
                let value = self.e.un(UnOp::FloatResize { from: from.bits() }, value, to.bits());
                self.merge(dst, above, to, value);
                Ok(())
            }
            Do::FloatArith { op, size, all } => {
                let (dst, a, b) = two_sources(args)?;
                if !all {
                    let (x, y) = (self.scalar(a, size)?, self.scalar(b, size)?);
                    let value = self.e.bin(op, x, y, size.bits());
                    let Arg::Xmm(above) = a else { return Err(numbers_expected()) };
                    self.merge(dst, *above, size, value);
                    return Ok(());
                }
                let (a, b) = (self.vec_value(a)?, self.vec_value(b)?);
                self.each_part(dst, size, 128 / size.bits(), |l, i| {
                    let (x, y) = (l.part(a, size.bits(), i, 0), l.part(b, size.bits(), i, 0));
                    l.e.bin(op, x, y, size.bits())
                });
                Ok(())
            }
            Do::FloatCompare(size) => {
                let [a @ Arg::Xmm(_), b] = args else { return Err(numbers_expected()) };
                let (a, b) = (self.scalar(a, size)?, self.scalar(b, size)?);
                let unordered = self.unordered(a, b, size);
                let equal = self.e.bin(BinOp::FloatEq, a, b, size.bits());
                let less = self.e.bin(BinOp::FloatLt, a, b, size.bits());
                let zero = self.e.bin(BinOp::Or, equal, unordered, 1);
                let carry = self.e.bin(BinOp::Or, less, unordered, 1);
                let none = self.e.int(0);
                let flags = [(ZF, zero), (CF, carry), (PF, unordered), (SF, none), (OF, none)];
                for (flag, value) in flags {
                    self.write_flag(flag, value);
                }
                Ok(())
            }
            Do::FloatMask(size, predicate) => {
                let (dst, a, b) = two_sources(args)?;
                let Arg::Xmm(above) = a else { return Err(numbers_expected()) };
                let (x, y) = (self.scalar(a, size)?, self.scalar(b, size)?);
                let holds = match predicate {
                    Predicate { op: Some(op), .. } => self.e.bin(op, x, y, size.bits()),
                    Predicate { op: None, .. } => self.unordered(x, y, size),
                };
                let holds = match predicate.negated {
                    true => self.e.un(UnOp::IsZero, holds, 1),
                    false => holds,
                };
                let value = self.e.un(UnOp::Neg, holds, size.bits());
                self.merge(dst, *above, size, value);
                Ok(())
            }
            _ => self.float_parts(insn),
        }
    }

    /// Operations on all parts of a register.
    fn float_parts(&mut self, insn: &Insn) -> Done {
        let args = insn.args.as_slice();
        match insn.what {
            // Both numbers of 32 bits below become numbers of 64, or the other way round.
            Do::FloatResizeAll(from) => {
                let [Arg::Xmm(dst), src] = args else { return Err(numbers_expected()) };
                let (value, to) = match from {
                    Size::L => (self.vec_low(src)?, Size::Q),
                    _ => (self.vec_value(src)?, Size::L),
                };
                self.each_part(*dst, to, 2, |l, i| {
                    let part = l.part(value, from.bits(), i, 0);
                    l.e.un(UnOp::FloatResize { from: from.bits() }, part, to.bits())
                });
                Ok(())
            }
            Do::FloatFromInts(to) => {
                let [Arg::Xmm(dst), src] = args else { return Err(numbers_expected()) };
                let value = match to {
                    Size::Q => self.vec_low(src)?,
                    _ => self.vec_value(src)?,
                };
                self.each_part(*dst, to, 128 / to.bits(), |l, i| {
                    let part = l.part(value, 32, i, 0);
                    l.e.un(UnOp::FloatFromInt { from: 32, signed: true }, part, to.bits())
                });
                Ok(())
            }
            Do::FloatToInts(from) => {
                let [Arg::Xmm(dst), src] = args else { return Err(numbers_expected()) };
                let value = self.vec_value(src)?;
                self.each_part(*dst, Size::L, 128 / from.bits(), |l, i| {
                    let part = l.part(value, from.bits(), i, 0);
                    l.integer_of(part, from, Size::L)
                });
                Ok(())
            }
            Do::AddParts { sub, size } => {
                let (dst, a, b) = two_sources(args)?;
                let (a, b) = (self.vec_value(a)?, self.vec_value(b)?);
                let op = if sub { BinOp::Sub } else { BinOp::Add };
                self.each_part(dst, size, 128 / size.bits(), |l, i| {
                    let (x, y) = (l.part(a, size.bits(), i, 0), l.part(b, size.bits(), i, 0));
                    l.e.bin(op, x, y, size.bits())
                });
                Ok(())
            }
            _ => Err("this instruction is not supported".to_string()),
        }
    }

    /// Between registers the parts above stay; a load clears them.
    fn mov_scalar(&mut self, args: &[Arg], size: Size) -> Done {
        match args {
            [Arg::Xmm(dst), src @ Arg::Xmm(_)] => {
                let value = self.scalar(src, size)?;
                self.merge(*dst, *dst, size, value);
                Ok(())
            }
            [Arg::Xmm(dst), Arg::Xmm(above), src @ Arg::Xmm(_)] => {
                let value = self.scalar(src, size)?;
                self.merge(*dst, *above, size, value);
                Ok(())
            }
            _ => self.mov_low(args, size),
        }
    }

    /// The low part of a register, or what is in memory.
    fn scalar(&mut self, arg: &Arg, size: Size) -> Result<Temp, String> {
        match arg {
            Arg::Xmm(num) => {
                let value = self.read_xmm(*num);
                Ok(self.low(value, size))
            }
            Arg::Mem(_) => self.value(arg, size),
            _ => Err(numbers_expected()),
        }
    }

    /// Writes a low part; what is above it comes from a register.
    fn merge(&mut self, dst: u8, above: u8, size: Size, value: Temp) {
        let old = self.read_xmm(above);
        let kept = self.e.bin_int(BinOp::And, old, !mask(size.bits()), 128);
        let value = self.e.bin(BinOp::Or, kept, value, 128);
        self.write_xmm(dst, value);
    }

    /// Writes so many parts, and clears what is above them.
    fn each_part(&mut self, dst: u8, size: Size, count: u8, f: impl Fn(&mut Self, u32) -> Temp) {
        let mut value = None;
        for i in 0..u32::from(count) {
            let part = f(self, i);
            let shift = u128::from(i) * u128::from(size.bits());
            let part = self.e.bin_int(BinOp::Shl, part, shift, 128);
            value = Some(self.or(value, part));
        }
        if let Some(value) = value {
            self.write_xmm(dst, value);
        }
    }

    /// Converts to an integer; a number out of range and a NaN become the least integer.
    fn integer_of(&mut self, value: Temp, from: Size, to: Size) -> Temp {
        let op = UnOp::FloatToInt { from: from.bits(), signed: true };
        let nearest = self.e.un(op, value, to.bits());
        let least = self.e.int(1 << (to.bits() - 1));
        let limit = match (from, to) {
            (Size::Q, Size::Q) => 0x43e0_0000_0000_0000,
            (Size::Q, _) => 0x41e0_0000_0000_0000,
            (_, Size::Q) => 0x5f00_0000,
            _ => 0x4f00_0000,
        };
        let limit = self.e.int(limit);
        let below = self.e.bin(BinOp::FloatLt, value, limit, from.bits());
        self.e.select(below, nearest, least)
    }

    fn unordered(&mut self, a: Temp, b: Temp, size: Size) -> Temp {
        let numbers = [a, b].map(|x| self.e.bin(BinOp::FloatEq, x, x, size.bits()));
        let both = self.e.bin(BinOp::And, numbers[0], numbers[1], 1);
        self.e.un(UnOp::IsZero, both, 1)
    }
}

/// Destination, where the parts above come from, and the source.
fn merging(args: &[Arg]) -> Result<(u8, u8, &Arg), String> {
    match args {
        [Arg::Xmm(dst), src] => Ok((*dst, *dst, src)),
        [Arg::Xmm(dst), Arg::Xmm(above), src] => Ok((*dst, *above, src)),
        _ => Err(numbers_expected()),
    }
}

/// Destination and two sources; the older form's first source is the destination.
fn two_sources(args: &[Arg]) -> Result<(u8, &Arg, &Arg), String> {
    match args {
        [Arg::Xmm(dst), b] => Ok((*dst, &args[0], b)),
        [Arg::Xmm(dst), a @ Arg::Xmm(_), b] => Ok((*dst, a, b)),
        _ => Err(numbers_expected()),
    }
}

fn numbers_expected() -> String {
    "a vector register and another operand of its kind are expected".to_string()
}
