//! Values and events of single instructions, and what is refused.

use super::Ptx;
use crate::seq::{Machine, What};
use litmake_ops::{Op, Tags, tag};

fn refusal(text: &str) -> String {
    Machine::default().code(&Ptx, text).err().unwrap_or_else(|| panic!("{text} is read"))
}

/// The value of `r0` after some lines.
fn value(text: &str) -> u128 {
    let mut machine = Machine::default();
    machine.run(&Ptx, text);
    machine.reg("r0")
}

#[test]
fn arithmetic_is_within_the_width() {
    for (text, expected) in [
        ("mov.u32 %r0, -1", 0xffff_ffff),
        ("mov.s32 r0, -1", u64::MAX.into()),
        ("mov.u32 r1, -1\nadd.u32 r0, r1, 2", 1),
        ("sub.u16 r0, 0, 1", 0xffff),
        ("sub.s16 r0, 0, 1", u64::MAX.into()),
        ("mul.lo.u32 r0, 65536, 65537", 65536),
        ("mul.hi.u32 r0, -1, 2", 1),
        ("mul.hi.s32 r0, -1, 2", u64::MAX.into()),
        ("mul.wide.u32 r0, -1, 2", 0x1_ffff_fffe),
        ("mul.wide.s32 r0, -1, 2", 0xffff_ffff_ffff_fffe),
        ("mad.lo.u32 r0, 3, 4, 5", 17),
        ("mad.wide.s16 r0, -1, 2, 3", 1),
        ("div.s32 r0, -6, 3", 0xffff_ffff_ffff_fffe),
        ("rem.u32 r0, 7, 4", 3),
        ("min.s32 r0, -1, 1", u64::MAX.into()),
        ("max.u32 r0, -1, 1", 0xffff_ffff),
        ("abs.s32 r0, -5", 5),
        ("neg.s32 r0, 5", 0xffff_ffff_ffff_fffb),
        ("not.b32 r0, 0", 0xffff_ffff),
        ("cnot.b32 r0, 0", 1),
        ("and.b32 r0, 12, 10", 8),
        ("or.b64 r0, 12, 3", 15),
        ("xor.b16 r0, 12, 10", 6),
        ("shl.b32 r0, 1, 31", 0x8000_0000),
        ("shl.b32 r0, 1, 32", 0),
        ("shr.u32 r0, -1, 28", 15),
        ("shr.s32 r0, -8, 1", 0xffff_ffff_ffff_fffc),
        ("shr.s16 r0, -8, 100", u64::MAX.into()),
        ("bfe.u32 r0, 0xabcd, 4, 8", 0xbc),
        ("bfe.s32 r0, 0xabcd, 4, 8", 0xffff_ffff_ffff_ffbc),
        ("bfi.b32 r0, 0xf, 0x1234, 4, 8", 0x10f4),
        ("popc.b64 r0, -1", 64),
        ("clz.b32 r0, 1", 31),
        ("brev.b32 r0, 1", 0x8000_0000),
        ("prmt.b32 r0, 0x44332211, 0, 0x0123", 0x1122_3344),
        ("prmt.b32 r0, 0x80, 0x99, 0x5548", 0x99ff),
        ("shf.l.wrap.b32 r0, 0x80000001, 0x1, 33", 3),
        ("shf.r.wrap.b32 r0, 0x2, 0x1, 1", 0x8000_0001),
        ("lop3.b32 r0, 12, 10, 9, 0x80", 8),
        ("lop3.b32 r0, 12, 10, 9, 0x96", 15),
        ("cvt.u32.u16 r0, -1", 0xffff),
        ("cvt.s32.s8 r0, 255", u64::MAX.into()),
        ("cvt.u16.s8 r0, 255", 0xffff),
        ("cvt.u64.u32 r0, -1", 0xffff_ffff),
        ("mov.u32 r1, 5\nmov.u32 r2, 6\nmov.b64 r0, {r1, r2}", 0x6_0000_0005),
        ("mov.b64 rd1, 0x600000005\nmov.b64 {r1, r0}, rd1", 6),
        ("setp.lt.s32 p0, -1, 1\nselp.b32 r0, 7, 8, p0", 7),
        ("setp.lt.u32 p0, -1, 1\nselp.b32 r0, 7, 8, p0", 8),
        ("setp.hi.u32 p0, -1, 1\nselp.b32 r0, 7, 8, p0", 7),
        ("setp.eq.u32 p1, 1, 1\nsetp.ne.and.s64 p0, 1, 2, !p1\nselp.u32 r0, 7, 8, p0", 8),
        ("setp.eq.u32 p1, 1, 2\nnot.pred p0, p1\n@p0 mov.u32 r0, 9", 9),
        ("setp.eq.u32 p1, 1, 2\nmov.u32 r0, 1\n@p1 mov.u32 r0, 9", 1),
        (
            "setp.eq.u32 p1, 1, 2\nmov.u32 r0, 1\n@!p1 bra L0\nmov.u32 r0, 2\nL0: add.u32 r0, r0, 3",
            4,
        ),
        ("mov.u32 r0, 1\nret\nmov.u32 r0, 2", 1),
        ("mov.f32 r0, 0f3F800000", 0x3f80_0000),
        ("cvt.rn.f32.s32 r0, -2", 0xc000_0000),
        ("cvt.rn.f64.u32 r0, 1", 0x3ff0_0000_0000_0000),
        ("cvt.rzi.s32.f32 r0, 0fBFC00000", u64::MAX.into()),
        ("cvt.rzi.u32.f32 r0, 0f7FC00000", 0),
        ("cvt.rzi.s64.f32 r0, 0f7FC00000", 1 << 63),
        ("cvt.rzi.u32.f64 r0, 0d7FF8000000000000", 1 << 31),
        ("cvt.f64.f32 r0, 0f3F800000", 0x3ff0_0000_0000_0000),
        ("cvt.rn.f32.f64 r0, 0d3FF0000000000000", 0x3f80_0000),
        ("add.f32 r0, 0f3F800000, 0f3F800000", 0x4000_0000),
        ("sub.rn.f32 r0, 0f3F800000, 0f3F800000", 0),
        ("mul.f64 r0, 0d4000000000000000, 0d4000000000000000", 0x4010_0000_0000_0000),
        ("div.rn.f32 r0, 0f3F800000, 0f40000000", 0x3f00_0000),
        ("setp.gt.f32 p0, 0f40000000, 0f3F800000\nselp.b32 r0, 7, 8, p0", 7),
        ("setp.lt.f32 p0, 0f7FC00000, 0f3F800000\nselp.b32 r0, 7, 8, p0", 8),
        ("setp.ltu.f32 p0, 0f7FC00000, 0f3F800000\nselp.b32 r0, 7, 8, p0", 7),
        ("setp.geu.f32 p0, 0f3F800000, 0f40000000\nselp.b32 r0, 7, 8, p0", 8),
        ("setp.neu.f32 p0, 0f00000000, 0f80000000\nselp.b32 r0, 7, 8, p0", 8),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

/// The value of `x` after an operation that finds `from` there, and the operation's result.
fn updated(text: &str, from: u128) -> (u128, u128) {
    let mut machine = Machine::default();
    machine.run(&Ptx, &format!("st.u32 [x], {from}\n{text}\nld.u32 r1, [x]"));
    (machine.reg("r1"), machine.reg("r0"))
}

#[test]
fn atomic_operations_return_what_was_there() {
    for (text, from, expected) in [
        ("atom.add.u32 r0, [x], -1", 5, 4),
        ("atom.global.and.b32 r0, [x], 3", 6, 2),
        ("atom.or.b32 r0, [x], 3", 6, 7),
        ("atom.xor.b32 r0, [x], 3", 6, 5),
        ("atom.exch.b32 r0, [x], 3", 6, 3),
        ("atom.cas.b32 r0, [x], 6, 9", 6, 9),
        ("atom.cas.b32 r0, [x], 7, 9", 6, 6),
        ("atom.min.s32 r0, [x], -1", 6, 0xffff_ffff),
        ("atom.min.u32 r0, [x], -1", 6, 6),
        ("atom.max.u32 r0, [x], 9", 6, 9),
        ("atom.inc.u32 r0, [x], 7", 6, 7),
        ("atom.inc.u32 r0, [x], 6", 6, 0),
        ("atom.dec.u32 r0, [x], 7", 6, 5),
        ("atom.dec.u32 r0, [x], 7", 0, 7),
        ("atom.dec.u32 r0, [x], 7", 9, 7),
    ] {
        assert_eq!(updated(text, from), (expected, from), "{text} of {from}");
    }
    assert_eq!(updated("red.add.u32 [x], 2", 5), (7, 0));
}

#[test]
fn a_vector_is_its_elements() {
    let text = "mov.u32 r1, 5\nst.relaxed.gpu.v2.u32 [x+8], {r1, 7}\nld.u64 r0, [x+8]";
    assert_eq!(value(text), 0x7_0000_0005);
    let mut machine = Machine::default();
    // A register that holds the address may be loaded.
    machine.run(&Ptx, "st.u32 [x], 258\nmov.u64 rd1, x\nld.v2.u8 {rd1, r0}, [rd1]");
    assert_eq!((machine.reg("rd1"), machine.reg("r0")), (2, 1));
    let x = tag::C_RLX | tag::PTX_GPU;
    let stores = events("st.relaxed.gpu.v2.u32 [x], {r1, r2}");
    assert_eq!(stores, [(What::Store, 4, x), (What::Store, 4, x)]);
}

#[test]
fn what_is_local_is_a_variable_of_the_thread() {
    let text =
        ".local .align 8 .b8 slot[12]\nst.u32 [slot+8], 7\nmov.u64 rd1, slot\nld.u32 r0, [rd1+8]";
    assert_eq!(value(text), 7);
    assert!(refusal(".local .b32 slot").contains("bytes"));
}

fn events(text: &str) -> Vec<(What, u8, Tags)> {
    let mut machine = Machine::default();
    machine.run(&Ptx, text);
    machine.events.iter().map(|e| (e.what.clone(), e.size, e.tags)).collect()
}

#[test]
fn orders_and_scopes_are_annotations() {
    let load = |size, tags| vec![(What::Load, size, tags)];
    let store = |size, tags| vec![(What::Store, size, tags)];
    let fence = |tags| vec![(What::Fence, 0, tags)];
    let both = |read, write| vec![(What::Load, 4, read), (What::Store, 4, write)];
    let (rlx, acq, rel, x) = (tag::C_RLX, tag::C_ACQ, tag::C_REL, tag::X);
    let (cta, cluster, gpu, sys) = (tag::PTX_CTA, tag::PTX_CLUSTER, tag::PTX_GPU, tag::PTX_SYS);
    for (text, expected) in [
        ("ld.u8 r0, [x]", load(1, Tags::NONE)),
        ("ld.weak.global.s16 r0, [x]", load(2, Tags::NONE)),
        ("ld.global.ca.b32 r0, [x]", load(4, Tags::NONE)),
        ("ld.volatile.u64 r0, [x]", load(8, rlx | sys)),
        ("ld.relaxed.cta.shared::cta.u32 r0, [x]", load(4, rlx | cta)),
        ("ld.acquire.cluster.u32 r0, [x]", load(4, acq | cluster)),
        ("ld.mmio.relaxed.sys.global.u32 r0, [x]", load(4, rlx | sys)),
        ("st.u32 [x], 1", store(4, Tags::NONE)),
        ("st.relaxed.gpu.f32 [x], r1", store(4, rlx | gpu)),
        ("st.release.sys.global.u8 [x], 1", store(1, rel | sys)),
        ("fence.sc.cta", fence(tag::C_SC | cta)),
        ("fence.acq_rel.gpu", fence(tag::C_ACQ_REL | gpu)),
        ("fence.acquire.sys", fence(tag::C_ACQ | sys)),
        ("fence.release.cluster", fence(tag::C_REL | cluster)),
        ("fence.gpu", fence(tag::C_ACQ_REL | gpu)),
        ("membar.gl", fence(tag::C_SC | gpu)),
        ("membar.sys", fence(tag::C_SC | sys)),
        // By default an operation is relaxed, at the scope of the GPU.
        ("atom.add.u32 r0, [x], 1", both(rlx | gpu | x, rlx | gpu | x)),
        ("atom.acq_rel.sys.add.u32 r0, [x], 1", both(acq | sys | x, rel | sys | x)),
        ("atom.acquire.cta.exch.b32 r0, [x], 1", both(acq | cta | x, rlx | cta | x)),
        ("atom.cas.b32 r0, [x], 1, 1", load(4, rlx | gpu | x)),
        ("red.release.gpu.add.u32 [x], 1", both(rlx | gpu | x | tag::NoRet, rel | gpu | x)),
    ] {
        assert_eq!(events(text), expected, "{text}");
    }
}

#[test]
fn a_barrier_tells_and_waits() {
    let code = Machine::default().code(&Ptx, "barrier.cta.sync.aligned 3").expect("reads");
    let tags = |op: &Op| if let Op::Touch { tags, .. } = op { Some(*tags) } else { None };
    let all: Vec<Tags> = code.insts[0].ops.iter().filter_map(tags).collect();
    assert_eq!(all, [tag::PTX_ARRIVE, tag::PTX_WAIT]);
}

#[test]
fn what_is_not_understood_is_named() {
    for (text, word) in [
        ("ld.v2.u32 r0, [x]", "2 values"),
        ("ld.v3.u32 {r0, r1, r2}, [x]", ".v3"),
        ("ld.u32 {r0, r1}, [x]", "one value"),
        ("ld.acquire.gpu.v2.u32 {r0, r1}, [x]", "acquired"),
        ("atom.v2.exch.b32 {r0, r1}, [x], {r0, r1}", ".v2"),
        ("ld.global.nc.u32 r0, [x]", ".nc"),
        ("ld.param.u32 r0, [x]", ".param"),
        ("ld.relaxed.u32 r0, [x]", "scope"),
        ("ld.cta.u32 r0, [x]", "scope"),
        ("ld.release.gpu.u32 r0, [x]", ".release"),
        ("ld.mmio.u32 r0, [x]", ".mmio"),
        ("ld.relaxed.gpu r0, [x]", "type"),
        ("st.acquire.gpu.u32 [x], 1", ".acquire"),
        ("ld.acquire.relaxed.gpu.u32 r0, [x]", "again"),
        ("atom.add.f32 r0, [x], r1", "floating"),
        ("atom.add.noftz.f16x2 r0, [x], r1", ".noftz"),
        ("atom.b32 r0, [x], 1", "operation"),
        ("red.exch.b32 [x], 1", "without a result"),
        ("red.acquire.gpu.add.u32 [x], 1", ".acquire"),
        ("fence.proxy.async", "fence.proxy"),
        ("fence.mbarrier_init.release.cluster", "mbarrier_init"),
        ("fence.sc", "scope"),
        ("bar.sync 0, 64", "number of threads"),
        ("bar.sync r1", "computed"),
        ("bar.sync 16", "from 0 to 15"),
        ("bar.red.popc.u32 r0, 0, p0", "bar.red"),
        ("bar.warp.sync 1", "bar.warp"),
        ("barrier.cluster.arrive", "cluster"),
        ("mbarrier.init.shared.b64 [x], 1", "mbarrier"),
        ("cp.async.bulk.commit_group", "cp"),
        ("wgmma.fence.sync.aligned", "wgmma"),
        ("mov.u32 r0, %tid.x", "%tid.x"),
        ("mov.u32 r0, %laneid", "%laneid"),
        ("add.rz.f32 r0, r1, r2", "add.rz.f32"),
        ("fma.rn.f32 r0, r1, r2, r3", "fma.rn.f32"),
        ("div.approx.f32 r0, r1, r2", "div.approx"),
        ("add.cc.u32 r0, r1, r2", "add.cc"),
        ("add.sat.s32 r0, r1, r2", "add.sat"),
        ("cvt.rz.f32.s32 r0, r1", "cvt.rz"),
        ("cvt.rn.f16.f32 r0, r1", "cvt.rn.f16"),
        ("setp.ne.f32 p0, r1, r2", ".ne"),
        ("bra L9", "L9"),
        ("call f, (r1)", "call"),
        ("vote.sync.all.pred p0, p1, 1", "vote"),
        ("ld.u32 r0, x", "brackets"),
        ("shfl.sync.bfly.b32 r0, r1, 1, 2, 3", "shfl"),
    ] {
        let why = refusal(text);
        assert!(why.contains(word), "{text}: {why}");
    }
}
