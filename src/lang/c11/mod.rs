//! The C subset of litmus tests: syntax, meaning, emission as compilable code.
//!
//! It does not know assembly.

pub mod ast;

use crate::diag::{Diag, Result, Source};
use crate::isa::Symbols;
use crate::isa::ops::Code;

/// The meaning of one thread as micro-ops.
pub fn thread(
    source: &Source,
    f: &ast::Function,
    _helpers: &[ast::Function],
    _symbols: &mut dyn Symbols,
) -> Result<Code> {
    Err(Diag::at(source, f.span, "C is not read yet"))
}
