//! The known contents of registers and stack slots: the effect of one instruction's micro-ops on a [`State`].
//!
//! A value out of shared memory is never known, so that no dependency on it is lost. This module does not know
//! instruction sets.

use std::collections::{BTreeMap, HashMap};

use crate::image::{Image, Kind};
use litmake_isa::machine::Decoded;
use litmake_litmus::Arch;
use litmake_ops::eval::{eval_bin, eval_un, truth};
use litmake_ops::{BinOp, Op, Reg, Tags, Temp, UnOp, Val, mask, tag};

use super::condition::{is_pure, reads};
use super::endian::{self, Parts, Placed};
use super::locks;
use super::state::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Val(Val),
    /// The stack pointer at the start, plus bytes.
    Stack(i64),
    /// Some address in the frame, or something computed from one.
    Frame,
    /// An address in the frame of which so many of the lowest bits were replaced by some that only a run tells, as
    /// where a part of a register is written.
    Top(u8),
    /// The content of this register at the start.
    Start(Reg),
    /// Somewhere in this location: its address, and something that only a run tells; with its
    /// lowest [`LOW`] bits, where they are known.
    Within(u16, Option<u8>),
    /// A number that only a run tells, but for so many of its lowest bits (the second number).
    Low(u8, u8),
}

/// As many bits of an address are known, since locations are aligned.
const LOW: u8 = 4;
const LOW_MASK: u8 = (1 << LOW) - 1;

impl Known {
    pub fn int(n: u64) -> Known {
        Known::Val(Val::Int(n.into()))
    }

    /// Whether an address in the frame is in it.
    pub fn is_frame(self) -> bool {
        matches!(self, Known::Stack(_) | Known::Frame | Known::Top(_))
    }

    /// Unless only a run tells what it is.
    fn certain(self) -> Option<Known> {
        (!matches!(self, Known::Within(..) | Known::Low(..))).then_some(self)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A location of the test, plus bytes.
    Location(u16, i64),
    Stack(i64),
    /// An address in the object code whose content cannot change.
    Constant(u64),
    /// Somewhere in the frame.
    Frame,
    /// A place that only a run tells.
    Open,
    /// An address at which nothing known lies.
    Nowhere(u64),
    /// Bytes of two variables: a test does not know what lies beside a location.
    Across,
}

#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub place: Place,
    pub size: u8,
    pub store: bool,
    /// The access is of an atomic instruction.
    pub atomic: bool,
    /// The access happens in any case.
    pub certain: bool,
    pub temp: Temp,
    /// The value that it stores, where that is known.
    pub stored: Option<Known>,
    /// Where only a run tells the place: the location that the access is in, and the address's lowest [`LOW`] bits, as
    /// far as these are known.
    pub near: Option<(u16, Option<u8>)>,
}

/// The place of all accesses of an instruction, if only a run tells it: the location, the lowest bits of the first
/// address, and the number of bytes from there on.
pub fn near(accesses: &[Access]) -> Option<(u16, Option<u8>, u8)> {
    let (loc, _) = accesses.first()?.near?;
    if accesses.iter().any(|a| a.near.map(|n| n.0) != Some(loc)) {
        return None;
    }
    if let [a] = accesses {
        return Some((loc, a.near?.1, a.size));
    }
    let low = |a: &Access| a.near.and_then(|n| n.1);
    if accesses.iter().any(|a| low(a).is_none()) {
        return None;
    }
    let from = accesses.iter().filter_map(low).min()?;
    let end = accesses.iter().filter_map(|a| Some(low(a)? + a.size)).max()?;
    Some((loc, Some(from), end - from))
}

/// How many bytes an instruction accesses at a time.
pub fn smallest(accesses: &[Access]) -> u64 {
    accesses.iter().map(|a| u64::from(a.size)).min().unwrap_or(0)
}

