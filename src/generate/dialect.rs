//! The vocabulary of each dialect: annotations, fences, dependencies and read-modify-writes, with the names
//! that diy gives them.
//!
//! A dialect's own is with what writes its instructions (`emit`).

use super::cycle::{Refused, Workshop};
use super::draft::Draft;
use super::edge::{Atom, Dep, DepKind, Dir, Order, Pair, Rmw, Size};
use super::emit::{DIALECTS, Style};
use litmake_litmus::Arch;

/// A fence of a dialect, with its names.
pub struct FenceInfo {
    /// The name in cycles, such as `DMB.SY`.
    pub name: &'static str,
    /// The name in the names of tests.
    pub lower: &'static str,
    /// The instruction, or the C memory order.
    pub text: &'static str,
}

/// The vocabulary of one dialect.
pub struct Dialect {
    /// The dialect of litmus tests.
    pub arch: Arch,
    /// The name of an access without annotation.
    pub plain: &'static str,
    /// The annotations of accesses without their sizes, by name.
    pub atoms: &'static [(&'static str, Atom)],
    /// Annotations for the bytes of an access. They are not among `all`.
    pub sizes: &'static [(&'static str, Atom)],
    /// The fences. Edges name them by their index here.
    pub fences: &'static [FenceInfo],
    /// The fence that `Fence` stands for, where there is one.
    pub strong: Option<u8>,
    /// The dependencies, by name.
    pub deps: &'static [(&'static str, Dep)],
    /// The dependencies that `Dp` and `Ctrl` alone stand for, to reads and to writes.
    pub default_dep: Option<[DepKind; 4]>,
    /// The read-modify-writes, by name.
    pub rmws: &'static [(&'static str, Rmw)],
    /// The read-modify-write that `Rmw` stands for, a name in older tests.
    pub rmw: Rmw,
    /// Whether a read-modify-write may bear these orders at its read and its write; `None` is an annotation
    /// that is no order.
    pub orders: fn(Rmw, Option<Order>, Option<Order>) -> bool,
    /// Its general registers.
    pub registers: Registers,
    /// Writes cycles.
    pub write: Write,
}

/// Writes the cycle in a workshop into a draft.
pub type Write = fn(&Dialect, &Workshop, &Style, &mut Draft) -> Result<(), Refused>;

/// The general registers of a dialect, by number.
pub struct Registers {
    /// The text before the number, unless they have names.
    pub prefix: &'static str,
    /// Their names, where these are no numbers.
    pub names: &'static [&'static str],
    /// The first one that is given away; the others follow.
    pub first: u8,
    /// How many there are.
    pub count: u8,
}

/// A machine with word accesses, whose read-modify-writes are loops of linked loads and conditional stores; dialects of
/// such machines say what is different.
pub(crate) const LOOPS: Dialect = Dialect {
    arch: Arch::C,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Order::Plain, Order::Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    fences: &[],
    strong: Some(0),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::Ctrl, DepKind::Ctrl]),
    rmws: &[("LxSx", Rmw::LxSx)],
    rmw: Rmw::LxSx,
    orders: any_orders,
    registers: Registers { prefix: "", names: &[], first: 0, count: 0 },
    write: |_, _, _, _| Err("there are no instructions for it"),
};

/// Annotations that say something of single accesses and are of no effect on a read-modify-write.
pub(crate) fn any_orders(_: Rmw, _: Option<Order>, _: Option<Order>) -> bool {
    true
}

pub(crate) const fn sized(order: Order, size: Size) -> Atom {
    Atom::Sized(order, size)
}

/// Accesses to a word and to its halves, as diy names them.
pub(crate) const SIZES: &[(&str, Atom)] = &[
    ("w0", sized(Order::Plain, Size::WORD)),
    ("h0", sized(Order::Plain, Size::LOW)),
    ("h2", sized(Order::Plain, Size::HIGH)),
];

pub(crate) const fn dep(kind: DepKind) -> Dep {
    Dep { kind, csel: false }
}

pub(crate) const fn csel(kind: DepKind) -> Dep {
    Dep { kind, csel: true }
}

macro_rules! fences {
    ($($name:literal $lower:literal $text:literal),* $(,)?) => {
        &[$($crate::dialect::FenceInfo { name: $name, lower: $lower, text: $text }),*]
    };
}
pub(crate) use fences;

/// The dialect of generated tests with a name. Tests in LLVM's are not generated, only compiled.
pub fn named(word: &str) -> Option<Arch> {
    Arch::named(word).filter(|arch| of(*arch).arch == *arch)
}

/// The names of the dialects that tests are generated in.
pub fn names() -> Vec<&'static str> {
    Arch::ALL.iter().filter(|arch| of(**arch).arch == **arch).map(|arch| arch.name()).collect()
}

