//! Loads, stores and atomic accesses, of general registers and of whole vector registers.

use super::fields::*;
use super::{Mem, Operand, Out, Row, Update, Word, row};

// One row a line, whatever its length.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Exclusives.
    row("00 0010000 0 0 sssss 0 11111 nnnnn ttttt", "STXRB", &[w::<RS>, w::<RT>, bare]),
    row("00 0010000 0 0 sssss 1 11111 nnnnn ttttt", "STLXRB", &[w::<RS>, w::<RT>, bare]),
    row("00 0010000 1 0 11111 0 11111 nnnnn ttttt", "LDXRB", &[w::<RT>, bare]),
    row("00 0010000 1 0 11111 1 11111 nnnnn ttttt", "LDAXRB", &[w::<RT>, bare]),
    row("01 0010000 0 0 sssss 0 11111 nnnnn ttttt", "STXRH", &[w::<RS>, w::<RT>, bare]),
    row("01 0010000 0 0 sssss 1 11111 nnnnn ttttt", "STLXRH", &[w::<RS>, w::<RT>, bare]),
    row("01 0010000 1 0 11111 0 11111 nnnnn ttttt", "LDXRH", &[w::<RT>, bare]),
    row("01 0010000 1 0 11111 1 11111 nnnnn ttttt", "LDAXRH", &[w::<RT>, bare]),
    row("1s 0010000 0 0 sssss 0 11111 nnnnn ttttt", "STXR", &[w::<RS>, sized::<RT>, bare]),
    row("1s 0010000 0 0 sssss 1 11111 nnnnn ttttt", "STLXR", &[w::<RS>, sized::<RT>, bare]),
    row("1s 0010000 1 0 11111 0 11111 nnnnn ttttt", "LDXR", &[sized::<RT>, bare]),
    row("1s 0010000 1 0 11111 1 11111 nnnnn ttttt", "LDAXR", &[sized::<RT>, bare]),
    row("1s 0010000 0 1 sssss 0 uuuuu nnnnn ttttt", "STXP", &[w::<RS>, sized::<RT>, sized::<RT2>, bare]),
    row("1s 0010000 0 1 sssss 1 uuuuu nnnnn ttttt", "STLXP", &[w::<RS>, sized::<RT>, sized::<RT2>, bare]),
    row("1s 0010000 1 1 11111 0 uuuuu nnnnn ttttt", "LDXP", &[sized::<RT>, sized::<RT2>, bare]),
    row("1s 0010000 1 1 11111 1 uuuuu nnnnn ttttt", "LDAXP", &[sized::<RT>, sized::<RT2>, bare]),
    // Acquire and release.
    row("ss 0010001 0 0 11111 0 11111 nnnnn ttttt", "STLLR", &[small, sized::<RT>, bare]),
    row("ss 0010001 0 0 11111 1 11111 nnnnn ttttt", "STLR", &[small, sized::<RT>, bare]),
    row("ss 0010001 1 0 11111 0 11111 nnnnn ttttt", "LDLAR", &[small, sized::<RT>, bare]),
    row("ss 0010001 1 0 11111 1 11111 nnnnn ttttt", "LDAR", &[small, sized::<RT>, bare]),
    row("ss 111000 101 11111 1 100 00 nnnnn ttttt", "LDAPR", &[small, sized::<RT>, bare]),
    row("ss 011001 000 kkkkkkkkk 00 nnnnn ttttt", "STLUR", &[small, sized::<RT>, unscaled]),
    row("ss 011001 010 kkkkkkkkk 00 nnnnn ttttt", "LDAPUR", &[small, sized::<RT>, unscaled]),
    row("00 011001 100 kkkkkkkkk 00 nnnnn ttttt", "LDAPURSB", &[x::<RT>, unscaled]),
    row("00 011001 110 kkkkkkkkk 00 nnnnn ttttt", "LDAPURSB", &[w::<RT>, unscaled]),
    row("01 011001 100 kkkkkkkkk 00 nnnnn ttttt", "LDAPURSH", &[x::<RT>, unscaled]),
    row("01 011001 110 kkkkkkkkk 00 nnnnn ttttt", "LDAPURSH", &[w::<RT>, unscaled]),
    row("10 011001 100 kkkkkkkkk 00 nnnnn ttttt", "LDAPURSW", &[x::<RT>, unscaled]),
    row("ss 011101 p00 kkkkkkkkk 10 nnnnn ttttt", "STLUR", &[scalar, unscaled]),
    row("ss 011101 p10 kkkkkkkkk 10 nnnnn ttttt", "LDAPUR", &[scalar, unscaled]),
    // Those that step, and the pairs that are ordered (RCPC3).
    row("1s 011001 110 00000 0000 10 nnnnn ttttt", "LDAPR", &[sized::<RT>, stepped_up::<1>]),
    row("1s 011001 100 00000 0000 10 nnnnn ttttt", "STLR", &[sized::<RT>, stepped_down::<1>]),
    row("1s 011001 010 uuuuu 0000 10 nnnnn ttttt", "LDIAPP", &[sized::<RT>, sized::<RT2U>, stepped_up::<2>]),
    row("1s 011001 010 uuuuu 0001 10 nnnnn ttttt", "LDIAPP", &[sized::<RT>, sized::<RT2U>, bare]),
    row("1s 011001 000 uuuuu 0000 10 nnnnn ttttt", "STILP", &[sized::<RT>, sized::<RT2U>, stepped_down::<2>]),
    row("1s 011001 000 uuuuu 0001 10 nnnnn ttttt", "STILP", &[sized::<RT>, sized::<RT2U>, bare]),
    row("11 011001 010 uuuuu 0101 10 nnnnn ttttt", "LDAP", &[x::<RT>, x::<RT2U>, bare]),
    row("11 011001 010 uuuuu 0111 10 nnnnn ttttt", "LDAPP", &[x::<RT>, x::<RT2U>, bare]),
    row("11 011001 000 uuuuu 0101 10 nnnnn ttttt", "STLP", &[x::<RT>, x::<RT2U>, bare]),
    // Compare and swap.
    row("ss 0010001 a 1 sssss r 11111 nnnnn ttttt", "CAS", &[order::<22, 15>, small, sized::<RS>, sized::<RT>, bare]),
    row("0s 0010000 a 1 sssss r 11111 nnnnn ttttt", "CASP", &[order::<22, 15>, couple::<RS>, couple::<RT>, bare]),
    // Read, modify, write; without a result where that goes nowhere and nothing is acquired.
    row("ss 111000 0r1 sssss 0 000 00 nnnnn 11111", "STADD", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 0r1 sssss 0 001 00 nnnnn 11111", "STCLR", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 0r1 sssss 0 010 00 nnnnn 11111", "STEOR", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 0r1 sssss 0 011 00 nnnnn 11111", "STSET", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 0r1 sssss 0 100 00 nnnnn 11111", "STSMAX", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 0r1 sssss 0 101 00 nnnnn 11111", "STSMIN", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 0r1 sssss 0 110 00 nnnnn 11111", "STUMAX", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 0r1 sssss 0 111 00 nnnnn 11111", "STUMIN", &[order::<23, 22>, small, sized::<RS>, bare]),
    row("ss 111000 ar1 sssss 0 000 00 nnnnn ttttt", "LDADD", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 0 001 00 nnnnn ttttt", "LDCLR", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 0 010 00 nnnnn ttttt", "LDEOR", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 0 011 00 nnnnn ttttt", "LDSET", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 0 100 00 nnnnn ttttt", "LDSMAX", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 0 101 00 nnnnn ttttt", "LDSMIN", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 0 110 00 nnnnn ttttt", "LDUMAX", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 0 111 00 nnnnn ttttt", "LDUMIN", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    row("ss 111000 ar1 sssss 1 000 00 nnnnn ttttt", "SWP", &[order::<23, 22>, small, sized::<RS>, sized::<RT>, bare]),
    // Of two registers at once (LSE128).
    row("00 011001 ar1 uuuuu 0 001 00 nnnnn ttttt", "LDCLRP", &[not31::<RT>, not31::<RT2U>, order::<23, 22>, x::<RT>, x::<RT2U>, bare]),
    row("00 011001 ar1 uuuuu 0 011 00 nnnnn ttttt", "LDSETP", &[not31::<RT>, not31::<RT2U>, order::<23, 22>, x::<RT>, x::<RT2U>, bare]),
    row("00 011001 ar1 uuuuu 1 000 00 nnnnn ttttt", "SWPP", &[not31::<RT>, not31::<RT2U>, order::<23, 22>, x::<RT>, x::<RT2U>, bare]),
    // Out of the code.
    row("00 011 0 00 kkkkkkkkkkkkkkkkkkk ttttt", "LDR", &[w::<RT>, target::<5, 19>]),
    row("01 011 0 00 kkkkkkkkkkkkkkkkkkk ttttt", "LDR", &[x::<RT>, target::<5, 19>]),
    row("10 011 0 00 kkkkkkkkkkkkkkkkkkk ttttt", "LDRSW", &[x::<RT>, target::<5, 19>]),
    row("11 011 0 00 kkkkkkkkkkkkkkkkkkk ttttt", "PRFM", &[prefetch, target::<5, 19>]),
    row("ss 011 1 00 kkkkkkkkkkkkkkkkkkk ttttt", "LDR", &[two_of, target::<5, 19>]),
    // Copies and fills of blocks, in three steps (MOPS).
    row("00 011001 000 sssss 0000 01 nnnnn ddddd", "CPYFP", &[stepped::<RD>, stepped::<RS>, counted::<RN>]),
    row("00 011001 010 sssss 0000 01 nnnnn ddddd", "CPYFM", &[stepped::<RD>, stepped::<RS>, counted::<RN>]),
    row("00 011001 100 sssss 0000 01 nnnnn ddddd", "CPYFE", &[stepped::<RD>, stepped::<RS>, counted::<RN>]),
    row("00 011101 000 sssss 0000 01 nnnnn ddddd", "CPYP", &[stepped::<RD>, stepped::<RS>, counted::<RN>]),
    row("00 011101 010 sssss 0000 01 nnnnn ddddd", "CPYM", &[stepped::<RD>, stepped::<RS>, counted::<RN>]),
    row("00 011101 100 sssss 0000 01 nnnnn ddddd", "CPYE", &[stepped::<RD>, stepped::<RS>, counted::<RN>]),
    row("00 011001 110 sssss 0000 01 nnnnn ddddd", "SETP", &[stepped::<RD>, counted::<RN>, x::<RS>]),
    row("00 011001 110 sssss 0100 01 nnnnn ddddd", "SETM", &[stepped::<RD>, counted::<RN>, x::<RS>]),
    row("00 011001 110 sssss 1000 01 nnnnn ddddd", "SETE", &[stepped::<RD>, counted::<RN>, x::<RS>]),
    // Pairs.
    row("ss 101 v 000 0 kkkkkkk uuuuu nnnnn ttttt", "STNP", &[not_signed, pair]),
    row("ss 101 v 000 1 kkkkkkk uuuuu nnnnn ttttt", "LDNP", &[not_signed, pair]),
    row("ss 101 v mmm 0 kkkkkkk uuuuu nnnnn ttttt", "STP", &[not_signed, pair]),
    row("01 101 0 mmm 1 kkkkkkk uuuuu nnnnn ttttt", "LDPSW", &[stepping, pair]),
    row("ss 101 v mmm 1 kkkkkkk uuuuu nnnnn ttttt", "LDP", &[not_signed, pair]),
    // One register.
    row("ss 111 v 01 oo kkkkkkkkkkkk nnnnn ttttt", "", &[access, scaled]),
    row("ss 111 v 00 oo 0 kkkkkkkkk 00 nnnnn ttttt", "", &[access, unscaled]),
    row("ss 111 v 00 oo 0 kkkkkkkkk 01 nnnnn ttttt", "", &[no_hint, access, after]),
    row("ss 111 v 00 oo 0 kkkkkkkkk 11 nnnnn ttttt", "", &[no_hint, access, before]),
    row("ss 111 v 00 oo 1 mmmmm eee k 10 nnnnn ttttt", "", &[access, indexed]),
];

/// The second register where the place of the first one's status or operand is taken.
const RT2U: u8 = 16;

fn mem(w: Word, out: &mut Out, offset: i64, index: Option<String>, update: Update) -> Option<()> {
    let base = Some(general(w.get(RN, 5), true, true));
    out.push(Operand::Mem(Mem { base, offset, index, update }))
}

pub fn bare(w: Word, out: &mut Out) -> Option<()> {
    mem(w, out, 0, None, Update::None)
}

fn unscaled(w: Word, out: &mut Out) -> Option<()> {
    mem(w, out, w.signed(12, 9), None, Update::None)
}

fn after(w: Word, out: &mut Out) -> Option<()> {
    mem(w, out, w.signed(12, 9), None, Update::Post)
}

fn before(w: Word, out: &mut Out) -> Option<()> {
    mem(w, out, w.signed(12, 9), None, Update::Pre)
}

fn scaled(w: Word, out: &mut Out) -> Option<()> {
    mem(w, out, i64::from(w.get(10, 12)) << log_size(w), None, Update::None)
}

/// A base register that steps by the size of the access, of `N` registers.
fn stepped_up<const N: i64>(w: Word, out: &mut Out) -> Option<()> {
    mem(w, out, N << w.get(30, 2), None, Update::Post)
}

fn stepped_down<const N: i64>(w: Word, out: &mut Out) -> Option<()> {
    mem(w, out, -(N << w.get(30, 2)), None, Update::Pre)
}

/// An address that is moved on, and a count that goes down; both are registers of their own.
fn stepped<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    distinct(w)?;
    out.text(format!("[{}]!", general(w.get(AT, 5), true, false)))
}

