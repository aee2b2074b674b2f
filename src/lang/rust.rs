//! Emission as Rust: `core::sync::atomic`, raw pointers, and functions with C's linkage that are
//! never inlined.
//!
//! The meaning is that of `c11::lower`; arithmetic wraps around. What Rust lacks is refused by
//! name: volatile atomics, atomics of 128 bits, `consume`, jumps.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use super::c11::emit::{EmitOptions, Storage, initial_value, local_type, shared_locations};
use super::c11::lower::literal_type;
use super::written::{Lvalue, Page, Value, value, value_type};
use litmake_base::failure::Failure;
use litmake_litmus::c::ast::{
    BinaryOp, Declarator, Expr, ExprKind, Function, IntLit, Stmt, StmtKind, UnaryOp,
};
use litmake_litmus::c::types::{ValueType, size_of};
use litmake_litmus::{Body, Test, Type};

/// The beginning of every translation unit.
pub const HEADER: &str = "#![no_std]\n#![allow(warnings)]\nuse core::sync::atomic::*;\n\
                          use core::sync::atomic::Ordering::*;\n\n";

/// The failure for an operation that Rust does not have.
fn lacks<T>(what: &str) -> Result<T, Failure> {
    Err(Failure::inexpressible("Rust", what))
}

/// The failure for an operation that is not translated, though Rust may have it.
fn refuse<T>(what: &str) -> Result<T, Failure> {
    Err(Failure::unsupported(format!("{what} in Rust")))
}

/// Rust has no atomic objects of these types.
fn floats<T>() -> Result<T, Failure> {
    refuse("numbers in floating point")
}

/// A test without the header.
pub fn emit(test: &Test, options: &EmitOptions) -> Result<String, Failure> {
    let mut out = String::new();
    let shared = match options.storage {
        Storage::Params => Vec::new(),
        Storage::Globals => shared_locations(test),
        Storage::Statics => return lacks("names for static variables in object files"),
    };
    for (name, ty) in &shared {
        let value = initial_value(test, name).unwrap_or(0);
        let global = options.global_name(name);
        let object = object(ty)?;
        let (mutable, value) = match (ty.is_atomic(), ty.bare()) {
            (true, Type::Int { .. }) => ("", format!("{object}::new({value})")),
            (false, Type::Int { .. }) => ("mut ", value.to_string()),
            _ => return refuse("variables of this type with a value"),
        };
        let _ = writeln!(out, "#[no_mangle]\npub static {mutable}{global}: {object} = {value};");
    }
    let helpers: HashMap<&str, &Function> =
        test.helpers.iter().map(|h| (h.name.as_str(), h)).collect();
    let threads = test.threads.iter().filter_map(Body::function);
    let functions = test.helpers.iter().map(|f| (f, true)).chain(threads.map(|f| (f, false)));
    for (f, helper) in functions {
        // Rust has no way to promise what these promise.
        let no_words = ["pure", "const", "leaf", "flatten", "hot", "noclone"];
        if let Some(word) = f.told.attributes.iter().find(|a| no_words.contains(&a.as_str())) {
            return lacks(&format!("functions with the attribute `{word}`"));
        }
        if f.params.iter().any(|p| p.ty.is_restrict()) {
            return lacks("pointers with `restrict`");
        }
        let writer = Writer {
            options,
            helpers: &helpers,
            shared: &shared,
            hoisted: Vec::new(),
            loops: Vec::new(),
            labels: 0,
            leave: None,
            ret: ValueType::of(&f.ret).unwrap_or(ValueType::Void),
            page: Page::new(),
        };
        out.push_str(&writer.function(f, helper)?);
    }
    Ok(out)
}

