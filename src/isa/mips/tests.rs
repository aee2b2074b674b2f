use super::Mips;
use crate::Isa;
use crate::seq::{Deps, Machine, What};
use litmake_ops::tag;
use proptest::prelude::*;

const HERD: Mips = Mips { delay_slots: false };
const SLOTS: Mips = Mips { delay_slots: true };

fn error(text: &str) -> String {
    Machine::default().code(&HERD, text).expect_err("is refused")
}

fn with(isa: &Mips, text: &str) -> Machine {
    let mut m = Machine::default();
    let (x, y) = (m.location("x"), m.location("y"));
    m.set("$4", x).set("$5", y);
    m.poke(x, 4, 5);
    m.poke(y, 4, 7);
    m.run(isa, text);
    m
}

/// With $4 = x, $5 = y and x = 5, y = 7.
fn two(text: &str) -> Machine {
    with(&HERD, text)
}

#[test]
fn registers_have_the_names_that_herd_prints() {
    let name = |n: &str| HERD.register(n).map(|r| (r.name, r.bits, r.shown_bits));
    assert_eq!(name("$2"), Some(("$2".to_string(), 64, 32)));
    assert_eq!(name("v0"), name("$2"));
    assert_eq!(name("$a0"), name("$4"));
    assert_eq!(name("$s8"), name("fp"));
    assert_eq!(name("a4"), Some(("$a4".to_string(), 64, 32)));
    assert_eq!(name("%x0"), Some(("%x0".to_string(), 64, 32)));
    assert_eq!(name("$32"), None);
    assert_eq!(name("$07"), None);
    assert_eq!(name("x"), None);
}

#[test]
fn dependencies_of_litmus_tests() {
    let m = two("lw $2,0($4)\nxor $3,$2,$2\naddiu $3,$3,1\nsw $3,0($5)");
    assert_eq!((m.events[1].value, m.events[1].size), (1, 4));
    assert_eq!(m.events[1].data_deps, Deps::from([0]));
    let m = two("lw $2,($4)\nxor $3,$2,$2\naddu $3,$5,$3\nlw $6,0($3)");
    assert_eq!((m.reg("$6"), m.events[1].addr_deps.clone()), (7, Deps::from([0])));
    let m = two("lw $2,0($4)\nbne $2,$2,LC00\nLC00: ori $3,$0,1\nsw $3,0($5)");
    assert_eq!(m.events[1].ctrl_deps, Deps::from([0]));
}

#[test]
fn constants_are_as_herd_has_them() {
    let m = two("li $2,65535\nlui $3,65535\ndaddiu $6,$0,65535\naddiu $7,$0,-1\nori $8,$0,65535\n\
         li $9,-1\nli $10,0xffffffff\ndli $11,0xffffffff\nmove $0,$9\nmove $12,$0");
    let minus = u128::from(u64::MAX);
    assert_eq!((m.reg("$2"), m.reg("$8")), (65535, 65535));
    assert_eq!(m.reg("$3"), 0xffff_ffff_ffff_0000);
    for reg in ["$6", "$7", "$9", "$10"] {
        assert_eq!(m.reg(reg), minus, "{reg}");
    }
    assert_eq!((m.reg("$11"), m.reg("$12")), (0xffff_ffff, 0));
}

#[test]
fn exclusives() {
    let text = "1: ll $2,0($4)\naddiu $3,$2,1\nsc $3,0($4)\nbeqz $3,1b";
    let m = two(text);
    assert_eq!((m.reg("$2"), m.reg("$3")), (5, 1));
    assert_eq!(m.events[0].tags, tag::EX);
    assert_eq!((m.events[1].what.clone(), m.events[1].value), (What::StoreEx, 6));
    assert_eq!(m.reg_deps("$3"), Deps::from([0]));
    let m = two("lld $2,0($4)\nscd $6,0($4)");
    assert_eq!((m.events[1].size, m.reg_deps("$6")), (8, Deps::new()));
    let mut m = Machine::default();
    m.fail = true;
    m.run(&HERD, "li $3,5\nsc $3,0($4)");
    assert_eq!(m.reg("$3"), 0);
}

#[test]
fn fences() {
    let m = two("sync\nsync 0\nsync 4\nsync 0x10\nsync 0x11\nsync 18\nsync 19\nsync 1\nsync_wmb");
    let tags: Vec<_> = m.events.iter().map(|e| e.tags).collect();
    let s = tag::MIPS_SYNC;
    let (w, r) = (tag::SYNC_WMB, tag::SYNC_RMB);
    let (acq, rel) = (tag::SYNC_ACQUIRE, tag::SYNC_RELEASE);
    assert_eq!(tags, [s, s, w, tag::SYNC_MB, acq, rel, r, s, w]);
}

