//! Operands: what stands after a mnemonic, read from text and printed back.
//!
//! Both the text reader and a machine-code decoder give instructions in this form. It knows the
//! shapes of operands and not which instruction takes which.

use super::regs::{Name, View};
use std::fmt;
use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Reg(View),
    Vector(Vector),
    /// `{V0.2D, V1.2D}`, with the lane after the brace where there is one.
    List(Vec<Vector>),
    Imm(i128),
    /// The bits of a floating-point constant (`#1.5`), as 64 bits.
    Float(u64),
    Shift(Shift, Option<u8>),
    Mem(Mem),
    /// A label, a location, a condition, a barrier's option, a system register.
    Word(String),
    Symbol(Symbol),
    /// `=x`, `=5`: a constant that the assembler puts into a register.
    Literal(Symbol),
    LiteralImm(i128),
}

/// A vector register, or a lane of one: `V0.2D`, `V0.D[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector {
    pub reg: u8,
    /// Width of an element in bits.
    pub elem: u8,
    /// How many elements, 0 where the text says none (`V0.D`).
    pub count: u8,
    pub lane: Option<u8>,
}

/// A name with what is asked of it (`:lo12:`) and an offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub modifier: Option<String>,
    pub name: String,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Lsl,
    Lsr,
    Asr,
    Ror,
    Msl,
    Uxtb,
    Uxth,
    Uxtw,
    Uxtx,
    Sxtb,
    Sxth,
    Sxtw,
    Sxtx,
}

const SHIFTS: &[(Shift, &str)] = &[
    (Shift::Lsl, "LSL"),
    (Shift::Lsr, "LSR"),
    (Shift::Asr, "ASR"),
    (Shift::Ror, "ROR"),
    (Shift::Msl, "MSL"),
    (Shift::Uxtb, "UXTB"),
    (Shift::Uxth, "UXTH"),
    (Shift::Uxtw, "UXTW"),
    (Shift::Uxtx, "UXTX"),
    (Shift::Sxtb, "SXTB"),
    (Shift::Sxth, "SXTH"),
    (Shift::Sxtw, "SXTW"),
    (Shift::Sxtx, "SXTX"),
];

impl Shift {
    fn parse(word: &str) -> Option<Shift> {
        SHIFTS.iter().find(|(_, name)| name.eq_ignore_ascii_case(word)).map(|(s, _)| *s)
    }

    fn name(self) -> &'static str {
        SHIFTS.iter().find(|(s, _)| *s == self).map_or("", |p| p.1)
    }

    /// For an extension: signed, and from how many bits.
    pub fn extension(self) -> Option<(bool, u8)> {
        Some(match self {
            Shift::Uxtb => (false, 8),
            Shift::Uxth => (false, 16),
            Shift::Uxtw => (false, 32),
            Shift::Uxtx => (false, 64),
            Shift::Sxtb => (true, 8),
            Shift::Sxth => (true, 16),
            Shift::Sxtw => (true, 32),
            Shift::Sxtx => (true, 64),
            _ => return None,
        })
    }
}

/// An operand in brackets. A post-index increment follows as an operand of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mem {
    pub base: View,
    pub index: Index,
    /// `[...]!`
    pub pre: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    Imm(i64),
    Reg(View, Option<(Shift, Option<u8>)>),
    Symbol(Symbol),
}

/// An error in a text, with its place in bytes from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub at: Range<usize>,
    pub message: String,
}

type Parsed<T> = Result<T, Fault>;

/// The mnemonic and the operands of an instruction, with their places in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub mnemonic: String,
    pub mnemonic_at: Range<usize>,
    pub operands: Vec<Operand>,
    pub at: Vec<Range<usize>>,
}

/// Splits the text of one instruction. An empty text gives an empty mnemonic.
pub fn parse(text: &str) -> Parsed<Parts> {
    let text = text.split("//").next().unwrap_or("");
    let mut c = Cursor { text, pos: 0 };
    c.space();
    let start = c.pos;
    let mnemonic = c.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
    let mut parts =
        Parts { mnemonic: mnemonic.to_string(), mnemonic_at: start..c.pos, ..Parts::default() };
    c.space();
    if c.peek().is_none() {
        return Ok(parts);
    }
    if parts.mnemonic.is_empty() {
        return Err(c.fault_here("expected an instruction"));
    }
    loop {
        c.space();
        let from = c.pos;
        let operand = c.operand()?;
        parts.at.push(from..c.pos);
        parts.operands.push(operand);
        c.space();
        match c.peek() {
            None => return Ok(parts),
            Some(b',') => c.pos += 1,
            Some(_) => return Err(c.fault_here("expected `,` or the end of the instruction")),
        }
    }
}

