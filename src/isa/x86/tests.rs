//! x86: what instructions compute (against arithmetic written out, and against the processor
//! where there is one), which events they make, and the syntaxes.

use super::X86;
use crate::Isa;
use crate::seq::{BASE, Machine, What};
use litmake_litmus::Arch;
use litmake_ops::{Tags, mask, tag};
use proptest::prelude::*;

const X64: X86 = X86 { arch: Arch::X86_64, avx: false };
const X32: X86 = X86 { arch: Arch::X86, avx: false };

/// Runs 64-bit code; rdi and rsi hold the addresses of two locations, rsp that of a stack.
fn run(text: &str, prepare: impl FnOnce(&mut Machine)) -> Machine {
    let mut m = Machine::default();
    m.choose = true;
    m.set("rdi", 16 * BASE);
    m.set("rsi", 17 * BASE);
    m.set("rsp", 18 * BASE);
    prepare(&mut m);
    m.run(&X64, text);
    m
}

fn error(isa: &X86, text: &str) -> String {
    Machine::default().code(isa, text).expect_err(text)
}

/// Reads every flag after `text` by instructions that ask for it, into r8 to r12.
fn with_flags(text: &str, carry_in: bool) -> String {
    let set = if carry_in { "stc" } else { "clc" };
    format!(
        "{set}\n{text}\nsetc %r8b\nsetz %r9b\nsets %r10b\nseto %r11b\nsetp %r12b\n\
         movzbl %r8b,%r8d"
    )
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Regs {
    rax: u64,
    rcx: u64,
    rdx: u64,
    /// Carry, zero, sign, overflow, parity.
    flags: [bool; 5],
}

/// What our micro-ops make of an instruction on these registers.
fn ours(text: &str, rax: u64, rcx: u64, rdx: u64, carry: bool) -> Regs {
    let m = run(&with_flags(text, carry), |m| {
        m.set("rax", rax.into());
        m.set("rcx", rcx.into());
        m.set("rdx", rdx.into());
    });
    let flag = |name| m.reg(name) & 0xff != 0;
    Regs {
        rax: m.reg("rax") as u64,
        rcx: m.reg("rcx") as u64,
        rdx: m.reg("rdx") as u64,
        flags: [flag("r8"), flag("r9"), flag("r10"), flag("r11"), flag("r12")],
    }
}

fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0u64..70,
        Just(u64::MAX),
        Just(i64::MIN as u64),
        Just(0x7fff_ffff),
        Just(0x8000_0000),
        Just(0x80),
        Just(0x7f),
        Just(0x8000),
    ]
}

/// The same against the processor that runs the tests.
#[cfg(target_arch = "x86_64")]
mod processor {
    use super::*;

    /// Which flags the manual defines after an instruction.
    const ALL: u8 = 0b11111;
    const CARRY: u8 = 0b00001;
    const ZERO: u8 = 0b00010;
    const CARRY_OVERFLOW: u8 = 0b01001;
    const NOT_OVERFLOW: u8 = 0b10111;

    type Native = fn(u64, u64, u64, bool) -> Regs;

    macro_rules! cases {
        ($($text:literal $flags:ident),* $(,)?) => {
            &[$(($text, $flags, {
                fn native(mut rax: u64, mut rcx: u64, mut rdx: u64, carry: bool) -> Regs {
                    let mut flags: u64 = u64::from(carry) | 2;
                    // SAFETY: the instruction touches the listed registers and flags only.
                    unsafe {
                        core::arch::asm!(
                            "push {f}", "popfq", $text, "pushfq", "pop {f}",
                            f = inout(reg) flags,
                            inout("rax") rax, inout("rcx") rcx, inout("rdx") rdx,
                            out("xmm0") _, out("xmm1") _,
                            options(att_syntax),
                        );
                    }
                    let bit = |n: u32| flags >> n & 1 != 0;
                    Regs { rax, rcx, rdx, flags: [bit(0), bit(6), bit(7), bit(11), bit(2)] }
                }
                native as Native
            })),*]
        };
    }

