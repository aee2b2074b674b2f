//! The meaning of x86 instructions as micro-ops: operands, moves, the stack and jumps. Arithmetic,
//! atomic and vector instructions have files of their own. It does not know syntax.

use super::insn::{Arg, Cond, Do, Flag, Gpr, Imm, Insn, Mem, RAX, RBP, RDX, RSP, Size};
use super::regs;
use crate::microcode::mask;
use crate::thread::{self, Done};
use litmake_ops::{BinOp, Op, Port, Reg, Tags, Temp, UnOp, tag};

/// How deep calls may nest. Return addresses are kept in registers of their own and not in
/// memory, so that a call needs no stack; what the code itself keeps on the stack is memory.
const CALL_DEPTH: usize = 8;

/// The offset table's own name.
pub const GOT: &str = "_GLOBAL_OFFSET_TABLE_";

/// Lowers one instruction.
pub type Lower<'a> = thread::Lower<'a, super::X86>;

/// Where an operand is, its address computed.
#[derive(Clone, Copy)]
pub enum Located {
    Reg(Gpr),
    Mem(Temp),
    /// Thread-local storage that code only reads (the stack protector's canary): 0.
    Private,
}

impl Lower<'_> {
    pub fn insn(&mut self, insn: &Insn) -> Done {
        if insn.lock {
            self.check_lock(insn)?;
        }
        let size = insn.size;
        let args = insn.args.as_slice();
        match insn.what {
            Do::Nop => Ok(()),
            Do::Stop => {
                self.e.op(Op::Halt);
                Ok(())
            }
            Do::Mov => self.mov(args, size),
            Do::MovExtend { from, signed } => self.extend(args, from, size, signed),
            Do::Lea => {
                let [Arg::Reg(dst), Arg::Mem(mem)] = args else {
                    return Err("`lea` takes an address and a register".to_string());
                };
                let addr = self.address(mem, Port::None)?;
                self.write_reg(*dst, addr, self.address_size());
                Ok(())
            }
            Do::Set(cond) => {
                let dst = self.one(args, "set")?;
                let place = self.place(dst)?;
                let value = self.cond(cond);
                self.put(place, Size::B, value, Tags::NONE)
            }
            Do::Cmov(cond) => {
                let [Arg::Reg(dst), src] = args else {
                    return Err("a conditional move takes a source and a register".to_string());
                };
                let new = self.value(src, size)?;
                let old = self.read_reg(*dst, Port::None);
                let cond = self.cond(cond);
                let value = self.e.select(cond, new, old);
                self.write_reg(*dst, value, size);
                Ok(())
            }
            Do::Jump => self.jump(args),
            Do::JumpIf(cond) => {
                let target = self.jump_target(args)?;
                let cond = self.cond(cond);
                self.e.op(Op::Branch { cond, target });
                Ok(())
            }
            Do::Call => self.call(args),
            Do::Ret => {
                self.ret();
                Ok(())
            }
            Do::Push => {
                let arg = self.one(args, "push")?;
                let value = self.value(arg, size)?;
                let sp = self.move_stack(-i64::from(size.bytes()));
                self.e.store(sp, value, size.bytes(), Tags::NONE);
                Ok(())
            }
            Do::Pop => self.pop(args, size),
            Do::Leave => self.leave(),
            Do::Mfence => self.fence(tag::MFENCE),
            Do::Lfence => self.fence(tag::LFENCE),
            Do::Sfence => self.fence(tag::SFENCE),
            Do::ExtendAcc => self.extend_accumulator(size),
            Do::SignAcc => {
                let acc = self.read_reg(Gpr::new(RAX, size), Port::None);
                let shift = u128::from(size.bits() - 1);
                let sign = self.e.bin_int(BinOp::Sar, acc, shift, size.bits());
                self.write_reg(Gpr::new(RDX, size), sign, size);
                Ok(())
            }
            Do::Bswap => {
                let [Arg::Reg(reg)] = args else {
                    return Err("`bswap` takes a register".to_string());
                };
                let value = self.read_reg(*reg, Port::None);
                let value = self.e.un(UnOp::ByteSwap, value, size.bits());
                self.write_reg(*reg, value, size);
                Ok(())
            }
            Do::Xchg | Do::Xadd | Do::Cmpxchg | Do::CmpxchgPair => self.atomic(insn),
            what if what.is_vector() => self.vector(insn),
            what if what.is_float() => self.float(insn),
            _ => self.arith(insn),
        }
    }

    fn pop(&mut self, args: &[Arg], size: Size) -> Done {
        let arg = self.one(args, "pop")?;
        let sp = self.read_reg(self.pointer(RSP), Port::Addr);
        let value = self.e.load(sp, size.bytes(), Tags::NONE);
        self.move_stack(i64::from(size.bytes()));
        let place = self.place(arg)?;
        self.put(place, size, value, Tags::NONE)
    }

    /// Gives a function's frame back.
    fn leave(&mut self) -> Done {
        let size = self.address_size();
        let bp = self.read_reg(self.pointer(RBP), Port::Addr);
        let value = self.e.load(bp, size.bytes(), Tags::NONE);
        let sp = self.e.bin_int(BinOp::Add, bp, size.bytes().into(), size.bits());
        self.write_reg(self.pointer(RSP), sp, size);
        self.write_reg(self.pointer(RBP), value, size);
        Ok(())
    }

    /// Extends the lower half of the accumulator to all of it.
    fn extend_accumulator(&mut self, size: Size) -> Done {
        let (from, bits) = match size {
            Size::B | Size::W => (Size::B, 16),
            Size::L => (Size::W, 32),
            Size::Q => (Size::L, 64),
        };
        let low = self.read_reg(Gpr::new(RAX, from), Port::None);
        let value = self.e.un(UnOp::SignExt { from: from.bits() }, low, bits);
        self.write_reg(Gpr::new(RAX, size), value, size);
        Ok(())
    }

    /// Only read-modify-writes of memory may be locked.
    fn check_lock(&self, insn: &Insn) -> Done {
        let may = match insn.what {
            Do::Alu(_)
            | Do::Inc
            | Do::Dec
            | Do::Neg
            | Do::Not
            | Do::Xchg
            | Do::Xadd
            | Do::Cmpxchg
            | Do::CmpxchgPair => true,
            Do::Bit(bit) => bit != super::insn::Bit::Test,
            _ => false,
        };
        match insn.args.first() {
            Some(Arg::Mem(_)) if may => Ok(()),
            _ if may => Err("`lock` needs a memory destination".to_string()),
            _ => Err("`lock` is not allowed on this instruction".to_string()),
        }
    }

    fn mov(&mut self, args: &[Arg], size: Size) -> Done {
        let [dst, src] = args else {
            return Err(two_operands());
        };
        if matches!((dst, src), (Arg::Mem(_), Arg::Mem(_))) {
            return Err("a move has at most one memory operand".to_string());
        }
        let value = self.value(src, size)?;
        let place = self.place(dst)?;
        self.put(place, size, value, Tags::NONE)
    }

    fn extend(&mut self, args: &[Arg], from: Size, to: Size, signed: bool) -> Done {
        let [Arg::Reg(dst), src @ (Arg::Reg(_) | Arg::Mem(_))] = args else {
            return Err("an extending move takes a source and a register".to_string());
        };
        if from > to {
            return Err(format!(
                "an extending move cannot go from {} to {} bits",
                from.bits(),
                to.bits()
            ));
        }
        let mut value = self.value(src, from)?;
        if signed {
            let from = from.bits();
            value = self.e.un(UnOp::SignExt { from }, value, to.bits());
        }
        self.write_reg(*dst, value, to);
        Ok(())
    }

    pub fn fence(&mut self, tags: Tags) -> Done {
        self.e.op(Op::Fence { tags });
        Ok(())
    }

    /// The only operand.
    pub fn one<'b>(&self, args: &'b [Arg], name: &str) -> Result<&'b Arg, String> {
        match args {
            [one] => Ok(one),
            _ => Err(format!("`{name}` takes one operand")),
        }
    }

    // Jumps.

    fn jump_target(&self, args: &[Arg]) -> Result<u32, String> {
        let [Arg::Imm(Imm::Symbol(name, 0))] = args else {
            return Err("a jump takes a label".to_string());
        };
        self.target(name)
    }

    fn jump(&mut self, args: &[Arg]) -> Done {
        if let [Arg::Imm(Imm::Symbol(..))] = args {
            let target = self.jump_target(args)?;
            self.e.op(Op::Jump { target });
            return Ok(());
        }
        let arg = self.one(args, "jmp")?;
        let addr = self.value(arg, self.address_size())?;
        self.e.op(Op::JumpTo { addr });
        Ok(())
    }

    fn call(&mut self, args: &[Arg]) -> Done {
        // Position-independent 32-bit code asks for its own address, to name data by it. Data is
        // named by symbols here, so 0 does.
        if let [Arg::Imm(Imm::Symbol(name, _))] = args
            && let Some(reg) = name.strip_prefix("__x86.get_pc_thunk.")
            && let Some(reg) = regs::gpr(reg, self.set.wide())
        {
            let zero = self.e.int(0);
            self.write_reg(self.pointer(reg.num), zero, self.address_size());
            return Ok(());
        }
        let [Arg::Imm(Imm::Symbol(name, 0))] = args else {
            return Err("`call` takes a label".to_string());
        };
        let target = self
            .labels
            .find(name, self.at)
            .ok_or_else(|| format!("`{name}` is called, and its code is not in this thread"))?;
        let shadow = self.return_registers();
        for i in (1..shadow.len()).rev() {
            let caller = self.e.read(shadow[i - 1], Port::None);
            self.e.write(shadow[i], caller);
        }
        let back = self.next();
        self.e.write(shadow[0], back);
        self.move_stack(-i64::from(self.address_size().bytes()));
        self.e.op(Op::Jump { target });
        Ok(())
    }

    /// A return that answers no call ends the thread: its register holds no code address then.
    fn ret(&mut self) {
        if !self.has_calls {
            self.e.op(Op::Halt);
            return;
        }
        let shadow = self.return_registers();
        let addr = self.e.read(shadow[0], Port::None);
        for i in 1..shadow.len() {
            let caller = self.e.read(shadow[i], Port::None);
            self.e.write(shadow[i - 1], caller);
        }
        let none = self.e.int(0);
        self.e.write(shadow[shadow.len() - 1], none);
        self.move_stack(i64::from(self.address_size().bytes()));
        self.e.op(Op::JumpTo { addr });
    }

    fn return_registers(&mut self) -> Vec<Reg> {
        (0..CALL_DEPTH).map(|i| self.code.reg(&format!("return#{i}"), 64, false)).collect()
    }

    /// Moves the stack pointer and gives what it is then.
    fn move_stack(&mut self, by: i64) -> Temp {
        let size = self.address_size();
        let sp = self.read_reg(self.pointer(RSP), Port::Addr);
        let by = self.e.signed(by.into(), size.bits());
        let sp = self.e.bin(BinOp::Add, sp, by, size.bits());
        self.write_reg(self.pointer(RSP), sp, size);
        sp
    }

    // Operands.

    pub fn address_size(&self) -> Size {
        if self.set.wide() { Size::Q } else { Size::L }
    }

    /// A whole register.
    pub fn pointer(&self, num: u8) -> Gpr {
        Gpr::new(num, self.address_size())
    }

    fn whole(&mut self, num: u8) -> Reg {
        let name = regs::canonical(num, self.set.wide());
        let bits = self.address_size().bits();
        self.code.reg(&name, bits, true)
    }

    /// The register's part, zero-extended.
    pub fn read_reg(&mut self, reg: Gpr, port: Port) -> Temp {
        let whole = self.whole(reg.num);
        let mut value = self.e.read(whole, port);
        let bits = self.address_size().bits();
        if reg.high {
            value = self.e.bin_int(BinOp::Shr, value, 8, bits);
        }
        if reg.size == self.address_size() {
            return value;
        }
        let from = reg.size.bits();
        self.e.un(UnOp::ZeroExt { from }, value, bits)
    }

    /// Writes a value of `size` bits. A 32-bit write clears the upper half; smaller ones keep
    /// what they do not write.
    pub fn write_reg(&mut self, reg: Gpr, value: Temp, size: Size) {
        let whole = self.whole(reg.num);
        let bits = self.address_size().bits();
        if reg.size >= Size::L {
            let value = if size > reg.size {
                let from = reg.size.bits();
                self.e.un(UnOp::ZeroExt { from }, value, bits)
            } else {
                value
            };
            self.e.write(whole, value);
            return;
        }
        let shift = if reg.high { 8 } else { 0 };
        let old = self.e.read(whole, Port::None);
        let part = mask(reg.size.bits()) << shift;
        let kept = self.e.bin_int(BinOp::And, old, mask(bits) & !part, bits);
        let from = reg.size.bits();
        let mut new = self.e.un(UnOp::ZeroExt { from }, value, bits);
        if reg.high {
            new = self.e.bin_int(BinOp::Shl, new, 8, bits);
        }
        let merged = self.e.bin(BinOp::Or, kept, new, bits);
        self.e.write(whole, merged);
    }

    pub fn address(&mut self, mem: &Mem, port: Port) -> Result<Temp, String> {
        if mem.thread_local {
            return Err("thread-local storage has no address here".to_string());
        }
        let bits = self.address_size().bits();
        let mut sum = None;
        let mut disp = mem.disp;
        if let Some(name) = &mem.symbol {
            let (symbol, used) = self.placed(name, mem.disp)?;
            sum = Some(symbol);
            if used {
                disp = 0;
            }
        }
        if let Some(base) = mem.base {
            let base = self.read_reg(base, port);
            sum = Some(self.plus(sum, base));
        }
        if let Some((index, scale)) = mem.index {
            let index = self.read_reg(index, port);
            let index = match scale {
                1 => index,
                s => self.e.bin_int(BinOp::Shl, index, u128::from(s.trailing_zeros()), bits),
            };
            sum = Some(self.plus(sum, index));
        }
        Ok(match sum {
            None => self.e.signed(disp.into(), bits),
            Some(sum) if disp == 0 => sum,
            Some(sum) => {
                let disp = self.e.signed(disp.into(), bits);
                self.e.bin(BinOp::Add, sum, disp, bits)
            }
        })
    }

    fn plus(&mut self, sum: Option<Temp>, term: Temp) -> Temp {
        match sum {
            None => term,
            Some(sum) => {
                let bits = self.address_size().bits();
                self.e.bin(BinOp::Add, sum, term, bits)
            }
        }
    }

    /// The address a symbol stands for, and whether the offset is in it already.
    fn placed(&mut self, name: &str, off: i64) -> Result<(Temp, bool), String> {
        if name == GOT {
            // Entries of the table are named by their symbols, so its own place is never used.
            return Ok((self.e.int(0), false));
        }
        Ok((self.symbol(name, off)?, true))
    }

    pub fn place(&mut self, arg: &Arg) -> Result<Located, String> {
        match arg {
            Arg::Reg(reg) => Ok(Located::Reg(*reg)),
            Arg::Mem(mem) if mem.thread_local => Ok(Located::Private),
            Arg::Mem(mem) if mem.got => Err("code cannot write to the offset table".to_string()),
            Arg::Mem(mem) => self.address(mem, Port::Addr).map(Located::Mem),
            Arg::Imm(_) => Err("a constant cannot be written to".to_string()),
            Arg::Xmm(_) => Err("a vector register cannot stand here".to_string()),
        }
    }

    /// The value at a place, zero-extended from `size`.
    pub fn get(&mut self, place: Located, size: Size, tags: Tags) -> Temp {
        match place {
            Located::Reg(reg) => self.read_reg(reg, Port::None),
            Located::Mem(addr) => self.e.load(addr, size.bytes(), tags),
            Located::Private => self.e.int(0),
        }
    }

    pub fn put(&mut self, place: Located, size: Size, value: Temp, tags: Tags) -> Done {
        match place {
            Located::Reg(reg) => self.write_reg(reg, value, size),
            Located::Mem(addr) => self.e.store(addr, value, size.bytes(), tags),
            Located::Private => {
                return Err("stores to thread-local storage are not supported".to_string());
            }
        }
        Ok(())
    }

    /// The value of any operand, zero-extended from `size`.
    pub fn value(&mut self, arg: &Arg, size: Size) -> Result<Temp, String> {
        match arg {
            Arg::Imm(Imm::Int(n)) => Ok(self.e.signed(*n, size.bits())),
            Arg::Imm(Imm::Symbol(name, off)) => Ok(self.placed(name, *off)?.0),
            Arg::Mem(Mem { symbol: Some(name), got: true, .. }) => Ok(self.placed(name, 0)?.0),
            _ => {
                let place = self.place(arg)?;
                Ok(self.get(place, size, Tags::NONE))
            }
        }
    }

    // Flags.

    pub fn flag_reg(&mut self, name: &str) -> Reg {
        self.code.reg(name, 1, false)
    }

    pub fn read_flag(&mut self, name: &str) -> Temp {
        let reg = self.flag_reg(name);
        self.e.read(reg, Port::None)
    }

    pub fn write_flag(&mut self, name: &str, value: Temp) {
        let reg = self.flag_reg(name);
        self.e.write(reg, value);
    }

    /// 1 where the condition holds.
    pub fn cond(&mut self, cond: Cond) -> Temp {
        let value = match cond.flag {
            Flag::Overflow => self.read_flag(OF),
            Flag::Carry => self.read_flag(CF),
            Flag::Zero => self.read_flag(ZF),
            Flag::Sign => self.read_flag(SF),
            Flag::Parity => self.read_flag(PF),
            Flag::CarryOrZero => {
                let (c, z) = (self.read_flag(CF), self.read_flag(ZF));
                self.e.bin(BinOp::Or, c, z, 1)
            }
            Flag::Less => self.less(),
            Flag::LessOrEqual => {
                let less = self.less();
                let zero = self.read_flag(ZF);
                self.e.bin(BinOp::Or, less, zero, 1)
            }
        };
        if cond.negated { self.e.bin_int(BinOp::Xor, value, 1, 1) } else { value }
    }

    fn less(&mut self) -> Temp {
        let (s, o) = (self.read_flag(SF), self.read_flag(OF));
        self.e.bin(BinOp::Xor, s, o, 1)
    }
}

pub const CF: &str = "cf";
pub const ZF: &str = "zf";
pub const SF: &str = "sf";
pub const OF: &str = "of";
pub const PF: &str = "pf";
pub const FLAGS: [&str; 5] = [CF, ZF, SF, OF, PF];

pub fn two_operands() -> String {
    "two operands are expected, at most one of them in memory".to_string()
}
