use super::Bpf;
use crate::Isa;
use crate::seq::{Deps, Machine, What};
use litmake_ops::{Tags, tag};

fn error(text: &str) -> String {
    Machine::default().code(&Bpf, text).expect_err("is refused")
}

/// With r1 = x, r2 = y and x = 5, y = 7.
fn two(text: &str) -> Machine {
    let mut m = Machine::default();
    let (x, y) = (m.location("x"), m.location("y"));
    m.set("r1", x).set("r2", y);
    m.poke(x, 8, 5);
    m.poke(y, 8, 7);
    m.run(&Bpf, text);
    m
}

/// The value of r3 after an instruction, with r3 and r4 before it.
fn value(text: &str, r3: u64, r4: u64) -> u64 {
    let mut m = Machine::default();
    m.set("r3", r3.into()).set("r4", r4.into());
    m.run(&Bpf, text);
    m.reg("r3") as u64
}

#[test]
fn registers_have_the_names_that_herd_prints() {
    let name = |n: &str| Bpf.register(n).map(|r| (r.name, r.shown_bits));
    assert_eq!(name("r0"), Some(("r0".to_string(), 64)));
    assert_eq!(name("R10"), Some(("fp".to_string(), 64)));
    assert_eq!(name("FP"), name("r10"));
    assert_eq!(name("w9"), Some(("r9".to_string(), 32)));
    for bad in ["r11", "r01", "r", "w", "x1", "fp0", ""] {
        assert_eq!(name(bad), None, "{bad}");
    }
}

/// By RFC 9669, section 4.1.
#[test]
fn arithmetic() {
    const MINUS: u64 = u64::MAX;
    const LOW: u64 = u32::MAX as u64;
    for (text, r3, r4, result) in [
        ("r3 += r4", MINUS, 2, 1),
        ("w3 += w4", MINUS, 2, 1),
        ("w3 += -1", 0, 0, LOW),
        ("r3 += -1", 0, 0, MINUS),
        ("r3 -= 7", 5, 0, MINUS - 1),
        ("w3 -= 7", 5, 0, LOW - 1),
        ("r3 *= r4", 1 << 40, 3, 3 << 40),
        ("w3 *= w4", 1 << 31, 2, 0),
        ("r3 /= r4", MINUS, 2, MINUS >> 1),
        ("r3 /= r4", 9, 0, 0),
        ("r3 /= -1", 9, 0, 0),
        ("r3 s/= -1", 9, 0, 9u64.wrapping_neg()),
        ("r3 s/= -1", 1 << 63, 0, 1 << 63),
        ("w3 s/= -1", 1 << 31, 0, 1 << 31),
        ("r3 s/= 2", 7u64.wrapping_neg(), 0, 3u64.wrapping_neg()),
        ("r3 %= r4", 9, 0, 9),
        ("w3 %= w4", 9 | 1 << 40, 1 << 32, 9),
        ("r3 %= 4", 9, 0, 1),
        ("r3 s%= 4", 9u64.wrapping_neg(), 0, MINUS),
        ("r3 s%= -1", 1 << 63, 0, 0),
        ("r3 &= -16", 0xff, 0, 0xf0),
        ("w3 |= w4", 1 | 1 << 40, 2, 3),
        ("r3 ^= r3", 77, 0, 0),
        ("r3 <<= 65", 1, 0, 2),
        ("w3 <<= w4", 1, 33, 2),
        ("r3 >>= 4", MINUS, 0, MINUS >> 4),
        ("r3 s>>= 4", MINUS - 255, 0, MINUS - 15),
        ("w3 s>>= 31", 1 << 31, 0, LOW),
        ("r3 = -r3", 5, 0, 5u64.wrapping_neg()),
        ("w3 = -w3", 5, 0, LOW - 4),
        ("r3 = (s8)r4", 0, 0x80, MINUS - 127),
        ("w3 = (s8)w4", 0, 0x80, LOW - 127),
        ("r3 = (s32)r4", 0, 1 << 31, MINUS << 31),
        ("w3 = w4", 0, MINUS, LOW),
        ("r3 = -1", 0, 0, MINUS),
        ("w3 = -1", 0, 0, LOW),
        ("r3 = 0x123456789 ll", 0, 0, 0x1_2345_6789),
        ("r3 = be16 r3", 0x1234_5678, 0, 0x7856),
        ("r3 = bswap64 r3", 0x0102_0304_0506_0708, 0, 0x0807_0605_0403_0201),
        ("r3 = le32 r3", MINUS, 0, LOW),
    ] {
        assert_eq!(value(text, r3, r4), result, "{text} of {r3:#x} and {r4:#x}");
    }
}

