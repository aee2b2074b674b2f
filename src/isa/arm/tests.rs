use super::Arm;
use crate::Isa;
use crate::seq::{Deps, Machine, What};
use litmake_ops::tag;
use proptest::prelude::*;

const V7: Arm = Arm { lpae: false };

fn run(text: &str) -> Machine {
    let mut m = Machine::default();
    m.run(&V7, text);
    m
}

fn error(text: &str) -> String {
    Machine::default().code(&V7, text).expect_err("is refused")
}

/// With R0 = x, R1 = y and x = 5, y = 7.
fn two(text: &str) -> Machine {
    let mut m = Machine::default();
    let (x, y) = (m.location("x"), m.location("y"));
    m.set("R0", x).set("R1", y);
    m.poke(x, 4, 5);
    m.poke(y, 4, 7);
    m.run(&V7, text);
    m
}

#[test]
fn registers_have_the_names_that_herd_prints() {
    let name = |n: &str| V7.register(n).map(|r| (r.name, r.shown_bits, r.signed));
    assert_eq!(name("r3"), Some(("R3".to_string(), 32, true)));
    assert_eq!(name("ip"), Some(("R12".to_string(), 32, true)));
    assert_eq!(name("R11"), name("fp"));
    assert_eq!(name("R13"), name("SP"));
    assert_eq!(name("lr"), Some(("LR".to_string(), 32, true)));
    assert_eq!(name("%x0"), Some(("%x0".to_string(), 32, true)));
    assert_eq!(name("R16"), None);
    assert_eq!(name("R01"), None);
    assert_eq!(name("x"), None);
}

#[test]
fn a_dependency_survives_a_value_that_is_always_0() {
    let m = two("LDR R2,[R0]\nEOR R3,R2,R2\nADD R3,R3,#1\nSTR R3,[R1]");
    let store = &m.events[1];
    assert_eq!((store.value, store.size), (1, 4));
    assert_eq!(store.data_deps, Deps::from([0]));
    assert!(store.ctrl_deps.is_empty() && store.addr_deps.is_empty());

    let m = two("LDR R2,[R0]\nEOR R3,R2,R2\nLDR R4,[R3,R1]");
    assert_eq!(m.reg("R4"), 7);
    assert_eq!(m.events[1].addr_deps, Deps::from([0]));

    let m = two("LDR R2,[R0]\nCMP R2,R2\nBNE LC00\nLC00: STR R2,[R1]");
    assert_eq!(m.events[1].ctrl_deps, Deps::from([0]));
}

#[test]
fn a_false_condition_executes_nothing() {
    let text = "LDR R2,[R0]\nCMP R2,#5\nSTRNE R2,[R1]\nMOVEQ R3,#9\nLDRNE R4,[R1]\nMOVNE R3,#1";
    let m = two(text);
    assert_eq!((m.reg("R3"), m.reg("R4"), m.events.len()), (9, 0, 1));
    assert_eq!(m.reg_deps("R3"), Deps::from([0]));
    let m = two("LDR R2,[R0]\nCMP R2,#5\nSTREQ R0,[R1]");
    assert_eq!(m.events[1].ctrl_deps, Deps::from([0]));
    assert!(m.events[1].data_deps.is_empty());
    // An instruction that herd takes for a no-op makes no dependency.
    let m = two("LDR R2,[R0]\nCMP R2,#5\nANDEQ R3,R3,R3\nANDEQ R4,R0,R0");
    assert!(m.reg_deps("R3").is_empty());
    assert_eq!(m.reg_deps("R4"), Deps::from([0]));
}

#[test]
fn it_blocks() {
    let text = "cmp r0, #0\nite eq\nmoveq r2, #1\nmovne r2, #2\nadd r2, r2, #4";
    assert_eq!(run(text).reg("R2"), 5);
    assert_eq!(
        error("cmp r0, #0\nit eq\nmovne r2, #1"),
        "t.litmus:3:1: error: this instruction of the IT block has the condition `ne`, not `eq`\n \
         3 | movne r2, #1\n   | ^^^^^^^^^^^^\n  \
         help: write the condition after the mnemonic, as in `moveq`"
    );
    assert!(error("itt eq\nmoveq r0, #1").contains("this IT block covers 2 instructions"));
    // The address of the instruction after the block is where a false return goes on.
    let m = run("cmp r0, #1\nit eq\nbxeq lr\nmov r2, #3\nbx lr\nmov r2, #4");
    assert_eq!(m.reg("R2"), 3);
}

