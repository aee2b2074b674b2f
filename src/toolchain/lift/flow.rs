//! Decides which code stays: follows values forwards to a fixed point, then the bits that matter
//! backwards.
//!
//! It does not know how anything is written.

use std::collections::{BTreeSet, VecDeque};

use litmake_base::failure::Failure;
use litmake_litmus::Arch;
use litmake_ops::{Op, Reg, Temp, Val, mask};

use super::condition::{Sided, mentions, reads, written};
use super::endian;
use super::expand::{Flat, Kind, Node, memory_operand};
use super::live::{Live, any_wanted};
use super::needed::{Matters, needed};
use super::state::State;
use super::values::{Access, Facts, Known, Place, Step, World};
use crate::image::Kind::Code;
use litmake_isa::target::Target;

const MAX_STEPS: usize = 200_000;

/// The known state before each instruction (`None` if it is not reached), the effects of each, and
/// its successors.
pub struct Analysis {
    pub states: Vec<Option<State>>,
    pub facts: Vec<Facts>,
    pub next: Vec<Vec<usize>>,
}

pub fn follow(flat: &Flat, world: &World, start: State) -> Result<Analysis, Failure> {
    let len = flat.nodes.len();
    let mut states: Vec<Option<State>> = vec![None; len];
    if let Some(first) = states.first_mut() {
        *first = Some(start);
    }
    let mut todo = VecDeque::from([0usize]);
    let mut steps = 0;
    while let Some(i) = todo.pop_front() {
        steps += 1;
        if steps > MAX_STEPS {
            return Err(Failure::unsupported("the code's loops are too many to follow"));
        }
        let Some(state) = states.get(i).cloned().flatten() else {
            continue;
        };
        let (_, out) = step(flat, world, i, state);
        for (to, state) in out {
            let Some(slot) = states.get_mut(to) else {
                continue;
            };
            match slot {
                None => {
                    *slot = Some(state);
                    todo.push_back(to);
                }
                Some(old) => {
                    if old.join(&state, world) {
                        todo.push_back(to);
                    }
                }
            }
        }
    }
    let mut facts = Vec::with_capacity(len);
    let mut next = Vec::with_capacity(len);
    for (i, state) in states.iter().enumerate() {
        let (f, out) = match state {
            Some(state) => step(flat, world, i, state.clone()),
            None => (Facts::default(), Vec::new()),
        };
        facts.push(f);
        next.push(out.into_iter().map(|(to, _)| to).collect());
    }
    Ok(Analysis { states, facts, next })
}

fn step(flat: &Flat, world: &World, i: usize, state: State) -> (Facts, Vec<(usize, State)>) {
    let mut step = Step::new(world, state);
    if let Some(node) = flat.nodes.get(i) {
        step.instruction(&node.ops);
    }
    let mut out = step.out;
    if step.on {
        out.push((i + 1, step.state));
    }
    (step.facts, out)
}

/// The result for an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Drop,
    Keep,
    /// It only puts known values into registers.
    Constants(Vec<(Reg, Val)>),
    /// It moves values between registers and stack slots.
    Slots,
    /// It always jumps to this instruction.
    Goto(usize),
}

pub struct Plan {
    pub actions: Vec<Action>,
    /// The bits that matter after each instruction.
    pub after: Vec<Live>,
    /// The bits that matter before the first instruction.
    pub start: Live,
}

pub struct Decide<'a> {
    pub flat: &'a Flat,
    pub analysis: &'a Analysis,
    pub world: &'a World<'a>,
    pub target: &'a Target,
    /// The register that is observed at the end of the code, and its observed bits.
    pub result: Option<(Reg, u128)>,
    /// Adds the place to a failure.
    pub placed: &'a dyn Fn(Failure, u64) -> Failure,
}

