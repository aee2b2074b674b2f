use super::Ppc;
use crate::Isa;
use crate::seq::{Deps, Machine, What};
use litmake_ops::{Op, tag};
use proptest::prelude::*;

fn error(text: &str) -> String {
    Machine::default().code(&Ppc, text).expect_err("is refused")
}

/// With r3 = x, r4 = y and x = 5, y = 7.
fn two(text: &str) -> Machine {
    let mut m = Machine::default();
    let (x, y) = (m.location("x"), m.location("y"));
    m.set("r3", x).set("r4", y);
    m.poke(x, 4, 5);
    m.poke(y, 4, 7);
    m.run(&Ppc, text);
    m
}

#[test]
fn registers_have_the_names_that_herd_prints() {
    let name = |n: &str| Ppc.register(n).map(|r| (r.name, r.bits, r.shown_bits));
    assert_eq!(name("r5"), Some(("r5".to_string(), 64, 32)));
    assert_eq!(name("%r31"), Some(("r31".to_string(), 64, 32)));
    assert_eq!(name("%x0"), Some(("%x0".to_string(), 64, 32)));
    assert_eq!(name("r32"), None);
    assert_eq!(name("r01"), None);
    assert_eq!(name("5"), None);
}

#[test]
fn dependencies_of_litmus_tests() {
    let m = two("lwz r5,0(r3)\nxor r6,r5,r5\naddi r6,r6,1\nstw r6,0(r4)");
    let store = &m.events[1];
    assert_eq!((store.value, store.size), (1, 4));
    assert_eq!(store.data_deps, Deps::from([0]));
    let m = two("lwz r5,0(r3)\nxor r6,r5,r5\nlwzx r7,r6,r4");
    assert_eq!(m.events[1].addr_deps, Deps::from([0]));
    assert_eq!(m.reg("r7"), 7);
    let m = two("lwz r5,0(r3)\ncmpw r5,r5\nbeq LC00\nLC00: stw r5,0(r4)");
    assert_eq!(m.events[1].ctrl_deps, Deps::from([0]));
}

#[test]
fn register_0_is_no_base() {
    let mut m = two("addi r5,r0,9\nlwzx r6,r0,r4\naddis r7,r0,1\nadd r8,r0,r0");
    assert_eq!((m.reg("r5"), m.reg("r6"), m.reg("r7")), (9, 7, 0x10000));
    m = Machine::default();
    m.set("r0", 4);
    m.run(&Ppc, "addi r5,r0,9\nadd r8,r0,r0\nisel r9,r0,r0,eq");
    assert_eq!((m.reg("r5"), m.reg("r8"), m.reg("r9")), (9, 8, 4));
    // But where it can be nothing else, it is what it holds.
    let x = m.location("x");
    m.poke(x + 4, 4, 7);
    m.set("r0", x);
    m.run(&Ppc, "lwz r5,4(r0)");
    assert_eq!(m.reg("r5"), 7);
}

#[test]
fn compiled_loops() {
    // As gcc writes them: registers are bare numbers.
    let text = ".L2: lwarx 9,0,3\ncmpwi 0,9,5\nbne 0,.L3\nstwcx. 10,0,3\nbne 0,.L2\n\
                .L3: isync\nmfcr 3\nrlwinm 3,3,3,31,31\nblr\nli 3,7";
    let mut m = Machine::default();
    let x = m.location("x");
    m.set("r3", x).set("r10", 6);
    m.poke(x, 4, 5);
    m.run(&Ppc, text);
    assert_eq!((m.peek(x, 4), m.reg("r3")), (6, 1));
    assert_eq!(m.events[0].tags, tag::EX);
    assert_eq!(m.events[1].what, What::StoreEx);
    assert_eq!(m.events[2].tags, tag::ISYNC);
    // The branches depend on the load, and on the write by CR0.
    assert_eq!(m.events[2].ctrl_deps, Deps::from([0, 1]));

    // CR0 depends on the write, so that a branch on it and `isync` order what is after.
    let code = Machine::default().code(&Ppc, "stwcx. 10,0,3\nbne 0,.+4");
    let code = code.expect("is read");
    let status = code.insts[0].ops.iter().find_map(|op| match op {
        Op::StoreEx { status_dep, .. } => Some(*status_dep),
        _ => None,
    });
    assert_eq!(status, Some(true));

    // A load, a comparison with itself and a branch to the next line order by control.
    let m = two("lwz 9,0(3)\ncmpw 7,9,9\nbne- 7,$+4\nisync\nlwz 10,0(4)");
    assert_eq!(m.events[2].ctrl_deps, Deps::from([0]));
}