    const CASES: &[(&str, u8, Native)] = cases![
        "addb %cl,%al" ALL, "addw %cx,%ax" ALL, "addl %ecx,%eax" ALL, "addq %rcx,%rax" ALL,
        "addb %ch,%ah" ALL, "addb $-1,%dh" ALL,
        "adcb %cl,%al" ALL, "adcw %cx,%ax" ALL, "adcl %ecx,%eax" ALL, "adcq %rcx,%rax" ALL,
        "subb %cl,%al" ALL, "subw %cx,%ax" ALL, "subl %ecx,%eax" ALL, "subq %rcx,%rax" ALL,
        "subq %rax,%rax" ALL,
        "sbbb %cl,%al" ALL, "sbbw %cx,%ax" ALL, "sbbl %ecx,%eax" ALL, "sbbq %rcx,%rax" ALL,
        "sbbq %rax,%rax" ALL, "sbbl $-1,%eax" ALL,
        "andl %ecx,%eax" ALL, "orw %cx,%ax" ALL, "xorb %cl,%al" ALL, "xorl %eax,%eax" ALL,
        "andq $-16,%rax" ALL,
        "cmpb %cl,%al" ALL, "cmpw %cx,%ax" ALL, "cmpl %ecx,%eax" ALL, "cmpq %rcx,%rax" ALL,
        "cmpl $5,%eax" ALL, "testl %ecx,%eax" ALL, "testb %al,%al" ALL, "testw $128,%ax" ALL,
        "incb %al" ALL, "incl %eax" ALL, "decw %ax" ALL, "decq %rax" ALL,
        "negb %al" ALL, "negl %eax" ALL, "negq %rax" ALL, "notl %eax" ALL, "notw %ax" ALL,
        "shll $1,%eax" ALL, "shlb $1,%al" ALL, "shrq $1,%rax" ALL, "sarw $1,%ax" ALL,
        "shll $7,%eax" NOT_OVERFLOW, "shrw $3,%ax" NOT_OVERFLOW, "sarb $4,%al" NOT_OVERFLOW,
        "shlq %cl,%rax" NOT_OVERFLOW, "shrl %cl,%eax" NOT_OVERFLOW, "sarq %cl,%rax" NOT_OVERFLOW,
        "shll $0,%eax" ALL, "sarl $32,%eax" ALL, "shrl %eax" ALL,
        "roll $1,%eax" ALL, "rorw $1,%ax" ALL, "rolq $13,%rax" NOT_OVERFLOW,
        "rorb $3,%al" NOT_OVERFLOW, "roll %cl,%eax" NOT_OVERFLOW, "rorq %cl,%rax" NOT_OVERFLOW,
        "shldl $5,%edx,%eax" NOT_OVERFLOW, "shrdq $9,%rdx,%rax" NOT_OVERFLOW,
        "shldq %cl,%rdx,%rax" NOT_OVERFLOW, "shrdl %cl,%edx,%eax" NOT_OVERFLOW,
        "btl %ecx,%eax" CARRY, "btsq %rcx,%rax" CARRY, "btrw %cx,%ax" CARRY,
        "btcl $40,%eax" CARRY, "btq $63,%rax" CARRY,
        "imull %ecx,%eax" CARRY_OVERFLOW, "imulq %rcx,%rax" CARRY_OVERFLOW,
        "imulw $-3,%cx,%ax" CARRY_OVERFLOW, "imulq $100,%rcx,%rdx" CARRY_OVERFLOW,
        "imulb %cl" CARRY_OVERFLOW, "imull %ecx" CARRY_OVERFLOW, "imulq %rcx" CARRY_OVERFLOW,
        "mulb %cl" CARRY_OVERFLOW, "mulw %cx" CARRY_OVERFLOW, "mulq %rcx" CARRY_OVERFLOW,
        "bsfl %ecx,%ecx" ZERO, "bsrq %rcx,%rcx" ZERO,
        "cbtw" ALL, "cwtl" ALL, "cltq" ALL, "cwtd" ALL, "cltd" ALL, "cqto" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; punpcklqdq %xmm1,%xmm0; shufpd $1,%xmm0,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; punpckldq %xmm1,%xmm0; shufps $0x1b,%xmm0,%xmm1; movq %xmm1,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; pcmpeqb %xmm1,%xmm0; pmovmskb %xmm0,%eax" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; pcmpeqd %xmm1,%xmm0; pmovmskb %xmm0,%eax" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; movlhps %xmm1,%xmm0; movhlps %xmm0,%xmm1; movq %xmm1,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; punpcklqdq %xmm1,%xmm0; pslldq $3,%xmm0; psrldq $5,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; pandn %xmm1,%xmm0; por %xmm1,%xmm0; pxor %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; pshufd $0x4e,%xmm0,%xmm0; unpcklps %xmm1,%xmm0; movd %xmm0,%edx" ALL,
        "movq %rax,%xmm0; punpcklqdq %xmm0,%xmm0; psrlq $35,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; pslld $9,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2ssl %eax,%xmm0; movd %xmm0,%edx" ALL,
        "cvtsi2ssq %rax,%xmm0; movd %xmm0,%edx" ALL,
        "cvtsi2ssq %rax,%xmm0; cvtsi2ssl %ecx,%xmm1; addss %xmm1,%xmm0; movd %xmm0,%edx" ALL,
        "cvtsi2ssq %rax,%xmm0; cvtsi2ssl %ecx,%xmm1; subss %xmm1,%xmm0; movd %xmm0,%edx" ALL,
        "cvtsi2ssq %rax,%xmm0; cvtsi2ssl %ecx,%xmm1; mulss %xmm1,%xmm0; movd %xmm0,%edx" ALL,
        "orl $1,%ecx; cvtsi2ssq %rax,%xmm0; cvtsi2ssl %ecx,%xmm1; divss %xmm1,%xmm0; movd %xmm0,%edx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; ucomiss %xmm1,%xmm0" ALL,
        "movq %rax,%xmm0; comiss %xmm0,%xmm0" ALL,
        "movq %rax,%xmm0; cvttss2si %xmm0,%edx; cvttss2si %xmm0,%rcx" ALL,
        "cvtsi2ssq %rax,%xmm0; cvttss2si %xmm0,%edx; cvttss2si %xmm0,%rcx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpeqss %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpltss %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpnless %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpunordss %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpneqss %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; movss %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2sdl %eax,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2sdq %rax,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2sdq %rax,%xmm0; cvtsi2sdl %ecx,%xmm1; addsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2sdq %rax,%xmm0; cvtsi2sdl %ecx,%xmm1; subsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2sdq %rax,%xmm0; cvtsi2sdl %ecx,%xmm1; mulsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "orl $1,%ecx; cvtsi2sdq %rax,%xmm0; cvtsi2sdl %ecx,%xmm1; divsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; ucomisd %xmm1,%xmm0" ALL,
        "movq %rax,%xmm0; comisd %xmm0,%xmm0" ALL,
        "movq %rax,%xmm0; cvttsd2si %xmm0,%edx; cvttsd2si %xmm0,%rcx" ALL,
        "cvtsi2sdq %rax,%xmm0; cvttsd2si %xmm0,%edx; cvttsd2si %xmm0,%rcx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpeqsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpltsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpnlesd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpunordsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cmpneqsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; movsd %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2ssq %rax,%xmm0; cvtss2sd %xmm0,%xmm0; movq %xmm0,%rdx" ALL,
        "cvtsi2sdq %rax,%xmm0; cvtsd2ss %xmm0,%xmm0; movd %xmm0,%edx" ALL,
        "movq %rax,%xmm0; cvtdq2ps %xmm0,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; cvttps2dq %xmm0,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; punpcklqdq %xmm1,%xmm0; cvttpd2dq %xmm0,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; paddb %xmm1,%xmm0; psubw %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; paddd %xmm1,%xmm0; psubq %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; cvtdq2pd %xmm0,%xmm1; unpckhpd %xmm1,%xmm1; movq %xmm1,%rdx" ALL,
        "movq %rax,%xmm0; cvtdq2ps %xmm0,%xmm0; cvtps2pd %xmm0,%xmm1; unpckhpd %xmm1,%xmm1; movq %xmm1,%rdx" ALL,
        "movq %rax,%xmm0; cvtdq2pd %xmm0,%xmm0; cvtpd2ps %xmm0,%xmm0; movq %xmm0,%rdx" ALL,
        "movq %rax,%xmm0; movq %rcx,%xmm1; cvtdq2ps %xmm0,%xmm0; cvtdq2ps %xmm1,%xmm1; addps %xmm1,%xmm0; movq %xmm0,%rdx" ALL,
        "shldl %edx,%eax" NOT_OVERFLOW,
        "bswapl %eax" ALL, "bswapq %rax" ALL,
        "movb %ch,%al" ALL, "movb %cl,%ah" ALL, "movw %cx,%ax" ALL, "movl %ecx,%eax" ALL,
        "movl $-1,%eax" ALL, "movq $-1,%rax" ALL, "movabsq $0x123456789abcdef,%rax" ALL,
        "movzbl %cl,%eax" ALL, "movzbl %ch,%eax" ALL, "movzwl %cx,%eax" ALL, "movzbw %cl,%ax" ALL,
        "movsbl %cl,%eax" ALL, "movsbw %cl,%ax" ALL, "movswq %cx,%rax" ALL, "movslq %ecx,%rax" ALL,
        "leal 3(%rcx,%rdx,4),%eax" ALL, "leaq -8(,%rcx,8),%rax" ALL, "leaw (%rcx),%ax" ALL,
        "xchgl %ecx,%eax" ALL, "xchgb %ch,%al" ALL, "xaddl %ecx,%eax" ALL, "xaddq %rax,%rax" ALL,
        "cmpxchgl %ecx,%edx" ALL, "cmpxchgb %cl,%dl" ALL,
        "cmpl %ecx,%eax; cmovll %ecx,%eax" ALL, "cmpl %ecx,%eax; cmovaw %cx,%ax" ALL,
        "cmpl %ecx,%eax; setg %al" ALL, "cmpq %rcx,%rax; setle %al" ALL,
        "cmpb %cl,%al; setbe %ah" ALL, "cmpw %cx,%ax; setge %cl" ALL,
        "cmpl %ecx,%eax; setl %al" ALL, "cmpl %ecx,%eax; seta %al" ALL, "testl %eax,%eax; setnp %al" ALL,
        "clc" ALL, "stc" ALL, "cmc" ALL,
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn agrees_with_ours(a in value(), b in value(), c in value(), carry: bool) {
            for (text, flags, native) in CASES {
                // What a count of bits leaves in the destination is undefined for zero.
                if text.starts_with("bs") && b as u32 == 0 {
                    continue;
                }
                let lines = text.replace("; ", "\n");
                let mine = ours(&lines, a, b, c, carry);
                let theirs = native(a, b, c, carry);
                let same = (0..5).all(|i| flags >> i & 1 == 0 || mine.flags[i] == theirs.flags[i]);
                prop_assert!(
                    same && (mine.rax, mine.rcx, mine.rdx) == (theirs.rax, theirs.rcx, theirs.rdx),
                    "{text} of {a:#x} {b:#x} {c:#x} {carry}:\n{mine:x?}\n{theirs:x?}"
                );
            }
        }

        #[test]
        fn division_agrees(high in any::<u32>(), low: u64, by in 1u32..) {
            let (high, by) = (u64::from(high % by), u64::from(by));
            let ours = ours("divl %ecx", low & 0xffff_ffff, by, high, false);
            let whole = high << 32 | low & 0xffff_ffff;
            prop_assert_eq!((ours.rax, ours.rdx), (whole / by, whole % by));
        }
    }
}

