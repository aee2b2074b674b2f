//! The meaning of RISC-V instructions as micro-ops. It does not know syntax.

use super::insn::{Address, Amo, Imm, Insn, Op2, Operand, Order, X};
use super::regs;
use crate::thread::{self, Done};
use litmake_ops::{BinOp, Op, Port, Reg, Temp, UnOp, tag};

/// Lowers one instruction.
pub type Lower<'a> = thread::Lower<'a, super::RiscV>;

impl Lower<'_> {
    pub fn insn(&mut self, insn: &Insn) -> Done {
        match insn {
            Insn::Nop => {}
            Insn::Stop => self.e.op(Op::Halt),
            Insn::Const { rd, value } => {
                let value = self.constant(value)?;
                self.write(*rd, value);
            }
            Insn::Copy { rd, a } => {
                let value = self.read(*a, Port::None);
                self.write(*rd, value);
            }
            Insn::Op2 { op, word, rd, a, b } => {
                let a = self.read(*a, Port::None);
                let b = match b {
                    Operand::Reg(b) => self.read(*b, Port::None),
                    Operand::Imm(n) => self.e.signed(i128::from(*n), 64),
                };
                let bits = if *word { 32 } else { 64 };
                let mut value = self.op2(*op, a, b, bits);
                if *word {
                    value = self.e.un(UnOp::SignExt { from: 32 }, value, 64);
                }
                self.write(*rd, value);
            }
            Insn::Op1 { op, word, rd, a } => {
                let a = self.read(*a, Port::None);
                let bits = if *word { 32 } else { 64 };
                let value = op(&mut self.e, a, bits);
                self.write(*rd, value);
            }
            Insn::Load { bytes, signed, order, rd, addr } => {
                let addr = self.address(addr)?;
                let value = self.e.load(addr, *bytes, order.of_load());
                self.write_loaded(*rd, value, *bytes, *signed);
            }
            Insn::Store { bytes, order, value, addr } => {
                let value = self.read(*value, Port::Data);
                let addr = self.address(addr)?;
                self.e.store(addr, value, *bytes, order.of_store());
            }
            Insn::LoadReserved { bytes, order, rd, addr } => {
                let addr = self.read(*addr, Port::Addr);
                let tags = tag::EX.with(order.of_load());
                let value = self.e.load(addr, *bytes, tags);
                self.write_loaded(*rd, value, *bytes, true);
            }
            Insn::StoreConditional { bytes, order, rd, value, addr } => {
                let src = self.read(*value, Port::Data);
                let addr = self.read(*addr, Port::Addr);
                let status = self.e.temp();
                self.e.op(Op::StoreEx {
                    status,
                    addr,
                    src,
                    size: *bytes,
                    tags: tag::EX.with(order.of_store()),
                    ok: 0,
                    fail: 1,
                    status_dep: true,
                    same_size: false,
                });
                self.write(*rd, status);
            }
            Insn::Amo { op, bytes, order, rd, value, addr } => {
                let value = self.read(*value, Port::Data);
                let addr = self.read(*addr, Port::Addr);
                let old = self.amo(*op, addr, value, *bytes, *order);
                self.write_loaded(*rd, old, *bytes, true);
            }
            Insn::Cas { bytes, order, rd, value, addr } => {
                self.cas(*bytes, *order, *rd, *value, *addr)
            }
            Insn::Fence(tags) => self.e.op(Op::Fence { tags: *tags }),
            Insn::Branch { op, holds, a, b, target } => {
                let target = self.target(target)?;
                let a = self.read(*a, Port::None);
                let b = self.read(*b, Port::None);
                let mut cond = self.e.bin(*op, a, b, 64);
                if !holds {
                    cond = self.e.bin_int(BinOp::Xor, cond, 1, 1);
                }
                self.e.op(Op::Branch { cond, target });
            }
            Insn::Jump { rd, target } => {
                let target = self.target(target)?;
                self.link(*rd);
                self.e.op(Op::Jump { target });
            }
            Insn::JumpReg { rd, base, off } => self.jump_reg(*rd, *base, *off),
            Insn::Float(insn) => self.float(insn)?,
        }
        Ok(())
    }

    // Registers and constants.

    fn reg(&mut self, num: X) -> Reg {
        self.code.reg(regs::canonical(num), 64, true)
    }

    /// x0 is a constant: nothing depends on it.
    pub fn read(&mut self, num: X, port: Port) -> Temp {
        if num == 0 {
            return self.e.int(0);
        }
        let reg = self.reg(num);
        self.e.read(reg, port)
    }

    pub fn write(&mut self, num: X, value: Temp) {
        if num != 0 {
            let reg = self.reg(num);
            self.e.write(reg, value);
        }
    }

    /// Writes what was loaded, extended to the register.
    pub fn write_loaded(&mut self, rd: X, value: Temp, bytes: u8, signed: bool) {
        if rd == 0 {
            return;
        }
        let value = if signed { self.e.sign_extend(value, 8 * bytes, 64) } else { value };
        self.write(rd, value);
    }

    fn constant(&mut self, value: &Imm) -> Result<Temp, String> {
        match value {
            Imm::Int(n) => Ok(self.e.signed(i128::from(*n), 64)),
            Imm::Symbol(name, off) => self.symbol(name, *off),
        }
    }

    pub fn address(&mut self, addr: &Address) -> Result<Temp, String> {
        match addr {
            Address::Symbol(name, off) => self.symbol(name, *off),
            Address::Base(base, off) => {
                let base = self.read(*base, Port::Addr);
                Ok(self.e.add_int(base, *off, 64))
            }
        }
    }

    // Arithmetic. Every result depends on every operand: there is no conditional select here.

    fn op2(&mut self, op: Op2, a: Temp, b: Temp, bits: u8) -> Temp {
        let count_mask = u128::from(bits - 1);
        match op {
            Op2::Bin(op) => self.e.bin(op, a, b, bits),
            Op2::Shift(op) => {
                let count = self.e.bin_int(BinOp::And, b, count_mask, bits);
                self.e.bin(op, a, count, bits)
            }
            Op2::RotateLeft => {
                let back = self.e.un(UnOp::Neg, b, bits);
                let count = self.e.bin_int(BinOp::And, back, count_mask, bits);
                self.e.bin(BinOp::Ror, a, count, bits)
            }
            Op2::AndNot | Op2::OrNot => {
                let b = self.e.un(UnOp::Not, b, bits);
                let op = if op == Op2::AndNot { BinOp::And } else { BinOp::Or };
                self.e.bin(op, a, b, bits)
            }
            Op2::XorNot => {
                let x = self.e.bin(BinOp::Xor, a, b, bits);
                self.e.un(UnOp::Not, x, bits)
            }
            Op2::MulHiSU => {
                let a = self.e.un(UnOp::SignExt { from: 64 }, a, 128);
                let product = self.e.bin(BinOp::Mul, a, b, 128);
                self.e.bin_int(BinOp::Shr, product, 64, 128)
            }
            Op2::Div { signed } => {
                // By zero the quotient is all ones.
                let (quotient, by_zero) = self.e.quotient(a, b, bits, signed);
                let ones = self.e.un(UnOp::Neg, by_zero, bits);
                self.e.bin(BinOp::Or, quotient, ones, bits)
            }
            Op2::Rem { signed } => {
                // By zero this leaves the dividend, as it should.
                let (quotient, _) = self.e.quotient(a, b, bits, signed);
                let product = self.e.bin(BinOp::Mul, quotient, b, bits);
                self.e.bin(BinOp::Sub, a, product, bits)
            }
            Op2::ShiftAdd(shift) => {
                let a = self.e.bin_int(BinOp::Shl, a, shift.into(), 64);
                self.e.bin(BinOp::Add, a, b, 64)
            }
            Op2::ShiftAddUw(shift) => {
                let a = self.e.un(UnOp::ZeroExt { from: 32 }, a, 64);
                let a = self.e.bin_int(BinOp::Shl, a, shift.into(), 64);
                self.e.bin(BinOp::Add, a, b, 64)
            }
            Op2::ShiftUw => {
                let a = self.e.un(UnOp::ZeroExt { from: 32 }, a, 64);
                let count = self.e.bin_int(BinOp::And, b, count_mask, 64);
                self.e.bin(BinOp::Shl, a, count, 64)
            }
            Op2::ZeroIf { zero } => {
                let is_zero = self.e.is_zero(b, 64);
                let keep = if zero { self.e.bin_int(BinOp::Xor, is_zero, 1, 1) } else { is_zero };
                // A mask and not a product, so that addresses pass.
                let keep = self.e.un(UnOp::Neg, keep, 64);
                self.e.bin(BinOp::And, a, keep, 64)
            }
            Op2::BitSet | Op2::BitClear | Op2::BitInvert => {
                let count = self.e.bin_int(BinOp::And, b, count_mask, 64);
                let one = self.e.int(1);
                let bit = self.e.bin(BinOp::Shl, one, count, 64);
                match op {
                    Op2::BitSet => self.e.bin(BinOp::Or, a, bit, 64),
                    Op2::BitInvert => self.e.bin(BinOp::Xor, a, bit, 64),
                    _ => {
                        let rest = self.e.un(UnOp::Not, bit, 64);
                        self.e.bin(BinOp::And, a, rest, 64)
                    }
                }
            }
            Op2::BitExtract => {
                let count = self.e.bin_int(BinOp::And, b, count_mask, 64);
                let a = self.e.bin(BinOp::Shr, a, count, 64);
                self.e.bin_int(BinOp::And, a, 1, 64)
            }
        }
    }

    // Atomics.

    /// An AMO is one event, both read and write, as the memory model has it; gives the old value.
    fn amo(&mut self, op: Amo, addr: Temp, value: Temp, bytes: u8, order: Order) -> Temp {
        let tags = tag::X.with(order.tags());
        self.e.rmw(addr, bytes, tags, |e, old| match op {
            Amo::Swap => value,
            Amo::Op(op) => e.bin(op, old, value, 8 * bytes),
        })
    }

    /// Either the comparison succeeds, and this is an AMO; or it fails, and this is a load, which
    /// an acquire annotation orders and a release annotation does not.
    fn cas(&mut self, bytes: u8, order: Order, rd: X, value: X, addr: X) {
        let bits = 8 * bytes;
        let expected = self.pair_or_reg(rd, bytes, Port::None);
        let value = self.pair_or_reg(value, bytes, Port::Data);
        let addr = self.read(addr, Port::Addr);
        let cond = self.e.temp();
        self.e.op(Op::Choose { dst: cond });
        let outer = self.e.begin();
        // The value that is written also depends on the expected one.
        let nothing = self.e.bin(BinOp::Xor, expected, expected, bits);
        let new = self.e.bin(BinOp::Or, value, nothing, bits);
        let old = self.amo(Amo::Swap, addr, new, bytes, order);
        let equal = self.e.bin(BinOp::Eq, old, expected, bits);
        self.e.op(Op::Assume { cond: equal });
        self.write_cas(rd, old, bytes);
        let yes = self.e.end(outer);
        let outer = self.e.begin();
        let acquire = Order { aq: order.aq, rl: false };
        let tags = tag::X.with(acquire.tags());
        let old = self.e.load(addr, bytes, tags);
        let differs = self.e.bin(BinOp::Ne, old, expected, bits);
        self.e.op(Op::Assume { cond: differs });
        self.write_cas(rd, old, bytes);
        let no = self.e.end(outer);
        self.e.op(Op::If { cond, yes, no });
    }

    fn pair_or_reg(&mut self, num: X, bytes: u8, port: Port) -> Temp {
        if bytes < 16 {
            return self.read(num, port);
        }
        // The pair of x0 is zero as a whole.
        let low = self.read(num, port);
        let high = if num == 0 { self.e.int(0) } else { self.read(num + 1, port) };
        let high = self.e.bin_int(BinOp::Shl, high, 64, 128);
        self.e.bin(BinOp::Or, high, low, 128)
    }

    fn write_cas(&mut self, rd: X, old: Temp, bytes: u8) {
        if bytes < 16 {
            self.write_loaded(rd, old, bytes, true);
        } else if rd != 0 {
            let low = self.e.un(UnOp::ZeroExt { from: 64 }, old, 128);
            let high = self.e.bin_int(BinOp::Shr, old, 64, 128);
            self.write(rd, low);
            self.write(rd + 1, high);
        }
    }

    // Jumps.

    fn link(&mut self, rd: X) {
        if rd != 0 {
            let next = self.next();
            self.write(rd, next);
        }
    }

    fn jump_reg(&mut self, rd: X, base: X, off: i64) {
        // Without a code address in any register, this is a return to whoever started the thread.
        if !self.has_calls && base == super::insn::RA {
            self.e.op(Op::Halt);
            return;
        }
        let addr = self.read(base, Port::None);
        let addr = self.e.add_int(addr, off, 64);
        self.link(rd);
        self.e.op(Op::JumpTo { addr });
    }
}
