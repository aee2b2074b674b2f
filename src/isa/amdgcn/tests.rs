use super::AmdGcn;
use crate::seq::Machine;

fn error(text: &str) -> String {
    Machine::default().code(&AmdGcn, text).expect_err("is refused")
}

/// The registers v0 to v3 after code, with v0 and v1 before it and the address of a 0 in v[4:5].
fn ran(text: &str, v0: u32, v1: u32) -> [u32; 4] {
    let mut m = Machine::default();
    let x = m.location("x");
    m.set("v0", v0.into()).set("v1", v1.into()).set("v4", x);
    m.run(&AmdGcn, &text.replace("; ", "\n"));
    ["v0", "v1", "v2", "v3"].map(|reg| m.reg(reg) as u32)
}

/// By AMD's manuals of the instruction sets ("CDNA3", "RDNA3", "RDNA4"), chapters on instructions.
#[test]
fn arithmetic() {
    const MINUS: u32 = u32::MAX;
    for (text, v0, v1, v2) in [
        ("v_add_u32_e32 v2, v0, v1", MINUS, 2, 1),
        ("v_add_nc_u32_e32 v2, -1, v1", 0, 2, 1),
        ("v_sub_u32_e32 v2, v0, v1", 1, 2, MINUS),
        ("v_subrev_u32_e32 v2, v0, v1", 1, 2, 1),
        ("v_lshlrev_b32_e32 v2, 33, v1", 0, 3, 6),
        ("v_ashrrev_i32_e32 v2, 31, v0", 1 << 31, 0, MINUS),
        ("v_lshrrev_b32_e32 v2, v0, v1", 4, 0x80, 8),
        ("v_mul_lo_u32 v2, v0, v1", 7, 6, 42),
        ("v_max_i32_e32 v2, v0, v1", MINUS, 1, 1),
        ("v_min_u32_e32 v2, v0, v1", MINUS, 1, 1),
        ("v_bfe_u32 v2, v0, 8, 8", 0x1234, 0, 0x12),
        ("v_bfe_i32 v2, v0, 4, 4", 0x80, 0, MINUS - 7),
        ("v_and_or_b32 v2, v0, 15, v1", 0xff, 0x100, 0x10f),
        ("v_lshl_add_u32 v2, v0, 2, v1", 3, 1, 13),
        ("v_add_lshl_u32 v2, v0, v1, 2", 3, 1, 16),
        ("v_add3_u32 v2, v0, v1, 5", 1, 2, 8),
        ("v_not_b32_e32 v2, v0", 1, 0, MINUS - 1),
        // 16 bits: short instructions of gfx9 clear the rest, those with halves keep it.
        ("v_mov_b32_e32 v2, -1; v_sub_u16_e32 v2, v0, v1", 1, 2, 0xffff),
        ("v_mov_b32_e32 v2, -1; v_mov_b16_e32 v2.l, 5", 0, 0, 0xffff_0005),
        ("v_mov_b32_e32 v2, -1; v_mov_b16_e32 v2.h, v0.l", 7, 0, 0x0007_ffff),
        // Of a register that had an address, nothing is kept.
        ("flat_load_d16_u8 v4, v[4:5]; v_mov_b32_e32 v2, v4", 0, 0, 0),
        ("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v2, v0", 5, 6, 5),
        ("v_cmp_lt_i32_e32 vcc, v0, v1; v_cndmask_b32_e64 v2, 3, 4, vcc", MINUS, 1, 4),
        ("v_cmp_gt_u32_e64 s[2:3], v0, v1; v_cndmask_b32_e64 v2, 3, 4, s[2:3]", MINUS, 1, 4),
        ("v_cmp_eq_u16_e32 vcc_lo, v0, v1; v_cndmask_b32_e64 v2, 3, 4, vcc_lo", 0x10001, 1, 4),
        ("s_mov_b32 s4, 9; v_mov_b32_e32 v2, s4", 0, 0, 9),
        ("s_movk_i32 s4, 0xffbf; v_mov_b32_e32 v2, s4", 0, 0, MINUS - 64),
        ("s_movk_i32 s4, 0x7fbf; v_mov_b32_e32 v2, s4", 0, 0, 0x7fbf),
        ("v_bfrev_b32_e32 v2, 1", 0, 0, 1 << 31),
        ("v_mbcnt_lo_u32_b32 v2, exec_lo, v0; v_mbcnt_hi_u32_b32 v2, exec_hi, v2", 3, 0, 3),
        ("s_mov_b32 s4, 0; v_readlane_b32 s5, v0, s4; v_mov_b32_e32 v2, s5", 9, 0, 9),
        ("s_mov_b32 s4, 7; v_writelane_b32 v2, s4, 0", 0, 0, 7),
        ("v_mul_u32_u24_e32 v2, v0, v1", 0xff00_0003, 5, 15),
        ("v_mul_i32_i24_e32 v2, v0, v1", 0x00ff_ffff, 5, MINUS - 4),
        ("v_mad_i32_i24 v2, -1, v0, v1", 4, 7, 3),
        ("s_movk_i32 s4, 0x5050; s_bcnt1_i32_b32 s5, s4; v_mov_b32_e32 v2, s5", 0, 0, 4),
        ("s_mov_b64 s[4:5], exec; s_bcnt1_i32_b64 s6, s[4:5]; v_mov_b32_e32 v2, s6", 0, 0, 1),
        ("s_movk_i32 s4, 0x5050; s_ctz_i32_b32 s5, s4; v_mov_b32_e32 v2, s5", 0, 0, 4),
        ("s_mov_b64 s[4:5], 0; s_ff1_i32_b64 s6, s[4:5]; v_mov_b32_e32 v2, s6", 0, 0, MINUS),
        ("s_movk_i32 s4, 0x51; s_bitset0_b32 s4, 38; v_mov_b32_e32 v2, s4", 0, 0, 0x11),
        ("v_bfrev_b32_e32 v2, v0", 0x0000_0d00, 0, 0x00b0_0000),
        ("v_bfe_u32 v2, v0, v1, 1", 0x20, 5, 1),
        ("v_bfe_u32 v2, v0, v1, 1", 0x20, 38, 0),
        ("v_cvt_u32_u16_e32 v2, v0.h", 0x0012_0034, 0, 0x12),
        (
            "flat_store_dwordx3 v[4:5], v[0:2]; flat_load_dwordx3 v[1:3], v[4:5]; v_mov_b32_e32 v2, v1",
            7,
            8,
            7,
        ),
    ] {
        assert_eq!(ran(text, v0, v1)[2], v2, "{text} of {v0:#x} and {v1:#x}");
    }
}