#[test]
fn fences() {
    let m = two("sync\nhwsync\nlwsync\nsync 1\nsync 0\neieio\nisync\nptesync\nsync 4, 0");
    let tags: Vec<_> = m.events.iter().map(|e| e.tags).collect();
    let (s, l) = (tag::PPC_SYNC, tag::LWSYNC);
    assert_eq!(tags, [s, s, l, l, s, tag::EIEIO, tag::ISYNC, s, s]);
}

#[test]
fn symbols() {
    let mut m = Machine::default();
    let x = m.location("x");
    m.poke(x, 4, 5);
    m.poke(x + 8, 4, 6);
    // The TOC pointer is not needed to reach what is named.
    m.set("r2", 0x1234);
    let text = "addis 9,2,x@toc@ha\naddi 9,9,x@toc@l\nlwz 5,0(9)\n\
                addis 6,2,x+8@toc@ha\nlwz 6,x+8@toc@l(6)\n\
                addis 7,2,x@got@ha\nld 7,x@got@l(7)\nld 8,x@got(2)\n\
                pld 10,x@got@pcrel(0),1\npaddi 11,0,x@PCREL,1\nlis 12,x@ha\nla 12,x@l(12)\n\
                addis 2,12,.TOC.-f@ha\naddi 2,2,.TOC.-f@l";
    m.run(&Ppc, text);
    assert_eq!((m.reg("r5"), m.reg("r6")), (5, 6));
    for r in ["r2", "r7", "r8", "r9", "r10", "r11", "r12"] {
        assert_eq!(m.reg(r), x, "{r}");
    }
    assert_eq!(m.events.len(), 2);
    assert!(error("addi 3,2,x@got@l").contains("names a slot that holds an address"));
    assert!(error("addi 3,2,x@tprel@l").contains("unknown relocation `@tprel@l`"));
}

#[test]
fn update_forms_and_quadwords() {
    let mut m = Machine::default();
    let x = m.location("x");
    m.set("r3", x).set("r4", 0x11).set("r5", 0x22);
    let text = "stdu r4,8(r3)\nlwzu r6,-8(r3)\nstq r4,0(r3)\nlq r8,0(r3)\n\
                lqarx r10,0,r3\nstqcx. r10,0,r3\nlhbrx r12,0,r3\nstwbrx r4,0,r3\nlha r13,2(r3)";
    m.run(&Ppc, text);
    assert_eq!(m.reg("r3"), x);
    assert_eq!((m.reg("r8"), m.reg("r9")), (0x11, 0x22));
    assert_eq!((m.reg("r10"), m.reg("r11")), (0x11, 0x22));
    assert_eq!((m.events[2].size, m.events[2].value), (16, 0x11 << 64 | 0x22));
    assert_eq!((m.reg("r12"), m.reg("r13")), (0x2200, 0x1100));
    assert!(error("lq 9,0(3)").contains("the even first register of a pair"));
}

#[test]
fn condition_register() {
    let mut m = Machine::default();
    m.set("r3", 5).set("r4", 7);
    let text = "cmpd cr7,r3,r4\nisel r5,r3,r4,4*cr7+lt\nisel r6,r3,r4,29\nsetb r7,cr7\n\
                crnot 4*cr1+eq,4*cr7+eq\nsetbc r8,4*cr1+eq\nsetnbcr r9,4*cr7+eq\nmfcr r10\n\
                cmplwi r3,65535\nsetb r11,cr0\ncrset so\nbso cr0,L\nli r12,1\nL: bdnz .+8\nli r13,1";
    m.run(&Ppc, text);
    let got: Vec<u128> = (5..14).map(|i| m.reg(&format!("r{i}"))).collect();
    let minus = u128::from(u64::MAX);
    assert_eq!(got, [5, 7, minus, 1, minus, 0x0200_0008, minus, 0, 0]);
}

#[test]
fn calls_return() {
    let mut m = Machine::default();
    m.set("r3", 1);
    let text = "mflr 0\nbl f\nmtlr 0\naddi 3,3,1\nbeqlr\nli 3,0\nf: addi 3,3,1\ncmpwi 3,2\nblr";
    m.run(&Ppc, text);
    assert_eq!(m.reg("r3"), 3);
}

