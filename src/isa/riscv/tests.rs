//! RISC-V: what instructions compute, which events they make, and what depends on what.

use super::RiscV;
use crate::Isa;
use crate::seq::{BASE, Deps, Machine, What};
use litmake_ops::{Tags, tag};
use proptest::prelude::*;

/// Runs with memory and registers prepared; x10 and x11 hold the addresses of two locations.
fn run(text: &str, prepare: impl FnOnce(&mut Machine)) -> Machine {
    let mut m = Machine::default();
    m.choose = true;
    m.set("x10", 16 * BASE);
    m.set("x11", 17 * BASE);
    prepare(&mut m);
    m.run(&RiscV, text);
    m
}

fn error(text: &str) -> String {
    Machine::default().code(&RiscV, text).expect_err(text)
}

/// `x7 = op(x5, x6)` on the machine.
fn op2(name: &str, a: u64, b: u64) -> u64 {
    let m = run(&format!("{name} x7,x5,x6"), |m| {
        m.set("x5", a.into());
        m.set("x6", b.into());
    });
    m.reg("x7") as u64
}

fn op1(name: &str, a: u64) -> u64 {
    run(&format!("{name} x7,x5"), |m| {
        m.set("x5", a.into());
    })
    .reg("x7") as u64
}

fn w(x: u32) -> u64 {
    x as i32 as i64 as u64
}

/// Values whose corners matter.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0u64..70,
        Just(u64::MAX),
        Just(i64::MIN as u64),
        Just(i32::MIN as u32 as u64),
        any::<u32>().prop_map(u64::from),
    ]
}

