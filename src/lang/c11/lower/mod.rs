//! The meaning of C: functions become micro-ops.
//!
//! Every memory access, fence and branch is an instruction of its own, in an order that C
//! allows; accesses that C leaves unsequenced (`*x + *y`) share one. Locals are registers under
//! their own names. It does not know models: whether a program races is theirs to say.
//!
//! Choices where C says nothing, or herd something else:
//! - A division by zero gives 0, a remainder by zero the dividend, signed overflow wraps around,
//!   and a shift by the width or more gives 0 (or the sign). The code also says that the behaviour
//!   is undefined then ([`Op::Undefined`](litmake_ops::Op::Undefined)), but for atomic operations,
//!   which wrap around in C, and for the kernel, which is compiled so that all does.
//! - A plain access to an atomic object is seq_cst, as in C, unless [`Options`] say that it is
//!   non-atomic, as in herd. Compound assignments and `++` on atomic objects, which herd does
//!   not have, are always seq_cst read-modify-writes.
//! - Floating point has no state: what is rounded goes to the nearest, and exceptions are not seen.
//!   A number out of an integer's range becomes the nearest integer.
//! - `memcpy` of one object to another of its size is a read and a write of the whole.
//! - `atomic_init` is a non-atomic write. The `expected` argument of a compare-exchange that
//!   points to memory is read and, on failure, written by non-atomic accesses.
//! - Calls of helper functions are taken in left to right.
//! - `&&`, `||` and `?:` branch only where what they may leave out has an effect.

use std::cell::{Cell, OnceCell};

mod atomic;
mod build;
mod expr;
mod kernel;

pub(super) use atomic::{Gives, gives, is_builtin};
pub(crate) use expr::literal_type;
pub use kernel::Dialect;

use super::untyped;
use build::{Builder, LabelId, Value};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_litmus::Symbols;
use litmake_litmus::c::ast::{Declarator, Expr, ExprKind, Function, Stmt, StmtKind, UnaryOp};
use litmake_litmus::c::structs::Struct;
use litmake_litmus::c::types::{ValueType, erase};
use litmake_ops::{Code, Reg, UnOp, Val, tag};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The meaning of a plain access (`*x`, `*x = 1`) to an object of atomic type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainAtomic {
    /// C's reading: it is seq_cst.
    #[default]
    SeqCst,
    /// Herd's reading: it is non-atomic, whatever the type.
    NonAtomic,
}

/// How a test is read where readers differ.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The meaning of a plain access to an object of atomic type.
    pub plain_atomic: PlainAtomic,
    /// Set if there is such an access.
    pub met: Option<&'a Cell<bool>>,
    /// The shared locations that functions name directly, with their types.
    pub variables: &'a [(String, litmake_litmus::Type)],
}

/// The most helper functions that are inlined one inside another.
const MAX_CALL_DEPTH: usize = 8;
/// How many times a function that calls itself is inlined, one inside another.
pub const MAX_RECURSION: usize = 5;
/// The most calls that are inlined into one thread.
const MAX_CALLS: usize = 1000;

/// The code of one thread, with the helper functions that it calls inlined.
pub fn thread<'a>(
    source: &'a Source,
    f: &'a Function,
    helpers: &'a [Function],
    symbols: &mut dyn Symbols,
    options: Options<'a>,
) -> Result<Code> {
    lower(source, f, helpers, symbols, options, None)
}

/// The code of a thread under a model that adds to C.
pub fn thread_in(
    source: &Source,
    f: &Function,
    helpers: &[Function],
    symbols: &mut dyn Symbols,
    options: Options,
    dialect: &Dialect,
) -> Result<Code> {
    let meant = |f: &Function| -> Result<Function> {
        let f = dialect.macros.expand(source, f, helpers)?;
        if !dialect.kernel {
            return Ok(f);
        }
        untyped::function(f).map_err(|span| {
            Diag::at(source, span, "there is no floating point in the kernel's C")
                .help("every object of these tests is an `int`, as herd reads them")
        })
    };
    let f = meant(f)?;
    let helpers: Vec<Function> = helpers.iter().map(meant).collect::<Result<_>>()?;
    lower(source, &f, &helpers, symbols, options, Some(dialect))
}

/// The type that an object has under such a model.
pub fn object_in(dialect: &Dialect, ty: &litmake_litmus::Type) -> litmake_litmus::Type {
    if dialect.kernel { untyped::object(ty) } else { ty.clone() }
}

