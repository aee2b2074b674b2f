//! The relocations of 32-bit Arm: the value of each kind, and the field of the instruction that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, fields, put, word};

pub fn apply(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let offsets = fill.offsets;
    let old = word(bytes, false).unwrap_or(0);
    let halves = || {
        let b = bytes.get(..4)?;
        Some((u16::from_le_bytes([b[0], b[1]]), u16::from_le_bytes([b[2], b[3]])))
    };
    let signed = |v: u32, bits: u32| i64::from((v << (32 - bits)) as i32 >> (32 - bits));
    let thumb_branch = |a: u16, b: u16| {
        let (a, b) = (u32::from(a), u32::from(b));
        let s = a >> 10 & 1;
        let (i1, i2) = (!(b >> 13 ^ s) & 1, !(b >> 11 ^ s) & 1);
        signed(s << 24 | i1 << 23 | i2 << 22 | (a & 0x3ff) << 12 | (b & 0x7ff) << 1, 25)
    };
    let addend = match fix.kind {
        _ if !fix.implicit => fix.addend,
        1 | 27 | 28 | 29 => signed(old & 0xff_ffff, 24) << 2,
        10 | 30 => halves().map_or(0, |(a, b)| thumb_branch(a, b)),
        43..=46 => signed((old >> 16 & 15) << 12 | old & 0xfff, 16),
        47..=50 => halves().map_or(0, |(a, b)| {
            let (a, b) = (u32::from(a), u32::from(b));
            signed((a & 15) << 12 | (a >> 10 & 1) << 11 | (b >> 12 & 7) << 8 | b & 0xff, 16)
        }),
        _ => i64::from(old as i32),
    };
    let symbol = fix.symbol | u64::from(fix.thumb);
    let value = symbol.wrapping_add(addend as u64);
    let from_here = value.wrapping_sub(fix.place);
    match fix.kind {
        // Nothing, `bx` on processors without it, and a no-op for calls.
        0 | 40 | 3 if fix.kind != 3 => Some(()),
        2 | 38 => put(bytes, 4, value, false),
        3 => put(bytes, 4, from_here, false),
        1 | 27 | 28 | 29 => {
            let d = (fix.symbol.wrapping_add(addend as u64)).wrapping_sub(fix.place);
            fields(bytes, 0x00ff_ffff, (d >> 2) as u32)
        }
        10 | 30 => {
            let d = fix.symbol.wrapping_add(addend as u64).wrapping_sub(fix.place) as u32;
            let s = d >> 24 & 1;
            let (j1, j2) = (!(d >> 23 ^ s) & 1, !(d >> 22 ^ s) & 1);
            let (a, b) = halves()?;
            let a = u32::from(a) & 0xf800 | s << 10 | d >> 12 & 0x3ff;
            let b = u32::from(b) & 0xd000 | j1 << 13 | j2 << 11 | d >> 1 & 0x7ff;
            put(bytes, 2, a.into(), false)?;
            put(bytes.get_mut(2..)?, 2, b.into(), false)
        }
        24 => put(bytes, 4, value.wrapping_sub(offsets), false),
        25 => put(bytes, 4, offsets.wrapping_add(addend as u64).wrapping_sub(fix.place), false),
        26 => put(
            bytes,
            4,
            fill.slot(symbol).wrapping_add(addend as u64).wrapping_sub(offsets),
            false,
        ),
        96 => {
            let at = fill.slot(symbol).wrapping_add(addend as u64);
            put(bytes, 4, at.wrapping_sub(fix.place), false)
        }
        42 => put(bytes, 4, u64::from(old & 0x8000_0000) | from_here & 0x7fff_ffff, false),
        43..=46 => {
            let v = if fix.kind >= 45 { from_here } else { value } as u32;
            let v = if fix.kind.is_multiple_of(2) { v >> 16 } else { v } & 0xffff;
            fields(bytes, 0x000f_0fff, (v >> 12) << 16 | v & 0xfff)
        }
        47..=50 => {
            let v = if fix.kind >= 49 { from_here } else { value } as u32;
            let v = if fix.kind.is_multiple_of(2) { v >> 16 } else { v } & 0xffff;
            let (a, b) = halves()?;
            let a = u32::from(a) & 0xfbf0 | (v >> 11 & 1) << 10 | v >> 12 & 15;
            let b = u32::from(b) & 0x8f00 | (v >> 8 & 7) << 12 | v & 0xff;
            put(bytes, 2, a.into(), false)?;
            put(bytes.get_mut(2..)?, 2, b.into(), false)
        }
        _ => None,
    }
}
