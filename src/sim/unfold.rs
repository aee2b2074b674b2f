//! Unfolds a thread's code into its paths: every way through it, with events, constraints and
//! dependencies. What reads return is not known yet.
//!
//! A path forks at a branch, an address or a store-conditional that is not decided yet. Private
//! memory makes no event: its values and dependencies are resolved here. (If the address itself
//! depends on a read there is an event all the same, since models order what follows it.)
//! Nothing here knows models or coherence; [`super::visible`] says which memory is private.

mod access;
mod addresses;
pub mod pools;

use std::rc::Rc;
use std::time::Instant;

use smallvec::SmallVec;

use super::expr::{ExprId, Exprs, Var};
use super::path::{Doubt, Kind, Path, PathError, PathEvent, Paths, Taint};
use super::private::PrivateMemory;
use super::program::{ObservedPlace, Program};
use super::reach::Reach;
use super::results::late;
use super::visible::Private;
use litmake_litmus::Branches;
use litmake_ops::eval::truth;
use litmake_ops::{BARRIERS, Code, Op, Port, Tags, Temp, Undefined, Val, tag};
use pools::Pools;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How often a loop's body may run.
    pub unroll: u32,
    pub deadline: Option<Instant>,
    pub max_paths: usize,
    /// Whether a turn of a loop in which a counter moved does not count against `unroll`.
    pub counters: bool,
    /// How many instructions a path may execute again, in all.
    pub max_again: usize,
    pub null_is_undefined: bool,
    /// Whether registers make events, for models that compute dependencies themselves.
    pub register_events: bool,
    pub branches: Branches,
    pub private: Private,
    /// Whether the status of a store-conditional depends on its write, where the instruction says so.
    pub status_depends: bool,
}

/// Why a path, or a thread, cannot be unfolded further.
#[derive(Clone, Debug)]
pub enum Obstacle {
    /// The path at hand has an error.
    Error(PathError),
    /// What the path at hand does next is undefined, so that it ends here.
    Undefined(Undefined),
    TooManyPaths {
        thread: usize,
    },
    /// The time was over before all paths were found.
    OutOfTime {
        thread: usize,
    },
    /// A location given as private is used in a way that needs an event.
    NotPrivate(u16),
}

/// The annotations of accesses that look at a lock or take it.
const LOCK: Tags = tag::C_LKW.with(tag::C_LF).with(tag::C_RL).with(tag::C_RU);

/// After so many parts of paths the clock is looked at.
const LOOK: u64 = 64;

/// Stands for a line that a path has not executed.
const NEVER: u32 = u32::MAX;

/// The latest load-exclusive: its place and its event.
#[derive(Clone, Copy)]
struct Reservation {
    loc: u16,
    off: u32,
    size: u8,
    read: u16,
}

/// A path so far.
#[derive(Clone)]
struct State<'c> {
    pc: usize,
    regs: Vec<Tainted>,
    temps: Vec<Tainted>,
    /// The rest of the current instruction: lists of ops, innermost last.
    frames: SmallVec<[Frame<'c>; 2]>,
    events: Vec<PathEvent>,
    constraints: Vec<(ExprId, bool)>,
    doubts: Vec<Doubt>,
    ctrl: Taint,
    reservation: Option<Reservation>,
    entered: SmallVec<[Entered; 4]>,
    private: PrivateMemory,
    /// The latest access to private memory: its instruction, and its location.
    private_at: Option<(u16, u16)>,
    /// The control dependencies to which [`Op::Control`] returns, outermost first.
    control: SmallVec<[Taint; 0]>,
    accesses: u16,
    instance: u16,
    again: usize,
    /// How many choices the path has made.
    forks: u32,
    /// How many conditional branches were decided by numbers that are the same in every execution.
    decided: u32,
    /// For each line, how many it had made when it was last there, or [`NEVER`].
    forks_at: Vec<u32>,
}

impl State<'_> {
    /// The read that returned a value of this thread.
    fn read(&self, var: Var) -> Option<&PathEvent> {
        self.events.iter().find(|e| e.reads() && e.access == var.access)
    }

    /// Puts what is known now into all that the path holds.
    fn settle(&mut self, mut known: impl FnMut(ExprId) -> ExprId) {
        for tainted in self.temps.iter_mut().chain(&mut self.regs) {
            if tainted.value != ExprId::MAX {
                tainted.value = known(tainted.value);
            }
        }
        self.private.settle(known);
    }

    /// Lets the op at hand run again.
    fn again(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next -= 1;
        }
    }
}

