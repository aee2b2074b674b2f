//! Emission: the functions of a test as C11 that compilers take.
//!
//! The output means what `lower` says the test means in C11: plain accesses to atomic objects stay as they are,
//! operations of `<stdatomic.h>` on objects that one thread declares non-atomic go through a cast to the atomic
//! type, and locals without an initialiser hold 0. It does not
//! know compilers, nor how their output is read.

use super::lower::{is_builtin, is_pure};
use super::respell;
use super::variables::{is_observed, variables};
use litmake_base::diag::Span;
use litmake_litmus::c::ast::{
    BinaryOp, Expr, ExprKind, FloatLit, Function, IntLit, Param, Stmt, StmtKind, UnaryOp,
};
use litmake_litmus::c::scoped;
use litmake_litmus::c::structs::structs;
use litmake_litmus::c::types::{is_bool, qualify, size_of};
use litmake_litmus::c::{print_declaration, print_function, print_statement};
use litmake_litmus::{Body, InitValue, Place, Test, Type, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::Arc;

/// Where the shared locations of a test live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// Pointers to them are parameters of the threads.
    #[default]
    Params,
    /// They are global variables.
    Globals,
    /// They are static variables.
    Statics,
}

/// How a test is written for a compiler.
#[derive(Clone, Debug, Default)]
pub struct EmitOptions {
    /// Where its locations are.
    pub storage: Storage,
    /// By name of the thread's function, the locals that it stores to memory as it ends, each
    /// through a parameter `out_<function>_<local>`; see [`observed_locals`].
    pub observe: BTreeMap<String, Vec<String>>,
    /// Put before and after the names of functions and globals, so that many tests fit into one
    /// translation unit.
    pub prefix: String,
    /// See `prefix`.
    pub suffix: String,
    /// Let compilers inline helper functions.
    pub inline_helpers: bool,
    /// Which test of its translation unit it is.
    pub number: usize,
    /// Whether plain accesses to atomic objects (`*x = 1`, `*x += 1`) are written as calls: for languages whose
    /// atomic types lack these operators, or copy what they hold without being atomic, and for mappings, whose
    /// rows stand for the calls.
    pub calls: bool,
    /// Changes a type to the form in which the language writes it; `None` for C's own.
    pub spell: Option<fn(&Type) -> Type>,
    /// A word before each function and each variable, in languages where it says what they are for.
    pub mark: Option<&'static str>,
    /// The test's own functions, if the compiler knows all others by their names and C11's are not special.
    pub own: Option<BTreeSet<String>>,
}

impl EmitOptions {
    fn spelt(&self, ty: &Type) -> Type {
        self.spell.map_or_else(|| ty.clone(), |spell| spell(ty))
    }

    /// The name of a thread or a helper function in the output.
    pub fn function_name(&self, name: &str) -> String {
        format!("{}{name}{}", self.prefix, self.suffix)
    }

    /// The name of a shared location where it is a global or static variable.
    pub fn global_name(&self, location: &str) -> String {
        format!("{}loc_{location}{}", self.prefix, self.suffix)
    }

    /// The address of a shared location that is a variable, as a pointer of the given type.
    fn address_of(&self, location: &str, ty: &Type) -> Expr {
        let new = |kind| Expr::new(kind, Span::default());
        let variable = Box::new(Expr::name(&self.global_name(location)));
        let address = new(ExprKind::Unary(UnaryOp::Addr, variable));
        new(ExprKind::Cast(ty.clone(), Box::new(address)))
    }
}

/// Locations of tests are aligned for every access that a machine makes at once.
const LOCATION_ALIGNMENT: u32 = 16;

/// The beginning of every emitted translation unit.
pub const HEADER: &str = "#include <stdatomic.h>\n#include <stdbool.h>\n#include <stddef.h>\n\
                          #include <stdint.h>\n\n";

