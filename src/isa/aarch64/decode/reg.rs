//! Data processing on general registers.

use super::fields::*;
use super::{Out, Row, Word, row};

// One row a line, whatever its length.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Logic on a shifted register.
    row("s 00 01010 tt 0 mmmmm kkkkkk nnnnn ddddd", "AND", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 00 01010 tt 1 mmmmm kkkkkk nnnnn ddddd", "BIC", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 01 01010 00 0 mmmmm 000000 11111 ddddd", "MOV", &[r::<RD>, r::<RM>]),
    row("s 01 01010 tt 0 mmmmm kkkkkk nnnnn ddddd", "ORR", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 01 01010 00 1 mmmmm 000000 11111 ddddd", "MVN", &[r::<RD>, r::<RM>]),
    row("s 01 01010 tt 1 mmmmm kkkkkk nnnnn ddddd", "ORN", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 10 01010 tt 0 mmmmm kkkkkk nnnnn ddddd", "EOR", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 10 01010 tt 1 mmmmm kkkkkk nnnnn ddddd", "EON", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 11 01010 tt 0 mmmmm kkkkkk nnnnn 11111", "TST", &[fits::<10>, r::<RN>, r::<RM>, shift]),
    row("s 11 01010 tt 0 mmmmm kkkkkk nnnnn ddddd", "ANDS", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 11 01010 tt 1 mmmmm kkkkkk nnnnn ddddd", "BICS", &[fits::<10>, r::<RD>, r::<RN>, r::<RM>, shift]),
    // Arithmetic on a shifted register, which is not rotated.
    row("s 00 01011 tt 0 mmmmm kkkkkk nnnnn ddddd", "ADD", &[arith_shift, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 01 01011 tt 0 mmmmm kkkkkk nnnnn ddddd", "ADDS", &[arith_shift, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 10 01011 tt 0 mmmmm kkkkkk 11111 ddddd", "NEG", &[arith_shift, r::<RD>, r::<RM>, shift]),
    row("s 10 01011 tt 0 mmmmm kkkkkk nnnnn ddddd", "SUB", &[arith_shift, r::<RD>, r::<RN>, r::<RM>, shift]),
    row("s 11 01011 tt 0 mmmmm kkkkkk nnnnn 11111", "CMP", &[arith_shift, r::<RN>, r::<RM>, shift]),
    row("s 11 01011 tt 0 mmmmm kkkkkk 11111 ddddd", "NEGS", &[arith_shift, r::<RD>, r::<RM>, shift]),
    row("s 11 01011 tt 0 mmmmm kkkkkk nnnnn ddddd", "SUBS", &[arith_shift, r::<RD>, r::<RN>, r::<RM>, shift]),
    // Arithmetic on an extended register.
    row("s 00 01011 001 mmmmm eeekkk nnnnn ddddd", "ADD", &[rsp::<RD>, rsp::<RN>, extended]),
    row("s 01 01011 001 mmmmm eeekkk nnnnn ddddd", "ADDS", &[r::<RD>, rsp::<RN>, extended]),
    row("s 10 01011 001 mmmmm eeekkk nnnnn ddddd", "SUB", &[rsp::<RD>, rsp::<RN>, extended]),
    row("s 11 01011 001 mmmmm eeekkk nnnnn 11111", "CMP", &[rsp::<RN>, extended]),
    row("s 11 01011 001 mmmmm eeekkk nnnnn ddddd", "SUBS", &[r::<RD>, rsp::<RN>, extended]),
    // With carry.
    row("s 00 11010000 mmmmm 000000 nnnnn ddddd", "ADC", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 01 11010000 mmmmm 000000 nnnnn ddddd", "ADCS", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 10 11010000 mmmmm 000000 nnnnn ddddd", "SBC", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 11 11010000 mmmmm 000000 nnnnn ddddd", "SBCS", &[r::<RD>, r::<RN>, r::<RM>]),
    // Conditional compare and select.
    row("s 01 11010010 mmmmm cccc 00 nnnnn 0 ffff", "CCMN", &[r::<RN>, r::<RM>, unsigned::<0, 4>, cond::<12>]),
    row("s 11 11010010 mmmmm cccc 00 nnnnn 0 ffff", "CCMP", &[r::<RN>, r::<RM>, unsigned::<0, 4>, cond::<12>]),
    row("s 01 11010010 kkkkk cccc 10 nnnnn 0 ffff", "CCMN", &[r::<RN>, unsigned::<16, 5>, unsigned::<0, 4>, cond::<12>]),
    row("s 11 11010010 kkkkk cccc 10 nnnnn 0 ffff", "CCMP", &[r::<RN>, unsigned::<16, 5>, unsigned::<0, 4>, cond::<12>]),
    row("s 00 11010100 mmmmm cccc 00 nnnnn ddddd", "CSEL", &[r::<RD>, r::<RN>, r::<RM>, cond::<12>]),
    row("s 00 11010100 11111 cccc 01 11111 ddddd", "CSET", &[r::<RD>, opposite::<12>]),
    row("s 00 11010100 mmmmm cccc 01 nnnnn ddddd", "CINC", &[not31::<RN>, same::<RN, RM>, r::<RD>, r::<RN>, opposite::<12>]),
    row("s 00 11010100 mmmmm cccc 01 nnnnn ddddd", "CSINC", &[r::<RD>, r::<RN>, r::<RM>, cond::<12>]),
    row("s 10 11010100 11111 cccc 00 11111 ddddd", "CSETM", &[r::<RD>, opposite::<12>]),
    row("s 10 11010100 mmmmm cccc 00 nnnnn ddddd", "CSINV", &[r::<RD>, r::<RN>, r::<RM>, cond::<12>]),
    row("s 10 11010100 mmmmm cccc 01 nnnnn ddddd", "CSNEG", &[r::<RD>, r::<RN>, r::<RM>, cond::<12>]),
    // Two sources.
    row("s 00 11010110 mmmmm 000010 nnnnn ddddd", "UDIV", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 000011 nnnnn ddddd", "SDIV", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 001000 nnnnn ddddd", "LSL", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 001001 nnnnn ddddd", "LSR", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 001010 nnnnn ddddd", "ASR", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 001011 nnnnn ddddd", "ROR", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 011000 nnnnn ddddd", "SMAX", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 011001 nnnnn ddddd", "UMAX", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 011010 nnnnn ddddd", "SMIN", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11010110 mmmmm 011011 nnnnn ddddd", "UMIN", &[r::<RD>, r::<RN>, r::<RM>]),
    // One source.
    row("s 10 11010110 00000 000000 nnnnn ddddd", "RBIT", &[r::<RD>, r::<RN>]),
    row("s 10 11010110 00000 000001 nnnnn ddddd", "REV16", &[r::<RD>, r::<RN>]),
    row("0 10 11010110 00000 000010 nnnnn ddddd", "REV", &[w::<RD>, w::<RN>]),
    row("1 10 11010110 00000 000010 nnnnn ddddd", "REV32", &[x::<RD>, x::<RN>]),
    row("1 10 11010110 00000 000011 nnnnn ddddd", "REV", &[x::<RD>, x::<RN>]),
    row("s 10 11010110 00000 000100 nnnnn ddddd", "CLZ", &[r::<RD>, r::<RN>]),
    row("s 10 11010110 00000 000101 nnnnn ddddd", "CLS", &[r::<RD>, r::<RN>]),
    row("s 10 11010110 00000 000110 nnnnn ddddd", "CTZ", &[r::<RD>, r::<RN>]),
    row("s 10 11010110 00000 000111 nnnnn ddddd", "CNT", &[r::<RD>, r::<RN>]),
    row("s 10 11010110 00000 001000 nnnnn ddddd", "ABS", &[r::<RD>, r::<RN>]),
    row("1 10 11010110 00001 000000 nnnnn ddddd", "PACIA", &[x::<RD>, rsp::<RN>]),
    row("1 10 11010110 00001 000001 nnnnn ddddd", "PACIB", &[x::<RD>, rsp::<RN>]),
    row("1 10 11010110 00001 000100 nnnnn ddddd", "AUTIA", &[x::<RD>, rsp::<RN>]),
    row("1 10 11010110 00001 000101 nnnnn ddddd", "AUTIB", &[x::<RD>, rsp::<RN>]),
    row("1 10 11010110 00001 010000 11111 ddddd", "XPACI", &[x::<RD>]),
    row("1 10 11010110 00001 010001 11111 ddddd", "XPACD", &[x::<RD>]),
    // Three sources.
    row("s 00 11011000 mmmmm 0 11111 nnnnn ddddd", "MUL", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11011000 mmmmm 0 aaaaa nnnnn ddddd", "MADD", &[r::<RD>, r::<RN>, r::<RM>, r::<RA>]),
    row("s 00 11011000 mmmmm 1 11111 nnnnn ddddd", "MNEG", &[r::<RD>, r::<RN>, r::<RM>]),
    row("s 00 11011000 mmmmm 1 aaaaa nnnnn ddddd", "MSUB", &[r::<RD>, r::<RN>, r::<RM>, r::<RA>]),
    row("1 00 11011001 mmmmm 0 11111 nnnnn ddddd", "SMULL", &[x::<RD>, w::<RN>, w::<RM>]),
    row("1 00 11011001 mmmmm 0 aaaaa nnnnn ddddd", "SMADDL", &[x::<RD>, w::<RN>, w::<RM>, x::<RA>]),
    row("1 00 11011001 mmmmm 1 11111 nnnnn ddddd", "SMNEGL", &[x::<RD>, w::<RN>, w::<RM>]),
    row("1 00 11011001 mmmmm 1 aaaaa nnnnn ddddd", "SMSUBL", &[x::<RD>, w::<RN>, w::<RM>, x::<RA>]),
    row("1 00 11011010 mmmmm 0 aaaaa nnnnn ddddd", "SMULH", &[x::<RD>, x::<RN>, x::<RM>]),
    row("1 00 11011101 mmmmm 0 11111 nnnnn ddddd", "UMULL", &[x::<RD>, w::<RN>, w::<RM>]),
    row("1 00 11011101 mmmmm 0 aaaaa nnnnn ddddd", "UMADDL", &[x::<RD>, w::<RN>, w::<RM>, x::<RA>]),
    row("1 00 11011101 mmmmm 1 11111 nnnnn ddddd", "UMNEGL", &[x::<RD>, w::<RN>, w::<RM>]),
    row("1 00 11011101 mmmmm 1 aaaaa nnnnn ddddd", "UMSUBL", &[x::<RD>, w::<RN>, w::<RM>, x::<RA>]),
    row("1 00 11011110 mmmmm 0 aaaaa nnnnn ddddd", "UMULH", &[x::<RD>, x::<RN>, x::<RM>]),
];

fn arith_shift(w: Word, out: &mut Out) -> Option<()> {
    if w.get(22, 2) == 3 {
        return None;
    }
    fits::<10>(w, out)
}

pub const EXTENSIONS: [&str; 8] = ["UXTB", "UXTH", "UXTW", "UXTX", "SXTB", "SXTH", "SXTW", "SXTX"];

/// The extended register. An extension that extends nothing, beside the stack pointer, is
/// written as the shift that it is.
fn extended(w: Word, out: &mut Out) -> Option<()> {
    let (kind, amount) = (w.get(13, 3), w.get(10, 3));
    if amount > 4 {
        return None;
    }
    out.reg(general(w.get(RM, 5), w.is(31) && kind & 3 == 3, false))?;
    let flags = w.is(29);
    let sp = w.get(RN, 5) == 31 || (!flags && w.get(RD, 5) == 31);
    let whole = if w.is(31) { 3 } else { 2 };
    match (sp && kind == whole, amount) {
        (true, 0) => Some(()),
        (true, n) => out.text(format!("LSL #{n}")),
        (false, 0) => out.text(EXTENSIONS[kind as usize]),
        (false, n) => out.text(format!("{} #{n}", EXTENSIONS[kind as usize])),
    }
}