#[test]
fn conditional_traps_end_the_thread() {
    let text = "twi 4,r3,5\nli r4,1\ntdi 16,r3,4\nli r5,1\ntd 1,r3,r6\nli r7,1";
    let mut m = Machine::default();
    m.set("r3", 5);
    m.run(&Ppc, text);
    assert_eq!((m.reg("r4"), m.reg("r5")), (0, 0));
    let mut m = Machine::default();
    m.set("r3", 6).set("r6", 1);
    m.run(&Ppc, text);
    assert_eq!((m.reg("r4"), m.reg("r5"), m.reg("r7")), (1, 1, 0));
}

#[test]
fn a_bare_0_is_no_base() {
    let mut m = Machine::default();
    m.set("r0", 0x1000);
    m.poke(4, 4, 7);
    m.poke(0x1004, 4, 9);
    m.run(&Ppc, "lwz r5,4(0)\nlwz r6,4(r0)\nstwu r5,8(r7)");
    assert_eq!((m.reg("r5"), m.reg("r6"), m.reg("r7")), (7, 9, 8));
}

#[test]
fn diagnostics() {
    assert_eq!(
        error("lwzz r1,0(r2)"),
        "t.litmus:1:1: error: unknown Power instruction `lwzz`\n \
         1 | lwzz r1,0(r2)\n   | ^^^^^^^^^^^^^\n  help: did you mean `lwz`?"
    );
    assert_eq!(
        error("li r1,1\nstw r1,0(x)"),
        "t.litmus:2:10: error: expected a register, found `x`\n \
         2 | stw r1,0(x)\n   |          ^"
    );
    assert_eq!(
        error("b L\nLC: nop"),
        "t.litmus:1:3: error: no label `L` in this thread\n \
         1 | b L\n   |   ^\n  help: did you mean `LC`?"
    );
    assert!(error("bne- 7,.+40").contains("the distance of an instruction of this thread"));
    assert!(error("cmpw cr9,r1,r2").contains("a field of the condition register"));
    assert!(error("addi r1,r2").contains("expected `,`, found the end of the instruction"));
    assert!(error("lwz. r1,0(r2)").contains("unknown Power instruction"));
    assert!(error("rlwinm 1,2,0,0x101").contains("a mask whose ones are contiguous"));
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
        any::<i32>().prop_map(|n| n as u64),
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(i64::MIN as u64),
        Just(i32::MIN as u64),
        0u64..130
    ]
}

/// The value of r5 after code that begins with r3 = a, r4 = b and r5 = c.
fn value(a: u64, b: u64, c: u64, text: &str) -> u64 {
    let mut m = Machine::default();
    m.set("r3", a.into()).set("r4", b.into()).set("r5", c.into());
    m.run(&Ppc, text);
    m.reg("r5") as u64
}

