//! Reading one line of AArch32 assembly, as herd, gcc, clang and disassemblers write it.
//!
//! It does not know what the instructions do.

use super::insn::{
    Amount, Block, Cond, DataOp, Field, Index, Insn, Kind, Mem, Offset, Operand, PC, SP, Shift,
    Symbol,
};
use super::table::{DMB, DSB, Form, TABLE, split};
use super::vfp;
use crate::lex::{self, Cursor, Names, R, Tok, is_symbolic};
use crate::microcode::Labels;
use litmake_base::diag::Result;
use litmake_ops::{Tags, tag};

/// The number of a register name.
pub fn register(word: &str) -> Option<R> {
    let lower = word.to_ascii_lowercase();
    let number = match lower.as_str() {
        "sp" => 13,
        "lr" => 14,
        "pc" => 15,
        "ip" => 12,
        "fp" => 11,
        "sl" => 10,
        "sb" => 9,
        _ => {
            let digits = lower.strip_prefix('r')?;
            if digits.len() > 2 || (digits.len() == 2 && digits.starts_with('0')) {
                return None;
            }
            digits.parse().ok().filter(|n| *n < 16)?
        }
    };
    Some(R(number))
}

pub struct Parser<'a, 'b> {
    pub cursor: Cursor<'a>,
    pub names: &'b mut Names,
    pub labels: &'b Labels<'a>,
    pub line: usize,
}

impl Parser<'_, '_> {
    pub fn instruction(mut self) -> Result<Insn> {
        let written = self.cursor.mnemonic();
        let mnemonic = written.to_ascii_lowercase();
        if let Some((name, cond, size)) = vfp::split(&mnemonic) {
            let kind = self.vfp(name, size)?;
            self.cursor.finish()?;
            return Ok(Insn { cond, kind });
        }
        let Some((form, flags, cond)) = split(&mnemonic) else {
            let known = TABLE.iter().map(|(n, _)| *n).chain(vfp::NAMES);
            return Err(lex::unknown(&self.cursor, "Arm", written, known));
        };
        let kind = self.kind(form, flags, &mnemonic)?;
        self.cursor.finish()?;
        Ok(Insn { cond, kind })
    }

