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

use super::microcode::Labels;
use super::target::{Form, Target};
use super::thread::Thread;
use super::{Isa, RegName};
use insn::{Imm, Insn};
use litmake_base::diag::{Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::Code;
use table::Does;

/// The instruction set of LoongArch, with 64 bits.
pub struct LoongArch;

impl Isa for LoongArch {
    fn arch(&self) -> Arch {
        Arch::LoongArch
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let thread = Thread::new(source, lines)?;
        let insns = thread.read(|_, line| read::line(&line.text))?;
        let links = |insn: &Insn, at| links(insn, at, &thread.labels);
        thread.lower(self, symbols, &insns, links, |lower, insn| lower.insn(insn))
    }

    fn register(&self, name: &str) -> Option<RegName> {
        Some(RegName::whole(regs::canonical(regs::number(name)?), 64))
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
