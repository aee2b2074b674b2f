//! Armv7: LDR, STR, and loops of LDREX and STREX.

use super::super::dialect::{Dialect, LOOPS, Registers, dep, fences};
use super::super::edge::DepKind;
use super::linked::{First, Linked, Words};
use super::threads;
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::Arm,
    fences: fences![
        "DMB" "dmb" "DMB",
        "DMB.ST" "dmb.st" "DMB ST",
        "DSB" "dsb" "DSB",
        "DSB.ST" "dsb.st" "DSB ST",
        "ISB" "isb" "ISB",
    ],
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
        ("CtrlIsb", dep(DepKind::CtrlIsb)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::CtrlIsb, DepKind::Ctrl]),
    registers: Registers { prefix: "R", names: &[], first: 0, count: 13 },
    write: threads::<Arm>,
    ..LOOPS
};

pub struct Arm;

impl Linked for Arm {
    const WORDS: Words = Words {
        constant: "MOV R{to},#{value}",
        zero: "EOR R{to},R{from},R{from}",
        add: "ADD R{to},R{to},#{value}",
        sum: "ADD R{to},R{index},R{base}",
        last: 10,
        branch: &["CMP R{from},R{from}", "BNE "],
        isb: "ISB",
        load: "LDR R{to},[R{base}]",
        load_indexed: Some("LDR R{to},[R{index},R{base}]"),
        store: "STR R{value},[R{base}]",
        store_indexed: Some("STR R{value},[R{index},R{base}]"),
        link: "LDREX R{to},[R{base}]",
        store_back: &["STREX R{status},R{value},[R{base}]", "CMP R{status},#0", "BNE "],
        first: First { new_value: true, ..First::LINKS },
        ..Words::NONE
    };
}
