//! The vector registers of Power, as far as code copies memory with them: loads, stores, moves
//! and permutations of doublewords. There is no arithmetic on them.
//!
//! Each has 128 bits, its doubleword 0 the high half. `f0` to `f31` are doubleword 0 of the first
//! 32, `v0` to `v31` are the last 32. What a vector access reads or writes is single-copy atomic a
//! doubleword at a time, of `lxvw4x` and `stxvw4x` a word at a time. Memory is little endian.

use super::insn::{Addr, Insn};
use super::lower::Lower;
use super::parse::Parser;
use crate::lex::{R, Tok};
use litmake_base::diag::Result;
use litmake_ops::{BinOp, Port, Reg, Tags, Temp};

/// A register: 0 to 63, and whether only doubleword 0 is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V {
    pub number: u8,
    pub half: bool,
}

/// How the parts of a register lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Doubleword 0 alone.
    One,
    /// The whole as one number: doubleword 1 first.
    Whole,
    /// As `Whole`, at the aligned 16 bytes around the address.
    Aligned,
    /// Doubleword 0 first.
    Doublewords,
    /// Words, the highest first.
    Words,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Vsx {
    Load {
        lie: Lie,
        to: V,
        addr: Addr,
    },
    Store {
        lie: Lie,
        from: V,
        addr: Addr,
    },
    /// From a general register; the other doubleword is 0.
    FromCore {
        bits: u8,
        signed: bool,
        to: V,
        a: R,
    },
    /// Both doublewords; no register is 0.
    FromPair {
        to: V,
        a: Option<R>,
        b: R,
    },
    ToCore {
        doubleword: u8,
        bits: u8,
        to: R,
        from: V,
    },
    /// A doubleword of each.
    Permute {
        to: V,
        a: V,
        b: V,
        how: u8,
    },
    Logic {
        op: BinOp,
        to: V,
        a: V,
        b: V,
    },
    Fill {
        to: V,
        byte: u8,
    },
}

#[derive(Clone, Copy)]
enum Form {
    Load(Lie, bool),
    Store(Lie, bool),
    FromCore { bits: u8, signed: bool },
    FromPair,
    ToCore { doubleword: u8, bits: u8 },
    Permute,
    Logic(BinOp),
    Fill,
}

/// With whether the address is the sum of two registers. Sorted by name.
const TABLE: &[(&str, Form)] = &[
    ("lfd", Form::Load(Lie::One, false)),
    ("lvx", Form::Load(Lie::Aligned, true)),
    ("lxv", Form::Load(Lie::Whole, false)),
    ("lxvd2x", Form::Load(Lie::Doublewords, true)),
    ("lxvw4x", Form::Load(Lie::Words, true)),
    ("lxvx", Form::Load(Lie::Whole, true)),
    ("mfvsrd", Form::ToCore { doubleword: 0, bits: 64 }),
    ("mfvsrld", Form::ToCore { doubleword: 1, bits: 64 }),
    ("mfvsrwz", Form::ToCore { doubleword: 0, bits: 32 }),
    ("mtvsrd", Form::FromCore { bits: 64, signed: false }),
    ("mtvsrdd", Form::FromPair),
    ("mtvsrwa", Form::FromCore { bits: 32, signed: true }),
    ("mtvsrwz", Form::FromCore { bits: 32, signed: false }),
    ("stfd", Form::Store(Lie::One, false)),
    ("stvx", Form::Store(Lie::Aligned, true)),
    ("stxv", Form::Store(Lie::Whole, false)),
    ("stxvd2x", Form::Store(Lie::Doublewords, true)),
    ("stxvw4x", Form::Store(Lie::Words, true)),
    ("stxvx", Form::Store(Lie::Whole, true)),
    ("xxlor", Form::Logic(BinOp::Or)),
    ("xxlxor", Form::Logic(BinOp::Xor)),
    ("xxpermdi", Form::Permute),
    ("xxspltib", Form::Fill),
];

pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(n, _)| *n)
}