/// A test as one translation unit.
pub fn emit_c(test: &Test, options: &EmitOptions) -> String {
    let mut out = HEADER.to_string();
    let structs = structs(test);
    // Tests that share a unit may have structures of one name.
    let apart = !(options.prefix.is_empty() && options.suffix.is_empty());
    for s in &structs {
        if apart {
            let _ = writeln!(out, "#define {} {}", s.tag, options.function_name(&s.tag));
        }
        out.push_str(&s.definition(&|ty| options.spelt(ty)));
    }
    let named = variables(test);
    let stored: Vec<(String, Type)> = match options.storage {
        Storage::Params => named.clone(),
        Storage::Globals | Storage::Statics => shared_locations(test),
    };
    if !stored.is_empty() {
        for (name, ty) in stored {
            let spelt = options.spelt(&ty);
            let mut line = print_declaration(&spelt, &options.global_name(&name));
            if options.storage != Storage::Globals {
                line = format!("static {line}");
            }
            line.insert_str(0, options.mark.unwrap_or_default());
            // Its bytes may be accessed as something wider, as a member of an object is.
            if matches!(ty.bare(), Type::Array(..) | Type::Struct(_)) {
                let align = if options.spell.is_some() { "alignas" } else { "_Alignas" };
                line = format!("{align}({LOCATION_ALIGNMENT}) {line}");
            }
            let value = initial_value(test, &name).and_then(|v| match ty.bare() {
                Type::Int { .. } => Some(constant(v as u128, v < 0)),
                Type::Float { bytes } => {
                    Some(FloatLit { bits: v as u64, bytes: *bytes }.to_string())
                }
                _ => None,
            });
            let is_list =
                matches!(ty.bare(), Type::Array(of, _) if matches!(of.bare(), Type::Int { .. }));
            let list = if is_list { initial_list(test, &name) } else { None };
            match value {
                _ if list.is_some() => {
                    let _ = writeln!(out, "{line} = {{{}}};", list.unwrap_or_default());
                }
                Some(v) => {
                    // An atomic of C++ is made from a value, not copied from one.
                    let _ = match options.spell {
                        Some(_) => writeln!(out, "{line}({v});"),
                        None => writeln!(out, "{line} = {v};"),
                    };
                }
                // C++ asks for it where a member is const.
                _ if options.spell.is_some() && matches!(ty.bare(), Type::Struct(_)) => {
                    let _ = writeln!(out, "{line}{{}};");
                }
                _ => {
                    let _ = writeln!(out, "{line};");
                }
            }
            // A variable that nobody observes at the end is the compiler's to change or remove.
            let is_asked_for = options.storage == Storage::Params && is_observed(test, &name);
            if options.storage == Storage::Statics || is_asked_for {
                out.push_str(&accessors(&ty, &options.global_name(&name)));
            }
        }
        out.push('\n');
    }
    for f in &test.helpers {
        out.push_str(&helper_head(f, options));
        out.push_str(";\n");
    }
    for f in &test.helpers {
        leave_line(&mut out);
        out.push_str(&emit_helper(test, f, &named, options));
    }
    for f in test.threads.iter().filter_map(Body::function) {
        leave_line(&mut out);
        out.push_str(&emit_body(f, &options.function_name(&f.name), &named, options));
    }
    for s in structs.iter().filter(|_| apart) {
        let _ = writeln!(out, "#undef {}", s.tag);
    }
    out
}

