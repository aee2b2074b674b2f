//! The operations of `<stdatomic.h>` and the compilers' `__atomic_` builtins.

use std::sync::Arc;

use smallvec::SmallVec;

use super::build::{Src, Value};
use super::expr::{Place, volatile};
use super::kernel::KERNEL_HELP;
use super::{Home, Lower};
use litmake_base::diag::{Diag, Result, Span, nearest};
use litmake_litmus::Type;
use litmake_litmus::c::ast::{BARRIER, BinaryOp, Expr, ExprKind, IntLit};
use litmake_litmus::c::macros::unknown;
use litmake_litmus::c::scoped::{self, Ordered, Reach};
use litmake_litmus::c::types::{ValueType, size_of};
use litmake_ops::{BinOp, Op, Port, Tags, UnOp, tag};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Load,
    Store,
    Exchange,
    Cas {
        weak: bool,
    },
    Fetch(Fetch),
    Fence,
    /// A fence that says which memory it orders.
    FlagFence,
    /// Threads wait for each other.
    Barrier,
    SignalFence,
    Init,
    FlagSet,
    FlagClear,
    LockFree,
    KillDependency,
    /// `__builtin_expect`: tells the compiler how likely a value is.
    Expect,
    /// `memcpy`: the bits of one object become those of another.
    Copy,
    /// `memset`: all bytes of an object become one.
    Fill,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fetch {
    Op(BinaryOp),
    Nand,
}

/// How an operation takes its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    /// As `<stdatomic.h>`: orders are given where `explicit`, else seq_cst.
    C { explicit: bool },
    /// As `__atomic_load_n`: values by value; a compare-exchange says whether it is weak.
    GccValue,
    /// As `__atomic_load`: values through pointers.
    GccPointer,
    /// As `__sync_fetch_and_add`: values by value, and no orders.
    Sync,
}

/// The largest number of elements of an array that one `memset` writes.
const MOST_FILLED: u64 = 64;

const LONG: ValueType = ValueType::Int { bytes: 8, signed: true };

#[derive(Clone, Copy, Debug)]
struct Builtin {
    action: Action,
    style: Style,
    /// A fetch that gives the new value (`__atomic_add_fetch`).
    new: bool,
    /// A compare-exchange that gives what it found (`__sync_val_compare_and_swap`).
    found: bool,
}

const NAMES: &[&str] = &[
    "atomic_load",
    "atomic_load_explicit",
    "atomic_store",
    "atomic_store_explicit",
    "atomic_exchange",
    "atomic_exchange_explicit",
    "atomic_compare_exchange_strong",
    "atomic_compare_exchange_strong_explicit",
    "atomic_compare_exchange_weak",
    "atomic_compare_exchange_weak_explicit",
    "atomic_fetch_add",
    "atomic_fetch_add_explicit",
    "atomic_fetch_sub",
    "atomic_fetch_sub_explicit",
    "atomic_fetch_and",
    "atomic_fetch_and_explicit",
    "atomic_fetch_or",
    "atomic_fetch_or_explicit",
    "atomic_fetch_xor",
    "atomic_fetch_xor_explicit",
    "atomic_thread_fence",
    "atomic_signal_fence",
    "atomic_init",
    "atomic_flag_test_and_set",
    "atomic_flag_test_and_set_explicit",
    "atomic_flag_clear",
    "atomic_flag_clear_explicit",
    "atomic_is_lock_free",
    "memcpy",
    "memset",
];

const ORDERS: &[(&str, Tags)] = &[
    ("relaxed", tag::C_RLX),
    ("consume", tag::C_CON),
    ("acquire", tag::C_ACQ),
    ("release", tag::C_REL),
    ("acq_rel", tag::C_ACQ_REL),
    ("seq_cst", tag::C_SC),
];

/// Beginnings of the names of the Linux kernel's primitives.
const KERNEL: &[&str] = &[
    "READ_ONCE",
    "WRITE_ONCE",
    "smp_",
    "rcu_",
    "srcu_",
    "synchronize_",
    "spin_",
    "xchg",
    "cmpxchg",
    "atomic_read",
    "atomic_set",
    "atomic_add",
    "atomic_sub",
    "atomic_inc",
    "atomic_dec",
    "atomic_xchg",
    "atomic_cmpxchg",
];

