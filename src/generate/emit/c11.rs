//! C: atomic and plain accesses, fences, and dependencies that a compiler may or may not keep.
//!
//! The text is what printing its syntax tree gives, so that it needs no tree.

use super::super::cycle::{Event, LOCS, MAX_LOCS, Refused, Workshop};
use super::super::dialect::{memory_order, of, rmw_order};
use super::super::draft::{Draft, DraftLine, Shown, number};
use super::super::edge::{Atom, DepKind, Dir, Kind, Order, Rmw, RmwOp};
use super::super::observe::{Plan, loc_order};
use super::{From, Style};
use crate::lang::c11::types::int_name;
use crate::litmus::Arch;

/// An integer type of locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Base {
    pub bytes: u8,
    pub signed: bool,
}

impl Default for Base {
    fn default() -> Base {
        Base { bytes: 4, signed: true }
    }
}

impl Base {
    pub const NAMES: [(&'static str, Base); 10] = [
        ("int", Base { bytes: 4, signed: true }),
        ("int8_t", Base { bytes: 1, signed: true }),
        ("uint8_t", Base { bytes: 1, signed: false }),
        ("int16_t", Base { bytes: 2, signed: true }),
        ("uint16_t", Base { bytes: 2, signed: false }),
        ("uint32_t", Base { bytes: 4, signed: false }),
        ("int64_t", Base { bytes: 8, signed: true }),
        ("uint64_t", Base { bytes: 8, signed: false }),
        ("int128", Base { bytes: 16, signed: true }),
        ("uint128", Base { bytes: 16, signed: false }),
    ];

    pub fn name(self) -> &'static str {
        int_name(self.bytes, self.signed)
    }

    /// As an initial state has it; plain `int` needs no word.
    fn declared(self, atomic: bool) -> Option<&'static str> {
        Some(match (self.bytes, self.signed, atomic) {
            (4, true, _) => return None,
            (1, true, false) => "int8_t",
            (1, false, false) => "uint8_t",
            (2, true, false) => "int16_t",
            (2, false, false) => "uint16_t",
            (4, false, false) => "uint32_t",
            (8, true, false) => "int64_t",
            (8, false, false) => "uint64_t",
            (_, true, false) => "__int128",
            (_, false, false) => "__uint128",
            (1, true, true) => "_Atomic int8_t",
            (1, false, true) => "_Atomic uint8_t",
            (2, true, true) => "_Atomic int16_t",
            (2, false, true) => "_Atomic uint16_t",
            (4, false, true) => "_Atomic uint32_t",
            (8, true, true) => "_Atomic int64_t",
            (8, false, true) => "_Atomic uint64_t",
            (_, true, true) => "_Atomic __int128",
            (_, false, true) => "_Atomic __uint128",
        })
    }

    fn is_int(self) -> bool {
        self == Base::default()
    }
}

/// How an access of a cycle is made, where not by a plain load or store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Made {
    #[default]
    Usual,
    /// By a read-modify-write. A read uses one that changes nothing, unless its result is
    /// unused: then it leaves a value that tells that it was there.
    Rmw { op: Operation, order: Order, used: bool },
    /// By a compare-exchange: one that succeeds for a write, one that fails for a read.
    Cas { weak: bool, success: Order, failure: Order },
    /// A load through a pointer to `const`.
    Const,
    /// An access through a pointer to `volatile`.
    Volatile,
}

/// The read-modify-writes of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Exchange,
    Fetch(RmwOp),
}

impl Operation {
    pub const ALL: [(&'static str, Operation); 6] = [
        ("exchange", Operation::Exchange),
        ("fetch_add", Operation::Fetch(RmwOp::Add)),
        ("fetch_sub", Operation::Fetch(RmwOp::Sub)),
        ("fetch_or", Operation::Fetch(RmwOp::Or)),
        ("fetch_xor", Operation::Fetch(RmwOp::Xor)),
        ("fetch_and", Operation::Fetch(RmwOp::And)),
    ];

    fn name(self) -> &'static str {
        Operation::ALL.iter().find(|(_, o)| *o == self).map_or("", |(n, _)| n)
    }

