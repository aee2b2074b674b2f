//! Computes which bits of registers matter before an instruction, given those that matter after it.
//!
//! It does not know what registers hold.

use std::collections::HashMap;

use litmake_ops::{BinOp, Op, Temp, UnOp, Val, mask};

/// Computes the bits of registers that matter before some ops, given those that matter after, and
/// returns the bits of temporaries that matter.
pub fn needed(ops: &[Op], live: &mut [u128], matters: &Matters) -> Vec<u128> {
    let mut temps = vec![0u128; 0];
    let mut constants = HashMap::new();
    gather(ops, &mut constants);
    backwards(ops, live, &mut temps, &constants, matters, true);
    temps
}

/// The parts of an instruction's accesses that matter, by the temporary that is loaded or stored.
pub struct Matters<'a> {
    /// Whether the address matters.
    pub address: &'a dyn Fn(Temp) -> bool,
    /// The bits of a stored value that matter.
    pub stored: &'a dyn Fn(Temp) -> u128,
}

fn gather(ops: &[Op], out: &mut HashMap<Temp, u128>) {
    for op in ops {
        match op {
            Op::Const { dst, val: Val::Int(n) } => {
                out.insert(*dst, *n);
            }
            Op::Rmw { body, .. } => gather(body, out),
            Op::If { yes, no, .. } => {
                gather(yes, out);
                gather(no, out);
            }
            _ => {}
        }
    }
}

fn want(temps: &mut Vec<u128>, t: Temp, bits: u128) {
    let t = usize::from(t);
    if temps.len() <= t {
        temps.resize(t + 1, 0);
    }
    temps[t] |= bits;
}

/// All bits up to the highest one.
fn up_to(bits: u128) -> u128 {
    if bits == 0 { 0 } else { u128::MAX >> bits.leading_zeros() }
}

fn backwards(
    ops: &[Op],
    live: &mut [u128],
    temps: &mut Vec<u128>,
    constants: &HashMap<Temp, u128>,
    matters: &Matters,
    certain: bool,
) {
    let all = u128::MAX;
    for op in ops.iter().rev() {
        let of = |temps: &Vec<u128>, t: Temp| temps.get(usize::from(t)).copied().unwrap_or(0);
        match op {
            Op::WriteReg { reg, src } => {
                let reg = usize::from(*reg);
                let bits = live.get(reg).copied().unwrap_or(0);
                want(temps, *src, bits);
                if certain && let Some(l) = live.get_mut(reg) {
                    *l = 0;
                }
            }
            Op::ReadReg { dst, reg, .. } => {
                if let Some(l) = live.get_mut(usize::from(*reg)) {
                    *l |= of(temps, *dst);
                }
            }
            Op::Un { dst, op, a, .. } => {
                let m = of(temps, *dst);
                let bits = match op {
                    UnOp::ZeroExt { from } => m & mask(*from),
                    UnOp::SignExt { from } if m >> (*from).min(127) != 0 => {
                        m & mask(*from) | 1 << (from.clamp(&1, &128) - 1)
                    }
                    UnOp::SignExt { .. } | UnOp::Not => m,
                    UnOp::Neg => up_to(m),
                    _ if m == 0 => 0,
                    _ => all,
                };
                want(temps, *a, bits);
            }
            Op::Bin { dst, op, a, b, width } => {
                let m = of(temps, *dst);
                let count = constants.get(b).copied();
                let (x, y) = match (op, count) {
                    (BinOp::And, Some(c)) => (m & c, m),
                    (BinOp::And | BinOp::Or | BinOp::Xor, _) => (m, m),
                    // Where the number ends in zeros, the lowest bits stay as they are, and carry nothing.
                    (BinOp::Add | BinOp::Sub, Some(c)) if c != 0 => {
                        let low = mask(c.trailing_zeros() as u8);
                        (up_to(m) & !low | m & low, up_to(m))
                    }
                    (BinOp::Add | BinOp::Sub | BinOp::Mul, _) => (up_to(m), up_to(m)),
                    (BinOp::Shl, Some(c)) if c < 128 => (m >> c, m),
                    (BinOp::Shr, Some(c)) if c < 128 => (m << c & mask(*width), m),
                    _ if m == 0 => (0, 0),
                    _ => (all, all),
                };
                want(temps, *a, x);
                want(temps, *b, y);
            }
            Op::Select { dst, cond, yes, no } => {
                let m = of(temps, *dst);
                want(temps, *cond, if m == 0 { 0 } else { all });
                want(temps, *yes, m);
                want(temps, *no, m);
            }
            Op::Load { dst, addr, .. } => {
                if (matters.address)(*dst) {
                    want(temps, *addr, all);
                }
            }
            Op::Store { addr, src, size, .. } | Op::StoreEx { addr, src, size, .. } => {
                if (matters.address)(*src) {
                    want(temps, *addr, all);
                }
                want(temps, *src, (matters.stored)(*src) & mask(size.saturating_mul(8)));
            }
            Op::Rmw { dst, addr, new, body, .. } => {
                want(temps, *new, all);
                backwards(body, live, temps, constants, matters, certain);
                if (matters.address)(*dst) {
                    want(temps, *addr, all);
                }
            }
            Op::If { cond, yes, no } => {
                let mut other = live.to_vec();
                backwards(yes, live, temps, constants, matters, certain);
                backwards(no, &mut other, temps, constants, matters, certain);
                for (l, o) in live.iter_mut().zip(other) {
                    *l |= o;
                }
                want(temps, *cond, all);
            }
            Op::Branch { cond, .. } | Op::Assume { cond } | Op::Undefined { cond, .. } => {
                want(temps, *cond, all);
            }
            Op::JumpTo { addr } | Op::Touch { addr, .. } => want(temps, *addr, all),
            Op::Const { .. }
            | Op::Choose { .. }
            | Op::Fence { .. }
            | Op::Control { .. }
            | Op::Jump { .. }
            | Op::Halt => {}
        }
    }
}
