//! Emission as a compute shader, in GLSL or WGSL: locations in storage buffers, each thread a function, and one `main`
//! in which the number of the workgroup says which thread it runs.
//!
//! The meaning is that of `c11::lower`. GLSL is written for the memory model of Vulkan, with the extension
//! `GL_KHR_memory_scope_semantics`, in which each atomic operation and fence says its scope and its semantics. WGSL has relaxed
//! atomic operations alone. Both are written from one walk over the C, since they differ in words; what one of them lacks
//! is refused by name. `volatile` is left out: it belongs to no other thread. Nothing here knows compilers.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::c11::emit::{EmitOptions, local_type, shared_locations};
use super::c11::lower::literal_type;
use super::written::{Page, Value, value, value_type};
use litmake_base::failure::Failure;
use litmake_litmus::c::ast::{
    BinaryOp, Declarator, Expr, ExprKind, Function, IntLit, Stmt, StmtKind, UnaryOp,
};
use litmake_litmus::c::types::{ValueType, size_of};
use litmake_litmus::{Body, Test, Type};

fn floats<T>() -> Result<T, Failure> {
    Err(Failure::unsupported("numbers in floating point are not translated to shaders"))
}

/// The beginning of every shader in GLSL.
pub const GLSL_HEADER: &str = "\
#version 450
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_atomic_int64 : require
layout(local_size_x = 1) in;

";

/// Threads of one test are numbered from a multiple of this, by the place of the test in its shader.
pub const STRIDE: usize = 64;

/// The languages of shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenGL's, as Vulkan takes it.
    Glsl,
    /// WebGPU's.
    Wgsl,
}

use Dialect::{Glsl, Wgsl};

impl Dialect {
    fn refuse<T>(self, what: &str) -> Result<T, Failure> {
        let name = if self == Glsl { "GLSL" } else { "WGSL" };
        Err(Failure::unsupported(format!("{what}, which {name} lacks")))
    }

    /// An integer type.
    fn int(self, bytes: u8, signed: bool) -> Result<&'static str, Failure> {
        Ok(match (self, bytes, signed) {
            (Glsl, 1, true) => "int8_t",
            (Glsl, 1, false) => "uint8_t",
            (Glsl, 2, true) => "int16_t",
            (Glsl, 2, false) => "uint16_t",
            (Glsl, 4, true) => "int",
            (Glsl, 4, false) => "uint",
            (Glsl, 8, true) => "int64_t",
            (Glsl, 8, false) => "uint64_t",
            (Wgsl, 4, true) => "i32",
            (Wgsl, 4, false) => "u32",
            _ => return self.refuse(&format!("integers of {} bits", u32::from(bytes) * 8)),
        })
    }

    /// The type of a value. A boolean of C is a number here.
    fn value(self, ty: &ValueType) -> Result<&'static str, Failure> {
        match ty {
            ValueType::Int { bytes, signed } => self.int(*bytes, *signed),
            ValueType::Bool => self.int(4, true),
            ValueType::Float { .. } => floats(),
            ValueType::Pointer(_) => self.refuse("pointers as values"),
            ValueType::Void => self.refuse("values without a type"),
        }
    }

    /// The type of what is at a location, or in each element of it.
    fn object(self, ty: &Type) -> Result<&'static str, Failure> {
        match ty.bare() {
            Type::Int { bytes, signed } => self.int(*bytes, *signed),
            Type::Pointer(_) => self.refuse("locations that hold pointers"),
            _ => self.refuse("locations of this type"),
        }
    }

    fn local(self, ty: &str, name: &str) -> String {
        match self {
            Glsl => format!("{ty} {name}"),
            Wgsl => format!("var {name}: {ty}"),
        }
    }

    /// A loop without a condition, which its body leaves.
    fn forever(self) -> &'static str {
        match self {
            Glsl => "while (true)",
            Wgsl => "loop",
        }
    }
}

/// The buffers of a test, in the order of their bindings: its locations, and those that observed locals end
/// in.
pub fn buffers(test: &Test, options: &EmitOptions) -> Vec<(String, Type)> {
    let mut out = shared_locations(test);
    for f in threads(test) {
        for local in options.observe.get(&f.name).into_iter().flatten() {
            if let Some(ty) = local_type(f, local) {
                out.push((out_name(f, local), ty.bare().clone()));
            }
        }
    }
    out
}

fn out_name(f: &Function, local: &str) -> String {
    super::compiled::out_name(&f.name, local)
}

fn threads(test: &Test) -> impl Iterator<Item = &Function> {
    test.threads.iter().filter_map(Body::function)
}

