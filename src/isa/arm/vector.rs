//! Instructions on registers of VFP and NEON, as far as code copies memory with them: loads, stores and moves.
//! There is no arithmetic on them.
//!
//! Words of a register are accessed one by one unless the machine has the Large Physical Address
//! Extension, where 64 bits are one access. `VLD1` and `VST1` access an element at a time.

use super::arg::{Arg, Arg::*, reg, vector_name};
use super::insn::{Fields, PC, SP, V};
use super::lower::{Lower, W};
use super::read::Parser;
use super::row::{Row, Word, rows};
use crate::lex::{R, Tok};
use crate::machine::Operand;
use litmake_base::diag::Result;
use litmake_ops::{BinOp, Port, Reg, Tags, Temp};

const T: Arg = Arg::R(b't');
const U: Arg = Arg::R(b'u');

pub const ROWS: &[Row] = rows! {
    "vldr" [V(b'f'), Near] {
        A32 "cccc 1101 +f01 1111 ffff 101z kkkkkkkk"
        T32 "1110 1101 +f01 1111 ffff 101z kkkkkkkk"
        Both "cccc 1101 +f01 nnnn ffff 101z kkkkkkkk"
    } => |l, f| {
        let addr = l.address(&f.mem);
        let v = l.load_words(addr, f.f.bits() / 8, 4);
        l.set_vector(f.f, v);
    };
    "vstr" [V(b'f'), Near] {
        Both "cccc 1101 +f00 nnnn ffff 101z kkkkkkkk"
    } => |l, f| {
        let v = l.vector(f.f, Port::Data);
        let addr = l.address(&f.mem);
        l.store_words(addr, v, f.f.bits() / 8, 4);
    };
    "vpop" [Vectors] {
        Both "cccc 1100 1f11 1101 ffff 1011 iiiiiiii"
    } => |l, f| l.load_vectors(&Lower::on_stack(f), 4);
    "vpush" [Vectors] {
        Both "cccc 1101 0f10 1101 ffff 1011 iiiiiiii"
    } => |l, f| l.store_vectors(&Lower::on_stack(f), true, 4);
    "vldmia" [Base, Vectors] {
        Both "cccc 1100 1f!1 nnnn ffff 1011 iiiiiiii"
    } => |l, f| l.load_vectors(f, 4);
    "vstmia" [Base, Vectors] {
        Both "cccc 1100 1f!0 nnnn ffff 1011 iiiiiiii"
    } => |l, f| l.store_vectors(f, false, 4);
    "vld1." [Vectors, Element] {
        A32 "1111 0100 0f10 nnnn ffff yyyy zzaa mmmm"
        T32 "1111 1001 0f10 nnnn ffff yyyy zzaa mmmm"
    } => |l, f| l.load_vectors(f, f.size.unwrap_or(4));
    "vst1." [Vectors, Element] {
        A32 "1111 0100 0f00 nnnn ffff yyyy zzaa mmmm"
        T32 "1111 1001 0f00 nnnn ffff yyyy zzaa mmmm"
    } => |l, f| l.store_vectors(f, false, f.size.unwrap_or(4));

    "vmov.i" [Filled] {
        A32 "1111 001 i 1f00 0iii ffff yyyy 0q01 iiii"
        T32 "111 i 1111 1f00 0iii ffff yyyy 0q01 iiii"
    } => |l, f| {
        let word = f.imm * if f.size == Some(1) { 0x0101_0101 } else { 1 };
        for n in &f.list {
            let v = l.e.int(u128::from(word) << 32 | u128::from(word));
            l.set_vector(V::D(n.0 as u8), v);
        }
    };
    "vmov.f" [V(b'f'), V(b'g')] {
        Both "cccc 1110 1f11 0000 ffff 101z 01g0 gggg"
    } => |l, f| {
        let v = l.vector(f.g, Port::None);
        l.set_vector(f.f, v);
    };
    "vmov" [D(b'g'), T, U] {
        Both "cccc 1100 0100 uuuu tttt 1011 00g1 gggg"
    } => |l, f| {
        let v = l.read_pair(f.t, f.u, Port::None);
        l.set_vector(f.g, v);
    };
    "vmov" [T, U, D(b'g')] {
        Both "cccc 1100 0101 uuuu tttt 1011 00g1 gggg"
    } => |l, f| {
        let v = l.vector(f.g, Port::None);
        l.write_pair(f.t, f.u, v);
    };
    "vmov" [S(b'g'), T] {
        Both "cccc 1110 0000 bbbb tttt 1010 b001 0000"
    } => |l, f| {
        let v = l.read(f.t);
        l.set_vector(f.g, v);
    };
    "vmov" [T, S(b'g')] {
        Both "cccc 1110 0001 bbbb tttt 1010 b001 0000"
    } => |l, f| {
        let v = l.vector(f.g, Port::None);
        l.write(f.t, v);
    };
};

