//! A test as a GPU runs it: threads of atomic accesses and fences, made from the C dialect.
//!
//! It does not know how threads are laid out on a device. Code that a GPU cannot run is refused by name.

use std::fmt::Write;

use litmake_base::diag::{Diag, Result};
use litmake_litmus::c::ast::{Expr, ExprKind, Function, StmtKind, UnaryOp};
use litmake_litmus::c::types::size_of;
use litmake_litmus::{Arch, Body, InitValue, Place, Test, Type, Value};

/// Tests with more threads are refused.
pub(crate) const MAX_THREADS: usize = 4;
/// Tests with more locations are refused.
pub(crate) const MAX_LOCATIONS: usize = 4;
/// Tests with more accesses and fences in a thread are refused.
pub(crate) const MAX_OPS: usize = 64;
const MAX_REGISTERS: usize = 16;
/// How many bytes a location has.
const WORD: u64 = 4;
/// The line of a test that asks for two addresses of each location; with one location, there always are.
const VIEWS: &str = litmake_mutate::small::VIEWS;

/// A test as a GPU runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Names and initial values.
    pub locations: Vec<(String, u32)>,
    /// The accesses and fences of each thread, in order.
    pub threads: Vec<Vec<Op>>,
    /// The registers of reads: thread and name.
    pub registers: Vec<(usize, String)>,
    /// Whether the test asks that accesses to each location go by two addresses ([`VIEWS`]).
    pub views: bool,
}

/// An operation of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// A read.
    Load {
        /// The index of the location.
        location: usize,
        /// The index of the register that takes the value.
        register: usize,
        /// Its order.
        order: Order,
    },
    /// A write.
    Store {
        /// The index of the location.
        location: usize,
        /// The value that is written.
        value: Operand,
        /// Its order.
        order: Order,
    },
    /// A read-modify-write. Its old value goes to a register, or is not observed.
    Rmw {
        /// The operation on the old value.
        op: RmwOp,
        /// The index of the location.
        location: usize,
        /// The operand.
        value: Operand,
        /// The index of the register that takes the old value.
        register: Option<usize>,
        /// Its order.
        order: Order,
    },
    /// A fence.
    Fence {
        /// Whether it orders the threads of one workgroup only.
        near: bool,
        /// Its order.
        order: Order,
    },
}

impl Op {
    /// The index of the location that it accesses; `None` for a fence.
    pub fn location(&self) -> Option<usize> {
        match self {
            Op::Load { location, .. } | Op::Store { location, .. } | Op::Rmw { location, .. } => {
                Some(*location)
            }
            Op::Fence { .. } => None,
        }
    }

    /// The order of the access or the fence.
    pub(crate) fn order(&self) -> Order {
        match self {
            Op::Load { order, .. }
            | Op::Store { order, .. }
            | Op::Rmw { order, .. }
            | Op::Fence { order, .. } => *order,
        }
    }
}

/// The order of an access or a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Orders nothing except accesses to its own location.
    Relaxed,
    /// A read or a fence orders the operations after it.
    Acquire,
    /// A write or a fence orders the operations before it.
    Release,
    /// Both.
    AcqRel,
}

impl Order {
    fn named(word: &str) -> Option<Order> {
        Some(match word.strip_prefix("memory_order_")? {
            "relaxed" => Order::Relaxed,
            "acquire" | "consume" => Order::Acquire,
            "release" => Order::Release,
            "acq_rel" => Order::AcqRel,
            _ => return None,
        })
    }

    fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel)
    }

    fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel)
    }
}

/// The operand of a write or a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A number.
    Const(u32),
    /// The value of an earlier read of the thread, by the index of its register.
    Register(usize),
}

/// The operation of a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmwOp {
    /// The operand takes the place of the old value.
    Exchange,
    /// The sum, modulo 2^32.
    Add,
    /// The old value less the operand, modulo 2^32.
    Sub,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
}

impl RmwOp {
    /// The name of the function in WGSL.
    pub fn wgsl(self) -> &'static str {
        match self {
            RmwOp::Exchange => "atomicExchange",
            RmwOp::Add => "atomicAdd",
            RmwOp::Sub => "atomicSub",
            RmwOp::Or => "atomicOr",
            RmwOp::And => "atomicAnd",
            RmwOp::Xor => "atomicXor",
        }
    }

    /// The value that it leaves.
    pub(crate) fn apply(self, old: u32, operand: u32) -> u32 {
        match self {
            RmwOp::Exchange => operand,
            RmwOp::Add => old.wrapping_add(operand),
            RmwOp::Sub => old.wrapping_sub(operand),
            RmwOp::Or => old | operand,
            RmwOp::And => old & operand,
            RmwOp::Xor => old ^ operand,
        }
    }
}