#[test]
fn exclusive_loop() {
    let text = "L: ldrex r2, [r0]\nadds r3, r2, #1\nstrex r4, r3, [r0]\ncmp r4, #0\nbne L";
    let m = two(text);
    assert_eq!((m.reg("R2"), m.reg("R4")), (5, 0));
    assert_eq!(m.events[0].tags, tag::EX);
    assert_eq!(m.events[1].what, What::StoreEx);
    assert_eq!(m.events[1].value, 6);
    assert_eq!(m.events[1].data_deps, Deps::from([0]));
    // The status depends on the data, as herd has it, and not on the load as such.
    assert_eq!(m.reg_deps("R4"), Deps::from([0]));
    let m = two("ldrex r2, [r0]\nstrex r4, r1, [r0]");
    assert!(m.reg_deps("R4").is_empty());
    let mut m = Machine::default();
    m.fail = true;
    m.run(&V7, "strex r4, r1, [r0]");
    assert_eq!(m.reg("R4"), 1);
}

#[test]
fn doublewords() {
    let mut m = Machine::default();
    let x = m.location("x");
    m.set("R0", x);
    m.poke(x, 8, 0x1122_3344_5566_7788);
    m.run(&V7, "ldrexd r2, r3, [r0]\nstrexd r1, r3, r2, [r0]");
    assert_eq!((m.reg("R2"), m.reg("R3")), (0x5566_7788, 0x1122_3344));
    assert_eq!(m.peek(x, 8), 0x5566_7788_1122_3344);
    assert_eq!((m.events.len(), m.events[0].size), (2, 8));

    let text = "ldrd r2, [r0]\nstrd r2, r3, [r0, #8]!";
    let mut two = Machine::default();
    two.set("R0", x);
    two.poke(x, 8, 0x1122_3344_5566_7788);
    two.run(&V7, text);
    assert_eq!(two.events.len(), 4);
    assert_eq!(two.events[3].addr, x + 12);
    let mut one = Machine::default();
    one.set("R0", x);
    one.poke(x, 8, 0x1122_3344_5566_7788);
    one.run(&Arm { lpae: true }, text);
    assert_eq!(one.events.len(), 2);
    for m in [one, two] {
        assert_eq!(m.peek(x + 8, 8), 0x1122_3344_5566_7788);
        assert_eq!(m.reg("R0"), x + 8);
    }
}

#[test]
fn acquire_and_release() {
    let text = "lda r2, [r0]\nstl r2, [r1]\nldaexb r3, [r0]\nstlexh r4, r3, [r1]\nldah r2, [r0]";
    let m = two(text);
    let tags: Vec<_> = m.events.iter().map(|e| (e.tags, e.size)).collect();
    assert_eq!(
        tags,
        [(tag::A, 4), (tag::L, 4), (tag::A | tag::EX, 1), (tag::L | tag::EX, 2), (tag::A, 2)]
    );
}

#[test]
fn barriers() {
    let text = "DMB\nDMB ISH\ndmb ishst\ndmb ishld\nDMB ST\nDSB\ndsb ish\nISB\nisb sy\n\
                mcr p15, 0, r0, c7, c10, 5\nmcr p15, 0, r0, c7, c5, 4\nmcr 15, 0, r0, cr7, cr10, {4}";
    let tags: Vec<_> = run(text).events.iter().map(|e| e.tags).collect();
    assert_eq!(
        tags,
        [
            tag::DMB,
            tag::ARM_DMB_ISH,
            tag::ARM_DMB_ISHST,
            tag::ARM_DMB_ISHLD,
            tag::ARM_DMB_ST,
            tag::DSB,
            tag::ARM_DSB_ISH,
            tag::ISB,
            tag::ISB,
            tag::DMB,
            tag::ISB,
            tag::DSB
        ]
    );
    assert!(error("mcr p15, 0, r0, c13, c0, 3").contains("not a barrier"));
}

#[test]
fn addressing() {
    let text = "ldr r2, [r0, #4]!\nldr r3, [r0], #-4\nmov r4, #1\nldr r5, [r0, r4, lsl #2]\n\
                ldr r6, [r0, #4]\nstrb r6, [r0, -r4]\nldrsb r7, [r0, -r4]";
    let mut m = Machine::default();
    let x = m.location("x");
    m.set("R0", x);
    m.poke(x, 4, 1);
    m.poke(x + 4, 4, 0x80);
    m.run(&V7, text);
    for reg in ["R2", "R3", "R5", "R6"] {
        assert_eq!(m.reg(reg), 0x80, "{reg}");
    }
    assert_eq!(m.reg("R0"), x);
    assert_eq!(m.reg("R7"), 0xffff_ff80);
    assert_eq!(m.peek(x - 1, 1), 0x80);
}

