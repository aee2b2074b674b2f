//! Removes delay slots: puts decoded code into the order in which it is executed, as litmus tests are
//! written.
//!
//! The instruction in a slot comes before its branch; if it writes a register that the branch reads, the
//! branch reads a copy. The slot of a likely branch is executed only if that is taken; the opposite branch
//! skips it. The use of registers is known from the shapes of instructions that the reader has.

use crate::machine::{Decoded, Flow, Operand};
use crate::mips::insn::Slot;
use crate::mips::table::{Form, form};
use std::collections::BTreeSet;

/// Registers that only kernels use, for copies.
const SPARE: [&str; 2] = ["$26", "$27"];

/// A branch with its delay slot, as [`without_delay_slots`] finds it.
struct Delayed<'a> {
    branch: &'a Decoded,
    slot: &'a Decoded,
    form: Form,
}

/// Puts code into the order in which it is executed.
///
/// `code` is in the order of its addresses, without gaps where branches are, and its operands
/// of the kind [`Operand::Code`] are places in it (what a relocation fills in is not). Of
/// instructions with the same address in the result, jumps go to the first; addresses and
/// lengths cover what they covered. Refused are branches into delay slots (but for those that
/// hold `nop`), branches in them, and slots of which the registers are not known.
pub fn without_delay_slots(code: Vec<Decoded>) -> Result<Vec<Decoded>, String> {
    let targets: BTreeSet<u64> = code.iter().flat_map(targets).collect();
    let spare = SPARE.into_iter().find(|s| !code.iter().any(|i| mentions(i, s)));
    let mut out = Vec::with_capacity(code.len());
    let mut at = 0;
    while let Some(insn) = code.get(at) {
        at += 1;
        let Some((form, likely)) = delays(insn)? else {
            out.push(insn.clone());
            continue;
        };
        let end = insn.at.wrapping_add(u64::from(insn.len));
        let Some(slot) = code.get(at).filter(|slot| slot.at == end) else {
            return Err(format!(
                "the code ends at 0x{end:x}, in the delay slot of `{}` at 0x{:x}",
                insn.mnemonic, insn.at
            ));
        };
        if matches!(slot.mnemonic.as_str(), "nop" | "ssnop" | "ehb") {
            // It may stay where it is, and does where something goes to it.
            let branch = if likely { plain(insn) } else { insn.mnemonic.clone() };
            let mut branch = Decoded { mnemonic: branch, ..insn.clone() };
            if !targets.contains(&slot.at) {
                branch.len = branch.len.saturating_add(slot.len);
                at += 1;
            }
            out.push(branch);
            continue;
        }
        if targets.contains(&slot.at) {
            return Err(format!(
                "a branch goes to 0x{:x}, in the delay slot of `{}` at 0x{:x}; such code cannot \
                 be put into the order of its execution",
                slot.at, insn.mnemonic, insn.at
            ));
        }
        at += 1;
        let delayed = Delayed { branch: insn, slot, form };
        delayed.check()?;
        if likely { delayed.skip(&mut out)? } else { delayed.swap(spare, &mut out)? }
    }
    Ok(out)
}

fn targets(insn: &Decoded) -> impl Iterator<Item = u64> {
    insn.operands.iter().filter_map(|operand| match operand {
        Operand::Code(at) => Some(*at),
        _ => None,
    })
}

/// Whether an instruction has a delay slot; its shape, and whether it is likely.
fn delays(insn: &Decoded) -> Result<Option<(Form, bool)>, String> {
    if matches!(insn.flow, Flow::Next | Flow::Trap) {
        return Ok(None);
    }
    let form = form(&insn.mnemonic);
    let slot = match form {
        Some(
            Form::Branch2 { slot, .. }
            | Form::Branch1 { slot, .. }
            | Form::Jump { slot, .. }
            | Form::JumpReg { slot, .. },
        ) => slot,
        _ => {
            return Err(format!(
                "what `{}` at 0x{:x} does with its delay slot is not known here",
                insn.mnemonic, insn.at
            ));
        }
    };
    Ok(form.filter(|_| slot != Slot::Compact).map(|form| (form, slot == Slot::Likely)))
}

/// The register that an operand is, or has as its base or index.
fn registers(operand: &Operand) -> impl Iterator<Item = &str> {
    let (one, two) = match operand {
        Operand::Reg(name) => (Some(name), None),
        Operand::Mem(mem) => (mem.base.as_ref(), mem.index.as_ref()),
        _ => (None, None),
    };
    one.into_iter().chain(two).map(String::as_str)
}

fn mentions(insn: &Decoded, register: &str) -> bool {
    insn.operands.iter().flat_map(registers).any(|r| r == register)
}

