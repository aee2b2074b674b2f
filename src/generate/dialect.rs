//! The vocabulary of each dialect: annotations, fences, dependencies and read-modify-writes, with the names
//! that diy gives them.
//!
//! It does not know how instructions are written (`emit`).

use super::edge::{Atom, Dep, DepKind, Dir, Order, Pair, Rmw, RmwOp, Size};
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
}

const fn sized(order: Order, size: Size) -> Atom {
    Atom::Sized(order, size)
}

/// Accesses to a word and to its halves, as diy names them.
const SIZES: &[(&str, Atom)] = &[
    ("w0", sized(Plain, Size::WORD)),
    ("h0", sized(Plain, Size::LOW)),
    ("h2", sized(Plain, Size::HIGH)),
];

const fn dep(kind: DepKind) -> Dep {
    Dep { kind, csel: false }
}

const fn csel(kind: DepKind) -> Dep {
    Dep { kind, csel: true }
}

macro_rules! fences {
    ($($name:literal $lower:literal $text:literal),* $(,)?) => {
        &[$(FenceInfo { name: $name, lower: $lower, text: $text }),*]
    };
}

use DepKind::{Addr, Ctrl, CtrlIsb, Data};
use Order::{Acq, AcqPc, AcqRel, Con, Plain, Rel, Rlx, Sc};

static C: Dialect = Dialect {
    arch: Arch::C,
    plain: "Na",
    atoms: &[
        ("Acq", Atom::Order(Acq)),
        ("Rel", Atom::Order(Rel)),
        ("AR", Atom::Order(AcqRel)),
        ("Sc", Atom::Order(Sc)),
        ("Rlx", Atom::Order(Rlx)),
        ("Con", Atom::Order(Con)),
    ],
    sizes: &[],
    fences: fences![
        "FenceAcq" "fenceacq" "memory_order_acquire",
        "FenceRel" "fencerel" "memory_order_release",
        "FenceAR" "fencear" "memory_order_acq_rel",
        "FenceSc" "fencesc" "memory_order_seq_cst",
        "FenceRlx" "fencerlx" "memory_order_relaxed",
        "FenceCon" "fencecon" "memory_order_consume",
    ],
    strong: Some(3),
    deps: &[("Addr", dep(Addr)), ("Data", dep(Data)), ("Ctrl", dep(Ctrl))],
    default_dep: Some([Addr, Data, Ctrl, Ctrl]),
    rmws: &[
        ("Exch", Rmw::Exch),
        ("Fetch.Add", Rmw::Fetch(RmwOp::Add)),
        ("Fetch.Sub", Rmw::Fetch(RmwOp::Sub)),
        ("Fetch.And", Rmw::Fetch(RmwOp::And)),
        ("Fetch.Or", Rmw::Fetch(RmwOp::Or)),
        ("Fetch.Xor", Rmw::Fetch(RmwOp::Xor)),
        ("Cas", Rmw::Cas),
    ],
    rmw: Rmw::Exch,
};

