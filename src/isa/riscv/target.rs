//! What lifting asks of RISC-V: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Operand};
use crate::relocate::{Fill, Fix, Pairs};
use crate::target::{Calls, Form, Rules, Special, Target, by_zero};
use litmake_litmus::Arch;
use object::Architecture;

pub fn target(form: Form) -> Target {
    Target {
        arch: Arch::RiscV,
        form,
        decoder: super::decode::decoder(),
        stack: "x2",
        params: &["x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17"],
        result: "x10",
        stack_params: 0,
        word: 8,
        stack_start: 0,
        entry: None,
        global: Some("x3"),
        zero: None,
        spare: &[
            "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29",
            "x30", "x31", "x9", "x8", "x7", "x6", "x5", "x17", "x16", "x15", "x14", "x13", "x12",
            "x11", "x10", "x1",
        ],
        floats: true,
        machines: &[Architecture::Riscv32, Architecture::Riscv64],
        linker: Some("riscv64-linux-gnu"),
        emulator: Some("qemu-riscv64"),
        rules: &Own,
    }
}

struct Own;

impl Rules for Own {
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

    fn calls(&self) -> Option<Calls> {
        Some(Calls { taken: &["x1", "ra"], call: |l| vec![format!("call {l}")], ret: &["ret"] })
    }

    fn jump(&self, label: &str) -> String {
        format!("j {label}")
    }

    fn copy(&self, to: &str, from: &str, _bytes: u8) -> String {
        format!("ori {to},{from},0")
    }

    fn dependent(&self, to: &str, on: &str, from: &str) -> Option<Vec<String>> {
        Some(by_zero("xor", "add", to, on, from))
    }

    fn load(&self, to: &str, base: &str, offset: usize) -> String {
        format!("ld {to},{offset}({base})")
    }

    fn widen(
        &self,
        to: &str,
        from: &str,
        bytes: u8,
        _to_bytes: u8,
        signed: bool,
    ) -> Option<Vec<String>> {
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