/// Takes an operand from machine code. `None`: the fields have values that they cannot have.
pub fn take(arg: Arg, w: &Word, f: &mut Fields) -> Option<()> {
    let first = w.get(b'f').unwrap_or(0) as u16;
    match arg {
        V(letter) => {
            let n = w.get(letter)? as u8;
            // The lowest bit of the number of a half stands before the others.
            let double = w.get(b'z')? != 0;
            *f.vector(letter) = if double { V::D(n) } else { V::S((n & 15) << 1 | n >> 4) };
            if letter == b'g' {
                f.size = Some(if double { 8 } else { 4 });
            }
        }
        D(letter) => *f.vector(letter) = V::D(w.get(letter)? as u8),
        S(letter) => *f.vector(letter) = V::S(w.get(b'b')? as u8),
        Vectors => {
            let count = match w.get(b'y') {
                None => w.get(b'i').filter(|n| n % 2 == 0)? as u16 / 2,
                Some(7) => 1,
                Some(10) => 2,
                Some(6) => 3,
                Some(2) => 4,
                Some(_) => return None,
            };
            f.list = (first..first + count).map(R).collect();
            (count > 0 && first + count <= 32).then_some(())?;
        }
        Element => {
            f.n = R(w.get(b'n')? as u16);
            f.m = R(w.get(b'm')? as u16);
            f.size = Some(1 << w.get(b'z')?);
            f.imm = w.get(b'a')?;
            f.writeback = f.m != PC;
            let fits = f.imm < 2 || f.list.len() == 4 || (f.imm == 2 && f.list.len() == 2);
            fits.then_some(())?;
        }
        // `Filled`: words with one byte that is not 0, and bytes.
        _ => {
            let byte = w.get(b'i')?;
            (f.size, f.imm) = match w.get(b'y')? {
                mode @ (0 | 2 | 4 | 6) => (Some(4), byte << (4 * mode)),
                14 => (Some(1), byte),
                _ => return None,
            };
            let pair = w.is(b'q');
            (!pair || first.is_multiple_of(2)).then_some(())?;
            f.list = (first..=first + u16::from(pair)).map(R).collect();
        }
    }
    Some(())
}

