//! Building the micro-ops of one instruction: temporaries, register views, flags, addresses.
//!
//! It knows how AArch64 reads and writes its state, and no instruction.

use super::operand::{Index, Mem, Operand, Shift, Symbol};
use super::regs::{Flag, Name, View};
pub use crate::lex::Refusal;
use crate::microcode;
use litmake_litmus::Symbols;
use litmake_ops::{BinOp, Code, Label, Op, Port, Reg, Temp, UnOp, Val};
use rustc_hash::FxHashMap;
use std::ops::{Deref, DerefMut, Range};

pub type Lowered<T = ()> = Result<T, Refusal>;

/// A register as wide as another operand was expected.
pub fn wrong_width(operand: usize, found: u8, expected: u8) -> Refusal {
    let message =
        format!("expected a register of {expected} bits, as the other is; this one has {found}");
    Refusal::new(message).on(operand)
}

/// The context in which an instruction is lowered: its thread and its place there.
pub struct Emit<'a> {
    pub code: &'a mut Code,
    pub symbols: &'a mut dyn Symbols,
    pub labels: &'a FxHashMap<String, Label>,
    /// The number of this instruction, and of all.
    pub here: u32,
    pub len: u32,
    /// FEAT_LSE2: an access within 16 aligned bytes is single.
    pub lse2: bool,
    pub operands: &'a [Operand],
    pub ops: microcode::Emit,
}

/// It writes ops as every instruction set does.
impl Deref for Emit<'_> {
    type Target = microcode::Emit;

    fn deref(&self) -> &microcode::Emit {
        &self.ops
    }
}

impl DerefMut for Emit<'_> {
    fn deref_mut(&mut self) -> &mut microcode::Emit {
        &mut self.ops
    }
}

/// An address, and the new value of its base register.
pub struct Address {
    pub addr: Temp,
    pub update: Option<(View, Temp)>,
}

