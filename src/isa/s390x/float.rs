//! The meaning of moves of registers of floating point and vectors. The register `f0` is the left half of `v0`.

use super::insn::Insn;
use super::lower::{Lower, W};
use super::regs::R;
use super::table::{Float, Part};
use crate::microcode::mask;
use crate::thread::Done;
use litmake_ops::{BinOp, Port, Reg, Tags, Temp};

/// The bits of a vector register.
const V: u8 = 128;

impl Lower<'_> {
    fn left(&mut self, number: R) -> Reg {
        self.code.reg(&format!("f{number}"), W, false)
    }

    fn right(&mut self, number: R) -> Reg {
        self.code.reg(&format!("v{number}.right"), W, false)
    }

    fn read_left(&mut self, number: R) -> Temp {
        let reg = self.left(number);
        self.e.read(reg, Port::Data)
    }

    fn write_left(&mut self, number: R, value: Temp) {
        let reg = self.left(number);
        self.e.write(reg, value);
    }

    /// Writes the left quarter of a register, which is the upper half of its left half.
    fn write_short(&mut self, number: R, value: Temp) {
        let value = self.e.shift(BinOp::Shl, value, 32, W);
        let old = self.read_left(number);
        let old = self.e.bin_int(BinOp::And, old, mask(32), W);
        let value = self.e.bin(BinOp::Or, old, value, W);
        self.write_left(number, value);
    }

    fn read_vector(&mut self, number: R) -> Temp {
        let right = self.right(number);
        let (left, right) = (self.read_left(number), self.e.read(right, Port::Data));
        let left = self.e.shift(BinOp::Shl, left, W, V);
        self.e.bin(BinOp::Or, left, right, V)
    }

    fn write_vector(&mut self, number: R, value: Temp) {
        let left = self.e.shift(BinOp::Shr, value, W, V);
        let low = self.e.zero_extend(value, W, V);
        self.write_left(number, left);
        let right = self.right(number);
        self.e.write(right, low);
    }

    pub fn float(&mut self, insn: &Insn, op: Float) -> Done {
        let r = |i: usize| insn.regs[i];
        match op {
            Float::Load(8) => {
                let addr = self.place(insn)?;
                let value = self.e.load(addr, 8, Tags::NONE);
                self.write_left(r(0), value);
            }
            Float::Load(_) => {
                let addr = self.place(insn)?;
                let value = self.e.load(addr, 4, Tags::NONE);
                self.write_short(r(0), value);
            }
            Float::Lengthened => {
                let addr = self.place(insn)?;
                let value = self.e.load(addr, 4, Tags::NONE);
                let value = self.e.shift(BinOp::Shl, value, 32, W);
                self.write_left(r(0), value);
            }
            Float::Store(bytes) => {
                let value = self.read_left(r(0));
                let value = self.e.shift(BinOp::Shr, value, W - 8 * bytes, W);
                let addr = self.place(insn)?;
                self.e.store(addr, value, bytes, Tags::NONE);
            }
            Float::Copy => {
                let value = self.read_left(r(1));
                self.write_left(r(0), value);
            }
            Float::CopyShort => {
                let value = self.read_left(r(1));
                let value = self.e.shift(BinOp::Shr, value, 32, W);
                self.write_short(r(0), value);
            }
            Float::Zero => {
                let zero = self.e.int(0);
                self.write_left(r(0), zero);
            }
            Float::ZeroShort => {
                let zero = self.e.int(0);
                self.write_short(r(0), zero);
            }
            Float::FromGeneral => {
                let value = self.read(r(1), Part::All);
                self.write_left(r(0), value);
            }
            Float::ToGeneral => {
                let value = self.read_left(r(1));
                self.write(r(0), Part::All, value);
            }
            Float::LoadVector => {
                let addr = self.place(insn)?;
                let value = self.e.load(addr, 16, Tags::NONE);
                self.write_vector(r(0), value);
            }
            Float::StoreVector => {
                let value = self.read_vector(r(0));
                let addr = self.place(insn)?;
                self.e.store(addr, value, 16, Tags::NONE);
            }
            Float::CopyVector => {
                let value = self.read_vector(r(1));
                self.write_vector(r(0), value);
            }
            Float::ZeroVector => {
                let zero = self.e.int(0);
                self.write_vector(r(0), zero);
            }
            Float::Pair => {
                let (left, right) = (self.read(r(1), Part::All), self.read(r(2), Part::All));
                self.write_left(r(0), left);
                let reg = self.right(r(0));
                self.e.write(reg, right);
            }
            Float::PutHalf | Float::TakeHalf => return self.half(insn, op),
            Float::Bin(op) => {
                let (a, b) = (self.read_vector(r(1)), self.read_vector(r(2)));
                let value = self.e.bin(op, a, b, V);
                self.write_vector(r(0), value);
            }
        }
        Ok(())
    }

    /// One half of a vector register.
    fn half(&mut self, insn: &Insn, op: Float) -> Done {
        let place = insn.memory[0];
        if place.base != 0 {
            return Err("the half of a vector is given by a number".to_string());
        }
        let vector = if op == Float::PutHalf { insn.regs[0] } else { insn.regs[1] };
        let half = if place.offset & 1 == 0 { self.left(vector) } else { self.right(vector) };
        if op == Float::PutHalf {
            let value = self.read(insn.regs[1], Part::All);
            self.e.write(half, value);
        } else {
            let value = self.e.read(half, Port::None);
            self.write(insn.regs[0], Part::All, value);
        }
        Ok(())
    }
}
