//! What lifting asks of Power: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Flow, Mem, Operand, Update};
use crate::relocate::{Fill, Fix};
use crate::target::{Calls, Form, RETURN, Rules, Special, Target, by_zero};
use litmake_litmus::Arch;
use object::Architecture;

pub fn target(form: Form) -> Target {
    Target {
        arch: Arch::Ppc,
        form,
        decoder: super::decode::decoder(form.big),
        stack: "r1",
        params: &["r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"],
        result: "r3",
        stack_params: 96,
        word: 8,
        stack_start: 0,
        entry: Some("r12"),
        global: None,
        zero: None,
        spare: &[
            "r11", "r12", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23",
            "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31", "r10", "r9", "r8", "r7", "r6",
            "r5", "r4", "r3",
        ],
        floats: false,
        machines: &[Architecture::PowerPc, Architecture::PowerPc64],
        linker: Some(if form.big { "powerpc64-linux-gnu" } else { "powerpc64le-linux-gnu" }),
        emulator: Some(if form.big { "qemu-ppc64" } else { "qemu-ppc64le" }),
        rules: &Own,
    }
}

struct Own;

impl Rules for Own {
    fn of_go(&self, target: Target) -> Option<Target> {
        let params = &["r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r14", "r15", "r16", "r17"];
        Some(Target { params, stack_params: 32, entry: None, zero: Some("r0"), ..target })
    }

    fn special(&self, d: &Decoded) -> Option<Special> {
        match (d.mnemonic.as_str(), d.operands.as_slice()) {
            ("pla", [Operand::Reg(r), Operand::Code(at)]) => Some(Special::Set(r.clone(), *at)),
            _ => None,
        }
    }

    fn conditional_return(&self, d: &Decoded) -> Option<Decoded> {
        let mut out = d.clone();
        out.flow = Flow::Branch;
        out.mnemonic = d.mnemonic.strip_suffix("lr")?.to_string();
        out.operands.push(Operand::Code(RETURN));
        Some(out)
    }

    fn strange_call(&self, d: &Decoded) -> bool {
        !["bl", "bcl", "bctrl", "blrl"].contains(&d.mnemonic.as_str())
    }

    // A load or store relative to its own address gets another register as base.
    fn position(&self, target: &Target, d: &Decoded) -> Option<(Decoded, &'static str, u64)> {
        let [Operand::Reg(first), Operand::Code(at)] = d.operands.as_slice() else {
            return None;
        };
        let spare = target.spare.iter().copied().find(|s| s != first)?;
        let (base, update) = (Some(spare.to_string()), Update::None);
        let memory = Operand::Mem(Mem { base, offset: 0, index: None, update });
        let out = Decoded {
            mnemonic: d.mnemonic.strip_prefix('p')?.to_string(),
            operands: vec![Operand::Reg(first.clone()), memory],
            ..d.clone()
        };
        Some((out, spare, *at))
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn calls(&self) -> Option<Calls> {
        Some(Calls {
            taken: &["lr", "mflr", "mtlr", "bl", "blr", "bctrl"],
            call: |l| vec![format!("bl {l}")],
            ret: &["blr"],
        })
    }

    fn jump(&self, label: &str) -> String {
        format!("b {label}")
    }

    fn copy(&self, to: &str, from: &str, _bytes: u8) -> String {
        format!("mr {to},{from}")
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
        Some(vec![match (bytes, signed) {
            // `andi.` would set a condition.
            (_, false) => format!("clrldi {to},{from},{}", 64 - 8 * bytes),
            (4, true) => format!("extsw {to},{from}"),
            (2, true) => format!("extsh {to},{from}"),
            (1, true) => format!("extsb {to},{from}"),
            _ => return None,
        }])
    }
}
