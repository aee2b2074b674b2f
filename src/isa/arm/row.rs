//! Instructions as rows. A row has the spelling of an instruction, its operands, its encodings, and its
//! meaning; the reader of text, the decoder of machine code, the printer, the flow of control and the list of
//! mnemonics come from it.
//!
//! It does not know what instructions there are.

use super::arg::Arg;
use super::insn::{Cond, Fields, LR, Operand, PC, Place};
use super::lower::Lower;
use super::rows::{READ, all};
use crate::lex::R;
use crate::machine::{Decoded, Flow, Pattern};
use std::sync::OnceLock;

/// An instruction, or a family of them.
pub struct Row {
    /// The names, with blanks between them. The first is printed. `{x:b|t}` stands for one of several
    /// parts of a name, of which [`Fields::x`] is the number; `b/c` are two spellings of one part. `{s}` is
    /// where an `s` may follow for setting the flags; a part from `.` on is printed before the size of an element.
    pub spelling: &'static str,
    pub args: &'static [Arg],
    pub codes: &'static [&'static [Code]],
    /// Where control goes unless PC is written.
    pub flow: Flow,
    pub means: fn(&mut Lower, &Fields),
}

/// The code that an encoding is of. `Both` are the same in A32 and, with the condition 14, in T32.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Set {
    A32,
    T32,
    T16,
    Both,
}

/// An encoding.
pub struct Code {
    set: Set,
    bits: &'static str,
    fixed: Pattern,
}

impl Code {
    /// An encoding from a pattern in which each letter is a field (see `arg`), and `-` counts for nothing. Fields that
    /// have no bits follow a `;`, as in `n=13`. There too stand the parts of a name in the order of this
    /// encoding, as in `x:b|h`, where `?` is none.
    pub const fn new(set: Set, pattern: &'static str) -> Code {
        let len = if matches!(set, Set::T16) { 16 } else { 32 };
        Code { set, bits: pattern, fixed: Pattern::new(pattern, len) }
    }

    /// The same with the bits `O` fixed.
    pub const fn operation(self, mut n: u32) -> Code {
        let bytes = self.bits.as_bytes();
        let Pattern { mut mask, mut value } = self.fixed;
        let (mut i, mut bit) = (bytes.len(), 1);
        while i > 0 {
            i -= 1;
            match bytes[i] {
                b' ' => continue,
                // The lowest bit stands before it.
                b';' => bit = 1,
                b'O' => {
                    mask |= bit;
                    value |= bit * (n & 1);
                    n >>= 1;
                    bit <<= 1;
                }
                _ => bit <<= 1,
            }
        }
        // A number with more bits than that fits no word.
        Code { fixed: Pattern { mask, value: value | (n > 0) as u32 }, ..self }
    }

    fn pins(&self) -> impl Iterator<Item = &'static str> {
        self.bits.split_once(';').map_or("", |(_, pins)| pins).split_whitespace()
    }

    /// The fields of an instruction that it fits.
    fn word(&self, word: u32, thumb: bool, at: u64, block: Option<Cond>) -> Word {
        let (set, values, sizes) = (self.set, [0; 128], [0; 128]);
        let mut out = Word { set, thumb, at, block, values, sizes };
        let mut left = if self.set == Set::T16 { 16 } else { 32 };
        let bits = self.bits.split(';').next().unwrap_or_default();
        for letter in bits.bytes().filter(|b| *b != b' ').map(|b| usize::from(b % 128)) {
            left -= 1;
            out.values[letter] = out.values[letter] << 1 | word >> left & 1;
            out.sizes[letter] += 1;
        }
        for (letter, n) in self.pins().filter_map(|pin| pin.split_once('=')) {
            let letter = usize::from(letter.as_bytes()[0] % 128);
            (out.values[letter], out.sizes[letter]) = (n.parse().unwrap_or(0), Word::PINNED);
        }
        out
    }
}

/// The fields of one encoding, by their letters.
pub struct Word {
    pub set: Set,
    pub thumb: bool,
    pub at: u64,
    /// The condition of the IT block that it is in.
    block: Option<Cond>,
    values: [u32; 128],
    sizes: [u8; 128],
}

impl Word {
    const PINNED: u8 = 64;