/// The effects of one instruction where it is reached.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub reads: HashMap<Reg, Option<Known>>,
    /// The written registers, with their contents, and whether each is written in any case.
    pub writes: Vec<(Reg, Option<Known>, bool)>,
    pub accesses: Vec<Access>,
    /// The instruction orders, ends, or chooses the way by something that is not known.
    pub event: bool,
    /// The instruction that it goes to by something that is known, if not the next.
    pub goes: Option<usize>,
}

/// A part of a location that is a location of its own.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its first byte in the other.
    pub from: i64,
    /// Behind its last byte.
    pub end: i64,
    /// Its number.
    pub loc: u16,
}

/// A thread's frame that is a location, since code computes addresses in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number.
    pub loc: u16,
    /// Its first byte and its end, from the stack pointer at the start.
    pub from: i64,
    pub end: i64,
}

/// The surroundings that do not change.
pub struct World<'a> {
    pub image: &'a Image,
    /// Where test locations that are variables lie: address, size, number of the location.
    pub globals: &'a [(u64, u64, u16)],
    /// Bytes of a value of each location.
    pub units: &'a [u64],
    /// The parts that each location is made of.
    pub parts: &'a [Parts],
    /// How far into its word each location lies, which matters in big-endian code alone: a known
    /// address counts from the word, and a place from the location.
    pub pads: &'a [i64],
    /// The parts of each location that are locations of their own.
    pub fields: &'a [Vec<Field>],
    /// Variables of the runtime whose value is known, by name.
    pub flags: &'a BTreeMap<String, u64>,
    pub address_bits: u8,
    pub stack_start: i64,
    pub frame: Option<Frame>,
    /// Whether accesses are ordered by what their addresses depend on.
    pub dependencies: bool,
}

