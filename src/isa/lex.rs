//! Reads the operands of one line of assembly. Also has other small parts that several instruction sets
//! share.
//!
//! It knows no instruction set: its caller knows what a word means.

use super::microcode::{Emit, Labels, parse_int};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_litmus::Line;
use litmake_ops::{BinOp, Label, Op, Temp, UnOp};

/// A token of a line of assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tok<'a> {
    /// Letters, digits and `_ . $ % @`; a number glued to letters (`1b`) is one too.
    Word(&'a str),
    /// A number; signs are tokens of their own.
    Num(i128),
    /// Any other character.
    Punct(char),
    /// The end of the line.
    End,
}

/// Walks over the tokens of one line.
#[derive(Clone)]
pub struct Cursor<'a> {
    source: &'a Source,
    span: Span,
    text: &'a str,
    start: usize,
    end: usize,
    tok: Tok<'a>,
    /// Whether offsets in `text` are offsets in the source.
    exact: bool,
}

impl<'a> Cursor<'a> {
    /// `comment` starts a comment that runs to the end of the line.
    pub fn new(source: &'a Source, line: &'a Line, comment: char) -> Cursor<'a> {
        let text = line.text.as_str();
        let text = text.find(comment).map_or(text, |i| &text[..i]);
        let exact =
            (line.span.end as usize).checked_sub(line.span.start as usize) == Some(line.text.len());
        let mut cursor =
            Cursor { source, span: line.span, text, start: 0, end: 0, tok: Tok::End, exact };
        cursor.advance();
        cursor
    }

    /// Takes everything up to the next white space, whatever it is.
    pub fn mnemonic(&mut self) -> &'a str {
        let rest = &self.text[self.start..];
        let len = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.end = self.start + len;
        let word = &rest[..len];
        self.advance();
        word
    }

    /// The current token.
    pub(crate) fn peek(&self) -> Tok<'a> {
        self.tok
    }

    /// Whether nothing is left.
    pub(crate) fn at_end(&self) -> bool {
        self.tok == Tok::End
    }

    /// The current token; moves to the next.
    pub fn take(&mut self) -> Tok<'a> {
        let tok = self.tok;
        self.advance();
        tok
    }

    /// Takes a character, where it is the current token.
    pub(crate) fn eat(&mut self, c: char) -> bool {
        let found = self.tok == Tok::Punct(c);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a word, where it is the current token; case does not count.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.tok, Tok::Word(w) if w.eq_ignore_ascii_case(word));
        if found {
            self.advance();
        }
        found
    }

    /// Takes a character; an error where something else is there.
    pub(crate) fn expect(&mut self, c: char) -> Result<()> {
        if self.eat(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    /// Takes the current token for what `known` makes of it; an error where it makes nothing.
    pub(crate) fn one<T>(
        &mut self,
        what: &str,
        known: impl FnOnce(Tok<'a>) -> Option<T>,
    ) -> Result<T> {
        let found = known(self.tok).ok_or_else(|| self.expected(what))?;
        self.advance();
        Ok(found)
    }

    /// Takes a comma; an error where something else is there.
    pub(crate) fn comma(&mut self) -> Result<()> {
        self.expect(',')
    }

    /// Nothing may be left.
    pub fn finish(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the instruction")) }
    }

    /// A signed number, with `#` in front or not.
    pub fn int(&mut self) -> Result<i64> {
        let start = self.clone();
        self.eat('#');
        let negative = self.eat('-');
        if !negative {
            self.eat('+');
        }
        match self.tok {
            Tok::Num(n) => {
                self.advance();
                let n = if negative { -n } else { n };
                // Both readings of 64 bits are accepted.
                i64::try_from(n)
                    .or_else(|_| u64::try_from(n).map(|n| n as i64))
                    .map_err(|_| start.fail("this number does not fit 64 bits"))
            }
            _ => Err(start.expected("a number")),
        }
    }

    /// A number in a range, for which `what` is the name.
    pub fn int_in(&mut self, what: &str, low: i64, high: i64) -> Result<i64> {
        let start = self.clone();
        let n = self.int().map_err(|_| start.expected(what))?;
        if (low..=high).contains(&n) {
            Ok(n)
        } else {
            Err(start.fail(&format!("{what} is between {low} and {high}, not {n}")))
        }
    }

    /// Whether [`Cursor::int`] finds a number here, or the beginning of one.
    pub(crate) fn is_int(&self) -> bool {
        matches!(self.tok, Tok::Num(_) | Tok::Punct('#') | Tok::Punct('-') | Tok::Punct('+'))
    }

    /// `+ 4 - 8`, as follows a symbol; 0 where there is none.
    pub fn addend(&mut self) -> Result<i64> {
        let mut sum = 0i64;
        loop {
            let negative = match self.tok {
                Tok::Punct('+') => false,
                Tok::Punct('-') => true,
                _ => return Ok(sum),
            };
            self.advance();
            let Tok::Num(n) = self.tok else {
                return Err(self.expected("a number"));
            };
            let n = i64::try_from(n).map_err(|_| self.fail("this offset is too large"))?;
            self.advance();
            sum = sum.wrapping_add(if negative { n.wrapping_neg() } else { n });
        }
    }

    /// Where the current token begins in the line.
    pub(crate) fn offset(&self) -> usize {
        self.start
    }

    /// The text of the current token, for messages.
    pub fn found(&self) -> String {
        match self.tok {
            Tok::End => "the end of the instruction".to_string(),
            _ => format!("`{}`", &self.text[self.start..self.end]),
        }
    }

    /// An error at the current token: this was expected, that was found.
    #[cold]
    pub fn expected(&self, what: &str) -> Box<Diag> {
        self.fail(&format!("expected {what}, found {}", self.found()))
    }

    /// An error at the current token.
    pub fn fail(&self, message: &str) -> Box<Diag> {
        Diag::at(self.source, self.here(), message)
    }

    /// An error about the whole line.
    pub fn fail_line(&self, message: &str) -> Box<Diag> {
        Diag::at(self.source, self.span, message)
    }

    fn here(&self) -> Span {
        if !self.exact {
            return self.span;
        }
        let base = self.span.start as usize;
        let end = self.end.max(self.start);
        Span::new(base + self.start, base + end)
    }

    fn advance(&mut self) {
        let rest = &self.text[self.end..];
        self.start = self.end + (rest.len() - rest.trim_start().len());
        let rest = &self.text[self.start..];
        let Some(first) = rest.chars().next() else {
            self.end = self.start;
            self.tok = Tok::End;
            return;
        };
        let in_word = |c: char| c.is_ascii_alphanumeric() || "_.$@".contains(c);
        let len = if in_word(first) || first == '%' {
            let tail = &rest[first.len_utf8()..];
            first.len_utf8() + tail.find(|c| !in_word(c)).unwrap_or(tail.len())
        } else {
            first.len_utf8()
        };
        self.end = self.start + len;
        let word = &rest[..len];
        self.tok = if first.is_ascii_digit() {
            number(word).map_or(Tok::Word(word), Tok::Num)
        } else if in_word(first) || (first == '%' && len > 1) {
            Tok::Word(word)
        } else {
            Tok::Punct(first)
        };
    }
}

fn number(word: &str) -> Option<i128> {
    let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    match hex {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

/// The instruction that a branch to `name` goes to; an error suggests a label with a similar name.
pub fn target(labels: &Labels, name: &str, from: usize, at: &Cursor) -> Result<Label> {
    labels.find(name, from).ok_or_else(|| {
        let diag = at.fail(&format!("no label `{name}` in this thread"));
        match nearest(name, labels.names()) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => diag.help(
                "a branch goes to a label of its own thread, and code that it calls must be \
                 part of the thread",
            ),
        }
    })
}

/// A register as instructions name it: a number that its instruction set gives meaning to, or
/// at and above [`SYMBOLIC`] a symbolic one (`%x`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct R(pub u16);

/// The number of the first symbolic register; those of an instruction set are below.
pub(crate) const SYMBOLIC: u16 = 256;

/// The symbolic registers of a thread.
#[derive(Default)]
pub struct Names(Vec<String>);

impl Names {
    /// The symbolic register `%name`; `None` if there are too many.
    pub fn intern(&mut self, name: &str) -> Option<R> {
        let index = match self.0.iter().position(|n| n == name) {
            Some(index) => index,
            None => {
                self.0.push(name.to_string());
                self.0.len() - 1
            }
        };
        u16::try_from(index).ok().and_then(|i| i.checked_add(SYMBOLIC)).map(R)
    }

    /// The symbolic register that a word names, if it names one.
    pub(crate) fn symbolic(&mut self, word: &str) -> Option<R> {
        is_symbolic(word).then(|| self.intern(word)).flatten()
    }

    /// The name of a symbolic register, with its `%`; `None` for another one.
    pub(crate) fn name(&self, reg: R) -> Option<&str> {
        let index = reg.0.checked_sub(SYMBOLIC)?;
        self.0.get(index as usize).map(String::as_str)
    }
}

/// Whether a word is a symbolic register.
pub fn is_symbolic(word: &str) -> bool {
    word.len() > 1 && word.starts_with('%')
}

/// A part of a line, or why it is none.
type Read<T> = std::result::Result<T, Refusal>;

/// The mnemonic of a line in lower case, and its operands between commas; `None` where there is no instruction.
pub(crate) fn statement(text: &str) -> Option<(String, Vec<&str>)> {
    let text = text.split('#').next().unwrap_or("").trim();
    let text = text.trim_end_matches(';').trim_end();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let args = match text[end..].trim() {
        "" => Vec::new(),
        args => args.split(',').map(str::trim).collect(),
    };
    (!text.is_empty()).then(|| (text[..end].to_ascii_lowercase(), args))
}

/// A constant of 64 bits, with a sign or without.
pub(crate) fn constant(text: &str) -> Read<i64> {
    let value = parse_int(text)
        .and_then(|n| i64::try_from(n).or_else(|_| u64::try_from(n).map(|n| n as i64)).ok());
    value.ok_or_else(|| format!("`{text}` is no 64-bit constant").into())
}

/// A location with an optional offset; `is_name` says which names there are.
pub(crate) fn location(text: &str, is_name: fn(&str) -> bool) -> Read<(String, i64)> {
    let sign = text.char_indices().skip(1).find(|(_, c)| matches!(c, '+' | '-'));
    let (name, off) = match sign {
        None => (text, 0),
        Some((i, _)) => {
            let off = parse_int(text[i..].trim()).and_then(|n| i64::try_from(n).ok());
            let off = off.ok_or_else(|| format!("`{text}` is no location with an offset"))?;
            (text[..i].trim(), off)
        }
    };
    if !is_name(name) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("`{text}` is no location").into());
    }
    Ok((name.to_string(), off))
}

/// The error for an unknown mnemonic.
pub fn unknown<'c>(
    at: &Cursor,
    set: &str,
    mnemonic: &str,
    known: impl IntoIterator<Item = &'c str>,
) -> Box<Diag> {
    Refusal::unknown(set, mnemonic, known).at(at.source, at.span)
}

