//! Power: litmus and compiler syntax, and the meaning as micro-ops.
//!
//! `parse` and `table` know spelling, `vsx` all of vector registers, `insn` is what they give, `lower` knows meaning.

pub mod decode;
mod insn;
mod lower;
mod parse;
mod relocate;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod vsx;

use self::insn::Insn;
use self::lower::{Hidden, Lower, reg_name};
use self::parse::Parser;
use super::lex::{Cursor, Names, is_symbolic};
use super::microcode::{Emit, Labels, remove_unseen};
use super::target::{Form, Target};
use super::{Isa, RegName};
use litmake_base::diag::{Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst, Label};

/// The instruction set of Power.
pub(crate) struct Ppc;

impl Isa for Ppc {
    fn arch(&self) -> Arch {
        Arch::Ppc
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let mut names = Names::default();
        let mut insns = Vec::with_capacity(lines.len());
        for (i, line) in lines.iter().enumerate() {
            let cursor = Cursor::new(source, line, '#');
            if cursor.at_end() {
                insns.push(Insn::Nop);
                continue;
            }
            let parser =
                Parser { cursor, names: &mut names, labels: &labels, line: i, count: lines.len() };
            insns.push(parser.instruction()?);
        }

        let mut code = Code::default();
        let mut hidden = Hidden::default();
        for (i, (line, insn)) in lines.iter().zip(&insns).enumerate() {
            let mut lower = Lower {
                e: Emit::new(),
                code: &mut code,
                hidden: &mut hidden,
                symbols,
                names: &names,
                line: i as Label,
            };
            lower.insn(insn).map_err(|d| d.or_at(source, line.span))?;
            let ops = lower.e.finish();
            let (text, span) = (line.text.clone(), line.span);
            code.insts.push(Inst { ops, text, span });
        }
        remove_unseen(&mut code, &hidden.0);
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        let name = match parse::register(name) {
            Some(reg) => reg_name(reg, &Names::default()).to_string(),
            None if is_symbolic(name) => name.to_string(),
            None => {
                let v = vsx::register(name)?;
                let (name, bits) = (v.name(), 128);
                return Some(RegName { name, bits, shown_bits: bits, signed: false });
            }
        };
        Some(RegName { name, bits: 64, shown_bits: 32, signed: true })
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }

    fn barriers(&self) -> &'static [&'static str] {
        &["lwsync", "sync"]
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        matches!(name, "sync" | "hwsync" | "lwsync" | "isync" | "eieio")
    }
}