proptest! {
    /// The same on every processor, for a few.
    #[test]
    fn flags_of_sums_and_differences(a in value(), b in value(), carry: bool) {
        for (suffix, reg_a, reg_b, bits) in [
            ("b", "%al", "%cl", 8u8),
            ("w", "%ax", "%cx", 16),
            ("l", "%eax", "%ecx", 32),
            ("q", "%rax", "%rcx", 64),
        ] {
            let m = mask(bits) as u64;
            let (x, y) = (a & m, b & m);
            let top = |v: u64| v >> (bits - 1) & 1 != 0;
            let c = u64::from(carry);
            let sum = x.wrapping_add(y).wrapping_add(c) & m;
            let wide = u128::from(x) + u128::from(y) + u128::from(c);
            let expected = [
                wide >> bits != 0,
                sum == 0,
                top(sum),
                top(x) == top(y) && top(sum) != top(x),
                (sum as u8).count_ones().is_multiple_of(2),
            ];
            let r = ours(&format!("adc{suffix} {reg_b},{reg_a}"), a, b, 0, carry);
            prop_assert_eq!((r.rax & m, r.flags), (sum, expected), "adc{}", suffix);
            let difference = x.wrapping_sub(y).wrapping_sub(c) & m;
            let expected = [
                u128::from(x) < u128::from(y) + u128::from(c),
                difference == 0,
                top(difference),
                top(x) != top(y) && top(difference) != top(x),
                (difference as u8).count_ones().is_multiple_of(2),
            ];
            let r = ours(&format!("sbb{suffix} {reg_b},{reg_a}"), a, b, 0, carry);
            prop_assert_eq!((r.rax & m, r.flags), (difference, expected), "sbb{}", suffix);
        }
    }

    #[test]
    fn every_condition_compares(a in value(), b in value()) {
        let (sa, sb) = (a as i64, b as i64);
        for (cond, holds) in [
            ("e", a == b), ("z", a == b), ("ne", a != b), ("nz", a != b),
            ("b", a < b), ("c", a < b), ("nae", a < b), ("ae", a >= b), ("nb", a >= b),
            ("nc", a >= b), ("be", a <= b), ("na", a <= b), ("a", a > b), ("nbe", a > b),
            ("l", sa < sb), ("nge", sa < sb), ("ge", sa >= sb), ("nl", sa >= sb),
            ("le", sa <= sb), ("ng", sa <= sb), ("g", sa > sb), ("nle", sa > sb),
            ("s", (sa.wrapping_sub(sb)) < 0), ("ns", (sa.wrapping_sub(sb)) >= 0),
            ("o", sa.checked_sub(sb).is_none()), ("no", sa.checked_sub(sb).is_some()),
        ] {
            let text = format!(
                "cmpq %rcx,%rax\nset{cond} %dl\nmovl $0,%r8d\ncmov{cond} %rax,%r8\nj{cond} L\n\
                 movl $1,%r9d\nL: nop"
            );
            let m = run(&text, |m| {
                m.set("rax", a.into());
                m.set("rcx", b.into());
            });
            prop_assert_eq!(m.reg("rdx") == 1, holds, "set{}", cond);
            prop_assert_eq!(m.reg("r8") as u64, if holds { a } else { 0 }, "cmov{}", cond);
            prop_assert_eq!(m.reg("r9") == 0, holds, "j{}", cond);
        }
    }

    #[test]
    fn arbitrary_lines_never_panic(text in "[a-z0-9.]{0,8} ?[ -~é\n]{0,24}") {
        for isa in [&X64, &X32] {
            let _ = Machine::default().code(isa, &text);
        }
    }

    #[test]
    fn near_misses_never_panic(
        name in prop::sample::select(vec![
            "mov", "movl", "movb", "lock addl", "lock", "xchg", "cmpxchg16b", "movzbl", "movsx",
            "shll", "shld", "btsl", "imul", "imulq", "divb", "push", "pop", "call", "jmp", "jne",
            "setb", "cmovll", "movd", "movq", "movdqa", "vmovdqa", "pinsrq", "pinsrw", "pextrd", "pextrw", "pshufd",
            "vpunpcklqdq", "fildll", "fistpq", "movnti", "movhps", "bswap", "lea", "nopw",
        ]),
        args in prop::collection::vec(
            prop::sample::select(vec![
                "%eax", "%al", "%ah", "%rdi", "%cl", "%xmm3", "$1", "$x+4", "x", "(x)",
                "-8(%rbp)", "x(%rip)", "(%rax,%rbx,4)", "(,%rcx,8)", "%fs:40", "*%rax",
                "x@GOTPCREL(%rip)", "dword ptr [rdi]", "[rax+rbx*4-8]", "[", "(", "%", "$", "",
                "99999999999999999999999999999999999999999", "$-170141183460469231731687303715884105728",
                "1f", "+", "-", ":", "é",
            ]),
            0..4,
        ),
    ) {
        for isa in [&X64, &X32] {
            let _ = Machine::default().code(isa, &format!("{name} {}", args.join(",")));
        }
    }
}

