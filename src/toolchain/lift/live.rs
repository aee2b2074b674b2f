//! What matters at a place in the code: registers, bit by bit, and slots of the stack; and what
//! of that does not matter where a condition holds, so that instructions under one condition are
//! seen as one block. It does not know what registers hold.

use std::collections::BTreeMap;

use litmake_ops::{Op, Temp, mask};

/// What matters before or after an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    pub regs: Vec<u128>,
    /// Slots of the stack, by place and size, with their bits that matter.
    pub slots: BTreeMap<(i64, u8), u128>,
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

    /// Bits of a slot matter, which may be none.
    pub fn add_slot(&mut self, slot: (i64, u8), bits: u128) {
        if bits != 0 {
            *self.slots.entry(slot).or_default() |= bits;
        }
    }

    /// The bits that matter of what is stored to a slot; all, where another size is read.
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
