//! Power: word loads and stores, and loops of lwarx and stwcx.

use super::super::dialect::{Dialect, LOOPS, Registers, dep, fences};
use super::super::edge::DepKind;
use super::linked::{Linked, Words};
use super::threads;
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::Ppc,
    fences: fences![
        "Sync" "sync" "sync",
        "LwSync" "lwsync" "lwsync",
        "Eieio" "eieio" "eieio",
        "ISync" "isync" "isync",
    ],
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
        ("CtrlIsync", dep(DepKind::CtrlIsb)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::CtrlIsb, DepKind::Ctrl]),
    registers: Registers { prefix: "r", names: &[], first: 1, count: 30 },
    write: threads::<Ppc>,
    ..LOOPS
};

pub struct Ppc;

impl Linked for Ppc {
    const WORDS: Words = Words {
        constant: "li r{to},{value}",
        zero: "xor r{to},r{from},r{from}",
        add: "addi r{to},r{to},{value}",
        branch: &["cmpw r{from},r{from}", "beq "],
        isb: "isync",
        load: "lwz r{to},0(r{base})",
        load_indexed: Some("lwzx r{to},r{index},r{base}"),
        store: "stw r{value},0(r{base})",
        store_indexed: Some("stwx r{value},r{index},r{base}"),
        link: "lwarx r{to},r{index},r{base}",
        store_back: &["stwcx. r{value},r{index},r{base}", "bne "],
        // Register 0 is no index.
        link_indexed: true,
        ..Words::NONE
    };
}
