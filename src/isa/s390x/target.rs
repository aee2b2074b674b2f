//! Answers to lifting about s390x: calling convention, and the code that it adds.
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
        stack: "r15",
        params: &["r2", "r3", "r4", "r5", "r6"],
        result: "r2",
        // Behind the place where callees save registers.
        stack_params: 160,
        // In an address, r0 stands for no register.
        spare: &[
            "r13", "r12", "r11", "r10", "r9", "r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r14",
        ],
        machines: &[Architecture::S390x],
        linker: Some("s390x-linux-gnu"),
        emulator: Some("qemu-s390x"),
        ..Target::new(Arch::S390x, form, super::decode::decoder(), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "j {label}",
    copy: "lgr {to},{from}",
    load: "lg {to},{offset}({base})",
    calls: Some(Calls { taken: &["r14", "%r14"], call: &["brasl r14,{label}"], ret: &["br r14"] }),
    lock: Some(Lock {
        address: "r1",
        take: &["again: lhi r0 0", "lhi r3 1", "cs r0 r3 [r1]", "jne again"],
        release: &["mvhi [r1] 0"],
    }),
    copies: Some(Bytes { each: &["lg r1 [r3+{at}]", "stg r1 [r2+{at}]"], ..Bytes::NONE }),
    jump_if_zero: &["lt {value},0({base})", "je {label}"],
    ordered: true,
    even: true,
    address: "a",
    kernel: Some("s390"),
    loader: Some(Loader {
        address: &[elf::R_390_64, elf::R_390_GLOB_DAT, elf::R_390_JMP_SLOT],
        base: elf::R_390_RELATIVE,
        chosen: Some(elf::R_390_IRELATIVE),
    }),
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn of_go(&self, target: Target) -> Option<Target> {
        let params = &["r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"];
        Some(Target { params, stack_params: 8, zero: Some("r0"), ..target })
    }

    fn special(&self, d: &Decoded) -> Option<Special> {
        match (d.mnemonic.as_str(), d.operands.as_slice()) {
            ("larl", [Operand::Reg(r), Operand::Code(at)]) => Some(Special::Set(r.clone(), *at)),
            _ => None,
        }
    }

    /// The form of `lrl` and its like with a register for the address.
    fn position(&self, target: &Target, d: &Decoded) -> Option<(Decoded, &'static str, u64)> {
        let [Operand::Reg(first), Operand::Code(at)] = d.operands.as_slice() else {
            return None;
        };
        let mnemonic = d.mnemonic.strip_suffix("rl")?.to_string();
        let base = target.spare.iter().copied().find(|s| s != first)?;
        let place = Mem { base: Some(base.into()), offset: 0, index: None, update: Update::None };
        let operands = vec![Operand::Reg(first.clone()), Operand::Mem(place)];
        Some((Decoded { mnemonic, operands, ..d.clone() }, base, *at))
    }

    fn conditional_return(&self, d: &Decoded) -> Option<Decoded> {
        let (kept, operands) =
            d.operands.split_last().map(|(_, rest)| (d.mnemonic.as_str(), rest))?;
        // `crbe r1,r2,0(r14)`, or `ber r14`.
        let mnemonic = match kept.strip_prefix('b').and_then(|name| name.strip_suffix('r')) {
            Some(condition) => format!("j{condition}"),
            None => kept.replacen('b', "j", 1),
        };
        let operands = [operands, &[Operand::Code(RETURN)]].concat();
        Some(Decoded { mnemonic, operands, flow: Flow::Branch, ..d.clone() })
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
        let name = match (bytes, signed) {
            (1, true) => "lgbr",
            (2, true) => "lghr",
            (4, true) => "lgfr",
            (1, false) => "llgcr",
            (2, false) => "llghr",
            (4, false) => "llgfr",
            _ => return None,
        };
        Some(vec![format!("{name} {to},{from}")])
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        match value as i64 {
            n @ -0x8000..0x8000 => format!("lghi {reg},{n}"),
            n => format!("lgfi {reg},{n}"),
        }
    }
}
