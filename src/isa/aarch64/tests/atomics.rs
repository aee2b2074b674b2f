//! Atomic instructions: values, annotations, dependencies.

use super::*;

fn run(text: &str, memory: u128, choose: bool) -> Machine {
    let regs = [
        ("X1", 0x1000),
        ("X2", 0xffff_ffff_ffff_fff0),
        ("X3", 0x5555_5555_5555_5555),
        ("X4", 0xaa),
        ("X5", 0xbb),
        ("X6", 6),
        ("X7", 7),
    ];
    let mut m = Machine::new(&regs);
    m.poke(0x1000, 16, memory);
    m.choose = choose;
    m.run(BASE, text)
}

#[test]
fn values() {
    let cases: [(&str, u128, u128); 12] = [
        ("LDADD X2,X0,[X1]", 0x20, 0x10),
        ("LDADDB W2,W0,[X1]", 0x1120, 0x1110),
        ("LDCLR W2,W0,[X1]", 0x7_0000_00ff, 0x7_0000_000f),
        ("LDEORH W3,W0,[X1]", 0xff_ffff, 0xff_aaaa),
        ("LDSET X4,X0,[X1]", 0x55, 0xff),
        ("LDSMAX W2,W0,[X1]", 5, 5),
        ("LDSMIN W2,W0,[X1]", 5, 0xffff_fff0),
        ("LDUMAX X2,X0,[X1]", 5, 0xffff_ffff_ffff_fff0),
        ("LDUMINH W2,W0,[X1]", 5, 5),
        ("SWP X3,X0,[X1]", 5, 0x5555_5555_5555_5555),
        ("SWPB W3,W0,[X1]", 0x1234, 0x1255),
        ("STADDL W4,[X1]", 1, 0xab),
    ];
    for (text, before, after) in cases {
        let m = run(text, before, false);
        assert_eq!(m.peek(0x1000, 8), after, "{text}");
        if !text.starts_with("ST") {
            let size = m.accesses[0].size;
            assert_eq!(m.get("X0"), before & ones(size * 8), "{text}");
        }
    }
}

#[test]
fn annotations() {
    let (x, a, l) = (tag::X, tag::X | tag::A, tag::X | tag::L);
    let no_ret = tag::X | tag::NoRet;
    let cases = [
        ("LDADD W3,W0,[X1]", x, x),
        ("LDADDA W3,W0,[X1]", a, x),
        ("LDADDLB W3,W0,[X1]", x, l),
        ("LDADDAL W3,W0,[X1]", a, l),
        ("STADD W3,[X1]", no_ret, x),
        ("STADDLH W3,[X1]", no_ret, l),
        ("LDADDAL W3,WZR,[X1]", no_ret, l),
        ("SWPA X3,X0,[X1]", a, x),
        ("SWPAL X3,XZR,[X1]", no_ret, l),
        ("CASAL W4,W5,[X1]", a, l),
        ("CASA WZR,W5,[X1]", no_ret, x),
        ("LDSETPAL X4,X5,[X1]", a, l),
        ("SWPPL X4,X5,[X1]", x, l),
    ];
    for (text, read, write) in cases {
        let memory = if text.contains("CASAL") { 0xaa } else { 0 };
        let m = run(text, memory, false);
        let got: Vec<Tags> = m.accesses.iter().map(|a| a.tags).collect();
        assert_eq!(got, [read, write], "{text}");
    }
}

#[test]
fn dependencies_of_swap_and_add() {
    let m = run("SWP X3,X0,[X1]", 5, false);
    assert_eq!(m.accesses[1].value.data, names(&["X3"]));
    assert_eq!(m.from("X0").data, names(&["R0"]));
    let m = run("LDADD X3,X0,[X1]", 5, false);
    assert_eq!(m.accesses[1].value.data, names(&["X3", "R0"]));
    assert_eq!(m.from("X0").data, names(&["R0"]));
    assert_eq!(m.accesses[0].addr.data, names(&["X1"]));
    assert_eq!(m.accesses[1].addr.data, names(&["X1"]));
}

#[test]
fn compare_and_swap() {
    for choose in [false, true] {
        let m = run("CAS W4,W5,[X1]", 0x7_0000_00aa, choose);
        assert_eq!((m.get("X4"), m.peek(0x1000, 8)), (0xaa, 0x7_0000_00bb));
        let write = &m.accesses[1];
        assert_eq!(write.value.data, names(&["X5"]));
        assert_eq!(write.value.pick, names(&["X4", "R0"]), "the comparison decides");
        let m = run("CASA W4,W5,[X1]", 0x9, choose);
        assert_eq!((m.get("X4"), m.accesses.len()), (9, 1), "a failing one does not write");
        assert!(m.accesses[0].tags.meets(tag::A));
        let m = run("CASB W2,W5,[X1]", 0xff_00f0, choose);
        assert_eq!((m.get("X2"), m.peek(0x1000, 8)), (0xf0, 0xff_00bb));
    }
    // The register gets what was read, or keeps what it had.
    let m = run("CAS X4,X5,[X1]", 0xaa, false);
    assert_eq!((m.from("X4").data, m.from("X4").pick), (names(&["R0"]), names(&[])));
    let m = run("CAS X4,X5,[X1]", 0xaa, true);
    assert_eq!((m.from("X4").data, m.from("X4").pick), (names(&["X4"]), names(&["X4", "R0"])));
    let m = run("CAS X4,X5,[X1]", 0, false);
    assert_eq!((m.from("X4").data, m.from("X4").pick), (names(&["R0"]), names(&[])));
}

#[test]
fn pairs() {
    let m = run("CASPAL X4,X5,X6,X7,[X1]", 0xbb << 64 | 0xaa, false);
    assert_eq!(m.peek(0x1000, 16), 7 << 64 | 6);
    assert_eq!(m.log()[0], (false, 0x1000, 16, tag::X | tag::A));
    assert_eq!(m.log()[1], (true, 0x1000, 16, tag::X | tag::L));
    let m = run("CASP W4,W5,W6,W7,[X1]", 1 << 32 | 2, true);
    assert_eq!((m.get("X4"), m.get("X5"), m.accesses.len()), (2, 1, 1));
    let m = run("SWPP X4,X5,[X1]", 9 << 64 | 8, false);
    assert_eq!((m.get("X4"), m.get("X5")), (8, 9));
    assert_eq!(m.peek(0x1000, 16), 0xbb << 64 | 0xaa);
    let m = run("LDCLRP X4,X5,[X1]; LDSETPL X6,X7,[X1]", 0xff << 64 | 0xff, false);
    assert_eq!(m.peek(0x1000, 16), (0x44 | 7) << 64 | (0x55 | 6));
}
