//! The relocations of x86: the value of each kind, and the field of the instruction that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, put, word};

pub fn wide(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    match fix.kind {
        0 => Some(()),
        1 => put(bytes, 8, value, false),
        // Relative to the place: of the symbol, or of its entry for calls.
        2 | 4 => put(bytes, 4, value.wrapping_sub(fix.place), false),
        // The entry in the table of offsets.
        9 | 41 | 42 => {
            let at = fill.slot(fix.symbol).wrapping_add(fix.addend as u64);
            put(bytes, 4, at.wrapping_sub(fix.place), false)
        }
        10 | 11 => put(bytes, 4, value, false),
        24 => put(bytes, 8, value.wrapping_sub(fix.place), false),
        _ => None,
    }
}

/// The addend is stored in the place. An entry of the table is given by its distance from the
/// table's start.
pub fn narrow(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let offsets = fill.offsets;
    let size = match fix.kind {
        20 | 21 => 2,
        22 | 23 => 1,
        _ => 4,
    };
    let addend = match (fix.implicit, size) {
        (false, _) => fix.addend,
        (true, 1) => i64::from(*bytes.first()? as i8),
        (true, 2) => i64::from(i16::from_le_bytes([*bytes.first()?, *bytes.get(1)?])),
        (true, _) => i64::from(word(bytes, false)? as i32),
    };
    let value = fix.symbol.wrapping_add(addend as u64);
    let new = match fix.kind {
        0 => return Some(()),
        1 | 20 | 22 => value,
        // Relative to the place, of the symbol or of its entry for calls.
        2 | 4 | 21 | 23 => value.wrapping_sub(fix.place),
        3 | 43 => fill.slot(fix.symbol).wrapping_add(addend as u64).wrapping_sub(offsets),
        9 => value.wrapping_sub(offsets),
        10 => offsets.wrapping_add(addend as u64).wrapping_sub(fix.place),
        _ => return None,
    };
    put(bytes, size, new, false)
}