#[test]
fn delay_slots() {
    let text = "beq $0,$0,L\nli $2,1\nli $3,1\nL: li $6,1";
    let got = |m: Machine| [m.reg("$2"), m.reg("$3"), m.reg("$6")];
    assert_eq!(got(two(text)), [0, 0, 1]);
    assert_eq!(got(with(&SLOTS, text)), [1, 0, 1]);
    // Not taken: the slot is executed once.
    let m = with(&SLOTS, "bne $0,$0,L\naddiu $2,$2,1\naddiu $3,$3,1\nL: nop");
    assert_eq!(got(m), [1, 1, 0]);
    // Likely: only where taken. Compact: never.
    let m = with(&SLOTS, "bnel $0,$0,L\nli $2,1\nli $3,1\nL: beqzc $0,M\nli $6,1\nM:");
    assert_eq!(got(m), [0, 1, 0]);
    let m = with(&SLOTS, "beql $0,$0,L\nli $2,1\nli $3,1\nL: nop");
    assert_eq!(got(m), [1, 0, 0]);
    // The condition is that of before the slot; a jump into the slot runs it alone.
    let m = with(&SLOTS, "li $2,1\nbnez $2,L\nli $2,0\nli $3,1\nL: li $6,9\nb M\nnop\nM:");
    assert_eq!(got(m), [0, 0, 9]);
    let m = with(&SLOTS, "b S\nnop\nbeq $0,$0,E\nS: li $2,1\nli $3,1\nE: nop");
    assert_eq!(got(m), [1, 1, 0]);
    // Calls return after the slot.
    let text = "jal f\nli $2,1\naddiu $3,$2,1\nb E\nnop\nf: jr $31\nli $6,4\nE: nop";
    assert_eq!(got(with(&SLOTS, text)), [1, 2, 4]);
    // What the code says comes first.
    let text = ".set push\n.set noreorder\n.set nomacro\nb L\nli $2,1\n.set pop\n\
                L: b M\nli $3,1\nM: nop";
    assert_eq!(got(two(text)), [1, 0, 0]);
    // The slot is no more ordered after the branch than before it.
    let m = with(&SLOTS, "lw $2,0($4)\nbeqz $2,L\nlw $3,0($5)\nL: lw $6,0($5)");
    assert!(m.events[1].ctrl_deps.is_empty());
    assert_eq!(m.events[2].ctrl_deps, Deps::from([0]));

    let refused = |text: &str| Machine::default().code(&SLOTS, text).expect_err("is refused");
    assert!(refused("L: b L").contains("nothing follows this branch"));
    assert!(refused("L: b L\nb L").contains("a branch cannot be in the delay slot"));
}

#[test]
fn symbols() {
    let mut m = Machine::default();
    let x = m.location("x");
    m.poke(x, 4, 5);
    m.poke(x + 4, 4, 6);
    m.set("$28", 0x1234);
    let text = "lui $2,%hi(x)\nlw $3,%lo(x+4)($2)\naddiu $2,$2,%lo(x)\n\
                lui $6,%highest(x)\ndaddiu $6,$6,%higher(x)\ndsll $6,$6,16\n\
                daddiu $6,$6,%hi(x)\ndsll $6,$6,16\nlw $6,%lo(x)($6)\n\
                ld $7,%got_page(x)($28)\nlw $7,%got_ofst(x)($7)\n\
                ld $8,%got_disp(x)($gp)\nla $9,x+4\nlw $10,x\ndaddiu $11,$28,%gp_rel(x)\n\
                lw $12,%got(y)($28)\nlw $13,%got(x)($28)\naddiu $13,$13,%lo(x)";
    m.run(&HERD, text);
    assert_eq!((m.reg("$2"), m.reg("$3"), m.reg("$6"), m.reg("$7")), (x, 6, 5, 5));
    assert_eq!((m.reg("$8"), m.reg("$9"), m.reg("$10"), m.reg("$11")), (x, x + 4, 5, x));
    // The slot of a symbol with a low part holds the page; else, the address.
    assert_eq!((m.reg("$12"), m.reg("$13")), (m.location("y"), x));
    assert_eq!(m.events.len(), 4);

    // Prologues do no harm, and functions are called through their slots.
    let text = ".cpload $25\nlui $28,%hi(%neg(%gp_rel(f)))\ndaddu $28,$28,$25\n\
                daddiu $28,$28,%lo(%neg(%gp_rel(f)))\nlui $2,%hi(_gp_disp)\n\
                addiu $2,$2,%lo(_gp_disp)\nlw $25,%call16(f)($28)\njalr $25\nli $3,2\njr $0\n\
                f: li $4,9\njr $31";
    let mut m = Machine::default();
    m.run(&HERD, text);
    assert_eq!((m.reg("$3"), m.reg("$4"), m.reg("$28")), (2, 9, 0));
    assert!(error("addiu $2,$2,%got(x)").contains("names a slot that holds an address"));
    assert!(error("addiu $2,$2,%tprel_lo(x)").contains("unknown relocation `%tprel_lo`"));
}

