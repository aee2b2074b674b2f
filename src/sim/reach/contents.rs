//! The values that registers and places of memory can hold, whatever the order in which code runs: a few, or any.
//!
//! It computes with the values themselves, until nothing is added. It does not know paths.

use smallvec::SmallVec;

use super::super::program::{Program, Thread};
use super::super::skeleton::initial_value;
use super::Reach;
use litmake_ops::eval::{eval_bin, eval_un};
use litmake_ops::{BinOp, Op, Reg, Temp, UnOp, Val};

/// The values that a register or a place may hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// One of these values, or, while there is none, nothing yet.
    OneOf(SmallVec<[Val; 4]>),
    /// Any number, and any address in a location that [`Reach`] does not rule out.
    Anything,
}

/// A register or a place that may hold more values than this counts as holding anything.
const MOST: usize = 64;
/// In a program with loops, a register or a place that still gets new values after so many rounds counts as holding
/// anything.
const ROUNDS: usize = 8;

impl Default for Held {
    fn default() -> Held {
        Held::OneOf(SmallVec::new())
    }
}

impl Held {
    fn one(val: Val) -> Held {
        Held::OneOf(SmallVec::from_elem(val, 1))
    }

    /// Adds the values of the other; whether one of them was new.
    fn add(&mut self, other: &Held) -> bool {
        let (Held::OneOf(all), Held::OneOf(more)) = (&mut *self, other) else {
            let new = *self != Held::Anything && *other == Held::Anything;
            if new {
                *self = Held::Anything;
            }
            return new;
        };
        let before = all.len();
        for val in more {
            if !all.contains(val) {
                all.push(*val);
            }
        }
        let new = all.len() > before;
        if all.len() > MOST {
            *self = Held::Anything;
        }
        new
    }

    /// The results of an operation on the values. Arithmetic without a meaning has no result; the search reports it
    /// where one is needed.
    fn map(&self, of: impl Fn(Val) -> Option<Val>) -> Held {
        match self {
            Held::Anything => Held::Anything,
            Held::OneOf(all) => {
                let mut out = Held::default();
                all.iter().filter_map(|val| of(*val)).for_each(|val| {
                    out.add(&Held::one(val));
                });
                out
            }
        }
    }

    fn with(&self, other: &Held, of: impl Fn(Val, Val) -> Option<Val>) -> Held {
        let mut out = Held::default();
        match (self, other) {
            // Nothing yet on one side gives nothing yet.
            (Held::OneOf(none), _) | (_, Held::OneOf(none)) if none.is_empty() => {}
            (Held::OneOf(all), Held::OneOf(_)) => {
                for val in all {
                    out.add(&other.map(|o| of(*val, o)));
                }
            }
            _ => out = Held::Anything,
        }
        out
    }
}

/// The values that the places of one location may hold besides the initial ones.
#[derive(Clone, Debug, Default)]
struct Stored {
    /// The values that may be stored in the location, by offset and size.
    ranges: Vec<(u32, u8, Held)>,
    /// Something may be stored anywhere in the location.
    anywhere: bool,
}

/// The values that the places of memory may hold.
#[derive(Clone, Debug)]
pub struct Contents {
    stored: Vec<Stored>,
}

impl Contents {
    pub fn of(program: &Program, reach: &Reach) -> Contents {
        let initial = |t: &Thread| {
            let mut regs = vec![Held::one(Val::ZERO); t.code.regs.len()];
            for (reg, val) in &t.reg_init {
                regs[usize::from(*reg)] = Held::one(*val);
            }
            regs
        };
        let mut flow = Flow {
            program,
            reach,
            regs: program.threads.iter().map(initial).collect(),
            jumped: Vec::new(),
            straight: false,
            memory: Contents { stored: vec![Stored::default(); program.locations.len()] },
            at: (0, 0),
            widen: false,
            changed: true,
        };
        // Where each instruction runs once at most, a value goes through as many stores as there are at most.
        let stores = stores_without_loops(program);
        let mut round = 0;
        while std::mem::take(&mut flow.changed) && stores.is_none_or(|most| round <= most) {
            flow.widen = stores.is_none() && round >= ROUNDS;
            round += 1;
            for (t, thread) in program.threads.iter().enumerate() {
                if stores.is_some() {
                    flow.regs[t] = initial(thread);
                    flow.jumped = vec![None; thread.code.insts.len() + 1];
                }
                for (i, inst) in thread.code.insts.iter().enumerate() {
                    flow.at = (t, i);
                    flow.straight = stores.is_some();
                    flow.arrive();
                    flow.ops(&inst.ops, &mut Temps::default());
                }
            }
        }
        flow.memory
    }

