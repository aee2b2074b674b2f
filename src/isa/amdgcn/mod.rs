//! The instruction sets of AMD's GPUs from gfx90a to gfx12, as assemblers write them: one instruction a line, and its
//! meaning as micro-ops.
//!
//! `read` has the parts of an instruction, `access` the loads, stores, atomic operations and what orders them, `lower`
//! the meaning of the rest. A thread is a wave of which one lane is active, so that the masks of lanes have one bit. It
//! does not know models, or in which caches an access is served.

mod access;
mod lower;
mod read;
#[cfg(test)]
mod tests;

use super::microcode::{Labels, remove_unseen};
use super::{Isa, RegName};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst};
use lower::{Does, Lower};
use read::{Bank, Operand};

/// The instruction sets of AMD's GPUs.
pub(crate) struct AmdGcn;

impl Isa for AmdGcn {
    fn arch(&self) -> Arch {
        Arch::AmdGcn
    }

    fn thread(&self, source: &Source, lines: &[Line], _: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let says =
            |words: [&str; 2]| lines.iter().any(|l| words.iter().any(|w| l.text.contains(w)));
        let does = Does {
            masks: says(["exec", "v_cmpx"]),
            asks: says(["src_private_base", "src_shared_base"]),
            wrote_high: lines.iter().flat_map(|line| read::wrote_high(&line.text)).collect(),
        };
        let mut code = Code::default();
        let hidden =
            ["scc", "vcc", "exec"].map(|name| code.reg(name, lower::width_of(name), false));
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.trim();
            let ops = Lower::new(at, &labels, &does, &mut code).line(text);
            let ops =
                ops.map_err(|what| Diag::at(source, line.span, format!("`{text}`: {what}")))?;
            code.insts.push(Inst { ops, text: text.to_string(), span: line.span });
        }
        remove_unseen(&mut code, &hidden);
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        match read::registers(name)? {
            Operand::Reg { bank, first, count: 1, half: None } => {
                Some(RegName::whole(name_of(bank, first), 32))
            }
            _ => None,
        }
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        access::orders(name)
    }
}

/// The name of a register in states.
fn name_of(bank: Bank, number: u16) -> String {
    match bank {
        Bank::Vector => format!("v{number}"),
        Bank::Scalar => format!("s{number}"),
    }
}