/// The vocabulary of cycles in a dialect. Tests for LLVM, PTX and SPIR-V are written in C.
pub fn of(arch: Arch) -> &'static Dialect {
    DIALECTS.iter().find(|dialect| dialect.arch == arch).unwrap_or(&DIALECTS[0])
}

impl Dialect {
    /// The annotations of accesses, strengths before sizes.
    pub fn annotations(&self) -> impl Iterator<Item = &'static (&'static str, Atom)> {
        self.atoms.iter().chain(self.sizes)
    }

    /// The name of an annotation, or of an access without one.
    pub(crate) fn atom_name(&self, atom: Option<Atom>) -> &'static str {
        match atom {
            None => self.plain,
            Some(a) => {
                let mut all = self.annotations();
                all.find(|(_, b)| *b == a).map_or("?", |(n, _)| n)
            }
        }
    }

    /// The name of a dependency.
    pub(crate) fn dep_name(&self, dep: Dep) -> &'static str {
        self.deps.iter().find(|(_, d)| *d == dep).map_or("?", |(n, _)| n)
    }

    /// The name of a read-modify-write.
    pub(crate) fn rmw_name(&self, rmw: Rmw) -> &'static str {
        self.rmws.iter().find(|(_, r)| *r == rmw).map_or("?", |(n, _)| n)
    }

    /// The fence that an edge names.
    pub(crate) fn fence(&self, fence: u8) -> &'static FenceInfo {
        &self.fences[usize::from(fence) % self.fences.len()]
    }

    /// Whether an access in this direction may bear an annotation.
    pub fn applies(&self, atom: Atom, dir: Dir) -> bool {
        match (atom, dir) {
            (Atom::Order(Order::Rel), Dir::R) => false,
            (Atom::Order(Order::AcqRel), Dir::R) => self.arch != Arch::C,
            (Atom::Order(Order::Acq | Order::AcqPc | Order::Con), Dir::W) => false,
            (Atom::Order(Order::AcqRel), Dir::W) => self.arch != Arch::C,
            (Atom::Reserve, Dir::W) => false,
            (Atom::Sized(o, _), _) => o == Order::Plain || self.applies(Atom::Order(o), dir),
            (Atom::Pair(Pair::Acq | Pair::AcqPc), Dir::W) => false,
            (Atom::Pair(Pair::Rel | Pair::RelEach), Dir::R) => false,
            // x86 has atomic stores (`xchg`), and loads are what they are.
            (Atom::Loop(..), Dir::R) => !matches!(self.arch, Arch::X86_64 | Arch::X86),
            _ => true,
        }
    }

    /// Whether the value that a read-modify-write returns tells more than the final value does.
    pub fn shows(&self, rmw: Rmw) -> bool {
        matches!(self.arch, Arch::AArch64 | Arch::C) && !matches!(rmw, Rmw::Store(_))
    }

    /// Whether a read-modify-write may bear these annotations at its read and its write.
    pub fn applies_rmw(&self, rmw: Rmw, read: Option<Atom>, write: Option<Atom>) -> bool {
        let order = |a: Option<Atom>| match a {
            None => Some(Order::Plain),
            Some(Atom::Order(o)) => Some(o),
            Some(_) => None,
        };
        if [read, write].iter().any(|a| matches!(a, Some(Atom::Sized(..)))) {
            return false;
        }
        let (r, w) = (order(read), order(write));
        (self.orders)(rmw, r, w)
    }
}

/// The memory order of a C operation that reads with one annotation and writes with another.
pub fn rmw_order(read: Option<Atom>, write: Option<Atom>) -> Option<Order> {
    use Order::*;
    match (read?, write?) {
        (Atom::Order(Sc), Atom::Order(Sc)) => Some(Sc),
        (Atom::Order(Rlx), Atom::Order(Rlx)) => Some(Rlx),
        (Atom::Order(Acq), Atom::Order(Rel)) => Some(AcqRel),
        (Atom::Order(Acq), Atom::Order(Rlx)) => Some(Acq),
        (Atom::Order(Rlx), Atom::Order(Rel)) => Some(Rel),
        _ => None,
    }
}

/// The C name of a memory order.
pub fn memory_order(order: Order) -> &'static str {
    match order {
        Order::Acq | Order::AcqPc => "memory_order_acquire",
        Order::Rel => "memory_order_release",
        Order::AcqRel => "memory_order_acq_rel",
        Order::Sc => "memory_order_seq_cst",
        Order::Con => "memory_order_consume",
        Order::Rlx | Order::Plain => "memory_order_relaxed",
    }
}