proptest! {
    #[test]
    fn arithmetic_is_that_of_the_manual(a in value(), b in value()) {
        let (sa, sb) = (a as i64, b as i64);
        let (wa, wb) = (a as u32, b as u32);
        let (swa, swb) = (wa as i32, wb as i32);
        let shift = (b & 63) as u32;
        let wshift = (b & 31) as u32;
        let cases: Vec<(&str, u64)> = vec![
            ("add", a.wrapping_add(b)),
            ("sub", a.wrapping_sub(b)),
            ("and", a & b),
            ("or", a | b),
            ("xor", a ^ b),
            ("sll", a << shift),
            ("srl", a >> shift),
            ("sra", (sa >> shift) as u64),
            ("slt", u64::from(sa < sb)),
            ("sltu", u64::from(a < b)),
            ("sgt", u64::from(sa > sb)),
            ("addw", w(wa.wrapping_add(wb))),
            ("subw", w(wa.wrapping_sub(wb))),
            ("sllw", w(wa << wshift)),
            ("srlw", w(wa >> wshift)),
            ("sraw", w((swa >> wshift) as u32)),
            ("mul", a.wrapping_mul(b)),
            ("mulw", w(wa.wrapping_mul(wb))),
            ("mulh", ((i128::from(sa) * i128::from(sb)) >> 64) as u64),
            ("mulhu", ((u128::from(a) * u128::from(b)) >> 64) as u64),
            ("mulhsu", ((i128::from(sa) * i128::from(b)) >> 64) as u64),
            ("div", if b == 0 { u64::MAX } else { sa.wrapping_div(sb) as u64 }),
            ("divu", a.checked_div(b).unwrap_or(u64::MAX)),
            ("rem", if b == 0 { a } else { sa.wrapping_rem(sb) as u64 }),
            ("remu", a.checked_rem(b).unwrap_or(a)),
            ("divw", if wb == 0 { u64::MAX } else { w(swa.wrapping_div(swb) as u32) }),
            ("divuw", w(wa.checked_div(wb).unwrap_or(u32::MAX))),
            ("remw", if wb == 0 { w(wa) } else { w(swa.wrapping_rem(swb) as u32) }),
            ("remuw", w(wa.checked_rem(wb).unwrap_or(wa))),
            ("andn", a & !b),
            ("orn", a | !b),
            ("xnor", !(a ^ b)),
            ("min", sa.min(sb) as u64),
            ("minu", a.min(b)),
            ("max", sa.max(sb) as u64),
            ("maxu", a.max(b)),
            ("ror", a.rotate_right(shift)),
            ("rol", a.rotate_left(shift)),
            ("rorw", w(wa.rotate_right(wshift))),
            ("rolw", w(wa.rotate_left(wshift))),
            ("sh1add", (a << 1).wrapping_add(b)),
            ("sh2add", (a << 2).wrapping_add(b)),
            ("sh3add", (a << 3).wrapping_add(b)),
            ("add.uw", u64::from(wa).wrapping_add(b)),
            ("sh2add.uw", (u64::from(wa) << 2).wrapping_add(b)),
            ("czero.eqz", if b == 0 { 0 } else { a }),
            ("czero.nez", if b != 0 { 0 } else { a }),
            ("bset", a | 1 << shift),
            ("bclr", a & !(1 << shift)),
            ("binv", a ^ 1 << shift),
            ("bext", a >> shift & 1),
        ];
        for (name, expected) in cases {
            prop_assert_eq!(op2(name, a, b), expected, "{} {:#x} {:#x}", name, a, b);
        }
    }

    #[test]
    fn unary_operations(a in value()) {
        let (sa, wa) = (a as i64, a as u32);
        let cases: Vec<(&str, u64)> = vec![
            ("mv", a),
            ("not", !a),
            ("neg", a.wrapping_neg()),
            ("negw", w(wa.wrapping_neg())),
            ("sext.b", a as i8 as u64),
            ("sext.h", a as i16 as u64),
            ("sext.w", w(wa)),
            ("zext.b", a & 0xff),
            ("zext.h", a & 0xffff),
            ("zext.w", wa.into()),
            ("seqz", u64::from(a == 0)),
            ("snez", u64::from(a != 0)),
            ("sltz", u64::from(sa < 0)),
            ("sgtz", u64::from(sa > 0)),
            ("clz", a.leading_zeros().into()),
            ("ctz", a.trailing_zeros().into()),
            ("clzw", wa.leading_zeros().into()),
            ("ctzw", wa.trailing_zeros().into()),
            ("cpop", a.count_ones().into()),
            ("cpopw", wa.count_ones().into()),
            ("rev8", a.swap_bytes()),
            ("orc.b", u64::from_le_bytes(a.to_le_bytes().map(|b| if b == 0 { 0 } else { 0xff }))),
        ];
        for (name, expected) in cases {
            prop_assert_eq!(op1(name, a), expected, "{} {:#x}", name, a);
        }
    }

    #[test]
    fn constants_take_part_as_registers_do(a in value(), n in -2048i64..2048) {
        let m = run(
            &format!(
                "addi x20,x5,{n}\nslti x21,x5,{n}\nsltiu x22,x5,{n}\nxori x23,x5,{n}\n\
                 addiw x24,x5,{n}\nslli x25,x5,{0}\nsrai x26,x5,{0}\nsraiw x27,x5,{1}\n\
                 andi x28,x5,{n}\nori x29,x5,{n}",
                n & 63,
                n & 31
            ),
            |m| { m.set("x5", a.into()); },
        );
        let (sa, un) = (a as i64, n as u64);
        let expected = [
            a.wrapping_add(un),
            u64::from(sa < n),
            u64::from(a < un),
            a ^ un,
            w((a as u32).wrapping_add(un as u32)),
            a << (n & 63),
            (sa >> (n & 63)) as u64,
            w((a as i32 >> (n & 31)) as u32),
            a & un,
            a | un,
        ];
        for (i, e) in expected.iter().enumerate() {
            prop_assert_eq!(m.reg(&format!("x{}", 20 + i)) as u64, *e, "x{}", 20 + i);
        }
    }

    #[test]
    fn branches_compare(a in value(), b in value()) {
        let (sa, sb) = (a as i64, b as i64);
        for (name, taken) in [
            ("beq", a == b),
            ("bne", a != b),
            ("blt", sa < sb),
            ("bge", sa >= sb),
            ("bltu", a < b),
            ("bgeu", a >= b),
            ("bgt", sa > sb),
            ("ble", sa <= sb),
            ("bgtu", a > b),
            ("bleu", a <= b),
        ] {
            let text = format!("{name} x5,x6,L\nli x7,1\nL: nop");
            let m = run(&text, |m| {
                m.set("x5", a.into());
                m.set("x6", b.into());
            });
            prop_assert_eq!(m.reg("x7") == 0, taken, "{}", name);
        }
        for (name, taken) in [
            ("beqz", a == 0),
            ("bnez", a != 0),
            ("bltz", sa < 0),
            ("bgez", sa >= 0),
            ("bgtz", sa > 0),
            ("blez", sa <= 0),
        ] {
            let text = format!("{name} x5,1f\nli x7,1\n1: nop");
            let m = run(&text, |m| { m.set("x5", a.into()); });
            prop_assert_eq!(m.reg("x7") == 0, taken, "{}", name);
        }
    }

    #[test]
    fn amos(a in value(), b in value()) {
        let (sa, sb) = (a as i64, b as i64);
        for (name, new) in [
            ("amoswap.d", b),
            ("amoadd.d", a.wrapping_add(b)),
            ("amoand.d", a & b),
            ("amoor.d", a | b),
            ("amoxor.d", a ^ b),
            ("amomax.d", sa.max(sb) as u64),
            ("amomaxu.d", a.max(b)),
            ("amomin.d", sa.min(sb) as u64),
            ("amominu.d", a.min(b)),
            ("amomin.w", (a >> 32) << 32 | u64::from((a as i32).min(b as i32) as u32)),
            ("amoadd.b", a & !0xff | u64::from((a as u8).wrapping_add(b as u8))),
            ("amomaxu.h", a & !0xffff | u64::from((a as u16).max(b as u16))),
        ] {
            let m = run(&format!("{name} x7,x6,(x10)"), |m| {
                m.set("x6", b.into());
                m.poke(16 * BASE, 8, a.into());
            });
            prop_assert_eq!(m.peek(16 * BASE, 8) as u64, new, "{}", name);
            let old = match name.rsplit('.').next() {
                Some("b") => a as i8 as u64,
                Some("h") => a as i16 as u64,
                Some("w") => a as i32 as u64,
                _ => a,
            };
            prop_assert_eq!(m.reg("x7") as u64, old, "{}", name);
        }
    }

    #[test]
    fn arbitrary_lines_never_panic(text in "[a-z0-9.]{0,8} ?[ -~é\n]{0,24}") {
        let _ = Machine::default().code(&RiscV, &text);
    }

    #[test]
    fn near_misses_never_panic(
        name in prop::sample::select(vec![
            "add", "lw", "sw", "amoadd.w", "amocas.q", "lr.w", "sc.d", "fence", "li", "lui",
            "auipc", "jalr", "jal", "beqz", "la", "slli", "call", "jr", "amocas.d.aqrl",
        ]),
        args in prop::collection::vec(
            prop::sample::select(vec![
                "x5", "a0", "x0", "(x10)", "8(x10)", "%lo(x)", "%lo(x)(a0)", "%hi(x+4)", "x", "x+",
                "1f", "-1", "99999999999999999999", "rw", "", "%", "%hi", "(", ")", "0x",
            ]),
            0..4,
        ),
    ) {
        let _ = Machine::default().code(&RiscV, &format!("{name} {}", args.join(",")));
    }
}