/// A target of jumps backwards, on one path.
#[derive(Clone)]
struct Entered {
    target: u32,
    /// How often it was entered again, without the turns in which a counter moved.
    turns: u32,
    /// The registers when it was entered last.
    regs: Rc<[ExprId]>,
    /// How many stores to private memory the path had made then.
    stores: usize,
    /// How many branches were decided then.
    decided: u32,
}

/// A list of ops that is being run, and the decision on which they depend.
#[derive(Clone)]
struct Frame<'c> {
    ops: &'c [Op],
    next: usize,
    hang: Hang,
}

/// The decision on which ops in a conditional part of an instruction depend by control.
#[derive(Clone, Copy, Default)]
struct Hang {
    taint: Taint,
    decision: u128,
    /// Whether the path chose it.
    chosen: bool,
}

/// A value with its dependencies and, for register events, the events of this instruction from
/// which it comes.
#[derive(Clone, Copy, Debug)]
pub struct Tainted {
    pub value: ExprId,
    pub taint: Taint,
    pub from: u128,
    pub by_ctrl: u128,
    /// Whether the path chose it, as it does whether a store-conditional succeeds.
    pub chosen: bool,
}

impl Tainted {
    pub fn plain(value: ExprId) -> Tainted {
        Tainted { value, taint: Taint::NONE, from: 0, by_ctrl: 0, chosen: false }
    }

    fn chosen(value: ExprId) -> Tainted {
        Tainted { chosen: true, ..Tainted::plain(value) }
    }
}

pub struct Unfolder<'p> {
    pub program: &'p Program,
    pub limits: Limits,
    /// For each location, the one thread that can reach it, where there is one.
    pub private: &'p [Option<u16>],
    pub guide: Guide<'p>,
    pub thread: usize,
    /// Set when a side of a fork went past the unrolling bound.
    pub cut: std::cell::Cell<bool>,
}

/// How it is found out where an address leads that is computed from what is read.
#[derive(Clone, Copy)]
pub enum Guide<'p> {
    /// To the places that follow from the program; to all, where nothing is known of it.
    Places(Option<&'p Reach>),
    /// The way of the reference, which shares nothing with the other: what is read is each value that some
    /// path writes.
    Values(&'p Pools),
}

impl<'p> Guide<'p> {
    fn reach(self) -> Option<&'p Reach> {
        match self {
            Guide::Places(reach) => reach,
            Guide::Values(_) => None,
        }
    }
}

/// Whether a register holds another number than it did.
fn differ(before: &[ExprId], now: &[ExprId], exprs: &Exprs) -> bool {
    let number = |e: ExprId| exprs.as_const(e);
    let mut pairs = before.iter().zip(now);
    pairs.any(|(a, b)| a != b && number(*a).is_some() && number(*b).is_some())
}

/// The continuation of a path after one op.
enum Advance<'c> {
    Go,
    Done,
    Drop,
    Cut,
    Fork(Vec<State<'c>>),
    /// A fork with a way that ends in an error.
    Astray(Vec<State<'c>>, Box<(State<'c>, PathError)>),
}

fn forked(mut state: State) -> State {
    state.forks += 1;
    state
}

/// Most events on one path of a thread: dependencies are masks of this many bits.
const MOST_EVENTS: usize = 128;
/// Past so many events, the turns of every loop count against the unrolling bound.
const ROOM: usize = MOST_EVENTS / 2;

