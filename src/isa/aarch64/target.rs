//! The answers to lifting's questions about AArch64: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Operand};
use crate::relocate::{Fill, Fix};
use crate::target::{Bytes, Calls, Facts, Form, Loader, Lock, Rules, Special, Target, Widening};
use litmake_litmus::Arch;
use object::{Architecture, elf};

pub fn target(form: Form) -> Target {
    Target {
        stack: "SP",
        params: &["X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7"],
        result: "X0",
        spare: &[
            "X19", "X20", "X21", "X22", "X23", "X24", "X25", "X26", "X27", "X28", "X9", "X10",
            "X11", "X12", "X13", "X14", "X15", "X16", "X17", "X8", "X7", "X6", "X5", "X4", "X3",
            "X2", "X1", "X0", "X29", "X30",
        ],
        floats: true,
        machines: &[Architecture::Aarch64, Architecture::Aarch64_Ilp32],
        linker: Some(if form.big { "aarch64_be-linux-gnu" } else { "aarch64-linux-gnu" }),
        emulator: Some(if form.big { "qemu-aarch64_be" } else { "qemu-aarch64" }),
        ..Target::new(Arch::AArch64, form, super::decode::decoder(), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "B {label}",
    load: "LDR {to},[{base},#{offset}]",
    dependent: &["EOR {to},{on},{on}", "ADD {to},{to},{from}"],
    calls: Some(Calls { taken: &["x30", "w30", "lr"], call: &["BL {label}"], ret: &["RET"] }),
    lock: Some(Lock {
        address: "X16",
        take: &["MOV W17 1", "again: SWPA W17 W15 [X16]", "CBNZ W15 again"],
        release: &["STLR WZR [X16]"],
    }),
    copies: Some(Bytes { each: &["LDR X16 [X1+{at}]", "STR X16 [X0+{at}]"], ..Bytes::NONE }),
    jump_if_zero: &["LDR {word},[{base}]", "CBZ {word},{label}"],
    operators: &[("fetch_or", "orr"), ("fetch_xor", "eor")],
    kernel: Some("arm64"),
    loader: Some(Loader {
        address: &[elf::R_AARCH64_ABS64, elf::R_AARCH64_GLOB_DAT, elf::R_AARCH64_JUMP_SLOT],
        base: elf::R_AARCH64_RELATIVE,
        chosen: Some(elf::R_AARCH64_IRELATIVE),
    }),
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn copy(&self, to: &str, from: &str, bytes: u8) -> String {
        format!("MOV {},{}", self.view(to, bytes), self.view(from, bytes))
    }

    fn of_go(&self, target: Target) -> Option<Target> {
        let params = &[
            "X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11", "X12", "X13",
            "X14", "X15",
        ];
        Some(Target { params, stack_params: 8, ..target })
    }

    fn special(&self, d: &Decoded) -> Option<Special> {
        let [Operand::Reg(r), Operand::Code(at)] = d.operands.as_slice() else { return None };
        match d.mnemonic.as_str() {
            "ADR" | "ADRP" => Some(Special::Set(r.clone(), *at)),
            "LDR" | "LDRSW" => {
                let size = match r.as_bytes()[0] {
                    b'W' => 4,
                    // Vector registers are not given constants.
                    b'S' | b'D' | b'Q' => return None,
                    _ if d.mnemonic == "LDRSW" => 4,
                    _ => 8,
                };
                Some(Special::Load(r.clone(), *at, size, d.mnemonic == "LDRSW"))
            }
            _ => None,
        }
    }

    fn takes_offset(&self, mnemonic: &str) -> bool {
        ["LDR", "STR", "LDP", "STP", "LDNP", "STNP", "LDUR", "STUR", "LDAPUR", "STLUR"]
            .iter()
            .any(|p| mnemonic.starts_with(p))
    }

    fn view(&self, reg: &str, bytes: u8) -> String {
        match (reg.strip_prefix('X'), bytes) {
            (Some(n), ..=4) => format!("W{n}"),
            _ => reg.to_string(),
        }
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, to_bytes, signed } = widening;
        let line = match (bytes, signed) {
            (4, false) => self.copy(to, from, 4),
            (1 | 2, false) => {
                let (to, from) = (self.view(to, 4), self.view(from, 4));
                format!("AND {to},{from},#{}", (1u32 << (8 * bytes)) - 1)
            }
            (_, true) => {
                let (to, from) = (self.view(to, to_bytes), self.view(from, 4));
                let name = ["SXTB", "SXTH", "SXTW"][usize::from(bytes.min(4) / 2)];
                format!("{name} {to},{from}")
            }
            _ => return None,
        };
        Some(vec![line])
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        match u32::try_from(value) {
            Ok(_) => format!("MOV {},#{value}", self.view(reg, 4)),
            Err(_) => format!("MOV {reg},#{value}"),
        }
    }
}