impl World<'_> {
    /// The location that a known value is the address of, plus bytes; its lock is [`locks::FAR`].
    pub fn location(&self, known: Known) -> Option<(u16, i64)> {
        match (known, self.frame) {
            // The caller's part of the stack is not part of the frame.
            (Known::Stack(at), Some(frame)) if at <= 0 => Some((frame.loc, at - frame.from)),
            _ => self.object(known).map(|(loc, off)| self.field(loc, off)),
        }
    }

    /// The place so many bytes into a location, which may be in a part that is a location of its own.
    fn field(&self, loc: u16, off: i64) -> (u16, i64) {
        let fields = self.fields.get(usize::from(loc)).map_or(&[][..], Vec::as_slice);
        let inside = |f: &&Field| (f.from..f.end).contains(&off);
        fields.iter().find(inside).map_or((loc, off), |f| (f.loc, off - f.from))
    }

    /// The location that a known value is the address of, with all its parts.
    fn object(&self, known: Known) -> Option<(u16, i64)> {
        match known {
            Known::Val(Val::Ptr { loc, off }) => Some((loc, off - self.pad(loc))),
            Known::Val(Val::Int(n)) => {
                let n = u64::try_from(n).ok()?;
                let within = |n: u64| {
                    let itself = |(at, size, _): &&(u64, u64, u16)| (*at..at + size).contains(&n);
                    let word = |(at, _, loc): &&(u64, u64, u16)| {
                        (at.saturating_sub_signed(self.pad(*loc))..*at).contains(&n)
                    };
                    let found = self.globals.iter().find(itself);
                    let found = found.or_else(|| self.globals.iter().find(word));
                    found.map(|(at, _, loc)| (*loc, n.wrapping_sub(*at) as i64))
                };
                let far = locks::FAR as u64;
                let lock = || Some(within(n.checked_sub(far)?)).flatten();
                within(n).or_else(|| lock().map(|(loc, off)| (loc, off + locks::FAR)))
            }
            _ => None,
        }
    }

    /// The location in which a value is an address, and the lowest bits of it.
    fn around(&self, known: Known) -> Option<(u16, Option<u8>)> {
        match known {
            Known::Within(loc, low) => Some((loc, low)),
            Known::Val(Val::Int(n)) => Some((self.object(known)?.0, Some(n as u8 & LOW_MASK))),
            Known::Val(Val::Ptr { loc, off }) => Some((loc, Some(off as u8 & LOW_MASK))),
            _ => None,
        }
    }

    /// The location in which a value is an address, wherever in it.
    pub fn within(&self, known: Known) -> Option<u16> {
        self.around(known).map(|(loc, _)| loc)
    }

    /// The known part of a value that is one of two.
    pub fn either(&self, a: Option<Known>, b: Option<Known>) -> Option<Known> {
        let ((a, low), (b, other)) = (self.around(a?)?, self.around(b?)?);
        (a == b).then_some(Known::Within(a, low.filter(|_| low == other)))
    }

    /// The known part of an extended value: of a number that only a run tells, or of an address, the lowest bits.
    fn extended(&self, known: Known, from: u8, width: u8) -> Option<Known> {
        if matches!(known, Known::Within(..)) && from.min(width) >= self.address_bits {
            return Some(known);
        }
        let (low, count) = self.low(Some(known))?;
        (from >= count).then_some(Known::Low(low, count))
    }

    /// The lowest bits of a number or an address, and how many are known.
    fn low(&self, known: Option<Known>) -> Option<(u8, u8)> {
        match known? {
            Known::Low(low, count) => Some((low, count)),
            k => match (self.around(k), k) {
                (Some((_, low)), _) => Some((low?, LOW)),
                (None, Known::Val(Val::Int(n))) => Some((n as u8, u8::BITS as u8)),
                _ => None,
            },
        }
    }

    /// The known part of a sum, or the like, that only a run tells.
    fn open(&self, op: BinOp, a: Option<Known>, b: Option<Known>, whole: bool) -> Option<Known> {
        let around = |k: Option<Known>| k.and_then(|k| self.around(k));
        // The lowest bits of both, combined.
        let both = || {
            let ((a, n), (b, m)) = (self.low(a)?, self.low(b)?);
            let low = match op {
                BinOp::Sub => a.wrapping_sub(b),
                BinOp::Or => a | b,
                BinOp::Xor => a ^ b,
                _ => a.wrapping_add(b),
            };
            Some((low & mask(n.min(m)) as u8, n.min(m)))
        };
        let within = || both().map(|(low, _)| low & LOW_MASK);
        let zeros = |count: u32| Known::Low(0, count.min(u8::BITS) as u8);
        let number = match b {
            Some(Known::Val(Val::Int(n))) => Some(n),
            _ => None,
        };
        match (op, around(a), around(b)) {
            (BinOp::And, _, None) => {
                let n = number?;
                match self.low(a) {
                    Some((low, count)) if n <= mask(count) => {
                        Some(Known::Val(Val::Int(u128::from(low) & n)))
                    }
                    _ if n.trailing_zeros() >= LOW.into() => Some(zeros(n.trailing_zeros())),
                    _ => None,
                }
            }
            (BinOp::Or | BinOp::Xor, None, None) => both().map(|(low, n)| Known::Low(low, n)),
            // A location has one lock, wherever in it an access is.
            (BinOp::Add, Some((loc, _)), None)
                if number == Some(locks::FAR as u128) && !self.dependencies =>
            {
                Some(Known::Val(Val::Ptr { loc, off: locks::FAR + self.pad(loc) }))
            }
            (BinOp::Add | BinOp::Sub, Some((loc, l)), None) if whole => {
                Some(Known::Within(loc, l.and_then(|_| within())))
            }
            (BinOp::Add, None, Some((loc, l))) if whole => {
                Some(Known::Within(loc, l.and_then(|_| within())))
            }
            (BinOp::Add | BinOp::Sub, None, None) => both().map(|(low, n)| Known::Low(low, n)),
            (BinOp::Shl, _, None) if number.is_some_and(|n| n < u8::BITS.into()) => {
                let (by, (low, count)) = (number? as u32, self.low(a).unwrap_or((0, 0)));
                let count = (u32::from(count) + by).min(u8::BITS) as u8;
                (count >= LOW).then(|| Known::Low(low << by & mask(count) as u8, count))
            }
            (BinOp::Shl, _, None) if number.is_some() => Some(zeros(u8::BITS)),
            (BinOp::Mul, None, None) if number.is_some_and(|n| n as u8 & LOW_MASK == 0) => {
                Some(zeros(LOW.into()))
            }
            _ => None,
        }
    }

    fn pad(&self, loc: u16) -> i64 {
        self.pads.get(usize::from(loc)).copied().unwrap_or(0)
    }

    /// The form that an access whose place only a run tells has in a test of big-endian code: the number that is added
    /// to its offset, and whether its registers change places. `None` where nothing tells which part of a value it
    /// accesses.
    pub fn turned(&self, arch: Arch, d: &Decoded, accesses: &[Access]) -> Option<(i64, bool)> {
        let (loc, low, size) = near(accesses)?;
        let parts = self.parts.get(usize::from(loc))?;
        let mut found: Option<(i64, bool)> = None;
        for at in parts.places(low, size, 1 << LOW)? {
            let sizes = (size.into(), smallest(accesses));
            let Placed { offset, swap } = endian::place(arch, d, parts, at, sizes)?;
            let here = (offset - at, swap);
            if found.is_some_and(|other| other != here) {
                return None;
            }
            found = Some(here);
        }
        found
    }

    /// Whether there are locations that are smaller than the exclusive accesses of MIPS.
    pub fn has_small(&self) -> bool {
        self.units.iter().any(|unit| matches!(unit, 1 | 2))
    }

    /// Whether an address differs from the one in a test, where locations begin words.
    pub fn is_shifted(&self, known: Known) -> bool {
        self.location(known).is_some_and(|(loc, _)| self.pad(loc) != 0)
    }

    /// Whether an access to one variable has bytes of another one too.
    fn beside(&self, known: Known, size: u8, loc: u16) -> bool {
        let Known::Val(Val::Int(n)) = known else { return false };
        let Ok(from) = u64::try_from(n) else { return false };
        let to = from.saturating_add(size.into());
        let overlaps = |at: u64, size: u64| at < to && from < at.saturating_add(size);
        self.globals.iter().any(|(at, size, l)| *l != loc && overlaps(*at, *size))
    }

    fn place(&self, addr: Option<Known>, size: u8) -> Place {
        let Some(known) = addr.and_then(Known::certain) else {
            return Place::Open;
        };
        if let Some((loc, off)) = self.object(known) {
            let (part, within) = self.field(loc, off);
            return match self.beside(known, size, loc) {
                true => Place::Across,
                false => Place::Location(part, within),
            };
        }
        match known {
            Known::Stack(at) => Place::Stack(at),
            Known::Frame | Known::Top(_) => Place::Frame,
            Known::Val(Val::Int(n)) => {
                let n = n as u64;
                match self.image.kind_at(n) {
                    Some(Kind::Code | Kind::Constant) => Place::Constant(n),
                    Some(Kind::Data) if self.flag(n).is_some() => Place::Constant(n),
                    _ => Place::Nowhere(n),
                }
            }
            _ => Place::Nowhere(0),
        }
    }

    fn flag(&self, at: u64) -> Option<u64> {
        let variable = self.image.variable_at(at)?;
        self.flags.get(&variable.name).copied()
    }

    fn un(&self, op: UnOp, a: Option<Known>, width: u8) -> Option<Known> {
        match (op, a?) {
            (
                UnOp::ZeroExt { from } | UnOp::SignExt { from },
                k @ (Known::Within(..) | Known::Low(..)),
            ) => self.extended(k, from, width),
            // Addresses fit any register that holds them whole.
            (UnOp::ZeroExt { from }, k @ Known::Val(Val::Ptr { .. })) if from < 32 => {
                self.extended(k, from, width)
            }
            (_, Known::Val(v)) => eval_un(op, v, width).map(Known::Val),
            (UnOp::Neg, Known::Low(low, count)) => {
                Some(Known::Low(low.wrapping_neg() & mask(count) as u8, count))
            }
            (_, Known::Low(..) | Known::Within(..)) => None,
            (UnOp::ZeroExt { from } | UnOp::SignExt { from }, Known::Top(low)) if from <= low => {
                None
            }
            (UnOp::IsZero, Known::Top(_)) => None,
            (_, Known::Top(_)) => Some(Known::Frame),
            (UnOp::ZeroExt { from } | UnOp::SignExt { from }, Known::Stack(at))
                if from >= self.address_bits && width >= self.address_bits =>
            {
                Some(Known::Stack(at))
            }
            (UnOp::IsZero, Known::Stack(_)) => Some(Known::Val(Val::ZERO)),
            // It can be what is not of the frame on another way.
            (UnOp::IsZero, Known::Frame) => None,
            (_, Known::Stack(_) | Known::Frame) => Some(Known::Frame),
            (UnOp::ZeroExt { from } | UnOp::SignExt { from }, k @ Known::Start(_))
                if from >= self.address_bits =>
            {
                Some(k)
            }
            (_, Known::Start(_)) => None,
        }
    }

    fn bin(&self, op: BinOp, a: Option<Known>, b: Option<Known>, width: u8) -> Option<Known> {
        let whole = width >= self.address_bits;
        let number = |v| signed(v, width);
        match (op, a, b) {
            (_, Some(Known::Val(x)), Some(Known::Val(y))) => {
                eval_bin(op, x, y, width).map(Known::Val).or_else(|| self.open(op, a, b, whole))
            }
            (BinOp::Add, Some(Known::Stack(s)), Some(Known::Val(v)))
            | (BinOp::Add, Some(Known::Val(v)), Some(Known::Stack(s)))
                if whole =>
            {
                Some(number(v).map_or(Known::Frame, |n| Known::Stack(s.wrapping_add(n))))
            }
            (BinOp::Sub, Some(Known::Stack(s)), Some(Known::Val(v))) if whole => {
                Some(number(v).map_or(Known::Frame, |n| Known::Stack(s.wrapping_sub(n))))
            }
            (BinOp::Sub, Some(Known::Stack(s)), Some(Known::Stack(t))) => {
                Some(Known::Val(Val::Int(i128::from(s.wrapping_sub(t)) as u128 & mask(width))))
            }
            (BinOp::Or | BinOp::Xor, Some(k @ Known::Stack(_)), Some(Known::Val(Val::ZERO)))
            | (BinOp::Or | BinOp::Xor, Some(Known::Val(Val::ZERO)), Some(k @ Known::Stack(_)))
                if whole =>
            {
                Some(k)
            }
            (BinOp::And | BinOp::Or, Some(k @ Known::Stack(s)), Some(Known::Stack(t)))
                if s == t =>
            {
                Some(k)
            }
            // All bits are set, whatever was there.
            (BinOp::Or, _, Some(Known::Val(Val::Int(n))))
            | (BinOp::Or, Some(Known::Val(Val::Int(n))), _)
                if n & mask(width) == mask(width) =>
            {
                Some(Known::Val(Val::Int(mask(width))))
            }
            // All but a part of a register, and what is put in its place.
            (BinOp::And, Some(k), Some(Known::Val(Val::Int(n))))
                if k.is_frame() && n.trailing_zeros() >= 8 =>
            {
                let low = n.trailing_zeros().min(u32::from(width)) as u8;
                match (n >> low == mask(width) >> low, k) {
                    (true, Known::Top(more)) => Some(Known::Top(low.max(more))),
                    (true, _) => Some(Known::Top(low)),
                    (false, _) => Some(Known::Frame),
                }
            }
            (BinOp::Or, Some(k @ Known::Top(_)), b) | (BinOp::Or, b, Some(k @ Known::Top(_)))
                if !b.is_some_and(Known::is_frame) =>
            {
                Some(k)
            }
            // Alignment, which the start of the stack has by the calling convention.
            (BinOp::And, Some(Known::Stack(s)), Some(Known::Val(v)))
            | (BinOp::And, Some(Known::Val(v)), Some(Known::Stack(s)))
                if whole =>
            {
                match number(v) {
                    Some(n) if (-16..0).contains(&n) && n & (n - 1) == n * 2 => {
                        Some(Known::Stack(((s + self.stack_start) & n) - self.stack_start))
                    }
                    _ => Some(Known::Frame),
                }
            }
            (BinOp::Xor | BinOp::Sub, Some(Known::Start(r)), Some(Known::Start(s))) if r == s => {
                Some(Known::Val(Val::ZERO))
            }
            (
                BinOp::Or | BinOp::Xor | BinOp::Add | BinOp::Sub,
                Some(k @ Known::Start(_)),
                Some(Known::Val(Val::ZERO)),
            )
            | (
                BinOp::Or | BinOp::Xor | BinOp::Add,
                Some(Known::Val(Val::ZERO)),
                Some(k @ Known::Start(_)),
            ) if whole => Some(k),
            (BinOp::And | BinOp::Or, Some(k @ Known::Start(r)), Some(Known::Start(s)))
                if whole && r == s =>
            {
                Some(k)
            }
            (BinOp::Eq | BinOp::Ne, Some(Known::Stack(s)), Some(Known::Stack(t))) => {
                Some(Known::Val(Val::Int(((s == t) == (op == BinOp::Eq)).into())))
            }
            (BinOp::Eq | BinOp::Ne | BinOp::LtU | BinOp::LeU | BinOp::LtS | BinOp::LeS, _, _) => {
                None
            }
            (_, Some(k), _) | (_, _, Some(k)) if k.is_frame() => Some(Known::Frame),
            _ => self.open(op, a, b, whole),
        }
    }
}

