//! How a C test is made from a cycle, besides the cycle: the types of its objects, where they
//! lie, by what operations and through which functions they are accessed.
//!
//! It does not know how any of that is written (`c11`).

use super::super::edge::{Order, RmwOp};
use litmake_litmus::c::types::int_name;

/// An integer type of locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Base {
    /// The size in bytes.
    pub(crate) bytes: u8,
    /// Whether it has a sign.
    pub(crate) signed: bool,
}

impl Default for Base {
    fn default() -> Base {
        Base { bytes: 4, signed: true }
    }
}

impl Base {
    /// Every type, by the name that a recipe gives it.
    pub(crate) const NAMES: [(&'static str, Base); 10] = [
        ("int", Base { bytes: 4, signed: true }),
        ("int8_t", Base { bytes: 1, signed: true }),
        ("uint8_t", Base { bytes: 1, signed: false }),
        ("int16_t", Base { bytes: 2, signed: true }),
        ("uint16_t", Base { bytes: 2, signed: false }),
        ("uint32_t", Base { bytes: 4, signed: false }),
        ("int64_t", Base { bytes: 8, signed: true }),
        ("uint64_t", Base { bytes: 8, signed: false }),
        ("int128", Base { bytes: 16, signed: true }),
        ("uint128", Base { bytes: 16, signed: false }),
    ];

    /// Its name in C.
    pub(crate) fn name(self) -> &'static str {
        int_name(self.bytes, self.signed)
    }

    /// As an initial state has it.
    pub fn declared(self, atomic: bool) -> &'static str {
        match (self.bytes, self.signed, atomic) {
            (1, true, false) => "int8_t",
            (1, false, false) => "uint8_t",
            (2, true, false) => "int16_t",
            (2, false, false) => "uint16_t",
            (4, true, false) => "int",
            (4, false, false) => "uint32_t",
            (8, true, false) => "int64_t",
            (8, false, false) => "uint64_t",
            (_, true, false) => "__int128",
            (_, false, false) => "__uint128",
            (1, true, true) => "_Atomic int8_t",
            (1, false, true) => "_Atomic uint8_t",
            (2, true, true) => "_Atomic int16_t",
            (2, false, true) => "_Atomic uint16_t",
            (4, true, true) => "atomic_int",
            (4, false, true) => "_Atomic uint32_t",
            (8, true, true) => "_Atomic int64_t",
            (8, false, true) => "_Atomic uint64_t",
            (_, true, true) => "_Atomic __int128",
            (_, false, true) => "_Atomic __uint128",
        }
    }

    /// Whether it is `int`, as it is where nothing else is said.
    pub(crate) fn is_int(self) -> bool {
        self == Base::default()
    }
}

/// How objects are qualified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objects {
    /// Those that are not atomic are volatile, so that a compiler keeps their accesses as they
    /// are: diy's way.
    #[default]
    Usual,
    /// Those that are not atomic are volatile, and the atomic ones, too.
    Volatile,
    /// None is volatile.
    Plain,
}