fn lower<'a>(
    source: &'a Source,
    f: &'a Function,
    helpers: &'a [Function],
    symbols: &mut dyn Symbols,
    options: Options<'a>,
    dialect: Option<&'a Dialect>,
) -> Result<Code> {
    let mut l = Lower {
        source,
        helpers,
        options,
        dialect,
        depth: 0,
        b: Builder::new(source),
        vars: Vec::with_capacity(f.params.len() + f.body.len()),
        scopes: vec![HashMap::with_capacity_and_hasher(
            f.params.len() + f.body.len(),
            Default::default(),
        )],
        frames: Vec::with_capacity(1),
        calls: 0,
        wraps: dialect.is_some_and(|d| d.kernel),
        guards: Vec::new(),
        own: Vec::new(),
        variables: HashMap::default(),
    };
    let end = l.b.label();
    l.frames.push(Frame::new(f, end, None));
    for p in &f.params {
        let id = l.declare(&p.name, &p.ty, p.span)?;
        if let ValueType::Pointer(pointee) = &l.vars[id].value_type {
            let loc = symbols.declare(&p.name, &erase(pointee));
            if let Home::Register(reg) = l.vars[id].home {
                l.b.code.reg_init.push((reg, Val::Ptr { loc, off: 0 }));
            }
            if p.local {
                l.b.code.locations.push((loc, tag::WORKGROUP));
            }
        }
    }
    for (name, ty) in options.variables {
        let reg = l.declare_variable(name, ty);
        let loc = symbols.declare(name, &erase(ty));
        l.b.code.reg_init.push((reg, Val::Ptr { loc, off: 0 }));
    }
    l.body(f)?;
    for (name, ty, reg) in std::mem::take(&mut l.own) {
        let loc = symbols.own(&name, &ty);
        l.b.code.reg_init.push((reg, Val::Ptr { loc, off: 0 }));
    }
    l.b.place(end);
    Ok(l.b.finish())
}

/// A local variable or parameter.
struct Var {
    value_type: ValueType,
    home: Home,
    /// Nothing but its declaration writes it, so that reading it late is reading it.
    stable: bool,
    /// Its type, where it is a structure or in memory.
    structure: Option<litmake_litmus::Type>,
}

#[derive(Clone, Copy)]
enum Home {
    Register(Reg),
    /// The variable always holds the address of this other local variable.
    AddressOf(usize),
    /// A structure; its members are the variables from this one on.
    Values(usize),
    /// A shared location, at the address in this register.
    Memory(Reg),
}

/// A function that is being inlined.
struct Frame<'a> {
    function: &'a Function,
    end: LabelId,
    /// Where a result goes, and its type.
    result: Option<(Reg, ValueType)>,
    labels: HashMap<String, (LabelId, Option<Span>, bool)>,
    /// Targets of `break` and `continue`, innermost last.
    loops: Vec<(LabelId, LabelId)>,
    /// Variables that something other than their declaration writes.
    written: HashSet<&'a str>,
    /// Variables of the function's own block, once somebody asks.
    outermost: OnceCell<HashSet<&'a str>>,
}

impl<'a> Frame<'a> {
    fn new(f: &'a Function, end: LabelId, result: Option<(Reg, ValueType)>) -> Frame<'a> {
        let mut written = HashSet::default();
        f.each_expr(&mut |e| {
            e.any(&mut |e| {
                let target = match &e.kind {
                    ExprKind::Assign(_, t, _)
                    | ExprKind::Step { target: t, .. }
                    | ExprKind::Unary(UnaryOp::Addr, t) => t,
                    _ => return false,
                };
                if let ExprKind::Name(n) = &target.kind {
                    written.insert(n.as_str());
                }
                false
            });
        });
        Frame {
            function: f,
            end,
            result,
            labels: HashMap::default(),
            loops: Vec::new(),
            written,
            outermost: OnceCell::new(),
        }
    }

    fn outermost(&self) -> &HashSet<&'a str> {
        self.outermost.get_or_init(|| {
            let mut all: HashSet<&str> =
                self.function.params.iter().map(|p| p.name.as_str()).collect();
            self.function.each_declarator(&mut |d, depth| {
                if depth == 0 {
                    all.insert(d.name.as_str());
                }
            });
            all
        })
    }
}

