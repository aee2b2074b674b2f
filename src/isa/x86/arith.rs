//! Arithmetic of x86 with its flags. What the manuals leave undefined (flags of long shifts, of
//! multiplications) has some value here, always the same. The adjust flag does not exist.

use super::insn::{Alu, Arg, Bit, Do, Gpr, Insn, RAX, RCX, RDX, Shift, Size};
use super::lower::{CF, Located, Lower, OF, PF, SF, ZF, two_operands};
use crate::thread::Done;
use litmake_ops::{BinOp, Port, Tags, Temp, UnOp, tag};

pub fn tags_of(insn: &Insn) -> Tags {
    if insn.lock { tag::X } else { Tags::NONE }
}

impl Lower<'_> {
    pub fn arith(&mut self, insn: &Insn) -> Done {
        let (size, args) = (insn.size, insn.args.as_slice());
        match insn.what {
            Do::Alu(op) => self.alu(op, insn),
            Do::Cmp => {
                let (a, b) = self.two_values(args, size)?;
                self.subtract(a, b, None, size);
                Ok(())
            }
            Do::Test => {
                // Of a register with itself, that is the register (which may hold an address).
                let result = if let [Arg::Reg(a), Arg::Reg(b)] = args
                    && a == b
                {
                    self.read_reg(*a, Port::None)
                } else {
                    let (a, b) = self.two_values(args, size)?;
                    self.e.bin(BinOp::And, a, b, size.bits())
                };
                self.logic_flags(result, size);
                Ok(())
            }
            Do::Inc | Do::Dec => {
                let place = self.place(self.one(args, "inc")?)?;
                let a = self.get(place, size, tags_of(insn));
                let one = self.e.int(1);
                // The carry flag stays.
                let carry = self.read_flag(CF);
                let result = if insn.what == Do::Inc {
                    self.add(a, one, None, size)
                } else {
                    self.subtract(a, one, None, size)
                };
                self.write_flag(CF, carry);
                self.put(place, size, result, tags_of(insn))
            }
            Do::Neg => {
                let place = self.place(self.one(args, "neg")?)?;
                let a = self.get(place, size, tags_of(insn));
                let zero = self.e.int(0);
                let result = self.subtract(zero, a, None, size);
                self.put(place, size, result, tags_of(insn))
            }
            Do::Not => {
                let place = self.place(self.one(args, "not")?)?;
                let a = self.get(place, size, tags_of(insn));
                let result = self.e.un(UnOp::Not, a, size.bits());
                self.put(place, size, result, tags_of(insn))
            }
            Do::Shift(op) => self.shift(op, args, size),
            Do::ShiftX(op) => self.shift_x(op, args, size),
            Do::DoubleShift { left } => self.double_shift(left, args, size),
            Do::AndN => self.and_not(args, size),
            Do::Bit(op) => self.bit(op, insn),
            Do::MulX => self.mul_x(args, size),
            Do::Mul2 if args.len() == 1 => self.mul_wide(&args[0], size, true),
            Do::Mul2 => self.mul(args, size),
            Do::MulWide { signed } => {
                let arg = self.one(args, "mul")?;
                self.mul_wide(arg, size, signed)
            }
            Do::Div { signed } => {
                let arg = self.one(args, "div")?;
                self.div(arg, size, signed)
            }
            Do::Popcnt | Do::ScanForward { .. } | Do::ScanReverse { .. } => {
                self.count_bits(insn.what, args, size)
            }
            Do::Clc | Do::Stc => {
                let value = self.e.int(u128::from(insn.what == Do::Stc));
                self.write_flag(CF, value);
                Ok(())
            }
            Do::Cmc => {
                let carry = self.read_flag(CF);
                let value = self.e.bin_int(BinOp::Xor, carry, 1, 1);
                self.write_flag(CF, value);
                Ok(())
            }
            _ => Err("this instruction is not supported".to_string()),
        }
    }

    fn and_not(&mut self, args: &[Arg], size: Size) -> Done {
        let [Arg::Reg(dst), Arg::Reg(a), b] = args else {
            return Err("`andn` takes two sources and a register".to_string());
        };
        let a = self.read_reg(*a, Port::None);
        let b = self.value(b, size)?;
        let a = self.e.un(UnOp::Not, a, size.bits());
        let result = self.e.bin(BinOp::And, a, b, size.bits());
        self.logic_flags(result, size);
        self.write_reg(*dst, result, size);
        Ok(())
    }

    /// `mulx` multiplies by `rdx`, and leaves the flags.
    fn mul_x(&mut self, args: &[Arg], size: Size) -> Done {
        let [Arg::Reg(high), Arg::Reg(low), b] = args else {
            return Err("a source and two registers are expected".to_string());
        };
        let b = self.value(b, size)?;
        let a = self.read_reg(Gpr::new(RDX, size), Port::None);
        let product = self.e.bin(BinOp::Mul, a, b, 2 * size.bits());
        let (low_half, high_half) = (self.low(product, size), self.high(product, size));
        self.write_reg(*low, low_half, size);
        self.write_reg(*high, high_half, size);
        Ok(())
    }

    fn two_values(&mut self, args: &[Arg], size: Size) -> Result<(Temp, Temp), String> {
        match args {
            [Arg::Mem(_), Arg::Mem(_)] => Err(two_operands()),
            [a, b] => Ok((self.value(a, size)?, self.value(b, size)?)),
            _ => Err(two_operands()),
        }
    }

    fn alu(&mut self, op: Alu, insn: &Insn) -> Done {
        let size = insn.size;
        let [dst, src] = insn.args.as_slice() else {
            return Err(two_operands());
        };
        if matches!((dst, src), (Arg::Mem(_), Arg::Mem(_))) {
            return Err(two_operands());
        }
        let place = self.place(dst)?;
        // A register minus itself is how zero is written, and with a borrow how -1 or 0 is made of that: what
        // it held does not matter, and it need not have been set.
        let zeroes = matches!(op, Alu::Xor | Alu::Sub | Alu::Sbb)
            && dst == src
            && matches!(dst, Arg::Reg(_));
        let (a, b) = if zeroes {
            (self.e.int(0), self.e.int(0))
        } else {
            let b = self.value(src, size)?;
            (self.get(place, size, tags_of(insn)), b)
        };
        let bits = size.bits();
        let result = match op {
            Alu::Add => self.add(a, b, None, size),
            Alu::Adc => {
                let carry = self.read_flag(CF);
                self.add(a, b, Some(carry), size)
            }
            Alu::Sub => self.subtract(a, b, None, size),
            Alu::Sbb => {
                let borrow = self.read_flag(CF);
                self.subtract(a, b, Some(borrow), size)
            }
            Alu::And | Alu::Or | Alu::Xor => {
                let op = match op {
                    Alu::And => BinOp::And,
                    Alu::Or => BinOp::Or,
                    _ => BinOp::Xor,
                };
                let result = self.e.bin(op, a, b, bits);
                self.logic_flags(result, size);
                result
            }
        };
        self.put(place, size, result, tags_of(insn))
    }

    /// Zero, sign and parity of a result.
    fn result_flags(&mut self, result: Temp, size: Size) {
        let zero = self.e.un(UnOp::IsZero, result, size.bits());
        self.write_flag(ZF, zero);
        self.sign_flags(result, size);
    }

    fn sign_flags(&mut self, result: Temp, size: Size) {
        let sign = self.top(result, size);
        self.write_flag(SF, sign);
        let ones = self.e.un(UnOp::PopCount, result, 8);
        let odd = self.e.bin_int(BinOp::And, ones, 1, 8);
        let even = self.e.un(UnOp::IsZero, odd, 8);
        self.write_flag(PF, even);
    }

    fn logic_flags(&mut self, result: Temp, size: Size) {
        self.result_flags(result, size);
        let zero = self.e.int(0);
        self.write_flag(CF, zero);
        self.write_flag(OF, zero);
    }

    fn top(&mut self, value: Temp, size: Size) -> Temp {
        let bits = size.bits();
        self.e.bin_int(BinOp::Shr, value, u128::from(bits - 1), bits)
    }

    /// The lowest bit of `value` shifted right by `count` in 128 bits.
    fn bit_at(&mut self, value: Temp, count: Temp) -> Temp {
        let moved = self.e.bin(BinOp::Shr, value, count, 128);
        self.e.bin_int(BinOp::And, moved, 1, 1)
    }

    /// A sum with its flags.
    pub fn add(&mut self, a: Temp, b: Temp, carry: Option<Temp>, size: Size) -> Temp {
        let bits = size.bits();
        let mut result = self.e.bin(BinOp::Add, a, b, bits);
        let carry_out = match carry {
            None => self.e.bin(BinOp::LtU, result, a, bits),
            Some(carry) => {
                result = self.e.bin(BinOp::Add, result, carry, bits);
                let wide = self.e.bin(BinOp::Add, a, b, bits + 1);
                let wide = self.e.bin(BinOp::Add, wide, carry, bits + 1);
                self.e.bin_int(BinOp::Shr, wide, bits.into(), bits + 1)
            }
        };
        self.write_flag(CF, carry_out);
        self.result_flags(result, size);
        let from_a = self.e.bin(BinOp::Xor, a, result, bits);
        let from_b = self.e.bin(BinOp::Xor, b, result, bits);
        let both = self.e.bin(BinOp::And, from_a, from_b, bits);
        let overflow = self.top(both, size);
        self.write_flag(OF, overflow);
        result
    }

    /// A difference with its flags. Without a borrow, zero and carry come from comparing the
    /// operands, which also has a meaning for addresses.
    pub fn subtract(&mut self, a: Temp, b: Temp, borrow: Option<Temp>, size: Size) -> Temp {
        let bits = size.bits();
        let mut result = self.e.bin(BinOp::Sub, a, b, bits);
        match borrow {
            None => {
                let below = self.e.bin(BinOp::LtU, a, b, bits);
                self.write_flag(CF, below);
                let equal = self.e.bin(BinOp::Eq, a, b, bits);
                self.write_flag(ZF, equal);
                self.sign_flags(result, size);
            }
            Some(borrow) => {
                result = self.e.bin(BinOp::Sub, result, borrow, bits);
                let sum = self.e.bin(BinOp::Add, b, borrow, bits + 1);
                let below = self.e.bin(BinOp::LtU, a, sum, bits + 1);
                self.write_flag(CF, below);
                self.result_flags(result, size);
            }
        }
        let operands = self.e.bin(BinOp::Xor, a, b, bits);
        let from_a = self.e.bin(BinOp::Xor, a, result, bits);
        let both = self.e.bin(BinOp::And, operands, from_a, bits);
        let overflow = self.top(both, size);
        self.write_flag(OF, overflow);
        result
    }

    // Shifts.

    /// The count of a shift, masked as the size has it; where it is a constant, also its value.
    fn count(&mut self, arg: Option<&Arg>, size: Size) -> Result<(Temp, Option<u8>), String> {
        let modulus: u8 = if size == Size::Q { 63 } else { 31 };
        match arg {
            None => Ok((self.e.int(1), Some(1))),
            Some(Arg::Imm(super::insn::Imm::Int(n))) => {
                let n = (*n as u8) & modulus;
                Ok((self.e.int(n.into()), Some(n)))
            }
            Some(Arg::Reg(reg)) if *reg == Gpr::new(RCX, Size::B) => {
                let count = self.read_reg(*reg, Port::None);
                Ok((self.e.bin_int(BinOp::And, count, modulus.into(), 8), None))
            }
            Some(_) => Err("a shift's count is a constant or %cl".to_string()),
        }
    }

    fn shift(&mut self, op: Shift, args: &[Arg], size: Size) -> Done {
        let (dst, count) = match args {
            [dst] => (dst, None),
            [dst, count] => (dst, Some(count)),
            _ => return Err("a shift takes a count and what is shifted".to_string()),
        };
        let (count, known) = self.count(count, size)?;
        let place = self.place(dst)?;
        let a = self.get(place, size, Tags::NONE);
        let bits = size.bits();
        if known == Some(0) {
            return self.put(place, size, a, Tags::NONE);
        }
        let result = self.shifted(op, a, count, size);
        let (carry, overflow) = match op {
            Shift::Shl => {
                let wide = self.e.bin(BinOp::Shl, a, count, 128);
                let width = self.e.int(bits.into());
                let carry = self.bit_at(wide, width);
                let top = self.top(result, size);
                (carry, self.e.bin(BinOp::Xor, top, carry, 1))
            }
            Shift::Shr => {
                let twice = self.e.bin_int(BinOp::Shl, a, 1, 128);
                let carry = self.bit_at(twice, count);
                (carry, self.top(a, size))
            }
            Shift::Sar => {
                let wide = self.e.un(UnOp::SignExt { from: bits }, a, 128);
                let twice = self.e.bin_int(BinOp::Shl, wide, 1, 128);
                let carry = self.bit_at(twice, count);
                (carry, self.e.int(0))
            }
            Shift::Rol => {
                let carry = self.e.bin_int(BinOp::And, result, 1, 1);
                let top = self.top(result, size);
                (carry, self.e.bin(BinOp::Xor, top, carry, 1))
            }
            Shift::Ror => {
                let carry = self.top(result, size);
                let below = self.e.bin_int(BinOp::Shr, result, u128::from(bits - 2), bits);
                (carry, self.e.bin(BinOp::Xor, below, carry, 1))
            }
        };
        let mut flags = vec![(CF, carry), (OF, overflow)];
        if !matches!(op, Shift::Rol | Shift::Ror) {
            let zero = self.e.un(UnOp::IsZero, result, bits);
            let sign = self.top(result, size);
            let ones = self.e.un(UnOp::PopCount, result, 8);
            let odd = self.e.bin_int(BinOp::And, ones, 1, 8);
            let even = self.e.un(UnOp::IsZero, odd, 8);
            flags.extend([(ZF, zero), (SF, sign), (PF, even)]);
        }
        self.write_flags_if(&flags, known.is_none().then_some(count));
        self.put(place, size, result, Tags::NONE)
    }

    /// Writes flags, where a count is given only if it is not zero.
    fn write_flags_if(&mut self, flags: &[(&str, Temp)], count: Option<Temp>) {
        let changes = count.map(|c| self.e.bin_int(BinOp::Ne, c, 0, 8));
        for (name, value) in flags {
            let value = match changes {
                None => *value,
                Some(changes) => {
                    let old = self.read_flag(name);
                    self.e.select(changes, *value, old)
                }
            };
            self.write_flag(name, value);
        }
    }

    /// The result alone; `count` is below 64.
    fn shifted(&mut self, op: Shift, a: Temp, count: Temp, size: Size) -> Temp {
        let bits = size.bits();
        let low = u128::from(bits - 1);
        match op {
            Shift::Shl => self.e.bin(BinOp::Shl, a, count, bits),
            Shift::Shr => self.e.bin(BinOp::Shr, a, count, bits),
            Shift::Sar => self.e.bin(BinOp::Sar, a, count, bits),
            Shift::Ror => {
                let count = self.e.bin_int(BinOp::And, count, low, 8);
                self.e.bin(BinOp::Ror, a, count, bits)
            }
            Shift::Rol => {
                let back = self.e.un(UnOp::Neg, count, 8);
                let count = self.e.bin_int(BinOp::And, back, low, 8);
                self.e.bin(BinOp::Ror, a, count, bits)
            }
        }
    }

    fn shift_x(&mut self, op: Shift, args: &[Arg], size: Size) -> Done {
        let [Arg::Reg(dst), src, count] = args else {
            return Err("two sources and a register are expected".to_string());
        };
        let modulus = u128::from(size.bits() - 1);
        let a = self.value(src, size)?;
        let count = self.value(count, size)?;
        let count = self.e.bin_int(BinOp::And, count, modulus, 8);
        let result = self.shifted(op, a, count, size);
        self.write_reg(*dst, result, size);
        Ok(())
    }

    fn double_shift(&mut self, left: bool, args: &[Arg], size: Size) -> Done {
        // Without a count, it is in cl.
        let (dst, src, count) = match args {
            [dst, Arg::Reg(src), count] => (dst, src, count),
            [dst, Arg::Reg(src)] => (dst, src, &Arg::Reg(Gpr::new(RCX, Size::B))),
            _ => return Err("a count, a register and a destination are expected".to_string()),
        };
        let (count, known) = self.count(Some(count), size)?;
        let place = self.place(dst)?;
        let a = self.get(place, size, Tags::NONE);
        let b = self.read_reg(*src, Port::None);
        if known == Some(0) {
            return self.put(place, size, a, Tags::NONE);
        }
        let bits = size.bits();
        let width = self.e.int(bits.into());
        let (high, low) = if left { (a, b) } else { (b, a) };
        let pair = self.pair(high, low, size);
        let (result, carry) = if left {
            let moved = self.e.bin(BinOp::Shl, pair, count, 2 * bits);
            let wide = self.e.bin(BinOp::Shl, a, count, 128);
            let carry = self.bit_at(wide, width);
            (self.e.bin(BinOp::Shr, moved, width, 2 * bits), carry)
        } else {
            let moved = self.e.bin(BinOp::Shr, pair, count, 2 * bits);
            let twice = self.e.bin_int(BinOp::Shl, a, 1, 128);
            let carry = self.bit_at(twice, count);
            (self.e.un(UnOp::ZeroExt { from: bits }, moved, 128), carry)
        };
        let change = self.e.bin(BinOp::Xor, a, result, bits);
        let overflow = self.top(change, size);
        let zero = self.e.un(UnOp::IsZero, result, bits);
        let sign = self.top(result, size);
        let ones = self.e.un(UnOp::PopCount, result, 8);
        let odd = self.e.bin_int(BinOp::And, ones, 1, 8);
        let even = self.e.un(UnOp::IsZero, odd, 8);
        let flags = [(CF, carry), (OF, overflow), (ZF, zero), (SF, sign), (PF, even)];
        self.write_flags_if(&flags, known.is_none().then_some(count));
        self.put(place, size, result, Tags::NONE)
    }

    /// Two values of `size` as one of twice that.
    pub fn pair(&mut self, high: Temp, low: Temp, size: Size) -> Temp {
        let bits = size.bits();
        let high = self.e.bin_int(BinOp::Shl, high, bits.into(), 2 * bits);
        self.e.bin(BinOp::Or, high, low, 2 * bits)
    }

    /// The high half of a value of twice `size`.
    pub fn high(&mut self, value: Temp, size: Size) -> Temp {
        let bits = size.bits();
        self.e.bin_int(BinOp::Shr, value, bits.into(), 2 * bits)
    }

    pub fn low(&mut self, value: Temp, size: Size) -> Temp {
        let from = size.bits();
        self.e.un(UnOp::ZeroExt { from }, value, 2 * from)
    }

    // Single bits.

    fn bit(&mut self, op: Bit, insn: &Insn) -> Done {
        let size = insn.size;
        let bits = size.bits();
        let [dst, src @ (Arg::Reg(_) | Arg::Imm(_))] = insn.args.as_slice() else {
            return Err("a bit's number and where it is are expected".to_string());
        };
        let number = self.value(src, size)?;
        let mut place = self.place(dst)?;
        // A bit in memory that a register numbers may lie outside the operand's own bytes.
        if let (Located::Mem(addr), Arg::Reg(_)) = (place, src) {
            let width = self.address_size().bits();
            let shift = u128::from(bits.trailing_zeros());
            let words = self.e.bin_int(BinOp::Sar, number, shift, bits);
            let words = self.e.un(UnOp::SignExt { from: bits }, words, width);
            let bytes = self.e.bin_int(BinOp::Mul, words, size.bytes().into(), width);
            place = Located::Mem(self.e.bin(BinOp::Add, addr, bytes, width));
        }
        let number = self.e.bin_int(BinOp::And, number, u128::from(bits - 1), bits);
        let value = self.get(place, size, tags_of(insn));
        let carry = self.bit_at(value, number);
        self.write_flag(CF, carry);
        let one = self.e.int(1);
        let one = self.e.bin(BinOp::Shl, one, number, bits);
        let result = match op {
            Bit::Test => return Ok(()),
            Bit::Set => self.e.bin(BinOp::Or, value, one, bits),
            Bit::Complement => self.e.bin(BinOp::Xor, value, one, bits),
            Bit::Reset => {
                let rest = self.e.un(UnOp::Not, one, bits);
                self.e.bin(BinOp::And, value, rest, bits)
            }
        };
        self.put(place, size, result, tags_of(insn))
    }

    fn count_bits(&mut self, what: Do, args: &[Arg], size: Size) -> Done {
        let [Arg::Reg(dst), src] = args else {
            return Err("a source and a register are expected".to_string());
        };
        let bits = size.bits();
        let a = self.value(src, size)?;
        let zero = self.e.un(UnOp::IsZero, a, bits);
        let old = self.read_reg(*dst, Port::None);
        let none = self.e.int(0);
        let result = match what {
            Do::ScanForward { keep } => {
                let reversed = self.e.un(UnOp::BitReverse, a, bits);
                let n = self.e.un(UnOp::Clz, reversed, bits);
                if keep { self.e.select(zero, old, n) } else { n }
            }
            Do::ScanReverse { keep } => {
                let n = self.e.un(UnOp::Clz, a, bits);
                if keep {
                    let top = self.e.int(u128::from(bits - 1));
                    let n = self.e.bin(BinOp::Sub, top, n, bits);
                    self.e.select(zero, old, n)
                } else {
                    n
                }
            }
            _ => self.e.un(UnOp::PopCount, a, bits),
        };
        match what {
            // These two tell of a source that is zero by the carry flag.
            Do::ScanForward { keep: false } | Do::ScanReverse { keep: false } => {
                self.write_flag(CF, zero);
                let zero = self.e.un(UnOp::IsZero, result, bits);
                self.write_flag(ZF, zero);
            }
            Do::Popcnt => {
                for flag in [CF, OF, SF, PF] {
                    self.write_flag(flag, none);
                }
                self.write_flag(ZF, zero);
            }
            _ => self.write_flag(ZF, zero),
        }
        self.write_reg(*dst, result, size);
        Ok(())
    }

    // Multiplication and division.

    fn mul(&mut self, args: &[Arg], size: Size) -> Done {
        let (dst, a, b) = match args {
            [Arg::Reg(dst), b] => (*dst, &args[0], b),
            [Arg::Reg(dst), a, b @ Arg::Imm(_)] => (*dst, a, b),
            _ => return Err("sources and a register are expected".to_string()),
        };
        let a = self.value(a, size)?;
        let b = self.value(b, size)?;
        let product = self.product(a, b, size, true);
        let result = self.low(product, size);
        self.result_flags(result, size);
        self.write_reg(dst, result, size);
        Ok(())
    }

    /// The full product, with the flags that say whether its high half is needed.
    fn product(&mut self, a: Temp, b: Temp, size: Size, signed: bool) -> Temp {
        let bits = size.bits();
        let (a, b) = if signed {
            let extend = UnOp::SignExt { from: bits };
            (self.e.un(extend, a, 2 * bits), self.e.un(extend, b, 2 * bits))
        } else {
            (a, b)
        };
        let product = self.e.bin(BinOp::Mul, a, b, 2 * bits);
        let extend =
            if signed { UnOp::SignExt { from: bits } } else { UnOp::ZeroExt { from: bits } };
        let fits = self.e.un(extend, product, 2 * bits);
        let needed = self.e.bin(BinOp::Ne, product, fits, 2 * bits);
        self.write_flag(CF, needed);
        self.write_flag(OF, needed);
        product
    }

    fn mul_wide(&mut self, arg: &Arg, size: Size, signed: bool) -> Done {
        let b = self.value(arg, size)?;
        let a = self.read_reg(Gpr::new(RAX, size), Port::None);
        let product = self.product(a, b, size, signed);
        let low = self.low(product, size);
        self.result_flags(low, size);
        if size == Size::B {
            self.write_reg(Gpr::new(RAX, Size::W), product, Size::W);
            return Ok(());
        }
        let high = self.high(product, size);
        self.write_reg(Gpr::new(RAX, size), low, size);
        self.write_reg(Gpr::new(RDX, size), high, size);
        Ok(())
    }

    fn div(&mut self, arg: &Arg, size: Size, signed: bool) -> Done {
        let by = self.value(arg, size)?;
        let bits = size.bits();
        let dividend = if size == Size::B {
            self.read_reg(Gpr::new(RAX, Size::W), Port::None)
        } else {
            let high = self.read_reg(Gpr::new(RDX, size), Port::None);
            let low = self.read_reg(Gpr::new(RAX, size), Port::None);
            self.pair(high, low, size)
        };
        let (by, div, rem) = if signed {
            let by = self.e.un(UnOp::SignExt { from: bits }, by, 2 * bits);
            (by, BinOp::DivS, BinOp::RemS)
        } else {
            (by, BinOp::DivU, BinOp::RemU)
        };
        let quotient = self.e.bin(div, dividend, by, 2 * bits);
        let rest = self.e.bin(rem, dividend, by, 2 * bits);
        let quotient = self.low(quotient, size);
        let rest = self.low(rest, size);
        self.write_reg(Gpr::new(RAX, size), quotient, size);
        let upper = match size {
            Size::B => Gpr { num: RAX, size, high: true },
            _ => Gpr::new(RDX, size),
        };
        self.write_reg(upper, rest, size);
        Ok(())
    }
}
