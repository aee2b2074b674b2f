//! The relocations of RISC-V: the value of each kind, and the field of the instruction that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, Pairs, fields, put};

/// Records the relocations to which others refer.
pub fn prepare(fix: &Fix, pairs: &mut Pairs) {
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    match fix.kind {
        23 => {
            pairs.upper.insert(fix.place, value.wrapping_sub(fix.place) as i64);
        }
        20 => {
            pairs.got_of.insert(fix.place, value);
        }
        _ => {}
    }
}

pub fn apply(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    let from_here = value.wrapping_sub(fix.place) as i64;
    match fix.kind {
        1 => put(bytes, 4, value, false),
        2 => put(bytes, 8, value, false),
        // Branches.
        16 => {
            let d = from_here as u32;
            let bits = (d >> 12 & 1) << 31
                | (d >> 5 & 0x3f) << 25
                | (d >> 1 & 15) << 8
                | (d >> 11 & 1) << 7;
            fields(bytes, 0xfe00_0f80, bits)
        }
        17 => {
            let d = from_here as u32;
            let bits = (d >> 20 & 1) << 31
                | (d >> 1 & 0x3ff) << 21
                | (d >> 11 & 1) << 20
                | (d >> 12 & 0xff) << 12;
            fields(bytes, 0xffff_f000, bits)
        }
        // A call: `auipc` and `jalr`.
        18 | 19 => {
            upper(bytes, from_here)?;
            lower_i(bytes.get_mut(4..)?, from_here)
        }
        20 => {
            let distance = fill.slot(value).wrapping_sub(fix.place) as i64;
            fill.pairs.upper.insert(fix.place, distance);
            upper(bytes, distance)
        }
        23 => upper(bytes, from_here),
        24 | 25 => {
            let distance = match fill.pairs.upper.get(&fix.symbol) {
                Some(d) => *d,
                None => {
                    fill.slot(*fill.pairs.got_of.get(&fix.symbol)?).wrapping_sub(fix.symbol) as i64
                }
            };
            if fix.kind == 24 { lower_i(bytes, distance) } else { lower_s(bytes, distance) }
        }
        26 => upper(bytes, value as i64),
        27 => lower_i(bytes, value as i64),
        28 => lower_s(bytes, value as i64),
        33..=42 | 53..=55 => add_sub(fix.kind, bytes, value),
        // Compressed branches.
        44 => {
            let d = from_here as u16;
            let bits = (d >> 8 & 1) << 12
                | (d >> 3 & 3) << 10
                | (d >> 6 & 3) << 5
                | (d >> 1 & 3) << 3
                | (d >> 5 & 1) << 2;
            half(bytes, 0x1c7c, bits)
        }
        45 => {
            let d = from_here as u16;
            let bits = (d >> 11 & 1) << 12
                | (d >> 4 & 1) << 11
                | (d >> 8 & 3) << 9
                | (d >> 10 & 1) << 8
                | (d >> 6 & 1) << 7
                | (d >> 7 & 1) << 6
                | (d >> 1 & 7) << 3
                | (d >> 5 & 1) << 2;
            half(bytes, 0x1ffc, bits)
        }
        57 => put(bytes, 4, from_here as u64, false),
        // Hints for the linker.
        0 | 43 | 51 => Some(()),
        _ => None,
    }
}

fn upper(bytes: &mut [u8], value: i64) -> Option<()> {
    fields(bytes, 0xffff_f000, value.wrapping_add(0x800) as u32)
}

fn lower_i(bytes: &mut [u8], value: i64) -> Option<()> {
    fields(bytes, 0xfff0_0000, (value as u32) << 20)
}

fn lower_s(bytes: &mut [u8], value: i64) -> Option<()> {
    let v = value as u32;
    fields(bytes, 0xfe00_0f80, (v >> 5 & 0x7f) << 25 | (v & 31) << 7)
}

/// Differences of addresses, as in tables of jumps.
fn add_sub(kind: u32, bytes: &mut [u8], value: u64) -> Option<()> {
    let (size, add, set) = match kind {
        33 => (1, true, false),
        34 => (2, true, false),
        35 => (4, true, false),
        36 => (8, true, false),
        37 => (1, false, false),
        38 => (2, false, false),
        39 => (4, false, false),
        40 => (8, false, false),
        54 => (1, true, true),
        55 => (2, true, true),
        _ => return Some(()),
    };
    let mut old = 0u64;
    for (i, b) in bytes.get(..size)?.iter().enumerate() {
        old |= u64::from(*b) << (8 * i);
    }
    let new = match (set, add) {
        (true, _) => value,
        (_, true) => old.wrapping_add(value),
        _ => old.wrapping_sub(value),
    };
    put(bytes, size, new, false)
}

fn half(bytes: &mut [u8], mask: u16, bits: u16) -> Option<()> {
    let b = bytes.get(..2)?;
    let old = u16::from_le_bytes([b[0], b[1]]);
    put(bytes, 2, u64::from(old & !mask | bits & mask), false)
}