impl<'p> Unfolder<'p> {
    pub fn run(&self, exprs: &mut Exprs) -> Result<Paths, Obstacle> {
        let thread = &self.program.threads[self.thread];
        let code: &'p Code = &thread.code;
        let mut regs = vec![Tainted::plain(exprs.int(0)); code.regs.len()];
        for (reg, val) in &thread.reg_init {
            regs[usize::from(*reg)].value = exprs.constant(*val);
        }
        let mut todo = vec![State {
            pc: 0,
            regs,
            temps: Vec::new(),
            frames: SmallVec::new(),
            events: Vec::new(),
            constraints: Vec::new(),
            doubts: Vec::new(),
            ctrl: Taint::NONE,
            reservation: None,
            entered: SmallVec::new(),
            private: PrivateMemory::default(),
            private_at: None,
            control: SmallVec::new(),
            accesses: 0,
            instance: 0,
            again: 0,
            forks: 0,
            decided: 0,
            forks_at: vec![NEVER; code.insts.len() + 1],
        }];
        let mut out = Paths::default();
        // Paths that are cut or dropped are not kept, so their number alone ends nothing.
        let mut looked_at = 0_u64;
        while let Some(mut state) = todo.pop() {
            looked_at += 1;
            if looked_at.is_multiple_of(LOOK) && late(self.limits.deadline) {
                return Err(Obstacle::OutOfTime { thread: self.thread });
            }
            loop {
                let step = match self.step(code, &mut state, exprs) {
                    Err(Obstacle::Undefined(what)) => {
                        let (cond, line) = (exprs.int(1), state.pc);
                        state.doubts.push(Doubt { cond, what, line });
                        out.paths.push(self.finish(state, None));
                        break;
                    }
                    Err(Obstacle::Error(error)) if !state.constraints.is_empty() => {
                        out.paths.push(self.finish(state, Some(Box::new(error))));
                        break;
                    }
                    step => step?,
                };
                match step {
                    Advance::Go => continue,
                    Advance::Done => out.paths.push(self.finish(state, None)),
                    Advance::Drop => {}
                    Advance::Cut => out.cut = true,
                    Advance::Fork(states) => todo.extend(states.into_iter().map(forked)),
                    Advance::Astray(states, astray) => {
                        let (state, error) = *astray;
                        out.paths.push(self.finish(state, Some(Box::new(error))));
                        todo.extend(states.into_iter().map(forked));
                    }
                }
                break;
            }
            if out.paths.len().max(todo.len()) > self.limits.max_paths {
                return Err(Obstacle::TooManyPaths { thread: self.thread });
            }
        }
        out.cut |= self.cut.get();
        Ok(out)
    }

    fn finish(&self, state: State, error: Option<Box<PathError>>) -> Path {
        let mut finals = Vec::new();
        for (i, o) in self.program.observed.iter().enumerate() {
            if let ObservedPlace::Reg { thread, reg } = o.place
                && usize::from(thread) == self.thread
            {
                finals.push((i, state.regs[usize::from(reg)].value));
            }
        }
        let State { events, constraints, doubts, .. } = state;
        Path { number: 0, events, constraints, finals, error, doubts }
    }

    fn error(&self, state: &State, message: impl Into<String>) -> Obstacle {
        Obstacle::Error(PathError { thread: self.thread, line: state.pc, message: message.into() })
    }