static AARCH64: Dialect = Dialect {
    arch: Arch::AArch64,
    plain: "P",
    atoms: &[
        ("A", Atom::Order(Acq)),
        ("Q", Atom::Order(AcqPc)),
        ("L", Atom::Order(Rel)),
        ("X", Atom::Loop(Plain, Plain)),
        ("XL", Atom::Loop(Plain, Rel)),
        ("XA", Atom::Loop(Acq, Plain)),
        ("XAL", Atom::Loop(Acq, Rel)),
        ("Pa", Atom::Pair(Pair::Plain)),
        ("PaN", Atom::Pair(Pair::NonTemporal)),
        ("PaA", Atom::Pair(Pair::Acq)),
        ("PaL", Atom::Pair(Pair::Rel)),
        ("PaIQ", Atom::Pair(Pair::AcqPc)),
        ("PaIL", Atom::Pair(Pair::RelEach)),
    ],
    sizes: &[
        ("w0", sized(Plain, Size::WORD)),
        ("h0", sized(Plain, Size::LOW)),
        ("h2", sized(Plain, Size::HIGH)),
        ("A.w0", sized(Acq, Size::WORD)),
        ("A.h0", sized(Acq, Size::LOW)),
        ("A.h2", sized(Acq, Size::HIGH)),
        ("Q.w0", sized(AcqPc, Size::WORD)),
        ("Q.h0", sized(AcqPc, Size::LOW)),
        ("Q.h2", sized(AcqPc, Size::HIGH)),
        ("L.w0", sized(Rel, Size::WORD)),
        ("L.h0", sized(Rel, Size::LOW)),
        ("L.h2", sized(Rel, Size::HIGH)),
    ],
    fences: fences![
        "DMB.SY" "dmb.sy" "DMB SY",
        "DMB.ST" "dmb.st" "DMB ST",
        "DMB.LD" "dmb.ld" "DMB LD",
        "DSB.SY" "dsb.sy" "DSB SY",
        "DSB.ST" "dsb.st" "DSB ST",
        "DSB.LD" "dsb.ld" "DSB LD",
        "ISB" "isb" "ISB",
        "DMB.ISH" "dmb.ish" "DMB ISH",
        "DMB.ISHST" "dmb.ishst" "DMB ISHST",
        "DMB.ISHLD" "dmb.ishld" "DMB ISHLD",
        "DSB.ISH" "dsb.ish" "DSB ISH",
        "DSB.ISHST" "dsb.ishst" "DSB ISHST",
        "DSB.ISHLD" "dsb.ishld" "DSB ISHLD",
        "DMB.OSH" "dmb.osh" "DMB OSH",
        "DMB.OSHST" "dmb.oshst" "DMB OSHST",
        "DMB.OSHLD" "dmb.oshld" "DMB OSHLD",
        "DSB.OSH" "dsb.osh" "DSB OSH",
        "DSB.OSHST" "dsb.oshst" "DSB OSHST",
        "DSB.OSHLD" "dsb.oshld" "DSB OSHLD",
        "DMB.NSH" "dmb.nsh" "DMB NSH",
        "DMB.NSHST" "dmb.nshst" "DMB NSHST",
        "DMB.NSHLD" "dmb.nshld" "DMB NSHLD",
        "DSB.NSH" "dsb.nsh" "DSB NSH",
        "DSB.NSHST" "dsb.nshst" "DSB NSHST",
        "DSB.NSHLD" "dsb.nshld" "DSB NSHLD",
    ],
    strong: Some(0),
    deps: &[
        ("Addr", dep(Addr)),
        ("Data", dep(Data)),
        ("Ctrl", dep(Ctrl)),
        ("CtrlIsb", dep(CtrlIsb)),
        ("AddrCsel", csel(Addr)),
        ("DataCsel", csel(Data)),
        ("CtrlCsel", csel(Ctrl)),
        ("CtrlIsbCsel", csel(CtrlIsb)),
    ],
    default_dep: Some([Addr, Data, CtrlIsb, Ctrl]),
    rmws: &[
        ("LxSx", Rmw::LxSx),
        ("Amo.Swp", Rmw::Exch),
        ("Amo.Cas", Rmw::Cas),
        ("Amo.LdAdd", Rmw::Fetch(RmwOp::Add)),
        ("Amo.LdEor", Rmw::Fetch(RmwOp::Xor)),
        ("Amo.LdSet", Rmw::Fetch(RmwOp::Or)),
        ("Amo.LdClr", Rmw::Fetch(RmwOp::Clr)),
        ("Amo.StAdd", Rmw::Store(RmwOp::Add)),
        ("Amo.StEor", Rmw::Store(RmwOp::Xor)),
        ("Amo.StSet", Rmw::Store(RmwOp::Or)),
        ("Amo.StClr", Rmw::Store(RmwOp::Clr)),
    ],
    rmw: Rmw::LxSx,
};

static X86_64: Dialect = Dialect {
    arch: Arch::X86_64,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Plain, Plain)), ("NT", Atom::NonTemporal)],
    sizes: SIZES,
    fences: fences![
        "MFence" "mfence" "mfence",
        "SFence" "sfence" "sfence",
        "LFence" "lfence" "lfence",
    ],
    strong: Some(0),
    deps: &[],
    default_dep: None,
    rmws: &[("Exch", Rmw::Exch)],
    rmw: Rmw::Exch,
};

