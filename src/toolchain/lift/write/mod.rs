//! The text of the code that stays: locations by name or through a register that holds nothing else, slots of the stack
//! as spare registers.
//!
//! It does not decide what stays.

mod init;
mod jumps;
mod parts;
mod pool;
mod slots;
mod whole;

use std::collections::{BTreeMap, BTreeSet};

use litmake_base::diag::{Source, Span};
use litmake_base::failure::Failure;
use litmake_isa::Isa;
use litmake_isa::machine::{Decoded, Mem, Operand, Update};
use litmake_litmus::{Anything, Arch, Line};
use litmake_ops::{Op, Reg, Val, mask};

use super::calls;
use super::endian::{self, Parts, Placed};
use super::expand::{Flat, Kind, memory_operand};
use super::flow::{Action, Analysis, Decide, Plan, live_store, show};
use super::locks;
use super::values::{Access, Known, Place, World, smallest};
use super::{Given, Lifted, Listed, Named, Need, Table};
use crate::image::Kind as Lies;
use jumps::straighten;
use litmake_isa::target::Target;
use litmake_lang::compiled::lock_of;
use pool::Pool;

/// Something that an address register points to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    Location(u16),
    /// The lock around a location.
    Lock(u16),
    /// A part of the stack, by its first byte.
    Private(i64),
    Constant(Constant),
}

/// A constant in the object code, which nobody writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Constant {
    at: u64,
    size: u8,
    /// The size of the numbers that the constant is made of, which keep their order in big-endian code.
    unit: u8,
}

/// The replacement of a group of stack slots.
#[derive(Clone, Debug)]
enum Slot {
    Register(String),
    /// A location of its own, with its size.
    Private(i64, u32),
}

/// The instruction that a line comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Origin {
    /// The number of the function's call that the line belongs to.
    call: usize,
    /// The index of its instruction in the list.
    node: usize,
}

/// The object so many bytes past a location's start, and the offset in it.
fn object_at(loc: u16, off: i64) -> (Object, i64) {
    match off >= locks::FAR {
        // An object has one lock, wherever in it an access is.
        true => (Object::Lock(loc), 0),
        false => (Object::Location(loc), off),
    }
}

/// The constant of the object code that an instruction reads: one number, or the elements of a vector.
fn constant(accesses: &[Access], elements: bool) -> Option<Constant> {
    let at = |a: &Access| match a.place {
        Place::Constant(at) => Some((at, at + u64::from(a.size))),
        _ => None,
    };
    let from = accesses.iter().filter_map(at).map(|(from, _)| from).min()?;
    let to = accesses.iter().filter_map(at).map(|(_, to)| to).max()?;
    let size = u8::try_from(to - from).ok()?;
    let unit = if elements { u8::try_from(smallest(accesses)).ok()? } else { size };
    matches!(size, 1 | 2 | 4 | 8 | 16).then_some(Constant { at: from, size, unit })
}

struct Writer<'a> {
    flat: &'a Flat,
    analysis: &'a Analysis,
    world: &'a World<'a>,
    target: &'a Target,
    isa: &'static dyn Isa,
    decide: &'a Decide<'a>,
    plan: &'a Plan,
    named: &'a Named<'a>,
    given: &'a Given<'a>,
    /// The slots that stay, by their first byte, with their last.
    groups: Vec<(i64, i64, Slot)>,
    /// The register that holds the address of an object, plus bytes.
    pointers: BTreeMap<(Object, i64), String>,
    free: Vec<String>,
    /// The constants in memory that the text reads there.
    constants: Vec<Constant>,
    pool: Pool,
    /// The locations whose locks are taken.
    locks: BTreeSet<u16>,
    /// Bytes of the location on which fences in the shape of locked operations work.
    fence: u8,
    /// Condition fields of Power that may as well be the first, which is not written.
    plain_fields: BTreeSet<String>,
    /// See [`Lifted::addresses`].
    addresses: BTreeSet<String>,
}

/// More than one way of naming locations is tried where there are too few registers for the first.
enum Stuck {
    NoRegister,
    /// The constant object around this address has to be a location.
    Constant(u64),
    Other(Failure),
}

impl From<Failure> for Stuck {
    fn from(failure: Failure) -> Stuck {
        Stuck::Other(failure)
    }
}

pub fn write(
    flat: &Flat,
    analysis: &Analysis,
    world: &World,
    target: &Target,
    named: &Named,
    given: &Given,
) -> Result<Lifted, Need> {
    let done = match attempt(flat, analysis, world, target, named, given, false) {
        Err(Stuck::NoRegister) if pool::possible(target) => {
            attempt(flat, analysis, world, target, named, given, true)
        }
        done => done,
    };
    let at = flat.nodes.first().map_or(0, |n| n.at);
    let refused =
        |what: &str| super::placed(Failure::unsupported(what), world.image, at, given).into();
    done.map_err(|stuck| match stuck {
        Stuck::NoRegister => {
            refused("the code leaves no register free for the addresses of its locations")
        }
        Stuck::Constant(at) => match Table::around(at, world.image, flat, target.word) {
            Some(table) if named.tables.iter().all(|t| t.at != table.at) => Need::Table(table),
            _ => refused("the code uses an address of constant data that no object contains"),
        },
        Stuck::Other(failure) => failure.into(),
    })
}

