//! Runs the micro-ops of one thread alone, in order, and records what it does: values, accesses
//! with their annotations, and which loads each access depends on.

#![allow(dead_code, reason = "several tests share it, and not each uses all of it")]

use litmake::diag::{Diag, Source, Span};
use litmake::isa::Isa;
use litmake::litmus::{Line, Symbols, Type};
use litmake::ops::eval::{eval_bin, eval_un};
use litmake::ops::{Code, Op, Reg, Tags, Temp, Val, mask};
use std::collections::{BTreeMap, BTreeSet};

/// Where location number `n` lies.
pub const BASE: u128 = 0x10_0000;
const CODE: u128 = 0xc0de_0000;

#[derive(Default)]
pub struct Names(pub Vec<String>);

impl Symbols for Names {
    fn location(&mut self, name: &str) -> u16 {
        if let Some(i) = self.0.iter().position(|n| n == name) {
            return i as u16;
        }
        self.0.push(name.to_string());
        (self.0.len() - 1) as u16
    }

    fn declare(&mut self, name: &str, _ty: &Type) -> u16 {
        self.location(name)
    }
}

/// Reads a thread written one instruction a line, labels before a colon.
pub fn read(isa: &dyn Isa, text: &str) -> Result<(Code, Names), Box<Diag>> {
    let source = Source::new("t.litmus", text);
    let mut lines = Vec::new();
    let mut start = 0;
    for row in text.split('\n') {
        let mut line = Line {
            labels: Vec::new(),
            text: row.trim().to_string(),
            span: Span::new(start, start + row.len()),
        };
        while let Some((label, rest)) = line.text.split_once(':') {
            if label.is_empty()
                || !label.bytes().all(|b| b.is_ascii_alphanumeric() || b".$".contains(&b))
            {
                break;
            }
            line.labels.push(label.to_string());
            line.text = rest.trim().to_string();
        }
        start += row.len() + 1;
        if !line.text.is_empty() || !line.labels.is_empty() {
            lines.push(line);
        }
    }
    let mut names = Names::default();
    let code = isa.thread(&source, &lines, &mut names)?;
    assert_eq!(code.insts.len(), lines.len());
    Ok((code, names))
}

pub type Deps = BTreeSet<usize>;

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Load,
    Store,
    Rmw,
    Fence,
}

/// One event; the dependencies are numbers of earlier events.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub what: What,
    pub addr: u128,
    pub size: u8,
    pub value: u128,
    pub tags: Tags,
    pub addr_deps: Deps,
    pub data_deps: Deps,
    pub ctrl_deps: Deps,
}

#[derive(Clone, Default)]
struct Value {
    bits: u128,
    deps: Deps,
}

#[derive(Default)]
pub struct Machine {
    pub memory: BTreeMap<u128, u8>,
    regs: BTreeMap<Reg, Value>,
    names: BTreeMap<String, Reg>,
    /// Registers that the code does not name.
    unused: BTreeMap<String, u128>,
    pub events: Vec<Event>,
    ctrl: Deps,
    /// What `Choose` gives, and whether conditional stores succeed.
    pub choose: bool,
    pub steps: usize,
    pub dropped: bool,
}

enum Next {
    Fall,
    Go(usize),
    End,
}

impl Machine {
    pub fn new(code: &Code) -> Machine {
        let mut m = Machine { choose: true, ..Machine::default() };
        for (i, r) in code.regs.iter().enumerate() {
            m.names.insert(r.name.clone(), i as Reg);
        }
        for (reg, val) in &code.reg_init {
            m.regs.insert(*reg, m.constant(*val));
        }
        m
    }

    pub fn set(&mut self, name: &str, bits: u128) {
        if let Some(reg) = self.names.get(name) {
            let value = Value { bits, deps: Deps::new() };
            self.regs.insert(*reg, value);
        } else {
            self.unused.insert(name.to_string(), bits);
        }
    }

    pub fn get(&self, name: &str) -> u128 {
        match self.names.get(name) {
            Some(reg) => self.regs.get(reg).map_or(0, |v| v.bits),
            None => self.unused.get(name).copied().unwrap_or(0),
        }
    }

    pub fn deps(&self, name: &str) -> Deps {
        let reg = self.names.get(name);
        reg.and_then(|r| self.regs.get(r)).map_or(Deps::new(), |v| v.deps.clone())
    }

    pub fn poke(&mut self, addr: u128, size: u8, value: u128) {
        for i in 0..size {
            self.memory.insert(addr + u128::from(i), (value >> (8 * i)) as u8);
        }
    }

    pub fn peek(&self, addr: u128, size: u8) -> u128 {
        (0..size).fold(0, |v, i| {
            let byte = self.memory.get(&(addr + u128::from(i)));
            v | u128::from(*byte.unwrap_or(&0)) << (8 * i)
        })
    }

    pub fn run(&mut self, code: &Code) {
        let mut at = 0;
        while at < code.insts.len() && self.steps < 1000 {
            self.steps += 1;
            let mut temps = BTreeMap::new();
            match self.ops(code, &code.insts[at].ops, &mut temps, &Deps::new()) {
                Next::Fall => at += 1,
                Next::Go(n) => at = n,
                Next::End => return,
            }
        }
    }

    fn constant(&self, val: Val) -> Value {
        let bits = match val {
            Val::Int(n) => n,
            Val::Ptr { loc, off } => (BASE * (u128::from(loc) + 1)).wrapping_add(off as u128),
            Val::Code(n) => CODE + u128::from(n),
        };
        Value { bits, deps: Deps::new() }
    }