/// Ends a part with one empty line.
fn leave_line(out: &mut String) {
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// Functions through which code outside the unit reads and writes a static variable, so that it is
/// not narrowed or removed. Its address stays unknown outside, which is what a compiler builds on.
fn accessors(ty: &Type, global: &str) -> String {
    // Structures are read and written as their bytes.
    if let Type::Struct(_) = ty.bare() {
        let at = format!("((unsigned char *)&{global})[i]");
        return format!(
            "unsigned char get_{global}(unsigned long i) {{ return {at}; }}\n\
             void set_{global}(unsigned long i, unsigned char v) {{ {at} = v; }}\n"
        );
    }
    // Functions return no arrays: what is asked for is an element.
    let (element, index, at) = match ty.bare() {
        Type::Array(element, _) => (&**element, "unsigned long i", "[i]"),
        _ => (ty, "", ""),
    };
    let value = |name: &str| print_declaration(element.bare(), name);
    // Not every target has the atomic access that a name alone would be.
    let place = match element.is_atomic() {
        true => format!("*({})&{global}{at}", value("*")),
        false => format!("{global}{at}"),
    };
    let none = if index.is_empty() { "void" } else { index };
    let get = value(&format!("get_{global}({none})"));
    let mut out = format!("{get} {{ return {place}; }}\n");
    if !ty.is_const() && !matches!(ty, Type::Array(element, _) if element.is_const()) {
        let comma = if index.is_empty() { "" } else { ", " };
        let params = format!("{index}{comma}{}", value("v"));
        let _ = writeln!(out, "void set_{global}({params}) {{ {place} = v; }}");
    }
    out
}

/// One thread as a function of the given name, without includes, globals and helpers. `variables` are the
/// shared locations that it may name directly.
pub fn emit_body(
    f: &Function,
    name: &str,
    variables: &[(String, Type)],
    options: &EmitOptions,
) -> String {
    let none = Vec::new();
    let observe = options.observe.get(&f.name).unwrap_or(&none);
    let mut outs: Vec<(Type, &str, String)> = Vec::new();
    for local in observe {
        let ty = local_type(f, local);
        if let Some(ty) = ty
            && !outs.iter().any(|(_, l, _)| l == local)
        {
            let ty = ty.bare().clone();
            outs.push((ty, local, format!("out_{}_{local}", f.name)));
        }
    }
    let leaves_early = jumps(f);
    let hoisted: Vec<&str> = outs
        .iter()
        .map(|(_, local, _)| *local)
        .filter(|local| leaves_early || !declared_outermost(f, local))
        .collect();
    let end = format!("end_{}", f.name);
    let mut rewrite = Rewrite {
        types: variable_types(f),
        variables,
        options,
        hoisted: hoisted.iter().map(|s| s.to_string()).collect(),
        end: (leaves_early && !outs.is_empty()).then_some(end.clone()),
    };
    let mut out = Function {
        name: name.to_string(),
        told: f.told.clone(),
        params: Vec::new(),
        ret: if outs.is_empty() { f.ret.clone() } else { Type::Void },
        body: Vec::new(),
        span: Span::default(),
    };
    for p in &f.params {
        match (&p.ty.bare(), options.storage) {
            (Type::Pointer(pointee), Storage::Globals | Storage::Statics) => {
                // The thread's own view of the location, by its own type.
                let ty = Type::Pointer(pointee.clone());
                out.body.push(declaration(&p.name, &p.ty, options.address_of(&p.name, &ty)));
            }
            _ => out.params.push(p.clone()),
        }
    }
    for (ty, _, name) in &outs {
        out.params.push(Param {
            name: name.clone(),
            ty: Type::Pointer(Arc::new(ty.clone())),
            local: false,
            span: Span::default(),
        });
    }
    for local in &hoisted {
        if let Some(ty) = local_type(f, local) {
            out.body.push(declaration(local, ty, Expr::int(0)));
        }
    }
    out.body.extend(f.body.iter().map(|s| rewrite.statement(s)));
    let mut stores = outs.iter().map(|(_, local, name)| {
        let target =
            Expr::new(ExprKind::Unary(UnaryOp::Deref, Box::new(Expr::name(name))), Span::default());
        let value = Box::new(Expr::name(local));
        let kind = ExprKind::Assign(None, Box::new(target), value);
        Stmt::new(StmtKind::Expr(Expr::new(kind, Span::default())), Span::default())
    });
    if let Some(end) = rewrite.end
        && let Some(first) = stores.next()
    {
        let kind = StmtKind::Label(end, Box::new(first));
        out.body.push(Stmt::new(kind, Span::default()));
    }
    out.body.extend(stores);
    if let Some(spell) = options.spell {
        respell::function(&mut out, spell);
    }
    let text = print_function(&out);
    // The printer leaves the return type of a thread out, as tests do.
    let void = if text.starts_with(&format!("{name}(")) { "void " } else { "" };
    format!("{}{void}{text}", options.mark.unwrap_or_default())
}

/// A helper function, not inlined unless it asks for that or the options allow it.
fn emit_helper(
    test: &Test,
    f: &Function,
    variables: &[(String, Type)],
    options: &EmitOptions,
) -> String {
    let mut types = variable_types(f);
    let mut out = format!("{} {{\n", helper_head(f, options));
    let put = |out: &mut String, mut s: Stmt| {
        if let Some(spell) = options.spell {
            respell::statement(&mut s, spell);
        }
        print_statement(out, &s, 1);
    };
    if options.storage != Storage::Params {
        // Shared locations that it names without being given them.
        let all = shared_locations(test).into_iter();
        for (name, ty) in all.filter(|(name, _)| variables.iter().all(|(n, _)| n != name)) {
            let mut named = false;
            f.each_expr(&mut |e| {
                named |= e.any(&mut |e| matches!(&e.kind, ExprKind::Name(n) if *n == name));
            });
            if named && !types.contains_key(&name) {
                let ty = pointer_to(&ty);
                let s = declaration(&name, &ty, options.address_of(&name, &ty));
                put(&mut out, s);
                types.insert(name, ty);
            }
        }
    }
    let mut rewrite = Rewrite { types, variables, options, hoisted: Vec::new(), end: None };
    for s in &f.body {
        put(&mut out, rewrite.statement(s));
    }
    out.push_str("}\n");
    out
}

fn helper_head(f: &Function, options: &EmitOptions) -> String {
    let params: Vec<String> =
        f.params.iter().map(|p| print_declaration(&options.spelt(&p.ty), &p.name)).collect();
    let params = if params.is_empty() { "void".to_string() } else { params.join(", ") };
    let head = format!("{}({params})", options.function_name(&f.name));
    // A function that does not say itself whether it is inlined is not.
    let attribute = match options.inline_helpers || f.told.says_inlining() {
        true => "",
        false => "__attribute__((noinline)) ",
    };
    let mark = options.mark.unwrap_or_default();
    let returns = print_declaration(&options.spelt(&f.ret), &head);
    format!("{mark}static {attribute}{}{returns}", f.told)
}

/// The locals that a test's condition, filter and `locations` name, by thread.
pub fn observed_locals(test: &Test) -> BTreeMap<String, Vec<String>> {
    let listed = test.locations.iter().map(|o| &o.place);
    let filtered = test.filter.iter().flat_map(|prop| prop.places());
    let places = listed.chain(test.condition.prop.places()).chain(filtered);
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for place in places {
        if let Place::Reg { thread, name } = place
            && let Some(Body::C(f)) = test.threads.get(*thread)
            && local_type(f, name).is_some()
        {
            let list = out.entry(f.name.clone()).or_default();
            if !list.contains(name) {
                list.push(name.clone());
            }
        }
    }
    out
}

/// The type of the pointer through which a location is accessed: a pointer to it, or to the first element
/// of an array.
pub(super) fn pointer_to(location: &Type) -> Type {
    let pointee = match location.bare() {
        Type::Array(element, _) => element,
        _ => location,
    };
    Type::Pointer(Arc::new(pointee.clone()))
}

/// The shared locations of a test with the types they are declared with where they are variables:
/// atomic where any thread has it so, and the largest.
pub fn shared_locations(test: &Test) -> Vec<(String, Type)> {
    let mut out: Vec<(String, Type)> = Vec::new();
    let mut add = |name: &str, ty: &Type| match out.iter_mut().find(|(n, _)| n == name) {
        None => out.push((name.to_string(), ty.clone())),
        Some((_, old)) => {
            let atomic = old.is_atomic() || ty.is_atomic();
            let constant = old.is_const() && ty.is_const();
            let base = if size_of(ty) > size_of(old) { ty.bare() } else { old.bare() };
            *old = qualify(base.clone(), constant, false, atomic);
        }
    };
    for item in &test.init {
        if let (Place::Mem { name, index: None }, Some(ty)) = (&item.place, &item.ty) {
            add(name, ty);
        }
    }
    for f in test.threads.iter().filter_map(Body::function) {
        for p in &f.params {
            if let Type::Pointer(ty) = p.ty.bare() {
                add(&p.name, &qualify(ty.bare().clone(), ty.is_const(), false, ty.is_atomic()));
            }
        }
    }
    out
}

pub(crate) fn initial_value(test: &Test, location: &str) -> Option<i128> {
    test.init.iter().find_map(|item| match (&item.place, &item.value) {
        (Place::Mem { name, index: None }, Some(InitValue::One(Value::Int(v))))
            if name == location =>
        {
            Some(*v)
        }
        _ => None,
    })
}

/// The elements that an array of integers starts with, as C writes them.
fn initial_list(test: &Test, location: &str) -> Option<String> {
    test.init.iter().find_map(|item| match (&item.place, &item.value) {
        (Place::Mem { name, index: None }, Some(InitValue::Array(all))) if name == location => {
            let one = |v: &Value| match v {
                Value::Int(v) => Some(constant(*v as u128, *v < 0)),
                Value::Addr { .. } | Value::Label { .. } => None,
            };
            let all: Option<Vec<String>> = all.iter().map(one).collect();
            Some(all?.join(", "))
        }
        _ => None,
    })
}

/// A constant as C writes it; C has no constants above 64 bits.
fn constant(value: u128, negative: bool) -> String {
    match (negative, u64::try_from(value)) {
        (true, _) => match i64::try_from(value as i128) {
            Ok(i64::MIN) | Err(_) => format!("(__int128)({})", halves(value)),
            Ok(v) => v.to_string(),
        },
        (false, Ok(v)) if v > i64::MAX as u64 => format!("{v}u"),
        (false, Ok(v)) => v.to_string(),
        (false, Err(_)) => halves(value),
    }
}

fn halves(value: u128) -> String {
    let (high, low) = ((value >> 64) as u64, value as u64);
    format!("((__uint128_t){high:#x}u << 64 | {low:#x}u)")
}

fn declaration(name: &str, ty: &Type, init: Expr) -> Stmt {
    let declarator = litmake_litmus::c::ast::Declarator {
        name: name.to_string(),
        ty: ty.clone(),
        init: Some(init),
        span: Span::default(),
    };
    Stmt::new(StmtKind::Decl(vec![declarator]), Span::default())
}

/// The locals of a function that hold numbers, in order of declaration, each once.
pub fn locals(f: &Function) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    f.each_declarator(&mut |d, _| {
        if matches!(d.ty.bare(), Type::Int { .. } | Type::Float { .. }) && !out.contains(&d.name) {
            out.push(d.name.clone());
        }
    });
    out
}

