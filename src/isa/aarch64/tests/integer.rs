//! Values, flags and dependencies of integer and vector instructions.

use super::*;

/// Runs instructions on X1, X2, X3 and gives a register.
fn calc(text: &str, regs: [u64; 3], out: &str) -> u64 {
    let init = [
        ("X1", regs[0].into()),
        ("X2", regs[1].into()),
        ("X3", regs[2].into()),
        ("X0", 0xdead_beef_dead_beef),
    ];
    Machine::new(&init).run(BASE, text).get(out) as u64
}

fn x(text: &str, a: u64, b: u64) -> u64 {
    calc(text, [a, b, 0x0123_4567_89ab_cdef], "X0")
}

fn words() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0u64..4,
        any::<u64>().prop_map(|n| n | 1 << 63),
        Just(u64::MAX),
        Just(1 << 63),
        Just(i64::MAX as u64),
        Just(u64::from(u32::MAX)),
        Just(1 << 31),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arithmetic(a in words(), b in words()) {
        let (wa, wb) = (a as u32, b as u32);
        prop_assert_eq!(x("ADD X0,X1,X2", a, b), a.wrapping_add(b));
        prop_assert_eq!(x("SUB W0,W1,W2", a, b), u64::from(wa.wrapping_sub(wb)));
        prop_assert_eq!(x("SUB X0,X1,#4095,LSL #12", a, b), a.wrapping_sub(4095 << 12));
        prop_assert_eq!(x("ADD X0,X1,#-3", a, b), a.wrapping_sub(3));
        prop_assert_eq!(x("ADD X0,X1,W2,SXTB #3", a, b), a.wrapping_add((b as i8 as i64 as u64) << 3));
        prop_assert_eq!(x("ADD X0,X1,W2,UXTH", a, b), a.wrapping_add(b & 0xffff));
        prop_assert_eq!(x("SUB X0,X1,W2,SXTW #2", a, b), a.wrapping_sub((b as i32 as i64 as u64) << 2));
        prop_assert_eq!(x("NEG X0,X1,ASR #4", a, b), 0u64.wrapping_sub((a as i64 >> 4) as u64));
        prop_assert_eq!(x("MUL X0,X1,X2", a, b), a.wrapping_mul(b));
        prop_assert_eq!(x("MADD W0,W1,W2,W3", a, b), u64::from(wa.wrapping_mul(wb).wrapping_add(0x89ab_cdef)));
        prop_assert_eq!(x("MSUB X0,X1,X2,X3", a, b), 0x0123_4567_89ab_cdef_u64.wrapping_sub(a.wrapping_mul(b)));
        prop_assert_eq!(x("MNEG W0,W1,W2", a, b), u64::from(wa.wrapping_mul(wb).wrapping_neg()));
        prop_assert_eq!(x("UMULH X0,X1,X2", a, b), ((u128::from(a) * u128::from(b)) >> 64) as u64);
        prop_assert_eq!(
            x("SMULH X0,X1,X2", a, b),
            ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
        );
        prop_assert_eq!(x("SMULL X0,W1,W2", a, b), (i64::from(wa as i32) * i64::from(wb as i32)) as u64);
        prop_assert_eq!(
            x("UMSUBL X0,W1,W2,X3", a, b),
            0x0123_4567_89ab_cdef_u64.wrapping_sub(u64::from(wa) * u64::from(wb))
        );
        prop_assert_eq!(x("UDIV X0,X1,X2", a, b), a.checked_div(b).unwrap_or(0));
        let quotient = if b == 0 { 0 } else { (a as i64).wrapping_div(b as i64) };
        prop_assert_eq!(x("SDIV X0,X1,X2", a, b), quotient as u64);
        prop_assert_eq!(x("UDIV W0,W1,WZR", a, b), 0);
    }

    #[test]
    fn logic_and_shifts(a in words(), b in words(), k in 0u32..64) {
        let (wa, wb) = (a as u32, b as u32);
        prop_assert_eq!(x("AND X0,X1,X2,LSR #3", a, b), a & (b >> 3));
        prop_assert_eq!(x("ORR W0,W1,W2", a, b), u64::from(wa | wb));
        prop_assert_eq!(x("EOR W0,W1,W2,ROR #5", a, b), u64::from(wa ^ wb.rotate_right(5)));
        prop_assert_eq!(x("BIC X0,X1,X2", a, b), a & !b);
        prop_assert_eq!(x("ORN W0,WZR,W2", a, b), u64::from(!wb));
        prop_assert_eq!(x("EON X0,X1,X2", a, b), a ^ !b);
        prop_assert_eq!(x("MVN W0,W1", a, b), u64::from(!wa));
        prop_assert_eq!(x("LSL X0,X1,X2", a, b), a << (b % 64));
        prop_assert_eq!(x("LSR W0,W1,W2", a, b), u64::from(wa >> (wb % 32)));
        prop_assert_eq!(x("ASR X0,X1,X2", a, b), (a as i64 >> (b % 64)) as u64);
        prop_assert_eq!(x(&format!("ROR X0,X1,#{k}"), a, b), a.rotate_right(k));
        prop_assert_eq!(x(&format!("LSL W0,W1,{}", k % 32), a, b), u64::from(wa << (k % 32)));
        let wide = u128::from(a) << 64 | u128::from(b);
        prop_assert_eq!(x(&format!("EXTR X0,X1,X2,#{k}"), a, b), (wide >> k) as u64);
    }

    #[test]
    fn fields(a in words(), at in 0u32..63, len in 1u32..64) {
        let len = len.min(64 - at);
        let mask = if len == 64 { u64::MAX } else { (1 << len) - 1 };
        let old = 0xdead_beef_dead_beef_u64;
        let field = a >> at & mask;
        let extend = |n: u64| ((n << (64 - len)) as i64 >> (64 - len)) as u64;
        let run = |op: &str| x(&format!("{op} X0,X1,#{at},#{len}"), a, 0);
        prop_assert_eq!(run("UBFX"), field);
        prop_assert_eq!(run("SBFX"), extend(field));
        prop_assert_eq!(run("BFXIL"), old & !mask | field);
        prop_assert_eq!(run("UBFIZ"), (a & mask) << at);
        prop_assert_eq!(run("SBFIZ"), extend(a & mask) << at);
        prop_assert_eq!(run("BFI"), old & !(mask << at) | (a & mask) << at);
        prop_assert_eq!(x(&format!("BFC X0,#{at},#{len}"), a, 0), old & !(mask << at));
        prop_assert_eq!(x(&format!("UBFM X0,X1,#{at},#{}", at + len - 1), a, 0), field);
        if at > 0 {
            let insert = format!("UBFM X0,X1,#{},#{}", 64 - at, len - 1);
            prop_assert_eq!(x(&insert, a, 0), (a & mask) << at);
        }
    }

    #[test]
    fn unaries(a in words()) {
        let wa = a as u32;
        prop_assert_eq!(x("CLZ W0,W1", a, 0), u64::from(wa.leading_zeros()));
        let sign = ((a as i64) >> 63) as u64;
        prop_assert_eq!(x("CLS X0,X1", a, 0), u64::from((a ^ sign).leading_zeros()) - 1);
        prop_assert_eq!(x("CTZ X0,X1", a, 0), u64::from(a.trailing_zeros()));
        prop_assert_eq!(x("CNT W0,W1", a, 0), u64::from(wa.count_ones()));
        prop_assert_eq!(x("RBIT W0,W1", a, 0), u64::from(wa.reverse_bits()));
        prop_assert_eq!(x("REV W0,W1", a, 0), u64::from(wa.swap_bytes()));
        let halves = |n: u64| (n & 0x00ff_00ff_00ff_00ff) << 8 | n >> 8 & 0x00ff_00ff_00ff_00ff;
        prop_assert_eq!(x("REV16 X0,X1", a, 0), halves(a));
        prop_assert_eq!(x("REV32 X0,X1", a, 0), a.swap_bytes().rotate_right(32));
        prop_assert_eq!(x("ABS X0,X1", a, 0), (a as i64).unsigned_abs());
        prop_assert_eq!(x("SXTB W0,W1", a, 0), u64::from(a as i8 as i32 as u32));
        prop_assert_eq!(x("SXTW X0,W1", a, 0), a as i32 as i64 as u64);
        prop_assert_eq!(x("UXTH W0,W1", a, 0), a & 0xffff);
        prop_assert_eq!(x("UXTW X0,W1", a, 0), u64::from(wa));
        prop_assert_eq!(x("SBFX W0,W1,#0,#32", a, 0), u64::from(wa));
        prop_assert_eq!(x("MOVK X0,#0x1234,LSL #16", a, 0), 0xdead_beef_1234_beef);
        prop_assert_eq!(x("MOVN W0,#1", a, 0), 0xffff_fffe);
        prop_assert_eq!(x("MOV W0,#-1", a, 0), 0xffff_ffff);
        prop_assert_eq!(x("MOV X0,#-1", a, 0), u64::MAX);
        prop_assert_eq!(x("MOV W0,W1", a, 0), u64::from(wa));
    }

    /// Each flag alone, and each condition against its meaning in Rust.
    #[test]
    fn flags(a in words(), b in words()) {
        let (wa, wb) = (a as u32, b as u32);
        let cases: Vec<(&str, bool)> = vec![
            ("CMP X1,X2|EQ", a == b),
            ("CMP X1,X2|NE", a != b),
            ("CMP X1,X2|HS", a >= b),
            ("CMP X1,X2|LO", a < b),
            ("CMP X1,X2|HI", a > b),
            ("CMP X1,X2|LS", a <= b),
            ("CMP X1,X2|GE", a as i64 >= b as i64),
            ("CMP X1,X2|LT", (a as i64) < b as i64),
            ("CMP X1,X2|GT", a as i64 > b as i64),
            ("CMP X1,X2|LE", a as i64 <= b as i64),
            ("CMP W1,W2|GT", wa as i32 > wb as i32),
            ("CMP W1,W2|LO", wa < wb),
            ("CMP X1,X2|VS", (a as i64).checked_sub(b as i64).is_none()),
            ("CMP W1,W2|MI", (wa.wrapping_sub(wb) as i32) < 0),
            ("CMN X1,X2|CS", a.checked_add(b).is_none()),
            ("CMN X1,X2|VS", (a as i64).checked_add(b as i64).is_none()),
            ("CMN W1,W2|VC", (wa as i32).checked_add(wb as i32).is_some()),
            ("CMN W1,W2|CC", wa.checked_add(wb).is_some()),
            ("CMN W1,W2|PL", wa.wrapping_add(wb) as i32 >= 0),
            ("CMN W1,W2|EQ", wa.wrapping_add(wb) == 0),
            ("TST X1,X2|NE", a & b != 0),
            ("TST W1,W2|MI", (wa & wb) as i32 <= -1),
            ("CMP X1,X2; TST X1,X2|CS", false),
            ("CMP X1,X2; ANDS XZR,X1,X2|VS", false),
            ("NEGS X0,X1|CS", a == 0),
        ];
        for (case, holds) in cases {
            let (set, cond) = case.split_once('|').unwrap_or((case, ""));
            prop_assert_eq!(x(&format!("{set}; CSET W0,{cond}"), a, b), u64::from(holds), "{}", case);
        }
    }

    #[test]
    fn carries(a in words(), b in words(), low in words()) {
        // 128-bit arithmetic of two registers.
        let big = |h: u64, l: u64| u128::from(h) << 64 | u128::from(l);
        let regs = [a, b, low];
        let sum = big(a, low).wrapping_add(big(b, low));
        prop_assert_eq!(calc("ADDS X4,X3,X3; ADC X0,X1,X2", regs, "X0"), (sum >> 64) as u64);
        let diff = big(a, low).wrapping_sub(big(b, !low));
        prop_assert_eq!(
            calc("MVN X5,X3; SUBS X4,X3,X5; SBC X0,X1,X2", regs, "X0"),
            (diff >> 64) as u64
        );
        let (_, over) = (big(a, low) as i128).overflowing_sub(big(b, !low) as i128);
        prop_assert_eq!(
            calc("MVN X5,X3; SUBS X4,X3,X5; SBCS X0,X1,X2; CSET W0,VS", regs, "X0"),
            u64::from(over)
        );
        prop_assert_eq!(
            calc("MVN X5,X3; SUBS X4,X3,X5; SBCS X0,X1,X2; CSET W0,LO", regs, "X0"),
            u64::from(big(a, low) < big(b, !low))
        );
    }

    #[test]
    fn selects(a in words(), b in words()) {
        let less = (a as i64) < b as i64;
        let pick = |yes: u64, no: u64| if less { yes } else { no };
        prop_assert_eq!(x("CMP X1,X2; CSEL X0,X1,X2,LT", a, b), pick(a, b));
        prop_assert_eq!(x("CMP X1,X2; CSINC X0,X1,X2,LT", a, b), pick(a, b.wrapping_add(1)));
        prop_assert_eq!(x("CMP X1,X2; CSINV W0,W1,W2,LT", a, b), pick(a as u32 as u64, u64::from(!(b as u32))));
        prop_assert_eq!(x("CMP X1,X2; CSNEG X0,X1,X2,LT", a, b), pick(a, b.wrapping_neg()));
        prop_assert_eq!(x("CMP X1,X2; CINC X0,X1,LT", a, b), pick(a.wrapping_add(1), a));
        prop_assert_eq!(x("CMP X1,X2; CSETM W0,LT", a, b), pick(0xffff_ffff, 0));
        // A chain of comparisons: both, with the flags of neither where the first fails.
        let both = a == 7 && b == 9;
        prop_assert_eq!(x("CMP X1,#7; CCMP X2,#9,#0,EQ; CSET W0,EQ", a, b), u64::from(both));
        prop_assert_eq!(x("CMP X1,#7; CCMP X2,#9,#4,EQ; CSET W0,EQ", a, b), u64::from(a != 7 || b == 9));
    }
}