#[test]
fn branches() {
    let minus = u64::MAX;
    for (test, a, b, taken) in [
        ("r3 == r4", 1, 1, true),
        ("r3 != 1", 1, 0, false),
        ("r3 < r4", 1, minus, true),
        ("r3 s< r4", 1, minus, false),
        ("r3 s< -1", minus - 1, 0, true),
        ("r3 <= r4", 2, 2, true),
        ("r3 s<= r4", 2, 1, false),
        ("r3 > 1", minus, 0, true),
        ("r3 s> 1", minus, 0, false),
        ("r3 >= r4", 1, 2, false),
        ("r3 s>= r4", 1, minus, true),
        ("r3 & 4", 6, 0, true),
        ("r3 & r4", 6, 1, false),
        ("w3 == w4", 1 << 32, 0, true),
        ("w3 s< 0", 1 << 31, 0, true),
        ("w3 == -1", u32::MAX.into(), 0, true),
    ] {
        let text = format!("if {test} goto L\nr3 = 100\nexit\nL: r3 = 200");
        let expected = if taken { 200 } else { 100 };
        assert_eq!(value(&text, a, b), expected, "{test} with {a:#x} and {b:#x}");
    }
}

#[test]
fn accesses() {
    let m = two("r3 = *(u32 *)(r1 + 0)\n*(u8 *)(r2 + 1) = r3\nr4 = *(u64*)(r2+0)");
    assert_eq!((m.reg("r3"), m.reg("r4")), (5, 0x507));
    assert_eq!(m.events[1].data_deps, Deps::from([0]));
    let m = two("*(u16 *)(r1 + 0) = -2\nr3 = *(s16 *)(r1 + 0)\nr4 = *(u16 *)(r1 + 0)");
    assert_eq!((m.reg("r3") as u64, m.reg("r4")), (u64::MAX - 1, 0xfffe));
    let m = two("r3 = load_acquire((u32 *)(r1 + 0))\nstore_release((u64 *)(r2 + 0), r3)");
    let tags = |n: usize| m.events[n].tags;
    assert_eq!((tags(0), tags(1)), (tag::BPF_AQ, tag::BPF_RL));
    let m = two("r3 = *(u64 *)(r1 + 0)\nr3 ^= r3\nr2 += r3\nr4 = *(u64 *)(r2 + 0)");
    assert_eq!((m.reg("r4"), m.events[1].addr_deps.clone()), (7, Deps::from([0])));
    let m = two("r3 = x ll\nr4 = *(u64 *)(r3 + 0)");
    assert_eq!(m.reg("r4"), 5);
}

#[test]
fn read_modify_writes() {
    let full = tag::X.with(tag::C_SC);
    let event =
        |m: &Machine| (m.events[0].what.clone(), m.events[0].tags, m.events[0].value as u64);
    let m = two("r3 = 2\nlock *(u64 *)(r1 + 0) += r3");
    assert_eq!((event(&m), m.reg("r3")), ((What::Rmw, tag::X, 7), 2));
    let m = two("r3 = 6\nr3 = atomic_fetch_xor((u32 *)(r1 + 0), r3)");
    assert_eq!((event(&m), m.reg("r3")), ((What::Rmw, full, 3), 5));
    let m = two("r3 = 6\nr4 = 1\nr4 = atomic_fetch_or((u64 *)(r1 + 0), r3)");
    assert_eq!((event(&m), m.reg("r3"), m.reg("r4")), ((What::Rmw, full, 7), 5, 1));
    let m = two("w3 = 6\nw3 = xchg32_32(r1 + 0, w3)");
    assert_eq!((event(&m), m.reg("r3")), ((What::Rmw, full, 6), 5));
}

/// The machine of these tests takes the way of failure.
#[test]
fn a_compare_exchange_that_fails_is_a_plain_load() {
    let mut m = two("r0 = 6\nr3 = 9\nr0 = cmpxchg_64(r1 + 0, r0, r3)");
    let events: Vec<(What, Tags)> = m.events.drain(..).map(|e| (e.what, e.tags)).collect();
    assert_eq!((events, m.reg("r0")), (vec![(What::Load, Tags::NONE)], 5));
}

