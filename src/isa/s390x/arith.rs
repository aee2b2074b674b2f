//! Arithmetic of s390x, and the condition code. The code is four hidden registers, one for each value that it may have,
//! so that what nobody looks at costs nothing.

use super::insn::Insn;
use super::lower::{Lower, W};
use super::table::{Cc, Does, Part};
use crate::microcode::mask;
use crate::thread::Done;
use litmake_ops::{BinOp, Port, Tags, Temp, UnOp};

/// The hidden registers, each 1 where the condition code has its value.
pub const CODES: [&str; 4] = ["cc=0", "cc=1", "cc=2", "cc=3"];

impl Lower<'_> {
    pub fn arith(&mut self, insn: &Insn) -> Done {
        match insn.does {
            Does::Test(part, from) => {
                let value = self.second(insn, part, from)?;
                self.write(insn.regs[0], part, value);
                self.sign(value, part.bits());
            }
            Does::Negate(..) | Does::Absolute(..) | Does::NegativeAbsolute(..) => {
                self.absolute(insn)?;
            }
            Does::Bin(op, part, from, cc) => {
                let b = self.second(insn, part, from)?;
                let a = self.first(insn, part);
                let value = self.e.bin(op, a, b, part.bits());
                self.write(insn.regs[0], part, value);
                self.code(cc, op, (a, b), value, part.bits());
            }
            Does::WithCarry(op, part) => {
                let (a, b) = (self.read(insn.regs[0], part), self.read(insn.regs[1], part));
                let b = if op == BinOp::Sub { self.e.un(UnOp::Not, b, part.bits()) } else { b };
                let carry = self.condition(3);
                let half = self.e.bin(BinOp::Add, a, b, part.bits());
                let value = self.e.bin(BinOp::Add, half, carry, part.bits());
                let first = self.e.bin(BinOp::LtU, half, a, part.bits());
                let second = self.e.bin(BinOp::LtU, value, half, part.bits());
                let carry = self.e.bin(BinOp::Or, first, second, 1);
                self.write(insn.regs[0], part, value);
                self.carried(value, carry, part.bits());
            }
            Does::Compare(part, from, signed) => {
                let b = self.second(insn, part, from)?;
                let a = self.read(insn.regs[0], part);
                self.compare((a, b), part.bits(), signed);
            }
            Does::CompareMemory(bytes, signed) => {
                let addr = self.place(insn)?;
                let a = self.e.load(addr, bytes, Tags::NONE);
                let b = self.e.signed(insn.numbers[0].into(), 8 * bytes);
                self.compare((a, b), 8 * bytes, signed);
            }
            Does::TestMemory => {
                let addr = self.place(insn)?;
                let value = self.e.load(addr, 1, Tags::NONE);
                let [none, low, high, all] = self.test_under(value, insn.numbers[0] as u128 & 0xff);
                // Of a byte, some bits are one case.
                let mixed = self.e.bin(BinOp::Or, low, high, 1);
                let never = self.e.int(0);
                self.set_code([none, mixed, never, all]);
            }
            Does::TestUnder(low) => {
                let value = self.read(insn.regs[0], Part::All);
                let values = self.test_under(value, (insn.numbers[0] as u128 & 0xffff) << low);
                self.set_code(values);
            }
            Does::WithPart(op, low, bits) => self.with_part(insn, op, low, bits),
            Does::Shift(..) | Does::ShiftSigned(_) | Does::Rotate(_) => self.shift(insn),
            Does::Bits(op, part, zero, cc) => self.bits(insn, op, part, zero, cc),
            Does::Mask => {
                let (odd, upper) = (self.condition(0b0101), self.condition(0b0011));
                let upper = self.e.shift(BinOp::Shl, upper, 1, W);
                let code = self.e.bin(BinOp::Or, upper, odd, W);
                let code = self.e.shift(BinOp::Shl, code, 28, W);
                self.replace(insn.regs[0], 0xff << 24, code);
            }
            Does::MulPair | Does::Divide(..) => self.pair(insn)?,
            Does::Leading => {
                let value = self.read(insn.regs[1], Part::All);
                let count = self.e.un(UnOp::Clz, value, W);
                let top = self.e.int(1 << 63);
                let bit = self.e.bin(BinOp::Shr, top, count, W);
                let bit = self.e.un(UnOp::Not, bit, W);
                let rest = self.e.bin(BinOp::And, value, bit, W);
                self.write(insn.regs[0], Part::All, count);
                self.write(insn.regs[0] | 1, Part::All, rest);
                let zero = self.e.is_zero(value, W);
                let found = self.e.bin_int(BinOp::Xor, zero, 1, 1);
                let none = self.e.int(0);
                self.set_code([zero, none, found, none]);
            }
            Does::Reverse(part) => {
                let value = self.read(insn.regs[1], part);
                let value = self.e.un(UnOp::ByteSwap, value, part.bits());
                self.write(insn.regs[0], part, value);
            }
            _ => return Err("this instruction is not supported".to_string()),
        }
        Ok(())
    }

    fn shift(&mut self, insn: &Insn) {
        match insn.does {
            Does::Shift(op, part) => {
                let a = self.last(insn, part);
                let count = self.count(insn);
                let value = self.e.bin(op, a, count, part.bits());
                self.write(insn.regs[0], part, value);
            }
            Does::ShiftSigned(part) => {
                let a = self.last(insn, part);
                let count = self.count(insn);
                let value = self.e.bin(BinOp::Sar, a, count, part.bits());
                self.write(insn.regs[0], part, value);
                self.sign(value, part.bits());
            }
            Does::Rotate(part) => {
                let a = self.last(insn, part);
                let a = self.e.zero_extend(a, part.bits(), W);
                let count = self.count(insn);
                let right = self.e.un(UnOp::Neg, count, part.bits());
                let value = self.e.bin(BinOp::Ror, a, right, part.bits());
                self.write(insn.regs[0], part, value);
            }
            _ => {}
        }
    }

    /// The first of two sources: the destination, or a register of its own.
    fn first(&mut self, insn: &Insn, part: Part) -> Temp {
        let registers_only =
            insn.memory.is_empty() && insn.symbol.is_none() && insn.numbers.is_empty();
        let sources = insn.regs.len() - usize::from(registers_only);
        let number = if sources == 2 { insn.regs[1] } else { insn.regs[0] };
        self.read(number, part)
    }

    /// The register that is shifted.
    fn last(&mut self, insn: &Insn, part: Part) -> Temp {
        self.read(insn.regs[insn.regs.len() - 1], part)
    }

    fn absolute(&mut self, insn: &Insn) -> Done {
        let (Does::Negate(part, from)
        | Does::Absolute(part, from)
        | Does::NegativeAbsolute(part, from)) = insn.does
        else {
            return Ok(());
        };
        let width = part.bits();
        let a = self.second(insn, part, from)?;
        let turned = self.e.un(UnOp::Neg, a, width);
        let negative = self.e.is_negative(a, width);
        // All bits where the number is negated.
        let value = match insn.does {
            Does::Negate(..) => turned,
            Does::Absolute(..) => self.e.select(negative, turned, a),
            _ => self.e.select(negative, a, turned),
        };
        self.write(insn.regs[0], part, value);
        let lowest = 1u128 << (width - 1);
        let over = match insn.does {
            Does::NegativeAbsolute(..) => self.e.int(0),
            _ => self.e.bin_int(BinOp::Eq, a, lowest, width),
        };
        self.signed_code(value, over, width);
        Ok(())
    }

    /// Logic with a part of a register; the condition code is about that part.
    fn with_part(&mut self, insn: &Insn, op: BinOp, low: u8, bits: u8) {
        let ones = mask(bits) << low;
        let number = (insn.numbers[0] as u128 & mask(bits)) << low;
        // Bits beside the part stay.
        let number = if op == BinOp::And { number | !ones & mask(W) } else { number };
        let old = self.read(insn.regs[0], Part::All);
        let value = self.e.bin_int(op, old, number, W);
        self.write(insn.regs[0], Part::All, value);
        let part = self.e.bin_int(BinOp::And, value, ones, W);
        self.logic(part, W);
    }

    /// Rotates the second register, and takes bits of it; they are counted from the highest one.
    fn bits(&mut self, insn: &Insn, op: Option<BinOp>, part: Part, zero: bool, cc: Cc) {
        let at = |i: usize| (insn.numbers[i] & 63) as u8;
        let whole = match part {
            Part::All => mask(W),
            Part::Low => mask(32),
            Part::High => mask(32) << 32,
        };
        let place = |bit: u8| match part {
            Part::All => bit,
            Part::Low => 32 + (bit & 31),
            Part::High => bit & 31,
        };
        let (first, last, left) = (place(at(0)), place(at(1)), at(2));
        // Extended a bit on to the lowest one, and up to a bit from the highest one.
        let (from, to) = (mask(W) >> first, mask(W) >> (63 - last) << (63 - last) & mask(W));
        let ones = whole & if first <= last { from & to } else { from | to };
        let source = self.read(insn.regs[1], Part::All);
        // Where only bits that a shift has too are taken, it is one: more is known of shifts.
        let turned = if ones & mask(left) == 0 {
            self.e.shift(BinOp::Shl, source, left, W)
        } else if ones & !mask(left) == 0 {
            self.e.shift(BinOp::Shr, source, W - left, W)
        } else {
            self.e.shift(BinOp::Ror, source, W - left, W)
        };
        let taken = self.e.bin_int(BinOp::And, turned, ones, W);
        let number = insn.regs[0];
        let value = match op {
            None if zero && part == Part::All => {
                self.write(number, Part::All, taken);
                taken
            }
            None => {
                self.replace(number, if zero { whole } else { ones }, taken);
                self.read(number, Part::All)
            }
            Some(op) => {
                let old = self.read(number, Part::All);
                // Other bits stay: 1 for a conjunction, and 0 for the others.
                let other = match op {
                    BinOp::And => self.e.bin_int(BinOp::Or, taken, !ones & mask(W), W),
                    _ => taken,
                };
                let value = self.e.bin(op, old, other, W);
                self.write(number, Part::All, value);
                self.e.bin_int(BinOp::And, value, ones, W)
            }
        };
        match cc {
            Cc::Stays => {}
            Cc::Logic => self.logic(value, W),
            _ => self.sign(value, W),
        }
    }

    /// Of an even register and the next one.
    fn pair(&mut self, insn: &Insn) -> Done {
        let (high, low) = (insn.regs[0], insn.regs[0] | 1);
        let a = self.read(low, Part::All);
        match insn.does {
            Does::Divide(part, from, _) => {
                let b = self.second(insn, part, from)?;
                let quotient = self.e.divide(BinOp::DivS, a, b, W);
                let rest = self.e.divide(BinOp::RemS, a, b, W);
                self.write(low, Part::All, quotient);
                self.write(high, Part::All, rest);
            }
            _ => {
                let b = self.read(insn.regs[1], Part::All);
                let top = self.e.bin(BinOp::MulHiU, a, b, W);
                let product = self.e.bin(BinOp::Mul, a, b, W);
                self.write(low, Part::All, product);
                self.write(high, Part::All, top);
            }
        }
        Ok(())
    }

    // The condition code.

    /// Sets the code, given whether it has each of its values.
    pub fn set_code(&mut self, values: [Temp; 4]) {
        for (name, value) in CODES.iter().zip(values) {
            let reg = self.code.reg(name, 1, false);
            self.e.write(reg, value);
        }
    }

    fn is_code(&mut self, value: usize) -> Temp {
        let reg = self.code.reg(CODES[value], 1, false);
        self.e.read(reg, Port::None)
    }

    /// Whether the code is among those of a mask, of which the highest of four bits is for the code 0. The code is one of
    /// the mask's or one of the others; where both are two, the side with the code 0 is asked, which is the simpler one.
    pub fn condition(&mut self, wanted: u8) -> Temp {
        let has = |mask: u8, code: usize| mask >> (3 - code) & 1 == 1;
        let turned = match wanted.count_ones() {
            3 | 4 => true,
            2 => !has(wanted, 0),
            _ => false,
        };
        let asked = if turned { !wanted & 15 } else { wanted };
        let mut any = None;
        for code in (0..4).filter(|code| has(asked, *code)) {
            let is = self.is_code(code);
            any = Some(match any {
                None => is,
                Some(any) => self.e.bin(BinOp::Or, any, is, 1),
            });
        }
        let any = any.unwrap_or_else(|| self.e.int(0));
        if turned { self.e.is_zero(any, 1) } else { any }
    }

    /// Whether a comparison ends as a mask says.
    pub fn compares(
        &mut self,
        wanted: u8,
        (a, b): (Temp, Temp),
        width: u8,
        signed: bool,
    ) -> Result<Temp, String> {
        let (less, at_most) =
            if signed { (BinOp::LtS, BinOp::LeS) } else { (BinOp::LtU, BinOp::LeU) };
        Ok(match wanted & 14 {
            8 => self.e.bin(BinOp::Eq, a, b, width),
            6 => self.e.bin(BinOp::Ne, a, b, width),
            4 => self.e.bin(less, a, b, width),
            2 => self.e.bin(less, b, a, width),
            12 => self.e.bin(at_most, a, b, width),
            10 => self.e.bin(at_most, b, a, width),
            _ => return Err("this condition says nothing of two numbers".to_string()),
        })
    }

    fn compare(&mut self, (a, b): (Temp, Temp), width: u8, signed: bool) {
        let less = if signed { BinOp::LtS } else { BinOp::LtU };
        let equal = self.e.bin(BinOp::Eq, a, b, width);
        let (low, high) = (self.e.bin(less, a, b, width), self.e.bin(less, b, a, width));
        let none = self.e.int(0);
        self.set_code([equal, low, high, none]);
    }

    /// By the sign of a number.
    fn sign(&mut self, value: Temp, width: u8) {
        let none = self.e.int(0);
        self.signed_code(value, none, width);
    }

    /// By the sign of a result, unless it does not fit.
    fn signed_code(&mut self, value: Temp, over: Temp, width: u8) {
        let fits = self.e.bin_int(BinOp::Xor, over, 1, 1);
        let zero = self.e.int(0);
        let is = [
            self.e.is_zero(value, width),
            self.e.is_negative(value, width),
            self.e.bin(BinOp::LtS, zero, value, width),
        ];
        let [zero, less, more] = is.map(|is| self.e.bin(BinOp::And, is, fits, 1));
        self.set_code([zero, less, more, over]);
    }

    fn logic(&mut self, value: Temp, width: u8) {
        let zero = self.e.is_zero(value, width);
        let other = self.e.bin_int(BinOp::Xor, zero, 1, 1);
        let none = self.e.int(0);
        self.set_code([zero, other, none, none]);
    }

    fn carried(&mut self, value: Temp, carry: Temp, width: u8) {
        let zero = self.e.is_zero(value, width);
        let other = self.e.bin_int(BinOp::Xor, zero, 1, 1);
        let no = self.e.bin_int(BinOp::Xor, carry, 1, 1);
        let values = [(zero, no), (other, no), (zero, carry), (other, carry)];
        let values = values.map(|(a, b)| self.e.bin(BinOp::And, a, b, 1));
        self.set_code(values);
    }

    /// Of the bits that a mask takes: all are 0, some, some and the first one, all.
    fn test_under(&mut self, value: Temp, ones: u128) -> [Temp; 4] {
        let taken = self.e.bin_int(BinOp::And, value, ones, W);
        let none = self.e.is_zero(taken, W);
        let all = self.e.bin_int(BinOp::Eq, taken, ones, W);
        let all = if ones == 0 { self.e.int(0) } else { all };
        let either = self.e.bin(BinOp::Or, none, all, 1);
        let mixed = self.e.bin_int(BinOp::Xor, either, 1, 1);
        let first = 127 - (ones | 1).leading_zeros() as u8;
        let top = self.e.bit(taken, first, W);
        let low = self.e.bin_int(BinOp::Xor, top, 1, 1);
        let (low, high) =
            (self.e.bin(BinOp::And, mixed, low, 1), self.e.bin(BinOp::And, mixed, top, 1));
        [none, low, high, all]
    }

    /// What an operation leaves in the code.
    pub fn code(&mut self, cc: Cc, op: BinOp, (a, b): (Temp, Temp), value: Temp, width: u8) {
        match cc {
            Cc::Stays => {}
            Cc::Signed => {
                let over = if op == BinOp::Sub { BinOp::SubOverflows } else { BinOp::AddOverflows };
                let over = self.e.bin(over, a, b, width);
                self.signed_code(value, over, width);
            }
            Cc::Carry => {
                let carry = match op {
                    BinOp::Sub => self.e.bin(BinOp::LeU, b, a, width),
                    _ => self.e.bin(BinOp::LtU, value, a, width),
                };
                self.carried(value, carry, width);
            }
            Cc::Logic => self.logic(value, width),
        }
    }
}
