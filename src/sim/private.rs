//! Private memory, which only one thread can reach. It is kept like registers: values and their
//! dependencies, no events. Which memory is private is decided elsewhere.

use super::expr::{ExprId, Exprs};
use super::path::Taint;
use super::program::Location;
use super::skeleton::initial_value;
use super::unfold::Tainted;
use litmake_ops::{BinOp, Val, mask};

/// The stores to private memory so far, in order.
#[derive(Clone, Debug, Default)]
pub struct PrivateMemory {
    stores: Vec<Bytes>,
}

#[derive(Clone, Debug)]
struct Bytes {
    loc: u16,
    off: u32,
    size: u8,
    tainted: Tainted,
}

impl Bytes {
    fn holds(&self, loc: u16, byte: u32) -> bool {
        self.loc == loc && self.off <= byte && byte < self.off + u32::from(self.size)
    }
}

impl PrivateMemory {
    pub fn store(&mut self, loc: u16, off: u32, size: u8, tainted: Tainted) {
        self.stores.push(Bytes { loc, off, size, tainted });
    }

    /// Whether any of these bytes was stored before.
    pub fn holds(&self, loc: u16, off: u32, size: u8) -> bool {
        (off..off + u32::from(size)).any(|byte| self.stores.iter().any(|s| s.holds(loc, byte)))
    }

    /// Puts what is known now into all that is stored.
    pub fn settle(&mut self, mut known: impl FnMut(ExprId) -> ExprId) {
        for bytes in &mut self.stores {
            bytes.tainted.value = known(bytes.tainted.value);
        }
    }

    /// How many stores there were.
    pub fn stores(&self) -> usize {
        self.stores.len()
    }

    /// Whether a place holds another number than it did when there were so many stores.
    pub fn changed_since(&self, stores: usize, exprs: &Exprs) -> bool {
        let (before, after) = self.stores.split_at(stores.min(self.stores.len()));
        let number = |s: &Bytes| exprs.as_const(s.tainted.value);
        after.iter().any(|new| {
            let same = |old: &&Bytes| (old.loc, old.off, old.size) == (new.loc, new.off, new.size);
            let old = before.iter().rev().find(same).and_then(number);
            old.is_some_and(|old| number(new).is_some_and(|new| new != old))
        })
    }

    /// The value of a load: that of the one store (or of none) that covers it, else put together
    /// byte by byte.
    pub fn load(
        &self,
        location: &Location,
        loc: u16,
        off: u32,
        size: u8,
        exprs: &mut Exprs,
    ) -> Tainted {
        let latest = |byte: u32| self.stores.iter().rposition(|s| s.holds(loc, byte));
        let end = off + u32::from(size);
        let first = latest(off);
        let together = (off..end).all(|b| latest(b) == first);
        match first {
            None if together => {
                return Tainted::plain(exprs.constant(initial_value(location, off, size)));
            }
            Some(i) if together => {
                let s = &self.stores[i];
                let value = part(s.tainted.value, (off - s.off) * 8, size, s.size, exprs);
                return Tainted { value, ..s.tainted };
            }
            _ => {}
        }
        let mut value = exprs.int(0);
        let (mut taint, mut chosen) = (Taint::NONE, false);
        for byte in off..end {
            let one = match latest(byte) {
                Some(i) => {
                    let s = &self.stores[i];
                    taint = taint.or(s.tainted.taint);
                    chosen |= s.tainted.chosen;
                    part(s.tainted.value, (byte - s.off) * 8, 1, s.size, exprs)
                }
                None => match initial_value(location, byte, 1) {
                    v @ Val::Int(_) => exprs.constant(v),
                    _ => exprs.int(0),
                },
            };
            let up = exprs.int(u128::from((byte - off) * 8));
            let placed = exprs.bin(BinOp::Shl, one, up, 128);
            value = exprs.bin(BinOp::Or, value, placed, 128);
        }
        Tainted { taint, chosen, ..Tainted::plain(value) }
    }
}

/// `size` bytes of a value of `of` bytes, from bit `shift` on.
fn part(value: ExprId, shift: u32, size: u8, of: u8, exprs: &mut Exprs) -> ExprId {
    if shift == 0 && size >= of {
        return value;
    }
    let down = exprs.int(u128::from(shift));
    let moved = exprs.bin(BinOp::Shr, value, down, 128);
    let keep = exprs.int(mask(size.saturating_mul(8)));
    exprs.bin(BinOp::And, moved, keep, 128)
}