#[test]
fn symbols_and_literals() {
    let mut m = Machine::default();
    let x = m.location("x");
    m.poke(x, 4, 5);
    m.poke(x + 4, 4, 6);
    let text = "movw r0, #:lower16:x\nmovt r0, #:upper16:x\nldr r1, =x\nldr r2, =77\n\
                ldr r3, .LCPI0_0\nldr r4, .LCPI0_0+4\nldr r5, [r0]\nbx lr\n\
                .LCPI0_0: .long x+4\n.word 9";
    m.run(&V7, text);
    assert_eq!((m.reg("R0"), m.reg("R1"), m.reg("R2")), (x, x, 77));
    assert_eq!((m.reg("R3"), m.reg("R4"), m.reg("R5")), (x + 4, 9, 5));
    assert_eq!(m.events.len(), 1);
    // Addresses relative to PC.
    let text = "ldr r0, .LCPI0_0\n.LPC0_0: add r0, pc, r0\nldr r3, .LCPI0_0+4\n\
                .LPC0_1: ldr r1, [pc, r3]\nldr r2, [r0]\nbx lr\n\
                .LCPI0_0: .long x-(.LPC0_0+8)\n.long x-(.LPC0_1+8)";
    let mut m = Machine::default();
    let x = m.location("x");
    m.poke(x, 4, 5);
    m.run(&V7, text);
    assert_eq!((m.reg("R0"), m.reg("R1"), m.reg("R2")), (x, 5, 5));
    assert!(error("ldr r0, L\nbx lr\nL: .word x(GOT)").contains("no word of data at `L`"));
    // A pool that is no part of the code is memory.
    let m = run("ldr r0, .LCPI1_0");
    assert_eq!(m.events.len(), 1);
}

#[test]
fn blocks_and_calls() {
    let mut m = Machine::default();
    let s = m.location("stack");
    m.set("SP", s + 64).set("R4", 4).set("R5", 5).set("R0", s);
    let text = "push {r4, r5, lr}\nbl f\nadd r6, r0, #1\npop {r4-r5, pc}\n\
                f: mov r0, #41\nmov r4, #0\nbx lr";
    m.run(&V7, text);
    assert_eq!((m.reg("R6"), m.reg("R4"), m.reg("R5")), (42, 4, 5));
    assert_eq!(m.reg("SP"), s + 64);

    let mut m = Machine::default();
    let x = m.location("x");
    m.set("R0", x + 8);
    for i in 0..6 {
        m.poke(x + 4 * i, 4, i);
    }
    let text = "ldm r0, {r1, r2}\nldmib r0, {r3, r4}\nldmda r0, {r5, r6}\nldmdb r0!, {r7, r8}";
    m.run(&V7, text);
    let got: Vec<u128> = (1..9).map(|i| m.reg(&format!("R{i}"))).collect();
    assert_eq!(got, [2, 3, 3, 4, 1, 2, 0, 1]);
    assert_eq!(m.reg("R0"), x);
}

#[test]
fn bytes_side_by_side() {
    let mut m = Machine::default();
    m.set("R0", 0xff01_80fe).set("R1", 0x0102_8001).set("R2", 0x1111_1111).set("R3", 0x2222_2222);
    m.run(&V7, "uadd8 r4, r0, r1\nsel r5, r2, r3\nuadd16 r6, r0, r1\nsel r7, r2, r3");
    assert_eq!((m.reg("R4"), m.reg("R5")), (0x0003_00ff, 0x1122_1122));
    assert_eq!((m.reg("R6"), m.reg("R7")), (0x0003_00ff, 0x1111_1111));
    // A false condition leaves the carries as they were.
    let mut m = Machine::default();
    m.set("R0", 0xff01_80fe).set("R1", 0x0102_8001).set("R2", 0x1111_1111).set("R3", 0x2222_2222);
    m.run(&V7, "uadd8 r4, r0, r1\ncmp r0, r0\nuadd8ne r4, r2, r2\nsel r5, r2, r3");
    assert_eq!(m.reg("R5"), 0x1122_1122);
}

