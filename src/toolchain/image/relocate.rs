//! Applies relocations: the value of each kind, and the field of the instruction that takes it.
//!
//! There is one function for each instruction set. It does not know where sections are, nor how
//! symbols are found.

use std::collections::HashMap;

use litmake_base::failure::Failure;
use litmake_litmus::Arch;

/// A relocation with everything that its value depends on.
#[derive(Clone, Copy, Debug)]
pub struct Fix {
    pub kind: u32,
    /// The address of the relocated field.
    pub place: u64,
    pub symbol: u64,
    pub thumb: bool,
    pub local_entry: u64,
    pub addend: i64,
    /// Whether the addend is stored in the field.
    pub implicit: bool,
}

/// Applies the relocations of one object.
pub struct Fill {
    arch: Arch,
    big: bool,
    offsets: u64,
    toc: u64,
    /// On RISC-V, the distance for each `auipc`; the relocation of the lower half names the address
    /// of the `auipc`.
    upper: HashMap<u64, i64>,
    /// On RISC-V, the symbol whose entry in the table of offsets each `auipc` leads to.
    got_of: HashMap<u64, u64>,
}

type Slot<'a> = dyn FnMut(u64) -> u64 + 'a;

impl Fill {
    pub fn new(arch: Arch, big: bool, offsets: u64, toc: u64) -> Fill {
        Fill { arch, big, offsets, toc, upper: HashMap::new(), got_of: HashMap::new() }
    }

    /// Records relocations to which others refer, before any is applied.
    pub fn prepare(&mut self, fix: &Fix, _bytes: &[u8]) {
        let value = fix.symbol.wrapping_add(fix.addend as u64);
        if self.arch == Arch::RiscV {
            match fix.kind {
                23 => {
                    self.upper.insert(fix.place, value.wrapping_sub(fix.place) as i64);
                }
                20 => {
                    self.got_of.insert(fix.place, value);
                }
                _ => {}
            }
        }
    }

    pub fn apply(&mut self, fix: &Fix, bytes: &mut [u8], slot: &mut Slot) -> Result<(), Failure> {
        let done = match self.arch {
            Arch::X86_64 => x86(fix, bytes, slot),
            Arch::AArch64 => aarch64(fix, bytes, slot, self.big),
            Arch::Arm => arm(fix, bytes, slot, self.offsets),
            Arch::RiscV => self.riscv(fix, bytes, slot),
            Arch::Ppc => ppc(fix, bytes, slot, self.toc, self.big),
            Arch::Mips => mips(fix, bytes, slot, self.offsets + 0x7ff0, self.big),
            Arch::X86 => i386(fix, bytes, slot, self.offsets),
            Arch::C | Arch::Llvm | Arch::Ptx | Arch::Spirv => None,
        };
        done.ok_or_else(|| {
            let (kind, arch) = (fix.kind, self.arch.name());
            Failure::unsupported(format!(
                "an ELF relocation of type {kind} for {arch}, which lifting cannot apply \
                 (`readelf -r` shows its name and symbol; options such as -fno-pic may avoid it)"
            ))
        })
    }

    fn riscv(&mut self, fix: &Fix, bytes: &mut [u8], slot: &mut Slot) -> Option<()> {
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
                let distance = slot(value).wrapping_sub(fix.place) as i64;
                self.upper.insert(fix.place, distance);
                upper(bytes, distance)
            }
            23 => upper(bytes, from_here),
            24 | 25 => {
                let distance = match self.upper.get(&fix.symbol) {
                    Some(d) => *d,
                    None => slot(*self.got_of.get(&fix.symbol)?).wrapping_sub(fix.symbol) as i64,
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
}

fn put(bytes: &mut [u8], size: usize, value: u64, big: bool) -> Option<()> {
    let out = bytes.get_mut(..size)?;
    let all = value.to_le_bytes();
    for (i, b) in out.iter_mut().enumerate() {
        *b = all[if big { size - 1 - i } else { i }];
    }
    Some(())
}

fn word(bytes: &[u8], big: bool) -> Option<u32> {
    let b = bytes.get(..4)?;
    let b = [b[0], b[1], b[2], b[3]];
    Some(if big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) })
}