proptest! {
    #[test]
    fn arithmetic(a in word(), b in word(), c in word()) {
        let one = |text: &str| value(a, b, c, text);
        let (wa, wb) = (a as u32, b as u32);
        let (sa, sb) = (wa as i32, wb as i32);
        prop_assert_eq!(one("add r5,r3,r4"), a.wrapping_add(b));
        prop_assert_eq!(one("subf r5,r3,r4"), b.wrapping_sub(a));
        prop_assert_eq!(one("sub r5,r3,r4"), a.wrapping_sub(b));
        prop_assert_eq!(one("nor r5,r3,r4"), !(a | b));
        prop_assert_eq!(one("nand r5,r3,r4"), !(a & b));
        prop_assert_eq!(one("eqv r5,r3,r4"), !(a ^ b));
        prop_assert_eq!(one("andc r5,r3,r4"), a & !b);
        prop_assert_eq!(one("orc r5,r3,r4"), a | !b);
        prop_assert_eq!(one("not r5,r3"), !a);
        prop_assert_eq!(one("neg r5,r3"), a.wrapping_neg());
        prop_assert_eq!(one("mullw r5,r3,r4"), (i64::from(sa) * i64::from(sb)) as u64);
        prop_assert_eq!(one("mulhwu r5,r3,r4"), (u64::from(wa) * u64::from(wb)) >> 32);
        prop_assert_eq!(one("mulhd r5,r3,r4"), ((a as i64 as i128 * b as i64 as i128) >> 64) as u64);
        // The high half is undefined; machines extend the sign.
        let rest = if sb == 0 { 0 } else { sa.wrapping_rem(sb) };
        prop_assert_eq!(one("modsw r5,r3,r4"), rest as u64);
        prop_assert_eq!(one("divwu r5,r3,r4"), u64::from(wa.checked_div(wb).unwrap_or(0)));
        let quotient = if b == 0 { 0 } else { (a as i64).wrapping_div(b as i64) };
        prop_assert_eq!(one("divd r5,r3,r4"), quotient as u64);
        prop_assert_eq!(one("extsw r5,r3"), sa as u64);
        prop_assert_eq!(one("extsb r5,r3"), a as i8 as u64);
        prop_assert_eq!(one("cntlzw r5,r3"), u64::from(wa.leading_zeros()));
        prop_assert_eq!(one("cnttzd r5,r3"), u64::from(a.trailing_zeros()));
        prop_assert_eq!(one("brd r5,r3"), a.swap_bytes());
        prop_assert_eq!(one("brw r5,r3"), a.swap_bytes().rotate_left(32));
        prop_assert_eq!(one("andi. r5,r3,65535"), a & 0xffff);
        prop_assert_eq!(one("oris r5,r3,65535"), a | 0xffff_0000);
        prop_assert_eq!(one("addis r5,r3,-1"), a.wrapping_sub(0x10000));
        prop_assert_eq!(one("addis r5,r3,65535"), a.wrapping_sub(0x10000));
        prop_assert_eq!(one("mulli r5,r3,-7"), a.wrapping_mul(7).wrapping_neg());
        prop_assert_eq!(one("maddld r5,r3,r4,r5"), a.wrapping_mul(b).wrapping_add(c));
        let signed = |n: u64| i128::from(n as i64);
        let high = (signed(a) * signed(b) + signed(c)) >> 64;
        prop_assert_eq!(one("maddhd r5,r3,r4,r5"), high as u64);
        let high = (u128::from(a) * u128::from(b) + u128::from(c)) >> 64;
        prop_assert_eq!(one("maddhdu r5,r3,r4,r5"), high as u64);
        let ones = a.to_le_bytes().map(|byte| byte.count_ones() as u8);
        prop_assert_eq!(one("popcntb r5,r3"), u64::from_le_bytes(ones));
        // Sums of two words, the carry between them.
        let sum = (u128::from(a) | u128::from(b) << 64).wrapping_add(u128::from(c));
        prop_assert_eq!(one("addc r6,r3,r5\naddze r5,r4"), (sum >> 64) as u64);
        let less = one("subfc r6,r4,r3\nsubfe r5,r5,r5");
        prop_assert_eq!(less, if a < b { u64::MAX } else { 0 });
        prop_assert_eq!(one("subfic r5,r3,9"), 9u64.wrapping_sub(a));
        prop_assert_eq!(one("subc r6,r3,r4\nsubfe r5,r5,r5"), less);
        prop_assert_eq!(one("extswsli r5,r3,3"), (i64::from(sa) << 3) as u64);
    }

    #[test]
    fn shifts_and_rotates(a in word(), b in word(), c in word(), n in 0u32..32, m in 0u32..32) {
        let one = |text: &str| value(a, b, c, text);
        let (w, six, seven) = (a as u32, (b & 63) as u32, (b & 127) as u32);
        prop_assert_eq!(one("slw r5,r3,r4"), u64::from(w.checked_shl(six).unwrap_or(0)));
        prop_assert_eq!(one("srw r5,r3,r4"), u64::from(w.checked_shr(six).unwrap_or(0)));
        prop_assert_eq!(one("sld r5,r3,r4"), a.checked_shl(seven).unwrap_or(0));
        prop_assert_eq!(one("srd r5,r3,r4"), a.checked_shr(seven).unwrap_or(0));
        prop_assert_eq!(one("sraw r5,r3,r4"), (w as i32 >> six.min(31)) as u64);
        prop_assert_eq!(one("srad r5,r3,r4"), (a as i64 >> seven.min(63)) as u64);
        // A division by a power of two that rounds to 0.
        let text = format!("srawi r5,r3,{n}\naddze r5,r5");
        prop_assert_eq!(one(&text), (i64::from(w as i32) / (1i64 << n)) as u64);
        prop_assert_eq!(one(&format!("slwi r5,r3,{n}")), u64::from(w << n));
        prop_assert_eq!(one(&format!("srwi r5,r3,{n}")), u64::from(w >> n));
        prop_assert_eq!(one(&format!("sldi r5,r3,{n}")), a << n);
        prop_assert_eq!(one(&format!("srdi r5,r3,{n}")), a >> n);
        prop_assert_eq!(one(&format!("clrldi r5,r3,{n}")), a << n >> n);
        prop_assert_eq!(one(&format!("rotlwi r5,r3,{n}")), u64::from(w.rotate_left(n)));
        prop_assert_eq!(one("rotld r5,r3,r4"), a.rotate_left(six));
        prop_assert_eq!(one("rotlw r5,r3,r4"), u64::from(w.rotate_left((b & 31) as u32)));
        // A field from the right, and back.
        if n > 0 && n + m <= 32 {
            let field = (1u64 << n) - 1;
            let (at, low) = (m, 32 - n - m);
            prop_assert_eq!(one(&format!("extrwi r5,r3,{n},{at}")), a >> low & field);
            prop_assert_eq!(
                one(&format!("insrwi r5,r3,{n},{at}")),
                c & !(field << low) | (a & field) << low
            );
            prop_assert_eq!(
                one(&format!("rlwinm r5,r3,{m},{m},{}", m + n - 1)),
                u64::from(w.rotate_left(m)) & field << low
            );
        }
        // A mask written as such; where it wraps, the high word is the rotated one too.
        if n + m < 32 {
            let row = (u32::MAX >> (31 - m)).rotate_left(n);
            for mask in [row, row.rotate_left(7), !row] {
                if mask == 0 {
                    continue;
                }
                let text = format!("rlwinm r5,r3,{n},0x{mask:x}");
                prop_assert_eq!(one(&text) as u32, w.rotate_left(n) & mask, "{}", text);
            }
        }
        let (begin, end) = (n, m);
        if begin > end + 1 {
            // The mask wraps around; of a word, both halves are the rotated one.
            let hole = (1u64 << (31 - end)) - (1 << (32 - begin));
            let both = u64::from(w) | u64::from(w) << 32;
            prop_assert_eq!(one(&format!("rlwinm r5,r3,0,{begin},{end}")), both & !hole);
        }
    }

    #[test]
    fn comparisons(a in word(), b in word()) {
        let holds = |compare: &str, branch: &str| {
            value(a, b, 1, &format!("{compare} cr2,r3,r4\nb{branch} cr2,L\nli r5,0\nL:")) == 1
        };
        let (wa, wb) = (a as u32, b as u32);
        prop_assert_eq!(holds("cmpd", "lt"), (a as i64) < b as i64);
        prop_assert_eq!(holds("cmpld", "le"), a <= b);
        prop_assert_eq!(holds("cmpw", "gt"), wa as i32 > wb as i32);
        prop_assert_eq!(holds("cmplw", "ge"), wa >= wb);
        prop_assert_eq!(holds("cmpw", "ne"), wa != wb);
        prop_assert_eq!(holds("cmpd", "eq"), a == b);
        let sign = value(a, b, 1, "add. r6,r3,r4\nblt L\nli r5,0\nL:") == 1;
        prop_assert_eq!(sign, (a.wrapping_add(b) as i64) < 0);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~]{0,40}", more in ".{0,20}") {
        let _ = Machine::default().code(&Ppc, &text);
        for head in ["lwz 1,", "rlwinm 1,2,", "isel 1,2,3,", "bne ", "extrwi 1,2,"] {
            let _ = Machine::default().code(&Ppc, &format!("{head}{more}"));
        }
    }
}

