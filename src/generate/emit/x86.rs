//! x86, in 64 bits (AT&T's syntax) and in 32 (Intel's), as litmus tests write them.

use super::super::cycle::{Event, LOCS, Refused};
use super::super::edge::{Atom, Dir, Rmw};
use super::{Asm, From, P, Writer};

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

fn exchange(asm: &mut Asm, loc: u8, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    asm.line(&[P::T("movl $"), P::I(value), P::T(",%"), P::T(low(reg))]);
    asm.line(&[P::T("xchgl ("), P::T(LOCS[usize::from(loc)]), P::T("),%"), P::T(low(reg))]);
    Ok(reg)
}

impl Writer for X86_64 {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<Option<u8>, Refused> {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        let loc = P::T(LOCS[usize::from(event.loc)]);
        match (event.dir, event.atom) {
            (Dir::R, None) => Self::load(asm, event.loc).map(Some),
            (Dir::R, _) => Err("x86 has no such load"),
            (Dir::W, None) => {
                asm.line(&[P::T("movl $"), P::I(event.value), P::T(",("), loc, P::T(")")]);
                Ok(None)
            }
            (Dir::W, Some(Atom::Loop(..))) => exchange(asm, event.loc, event.value).map(Some),
            (Dir::W, Some(Atom::NonTemporal)) => {
                let base = asm.address(event.loc)?;
                let reg = asm.alloc()?;
                asm.line(&[P::T("movl $"), P::I(event.value), P::T(",%"), P::T(low(reg))]);
                let parts = [P::T("movntil %"), P::T(low(reg)), P::T(",(%"), P::T(high(base))];
                asm.line(&[parts[0], parts[1], parts[2], parts[3], P::T(")")]);
                Ok(None)
            }
            (Dir::W, _) => Err("x86 has no such store"),
        }
    }

    fn rmw(
        asm: &mut Asm,
        _: Rmw,
        read: &Event,
        write: &Event,
        from: Option<From>,
    ) -> Result<Option<u8>, Refused> {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        exchange(asm, read.loc, write.value).map(Some)
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let reg = asm.alloc()?;
        asm.line(&[P::T("movl ("), P::T(LOCS[usize::from(loc)]), P::T("),%"), P::T(low(reg))]);
        Ok(reg)
    }
}

fn name32(reg: u8) -> &'static str {
    ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"][usize::from(reg) % 6]
}

fn exchange32(asm: &mut Asm, loc: u8, value: i32) -> Result<u8, Refused> {
    let reg = asm.alloc()?;
    asm.line(&[P::T("MOV "), P::T(name32(reg)), P::T(",$"), P::I(value)]);
    asm.line(&[P::T("XCHG ["), P::T(LOCS[usize::from(loc)]), P::T("],"), P::T(name32(reg))]);
    Ok(reg)
}

impl Writer for X86 {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Result<Option<u8>, Refused> {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        match (event.dir, event.atom) {
            (Dir::R, None) => Self::load(asm, event.loc).map(Some),
            (Dir::R, _) => Err("x86 has no such load"),
            (Dir::W, None) => {
                let loc = P::T(LOCS[usize::from(event.loc)]);
                asm.line(&[P::T("MOV ["), loc, P::T("],$"), P::I(event.value)]);
                Ok(None)
            }
            (Dir::W, _) => exchange32(asm, event.loc, event.value).map(Some),
        }
    }

    fn rmw(
        asm: &mut Asm,
        _: Rmw,
        read: &Event,
        write: &Event,
        from: Option<From>,
    ) -> Result<Option<u8>, Refused> {
        if from.is_some() {
            return Err(NO_DEPENDENCIES);
        }
        exchange32(asm, read.loc, write.value).map(Some)
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let reg = asm.alloc()?;
        asm.line(&[
            P::T("MOV "),
            P::T(name32(reg)),
            P::T(",["),
            P::T(LOCS[usize::from(loc)]),
            P::T("]"),
        ]);
        Ok(reg)
    }
}