fn attempt(
    flat: &Flat,
    analysis: &Analysis,
    world: &World,
    target: &Target,
    named: &Named,
    given: &Given,
    pooled: bool,
) -> Result<Lifted, Stuck> {
    let isa = litmake_isa::of(target.arch).ok_or_else(|| Failure::from("C has no machine code"))?;
    let result = result(flat, analysis, target, isa, given)?;
    let placed = |failure: Failure, at: u64| super::placed(failure, world.image, at, given);
    let decide = Decide { flat, analysis, world, target, result, placed: &placed };
    let plan = decide.run()?;
    let mut writer = Writer {
        flat,
        analysis,
        world,
        target,
        isa,
        decide: &decide,
        plan: &plan,
        named,
        given,
        groups: Vec::new(),
        pointers: BTreeMap::new(),
        free: Vec::new(),
        constants: Vec::new(),
        pool: Pool::new(pooled),
        locks: BTreeSet::new(),
        fence: 0,
        plain_fields: BTreeSet::new(),
        addresses: BTreeSet::new(),
    };
    writer.free = writer.free_registers();
    writer.plain_fields = writer.plain_fields();
    writer.group_slots()?;
    writer.has_tables()?;
    let (mut lines, mut calls) = writer.lines()?;
    let at = flat.nodes.first().map_or(0, |n| n.at);
    let mut init = writer.init().map_err(|e| placed(e, at))?;
    let spare = writer.free.last().map(String::as_str);
    parts::clear(target, isa, &mut lines, &mut calls, &init, spare);
    let listing = if given.lists { writer.listing(&lines, &calls) } else { Vec::new() };
    if given.calls {
        let calls: Vec<usize> = calls.iter().map(|origin| origin.call).collect();
        calls::keep(target, given.thread, &calls, &mut lines, &mut init);
    }
    writer.make_sure(&lines)?;
    writer.note_addresses();
    let result = result.map(|(r, _)| flat.code.regs[usize::from(r)].name.clone());
    let (written, accesses) = (writer.written(), writer.accesses());
    let (addresses, stubbed) = (writer.addresses, BTreeMap::new());
    Ok(Lifted { lines, init, written, accesses, addresses, result, listing, stubbed })
}

/// The register of what the function returns, where that is looked at.
fn result(
    flat: &Flat,
    analysis: &Analysis,
    target: &Target,
    isa: &dyn Isa,
    given: &Given,
) -> Result<Option<(Reg, u128)>, Failure> {
    let Some(bytes) = given.foreign.and_then(|f| f.result) else { return Ok(None) };
    let name = isa.register(target.result).map(|r| r.name);
    let reg = flat.code.regs.iter().position(|r| Some(&r.name) == name.as_ref());
    let state = analysis.states.last().and_then(Option::as_ref);
    let nothing = || Failure::unsupported("the function does not return, or returns nothing");
    let (reg, state) = reg.zip(state).ok_or_else(nothing)?;
    match state.regs.get(reg).copied().flatten() {
        Some(Known::Start(_)) => Err(nothing()),
        Some(known) if known.is_frame() => {
            Err(Failure::unsupported("the function returns an address on its stack"))
        }
        _ => Ok(Some((reg as Reg, mask(bytes.saturating_mul(8))))),
    }
}

