//! Reading one line of AArch32 assembly, as herd, gcc, clang and disassemblers write it.
//!
//! It does not know what the instructions do, nor which there are.

use super::arg::{Arg, DOMAINS};
use super::insn::{Amount, Cond, Fields, Mem, Offset, Operand, PC, Place, Shift, Symbol};
use super::lower::Insn;
use super::row::{Name, Split, mnemonics, split};
use crate::lex::{self, Cursor, Names, R, Tok, is_symbolic};
use crate::machine::Update;
use crate::microcode::Labels;
use litmake_base::diag::Result;

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
    mnemonic: String,
}

impl<'a, 'b> Parser<'a, 'b> {
    pub fn new(
        cursor: Cursor<'a>,
        names: &'b mut Names,
        labels: &'b Labels<'a>,
        line: usize,
    ) -> Self {
        Parser { cursor, names, labels, line, mnemonic: String::new() }
    }

    pub fn instruction(mut self) -> Result<Insn> {
        let written = self.cursor.mnemonic();
        self.mnemonic = written.to_ascii_lowercase();
        let unknown = |at: &Cursor| lex::unknown(at, "Arm", written, mnemonics());
        let Some(split) = split(&self.mnemonic) else {
            return Err(unknown(&self.cursor));
        };
        let start = self.cursor.clone();
        // Where the operands fit no instruction of this name, the one counts that got farthest.
        let mut refused = None;
        for name in split.names {
            self.cursor = start.clone();
            match self.operands(name, &split) {
                Ok(fields) => return Ok(Insn { row: name.row, fields }),
                Err(diag) => {
                    let here = self.cursor.offset();
                    if refused.as_ref().is_none_or(|(at, _)| *at < here) {
                        refused = Some((here, diag));
                    }
                }
            }
        }
        Err(refused.map_or_else(|| unknown(&start), |(_, diag)| diag))
    }

    fn operands(&mut self, name: &Name, split: &Split) -> Result<Fields> {
        let Split { cond, flags, size, .. } = *split;
        let mut f = Fields { cond, flags, size, ..Fields::default() };
        for (letter, n) in &name.choices {
            *f.choice(*letter) = *n;
        }
        for (i, arg) in name.row.args.iter().enumerate() {
            if i > 0 && *arg != Arg::Rotate {
                self.cursor.comma()?;
            }
            self.operand_of(*arg, &mut f)?;
        }
        self.cursor.finish()?;
        Ok(f)
    }

