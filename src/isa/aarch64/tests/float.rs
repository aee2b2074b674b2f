//! Scalar floating point: results against Rust's arithmetic, flags and conversions out of range
//! against the manual's tables (FPCompare, FPToFixed).

use super::*;

fn s(x: f32) -> u128 {
    x.to_bits().into()
}

fn d(x: f64) -> u128 {
    x.to_bits().into()
}

const NAN: u128 = 0x7fc0_0000;

/// The value of a register after an instruction on V1, V2 and X1.
fn after(text: &str, a: u128, b: u128, x: u128, reg: &str) -> u128 {
    Machine::new(&[("V1", a), ("V2", b), ("X1", x)]).run(BASE, text).get(reg)
}

fn flags(text: &str, a: u128, b: u128) -> String {
    // Flags that nothing reads are not kept.
    let text = format!("{text}; CSET W3,MI; CSET W4,EQ; CSET W5,CS; CSET W6,VS");
    let m = Machine::new(&[("V1", a), ("V2", b)]).run(BASE, &text);
    ["X3", "X4", "X5", "X6"].map(|r| m.get(r).to_string()).concat()
}

#[test]
fn conversions() {
    let minus = u128::from(-3i32 as u32);
    assert_eq!(after("SCVTF S0,W1", 0, 0, minus, "V0"), s(-3.0));
    assert_eq!(after("UCVTF S0,W1", 0, 0, minus, "V0"), s(minus as f32));
    assert_eq!(after("SCVTF D0,X1", 0, 0, 7, "V0"), d(7.0));
    // From a scalar, and what was above it is cleared.
    assert_eq!(after("SCVTF S0,S1", 9 | 5 << 32, 0, 0, "V0"), s(9.0));
    assert_eq!(after("FCVTZS W0,S1", s(-2.9), 0, 0, "X0"), u128::from(-2i32 as u32));
    assert_eq!(after("FCVTZU W0,S1", s(-2.9), 0, 0, "X0"), 0);
    assert_eq!(after("FCVTZS W0,S1", s(3e9), 0, 0, "X0"), 0x7fff_ffff);
    assert_eq!(after("FCVTZU X0,D1", d(3e9), 0, 0, "X0"), 3_000_000_000);
    assert_eq!(after("FCVTZS X0,S1", NAN, 0, 0, "X0"), 0);
    assert_eq!(after("FCVTZS S0,S1", s(5.5), 0, 0, "V0"), 5);
    assert_eq!(after("SCVTF S0,W1,#3", 0, 0, 20, "V0"), s(2.5));
    assert_eq!(after("FCVTZS W0,D1,#1", d(-1.75), 0, 0, "X0"), u128::from(-3i32 as u32));
    assert_eq!(after("FCVT D0,S1", s(1.25), 0, 0, "V0"), d(1.25));
    assert_eq!(after("FCVT S0,D1", d(0.1), 0, 0, "V0"), s(0.1));
}

#[test]
fn arithmetic() {
    let (a, b) = (s(1.5), s(-0.1));
    for (name, wanted) in [
        ("FADD", 1.5f32 + -0.1),
        ("FSUB", 1.5f32 - -0.1),
        ("FMUL", 1.5f32 * -0.1),
        ("FDIV", 1.5f32 / -0.1),
        ("FNMUL", -(1.5f32 * -0.1)),
    ] {
        // Bits above the numbers do not matter.
        let got = after(&format!("{name} S0,S1,S2"), a | 1 << 40, b | 1 << 99, 0, "V0");
        assert_eq!(got, s(wanted), "{name}");
    }
    assert_eq!(after("FNEG D0,D1", d(2.0), 0, 0, "V0"), d(-2.0));
    assert_eq!(after("FABS S0,S1", s(-2.0), 0, 0, "V0"), s(2.0));
}

#[test]
fn comparisons() {
    for (a, b, wanted) in [
        (s(1.0), s(2.0), "1000"),
        (s(2.0), s(2.0), "0110"),
        (s(0.0), s(-0.0), "0110"),
        (s(3.0), s(2.0), "0010"),
        (NAN, s(2.0), "0011"),
    ] {
        assert_eq!(flags("FCMP S1,S2", a, b), wanted);
        assert_eq!(flags("FCMPE S1,S2", a, b), wanted);
        // Under a condition that holds, and one that does not.
        assert_eq!(
            flags("FCMP S1,S1; FCCMP S1,S2,#5,VC", a, b),
            match a {
                NAN => "0101",
                _ => wanted,
            }
        );
    }
    assert_eq!(flags("FCMP S1,#0.0", s(-1.0), 0), "1000");
    assert_eq!(flags("FCMP D1,#0.0", d(0.0), 0), "0110");
}

#[test]
fn a_result_depends_on_what_it_is_made_of() {
    let mut m = Machine::new(&[("X1", 0x1000), ("X3", 0x2000)]);
    m.poke(0x1000, 4, s(2.0));
    let m = m.run(BASE, "LDR S1,[X1]; FADD S0,S1,S1; FCVTZS W2,S0; STR W2,[X3]");
    assert_eq!(m.peek(0x2000, 4), 4);
    assert_eq!(m.from("X2").n, 4);
    assert!(!m.from("X2").all().is_empty());
}

#[test]
fn what_is_no_number_of_32_or_64_bits_is_refused() {
    for text in ["FADD H0,H1,H2", "SCVTF H0,W1", "FCVT S0,H1", "FADD S0,D1,S2", "FCVTZS D0,S1"] {
        lowered(BASE, text).expect_err(text);
    }
    assert!(refusal("SCVTF S0,W1,#33").contains("an immediate of 1 to 32"));
    assert!(refusal("FMADD S0,S1,S2,S3").contains("unknown instruction"));
}