#[test]
fn parts_of_registers_merge_or_clear() {
    let m = run(
        "movq $-1,%rax\nmovl $1,%eax\nmovq $-1,%rbx\nmovw $1,%bx\nmovq $-1,%rcx\nmovb $1,%cl\n\
         movq $-1,%rdx\nmovb $1,%dh\nmovq $-1,%r8\nxorl %r8d,%r8d",
        |_| {},
    );
    assert_eq!(m.reg("rax"), 1);
    assert_eq!(m.reg("rbx") as u64, 0xffff_ffff_ffff_0001);
    assert_eq!(m.reg("rcx") as u64, 0xffff_ffff_ffff_ff01);
    assert_eq!(m.reg("rdx") as u64, 0xffff_ffff_ffff_01ff);
    assert_eq!(m.reg("r8"), 0);
}

fn events(text: &str) -> Vec<(What, u8, Tags)> {
    let m = run(text, |_| {});
    m.events.iter().map(|e| (e.what.clone(), e.size, e.tags)).collect()
}

#[test]
fn which_accesses_are_locked() {
    use What::{Fence, Load, Store};
    let none = Tags::NONE;
    let locked = |n| vec![(Load, n, tag::X), (Store, n, tag::X)];
    let plain = |n| vec![(Load, n, none), (Store, n, none)];
    for (text, expected) in [
        ("movl (%rdi),%eax", vec![(Load, 4, none)]),
        ("movl $1,(%rdi)", vec![(Store, 4, none)]),
        ("addl $1,(%rdi)", plain(4)),
        ("lock addl $1,(%rdi)", locked(4)),
        ("lock; addq $1,(%rdi)", locked(8)),
        ("lock\nxaddw %ax,(%rdi)", locked(2)),
        ("lock orb $0,-64(%rsp)", locked(1)),
        ("lock negl (%rdi)", locked(4)),
        ("lock btsl $3,(%rdi)", locked(4)),
        ("xchgl %eax,(%rdi)", locked(4)),
        ("xchgl (%rdi),%eax", locked(4)),
        ("xaddl %eax,(%rdi)", plain(4)),
        // Memory holds 0, and so does rax.
        ("cmpxchgl %ecx,(%rdi)", plain(4)),
        ("lock cmpxchgq %rcx,(%rdi)", locked(8)),
        ("lock cmpxchg16b (%rdi)", locked(16)),
        ("lock cmpxchg8b (%rdi)", locked(8)),
        ("movntiq %rax,(%rdi)", vec![(Store, 8, tag::NT)]),
        ("mfence", vec![(Fence, 0, tag::MFENCE)]),
        ("lfence", vec![(Fence, 0, tag::LFENCE)]),
        ("sfence", vec![(Fence, 0, tag::SFENCE)]),
        ("xchgl %eax,%ecx", vec![]),
        ("lea (%rdi),%rax", vec![]),
        ("nopw %cs:0x0(%rax,%rax,1)", vec![]),
        ("rep; nop", vec![]),
        ("movq %fs:40,%rax", vec![]),
        ("movq x@GOTPCREL(%rip),%rax", vec![]),
    ] {
        assert_eq!(events(text), expected, "{text}");
    }
}

