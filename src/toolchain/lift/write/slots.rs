//! The slots of the stack that stay: which become registers and which places in memory, and
//! instructions on them as moves. It does not write them.

use std::collections::{BTreeSet, HashMap};

use litmake_base::failure::Failure;
use litmake_isa::machine::Operand;
use litmake_litmus::Arch;
use litmake_ops::{Op, Reg, Temp, UnOp, Val};

use super::super::expand::{Kind, memory_operand};
use super::super::flow::{Action, live_store};
use super::super::values::{Access, Place};
use super::{Slot, Stuck, Writer, pool};

/// Slots that overlap: where they begin and end, the accesses by place and size, and the instructions.
type Group = (i64, i64, BTreeSet<(i64, u8)>, Vec<usize>);

impl Writer<'_> {
    /// Puts slots together that overlap, and gives each group a register or a place.
    pub(super) fn group_slots(&mut self) -> Result<(), Failure> {
        // The content of a frame that is a location stays there.
        if self.world.frame.is_some() {
            return Ok(());
        }
        let mut groups: Vec<Group> = Vec::new();
        for (i, action) in self.plan.actions.iter().enumerate() {
            if !matches!(action, Action::Keep | Action::Slots)
                || self.decide.is_stack_fence(i, &self.plan.after[i])
            {
                continue;
            }
            // The slots that an instruction other than a move accesses stay together.
            let moves = self.moves(i);
            let together = moves.is_none();
            let mut shapes: Vec<(i64, u8)> = Vec::new();
            for a in &self.analysis.facts[i].accesses {
                let Place::Stack(at) = a.place else { continue };
                if moves.as_ref().is_none_or(|m| m.iter().any(|m| m.slot() == at)) {
                    shapes.push((at, a.size));
                }
            }
            let end = |(at, size): &(i64, u8)| at + i64::from(*size);
            let mut own: Vec<Group> = Vec::new();
            match (together, shapes.iter().map(|s| s.0).min(), shapes.iter().map(end).max()) {
                (true, Some(from), Some(to)) => {
                    own.push((from, to, shapes.into_iter().collect(), vec![i]));
                }
                _ => own.extend(
                    shapes.into_iter().map(|s| (s.0, end(&s), BTreeSet::from([s]), vec![i])),
                ),
            }
            for mut group in own {
                let (same, rest): (Vec<_>, Vec<_>) =
                    groups.into_iter().partition(|g| g.0 < group.1 && group.0 < g.1);
                groups = rest;
                for g in same {
                    group.0 = group.0.min(g.0);
                    group.1 = group.1.max(g.1);
                    group.2.extend(g.2);
                    group.3.extend(g.3);
                }
                groups.push(group);
            }
        }
        groups.sort_by_key(|g| g.0);
        let mut held: Vec<(String, BTreeSet<usize>)> = Vec::new();
        for (from, to, shapes, users) in groups {
            // A register holds what is written as a whole; its lowest part may be read alone.
            let whole = |a: &Access| match a.place {
                Place::Stack(at) if a.store && from <= at && at < to => {
                    at == from && at + i64::from(a.size) == to
                }
                _ => true,
            };
            let written = |i: &usize| self.analysis.facts[*i].accesses.iter().all(whole);
            let one = to - from <= i64::from(self.target.word)
                && shapes.iter().all(|s| s.0 == from)
                && (shapes.len() == 1 || !self.world.image.big && users.iter().all(written));
            let simple = one && users.iter().all(|i| self.is_simple(*i));
            // Where it is in use; slots that are never in use together share a register.
            let mut busy: BTreeSet<usize> = users.iter().copied().collect();
            for (i, live) in self.plan.after.iter().enumerate() {
                if shapes.iter().any(|shape| live.slots.contains_key(shape)) {
                    busy.insert(i);
                }
            }
            let shared = held.iter_mut().find(|(_, other)| other.is_disjoint(&busy));
            let register = match shared {
                _ if !simple => None,
                Some((reg, other)) => {
                    other.extend(&busy);
                    Some(reg.clone())
                }
                None => self.free.pop().inspect(|reg| held.push((reg.clone(), busy))),
            };
            let slot = match register {
                Some(reg) => Slot::Register(reg),
                None => Slot::Private(from, (to - from) as u32),
            };
            self.groups.push((from, to, slot));
        }
        Ok(())
    }

    /// Whether an instruction works as well with a register in the place of its slot.
    pub(super) fn is_simple(&self, i: usize) -> bool {
        if self.analysis.facts[i].accesses.iter().any(|a| a.atomic) {
            return false;
        }
        if self.moves(i).is_some() || self.pushes_memory(i).is_some() {
            return true;
        }
        let Kind::Insn(d) = &self.flat.nodes[i].kind else {
            return false;
        };
        let vector = |o: &Operand| match o {
            Operand::Reg(r) => {
                self.isa.register(r.trim_start_matches('%')).is_some_and(|r| r.bits > 64)
            }
            _ => false,
        };
        // A part of a register may have no name in 32-bit code.
        let whole = |a: &Access| self.target.arch == Arch::X86_64 || a.size == self.target.word;
        let on_stack = |a: &Access| matches!(a.place, Place::Stack(_)) && whole(a);
        self.target.is_x86()
            && memory_operand(d).is_some()
            && self.target.takes_general(&d.mnemonic, d.operands.iter().any(vector))
            && self.analysis.facts[i].accesses.iter().all(on_stack)
    }

    /// The slot into which an instruction of x86 pushes what it loads from elsewhere.
    pub(super) fn pushes_memory(&self, i: usize) -> Option<i64> {
        let Kind::Insn(d) = &self.flat.nodes[i].kind else { return None };
        let pushes = self.target.is_x86() && d.mnemonic.to_lowercase().starts_with("push");
        match self.analysis.facts[i].accesses.as_slice() {
            [load, Access { place: Place::Stack(at), store: true, .. }]
                if pushes && !load.store && !matches!(load.place, Place::Stack(_)) =>
            {
                Some(*at)
            }
            _ => None,
        }
    }

    /// An instruction on slots as moves: (from register or constant) to slot, and from slot to
    /// register.
    pub(super) fn moves(&self, i: usize) -> Option<Vec<Move>> {
        let facts = &self.analysis.facts[i];
        let after = &self.plan.after[i];
        let mut from: HashMap<Temp, Holds> = HashMap::new();
        let mut out = Vec::new();
        // Vectors, and registers that no instruction names, are not copied.
        let general = |r: &Reg| {
            let info = &self.flat.code.regs[usize::from(*r)];
            info.bits <= 64 && self.isa.register(&info.name).is_some()
        };
        for op in &self.flat.nodes[i].ops {
            match op {
                Op::Const { dst, val: Val::Int(n) } => {
                    from.insert(*dst, Holds::Number(u64::try_from(*n).ok()?));
                }
                Op::ReadReg { dst, reg, .. } => {
                    from.insert(*dst, Holds::Reg(*reg));
                }
                Op::Un { dst, op: UnOp::ZeroExt { from: bits }, a, .. } => {
                    let source = match from.get(a) {
                        Some(Holds::Slot(at, size, _))
                            if u16::from(*size) * 8 <= u16::from(*bits) =>
                        {
                            Holds::Slot(*at, *size, false)
                        }
                        Some(Holds::Reg(r)) => Holds::Low(*r, *bits),
                        Some(Holds::Low(r, old)) => Holds::Low(*r, *bits.min(old)),
                        _ => Holds::Other,
                    };
                    from.insert(*dst, source);
                }
                Op::Un { dst, op: UnOp::SignExt { from: bits }, a, .. } => {
                    let source = match from.get(a) {
                        Some(Holds::Slot(at, size, false))
                            if u16::from(*size) * 8 == u16::from(*bits) =>
                        {
                            Holds::Slot(*at, *size, true)
                        }
                        _ => Holds::Other,
                    };
                    from.insert(*dst, source);
                }
                Op::Un { dst, .. }
                | Op::Bin { dst, .. }
                | Op::Select { dst, .. }
                | Op::Choose { dst } => {
                    from.insert(*dst, Holds::Other);
                }
                Op::Load { dst, .. } => {
                    let access = facts.accesses.iter().find(|a| a.temp == *dst && !a.store)?;
                    let source = match access.place {
                        Place::Stack(at) => Holds::Slot(at, access.size, false),
                        _ => Holds::Other,
                    };
                    from.insert(*dst, source);
                }
                Op::Store { src, .. } => {
                    let access = facts.accesses.iter().find(|a| a.temp == *src && a.store)?;
                    let Place::Stack(at) = access.place else {
                        return None;
                    };
                    if !live_store(access, after) {
                        continue;
                    }
                    match from.get(src)? {
                        Holds::Reg(r) | Holds::Low(r, _) if !general(r) => return None,
                        Holds::Reg(r) => out.push(Move::Spill(*r, at, access.size)),
                        Holds::Low(r, bits) if u16::from(access.size) * 8 <= u16::from(*bits) => {
                            out.push(Move::Spill(*r, at, access.size));
                        }
                        Holds::Number(n) => out.push(Move::Number(*n, at)),
                        _ => return None,
                    }
                }
                Op::WriteReg { reg, src } => {
                    if after.regs.get(usize::from(*reg)).is_none_or(|m| *m == 0) {
                        continue;
                    }
                    match from.get(src)? {
                        _ if !general(reg) => return None,
                        Holds::Slot(at, size, signed) => {
                            out.push(Move::Reload(*reg, *at, *size, *signed));
                        }
                        // The stack pointer and the like are known, and nothing asks for them.
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        Some(out)
    }

    /// Moves one after another; none may write what a later one reads. The address of a location is
    /// copied from the register that holds it.
    pub(super) fn in_order(&mut self, i: usize, moves: Vec<Move>) -> Result<Vec<String>, Stuck> {
        let mut out = Vec::new();
        let mut written: BTreeSet<String> = BTreeSet::new();
        for m in moves {
            let flat = self.flat;
            let name = |r: Reg| flat.code.regs[usize::from(r)].name.clone();
            let pointer = match m {
                Move::Spill(r, ..) => self.substitute(i, &name(r))?,
                _ => None,
            };
            if !self.is_register(m.slot()) {
                let text = self.in_memory(i, &m, pointer)?;
                out.append(&mut self.pool.first);
                out.push(text);
                if let Move::Reload(r, ..) = m {
                    written.insert(name(r));
                }
                continue;
            }
            let spare = |at: i64| match self.slot(at) {
                Some(Slot::Register(r)) => Ok(r.clone()),
                _ => Err(Failure::unsupported("a slot of the stack has no place")),
            };
            let (texts, reads, writes) = match m {
                Move::Spill(r, at, size) => {
                    let (from, to) = (pointer.unwrap_or_else(|| name(r)), spare(at)?);
                    (vec![self.target.copy(&to, &from, size)], from, to)
                }
                Move::Number(n, at) => {
                    let to = spare(at)?;
                    (vec![self.target.constant(&to, n)], String::new(), to)
                }
                Move::Reload(r, at, size, signed) => {
                    let (from, to) = (spare(at)?, name(r));
                    let bits = self.flat.code.regs[usize::from(r)].bits;
                    let texts = self.target.extend(&to, &from, size, bits / 8, signed).ok_or_else(
                        || Failure::unsupported("a part of a register cannot be extended"),
                    )?;
                    (texts, from, to)
                }
            };
            if written.contains(&reads) {
                let why = "moves between slots that depend on each other";
                return Err(Failure::unsupported(why).into());
            }
            written.insert(writes);
            out.append(&mut self.pool.first);
            out.extend(texts);
        }
        Ok(out)
    }

    pub(super) fn all_registers(&self, moves: &[Move]) -> bool {
        moves.iter().all(|m| self.is_register(m.slot()))
    }

    fn is_register(&self, at: i64) -> bool {
        matches!(self.slot(at), Some(Slot::Register(_)))
    }

    /// Whether an instruction says by itself where in memory it reads or writes.
    pub(super) fn has_memory_operand(&self, i: usize) -> bool {
        match &self.flat.nodes[i].kind {
            Kind::Insn(d) => memory_operand(d).is_some(),
            _ => false,
        }
    }

    /// A move to or from a word of the stack that stays in memory, which only a pool has a place for.
    fn in_memory(&mut self, i: usize, m: &Move, pointer: Option<String>) -> Result<String, Stuck> {
        if !self.pool.on && pool::possible(self.target) {
            return Err(Stuck::NoRegister);
        }
        let own = |r: Reg| self.flat.code.regs[usize::from(r)].name.clone();
        let (mnemonic, reg, size) = match m {
            Move::Spill(r, _, size) => ("STR", pointer.unwrap_or_else(|| own(*r)), *size),
            Move::Reload(r, _, size, false) => ("LDR", own(*r), *size),
            Move::Number(..) | Move::Reload(..) => ("", String::new(), 0),
        };
        let at = m.slot();
        let group = self.groups.iter().find(|g| g.0 <= at && at < g.1).map(|g| g.0);
        let place = group.and_then(|from| Some(self.in_pool(from)? + at - from));
        match place {
            Some(place) if size == 4 => Ok(match place {
                0 => format!("{mnemonic} {reg},[{}]", self.target.stack),
                _ => format!("{mnemonic} {reg},[{},#{place}]", self.target.stack),
            }),
            _ => Err(self.refusal(i, "accesses several slots of the stack").into()),
        }
    }
}

pub(super) enum Move {
    Spill(Reg, i64, u8),
    Number(u64, i64),
    Reload(Reg, i64, u8, bool),
}

impl Move {
    /// The place on the stack that the move writes or reads.
    pub(super) fn slot(&self) -> i64 {
        match self {
            Move::Spill(_, at, _) | Move::Number(_, at) | Move::Reload(_, at, ..) => *at,
        }
    }
}

/// The content of a temporary, as far as moves go.
enum Holds {
    Reg(Reg),
    /// The lowest bits of a register.
    Low(Reg, u8),
    Number(u64),
    Slot(i64, u8, bool),
    Other,
}