/// Why a line is no instruction: the message, what to do, and the operand at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The message, in which the instruction need not be named.
    pub message: String,
    pub(crate) help: Option<String>,
    pub(crate) operand: Option<usize>,
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal { message, help: None, operand: None }
    }
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Refusal {
        Refusal::from(message.into())
    }

    /// There is no such instruction.
    pub(crate) fn unknown<'c>(
        set: &str,
        mnemonic: &str,
        known: impl IntoIterator<Item = &'c str>,
    ) -> Refusal {
        Refusal::new(format!("unknown {set} instruction `{mnemonic}`")).help(
            match nearest(mnemonic, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    format!("it is not among the {set} instructions that litmake gives a meaning")
                }
            },
        )
    }

    pub(crate) fn on(self, operand: usize) -> Refusal {
        Refusal { operand: Some(operand), ..self }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Refusal {
        Refusal { help: Some(help.into()), ..self }
    }

    pub(crate) fn at(self, source: &Source, span: Span) -> Box<Diag> {
        let diag = Diag::at(source, span, self.message);
        match self.help {
            Some(help) => diag.help(help),
            None => diag,
        }
    }
}

/// Computations that many instructions share.
impl Emit {
    /// Adds a constant; adding nothing costs nothing.
    pub fn add_int(&mut self, a: Temp, n: i64, width: u8) -> Temp {
        if n == 0 {
            return a;
        }
        let n = self.signed(n.into(), width);
        self.bin(BinOp::Add, a, n, width)
    }