    fn step<'c>(
        &self,
        code: &'c Code,
        state: &mut State<'c>,
        exprs: &mut Exprs,
    ) -> Result<Advance<'c>, Obstacle> {
        let Some(frame) = state.frames.last_mut() else {
            return self.next_instruction(code, state);
        };
        let Some(op) = frame.ops.get(frame.next) else {
            state.frames.pop();
            if state.frames.is_empty() {
                state.pc += 1;
            }
            return Ok(Advance::Go);
        };
        frame.next += 1;
        let hang = frame.hang;
        self.execute(state, op, hang, exprs)
    }

    fn next_instruction<'c>(
        &self,
        code: &'c Code,
        state: &mut State<'c>,
    ) -> Result<Advance<'c>, Obstacle> {
        let Some(inst) = code.insts.get(state.pc) else {
            return Ok(Advance::Done);
        };
        if state.forks_at[state.pc] != NEVER {
            state.again += 1;
            if state.again > self.limits.max_again {
                return Ok(Advance::Cut);
            }
        }
        let Some(instance) = state.instance.checked_add(1) else {
            let message = format!("more than {} instructions on one path of a thread", u16::MAX);
            return Err(self.error(state, message));
        };
        state.instance = instance;
        state.forks_at[state.pc] = state.forks;
        state.temps.clear();
        state.frames.push(Frame { ops: &inst.ops, next: 0, hang: Hang::default() });
        Ok(Advance::Go)
    }

    /// Whether the last turn of a loop made no choice, so that the loop ends by itself, as one with a
    /// known counter does. A loop that never ends, or has too many events, is cut all the same.
    fn is_determined(&self, state: &State, target: usize) -> bool {
        let chosen = state.forks_at.get(target).is_none_or(|forks| *forks != state.forks);
        state.events.len() < ROOM && !chosen
    }

    /// Jumps to another instruction, and counts how often a loop is entered again. A jump backwards
    /// to code that was not executed is no loop: compilers move blocks out of the way. A turn in which a
    /// number moved and a number decided a branch does not count, as long as there is room: such a loop
    /// has a counter and ends by itself, and whoever cuts it earlier loses outcomes. A loop that only counts
    /// its turns ends by what it reads.
    fn jump<'c>(&self, state: &mut State<'c>, target: usize, exprs: &Exprs) -> Advance<'c> {
        let ran = state.forks_at.get(target).is_some_and(|forks| *forks != NEVER);
        if target <= state.pc && ran {
            let key = target as u32;
            let regs: Rc<[ExprId]> = state.regs.iter().map(|reg| reg.value).collect();
            let stores = state.private.stores();
            let at = state.entered.iter().position(|e| e.target == key);
            let moved = at.map(|i| &state.entered[i]).is_some_and(|last| {
                self.limits.counters
                    && state.events.len() < ROOM
                    && state.decided > last.decided
                    && (differ(&last.regs, &regs, exprs)
                        || state.private.changed_since(last.stores, exprs))
            });
            let turns = at.map_or(0, |i| state.entered[i].turns) + u32::from(!moved);
            let entered = Entered { target: key, turns, regs, stores, decided: state.decided };
            match at {
                Some(i) => state.entered[i] = entered,
                None => state.entered.push(entered),
            }
            if turns >= self.limits.unroll {
                return Advance::Cut;
            }
        }
        Self::go(state, target)
    }

    fn go<'c>(state: &mut State<'c>, target: usize) -> Advance<'c> {
        state.frames.clear();
        state.pc = target;
        Advance::Go
    }

    fn get(&self, state: &State, t: Temp) -> Result<Tainted, Obstacle> {
        let tainted = state.temps.get(usize::from(t)).copied();
        tainted
            .filter(|c| c.value != ExprId::MAX)
            .ok_or_else(|| self.error(state, "an instruction uses a value before it has one"))
    }

    fn set(&self, state: &mut State, t: Temp, tainted: Tainted) {
        let i = usize::from(t);
        if state.temps.len() <= i {
            state.temps.resize(i + 1, Tainted::plain(ExprId::MAX));
        }
        state.temps[i] = tainted;
    }

    #[expect(clippy::too_many_lines, reason = "an arm a micro-op, over the state of one path")]
    fn execute<'c>(
        &self,
        state: &mut State<'c>,
        op: &'c Op,
        hang: Hang,
        exprs: &mut Exprs,
    ) -> Result<Advance<'c>, Obstacle> {
        match op {
            Op::Const { dst, val } => {
                let known = Tainted::plain(exprs.constant(*val));
                self.set(state, *dst, Tainted { chosen: hang.chosen, ..known });
            }
            Op::ReadReg { dst, reg, port } => {
                let mut tainted = state.regs[usize::from(*reg)];
                // Flow inside the instruction starts at its reads of registers.
                tainted.from = 0;
                tainted.by_ctrl = 0;
                if self.limits.register_events {
                    let mut event = self.event(state, Kind::RegRead, Tags::NONE, hang);
                    event.reg = *reg;
                    event.port = *port;
                    tainted.from = self.push(state, event)?;
                }
                self.set(state, *dst, tainted);
            }
            Op::WriteReg { reg, src } => {
                let mut tainted = self.get(state, *src)?;
                tainted.taint = tainted.taint.or(hang.taint.picked());
                tainted.chosen |= hang.chosen;
                if self.limits.register_events {
                    let mut event = self.event(state, Kind::RegWrite, Tags::NONE, hang);
                    event.reg = *reg;
                    event.iico_data = tainted.from;
                    event.iico_ctrl |= tainted.by_ctrl;
                    self.push(state, event)?;
                }
                state.regs[usize::from(*reg)] = tainted;
            }
            Op::Un { dst, op, a, width } => {
                let a = self.get(state, *a)?;
                let value = exprs.un(*op, a.value, *width);
                self.set(state, *dst, Tainted { value, ..a });
            }
            Op::Bin { dst, op, a, b, width } => {
                let (a, b) = (self.get(state, *a)?, self.get(state, *b)?);
                let tainted = Tainted {
                    value: exprs.bin(*op, a.value, b.value, *width),
                    taint: a.taint.or(b.taint),
                    from: a.from | b.from,
                    by_ctrl: a.by_ctrl | b.by_ctrl,
                    chosen: a.chosen | b.chosen,
                };
                self.set(state, *dst, tainted);
            }
            Op::Select { dst, cond, yes, no } => {
                let c = self.get(state, *cond)?;
                let (y, n) = (self.get(state, *yes)?, self.get(state, *no)?);
                let same = y.value == n.value && y.taint == n.taint && y.from == n.from;
                let side = match exprs.as_const(c.value) {
                    Some(v) => Some(truth(v)),
                    None if same => Some(true),
                    None => None,
                };
                let select = |s: &mut State<'c>, side: bool| {
                    let tainted = self.chosen(s, c, if side { y } else { n }, hang)?;
                    self.set(s, *dst, tainted);
                    Ok(())
                };
                match side {
                    Some(side) => select(state, side)?,
                    None => return self.decide(state, c.value, exprs, select),
                }
            }
            Op::Choose { dst } => {
                let fork = [0u128, 1].map(|bit| {
                    let mut s = state.clone();
                    self.set(&mut s, *dst, Tainted::chosen(exprs.int(bit)));
                    s
                });
                return Ok(Advance::Fork(fork.into()));
            }
            Op::Assume { cond } => {
                let c = self.get(state, *cond)?;
                match exprs.as_const(c.value) {
                    Some(v) if truth(v) => {}
                    Some(_) => return Ok(Advance::Drop),
                    None => state.constraints.push((c.value, true)),
                }
            }
            Op::Undefined { cond, what } => {
                let cond = self.get(state, *cond)?.value;
                let known = exprs.as_const(cond).is_some_and(|v| !truth(v));
                if !known && state.doubts.iter().all(|d| d.cond != cond) {
                    state.doubts.push(Doubt { cond, what: *what, line: state.pc });
                }
            }
            Op::Load { dst, addr, size, tags } => {
                let Some(access) = self.access(state, *addr, *size, *tags, exprs)? else {
                    return self.addresses(state, *addr, *size, exprs);
                };
                let tainted = self.load(state, access, hang, exprs)?;
                self.set(state, *dst, tainted);
            }
            Op::Store { addr, src, size, tags } => {
                let v = self.get(state, *src)?;
                let Some(access) = self.access(state, *addr, *size, *tags, exprs)? else {
                    return self.addresses(state, *addr, *size, exprs);
                };
                let instance = state.instance;
                let pairs = |e: &PathEvent| {
                    e.instance == instance
                        && e.kind == Kind::Read
                        && e.tags.meets(tag::X)
                        && (e.loc, e.off) == (access.loc, access.off)
                };
                let partner = if tags.meets(tag::X) {
                    state.events.iter().rposition(pairs).map(|i| i as u16)
                } else {
                    None
                };
                self.store(state, access, v, hang, partner, exprs)?;
            }
            Op::StoreEx { status, addr, src, size, tags, ok, fail, status_dep, same_size } => {
                let v = self.get(state, *src)?;
                let tags = tags.with(tag::EX);
                let Some(access) = self.access(state, *addr, *size, tags, exprs)? else {
                    return self.addresses(state, *addr, *size, exprs);
                };
                let reservation = state.reservation.take();
                let mut failed = state.clone();
                self.set(&mut failed, *status, Tainted::chosen(exprs.int(u128::from(*fail))));
                let mut states = vec![failed];
                if let Some(Reservation { loc, off, size, read }) = reservation
                    && (loc, off) == (access.loc, access.off)
                    && (!same_size || size == access.size)
                {
                    let mut done = state.clone();
                    let bit = 1u128 << done.events.len().min(MOST_EVENTS - 1);
                    self.store(&mut done, access, v, hang, Some(read), exprs)?;
                    if let Some(event) = done.events.last_mut() {
                        event.exclusive = true;
                    }
                    let mut tainted = Tainted::chosen(exprs.int(u128::from(*ok)));
                    if *status_dep && self.limits.status_depends {
                        tainted.taint = Taint { data: bit, pick: 0 };
                        tainted.from = bit;
                    }
                    self.set(&mut done, *status, tainted);
                    states.push(done);
                }
                return Ok(Advance::Fork(states));
            }
            Op::Rmw { dst, addr, size, tags, body, new } => {
                let Some(access) = self.access(state, *addr, *size, *tags, exprs)? else {
                    return self.addresses(state, *addr, *size, exprs);
                };
                self.read_modify_write(state, access, *dst, body, *new, hang, exprs)?;
            }
            Op::Fence { tags } => {
                let event = self.event(state, Kind::Fence, *tags, hang);
                self.push(state, event)?;
            }
            Op::Touch { addr, size, tags } => {
                let Some(access) = self.access(state, *addr, *size, *tags, exprs)? else {
                    return self.addresses(state, *addr, *size, exprs);
                };
                if self.is_private(access.loc) {
                    return Err(Obstacle::NotPrivate(access.loc));
                }
                let mut event = self.event(state, Kind::Touch, *tags, hang);
                event.loc = access.loc;
                event.off = access.off;
                event.size = access.size;
                event.addr = access.addr.taint.or(hang.taint.picked());
                self.push(state, event)?;
            }
            Op::Control { depth, enter } => {
                let depth = usize::from(*depth);
                if *enter {
                    state.control.truncate(depth);
                    state.control.push(state.ctrl);
                } else if let Some(before) = state.control.get(depth) {
                    state.ctrl = *before;
                    state.control.truncate(depth);
                }
            }
            Op::If { cond, yes, no } => {
                let c = self.get(state, *cond)?;
                let enter = |s: &mut State<'c>, side: bool| {
                    let chosen = hang.chosen || c.chosen;
                    let mut inner = Hang { taint: hang.taint.or(c.taint), chosen, ..hang };
                    inner.decision |= self.decision(s, c, hang)?;
                    let ops = if side { yes } else { no };
                    s.frames.push(Frame { ops, next: 0, hang: inner });
                    Ok(())
                };
                match exprs.as_const(c.value) {
                    Some(v) => enter(state, truth(v))?,
                    None => return self.decide(state, c.value, exprs, enter),
                }
            }
            Op::Branch { cond, target } => {
                let c = self.get(state, *cond)?;
                return self.branch(state, c, *target as usize, hang, exprs);
            }
            Op::Jump { target } => {
                let target = *target as usize;
                return Ok(match self.is_determined(state, target) {
                    true => Self::go(state, target),
                    false => self.jump(state, target, exprs),
                });
            }
            Op::JumpTo { addr } => {
                let a = self.get(state, *addr)?;
                return Ok(match exprs.as_const(a.value) {
                    Some(Val::Code(target)) => {
                        if self.limits.branches.inside() {
                            let mut event = self.event(state, Kind::Branch, Tags::NONE, hang);
                            event.data = a.taint;
                            event.iico_data = a.from;
                            event.iico_ctrl |= a.by_ctrl;
                            self.push(state, event)?;
                            state.ctrl = state.ctrl.or(a.taint);
                        }
                        self.jump(state, target as usize, exprs)
                    }
                    // A link register that was never set: the thread's function returns.
                    Some(Val::ZERO) => Advance::Done,
                    Some(_) => {
                        return Err(self.error(
                            state,
                            "a jump to an address where there is no code of the thread",
                        ));
                    }
                    None => {
                        let message =
                            "a jump to an address that depends on memory is not supported";
                        return Err(self.error(state, message));
                    }
                });
            }
            Op::Halt => return Ok(Advance::Done),
        }
        Ok(Advance::Go)
    }

    fn branch<'c>(
        &self,
        state: &mut State<'c>,
        c: Tainted,
        target: usize,
        hang: Hang,
        exprs: &Exprs,
    ) -> Result<Advance<'c>, Obstacle> {
        let taint = c.taint.or(hang.taint);
        let note = |s: &mut State<'c>, taken: bool| {
            if self.limits.branches.conditional() {
                let mut event = self.event(s, Kind::Branch, Tags::NONE, hang);
                event.data = taint;
                event.iico_data = c.from;
                event.iico_ctrl |= c.by_ctrl;
                self.push(s, event)?;
            }
            s.ctrl = s.ctrl.or(taint);
            if !taken {
                s.frames.clear();
                s.pc += 1;
            }
            Ok(())
        };
        if let Some(v) = exprs.as_const(c.value) {
            let taken = truth(v);
            note(state, taken)?;
            state.decided += u32::from(self.is_known(state, c));
            return Ok(match taken {
                true if self.is_determined(state, target) => Self::go(state, target),
                true => self.jump(state, target, exprs),
                false => Advance::Go,
            });
        }
        let Advance::Fork(mut states) = self.decide(state, c.value, exprs, note)? else {
            return Ok(Advance::Drop);
        };
        // The side that jumps still has frames.
        states.retain_mut(|s| {
            let cut = !s.frames.is_empty() && matches!(self.jump(s, target, exprs), Advance::Cut);
            self.cut.set(self.cut.get() | cut);
            !cut
        });
        Ok(Advance::Fork(states))
    }

    /// Whether a number is the same in every execution: nothing chose it, and no read from which it comes is
    /// of what some thread writes.
    fn is_known(&self, state: &State, number: Tainted) -> bool {
        let unwritten = |loc| self.guide.reach().is_some_and(|reach| reach.is_never_written(loc));
        let events = state.events.iter().enumerate();
        let mut from =
            events.filter(|(i, _)| (number.taint.data | number.taint.pick) >> i & 1 == 1);
        !number.chosen && from.all(|(_, e)| e.kind == Kind::Read && unwritten(e.loc))
    }

    /// The events on which ops after a decision inside an instruction depend by control: the
    /// decision's own event, if there are such events, else those of the condition.
    fn decision(&self, state: &mut State, c: Tainted, hang: Hang) -> Result<u128, Obstacle> {
        if !self.limits.branches.inside() {
            return Ok(c.from | c.by_ctrl);
        }
        let mut event = self.event(state, Kind::Decision, Tags::NONE, hang);
        event.iico_data = c.from;
        event.iico_ctrl |= c.by_ctrl;
        self.push(state, event)
    }

    /// The result of a select: it depends on the chosen side by data, and on the condition by choice.
    fn chosen(
        &self,
        state: &mut State,
        c: Tainted,
        mut tainted: Tainted,
        hang: Hang,
    ) -> Result<Tainted, Obstacle> {
        tainted.taint = tainted.taint.or(c.taint.picked());
        tainted.chosen |= c.chosen;
        tainted.by_ctrl |= self.decision(state, c, hang)?;
        Ok(tainted)
    }

    /// Forks into both sides of an open condition, except a side that the path already rules out.
    fn decide<'c>(
        &self,
        state: &State<'c>,
        cond: ExprId,
        exprs: &Exprs,
        mut then: impl FnMut(&mut State<'c>, bool) -> Result<(), Obstacle>,
    ) -> Result<Advance<'c>, Obstacle> {
        let mut out = Vec::with_capacity(2);
        let (question, negated) = exprs.question(cond);
        for side in [true, false] {
            let answer = side != negated;
            if state.constraints.contains(&(question, !answer)) {
                continue;
            }
            let mut s = state.clone();
            if !s.constraints.contains(&(question, answer)) {
                s.constraints.push((question, answer));
            }
            then(&mut s, side)?;
            out.push(s);
        }
        Ok(Advance::Fork(out))
    }

    fn event(&self, state: &State, kind: Kind, tags: Tags, hang: Hang) -> PathEvent {
        debug_assert!(kind == Kind::Fence || !tags.meets(BARRIERS), "{tags:?} on a {kind:?}");
        PathEvent {
            kind,
            tags,
            instance: state.instance,
            loc: 0,
            off: 0,
            size: 0,
            access: 0,
            value: 0,
            addr: Taint::NONE,
            data: Taint::NONE,
            ctrl: state.ctrl,
            partner: None,
            exclusive: false,
            reg: 0,
            port: Port::None,
            iico_data: 0,
            iico_ctrl: hang.decision,
            line: state.pc as u16,
        }
    }

    fn push(&self, state: &mut State, event: PathEvent) -> Result<u128, Obstacle> {
        // An instruction has no events beside accesses to private memory: flow inside it is not kept.
        if let Some((instance, loc)) = state.private_at
            && instance == event.instance
        {
            return Err(Obstacle::NotPrivate(loc));
        }
        let index = state.events.len();
        if index >= MOST_EVENTS {
            let message = format!("more than {MOST_EVENTS} events on one path of a thread");
            return Err(self.error(state, message));
        }
        state.events.push(event);
        Ok(1 << index)
    }
}