#[test]
fn a_failing_comparison_writes_the_accumulator() {
    let text = "lock cmpxchgl %ecx,(%rdi)\nsete %dl";
    let m = run(text, |m| {
        m.poke(16 * BASE, 4, 5);
        m.set("rax", 0xffff_ffff_0000_0006);
        m.set("rcx", 9);
    });
    assert_eq!((m.reg("rax"), m.reg("rdx"), m.peek(16 * BASE, 4)), (5, 0, 5));
    assert_eq!(m.events.len(), 1);
    let m = run(text, |m| {
        m.poke(16 * BASE, 4, 5);
        m.set("rax", 5);
        m.set("rcx", 9);
    });
    assert_eq!((m.reg("rax"), m.reg("rdx"), m.peek(16 * BASE, 4)), (5, 1, 9));
}

#[test]
fn the_wide_comparison_always_writes() {
    let m = run("lock cmpxchg16b (%rdi)\nsete %r8b", |m| {
        m.poke(16 * BASE, 16, 7 << 64 | 6);
    });
    assert_eq!((m.reg("rax"), m.reg("rdx"), m.reg("r8")), (6, 7, 0));
    assert_eq!(m.events.len(), 2);
    assert_eq!(m.peek(16 * BASE, 16), 7 << 64 | 6);
    let m = run("lock cmpxchg16b (%rdi)", |m| {
        m.poke(16 * BASE, 16, 7 << 64 | 6);
        for (name, v) in [("rax", 6), ("rdx", 7), ("rbx", 8), ("rcx", 9)] {
            m.set(name, v);
        }
    });
    assert_eq!(m.peek(16 * BASE, 16), 9 << 64 | 8);
}

