//! C: atomic and plain accesses, fences, and dependencies that a compiler may or may not keep.
//!
//! The text is what printing its syntax tree gives, so that it needs no tree.

use super::super::cycle::{Event, LOCS, MAX_LOCS, Refused, Workshop};
use super::super::dialect::{Dialect, Registers, dep, fences, memory_order, of, rmw_order};
use super::super::draft::{ARRAY, Array, Draft, DraftLine, Shown, number};
use super::super::edge::{Atom, DepKind, Dir, Kind, Order, Rmw, RmwOp};
use super::super::observe::{Plan, loc_order};
use super::making::{Base, Idle, Layout, Made, Objects};
use super::{From, Style};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::C,
    plain: "Na",
    atoms: &[
        ("Acq", Atom::Order(Order::Acq)),
        ("Rel", Atom::Order(Order::Rel)),
        ("AR", Atom::Order(Order::AcqRel)),
        ("Sc", Atom::Order(Order::Sc)),
        ("Rlx", Atom::Order(Order::Rlx)),
        ("Con", Atom::Order(Order::Con)),
    ],
    sizes: &[],
    fences: fences![
        "FenceAcq" "fenceacq" "memory_order_acquire",
        "FenceRel" "fencerel" "memory_order_release",
        "FenceAR" "fencear" "memory_order_acq_rel",
        "FenceSc" "fencesc" "memory_order_seq_cst",
        "FenceRlx" "fencerlx" "memory_order_relaxed",
        "FenceCon" "fencecon" "memory_order_consume",
    ],
    strong: Some(3),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::Ctrl, DepKind::Ctrl]),
    rmws: &[
        ("Exch", Rmw::Exch),
        ("Fetch.Add", Rmw::Fetch(RmwOp::Add)),
        ("Fetch.Sub", Rmw::Fetch(RmwOp::Sub)),
        ("Fetch.And", Rmw::Fetch(RmwOp::And)),
        ("Fetch.Or", Rmw::Fetch(RmwOp::Or)),
        ("Fetch.Xor", Rmw::Fetch(RmwOp::Xor)),
        ("Cas", Rmw::Cas),
    ],
    rmw: Rmw::Exch,
    orders: |_, r, w| rmw_order(r.map(Atom::Order), w.map(Atom::Order)).is_some(),
    registers: Registers { prefix: "r", names: &[], first: 0, count: 250 },
    write: emit,
};

struct Writer<'a> {
    draft: &'a mut Draft,
    base: Base,
    thread: u8,
    regs: u8,
    depth: usize,
    style: &'a Style,
    /// Which locations are atomic.
    atomic: u32,
    /// To which locations the thread has pointers to `const`, to `volatile`.
    consts: u32,
    volatile: u32,
    /// Where each location is in the array or the structure.
    offsets: [u16; MAX_LOCS],
}

/// A compare-exchange: whether it is weak, its orders, whether it succeeds, whether that is asked.
struct Cas {
    weak: bool,
    success: Order,
    failure: Order,
    hits: bool,
    used: bool,
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

    /// The type of a location with its qualifiers, as this thread sees it.
    fn object(&self, loc: u8) -> [&'static str; 4] {
        let bit = |mask: u32| mask & (1 << loc) != 0;
        let base = self.base_of(loc);
        let atomic = bit(self.atomic);
        let volatile = match self.style.objects {
            Objects::Usual => !atomic || bit(self.volatile),
            Objects::Volatile => true,
            Objects::Plain => false,
        };
        let (word, name) = match (atomic, base.is_int()) {
            (true, true) => ("", "atomic_int"),
            (true, false) => ("_Atomic ", base.name()),
            (false, _) => ("", base.name()),
        };
        let constant = if bit(self.consts) { "const " } else { "" };
        [constant, if volatile { "volatile " } else { "" }, word, name]
    }