struct Lower<'a> {
    source: &'a Source,
    helpers: &'a [Function],
    options: Options<'a>,
    /// The additions of the model to C.
    dialect: Option<&'a Dialect>,
    /// The number of statements around that the code depends on by control.
    depth: u16,
    b: Builder<'a>,
    vars: Vec<Var>,
    /// Names in sight, innermost last.
    scopes: Vec<HashMap<&'a str, usize>>,
    frames: Vec<Frame<'a>>,
    calls: usize,
    /// Whether arithmetic wraps around by definition.
    wraps: bool,
    /// The conditions under which the value that is being computed is used, each with the truth that it
    /// must have.
    guards: Vec<(Value, bool)>,
    /// Arrays that are local variables: names, types, and the registers of their addresses.
    own: Vec<(String, litmake_litmus::Type, Reg)>,
    /// The variables that all functions see, by name.
    variables: HashMap<&'a str, usize>,
}

impl<'a> Lower<'a> {
    #[cold]
    fn error(&self, span: Span, message: impl Into<String>) -> Box<Diag> {
        Diag::at(self.source, span, message)
    }

    fn is_kernel(&self) -> bool {
        self.dialect.is_some_and(|d| d.kernel)
    }

    fn frame(&mut self) -> &mut Frame<'a> {
        // There is one from the start to the end of lowering.
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    // Names.

    fn lookup(&self, name: &str) -> Option<usize> {
        let local = self.scopes.iter().rev().find_map(|s| s.get(name));
        local.or_else(|| self.variables.get(name)).copied()
    }

    fn variable(&self, name: &str, span: Span) -> Result<usize> {
        self.lookup(name).ok_or_else(|| {
            let diag = self.error(span, format!("`{name}` is not declared here"));
            let known = self.scopes.iter().flat_map(|s| s.keys()).copied();
            let mut known: Vec<&str> = known.collect();
            known.sort_unstable();
            match nearest(name, known) {
                // Between names of one letter, all are near.
                Some(n) if name.len() > 1 => diag.help(format!("did you mean `{n}`?")),
                _ => diag.help(
                    "shared locations are parameters of the function, as `int* x`, or variables that no \
                     function declares: `static int x;`",
                ),
            }
        })
    }

    fn declare(&mut self, name: &'a str, ty: &litmake_litmus::Type, span: Span) -> Result<usize> {
        if self.scopes.last().is_some_and(|s| s.contains_key(name)) {
            return Err(self
                .error(span, format!("`{name}` is declared twice in one block"))
                .help("rename one of them"));
        }
        if let litmake_litmus::Type::Struct(s) = ty.bare() {
            return self.declare_structure(name, ty, s, span);
        }
        if let litmake_litmus::Type::Array(element, _) = ty.bare()
            && let Some(ValueType::Int { .. } | ValueType::Pointer(_)) = ValueType::of(element)
        {
            return Ok(self.declare_array(name, ty, element));
        }
        let value_type = match ValueType::of(ty) {
            Some(ValueType::Void) | None => None,
            Some(_) if matches!(ty.bare(), litmake_litmus::Type::Array(..)) => None,
            t => t,
        };
        let Some(value_type) = value_type else {
            let ty = litmake_litmus::c::print_type(ty);
            return Err(self
                .error(span, format!("variables of type `{ty}` are not supported"))
                .help(
                    "locals are integers, `float`, `double`, pointers, and arrays of integers and pointers",
                ));
        };
        let (bits, signed) = (value_type.bits(), value_type.signed());
        let reg_name = self.register_name(name, bits, signed);
        let reg = self.b.code.reg(&reg_name, bits, signed);
        let stable = !self.frame().written.contains(name);
        Ok(self.bind(name, Var { value_type, home: Home::Register(reg), stable, structure: None }))
    }

    /// A shared location that functions name; gives the register of its address.
    fn declare_variable(&mut self, name: &'a str, ty: &litmake_litmus::Type) -> Reg {
        let value_type = ValueType::Pointer(std::sync::Arc::new(ty.clone()));
        let register = format!("&{name}");
        let reg = self.b.code.reg(&register, value_type.bits(), value_type.signed());
        let home = Home::Memory(reg);
        self.vars.push(Var { value_type, home, stable: true, structure: Some(ty.clone()) });
        self.variables.insert(name, self.vars.len() - 1);
        reg
    }

