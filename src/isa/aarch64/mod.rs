//! AArch64: litmus syntax and meaning as micro-ops.

use super::ops::Code;
use super::{Isa, RegName, Symbols};
use crate::diag::{Diag, Result, Source};
use crate::litmus::{Arch, Line};

pub struct AArch64;

impl Isa for AArch64 {
    fn arch(&self) -> Arch {
        Arch::AArch64
    }

    fn thread(&self, source: &Source, lines: &[Line], _symbols: &mut dyn Symbols) -> Result<Code> {
        match lines.first() {
            Some(line) => Err(Diag::at(source, line.span, "unknown instruction")),
            None => Ok(Code::default()),
        }
    }

    fn register(&self, _name: &str) -> Option<RegName> {
        None
    }

    fn address_bits(&self) -> u8 {
        64
    }
}
