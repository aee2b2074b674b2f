//! The answers to lifting's questions about Power: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Flow, Mem, Operand, Update};
use crate::relocate::{Fill, Fix};
use crate::target::{
    Bytes, Calls, Facts, Form, Loader, Lock, RETURN, Rules, Special, Target, Widening,
};
use litmake_litmus::Arch;
use object::{Architecture, elf};

pub fn target(form: Form) -> Target {
    Target {
        stack: "r1",
        params: &["r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"],
        result: "r3",
        stack_params: 96,
        entry: Some("r12"),
        spare: &[
            "r11", "r12", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23",
            "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31", "r10", "r9", "r8", "r7", "r6",
            "r5", "r4", "r3",
        ],
        machines: &[Architecture::PowerPc, Architecture::PowerPc64],
        linker: Some(if form.big { "powerpc64-linux-gnu" } else { "powerpc64le-linux-gnu" }),
        emulator: Some(if form.big { "qemu-ppc64" } else { "qemu-ppc64le" }),
        ..Target::new(Arch::Ppc, form, super::decode::decoder(form.big), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "b {label}",
    copy: "mr {to},{from}",
    load: "ld {to},{offset}({base})",
    dependent: &["xor {to},{on},{on}", "add {to},{to},{from}"],
    calls: Some(Calls {
        taken: &["lr", "mflr", "mtlr", "bl", "blr", "bctrl"],
        call: &["bl {label}"],
        ret: &["blr"],
    }),
    lock: Some(Lock {
        address: "r11",
        take: &[
            "li r9 1",
            "again: lwarx r10 [0,r11]",
            "cmpwi r10 0",
            "bne again",
            "stwcx. r9 [0,r11]",
            "bne again",
            "isync",
        ],
        release: &["li r9 0", "lwsync", "stw r9 [r11]"],
    }),
    copies: Some(Bytes { each: &["ld r9 [r4+{at}]", "std r9 [r3+{at}]"], ..Bytes::NONE }),
    compares: Some(Bytes {
        first: &["li r9 0"],
        each: &["ld r10 [r3+{at}]", "ld r11 [r4+{at}]", "xor r10 r10 r11", "or r9 r9 r10"],
        then: &["cntlzd r9 r9", "srdi r9 r9 6", "xori r3 r9 1"],
    }),
    jump_if_zero: &["lwz {value},0({base})", "cmpwi {value},0", "beq {label}"],
    address: "b",
    operators: &[("fetch_sub", "subf")],
    kernel: Some("powerpc"),
    loader: Some(Loader {
        address: &[elf::R_PPC64_ADDR64, elf::R_PPC64_GLOB_DAT, elf::R_PPC64_JMP_SLOT],
        base: elf::R_PPC64_RELATIVE,
        chosen: Some(elf::R_PPC64_IRELATIVE),
    }),
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

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

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
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
