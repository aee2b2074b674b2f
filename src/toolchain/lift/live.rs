//! Describes what matters at a place in the code: bits of registers, and stack slots. Bits that do
//! not matter on one side of a condition are kept apart, so that instructions under one condition
//! are treated as one block.
//!
//! It does not know what registers hold.

use std::collections::BTreeMap;

use litmake_ops::{Op, Temp, mask};

/// The bits of registers and stack slots that matter before or after an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    pub regs: Vec<u128>,
    /// Stack slots by place and size, with the bits that matter.
    pub slots: BTreeMap<(i64, u8), u128>,
    when: Option<When>,
}

/// The bits that do not matter on one side of a condition.
#[derive(Clone, Debug, PartialEq)]
struct When {
    condition: Vec<Op>,
    /// The bits that do not matter if the condition does not hold, and those if it holds.
    idle: [Vec<u128>; 2],
}

impl Live {
    /// Nothing matters, for this number of registers.
    pub fn nothing(regs: usize) -> Live {
        Live { regs: vec![0; regs], ..Live::default() }
    }

    /// The bits that matter on one side of a condition.
    pub fn side(&self, condition: &[Op], side: bool) -> Vec<u128> {
        match self.when.as_ref().filter(|w| w.condition == condition) {
            Some(w) => {
                let bits = self.regs.iter().zip(&w.idle[usize::from(side)]);
                bits.map(|(all, idle)| all & !idle).collect()
            }
            None => self.regs.clone(),
        }
    }

    /// The condition whose sides differ in what matters.
    pub fn condition(&self) -> Option<&[Op]> {
        self.when.as_ref().map(|w| w.condition.as_slice())
    }

    /// Sets what matters on each side of a condition.
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

    /// Adds what matters on another path, and returns whether that changed anything.
    pub fn join(&mut self, other: &Live) -> bool {
        let before = self.clone();
        for (slot, bits) in &other.slots {
            *self.slots.entry(*slot).or_default() |= bits;
        }
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
        before != *self
    }

    /// Adds bits of a slot that matter, which may be none.
    pub fn add_slot(&mut self, slot: (i64, u8), bits: u128) {
        if bits != 0 {
            *self.slots.entry(slot).or_default() |= bits;
        }
    }

    /// The bits that matter in a store to a slot; all bits if the slot is read with another size.
    pub fn of_slot(&self, slot: (i64, u8)) -> u128 {
        let meets = self.slots.iter().filter(|(s, _)| overlap(**s, slot));
        meets.fold(0, |all, (s, bits)| {
            all | if *s == slot { *bits } else { mask(slot.1.saturating_mul(8)) }
        })
    }
}

/// The bits of a temporary that matter on one side or the other.
pub fn any_wanted(sides: &[Vec<u128>], t: Temp) -> u128 {
    sides.iter().fold(0, |all, bits| all | bits.get(usize::from(t)).copied().unwrap_or(0))
}

fn overlap(a: (i64, u8), b: (i64, u8)) -> bool {
    a.0 < b.0 + i64::from(b.1) && b.0 < a.0 + i64::from(a.1)
}
