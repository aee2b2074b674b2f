//! The relocations of AArch64: the value of each kind, and the field of the instruction that takes it.
//!
//! It does not know where sections are, nor how symbols are found.

use crate::relocate::{Fill, Fix, fields, put};

pub fn apply(fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
    let big = fill.big;
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    let from_here = value.wrapping_sub(fix.place);
    let adr = |bytes: &mut [u8], d: u64| {
        let d = d as u32;
        fields(bytes, 0x60ff_ffe0, (d & 3) << 29 | (d >> 2 & 0x7_ffff) << 5)
    };
    let page = |v: u64| ((v & !0xfff).wrapping_sub(fix.place & !0xfff)) >> 12;
    let low = |bytes: &mut [u8], v: u64, scale: u32| {
        fields(bytes, 0x003f_fc00, (v as u32 & 0xfff) >> scale << 10)
    };
    match fix.kind {
        0 => Some(()),
        // Instructions are always little-endian.
        257 => put(bytes, 8, value, big),
        258 => put(bytes, 4, value, big),
        260 => put(bytes, 8, from_here, big),
        261 => put(bytes, 4, from_here, big),
        263..=269 => {
            let shift = 16 * ((fix.kind - 263) / 2);
            fields(bytes, 0x001f_ffe0, ((value >> shift) as u32 & 0xffff) << 5)
        }
        // Literals and branches of 19 bits.
        273 | 280 => fields(bytes, 0x00ff_ffe0, ((from_here >> 2) as u32) << 5),
        274 => adr(bytes, from_here),
        275 | 276 => adr(bytes, page(value)),
        277 | 278 => low(bytes, value, 0),
        279 => fields(bytes, 0x0007_ffe0, ((from_here >> 2) as u32) << 5),
        282 | 283 => fields(bytes, 0x03ff_ffff, (from_here >> 2) as u32),
        284 => low(bytes, value, 1),
        285 => low(bytes, value, 2),
        286 => low(bytes, value, 3),
        299 => low(bytes, value, 4),
        311 => adr(bytes, page(fill.slot(value))),
        312 => low(bytes, fill.slot(value), 3),
        309 => fields(
            bytes,
            0x00ff_ffe0,
            ((fill.slot(value).wrapping_sub(fix.place) >> 2) as u32) << 5,
        ),
        _ => None,
    }
}
