//! Lowers a test to the program that is simulated: locations with their layout, threads as
//! micro-ops, what is observed. Only this part of the room reads tests.

use std::cell::Cell;
use std::sync::Arc;

use compact_str::format_compact;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::bodies::Bodies;
use super::groups;
use super::program::{Cond, Location, Observable, ObservedPlace, Program, Rhs, Shown, Thread};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_isa as isa;
use litmake_lang::c11::PlainAtomic;
use litmake_lang::c11::lower::{self, Dialect};
use litmake_lang::c11::variables::variables;
use litmake_litmus::{
    Arch, Body, CmpOp, InitItem, InitValue, Operand, Place, Prop, Symbols, Test, Type, Value,
};
use litmake_ops::{Reg, Tags, Val};

/// A register or location without a type is shown and compared as an `int`.
const INT_BITS: u8 = 32;

/// Locations are numbered with so many bits.
const MOST: usize = u16::MAX as usize;

/// Final states show at most so many elements of an array.
const MOST_SHOWN: usize = 256;

/// The locations of a test, while they are collected.
#[derive(Default)]
struct Locations {
    list: Vec<Location>,
    /// Whether a declaration gives the size; else accesses may go anywhere near.
    declared: Vec<bool>,
    index: FxHashMap<String, u16>,
    /// The thread that is lowered.
    thread: usize,
}

impl Locations {
    fn get(&mut self, name: &str) -> u16 {
        if let Some(i) = self.index.get(name) {
            return *i;
        }
        // One more than there may be is an error in the end.
        if self.list.len() > MOST {
            return u16::MAX;
        }
        let i = self.list.len() as u16;
        self.list.push(Location {
            name: name.to_string(),
            size: 0,
            elem: 4,
            signed: true,
            is_const: false,
            tags: Tags::NONE,
            init: Vec::new(),
        });
        self.declared.push(false);
        self.index.insert(name.to_string(), i);
        i
    }

    fn give_type(&mut self, i: u16, ty: &Type, pointer: u8) {
        let at = usize::from(i);
        let (elem, count, signed) = layout(ty, pointer);
        let location = &mut self.list[at];
        location.is_const |= ty.is_const();
        if self.declared[at] {
            location.size = location.size.max(u32::from(elem) * count);
            return;
        }
        self.declared[at] = true;
        location.elem = elem;
        location.size = u32::from(elem) * count;
        location.signed = signed;
    }
}

impl Symbols for Locations {
    fn location(&mut self, name: &str) -> u16 {
        self.get(name)
    }

    fn declare(&mut self, name: &str, ty: &Type) -> u16 {
        let i = self.get(name);
        self.give_type(i, ty, 8);
        i
    }

    fn own(&mut self, name: &str, ty: &Type) -> u16 {
        self.declare(&format!("{}:{name}", self.thread), ty)
    }
}

/// Size of an element, number of elements, signedness.
fn layout(ty: &Type, pointer: u8) -> (u8, u32, bool) {
    match ty.bare() {
        Type::Int { bytes, signed } => (*bytes, 1, *signed),
        Type::Float { bytes } => (*bytes, 1, false),
        Type::Pointer(_) => (pointer, 1, false),
        Type::Array(inner, n) => {
            let (elem, count, signed) = layout(inner, pointer);
            (elem, count.saturating_mul(u32::try_from(*n).unwrap_or(u32::MAX)), signed)
        }
        Type::Struct(s) => (1, u32::try_from(s.size()).unwrap_or(u32::MAX), false),
        _ => (4, 1, true),
    }
}

impl Program {
    /// Makes a program of a test; an error points at what has no meaning here.
    pub fn new(test: &Test) -> Result<Program> {
        Program::with(test, &mut Bodies::default(), None, PlainAtomic::default())
    }