    /// 1 where `a` is 0, else 0.
    pub fn is_zero(&mut self, a: Temp, width: u8) -> Temp {
        self.un(UnOp::IsZero, a, width)
    }

    /// 1 where `a`, read as signed, is less than 0.
    pub fn is_negative(&mut self, a: Temp, width: u8) -> Temp {
        self.bin_int(BinOp::LtS, a, 0, width)
    }

    /// The low `from` bits of `a`, extended by their sign to `width`.
    pub(crate) fn sign_extend(&mut self, a: Temp, from: u8, width: u8) -> Temp {
        if from >= width { a } else { self.un(UnOp::SignExt { from }, a, width) }
    }

    /// The low `from` bits of `a`, extended by zeros to `width`.
    pub(crate) fn zero_extend(&mut self, a: Temp, from: u8, width: u8) -> Temp {
        if from >= width { a } else { self.un(UnOp::ZeroExt { from }, a, width) }
    }

    /// Shifts by a constant; a shift by nothing costs nothing.
    pub(crate) fn shift(&mut self, op: BinOp, a: Temp, n: u8, width: u8) -> Temp {
        if n == 0 { a } else { self.bin_int(op, a, n.into(), width) }
    }

    /// The bit `n` of `a` as 0 or 1.
    pub fn bit(&mut self, a: Temp, n: u8, width: u8) -> Temp {
        let low = self.shift(BinOp::Shr, a, n, width);
        self.bin_int(BinOp::And, low, 1, width)
    }

