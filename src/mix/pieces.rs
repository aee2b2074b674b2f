//! Splits a test into parts that can be compiled separately, with the steps that connect them.
//!
//! A part is a C test of one thread with neutral names, so that equal code in different places is
//! one part. It does not know what compiles a part, nor instruction sets.

use std::collections::BTreeMap;
use std::sync::Arc;

use litmake_base::failure::Failure;
use litmake_lang::c11::emit::{local_type, locals, observed_locals};
use litmake_lang::c11::variables::variables;
use litmake_lang::compiled::out_name;
use litmake_litmus::c::ast::{Expr, Function, Stmt, StmtKind};
use litmake_litmus::c::types::size_of;
use litmake_litmus::c::{print_declaration, print_expr, print_function};
use litmake_litmus::{Body, Test, Type};

/// The largest number of parts in a test.
const MAX_PIECES: usize = 256;

/// The units that are compiled separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// The whole test.
    Whole,
    /// Each thread.
    Thread,
    /// Each statement and each condition.
    Instruction,
}

/// A part of a thread, or the whole test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The paper's name of the part: `P0_1`, or `P0` for a whole thread.
    pub name: String,
    /// The thread that contains the part; the first one for the whole test.
    pub thread: usize,
    /// The statement or condition in the source.
    pub source: String,
    /// The part as a test; parts with equal texts are equal.
    pub text: String,
    /// Pairs of a location of the part and the location of the test.
    pub args: Vec<(String, String)>,
    /// The shared locations of the test that the part uses.
    pub shared: Vec<String>,
    /// Whether other threads can observe the part, so that it matters who compiles it.
    pub chosen: bool,
}

impl Piece {
    /// The only atomic operation of the part; `None` if it has none or several.
    pub fn operation(&self, test: &Test) -> Option<String> {
        let Body::C(f) = test.threads.get(self.thread)? else { return None };
        operation(f, &self.source)
    }
}

/// The only atomic operation in some code of a function, with its orders and its width in bits:
/// `store seq_cst 32`; `None` if there is none or several.
pub fn operation(f: &Function, source: &str) -> Option<String> {
    let words = words(source);
    let mut operations = words.iter().filter(|w| w.starts_with("atomic_"));
    let first = operations.next()?;
    if operations.next().is_some() {
        return None;
    }
    let name = first.trim_start_matches("atomic_").trim_end_matches("_explicit");
    let mut orders: Vec<&str> =
        words.iter().filter_map(|w| w.strip_prefix("memory_order_")).collect();
    if orders.is_empty() {
        orders.push("seq_cst");
    }
    if name == "thread_fence" {
        return Some(format!("fence {}", orders.join(" ")));
    }
    let shared = words.iter().find_map(|w| f.params.iter().find(|p| p.name == *w))?;
    let Type::Pointer(to) = shared.ty.bare() else { return None };
    let bits = 8 * size_of(to)?;
    Some(format!("{name} {} {bits}", orders.join(" ")))
}

/// The steps of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Runs a part.
    Piece(usize),
    /// The target of jumps with this number.
    Label(usize),
    /// Jumps to a label.
    Jump(usize),
    /// Jumps to a label if this location holds 0.
    Unless(String, usize),
}

/// A test as parts.
#[derive(Clone, Debug, Default)]
pub struct Split {
    /// Whether the whole test is one part.
    pub whole: bool,
    /// The parts, in the order of the source.
    pub pieces: Vec<Piece>,
    /// The steps of each thread.
    pub threads: Vec<Vec<Step>>,
    /// Locations for locals and conditions, with their threads and types.
    pub own: Vec<(usize, String, Type)>,
    /// Observed locals: thread, name, and location.
    pub observed: Vec<(usize, String, String)>,
}