    /// The helper function that returns this, takes a pointer to this and has this signature and
    /// body; called up to its arguments.
    fn call_helper(&mut self, ret: &str, rest: &str) {
        let helpers = &mut self.draft.helpers;
        let like = |h: &String| {
            h.strip_prefix(ret)
                .and_then(|h| h.strip_suffix(rest))
                .is_some_and(|name| !name.contains('('))
        };
        let at = helpers.iter().position(like).unwrap_or_else(|| {
            helpers.push(format!("{ret} h{}{rest}", helpers.len()));
            helpers.len() - 1
        });
        self.put(&["h"]);
        self.int(i32::try_from(at).unwrap_or(0));
        self.put(&["("]);
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
        let (op, operand, order, used) = match how {
            Made::Rmw { op, order, used } => {
                let operand = match event.dir {
                    Dir::W => op.operand(before, event.cell),
                    Dir::R if used => Some(op.nothing(event.value)),
                    Dir::R if event.value != last => {
                        return Err("an access leaves no value that shows that it was made");
                    }
                    Dir::R => op.operand(event.value, event.value + 1),
                };
                let operand =
                    operand.ok_or("the operation makes the value of this write with no operand")?;
                (op, operand, order, used)
            }
            Made::Cas { weak, success, failure, hits, used } => {
                let hits = hits || event.dir == Dir::W;
                let cas = Cas { weak, success, failure, hits, used };
                let (expected, desired) = match (event.dir, hits) {
                    (Dir::W, _) => (before, event.cell),
                    (Dir::R, true) => (event.value, event.value),
                    (Dir::R, false) => (NEVER, NEVER + 1),
                };
                return self.cas(event.loc, cas, (expected, desired), from);
            }
            Made::Miss { order } => {
                let other = if event.value == 0 { last } else { 0 };
                if event.dir == Dir::W || other == event.value {
                    return Err(
                        "a compare-exchange that fails writes nothing, and needs a value to fail",
                    );
                }
                let (success, failure) = (order, order);
                let cas = Cas { weak: false, success, failure, hits: true, used: true };
                return self.cas(event.loc, cas, (other, other), from);
            }
            Made::Usual | Made::Const | Made::Volatile => return Ok(None),
        };
        let reg = if used { Some(self.alloc()?) } else { None };
        match reg {
            Some(reg) => self.declare(reg),
            None => self.indent(),
        }
        self.fetch(op.name(), event.loc, order, from);
        self.value(operand, from);
        self.close(order);
        if reg.is_none() && event.dir == Dir::R {
            let place = Shown::Loc(event.loc);
            self.final_value(event.loc)?;
            self.draft.shown.retain(|(s, _)| *s != place);
            self.draft.shown.insert(0, (place, event.value + 1));
        }
        Ok(reg)
    }

    /// A read-modify-write up to its operand.
    fn fetch(&mut self, name: &str, loc: u8, order: Order, from: Option<From>) {
        if self.style.helpers.accesses() {
            let (object, base) = (self.object(loc).concat(), self.base_of(loc).name());
            let order = memory_order(order);
            self.call_helper(
                base,
                &format!(
                    "({object} *p, {base} v) {{\n  return atomic_{name}_explicit(p, v, {order});\n}}\n"
                ),
            );
        } else {
            self.put(&["atomic_", name, "_explicit("]);
        }
        self.pointer(loc, from);
        self.put(&[", "]);
    }

    fn close(&mut self, order: Order) {
        match self.style.helpers.accesses() {
            true => self.put(&[");\n"]),
            false => self.put(&[", ", memory_order(order), ");\n"]),
        }
    }

    /// An operation that changes nothing and is not looked at.
    fn idle(&mut self, idle: &Idle, loc: u8) {
        self.indent();
        self.fetch(idle.op.name(), loc, idle.order, None);
        self.int(idle.op.nothing(0));
        self.close(idle.order);
    }

