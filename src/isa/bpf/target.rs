//! The answers to lifting's questions about BPF: calling convention, relocations, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use crate::relocate::{Fill, Fix, put};
use crate::target::{Facts, Form, Frames, Rules, Target, Widening};
use litmake_litmus::Arch;
use object::{Architecture, elf};

pub fn target(form: Form) -> Target {
    Target {
        stack: "fp",
        params: &["r1", "r2", "r3", "r4", "r5"],
        result: "r0",
        // See `decode`.
        stack_params: 8,
        spare: &["r9", "r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"],
        machines: &[Architecture::Bpf],
        ..Target::new(Arch::Bpf, form, super::decode::decoder(form.big), &Own)
    }
}

const FACTS: Facts = Facts {
    jump: "goto {label}",
    copy: "{to} = {from}",
    load: "{to} = *(u64 *)({base} + {offset})",
    dependent: &["{to} = {on}", "{to} ^= {on}", "{to} += {from}"],
    ..Facts::NONE
};

struct Own;

impl Rules for Own {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        // The addend is stored in the field, of 64 bits in two parts.
        let big = fill.big;
        let part = |at: usize| {
            let b: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(if big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) })
        };
        let two =
            |low: usize, high: usize| Some(u64::from(part(high)?) << 32 | u64::from(part(low)?));
        let addend = |stored: u64| if fix.implicit { stored } else { fix.addend as u64 };
        match elf::RelocationType(fix.kind) {
            elf::R_BPF_NONE => Some(()),
            elf::R_BPF_64_64 => {
                let value = fix.symbol.wrapping_add(addend(two(4, 12)?));
                put(bytes.get_mut(4..)?, 4, value & 0xffff_ffff, big)?;
                put(bytes.get_mut(12..)?, 4, value >> 32, big)
            }
            // Data of 64 and of 32 bits.
            elf::RelocationType(2) => {
                let stored = if big { two(4, 0)? } else { two(0, 4)? };
                put(bytes, 8, fix.symbol.wrapping_add(addend(stored)), big)
            }
            elf::RelocationType(3 | 4) => {
                put(bytes, 4, fix.symbol.wrapping_add(addend(part(0)?.into())), big)
            }
            // A call: it has the distance from its end, in instructions.
            elf::R_BPF_64_32 => {
                let stored = i64::from(part(4)? as i32) + 1;
                let addend = if fix.implicit { 8 * stored } else { fix.addend };
                let to = fix.symbol.wrapping_add(addend as u64);
                let distance = to.wrapping_sub(fix.place) as i64 / 8 - 1;
                put(bytes.get_mut(4..)?, 4, u64::from(distance as u32), big)
            }
            _ => None,
        }
    }

    fn frames(&self) -> Option<Frames> {
        let [save, restore] = [true, false].map(super::decode::kept);
        Some(Frames { bytes: super::decode::FRAME, save, restore })
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
        let (count, down) = (64 - 8 * u32::from(bytes), if signed { "s>>=" } else { ">>=" });
        Some(vec![
            self.copy(to, from, 8),
            format!("{to} <<= {count}"),
            format!("{to} {down} {count}"),
        ])
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        let value = value as i64;
        match i32::try_from(value) {
            Ok(value) => format!("{reg} = {value}"),
            Err(_) => format!("{reg} = {value} ll"),
        }
    }
}