fn fetch(name: &str) -> Option<Fetch> {
    Some(Fetch::Op(match name {
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "and" => BinaryOp::And,
        "or" => BinaryOp::Or,
        "xor" => BinaryOp::Xor,
        "nand" => return Some(Fetch::Nand),
        _ => return None,
    }))
}

fn find(name: &str) -> Option<Builtin> {
    let builtin = |action, style| Some(Builtin { action, style, new: false, found: false });
    if let Some(name) = name.strip_prefix("__atomic_") {
        let (core, style) = match name.strip_suffix("_n") {
            Some(core) => (core, Style::GccValue),
            None => (name, Style::GccPointer),
        };
        let by_value = Style::GccValue;
        return match core {
            "load" => builtin(Action::Load, style),
            "store" => builtin(Action::Store, style),
            "exchange" => builtin(Action::Exchange, style),
            "compare_exchange" => builtin(Action::Cas { weak: false }, style),
            "thread_fence" => builtin(Action::Fence, by_value),
            "signal_fence" => builtin(Action::SignalFence, by_value),
            "test_and_set" => builtin(Action::FlagSet, by_value),
            "clear" => builtin(Action::FlagClear, by_value),
            "is_lock_free" | "always_lock_free" => builtin(Action::LockFree, by_value),
            _ => {
                let (op, new) = match core.strip_prefix("fetch_") {
                    Some(op) => (op, false),
                    None => (core.strip_suffix("_fetch")?, true),
                };
                let action = Action::Fetch(fetch(op)?);
                Some(Builtin { action, style: by_value, new, found: false })
            }
        };
    }
    if let Some(name) = name.strip_prefix("__sync_") {
        return match name {
            "synchronize" => builtin(Action::Fence, Style::Sync),
            "lock_test_and_set" => builtin(Action::Exchange, Style::Sync),
            "lock_release" => builtin(Action::FlagClear, Style::Sync),
            "bool_compare_and_swap" | "val_compare_and_swap" => Some(Builtin {
                action: Action::Cas { weak: false },
                style: Style::Sync,
                new: false,
                found: name.starts_with("val"),
            }),
            _ => {
                let (op, new) = match name.strip_prefix("fetch_and_") {
                    Some(op) => (op, false),
                    None => (name.strip_suffix("_and_fetch")?, true),
                };
                let action = Action::Fetch(fetch(op)?);
                Some(Builtin { action, style: Style::Sync, new, found: false })
            }
        };
    }
    match name {
        BARRIER => return builtin(Action::SignalFence, Style::Sync),
        "__builtin_expect" => return builtin(Action::Expect, Style::GccValue),
        "memcpy" | "__builtin_memcpy" => return builtin(Action::Copy, Style::GccValue),
        "memset" | "__builtin_memset" => return builtin(Action::Fill, Style::GccValue),
        scoped::FENCE => return builtin(Action::FlagFence, Style::C { explicit: true }),
        _ if scoped::barrier(name).is_some() => {
            return builtin(Action::Barrier, Style::C { explicit: true });
        }
        _ => {}
    }
    let (core, explicit) = match name.strip_suffix("_explicit") {
        Some(core) => (core, true),
        None => (name, false),
    };
    let style = Style::C { explicit };
    let only_plain = |action| if explicit { None } else { builtin(action, style) };
    match core {
        "atomic_load" => builtin(Action::Load, style),
        "atomic_store" => builtin(Action::Store, style),
        "atomic_exchange" => builtin(Action::Exchange, style),
        "atomic_compare_exchange_strong" | "SCAS" => builtin(Action::Cas { weak: false }, style),
        "atomic_compare_exchange_weak" | "WCAS" => builtin(Action::Cas { weak: true }, style),
        "atomic_flag_test_and_set" => builtin(Action::FlagSet, style),
        "atomic_flag_clear" => builtin(Action::FlagClear, style),
        "atomic_thread_fence" => only_plain(Action::Fence),
        "atomic_signal_fence" => only_plain(Action::SignalFence),
        "atomic_init" => only_plain(Action::Init),
        "atomic_is_lock_free" => only_plain(Action::LockFree),
        "kill_dependency" => only_plain(Action::KillDependency),
        _ => {
            let action = Action::Fetch(fetch(core.strip_prefix("atomic_fetch_")?)?);
            match action {
                Action::Fetch(Fetch::Nand) => None,
                action => builtin(action, style),
            }
        }
    }
}

