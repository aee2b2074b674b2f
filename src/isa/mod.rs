//! Instruction sets: one folder each, behind one interface.
//!
//! An instruction set turns the text of a thread into micro-ops and knows its registers. It
//! does not know models, other instruction sets, or where the text came from.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

pub mod aarch64;
pub mod amdgcn;
pub mod arm;
mod bpf;
#[cfg(test)]
#[path = "emulated/tests.rs"]
mod emulated;
pub mod functions;
pub mod lex;
pub mod llvm;
pub mod loongarch;
pub mod machine;
pub mod microcode;
pub mod mips;
pub mod ppc;
pub mod ptx;
pub mod relocate;
pub mod riscv;
pub mod rows;
pub mod s390x;
#[cfg(test)]
#[path = "seq/tests.rs"]
mod seq;
pub mod spirv;
pub mod target;
mod thread;
pub mod x86;

use litmake_base::diag::{Result, Source};
use litmake_litmus::{Arch, Features, Line, Symbols};
use litmake_ops::Code;

/// The instruction set of a dialect; C has none.
pub fn of(arch: Arch) -> Option<&'static dyn Isa> {
    match arch {
        Arch::C => None,
        Arch::AArch64 => Some(&aarch64::AArch64 { lse2: false }),
        Arch::Arm => Some(&arm::Arm { lpae: false }),
        Arch::X86_64 => Some(&x86::X86 { arch: Arch::X86_64, avx: false }),
        Arch::X86 => Some(&x86::X86 { arch: Arch::X86, avx: false }),
        Arch::RiscV => Some(&riscv::RiscV),
        Arch::Ppc => Some(&ppc::Ppc),
        Arch::Mips => Some(&mips::Mips { delay_slots: false }),
        Arch::LoongArch => Some(&loongarch::LoongArch),
        Arch::S390x => Some(&s390x::S390x),
        Arch::Bpf => Some(&bpf::Bpf),
        Arch::Llvm => Some(&llvm::Llvm { pointer: 64 }),
        Arch::Ptx => Some(&ptx::Ptx),
        Arch::AmdGcn => Some(&amdgcn::AmdGcn),
        Arch::Spirv => Some(&spirv::Spirv),
    }
}

/// The instruction set for machines with these features.
pub fn with(arch: Arch, features: Features) -> Option<&'static dyn Isa> {
    match arch {
        Arch::AArch64 if features.lse2 => Some(&aarch64::AArch64 { lse2: true }),
        Arch::Arm if features.lpae => Some(&arm::Arm { lpae: true }),
        Arch::X86_64 if features.avx => Some(&x86::X86 { arch: Arch::X86_64, avx: true }),
        Arch::Llvm if features.ptr32 => Some(&llvm::Llvm { pointer: 32 }),
        Arch::X86 if features.avx => Some(&x86::X86 { arch: Arch::X86, avx: true }),
        _ => of(arch),
    }
}

/// An instruction set.
pub trait Isa: Sync {
    /// The dialect of its tests.
    fn arch(&self) -> Arch;

    /// Reads one thread. Labels are resolved; the message of an error says what was expected,
    /// and an unknown instruction is named. Every instruction of the input gives one
    /// [`litmake_ops::Inst`], in order, so that branch targets are line numbers.
    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code>;

    /// The canonical register that a name in a state or condition means, where it is one:
    /// its name as [`litmake_ops::RegInfo::name`] has it, its bits, and the part of it that the name
    /// shows (`W0` shows the low 32 bits of `X0`).
    fn register(&self, name: &str) -> Option<RegName>;

    /// The width of an address, in bits.
    fn address_bits(&self) -> u8 {
        64
    }

    /// The barriers that code may be given, the weaker ones first.
    fn barriers(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a line, whose first word is `name` in lower case, is a barrier and nothing else.
    fn is_barrier(&self, _name: &str, _line: &str) -> bool {
        false
    }

    /// What lifting needs to know of it; `None` where its machine code cannot be read.
    fn target(&self, _form: target::Form) -> Option<target::Target> {
        None
    }
}

/// The register that a name in a state or a condition stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegName {
    /// The canonical name.
    pub name: String,
    /// The width of the register.
    pub bits: u8,
    /// How many low bits the name as written shows.
    pub shown_bits: u8,
    /// Whether its final value is printed with a sign.
    pub signed: bool,
}

impl RegName {
    /// A register that shows all of its bits, with a sign.
    fn whole(name: impl Into<String>, bits: u8) -> RegName {
        RegName { name: name.into(), bits, shown_bits: bits, signed: true }
    }

    /// A value of intermediate code, whose name has its `%` or not.
    fn value(name: &str) -> Option<RegName> {
        let plain = name.strip_prefix('%').unwrap_or(name);
        let is_name =
            !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_name.then(|| RegName::whole(format!("%{plain}"), 64))
    }
}
