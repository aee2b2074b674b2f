//! Where the addresses of a program can lead, which locations one thread alone accesses, and what the places of
//! memory can hold.
//!
//! Addresses and values are followed through registers and memory, whatever the order in which code runs, so what
//! is found is never too little. It does not know paths, expressions or models.

mod contents;

use std::cell::OnceCell;

use smallvec::SmallVec;

use super::program::{ObservedPlace, Program};
use contents::Contents;
use litmake_ops::{Op, Temp, Val};

pub use contents::Held;

/// Locations, a bit each.
type Set = u128;

/// The locations at which the accesses of one instruction can be, by the temporary that holds the address.
type Accesses = SmallVec<[(Temp, Set); 2]>;

/// The locations that the accesses of a program can reach, and the values that its places can hold.
#[derive(Debug)]
pub struct Reach {
    /// The locations of accesses, by thread and instruction.
    accesses: Vec<Vec<Accesses>>,
    written: Set,
    /// The values that places can hold. Only a program that computes an address from what it reads needs them.
    contents: OnceCell<Contents>,
}

impl Reach {
    /// Follows the addresses of a program; none for a program with more locations than a set holds.
    pub fn of(program: &Program) -> Option<Reach> {
        if program.locations.len() > Set::BITS as usize {
            return None;
        }
        let mut flow = Flow {
            regs: program.threads.iter().map(|t| vec![0; t.code.regs.len()]).collect(),
            contents: vec![0; program.locations.len()],
            written: 0,
            changed: true,
        };
        for (thread, regs) in program.threads.iter().zip(&mut flow.regs) {
            for (reg, val) in &thread.reg_init {
                regs[usize::from(*reg)] |= to(*val);
            }
        }
        for (location, contents) in program.locations.iter().zip(&mut flow.contents) {
            *contents |= location.init.iter().fold(0, |all, (_, _, val)| all | to(*val));
        }
        // Sets only grow, so this comes to an end.
        let mut accesses = Vec::new();
        while std::mem::take(&mut flow.changed) {
            let threads = program.threads.iter().enumerate();
            accesses = threads
                .map(|(t, thread)| {
                    thread.code.insts.iter().map(|inst| flow.instruction(t, &inst.ops)).collect()
                })
                .collect();
        }
        Some(Reach { accesses, written: flow.written, contents: OnceCell::new() })
    }

    /// Whether an access of an instruction, at the address that is in `addr`, can be at a location.
    pub fn leads(&self, thread: usize, inst: usize, addr: Temp, loc: u16) -> bool {
        self.locations(thread, inst, addr).is_none_or(|set| set >> loc & 1 == 1)
    }

    fn locations(&self, thread: usize, inst: usize, addr: Temp) -> Option<Set> {
        let all = self.accesses.get(thread).and_then(|insts| insts.get(inst))?;
        all.iter().find(|(temp, _)| *temp == addr).map(|(_, set)| *set)
    }

    /// Whether nothing writes to a location, so that it always holds what it held at first.
    pub fn is_never_written(&self, loc: u16) -> bool {
        self.written >> loc & 1 == 0
    }

    /// For each location that is not observed, the one thread that accesses it, if there is one.
    pub fn private(&self, program: &Program) -> Vec<Option<u16>> {
        let (mut any, mut shared): (Set, Set) = (0, 0);
        for o in &program.observed {
            if let ObservedPlace::Mem { loc, .. } = o.place {
                shared |= 1 << loc;
            }
        }
        let mut only = vec![None; program.locations.len()];
        for (thread, insts) in self.accesses.iter().enumerate() {
            let own = insts.iter().flatten().fold(0, |all, (_, set)| all | set);
            shared |= any & own;
            any |= own;
            for loc in each(own) {
                only[loc] = Some(thread as u16);
            }
        }
        for (loc, thread) in only.iter_mut().enumerate() {
            if shared >> loc & 1 == 1 {
                *thread = None;
            }
        }
        only
    }