impl Program {
    /// Translates a C test; an error names the part that a GPU cannot run.
    pub(crate) fn new(test: &Test) -> Result<Program> {
        if test.arch != Arch::C {
            return Err(Diag::new(format!(
                "{}: tests of {} do not run on GPUs",
                test.name,
                test.arch.name()
            ))
            .help("give tests of the C dialect with relaxed atomics"));
        }
        if !(2..=MAX_THREADS).contains(&test.threads.len()) {
            return Err(Diag::new(format!(
                "{}: {} threads; GPUs run tests of 2 to {MAX_THREADS}",
                test.name,
                test.threads.len()
            )));
        }
        if test.scopes.is_some() {
            let message = format!("{}: a tree of scopes is not run on GPUs", test.name);
            return Err(Diag::new(message)
                .help("leave `scopes:` out; `--reach` says where the threads of all tests run"));
        }
        let mut program = Program {
            name: test.name.clone(),
            locations: Vec::new(),
            threads: Vec::new(),
            registers: Vec::new(),
            views: false,
        };
        if let Some((_, number)) = test.info.iter().find(|(key, _)| key == VIEWS) {
            if number != "2" {
                let message = format!("{}: `{VIEWS}={number}` is expected to be 2", test.name);
                return Err(Diag::new(message).help("leave it out for one address a location"));
            }
            program.views = true;
        }
        for item in &test.init {
            let Place::Mem { name, index: None } = &item.place else {
                return Err(Diag::at(
                    &test.source,
                    item.span,
                    "only plain locations are initialised on GPUs",
                ));
            };
            let value = match &item.value {
                None => 0,
                Some(InitValue::One(Value::Int(v))) => match u32::try_from(*v) {
                    Ok(v) => v,
                    Err(_) => {
                        return Err(Diag::at(
                            &test.source,
                            item.span,
                            "expected an initial value of 32 bits",
                        ));
                    }
                },
                Some(_) => {
                    return Err(Diag::at(
                        &test.source,
                        item.span,
                        "locations hold numbers on GPUs, no addresses or arrays",
                    ));
                }
            };
            if let Some(ty) = &item.ty {
                is_word(name, ty).map_err(|e| e.or_at(&test.source, item.span))?;
            }
            program.locations.push((name.clone(), value));
        }
        for (t, body) in test.threads.iter().enumerate() {
            let Body::C(function) = body else {
                return Err(Diag::new(format!("{}: thread {t} is no C function", test.name)));
            };
            let ops = Thread { test, function, thread: t, program: &mut program }.read()?;
            program.threads.push(ops);
        }
        if program.locations.len() > MAX_LOCATIONS {
            return Err(Diag::new(format!(
                "{}: {} locations; GPUs run tests of up to {MAX_LOCATIONS}",
                test.name,
                program.locations.len()
            )));
        }
        if program.registers.len() > MAX_REGISTERS {
            return Err(Diag::new(format!("{}: more than {MAX_REGISTERS} reads", test.name)));
        }
        Ok(program)
    }

    /// The places whose values make up an outcome: the registers, then the locations.
    pub fn observed(&self) -> Vec<Place> {
        let registers =
            self.registers.iter().map(|(t, r)| Place::Reg { thread: *t, name: r.clone() });
        let mem = self.locations.iter().map(|(x, _)| Place::Mem { name: x.clone(), index: None });
        registers.chain(mem).collect()
    }

    /// Whether the compiler must not see that accesses go to one place.
    pub fn hides_places(&self) -> bool {
        self.views || self.locations.len() == 1
    }

    /// Whether accesses acquire or release, or fences do only one of the two.
    pub fn has_orders(&self) -> bool {
        let plain = |op: &Op| match op {
            Op::Fence { order, .. } => *order == Order::AcqRel,
            access => access.order() == Order::Relaxed,
        };
        !self.threads.iter().flatten().all(plain)
    }

    /// Whether accesses acquire or release.
    pub fn has_ordered_accesses(&self) -> bool {
        let accesses = self.threads.iter().flatten().filter(|op| op.location().is_some());
        let mut orders = accesses.map(Op::order);
        orders.any(|order| order != Order::Relaxed)
    }

    /// The outcome of running the threads one after the other.
    pub fn run_in_order(&self, order: &[usize]) -> Vec<u32> {
        let mut registers = vec![0; self.registers.len()];
        let mut memory: Vec<u32> = self.locations.iter().map(|(_, v)| *v).collect();
        for op in order.iter().filter_map(|t| self.threads.get(*t)).flatten() {
            let value = |v: &Operand, registers: &[u32]| match v {
                Operand::Const(c) => *c,
                Operand::Register(r) => registers[*r],
            };
            match op {
                Op::Load { location, register, .. } => registers[*register] = memory[*location],
                Op::Store { location, value: v, .. } => memory[*location] = value(v, &registers),
                Op::Rmw { op, location, value: v, register, .. } => {
                    let old = memory[*location];
                    memory[*location] = op.apply(old, value(v, &registers));
                    if let Some(r) = register {
                        registers[*r] = old;
                    }
                }
                Op::Fence { .. } => {}
            }
        }
        registers.extend(memory);
        registers
    }