/// The general register that an instruction writes.
fn written(insn: &Decoded) -> Result<Option<&str>, String> {
    let first = match insn.operands.first() {
        Some(Operand::Reg(name)) if name != "$0" => Some(name.as_str()),
        _ => None,
    };
    let form = form(&insn.mnemonic).ok_or_else(|| {
        format!(
            "which registers `{}` at 0x{:x}, in a delay slot, writes is not known here",
            insn.mnemonic, insn.at
        )
    })?;
    Ok(match form {
        Form::Nop
        | Form::Directive
        | Form::Set
        | Form::Trap
        | Form::TrapEqual
        | Form::Multiply { .. }
        | Form::Accumulate { .. }
        | Form::ToHi
        | Form::ToLo
        | Form::Store { .. }
        | Form::Sync
        | Form::Fence(_) => None,
        // Of two operands, it writes HI and LO.
        Form::Divide { .. } => first.filter(|_| insn.operands.len() == 3),
        _ => first,
    })
}

/// The mnemonic of a likely branch without the letter that makes it likely.
fn plain(branch: &Decoded) -> String {
    let name = &branch.mnemonic;
    name.strip_suffix('l').unwrap_or(name).to_string()
}

impl Delayed<'_> {
    fn refuse(&self, why: &str) -> String {
        let (branch, slot) = (self.branch, self.slot);
        format!(
            "`{}` at 0x{:x}, in the delay slot of `{}`, {why}",
            slot.mnemonic, slot.at, branch.mnemonic
        )
    }

    fn check(&self) -> Result<(), String> {
        if !matches!(self.slot.flow, Flow::Next | Flow::Trap) {
            return Err(self.refuse("is a branch itself"));
        }
        match self.link() {
            Some(link) if mentions(self.slot, link) => {
                Err(self.refuse(&format!("uses {link}, which holds the return address then")))
            }
            _ => Ok(()),
        }
    }

    /// Where the branch leaves the return address.
    fn link(&self) -> Option<&str> {
        match (self.form, self.branch.operands.as_slice()) {
            (Form::JumpReg { link: true, .. }, [Operand::Reg(link), _]) => Some(link),
            (Form::JumpReg { link: true, .. }, _)
            | (Form::Jump { link: true, .. }, _)
            | (Form::Branch1 { link: true, .. }, _) => Some("$31"),
            _ => None,
        }
    }

    /// The slot first, then the branch.
    fn swap(&self, spare: Option<&str>, out: &mut Vec<Decoded>) -> Result<(), String> {
        let (mut branch, mut slot) = (self.branch.clone(), self.slot.clone());
        let (first, second) = (branch.at, slot.at);
        (slot.at, branch.at) = (first, second);
        let written = written(self.slot)?;
        if let Some(written) = written.filter(|w| self.reads(w)) {
            let Some(spare) = spare else {
                return Err(self.refuse(&format!(
                    "writes {written}, which the branch reads, and no register is free for a copy"
                )));
            };
            out.push(Decoded {
                at: first,
                len: 0,
                mnemonic: "move".to_string(),
                operands: [spare, written].map(|r| Operand::Reg(r.to_string())).to_vec(),
                flow: Flow::Next,
            });
            let link = usize::from(self.link_is_written());
            for operand in branch.operands.iter_mut().skip(link) {
                if matches!(operand, Operand::Reg(name) if name == written) {
                    *operand = Operand::Reg(spare.to_string());
                }
            }
        }
        out.extend([slot, branch]);
        Ok(())
    }

    /// Whether the first operand is where the return address goes.
    fn link_is_written(&self) -> bool {
        matches!(self.form, Form::JumpReg { link: true, .. }) && self.branch.operands.len() == 2
    }

    fn reads(&self, register: &str) -> bool {
        let link = usize::from(self.link_is_written());
        self.branch.operands.iter().skip(link).flat_map(registers).any(|r| r == register)
    }

    /// The opposite branch past the slot, the slot, and a jump.
    fn skip(&self, out: &mut Vec<Decoded>) -> Result<(), String> {
        let opposite = match self.branch.mnemonic.as_str() {
            "beql" => "bne",
            "bnel" => "beq",
            "blezl" => "bgtz",
            "bgtzl" => "blez",
            "bltzl" => "bgez",
            "bgezl" => "bltz",
            _ => {
                return Err(
                    self.refuse("is executed only where that is taken, and has no opposite")
                );
            }
        };
        let Some(target @ Operand::Code(_)) = self.branch.operands.last() else {
            return Err(self.refuse("cannot be skipped, as the branch has no target in the code"));
        };
        let after = self.slot.at.wrapping_add(u64::from(self.slot.len));
        let mut branch = self.branch.clone();
        branch.mnemonic = opposite.to_string();
        branch.operands.pop();
        branch.operands.push(Operand::Code(after));
        let jump = Decoded {
            at: self.slot.at,
            len: self.slot.len,
            mnemonic: "b".to_string(),
            operands: vec![target.clone()],
            flow: Flow::Jump,
        };
        let slot = Decoded { len: 0, ..self.slot.clone() };
        out.extend([branch, slot, jump]);
        Ok(())
    }
}
