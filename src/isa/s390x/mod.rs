//! z/Architecture with 64 bits: the syntax of compilers, and the meaning as micro-ops.
//!
//! `table` has a row for each instruction: its encoding, its operands and what it does. `decode` makes text of
//! machine code and `read` an `insn` of a line, both by these rows; `lower` makes micro-ops of it, with `arith` (numbers
//! and the condition code), `memory` (atomics, and several places or registers at once) and `float`. Memory has its
//! lowest byte first, as in all tests: lifting turns code round. It does not know models.

mod arith;
pub mod decode;
mod float;
mod insn;
mod lower;
mod memory;
mod read;
mod regs;
mod relocate;
mod table;
mod target;
#[cfg(test)]
mod tests;

use super::microcode::{Labels, remove_unseen};
use super::target::{Form, Target};
use super::thread::Thread;
use super::{Isa, RegName};
use insn::Insn;
use litmake_base::diag::{Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Reg};
use table::Does;

/// The instruction set of z/Architecture, with 64 bits.
pub struct S390x;

impl Isa for S390x {
    fn arch(&self) -> Arch {
        Arch::S390x
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let thread = Thread::new(source, lines)?;
        let insns = thread.read(|_, line| read::line(&line.text))?;
        let links = |insn: &Insn, at| links(insn, at, &thread.labels);
        let mut code =
            thread.lower(self, symbols, &insns, links, |lower, insn| lower.insn(insn))?;
        let hidden: Vec<Reg> = arith::CODES.iter().map(|name| code.reg(name, 1, false)).collect();
        remove_unseen(&mut code, &hidden);
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        Some(RegName::whole(regs::canonical(regs::general(name)?), 64))
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }

    fn barriers(&self) -> &'static [&'static str] {
        &["bcr 14,r0"]
    }

    fn is_barrier(&self, name: &str, line: &str) -> bool {
        name == "bcr" && line.split_whitespace().nth(1).is_some_and(|mask| mask.starts_with('1'))
    }
}

/// Whether an instruction puts the address of an instruction into a register.
fn links(insn: &Insn, at: usize, labels: &Labels) -> bool {
    match (insn.does, &insn.symbol) {
        (Does::Call | Does::CallRegister, _) => true,
        (Does::Address, Some((name, _))) => labels.find(name, at).is_some(),
        _ => false,
    }
}
