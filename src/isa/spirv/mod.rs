//! SPIR-V as `spirv-dis` prints it: an instruction a line, and its meaning as micro-ops.
//!
//! `types` has types and storage classes, `declare` what a module says before its code, `memory` which
//! annotations an access or a barrier has, `lower` the instructions. A thread is one function without
//! parameters whose calls are inlined, below the declarations that it needs: constants, types, and variables, which
//! name the locations of the test. It does not know models, or how functions become threads.

mod declare;
mod lower;
mod memory;
mod types;

use std::collections::HashMap;

use super::{Isa, RegName};
use declare::Declared;
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst};
use lower::Lower;

/// SPIR-V as an instruction set.
pub struct Spirv;

impl Isa for Spirv {
    fn arch(&self) -> Arch {
        Arch::Spirv
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let at = |line: usize, what: String| {
            let line = &lines[line];
            Diag::at(source, line.span, format!("`{}`: {what}", line.text.trim()))
        };
        let instructions: Vec<Instruction> =
            lines.iter().map(|line| Instruction::read(&line.text)).collect();
        let declared =
            Declared::read(&instructions, symbols).map_err(|(line, what)| at(line, what))?;
        let mut code = Code { locations: declared.classes(), ..Code::default() };
        let mut block = 0;
        for (number, line) in lines.iter().enumerate() {
            if instructions[number].op == "OpLabel" {
                block = number;
            }
            let lower = Lower::new(&instructions, number, block, &declared, &mut code);
            let ops = lower.instruction().map_err(|what| at(number, what))?;
            code.insts.push(Inst { ops, text: line.text.trim().to_string(), span: line.span });
        }
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        RegName::value(name)
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        name == "opmemorybarrier"
    }
}

/// An instruction as text: `%result = OpName operands`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// The name that it defines, with its `%`; `None` where it defines none.
    pub result: Option<&'a str>,
    /// The name with `Op`; empty on an empty line.
    pub op: &'a str,
    /// The words behind the name of the instruction, in order.
    pub operands: Vec<&'a str>,
}

impl<'a> Instruction<'a> {
    /// Splits a line into its parts. Any text gives some; nothing is checked.
    pub fn read(text: &'a str) -> Instruction<'a> {
        let mut words = words(text).into_iter();
        let mut next = || words.next().unwrap_or("");
        let first = next();
        let (result, op) = match first.starts_with('%') {
            true => {
                let equals = next();
                (Some(first), if equals == "=" { next() } else { equals })
            }
            false => (None, first),
        };
        Instruction { result, op, operands: words.collect() }
    }

    /// One operand; an error where there are not so many.
    pub(crate) fn operand(&self, index: usize) -> std::result::Result<&'a str, String> {
        self.operands.get(index).copied().ok_or_else(|| "an operand is missing".to_string())
    }
}

/// Words and strings in quotes, up to a comment.
pub fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && !rest.starts_with(';') {
        let end = match rest.strip_prefix('"') {
            // A quote in a string stands behind a backslash.
            Some(inner) => {
                let mut escaped = false;
                let close = inner.char_indices().find(|(_, c)| {
                    let found = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    found
                });
                close.map_or(rest.len(), |(at, _)| at + 2)
            }
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        out.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    out
}

/// Names of a thread's instructions that stand for something.
type Named<'a, T> = HashMap<&'a str, T>;

#[cfg(test)]
mod tests;
