//! Splits conditional instructions: the ops that evaluate the condition, and the ops on each side
//! of it.
//!
//! It does not know values, nor what matters.

use litmake_ops::{Op, Reg, Temp, UnOp};

/// An instruction with different effects if a condition holds and if it does not.
pub struct Sided {
    /// The ops that evaluate the condition, without a final negation.
    pub condition: Vec<Op>,
    /// All ops of the instruction if the condition does not hold, and if it holds.
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
        // The condition is asked for on both sides.
        let asked = [Op::Assume { cond: *cond }];
        let side = |ops: &[Op]| [before, &asked, ops].concat();
        let ops = if turned { [side(yes), side(no)] } else { [side(no), side(yes)] };
        Some(Sided { condition: condition.to_vec(), ops })
    }
}

/// The ops that evaluate a condition without a final negation, and whether there was one.
pub fn straight(condition: &[Op]) -> (&[Op], bool) {
    match condition.split_last() {
        Some((Op::Un { op: UnOp::IsZero, .. }, rest)) => (rest, true),
        _ => (condition, false),
    }
}

/// The temporary with the result of [`straight`], where `says` has the result of all ops.
pub fn straight_says(condition: &[Op], says: Temp) -> Temp {
    match condition.last() {
        Some(Op::Un { op: UnOp::IsZero, a, .. }) => *a,
        _ => says,
    }
}

/// Whether an op gives the same result when it runs again with the same registers.
pub fn is_pure(op: &Op) -> bool {
    matches!(
        op,
        Op::Const { .. } | Op::ReadReg { .. } | Op::Un { .. } | Op::Bin { .. } | Op::Select { .. }
    )
}

pub fn reads(ops: &[Op], register: Reg) -> bool {
    ops.iter().any(|op| matches!(op, Op::ReadReg { reg, .. } if *reg == register))
}

/// Whether ops read a register anywhere.
pub fn mentions(ops: &[Op], register: Reg) -> bool {
    ops.iter().any(|op| match op {
        Op::ReadReg { reg, .. } => *reg == register,
        Op::If { yes, no, .. } => mentions(yes, register) || mentions(no, register),
        Op::Rmw { body, .. } => mentions(body, register),
        _ => false,
    })
}

/// The registers that ops always write.
pub fn written(ops: &[Op]) -> impl Iterator<Item = Reg> {
    ops.iter().filter_map(|op| match op {
        Op::WriteReg { reg, .. } => Some(*reg),
        _ => None,
    })
}