/// The register that a word names.
pub fn register(word: &str) -> Option<V> {
    let word = word.strip_prefix('%').unwrap_or(word);
    let number = |digits: &str, most: u8| match digits.len() {
        2 if digits.starts_with('0') => None,
        1 | 2 => digits.parse::<u8>().ok().filter(|n| *n <= most),
        _ => None,
    };
    if let Some(digits) = word.strip_prefix("vs") {
        return Some(V { number: number(digits, 63)?, half: false });
    }
    match (word.strip_prefix('v'), word.strip_prefix('f')) {
        (Some(digits), _) => Some(V { number: 32 + number(digits, 31)?, half: false }),
        (_, Some(digits)) => Some(V { number: number(digits, 31)?, half: true }),
        _ => None,
    }
}

impl V {
    pub fn name(self) -> String {
        format!("vs{}", self.number)
    }
}

impl Parser<'_, '_> {
    /// An instruction on vector registers, where the mnemonic is one's.
    pub fn vsx(&mut self, mnemonic: &str) -> Result<Option<Insn>> {
        let Ok(at) = TABLE.binary_search_by(|(n, _)| (*n).cmp(mnemonic)) else {
            return Ok(None);
        };
        let vsx = match TABLE[at].1 {
            Form::Load(lie, indexed) => {
                let to = self.vector()?;
                self.cursor.comma()?;
                Vsx::Load { lie, to, addr: self.addr(indexed)? }
            }
            Form::Store(lie, indexed) => {
                let from = self.vector()?;
                self.cursor.comma()?;
                Vsx::Store { lie, from, addr: self.addr(indexed)? }
            }
            Form::FromCore { bits, signed } => {
                let to = self.vector()?;
                self.cursor.comma()?;
                Vsx::FromCore { bits, signed, to, a: self.reg()? }
            }
            Form::FromPair => {
                let to = self.vector()?;
                self.cursor.comma()?;
                let none = self.cursor.peek() == Tok::Num(0);
                let a = self.reg()?;
                self.cursor.comma()?;
                Vsx::FromPair { to, a: (!none && a != R(0)).then_some(a), b: self.reg()? }
            }
            Form::ToCore { doubleword, bits } => {
                let to = self.reg()?;
                self.cursor.comma()?;
                Vsx::ToCore { doubleword, bits, to, from: self.vector()? }
            }
            Form::Permute => {
                let [to, a, b] = self.vectors()?;
                self.cursor.comma()?;
                let how = self.cursor.int_in("the doublewords", 0, 3)? as u8;
                Vsx::Permute { to, a, b, how }
            }
            Form::Logic(op) => {
                let [to, a, b] = self.vectors()?;
                Vsx::Logic { op, to, a, b }
            }
            Form::Fill => {
                let to = self.vector()?;
                self.cursor.comma()?;
                Vsx::Fill { to, byte: self.cursor.int_in("the byte", 0, 255)? as u8 }
            }
        };
        Ok(Some(Insn::Vsx(vsx)))
    }

    fn vector(&mut self) -> Result<V> {
        self.cursor.one("a register such as `vs0`, `v0` or `f0`", |tok| match tok {
            Tok::Word(word) => register(word),
            _ => None,
        })
    }

    fn vectors(&mut self) -> Result<[V; 3]> {
        let first = self.vector()?;
        self.cursor.comma()?;
        let second = self.vector()?;
        self.cursor.comma()?;
        Ok([first, second, self.vector()?])
    }
}

