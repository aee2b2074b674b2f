//! The meaning of BPF instructions as micro-ops. It does not know syntax.

use super::insn::{Address, Alu, Atomic, Insn, Operand, Part, R, Taken, Test};
use crate::thread::{self, Done};
use litmake_ops::{BinOp, Op, Port, Tags, Temp, UnOp, Val, tag};

/// Lowers one instruction.
type Lower<'a> = thread::Lower<'a, super::Bpf>;

impl Lower<'_> {
    pub fn insn(&mut self, insn: &Insn) -> Done {
        match insn {
            Insn::Const { dst, part, value } => {
                let value = self.e.signed(i128::from(*value), part.bits());
                self.write(*dst, value);
            }
            Insn::Location { dst, name, off } => {
                let loc = self.symbols.location(name);
                let value = self.e.val(Val::Ptr { loc, off: *off });
                self.write(*dst, value);
            }
            Insn::Move { dst, part, from, taken } => {
                let from = self.read(*from, *part, Port::None);
                let bits = part.bits();
                let value = match taken {
                    Taken::All => from,
                    Taken::Signed(from_bits) => self.e.sign_extend(from, *from_bits, bits),
                    Taken::Negative => self.e.un(UnOp::Neg, from, bits),
                    Taken::Swapped(bits) => {
                        let from = self.e.zero_extend(from, *bits, 64);
                        self.e.un(UnOp::ByteSwap, from, *bits)
                    }
                    Taken::Cut(bits) => self.e.zero_extend(from, *bits, 64),
                };
                self.write(*dst, value);
            }
            Insn::Alu { op, part, dst, by } => {
                let a = self.read(*dst, *part, Port::None);
                let b = self.operand(*by, *part, Port::None);
                let value = self.alu(*op, a, b, part.bits());
                self.write(*dst, value);
            }
            Insn::Load { dst, bytes, signed, acquire, at } => {
                let addr = self.address(*at);
                let tags = if *acquire { tag::BPF_AQ } else { Tags::NONE };
                let mut value = self.e.load(addr, *bytes, tags);
                if *signed {
                    value = self.e.sign_extend(value, 8 * bytes, 64);
                }
                self.write(*dst, value);
            }
            Insn::Store { bytes, release, at, value } => {
                let value = self.operand(*value, Part::Whole, Port::Data);
                let addr = self.address(*at);
                let tags = if *release { tag::BPF_RL } else { Tags::NONE };
                self.e.store(addr, value, *bytes, tags);
            }
            Insn::Atomic { op, bytes, at, value } => self.atomic(*op, *bytes, *at, *value),
            Insn::Jump { label } => {
                let target = self.target(label)?;
                self.e.op(Op::Jump { target });
            }
            Insn::Branch { test, part, a, b, label } => {
                let target = self.target(label)?;
                let a = self.read(*a, *part, Port::None);
                let b = self.operand(*b, *part, Port::None);
                let cond = self.test(*test, a, b, part.bits());
                self.e.op(Op::Branch { cond, target });
            }
            Insn::Exit => self.e.op(Op::Halt),
        }
        Ok(())
    }

    fn read(&mut self, number: R, part: Part, port: Port) -> Temp {
        let reg = self.code.reg(super::NAMES[usize::from(number)], 64, true);
        let value = self.e.read(reg, port);
        match part {
            Part::Low => self.e.zero_extend(value, 32, 64),
            Part::Whole => value,
        }
    }

    /// Every result has its high bits clear already, where it has fewer than 64.
    fn write(&mut self, number: R, value: Temp) {
        let reg = self.code.reg(super::NAMES[usize::from(number)], 64, true);
        self.e.write(reg, value);
    }

    fn operand(&mut self, operand: Operand, part: Part, port: Port) -> Temp {
        match operand {
            Operand::Reg(number) => self.read(number, part, port),
            Operand::Imm(n) => self.e.signed(i128::from(n), part.bits()),
        }
    }

    fn address(&mut self, at: Address) -> Temp {
        let base = self.read(at.base, Part::Whole, Port::Addr);
        self.e.add_int(base, at.off, 64)
    }

    fn alu(&mut self, op: Alu, a: Temp, b: Temp, bits: u8) -> Temp {
        match op {
            Alu::Bin(op) => self.e.bin(op, a, b, bits),
            Alu::Shift(op) => {
                let count = self.e.bin_int(BinOp::And, b, u128::from(bits - 1), bits);
                self.e.bin(op, a, count, bits)
            }
            Alu::Div { signed } => {
                let (quotient, by_zero) = self.e.quotient(a, b, bits, signed);
                let zero = self.e.int(0);
                self.e.select(by_zero, zero, quotient)
            }
            Alu::Rem { signed } => {
                let (quotient, by_zero) = self.e.quotient(a, b, bits, signed);
                let product = self.e.bin(BinOp::Mul, quotient, b, bits);
                let rest = self.e.bin(BinOp::Sub, a, product, bits);
                self.e.select(by_zero, a, rest)
            }
        }
    }

    fn test(&mut self, test: Test, a: Temp, b: Temp, bits: u8) -> Temp {
        let (a, b) = if test.swap { (b, a) } else { (a, b) };
        let result = self.e.bin(test.op, a, b, bits);
        if test.holds { result } else { self.e.bin_int(BinOp::Xor, result, 1, 1) }
    }

    /// A read-modify-write is one event. A compare-exchange is two where it succeeds, and else a load that
    /// orders nothing, as the kernel's model has it.
    fn atomic(&mut self, op: Atomic, bytes: u8, at: Address, reg: R) {
        let bits = 8 * bytes;
        let value = self.read(reg, Part::Whole, Port::Data);
        let addr = self.address(at);
        let full = tag::X.with(tag::C_SC);
        match op {
            Atomic::Op { op, fetch } => {
                let tags = if fetch { full } else { tag::X };
                let old = self.e.rmw(addr, bytes, tags, |e, old| e.bin(op, old, value, bits));
                if fetch {
                    self.write(reg, old);
                }
            }
            Atomic::Exchange => {
                let old = self.e.rmw(addr, bytes, full, |_, _| value);
                self.write(reg, old);
            }
            Atomic::CompareExchange => {
                let expected = self.read(0, Part::Whole, Port::None);
                let expected = self.e.zero_extend(expected, bits, 64);
                let cond = self.e.temp();
                self.e.op(Op::Choose { dst: cond });
                let found = |l: &mut Lower, op, tags| {
                    let old = l.e.load(addr, bytes, tags);
                    let is = l.e.bin(op, old, expected, bits);
                    l.e.op(Op::Assume { cond: is });
                    old
                };
                let outer = self.e.begin();
                let old = found(self, BinOp::Eq, full);
                self.e.store(addr, value, bytes, full);
                self.write(0, old);
                let yes = self.e.end(outer);
                let outer = self.e.begin();
                let old = found(self, BinOp::Ne, Tags::NONE);
                self.write(0, old);
                let no = self.e.end(outer);
                self.e.op(Op::If { cond, yes, no });
            }
        }
    }
}
