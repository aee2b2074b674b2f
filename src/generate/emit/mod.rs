//! Writes the events of a cycle as instructions: what all assembly dialects share.
//!
//! Registers and idioms are those of diy, so that a cycle gives the same code. One file for each
//! dialect knows how its instructions are written; none knows what a cycle is for.

/// Writes a line of texts, registers and constants. A label that the line ends in stands behind `;`.
macro_rules! line {
    ($asm:expr, $($part:expr),+; $target:expr) => {
        $asm.write(&[$($crate::emit::P::of($part)),+], $target)
    };
    ($asm:expr $(, $part:expr)*) => {
        $asm.write(&[$($crate::emit::P::of($part)),*], 0)
    };
}

mod aarch64;
mod arm;
mod bpf;
mod c11;
mod linked;
mod loongarch;
mod making;
mod mips;
mod ppc;
mod riscv;
mod s390x;
mod x86;

use super::cycle::{Event, Refused, Workshop};
use super::dialect::{self, Dialect};
use super::draft::{Ask, Draft, DraftLine, Shown, number};
use super::edge::{Dep, DepKind, Dir, Kind, Rmw};
use super::observe::Observe;
use litmake_litmus::Arch;

pub use making::{Base, Helpers, Idle, Layout, MAX_MADE, Made, Objects, Operation};

/// The dialects that tests are generated in.
pub static DIALECTS: [&Dialect; 11] = [
    &c11::DIALECT,
    &aarch64::DIALECT,
    &arm::DIALECT,
    &x86::WIDE,
    &x86::NARROW,
    &riscv::DIALECT,
    &ppc::DIALECT,
    &mips::DIALECT,
    &loongarch::DIALECT,
    &s390x::DIALECT,
    &bpf::DIALECT,
];

/// How a cycle is made into a test, besides its edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// How the test tells its cycle.
    pub(crate) observe: Observe,
    /// How the condition asks for it.
    pub(crate) ask: Ask,
    /// The type of locations in C; this and what follows is of C tests alone.
    pub(crate) base: Base,
    /// The type of every second location, where it is another.
    pub(crate) second: Option<Base>,
    /// How objects are qualified in C.
    pub(crate) objects: Objects,
    /// Where locations are in C.
    pub(crate) layout: Layout,
    /// The operations that are done in helper functions in C.
    pub(crate) helpers: Helpers,
    /// How the events of a C test are made, by their places in it.
    pub(crate) made: [Made; MAX_MADE],
    /// A read-modify-write that changes nothing, where there is one.
    pub(crate) idle: Option<Idle>,
}

impl Style {
    fn base_of(&self, loc: u8) -> Base {
        match self.second {
            Some(second) if loc % 2 == 1 => second,
            _ => self.base,
        }
    }

    fn made(&self, event: usize) -> Made {
        self.made.get(event).copied().unwrap_or_default()
    }
}

/// Writes the cycle in the workshop as a test; its name and title are left to the caller.
pub fn emit(
    dialect: &Dialect,
    shop: &Workshop,
    style: &Style,
    draft: &mut Draft,
) -> Result<(), Refused> {
    draft.clear(dialect.arch);
    draft.ask = style.ask;
    (dialect.write)(dialect, shop, style, draft)
}

/// The number of a general register, in the order in which they are given away.
fn register(arch: Arch, index: u8) -> Option<u8> {
    let registers = &dialect::of(arch).registers;
    (index < registers.count).then_some(registers.first + index)
}

/// The state while one thread is written.
struct Asm<'a> {
    draft: &'a mut Draft,
    arch: Arch,
    thread: u8,
    /// The register that holds the address of each location, in all threads alike.
    addresses: [Option<u8>; super::cycle::MAX_LOCS],
    /// Registers that hold addresses in threads before this one.
    taken: u64,
    next: u8,
    /// Registers that the thread may use again and again.
    scratch: [Option<u8>; 2],
    /// Registers that scratch registers must not be.
    busy: u64,
    /// There was no register for a loop.
    full: bool,
    labels: u16,
    pending_label: u16,
}