/// Replaces the bits of a mask in a little-endian word.
fn fields(bytes: &mut [u8], mask: u32, bits: u32) -> Option<()> {
    masked(bytes, mask, bits, false)
}

fn masked(bytes: &mut [u8], mask: u32, bits: u32, big: bool) -> Option<()> {
    let old = word(bytes, big)?;
    put(bytes, 4, u64::from(old & !mask | bits & mask), big)
}

fn half(bytes: &mut [u8], mask: u16, bits: u16) -> Option<()> {
    let b = bytes.get(..2)?;
    let old = u16::from_le_bytes([b[0], b[1]]);
    put(bytes, 2, u64::from(old & !mask | bits & mask), false)
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

fn x86(fix: &Fix, bytes: &mut [u8], slot: &mut Slot) -> Option<()> {
    let value = fix.symbol.wrapping_add(fix.addend as u64);
    match fix.kind {
        0 => Some(()),
        1 => put(bytes, 8, value, false),
        // Relative to the place: of the symbol, or of its entry for calls.
        2 | 4 => put(bytes, 4, value.wrapping_sub(fix.place), false),
        // The entry in the table of offsets.
        9 | 41 | 42 => {
            let at = slot(fix.symbol).wrapping_add(fix.addend as u64);
            put(bytes, 4, at.wrapping_sub(fix.place), false)
        }
        10 | 11 => put(bytes, 4, value, false),
        24 => put(bytes, 8, value.wrapping_sub(fix.place), false),
        _ => None,
    }
}

/// The addend is stored in the place. An entry of the table is given by its distance from the
/// table's start.
fn i386(fix: &Fix, bytes: &mut [u8], slot: &mut Slot, offsets: u64) -> Option<()> {
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
        3 | 43 => slot(fix.symbol).wrapping_add(addend as u64).wrapping_sub(offsets),
        9 => value.wrapping_sub(offsets),
        10 => offsets.wrapping_add(addend as u64).wrapping_sub(fix.place),
        _ => return None,
    };
    put(bytes, size, new, false)
}

fn aarch64(fix: &Fix, bytes: &mut [u8], slot: &mut Slot, big: bool) -> Option<()> {
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
        311 => adr(bytes, page(slot(value))),
        312 => low(bytes, slot(value), 3),
        309 => fields(bytes, 0x00ff_ffe0, ((slot(value).wrapping_sub(fix.place) >> 2) as u32) << 5),
        _ => None,
    }
}

fn arm(fix: &Fix, bytes: &mut [u8], slot: &mut Slot, offsets: u64) -> Option<()> {
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
        26 => put(bytes, 4, slot(symbol).wrapping_add(addend as u64).wrapping_sub(offsets), false),
        96 => {
            let at = slot(symbol).wrapping_add(addend as u64);
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

fn ppc(fix: &Fix, bytes: &mut [u8], slot: &mut Slot, toc: u64, big: bool) -> Option<()> {
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
        14 | 15 => put(bytes, 2, slot(value).wrapping_sub(toc), big),
        17 => put(bytes, 2, high(slot(value).wrapping_sub(toc)), big),
        58 | 59 => half_ds(bytes, slot(value).wrapping_sub(toc), big),
        132 => prefixed(bytes, from_here),
        133 => prefixed(bytes, slot(value).wrapping_sub(fix.place)),
        _ => None,
    }
}

/// The two low bits belong to the instruction.
fn half_ds(bytes: &mut [u8], value: u64, big: bool) -> Option<()> {
    let b = bytes.get(..2)?;
    let old = if big { b[1] } else { b[0] };
    put(bytes, 2, value & !3 | u64::from(old & 3), big)
}

/// Up to three kinds combined; each works on the result of the one before.
fn mips(fix: &Fix, bytes: &mut [u8], slot: &mut Slot, gp: u64, big: bool) -> Option<()> {
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
            9 | 11 | 19 | 30 | 31 => slot(value).wrapping_sub(gp),
            20 => slot(value.wrapping_add(0x8000) & !0xffff).wrapping_sub(gp),
            21 => value.wrapping_sub(value.wrapping_add(0x8000) & !0xffff),
            22 | 23 => slot(value).wrapping_sub(gp),
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
