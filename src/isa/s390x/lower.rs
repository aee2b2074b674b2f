//! The meaning of s390x instructions as micro-ops: registers and their parts, operands, copies, branches. It does not
//! know syntax.

use super::insn::{Address, Insn};
use super::regs::{self, R};
use super::table::{Does, Extended, Part};
use crate::microcode::mask;
use crate::thread::{self, Done};
use litmake_ops::{BinOp, Op, Port, Reg, Tags, Temp, tag};

/// The bits of a register.
pub const W: u8 = 64;

/// The register that the convention of calls has for return addresses.
const LINK: R = 14;

/// Lowers one instruction.
pub type Lower<'a> = thread::Lower<'a, super::S390x>;

impl Lower<'_> {
    pub fn insn(&mut self, insn: &Insn) -> Done {
        match insn.does {
            Does::Nothing => {}
            Does::Trap => self.e.op(Op::Halt),
            Does::Serialize => {
                if matches!(insn.numbers[..], [14 | 15]) {
                    self.e.fence(tag::BCR);
                }
            }
            Does::Copy(part, from) => {
                let value = self.second(insn, part, from)?;
                self.write(insn.regs[0], part, value);
            }
            Does::Address => {
                let value = match &insn.symbol {
                    Some((name, off)) => self.symbol(name, *off)?,
                    None => self.address(insn.memory[0], Port::None),
                };
                self.write(insn.regs[0], Part::All, value);
            }
            Does::Set(low) => {
                let value = self.e.int((insn.numbers[0] as u128 & mask(32)) << low);
                self.write(insn.regs[0], Part::All, value);
            }
            Does::Insert(low, bits) => {
                let new = self.e.int((insn.numbers[0] as u128 & mask(bits)) << low);
                self.replace(insn.regs[0], mask(bits) << low, new);
            }
            Does::InsertByte => {
                let new = self.memory_read(insn, 1)?;
                self.replace(insn.regs[0], 0xff, new);
            }
            Does::LoadIf(part, from) => {
                let cond = self.condition(insn.mask);
                let outer = self.e.begin();
                let value = self.second(insn, part, from)?;
                self.write(insn.regs[0], part, value);
                let yes = self.e.end(outer);
                self.e.op(Op::If { cond, yes, no: Vec::new() });
            }
            Does::Select(part) => {
                let cond = self.condition(insn.mask);
                let [yes, no] = [1, 2].map(|i| self.read(insn.regs[i], part));
                let value = self.e.select(cond, yes, no);
                self.write(insn.regs[0], part, value);
            }
            Does::Store(part, bytes) => {
                let value = self.read(insn.regs[0], part);
                let addr = self.place(insn)?;
                self.e.store(addr, value, bytes, Tags::NONE);
            }
            Does::StoreIf(part, bytes) => {
                let cond = self.condition(insn.mask);
                let outer = self.e.begin();
                let value = self.read(insn.regs[0], part);
                let addr = self.place(insn)?;
                self.e.store(addr, value, bytes, Tags::NONE);
                let yes = self.e.end(outer);
                self.e.op(Op::If { cond, yes, no: Vec::new() });
            }
            Does::StoreNumber(bytes) => {
                let value = self.e.signed(insn.numbers[0].into(), 8 * bytes);
                let addr = self.place(insn)?;
                self.e.store(addr, value, bytes, Tags::NONE);
            }
            Does::Branch
            | Does::CompareReturn(..)
            | Does::BranchCount(_)
            | Does::CompareBranch(..)
            | Does::Call
            | Does::CallRegister
            | Does::JumpRegister => return self.jump(insn),
            Does::Float(op) => return self.float(insn, op),
            Does::Update(..)
            | Does::LoadAnd(..)
            | Does::Exchange(_)
            | Does::ExchangePair(_)
            | Does::TestAndSet
            | Does::LoadPair
            | Does::StorePair
            | Does::LoadMany(_)
            | Does::StoreMany(_)
            | Does::MoveBytes
            | Does::XorBytes => return self.memory(insn),
            _ => return self.arith(insn),
        }
        Ok(())
    }

    // Registers.

    pub fn reg(&mut self, number: R) -> Reg {
        self.code.reg(regs::canonical(number), W, true)
    }

    pub fn read(&mut self, number: R, part: Part) -> Temp {
        let reg = self.reg(number);
        let value = self.e.read(reg, Port::None);
        match part {
            Part::All => value,
            Part::Low => self.e.zero_extend(value, 32, W),
            Part::High => self.e.shift(BinOp::Shr, value, 32, W),
        }
    }

    /// Writes a part of a register; the other one stays.
    pub fn write(&mut self, number: R, part: Part, value: Temp) {
        match part {
            Part::All => {
                let reg = self.reg(number);
                self.e.write(reg, value);
            }
            Part::Low => {
                let value = self.e.zero_extend(value, 32, W);
                self.replace(number, mask(32), value);
            }
            Part::High => {
                let value = self.e.shift(BinOp::Shl, value, 32, W);
                self.replace(number, mask(32) << 32, value);
            }
        }
    }

    /// Puts bits into a register, which has others.
    pub fn replace(&mut self, number: R, ones: u128, new: Temp) {
        let reg = self.reg(number);
        let old = self.e.read(reg, Port::None);
        let old = self.e.bin_int(BinOp::And, old, !ones & mask(W), W);
        let value = self.e.bin(BinOp::Or, old, new, W);
        self.e.write(reg, value);
    }

    // Operands.

    pub fn address(&mut self, address: Address, port: Port) -> Temp {
        let Address { base, index, offset } = address;
        let mut sum = None;
        for number in [base, index].into_iter().filter(|r| *r != 0) {
            let reg = self.reg(number);
            let value = self.e.read(reg, port);
            sum = Some(match sum {
                None => value,
                Some(sum) => self.e.bin(BinOp::Add, sum, value, W),
            });
        }
        match sum {
            Some(sum) => self.e.add_int(sum, offset, W),
            None => self.e.signed(offset.into(), W),
        }
    }

    /// The address of the memory that an instruction accesses.
    pub fn place(&mut self, insn: &Insn) -> Result<Temp, String> {
        match (&insn.symbol, insn.memory.first()) {
            (Some((name, off)), _) => self.symbol(name, *off),
            (None, Some(address)) => Ok(self.address(*address, Port::Addr)),
            (None, None) => Err("an address is expected".to_string()),
        }
    }

    fn memory_read(&mut self, insn: &Insn, bytes: u8) -> Result<Temp, String> {
        let addr = self.place(insn)?;
        Ok(self.e.load(addr, bytes, Tags::NONE))
    }

    /// The last operand, extended to the part of a register that the instruction works on.
    pub fn second(&mut self, insn: &Insn, part: Part, from: Extended) -> Result<Temp, String> {
        let Extended(bits, signed) = from;
        let value = if insn.symbol.is_some() || !insn.memory.is_empty() {
            self.memory_read(insn, bits / 8)?
        } else if let Some(number) = insn.numbers.last() {
            return Ok(self.e.signed((*number).into(), part.bits()));
        } else {
            let last = *insn.regs.last().ok_or("a register is expected")?;
            self.read(last, if bits == W { Part::All } else { Part::Low })
        };
        Ok(match signed {
            true => self.e.sign_extend(value, bits, part.bits()),
            false => self.e.zero_extend(value, bits, part.bits()),
        })
    }

    /// The count of a shift: the last bits of what has the form of an address.
    pub fn count(&mut self, insn: &Insn) -> Temp {
        let sum = self.address(insn.memory[0], Port::None);
        match insn.memory[0] {
            Address { base: 0, offset, .. } => self.e.int(offset as u128 & 63),
            _ => self.e.bin_int(BinOp::And, sum, 63, W),
        }
    }

    // Jumps.

    fn jump(&mut self, insn: &Insn) -> Done {
        match insn.does {
            Does::BranchCount(part) => {
                let target = self.target(&insn.target)?;
                let value = self.read(insn.regs[0], part);
                let value = self.e.add_int(value, -1, part.bits());
                self.write(insn.regs[0], part, value);
                let cond = self.e.bin_int(BinOp::Ne, value, 0, part.bits());
                self.e.op(Op::Branch { cond, target });
            }
            Does::CompareBranch(part, signed) => {
                let target = self.target(&insn.target)?;
                let a = self.read(insn.regs[0], part);
                let b = self.second(insn, part, Extended(part.bits(), false))?;
                let cond = self.compares(insn.mask, (a, b), part.bits(), signed)?;
                self.e.op(Op::Branch { cond, target });
            }
            Does::CompareReturn(part, signed) => {
                let a = self.read(insn.regs[0], part);
                let plain = Insn { memory: Vec::new(), ..insn.clone() };
                let b = self.second(&plain, part, Extended(part.bits(), false))?;
                let cond = self.compares(insn.mask, (a, b), part.bits(), signed)?;
                self.jump_under(cond, insn.memory[0].base);
            }
            Does::Branch => {
                let target = self.target(&insn.target)?;
                match insn.mask {
                    15 => self.e.op(Op::Jump { target }),
                    mask => {
                        let cond = self.condition(mask);
                        self.e.op(Op::Branch { cond, target });
                    }
                }
            }
            Does::Call => {
                let target = self.target(&insn.target)?;
                let next = self.next();
                self.write(insn.regs[0], Part::All, next);
                self.e.op(Op::Jump { target });
            }
            Does::CallRegister => {
                let addr = self.read(insn.regs[1], Part::All);
                let next = self.next();
                self.write(insn.regs[0], Part::All, next);
                self.e.op(Op::JumpTo { addr });
            }
            _ if insn.mask == 15 => self.jump_register(insn.regs[0]),
            _ => {
                let cond = self.condition(insn.mask);
                self.jump_under(cond, insn.regs[0]);
            }
        }
        Ok(())
    }

    fn jump_under(&mut self, cond: Temp, number: R) {
        let outer = self.e.begin();
        self.jump_register(number);
        let yes = self.e.end(outer);
        self.e.op(Op::If { cond, yes, no: Vec::new() });
    }

    fn jump_register(&mut self, number: R) {
        // Without a code address in any register, this is a return to whoever started the thread.
        if !self.has_calls && number == LINK {
            return self.e.op(Op::Halt);
        }
        let addr = self.read(number, Part::All);
        self.e.op(Op::JumpTo { addr });
    }
}