#[test]
fn saturations_and_sums_of_products() {
    let mut m = Machine::default();
    m.set("R0", 300).set("R1", -300i32 as u32 as u128).set("R2", 3).set("R3", 5);
    m.run(&V7, "usat r4, #8, r0\nusat r5, #8, r1\nssat r6, #8, r1\nssat r7, #9, r1, asr #2");
    assert_eq!((m.reg("R4"), m.reg("R5")), (255, 0));
    assert_eq!((m.reg("R6") as u32 as i32, m.reg("R7") as u32 as i32), (-128, -75));
    m.run(&V7, "umaal r2, r3, r0, r1");
    assert_eq!(m.reg("R3") << 32 | m.reg("R2"), 300 * (0xffff_ffff - 299) + 8);
}

#[test]
fn carry_of_repeated_constants() {
    // A repeated byte is no rotated one: the carry stays as it was.
    let carry = |text: &str| {
        let mut m = Machine::default();
        m.set("R0", 1);
        m.run(&V7, &format!("cmp r0, #2\n{text}\nmovcs r1, #1"));
        m.reg("R1")
    };
    assert_eq!(carry("movs r2, #0xff00ff00"), 0);
    assert_eq!(carry("movs r2, #0xff000000"), 1);
}

#[test]
fn exclusives_with_offsets() {
    let mut m = Machine::default();
    let x = m.location("x");
    m.set("R0", x);
    m.poke(x + 8, 4, 5);
    m.run(&V7, "ldrex r2, [r0, #8]\nadd r2, r2, #1\nstrex r3, r2, [r0, #8]");
    assert_eq!((m.peek(x + 8, 4), m.reg("R3")), (6, 0));
    assert!(error("ldrexb r2, [r0, #8]").contains("an address without offset"));
}

#[test]
fn diagnostics() {
    assert_eq!(
        error("MOV R0,#1\nLDRQ R1,[R0]"),
        "t.litmus:2:1: error: unknown Arm instruction `LDRQ`\n \
         2 | LDRQ R1,[R0]\n   | ^^^^^^^^^^^^\n  help: did you mean `ldr`?"
    );
    assert_eq!(
        error("LDR R1,[x]"),
        "t.litmus:1:9: error: expected a register, found `x`\n \
         1 | LDR R1,[x]\n   |         ^"
    );
    assert_eq!(
        error("LC00: BNE LC0"),
        "t.litmus:1:11: error: no label `LC0` in this thread\n \
         1 | LC00: BNE LC0\n   |           ^^^\n  help: did you mean `LC00`?"
    );
    assert!(error("MOV R0,#1 R2").contains("expected the end of the instruction, found `R2`"));
    assert!(error("LDR R0,[PC,#8]").contains("expected a register, found `#`"));
    assert!(error("SUB R0,PC,R1").contains("PC cannot be an operand"));
    assert!(error("DMB ISHH").contains("expected a barrier's domain"));
    assert!(error("L: NOP\nL: NOP").contains("label `L` is defined twice"));
    assert!(error("lda r0, [r1, #4]").contains("an address without offset"));
}

/// N, Z, C, V as four conditional moves see them.
fn flags(m: &mut Machine, text: &str) -> (u128, bool, bool, bool, bool) {
    let text = format!("{text}\nmovmi r8, #1\nmoveq r9, #1\nmovcs r10, #1\nmovvs r11, #1");
    m.run(&V7, &text);
    let on = |r: &str| m.reg(r) == 1;
    (m.reg("R2"), on("R8"), on("R9"), on("R10"), on("R11"))
}

fn with(a: u32, b: u32) -> Machine {
    let mut m = Machine::default();
    m.set("R0", a.into()).set("R1", b.into());
    m
}

/// Words with the interesting ones more often.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(i32::MIN as u32),
        Just(i32::MAX as u32),
        0u32..70
    ]
}

