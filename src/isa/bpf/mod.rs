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
use super::microcode::{Emit, Labels};
use super::target::{Form, Target};
use super::{Isa, RegName};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst};
use lower::Lower;

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
        let labels = Labels::new(source, lines)?;
        let mut code = Code::default();
        for (at, line) in lines.iter().enumerate() {
            let mut cursor = Cursor::new(source, line, '#');
            let mut ops = Vec::new();
            if !cursor.at_end() {
                let insn = read::insn(&mut cursor)?;
                cursor.finish()?;
                let mut lower = Lower {
                    e: Emit::new(),
                    code: &mut code,
                    symbols: &mut *symbols,
                    labels: &labels,
                    at,
                };
                let text = line.text.trim();
                lower
                    .insn(&insn)
                    .map_err(|what| Diag::at(source, line.span, format!("`{text}`: {what}")))?;
                ops = lower.e.finish();
            }
            code.insts.push(Inst { ops, text: line.text.trim().to_string(), span: line.span });
        }
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        let (number, part) = register(name)?;
        let name = NAMES[usize::from(number)].to_string();
        Some(RegName { name, bits: 64, shown_bits: part.bits(), signed: true })
    }

    fn address_bits(&self) -> u8 {
        64
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }
}
