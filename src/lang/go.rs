//! Emission as Go: `sync/atomic`, pointers, and functions that are neither inlined nor check their stack.
//!
//! The meaning is that of `c11::lower`. Go has one order, in which all atomic operations stand, and no fences.
//! An operation that Go lacks is refused by name: weaker orders, fences, atomics of 8, 16 and 128 bits, volatile objects,
//! jumps, and a compare-exchange that says what it found.

use std::collections::HashMap;
use std::fmt::Write;

use super::c11::emit::{EmitOptions, Storage, local_type};
use super::c11::lower::literal_type;
use super::written::{Lvalue, Page, Value, value};
use litmake_base::failure::Failure;
use litmake_litmus::c::ast::{
    BinaryOp, Declarator, Expr, ExprKind, Function, Stmt, StmtKind, UnaryOp,
};
use litmake_litmus::c::types::{ValueType, size_of};
use litmake_litmus::{Body, Test, Type};

/// The beginning of every file.
pub const HEADER: &str = "package main\n\nimport \"sync/atomic\"\n\nvar _ = atomic.LoadInt32\n\n\
                          func number(b bool) int32 {\n  if b {\n    return 1\n  }\n  return 0\n}\n\n";

/// The package of the tests, as symbols in programs have it.
pub const PACKAGE: &str = "main.";

/// The failure for an operation that Go does not have.
fn lacks<T>(what: &str) -> Result<T, Failure> {
    Err(Failure::inexpressible("Go", what))
}

/// The failure for an operation that is not translated, though Go may have it.
fn refuse<T>(what: &str) -> Result<T, Failure> {
    Err(Failure::unsupported(format!("{what} in Go")))
}

/// A test without the header.
pub fn emit(test: &Test, options: &EmitOptions) -> Result<String, Failure> {
    if options.storage != Storage::Params {
        return refuse("locations that are variables");
    }
    let helpers: HashMap<&str, &Function> =
        test.helpers.iter().map(|h| (h.name.as_str(), h)).collect();
    let threads = test.threads.iter().filter_map(Body::function);
    let mut out = String::new();
    let functions = test.helpers.iter().map(|f| (f, true)).chain(threads.map(|f| (f, false)));
    for (f, helper) in functions {
        let writer = Writer {
            options,
            helpers: &helpers,
            function: f,
            hoisted: Vec::new(),
            ends: Vec::new(),
            ret: if helper {
                ValueType::of(&f.ret).unwrap_or(ValueType::Void)
            } else {
                ValueType::Void
            },
            loops: 0,
            page: Page::new(),
        };
        out.push_str(&writer.write(helper)?);
    }
    Ok(out)
}

/// The end of a file: what runs the threads. A linker drops functions that nobody names.
pub fn main(threads: &[(usize, String)]) -> String {
    let mut out = String::from("//go:noinline\nfunc keep(any) {}\n\nfunc main() {\n");
    for (_, function) in threads {
        let _ = writeln!(out, "  keep({function})");
    }
    out + "}\n"
}

/// An object in memory, as Go types it.
fn object(ty: &Type) -> Result<String, Failure> {
    if ty.is_volatile() {
        return lacks("volatile objects");
    }
    Ok(match ty.bare() {
        Type::Int { bytes: bytes @ (1 | 2), .. } if ty.is_atomic() => {
            return lacks(&format!("atomic operations of {} bits", u32::from(*bytes) * 8));
        }
        Type::Int { bytes: 16, .. } => return lacks("integers of 128 bits"),
        Type::Int { bytes, signed } => int(*bytes, *signed),
        Type::Pointer(_) if ty.is_atomic() => return refuse("atomic pointers"),
        Type::Pointer(t) => format!("*{}", object(t)?),
        Type::Float { .. } => return refuse("numbers in floating point"),
        Type::Array(..) => return refuse("arrays"),
        Type::Struct(_) => return refuse("structures"),
        _ => return refuse("this type"),
    })
}

fn int(bytes: u8, signed: bool) -> String {
    format!("{}int{}", if signed { "" } else { "u" }, u32::from(bytes) * 8)
}

