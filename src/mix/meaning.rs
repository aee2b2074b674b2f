//! Describes what a compiled part does, independently of its registers and of the order of its
//! moves.
//!
//! Values are followed through parts without jumps. The description is the sequence of the part's
//! accesses and fences with the values that they use, and the values that it leaves in private
//! memory. Parts with equal descriptions count as one sequence, because the parts around them and
//! models can observe nothing else. It does not know what compiled a part.

use std::collections::BTreeMap;
use std::fmt::Write;

use litmake_lang::compiled::is_lock;
use litmake_ops::{BinOp, Code, Inst, Op, Reg, Tags, Temp, Val};

/// A digest of the expression for a value.
type Value = [u8; 16];

/// The largest number of operations that are followed.
const MAX_OPS: usize = 4096;

fn value(text: &str) -> Value {
    let mut out = [0; 16];
    out.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    out
}

fn show(v: &Value) -> String {
    v.iter().map(|b| format!("{b:02x}")).collect()
}

#[derive(Clone, Default)]
struct State {
    temps: BTreeMap<Temp, Value>,
    regs: BTreeMap<Reg, Value>,
    /// Private memory.
    own: BTreeMap<String, (u8, Value)>,
}

struct Follow<'a> {
    code: &'a Code,
    /// Registers and the locations that they point to at the start.
    needs: &'a [(String, String)],
    named: &'a [String],
    /// The locations behind known addresses.
    places: BTreeMap<Value, String>,
    effects: String,
    loads: usize,
    ops: usize,
    zero: Value,
}

