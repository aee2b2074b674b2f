//! Branches, exceptions, barriers, hints, system registers.

use super::fields::*;
use super::{Flow, Out, Row, Word, row};

// One row a line, whatever its length.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("000101 kkkkkkkkkkkkkkkkkkkkkkkkkk", "B", &[target::<0, 26>, jump]),
    row("100101 kkkkkkkkkkkkkkkkkkkkkkkkkk", "BL", &[target::<0, 26>, call]),
    row("01010100 kkkkkkkkkkkkkkkkkkk 0 cccc", "B.", &[if_cond, target::<5, 19>, branch]),
    row("01010100 kkkkkkkkkkkkkkkkkkk 1 cccc", "BC.", &[if_cond, target::<5, 19>, branch]),
    row("s 0110100 kkkkkkkkkkkkkkkkkkk ttttt", "CBZ", &[r::<RT>, target::<5, 19>, branch]),
    row("s 0110101 kkkkkkkkkkkkkkkkkkk ttttt", "CBNZ", &[r::<RT>, target::<5, 19>, branch]),
    row("b 0110110 bbbbb kkkkkkkkkkkkkk ttttt", "TBZ", &[r::<RT>, tested, target::<5, 14>, branch]),
    row("b 0110111 bbbbb kkkkkkkkkkkkkk ttttt", "TBNZ", &[r::<RT>, tested, target::<5, 14>, branch]),
    row("s 1110100 ccc mmmmm 00 kkkkkkkkk ttttt", "CB", &[compare, r::<RT>, r::<RM>, target::<5, 9>, branch]),
    row("0 1110100 ccc mmmmm 10 kkkkkkkkk ttttt", "CBB", &[compare, w::<RT>, w::<RM>, target::<5, 9>, branch]),
    row("0 1110100 ccc mmmmm 11 kkkkkkkkk ttttt", "CBH", &[compare, w::<RT>, w::<RM>, target::<5, 9>, branch]),
    row("s 1110101 ccc kkkkkk 0 kkkkkkkkk ttttt", "CB", &[compare_imm, r::<RT>, unsigned::<15, 6>, target::<5, 9>, branch]),
    row("1101011000011111000000 nnnnn 00000", "BR", &[x::<RN>, jump_register]),
    row("1101011000111111000000 nnnnn 00000", "BLR", &[x::<RN>, call_register]),
    row("1101011001011111000000 11110 00000", "RET", &[ret]),
    row("1101011001011111000000 nnnnn 00000", "RET", &[x::<RN>, ret]),
    row("1101011001011111000010 11111 11111", "RETAA", &[ret]),
    row("1101011001011111000011 11111 11111", "RETAB", &[ret]),
    row("0000000000000000 kkkkkkkkkkkkkkkk", "UDF", &[unsigned::<0, 16>, trap]),
    row("11010100001 kkkkkkkkkkkkkkkk 00000", "BRK", &[unsigned::<5, 16>, trap]),
    row("11010100010 kkkkkkkkkkkkkkkk 00000", "HLT", &[unsigned::<5, 16>]),
    row("11010100000 kkkkkkkkkkkkkkkk 00001", "SVC", &[unsigned::<5, 16>]),
    row("11010101000000110010 0000 000 11111", "NOP", &[]),
    row("11010101000000110010 kkkk kkk 11111", "HINT", &[unsigned::<5, 7>]),
    row("11010101000000110011 1111 010 11111", "CLREX", &[]),
    row("11010101000000110011 kkkk 010 11111", "CLREX", &[unsigned::<8, 4>]),
    row("11010101000000110011 kkkk 100 11111", "DSB", &[dsb]),
    row("11010101000000110011 kkkk 101 11111", "DMB", &[barrier]),
    row("11010101000000110011 1111 110 11111", "ISB", &[]),
    row("11010101000000110011 kkkk 110 11111", "ISB", &[unsigned::<8, 4>]),
    row("11010101000000110011 0000 111 11111", "SB", &[]),
    row("1101010100 001 011 0111 kkkk kkk ttttt", "", &[cache, x::<RT>]),
    row("1101010100 11 kkkkkkkkkkkkkkk ttttt", "MRS", &[x::<RT>, system]),
    row("1101010100 01 kkkkkkkkkkkkkkk ttttt", "MSR", &[system, x::<RT>]),
];

fn jump(_: Word, out: &mut Out) -> Option<()> {
    out.flow = Flow::Jump;
    Some(())
}

fn branch(_: Word, out: &mut Out) -> Option<()> {
    out.flow = Flow::Branch;
    Some(())
}

