//! x86, 64 and 32 bits: litmus and compiler syntax, and the meaning as micro-ops.
//!
//! `read` (with `operand`, `mnemonic`, `regs`) makes an `insn` of a line; `lower` (with `arith`,
//! `atomic`, `vector`, `float`) makes micro-ops of it. Flags that nothing reads are removed at the end.
//! It does not know models.

mod arith;
mod atomic;
pub mod decode;
mod float;
pub mod inline;
mod insn;
mod lower;
mod mnemonic;
mod operand;
mod read;
mod regs;
mod relocate;
mod target;
#[cfg(test)]
mod tests;
mod vector;

use super::microcode::{Labels, remove_unseen};
use super::target::{Form, Target};
use super::thread::Thread;
use super::{Isa, RegName};
use insn::{Arg, Do, Imm, Insn};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Reg};
use lower::{FLAGS, Lower};
use read::{Read, Syntax};

/// The instruction set of x86, with 64 or 32 bits.
pub struct X86 {
    /// X86_64 or X86.
    pub arch: Arch,
    /// Machines with AVX promise that aligned 16-byte SSE accesses are single-copy atomic.
    /// Without the promise they are two accesses of 8 bytes; AVX's own forms always have it.
    pub avx: bool,
}

impl X86 {
    fn wide(&self) -> bool {
        self.arch == Arch::X86_64
    }
}

impl Isa for X86 {
    fn arch(&self) -> Arch {
        self.arch
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let thread = Thread::new(source, lines)?;
        let syntax = Syntax::of(self.wide(), self.avx, lines);
        let mut insns = read_all(source, lines, &thread, syntax)?;
        drop_position_calls(&mut insns, &thread.labels);
        let calls = |insn: &Insn, at| calls_label(insn, at, &thread.labels);
        let lower = |lower: &mut Lower, insn: &Insn| lower.insn(insn);
        let mut code = thread.lower(self, symbols, &insns, calls, lower)?;
        let flags: Vec<Reg> = FLAGS.iter().map(|f| code.reg(f, 1, false)).collect();
        remove_unseen(&mut code, &flags);
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        let name = name.to_ascii_lowercase();
        if let Some(num) = regs::xmm(&name) {
            return Some(RegName {
                name: format!("xmm{num}"),
                bits: 128,
                shown_bits: 128,
                signed: false,
            });
        }
        let reg = regs::gpr(&name, self.wide()).filter(|r| !r.high)?;
        Some(RegName {
            name: regs::canonical(reg.num, self.wide()),
            bits: self.address_bits(),
            shown_bits: reg.size.bits(),
            signed: true,
        })
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(self.arch, form))
    }

    fn barriers(&self) -> &'static [&'static str] {
        &["mfence"]
    }

    fn is_barrier(&self, name: &str, line: &str) -> bool {
        matches!(name, "mfence" | "lfence" | "sfence") || is_locked_idle(line)
    }

    fn address_bits(&self) -> u8 {
        if self.wide() { 64 } else { 32 }
    }
}

/// Whether 32-bit code has a register, or a part of one, by this name.
pub fn has_part(name: &str) -> bool {
    regs::gpr(&name.to_ascii_lowercase(), false).is_some()
}

/// One entry a line; a line without an instruction has none.
fn read_all(
    source: &Source,
    lines: &[Line],
    thread: &Thread,
    syntax: Syntax,
) -> Result<Vec<Option<Insn>>> {
    let mut locked = false;
    let insns = thread.read(|_, line| {
        Ok(match read::line(&line.text, syntax)? {
            Read::Insn(mut insn) => {
                insn.lock |= std::mem::take(&mut locked);
                Some(insn)
            }
            Read::Lock => {
                locked = true;
                None
            }
            Read::Empty => None,
        })
    })?;
    match lines.last() {
        Some(line) if locked => {
            Err(Diag::at(source, line.span, "`lock` has no instruction after it"))
        }
        _ => Ok(insns),
    }
}

/// Position-independent 32-bit code learns its own address by a call of the next instruction,
/// which pops it. Data is named by symbols here, so the address does not matter: 0 does.
fn drop_position_calls(insns: &mut [Option<Insn>], labels: &Labels) {
    for at in 0..insns.len() {
        let Some(Insn { what: Do::Call, args, .. }) = &insns[at] else {
            continue;
        };
        let [Arg::Imm(Imm::Symbol(name, 0))] = args.as_slice() else {
            continue;
        };
        let next = (at + 1..insns.len()).find(|i| insns[*i].is_some());
        let target = labels.find(name, at).map(|t| t as usize);
        let (Some(next), Some(target)) = (next, target) else {
            continue;
        };
        if !(at + 1..=next).contains(&target) {
            continue;
        }
        if let Some(pop) = &mut insns[next]
            && pop.what == Do::Pop
        {
            pop.what = Do::Mov;
            pop.args.push(Arg::Imm(Imm::Int(0)));
            insns[at] = None;
        }
    }
}

fn calls_label(insn: &Insn, at: usize, labels: &Labels) -> bool {
    insn.what == Do::Call
        && matches!(insn.args.as_slice(), [Arg::Imm(Imm::Symbol(name, _))] if labels.find(name, at).is_some())
}

/// Whether an instruction of x86 is a locked one that changes nothing, such as `lock addl $0,(%rsp)`:
/// compilers write it as a full barrier.
fn is_locked_idle(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    let Some(rest) = line.strip_prefix("lock") else { return false };
    let rest = rest.trim_start_matches([';', ' ', '\t']);
    let Some((name, operands)) = rest.split_once(char::is_whitespace) else { return false };
    let zero = |operand: &str| matches!(operand.trim(), "$0" | "$0x0");
    (name.starts_with("add") || name.starts_with("or")) && (operands.split(',').any(zero))
}