impl Lower<'_> {
    pub fn vsx(&mut self, vsx: &Vsx) -> Result<()> {
        match vsx {
            Vsx::Load { lie, to, addr } => {
                let ea = self.place(*lie, addr)?;
                let mut all = None;
                for (at, size, low) in parts(*lie) {
                    let here = self.e.add_int(ea, at, 64);
                    let part = self.e.load(here, size, Tags::NONE);
                    let part = self.e.shift(BinOp::Shl, part, low, 128);
                    all = Some(match all {
                        Some(all) => self.e.bin(BinOp::Or, all, part, 128),
                        None => part,
                    });
                }
                if let Some(all) = all {
                    self.set_vector(*to, all);
                }
            }
            Vsx::Store { lie, from, addr } => {
                let reg = self.vector_register(*from);
                let v = self.e.read(reg, Port::Data);
                let ea = self.place(*lie, addr)?;
                for (at, size, low) in parts(*lie) {
                    let here = self.e.add_int(ea, at, 64);
                    let part = self.e.shift(BinOp::Shr, v, low, 128);
                    let part = self.e.zero_extend(part, 8 * size, 128);
                    self.e.store(here, part, size, Tags::NONE);
                }
            }
            Vsx::FromCore { bits, signed, to, a } => {
                let a = self.read(*a);
                let v = match (*bits, *signed) {
                    (64, _) => a,
                    (bits, true) => self.e.sign_extend(a, bits, 64),
                    (bits, false) => self.e.zero_extend(a, bits, 64),
                };
                let v = self.e.shift(BinOp::Shl, v, 64, 128);
                self.set_vector(*to, v);
            }
            Vsx::FromPair { to, a, b } => {
                let high = match a {
                    Some(a) => self.read(*a),
                    None => self.e.int(0),
                };
                let low = self.read(*b);
                let v = self.joined(high, low);
                self.set_vector(*to, v);
            }
            Vsx::ToCore { doubleword, bits, to, from } => {
                let v = self.doubleword(*from, *doubleword);
                let v = self.e.zero_extend(v, *bits, 64);
                self.write(*to, v);
            }
            Vsx::Permute { to, a, b, how } => {
                let high = self.doubleword(*a, how >> 1);
                let low = self.doubleword(*b, how & 1);
                let v = self.joined(high, low);
                self.set_vector(*to, v);
            }
            // How compilers make a zero of whatever the register holds.
            Vsx::Logic { op: BinOp::Xor, to, a, b } if a == b => {
                let zero = self.e.int(0);
                self.set_vector(*to, zero);
            }
            Vsx::Logic { op, to, a, b } => {
                let [a, b] = [a, b].map(|v| {
                    let reg = self.vector_register(*v);
                    self.e.read(reg, Port::None)
                });
                let v = self.e.bin(*op, a, b, 128);
                self.set_vector(*to, v);
            }
            Vsx::Fill { to, byte } => {
                let v = self.e.int(u128::from_le_bytes([*byte; 16]));
                self.set_vector(*to, v);
            }
        }
        Ok(())
    }

    fn vector_register(&mut self, v: V) -> Reg {
        self.code.reg(&v.name(), 128, false)
    }

    fn set_vector(&mut self, v: V, value: Temp) {
        let reg = self.vector_register(v);
        self.e.write(reg, value);
    }

    fn doubleword(&mut self, v: V, n: u8) -> Temp {
        let reg = self.vector_register(v);
        let all = self.e.read(reg, Port::None);
        let part = self.e.shift(BinOp::Shr, all, if n == 0 { 64 } else { 0 }, 128);
        self.e.zero_extend(part, 64, 128)
    }

    fn joined(&mut self, high: Temp, low: Temp) -> Temp {
        let high = self.e.shift(BinOp::Shl, high, 64, 128);
        self.e.bin(BinOp::Or, high, low, 128)
    }

    fn place(&mut self, lie: Lie, addr: &Addr) -> Result<Temp> {
        let ea = self.address(addr, false)?;
        Ok(match lie {
            Lie::Aligned => self.e.bin_int(BinOp::And, ea, u128::from(!15u64), 64),
            _ => ea,
        })
    }
}

/// Accesses: bytes from the address, size, lowest bit in the register.
fn parts(lie: Lie) -> impl Iterator<Item = (i64, u8, u8)> {
    let list: &[(i64, u8, u8)] = match lie {
        Lie::One => &[(0, 8, 64)],
        Lie::Whole | Lie::Aligned => &[(0, 8, 0), (8, 8, 64)],
        Lie::Doublewords => &[(0, 8, 64), (8, 8, 0)],
        Lie::Words => &[(0, 4, 96), (4, 4, 64), (8, 4, 32), (12, 4, 0)],
    };
    list.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn registers_have_several_names() {
        let named = |word| register(word).map(|v| (v.number, v.half));
        assert_eq!(named("vs63"), Some((63, false)));
        assert_eq!(named("v1"), Some((33, false)));
        assert_eq!(named("f31"), Some((31, true)));
        for none in ["vs64", "v32", "f00", "vs", "r1"] {
            assert_eq!(named(none), None, "{none}");
        }
    }
}