/// The kind of result of an operation on shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::c11) enum Gives {
    Nothing,
    /// Whether it succeeded.
    Truth,
    /// A value of the type of the object.
    Pointee,
}

/// The kind of result of an operation; `None` if it is not one on shared memory, or returns its result
/// through a pointer.
pub(in crate::c11) fn gives(name: &str) -> Option<Gives> {
    let builtin = find(name)?;
    match builtin.action {
        _ if builtin.style == Style::GccPointer => None,
        _ if builtin.found => Some(Gives::Pointee),
        Action::Load | Action::Exchange | Action::Fetch(_) => Some(Gives::Pointee),
        Action::Cas { .. } | Action::FlagSet => Some(Gives::Truth),
        Action::Store | Action::Fence | Action::FlagFence | Action::Barrier | Action::FlagClear => {
            Some(Gives::Nothing)
        }
        // A fence for the compiler alone orders nothing across a call that it would not without.
        Action::SignalFence
        | Action::Init
        | Action::LockFree
        | Action::KillDependency
        | Action::Expect
        | Action::Copy
        | Action::Fill => None,
    }
}

/// Whether a name is an operation that this room knows.
pub(in crate::c11) fn is_builtin(name: &str) -> bool {
    find(name).is_some()
}

/// The annotation of an operation that names this scope.
fn reach_tag(reach: Option<Reach>) -> Tags {
    match reach {
        Some(Reach::Item) => tag::WI,
        Some(Reach::Subgroup) => tag::SG,
        Some(Reach::Workgroup) => tag::WG,
        Some(Reach::Device) => tag::DV,
        Some(Reach::System) | None => Tags::NONE,
    }
}

impl Builtin {
    /// Whether its last argument may be a scope.
    fn takes_scope(&self) -> bool {
        self.style == Style::C { explicit: true } || self.action == Action::Fence
    }

    /// The scope that a call names.
    fn reach(&self, args: &[Expr]) -> Option<Reach> {
        scoped::reach(args).filter(|_| self.takes_scope())
    }

    /// The number of arguments before the orders, and of the orders.
    fn arity(&self, name: &str) -> (usize, usize) {
        let pointers = usize::from(self.style == Style::GccPointer);
        let explicit =
            usize::from(!matches!(self.style, Style::C { explicit: false } | Style::Sync));
        match self.action {
            Action::Load => (1 + pointers, explicit),
            Action::Store | Action::Fetch(_) => (2, explicit),
            Action::Exchange => (2 + pointers, explicit),
            Action::Cas { .. } => match self.style {
                Style::C { .. } | Style::Sync => (3, 2 * explicit),
                _ => (4, 2),
            },
            Action::Fence | Action::SignalFence => (0, usize::from(self.style != Style::Sync)),
            Action::FlagFence => (1, 1),
            Action::Barrier => (1, 0),
            Action::Init => (2, 0),
            Action::FlagSet | Action::FlagClear => (1, explicit),
            Action::LockFree => (1 + usize::from(name.starts_with("__")), 0),
            Action::KillDependency => (1, 0),
            Action::Expect => (2, 0),
            Action::Copy | Action::Fill => (3, 0),
        }
    }
}