/// Runs the ops of one instruction.
pub struct Step<'a> {
    world: &'a World<'a>,
    pub state: State,
    temps: Vec<Option<Known>>,
    pub facts: Facts,
    /// Where control goes, with what is known there.
    pub out: Vec<(usize, State)>,
    /// Whether control may go on.
    pub on: bool,
}

impl<'a> Step<'a> {
    pub fn new(world: &'a World<'a>, state: State) -> Step<'a> {
        let (temps, out) = (Vec::new(), Vec::new());
        Step { world, state, temps, facts: Facts::default(), out, on: true }
    }

    pub fn get(&self, t: Temp) -> Option<Known> {
        self.temps.get(usize::from(t)).copied().flatten()
    }

    fn put(&mut self, t: Temp, known: Option<Known>) {
        let t = usize::from(t);
        if self.temps.len() <= t {
            self.temps.resize(t + 1, None);
        }
        self.temps[t] = known;
    }

    fn reg(&self, reg: Reg) -> Option<Known> {
        self.state.regs.get(usize::from(reg)).copied().flatten()
    }

    /// Runs all ops of an instruction.
    pub fn instruction(&mut self, ops: &[Op]) {
        for (i, op) in ops.iter().enumerate() {
            match op {
                _ if !self.on => return,
                Op::If { cond, yes, no } if !matches!(self.get(*cond), Some(Known::Val(_))) => {
                    // Only what registers decide comes out the same again.
                    let condition = if ops[..i].iter().all(is_pure) { &ops[..i] } else { &[] };
                    self.both(condition, *cond, yes, no);
                }
                Op::Branch { cond, target } if !matches!(self.get(*cond), Some(Known::Val(_))) => {
                    let mut taken = self.state.clone();
                    if ops[..i].iter().all(is_pure) {
                        taken.follow(&ops[..i], true);
                        self.state.follow(&ops[..i], false);
                    }
                    self.facts.event = true;
                    self.out.push((*target as usize, taken));
                }
                _ => self.op(op, true),
            }
        }
    }

    pub fn run(&mut self, ops: &[Op], certain: bool) {
        for op in ops {
            if !self.on {
                return;
            }
            self.op(op, certain);
        }
    }

    fn op(&mut self, op: &Op, certain: bool) {
        match op {
            Op::Const { dst, val } => self.put(*dst, Some(Known::Val(*val))),
            Op::ReadReg { dst, reg, .. } => {
                let known = self.reg(*reg);
                if !self.facts.writes.iter().any(|(r, _, certain)| r == reg && *certain) {
                    self.facts.reads.insert(*reg, known.and_then(Known::certain));
                }
                self.put(*dst, known);
            }
            Op::WriteReg { reg, src } => {
                let known = self.get(*src);
                self.state.write(*reg, known);
                let low = known.filter(|k| matches!(k, Known::Low(..)));
                self.facts.writes.push((*reg, known.and_then(Known::certain).or(low), certain));
            }
            Op::Un { dst, op, a, width } => {
                let known = self.world.un(*op, self.get(*a), *width);
                self.put(*dst, known);
            }
            Op::Bin { dst, op, a, b, width } => {
                let known = self.world.bin(*op, self.get(*a), self.get(*b), *width);
                self.put(*dst, known);
            }
            Op::Select { dst, cond, yes, no } => {
                let (yes, no) = (self.get(*yes), self.get(*no));
                let frame = |k: Option<Known>| k.is_some_and(Known::is_frame);
                let known = match self.get(*cond) {
                    Some(Known::Val(v)) => {
                        if truth(v) {
                            yes
                        } else {
                            no
                        }
                    }
                    _ if frame(yes) || frame(no) => Some(Known::Frame),
                    _ => self.world.either(yes, no),
                };
                self.put(*dst, known);
            }
            Op::Choose { dst } => self.put(*dst, None),
            Op::Assume { .. } | Op::Undefined { .. } => {}
            Op::Load { dst, addr, size, tags } => {
                let place = self.access(*addr, *size, (false, certain), *tags, *dst);
                let known = match place {
                    Place::Stack(at) => match self.state.slots.get(&at) {
                        Some((s, known)) if s == size => Some(*known),
                        _ => None,
                    },
                    Place::Constant(at) => {
                        let value = match self.world.flag(at) {
                            Some(value) => Some(u128::from(value)),
                            None => self.world.image.read(at, *size),
                        };
                        value.map(|v| Known::Val(Val::Int(v & mask(size.saturating_mul(8)))))
                    }
                    _ => None,
                };
                self.put(*dst, known);
            }
            Op::Store { addr, src, size, tags } => {
                let place = self.access(*addr, *size, (true, certain), *tags, *src);
                self.stored(place, *size, self.get(*src));
            }
            Op::StoreEx { status, addr, src, size, tags, .. } => {
                let place = self.access(*addr, *size, (true, certain), *tags | tag::EX, *src);
                self.stored(place, *size, None);
                self.put(*status, None);
            }
            Op::Rmw { dst, addr, size, tags, body, .. } => {
                let place = self.access(*addr, *size, (true, certain), *tags | tag::X, *dst);
                self.stored(place, *size, None);
                self.put(*dst, None);
                self.run(body, certain);
            }
            Op::Fence { .. } | Op::Touch { .. } => self.facts.event = true,
            Op::Control { .. } => {}
            Op::If { cond, yes, no } => match self.get(*cond) {
                Some(Known::Val(v)) => self.run(if truth(v) { yes } else { no }, certain),
                _ => self.both(&[], *cond, yes, no),
            },
            Op::Branch { cond, target } => match self.get(*cond) {
                Some(Known::Val(v)) => {
                    if truth(v) {
                        self.go(*target as usize);
                    }
                }
                _ => {
                    self.facts.event = true;
                    self.out.push((*target as usize, self.state.clone()));
                }
            },
            Op::Jump { target } => self.go(*target as usize),
            Op::JumpTo { .. } | Op::Halt => {
                self.facts.event = true;
                self.on = false;
            }
        }
    }

    fn go(&mut self, target: usize) {
        self.facts.goes = Some(target);
        self.out.push((target, self.state.clone()));
        self.on = false;
    }

    /// Runs both sides of a condition, and joins what they leave. `condition` are the ops that
    /// find out whether it holds, where they are all of the instruction before it.
    fn both(&mut self, condition: &[Op], says: Temp, yes: &[Op], no: &[Op]) {
        let (state, temps) = (self.state.clone(), self.temps.clone());
        let written = self.facts.writes.len();
        self.state.assume(condition, true);
        self.run(yes, false);
        let (on, after, left) = (self.on, self.state.clone(), std::mem::take(&mut self.temps));
        (self.state, self.temps, self.on) = (state, temps, true);
        self.state.assume(condition, false);
        self.run(no, false);
        match (on, self.on) {
            (true, true) => {
                let other = self.state.clone();
                self.state.join(&after, self.world);
                let len = self.temps.len().max(left.len());
                self.temps.resize(len, None);
                for (i, t) in self.temps.iter_mut().enumerate() {
                    // Each side may assign what the other does not; then it is not used after.
                    if left.get(i).copied().flatten() != *t {
                        *t = None;
                    }
                }
                let writes = &self.facts.writes[written..];
                if !condition.is_empty() && !writes.iter().any(|(r, ..)| reads(condition, *r)) {
                    self.state.remember(condition, says, [&other, &after]);
                }
            }
            (true, false) => (self.state, self.temps, self.on) = (after, left, true),
            _ => {}
        }
    }

    fn access(
        &mut self,
        addr: Temp,
        size: u8,
        (store, certain): (bool, bool),
        tags: Tags,
        temp: Temp,
    ) -> Place {
        let place = self.world.place(self.get(addr), size);
        let atomic = tags.meets(tag::X | tag::EX);
        let near = match place {
            Place::Open => self.get(addr).and_then(|k| self.world.around(k)),
            _ => None,
        };
        let stored = self.get(temp).filter(|_| store && !atomic);
        let access = Access { place, size, store, atomic, certain, temp, stored, near };
        self.facts.accesses.push(access);
        place
    }

    fn stored(&mut self, place: Place, size: u8, known: Option<Known>) {
        match place {
            Place::Stack(at) => {
                self.state.forget(at, size);
                if let Some(known) = known {
                    let known = match known {
                        Known::Val(Val::Int(n)) => {
                            Known::Val(Val::Int(n & mask(size.saturating_mul(8))))
                        }
                        k if u32::from(size) * 8 >= u32::from(self.world.address_bits) => k,
                        Known::Stack(_) => Known::Frame,
                        _ => return,
                    };
                    self.state.slots.insert(at, (size, known));
                }
            }
            Place::Frame => self.forget_frame(),
            Place::Open if self.world.frame.is_some() => self.forget_frame(),
            _ => {}
        }
    }

    /// Forgets what is in the frame. The caller's part of the stack is not in it.
    fn forget_frame(&mut self) {
        match self.world.frame {
            Some(_) => self.state.slots.retain(|at, _| *at >= 0),
            None => self.state.slots.clear(),
        }
    }
}

/// A number of so many bits, with its sign.
fn signed(v: Val, width: u8) -> Option<i64> {
    let Val::Int(n) = v else { return None };
    let spare = 128 - u32::from(width.max(1));
    Some(((n << spare) as i128 >> spare) as i64)
}