/// An object in memory, as Rust types it.
fn object(ty: &Type) -> Result<String, Failure> {
    if ty.is_atomic() && ty.is_volatile() {
        return lacks("volatile atomic objects");
    }
    Ok(match (ty.bare(), ty.is_atomic()) {
        (Type::Int { bytes: 16, .. }, true) => return lacks("atomic integers of 128 bits"),
        (Type::Int { bytes, signed }, true) => {
            format!("Atomic{}{}", if *signed { "I" } else { "U" }, u32::from(*bytes) * 8)
        }
        (Type::Int { bytes, signed }, false) => int(*bytes, *signed),
        (Type::Pointer(t), true) => format!("AtomicPtr<{}>", object(t)?),
        (Type::Pointer(t), false) => format!("*mut {}", object(t)?),
        (Type::Array(t, _), _) => object(t)?,
        (Type::Float { .. }, _) => return floats(),
        (Type::Void, _) => "u8".to_string(),
        (Type::Struct(_), _) => return refuse("structures"),
        (Type::Named(_), _) => return refuse("this type"),
        (Type::Atomic(_) | Type::Const(_) | Type::Volatile(_) | Type::Restrict(_), _) => {
            return refuse("this type");
        }
    })
}

fn int(bytes: u8, signed: bool) -> String {
    format!("{}{}", if signed { "i" } else { "u" }, u32::from(bytes) * 8)
}

/// A value, as Rust types it.
fn typed(ty: &ValueType) -> Result<String, Failure> {
    Ok(match ty {
        ValueType::Int { bytes, signed } => int(*bytes, *signed),
        ValueType::Bool => "u8".to_string(),
        ValueType::Float { .. } => return floats(),
        ValueType::Pointer(t) => format!("*mut {}", object(t)?),
        ValueType::Void => "()".to_string(),
    })
}

/// A `bool` as C has it.
fn truth(text: String) -> Value {
    Value { text: format!("({text} as i32)"), ty: ValueType::INT, truth: Some(text) }
}

/// How `break` and `continue` of the innermost loop are written.
#[derive(Clone)]
struct Loop {
    leave: String,
    go_on: String,
}

struct Writer<'a> {
    options: &'a EmitOptions,
    helpers: &'a HashMap<&'a str, &'a Function>,
    shared: &'a [(String, Type)],
    /// Locals that are declared where the function begins.
    hoisted: Vec<String>,
    loops: Vec<Loop>,
    labels: usize,
    /// The block that `return` leaves.
    leave: Option<&'static str>,
    ret: ValueType,
    page: Page,
}

