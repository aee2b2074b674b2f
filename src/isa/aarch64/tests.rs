//! Tests of AArch64: values and flags against Rust's arithmetic, accesses and their
//! annotations, dependencies, syntax, and diagnostics.
//!
//! They run code one instruction after the other. Each value carries where it came from, so
//! that a test can ask what an address or a stored value depends on.

use super::operand::{Index, Mem, Operand, Parts, Shift, Symbol, Vector, parse};
use super::regs::View;
use super::*;
use litmake_litmus::Type;
use litmake_ops::eval::{eval_bin, eval_un};
use litmake_ops::{Op, Port, Tags, Val, tag};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

mod atomics;
mod float;
mod flow;
mod integer;
mod memory;
mod syntax;

#[derive(Default)]
struct Locations(Vec<String>);

impl Symbols for Locations {
    fn location(&mut self, name: &str) -> u16 {
        let found = self.0.iter().position(|n| n == name);
        found.unwrap_or_else(|| {
            self.0.push(name.to_string());
            self.0.len() - 1
        }) as u16
    }

    fn declare(&mut self, name: &str, _: &Type) -> u16 {
        self.location(name)
    }
}

const BASE: AArch64 = AArch64 { lse2: false };
const LSE2: AArch64 = AArch64 { lse2: true };

/// Lowers instructions separated by `;`, each with labels before it (`L0: NOP`).
fn lowered(isa: AArch64, text: &str) -> Result<Code> {
    let source = Source::new("t.litmus", text);
    let mut lines = Vec::new();
    let mut start = 0;
    for piece in text.split(';') {
        let mut labels = Vec::new();
        let mut rest = piece;
        while let Some((label, after)) = rest.split_once(": ") {
            labels.push(label.trim().to_string());
            rest = after;
        }
        let from = start + piece.len() - rest.trim_start().len();
        lines.push(Line {
            labels,
            text: rest.trim().to_string(),
            span: Span::new(from, from + rest.trim().len()),
        });
        start += piece.len() + 1;
    }
    isa.thread(&source, &lines, &mut Locations(vec!["x".into(), "y".into()]))
}

fn refusal(text: &str) -> String {
    lowered(BASE, text).expect_err("must be refused").to_string()
}

type From = BTreeSet<String>;

/// A number, what it depends on by data, and what by a decision inside an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
struct Value {
    n: u128,
    data: From,
    pick: From,
}

impl Value {
    fn of(n: u128) -> Value {
        Value { n, ..Value::default() }
    }

    fn with(mut self, other: &Value) -> Value {
        self.data.extend(other.data.iter().cloned());
        self.pick.extend(other.pick.iter().cloned());
        self
    }

    /// The same under a decision.
    fn under(mut self, decisions: &From) -> Value {
        self.pick.extend(decisions.iter().cloned());
        self
    }

    fn all(&self) -> From {
        self.data.union(&self.pick).cloned().collect()
    }
}

#[derive(Clone, Debug)]
struct Access {
    write: bool,
    exclusive: bool,
    addr: Value,
    value: Value,
    size: u8,
    tags: Tags,
}

/// A sequential machine. `x` is at 0x1000, `y` at 0x2000, instruction n at CODE + 4n.
#[derive(Default)]
struct Machine {
    regs: BTreeMap<String, Value>,
    memory: BTreeMap<u128, u8>,
    accesses: Vec<Access>,
    fences: Vec<Tags>,
    /// The reads that branches depend on.
    ctrl: From,
    ports: Vec<(String, Port)>,
    choose: bool,
    trace: Vec<usize>,
}

const CODE: u128 = 0x4000_0000_0000;

fn ones(width: u8) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

impl Machine {
    fn new(regs: &[(&str, u128)]) -> Machine {
        let mut machine = Machine::default();
        for (name, n) in regs {
            machine.regs.insert(
                name.to_string(),
                Value { n: *n, data: From::from([name.to_string()]), pick: From::new() },
            );
        }
        machine
    }

    fn poke(&mut self, addr: u128, size: u8, n: u128) {
        for i in 0..u128::from(size) {
            self.memory.insert(addr + i, (n >> (8 * i)) as u8);
        }
    }

    fn peek(&self, addr: u128, size: u8) -> u128 {
        (0..u128::from(size)).fold(0, |n, i| {
            n | u128::from(self.memory.get(&(addr + i)).copied().unwrap_or(0)) << (8 * i)
        })
    }

    fn get(&self, reg: &str) -> u128 {
        self.regs.get(reg).map_or(0, |v| v.n)
    }

    fn from(&self, reg: &str) -> Value {
        self.regs.get(reg).cloned().unwrap_or_default()
    }

    fn run(mut self, isa: AArch64, text: &str) -> Machine {
        let code = lowered(isa, text).unwrap_or_else(|d| panic!("{d}"));
        let mut pc = 0;
        for _ in 0..200 {
            let Some(inst) = code.insts.get(pc) else {
                break;
            };
            self.trace.push(pc);
            let mut temps = BTreeMap::new();
            let next = self.ops(&code, &inst.ops, &mut temps, &From::new());
            pc = next.unwrap_or(pc as u32 + 1) as usize;
        }
        self
    }