/// A value, as Go types it.
fn typed(ty: &ValueType) -> Result<String, Failure> {
    Ok(match ty {
        ValueType::Int { bytes: 16, .. } => return lacks("integers of 128 bits"),
        ValueType::Int { bytes, signed } => int(*bytes, *signed),
        ValueType::Bool => "uint8".to_string(),
        ValueType::Float { .. } => return refuse("numbers in floating point"),
        ValueType::Pointer(t) => format!("*{}", object(t)?),
        ValueType::Void => return refuse("a value of type `void`"),
    })
}

fn value_type(ty: &Type, what: &str) -> Result<ValueType, Failure> {
    match ty.bare() {
        Type::Array(..) => refuse(what),
        _ => ValueType::of(ty).map_or_else(|| refuse(what), Ok),
    }
}

/// A `bool` as C has it.
fn truth(text: String) -> Value {
    Value { text: format!("number({text})"), ty: ValueType::INT, truth: Some(text) }
}

struct Writer<'a> {
    options: &'a EmitOptions,
    helpers: &'a HashMap<&'a str, &'a Function>,
    function: &'a Function,
    /// Locals that are declared where the function begins.
    hoisted: Vec<String>,
    /// The statements with which the function ends, wherever it returns.
    ends: Vec<String>,
    ret: ValueType,
    /// The number of loops around the statement.
    loops: usize,
    page: Page,
}