    /// The same, with kept threads from earlier tests, with what a model adds to C, and with a
    /// meaning of plain accesses to atomic objects.
    pub(crate) fn with(
        test: &Test,
        bodies: &mut Bodies,
        dialect: Option<&Dialect>,
        plain_atomic: PlainAtomic,
    ) -> Result<Program> {
        let met = Cell::new(false);
        let dialect = dialect.filter(|_| test.arch == Arch::C);
        let variables = match test.arch {
            Arch::C => variables(test),
            _ => Vec::new(),
        };
        let reading = lower::Options { plain_atomic, met: Some(&met), variables: &variables };
        let mut locations = Locations::default();
        let features = test.features();
        let isa = isa::with(test.arch, features);
        let pointer = isa.map_or(8, |i| i.address_bits() / 8);
        for item in &test.init {
            if let Place::Mem { name, .. } = &item.place {
                let i = locations.get(name);
                if let (Some(ty), Some(dialect)) = (&item.ty, dialect) {
                    locations.give_type(i, &lower::object_in(dialect, ty), pointer);
                } else if let Some(ty) = &item.ty {
                    locations.give_type(i, ty, pointer);
                } else if let Some(InitValue::Array(values)) = &item.value {
                    let ty = Type::Array(Arc::new(Type::INT), values.len() as u64);
                    locations.give_type(i, &ty, pointer);
                }
            }
        }
        let mut threads = Vec::with_capacity(test.threads.len());
        for (number, body) in test.threads.iter().enumerate() {
            locations.thread = number;
            threads.push(match body {
                Body::Asm(lines) => {
                    let Some(isa) = isa else {
                        return Err(Diag::new("assembly in a C test"));
                    };
                    bodies.thread(isa, features, &test.source, lines, &mut locations)?
                }
                Body::C(f) => match dialect {
                    None => {
                        let code =
                            lower::thread(&test.source, f, &test.helpers, &mut locations, reading)?;
                        Thread::new(code)
                    }
                    Some(dialect) => {
                        let (source, helpers) = (&test.source, &test.helpers);
                        let locations = &mut locations;
                        let code =
                            lower::thread_in(source, f, helpers, locations, reading, dialect)?;
                        Thread::new(code)
                    }
                },
            });
        }
        for (location, tags) in threads.iter().flat_map(|t: &Thread| &t.code.locations) {
            if let Some(location) = locations.list.get_mut(usize::from(*location)) {
                location.tags = location.tags | *tags;
            }
        }
        if test.arch == Arch::C {
            groups::one_memory(&mut threads, &locations.list);
        }
        let mut lowering = Lowering {
            test,
            locations,
            threads,
            types: FxHashMap::default(),
            initialised: SmallVec::new(),
            compared: Vec::new(),
            plain_atomics: met.get(),
            extra_events: dialect.is_some_and(|d| d.kernel),
        };
        for item in &test.init {
            lowering.init(item)?;
        }
        if lowering.locations.list.len() > MOST {
            return Err(Diag::new(format!("{}: more than {MOST} locations", test.name)));
        }
        lowering.finish()
    }
}

struct Lowering<'t> {
    test: &'t Test,
    locations: Locations,
    threads: Vec<Thread>,
    /// Declared types of registers.
    types: FxHashMap<(usize, Reg), Type>,
    /// The registers that the test gives an initial value.
    initialised: SmallVec<[(usize, Reg); 8]>,
    /// The places that the comparisons read so far look at.
    compared: Vec<Shown>,
    plain_atomics: bool,
    extra_events: bool,
}

