//! Where the addresses of a program can lead, and which locations nothing writes to.
//!
//! Addresses are followed through registers and memory, whatever the order in which code runs, so what is
//! found is never too little. It does not know paths, values or models.

use smallvec::SmallVec;

use super::program::Program;
use litmake_ops::{Op, Temp, Val};

/// Locations, a bit each.
type Set = u128;

/// The locations at which the accesses of one instruction can be, by the temporary that holds the address.
type Accesses = SmallVec<[(Temp, Set); 2]>;

/// What is known of the locations of a program.
#[derive(Clone, Debug)]
pub struct Reach {
    /// By thread and instruction.
    accesses: Vec<Vec<Accesses>>,
    written: Set,
}

impl Reach {
    /// Nothing for a program with more locations than a set holds.
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
        Some(Reach { accesses, written: flow.written })
    }

    /// Whether an access of an instruction, at the address that is in `addr`, can be at a location.
    pub fn leads(&self, thread: usize, inst: usize, addr: Temp, loc: u16) -> bool {
        let all = self.accesses.get(thread).and_then(|insts| insts.get(inst));
        let set = all.and_then(|all| all.iter().find(|(temp, _)| *temp == addr));
        set.is_none_or(|(_, set)| set >> loc & 1 == 1)
    }

    /// Whether nothing writes to a location, so that it always holds what it held at first.
    pub fn is_never_written(&self, loc: u16) -> bool {
        self.written >> loc & 1 == 0
    }
}

/// The location that a value is an address in.
fn to(val: Val) -> Set {
    match val {
        Val::Ptr { loc, .. } => 1 << loc,
        Val::Int(_) | Val::Code(_) => 0,
    }
}

/// To which locations what is somewhere can be an address, or can be made one.
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