    /// The values that a read of a place may return.
    pub fn at(&self, program: &Program, loc: u16, off: u32, size: u8) -> Held {
        let stored = &self.stored[usize::from(loc)];
        let meets = |o: u32, s: u8| o < off + u32::from(size) && off < o + u32::from(s);
        let apart = |(o, s, _): &(u32, u8, Held)| meets(*o, *s) && (*o, *s) != (off, size);
        if stored.anywhere || stored.ranges.iter().any(apart) {
            return Held::Anything;
        }
        let mut held = Held::one(initial_value(&program.locations[usize::from(loc)], off, size));
        if let Some((.., more)) = stored.ranges.iter().find(|(o, s, _)| (*o, *s) == (off, size)) {
            held.add(more);
        }
        held
    }
}

/// The number of stores; `None` for a program with a jump backwards, or to an address.
fn stores_without_loops(program: &Program) -> Option<usize> {
    fn stores(ops: &[Op], at: usize) -> Option<usize> {
        ops.iter().try_fold(0, |sum, op| {
            Some(
                sum + match op {
                    Op::Store { .. } | Op::StoreEx { .. } | Op::Rmw { .. } => 1,
                    Op::If { yes, no, .. } => stores(yes, at)? + stores(no, at)?,
                    Op::Branch { target, .. } | Op::Jump { target } if *target as usize <= at => {
                        return None;
                    }
                    Op::JumpTo { .. } => return None,
                    _ => 0,
                },
            )
        })
    }
    let threads = program.threads.iter();
    let mut insts = threads.flat_map(|t| t.code.insts.iter().enumerate());
    insts.try_fold(0, |sum, (at, inst)| Some(sum + stores(&inst.ops, at)?))
}

struct Flow<'p> {
    program: &'p Program,
    reach: &'p Reach,
    /// The values of registers, by thread. Without loops, these are the values at the instruction at hand; with loops,
    /// those anywhere.
    regs: Vec<Vec<Held>>,
    /// For each instruction, the values of registers at the jumps to it.
    jumped: Vec<Option<Vec<Held>>>,
    /// Whether a register that is written forgets what it held.
    straight: bool,
    memory: Contents,
    /// The thread and the instruction at hand.
    at: (usize, usize),
    /// Whether a register or a place that gets new values is to hold anything.
    widen: bool,
    changed: bool,
}

