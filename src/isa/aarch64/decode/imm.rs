//! Data processing with an immediate: addresses, arithmetic, logic, moves, bit fields.

use super::fields::*;
use super::{Operand, Out, Row, Word, row};

// One row a line, whatever its length.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("0 kk 10000 kkkkkkkkkkkkkkkkkkk ddddd", "ADR", &[x::<RD>, near]),
    row("1 kk 10000 kkkkkkkkkkkkkkkkkkk ddddd", "ADRP", &[x::<RD>, page]),
    row("s 00 100010 0 000000000000 nnnnn ddddd", "MOV", &[moves_sp, rsp::<RD>, rsp::<RN>]),
    row("s 00 100010 h kkkkkkkkkkkk nnnnn ddddd", "ADD", &[rsp::<RD>, rsp::<RN>, arith]),
    row("s 01 100010 h kkkkkkkkkkkk nnnnn ddddd", "ADDS", &[r::<RD>, rsp::<RN>, arith]),
    row("s 10 100010 h kkkkkkkkkkkk nnnnn ddddd", "SUB", &[rsp::<RD>, rsp::<RN>, arith]),
    row("s 11 100010 h kkkkkkkkkkkk nnnnn 11111", "CMP", &[rsp::<RN>, arith]),
    row("s 11 100010 h kkkkkkkkkkkk nnnnn ddddd", "SUBS", &[r::<RD>, rsp::<RN>, arith]),
    row("s 00 100011 1 0000 kkkkkkkk nnnnn ddddd", "SMAX", &[r::<RD>, r::<RN>, signed::<10, 8>]),
    row("s 00 100011 1 0001 kkkkkkkk nnnnn ddddd", "UMAX", &[r::<RD>, r::<RN>, unsigned::<10, 8>]),
    row("s 00 100011 1 0010 kkkkkkkk nnnnn ddddd", "SMIN", &[r::<RD>, r::<RN>, signed::<10, 8>]),
    row("s 00 100011 1 0011 kkkkkkkk nnnnn ddddd", "UMIN", &[r::<RD>, r::<RN>, unsigned::<10, 8>]),
    row("s 00 100100 krrrrrr kkkkkk nnnnn ddddd", "AND", &[rsp::<RD>, r::<RN>, logical]),
    row("s 01 100100 krrrrrr kkkkkk nnnnn ddddd", "ORR", &[rsp::<RD>, r::<RN>, logical]),
    row("s 10 100100 krrrrrr kkkkkk nnnnn ddddd", "EOR", &[rsp::<RD>, r::<RN>, logical]),
    row("s 11 100100 krrrrrr kkkkkk nnnnn 11111", "TST", &[r::<RN>, logical]),
    row("s 11 100100 krrrrrr kkkkkk nnnnn ddddd", "ANDS", &[r::<RD>, r::<RN>, logical]),
    row("s 00 100101 hh kkkkkkkkkkkkkkkk ddddd", "MOV", &[r::<RD>, moved_not]),
    row("s 00 100101 hh kkkkkkkkkkkkkkkk ddddd", "MOVN", &[r::<RD>, wide]),
    row("s 10 100101 hh kkkkkkkkkkkkkkkk ddddd", "MOV", &[r::<RD>, moved]),
    row("s 10 100101 hh kkkkkkkkkkkkkkkk ddddd", "MOVZ", &[r::<RD>, wide]),
    row("s 11 100101 hh kkkkkkkkkkkkkkkk ddddd", "MOVK", &[r::<RD>, wide]),
    row("1 00 100110 1 000000 011111 nnnnn ddddd", "SXTW", &[x::<RD>, w::<RN>]),
    row("s 00 100110 k rrrrrr x11111 nnnnn ddddd", "ASR", &[field, to_top, r::<RD>, r::<RN>, rotation]),
    row("s 00 100110 k rrrrrr kkkkkk nnnnn ddddd", "SBFM", &[field, r::<RD>, r::<RN>, rotation, last]),
    row("s 01 100110 k rrrrrr kkkkkk nnnnn ddddd", "BFI", &[field, inserts, r::<RD>, r::<RN>, inserted]),
    row("s 01 100110 k rrrrrr kkkkkk nnnnn ddddd", "BFXIL", &[field, r::<RD>, r::<RN>, extracted]),
    row("s 10 100110 k rrrrrr x11111 nnnnn ddddd", "LSR", &[field, to_top, r::<RD>, r::<RN>, rotation]),
    row("s 10 100110 k rrrrrr kkkkkk nnnnn ddddd", "LSL", &[field, r::<RD>, r::<RN>, up]),
    row("s 10 100110 k rrrrrr kkkkkk nnnnn ddddd", "UBFM", &[field, r::<RD>, r::<RN>, rotation, last]),
    row("s 00 100111 k 0 mmmmm kkkkkk nnnnn ddddd", "ROR", &[field, same::<RN, RM>, r::<RD>, r::<RN>, last]),
    row("s 00 100111 k 0 mmmmm kkkkkk nnnnn ddddd", "EXTR", &[field, r::<RD>, r::<RN>, r::<RM>, last]),
];

