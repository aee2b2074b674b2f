//! x86, in 64 bits (AT&T's syntax) and in 32 (Intel's), as litmus tests write them.

use super::super::cycle::{Event, LOCS, Refused, size};
use super::super::dialect::{Dialect, Registers, SIZES, any_orders, fences};
use super::super::edge::{Atom, Dir, Order, Rmw, Size};
use super::{Asm, From, P, Writer, Written, threads};
use litmake_litmus::Arch;

pub static WIDE: Dialect = Dialect {
    arch: Arch::X86_64,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Order::Plain, Order::Plain)), ("NT", Atom::NonTemporal)],
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
    orders: any_orders,
    registers: Registers {
        prefix: "",
        names: &[
            "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
            "r14", "r15",
        ],
        first: 0,
        count: 14,
    },
    write: threads::<X86_64>,
};

pub static NARROW: Dialect = Dialect {
    arch: Arch::X86,
    plain: "Na",
    atoms: &[("A", Atom::Loop(Order::Plain, Order::Plain))],
    sizes: &[],
    fences: fences!["MFence" "mfence" "mfence"],
    strong: Some(0),
    deps: &[],
    default_dep: None,
    rmws: &[("Exch", Rmw::Exch)],
    rmw: Rmw::Exch,
    orders: any_orders,
    registers: Registers {
        prefix: "",
        names: &["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"],
        first: 0,
        count: 6,
    },
    write: threads::<X86>,
};

pub struct X86_64;
pub struct X86;

const NO_DEPENDENCIES: Refused = "x86 tests have no dependencies: they order nothing more";

/// The low 32 bits of a general register.
fn low(reg: u8) -> &'static str {
    const NAMES: [&str; 14] = [
        "eax", "ebx", "ecx", "edx", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d",
        "r14d", "r15d",
    ];
    NAMES[usize::from(reg) % NAMES.len()]
}

fn high(reg: u8) -> &'static str {
    const NAMES: [&str; 14] = [
        "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
        "r15",
    ];
    NAMES[usize::from(reg) % NAMES.len()]
}

/// The low 16 bits.
fn half(reg: u8) -> &'static str {
    const NAMES: [&str; 14] = [
        "ax", "bx", "cx", "dx", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w",
        "r15w",
    ];
    NAMES[usize::from(reg) % NAMES.len()]
}

/// An access to a word or to half of one.
fn access_sized(asm: &mut Asm, event: &Event, size: Size) -> Written {
    let mut place = [P::T("("), P::T(LOCS[usize::from(event.loc)]), P::T(")"), P::T("")];
    if size.offset > 0 {
        let base = asm.address(event.loc)?;
        place = [P::I(i32::from(size.offset)), P::T("(%"), P::T(high(base)), P::T(")")];
    }
    let [a, b, c, d] = place;
    let narrow = size.bytes == 2;
    let name = if narrow { "movw " } else { "movl " };
    if event.dir == Dir::W {
        line!(asm, name, "$", event.value, ",", a, b, c, d);
        return Ok(None);
    }
    let reg = asm.alloc()?;
    let to = if narrow { half(reg) } else { low(reg) };
    line!(asm, name, a, b, c, d, ",%", to);
    Ok(Some(reg))
}

fn exchange(asm: &mut Asm, loc: u8, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    line!(asm, "movl $", value, ",%", low(reg));
    line!(asm, "xchgl (", LOCS[usize::from(loc)], "),%", low(reg));
    Ok(reg)
}

impl Writer for X86_64 {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        if let Some(size) = size(event.atom) {
            return access_sized(asm, event, size);
        }
        let loc = LOCS[usize::from(event.loc)];
        match (event.dir, event.atom) {
            (Dir::R, None) => Self::load(asm, event.loc).map(Some),
            (Dir::R, _) => Err("x86 has no such load"),
            (Dir::W, None) => {
                line!(asm, "movl $", event.value, ",(", loc, ")");
                Ok(None)
            }
            (Dir::W, Some(Atom::Loop(..))) => exchange(asm, event.loc, event.value).map(Some),
            (Dir::W, Some(Atom::NonTemporal)) => {
                let base = asm.address(event.loc)?;
                let reg = asm.alloc()?;
                line!(asm, "movl $", event.value, ",%", low(reg));
                line!(asm, "movntil %", low(reg), ",(%", high(base), ")");
                Ok(None)
            }
            (Dir::W, _) => Err("x86 has no such store"),
        }
    }

    fn rmw(asm: &mut Asm, _: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        exchange(asm, read.loc, write.value).map(Some)
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let reg = asm.alloc()?;
        line!(asm, "movl (", LOCS[usize::from(loc)], "),%", low(reg));
        Ok(reg)
    }
}

fn name32(reg: u8) -> &'static str {
    ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"][usize::from(reg) % 6]
}

fn exchange32(asm: &mut Asm, loc: u8, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    line!(asm, "MOV ", name32(reg), ",$", value);
    line!(asm, "XCHG [", LOCS[usize::from(loc)], "],", name32(reg));
    Ok(reg)
}

impl Writer for X86 {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        match (event.dir, event.atom) {
            (Dir::R, None) => Self::load(asm, event.loc).map(Some),
            (Dir::R, _) => Err("x86 has no such load"),
            (Dir::W, None) => {
                let loc = LOCS[usize::from(event.loc)];
                line!(asm, "MOV [", loc, "],$", event.value);
                Ok(None)
            }
            (Dir::W, _) => exchange32(asm, event.loc, event.value).map(Some),
        }
    }

    fn rmw(asm: &mut Asm, _: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        exchange32(asm, read.loc, write.value).map(Some)
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let reg = asm.alloc()?;
        line!(asm, "MOV ", name32(reg), ",[", LOCS[usize::from(loc)], "]");
        Ok(reg)
    }
}
