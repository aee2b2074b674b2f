//! Instructions under a condition: the ops that find out whether it holds, and what is done on
//! each side of it. It does not know what anything holds, nor what matters.

use litmake_ops::{Op, Reg, Temp, UnOp};

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

/// The temporary that says what [`straight`] leaves, where `says` says all.
pub fn straight_says(condition: &[Op], says: Temp) -> Temp {
    match condition.last() {
        Some(Op::Un { op: UnOp::IsZero, a, .. }) => *a,
        _ => says,
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