    fn operand_of(&mut self, arg: Arg, f: &mut Fields) -> Result<()> {
        match arg {
            Arg::R(letter) => *f.reg(letter) = self.reg()?,
            Arg::ToPc(letter) => *f.reg(letter) = self.reg_or_pc()?,
            Arg::Three => self.three(f)?,
            Arg::Two => (f.n, f.m) = self.two(f.d)?,
            Arg::Second => f.operand = self.operand()?,
            Arg::Shifted => f.operand = self.shifted(f.d, Shift::ALL[usize::from(f.x) % 4])?,
            Arg::Num if self.cursor.at_end() => {}
            Arg::Num => f.imm = self.cursor.int()? as u32,
            Arg::Half(half) => f.operand = self.half(half)?,
            Arg::Address => f.place = Place::Named(self.symbol()?),
            Arg::Rotate => f.rotate = self.rotation()?,
            Arg::Part => {
                f.lsb = self.cursor.int_in("the lowest bit", 0, 31)? as u8;
                self.cursor.comma()?;
                f.width = self.cursor.int_in("the width", 1, 32 - i64::from(f.lsb))? as u8;
            }
            Arg::Bits => {
                let least = i64::from(f.x == 0);
                f.width = self.cursor.int_in("the width", least, 31 + least)? as u8;
            }
            Arg::From => self.source(f)?,
            Arg::Mem => f.mem = self.mem()?,
            Arg::Near => f.mem = self.near()?,
            Arg::Plain => f.mem = self.exclusive(0)?,
            Arg::Exclusive => f.mem = self.exclusive(if f.x == 0 { 1020 } else { 0 })?,
            Arg::Pair => (f.t, f.u) = self.pair()?,
            Arg::Base => {
                f.n = self.reg()?;
                f.writeback = self.cursor.eat('!');
            }
            Arg::List { load } => f.list = self.register_list(load)?,
            Arg::Domain => f.imm = self.domain()?,
            Arg::Isb => {
                let _ = self.cursor.eat('#') && self.cursor.int().is_ok();
                let _ = self.cursor.eat_word("sy");
            }
            Arg::Where => match self.cursor.peek() {
                Tok::Word(word) if register(word).is_none() && !is_symbolic(word) => {
                    f.place = self.target()?;
                }
                _ => f.m = self.reg()?,
            },
            Arg::Line => f.place = self.target()?,
            Arg::Conds => f.conds = self.conditions()?,
            Arg::Literal => {
                let value = match self.cursor.is_int() {
                    true => self.imm().map(|n| Operand::Imm(n as u32)),
                    false => self.symbol().map(Operand::Address),
                };
                // Nothing where it is not understood.
                if let Ok(value) = value
                    && self.cursor.at_end()
                {
                    f.place = Place::Value(value);
                }
                self.rest();
            }
            Arg::Rest | Arg::Prefetched => self.rest(),
            Arg::Coprocessor => self.coprocessor(f)?,
            // Only printed.
            Arg::Text(_) => {}
            Arg::V(_) | Arg::D(_) | Arg::S(_) | Arg::Vectors | Arg::Element | Arg::Filled => {
                self.vector_operand(arg, f)?;
            }
        }
        Ok(())
    }

    fn rest(&mut self) {
        while !self.cursor.at_end() {
            self.cursor.take();
        }
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
        let names = &mut *self.names;
        self.cursor.one("a register", |tok| match tok {
            Tok::Word(word) if is_symbolic(word) => names.intern(word),
            Tok::Word(word) => register(word),
            _ => None,
        })
    }