impl Flow<'_> {
    fn ops(&mut self, ops: &[Op], temps: &mut Temps) {
        for op in ops {
            match op {
                Op::Const { dst, val } => temps.add(*dst, &Held::one(*val)),
                Op::ReadReg { dst, reg, .. } => {
                    let held = self.regs[self.at.0][usize::from(*reg)].clone();
                    temps.set(*dst, &held, Origin::Register(*reg));
                }
                Op::WriteReg { reg, src } => {
                    let held = &mut self.regs[self.at.0][usize::from(*reg)];
                    match self.straight {
                        true => *held = temps.get(*src),
                        false => self.changed |= grow(held, &temps.get(*src), self.widen),
                    }
                }
                Op::Un { dst, op, a, width } => {
                    let held = temps.get(*a).map(|v| eval_un(*op, v, *width));
                    match temps.number(*a) {
                        Some(of) => temps.set(*dst, &held, Origin::Of(*op, of, *width)),
                        None => temps.add(*dst, &held),
                    }
                }
                Op::Bin { dst, op, a, b, width } => {
                    // `r ^ r` is 0, whatever the register holds.
                    let same = temps.number(*a).is_some() && temps.number(*a) == temps.number(*b);
                    let (a, b) = (temps.get(*a), temps.get(*b));
                    let held = match same {
                        true if matches!(op, BinOp::Xor | BinOp::Sub) => Held::one(Val::ZERO),
                        true => a.map(|x| eval_bin(*op, x, x, *width)),
                        false => a.with(&b, |x, y| eval_bin(*op, x, y, *width)),
                    };
                    temps.add(*dst, &held);
                }
                Op::Select { dst, yes, no, .. } => {
                    let (yes, no) = (temps.get(*yes), temps.get(*no));
                    temps.add(*dst, &yes);
                    temps.add(*dst, &no);
                }
                Op::Load { dst, addr, size, .. } => {
                    let held = self.read(*addr, *size, temps);
                    temps.add(*dst, &held);
                }
                Op::Store { addr, src, size, .. } => self.write(*addr, *size, *src, temps),
                Op::StoreEx { status, addr, src, size, ok, fail, .. } => {
                    self.write(*addr, *size, *src, temps);
                    for known in [ok, fail] {
                        temps.add(*status, &Held::one(Val::Int(u128::from(*known))));
                    }
                }
                Op::Rmw { dst, addr, size, body, new, .. } => {
                    let held = self.read(*addr, *size, temps);
                    temps.add(*dst, &held);
                    self.ops(body, temps);
                    self.write(*addr, *size, *new, temps);
                }
                Op::If { yes, no, .. } => {
                    self.straight = false;
                    self.ops(yes, temps);
                    self.ops(no, temps);
                }
                Op::Branch { target, .. } | Op::Jump { target } => self.leave(*target as usize),
                Op::Choose { dst } => {
                    for bit in [0, 1] {
                        temps.add(*dst, &Held::one(Val::Int(bit)));
                    }
                }
                Op::Touch { .. }
                | Op::Assume { .. }
                | Op::Undefined { .. }
                | Op::Fence { .. }
                | Op::Control { .. }
                | Op::JumpTo { .. }
                | Op::Halt => {}
            }
        }
    }

    /// Keeps what registers hold at a jump for the instruction that it leads to.
    fn leave(&mut self, target: usize) {
        if let Some(there) = self.jumped.get_mut(target) {
            let regs = &self.regs[self.at.0];
            match there {
                None => *there = Some(regs.clone()),
                Some(there) => join(there, regs),
            }
        }
    }

    /// Adds what registers hold where jumps to the instruction at hand come from.
    fn arrive(&mut self) {
        let (thread, inst) = self.at;
        if let Some(there) = self.jumped.get_mut(inst).and_then(Option::take) {
            join(&mut self.regs[thread], &there);
        }
    }

    fn read(&self, addr: Temp, size: u8, temps: &Temps) -> Held {
        let Held::OneOf(places) = temps.get(addr) else { return Held::Anything };
        let mut held = Held::default();
        for place in places {
            if let Some((loc, off)) = self.place(place) {
                held.add(&self.memory.at(self.program, loc, off, size));
            }
        }
        held
    }

    fn write(&mut self, addr: Temp, size: u8, src: Temp, temps: &Temps) {
        let bits = size.saturating_mul(8);
        let what = temps.get(src).map(|v| eval_un(UnOp::ZeroExt { from: bits }, v, 128));
        let Held::OneOf(places) = temps.get(addr) else {
            let (thread, inst) = self.at;
            let all = self.reach.locations(thread, inst, addr).unwrap_or(u128::MAX);
            for (loc, stored) in self.memory.stored.iter_mut().enumerate() {
                if all >> loc & 1 == 1 {
                    self.changed |= !std::mem::replace(&mut stored.anywhere, true);
                }
            }
            return;
        };
        for place in places {
            let Some((loc, off)) = self.place(place) else { continue };
            let ranges = &mut self.memory.stored[usize::from(loc)].ranges;
            let known = ranges.iter().position(|(o, s, _)| (*o, *s) == (off, size));
            let at = known.unwrap_or_else(|| {
                ranges.push((off, size, Held::default()));
                self.changed = true;
                ranges.len() - 1
            });
            self.changed |= grow(&mut ranges[at].2, &what, self.widen);
        }
    }

    /// The place in memory that an address leads to. An access elsewhere ends its path with an error.
    fn place(&self, val: Val) -> Option<(u16, u32)> {
        let Val::Ptr { loc, off } = val else { return None };
        let off = u32::try_from(off).ok()?;
        (off < self.program.locations[usize::from(loc)].size.max(1)).then_some((loc, off))
    }
}

fn join(all: &mut [Held], more: &[Held]) {
    for (held, by) in all.iter_mut().zip(more) {
        held.add(by);
    }
}

fn grow(held: &mut Held, by: &Held, widen: bool) -> bool {
    let grown = held.add(by);
    if grown && widen {
        *held = Held::Anything;
    }
    grown
}

/// How a temporary is computed, where two that are computed alike are equal.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Register(Reg),
    /// An operation on the origin with this number, and its width.
    Of(UnOp, usize, u8),
}

/// The temporaries of an instruction. One that is set on two ways can be what either sets it to.
#[derive(Default)]
struct Temps {
    held: Vec<Held>,
    /// The origins of the temporaries, each once; and for each temporary, the number of its origin in this list.
    origins: Vec<Origin>,
    numbers: Vec<Option<usize>>,
}

impl Temps {
    fn get(&self, temp: Temp) -> Held {
        self.held.get(usize::from(temp)).cloned().unwrap_or_default()
    }

    fn add(&mut self, temp: Temp, held: &Held) {
        let at = usize::from(temp);
        if self.held.len() <= at {
            self.held.resize(at + 1, Held::default());
            self.numbers.resize(at + 1, None);
        }
        // Set a second time, it may be either.
        self.numbers[at] = None;
        self.held[at].add(held);
    }

    fn number(&self, temp: Temp) -> Option<usize> {
        self.numbers.get(usize::from(temp)).copied().flatten()
    }

    /// Sets a temporary, and says what it comes from.
    fn set(&mut self, temp: Temp, held: &Held, origin: Origin) {
        let first = self.held.get(usize::from(temp)).is_none_or(|h| *h == Held::default());
        self.add(temp, held);
        if !first {
            return;
        }
        let known = self.origins.iter().position(|o| *o == origin);
        let number = known.unwrap_or_else(|| {
            self.origins.push(origin);
            self.origins.len() - 1
        });
        self.numbers[usize::from(temp)] = Some(number);
    }
}