    /// A structure that is a local variable: each of its values is in a register.
    fn declare_structure(
        &mut self,
        name: &'a str,
        ty: &litmake_litmus::Type,
        of: &Struct,
        span: Span,
    ) -> Result<usize> {
        if of.is_union || of.any(&|ty| ty.is_atomic()) {
            let message = format!("a local of type `{}` is not supported", of.name());
            return Err(self.error(span, message).help(
                "locals may be structures of plain members; keep unions and atomics in shared memory",
            ));
        }
        let first = self.vars.len();
        for (_, ty, path) in of.values() {
            let Some(value_type) = ValueType::of(&ty) else { continue };
            let (bits, signed) = (value_type.bits(), value_type.signed());
            let register = format!("{name}.{path}#{}", self.b.code.regs.len());
            let home = Home::Register(self.b.code.reg(&register, bits, signed));
            self.vars.push(Var { value_type, home, stable: false, structure: None });
        }
        let (home, structure) = (Home::Values(first), Some(ty.clone()));
        Ok(self.bind(name, Var { value_type: ValueType::Void, home, stable: false, structure }))
    }

    /// An array that is a local variable: a location of the thread's own, and a pointer to it.
    fn declare_array(
        &mut self,
        name: &'a str,
        ty: &litmake_litmus::Type,
        element: &std::sync::Arc<litmake_litmus::Type>,
    ) -> usize {
        let value_type = ValueType::Pointer(element.clone());
        let own = format!("{name}#{}", self.b.code.regs.len());
        let reg = self.b.code.reg(&own, value_type.bits(), value_type.signed());
        self.own.push((own, ty.clone(), reg));
        self.bind(
            name,
            Var { value_type, home: Home::Register(reg), stable: true, structure: None },
        )
    }

    /// Stores what an array starts with: the elements of the list, then zeros.
    fn fill(&mut self, d: &'a Declarator, length: u64) -> Result<()> {
        let Some(Expr { kind: ExprKind::List(all), .. }) = &d.init else { return Ok(()) };
        if all.len() as u64 > length {
            return Err(self.error(d.span, format!("`{}` has {length} elements", d.name)));
        }
        let zero = Expr::int(0);
        for k in 0..length {
            let value = all.get(k as usize).unwrap_or(&zero);
            let index = Box::new(Expr::int(u128::from(k)));
            let element = ExprKind::Index(Box::new(Expr::name(&d.name)), index);
            let place = self.place(&Expr::new(element, d.span))?;
            let value = self.expr(value)?;
            self.assign(&place, &value, d.span)?;
            self.b.flush();
        }
        Ok(())
    }