static X86: Dialect = Dialect {
    arch: Arch::X86,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Plain, Plain))],
    sizes: &[],
    fences: fences!["MFence" "mfence" "mfence"],
    strong: Some(0),
    deps: &[],
    default_dep: None,
    rmws: &[("Exch", Rmw::Exch)],
    rmw: Rmw::Exch,
};

static RISCV: Dialect = Dialect {
    arch: Arch::RiscV,
    plain: "P",
    atoms: &[
        ("Aq", Atom::Order(Acq)),
        ("Rl", Atom::Order(Rel)),
        ("AR", Atom::Order(AcqRel)),
        ("X", Atom::Loop(Plain, Plain)),
        ("XPAq", Atom::Loop(Plain, Acq)),
        ("XPRl", Atom::Loop(Plain, Rel)),
        ("XPAR", Atom::Loop(Plain, AcqRel)),
        ("XAqP", Atom::Loop(Acq, Plain)),
        ("XAqAq", Atom::Loop(Acq, Acq)),
        ("XAqRl", Atom::Loop(Acq, Rel)),
        ("XAqAR", Atom::Loop(Acq, AcqRel)),
        ("XRlP", Atom::Loop(Rel, Plain)),
        ("XRlAq", Atom::Loop(Rel, Acq)),
        ("XRlRl", Atom::Loop(Rel, Rel)),
        ("XRlAR", Atom::Loop(Rel, AcqRel)),
        ("XARP", Atom::Loop(AcqRel, Plain)),
        ("XARAq", Atom::Loop(AcqRel, Acq)),
        ("XARRl", Atom::Loop(AcqRel, Rel)),
        ("XARAR", Atom::Loop(AcqRel, AcqRel)),
    ],
    sizes: SIZES,
    fences: fences![
        "Fence.rw.rw" "fence.rw.rw" "fence rw,rw",
        "Fence.r.r" "fence.r.r" "fence r,r",
        "Fence.r.w" "fence.r.w" "fence r,w",
        "Fence.r.rw" "fence.r.rw" "fence r,rw",
        "Fence.w.r" "fence.w.r" "fence w,r",
        "Fence.w.w" "fence.w.w" "fence w,w",
        "Fence.w.rw" "fence.w.rw" "fence w,rw",
        "Fence.rw.r" "fence.rw.r" "fence rw,r",
        "Fence.rw.w" "fence.rw.w" "fence rw,w",
        "Fence.tso" "fence.tso" "fence.tso",
        "Fence.i" "fence.i" "fence.i",
        "Fence.iorw.iorw" "fence.iorw.iorw" "fence iorw,iorw",
    ],
    strong: Some(11),
    deps: &[
        ("Addr", dep(Addr)),
        ("Data", dep(Data)),
        ("Ctrl", dep(Ctrl)),
        ("CtrlFenceI", dep(CtrlIsb)),
    ],
    default_dep: Some([Addr, Data, CtrlIsb, Ctrl]),
    rmws: &[("Exch", Rmw::Exch)],
    rmw: Rmw::Exch,
};

static ARM: Dialect = Dialect {
    arch: Arch::Arm,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Plain, Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    fences: fences![
        "DMB" "dmb" "DMB",
        "DMB.ST" "dmb.st" "DMB ST",
        "DSB" "dsb" "DSB",
        "DSB.ST" "dsb.st" "DSB ST",
        "ISB" "isb" "ISB",
    ],
    strong: Some(0),
    deps: &[
        ("Addr", dep(Addr)),
        ("Data", dep(Data)),
        ("Ctrl", dep(Ctrl)),
        ("CtrlIsb", dep(CtrlIsb)),
    ],
    default_dep: Some([Addr, Data, CtrlIsb, Ctrl]),
    rmws: &[("LxSx", Rmw::LxSx)],
    rmw: Rmw::LxSx,
};

