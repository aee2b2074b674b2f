//! One way through a thread: its events, what must hold for it to be taken, what it leaves.
//!
//! Nothing here knows how paths are found ([`super::unfold`]), nor how they are put together
//! ([`super::skeleton`]).

use super::expr::ExprId;
use litmake_ops::{Port, Tags};

/// Events of one thread's path on which a value or an event depends: by data flow, and by data
/// flow with at least one choice inside an instruction ("pick").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    pub data: u128,
    pub pick: u128,
}

impl Taint {
    pub const NONE: Taint = Taint { data: 0, pick: 0 };

    pub fn or(self, o: Taint) -> Taint {
        Taint { data: self.data | o.data, pick: self.pick | o.pick }
    }

    /// All of it as a choice inside the instruction.
    pub fn picked(self) -> Taint {
        Taint { data: 0, pick: self.data | self.pick }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    /// One event that is both (C11).
    ReadWrite,
    /// A look at a lock, and the taking of one: from which event the one reads and in which
    /// order the others come is searched for like that of reads and writes, which they are only
    /// where the model says so.
    LockRead,
    LockWrite,
    /// At a place that it neither reads nor writes.
    Touch,
    Fence,
    /// A conditional branch.
    Branch,
    /// The decision inside an instruction.
    Decision,
    RegRead,
    RegWrite,
}

/// An event of a path. Accesses are whole here; mixed sizes split them later.
#[derive(Clone, Debug)]
pub struct PathEvent {
    pub kind: Kind,
    pub tags: Tags,
    /// Which execution of an instruction it belongs to, counted along the path.
    pub instance: u16,
    pub loc: u16,
    pub off: u32,
    pub size: u8,
    /// The read's number in its thread.
    pub access: u16,
    /// What a write stores.
    pub value: ExprId,
    pub addr: Taint,
    pub data: Taint,
    /// Branches decided before it.
    pub ctrl: Taint,
    /// The read that this write makes an atomic pair with, and whether they are an exclusive
    /// pair (else one instruction).
    pub partner: Option<u16>,
    pub exclusive: bool,
    /// Register events: the register, and where its value goes.
    pub reg: u16,
    pub port: Port,
    /// Events of the same instruction that this one follows by data, by control.
    pub iico_data: u128,
    pub iico_ctrl: u128,
    /// The code line, for people.
    pub line: u16,
}

impl PathEvent {
    /// Whether it is at a place.
    pub fn is_access(&self) -> bool {
        self.reads() || self.writes() || self.kind == Kind::Touch
    }

    /// Whether it reads from another event, as a lock's may.
    pub fn reads(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::ReadWrite | Kind::LockRead)
    }

    pub fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::ReadWrite | Kind::LockWrite)
    }
}

#[derive(Clone, Debug)]
pub struct Path {
    pub events: Vec<PathEvent>,
    /// Values that must be true (not 0) or false.
    pub constraints: Vec<(ExprId, bool)>,
    /// Final values of the observed registers of this thread: index into
    /// [`Program::observed`](super::program::Program::observed), value.
    pub finals: Vec<(usize, ExprId)>,
    /// What is wrong where the path ends before the code does: an error if an execution has it.
    /// Which paths can happen is not known here, since a path may have taken an address for that
    /// of any location.
    pub wrong: Option<Box<Wrong>>,
}

/// A message about the instruction at this line of this thread.
#[derive(Clone, Debug)]
pub struct Wrong {
    pub thread: usize,
    pub line: usize,
    pub message: String,
}

#[derive(Clone, Debug, Default)]
pub struct Paths {
    pub paths: Vec<Path>,
    /// A loop went past the unrolling bound and those paths were dropped.
    pub cut: bool,
}