#[test]
fn zero_register_and_stack_pointer() {
    let m = Machine::new(&[("X1", 5), ("SP", 0x8000)])
        .run(BASE, "ADD XZR,X1,#1; MOV X2,XZR; SUB SP,SP,#32; ADD X3,SP,X1,LSL #3; MOV X4,SP");
    assert_eq!((m.get("X2"), m.get("SP"), m.get("X3"), m.get("X4")), (0, 0x7fe0, 0x8008, 0x7fe0));
    assert!(!m.regs.contains_key("XZR"));
}

#[test]
fn addresses_of_locations() {
    let m = Machine::new(&[]).run(
        BASE,
        "ADRP X0,y+8; ADD X0,X0,:lo12:y+8; ADRP X1,:got:y; LDR X1,[X1,:got_lo12:y]; ADR X2,x+4; \
         LDR X3,=y; ADRP X4,x; LDR W5,[X4,#:lo12:x+4]; LDR W6,y; LDR X7,=0x10",
    );
    assert_eq!(m.get("X0"), 0x2008);
    assert_eq!(m.get("X1"), 0x2000);
    assert_eq!(m.get("X2"), 0x1004);
    assert_eq!(m.get("X3"), 0x2000);
    assert_eq!(m.get("X7"), 16);
    let places: Vec<u128> = m.accesses.iter().map(|a| a.addr.n).collect();
    assert_eq!(places, [0x1004, 0x2000]);
}