    fn is_reg(&self) -> bool {
        matches!(self.cursor.peek(), Tok::Word(w) if is_symbolic(w) || register(w).is_some())
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

    fn target(&mut self) -> Result<Place> {
        let at = self.cursor.clone();
        match self.cursor.take() {
            Tok::Word(name) => lex::target(self.labels, name, self.line, &at).map(Place::Line),
            _ => Err(at.expected("a label")),
        }
    }

    /// The conditions of a block: of its first instruction as written, of the others as the mnemonic says.
    fn conditions(&mut self) -> Result<Vec<Cond>> {
        let at = self.cursor.clone();
        let first = match self.cursor.take() {
            Tok::Word(word) => Cond::named(&word.to_ascii_lowercase()),
            _ => None,
        };
        let first = first.ok_or_else(|| at.expected("a condition"))?;
        let ways = self.mnemonic.bytes().skip(2);
        let others = ways.map(|way| if way == b't' { first } else { first.inverse() });
        Ok([first].into_iter().chain(others).collect())
    }

    fn three(&mut self, f: &mut Fields) -> Result<()> {
        f.d = self.reg()?;
        self.cursor.comma()?;
        if self.mnemonic.starts_with("add") && self.cursor.eat_word("pc") {
            f.n = PC;
            f.operand = Operand::Reg(if self.cursor.eat(',') { self.reg()? } else { f.d });
            return Ok(());
        }
        // `add r0, r1` means `add r0, r0, r1`.
        f.n = f.d;
        let start = self.cursor.clone();
        if self.is_reg() {
            let rn = self.reg()?;
            match self.cursor.eat(',') {
                true if self.shift_here().is_some() => self.cursor = start,
                true => f.n = rn,
                false => {
                    f.operand = Operand::Reg(rn);
                    return Ok(());
                }
            }
        }
        f.operand = self.operand()?;
        Ok(())
    }

    fn two(&mut self, result: R) -> Result<(R, R)> {
        let first = self.reg()?;
        if self.cursor.eat(',') { Ok((first, self.reg()?)) } else { Ok((result, first)) }
    }

    fn shifted(&mut self, result: R, shift: Shift) -> Result<Operand> {
        let rm = if self.is_reg() { self.reg()? } else { result };
        let more = self.cursor.is_int() || self.cursor.eat(',');
        Ok(match more {
            true => Operand::shifted(rm, shift, self.amount()?),
            // `lsl r0, r1` means `lsl r0, r0, r1`.
            false => Operand::Shifted(result, shift, Amount::Reg(rm)),
        })
    }

    fn shift_here(&self) -> Option<Shift> {
        match self.cursor.peek() {
            Tok::Word(word) => Shift::named(word),
            _ => None,
        }
    }

    /// A kind of shift that stands here.
    fn shift(&mut self) -> Result<Shift> {
        let shift = self.shift_here();
        let shift =
            shift.ok_or_else(|| self.cursor.expected("a shift (lsl, lsr, asr, ror, rrx)"))?;
        self.cursor.take();
        Ok(shift)
    }

    fn amount(&mut self) -> Result<Amount> {
        match self.is_reg() {
            true => self.reg().map(Amount::Reg),
            false => Ok(Amount::Imm(self.cursor.int_in("the shift", 0, 32)? as u8)),
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
            let shift = self.shift()?;
            let amount = match shift {
                Shift::Rrx => Amount::Imm(1),
                _ => self.amount()?,
            };
            return Ok(Operand::shifted(rm, shift, amount));
        }
        let start = self.cursor.clone();
        let is_half = self.cursor.eat('#') && self.cursor.peek() == Tok::Punct(':');
        self.cursor = start;
        if is_half {
            return self.half("lower16");
        }
        if !self.cursor.is_int() {
            return Err(self.cursor.expected("a register or a constant"));
        }
        Ok(Operand::Imm(self.imm()? as u32))
    }

    /// `#:lower16:x`, or a constant of 16 bits.
    fn half(&mut self, what: &str) -> Result<Operand> {
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
            return Ok(Operand::Address(symbol));
        }
        self.cursor = start;
        Ok(Operand::Imm(self.cursor.int_in("the constant", 0, 0xffff)? as u32))
    }

    fn rotation(&mut self) -> Result<u8> {
        if !self.cursor.eat(',') {
            return Ok(0);
        }
        if !self.cursor.eat_word("ror") {
            return Err(self.cursor.expected("`ror`"));
        }
        Ok(self.cursor.int_in("the rotation", 0, 24)? as u8)
    }

    fn source(&mut self, f: &mut Fields) -> Result<()> {
        if self.cursor.eat('=') {
            f.place = Place::Value(match self.cursor.is_int() {
                true => Operand::Imm(self.imm()? as u32),
                false => Operand::Address(self.symbol()?),
            });
        } else if matches!(self.cursor.peek(), Tok::Word(_)) && !self.is_reg() {
            f.place = Place::Named(self.symbol()?);
        } else {
            f.mem = self.mem()?;
        }
        Ok(())
    }

    fn pair(&mut self) -> Result<(R, R)> {
        let start = self.cursor.clone();
        let first = self.reg()?;
        let second = self.cursor.clone();
        self.cursor.comma()?;
        if self.is_reg() {
            return Ok((first, self.reg()?));
        }
        self.cursor = second;
        match first.0 {
            0..12 => Ok((first, R(first.0 + 1))),
            _ => Err(start.fail("the second register cannot be left out here")),
        }
    }

    /// Base and constant offset, up to the highest that the instruction can have.
    fn exclusive(&mut self, highest: i64) -> Result<Mem> {
        let at = self.cursor.clone();
        let mem = self.mem()?;
        match mem.offset {
            Offset::Imm(n) if (0..=highest).contains(&n) && mem.update == Update::None => Ok(mem),
            _ => Err(at.fail("this instruction takes an address without offset, such as `[R0]`")),
        }
    }