#[test]
fn loads_extend_and_stores_cut() {
    let m = run(
        "lb x20,0(x10)\nlbu x21,0(x10)\nlh x22,(x10)\nlhu x23,0(x10)\nlw x24,0(x10)\n\
         lwu x25,0(x10)\nld x26,0(x10)\nlw x27,4(x10)\nsb x26,0(x11)\nsh x26,8(x11)\nsw x26,-8(x11)",
        |m| m.poke(16 * BASE, 8, 0x1234_5678_ffff_ff80),
    );
    let regs: Vec<u64> = (20..28).map(|i| m.reg(&format!("x{i}")) as u64).collect();
    let minus = -128i64 as u64;
    let whole = 0x1234_5678_ffff_ff80;
    assert_eq!(regs, [minus, 0x80, minus, 0xff80, minus, 0xffff_ff80, whole, 0x1234_5678]);
    assert_eq!(m.peek(17 * BASE, 8), 0x80);
    assert_eq!(m.peek(17 * BASE + 8, 8), 0xff80);
    assert_eq!(m.peek(17 * BASE - 8, 8), 0xffff_ff80);
}

#[test]
fn annotations() {
    let tags = |line: &str| -> Vec<Tags> {
        let m = run(line, |_| {});
        m.events.iter().map(|e| e.tags).collect()
    };
    let (x, ex) = (tag::X, tag::EX);
    for (line, expected) in [
        ("lw x5,0(x10)", Tags::NONE),
        ("lw.aq x5,0(x10)", tag::RV_Acq),
        ("ld.aqrl x5,(x10)", tag::RV_AcqRel),
        ("sb.rl x5,(x10)", tag::RV_Rel),
        ("sw.aq.rl x5,0(x10)", tag::RV_AcqRel),
        ("lr.w x5,(x10)", ex),
        ("lr.w.aq x5,0(x10)", ex | tag::RV_Acq),
        ("lr.d.rl x5,(x10)", ex),
        ("lr.d.aqrl x5,(x10)", ex | tag::RV_AcqRel),
        ("sc.w x5,x6,(x10)", ex),
        ("sc.w.aq x5,x6,(x10)", ex),
        ("sc.w.rl x5,x6,(x10)", ex | tag::RV_Rel),
        ("sc.d.aqrl x5,x6,(x10)", ex | tag::RV_AcqRel),
        ("amoswap.w x0,x5,(x10)", x),
        ("amoadd.d.aq x5,x6,(x10)", x | tag::RV_Acq),
        ("amoor.b.rl x5,x6,0(x10)", x | tag::RV_Rel),
        ("amomin.h.aqrl x5,x6,(x10)", x | tag::RV_AcqRel),
        ("fence", tag::Fence_rw_rw),
        ("fence rw,rw", tag::Fence_rw_rw),
        ("fence iorw,ow", tag::Fence_rw_w),
        ("fence ir,ir", tag::Fence_r_r),
        ("fence w,ior", tag::Fence_w_r),
        ("fence.tso", tag::Fence_tso),
        ("fence.i", tag::Fence_i),
    ] {
        assert_eq!(tags(line), [expected], "{line}");
    }
    for nothing in ["fence i,o", "fence w,o", "fence 0,rw", "nop", "pause"] {
        assert_eq!(tags(nothing), [], "{nothing}");
    }
}

