//! LoongArch with 64 bits: the syntax of compilers, and the meaning as micro-ops.
//!
//! `table` has a row for each instruction: its encoding, its operands and what it does. `decode` makes text of
//! machine code and `read` an `insn` of a line, both by these rows; `lower` (with `vector`) makes micro-ops of it. An AM
//! instruction is one event that reads and writes. It does not know models.

pub mod decode;
mod insn;
mod lower;
mod read;
mod regs;
mod relocate;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod vector;

use super::microcode::{Emit, Labels};
use super::target::{Form, Target};
use super::{Isa, RegName};
use insn::{Imm, Insn};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst};
use lower::Lower;
use table::Does;

/// The instruction set of LoongArch, with 64 bits.
pub struct LoongArch;

impl Isa for LoongArch {
    fn arch(&self) -> Arch {
        Arch::LoongArch
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let mut insns = Vec::with_capacity(lines.len());
        for line in lines {
            insns.push(read::line(&line.text).map_err(|r| r.at(source, line.span))?);
        }
        let mut all = insns.iter().enumerate();
        let has_calls = all.any(|(at, insn)| insn.as_ref().is_some_and(|i| links(i, at, &labels)));
        let mut code = Code::default();
        for (at, (insn, line)) in insns.iter().zip(lines).enumerate() {
            let text = line.text.trim();
            let mut ops = Vec::new();
            if let Some(insn) = insn {
                let mut lower = Lower {
                    e: Emit::new(),
                    code: &mut code,
                    symbols: &mut *symbols,
                    labels: &labels,
                    at,
                    has_calls,
                };
                lower
                    .insn(insn)
                    .map_err(|what| Diag::at(source, line.span, format!("`{text}`: {what}")))?;
                ops = lower.e.finish();
            }
            code.insts.push(Inst { ops, text: text.to_string(), span: line.span });
        }
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        Some(RegName {
            name: regs::canonical(regs::number(name)?).to_string(),
            bits: 64,
            shown_bits: 64,
            signed: true,
        })
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }

    fn barriers(&self) -> &'static [&'static str] {
        &["dbar 0x1a", "dbar 0x15", "dbar 0x14", "dbar 0x12", "dbar 0x10"]
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        name == "dbar"
    }

    fn address_bits(&self) -> u8 {
        64
    }
}

/// Whether an instruction puts the address of an instruction into a register.
fn links(insn: &Insn, at: usize, labels: &Labels) -> bool {
    match (insn.does, &insn.imm) {
        (Does::Jump(link), _) => link,
        (Does::JumpRegister, _) => insn.rd != 0,
        (Does::Relative, Imm::Upper(name, _)) => labels.find(name, at).is_some(),
        _ => false,
    }
}