proptest! {
    #[test]
    fn sums_and_differences(a in word(), b in word(), carry in any::<bool>()) {
        let expect = |x: u32, y: u32, c: bool| {
            let wide = u64::from(x) + u64::from(y) + u64::from(c);
            let signed = i64::from(x as i32) + i64::from(y as i32) + i64::from(c);
            let r = wide as u32;
            (u128::from(r), (r as i32) < 0, r == 0, wide >> 32 != 0, i64::from(r as i32) != signed)
        };
        prop_assert_eq!(flags(&mut with(a, b), "adds r2, r0, r1"), expect(a, b, false));
        prop_assert_eq!(flags(&mut with(a, b), "subs r2, r0, r1"), expect(a, !b, true));
        prop_assert_eq!(flags(&mut with(a, b), "rsbs r2, r0, r1"), expect(b, !a, true));
        // The carry in, from a comparison of known numbers.
        let prelude = format!("mov r3, #{}\ncmp r3, #1\n", u8::from(carry));
        let adcs = format!("{prelude}adcs r2, r0, r1");
        prop_assert_eq!(flags(&mut with(a, b), &adcs), expect(a, b, carry));
        let sbcs = format!("{prelude}sbcs r2, r0, r1");
        prop_assert_eq!(flags(&mut with(a, b), &sbcs), expect(a, !b, carry));
    }

    #[test]
    fn conditions(a in word(), b in word()) {
        let (x, y) = (a as i32, b as i32);
        let conds = [
            ("eq", a == b), ("ne", a != b), ("hs", a >= b), ("lo", a < b), ("hi", a > b),
            ("ls", a <= b), ("ge", x >= y), ("lt", x < y), ("gt", x > y), ("le", x <= y),
        ];
        for (cond, holds) in conds {
            let mut m = with(a, b);
            m.run(&V7, &format!("cmp r0, r1\nmov{cond} r2, #1\nb{cond} L\nmov r3, #1\nL:"));
            prop_assert_eq!((m.reg("R2") == 1, m.reg("R3") == 0), (holds, holds), "{}", cond);
        }
    }

    #[test]
    fn shifts(a in word(), n in 0u32..300) {
        let low = n & 0xff;
        let by = |op: &str| {
            let mut m = with(a, n);
            m.set("R3", 0);
            let (v, _, _, c, _) = flags(&mut m, &format!("cmp r3, #1\n{op}s r2, r0, r1"));
            (v as u32, c)
        };
        let bit = |i: u32| a >> i & 1 == 1;
        let lsl = a.checked_shl(low).unwrap_or(0);
        prop_assert_eq!(by("lsl"), (lsl, (1..=32).contains(&low) && bit(32 - low)));
        let lsr = a.checked_shr(low).unwrap_or(0);
        prop_assert_eq!(by("lsr"), (lsr, (1..=32).contains(&low) && bit(low - 1)));
        let asr = (a as i32) >> low.min(31);
        prop_assert_eq!(by("asr"), (asr as u32, low > 0 && bit(low.min(32) - 1)));
        let ror = a.rotate_right(low % 32);
        prop_assert_eq!(by("ror"), (ror, low > 0 && ror >> 31 == 1));
        // By constants, the same.
        if (1..32).contains(&low) {
            for op in ["lsl", "lsr", "asr", "ror"] {
                let mut m = with(a, 0);
                let text = format!("movs r2, r0, {op} #{low}");
                let (v, _, _, c, _) = flags(&mut m, &text);
                prop_assert_eq!((v as u32, c), by(op), "{}", text);
            }
        }
    }

    #[test]
    fn arithmetic(a in word(), b in word(), c in word(), d in word()) {
        let value = |text: &str| {
            let mut m = with(a, b);
            m.set("R2", c.into()).set("R3", d.into());
            m.run(&V7, text);
            (m.reg("R2") as u32, m.reg("R3") as u32)
        };
        let one = |text: &str| value(text).0;
        prop_assert_eq!(one("and r2, r0, r1"), a & b);
        prop_assert_eq!(one("orr r2, r0, r1"), a | b);
        prop_assert_eq!(one("bic r2, r0, r1"), a & !b);
        prop_assert_eq!(one("orn r2, r0, r1"), a | !b);
        prop_assert_eq!(one("mvn r2, r0"), !a);
        prop_assert_eq!(one("neg r2, r0"), a.wrapping_neg());
        prop_assert_eq!(one("eor r2, r0"), c ^ a);
        prop_assert_eq!(one("add r2, r0, r1, lsl #3"), a.wrapping_add(b << 3));
        prop_assert_eq!(one("mul r2, r0, r1"), a.wrapping_mul(b));
        prop_assert_eq!(one("mla r2, r0, r1, r3"), a.wrapping_mul(b).wrapping_add(d));
        prop_assert_eq!(one("mls r2, r0, r1, r3"), d.wrapping_sub(a.wrapping_mul(b)));
        prop_assert_eq!(one("udiv r2, r0, r1"), a.checked_div(b).unwrap_or(0));
        let quotient = if b == 0 { 0 } else { (a as i32).wrapping_div(b as i32) };
        prop_assert_eq!(one("sdiv r2, r0, r1"), quotient as u32);
        let wide = |n: u64| (n as u32, (n >> 32) as u32);
        prop_assert_eq!(value("umull r2, r3, r0, r1"), wide(u64::from(a) * u64::from(b)));
        let product = i64::from(a as i32) * i64::from(b as i32);
        prop_assert_eq!(value("smull r2, r3, r0, r1"), wide(product as u64));
        let old = u64::from(c) | u64::from(d) << 32;
        prop_assert_eq!(
            value("umlal r2, r3, r0, r1"),
            wide(old.wrapping_add(u64::from(a) * u64::from(b)))
        );
        prop_assert_eq!(one("smmul r2, r0, r1"), (product >> 32) as u32);
        let top = i64::from(d as i32) << 32;
        prop_assert_eq!(one("smmla r2, r0, r1, r3"), (top.wrapping_add(product) >> 32) as u32);
        prop_assert_eq!(one("smmls r2, r0, r1, r3"), (top.wrapping_sub(product) >> 32) as u32);
        let halves = i32::from(a as i16).wrapping_mul(b as i32 >> 16) as u32;
        prop_assert_eq!(one("smulbt r2, r0, r1"), halves);
        prop_assert_eq!(one("smlabt r2, r0, r1, r3"), d.wrapping_add(halves));
        prop_assert_eq!(one("clz r2, r0"), a.leading_zeros());
        prop_assert_eq!(one("rev r2, r0"), a.swap_bytes());
        prop_assert_eq!(one("rbit r2, r0"), a.reverse_bits());
        prop_assert_eq!(one("rev16 r2, r0"), a.swap_bytes().rotate_left(16));
        prop_assert_eq!(one("revsh r2, r0"), (a as u16).swap_bytes() as i16 as u32);
        prop_assert_eq!(one("uxtb r2, r0"), a & 0xff);
        prop_assert_eq!(one("sxth r2, r0, ror #8"), a.rotate_right(8) as i16 as u32);
        prop_assert_eq!(one("uxtab r2, r1, r0"), b.wrapping_add(a & 0xff));
        prop_assert_eq!(one("ubfx r2, r0, #5, #7"), a >> 5 & 0x7f);
        prop_assert_eq!(one("sbfx r2, r0, #5, #7"), ((a << 20) as i32 >> 25) as u32);
        prop_assert_eq!(one("bfi r2, r0, #5, #7"), (c & !0xfe0) | ((a & 0x7f) << 5));
        prop_assert_eq!(one("bfc r2, #5, #7"), c & !0xfe0);
        prop_assert_eq!(one("movw r2, #4660\nmovt r2, #22136"), 0x5678_1234);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~]{0,40}", more in ".{0,20}") {
        let _ = Machine::default().code(&V7, &text);
        let _ = Machine::default().code(&V7, &format!("ldr {more}"));
        let _ = Machine::default().code(&V7, &format!("L: b {more}"));
    }
}

