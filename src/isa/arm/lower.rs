//! The meaning of AArch32 instructions as micro-ops.
//!
//! It does not know their spelling. Dependencies are those of the Arm ARM and of herd: an instruction whose
//! condition is false does nothing, and its effects depend on the flags by control inside the instruction.

use super::insn::{
    Amount, Block, Cond, DataOp, Index, Insn, Kind, LR, Mem, Offset, Operand, PC, Plus, Shift,
    Symbol, Unary,
};
use crate::lex::{Names, R};
use crate::microcode::{Emit, Labels, mask};
use litmake_base::diag::{Diag, Result};
use litmake_litmus::Symbols;
use litmake_ops::{BinOp, Code, Label, Op, Port, Reg, Tags, Temp, UnOp, Val, tag};

const W: u8 = 32;

#[derive(Clone, Copy)]
pub enum Flag {
    N,
    Z,
    C,
    V,
}

impl Flag {
    pub const ALL: [Flag; 4] = [Flag::N, Flag::Z, Flag::C, Flag::V];

    pub fn reg(self, code: &mut Code) -> Reg {
        let name = match self {
            Flag::N => "N",
            Flag::Z => "Z",
            Flag::C => "C",
            Flag::V => "V",
        };
        code.reg(name, 1, false)
    }
}

/// The registers that have names of their own, by number.
const REGS: [&str; 16] = [
    "R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "SP", "LR",
    "PC",
];

pub fn reg_name(reg: R, names: &Names) -> &str {
    REGS.get(usize::from(reg.0)).copied().unwrap_or_else(|| names.name(reg).unwrap_or("%"))
}

pub struct Lower<'a> {
    pub e: Emit,
    pub code: &'a mut Code,
    pub symbols: &'a mut dyn Symbols,
    pub names: &'a Names,
    pub labels: &'a Labels<'a>,
    pub insns: &'a [Insn],
    /// LDRD and STRD access 8 bytes at once.
    pub lpae: bool,
    pub line: Label,
}

/// The result of shifting the second operand.
struct Shifted {
    value: Temp,
    /// The carry out; `None` where the carry stays as it was.
    carry: Option<Temp>,
}