impl Writer<'_> {
    fn function(mut self, f: &Function, helper: bool) -> Result<String, Failure> {
        let name = self.options.function_name(&f.name);
        let none = Vec::new();
        let observed = match helper {
            true => &none,
            false => self.options.observe.get(&f.name).unwrap_or(&none),
        };
        let (mut params, mut start) = self.given(f, helper)?;
        let mut ends = Vec::new();
        for local in observed {
            let Some(ty) = local_type(f, local) else { continue };
            let ty = value_type(ty, "a local")?;
            let out = format!("out_{}_{local}", f.name);
            params.push(format!("{out}: *mut {}", typed(&ty)?));
            start.push(format!("let mut {local}: {} = {};", typed(&ty)?, zero(&ty)));
            ends.push(format!("*{out} = {local};"));
            self.page.declare(local, ty);
            self.hoisted.push(local.clone());
        }
        let ret = match self.ret {
            ValueType::Void => String::new(),
            _ if !helper => String::new(),
            _ => format!(" -> {}", typed(&self.ret)?),
        };
        if !helper {
            self.leave = Some("'end");
            self.ret = ValueType::Void;
        }
        let linkage = if helper { "" } else { "#[no_mangle]\n" };
        let (public, c) = if helper { ("", "") } else { ("pub ", "extern \"C\" ") };
        let always = f.told.attributes.iter().any(|a| a == "always_inline");
        let inline = match (f.told.says_inlining(), always) {
            (true, true) => "#[inline(always)]\n",
            (true, false) if f.told.inline => "#[inline]\n",
            _ => "#[inline(never)]\n",
        };
        self.page.text = format!(
            "\n{linkage}{inline}{public}unsafe {c}fn {name}({}){ret} {{\n",
            params.join(", ")
        );
        for line in start {
            self.page.line(&line);
        }
        let is_return = |k: &StmtKind| matches!(k, StmtKind::Return(_));
        let returns = f.body.iter().any(|s| s.any(&is_return));
        if !helper && returns {
            self.page.open("'end: {");
        }
        for s in &f.body {
            self.statement(s)?;
        }
        if !helper && returns {
            self.page.close();
        }
        for line in ends {
            self.page.line(&line);
        }
        if helper && self.ret != ValueType::Void {
            // Where every path returns, this is never reached.
            let end = zero(&self.ret);
            self.page.line(&end);
        }
        self.page.text.push_str("}\n");
        Ok(self.page.text)
    }

    /// Declares what a function is given: its parameters, and the lines that it starts with.
    fn given(&mut self, f: &Function, helper: bool) -> Result<(Vec<String>, Vec<String>), Failure> {
        let mut params = Vec::new();
        let mut start = Vec::new();
        if helper && self.options.storage != Storage::Params {
            // Shared locations that it names without being given them.
            for (name, ty) in self.shared {
                let given = f.params.iter().any(|p| p.name == *name);
                let mut named = false;
                f.each_expr(&mut |e| {
                    named |= e.any(&mut |e| matches!(&e.kind, ExprKind::Name(n) if n == name));
                });
                if named && !given {
                    start.push(self.variable(name, ty)?);
                    let ty = ValueType::Pointer(ty.clone().into());
                    self.page.declare(name, ty);
                }
            }
        }
        for p in &f.params {
            let ty = value_type(&p.ty, "a parameter")?;
            match &ty {
                ValueType::Pointer(t) => {
                    let object = object(t)?;
                    if !helper && self.options.storage == Storage::Globals {
                        start.push(self.variable(&p.name, t)?);
                    } else if t.is_atomic() {
                        params.push(format!("{}: &{object}", p.name));
                        start.push(format!(
                            "let mut {0}: *mut {object} = {0} as *const {object} as *mut {object};",
                            p.name
                        ));
                    } else {
                        params.push(format!("mut {}: *mut {object}", p.name));
                    }
                }
                _ => params.push(format!("mut {}: {}", p.name, typed(&ty)?)),
            }
            self.page.declare(&p.name, ty);
        }
        Ok((params, start))
    }

    /// A pointer to a shared location that is a variable.
    fn variable(&self, name: &str, ty: &Type) -> Result<String, Failure> {
        let global = self.options.global_name(name);
        let object = object(ty)?;
        Ok(format!(
            "let mut {name}: *mut {object} = core::ptr::addr_of!({global}) as *mut {object};"
        ))
    }

    // Statements.

    fn block(&mut self, list: &[Stmt], label: &str) -> Result<(), Failure> {
        let head = if label.is_empty() { "{".to_string() } else { format!("{label}: {{") };
        self.page.open(&head);
        for s in list {
            self.statement(s)?;
        }
        self.page.close();
        Ok(())
    }

    fn label(&mut self, stem: &str) -> String {
        self.labels += 1;
        format!("'{stem}{}", self.labels)
    }

    fn statement(&mut self, s: &Stmt) -> Result<(), Failure> {
        match &s.kind {
            StmtKind::Decl(list) => {
                for d in list {
                    self.declarator(d)?;
                }
            }
            StmtKind::Expr(e) => self.effect(e)?,
            StmtKind::If { cond, yes, no } => {
                let cond = self.condition(cond)?;
                self.page.line(&format!("if {cond}"));
                self.block(std::slice::from_ref(yes), "")?;
                if let Some(no) = no {
                    self.page.line("else");
                    self.block(std::slice::from_ref(no), "")?;
                }
            }
            StmtKind::While { cond, body } => {
                let label = self.label("while");
                let cond = self.condition(cond)?;
                self.page.line(&format!("{label}: while {cond}"));
                let this =
                    Loop { leave: format!("break {label}"), go_on: format!("continue {label}") };
                self.loops.push(this);
                self.block(std::slice::from_ref(body), "")?;
                self.loops.pop();
            }
            StmtKind::DoWhile { body, cond } => self.turns(None, Some(cond), None, body, true)?,
            StmtKind::For { init, cond, step, body } => {
                self.turns(Some(init), cond.as_ref(), step.as_ref(), body, false)?;
            }
            StmtKind::Block(list) => self.block(list, "")?,
            StmtKind::Return(e) => match self.leave {
                Some(label) => {
                    if let Some(e) = e {
                        self.effect(e)?;
                    }
                    self.page.line(&format!("break {label};"));
                }
                None => {
                    let text = match e {
                        Some(e) if self.ret != ValueType::Void => {
                            let v = self.expr(e)?;
                            format!("return {};", self.convert(v, &self.ret.clone())?.text)
                        }
                        _ => "return;".to_string(),
                    };
                    self.page.line(&text);
                }
            },
            StmtKind::Break | StmtKind::Continue => {
                let this = self
                    .loops
                    .last()
                    .ok_or_else(|| Failure::unsupported("a jump out of no loop"))?;
                let text = match s.kind {
                    StmtKind::Break => format!("{};", this.leave),
                    _ => format!("{};", this.go_on),
                };
                self.page.line(&text);
            }
            StmtKind::Goto(_) | StmtKind::Label(..) => return lacks("`goto`"),
            StmtKind::Empty => {}
        }
        Ok(())
    }

    /// `for` and `do`: `continue` leaves the block around the body.
    fn turns(
        &mut self,
        init: Option<&Stmt>,
        cond: Option<&Expr>,
        step: Option<&Expr>,
        body: &Stmt,
        late: bool,
    ) -> Result<(), Failure> {
        self.page.open("{");
        if let Some(init) = init {
            self.statement(init)?;
        }
        let (outer, inner) = (self.label("loop"), self.label("turn"));
        self.page.open(&format!("{outer}: loop {{"));
        let test = match cond {
            Some(c) => Some(format!("if !({}) {{ break {outer}; }}", self.condition(c)?)),
            None => None,
        };
        if let (Some(test), false) = (&test, late) {
            self.page.line(test);
        }
        self.loops.push(Loop { leave: format!("break {outer}"), go_on: format!("break {inner}") });
        self.block(std::slice::from_ref(body), &inner)?;
        self.loops.pop();
        if let Some(step) = step {
            self.effect(step)?;
        }
        if let (Some(test), true) = (&test, late) {
            self.page.line(test);
        }
        self.page.close();
        self.page.close();
        Ok(())
    }

    fn declarator(&mut self, d: &Declarator) -> Result<(), Failure> {
        let ty = match d.ty.bare() {
            Type::Array(..) => None,
            _ => ValueType::of(&d.ty),
        };
        let ty = ty.ok_or_else(|| Failure::unsupported("a local of this type"))?;
        let init = match &d.init {
            None => zero(&ty),
            Some(e) => {
                let v = self.expr(e)?;
                self.convert(v, &ty)?.text
            }
        };
        let known = self.hoisted.contains(&d.name);
        let text = match known {
            true => format!("{} = {init};", d.name),
            false => format!("let mut {}: {} = {init};", d.name, typed(&ty)?),
        };
        self.page.line(&text);
        if !known {
            self.page.declare(&d.name, ty);
        }
        Ok(())
    }

    /// An expression whose value nobody uses.
    fn effect(&mut self, e: &Expr) -> Result<(), Failure> {
        let text = match &e.kind {
            ExprKind::Assign(op, target, v) => self.assign(*op, target, v)?.0,
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                return self.effect(b);
            }
            ExprKind::Step { .. } | ExprKind::Call(..) => self.expr(e)?.text,
            _ => format!("let _ = {}", self.expr(e)?.text),
        };
        self.page.line(&format!("{text};"));
        Ok(())
    }

    // Expressions.

    fn expr(&mut self, e: &Expr) -> Result<Value, Failure> {
        match &e.kind {
            ExprKind::Int(lit) => literal(lit),
            ExprKind::Float(_) => floats(),
            ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Unary(UnaryOp::Deref, _) => {
                let place = self.place(e)?;
                self.read(&place)
            }
            ExprKind::Unary(UnaryOp::Addr, a) => match self.place(a)? {
                Lvalue::Local(name, ty) => {
                    let object = as_type(&ty)?;
                    Ok(value(
                        format!("core::ptr::addr_of_mut!({name})"),
                        ValueType::Pointer(object.into()),
                    ))
                }
                Lvalue::Memory(p, ty) => Ok(value(p, ValueType::Pointer(ty.into()))),
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
                    UnaryOp::Neg => value(format!("{a}.wrapping_neg()"), ty),
                    UnaryOp::Not => value(format!("(!{a})"), ty),
                    _ => value(a, ty),
                })
            }
            ExprKind::Step { up, prefix, target } => self.step(*up, *prefix, target),
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, ..) => {
                Ok(truth(self.condition(e)?))
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                self.binary(*op, a, b)
            }
            ExprKind::Assign(op, target, v) => {
                let (text, ty) = self.assign(*op, target, v)?;
                let place = self.place(target)?;
                let Lvalue::Local(name, _) = place else {
                    return lacks("value of a store");
                };
                Ok(value(format!("{{ {text}; {name} }}"), ty))
            }
            ExprKind::Cond(c, a, b) => {
                let c = self.condition(c)?;
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                let ty = a.ty.common(&b.ty);
                let (a, b) = (self.convert(a, &ty)?.text, self.convert(b, &ty)?.text);
                Ok(value(format!("(if {c} {{ {a} }} else {{ {b} }})"), ty))
            }
            ExprKind::Comma(..) => lacks("comma inside expressions"),
            ExprKind::Cast(ty, a) => {
                let a = self.expr(a)?;
                let ty =
                    ValueType::of(ty).ok_or_else(|| Failure::unsupported("a cast to this type"))?;
                self.convert(a, &ty)
            }
            ExprKind::SizeofType(ty) => match size_of(ty) {
                Some(n) => Ok(value(format!("{n}u64"), ValueType::SIZE)),
                None => refuse("the size of this type"),
            },
            ExprKind::SizeofExpr(_) => refuse("the size of an expression"),
            ExprKind::Call(name, args) => match self.helpers.get(name.as_str()).copied() {
                Some(f) => self.helper(f, args),
                None => self.builtin(name, args),
            },
            ExprKind::Member { .. } => refuse("members"),
            ExprKind::List(_) => refuse("local arrays"),
            ExprKind::Annotated(_) => refuse("primitives of the Linux kernel"),
        }
    }

    /// `++` and `--`.
    fn step(&mut self, up: bool, prefix: bool, target: &Expr) -> Result<Value, Failure> {
        let (op, sign) = if up { (BinaryOp::Add, "add") } else { (BinaryOp::Sub, "sub") };
        let one = Expr::int(1);
        let place = self.place(target)?;
        if let Lvalue::Memory(p, ty) = &place
            && ty.is_atomic()
        {
            let new = if prefix { format!(".wrapping_{sign}(1)") } else { String::new() };
            let ty = value_type(ty, "a step")?;
            return Ok(value(format!("(*{p}).fetch_{sign}(1, SeqCst){new}"), ty));
        }
        if prefix {
            let (text, ty) = self.assign(Some(op), target, &one)?;
            let new = self.read(&place)?;
            return Ok(value(format!("{{ {text}; {} }}", new.text), ty));
        }
        let old = self.read(&place)?;
        let (text, _) = self.assign(Some(op), target, &one)?;
        Ok(value(format!("{{ let old = {}; {text}; old }}", old.text), old.ty))
    }

    /// An expression as a `bool`.
    fn condition(&mut self, e: &Expr) -> Result<String, Failure> {
        match &e.kind {
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b) => {
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                let op = if *op == BinaryOp::LogicalAnd { "&&" } else { "||" };
                Ok(format!("({a} {op} {b})"))
            }
            _ => {
                let v = self.expr(e)?;
                Ok(match (v.truth, v.ty) {
                    (Some(truth), _) => truth,
                    (None, ValueType::Pointer(_)) => format!("(!{}.is_null())", v.text),
                    (None, _) => format!("({} != 0)", v.text),
                })
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, Failure> {
        let compares = matches!(
            op,
            BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne
        );
        if let ValueType::Pointer(object) = &a.ty {
            if compares {
                let ty = a.ty.clone();
                let b = self.convert(b, &ty)?;
                return Ok(truth(format!("({} {} {})", a.text, op.text(), b.text)));
            }
            if !matches!(op, BinaryOp::Add | BinaryOp::Sub) || !b.ty.is_arithmetic() {
                return refuse("this arithmetic of pointers");
            }
            let _ = object;
            let n = format!("({} as isize)", b.text);
            let n = if op == BinaryOp::Sub { format!("{n}.wrapping_neg()") } else { n };
            return Ok(value(format!("{}.wrapping_offset({n})", a.text), a.ty));
        }
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let ty = if shift { a.ty.promoted() } else { a.ty.common(&b.ty) };
        let a = self.convert(a, &ty)?.text;
        let b = if shift { b.text } else { self.convert(b, &ty)?.text };
        Ok(match op {
            _ if compares => truth(format!("({a} {} {b})", op.text())),
            BinaryOp::Add => value(format!("{a}.wrapping_add({b})"), ty),
            BinaryOp::Sub => value(format!("{a}.wrapping_sub({b})"), ty),
            BinaryOp::Mul => value(format!("{a}.wrapping_mul({b})"), ty),
            BinaryOp::Shl => value(format!("{a}.wrapping_shl({b} as u32)"), ty),
            BinaryOp::Shr => value(format!("{a}.wrapping_shr({b} as u32)"), ty),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                value(format!("({a} {} {b})", op.text()), ty)
            }
            _ => return refuse("division"),
        })
    }

    fn convert(&self, v: Value, to: &ValueType) -> Result<Value, Failure> {
        if v.ty == *to {
            return Ok(v);
        }
        let text = match (&v.ty, to) {
            (_, ValueType::Void) => v.text,
            (ValueType::Pointer(_), ValueType::Pointer(_)) => {
                let (from, into) = (typed(&v.ty)?, typed(to)?);
                if from == into { v.text } else { format!("({} as {into})", v.text) }
            }
            (ValueType::Pointer(_), _) => format!("({} as usize as {})", v.text, typed(to)?),
            (_, ValueType::Pointer(_)) => format!("({} as usize as {})", v.text, typed(to)?),
            (_, ValueType::Bool) => format!("(({} != 0) as u8)", v.text),
            _ => format!("({} as {})", v.text, typed(to)?),
        };
        Ok(value(text, to.clone()))
    }

    fn place(&mut self, e: &Expr) -> Result<Lvalue, Failure> {
        match &e.kind {
            ExprKind::Name(name) => Ok(Lvalue::Local(name.clone(), self.page.declared(name)?)),
            ExprKind::Unary(UnaryOp::Deref, p) => {
                let p = self.expr(p)?;
                pointed(p)
            }
            ExprKind::Index(a, i) => {
                let (a, i) = (self.expr(a)?, self.expr(i)?);
                let p = self.binary(BinaryOp::Add, a, i)?;
                pointed(p)
            }
            _ => refuse("this place in memory"),
        }
    }

    fn read(&mut self, place: &Lvalue) -> Result<Value, Failure> {
        match place {
            Lvalue::Local(name, ty) => Ok(value(name.clone(), ty.clone())),
            Lvalue::Memory(p, ty) => {
                let of = value_type(ty, "a read")?;
                if let Type::Array(..) = ty.bare() {
                    return Ok(value(p.clone(), of));
                }
                Ok(if ty.is_atomic() {
                    value(format!("(*{p}).load(SeqCst)"), of)
                } else if ty.is_volatile() {
                    value(format!("core::ptr::read_volatile({})", plain(p, ty, &of)?), of)
                } else {
                    value(format!("(*{})", plain(p, ty, &of)?), of)
                })
            }
        }
    }

    /// The statement of an assignment, and the type of what is assigned.
    fn assign(
        &mut self,
        op: Option<BinaryOp>,
        target: &Expr,
        e: &Expr,
    ) -> Result<(String, ValueType), Failure> {
        let place = self.place(target)?;
        let v = self.expr(e)?;
        match &place {
            Lvalue::Local(name, ty) => {
                let v = match op {
                    None => v,
                    Some(op) => self.binary(op, value(name.clone(), ty.clone()), v)?,
                };
                Ok((format!("{name} = {}", self.convert(v, ty)?.text), ty.clone()))
            }
            Lvalue::Memory(p, ty) => {
                let of = value_type(ty, "a store")?;
                if let (Some(op), true) = (op, ty.is_atomic()) {
                    let name = match op {
                        BinaryOp::Add => "fetch_add",
                        BinaryOp::Sub => "fetch_sub",
                        BinaryOp::And => "fetch_and",
                        BinaryOp::Or => "fetch_or",
                        BinaryOp::Xor => "fetch_xor",
                        _ => return refuse("this read-modify-write"),
                    };
                    let v = self.convert(v, &of)?.text;
                    return Ok((format!("(*{p}).{name}({v}, SeqCst)"), of));
                }
                let v = match op {
                    None => v,
                    Some(op) => {
                        let old = self.read(&place)?;
                        self.binary(op, old, v)?
                    }
                };
                let v = self.convert(v, &of)?.text;
                let text = if ty.is_atomic() {
                    format!("(*{p}).store({v}, SeqCst)")
                } else if ty.is_volatile() {
                    format!("core::ptr::write_volatile({}, {v})", plain(p, ty, &of)?)
                } else {
                    format!("*{} = {v}", plain(p, ty, &of)?)
                };
                Ok((text, of))
            }
        }
    }

    fn helper(&mut self, f: &Function, args: &[Expr]) -> Result<Value, Failure> {
        let mut out = Vec::new();
        for (p, e) in f.params.iter().zip(args) {
            let ty = value_type(&p.ty, "a parameter")?;
            let v = self.expr(e)?;
            let v = self.convert(v, &ty)?.text;
            let reference = matches!(&ty, ValueType::Pointer(t) if t.is_atomic());
            out.push(if reference { format!("&*{v}") } else { v });
        }
        let ty = ValueType::of(&f.ret).unwrap_or(ValueType::Void);
        let name = self.options.function_name(&f.name);
        Ok(value(format!("{name}({})", out.join(", ")), ty))
    }

    /// A pointer to an atomic object, and the type of its value.
    fn atomic(&mut self, e: &Expr) -> Result<(String, ValueType), Failure> {
        let p = self.expr(e)?;
        let ValueType::Pointer(t) = &p.ty else {
            return refuse("atomic operations on what is no pointer");
        };
        if t.is_volatile() {
            return lacks("volatile atomic objects");
        }
        let of = ValueType::of(t)
            .ok_or_else(|| Failure::unsupported("an atomic operation on this type"))?;
        let atomic = Type::Atomic(Arc::new(t.bare().clone()));
        let text = self.convert(p.clone(), &ValueType::Pointer(atomic.into()))?.text;
        Ok((text, of))
    }

    fn builtin(&mut self, name: &str, args: &[Expr]) -> Result<Value, Failure> {
        let (core, explicit) = match name.strip_suffix("_explicit") {
            Some(core) => (core, true),
            None => (name, false),
        };
        let core = match core {
            "WCAS" => "atomic_compare_exchange_weak",
            "SCAS" => "atomic_compare_exchange_strong",
            c => c,
        };
        let core = core.strip_prefix("atomic_").unwrap_or("");
        let explicit = explicit
            || matches!(core, "thread_fence" | "signal_fence")
            || matches!(name, "WCAS" | "SCAS");
        let arg = |i: usize| {
            args.get(i).ok_or_else(|| Failure::unsupported(format!("`{name}` so called")))
        };
        let order = |i: usize, what: Use| match explicit {
            true => ordering(arg(i)?, what),
            false => Ok("SeqCst"),
        };
        match core {
            "load" => {
                let (p, ty) = self.atomic(arg(0)?)?;
                Ok(value(format!("(*{p}).load({})", order(1, Use::Load)?), ty))
            }
            "store" => {
                let (p, ty) = self.atomic(arg(0)?)?;
                let v = self.expr(arg(1)?)?;
                let v = self.convert(v, &ty)?.text;
                let order = order(2, Use::Store)?;
                Ok(value(format!("(*{p}).store({v}, {order})"), ValueType::Void))
            }
            "exchange" | "fetch_add" | "fetch_sub" | "fetch_and" | "fetch_or" | "fetch_xor" => {
                let (p, ty) = self.atomic(arg(0)?)?;
                let v = self.expr(arg(1)?)?;
                let v = self.convert(v, &ty)?.text;
                let method = if core == "exchange" { "swap" } else { core };
                let order = order(2, Use::Both)?;
                Ok(value(format!("(*{p}).{method}({v}, {order})"), ty))
            }
            "compare_exchange_strong" | "compare_exchange_weak" => {
                let (p, ty) = self.atomic(arg(0)?)?;
                let expected = self.expr(arg(1)?)?;
                let Lvalue::Memory(e, object) = pointed(expected)? else {
                    return refuse("this expected value");
                };
                let e = plain(&e, &object, &ty)?;
                let v = self.expr(arg(2)?)?;
                let v = self.convert(v, &ty)?.text;
                let weak = if core.ends_with("weak") { "_weak" } else { "" };
                let (success, failure) = (order(3, Use::Both)?, order(4, Use::Load)?);
                Ok(value(
                    format!(
                        "(match (*{p}).compare_exchange{weak}(*{e}, {v}, {success}, {failure}) {{ \
                         Ok(_) => 1i32, Err(found) => {{ *{e} = found; 0i32 }} }})"
                    ),
                    ValueType::INT,
                ))
            }
            "thread_fence" | "signal_fence" => {
                let order = order(0, Use::Fence)?;
                // A relaxed fence is none, and Rust has none.
                let text = match (order, core) {
                    ("Relaxed", _) => "()".to_string(),
                    (_, "thread_fence") => format!("fence({order})"),
                    _ => format!("compiler_fence({order})"),
                };
                Ok(value(text, ValueType::Void))
            }
            _ => refuse(&format!("`{name}`")),
        }
    }
}