impl Objects {
    /// Every way, by the name that a recipe gives it.
    pub(crate) const NAMES: [(&'static str, Objects); 3] =
        [("usual", Objects::Usual), ("volatile", Objects::Volatile), ("plain", Objects::Plain)];
}

/// Where locations are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Each is a variable of its own.
    #[default]
    Separate,
    /// They are elements of one array, side by side.
    Array,
    /// They are members of one object, at offsets that their types align.
    Struct,
}

impl Layout {
    /// Every layout, by the name that a recipe gives it.
    pub(crate) const NAMES: [(&'static str, Layout); 3] =
        [("separate", Layout::Separate), ("array", Layout::Array), ("struct", Layout::Struct)];
}

/// The operations that are done in helper functions, which compilers do not inline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Helpers {
    /// Nothing.
    #[default]
    None,
    /// Fences.
    Fences,
    /// Accesses.
    Accesses,
    /// Fences and accesses.
    All,
}

impl Helpers {
    /// Every way, by the name that a recipe gives it.
    pub(crate) const NAMES: [(&'static str, Helpers); 4] = [
        ("none", Helpers::None),
        ("fences", Helpers::Fences),
        ("accesses", Helpers::Accesses),
        ("all", Helpers::All),
    ];

    /// Whether fences are done in helper functions.
    pub(crate) fn fences(self) -> bool {
        matches!(self, Helpers::Fences | Helpers::All)
    }

    /// Whether accesses are done in helper functions.
    pub(crate) fn accesses(self) -> bool {
        matches!(self, Helpers::Accesses | Helpers::All)
    }
}

/// How an access of a cycle is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Made {
    /// As the annotations of the cycle have it: by a load, a store, or its read-modify-write.
    #[default]
    Usual,
    /// By a read-modify-write. A read uses one that changes nothing, unless its result is
    /// unused: then it leaves a value that tells that it was there.
    Rmw {
        /// Its operation.
        op: Operation,
        /// Its memory order.
        order: Order,
        /// Whether its result is used.
        used: bool,
    },
    /// By a compare-exchange. That of a write succeeds. That of a read fails or, with `hits`, writes the
    /// value that is there.
    Cas {
        /// Whether it is the weak one, which may fail without a reason.
        weak: bool,
        /// Its memory order where it succeeds.
        success: Order,
        /// Its memory order where it fails.
        failure: Order,
        /// Whether that of a read succeeds, and writes what is there.
        hits: bool,
        /// Whether its result is used.
        used: bool,
    },
    /// A read by a compare-exchange that fails where it reads the value of the cycle, and says so by 0. It
    /// does not tell what it found.
    Miss {
        /// Its memory order, whether it succeeds or fails.
        order: Order,
    },
    /// A load through a pointer to `const`.
    Const,
    /// An access through a pointer to `volatile`.
    Volatile,
}

/// A read-modify-write that changes nothing and whose result nobody uses, before an access to the
/// same location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The place of the access in the cycle.
    pub(crate) before: usize,
    /// Its operation.
    pub(crate) op: Operation,
    /// Its memory order.
    pub(crate) order: Order,
}

/// The read-modify-writes of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `atomic_exchange`.
    Exchange,
    /// `atomic_fetch_add` and the like.
    Fetch(RmwOp),
}

impl Operation {
    /// Every one, by its name without `atomic_`.
    pub(crate) const ALL: [(&'static str, Operation); 6] = [
        ("exchange", Operation::Exchange),
        ("fetch_add", Operation::Fetch(RmwOp::Add)),
        ("fetch_sub", Operation::Fetch(RmwOp::Sub)),
        ("fetch_or", Operation::Fetch(RmwOp::Or)),
        ("fetch_xor", Operation::Fetch(RmwOp::Xor)),
        ("fetch_and", Operation::Fetch(RmwOp::And)),
    ];

    /// Its name without `atomic_`.
    pub(crate) fn name(self) -> &'static str {
        Operation::ALL.iter().find(|(_, o)| *o == self).map_or("", |(n, _)| n)
    }

    /// The operand that turns `from` into `to`.
    pub fn operand(self, from: i32, to: i32) -> Option<i32> {
        match self {
            Operation::Exchange => Some(to),
            Operation::Fetch(RmwOp::Add) => Some(to - from),
            Operation::Fetch(RmwOp::Sub) => Some(from - to),
            Operation::Fetch(RmwOp::Xor) => Some(from ^ to),
            Operation::Fetch(RmwOp::Or) => (from | to == to).then_some(to),
            Operation::Fetch(RmwOp::And) => (from & to == to).then_some(to),
            Operation::Fetch(RmwOp::Clr) => None,
        }
    }

    /// The operand that changes nothing where `there` is.
    pub fn nothing(self, there: i32) -> i32 {
        match self {
            Operation::Exchange => there,
            Operation::Fetch(RmwOp::And) => -1,
            Operation::Fetch(_) => 0,
        }
    }
}

/// More events are all made as usual.
pub const MAX_MADE: usize = 8;