/// Whether other threads can access a location of a part; locks are as shared as their locations.
fn is_shared(name: &str) -> bool {
    is_lock(name) || name.strip_prefix("loc").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

/// The description of a part, or `None` if it cannot be followed.
///
/// `places` are the locations that the code names itself, by their numbers in it.
pub fn meaning(code: &Code, needs: &[(String, String)], places: &[String]) -> Option<String> {
    let zero = value("const Int(0)");
    let mut follow = Follow {
        code,
        needs,
        named: places,
        places: BTreeMap::new(),
        effects: String::new(),
        loads: 0,
        ops: 0,
        zero,
    };
    for (_, place) in needs {
        follow.places.insert(value(&format!("address {place}")), place.clone());
    }
    let mut state = State::default();
    for Inst { ops, .. } in &code.insts {
        state.temps.clear();
        let before = follow.effects.len();
        follow.list(ops, &mut state)?;
        // The effects of one instruction belong together.
        if follow.effects.len() > before {
            follow.effects.push('\n');
        }
    }
    let mut out = follow.effects;
    for (place, (size, v)) in &state.own {
        let _ = writeln!(out, "leaves {place} {size} {}", show(v));
    }
    Some(out)
}

impl Follow<'_> {
    fn list(&mut self, ops: &[Op], s: &mut State) -> Option<()> {
        ops.iter().try_for_each(|op| self.op(op, s))
    }

    fn register(&mut self, reg: Reg, s: &mut State) -> Option<Value> {
        if let Some(v) = s.regs.get(&reg) {
            return Some(*v);
        }
        let name = &self.code.regs.get(usize::from(reg))?.name;
        let v = match self.needs.iter().find(|(r, _)| r == name) {
            Some((_, place)) => value(&format!("address {place}")),
            None => match self.code.reg_init.iter().find(|(r, _)| *r == reg) {
                Some((_, val)) => self.constant(&val.clone()),
                None => value(&format!("initial {name}")),
            },
        };
        s.regs.insert(reg, v);
        Some(v)
    }

    fn constant(&mut self, val: &Val) -> Value {
        let Val::Ptr { loc, off } = val else { return value(&format!("const {val:?}")) };
        let name = self.named.get(usize::from(*loc)).cloned().unwrap_or_default();
        if *off != 0 {
            return value(&format!("address {name} and {off}"));
        }
        let address = value(&format!("address {name}"));
        self.places.insert(address, name);
        address
    }

    /// The location behind an address, if it is known: the inner option is its name if it is
    /// private.
    fn own(&self, addr: &Value) -> Option<Option<String>> {
        let place = self.places.get(addr)?;
        Some((!is_shared(place)).then(|| place.clone()))
    }

    fn op(&mut self, op: &Op, s: &mut State) -> Option<()> {
        self.ops += 1;
        if self.ops > MAX_OPS {
            return None;
        }
        let get = |s: &State, t: &Temp| s.temps.get(t).copied();
        match op {
            Op::Const { dst, val } => {
                let v = self.constant(val);
                s.temps.insert(*dst, v);
            }
            // The way in which a value enters is part of the dependency.
            Op::ReadReg { dst, reg, .. } => {
                let v = self.register(*reg, s)?;
                s.temps.insert(*dst, v);
            }
            Op::WriteReg { reg, src } => {
                let v = get(s, src)?;
                s.regs.insert(*reg, v);
            }
            Op::Un { dst, op, a, width } => {
                let a = get(s, a)?;
                s.temps.insert(*dst, value(&format!("{op:?} {width} {}", show(&a))));
            }
            Op::Bin { dst, op, a, b, width } => {
                let (a, b) = (get(s, a)?, get(s, b)?);
                let v = match op {
                    BinOp::Add if b == self.zero && self.places.contains_key(&a) => a,
                    _ => value(&format!("{op:?} {width} {} {}", show(&a), show(&b))),
                };
                s.temps.insert(*dst, v);
            }
            Op::Select { dst, cond, yes, no } => {
                let (c, y, n) = (get(s, cond)?, get(s, yes)?, get(s, no)?);
                let text = format!("select {} {} {}", show(&c), show(&y), show(&n));
                s.temps.insert(*dst, value(&text));
            }
            Op::Choose { dst } => {
                self.loads += 1;
                s.temps.insert(*dst, value(&format!("choice {}", self.loads)));
                let _ = write!(self.effects, "choose; ");
            }
            Op::Assume { cond } => {
                let c = get(s, cond)?;
                let _ = write!(self.effects, "assume {}; ", show(&c));
            }
            Op::Load { dst, addr, size, tags } => {
                let addr = get(s, addr)?;
                let v = match self.own(&addr) {
                    Some(Some(place)) => match s.own.get(&place) {
                        Some((known, v)) if known == size => *v,
                        Some(_) => return None,
                        None => {
                            let v = value(&format!("given {place}"));
                            s.own.insert(place, (*size, v));
                            v
                        }
                    },
                    _ => {
                        self.loads += 1;
                        let _ = write!(self.effects, "load {size} {tags:?} {}; ", show(&addr));
                        value(&format!("load {}", self.loads))
                    }
                };
                s.temps.insert(*dst, v);
            }
            Op::Store { addr, src, size, tags } => self.store(addr, src, (*size, *tags), s)?,
            Op::Rmw { .. }
            | Op::StoreEx { .. }
            | Op::Touch { .. }
            | Op::Control { .. }
            | Op::Undefined { .. } => {
                return None;
            }
            Op::Fence { tags } => {
                let _ = write!(self.effects, "fence {tags:?}; ");
            }
            Op::If { cond, yes, no } => self.branch(cond, yes, no, s)?,
            Op::Branch { .. } | Op::Jump { .. } | Op::JumpTo { .. } | Op::Halt => return None,
        }
        Some(())
    }

    fn store(
        &mut self,
        addr: &Temp,
        src: &Temp,
        (size, tags): (u8, Tags),
        s: &mut State,
    ) -> Option<()> {
        let (addr, v) = (s.temps.get(addr).copied()?, s.temps.get(src).copied()?);
        match self.own(&addr) {
            Some(Some(place)) => {
                if s.own.get(&place).is_some_and(|(known, _)| *known != size) {
                    return None;
                }
                s.own.insert(place, (size, v));
            }
            _ => {
                let _ =
                    write!(self.effects, "store {size} {tags:?} {} {}; ", show(&addr), show(&v));
            }
        }
        Some(())
    }

    /// Both sides of a condition inside an instruction, joined.
    fn branch(&mut self, cond: &Temp, yes: &[Op], no: &[Op], s: &mut State) -> Option<()> {
        let c = s.temps.get(cond).copied()?;
        let (mut a, mut b) = (s.clone(), s.clone());
        let _ = write!(self.effects, "if {} ( ", show(&c));
        self.list(yes, &mut a)?;
        self.effects += ") else ( ";
        self.list(no, &mut b)?;
        self.effects += ") ";
        if a.own != b.own {
            return None;
        }
        let pick = |a: &Value, b: &Value| match a == b {
            true => *a,
            false => value(&format!("if {} {} {}", show(&c), show(a), show(b))),
        };
        for (t, v) in &a.temps {
            if let Some(w) = b.temps.get(t) {
                s.temps.insert(*t, pick(v, w));
            }
        }
        let regs: Vec<Reg> = a.regs.keys().chain(b.regs.keys()).copied().collect();
        for reg in regs {
            let (v, w) = (self.register(reg, &mut a)?, self.register(reg, &mut b)?);
            s.regs.insert(reg, pick(&v, &w));
        }
        s.own = a.own;
        Some(())
    }
}