#[test]
fn vector_registers_copy_memory() {
    let mut m = Machine::default();
    let x = m.location("x");
    m.poke(x, 8, 0x11);
    m.poke(x + 8, 8, 0x22);
    m.set("r3", x).set("r4", 16).set("r5", 0x33);
    let text = "lxvd2x vs0,0,r3\nxxpermdi vs1,vs0,vs0,2\nmfvsrd r6,vs1\nmfvsrld r7,vs1\n\
                lxvx vs2,0,r3\nmfvsrd r8,v31\nmtvsrdd vs3,0,r5\nstxvx vs3,r4,r3\nmtvsrd f4,r5\n\
                xxlor vs5,vs4,vs4\nstfd f5,32(r3)\nxxspltib v0,1\nmfvsrwz r9,v0";
    m.run(&Ppc, text);
    assert_eq!((m.reg("r6"), m.reg("r7"), m.reg("r8")), (0x22, 0x11, 0));
    assert_eq!(m.reg("vs2"), 0x22 << 64 | 0x11);
    assert_eq!((m.peek(x + 16, 8), m.peek(x + 24, 8)), (0x33, 0));
    assert_eq!((m.peek(x + 32, 8), m.reg("r9")), (0x33, 0x0101_0101));
    assert!(m.events.iter().all(|e| e.size == 8));
    assert!(error("xxlor vs64,vs0,vs0").contains("a register such as"));
}