    /// The operand that turns `from` into `to`.
    fn operand(self, from: i32, to: i32) -> Option<i32> {
        match self {
            Operation::Exchange => Some(to),
            Operation::Fetch(RmwOp::Add) => Some(to - from),
            Operation::Fetch(RmwOp::Sub) => Some(from - to),
            Operation::Fetch(RmwOp::Xor) => Some(from ^ to),
            Operation::Fetch(RmwOp::Or) => (from | to == to).then_some(to),
            Operation::Fetch(RmwOp::And) => (from & to == to).then_some(to),
            Operation::Fetch(RmwOp::Clr) => None,
        }
    }

    /// The operand that changes nothing that is there.
    fn nothing(self, there: i32) -> i32 {
        match self {
            Operation::Exchange => there,
            Operation::Fetch(RmwOp::And) => -1,
            Operation::Fetch(_) => 0,
        }
    }
}

/// More events are all made as usual.
pub const MAX_MADE: usize = 8;

struct Writer<'a> {
    draft: &'a mut Draft,
    base: Base,
    thread: u8,
    regs: u8,
    depth: usize,
    style: &'a Style,
}

impl Writer<'_> {
    fn put(&mut self, parts: &[&str]) {
        for part in parts {
            self.draft.text.push_str(part);
        }
    }

    fn indent(&mut self) {
        for _ in 0..=self.depth {
            self.draft.text.push_str("  ");
        }
    }

    /// The type of a location.
    fn base_of(&self, loc: u8) -> Base {
        self.style.base_of(loc)
    }

    /// The access is made by an operation that reads and writes.
    fn made(
        &mut self,
        event: &Event,
        how: Made,
        before: i32,
        last: i32,
        from: Option<From>,
    ) -> Result<Option<u8>, Refused> {
        let (name, operand, order, used) = match how {
            Made::Rmw { op, order, used } => {
                let operand = match event.dir {
                    Dir::W => op.operand(before, event.cell),
                    Dir::R if used => Some(op.nothing(event.value)),
                    Dir::R if event.value != last => return Err("nothing would tell it"),
                    Dir::R => op.operand(event.value, event.value + 1),
                };
                let operand = operand.ok_or("no operand makes this value")?;
                (op.name(), operand, order, used)
            }
            Made::Cas { weak, success, failure } => {
                return self.cas(event, before, (weak, success, failure), from).map(Some);
            }
            Made::Usual | Made::Const | Made::Volatile => return Ok(None),
        };
        let reg = if used { Some(self.alloc()?) } else { None };
        match reg {
            Some(reg) => self.declare(reg),
            None => self.indent(),
        }
        self.put(&["atomic_", name, "_explicit("]);
        self.pointer(event.loc, from);
        self.put(&[", "]);
        self.value(operand, from);
        self.put(&[", ", memory_order(order), ");\n"]);
        if reg.is_none() && event.dir == Dir::R {
            let place = Shown::Loc(event.loc);
            self.draft.shown.retain(|(s, _)| *s != place);
            self.draft.shown.insert(0, (place, event.value + 1));
        }
        Ok(reg)
    }

    /// A read that fails expects a value that nobody writes, and gets what is there.
    fn cas(
        &mut self,
        event: &Event,
        before: i32,
        (weak, success, failure): (bool, Order, Order),
        from: Option<From>,
    ) -> Result<u8, Refused> {
        const NEVER: i32 = 77;
        let expected = self.alloc()?;
        self.declare(expected);
        self.int(if event.dir == Dir::W { before } else { NEVER });
        self.put(&[";\n"]);
        let done = self.alloc()?;
        self.indent();
        self.put(&["int "]);
        self.reg(done);
        let name = if weak { "weak" } else { "strong" };
        self.put(&[" = atomic_compare_exchange_", name, "_explicit("]);
        self.pointer(event.loc, from);
        self.put(&[", &"]);
        self.reg(expected);
        self.put(&[", "]);
        self.int(if event.dir == Dir::W { event.cell } else { NEVER + 1 });
        self.put(&[", ", memory_order(success), ", ", memory_order(failure), ");\n"]);
        Ok(if event.dir == Dir::W { done } else { expected })
    }

    fn int(&mut self, n: i32) {
        number(i64::from(n), &mut self.draft.text);
    }

    fn reg(&mut self, reg: u8) {
        self.draft.text.push('r');
        number(i64::from(reg), &mut self.draft.text);
    }

    fn alloc(&mut self) -> Result<u8, Refused> {
        if self.regs > 200 {
            return Err("there are too many local variables");
        }
        self.regs += 1;
        Ok(self.regs - 1)
    }

    /// `int r0 = `
    fn declare(&mut self, reg: u8) {
        self.indent();
        let base = self.base.name();
        self.put(&[base, " "]);
        self.reg(reg);
        self.put(&[" = "]);
    }

    /// `(r0 & 128)`: nothing, but it depends on the register.
    fn nothing(&mut self, from: From) {
        self.put(&["("]);
        self.reg(from.reg);
        self.put(&[" & 128)"]);
    }

    /// The pointer to a location, with an address dependency where there is one.
    fn pointer(&mut self, loc: u8, from: Option<From>) {
        self.put(&[LOCS[usize::from(loc)]]);
        if let Some(f) = from
            && f.dep.kind == DepKind::Addr
        {
            self.put(&[" + "]);
            self.nothing(f);
        }
    }

    /// `*x`, as an operand.
    fn deref(&mut self, loc: u8, from: Option<From>) {
        let open = from.is_some_and(|f| f.dep.kind == DepKind::Addr);
        self.put(&[if open { "*(" } else { "*" }]);
        self.pointer(loc, from);
        self.put(&[if open { ")" } else { "" }]);
    }

    fn value(&mut self, value: i32, from: Option<From>) {
        self.int(value);
        if let Some(f) = from
            && f.dep.kind == DepKind::Data
        {
            self.put(&[" + "]);
            self.nothing(f);
        }
    }

    fn load(&mut self, loc: u8, order: Option<Order>, from: Option<From>) -> Result<u8, Refused> {
        let reg = self.alloc()?;
        self.declare(reg);
        match order {
            None => self.deref(loc, from),
            Some(order) => {
                self.put(&["atomic_load_explicit("]);
                self.pointer(loc, from);
                self.put(&[", ", memory_order(order), ")"]);
            }
        }
        self.put(&[";\n"]);
        Ok(reg)
    }

    fn store(&mut self, event: &Event, order: Option<Order>, from: Option<From>) {
        self.indent();
        match order {
            None => {
                self.deref(event.loc, from);
                self.put(&[" = "]);
                self.value(event.value, from);
            }
            Some(order) => {
                self.put(&["atomic_store_explicit("]);
                self.pointer(event.loc, from);
                self.put(&[", "]);
                self.value(event.value, from);
                self.put(&[", ", memory_order(order), ")"]);
            }
        }
        self.put(&[";\n"]);
    }

    fn rmw(
        &mut self,
        rmw: Rmw,
        read: &Event,
        write: &Event,
        from: Option<From>,
    ) -> Result<u8, Refused> {
        let order = rmw_order(read.atom, write.atom)
            .ok_or("these annotations do not fit a read-modify-write")?;
        let name = match rmw {
            Rmw::Exch => "atomic_exchange",
            Rmw::Fetch(RmwOp::Add) => "atomic_fetch_add",
            Rmw::Fetch(RmwOp::Sub) => "atomic_fetch_sub",
            Rmw::Fetch(RmwOp::And) => "atomic_fetch_and",
            Rmw::Fetch(RmwOp::Or) => "atomic_fetch_or",
            Rmw::Fetch(RmwOp::Xor) => "atomic_fetch_xor",
            Rmw::Cas => return self.compare_exchange(order, read, write, from),
            Rmw::LxSx | Rmw::Fetch(RmwOp::Clr) | Rmw::Store(_) => {
                return Err("C has no such operation");
            }
        };
        let reg = self.alloc()?;
        self.declare(reg);
        let explicit = order != Order::Sc;
        self.put(&[name, if explicit { "_explicit(" } else { "(" }]);
        self.pointer(read.loc, from);
        self.put(&[", "]);
        self.int(write.value);
        if explicit {
            self.put(&[", ", memory_order(order)]);
        }
        self.put(&[");\n"]);
        Ok(reg)
    }

    fn compare_exchange(
        &mut self,
        order: Order,
        read: &Event,
        write: &Event,
        from: Option<From>,
    ) -> Result<u8, Refused> {
        let expected = self.alloc()?;
        self.declare(expected);
        self.int(read.value);
        self.put(&[";\n"]);
        let done = self.alloc()?;
        self.indent();
        self.put(&["int "]);
        self.reg(done);
        self.put(&[" = atomic_compare_exchange_strong_explicit("]);
        self.pointer(read.loc, from);
        self.put(&[", &"]);
        self.reg(expected);
        self.put(&[", "]);
        self.int(write.value);
        let failure = match order {
            Order::AcqRel => Order::Acq,
            Order::Rel => Order::Rlx,
            o => o,
        };
        self.put(&[", ", memory_order(order), ", ", memory_order(failure), ");\n"]);
        Ok(done)
    }
}

