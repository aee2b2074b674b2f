//! The parts of a PTX instruction: its guard, its name with what is behind each dot, its operands.
//! It does not know what they mean.

use crate::microcode::parse_int;

/// One instruction, as it is spelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Insn<'a> {
    /// The predicate that decides whether it runs; `None` where it always does.
    pub(crate) guard: Option<Guard<'a>>,
    /// The word in front of the first dot.
    pub(crate) name: &'a str,
    /// The words behind dots, in order.
    pub(crate) mods: Vec<&'a str>,
    /// The operands, in the order in which they stand.
    pub(crate) operands: Vec<Operand<'a>>,
}

/// `@%p` or `@!%p`: the instruction runs where the predicate is true, or false.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard<'a> {
    /// The predicate.
    pub(crate) register: &'a str,
    /// Whether the instruction runs where it is false.
    pub(crate) negated: bool,
}

/// An operand, as it is spelled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// `%r1`.
    Reg(&'a str),
    /// `!%p`.
    Not(&'a str),
    /// A number.
    Int(i128),
    /// A variable or a label, and bytes behind it.
    Name(&'a str, i64),
    /// `[base + offset]`.
    Memory(Base<'a>, i64),
    /// `{%r1, %r2}`.
    Group(Vec<Operand<'a>>),
    /// `_`: the result is not wanted.
    Sink,
}

/// The first part of an address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base<'a> {
    /// `%rd1`.
    Reg(&'a str),
    /// A variable.
    Name(&'a str),
}

/// Splits an instruction; `None` where the text is empty.
pub fn read(text: &str) -> Result<Option<Insn<'_>>, String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    if text.is_empty() {
        return Ok(None);
    }
    let (guard, rest) = guard(text)?;
    let (word, rest) = word(rest);
    let mut parts = word.split('.');
    let name = parts.next().unwrap_or("");
    if name.is_empty() {
        return Err("expected the name of an instruction".into());
    }
    let operands = list(rest)?.into_iter().map(operand).collect::<Result<_, _>>()?;
    Ok(Some(Insn { guard, name, mods: parts.collect(), operands }))
}

fn guard(text: &str) -> Result<(Option<Guard<'_>>, &str), String> {
    let Some(rest) = text.strip_prefix('@') else {
        return Ok((None, text));
    };
    let (name, rest) = word(rest.trim_start());
    let (negated, name) = match name.strip_prefix('!') {
        Some(name) => (true, name),
        None => (false, name),
    };
    match register(name) {
        Some(register) => Ok((Some(Guard { register, negated }), rest)),
        None => Err(format!("expected a predicate behind `@`, found `{name}`")),
    }
}

/// The text up to a blank, and what is behind.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// The parts between commas that are in no brackets.
fn list(text: &str) -> Result<Vec<&str>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    let (mut depth, mut from) = (0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
        if depth < 0 {
            return Err(format!("`{c}` closes nothing"));
        }
    }
    if depth != 0 {
        return Err("a bracket is not closed".into());
    }
    out.push(text[from..].trim());
    Ok(out)
}

fn operand(text: &str) -> Result<Operand<'_>, String> {
    if text == "_" {
        return Ok(Operand::Sink);
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let (base, offset) = sum(inner)?;
        let base = match register(base) {
            Some(reg) => Base::Reg(reg),
            None if is_name(base) => Base::Name(base),
            None => return Err(format!("unsupported: the address `{text}`")),
        };
        return Ok(Operand::Memory(base, offset));
    }
    if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
        let parts = list(inner)?.into_iter().map(operand).collect::<Result<_, _>>()?;
        return Ok(Operand::Group(parts));
    }
    if let Some(reg) = text.strip_prefix('!').and_then(register) {
        return Ok(Operand::Not(reg));
    }
    if let Some(reg) = register(text) {
        return Ok(Operand::Reg(reg));
    }
    if let Some(number) = integer(text) {
        return Ok(Operand::Int(number));
    }
    let (name, offset) = sum(text)?;
    match is_name(name) {
        true => Ok(Operand::Name(name, offset)),
        false => Err(format!("unsupported: the operand `{text}`")),
    }
}