    /// `W x=1 ; F ; r0=R y || ...`, for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (t, ops) in self.threads.iter().enumerate() {
            if t > 0 {
                out += " || ";
            }
            for (i, op) in ops.iter().enumerate() {
                if i > 0 {
                    out += " ; ";
                }
                self.op_text(op, &mut out);
            }
        }
        out
    }

    fn op_text(&self, op: &Op, out: &mut String) {
        let place = |l: &usize| self.locations[*l].0.as_str();
        let name = |r: &usize| self.registers[*r].1.as_str();
        let operand = |v: &Operand| match v {
            Operand::Const(c) => c.to_string(),
            Operand::Register(r) => name(r).to_string(),
        };
        let ordered = match (op, op.order()) {
            (Op::Fence { .. }, Order::AcqRel) | (_, Order::Relaxed) => "",
            (_, Order::Acquire) => ".acq",
            (_, Order::Release) => ".rel",
            (_, Order::AcqRel) => ".acqrel",
        };
        let _ = match op {
            Op::Load { location, register, .. } => {
                write!(out, "{}=R{ordered} {}", name(register), place(location))
            }
            Op::Store { location, value, .. } => {
                write!(out, "W{ordered} {}={}", place(location), operand(value))
            }
            Op::Rmw { op, location, value, register, .. } => {
                if let Some(r) = register {
                    let _ = write!(out, "{}=", name(r));
                }
                let word = match op {
                    RmwOp::Exchange => "XCHG".into(),
                    op => op.wgsl().trim_start_matches("atomic").to_uppercase(),
                };
                let between = if *op == RmwOp::Exchange { '=' } else { ',' };
                write!(out, "{word}{ordered} {}{between}{}", place(location), operand(value))
            }
            Op::Fence { near: false, .. } => write!(out, "F{ordered}"),
            Op::Fence { near: true, .. } => write!(out, "F.near{ordered}"),
        };
    }
}

/// Refuses a location that is no word of 32 bits. Generated code has no others, and a test that ran with
/// words in place of its own types would be another test.
fn is_word(name: &str, ty: &Type) -> Result<()> {
    let width = match size_of(ty) {
        Some(WORD) => return Ok(()),
        Some(bytes) => format!("has {} bits", bytes * 8),
        None => "is no number".to_string(),
    };
    Err(Diag::new(format!("the location `{name}` {width}, and GPUs run tests of 32 bits alone"))
        .help("write the test with `atomic_int` or `atomic_uint`"))
}

/// One thread while it is read.
struct Thread<'a> {
    test: &'a Test,
    function: &'a Function,
    thread: usize,
    program: &'a mut Program,
}

