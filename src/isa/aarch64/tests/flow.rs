//! Branches, fences, hints.

use super::*;

fn trace(text: &str, regs: &[(&str, u128)]) -> Vec<usize> {
    Machine::new(regs).run(BASE, text).trace
}

#[test]
fn branches() {
    assert_eq!(trace("CBZ W1,L; NOP; L: NOP", &[("X1", 1 << 32)]), [0, 2], "the low half decides");
    assert_eq!(trace("CBNZ X1,L; NOP; L: NOP", &[("X1", 1 << 32)]), [0, 2]);
    assert_eq!(trace("TBZ X1,#32,L; NOP; L: NOP", &[("X1", 1 << 32)]), [0, 1, 2]);
    assert_eq!(trace("TBNZ X1,#32,L; NOP; L: NOP", &[("X1", 1 << 32)]), [0, 2]);
    assert_eq!(trace("CMP X1,#2; B.LT L; NOP; L: NOP", &[("X1", 1)]), [0, 1, 3]);
    assert_eq!(trace("CMP X1,#2; BNE L; NOP; L: ", &[("X1", 1)]), [0, 1, 3]);
    assert_eq!(trace("B L; NOP; L: NOP", &[]), [0, 2]);
    assert_eq!(trace("B .+8; NOP; NOP", &[]), [0, 2]);
    assert_eq!(trace("MOV W1,#2; L: SUBS W1,W1,#1; B.NE .-4", &[]), [0, 1, 2, 1, 2]);
    assert_eq!(trace("CBGT W1,#-1,L; NOP; L: NOP", &[("X1", 0)]), [0, 2]);
    assert_eq!(trace("CBBHI W1,W2,L; NOP; L: NOP", &[("X1", 0x102), ("X2", 0x203)]), [0, 1, 2]);
    assert_eq!(trace("BRK #1; NOP", &[]), [0]);
}

#[test]
fn calls_and_returns() {
    assert_eq!(trace("BL F; B E; F: NOP; RET; E: NOP", &[]), [0, 2, 3, 1, 4]);
    assert_eq!(trace("ADR X9,F; BLR X9; B E; F: RET; E: NOP", &[]), [0, 1, 3, 2, 4]);
    assert_eq!(trace("ADR X9,F; BR X9; NOP; F: NOP", &[]), [0, 1, 3]);
    assert_eq!(trace("NOP; RET; NOP", &[]), [0, 1], "the first return ends the thread");
    assert_eq!(trace("PACIASP; BTI C; AUTIASP; HINT #34; RETAA; NOP", &[]), [0, 1, 2, 3, 4]);
}

#[test]
fn control_dependencies_come_through_flags() {
    let m =
        Machine::new(&[("X1", 1), ("X2", 2)]).run(BASE, "CMP W1,#0; B.NE L; L: CBNZ X2,M; M: NOP");
    assert_eq!(m.ctrl, names(&["X1", "X2"]));
    let m = Machine::new(&[("X1", 1), ("X2", 2)])
        .run(BASE, "TST W1,#1; CCMP X2,#2,#0,NE; B.EQ L; L: NOP");
    assert_eq!(m.ctrl, names(&["X1", "X2"]));
}

#[test]
fn fences() {
    let m = Machine::new(&[]).run(
        BASE,
        "DMB SY; DMB ISH; dmb ishld; DMB ISHST; DMB LD; DSB ST; DSB SY; ISB; ISB SY; DMB #11; DMB NSH; \
         DSB OSHLD",
    );
    assert_eq!(
        m.fences,
        [
            tag::DMB_SY,
            tag::DMB_ISH,
            tag::DMB_ISHLD,
            tag::DMB_ISHST,
            tag::DMB_LD,
            tag::DSB_ST,
            tag::DSB_SY,
            tag::ISB,
            tag::ISB,
            tag::DMB_ISH,
            tag::DMB_NSH,
            tag::DSB_OSHLD
        ]
    );
}

#[test]
fn flags_as_a_system_register() {
    let m = Machine::new(&[("X1", 5)]).run(
        BASE,
        "CMP X1,#5; MRS X0,NZCV; MOV X2,#0x80000000; MSR NZCV,X2; CSET W3,MI; CSET W4,EQ",
    );
    assert_eq!((m.get("X0"), m.get("X3"), m.get("X4")), (0x6000_0000, 1, 0));
}

#[test]
fn prefetches_and_hints_do_nothing() {
    let m =
        Machine::new(&[("X1", 0x1000)]).run(BASE, "PRFM PLDL1KEEP,[X1,#8]; YIELD; CLREX; NOP; WFE");
    assert!(m.accesses.is_empty() && m.fences.is_empty());
    assert_eq!(m.trace.len(), 5);
}
