//! The known contents of registers and stack slots at an instruction: in general, and on each side
//! of a condition.
//!
//! It does not know what instructions do.

use std::collections::BTreeMap;

use litmake_ops::eval::truth;
use litmake_ops::{Op, Reg, Temp};

use super::condition::{reads, straight, straight_says};
use super::values::{Known, Step, World};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub regs: Vec<Option<Known>>,
    pub slots: BTreeMap<i64, (u8, Known)>,
    /// The contents that instructions under one condition leave for others under the same condition or its negation.
    when: Option<When>,
}

/// The contents of registers on each side of a condition.
#[derive(Clone, Debug, PartialEq)]
struct When {
    /// The ops that evaluate the condition, and the temporary with the result.
    condition: Vec<Op>,
    says: Temp,
    /// The contents if the condition does not hold, and if it holds.
    sides: [Side; 2],
}

/// Some registers and their contents.
type Side = Vec<(Reg, Option<Known>)>;

impl State {
    pub fn new(regs: Vec<Option<Known>>, slots: BTreeMap<i64, (u8, Known)>) -> State {
        State { regs, slots, when: None }
    }

    /// Keeps what both states agree on, and returns whether anything was lost.
    pub fn join(&mut self, other: &State, world: &World) -> bool {
        let when = self.common(other, world);
        let mut lost = self.when != when;
        self.when = when;
        for (mine, theirs) in self.regs.iter_mut().zip(&other.regs) {
            if mine.is_some() && mine != theirs {
                let frame = |k: &Option<Known>| k.is_some_and(Known::is_frame);
                let new = match frame(mine) || frame(theirs) {
                    true => Some(Known::Frame),
                    false => world.either(*mine, *theirs),
                };
                lost |= *mine != new;
                *mine = new;
            } else if mine.is_none() && theirs.is_some_and(Known::is_frame) {
                *mine = Some(Known::Frame);
                lost = true;
            }
        }
        let before = self.slots.len();
        self.slots.retain(|at, v| other.slots.get(at) == Some(v));
        lost || before != self.slots.len()
    }

    /// The contents that both states know on the sides of a condition: a value that is known in
    /// general is known on each side, too.
    fn common(&self, other: &State, world: &World) -> Option<When> {
        let when = self.when.as_ref().or(other.when.as_ref())?;
        let said = [self, other].map(|s| s.known_side(when, world));
        let listed = |s: &State, side: usize, reg: Reg| {
            let when = s.when.as_ref().filter(|w| w.condition == when.condition)?;
            when.sides[side].iter().find(|(r, _)| *r == reg).map(|(_, known)| *known)
        };
        let value = |s: &State, side: usize, reg: Reg| {
            let always = || s.regs.get(usize::from(reg)).copied().flatten();
            listed(s, side, reg).unwrap_or_else(always)
        };
        let count = self.regs.len().min(other.regs.len()) as Reg;
        let sides = [0, 1].map(|side| -> Side {
            // If one of the states is never on this side, nothing is lost.
            let is_elsewhere = |said: Option<bool>| said.is_some_and(|s| usize::from(s) != side);
            let (a, b) = match (is_elsewhere(said[0]), is_elsewhere(said[1])) {
                (true, false) => (other, other),
                (false, true) => (self, self),
                _ => (self, other),
            };
            (0..count)
                .filter(|r| listed(a, side, *r).or(listed(b, side, *r)).is_some())
                .map(|r| (r, value(a, side, r)))
                .filter(|(r, known)| known.is_some() && *known == value(b, side, *r))
                .collect()
        });
        let When { condition, says, .. } = when.clone();
        When { condition, says, sides }.unless_empty()
    }

    /// The side of a condition on which this state is, if that is known.
    fn known_side(&self, when: &When, world: &World) -> Option<bool> {
        let mut step = Step::new(world, self.clone());
        step.run(&when.condition, true);
        match step.get(when.says) {
            Some(Known::Val(v)) => Some(truth(v)),
            _ => None,
        }
    }

    /// Assumes that a condition holds, or not, for one instruction.
    pub fn assume(&mut self, condition: &[Op], holds: bool) {
        self.follow(condition, holds);
        let (asked, _) = straight(condition);
        self.when.take_if(|w| w.condition == asked);
    }

    /// Assumes that a condition holds, or not, from here on.
    pub fn follow(&mut self, condition: &[Op], holds: bool) {
        let (asked, turned) = straight(condition);
        let Some(when) = self.when.as_ref().filter(|w| w.condition == asked) else { return };
        for (reg, known) in &when.sides[usize::from(holds != turned)] {
            if let Some(r) = self.regs.get_mut(usize::from(*reg)) {
                *r = *known;
            }
        }
    }

    /// Keeps what is known on the sides of a condition, without what is known in general. `left`
    /// are the states if the condition does not hold, and if it holds.
    pub fn remember(&mut self, condition: &[Op], says: Temp, left: [&State; 2]) {
        let (straight, turned) = straight(condition);
        let mut sides = left.map(|state| -> Side {
            let pairs = state.regs.iter().zip(&self.regs).enumerate();
            let differ = pairs.filter(|(_, (known, any))| known != any);
            differ.map(|(reg, (known, _))| (reg as Reg, *known)).collect()
        });
        if turned {
            sides.reverse();
        }
        let says = straight_says(condition, says);
        self.when = When { condition: straight.to_vec(), says, sides }.unless_empty();
    }

    pub fn write(&mut self, reg: Reg, known: Option<Known>) {
        if let Some(r) = self.regs.get_mut(usize::from(reg)) {
            *r = known;
        }
        self.when.take_if(|w| reads(&w.condition, reg));
        for side in self.when.iter_mut().flat_map(|w| &mut w.sides) {
            side.retain(|(r, _)| *r != reg);
        }
    }

    pub fn forget(&mut self, at: i64, size: u8) {
        let end = at + i64::from(size);
        self.slots.retain(|o, (s, _)| *o + i64::from(*s) <= at || end <= *o);
    }
}

impl When {
    fn unless_empty(self) -> Option<When> {
        (!self.sides.iter().all(Vec::is_empty)).then_some(self)
    }
}