    fn near(&mut self) -> Result<Mem> {
        let mem = self.mem()?;
        if mem.update != Update::None || !matches!(mem.offset, Offset::Imm(_)) {
            return Err(self.cursor.fail_line("this instruction has an address such as `[R0,#8]`"));
        }
        Ok(mem)
    }

    fn mem(&mut self) -> Result<Mem> {
        if self.is_reg() {
            // herd takes the brackets for granted.
            return self.reg().map(Mem::at);
        }
        if !self.cursor.eat('[') {
            return Err(self.cursor.expected("an address such as `[R0]`"));
        }
        if self.cursor.eat_word("pc") {
            // As above: the register holds an address relative to PC.
            self.cursor.comma()?;
            let base = self.reg()?;
            self.cursor.expect(']')?;
            return Ok(Mem::at(base));
        }
        let mut mem = Mem::at(self.reg()?);
        let closed = self.cursor.eat(']');
        if !closed {
            self.cursor.comma()?;
            mem.offset = self.offset()?;
            self.cursor.expect(']')?;
        }
        if self.cursor.eat('!') {
            mem.update = Update::Pre;
        } else if closed && self.cursor.eat(',') {
            mem.offset = self.offset()?;
            mem.update = Update::Post;
        }
        Ok(mem)
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
        let (mut shift, mut amount) = (Shift::Lsl, 0);
        if self.cursor.eat(',') {
            shift = self.shift()?;
            amount = match shift {
                Shift::Rrx => 1,
                _ => self.cursor.int_in("the shift", 0, 32)? as u8,
            };
        }
        Ok(Offset::Reg { reg, negative, shift, amount })
    }

    /// `{r0, r4-r7, lr}`, given in the order of memory.
    fn register_list(&mut self, load: bool) -> Result<Vec<R>> {
        self.cursor.expect('{')?;
        let mut regs: Vec<R> = Vec::new();
        loop {
            let at = self.cursor.clone();
            let first = if load { self.reg_or_pc()? } else { self.reg()? };
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

    fn domain(&mut self) -> Result<u32> {
        if self.cursor.at_end() {
            return Ok(DOMAINS[0].1);
        }
        let found = match self.cursor.peek() {
            Tok::Word(word) => DOMAINS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(word)),
            _ => None,
        };
        let Some((_, number, ..)) = found else {
            let names: Vec<String> = DOMAINS.iter().map(|d| d.0.to_ascii_lowercase()).collect();
            return Err(self
                .cursor
                .expected(&format!("a barrier's domain ({})", names.join(", "))));
        };
        self.cursor.take();
        Ok(*number)
    }

    /// The barriers of Armv6: `p15, 0, r0, c7, c10, 5`.
    fn coprocessor(&mut self, f: &mut Fields) -> Result<()> {
        // Disassemblers leave the `p` out.
        let is_system = matches!(self.cursor.take(), Tok::Word("p15" | "P15") | Tok::Num(15));
        self.cursor.comma()?;
        f.imm = self.cursor.int()? as u32;
        self.cursor.comma()?;
        f.t = self.reg()?;
        for letter in [b'n', b'm'] {
            self.cursor.comma()?;
            let at = self.cursor.clone();
            let number = match self.cursor.take() {
                Tok::Word(word) => word.trim_start_matches(['c', 'C', 'r', 'R']).parse().ok(),
                _ => None,
            };
            *f.reg(letter) = R(number.ok_or_else(|| at.expected("a coprocessor register"))?);
        }
        if self.cursor.eat(',') {
            let braces = self.cursor.eat('{');
            f.width = self.cursor.int()? as u8;
            if braces {
                self.cursor.expect('}')?;
            }
        }
        if !is_system || super::rows::old_barrier(f).is_none() {
            let diag = self.cursor.fail_line("this coprocessor write is not a barrier");
            return Err(diag.help(
                "known are `p15, 0, Rt, c7, c10, 5` (DMB), `c7, c10, 4` (DSB) and `c7, c5, 4` (ISB)",
            ));
        }
        Ok(())
    }
}