fn call(_: Word, out: &mut Out) -> Option<()> {
    out.flow = Flow::Call;
    Some(())
}

fn call_register(_: Word, out: &mut Out) -> Option<()> {
    out.flow = Flow::CallRegister;
    Some(())
}

/// A jump to the link register that is no RET is a return all the same.
fn jump_register(w: Word, out: &mut Out) -> Option<()> {
    out.flow = if w.get(RN, 5) == 30 { Flow::Return } else { Flow::JumpRegister };
    Some(())
}

/// RET through another register than the link register returns too: outlined code does so.
fn ret(_: Word, out: &mut Out) -> Option<()> {
    out.flow = Flow::Return;
    Some(())
}

fn trap(_: Word, out: &mut Out) -> Option<()> {
    out.flow = Flow::Trap;
    Some(())
}

fn if_cond(w: Word, out: &mut Out) -> Option<()> {
    out.name.push_str(CONDITIONS[w.get(0, 4) as usize]);
    Some(())
}

/// The bit that is tested: its number's highest bit is the register's width.
fn tested(w: Word, out: &mut Out) -> Option<()> {
    out.imm((w.get(31, 1) << 5 | w.get(19, 5)).into())
}

fn compare(w: Word, out: &mut Out) -> Option<()> {
    let name = ["GT", "GE", "HI", "HS", "", "", "EQ", "NE"][w.get(21, 3) as usize];
    out.name.push_str(name);
    (!name.is_empty()).then_some(())
}

fn compare_imm(w: Word, out: &mut Out) -> Option<()> {
    let name = ["GT", "LT", "HI", "LO", "", "", "EQ", "NE"][w.get(21, 3) as usize];
    out.name.push_str(name);
    (!name.is_empty()).then_some(())
}

const BARRIERS: [&str; 16] = [
    "", "OSHLD", "OSHST", "OSH", "", "NSHLD", "NSHST", "NSH", "", "ISHLD", "ISHST", "ISH", "",
    "LD", "ST", "SY",
];

fn barrier(w: Word, out: &mut Out) -> Option<()> {
    let kind = w.get(8, 4);
    match BARRIERS[kind as usize] {
        "" => out.imm(kind.into()),
        name => out.text(name),
    }
}

/// Options 0 and 4 of DSB are other barriers.
fn dsb(w: Word, out: &mut Out) -> Option<()> {
    match w.get(8, 4) {
        0 => out.name = "SSBB".into(),
        4 => out.name = "PSSBB".into(),
        _ => return barrier(w, out),
    }
    Some(())
}

/// The system registers that code without privileges names, by the 15 bits that stand for them,
/// and whether it may write them.
const SYSTEM: &[(&str, u32, bool)] = &[
    ("NZCV", register(3, 4, 2, 0), true),
    ("FPCR", register(3, 4, 4, 0), true),
    ("FPSR", register(3, 4, 4, 1), true),
    ("TPIDR_EL0", register(3, 13, 0, 2), true),
    ("CTR_EL0", register(3, 0, 0, 1), false),
    ("DCZID_EL0", register(3, 0, 0, 7), false),
    ("CNTVCT_EL0", register(3, 14, 0, 2), false),
    ("MIDR_EL1", register(0, 0, 0, 0), false),
];

/// The number before these four has one bit, which is 1 in all of the table.
const fn register(op1: u32, crn: u32, crm: u32, op2: u32) -> u32 {
    1 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2
}

/// The maintenance of caches that code without privileges does.
fn cache(w: Word, out: &mut Out) -> Option<()> {
    let (name, what) = match (w.get(8, 4), w.get(5, 3)) {
        (4, 1) => ("DC", "ZVA"),
        (5, 1) => ("IC", "IVAU"),
        (10, 1) => ("DC", "CVAC"),
        (11, 1) => ("DC", "CVAU"),
        (14, 1) => ("DC", "CIVAC"),
        _ => return None,
    };
    out.name.push_str(name);
    out.text(what)
}

fn system(w: Word, out: &mut Out) -> Option<()> {
    let (wanted, reads) = (w.get(5, 15), w.is(21));
    match SYSTEM.iter().find(|(_, bits, writable)| *bits == wanted && (reads || *writable)) {
        Some((name, ..)) => out.text(*name),
        None => out.text(format!(
            "S{}_{}_C{}_C{}_{}",
            w.get(19, 1) + 2,
            w.get(16, 3),
            w.get(12, 4),
            w.get(8, 4),
            w.get(5, 3)
        )),
    }
}
