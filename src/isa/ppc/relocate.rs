//! The relocations of Power: the value of each kind, and the field of the instruction that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, masked, put};

pub fn apply(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let toc = fill.toc;
    let big = fill.big;
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    let from_here = value.wrapping_sub(fix.place);
    let of_toc = value.wrapping_sub(toc);
    let high = |v: u64| v.wrapping_add(0x8000) >> 16;
    // A prefixed instruction has 18 bits of the value in its first word and 16 in its second.
    let prefixed = |bytes: &mut [u8], v: u64| {
        masked(bytes, 0x3_ffff, (v >> 16) as u32, big)?;
        masked(bytes.get_mut(4..)?, 0xffff, v as u32, big)
    };
    match fix.kind {
        // Nothing, and marks for the linker.
        0 | 107 | 108 | 118..=120 | 123 | 128 => Some(()),
        1 => put(bytes, 4, value, big),
        38 => put(bytes, 8, value, big),
        44 => put(bytes, 8, from_here, big),
        26 => put(bytes, 4, from_here, big),
        51 => put(bytes, 8, toc, big),
        // Calls go to the local entry of the callee if it shares the table of offsets.
        10 | 116 => {
            let entry = if fix.kind == 10 { fix.local_entry } else { 0 };
            masked(bytes, 0x03ff_fffc, from_here.wrapping_add(entry) as u32, big)
        }
        11 => masked(bytes, 0xfffc, from_here as u32, big),
        4 => put(bytes, 2, value, big),
        6 => put(bytes, 2, high(value), big),
        5 => put(bytes, 2, value >> 16, big),
        57 => half_ds(bytes, value, big),
        47 | 48 => put(bytes, 2, of_toc, big),
        49 => put(bytes, 2, of_toc >> 16, big),
        50 => put(bytes, 2, high(of_toc), big),
        63 | 64 => half_ds(bytes, of_toc, big),
        249 | 250 => put(bytes, 2, from_here, big),
        251 => put(bytes, 2, from_here >> 16, big),
        252 => put(bytes, 2, high(from_here), big),
        14 | 15 => put(bytes, 2, fill.slot(value).wrapping_sub(toc), big),
        17 => put(bytes, 2, high(fill.slot(value).wrapping_sub(toc)), big),
        58 | 59 => half_ds(bytes, fill.slot(value).wrapping_sub(toc), big),
        132 => prefixed(bytes, from_here),
        133 => prefixed(bytes, fill.slot(value).wrapping_sub(fix.place)),
        _ => None,
    }
}

/// The two low bits belong to the instruction.
fn half_ds(bytes: &mut [u8], value: u64, big: bool) -> Option<()> {
    let b = bytes.get(..2)?;
    let old = if big { b[1] } else { b[0] };
    put(bytes, 2, value & !3 | u64::from(old & 3), big)
}
