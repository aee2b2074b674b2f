//! The meaning of MIPS instructions as micro-ops: MIPS64, of which MIPS32 is the part with words.
//!
//! It does not know their spelling. Results of word instructions are sign-extended.

use super::insn::{Alu, Disp, GP, Insn, Mem, Part, Slot, Src, Test, Unary, ZERO};
use crate::lex::{Names, R};
use crate::microcode::{Emit, Labels, mask};
use litmake_base::diag::{Diag, Result};
use litmake_litmus::Symbols;
use litmake_ops::{BinOp, Code, Label, Op, Port, Temp, UnOp, Val, tag};

const W: u8 = 64;

const REGS: [&str; 36] = [
    "$0", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14",
    "$15", "$16", "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$24", "$25", "$26", "$27",
    "$28", "$29", "$30", "$31", "$a4", "$a5", "$a6", "$a7",
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
    /// The symbols of which the thread uses the low part of the address.
    pub low: &'a [&'a str],
    pub line: Label,
}

impl Lower<'_> {
    fn read(&mut self, reg: R) -> Temp {
        self.read_port(reg, Port::None)
    }

    fn read_port(&mut self, reg: R, port: Port) -> Temp {
        if reg == ZERO {
            return self.e.int(0);
        }
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.read(reg, port)
    }

    fn write(&mut self, reg: R, src: Temp) {
        if reg == ZERO {
            return;
        }
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.write(reg, src);
    }

    fn src(&mut self, src: Src) -> Temp {
        match src {
            Src::Reg(reg) => self.read(reg),
            Src::Imm(n) => self.e.signed(n.into(), W),
        }
    }

    fn read_special(&mut self, name: &str) -> Temp {
        let reg = self.code.reg(name, W, true);
        self.e.read(reg, Port::None)
    }

    fn write_special(&mut self, name: &str, src: Temp) {
        let reg = self.code.reg(name, W, true);
        self.e.write(reg, src);
    }

    /// Anything but a branch with something in its delay slot.
    #[expect(clippy::too_many_lines, reason = "an arm an instruction")]
    pub fn insn(&mut self, insn: &Insn) -> Result<()> {
        match insn {
            Insn::Nop | Insn::Directive | Insn::Reorder(_) | Insn::Push | Insn::Pop => {}
            Insn::Trap => self.e.op(Op::Halt),
            Insn::Alu { op, word, rd, a, b } => {
                let (a, b) = (self.read(*a), self.src(*b));
                let v = self.alu(*op, *word, a, b);
                self.write(*rd, v);
            }
            Insn::Move { rd, rs } => {
                let v = self.read(*rs);
                self.write(*rd, v);
            }
            Insn::Load64 { rd, value } => {
                let v = self.e.signed((*value).into(), W);
                self.write(*rd, v);
            }
            Insn::Address { word, rd, a, value } => {
                if let Disp::Symbol { part: Part::Got | Part::GotOrPage, .. } = value {
                    return Err(Diag::new("this relocation names a slot that holds an address")
                        .help("load from it (`lw`, `ld`), or take the address itself (`%lo`)"));
                }
                let mut v = self.based(*a, value, Port::None);
                if *word {
                    v = self.e.sign_extend(v, 32, W);
                }
                self.write(*rd, v);
            }
            Insn::Multiply { word, signed, a, b } => {
                let (a, b) = (self.read(*a), self.read(*b));
                let width = if *word { 32 } else { W };
                let lo = self.e.bin(BinOp::Mul, a, b, width);
                let high = if *signed { BinOp::MulHiS } else { BinOp::MulHiU };
                let hi = self.e.bin(high, a, b, width);
                self.hi_lo(hi, lo, width);
            }
            Insn::Divide { word, signed, a, b } => {
                let (a, b) = (self.read(*a), self.read(*b));
                let width = if *word { 32 } else { W };
                let (div, rem) = match signed {
                    true => (BinOp::DivS, BinOp::RemS),
                    false => (BinOp::DivU, BinOp::RemU),
                };
                let lo = self.e.divide(div, a, b, width);
                let hi = self.e.divide(rem, a, b, width);
                self.hi_lo(hi, lo, width);
            }
            Insn::Accumulate { signed, subtract, a, b } => {
                let (a, b) = (self.read(*a), self.read(*b));
                let extend = match signed {
                    true => UnOp::SignExt { from: 32 },
                    false => UnOp::ZeroExt { from: 32 },
                };
                let (a, b) = (self.e.un(extend, a, W), self.e.un(extend, b, W));
                let product = self.e.bin(BinOp::Mul, a, b, W);
                let (hi, lo) = (self.read_special("HI"), self.read_special("LO"));
                let hi = self.e.shift(BinOp::Shl, hi, 32, W);
                let lo = self.e.zero_extend(lo, 32, W);
                let old = self.e.bin(BinOp::Or, hi, lo, W);
                let op = if *subtract { BinOp::Sub } else { BinOp::Add };
                let new = self.e.bin(op, old, product, W);
                let hi = self.e.shift(BinOp::Shr, new, 32, W);
                self.hi_lo(hi, new, 32);
            }
            Insn::FromHi(rd) => {
                let v = self.read_special("HI");
                self.write(*rd, v);
            }
            Insn::FromLo(rd) => {
                let v = self.read_special("LO");
                self.write(*rd, v);
            }
            Insn::ToHi(rs) => {
                let v = self.read(*rs);
                self.write_special("HI", v);
            }
            Insn::ToLo(rs) => {
                let v = self.read(*rs);
                self.write_special("LO", v);
            }
            Insn::Unary { op, rd, rs } => {
                let a = self.read(*rs);
                let v = self.unary(*op, a);
                self.write(*rd, v);
            }
            Insn::Extract { rd, rs, pos, size, word } => {
                let a = self.read(*rs);
                let a = self.e.shift(BinOp::Shr, a, *pos, W);
                let mut v = self.e.zero_extend(a, *size, W);
                if *word && *size == 32 {
                    v = self.e.sign_extend(v, 32, W);
                }
                self.write(*rd, v);
            }
            Insn::Insert { rd, rs, pos, size, word } => {
                let ones = mask(*size) << pos;
                let (old, new) = (self.read(*rd), self.read(*rs));
                let old = self.e.bin_int(BinOp::And, old, !ones & mask(W), W);
                let new = self.e.shift(BinOp::Shl, new, *pos, W);
                let new = self.e.bin_int(BinOp::And, new, ones, W);
                let mut v = self.e.bin(BinOp::Or, old, new, W);
                if *word {
                    v = self.e.sign_extend(v, 32, W);
                }
                self.write(*rd, v);
            }
            Insn::MoveIf { rd, rs, rt, zero } => {
                let (old, new, cond) = (self.read(*rd), self.read(*rs), self.read(*rt));
                let (yes, no) = if *zero { (old, new) } else { (new, old) };
                let v = self.e.select(cond, yes, no);
                self.write(*rd, v);
            }
            Insn::SelectOr0 { rd, rs, rt, zero } => {
                let (new, cond) = (self.read(*rs), self.read(*rt));
                let none = self.e.int(0);
                let (yes, no) = if *zero { (none, new) } else { (new, none) };
                let v = self.e.select(cond, yes, no);
                self.write(*rd, v);
            }
            Insn::ScaledAdd { word, rd, rs, rt, shift } => {
                let (a, b) = (self.read(*rs), self.read(*rt));
                let a = self.e.shift(BinOp::Shl, a, *shift, W);
                let v = self.alu(Alu::Add, *word, a, b);
                self.write(*rd, v);
            }
            Insn::Load { size, signed, rt, mem } => {
                if let Some(v) = self.got(&mem.disp) {
                    self.write(*rt, v);
                    return Ok(());
                }
                let addr = self.based(mem.base, &mem.disp, Port::Addr);
                let mut v = self.e.load(addr, *size, Default::default());
                if *signed {
                    v = self.e.sign_extend(v, 8 * size, W);
                }
                self.write(*rt, v);
            }
            Insn::Store { size, rt, mem } => {
                let v = self.read_port(*rt, Port::Data);
                let addr = self.address(mem);
                self.e.store(addr, v, *size, Default::default());
            }
            Insn::LoadLinked { size, rt, mem } => {
                let addr = self.address(mem);
                let v = self.e.load(addr, *size, tag::EX);
                let v = self.e.sign_extend(v, 8 * size, W);
                self.write(*rt, v);
            }
            Insn::StoreConditional { size, rt, mem } => {
                let src = self.read_port(*rt, Port::Data);
                let addr = self.address(mem);
                let status = self.e.temp();
                self.e.op(Op::StoreEx {
                    status,
                    addr,
                    src,
                    size: *size,
                    tags: tag::EX,
                    ok: 1,
                    fail: 0,
                    status_dep: false,
                    same_size: false,
                });
                // The status depends on what the instruction was given, not on the write.
                let status = self.e.depending(status, src, W);
                let status = self.e.depending(status, addr, W);
                self.write(*rt, status);
            }
            Insn::Fence(tags) => self.e.fence(*tags),
            Insn::Branch { .. } | Insn::Jump { .. } | Insn::JumpReg { .. } => {
                return self.branch(insn, None, self.line + 1);
            }
        }
        Ok(())
    }

    /// A branch, with what is in its delay slot, and the instruction that follows both.
    pub fn branch(&mut self, insn: &Insn, slot: Option<&Insn>, next: Label) -> Result<()> {
        match insn {
            Insn::Branch { test, a, b, target, link, slot: kind } => {
                let (a, b) = (self.read(*a), self.src(*b));
                let cond = self.test(*test, a, b);
                // The link is written whether or not the branch is taken.
                self.link(link.then_some(super::insn::RA), next);
                match (slot, kind) {
                    (None, _) => {}
                    (Some(slot), Slot::Likely) => {
                        let mut outer = std::mem::take(&mut self.e);
                        let mut result = Ok(());
                        outer.if_else(
                            cond,
                            |inner| {
                                std::mem::swap(&mut self.e, inner);
                                result = self.insn(slot);
                                std::mem::swap(&mut self.e, inner);
                            },
                            |_| (),
                        );
                        self.e = outer;
                        result?;
                    }
                    (Some(slot), _) => self.insn(slot)?,
                }
                let target = *target;
                self.e.op(Op::Branch { cond, target });
                if slot.is_some() {
                    self.e.op(Op::Jump { target: next });
                }
            }
            Insn::Jump { target, link, .. } => {
                self.link(link.then_some(super::insn::RA), next);
                if let Some(slot) = slot {
                    self.insn(slot)?;
                }
                self.e.op(Op::Jump { target: *target });
            }
            Insn::JumpReg { rs, link, .. } => {
                let addr = self.read(*rs);
                self.link(*link, next);
                if let Some(slot) = slot {
                    self.insn(slot)?;
                }
                self.e.op(Op::JumpTo { addr });
            }
            _ => {}
        }
        Ok(())
    }

    fn link(&mut self, link: Option<R>, next: Label) {
        if let Some(reg) = link {
            let v = self.e.val(Val::Code(next));
            self.write(reg, v);
        }
    }

    fn test(&mut self, test: Test, a: Temp, b: Temp) -> Temp {
        let (op, a, b) = match test {
            Test::Eq => (BinOp::Eq, a, b),
            Test::Ne => (BinOp::Ne, a, b),
            Test::Lt => (BinOp::LtS, a, b),
            Test::Ge => (BinOp::LeS, b, a),
            Test::Gt => (BinOp::LtS, b, a),
            Test::Le => (BinOp::LeS, a, b),
            Test::Ltu => (BinOp::LtU, a, b),
            Test::Geu => (BinOp::LeU, b, a),
            Test::Gtu => (BinOp::LtU, b, a),
            Test::Leu => (BinOp::LeU, a, b),
        };
        self.e.bin(op, a, b, W)
    }

    fn hi_lo(&mut self, hi: Temp, lo: Temp, width: u8) {
        let hi = self.e.sign_extend(hi, width, W);
        let lo = self.e.sign_extend(lo, width, W);
        self.write_special("HI", hi);
        self.write_special("LO", lo);
    }

    fn place(&mut self, name: &str, off: i64) -> Temp {
        let val = match self.labels.find(name, self.line as usize) {
            Some(label) => Val::Code(label),
            None => Val::Ptr { loc: self.symbols.location(name), off },
        };
        self.e.val(val)
    }

    /// The content of a slot of the global offset table, if the displacement is one.
    fn got(&mut self, disp: &Disp) -> Option<Temp> {
        let Disp::Symbol { name, off, part } = disp else {
            return None;
        };
        match part {
            // The page of an address, of which nothing is needed.
            Part::High => Some(self.e.int(0)),
            Part::GotOrPage if self.low.contains(&name.as_str()) => Some(self.e.int(0)),
            Part::Got | Part::GotOrPage => Some(self.place(name, *off)),
            _ => None,
        }
    }

    fn address(&mut self, mem: &Mem) -> Temp {
        self.based(mem.base, &mem.disp, Port::Addr)
    }

    fn based(&mut self, base: R, disp: &Disp, port: Port) -> Temp {
        let value = match disp {
            Disp::Imm(0) => return self.read_port(base, port),
            Disp::Imm(n) => self.e.signed((*n).into(), W),
            Disp::Symbol { part: Part::High, .. } => self.e.int(0),
            Disp::Symbol { name, off, .. } => self.place(name, *off),
        };
        let free = match disp {
            Disp::Symbol { .. } => base == ZERO || base == GP,
            Disp::Imm(_) => base == ZERO,
        };
        if free {
            return value;
        }
        let base = self.read_port(base, port);
        self.e.bin(BinOp::Add, base, value, W)
    }

    fn alu(&mut self, op: Alu, word: bool, a: Temp, b: Temp) -> Temp {
        let width = if word { 32 } else { W };
        let e = &mut self.e;
        let v = match op {
            Alu::Add => e.bin(BinOp::Add, a, b, width),
            Alu::Sub => e.bin(BinOp::Sub, a, b, width),
            Alu::And => e.bin(BinOp::And, a, b, width),
            Alu::Or => e.bin(BinOp::Or, a, b, width),
            Alu::Xor => e.bin(BinOp::Xor, a, b, width),
            Alu::Nor => {
                let v = e.bin(BinOp::Or, a, b, width);
                e.un(UnOp::Not, v, width)
            }
            Alu::Slt => e.bin(BinOp::LtS, a, b, width),
            Alu::Sltu => e.bin(BinOp::LtU, a, b, width),
            Alu::Seq => e.bin(BinOp::Eq, a, b, width),
            Alu::Sne => e.bin(BinOp::Ne, a, b, width),
            Alu::Mul => e.bin(BinOp::Mul, a, b, width),
            Alu::Muh => e.bin(BinOp::MulHiS, a, b, width),
            Alu::Muhu => e.bin(BinOp::MulHiU, a, b, width),
            Alu::Div => e.divide(BinOp::DivS, a, b, width),
            Alu::Divu => e.divide(BinOp::DivU, a, b, width),
            Alu::Mod => e.divide(BinOp::RemS, a, b, width),
            Alu::Modu => e.divide(BinOp::RemU, a, b, width),
            Alu::Sll | Alu::Srl | Alu::Sra | Alu::Rotr => {
                let n = e.bin_int(BinOp::And, b, u128::from(width) - 1, W);
                let op = match op {
                    Alu::Sll => BinOp::Shl,
                    Alu::Srl => BinOp::Shr,
                    Alu::Sra => BinOp::Sar,
                    _ => BinOp::Ror,
                };
                e.bin(op, a, n, width)
            }
        };
        e.sign_extend(v, width, W)
    }

    fn unary(&mut self, op: Unary, a: Temp) -> Temp {
        let e = &mut self.e;
        match op {
            Unary::Seb => e.sign_extend(a, 8, W),
            Unary::Seh => e.sign_extend(a, 16, W),
            Unary::Clz => e.un(UnOp::Clz, a, 32),
            Unary::Dclz => e.un(UnOp::Clz, a, W),
            Unary::Clo => {
                let a = e.un(UnOp::Not, a, 32);
                e.un(UnOp::Clz, a, 32)
            }
            Unary::Dclo => {
                let a = e.un(UnOp::Not, a, W);
                e.un(UnOp::Clz, a, W)
            }
            Unary::Wsbh | Unary::Dsbh => {
                let up = e.shift(BinOp::Shl, a, 8, W);
                let up = e.bin_int(BinOp::And, up, 0xff00_ff00_ff00_ff00, W);
                let down = e.shift(BinOp::Shr, a, 8, W);
                let down = e.bin_int(BinOp::And, down, 0x00ff_00ff_00ff_00ff, W);
                let v = e.bin(BinOp::Or, up, down, W);
                let width = if op == Unary::Wsbh { 32 } else { W };
                e.sign_extend(v, width, W)
            }
            Unary::Dshd => {
                let swapped = e.shift(BinOp::Shl, a, 16, W);
                let up = e.bin_int(BinOp::And, swapped, 0xffff_0000_ffff_0000, W);
                let down = e.shift(BinOp::Shr, a, 16, W);
                let down = e.bin_int(BinOp::And, down, 0x0000_ffff_0000_ffff, W);
                let v = e.bin(BinOp::Or, up, down, W);
                e.bin_int(BinOp::Ror, v, 32, W)
            }
        }
    }
}