fn order(atom: Option<Atom>) -> Result<Option<Order>, Refused> {
    match atom {
        None => Ok(None),
        Some(Atom::Order(o)) => Ok(Some(o)),
        Some(_) => Err("this annotation is none of C"),
    }
}

pub fn emit(shop: &Workshop, style: &Style, draft: &mut Draft) -> Result<(), Refused> {
    // A location is atomic in all its accesses or in none.
    let mut atomic = [None; MAX_LOCS];
    for event in &shop.events {
        let slot = &mut atomic[usize::from(event.loc)];
        let this = event.atom.is_some();
        if *slot.get_or_insert(this) != this {
            return Err("a location is atomic in one access and not in another");
        }
    }
    let atomic = |loc: u8| atomic[usize::from(loc)] == Some(true);
    for loc in loc_order(shop.locs) {
        if let Some(ty) = style.base_of(loc).declared(atomic(loc)) {
            draft.types.push((loc, ty));
        }
    }
    let plan = style.observe.plan(shop, false)?;
    for (loc, value) in &plan.finals {
        draft.shown.push((Shown::Loc(*loc), *value));
    }
    draft.threads.push(0);
    let mut w = Writer { draft, base: style.base, thread: 0, regs: 0, depth: 0, style };
    for (loc, values) in &plan.observers {
        let start = w.draft.text.len();
        head(&mut w, 1 << loc, &atomic, (0, 0));
        for value in values {
            let order = atomic(*loc).then_some(Order::Rlx);
            let reg = w.load(*loc, order, None)?;
            w.draft.shown.push((Shown::Reg(w.thread, reg), *value));
        }
        end(&mut w, start);
    }
    for t in 0..shop.thread_count() {
        let start = w.draft.text.len();
        let used = shop.thread(t).iter().fold(0, |m, e| m | 1 << e.loc);
        let made = |m: Made| -> u32 {
            (shop.threads[t]..shop.threads[t + 1])
                .filter(|i| style.made(*i) == m)
                .fold(0, |bits, i| bits | 1 << shop.events[i].loc)
        };
        let (consts, volatile) = (made(Made::Const), made(Made::Volatile));
        let written = shop.thread(t).iter().filter(|e| e.dir == Dir::W);
        if written.fold(0, |m, e| m | 1 << e.loc) & consts != 0 {
            return Err("a location that is written through a pointer is not const there");
        }
        head(&mut w, used, &atomic, (consts, volatile));
        thread(&mut w, shop, &plan, t)?;
        end(&mut w, start);
    }
    Ok(())
}