#[test]
fn traps() {
    let got = |text: &str| two(&format!("{text}\nli $2,1")).reg("$2");
    assert_eq!((got("teq $0,$0"), got("teq $3,$3,2"), got("break 6")), (0, 0, 0));
    assert_eq!(got("teq $5,$0,7"), 1);
    assert!(error("teq $5,$0").contains("a trap under a condition is not supported"));
}

#[test]
fn diagnostics() {
    assert_eq!(
        error("addiux $2,$2,1"),
        "t.litmus:1:1: error: unknown MIPS instruction `addiux`\n \
         1 | addiux $2,$2,1\n   | ^^^^^^^^^^^^^^\n  help: did you mean `addiu`?"
    );
    assert_eq!(
        error("nop\nlw $2,0($99)"),
        "t.litmus:2:9: error: expected a register, found `$99`\n \
         2 | lw $2,0($99)\n   |         ^^^"
    );
    assert!(error("lw $2,4").contains("expected `(` and a register"));
    assert!(error("sync 32").contains("the kind of `sync` is between 0 and 31, not 32"));
    assert!(error("beq $2,$3,L").contains("no label `L` in this thread"));
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<i32>().prop_map(|n| n as u64),
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(i32::MIN as u64),
        0u64..70
    ]
}

proptest! {
    #[test]
    fn arithmetic(a in word(), b in word(), c in word(), n in 0u32..32, m in 1u32..32) {
        let one = |text: &str| {
            let mut m = Machine::default();
            m.set("$3", a.into()).set("$4", b.into()).set("$2", c.into());
            m.run(&HERD, text);
            m.reg("$2") as u64
        };
        let (wa, wb) = (a as u32, b as u32);
        let (sa, sb) = (wa as i32, wb as i32);
        let sext = |n: u32| n as i32 as u64;
        prop_assert_eq!(one("addu $2,$3,$4"), sext(wa.wrapping_add(wb)));
        prop_assert_eq!(one("daddu $2,$3,$4"), a.wrapping_add(b));
        prop_assert_eq!(one("subu $2,$3,$4"), sext(wa.wrapping_sub(wb)));
        prop_assert_eq!(one("addiu $2,$3,-3"), sext(wa.wrapping_sub(3)));
        prop_assert_eq!(one("dsubu $2,$3"), c.wrapping_sub(a));
        prop_assert_eq!(one("nor $2,$3,$4"), !(a | b));
        prop_assert_eq!(one("not $2,$3"), !a);
        prop_assert_eq!(one("negu $2,$3"), sext(wa.wrapping_neg()));
        prop_assert_eq!(one("andi $2,$3,65535"), a & 0xffff);
        prop_assert_eq!(one("slt $2,$3,$4"), u64::from((a as i64) < b as i64));
        prop_assert_eq!(one("sltiu $2,$3,-1"), u64::from(a < u64::MAX));
        prop_assert_eq!(one("mul $2,$3,$4"), sext(wa.wrapping_mul(wb)));
        let product = i64::from(sa) * i64::from(sb);
        prop_assert_eq!(one("mult $3,$4\nmfhi $2"), sext((product >> 32) as u32));
        prop_assert_eq!(one("mult $3,$4\nmflo $2"), sext(product as u32));
        let held = i64::from(c as i32) << 32 | i64::from(wb);
        let sum = held.wrapping_add(product);
        let into = "mthi $2\nmtlo $4\n";
        prop_assert_eq!(one(&format!("{into}madd $3,$4\nmfhi $2")), (sum >> 32) as u64);
        prop_assert_eq!(one(&format!("{into}madd $3,$4\nmflo $2")), sext(sum as u32));
        let less = (held as u64).wrapping_sub(u64::from(wa) * u64::from(wb));
        prop_assert_eq!(one(&format!("{into}msubu $3,$4\nmfhi $2")), sext((less >> 32) as u32));
        let upper = (i64::from(n) << 16) as u64;
        prop_assert_eq!(one(&format!("aui $2,$3,{n}")), sext(wa.wrapping_add(n << 16)));
        prop_assert_eq!(one(&format!("daui $2,$3,{n}")), a.wrapping_add(upper));
        prop_assert_eq!(one("daui $2,$3,65535"), a.wrapping_sub(1 << 16));
        prop_assert_eq!(one(&format!("dahi $2,{n}")), c.wrapping_add(upper << 16));
        prop_assert_eq!(one(&format!("dati $2,$2,{n}")), c.wrapping_add(upper << 32));
        let wide = u128::from(a) * u128::from(b);
        prop_assert_eq!(one("dmultu $3,$4\nmfhi $2"), (wide >> 64) as u64);
        let (q, r) = match sb {
            0 => (0, 0),
            _ => (sa.wrapping_div(sb), sa.wrapping_rem(sb)),
        };
        prop_assert_eq!(one("div $0,$3,$4\nmflo $2"), q as u64);
        prop_assert_eq!(one("div $3,$4\nmfhi $2"), r as u64);
        prop_assert_eq!(one("ddivu $2,$3,$4"), a.checked_div(b).unwrap_or(0));
        prop_assert_eq!(one("seb $2,$3"), a as i8 as u64);
        prop_assert_eq!(one("seh $2,$3"), a as i16 as u64);
        prop_assert_eq!(one("clz $2,$3"), u64::from(wa.leading_zeros()));
        prop_assert_eq!(one("dclo $2,$3"), u64::from(a.leading_ones()));
        prop_assert_eq!(one("wsbh $2,$3"), sext(wa.swap_bytes().rotate_left(16)));
        prop_assert_eq!(one("dsbh $2,$3\ndshd $2,$2"), a.swap_bytes());
        prop_assert_eq!(one(&format!("sll $2,$3,{n}")), sext(wa << n));
        prop_assert_eq!(one(&format!("srl $2,$3,{n}")), sext(wa >> n));
        prop_assert_eq!(one(&format!("sra $2,$3,{n}")), (sa >> n) as u64);
        prop_assert_eq!(one(&format!("dsll32 $2,$3,{n}")), a << 32 << n);
        prop_assert_eq!(one(&format!("dsra $2,$3,{n}")), (a as i64 >> n) as u64);
        prop_assert_eq!(one("sllv $2,$3,$4"), sext(wa << (b & 31)));
        prop_assert_eq!(one("dsrlv $2,$3,$4"), a >> (b & 63));
        prop_assert_eq!(one("rotrv $2,$3,$4"), sext(wa.rotate_right((b & 31) as u32)));
        prop_assert_eq!(one("movz $2,$3,$4"), if b == 0 { a } else { c });
        prop_assert_eq!(one("movn $2,$3,$4"), if b != 0 { a } else { c });
        prop_assert_eq!(one("seleqz $2,$3,$4"), if b == 0 { a } else { 0 });
        prop_assert_eq!(one("selnez $2,$3,$4"), if b != 0 { a } else { 0 });
        prop_assert_eq!(one("dlsa $2,$3,$4,3"), (a << 3).wrapping_add(b));
        let field = (1u64 << m) - 1;
        prop_assert_eq!(one(&format!("dext $2,$3,{n},{m}")), a >> n & field);
        let inserted = c & !(field << n) | (a & field) << n;
        prop_assert_eq!(one(&format!("dins $2,$3,{n},{m}")), inserted);
        if n + m <= 32 {
            prop_assert_eq!(one(&format!("ext $2,$3,{n},{m}")), u64::from(wa) >> n & field);
            prop_assert_eq!(one(&format!("ins $2,$3,{n},{m}")), sext(inserted as u32));
        }
        for (branch, taken) in [
            ("beq $3,$4", a == b), ("bne $3,$4", a != b), ("blez $3", a as i64 <= 0),
            ("bgtz $3", a as i64 > 0), ("bltz $3", (a as i64) < 0), ("bgez $3", a as i64 >= 0),
            ("bgeu $3,$4", a >= b), ("bltuc $3,$4", a < b), ("bgt $3,$4", a as i64 > b as i64),
        ] {
            let got = one(&format!("li $2,1\n{branch},L\nli $2,0\nL: nop")) == 1;
            prop_assert_eq!(got, taken, "{}", branch);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~]{0,40}", more in ".{0,20}", slots in any::<bool>()) {
        let isa = Mips { delay_slots: slots };
        let _ = Machine::default().code(&isa, &text);
        for head in ["lw $2,", "lui $2,%hi(", "L: beq $2,", "sync ", "dext $2,$3,"] {
            let _ = Machine::default().code(&isa, &format!("{head}{more}\nnop"));
        }
    }
}