fn counted<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.text(format!("{}!", general(w.get(AT, 5), true, false)))
}

/// The registers of a block operation differ; only what a block is filled with may be zero.
fn distinct(w: Word) -> Option<()> {
    let (d, n, s) = (w.get(RD, 5), w.get(RN, 5), w.get(RS, 5));
    let fill = w.get(22, 2) == 3;
    (d != n && d != s && n != s && d != 31 && n != 31 && (fill || s != 31)).then_some(())
}

/// Two to this power is the bytes of an access of one register.
fn log_size(w: Word) -> u32 {
    let sixteen = w.is(26) && w.is(23);
    if sixteen { 4 } else { w.get(30, 2) }
}

fn indexed(w: Word, out: &mut Out) -> Option<()> {
    let (kind, scaled) = (w.get(13, 3), w.is(12));
    let extension = match kind {
        2 => "UXTW",
        3 => "LSL",
        6 => "SXTW",
        7 => "SXTX",
        _ => return None,
    };
    let mut index = general(w.get(RM, 5), kind & 1 == 1, false);
    // A shift by nothing is written for no one.
    match (scaled, log_size(w)) {
        (true, amount) if kind != 3 || amount != 0 => {
            index.push_str(&format!(",{extension} #{amount}"));
        }
        (false, _) if kind != 3 => index.push_str(&format!(",{extension}")),
        _ => {}
    }
    mem(w, out, 0, Some(index), Update::None)
}