    /// The value of a field, where there is one.
    pub fn get(&self, letter: u8) -> Option<u32> {
        let letter = usize::from(letter % 128);
        (self.sizes[letter] > 0).then_some(self.values[letter])
    }

    pub fn is(&self, letter: u8) -> bool {
        self.get(letter).is_some_and(|n| n != 0)
    }

    /// The bits of a field.
    pub fn size(&self, letter: u8) -> u8 {
        self.sizes[usize::from(letter % 128)]
    }

    /// PC as an instruction sees it for data.
    pub fn pc(&self) -> u64 {
        if self.thumb { self.at.wrapping_add(4) & !3 } else { self.at.wrapping_add(8) }
    }
}

/// The row with an encoding that fits a word; the first whose fields have values that they can have counts.
pub fn decode(set: Set, word: u32, at: u64, block: Option<Cond>) -> Option<(&'static Row, Fields)> {
    type Table = Vec<(&'static Row, &'static Code)>;
    // By the bits of which most encodings fix several.
    static TABLES: OnceLock<[Vec<Table>; 3]> = OnceLock::new();
    let low = |set| if set == Set::T16 { 8 } else { 20 };
    let tables = TABLES.get_or_init(|| {
        [Set::A32, Set::T32, Set::T16].map(|set| {
            let codes =
                |row: &'static Row| row.codes.iter().copied().flatten().map(move |c| (row, c));
            let fits = |code: &Code, byte: u32| {
                let Pattern { mask, value } = code.fixed;
                let is_of = code.set == set || (code.set == Set::Both && set != Set::T16);
                is_of && (byte << low(set) ^ value) & mask & 0xff << low(set) == 0
            };
            let table = |byte| all().flat_map(codes).filter(|(_, code)| fits(code, byte)).collect();
            (0..=0xff).map(table).collect()
        })
    });
    let table = &tables[set as usize][(word >> low(set)) as usize & 0xff];
    table.iter().filter(|(_, code)| code.fixed.is(word)).find_map(|(row, code)| {
        let w = code.word(word, set != Set::A32, at, block);
        Some((*row, row.fields(code, &w)?))
    })
}

/// The groups of alternatives in a name: the letter, and the parts.
fn groups(name: &str) -> impl Iterator<Item = (u8, &str)> {
    name.split('{').filter_map(|part| {
        let (letter, parts) = part.split_once('}')?.0.split_once(':')?;
        Some((letter.as_bytes()[0], parts))
    })
}

impl Row {
    fn fields(&self, code: &Code, w: &Word) -> Option<Fields> {
        let mut f = Fields { cond: w.block.unwrap_or_default(), ..Fields::default() };
        match (w.get(b'c'), code.set) {
            (Some(c), Set::Both) if w.thumb => (c == 14).then_some(())?,
            (Some(c), _) if w.size(b'c') == Word::PINNED => f.cond = Cond(c as u8),
            (Some(15), _) => return None,
            (Some(14), _) if w.thumb => return None,
            (Some(c), _) => f.cond = Cond(c as u8),
            (None, _) => {}
        }
        // Outside blocks only.
        if w.get(b'I') == Some(0) && w.block.is_some() {
            return None;
        }
        f.flags = w.is(b'S') && (code.set != Set::T16 || w.block.is_none());
        for (letter, parts) in groups(self.first()) {
            let n = w.get(letter).unwrap_or(0) as usize;
            let order = code.pins().find_map(|pin| pin.split_once(':'));
            let index = match order.filter(|(l, _)| l.as_bytes()[0] == letter) {
                Some((_, order)) => {
                    let part = order.split('|').nth(n)?;
                    parts.split('|').position(|p| p.split('/').next() == Some(part))?
                }
                None => parts.split('|').nth(n).map(|_| n)?,
            };
            *f.choice(letter) = index as u8;
        }
        for arg in self.args {
            arg.take(w, &mut f)?;
        }
        Some(f)
    }