static PPC: Dialect = Dialect {
    arch: Arch::Ppc,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Plain, Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    fences: fences![
        "Sync" "sync" "sync",
        "LwSync" "lwsync" "lwsync",
        "Eieio" "eieio" "eieio",
        "ISync" "isync" "isync",
    ],
    strong: Some(0),
    deps: &[
        ("Addr", dep(Addr)),
        ("Data", dep(Data)),
        ("Ctrl", dep(Ctrl)),
        ("CtrlIsync", dep(CtrlIsb)),
    ],
    default_dep: Some([Addr, Data, CtrlIsb, Ctrl]),
    rmws: &[("LxSx", Rmw::LxSx)],
    rmw: Rmw::LxSx,
};

static MIPS: Dialect = Dialect {
    arch: Arch::Mips,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Plain, Plain)), ("R", Atom::Reserve)],
    sizes: &[],
    fences: fences!["Sync" "sync" "sync"],
    strong: Some(0),
    deps: &[("Addr", dep(Addr)), ("Data", dep(Data)), ("Ctrl", dep(Ctrl))],
    default_dep: Some([Addr, Data, Ctrl, Ctrl]),
    rmws: &[("LxSx", Rmw::LxSx)],
    rmw: Rmw::LxSx,
};

/// BPF has no fences: its read-modify-writes order what is around them.
static BPF: Dialect = Dialect {
    arch: Arch::Bpf,
    plain: "P",
    atoms: &[("Aq", Atom::Order(Acq)), ("Rl", Atom::Order(Rel))],
    sizes: SIZES,
    fences: &[],
    strong: None,
    deps: &[("Addr", dep(Addr)), ("Data", dep(Data)), ("Ctrl", dep(Ctrl))],
    default_dep: Some([Addr, Data, Ctrl, Ctrl]),
    rmws: &[
        ("Exch", Rmw::Exch),
        ("Cas", Rmw::Cas),
        ("Fetch.Add", Rmw::Fetch(RmwOp::Add)),
        ("Fetch.And", Rmw::Fetch(RmwOp::And)),
        ("Fetch.Or", Rmw::Fetch(RmwOp::Or)),
        ("Fetch.Xor", Rmw::Fetch(RmwOp::Xor)),
        ("Lock.Add", Rmw::Store(RmwOp::Add)),
        ("Lock.And", Rmw::Store(RmwOp::And)),
        ("Lock.Or", Rmw::Store(RmwOp::Or)),
        ("Lock.Xor", Rmw::Store(RmwOp::Xor)),
    ],
    rmw: Rmw::Exch,
};

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
    match arch {
        Arch::C | Arch::Llvm | Arch::Ptx | Arch::Spirv => &C,
        Arch::AArch64 => &AARCH64,
        Arch::Arm => &ARM,
        Arch::X86_64 => &X86_64,
        Arch::X86 => &X86,
        Arch::RiscV => &RISCV,
        Arch::Ppc => &PPC,
        Arch::Mips => &MIPS,
        Arch::Bpf => &BPF,
    }
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
        use Order::*;
        let order = |a: Option<Atom>| match a {
            None => Some(Plain),
            Some(Atom::Order(o)) => Some(o),
            Some(_) => None,
        };
        if [read, write].iter().any(|a| matches!(a, Some(Atom::Sized(..)))) {
            return false;
        }
        let (r, w) = (order(read), order(write));
        match self.arch {
            Arch::C => rmw_order(read, write).is_some(),
            Arch::AArch64 => {
                let acquires = !matches!(rmw, Rmw::Store(_));
                (r == Some(Plain) || acquires && r == Some(Acq)) && matches!(w, Some(Plain | Rel))
            }
            Arch::RiscV => {
                let clash = [(Rel, Rel), (Rel, Acq), (Acq, Acq)];
                r.zip(w).is_some_and(|pair| !clash.contains(&pair))
            }
            // What returns a value orders everything, whatever is asked for.
            Arch::Bpf => (r, w) == (Some(Plain), Some(Plain)),
            // Their annotations say something of single accesses and are of no effect here.
            _ => true,
        }
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
