//! A sequential interpreter of micro-ops, for the tests of instruction sets: one thread, memory
//! as bytes, little endian. It follows values and what they depend on, and knows no instruction.

use super::{Isa, microcode::mask};
use litmake_base::diag::{Source, Span};
use litmake_litmus::{Line, Symbols, Type};
use litmake_ops::eval::{eval_bin, eval_un};
use litmake_ops::{Code, Op, Tags, Temp, Val};
use std::collections::{BTreeMap, BTreeSet};

/// Loads, and store-conditionals whose status depends on the write, by their number in order of
/// execution.
pub type Deps = BTreeSet<usize>;

#[derive(Clone, Debug, Default)]
struct Value {
    v: u128,
    deps: Deps,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Load,
    Store,
    StoreEx,
    /// With the value that is written.
    Rmw,
    Fence,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub what: What,
    pub addr: u128,
    pub value: u128,
    pub size: u8,
    pub tags: Tags,
    pub addr_deps: Deps,
    pub data_deps: Deps,
    pub ctrl_deps: Deps,
}

#[derive(Default)]
pub struct Names(pub Vec<String>);

impl Symbols for Names {
    fn location(&mut self, name: &str) -> u16 {
        let at = self.0.iter().position(|n| n == name);
        at.unwrap_or_else(|| {
            self.0.push(name.to_string());
            self.0.len() - 1
        }) as u16
    }

    fn declare(&mut self, name: &str, _: &Type) -> u16 {
        self.location(name)
    }
}

#[derive(Default)]
pub struct Machine {
    pub names: Names,
    regs: BTreeMap<String, Value>,
    pub memory: BTreeMap<u128, u8>,
    pub events: Vec<Event>,
    ctrl: Deps,
    loads: usize,
    /// Whether store-conditionals fail.
    pub fail: bool,
    /// What `Choose` gives.
    pub choose: bool,
    /// Whether a path was dropped, since its choices do not fit.
    pub dropped: bool,
}

enum Next {
    Go,
    To(u32),
    End,
}

/// A test's code, one instruction a line; a label stands before a colon.
pub fn lines(text: &str) -> (Source, Vec<Line>) {
    let source = Source::new("t.litmus", text);
    let mut at = 0;
    let mut lines = Vec::new();
    for raw in text.split_inclusive('\n') {
        let (mut start, mut rest) = (at, raw.trim_end());
        at += raw.len();
        let mut labels = Vec::new();
        while let Some((label, tail)) =
            rest.split_once(": ").or(rest.strip_suffix(':').map(|label| (label, "")))
        {
            if label.trim().contains(char::is_whitespace) {
                break;
            }
            labels.push(label.trim().to_string());
            start += rest.len() - tail.len();
            rest = tail;
        }
        let lead = rest.len() - rest.trim_start().len();
        let text = rest.trim().to_string();
        let span = Span::new(start + lead, start + lead + text.len());
        if !text.is_empty() || !labels.is_empty() {
            lines.push(Line { labels, text, span });
        }
    }
    (source, lines)
}

impl Machine {
    pub fn code(&mut self, isa: &dyn Isa, text: &str) -> Result<Code, String> {
        let (source, lines) = lines(text);
        isa.thread(&source, &lines, &mut self.names).map_err(|d| d.to_string())
    }

    /// Reads and runs a thread.
    pub fn run(&mut self, isa: &dyn Isa, text: &str) -> &mut Machine {
        let code = self.code(isa, text).unwrap_or_else(|e| panic!("{e}"));
        for (reg, val) in &code.reg_init {
            self.set(&code.regs[usize::from(*reg)].name, constant(*val));
        }
        self.execute(&code);
        self
    }

    pub fn location(&mut self, name: &str) -> u128 {
        address(self.names.location(name), 0)
    }

    pub fn set(&mut self, reg: &str, v: u128) -> &mut Machine {
        let deps = Deps::new();
        self.regs.insert(reg.to_string(), Value { v, deps });
        self
    }