impl Writer<'_> {
    fn write(mut self, helper: bool) -> Result<String, Failure> {
        let f = self.function;
        if let Some(word) = f.told.attributes.first() {
            return lacks(&format!("functions with the attribute `{word}`"));
        }
        let mut params = Vec::new();
        for p in &f.params {
            if p.ty.is_restrict() {
                return lacks("pointers with `restrict`");
            }
            let ty = value_type(&p.ty, "a parameter of this type")?;
            params.push(format!("{} {}", p.name, typed(&ty)?));
            self.page.declare(&p.name, ty);
        }
        let none = Vec::new();
        let observed = match helper {
            true => &none,
            false => self.options.observe.get(&f.name).unwrap_or(&none),
        };
        let mut start = Vec::new();
        for local in observed {
            let Some(ty) = local_type(f, local) else { continue };
            let ty = value_type(ty, "a local of this type")?;
            let out = format!("out_{}_{local}", f.name);
            params.push(format!("{out} *{}", typed(&ty)?));
            start.push(format!("var {local} {}", typed(&ty)?));
            self.ends.push(format!("*{out} = {local}"));
            self.page.declare(local, ty);
            self.hoisted.push(local.clone());
        }
        let ret = match self.ret {
            ValueType::Void => String::new(),
            _ => format!("{} ", typed(&self.ret)?),
        };
        let name = self.options.function_name(&f.name);
        self.page.text =
            format!("//go:noinline\n//go:nosplit\nfunc {name}({}) {ret}{{\n", params.join(", "));
        for line in start {
            self.page.line(&line);
        }
        for s in &f.body {
            self.statement(s)?;
        }
        for line in &self.ends {
            self.page.line(line);
        }
        if self.ret != ValueType::Void {
            // Where every path returns, this is never reached.
            let end = format!("return {}", zero(&self.ret));
            self.page.line(&end);
        }
        self.page.text.push_str("}\n\n");
        Ok(self.page.text)
    }

    // Statements.

    fn block(&mut self, head: &str, list: &[Stmt]) -> Result<(), Failure> {
        self.page.open(&format!("{head}{{"));
        for s in list {
            self.statement(s)?;
        }
        self.page.close();
        Ok(())
    }

    fn statement(&mut self, s: &Stmt) -> Result<(), Failure> {
        match &s.kind {
            StmtKind::Decl(list) => {
                for d in list {
                    self.declarator(d)?;
                }
            }
            StmtKind::Expr(e) => {
                let text = self.effect(e)?;
                self.page.line(&text);
            }
            StmtKind::If { cond, yes, no } => {
                let cond = self.condition(cond)?;
                self.block(&format!("if {cond} "), std::slice::from_ref(yes))?;
                if let Some(no) = no {
                    // `else` stands behind the brace.
                    self.page.text.truncate(self.page.text.trim_end().len());
                    self.page.text.push_str(" else {\n");
                    self.page.enter();
                    self.statement(no)?;
                    self.page.close();
                }
            }
            StmtKind::While { cond, body } => {
                self.loops += 1;
                let cond = self.condition(cond)?;
                self.block(&format!("for {cond} "), std::slice::from_ref(body))?;
                self.loops -= 1;
            }
            StmtKind::DoWhile { body, cond } => {
                self.loops += 1;
                let cond = self.condition(cond)?;
                let head = format!("for first := true; first || {cond}; first = false ");
                self.block(&head, std::slice::from_ref(body))?;
                self.loops -= 1;
            }
            StmtKind::For { init, cond, step, body } => {
                self.page.open("{");
                self.statement(init)?;
                self.loops += 1;
                let cond = cond.as_ref().map(|c| self.condition(c)).transpose()?;
                let step = step.as_ref().map(|s| self.effect(s)).transpose()?;
                let (cond, step) = (cond.unwrap_or_default(), step.unwrap_or_default());
                let head = format!("for ; {cond}; {step} ");
                self.block(&head, std::slice::from_ref(body))?;
                self.loops -= 1;
                self.page.close();
            }
            StmtKind::Block(list) => self.block("", list)?,
            StmtKind::Return(e) => {
                let result = match e {
                    Some(e) if self.ret != ValueType::Void => {
                        let v = self.expr(e)?;
                        let ret = self.ret.clone();
                        format!("return {}", self.convert(v, &ret)?.text)
                    }
                    Some(e) => {
                        let text = self.effect(e)?;
                        self.page.line(&text);
                        "return".to_string()
                    }
                    None => "return".to_string(),
                };
                for line in &self.ends {
                    self.page.line(line);
                }
                // Go takes no statement behind a return for one that never runs.
                self.page.line(&result);
            }
            StmtKind::Break => self.page.line("break"),
            StmtKind::Continue => self.page.line("continue"),
            StmtKind::Goto(_) | StmtKind::Label(..) => return refuse("`goto`"),
            StmtKind::Empty => {}
        }
        Ok(())
    }

    fn declarator(&mut self, d: &Declarator) -> Result<(), Failure> {
        let ty = value_type(&d.ty, "a local of this type")?;
        if d.ty.is_volatile() {
            return lacks("volatile objects");
        }
        let init = match &d.init {
            None => zero(&ty).to_string(),
            Some(e) => {
                let v = self.expr(e)?;
                self.convert(v, &ty)?.text
            }
        };
        if self.hoisted.contains(&d.name) {
            self.page.line(&format!("{} = {init}", d.name));
            return Ok(());
        }
        self.page.line(&format!("var {} {} = {init}", d.name, typed(&ty)?));
        // Go refuses locals that nobody reads.
        self.page.line(&format!("_ = {}", d.name));
        self.page.declare(&d.name, ty);
        Ok(())
    }

    /// A statement that evaluates an expression and drops its value.
    fn effect(&mut self, e: &Expr) -> Result<String, Failure> {
        Ok(match &e.kind {
            ExprKind::Assign(op, target, v) => self.assign(*op, target, v)?,
            ExprKind::Step { up, target, .. } => {
                let op = if *up { BinaryOp::Add } else { BinaryOp::Sub };
                self.assign(Some(op), target, &Expr::int(1))?
            }
            ExprKind::Cast(Type::Void, e) => self.effect(e)?,
            ExprKind::Call(name, args) => match self.builtin(name, args, false)? {
                Value { ty: ValueType::Void, text, .. } => text,
                v => format!("_ = {}", v.truth.unwrap_or(v.text)),
            },
            _ => format!("_ = {}", self.expr(e)?.text),
        })
    }

    // Expressions.

    fn expr(&mut self, e: &Expr) -> Result<Value, Failure> {
        match &e.kind {
            ExprKind::Int(lit) => {
                let ty = literal_type(lit);
                Ok(value(format!("{}({})", typed(&ty)?, lit.value), ty))
            }
            ExprKind::Name(_) | ExprKind::Unary(UnaryOp::Deref, _) => {
                let place = self.place(e)?;
                self.read(&place)
            }
            ExprKind::Unary(UnaryOp::Addr, a) => match self.place(a)? {
                Lvalue::Memory(p, ty) => Ok(value(p, ValueType::Pointer(ty.into()))),
                Lvalue::Local(..) => refuse("addresses of locals"),
            },
            ExprKind::Unary(UnaryOp::LogicalNot, a) => {
                let c = self.condition(a)?;
                Ok(truth(format!("(!{c})")))
            }
            ExprKind::Unary(op, a) => {
                let a = self.expr(a)?;
                let ty = a.ty.promoted();
                let a = self.convert(a, &ty)?.text;
                Ok(match op {
                    UnaryOp::Neg => value(format!("(-{a})"), ty),
                    UnaryOp::Not => value(format!("(^{a})"), ty),
                    _ => value(a, ty),
                })
            }
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, ..) => {
                Ok(truth(self.condition(e)?))
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                self.binary(*op, a, b)
            }
            ExprKind::Cast(ty, a) => {
                let a = self.expr(a)?;
                let ty = value_type(ty, "a cast to this type")?;
                self.convert(a, &ty)
            }
            ExprKind::SizeofType(ty) => match size_of(ty) {
                Some(n) => Ok(value(format!("uint64({n})"), ValueType::SIZE)),
                None => refuse("the size of this type"),
            },
            ExprKind::Call(name, args) => self.builtin(name, args, true),
            ExprKind::Step { .. } | ExprKind::Assign(..) => lacks("value of an assignment"),
            ExprKind::Cond(..) => lacks("`?:`"),
            ExprKind::Comma(..) => lacks("comma"),
            ExprKind::Float(_) => refuse("numbers in floating point"),
            ExprKind::Index(..) | ExprKind::List(_) => refuse("arrays"),
            ExprKind::SizeofExpr(_) => refuse("the size of an expression"),
            ExprKind::Member { .. } => refuse("members"),
            ExprKind::Annotated(_) => refuse("primitives of the Linux kernel"),
        }
    }

    /// An expression as a `bool`.
    fn condition(&mut self, e: &Expr) -> Result<String, Failure> {
        if let ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b) = &e.kind {
            let (a, b) = (self.condition(a)?, self.condition(b)?);
            return Ok(format!("({a} {} {b})", op.text()));
        }
        let v = self.expr(e)?;
        Ok(match (v.truth, v.ty) {
            (Some(truth), _) => truth,
            (None, ValueType::Pointer(_)) => format!("({} != nil)", v.text),
            (None, _) => format!("({} != 0)", v.text),
        })
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, Failure> {
        use BinaryOp::{Add, And, Eq, Ge, Gt, Le, Lt, Mul, Ne, Or, Shl, Shr, Sub, Xor};
        if matches!(a.ty, ValueType::Pointer(_)) || matches!(b.ty, ValueType::Pointer(_)) {
            return refuse("arithmetic and comparisons of pointers");
        }
        let is_shift = matches!(op, Shl | Shr);
        let ty = if is_shift { a.ty.promoted() } else { a.ty.common(&b.ty) };
        let a = self.convert(a, &ty)?.text;
        if is_shift {
            let most = u32::from(ty.bits()) - 1;
            let count = format!("(uint32({}) & {most})", b.text);
            return Ok(value(format!("({a} {} {count})", op.text()), ty));
        }
        let b = self.convert(b, &ty)?.text;
        let text = format!("({a} {} {b})", op.text());
        Ok(match op {
            Lt | Gt | Le | Ge | Eq | Ne => truth(text),
            Add | Sub | Mul | And | Or | Xor => value(text, ty),
            _ => return refuse("division"),
        })
    }

    fn convert(&self, v: Value, to: &ValueType) -> Result<Value, Failure> {
        if v.ty == *to {
            return Ok(v);
        }
        let text = match (&v.ty, to) {
            (ValueType::Pointer(_), ValueType::Pointer(_)) if typed(&v.ty)? == typed(to)? => v.text,
            (ValueType::Pointer(_), _) | (_, ValueType::Pointer(_)) => {
                return refuse("conversions of pointers");
            }
            (_, ValueType::Bool) => match v.truth {
                Some(truth) => format!("uint8(number({truth}))"),
                None => format!("uint8(number({} != 0))", v.text),
            },
            _ => format!("{}({})", typed(to)?, v.text),
        };
        Ok(value(text, to.clone()))
    }

    fn place(&mut self, e: &Expr) -> Result<Lvalue, Failure> {
        match &e.kind {
            ExprKind::Name(name) => Ok(Lvalue::Local(name.clone(), self.page.declared(name)?)),
            ExprKind::Unary(UnaryOp::Deref, p) => match self.expr(p)? {
                Value { text, ty: ValueType::Pointer(t), .. } => {
                    Ok(Lvalue::Memory(text, Type::clone(&t)))
                }
                _ => refuse("accesses through what is no pointer"),
            },
            _ => refuse("this place in memory"),
        }
    }

    fn read(&mut self, place: &Lvalue) -> Result<Value, Failure> {
        match place {
            Lvalue::Local(name, ty) => Ok(value(name.clone(), ty.clone())),
            Lvalue::Memory(p, ty) => {
                let of = value_type(ty, "a read of this type")?;
                object(ty)?;
                Ok(match ty.is_atomic() {
                    true => value(format!("atomic.Load{}({p})", suffix(&of)?), of),
                    false => value(format!("(*{p})"), of),
                })
            }
        }
    }

    /// The statement of an assignment.
    fn assign(&mut self, op: Option<BinaryOp>, target: &Expr, e: &Expr) -> Result<String, Failure> {
        let place = self.place(target)?;
        let v = self.expr(e)?;
        let (p, of) = match &place {
            Lvalue::Memory(p, ty) if ty.is_atomic() => {
                object(ty)?;
                (p, value_type(ty, "a store of this type")?)
            }
            Lvalue::Memory(_, ty) if ty.is_volatile() => return lacks("volatile objects"),
            Lvalue::Memory(p, ty) => {
                let of = value_type(ty, "a store of this type")?;
                return self.plain(op, &place, &format!("*{p}"), &of, v);
            }
            Lvalue::Local(name, ty) => return self.plain(op, &place, name, ty, v),
        };
        let v = self.convert(v, &of)?.text;
        let kind = suffix(&of)?;
        Ok(match op {
            None => format!("atomic.Store{kind}({p}, {v})"),
            Some(BinaryOp::Add) => format!("atomic.Add{kind}({p}, {v})"),
            Some(BinaryOp::Sub) => format!("atomic.Add{kind}({p}, -{v})"),
            Some(BinaryOp::And) => format!("atomic.And{kind}({p}, {v})"),
            Some(BinaryOp::Or) => format!("atomic.Or{kind}({p}, {v})"),
            Some(op) => return lacks(&format!("atomic operation `{}=`", op.text())),
        })
    }

    fn plain(
        &mut self,
        op: Option<BinaryOp>,
        place: &Lvalue,
        target: &str,
        ty: &ValueType,
        v: Value,
    ) -> Result<String, Failure> {
        // Stores of pointers have a write barrier, which the collector turns on.
        if matches!(ty, ValueType::Pointer(_)) && matches!(place, Lvalue::Memory(..)) {
            return refuse("stores of pointers");
        }
        let v = match op {
            None => v,
            Some(op) => {
                let old = self.read(place)?;
                self.binary(op, old, v)?
            }
        };
        Ok(format!("{target} = {}", self.convert(v, ty)?.text))
    }

    /// A pointer to an atomic object, and the type of its value.
    fn atomic(&mut self, e: &Expr) -> Result<(String, ValueType), Failure> {
        let p = self.expr(e)?;
        let ValueType::Pointer(t) = &p.ty else {
            return refuse("atomic operations on what is no pointer");
        };
        // Go's pointers do not say whether accesses are atomic.
        object(&Type::Atomic(std::sync::Arc::new(t.bare().clone())))?;
        object(t)?;
        Ok((p.text, value_type(t, "an atomic operation on this type")?))
    }

    /// A call of a helper or of an operation of C; `is_used` says whether its value is.
    fn builtin(&mut self, name: &str, args: &[Expr], is_used: bool) -> Result<Value, Failure> {
        if let Some(f) = self.helpers.get(name).copied() {
            return self.helper(f, args);
        }
        let arg = |i: usize| {
            args.get(i).ok_or_else(|| Failure::unsupported(format!("`{name}` so called")))
        };
        let (core, count) = match name.strip_suffix("_explicit").unwrap_or(name) {
            "WCAS" | "atomic_compare_exchange_weak" => ("compare_exchange", 3),
            "SCAS" | "atomic_compare_exchange_strong" => ("compare_exchange", 3),
            core => match core.strip_prefix("atomic_").unwrap_or("") {
                "load" => ("load", 1),
                "thread_fence" | "signal_fence" => ("fence", 0),
                other => (other, 2),
            },
        };
        let orders: &[Expr] = args.get(count..).unwrap_or(&[]);
        if core == "fence" {
            return match is_named(arg(0)?, "memory_order_relaxed") {
                // A relaxed fence is none.
                true => Ok(value("", ValueType::Void)),
                false => lacks("fences"),
            };
        }
        if let Some(other) = orders.iter().find(|o| !is_named(o, "memory_order_seq_cst")) {
            return match &other.kind {
                ExprKind::Name(order) => lacks(&format!("order `{order}`")),
                _ => refuse("an order that is computed"),
            };
        }
        if !matches!(core, "load" | "store" | "exchange" | "compare_exchange")
            && !core.starts_with("fetch_")
        {
            return refuse(&format!("`{name}`"));
        }
        let (p, of) = self.atomic(arg(0)?)?;
        let kind = suffix(&of)?;
        if core == "load" {
            return Ok(value(format!("atomic.Load{kind}({p})"), of));
        }
        if core == "compare_exchange" {
            let expected = self.expected(arg(1)?)?;
            let e = self.convert(expected, &of)?.text;
            let v = self.expr(arg(2)?)?;
            let v = self.convert(v, &of)?.text;
            return Ok(truth(format!("atomic.CompareAndSwap{kind}({p}, {e}, {v})")));
        }
        let v = self.expr(arg(1)?)?;
        let v = self.convert(v, &of)?.text;
        Ok(match core {
            "store" => value(format!("atomic.Store{kind}({p}, {v})"), ValueType::Void),
            "exchange" => value(format!("atomic.Swap{kind}({p}, {v})"), of),
            "fetch_add" | "fetch_sub" => {
                let is_add = core == "fetch_add";
                let (there, back) = if is_add { ("", "-") } else { ("-", "+") };
                // Go gives the new value, and the operand is evaluated once.
                let call = format!("atomic.Add{kind}({p}, {there}{v})");
                match is_used {
                    true => value(format!("({call} {back} {v})"), of),
                    false => value(call, of),
                }
            }
            "fetch_and" => value(format!("atomic.And{kind}({p}, {v})"), of),
            "fetch_or" => value(format!("atomic.Or{kind}({p}, {v})"), of),
            _ => return lacks(&format!("`{name}`")),
        })
    }

    /// The expected value of a compare-exchange. Go does not say what it found instead, so nobody may ask for
    /// it: the variable is only named where it is declared, and here, outside of loops.
    fn expected(&mut self, e: &Expr) -> Result<Value, Failure> {
        let ExprKind::Unary(UnaryOp::Addr, local) = &e.kind else {
            return refuse("this expected value of a compare-exchange");
        };
        let ExprKind::Name(name) = &local.kind else {
            return refuse("this expected value of a compare-exchange");
        };
        let mut uses = 0;
        self.function.each_expr(&mut |e| {
            e.any(&mut |e| {
                uses += usize::from(matches!(&e.kind, ExprKind::Name(n) if n == name));
                false
            });
        });
        if uses != 1 || self.loops > 0 || self.hoisted.contains(name) {
            return lacks("way to tell what a failing compare-exchange found");
        }
        let ty = self.page.declared(name)?;
        Ok(value(name.clone(), ty))
    }

    fn helper(&mut self, f: &Function, args: &[Expr]) -> Result<Value, Failure> {
        let mut out = Vec::new();
        for (p, e) in f.params.iter().zip(args) {
            let ty = value_type(&p.ty, "a parameter of this type")?;
            let v = self.expr(e)?;
            out.push(self.convert(v, &ty)?.text);
        }
        let ty = ValueType::of(&f.ret).unwrap_or(ValueType::Void);
        let name = self.options.function_name(&f.name);
        Ok(value(format!("{name}({})", out.join(", ")), ty))
    }
}

