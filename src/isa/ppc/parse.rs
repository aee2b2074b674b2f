//! Reading one line of Power assembly, as herd, gcc, clang and disassemblers write it.
//!
//! It does not know what the instructions do.

use super::insn::{
    Addr, Alu, CarryIn, CrBit, Disp, EQ, GT, Insn, LT, Part, SO, Spr, Src, To, When,
};
use super::table::{Form, Operand, Rotate, TABLE, form};
use super::vsx;
use crate::lex::{self, Cursor, Names, R, Tok, is_symbolic};
use crate::microcode::Labels;
use litmake_base::diag::Result;
use litmake_ops::{Label, Tags, tag};

/// The number of a register name; a bare number is one too, where a register is expected.
pub fn register(word: &str) -> Option<R> {
    match word {
        "sp" => return Some(R(1)),
        "rtoc" => return Some(R(2)),
        _ => {}
    }
    let digits = word.strip_prefix('%').unwrap_or(word).strip_prefix('r')?;
    if digits.len() > 2 || (digits.len() == 2 && digits.starts_with('0')) {
        return None;
    }
    digits.parse().ok().filter(|n| *n < 32).map(R)
}

pub struct Parser<'a, 'b> {
    pub cursor: Cursor<'a>,
    pub names: &'b mut Names,
    pub labels: &'b Labels<'a>,
    pub line: usize,
    /// How many instructions the thread has.
    pub count: usize,
}

impl Parser<'_, '_> {
    pub fn instruction(mut self) -> Result<Insn> {
        let written = self.cursor.mnemonic();
        let mnemonic = written.to_ascii_lowercase();
        let insn = if let Some((when, to, link)) = branch(&mnemonic) {
            self.branch(when, to, link)?
        } else if let Some(insn) = self.vsx(&mnemonic)? {
            insn
        } else {
            let (form, record) = match form(&mnemonic) {
                Some(form) => (form, false),
                None => {
                    let bare = mnemonic.strip_suffix('.').and_then(form);
                    match bare.filter(|f| f.can_record()) {
                        Some(form) => (form, true),
                        None => {
                            let known = TABLE.iter().map(|(n, _)| *n).chain(vsx::names());
                            return Err(lex::unknown(&self.cursor, "Power", written, known));
                        }
                    }
                }
            };
            self.body(form, record)?
        };
        self.cursor.finish()?;
        Ok(insn)
    }