struct Cursor<'a> {
    text: &'a str,
    pos: usize,
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'%' | b'@')
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn space(&mut self) {
        self.take_while(|b| b.is_ascii_whitespace());
    }

    /// Takes bytes while `f` holds; `f` holds of ASCII only, so the cut is between characters.
    fn take_while(&mut self, f: impl Fn(u8) -> bool) -> &'a str {
        let from = self.pos;
        while self.peek().is_some_and(&f) {
            self.pos += 1;
        }
        &self.text[from..self.pos]
    }

    fn eat(&mut self, b: u8) -> bool {
        self.space();
        let there = self.peek() == Some(b);
        self.pos += usize::from(there);
        there
    }

    fn expect(&mut self, b: u8, what: &str) -> Parsed<()> {
        if self.eat(b) { Ok(()) } else { Err(self.fault_here(&format!("expected {what}"))) }
    }

    fn fault(&self, from: usize, message: impl Into<String>) -> Fault {
        Fault { at: from..self.pos.max(from), message: message.into() }
    }

    /// A fault at the character where the cursor stands.
    fn fault_here(&self, message: &str) -> Fault {
        let len = self.text[self.pos..].chars().next().map_or(0, char::len_utf8);
        Fault { at: self.pos..self.pos + len, message: message.to_string() }
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.space();
        match self.peek() {
            Some(b'[') => self.memory().map(Operand::Mem),
            Some(b'{') => self.list(),
            Some(b':') => self.symbol().map(Operand::Symbol),
            Some(b'=') => {
                self.pos += 1;
                self.space();
                if self.at_number() {
                    return self.number().map(Operand::LiteralImm);
                }
                self.symbol().map(Operand::Literal)
            }
            Some(b'#') => {
                self.pos += 1;
                self.space();
                if self.peek() == Some(b':') {
                    return self.symbol().map(Operand::Symbol);
                }
                match self.float() {
                    Some(value) => Ok(Operand::Float(value.to_bits())),
                    None => self.number().map(Operand::Imm),
                }
            }
            Some(_) if self.at_number() => self.number().map(Operand::Imm),
            Some(b) if is_word(b) => self.word_operand(),
            _ => Err(self.fault_here("expected an operand")),
        }
    }

    fn at_number(&self) -> bool {
        match self.peek() {
            Some(b'-' | b'+') => true,
            Some(b) => b.is_ascii_digit(),
            None => false,
        }
    }

    fn number(&mut self) -> Parsed<i128> {
        let from = self.pos;
        let negative = match self.peek() {
            Some(b'-') => {
                self.pos += 1;
                true
            }
            Some(b'+') => {
                self.pos += 1;
                false
            }
            _ => false,
        };
        let digits = self.take_while(is_word);
        let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let value = match hex {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => digits.parse::<u64>().ok(),
        };
        let signed_digits = hex.unwrap_or(digits).starts_with(['+', '-']);
        match value.filter(|_| !signed_digits) {
            Some(v) if negative => Ok(-i128::from(v)),
            Some(v) => Ok(i128::from(v)),
            None => Err(self.fault(from, "expected a number of at most 64 bits")),
        }
    }

    /// A number with a point, such as `-0.25`.
    fn float(&mut self) -> Option<f64> {
        let rest = &self.text[self.pos..];
        let mark = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+');
        let len = rest.bytes().position(|b| !mark(b)).unwrap_or(rest.len());
        let digits = &rest[..len];
        let value = digits.parse().ok().filter(|_| digits.contains('.'))?;
        self.pos += len;
        Some(value)
    }

    fn small(&mut self) -> Parsed<u8> {
        self.space();
        self.eat(b'#');
        self.space();
        let from = self.pos;
        let n = self.number()?;
        match u8::try_from(n) {
            Ok(n) if n < 128 => Ok(n),
            _ => Err(self.fault(from, "expected an amount of 0 to 127")),
        }
    }

    fn offset(&mut self) -> Parsed<i64> {
        let from = self.pos;
        let n = self.number()?;
        i64::try_from(n).map_err(|_| self.fault(from, "expected an offset of 64 bits"))
    }

    /// `:lo12:x+8`, or a plain name with an offset.
    fn symbol(&mut self) -> Parsed<Symbol> {
        let mut modifier = None;
        if self.eat(b':') {
            let word = self.take_while(is_word).to_ascii_lowercase();
            self.expect(b':', "`:` after the relocation")?;
            modifier = Some(word);
        }
        let from = self.pos;
        let name = self.take_while(is_word).to_string();
        if name.is_empty() {
            return Err(self.fault(from, "expected a name"));
        }
        let offset = self.addend()?;
        Ok(Symbol { modifier, name, offset })
    }

    /// `+8` or `- 8` after a name.
    fn addend(&mut self) -> Parsed<i64> {
        let before = self.pos;
        self.space();
        let negative = match self.peek() {
            Some(b'+') => false,
            Some(b'-') => true,
            _ => {
                self.pos = before;
                return Ok(0);
            }
        };
        self.pos += 1;
        self.space();
        let from = self.pos;
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.fault_here("expected a number"));
        }
        let n = self.offset()?;
        let n = if negative { n.checked_neg() } else { Some(n) };
        n.ok_or_else(|| self.fault(from, "expected an offset of 64 bits"))
    }

    fn word_operand(&mut self) -> Parsed<Operand> {
        let from = self.pos;
        let word = self.take_while(is_word);
        if let Some(view) = View::parse(word) {
            return Ok(Operand::Reg(view));
        }
        if let Some(shift) = Shift::parse(word) {
            return Ok(Operand::Shift(shift, self.amount()?));
        }
        if let Some(vector) = self.vector(word) {
            return Ok(Operand::Vector(vector?));
        }
        let name = word.to_string();
        let offset = self.addend()?;
        if offset != 0 || word == "." {
            return Ok(Operand::Symbol(Symbol { modifier: None, name, offset }));
        }
        debug_assert!(self.pos >= from);
        Ok(Operand::Word(name))
    }

    /// The amount after a shift or an extension.
    fn amount(&mut self) -> Parsed<Option<u8>> {
        let before = self.pos;
        self.space();
        match self.peek() {
            Some(b) if b == b'#' || b.is_ascii_digit() => self.small().map(Some),
            _ => {
                self.pos = before;
                Ok(None)
            }
        }
    }

    /// A vector register from its word (`V0.2D`), with the lane that may follow.
    fn vector(&mut self, word: &str) -> Option<Parsed<Vector>> {
        let (reg, shape) = word.split_once('.')?;
        let view = View::parse(reg)?;
        let Name::Vec(n) = view.name else { return None };
        if view.bits != 128 || reg.starts_with(['q', 'Q']) {
            return None;
        }
        let split = shape.len().checked_sub(1)?;
        let (count, letter) = (shape.get(..split)?, shape.get(split..)?);
        let elem = match letter.to_ascii_uppercase().as_str() {
            "B" => 8,
            "H" => 16,
            "S" => 32,
            "D" => 64,
            "Q" => 128,
            _ => return None,
        };
        let count: u8 = match count {
            "" => 0,
            _ => count.parse().ok()?,
        };
        if count != 0 && !matches!(u32::from(count) * u32::from(elem), 64 | 128) {
            return None;
        }
        let mut vector = Vector { reg: n, elem, count, lane: None };
        if self.peek() == Some(b'[') {
            match self.lane(elem) {
                Ok(lane) => vector.lane = Some(lane),
                Err(fault) => return Some(Err(fault)),
            }
        }
        Some(Ok(vector))
    }

    fn lane(&mut self, elem: u8) -> Parsed<u8> {
        self.expect(b'[', "`[`")?;
        let from = self.pos;
        let lane = self.small()?;
        if u32::from(lane) * u32::from(elem) >= 128 {
            return Err(self.fault(from, "the vector has no such lane"));
        }
        self.expect(b']', "`]`")?;
        Ok(lane)
    }

    fn list(&mut self) -> Parsed<Operand> {
        let from = self.pos;
        self.expect(b'{', "`{`")?;
        let mut vectors: Vec<Vector> = Vec::new();
        loop {
            self.space();
            let start = self.pos;
            let word = self.take_while(is_word);
            let Some(vector) = self.vector(word) else {
                return Err(self.fault(start, "expected a vector register, such as `V0.2D`"));
            };
            vectors.push(vector?);
            if self.eat(b'-') {
                self.space();
                let start = self.pos;
                let word = self.take_while(is_word);
                let last = self.vector(word).transpose()?;
                let (Some(first), Some(last)) = (vectors.last().copied(), last) else {
                    return Err(self.fault(start, "expected a vector register"));
                };
                let mut reg = first.reg;
                while reg != last.reg && vectors.len() < 4 {
                    reg = (reg + 1) % 32;
                    vectors.push(Vector { reg, ..first });
                }
            }
            if self.eat(b'}') {
                break;
            }
            self.expect(b',', "`,` or `}`")?;
        }
        if vectors.len() > 4 {
            return Err(self.fault(from, "a list holds at most four registers"));
        }
        if self.peek() == Some(b'[') {
            let lane = self.lane(vectors[0].elem)?;
            for v in &mut vectors {
                v.lane = Some(lane);
            }
        }
        Ok(Operand::List(vectors))
    }

    /// An operand inside brackets, where brackets do not nest.
    fn inner_operand(&mut self) -> Parsed<Operand> {
        match self.peek() {
            Some(b'[' | b'{') => {
                Err(self.fault_here("expected an offset: `#8`, `X1` or `:lo12:x`"))
            }
            _ => self.operand(),
        }
    }

    fn memory(&mut self) -> Parsed<Mem> {
        self.expect(b'[', "`[`")?;
        self.space();
        let from = self.pos;
        let word = self.take_while(is_word);
        let base = match View::parse(word) {
            Some(v) if v.bits == 64 && !v.is_vec() && v.name != Name::Zero => v,
            _ => {
                return Err(self.fault(from, "expected a 64-bit base register, such as `X1`"));
            }
        };
        let mut index = Index::Imm(0);
        if self.eat(b',') {
            self.space();
            let from = self.pos;
            index = match self.inner_operand()? {
                Operand::Imm(n) => Index::Imm(
                    i64::try_from(n)
                        .map_err(|_| self.fault(from, "expected an offset of 64 bits"))?,
                ),
                Operand::Symbol(s) => Index::Symbol(s),
                Operand::Reg(v) if !v.is_vec() => {
                    let mut extend = None;
                    if self.eat(b',') {
                        self.space();
                        let from = self.pos;
                        match self.inner_operand()? {
                            Operand::Shift(s, n) => extend = Some((s, n)),
                            _ => return Err(self.fault(from, "expected a shift, such as `LSL #3`")),
                        }
                    }
                    Index::Reg(v, extend)
                }
                _ => return Err(self.fault(from, "expected an offset: `#8`, `X1` or `:lo12:x`")),
            };
        }
        self.expect(b']', "`]`")?;
        let pre = self.peek() == Some(b'!');
        self.pos += usize::from(pre);
        Ok(Mem { base, index, pre })
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(m) = &self.modifier {
            write!(f, ":{m}:")?;
        }
        f.write_str(&self.name)?;
        match self.offset {
            0 => Ok(()),
            n => write!(f, "{n:+}"),
        }
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.elem {
            8 => 'B',
            16 => 'H',
            32 => 'S',
            64 => 'D',
            _ => 'Q',
        };
        write!(f, "V{}.", self.reg)?;
        if self.count != 0 {
            write!(f, "{}", self.count)?;
        }
        write!(f, "{letter}")?;
        match self.lane {
            Some(n) => write!(f, "[{n}]"),
            None => Ok(()),
        }
    }
}

