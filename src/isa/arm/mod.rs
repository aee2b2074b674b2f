//! AArch32 (Armv7 and Armv8): litmus and compiler syntax, and the meaning as micro-ops.
//!
//! `rows` and `vector` have the instructions, each once: spelling, operands, encodings and meaning. `row` makes reader,
//! decoder and printer of them, with the kinds of operands of `arg` and `read`; `lower` has what meanings share.

mod arg;
pub mod decode;
mod insn;
mod lower;
mod read;
mod relocate;
mod row;
mod rows;
mod target;
#[cfg(test)]
mod tests;
mod vector;

use self::insn::{Fields, name_of};
use self::lower::{FLAGS, Insn, Lower, PART_CARRIES};
use self::read::Parser;
use super::lex::{Cursor, Names, is_symbolic};
use super::machine::Flow;
use super::microcode::{Emit, Labels, remove_unseen};
use super::target::{Form, Target};
use super::{Isa, RegName};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst, Label, Reg};

/// The instruction set of Arm's machines with 32 bits.
pub(crate) struct Arm {
    /// LDRD and STRD are single accesses of 8 bytes (Armv7 with the Large Physical Address
    /// Extension, and Armv8); otherwise they are two of 4.
    pub lpae: bool,
}

impl Isa for Arm {
    fn arch(&self) -> Arch {
        Arch::Arm
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let labels = Labels::new(source, lines)?;
        let mut names = Names::default();
        let mut insns = Vec::with_capacity(lines.len());
        for (i, line) in lines.iter().enumerate() {
            let cursor = Cursor::new(source, line, '@');
            insns.push(match cursor.at_end() {
                true => Insn { row: &rows::NOTHING, fields: Fields::default() },
                false => Parser::new(cursor, &mut names, &labels, i).instruction()?,
            });
        }
        check_it_blocks(source, lines, &insns)?;

        let mut code = Code::default();
        for (i, (line, insn)) in lines.iter().zip(&insns).enumerate() {
            let mut lower = Lower {
                e: Emit::new(),
                code: &mut code,
                symbols,
                names: &names,
                labels: &labels,
                insns: &insns,
                lpae: self.lpae,
                line: i as Label,
                refused: None,
            };
            lower.insn(insn).map_err(|d| d.or_at(source, line.span))?;
            let ops = lower.e.finish();
            let (text, span) = (line.text.clone(), line.span);
            code.insts.push(Inst { ops, text, span });
        }
        let is_hidden = |name: &str| FLAGS.contains(&name) || PART_CARRIES.contains(&name);
        let regs = code.regs.iter().enumerate().filter(|(_, reg)| is_hidden(&reg.name));
        let hidden: Vec<Reg> = regs.map(|(i, _)| i as Reg).collect();
        remove_unseen(&mut code, &hidden);
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        let name = match is_symbolic(name) {
            true => name.to_string(),
            false => match vector::register(name) {
                Some(v) => {
                    let (name, shown_bits) = (vector::whole_name(v), v.bits());
                    return Some(RegName { name, bits: 64, shown_bits, signed: false });
                }
                None => name_of(read::register(name)?)?.to_string(),
            },
        };
        Some(RegName::whole(name, 32))
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }

    fn barriers(&self) -> &'static [&'static str] {
        &["DMB ISHST", "DMB ISH"]
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        matches!(name, "dmb" | "dsb" | "isb")
    }

    fn address_bits(&self) -> u8 {
        32
    }
}

/// Checks that each instruction in an IT block has the condition that the block says.
fn check_it_blocks(source: &Source, lines: &[Line], insns: &[Insn]) -> Result<()> {
    for (at, insn) in insns.iter().enumerate() {
        let conds = &insn.fields.conds;
        for (cond, i) in conds.iter().zip(at + 1..) {
            let Some(inside) = insns.get(i) else {
                return Err(Diag::at(
                    source,
                    lines[at].span,
                    format!(
                        "this IT block covers {} instructions, and the thread ends before",
                        conds.len()
                    ),
                )
                .help("shorten the IT block"));
            };
            if inside.fields.cond != *cond && inside.row.flow != Flow::Trap {
                return Err(Diag::at(
                    source,
                    lines[i].span,
                    format!(
                        "this instruction of the IT block has the condition `{}`, not `{}`",
                        inside.fields.cond.name(),
                        cond.name()
                    ),
                )
                .help("write the condition after the mnemonic, as in `moveq`"));
            }
        }
    }
    Ok(())
}
