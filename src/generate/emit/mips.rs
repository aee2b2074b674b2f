//! MIPS: word loads and stores, and loops of ll and sc.

use super::super::dialect::{Dialect, LOOPS, Registers, fences};
use super::linked::{First, Linked, Words};
use super::threads;
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::Mips,
    fences: fences!["Sync" "sync" "sync"],
    registers: Registers { prefix: "$", names: &[], first: 2, count: 24 },
    write: threads::<Mips>,
    ..LOOPS
};

pub struct Mips;

impl Linked for Mips {
    const WORDS: Words = Words {
        constant: "ori ${to},$0,{value}",
        zero: "xor ${to},${from},${from}",
        add: "addiu ${to},${to},{value}",
        sum: "addu ${to},${index},${base}",
        last: 23,
        branch: &["bne ${from},${from},"],
        load: "lw ${to},0(${base})",
        store: "sw ${value},0(${base})",
        link: "ll ${to},0(${base})",
        store_back: &["ori ${status},${value},0", "sc ${status},0(${base})", "beq ${status},$0,"],
        first: First { late_index: true, ..First::LINKS },
        ..Words::NONE
    };
}
