//! Lines of a thread as `asm` statements of 64-bit C, in AT&T syntax, with locations and labels replaced by
//! the names that they have there. Lines of 32-bit tests become 64-bit code that means the same: only
//! addresses are wider there, so an address may be used to access memory and for nothing else. It does not
//! know the meaning of an instruction, only the order and the size of operands that a line leaves open.

use super::insn::{Arg, Do, Gpr, Imm, Insn, Mem, Size};
use super::read::{self, Read, Syntax};
use super::{mnemonic, operand, regs};
use litmake_base::diag::{Diag, Result, Source};
use litmake_litmus::Line;

/// The C code around a thread's lines.
pub struct Around<'a> {
    /// 64-bit code, and not a 32-bit test's.
    pub wide: bool,
    /// The operand that holds a location's address.
    pub location: &'a dyn Fn(&str) -> Option<String>,
    /// The name of a label of the thread.
    pub label: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a register (`rax`) begins with an address.
    pub begins_with_address: &'a dyn Fn(&str) -> bool,
}

/// One text a line.
pub fn lines(source: &Source, lines: &[Line], around: &Around) -> Result<Vec<String>> {
    let syntax = Syntax::of(around.wide, false, lines);
    let one = |line: &Line| {
        let refuse = |message: String| Diag::at(source, line.span, message);
        let insn = match read::line(&line.text, syntax).map_err(|r| r.at(source, line.span))? {
            Read::Insn(insn) => Some(insn),
            Read::Lock | Read::Empty => None,
        };
        text(&line.text, insn.as_ref(), syntax, around).map_err(refuse)
    };
    lines.iter().map(one).collect()
}

fn text(
    line: &str,
    insn: Option<&Insn>,
    syntax: Syntax,
    around: &Around,
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
    let Some(insn) = insn else {
        out.push_str(&name);
        return Ok(out);
    };
    let mut operands = operand::split(rest)
        .into_iter()
        .map(|text| Ok((text, operand::read(text, syntax.wide)?.arg)))
        .collect::<std::result::Result<Vec<_>, String>>()?;
    if syntax.intel {
        operands.reverse();
    }
    let register = operands.iter().any(|(_, a)| matches!(a, Arg::Reg(_) | Arg::Xmm(_)));
    let sized = mnemonic::look_up(&name, false).is_none_or(|(_, size)| size.is_some());
    let jumps = matches!(insn.what, Do::Jump | Do::JumpIf(_) | Do::Call);
    match insn.what {
        // In Intel's syntax the source says from which size, in AT&T's the name.
        Do::MovExtend { from, signed } if syntax.intel => {
            let name = if signed { "movs" } else { "movz" };
            out.push_str(name);
            out.push(suffix(from));
            out.push(suffix(insn.size));
        }
        _ => {
            out.push_str(&name);
            if !register && !sized && !operands.is_empty() && !jumps {
                out.push(suffix(insn.size));
            }
        }
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
        out.push_str(&one(text, arg, jumps, around)?);
    }
    Ok(out)
}

fn suffix(size: Size) -> char {
    match size {
        Size::B => 'b',
        Size::W => 'w',
        Size::L => 'l',
        Size::Q => 'q',
    }
}

/// An operand.
fn one(text: &str, arg: &Arg, jumps: bool, around: &Around) -> std::result::Result<String, String> {
    let (location, label) = (around.location, around.label);
    let unknown = |symbol: &str| format!("`{symbol}` is neither a location nor a label here");
    match arg {
        Arg::Reg(reg) if !around.wide && (around.begins_with_address)(&whole(*reg)) => {
            Err(format!("`{text}` holds an address, which 64-bit code cannot keep in 32 bits"))
        }
        Arg::Reg(_) | Arg::Xmm(_) => {
            Ok(format!("%%{}", text.trim_start_matches('%').to_ascii_lowercase()))
        }
        Arg::Imm(Imm::Int(n)) => Ok(format!("${n}")),
        Arg::Imm(Imm::Symbol(symbol, 0)) => match (location(symbol), label(symbol)) {
            (Some(_), _) if !around.wide => {
                Err(format!("`{text}` is an address, which 64-bit code cannot keep in 32 bits"))
            }
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
            Some(symbol) if jumps => label(symbol).ok_or_else(|| unknown(symbol)),
            Some(symbol) => {
                let register = location(symbol).ok_or_else(|| unknown(symbol))?;
                memory(text, mem, Some(register), around)
            }
            None => memory(text, mem, None, around),
        },
    }
}