impl Lower<'_> {
    fn find_builtin(&self, name: &str, args: &[Expr], span: Span) -> Result<Builtin> {
        let Some(builtin) = find(name) else {
            return Err(self.unknown_function(name, span));
        };
        let (values, orders) = builtin.arity(name);
        let scopes = usize::from(builtin.reach(args).is_some());
        if args.len() != values + orders + scopes {
            let s = |n: usize| if n == 1 { "" } else { "s" };
            let mut what = format!("{values} argument{}", s(values));
            if orders > 0 {
                what = format!("{what} and {orders} memory order{}", s(orders));
            }
            let got = args.len();
            let diag = self.error(span, format!("`{name}` takes {what}, found {got} in all"));
            return Err(match builtin.takes_scope() {
                true => diag.help("behind these may stand a scope, such as `memory_scope_device`"),
                false => diag,
            });
        }
        Ok(builtin)
    }

    fn unknown_function(&self, name: &str, span: Span) -> Box<Diag> {
        let kernel = KERNEL.iter().any(|k| name.starts_with(k));
        let message = match kernel {
            true => format!("`{name}` is a primitive of the Linux kernel"),
            false => format!("unknown function `{name}`"),
        };
        let diag = self.error(span, message);
        if let Some(dialect) = self.dialect.filter(|d| !d.macros.is_empty()) {
            return unknown(&dialect.macros, diag, name);
        }
        let helpers = self.helpers.iter().map(|f| f.name.as_str());
        let known = NAMES.iter().copied().chain(helpers);
        match nearest(name, known) {
            _ if kernel => diag.help(KERNEL_HELP),
            Some(n) => diag.help(format!("did you mean `{n}`?")),
            None => diag.help("expected an operation of <stdatomic.h> or a function of the test"),
        }
    }

    /// The type of a builtin's result.
    pub(super) fn builtin_type(&self, name: &str, args: &[Expr], span: Span) -> Result<ValueType> {
        let b = self.find_builtin(name, args, span)?;
        Ok(match b.action {
            Action::Load | Action::Exchange | Action::Fetch(_) => match b.style {
                Style::GccPointer => ValueType::Void,
                _ => match self.type_of(&args[0])? {
                    ValueType::Pointer(t) => self.value_type(&t, span)?,
                    _ => return Err(self.error(span, "this is no pointer")),
                },
            },
            Action::Cas { .. } | Action::FlagSet | Action::LockFree => ValueType::Bool,
            Action::KillDependency => self.type_of(&args[0])?,
            Action::Expect => LONG,
            Action::Store
            | Action::Fence
            | Action::FlagFence
            | Action::Barrier
            | Action::SignalFence
            | Action::Init
            | Action::FlagClear
            | Action::Copy
            | Action::Fill => ValueType::Void,
        })
    }

    /// Emits the events of a fence or a barrier, and says whether the operation is one.
    fn fences(
        &mut self,
        b: &Builtin,
        name: &str,
        args: &[Expr],
        order: Tags,
        reach: Option<Reach>,
    ) -> Result<bool> {
        match b.action {
            Action::FlagFence => {
                let memory = self.ordered(&args[0])?;
                // A relaxed fence orders nothing.
                if !order.meets(tag::C_RLX) {
                    self.b.fence(order | memory)?;
                }
            }
            Action::Barrier => {
                let meeting = scoped::barrier(name).unwrap_or(Reach::Workgroup);
                let scope = reach_tag(reach.or(Some(meeting)));
                let memory = self.ordered(&args[0])?;
                self.b.fence(tag::C_REL | scope | memory)?;
                self.b.fence(tag::CBAR | reach_tag(Some(meeting)))?;
                self.b.fence(tag::C_ACQ | scope | memory)?;
            }
            Action::Fence => self.b.fence(order)?,
            Action::SignalFence => self.b.fence(tag::C_SIGNAL)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn builtin(&mut self, name: &str, args: &[Expr], span: Span) -> Result<Value> {
        let b = self.find_builtin(name, args, span)?;
        let (n, count) = b.arity(name);
        let mut orders: SmallVec<[Tags; 2]> = SmallVec::new();
        for e in &args[n..n + count] {
            let order = self.order(e)?;
            self.check_order(b.action, orders.len(), order, e)?;
            orders.push(order);
        }
        let reach = b.reach(args);
        let unsaid = match name {
            "__sync_lock_test_and_set" => tag::C_ACQ,
            "__sync_lock_release" => tag::C_REL,
            _ => tag::C_SC,
        };
        let order = orders.first().copied().unwrap_or(unsaid) | reach_tag(reach);
        let failure = orders.get(1).copied().unwrap_or(tag::C_SC) | reach_tag(reach);
        if self.fences(&b, name, args, order, reach)? {
            return Ok(self.b.void());
        }
        if let Some(value) = self.on_no_object(b.action, args, span)? {
            return Ok(value);
        }
        // Operands are evaluated in any order; they are named here from left to right.
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        for e in &args[..n] {
            values.push(self.expr(e)?);
        }
        let (addr, object) = match self.pointed(&values[0], args[0].span)? {
            Place::Memory { addr, ty } => (addr, ty),
            Place::Local(_) => {
                return Err(self
                    .error(args[0].span, format!("`{name}` on a local variable"))
                    .help("use a shared location, which is a parameter of the function"));
            }
        };
        let tags = volatile(&object, tag::C_A | order);
        let indirect = b.style == Style::GccPointer;
        match b.action {
            Action::Load => {
                let v = self.load(&addr, &object, tags, span)?;
                if !indirect {
                    return Ok(v);
                }
                self.put(&values[1], &v, args[1].span)
            }
            Action::Store => {
                let v = self.operand(&values[1], indirect, args[1].span)?;
                self.store(&addr, &object, &v, tags, span)?;
                Ok(self.b.void())
            }
            Action::Init => {
                let tags = volatile(&object, tag::C_NA);
                self.store(&addr, &object, &values[1], tags, span)?;
                Ok(self.b.void())
            }
            Action::FlagClear => {
                let zero = self.b.constant(ValueType::INT, 0);
                self.store(&addr, &object, &zero, tags, span)?;
                Ok(self.b.void())
            }
            Action::FlagSet => {
                let one = self.b.constant(ValueType::INT, 1);
                let old = self.rmw(&addr, &object, tags, &[], span, &mut |_, _| Ok(one.clone()))?;
                self.truth(&old, ValueType::Bool)
            }
            Action::Exchange => {
                self.exchange((&addr, &object), &values, args, (tags, indirect), span)
            }
            Action::Fetch(op) => self.fetch(&b, op, &addr, &object, &values[1], tags, span),
            Action::Cas { weak } => {
                let weak = self.is_weak(b.style, weak, &values, args)?;
                let desired = self.operand(&values[2], indirect, args[2].span)?;
                let failure = volatile(&object, tag::C_A | failure);
                let cas = Cas {
                    addr,
                    object,
                    expected: values[1].clone(),
                    by_value: b.style == Style::Sync,
                    desired,
                    weak,
                    success: tags,
                    failure,
                };
                let (succeeds, found) = self.compare_exchange(&cas, args[1].span)?;
                Ok(if b.found { found } else { succeeds })
            }
            Action::Fence
            | Action::FlagFence
            | Action::Barrier
            | Action::SignalFence
            | Action::LockFree
            | Action::KillDependency
            | Action::Expect
            | Action::Copy
            | Action::Fill => Ok(self.b.void()),
        }
    }

    fn exchange(
        &mut self,
        (addr, object): (&Value, &Type),
        values: &[Value],
        args: &[Expr],
        (tags, indirect): (Tags, bool),
        span: Span,
    ) -> Result<Value> {
        let v = self.operand(&values[1], indirect, args[1].span)?;
        let ty = self.access_type(object, span)?;
        let v = self.convert(&v, &ty)?;
        let old = self.rmw(addr, object, tags, &[&v], span, &mut |_, _| Ok(v.clone()))?;
        if indirect { self.put(&values[2], &old, args[2].span) } else { Ok(old) }
    }

    /// The result of a function that has no atomic object; `None` for the others.
    fn on_no_object(&mut self, action: Action, args: &[Expr], span: Span) -> Result<Option<Value>> {
        Ok(Some(match action {
            Action::LockFree => self.b.constant(ValueType::Bool, 1),
            Action::KillDependency => self.expr(&args[0])?,
            Action::Expect => {
                let value = self.expr(&args[0])?;
                self.expr(&args[1])?;
                self.convert(&value, &LONG)?
            }
            Action::Copy => self.copy(args, span)?,
            Action::Fill => self.fill_bytes(args, span)?,
            _ => return Ok(None),
        }))
    }

    /// Whether a compare-exchange is weak: by its name, or by an argument.
    fn is_weak(&self, style: Style, said: bool, values: &[Value], args: &[Expr]) -> Result<bool> {
        match style {
            Style::C { .. } | Style::Sync => Ok(said),
            _ => match values[3].src {
                Src::Const(c) => Ok(c != 0),
                _ => {
                    let message = "whether it is weak is not known before it runs";
                    Err(self
                        .error(args[3].span, message)
                        .help("expected a constant: 1 for weak, 0 for strong"))
                }
            },
        }
    }

    /// `memcpy` of a whole object to another of its size.
    fn copy(&mut self, args: &[Expr], span: Span) -> Result<Value> {
        let (to, from) = (self.expr(&args[0])?, self.expr(&args[1])?);
        let size = self.expr(&args[2])?;
        let (to, from) = (self.pointed(&to, args[0].span)?, self.pointed(&from, args[1].span)?);
        for (place, arg) in [(&to, &args[0]), (&from, &args[1])] {
            if let Place::Memory { ty, .. } = place
                && ty.is_atomic()
            {
                return Err(self
                    .error(arg.span, "`memcpy` of an atomic object is not supported")
                    .help("load or store it by an atomic operation, and copy a local"));
            }
            let bytes = self.place_type(place, arg.span)?.bits() / 8;
            if !matches!(size.src, Src::Const(n) if n == u128::from(bytes)) {
                return Err(self
                    .error(args[2].span, "`memcpy` of part of an object is not supported")
                    .help(format!("this is an object of {bytes} bytes: say so by a constant")));
            }
        }
        let ty = self.place_type(&to, span)?;
        let mut value = self.read(&from, span)?;
        value.ty = ty;
        self.assign(&to, &value, span)?;
        Ok(self.b.void())
    }

    /// `memset` of a whole object, or of the first elements of an array: each value in it is written by a plain
    /// access.
    fn fill_bytes(&mut self, args: &[Expr], span: Span) -> Result<Value> {
        let to = self.expr(&args[0])?;
        let (byte, size) = (self.expr(&args[1])?, self.expr(&args[2])?);
        let to = self.pointed(&to, args[0].span)?;
        let object = self.place_object(&to);
        let (Src::Const(byte), Src::Const(size)) = (byte.src, size.src) else {
            let message = "`memset` is read where its byte and its size are constants";
            return Err(self.error(span, message).help("assign to the members one by one"));
        };
        let bytes = size_of(&object).unwrap_or(0);
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let most = if matches!(to, Place::Local(_)) { 1 } else { MOST_FILLED };
        let times = size.checked_div(bytes).filter(|n| n * bytes == size && *n <= most);
        let Some(times) = times else {
            return Err(self
                .error(args[2].span, "`memset` of part of an object is not supported")
                .help(format!("this is an object of {bytes} bytes: say so by a constant")));
        };
        for n in 0..times {
            for (place, ty) in self.values_in(&to, &object, n * bytes, span)? {
                let bytes = size_of(ty.bare()).unwrap_or(1);
                let ones = (0..bytes).fold(0u128, |all, _| all << 8 | (byte & 0xff));
                let value = match ValueType::of(&ty) {
                    _ if ty.is_atomic() => None,
                    Some(int @ ValueType::Int { .. }) => Some(self.b.constant(int, ones)),
                    Some(_) if byte & 0xff == 0 => Some(self.b.constant(ValueType::SIZE, 0)),
                    _ => None,
                };
                let Some(value) = value else {
                    return Err(self
                        .error(args[0].span, "`memset` of this object is not supported")
                        .help("what is atomic or, for other bytes than 0, no integer is assigned alone"));
                };
                self.assign(&place, &value, span)?;
                self.b.flush();
            }
        }
        Ok(self.b.void())
    }

    /// An argument that is a value, or a pointer to one.
    fn operand(&mut self, v: &Value, indirect: bool, span: Span) -> Result<Value> {
        if !indirect {
            return Ok(v.clone());
        }
        let place = self.pointed(v, span)?;
        self.read(&place, span)
    }

    /// Stores a result through a pointer.
    fn put(&mut self, to: &Value, v: &Value, span: Span) -> Result<Value> {
        let place = self.pointed(to, span)?;
        self.assign(&place, v, span)?;
        Ok(self.b.void())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one read-modify-write, spelled out"
    )]
    fn fetch(
        &mut self,
        b: &Builtin,
        op: Fetch,
        addr: &Value,
        object: &Type,
        operand: &Value,
        tags: Tags,
        span: Span,
    ) -> Result<Value> {
        if self.access_type(object, span)?.is_float() {
            return Err(self
                .error(span, "C has no `atomic_fetch_` operations on numbers in floating point")
                .help("use a compare-exchange, or a compound assignment such as `*x += 1.0f`"));
        }
        // The compilers' builtins move pointers by bytes.
        let bytes = !matches!(b.style, Style::C { .. });
        let apply = |l: &mut Self, old: &Value| -> Result<Value> {
            let long = ValueType::Int { bytes: 8, signed: true };
            let mut a = old.clone();
            if bytes && matches!(a.ty, ValueType::Pointer(_)) {
                let byte = Type::Int { bytes: 1, signed: true };
                a.ty = match op {
                    Fetch::Op(BinaryOp::Add | BinaryOp::Sub) => ValueType::Pointer(Arc::new(byte)),
                    _ => long,
                };
            }
            let new = match op {
                Fetch::Op(op) => l.binary(op, &a, operand, span)?,
                Fetch::Nand => {
                    let both = l.binary(BinaryOp::And, &a, operand, span)?;
                    let width = both.ty.bits();
                    l.b.un(UnOp::Not, &both, both.ty.clone(), width)?
                }
            };
            l.convert(&new, &old.ty)
        };
        let old = self.rmw(addr, object, tags, &[operand], span, &mut |l, old| apply(l, old))?;
        if b.new { self.wrapping(|l| apply(l, &old)) } else { Ok(old) }
    }

    /// The memory that a fence or a barrier orders.
    fn ordered(&self, flags: &Expr) -> Result<Tags> {
        let Some(memory) = Ordered::flags(flags) else {
            return Err(self
                .error(flags.span, "expected the memory that this orders")
                .help("`CLK_GLOBAL_MEM_FENCE`, `CLK_LOCAL_MEM_FENCE`, or both with `|` between"));
        };
        let of = |said: bool, tags: Tags| if said { tags } else { Tags::NONE };
        Ok(of(memory.global, tag::SEM_CROSSWORKGROUP) | of(memory.local, tag::SEM_WORKGROUP))
    }

    /// An order that the operation cannot have, of which the standard says that it is undefined.
    fn check_order(&self, action: Action, place: usize, order: Tags, e: &Expr) -> Result<()> {
        let (operation, wrong, possible) = match action {
            Action::Store | Action::FlagClear => {
                ("a store", tag::C_CON | tag::C_ACQ | tag::C_ACQ_REL, "relaxed, release or seq_cst")
            }
            Action::Load => {
                ("a load", tag::C_REL | tag::C_ACQ_REL, "relaxed, consume, acquire or seq_cst")
            }
            Action::Cas { .. } if place == 1 => (
                "a compare-exchange that fails",
                tag::C_REL | tag::C_ACQ_REL,
                "relaxed, consume, acquire or seq_cst",
            ),
            _ => return Ok(()),
        };
        if !order.meets(wrong) {
            return Ok(());
        }
        let message = format!("{operation} cannot have this order: its behaviour is undefined");
        Err(self.error(e.span, message).help(format!("it can be {possible}")))
    }

    fn order(&self, e: &Expr) -> Result<Tags> {
        let found = match &e.kind {
            ExprKind::Int(IntLit { value, .. }) => {
                usize::try_from(*value).ok().and_then(|n| ORDERS.get(n))
            }
            ExprKind::Name(n) => {
                let lower = n.strip_prefix("__ATOMIC_").map(str::to_ascii_lowercase);
                let word = n.strip_prefix("memory_order_").or(lower.as_deref());
                word.and_then(|w| ORDERS.iter().find(|(o, _)| *o == w))
            }
            _ => None,
        };
        if let Some((_, tags)) = found {
            return Ok(*tags);
        }
        let diag = self.error(e.span, "expected a memory order");
        let names: Vec<String> = ORDERS.iter().map(|(o, _)| format!("memory_order_{o}")).collect();
        let near = match &e.kind {
            ExprKind::Name(n) => nearest(n, names.iter().map(String::as_str)),
            _ => None,
        };
        Err(match near {
            Some(n) => diag.help(format!("did you mean `{n}`?")),
            None => diag.help(format!("one of {}", names.join(", "))),
        })
    }

    /// A compare-exchange takes one of two ways: a read-modify-write of the expected value, or a
    /// load of another one (a weak one, of any). Gives whether it succeeded, and what it found.
    fn compare_exchange(&mut self, cas: &Cas, span: Span) -> Result<(Value, Value)> {
        let ty = self.access_type(&cas.object, span)?;
        let (width, size) = (ty.bits(), ty.bits() / 8);
        let expected = if cas.by_value { None } else { Some(self.pointed(&cas.expected, span)?) };
        let old_expected = match &expected {
            None => cas.expected.clone(),
            Some(place @ Place::Local(_)) => self.read(place, span)?,
            Some(Place::Memory { addr, ty }) => {
                let tags = volatile(ty, tag::C_NA);
                self.load(addr, ty, tags, span)?
            }
        };
        let compare = self.convert(&old_expected, &ty)?;
        let desired = self.convert(&cas.desired, &ty)?;
        let inst = self.b.access_home(&[&cas.addr, &compare, &desired]);
        let want = self.b.use_in(&compare, inst, Port::None)?;
        let new = self.b.use_in(&desired, inst, Port::Data)?;
        let addr = self.b.use_in(&cas.addr, inst, Port::Addr)?;
        let zero = self.b.constant(ValueType::INT, 0);
        let zero = self.b.use_in(&zero, inst, Port::None)?;
        let chosen = self.b.temp(inst)?;
        let old = self.b.temp(inst)?;
        let ok = self.b.temp(inst)?;
        let equal = |dst| Op::Bin { dst, op: BinOp::Eq, a: old, b: want, width };
        let yes = vec![
            Op::Rmw { dst: old, addr, size, tags: cas.success, body: Vec::new(), new },
            equal(ok),
            Op::Assume { cond: ok },
        ];
        let outer = self.b.start_list(inst);
        self.b.emit(inst, Op::Load { dst: old, addr, size, tags: cas.failure });
        if cas.weak {
            let same = self.b.temp(inst)?;
            self.b.emit(inst, equal(same));
            self.b.emit(inst, Op::Bin { dst: ok, op: BinOp::And, a: same, b: zero, width: 8 });
        } else {
            self.b.emit(inst, equal(ok));
            let differs = self.b.temp(inst)?;
            self.b.emit(inst, Op::Un { dst: differs, op: UnOp::IsZero, a: ok, width: 8 });
            self.b.emit(inst, Op::Assume { cond: differs });
        }
        let found = self.b.result(ty.clone(), inst, old, false);
        if let Some(Place::Local(id)) = expected
            && let Home::Register(reg) = self.vars[id].home
        {
            let found = self.convert(&found, &self.vars[id].value_type.clone())?;
            self.b.write(&found, reg)?;
        }
        let no = self.b.end_list(outer);
        self.b.emit(inst, Op::Choose { dst: chosen });
        self.b.emit(inst, Op::If { cond: chosen, yes, no });
        let mut result = self.b.result(ValueType::Bool, inst, ok, true);
        let found = self.b.result(found.ty, inst, old, true);
        if let Some(Place::Memory { addr, ty }) = &expected {
            let chosen = self.b.result(ValueType::Bool, inst, chosen, true);
            self.update_expected(addr, ty, &found, &chosen, span)?;
            result.after = inst + 2;
        }
        Ok((result, found))
    }

    /// Writes the value found to memory where the compare-exchange failed.
    fn update_expected(
        &mut self,
        addr: &Value,
        object: &Type,
        found: &Value,
        chosen: &Value,
        span: Span,
    ) -> Result<()> {
        let ty = self.access_type(object, span)?;
        let found = self.convert(found, &ty)?;
        let inst = self.b.access_home(&[addr, &found, chosen]);
        let cond = self.b.use_in(chosen, inst, Port::None)?;
        let addr = self.b.use_in(addr, inst, Port::Addr)?;
        let src = self.b.use_in(&found, inst, Port::Data)?;
        let store = Op::Store { addr, src, size: ty.bits() / 8, tags: volatile(object, tag::C_NA) };
        self.b.emit(inst, Op::If { cond, yes: Vec::new(), no: vec![store] });
        Ok(())
    }
}

/// A compare-exchange with its operands evaluated.
struct Cas {
    addr: Value,
    object: Arc<Type>,
    /// The value that it expects, or a pointer to it.
    expected: Value,
    by_value: bool,
    desired: Value,
    weak: bool,
    success: Tags,
    failure: Tags,
}