/// The type of a local: of the outermost of its name, else of the first.
pub fn local_type<'a>(f: &'a Function, name: &str) -> Option<&'a Type> {
    let (mut own, mut first) = (None, None);
    f.each_declarator(&mut |d, depth| {
        if d.name == name {
            first = first.or(Some(&d.ty));
            if depth == 0 {
                own = own.or(Some(&d.ty));
            }
        }
    });
    own.or(first)
}

fn declared_outermost(f: &Function, name: &str) -> bool {
    let mut found = false;
    f.each_declarator(&mut |d, depth| found |= depth == 0 && d.name == name);
    found
}

fn variable_types(f: &Function) -> HashMap<String, Type> {
    let mut out = HashMap::new();
    f.each_declarator(&mut |d, _| {
        out.insert(d.name.clone(), d.ty.clone());
    });
    for p in &f.params {
        out.entry(p.name.clone()).or_insert_with(|| p.ty.clone());
    }
    out
}

/// Whether control can leave or jump over declarations.
pub(crate) fn jumps(f: &Function) -> bool {
    has_statement(f, &|k| matches!(k, StmtKind::Return(_) | StmtKind::Goto(_)))
}

/// Whether control can jump to a label. In a helper function, a return stays one.
pub(crate) fn goes_to_labels(f: &Function) -> bool {
    has_statement(f, &|k| matches!(k, StmtKind::Goto(_)))
}