impl Decide<'_> {
    pub fn run(&self) -> Result<Plan, Failure> {
        let len = self.flat.nodes.len();
        let regs = self.flat.code.regs.len();
        let empty = Live::nothing(regs);
        let mut before = vec![empty.clone(); len];
        let mut after = vec![empty.clone(); len];
        if let (Some((result, bits)), Some(end)) = (self.result, after.last_mut())
            && let Some(live) = end.regs.get_mut(usize::from(result))
        {
            *live = bits;
        }
        for round in 0.. {
            if round > 1000 {
                return Err(Failure::unsupported("the code's loops are too many to follow"));
            }
            let mut changed = false;
            for i in (0..len).rev() {
                if self.analysis.states[i].is_none() {
                    continue;
                }
                for next in &self.analysis.next[i] {
                    if let Some(live) = before.get(*next) {
                        after[i].join(live);
                    }
                }
                let action = self.action(i, &after[i]);
                let live = self.before(i, &action, &after[i])?;
                changed |= before[i].join(&live);
            }
            if !changed {
                break;
            }
        }
        let mut actions = Vec::with_capacity(len);
        for (i, live) in after.iter().enumerate() {
            let action = match self.analysis.states[i] {
                Some(_) => self.action(i, live),
                None => Action::Drop,
            };
            if self.analysis.states[i].is_some() {
                let at = self.flat.nodes[i].at;
                self.check(i, &action, live).map_err(|e| (self.placed)(e, at))?;
            }
            actions.push(action);
        }
        let start = before.first().cloned().unwrap_or_default();
        Ok(Plan { actions, after, start })
    }

    fn action(&self, i: usize, after: &Live) -> Action {
        let facts = &self.analysis.facts[i];
        let node = &self.flat.nodes[i];
        let shared = |a: &Access| matches!(a.place, Place::Location(..) | Place::Open);
        let odd = |a: &Access| matches!(a.place, Place::Frame | Place::Nowhere(_) | Place::Across);
        if let Kind::Goto = node.kind {
            return facts.goes.map_or(Action::Drop, Action::Goto);
        }
        let odd = facts.accesses.iter().any(|a| odd(a) || a.atomic);
        if facts.event || facts.accesses.iter().any(shared) || odd {
            return Action::Keep;
        }
        let live: Vec<&(Reg, Option<Known>, bool)> = facts
            .writes
            .iter()
            .filter(|(r, ..)| after.regs.get(usize::from(*r)).is_some_and(|m| *m != 0))
            .collect();
        let stores = facts.accesses.iter().any(|a| live_store(a, after));
        if live.is_empty() && !stores {
            return facts.goes.map_or(Action::Drop, Action::Goto);
        }
        let word = 8 * self.target.word;
        let isa = litmake_isa::of(self.target.arch);
        // Floating-point registers do not get constants.
        let wide = |r: Reg| {
            let info = &self.flat.code.regs[usize::from(r)];
            (32..=word).contains(&info.bits)
                && isa.is_some_and(|i| i.register(&info.name).is_some())
        };
        // Of a number whose lowest bits are known, these may be all that matter.
        let enough = |r: Reg, count: u8| {
            let bits = after.regs.get(usize::from(r)).copied().unwrap_or(u128::MAX);
            !self.world.dependencies && bits & !mask(count) == 0
        };
        let known: Option<Vec<(Reg, Val)>> = live
            .iter()
            .map(|(r, known, certain)| match known {
                Some(Known::Val(v)) if *certain && wide(*r) => Some((*r, *v)),
                Some(Known::Low(low, count)) if *certain && wide(*r) && enough(*r, *count) => {
                    Some((*r, Val::Int(u128::from(*low))))
                }
                Some(k @ Known::Stack(_)) if *certain && wide(*r) => {
                    let (loc, off) = self.world.location(*k)?;
                    Some((*r, Val::Ptr { loc, off }))
                }
                _ => None,
            })
            .collect();
        let memory = facts.accesses.iter().any(|a| match a.place {
            Place::Stack(_) => !a.store || live_store(a, after),
            _ => true,
        });
        if let Some(mut known) = known
            && !stores
        {
            // The last write counts.
            known.reverse();
            let mut seen = BTreeSet::new();
            known.retain(|(r, _)| seen.insert(*r));
            let address = known.iter().any(|(_, v)| {
                self.world.location(Known::Val(*v)).is_some() || !matches!(v, Val::Int(_))
            });
            // `xor %eax,%eax` and similar instructions give a constant whatever the register held.
            let idle =
                facts.reads.iter().any(|(r, k)| matches!(k, Some(Known::Start(_))) && wide(*r));
            // The value comes from the lowest bits of an address.
            let low = facts.reads.values().flatten().any(|k| self.world.is_shifted(*k));
            if memory || address || idle || low || matches!(node.kind, Kind::Made | Kind::Lock(_)) {
                return Action::Constants(known);
            }
            return Action::Keep;
        }
        match facts.accesses.iter().any(|a| matches!(a.place, Place::Stack(_))) {
            true => Action::Slots,
            false => Action::Keep,
        }
    }

    /// The slots of the stack that may be read at an address that only a run tells: all but those
    /// in which registers and addresses of code are saved, as by `push`.
    fn frame_slots(&self) -> impl Iterator<Item = (i64, u8)> {
        let saved = |a: &Access| match a.stored {
            Some(Known::Start(_)) => true,
            Some(Known::Val(Val::Int(n))) => {
                u64::try_from(n).is_ok_and(|n| self.world.image.kind_at(n) == Some(Code))
            }
            _ => false,
        };
        let pushes = |node: &Node| {
            let plain = matches!(&node.kind, Kind::Insn(d) if memory_operand(d).is_some());
            self.target.is_x86() && !plain
        };
        let nodes = self.flat.nodes.iter().zip(&self.analysis.facts);
        let facts = nodes.filter(move |(node, _)| !pushes(node)).map(|(_, facts)| facts);
        let stores = facts.flat_map(|f| &f.accesses).filter(|a| a.store);
        stores.filter(move |a| !saved(a)).filter_map(|a| match a.place {
            Place::Stack(at) => Some((at, a.size)),
            _ => None,
        })
    }

    /// Whether the address of an access is written by name, so that the registers in it do not
    /// matter.
    pub fn named_address(&self, i: usize) -> bool {
        let facts = &self.analysis.facts[i];
        let named = facts
            .accesses
            .iter()
            .all(|a| matches!(a.place, Place::Location(..) | Place::Stack(_) | Place::Constant(_)));
        match &self.flat.nodes[i].kind {
            Kind::Insn(d) => named && !facts.accesses.is_empty() && memory_operand(d).is_some(),
            _ => false,
        }
    }

    /// Whether another register with the same location's address can replace a register in the text
    /// of an instruction.
    pub fn can_rename(&self, i: usize, reg: Reg) -> bool {
        let facts = &self.analysis.facts[i];
        let Kind::Insn(d) = &self.flat.nodes[i].kind else {
            return false;
        };
        let name = &self.flat.code.regs[usize::from(reg)].name;
        let isa = litmake_isa::of(self.target.arch);
        let is = |text: &str| isa.and_then(|i| i.register(text)).is_some_and(|r| r.name == *name);
        use litmake_isa::machine::Operand;
        let mentioned = d.operands.iter().any(|o| match o {
            Operand::Reg(r) => is(r),
            Operand::Mem(m) => m.base.as_deref().is_some_and(is),
            _ => false,
        });
        mentioned && !facts.writes.iter().any(|(r, ..)| *r == reg)
    }

    /// Whether an instruction is a fence in the form of a locked operation that does not change the
    /// stack.
    pub fn is_stack_fence(&self, i: usize, after: &Live) -> bool {
        let facts = &self.analysis.facts[i];
        let Kind::Insn(d) = &self.flat.nodes[i].kind else {
            return false;
        };
        let idle = self.target.locked_nothing(d).is_some();
        let dead = |r: Reg| after.regs.get(usize::from(r)).is_none_or(|bits| *bits == 0);
        idle && facts.accesses.iter().all(|a| matches!(a.place, Place::Stack(_)))
            && facts.writes.iter().all(|(r, ..)| dead(*r))
    }

    /// Whether an instruction's text names a register only in its memory operand.
    fn only_in_address(&self, i: usize, reg: Reg) -> bool {
        use litmake_isa::machine::Operand;
        let Kind::Insn(d) = &self.flat.nodes[i].kind else {
            return false;
        };
        let name = &self.flat.code.regs[usize::from(reg)].name;
        let isa = litmake_isa::of(self.target.arch);
        let is = |text: &str| isa.and_then(|i| i.register(text)).is_some_and(|r| r.name == *name);
        let plain = d.operands.iter().any(|o| matches!(o, Operand::Reg(r) if is(r)));
        let memory = d.operands.iter().any(|o| match o {
            Operand::Mem(m) => [&m.base, &m.index].into_iter().flatten().any(|r| is(r)),
            _ => false,
        });
        memory && !plain
    }

    fn before(&self, i: usize, action: &Action, after: &Live) -> Result<Live, Failure> {
        let facts = &self.analysis.facts[i];
        let ops = &self.flat.nodes[i].ops;
        let mut live = after.clone();
        let sided = Sided::of(ops);
        let stays = |c: &[Op]| !facts.writes.iter().any(|(r, ..)| reads(c, *r));
        let mut temps = Vec::new();
        let mut of = |ops: &[Op], regs: Vec<u128>| {
            let (regs, wanted) = self.registers_before(i, action, ops, regs, after);
            temps.push(wanted);
            regs
        };
        // The bits that matter after it do not apply to a condition that it changes.
        let given = after.condition().filter(|c| stays(c));
        match (&sided, given) {
            (Some(s), given) => {
                let side = |side: bool| match given {
                    Some(_) => after.side(&s.condition, side),
                    None => after.regs.clone(),
                };
                let sides = [false, true].map(|b| of(&s.ops[usize::from(b)], side(b)));
                live.set_sides(&s.condition, sides);
            }
            (None, Some(c)) => {
                let sides = [false, true].map(|b| of(ops, after.side(c, b)));
                live.set_sides(c, sides);
            }
            (None, None) => live.set(of(ops, after.regs.clone())),
        }
        self.kill_slots(facts, &mut live);
        let stays = matches!(action, Action::Keep | Action::Slots);
        if !stays || self.is_stack_fence(i, after) {
            return Ok(live);
        }
        if self.world.frame.is_some() && facts.accesses.iter().any(may_read_frame) {
            self.frame_slots().for_each(|(at, size)| {
                live.add_slot((at, size), mask(size.saturating_mul(8)));
            });
        }
        for a in &facts.accesses {
            if let Place::Stack(at) = a.place
                && (!a.store || a.atomic)
            {
                let all = mask(a.size.saturating_mul(8));
                let moved = *action == Action::Slots && !a.atomic;
                let bits = if moved { any_wanted(&temps, a.temp) & all } else { all };
                live.add_slot((at, a.size), bits);
            }
        }
        Ok(live)
    }

    /// The bits of registers that matter before an instruction with these ops, given those that
    /// matter after it; and the bits of temporaries that matter.
    fn registers_before(
        &self,
        i: usize,
        action: &Action,
        ops: &[Op],
        mut live: Vec<u128>,
        after: &Live,
    ) -> (Vec<u128>, Vec<u128>) {
        let facts = &self.analysis.facts[i];
        let passed = live.clone();
        let certain: Vec<Reg> = facts
            .writes
            .iter()
            .filter(|(_, _, certain)| *certain)
            .map(|(reg, ..)| *reg)
            .chain(written(ops))
            .collect();
        if matches!(action, Action::Drop | Action::Goto(_) | Action::Constants(_)) {
            // The previous value of a register that is always written does not matter. A write that
            // may not happen keeps the previous value.
            for reg in certain {
                if let Some(l) = live.get_mut(usize::from(reg)) {
                    *l = 0;
                }
            }
            return (live, Vec::new());
        }
        let named = self.named_address(i);
        let places: Vec<(Temp, Place)> = facts.accesses.iter().map(|a| (a.temp, a.place)).collect();
        let address = |t: Temp| {
            let place = places.iter().find(|(temp, _)| *temp == t).map(|(_, p)| *p);
            match place {
                Some(Place::Location(..)) => !named,
                Some(Place::Stack(_)) => false,
                _ => true,
            }
        };
        // A move to a slot that nobody reads has no effect.
        let moves = *action == Action::Slots;
        let stored = |t: Temp| {
            let stores = facts.accesses.iter().filter(|a| a.store && a.temp == t);
            let of = |a: &Access| match a.place {
                Place::Stack(at) => after.of_slot((at, a.size)),
                _ => u128::MAX,
            };
            if moves { stores.fold(0, |all, a| all | of(a)) } else { u128::MAX }
        };
        let matters = Matters { address: &address, stored: &stored };
        let wanted = needed(ops, &mut live, &matters);
        for (reg, known) in &facts.reads {
            let r = usize::from(*reg);
            // On this side of the condition the register is not read.
            if !mentions(ops, *reg) {
                continue;
            }
            let base = if certain.contains(reg) { 0 } else { passed[r] };
            let Some(slot) = live.get_mut(r) else { continue };
            match known {
                // The operand names the place itself.
                Some(_) if named && self.only_in_address(i, *reg) => *slot = base,
                Some(k @ Known::Val(_)) => {
                    let location = self.world.location(*k).is_some();
                    if location && self.can_rename(i, *reg) {
                        *slot = base;
                    }
                }
                Some(k @ Known::Stack(_))
                    if self.world.location(*k).is_some() && self.can_rename(i, *reg) =>
                {
                    *slot = base;
                }
                // `PUSH` and similar instructions do not name the stack register.
                Some(Known::Stack(_) | Known::Frame)
                    if named && facts.accesses.iter().all(is_stack) =>
                {
                    *slot = base;
                }
                Some(_) => {}
                // A dependency is on the whole register; vectors are composed of parts.
                None if self.world.dependencies && self.flat.code.regs[r].bits <= 64 => {
                    *slot = u128::MAX;
                }
                None => {}
            }
        }
        (live, wanted)
    }

    fn kill_slots(&self, facts: &Facts, live: &mut Live) {
        for a in &facts.accesses {
            if let Place::Stack(at) = a.place
                && a.store
                && a.certain
                && !a.atomic
            {
                let end = at + i64::from(a.size);
                live.slots.retain(|(o, s), _| *o < at || o + i64::from(*s) > end);
            }
        }
    }

    /// Rejects instructions that stay and are not understood.
    fn check(&self, i: usize, action: &Action, after: &Live) -> Result<(), Failure> {
        if !matches!(action, Action::Keep | Action::Slots) {
            return Ok(());
        }
        let facts = &self.analysis.facts[i];
        let shown = || show(&self.flat.nodes[i], self.target);
        for a in &facts.accesses {
            match a.place {
                // For an unknown place, the parts of a value are unknown, too.
                Place::Open if self.world.image.big => {
                    let Kind::Insn(d) = &self.flat.nodes[i].kind else { continue };
                    let arch = self.target.arch;
                    if self.world.turned(arch, d, &facts.accesses).is_some() {
                        continue;
                    }
                    // A part of a value would be another part in a test.
                    let near = a.near.and_then(|(loc, _)| self.world.units.get(usize::from(loc)));
                    if near.is_some_and(|unit| *unit != u64::from(a.size))
                        || endian::pairs(arch, d).is_none_or(|p| !p.is_empty())
                        || arch == Arch::Mips && a.atomic && self.world.has_small()
                    {
                        return Err(Failure::unsupported(format!(
                            "`{}` accesses a place that is known only at run time, in big-endian code",
                            shown()
                        )));
                    }
                }
                Place::Frame if self.world.frame.is_some() && !self.world.image.big => {}
                Place::Stack(at) if self.world.frame.is_some() && at >= 0 => {
                    return Err(Failure::unsupported(format!(
                        "`{}` accesses a parameter on the stack, beside an array",
                        shown()
                    )));
                }
                Place::Frame => {
                    return Err(Failure::unsupported(format!(
                        "the place on the stack that `{}` accesses cannot be determined",
                        shown()
                    )));
                }
                Place::Across => {
                    return Err(Failure::unsupported(format!(
                        "`{}` accesses bytes of two variables at once, which the \
                         compiler put side by side",
                        shown()
                    )));
                }
                Place::Nowhere(at) => {
                    let name =
                        match (self.world.image.missing_at(at), self.world.image.variable_at(at)) {
                            (Some(name), _) => format!("`{name}`, which is defined nowhere"),
                            (_, Some(v)) => {
                                format!("`{}`, which is no location of the test", v.name)
                            }
                            _ => format!("address {at:#x}"),
                        };
                    return Err(Failure::unsupported(format!("`{}` accesses {name}", shown())));
                }
                _ => {}
            }
        }
        let live = self.before(i, action, after)?;
        let shared = |a: &Access| matches!(a.place, Place::Location(..) | Place::Open);
        let publishes = facts.accesses.iter().any(|a| a.store && shared(a));
        for (reg, known) in &facts.reads {
            let r = usize::from(*reg);
            let bits = live.regs.get(r).copied().unwrap_or(0);
            let written = facts.writes.iter().any(|(w, _, c)| w == reg && *c);
            let passed = if written { 0 } else { after.regs[r] };
            if bits & !passed == 0 {
                continue;
            }
            match known {
                // Only bits that are not part of the address matter.
                Some(Known::Top(low)) if bits & !passed & !mask(*low) == 0 => {}
                // The frame is a location, of which other threads know nothing.
                Some(Known::Frame) if self.world.frame.is_some() && !publishes => {}
                Some(k @ Known::Stack(_)) if self.world.location(*k).is_some() && !publishes => {}
                Some(Known::Stack(_) | Known::Frame | Known::Top(_)) => {
                    return Err(Failure::unsupported(format!(
                        "`{}` uses an address on the stack as a value",
                        shown()
                    )));
                }
                Some(Known::Start(_)) if self.flat.code.regs[r].bits >= 32 => {
                    return Err(Failure::unsupported(format!(
                        "`{}` uses {}, which was never set",
                        shown(),
                        self.flat.code.regs[r].name
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether an access may read the frame at an address that only a run tells.
fn may_read_frame(a: &Access) -> bool {
    let reads = !a.store || a.atomic;
    reads && (a.place == Place::Frame || a.place == Place::Open && a.near.is_none())
}

fn is_stack(a: &Access) -> bool {
    matches!(a.place, Place::Stack(_))
}

/// Whether an access is a store to a stack slot that something reads.
pub fn live_store(a: &Access, after: &Live) -> bool {
    match a.place {
        Place::Stack(at) => a.store && after.of_slot((at, a.size)) != 0,
        _ => false,
    }
}

pub fn show(node: &Node, target: &Target) -> String {
    match &node.kind {
        Kind::Insn(d) | Kind::Open(d) => d.text(target.decoder.style(), &|at| format!("{at:#x}")),
        _ => "a jump".to_string(),
    }
}
