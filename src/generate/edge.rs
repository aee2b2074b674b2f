//! Edges of cycles: relaxations between two events, as diy's users write them.
//!
//! An edge says how two events are related, and what annotations its ends bear. It does not know
//! how any dialect spells that (`syntax`, `dialect`), nor what a cycle of edges means (`cycle`).

/// The direction of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dir {
    /// A write.
    W,
    /// A read.
    R,
}

/// Whether the ends of an edge are at the same location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sd {
    /// At the same location.
    Same,
    /// At different locations.
    Diff,
}

/// Whether the ends of a communication are in the same thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ie {
    /// In the same thread.
    Int,
    /// In different threads.
    Ext,
}

/// A communication: how two accesses of one location follow each other in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Com {
    /// From a write to a read that returns it.
    Rf,
    /// From a read to a write that comes after the one that it returns.
    Fr,
    /// From a write to one that comes later in coherence.
    Co,
}

/// How one event depends on a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DepKind {
    /// Its address is computed from the value that is read.
    Addr,
    /// The value that it writes is computed from the value that is read.
    Data,
    /// It is behind a branch that the value decides.
    Ctrl,
    /// A control dependency with the dialect's instruction barrier behind the branch.
    CtrlIsb,
}

/// A dependency; `csel` carries it through a conditional select.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dep {
    /// How the event depends on the read.
    pub kind: DepKind,
    /// Whether a conditional select is on the way.
    pub csel: bool,
}

/// The new value of a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RmwOp {
    /// The sum.
    Add,
    /// The old value less the operand.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise and of the old value and the complement of the operand.
    Clr,
}

/// The sorts of read-modify-writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rmw {
    /// A loop of a load-linked and a store-conditional.
    LxSx,
    /// An exchange.
    Exch,
    /// A compare-exchange that expects what it finds.
    Cas,
    /// An operation that returns what was there.
    Fetch(RmwOp),
    /// An operation that returns nothing.
    Store(RmwOp),
}

impl Rmw {
    /// The value that is left where `old` was; exchanges leave the operand.
    pub fn compute(self, old: i32, operand: i32) -> i32 {
        match self {
            Rmw::LxSx | Rmw::Exch | Rmw::Cas => operand,
            Rmw::Fetch(op) | Rmw::Store(op) => match op {
                RmwOp::Add => old.wrapping_add(operand),
                RmwOp::Sub => old.wrapping_sub(operand),
                RmwOp::And => old & operand,
                RmwOp::Or => old | operand,
                RmwOp::Xor => old ^ operand,
                RmwOp::Clr => old & !operand,
            },
        }
    }
}

/// The strength of an access. Each dialect has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// None: a plain access.
    Plain,
    /// Acquire.
    Acq,
    /// AArch64's weaker acquire (LDAPR).
    AcqPc,
    /// Release.
    Rel,
    /// Acquire and release.
    AcqRel,
    /// Sequentially consistent.
    Sc,
    /// Relaxed.
    Rlx,
    /// Consume.
    Con,
}

/// The annotation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// A strength alone.
    Order(Order),
    /// An access made by a read-modify-write: a loop of load-linked and store-conditional with
    /// these strengths, or an exchange.
    Loop(Order, Order),
    /// A load-linked on its own.
    Reserve,
    /// A store that bypasses the cache.
    NonTemporal,
    /// An access to so many bytes of a location.
    Sized(Order, Size),
    /// An access to two elements at once; what is observed of a read is their sum.
    Pair(Pair),
}

/// Some bytes of a location: how many, and from where on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    /// How many bytes.
    pub(crate) bytes: u8,
    /// The first of them, counted from the least significant one.
    pub(crate) offset: u8,
}

impl Size {
    /// A whole location of four bytes.
    pub(crate) const WORD: Size = Size { bytes: 4, offset: 0 };
    /// The lower half of it.
    pub(crate) const LOW: Size = Size { bytes: 2, offset: 0 };
    /// The upper half of it.
    pub(crate) const HIGH: Size = Size { bytes: 2, offset: 2 };
    /// Values have to fit one byte.
    pub const MOST: i32 = 127;

    /// Whether some byte is in both.
    pub(crate) fn overlaps(self, other: Size) -> bool {
        self.offset < other.offset + other.bytes && other.offset < self.offset + self.bytes
    }

    /// A small value in each byte, so that any part that is read tells the value.
    pub fn spread(self, value: i32) -> i32 {
        (0..self.bytes).fold(0, |all, i| all | value << (8 * i))
    }

    fn mask(self) -> u32 {
        u32::MAX >> (32 - 8 * u32::from(self.bytes))
    }

    /// The value of these bytes of a location's content.
    pub fn of(self, content: i32) -> i32 {
        ((content as u32 >> (8 * self.offset)) & self.mask()) as i32
    }

    /// The content of the location after these bytes were written.
    pub fn put(self, content: i32, value: i32) -> i32 {
        let shift = 8 * self.offset;
        (content as u32 & !(self.mask() << shift) | (value as u32) << shift) as i32
    }
}

/// The sorts of accesses to two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pair {
    /// An access without annotation.
    Plain,
    /// One that bypasses the cache.
    NonTemporal,
    /// An acquire.
    Acq,
    /// A release.
    Rel,
    /// A weaker acquire of each of the two (LDIAPP).
    AcqPc,
    /// A release of each of the two, in order (STILP).
    RelEach,
}