fn has_statement(f: &Function, wanted: &dyn Fn(&StmtKind) -> bool) -> bool {
    f.body.iter().any(|s| s.any(wanted))
}

/// Turns a test's body into one that compilers take.
struct Rewrite<'a> {
    types: HashMap<String, Type>,
    /// The shared locations that functions name directly; no function declares these names.
    variables: &'a [(String, Type)],
    options: &'a EmitOptions,
    /// Locals that are declared where the function begins.
    hoisted: Vec<String>,
    /// The label that `return` becomes a jump to.
    end: Option<String>,
}

impl Rewrite<'_> {
    fn statement(&mut self, s: &Stmt) -> Stmt {
        let mut below = |s: &Stmt| Box::new(self.statement(s));
        let kind = match &s.kind {
            StmtKind::Decl(list) => return self.declarators(list, s.span),
            StmtKind::Expr(e) => StmtKind::Expr(self.expr(e)),
            StmtKind::If { cond, yes, no } => StmtKind::If {
                yes: below(yes),
                no: no.as_ref().map(|s| below(s)),
                cond: self.expr(cond),
            },
            StmtKind::While { cond, body } => {
                StmtKind::While { body: below(body), cond: self.expr(cond) }
            }
            StmtKind::DoWhile { body, cond } => {
                StmtKind::DoWhile { body: below(body), cond: self.expr(cond) }
            }
            StmtKind::For { init, cond, step, body } => StmtKind::For {
                init: below(init),
                body: below(body),
                cond: cond.as_ref().map(|e| self.expr(e)),
                step: step.as_ref().map(|e| self.expr(e)),
            },
            StmtKind::Block(list) => {
                StmtKind::Block(list.iter().map(|s| self.statement(s)).collect())
            }
            StmtKind::Label(name, s) => StmtKind::Label(name.clone(), below(s)),
            StmtKind::Return(value) => match &self.end {
                None => StmtKind::Return(value.as_ref().map(|e| self.expr(e))),
                Some(end) => {
                    let leave = Stmt::new(StmtKind::Goto(end.clone()), s.span);
                    match value {
                        None => return leave,
                        Some(e) => StmtKind::Block(vec![
                            Stmt::new(StmtKind::Expr(self.expr(e)), s.span),
                            leave,
                        ]),
                    }
                }
            },
            StmtKind::Break | StmtKind::Continue | StmtKind::Goto(_) | StmtKind::Empty => {
                s.kind.clone()
            }
        };
        Stmt::new(kind, s.span)
    }

    /// Declarations: locals start at 0, and those that are hoisted are only assigned.
    fn declarators(&mut self, list: &[litmake_litmus::c::ast::Declarator], span: Span) -> Stmt {
        let (mut declared, mut assigned) = (Vec::new(), None);
        for d in list {
            let init = match &d.init {
                Some(e) => self.expr(e),
                None => Expr::int(0),
            };
            if self.hoisted.contains(&d.name) {
                for (target, value) in assignments(d, init) {
                    let e = ExprKind::Assign(None, Box::new(target), Box::new(value));
                    let e = Expr::new(e, span);
                    assigned = Some(match assigned {
                        None => e,
                        Some(before) => {
                            Expr::new(ExprKind::Comma(Box::new(before), Box::new(e)), span)
                        }
                    });
                }
            } else {
                let mut d = d.clone();
                d.init = match (d.ty.bare(), &d.init) {
                    (Type::Array(..), None) => Some(Expr::new(ExprKind::List(vec![init]), span)),
                    // What starts a structure is no expression of C.
                    (Type::Struct(_), None) => Some(Expr::name("{0}")),
                    _ => Some(init),
                };
                declared.push(d);
            }
        }
        match (declared.is_empty(), assigned) {
            (true, Some(e)) => Stmt::new(StmtKind::Expr(e), span),
            (_, None) => Stmt::new(StmtKind::Decl(declared), span),
            (false, Some(e)) => {
                // One statement is one statement: the assignments ride on the first declarator.
                if let Some(first) = declared.first_mut()
                    && let Some(init) = first.init.take()
                {
                    let both = ExprKind::Comma(Box::new(e), Box::new(init));
                    first.init = Some(Expr::new(both, span));
                }
                Stmt::new(StmtKind::Decl(declared), span)
            }
        }
    }

    fn expr(&self, e: &Expr) -> Expr {
        let below = |e: &Expr| Box::new(self.expr(e));
        let kind = match &e.kind {
            ExprKind::Int(lit) => return wide(lit, e),
            ExprKind::Name(n) if self.variable(n).is_some() => {
                return match self.has_to_be_called(e) {
                    true => self.call("atomic_load", &[address(e)], e.span),
                    false => Expr::new(ExprKind::Name(self.options.global_name(n)), e.span),
                };
            }
            ExprKind::Float(_) | ExprKind::Name(_) | ExprKind::SizeofType(_) => e.kind.clone(),
            ExprKind::Unary(UnaryOp::Addr, a) => match &a.kind {
                // The address of an object is not an access to it.
                ExprKind::Name(n) if self.variable(n).is_some() => {
                    ExprKind::Unary(UnaryOp::Addr, self.target(a))
                }
                ExprKind::Unary(UnaryOp::Deref, p) => return self.expr(p),
                ExprKind::Index(p, i) => {
                    let element = ExprKind::Index(below(p), below(i));
                    ExprKind::Unary(UnaryOp::Addr, Box::new(Expr::new(element, a.span)))
                }
                ExprKind::Member { .. } => ExprKind::Unary(UnaryOp::Addr, Box::new(self.member(a))),
                _ => ExprKind::Unary(UnaryOp::Addr, below(a)),
            },
            ExprKind::Unary(UnaryOp::Deref, _) | ExprKind::Index(..) | ExprKind::Member { .. } => {
                match self.has_to_be_called(e) {
                    true => return self.call("atomic_load", &[address(e)], e.span),
                    false => return *self.target(e),
                }
            }
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, below(a)),
            ExprKind::Step { up, prefix, target } => {
                let op = if *up { BinaryOp::Add } else { BinaryOp::Sub };
                match self.update(op, target, &Expr::int(1), *prefix) {
                    Some(call) => return call,
                    None => {
                        ExprKind::Step { up: *up, prefix: *prefix, target: self.target(target) }
                    }
                }
            }
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, below(a), below(b)),
            ExprKind::Assign(None, a, b) if self.has_to_be_called(a) => {
                return self.call("atomic_store", &[address(a), (**b).clone()], e.span);
            }
            ExprKind::Assign(op, a, b) => match op.and_then(|op| self.update(op, a, b, true)) {
                Some(call) => return call,
                None => ExprKind::Assign(*op, self.target(a), below(b)),
            },
            ExprKind::Cond(a, b, c) => ExprKind::Cond(below(a), below(b), below(c)),
            ExprKind::Comma(a, b) => ExprKind::Comma(below(a), below(b)),
            ExprKind::Cast(ty, a) => ExprKind::Cast(ty.clone(), below(a)),
            ExprKind::SizeofExpr(a) => ExprKind::SizeofExpr(below(a)),
            ExprKind::Call(name, args) => return self.call(name, args, e.span),
            ExprKind::List(all) => ExprKind::List(all.iter().map(|e| self.expr(e)).collect()),
            // No compiler takes it; what it says of it names the place.
            ExprKind::Annotated(_) => return e.clone(),
        };
        Expr::new(kind, e.span)
    }

    /// The type of a shared location that functions name directly.
    fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.iter().find(|(n, _)| n == name).map(|(_, ty)| ty)
    }

    /// A place in memory, or a variable, as it stands.
    fn target(&self, e: &Expr) -> Box<Expr> {
        let kind = match &e.kind {
            ExprKind::Name(n) if self.variable(n).is_some() => {
                ExprKind::Name(self.options.global_name(n))
            }
            ExprKind::Unary(UnaryOp::Deref, p) => {
                ExprKind::Unary(UnaryOp::Deref, Box::new(self.expr(p)))
            }
            ExprKind::Index(p, i) => {
                ExprKind::Index(Box::new(self.expr(p)), Box::new(self.expr(i)))
            }
            ExprKind::Member { .. } => return Box::new(self.member(e)),
            _ => return Box::new(self.expr(e)),
        };
        Box::new(Expr::new(kind, e.span))
    }

    /// A member without a cast, however it is accessed.
    fn member(&self, e: &Expr) -> Expr {
        let ExprKind::Member { base, arrow, name } = &e.kind else { return self.expr(e) };
        let base = match &base.kind {
            ExprKind::Member { .. } => self.member(base),
            ExprKind::Name(_) => *self.target(base),
            _ => self.expr(base),
        };
        let (base, arrow, name) = (Box::new(base), *arrow, name.clone());
        Expr::new(ExprKind::Member { base, arrow, name }, e.span)
    }

    /// Whether a plain access to a place is written as a call.
    fn has_to_be_called(&self, e: &Expr) -> bool {
        let is_local = matches!(&e.kind, ExprKind::Name(n) if self.variable(n).is_none());
        self.options.calls && !is_local && self.object(e).is_some_and(|ty| ty.is_atomic())
    }

    /// A read-modify-write of an atomic place as a call whose value is the new one, or else the old
    /// one; `None` if it has no call.
    fn update(&self, op: BinaryOp, place: &Expr, value: &Expr, new: bool) -> Option<Expr> {
        let name = match op {
            BinaryOp::Add => "atomic_fetch_add",
            BinaryOp::Sub => "atomic_fetch_sub",
            BinaryOp::And => "atomic_fetch_and",
            BinaryOp::Or => "atomic_fetch_or",
            BinaryOp::Xor => "atomic_fetch_xor",
            _ => return None,
        };
        let ty = self.object(place).filter(|_| self.has_to_be_called(place))?;
        if !matches!(ty.bare(), Type::Int { .. }) || is_bool(&ty) || !is_pure(value) {
            return None;
        }
        let old = self.call(name, &[address(place), value.clone()], place.span);
        if !new {
            return Some(old);
        }
        let kind = ExprKind::Binary(op, Box::new(old), Box::new(self.expr(value)));
        let sum = Box::new(Expr::new(kind, place.span));
        Some(Expr::new(ExprKind::Cast(ty.bare().clone(), sum), place.span))
    }

    /// The type of an object, where that is plain to see.
    fn object(&self, e: &Expr) -> Option<Type> {
        match &e.kind {
            ExprKind::Name(n) => self.types.get(n).or_else(|| self.variable(n)).cloned(),
            ExprKind::Unary(UnaryOp::Deref, p) => self.pointee(p),
            ExprKind::Index(p, _) => self.pointee(p),
            ExprKind::Member { base, arrow, name } => {
                let object = if *arrow { self.pointee(base)? } else { self.object(base)? };
                let Type::Struct(s) = object.bare() else { return None };
                let (_, ty) = s.member(name)?;
                Some(qualify(ty.clone(), object.is_const(), object.is_volatile(), false))
            }
            _ => None,
        }
    }

    /// The type that an expression points to, if that is plain to see.
    fn pointee(&self, e: &Expr) -> Option<Type> {
        let ty = match &e.kind {
            ExprKind::Name(n) => self.types.get(n).or_else(|| self.variable(n))?,
            ExprKind::Cast(ty, _) => ty,
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                return self.pointee(a).or_else(|| self.pointee(b));
            }
            ExprKind::Unary(UnaryOp::Addr, a) => {
                return match &a.kind {
                    ExprKind::Unary(UnaryOp::Deref, p) | ExprKind::Index(p, _) => self.pointee(p),
                    ExprKind::Member { .. } | ExprKind::Name(_) => self.object(a),
                    _ => None,
                };
            }
            ExprKind::Member { .. } => &self.object(e)?,
            _ => return None,
        };
        match ty.bare() {
            Type::Pointer(t) | Type::Array(t, _) => Some((**t).clone()),
            _ => None,
        }
    }

    fn call(&self, name: &str, args: &[Expr], span: Span) -> Expr {
        if self.options.spell.is_none()
            && let Some((name, args)) = scoped::clang(name, args)
        {
            return self.call(&name, &args, span);
        }
        let mut out: Vec<Expr> = args.iter().map(|e| self.expr(e)).collect();
        let is_own = match &self.options.own {
            Some(own) => own.contains(name),
            None => !is_builtin(name) && !name.starts_with("__scoped_atomic_"),
        };
        if is_own {
            let name = self.options.function_name(name);
            return Expr::new(ExprKind::Call(name, out), span);
        }
        if self.options.own.is_some() {
            return Expr::new(ExprKind::Call(name.to_string(), out), span);
        }
        // Freestanding code has the one without a header.
        let name = match name {
            "memcpy" => "__builtin_memcpy",
            "memset" => "__builtin_memset",
            name => name,
        };
        let flag = name.starts_with("atomic_flag");
        let compiler = name.starts_with("__");
        // What an operation needs the objects of its pointer arguments to be.
        for (i, arg) in args.iter().enumerate() {
            let Some(ty) = self.pointee(arg) else {
                continue;
            };
            let atomic = i == 0 && !compiler;
            let (constant, volatile) = (ty.is_const(), ty.is_volatile());
            let old = out[i].clone();
            if i == 0 && flag {
                let named = Type::Named("atomic_flag".to_string());
                out[i] = cast(qualify(named, constant, volatile, false), old);
            } else if i == 0 && ty.is_atomic() != atomic {
                out[i] = cast(qualify(ty.bare().clone(), constant, volatile, atomic), old);
            } else if i > 0 && ty.is_atomic() && takes_pointer(name, i) {
                out[i] = cast(qualify(ty.bare().clone(), constant, volatile, false), old);
            }
        }
        let name = match name {
            "WCAS" => "atomic_compare_exchange_weak",
            "SCAS" => "atomic_compare_exchange_strong",
            n => n,
        };
        Expr::new(ExprKind::Call(name.to_string(), out), span)
    }
}