impl Emit<'_> {
    /// A constant, in two's complement of 64 bits.
    pub fn number(&mut self, n: i128) -> Temp {
        self.signed(n, 64)
    }

    /// The low and the high `bits` joined.
    pub fn join(&mut self, low: Temp, high: Temp, bits: u8) -> Temp {
        let low = self.zero_extend(low, bits, 2 * bits);
        let high = self.bin_int(BinOp::Shl, high, bits.into(), 2 * bits);
        self.bin(BinOp::Or, high, low, 2 * bits)
    }

    /// The low and the high half of a value of `2 * bits`.
    pub fn halves(&mut self, value: Temp, bits: u8) -> (Temp, Temp) {
        let low = self.zero_extend(value, bits, 2 * bits);
        let high = self.bin_int(BinOp::Shr, value, bits.into(), 2 * bits);
        (low, high)
    }

    /// Builds the ops of one side of a conditional.
    pub fn block(&mut self, f: impl FnOnce(&mut Self)) -> Vec<Op> {
        let outer = self.begin();
        f(self);
        self.end(outer)
    }

    // Registers.

    fn reg(&mut self, view: &View) -> Option<Reg> {
        let (name, bits) = view.canonical()?;
        Some(self.code.reg(&name, bits, true))
    }

    /// The whole register below a view. What is above the view's bits is not masked away: for
    /// operations that take their operands modulo their width.
    pub fn read_raw(&mut self, view: &View, port: Port) -> Temp {
        match self.reg(view) {
            Some(reg) => self.ops.read(reg, port),
            None => self.int(0),
        }
    }

    /// Reads the part of a register that a view shows.
    pub fn read(&mut self, view: &View, port: Port) -> Temp {
        let full = view.canonical().map_or(view.bits, |c| c.1);
        let raw = self.read_raw(view, port);
        match view.name {
            Name::Zero => raw,
            _ => self.zero_extend(raw, view.bits, full),
        }
    }

    /// Writes a view; the bits of the register above the view become 0. The value must fit.
    pub fn write(&mut self, view: &View, src: Temp) {
        if let Some(reg) = self.reg(view) {
            self.ops.write(reg, src);
        }
    }

    // Flags.

    pub fn flag(&mut self, flag: Flag) -> Temp {
        let reg = self.code.reg(flag.name(), 1, false);
        self.ops.read(reg, Port::None)
    }

    pub fn set_flag(&mut self, flag: Flag, src: Temp) {
        let reg = self.code.reg(flag.name(), 1, false);
        self.ops.write(reg, src);
    }

    /// 1 where the condition holds.
    pub fn condition(&mut self, cond: Cond) -> Temp {
        use Test::*;
        let holds = match cond.test {
            Eq => self.flag(Flag::Z),
            Cs => self.flag(Flag::C),
            Mi => self.flag(Flag::N),
            Vs => self.flag(Flag::V),
            Hi => {
                let (c, z) = (self.flag(Flag::C), self.flag(Flag::Z));
                let not_z = self.un(UnOp::IsZero, z, 1);
                self.bin(BinOp::And, c, not_z, 1)
            }
            Ge => {
                let (n, v) = (self.flag(Flag::N), self.flag(Flag::V));
                self.bin(BinOp::Eq, n, v, 1)
            }
            Gt => {
                let (n, v, z) = (self.flag(Flag::N), self.flag(Flag::V), self.flag(Flag::Z));
                let ge = self.bin(BinOp::Eq, n, v, 1);
                let not_z = self.un(UnOp::IsZero, z, 1);
                self.bin(BinOp::And, ge, not_z, 1)
            }
            Al => self.int(1),
        };
        if cond.negated && cond.test != Al {
            return self.un(UnOp::IsZero, holds, 1);
        }
        holds
    }

    // Operands.

    pub fn missing(&self, i: usize, what: &str) -> Refusal {
        let refusal = Refusal::new(format!("expected {what}"));
        match self.operands.get(i) {
            Some(_) => refusal.on(i),
            None => refusal,
        }
    }

    /// No operand but the first `n`.
    pub fn only(&self, n: usize) -> Lowered {
        match self.operands.get(n) {
            None => Ok(()),
            Some(_) => Err(Refusal::new("one operand too many").on(n)),
        }
    }

    /// A general register: X or W, the zero register or the stack pointer.
    pub fn gpr(&self, i: usize) -> Lowered<View> {
        match self.operands.get(i) {
            Some(Operand::Reg(v)) if !v.is_vec() => Ok(v.clone()),
            _ => Err(self.missing(i, "a register, such as `X0` or `W0`")),
        }
    }

    /// A general register of the width of another operand.
    pub fn gpr_like(&self, i: usize, other: &View) -> Lowered<View> {
        let view = self.gpr(i)?;
        if view.bits != other.bits {
            let want = if other.bits == 64 { "an X" } else { "a W" };
            return Err(Refusal::new(format!("expected {want} register here")).on(i));
        }
        Ok(view)
    }

    /// Any register: a general one or a scalar of the vector registers.
    pub fn any_reg(&self, i: usize) -> Lowered<View> {
        match self.operands.get(i) {
            Some(Operand::Reg(v)) => Ok(v.clone()),
            _ => Err(self.missing(i, "a register")),
        }
    }

    pub fn imm(&self, i: usize) -> Lowered<i128> {
        match self.operands.get(i) {
            Some(Operand::Imm(n)) => Ok(*n),
            _ => Err(self.missing(i, "an immediate, such as `#1`")),
        }
    }

    /// An immediate of a range.
    pub fn imm_in(&self, i: usize, range: Range<i128>) -> Lowered<u8> {
        let n = self.imm(i)?;
        match u8::try_from(n) {
            Ok(small) if range.contains(&n) => Ok(small),
            _ => Err(Refusal::new(format!(
                "expected an immediate of {} to {}",
                range.start,
                range.end - 1
            ))
            .on(i)),
        }
    }

    pub fn cond(&self, i: usize) -> Lowered<Cond> {
        match self.operands.get(i) {
            Some(Operand::Word(w)) => Cond::parse(w),
            _ => None,
        }
        .ok_or_else(|| self.missing(i, "a condition, such as `EQ`"))
    }

    /// The instruction that a label names.
    pub fn label(&self, i: usize) -> Lowered<Label> {
        let vec_name;
        let name = match self.operands.get(i) {
            Some(Operand::Word(w)) => w.as_str(),
            // A label may be called as a register is.
            Some(Operand::Reg(v)) => {
                vec_name = v.to_string();
                vec_name.as_str()
            }
            Some(Operand::Symbol(s)) if s.modifier.is_none() && s.name == "." => {
                let target = i64::from(self.here).checked_add(s.offset / 4);
                let target = target.filter(|t| s.offset % 4 == 0 && *t >= 0);
                return match target {
                    Some(t) if t <= i64::from(self.len) => Ok(t as u32),
                    _ => Err(Refusal::new("a branch out of the thread").on(i)),
                };
            }
            _ => return Err(self.missing(i, "a label")),
        };
        if let Some(target) = self.label_named(name) {
            return Ok(target);
        }
        let refusal = Refusal::new(format!("no label `{name}` in this thread")).on(i);
        let near = litmake_base::diag::nearest(name, self.labels.keys().map(String::as_str));
        Err(match near {
            Some(near) => refusal.help(format!("did you mean `{near}`?")),
            None => refusal.help("put the label before an instruction, as `L0:`"),
        })
    }

    pub fn label_named(&self, name: &str) -> Option<Label> {
        self.labels.get(name).copied()
    }

    /// The address of a location, or of an instruction where the name is a label.
    pub fn address_of(&mut self, name: &str, offset: i64) -> Temp {
        let val = match self.label_named(name) {
            Some(label) => Val::Code(label),
            None => Val::Ptr { loc: self.symbols.location(name), off: offset },
        };
        self.val(val)
    }

    // Addresses.

    /// The address of a memory operand and of the post-index operand that may follow it. Only
    /// `last` operands may stand up to here.
    pub fn address(&mut self, i: usize) -> Lowered<Address> {
        let operands = self.operands;
        let mem = match operands.get(i) {
            Some(Operand::Mem(m)) => m,
            Some(Operand::Word(name)) => {
                self.only(i + 1)?;
                return self.literal_address(i, name, 0);
            }
            Some(Operand::Symbol(s)) if s.modifier.is_none() && s.name != "." => {
                self.only(i + 1)?;
                return self.literal_address(i, &s.name, s.offset);
            }
            _ => return Err(self.missing(i, "an address, such as `[X1]`")),
        };
        let base = self.read_raw(&mem.base, Port::Addr);
        if let Some(post) = operands.get(i + 1) {
            self.only(i + 2)?;
            if mem.pre || mem.index != Index::Imm(0) {
                return Err(Refusal::new("a post-index goes with a plain `[X1]`").on(i + 1));
            }
            let next = match post {
                Operand::Imm(n) => self.bin_int(BinOp::Add, base, wrap(*n), 64),
                Operand::Reg(v) if !v.is_vec() && v.bits == 64 => {
                    let step = self.read_raw(v, Port::None);
                    self.bin(BinOp::Add, base, step, 64)
                }
                _ => return Err(self.missing(i + 1, "a post-index, such as `#8`")),
            };
            return Ok(Address { addr: base, update: Some((mem.base.clone(), next)) });
        }
        let addr = self.indexed(i, base, mem)?;
        Ok(Address { addr, update: mem.pre.then(|| (mem.base.clone(), addr)) })
    }

    fn literal_address(&mut self, i: usize, name: &str, offset: i64) -> Lowered<Address> {
        if self.label_named(name).is_some() {
            return Err(Refusal::new("reading instructions as data is not supported").on(i));
        }
        Ok(Address { addr: self.address_of(name, offset), update: None })
    }

    fn indexed(&mut self, i: usize, base: Temp, mem: &Mem) -> Lowered<Temp> {
        match &mem.index {
            Index::Imm(0) => Ok(base),
            Index::Imm(n) => Ok(self.bin_int(BinOp::Add, base, wrap((*n).into()), 64)),
            Index::Reg(..) if mem.pre => {
                Err(Refusal::new("a register offset has no write-back").on(i))
            }
            Index::Reg(v, extend) => {
                let raw = self.read_raw(v, Port::Addr);
                let (shift, amount) = extend.unwrap_or((Shift::Lsl, None));
                let fits = match shift {
                    Shift::Lsl | Shift::Sxtx | Shift::Uxtx => v.bits == 64,
                    Shift::Uxtw | Shift::Sxtw => v.bits == 32,
                    _ => false,
                };
                // herd's users also write `[X1,X2,SXTW]` and `[X1,W2]`.
                let fits = fits || matches!(shift, Shift::Uxtw | Shift::Sxtw) || extend.is_none();
                if !fits {
                    return Err(Refusal::new(
                        "this extension does not fit the width of the register",
                    )
                    .on(i)
                    .help("an address takes `X2`, `X2,LSL #3`, `W2,SXTW #3` or `W2,UXTW #3`"));
                }
                let from =
                    v.bits.min(if matches!(shift, Shift::Uxtw | Shift::Sxtw) { 32 } else { 64 });
                let wide = match shift {
                    Shift::Sxtw => self.sign_extend(raw, from, 64),
                    _ => self.zero_extend(raw, from, 64),
                };
                let step = match amount.unwrap_or(0) {
                    0 => wide,
                    n => self.bin_int(BinOp::Shl, wide, n.into(), 64),
                };
                Ok(self.bin(BinOp::Add, base, step, 64))
            }
            Index::Symbol(s) => self.low_bits(i, base, s),
        }
    }

    /// `base + :lo12:x+8`. An ADRP gives the whole address of `x`, so the low bits add the
    /// offset alone.
    pub fn low_bits(&mut self, i: usize, base: Temp, symbol: &Symbol) -> Lowered<Temp> {
        match symbol.modifier.as_deref() {
            Some("lo12") => match symbol.offset {
                0 => Ok(base),
                n => Ok(self.bin_int(BinOp::Add, base, wrap(n.into()), 64)),
            },
            Some(m) => Err(Refusal::new(format!("the relocation `:{m}:` is not supported here"))
                .on(i)
                .help("`:lo12:` adds the low bits of an address; `:got_lo12:` goes with LDR")),
            None => Err(self.missing(i, "`:lo12:` before the name")),
        }
    }

    /// Gives the base register of an address its new value.
    pub fn write_back(&mut self, address: &Address) {
        if let Some((view, temp)) = &address.update {
            self.write(view, *temp);
        }
    }

    pub fn plus(&mut self, addr: Temp, bytes: u8) -> Temp {
        self.bin_int(BinOp::Add, addr, bytes.into(), 64)
    }
}

