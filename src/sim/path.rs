//! A path: one way through a thread, with its events, the conditions under which it is taken, and
//! the final values that it leaves.
//!
//! [`super::unfold`] finds paths and [`super::skeleton`] combines them; neither is known here.

use super::expr::ExprId;
use litmake_ops::{Port, Tags, Undefined};

/// The events of a path on which a value or an event depends: by data flow alone, and by data flow
/// with at least one choice inside an instruction ("pick").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    /// By data flow alone: the bit of each event.
    pub data: u128,
    /// With a choice on the way: the bit of each event.
    pub pick: u128,
}

impl Taint {
    /// No dependency.
    pub const NONE: Taint = Taint { data: 0, pick: 0 };

    /// The dependencies of both.
    pub fn or(self, o: Taint) -> Taint {
        Taint { data: self.data | o.data, pick: self.pick | o.pick }
    }

    /// The same dependencies, as choices inside the instruction.
    pub fn picked(self) -> Taint {
        Taint { data: 0, pick: self.data | self.pick }
    }
}

/// The kind of an event: an access, a fence, a branch and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A read of memory.
    Read,
    /// A write of memory.
    Write,
    /// A read-modify-write of C11, which is one event.
    ReadWrite,
    /// A look at a lock. The search gives it a source like a read; it is a read only if the model
    /// says so.
    LockRead,
    /// Taking a lock. The search orders it like a write; it is a write only if the model says so.
    LockWrite,
    /// An event at a place that it neither reads nor writes.
    Touch,
    /// A fence.
    Fence,
    /// A conditional branch.
    Branch,
    /// A decision inside an instruction.
    Decision,
    /// A read of a register, for models that ask for register events.
    RegRead,
    /// A write of a register, for models that ask for register events.
    RegWrite,
}

/// An event of a path. An access is one event here; a skeleton may split it into cells.
#[derive(Clone, Debug, PartialEq)]
pub struct PathEvent {
    /// The kind of the event.
    pub kind: Kind,
    /// Its annotations.
    pub tags: Tags,
    /// The execution of an instruction that it belongs to, counted along the path.
    pub instance: u16,
    /// The location that it is at, as an index into those of the program.
    pub loc: u16,
    /// The first byte of the location that it is at.
    pub off: u32,
    /// How many bytes it is at.
    pub size: u8,
    /// The read's number in its thread.
    pub access: u16,
    /// The value that a write stores.
    pub value: ExprId,
    /// The events on which its address depends.
    pub addr: Taint,
    /// The events on which the written value depends.
    pub data: Taint,
    /// The events that earlier branches depend on.
    pub ctrl: Taint,
    /// The read with which this write is an atomic pair, and whether they are an exclusive pair
    /// (else they are of one instruction).
    pub partner: Option<u16>,
    /// Whether that pair is an exclusive one.
    pub exclusive: bool,
    /// Of a register event, the register, and where its value goes.
    pub reg: u16,
    /// Where in the instruction the value of a register read goes.
    pub port: Port,
    /// The events of the same instruction on which this one depends by data, and by control.
    pub iico_data: u128,
    /// By control: the bit of each event.
    pub iico_ctrl: u128,
    /// The code line, for people.
    pub line: u16,
}

impl PathEvent {
    /// Whether it accesses a place.
    pub fn is_access(&self) -> bool {
        self.reads() || self.writes() || self.kind == Kind::Touch
    }

    /// Whether it reads from another event, as a lock's may.
    pub fn reads(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::ReadWrite | Kind::LockRead)
    }

    /// Whether coherence orders it, as it may the taking of a lock.
    pub fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::ReadWrite | Kind::LockWrite)
    }
}

/// One way through a thread.
#[derive(Clone, Debug)]
pub struct Path {
    /// Which path of its thread it is. Threads with equal code have equal paths under equal numbers.
    pub number: usize,
    /// Its events, in program order.
    pub events: Vec<PathEvent>,
    /// The path is taken if each of these values is true (not 0), or false.
    pub constraints: Vec<(ExprId, bool)>,
    /// The final values of this thread's observed registers, by index in
    /// [`Program::observed`](super::program::Program::observed).
    pub finals: Vec<(usize, ExprId)>,
    /// Set if the path ends with an error before the code does. It is reported only if an execution
    /// takes the path, since a path may have assumed any location for an address.
    pub error: Option<Box<PathError>>,
    /// Where the behaviour may be undefined on the way, in order.
    pub doubts: Vec<Doubt>,
}

/// A value that makes the behaviour undefined if it is true (not 0).
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// The value.
    pub cond: ExprId,
    /// The operation that is undefined then.
    pub what: Undefined,
    /// The line in the thread.
    pub line: usize,
}

/// An error at an instruction, by its line in its thread.
#[derive(Clone, Debug)]
pub struct PathError {
    /// The number of the thread.
    pub thread: usize,
    /// The line in the thread.
    pub line: usize,
    /// The error, in words.
    pub message: String,
}

/// The paths of a thread.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// Every path, in the order in which they were found.
    pub paths: Vec<Path>,
    /// Paths on which a loop went past the unrolling bound were dropped.
    pub cut: bool,
}
