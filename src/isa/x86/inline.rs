//! Lines of a 64-bit thread as `asm` statements of C have them: AT&T syntax, locations and labels
//! by what stands for them there. It does not know what an instruction means, but for the order
//! and the size of operands that a line leaves open.

use super::insn::{Arg, Do, Imm, Insn, Size};
use super::read::{self, Read, Syntax};
use super::{mnemonic, operand};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::Line;

/// One text a line. `location` gives the operand that holds a location's address, `label` the
/// name of a label of the thread.
pub fn lines(
    source: &Source,
    lines: &[Line],
    location: &dyn Fn(&str) -> Option<String>,
    label: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>> {
    let syntax = Syntax::of(true, false, lines);
    if syntax.intel {
        let span = lines.first().map(|l| l.span).unwrap_or_default();
        return Err(Diag::at(source, span, "code in Intel's syntax is not run")
            .help("write the destination last, and `%` before registers"));
    }
    let one = |line: &Line| {
        let refuse = |message: String| Diag::at(source, line.span, message);
        let insn = match read::line(&line.text, syntax).map_err(|r| r.at(source, line))? {
            Read::Insn(insn) => Some(insn),
            Read::Lock | Read::Empty => None,
        };
        text(&line.text, insn.as_ref(), location, label).map_err(refuse)
    };
    lines.iter().map(one).collect()
}

type Names<'a> = &'a dyn Fn(&str) -> Option<String>;

fn text(
    line: &str,
    insn: Option<&Insn>,
    location: Names,
    label: Names,
) -> std::result::Result<String, String> {
    let line = line.split('#').next().unwrap_or("");
    let mut rest = line.trim().trim_end_matches(';').trim_end();
    let mut out = String::new();
    let name = loop {
        if rest.is_empty() {
            return Ok(out.trim_end().to_string());
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        let bare = word.trim_end_matches(';');
        if mnemonic::prefix(bare).is_none() {
            break word;
        }
        out.push_str(bare);
        out.push(' ');
        rest = rest.trim_start_matches(';').trim_start();
    };
    out.push_str(&name);
    let Some(insn) = insn else {
        return Ok(out);
    };
    let mut operands = operand::split(rest)
        .into_iter()
        .map(|text| Ok((text, operand::read(text, true)?.arg)))
        .collect::<std::result::Result<Vec<_>, String>>()?;
    let register = operands.iter().any(|(_, a)| matches!(a, Arg::Reg(_) | Arg::Xmm(_)));
    let sized = mnemonic::look_up(&name, false).is_none_or(|(_, size)| size.is_some());
    let jumps = matches!(insn.what, Do::Jump | Do::JumpIf(_) | Do::Call);
    if !register && !sized && !operands.is_empty() && !jumps {
        out.push(match insn.size {
            Size::B => 'b',
            Size::W => 'w',
            Size::L => 'l',
            Size::Q => 'q',
        });
    }
    // Where a line has the operands in an order of its own, memory is where it can only be.
    if let [(_, a), (_, b)] = operands.as_slice() {
        let is_mem = |arg: &Arg| matches!(arg, Arg::Mem(_));
        let last = matches!(insn.what, Do::Cmpxchg | Do::Xchg | Do::Xadd) && is_mem(a);
        let first = matches!(insn.what, Do::Cmov(_)) && is_mem(b);
        if last || first {
            operands.swap(0, 1);
        }
    }
    for (i, (text, arg)) in operands.iter().enumerate() {
        out.push_str(if i == 0 { " " } else { ", " });
        out.push_str(&one(text, arg, location, label)?);
    }
    Ok(out)
}

/// An operand.
fn one(
    text: &str,
    arg: &Arg,
    location: Names,
    label: Names,
) -> std::result::Result<String, String> {
    let unknown = |symbol: &str| format!("`{symbol}` is neither a location nor a label here");
    match arg {
        Arg::Reg(_) | Arg::Xmm(_) => {
            Ok(format!("%%{}", text.trim_start_matches('%').to_ascii_lowercase()))
        }
        Arg::Imm(Imm::Int(n)) => Ok(format!("${n}")),
        Arg::Imm(Imm::Symbol(symbol, 0)) => match (location(symbol), label(symbol)) {
            (Some(register), _) => Ok(register),
            (None, Some(label)) => Ok(label),
            (None, None) => Err(unknown(symbol)),
        },
        Arg::Imm(Imm::Symbol(..)) => {
            Err(format!("`{text}`: addresses inside of locations are not run as constants"))
        }
        Arg::Mem(mem) if mem.got || mem.thread_local => {
            Err(format!("`{text}`: memory of this kind is not run"))
        }
        Arg::Mem(mem) => match &mem.symbol {
            None => Ok(text.replace('%', "%%")),
            Some(symbol) => {
                if mem.base.is_some() {
                    return Err(format!("`{text}` has more registers than an address can"));
                }
                match (location(symbol), label(symbol)) {
                    (Some(register), _) => {
                        let index = match &mem.index {
                            None => String::new(),
                            Some((reg, scale)) => {
                                format!(",%%{},{scale}", super::regs::canonical(reg.num, true))
                            }
                        };
                        let disp = if mem.disp == 0 { String::new() } else { mem.disp.to_string() };
                        Ok(format!("{disp}({register}{index})"))
                    }
                    (None, Some(label)) => Ok(label),
                    (None, None) => Err(unknown(symbol)),
                }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_base::diag::Span;

    fn inline(texts: &[&str]) -> Result<Vec<String>> {
        let list: Vec<Line> = texts
            .iter()
            .map(|t| Line { labels: Vec::new(), text: t.to_string(), span: Span::default() })
            .collect();
        let location = |n: &str| (n == "x").then(|| "%[x]".to_string());
        let label = |n: &str| (n == "L0").then(|| ".L0_%=".to_string());
        lines(&Source::new("t", ""), &list, &location, &label)
    }

    #[test]
    fn lines_become_operands_of_an_asm_statement() {
        for (line, text) in [
            ("movl $1,(x)", "movl $1, (%[x])"),
            ("mov $1,(x)", "movl $1, (%[x])"),
            ("movq x+8(%rip), %rax", "movq 8(%[x]), %%rax"),
            ("mfence", "mfence"),
            ("lock xaddl %eax,(x)", "lock xaddl %%eax, (%[x])"),
            ("lock; addl $0,-4(%rsi)", "lock addl $0, -4(%%rsi)"),
            ("xchgl (x),%eax", "xchgl %%eax, (%[x])"),
            ("movq $x,%rdi", "movq %[x], %%rdi"),
            ("jne L0", "jne .L0_%="),
            ("", ""),
        ] {
            assert_eq!(inline(&[line]).unwrap(), [text], "{line}");
        }
    }

    #[test]
    fn what_is_not_run_is_said() {
        let error = |line: &str| inline(&[line]).unwrap_err().message;
        assert_eq!(error("movl (y),%eax"), "`y` is neither a location nor a label here");
        assert_eq!(error("mov dword ptr [x], 1"), "code in Intel's syntax is not run");
        assert_eq!(error("movl %fs:40,%eax"), "`%fs:40`: memory of this kind is not run");
    }
}
