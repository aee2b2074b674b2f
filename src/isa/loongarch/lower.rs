//! The meaning of LoongArch instructions as micro-ops. It does not know syntax.

use super::insn::{Imm, Insn};
use super::regs::{self, R, RA, ZERO};
use super::table::{Amo, Does, Op1, Op2, Upper};
use crate::microcode::{Emit, Swap, mask};
use crate::thread::{self, Done};
use litmake_ops::{BinOp, Op, Port, Reg, Tags, Temp, UnOp, tag};

/// The bits of a register.
pub const W: u8 = 64;

/// Lowers one instruction.
pub type Lower<'a> = thread::Lower<'a, super::LoongArch>;

impl Lower<'_> {
    pub fn insn(&mut self, insn: &Insn) -> Done {
        let Insn { does, rd, rj, .. } = *insn;
        match does {
            Does::Nothing => {}
            Does::Trap => self.e.op(Op::Halt),
            Does::Op2(op, bits) => self.op2(insn, op, bits),
            Does::Op1(op, bits) => {
                let a = self.read(rj, Port::None);
                let value = self.op1(op, a, bits);
                self.write_part(rd, value, bits);
            }
            Does::ShiftAdd(..) | Does::BytePick(_) | Does::Insert(_) | Does::Extract(_) => {
                self.fields(insn);
            }
            Does::Upper(part) => self.upper(insn, part),
            Does::Relative => {
                if let Imm::Upper(name, off) = &insn.imm {
                    let value = self.symbol(name, *off)?;
                    self.write(rd, value);
                }
            }
            Does::Load(..) if insn.imm == Imm::Entry => self.copy(rd, rj),
            Does::Load(bytes, signed) => {
                let addr = self.address(insn);
                let value = self.e.load(addr, bytes, Tags::NONE);
                self.write_loaded(rd, value, bytes, signed);
            }
            Does::Store(bytes) => {
                let value = self.read(rd, Port::Data);
                let addr = self.address(insn);
                self.e.store(addr, value, bytes, Tags::NONE);
            }
            Does::LoadLinked(bytes, acquire) => {
                let addr = self.address(insn);
                let tags = if acquire { tag::EX | tag::RV_Acq } else { tag::EX };
                let value = self.e.load(addr, bytes, tags);
                self.write_loaded(rd, value, bytes, true);
            }
            Does::StoreConditional(bytes, release) => {
                let value = self.read(rd, Port::Data);
                let addr = self.address(insn);
                let tags = if release { tag::EX | tag::RV_Rel } else { tag::EX };
                self.store_conditional(rd, addr, value, bytes, tags);
            }
            Does::StorePair => {
                let low = self.read(rd, Port::Data);
                let high = self.read(insn.rk.unwrap_or(ZERO), Port::Data);
                let high = self.e.shift(BinOp::Shl, high, W, 2 * W);
                let value = self.e.bin(BinOp::Or, high, low, 2 * W);
                let addr = self.read(rj, Port::Addr);
                self.store_conditional(rd, addr, value, 16, tag::EX);
            }
            Does::Amo(op, bytes, barrier) => {
                let value = self.read(insn.rk.unwrap_or(ZERO), Port::Data);
                let addr = self.read(rj, Port::Addr);
                let old = self.amo(op, addr, value, bytes, atomic(barrier));
                self.write_loaded(rd, old, bytes, true);
            }
            Does::Cas(bytes, barrier) => self.cas(insn, bytes, atomic(barrier)),
            Does::Barrier => {
                if let Imm::Int(hint) = insn.imm
                    && let Some(tags) = barrier(hint)
                {
                    self.e.fence(tags);
                }
            }
            Does::Branch(op, holds) => {
                let target = self.target(&insn.target)?;
                let (a, b) = (self.read(rj, Port::None), self.read(rd, Port::None));
                let mut cond = self.e.bin(op, a, b, W);
                if !holds {
                    cond = self.e.bin_int(BinOp::Xor, cond, 1, 1);
                }
                self.e.op(Op::Branch { cond, target });
            }
            Does::BranchZero(zero) => {
                let target = self.target(&insn.target)?;
                let a = self.read(rj, Port::None);
                let cond = match zero {
                    true => self.e.is_zero(a, W),
                    false => self.e.bin_int(BinOp::Ne, a, 0, W),
                };
                self.e.op(Op::Branch { cond, target });
            }
            Does::Jump(link) => {
                let target = self.target(&insn.target)?;
                self.link(if link { RA } else { ZERO });
                self.e.op(Op::Jump { target });
            }
            Does::JumpRegister => self.jump_register(insn),
            Does::Vector(op) => self.vector(insn, op),
        }
        Ok(())
    }

    // Registers and constants.

    fn reg(&mut self, number: R) -> Reg {
        self.code.reg(regs::canonical(number), W, true)
    }

    /// The register 0 is a constant: nothing depends on it.
    pub fn read(&mut self, number: R, port: Port) -> Temp {
        if number == ZERO {
            return self.e.int(0);
        }
        let reg = self.reg(number);
        self.e.read(reg, port)
    }

    pub fn write(&mut self, number: R, value: Temp) {
        if number != ZERO {
            let reg = self.reg(number);
            self.e.write(reg, value);
        }
    }

    /// Writes a result of so many bits, extended by its sign.
    pub fn write_part(&mut self, number: R, value: Temp, bits: u8) {
        let value = self.e.sign_extend(value, bits, W);
        self.write(number, value);
    }

    /// Writes what was loaded, extended to the register.
    fn write_loaded(&mut self, number: R, value: Temp, bytes: u8, signed: bool) {
        if number != ZERO && signed {
            self.write_part(number, value, 8 * bytes);
        } else {
            self.write(number, value);
        }
    }

    /// A plain copy, which keeps addresses as they are.
    fn copy(&mut self, to: R, from: R) {
        let value = self.read(from, Port::None);
        self.write(to, value);
    }

    fn constant(&mut self, insn: &Insn) -> Temp {
        self.e.signed(number(insn).into(), W)
    }

    pub fn address(&mut self, insn: &Insn) -> Temp {
        let base = self.read(insn.rj, Port::Addr);
        if let Some(index) = insn.rk {
            let index = self.read(index, Port::Addr);
            return self.e.bin(BinOp::Add, base, index, W);
        }
        self.e.add_int(base, number(insn), W)
    }

    // Arithmetic. Every result depends on every operand.

    fn op2(&mut self, insn: &Insn, op: Op2, bits: u8) {
        let Insn { rd, rj, rk, .. } = *insn;
        let nothing = match (rk, &insn.imm) {
            (Some(rk), _) => rk == ZERO,
            (None, Imm::Int(n)) => *n == 0,
            (None, _) => true,
        };
        if nothing && bits == W && matches!(op, Op2::Bin(BinOp::Add | BinOp::Or)) {
            return self.copy(rd, rj);
        }
        let a = self.read(rj, Port::None);
        let b = match rk {
            Some(rk) => self.read(rk, Port::None),
            None => self.constant(insn),
        };
        let value = match op {
            Op2::Bin(op) => self.e.bin(op, a, b, bits),
            Op2::Shift(op) => {
                let count = self.e.bin_int(BinOp::And, b, u128::from(bits - 1), bits);
                self.e.bin(op, a, count, bits)
            }
            Op2::Nor => {
                let either = self.e.bin(BinOp::Or, a, b, bits);
                self.e.un(UnOp::Not, either, bits)
            }
            Op2::AndNot | Op2::OrNot => {
                let b = self.e.un(UnOp::Not, b, bits);
                let op = if op == Op2::AndNot { BinOp::And } else { BinOp::Or };
                self.e.bin(op, a, b, bits)
            }
            Op2::MulHalves { signed } => {
                let extend = |e: &mut Emit, half| match signed {
                    true => e.sign_extend(half, 32, W),
                    false => e.zero_extend(half, 32, W),
                };
                let (a, b) = (extend(&mut self.e, a), extend(&mut self.e, b));
                self.e.bin(BinOp::Mul, a, b, W)
            }
            // By zero, the manual says, the result may be anything.
            Op2::Divide(op) => self.e.divide(op, a, b, bits),
            Op2::ZeroIf { zero } => {
                let is_zero = self.e.is_zero(b, W);
                let keep = if zero { self.e.bin_int(BinOp::Xor, is_zero, 1, 1) } else { is_zero };
                // A mask and not a product, so that addresses pass.
                let keep = self.e.un(UnOp::Neg, keep, W);
                self.e.bin(BinOp::And, a, keep, W)
            }
        };
        self.write_part(rd, value, bits);
    }

    fn op1(&mut self, op: Op1, a: Temp, bits: u8) -> Temp {
        match op {
            Op1::LeadingOnes => {
                let a = self.e.un(UnOp::Not, a, bits);
                self.e.un(UnOp::Clz, a, bits)
            }
            Op1::LeadingZeros => self.e.un(UnOp::Clz, a, bits),
            Op1::TrailingOnes => {
                let a = self.e.un(UnOp::Not, a, bits);
                self.op1(Op1::TrailingZeros, a, bits)
            }
            Op1::TrailingZeros => {
                let turned = self.e.un(UnOp::BitReverse, a, bits);
                self.e.un(UnOp::Clz, turned, bits)
            }
            Op1::Extend(from) => self.e.sign_extend(a, from, bits),
            Op1::ReverseBits => self.e.un(UnOp::BitReverse, a, bits),
            Op1::Reverse { part, unit } => {
                // Neighbours change places: units, then pairs of them, and so on.
                let (mut a, mut step) = (a, unit);
                while step < part {
                    let low = (0..bits).filter(|bit| bit / step % 2 == 0);
                    let low = low.fold(0, |low, bit| low | 1u128 << bit);
                    let up = self.e.bin_int(BinOp::And, a, low, bits);
                    let up = self.e.shift(BinOp::Shl, up, step, bits);
                    let down = self.e.shift(BinOp::Shr, a, step, bits);
                    let down = self.e.bin_int(BinOp::And, down, low, bits);
                    a = self.e.bin(BinOp::Or, up, down, bits);
                    step *= 2;
                }
                a
            }
        }
    }

    /// Instructions that take parts of registers.
    fn fields(&mut self, insn: &Insn) {
        let Insn { rd, rj, low, .. } = *insn;
        let rk = insn.rk.unwrap_or(ZERO);
        let count = u8::try_from(number(insn)).unwrap_or(0);
        match insn.does {
            Does::ShiftAdd(bits, signed) => {
                let (a, b) = (self.read(rj, Port::None), self.read(rk, Port::None));
                let a = self.e.shift(BinOp::Shl, a, count, bits);
                let sum = self.e.bin(BinOp::Add, a, b, bits);
                if signed { self.write_part(rd, sum, bits) } else { self.write(rd, sum) }
            }
            Does::BytePick(bits) => {
                let (low, high) = (self.read(rj, Port::None), self.read(rk, Port::None));
                let high = self.e.shift(BinOp::Shl, high, 8 * count, bits);
                let low = match count {
                    0 => self.e.int(0),
                    _ => self.e.shift(BinOp::Shr, low, bits - 8 * count, bits),
                };
                let value = self.e.bin(BinOp::Or, high, low, bits);
                self.write_part(rd, value, bits);
            }
            Does::Insert(bits) => {
                let ones = mask(count - low + 1) << low;
                let old = self.read(rd, Port::None);
                let mut value = self.e.bin_int(BinOp::And, old, !ones & mask(bits), bits);
                // Zeros are put in by the mask alone, so that addresses are aligned.
                if rj != ZERO {
                    let new = self.read(rj, Port::None);
                    let new = self.e.shift(BinOp::Shl, new, low, bits);
                    let new = self.e.bin_int(BinOp::And, new, ones, bits);
                    value = self.e.bin(BinOp::Or, value, new, bits);
                }
                self.write_part(rd, value, bits);
            }
            Does::Extract(bits) => {
                let value = self.read(rj, Port::None);
                let value = self.e.shift(BinOp::Shr, value, low, bits);
                let value = self.e.zero_extend(value, count - low + 1, bits);
                self.write_part(rd, value, bits);
            }
            _ => {}
        }
    }

    fn upper(&mut self, insn: &Insn, part: Upper) {
        let Insn { rd, rj, .. } = *insn;
        let n = i128::from(number(insn));
        let value = match part {
            Upper::Word => self.e.signed(i128::from((n << 12) as i32), W),
            Upper::Middle => {
                let old = self.read(rd, Port::None);
                let old = self.e.zero_extend(old, 32, W);
                self.e.bin_int(BinOp::Or, old, (n << 32) as u128 & mask(W), W)
            }
            Upper::Top => {
                let old = self.read(rj, Port::None);
                let old = self.e.zero_extend(old, 52, W);
                self.e.bin_int(BinOp::Or, old, (n << 52) as u128 & mask(W), W)
            }
            Upper::Add => {
                let old = self.read(rj, Port::None);
                self.e.add_int(old, number(insn) << 16, W)
            }
        };
        self.write(rd, value);
    }

    // Atomics.

    fn store_conditional(&mut self, rd: R, addr: Temp, src: Temp, size: u8, tags: Tags) {
        let status = self.e.temp();
        let (ok, fail, status_dep, same_size) = (1, 0, true, false);
        self.e.op(Op::StoreEx { status, addr, src, size, tags, ok, fail, status_dep, same_size });
        self.write(rd, status);
    }

    /// An AM instruction is one event, both read and write; gives the old value.
    fn amo(&mut self, op: Amo, addr: Temp, value: Temp, bytes: u8, tags: Tags) -> Temp {
        self.e.rmw(addr, bytes, tags, |e, old| match op {
            Amo::Swap => value,
            Amo::Op(op) => e.bin(op, old, value, 8 * bytes),
        })
    }

    /// Either the comparison succeeds, and this is a read-modify-write; or it fails, and this is a load.
    fn cas(&mut self, insn: &Insn, bytes: u8, tags: Tags) {
        let bits = 8 * bytes;
        let want = self.read(insn.rd, Port::None);
        let want = self.e.zero_extend(want, bits, W);
        let value = self.read(insn.rk.unwrap_or(ZERO), Port::Data);
        // The value that is written also depends on the expected one.
        let new = self.e.depending(value, want, bits);
        let addr = self.read(insn.rj, Port::Addr);
        let (success, failure) = (tags, tags);
        let swap = Swap { addr, size: bytes, bits, want, new, weak: false, success, failure };
        let (old, _) = self.e.compare_exchange(&swap);
        self.write_loaded(insn.rd, old, bytes, true);
    }

    // Jumps.

    fn link(&mut self, rd: R) {
        if rd != ZERO {
            let next = self.next();
            self.write(rd, next);
        }
    }

    fn jump_register(&mut self, insn: &Insn) {
        // Without a code address in any register, this is a return to whoever started the thread.
        if !self.has_calls && insn.rj == RA {
            self.e.op(Op::Halt);
            return;
        }
        let addr = self.read(insn.rj, Port::None);
        let addr = self.e.add_int(addr, number(insn), W);
        self.link(insn.rd);
        self.e.op(Op::JumpTo { addr });
    }
}