impl Lower<'_> {
    pub fn insn(&mut self, insn: &Insn) -> Result<()> {
        if insn.cond == Cond::Al || is_padding(insn) {
            return match is_padding(insn) {
                true => Ok(()),
                false => self.kind(&insn.kind),
            };
        }
        if let Kind::Branch { target, link: false } = insn.kind {
            let cond = self.cond(insn.cond);
            self.e.op(Op::Branch { cond, target });
            return Ok(());
        }
        if goes_elsewhere(&insn.kind) {
            let cond = self.cond(insn.cond.inverse());
            let target = self.line + 1;
            self.e.op(Op::Branch { cond, target });
            return self.kind(&insn.kind);
        }
        let cond = self.cond(insn.cond);
        let mut outer = std::mem::take(&mut self.e);
        let mut result = Ok(());
        outer.if_else(
            cond,
            |inner| {
                std::mem::swap(&mut self.e, inner);
                result = self.kind(&insn.kind);
                std::mem::swap(&mut self.e, inner);
            },
            |_| (),
        );
        self.e = outer;
        result
    }

    fn read(&mut self, reg: R) -> Temp {
        self.read_port(reg, Port::None)
    }

    pub fn read_port(&mut self, reg: R, port: Port) -> Temp {
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.read(reg, port)
    }

    /// Writing PC is a jump.
    pub fn write(&mut self, reg: R, src: Temp) {
        if reg == PC {
            self.e.op(Op::JumpTo { addr: src });
            return;
        }
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.write(reg, src);
    }

    fn flag(&mut self, flag: Flag) -> Temp {
        let reg = flag.reg(self.code);
        self.e.read(reg, Port::None)
    }

    fn set_flag(&mut self, flag: Flag, value: Temp) {
        let reg = flag.reg(self.code);
        self.e.write(reg, value);
    }

    /// 1 where the condition holds.
    fn cond(&mut self, cond: Cond) -> Temp {
        let inverted = |this: &mut Self, cond: Cond| {
            let t = this.cond(cond.inverse());
            this.e.is_zero(t, 1)
        };
        match cond {
            Cond::Eq => self.flag(Flag::Z),
            Cond::Cs => self.flag(Flag::C),
            Cond::Mi => self.flag(Flag::N),
            Cond::Vs => self.flag(Flag::V),
            Cond::Hi => {
                let c = self.flag(Flag::C);
                let z = self.flag(Flag::Z);
                let nz = self.e.is_zero(z, 1);
                self.e.bin(BinOp::And, c, nz, 1)
            }
            Cond::Ge => {
                let n = self.flag(Flag::N);
                let v = self.flag(Flag::V);
                self.e.bin(BinOp::Eq, n, v, 1)
            }
            Cond::Gt => {
                let ge = self.cond(Cond::Ge);
                let z = self.flag(Flag::Z);
                let nz = self.e.is_zero(z, 1);
                self.e.bin(BinOp::And, ge, nz, 1)
            }
            Cond::Al => self.e.int(1),
            Cond::Ne | Cond::Cc | Cond::Pl | Cond::Vc | Cond::Ls | Cond::Lt | Cond::Le => {
                inverted(self, cond)
            }
        }
    }

    fn address_of(&mut self, symbol: &Symbol) -> Temp {
        let val = self.place_of(symbol);
        self.e.val(val)
    }

    fn place_of(&mut self, symbol: &Symbol) -> Val {
        match self.labels.find(&symbol.name, self.line as usize) {
            Some(label) => Val::Code(label),
            None => Val::Ptr { loc: self.symbols.location(&symbol.name), off: symbol.off },
        }
    }

    #[expect(clippy::too_many_lines, reason = "an arm an instruction")]
    fn kind(&mut self, kind: &Kind) -> Result<()> {
        match kind {
            Kind::Nop | Kind::It(_) => {}
            // Data is not run into.
            Kind::Trap | Kind::Literal(_) => self.e.op(Op::Halt),
            Kind::Data { op, flags, rd, rn, operand } => self.data(*op, *flags, *rd, *rn, operand),
            Kind::MovTop { rd, imm } => {
                if let Some(imm) = imm {
                    let old = self.read(*rd);
                    let low = self.e.bin_int(BinOp::And, old, 0xffff, W);
                    let new = self.e.bin_int(BinOp::Or, low, u128::from(*imm) << 16, W);
                    self.write(*rd, new);
                }
            }
            Kind::Mul { flags, rd, rn, rm, ra } => {
                let n = self.read(*rn);
                let m = self.read(*rm);
                let mut v = self.e.bin(BinOp::Mul, n, m, W);
                if let Some((ra, subtract)) = ra {
                    let a = self.read(*ra);
                    let op = if *subtract { BinOp::Sub } else { BinOp::Add };
                    v = self.e.bin(op, a, v, W);
                }
                self.write(*rd, v);
                if *flags {
                    self.set_nz(v, W);
                }
            }
            Kind::MulLong { flags, signed, plus, lo, hi, rn, rm } => {
                let mut wide = |reg: R| {
                    let t = self.read(reg);
                    match signed {
                        true => self.e.sign_extend(t, W, 64),
                        false => t,
                    }
                };
                let (n, m) = (wide(*rn), wide(*rm));
                let mut v = self.e.bin(BinOp::Mul, n, m, 64);
                match plus {
                    Plus::Nothing => {}
                    Plus::Wide => {
                        let a = self.read_pair(*lo, *hi, Port::None);
                        v = self.e.bin(BinOp::Add, a, v, 64);
                    }
                    Plus::Both => {
                        for reg in [*lo, *hi] {
                            let a = self.read(reg);
                            v = self.e.bin(BinOp::Add, a, v, 64);
                        }
                    }
                }
                self.write_pair(*lo, *hi, v);
                if *flags {
                    self.set_nz(v, 64);
                }
            }
            Kind::MulTop { rd, rn, rm, ra } => {
                let n = self.read(*rn);
                let n = self.e.sign_extend(n, W, 64);
                let m = self.read(*rm);
                let m = self.e.sign_extend(m, W, 64);
                let mut v = self.e.bin(BinOp::Mul, n, m, 64);
                if let Some((ra, subtract)) = ra {
                    let a = self.read(*ra);
                    let a = self.e.shift(BinOp::Shl, a, 32, 64);
                    let op = if *subtract { BinOp::Sub } else { BinOp::Add };
                    v = self.e.bin(op, a, v, 64);
                }
                let v = self.e.shift(BinOp::Shr, v, 32, 64);
                self.write(*rd, v);
            }
            Kind::MulHalf { rd, rn, rm, tops, ra } => {
                let mut half = |reg: R, top: bool| {
                    let t = self.read(reg);
                    let t = self.e.shift(BinOp::Shr, t, if top { 16 } else { 0 }, W);
                    self.e.sign_extend(t, 16, W)
                };
                let (n, m) = (half(*rn, tops.0), half(*rm, tops.1));
                let mut v = self.e.bin(BinOp::Mul, n, m, W);
                if let Some(ra) = ra {
                    let a = self.read(*ra);
                    v = self.e.bin(BinOp::Add, a, v, W);
                }
                self.write(*rd, v);
            }
            Kind::Div { signed, rd, rn, rm } => {
                let n = self.read(*rn);
                let m = self.read(*rm);
                let op = if *signed { BinOp::DivS } else { BinOp::DivU };
                let v = self.e.divide(op, n, m, W);
                self.write(*rd, v);
            }
            Kind::Unary { op, rd, rm } => {
                let m = self.read(*rm);
                let v = self.unary(*op, m);
                self.write(*rd, v);
            }
            Kind::Extend { signed, from, rotate, rd, rn, rm } => {
                let m = self.read(*rm);
                let m = self.e.shift(BinOp::Ror, m, *rotate, W);
                let mut v = match signed {
                    true => self.e.sign_extend(m, *from, W),
                    false => self.e.zero_extend(m, *from, W),
                };
                if let Some(rn) = rn {
                    let n = self.read(*rn);
                    v = self.e.bin(BinOp::Add, n, v, W);
                }
                self.write(*rd, v);
            }
            Kind::AddParts { bits, rd, rn, rm } => {
                let (n, m) = (self.read(*rn), self.read(*rm));
                let mut v = self.e.int(0);
                for low in (0..W).step_by((*bits).into()) {
                    let part = |e: &mut Emit, t: Temp| {
                        let t = e.shift(BinOp::Shr, t, low, W);
                        e.zero_extend(t, *bits, W)
                    };
                    let (a, b) = (part(&mut self.e, n), part(&mut self.e, m));
                    let sum = self.e.bin(BinOp::Add, a, b, W);
                    let carry = self.e.bit(sum, *bits, W);
                    for byte in low / 8..(low + bits) / 8 {
                        let reg = part_carry(self.code, byte);
                        self.e.write(reg, carry);
                    }
                    let sum = self.e.zero_extend(sum, *bits, W);
                    let sum = self.e.shift(BinOp::Shl, sum, low, W);
                    v = self.e.bin(BinOp::Or, v, sum, W);
                }
                self.write(*rd, v);
            }
            Kind::Select { rd, rn, rm } => {
                let (n, m) = (self.read(*rn), self.read(*rm));
                let mut v = self.e.int(0);
                for byte in 0..4 {
                    let reg = part_carry(self.code, byte);
                    let carry = self.e.read(reg, Port::None);
                    let from = self.e.select(carry, n, m);
                    let from = self.e.bin_int(BinOp::And, from, 0xff << (8 * byte), W);
                    v = self.e.bin(BinOp::Or, v, from, W);
                }
                self.write(*rd, v);
            }
            Kind::Saturate { signed, bits, rd, operand } => {
                let v = self.operand(operand, false).value;
                let (least, most) = match signed {
                    true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                    false => (0, (1i128 << bits) - 1),
                };
                let least = self.e.signed(least, W);
                let most = self.e.signed(most, W);
                let v = self.e.bin(BinOp::MaxS, v, least, W);
                let v = self.e.bin(BinOp::MinS, v, most, W);
                self.write(*rd, v);
            }
            Kind::Extract { signed, rd, rn, field } => {
                let n = self.read(*rn);
                let n = self.e.shift(BinOp::Shr, n, field.lsb, W);
                let v = match signed {
                    true => self.e.sign_extend(n, field.width, W),
                    false => self.e.zero_extend(n, field.width, W),
                };
                self.write(*rd, v);
            }
            Kind::Insert { rd, rn, field } => {
                let ones = mask(field.width) << field.lsb;
                let d = self.read(*rd);
                let mut v = self.e.bin_int(BinOp::And, d, !ones & mask(W), W);
                if let Some(rn) = rn {
                    let n = self.read(*rn);
                    let n = self.e.shift(BinOp::Shl, n, field.lsb, W);
                    let n = self.e.bin_int(BinOp::And, n, ones, W);
                    v = self.e.bin(BinOp::Or, v, n, W);
                }
                self.write(*rd, v);
            }
            Kind::Load { size, signed, tags, rt, mem } => {
                let addr = self.address(mem);
                let v = self.e.load(addr, *size, *tags);
                self.loaded(*rt, v, *size, *signed);
            }
            Kind::LoadNamed { size, signed, rt, from } => {
                let v = match self.place_of(from) {
                    Val::Code(label) => self.literal(label, from)?,
                    place => {
                        let addr = self.e.val(place);
                        self.e.load(addr, *size, Tags::NONE)
                    }
                };
                self.loaded(*rt, v, *size, *signed);
            }
            Kind::Store { size, tags, rt, mem } => {
                let v = self.read_port(*rt, Port::Data);
                let addr = self.address(mem);
                self.e.store(addr, v, *size, *tags);
            }
            Kind::LoadDual { rt, rt2, mem } => {
                let addr = self.address(mem);
                if self.lpae {
                    let v = self.e.load(addr, 8, Tags::NONE);
                    self.write_pair(*rt, *rt2, v);
                } else {
                    let second = self.e.add_int(addr, 4, W);
                    let v = self.e.load(addr, 4, Tags::NONE);
                    let v2 = self.e.load(second, 4, Tags::NONE);
                    self.write(*rt, v);
                    self.write(*rt2, v2);
                }
            }
            Kind::StoreDual { rt, rt2, mem } => {
                if self.lpae {
                    let v = self.read_pair(*rt, *rt2, Port::Data);
                    let addr = self.address(mem);
                    self.e.store(addr, v, 8, Tags::NONE);
                } else {
                    let v = self.read_port(*rt, Port::Data);
                    let v2 = self.read_port(*rt2, Port::Data);
                    let addr = self.address(mem);
                    let second = self.e.add_int(addr, 4, W);
                    self.e.store(addr, v, 4, Tags::NONE);
                    self.e.store(second, v2, 4, Tags::NONE);
                }
            }
            Kind::LoadBlock { block, base, writeback, regs } => {
                let first = self.block(*block, *base, *writeback, regs.len());
                let mut loaded = Vec::with_capacity(regs.len());
                for i in 0..regs.len() {
                    let addr = self.e.add_int(first, 4 * i as i64, W);
                    loaded.push(self.e.load(addr, 4, Tags::NONE));
                }
                // PC is the last, as it has the highest number.
                for (reg, v) in regs.iter().zip(loaded) {
                    self.write(*reg, v);
                }
            }
            Kind::StoreBlock { block, base, writeback, regs } => {
                let values: Vec<Temp> =
                    regs.iter().map(|r| self.read_port(*r, Port::Data)).collect();
                let first = self.block(*block, *base, *writeback, regs.len());
                for (i, v) in values.into_iter().enumerate() {
                    let addr = self.e.add_int(first, 4 * i as i64, W);
                    self.e.store(addr, v, 4, Tags::NONE);
                }
            }
            Kind::LoadEx { size, tags, rt, rt2, rn, offset } => {
                let addr = self.read_port(*rn, Port::Addr);
                let addr = self.e.add_int(addr, *offset, W);
                let v = self.e.load(addr, *size, *tags);
                match rt2 {
                    Some(rt2) => self.write_pair(*rt, *rt2, v),
                    None => self.write(*rt, v),
                }
            }
            Kind::StoreEx { size, tags, rd, rt, rt2, rn, offset } => {
                let src = match rt2 {
                    Some(rt2) => self.read_pair(*rt, *rt2, Port::Data),
                    None => self.read_port(*rt, Port::Data),
                };
                let addr = self.read_port(*rn, Port::Addr);
                let addr = self.e.add_int(addr, *offset, W);
                let status = self.e.temp();
                self.e.op(Op::StoreEx {
                    status,
                    addr,
                    src,
                    size: *size,
                    tags: *tags,
                    ok: 0,
                    fail: 1,
                    status_dep: false,
                    same_size: true,
                });
                // The status depends on what the instruction was given, not on the write.
                let width = if rt2.is_some() { 64 } else { W };
                let status = self.e.depending(status, src, width);
                let status = self.e.depending(status, addr, W);
                self.write(*rd, status);
            }
            Kind::Swap { size, rt, rt2, rn } => {
                let src = self.read_port(*rt2, Port::Data);
                let addr = self.read_port(*rn, Port::Addr);
                let old = self.e.load(addr, *size, tag::X);
                self.e.store(addr, src, *size, tag::X);
                self.write(*rt, old);
            }
            Kind::Fence(tags) => self.e.fence(*tags),
            Kind::Vfp(vfp) => self.vfp(vfp),
            Kind::Branch { target, link } => {
                self.link(*link);
                self.e.op(Op::Jump { target: *target });
            }
            Kind::BranchReg { rm, link } => {
                let addr = self.read(*rm);
                self.link(*link);
                self.e.op(Op::JumpTo { addr });
            }
            Kind::CompareBranch { nonzero, rn, target } => {
                let n = self.read(*rn);
                let op = if *nonzero { BinOp::Ne } else { BinOp::Eq };
                let cond = self.e.bin_int(op, n, 0, W);
                let target = *target;
                self.e.op(Op::Branch { cond, target });
            }
        }
        Ok(())
    }

    fn link(&mut self, link: bool) {
        if link {
            let next = self.e.val(Val::Code(self.line + 1));
            self.write(LR, next);
        }
    }

    fn loaded(&mut self, rt: R, v: Temp, size: u8, signed: bool) {
        let v = match signed {
            true => self.e.sign_extend(v, 8 * size, W),
            false => v,
        };
        self.write(rt, v);
    }

    /// The word at a label, where the code holds data there.
    fn literal(&mut self, label: Label, from: &Symbol) -> Result<Temp> {
        let index = i64::from(label) + from.off / 4;
        let insn = usize::try_from(index).ok().and_then(|i| self.insns.get(i));
        match insn.map(|insn| &insn.kind) {
            Some(Kind::Literal(Some(Operand::Imm(n)))) => Ok(self.e.int(u128::from(*n))),
            Some(Kind::Literal(Some(Operand::Address(symbol)))) => Ok(self.address_of(symbol)),
            _ => Err(Diag::new(format!("no word of data at `{}`", from.name)).help(
                "known are `.word N`, `.word SYMBOL` and `.word SYMBOL-(LABEL+N)`; of code \
                       that goes through a GOT, compile it with `-fno-pic`",
            )),
        }
    }

    pub fn read_pair(&mut self, lo: R, hi: R, port: Port) -> Temp {
        let lo = self.read_port(lo, port);
        let hi = self.read_port(hi, port);
        let hi = self.e.shift(BinOp::Shl, hi, 32, 64);
        self.e.bin(BinOp::Or, lo, hi, 64)
    }

    pub fn write_pair(&mut self, lo: R, hi: R, v: Temp) {
        let low = self.e.zero_extend(v, 32, 64);
        let high = self.e.shift(BinOp::Shr, v, 32, 64);
        self.write(lo, low);
        self.write(hi, high);
    }

    /// The address of an access; the base is updated where the instruction says so.
    pub fn address(&mut self, mem: &Mem) -> Temp {
        let base = self.read_port(mem.base, Port::Addr);
        let moved = match mem.offset {
            Offset::Imm(n) => self.e.add_int(base, n, W),
            Offset::Reg { reg, negative, shift, amount } => {
                let m = self.read_port(reg, Port::Addr);
                let m = self.shift_by(m, shift, amount);
                let op = if negative { BinOp::Sub } else { BinOp::Add };
                self.e.bin(op, base, m, W)
            }
        };
        match mem.index {
            Index::Offset => moved,
            Index::Pre => {
                self.write(mem.base, moved);
                moved
            }
            Index::Post => {
                self.write(mem.base, moved);
                base
            }
        }
    }

    /// The lowest address of a block of registers.
    fn block(&mut self, block: Block, base: R, writeback: bool, count: usize) -> Temp {
        let size = 4 * count as i64;
        let (first, end) = match block {
            Block::Ia => (0, size),
            Block::Ib => (4, size),
            Block::Da => (4 - size, -size),
            Block::Db => (-size, -size),
        };
        let start = self.read_port(base, Port::Addr);
        if writeback {
            let end = self.e.add_int(start, end, W);
            self.write(base, end);
        }
        self.e.add_int(start, first, W)
    }

    fn shift_by(&mut self, a: Temp, shift: Shift, amount: u8) -> Temp {
        match shift {
            Shift::Lsl => self.e.shift(BinOp::Shl, a, amount, W),
            Shift::Lsr => self.e.shift(BinOp::Shr, a, amount, W),
            Shift::Asr => self.e.shift(BinOp::Sar, a, amount, W),
            Shift::Ror => self.e.shift(BinOp::Ror, a, amount % W, W),
            Shift::Rrx => {
                let c = self.flag(Flag::C);
                let top = self.e.shift(BinOp::Shl, c, 31, W);
                let rest = self.e.shift(BinOp::Shr, a, 1, W);
                self.e.bin(BinOp::Or, top, rest, W)
            }
        }
    }

    fn operand(&mut self, operand: &Operand, want_carry: bool) -> Shifted {
        match operand {
            Operand::Imm(n) => {
                let value = self.e.int(u128::from(*n));
                // A byte that is rotated leaves its top bit as the carry; one that is repeated, as
                // Thumb can have it, leaves the carry as it was.
                let is_byte = (0..W).any(|turn| n.rotate_left(turn.into()) <= 0xff);
                let rotated = want_carry && *n > 0xff && is_byte;
                let carry = rotated.then(|| self.e.int(u128::from(*n >> 31)));
                Shifted { value, carry }
            }
            Operand::Reg(rm) => Shifted { value: self.read(*rm), carry: None },
            Operand::Address(symbol) => Shifted { value: self.address_of(symbol), carry: None },
            Operand::Shifted(rm, shift, Amount::Imm(n)) => {
                let m = self.read(*rm);
                let value = self.shift_by(m, *shift, *n);
                let carry = want_carry.then(|| match shift {
                    Shift::Lsl => self.e.bit(m, W - (*n).min(W), W),
                    Shift::Lsr | Shift::Asr | Shift::Ror => {
                        self.e.bit(m, n.saturating_sub(1) % W, W)
                    }
                    Shift::Rrx => self.e.bit(m, 0, W),
                });
                Shifted { value, carry }
            }
            Operand::Shifted(rm, shift, Amount::Reg(rs)) => {
                let m = self.read(*rm);
                let s = self.read(*rs);
                let n = self.e.bin_int(BinOp::And, s, 0xff, W);
                let value = match shift {
                    Shift::Lsl => self.e.bin(BinOp::Shl, m, n, W),
                    Shift::Lsr => self.e.bin(BinOp::Shr, m, n, W),
                    Shift::Asr => self.e.bin(BinOp::Sar, m, n, W),
                    Shift::Ror | Shift::Rrx => {
                        let n = self.e.bin_int(BinOp::And, n, 31, W);
                        self.e.bin(BinOp::Ror, m, n, W)
                    }
                };
                let carry = want_carry.then(|| self.carry_of(*shift, m, n, value));
                Shifted { value, carry }
            }
        }
    }

    /// The carry out of a shift by a register: the last bit shifted out, or the old carry where
    /// nothing is shifted.
    fn carry_of(&mut self, shift: Shift, m: Temp, n: Temp, value: Temp) -> Temp {
        let out = match shift {
            Shift::Lsl => {
                let wide = self.e.bin(BinOp::Shl, m, n, 64);
                self.e.bit(wide, 32, 64)
            }
            Shift::Lsr => {
                let wide = self.e.shift(BinOp::Shl, m, 1, 64);
                let wide = self.e.bin(BinOp::Shr, wide, n, 64);
                self.e.bit(wide, 0, 64)
            }
            Shift::Asr => {
                let wide = self.e.sign_extend(m, W, 64);
                let wide = self.e.shift(BinOp::Shl, wide, 1, 64);
                let wide = self.e.bin(BinOp::Sar, wide, n, 64);
                self.e.bit(wide, 0, 64)
            }
            Shift::Ror | Shift::Rrx => self.e.bit(value, 31, W),
        };
        let old = self.flag(Flag::C);
        self.e.select(n, out, old)
    }

    fn data(&mut self, op: DataOp, flags: bool, rd: R, rn: R, operand: &Operand) {
        use DataOp::*;
        let logical = matches!(op, And | Eor | Orr | Orn | Bic | Mov | Mvn | Tst | Teq);
        let a = (!op.is_move()).then(|| self.read(rn));
        let Shifted { value: b, carry } = self.operand(operand, flags && logical);
        // Moves have no first operand.
        let a = a.unwrap_or(b);
        let res = match op {
            And | Tst => self.e.bin(BinOp::And, a, b, W),
            Eor | Teq => self.e.bin(BinOp::Xor, a, b, W),
            Orr => self.e.bin(BinOp::Or, a, b, W),
            Orn => {
                let b = self.e.un(UnOp::Not, b, W);
                self.e.bin(BinOp::Or, a, b, W)
            }
            Bic => {
                let b = self.e.un(UnOp::Not, b, W);
                self.e.bin(BinOp::And, a, b, W)
            }
            Mov => b,
            Mvn => self.e.un(UnOp::Not, b, W),
            Sub | Cmp => self.subtract(a, b, flags),
            Rsb => self.subtract(b, a, flags),
            Add | Cmn => {
                let res = self.e.bin(BinOp::Add, a, b, W);
                if flags {
                    let carry = self.e.bin(BinOp::LtU, res, a, W);
                    self.set_flag(Flag::C, carry);
                    self.overflow(a, b, res);
                }
                res
            }
            Adc => {
                let c = self.flag(Flag::C);
                self.add_with_carry(a, b, c, flags)
            }
            Sbc => {
                let c = self.flag(Flag::C);
                let b = self.e.un(UnOp::Not, b, W);
                self.add_with_carry(a, b, c, flags)
            }
            Rsc => {
                let c = self.flag(Flag::C);
                let a = self.e.un(UnOp::Not, a, W);
                self.add_with_carry(b, a, c, flags)
            }
        };
        if flags {
            match op {
                // Also right for addresses, whose difference has no sign.
                Cmp | Sub | Rsb => {
                    let (l, r) = if op == Rsb { (b, a) } else { (a, b) };
                    let zero = self.e.bin(BinOp::Eq, l, r, W);
                    self.set_flag(Flag::Z, zero);
                    let negative = self.e.is_negative(res, W);
                    self.set_flag(Flag::N, negative);
                }
                _ => self.set_nz(res, W),
            }
            if let Some(carry) = carry {
                self.set_flag(Flag::C, carry);
            }
        }
        if !op.is_test() {
            self.write(rd, res);
        }
    }

    fn subtract(&mut self, a: Temp, b: Temp, flags: bool) -> Temp {
        let res = self.e.bin(BinOp::Sub, a, b, W);
        if flags {
            let carry = self.e.bin(BinOp::LeU, b, a, W);
            self.set_flag(Flag::C, carry);
            let less = self.e.bin(BinOp::LtS, a, b, W);
            let negative = self.e.is_negative(res, W);
            let overflow = self.e.bin(BinOp::Xor, less, negative, 1);
            self.set_flag(Flag::V, overflow);
        }
        res
    }

    fn add_with_carry(&mut self, a: Temp, b: Temp, c: Temp, flags: bool) -> Temp {
        let sum = self.e.bin(BinOp::Add, a, b, 64);
        let sum = self.e.bin(BinOp::Add, sum, c, 64);
        let res = self.e.zero_extend(sum, W, 64);
        if flags {
            let carry = self.e.bit(sum, 32, 64);
            self.set_flag(Flag::C, carry);
            self.overflow(a, b, res);
        }
        res
    }

    /// Signed overflow of a sum: both operands have the sign that the result has not.
    fn overflow(&mut self, a: Temp, b: Temp, res: Temp) {
        let x = self.e.bin(BinOp::Xor, a, res, W);
        let y = self.e.bin(BinOp::Xor, b, res, W);
        let both = self.e.bin(BinOp::And, x, y, W);
        let v = self.e.bit(both, 31, W);
        self.set_flag(Flag::V, v);
    }

    fn set_nz(&mut self, res: Temp, width: u8) {
        let negative = self.e.is_negative(res, width);
        self.set_flag(Flag::N, negative);
        let zero = self.e.is_zero(res, width);
        self.set_flag(Flag::Z, zero);
    }

    fn unary(&mut self, op: Unary, m: Temp) -> Temp {
        match op {
            Unary::Clz => self.e.un(UnOp::Clz, m, W),
            Unary::Rev => self.e.un(UnOp::ByteSwap, m, W),
            Unary::Rbit => self.e.un(UnOp::BitReverse, m, W),
            Unary::Rev16 => {
                let up = self.e.shift(BinOp::Shl, m, 8, W);
                let up = self.e.bin_int(BinOp::And, up, 0xff00_ff00, W);
                let down = self.e.shift(BinOp::Shr, m, 8, W);
                let down = self.e.bin_int(BinOp::And, down, 0x00ff_00ff, W);
                self.e.bin(BinOp::Or, up, down, W)
            }
            Unary::RevSh => {
                let v = self.e.un(UnOp::ByteSwap, m, 16);
                self.e.sign_extend(v, 16, W)
            }
        }
    }
}