impl Atom {
    /// A plain access by choice. It agrees with no other annotation, while an end without annotation agrees
    /// with any. Events do not keep it.
    pub const PLAIN: Atom = Atom::Order(Order::Plain);
}

/// The annotation of an event whose edges have this one.
pub fn settled(atom: Option<Atom>) -> Option<Atom> {
    atom.filter(|a| *a != Atom::PLAIN)
}

/// A fence: an index into the dialect's list.
pub type Fence = u8;

/// How the source of an edge and its target are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A communication, within a thread or between two.
    Com(Com, Ie),
    /// Program order: whether the location stays, and the directions of source and target.
    Po(Sd, Dir, Dir),
    /// A fence between them; else as program order.
    Fenced(Fence, Sd, Dir, Dir),
    /// A dependency on a read: whether the location stays, and the direction of the target.
    Dp(Dep, Sd, Dir),
    /// A fence between two edges, which is no edge itself.
    Insert(Fence),
    /// The read and the write of one read-modify-write.
    Rmw(Rmw),
    /// No edge, but the annotation of the event at which its neighbours meet.
    Id,
}

/// A relaxation between two events, its source and its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// How they are related.
    pub kind: Kind,
    /// The annotation of the source, if it is given.
    pub a1: Option<Atom>,
    /// The annotation of the target, if it is given.
    pub a2: Option<Atom>,
}

impl Edge {
    /// An edge without annotations.
    pub fn plain(kind: Kind) -> Edge {
        Edge { kind, a1: None, a2: None }
    }

    /// The direction that the source must have; `None` for an edge that is not real.
    pub fn source(self) -> Option<Dir> {
        match self.kind {
            Kind::Com(Com::Rf | Com::Co, _) => Some(Dir::W),
            Kind::Com(Com::Fr, _) | Kind::Dp(..) | Kind::Rmw(_) => Some(Dir::R),
            Kind::Po(_, d, _) | Kind::Fenced(_, _, d, _) => Some(d),
            Kind::Insert(_) | Kind::Id => None,
        }
    }

    /// The direction that the target must have; `None` for an edge that is not real.
    pub fn target(self) -> Option<Dir> {
        match self.kind {
            Kind::Com(Com::Rf, _) => Some(Dir::R),
            Kind::Com(_, _) | Kind::Rmw(_) => Some(Dir::W),
            Kind::Po(_, _, d) | Kind::Fenced(_, _, _, d) | Kind::Dp(_, _, d) => Some(d),
            Kind::Insert(_) | Kind::Id => None,
        }
    }

    /// Whether its ends are at the same location.
    pub fn sd(self) -> Sd {
        match self.kind {
            Kind::Po(sd, ..) | Kind::Fenced(_, sd, ..) | Kind::Dp(_, sd, _) => sd,
            Kind::Com(..) | Kind::Insert(_) | Kind::Rmw(_) | Kind::Id => Sd::Same,
        }
    }

    /// Whether it leads to another thread.
    pub(crate) fn is_ext(self) -> bool {
        matches!(self.kind, Kind::Com(_, Ie::Ext))
    }

    /// The edge as it is written, without annotations of plain accesses.
    pub fn bare(self) -> Edge {
        Edge { kind: self.kind, a1: settled(self.a1), a2: settled(self.a2) }
    }

    /// Whether it is a communication.
    pub(crate) fn is_com(self) -> bool {
        matches!(self.kind, Kind::Com(..))
    }

    /// Whether it is a read-modify-write.
    pub(crate) fn is_rmw(self) -> bool {
        matches!(self.kind, Kind::Rmw(_))
    }

    /// Whether it is neither an annotation alone nor a separate fence.
    pub fn is_real(self) -> bool {
        !matches!(self.kind, Kind::Insert(_) | Kind::Id)
    }
}

/// The annotation of an event at which two edges meet; `None` where they disagree. No
/// annotation agrees with any.
pub fn merge(a: Option<Atom>, b: Option<Atom>) -> Option<Option<Atom>> {
    match (a, b) {
        (None, x) | (x, None) => Some(x),
        (Some(x), Some(y)) if x == y => Some(a),
        // A strength and a size are two things of one access.
        (Some(Atom::Order(o)), Some(Atom::Sized(p, size)))
        | (Some(Atom::Sized(p, size)), Some(Atom::Order(o))) => {
            let fits = o != Order::Plain && (p == Order::Plain || p == o);
            fits.then_some(Some(Atom::Sized(o, size)))
        }
        (Some(Atom::Sized(o, size)), Some(Atom::Sized(p, other))) => {
            let fits = size == other && (o == Order::Plain || p == Order::Plain);
            fits.then_some(Some(Atom::Sized(if o == Order::Plain { p } else { o }, size)))
        }
        _ => None,
    }
}

/// Whether an edge may come directly before another: directions and annotations agree.
pub fn may_precede(x: Edge, y: Edge) -> bool {
    let directions = match (x.kind, y.kind) {
        (Kind::Id, _) | (_, Kind::Id) => true,
        (Kind::Insert(_), Kind::Insert(_)) => false,
        _ => match (x.target(), y.source()) {
            (Some(d), Some(e)) => d == e,
            _ => true,
        },
    };
    directions && merge(x.a2, y.a1).is_some()
}