    fn bind(&mut self, name: &'a str, var: Var) -> usize {
        self.vars.push(var);
        let id = self.vars.len() - 1;
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, id);
        }
        id
    }

    /// The register of a new variable. In a thread, one of the function's own block has the
    /// plain name; without such a one, all variables of that name that do not shadow one another
    /// share it. The others, and the variables of helpers, have names that no test can observe.
    fn register_name(&self, name: &str, bits: u8, signed: bool) -> String {
        let regs = &self.b.code.regs;
        let thread = self.frames.len() == 1;
        let own = self.scopes.len() == 1;
        let shared = || {
            let outermost = self.frames.last().is_some_and(|f| f.outermost().contains(name));
            let same = |r: &litmake_ops::RegInfo| r.bits == bits && r.signed == signed;
            let old = regs.iter().find(|r| r.name == name);
            !outermost && self.lookup(name).is_none() && old.is_none_or(same)
        };
        match thread && (own || shared()) {
            true => name.to_string(),
            false => format!("{name}#{}", regs.len()),
        }
    }

    // Statements.

    fn body(&mut self, f: &'a Function) -> Result<()> {
        for s in &f.body {
            self.statement(s)?;
        }
        let source = self.source;
        let labels = self.frame().labels.iter();
        let missing = labels.filter_map(|(name, (_, goto, placed))| match placed {
            true => None,
            false => goto.map(|span| (span, name)),
        });
        match missing.min_by_key(|(span, _)| span.start) {
            Some((span, name)) => {
                let message = format!("there is no label `{name}` in this function");
                Err(Diag::at(source, span, message))
            }
            None => Ok(()),
        }
    }

    fn scoped(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.scopes.push(HashMap::default());
        let out = f(self);
        self.scopes.pop();
        out
    }

    /// A statement. In kernel-style tests, as in herd, what comes after one does not depend on
    /// what it branches on.
    fn statement(&mut self, s: &'a Stmt) -> Result<()> {
        use StmtKind::{DoWhile, For, If, While};
        let branches = matches!(s.kind, If { .. } | While { .. } | DoWhile { .. } | For { .. });
        if !(branches && self.is_kernel()) {
            return self.statement_here(s);
        }
        let depth = self.depth;
        self.b.control(depth, true)?;
        self.depth += 1;
        let out = self.statement_here(s);
        self.depth = depth;
        out?;
        self.b.control(depth, false)
    }

    fn statement_here(&mut self, s: &'a Stmt) -> Result<()> {
        self.b.flush();
        self.b.at(s.span);
        match &s.kind {
            StmtKind::Empty => {}
            StmtKind::Decl(list) => {
                for d in list {
                    self.declarator(d)?;
                }
            }
            StmtKind::Expr(e) => {
                self.expr(e)?;
            }
            StmtKind::Block(list) => {
                self.scoped(|l| list.iter().try_for_each(|s| l.statement(s)))?;
            }
            StmtKind::If { cond, yes, no } => {
                let (other, end) = (self.b.label(), self.b.label());
                self.jump_if(cond, other, false)?;
                self.scoped(|l| l.statement(yes))?;
                match no {
                    Some(no) => {
                        self.b.jump(end)?;
                        self.b.place(other);
                        self.scoped(|l| l.statement(no))?;
                    }
                    None => self.b.place(other),
                }
                self.b.place(end);
            }
            StmtKind::While { cond, body } => {
                let (again, end) = (self.b.label(), self.b.label());
                self.b.place(again);
                self.jump_if(cond, end, false)?;
                self.loop_body(body, end, again)?;
                self.b.jump(again)?;
                self.b.place(end);
            }
            StmtKind::DoWhile { body, cond } => {
                let (again, test, end) = (self.b.label(), self.b.label(), self.b.label());
                self.b.place(again);
                self.loop_body(body, end, test)?;
                self.b.place(test);
                self.jump_if(cond, again, true)?;
                self.b.place(end);
            }
            StmtKind::For { init, cond, step, body } => self.scoped(|l| {
                let (again, next, end) = (l.b.label(), l.b.label(), l.b.label());
                l.statement(init)?;
                l.b.place(again);
                if let Some(cond) = cond {
                    l.jump_if(cond, end, false)?;
                }
                l.loop_body(body, end, next)?;
                l.b.place(next);
                if let Some(step) = step {
                    l.b.at(step.span);
                    l.expr(step)?;
                }
                l.b.jump(again)?;
                l.b.place(end);
                Ok(())
            })?,
            StmtKind::Break | StmtKind::Continue => {
                let Some(&(end, next)) = self.frame().loops.last() else {
                    return Err(self
                        .error(s.span, "there is no loop around this")
                        .help("`break` and `continue` belong into a loop"));
                };
                let target = if s.kind == StmtKind::Break { end } else { next };
                self.b.jump(target)?;
            }
            StmtKind::Return(value) => self.return_(value.as_ref(), s.span)?,
            StmtKind::Goto(name) => {
                let label = self.label(name, Some(s.span), false)?;
                self.b.jump(label)?;
            }
            StmtKind::Label(name, target) => {
                let label = self.label(name, None, true);
                let label = label.map_err(|d| d.or_at(self.source, s.span))?;
                self.b.place(label);
                self.statement(target)?;
            }
        }
        self.b.flush();
        Ok(())
    }

    fn loop_body(&mut self, body: &'a Stmt, end: LabelId, next: LabelId) -> Result<()> {
        self.frame().loops.push((end, next));
        let out = self.scoped(|l| l.statement(body));
        self.frame().loops.pop();
        out
    }

    fn label(&mut self, name: &str, goto: Option<Span>, placed: bool) -> Result<LabelId> {
        if !self.frame().labels.contains_key(name) {
            let label = self.b.label();
            self.frame().labels.insert(name.to_string(), (label, goto, placed));
            return Ok(label);
        }
        let entry = self.frame().labels.get_mut(name);
        let Some((label, first, old)) = entry else {
            return Err(Diag::new("a label vanished"));
        };
        if *old && placed {
            return Err(Diag::new(format!("label `{name}` is placed twice")));
        }
        *old |= placed;
        *first = first.or(goto);
        Ok(*label)
    }

    fn declarator(&mut self, d: &'a Declarator) -> Result<()> {
        // A pointer that always holds the address of one local is that address.
        if let Some(init) = &d.init
            && let ExprKind::Unary(UnaryOp::Addr, target) = &init.kind
            && let ExprKind::Name(_) = &target.kind
            && let Some(value_type @ ValueType::Pointer(_)) = ValueType::of(&d.ty)
            && !self.frame().written.contains(d.name.as_str())
        {
            let value = self.expr(init)?;
            if let build::Src::Local(id) = value.src {
                self.bind(
                    &d.name,
                    Var { value_type, home: Home::AddressOf(id), stable: true, structure: None },
                );
                return Ok(());
            }
        }
        // The name is in sight in its own initialiser, as in C.
        let id = self.declare(&d.name, &d.ty, d.span)?;
        if let litmake_litmus::Type::Array(_, length) = d.ty.bare() {
            self.fill(d, *length)?;
        } else if let (Some(init), Home::Values(first)) = (&d.init, self.vars[id].home) {
            match &init.kind {
                ExprKind::List(all) => {
                    for (n, value) in all.iter().enumerate() {
                        let value = self.expr(value)?;
                        self.assign(&expr::Place::Local(first + n), &value, d.span)?;
                        self.b.flush();
                    }
                }
                _ => self.copy_structure(&expr::Place::Local(id), init, d.span)?,
            }
        } else if let Some(init) = &d.init {
            let value = self.expr(init)?;
            let value = self.convert(&value, &self.vars[id].value_type.clone())?;
            if let Home::Register(reg) = self.vars[id].home {
                self.b.write(&value, reg)?;
            }
        }
        self.b.flush();
        Ok(())
    }

    fn return_(&mut self, value: Option<&Expr>, span: Span) -> Result<()> {
        let result = self.frame().result.clone();
        if let Some(e) = value {
            let value = self.expr(e)?;
            if let Some((reg, ty)) = &result {
                let value = self.convert(&value, ty)?;
                self.b.write(&value, *reg)?;
            }
        } else if result.is_some() {
            let name = &self.frame().function.name;
            return Err(self
                .error(span, format!("`{name}` returns a value"))
                .help("write `return value;`"));
        }
        let end = self.frame().end;
        self.b.jump(end)
    }

    /// Goes to the label where the truth of a condition is `when`.
    fn jump_if(&mut self, cond: &Expr, label: LabelId, when: bool) -> Result<()> {
        use litmake_litmus::c::ast::BinaryOp::{LogicalAnd, LogicalOr};
        match &cond.kind {
            ExprKind::Unary(UnaryOp::LogicalNot, a) => return self.jump_if(a, label, !when),
            ExprKind::Binary(op @ (LogicalAnd | LogicalOr), a, b) if !self.is_pure(b) => {
                // The value of the left side that decides.
                let decides = *op == LogicalOr;
                if decides == when {
                    self.jump_if(a, label, when)?;
                    return self.jump_if(b, label, when);
                }
                let past = self.b.label();
                self.jump_if(a, past, decides)?;
                self.jump_if(b, label, when)?;
                self.b.place(past);
                return Ok(());
            }
            _ => {}
        }
        let value = self.expr(cond)?;
        let value = self.decided(value)?;
        self.jump_on(&value, label, when)
    }

    /// Whether an expression only computes with locals and constants: variables are in memory.
    fn is_pure(&self, e: &Expr) -> bool {
        is_pure(e)
            && !e.any(&mut |e| {
                let ExprKind::Name(n) = &e.kind else { return false };
                self.variables.get(n.as_str()).is_some_and(|id| self.lookup(n) == Some(*id))
            })
    }

    fn jump_on(&mut self, value: &Value, label: LabelId, when: bool) -> Result<()> {
        if let build::Src::Const(c) = value.src {
            self.b.flush();
            return if (c != 0) == when { self.b.jump(label) } else { Ok(()) };
        }
        let width = value.ty.bits();
        let cond = match when {
            true => value.clone(),
            false => self.b.un(UnOp::IsZero, value, ValueType::INT, width)?,
        };
        self.b.branch(&cond, label)
    }

    // Helper functions.

    fn helper(&self, name: &str) -> Option<&Function> {
        self.helpers.iter().find(|f| f.name == name)
    }

    /// Inlines the body of a helper function.
    fn inline(&mut self, name: &str, args: &[Expr], span: Span) -> Result<Value> {
        let helpers = self.helpers;
        let Some(f) = helpers.iter().find(|f| f.name == name) else {
            return Err(self.error(span, format!("unknown function `{name}`")));
        };
        let active = self.frames.iter().filter(|fr| fr.function.name == f.name).count();
        if active >= MAX_RECURSION || active > 0 && self.frames.len() > MAX_CALL_DEPTH {
            return self.too_deep(f);
        }
        self.calls += 1;
        if self.frames.len() > MAX_CALL_DEPTH || self.calls > MAX_CALLS {
            return Err(self.error(span, "too many calls of helper functions").help(format!(
                "at most {MAX_CALLS} calls, {MAX_CALL_DEPTH} inside one another, are taken in"
            )));
        }
        if args.len() != f.params.len() {
            let (want, got) = (f.params.len(), args.len());
            let s = if want == 1 { "" } else { "s" };
            let message = format!("`{name}` takes {want} argument{s}, found {got}");
            return Err(self.error(span, message));
        }
        let mut values = Vec::new();
        for a in args {
            values.push(self.expr(a)?);
        }
        self.b.flush();
        let result = match ValueType::of(&f.ret) {
            Some(ValueType::Void) => None,
            Some(ty) => Some((self.b.scratch(ty.bits()), ty)),
            None => {
                let ty = litmake_litmus::c::print_type(&f.ret);
                let message = format!("results of type `{ty}` are not supported");
                return Err(self.error(f.span, message));
            }
        };
        if result.is_some() && !f.always_returns() {
            let message = format!("`{name}` can reach its end without returning a value");
            return Err(self.error(f.span, message).help(
                "a caller that uses the value then has undefined behaviour: write a `return`",
            ));
        }
        let end = self.b.label();
        let outer = std::mem::replace(&mut self.scopes, vec![HashMap::default()]);
        self.frames.push(Frame::new(f, end, result.clone()));
        for (p, value) in f.params.iter().zip(&values) {
            self.bind_argument(p, value)?;
        }
        self.b.flush();
        self.body(f)?;
        self.b.place(end);
        self.frames.pop();
        self.scopes = outer;
        Ok(match result {
            Some((reg, ty)) => self.b.register(ty, reg),
            None => self.b.void(),
        })
    }

    /// Cuts recursion like a loop: an endless loop stands in place of the call.
    fn too_deep(&mut self, f: &Function) -> Result<Value> {
        self.b.flush();
        let forever = self.b.label();
        self.b.place(forever);
        self.b.jump(forever)?;
        Ok(match ValueType::of(&f.ret) {
            Some(ty) if ty != ValueType::Void => {
                let result = self.b.scratch(ty.bits());
                self.b.register(ty, result)
            }
            _ => self.b.void(),
        })
    }

    fn bind_argument(&mut self, p: &'a litmake_litmus::c::ast::Param, value: &Value) -> Result<()> {
        if let (build::Src::Local(id), Some(value_type @ ValueType::Pointer(_))) =
            (&value.src, ValueType::of(&p.ty))
            && !self.frame().written.contains(p.name.as_str())
        {
            let home = Home::AddressOf(*id);
            self.bind(&p.name, Var { value_type, home, stable: true, structure: None });
            return Ok(());
        }
        let id = self.declare(&p.name, &p.ty, p.span)?;
        let value = self.convert(value, &self.vars[id].value_type.clone())?;
        if let Home::Register(reg) = self.vars[id].home {
            self.b.write(&value, reg)?;
        }
        Ok(())
    }
}

/// Whether an expression only computes with locals and constants.
pub(super) fn is_pure(e: &Expr) -> bool {
    !e.any(&mut |e| {
        matches!(
            e.kind,
            ExprKind::Assign(..)
                | ExprKind::Step { .. }
                | ExprKind::Call(..)
                | ExprKind::Index(..)
                | ExprKind::Member { .. }
                | ExprKind::Unary(UnaryOp::Deref, _)
        )
    })
}
