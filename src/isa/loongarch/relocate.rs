//! The relocations of LoongArch: the value of each kind, and the field of the instruction that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, fields, put};
use object::elf::{self, RelocationType};

pub fn apply(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    let from_here = value.wrapping_sub(fix.place);
    match RelocationType(fix.kind) {
        elf::R_LARCH_32 => put(bytes, 4, value, false),
        elf::R_LARCH_64 => put(bytes, 8, value, false),
        elf::R_LARCH_32_PCREL => put(bytes, 4, from_here, false),
        elf::R_LARCH_64_PCREL => put(bytes, 8, from_here, false),
        // Branches, whose distances are in instructions.
        elf::R_LARCH_B16 => near(bytes, from_here),
        elf::R_LARCH_B21 => far(bytes, (from_here >> 2) as u32, 0x1f),
        elf::R_LARCH_B26 => far(bytes, (from_here >> 2) as u32, 0x3ff),
        // A call by `pcaddu18i` and `jirl`.
        elf::R_LARCH_CALL36 => {
            middle(bytes, from_here.wrapping_add(0x2_0000) >> 18)?;
            near(bytes.get_mut(4..)?, from_here)
        }
        // Pages of 4 KiB, and places in them.
        elf::R_LARCH_PCALA_HI20 => middle(bytes, pages(value, fix.place)),
        elf::R_LARCH_GOT_PC_HI20 => middle(bytes, pages(fill.slot(value), fix.place)),
        elf::R_LARCH_PCALA_LO12 | elf::R_LARCH_ABS_LO12 => low(bytes, value),
        elf::R_LARCH_GOT_PC_LO12 => low(bytes, fill.slot(value)),
        elf::R_LARCH_PCREL20_S2 => middle(bytes, from_here >> 2),
        elf::R_LARCH_ABS_HI20 => middle(bytes, value >> 12),
        elf::R_LARCH_ABS64_LO20 => middle(bytes, value >> 32),
        elf::R_LARCH_ABS64_HI12 => low(bytes, value >> 52),
        // Differences of addresses, as in tables of jumps.
        elf::R_LARCH_ADD8 => sum(bytes, 1, value),
        elf::R_LARCH_ADD16 => sum(bytes, 2, value),
        elf::R_LARCH_ADD32 => sum(bytes, 4, value),
        elf::R_LARCH_ADD64 => sum(bytes, 8, value),
        elf::R_LARCH_SUB8 => sum(bytes, 1, value.wrapping_neg()),
        elf::R_LARCH_SUB16 => sum(bytes, 2, value.wrapping_neg()),
        elf::R_LARCH_SUB32 => sum(bytes, 4, value.wrapping_neg()),
        elf::R_LARCH_SUB64 => sum(bytes, 8, value.wrapping_neg()),
        // Hints for the linker, and what only debuggers read.
        elf::R_LARCH_NONE
        | elf::R_LARCH_RELAX
        | elf::R_LARCH_ALIGN
        | elf::R_LARCH_ADD6
        | elf::R_LARCH_SUB6
        | elf::R_LARCH_ADD_ULEB128
        | elf::R_LARCH_SUB_ULEB128 => Some(()),
        _ => None,
    }
}

/// The distance of two addresses' pages, where the sign of the place in the page is taken from it.
fn pages(to: u64, from: u64) -> u64 {
    (to.wrapping_add(0x800) >> 12).wrapping_sub(from >> 12)
}

/// The 20 bits of a constant that stand above the target register.
fn middle(bytes: &mut [u8], value: u64) -> Option<()> {
    fields(bytes, 0xf_ffff << 5, (value as u32) << 5)
}

/// The 12 bits of a constant that stand above two registers.
fn low(bytes: &mut [u8], value: u64) -> Option<()> {
    fields(bytes, 0xfff << 10, (value as u32) << 10)
}

/// A distance of bytes, in instructions.
fn near(bytes: &mut [u8], distance: u64) -> Option<()> {
    let distance = (distance >> 2) as u32;
    fields(bytes, 0xffff << 10, distance << 10)
}

/// A distance of instructions of which the bits from 16 up stand at the bottom.
fn far(bytes: &mut [u8], distance: u32, bottom: u32) -> Option<()> {
    fields(bytes, 0xffff << 10 | bottom, distance << 10 & 0xffff << 10 | distance >> 16 & bottom)
}

fn sum(bytes: &mut [u8], size: usize, value: u64) -> Option<()> {
    let mut old = 0u64;
    for (i, b) in bytes.get(..size)?.iter().enumerate() {
        old |= u64::from(*b) << (8 * i);
    }
    put(bytes, size, old.wrapping_add(value), false)
}
