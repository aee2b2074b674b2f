//! Loads and stores on a path: they make events, or only values where memory is private. It does
//! not know the other ops.

use super::{Advance, Hang, LOCK, MOST_EVENTS, Obstacle, Reservation, State, Tainted, Unfolder};
use crate::expr::{Exprs, Var};
use crate::path::{Kind, PathEvent, Taint};
use crate::skeleton::initial_value;
use crate::visible::{Excepted, Private};
use litmake_ops::{Op, Tags, Temp, UnOp, Undefined, Val, tag};

/// One access: where, and how.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) loc: u16,
    pub(super) off: u32,
    pub(super) size: u8,
    pub(super) tags: Tags,
    pub(super) addr: Tainted,
}

impl Unfolder<'_> {
    /// The access at an address; `None` while the address is open.
    pub(super) fn access(
        &self,
        state: &State,
        addr: Temp,
        size: u8,
        tags: Tags,
        exprs: &Exprs,
    ) -> Result<Option<Access>, Obstacle> {
        let addr = self.get(state, addr)?;
        match exprs.as_const(addr.value) {
            Some(Val::Ptr { loc, off }) => {
                let location = &self.program.locations[usize::from(loc)];
                let room = i64::from(location.size.max(u32::from(size)));
                if off < 0 || off.checked_add(i64::from(size)).is_none_or(|end| end > room) {
                    let name = &location.name;
                    let message =
                        format!("an access of {size} bytes at {name}+{off} is outside of it");
                    return Err(self.error(state, message));
                }
                Ok(Some(Access { loc, off: off as u32, size, tags, addr }))
            }
            Some(Val::ZERO) if self.limits.null_is_undefined && !tags.meets(tag::C_VOLATILE) => {
                Err(Obstacle::Undefined(Undefined::Null))
            }
            Some(_) => Err(self.error(
                state,
                "a memory access whose address is not the address of a location \
                 (is a register missing from the initial state?)",
            )),
            None => Ok(None),
        }
    }

    fn excepted(&self) -> Excepted {
        match self.limits.private {
            Private::LeftOut(excepted) => excepted,
            Private::Events => Excepted::default(),
        }
    }

    pub(super) fn is_private(&self, loc: u16) -> bool {
        self.private[usize::from(loc)] == Some(self.thread as u16)
    }

    /// Notes an access to private memory, if it can do without an event: it has no annotation, its
    /// address depends on no read, and no event belongs to its instruction.
    fn stay_private(&self, state: &mut State, access: Access) -> Result<(), Obstacle> {
        let shared = state.events.last().is_some_and(|e| e.instance == state.instance);
        let tags = access.tags | self.program.locations[usize::from(access.loc)].tags;
        if tags != Tags::NONE || access.addr.taint != Taint::NONE || shared {
            return Err(Obstacle::NotPrivate(access.loc));
        }
        state.private_at = Some((state.instance, access.loc));
        Ok(())
    }

    pub(super) fn load(
        &self,
        state: &mut State,
        access: Access,
        hang: Hang,
        exprs: &mut Exprs,
    ) -> Result<Tainted, Obstacle> {
        let Access { loc, off, size, tags, addr } = access;
        if self.is_private(loc) {
            self.stay_private(state, access)?;
            // A choice decides on whether it is read, which no value keeps.
            if hang.taint != Taint::NONE {
                return Err(Obstacle::NotPrivate(loc));
            }
            let addressed = self.excepted().addressed;
            if addressed && state.events.iter().any(|e| e.addr != Taint::NONE) {
                return Err(Obstacle::NotPrivate(loc));
            }
            let location = &self.program.locations[usize::from(loc)];
            return Ok(state.private.load(location, loc, off, size, exprs));
        }
        let var = Var { thread: self.thread as u16, access: state.accesses };
        let value = match self.guide.reach() {
            Some(reach) if reach.is_never_written(loc) => {
                let location = &self.program.locations[usize::from(loc)];
                exprs.constant(initial_value(location, off, size))
            }
            _ => exprs.var(var, size.saturating_mul(8)),
        };
        let kind = if tags.meets(LOCK) { Kind::LockRead } else { Kind::Read };
        let mut event = self.event(state, kind, tags, hang);
        event.loc = loc;
        event.off = off;
        event.size = size;
        event.access = state.accesses;
        event.addr = addr.taint.or(hang.taint.picked());
        event.iico_data = addr.from;
        event.iico_ctrl |= addr.by_ctrl;
        state.accesses += 1;
        let index = state.events.len() as u16;
        let bit = self.push(state, event)?;
        if tags.meets(tag::EX) {
            state.reservation = Some(Reservation { loc, off, size, read: index });
        }
        let taint = Taint { data: bit, pick: 0 };
        Ok(Tainted { taint, from: bit, ..Tainted::plain(value) })
    }

    pub(super) fn store(
        &self,
        state: &mut State,
        access: Access,
        v: Tainted,
        hang: Hang,
        partner: Option<u16>,
        exprs: &mut Exprs,
    ) -> Result<(), Obstacle> {
        let Access { loc, off, size, tags, addr } = access;
        let value = exprs.un(UnOp::ZeroExt { from: size.saturating_mul(8) }, v.value, 128);
        if self.is_private(loc) {
            self.stay_private(state, access)?;
            // Models may order what comes after the write of a store-conditional by its status.
            let from = v.taint.or(hang.taint);
            let mut writes = state.events.iter().enumerate().filter(|(_, e)| e.kind == Kind::Write);
            if writes.any(|(i, _)| (from.data | from.pick) >> i & 1 == 1) {
                return Err(Obstacle::NotPrivate(loc));
            }
            let once = self.excepted().once;
            if once && state.private.holds(loc, off, size) {
                return Err(Obstacle::NotPrivate(loc));
            }
            let taint = v.taint.or(hang.taint.picked());
            let chosen = v.chosen || hang.chosen;
            let kept = Tainted { taint, chosen, ..Tainted::plain(value) };
            state.private.store(loc, off, size, kept);
            return Ok(());
        }
        let kind = if tags.meets(LOCK) { Kind::LockWrite } else { Kind::Write };
        let mut event = self.event(state, kind, tags, hang);
        event.loc = loc;
        event.off = off;
        event.size = size;
        event.value = value;
        event.addr = addr.taint;
        event.data = v.taint.or(hang.taint.picked());
        event.partner = partner;
        event.iico_data = addr.from | v.from;
        event.iico_ctrl |= addr.by_ctrl | v.by_ctrl;
        self.push(state, event)?;
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one op, spelled out")]
    pub(super) fn read_modify_write<'c>(
        &self,
        state: &mut State<'c>,
        access: Access,
        dst: Temp,
        body: &'c [Op],
        new: Temp,
        hang: Hang,
        exprs: &mut Exprs,
    ) -> Result<(), Obstacle> {
        if self.is_private(access.loc) {
            return Err(Obstacle::NotPrivate(access.loc));
        }
        let bit = 1u128 << state.events.len().min(MOST_EVENTS - 1);
        let bits = access.size.saturating_mul(8);
        let var = Var { thread: self.thread as u16, access: state.accesses };
        let taint = Taint { data: bit, pick: 0 };
        let old = Tainted { taint, from: bit, ..Tainted::plain(exprs.var(var, bits)) };
        self.set(state, dst, old);
        for op in body {
            let (events, depth) = (state.events.len(), state.frames.len());
            let step = self.execute(state, op, hang, exprs)?;
            let plain = matches!(step, Advance::Go) && state.frames.len() == depth;
            if !plain || state.events.iter().skip(events).any(PathEvent::is_access) {
                let message = "a choice inside a read-modify-write event is not supported";
                return Err(self.error(state, message));
            }
        }
        let v = self.get(state, new)?;
        let mut event = self.event(state, Kind::ReadWrite, access.tags, hang);
        event.loc = access.loc;
        event.off = access.off;
        event.size = access.size;
        event.access = state.accesses;
        event.value = exprs.un(UnOp::ZeroExt { from: bits }, v.value, 128);
        event.addr = access.addr.taint.or(hang.taint.picked());
        event.data = Taint { data: v.taint.data & !bit, pick: v.taint.pick & !bit };
        event.iico_data = (access.addr.from | v.from) & !bit;
        state.accesses += 1;
        self.push(state, event)?;
        Ok(())
    }
}