fn write_shift(f: &mut fmt::Formatter<'_>, shift: Shift, amount: Option<u8>) -> fmt::Result {
    f.write_str(shift.name())?;
    match amount {
        Some(n) => write!(f, " #{n}"),
        None => Ok(()),
    }
}

impl fmt::Display for Mem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.base)?;
        match &self.index {
            Index::Imm(0) if !self.pre => {}
            Index::Imm(n) => write!(f, ",#{n}")?,
            Index::Symbol(s) => write!(f, ",{s}")?,
            Index::Reg(v, extend) => {
                write!(f, ",{v}")?;
                if let Some((s, n)) = extend {
                    f.write_str(",")?;
                    write_shift(f, *s, *n)?;
                }
            }
        }
        f.write_str(if self.pre { "]!" } else { "]" })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Reg(v) => v.fmt(f),
            Operand::Vector(v) => v.fmt(f),
            Operand::List(vectors) => {
                f.write_str("{")?;
                for (i, v) in vectors.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{}", Vector { lane: None, ..*v })?;
                }
                f.write_str("}")?;
                match vectors.first().and_then(|v| v.lane) {
                    Some(n) => write!(f, "[{n}]"),
                    None => Ok(()),
                }
            }
            Operand::Imm(n) => write!(f, "#{n}"),
            Operand::Float(bits) => write!(f, "#{:?}", f64::from_bits(*bits)),
            Operand::Shift(s, n) => write_shift(f, *s, *n),
            Operand::Mem(m) => m.fmt(f),
            Operand::Word(w) => f.write_str(w),
            Operand::Symbol(s) => s.fmt(f),
            Operand::Literal(s) => write!(f, "={s}"),
            Operand::LiteralImm(n) => write!(f, "={n}"),
        }
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mnemonic)?;
        for (i, operand) in self.operands.iter().enumerate() {
            write!(f, "{}{operand}", if i == 0 { " " } else { "," })?;
        }
        Ok(())
    }
}
