//! The registers, sizes, fences and annotations of each dialect. It does not know how instructions are written.

use super::{Drawn, DrawnPlace, Order, Reg};
use litmake::litmus::Arch;

/// The first register for addresses; there are two.
pub const POINTER: Reg = 8;

/// The number of the stack slot among the places of a thread.
pub const SLOT: usize = 4;

pub struct Facts {
    pub arch: Arch,
    /// Nothing but what herd7 reads.
    pub plain: bool,
    /// The bytes of an address.
    pub word: u8,
    /// The bytes that an access may have.
    pub sizes: &'static [u8],
    /// How many registers hold values.
    pub values: u8,
    pub fences: &'static [&'static str],
    pub loads: &'static [Order],
    pub stores: &'static [Order],
    /// How updates, compare-and-swaps and pairs may be annotated.
    pub both: &'static [Order],
    pub updates: bool,
    pub compares: bool,
    pub pairs: bool,
    pub signed: bool,
    pub reversed: bool,
    pub selects: bool,
    /// Tables: arrays with an index in a register.
    pub tables: bool,
    /// Addresses that are stored.
    pub pointers: bool,
    /// Tags in the lowest bit of pointers.
    pub tags: bool,
    /// The weight of the heaviest test.
    pub most: u64,
}

const PLAIN: &[Order] = &[Order::Plain];
const BOTH: &[Order] = &[Order::Plain, Order::Acquire, Order::Release, Order::Both];

#[expect(clippy::too_many_lines, reason = "a table with a row a dialect")]
pub fn of(arch: Arch, plain: bool) -> Facts {
    let none = Facts {
        arch,
        plain,
        word: 8,
        sizes: &[1, 2, 4, 8],
        values: 6,
        fences: &[],
        loads: PLAIN,
        stores: PLAIN,
        both: PLAIN,
        updates: false,
        compares: false,
        pairs: true,
        signed: true,
        reversed: !plain,
        selects: !plain,
        tables: true,
        pointers: true,
        tags: !plain,
        most: 1000,
    };
    match arch {
        Arch::AArch64 => Facts {
            fences: &[
                "DMB SY",
                "DMB LD",
                "DMB ST",
                "DMB ISH",
                "DMB ISHLD",
                "DMB ISHST",
                "DMB OSH",
                "DMB NSHST",
                "DSB SY",
                "DSB LD",
                "DSB ST",
                "DSB ISH",
                "ISB",
            ],
            loads: &[Order::Plain, Order::Plain, Order::Acquire, Order::AcquirePc],
            stores: &[Order::Plain, Order::Plain, Order::Release],
            both: BOTH,
            updates: true,
            compares: true,
            selects: true,
            ..none
        },
        Arch::Arm => Facts {
            word: 4,
            sizes: if plain { &[4] } else { &[1, 2, 4] },
            values: 4,
            fences: &["DMB", "DMB ISH", "DMB ST", "DMB ISHST", "DSB", "DSB ST", "ISB"],
            // Acquire and release are of Armv8.
            loads: if plain {
                PLAIN
            } else {
                &[Order::Plain, Order::Plain, Order::Plain, Order::Acquire]
            },
            stores: if plain {
                PLAIN
            } else {
                &[Order::Plain, Order::Plain, Order::Plain, Order::Release]
            },
            both: if plain { PLAIN } else { BOTH },
            signed: !plain,
            selects: true,
            ..none
        },
        Arch::X86_64 => Facts {
            fences: &["mfence", "sfence", "lfence"],
            both: &[Order::Plain, Order::Both],
            updates: true,
            compares: !plain,
            pairs: false,
            signed: !plain,
            ..none
        },
        Arch::X86 => Facts {
            word: 4,
            sizes: if plain { &[4] } else { &[1, 2, 4] },
            values: 4,
            fences: &["MFENCE", "SFENCE", "LFENCE"],
            both: if plain { PLAIN } else { &[Order::Plain, Order::Both] },
            updates: true,
            compares: !plain,
            pairs: false,
            signed: !plain,
            pointers: !plain,
            ..none
        },
        Arch::RiscV => Facts {
            fences: &[
                "fence rw,rw",
                "fence r,rw",
                "fence rw,w",
                "fence w,w",
                "fence w,r",
                "fence r,r",
                "fence r,w",
                "fence w,rw",
                "fence rw,r",
                "fence.tso",
                "fence",
            ],
            loads: &[Order::Plain, Order::Plain, Order::Plain, Order::Acquire, Order::Both],
            stores: &[Order::Plain, Order::Plain, Order::Plain, Order::Release, Order::Both],
            both: BOTH,
            updates: true,
            ..none
        },
        Arch::LoongArch => Facts {
            fences: &[
                "dbar 0",
                "dbar 16",
                "dbar 17",
                "dbar 18",
                "dbar 20",
                "dbar 21",
                "dbar 22",
                "dbar 24",
                "dbar 25",
                "dbar 26",
                "dbar 0x700",
            ],
            both: &[Order::Plain, Order::Both],
            updates: true,
            ..none
        },
        Arch::Ppc => {
            Facts { word: 4, fences: &["sync", "lwsync", "eieio", "isync"], signed: !plain, ..none }
        }
        // There are few registers, and those of places must be among them for herd7.
        Arch::Bpf => Facts {
            values: if plain { 3 } else { 4 },
            loads: &[Order::Plain, Order::Plain, Order::Acquire],
            stores: &[Order::Plain, Order::Plain, Order::Release],
            both: &[Order::Plain, Order::Both],
            updates: true,
            compares: true,
            pairs: false,
            signed: !plain,
            selects: false,
            tables: !plain,
            pointers: !plain,
            ..none
        },
        Arch::Mips => Facts {
            word: 4,
            sizes: if plain { &[4] } else { &[1, 2, 4, 8] },
            fences: if plain {
                &["sync"]
            } else {
                &[
                    "sync",
                    "sync_wmb",
                    "sync_mb",
                    "sync_acquire",
                    "sync_release",
                    "sync_rmb",
                    "sync 0x13",
                ]
            },
            signed: !plain,
            pointers: !plain,
            ..none
        },
        _ => Facts {
            sizes: if plain { &[4] } else { &[1, 2, 4, 8] },
            fences: if plain {
                &["acquire", "release", "acq_rel", "seq_cst"]
            } else {
                &["acquire", "release", "acq_rel", "seq_cst", "relaxed", "consume"]
            },
            loads: &[Order::Plain, Order::Acquire, Order::Both],
            stores: &[Order::Plain, Order::Release, Order::Both],
            both: &[Order::Plain, Order::Acquire, Order::Release, Order::AcquirePc, Order::Both],
            updates: true,
            compares: !plain,
            pairs: !plain,
            signed: false,
            reversed: false,
            tables: !plain,
            pointers: !plain,
            ..none
        },
    }
}