    #[expect(clippy::too_many_lines, reason = "an arm an instruction")]
    fn body(&mut self, form: Form, record: bool) -> Result<Insn> {
        Ok(match form {
            Form::Nop => {
                while !self.cursor.at_end() {
                    self.cursor.take();
                }
                Insn::Nop
            }
            Form::Trap => Insn::Trap,
            Form::TrapIf { word, imm } => {
                let on = self.cursor.int_in("the comparison", 0, 31)? as u8;
                self.cursor.comma()?;
                let a = self.reg()?;
                self.cursor.comma()?;
                let b = match imm {
                    true => Src::Imm(self.cursor.int_in("the constant", -0x8000, 0x7fff)?),
                    false => Src::Reg(self.reg()?),
                };
                Insn::TrapIf { on, word, a, b }
            }
            Form::MulAdd(half) => {
                let [rd, a, b, c] = self.regs()?;
                Insn::MulAdd { half, rd, a, b, c }
            }
            Form::Data => {
                while !self.cursor.at_end() {
                    self.cursor.take();
                }
                Insn::Trap
            }
            Form::SubCarry => {
                let [rd, b, a] = self.regs()?;
                Insn::Carry { record, rd, invert: true, a, b: Src::Reg(b), carry: CarryIn::One }
            }
            Form::ExtendShift => {
                let [rd, a] = self.regs()?;
                self.cursor.comma()?;
                let amount = self.bits(63)? as u8;
                Insn::ExtendShift { record, rd, a, amount }
            }
            Form::Alu(op) => {
                let [rd, a, b] = self.regs()?;
                alu(op, record, rd, a, Src::Reg(b))
            }
            Form::SubFrom => {
                let [rd, b, a] = self.regs()?;
                alu(Alu::Sub, record, rd, a, Src::Reg(b))
            }
            Form::Logic { op, high, record } => {
                let [rd, a] = self.regs()?;
                self.cursor.comma()?;
                let imm = self.cursor.int_in("the constant", -0x8000, 0xffff)? & 0xffff;
                let imm = if high { imm << 16 } else { imm };
                alu(op, record, rd, a, Src::Imm(imm))
            }
            Form::Mulli => {
                let [rd, a] = self.regs()?;
                self.cursor.comma()?;
                let imm = self.cursor.int_in("the constant", -0x8000, 0x7fff)?;
                alu(Alu::Mulld, false, rd, a, Src::Imm(imm))
            }
            Form::Carry { invert, carry, operand } => self.carry(record, invert, carry, operand)?,
            Form::Unary(op) => {
                let [rd, a] = self.regs()?;
                Insn::Unary { op, record, rd, a }
            }
            Form::Mr => {
                let [rd, a] = self.regs()?;
                Insn::Move { record, rd, a }
            }
            Form::Not => {
                let [rd, a] = self.regs()?;
                alu(Alu::Nor, record, rd, a, Src::Reg(a))
            }
            Form::Li { high } => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let value = self.disp()?;
                let a = R(0);
                Insn::AddImm { rd, a, value, high }
            }
            Form::AddImm { high, negate } => {
                let [rd, a] = self.regs()?;
                self.cursor.comma()?;
                let value = match self.disp()? {
                    Disp::Imm(n) if negate => Disp::Imm(n.wrapping_neg()),
                    value => value,
                };
                self.relative(&value)?;
                Insn::AddImm { rd, a, value, high }
            }
            Form::La => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let value = self.disp()?;
                let a = if self.cursor.eat('(') { self.base()? } else { R(0) };
                self.relative(&value)?;
                let high = false;
                Insn::AddImm { rd, a, value, high }
            }
            Form::Rotate(shape) => self.rotate(record, shape)?,
            Form::Sra { word, imm } => {
                let [rd, a] = self.regs()?;
                self.cursor.comma()?;
                let amount = match imm {
                    true => Src::Imm(self.bits(if word { 31 } else { 63 })?),
                    false => Src::Reg(self.reg()?),
                };
                Insn::Sra { record, word, rd, a, amount }
            }
            Form::Compare { word, signed, imm } => self.compare(word, signed, imm)?,
            Form::Isel(bit) => {
                let [rd, a, b] = self.regs()?;
                let bit = match bit {
                    Some(bit) => bit,
                    None => {
                        self.cursor.comma()?;
                        self.cr_bit()?
                    }
                };
                Insn::Isel { rd, a, b, bit }
            }
            Form::SetB => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let field = self.cr_field()?;
                Insn::SetB { rd, field }
            }
            Form::SetBit { want, negate } => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let bit = self.cr_bit()?;
                Insn::SetBit { rd, bit, want, negate }
            }
            Form::Cr { op, operands } => {
                let d = self.cr_bit()?;
                let mut next = || -> Result<CrBit> {
                    self.cursor.comma()?;
                    self.cr_bit()
                };
                let (a, b) = match operands {
                    1 => (d, d),
                    2 => {
                        let a = next()?;
                        (a, a)
                    }
                    _ => (next()?, next()?),
                };
                Insn::Cr { op, d, a, b }
            }
            Form::Mcrf => {
                let to = self.cr_field()?;
                self.cursor.comma()?;
                let from = self.cr_field()?;
                Insn::MoveField { to, from }
            }
            Form::Mfcr => {
                let rd = self.reg()?;
                let mask = match self.cursor.eat(',') {
                    true => self.cursor.int_in("the mask", 0, 255)? as u8,
                    false => 255,
                };
                Insn::FromCr { rd, mask }
            }
            Form::Mtcrf => {
                let mask = self.cursor.int_in("the mask", 0, 255)? as u8;
                self.cursor.comma()?;
                let rs = self.reg()?;
                Insn::ToCr { mask, rs }
            }
            Form::Mtcr => {
                let (mask, rs) = (255, self.reg()?);
                Insn::ToCr { mask, rs }
            }
            Form::Load { size, extend, update, indexed } => {
                let rt = self.even(size)?;
                self.cursor.comma()?;
                let addr = self.addr(indexed)?;
                Insn::Load { size, extend, update, rt, addr }
            }
            Form::Store { size, reversed, update, indexed } => {
                let rs = self.even(size)?;
                self.cursor.comma()?;
                let addr = self.addr(indexed)?;
                Insn::Store { size, reversed, update, rs, addr }
            }
            Form::LoadEx(size) => {
                let rt = self.even(size)?;
                self.cursor.comma()?;
                let addr = self.addr(true)?;
                // The hint says what the program expects to happen.
                if self.cursor.eat(',') {
                    self.cursor.int_in("the hint", 0, 1)?;
                }
                Insn::LoadEx { size, rt, addr }
            }
            Form::StoreEx(size) => {
                let rs = self.even(size)?;
                self.cursor.comma()?;
                let addr = self.addr(true)?;
                Insn::StoreEx { size, rs, addr }
            }
            Form::Fence(tags) => Insn::Fence(tags),
            Form::Sync => Insn::Fence(self.sync()?),
            Form::ToSpr(spr) => Insn::ToSpr { spr, rs: self.reg()? },
            Form::FromSpr(spr) => Insn::FromSpr { spr, rd: self.reg()? },
            Form::Bc => {
                let option = self.cursor.int_in("the branch option", 0, 31)?;
                self.cursor.comma()?;
                let bit = self.cr_bit()?;
                self.cursor.comma()?;
                let when = match option >> 2 {
                    0b011 => When::Bit(bit, true),
                    0b001 => When::Bit(bit, false),
                    0b101 | 0b111 => When::Always,
                    _ => return Err(self.cursor.fail_line("this branch option is not known")),
                };
                let to = To::Label(self.target()?);
                let link = false;
                Insn::Branch { when, to, link }
            }
            Form::Bit(want) => {
                let bit = self.cr_bit()?;
                self.cursor.comma()?;
                let (when, link) = (When::Bit(bit, want), false);
                let to = To::Label(self.target()?);
                Insn::Branch { when, to, link }
            }
        })
    }

    pub fn reg(&mut self) -> Result<R> {
        let names = &mut *self.names;
        self.cursor.one("a register", |tok| match tok {
            Tok::Num(n) => u16::try_from(n).ok().filter(|n| *n < 32).map(R),
            Tok::Word(word) => register(word).or_else(|| names.symbolic(word)),
            _ => None,
        })
    }

    /// The first register of a pair has an even number.
    fn even(&mut self, size: u8) -> Result<R> {
        let at = self.cursor.clone();
        let reg = self.reg()?;
        if size == 16 && (reg.0 % 2 == 1 || reg.0 > 30) {
            return Err(at.expected("the even first register of a pair"));
        }
        Ok(reg)
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

    fn bits(&mut self, high: i64) -> Result<i64> {
        self.cursor.int_in("the bit", 0, high)
    }

    /// How many operands are left.
    fn left(&self) -> usize {
        let mut ahead = self.cursor.clone();
        let mut n = usize::from(!ahead.at_end());
        while !ahead.at_end() {
            n += usize::from(ahead.take() == Tok::Punct(','));
        }
        n
    }

    /// A constant, or a symbol with what is to be taken of its address.
    fn disp(&mut self) -> Result<Disp> {
        let Tok::Word(word) = self.cursor.peek() else {
            let n =
                self.cursor.int().map_err(|_| self.cursor.expected("a constant or a symbol"))?;
            return Ok(Disp::Imm(n));
        };
        let at = self.cursor.clone();
        self.cursor.take();
        let (name, mut relocation) = word.split_once('@').unwrap_or((word, ""));
        if name == ".TOC." {
            // The table of contents has no address here; what is in it is reached by name.
            while !matches!(self.cursor.peek(), Tok::End | Tok::Punct(',' | '(')) {
                self.cursor.take();
            }
            return Ok(Disp::Imm(0));
        }
        if name.is_empty() || register(word).is_some() || is_symbolic(word) {
            return Err(at.expected("a constant or a symbol"));
        }
        let mut off = 0i64;
        while matches!(self.cursor.peek(), Tok::Punct('+' | '-')) {
            let negative = self.cursor.take() == Tok::Punct('-');
            let n = match self.cursor.peek() {
                Tok::Num(n) => Some(n),
                // `x+4@toc@l`
                Tok::Word(word) => word.split_once('@').and_then(|(n, rest)| {
                    relocation = rest;
                    n.parse().ok()
                }),
                _ => None,
            };
            let n = n
                .and_then(|n| i64::try_from(n).ok())
                .ok_or_else(|| self.cursor.expected("a number"))?;
            self.cursor.take();
            off = off.wrapping_add(if negative { n.wrapping_neg() } else { n });
        }
        let part = match relocation.to_ascii_lowercase().as_str() {
            "ha" | "h" | "hi" | "toc@ha" | "toc@h" | "got@ha" | "got@h" => Part::High,
            "" | "l" | "toc@l" | "toc" | "pcrel" | "sda21" => Part::Low,
            "got@l" | "got" | "got@pcrel" => Part::Got,
            _ => {
                let diag = at.fail(&format!("unknown relocation `@{relocation}`"));
                return Err(diag.help("known are @ha, @l, @toc, @got, @pcrel and their parts"));
            }
        };
        let name = name.to_string();
        Ok(Disp::Symbol { name, off, part })
    }

    /// The last operand of prefixed instructions: whether the address is relative to them.
    fn relative(&mut self, disp: &Disp) -> Result<()> {
        if !self.cursor.eat(',') {
            return Ok(());
        }
        let at = self.cursor.clone();
        let relative = self.cursor.int_in("the last operand", 0, 1)? == 1;
        if relative && matches!(disp, Disp::Imm(_)) {
            let diag = at.fail("code has no addresses in a litmus test");
            return Err(diag.help("name the location, as in `x@pcrel`"));
        }
        Ok(())
    }

    /// Reads the base register of an address and the `)` behind it.
    fn base(&mut self) -> Result<R> {
        let base = self.reg()?;
        self.cursor.expect(')')?;
        Ok(base)
    }

    pub fn addr(&mut self, indexed: bool) -> Result<Addr> {
        if indexed {
            let [a, b] = self.regs()?;
            return Ok(Addr::Index(a, b));
        }
        let disp = self.disp()?;
        let base = if self.cursor.eat('(') {
            // A bare 0 is the number; of `r0`, herd takes what it holds.
            let none = self.cursor.peek() == Tok::Num(0);
            let base = self.base()?;
            (!none).then_some(base)
        } else if matches!(disp, Disp::Symbol { .. })
            && !matches!(self.cursor.peek(), Tok::Punct(','))
        {
            None
        } else if self.cursor.eat(',') {
            // herd takes `lwz r1,0,r2` too.
            Some(self.reg()?)
        } else {
            return Err(self.cursor.expected("`(` and a register"));
        };
        self.relative(&disp)?;
        Ok(Addr::Disp(base, disp))
    }

    fn cr_field(&mut self) -> Result<u8> {
        let what = "a field of the condition register (cr0 to cr7)";
        let field = |tok| match tok {
            Tok::Num(n) => u8::try_from(n).ok(),
            Tok::Word(word) => field_named(word),
            _ => None,
        };
        self.cursor.one(what, |tok| field(tok).filter(|f| *f < 8))
    }

    /// `4*cr7+eq`, `eq`, or the number of a bit.
    fn cr_bit(&mut self) -> Result<CrBit> {
        let at = self.cursor.clone();
        let wrong = || at.expected("a bit of the condition register, such as `4*cr7+eq`");
        let mut sum = 0u8;
        loop {
            let mut product = 1u8;
            loop {
                let factor = match self.cursor.take() {
                    Tok::Num(n) => u8::try_from(n).ok().filter(|n| *n < 32),
                    Tok::Word("lt") => Some(LT),
                    Tok::Word("gt") => Some(GT),
                    Tok::Word("eq") => Some(EQ),
                    Tok::Word("so" | "un") => Some(SO),
                    Tok::Word(word) => field_named(word),
                    _ => None,
                };
                let factor = factor.ok_or_else(wrong)?;
                product = product.checked_mul(factor).ok_or_else(wrong)?;
                if !self.cursor.eat('*') {
                    break;
                }
            }
            sum = sum.checked_add(product).ok_or_else(wrong)?;
            if !self.cursor.eat('+') {
                break;
            }
        }
        if sum < 32 { Ok(sum) } else { Err(wrong()) }
    }

    fn carry(
        &mut self,
        record: bool,
        invert: bool,
        carry: CarryIn,
        operand: Operand,
    ) -> Result<Insn> {
        let [rd, a] = self.regs()?;
        let b = match operand {
            Operand::Fixed(n) => Src::Imm(n),
            Operand::Reg => {
                self.cursor.comma()?;
                Src::Reg(self.reg()?)
            }
            Operand::Imm => {
                self.cursor.comma()?;
                Src::Imm(self.cursor.int_in("the constant", -0x8000, 0x7fff)?)
            }
        };
        Ok(Insn::Carry { record, rd, invert, a, b, carry })
    }

    fn compare(&mut self, word: bool, signed: bool, imm: bool) -> Result<Insn> {
        let field = match self.left() {
            3 => {
                let field = self.cr_field()?;
                self.cursor.comma()?;
                field
            }
            _ => 0,
        };
        let a = self.reg()?;
        self.cursor.comma()?;
        let b = match (imm, signed) {
            (false, _) => Src::Reg(self.reg()?),
            (true, true) => Src::Imm(self.cursor.int_in("the constant", -0x8000, 0x7fff)?),
            (true, false) => {
                let n = self.cursor.int_in("the constant", -0x8000, 0xffff)?;
                Src::Imm(n & 0xffff)
            }
        };
        Ok(Insn::Compare { field, word, signed, a, b })
    }

    fn sync(&mut self) -> Result<Tags> {
        if self.cursor.at_end() {
            return Ok(tag::PPC_SYNC);
        }
        let kind = self.cursor.int_in("the kind of `sync`", 0, 7)?;
        if self.cursor.eat(',') {
            self.cursor.int_in("the last operand", 0, 3)?;
        }
        Ok(match kind {
            1 | 5 => tag::LWSYNC,
            _ => tag::PPC_SYNC,
        })
    }

    fn target(&mut self) -> Result<Label> {
        let at = self.cursor.clone();
        let name = match self.cursor.take() {
            Tok::Word(word) => word,
            _ => return Err(at.expected("a label")),
        };
        if name == "." || name == "$" {
            // `.+4` is the next instruction.
            let bytes = self.cursor.addend()?;
            let line = (self.line as i64).checked_add(bytes / 4);
            let inside = |l: &i64| bytes % 4 == 0 && (0..=self.count as i64).contains(l);
            return match line.filter(inside) {
                Some(line) => Ok(line as Label),
                None => Err(at.fail(
                    "expected the distance of an instruction of this thread, a multiple of 4",
                )),
            };
        }
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        lex::target(self.labels, name, self.line, &at)
    }

    fn branch(&mut self, when: Option<When>, to: Option<Spr>, link: bool) -> Result<Insn> {
        let when = match when {
            Some(When::Bit(bit, want)) => {
                let last = usize::from(to.is_none());
                let field = match self.left() > last {
                    true => {
                        let field = self.cr_field()?;
                        if to.is_none() {
                            self.cursor.comma()?;
                        }
                        field
                    }
                    false => 0,
                };
                When::Bit(4 * field + bit, want)
            }
            Some(when) => when,
            None => When::Always,
        };
        let to = match to {
            Some(spr) => To::Spr(spr),
            None => To::Label(self.target()?),
        };
        Ok(Insn::Branch { when, to, link })
    }

    fn rotate(&mut self, record: bool, shape: Rotate) -> Result<Insn> {
        use Rotate as S;
        let [rd, a] = self.regs()?;
        self.cursor.comma()?;
        let word = shape.is_word();
        let top: i64 = if word { 31 } else { 63 };
        let amount = match shape {
            S::Rlwnm | S::Rotlw | S::Rldcl | S::Rldcr | S::Rotld => Src::Reg(self.reg()?),
            _ => Src::Imm(self.bits(top)?),
        };
        let n = match amount {
            Src::Imm(n) => n,
            Src::Reg(_) => 0,
        };
        let masked = matches!(shape, S::Rlwinm | S::Rlwnm | S::Rlwimi) && self.left() == 2;
        if masked {
            // gcc writes the mask itself: `rlwinm 9,9,0,0xff`.
            self.cursor.comma()?;
            let at = self.cursor.clone();
            let mask = self.cursor.int_in("the mask", 0, 0xffff_ffff)? as u32;
            let (begin, end) = mask_bits(mask).ok_or_else(|| {
                at.fail("expected a mask whose ones are contiguous, such as 0xff0")
            })?;
            return Ok(Insn::Rotate {
                record,
                word,
                insert: shape == S::Rlwimi,
                rd,
                a,
                amount,
                begin: begin + 32,
                end: end + 32,
            });
        }
        let mut next = |high: i64| -> Result<i64> {
            self.cursor.comma()?;
            self.cursor.int_in("the bit", 0, high)
        };
        // Amount and bits, within the word or doubleword.
        let mut insert = false;
        let (amount, begin, end) = match shape {
            S::Rlwinm | S::Rlwnm => (amount, next(31)?, next(31)?),
            S::Rlwimi => {
                insert = true;
                (amount, next(31)?, next(31)?)
            }
            S::Rldicl | S::Rldcl => (amount, next(63)?, 63),
            S::Rldicr | S::Rldcr => (amount, 0, next(63)?),
            S::Rldic => (amount, next(63)?, 63 - n),
            S::Rldimi => {
                insert = true;
                (amount, next(63)?, 63 - n)
            }
            S::Slwi | S::Sldi => (amount, 0, top - n),
            S::Srwi | S::Srdi => (Src::Imm((top + 1 - n) & top), n, top),
            S::Rotlwi | S::Rotldi | S::Rotlw | S::Rotld => (amount, 0, top),
            S::Rotrwi | S::Rotrdi => (Src::Imm((top + 1 - n) & top), 0, top),
            S::Clrlwi | S::Clrldi => (Src::Imm(0), n, top),
            S::Clrrwi | S::Clrrdi => (Src::Imm(0), 0, top - n),
            S::Clrlslwi | S::Clrlsldi => {
                let shift = next(top)?;
                let begin = n.checked_sub(shift).filter(|b| *b >= 0);
                let begin = begin.ok_or_else(|| self.cursor.fail_line("the shift is too large"))?;
                (Src::Imm(shift), begin, top - shift)
            }
            S::Extlwi | S::Extldi => {
                let at = next(top)?;
                (Src::Imm(at), 0, (n - 1).max(0))
            }
            S::Extrwi | S::Extrdi => {
                let at = next(top)?;
                (Src::Imm((at + n) & top), (top + 1 - n) & top, top)
            }
            S::Inslwi => {
                insert = true;
                let at = next(top)?;
                (Src::Imm((top + 1 - at) & top), at, (at + n - 1) & top)
            }
            S::Insrwi | S::Insrdi => {
                insert = true;
                let at = next(top)?;
                (Src::Imm((2 * top + 2 - at - n) & top), at, (at + n - 1) & top)
            }
        };
        let shift = if word { 32 } else { 0 };
        Ok(Insn::Rotate {
            record,
            word,
            insert,
            rd,
            a,
            amount,
            begin: (begin + shift) as u8,
            end: (end + shift) as u8,
        })
    }
}