impl Lowering<'_> {
    fn source(&self) -> &Source {
        &self.test.source
    }

    fn pointer_bytes(&self) -> u8 {
        isa::with(self.test.arch, self.test.features()).map_or(8, |i| i.address_bits() / 8)
    }

    fn value(&mut self, value: &Value, thread: Option<usize>, span: Span) -> Result<Val> {
        Ok(match value {
            Value::Int(i) => Val::Int(*i as u128),
            Value::Addr { name, index } => {
                let loc = self.locations.get(name);
                let elem = self.locations.list[usize::from(loc)].elem;
                let off = i64::try_from(*index).unwrap_or(0).saturating_mul(i64::from(elem));
                Val::Ptr { loc, off }
            }
            Value::Label { thread: of, name } => {
                let t = of.or(thread);
                if thread.is_some() && t != thread {
                    let message = "the address of another thread's code is not supported";
                    return Err(Diag::at(self.source(), span, message)
                        .help("a thread can jump to its own labels only"));
                }
                let lines = t.and_then(|t| self.test.threads.get(t)).and_then(|b| match b {
                    Body::Asm(lines) => Some(lines),
                    Body::C(_) => None,
                });
                let at = lines.and_then(|ls| ls.iter().position(|l| l.labels.contains(name)));
                match at {
                    Some(i) => Val::Code(i as u32),
                    None => {
                        return Err(Diag::at(
                            self.source(),
                            span,
                            format!("no label `{name}` in that thread"),
                        ));
                    }
                }
            }
        })
    }

    fn init(&mut self, item: &InitItem) -> Result<()> {
        let span = item.span;
        match &item.place {
            Place::Reg { thread, name } => {
                let Some((reg, _)) = self.register(*thread, name, span, true)? else {
                    return Ok(());
                };
                if let Some(ty) = &item.ty {
                    self.types.insert((*thread, reg), ty.clone());
                }
                if let Some(InitValue::One(v)) = &item.value {
                    let bits = self.threads[*thread].code.regs[usize::from(reg)].bits;
                    let val = match self.value(v, Some(*thread), span)? {
                        Val::Int(i) => Val::Int(i & litmake_ops::mask(bits)),
                        other => other,
                    };
                    if self.initialised.contains(&(*thread, reg)) {
                        let message = format!("{thread}:{name} is initialised more than once");
                        return Err(Diag::at(self.source(), span, message)
                            .help("one register has several names; keep one initialisation"));
                    }
                    self.initialised.push((*thread, reg));
                    let init = &mut self.threads[*thread].reg_init;
                    init.retain(|(r, _)| *r != reg);
                    init.push((reg, val));
                }
            }
            Place::Mem { name, index } => {
                let loc = self.locations.get(name);
                let location = &self.locations.list[usize::from(loc)];
                let elem = if location.elem == 0 { 4 } else { location.elem };
                let declared = self.locations.declared[usize::from(loc)];
                let first = index.unwrap_or(0);
                for (k, v) in item.values().iter().enumerate() {
                    let val = self.value(v, None, span)?;
                    // A location without a type is as wide as its accesses.
                    let size = match val {
                        Val::Int(_) if declared => elem,
                        Val::Int(_) => 16,
                        _ => elem.max(self.pointer_bytes()),
                    };
                    let off = u32::try_from(first)
                        .unwrap_or(u32::MAX)
                        .saturating_add(k as u32)
                        .saturating_mul(u32::from(elem));
                    let val = match val {
                        Val::Int(i) => Val::Int(i & litmake_ops::mask(size.saturating_mul(8))),
                        other => other,
                    };
                    let location = &mut self.locations.list[usize::from(loc)];
                    if declared && off + u32::from(size) > location.size.max(u32::from(size)) {
                        return Err(Diag::at(
                            self.source(),
                            span,
                            format!("this initialises past the end of `{name}`"),
                        ));
                    }
                    self.locations.list[usize::from(loc)].init.push((off, size, val));
                }
            }
        }
        Ok(())
    }

    /// The register of a thread, and the bits that its name shows. `None` for a register that the
    /// thread's code lacks, where it may be ignored (`init`).
    fn register(
        &mut self,
        thread: usize,
        name: &str,
        span: Span,
        init: bool,
    ) -> Result<Option<(Reg, u8)>> {
        let count = self.threads.len();
        let Some(of) = self.threads.get_mut(thread) else {
            return Err(Diag::at(
                &self.test.source,
                span,
                format!("there is no thread {thread}: the test has {count}"),
            ));
        };
        match isa::of(self.test.arch) {
            Some(isa) => match isa.register(name) {
                Some(r) => Ok(Some((of.reg(&r.name, r.bits, r.signed), r.shown_bits))),
                None => Err(Diag::at(
                    &self.test.source,
                    span,
                    format!("`{name}` is not a register of {}", self.test.arch.name()),
                )),
            },
            None => {
                if let Some(reg) = of.code.find_reg(name) {
                    return Ok(Some((reg, of.code.regs[usize::from(reg)].bits)));
                }
                // Kernel-style tests need no declarations.
                if init || self.extra_events {
                    return Ok(Some((of.reg(name, 32, true), 32)));
                }
                let near = nearest(name, of.code.regs.iter().map(|r| r.name.as_str()));
                let diag = Diag::at(
                    &self.test.source,
                    span,
                    format!("thread {thread} has no local variable `{name}`"),
                );
                Err(match near {
                    Some(near) => diag.help(format!("did you mean `{near}`?")),
                    None => diag,
                })
            }
        }
    }

    fn observable(&mut self, place: &Place, ty: Option<&Type>, span: Span) -> Result<Observable> {
        let pointer = self.pointer_bytes();
        Ok(match place {
            Place::Reg { thread, name } => {
                let Some((reg, shown)) = self.register(*thread, name, span, false)? else {
                    return Err(Diag::at(self.source(), span, "no such register"));
                };
                let info = &self.threads[*thread].code.regs[usize::from(reg)];
                let label = format_compact!("{thread}:{}", info.name);
                let declared = ty.cloned().or_else(|| self.types.get(&(*thread, reg)).cloned());
                let (bits, signed) = match declared {
                    Some(ty) => {
                        let (elem, _, signed) = layout(&ty, pointer);
                        (elem.saturating_mul(8), signed)
                    }
                    // A register without a type is an `int`, whatever its width.
                    None if isa::of(self.test.arch).is_some() => {
                        let bits = shown.min(info.bits);
                        if !(32..=64).contains(&bits) {
                            (bits, info.signed)
                        } else {
                            (INT_BITS, true)
                        }
                    }
                    None => (info.bits, info.signed),
                };
                Observable {
                    label,
                    place: ObservedPlace::Reg { thread: *thread as u16, reg },
                    bits,
                    signed,
                }
            }
            Place::Mem { name, index } => {
                self.check_location(name, span)?;
                let loc = self.locations.get(name);
                let location = &self.locations.list[usize::from(loc)];
                let known = self.locations.declared[usize::from(loc)];
                let (elem, bits, signed) = match ty {
                    Some(ty) => {
                        let (elem, _, signed) = layout(ty, pointer);
                        (elem, elem.saturating_mul(8), signed)
                    }
                    None if known => {
                        (location.elem, location.elem.saturating_mul(8), location.signed)
                    }
                    // Without a type it is an `int`, or the address that it holds.
                    None => (8, INT_BITS, true),
                };
                let off = u32::try_from(index.unwrap_or(0))
                    .unwrap_or(u32::MAX)
                    .saturating_mul(u32::from(if known { location.elem } else { 4 }));
                let label = match index {
                    Some(i) => format_compact!("{name}[{i}]"),
                    None => format_compact!("[{name}]"),
                };
                Observable {
                    label,
                    place: ObservedPlace::Mem { loc, off, size: elem },
                    bits,
                    signed,
                }
            }
        })
    }

    /// A location that no thread and no initial state has is a slip of the pen: it would be 0 for ever. Published tests
    /// of machines have some.
    fn check_location(&self, name: &str, span: Span) -> Result<()> {
        if self.test.arch != Arch::C || self.locations.index.contains_key(name) {
            return Ok(());
        }
        let message = format!("neither a thread nor the initial state has a location `{name}`");
        let diag = Diag::at(self.source(), span, message);
        Err(match nearest(name, self.locations.list.iter().map(|l| l.name.as_str())) {
            Some(near) => diag.help(format!("did you mean `{near}`?")),
            None => {
                diag.help(format!("a location that nobody uses is declared: {{ int {name}=0; }}"))
            }
        })
    }

    /// The number of elements that a declaration gives a location.
    fn elements(&self, name: &str) -> usize {
        let Some(i) = self.locations.index.get(name).map(|i| usize::from(*i)) else { return 1 };
        let location = &self.locations.list[i];
        match location.elem {
            0 => 1,
            elem if self.locations.declared[i] => (location.size / u32::from(elem)) as usize,
            _ => 1,
        }
    }

    /// The column of an array, with at least so many elements.
    fn array(
        &mut self,
        name: &str,
        least: usize,
        span: Span,
        observed: &mut Vec<Observable>,
    ) -> Result<Shown> {
        let count = self.elements(name).max(least);
        if count > MOST_SHOWN {
            let message = format!("`{name}` has too many elements to be shown: {count}");
            return Err(Diag::at(self.source(), span, message));
        }
        let mut parts = Vec::with_capacity(count);
        for k in 0..count {
            let place = Place::Mem { name: name.to_string(), index: Some(k as u64) };
            let element = self.observable(&place, None, span)?;
            parts.push(add(observed, element));
        }
        Ok(Shown { label: name.into(), parts, array: true })
    }

    fn finish(mut self) -> Result<Program> {
        let mut observed: Vec<Observable> = Vec::new();
        let span = self.test.condition.span;
        let condition = self.cond(&self.test.condition.prop, span, &mut observed)?;
        let mut shown = std::mem::take(&mut self.compared);
        for o in &self.test.locations {
            let new = match (&o.place, &o.ty) {
                (Place::Mem { name, index: None }, None) if self.elements(name) > 1 => {
                    self.array(name, 1, o.span, &mut observed)?
                }
                _ => {
                    let new = self.observable(&o.place, o.ty.as_ref(), o.span)?;
                    Shown::one(add(&mut observed, new), &observed)
                }
            };
            shown.push(new);
        }
        shown.sort_by(|a, b| key(a, &observed).cmp(&key(b, &observed)));
        shown.dedup_by(|a, b| a.label == b.label);
        let filter = match &self.test.filter {
            Some(p) => Some(self.cond(p, span, &mut observed)?),
            None => None,
        };
        for (i, location) in self.locations.list.iter_mut().enumerate() {
            if !self.locations.declared[i] {
                // Without a type, accesses may go anywhere in the first 64 bytes.
                location.size = location.size.max(64);
                location.elem = if self.test.arch == Arch::C { 4 } else { 64 };
            }
        }
        Ok(Program {
            arch: self.test.arch,
            name: self.test.name.clone(),
            locations: self.locations.list,
            threads: self.threads,
            scopes: Arc::new(self.test.placed()),
            labels: self.test.threads.iter().map(labels).collect(),
            shown,
            observed,
            filter,
            condition,
            quantifier: self.test.condition.quantifier,
            plain_atomics: self.plain_atomics,
            extra_events: self.extra_events,
        })
    }

    fn cond(&mut self, prop: &Prop, span: Span, observed: &mut Vec<Observable>) -> Result<Cond> {
        let mut list = |this: &mut Self, ps: &[Prop]| -> Result<Vec<Cond>> {
            ps.iter().map(|p| this.cond(p, span, observed)).collect()
        };
        Ok(match prop {
            Prop::True => Cond::Const(true),
            Prop::False => Cond::Const(false),
            Prop::Not(p) => Cond::Not(Box::new(self.cond(p, span, observed)?)),
            Prop::And(ps) => Cond::And(list(self, ps)?),
            Prop::Or(ps) => Cond::Or(list(self, ps)?),
            Prop::Implies(a, b) => Cond::Or(vec![
                Cond::Not(Box::new(self.cond(a, span, observed)?)),
                self.cond(b, span, observed)?,
            ]),
            Prop::Cmp(Place::Mem { name, index: None }, op, Operand::Array(values)) => {
                // One place for each element that the condition lists.
                let mut all = Vec::new();
                for (k, v) in values.iter().enumerate() {
                    let place = Place::Mem { name: name.clone(), index: Some(k as u64) };
                    let each = Prop::Cmp(place, CmpOp::Eq, Operand::Value(v.clone()));
                    all.push(self.cond(&each, span, observed)?);
                    self.compared.pop();
                }
                let whole = self.array(name, values.len(), span, observed)?;
                self.compared.push(whole);
                match op {
                    CmpOp::Eq => Cond::And(all),
                    CmpOp::Ne => Cond::Not(Box::new(Cond::And(all))),
                    _ => {
                        let message = "arrays can be compared with `=` and `<>` only";
                        return Err(Diag::at(self.source(), span, message));
                    }
                }
            }
            Prop::Cmp(place, op, operand) => {
                let left = self.observable(place, None, span)?;
                let thread = match place {
                    Place::Reg { thread, .. } => Some(*thread),
                    Place::Mem { .. } => None,
                };
                let left = add(observed, left);
                self.compared.push(Shown::one(left, observed));
                let rhs = match operand {
                    Operand::Array(_) => {
                        let message = "only an array can be compared with a list of values";
                        return Err(Diag::at(self.source(), span, message));
                    }
                    Operand::Value(v) => Rhs::Val(self.value(v, thread, span)?),
                    Operand::Place(p) => {
                        let right = self.observable(p, None, span)?;
                        let right = add(observed, right);
                        self.compared.push(Shown::one(right, observed));
                        Rhs::Observable(right)
                    }
                };
                Cond::Cmp(left, *op, rhs)
            }
        })
    }
}

/// The labels of a thread, in text order.
fn labels(body: &Body) -> Vec<(String, u32)> {
    let Body::Asm(lines) = body else { return Vec::new() };
    let each = |(i, line): (usize, &litmake_litmus::Line)| {
        line.labels.iter().map(move |l| (l.clone(), i as u32)).collect::<Vec<_>>()
    };
    lines.iter().enumerate().flat_map(each).collect()
}

fn add(observed: &mut Vec<Observable>, new: Observable) -> usize {
    match observed.iter().position(|o| o.label == new.label) {
        Some(i) => i,
        None => {
            observed.push(new);
            observed.len() - 1
        }
    }
}

/// Registers first, by thread and name; then memory.
fn key<'s>(shown: &'s Shown, observed: &[Observable]) -> (bool, u16, &'s str) {
    match shown.parts.first().map(|i| observed[*i].place) {
        Some(ObservedPlace::Reg { thread, .. }) => (false, thread, &shown.label),
        _ => (true, 0, &shown.label),
    }
}