impl Asm<'_> {
    fn alloc(&mut self) -> Result<u8, Refused> {
        loop {
            let reg = register(self.arch, self.next).ok_or("there are no more registers")?;
            self.next += 1;
            if self.taken & (1 << reg) == 0 {
                return Ok(reg);
            }
        }
    }

    /// The register with the address of a location.
    fn address(&mut self, loc: u8) -> Result<u8, Refused> {
        let slot = usize::from(loc);
        let reg = match self.addresses[slot] {
            Some(reg) => reg,
            None => {
                let reg = self.alloc()?;
                self.addresses[slot] = Some(reg);
                reg
            }
        };
        let item = (self.thread, reg, loc);
        if !self.draft.init.contains(&item) {
            self.draft.init.push(item);
        }
        Ok(reg)
    }

    /// A register that holds a constant from the start, for what no instruction can say at once.
    fn constant(&mut self, value: i32) -> Result<u8, Refused> {
        let thread = self.thread;
        let there = self.draft.values.iter().find(|(t, _, v)| (*t, *v) == (thread, value));
        if let Some((_, reg, _)) = there {
            return Ok(*reg);
        }
        let reg = self.alloc()?;
        self.draft.values.push((thread, reg, value));
        Ok(reg)
    }

    /// A register that every use of `which` in the thread shares.
    fn scratch(&mut self, which: Scratch) -> Result<u8, Refused> {
        let slot = which as usize;
        let reg = match self.scratch[slot] {
            Some(reg) => return Ok(reg),
            None => self.alloc()?,
        };
        self.scratch[slot] = Some(reg);
        Ok(reg)
    }

    /// The same, chosen downwards from `first` as symbolic registers are resolved.
    fn symbol(&mut self, which: Scratch, first: u8) -> u8 {
        let slot = which as usize;
        if let Some(reg) = self.scratch[slot] {
            return reg;
        }
        let other = self.scratch[1 - slot];
        let free = |r: &u8| self.busy & (1 << r) == 0 && other != Some(*r);
        // Past the end of that order there are some more.
        let all = (0..=first).rev().chain(first + 1..first + 3);
        let found = all.into_iter().find(free);
        self.full |= found.is_none();
        let reg = found.unwrap_or(first);
        self.scratch[slot] = Some(reg);
        reg
    }

    fn label(&mut self) -> u16 {
        self.labels += 1;
        self.labels
    }

    /// The next line bears this label.
    fn place(&mut self, label: u16) {
        self.pending_label = label;
    }

    /// A label of the next line, which it may have already.
    fn here(&mut self) -> u16 {
        if self.pending_label == 0 {
            self.pending_label = self.label();
        }
        self.pending_label
    }

    /// One line, whose parts are texts and numbers, and which ends in a label unless that is 0.
    fn write(&mut self, parts: &[P], target: u16) {
        let start = self.draft.text.len() as u32;
        for part in parts {
            self.part(*part);
        }
        self.end_line(start, target);
    }

    fn part(&mut self, part: P) {
        match part {
            P::T(t) => self.draft.text.push_str(t),
            P::I(n) => number(i64::from(n), &mut self.draft.text),
        }
    }

    fn end_line(&mut self, start: u32, target: u16) {
        let end = self.draft.text.len() as u32;
        let label = std::mem::take(&mut self.pending_label);
        self.draft.lines.push(DraftLine { start, end, label, target });
    }

    /// One line by a row, in which names in braces stand for parts. It ends in a label unless that is 0.
    fn row(&mut self, row: &str, parts: &[(&str, P)], target: u16) {
        let start = self.draft.text.len() as u32;
        let mut rest = row;
        while let Some((before, (name, behind))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            self.draft.text.push_str(before);
            if let Some((_, part)) = parts.iter().find(|(part, _)| *part == name) {
                self.part(*part);
            }
            rest = behind;
        }
        self.draft.text.push_str(rest);
        self.end_line(start, target);
    }

    /// Lines by rows, the last of which ends in a label.
    fn jump(&mut self, rows: &[&str], parts: &[(&str, P)], label: u16) {
        for (i, row) in rows.iter().enumerate() {
            self.row(row, parts, if i + 1 == rows.len() { label } else { 0 });
        }
    }

    fn show(&mut self, reg: u8, value: i32) {
        self.draft.shown.push((Shown::Reg(self.thread, reg), value));
    }
}