/// The first and the last bit of a row of ones, which may wrap; bit 0 is the highest.
fn mask_bits(mask: u32) -> Option<(u8, u8)> {
    let ends = mask & !mask.rotate_left(1);
    if mask == u32::MAX {
        return Some((0, 31));
    }
    if ends.count_ones() != 1 {
        return None;
    }
    let end = 31 - ends.trailing_zeros();
    let begin = (end + 33 - mask.count_ones()) % 32;
    Some((begin as u8, end as u8))
}

fn alu(op: Alu, record: bool, rd: R, a: R, b: Src) -> Insn {
    Insn::Alu { op, record, rd, a, b }
}

fn field_named(word: &str) -> Option<u8> {
    let digits = word.strip_prefix("cr")?;
    digits.parse().ok().filter(|n| *n < 8)
}

/// A branch mnemonic taken apart: condition, register that it goes to, and whether it links.
fn branch(mnemonic: &str) -> Option<(Option<When>, Option<Spr>, bool)> {
    let rest = mnemonic.strip_prefix('b')?;
    let rest = rest.strip_suffix(['+', '-']).unwrap_or(rest);
    const CONDS: [(&str, When); 14] = [
        ("lt", When::Bit(LT, true)),
        ("le", When::Bit(GT, false)),
        ("eq", When::Bit(EQ, true)),
        ("ge", When::Bit(LT, false)),
        ("gt", When::Bit(GT, true)),
        ("nl", When::Bit(LT, false)),
        ("ne", When::Bit(EQ, false)),
        ("ng", When::Bit(GT, false)),
        ("so", When::Bit(SO, true)),
        ("ns", When::Bit(SO, false)),
        ("un", When::Bit(SO, true)),
        ("nu", When::Bit(SO, false)),
        ("dnz", When::Counter(false)),
        ("dz", When::Counter(true)),
    ];
    let cond = CONDS.iter().find(|(name, _)| rest.starts_with(name));
    let (when, rest) = match cond {
        Some((name, when)) => (Some(*when), &rest[name.len()..]),
        None => (None, rest),
    };
    let (to, rest) = if let Some(rest) = rest.strip_prefix("lr") {
        (Some(Spr::Lr), rest)
    } else if let Some(rest) = rest.strip_prefix("ctr") {
        (Some(Spr::Ctr), rest)
    } else {
        (None, rest)
    };
    match rest {
        "" => Some((when, to, false)),
        "l" => Some((when, to, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_mnemonics() {
        let eq = Some(When::Bit(EQ, true));
        assert_eq!(branch("b"), Some((None, None, false)));
        assert_eq!(branch("bl"), Some((None, None, true)));
        assert_eq!(branch("blr"), Some((None, Some(Spr::Lr), false)));
        assert_eq!(branch("blrl"), Some((None, Some(Spr::Lr), true)));
        assert_eq!(branch("bctrl"), Some((None, Some(Spr::Ctr), true)));
        assert_eq!(branch("beq-"), Some((eq, None, false)));
        assert_eq!(branch("beqlr+"), Some((eq, Some(Spr::Lr), false)));
        assert_eq!(branch("bdnz"), Some((Some(When::Counter(false)), None, false)));
        assert_eq!(branch("blt"), Some((Some(When::Bit(LT, true)), None, false)));
        assert_eq!(branch("bc"), None);
        assert_eq!(branch("brd"), None);
        assert_eq!(branch("bt"), None);
    }
}