    /// A quotient or remainder; 0 where `b` is 0.
    pub fn divide(&mut self, op: BinOp, a: Temp, b: Temp, width: u8) -> Temp {
        let zero = self.is_zero(b, width);
        let divisor = self.bin(BinOp::Or, b, zero, width);
        let result = self.bin(op, a, divisor, width);
        let defined = self.bin_int(BinOp::Ne, b, 0, width);
        self.bin(BinOp::Mul, result, defined, width)
    }

    /// A quotient where `b` is not 0, and 1 where it is. It is computed in twice the width, in which it never overflows.
    pub(crate) fn quotient(&mut self, a: Temp, b: Temp, width: u8, signed: bool) -> (Temp, Temp) {
        let by_zero = self.is_zero(b, width);
        let divisor = self.bin(BinOp::Or, b, by_zero, width);
        if !signed {
            return (self.bin(BinOp::DivU, a, divisor, width), by_zero);
        }
        let a = self.sign_extend(a, width, 2 * width);
        let divisor = self.sign_extend(divisor, width, 2 * width);
        let wide = self.bin(BinOp::DivS, a, divisor, 2 * width);
        (self.zero_extend(wide, width, 2 * width), by_zero)
    }

    /// Emits `body` so that it happens only where `cond` is not 0.
    pub fn under<T>(&mut self, cond: Temp, body: impl FnOnce(&mut Emit) -> T) -> Option<T> {
        let mut result = None;
        self.if_else(cond, |e| result = Some(body(e)), |_| ());
        result
    }

    /// `value`, unchanged, but depending on `on` too.
    pub fn depending(&mut self, value: Temp, on: Temp, width: u8) -> Temp {
        let zero = self.bin(BinOp::Ne, on, on, width);
        self.bin(BinOp::Or, value, zero, width)
    }

    /// Writes a fence.
    pub(crate) fn fence(&mut self, tags: litmake_ops::Tags) {
        self.op(Op::Fence { tags });
    }
}
