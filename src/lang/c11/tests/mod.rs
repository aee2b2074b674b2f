//! Tests of the C room: what the other test files share, and a machine that runs micro-ops
//! one after the other.

mod atomics;
mod emission;
mod floats;
mod integers;
mod meaning;
mod syntax;

use super::lower::{Options, thread};
use litmake_base::diag::{Result, Source, Span};
use litmake_litmus::c::ast::Function;
use litmake_litmus::c::parse_function;
use litmake_litmus::{Symbols, Type};
use litmake_ops::eval::{eval_bin, eval_un};
use litmake_ops::{Code, Op, Tags, Temp, Val};
use std::collections::HashMap;

#[derive(Default)]
pub struct Names(pub Vec<(String, Type)>);

impl Symbols for Names {
    fn location(&mut self, name: &str) -> u16 {
        self.declare(name, &Type::INT)
    }

    fn declare(&mut self, name: &str, ty: &Type) -> u16 {
        if !self.0.iter().any(|(n, _)| n == name) {
            self.0.push((name.to_string(), ty.clone()));
        }
        self.0.iter().position(|(n, _)| n == name).unwrap_or(0) as u16
    }
}

pub fn source(text: &str) -> (Source, Span) {
    (Source::new("t.litmus", text), Span::new(0, text.len()))
}

pub fn parse(text: &str) -> Result<Function> {
    let (source, span) = source(text);
    parse_function(&source, span)
}

/// The code of a thread; the functions after it are helpers.
pub fn lower_with(texts: &[&str], options: Options) -> Result<(Code, Names)> {
    let mut functions = Vec::new();
    for text in texts {
        functions.push(parse(text)?);
    }
    let (source, _) = source(texts[0]);
    let mut names = Names::default();
    let code = thread(&source, &functions[0], &functions[1..], &mut names, options)?;
    Ok((code, names))
}

pub fn lower(text: &str) -> Code {
    lower_with(&[text], Options::default()).unwrap_or_else(|e| panic!("{e}")).0
}

/// The message that a text is refused with.
pub fn refusal(texts: &[&str]) -> String {
    match lower_with(texts, Options::default()) {
        Ok(_) => panic!("accepted: {}", texts[0]),
        Err(e) => e.to_string(),
    }
}

/// An access or fence, as the machine saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub what: &'static str,
    pub place: String,
    pub size: u8,
    pub tags: Tags,
    /// The instruction it is part of, counted by execution.
    pub step: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub regs: HashMap<String, Val>,
    pub memory: HashMap<String, Val>,
    pub events: Vec<Event>,
}

