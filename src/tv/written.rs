//! How each instruction set writes the accesses of contexts: loads, stores, read-modify-writes that add, and the fence that
//! orders everything.
//!
//! It does not know contexts, nor how code is lifted.

use litmake_isa::target;
use litmake_litmus::Arch;

/// How an instruction set writes accesses. In its rows, `{s}` is the suffix for the size, `{at}` the register with the
/// address, `{value}` what is written or added, `{to}` what is read, and `{fence}` the fence. `{d}` is a `d` for 8 bytes.
pub struct Written {
    arch: Arch,
    /// The suffixes of loads of 1, 2, 4 and 8 bytes; `None` where no instruction does it at once.
    loads: [Option<&'static str>; 4],
    /// The suffixes of stores and of other instructions.
    stores: [Option<&'static str>; 4],
    load: &'static str,
    store: &'static str,
    /// The load and the store that compilers make of a `seq_cst` access.
    strong_load: &'static [&'static str],
    strong_store: &'static [&'static str],
    /// Adds `{value}`, and gives what was there in `{to}`, which begins with that value where no row names `{value}`.
    /// `{sum}` and `{status}` may be changed, and `{again}` is the first row.
    add: &'static [&'static str],
    /// The bytes of what can be added to: no smaller ones.
    adds_from: u8,
    /// The fence that orders all accesses before it with all behind it.
    pub fence: &'static str,
    /// The code of compilers for a release fence; `None` where there is none.
    pub release: Option<&'static str>,
    /// The same of an acquire fence.
    pub acquire: Option<&'static str>,
}

/// The usual machine: fences around `seq_cst` accesses, and no smaller read-modify-writes than of 4 bytes.
const FENCED: Written = Written {
    arch: Arch::C,
    loads: [Some("bu"), Some("hu"), Some("w"), Some("d")],
    stores: [Some("b"), Some("h"), Some("w"), Some("d")],
    load: "",
    store: "",
    strong_load: &["{fence}", "{load}", "{fence}"],
    strong_store: &["{fence}", "{store}", "{fence}"],
    add: &[],
    adds_from: 4,
    fence: "",
    release: None,
    acquire: None,
};

/// The row of x86.
const X86: Written =
    Written { strong_load: &["{load}"], strong_store: &["{store}", "{fence}"], ..FENCED };

const ALL: [&Written; 9] = [
    &Written {
        arch: Arch::AArch64,
        loads: [Some("B"), Some("H"), Some(""), Some("")],
        stores: [Some("B"), Some("H"), Some(""), Some("")],
        load: "LDR{s} {to},[{at}]",
        store: "STR{s} {value},[{at}]",
        strong_load: &["LDAR{s} {to},[{at}]"],
        strong_store: &["STLR{s} {value},[{at}]"],
        add: &["LDADDAL{s} {value},{to},[{at}]"],
        adds_from: 1,
        fence: "DMB ISH",
        release: Some("DMB ISH"),
        acquire: Some("DMB ISHLD"),
    },
    &Written {
        arch: Arch::Arm,
        loads: [Some("B"), Some("H"), Some(""), None],
        stores: [Some("B"), Some("H"), Some(""), None],
        load: "LDR{s} {to},[{at}]",
        store: "STR{s} {value},[{at}]",
        add: &[
            "LDREX {to},[{at}]",
            "ADD {sum},{to},{value}",
            "STREX {status},{sum},[{at}]",
            "CMP {status},#0",
            "BNE {again}",
        ],
        fence: "DMB",
        release: Some("DMB"),
        acquire: Some("DMB"),
        ..FENCED
    },
    &Written {
        arch: Arch::X86_64,
        loads: [Some("zbl"), Some("zwl"), Some("l"), Some("q")],
        stores: [Some("b"), Some("w"), Some("l"), Some("q")],
        load: "mov{s} ({at}),{to}",
        store: "mov{s} {value},({at})",
        add: &["lock xadd{s} {to},({at})"],
        adds_from: 1,
        fence: "mfence",
        ..X86
    },
    &Written {
        arch: Arch::X86,
        loads: [None, None, Some(""), None],
        stores: [None, None, Some(""), None],
        load: "MOV {to},[{at}]",
        store: "MOV [{at}],{value}",
        add: &["LOCK XADD [{at}],{to}"],
        fence: "MFENCE",
        ..X86
    },
    &Written {
        arch: Arch::RiscV,
        load: "l{s} {to},0({at})",
        store: "s{s} {value},0({at})",
        add: &["amoadd.{s}.aqrl {to},{value},({at})"],
        fence: "fence rw,rw",
        release: Some("fence rw,w"),
        acquire: Some("fence r,rw"),
        ..FENCED
    },
    &Written {
        arch: Arch::Ppc,
        loads: [Some("bz"), Some("hz"), Some("wz"), Some("d")],
        load: "l{s} {to},0({at})",
        store: "st{s} {value},0({at})",
        add: &[
            "l{s}arx {to},0,{at}",
            "add {sum},{to},{value}",
            "st{s}cx. {sum},0,{at}",
            "bne {again}",
        ],
        fence: "sync",
        release: Some("lwsync"),
        acquire: Some("lwsync"),
        ..FENCED
    },
    &Written {
        arch: Arch::Mips,
        load: "l{s} {to},0({at})",
        store: "s{s} {value},0({at})",
        add: &[
            "ll{d} {to},0({at})",
            "daddu {sum},{to},{value}",
            "sc{d} {sum},0({at})",
            "beq {sum},$0,{again}",
        ],
        fence: "sync",
        release: Some("sync"),
        acquire: Some("sync"),
        ..FENCED
    },
    &Written {
        arch: Arch::LoongArch,
        load: "ld.{s} {to},{at},0",
        store: "st.{s} {value},{at},0",
        add: &["amadd_db.{s} {to},{value},{at}"],
        fence: "dbar 0",
        release: Some("dbar 18"),
        acquire: Some("dbar 20"),
        ..FENCED
    },
    &Written {
        arch: Arch::S390x,
        loads: [Some("lc"), Some("lh"), Some(""), Some("g")],
        stores: [Some("c"), Some("h"), Some(""), Some("g")],
        load: "l{s} {to},0({at})",
        store: "st{s} {value},0({at})",
        add: &["laa{s} {to},{value},0({at})"],
        fence: "bcr 14,r0",
        ..X86
    },
];

