//! BPF, the instruction set of programs in the Linux kernel: herd's syntax, with what LLVM writes beside it,
//! and the meaning as micro-ops.
//!
//! `read` makes an `insn` of a line, `lower` makes micro-ops of it, `decode` makes text of machine code. It does
//! not know models.

mod decode;
mod insn;
mod lower;
mod read;
mod target;
#[cfg(test)]
mod tests;

use super::lex::Cursor;
use super::target::{Form, Target};
use super::thread::Thread;
use super::{Isa, RegName};
use litmake_base::diag::{Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::Code;

/// The instruction set of BPF.
pub struct Bpf;

/// The names that states print, as herd has them.
const NAMES: [&str; 11] = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "fp"];

/// The number and the part of a register that a name means.
fn register(name: &str) -> Option<(insn::R, insn::Part)> {
    let lower = name.to_ascii_lowercase();
    if lower == "fp" {
        return Some((insn::FRAME, insn::Part::Whole));
    }
    let part = match lower.as_bytes().first()? {
        b'r' => insn::Part::Whole,
        b'w' => insn::Part::Low,
        _ => return None,
    };
    let number: insn::R = lower[1..].parse().ok()?;
    let known = number <= insn::FRAME && number.to_string() == lower[1..];
    known.then_some((number, part))
}

impl Isa for Bpf {
    fn arch(&self) -> Arch {
        Arch::Bpf
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let thread = Thread::new(source, lines)?;
        let mut insns = Vec::with_capacity(lines.len());
        for line in lines {
            let mut cursor = Cursor::new(source, line, '#');
            let insn = if cursor.at_end() { None } else { Some(read::insn(&mut cursor)?) };
            cursor.finish()?;
            insns.push(insn);
        }
        thread.lower(self, symbols, &insns, |_, _| false, |lower, insn| lower.insn(insn))
    }

    fn register(&self, name: &str) -> Option<RegName> {
        let (number, part) = register(name)?;
        let name = NAMES[usize::from(number)].to_string();
        Some(RegName { name, bits: 64, shown_bits: part.bits(), signed: true })
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }
}
