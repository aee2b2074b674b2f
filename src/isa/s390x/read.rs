//! Reads lines of s390x assembly as instructions. It does not know what an instruction means.

use super::insn::{Address, Insn};
use super::regs::{self, R};
use super::table::{ALIASES, CONDITIONS, Does, Field, ROWS, Row};
use crate::lex::{self, Refusal};

type Read<T> = Result<T, Refusal>;

/// Reads one line's text; nothing where there is no instruction.
pub fn line(text: &str) -> Read<Option<Insn>> {
    let Some((name, parts)) = lex::statement(text) else { return Ok(None) };
    let args = together(&parts);
    let (row, mask) = find(&name)
        .ok_or_else(|| Refusal::unknown("s390x", &name, ROWS.iter().map(|row| row.name)))?;
    let mut words = Words { name: &name, args: &args, at: 0 };
    let mut insn = Insn { mask, ..Insn::new(row.does) };
    for field in row.fields {
        words.operand(*field, &mut insn)?;
    }
    if words.at != args.len() {
        return Err(format!("`{name}` takes {}", written(row.fields)).into());
    }
    checked(&name, insn).map(Some)
}

/// The operands, of which those in parentheses have commas of their own.
fn together(parts: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for part in parts {
        match out.last_mut().filter(|_| open) {
            Some(last) => {
                last.push(',');
                last.push_str(part);
            }
            None => out.push(part.to_string()),
        }
        open = out.last().is_some_and(|last| last.contains('(') && !last.contains(')'));
    }
    out
}

/// The row of a name, and the mask of the condition in it.
fn find(name: &str) -> Option<(&'static Row, u8)> {
    if let Some(row) = ROWS.iter().find(|row| row.name == name) {
        return Some((row, 15));
    }
    let all = || CONDITIONS.iter().chain(ALIASES);
    ROWS.iter().find_map(|row| {
        let (before, behind) = row.name.split_once('*')?;
        let condition = name.strip_prefix(before)?.strip_suffix(behind)?;
        Some((row, all().find(|(name, _)| *name == condition)?.1))
    })
}

/// Refuses operands that no machine has, or that have no meaning in a test.
fn checked(name: &str, insn: Insn) -> Read<Insn> {
    let is_pair = match insn.does {
        Does::LoadPair | Does::StorePair | Does::MulPair | Does::Divide(..) | Does::Leading => {
            &insn.regs[..1]
        }
        Does::ExchangePair(_) => &insn.regs[..2],
        _ => &[],
    };
    if is_pair.iter().any(|r| r % 2 != 0) {
        return Err(format!("`{name}` takes the even register of a pair").into());
    }
    Ok(insn)
}

struct Words<'a> {
    name: &'a str,
    args: &'a [String],
    /// The number of the operand that is read next.
    at: usize,
}

impl<'a> Words<'a> {
    fn operand(&mut self, field: Field, insn: &mut Insn) -> Read<()> {
        match field {
            Field::R(_) => insn.regs.push(self.register("r0 to r15", regs::general)?),
            Field::F(_) => insn.regs.push(self.register("f0 to f15", regs::float)?),
            Field::V(..) => insn.regs.push(self.register("v0 to v31", regs::vector)?),
            Field::U(..) | Field::S(..) => insn.numbers.push(lex::constant(self.next())?),
            Field::Last(..) => insn.numbers.push(match self.args.get(self.at) {
                Some(_) => lex::constant(self.next())?,
                None => 0,
            }),
            Field::Mem(_) | Field::Mem20 | Field::Count | Field::Count20 => {
                let (address, _) = self.memory(false)?;
                insn.memory.push(address);
            }
            Field::Indexed | Field::Indexed20 => {
                let (address, _) = self.memory(true)?;
                insn.memory.push(address);
            }
            Field::Bytes => {
                let (address, bytes) = self.memory(false)?;
                insn.memory.push(address);
                insn.bytes = bytes.ok_or_else(|| {
                    Refusal::new(format!("`{}` takes a number of bytes, as in 0(8,r2)", self.name))
                })?;
            }
            Field::Near | Field::Far => insn.target = self.label()?,
            Field::Data => self.place(insn)?,
            Field::Cond(_) => {}
            Field::None => {
                let text = self.next();
                if text != "0" && regs::general(text) != Some(0) {
                    let what =
                        format!("`{text}`: only the register 0, which is none, is read here");
                    return Err(what.into());
                }
            }
        }
        Ok(())
    }

    fn next(&mut self) -> &'a str {
        self.at += 1;
        self.args.get(self.at - 1).map_or("", String::as_str)
    }

    fn register(&mut self, which: &str, number: fn(&str) -> Option<R>) -> Read<R> {
        let text = self.next();
        number(text).ok_or_else(|| format!("`{text}` is no register: {which} are expected").into())
    }

    /// An address, and the number of bytes in it.
    fn memory(&mut self, indexed: bool) -> Read<(Address, Option<u16>)> {
        let text = self.next();
        let wrong = || Refusal::new(format!("`{text}` is no address such as 8(r2)"));
        let (offset, inside) = match text.split_once('(') {
            Some((offset, inside)) => (offset, inside.strip_suffix(')').ok_or_else(wrong)?),
            None => (text, "r0"),
        };
        let offset = match offset.trim() {
            "" => 0,
            number => lex::constant(number)?,
        };
        let register = |text: &str| regs::general(text.trim()).ok_or_else(wrong);
        let (first, base) = match inside.split_once(',') {
            Some((first, base)) => (Some(first.trim()), register(base)?),
            None => (None, register(inside)?),
        };
        let (index, bytes) = match first {
            None => (0, None),
            Some(index) if indexed => (register(index)?, None),
            Some(bytes) => (0, Some(bytes.parse().map_err(|_| wrong())?)),
        };
        Ok((Address { base, index, offset }, bytes))
    }

    fn label(&mut self) -> Read<String> {
        let text = self.next();
        let text = text.strip_suffix("@PLT").unwrap_or(text);
        match is_name(text) {
            true => Ok(text.to_string()),
            false => Err(format!("`{text}` is no label").into()),
        }
    }

    /// A location. An entry of the table of offsets holds its address.
    fn place(&mut self, insn: &mut Insn) -> Read<()> {
        let text = self.next();
        let (name, entry) = match text.strip_suffix("@GOTENT") {
            Some(name) => (name, true),
            None => (text, false),
        };
        if entry && self.name == "lgrl" {
            insn.does = Does::Address;
        }
        insn.symbol = Some(lex::location(name, is_name)?);
        Ok(())
    }
}

/// The operands in words, for people.
fn written(fields: &[Field]) -> String {
    let words = fields.iter().filter_map(|field| match field {
        Field::R(_) => Some("a register"),
        Field::F(_) => Some("a register of floating point"),
        Field::V(..) => Some("a vector register"),
        Field::U(..) | Field::S(..) => Some("a number"),
        Field::Mem(_) | Field::Mem20 => Some("an address such as 8(r2)"),
        Field::Indexed | Field::Indexed20 => Some("an address such as 8(r3,r2)"),
        Field::Bytes => Some("an address with a number of bytes, such as 0(8,r2)"),
        Field::Count | Field::Count20 => Some("a count"),
        Field::Near | Field::Far => Some("a label"),
        Field::Data => Some("a location"),
        Field::None => Some("the register 0"),
        Field::Last(..) | Field::Cond(_) => None,
    });
    match words.collect::<Vec<_>>() {
        words if words.is_empty() => "no operands".to_string(),
        words => words.join(", "),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'$'))
}