impl Outcome {
    /// A register, read with its sign.
    pub fn reg(&self, name: &str) -> i128 {
        match self.regs.get(name) {
            Some(Val::Int(v)) => *v as i128,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub fn mem(&self, name: &str) -> u128 {
        match self.memory.get(name) {
            Some(Val::Int(v)) => *v,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// The events as `R x`, `W y`, `U z`, `F`.
    pub fn trace(&self) -> String {
        let all: Vec<String> = self
            .events
            .iter()
            .map(|e| format!("{} {}", e.what, e.place).trim().to_string())
            .collect();
        all.join("; ")
    }
}

/// Runs a thread alone, once for each way that its choices can go; `memory` gives locations
/// their contents.
pub fn run(code: &Code, names: &Names, memory: &[(&str, Val)]) -> Vec<Outcome> {
    let mut out = Vec::new();
    let mut choices: Vec<bool> = Vec::new();
    loop {
        let mut m = Machine {
            code,
            names,
            temps: HashMap::new(),
            regs: vec![Val::ZERO; code.regs.len()],
            memory: memory.iter().map(|(n, v)| ((n.to_string(), 0), *v)).collect(),
            events: Vec::new(),
            choices: choices.clone(),
            taken: 0,
            step: 0,
        };
        let finished = m.thread();
        let mut taken = m.choices.clone();
        taken.truncate(m.taken);
        if finished {
            out.push(m.outcome());
        }
        // The next way: the last choice that was `no` becomes `yes`.
        while taken.last() == Some(&true) {
            taken.pop();
        }
        match taken.last_mut() {
            None => return out,
            Some(last) => *last = true,
        }
        choices = taken;
    }
}

pub fn run_text(text: &str, memory: &[(&str, Val)]) -> Vec<Outcome> {
    let (code, names) = lower_with(&[text], Options::default()).unwrap_or_else(|e| panic!("{e}"));
    run(&code, &names, memory)
}

/// The one outcome of a text without choices.
pub fn run_once(text: &str, memory: &[(&str, Val)]) -> Outcome {
    let all = run_text(text, memory);
    assert_eq!(all.len(), 1, "{text}");
    all[0].clone()
}

struct Machine<'a> {
    code: &'a Code,
    names: &'a Names,
    temps: HashMap<Temp, Val>,
    regs: Vec<Val>,
    memory: HashMap<(String, i64), Val>,
    events: Vec<Event>,
    choices: Vec<bool>,
    taken: usize,
    step: usize,
}

enum Next {
    On,
    To(u32),
    Drop,
}

fn mask(v: u128, width: u8) -> u128 {
    if width >= 128 { v } else { v & ((1 << width) - 1) }
}

fn signed(v: u128, width: u8) -> i128 {
    let v = mask(v, width);
    if width < 128 && v >> (width - 1) & 1 == 1 { v as i128 - (1i128 << width) } else { v as i128 }
}

impl Machine<'_> {
    /// False where the path is dropped.
    fn thread(&mut self) -> bool {
        for (reg, val) in &self.code.reg_init {
            self.regs[*reg as usize] = *val;
        }
        let mut at = 0;
        while let Some(inst) = self.code.insts.get(at) {
            self.step += 1;
            assert!(self.step < 100_000, "this does not end");
            self.temps.clear();
            match self.ops(&inst.ops) {
                Next::On => at += 1,
                Next::To(t) => at = t as usize,
                Next::Drop => return false,
            }
        }
        assert_eq!(at, self.code.insts.len(), "a jump past the end");
        true
    }

    fn outcome(self) -> Outcome {
        let mut regs = HashMap::new();
        for (info, v) in self.code.regs.iter().zip(&self.regs) {
            let v = match (*v, info.signed) {
                (Val::Int(v), true) => Val::Int(signed(v, info.bits) as u128),
                (Val::Int(v), false) => {
                    assert_eq!(mask(v, info.bits), v, "{} is too wide", info.name);
                    Val::Int(v)
                }
                (v, _) => v,
            };
            regs.insert(info.name.clone(), v);
        }
        let memory = self.memory.into_iter().map(|((n, off), v)| {
            let name = if off == 0 { n } else { format!("{n}+{off}") };
            (name, v)
        });
        Outcome { regs, memory: memory.collect(), events: self.events }
    }

    fn set(&mut self, t: Temp, v: Val) {
        let old = self.temps.insert(t, v);
        assert_eq!(old, None, "temporary {t} is assigned twice");
    }

    fn get(&self, t: Temp) -> Val {
        self.temps[&t]
    }

    fn truth(&self, t: Temp) -> bool {
        self.get(t) != Val::ZERO
    }

    fn event(
        &mut self,
        what: &'static str,
        addr: Option<Temp>,
        size: u8,
        tags: Tags,
    ) -> (String, i64) {
        let (key, place) = match addr.map(|a| self.get(a)) {
            Some(Val::Ptr { loc, off }) => {
                let name = self.names.0[loc as usize].0.clone();
                let place = if off == 0 { name.clone() } else { format!("{name}+{off}") };
                ((name, off), place)
            }
            Some(v) => panic!("{v:?} is no address"),
            None => Default::default(),
        };
        self.events.push(Event { what, place, size, tags, step: self.step });
        key
    }

    fn ops(&mut self, ops: &[Op]) -> Next {
        for op in ops {
            match op {
                Op::Const { dst, val } => self.set(*dst, *val),
                Op::ReadReg { dst, reg, .. } => self.set(*dst, self.regs[*reg as usize]),
                Op::WriteReg { reg, src } => self.regs[*reg as usize] = self.get(*src),
                Op::Un { dst, op, a, width } => {
                    let v = eval_un(*op, self.get(*a), *width);
                    self.set(*dst, v.unwrap_or_else(|| panic!("{op:?} of {:?}", self.get(*a))));
                }
                Op::Bin { dst, op, a, b, width } => {
                    let (a, b) = (self.get(*a), self.get(*b));
                    let v = eval_bin(*op, a, b, *width);
                    self.set(*dst, v.unwrap_or_else(|| panic!("{op:?} of {a:?} and {b:?}")));
                }
                Op::Select { dst, cond, yes, no } => {
                    let v = if self.truth(*cond) { *yes } else { *no };
                    self.set(*dst, self.get(v));
                }
                Op::Choose { dst } => {
                    if self.taken == self.choices.len() {
                        self.choices.push(false);
                    }
                    let v = self.choices[self.taken];
                    self.taken += 1;
                    self.set(*dst, Val::Int(u128::from(v)));
                }
                Op::Assume { cond } => {
                    if !self.truth(*cond) {
                        return Next::Drop;
                    }
                }
                Op::Load { dst, addr, size, tags } => {
                    let key = self.event("R", Some(*addr), *size, *tags);
                    let v = self.memory.get(&key).copied().unwrap_or(Val::ZERO);
                    self.set(*dst, v);
                }
                Op::Store { addr, src, size, tags } => {
                    let key = self.event("W", Some(*addr), *size, *tags);
                    if let Val::Int(v) = self.get(*src) {
                        assert_eq!(mask(v, size * 8), v, "the stored value is too wide");
                    }
                    self.memory.insert(key, self.get(*src));
                }
                Op::Rmw { dst, addr, size, tags, body, new } => {
                    let key = self.event("U", Some(*addr), *size, *tags);
                    let v = self.memory.get(&key).copied().unwrap_or(Val::ZERO);
                    self.set(*dst, v);
                    assert!(matches!(self.ops(body), Next::On));
                    self.memory.insert(key, self.get(*new));
                }
                Op::Fence { tags } => {
                    self.event("F", None, 0, *tags);
                }
                Op::If { cond, yes, no } => {
                    let list = if self.truth(*cond) { yes } else { no };
                    match self.ops(list) {
                        Next::On => {}
                        next => return next,
                    }
                }
                Op::Branch { cond, target } => {
                    if self.truth(*cond) {
                        return Next::To(*target);
                    }
                }
                Op::Jump { target } => return Next::To(*target),
                // Whether something is undefined is for the simulator to say.
                Op::Undefined { .. } => {}
                op => panic!("C has no {op:?}"),
            }
        }
        Next::On
    }
}
