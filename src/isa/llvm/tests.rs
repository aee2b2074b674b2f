//! Values and events of single instructions, and what is refused.

use super::Llvm;
use crate::seq::{Machine, What};
use litmake_ops::{Op, Tags, tag};

const WIDE: Llvm = Llvm { pointer: 64 };

fn refusal(text: &str) -> String {
    Machine::default().code(&WIDE, text).err().unwrap_or_else(|| panic!("{text} is read"))
}

/// The value of `%r` after some lines.
fn value(text: &str) -> u128 {
    let mut machine = Machine::default();
    machine.run(&WIDE, text);
    machine.reg("%r")
}

#[test]
fn arithmetic_is_within_the_width() {
    for (text, expected) in [
        ("%r = add nsw i32 -1, 2", 1),
        ("%r = sub i8 0, 1", 0xff),
        ("%r = mul nuw i16 256, 257", 0x100),
        ("%r = xor i1 true, true", 0),
        ("%r = ashr exact i8 -2, 1", 0xff),
        ("%r = lshr i8 -2, 1", 0x7f),
        ("%r = sdiv i8 -6, 3", 0xfe),
        ("%r = or disjoint i64 6, 1", 7),
        ("%r = sext i8 -1 to i32", 0xffff_ffff),
        ("%r = zext nneg i8 -1 to i32", 0xff),
        ("%r = trunc nuw i32 257 to i8", 1),
        ("%r = icmp ugt i32 -1, 1", 1),
        ("%r = icmp samesign sgt i32 -1, 1", 0),
        ("%r = select i1 false, i32 1, i32 2", 2),
        ("%r = freeze i32 7", 7),
        ("%r = call i32 @llvm.umax.i32(i32 -1, i32 1)", 0xffff_ffff),
        ("%r = tail call noundef i16 @llvm.bswap.i16(i16 noundef 258) #3", 0x201),
        ("%a = insertvalue { i32, i1 } poison, i32 5, 0\n%r = extractvalue { i32, i1 } %a, 0", 5),
        ("%r = getelementptr inbounds { i8, [4 x i32] }, ptr null, i64 1, i32 1, i64 -1", 20),
        ("%r = ptrtoint i8* getelementptr (i8, i8* null, i64 3) to i64", 3),
        // Numbers in floating point, by their bits.
        ("%r = fadd contract float 1.500000e+00, 2.500000e-01", 0x3fe0_0000),
        ("%r = fdiv double 1.000000e+00, 4.000000e+00", 0x3fd0_0000_0000_0000),
        ("%r = fsub float 0x3FB99999A0000000, 0.000000e+00", 0x3dcc_cccd),
        ("%r = fneg float 1.000000e+00", 0xbf80_0000),
        ("%r = call double @llvm.fabs.f64(double -2.000000e+00)", 0x4000_0000_0000_0000),
        (
            "%r = call float @llvm.fmuladd.f32(float 2.000000e+00, float 3.000000e+00, float 1.000000e+00)",
            0x40e0_0000,
        ),
        ("%r = sitofp i32 -1 to float", 0xbf80_0000),
        ("%r = uitofp i8 -1 to double", 0x406f_e000_0000_0000),
        ("%r = fptosi double -2.500000e+00 to i8", 0xfe),
        ("%r = fptrunc double 1.500000e+00 to float", 0x3fc0_0000),
        ("%r = fpext float 1.500000e+00 to double", 0x3ff8_0000_0000_0000),
        ("%r = fcmp ogt float 2.000000e+00, 1.000000e+00", 1),
        ("%r = fcmp one float 1.000000e+00, 1.000000e+00", 0),
        ("%r = fcmp ueq float 1.000000e+00, 1.000000e+00", 1),
        // 16 bits, in both formats; the bits by IEEE 754 and, for `bfloat`, from those of `float`.
        ("%r = fadd half 0xH3C00, 0xH3800", 0x3e00),
        ("%r = fadd half 1.000000e+00, 5.000000e-01", 0x3e00),
        ("%r = fadd bfloat 0xR3F80, 5.000000e-01", 0x3fc0),
        ("%r = fdiv bfloat 0xR3F80, 0xR4040", 0x3eab),
        ("%r = fmul bfloat 0xR3F81, 0xR3F81", 0x3f82),
        ("%r = fpext half 0xH3555 to float", 0x3eaa_a000),
        ("%r = fpext bfloat 0xR3F80 to double", 0x3ff0_0000_0000_0000),
        ("%r = fptrunc float 0x3FD5555560000000 to bfloat", 0x3eab),
        ("%r = sitofp i8 -1 to half", 0xbc00),
        ("%r = uitofp i16 257 to bfloat", 0x4380),
        ("%r = fptosi bfloat 0xRC020 to i8", 0xfe),
        ("%r = fcmp olt half 0xHBC00, 0xH3C00", 1),
        ("%r = fcmp ogt bfloat 0xRBF80, 0xR3F80", 0),
        ("%r = call float @llvm.maxnum.f32(float 0x7FF8000000000000, float 1.0)", 0x3f80_0000),
        ("%r = call half @llvm.minnum.f16(half 0xH3C00, half 0xHBC00)", 0xbc00),
        // What is no number stays as it is; -0 is less than 0 for `minimum`.
        ("%r = fadd double 1.000000e+00, 0x7FF00000FFFFFFFF", 0x7ff0_0000_ffff_ffff),
        ("%r = fdiv float 0x7FF8000000000000, 0.000000e+00", 0x7fc0_0000),
        ("%r = fadd float 0.000000e+00, 0.000000e+00", 0),
        ("%r = call float @llvm.minimum.f32(float 0.0, float -0.0)", 0x8000_0000),
        ("%r = call float @llvm.maximum.f32(float 1.0, float 0x7FF8000000000000)", 0x7fc0_0000),
        (
            r#"%r = call float @llvm.experimental.constrained.fsub.f32(float 3.0, float 1.0, metadata !"round.dynamic", metadata !"fpexcept.strict")"#,
            0x4000_0000,
        ),
        ("%r = call i16 @llvm.vector.reduce.add.v2i16(<2 x i16> <i16 -1, i16 3>)", 2),
        ("%r = call i8 @llvm.vector.reduce.smax.v3i8(<3 x i8> <i8 -1, i8 3, i8 2>)", 3),
        // Of a NaN nothing is true but that it is none.
        ("%r = fcmp olt double 0x7FF8000000000000, 1.000000e+00", 0),
        ("%r = fcmp ult double 0x7FF8000000000000, 1.000000e+00", 1),
        ("%r = fcmp ord double 0x7FF8000000000000, 1.000000e+00", 0),
        ("%r = fcmp une double 0x7FF8000000000000, 0x7FF8000000000000", 1),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

/// The same where pointers have 32 bits.
#[test]
fn pointers_have_the_width_that_is_told() {
    let value = |text: &str| {
        let mut machine = Machine::default();
        machine.run(&Llvm { pointer: 32 }, text);
        machine.reg("%r")
    };
    for (text, expected) in [
        ("%r = getelementptr inbounds { i8, ptr }, ptr null, i32 1, i32 1", 12),
        ("%r = getelementptr i8, ptr null, i64 -1", 0xffff_ffff),
        ("%r = getelementptr i8, ptr null, i16 -1", 0xffff_ffff),
        ("%r = ptrtoint ptr getelementptr (ptr, ptr null, i32 3) to i32", 12),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn phis_of_a_block_take_their_values_at_once() {
    let text = "
        L0: br label %L1
        L1: %a = phi i32 [ 1, %L0 ], [ %b, %L1 ]
        %b = phi i32 [ 2, %L0 ], [ %a, %L1 ]
        %n = phi i32 [ 0, %L0 ], [ %m, %L1 ]
        %m = add i32 %n, 1
        %c = icmp ult i32 %m, 4
        br i1 %c, label %L1, label %L2
        L2: %r = add i32 %a, 0";
    assert_eq!(value(text), 2);
}

#[test]
fn a_switch_takes_the_case_that_is_equal() {
    let text = |n: i32| {
        format!(
            "L0: switch i32 {n}, label %L3 [ i32 0, label %L1 i32 -1, label %L2 ]
             L1: br label %L4
             L2: br label %L4
             L3: br label %L4
             L4: %r = phi i32 [ 10, %L1 ], [ 20, %L2 ], [ 30, %L3 ]"
        )
    };
    assert_eq!([0, -1, 5].map(|n| value(&text(n))), [10, 20, 30]);
}

#[test]
fn accesses_have_their_orders() {
    let tags = |text: &str| {
        let code = Machine::default().code(&WIDE, text).unwrap_or_else(|e| panic!("{e}"));
        let ops = code.insts[0].ops.clone();
        ops.iter()
            .find_map(|op| match op {
                Op::Load { tags, .. }
                | Op::Store { tags, .. }
                | Op::Rmw { tags, .. }
                | Op::Fence { tags } => Some(*tags),
                _ => None,
            })
            .unwrap_or_else(|| panic!("{text} has no event"))
    };
    assert_eq!(tags("%r = load i32, ptr @x, align 4"), Tags::NONE);
    assert_eq!(tags("%r = load i32, i32* @x, align 4, !tbaa !5"), Tags::NONE);
    assert_eq!(tags("%r = load volatile i32, ptr @x"), tag::C_VOLATILE);
    assert_eq!(tags("%r = load atomic i32, ptr @x unordered"), tag::C_A | tag::UNORDERED);
    assert_eq!(tags("store atomic i32 1, ptr @x release, align 4"), tag::C_A | tag::C_REL);
    let both = tag::C_A | tag::C_SC | tag::C_VOLATILE;
    assert_eq!(tags("%r = atomicrmw volatile add ptr @x, i32 1 seq_cst, align 4"), both);
    assert_eq!(tags("fence syncscope(\"singlethread\") acquire"), tag::C_SIGNAL);
    assert_eq!(tags("fence acq_rel"), tag::C_ACQ_REL);
    assert_eq!(tags("tail call void asm sideeffect \"\", \"~{memory}\"() #1"), tag::C_SIGNAL);
}

#[test]
fn copies_move_words_and_what_is_left() {
    let mut machine = Machine::default();
    machine.run(
        &WIDE,
        "store i64 1311768467463790320, ptr @a
         call void @llvm.memcpy.p0.p0.i64(ptr align 4 @b, ptr align 4 @a, i64 7, i1 false)
         %r = load i64, ptr @b",
    );
    assert_eq!(machine.reg("%r"), 0x0034_5678_9abc_def0);
    let stores = machine.events.iter().filter(|e| e.what == What::Store).map(|e| e.size);
    assert_eq!(stores.collect::<Vec<_>>(), [8, 4, 2, 1]);
}

/// Elements are accessed as a whole, and atomically.
#[test]
fn elements_are_copied_atomically() {
    let mut machine = Machine::default();
    machine.run(
        &WIDE,
        "call void @llvm.memset.element.unordered.atomic.p0.i64(ptr align 16 @a, i8 7, i64 32, i32 16)
         call void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr @b, ptr @a, i64 4, i32 2)
         store atomic elementwise <2 x i64> zeroinitializer, ptr @c unordered, align 16
         %r = load i64, ptr @b",
    );
    assert_eq!(machine.reg("%r"), 0x0707_0707);
    let atomic = machine.events.iter().filter(|e| e.tags == tag::C_A | tag::UNORDERED);
    assert_eq!(atomic.map(|e| e.size).collect::<Vec<_>>(), [16, 16, 2, 2, 2, 2, 8, 8]);
}

/// Memory holds the lanes one behind the other, the first one lowest.
#[test]
fn vectors_are_computed_lane_by_lane() {
    let vector = "%v = add <2 x i32> <i32 1, i32 -1>, splat (i32 2)\n";
    for (text, expected) in [
        ("%r = bitcast <2 x i32> %v to i64", 0x1_0000_0003),
        ("%r = extractelement <2 x i32> %v, i64 1", 1),
        (
            "%c = icmp ugt <2 x i32> %v, <i32 2, i32 2>\n%s = select <2 x i1> %c, <2 x i32> %v, <2 x i32> zeroinitializer\n%r = bitcast <2 x i32> %s to i64",
            3,
        ),
        (
            "%s = insertelement <2 x i32> %v, i32 9, i32 0\n%t = shufflevector <2 x i32> %s, <2 x i32> poison, <2 x i32> <i32 1, i32 0>\n%r = bitcast <2 x i32> %t to i64",
            0x9_0000_0001,
        ),
        ("store <2 x i32> %v, ptr @x\n%r = load atomic i64, ptr @x monotonic", 0x1_0000_0003),
        (
            "store atomic <2 x i32> %v, ptr @x release, align 8\n%w = load <2 x i32>, ptr @x\n%r = extractelement <2 x i32> %w, i32 0",
            3,
        ),
        (
            "store float 1.5, ptr @x\n%a = atomicrmw fadd ptr @x, float 2.0 seq_cst\n%r = load i32, ptr @x",
            0x4060_0000,
        ),
        ("%w = zext <2 x i32> %v to <2 x i64>\n%r = extractelement <2 x i64> %w, i32 1", 1),
        (
            "%m = call <2 x i32> @llvm.umax.v2i32(<2 x i32> %v, <2 x i32> <i32 2, i32 2>)\n%r = bitcast <2 x i32> %m to i64",
            0x2_0000_0003,
        ),
    ] {
        assert_eq!(value(&(vector.to_string() + text)), expected, "{text}");
    }
}

/// The value that a read-modify-write leaves, by the language's reference.
#[test]
fn operations_of_read_modify_writes() {
    for (old, operation, new) in [
        ("i32 5", "uinc_wrap ptr @x, i32 6", 6),
        ("i32 5", "uinc_wrap ptr @x, i32 5", 0),
        ("i32 -1", "uinc_wrap ptr @x, i32 -1", 0),
        ("i32 2", "udec_wrap ptr @x, i32 3", 1),
        ("i32 0", "udec_wrap ptr @x, i32 3", 3),
        ("i32 5", "udec_wrap ptr @x, i32 3", 3),
        ("i32 5", "usub_cond ptr @x, i32 3", 2),
        ("i32 5", "usub_cond ptr @x, i32 7", 5),
        ("i32 5", "usub_sat ptr @x, i32 3", 2),
        ("i32 5", "usub_sat ptr @x, i32 7", 0),
        ("i32 6", "nand ptr @x, i32 3", 0xffff_fffd),
        ("float 1.5", "fmax ptr @x, float 2.0", 0x4000_0000),
        ("float 1.5", "fmin ptr @x, float 2.0", 0x3fc0_0000),
        ("float 0x7FF8000000000000", "fmin ptr @x, float 2.0", 0x4000_0000),
        ("bfloat 1.5", "fadd ptr @x, bfloat 2.0", 0x4060),
        ("half 1.5", "xchg ptr @x, half 2.0", 0x4000),
    ] {
        let bits = if operation.contains("half") || operation.contains("bfloat") { 16 } else { 32 };
        let mut machine = Machine::default();
        machine.run(
            &WIDE,
            &format!(
                "store {old}, ptr @x\n%o = atomicrmw {operation} seq_cst\n%r = load i{bits}, ptr @x"
            ),
        );
        assert_eq!(machine.reg("%r"), new, "{old}: {operation}");
    }
}

/// Both forms of the library's operations leave what the instruction would.
#[test]
fn the_librarys_operations_are_accesses() {
    let mut machine = Machine::default();
    machine.run(
        &WIDE,
        "call void @__atomic_store_16(ptr @x, i128 5, i32 5)
         %old = call i128 @__atomic_fetch_add_16(ptr @x, i128 2, i32 0)
         store i128 9, ptr @v
         call void @__atomic_exchange(i64 16, ptr @x, ptr @v, ptr @w, i32 3)
         call void @__atomic_load(i64 noundef 16, ptr noundef @x, ptr noundef @u, i32 noundef 2)
         %r = load i128, ptr @u
         %w = load i128, ptr @w",
    );
    let values = ["%old", "%r", "%w"].map(|r| machine.reg(r));
    assert_eq!(values, [5, 9, 7]);
    let ordered = |t: Tags| machine.events.iter().any(|e| e.tags.meets(t) && e.size == 16);
    assert!([tag::C_SC, tag::C_RLX, tag::C_REL, tag::C_ACQ].into_iter().all(ordered));
    for text in [
        "call void @__atomic_load(i64 12, ptr @x, ptr @u, i32 2)",
        "call void @__atomic_foo_4(ptr @x)",
    ] {
        assert!(refusal(text).contains("the library's"), "{text}");
    }
}

#[test]
fn what_is_not_understood_is_named() {
    for (text, part) in [
        ("%r = frem float 1.0, 2.0", "`frem`"),
        ("%r = load <vscale x 2 x i32>, ptr @x", "vectors"),
        ("%r = load atomic { i32, i32 }, ptr @x monotonic", "such a type"),
        ("%r = load i24, ptr @x", "24 bits"),
        ("call void @foo()", "`foo`"),
        ("call void @llvm.trap()", "llvm.trap"),
        ("call void %f()", "through a pointer"),
        ("call void asm sideeffect \"dmb ish\", \"\"()", "dmb ish"),
        ("%r = alloca i32", "stack slot"),
        ("%r = load atomic i32, ptr @x syncscope(\"agent\") acquire", "agent"),
        ("%r = atomicrmw fmaximum ptr @x, float 1.0 seq_cst", "fmaximum"),
        ("%r = sitofp i32 1 to bfloat", "rounded once"),
        // The operand is a number or a vector.
        ("%r = atomicrmw fadd ptr @x, [2 x half] zeroinitializer seq_cst", "aggregates"),
        ("%r = load fp128, ptr @x", "fp128"),
    ] {
        let message = refusal(text);
        assert!(message.contains("unsupported") && message.contains(part), "{text}: {message}");
    }
    for (text, part) in [
        ("br label %L9", "no label `L9`"),
        ("%r = load i32 ptr @x", "expected `,`"),
        ("%r = add i32 1, 2, 3", "the end of the instruction"),
        ("%r = icmp foo i32 1, 2", "comparison"),
        ("%r = load %struct.s, ptr @x", "not defined"),
        ("fence relaxed", "expected an order"),
    ] {
        let message = refusal(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn intrinsics_of_targets_are_exclusives_and_barriers() {
    let ops = |text: &str| {
        let code = Machine::default().code(&WIDE, text).unwrap_or_else(|e| panic!("{text}: {e}"));
        code.insts.iter().flat_map(|i| i.ops.clone()).collect::<Vec<Op>>()
    };
    let ordered = tag::C_SC | tag::C_A | tag::EX;
    for text in [
        "%r = call i64 @llvm.aarch64.ldaxr.p0(ptr elementtype(i16) null)",
        "%r = call i64 @llvm.aarch64.ldaxr.p0i16(i16* null)",
    ] {
        let loads = |op: &Op| matches!(op, Op::Load { size: 2, tags, .. } if *tags == ordered);
        assert!(ops(text).iter().any(loads), "{text}");
    }
    let stores = |op: &Op, good: u8| matches!(op, Op::StoreEx { size: 4, ok, tags, .. } if *ok == good && tags.meets(tag::C_RLX));
    let text = "%r = call i32 @llvm.arm.strex.p0(i32 1, ptr elementtype(i32) null)";
    assert!(ops(text).iter().any(|op| stores(op, 0)), "{text}");
    let text = "%r = call i32 @llvm.ppc.stwcx(ptr null, i32 1)";
    assert!(ops(text).iter().any(|op| stores(op, 1)), "{text}");
    for (text, order) in [
        ("call void @llvm.arm.dmb(i32 11)", tag::C_SC),
        ("call void @llvm.ppc.lwsync()", tag::C_ACQ_REL),
        ("call void @llvm.ppc.cfence.i32(i32 5)", tag::C_ACQ),
    ] {
        let fences = |op: &Op| matches!(op, Op::Fence { tags } if *tags == order);
        assert!(ops(text).iter().any(fences), "{text}");
    }
    let text = "%r = call i32 @llvm.arm.strexd(i32 1, i32 2, ptr null)";
    let pair = |op: &Op| matches!(op, Op::StoreEx { size: 8, ok: 0, .. });
    assert!(ops(text).iter().any(pair), "{text}");
    let text = "%r = call { i64, i64 } @llvm.aarch64.ldaxp(ptr null)";
    let pair = |op: &Op| matches!(op, Op::Load { size: 16, tags, .. } if *tags == ordered);
    assert!(ops(text).iter().any(pair), "{text}");
    // A barrier for stores alone is none that C asks for.
    for name in ["llvm.arm.dmb", "llvm.x86.ldtilecfg"] {
        let text = format!("call void @{name}(i32 10)");
        assert!(refusal(&text).contains(name), "{text}");
    }
}
