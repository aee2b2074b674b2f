//! Makes micro-ops of a thread whose lines are single instructions: what such instruction sets share, from labels to the
//! list of instructions.
//!
//! It knows no instruction, register or syntax: each set reads its lines and lowers its instructions.

use super::lex::Refusal;
use super::microcode::{Emit, Labels};
use litmake_base::diag::{Diag, Result, Source, nearest};
use litmake_litmus::{Line, Symbols};
use litmake_ops::{Code, Inst, Label, Temp, Val};

/// The lines of a thread.
pub(crate) struct Thread<'a> {
    source: &'a Source,
    lines: &'a [Line],
    pub labels: Labels<'a>,
}

/// Lowers one instruction; the fields are what it may ask and add to.
pub(crate) struct Lower<'a, S> {
    /// The instruction set, with its options.
    pub set: &'a S,
    pub e: Emit,
    pub code: &'a mut Code,
    pub symbols: &'a mut dyn Symbols,
    pub labels: &'a Labels<'a>,
    /// The number of this instruction.
    pub at: usize,
    /// Whether any instruction of the thread puts the address of an instruction into a register.
    pub has_calls: bool,
}

/// An instruction that was lowered, or why it cannot be.
pub(crate) type Done = std::result::Result<(), String>;

impl<'a> Thread<'a> {
    pub fn new(source: &'a Source, lines: &'a [Line]) -> Result<Thread<'a>> {
        Ok(Thread { source, lines, labels: Labels::new(source, lines)? })
    }

    /// Reads each line, of which some have no instruction.
    pub fn read<I>(
        &self,
        mut read: impl FnMut(usize, &Line) -> std::result::Result<Option<I>, Refusal>,
    ) -> Result<Vec<Option<I>>> {
        let lines = self.lines.iter().enumerate();
        let read = |(at, line): (usize, &Line)| {
            read(at, line).map_err(|refusal| refusal.at(self.source, line.span))
        };
        lines.map(read).collect()
    }

    /// Lowers the instructions of all lines. `calls` says whether the instruction of a line puts the address of an
    /// instruction into a register.
    pub fn lower<I, S>(
        &self,
        set: &S,
        symbols: &mut dyn Symbols,
        insns: &[Option<I>],
        calls: impl Fn(&I, usize) -> bool,
        lower: impl Fn(&mut Lower<S>, &I) -> Done,
    ) -> Result<Code> {
        let mut all = insns.iter().enumerate();
        let has_calls = all.any(|(at, insn)| insn.as_ref().is_some_and(|insn| calls(insn, at)));
        let mut code = Code::default();
        for (at, (insn, line)) in insns.iter().zip(self.lines).enumerate() {
            let text = line.text.trim();
            let mut ops = Vec::new();
            if let Some(insn) = insn {
                let (labels, e) = (&self.labels, Emit::new());
                let (code, symbols) = (&mut code, &mut *symbols);
                let mut this = Lower { set, e, code, symbols, labels, at, has_calls };
                lower(&mut this, insn).map_err(|what| {
                    Diag::at(self.source, line.span, format!("`{text}`: {what}"))
                })?;
                ops = this.e.finish();
            }
            code.insts.push(Inst { ops, text: text.to_string(), span: line.span });
        }
        Ok(code)
    }
}

impl<S> Lower<'_, S> {
    /// The instruction that a jump to a label goes to.
    pub fn target(&self, name: &str) -> std::result::Result<Label, String> {
        self.labels.find(name, self.at).ok_or_else(|| {
            let near = nearest(name, self.labels.names());
            let hint = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            format!("no label `{name}` in this thread{hint}")
        })
    }

    /// The address of an instruction, or of a location with an offset.
    pub fn symbol(&mut self, name: &str, off: i64) -> std::result::Result<Temp, String> {
        if let Some(target) = self.labels.find(name, self.at) {
            return Ok(self.e.val(Val::Code(target)));
        }
        if name.starts_with('.') {
            return Err(format!(
                "`{name}` is an assembler's own label, and it is not in this thread"
            ));
        }
        let loc = self.symbols.location(name);
        Ok(self.e.val(Val::Ptr { loc, off }))
    }

    /// The address of the next instruction.
    pub fn next(&mut self) -> Temp {
        self.e.val(Val::Code(self.at as Label + 1))
    }
}
