//! Unaligned accesses of MIPS: two instructions, each of which accesses the part of a value that lies in its own aligned
//! word.
//!
//! The objects of tests are aligned. There each of the two accesses the whole value, so each becomes a plain access at the
//! value's address. An instruction without its other half, or at an odd distance from its base, stays as it is. Does not
//! know what instructions mean.

use crate::machine::{Decoded, Operand};
use std::collections::BTreeSet;

/// The instructions of the part with the highest byte and of that with the lowest one, the plain access, and the bytes of
/// the value.
const PAIRS: [(&str, &str, &str, i64); 4] = [
    ("ldl", "ldr", "ld", 8),
    ("lwl", "lwr", "lw", 4),
    ("sdl", "sdr", "sd", 8),
    ("swl", "swr", "sw", 4),
];

/// A half of an access.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Half<'a> {
    is_high: bool,
    plain: &'static str,
    register: &'a str,
    base: &'a str,
    /// Where the value begins, from the base on.
    start: i64,
}

fn half(insn: &Decoded, big: bool) -> Option<Half<'_>> {
    let is = |pair: &&(&str, &str, &str, i64)| insn.mnemonic == pair.0 || insn.mnemonic == pair.1;
    let &(high, _, plain, bytes) = PAIRS.iter().find(is)?;
    let [Operand::Reg(register), Operand::Mem(mem)] = insn.operands.as_slice() else { return None };
    let is_high = insn.mnemonic == high;
    // Each names the byte at its end of the value.
    let start = mem.offset - if is_high == big { 0 } else { bytes - 1 };
    if start % bytes != 0 {
        return None;
    }
    Some(Half { is_high, plain, register, base: mem.base.as_deref()?, start })
}

/// Code in which unaligned accesses are plain ones.
pub fn without_halves(code: Vec<Decoded>, big: bool) -> Vec<Decoded> {
    let halves: BTreeSet<Half> = code.iter().filter_map(|insn| half(insn, big)).collect();
    let whole = |insn: &Decoded| {
        let own = half(insn, big)?;
        let start = own.start;
        halves.contains(&Half { is_high: !own.is_high, ..own }).then_some(())?;
        let mut out = insn.clone();
        out.mnemonic = half(insn, big)?.plain.to_string();
        if let Some(Operand::Mem(mem)) = out.operands.last_mut() {
            mem.offset = start;
        }
        Some(out)
    };
    code.iter().map(|insn| whole(insn).unwrap_or_else(|| insn.clone())).collect()
}
