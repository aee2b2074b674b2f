//! MIPS (32 and 64): litmus and compiler syntax, and the meaning as micro-ops.
//!
//! `parse` and `table` know spelling, `insn` is what they give, `lower` knows meaning. `decode`
//! makes text of machine code, without delay slots where asked.

pub mod decode;
mod insn;
mod lower;
mod parse;
mod relocate;
mod table;
mod target;
#[cfg(test)]
mod tests;

use self::insn::{Disp, Insn, Part, Slot};
use self::lower::{Lower, reg_name};
use self::parse::Parser;
use super::lex::{Cursor, Names, is_symbolic};
use super::microcode::{Emit, Labels};
use super::target::{Form, Target};
use super::{Isa, RegName};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst, Label};

/// The instruction set of MIPS64.
pub(crate) struct Mips {
    /// Whether the instruction after a branch is in its delay slot where the code does not
    /// say; litmus tests are written without delay slots. `.set reorder` and
    /// `.set noreorder` in the code change it.
    pub delay_slots: bool,
}

impl Isa for Mips {
    fn arch(&self) -> Arch {
        Arch::Mips
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let mut names = Names::default();
        let mut insns = Vec::with_capacity(lines.len());
        for (i, line) in lines.iter().enumerate() {
            let cursor = Cursor::new(source, line, '#');
            if cursor.at_end() {
                insns.push(Insn::Directive);
                continue;
            }
            let parser = Parser { cursor, names: &mut names, labels: &labels, line: i };
            insns.push(parser.instruction()?);
        }
        let low: Vec<&str> = insns.iter().filter_map(low_part).collect();

        let mut code = Code::default();
        let mut delayed = self.delay_slots;
        let mut pushed = Vec::new();
        for (i, (line, insn)) in lines.iter().zip(&insns).enumerate() {
            match insn {
                Insn::Reorder(reorder) => delayed = !reorder,
                Insn::Push => pushed.push(delayed),
                Insn::Pop => delayed = pushed.pop().unwrap_or(delayed),
                _ => {}
            }
            let mut lower = Lower {
                e: Emit::new(),
                code: &mut code,
                symbols,
                names: &names,
                labels: &labels,
                low: &low,
                line: i as Label,
            };
            let lowered = match insn.slot() {
                Some(Slot::Delayed | Slot::Likely) if delayed => {
                    let slot = slot_of(source, lines, &insns, i)?;
                    lower.branch(insn, Some(&insns[slot]), slot as Label + 1)
                }
                _ => lower.insn(insn),
            };
            lowered.map_err(|d| d.or_at(source, line.span))?;
            let ops = lower.e.finish();
            let (text, span) = (line.text.clone(), line.span);
            code.insts.push(Inst { ops, text, span });
        }
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        let name = match parse::register(name) {
            Some(reg) => reg_name(reg, &Names::default()).to_string(),
            None if is_symbolic(name) => name.to_string(),
            None => return None,
        };
        Some(RegName { name, bits: 64, shown_bits: 32, signed: true })
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }

    fn barriers(&self) -> &'static [&'static str] {
        &["sync"]
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        name == "sync"
    }
}

/// The line of what is in the delay slot of the branch at `at`.
fn slot_of(source: &Source, lines: &[Line], insns: &[Insn], at: usize) -> Result<usize> {
    let slot = (at + 1..insns.len()).find(|i| !insns[*i].is_directive());
    let Some(slot) = slot else {
        let diag = Diag::at(
            source,
            lines[at].span,
            "nothing follows this branch, whose delay slot is to be filled",
        );
        return Err(diag.help("add a `nop`"));
    };
    if insns[slot].slot().is_some() {
        let diag =
            Diag::at(source, lines[slot].span, "a branch cannot be in the delay slot of another");
        return Err(diag.help("put a `nop` between the two"));
    }
    Ok(slot)
}

/// The symbol of which an instruction uses the low part of the address.
fn low_part(insn: &Insn) -> Option<&str> {
    let disp = match insn {
        Insn::Address { value, .. } => value,
        Insn::Load { mem, .. }
        | Insn::Store { mem, .. }
        | Insn::LoadLinked { mem, .. }
        | Insn::StoreConditional { mem, .. } => &mem.disp,
        _ => return None,
    };
    match disp {
        Disp::Symbol { name, part: Part::Low, .. } => Some(name),
        _ => None,
    }
}
