//! What registers and places of memory can hold, whatever the order in which code runs: a few values, or anything.
//!
//! It computes with the values themselves, until nothing is added. It does not know paths.

use smallvec::SmallVec;

use super::super::program::Program;
use super::super::skeleton::initial_value;
use super::Reach;
use litmake_ops::eval::{eval_bin, eval_un};
use litmake_ops::{Op, Temp, UnOp, Val};

/// What may be held somewhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// One of these, or, while there is none, nothing yet.
    OneOf(SmallVec<[Val; 4]>),
    /// Any number, and any address in a location that [`Reach`] does not rule out.
    Anything,
}

/// What may hold more values than this counts as holding anything.
const MOST: usize = 64;
/// After so many rounds, what still grows counts as holding anything.
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

    /// Adds what the other may be; whether that was new.
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

    /// What an operation makes of it. Arithmetic without a meaning has no value; whoever needs one there is
    /// told so in the search.
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

/// What the places of one location may hold beside what they held at first.
#[derive(Clone, Debug, Default)]
struct Stored {
    /// By offset and size, what may be stored there.
    ranges: Vec<(u32, u8, Held)>,
    /// Something may be stored anywhere in it.
    anywhere: bool,
}

/// What the places of memory may hold.
#[derive(Clone, Debug)]
pub struct Contents {
    stored: Vec<Stored>,
}

impl Contents {
    pub fn of(program: &Program, reach: &Reach) -> Contents {
        let nothing = || Held::one(Val::ZERO);
        let mut flow = Flow {
            program,
            reach,
            regs: program.threads.iter().map(|t| vec![nothing(); t.code.regs.len()]).collect(),
            memory: Contents { stored: vec![Stored::default(); program.locations.len()] },
            at: (0, 0),
            widen: false,
            changed: true,
        };
        for (thread, regs) in program.threads.iter().zip(&mut flow.regs) {
            for (reg, val) in &thread.reg_init {
                regs[usize::from(*reg)] = Held::one(*val);
            }
        }
        let mut round = 0;
        while std::mem::take(&mut flow.changed) {
            flow.widen = round >= ROUNDS;
            round += 1;
            for (t, thread) in program.threads.iter().enumerate() {
                for (i, inst) in thread.code.insts.iter().enumerate() {
                    flow.at = (t, i);
                    flow.ops(&inst.ops, &mut Temps::default());
                }
            }
        }
        flow.memory
    }

    /// What a read of a place may return.
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

struct Flow<'p> {
    program: &'p Program,
    reach: &'p Reach,
    regs: Vec<Vec<Held>>,
    memory: Contents,
    /// The thread and the instruction at hand.
    at: (usize, usize),
    /// Whether what grows is to hold anything.
    widen: bool,
    changed: bool,
}

impl Flow<'_> {
    fn ops(&mut self, ops: &[Op], temps: &mut Temps) {
        for op in ops {
            match op {
                Op::Const { dst, val } => temps.add(*dst, &Held::one(*val)),
                Op::ReadReg { dst, reg, .. } => {
                    temps.add(*dst, &self.regs[self.at.0][usize::from(*reg)]);
                }
                Op::WriteReg { reg, src } => {
                    let held = &mut self.regs[self.at.0][usize::from(*reg)];
                    self.changed |= grow(held, &temps.get(*src), self.widen);
                }
                Op::Un { dst, op, a, width } => {
                    let held = temps.get(*a).map(|v| eval_un(*op, v, *width));
                    temps.add(*dst, &held);
                }
                Op::Bin { dst, op, a, b, width } => {
                    let (a, b) = (temps.get(*a), temps.get(*b));
                    temps.add(*dst, &a.with(&b, |x, y| eval_bin(*op, x, y, *width)));
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
                    self.ops(yes, temps);
                    self.ops(no, temps);
                }
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
                | Op::Branch { .. }
                | Op::Jump { .. }
                | Op::JumpTo { .. }
                | Op::Halt => {}
            }
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

    /// A place in memory. An access that is elsewhere ends its path with an error.
    fn place(&self, val: Val) -> Option<(u16, u32)> {
        let Val::Ptr { loc, off } = val else { return None };
        let off = u32::try_from(off).ok()?;
        (off < self.program.locations[usize::from(loc)].size.max(1)).then_some((loc, off))
    }
}

fn grow(held: &mut Held, by: &Held, widen: bool) -> bool {
    let grown = held.add(by);
    if grown && widen {
        *held = Held::Anything;
    }
    grown
}

/// The temporaries of an instruction. One that is set on two ways can be what either sets it to.
#[derive(Default)]
struct Temps(Vec<Held>);

impl Temps {
    fn get(&self, temp: Temp) -> Held {
        self.0.get(usize::from(temp)).cloned().unwrap_or_default()
    }

    fn add(&mut self, temp: Temp, held: &Held) {
        let at = usize::from(temp);
        if self.0.len() <= at {
            self.0.resize(at + 1, Held::default());
        }
        self.0[at].add(held);
    }
}