    /// A compare-exchange. Where it succeeds the register tells that it did; where it fails, what
    /// is there.
    fn cas(
        &mut self,
        loc: u8,
        cas: Cas,
        (expected, desired): (i32, i32),
        from: Option<From>,
    ) -> Result<Option<u8>, Refused> {
        if !cas.used && !cas.hits {
            return Err("an access leaves no value that shows that it was made");
        }
        let strength = if cas.weak { "weak" } else { "strong" };
        let (success, failure) = (memory_order(cas.success), memory_order(cas.failure));
        if self.style.helpers.accesses() {
            let (object, base) = (self.object(loc).concat(), self.base_of(loc).name());
            let call = format!(
                "atomic_compare_exchange_{strength}_explicit(p, &e, v, {success}, {failure})"
            );
            let (ret, body) = match (cas.used, cas.hits) {
                (false, _) => ("void", format!("  {call};\n")),
                (true, true) => ("int", format!("  return {call};\n")),
                (true, false) => (base, format!("  {call};\n  return e;\n")),
            };
            let mut reg = None;
            if cas.used {
                let new = self.alloc()?;
                self.indent();
                self.put(&[ret, " "]);
                self.reg(new);
                self.put(&[" = "]);
                reg = Some(new);
            } else {
                self.indent();
            }
            self.call_helper(ret, &format!("({object} *p, {base} e, {base} v) {{\n{body}}}\n"));
            self.pointer(loc, from);
            self.put(&[", "]);
            self.int(expected);
            self.put(&[", "]);
            self.int(desired);
            self.put(&[");\n"]);
            return Ok(reg);
        }
        let old = self.alloc()?;
        self.declare(old);
        self.int(expected);
        self.put(&[";\n"]);
        let done = if cas.used { Some(self.alloc()?) } else { None };
        self.indent();
        if let Some(done) = done {
            self.put(&["int "]);
            self.reg(done);
            self.put(&[" = "]);
        }
        self.put(&["atomic_compare_exchange_", strength, "_explicit("]);
        self.pointer(loc, from);
        self.put(&[", &"]);
        self.reg(old);
        self.put(&[", "]);
        self.int(desired);
        self.put(&[", ", success, ", ", failure, ");\n"]);
        Ok(if cas.hits { done } else { Some(old) })
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
        let from = from.filter(|f| f.dep.kind == DepKind::Addr);
        let offset = self.offsets[usize::from(loc)];
        match self.style.layout {
            Layout::Separate => self.put(&[LOCS[usize::from(loc)]]),
            Layout::Array => self.sum(offset),
            Layout::Struct => {
                let [constant, volatile, atomic, base] = self.object(loc);
                self.put(&["(", constant, volatile, atomic, base, " *)"]);
                let compound = offset > 0 || from.is_some();
                self.put(&[if compound { "(" } else { "" }]);
                self.sum(offset);
                if let Some(f) = from {
                    self.put(&[" + "]);
                    self.nothing(f);
                }
                self.put(&[if compound { ")" } else { "" }]);
                return;
            }
        }
        if let Some(f) = from {
            self.put(&[" + "]);
            self.nothing(f);
        }
    }

    /// `s + 2`
    fn sum(&mut self, offset: u16) {
        self.put(&[ARRAY]);
        if offset > 0 {
            self.put(&[" + "]);
            self.int(i32::from(offset));
        }
    }

