//! The meaning of Power instructions as micro-ops.
//!
//! It does not know their spelling. Dependencies are those of the Power ISA and of herd: each bit of the
//! condition register is a register of its own, and a comparison writes several together.

use super::insn::{
    Addr, Alu, CarryIn, CrBit, CrOp, Disp, EQ, Extend, GT, Half, Insn, LT, Part, SO, Spr, Src, To,
    Unary, When,
};
use crate::lex::{Names, R};
use crate::microcode::Emit;
use litmake_base::diag::{Diag, Result};
use litmake_litmus::Symbols;
use litmake_ops::{BinOp, Code, Label, Op, Port, Reg, Tags, Temp, UnOp, Val, tag};

const W: u8 = 64;

const REGS: [&str; 32] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27",
    "r28", "r29", "r30", "r31",
];

pub fn reg_name(reg: R, names: &Names) -> &str {
    REGS.get(usize::from(reg.0)).copied().unwrap_or_else(|| names.name(reg).unwrap_or("%"))
}

/// Registers that final states do not show.
#[derive(Default)]
pub struct Hidden(pub Vec<Reg>);

impl Hidden {
    fn reg(&mut self, code: &mut Code, name: &str) -> Reg {
        let reg = code.reg(name, 1, false);
        if !self.0.contains(&reg) {
            self.0.push(reg);
        }
        reg
    }
}

pub struct Lower<'a> {
    pub e: Emit,
    pub code: &'a mut Code,
    pub hidden: &'a mut Hidden,
    pub symbols: &'a mut dyn Symbols,
    pub names: &'a Names,
    pub line: Label,
}

