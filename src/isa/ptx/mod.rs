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

use std::collections::HashMap;

use super::microcode::Labels;
use super::{Isa, RegName};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols, Type};
use litmake_ops::{Code, Inst};
use lower::Lower;

/// The instruction set of PTX.
pub(crate) struct Ptx;

impl Isa for Ptx {
    fn arch(&self) -> Arch {
        Arch::Ptx
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let own = own(lines);
        let mut code = Code::default();
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.trim();
            if text.starts_with(".local ") {
                if let Some((name, _)) = declared(text).filter(|(name, _)| own.contains_key(name)) {
                    let text = format!(".local {name}");
                    code.insts.push(Inst { ops: Vec::new(), text, span: line.span });
                    continue;
                }
                let what = "expected a variable of bytes, as in `.local .align 8 .b8 name[16]`";
                return Err(Diag::at(source, line.span, format!("`{text}`: {what}")));
            }
            let lowered = lex::read(text).and_then(|insn| match insn {
                Some(insn) => {
                    let shared = &mut code;
                    Lower::new(at, lines.len(), &labels, &own, shared, symbols).instruction(&insn)
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
        Some(RegName::whole(lex::register(name)?, 64))
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        matches!(name.split('.').next(), Some("fence" | "membar" | "bar" | "barrier"))
    }
}

/// The variables that a thread has to itself, by their names.
fn own(lines: &[Line]) -> HashMap<&str, Type> {
    lines.iter().filter_map(|line| declared(line.text.trim())).collect()
}

/// `.local .align 8 .b8 name[16]`: a variable of so many bytes, which is kept in words.
fn declared(text: &str) -> Option<(&str, Type)> {
    let last = text.strip_prefix(".local ")?.split_whitespace().last()?;
    let (name, bytes) = last.strip_suffix(']')?.split_once('[')?;
    let bytes = bytes.parse::<u64>().ok().filter(|n| (1..=1 << 16).contains(n))?;
    text.split_whitespace().any(|word| word == ".b8").then(|| {
        let word = Type::Int { bytes: 8, signed: false };
        (name, Type::Array(word.into(), bytes.div_ceil(8)))
    })
}