    /// `*x`, as an operand.
    fn deref(&mut self, loc: u8, from: Option<From>) {
        let open = match self.style.layout {
            Layout::Separate => from.is_some_and(|f| f.dep.kind == DepKind::Addr),
            Layout::Array => {
                let dependent = from.is_some_and(|f| f.dep.kind == DepKind::Addr);
                dependent || self.offsets[usize::from(loc)] > 0
            }
            Layout::Struct => false,
        };
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
        if self.style.helpers.accesses() {
            let object = self.object(loc).concat();
            let get = match order {
                None => "*p".to_string(),
                Some(order) => format!("atomic_load_explicit(p, {})", memory_order(order)),
            };
            self.call_helper(
                self.base_of(loc).name(),
                &format!("({object} *p) {{\n  return {get};\n}}\n"),
            );
            self.pointer(loc, from);
            self.put(&[");\n"]);
            return Ok(reg);
        }
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
        if self.style.helpers.accesses() {
            let (object, base) = (self.object(event.loc).concat(), self.base_of(event.loc).name());
            let set = match order {
                None => "*p = v".to_string(),
                Some(order) => format!("atomic_store_explicit(p, v, {})", memory_order(order)),
            };
            self.call_helper("void", &format!("({object} *p, {base} v) {{\n  {set};\n}}\n"));
            self.pointer(event.loc, from);
            self.put(&[", "]);
            self.value(event.value, from);
            self.put(&[");\n"]);
            return;
        }
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

    fn fence(&mut self, fence: u8) {
        let order = of(Arch::C).fence(fence).text;
        self.indent();
        if self.style.helpers.fences() {
            self.call_helper("void", &format!("() {{\n  atomic_thread_fence({order});\n}}\n"));
            self.put(&[");\n"]);
        } else {
            self.put(&["atomic_thread_fence(", order, ");\n"]);
        }
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
            Rmw::Exch => "exchange",
            Rmw::Fetch(RmwOp::Add) => "fetch_add",
            Rmw::Fetch(RmwOp::Sub) => "fetch_sub",
            Rmw::Fetch(RmwOp::And) => "fetch_and",
            Rmw::Fetch(RmwOp::Or) => "fetch_or",
            Rmw::Fetch(RmwOp::Xor) => "fetch_xor",
            Rmw::Cas => {
                let failure = match order {
                    Order::AcqRel => Order::Acq,
                    Order::Rel => Order::Rlx,
                    o => o,
                };
                let cas = Cas { weak: false, success: order, failure, hits: true, used: true };
                let done = self.cas(read.loc, cas, (read.value, write.value), from)?;
                return done.ok_or("an access leaves no value that shows that it was made");
            }
            Rmw::LxSx | Rmw::Fetch(RmwOp::Clr) | Rmw::Store(_) => {
                return Err("C has no such operation");
            }
        };
        let reg = self.alloc()?;
        self.declare(reg);
        if self.style.helpers.accesses() || order != Order::Sc {
            self.fetch(name, read.loc, order, from);
            self.int(write.value);
            self.close(order);
        } else {
            self.put(&["atomic_", name, "("]);
            self.pointer(read.loc, from);
            self.put(&[", "]);
            self.int(write.value);
            self.put(&[");\n"]);
        }
        Ok(reg)
    }

    /// Whether the final value of a location can be asked for: of a member, one byte can, and
    /// which it is depends on the machine.
    fn final_value(&self, loc: u8) -> Result<(), Refused> {
        match self.style.layout == Layout::Struct && self.base_of(loc).bytes > 1 {
            true => Err("a condition cannot name the final value of a member of several bytes"),
            false => Ok(()),
        }
    }
}

/// A value that no write of a generated test leaves.
const NEVER: i32 = 77;

fn order(atom: Option<Atom>) -> Result<Option<Order>, Refused> {
    match atom {
        None => Ok(None),
        Some(Atom::Order(o)) => Ok(Some(o)),
        Some(_) => Err("this annotation is none of C"),
    }
}

/// Where each location is in an array or a structure, and that object.
fn place(
    shop: &Workshop,
    style: &Style,
    atomic: u32,
) -> Result<([u16; MAX_LOCS], Option<Array>), Refused> {
    let mut offsets = [0; MAX_LOCS];
    let object = match style.layout {
        Layout::Separate => None,
        Layout::Array => {
            if style.second.is_some_and(|s| s != style.base) {
                return Err("the elements of one array would have several types");
            }
            let all = (1u32 << shop.locs) - 1;
            if atomic != 0 && atomic & all != all {
                return Err("only some elements of one array would be atomic");
            }
            for (i, slot) in offsets.iter_mut().enumerate() {
                *slot = i as u16;
            }
            let ty = style.base.declared(atomic != 0);
            Some(Array { ty, len: shop.locs as u16, index: offsets })
        }
        Layout::Struct => {
            let mut end = 0u16;
            for (loc, offset) in offsets.iter_mut().enumerate().take(shop.locs) {
                let bytes = u16::from(style.base_of(loc as u8).bytes);
                end = end.next_multiple_of(bytes);
                *offset = end;
                end += bytes;
            }
            let len = end.next_multiple_of(16);
            Some(Array { ty: "uint8_t", len, index: offsets })
        }
    };
    Ok((offsets, object))
}