/// `P0(atomic_int *y, atomic_int *x) {`, with the last location first.
fn head(w: &mut Writer, used: u32, atomic: &dyn Fn(u8) -> bool, (consts, volatile): (u32, u32)) {
    w.regs = 0;
    w.depth = 0;
    w.draft.text.push('P');
    number(i64::from(w.thread), &mut w.draft.text);
    w.put(&["("]);
    let mut first = true;
    let names = [2u8, 1, 0].into_iter().chain((3..MAX_LOCS as u8).rev());
    for loc in names.filter(|l| used & (1 << l) != 0) {
        w.put(&[if first { "" } else { ", " }]);
        first = false;
        let base = w.base_of(loc);
        if consts & (1 << loc) != 0 {
            w.put(&["const "]);
        }
        if volatile & (1 << loc) != 0 && atomic(loc) {
            w.put(&["volatile "]);
        }
        match (atomic(loc), base.is_int()) {
            (true, true) => w.put(&["atomic_int"]),
            (true, false) => w.put(&["_Atomic ", base.name()]),
            (false, _) => w.put(&["volatile ", base.name()]),
        }
        w.put(&[" *", LOCS[usize::from(loc)]]);
    }
    w.put(&[") {\n"]);
}

fn end(w: &mut Writer, start: usize) {
    while w.depth > 0 {
        w.depth -= 1;
        w.indent();
        w.put(&["}\n"]);
    }
    w.put(&["}\n"]);
    let line =
        DraftLine { start: start as u32, end: w.draft.text.len() as u32, label: 0, target: 0 };
    w.draft.lines.push(line);
    w.draft.threads.push(w.draft.lines.len());
    w.thread += 1;
}

