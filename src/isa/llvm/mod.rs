//! LLVM's intermediate representation: one instruction a line, and its meaning as micro-ops.
//!
//! `lex` has the tokens, `types` the types, `access` what instructions access, `lower` their meaning. A thread is one function without
//! parameters whose calls are inlined and whose stack slots are locations: `module` reads functions,
//! and `thread` makes threads of them. `strong` has the strongest reading of a line. Where the language gives a choice (`undef`, `poison`, what a
//! race reads), one value stands for all: the outcomes are some of those that the code has. It does
//! not know models or passes.

pub mod access;
pub mod lex;
mod lower;
pub mod module;
pub mod strong;
pub mod thread;
pub mod types;

use super::microcode::Labels;
use super::{Isa, RegName};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst};
use lower::Lower;

/// LLVM's intermediate representation as an instruction set.
pub struct Llvm {
    /// The bits of a pointer.
    pub pointer: u8,
}

impl Isa for Llvm {
    fn arch(&self) -> Arch {
        Arch::Llvm
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let tokens: Vec<Vec<&str>> = lines.iter().map(|l| lex::tokens(&l.text)).collect();
        let mut code = Code::default();
        let mut block = 0;
        let accesses = tokens.iter().filter_map(|line| access::accessed(line, self.pointer));
        let atomics: Vec<u8> =
            accesses.filter(|a| a.atomic).filter_map(|a| u8::try_from(a.ty.size()).ok()).collect();
        for (at, line) in lines.iter().enumerate() {
            if !line.labels.is_empty() {
                block = at;
            }
            let text = line.text.trim();
            let thread = lower::Thread { lines: &tokens, labels: &labels, atomics: &atomics };
            let lower = Lower::new(thread, at, block, &mut code, symbols, self.pointer);
            let ops = lower
                .instruction()
                .map_err(|what| Diag::at(source, line.span, format!("`{text}`: {what}")))?;
            code.insts.push(Inst { ops, text: text.to_string(), span: line.span });
        }
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        RegName::value(name)
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        name == "fence"
    }

    fn address_bits(&self) -> u8 {
        self.pointer
    }
}

#[cfg(test)]
mod tests;