#[test]
fn data_flows_through_arithmetic_and_flags() {
    let m = Machine::new(&[("X1", 1), ("X2", 2), ("X3", 3), ("X0", 9)]).run(
        BASE,
        "EOR W4,W1,W1; MOVK X0,#1; CMP X1,X2; CSEL X5,X1,X3,NE; CSET W6,EQ; TST X1,X2; CSET W7,CS; \
         BFI X2,X3,#0,#1",
    );
    assert_eq!(m.from("X4").data, names(&["X1"]), "a false dependency is one");
    assert_eq!(m.from("X0").data, names(&["X0"]), "MOVK keeps the rest");
    assert_eq!(m.from("X5").data, names(&["X1"]), "only what is chosen");
    assert_eq!(m.from("X5").pick, names(&["X1", "X2"]));
    assert_eq!(m.from("X6").data, names(&[]));
    assert_eq!(m.from("X6").pick, names(&["X1", "X2"]));
    assert_eq!(m.from("X7").all(), names(&[]), "TST gives a constant carry");
    assert_eq!(m.from("X2").data, names(&["X2", "X3"]));
}

#[test]
fn flags_nobody_reads_are_not_computed() {
    let code = lowered(BASE, "CMP X1,X2; CSET W0,EQ").expect("accepted");
    let writes = |op: &&Op| matches!(op, Op::WriteReg { .. });
    assert_eq!(code.insts[0].ops.iter().filter(writes).count(), 1);
    assert_eq!(code.insts[0].ops.len(), 4, "two reads, one comparison, one write");
}