/// The use of a shared register.
#[derive(Clone, Copy)]
enum Scratch {
    Address,
    /// Whether a store-conditional failed.
    Status,
}

/// A part of a line.
#[derive(Clone, Copy)]
enum P<'a> {
    T(&'a str),
    /// The number of a register, or a constant.
    I(i32),
}

impl<'a> P<'a> {
    fn of(part: impl Into<P<'a>>) -> P<'a> {
        part.into()
    }
}

impl<'a> std::convert::From<&'a str> for P<'a> {
    fn from(text: &'a str) -> P<'a> {
        P::T(text)
    }
}

impl std::convert::From<u8> for P<'_> {
    fn from(number: u8) -> Self {
        P::I(i32::from(number))
    }
}

impl std::convert::From<i32> for P<'_> {
    fn from(number: i32) -> Self {
        P::I(number)
    }
}

/// A register that an event depends on, and how.
#[derive(Clone, Copy)]
struct From {
    dep: Dep,
    reg: u8,
}

/// Writes the accesses and fences of a dialect. An access returns the register with the value that it read,
/// if it read one.
trait Writer {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written;

    fn rmw(asm: &mut Asm, rmw: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written;

    fn fence(asm: &mut Asm, text: &'static str) {
        line!(asm, text);
    }

    /// A plain load, by which observers look.
    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused>;
}

/// The register with the value that an access reads, if it reads one.
type Written = Result<Option<u8>, Refused>;

/// An access in an instruction set whose control dependencies are instructions before it, and
/// whose reads and writes take the other ones.
fn access_in_parts(
    asm: &mut Asm,
    event: &Event,
    from: Option<From>,
    control: impl Fn(&mut Asm, From) -> Result<(), Refused>,
    read: impl Fn(&mut Asm, &Event, Option<From>) -> Result<u8, Refused>,
    write: impl Fn(&mut Asm, &Event, Option<From>) -> Written,
) -> Written {
    let mut from = from;
    if let Some(f) = from
        && matches!(f.dep.kind, DepKind::Ctrl | DepKind::CtrlIsb)
    {
        control(asm, f)?;
        from = None;
    }
    match (event.dir, from.map(|f| f.dep.kind)) {
        (Dir::R, Some(DepKind::Data)) => Err("there is no data dependency to a read"),
        (Dir::R, _) => read(asm, event, from).map(Some),
        (Dir::W, _) => write(asm, event, from),
    }
}

/// The dependency that is left to the address of a read-modify-write, after one by control is written.
fn through_address(
    asm: &mut Asm,
    from: Option<From>,
    control: impl Fn(&mut Asm, From) -> Result<(), Refused>,
) -> Result<Option<From>, Refused> {
    match from.map(|f| (f.dep.kind, f)) {
        Some((DepKind::Addr, f)) => return Ok(Some(f)),
        Some((DepKind::Data, _)) => return Err("there is no data dependency to a read"),
        Some((_, f)) => control(asm, f)?,
        None => {}
    }
    Ok(None)
}

fn threads<W: Writer>(
    dialect: &Dialect,
    shop: &Workshop,
    style: &Style,
    draft: &mut Draft,
) -> Result<(), Refused> {
    let mut asm = Asm {
        draft,
        arch: dialect.arch,
        thread: 0,
        addresses: [None; super::cycle::MAX_LOCS],
        taken: 0,
        next: 0,
        scratch: [None; 2],
        busy: 0,
        full: false,
        labels: 0,
        pending_label: 0,
    };
    asm.draft.threads.push(0);
    let plan = style.observe.plan(shop, true)?;
    let pairs = shop.writes.iter().enumerate().filter_map(|(l, w)| Some((l as u8, w.pair?)));
    asm.draft.pairs.extend(pairs);
    for (loc, value) in &plan.finals {
        asm.draft.shown.push((Shown::Loc(*loc), *value));
    }
    // Observers are the first threads.
    for (loc, values) in &plan.observers {
        asm.next = 0;
        for value in values {
            let reg = W::load(&mut asm, *loc)?;
            asm.show(reg, *value);
        }
        end_thread(&mut asm);
    }
    for t in 0..shop.thread_count() {
        let (addresses, init) = (asm.addresses, asm.draft.init.len());
        thread::<W>(&mut asm, dialect, shop, &plan, t)?;
        if let Some(used) = clash(&asm) {
            // Once more, with scratch registers out of the way.
            let start = asm.draft.threads.last().copied().unwrap_or(0);
            let text = asm.draft.lines.get(start).map_or(0, |l| l.start as usize);
            asm.draft.text.truncate(text);
            asm.draft.lines.truncate(start);
            asm.draft.shown.retain(|(s, _)| !matches!(s, Shown::Reg(p, _) if *p == asm.thread));
            // Registers that it gave away are given away again, in the same order.
            asm.addresses = addresses;
            asm.draft.init.truncate(init);
            asm.next = 0;
            asm.scratch = [None; 2];
            asm.busy = used;
            thread::<W>(&mut asm, dialect, shop, &plan, t)?;
            if asm.full || clash(&asm).is_some() {
                return Err("there are no more registers");
            }
        }
        end_thread(&mut asm);
    }
    asm.draft.init.sort_unstable();
    Ok(())
}

/// The registers of the thread that has been written, where a scratch register is among them.
fn clash(asm: &Asm) -> Option<u64> {
    if !matches!(asm.arch, Arch::Arm | Arch::Mips) || asm.scratch == [None; 2] {
        return None;
    }
    let given = (0..asm.next).filter_map(|i| register(asm.arch, i));
    // Those with addresses of other threads are as good as free.
    let taken = given.filter(|r| asm.taken & (1 << r) == 0);
    let init = asm.draft.init.iter().filter(|(t, ..)| *t == asm.thread).map(|(_, r, _)| *r);
    let used = taken.chain(init).fold(0u64, |m, r| m | 1 << r);
    let scratch = asm.scratch.iter().flatten().fold(0u64, |m, r| m | 1 << r);
    (used & scratch != 0).then_some(used)
}

fn end_thread(asm: &mut Asm) {
    if asm.pending_label > 0 {
        line!(asm);
    }
    asm.draft.threads.push(asm.draft.lines.len());
    asm.thread += 1;
    asm.next = 0;
    asm.scratch = [None; 2];
    asm.busy = 0;
    asm.taken = asm.addresses.iter().flatten().fold(0, |m, r| m | 1 << r);
}

fn thread<W: Writer>(
    asm: &mut Asm,
    dialect: &Dialect,
    shop: &Workshop,
    plan: &super::observe::Plan,
    t: usize,
) -> Result<(), Refused> {
    let mut from: Option<From> = None;
    for at in shop.threads[t]..shop.threads[t + 1] {
        let event = &shop.events[at];
        for fence in event.inserts.iter().take(usize::from(event.n_inserts)) {
            W::fence(asm, dialect.fence(*fence).text);
        }
        let got = match (event.rmw, event.edge.kind) {
            (true, Kind::Rmw(rmw)) => W::rmw(asm, rmw, event, shop.next(at), from.take())?,
            // Its read has written it.
            (true, _) => None,
            (false, _) => W::access(asm, event, from.take())?,
        };
        if let Kind::Fenced(fence, ..) = event.edge.kind {
            W::fence(asm, dialect.fence(fence).text);
        }
        if let Some(reg) = got {
            // A store that reads finds the value before its own.
            let paired = shop.writes[usize::from(event.loc)].pair.is_some();
            let value = match event.dir {
                Dir::R => event.value,
                Dir::W if paired => event.before,
                Dir::W => event.value - 1,
            };
            if event.telling && plan.registers {
                asm.show(reg, value);
            }
            if let Kind::Dp(dep, ..) = event.edge.kind {
                from = Some(From { dep, reg });
            }
        }
    }
    if let Some((loc, value)) = plan.local(shop, t) {
        let reg = W::load(asm, loc)?;
        asm.show(reg, value);
    }
    Ok(())
}
