//! PTX, the instruction set that NVIDIA's compilers and LLVM write for GPUs: one instruction a line,
//! and its meaning as micro-ops.
//!
//! `lex` has the parts of an instruction, `types` the types, `access` what loads, stores and atomic
//! operations say behind their dots, `lower` the meaning. A thread is straight code: the functions of a module,
//! with their parameters, become threads elsewhere. It does not know models, or how threads lie in groups.

mod access;
pub mod lex;
mod lower;
#[cfg(test)]
mod tests;
pub mod types;

use super::microcode::Labels;
use super::{Isa, RegName};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst};
use lower::Lower;

pub struct Ptx;

impl Isa for Ptx {
    fn arch(&self) -> Arch {
        Arch::Ptx
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let mut code = Code::default();
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.trim();
            let lowered = lex::read(text).and_then(|insn| match insn {
                Some(insn) => {
                    Lower::new(at, lines.len(), &labels, &mut code, symbols).instruction(&insn)
                }
                None => Ok(Vec::new()),
            });
            let ops =
                lowered.map_err(|what| Diag::at(source, line.span, format!("`{text}`: {what}")))?;
            code.insts.push(Inst { ops, text: text.to_string(), span: line.span });
        }
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        let name = lex::register(name)?.to_string();
        Some(RegName { name, bits: 64, shown_bits: 64, signed: true })
    }

    fn address_bits(&self) -> u8 {
        64
    }
}