/// The number of an instruction; 0 for parts of addresses that are in a register already.
pub fn number(insn: &Insn) -> i64 {
    match insn.imm {
        Imm::Int(n) => n,
        _ => 0,
    }
}

/// The annotations of an AM instruction: `_db` is a full barrier, too.
fn atomic(barrier: bool) -> Tags {
    if barrier { tag::X | tag::AMDB } else { tag::X }
}

/// The barrier of a hint, where it orders anything. Of the low five bits, the highest one tells a barrier
/// that waits until accesses are done from one that only keeps their order, which is one for models; each of
/// the others leaves something out: earlier reads, earlier writes, later reads, later writes. Hint 0x700
/// orders reads of one place. All other hints are full barriers.
fn barrier(hint: i64) -> Option<Tags> {
    if hint == 0x700 {
        return Some(tag::DBAR_SAME);
    }
    let left_out = match hint {
        0..32 => hint & 15,
        _ => 0,
    };
    // The sets by what they leave out: nothing, the second bit (writes), the first one (reads).
    let which = |bits: i64| [Some(2), Some(0), Some(1), None][(bits & 3) as usize];
    let table = [
        [tag::DBAR_r_r, tag::DBAR_r_w, tag::DBAR_r_rw],
        [tag::DBAR_w_r, tag::DBAR_w_w, tag::DBAR_w_rw],
        [tag::DBAR_rw_r, tag::DBAR_rw_w, tag::DBAR_rw_rw],
    ];
    let (before, after): (usize, usize) = (which(left_out >> 2)?, which(left_out)?);
    Some(table[before][after])
}
