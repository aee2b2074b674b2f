//! Atomics of s390x, and instructions that access several places or registers. A read and a write that are one update
//! carry X.

use super::insn::{Address, Insn};
use super::lower::{Lower, W};
use super::regs::R;
use super::table::{Cc, Does, Part};
use crate::thread::Done;
use litmake_ops::{BinOp, Op, Port, Tags, Temp, tag};

/// The part of a register that so many bytes are.
fn part(bytes: u8) -> Part {
    if bytes == 8 { Part::All } else { Part::Low }
}

impl Lower<'_> {
    pub fn memory(&mut self, insn: &Insn) -> Done {
        match insn.does {
            Does::Update(op, bytes, cc, whole) => {
                let tags = if whole { tag::X } else { Tags::NONE };
                let addr = self.place(insn)?;
                let number = self.e.signed(insn.numbers[0].into(), 8 * bytes);
                let old = self.e.load(addr, bytes, tags);
                let new = self.e.bin(op, old, number, 8 * bytes);
                self.e.store(addr, new, bytes, tags);
                self.code(cc, op, (old, number), new, 8 * bytes);
            }
            Does::LoadAnd(op, bytes, cc) => self.load_and(insn, op, bytes, cc)?,
            Does::Exchange(bytes) => {
                let [found, new] = [insn.regs[0], insn.regs[1]];
                let expected = self.read(found, part(bytes));
                let new = self.read(new, part(bytes));
                let old = self.exchange(insn, bytes, expected, new)?;
                let cond = self.e.bin(BinOp::Eq, expected, old, 8 * bytes);
                let outer = self.e.begin();
                self.write(found, part(bytes), old);
                let no = self.e.end(outer);
                self.e.op(Op::If { cond, yes: Vec::new(), no });
            }
            Does::ExchangePair(bytes) => {
                let half = part(bytes / 2);
                let expected = self.read_pair(insn.regs[0], half);
                let new = self.read_pair(insn.regs[1], half);
                let old = self.exchange(insn, bytes, expected, new)?;
                let cond = self.e.bin(BinOp::Eq, expected, old, 8 * bytes);
                let outer = self.e.begin();
                self.write_pair(insn.regs[0], half, old);
                let no = self.e.end(outer);
                self.e.op(Op::If { cond, yes: Vec::new(), no });
            }
            Does::TestAndSet => {
                let addr = self.place(insn)?;
                let ones = self.e.int(0xff);
                let old = self.e.load(addr, 1, tag::X);
                self.e.store(addr, ones, 1, tag::X);
                let set = self.e.bit(old, 7, 8);
                let free = self.e.bin_int(BinOp::Xor, set, 1, 1);
                let none = self.e.int(0);
                self.set_code([free, set, none, none]);
            }
            Does::LoadPair => {
                let addr = self.place(insn)?;
                let value = self.e.load(addr, 16, Tags::NONE);
                self.write_pair(insn.regs[0], Part::All, value);
            }
            Does::StorePair => {
                let value = self.read_pair(insn.regs[0], Part::All);
                let addr = self.place(insn)?;
                self.e.store(addr, value, 16, Tags::NONE);
            }
            Does::LoadMany(bytes) => {
                for (number, addr) in self.many(insn, bytes)? {
                    let value = self.e.load(addr, bytes, Tags::NONE);
                    self.write(number, part(bytes), value);
                }
            }
            Does::StoreMany(bytes) => {
                for (number, addr) in self.many(insn, bytes)? {
                    let value = self.read(number, part(bytes));
                    self.e.store(addr, value, bytes, Tags::NONE);
                }
            }
            Does::MoveBytes => self.move_bytes(insn)?,
            _ => self.clear_bytes(insn)?,
        }
        Ok(())
    }

    /// The old value goes to the first register, and memory becomes it combined with the second one.
    fn load_and(&mut self, insn: &Insn, op: BinOp, bytes: u8, cc: Cc) -> Done {
        let addr = self.place(insn)?;
        let by = self.read(insn.regs[1], part(bytes));
        let old = self.e.load(addr, bytes, tag::X);
        let new = self.e.bin(op, old, by, 8 * bytes);
        self.e.store(addr, new, bytes, tag::X);
        self.write(insn.regs[0], part(bytes), old);
        self.code(cc, op, (old, by), new, 8 * bytes);
        Ok(())
    }

    /// Writes the new value where memory has the expected one. Gives what memory had, and sets the condition code.
    fn exchange(
        &mut self,
        insn: &Insn,
        bytes: u8,
        expected: Temp,
        new: Temp,
    ) -> Result<Temp, String> {
        let addr = self.place(insn)?;
        let old = self.e.load(addr, bytes, tag::X);
        let cond = self.e.bin(BinOp::Eq, expected, old, 8 * bytes);
        self.e.if_else(cond, |e| e.store(addr, new, bytes, tag::X), |_| ());
        let differs = self.e.bin_int(BinOp::Xor, cond, 1, 1);
        let none = self.e.int(0);
        self.set_code([cond, differs, none, none]);
        Ok(old)
    }

    /// The even register of a pair has the upper half.
    fn read_pair(&mut self, number: R, half: Part) -> Temp {
        let (high, low) = (self.read(number, half), self.read(number | 1, half));
        let low = self.e.zero_extend(low, half.bits(), 2 * half.bits());
        let high = self.e.shift(BinOp::Shl, high, half.bits(), 2 * half.bits());
        self.e.bin(BinOp::Or, high, low, 2 * half.bits())
    }

    fn write_pair(&mut self, number: R, half: Part, value: Temp) {
        let width = 2 * half.bits();
        let high = self.e.shift(BinOp::Shr, value, half.bits(), width);
        let low = self.e.zero_extend(value, half.bits(), width);
        self.write(number, half, high);
        self.write(number | 1, half, low);
    }

    /// The registers from the first to the last one, round from 15 to 0, with the address of each.
    fn many(&mut self, insn: &Insn, bytes: u8) -> Result<Vec<(R, Temp)>, String> {
        let start = self.place(insn)?;
        let (first, last) = (insn.regs[0], insn.regs[1]);
        let count = last.wrapping_sub(first) % 16 + 1;
        let step = |i: R| i64::from(i) * i64::from(bytes);
        let each = |i: R| ((first + i) % 16, self.e.add_int(start, step(i), W));
        Ok((0..count).map(each).collect())
    }

    /// Copies bytes, as whole numbers where they are: what is aligned is moved as one (the manual's
    /// block-concurrent accesses).
    fn move_bytes(&mut self, insn: &Insn) -> Done {
        let [to, from] = insn.memory[..] else {
            return Err("two addresses are expected".to_string());
        };
        let ahead = to.offset - from.offset;
        let overlaps = to.base == from.base && (1..i64::from(insn.bytes)).contains(&ahead);
        let most = if overlaps { 1 } else { 8 };
        let (to, from) = (self.address(to, Port::Addr), self.address(from, Port::Addr));
        for (at, size) in pieces(insn.bytes, most) {
            let place = self.e.add_int(from, at, W);
            let value = self.e.load(place, size, Tags::NONE);
            let place = self.e.add_int(to, at, W);
            self.e.store(place, value, size, Tags::NONE);
        }
        Ok(())
    }

    /// Bytes combined with themselves are 0.
    fn clear_bytes(&mut self, insn: &Insn) -> Done {
        let same = matches!(insn.memory[..], [a, b] if a == b);
        if !same {
            return Err("`xc` is supported with the same place twice, which it clears".to_string());
        }
        let to: Address = insn.memory[0];
        let to = self.address(to, Port::Addr);
        let zero = self.e.int(0);
        for (at, size) in pieces(insn.bytes, 8) {
            let place = self.e.add_int(to, at, W);
            self.e.store(place, zero, size, Tags::NONE);
        }
        let (yes, no) = (self.e.int(1), self.e.int(0));
        self.set_code([yes, no, no, no]);
        Ok(())
    }
}

/// So many bytes as numbers, none larger than `most`: where each begins, and its size.
fn pieces(bytes: u16, most: u8) -> Vec<(i64, u8)> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes {
        let left = bytes - at;
        let size =
            [8u8, 4, 2, 1].into_iter().find(|size| *size <= most && u16::from(*size) <= left);
        let size = size.unwrap_or(1);
        out.push((i64::from(at), size));
        at += u16::from(size);
    }
    out
}