#[test]
fn amos_are_one_event() {
    let m = run("amoadd.w.aqrl x7,x6,(x10)", |_| {});
    assert_eq!(m.events.len(), 1);
    assert_eq!(m.events[0].what, What::Rmw);
}

#[test]
fn dependencies_are_syntactic() {
    // The address depends on the load although the value cancels; x0 carries nothing.
    let m = run(
        "lw x5,0(x10)\nxor x6,x5,x5\nadd x7,x11,x6\nsw x0,0(x7)\n\
         and x8,x5,x0\nsd x8,8(x11)\nadd x0,x5,x5\nsd x0,16(x11)",
        |_| {},
    );
    let deps = |i: usize| (m.events[i].addr_deps.clone(), m.events[i].data_deps.clone());
    let first = Deps::from([0]);
    assert_eq!(deps(1), (first.clone(), Deps::new()));
    assert_eq!(deps(2), (Deps::new(), first));
    assert_eq!(deps(3), (Deps::new(), Deps::new()));
}

#[test]
fn control_reaches_what_comes_after() {
    let m = run("lw x5,0(x10)\nbne x5,x0,L\nL: sw x6,0(x11)", |_| {});
    assert_eq!(m.events[1].ctrl_deps, Deps::from([0]));
}

#[test]
fn the_status_depends_on_the_conditional_store() {
    let text = "lr.w x5,(x10)\nsc.w x6,x7,(x10)\nsw x6,0(x11)";
    let m = run(text, |m| {
        m.set("x7", 3);
    });
    assert_eq!((m.reg("x6"), m.peek(16 * BASE, 4)), (0, 3));
    assert_eq!(m.events[2].data_deps, Deps::from([1]));
    let m = run(text, |m| {
        m.set("x7", 3);
        m.fail = true;
    });
    assert_eq!((m.reg("x6"), m.peek(16 * BASE, 4)), (1, 0));
    assert_eq!(m.events.len(), 2);
    assert_eq!(m.events[1].data_deps, Deps::new());
}

