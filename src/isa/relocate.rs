//! Applies relocations: each instruction set's folder has the value of each kind, and the field of the
//! instruction that takes it; this file has what they share.
//!
//! It does not know where sections are, nor how symbols are found.

use std::collections::HashMap;

/// A relocation with everything that its value depends on.
#[derive(Clone, Copy, Debug)]
pub struct Fix {
    /// Its number in ELF.
    pub kind: u32,
    /// The address of the relocated field.
    pub place: u64,
    /// The address of the symbol.
    pub symbol: u64,
    /// Whether the symbol is a function of Thumb code.
    pub thumb: bool,
    /// On Power, the distance of the entry for callers that share the table of offsets.
    pub local_entry: u64,
    /// The number that is added.
    pub addend: i64,
    /// Whether the addend is stored in the field.
    pub implicit: bool,
}

/// What the relocations of one object refer to besides their symbols.
pub struct Fill<'a> {
    /// Whether data has its highest byte first.
    pub big: bool,
    /// The start of the table of offsets.
    pub offsets: u64,
    /// The address that Power's register r2 holds.
    pub toc: u64,
    /// The address of the entry for an address in the table of offsets, which may be new.
    pub slot: &'a mut dyn FnMut(u64) -> u64,
    /// The values in relocations that others refer to.
    pub pairs: &'a mut Pairs,
}

/// Relocations that others refer to: that of a lower half may name the address of the instruction
/// (`auipc`) with the upper one.
#[derive(Default)]
pub struct Pairs {
    /// The distance for each `auipc`.
    pub upper: HashMap<u64, i64>,
    /// The address whose entry in the table of offsets each `auipc` leads to.
    pub got_of: HashMap<u64, u64>,
}

impl Fill<'_> {
    /// The entry for an address in the table of offsets.
    pub(crate) fn slot(&mut self, address: u64) -> u64 {
        (self.slot)(address)
    }
}

pub(crate) fn put(bytes: &mut [u8], size: usize, value: u64, big: bool) -> Option<()> {
    let out = bytes.get_mut(..size)?;
    let all = value.to_le_bytes();
    for (i, b) in out.iter_mut().enumerate() {
        *b = all[if big { size - 1 - i } else { i }];
    }
    Some(())
}

pub(crate) fn word(bytes: &[u8], big: bool) -> Option<u32> {
    let b = bytes.get(..4)?;
    let b = [b[0], b[1], b[2], b[3]];
    Some(if big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) })
}

/// Replaces the bits of a mask in a little-endian word.
pub(crate) fn fields(bytes: &mut [u8], mask: u32, bits: u32) -> Option<()> {
    masked(bytes, mask, bits, false)
}

pub(crate) fn masked(bytes: &mut [u8], mask: u32, bits: u32, big: bool) -> Option<()> {
    let old = word(bytes, big)?;
    put(bytes, 4, u64::from(old & !mask | bits & mask), big)
}
