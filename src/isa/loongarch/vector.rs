//! The meaning of moves of vector registers. Floating point has their low parts.

use super::insn::Insn;
use super::lower::{Lower, W, number};
use super::regs::R;
use super::table::Vector;
use litmake_ops::{BinOp, Port, Reg, Tags, Temp};

/// The bits of a vector register.
const V: u8 = 128;

impl Lower<'_> {
    fn vector_reg(&mut self, number: R) -> Reg {
        self.code.reg(&format!("$vr{number}"), V, false)
    }

    fn read_vector(&mut self, number: R, port: Port) -> Temp {
        let reg = self.vector_reg(number);
        self.e.read(reg, port)
    }

    fn write_vector(&mut self, number: R, value: Temp) {
        let reg = self.vector_reg(number);
        self.e.write(reg, value);
    }

    pub fn vector(&mut self, insn: &Insn, op: Vector) {
        let Insn { rd, rj, .. } = *insn;
        match op {
            Vector::Load(bytes) => {
                let addr = self.address(insn);
                let value = self.e.load(addr, bytes, Tags::NONE);
                self.write_vector(rd, value);
            }
            Vector::Store(bytes) => {
                let value = self.read_vector(rd, Port::Data);
                let value = self.e.zero_extend(value, 8 * bytes, V);
                let addr = self.address(insn);
                self.e.store(addr, value, bytes, Tags::NONE);
            }
            Vector::To(bits) => {
                let value = self.read(rj, Port::None);
                let value = self.e.zero_extend(value, bits, W);
                self.write_vector(rd, value);
            }
            Vector::From(bits) => {
                let value = self.read_vector(rj, Port::None);
                let value = self.e.zero_extend(value, bits, V);
                self.write_part(rd, value, bits);
            }
            Vector::Copy => {
                let value = self.read_vector(rj, Port::None);
                self.write_vector(rd, value);
            }
            Vector::Fill => {
                // Two bits for the size of a part, and ten for its value, which has a sign.
                let n = number(insn);
                let bits = 8u32 << (n >> 10 & 3);
                let part = ((n << 54 >> 54) as u128) & (u128::MAX >> (128 - bits));
                let all = (0..128 / bits).fold(0, |all, at| all | part << (at * bits));
                let value = self.e.int(all);
                self.write_vector(rd, value);
            }
            Vector::Spread => {
                let low = self.read(rj, Port::None);
                let high = self.e.shift(BinOp::Shl, low, W, V);
                let value = self.e.bin(BinOp::Or, high, low, V);
                self.write_vector(rd, value);
            }
            Vector::Pick => {
                let value = self.read_vector(rj, Port::None);
                let value = self.e.shift(BinOp::Shr, value, W * (number(insn) & 1) as u8, V);
                let value = self.e.zero_extend(value, W, V);
                self.write(rd, value);
            }
            Vector::StoreHalf => {
                let value = self.read_vector(rd, Port::Data);
                let value = self.e.shift(BinOp::Shr, value, W * (insn.low & 1), V);
                let value = self.e.zero_extend(value, W, V);
                let addr = self.address(insn);
                self.e.store(addr, value, 8, Tags::NONE);
            }
            Vector::Put => {
                let at = W * (number(insn) & 1) as u8;
                let new = self.read(rj, Port::None);
                let new = self.e.shift(BinOp::Shl, new, at, V);
                let old = self.read_vector(rd, Port::None);
                let kept = u128::from(u64::MAX) << (W - at);
                let old = self.e.bin_int(BinOp::And, old, kept, V);
                let value = self.e.bin(BinOp::Or, old, new, V);
                self.write_vector(rd, value);
            }
        }
    }
}
