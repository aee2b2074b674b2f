//! An s390x instruction as a value: what reading a line makes, and what lowering takes. It knows neither syntax nor
//! micro-ops.

use super::regs::R;
use super::table::Does;

/// An instruction with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insn {
    pub does: Does,
    /// The mask of its condition: the highest of four bits is for the condition code 0.
    pub mask: u8,
    /// Registers and numbers, in the order in which they are written.
    pub regs: Vec<R>,
    pub numbers: Vec<i64>,
    pub memory: Vec<Address>,
    /// The bytes at each of two places.
    pub bytes: u16,
    /// The label that a branch goes to.
    pub target: String,
    /// A location with an offset.
    pub symbol: Option<(String, i64)>,
}

impl Insn {
    pub fn new(does: Does) -> Insn {
        let (regs, numbers, memory, target) = (vec![], vec![], vec![], String::new());
        Insn { does, mask: 15, regs, numbers, memory, bytes: 0, target, symbol: None }
    }
}

/// The sum of up to two registers and a number; the register 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    pub base: R,
    pub index: R,
    pub offset: i64,
}