impl Thread<'_> {
    fn read(&mut self) -> Result<Vec<Op>> {
        let mut ops = Vec::new();
        for stmt in &self.function.body {
            match &stmt.kind {
                StmtKind::Empty => {}
                StmtKind::Expr(e) => match &e.kind {
                    ExprKind::Assign(None, target, call) => {
                        let ExprKind::Name(name) = &target.kind else {
                            return Err(
                                self.refuse(e, "assignments to shared memory that are not atomic")
                            );
                        };
                        ops.push(self.call(call, Some(name))?);
                    }
                    _ => ops.push(self.call(e, None)?),
                },
                StmtKind::Decl(list) => {
                    for d in list {
                        // A value that is cut off is another value.
                        if size_of(&d.ty).is_some_and(|bytes| bytes < WORD) {
                            let message = format!(
                                "`{}` has fewer than 32 bits, and GPUs run tests of 32 bits alone",
                                d.name
                            );
                            return Err(Diag::at(&self.test.source, d.span, message)
                                .help("give it the type `int`"));
                        }
                        if let Some(init) = &d.init {
                            ops.push(self.call(init, Some(&d.name))?);
                        }
                    }
                }
                _ => {
                    return Err(Diag::at(
                        &self.test.source,
                        stmt.span,
                        "GPUs run straight lines of atomic accesses and fences alone",
                    )
                    .help("leave control flow out"));
                }
            }
            if ops.len() > MAX_OPS {
                return Err(Diag::at(
                    &self.test.source,
                    self.function.span,
                    format!("a thread has more than {MAX_OPS} accesses"),
                ));
            }
        }
        Ok(ops)
    }

    fn refuse(&self, e: &Expr, what: &str) -> Box<Diag> {
        Diag::at(&self.test.source, e.span, format!("GPUs do not run {what}"))
            .help("calls of atomic_load, atomic_store, atomic_exchange, atomic_fetch_* and of fences are run")
    }

    fn call(&mut self, e: &Expr, to: Option<&str>) -> Result<Op> {
        let ExprKind::Call(function, args) = &e.kind else {
            return Err(self.refuse(e, "this expression"));
        };
        let (base, orders) = match function.strip_suffix("_explicit") {
            Some(base) => (base, 1),
            None => (function.as_str(), 0),
        };
        if let "atomic_thread_fence" | "atomic_signal_fence" = base {
            // One that is sequentially consistent is taken as the strongest that there is.
            let order = match args.first().map(|a| &a.kind) {
                Some(ExprKind::Name(n)) => Order::named(n).unwrap_or(Order::AcqRel),
                _ => Order::AcqRel,
            };
            let order = if order == Order::Relaxed { Order::AcqRel } else { order };
            return Ok(Op::Fence { near: base == "atomic_signal_fence", order });
        }
        let rmw = match base.strip_prefix("atomic_") {
            Some("exchange") => Some(RmwOp::Exchange),
            Some("fetch_add") => Some(RmwOp::Add),
            Some("fetch_sub") => Some(RmwOp::Sub),
            Some("fetch_or") => Some(RmwOp::Or),
            Some("fetch_and") => Some(RmwOp::And),
            Some("fetch_xor") => Some(RmwOp::Xor),
            Some("load" | "store") => None,
            _ => return Err(self.refuse(e, &format!("`{function}`"))),
        };
        let values = if base == "atomic_load" { 1 } else { 2 };
        if args.len() != values + orders {
            return Err(self.refuse(e, &format!("`{function}` with {} arguments", args.len())));
        }
        let order = match args.get(values).map(|a| &a.kind) {
            Some(ExprKind::Name(n)) => Order::named(n),
            _ => None,
        };
        let Some(order) = order else {
            return Err(self.refuse(e, "sequentially consistent accesses"));
        };
        let fits = match base {
            "atomic_load" => !order.releases(),
            "atomic_store" => !order.acquires(),
            _ => true,
        };
        if !fits {
            return Err(self.refuse(e, &format!("`{function}` with this memory order")));
        }
        let location = self.location(&args[0])?;
        if base == "atomic_load" {
            // A value that nothing reads still makes the access.
            let register = self.register(to.unwrap_or("unused"), e)?;
            return Ok(Op::Load { location, register, order });
        }
        let value = self.operand(&args[1])?;
        match rmw {
            None if to.is_some() => Err(self.refuse(e, "the value of a store")),
            None => Ok(Op::Store { location, value, order }),
            Some(op) => {
                let register = to.map(|r| self.register(r, e)).transpose()?;
                Ok(Op::Rmw { op, location, value, register, order })
            }
        }
    }

    fn location(&mut self, e: &Expr) -> Result<usize> {
        let name = match &e.kind {
            ExprKind::Name(name) => name,
            ExprKind::Unary(UnaryOp::Addr, inner) => match &inner.kind {
                ExprKind::Name(name) => name,
                _ => return Err(self.refuse(e, "accesses to computed places")),
            },
            _ => return Err(self.refuse(e, "accesses to computed places")),
        };
        let Some(param) = self.function.params.iter().find(|p| p.name == *name) else {
            return Err(
                self.refuse(e, &format!("accesses to `{name}`, which is no shared location"))
            );
        };
        if let Type::Pointer(pointee) = param.ty.bare() {
            is_word(name, pointee).map_err(|e| e.or_at(&self.test.source, param.span))?;
        }
        if let Some(i) = self.program.locations.iter().position(|(x, _)| x == name) {
            return Ok(i);
        }
        self.program.locations.push((name.clone(), 0));
        Ok(self.program.locations.len() - 1)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.program.registers.iter().position(|(t, r)| *t == self.thread && r == name)
    }

    /// A new register: names are written once, so that each read has its own.
    fn register(&mut self, name: &str, e: &Expr) -> Result<usize> {
        if self.find(name).is_some() {
            return Err(self.refuse(e, &format!("threads that give `{name}` a second value")));
        }
        self.program.registers.push((self.thread, name.to_string()));
        Ok(self.program.registers.len() - 1)
    }

    fn operand(&self, e: &Expr) -> Result<Operand> {
        match &e.kind {
            ExprKind::Int(lit) => match u32::try_from(lit.value) {
                Ok(v) => Ok(Operand::Const(v)),
                Err(_) => Err(self.refuse(e, "values of more than 32 bits")),
            },
            ExprKind::Name(name) => match self.find(name) {
                Some(r) => Ok(Operand::Register(r)),
                None => Err(self.refuse(e, &format!("`{name}`, which was not read before"))),
            },
            _ => Err(self.refuse(e, "this value")),
        }
    }
}