    pub fn reg(&self, name: &str) -> u128 {
        self.regs.get(name).map_or(0, |k| k.v)
    }

    pub fn reg_deps(&self, name: &str) -> Deps {
        self.regs.get(name).map_or(Deps::new(), |k| k.deps.clone())
    }

    pub fn poke(&mut self, addr: u128, size: u8, v: u128) {
        for i in 0..u128::from(size) {
            self.memory.insert(addr + i, (v >> (8 * i)) as u8);
        }
    }

    pub fn peek(&self, addr: u128, size: u8) -> u128 {
        (0..u128::from(size)).fold(0, |v, i| {
            let byte = self.memory.get(&(addr + i)).copied().unwrap_or(0);
            v | u128::from(byte) << (8 * i)
        })
    }

    pub fn execute(&mut self, code: &Code) {
        let mut at = 0;
        for _ in 0..10_000 {
            let Some(inst) = code.insts.get(at) else {
                return;
            };
            let mut temps = BTreeMap::new();
            at = match self.ops(code, &inst.ops, &mut temps, &Deps::new()) {
                Next::Go => at + 1,
                Next::To(to) => to as usize,
                Next::End => return,
            };
        }
        panic!("the thread does not end");
    }

    fn ops(
        &mut self,
        code: &Code,
        ops: &[Op],
        temps: &mut BTreeMap<Temp, Value>,
        inside: &Deps,
    ) -> Next {
        for op in ops {
            match op {
                Op::Const { dst, val } => {
                    temps.insert(*dst, Value { v: constant(*val), deps: Deps::new() });
                }
                Op::ReadReg { dst, reg, .. } => {
                    let known = self.regs.get(&code.regs[*reg as usize].name);
                    temps.insert(*dst, known.cloned().unwrap_or_default());
                }
                Op::WriteReg { reg, src } => {
                    let info = &code.regs[*reg as usize];
                    let mut known = get(temps, src);
                    assert!(
                        known.v <= mask(info.bits),
                        "{} does not hold {:#x}",
                        info.name,
                        known.v
                    );
                    known.deps.extend(inside);
                    self.regs.insert(info.name.clone(), known);
                }
                Op::Un { dst, op, a, width } => {
                    let mut a = get(temps, a);
                    a.v = number(eval_un(*op, Val::Int(a.v), *width));
                    temps.insert(*dst, a);
                }
                Op::Bin { dst, op, a, b, width } => {
                    let (mut a, b) = (get(temps, a), get(temps, b));
                    a.v = number(eval_bin(*op, Val::Int(a.v), Val::Int(b.v), *width));
                    a.deps.extend(b.deps);
                    temps.insert(*dst, a);
                }
                Op::Select { dst, cond, yes, no } => {
                    let cond = get(temps, cond);
                    let (yes, no) = (get(temps, yes), get(temps, no));
                    let mut chosen = if cond.v != 0 { yes } else { no };
                    chosen.deps.extend(cond.deps);
                    temps.insert(*dst, chosen);
                }
                Op::Assume { cond } => {
                    if get(temps, cond).v == 0 {
                        self.dropped = true;
                        return Next::End;
                    }
                }
                Op::Choose { dst } => {
                    temps.insert(*dst, Value { v: self.choose.into(), deps: Deps::new() });
                }
                Op::Load { .. } | Op::Store { .. } | Op::StoreEx { .. } | Op::Rmw { .. } => {
                    self.access(code, op, temps, inside);
                }
                Op::Touch { .. } | Op::Control { .. } | Op::Undefined { .. } => {}
                Op::Fence { tags } => {
                    let none = Value::default();
                    self.event(What::Fence, none.clone(), none, 0, 0, *tags, inside);
                }
                Op::If { cond, yes, no } => {
                    let cond = get(temps, cond);
                    let side = if cond.v != 0 { yes } else { no };
                    let inside = inside | &cond.deps;
                    match self.ops(code, side, temps, &inside) {
                        Next::Go => {}
                        next => return next,
                    }
                }
                Op::Branch { cond, target } => {
                    let cond = get(temps, cond);
                    self.ctrl.extend(cond.deps);
                    if cond.v != 0 {
                        return Next::To(*target);
                    }
                }
                Op::Jump { target } => return Next::To(*target),
                Op::JumpTo { addr } => {
                    let addr = get(temps, addr);
                    self.ctrl.extend(addr.deps);
                    let target = addr.v.checked_sub(CODE).unwrap_or(u128::MAX);
                    return match u32::try_from(target) {
                        Ok(target) if (target as usize) <= code.insts.len() => Next::To(target),
                        _ => Next::End,
                    };
                }
                Op::Halt => return Next::End,
            }
        }
        Next::Go
    }

