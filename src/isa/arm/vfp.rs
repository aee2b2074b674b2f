//! Registers of VFP and NEON, as far as code copies memory with them: loads, stores and moves.
//! There is no arithmetic on them.
//!
//! Words of a register are accessed one by one unless the machine has the Large Physical Address
//! Extension, where 64 bits are one access. `VLD1` and `VST1` access an element at a time.

use super::insn::{Cond, Index, Kind, Mem, Offset, SP};
use super::lower::Lower;
use super::parse::Parser;
use crate::lex::{R, Tok};
use litmake_base::diag::Result;
use litmake_ops::{BinOp, Port, Reg, Tags, Temp};

/// A register of 64 bits, or half of one of the first sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V {
    D(u8),
    S(u8),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Vfp {
    Load {
        to: V,
        mem: Mem,
    },
    Store {
        from: V,
        mem: Mem,
    },
    /// Registers from the base upwards, or below it (`down`), in words of `size` bytes.
    LoadBlock {
        regs: Vec<u8>,
        base: R,
        down: bool,
        writeback: bool,
        size: u8,
    },
    StoreBlock {
        regs: Vec<u8>,
        base: R,
        down: bool,
        writeback: bool,
        size: u8,
    },
    FromCore {
        to: V,
        low: R,
        high: Option<R>,
    },
    ToCore {
        low: R,
        high: Option<R>,
        from: V,
    },
    Move {
        to: V,
        from: V,
    },
    /// Puts a constant into every word of some registers.
    Fill {
        regs: Vec<u8>,
        word: u32,
    },
}

/// Mnemonics without condition and type.
pub const NAMES: [&str; 9] =
    ["vld1", "vldmia", "vldr", "vmov", "vpop", "vpush", "vst1", "vstmia", "vstr"];

/// A mnemonic taken apart: name, condition, and bytes of an element where it has a type.
pub fn split(mnemonic: &str) -> Option<(&'static str, Cond, Option<u8>)> {
    let (head, ty) = match mnemonic.split_once('.') {
        Some((head, ty)) => (head, Some(ty)),
        None => (mnemonic, None),
    };
    let name = NAMES.into_iter().find(|n| head.starts_with(n))?;
    let cond = match &head[name.len()..] {
        "" => Cond::Al,
        cond => Cond::named(cond)?,
    };
    let size = match ty.map(|t| t.trim_start_matches(['i', 'f', 'u', 's'])) {
        None => None,
        Some("8") => Some(1),
        Some("16") => Some(2),
        Some("32") => Some(4),
        Some("64") => Some(8),
        Some(_) => return None,
    };
    Some((name, cond, size))
}

/// The register that a word names.
pub fn register(word: &str) -> Option<V> {
    let lower = word.to_ascii_lowercase();
    let number = |digits: &str| match digits.len() {
        2 if digits.starts_with('0') => None,
        1 | 2 => digits.parse::<u8>().ok().filter(|n| *n < 32),
        _ => None,
    };
    match (lower.strip_prefix('d'), lower.strip_prefix('s')) {
        (Some(digits), _) => number(digits).map(V::D),
        (_, Some(digits)) => number(digits).map(V::S),
        _ => None,
    }
}

impl V {
    /// The register of 64 bits that it is or is part of.
    pub fn name(self) -> String {
        match self {
            V::D(n) => format!("D{n}"),
            V::S(n) => format!("D{}", n / 2),
        }
    }

    pub fn bits(self) -> u8 {
        match self {
            V::D(_) => 64,
            V::S(_) => 32,
        }
    }
}

impl Parser<'_, '_> {
    pub fn vfp(&mut self, name: &str, size: Option<u8>) -> Result<Kind> {
        Ok(Kind::Vfp(match name {
            "vldr" | "vstr" => {
                let reg = self.vector()?;
                self.cursor.comma()?;
                let mem = self.mem()?;
                if mem.index != Index::Offset || !matches!(mem.offset, Offset::Imm(_)) {
                    return Err(self
                        .cursor
                        .fail_line("this instruction has an address such as `[R0,#8]`"));
                }
                match name {
                    "vldr" => Vfp::Load { to: reg, mem },
                    _ => Vfp::Store { from: reg, mem },
                }
            }
            "vpop" | "vpush" => {
                let regs = self.vector_list()?;
                let (base, writeback, size) = (SP, true, 4);
                match name {
                    "vpop" => Vfp::LoadBlock { regs, base, down: false, writeback, size },
                    _ => Vfp::StoreBlock { regs, base, down: true, writeback, size },
                }
            }
            "vldmia" | "vstmia" => {
                let base = self.reg()?;
                let writeback = self.cursor.eat('!');
                self.cursor.comma()?;
                let (regs, size) = (self.vector_list()?, 4);
                match name {
                    "vldmia" => Vfp::LoadBlock { regs, base, down: false, writeback, size },
                    _ => Vfp::StoreBlock { regs, base, down: false, writeback, size },
                }
            }
            "vld1" | "vst1" => {
                let size =
                    size.ok_or_else(|| self.cursor.fail_line("the size of an element is missing"))?;
                let regs = self.vector_list()?;
                self.cursor.comma()?;
                let (base, writeback) = self.element_base()?;
                match name {
                    "vld1" => Vfp::LoadBlock { regs, base, down: false, writeback, size },
                    _ => Vfp::StoreBlock { regs, base, down: false, writeback, size },
                }
            }
            _ => self.vector_move(size)?,
        }))
    }