/// The carries that parallel sums leave, one a byte.
pub const PART_CARRIES: [&str; 4] = ["GE0", "GE1", "GE2", "GE3"];

fn part_carry(code: &mut Code, byte: u8) -> Reg {
    code.reg(PART_CARRIES[usize::from(byte) % 4], 1, false)
}

/// `ANDEQ R0,R0,R0`, of which the encoding is 0: it changes nothing, and herd takes it so.
fn is_padding(insn: &Insn) -> bool {
    match &insn.kind {
        Kind::Data { op: DataOp::And, flags: false, rd, rn, operand: Operand::Reg(rm) } => {
            insn.cond == Cond::Eq && rd == rn && rn == rm
        }
        _ => false,
    }
}

/// Whether the next instruction may not be the next line (other than at a plain branch).
fn goes_elsewhere(kind: &Kind) -> bool {
    match kind {
        Kind::Branch { .. } | Kind::BranchReg { .. } | Kind::CompareBranch { .. } | Kind::Trap => {
            true
        }
        Kind::Data { rd, op, .. } => !op.is_test() && *rd == PC,
        Kind::Load { rt, .. } | Kind::LoadNamed { rt, .. } => *rt == PC,
        Kind::LoadBlock { regs, .. } => regs.contains(&PC),
        _ => false,
    }
}