/// The registers of an access, and the label of its first row.
pub struct Place<'a> {
    /// The one with the address.
    pub at: &'a str,
    /// The one with the value that is written or added.
    pub value: &'a str,
    /// The one that takes what is read.
    pub to: &'a str,
    /// Two that may be changed.
    pub spare: [&'a str; 2],
    /// A label that no other row has.
    pub again: &'a str,
}

impl Written {
    /// How an instruction set writes accesses; `None` if that is not known.
    pub fn of(arch: Arch) -> Option<&'static Written> {
        ALL.into_iter().find(|w| w.arch == arch)
    }

    /// Whether a load and a store access so many bytes at once.
    pub fn accesses(&self, bytes: u8) -> bool {
        size(bytes).is_some_and(|s| self.loads[s].is_some() && self.stores[s].is_some())
    }

    /// Whether so many bytes can be added to at once.
    pub fn adds(&self, bytes: u8) -> bool {
        self.accesses(bytes) && bytes >= self.adds_from
    }

    /// Whether a read-modify-write has a register that is named so.
    pub fn adds_with(&self, name: &str) -> bool {
        self.add.iter().any(|row| row.contains(name))
    }

    /// The rows of a load of so many bytes.
    pub fn load(&self, bytes: u8, strong: bool, place: &Place) -> Vec<String> {
        let rows = if strong { self.strong_load } else { &["{load}"] };
        self.rows(rows, bytes, place)
    }

    /// The rows of a store of so many bytes.
    pub fn store(&self, bytes: u8, strong: bool, place: &Place) -> Vec<String> {
        let rows = if strong { self.strong_store } else { &["{store}"] };
        self.rows(rows, bytes, place)
    }

    /// The rows of a read-modify-write of so many bytes.
    pub fn add(&self, bytes: u8, place: &Place) -> Vec<String> {
        self.rows(self.add, bytes, place)
    }

    fn rows(&self, rows: &[&str], bytes: u8, place: &Place) -> Vec<String> {
        let Some(target) = target::of(self.arch, false, false, false) else { return Vec::new() };
        let view = |reg: &str, bytes: u8| target.view(reg, bytes);
        let suffix =
            |list: [Option<&'static str>; 4]| size(bytes).and_then(|s| list[s]).unwrap_or("");
        let row = |row: &&str| {
            // A load extends what it reads to a register of 4 bytes.
            let reads = row.contains("{load}") || self.strong_load.contains(row);
            let to = view(place.to, if reads { bytes.max(4) } else { bytes });
            let s = suffix(if reads { self.loads } else { self.stores });
            row.replace("{load}", self.load)
                .replace("{store}", self.store)
                .replace("{fence}", self.fence)
                .replace("{s}", s)
                .replace("{d}", if bytes == 8 { "d" } else { "" })
                .replace("{at}", &view(place.at, target.word))
                .replace("{value}", &view(place.value, bytes))
                .replace("{to}", &to)
                .replace("{sum}", &view(place.spare[0], bytes))
                .replace("{status}", &view(place.spare[1], 4))
                .replace("{again}", place.again)
        };
        rows.iter().map(row).collect()
    }
}

/// The place of a size in the lists of suffixes.
fn size(bytes: u8) -> Option<usize> {
    [1, 2, 4, 8].iter().position(|b| *b == bytes)
}
