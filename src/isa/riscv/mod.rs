//! RISC-V: litmus and compiler syntax, and the meaning as micro-ops.
//!
//! `read` (with `table`, `regs`) makes an `insn` of a line, `lower` (with `float`) makes micro-ops of it. An
//! AMO is one event that reads and writes. `decode` makes text of machine code. It does not know
//! models.

pub mod decode;
mod float;
mod insn;
mod lower;
mod read;
mod regs;
mod relocate;
mod table;
mod target;
#[cfg(test)]
mod tests;

use super::microcode::{Emit, Labels};
use super::target::{Form, Target};
use super::{Isa, RegName};
use insn::{Imm, Insn};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst};
use lower::Lower;

/// The instruction set of RISC-V, with 64 bits.
pub struct RiscV;

impl Isa for RiscV {
    fn arch(&self) -> Arch {
        Arch::RiscV
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let mut insns = Vec::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            let is_got = |label: &str| {
                let target = labels.find(label, at);
                target.is_some_and(|t| lines.get(t as usize).is_some_and(|l| read::is_got(&l.text)))
            };
            let insn = read::line(&line.text, &is_got).map_err(|r| r.at(source, line.span))?;
            insns.push(insn);
        }
        let has_calls = insns
            .iter()
            .enumerate()
            .any(|(at, insn)| insn.as_ref().is_some_and(|i| links(i, at, &labels)));
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
        &["fence w,w", "fence r,r", "fence r,rw", "fence rw,w", "fence.tso", "fence rw,rw"]
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        name == "fence" || name.starts_with("fence.")
    }

    fn address_bits(&self) -> u8 {
        64
    }
}

/// Whether an instruction puts the address of an instruction into a register.
fn links(insn: &Insn, at: usize, labels: &Labels) -> bool {
    match insn {
        Insn::Jump { rd, .. } | Insn::JumpReg { rd, .. } => *rd != 0,
        Insn::Const { value: Imm::Symbol(name, _), .. } => labels.find(name, at).is_some(),
        _ => false,
    }
}