#[test]
fn pairs_hold_64_bits() {
    for (text, v2, v3) in [
        ("v_add_co_u32_e32 v2, vcc, -1, v0; v_addc_co_u32_e32 v3, vcc, 0, v1, vcc", 0, 3),
        ("v_add_co_u32 v2, vcc_lo, v0, 1; v_add_co_ci_u32_e64 v3, null, 0, v1, vcc_lo", 2, 2),
        ("v_sub_co_u32_e32 v2, vcc, v0, v1; v_subb_co_u32_e32 v3, vcc, v1, v0, vcc", u32::MAX, 0),
        ("v_lshl_add_u64 v[2:3], v[0:1], 1, v[0:1]", 3, 6),
        ("v_lshlrev_b64 v[2:3], 30, v[0:1]", 1 << 30, 1 << 31),
        ("v_pk_mov_b32 v[2:3], v[0:1], v[0:1] op_sel:[0,1]", 1, 2),
        ("v_mov_b64_e32 v[2:3], -1", u32::MAX, u32::MAX),
        ("v_cmp_eq_u64_e32 vcc, v[0:1], v[0:1]; v_cndmask_b32_e64 v2, 0, 7, vcc", 7, 0),
    ] {
        assert_eq!(ran(text, 1, 2)[2..], [v2, v3], "{text}");
    }
}

/// A lane that is not active runs no vector instruction, and comparisons give 0 for it.
#[test]
fn masks() {
    for (text, v2) in [
        ("v_cmp_eq_u32_e32 vcc, 1, v0; s_and_saveexec_b64 s[0:1], vcc; v_mov_b32_e32 v2, 5", 5),
        ("v_cmp_eq_u32_e32 vcc, 2, v0; s_and_saveexec_b64 s[0:1], vcc; v_mov_b32_e32 v2, 5", 0),
        (
            "v_cmpx_eq_u32_e32 2, v0; v_mov_b32_e32 v2, 5; s_mov_b32 exec_lo, 1; v_mov_b32_e32 v3, 5",
            0,
        ),
        (
            "s_mov_b64 exec, 0; v_cmp_eq_u32_e32 vcc, v0, v0; s_mov_b64 exec, vcc; v_mov_b32_e32 v2, 5",
            0,
        ),
        (
            "v_cmp_eq_u32_e32 vcc, 2, v0; s_and_saveexec_b64 s[0:1], vcc; s_cbranch_execz L; \
             v_mov_b32_e32 v2, 5; L: s_or_b64 exec, exec, s[0:1]; v_add_u32_e32 v2, 1, v2",
            1,
        ),
        (
            "v_cmp_eq_u32_e32 vcc, 1, v0; s_and_b64 vcc, exec, vcc; s_cbranch_vccnz L; \
             v_mov_b32_e32 v2, 5; L: s_endpgm",
            0,
        ),
        ("s_cmp_lg_u32 s0, s1; s_cselect_b32 s2, 3, 4; v_mov_b32_e32 v2, s2", 4),
        (
            "s_mov_b32 s0, -1; s_add_u32 s1, s0, 2; s_cbranch_scc0 L; v_mov_b32_e32 v2, 5; L: s_nop 0",
            5,
        ),
        (
            "s_mov_b32 s0, -1; s_add_i32 s1, s0, 2; s_cbranch_scc0 L; v_mov_b32_e32 v2, 5; L: s_nop 0",
            0,
        ),
    ] {
        assert_eq!(ran(text, 1, 2)[2], v2, "{text}");
    }
}