    /// The name that is printed.
    fn first(&self) -> &'static str {
        self.spelling.split(' ').next().unwrap_or_default()
    }

    /// The instruction as the decoder gives it.
    pub fn decoded(&self, mut f: Fields, at: u64, len: u8) -> Decoded {
        let mut operands = Vec::new();
        for arg in self.args {
            arg.show(&mut f, &mut operands);
        }
        let flow = match (self.flow(&f), f.cond) {
            (flow, Cond::AL) => flow,
            (Flow::Jump, _) => Flow::Branch,
            (Flow::Return, _) => Flow::MayReturn,
            (flow, _) => flow,
        };
        let (name, suffix) = self.first().split_once('.').unwrap_or((self.first(), ""));
        let mut mnemonic = String::new();
        for part in name.split('{') {
            let Some((group, tail)) = part.split_once('}') else {
                mnemonic.push_str(part);
                continue;
            };
            if let Some((letter, parts)) = group.split_once(':') {
                let n = *f.choice(letter.as_bytes()[0]);
                let part = parts.split('|').nth(n.into()).and_then(|p| p.split('/').next());
                mnemonic.push_str(part.unwrap_or_default());
            } else if f.flags {
                mnemonic.push('s');
            }
            mnemonic.push_str(tail);
        }
        if f.cond != Cond::AL {
            mnemonic.push_str(f.cond.name());
        }
        if let Some(size) = f.size {
            mnemonic.push_str(&format!(".{suffix}{}", 8 * size));
        }
        Decoded { at, len, mnemonic: mnemonic.to_ascii_uppercase(), operands, flow }
    }

    /// Where control goes after it.
    pub fn flow(&self, f: &Fields) -> Flow {
        let to = |from: R| if from == LR { Flow::Return } else { Flow::JumpRegister };
        let is_named = f.place != Place::None;
        // The form in which Go's assembler writes a return.
        let is_copy = self.spelling.starts_with("add") && f.operand == Operand::Imm(0);
        match (self.flow, self.args) {
            (Flow::Next, [Arg::Three]) if f.d == PC => to(if is_copy { f.n } else { f.d }),
            (Flow::Call, [Arg::Where]) if !is_named => Flow::CallRegister,
            (Flow::JumpRegister, [Arg::Where]) if is_named => Flow::Jump,
            (Flow::JumpRegister, [Arg::Where]) => to(f.m),
            (Flow::Next, args) => args.iter().find_map(|arg| arg.jumps(f)).map_or(Flow::Next, to),
            (flow, _) => flow,
        }
    }

    /// Whether it accesses memory some bytes past a register, if it accesses memory.
    pub fn takes_offset(&self) -> bool {
        !self.args.iter().any(|arg| matches!(arg, Arg::Plain | Arg::Exclusive))
    }

    /// Whether its instructions may have a condition.
    fn is_conditional(&self) -> bool {
        !matches!(self.args, [.., Arg::Conds | Arg::Literal]) && self.flow != Flow::Branch
    }
}

/// A mnemonic without condition and size.
pub struct Name {
    text: String,
    pub row: &'static Row,
    /// Which of the alternatives of the spelling it has.
    pub choices: Vec<(u8, u8)>,
    /// Whether an `s` may follow.
    sets: bool,
}

/// Adds the names that a spelling stands for, which all begin with `name`.
fn expand(name: Name, rest: &str, out: &mut Vec<Name>) {
    let add = |name: &Name, text: &str| Name {
        text: format!("{}{text}", name.text),
        choices: name.choices.clone(),
        ..*name
    };
    let Some((head, rest)) = rest.split_once('{') else {
        return out.push(add(&name, rest.split('.').next().unwrap_or_default()));
    };
    let name = add(&name, head);
    let (group, tail) = rest.split_once('}').unwrap_or((rest, ""));
    let Some((letter, parts)) = group.split_once(':') else {
        return expand(Name { sets: true, ..name }, tail, out);
    };
    for (i, part) in parts.split('|').enumerate() {
        for spelling in part.split('/') {
            let mut name = add(&name, spelling);
            name.choices.push((letter.as_bytes()[0], i as u8));
            expand(name, tail, out);
        }
    }
}

/// All names, sorted.
fn names() -> &'static [Name] {
    static NAMES: OnceLock<Vec<Name>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut out = Vec::new();
        for row in READ.iter().copied().flatten() {
            for spelling in row.spelling.split(' ') {
                // Directives begin with the dot that otherwise ends a name.
                let (dot, rest) = spelling.split_at(usize::from(spelling.starts_with('.')));
                let text = dot.to_string();
                expand(Name { text, row, choices: Vec::new(), sets: false }, rest, &mut out);
            }
        }
        out.sort_by(|a, b| a.text.cmp(&b.text));
        out
    })
}