    #[expect(clippy::too_many_lines, reason = "an arm an instruction")]
    fn kind(&mut self, form: Form, flags: bool, mnemonic: &str) -> Result<Kind> {
        Ok(match form {
            Form::Nop => {
                // Hints and prefetches; their operands do not matter.
                while !self.cursor.at_end() {
                    self.cursor.take();
                }
                Kind::Nop
            }
            Form::Literal => {
                let value = match self.cursor.is_int() {
                    true => self.imm().map(|n| Operand::Imm(n as u32)),
                    false => self.symbol().map(Operand::Address),
                };
                let value = value.ok().filter(|_| self.cursor.at_end());
                while !self.cursor.at_end() {
                    self.cursor.take();
                }
                Kind::Literal(value)
            }
            Form::Trap => {
                if !self.cursor.at_end() {
                    self.cursor.int()?;
                }
                Kind::Trap
            }
            Form::It => self.it(mnemonic)?,
            Form::Data(op) => self.data(op, flags)?,
            Form::Shift(shift) => self.shift_mov(shift, flags)?,
            Form::Neg => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let rn = self.reg()?;
                data(DataOp::Rsb, flags, rd, rn, Operand::Imm(0))
            }
            Form::MovWide => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let operand = match self.half("lower16")? {
                    Half::Symbol(symbol) => Operand::Address(symbol),
                    Half::Imm(n) => Operand::Imm(n.into()),
                };
                data(DataOp::Mov, false, rd, rd, operand)
            }
            Form::MovTop => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let imm = match self.half("upper16")? {
                    Half::Symbol(_) => None,
                    Half::Imm(n) => Some(n),
                };
                Kind::MovTop { rd, imm }
            }
            Form::Adr => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let symbol = self.symbol()?;
                data(DataOp::Mov, false, rd, rd, Operand::Address(symbol))
            }
            Form::Mul => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let rn = self.reg()?;
                let rm = if self.cursor.eat(',') { self.reg()? } else { rd };
                Kind::Mul { flags, rd, rn, rm, ra: None }
            }
            Form::MulAdd { subtract } => {
                let [rd, rn, rm, ra] = self.regs()?;
                Kind::Mul { flags, rd, rn, rm, ra: Some((ra, subtract)) }
            }
            Form::MulLong { signed, plus } => {
                let [lo, hi, rn, rm] = self.regs()?;
                Kind::MulLong { flags, signed, plus, lo, hi, rn, rm }
            }
            Form::MulTop { add, subtract } => {
                let [rd, rn, rm] = self.regs()?;
                let ra = self.addend_of(add)?.map(|ra| (ra, subtract));
                Kind::MulTop { rd, rn, rm, ra }
            }
            Form::MulHalf { add, tops } => {
                let [rd, rn, rm] = self.regs()?;
                let ra = self.addend_of(add)?;
                Kind::MulHalf { rd, rn, rm, tops, ra }
            }
            Form::Div { signed } => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let rn = self.reg()?;
                let (rn, rm) = match self.cursor.eat(',') {
                    true => (rn, self.reg()?),
                    false => (rd, rn),
                };
                Kind::Div { signed, rd, rn, rm }
            }
            Form::Unary(op) => {
                let [rd, rm] = self.regs()?;
                Kind::Unary { op, rd, rm }
            }
            Form::Extend { signed, from, add } => self.extend(signed, from, add)?,
            Form::AddParts { bits } => {
                let [rd, rn, rm] = self.regs()?;
                Kind::AddParts { bits, rd, rn, rm }
            }
            Form::Select => {
                let [rd, rn, rm] = self.regs()?;
                Kind::Select { rd, rn, rm }
            }
            Form::Saturate { signed } => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let (least, most) = if signed { (1, 32) } else { (0, 31) };
                let bits = self.cursor.int_in("the width", least, most)? as u8;
                self.cursor.comma()?;
                let operand = self.operand()?;
                Kind::Saturate { signed, bits, rd, operand }
            }
            Form::Extract { signed } => {
                let [rd, rn] = self.regs()?;
                self.cursor.comma()?;
                let field = self.field()?;
                Kind::Extract { signed, rd, rn, field }
            }
            Form::Bfi => {
                let [rd, rn] = self.regs()?;
                self.cursor.comma()?;
                let (rn, field) = (Some(rn), self.field()?);
                Kind::Insert { rd, rn, field }
            }
            Form::Bfc => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let (rn, field) = (None, self.field()?);
                Kind::Insert { rd, rn, field }
            }
            Form::Load { size, signed } => self.load(size, signed)?,
            Form::Store { size } => {
                let rt = self.reg()?;
                self.cursor.comma()?;
                let mem = self.mem()?;
                let tags = Tags::NONE;
                Kind::Store { size, tags, rt, mem }
            }
            Form::LoadAcquire { size } => {
                let rt = self.reg()?;
                self.cursor.comma()?;
                let mem = self.plain_mem()?;
                let (signed, tags) = (false, tag::A);
                Kind::Load { size, signed, tags, rt, mem }
            }
            Form::StoreRelease { size } => {
                let rt = self.reg()?;
                self.cursor.comma()?;
                let mem = self.plain_mem()?;
                let tags = tag::L;
                Kind::Store { size, tags, rt, mem }
            }
            Form::LoadDual => {
                let (rt, rt2) = self.pair()?;
                let mem = self.mem()?;
                Kind::LoadDual { rt, rt2, mem }
            }
            Form::StoreDual => {
                let (rt, rt2) = self.pair()?;
                let mem = self.mem()?;
                Kind::StoreDual { rt, rt2, mem }
            }
            Form::LoadBlock(block) => {
                let (base, writeback, regs) = self.block(true)?;
                Kind::LoadBlock { block, base, writeback, regs }
            }
            Form::StoreBlock(block) => {
                let (base, writeback, regs) = self.block(false)?;
                Kind::StoreBlock { block, base, writeback, regs }
            }
            Form::Push => Kind::StoreBlock {
                block: Block::Db,
                base: SP,
                writeback: true,
                regs: self.register_list(false)?,
            },
            Form::Pop => Kind::LoadBlock {
                block: Block::Ia,
                base: SP,
                writeback: true,
                regs: self.register_list(true)?,
            },
            Form::LoadEx { size, tags } => {
                let (rt, rt2) = self.one_or_pair(size)?;
                let (rn, offset) = self.exclusive(size)?;
                Kind::LoadEx { size, tags, rt, rt2, rn, offset }
            }
            Form::StoreEx { size, tags } => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let (rt, rt2) = self.one_or_pair(size)?;
                let (rn, offset) = self.exclusive(size)?;
                Kind::StoreEx { size, tags, rd, rt, rt2, rn, offset }
            }
            Form::Swap { size } => {
                let [rt, rt2] = self.regs()?;
                self.cursor.comma()?;
                let rn = self.plain_mem()?.base;
                Kind::Swap { size, rt, rt2, rn }
            }
            Form::Dmb => Kind::Fence(self.barrier(&DMB)?),
            Form::Dsb => Kind::Fence(self.barrier(&DSB)?),
            Form::Isb => {
                let _ = self.cursor.eat('#') && self.cursor.int().is_ok();
                let _ = self.cursor.eat_word("sy");
                Kind::Fence(tag::ISB)
            }
            Form::Mcr => self.mcr()?,
            Form::Branch { link } => {
                let target = self.target()?;
                Kind::Branch { target, link }
            }
            Form::BranchReg { link } => match self.cursor.peek() {
                Tok::Word(word) if register(word).is_none() && !is_symbolic(word) => {
                    let target = self.target()?;
                    Kind::Branch { target, link }
                }
                _ => {
                    let rm = self.reg()?;
                    Kind::BranchReg { rm, link }
                }
            },
            Form::CompareBranch { nonzero } => {
                let rn = self.reg()?;
                self.cursor.comma()?;
                let target = self.target()?;
                Kind::CompareBranch { nonzero, rn, target }
            }
        })
    }

    /// Any register but PC, whose value no litmus test has.
    pub fn reg(&mut self) -> Result<R> {
        let start = self.cursor.clone();
        let reg = self.reg_or_pc()?;
        if reg == PC {
            let diag = start.fail("PC cannot be an operand here");
            return Err(diag.help("code has no addresses in a litmus test; name the location"));
        }
        Ok(reg)
    }

    fn reg_or_pc(&mut self) -> Result<R> {
        let reg = match self.cursor.peek() {
            Tok::Word(word) if is_symbolic(word) => self.names.intern(word),
            Tok::Word(word) => register(word),
            _ => None,
        };
        match reg {
            Some(reg) => {
                self.cursor.take();
                Ok(reg)
            }
            None => Err(self.cursor.expected("a register")),
        }
    }

    fn is_reg(&self) -> bool {
        matches!(self.cursor.peek(), Tok::Word(w) if is_symbolic(w) || register(w).is_some())
    }

    fn regs<const N: usize>(&mut self) -> Result<[R; N]> {
        let mut regs = [R(0); N];
        for (i, reg) in regs.iter_mut().enumerate() {
            if i > 0 {
                self.cursor.comma()?;
            }
            *reg = self.reg()?;
        }
        Ok(regs)
    }

    /// Reads the addend of a product, if it has one.
    fn addend_of(&mut self, add: bool) -> Result<Option<R>> {
        if !add {
            return Ok(None);
        }
        self.cursor.comma()?;
        self.reg().map(Some)
    }

    fn imm(&mut self) -> Result<i64> {
        self.cursor.int_in("the constant", i64::from(i32::MIN), i64::from(u32::MAX))
    }

    /// `x`, `x+4`; or `x-(.LPC0_0+8)`, which code adds PC to: that is the address of `x` too,
    /// where PC counts for nothing.
    fn symbol(&mut self) -> Result<Symbol> {
        let name = match self.cursor.peek() {
            Tok::Word(word) if !is_symbolic(word) && register(word).is_none() => word.to_string(),
            _ => return Err(self.cursor.expected("a symbol")),
        };
        self.cursor.take();
        let start = self.cursor.clone();
        if self.cursor.eat('-')
            && self.cursor.eat('(')
            && let Tok::Word(label) = self.cursor.peek()
            && self.labels.find(label, self.line).is_some()
        {
            self.cursor.take();
            self.cursor.addend()?;
            self.cursor.expect(')')?;
            return Ok(Symbol { name, off: 0 });
        }
        self.cursor = start;
        let off = self.cursor.addend()?;
        Ok(Symbol { name, off })
    }

    fn target(&mut self) -> Result<u32> {
        let at = self.cursor.clone();
        match self.cursor.take() {
            Tok::Word(name) => lex::target(self.labels, name, self.line, &at),
            _ => Err(at.expected("a label")),
        }
    }

    fn it(&mut self, mnemonic: &str) -> Result<Kind> {
        let at = self.cursor.clone();
        let first = match self.cursor.take() {
            Tok::Word(word) => Cond::named(&word.to_ascii_lowercase()),
            _ => None,
        };
        let first = first.ok_or_else(|| at.expected("a condition"))?;
        let mut conds = vec![first];
        for way in mnemonic.bytes().skip(2) {
            conds.push(if way == b't' { first } else { first.inverse() });
        }
        Ok(Kind::It(conds))
    }

    fn data(&mut self, op: DataOp, flags: bool) -> Result<Kind> {
        if op.is_test() {
            let rn = self.reg()?;
            self.cursor.comma()?;
            let operand = self.operand()?;
            return Ok(data(op, true, rn, rn, operand));
        }
        let rd = match op {
            DataOp::Mov => self.reg_or_pc()?,
            _ => self.reg()?,
        };
        self.cursor.comma()?;
        if op.is_move() {
            let operand = self.operand()?;
            return Ok(data(op, flags, rd, rd, operand));
        }
        if op == DataOp::Add && self.cursor.eat_word("pc") {
            // The register that is added to PC holds the address of a symbol relative to it.
            let rm = match self.cursor.eat(',') {
                true => self.reg()?,
                false => rd,
            };
            return Ok(data(DataOp::Mov, flags, rd, rd, Operand::Reg(rm)));
        }
        // `add r0, r1` means `add r0, r0, r1`.
        let start = self.cursor.clone();
        if self.is_reg() {
            let rn = self.reg()?;
            if self.cursor.eat(',') {
                if self.is_shift() {
                    self.cursor = start;
                } else {
                    let operand = self.operand()?;
                    return Ok(data(op, flags, rd, rn, operand));
                }
            } else {
                return Ok(data(op, flags, rd, rd, Operand::Reg(rn)));
            }
        }
        let operand = self.operand()?;
        Ok(data(op, flags, rd, rd, operand))
    }

    fn shift_mov(&mut self, shift: Shift, flags: bool) -> Result<Kind> {
        let rd = self.reg()?;
        self.cursor.comma()?;
        let operand = if shift == Shift::Rrx {
            Operand::Shifted(self.reg()?, Shift::Rrx, Amount::Imm(1))
        } else {
            let rm = if self.is_reg() { self.reg()? } else { rd };
            let more = if self.cursor.is_int() { true } else { self.cursor.eat(',') };
            match more {
                true => Operand::Shifted(rm, shift, self.amount()?),
                // `lsl r0, r1` means `lsl r0, r0, r1`.
                false => Operand::Shifted(rd, shift, Amount::Reg(rm)),
            }
        };
        Ok(data(DataOp::Mov, flags, rd, rd, normal(operand)))
    }

    fn is_shift(&self) -> bool {
        matches!(self.cursor.peek(), Tok::Word(w) if shift(w).is_some())
    }

    fn amount(&mut self) -> Result<Amount> {
        if self.is_reg() {
            Ok(Amount::Reg(self.reg()?))
        } else {
            let n = self.cursor.int_in("the shift", 0, 32)?;
            Ok(Amount::Imm(n as u8))
        }
    }

    /// The flexible second operand.
    fn operand(&mut self) -> Result<Operand> {
        if self.is_reg() {
            let rm = self.reg_or_pc()?;
            if rm == PC {
                return Err(self.cursor.fail_line("PC cannot be an operand here"));
            }
            if !self.cursor.eat(',') {
                return Ok(Operand::Reg(rm));
            }
            let at = self.cursor.clone();
            let shift = match self.cursor.take() {
                Tok::Word(word) => shift(word),
                _ => None,
            };
            let shift = shift.ok_or_else(|| at.expected("a shift (lsl, lsr, asr, ror, rrx)"))?;
            let amount = match shift {
                Shift::Rrx => Amount::Imm(1),
                _ => self.amount()?,
            };
            return Ok(normal(Operand::Shifted(rm, shift, amount)));
        }
        let start = self.cursor.clone();
        if self.cursor.eat('#') && self.cursor.peek() == Tok::Punct(':') {
            self.cursor = start;
            return match self.half("lower16")? {
                Half::Symbol(symbol) => Ok(Operand::Address(symbol)),
                Half::Imm(n) => Ok(Operand::Imm(n.into())),
            };
        }
        self.cursor = start;
        if !self.cursor.is_int() {
            return Err(self.cursor.expected("a register or a constant"));
        }
        Ok(Operand::Imm(self.imm()? as u32))
    }

    /// `#:lower16:x`, or a constant of 16 bits.
    fn half(&mut self, what: &str) -> Result<Half> {
        let start = self.cursor.clone();
        self.cursor.eat('#');
        if self.cursor.eat(':') {
            if !self.cursor.eat_word(what) {
                return Err(self.cursor.expected(&format!("`{what}`")));
            }
            self.cursor.expect(':')?;
            let inner = self.cursor.eat('(');
            let symbol = self.symbol()?;
            if inner {
                self.cursor.expect(')')?;
            }
            return Ok(Half::Symbol(symbol));
        }
        self.cursor = start;
        let n = self.cursor.int_in("the constant", 0, 0xffff)?;
        Ok(Half::Imm(n as u16))
    }

    fn extend(&mut self, signed: bool, from: u8, add: bool) -> Result<Kind> {
        let rd = self.reg()?;
        self.cursor.comma()?;
        let rn = if add {
            let rn = self.reg()?;
            self.cursor.comma()?;
            Some(rn)
        } else {
            None
        };
        let rm = self.reg()?;
        let rotate = if self.cursor.eat(',') {
            if !self.cursor.eat_word("ror") {
                return Err(self.cursor.expected("`ror`"));
            }
            self.cursor.int_in("the rotation", 0, 24)? as u8
        } else {
            0
        };
        Ok(Kind::Extend { signed, from, rotate, rd, rn, rm })
    }

    fn field(&mut self) -> Result<Field> {
        let lsb = self.cursor.int_in("the lowest bit", 0, 31)?;
        self.cursor.comma()?;
        let width = self.cursor.int_in("the width", 1, 32 - lsb)?;
        Ok(Field { lsb: lsb as u8, width: width as u8 })
    }

    fn load(&mut self, size: u8, signed: bool) -> Result<Kind> {
        let rt = self.reg_or_pc()?;
        self.cursor.comma()?;
        if self.cursor.eat('=') {
            let operand = if self.cursor.is_int() {
                Operand::Imm(self.imm()? as u32)
            } else {
                Operand::Address(self.symbol()?)
            };
            return Ok(data(DataOp::Mov, false, rt, rt, operand));
        }
        if matches!(self.cursor.peek(), Tok::Word(_)) && !self.is_reg() {
            let from = self.symbol()?;
            return Ok(Kind::LoadNamed { size, signed, rt, from });
        }
        let mem = self.mem()?;
        let tags = Tags::NONE;
        Ok(Kind::Load { size, signed, tags, rt, mem })
    }

    /// Two registers before an address; the second may be left out where it is the next one.
    fn pair(&mut self) -> Result<(R, R)> {
        let start = self.cursor.clone();
        let rt = self.reg()?;
        self.cursor.comma()?;
        if self.is_reg() {
            let rt2 = self.reg()?;
            self.cursor.comma()?;
            return Ok((rt, rt2));
        }
        match rt.0 {
            0..12 => Ok((rt, R(rt.0 + 1))),
            _ => Err(start.fail("the second register cannot be left out here")),
        }
    }

    fn one_or_pair(&mut self, size: u8) -> Result<(R, Option<R>)> {
        if size == 8 {
            let (rt, rt2) = self.pair()?;
            return Ok((rt, Some(rt2)));
        }
        let rt = self.reg()?;
        self.cursor.comma()?;
        Ok((rt, None))
    }

    /// `[r0]` and nothing more.
    fn plain_mem(&mut self) -> Result<Mem> {
        let at = self.cursor.clone();
        let mem = self.mem()?;
        if mem.offset != Offset::Imm(0) || mem.index != Index::Offset {
            let diag = at.fail("this instruction takes an address without offset, such as `[R0]`");
            return Err(diag);
        }
        Ok(mem)
    }

    /// Base and offset; Thumb's exclusives of words can have one.
    fn exclusive(&mut self, size: u8) -> Result<(R, i64)> {
        let at = self.cursor.clone();
        let mem = self.mem()?;
        match mem.offset {
            Offset::Imm(0) if mem.index == Index::Offset => Ok((mem.base, 0)),
            Offset::Imm(n @ 0..=1020) if mem.index == Index::Offset && size == 4 => {
                Ok((mem.base, n))
            }
            _ => Err(at.fail("this instruction takes an address without offset, such as `[R0]`")),
        }
    }

    pub fn mem(&mut self) -> Result<Mem> {
        let (none, index) = (Offset::Imm(0), Index::Offset);
        if self.is_reg() {
            // herd takes the brackets for granted.
            let base = self.reg()?;
            let offset = none;
            return Ok(Mem { base, offset, index });
        }
        if !self.cursor.eat('[') {
            return Err(self.cursor.expected("an address such as `[R0]`"));
        }
        if self.cursor.eat_word("pc") {
            // As above: the register holds an address relative to PC.
            self.cursor.comma()?;
            let (base, offset) = (self.reg()?, none);
            self.cursor.expect(']')?;
            return Ok(Mem { base, offset, index });
        }
        let base = self.reg()?;
        if self.cursor.eat(']') {
            if self.cursor.eat(',') {
                let (offset, index) = (self.offset()?, Index::Post);
                return Ok(Mem { base, offset, index });
            }
            let index = match self.cursor.eat('!') {
                true => Index::Pre,
                false => Index::Offset,
            };
            let offset = none;
            return Ok(Mem { base, offset, index });
        }
        self.cursor.comma()?;
        let offset = self.offset()?;
        self.cursor.expect(']')?;
        let index = match self.cursor.eat('!') {
            true => Index::Pre,
            false => Index::Offset,
        };
        Ok(Mem { base, offset, index })
    }

    fn offset(&mut self) -> Result<Offset> {
        let start = self.cursor.clone();
        let negative = self.cursor.eat('-');
        if !negative {
            self.cursor.eat('+');
        }
        if !self.is_reg() {
            self.cursor = start;
            return Ok(Offset::Imm(self.cursor.int_in("the offset", -4095, 4095)?));
        }
        let reg = self.reg()?;
        let (mut kind, mut amount) = (Shift::Lsl, 0);
        if self.cursor.eat(',') {
            let at = self.cursor.clone();
            kind = match self.cursor.take() {
                Tok::Word(word) => shift(word),
                _ => None,
            }
            .ok_or_else(|| at.expected("a shift (lsl, lsr, asr, ror, rrx)"))?;
            amount = match kind {
                Shift::Rrx => 1,
                _ => self.cursor.int_in("the shift", 0, 32)? as u8,
            };
        }
        Ok(Offset::Reg { reg, negative, shift: kind, amount })
    }

    fn block(&mut self, load: bool) -> Result<(R, bool, Vec<R>)> {
        let base = self.reg()?;
        let writeback = self.cursor.eat('!');
        self.cursor.comma()?;
        Ok((base, writeback, self.register_list(load)?))
    }

    /// `{r0, r4-r7, lr}`, given in the order of memory.
    fn register_list(&mut self, load: bool) -> Result<Vec<R>> {
        self.cursor.expect('{')?;
        let mut regs: Vec<R> = Vec::new();
        loop {
            let at = self.cursor.clone();
            let first = match load {
                true => self.reg_or_pc()?,
                false => self.reg()?,
            };
            if self.cursor.eat('-') {
                let last = self.reg()?;
                if last.0 > 15 || first.0 > last.0 {
                    return Err(at.fail("this range of registers is empty"));
                }
                regs.extend((first.0..=last.0).map(R));
            } else {
                regs.push(first);
            }
            if self.cursor.eat('}') {
                break;
            }
            self.cursor.comma()?;
        }
        regs.sort_unstable();
        regs.dedup();
        if regs.len() > 16 {
            return Err(self.cursor.fail_line("there are 16 registers at most in a list"));
        }
        Ok(regs)
    }
}

enum Half {
    Symbol(Symbol),
    Imm(u16),
}

fn data(op: DataOp, flags: bool, rd: R, rn: R, operand: Operand) -> Kind {
    Kind::Data { op, flags, rd, rn, operand }
}

/// A shift by nothing is no shift.
fn normal(operand: Operand) -> Operand {
    match operand {
        Operand::Shifted(rm, shift, Amount::Imm(0)) if shift != Shift::Rrx => Operand::Reg(rm),
        operand => operand,
    }
}

fn shift(word: &str) -> Option<Shift> {
    Some(match word.to_ascii_lowercase().as_str() {
        "lsl" | "asl" => Shift::Lsl,
        "lsr" => Shift::Lsr,
        "asr" => Shift::Asr,
        "ror" => Shift::Ror,
        "rrx" => Shift::Rrx,
        _ => return None,
    })
}