impl Lower<'_> {
    pub fn read(&mut self, reg: R) -> Temp {
        self.read_port(reg, Port::None)
    }

    fn read_port(&mut self, reg: R, port: Port) -> Temp {
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.read(reg, port)
    }

    /// Register 0 stands for the number 0 where addresses are computed.
    fn read_base(&mut self, reg: R, port: Port) -> Option<Temp> {
        (reg != R(0)).then(|| self.read_port(reg, port))
    }

    pub fn write(&mut self, reg: R, src: Temp) {
        let name = reg_name(reg, self.names);
        let reg = self.code.reg(name, W, true);
        self.e.write(reg, src);
    }

    fn cr_reg(&mut self, bit: CrBit) -> Reg {
        let part = ["lt", "gt", "eq", "so"][usize::from(bit % 4)];
        let name = format!("cr{}.{part}", bit / 4);
        self.hidden.reg(self.code, &name)
    }

    fn read_cr(&mut self, bit: CrBit) -> Temp {
        let reg = self.cr_reg(bit);
        self.e.read(reg, Port::None)
    }

    fn write_cr(&mut self, bit: CrBit, value: Temp) {
        let reg = self.cr_reg(bit);
        self.e.write(reg, value);
    }

    fn ca(&mut self) -> Reg {
        self.hidden.reg(self.code, "CA")
    }

    fn spr(&mut self, spr: Spr) -> Reg {
        let name = match spr {
            Spr::Lr => "LR",
            Spr::Ctr => "CTR",
        };
        self.code.reg(name, W, false)
    }

    fn src(&mut self, src: Src) -> Temp {
        match src {
            Src::Reg(reg) => self.read(reg),
            Src::Imm(n) => self.e.signed(n.into(), W),
        }
    }

    /// Writes a result; a record form compares it with 0.
    fn result(&mut self, rd: R, value: Temp, record: bool) {
        self.write(rd, value);
        if record {
            let zero = self.e.int(0);
            self.compare(0, true, W, value, zero);
        }
    }

    fn compare(&mut self, field: u8, signed: bool, width: u8, a: Temp, b: Temp) {
        let less = if signed { BinOp::LtS } else { BinOp::LtU };
        let lt = self.e.bin(less, a, b, width);
        self.write_cr(4 * field + LT, lt);
        let gt = self.e.bin(less, b, a, width);
        self.write_cr(4 * field + GT, gt);
        let eq = self.e.bin(BinOp::Eq, a, b, width);
        self.write_cr(4 * field + EQ, eq);
        // Overflow is not followed.
        let so = self.e.int(0);
        self.write_cr(4 * field + SO, so);
    }

    #[expect(clippy::too_many_lines, reason = "an arm an instruction")]
    pub fn insn(&mut self, insn: &Insn) -> Result<()> {
        match insn {
            Insn::Nop => {}
            Insn::Vsx(vsx) => self.vsx(vsx)?,
            Insn::Trap => self.e.op(Op::Halt),
            Insn::TrapIf { on, word, a, b } => {
                let (a, b) = (self.read(*a), self.src(*b));
                let width = if *word { 32 } else { W };
                let comparisons = [
                    (16, BinOp::LtS, a, b),
                    (8, BinOp::LtS, b, a),
                    (4, BinOp::Eq, a, b),
                    (2, BinOp::LtU, a, b),
                    (1, BinOp::LtU, b, a),
                ];
                let mut traps = self.e.int(0);
                for (bit, op, a, b) in comparisons {
                    if on & bit != 0 {
                        let holds = self.e.bin(op, a, b, width);
                        traps = self.e.bin(BinOp::Or, traps, holds, 1);
                    }
                }
                let cond = self.e.is_zero(traps, 1);
                let target = self.line + 1;
                self.e.op(Op::Branch { cond, target });
                self.e.op(Op::Halt);
            }
            Insn::MulAdd { half, rd, a, b, c } => {
                let (a, b, c) = (self.read(*a), self.read(*b), self.read(*c));
                let low = self.e.bin(BinOp::Mul, a, b, W);
                let sum = self.e.bin(BinOp::Add, low, c, W);
                let v = match half {
                    Half::Low => sum,
                    _ => {
                        let carry = self.e.bin(BinOp::LtU, sum, low, W);
                        let (op, above) = match half {
                            Half::HighSigned => (BinOp::MulHiS, self.e.is_negative(c, W)),
                            _ => (BinOp::MulHiU, self.e.int(0)),
                        };
                        // The number that is added has its sign in the high half.
                        let high = self.e.bin(op, a, b, W);
                        let high = self.e.bin(BinOp::Sub, high, above, W);
                        self.e.bin(BinOp::Add, high, carry, W)
                    }
                };
                self.write(*rd, v);
            }
            Insn::Alu { op, record, rd, a, b } => {
                // The preferred no-op, `ori 0,0,0`, and its kin: nothing changes.
                let idle = matches!(op, Alu::Or | Alu::Xor) && *b == Src::Imm(0) && rd == a;
                if !idle {
                    let (a, b) = (self.read(*a), self.src(*b));
                    let v = self.alu(*op, a, b);
                    self.result(*rd, v, *record);
                }
            }
            Insn::Carry { record, rd, invert, a, b, carry } => {
                let mut a = self.read(*a);
                if *invert {
                    a = self.e.un(UnOp::Not, a, W);
                }
                let b = self.src(*b);
                let carry = match carry {
                    CarryIn::Zero => None,
                    CarryIn::One => Some(self.e.int(1)),
                    CarryIn::Ca => {
                        let ca = self.ca();
                        Some(self.e.read(ca, Port::None))
                    }
                };
                let mut sum = self.e.bin(BinOp::Add, a, b, W);
                let mut out = self.e.bin(BinOp::LtU, sum, a, W);
                if let Some(carry) = carry {
                    let more = self.e.bin(BinOp::Add, sum, carry, W);
                    let again = self.e.bin(BinOp::LtU, more, sum, W);
                    out = self.e.bin(BinOp::Or, out, again, 1);
                    sum = more;
                }
                let ca = self.ca();
                self.e.write(ca, out);
                self.result(*rd, sum, *record);
            }
            Insn::Unary { op, record, rd, a } => {
                let a = self.read(*a);
                let v = self.unary(*op, a);
                self.result(*rd, v, *record);
            }
            Insn::ExtendShift { record, rd, a, amount } => {
                let v = self.read(*a);
                let v = self.e.sign_extend(v, 32, W);
                let v = self.e.shift(BinOp::Shl, v, *amount, W);
                self.result(*rd, v, *record);
            }
            Insn::Move { record, rd, a } => {
                let v = self.read(*a);
                self.result(*rd, v, *record);
            }
            Insn::AddImm { rd, a, value, high } => self.add_imm(*rd, *a, value, *high)?,
            Insn::Rotate { record, word, insert, rd, a, amount, begin, end } => {
                let mask = ones(*begin, *end);
                let a = self.read(*a);
                let rotated = self.rotate(a, *word, *amount, *begin <= *end);
                let mut v = self.e.bin_int(BinOp::And, rotated, mask.into(), W);
                if *insert {
                    let old = self.read(*rd);
                    let old = self.e.bin_int(BinOp::And, old, (!mask).into(), W);
                    v = self.e.bin(BinOp::Or, v, old, W);
                }
                self.result(*rd, v, *record);
            }
            Insn::Sra { record, word, rd, a, amount } => {
                let a = self.read(*a);
                let a = if *word { self.e.sign_extend(a, 32, W) } else { a };
                let n = match amount {
                    Src::Imm(n) => self.e.signed((*n).into(), W),
                    Src::Reg(reg) => {
                        let n = self.read(*reg);
                        let range = if *word { 63 } else { 127 };
                        self.e.bin_int(BinOp::And, n, range, W)
                    }
                };
                let v = self.e.bin(BinOp::Sar, a, n, W);
                // The carry: a negative number from which ones were shifted out.
                let back = self.e.bin(BinOp::Shl, v, n, W);
                let lost = self.e.bin(BinOp::Ne, back, a, W);
                let negative = self.e.is_negative(a, W);
                let out = self.e.bin(BinOp::And, lost, negative, 1);
                let ca = self.ca();
                self.e.write(ca, out);
                self.result(*rd, v, *record);
            }
            Insn::Compare { field, word, signed, a, b } => {
                let (a, b) = (self.read(*a), self.src(*b));
                let width = if *word { 32 } else { W };
                self.compare(*field, *signed, width, a, b);
            }
            Insn::Isel { rd, a, b, bit } => {
                let yes = match self.read_base(*a, Port::None) {
                    Some(yes) => yes,
                    None => self.e.int(0),
                };
                let no = self.read(*b);
                let cond = self.read_cr(*bit);
                // A store is behind the loads whose values are used to compute what it stores (Power ISA, book II,
                // "Storage Access Ordering"), and the bit that is looked at is used: it is data as the registers are.
                let every = self.e.un(UnOp::Neg, cond, W);
                let differ = self.e.bin(BinOp::Xor, yes, no, W);
                let taken = self.e.bin(BinOp::And, differ, every, W);
                let v = self.e.bin(BinOp::Xor, no, taken, W);
                self.write(*rd, v);
            }
            Insn::SetB { rd, field } => {
                let lt = self.read_cr(4 * field + LT);
                let gt = self.read_cr(4 * field + GT);
                let v = self.e.bin(BinOp::Sub, gt, lt, W);
                self.write(*rd, v);
            }
            Insn::SetBit { rd, bit, want, negate } => {
                let mut v = self.read_cr(*bit);
                if !want {
                    v = self.e.is_zero(v, 1);
                }
                if *negate {
                    v = self.e.un(UnOp::Neg, v, W);
                }
                self.write(*rd, v);
            }
            Insn::Cr { op, d, a, b } => self.cr(*op, *d, *a, *b),
            Insn::MoveField { to, from } => {
                let bits: Vec<Temp> = (0..4).map(|i| self.read_cr(4 * from + i)).collect();
                for (i, bit) in (0..4).zip(bits) {
                    self.write_cr(4 * to + i, bit);
                }
            }
            Insn::FromCr { rd, mask } => {
                let mut v = self.e.int(0);
                for bit in 0..32 {
                    if mask >> (7 - bit / 4) & 1 == 1 {
                        let t = self.read_cr(bit);
                        let t = self.e.shift(BinOp::Shl, t, 31 - bit, W);
                        v = self.e.bin(BinOp::Or, v, t, W);
                    }
                }
                self.write(*rd, v);
            }
            Insn::ToCr { mask, rs } => {
                let v = self.read(*rs);
                for bit in 0..32 {
                    if mask >> (7 - bit / 4) & 1 == 1 {
                        let t = self.e.bit(v, 31 - bit, W);
                        self.write_cr(bit, t);
                    }
                }
            }
            Insn::Load { size, extend, update, rt, addr } => {
                if let Addr::Disp(_, disp @ Disp::Symbol { part: Part::Got, .. }) = addr {
                    let v = self.disp(disp)?;
                    self.write(*rt, v);
                    return Ok(());
                }
                let ea = self.address(addr, *update)?;
                let v = self.e.load(ea, *size, Tags::NONE);
                if *size == 16 {
                    self.write_pair(*rt, v, *extend == Extend::Reversed);
                    return Ok(());
                }
                let v = match extend {
                    Extend::Zero => v,
                    Extend::Sign => self.e.sign_extend(v, 8 * size, W),
                    Extend::Reversed => self.e.un(UnOp::ByteSwap, v, 8 * size),
                };
                self.write(*rt, v);
            }
            Insn::Store { size, reversed, update, rs, addr } => {
                let mut v = match size {
                    16 => self.read_pair(*rs, *reversed),
                    _ => self.read_port(*rs, Port::Data),
                };
                if *reversed && *size != 16 {
                    v = self.e.un(UnOp::ByteSwap, v, 8 * size);
                }
                let ea = self.address(addr, *update)?;
                self.e.store(ea, v, *size, Tags::NONE);
            }
            Insn::LoadEx { size, rt, addr } => {
                let ea = self.address(addr, false)?;
                let v = self.e.load(ea, *size, tag::EX);
                match size {
                    16 => self.write_pair(*rt, v, false),
                    _ => self.write(*rt, v),
                }
            }
            Insn::StoreEx { size, rs, addr } => {
                let src = match size {
                    16 => self.read_pair(*rs, false),
                    _ => self.read_port(*rs, Port::Data),
                };
                let ea = self.address(addr, false)?;
                let status = self.e.temp();
                self.e.op(Op::StoreEx {
                    status,
                    addr: ea,
                    src,
                    size: *size,
                    tags: tag::EX,
                    ok: 1,
                    fail: 0,
                    status_dep: true,
                    same_size: false,
                });
                // Also where it fails, CR0 depends on what the instruction was given.
                let width = if *size == 16 { 128 } else { W };
                let status = self.e.depending(status, src, width);
                let status = self.e.depending(status, ea, W);
                self.write_cr(EQ, status);
                for bit in [LT, GT, SO] {
                    let zero = self.e.int(0);
                    self.write_cr(bit, zero);
                }
            }
            Insn::Fence(tags) => self.e.fence(*tags),
            Insn::Branch { when, to, link } => self.branch(*when, *to, *link),
            Insn::ToSpr { spr, rs } => {
                let v = self.read(*rs);
                let reg = self.spr(*spr);
                self.e.write(reg, v);
            }
            Insn::FromSpr { spr, rd } => {
                let reg = self.spr(*spr);
                let v = self.e.read(reg, Port::None);
                self.write(*rd, v);
            }
        }
        Ok(())
    }

    /// The value of a displacement.
    fn disp(&mut self, disp: &Disp) -> Result<Temp> {
        Ok(match disp {
            Disp::Imm(n) => self.e.signed((*n).into(), W),
            Disp::Symbol { part: Part::High, .. } => self.e.int(0),
            Disp::Symbol { name, off, .. } => {
                let (loc, off) = (self.symbols.location(name), *off);
                self.e.val(Val::Ptr { loc, off })
            }
        })
    }

    /// Base plus displacement. Beside a symbol, the TOC pointer counts for nothing.
    fn based(&mut self, base: R, disp: &Disp, port: Port) -> Result<Temp> {
        let symbolic = matches!(disp, Disp::Symbol { .. });
        let base = if symbolic && base == R(2) { None } else { self.read_base(base, port) };
        Ok(match (base, disp) {
            (Some(base), Disp::Imm(0)) => base,
            (Some(base), _) => {
                let disp = self.disp(disp)?;
                self.e.bin(BinOp::Add, base, disp, W)
            }
            (None, _) => self.disp(disp)?,
        })
    }

    fn add_imm(&mut self, rd: R, a: R, value: &Disp, high: bool) -> Result<()> {
        let value = match value {
            Disp::Symbol { part: Part::Got, .. } => {
                return Err(Diag::new("this relocation names a slot that holds an address")
                    .help("load from it (`ld`), or take the address itself (`@toc@l`)"));
            }
            Disp::Imm(n) if high => Disp::Imm(i64::from(*n as i16) << 16),
            value => value.clone(),
        };
        let v = self.based(a, &value, Port::None)?;
        self.write(rd, v);
        Ok(())
    }

    pub fn address(&mut self, addr: &Addr, update: bool) -> Result<Temp> {
        let (base, ea) = match addr {
            // Power reads 0 here, an absolute address where no location can be. herd reads the
            // register, and tests count on it.
            Addr::Disp(Some(base @ R(0)), Disp::Imm(n)) => {
                let start = self.read_port(*base, Port::Addr);
                (*base, self.e.add_int(start, *n, W))
            }
            Addr::Disp(base, disp) => {
                let base = base.unwrap_or(R(0));
                (base, self.based(base, disp, Port::Addr)?)
            }
            Addr::Index(a, b) => {
                let base = self.read_base(*a, Port::Addr);
                let index = self.read_port(*b, Port::Addr);
                let ea = match base {
                    Some(base) => self.e.bin(BinOp::Add, base, index, W),
                    None => index,
                };
                (*a, ea)
            }
        };
        if update && base != R(0) {
            self.write(base, ea);
        }
        Ok(ea)
    }

    /// The registers of a pair with the high half and with the low one. The first holds the high
    /// half, but for the prefixed forms, which have the halves as they lie in memory.
    fn pair(first: R, prefixed: bool) -> (R, R) {
        let second = R(first.0 + 1);
        if prefixed { (second, first) } else { (first, second) }
    }

    fn read_pair(&mut self, first: R, prefixed: bool) -> Temp {
        let (high, low) = Self::pair(first, prefixed);
        let high = self.read_port(high, Port::Data);
        let low = self.read_port(low, Port::Data);
        let high = self.e.shift(BinOp::Shl, high, 64, 128);
        self.e.bin(BinOp::Or, high, low, 128)
    }

    fn write_pair(&mut self, first: R, v: Temp, prefixed: bool) {
        let (to_high, to_low) = Self::pair(first, prefixed);
        let high = self.e.shift(BinOp::Shr, v, 64, 128);
        let low = self.e.zero_extend(v, 64, 128);
        self.write(to_high, high);
        self.write(to_low, low);
    }

    fn rotate(&mut self, a: Temp, word: bool, amount: Src, in_order: bool) -> Temp {
        let still = amount == Src::Imm(0);
        let a = match word {
            // Both halves are the word, so that it rotates within itself.
            true => {
                let low = self.e.zero_extend(a, 32, W);
                if still && in_order {
                    return low;
                }
                let high = self.e.shift(BinOp::Shl, low, 32, W);
                self.e.bin(BinOp::Or, low, high, W)
            }
            false => a,
        };
        match amount {
            Src::Imm(0) => a,
            Src::Imm(n) => self.e.bin_int(BinOp::Ror, a, 64 - n as u128, W),
            Src::Reg(reg) => {
                let n = self.read(reg);
                let n = self.e.un(UnOp::Neg, n, W);
                let range = if word { 31 } else { 63 };
                let n = self.e.bin_int(BinOp::And, n, range, W);
                self.e.bin(BinOp::Ror, a, n, W)
            }
        }
    }

    fn alu(&mut self, op: Alu, a: Temp, b: Temp) -> Temp {
        let inverted = |e: &mut Emit, op: BinOp| {
            let v = e.bin(op, a, b, W);
            e.un(UnOp::Not, v, W)
        };
        let e = &mut self.e;
        match op {
            Alu::Add => e.bin(BinOp::Add, a, b, W),
            Alu::Sub => e.bin(BinOp::Sub, a, b, W),
            Alu::And => e.bin(BinOp::And, a, b, W),
            Alu::Or => e.bin(BinOp::Or, a, b, W),
            Alu::Xor => e.bin(BinOp::Xor, a, b, W),
            Alu::Nor => inverted(e, BinOp::Or),
            Alu::Nand => inverted(e, BinOp::And),
            Alu::Eqv => inverted(e, BinOp::Xor),
            Alu::Andc | Alu::Orc => {
                let b = e.un(UnOp::Not, b, W);
                let op = if op == Alu::Andc { BinOp::And } else { BinOp::Or };
                e.bin(op, a, b, W)
            }
            Alu::Mullw => {
                let (a, b) = (e.sign_extend(a, 32, W), e.sign_extend(b, 32, W));
                e.bin(BinOp::Mul, a, b, W)
            }
            Alu::Mulld => e.bin(BinOp::Mul, a, b, W),
            Alu::Mulhw => e.bin(BinOp::MulHiS, a, b, 32),
            Alu::Mulhwu => e.bin(BinOp::MulHiU, a, b, 32),
            Alu::Mulhd => e.bin(BinOp::MulHiS, a, b, W),
            Alu::Mulhdu => e.bin(BinOp::MulHiU, a, b, W),
            Alu::Divw => e.divide(BinOp::DivS, a, b, 32),
            Alu::Divwu => e.divide(BinOp::DivU, a, b, 32),
            Alu::Divd => e.divide(BinOp::DivS, a, b, W),
            Alu::Divdu => e.divide(BinOp::DivU, a, b, W),
            Alu::Modsw => {
                let v = e.divide(BinOp::RemS, a, b, 32);
                e.sign_extend(v, 32, W)
            }
            Alu::Moduw => e.divide(BinOp::RemU, a, b, 32),
            Alu::Modsd => e.divide(BinOp::RemS, a, b, W),
            Alu::Modud => e.divide(BinOp::RemU, a, b, W),
            Alu::Slw | Alu::Srw => {
                let a = e.zero_extend(a, 32, W);
                let n = e.bin_int(BinOp::And, b, 63, W);
                let op = if op == Alu::Slw { BinOp::Shl } else { BinOp::Shr };
                let v = e.bin(op, a, n, W);
                e.zero_extend(v, 32, W)
            }
            Alu::Sld | Alu::Srd => {
                let n = e.bin_int(BinOp::And, b, 127, W);
                let op = if op == Alu::Sld { BinOp::Shl } else { BinOp::Shr };
                e.bin(op, a, n, W)
            }
        }
    }

    fn unary(&mut self, op: Unary, a: Temp) -> Temp {
        let e = &mut self.e;
        match op {
            Unary::Neg => e.un(UnOp::Neg, a, W),
            Unary::Extsb => e.sign_extend(a, 8, W),
            Unary::Extsh => e.sign_extend(a, 16, W),
            Unary::Extsw => e.sign_extend(a, 32, W),
            Unary::Cntlzw => e.un(UnOp::Clz, a, 32),
            Unary::Cntlzd => e.un(UnOp::Clz, a, W),
            Unary::Cnttzw => {
                let v = e.un(UnOp::BitReverse, a, 32);
                e.un(UnOp::Clz, v, 32)
            }
            Unary::Cnttzd => {
                let v = e.un(UnOp::BitReverse, a, W);
                e.un(UnOp::Clz, v, W)
            }
            Unary::Popcntb => {
                // Sums of neighbours: of bits, of pairs, of fours.
                let mut v = a;
                for (n, mask) in [
                    (1, 0x5555_5555_5555_5555u128),
                    (2, 0x3333_3333_3333_3333),
                    (4, 0x0f0f_0f0f_0f0f_0f0f),
                ] {
                    let high = e.shift(BinOp::Shr, v, n, W);
                    let high = e.bin_int(BinOp::And, high, mask, W);
                    let low = e.bin_int(BinOp::And, v, mask, W);
                    v = e.bin(BinOp::Add, high, low, W);
                }
                v
            }
            Unary::Popcntw => {
                let low = e.un(UnOp::PopCount, a, 32);
                let high = e.shift(BinOp::Shr, a, 32, W);
                let high = e.un(UnOp::PopCount, high, 32);
                let high = e.shift(BinOp::Shl, high, 32, W);
                e.bin(BinOp::Or, high, low, W)
            }
            Unary::Popcntd => e.un(UnOp::PopCount, a, W),
            Unary::Brd => e.un(UnOp::ByteSwap, a, W),
            Unary::Brw => {
                let v = e.un(UnOp::ByteSwap, a, W);
                e.bin_int(BinOp::Ror, v, 32, W)
            }
            Unary::Brh => {
                let up = e.shift(BinOp::Shl, a, 8, W);
                let up = e.bin_int(BinOp::And, up, 0xff00_ff00_ff00_ff00, W);
                let down = e.shift(BinOp::Shr, a, 8, W);
                let down = e.bin_int(BinOp::And, down, 0x00ff_00ff_00ff_00ff, W);
                e.bin(BinOp::Or, up, down, W)
            }
        }
    }

    fn cr(&mut self, op: CrOp, d: CrBit, a: CrBit, b: CrBit) {
        // `crset` and `crclr` depend on nothing.
        if a == d && b == d && matches!(op, CrOp::Xor | CrOp::Eqv) {
            let v = self.e.int(u128::from(op == CrOp::Eqv));
            self.write_cr(d, v);
            return;
        }
        let (a, b) = (self.read_cr(a), self.read_cr(b));
        let e = &mut self.e;
        let inverted = |e: &mut Emit, op: BinOp| {
            let v = e.bin(op, a, b, 1);
            e.is_zero(v, 1)
        };
        let v = match op {
            CrOp::And => e.bin(BinOp::And, a, b, 1),
            CrOp::Or => e.bin(BinOp::Or, a, b, 1),
            CrOp::Xor => e.bin(BinOp::Xor, a, b, 1),
            CrOp::Nand => inverted(e, BinOp::And),
            CrOp::Nor => inverted(e, BinOp::Or),
            CrOp::Eqv => inverted(e, BinOp::Xor),
            CrOp::Andc | CrOp::Orc => {
                let b = e.is_zero(b, 1);
                let op = if op == CrOp::Andc { BinOp::And } else { BinOp::Or };
                e.bin(op, a, b, 1)
            }
        };
        self.write_cr(d, v);
    }

    fn branch(&mut self, when: When, to: To, link: bool) {
        let cond = match when {
            When::Always => None,
            When::Bit(bit, want) => {
                let v = self.read_cr(bit);
                Some(if want { v } else { self.e.is_zero(v, 1) })
            }
            When::Counter(zero) => {
                let reg = self.spr(Spr::Ctr);
                let v = self.e.read(reg, Port::None);
                let v = self.e.add_int(v, -1, W);
                self.e.write(reg, v);
                let op = if zero { BinOp::Eq } else { BinOp::Ne };
                Some(self.e.bin_int(op, v, 0, W))
            }
        };
        if let (Some(cond), To::Label(target), false) = (cond, to, link) {
            self.e.op(Op::Branch { cond, target });
            return;
        }
        if let Some(cond) = cond {
            let not = self.e.is_zero(cond, 1);
            let target = self.line + 1;
            self.e.op(Op::Branch { cond: not, target });
        }
        let addr = match to {
            To::Label(_) => None,
            To::Spr(spr) => {
                let reg = self.spr(spr);
                Some(self.e.read(reg, Port::None))
            }
        };
        if link {
            let next = self.e.val(Val::Code(self.line + 1));
            let lr = self.spr(Spr::Lr);
            self.e.write(lr, next);
        }
        match (to, addr) {
            (To::Label(target), _) => self.e.op(Op::Jump { target }),
            (To::Spr(_), Some(addr)) => self.e.op(Op::JumpTo { addr }),
            (To::Spr(_), None) => {}
        }
    }
}

/// Ones from bit `begin` to bit `end`, counted from the highest of 64; the range may wrap.
fn ones(begin: u8, end: u8) -> u64 {
    let from = u64::MAX >> (begin % 64);
    let to = u64::MAX << (63 - end % 64);
    if begin <= end { from & to } else { from | to }
}