#[test]
fn sixteen_bytes_at_once_only_with_avx() {
    let sizes = |isa: &X86, text: &str| {
        let mut m = Machine::default();
        m.set("rdi", BASE);
        m.run(isa, text);
        m.events.iter().map(|e| e.size).collect::<Vec<_>>()
    };
    let avx = X86 { arch: Arch::X86_64, avx: true };
    for (text, plain, with) in [
        ("movdqa (%rdi),%xmm0", vec![8, 8], vec![16]),
        ("movaps %xmm0,(%rdi)", vec![8, 8], vec![16]),
        ("movups %xmm0,(%rdi)", vec![8, 8], vec![8, 8]),
        ("vmovdqa (%rdi),%xmm0", vec![16], vec![16]),
        ("vmovdqu (%rdi),%xmm0", vec![8, 8], vec![8, 8]),
        ("movntdq %xmm0,(%rdi)", vec![8, 8], vec![8, 8]),
        ("movq (%rdi),%xmm0", vec![8], vec![8]),
    ] {
        assert_eq!(sizes(&X64, text), plain, "{text}");
        assert_eq!(sizes(&avx, text), with, "{text} with AVX");
    }
}

#[test]
fn vector_registers_carry_values() {
    let m = run(
        "movq %rax,%xmm0\nmovq %rcx,%xmm1\npunpcklqdq %xmm1,%xmm0\nmovaps %xmm0,(%rdi)\n\
         movdqa (%rdi),%xmm2\nmovq %xmm2,%r8\npextrq $1,%xmm2,%r9\npunpckhqdq %xmm2,%xmm2\n\
         movq %xmm2,%r10\nmovhps %xmm0,(%rsi)\nmovlps %xmm0,8(%rsi)\n\
         vpinsrq $1,%rdx,%xmm1,%xmm3\nvpextrq $1,%xmm3,%r11\nmovd %xmm0,%r12d\n\
         pshufd $0xee,%xmm0,%xmm4\nmovq %xmm4,%r13\npsrldq $8,%xmm0\nmovq %xmm0,%r14\n\
         pxor %xmm5,%xmm5\nmovq %xmm5,%r15",
        |m| {
            m.set("rax", 0x1111_2222_3333_4444);
            m.set("rcx", 0x5555_6666_7777_8888);
            m.set("rdx", 9);
        },
    );
    let (low, high) = (0x1111_2222_3333_4444, 0x5555_6666_7777_8888);
    for (name, v) in [
        ("r8", low),
        ("r9", high),
        ("r10", high),
        ("r11", 9),
        ("r12", 0x3333_4444),
        ("r13", high),
        ("r14", high),
        ("r15", 0),
    ] {
        assert_eq!(m.reg(name), v, "{name}");
    }
    assert_eq!(m.peek(17 * BASE, 16), low << 64 | high);
}

