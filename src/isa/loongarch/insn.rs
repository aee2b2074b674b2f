//! A LoongArch instruction as a value: what reading a line makes, and what lowering takes. It knows neither
//! syntax nor micro-ops.

use super::regs::R;
use super::table::Does;

/// An instruction with its operands; those that it does not have are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insn {
    pub does: Does,
    pub rd: R,
    pub rj: R,
    pub rk: Option<R>,
    /// The constant, offset or hint.
    pub imm: Imm,
    /// The lowest bit of a field of bits.
    pub low: u8,
    /// The label that a branch goes to.
    pub target: String,
}

impl Insn {
    pub fn new(does: Does) -> Insn {
        let (rd, rj, rk, imm, low) = (0, 0, None, Imm::Int(0), 0);
        Insn { does, rd, rj, rk, imm, low, target: String::new() }
    }
}

/// A constant that code names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imm {
    Int(i64),
    /// The upper part of the address of a location, which stands for the whole of it; plus bytes.
    Upper(String, i64),
    /// The lower part, which is in the base register already.
    Lower,
    /// The lower part of the address of an entry in the table of offsets: what is loaded is in the base register.
    Entry,
}