fn offset(w: Word) -> i64 {
    w.signed(5, 19) << 2 | i64::from(w.get(29, 2))
}

fn near(w: Word, out: &mut Out) -> Option<()> {
    out.push(Operand::Code(w.at.wrapping_add_signed(offset(w))))
}

fn page(w: Word, out: &mut Out) -> Option<()> {
    out.push(Operand::Code((w.at & !0xfff).wrapping_add_signed(offset(w) << 12)))
}

fn moves_sp(w: Word, _: &mut Out) -> Option<()> {
    (w.get(RD, 5) == 31 || w.get(RN, 5) == 31).then_some(())
}

fn arith(w: Word, out: &mut Out) -> Option<()> {
    out.imm(w.get(10, 12).into())?;
    if w.is(22) { out.text("LSL #12") } else { Some(()) }
}

/// The value of a logical immediate, of the register's width: a run of ones, rotated within an
/// element and repeated.
fn bitmask(w: Word) -> Option<u64> {
    let (n, rotate, ones) = (w.get(22, 1), w.get(16, 6), w.get(10, 6));
    let length = n << 6 | (!ones & 0x3f);
    let size = 1u32 << length.checked_ilog2()?;
    if size < 2 || (n == 1 && !w.is(31)) {
        return None;
    }
    let (rotate, ones) = (rotate & (size - 1), ones & (size - 1));
    if ones == size - 1 {
        return None;
    }
    let run = (1u64 << (ones + 1)) - 1;
    let low = |bits: u32| u64::MAX >> (64 - bits);
    let element = match rotate {
        0 => run,
        k => (run >> k | run << (size - k)) & low(size),
    };
    let mut value = element;
    let mut filled = size;
    while filled < 64 {
        value |= value << filled;
        filled *= 2;
    }
    Some(if w.is(31) { value } else { value & low(32) })
}

fn logical(w: Word, out: &mut Out) -> Option<()> {
    out.imm(bitmask(w)? as i64)
}

/// A number of the register's width as a move writes it: 32 bits have their own sign.
fn number(w: Word, value: u64) -> i64 {
    if w.is(31) { value as i64 } else { i64::from(value as u32 as i32) }
}

/// The immediate and the shift of a wide move.
fn piece(w: Word) -> Option<(u64, u32)> {
    let shift = w.get(21, 2) * 16;
    (w.is(31) || shift < 32).then_some((w.get(5, 16).into(), shift))
}

fn wide(w: Word, out: &mut Out) -> Option<()> {
    let (n, shift) = piece(w)?;
    out.imm(n as i64)?;
    if shift == 0 { Some(()) } else { out.text(format!("LSL #{shift}")) }
}

/// A zero that is shifted is not what a move of zero assembles to.
fn moved(w: Word, out: &mut Out) -> Option<()> {
    let (n, shift) = piece(w)?;
    if n == 0 && shift != 0 {
        return None;
    }
    out.imm(number(w, n << shift))
}

fn moved_not(w: Word, out: &mut Out) -> Option<()> {
    let (n, shift) = piece(w)?;
    if (n == 0 && shift != 0) || (!w.is(31) && n == 0xffff) {
        return None;
    }
    out.imm(number(w, !(n << shift)))
}

/// Both positions of a bit field are within the register.
fn field(w: Word, _: &mut Out) -> Option<()> {
    let whole = w.is(31) == w.is(22);
    (whole && (w.is(31) || !(w.is(21) || w.is(15)))).then_some(())
}

fn bits(w: Word) -> u32 {
    if w.is(31) { 64 } else { 32 }
}

fn rotation(w: Word, out: &mut Out) -> Option<()> {
    unsigned::<16, 6>(w, out)
}

fn last(w: Word, out: &mut Out) -> Option<()> {
    unsigned::<10, 6>(w, out)
}

/// The field ends at the top of the register.
fn to_top(w: Word, _: &mut Out) -> Option<()> {
    (w.get(10, 6) == bits(w) - 1).then_some(())
}

/// The field goes to the top: a shift to the left.
fn up(w: Word, out: &mut Out) -> Option<()> {
    let (rotate, last) = (w.get(16, 6), w.get(10, 6));
    if last + 1 != rotate {
        return None;
    }
    out.imm((bits(w) - rotate).into())
}

/// The field is put in rather than taken out.
fn inserts(w: Word, _: &mut Out) -> Option<()> {
    (w.get(10, 6) < w.get(16, 6)).then_some(())
}

fn inserted(w: Word, out: &mut Out) -> Option<()> {
    out.imm((bits(w) - w.get(16, 6)).into())?;
    out.imm((w.get(10, 6) + 1).into())
}

fn extracted(w: Word, out: &mut Out) -> Option<()> {
    let (first, last) = (w.get(16, 6), w.get(10, 6));
    out.imm(first.into())?;
    out.imm((last.checked_sub(first)? + 1).into())
}
