//! What matters at a place in the code: registers, bit by bit, and slots of the stack; and what
//! of that does not matter where a condition holds, so that instructions under one condition are
//! seen as one block. It does not know what registers hold.

use std::collections::BTreeSet;

use crate::isa::ops::{Op, Reg, Temp, UnOp};

/// What matters before or after an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    pub regs: Vec<u128>,
    pub slots: BTreeSet<(i64, u8)>,
    when: Option<When>,
}

/// What matters on one side of a condition alone.
#[derive(Clone, Debug, PartialEq)]
struct When {
    condition: Vec<Op>,
    /// Bits that do not matter where it does not hold, and where it does.
    idle: [Vec<u128>; 2],
}

impl Live {
    /// Nothing matters, of so many registers.
    pub fn nothing(regs: usize) -> Live {
        Live { regs: vec![0; regs], ..Live::default() }
    }

    /// The bits that matter where a condition has this side.
    pub fn side(&self, condition: &[Op], side: bool) -> Vec<u128> {
        match self.when.as_ref().filter(|w| w.condition == condition) {
            Some(w) => {
                let bits = self.regs.iter().zip(&w.idle[usize::from(side)]);
                bits.map(|(all, idle)| all & !idle).collect()
            }
            None => self.regs.clone(),
        }
    }

    /// The condition by whose sides it differs what matters.
    pub fn condition(&self) -> Option<&[Op]> {
        self.when.as_ref().map(|w| w.condition.as_slice())
    }

    /// Takes what matters on each side of a condition.
    pub fn set_sides(&mut self, condition: &[Op], sides: [Vec<u128>; 2]) {
        self.regs = sides[0].iter().zip(&sides[1]).map(|(a, b)| a | b).collect();
        let idle = sides.map(|side| self.regs.iter().zip(side).map(|(all, s)| all & !s).collect());
        let differs = idle.iter().flatten().any(|bits: &u128| *bits != 0);
        self.when = differs.then(|| When { condition: condition.to_vec(), idle });
    }

    pub fn set(&mut self, regs: Vec<u128>) {
        self.regs = regs;
        self.when = None;
    }

    /// Adds what matters on another way; whether that is more.
    pub fn join(&mut self, other: &Live) -> bool {
        let before = (self.slots.len(), self.regs.clone(), self.when.clone());
        self.slots.extend(&other.slots);
        let union = |a: Vec<u128>, b: Vec<u128>| -> Vec<u128> {
            let bits = |v: &[u128], i: usize| v.get(i).copied().unwrap_or(0);
            (0..a.len().max(b.len())).map(|i| bits(&a, i) | bits(&b, i)).collect()
        };
        match self.condition().or(other.condition()).map(<[Op]>::to_vec) {
            Some(c) => {
                let sides = [false, true].map(|s| union(self.side(&c, s), other.side(&c, s)));
                self.set_sides(&c, sides);
            }
            None => self.regs = union(std::mem::take(&mut self.regs), other.regs.clone()),
        }
        before != (self.slots.len(), self.regs.clone(), self.when.clone())
    }
}

/// An instruction that does one thing where a condition holds and another where not.
pub struct Sided {
    /// The ops that find out, without a last turn to the contrary.
    pub condition: Vec<Op>,
    /// All that the instruction does where it does not hold, and where it does.
    pub ops: [Vec<Op>; 2],
}

impl Sided {
    pub fn of(ops: &[Op]) -> Option<Sided> {
        let Some((Op::If { cond, yes, no }, before)) = ops.split_last() else {
            return None;
        };
        if !before.iter().all(is_pure) {
            return None;
        }
        let (condition, turned) = match before.last() {
            Some(Op::Un { dst, .. }) if dst == cond => straight(before),
            _ => (before, false),
        };
        let side = |ops: &[Op]| [before, ops].concat();
        let ops = if turned { [side(yes), side(no)] } else { [side(no), side(yes)] };
        Some(Sided { condition: condition.to_vec(), ops })
    }
}

/// Ops that find out whether a condition holds, without a last turn to the contrary; and whether
/// there is one.
pub fn straight(condition: &[Op]) -> (&[Op], bool) {
    match condition.split_last() {
        Some((Op::Un { op: UnOp::IsZero, .. }, rest)) => (rest, true),
        _ => (condition, false),
    }
}

/// Whether an op, run again where the registers that it reads are the same, says the same.
pub fn is_pure(op: &Op) -> bool {
    matches!(
        op,
        Op::Const { .. } | Op::ReadReg { .. } | Op::Un { .. } | Op::Bin { .. } | Op::Select { .. }
    )
}

pub fn reads(ops: &[Op], register: Reg) -> bool {
    ops.iter().any(|op| matches!(op, Op::ReadReg { reg, .. } if *reg == register))
}

/// Whether a register is read anywhere in ops.
pub fn mentions(ops: &[Op], register: Reg) -> bool {
    ops.iter().any(|op| match op {
        Op::ReadReg { reg, .. } => *reg == register,
        Op::If { yes, no, .. } => mentions(yes, register) || mentions(no, register),
        Op::Rmw { body, .. } => mentions(body, register),
        _ => false,
    })
}

/// The registers that ops write whatever comes.
pub fn written(ops: &[Op]) -> impl Iterator<Item = Reg> {
    ops.iter().filter_map(|op| match op {
        Op::WriteReg { reg, .. } => Some(*reg),
        _ => None,
    })
}

/// Whether a temporary matters, on one side or the other.
pub fn any_wanted(sides: &[Vec<u128>], t: Temp) -> bool {
    sides.iter().any(|bits| bits.get(usize::from(t)).is_some_and(|b| *b != 0))
}