fn thread(w: &mut Writer, shop: &Workshop, plan: &Plan, t: usize) -> Result<(), Refused> {
    let dialect = of(Arch::C);
    let fence = |w: &mut Writer, f: u8| {
        w.indent();
        w.put(&["atomic_thread_fence(", dialect.fence(f).text, ");\n"]);
    };
    let mut from: Option<From> = None;
    for at in shop.threads[t]..shop.threads[t + 1] {
        let event = &shop.events[at];
        for f in event.inserts.iter().take(usize::from(event.n_inserts)) {
            fence(w, *f);
        }
        w.base = w.base_of(event.loc);
        let how = w.style.made(at);
        let by_operation = matches!(how, Made::Rmw { .. } | Made::Cas { .. });
        if by_operation && (event.rmw || event.atom.is_none()) {
            return Err("only an atomic access is made by an operation");
        }
        if how == Made::Const && event.dir == Dir::W {
            return Err("a store is not const");
        }
        let cells = &shop.writes[usize::from(event.loc)].cells;
        let place = cells.iter().position(|c| *c == event.cell).unwrap_or(0);
        let before = if place > 0 { cells[place - 1] } else { 0 };
        let last = cells.last().copied().unwrap_or(0);
        let got = match (event.rmw, event.edge.kind, event.dir) {
            (true, Kind::Rmw(rmw), _) => Some(w.rmw(rmw, event, shop.next(at), from)?),
            (true, ..) => None,
            (false, ..) if by_operation => w.made(event, how, before, last, from)?,
            (false, _, Dir::R) => Some(w.load(event.loc, order(event.atom)?, from)?),
            (false, _, Dir::W) => {
                w.store(event, order(event.atom)?, from);
                None
            }
        };
        from = None;
        if let Kind::Fenced(f, ..) = event.edge.kind {
            fence(w, f);
        }
        let Some(reg) = got else { continue };
        let value = match (how, event.dir, event.edge.kind) {
            (Made::Cas { .. }, Dir::W, _) | (_, _, Kind::Rmw(Rmw::Cas)) => 1,
            (_, Dir::W, _) => before,
            (_, Dir::R, _) => event.value,
        };
        if plan.registers {
            w.draft.shown.push((Shown::Reg(w.thread, reg), value));
        }
        if let Kind::Dp(dep, ..) = event.edge.kind {
            if dep.kind == DepKind::Ctrl {
                w.indent();
                w.put(&["if ("]);
                w.reg(reg);
                w.put(&[" == "]);
                w.int(value);
                w.put(&[") {\n"]);
                w.depth += 1;
            } else {
                from = Some(From { dep, reg });
            }
        }
    }
    if let Some((loc, value)) = plan.local(shop, t) {
        let atomic = shop.events.iter().any(|e| e.loc == loc && e.atom.is_some());
        let reg = w.load(loc, atomic.then_some(Order::Rlx), None)?;
        w.draft.shown.push((Shown::Reg(w.thread, reg), value));
    }
    Ok(())
}