/// A name, and what is added to it.
fn sum(text: &str) -> Result<(&str, i64), String> {
    let text = text.trim();
    let Some(at) = text.find(['+', '-']) else {
        return Ok((text, 0));
    };
    let (base, offset) = text.split_at(at);
    let offset = offset.strip_prefix('+').unwrap_or(offset).trim();
    let number = integer(offset).and_then(|n| i64::try_from(n).ok());
    number.map(|n| (base.trim(), n)).ok_or_else(|| format!("expected a number, found `{offset}`"))
}

/// An integer as PTX writes it: a `U` at the end says that it has no sign. A number in floating point is written by its
/// bits.
fn integer(text: &str) -> Option<i128> {
    let bits = |digits: &str| i128::from_str_radix(digits, 16).ok();
    match text.get(..2) {
        Some("0f" | "0F") if text.len() == 2 + 8 => return bits(&text[2..]),
        Some("0d" | "0D") if text.len() == 2 + 16 => return bits(&text[2..]),
        _ => {}
    }
    let text = text.strip_suffix('U').unwrap_or(text);
    let octal =
        text.strip_prefix('0').filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()));
    match octal {
        Some(digits) => i128::from_str_radix(digits, 8).ok(),
        None => parse_int(text),
    }
}

/// The name of a register, if the text is one: a name after `%`, or one of the letters that code for people
/// has for each type (`r`, `rd`, `rs`, `p`) with a number.
pub fn register(text: &str) -> Option<&str> {
    let is_number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if let Some(name) = text.strip_prefix('%') {
        return Some(name).filter(|n| is_name(n));
    }
    let letters = ["rd", "rs", "r", "p"].into_iter().find_map(|l| text.strip_prefix(l));
    letters.is_some_and(is_number).then_some(text)
}

fn is_name(text: &str) -> bool {
    let in_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.');
    !text.is_empty() && !text.as_bytes()[0].is_ascii_digit() && text.bytes().all(in_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_instructions() {
        let insn = read("@!%p1 atom.global.cas.b32 %r1, [%rd2+-4], 0x10, -1;").expect("reads");
        let insn = insn.expect("an instruction");
        assert_eq!(insn.guard, Some(Guard { register: "p1", negated: true }));
        assert_eq!((insn.name, &insn.mods[..]), ("atom", &["global", "cas", "b32"][..]));
        let memory = Operand::Memory(Base::Reg("rd2"), -4);
        assert_eq!(insn.operands, [Operand::Reg("r1"), memory, Operand::Int(16), Operand::Int(-1)]);
    }

    #[test]
    fn operands() {
        for (text, expected) in [
            ("[x]", Operand::Memory(Base::Name("x"), 0)),
            ("[ x + 8 ]", Operand::Memory(Base::Name("x"), 8)),
            ("x+8", Operand::Name("x", 8)),
            ("rd3", Operand::Reg("rd3")),
            ("rx", Operand::Name("rx", 0)),
            ("$L__BB0_1", Operand::Name("$L__BB0_1", 0)),
            ("0xFFU", Operand::Int(255)),
            ("017", Operand::Int(15)),
            ("0f3F800000", Operand::Int(0x3f80_0000)),
            ("0d3FF0000000000000", Operand::Int(0x3ff0_0000_0000_0000)),
            ("!p1", Operand::Not("p1")),
            ("_", Operand::Sink),
            ("{%r1, r2}", Operand::Group(vec![Operand::Reg("r1"), Operand::Reg("r2")])),
        ] {
            assert_eq!(operand(text), Ok(expected), "{text}");
        }
        for bad in ["[1x]", "0f3F80", "1.5", "[x+y]", "é", "a b"] {
            assert!(operand(bad).is_err(), "{bad}");
        }
        assert!(read("ld.u32 r1, [x").is_err());
        assert!(read("ld.u32 r1, x]").is_err());
        assert_eq!(read(" ; "), Ok(None));
    }
}