    fn peek_vector(&self) -> Option<V> {
        match self.cursor.peek() {
            Tok::Word(word) => register(word),
            _ => None,
        }
    }

    fn vector(&mut self) -> Result<V> {
        match self.peek_vector() {
            Some(v) => {
                self.cursor.take();
                Ok(v)
            }
            None => Err(self.cursor.expected("a register such as `D0` or `S0`")),
        }
    }

    /// `D16`, or the two registers that `Q8` is.
    fn whole(&self) -> Option<Vec<u8>> {
        let Tok::Word(word) = self.cursor.peek() else {
            return None;
        };
        match word.to_ascii_lowercase().strip_prefix('q') {
            Some(digits) => {
                let n = digits.parse::<u8>().ok().filter(|n| *n < 16)?;
                Some(vec![2 * n, 2 * n + 1])
            }
            None => match register(word)? {
                V::D(n) => Some(vec![n]),
                V::S(_) => None,
            },
        }
    }

    fn vector_move(&mut self, size: Option<u8>) -> Result<Vfp> {
        let start = self.cursor.clone();
        if let Some(regs) = self.whole() {
            self.cursor.take();
            self.cursor.comma()?;
            if self.cursor.is_int() {
                let n = self.cursor.int_in("the constant", 0, u32::MAX.into())? as u32;
                let word = match (size, n) {
                    (Some(4), n) => n,
                    (Some(1), ..=0xff) => n * 0x0101_0101,
                    _ => {
                        return Err(start.fail("constants are of bytes or words: `VMOV.I32 D0,#1`"));
                    }
                };
                return Ok(Vfp::Fill { regs, word });
            }
            self.cursor = start.clone();
        }
        if let Some(to) = self.peek_vector() {
            self.cursor.take();
            self.cursor.comma()?;
            if let Some(from) = self.peek_vector() {
                self.cursor.take();
                return match to.bits() == from.bits() {
                    true => Ok(Vfp::Move { to, from }),
                    false => Err(start.fail("these registers have different sizes")),
                };
            }
            let low = self.reg()?;
            let high = match to {
                V::D(_) => {
                    self.cursor.comma()?;
                    Some(self.reg()?)
                }
                V::S(_) => None,
            };
            return Ok(Vfp::FromCore { to, low, high });
        }
        let low = self.reg()?;
        self.cursor.comma()?;
        if let Some(from @ V::S(_)) = self.peek_vector() {
            self.cursor.take();
            return Ok(Vfp::ToCore { low, high: None, from });
        }
        let high = self.reg()?;
        self.cursor.comma()?;
        match self.vector()? {
            from @ V::D(_) => Ok(Vfp::ToCore { low, high: Some(high), from }),
            V::S(_) => Err(start.fail("expected a D register: two core registers hold 64 bits")),
        }
    }

    /// `{d0, d1-d3}`: numbers that follow each other.
    fn vector_list(&mut self) -> Result<Vec<u8>> {
        self.cursor.expect('{')?;
        let mut regs: Vec<u8> = Vec::new();
        loop {
            let at = self.cursor.clone();
            let number = |v: V| match v {
                V::D(n) => Ok(n),
                V::S(_) => Err(at.fail("lists are of registers of 64 bits")),
            };
            let first = number(self.vector()?)?;
            let last = match self.cursor.eat('-') {
                true => number(self.vector()?)?,
                false => first,
            };
            let follows = regs.last().is_none_or(|n| n + 1 == first) && first <= last;
            if !follows || regs.len() + usize::from(last - first) >= 32 {
                return Err(at.fail("the registers of a list follow each other"));
            }
            regs.extend(first..=last);
            if self.cursor.eat('}') {
                return Ok(regs);
            }
            self.cursor.comma()?;
        }
    }

    /// `[r0]`, `[r0:64]`, `[r0]!`.
    fn element_base(&mut self) -> Result<(R, bool)> {
        self.cursor.expect('[')?;
        let base = self.reg()?;
        if self.cursor.eat(':') {
            self.cursor.int_in("the alignment", 16, 256)?;
        }
        self.cursor.expect(']')?;
        Ok((base, self.cursor.eat('!')))
    }
}