/// The mnemonics that the reader knows.
pub fn mnemonics() -> impl Iterator<Item = &'static str> {
    names().iter().map(|name| name.text.as_str())
}

/// The names with the text of a mnemonic; more than one where the operands tell.
pub fn named(text: &str) -> &'static [Name] {
    let from = names().partition_point(|name| name.text.as_str() < text);
    let rest = &names()[from..];
    &rest[..rest.partition_point(|name| name.text == text)]
}

/// A mnemonic taken apart.
pub struct Split {
    pub names: &'static [Name],
    pub flags: bool,
    pub cond: Cond,
    pub size: Option<u8>,
}

/// Takes a mnemonic apart: its names, whether it sets flags, when it is executed, and the size of its elements.
pub fn split(mnemonic: &str) -> Option<Split> {
    let dot = mnemonic.get(1..).and_then(|rest| rest.find('.')).map(|at| at + 1);
    let (bare, suffix) = mnemonic.split_at(dot.unwrap_or(mnemonic.len()));
    let size = match suffix.trim_start_matches(['.', 'i', 'f', 'u', 's']) {
        "" | "w" | "n" => None,
        bits if bare.starts_with('v') => match bits {
            "8" => Some(1),
            "16" => Some(2),
            "32" => Some(4),
            "64" => Some(8),
            _ => return None,
        },
        _ => return None,
    };
    let known = |text: &str| Some(named(text)).filter(|names| !names.is_empty());
    let plain = |names, cond| Split { names, flags: false, cond, size };
    if let Some(names) = known(bare) {
        return Some(plain(names, Cond::AL));
    }
    if bare.starts_with("it") && bare[2..].bytes().all(|b| matches!(b, b't' | b'e')) {
        return (bare.len() <= 5).then(|| plain(named("it"), Cond::AL));
    }
    let setting = |head: &str, cond| {
        let names = known(head).filter(|names| names[0].sets)?;
        Some(Split { flags: true, ..plain(names, cond) })
    };
    if let Some((head, cond)) = conditional(bare) {
        if let Some(names) = known(head).filter(|names| names[0].row.is_conditional()) {
            return Some(plain(names, cond));
        }
        // `addseq`
        if let Some(split) = head.strip_suffix('s').and_then(|head| setting(head, cond)) {
            return Some(split);
        }
    }
    let head = bare.strip_suffix('s')?;
    // `addeqs`, as it was written once.
    let old = || conditional(head).and_then(|(head, cond)| setting(head, cond));
    setting(head, Cond::AL).or_else(old)
}

/// The condition at the end of a mnemonic.
fn conditional(word: &str) -> Option<(&str, Cond)> {
    let (head, cond) = word.split_at_checked(word.len().checked_sub(2)?)?;
    Some((head, Cond::named(cond)?))
}

/// Writes rows down: spelling, operands, encodings, and after `=>` the meaning, or after `->` the value of the result
/// `d`. `..` stands before encodings that many rows share, and `flow` before where control goes.
macro_rules! rows {
    (@ => $means:expr) => { $means };
    (@ -> $value:expr) => {
        |l, f| {
            let value: fn(&mut $crate::arm::lower::Lower, &$crate::arm::insn::Fields) -> _ = $value;
            let v = value(l, f);
            l.result(f, v);
        }
    };
    ($($spelling:literal [$($arg:expr),*] $(flow $flow:ident)?
       { $($set:ident $pattern:literal)* $(.. $more:expr)? } $arrow:tt $means:expr;)*) => {
        &[$($crate::arm::row::Row {
            spelling: $spelling,
            args: &[$($arg),*],
            codes: &[
                &[$($crate::arm::row::Code::new($crate::arm::row::Set::$set, $pattern)),*],
                $(&const { $more },)?
            ],
            flow: [$($crate::machine::Flow::$flow,)? $crate::machine::Flow::Next][0],
            means: $crate::arm::row::rows!(@ $arrow $means),
        }),*]
    };
}
pub(super) use rows;

#[cfg(test)]
mod tests;
