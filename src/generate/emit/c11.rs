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

struct Writer<'a> {
    draft: &'a mut Draft,
    base: Base,
    thread: u8,
    regs: u8,
    depth: usize,
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
        if let Some(ty) = style.base.declared(atomic(loc)) {
            draft.types.push((loc, ty));
        }
    }
    let plan = style.observe.plan(shop, false)?;
    for (loc, value) in &plan.finals {
        draft.shown.push((Shown::Loc(*loc), *value));
    }
    draft.threads.push(0);
    let mut w = Writer { draft, base: style.base, thread: 0, regs: 0, depth: 0 };
    for (loc, values) in &plan.observers {
        let start = w.draft.text.len();
        head(&mut w, 1 << loc, &atomic);
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
        head(&mut w, used, &atomic);
        thread(&mut w, shop, &plan, t)?;
        end(&mut w, start);
    }
    Ok(())
}

/// `P0(atomic_int *y, atomic_int *x) {`, with the last location first.
fn head(w: &mut Writer, used: u32, atomic: &dyn Fn(u8) -> bool) {
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
        let base = w.base;
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
        let got = match (event.rmw, event.edge.kind, event.dir) {
            (true, Kind::Rmw(rmw), _) => Some(w.rmw(rmw, event, shop.next(at), from)?),
            (true, ..) => None,
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
        let cas = matches!(event.edge.kind, Kind::Rmw(Rmw::Cas));
        let value = if cas { 1 } else { event.value };
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
