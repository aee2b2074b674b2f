//! What lifting asks of MIPS: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use super::decode::{Release, decoder};
use crate::relocate::{Fill, Fix};
use crate::target::{Calls, Form, Rules, Target, by_zero};
use litmake_litmus::Arch;
use object::Architecture;

pub fn target(form: Form) -> Target {
    let release = if form.release6 { Release::R6 } else { Release::R2 };
    Target {
        arch: Arch::Mips,
        form,
        decoder: decoder(form.big, release),
        stack: "$29",
        params: &["$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11"],
        result: "$2",
        stack_params: 0,
        word: 8,
        stack_start: 0,
        entry: Some("$25"),
        global: None,
        zero: None,
        spare: &[
            "$16", "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$12", "$13", "$14", "$15",
            "$24", "$30", "$25", "$3", "$2", "$11", "$10", "$9", "$8", "$7", "$6", "$5", "$4",
        ],
        floats: false,
        machines: &[Architecture::Mips, Architecture::Mips64, Architecture::Mips64_N32],
        linker: Some(if form.big { "mips64-linux-gnuabi64" } else { "mips64el-linux-gnuabi64" }),
        emulator: Some(if form.big { "qemu-mips64" } else { "qemu-mips64el" }),
        rules: &Own,
    }
}

struct Own;

impl Rules for Own {
    fn has_delay_slots(&self) -> bool {
        true
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn calls(&self) -> Option<Calls> {
        Some(Calls {
            taken: &["$31", "ra"],
            call: |l| vec![format!("jal {l}"), "nop".into()],
            ret: &["jr $31", "nop"],
        })
    }

    fn jump(&self, label: &str) -> String {
        format!("b {label}")
    }

    fn copy(&self, to: &str, from: &str, _bytes: u8) -> String {
        format!("move {to},{from}")
    }

    fn dependent(&self, to: &str, on: &str, from: &str) -> Option<Vec<String>> {
        Some(by_zero("xor", "daddu", to, on, from))
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
