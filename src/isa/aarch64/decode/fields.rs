//! The fields that many encodings share: registers, immediates, conditions, code addresses.

use super::{Operand, Out, Word};

/// The bits at which registers begin.
pub const RD: u8 = 0;
pub const RT: u8 = 0;
pub const RN: u8 = 5;
pub const RA: u8 = 10;
pub const RT2: u8 = 10;
pub const RM: u8 = 16;
pub const RS: u8 = 16;

/// The name of general register `n`; 31 is the stack pointer or the zero register.
pub fn general(n: u32, wide: bool, sp: bool) -> String {
    match (n, wide, sp) {
        (31, true, true) => "SP".into(),
        (31, false, true) => "WSP".into(),
        (31, true, false) => "XZR".into(),
        (31, false, false) => "WZR".into(),
        (n, true, _) => format!("X{n}"),
        (n, false, _) => format!("W{n}"),
    }
}

pub fn x<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(general(w.get(AT, 5), true, false))
}

pub fn w<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(general(w.get(AT, 5), false, false))
}

/// A general register whose width is in bit 31.
pub fn r<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(general(w.get(AT, 5), w.is(31), false))
}

/// A general register whose width is in bit 31; number 31 is the stack pointer.
pub fn rsp<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(general(w.get(AT, 5), w.is(31), true))
}

/// A general register whose width is in bit 30.
pub fn r30<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(general(w.get(AT, 5), w.is(30), false))
}

/// A general register as wide as an access whose size is in bits 30 and 31.
pub fn sized<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(general(w.get(AT, 5), w.get(30, 2) == 3, false))
}

pub fn unsigned<const AT: u8, const LEN: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.imm(w.get(AT, LEN).into())
}

pub fn signed<const AT: u8, const LEN: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.imm(w.signed(AT, LEN))
}

pub const CONDITIONS: [&str; 16] = [
    "EQ", "NE", "CS", "CC", "MI", "PL", "VS", "VC", "HI", "LS", "GE", "LT", "GT", "LE", "AL", "NV",
];

pub fn cond<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.text(CONDITIONS[w.get(AT, 4) as usize])
}

/// The opposite condition, which `always` does not have.
pub fn opposite<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let n = w.get(AT, 4);
    if n >= 14 {
        return None;
    }
    out.text(CONDITIONS[n as usize ^ 1])
}

/// A branch's target: a signed count of instructions from here.
pub fn target<const AT: u8, const LEN: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.push(Operand::Code(w.at.wrapping_add_signed(w.signed(AT, LEN) * 4)))
}

/// Takes the row only where two registers are one.
pub fn same<const A: u8, const B: u8>(w: Word, _: &mut Out) -> Option<()> {
    (w.get(A, 5) == w.get(B, 5)).then_some(())
}

/// Takes the row only where a register is not 31.
pub fn not31<const AT: u8>(w: Word, _: &mut Out) -> Option<()> {
    (w.get(AT, 5) != 31).then_some(())
}

/// An amount of `LEN` bits that is within the width of the registers.
pub fn fits<const AT: u8>(w: Word, _: &mut Out) -> Option<()> {
    (w.is(31) || !w.is(AT + 5)).then_some(())
}

/// `LSL #3` after a register; no shift is not written.
pub fn shift(w: Word, out: &mut Out) -> Option<()> {
    let kind = ["LSL", "LSR", "ASR", "ROR"][w.get(22, 2) as usize];
    match (w.get(10, 6), w.get(22, 2)) {
        (0, 0) => Some(()),
        (n, _) => out.text(format!("{kind} #{n}")),
    }
}

/// The order of an atomic access, from the bits for acquire and for release.
pub fn order<const ACQUIRE: u8, const RELEASE: u8>(w: Word, out: &mut Out) -> Option<()> {
    if w.is(ACQUIRE) {
        out.name.push('A');
    }
    if w.is(RELEASE) {
        out.name.push('L');
    }
    Some(())
}

/// `B` or `H` for an access of 1 or 2 bytes, by the two highest bits.
pub fn small(w: Word, out: &mut Out) -> Option<()> {
    out.name.push_str(["B", "H", "", ""][w.get(30, 2) as usize]);
    Some(())
}