/// Splits a C test.
pub fn split(test: &Test, by: By) -> Result<Split, Failure> {
    let mut out = Split::default();
    if by == By::Whole {
        if test.threads.iter().any(|t| !matches!(t, Body::C(_))) {
            return Err(format!("{} has a thread that is not C", test.name).into());
        }
        let threads: Vec<String> = (0..test.threads.len()).map(|t| format!("P{t}")).collect();
        return Ok(Split {
            whole: true,
            pieces: vec![Piece {
                name: threads.join(" || "),
                thread: 0,
                source: String::new(),
                text: litmake_litmus::write(test),
                args: Vec::new(),
                shared: Vec::new(),
                chosen: true,
            }],
            threads: vec![vec![Step::Piece(0)]],
            ..Split::default()
        });
    }
    // Each part would have a static variable of its own.
    if let Some((name, _)) = variables(test).first() {
        return Err(Failure::unsupported(format!(
            "the test is split, but its functions name the variable `{name}`: give the threads pointers to it"
        )));
    }
    let observed = observed_locals(test);
    for (thread, body) in test.threads.iter().enumerate() {
        let Body::C(f) = body else {
            return Err(format!("{} has a thread that is not C", test.name).into());
        };
        if let Some(p) = f.params.iter().find(|p| !matches!(p.ty.bare(), Type::Pointer(_))) {
            return Err(Failure::unsupported(format!(
                "P{thread} is split, but its parameter `{}` is no pointer",
                p.name
            )));
        }
        for local in observed.get(&f.name).into_iter().flatten() {
            out.observed.push((thread, local.clone(), out_name(&f.name, local)));
        }
        let mut cut = Cut {
            test,
            f,
            thread,
            out: &mut out,
            steps: Vec::new(),
            labels: 0,
            named: BTreeMap::new(),
            loops: Vec::new(),
            end: 0,
            made: 0,
            locals: BTreeMap::new(),
        };
        match by {
            By::Whole | By::Thread => cut.whole(observed.get(&f.name).map_or(&[][..], |l| l))?,
            By::Instruction => cut.statements()?,
        }
        let steps = cut.steps;
        out.threads.push(steps);
    }
    Ok(out)
}

struct Cut<'a> {
    test: &'a Test,
    f: &'a Function,
    thread: usize,
    out: &'a mut Split,
    steps: Vec<Step>,
    labels: usize,
    /// The labels of the source.
    named: BTreeMap<String, usize>,
    /// The labels for `continue` and `break`.
    loops: Vec<(usize, usize)>,
    end: usize,
    made: usize,
    locals: BTreeMap<String, Type>,
}