/// The operation that an order belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Load,
    Store,
    Both,
    Fence,
}

fn ordering(e: &Expr, what: Use) -> Result<&'static str, Failure> {
    let ExprKind::Name(name) = &e.kind else {
        return refuse("an order that is computed");
    };
    let order = match name.as_str() {
        "memory_order_relaxed" => "Relaxed",
        "memory_order_acquire" => "Acquire",
        "memory_order_release" => "Release",
        "memory_order_acq_rel" => "AcqRel",
        "memory_order_seq_cst" => "SeqCst",
        _ => return refuse(&format!("`{name}`")),
    };
    let legal = match what {
        Use::Load => !matches!(order, "Release" | "AcqRel"),
        Use::Store => !matches!(order, "Acquire" | "AcqRel"),
        Use::Both | Use::Fence => true,
    };
    match legal {
        true => Ok(order),
        false => refuse(&format!("`{name}` here")),
    }
}

fn zero(ty: &ValueType) -> String {
    match ty {
        ValueType::Pointer(_) => "core::ptr::null_mut()".to_string(),
        ValueType::Void => "()".to_string(),
        _ => "0".to_string(),
    }
}

fn literal(lit: &IntLit) -> Result<Value, Failure> {
    let ty = literal_type(lit);
    Ok(value(format!("{}{}", lit.value, typed(&ty)?), ty))
}

/// The type of the object that holds a local variable.
fn as_type(ty: &ValueType) -> Result<Type, Failure> {
    Ok(match ty {
        ValueType::Int { bytes, signed } => Type::Int { bytes: *bytes, signed: *signed },
        ValueType::Bool => Type::Int { bytes: 1, signed: false },
        ValueType::Float { bytes } => Type::Float { bytes: *bytes },
        ValueType::Pointer(t) => Type::Pointer(t.clone()),
        ValueType::Void => return refuse("a local of this type"),
    })
}

fn pointed(p: Value) -> Result<Lvalue, Failure> {
    match p.ty {
        ValueType::Pointer(t) => Ok(Lvalue::Memory(p.text, Type::clone(&t))),
        _ => refuse("accesses through what is no pointer"),
    }
}

/// A pointer through which there is a plain access.
fn plain(p: &str, object: &Type, of: &ValueType) -> Result<String, Failure> {
    match object.is_atomic() {
        true => Ok(format!("({p} as *mut {})", typed(of)?)),
        false => Ok(p.to_string()),
    }
}