    fn ops(
        &mut self,
        code: &Code,
        ops: &[Op],
        temps: &mut BTreeMap<Temp, Value>,
        inner: &Deps,
    ) -> Next {
        for op in ops {
            let of = |t: &Temp, temps: &BTreeMap<Temp, Value>| {
                temps.get(t).cloned().expect("a temporary is assigned first")
            };
            match op {
                Op::Const { dst, val } => {
                    temps.insert(*dst, self.constant(*val));
                }
                Op::ReadReg { dst, reg, .. } => {
                    let value = self.regs.get(reg).cloned().unwrap_or_default();
                    temps.insert(*dst, value);
                }
                Op::WriteReg { reg, src } => {
                    let value = of(src, temps);
                    let bits = code.regs[*reg as usize].bits;
                    assert_eq!(
                        value.bits & !mask(bits),
                        0,
                        "{} does not fit into {}",
                        value.bits,
                        code.regs[*reg as usize].name
                    );
                    self.regs.insert(*reg, value);
                }
                Op::Un { dst, op, a, width } => {
                    let a = of(a, temps);
                    let value = Value {
                        bits: number(eval_un(*op, Val::Int(a.bits), *width)),
                        deps: a.deps,
                    };
                    temps.insert(*dst, value);
                }
                Op::Bin { dst, op, a, b, width } => {
                    let (a, b) = (of(a, temps), of(b, temps));
                    let bits = number(eval_bin(*op, Val::Int(a.bits), Val::Int(b.bits), *width));
                    let value = Value { bits, deps: &a.deps | &b.deps };
                    temps.insert(*dst, value);
                }
                Op::Select { dst, cond, yes, no } => {
                    let chosen = if of(cond, temps).bits != 0 { yes } else { no };
                    let value = of(chosen, temps);
                    temps.insert(*dst, value);
                }
                Op::Choose { dst } => {
                    let value = Value { bits: self.choose.into(), deps: Deps::new() };
                    temps.insert(*dst, value);
                }
                Op::Assume { cond } => {
                    if of(cond, temps).bits == 0 {
                        self.dropped = true;
                        return Next::End;
                    }
                }
                Op::Load { dst, addr, size, tags } => {
                    let addr = of(addr, temps);
                    let bits = self.peek(addr.bits, *size);
                    let n = self.event(What::Load, &addr, *size, bits, *tags, Deps::new(), inner);
                    let deps = Deps::from([n]);
                    temps.insert(*dst, Value { bits, deps });
                }
                Op::Store { addr, src, size, tags } => {
                    let (addr, src) = (of(addr, temps), of(src, temps));
                    let bits = src.bits & mask(8 * size);
                    self.poke(addr.bits, *size, bits);
                    self.event(What::Store, &addr, *size, bits, *tags, src.deps, inner);
                }
                Op::StoreEx { status, addr, src, size, tags, ok, fail, status_dep, .. } => {
                    let (addr, src) = (of(addr, temps), of(src, temps));
                    let mut deps = Deps::new();
                    if self.choose {
                        let bits = src.bits & mask(8 * size);
                        self.poke(addr.bits, *size, bits);
                        let n = self.event(What::Store, &addr, *size, bits, *tags, src.deps, inner);
                        if *status_dep {
                            deps.insert(n);
                        }
                    }
                    let bits = if self.choose { *ok } else { *fail }.into();
                    temps.insert(*status, Value { bits, deps });
                }
                Op::Rmw { dst, addr, size, tags, body, new } => {
                    let addr = of(addr, temps);
                    let old = self.peek(addr.bits, *size);
                    let n = self.events.len();
                    let deps = Deps::from([n]);
                    temps.insert(*dst, Value { bits: old, deps });
                    self.ops(code, body, temps, inner);
                    let mut new = of(new, temps);
                    new.deps.remove(&n);
                    let bits = new.bits & mask(8 * size);
                    self.poke(addr.bits, *size, bits);
                    self.event(What::Rmw, &addr, *size, bits, *tags, new.deps, inner);
                }
                Op::Touch { .. } | Op::Control { .. } | Op::Undefined { .. } => {}
                Op::Fence { tags } => {
                    let none = Value::default();
                    self.event(What::Fence, &none, 0, 0, *tags, Deps::new(), inner);
                }
                Op::If { cond, yes, no } => {
                    let cond = of(cond, temps);
                    let inner = inner | &cond.deps;
                    let list = if cond.bits != 0 { yes } else { no };
                    match self.ops(code, list, temps, &inner) {
                        Next::Fall => {}
                        next => return next,
                    }
                }
                Op::Branch { cond, target } => {
                    let cond = of(cond, temps);
                    self.ctrl.extend(cond.deps);
                    if cond.bits != 0 {
                        return Next::Go(*target as usize);
                    }
                }
                Op::Jump { target } => return Next::Go(*target as usize),
                Op::JumpTo { addr } => {
                    let addr = of(addr, temps);
                    self.ctrl.extend(addr.deps);
                    return match addr.bits.checked_sub(CODE) {
                        Some(n) if n <= code.insts.len() as u128 => Next::Go(n as usize),
                        _ => Next::End,
                    };
                }
                Op::Halt => return Next::End,
            }
        }
        Next::Fall
    }

    #[expect(clippy::too_many_arguments, reason = "an event has this many parts")]
    fn event(
        &mut self,
        what: What,
        addr: &Value,
        size: u8,
        value: u128,
        tags: Tags,
        data_deps: Deps,
        inner: &Deps,
    ) -> usize {
        self.events.push(Event {
            what,
            addr: addr.bits,
            size,
            value,
            tags,
            addr_deps: addr.deps.clone(),
            data_deps,
            ctrl_deps: &self.ctrl | inner,
        });
        self.events.len() - 1
    }
}

/// Code that computes what has no value is wrong.
fn number(value: Option<Val>) -> u128 {
    match value {
        Some(Val::Int(n)) => n,
        other => panic!("not a number: {other:?}"),
    }
}