#[test]
fn compare_and_swap() {
    for (expected, success) in [(5u128, true), (6, false)] {
        let m = run("amocas.w.aqrl x6,x7,(x10)", |m| {
            m.set("x6", expected);
            m.set("x7", 9);
            m.poke(16 * BASE, 4, 5);
            m.choose = success;
        });
        assert!(!m.dropped);
        assert_eq!(m.reg("x6"), 5);
        assert_eq!(m.peek(16 * BASE, 4), if success { 9 } else { 5 });
        let event = &m.events[0];
        if success {
            assert_eq!((&event.what, event.tags), (&What::Rmw, tag::X | tag::RV_AcqRel));
        } else {
            // A failing one acquires, and does not release.
            assert_eq!((&event.what, event.tags), (&What::Load, tag::X | tag::RV_Acq));
        }
        // The other guess is no execution.
        let m = run("amocas.w.aqrl x6,x7,(x10)", |m| {
            m.set("x6", expected);
            m.poke(16 * BASE, 4, 5);
            m.choose = !success;
        });
        assert!(m.dropped);
    }
}

#[test]
fn compare_and_swap_of_pairs() {
    let m = run("amocas.q x6,x8,(x10)", |m| {
        m.poke(16 * BASE, 8, 1);
        m.poke(16 * BASE + 8, 8, 2);
        for (name, value) in [("x6", 1), ("x7", 2), ("x8", 3), ("x9", 4)] {
            m.set(name, value);
        }
    });
    assert!(!m.dropped);
    assert_eq!(m.peek(16 * BASE, 16), 4 << 64 | 3);
    assert_eq!((m.reg("x6"), m.reg("x7")), (1, 2));
    assert_eq!(m.events[0].size, 16);
}

#[test]
fn compare_and_swap_depends_on_what_it_expects() {
    let m = run("lw x6,0(x11)\namocas.w x6,x7,(x10)", |_| {});
    assert_eq!(m.events[1].data_deps, Deps::from([0]));
}

#[test]
fn locations_have_addresses() {
    let mut m = Machine::default();
    m.poke(2 * BASE, 8, 7);
    m.run(
        &RiscV,
        "la x5,y\nlui x6,%hi(x)\naddi x6,x6,%lo(x)\nlw x7,%lo(x+4)(x6)\n\
         L: auipc x8,%got_pcrel_hi(y)\nld x8,%pcrel_lo(L)(x8)\n\
         M: auipc x9,%pcrel_hi(x)\nlw x20,%pcrel_lo(M)(x9)\nlw x21,x\nsw x5,y+4,x22",
    );
    assert_eq!(m.names.0, ["y", "x"]);
    assert_eq!(m.reg("x5"), BASE);
    assert_eq!(m.reg("x6"), 2 * BASE);
    assert_eq!(m.reg("x7"), 7);
    assert_eq!(m.reg("x8"), BASE, "the offset table's entry is no event");
    assert_eq!(m.reg("x20"), 7);
    assert_eq!(m.reg("x21"), 7);
    assert_eq!(m.peek(BASE + 4, 4), BASE);
    assert_eq!(m.events.len(), 4);
}