    fn ops(
        &mut self,
        code: &Code,
        ops: &[Op],
        temps: &mut BTreeMap<u16, Value>,
        under: &From,
    ) -> Option<u32> {
        for op in ops {
            let t = |i: &u16| temps.get(i).cloned().expect("assigned before use");
            match op {
                Op::Const { dst, val } => {
                    let n = match val {
                        Val::Int(n) => *n,
                        Val::Ptr { loc, off } => {
                            (0x1000 * (u128::from(*loc) + 1)).wrapping_add(*off as u128) & ones(64)
                        }
                        Val::Code(n) => CODE + 4 * u128::from(*n),
                    };
                    temps.insert(*dst, Value::of(n));
                }
                Op::ReadReg { dst, reg, port } => {
                    let name = &code.regs[*reg as usize].name;
                    self.ports.push((name.clone(), *port));
                    let value = self.from(name);
                    temps.insert(*dst, value);
                }
                Op::WriteReg { reg, src } => {
                    let info = &code.regs[*reg as usize];
                    let value = t(src).under(under);
                    assert!(
                        value.n <= ones(info.bits),
                        "{} does not hold {:#x}",
                        info.name,
                        value.n
                    );
                    self.regs.insert(info.name.clone(), value);
                }
                Op::Un { dst, op, a, width } => {
                    let a = t(a);
                    temps.insert(
                        *dst,
                        Value { n: number(eval_un(*op, Val::Int(a.n), *width)), ..a },
                    );
                }
                Op::Bin { dst, op, a, b, width } => {
                    let (a, b) = (t(a), t(b));
                    let n = number(eval_bin(*op, Val::Int(a.n), Val::Int(b.n), *width));
                    temps.insert(*dst, Value::of(n).with(&a).with(&b));
                }
                Op::Select { dst, cond, yes, no } => {
                    let cond = t(cond);
                    let chosen = if cond.n != 0 { t(yes) } else { t(no) };
                    temps.insert(*dst, chosen.under(&cond.all()));
                }
                Op::Choose { dst } => {
                    temps.insert(*dst, Value::of(self.choose.into()));
                }
                Op::Load { dst, addr, size, tags } => {
                    let value = self.load(t(addr).under(under), *size, *tags);
                    temps.insert(*dst, value);
                }
                Op::Store { addr, src, size, tags } => {
                    self.store(t(addr).under(under), t(src).under(under), *size, *tags, false);
                }
                Op::StoreEx { status, addr, src, size, tags, ok, .. } => {
                    self.store(t(addr), t(src), *size, *tags, true);
                    temps.insert(*status, Value::of((*ok).into()));
                }
                Op::Touch { .. } | Op::Control { .. } | Op::Undefined { .. } => {}
                Op::Fence { tags } => self.fences.push(*tags),
                Op::If { cond, yes, no } => {
                    let cond = t(cond);
                    let mut inner = under.clone();
                    inner.extend(cond.all());
                    let side = if cond.n != 0 { yes } else { no };
                    assert_eq!(self.ops(code, side, temps, &inner), None);
                }
                Op::Branch { cond, target } => {
                    let cond = t(cond);
                    self.ctrl.extend(cond.all());
                    if cond.n != 0 {
                        return Some(*target);
                    }
                }
                Op::Jump { target } => return Some(*target),
                Op::JumpTo { addr } => {
                    let addr = t(addr).n;
                    let end = code.insts.len() as u32;
                    return Some(if addr >= CODE { ((addr - CODE) / 4) as u32 } else { end });
                }
                Op::Halt => return Some(code.insts.len() as u32),
                Op::Rmw { .. } => panic!("no instruction is one event"),
                Op::Assume { .. } => panic!("no instruction drops a path"),
            }
        }
        None
    }

    fn load(&mut self, addr: Value, size: u8, tags: Tags) -> Value {
        let n = self.peek(addr.n, size);
        let loads = self.accesses.iter().filter(|a| !a.write).count();
        let value = Value { n, data: From::from([format!("R{loads}")]), pick: From::new() };
        self.accesses.push(Access {
            write: false,
            exclusive: false,
            addr,
            value: value.clone(),
            size,
            tags,
        });

        value
    }

    fn store(&mut self, addr: Value, value: Value, size: u8, tags: Tags, exclusive: bool) {
        self.poke(addr.n, size, value.n);
        let value = Value { n: value.n & ones(size * 8), ..value };
        self.accesses.push(Access { write: true, exclusive, addr, value, size, tags });
    }

    /// Reads and writes as (write, address, size, tags).
    fn log(&self) -> Vec<(bool, u128, u8, Tags)> {
        let entry = |a: &Access| (a.write, a.addr.n, a.size, a.tags);
        self.accesses.iter().map(entry).collect()
    }
}

/// Code that computes what has no value is wrong.
fn number(value: Option<Val>) -> u128 {
    match value {
        Some(Val::Int(n)) => n,
        other => panic!("not a number: {other:?}"),
    }
}

fn names(list: &[&str]) -> From {
    list.iter().map(|s| s.to_string()).collect()
}
