//! Loads and stores: addresses, sizes, annotations, pairs, exclusives, and dependencies.

use super::*;

const N: Tags = Tags::NONE;

fn at(text: &str) -> Vec<(bool, u128, u8, Tags)> {
    let regs = [("X1", 0x1000), ("X2", 0xffff_fffc), ("X3", 2), ("V0", u128::MAX)];
    Machine::new(&regs).run(BASE, text).log()
}

#[test]
fn addressing_modes() {
    let cases = [
        ("LDR W0,[X1]", 0x1000),
        ("LDR W0,[X1,#8]", 0x1008),
        ("LDUR W0,[X1,#-4]", 0xffc),
        ("LDR W0,[X1,8]!", 0x1008),
        ("LDR W0,[X1],#8", 0x1000),
        ("LDR W0,[X1,X3]", 0x1002),
        ("LDR W0,[X1,X3,LSL #2]", 0x1008),
        ("LDR W0,[X1,W2,SXTW]", 0xffc),
        ("LDR W0,[X1,W2,sxtw #1]", 0xff8),
        ("LDR W0,[X1,W3,UXTW #3]", 0x1010),
        ("LDR W0,[X1,X2,SXTW]", 0xffc),
        ("ldr w0, [x1, x3, lsl 2]", 0x1008),
    ];
    for (text, addr) in cases {
        assert_eq!(at(text), [(false, addr, 4, N)], "{text}");
    }
}

#[test]
fn write_back() {
    let regs = [("X1", 0x1000), ("X2", 0x2000), ("X9", 24)];
    let m = Machine::new(&regs)
        .run(BASE, "LDR X0,[X1,#8]!; STR X0,[X2],#-8; LDP X3,X4,[X1],#16; LD1 {V0.D}[0],[X2],X9");
    assert_eq!((m.get("X1"), m.get("X2")), (0x1018, 0x1ff8 + 24));
    assert_eq!(m.from("X1").data, names(&["X1"]));
    assert_eq!(m.accesses[0].addr.n, 0x1008);
    assert_eq!(m.accesses[1].addr.n, 0x2000);
}

#[test]
fn sizes_and_extensions() {
    let mut m = Machine::new(&[("X1", 0x1000), ("X5", 0x1234_5678_9abc_def0)]);
    m.poke(0x1000, 8, 0xf0f1_f2f3_f4f5_f6f7);
    let m = m.run(
        BASE,
        "LDRB W10,[X1]; LDRSB W11,[X1]; LDRSB X12,[X1]; LDRH W13,[X1]; LDRSH X14,[X1]; LDRSW X15,[X1]; \
         LDR W16,[X1]; LDPSW X17,X18,[X1]; STRB W5,[X1,#16]; STRH W5,[X1,#18]; STR W5,[X1,#20]; \
         STR XZR,[X1]; LDR XZR,[X1]",
    );
    let regs = ["X10", "X11", "X12", "X13", "X14", "X15", "X16", "X17", "X18"].map(|r| m.get(r));
    assert_eq!(
        regs,
        [
            0xf7,
            0xffff_fff7,
            0xffff_ffff_ffff_fff7,
            0xf6f7,
            0xffff_ffff_ffff_f6f7,
            0xffff_ffff_f4f5_f6f7,
            0xf4f5_f6f7,
            0xffff_ffff_f4f5_f6f7,
            0xffff_ffff_f0f1_f2f3
        ]
    );
    assert_eq!(m.peek(0x1010, 8), 0x9abc_def0_def0_00f0);
    assert_eq!(m.peek(0x1000, 8), 0);
    assert_eq!(m.accesses.last().map(|a| a.size), Some(8), "a load to XZR is a load");
}

#[test]
fn orders() {
    let cases = [
        ("LDAR X0,[X1]", false, 8, tag::A),
        ("LDAR WZR,[X1]", false, 4, tag::A),
        ("LDARB W0,[X1]", false, 1, tag::A),
        ("LDAPR W0,[X1]", false, 4, tag::Q),
        ("LDAPRH W0,[X1]", false, 2, tag::Q),
        ("LDAPUR X0,[X1,#0]", false, 8, tag::Q),
        ("LDAPURSW X0,[X1]", false, 4, tag::Q),
        ("LDAPR X0,[X1],#8", false, 8, tag::Q),
        ("STLR X0,[X1]", true, 8, tag::L),
        ("STLRH W0,[X1]", true, 2, tag::L),
        ("STLUR W0,[X1]", true, 4, tag::L),
        ("LDXR W0,[X1]", false, 4, tag::EX),
        ("LDAXRB W0,[X1]", false, 1, tag::EX.with(tag::A)),
        ("LDXP W0,W4,[X1]", false, 8, tag::EX),
        ("LDAXP X0,X4,[X1]", false, 16, tag::EX.with(tag::A)),
        ("STXR W4,X0,[X1]", true, 8, tag::EX),
        ("STLXRH W4,W0,[X1]", true, 2, tag::EX.with(tag::L)),
        ("STLXP W4,X0,X0,[X1]", true, 16, tag::EX.with(tag::L)),
    ];
    for (text, write, size, tags) in cases {
        assert_eq!(at(text), [(write, 0x1000, size, tags)], "{text}");
    }
}