impl Writer<'_> {
    /// The accesses of what stays, by instruction.
    fn kept_by_instruction(&self) -> impl Iterator<Item = &[Access]> {
        let stays = |i: &usize| matches!(self.plan.actions[*i], Action::Keep | Action::Slots);
        let kept = (0..self.flat.nodes.len()).filter(stays);
        kept.map(|i| self.analysis.facts[i].accesses.as_slice())
    }

    /// The accesses of what stays.
    fn kept_accesses(&self) -> impl Iterator<Item = &Access> {
        self.kept_by_instruction().flatten()
    }

    /// See [`Lifted::accesses`]: what one instruction accesses of a location is one access.
    fn accesses(&self) -> BTreeSet<(String, i64, u8)> {
        let mut out = BTreeSet::new();
        for accesses in self.kept_by_instruction() {
            let mut spans: BTreeMap<u16, (i64, i64)> = BTreeMap::new();
            for a in accesses {
                let Place::Location(loc, from) = a.place else { continue };
                if !self.is_own(loc) && from < locks::FAR {
                    let to = from + i64::from(a.size);
                    let span = spans.entry(loc).or_insert((from, to));
                    *span = (span.0.min(from), span.1.max(to));
                }
            }
            for (loc, (from, to)) in spans {
                let size = u8::try_from(to - from).unwrap_or(u8::MAX);
                out.insert((self.name_of(&Object::Location(loc)), from, size));
            }
        }
        out
    }

    /// Notes the locations in which an access is anywhere, and those whose address a register holds from
    /// the start.
    fn note_addresses(&mut self) {
        let near = self.kept_accesses().filter_map(|a| a.near.map(|(loc, _)| loc));
        let mut found: BTreeSet<u16> = near.collect();
        if let Some(Some(state)) = self.analysis.states.first() {
            for (bits, known) in self.plan.start.regs.iter().zip(&state.regs) {
                let location = known.filter(|_| *bits != 0).and_then(|k| self.world.location(k));
                found.extend(location.map(|(loc, _)| loc));
            }
        }
        found.retain(|loc| !self.is_own(*loc));
        let names = found.into_iter().map(|loc| self.name_of(&Object::Location(loc)));
        let names: Vec<String> = names.collect();
        self.addresses.extend(names);
        let own = &self.named.locations[self.named.shared..];
        self.addresses.retain(|name| !own.contains(name));
    }

    /// Whether a location is the thread's own.
    fn is_own(&self, loc: u16) -> bool {
        usize::from(loc) >= self.named.shared
    }

    /// The locations that are written by the code that stays.
    fn written(&self) -> BTreeSet<String> {
        self.kept_accesses()
            .filter_map(|a| match a.place {
                Place::Location(loc, off) if a.store && !self.is_own(loc) => {
                    Some(self.name_of(&object_at(loc, off).0))
                }
                _ => None,
            })
            .collect()
    }

    fn canonical(&self, text: &str) -> Option<String> {
        self.isa.register(text).map(|r| r.name)
    }

    fn known(&self, i: usize, name: &str) -> Option<Known> {
        let reg = self.register(name)?;
        // Under a condition more is known than before it.
        let read = self.analysis.facts[i].reads.get(&(reg as Reg)).copied().flatten();
        read.or_else(|| self.before(i, name))
    }

    /// The known content of a register before an instruction.
    fn before(&self, i: usize, name: &str) -> Option<Known> {
        let reg = self.register(name)?;
        self.analysis.states[i].as_ref()?.regs.get(reg).copied().flatten()
    }

    fn register(&self, name: &str) -> Option<usize> {
        let name = self.canonical(name)?;
        self.flat.code.regs.iter().position(|r| r.name == name)
    }

    /// The registers that the code that stays does not name, in order of preference: a parameter's own for the location
    /// that it points to first.
    fn free_registers(&self) -> Vec<String> {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let name = |r: usize| self.flat.code.regs.get(r).map(|r| r.name.clone());
        let mut live = |l: &super::live::Live| {
            for (r, bits) in l.regs.iter().enumerate() {
                if *bits != 0 {
                    taken.extend(name(r));
                }
            }
        };
        live(&self.plan.start);
        self.plan.after.iter().for_each(&mut live);
        for (i, action) in self.plan.actions.iter().enumerate() {
            if !matches!(action, Action::Keep | Action::Slots) {
                continue;
            }
            for (reg, ..) in &self.analysis.facts[i].writes {
                taken.extend(name(usize::from(*reg)));
            }
            let Kind::Insn(d) = &self.flat.nodes[i].kind else {
                continue;
            };
            let named = self.decide.named_address(i);
            for operand in &d.operands {
                match operand {
                    Operand::Reg(r) if self.can_pool(i, r) || !self.renamed(i, r) => {
                        taken.extend(self.canonical(r));
                    }
                    Operand::Mem(m) if m.base.as_deref().is_some_and(|b| self.can_pool(i, b)) => {
                        taken.extend(m.base.as_deref().and_then(|b| self.canonical(b)));
                    }
                    Operand::Mem(m) if !named => {
                        let base = m.base.as_deref().filter(|b| !self.renamed(i, b));
                        taken.extend(base.and_then(|b| self.canonical(b)));
                        let index = m.index.as_deref().unwrap_or("");
                        let first = index.split([',', ' ', '*']).next().unwrap_or("");
                        taken.extend(self.canonical(first));
                    }
                    Operand::Text(text) => {
                        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '$') {
                            taken.extend(self.canonical(word));
                        }
                    }
                    _ => {}
                }
            }
        }
        self.target
            .spare
            .iter()
            .map(|s| s.to_string())
            // A register may have two names, such as `R14` and `LR`.
            .filter(|s| !taken.contains(&self.canonical(s).unwrap_or_else(|| s.clone())))
            .rev()
            .collect()
    }

    /// The condition fields whose values never meet those of the first, where all that stays
    /// compares and branches: more tools read comparisons without a field.
    fn plain_fields(&self) -> BTreeSet<String> {
        let mut out: BTreeSet<String> = BTreeSet::new();
        if self.target.arch != Arch::Ppc {
            return out;
        }
        let field = |r: usize| {
            let name = self.flat.code.regs.get(r)?.name.split_once('.')?.0;
            name.starts_with("cr").then(|| name.to_string())
        };
        let fields_of = |regs: &mut dyn Iterator<Item = usize>| -> BTreeSet<String> {
            regs.filter_map(field).collect()
        };
        let mut meets: BTreeSet<String> = BTreeSet::new();
        for (i, action) in self.plan.actions.iter().enumerate() {
            let live = self.plan.after[i].regs.iter().enumerate();
            let mut here = fields_of(&mut live.filter(|(_, m)| **m != 0).map(|(r, _)| r));
            if *action == Action::Keep {
                let facts = &self.analysis.facts[i];
                here.extend(fields_of(&mut facts.writes.iter().map(|w| usize::from(w.0))));
                let Kind::Insn(d) = &self.flat.nodes[i].kind else { continue };
                let simple = d.mnemonic.starts_with("cmp") || d.mnemonic.starts_with('b');
                for operand in &d.operands {
                    let Operand::Text(text) = operand else { continue };
                    if text.contains("cr") && !simple {
                        return BTreeSet::new();
                    }
                }
            }
            if here.len() > 1 {
                meets.extend(here.iter().cloned());
            }
            out.extend(here);
        }
        out.retain(|f| f != "cr0" && !meets.contains(f));
        out
    }

    /// Whether a mention of a register becomes one of the register that holds its location.
    fn renamed(&self, i: usize, name: &str) -> bool {
        let Some(known) = self.known(i, name) else {
            return false;
        };
        let reg =
            self.canonical(name).and_then(|n| self.flat.code.regs.iter().position(|r| r.name == n));
        self.world.location(known).is_some()
            && reg.is_some_and(|r| self.decide.can_rename(i, r as Reg))
    }

    fn slot(&self, at: i64) -> Option<&Slot> {
        self.groups.iter().find(|g| g.0 <= at && at < g.1).map(|g| &g.2)
    }

    fn private_name(&self, at: i64) -> String {
        if at < 0 {
            format!("P{}_m{}", self.given.thread, -at)
        } else {
            format!("P{}_p{at}", self.given.thread)
        }
    }

    fn name_of(&self, object: &Object) -> String {
        let location =
            |loc: &u16| self.named.locations.get(usize::from(*loc)).cloned().unwrap_or_default();
        match object {
            Object::Location(loc) => location(loc),
            Object::Lock(loc) => lock_of(&location(loc)),
            Object::Private(from) => self.private_name(*from),
            Object::Constant(constant) => self.constant_name(*constant),
        }
    }

    fn constant_name(&self, constant: Constant) -> String {
        let n = self.constants.iter().position(|c| *c == constant).unwrap_or(0);
        format!("P{}_c{n}", self.given.thread)
    }

    /// The register that points to an object, plus bytes.
    fn pointer(&mut self, object: Object, offset: i64) -> Result<String, Stuck> {
        if let Some(reg) = self.pointers.get(&(object.clone(), offset)) {
            return Ok(reg.clone());
        }
        let own = match &object {
            Object::Location(n) => self.target.params.get(usize::from(*n)).copied(),
            Object::Lock(_) | Object::Private(_) | Object::Constant(..) => None,
        };
        // Its parameter's register first; else one that is no parameter of another location.
        let others = &self.target.params[..self.target.params.len().min(self.given.params.len())];
        let at = self
            .free
            .iter()
            .position(|f| Some(f.as_str()) == own && offset == 0)
            .or_else(|| self.free.iter().rposition(|f| !others.contains(&f.as_str())))
            .or_else(|| self.free.len().checked_sub(1));
        let reg = at.map(|at| self.free.remove(at)).ok_or(Stuck::NoRegister)?;
        self.pointers.insert((object, offset), reg.clone());
        Ok(reg)
    }

    /// The instructions in the order in which they run, with the lines that each became.
    fn listing(&self, lines: &[Line], origins: &[Origin]) -> Vec<Listed> {
        let image = self.world.image;
        let mut out: Vec<(u64, Listed)> = Vec::new();
        for (i, node) in self.flat.nodes.iter().enumerate() {
            let of = lines.iter().zip(origins).filter(|(_, o)| o.node == i).map(|(l, _)| l);
            let texts: Vec<String> = of
                .map(|l| {
                    let labels: String = l.labels.iter().map(|l| format!("{l}: ")).collect();
                    format!("{labels}{}", l.text)
                })
                .collect();
            match out.last_mut() {
                // A call, or what stands for one, is several steps.
                Some((at, last)) if *at == node.at => last.lines.extend(texts),
                _ => {
                    let bytes = image.code_at(node.at).unwrap_or(&[]);
                    let code = self.target.decoder.decode(bytes, node.at);
                    let code = code.map(|d| {
                        d.text(self.target.decoder.style(), &|at| image.shown(at).replace('`', ""))
                    });
                    if code.is_err() && texts.is_empty() {
                        continue;
                    }
                    let function = image.function_at(node.at);
                    let place = function.map(|f| (f.name, node.at - f.start));
                    let code = code.unwrap_or_default();
                    let place = place.unwrap_or_default();
                    out.push((node.at, Listed { place, code, lines: texts }));
                }
            }
        }
        out.into_iter().map(|(_, listed)| listed).collect()
    }

    /// The lines, and for each where it comes from.
    fn lines(&mut self) -> Result<(Vec<Line>, Vec<Origin>), Stuck> {
        let len = self.flat.nodes.len();
        let mut texts: Vec<Vec<Text>> = Vec::with_capacity(len);
        for i in 0..len {
            let text = match self.analysis.states[i] {
                Some(_) => self.node(i).map_err(|stuck| match stuck {
                    Stuck::Other(failure) => {
                        Stuck::Other((self.decide.placed)(failure, self.flat.nodes[i].at))
                    }
                    other => other,
                })?,
                None => Vec::new(),
            };
            texts.push(text);
        }
        straighten(&mut texts);
        // A jump to what comes next anyway is no jump; taking one away can make another so.
        let dropped = |texts: &[Vec<Text>], i: usize, to: usize| {
            i < to && texts.get(i + 1..to.min(len)).is_some_and(|t| t.iter().all(Vec::is_empty))
        };
        for i in (0..len).rev() {
            if let [Text::Goto(to)] = texts[i].as_slice()
                && dropped(&texts, i, *to)
            {
                texts[i].clear();
            }
        }
        let mut targets = BTreeSet::new();
        for text in texts.iter().flatten() {
            if let Text::Goto(to) | Text::Branch(_, to) = text {
                targets.insert(*to);
            }
        }
        let names: BTreeMap<usize, String> = targets
            .iter()
            .enumerate()
            .map(|(n, to)| (*to, format!("L{}{n}", self.given.thread)))
            .collect();
        let (mut lines, mut calls) = (Vec::new(), Vec::new());
        let mut labels = Vec::new();
        for (i, text) in texts.into_iter().enumerate() {
            labels.extend(names.get(&i).cloned());
            for t in text {
                let name = |to: &usize| names.get(to).cloned().unwrap_or_default();
                let text = match &t {
                    Text::Plain(text) => text.clone(),
                    Text::Goto(to) => self.target.jump(&name(to)),
                    Text::Branch(d, to) => {
                        let label = name(to);
                        d.text(self.target.decoder.style(), &|_| label.clone())
                    }
                };
                lines.push(Line {
                    labels: std::mem::take(&mut labels),
                    text,
                    span: Span::default(),
                });
                calls.push(Origin { call: self.flat.nodes[i].call, node: i });
            }
        }
        labels.extend(names.range(len..).map(|(_, n)| n.clone()));
        if !labels.is_empty() {
            lines.push(Line { labels, text: String::new(), span: Span::default() });
            calls.push(Origin { call: 0, node: len.saturating_sub(1) });
        }
        Ok((lines, calls))
    }

    fn node(&mut self, i: usize) -> Result<Vec<Text>, Stuck> {
        let action = self.plan.actions[i].clone();
        if matches!(action, Action::Keep | Action::Slots) {
            self.no_bare_address(i)?;
        }
        Ok(match action {
            Action::Drop => Vec::new(),
            Action::Goto(to) => vec![Text::Goto(to)],
            Action::Constants(list) => {
                let mut out = Vec::new();
                for (reg, val) in list {
                    out.extend(self.constant(i, reg, val)?.into_iter().map(Text::Plain));
                }
                out
            }
            Action::Slots => match self.moves(i) {
                // What has its slots through a register, such as `STM SP,{R4,R8}`, has no operand to rewrite.
                Some(moves) if self.all_registers(&moves) || !self.has_memory_operand(i) => {
                    let mut out = Vec::new();
                    for m in self.in_order(i, moves)? {
                        out.push(Text::Plain(m));
                    }
                    out
                }
                None if self.target.arch == Arch::Arm && !self.has_memory_operand(i) => {
                    return Err(self.refusal(i, "accesses several slots of the stack").into());
                }
                _ => self.kept(i)?,
            },
            Action::Keep => match &self.flat.nodes[i].kind {
                Kind::Insn(_) => self.kept(i)?,
                Kind::Lock(to) => self.lock(i, to)?,
                Kind::Made => {
                    let what = "an address of code or the stack is used as a value";
                    return Err(Failure::unsupported(what).into());
                }
                Kind::Open(_) | Kind::Copy(_) | Kind::Goto | Kind::Nothing | Kind::Unclear(_) => {
                    Vec::new()
                }
            },
        })
    }

    /// The address of a location's lock, where only a run tells the place in the location: what it
    /// depends on stays.
    fn lock(&mut self, i: usize, to: &str) -> Result<Vec<Text>, Stuck> {
        let from = self.target.params[0];
        let known = self.known(i, from);
        let published = || {
            let name = self.given.published.filter(|_| known.is_none())?;
            Some(self.named.locations.iter().position(|l| l == name)? as u16)
        };
        let loc = known.and_then(|k| self.world.within(k)).or_else(published).ok_or_else(|| {
            Failure::unsupported(
                "an access under a lock of `libatomic`, to an object that only a run tells",
            )
        })?;
        let lock = self.pointer(Object::Lock(loc), 0)?;
        self.locks.insert(loc);
        let lines = self.target.dependent(to, from, &lock);
        let lines = lines.ok_or_else(|| {
            Failure::unsupported("a lock of `libatomic` at an address that depends")
        })?;
        Ok(lines.into_iter().map(Text::Plain).collect())
    }

    fn constant(&mut self, i: usize, reg: Reg, val: Val) -> Result<Vec<String>, Stuck> {
        let name = self.flat.code.regs[usize::from(reg)].name.clone();
        let val = self.part_in_use(i, reg, val);
        if let Some((loc, off)) = self.world.location(Known::Val(val)) {
            let (object, off) = object_at(loc, off);
            self.addresses.insert(self.name_of(&object));
            if self.pool.on {
                return Ok(self.pool_load(object, off, &name));
            }
            let pointer = self.pointer(object, off)?;
            return Ok(vec![self.target.copy(&name, &pointer, self.target.word)]);
        }
        match val {
            Val::Int(n) => {
                let n = u64::try_from(n)
                    .map_err(|_| Failure::unsupported("a constant of over 64 bits"))?;
                self.no_address(i, n)?;
                Ok(vec![self.target.constant(&name, n)])
            }
            _ => Err(Failure::unsupported("an address of code is used as a value").into()),
        }
    }

    /// Stops at a number that is an address of the object code, and no location's.
    fn no_address(&self, i: usize, n: u64) -> Result<(), Stuck> {
        let image = self.world.image;
        match image.kind_at(n) {
            // Where no object is, the number may be a part of another address; an access there is an error of
            // the simulation.
            Some(Lies::Constant) => {
                return match Table::around(n, image, self.flat, self.target.word) {
                    Some(_) => Err(Stuck::Constant(n)),
                    None => Ok(()),
                };
            }
            None if image.missing_at(n).is_none() => return Ok(()),
            _ => {}
        }
        Err(self.refusal(i, "uses an address of the object code as a value").into())
    }

    /// Stops at a constant object whose address is used, and that is no location. The last
    /// instruction of those that compute an address has all of it.
    fn has_tables(&self) -> Result<(), Stuck> {
        for (i, action) in self.plan.actions.iter().enumerate().rev() {
            let found = match action {
                Action::Constants(list) => {
                    list.iter().try_for_each(|(reg, val)| match self.part_in_use(i, *reg, *val) {
                        val @ Val::Int(n) if self.world.location(Known::Val(val)).is_none() => {
                            self.no_address(i, u64::try_from(n).unwrap_or(0))
                        }
                        _ => Ok(()),
                    })
                }
                Action::Keep | Action::Slots => self.no_bare_address(i),
                Action::Drop | Action::Goto(_) => Ok(()),
            };
            if let Err(Stuck::Constant(at)) = found {
                return Err(Stuck::Constant(at));
            }
        }
        Ok(())
    }

    /// Stops at an instruction that would have an address of the object code as a number in its
    /// text, or leave one in a register. A linker's addresses may be any numbers, so only what
    /// computes an address counts there.
    fn no_bare_address(&self, i: usize) -> Result<(), Stuck> {
        let facts = &self.analysis.facts[i];
        let Kind::Insn(d) = &self.flat.nodes[i].kind else { return Ok(()) };
        let computes = memory_operand(d).is_some() && facts.accesses.is_empty();
        if self.world.image.is_linked_program() && !computes {
            return Ok(());
        }
        let after = &self.plan.after[i];
        let live = |r: &Reg| after.regs.get(usize::from(*r)).is_some_and(|bits| *bits != 0);
        // The value of a register is looked after where it is written.
        let from_register = |known| facts.reads.values().any(|k| *k == Some(known));
        let written = facts.writes.iter().filter(|(r, _, certain)| *certain && live(r));
        let written = written.filter_map(|(r, known, _)| match known {
            Some(k @ Known::Val(val)) if !from_register(*k) => Some(self.part_in_use(i, *r, *val)),
            _ => None,
        });
        let number = d.operands.iter().any(|o| matches!(o, Operand::Imm(_)));
        let stored = facts.accesses.iter().filter(|_| number).filter_map(|a| match a.stored {
            Some(k @ Known::Val(val)) if !from_register(k) => Some(val),
            _ => None,
        });
        let kept = |a: &&Access| !matches!(a.place, Place::Stack(_)) || live_store(a, after);
        let stores = facts.accesses.iter().filter(|a| a.store).all(|a| kept(&a));
        for val in written.chain(stored.filter(|_| stores)) {
            match val {
                Val::Int(n) if self.world.location(Known::Val(val)).is_none() => {
                    self.no_address(i, u64::try_from(n).unwrap_or(0))?;
                }
                Val::Int(_) => {
                    let what = "has an address as a number";
                    return Err(self.refusal(i, what).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The part of a register's number that something reads: the rest may be a part of an address.
    fn part_in_use(&self, i: usize, reg: Reg, val: Val) -> Val {
        let live = self.plan.after[i].regs.get(usize::from(reg)).copied().unwrap_or(u128::MAX);
        match val {
            Val::Int(n) if live != 0 && live <= u32::MAX.into() => {
                let part = n & u128::MAX >> live.leading_zeros();
                let lies = u64::try_from(n).is_ok_and(|n| self.world.image.kind_at(n).is_some());
                if lies { Val::Int(part) } else { val }
            }
            val => val,
        }
    }

    /// An instruction as it was, with memory and addresses by name.
    fn kept(&mut self, i: usize) -> Result<Vec<Text>, Stuck> {
        let Kind::Insn(d) = &self.flat.nodes[i].kind else {
            return Err(Failure::unsupported("a jump on the stack").into());
        };
        let mut d = self.pushed_by_a_move(i, d)?;
        let named = self.decide.named_address(i);
        let pushes = ["push", "pop"].iter().any(|p| d.mnemonic.to_lowercase().starts_with(p));
        if self.world.frame.is_some() && self.target.is_x86() && pushes {
            return Err(self.refusal(i, "accesses several slots of the stack").into());
        }
        if named {
            plain_access(self.target.arch, &mut d);
        }
        let mut swap = false;
        let turned = match self.world.image.big {
            true => self.world.turned(self.target.arch, &d, &self.analysis.facts[i].accesses),
            false => None,
        };
        for n in 0..d.operands.len() {
            let new = match &d.operands[n] {
                Operand::Mem(mem) if named => {
                    let mem = mem.clone();
                    let (operand, swapped) = self.named(i, &d, n, &mem)?;
                    swap |= swapped;
                    operand
                }
                Operand::Mem(mem) => {
                    let mut mem = self.with_named_offset(i, mem.clone())?;
                    if let Some(base) = mem.base.clone()
                        && let Some(new) = self.substitute(i, &base)?
                    {
                        mem.base = Some(new);
                    }
                    if let Some((by, swapped)) = turned {
                        if by != 0 && mem.update != Update::None {
                            return Err(self
                                .refusal(i, "moves its address in big-endian code")
                                .into());
                        }
                        mem.offset += by;
                        swap |= swapped;
                    }
                    Operand::Mem(mem)
                }
                Operand::Reg(name) => match self.substitute(i, &name.clone())? {
                    Some(new) => Operand::Reg(new),
                    None => continue,
                },
                _ => continue,
            };
            d.operands[n] = new;
        }
        if swap {
            for (a, b) in endian::pairs(self.target.arch, &d).unwrap_or_default() {
                if *b < d.operands.len() {
                    d.operands.swap(*a, *b);
                }
            }
        }
        d.operands.retain(|o| !matches!(o, Operand::Text(t) if self.plain_fields.contains(t)));
        // Of a register with itself, either width says equal; more tools read the narrow form.
        if self.target.arch == Arch::Ppc
            && d.mnemonic == "cmpd"
            && let [Operand::Reg(a), Operand::Reg(b)] = d.operands.as_slice()
            && a == b
        {
            d.mnemonic = "cmpw".to_string();
        }
        // A locked operation that changes nothing is a fence; more tools read it as an addition.
        if let Some(size) = self.target.locked_nothing(&d) {
            let name = if self.target.arch == Arch::X86 { "LOCK ADD" } else { "lock add" };
            d.mnemonic = format!("{name}{size}");
        }
        self.whole_registers(i, &mut d);
        // Here the memory may stand on either side; herd has it first.
        if d.mnemonic.starts_with("lock cmpxchg")
            && let [Operand::Reg(_), Operand::Text(_) | Operand::Mem(_)] = d.operands.as_slice()
        {
            d.operands.swap(0, 1);
        }
        let target = self.flat.nodes[i].ops.iter().find_map(|op| match op {
            Op::Branch { target, .. } | Op::Jump { target } => Some(*target as usize),
            _ => None,
        });
        if let Some(two) = self.extended(&d) {
            return Ok(two);
        }
        let first = std::mem::take(&mut self.pool.first);
        let mut out: Vec<Text> = first.into_iter().map(Text::Plain).collect();
        out.push(match target {
            Some(to) => Text::Branch(d, to),
            None => Text::Plain(d.text(self.target.decoder.style(), &|at| format!("{at:#x}"))),
        });
        if named {
            out.extend(self.updated(i)?.into_iter().map(Text::Plain));
        }
        Ok(out)
    }

    /// A push of what lies in memory as a load into the register that its slot became.
    fn pushed_by_a_move(&self, i: usize, d: &Decoded) -> Result<Decoded, Stuck> {
        let mut d = d.clone();
        let Some(at) = self.pushes_memory(i) else { return Ok(d) };
        let Some(Slot::Register(reg)) = self.slot(at) else { return Err(Stuck::NoRegister) };
        let to = Operand::Reg(self.target.view(reg, self.target.word));
        match self.target.arch {
            Arch::X86 => {
                d.mnemonic = "MOV".to_string();
                d.operands.insert(0, to);
            }
            _ => {
                d.mnemonic = "movq".to_string();
                d.operands.push(to);
            }
        }
        Ok(d)
    }

    /// A memory operand of x86 whose offset is an address, with a register in its place.
    fn with_named_offset(&mut self, i: usize, mem: Mem) -> Result<Mem, Stuck> {
        let Ok(n) = u64::try_from(mem.offset) else { return Ok(mem) };
        if !self.target.is_x86() || self.world.image.is_linked_program() {
            return Ok(mem);
        }
        let Some((loc, off)) = self.world.location(Known::int(n)) else {
            self.no_address(i, n)?;
            return Ok(mem);
        };
        let index = match (mem.base, mem.index) {
            (None, index) => index,
            (Some(base), None) if self.target.arch == Arch::X86 => Some(base),
            (Some(base), None) => Some(format!("{base},1")),
            (Some(_), Some(_)) => {
                return Err(self.refusal(i, "adds two registers to an address").into());
            }
        };
        let (object, offset) = object_at(loc, off);
        self.addresses.insert(self.name_of(&object));
        let base = self.pointer(object, 0)?;
        Ok(Mem {
            base: Some(self.target.view(&base, self.target.word)),
            offset,
            index,
            update: mem.update,
        })
    }

    /// The code for the value that an instruction leaves in the register of its address, where the address is written
    /// by name.
    fn updated(&mut self, i: usize) -> Result<Vec<String>, Stuck> {
        let Kind::Insn(d) = &self.flat.nodes[i].kind else {
            return Ok(Vec::new());
        };
        let base = d.operands.iter().find_map(|o| match o {
            Operand::Mem(m) if m.update != Update::None => m.base.clone(),
            _ => None,
        });
        let Some(base) = base.filter(|base| !self.dead_after(i, base)) else {
            return Ok(Vec::new());
        };
        let Some(reg) = self.register(&base).map(|r| r as Reg) else {
            return Ok(Vec::new());
        };
        let left = self.analysis.facts[i].writes.iter().rev().find(|(r, ..)| *r == reg);
        match left {
            Some((_, Some(Known::Val(val)), true)) => self.constant(i, reg, *val),
            // Nothing asks for addresses on the stack.
            _ => Ok(Vec::new()),
        }
    }

    /// A zero-extending move of x86 as two that more tools read: 0, then the low part.
    fn extended(&self, d: &Decoded) -> Option<Vec<Text>> {
        let (low, bytes) = match d.mnemonic.as_str() {
            "movzbl" => ("movb", 1),
            "movzwl" => ("movw", 2),
            _ => return None,
        };
        let [from, Operand::Reg(to)] = d.operands.as_slice() else {
            return None;
        };
        let reg = self.canonical(to)?;
        // The register that is moved must not be the one that is cleared.
        let from = match from {
            Operand::Text(memory) if memory.starts_with('(') => memory.clone(),
            Operand::Reg(from) if self.canonical(from)? != reg => from.clone(),
            _ => return None,
        };
        let clear = self.target.constant(&reg, 0);
        let load = format!("{low} {from},{}", self.target.view(&reg, bytes));
        Some(vec![Text::Plain(clear), Text::Plain(load)])
    }

    /// The register that holds the location whose address this one holds here.
    fn substitute(&mut self, i: usize, name: &str) -> Result<Option<String>, Stuck> {
        if !self.renamed(i, name) {
            return Ok(None);
        }
        let known = self.known(i, name).and_then(|k| self.world.location(k));
        let (Some((loc, off)), Some(view)) = (known, self.isa.register(name)) else {
            return Ok(None);
        };
        let (object, off) = object_at(loc, off);
        self.addresses.insert(self.name_of(&object));
        if self.can_pool(i, name) {
            self.load_from_pool(object, off, name);
            return Ok(None);
        }
        let pointer = self.pointer(object, off)?;
        Ok(Some(self.target.view(&pointer, view.shown_bits / 8)))
    }

    /// A memory operand by its location, with whether registers that it is accessed with change
    /// places.
    fn named(
        &mut self,
        i: usize,
        d: &Decoded,
        n: usize,
        mem: &Mem,
    ) -> Result<(Operand, bool), Stuck> {
        let facts = &self.analysis.facts[i];
        if self.decide.is_stack_fence(i, &self.plan.after[i]) {
            self.fence = self.fence.max(facts.accesses.iter().map(|a| a.size).max().unwrap_or(0));
            let name = format!("P{}_fence", self.given.thread);
            let text = self.target.direct(&name, 0);
            let text = text.ok_or_else(|| self.refusal(i, "has no plain form"))?;
            return Ok((Operand::Text(text), false));
        }
        let (object, offset) = match self.accessed(i, d, n)? {
            Accessed::Object(object, offset) => (object, offset),
            Accessed::Register(reg) => return Ok((Operand::Reg(reg), false)),
            Accessed::Nothing => return Ok((Operand::Mem(mem.clone()), false)),
        };
        let Placed { offset, swap } = self.placed(i, d, n, &object, offset)?;
        if let Object::Lock(loc) = object {
            self.locks.insert(loc);
        }
        let name = self.name_of(&object);
        if let Some(text) = self.target.direct(&name, offset) {
            return Ok((Operand::Text(text), swap));
        }
        // Where the form has no offset, the register holds the sum.
        let shape = |base: String, offset: i64| {
            // A number of bytes stands where an index does.
            let index = mem.index.clone().filter(|index| index.parse::<u16>().is_ok());
            let plain = Mem { base: Some(base.clone()), offset, index, update: Update::None };
            match (&mem.index, self.target.arch) {
                (Some(_), Arch::Ppc) => {
                    Mem { base: None, offset: 0, index: Some(base), update: Update::None }
                }
                _ => plain,
            }
        };
        let offsets = !(mem.index.is_some() && self.target.arch == Arch::Ppc);
        // An element's address has a name.
        let element = match &object {
            Object::Location(loc) => self.is_element(*loc, offset),
            _ => false,
        };
        let offsets = offsets && (self.target.takes_offset(&d.mnemonic) || !element);
        let mut tried = d.clone();
        tried.operands[n] = Operand::Mem(shape(self.target.spare[0].to_string(), offset));
        if let Object::Private(from) = object
            && let Some(at) = self.in_pool(from)
        {
            let memory = shape(self.target.stack.to_string(), at + offset);
            tried.operands[n] = Operand::Mem(memory.clone());
            if at + offset == 0 || self.reads(&tried) {
                return Ok((Operand::Mem(memory), swap));
            }
            return Err(self.refusal(i, "cannot have its slot in the pool").into());
        }
        if let (Object::Location(_) | Object::Lock(_), Some(own)) = (&object, &mem.base)
            && self.can_pool(i, own)
        {
            // Where the code has the object's start in its register, or nothing asks for what that
            // holds after, the offset can stay in the instruction.
            let known = self.known(i, own).and_then(|k| self.world.location(k));
            let holds = known.map_or(0, |(loc, off)| object_at(loc, off).1);
            let base = if holds != 0 && self.dead_after(i, own) { 0 } else { holds };
            tried.operands[n] = Operand::Mem(shape(own.clone(), offset - base));
            let base = match offset == base || offsets && self.reads(&tried) {
                true => base,
                false if self.dead_after(i, own) => offset,
                false => {
                    return Err(self.refusal(i, "cannot have its address out of the pool").into());
                }
            };
            self.load_from_pool(object, base, own);
            return Ok((Operand::Mem(shape(own.clone(), offset - base)), swap));
        }
        if offset == 0 || offsets && self.reads(&tried) {
            let base = self.pointer(object, 0)?;
            return Ok((Operand::Mem(shape(base, offset)), swap));
        }
        let base = self.pointer(object, offset)?;
        Ok((Operand::Mem(shape(base, 0)), swap))
    }

    /// The accesses by an operand. An instruction with two places in memory writes to the first and reads from the
    /// second, or accesses one place that both are.
    fn accesses_by(&self, i: usize, d: &Decoded, n: usize) -> Vec<Access> {
        let all = &self.analysis.facts[i].accesses;
        let own: Vec<Access> = all.iter().filter(|a| a.store == (n == 0)).copied().collect();
        if endian::copies(self.target.arch, d) && !own.is_empty() { own } else { all.clone() }
    }

    /// Where an instruction accesses memory by an operand: the object and the lowest offset.
    fn accessed(&mut self, i: usize, d: &Decoded, n: usize) -> Result<Accessed, Stuck> {
        let accesses = self.accesses_by(i, d, n);
        let mut at: Option<(Object, i64)> = None;
        // What is pushed goes to a register.
        let pushed = self.pushes_memory(i);
        for a in accesses.iter().filter(|a| !a.store || pushed.is_none()) {
            let here = match a.place {
                Place::Location(loc, off) => object_at(loc, off),
                Place::Stack(at) => match (self.world.frame, self.slot(at)) {
                    (Some(frame), _) => (Object::Location(frame.loc), at - frame.from),
                    (None, Some(Slot::Private(from, _))) => (Object::Private(*from), at - from),
                    (None, Some(Slot::Register(reg))) => {
                        let reg = reg.clone();
                        return Ok(Accessed::Register(self.target.view(&reg, a.size)));
                    }
                    // A dead store beside what stays.
                    (None, None) => {
                        return Err(self.refusal(i, "stores to a slot that nothing reads").into());
                    }
                },
                // A constant that is no single number is read of a location.
                Place::Constant(from)
                    if !self.world.image.big && constant(&accesses, false).is_none() =>
                {
                    return Err(Stuck::Constant(from));
                }
                Place::Constant(_) => {
                    let elements = endian::takes_elements(self.target.arch, d);
                    let constant = constant(&accesses, elements)
                        .ok_or_else(|| self.refusal(i, "reads a constant of an odd size"))?;
                    if !self.constants.contains(&constant) {
                        self.constants.push(constant);
                    }
                    (Object::Constant(constant), 0)
                }
                _ => return Err(self.refusal(i, "has an address that is not plain").into()),
            };
            at = Some(match at {
                None => here,
                Some((object, offset)) if object == here.0 => (object, offset.min(here.1)),
                Some(_) => return Err(self.refusal(i, "accesses two locations").into()),
            });
        }
        Ok(at.map_or(Accessed::Nothing, |(object, offset)| Accessed::Object(object, offset)))
    }

    /// Whether something so many bytes into a location is an element of it.
    fn is_element(&self, loc: u16, offset: i64) -> bool {
        let Some(name) = self.named.locations.get(usize::from(loc)) else { return false };
        if self.is_own(loc) {
            return false;
        }
        let unit = i64::try_from((self.given.unit)(name)).unwrap_or(0);
        (self.given.array)(name) && unit > 0 && offset > 0 && offset % unit == 0
    }

    /// Where in an object a test has what an instruction accesses from `offset` on.
    fn placed(
        &self,
        i: usize,
        d: &Decoded,
        n: usize,
        object: &Object,
        offset: i64,
    ) -> Result<Placed, Failure> {
        let group = |at: &i64| self.groups.iter().find(|g| g.0 == *at).map(|g| g.1 - g.0);
        let parts = match object {
            _ if !self.world.image.big => None,
            Object::Location(loc) => self.world.parts.get(usize::from(*loc)).cloned(),
            Object::Private(from) => {
                group(from).and_then(|n| u64::try_from(n).ok()).map(Parts::Each)
            }
            Object::Constant(constant) => Some(Parts::Each(u64::from(constant.unit))),
            Object::Lock(_) => None,
        };
        let Some(parts) = parts else {
            return Ok(Placed { offset, swap: false });
        };
        // All that is accessed lies in one object.
        let start = |a: &Access| match a.place {
            Place::Location(_, at) | Place::Stack(at) => Some(at),
            Place::Constant(at) => i64::try_from(at).ok(),
            _ => None,
        };
        let accesses = &self.accesses_by(i, d, n);
        let from = accesses.iter().filter_map(start).min().unwrap_or(0);
        let end = accesses.iter().filter_map(|a| Some(start(a)? + i64::from(a.size))).max();
        let size = end.map_or(0, |end| end - from).unsigned_abs();
        endian::place(self.target.arch, d, &parts, offset, (size, smallest(accesses)))
            .ok_or_else(|| self.refusal(i, "accesses a part of a value in big-endian code"))
    }

    fn refusal(&self, i: usize, what: &str) -> Failure {
        Failure::unsupported(format!("`{}` {what}", show(&self.flat.nodes[i], self.target)))
    }

    fn reads(&self, d: &Decoded) -> bool {
        let text = d.text(self.target.decoder.style(), &|at| format!("{at:#x}"));
        let line = Line { labels: Vec::new(), text, span: Span::default() };
        self.isa.thread(&Source::new("lifted", ""), &[line], &mut Anything).is_ok()
    }

    /// Makes sure that the printed code can be read.
    fn make_sure(&self, lines: &[Line]) -> Result<(), Failure> {
        let source = Source::new("lifted code", "");
        match self.isa.thread(&source, lines, &mut Anything) {
            Ok(_) => Ok(()),
            Err(e) => Err(Failure::unsupported(e.to_string().trim_end().replace('\n', " "))),
        }
    }
}

enum Text {
    Plain(String),
    Goto(usize),
    Branch(Decoded, usize),
}

/// On Power, the mnemonic says that an access moves its base register. Where the access is written by
/// name, the base is the register of the location, which stays; what is moved follows by itself.
fn plain_access(arch: Arch, d: &mut Decoded) {
    let moves = |o: &Operand| matches!(o, Operand::Mem(m) if m.update != Update::None);
    if arch != Arch::Ppc || !d.operands.iter().any(moves) {
        return;
    }
    let plain = match d.mnemonic.strip_suffix("ux") {
        Some(stem) => Some(format!("{stem}x")),
        None => d.mnemonic.strip_suffix('u').map(String::from),
    };
    d.mnemonic = plain.unwrap_or_else(|| d.mnemonic.clone());
}

/// Where an instruction accesses memory.
enum Accessed {
    Nothing,
    /// A slot of the stack that is a register in the test.
    Register(String),
    /// An object, from this offset on.
    Object(Object, i64),
}
