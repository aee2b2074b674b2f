//! Forks a path at an address that is computed from what is read: once for each place that it can be, and once
//! more for all other values, which end the path with an error. So a place that is not tried is no execution lost,
//! but an error of the test. It does not know what is done there.

use super::{Advance, Guide, Obstacle, State, Unfolder};
use crate::expr::{ExprId, Exprs, Var};
use crate::path::PathError;
use crate::reach::{Held, Reach};
use litmake_ops::{BinOp, Temp, Val};

/// An address computed from what is read can be at so many places.
const MOST_PLACES: usize = 4096;
/// So many combinations of the values that reads can return are computed.
const MOST_COMBINATIONS: usize = 4096;
/// The width in which addresses are compared.
const WIDTH: u8 = 64;

/// A value that an address can have, and the value of the one read from which alone it comes.
struct Candidate {
    address: Val,
    from: Option<(Var, Val)>,
}

impl Unfolder<'_> {
    /// Forks at an open address: on each path that comes of it, the op runs again.
    pub(super) fn addresses<'c>(
        &self,
        state: &State<'c>,
        addr: Temp,
        size: u8,
        exprs: &mut Exprs,
    ) -> Result<Advance<'c>, Obstacle> {
        let open = self.get(state, addr)?.value;
        match self.guide {
            Guide::Places(reach) => self.by_place(state, addr, open, size, reach, exprs),
            Guide::Values(_) => self.by_value(state, open, exprs),
        }
    }

    fn by_place<'c>(
        &self,
        state: &State<'c>,
        addr: Temp,
        open: ExprId,
        size: u8,
        reach: Option<&Reach>,
        exprs: &mut Exprs,
    ) -> Result<Advance<'c>, Obstacle> {
        let computed = reach.and_then(|reach| self.computed(state, open, reach, exprs));
        let candidates = match computed {
            Some(candidates) => candidates,
            None => self.everywhere(state, addr, open, size, exprs)?,
        };
        let mut out = Vec::new();
        let mut tried = Vec::new();
        let mut outside = None;
        for Candidate { address, from } in candidates {
            if !self.is_place(address, size) {
                outside = outside.or(Some(address));
                continue;
            }
            let here = exprs.constant(address);
            let same = exprs.bin(BinOp::Eq, open, here, WIDTH);
            if exprs.as_const(same) == Some(Val::ZERO) {
                continue;
            }
            tried.push(same);
            let mut s = state.clone();
            s.constraints.push((same, true));
            s.settle(|value| match from {
                Some((var, val)) => exprs.assign(value, var, val),
                None => exprs.with(value, open, address),
            });
            s.again();
            out.push(s);
        }
        let mut rest = state.clone();
        rest.constraints.push((any(tried, exprs), false));
        let what = match outside {
            Some(Val::Ptr { loc, off }) => {
                let name = &self.program.locations[usize::from(loc)].name;
                format!("an access of {size} bytes at {name}+{off} is outside of it")
            }
            _ => "an address that is computed from what is read leads to no location".into(),
        };
        let error = PathError { thread: self.thread, line: state.pc, message: what };
        Ok(Advance::Astray(out, Box::new((rest, error))))
    }

    /// Whether an access of this size can be there.
    fn is_place(&self, address: Val, size: u8) -> bool {
        let Val::Ptr { loc, off } = address else { return false };
        let room = i64::from(self.program.locations[usize::from(loc)].size.max(u32::from(size)));
        off >= 0 && off.checked_add(i64::from(size)).is_some_and(|end| end <= room)
    }

    /// The values of an address, from those that the reads can return from which it comes; `None` where some
    /// read can return anything, or the combinations are too many.
    fn computed(
        &self,
        state: &State,
        open: ExprId,
        reach: &Reach,
        exprs: &Exprs,
    ) -> Option<Vec<Candidate>> {
        let vars = exprs.vars(open);
        let mut lists = Vec::with_capacity(vars.len());
        let mut combinations = 1usize;
        for var in &vars {
            let read = state.read(*var)?;
            let Held::OneOf(values) = reach.held(self.program, read.loc, read.off, read.size)
            else {
                return None;
            };
            combinations = combinations.saturating_mul(values.len());
            lists.push(values);
        }
        if combinations > MOST_COMBINATIONS {
            return None;
        }
        let mut out: Vec<Candidate> = Vec::new();
        for k in 0..combinations {
            let mut rest = k;
            let picked: Vec<Val> = lists
                .iter()
                .map(|list| {
                    let val = list[rest % list.len()];
                    rest /= list.len();
                    val
                })
                .collect();
            let value = |v: Var| vars.iter().position(|w| *w == v).map(|i| picked[i]);
            // Arithmetic without a meaning is no place.
            let address = exprs.eval(open, &value).unwrap_or(Val::ZERO);
            match out.iter_mut().find(|c| c.address == address) {
                Some(known) => known.from = None,
                None => {
                    let from = (vars.len() == 1).then(|| (vars[0], picked[0]));
                    out.push(Candidate { address, from });
                }
            }
        }
        Some(out)
    }

    /// Every place to which the instruction can lead, as far as the bits of the address that are known agree.
    fn everywhere(
        &self,
        state: &State,
        addr: Temp,
        open: ExprId,
        size: u8,
        exprs: &Exprs,
    ) -> Result<Vec<Candidate>, Obstacle> {
        let mut out = Vec::new();
        for (l, location) in self.program.locations.iter().enumerate() {
            let leads = |reach: &Reach| reach.leads(self.thread, state.pc, addr, l as u16);
            if !self.guide.reach().is_none_or(leads) {
                continue;
            }
            for off in 0..=location.size.saturating_sub(u32::from(size)) {
                let address = Val::Ptr { loc: l as u16, off: i64::from(off) };
                if !exprs.may_be(open, address, WIDTH) {
                    continue;
                }
                out.push(Candidate { address, from: None });
                if out.len() > MOST_PLACES {
                    let message = format!(
                        "an address that is computed from what is read can be at more than \
                         {MOST_PLACES} places"
                    );
                    return Err(self.error(state, message));
                }
            }
        }
        Ok(out)
    }

    /// The way of the reference: one of the reads from which the address comes returns each of the values
    /// that are written there.
    fn by_value<'c>(
        &self,
        state: &State<'c>,
        open: ExprId,
        exprs: &mut Exprs,
    ) -> Result<Advance<'c>, Obstacle> {
        let Guide::Values(pools) = self.guide else { return Ok(Advance::Drop) };
        let read = exprs.open_var(open).and_then(|var| Some((var, state.read(var)?)));
        let Some((var, read)) = read else {
            // It comes from no read: it is arithmetic without a meaning.
            return Err(self.error(state, "an address cannot be computed"));
        };
        let value = exprs.var(var, read.size.saturating_mul(8));
        let mut out = Vec::new();
        let mut tried = Vec::new();
        for val in pools.at(self.program, (read.loc, read.off, read.size)) {
            let known = exprs.constant(val);
            let same = exprs.bin(BinOp::Eq, value, known, 128);
            tried.push(same);
            let mut s = state.clone();
            s.constraints.push((same, true));
            s.settle(|value| exprs.assign(value, var, val));
            s.again();
            out.push(s);
        }
        let mut rest = state.clone();
        rest.constraints.push((any(tried, exprs), false));
        let message = "a value is read that no path is known to write".into();
        let error = PathError { thread: self.thread, line: state.pc, message };
        Ok(Advance::Astray(out, Box::new((rest, error))))
    }
}

/// Whether one of these is true.
fn any(mut of: Vec<ExprId>, exprs: &mut Exprs) -> ExprId {
    // In pairs, so that it stays shallow.
    while of.len() > 1 {
        of = of
            .chunks(2)
            .map(|pair| match *pair {
                [a, b] => exprs.bin(BinOp::Or, a, b, 1),
                _ => pair[0],
            })
            .collect();
    }
    of.pop().unwrap_or_else(|| exprs.int(0))
}
