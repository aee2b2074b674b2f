//! Vector registers as compilers use them around 8- and 16-byte atomics, and the x87 stack as a
//! way to move 8 bytes at once in 32-bit code.

use super::insn::{Arg, Do, Imm, Insn, Mem, Size, Vec2};
use super::lower::{CF, Located, Lower, OF, PF, SF, ZF};
use crate::microcode::mask;
use crate::thread::Done;
use litmake_ops::{BinOp, Port, Reg, Tags, Temp, UnOp, tag};

/// How many values the x87 stack keeps.
const X87_DEPTH: usize = 4;

impl Lower<'_> {
    #[expect(clippy::too_many_lines, reason = "an arm an instruction")]
    pub fn vector(&mut self, insn: &Insn) -> Done {
        let args = insn.args.as_slice();
        match insn.what {
            Do::StoreNonTemporal => self.store_non_temporal(insn),
            Do::MovLow(size) => self.mov_low(args, size),
            Do::MovVec { atomic } => self.mov_vec(args, atomic),
            Do::MovHalf { high } => self.mov_half(args, high),
            Do::Vec2(op) => {
                let (dst, a, b) = match args {
                    [Arg::Xmm(dst), b] => (*dst, &args[0], b),
                    [Arg::Xmm(dst), a @ Arg::Xmm(_), b] => (*dst, a, b),
                    _ => return Err(vectors_expected()),
                };
                let value = if op == Vec2::Xor && a == b {
                    self.e.int(0)
                } else {
                    let a = self.vec_value(a)?;
                    let b = self.vec_value(b)?;
                    self.vec2(op, a, b)
                };
                self.write_xmm(dst, value);
                Ok(())
            }
            Do::Insert(size) => {
                let (dst, a, b, lane) = match args {
                    [Arg::Xmm(dst), b, Arg::Imm(Imm::Int(lane))] => (*dst, *dst, b, *lane),
                    [Arg::Xmm(dst), Arg::Xmm(a), b, Arg::Imm(Imm::Int(lane))] => {
                        (*dst, *a, b, *lane)
                    }
                    _ => return Err(vectors_expected()),
                };
                let shift = lane_shift(lane, size);
                let a = self.read_xmm(a);
                let mut b = self.value(b, size)?;
                // Narrow parts come from the low bits of a whole register.
                if size < Size::L {
                    b = self.e.un(UnOp::ZeroExt { from: size.bits() }, b, 128);
                }
                let hole = !(mask(size.bits()) << shift);
                let kept = self.e.bin_int(BinOp::And, a, hole, 128);
                let part = self.e.bin_int(BinOp::Shl, b, shift.into(), 128);
                let value = self.e.bin(BinOp::Or, kept, part, 128);
                self.write_xmm(dst, value);
                Ok(())
            }
            Do::Extract(size) => {
                let [dst, Arg::Xmm(src), Arg::Imm(Imm::Int(lane))] = args else {
                    return Err(vectors_expected());
                };
                let place = self.place(dst)?;
                let value = self.read_xmm(*src);
                let shift = lane_shift(*lane, size);
                let value = self.e.bin_int(BinOp::Shr, value, shift.into(), 128);
                let from = size.bits();
                let value = self.e.un(UnOp::ZeroExt { from }, value, 128);
                // A register is written whole, with zeros above the part.
                let size = if let Located::Reg(_) = place { size.max(Size::L) } else { size };
                self.put(place, size, value, Tags::NONE)
            }
            Do::Duplicate => {
                let [Arg::Xmm(dst), src] = args else {
                    return Err(vectors_expected());
                };
                let low = self.vec_low(src)?;
                let value = self.pair(low, low, Size::Q);
                self.write_xmm(*dst, value);
                Ok(())
            }
            Do::Shuffle32 => {
                let [Arg::Xmm(dst), src, Arg::Imm(Imm::Int(order))] = args else {
                    return Err(vectors_expected());
                };
                let a = self.vec_value(src)?;
                let mut value = None;
                for lane in 0..4u32 {
                    let from = ((*order >> (2 * lane)) & 3) as u32;
                    let part = self.lane32(a, from, lane);
                    value = Some(self.or(value, part));
                }
                if let Some(value) = value {
                    self.write_xmm(*dst, value);
                }
                Ok(())
            }
            Do::ShiftParts { left, bits } => {
                let (dst, src, count) = match args {
                    [Arg::Xmm(dst), Arg::Imm(Imm::Int(n))] => (*dst, *dst, *n),
                    [Arg::Xmm(dst), Arg::Xmm(src), Arg::Imm(Imm::Int(n))] => (*dst, *src, *n),
                    _ => return Err(vectors_expected()),
                };
                let count = u128::from(count as u8);
                let op = if left { BinOp::Shl } else { BinOp::Shr };
                let source = self.read_xmm(src);
                let mut value = None;
                for i in 0..128 / u32::from(bits) {
                    let part = self.part(source, bits, i, 0);
                    let part = self.e.bin_int(op, part, count, bits);
                    let part = self.part(part, bits, 0, i);
                    value = Some(self.or(value, part));
                }
                if let Some(value) = value {
                    self.write_xmm(dst, value);
                }
                Ok(())
            }
            Do::ShiftBytes { left } => {
                let (dst, src, count) = match args {
                    [Arg::Xmm(dst), Arg::Imm(Imm::Int(n))] => (*dst, *dst, *n),
                    [Arg::Xmm(dst), Arg::Xmm(src), Arg::Imm(Imm::Int(n))] => (*dst, *src, *n),
                    _ => return Err(vectors_expected()),
                };
                let count = u128::from((count as u8).min(16)) * 8;
                let op = if left { BinOp::Shl } else { BinOp::Shr };
                let value = self.read_xmm(src);
                let value = self.e.bin_int(op, value, count, 128);
                self.write_xmm(dst, value);
                Ok(())
            }
            Do::Shuffle2(size) => {
                let (dst, a, b, order) = three_and_constant(args)?;
                let (a, b) = (self.vec_value(a)?, self.vec_value(b)?);
                let parts = 128 / u32::from(size.bits());
                let choice = parts.trailing_zeros();
                let mut value = None;
                for to in 0..parts {
                    let from = (order as u32 >> (choice * to)) & (parts - 1);
                    let source = if to < parts / 2 { a } else { b };
                    let part = self.part(source, size.bits(), from, to);
                    value = Some(self.or(value, part));
                }
                if let Some(value) = value {
                    self.write_xmm(dst, value);
                }
                Ok(())
            }
            Do::AlignRight => {
                let (dst, high, low, count) = three_and_constant(args)?;
                let (high, low) = (self.vec_value(high)?, self.vec_value(low)?);
                let bits = 8 * u32::from(count as u8);
                let low = self.e.bin_int(BinOp::Shr, low, bits.into(), 128);
                let high = match bits.checked_sub(128) {
                    None => self.e.bin_int(BinOp::Shl, high, (128 - bits).into(), 128),
                    Some(past) => self.e.bin_int(BinOp::Shr, high, past.into(), 128),
                };
                let value = self.e.bin(BinOp::Or, low, high, 128);
                self.write_xmm(dst, value);
                Ok(())
            }
            Do::EqualParts(bits) => {
                let (dst, a, b) = match args {
                    [Arg::Xmm(dst), b] => (*dst, &args[0], b),
                    [Arg::Xmm(dst), a @ Arg::Xmm(_), b] => (*dst, a, b),
                    _ => return Err(vectors_expected()),
                };
                let (a, b) = (self.vec_value(a)?, self.vec_value(b)?);
                let mut value = None;
                for i in 0..128 / u32::from(bits) {
                    let (a, b) = (self.part(a, bits, i, 0), self.part(b, bits, i, 0));
                    let equal = self.e.bin(BinOp::Eq, a, b, bits);
                    let ones = self.e.un(UnOp::Neg, equal, bits);
                    let shift = i * u32::from(bits);
                    let part = self.e.bin_int(BinOp::Shl, ones, shift.into(), 128);
                    value = Some(self.or(value, part));
                }
                if let Some(value) = value {
                    self.write_xmm(dst, value);
                }
                Ok(())
            }
            Do::MoveMask => {
                let [Arg::Reg(dst), Arg::Xmm(src)] = args else {
                    return Err(vectors_expected());
                };
                let value = self.read_xmm(*src);
                let mut mask = None;
                for i in 0..16u32 {
                    let top = self.e.bin_int(BinOp::Shr, value, (8 * i + 7).into(), 128);
                    let top = self.e.bin_int(BinOp::And, top, 1, 32);
                    let bit = self.e.bin_int(BinOp::Shl, top, i.into(), 32);
                    mask = Some(self.or(mask, bit));
                }
                if let Some(mask) = mask {
                    self.write_reg(*dst, mask, dst.size);
                }
                Ok(())
            }
            Do::TestVec => {
                let [a @ Arg::Xmm(_), b] = args else {
                    return Err(vectors_expected());
                };
                let (a, b) = (self.vec_value(a)?, self.vec_value(b)?);
                let both = self.e.bin(BinOp::And, a, b, 128);
                let zero = self.e.un(UnOp::IsZero, both, 128);
                let not = self.e.un(UnOp::Not, a, 128);
                let rest = self.e.bin(BinOp::And, not, b, 128);
                let carry = self.e.un(UnOp::IsZero, rest, 128);
                let none = self.e.int(0);
                for (flag, value) in [(ZF, zero), (CF, carry), (SF, none), (OF, none), (PF, none)] {
                    self.write_flag(flag, value);
                }
                Ok(())
            }
            Do::X87Load | Do::X87StorePop => self.x87(insn),
            _ => Err("this instruction is not supported".to_string()),
        }
    }

    fn xmm(&mut self, num: u8) -> Reg {
        self.code.reg(&format!("xmm{num}"), 128, false)
    }

    pub fn read_xmm(&mut self, num: u8) -> Temp {
        let reg = self.xmm(num);
        self.e.read(reg, Port::None)
    }

    pub fn write_xmm(&mut self, num: u8, value: Temp) {
        let reg = self.xmm(num);
        self.e.write(reg, value);
    }

    /// A vector operand, whole. One in memory is read as two halves.
    pub fn vec_value(&mut self, arg: &Arg) -> Result<Temp, String> {
        match arg {
            Arg::Xmm(num) => Ok(self.read_xmm(*num)),
            Arg::Mem(mem) => self.load_vec(mem, false),
            _ => Err(vectors_expected()),
        }
    }

    pub fn vec_low(&mut self, arg: &Arg) -> Result<Temp, String> {
        match arg {
            Arg::Xmm(num) => {
                let value = self.read_xmm(*num);
                Ok(self.low(value, Size::Q))
            }
            _ => self.value(arg, Size::Q),
        }
    }

    fn load_vec(&mut self, mem: &Mem, atomic: bool) -> Result<Temp, String> {
        let addr = self.address(mem, Port::Addr)?;
        if atomic {
            return Ok(self.e.load(addr, 16, Tags::NONE));
        }
        let upper = self.upper_address(addr);
        let low = self.e.load(addr, 8, Tags::NONE);
        let high = self.e.load(upper, 8, Tags::NONE);
        Ok(self.pair(high, low, Size::Q))
    }

    fn upper_address(&mut self, addr: Temp) -> Temp {
        let bits = self.address_size().bits();
        self.e.bin_int(BinOp::Add, addr, 8, bits)
    }

    fn store_vec(&mut self, mem: &Mem, value: Temp, atomic: bool, tags: Tags) -> Done {
        let addr = self.address(mem, Port::Addr)?;
        if atomic {
            self.e.store(addr, value, 16, tags);
            return Ok(());
        }
        let upper = self.upper_address(addr);
        let low = self.low(value, Size::Q);
        let high = self.high(value, Size::Q);
        self.e.store(addr, low, 8, tags);
        self.e.store(upper, high, 8, tags);
        Ok(())
    }

    fn store_non_temporal(&mut self, insn: &Insn) -> Done {
        match insn.args.as_slice() {
            [Arg::Mem(mem), Arg::Xmm(src)] => {
                let value = self.read_xmm(*src);
                self.store_vec(mem, value, false, tag::NT)
            }
            [Arg::Mem(mem), Arg::Reg(src)] if src.size >= Size::L => {
                let value = self.read_reg(*src, Port::Data);
                let addr = self.address(mem, Port::Addr)?;
                self.e.store(addr, value, src.size.bytes(), tag::NT);
                Ok(())
            }
            _ => Err("a register and a memory operand are expected".to_string()),
        }
    }

    pub fn mov_low(&mut self, args: &[Arg], size: Size) -> Done {
        match args {
            [Arg::Xmm(dst), Arg::Xmm(src)] if size == Size::Q => {
                let value = self.read_xmm(*src);
                let value = self.low(value, size);
                self.write_xmm(*dst, value);
                Ok(())
            }
            [Arg::Xmm(dst), src @ (Arg::Reg(_) | Arg::Mem(_))] => {
                let value = self.value(src, size)?;
                self.write_xmm(*dst, value);
                Ok(())
            }
            [dst @ (Arg::Reg(_) | Arg::Mem(_)), Arg::Xmm(src)] => {
                let place = self.place(dst)?;
                let value = self.read_xmm(*src);
                let from = size.bits();
                let value = self.e.un(UnOp::ZeroExt { from }, value, 128);
                self.put(place, size, value, Tags::NONE)
            }
            _ => Err(vectors_expected()),
        }
    }

    fn mov_vec(&mut self, args: &[Arg], atomic: bool) -> Done {
        match args {
            [Arg::Xmm(dst), Arg::Xmm(src)] => {
                let value = self.read_xmm(*src);
                self.write_xmm(*dst, value);
                Ok(())
            }
            [Arg::Xmm(dst), Arg::Mem(mem)] => {
                let value = self.load_vec(mem, atomic)?;
                self.write_xmm(*dst, value);
                Ok(())
            }
            [Arg::Mem(mem), Arg::Xmm(src)] => {
                let value = self.read_xmm(*src);
                self.store_vec(mem, value, atomic, Tags::NONE)
            }
            _ => Err(vectors_expected()),
        }
    }

    fn mov_half(&mut self, args: &[Arg], high: bool) -> Done {
        let (dst, old, mem) = match args {
            [Arg::Xmm(dst), mem @ Arg::Mem(_)] => (*dst, *dst, mem),
            [Arg::Xmm(dst), Arg::Xmm(old), mem @ Arg::Mem(_)] => (*dst, *old, mem),
            [dst @ Arg::Mem(_), Arg::Xmm(src)] => {
                let place = self.place(dst)?;
                let value = self.read_xmm(*src);
                let half = if high { self.high(value, Size::Q) } else { self.low(value, Size::Q) };
                return self.put(place, Size::Q, half, Tags::NONE);
            }
            _ => return Err(vectors_expected()),
        };
        let half = self.value(mem, Size::Q)?;
        let old = self.read_xmm(old);
        let value = if high {
            let low = self.low(old, Size::Q);
            self.pair(half, low, Size::Q)
        } else {
            let high = self.high(old, Size::Q);
            self.pair(high, half, Size::Q)
        };
        self.write_xmm(dst, value);
        Ok(())
    }

    fn vec2(&mut self, op: Vec2, a: Temp, b: Temp) -> Temp {
        match op {
            Vec2::Xor => self.e.bin(BinOp::Xor, a, b, 128),
            Vec2::And => self.e.bin(BinOp::And, a, b, 128),
            Vec2::Or => self.e.bin(BinOp::Or, a, b, 128),
            Vec2::AndNot => {
                let a = self.e.un(UnOp::Not, a, 128);
                self.e.bin(BinOp::And, a, b, 128)
            }
            Vec2::UnpackLow64 | Vec2::LowToHigh => {
                let (a, b) = (self.low(a, Size::Q), self.low(b, Size::Q));
                self.pair(b, a, Size::Q)
            }
            Vec2::UnpackHigh64 => {
                let (a, b) = (self.high(a, Size::Q), self.high(b, Size::Q));
                self.pair(b, a, Size::Q)
            }
            Vec2::HighToLow => {
                let (a, b) = (self.high(a, Size::Q), self.high(b, Size::Q));
                self.pair(a, b, Size::Q)
            }
            Vec2::UnpackLow32 => self.unpack32(a, b, 0),
            Vec2::UnpackHigh32 => self.unpack32(a, b, 2),
        }
    }

    fn unpack32(&mut self, a: Temp, b: Temp, first: u32) -> Temp {
        let mut value = self.lane32(a, first, 0);
        for (source, from, to) in [(b, first, 1), (a, first + 1, 2), (b, first + 1, 3)] {
            let part = self.lane32(source, from, to);
            value = self.e.bin(BinOp::Or, value, part, 128);
        }
        value
    }

    /// The part of `bits` number `from`, at the place of part `to`.
    pub fn part(&mut self, value: Temp, bits: u8, from: u32, to: u32) -> Temp {
        let width = u32::from(bits);
        let part = self.e.bin_int(BinOp::Shr, value, u128::from(width * from), 128);
        let part = self.e.un(UnOp::ZeroExt { from: bits }, part, 128);
        self.e.bin_int(BinOp::Shl, part, u128::from(width * to), 128)
    }

    pub fn or(&mut self, value: Option<Temp>, part: Temp) -> Temp {
        match value {
            None => part,
            Some(value) => self.e.bin(BinOp::Or, value, part, 128),
        }
    }

    fn lane32(&mut self, value: Temp, from: u32, to: u32) -> Temp {
        self.part(value, 32, from, to)
    }

    /// Integers go through the x87 stack unchanged: its registers have 64 bits of mantissa.
    fn x87(&mut self, insn: &Insn) -> Done {
        let [arg @ Arg::Mem(_)] = insn.args.as_slice() else {
            return Err("a memory operand is expected".to_string());
        };
        let stack: Vec<Reg> =
            (0..X87_DEPTH).map(|i| self.code.reg(&format!("st{i}"), 64, false)).collect();
        let size = insn.size;
        if insn.what == Do::X87Load {
            let value = self.value(arg, size)?;
            let from = size.bits();
            let value = self.e.un(UnOp::SignExt { from }, value, 64);
            for i in (1..stack.len()).rev() {
                let below = self.e.read(stack[i - 1], Port::None);
                self.e.write(stack[i], below);
            }
            self.e.write(stack[0], value);
        } else {
            let place = self.place(arg)?;
            let value = self.e.read(stack[0], Port::Data);
            self.put(place, size, value, Tags::NONE)?;
            for i in 1..stack.len() {
                let above = self.e.read(stack[i], Port::None);
                self.e.write(stack[i - 1], above);
            }
        }
        Ok(())
    }
}

/// Destination, two sources and a constant; the older form's first source is the destination.
fn three_and_constant(args: &[Arg]) -> Result<(u8, &Arg, &Arg, i128), String> {
    match args {
        [Arg::Xmm(dst), b, Arg::Imm(Imm::Int(n))] => Ok((*dst, &args[0], b, *n)),
        [Arg::Xmm(dst), a @ Arg::Xmm(_), b, Arg::Imm(Imm::Int(n))] => Ok((*dst, a, b, *n)),
        _ => Err(vectors_expected()),
    }
}

fn lane_shift(lane: i128, size: Size) -> u8 {
    let lanes = 128 / u32::from(size.bits());
    (lane as u32 % lanes) as u8 * size.bits()
}

fn vectors_expected() -> String {
    "a vector register and another operand of its kind are expected".to_string()
}