/// CASP names an even register and the next.
fn couple<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let (first, wide) = (w.get(AT, 5), w.is(30));
    if first % 2 != 0 {
        return None;
    }
    out.reg(general(first, wide, false))?;
    out.reg(general(first + 1, wide, false))
}

const PREFETCHES: [&str; 6] = ["L1KEEP", "L1STRM", "L2KEEP", "L2STRM", "L3KEEP", "L3STRM"];

/// Prefetches of data and instructions at the first three levels have names, others numbers.
fn prefetch(w: Word, out: &mut Out) -> Option<()> {
    let kind = ["PLD", "PLI", "PST", ""][w.get(3, 2) as usize];
    match PREFETCHES.get(w.get(0, 3) as usize) {
        Some(how) if !kind.is_empty() => out.text(format!("{kind}{how}")),
        _ => out.imm(w.get(0, 5).into()),
    }
}

fn no_hint(w: Word, _: &mut Out) -> Option<()> {
    (w.is(26) || w.get(30, 2) != 3 || !w.is(23)).then_some(())
}

/// The mnemonic and the register of an access of one register.
fn access(w: Word, out: &mut Out) -> Option<()> {
    let (size, how) = (w.get(30, 2), w.get(22, 2));
    if w.is(26) {
        out.name.push_str(if how & 1 == 1 { "LDR" } else { "STR" });
        return scalar(w, out);
    }
    let (name, wide) = match (size, how) {
        (3, 2) => {
            out.name.push_str("PRFM");
            return prefetch(w, out);
        }
        (_, 0) => ("STR", size == 3),
        (_, 1) => ("LDR", size == 3),
        (2, 2) => ("LDRSW", true),
        (0 | 1, signed) => ("LDRS", signed == 2),
        _ => return None,
    };
    out.name.push_str(name);
    if size < 2 {
        small(w, out)?;
    }
    out.reg(general(w.get(RT, 5), wide, false))
}