#[test]
fn narrow_parts_of_vector_registers() {
    let m = run(
        "movq %rax,%xmm0\npextrw $1,%xmm0,%ecx\npextrb $7,%xmm0,%edx\npextrw $2,%xmm0,%r8\n\
         pextrw $3,%xmm0,(%rsi)\npinsrw $0,%eax,%xmm0\npinsrb $2,%eax,%xmm0\nmovq %xmm0,%r9",
        |m| {
            m.set("rax", 0x1234_5678_9abc_def0);
            m.set("rcx", u128::from(u64::MAX));
            m.set("rdx", u128::from(u64::MAX));
        },
    );
    assert_eq!(["rcx", "rdx", "r8"].map(|r| m.reg(r)), [0x9abc, 0x12, 0x5678]);
    assert_eq!(m.peek(17 * BASE, 8), 0x1234);
    assert_eq!(m.reg("r9"), 0x1234_5678_9af0_def0);
}

#[test]
fn eight_bytes_through_the_x87_stack() {
    let m = run("fildll (%rdi)\nfildq (%rdi)\nfistpll (%rsi)\nfistpq 8(%rsi)", |m| {
        m.poke(16 * BASE, 8, 0x8765_4321_0fed_cba9);
    });
    assert_eq!(m.peek(17 * BASE, 8), 0x8765_4321_0fed_cba9);
    assert_eq!(m.peek(17 * BASE + 8, 8), 0x8765_4321_0fed_cba9);
}

#[test]
fn the_stack() {
    let m = run(
        "pushq %rbp\nmovq %rsp,%rbp\nsubq $16,%rsp\nmovl $7,-4(%rbp)\npushq -4(%rbp)\npopq %rax\n\
         leave",
        |m| {
            m.set("rbp", 42);
        },
    );
    assert_eq!(m.reg("rax") as u32, 7);
    assert_eq!((m.reg("rbp"), m.reg("rsp")), (42, 18 * BASE));
}

#[test]
fn calls_come_back_and_a_last_return_ends() {
    let m = run(
        "call f\nmovl $1,%eax\nret\nf: call g\nmovl $2,%ecx\nretq\ng: movl $3,%edx\nret\n\
         movl $4,%ebx",
        |_| {},
    );
    let got = ["rax", "rcx", "rdx", "rbx"].map(|r| m.reg(r));
    assert_eq!(got, [1, 2, 3, 0]);
    assert_eq!(m.reg("rsp"), 18 * BASE + 8, "the last one leaves the thread");
    assert_eq!(m.events.len(), 0);
}

#[test]
fn jumps_through_registers_and_numeric_labels() {
    let m = run(
        "leaq f(%rip),%rax\njmp *%rax\nmovl $1,%ecx\nf: movl $2,%edx\n\
         1: decl %edx\njne 1b\njmp 1f\nmovl $1,%ebx\n1: ud2\nmovl $1,%r8d",
        |_| {},
    );
    assert_eq!([m.reg("rcx"), m.reg("rdx"), m.reg("rbx"), m.reg("r8")], [0; 4]);
}

#[test]
fn bits_in_memory_may_lie_outside_the_operand() {
    let m = run("btsl %eax,(%rdi)\nsetc %cl", |m| {
        m.set("rax", 35);
        m.poke(16 * BASE + 4, 4, 8);
    });
    assert_eq!((m.events[0].addr, m.reg("rcx")), (16 * BASE + 4, 1));
    let m = run("lock btcl %eax,(%rdi)", |m| {
        m.set("rax", -1i32 as u32 as u128);
    });
    assert_eq!(m.peek(16 * BASE - 4, 4), 0x8000_0000);
}

#[test]
fn thirty_two_bit_tests_have_the_destination_first() {
    let mut m = Machine::default();
    m.poke(2 * BASE, 4, 0xffff_ff00);
    m.set("ECX", 0xffff_ffff);
    m.run(
        &X32,
        "MOV [x],$1\nMOV EAX,[y]\nXCHG EAX,[x]\nMOV EBX,[EAX]\nMFENCE\nMOVB [y],$258\n\
         MOVB ECX,[y]\nADD ECX,$1\nMOVB [z],ECX\nCMP ECX,$3\nJE L\nMOV EDX,$1\nL: NOP",
    );
    assert_eq!(m.names.0, ["x", "y", "z"]);
    assert_eq!(m.peek(BASE, 4), 0xffff_ff00);
    assert_eq!(m.peek(2 * BASE, 4), 0xffff_ff02);
    assert_eq!((m.reg("EAX"), m.reg("ECX"), m.reg("EDX")), (1, 3, 0));
    assert_eq!(m.peek(3 * BASE, 1), 3);
    assert_eq!(X32.address_bits(), 32);
}

