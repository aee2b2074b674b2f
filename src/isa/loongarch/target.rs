//! Answers to lifting about LoongArch: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Operand};
use crate::relocate::{Fill, Fix};
use crate::target::{Bytes, Calls, Facts, Form, Loader, Lock, Rules, Special, Target, Widening};
use litmake_litmus::Arch;
use object::{Architecture, elf};

pub fn target(form: Form) -> Target {
    Target {
        stack: "$r3",
        params: &["$r4", "$r5", "$r6", "$r7", "$r8", "$r9", "$r10", "$r11"],
        result: "$r4",
        spare: &[
            "$r23", "$r24", "$r25", "$r26", "$r27", "$r28", "$r29", "$r30", "$r31", "$r22", "$r20",
            "$r19", "$r18", "$r17", "$r16", "$r15", "$r14", "$r13", "$r12", "$r11", "$r10", "$r9",
            "$r8", "$r7", "$r6", "$r5", "$r4", "$r1",
        ],
        machines: &[Architecture::LoongArch64],
        linker: Some("loongarch64-linux-gnu"),
        emulator: Some("qemu-loongarch64"),
        ..Target::new(Arch::LoongArch, form, super::decode::decoder(), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "b {label}",
    copy: "move {to},{from}",
    load: "ld.d {to},{base},{offset}",
    dependent: &["xor {to},{on},{on}", "add.d {to},{to},{from}"],
    calls: Some(Calls { taken: &["$r1", "$ra"], call: &["bl {label}"], ret: &["ret"] }),
    lock: Some(Lock {
        address: "$r12",
        take: &["ori $r13 $r0 1", "again: amswap_db.w $r14 $r13 [$r12]", "bne $r14 $r0 again"],
        release: &["dbar 18", "st.w $r0 [$r12]"],
    }),
    copies: Some(Bytes { each: &["ld.d $r12 [$r5+{at}]", "st.d $r12 [$r4+{at}]"], ..Bytes::NONE }),
    jump_if_zero: &["ld.w {value},{base},0", "beqz {value},{label}"],
    operators: &[("exchange", "swap")],
    relaxes: true,
    kernel: Some("loongarch"),
    loader: Some(Loader {
        address: &[elf::R_LARCH_64, elf::R_LARCH_JUMP_SLOT],
        base: elf::R_LARCH_RELATIVE,
        chosen: Some(elf::R_LARCH_IRELATIVE),
    }),
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn special(&self, d: &Decoded) -> Option<Special> {
        let [Operand::Reg(r), Operand::Imm(n)] = d.operands.as_slice() else {
            return None;
        };
        let (from, bits) = match d.mnemonic.as_str() {
            "pcaddi" => (d.at, 2),
            "pcalau12i" => (d.at & !0xfff, 12),
            "pcaddu12i" => (d.at, 12),
            "pcaddu18i" => (d.at, 18),
            _ => return None,
        };
        Some(Special::Set(r.clone(), from.wrapping_add_signed(n << bits)))
    }

    fn takes_offset(&self, mnemonic: &str) -> bool {
        !["am", "llacq.", "screl.", "sc.q", "ldx.", "stx."].iter().any(|p| mnemonic.starts_with(p))
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::apply(fix, bytes, fill)
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
        Some(vec![match (bytes, signed) {
            (1, true) => format!("ext.w.b {to},{from}"),
            (2, true) => format!("ext.w.h {to},{from}"),
            (4, true) => format!("addi.w {to},{from},0"),
            (_, false) => format!("bstrpick.d {to},{from},{},0", 8 * bytes - 1),
            _ => return None,
        }])
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        match value as i64 {
            n @ 0..4096 => format!("ori {reg},$r0,{n}"),
            n => format!("li.d {reg},{n}"),
        }
    }
}
