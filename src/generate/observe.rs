//! The observed part of a test: registers, final values, or the coherence order by threads that only read.

use smallvec::SmallVec;

use super::cycle::{LOCS, Refused, Workshop, size};
use super::edge::{Com, Dir, Ie, Kind};

/// How a test tells its cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observe {
    /// Registers, and final values where two writes meet; a cycle that needs more is left out.
    #[default]
    Avoid,
    /// As `Avoid`, and one observer thread for each location with more writes.
    Accept,
    /// An observer thread for each location with two writes or more.
    Force,
    /// Each thread reads, at its end, the location whose coherence it is part of.
    Local,
    /// Registers and the final value of every location that is written.
    Both,
    /// Final values only. Keeping registers alive changes code, so such tests find bugs that others do not.
    Final,
    /// Registers only, for cycles that they tell.
    Registers,
}

/// The observed places of one test.
#[derive(Default)]
pub struct Plan {
    /// Final values of locations.
    pub finals: SmallVec<[(u8, i32); 4]>,
    /// Observer threads: the location, and the values in the order in which they are seen.
    pub observers: SmallVec<[(u8, SmallVec<[i32; 4]>); 1]>,
    /// Whether registers are observed.
    pub registers: bool,
    local: bool,
}

/// Locations by name: the letters after z come first.
pub fn loc_order(locs: usize) -> impl Iterator<Item = u8> {
    (3..locs as u8).chain(0..3.min(locs as u8))
}

impl Observe {
    /// Every way, by the name that a recipe gives it.
    pub const NAMES: [(&'static str, Observe); 7] = [
        ("avoid", Observe::Avoid),
        ("accept", Observe::Accept),
        ("force", Observe::Force),
        ("local", Observe::Local),
        ("both", Observe::Both),
        ("final", Observe::Final),
        ("registers", Observe::Registers),
    ];

    /// The places to observe so that the cycle in the workshop is told.
    pub fn plan(self, shop: &Workshop, optimise: bool) -> Result<Plan, Refused> {
        debug_assert!(shop.locs <= LOCS.len());
        if self == Observe::Local && shop.events.iter().any(|e| size(e.atom).is_some()) {
            return Err(
                "threads that read at their end would read one size of a location with several",
            );
        }
        let mut plan = Plan { registers: self != Observe::Final, ..Plan::default() };
        plan.local = self == Observe::Local;
        for loc in loc_order(shop.locs) {
            let writes = &shop.writes[usize::from(loc)];
            let Some(last) = writes.cells.last().copied() else { continue };
            let worth = writes.worth && optimise;
            let count = writes.cells.len();
            let observed = matches!(self, Observe::Accept | Observe::Force);
            if writes.pair.is_some() && observed && count > 1 {
                return Err("an observer thread would see only one of a location's two elements");
            }
            match self {
                Observe::Both => plan.finals.push((loc, last)),
                // One write more cannot be told from its value alone.
                Observe::Final => plan.finals.push((loc, last)),
                Observe::Registers if count > 1 => {
                    return Err("registers do not tell the order of two writes to one location");
                }
                Observe::Registers => {}
                _ if count == 1 => {
                    if worth {
                        plan.finals.push((loc, last));
                    }
                }
                Observe::Local => {
                    if worth || !optimise {
                        plan.finals.push((loc, last));
                    }
                }
                Observe::Avoid | Observe::Accept if count == 2 => plan.finals.push((loc, last)),
                Observe::Avoid => return Err("it needs an observer thread"),
                Observe::Accept | Observe::Force => {
                    plan.observers.push((loc, writes.cells.iter().copied().collect()));
                    if worth || !optimise {
                        plan.finals.push((loc, last));
                    }
                }
            }
        }
        if self == Observe::Final {
            // Without registers, reads must tell nothing that final values do not.
            let needed = shop.events.iter().any(|e| e.dir == Dir::R && e.telling && !e.rmw);
            if needed && plan.finals.is_empty() {
                return Err("final values alone do not tell the cycle");
            }
        }
        Ok(plan)
    }
}

impl Plan {
    /// The location that a thread reads after its last event, and the value that it sees.
    pub fn local(&self, shop: &Workshop, thread: usize) -> Option<(u8, i32)> {
        if !self.local {
            return None;
        }
        let at = shop.threads[thread + 1] - 1;
        let event = &shop.events[at];
        let ends = matches!(event.edge.kind, Kind::Com(Com::Fr | Com::Co, Ie::Ext));
        let sees_start = event.dir == Dir::R && event.value == 0;
        (ends && !sees_start).then(|| (event.loc, shop.next(at).value))
    }
}