/// A test without the header and without `main`.
pub fn emit(test: &Test, options: &EmitOptions, dialect: Dialect) -> Result<String, Failure> {
    if test.threads.len() > STRIDE {
        return Err(Failure::unsupported(format!("shaders of more than {STRIDE} threads")));
    }
    let shared = shared_locations(test);
    let atomics = operated(test);
    let indexed = indexed(test, &shared);
    let mut out = String::new();
    for (binding, (name, ty)) in buffers(test, options).iter().enumerate() {
        let (element, count) = match ty.bare() {
            Type::Array(element, count) => (&**element, Some(*count)),
            _ => (ty, indexed.contains(name).then_some(1)),
        };
        if matches!(element.bare(), Type::Int { bytes: 1 | 2, .. })
            && (element.is_atomic() || atomics.contains(name))
        {
            return dialect.refuse("atomics of 8 and 16 bits");
        }
        let object = match ValueType::of(element) {
            Some(ValueType::Bool) if !shared.iter().any(|(n, _)| n == name) => {
                dialect.int(4, true)?
            }
            _ => dialect.object(element)?,
        };
        let global = options.global_name(name);
        let set = options.number;
        let _ = match dialect {
            // Others see what is written here where it is made available, by a release.
            Glsl => {
                let count = count.map_or(String::new(), |n| format!("[{n}]"));
                writeln!(
                    out,
                    "layout(set = {set}, binding = {binding}) nonprivate buffer B_{global} \
                     {{ {object} v{count}; }} {global};"
                )
            }
            Wgsl => {
                let atomic = element.is_atomic() || atomics.contains(name);
                let object = if atomic { format!("atomic<{object}>") } else { object.to_string() };
                let object = count.map_or(object.clone(), |n| format!("array<{object}, {n}>"));
                writeln!(
                    out,
                    "@group({set}) @binding({binding}) var<storage, read_write> {global}: {object};"
                )
            }
        };
    }
    let helpers: HashMap<&str, &Function> =
        test.helpers.iter().map(|h| (h.name.as_str(), h)).collect();
    let writer = |f: &Function| Writer {
        dialect,
        options,
        helpers: &helpers,
        shared: &shared,
        atomics: &atomics,
        indexed: &indexed,
        hoisted: Vec::new(),
        ends: Vec::new(),
        temps: 0,
        ret: ValueType::of(&f.ret).unwrap_or(ValueType::Void),
        steps: Vec::new(),
        page: Page::new(),
    };
    if dialect == Glsl {
        for f in &test.helpers {
            let _ = writeln!(out, "{};", writer(f).head(f)?);
        }
    }
    for f in &test.helpers {
        out.push_str(&writer(f).helper_function(f)?);
    }
    for f in threads(test) {
        out.push_str(&writer(f).thread(f)?);
    }
    Ok(out)
}

/// The `main` of a shader, whose workgroup of each number runs one function.
pub fn main(functions: &[(usize, String)], dialect: Dialect) -> String {
    let mut out = match dialect {
        Glsl => "\nvoid main() {\n  switch (gl_WorkGroupID.x) {\n".to_string(),
        Wgsl => "\n@compute @workgroup_size(1)\nfn main(@builtin(workgroup_id) workgroup: vec3<u32>) {\n  \
                 switch (workgroup.x) {\n"
            .to_string(),
    };
    for (number, function) in functions {
        let _ = match dialect {
            Glsl => writeln!(out, "  case {number}u: {function}(); break;"),
            Wgsl => writeln!(out, "  case {number}u: {{ {function}(); }}"),
        };
    }
    out.push_str(match dialect {
        Glsl => "  default: break;\n  }\n}\n",
        Wgsl => "  default: {}\n  }\n}\n",
    });
    out
}

/// The locations that atomic operations are done on.
fn operated(test: &Test) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for f in threads(test).chain(&test.helpers) {
        f.each_expr(&mut |e| {
            e.any(&mut |e| {
                if let ExprKind::Call(name, args) = &e.kind
                    && (name.starts_with("atomic_") || matches!(name.as_str(), "WCAS" | "SCAS"))
                    && let Some(place) = args.first()
                {
                    place.any(&mut |e| {
                        if let ExprKind::Name(location) = &e.kind {
                            out.insert(location.clone());
                        }
                        false
                    });
                }
                false
            });
        });
    }
    out
}

/// The locations that are arrays, or are accessed as such: by an index, or an address that is computed.
fn indexed(test: &Test, shared: &[(String, Type)]) -> BTreeSet<String> {
    let arrays = shared.iter().filter(|(_, ty)| matches!(ty.bare(), Type::Array(..)));
    let mut out: BTreeSet<String> = arrays.map(|(name, _)| name.clone()).collect();
    let is_shared = |name: &String| shared.iter().any(|(n, _)| n == name);
    for f in threads(test).chain(&test.helpers) {
        f.each_expr(&mut |e| {
            e.any(&mut |e| {
                let (ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) | ExprKind::Index(a, b)) =
                    &e.kind
                else {
                    return false;
                };
                for side in [a, b] {
                    if let ExprKind::Name(name) = &side.kind
                        && is_shared(name)
                    {
                        out.insert(name.clone());
                    }
                }
                false
            });
        });
    }
    out
}

/// An expression that can be read and assigned.
enum Target {
    Local(String, ValueType),
    Shared(Spot),
}

/// The object that a pointer points to.
#[derive(Clone)]
struct Spot {
    location: String,
    /// The index of the element of the location.
    index: Option<String>,
    /// Its type.
    ty: Type,
}