/// Whether a word of C is a name.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// The words of a text and the text between them, in order.
pub(super) fn words(text: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut start = 0;
    let mut inside = None;
    for (i, c) in text.char_indices() {
        if inside != Some(part(c)) {
            if i > start {
                out.push(&text[start..i]);
            }
            start = i;
            inside = Some(part(c));
        }
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// The text with other names; names of members stay.
pub(super) fn renamed(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    for word in words(text) {
        let member = out.ends_with("->") || out.ends_with('.');
        match names.get(word) {
            Some(new) if !member => out.push_str(new),
            _ => out.push_str(word),
        }
    }
    out
}

impl Cut<'_> {
    fn refuse(&self, what: &str) -> Failure {
        Failure::unsupported(format!("P{} cannot be split: {what}", self.thread))
    }

    /// The type of a parameter.
    fn shared(&self, name: &str) -> Option<&Type> {
        self.f.params.iter().find(|p| p.name == name).map(|p| &p.ty)
    }

    /// Checks that the code uses none of the neutral names.
    fn check_names(&self, text: &str) -> Result<(), Failure> {
        let taken = |w: &&str| {
            ["loc", "own", "var", "cond"].iter().any(|stem| {
                w.strip_prefix(stem)
                    .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty())
            })
        };
        match words(text).into_iter().find(taken) {
            Some(word) => {
                Err(self.refuse(&format!("the name `{word}` is needed for a part of it")))
            }
            None => Ok(()),
        }
    }

    /// Adds the thread as one part.
    fn whole(&mut self, observed: &[String]) -> Result<(), Failure> {
        let mut f = self.f.clone();
        f.name = "P0".to_string();
        let text = print_function(&f);
        self.check_names(&text)?;
        let shown: Vec<String> = observed.iter().map(|l| format!("0:{l};")).collect();
        let outs =
            observed.iter().map(|l| (out_name("P0", l), out_name(&self.f.name, l))).collect();
        for local in observed {
            let ty = local_type(self.f, local).map_or(Type::INT, |t| t.bare().clone());
            self.out.own.push((self.thread, out_name(&self.f.name, local), ty));
        }
        let name = format!("P{}", self.thread);
        let source = text.trim().to_string();
        self.add(name, source, &text, &shown.join(" "), BTreeMap::new(), outs, true)
    }

    /// Adds a part, and gives its locations neutral names.
    #[expect(clippy::too_many_arguments, reason = "the parts of a part, spelled out")]
    fn add(
        &mut self,
        name: String,
        source: String,
        text: &str,
        shown: &str,
        mut names: BTreeMap<String, String>,
        mut args: Vec<(String, String)>,
        chosen: bool,
    ) -> Result<(), Failure> {
        if self.out.pieces.len() >= MAX_PIECES {
            return Err(Failure::unsupported(format!("the test has over {MAX_PIECES} parts")));
        }
        let mut shared = Vec::new();
        for word in words(text) {
            if self.shared(word).is_some() && !names.contains_key(word) {
                let neutral = format!("loc{}", shared.len());
                names.insert(word.to_string(), neutral.clone());
                args.push((neutral, word.to_string()));
                shared.push(word.to_string());
            }
        }
        let mut helpers = String::new();
        for h in &self.test.helpers {
            helpers += &print_function(h);
        }
        let body = renamed(text, &names);
        let locations = match shown.is_empty() {
            true => String::new(),
            false => format!("locations [{shown}]\n"),
        };
        let text = format!("C part\n{{}}\n{helpers}{body}{locations}exists (true)\n");
        let piece = Piece { name, thread: self.thread, source, text, args, shared, chosen };
        self.steps.push(Step::Piece(self.out.pieces.len()));
        self.out.pieces.push(piece);
        Ok(())
    }

    fn statements(&mut self) -> Result<(), Failure> {
        let f = self.f;
        self.check_names(&print_function(f))?;
        let all = locals(f);
        let mut problem = None;
        f.each_declarator(&mut |d, _| {
            if !matches!(d.ty.bare(), Type::Int { .. }) {
                problem = Some(format!("the local `{}` holds no integer", d.name));
            } else if f.params.iter().any(|p| p.name == d.name) {
                problem = Some(format!("the local `{}` hides a location", d.name));
            } else if local_type(f, &d.name).is_some_and(|t| t.bare() != d.ty.bare()) {
                problem = Some(format!("there are two locals `{}` of different types", d.name));
            }
        });
        if let Some(problem) = problem {
            return Err(self.refuse(&problem));
        }
        for local in all {
            let ty = local_type(f, &local).map_or(Type::INT, |t| t.bare().clone());
            self.out.own.push((self.thread, out_name(&f.name, &local), ty.clone()));
            self.locals.insert(local, ty);
        }
        self.end = self.label();
        for s in &f.body {
            self.statement(s, 0)?;
        }
        self.steps.push(Step::Label(self.end));
        Ok(())
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn statement(&mut self, s: &Stmt, depth: usize) -> Result<(), Failure> {
        match &s.kind {
            StmtKind::Empty => Ok(()),
            StmtKind::Expr(e) => self.code(&format!("{};", print_expr(e)), &[]),
            StmtKind::Decl(list) => {
                for d in list {
                    let name = d.name.clone();
                    match &d.init {
                        Some(e) => {
                            let text = format!("{name} = {};", print_expr(e));
                            self.code(&text, std::slice::from_ref(&name))?;
                        }
                        // A local that is declared again is 0 again.
                        None if depth > 0 => {
                            self.code(&format!("{name} = 0;"), std::slice::from_ref(&name))?;
                        }
                        None => {}
                    }
                }
                Ok(())
            }
            StmtKind::Block(list) => list.iter().try_for_each(|s| self.statement(s, depth + 1)),
            StmtKind::If { cond, yes, no } => {
                let (other, end) = (self.label(), self.label());
                self.unless(cond, other)?;
                self.statement(yes, depth + 1)?;
                if let Some(no) = no {
                    self.steps.push(Step::Jump(end));
                    self.steps.push(Step::Label(other));
                    self.statement(no, depth + 1)?;
                } else {
                    self.steps.push(Step::Label(other));
                }
                self.steps.push(Step::Label(end));
                Ok(())
            }
            StmtKind::While { cond, body } => {
                let (again, end) = (self.label(), self.label());
                self.steps.push(Step::Label(again));
                self.unless(cond, end)?;
                self.inside(body, depth, again, end)?;
                self.steps.push(Step::Jump(again));
                self.steps.push(Step::Label(end));
                Ok(())
            }
            StmtKind::DoWhile { body, cond } => {
                let (start, again, end) = (self.label(), self.label(), self.label());
                self.steps.push(Step::Label(start));
                self.inside(body, depth, again, end)?;
                self.steps.push(Step::Label(again));
                self.unless(cond, end)?;
                self.steps.push(Step::Jump(start));
                self.steps.push(Step::Label(end));
                Ok(())
            }
            StmtKind::For { init, cond, step, body } => {
                let (start, again, end) = (self.label(), self.label(), self.label());
                self.statement(init, depth + 1)?;
                self.steps.push(Step::Label(start));
                if let Some(cond) = cond {
                    self.unless(cond, end)?;
                }
                self.inside(body, depth, again, end)?;
                self.steps.push(Step::Label(again));
                if let Some(step) = step {
                    self.code(&format!("{};", print_expr(step)), &[])?;
                }
                self.steps.push(Step::Jump(start));
                self.steps.push(Step::Label(end));
                Ok(())
            }
            StmtKind::Return(value) => {
                if let Some(e) = value {
                    self.code(&format!("{};", print_expr(e)), &[])?;
                }
                self.steps.push(Step::Jump(self.end));
                Ok(())
            }
            StmtKind::Break | StmtKind::Continue => {
                let Some((again, end)) = self.loops.last().copied() else {
                    return Err(self.refuse("it leaves a loop where there is none"));
                };
                let to = if s.kind == StmtKind::Break { end } else { again };
                self.steps.push(Step::Jump(to));
                Ok(())
            }
            StmtKind::Goto(name) => {
                let to = self.label_named(name);
                self.steps.push(Step::Jump(to));
                Ok(())
            }
            StmtKind::Label(name, s) => {
                let label = self.label_named(name);
                self.steps.push(Step::Label(label));
                self.statement(s, depth)
            }
        }
    }

    fn label_named(&mut self, name: &str) -> usize {
        if let Some(label) = self.named.get(name) {
            return *label;
        }
        let label = self.label();
        self.named.insert(name.to_string(), label);
        label
    }

    fn inside(
        &mut self,
        body: &Stmt,
        depth: usize,
        again: usize,
        end: usize,
    ) -> Result<(), Failure> {
        self.loops.push((again, end));
        let done = self.statement(body, depth + 1);
        self.loops.pop();
        done
    }

    /// Jumps if an expression is 0. Its value is passed through memory, like that of a local.
    fn unless(&mut self, cond: &Expr, to: usize) -> Result<(), Failure> {
        let name = format!("cond{}", self.made);
        let place = format!("cond_{}_{}", self.f.name, self.made);
        let text = format!("*{name} = ({}) != 0;", print_expr(cond));
        self.out.own.push((self.thread, place.clone(), Type::INT));
        let own = format!("own{}", self.locals.len());
        self.part(&text, &[], vec![(name, own, place.clone(), Type::INT)])?;
        self.steps.push(Step::Unless(place, to));
        Ok(())
    }

    fn code(&mut self, text: &str, fresh: &[String]) -> Result<(), Failure> {
        self.part(text, fresh, Vec::new())
    }

    /// Adds a statement as a part. Locals are passed through pointers; those in `fresh` are only
    /// written.
    fn part(
        &mut self,
        text: &str,
        fresh: &[String],
        outs: Vec<(String, String, String, Type)>,
    ) -> Result<(), Failure> {
        let mut names = BTreeMap::new();
        let mut params: Vec<String> = Vec::new();
        let mut args = Vec::new();
        let (mut before, mut after) = (String::new(), String::new());
        let mut shared = false;
        for word in words(text).into_iter().filter(|w| is_name(w)) {
            if let Some(ty) = self.shared(word) {
                shared = true;
                let param = print_declaration(ty, word);
                if !params.contains(&param) {
                    params.push(param);
                }
            }
        }
        for word in words(text).into_iter().filter(|w| is_name(w)) {
            let Some(ty) = self.locals.get(word) else { continue };
            if names.contains_key(word) {
                continue;
            }
            let n = names.len();
            let (var, own) = (format!("var{n}"), format!("own{n}"));
            names.insert(word.to_string(), var.clone());
            params.push(print_declaration(&Type::Pointer(Arc::new(ty.clone())), &own));
            let first = match fresh.iter().any(|f| f == word) && !reads(text, word) {
                true => "0".to_string(),
                false => format!("*{own}"),
            };
            before += &format!("  {} = {first};\n", print_declaration(ty, &var));
            if writes(text, word) {
                after += &format!("  *{own} = {var};\n");
            }
            args.push((own, out_name(&self.f.name, word)));
        }
        for (name, own, place, ty) in outs {
            names.insert(name, own.clone());
            params.push(print_declaration(&Type::Pointer(Arc::new(ty)), &own));
            args.push((own, place));
        }
        // A call may be a fence.
        let chosen = shared || text.contains("atomic") || text.contains("__sync");
        let name = format!("P{}_{}", self.thread, self.made);
        self.made += 1;
        let source = text.trim_end_matches(';').to_string();
        let text = format!("P0({}) {{\n{before}  {text}\n{after}}}\n", params.join(", "));
        self.add(name, source, &text, "", names, args, chosen)
    }
}

/// Whether a statement may change a local; anything but plain reading counts.
fn writes(text: &str, local: &str) -> bool {
    let words = words(text);
    words.iter().enumerate().any(|(i, w)| {
        let after = words.get(i + 1).map_or("", |s| s.trim());
        let before = i.checked_sub(1).map_or("", |i| words[i].trim_end());
        let assigned = after.starts_with('=') && !after.starts_with("==");
        let compound = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"]
            .iter()
            .any(|op| after.starts_with(op));
        let before = before.ends_with("++")
            || before.ends_with("--")
            || (before.ends_with('&') && !before.ends_with("&&"));
        *w == local && (assigned || compound || before)
    })
}

/// Whether `local = ...;` mentions the local again.
fn reads(text: &str, local: &str) -> bool {
    words(text).into_iter().filter(|w| *w == local).count() > 1
}
