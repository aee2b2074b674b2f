//! LoongArch: word loads and stores, and loops of LL and SC.

use super::super::dialect::{Dialect, LOOPS, Registers, fences};
use super::super::edge::{Atom, Order};
use super::linked::{First, Linked, Words};
use super::threads;
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::LoongArch,
    plain: "P",
    atoms: &[("X", Atom::Loop(Order::Plain, Order::Plain)), ("R", Atom::Reserve)],
    // The hints that only keep the order.
    fences: fences![
        "Dbar.rw.rw" "dbar.rw.rw" "dbar 16",
        "Dbar.rw.r" "dbar.rw.r" "dbar 17",
        "Dbar.rw.w" "dbar.rw.w" "dbar 18",
        "Dbar.r.rw" "dbar.r.rw" "dbar 20",
        "Dbar.r.r" "dbar.r.r" "dbar 21",
        "Dbar.r.w" "dbar.r.w" "dbar 22",
        "Dbar.w.rw" "dbar.w.rw" "dbar 24",
        "Dbar.w.r" "dbar.w.r" "dbar 25",
        "Dbar.w.w" "dbar.w.w" "dbar 26",
        "Dbar.same" "dbar.same" "dbar 1792",
    ],
    registers: Registers { prefix: "$r", names: &[], first: 4, count: 28 },
    write: threads::<LoongArch>,
    ..LOOPS
};

pub struct LoongArch;

impl Linked for LoongArch {
    const WORDS: Words = Words {
        constant: "ori $r{to},$r0,{value}",
        too_large: 1 << 12,
        zero: "xor $r{to},$r{from},$r{from}",
        add: "addi.w $r{to},$r{to},{value}",
        sum: "add.d $r{to},$r{index},$r{base}",
        last: 20,
        branch: &["bne $r{from},$r0,"],
        load: "ld.w $r{to},$r{base},0",
        store: "st.w $r{value},$r{base},0",
        link: "ll.w $r{to},$r{base},0",
        // The status goes where the value was.
        store_back: &[
            "move $r{status},$r{value}",
            "sc.w $r{status},$r{base},0",
            "beq $r{status},$r0,",
        ],
        first: First { late_index: true, ..First::LINKS },
        ..Words::NONE
    };
}
