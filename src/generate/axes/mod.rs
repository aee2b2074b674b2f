//! Tests of what optimisers act on around synchronisation: a point of a grid says, axis by axis, how
//! the data is made, reached, kept alive and handed over, and each point is one test.
//!
//! Every test is free of races by construction: either the data is atomic, or a thread touches it
//! only while a flag or a lock says that it is the thread's own. It does not know which points are
//! worth a test: families and the hunt choose.

mod data;
mod draw;
mod families;
mod kept;
mod near;
mod program;
mod stored;
mod sync;

#[cfg(test)]
mod tests;

pub use draw::{Random, draw, neighbours};
pub use families::{FAMILIES, Family, each, has_float};
pub use program::text;

/// An axis: a number of a point is a choice on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Axis {
    /// The threads, and which of them hand data to which.
    Shape,
    /// How the data is handed over: the operation on the flag that releases it.
    Release,
    /// How the data is taken over: the operation on the flag that acquires it.
    Acquire,
    /// The type of the data.
    Type,
    /// The type of the flag.
    Flag,
    /// Whether the data is plain, atomic or volatile.
    Kind,
    /// Where a value that is written comes from.
    Value,
    /// How a value that was read is taken apart.
    Read,
    /// How the data is reached.
    Alias,
    /// The code around a write of the data.
    Write,
    /// The code around a read of the data.
    Use,
    /// Where the operation on the flag stands.
    Sync,
    /// Functions that compilers summarise, around the accesses of the data.
    Call,
    /// The code around each operation: accesses to memory of the thread alone, or loads of an object that
    /// nobody writes.
    Around,
    /// The earlier accesses of the owner to the data.
    Early,
    /// Loops that run once, around a thread's operations.
    Loop,
    /// Where the data lives: alone, or in a structure or a union.
    Member,
    /// How a thread tells whether the flag was set: by the value that an update found, by a bit of it, or
    /// by a comparison.
    Answer,
    /// The constants that are written. Where data and flag have the same one, a compiler keeps it in one
    /// register, and accesses that it could pair lie apart.
    Numbers,
    /// Plain accesses of a thread to its own member beside the data, before or after all else.
    Near,
    /// Whether threads are given the shared objects, or name them as static variables; and whether all
    /// threads run one function.
    Storage,
    /// Other code of the thread right before and after each operation on the flag.
    Between,
    /// Where the number comes from that a flag is set to.
    Operand,
    /// The fate of a thread's values at its end.
    Kept,
}

/// How many axes there are.
pub const AXES: usize = 24;

/// An axis, its name, and the names of its choices.
type Row = (Axis, &'static str, fn() -> &'static [&'static str]);

/// All axes, in their order.
const ROWS: [Row; AXES] = [
    (Axis::Shape, "shape", || &program::SHAPES),
    (Axis::Release, "release", || sync::release_names()),
    (Axis::Acquire, "acquire", || sync::acquire_names()),
    (Axis::Type, "type", || data::type_names()),
    (Axis::Flag, "flag", || data::flag_names()),
    (Axis::Kind, "kind", || &data::KINDS),
    (Axis::Value, "value", || &data::VALUES),
    (Axis::Read, "read", || &data::READS),
    (Axis::Alias, "alias", || &data::ALIASES),
    (Axis::Write, "write", || &data::WRITES),
    (Axis::Use, "use", || &data::USES),
    (Axis::Sync, "sync", || &sync::WRAPS),
    (Axis::Call, "call", || &data::CALLS),
    (Axis::Around, "around", || &data::AROUNDS),
    (Axis::Early, "early", || &data::EARLIES),
    (Axis::Loop, "loop", || &data::LOOPS),
    (Axis::Member, "member", || &data::MEMBERS),
    (Axis::Answer, "answer", || &sync::ANSWERS),
    (Axis::Numbers, "numbers", || &data::NUMBERS),
    (Axis::Near, "near", || &near::NEARS),
    (Axis::Storage, "storage", || &stored::STORAGES),
    (Axis::Between, "between", || &near::BETWEENS),
    (Axis::Operand, "operand", || &sync::OPERANDS),
    (Axis::Kept, "kept", || &kept::KEPTS),
];

impl Axis {
    /// Every axis, in the order of a point's numbers.
    pub const ALL: [Axis; AXES] = {
        let mut all = [Axis::Shape; AXES];
        let mut at = 0;
        while at < AXES {
            all[at] = ROWS[at].0;
            assert!(all[at] as usize == at, "the rows have the order of the axes");
            at += 1;
        }
        all
    };

    /// Its name, as names of tests have it.
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    fn names(self) -> &'static [&'static str] {
        ROWS[self as usize].2()
    }

    /// How many choices it has; the first is the plain one.
    pub fn choices(self) -> usize {
        self.names().len()
    }

    /// The name of a choice.
    pub fn choice(self, at: usize) -> &'static str {
        self.names().get(at).copied().unwrap_or("")
    }
}

/// A choice on each axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point(pub [u8; AXES]);

impl Point {
    /// The number of the choice on an axis.
    pub(crate) fn get(&self, axis: Axis) -> usize {
        self.0[axis as usize].into()
    }

    /// The name of the choice on an axis.
    pub fn choice(&self, axis: Axis) -> &'static str {
        axis.choice(self.get(axis))
    }

    /// The same point with another choice on one axis.
    pub fn with(mut self, axis: Axis, at: usize) -> Point {
        self.0[axis as usize] = at as u8;
        self
    }

    /// The axes on which it is not plain, those that every test has left out.
    pub fn special(&self) -> impl Iterator<Item = Axis> {
        Axis::ALL.into_iter().skip(3).filter(|a| self.get(*a) > 0)
    }

    /// A name that says every choice which is not the plain one.
    pub fn name(&self) -> String {
        let mut out = self.choice(Axis::Shape).to_string();
        for axis in [Axis::Release, Axis::Acquire] {
            out.push('+');
            out.push_str(self.choice(axis));
        }
        for axis in self.special() {
            out.push('+');
            out.push_str(axis.name());
            out.push('.');
            out.push_str(self.choice(axis));
        }
        out
    }
}