fn emit(_: &Dialect, shop: &Workshop, style: &Style, draft: &mut Draft) -> Result<(), Refused> {
    // A location is atomic in all its accesses or in none.
    let (mut atomic, mut known) = (0u32, 0u32);
    for event in &shop.events {
        let bit = 1 << event.loc;
        let this = event.atom.is_some();
        if known & bit != 0 && (atomic & bit != 0) != this {
            return Err("a location is atomic in one access and not in another");
        }
        known |= bit;
        atomic |= if this { bit } else { 0 };
    }
    let (offsets, array) = place(shop, style, atomic)?;
    if array.is_none() {
        for loc in loc_order(shop.locs) {
            let base = style.base_of(loc);
            // Plain `int` needs no word.
            if !base.is_int() {
                draft.types.push((loc, base.declared(atomic & (1 << loc) != 0)));
            }
        }
    }
    draft.array = array;
    let plan = style.observe.plan(shop, false)?;
    let mut w = Writer {
        draft,
        base: style.base,
        thread: 0,
        regs: 0,
        depth: 0,
        style,
        atomic,
        consts: 0,
        volatile: 0,
        offsets,
    };
    for (loc, value) in &plan.finals {
        w.final_value(*loc)?;
        w.draft.shown.push((Shown::Loc(*loc), *value));
    }
    w.draft.threads.push(0);
    for (loc, values) in &plan.observers {
        let start = w.draft.text.len();
        head(&mut w, 1 << loc);
        w.base = w.base_of(*loc);
        for value in values {
            let order = (atomic & (1 << loc) != 0).then_some(Order::Rlx);
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
        (w.consts, w.volatile) = (made(Made::Const), made(Made::Volatile));
        if (w.consts | w.volatile) != 0 && style.layout != Layout::Separate {
            return Err("locations in one array or structure cannot be qualified one by one");
        }
        let written = shop.thread(t).iter().filter(|e| e.dir == Dir::W);
        if written.fold(0, |m, e| m | 1 << e.loc) & w.consts != 0 {
            return Err("a thread would write a location through a pointer to `const`");
        }
        head(&mut w, used);
        thread(&mut w, shop, &plan, t)?;
        end(&mut w, start);
        (w.consts, w.volatile) = (0, 0);
    }
    Ok(())
}

/// `P0(atomic_int *y, atomic_int *x) {`, with the last location first.
fn head(w: &mut Writer, used: u32) {
    w.regs = 0;
    w.depth = 0;
    w.draft.text.push('P');
    number(i64::from(w.thread), &mut w.draft.text);
    w.put(&["("]);
    match w.style.layout {
        Layout::Separate => {
            let mut first = true;
            let names = [2u8, 1, 0].into_iter().chain((3..MAX_LOCS as u8).rev());
            for loc in names.filter(|l| used & (1 << l) != 0) {
                w.put(&[if first { "" } else { ", " }]);
                first = false;
                let object = w.object(loc);
                w.put(&object);
                w.put(&[" *", LOCS[usize::from(loc)]]);
            }
        }
        Layout::Array => {
            let object = w.object(0);
            w.put(&object);
            w.put(&[" *", ARRAY]);
        }
        Layout::Struct => w.put(&["uint8_t *", ARRAY]),
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
    let mut from: Option<From> = None;
    for at in shop.threads[t]..shop.threads[t + 1] {
        let event = &shop.events[at];
        for f in event.inserts.iter().take(usize::from(event.n_inserts)) {
            w.fence(*f);
        }
        w.base = w.base_of(event.loc);
        let how = w.style.made(at);
        let by_operation = matches!(how, Made::Rmw { .. } | Made::Cas { .. } | Made::Miss { .. });
        if by_operation && (event.rmw || event.atom.is_none()) {
            return Err("only an atomic access is made by an operation");
        }
        if how == Made::Const && event.dir == Dir::W {
            return Err("a store cannot go through a pointer to `const`");
        }
        if let Some(idle) = w.style.idle.filter(|i| i.before == at) {
            if event.atom.is_none() || event.rmw {
                return Err("only an atomic access has an idle operation before it");
            }
            if w.consts & (1 << event.loc) != 0 {
                return Err("a read-modify-write cannot go through a pointer to `const`");
            }
            w.idle(&idle, event.loc);
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
            w.fence(f);
        }
        let Some(reg) = got else {
            if matches!(event.edge.kind, Kind::Dp(..)) {
                return Err("an access depends on a result that is not used");
            }
            continue;
        };
        let value = match (how, event.dir, event.edge.kind) {
            (Made::Miss { .. }, ..) => 0,
            (Made::Cas { .. }, Dir::W, _)
            | (Made::Cas { hits: true, .. }, ..)
            | (_, _, Kind::Rmw(Rmw::Cas)) => 1,
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