#[test]
fn constants() {
    let m =
        run("li x5,-1\nli x6,0x7fffffffffffffff\nlui x7,0x80000\nli x8,0xffffffffffffffff", |_| {});
    assert_eq!(m.reg("x5") as u64, u64::MAX);
    assert_eq!(m.reg("x6") as i64, i64::MAX);
    assert_eq!(m.reg("x7") as i64, i64::from(i32::MIN));
    assert_eq!(m.reg("x8") as u64, u64::MAX);
}

#[test]
fn calls_come_back_and_a_last_return_ends() {
    let m = run("jal f\nli x20,1\nj end\nf: li x21,1\nret\nend: nop", |_| {});
    assert_eq!((m.reg("x20"), m.reg("x21")), (1, 1));
    let m = run("li x20,1\nret\nli x21,1", |_| {});
    assert_eq!((m.reg("x20"), m.reg("x21")), (1, 0));
    let m = run("call f\nmv x1,x0\nret\nli x21,1\nf: li x20,2\njr ra", |_| {});
    assert_eq!((m.reg("x20"), m.reg("x21")), (2, 0));
}

#[test]
fn numeric_labels_may_repeat() {
    let m = run("li x5,2\n1: addi x5,x5,-1\nbnez x5,1b\nbeqz x5,1f\nli x6,1\n1: li x7,1", |_| {});
    assert_eq!((m.reg("x5"), m.reg("x6"), m.reg("x7")), (0, 0, 1));
}

#[test]
fn registers_of_conditions() {
    let r = |n| RiscV.register(n).map(|r| (r.name, r.bits, r.shown_bits));
    assert_eq!(r("x5"), Some(("x5".to_string(), 64, 64)));
    assert_eq!(r("a0"), Some(("x10".to_string(), 64, 64)));
    assert_eq!(r("r5"), None);
    assert_eq!(RiscV.address_bits(), 64);
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(
        error("nop\n  lww x5,0(x6)"),
        "t.litmus:2:3: error: unknown RISC-V instruction `lww`\n \
         2 |   lww x5,0(x6)\n   |   ^^^^^^^^^^^^\n  help: did you mean `lw`?"
    );
    for (line, message) in [
        ("add.aq x5,x6,x7", "unknown RISC-V instruction `add.aq`"),
        ("lw x5,x6", "`x6` is no address; write 0(x6)"),
        ("lw x5", "`lw` takes a register and an address such as 0(a0)"),
        ("lw x32,0(x5)", "`x32` is no register"),
        ("sc.w x5,x6,4(x7)", "`sc.w` takes an address without an offset, not 4"),
        ("addi x5,x6,x7", "`addi` takes a constant, not `x7`"),
        ("beqz x5,nowhere", "no label `nowhere` in this thread"),
        ("fence rx,w", "`rx` is no set of accesses"),
        ("auipc x5,1", "`auipc` with `1` has no meaning"),
        ("amocas.q x5,x6,(x7)", "`amocas.q` takes pairs"),
        ("call puts", "no label `puts`"),
        ("la x5,.LC0", "`.LC0` is an assembler's own label"),
        ("li x5,y", "`y` is no 64-bit constant"),
        ("L: nop\nL: nop", "label `L` is defined twice"),
    ] {
        let text = error(line);
        assert!(text.contains(message), "{line}: {text}");
    }
    assert!(error("add.aq x5,x6,x7").contains("`add` takes no ordering annotation"));
    assert!(error("L1: beqz x5,L2").contains("did you mean `L1`?"));
}

// Floating point. What is no number, and what is out of range, is as the manual's table of
// conversions has it.

const BOXED: u128 = 0xffff_ffff_0000_0000;

fn single(x: f32) -> u128 {
    BOXED | u128::from(x.to_bits())
}

fn double(x: f64) -> u128 {
    x.to_bits().into()
}

/// What is in a register after an instruction on f5, f6 and x5.
fn float(text: &str, a: u128, b: u128, x: u64, reg: &str) -> u128 {
    let m = run(text, |m| {
        m.set("f5", a);
        m.set("f6", b);
        m.set("x5", x.into());
    });
    m.reg(reg)
}

