//! The relocations of s390x: the value of each kind, and the field that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, put};
use object::elf::{self, RelocationType};

pub fn apply(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    let from_here = |value: u64| value.wrapping_sub(fix.place);
    // Distances are in half words.
    let halves = |value: u64| (from_here(value) as i64 >> 1) as u64;
    match RelocationType(fix.kind) {
        elf::R_390_NONE => Some(()),
        elf::R_390_8 => put(bytes, 1, value, true),
        elf::R_390_16 => put(bytes, 2, value, true),
        elf::R_390_32 => put(bytes, 4, value, true),
        elf::R_390_64 => put(bytes, 8, value, true),
        elf::R_390_PC16 => put(bytes, 2, from_here(value), true),
        elf::R_390_PC32 => put(bytes, 4, from_here(value), true),
        elf::R_390_PC64 => put(bytes, 8, from_here(value), true),
        elf::R_390_PC16DBL | elf::R_390_PLT16DBL => put(bytes, 2, halves(value), true),
        elf::R_390_PC32DBL | elf::R_390_PLT32DBL => put(bytes, 4, halves(value), true),
        // The addend counts from the entry.
        elf::R_390_GOTENT | elf::R_390_GOTPLTENT => {
            let entry = fill.slot(fix.symbol).wrapping_add(fix.addend as u64);
            put(bytes, 4, halves(entry), true)
        }
        _ => None,
    }
}