#[test]
fn position_independent_32_bit_code() {
    let mut m = Machine::default();
    m.poke(2 * BASE, 4, 9);
    m.run(
        &X32,
        "calll .L0$pb\n.L0$pb: popl %eax\n.Ltmp0: addl $_GLOBAL_OFFSET_TABLE_+(.Ltmp0-.L0$pb),%eax\n\
         movl x@GOT(%eax),%ecx\nmovl $3,(%ecx)\nmovl y@GOTOFF(%eax),%edx\nretl\nmovl $4,%edx",
    );
    assert_eq!(m.names.0, ["x", "y"]);
    assert_eq!((m.peek(BASE, 4), m.reg("EDX")), (3, 9));
    assert_eq!(m.events.len(), 2);
}

#[test]
fn both_orders_of_operands() {
    // AT&T's in a 32-bit test, by the percent signs; Intel's in a 64-bit test, by `ptr`.
    let mut m = Machine::default();
    m.run(&X32, "movl $5,%eax\naddl %eax,%ecx\nmovl %ecx,x");
    assert_eq!(m.peek(BASE, 4), 5);
    let m = run(
        "mov eax, 5\nmov dword ptr [rdi+4], eax\nmov ecx, DWORD PTR [rdi+rdx*2+4]\n\
         lock xadd dword ptr [rdi+4], ecx\nmovzx r8d, byte ptr [rdi+4]\nmov r9, offset x",
        |_| {},
    );
    assert_eq!(m.peek(16 * BASE + 4, 4), 10);
    assert_eq!((m.reg("rcx"), m.reg("r8"), m.reg("r9")), (5, 10, BASE));
}

#[test]
fn the_order_of_operands_that_herd_has() {
    let m =
        run("clc\nmovl $1,(x)\ncmovnc %ebx,(x)\ncmpxchgl (x),%ecx\n lock cmpxchg (x),%ecx", |m| {
            m.set("rax", 1);
            m.set("rcx", 2);
        });
    assert_eq!((m.reg("rbx"), m.peek(BASE, 4)), (1, 2));
}

#[test]
fn registers_of_conditions() {
    let r = |isa: &X86, n| isa.register(n).map(|r| (r.name, r.bits, r.shown_bits));
    assert_eq!(r(&X64, "rax"), Some(("rax".to_string(), 64, 64)));
    assert_eq!(r(&X64, "eax"), Some(("rax".to_string(), 64, 32)));
    assert_eq!(r(&X64, "r8w"), Some(("r8".to_string(), 64, 16)));
    assert_eq!(r(&X64, "xmm1"), Some(("xmm1".to_string(), 128, 128)));
    assert_eq!(r(&X32, "EAX"), Some(("EAX".to_string(), 32, 32)));
    assert_eq!(r(&X32, "rax"), None);
    assert_eq!(r(&X64, "x"), None);
}

#[test]
fn unread_flags_cost_nothing() {
    let code = Machine::default()
        .code(&X64, "addl %eax,%ecx\nsubl $1,%ecx\njne L\nL: addl $1,%eax")
        .unwrap();
    let sizes: Vec<usize> = code.insts.iter().map(|i| i.ops.len()).collect();
    assert!(sizes[0] <= 6 && sizes[3] <= 6, "{sizes:?}");
    assert!(sizes[1] <= 7, "only the zero flag is kept: {sizes:?}");
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(
        error(&X64, "nop\n  movk $1,%eax"),
        "t.litmus:2:3: error: unknown x86 instruction `movk`\n \
         2 |   movk $1,%eax\n   |   ^^^^^^^^^^^^\n  help: did you mean `mov`?"
    );
    for (line, message) in [
        ("movl %rax,%ecx", "`movl` works on 32 bits here, and a register operand has 64"),
        ("movl (x),(y)", "a move has at most one memory operand"),
        ("movl $1,$2", "a constant cannot be written to"),
        ("jne nowhere", "no label `nowhere` in this thread"),
        ("call puts", "`puts` is called, and its code is not in this thread"),
        ("lock movl $1,(x)", "`lock` is not allowed on this instruction"),
        ("lock addl $1,%eax", "`lock` needs a memory destination"),
        ("lock", "`lock` has no instruction after it"),
        ("movl .LC0(%rip),%eax", "`.LC0` is an assembler's own label"),
        ("addl %eax,%fs:4", "stores to thread-local storage are not supported"),
        ("shll %edx,%eax", "a shift's count is a constant or %cl"),
        ("cmpxchg16b %rax", "a memory operand is expected"),
        ("movl 1(%rax,%rbx,3),%eax", "`3` is no scale: 1, 2, 4 or 8 is"),
        ("movl", "two operands are expected"),
    ] {
        let text = error(&X64, line);
        assert!(text.contains(message), "{line}: {text}");
    }
    assert!(error(&X64, "L1: jne L2").contains("did you mean `L1`?"));
    assert!(error(&X32, "MOVV [x],$1").contains("did you mean"));
}