#[test]
fn floats_are_converted() {
    let nan = BOXED | 0x7fc0_0000;
    for (text, a, x, wanted) in [
        ("fcvt.s.w f7,x5", 0, -3i64 as u64, single(-3.0)),
        ("fcvt.s.wu f7,x5", 0, 0xffff_ffff_ffff_fffd, single(4_294_967_293u32 as f32)),
        ("fcvt.d.l f7,x5", 0, -3i64 as u64, double(-3.0)),
        ("fcvt.d.s f7,f5", single(0.1), 0, double(f64::from(0.1f32))),
        ("fcvt.s.d f7,f5", double(0.1), 0, single(0.1)),
        ("fmv.w.x f7,x5", 0, 0x1_3f80_0000, single(1.0)),
        ("fmv.d.x f7,x5", 0, 0x3ff0_0000_0000_0000, double(1.0)),
        ("fneg.s f7,f5", single(1.0), 0, single(-1.0)),
        ("fabs.d f7,f5", double(-1.0), 0, double(1.0)),
        ("fmv.s f7,f5", single(-1.0), 0, single(-1.0)),
    ] {
        assert_eq!(float(text, a, 0, x, "f7"), wanted, "{text}");
    }
    for (text, a, wanted) in [
        ("fcvt.w.s x7,f5,rtz", single(-2.9), -2i64 as u64),
        ("fcvt.wu.s x7,f5,rtz", single(-2.9), 0),
        // One of 32 bits is sign-extended, without a sign of its own too.
        ("fcvt.wu.s x7,f5,rtz", single(4e9), 0xffff_ffff_ee6b_2800),
        ("fcvt.w.s x7,f5,rtz", single(3e9), 0x7fff_ffff),
        ("fcvt.w.s x7,f5,rtz", nan, 0x7fff_ffff),
        ("fcvt.wu.s x7,f5,rtz", nan, u64::MAX),
        ("fcvt.l.d x7,f5,rtz", double(-5e18), -5_000_000_000_000_000_000i64 as u64),
        ("fmv.x.w x7,f5", single(-1.0), 0xffff_ffff_bf80_0000),
        ("fmv.x.d x7,f5", double(1.0), 0x3ff0_0000_0000_0000),
    ] {
        assert_eq!(float(text, a, 0, 0, "x7") as u64, wanted, "{text}");
    }
}

proptest! {
    #[test]
    fn floats_are_computed_as_rust_does(a: f32, b: f32) {
        for (name, wanted) in [("fadd", a + b), ("fsub", a - b), ("fmul", a * b), ("fdiv", a / b)] {
            if !wanted.is_nan() {
                let got = float(&format!("{name}.s f7,f5,f6"), single(a), single(b), 0, "f7");
                prop_assert_eq!(got, single(wanted), "{}", name);
            }
        }
        for (name, wanted) in [("feq", a == b), ("flt", a < b), ("fle", a <= b)] {
            let got = float(&format!("{name}.s x7,f5,f6"), single(a), single(b), 0, "x7");
            prop_assert_eq!(got, u128::from(wanted), "{}", name);
        }
    }
}

#[test]
fn floats_in_memory() {
    let m = run(
        "flw fa0,4(x10)\nfadd.s fa0,fa0,fa0\nfsw fa0,(x11)\nfld ft0,8(x10)\nfsd ft0,8(x11)",
        |m| {
            m.poke(16 * BASE + 4, 4, 0x4000_0000);
            m.poke(16 * BASE + 8, 8, 0x3ff0_0000_0000_0000);
        },
    );
    assert_eq!(m.peek(17 * BASE, 4), 0x4080_0000);
    assert_eq!(m.peek(17 * BASE + 8, 8), 0x3ff0_0000_0000_0000);
}

#[test]
fn floats_that_are_refused() {
    assert!(error("fcvt.w.s x7,f5").contains("`rtz` alone"));
    assert!(error("fadd.s f7,f5,f6,rup").contains("the rounding `rup`"));
    assert!(error("fadd.s f7,f5,x6").contains("`x6` is no floating-point register"));
    assert!(error("fsqrt.s f7,f5").contains("unknown RISC-V instruction"));
}
