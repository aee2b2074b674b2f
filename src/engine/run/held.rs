//! The results of a run as far as they are in memory: lists, the state of each unit, and the cells and
//! failures that are not in the store.
//!
//! It does not know how results come about.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Root, lock};
use crate::rows::{Cell, Shard};
use litmake_base::diag::Diag;
use litmake_base::digest::Digest;

/// The state of a unit, in the order in which a unit has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// So many of the units and nodes that it reads are not done.
    Waiting(u16),
    /// Everything that it reads is done, so that it is queued or worked on.
    Ready,
    /// Each of its rows has a cell.
    Done(Shard),
}

impl Unit {
    pub(crate) fn shard(&self) -> Option<Shard> {
        match self {
            Unit::Done(shard) => Some(*shard),
            Unit::Waiting(_) | Unit::Ready => None,
        }
    }

    /// Notes that something is done that the unit reads so many times; tells whether it is ready now.
    fn input_done(&mut self, times: u16) -> bool {
        let Unit::Waiting(inputs) = self else { return false };
        *inputs -= times;
        let is_ready = *inputs == 0;
        if is_ready {
            *self = Unit::Ready;
        }
        is_ready
    }
}

/// The shard and row of each of an item's parts in their list.
pub(super) type Places = SmallVec<[Option<(u32, u32)>; 4]>;
/// Cells by node and shard.
type CellsOfUnits = FxHashMap<(usize, usize), Arc<Vec<Cell>>>;
type PlacesOfShards = FxHashMap<(usize, usize), Arc<Vec<Places>>>;

/// A shard, and some of its rows.
pub(super) type Rows = (u32, Vec<u32>);

/// The results that are held in memory, by node or by node and shard.
pub(super) struct Held {
    pub(super) roots: Vec<Mutex<Option<Arc<Root>>>>,
    /// The units of each node; empty as long as its list is not known.
    pub(super) units: Vec<Mutex<Vec<Unit>>>,
    /// All cells of each node that is joined, by shard.
    pub(super) whole: Vec<OnceLock<Vec<Vec<Cell>>>>,
    /// Where the parts of items stand, by their list and by the shard of the items.
    pub(super) places: Mutex<PlacesOfShards>,
    /// The cells of units that are not in the store because an item broke.
    pub(super) kept: Mutex<CellsOfUnits>,
    /// The failures of items that broke, which are not in the store.
    pub(super) broken: Mutex<FxHashMap<Digest, Vec<u8>>>,
    /// Errors of whole lists.
    #[expect(clippy::vec_box, reason = "they come in boxes")]
    pub(super) errors: Mutex<Vec<Box<Diag>>>,
}

impl Held {
    pub(super) fn new(nodes: usize) -> Held {
        Held {
            roots: (0..nodes).map(|_| Mutex::default()).collect(),
            units: (0..nodes).map(|_| Mutex::default()).collect(),
            whole: (0..nodes).map(|_| OnceLock::new()).collect(),
            places: Mutex::default(),
            kept: Mutex::default(),
            broken: Mutex::default(),
            errors: Mutex::default(),
        }
    }

    /// The result of a unit that is done.
    pub(crate) fn shard(&self, node: usize, shard: usize) -> Option<Shard> {
        lock(&self.units[node]).get(shard)?.shard()
    }

    pub(super) fn is_done(&self, node: usize) -> bool {
        lock(&self.units[node]).iter().all(|unit| unit.shard().is_some())
    }

    /// Sets the result of a unit.
    pub(super) fn done(&self, node: usize, shard: usize, result: Shard) {
        lock(&self.units[node])[shard] = Unit::Done(result);
    }

    /// Notes that something is done that a unit reads so many times; tells whether the unit is ready now.
    pub(super) fn input_done(&self, node: usize, shard: usize, times: u16) -> bool {
        lock(&self.units[node]).get_mut(shard).is_some_and(|unit| unit.input_done(times))
    }
}

/// The rows that were done in a node, and the time that they took.
#[derive(Default)]
pub(super) struct Tally {
    /// The rows that this run executed.
    pub(super) executed: Mutex<Vec<Rows>>,
    /// The executed rows that another machine did.
    pub(super) elsewhere: Mutex<Vec<Rows>>,
    /// The rows whose results came from the remote cache.
    pub(super) fetched: Mutex<Vec<Rows>>,
    /// The time spent in work, over all workers.
    pub(super) nanos: AtomicU64,
}