#[test]
fn vectors() {
    let m = Machine::new(&[("X1", 0x1111_2222_3333_4444), ("X2", 7)]).run(
        BASE,
        "FMOV D0,X1; MOV V0.D[1],X2; MOV X3,V0.D[1]; UMOV W4,V0.S[1]; DUP V1.4S,W2; MOVI V2.2D,#0; \
         MOVI V3.8B,#255; EOR V4.16B,V0.16B,V0.16B; MOV V5.16B,V0.16B; FMOV X6,D0; ADD V6.4S,V1.4S,V1.4S; \
         ADDV S7,V6.4S; FMOV D8,XZR; INS V8.H[1],V0.H[0]; MOV V5.8B,V5.8B; SMOV X9,V3.B[0]",
    );
    let whole = 7u128 << 64 | 0x1111_2222_3333_4444;
    assert_eq!(m.get("V0"), whole);
    assert_eq!((m.get("X3"), m.get("X4"), m.get("X6")), (7, 0x1111_2222, 0x1111_2222_3333_4444));
    assert_eq!(m.get("V1"), 0x7_0000_0007_0000_0007_0000_0007);
    assert_eq!((m.get("V2"), m.get("V3"), m.get("V4")), (0, u64::MAX.into(), 0));
    assert_eq!(m.get("V5"), 0x1111_2222_3333_4444);
    assert_eq!(m.get("V7"), 56);
    assert_eq!(m.get("V8"), 0x4444_0000);
    assert_eq!(m.get("X9"), u64::MAX.into());
    assert_eq!(m.from("V4").data, names(&["X1", "X2"]));
}

