//! The kinds of operands of rows: which fields of machine code each takes, and how it is printed.
//!
//! The letters of fields, as patterns have them: `c` condition, `S` flags, `d n m a s t u` registers, `f g`
//! vector registers (`b`: one of 32 bits with its number in order), `z` whether they have 64 bits; `i j k` numbers
//! in bytes, halves and words; `C` and `K` the constants of A32 and T32, `w` one of 16 bits; `q h` kind and amount of
//! a shift; `r` a rotation; `l` the lowest bit of a part, with `v` its width, `z` its width less one, or `e` its
//! last bit; `p + !` whether an offset counts before the access, is added, and updates the base; `L M P` the
//! registers of a list, with LR and with PC; `o` the distance of a branch; `x y` parts of the name.
//!
//! Text is read in `read`. What instructions do is not known here.

use super::insn::{Amount, Fields, LR, Mem, Offset, PC, Place, SP, Shift, V, name_of};
use super::row::{Set, Word};
use super::{insn, vector};
use crate::lex::R;
use crate::machine::{self, Operand, Update};
use litmake_ops::{Tags, tag};

#[derive(Clone, Copy, PartialEq)]
pub enum Arg {
    /// A register by its letter. Machine code without it means the result, and `u` the register after `t`.
    R(u8),
    /// The same, where PC may be written.
    ToPc(u8),
    /// Result, operand (which may be left out where it is the result), and flexible operand.
    Three,
    /// Two operands, of which the first may be left out where it is the result.
    Two,
    /// The flexible operand.
    Second,
    /// An operand and the amount of the shift that the mnemonic says.
    Shifted,
    /// A number, which may be left out.
    Num,
    /// A constant of 16 bits, or this half of an address.
    Half(&'static str),
    /// A place that the code names, for its address.
    Address,
    Rotate,
    /// The lowest bit and the width of a part of a register.
    Part,
    /// The bits of a number: 1 to 32 if it is signed, which is the first alternative of the name, else 0 to 31.
    Bits,
    /// The address of a load: memory, a place that the code names, or `=` and a value.
    From,
    Mem,
    /// A register and a constant.
    Near,
    /// `[Rn]`.
    Plain,
    /// `[Rn]`, or in Thumb code with an offset.
    Exclusive,
    /// The address of a prefetch, which the reader passes over.
    Prefetched,
    /// Two registers; the second may be left out where it is the next one.
    Pair,
    /// The base of a list, with `!` or not.
    Base,
    List {
        load: bool,
    },
    Domain,
    Isb,
    /// A line or a register.
    Where,
    Line,
    /// The conditions of an IT block.
    Conds,
    /// A word in the code that is no instruction.
    Literal,
    /// Anything, which does not matter.
    Rest,
    /// The operands of MCR.
    Coprocessor,
    /// A word that stands as it is.
    Text(&'static str),
    /// A vector register by its letter: of any size, of 64 bits, of 32.
    V(u8),
    D(u8),
    S(u8),
    /// Vector registers that follow each other.
    Vectors,
    /// The address of VLD1 and VST1.
    Element,
    /// A vector register of 64 or 128 bits, and a constant for all its elements.
    Filled,
}

/// The domains of barriers: the number in machine code, and what DMB and DSB are with them. The first is meant where
/// none is written.
pub const DOMAINS: [(&str, u32, Tags, Tags); 13] = [
    ("SY", 15, tag::DMB, tag::DSB),
    ("ST", 14, tag::ARM_DMB_ST, tag::ARM_DSB_ST),
    ("LD", 13, tag::ARM_DMB_LD, tag::DSB_LD),
    ("ISH", 11, tag::ARM_DMB_ISH, tag::ARM_DSB_ISH),
    ("ISHST", 10, tag::ARM_DMB_ISHST, tag::ARM_DSB_ISHST),
    ("ISHLD", 9, tag::ARM_DMB_ISHLD, tag::DSB_ISHLD),
    ("OSH", 3, tag::DMB_OSH, tag::DSB_OSH),
    ("OSHST", 2, tag::DMB_OSHST, tag::DSB_OSHST),
    ("OSHLD", 1, tag::DMB_OSHLD, tag::DSB_OSHLD),
    ("NSH", 7, tag::DMB_NSH, tag::DSB_NSH),
    ("UN", 7, tag::DMB_NSH, tag::DSB_NSH),
    ("NSHST", 6, tag::DMB_NSHST, tag::DSB_NSHST),
    ("NSHLD", 5, tag::DMB_NSHLD, tag::DSB_NSHLD),
];

/// The lowest `width` bits as a signed number.
fn signed(n: u32, width: u8) -> i64 {
    let spare = 32 - width;
    i64::from((n << spare) as i32 >> spare)
}

impl Word {
    fn reg(&self, letter: u8, f: &Fields) -> Option<R> {
        match (self.get(letter), letter) {
            (Some(n), _) => Some(R(n as u16)),
            // Both sets write such pairs from an even register on.
            (None, b'u') => (f.t.0.is_multiple_of(2) && f.t.0 < 14).then(|| R(f.t.0 + 1)),
            (None, _) => Some(f.d),
        }
    }

    fn base(&self) -> R {
        self.get(b'n').map_or(PC, |n| R(n as u16))
    }

    /// A number in bytes, halves or words.
    fn number(&self) -> Option<u32> {
        let scaled = |letter, scale| self.get(letter).map(|n| n * scale);
        scaled(b'i', 1).or_else(|| scaled(b'j', 2)).or_else(|| scaled(b'k', 4))
    }

    /// An addend of a base: a number with its direction.
    fn distance(&self) -> i64 {
        let n = i64::from(self.number().unwrap_or(0));
        if self.get(b'+') == Some(0) { -n } else { n }
    }

    fn place(&self, base: u64, distance: i64) -> Place {
        Place::At(base.wrapping_add(distance as u64))
    }

    /// Kind and amount of a shift, 0 to 32; RRX has the amount 1.
    fn shift(&self) -> Option<(Shift, u8)> {
        // Saturations shift left or right.
        let single = self.size(b'q') == 1;
        let kind = self.get(b'q').unwrap_or(0) << u8::from(single);
        self.shift_of(kind, single)
    }

    fn shift_of(&self, kind: u32, single: bool) -> Option<(Shift, u8)> {
        match (kind, self.get(b'h').unwrap_or(0) as u8) {
            // A word shifted by all its bits is of A32 only.
            (2, 0) if single && self.thumb => None,
            (1 | 2, 0) => Some((Shift::ALL[kind as usize], 32)),
            (3, 0) => Some((Shift::Rrx, 1)),
            (kind, amount) => Some((Shift::ALL[kind as usize % 4], amount)),
        }
    }

    /// How an access changes its base.
    fn update(&self) -> Option<Update> {
        let (pre, back) = (self.get(b'p') != Some(0), self.is(b'!'));
        // Upwards without update T32 has 12 bits; this is for unprivileged code.
        if self.thumb && self.size(b'p') == 1 && self.size(b'i') == 8 && pre && !back {
            return (!self.is(b'+')).then_some(Update::None);
        }
        match (pre, back) {
            (true, false) => Some(Update::None),
            (true, true) => Some(Update::Pre),
            // The opposite is another instruction.
            (false, back) => (back == self.thumb).then_some(Update::Post),
        }
    }

    fn mem(&self) -> Option<Mem> {
        let offset = match self.get(b'm') {
            None => Offset::Imm(self.distance()),
            Some(m) => {
                let (shift, amount) = self.shift()?;
                let negative = self.get(b'+') == Some(0);
                Offset::Reg { reg: R(m as u16), negative, shift, amount }
            }
        };
        Some(Mem { base: self.base(), offset, update: self.update()? })
    }

    /// Where a branch goes.
    fn target(&self) -> Option<Place> {
        let n = self.get(b'o')?;
        let next = self.at.wrapping_add(if self.thumb { 4 } else { 8 });
        // T32 keeps the highest bits of a distance apart, and two of them in relation to its sign.
        let long = |n: u32| {
            let flip = if n >> 23 == 0 { 0x60_0000 } else { 0 };
            let (j1, j2) = (n >> 12 & 1, n >> 11 & 1);
            let n = (n >> 23) << 23 | j1 << 22 | j2 << 21 | (n >> 13 & 0x3ff) << 11 | n & 0x7ff;
            2 * signed(n ^ flip, 24)
        };
        Some(match (self.set, self.size(b'o')) {
            (Set::A32, 24) => self.place(next, 4 * signed(n, 24)),
            (Set::A32, _) => self.place(next, 4 * signed(n, 24) + i64::from(n >> 24) * 2),
            (Set::T16, 6) => self.place(next, i64::from(n) * 2),
            (Set::T16, size) => self.place(next, 2 * signed(n, size)),
            (_, 24) => self.place(next, long(n)),
            (_, 23) => self.place(next & !3, long(n << 1)),
            _ => {
                let (j1, j2) = (n >> 12 & 1, n >> 11 & 1);
                let n = (n >> 19) << 19 | j2 << 18 | j1 << 17 | (n >> 13 & 0x3f) << 11 | n & 0x7ff;
                self.place(next, 2 * signed(n, 20))
            }
        })
    }

    /// A constant, if there is one.
    fn constant(&self, f: &Fields) -> Option<Option<u32>> {
        if let Some(n) = self.get(b'C') {
            let turn = 2 * (n >> 8);
            let value = (n & 0xff).rotate_right(turn);
            // A small one that is rotated all the same would set another carry than what its text says.
            let sets = f.flags || self.get(b'd').is_none();
            return (turn == 0 || value > 0xff || !sets).then_some(Some(value));
        }
        Some(self.get(b'K').map(|n| {
            let byte = n & 0xff;
            match n >> 8 {
                0 => byte,
                1 => byte | byte << 16,
                2 => byte << 8 | byte << 24,
                3 => byte * 0x0101_0101,
                _ => (byte & 0x7f | 0x80).rotate_right(n >> 7),
            }
        }))
    }

    /// Whether PC is no operand where it would mean another instruction.
    fn is_free_of_pc(&self, f: &Fields) -> bool {
        let is_pc = |letter: &u8| self.get(*letter) == Some(15);
        match self.set {
            Set::T16 => true,
            Set::T32 => !b"dnm".iter().any(is_pc),
            // A return from an exception.
            _ if f.flags && f.d == PC => false,
            _ => self.get(b's').is_none() || !b"dnms".iter().any(is_pc),
        }
    }
}

impl Arg {
    fn is_memory(self) -> bool {
        matches!(
            self,
            Arg::From | Arg::Mem | Arg::Near | Arg::Plain | Arg::Exclusive | Arg::Prefetched
        )
    }

    /// Takes an operand from machine code. `None`: the fields have values that they cannot have.
    pub fn take(self, w: &Word, f: &mut Fields) -> Option<()> {
        match self {
            Arg::R(letter) | Arg::ToPc(letter) => *f.reg(letter) = w.reg(letter, f)?,
            Arg::Pair => {
                f.t = w.reg(b't', f)?;
                f.u = w.reg(b'u', f)?;
            }
            Arg::Two => (f.n, f.m) = (w.reg(b'n', f)?, w.reg(b'm', f)?),
            Arg::Three => {
                f.d = w.reg(b'd', f)?;
                f.n = w.reg(b'n', f)?;
                Arg::Second.take(w, f)?;
            }
            Arg::Second => {
                w.is_free_of_pc(f).then_some(())?;
                f.operand = match (w.constant(f)?.or(w.number()), w.reg(b'm', f)?, w.get(b's')) {
                    (Some(n), ..) => insn::Operand::Imm(n),
                    (None, m, Some(s)) => {
                        let kind = Shift::ALL[w.get(b'q')? as usize % 4];
                        insn::Operand::Shifted(m, kind, Amount::Reg(R(s as u16)))
                    }
                    (None, m, None) => {
                        let (kind, amount) = w.shift()?;
                        insn::Operand::shifted(m, kind, Amount::Imm(amount))
                    }
                };
            }
            Arg::Shifted => {
                w.is_free_of_pc(f).then_some(())?;
                let (kind, m) = (Shift::ALL[usize::from(f.x) % 4], w.reg(b'm', f)?);
                let amount = match w.get(b's') {
                    Some(s) => Amount::Reg(R(s as u16)),
                    None => Amount::Imm(w.shift_of(f.x.into(), false)?.1),
                };
                f.operand = insn::Operand::Shifted(m, kind, amount);
                // A move has an encoding of its own.
                (amount != Amount::Imm(0)).then_some(())?;
            }
            Arg::Num => f.imm = w.number().unwrap_or(0),
            Arg::Half(_) => {
                let n = w.get(b'w')?;
                // T32 has the highest bit of these first that is the eleventh of the number.
                let thumb = (n >> 11 & 15) << 12 | (n >> 15) << 11 | n & 0x7ff;
                f.operand = insn::Operand::Imm(if w.thumb { thumb } else { n });
            }
            Arg::Address => {
                let n = i64::from(w.constant(f)?.or(w.number())?);
                let n = if w.get(b'+') == Some(0) { -n } else { n };
                f.place = w.place(w.pc(), n);
            }
            Arg::Rotate => f.rotate = w.get(b'r').unwrap_or(0) as u8 * 8,
            Arg::Part => {
                let lsb = w.get(b'l')?;
                let last = match w.get(b'z') {
                    Some(width) => Some(lsb + width).filter(|last| *last < 32)?,
                    None => w.get(b'e')?,
                };
                (f.lsb, f.width) =
                    (lsb as u8, (last + 1).checked_sub(lsb).filter(|n| *n > 0)? as u8);
            }
            Arg::Bits => f.width = w.get(b'v')? as u8 + u8::from(f.x == 0),
            _ if self.is_memory() && w.get(b'n').is_none() => {
                f.place = w.place(w.pc(), w.distance());
            }
            _ if self.is_memory() => f.mem = w.mem()?,
            Arg::Base => {
                f.n = w.base();
                // T16 updates the base of a load where it is not loaded.
                let loaded = || w.get(b'L').is_some_and(|list| list >> f.n.0 & 1 != 0);
                f.writeback = w.get(b'!').map_or_else(|| !loaded(), |n| n != 0);
            }
            Arg::List { .. } => {
                let bit = |letter, reg: R| u32::from(w.is(letter)) << reg.0;
                let mut mask = w.get(b'L').unwrap_or(0) | bit(b'M', LR) | bit(b'P', PC);
                if let Some(t) = w.get(b't') {
                    mask |= 1 << t;
                }
                f.list = (0..16).filter(|n| mask >> n & 1 != 0).map(R).collect();
                (mask != 0).then_some(())?;
            }
            Arg::Domain => {
                f.imm = w.get(b'i')?;
                DOMAINS.iter().find(|(_, n, ..)| *n == f.imm)?;
            }
            Arg::Where if w.get(b'm').is_some() => f.m = w.reg(b'm', f)?,
            Arg::Where | Arg::Line => f.place = w.target()?,
            Arg::Coprocessor => {
                (f.t, f.n, f.m) = (w.reg(b't', f)?, w.reg(b'n', f)?, w.reg(b'm', f)?);
                (f.imm, f.width) = (w.get(b'i')?, w.get(b'r')? as u8);
            }
            Arg::V(_) | Arg::D(_) | Arg::S(_) | Arg::Vectors | Arg::Element | Arg::Filled => {
                vector::take(self, w, f)?;
            }
            _ => {}
        }
        Some(())
    }

    /// Adds what is printed of it.
    pub fn show(self, f: &mut Fields, out: &mut Vec<Operand>) {
        let text = |text: String| Operand::Text(text);
        let two = |a: u8, b: u8| [Operand::Imm(a.into()), Operand::Imm(b.into())];
        match self {
            Arg::R(letter) | Arg::ToPc(letter) => out.push(reg(*f.reg(letter))),
            Arg::Pair => out.extend([reg(f.t), reg(f.u)]),
            Arg::Two => out.extend([reg(f.n), reg(f.m)]),
            Arg::Three => {
                out.extend([reg(f.d), reg(f.n)]);
                Arg::Second.show(f, out);
            }
            Arg::Second | Arg::Half(_) => match &f.operand {
                insn::Operand::Imm(n) => out.push(Operand::Imm((*n).into())),
                insn::Operand::Reg(m) => out.push(reg(*m)),
                insn::Operand::Shifted(m, shift, Amount::Imm(n)) => {
                    out.extend([reg(*m), text(shift_text(*shift, *n))]);
                }
                insn::Operand::Shifted(m, shift, Amount::Reg(s)) => {
                    out.extend([reg(*m), text(format!("{} {}", shift.name(), name(*s)))]);
                }
                insn::Operand::Address(symbol) => out.push(text(symbol.name.clone())),
            },
            Arg::Shifted => match &f.operand {
                insn::Operand::Shifted(m, _, Amount::Imm(n)) => {
                    out.extend([reg(*m), Operand::Imm((*n).into())]);
                }
                insn::Operand::Shifted(m, _, Amount::Reg(s)) => out.extend([reg(*m), reg(*s)]),
                _ => {}
            },
            Arg::Num => out.push(Operand::Imm(f.imm.into())),
            Arg::Rotate if f.rotate > 0 => out.push(text(shift_text(Shift::Ror, f.rotate))),
            Arg::Part => out.extend(two(f.lsb, f.width)),
            Arg::Bits => out.push(Operand::Imm(f.width.into())),
            Arg::Address | Arg::Line | Arg::Where => match f.place {
                Place::At(at) => out.push(Operand::Code(at)),
                _ => out.push(reg(f.m)),
            },
            _ if self.is_memory() => match f.place {
                Place::At(at) => out.push(Operand::Code(at)),
                _ => out.push(memory(&f.mem)),
            },
            Arg::Base if f.writeback => out.push(text(format!("{}!", name(f.n)))),
            Arg::Base => out.push(reg(f.n)),
            Arg::List { .. } => {
                let names: Vec<&str> = f.list.iter().map(|r| name(*r)).collect();
                out.push(text(format!("{{{}}}", names.join(","))));
            }
            Arg::Domain => {
                let domain = DOMAINS.iter().find(|(_, n, ..)| *n == f.imm);
                out.extend(domain.map(|(name, ..)| text(name.to_string())));
            }
            Arg::Coprocessor => {
                out.extend([text("p15".to_string()), Operand::Imm(f.imm.into()), reg(f.t)]);
                out.extend([text(format!("c{}", f.n.0)), text(format!("c{}", f.m.0))]);
                out.push(Operand::Imm(f.width.into()));
            }
            Arg::Text(word) => out.push(text(word.to_string())),
            Arg::V(letter) | Arg::D(letter) | Arg::S(letter) => {
                out.push(Operand::Reg(vector_name(*f.vector(letter))));
            }
            Arg::Vectors | Arg::Element | Arg::Filled => vector::show(self, f, out),
            _ => {}
        }
    }

    /// Where PC comes from if this operand writes it.
    pub fn jumps(self, f: &Fields) -> Option<R> {
        let pops = f.mem.base == SP && f.mem.update == Update::Post;
        match self {
            Arg::ToPc(b't') if f.t == PC => Some(if pops { LR } else { f.t }),
            Arg::ToPc(b'd') if f.d == PC => match f.operand {
                insn::Operand::Reg(m) => Some(m),
                _ => Some(f.d),
            },
            Arg::R(b'd') if f.d == PC => Some(f.d),
            Arg::List { load: true } if f.list.contains(&PC) => Some(LR),
            _ => None,
        }
    }
}

fn name(reg: R) -> &'static str {
    name_of(reg).unwrap_or("%")
}

pub fn reg(reg: R) -> Operand {
    Operand::Reg(name(reg).to_string())
}

/// As the tests of herd write it.
pub fn vector_name(v: V) -> String {
    match v {
        V::D(n) => format!("D{n}"),
        V::S(n) => format!("S{n}"),
    }
}

fn shift_text(shift: Shift, amount: u8) -> String {
    match shift {
        Shift::Rrx => "RRX".to_string(),
        shift => format!("{} #{amount}", shift.name()),
    }
}

fn memory(mem: &Mem) -> Operand {
    let base = Some(name(mem.base).to_string());
    let (offset, index) = match mem.offset {
        Offset::Imm(n) => (n, None),
        Offset::Reg { reg, negative, shift, amount } => {
            let sign = if negative { "-" } else { "" };
            let by = match (shift, amount) {
                (Shift::Lsl, 0) => String::new(),
                (shift, amount) => format!(",{}", shift_text(shift, amount)),
            };
            (0, Some(format!("{sign}{}{by}", name(reg))))
        }
    };
    Operand::Mem(machine::Mem { base, offset, index, update: mem.update })
}