/// A number as 64 bits of two's complement.
pub fn wrap(n: i128) -> u128 {
    n as u128 & u128::from(u64::MAX)
}

/// A condition of four flags: a test, or its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cond {
    pub test: Test,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Eq,
    Cs,
    Mi,
    Vs,
    Hi,
    Ge,
    Gt,
    /// Always, and so is its opposite.
    Al,
}

/// Every name of a condition.
pub const CONDITIONS: &[(&str, Test, bool)] = &[
    ("EQ", Test::Eq, false),
    ("NE", Test::Eq, true),
    ("CS", Test::Cs, false),
    ("HS", Test::Cs, false),
    ("CC", Test::Cs, true),
    ("LO", Test::Cs, true),
    ("MI", Test::Mi, false),
    ("PL", Test::Mi, true),
    ("VS", Test::Vs, false),
    ("VC", Test::Vs, true),
    ("HI", Test::Hi, false),
    ("LS", Test::Hi, true),
    ("GE", Test::Ge, false),
    ("LT", Test::Ge, true),
    ("GT", Test::Gt, false),
    ("LE", Test::Gt, true),
    ("AL", Test::Al, false),
    ("NV", Test::Al, true),
];

impl Cond {
    pub fn parse(word: &str) -> Option<Cond> {
        CONDITIONS
            .iter()
            .find(|(name, ..)| name.eq_ignore_ascii_case(word))
            .map(|&(_, test, negated)| Cond { test, negated })
    }
}
