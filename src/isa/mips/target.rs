//! The answers to lifting's questions about MIPS: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use super::decode::{Release, decoder};
use crate::relocate::{Fill, Fix};
use crate::target::{Bytes, Calls, Facts, Form, Lock, Rules, Target, Widening};
use litmake_litmus::Arch;
use object::Architecture;

pub fn target(form: Form) -> Target {
    let release = if form.release6 { Release::R6 } else { Release::R2 };
    Target {
        stack: "$29",
        params: &["$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11"],
        result: "$2",
        entry: Some("$25"),
        spare: &[
            "$16", "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$12", "$13", "$14", "$15",
            "$24", "$30", "$25", "$3", "$2", "$11", "$10", "$9", "$8", "$7", "$6", "$5", "$4",
        ],
        machines: &[Architecture::Mips, Architecture::Mips64, Architecture::Mips64_N32],
        linker: Some(if form.big { "mips64-linux-gnuabi64" } else { "mips64el-linux-gnuabi64" }),
        emulator: Some(if form.big { "qemu-mips64" } else { "qemu-mips64el" }),
        ..Target::new(Arch::Mips, form, decoder(form.big, release), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "b {label}",
    copy: "move {to},{from}",
    load: "ld {to},{offset}({base})",
    dependent: &["xor {to},{on},{on}", "daddu {to},{to},{from}"],
    calls: Some(Calls {
        taken: &["$31", "ra"],
        call: &["jal {label}", "nop"],
        ret: &["jr $31", "nop"],
    }),
    lock: Some(Lock {
        address: "$24",
        take: &[
            "again: ll $15 [$24]",
            "bne $15 $0 again",
            "li $15 1",
            "sc $15 [$24]",
            "beq $15 $0 again",
            "sync",
        ],
        release: &["sync", "sw $0 [$24]"],
    }),
    copies: Some(Bytes {
        each: &["ld $24 [$5+{at}]", "sd $24 [$4+{at}]"],
        then: &["move $2 $4"],
        ..Bytes::NONE
    }),
    jump_if_zero: &["lw {value},0({base})", "beq {value},$0,{label}"],
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn has_delay_slots(&self) -> bool {
        true
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
        let line = match (bytes, signed) {
            (4, false) => {
                return Some(vec![format!("dsll {to},{from},32"), format!("dsrl {to},{to},32")]);
            }
            (4, true) => format!("addu {to},{from},$0"),
            (1, true) => format!("seb {to},{from}"),
            (2, true) => format!("seh {to},{from}"),
            (1 | 2, false) => format!("andi {to},{from},{}", (1u32 << (8 * bytes)) - 1),
            _ => return None,
        };
        Some(vec![line])
    }
}