#[test]
fn vector_registers_copy_memory() {
    let m = two("VLDR D16,[R0]\nVMOV R2,R3,D16\nVMOV D1,R3,R2\nVMOV R4,S2\nVSTR D16,[R1]");
    assert_eq!((m.reg("R2"), m.reg("R3"), m.reg("R4")), (5, 0, 0));
    assert_eq!(m.reg("D1"), 5 << 32);
    // Words, and what is stored depends on what was loaded.
    let sizes: Vec<u8> = m.events.iter().map(|e| e.size).collect();
    assert_eq!(sizes, [4, 4, 4, 4]);
    assert_eq!(m.events[2].data_deps, Deps::from([0, 1]));
    // With the extension, 64 bits are one access.
    let mut m = Machine::default();
    let x = m.location("x");
    m.set("R0", x);
    m.poke(x, 8, 1 << 40);
    m.run(&Arm { lpae: true }, "VLDR D0,[R0]\nVSTR D0,[R0,#8]\nVLDR S4,[R0]");
    let sizes: Vec<u8> = m.events.iter().map(|e| e.size).collect();
    assert_eq!((sizes, m.peek(x + 8, 8)), (vec![8, 8, 4], 1 << 40));
    let m = run("VMOV.I32 D3,#7\nVMOV S6,R5\nVMOVEQ.F64 D4,D3");
    assert_eq!((m.reg("D3"), m.reg("D4")), (7 << 32, 0));
    for wrong in
        ["VMOV D0,S0", "VMOV S0,R0,R1", "VLD1 {D0},[R0]", "VLDMIA R0,{D0,D2}", "VADD.F64 D0,D1,D2"]
    {
        error(wrong);
    }
}