/// A memory operand; `location` is the operand with the address of the location that it names.
fn memory(
    text: &str,
    mem: &Mem,
    location: Option<String>,
    around: &Around,
) -> std::result::Result<String, String> {
    let whole = |reg: Gpr| format!("%%{}", whole(reg));
    let begins_with_address = |reg: Gpr| (around.begins_with_address)(&self::whole(reg));
    let (base, index) = match (location, mem.base, mem.index) {
        (Some(_), Some(_), Some(_)) => {
            return Err(format!("`{text}`: an address with a location has room for one register"));
        }
        (Some(location), Some(offset), None) => (location, Some((whole(offset), 1))),
        (Some(location), None, index) => (location, index.map(|(r, scale)| (whole(r), scale))),
        (None, Some(base), index) if around.wide || begins_with_address(base) => {
            (whole(base), index.map(|(r, scale)| (whole(r), scale)))
        }
        (None, ..) => {
            return Err(format!(
                "`{text}`: no register of this address begins with the address of a location"
            ));
        }
    };
    let index = index.map_or(String::new(), |(reg, scale)| format!(",{reg},{scale}"));
    let disp = if mem.disp == 0 { String::new() } else { mem.disp.to_string() };
    Ok(format!("{disp}({base}{index})"))
}

/// The 64-bit register that one is, or is a part of.
fn whole(reg: Gpr) -> String {
    regs::canonical(reg.num, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_base::diag::Span;

    fn inline(texts: &[&str]) -> Result<Vec<String>> {
        of(true, texts)
    }

    fn of(wide: bool, texts: &[&str]) -> Result<Vec<String>> {
        let list: Vec<Line> = texts
            .iter()
            .map(|t| Line { labels: Vec::new(), text: t.to_string(), span: Span::default() })
            .collect();
        let location = |n: &str| (n == "x").then(|| "%[x]".to_string());
        let label = |n: &str| (n == "L0").then(|| ".L0_%=".to_string());
        let begins_with_address = |n: &str| n == "rbx";
        let around = Around {
            wide,
            location: &location,
            label: &label,
            begins_with_address: &begins_with_address,
        };
        lines(&Source::new("t", ""), &list, &around)
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
            ("movl x(%rcx), %eax", "movl (%[x],%%rcx,1), %%eax"),
            ("mov dword ptr [x], 1", "movl $1, (%[x])"),
            ("movzx eax, byte ptr [rsi]", "movzbl (%%rsi), %%eax"),
            ("mov eax, dword ptr [x+4]", "mov 4(%[x]), %%eax"),
            ("", ""),
        ] {
            assert_eq!(inline(&[line]).unwrap(), [text], "{line}");
        }
    }

    #[test]
    fn lines_of_32_bit_tests_have_wider_addresses_and_nothing_else() {
        for (line, text) in [
            ("MOV [x],$1", "movl $1, (%[x])"),
            ("MOV EAX,[x]", "mov (%[x]), %%eax"),
            ("mov ecx,[ebx]", "mov (%%rbx), %%ecx"),
            ("mov ecx,[ebx+4*eax]", "mov (%%rbx,%%rax,4), %%ecx"),
            ("XCHG EAX,[x]", "XCHG %%eax, (%[x])"),
            ("LOCK INC [x]", "lock incl (%[x])"),
            ("movl $1,(%ebx)", "movl $1, (%%rbx)"),
            ("movl x(%ecx),%eax", "movl (%[x],%%rcx,1), %%eax"),
            ("MFENCE", "mfence"),
        ] {
            let made = of(false, &[line]).unwrap();
            assert!(made[0].eq_ignore_ascii_case(text), "{line}: {}", made[0]);
        }
        let error = |line: &str| of(false, &[line]).unwrap_err().message;
        assert!(error("ADD EBX,$4").starts_with("`EBX` holds an address"));
        assert!(error("MOV [x],EBX").starts_with("`EBX` holds an address"));
        assert!(error("movl $x,%eax").starts_with("`$x` is an address"));
        assert!(error("MOV EAX,[ECX]").ends_with("begins with the address of a location"));
    }

    #[test]
    fn what_is_not_run_is_said() {
        let error = |line: &str| inline(&[line]).unwrap_err().message;
        assert_eq!(error("movl (y),%eax"), "`y` is neither a location nor a label here");
        assert_eq!(error("movl %fs:40,%eax"), "`%fs:40`: memory of this kind is not run");
    }
}