/// Adds what is printed of an operand.
pub fn show(arg: Arg, f: &Fields, out: &mut Vec<Operand>) {
    match arg {
        Vectors => {
            let names: Vec<String> = f.list.iter().map(|n| vector_name(V::D(n.0 as u8))).collect();
            out.push(Operand::Text(format!("{{{}}}", names.join(","))));
        }
        Element => {
            let align = ["", ":64", ":128", ":256"][f.imm as usize % 4];
            let back = if f.m == SP { "!" } else { "" };
            let Operand::Reg(base) = reg(f.n) else {
                return;
            };
            out.push(Operand::Text(format!("[{base}{align}]{back}")));
            if f.m != SP && f.m != PC {
                out.push(reg(f.m));
            }
        }
        _ => {
            let name = match f.list[..] {
                [first, _] => format!("Q{}", first.0 / 2),
                _ => format!("D{}", f.list.first().map_or(0, |n| n.0)),
            };
            out.extend([Operand::Reg(name), Operand::Imm(f.imm.into())]);
        }
    }
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

impl Parser<'_, '_> {
    pub fn vector_operand(&mut self, arg: Arg, f: &mut Fields) -> Result<()> {
        match arg {
            V(b'g') => {
                let start = self.cursor.clone();
                f.g = self.vector()?;
                if f.f.bits() != f.g.bits() {
                    return Err(start.fail("these registers have different sizes"));
                }
            }
            V(letter) => *f.vector(letter) = self.vector()?,
            D(letter) | S(letter) => {
                let start = self.cursor.clone();
                let v = self.vector()?;
                let (bits, example) = if arg == D(letter) { (64, "D0") } else { (32, "S0") };
                if v.bits() != bits {
                    return Err(
                        start.expected(&format!("a register of {bits} bits, such as `{example}`"))
                    );
                }
                *f.vector(letter) = v;
            }
            Vectors => f.list = self.vector_list()?,
            Element => self.element(f)?,
            _ => self.filled(f)?,
        }
        Ok(())
    }

    fn vector(&mut self) -> Result<V> {
        let v = match self.cursor.peek() {
            Tok::Word(word) => register(word),
            _ => None,
        };
        let v = v.ok_or_else(|| self.cursor.expected("a register such as `D0` or `S0`"))?;
        self.cursor.take();
        Ok(v)
    }

    /// `D16,#1`, or `Q8,#1` for the two registers that Q8 is.
    fn filled(&mut self, f: &mut Fields) -> Result<()> {
        let start = self.cursor.clone();
        let whole = match self.cursor.peek() {
            Tok::Word(word) => match word.to_ascii_lowercase().strip_prefix('q') {
                Some(digits) => {
                    let n = digits.parse::<u16>().ok().filter(|n| *n < 16);
                    n.map(|n| vec![R(2 * n), R(2 * n + 1)])
                }
                None => match register(word) {
                    Some(V::D(n)) => Some(vec![R(n.into())]),
                    _ => None,
                },
            },
            _ => None,
        };
        f.list = whole.ok_or_else(|| start.expected("a register such as `D0` or `Q0`"))?;
        self.cursor.take();
        self.cursor.comma()?;
        f.imm = self.cursor.int_in("the constant", 0, u32::MAX.into())? as u32;
        match (f.size, f.imm) {
            (Some(4), _) | (Some(1), ..=0xff) => Ok(()),
            _ => Err(start.fail("constants are of bytes or words: `VMOV.I32 D0,#1`")),
        }
    }

    /// `{d0, d1-d3}`: numbers that follow each other.
    fn vector_list(&mut self) -> Result<Vec<R>> {
        self.cursor.expect('{')?;
        let mut regs: Vec<R> = Vec::new();
        loop {
            let at = self.cursor.clone();
            let number = |v: V| match v {
                V::D(n) => Ok(u16::from(n)),
                V::S(_) => Err(at.fail("lists are of registers of 64 bits")),
            };
            let first = number(self.vector()?)?;
            let last = if self.cursor.eat('-') { number(self.vector()?)? } else { first };
            let follows = regs.last().is_none_or(|n| n.0 + 1 == first) && first <= last;
            if !follows || regs.len() + usize::from(last - first) >= 32 {
                return Err(at.fail("the registers of a list follow each other"));
            }
            regs.extend((first..=last).map(R));
            if self.cursor.eat('}') {
                return Ok(regs);
            }
            self.cursor.comma()?;
        }
    }

    /// `[r0]`, `[r0:64]`, `[r0]!`.
    fn element(&mut self, f: &mut Fields) -> Result<()> {
        if f.size.is_none() {
            return Err(self.cursor.fail_line("the size of an element is missing"));
        }
        self.cursor.expect('[')?;
        f.n = self.reg()?;
        if self.cursor.eat(':') {
            // 64, 128 and 256 bits are 1, 2 and 3.
            f.imm =
                (self.cursor.int_in("the alignment", 16, 256)? as u32).ilog2().saturating_sub(5);
        }
        self.cursor.expect(']')?;
        f.writeback = self.cursor.eat('!');
        f.m = if f.writeback { SP } else { PC };
        Ok(())
    }
}

impl Lower<'_> {
    /// Loads registers from the base upwards, in accesses of `size` bytes.
    fn load_vectors(&mut self, f: &Fields, size: u8) {
        for (addr, n) in self.block(f, 8, false, false).into_iter().zip(&f.list) {
            let v = self.load_words(addr, 8, size);
            self.set_vector(V::D(n.0 as u8), v);
        }
    }

    /// Stores registers from the base upwards, or below it.
    fn store_vectors(&mut self, f: &Fields, down: bool, size: u8) {
        let values: Vec<Temp> =
            f.list.iter().map(|n| self.vector(V::D(n.0 as u8), Port::Data)).collect();
        for (addr, v) in self.block(f, 8, down, down).into_iter().zip(values) {
            self.store_words(addr, v, 8, size);
        }
    }

    /// The register of 64 bits that one is or is part of.
    fn vector_register(&mut self, v: V) -> Reg {
        self.code.reg(&whole_name(v), 64, false)
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
            let here = self.e.add_int(addr, at.into(), W);
            let part = self.e.load(here, step, Tags::NONE);
            let part = self.e.shift(BinOp::Shl, part, 8 * at, 64);
            all = self.e.bin(BinOp::Or, all, part, 64);
        }
        all
    }

    fn store_words(&mut self, addr: Temp, v: Temp, bytes: u8, size: u8) {
        let step = self.step(bytes, size);
        for at in (0..bytes).step_by(step.into()) {
            let here = self.e.add_int(addr, at.into(), W);
            let part = self.e.shift(BinOp::Shr, v, 8 * at, 64);
            let part = self.e.zero_extend(part, 8 * step, 64);
            self.e.store(here, part, step, Tags::NONE);
        }
    }
}

/// The name of the register of 64 bits that one is or is part of.
pub fn whole_name(v: V) -> String {
    match v {
        V::D(n) => format!("D{n}"),
        V::S(n) => format!("D{}", n / 2),
    }
}