fn is_named(e: &Expr, name: &str) -> bool {
    matches!(&e.kind, ExprKind::Name(n) if n == name)
}

/// The end of the names of `sync/atomic`'s functions for a type.
fn suffix(ty: &ValueType) -> Result<String, Failure> {
    match ty {
        ValueType::Int { bytes: bytes @ (4 | 8), signed } => {
            Ok(format!("{}nt{}", if *signed { "I" } else { "Ui" }, u32::from(*bytes) * 8))
        }
        _ => lacks(&format!("atomic operations of {} bits", ty.bits())),
    }
}

fn zero(ty: &ValueType) -> &'static str {
    match ty {
        ValueType::Pointer(_) => "nil",
        _ => "0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_base::diag::Source;
    use litmake_base::failure::FailureKind;

    fn go(body: &str) -> Result<String, Failure> {
        let text =
            format!("C t\n{{ }}\nP0 (atomic_int* x, int* y) {{\n{body}\n}}\nexists (true)\n");
        let test = litmake_litmus::read(&Source::new("t", text)).expect("a test");
        emit(&test, &EmitOptions::default())
    }

    fn says(body: &str, lines: &[&str]) {
        let text = go(body).unwrap_or_else(|e| panic!("{body}: {}", e.text()));
        for line in lines {
            assert!(text.contains(line), "no `{line}` in\n{text}");
        }
    }

    #[test]
    fn operations_are_those_of_sync_atomic() {
        says(
            "int r0 = atomic_load(x); atomic_store_explicit(x, 2, memory_order_seq_cst); *y = r0 + 1;",
            &[
                "func P0(x *int32, y *int32) {",
                "var r0 int32 = atomic.LoadInt32(x)",
                "atomic.StoreInt32(x, int32(2))",
                "*y = (r0 + int32(1))",
            ],
        );
        // C gives the old value, and Go the new one.
        says("int r0 = atomic_fetch_add(x, 2);", &["(atomic.AddInt32(x, int32(2)) - int32(2))"]);
        says("int r0 = atomic_fetch_sub(x, 2);", &["(atomic.AddInt32(x, -int32(2)) + int32(2))"]);
        says("atomic_fetch_add(x, 2);", &["  _ = atomic.AddInt32(x, int32(2))\n"]);
        says("int r0 = atomic_exchange(x, 2);", &["atomic.SwapInt32(x, int32(2))"]);
        says(
            "int e = 1; if (atomic_compare_exchange_strong(x, &e, 2)) { *y = 1; } else *y = 2;",
            &["if atomic.CompareAndSwapInt32(x, e, int32(2)) {", "} else {"],
        );
    }

    #[test]
    fn what_go_lacks_is_named() {
        for (body, what) in [
            (
                "int r0 = atomic_load_explicit(x, memory_order_relaxed);",
                "order `memory_order_relaxed`",
            ),
            ("atomic_thread_fence(memory_order_seq_cst);", "fences"),
            ("atomic_fetch_xor(x, 1);", "`atomic_fetch_xor`"),
            ("int e = 1; atomic_compare_exchange_strong(x, &e, 2); *y = e;", "found"),
            ("int e = 1; while (atomic_compare_exchange_weak(x, &e, 2) == 0) { }", "found"),
            ("volatile int r0 = 1;", "volatile objects"),
        ] {
            let failure = go(body).expect_err(body);
            assert_eq!(failure.kind, FailureKind::Inexpressible, "{body}");
            assert!(failure.text().contains(what), "{body}: {}", failure.text());
        }
    }
}
