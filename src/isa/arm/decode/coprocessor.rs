//! The coprocessor instructions that turn up among integer ones: CP15 (barriers of Armv6, the
//! thread pointer), and moves and transfers of VFP registers. T32 has them too, as A32 would
//! without a condition.

use super::field::Field::*;
use super::field::{Row, find, row};
use super::part::Part;

pub fn decode(word: u32, at: u64) -> Option<Part> {
    find(TABLE, word & 0x0fff_ffff, at)
}

const TABLE: &[Row] = &[
    row(
        0x0f10_0f10,
        0x0e00_0f10,
        "MCR",
        &[Fixed("p15"), Num(21, 3), R(12), C(16), C(0), Num(5, 3)],
    ),
    row(
        0x0f10_0f10,
        0x0e10_0f10,
        "MRC",
        &[Fixed("p15"), Num(21, 3), R(12), C(16), C(0), Num(5, 3)],
    ),
    // Words of memory in VFP registers.
    row(0x0f30_0f00, 0x0d10_0b00, "VLDR", &[D, MemVfp]),
    row(0x0f30_0f00, 0x0d00_0b00, "VSTR", &[D, MemVfp]),
    row(0x0f30_0f00, 0x0d10_0a00, "VLDR", &[S, MemVfp]),
    row(0x0f30_0f00, 0x0d00_0a00, "VSTR", &[S, MemVfp]),
    // Between those and integer registers.
    row(0x0ff0_0fd0, 0x0c40_0b10, "VMOV", &[DM, R(12), R(16)]),
    row(0x0ff0_0fd0, 0x0c50_0b10, "VMOV", &[R(12), R(16), DM]),
    row(0x0ff0_0f7f, 0x0e00_0a10, "VMOV", &[SN, R(12)]),
    row(0x0ff0_0f7f, 0x0e10_0a10, "VMOV", &[R(12), SN]),
    // Blocks of them.
    row(0x0fbf_0f00, 0x0cbd_0b00, "VPOP", &[ListD]),
    row(0x0fbf_0f00, 0x0d2d_0b00, "VPUSH", &[ListD]),
    row(0x0fb0_0f00, 0x0c90_0b00, "VLDMIA", &[BlockBase, ListD]),
    row(0x0fb0_0f00, 0x0cb0_0b00, "VLDMIA", &[BlockBase, ListD]),
    row(0x0fb0_0f00, 0x0c80_0b00, "VSTMIA", &[BlockBase, ListD]),
    row(0x0fb0_0f00, 0x0ca0_0b00, "VSTMIA", &[BlockBase, ListD]),
];