/// Whether an argument after the first is a pointer to a plain object.
fn takes_pointer(name: &str, arg: usize) -> bool {
    let by_pointer = ["__atomic_load", "__atomic_store", "__atomic_exchange"].contains(&name)
        || name == "__atomic_compare_exchange";
    let cas = name.contains("compare_exchange") || name == "WCAS" || name == "SCAS";
    by_pointer || (cas && arg == 1)
}

fn address(place: &Expr) -> Expr {
    Expr::new(ExprKind::Unary(UnaryOp::Addr, Box::new(place.clone())), place.span)
}

fn cast(pointee: Type, e: Expr) -> Expr {
    let span = e.span;
    Expr::new(ExprKind::Cast(Type::Pointer(Arc::new(pointee)), Box::new(e)), span)
}

/// A constant, in two halves where C has none so large.
fn wide(lit: &IntLit, e: &Expr) -> Expr {
    if lit.value >> 64 == 0 {
        return e.clone();
    }
    let half = |value: u128| {
        let lit = IntLit { value, decimal: false, unsigned: true, long: true };
        Box::new(Expr::new(ExprKind::Int(lit), e.span))
    };
    let new = |kind| Box::new(Expr::new(kind, e.span));
    let unsigned = Type::Int { bytes: 16, signed: false };
    let high = new(ExprKind::Cast(unsigned, half(lit.value >> 64)));
    let sixty_four = Box::new(Expr::int(64));
    let high = new(ExprKind::Binary(BinaryOp::Shl, high, sixty_four));
    let all = Expr::new(
        ExprKind::Binary(BinaryOp::Or, high, half(lit.value & u128::from(u64::MAX))),
        e.span,
    );
    match lit.unsigned || lit.value >> 127 != 0 {
        true => all,
        false => {
            let signed = Type::Int { bytes: 16, signed: true };
            Expr::new(ExprKind::Cast(signed, Box::new(all)), e.span)
        }
    }
}

/// The assignments that replace a declaration whose variable is declared elsewhere: targets and values.
fn assignments(d: &litmake_litmus::c::ast::Declarator, init: Expr) -> Vec<(Expr, Expr)> {
    let targets: Vec<Expr> = match d.ty.bare() {
        Type::Array(_, length) => (0..*length)
            .map(|k| {
                let index = Box::new(Expr::int(u128::from(k)));
                Expr::new(ExprKind::Index(Box::new(Expr::name(&d.name)), index), d.span)
            })
            .collect(),
        // A copy is one assignment.
        Type::Struct(s) if matches!(init.kind, ExprKind::List(_)) || d.init.is_none() => {
            let values = s.values().into_iter();
            values.map(|(_, _, path)| Expr::name(&format!("{}.{path}", d.name))).collect()
        }
        _ => return vec![(Expr::name(&d.name), init)],
    };
    let all = match init.kind {
        ExprKind::List(all) => all,
        _ => Vec::new(),
    };
    let zeros = std::iter::repeat_with(|| Expr::int(0));
    targets.into_iter().zip(all.into_iter().chain(zeros)).collect()
}
