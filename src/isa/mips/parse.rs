//! Reading one line of MIPS assembly, as herd, gcc, clang and disassemblers write it.
//!
//! It does not know what the instructions do.

use super::insn::{Alu, Disp, Insn, Mem, Part, RA, Slot, Src, ZERO};
use super::table::{Form, TABLE, form};
use crate::lex::{self, Cursor, Names, R, Tok, is_symbolic};
use crate::microcode::Labels;
use litmake_base::diag::Result;
use litmake_ops::{Label, Tags, tag};

/// The names of the registers by number; those from 32 on are herd's own.
const NAMES: [&str; 36] = [
    "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
    "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "fp",
    "ra", "a4", "a5", "a6", "a7",
];

/// The code of a trap that tells of a division by 0.
const DIVIDE_BY_ZERO: i64 = 7;

/// The number of a register name, with `$` in front or not.
pub fn register(word: &str) -> Option<R> {
    let bare = word.strip_prefix('$');
    if let Some(digits) = bare.filter(|b| b.starts_with(|c: char| c.is_ascii_digit())) {
        let canonical = digits.len() == 1 || !digits.starts_with('0');
        return digits.parse().ok().filter(|n| canonical && *n < 32).map(R);
    }
    let name = match bare.unwrap_or(word) {
        "s8" => "fp",
        name => name,
    };
    NAMES.iter().position(|n| *n == name).map(|n| R(n as u16))
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
        let Some(form) = form(&written.to_ascii_lowercase()) else {
            let known = TABLE.iter().map(|(n, _)| *n);
            return Err(lex::unknown(&self.cursor, "MIPS", written, known));
        };
        let insn = self.body(form)?;
        self.cursor.finish()?;
        Ok(insn)
    }

    #[expect(clippy::too_many_lines, reason = "an arm an instruction")]
    fn body(&mut self, form: Form) -> Result<Insn> {
        Ok(match form {
            Form::Nop | Form::Directive => {
                self.skip();
                match form {
                    Form::Nop => Insn::Nop,
                    _ => Insn::Directive,
                }
            }
            Form::Set => {
                let insn = match self.cursor.take() {
                    Tok::Word("reorder") => Insn::Reorder(true),
                    Tok::Word("noreorder") => Insn::Reorder(false),
                    Tok::Word("push") => Insn::Push,
                    Tok::Word("pop") => Insn::Pop,
                    _ => Insn::Directive,
                };
                self.skip();
                insn
            }
            Form::Trap => {
                self.skip();
                Insn::Trap
            }
            Form::TrapEqual => {
                let [a, b] = self.regs()?;
                let code = self.cursor.eat(',').then(|| self.cursor.int()).transpose()?;
                match (a == b, code) {
                    (true, _) => Insn::Trap,
                    // The check for zero that compilers put beside a division.
                    (false, Some(DIVIDE_BY_ZERO)) => Insn::Nop,
                    _ => {
                        let diag = self.cursor.fail("a trap under a condition is not supported");
                        return Err(diag.help("write a branch to the end of the thread"));
                    }
                }
            }
            Form::Alu { op, word } => {
                let (rd, a) = self.two_or_three()?;
                let b = match self.cursor.is_int() {
                    true => Src::Imm(self.cursor.int()?),
                    false => Src::Reg(self.reg()?),
                };
                Insn::Alu { op, word, rd, a, b }
            }
            Form::AluImm { op, word } => {
                let (rd, a) = self.two_or_three()?;
                let n = self.cursor.int()?;
                let b = Src::Imm(match op {
                    Alu::And | Alu::Or | Alu::Xor => unsigned(n),
                    _ => signed(n),
                });
                Insn::Alu { op, word, rd, a, b }
            }
            Form::AddImm { word } => {
                let (rd, a) = self.two_or_three()?;
                let value = match self.disp()? {
                    Disp::Imm(n) => Disp::Imm(signed(n)),
                    value => value,
                };
                Insn::Address { word, rd, a, value }
            }
            Form::Shift { op, word, more } => {
                let (rd, a) = self.two_or_three()?;
                let b = match self.cursor.is_int() {
                    true => {
                        let top = if word || more > 0 { 31 } else { 63 };
                        Src::Imm(self.cursor.int_in("the shift", 0, top)? + i64::from(more))
                    }
                    false => Src::Reg(self.reg()?),
                };
                Insn::Alu { op, word, rd, a, b }
            }
            Form::FromZero { op, word } => {
                let (rd, rs) = self.one_or_two()?;
                let (a, b) = (ZERO, Src::Reg(rs));
                Insn::Alu { op, word, rd, a, b }
            }
            Form::Move => {
                let [rd, rs] = self.regs()?;
                Insn::Move { rd, rs }
            }
            Form::Lui => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                match self.disp()? {
                    Disp::Imm(n) => {
                        let value = i64::from((n as i32) << 16);
                        Insn::Load64 { rd, value }
                    }
                    value => {
                        let (a, word) = (ZERO, false);
                        Insn::Address { word, rd, a, value }
                    }
                }
            }
            Form::Li { word } => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let value = match self.cursor.int()? {
                    n @ 0x8000_0000..=0xffff_ffff if word => i64::from(n as i32),
                    n => n,
                };
                Insn::Load64 { rd, value }
            }
            Form::La => {
                let rd = self.reg()?;
                self.cursor.comma()?;
                let Mem { base: a, disp } = self.mem()?;
                let (word, value) = (false, disp);
                Insn::Address { word, rd, a, value }
            }
            Form::Multiply { word, signed } => {
                let [a, b] = self.regs()?;
                Insn::Multiply { word, signed, a, b }
            }
            Form::Divide { word, signed } => {
                let [rd, a] = self.regs()?;
                if !self.cursor.eat(',') {
                    let (a, b) = (rd, a);
                    return Ok(Insn::Divide { word, signed, a, b });
                }
                let b = self.reg()?;
                if rd == ZERO {
                    return Ok(Insn::Divide { word, signed, a, b });
                }
                let op = if signed { Alu::Div } else { Alu::Divu };
                let b = Src::Reg(b);
                Insn::Alu { op, word, rd, a, b }
            }
            Form::Accumulate { signed, subtract } => {
                let [a, b] = self.regs()?;
                Insn::Accumulate { signed, subtract, a, b }
            }
            Form::AddUpper { word, shift } => {
                let (rd, a) = self.two_or_three()?;
                let value = match self.disp()? {
                    Disp::Imm(n) => Disp::Imm(signed(n) << shift),
                    value => value,
                };
                Insn::Address { word, rd, a, value }
            }
            Form::FromHi => Insn::FromHi(self.reg()?),
            Form::FromLo => Insn::FromLo(self.reg()?),
            Form::ToHi => Insn::ToHi(self.reg()?),
            Form::ToLo => Insn::ToLo(self.reg()?),
            Form::Unary(op) => {
                let (rd, rs) = self.one_or_two()?;
                Insn::Unary { op, rd, rs }
            }
            Form::Extract { word } => {
                let (rd, rs, pos, size) = self.field(word)?;
                Insn::Extract { rd, rs, pos, size, word }
            }
            Form::Insert { word } => {
                let (rd, rs, pos, size) = self.field(word)?;
                Insn::Insert { rd, rs, pos, size, word }
            }
            Form::MoveIf { zero } => {
                let [rd, rs, rt] = self.regs()?;
                Insn::MoveIf { rd, rs, rt, zero }
            }
            Form::SelectOr0 { zero } => {
                let [rd, rs, rt] = self.regs()?;
                Insn::SelectOr0 { rd, rs, rt, zero }
            }
            Form::ScaledAdd { word } => {
                let [rd, rs, rt] = self.regs()?;
                self.cursor.comma()?;
                let shift = self.cursor.int_in("the shift", 1, 4)? as u8;
                Insn::ScaledAdd { word, rd, rs, rt, shift }
            }
            Form::Load { size, signed } => {
                let (rt, mem) = self.access()?;
                Insn::Load { size, signed, rt, mem }
            }
            Form::Store { size } => {
                let (rt, mem) = self.access()?;
                Insn::Store { size, rt, mem }
            }
            Form::LoadLinked { size } => {
                let (rt, mem) = self.access()?;
                Insn::LoadLinked { size, rt, mem }
            }
            Form::StoreConditional { size } => {
                let (rt, mem) = self.access()?;
                Insn::StoreConditional { size, rt, mem }
            }
            Form::Sync => Insn::Fence(self.sync()?),
            Form::Fence(tags) => Insn::Fence(tags),
            Form::Branch2 { test, slot } => {
                let a = self.reg()?;
                self.cursor.comma()?;
                let b = match self.cursor.is_int() {
                    true => Src::Imm(self.cursor.int()?),
                    false => Src::Reg(self.reg()?),
                };
                self.cursor.comma()?;
                let (target, link) = (self.target()?, false);
                Insn::Branch { test, a, b, target, link, slot }
            }
            Form::Branch1 { test, link, slot } => {
                let (a, b) = (self.reg()?, Src::Reg(ZERO));
                self.cursor.comma()?;
                let target = self.target()?;
                Insn::Branch { test, a, b, target, link, slot }
            }
            Form::Jump { link, slot } => {
                // `j $31` and `jal $25` are jumps to registers.
                if self.is_reg() {
                    return self.jump_reg(link, slot);
                }
                let target = self.target()?;
                Insn::Jump { target, link, slot }
            }
            Form::JumpReg { link, slot } => self.jump_reg(link, slot)?,
        })
    }

    fn skip(&mut self) {
        while !self.cursor.at_end() {
            self.cursor.take();
        }
    }

    fn is_reg(&self) -> bool {
        match self.cursor.peek() {
            // A label may have the name of a register; only `$` makes it one for sure.
            Tok::Word(word) => {
                (register(word).is_some() && self.labels.find(word, self.line).is_none())
                    || (is_symbolic(word) && part(word).is_none())
            }
            _ => false,
        }
    }

    fn reg(&mut self) -> Result<R> {
        let names = &mut *self.names;
        self.cursor.one("a register", |tok| match tok {
            Tok::Word(word) => register(word).or_else(|| names.symbolic(word)),
            _ => None,
        })
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

    /// The registers before the last operand: `addu $2,$3` means `addu $2,$2,$3`.
    fn two_or_three(&mut self) -> Result<(R, R)> {
        let rd = self.reg()?;
        self.cursor.comma()?;
        let start = self.cursor.clone();
        if self.is_reg() {
            let a = self.reg()?;
            if self.cursor.eat(',') {
                return Ok((rd, a));
            }
        }
        self.cursor = start;
        Ok((rd, rd))
    }

    fn one_or_two(&mut self) -> Result<(R, R)> {
        let rd = self.reg()?;
        if self.cursor.eat(',') { Ok((rd, self.reg()?)) } else { Ok((rd, rd)) }
    }

    fn field(&mut self, word: bool) -> Result<(R, R, u8, u8)> {
        let width = if word { 32 } else { 64 };
        let [rd, rs] = self.regs()?;
        self.cursor.comma()?;
        let pos = self.cursor.int_in("the position", 0, width - 1)?;
        self.cursor.comma()?;
        let size = self.cursor.int_in("the size", 1, width - pos)?;
        Ok((rd, rs, pos as u8, size as u8))
    }

    fn access(&mut self) -> Result<(R, Mem)> {
        let rt = self.reg()?;
        self.cursor.comma()?;
        Ok((rt, self.mem()?))
    }

    /// `8($4)`, `($4)`, `%lo(x)($4)` or `x`.
    fn mem(&mut self) -> Result<Mem> {
        let disp = match self.cursor.peek() {
            Tok::Punct('(') => Disp::Imm(0),
            _ => self.disp()?,
        };
        if self.cursor.eat('(') {
            let base = self.reg()?;
            self.cursor.expect(')')?;
            return Ok(Mem { base, disp });
        }
        match disp {
            Disp::Imm(_) => Err(self.cursor.expected("`(` and a register")),
            disp => Ok(Mem { base: ZERO, disp }),
        }
    }

    /// A constant or (a part of) the address of a symbol.
    fn disp(&mut self) -> Result<Disp> {
        let Tok::Word(word) = self.cursor.peek() else {
            let at = self.cursor.clone();
            let wrong = |_| at.expected("a constant or a symbol");
            return self.cursor.int().map(Disp::Imm).map_err(wrong);
        };
        let at = self.cursor.clone();
        if !is_symbolic(word) {
            if register(word).is_some() && word.starts_with('$') {
                return Err(at.expected("a constant or a symbol"));
            }
            return self.symbol(Part::Low);
        }
        self.cursor.take();
        let Some(part) = part(word) else {
            let diag = at.fail(&format!("unknown relocation `{word}`"));
            return Err(diag.help("known are %hi, %lo, %got, %got_disp, %call16, %gp_rel and kin"));
        };
        self.cursor.expect('(')?;
        if matches!(self.cursor.peek(), Tok::Word(w) if is_symbolic(w)) {
            // `%hi(%neg(%gp_rel(f)))`: what there is between code and the global pointer,
            // neither of which has an address here.
            let mut depth = 1;
            while depth > 0 {
                match self.cursor.take() {
                    Tok::Punct('(') => depth += 1,
                    Tok::Punct(')') => depth -= 1,
                    Tok::End => return Err(self.cursor.expected("`)`")),
                    _ => {}
                }
            }
            return Ok(Disp::Imm(0));
        }
        let disp = self.symbol(part)?;
        self.cursor.expect(')')?;
        Ok(disp)
    }

    fn symbol(&mut self, part: Part) -> Result<Disp> {
        let Tok::Word(word) = self.cursor.peek() else {
            return Err(self.cursor.expected("a symbol"));
        };
        self.cursor.take();
        let off = self.cursor.addend()?;
        if matches!(word, "_gp_disp" | "__gnu_local_gp" | "_gp") {
            return Ok(Disp::Imm(0));
        }
        let name = word.to_string();
        Ok(Disp::Symbol { name, off, part })
    }

    fn sync(&mut self) -> Result<Tags> {
        if self.cursor.at_end() {
            return Ok(tag::MIPS_SYNC);
        }
        let stype = self.cursor.int_in("the kind of `sync`", 0, 31)?;
        Ok(match stype {
            0x04 => tag::SYNC_WMB,
            0x10 => tag::SYNC_MB,
            0x11 => tag::SYNC_ACQUIRE,
            0x12 => tag::SYNC_RELEASE,
            0x13 => tag::SYNC_RMB,
            // Kinds without a meaning act as the strongest.
            _ => tag::MIPS_SYNC,
        })
    }

    fn target(&mut self) -> Result<Label> {
        let at = self.cursor.clone();
        match self.cursor.take() {
            Tok::Word(name) => lex::target(self.labels, name, self.line, &at),
            _ => Err(at.expected("a label")),
        }
    }

    fn jump_reg(&mut self, link: bool, slot: Slot) -> Result<Insn> {
        let first = self.reg()?;
        if link && self.cursor.eat(',') {
            let (rs, link) = (self.reg()?, Some(first));
            return Ok(Insn::JumpReg { rs, link, slot });
        }
        let link = link.then_some(RA);
        Ok(Insn::JumpReg { rs: first, link, slot })
    }
}

/// The part of an address that a relocation operator stands for.
fn part(word: &str) -> Option<Part> {
    Some(match word {
        "%hi" | "%higher" | "%highest" | "%got_page" | "%got_hi" | "%call_hi" | "%pcrel_hi" => {
            Part::High
        }
        "%lo" | "%got_ofst" | "%pcrel_lo" => Part::Low,
        "%got_disp" | "%call16" | "%got_lo" | "%call_lo" | "%call" => Part::Got,
        "%got" => Part::GotOrPage,
        "%gp_rel" | "%gprel" => Part::GpRel,
        _ => return None,
    })
}

/// A constant of 16 bits, sign-extended however it was written; a larger one is the
/// assembler's own business and means itself.
fn signed(n: i64) -> i64 {
    match n {
        0x8000..=0xffff => n - 0x1_0000,
        n => n,
    }
}

/// A constant of 16 bits, zero-extended however it was written.
fn unsigned(n: i64) -> i64 {
    match n {
        -0x8000..=0xffff => n & 0xffff,
        n => n,
    }
}