#[test]
fn pairs_are_two_accesses_without_lse2() {
    let two = [(false, 0x1000, 8, N), (false, 0x1008, 8, N)];
    assert_eq!(at("LDP X4,X5,[X1]"), two);
    assert_eq!(at("LDR Q1,[X1]"), two);
    assert_eq!(at("STP W4,W5,[X1]"), [(true, 0x1000, 4, N), (true, 0x1004, 4, N)]);
    assert_eq!(at("STR Q0,[X1]"), [(true, 0x1000, 8, N), (true, 0x1008, 8, N)]);
    assert_eq!(at("LDP Q0,Q1,[X1]").len(), 4);
    assert_eq!(at("LDR D0,[X1]"), [(false, 0x1000, 8, N)]);
    let later = tag::Q | tag::AFTER;
    assert_eq!(at("LDIAPP X4,X5,[X1]"), [(false, 0x1000, 8, tag::Q), (false, 0x1008, 8, later)]);
    let later = tag::L | tag::AFTER;
    assert_eq!(at("STILP X4,X5,[X1]"), [(true, 0x1000, 8, tag::L), (true, 0x1008, 8, later)]);
}

#[test]
fn pairs_are_one_access_with_lse2() {
    let run = |text: &str| {
        let mut m = Machine::new(&[("X1", 0x1000), ("X4", 1), ("X5", 2), ("V0", 3)]);
        m.poke(0x1000, 16, 0x77 << 64 | 0x55);
        m.run(LSE2, text)
    };
    let m = run("LDP X8,X9,[X1]; STP X4,X5,[X1]; LDR Q1,[X1]");
    assert_eq!(m.log(), [(false, 0x1000, 16, N), (true, 0x1000, 16, N), (false, 0x1000, 16, N)]);
    assert_eq!((m.get("X8"), m.get("X9")), (0x55, 0x77));
    assert_eq!(m.get("V1"), 2 << 64 | 1);
    assert_eq!(m.accesses[1].value.data, names(&["X4", "X5"]));
    let m = run("STILP X4,X5,[X1]; LDIAPP X8,X9,[X1]; LDP Q2,Q3,[X1]");
    assert_eq!(m.log()[0], (true, 0x1000, 16, tag::L));
    assert_eq!(m.log()[1], (false, 0x1000, 16, tag::Q));
    assert_eq!(m.log().len(), 4, "a pair of 32 bytes is two accesses");
}

#[test]
fn exclusives_move_values() {
    let mut m = Machine::new(&[("X1", 0x1000), ("X4", 1), ("X5", 2), ("X6", 99)]);
    m.poke(0x1000, 16, 0x77 << 64 | 0x55);
    let m =
        m.run(BASE, "LDXP X8,X9,[X1]; STXP W6,X4,X5,[X1]; LDXP W10,W11,[X1]; STXR W7,W5,[X1,#0]");
    assert_eq!((m.get("X8"), m.get("X9"), m.get("X6")), (0x55, 0x77, 0));
    assert_eq!(m.peek(0x1000, 16), 2 << 64 | 2);
    assert_eq!((m.get("X10"), m.get("X11")), (1, 0));
    assert!(m.accesses[1].exclusive);
    assert_eq!(m.from("X6").all(), names(&[]), "the status depends on nothing");
}

#[test]
fn dependencies() {
    let regs = [("X1", 0x1000), ("X2", 0), ("X4", 4), ("X5", 5)];
    let m = Machine::new(&regs).run(
        BASE,
        "LDR W0,[X1,W2,SXTW]; STR X4,[X1,X2]; STP X4,X5,[X1]; LDP X6,X7,[X1]; STP X6,X7,[X1,#16]!; STXR W9,X4,[X1]",
    );
    assert_eq!(m.accesses[0].addr.data, names(&["X1", "X2"]));
    assert_eq!(m.accesses[1].addr.data, names(&["X1", "X2"]));
    assert_eq!(m.accesses[1].value.data, names(&["X4"]));
    // The halves of a pair have each their own data.
    assert_eq!(m.accesses[2].value.data, names(&["X4"]));
    assert_eq!(m.accesses[3].value.data, names(&["X5"]));
    assert_eq!(m.from("X6").data, names(&["R1"]));
    assert_eq!(m.from("X7").data, names(&["R2"]));
    assert_eq!(m.accesses[6].value.data, names(&["R1"]));
    assert_eq!(m.from("X1").data, names(&["X1"]), "write-back is of the address alone");
    let port = |reg: &str| m.ports.iter().rev().find(|p| p.0 == reg).map(|p| p.1);
    assert_eq!(port("X2"), Some(Port::Addr));
    assert_eq!(port("X5"), Some(Port::Data));
    assert_eq!(port("X4"), Some(Port::None), "as herd has it for the data of STXR");
}

#[test]
fn elements() {
    let mut m = Machine::new(&[("X1", 0x1000), ("X2", 0x2000)]);
    for i in 0..32 {
        m.poke(0x1000 + i, 1, i);
    }
    let m = m.run(
        BASE,
        "LD1 {V0.4H},[X1]; LD2 {V1.8B,V2.8B},[X1]; LD1 {V3.2D-V4.2D},[X1],#32; LD1R {V5.2S},[X2]; \
         MOVI V6.2D,#0; LDAP1 {V6.D}[1],[X2]; ST1 {V3.D}[1],[X2]; STL1 {V3.D}[0],[X2]",
    );
    assert_eq!(m.get("V0"), 0x0706_0504_0302_0100);
    assert_eq!((m.get("V1"), m.get("V2")), (0x0e0c_0a08_0604_0200, 0x0f0d_0b09_0705_0301));
    assert_eq!(m.get("V4"), 0x1f1e_1d1c_1b1a_1918_1716_1514_1312_1110);
    assert_eq!(m.get("X1"), 0x1020);
    let sizes: Vec<u8> = m.accesses.iter().map(|a| a.size).collect();
    assert_eq!(sizes[..4], [2; 4]);
    assert_eq!(sizes[4..20], [1; 16]);
    let last: Vec<Tags> = m.accesses[m.accesses.len() - 3..].iter().map(|a| a.tags).collect();
    assert_eq!(last, [tag::Q, N, tag::L]);
}