struct Writer<'a> {
    dialect: Dialect,
    options: &'a EmitOptions,
    helpers: &'a HashMap<&'a str, &'a Function>,
    shared: &'a [(String, Type)],
    atomics: &'a BTreeSet<String>,
    /// Locations of which elements are accessed.
    indexed: &'a BTreeSet<String>,
    /// Locals that are declared where the function begins.
    hoisted: Vec<String>,
    /// The last statements of a thread.
    ends: Vec<String>,
    temps: usize,
    ret: ValueType,
    /// For each loop around, whether `continue` means what it means in C.
    steps: Vec<bool>,
    page: Page,
}

impl Writer<'_> {
    /// Keeps the lines that `write` writes apart; returns them with its result.
    fn apart<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<(String, T), Failure> {
        let before = std::mem::take(&mut self.page.text);
        let made = write(self);
        let lines = std::mem::replace(&mut self.page.text, before);
        Ok((lines, made?))
    }

    fn refuse<T>(&self, what: &str) -> Result<T, Failure> {
        self.dialect.refuse(what)
    }

    /// The name of a local in the shader. Shader languages reserve many words that C does not.
    fn spelt(name: &str) -> String {
        format!("v_{name}")
    }

    fn thread(mut self, f: &Function) -> Result<String, Failure> {
        let name = self.options.function_name(&f.name);
        self.page.text = match self.dialect {
            Glsl => format!("\nvoid {name}() {{\n"),
            Wgsl => format!("\nfn {name}() {{\n"),
        };
        self.ret = ValueType::Void;
        for p in &f.params {
            if !matches!(p.ty.bare(), Type::Pointer(_)) {
                return self.refuse("threads that are given numbers");
            }
        }
        for local in self.options.observe.get(&f.name).into_iter().flatten() {
            let Some(ty) = local_type(f, local) else { continue };
            let ty = value_type(ty, "a local")?;
            let spelt = Self::spelt(local);
            let declared = self.dialect.local(self.dialect.value(&ty)?, &spelt);
            let zero = self.zero(&ty)?;
            self.page.line(&format!("{declared} = {zero};"));
            let out = self.global(&out_name(f, local));
            self.ends.push(format!("{out} = {spelt};"));
            self.page.declare(local, ty);
            self.hoisted.push(local.clone());
        }
        for s in &f.body {
            self.statement(s)?;
        }
        for line in &self.ends {
            self.page.line(line);
        }
        self.page.text.push_str("}\n");
        Ok(self.page.text)
    }

    fn head(&self, f: &Function) -> Result<String, Failure> {
        let name = self.options.function_name(&f.name);
        let mut params = Vec::new();
        for p in &f.params {
            let ty = value_type(&p.ty, "a parameter")?;
            if matches!(ty, ValueType::Pointer(_)) {
                return self.refuse("functions that are given pointers to buffers");
            }
            let ty = self.dialect.value(&ty)?;
            params.push(match self.dialect {
                Glsl => format!("{ty} {}", Self::spelt(&p.name)),
                Wgsl => format!("p_{}: {ty}", p.name),
            });
        }
        let params = params.join(", ");
        Ok(match (self.dialect, &self.ret) {
            (Glsl, ValueType::Void) => format!("void {name}({params})"),
            (Glsl, ret) => format!("{} {name}({params})", self.dialect.value(ret)?),
            (Wgsl, ValueType::Void) => format!("fn {name}({params})"),
            (Wgsl, ret) => format!("fn {name}({params}) -> {}", self.dialect.value(ret)?),
        })
    }

    fn helper_function(mut self, f: &Function) -> Result<String, Failure> {
        self.page.text = format!("\n{} {{\n", self.head(f)?);
        for p in &f.params {
            let ty = ValueType::of(&p.ty).unwrap_or(ValueType::INT);
            if self.dialect == Wgsl {
                let declared = self.dialect.local(self.dialect.value(&ty)?, &Self::spelt(&p.name));
                self.page.line(&format!("{declared} = p_{};", p.name));
            }
            self.page.declare(&p.name, ty);
        }
        for s in &f.body {
            self.statement(s)?;
        }
        if self.ret != ValueType::Void
            && !matches!(f.body.last().map(|s| &s.kind), Some(StmtKind::Return(_)))
        {
            // Where every path returns, this is never reached.
            let zero = self.zero(&self.ret.clone())?;
            self.page.line(&format!("return {zero};"));
        }
        self.page.text.push_str("}\n");
        Ok(self.page.text)
    }

    /// The content of a buffer, as text.
    fn global(&self, location: &str) -> String {
        let global = self.options.global_name(location);
        match self.dialect {
            Glsl => format!("{global}.v"),
            Wgsl => global,
        }
    }

    /// An element of a buffer, as text.
    fn at(&self, spot: &Spot) -> String {
        let index = spot.index.as_ref().map_or(String::new(), |i| format!("[{i}]"));
        format!("{}{index}", self.global(&spot.location))
    }

    fn zero(&self, ty: &ValueType) -> Result<String, Failure> {
        Ok(format!("{}(0)", self.dialect.value(ty)?))
    }

    // Statements.

    fn block(&mut self, head: &str, list: &[Stmt]) -> Result<(), Failure> {
        self.page.open(format!("{head} {{").trim_start());
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
            StmtKind::Expr(e) => self.effect(e)?,
            StmtKind::If { cond, yes, no } => {
                let cond = self.condition(cond)?;
                self.block(&format!("if ({cond})"), std::slice::from_ref(yes))?;
                if let Some(no) = no {
                    self.block("else", std::slice::from_ref(no))?;
                }
            }
            StmtKind::While { cond, body } => self.turns(Some(cond), None, body)?,
            StmtKind::For { init, cond, step, body } => {
                self.page.open("{");
                self.statement(init)?;
                self.turns(cond.as_ref(), step.as_ref(), body)?;
                self.page.close();
            }
            StmtKind::DoWhile { body, cond } => {
                let forever = self.dialect.forever();
                self.page.open(&format!("{forever} {{"));
                self.steps.push(false);
                self.block("", std::slice::from_ref(body))?;
                self.steps.pop();
                let cond = self.condition(cond)?;
                self.page.line(&format!("if (!({cond})) {{ break; }}"));
                self.page.close();
            }
            StmtKind::Block(list) => self.block("", list)?,
            StmtKind::Return(e) => {
                let value = match e {
                    Some(e) if self.ret != ValueType::Void => {
                        let v = self.expr(e)?;
                        format!(" {}", self.convert(v, &self.ret.clone())?)
                    }
                    Some(e) => {
                        self.effect(e)?;
                        String::new()
                    }
                    None => String::new(),
                };
                for line in &self.ends {
                    self.page.line(line);
                }
                self.page.line(&format!("return{value};"));
            }
            StmtKind::Break => self.page.line("break;"),
            StmtKind::Continue => match self.steps.last() {
                Some(true) => self.page.line("continue;"),
                _ => return Err(Failure::unsupported("`continue` in such a loop, in shaders")),
            },
            StmtKind::Goto(_) | StmtKind::Label(..) => return self.refuse("`goto`"),
            StmtKind::Empty => {}
        }
        Ok(())
    }

    /// `while` and `for`. Statements that a condition needs stand in the loop.
    fn turns(
        &mut self,
        cond: Option<&Expr>,
        step: Option<&Expr>,
        body: &Stmt,
    ) -> Result<(), Failure> {
        let forever = self.dialect.forever();
        self.page.open(&format!("{forever} {{"));
        if let Some(cond) = cond {
            let cond = self.condition(cond)?;
            self.page.line(&format!("if (!({cond})) {{ break; }}"));
        }
        self.steps.push(step.is_none());
        self.block("", std::slice::from_ref(body))?;
        self.steps.pop();
        if let Some(step) = step {
            self.effect(step)?;
        }
        self.page.close();
        Ok(())
    }

    fn declarator(&mut self, d: &Declarator) -> Result<(), Failure> {
        let ty = match d.ty.bare() {
            Type::Array(..) => None,
            _ => ValueType::of(&d.ty),
        };
        let ty = ty.ok_or_else(|| Failure::unsupported("a local of this type"))?;
        let spelt = Self::spelt(&d.name);
        let declared = self.dialect.local(self.dialect.value(&ty)?, &spelt);
        let init = match &d.init {
            None => self.zero(&ty)?,
            Some(e) => {
                let v = self.expr(e)?;
                self.convert(v, &ty)?
            }
        };
        if self.hoisted.contains(&d.name) {
            self.page.line(&format!("{spelt} = {init};"));
            return Ok(());
        }
        self.page.line(&format!("{declared} = {init};"));
        self.page.declare(&d.name, ty);
        Ok(())
    }

    /// An expression whose value nobody uses. Whatever touches memory is written as it is met.
    fn effect(&mut self, e: &Expr) -> Result<(), Failure> {
        match &e.kind {
            ExprKind::Assign(op, target, v) => self.assign(*op, target, v).map(drop),
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.effect(b)
            }
            ExprKind::Cast(ty, inner) if matches!(ty.bare(), Type::Void) => self.effect(inner),
            _ => self.expr(e).map(drop),
        }
    }

    // Expressions.

    /// A value in a local of its own, so that memory is accessed in the order of the C.
    fn held(&mut self, text: &str, ty: ValueType) -> Result<Value, Failure> {
        self.temps += 1;
        let name = format!("t{}", self.temps);
        let declared = self.dialect.local(self.dialect.value(&ty)?, &name);
        self.page.line(&format!("{declared} = {text};"));
        Ok(value(name, ty))
    }

    fn held_truth(&mut self, text: &str) -> String {
        self.temps += 1;
        let name = format!("b{}", self.temps);
        let declared = self.dialect.local("bool", &name);
        self.page.line(&format!("{declared} = {text};"));
        name
    }

    /// A `bool` as C has it.
    fn truth(&self, text: String) -> Result<Value, Failure> {
        let int = self.dialect.int(4, true)?;
        Ok(Value { text: format!("{int}({text})"), ty: ValueType::INT, truth: Some(text) })
    }

    fn expr(&mut self, e: &Expr) -> Result<Value, Failure> {
        match &e.kind {
            ExprKind::Int(lit) => self.literal(lit),
            ExprKind::Float(_) => floats(),
            ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Unary(UnaryOp::Deref, _) => {
                let place = self.place(e)?;
                self.read(&place)
            }
            ExprKind::Unary(UnaryOp::Addr, _) => self.refuse("pointers as values"),
            ExprKind::Unary(UnaryOp::LogicalNot, a) => {
                let c = self.condition(a)?;
                self.truth(format!("(!{c})"))
            }
            ExprKind::Unary(op, a) => {
                let a = self.expr(a)?;
                let ty = a.ty.promoted();
                let a = self.convert(a, &ty)?;
                Ok(match op {
                    UnaryOp::Neg => value(format!("({} - {a})", self.zero(&ty)?), ty),
                    UnaryOp::Not => value(format!("(~{a})"), ty),
                    _ => value(a, ty),
                })
            }
            ExprKind::Step { up, prefix, target } => {
                let op = if *up { BinaryOp::Add } else { BinaryOp::Sub };
                let one = Expr::int(1);
                if *prefix {
                    return self.assign(Some(op), target, &one);
                }
                let place = self.place(target)?;
                let old = self.read(&place)?;
                let old = self.held(&old.text, old.ty)?;
                self.assign(Some(op), target, &one)?;
                Ok(old)
            }
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, ..) => {
                let c = self.condition(e)?;
                self.truth(c)
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                self.binary(*op, a, b)
            }
            ExprKind::Assign(op, target, v) => self.assign(*op, target, v),
            ExprKind::Cond(c, a, b) => self.choice(c, a, b),
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.expr(b)
            }
            ExprKind::Cast(ty, a) => {
                let a = self.expr(a)?;
                let ty =
                    ValueType::of(ty).ok_or_else(|| Failure::unsupported("a cast to this type"))?;
                Ok(value(self.convert(a, &ty)?, ty))
            }
            ExprKind::SizeofType(ty) => match size_of(ty) {
                Some(n) => {
                    self.literal(&IntLit { long: true, unsigned: true, ..IntLit::plain(n.into()) })
                }
                None => self.refuse("the size of this type"),
            },
            ExprKind::SizeofExpr(_) => self.refuse("sizes of expressions"),
            ExprKind::Call(name, args) => match self.helpers.get(name.as_str()).copied() {
                Some(f) => self.helper(f, args),
                None => self.builtin(name, args),
            },
            ExprKind::Member { .. } => self.refuse("such members"),
            ExprKind::List(_) => self.refuse("local arrays"),
            ExprKind::Annotated(_) => self.refuse("primitives of the Linux kernel"),
        }
    }

    fn literal(&self, lit: &IntLit) -> Result<Value, Failure> {
        let ty = literal_type(lit);
        let end = match (self.dialect, &ty) {
            (Glsl, ValueType::Int { bytes: 4, signed: true }) => "",
            (Wgsl, ValueType::Int { bytes: 4, signed: true }) => "i",
            (_, ValueType::Int { bytes: 4, signed: false }) => "u",
            (Glsl, ValueType::Int { bytes: 8, signed: true }) => "l",
            (Glsl, ValueType::Int { bytes: 8, signed: false }) => "ul",
            _ => return self.refuse("a constant of this width"),
        };
        Ok(value(format!("{}{end}", lit.value), ty))
    }

    /// `a ? b : c`.
    fn choice(&mut self, c: &Expr, a: &Expr, b: &Expr) -> Result<Value, Failure> {
        let c = self.condition(c)?;
        self.page.enter();
        let first = self.apart(|w| w.expr(a));
        let second = self.apart(|w| w.expr(b));
        self.page.leave();
        let ((before_a, a), (before_b, b)) = (first?, second?);
        let ty = a.ty.common(&b.ty);
        let (a, b) = (self.convert(a, &ty)?, self.convert(b, &ty)?);
        if before_a.is_empty() && before_b.is_empty() {
            return Ok(match self.dialect {
                Glsl => value(format!("({c} ? {a} : {b})"), ty),
                Wgsl => value(format!("select({b}, {a}, {c})"), ty),
            });
        }
        let zero = self.zero(&ty)?;
        let held = self.held(&zero, ty)?;
        for (head, before, v) in
            [(format!("if ({c}) {{"), before_a, a), ("else {".into(), before_b, b)]
        {
            self.page.line(&head);
            self.page.text.push_str(&before);
            self.page.line(&format!("  {} = {v};", held.text));
            self.page.line("}");
        }
        Ok(held)
    }

    /// An expression as a `bool`.
    fn condition(&mut self, e: &Expr) -> Result<String, Failure> {
        let ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b) = &e.kind
        else {
            let v = self.expr(e)?;
            return match v.truth {
                Some(truth) => Ok(truth),
                None => Ok(format!("({} != {})", v.text, self.zero(&v.ty)?)),
            };
        };
        let a = self.condition(a)?;
        self.page.enter();
        let second = self.apart(|w| w.condition(b));
        self.page.leave();
        let (before, b) = second?;
        let and = *op == BinaryOp::LogicalAnd;
        if before.is_empty() {
            return Ok(format!("({a} {} {b})", if and { "&&" } else { "||" }));
        }
        let held = self.held_truth(&a);
        let not = if and { "" } else { "!" };
        self.page.line(&format!("if ({not}{held}) {{"));
        self.page.text.push_str(&before);
        self.page.line(&format!("  {held} = {b};"));
        self.page.line("}");
        Ok(held)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, Failure> {
        let compares = matches!(
            op,
            BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne
        );
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let ty = if shift { a.ty.promoted() } else { a.ty.common(&b.ty) };
        let a = self.convert(a, &ty)?;
        let b = match shift {
            true => self.convert(b, &ValueType::Int { bytes: 4, signed: false })?,
            false => self.convert(b, &ty)?,
        };
        let text = format!("({a} {} {b})", op.text());
        match op {
            _ if compares => self.truth(text),
            BinaryOp::Div | BinaryOp::Rem => self.refuse("division that means what C's does"),
            _ => Ok(value(text, ty)),
        }
    }

    fn convert(&self, v: Value, to: &ValueType) -> Result<String, Failure> {
        match (v.ty == *to, to) {
            (true, _) => Ok(v.text),
            (_, ValueType::Bool) => match v.truth {
                Some(_) => Ok(v.text),
                None => {
                    let int = self.dialect.int(4, true)?;
                    Ok(format!("{int}({} != {})", v.text, self.zero(&v.ty)?))
                }
            },
            _ => Ok(format!("{}({})", self.dialect.value(to)?, v.text)),
        }
    }

    /// The location behind a pointer.
    fn pointed(&mut self, e: &Expr) -> Result<Spot, Failure> {
        match &e.kind {
            ExprKind::Name(name) if self.is_location(name) => {
                let found = self.shared.iter().find(|(n, _)| n == name);
                let missing = || Failure::unsupported(format!("`{name}` is not declared here"));
                let (location, ty) = found.cloned().ok_or_else(missing)?;
                let ty = match ty.bare() {
                    Type::Array(element, _) => Type::clone(element),
                    _ => ty,
                };
                let index = self.indexed.contains(&location).then(|| "0".to_string());
                Ok(Spot { location, index, ty })
            }
            ExprKind::Cast(ty, inner) => {
                let spot = self.pointed(inner)?;
                match ty.bare() {
                    Type::Pointer(to) if size_of(to) == size_of(&spot.ty) => Ok(spot),
                    _ => self.refuse("casts of pointers"),
                }
            }
            ExprKind::Unary(UnaryOp::Addr, inner) => match &inner.kind {
                ExprKind::Unary(UnaryOp::Deref, p) => self.pointed(p),
                ExprKind::Index(a, i) => self.element(a, BinaryOp::Add, i),
                _ => self.refuse("addresses of locals as locations"),
            },
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let points = matches!(&b.kind, ExprKind::Name(n) if self.is_location(n));
                match points && *op == BinaryOp::Add {
                    true => self.element(b, *op, a),
                    false => self.element(a, *op, b),
                }
            }
            _ => self.refuse("addresses that are computed so"),
        }
    }

    /// The element at a distance from the one that a pointer points to.
    fn element(&mut self, pointer: &Expr, op: BinaryOp, by: &Expr) -> Result<Spot, Failure> {
        let spot = self.pointed(pointer)?;
        let Some(index) = spot.index else {
            return self.refuse("addresses that are computed so");
        };
        let by = self.expr(by)?;
        let by = self.convert(by, &ValueType::INT)?;
        let index = match (&*index, op) {
            ("0", BinaryOp::Add) => by,
            _ => format!("({index} {} {by})", op.text()),
        };
        Ok(Spot { index: Some(index), ..spot })
    }

    /// Whether a name stands for a location, and not for a local.
    fn is_location(&self, name: &str) -> bool {
        self.page.local(name).is_none()
    }

    fn place(&mut self, e: &Expr) -> Result<Target, Failure> {
        match &e.kind {
            ExprKind::Name(name) => match self.page.local(name) {
                Some(ty) => Ok(Target::Local(Self::spelt(name), ty)),
                None => self.refuse("pointers as values"),
            },
            ExprKind::Unary(UnaryOp::Deref, p) => {
                if let ExprKind::Unary(UnaryOp::Addr, inner) = &p.kind {
                    return self.place(inner);
                }
                Ok(Target::Shared(self.pointed(p)?))
            }
            ExprKind::Index(a, i) => Ok(Target::Shared(self.element(a, BinaryOp::Add, i)?)),
            _ => self.refuse("such places in memory"),
        }
    }

    /// A location that a plain access (`=`) names, and the type of its value.
    fn plainly(&self, spot: &Spot) -> Result<(String, ValueType), Failure> {
        let ty = &spot.ty;
        if ty.is_atomic() {
            return self.refuse("memory_order_seq_cst");
        }
        if self.dialect == Wgsl && self.atomics.contains(&spot.location) {
            return self.refuse("plain accesses of atomic locations");
        }
        let of = value_type(ty, "an access")?;
        Ok((self.at(spot), of))
    }

    fn read(&mut self, place: &Target) -> Result<Value, Failure> {
        match place {
            Target::Local(name, ty) => Ok(value(name.clone(), ty.clone())),
            Target::Shared(spot) => {
                let (text, of) = self.plainly(spot)?;
                self.held(&text, of)
            }
        }
    }

    /// Writes an assignment; returns the assigned value.
    fn assign(&mut self, op: Option<BinaryOp>, target: &Expr, e: &Expr) -> Result<Value, Failure> {
        let v = self.expr(e)?;
        let place = self.place(target)?;
        let v = match op {
            None => v,
            Some(op) => {
                if let Target::Shared(spot) = &place
                    && spot.ty.is_atomic()
                {
                    return self.refuse("memory_order_seq_cst");
                }
                let old = self.read(&place)?;
                self.binary(op, old, v)?
            }
        };
        let (target, ty) = match &place {
            Target::Local(name, ty) => (name.clone(), ty.clone()),
            Target::Shared(spot) => self.plainly(spot)?,
        };
        let text = self.convert(v, &ty)?;
        match place {
            Target::Local(..) => {
                self.page.line(&format!("{target} = {text};"));
                Ok(value(target, ty))
            }
            Target::Shared(..) => {
                // A store gives what was stored, and reads nothing.
                let stored = self.held(&text, ty)?;
                self.page.line(&format!("{target} = {};", stored.text));
                Ok(stored)
            }
        }
    }

    fn helper(&mut self, f: &Function, args: &[Expr]) -> Result<Value, Failure> {
        let mut out = Vec::new();
        for (p, e) in f.params.iter().zip(args) {
            let ty = value_type(&p.ty, "a parameter")?;
            if matches!(ty, ValueType::Pointer(_)) {
                return self.refuse("functions that are given pointers to buffers");
            }
            let v = self.expr(e)?;
            out.push(self.convert(v, &ty)?);
        }
        let call = format!("{}({})", self.options.function_name(&f.name), out.join(", "));
        match ValueType::of(&f.ret).unwrap_or(ValueType::Void) {
            ValueType::Void => {
                self.page.line(&format!("{call};"));
                Ok(value("", ValueType::Void))
            }
            ty => self.held(&call, ty),
        }
    }

    // Atomic operations.

    /// An atomic operation on a location that returns a value; `rest` is the text behind the location.
    fn atomic(
        &mut self,
        name: &str,
        rest: &str,
        spot: &Spot,
        ty: &ValueType,
    ) -> Result<Value, Failure> {
        let text = self.operation(name, rest, spot);
        self.held(&text, ty.clone())
    }

    fn operation(&self, name: &str, rest: &str, spot: &Spot) -> String {
        let place = self.at(spot);
        match self.dialect {
            Glsl => format!("{name}({place}{rest})"),
            Wgsl => format!("{name}(&{place}{rest})"),
        }
    }

    /// The text behind the operands of an atomic operation: in GLSL, its scope and semantics.
    fn ordered(&self, semantics: &Semantics) -> String {
        match self.dialect {
            Glsl => format!(", gl_ScopeDevice, {}", semantics.text()),
            Wgsl => String::new(),
        }
    }

    fn semantics(&self, order: &Expr, what: Use) -> Result<Semantics, Failure> {
        let ExprKind::Name(name) = &order.kind else {
            return self.refuse("orders that are computed");
        };
        let (acquire, release) = match name.as_str() {
            "memory_order_relaxed" => (false, false),
            "memory_order_acquire" | "memory_order_consume" => (true, false),
            "memory_order_release" => (false, true),
            "memory_order_acq_rel" => (true, true),
            _ => return self.refuse(&format!("`{name}`")),
        };
        let legal = match what {
            Use::Load => !release,
            Use::Store => !acquire,
            Use::Both => true,
        };
        if !legal {
            return self.refuse(&format!("`{name}` of this operation"));
        }
        if self.dialect == Wgsl && (acquire || release) {
            return self.refuse(&format!("`{name}`"));
        }
        Ok(Semantics { acquire, release })
    }

    fn builtin(&mut self, name: &str, args: &[Expr]) -> Result<Value, Failure> {
        if let ("__builtin_expect", Some(e)) = (name, args.first()) {
            return self.expr(e);
        }
        let core = match name {
            "WCAS" => "compare_exchange_weak",
            "SCAS" => "compare_exchange_strong",
            "atomic_thread_fence" => "thread_fence",
            "atomic_signal_fence" => "signal_fence",
            _ => match name.strip_prefix("atomic_").map(|n| n.strip_suffix("_explicit")) {
                Some(Some(core)) => core,
                Some(None) => return self.refuse(&format!("memory_order_seq_cst (`{name}`)")),
                None => return self.refuse(&format!("`{name}`")),
            },
        };
        let arg = |i: usize| {
            args.get(i).ok_or_else(|| Failure::unsupported(format!("`{name}` so called")))
        };
        if let "thread_fence" | "signal_fence" = core {
            let semantics = self.semantics(arg(0)?, Use::Both)?;
            if semantics.acquire || semantics.release {
                let scope =
                    if core == "thread_fence" { "gl_ScopeDevice" } else { "gl_ScopeWorkgroup" };
                self.page.line(&format!("memoryBarrier({scope}, {});", semantics.text()));
            }
            return Ok(value("", ValueType::Void));
        }
        let spot = self.pointed(arg(0)?)?;
        let ty =
            ValueType::of(&spot.ty).filter(|ty| matches!(ty, ValueType::Int { .. })).ok_or_else(
                || Failure::unsupported("atomic operations on such locations, in shaders"),
            )?;
        match core {
            "load" => {
                let rest = self.ordered(&self.semantics(arg(1)?, Use::Load)?);
                self.atomic("atomicLoad", &rest, &spot, &ty)
            }
            "store" => {
                let v = self.expr(arg(1)?)?;
                let v = self.convert(v, &ty)?;
                let rest = format!(", {v}{}", self.ordered(&self.semantics(arg(2)?, Use::Store)?));
                let text = self.operation("atomicStore", &rest, &spot);
                self.page.line(&format!("{text};"));
                Ok(value("", ValueType::Void))
            }
            "exchange" | "fetch_add" | "fetch_sub" | "fetch_and" | "fetch_or" | "fetch_xor" => {
                let v = self.expr(arg(1)?)?;
                let mut v = self.convert(v, &ty)?;
                let name = match core {
                    "exchange" => "atomicExchange",
                    "fetch_add" => "atomicAdd",
                    "fetch_sub" => {
                        // GLSL has no subtraction.
                        v = format!("({} - {v})", self.zero(&ty)?);
                        "atomicAdd"
                    }
                    "fetch_and" => "atomicAnd",
                    "fetch_or" => "atomicOr",
                    _ => "atomicXor",
                };
                let rest = format!(", {v}{}", self.ordered(&self.semantics(arg(2)?, Use::Both)?));
                self.atomic(name, &rest, &spot, &ty)
            }
            "compare_exchange_strong" | "compare_exchange_weak" => {
                let expected = match &arg(1)?.kind {
                    ExprKind::Unary(UnaryOp::Addr, inner) => self.place(inner)?,
                    _ => Target::Shared(self.pointed(arg(1)?)?),
                };
                let new = self.expr(arg(2)?)?;
                let new = self.convert(new, &ty)?;
                let old = self.read(&expected)?;
                let old = self.convert(old, &ty)?;
                let old = self.held(&old, ty.clone())?.text;
                let success = self.semantics(arg(3)?, Use::Both)?;
                let failure = self.semantics(arg(4)?, Use::Load)?;
                let (found, done) = match self.dialect {
                    Glsl => {
                        let rest = format!(
                            ", {old}, {new}, gl_ScopeDevice, {}, {}",
                            success.text(),
                            failure.text()
                        );
                        let found = self.atomic("atomicCompSwap", &rest, &spot, &ty)?;
                        let done = self.held_truth(&format!("({} == {old})", found.text));
                        (found, done)
                    }
                    Wgsl => self.exchanged(&spot, &old, &new, &ty, core.ends_with("weak"))?,
                };
                let (target, of) = match &expected {
                    Target::Local(name, ty) => (name.clone(), ty.clone()),
                    Target::Shared(spot) => self.plainly(spot)?,
                };
                let found = self.convert(found, &of)?;
                self.page.line(&format!("if (!{done}) {{ {target} = {found}; }}"));
                self.truth(done)
            }
            _ => self.refuse(&format!("`{name}`")),
        }
    }

    /// A compare-exchange of WGSL, which may fail although the value is the expected one: the value that it
    /// found, and whether it succeeded.
    fn exchanged(
        &mut self,
        spot: &Spot,
        old: &str,
        new: &str,
        ty: &ValueType,
        weak: bool,
    ) -> Result<(Value, String), Failure> {
        let found = self.held(old, ty.clone())?;
        let done = self.held_truth("false");
        let rest = format!(", {old}, {new}");
        let text = self.operation("atomicCompareExchangeWeak", &rest, spot);
        self.temps += 1;
        let result = format!("r{}", self.temps);
        let attempt = format!(
            "let {result} = {text}; {} = {result}.old_value; {done} = {result}.exchanged;",
            found.text
        );
        self.page.line(&match weak {
            true => attempt.clone(),
            false => {
                format!("loop {{ {attempt} if ({done} || {} != {old}) {{ break; }} }}", found.text)
            }
        });
        Ok((found, done))
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Load,
    Store,
    Both,
}

/// The order of an operation. A release makes available what its thread wrote, an acquire makes it visible.
struct Semantics {
    acquire: bool,
    release: bool,
}

impl Semantics {
    /// The storage classes and the semantics, as GLSL writes them.
    fn text(&self) -> &'static str {
        match (self.acquire, self.release) {
            (false, false) => "gl_StorageSemanticsNone, gl_SemanticsRelaxed",
            (true, false) => {
                "gl_StorageSemanticsBuffer, gl_SemanticsAcquire | gl_SemanticsMakeVisible"
            }
            (false, true) => {
                "gl_StorageSemanticsBuffer, gl_SemanticsRelease | gl_SemanticsMakeAvailable"
            }
            (true, true) => {
                "gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease | \
                 gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible"
            }
        }
    }
}