const SCALARS: [char; 5] = ['B', 'H', 'S', 'D', 'Q'];

/// A scalar of a vector register as wide as the access.
fn scalar(w: Word, out: &mut Out) -> Option<()> {
    let log = match (w.is(23), w.get(30, 2)) {
        (false, size) => size,
        (true, 0) => 4,
        (true, _) => return None,
    };
    out.reg(format!("{}{}", SCALARS[log as usize], w.get(RT, 5)))
}

/// S, D, Q by the two highest bits, for literals and pairs.
fn two_of(w: Word, out: &mut Out) -> Option<()> {
    let letter = SCALARS.get(w.get(30, 2) as usize + 2)?;
    out.reg(format!("{letter}{}", w.get(RT, 5)))
}

/// A pair of general registers of 01 is another instruction.
fn not_signed(w: Word, out: &mut Out) -> Option<()> {
    if !w.is(26) && w.is(30) {
        return None;
    }
    match out.name.as_str() {
        "LDP" | "STP" => stepping(w, out),
        _ => Some(()),
    }
}

fn stepping(w: Word, _: &mut Out) -> Option<()> {
    (w.get(23, 3) != 0 && w.get(23, 3) <= 3).then_some(())
}

fn pair(w: Word, out: &mut Out) -> Option<()> {
    let log = if w.is(26) {
        two_of(w, out)?;
        let letter = SCALARS.get(w.get(30, 2) as usize + 2)?;
        out.reg(format!("{letter}{}", w.get(RT2, 5)))?;
        w.get(30, 2) + 2
    } else {
        let wide = w.get(30, 2) != 0;
        if w.get(30, 2) == 3 {
            return None;
        }
        out.reg(general(w.get(RT, 5), wide, false))?;
        out.reg(general(w.get(RT2, 5), wide, false))?;
        if w.is(31) { 3 } else { 2 }
    };
    let update = match w.get(23, 3) {
        1 => Update::Post,
        3 => Update::Pre,
        _ => Update::None,
    };
    mem(w, out, w.signed(15, 7) << log, None, update)
}
