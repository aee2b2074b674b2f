//! The answers to lifting's questions about 32-bit Arm: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use super::insn::Cond;
use super::row::split;
use crate::machine::{Decoded, Flow, Mem, Operand, Update};
use crate::relocate::{Fill, Fix};
use crate::target::{Calls, Facts, Form, Loader, Lock, RETURN, Rules, Special, Target, Widening};
use litmake_litmus::Arch;
use object::{Architecture, elf};

pub fn target(form: Form) -> Target {
    Target {
        stack: "SP",
        params: &["R0", "R1", "R2", "R3"],
        result: "R0",
        word: 4,
        spare: &[
            "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R3", "R2", "R1", "R0", "R14",
        ],
        machines: &[Architecture::Arm],
        linker: Some("arm-linux-gnueabihf"),
        emulator: Some(if form.big { "qemu-armeb" } else { "qemu-arm" }),
        ..Target::new(Arch::Arm, form, super::decode::decoder(form.thumb), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "B {label}",
    copy: "MOV {to},{from}",
    load: "LDR {to},[{base},#{offset}]",
    calls: Some(Calls { taken: &["r14", "lr"], call: &["BL {label}"], ret: &["BX LR"] }),
    lock: Some(Lock {
        address: "R12",
        take: &[
            "MOV R3 1",
            "again: LDREX R2 [R12]",
            "CMP R2 0",
            "BNE again",
            "STREX R2 R3 [R12]",
            "CMP R2 0",
            "BNE again",
            "DMB =ISH",
        ],
        release: &["MOV R3 0", "DMB =ISH", "STR R3 [R12]"],
    }),
    jump_if_zero: &["LDR {value},[{base}]", "CMP {value},#0", "BEQ {label}"],
    operators: &[("fetch_or", "orr"), ("fetch_xor", "eor")],
    loader: Some(Loader {
        address: &[elf::R_ARM_ABS32, elf::R_ARM_GLOB_DAT, elf::R_ARM_JUMP_SLOT],
        base: elf::R_ARM_RELATIVE,
        chosen: Some(elf::R_ARM_IRELATIVE),
    }),
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    // Parameters and results are on the stack.
    fn of_go(&self, target: Target) -> Option<Target> {
        Some(Target { params: &[], result: "", stack_params: 4, ..target })
    }

    fn special(&self, d: &Decoded) -> Option<Special> {
        let [Operand::Reg(r), Operand::Code(at)] = d.operands.as_slice() else { return None };
        match d.mnemonic.as_str() {
            "LDR" => Some(Special::Load(r.clone(), *at, 4, false)),
            "ADR" => Some(Special::Set(r.clone(), *at)),
            _ => None,
        }
    }

    fn takes_offset(&self, mnemonic: &str) -> bool {
        split(&mnemonic.to_ascii_lowercase()).is_none_or(|split| split.names[0].row.takes_offset())
    }

    fn conditional_return(&self, d: &Decoded) -> Option<Decoded> {
        Some(Decoded {
            mnemonic: format!("B{}", d.mnemonic.strip_prefix("BX")?),
            operands: vec![Operand::Code(RETURN)],
            flow: Flow::Branch,
            ..d.clone()
        })
    }

    fn unless(&self, d: &Decoded) -> Option<(Decoded, Decoded)> {
        if d.mnemonic.len() < 4 {
            return None;
        }
        let (stem, cond) = d.mnemonic.split_at_checked(d.mnemonic.len() - 2)?;
        let cond = Cond::named(&cond.to_ascii_lowercase()).filter(|cond| *cond != Cond::AL)?;
        let branch = Decoded {
            mnemonic: format!("B{}", cond.inverse().name().to_ascii_uppercase()),
            operands: vec![Operand::Code(RETURN)],
            flow: Flow::Branch,
            ..d.clone()
        };
        Some((branch, Decoded { mnemonic: stem.to_string(), ..d.clone() }))
    }

    fn returns_by_load(&self, d: &Decoded) -> bool {
        ["POP", "LDM", "LDR"].iter().any(|m| d.mnemonic.to_ascii_uppercase().starts_with(m))
    }

    fn position(&self, target: &Target, d: &Decoded) -> Option<(Decoded, &'static str, u64)> {
        // A literal under a condition, or of a vector register, is memory that nobody writes.
        if let [Operand::Reg(first), Operand::Code(at)] = d.operands.as_slice()
            && ["LDR", "VLDR"].iter().any(|m| d.mnemonic.starts_with(m))
        {
            let spare = target.spare.iter().copied().find(|s| s != first)?;
            let base = Some(spare.to_string());
            let memory = Operand::Mem(Mem { base, offset: 0, index: None, update: Update::None });
            let operands = vec![Operand::Reg(first.clone()), memory];
            return Some((Decoded { operands, ..d.clone() }, spare, *at));
        }
        let is_pc = |o: &Operand| match o {
            Operand::Reg(r) => r == "PC",
            Operand::Mem(m) => m.base.as_deref() == Some("PC"),
            _ => false,
        };
        if !d.operands.iter().skip(1).any(is_pc) {
            return None;
        }
        let text = d.text(target.decoder.style(), &|_| String::new());
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let spare = target.spare.iter().copied().find(|s| !words.contains(s))?;
        let mut out = d.clone();
        for operand in out.operands.iter_mut().skip(1).filter(|o| is_pc(o)) {
            match operand {
                Operand::Reg(r) => *r = spare.to_string(),
                Operand::Mem(m) => m.base = Some(spare.to_string()),
                _ => {}
            }
        }
        let ahead = if d.len == 2 || target.form.thumb { 4 } else { 8 };
        Some((out, spare, d.at + ahead))
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
        let (kind, size) = (if signed { 'S' } else { 'U' }, if bytes == 1 { 'B' } else { 'H' });
        matches!(bytes, 1 | 2).then(|| vec![format!("{kind}XT{size} {to},{from}")])
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        format!("MOV {reg},#{}", value as u32)
    }
}