impl Lower<'_> {
    pub fn vfp(&mut self, vfp: &Vfp) {
        match vfp {
            Vfp::Load { to, mem } => {
                let addr = self.address(mem);
                let v = self.load_words(addr, to.bits() / 8, 4);
                self.set_vector(*to, v);
            }
            Vfp::Store { from, mem } => {
                let v = self.vector(*from, Port::Data);
                let addr = self.address(mem);
                self.store_words(addr, v, from.bits() / 8, 4);
            }
            Vfp::LoadBlock { regs, base, down, writeback, size } => {
                let first = self.elements(*base, regs.len(), *down, *writeback);
                for (i, n) in regs.iter().enumerate() {
                    let addr = self.e.add_int(first, 8 * i as i64, 32);
                    let v = self.load_words(addr, 8, *size);
                    self.set_vector(V::D(*n), v);
                }
            }
            Vfp::StoreBlock { regs, base, down, writeback, size } => {
                let values: Vec<Temp> =
                    regs.iter().map(|n| self.vector(V::D(*n), Port::Data)).collect();
                let first = self.elements(*base, regs.len(), *down, *writeback);
                for (i, v) in values.into_iter().enumerate() {
                    let addr = self.e.add_int(first, 8 * i as i64, 32);
                    self.store_words(addr, v, 8, *size);
                }
            }
            Vfp::FromCore { to, low, high } => {
                let v = match high {
                    Some(high) => self.read_pair(*low, *high, Port::None),
                    None => self.read_port(*low, Port::None),
                };
                self.set_vector(*to, v);
            }
            Vfp::ToCore { low, high, from } => {
                let v = self.vector(*from, Port::None);
                match high {
                    Some(high) => self.write_pair(*low, *high, v),
                    None => self.write(*low, v),
                }
            }
            Vfp::Fill { regs, word } => {
                for n in regs {
                    let v = self.e.int(u128::from(*word) << 32 | u128::from(*word));
                    self.set_vector(V::D(*n), v);
                }
            }
            Vfp::Move { to, from } => {
                let v = self.vector(*from, Port::None);
                self.set_vector(*to, v);
            }
        }
    }

    fn vector_register(&mut self, v: V) -> Reg {
        self.code.reg(&v.name(), 64, false)
    }

    fn vector(&mut self, v: V, port: Port) -> Temp {
        let reg = self.vector_register(v);
        let whole = self.e.read(reg, port);
        match v {
            V::D(_) => whole,
            V::S(n) => {
                let part = self.e.shift(BinOp::Shr, whole, 32 * (n % 2), 64);
                self.e.zero_extend(part, 32, 64)
            }
        }
    }

    fn set_vector(&mut self, v: V, value: Temp) {
        let reg = self.vector_register(v);
        let whole = match v {
            V::D(_) => value,
            V::S(n) => {
                let old = self.e.read(reg, Port::None);
                let kept = self.e.bin_int(BinOp::And, old, 0xffff_ffff << (32 * (1 - n % 2)), 64);
                let new = self.e.shift(BinOp::Shl, value, 32 * (n % 2), 64);
                self.e.bin(BinOp::Or, kept, new, 64)
            }
        };
        self.e.write(reg, whole);
    }

    /// Bytes of one access, where a register is accessed in elements of `size`.
    fn step(&self, bytes: u8, size: u8) -> u8 {
        match (self.lpae, size) {
            // Words of a register are one access there.
            (true, 4 | 8) => bytes,
            _ => size.min(4).min(bytes),
        }
    }

    fn load_words(&mut self, addr: Temp, bytes: u8, size: u8) -> Temp {
        let step = self.step(bytes, size);
        let mut all = self.e.load(addr, step, Tags::NONE);
        for at in (step..bytes).step_by(step.into()) {
            let here = self.e.add_int(addr, at.into(), 32);
            let part = self.e.load(here, step, Tags::NONE);
            let part = self.e.shift(BinOp::Shl, part, 8 * at, 64);
            all = self.e.bin(BinOp::Or, all, part, 64);
        }
        all
    }

    fn store_words(&mut self, addr: Temp, v: Temp, bytes: u8, size: u8) {
        let step = self.step(bytes, size);
        for at in (0..bytes).step_by(step.into()) {
            let here = self.e.add_int(addr, at.into(), 32);
            let part = self.e.shift(BinOp::Shr, v, 8 * at, 64);
            let part = self.e.zero_extend(part, 8 * step, 64);
            self.e.store(here, part, step, Tags::NONE);
        }
    }

    /// Where a block of registers begins; the base takes its other end.
    fn elements(&mut self, base: R, count: usize, down: bool, writeback: bool) -> Temp {
        let old = self.read_port(base, Port::Addr);
        let bytes = 8 * count as i64;
        let other = self.e.add_int(old, if down { -bytes } else { bytes }, 32);
        if writeback {
            self.write(base, other);
        }
        if down { other } else { old }
    }
}