    fn access(&mut self, code: &Code, op: &Op, temps: &mut BTreeMap<Temp, Value>, inside: &Deps) {
        match op {
            Op::Load { dst, addr, size, tags } => {
                let addr = get(temps, addr);
                let v = self.peek(addr.v, *size);
                let deps = Deps::from([self.loads]);
                self.loads += 1;
                temps.insert(*dst, Value { v, deps });
                let none = Value::default();
                self.event(What::Load, addr, none, v, *size, *tags, inside);
            }
            Op::Store { addr, src, size, tags } => {
                let (addr, src) = (get(temps, addr), get(temps, src));
                let v = src.v & mask(8 * *size);
                self.poke(addr.v, *size, v);
                self.event(What::Store, addr, src, v, *size, *tags, inside);
            }
            Op::StoreEx { status, addr, src, size, tags, ok, fail, status_dep, .. } => {
                let (addr, src) = (get(temps, addr), get(temps, src));
                let v = src.v & mask(8 * *size);
                let mut deps = Deps::new();
                if self.fail {
                    let v = u128::from(*fail);
                    temps.insert(*status, Value { v, deps });
                } else {
                    self.poke(addr.v, *size, v);
                    self.event(What::StoreEx, addr, src, v, *size, *tags, inside);
                    if *status_dep {
                        deps.insert(self.loads);
                        self.loads += 1;
                    }
                    let v = u128::from(*ok);
                    temps.insert(*status, Value { v, deps });
                }
            }
            Op::Rmw { dst, addr, size, tags, body, new } => {
                let addr = get(temps, addr);
                let v = self.peek(addr.v, *size);
                let deps = Deps::from([self.loads]);
                self.loads += 1;
                temps.insert(*dst, Value { v, deps });
                self.ops(code, body, temps, inside);
                let src = get(temps, new);
                let v = src.v & mask(8 * *size);
                self.poke(addr.v, *size, v);
                self.event(What::Rmw, addr, src, v, *size, *tags, inside);
            }
            _ => {}
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an event has this many parts")]
    fn event(
        &mut self,
        what: What,
        addr: Value,
        src: Value,
        value: u128,
        size: u8,
        tags: Tags,
        inside: &Deps,
    ) {
        self.events.push(Event {
            what,
            addr: addr.v,
            value,
            size,
            tags,
            addr_deps: addr.deps,
            data_deps: src.deps,
            ctrl_deps: &self.ctrl | inside,
        });
    }
}

const CODE: u128 = 0x4000_0000;

/// The distance between locations, and the address of the first one.
pub const BASE: u128 = 0x10_0000;

pub fn address(loc: u16, off: i64) -> u128 {
    (BASE * (u128::from(loc) + 1)).wrapping_add(off as u128)
}

fn constant(val: Val) -> u128 {
    match val {
        Val::Int(n) => n,
        Val::Ptr { loc, off } => address(loc, off),
        Val::Code(n) => CODE + u128::from(n),
    }
}

/// The number in a value; panics for a result without a value.
fn get(temps: &BTreeMap<Temp, Value>, t: &Temp) -> Value {
    temps.get(t).expect("a temporary is assigned").clone()
}

fn number(value: Option<Val>) -> u128 {
    match value {
        Some(Val::Int(n)) => n,
        other => panic!("not a number: {other:?}"),
    }
}