impl Facts {
    /// The type of an integer of so many bytes in an initial state.
    pub fn int(&self, bytes: u8) -> String {
        match self.arch {
            Arch::C => {
                ["char", "short", "int", "long"][bytes.trailing_zeros() as usize].to_string()
            }
            _ => format!("uint{}_t", u32::from(bytes) * 8),
        }
    }

    pub fn type_of(&self, place: &DrawnPlace, tagged: bool) -> String {
        let address = place.init.iter().any(|i| matches!(i, super::Initial::At(_)));
        match self.arch {
            Arch::C if address && !tagged => "int*".to_string(),
            // herd has no sizes of other types.
            Arch::C if place.atomic && self.plain => "int".to_string(),
            Arch::C if place.atomic => format!("atomic_{}", self.int(place.elem)),
            _ => self.int(place.elem),
        }
    }

    /// The register that holds the address of a place, as initial states name it.
    pub fn base(&self, number: usize, drawn: &Drawn) -> Option<String> {
        Some(match self.arch {
            Arch::AArch64 => format!("X{}", 20 + number),
            Arch::Arm => format!("R{}", 8 + number),
            Arch::X86_64 => ["rbx", "r12", "r13", "r14", "r15"][number].to_string(),
            // There is one register left, for the place that is an array.
            Arch::X86 if number != SLOT && drawn.places[number].init.len() > 1 => "EDI".to_string(),
            Arch::RiscV => format!("x{}", 20 + number),
            Arch::Ppc => format!("r{}", 20 + number),
            Arch::Bpf if self.plain => format!("r{}", 4 + number),
            Arch::Mips => format!("${}", 20 + number),
            Arch::LoongArch => format!("$r{}", 23 + number),
            _ => return None,
        })
    }

    /// A register, as conditions name it.
    pub fn shown(&self, r: Reg) -> String {
        let n = usize::from(r);
        match self.arch {
            Arch::AArch64 => format!("X{r}"),
            Arch::Arm => format!("R{r}"),
            Arch::X86_64 => ["rax", "rcx", "rdx", "rsi", "r8", "r9"][n].to_string(),
            Arch::X86 => ["EAX", "ECX", "EDX", "EBX"][n].to_string(),
            Arch::RiscV => format!("x{}", 5 + r),
            Arch::Ppc => format!("r{}", 3 + r),
            Arch::Bpf => format!("r{}", 1 + r),
            Arch::Mips => format!("${}", 4 + r),
            Arch::LoongArch => format!("$r{}", 4 + r),
            _ => format!("r{r}"),
        }
    }
}
