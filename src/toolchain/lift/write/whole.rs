//! Moves of bytes and halves between memory and registers, as the dialect of 32-bit x86 has them:
//! `MOVB` and `MOVW` name whole registers, extend what they load by zeros, and store the lowest
//! part.
//!
//! It does not decide what stays.

use litmake_isa::machine::{Decoded, Operand};
use litmake_litmus::Arch;
use litmake_ops::mask;

use super::Writer;

impl Writer<'_> {
    /// Writes such a move so, unless it keeps the rest of a register that something reads.
    pub(super) fn whole_registers(&self, i: usize, d: &mut Decoded) {
        if self.target.arch != Arch::X86 {
            return;
        }
        let (name, bits) = match d.mnemonic.as_str() {
            "MOVB" | "MOVZBL" => ("MOVB", 8),
            "MOVW" | "MOVZWL" => ("MOVW", 16),
            _ => return,
        };
        let extends = d.mnemonic != name;
        let rest = |reg: &str| {
            let reg = self.register(reg).unwrap_or(usize::MAX);
            self.plan.after[i].regs.get(reg).is_none_or(|live| live & !mask(bits) != 0)
        };
        match d.operands.as_mut_slice() {
            [Operand::Reg(to), from] if is_memory(from) && (extends || !rest(to)) => {
                let Some(whole) = self.canonical(to) else { return };
                *to = whole;
                d.mnemonic = name.to_string();
            }
            [to, Operand::Reg(from)] if is_memory(to) => {
                *from = self.canonical(from).unwrap_or_else(|| from.clone());
            }
            _ => {}
        }
    }
}

fn is_memory(operand: &Operand) -> bool {
    match operand {
        Operand::Mem(_) => true,
        Operand::Text(text) => text.starts_with('['),
        _ => false,
    }
}