#[test]
fn accesses() {
    for (text, v2, memory) in [
        ("flat_load_dword v2, v[4:5] sc0 sc1", 0x8000_0080, 0x8000_0080),
        ("global_load_ubyte v2, v[4:5], off", 0x80, 0x8000_0080),
        ("flat_load_i8 v2, v[4:5] offset:3", 0xffff_ff80, 0x8000_0080),
        ("v_mov_b32_e32 v2, -1; flat_load_d16_u8 v2, v[4:5] glc", 0xffff_0080, 0x8000_0080),
        ("v_mov_b32_e32 v2, -1; flat_load_d16_hi_b16 v2, v[4:5]", 0x0080_ffff, 0x8000_0080),
        ("v_mov_b32_e32 v2, 0x1234; flat_store_byte v[4:5], v2", 0x1234, 0x8000_0034),
        ("v_mov_b32_e32 v2, 0x120000; flat_store_d16_hi_b16 v[4:5], v2", 0x12_0000, 0x8000_0012),
        ("flat_atomic_add_u32 v2, v[4:5], v0 glc", 0x8000_0080, 0x8000_0081),
        ("flat_atomic_add v[4:5], v0 sc1", 0, 0x8000_0081),
        ("flat_atomic_smin v[4:5], v0", 0, 0x8000_0080),
        ("flat_atomic_min_u32 v[4:5], v0 scope:SCOPE_SYS", 0, 1),
        ("flat_atomic_swap_b32 v2, v[4:5], v1 th:TH_ATOMIC_RETURN", 0x8000_0080, 2),
        ("flat_atomic_cmpswap v2, v[4:5], v[0:1] sc0", 0x8000_0080, 0x8000_0080),
        (
            "v_mov_b32_e32 v1, 0x80000080; flat_atomic_cmpswap v2, v[4:5], v[0:1] sc0",
            0x8000_0080,
            1,
        ),
    ] {
        let mut m = Machine::default();
        let x = m.location("x");
        m.set("v0", 1).set("v1", 2).set("v4", x);
        m.poke(x, 4, 0x8000_0080);
        m.run(&AmdGcn, &text.replace("; ", "\n"));
        assert_eq!((m.reg("v2") as u32, m.peek(x, 4) as u32), (v2, memory), "{text}");
    }
}

/// Compilers ask whether an address is that of a lane's own memory before some operations.
#[test]
fn addresses_of_tests_are_global() {
    let text = "s_mov_b64 s[0:1], src_private_base\nv_cmp_ne_u32_e32 vcc, s1, v1\n\
        s_cbranch_vccnz L\nscratch_store_dword v0, v2, off\nL: v_mov_b32_e32 v2, 5";
    assert_eq!(ran(text, 7, 0)[2], 5);
    let old = text
        .replace("scratch_store_dword v0, v2, off", "buffer_store_dword v3, v0, s[0:3], 0 offen");
    assert_eq!(ran(&old, 7, 0)[2], 5);
}

#[test]
fn the_rest_is_refused_by_name() {
    for (text, why) in [
        ("s_barrier", "s_barrier"),
        ("ds_read_b32 v0, v1", "ds_read_b32"),
        ("buffer_load_dword v0, off", "buffer_load_dword"),
        ("s_load_dword s0, s[2:3], 0x0", "s_load_dword"),
        ("v_fma_f64 v[0:1], v[0:1], v[0:1], v[0:1]", "v_fma_f64"),
        ("flat_load_dwordx4 v[0:2], v[4:5]", "flat_load_dwordx4"),
        ("flat_load_dword v0, v[4:5] lds", "`lds`"),
        ("v_cmp_ne_u32_sdwa vcc, v0, v1 src0_sel:BYTE_0 src1_sel:DWORD", "src0_sel"),
        ("s_waitcnt vmcnt(7)", "all loads but 7"),
        ("s_waitcnt_vscnt null, 0x1", "other than all stores"),
        ("scratch_load_dword v0, off, s32", "scratch_load_dword"),
        ("s_setpc_b64 s[2:3]", "s_setpc_b64"),
        ("s_branch L", "no such label"),
        ("v_mov_b32 v0, x@rel32", "x@rel32"),
        ("flat_load_dwordx2 v0, v[4:5]", "registers for 64 bits"),
    ] {
        let e = error(text);
        assert!(e.contains(why), "{text}: {e}");
    }
}
