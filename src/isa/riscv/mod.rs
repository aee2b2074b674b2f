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

use super::microcode::Labels;
use super::target::{Form, Target};
use super::thread::Thread;
use super::{Isa, RegName};
use insn::{Imm, Insn};
use litmake_base::diag::{Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::Code;

/// The instruction set of RISC-V, with 64 bits.
pub struct RiscV;

impl Isa for RiscV {
    fn arch(&self) -> Arch {
        Arch::RiscV
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let thread = Thread::new(source, lines)?;
        let labels = &thread.labels;
        let insns = thread.read(|at, line| {
            let is_got = |label: &str| {
                let target = labels.find(label, at);
                target.is_some_and(|t| lines.get(t as usize).is_some_and(|l| read::is_got(&l.text)))
            };
            read::line(&line.text, &is_got)
        })?;
        let links = |insn: &Insn, at| links(insn, at, labels);
        thread.lower(self, symbols, &insns, links, |lower, insn| lower.insn(insn))
    }

    fn register(&self, name: &str) -> Option<RegName> {
        Some(RegName::whole(regs::canonical(regs::number(name)?), 64))
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
}

/// Whether an instruction puts the address of an instruction into a register.
fn links(insn: &Insn, at: usize, labels: &Labels) -> bool {
    match insn {
        Insn::Jump { rd, .. } | Insn::JumpReg { rd, .. } => *rd != 0,
        Insn::Const { value: Imm::Symbol(name, _), .. } => labels.find(name, at).is_some(),
        _ => false,
    }
}
