//! Read-modify-writes of x86. With a `lock` prefix (which `xchg` with memory always has), the
//! read and the write carry X; without one they are a plain read and a plain write.

use super::arith::tags_of;
use super::insn::{Arg, Do, Gpr, Insn, RAX, RBX, RCX, RDX, Size};
use super::lower::{Lower, ZF};
use crate::thread::Done;
use litmake_ops::{BinOp, Op, Port, Tags, Temp, tag};

impl Lower<'_> {
    pub fn atomic(&mut self, insn: &Insn) -> Done {
        let (size, args) = (insn.size, insn.args.as_slice());
        match (insn.what, args) {
            (Do::Xchg, [dst @ (Arg::Reg(_) | Arg::Mem(_)), Arg::Reg(reg)]) => {
                let place = self.place(dst)?;
                let tags = if matches!(dst, Arg::Mem(_)) { tag::X } else { Tags::NONE };
                let new = self.read_reg(*reg, Port::Data);
                let old = self.get(place, size, tags);
                self.put(place, size, new, tags)?;
                self.write_reg(*reg, old, size);
                Ok(())
            }
            (Do::Xadd, [dst @ (Arg::Reg(_) | Arg::Mem(_)), Arg::Reg(reg)]) => {
                let place = self.place(dst)?;
                let by = self.read_reg(*reg, Port::Data);
                let old = self.get(place, size, tags_of(insn));
                let sum = self.add(old, by, None, size);
                // The source first: where both are one register, the sum stays.
                self.write_reg(*reg, old, size);
                self.put(place, size, sum, tags_of(insn))
            }
            (Do::Cmpxchg, [dst @ (Arg::Reg(_) | Arg::Mem(_)), Arg::Reg(reg)]) => {
                self.cmpxchg(dst, *reg, insn)
            }
            (Do::CmpxchgPair, [Arg::Mem(mem)]) => {
                let addr = self.address(mem, Port::Addr)?;
                self.cmpxchg_pair(addr, size, tags_of(insn))
            }
            (Do::CmpxchgPair, _) => Err("a memory operand is expected".to_string()),
            _ => Err("a register and a destination are expected".to_string()),
        }
    }

    /// The write-back of an unequal comparison is left out: it writes what was there, at the
    /// moment it was read, so that nobody can tell, and it would cost a write event.
    fn cmpxchg(&mut self, dst: &Arg, reg: Gpr, insn: &Insn) -> Done {
        let size = insn.size;
        let acc = Gpr::new(RAX, size);
        let place = self.place(dst)?;
        let expected = self.read_reg(acc, Port::None);
        let new = self.read_reg(reg, Port::Data);
        let old = self.get(place, size, tags_of(insn));
        self.subtract(expected, old, None, size);
        let cond = self.e.bin(BinOp::Eq, expected, old, size.bits());
        let outer = self.e.begin();
        self.put(place, size, new, tags_of(insn))?;
        let yes = self.e.end(outer);
        let outer = self.e.begin();
        self.write_reg(acc, old, size);
        let no = self.e.end(outer);
        self.e.op(Op::If { cond, yes, no });
        Ok(())
    }

    /// The double-width form does write back: compilers load with it where there is no plain
    /// load so wide, and a load that writes is an error if the memory is read-only.
    fn cmpxchg_pair(&mut self, addr: Temp, size: Size, tags: Tags) -> Done {
        let bits = size.bits();
        let mut read_pair = |high: u8, low: u8| {
            let high = self.read_reg(Gpr::new(high, size), Port::Data);
            let low = self.read_reg(Gpr::new(low, size), Port::Data);
            self.pair(high, low, size)
        };
        let expected = read_pair(RDX, RAX);
        let new = read_pair(RCX, RBX);
        let old = self.e.load(addr, 2 * size.bytes(), tags);
        let cond = self.e.bin(BinOp::Eq, expected, old, 2 * bits);
        self.write_flag(ZF, cond);
        let value = self.e.select(cond, new, old);
        self.e.store(addr, value, 2 * size.bytes(), tags);
        let low = self.low(old, size);
        let high = self.high(old, size);
        let outer = self.e.begin();
        self.write_reg(Gpr::new(RAX, size), low, size);
        self.write_reg(Gpr::new(RDX, size), high, size);
        let no = self.e.end(outer);
        self.e.op(Op::If { cond, yes: Vec::new(), no });
        Ok(())
    }
}