#[test]
fn constants_and_halves_in_vectors() {
    let m = Machine::new(&[("V4", u128::MAX), ("V5", u128::MAX), ("X1", 0x1_2345)]).run(
        BASE,
        "FMOV D0,#1.0; FMOV S1,#-0.25; FMOV H2,#2.5; FMOV V3.2S,#31.0; ORR V6.4S,#1,LSL #8; \
         BIC V4.8H,#255,LSL #8; BIC V5.2S,#1; FMOV H7,W1; FMOV X2,H2",
    );
    assert_eq!(m.get("V0"), 1.0f64.to_bits().into());
    assert_eq!(m.get("V1"), (-0.25f32).to_bits().into());
    assert_eq!(m.get("V2"), 0x4100);
    let each = u128::from(31.0f32.to_bits());
    assert_eq!(m.get("V3"), each << 32 | each);
    assert_eq!(m.get("V4"), 0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff);
    assert_eq!(m.get("V5"), 0xffff_fffe_ffff_fffe);
    assert_eq!(m.get("V6"), 0x100_0000_0100_0000_0100_0000_0100);
    assert_eq!((m.get("V7"), m.get("X2")), (0x2345, 0x4100));
}

#[test]
fn bits_are_counted_in_vectors() {
    let m = Machine::new(&[("X1", 0xff00_0301_8000_00ff)])
        .run(BASE, "FMOV D0,X1; CNT V1.8B,V0.8B; ADDV B2,V1.8B; UADDLV H3,V0.8B");
    assert_eq!(m.get("V1"), 0x0800_0201_0100_0008);
    assert_eq!((m.get("V2"), m.get("V3")), (20, 0xff + 3 + 1 + 0x80 + 0xff));
}

#[test]
fn thread_pointer() {
    let m = Machine::new(&[("TPIDR_EL0", 0x1000), ("X1", 8)])
        .run(BASE, "MRS X0,TPIDR_EL0; STR X1,[X0]; MSR TPIDR_EL0,X1");
    assert_eq!((m.get("X0"), m.peek(0x1000, 8), m.get("TPIDR_EL0")), (0x1000, 8, 8));
    assert_eq!(BASE.register("TPIDR_EL0").map(|r| r.bits), Some(64));
}