#[test]
fn refusals_say_what_is_wrong() {
    for (text, words) in [
        ("r3 = *(u128 *)(r1 + 0)", "u8, u16, u32 or u64"),
        ("lock *(u16 *)(r1 + 0) += r3", "32 or 64 bits"),
        ("lock *(u32 *)(r1 + 0) -= r3", "`+=`, `&=`, `|=` or `^=`"),
        ("r0 = cmpxchg_64(r1 + 0, r3, r4)", "r0, the register of the result"),
        ("r3 = cmpxchg_64(r1 + 0, r3, r4)", "r0"),
        ("r3 = atomic_fetch_sub((u64 *)(r1 + 0), r3)", "begins no instruction"),
        ("r3 = w4", "a whole register"),
        ("w3 += r4", "the low half"),
        ("r3 = *(u32 *)(r1 + 40000)", "between -32768 and 32767"),
        ("call 1", "calls"),
        ("goto L", "no label `L`"),
        ("if r3 = r4 goto L", "`==`"),
        ("mov r3, r4", "begins no instruction"),
    ] {
        let error = error(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}

/// Encodings by RFC 9669, and by the kernel's documentation of load-acquire and store-release.
#[test]
fn machine_code() {
    let target = super::target::target(Default::default());
    let text = |code: u64| {
        let bytes = code.to_be_bytes();
        target
            .decoder
            .decode(&bytes, 0x40)
            .map(|d| d.text(target.decoder.style(), &|at| format!("L{at:x}")))
    };
    for (code, expected) in [
        (0xb702_0000_0100_0000, "r2 = 1"),
        (0xb402_0000_ffff_ffff, "r2 = 4294967295"),
        (0xbc21_0000_0000_0000, "w1 = w2"),
        (0xbf21_0800_0000_0000, "r1 = (s8)r2"),
        (0x0f21_0000_0000_0000, "r1 += r2"),
        (0x3421_0100_0000_0000, "unknown"),
        (0x3c21_0100_0000_0000, "w1 s/= w2"),
        (0xdc01_0000_1000_0000, "r1 = be16 r1"),
        (0x6121_fcff_0000_0000, "r1 = *(u32 *)(r2 - 4)"),
        (0x8121_0400_0000_0000, "r1 = *(s32 *)(r2 + 4)"),
        (0x7a0a_f8ff_0700_0000, "*(u64 *)(fp - 8) = 7"),
        (0xdb21_0000_0000_0000, "lock *(u64 *)(r1 + 0) += r2"),
        (0xc321_0000_0100_0000, "r2 = atomic_fetch_add((u32 *)(r1 + 0), r2)"),
        (0xdb21_0000_e100_0000, "r2 = xchg_64(r1 + 0, r2)"),
        (0xc321_0000_f100_0000, "r0 = cmpxchg32_32(r1 + 0, r0, r2)"),
        (0xdb12_0000_0001_0000, "r2 = load_acquire((u64 *)(r1 + 0))"),
        (0xd321_0000_1001_0000, "store_release((u8 *)(r1 + 0), r2)"),
        (0x0500_0100_0000_0000, "goto L50"),
        (0x0600_0000_feff_ffff, "goto L38"),
        (0x1d21_0000_0000_0000, "if r1 == r2 goto L48"),
        (0x6601_0000_0500_0000, "if w1 s> 5 goto L48"),
        (0x9500_0000_0000_0000, "exit"),
        (0x8500_0000_0100_0000, "unknown"),
        // Parameters on the stack.
        (0x79b6_0800_0000_0000, "r6 = *(u64 *)(fp + 8)"),
        (0x7b0b_f8ff_0000_0000, "*(u64 *)(fp - 1016) = r0"),
        (0x7b0b_0000_0000_0000, "unknown"),
        (0xdb0b_f8ff_0000_0000, "unknown"),
        (0x79bb_0800_0000_0000, "unknown"),
        (0xb70b_0000_0000_0000, "unknown"),
        (0x6825_2000_0000_0000, "unknown"),
    ] {
        match text(code) {
            Ok(text) => {
                assert_eq!(text, expected);
                let text = text.replace("goto L", "goto L50\nL50: r1 = ");
                assert!(Machine::default().code(&Bpf, &text).is_ok(), "{text}");
            }
            Err(error) => assert_eq!(expected, "unknown", "{error}"),
        }
    }
    assert_eq!(text(0x8510_0000_0200_0000).as_deref(), Ok("call L58"));
    let wide = [0x18, 1, 0, 0, 0x89, 0x67, 0x45, 0x23, 0, 0, 0, 0, 1, 0, 0, 0];
    let d = target.decoder.decode(&wide, 0).unwrap();
    assert_eq!(
        (d.len, d.text(target.decoder.style(), &|_| String::new())),
        (16, "r1 = 4886718345 ll".into())
    );
}
