//! The answers to lifting's questions about RISC-V: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Operand};
use crate::relocate::{Fill, Fix, Pairs};
use crate::target::{Bytes, Calls, Facts, Form, Loader, Lock, Rules, Special, Target, Widening};
use litmake_litmus::Arch;
use object::{Architecture, elf};

pub fn target(form: Form) -> Target {
    Target {
        stack: "x2",
        params: &["x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17"],
        result: "x10",
        global: Some("x3"),
        spare: &[
            "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29",
            "x30", "x31", "x9", "x8", "x7", "x6", "x5", "x17", "x16", "x15", "x14", "x13", "x12",
            "x11", "x10", "x1",
        ],
        floats: true,
        machines: &[Architecture::Riscv32, Architecture::Riscv64],
        linker: Some("riscv64-linux-gnu"),
        emulator: Some("qemu-riscv64"),
        ..Target::new(Arch::RiscV, form, super::decode::decoder(), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "j {label}",
    copy: "ori {to},{from},0",
    load: "ld {to},{offset}({base})",
    dependent: &["xor {to},{on},{on}", "add {to},{to},{from}"],
    calls: Some(Calls { taken: &["x1", "ra"], call: &["call {label}"], ret: &["ret"] }),
    lock: Some(Lock {
        address: "x5",
        take: &["ori x6 x0 1", "again: amoswap.w.aq x7 x6 [x5]", "bne x7 x0 again"],
        release: &["fence =rw =w", "sw x0 [x5]"],
    }),
    copies: Some(Bytes { each: &["ld x5 [x11+{at}]", "sd x5 [x10+{at}]"], ..Bytes::NONE }),
    jump_if_zero: &["lw {value},0({base})", "beq {value},x0,{label}"],
    operators: &[("exchange", "swap")],
    // Small variables that are found through a register would share a section.
    apart: &["-msmall-data-limit=0"],
    relaxes: true,
    kernel: Some("riscv"),
    loader: Some(Loader {
        address: &[elf::R_RISCV_64, elf::R_RISCV_JUMP_SLOT],
        base: elf::R_RISCV_RELATIVE,
        chosen: Some(elf::R_RISCV_IRELATIVE),
    }),
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn of_go(&self, target: Target) -> Option<Target> {
        let params = &[
            "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x8", "x9", "x18", "x19",
            "x20", "x21", "x22", "x23",
        ];
        Some(Target { params, stack_params: 8, ..target })
    }

    fn special(&self, d: &Decoded) -> Option<Special> {
        match (d.mnemonic.as_str(), d.operands.as_slice()) {
            ("auipc", [Operand::Reg(r), Operand::Imm(n)]) => {
                let upper = i64::from((*n as i32) << 12);
                Some(Special::Set(r.clone(), d.at.wrapping_add(upper as u64)))
            }
            _ => None,
        }
    }

    fn takes_offset(&self, mnemonic: &str) -> bool {
        !["lr.", "sc.", "amo"].iter().any(|p| mnemonic.starts_with(p))
    }

    fn prepare(&self, fix: &Fix, pairs: &mut Pairs) {
        super::relocate::prepare(fix, pairs);
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
        Some(match (bytes, signed) {
            (4, true) => vec![format!("addiw {to},{from},0")],
            (1, false) => vec![format!("andi {to},{from},255")],
            _ => {
                let (count, kind) = (64 - 8 * u32::from(bytes), if signed { 'a' } else { 'l' });
                let up = format!("slli {to},{from},{count}");
                vec![up, format!("sr{kind}i {to},{to},{count}")]
            }
        })
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        match value as i64 {
            n @ -2048..2048 => format!("ori {reg},x0,{n}"),
            n => format!("li {reg},{n}"),
        }
    }
}