    /// The values that a read of a place can return.
    pub fn held(&self, program: &Program, loc: u16, off: u32, size: u8) -> Held {
        let contents = self.contents.get_or_init(|| Contents::of(program, self));
        contents.at(program, loc, off, size)
    }
}

/// The location that a value is an address in.
fn to(val: Val) -> Set {
    match val {
        Val::Ptr { loc, .. } => 1 << loc,
        Val::Int(_) | Val::Code(_) => 0,
    }
}

/// For each register and location, the locations that its content can be an address in, or can be made one in.
struct Flow {
    regs: Vec<Vec<Set>>,
    contents: Vec<Set>,
    written: Set,
    changed: bool,
}

impl Flow {
    fn instruction(&mut self, thread: usize, ops: &[Op]) -> Accesses {
        let (mut temps, mut accesses) = (Temps::default(), Accesses::new());
        self.ops(thread, ops, &mut temps, &mut accesses);
        accesses
    }

    fn ops(&mut self, thread: usize, ops: &[Op], temps: &mut Temps, accesses: &mut Accesses) {
        for op in ops {
            match op {
                Op::Const { dst, val } => temps.add(*dst, to(*val)),
                Op::ReadReg { dst, reg, .. } => {
                    temps.add(*dst, self.regs[thread][usize::from(*reg)]);
                }
                Op::WriteReg { reg, src } => {
                    let set = temps.get(*src);
                    grow(&mut self.regs[thread][usize::from(*reg)], set, &mut self.changed);
                }
                Op::Un { dst, a, .. } => temps.add(*dst, temps.get(*a)),
                Op::Bin { dst, a, b, .. } => temps.add(*dst, temps.get(*a) | temps.get(*b)),
                Op::Select { dst, yes, no, .. } => {
                    temps.add(*dst, temps.get(*yes) | temps.get(*no));
                }
                Op::Load { dst, addr, .. } => {
                    let at = note(*addr, temps, accesses);
                    temps.add(*dst, self.read(at));
                }
                Op::Store { addr, src, .. } | Op::StoreEx { addr, src, .. } => {
                    let at = note(*addr, temps, accesses);
                    self.write(at, temps.get(*src));
                }
                Op::Rmw { dst, addr, body, new, .. } => {
                    let at = note(*addr, temps, accesses);
                    temps.add(*dst, self.read(at));
                    self.ops(thread, body, temps, accesses);
                    self.write(at, temps.get(*new));
                }
                Op::Touch { addr, .. } => {
                    note(*addr, temps, accesses);
                }
                Op::If { yes, no, .. } => {
                    self.ops(thread, yes, temps, accesses);
                    self.ops(thread, no, temps, accesses);
                }
                Op::Choose { .. }
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

    fn read(&self, at: Set) -> Set {
        each(at).fold(0, |all, loc| all | self.contents[loc])
    }

    fn write(&mut self, at: Set, what: Set) {
        self.written |= at;
        for loc in each(at) {
            grow(&mut self.contents[loc], what, &mut self.changed);
        }
    }
}

fn note(addr: Temp, temps: &Temps, accesses: &mut Accesses) -> Set {
    let at = temps.get(addr);
    match accesses.iter_mut().find(|(temp, _)| *temp == addr) {
        Some((_, set)) => *set |= at,
        None => accesses.push((addr, at)),
    }
    at
}

fn each(set: Set) -> impl Iterator<Item = usize> {
    (0..Set::BITS as usize).filter(move |loc| set >> loc & 1 == 1)
}

fn grow(set: &mut Set, by: Set, changed: &mut bool) {
    *changed |= by & !*set != 0;
    *set |= by;
}

/// The temporaries of an instruction. One that is set on two ways can be what either sets it to.
#[derive(Default)]
struct Temps(SmallVec<[Set; 16]>);

impl Temps {
    fn get(&self, temp: Temp) -> Set {
        self.0.get(usize::from(temp)).copied().unwrap_or(0)
    }

    fn add(&mut self, temp: Temp, set: Set) {
        let at = usize::from(temp);
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= set;
    }
}
