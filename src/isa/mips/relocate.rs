//! The relocations of MIPS: the value of each kind, and the field of the instruction that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, masked, put};

/// Up to three kinds combined; each works on the result of the one before.
pub fn apply(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let gp = fill.offsets + 0x7ff0;
    let big = fill.big;
    let kinds = [fix.kind & 0xff, fix.kind >> 8 & 0xff, fix.kind >> 16 & 0xff];
    let mut value = fix.symbol.wrapping_add(fix.addend as u64);
    let mut last = 0;
    for (i, kind) in kinds.into_iter().enumerate() {
        if kind == 0 {
            break;
        }
        value = match kind {
            // Relative to the global pointer.
            7 => value.wrapping_sub(gp),
            12 => value.wrapping_sub(gp),
            24 if i > 0 => value.wrapping_neg(),
            24 => fix.symbol.wrapping_sub(fix.addend as u64),
            9 | 11 | 19 | 30 | 31 => fill.slot(value).wrapping_sub(gp),
            20 => fill.slot(value.wrapping_add(0x8000) & !0xffff).wrapping_sub(gp),
            21 => value.wrapping_sub(value.wrapping_add(0x8000) & !0xffff),
            22 | 23 => fill.slot(value).wrapping_sub(gp),
            10 | 60 | 61 => value.wrapping_sub(fix.place),
            64 | 65 => value.wrapping_sub(fix.place),
            _ => value,
        };
        last = kind;
    }
    let mut low = |v: u64, mask: u32| masked(bytes, mask, v as u32, big);
    match last {
        0 | 37 => Some(()),
        4 => low(value >> 2, 0x03ff_ffff),
        // Upper halves, rounded because the lower halves are signed.
        5 | 22 | 30 | 64 => low(value.wrapping_add(0x8000) >> 16, 0xffff),
        6 | 7 | 9 | 11 | 19 | 20 | 21 | 23 | 31 | 65 => low(value, 0xffff),
        28 => low(value.wrapping_add(0x8000_8000) >> 32, 0xffff),
        29 => low(value.wrapping_add(0x8000_8000_8000) >> 48, 0xffff),
        10 => low(value >> 2, 0xffff),
        60 => low(value >> 2, 0x1f_ffff),
        61 => low(value >> 2, 0x03ff_ffff),
        2 | 12 => put(bytes, 4, value, big),
        18 | 24 => put(bytes, 8, value, big),
        _ => None,
    }
}
