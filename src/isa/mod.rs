//! Instruction sets: one folder each, behind one interface.
//!
//! An instruction set turns the text of a thread into micro-ops and knows its registers. It
//! does not know models, other instruction sets, or where the text came from.

pub mod aarch64;
pub mod arm;
pub mod lex;
pub mod machine;
pub mod microcode;
pub mod mips;
pub mod ops;
pub mod ppc;
pub mod riscv;
#[cfg(test)]
mod seq;
pub mod x86;

use crate::diag::{Result, Source};
use crate::litmus::{Arch, Features, Line, Type};
use ops::{Code, Tags};

/// What a front end may ask about the rest of the test.
pub trait Symbols {
    /// The index of a shared location that code names directly (`[x]`, `movl (x),%eax`), added
    /// to the program's locations where it is new.
    fn location(&mut self, name: &str) -> u16;

    /// The same, where the code also says what type the location has (C parameters do).
    fn declare(&mut self, name: &str, ty: &Type) -> u16;
}

/// For who wants ops and no locations: all are the first.
pub struct Anything;

impl Symbols for Anything {
    fn location(&mut self, _: &str) -> u16 {
        0
    }

    fn declare(&mut self, _: &str, _: &Type) -> u16 {
        0
    }
}

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
    }
}

/// The same, for machines that have more than the base.
pub fn with(arch: Arch, features: Features) -> Option<&'static dyn Isa> {
    match arch {
        Arch::AArch64 if features.lse2 => Some(&aarch64::AArch64 { lse2: true }),
        Arch::Arm if features.lpae => Some(&arm::Arm { lpae: true }),
        Arch::X86_64 if features.avx => Some(&x86::X86 { arch: Arch::X86_64, avx: true }),
        Arch::X86 if features.avx => Some(&x86::X86 { arch: Arch::X86, avx: true }),
        _ => of(arch),
    }
}

pub trait Isa: Sync {
    fn arch(&self) -> Arch;

    /// Reads one thread. Labels are resolved; the message of an error says what was expected,
    /// and an unknown instruction is named. Every instruction of the input gives one
    /// [`ops::Inst`], in order, so that branch targets are line numbers.
    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code>;

    /// The canonical register that a name in a state or condition means, where it is one:
    /// its name as [`ops::RegInfo::name`] has it, its bits, and the part of it that the name
    /// shows (`W0` shows the low 32 bits of `X0`).
    fn register(&self, name: &str) -> Option<RegName>;

    /// The width of an address, in bits.
    fn address_bits(&self) -> u8;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegName {
    pub name: String,
    pub bits: u8,
    /// How many low bits the name as written shows.
    pub shown_bits: u8,
    pub signed: bool,
}

/// The annotations that a cat name stands for in tests of a dialect; a name that is no
/// annotation of any dialect gives nothing.
pub fn tags_of(arch: Arch, name: &str) -> Option<Tags> {
    let mut known = None;
    for (tags, tag_name, archs) in ops::TAG_TABLE {
        if *tag_name == name {
            let here = *archs == "*" || archs.split(' ').any(|a| a == arch.name());
            let sum = known.unwrap_or(Tags::NONE);
            known = Some(if here { sum | *tags } else { sum });
        }
    }
    known
}
