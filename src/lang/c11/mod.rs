//! The C subset of litmus tests: syntax, meaning, emission as compilable code.
//!
//! It does not know assembly.

pub mod ast;

use crate::diag::{Diag, Result, Source, Span};
use crate::isa::Symbols;
use crate::isa::ops::Code;
use ast::Function;

/// Reads one function, from its first word to its closing brace.
pub fn parse_function(source: &Source, span: Span) -> Result<Function> {
    let text = source.text.get(span.start as usize..span.end as usize).unwrap_or("");
    let open = text.find('(').unwrap_or(text.len());
    let name = text[..open]
        .trim_end()
        .rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .next()
        .unwrap_or("");
    if name.is_empty() {
        return Err(Diag::at(source, span, "expected a function"));
    }
    Ok(Function { name: name.to_string(), span, text: text.to_string() })
}

/// The text of a function, on lines of its own.
pub fn print_function(function: &Function) -> String {
    function.text.clone()
}

/// The meaning of one thread as micro-ops.
pub fn thread(
    source: &Source,
    f: &Function,
    _helpers: &[Function],
    _symbols: &mut dyn Symbols,
) -> Result<Code> {
    Err(Diag::at(source, f.span, "C is not read yet"))
}
