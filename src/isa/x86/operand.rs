//! Reads the operands of x86 instructions, in AT&T and in Intel syntax. It does not know which
//! instruction they belong to.

use super::insn::{Arg, Gpr, Imm, Mem, Size};
use super::lower::GOT;
use super::regs;
use crate::microcode::parse_int;

/// An operand as read, with what its text says besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    pub arg: Arg,
    /// From `dword ptr` and the like.
    pub size: Option<Size>,
    /// `*%rax`: the target of an indirect jump.
    pub star: bool,
}

/// Splits at commas that are in no bracket.
pub fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !parts.is_empty() || !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// Reads one operand; `wide` says 64-bit code. The error says what is wrong with it.
pub fn read(text: &str, wide: bool) -> Result<Operand, String> {
    let mut rest = text.trim();
    let mut star = false;
    if let Some(r) = rest.strip_prefix('*') {
        (star, rest) = (true, r.trim_start());
    }
    let mut size = None;
    if let Some((s, r)) = sized(rest) {
        (size, rest) = (s, r);
    }
    let arg = read_arg(rest, wide)?;
    Ok(Operand { arg, size, star })
}

/// Takes `dword ptr` and the like off the front.
fn sized(text: &str) -> Option<(Option<Size>, &str)> {
    let mut words = text.splitn(2, char::is_whitespace);
    let (first, rest) = (words.next()?, words.next()?.trim_start());
    let size = match first.to_ascii_lowercase().as_str() {
        "byte" => Some(Size::B),
        "word" => Some(Size::W),
        "dword" => Some(Size::L),
        "qword" => Some(Size::Q),
        "xmmword" | "oword" => None,
        _ => return None,
    };
    let head = rest.get(..3)?;
    head.eq_ignore_ascii_case("ptr").then(|| (size, rest[3..].trim_start()))
}

fn read_arg(text: &str, wide: bool) -> Result<Arg, String> {
    if text.is_empty() {
        return Err("an operand is empty".to_string());
    }
    if let Some(imm) = text.strip_prefix('$') {
        return read_imm(imm.trim()).map(Arg::Imm);
    }
    if let Some(n) = parse_int(text) {
        return Ok(Arg::Imm(Imm::Int(n)));
    }
    if let Some(reg) = register(text, wide) {
        return Ok(reg);
    }
    let lower = text.to_ascii_lowercase();
    if let Some(symbol) = lower.strip_prefix("offset ") {
        let symbol = symbol.trim_start();
        let symbol = symbol.strip_prefix("flat:").unwrap_or(symbol);
        return read_imm(&text[text.len() - symbol.len()..]).map(Arg::Imm);
    }
    read_mem(text, wide).map(Arg::Mem)
}

fn register(text: &str, wide: bool) -> Option<Arg> {
    let name = text.strip_prefix('%').unwrap_or(text).to_ascii_lowercase();
    if let Some(reg) = regs::gpr(&name, wide) {
        return Some(Arg::Reg(reg));
    }
    regs::xmm(&name).map(Arg::Xmm)
}

fn gpr(text: &str, wide: bool) -> Option<Gpr> {
    match register(text, wide) {
        Some(Arg::Reg(reg)) => Some(reg),
        _ => None,
    }
}

fn read_imm(text: &str) -> Result<Imm, String> {
    // Code that asks for its own address adds the distance from there to the table.
    if text.starts_with(GOT) {
        return Ok(Imm::Symbol(GOT.to_string(), 0));
    }
    let mut mem = Mem::default();
    sum(text, &mut mem, None)?;
    match mem.symbol {
        _ if mem.got => Err(format!("`{text}` is no constant")),
        Some(symbol) => Ok(Imm::Symbol(symbol, mem.disp)),
        None => match parse_int(text) {
            Some(n) => Ok(Imm::Int(n)),
            None => Ok(Imm::Int(mem.disp.into())),
        },
    }
}

fn read_mem(text: &str, wide: bool) -> Result<Mem, String> {
    let mut mem = Mem::default();
    let mut rest = text;
    if let Some((segment, r)) = rest.split_once(':') {
        let segment = segment.trim();
        let name = segment.strip_prefix('%').unwrap_or(segment);
        match name.to_ascii_lowercase().as_str() {
            "fs" | "gs" => mem.thread_local = true,
            "cs" | "ds" | "es" | "ss" => {}
            _ => return Err(format!("`{segment}` is no segment register")),
        }
        rest = r.trim();
    }
    let Some(open) = rest.find(['(', '[']) else {
        sum(rest, &mut mem, None)?;
        return finish(text, mem);
    };
    let close = if rest[open..].starts_with('(') { ')' } else { ']' };
    let inner = rest[open + 1..]
        .strip_suffix(close)
        .ok_or_else(|| format!("`{text}` lacks its closing `{close}`"))?
        .trim();
    let outside = rest[..open].trim();
    if !outside.is_empty() {
        sum(outside, &mut mem, None)?;
    }
    let parts = split(inner);
    match parts.as_slice() {
        [] => return Err(format!("`{text}` names no address")),
        [one] => sum(one, &mut mem, Some(wide))?,
        [base, rest @ ..] if rest.len() <= 2 => {
            if !base.is_empty() {
                let reg = gpr(base, wide).ok_or_else(|| no_register(base))?;
                add_register(&mut mem, reg, 1)?;
            }
            let scale = match rest.get(1) {
                None => 1,
                Some(s) => scale(s).ok_or_else(|| bad_scale(s))?,
            };
            let reg = gpr(rest[0], wide).ok_or_else(|| no_register(rest[0]))?;
            if mem.index.is_some() {
                return Err(format!("`{text}` has more registers than an address can"));
            }
            mem.index = Some((reg, scale));
        }
        _ => return Err(format!("`{text}` has more parts than an address can")),
    }
    finish(text, mem)
}

fn finish(text: &str, mem: Mem) -> Result<Mem, String> {
    if text.contains(',') && mem.base.is_none() && mem.index.is_none() {
        return Err(format!("`{text}` is no address"));
    }
    Ok(mem)
}

fn no_register(text: &str) -> String {
    format!("`{text}` is no register that can be part of an address")
}

fn bad_scale(text: &str) -> String {
    format!("`{text}` is no scale: 1, 2, 4 or 8 is")
}

fn scale(text: &str) -> Option<u8> {
    match text.trim() {
        "1" => Some(1),
        "2" => Some(2),
        "4" => Some(4),
        "8" => Some(8),
        _ => None,
    }
}

/// Adds the terms of `text` to an address: numbers, at most one symbol, and where `registers`
/// says so (with the code's width) registers with a scale.
fn sum(text: &str, mem: &mut Mem, registers: Option<bool>) -> Result<(), String> {
    let mut negative = false;
    let mut start = 0;
    let bytes = text.as_bytes();
    for end in 0..=bytes.len() {
        let at_end = end == bytes.len();
        if !at_end && !matches!(bytes[end], b'+' | b'-') {
            continue;
        }
        let term = text[start..end].trim();
        if !term.is_empty() {
            add_term(term, negative, mem, registers)?;
        } else if at_end {
            return Err(format!("`{text}` ends where a number or a name should be"));
        }
        if !at_end {
            negative = bytes[end] == b'-' && !(term.is_empty() && negative);
            start = end + 1;
        }
    }
    Ok(())
}

fn add_term(
    term: &str,
    negative: bool,
    mem: &mut Mem,
    registers: Option<bool>,
) -> Result<(), String> {
    // Disassemblers write 0x0 and assemblers `0L`.
    let number = parse_int(term).or_else(|| parse_int(term.strip_suffix('L')?));
    if let Some(n) = number {
        let n = if negative { -n } else { n };
        let n = i64::try_from(n).or_else(|_| u64::try_from(n).map(|n| n as i64));
        let n = n.map_err(|_| format!("`{term}` does not fit into 64 bits"))?;
        mem.disp = mem.disp.wrapping_add(n);
        return Ok(());
    }
    let name = term.strip_prefix('%').unwrap_or(term);
    if registers.is_some() && name.eq_ignore_ascii_case("rip") {
        // Code has no address of its own here: what is relative to it is named by its symbol.
        return Ok(());
    }
    if let Some(wide) = registers {
        let (reg, times) = match term.split_once('*') {
            None => (gpr(term, wide), 1),
            Some((a, b)) => match (gpr(a.trim(), wide), gpr(b.trim(), wide)) {
                (Some(reg), None) => (Some(reg), scale(b).ok_or_else(|| bad_scale(b))?),
                (None, Some(reg)) => (Some(reg), scale(a).ok_or_else(|| bad_scale(a))?),
                _ => return Err(format!("`{term}` is no register with a scale")),
            },
        };
        if let Some(reg) = reg {
            if negative {
                return Err(format!("`{term}` cannot be subtracted in an address"));
            }
            return add_register(mem, reg, times);
        }
    }
    if term.starts_with('%') || gpr(term, true).is_some() {
        return Err(no_register(term));
    }
    let (name, relocation) = match term.split_once('@') {
        None => (term, None),
        Some((name, r)) => (name, Some(r)),
    };
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'/'));
    if !is_name || negative || mem.symbol.is_some() {
        return Err(format!("`{term}` is no operand"));
    }
    match relocation.map(|r| r.to_ascii_uppercase()).as_deref() {
        None | Some("PLT" | "GOTOFF") => {}
        Some("GOT" | "GOTPCREL" | "GOTPCRELX") => mem.got = true,
        Some(other) => return Err(format!("`@{other}` addresses are not supported")),
    }
    mem.symbol = Some(name.to_string());
    Ok(())
}

fn add_register(mem: &mut Mem, reg: Gpr, scale: u8) -> Result<(), String> {
    if scale == 1 && mem.base.is_none() {
        mem.base = Some(reg);
    } else if mem.index.is_none() {
        mem.index = Some((reg, scale));
    } else {
        return Err("an address has at most two registers".to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mem(text: &str) -> Mem {
        match read(text, true).map(|o| o.arg) {
            Ok(Arg::Mem(m)) => m,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn symbol(name: &str, disp: i64) -> Mem {
        Mem { symbol: Some(name.to_string()), disp, ..Mem::default() }
    }

    #[test]
    fn one_address_in_many_spellings() {
        let rax = Some(Gpr::new(0, Size::Q));
        let rbx = Some((Gpr::new(3, Size::Q), 4));
        for text in ["(x)", "[x]", "x", "x(%rip)", "[rip+x]", "[x+rip]", "x[rip]"] {
            assert_eq!(mem(text), symbol("x", 0), "{text}");
        }
        for text in ["x+8(%rip)", "8+x(%rip)", "[rip+x+8]", "(x+8)", "x+0x8"] {
            assert_eq!(mem(text), symbol("x", 8), "{text}");
        }
        for text in ["-8(%rax,%rbx,4)", "[rax+rbx*4-8]", "-8[rax+4*rbx]"] {
            let m = mem(text);
            assert_eq!((m.base, m.index, m.disp), (rax, rbx, -8), "{text}");
        }
        let m = mem("(,%rbx,4)");
        assert_eq!((m.base, m.index), (None, rbx));
        assert!(mem("x@GOTPCREL(%rip)").got);
        assert!(mem("%fs:40").thread_local);
        let m = mem("%cs:0L(%rax,%rax,1)");
        assert_eq!((m.base, m.disp), (rax, 0));
    }

    #[test]
    fn constants_and_registers() {
        let arg = |t| read(t, true).unwrap();
        assert_eq!(arg("$-1").arg, Arg::Imm(Imm::Int(-1)));
        assert_eq!(arg("0x10").arg, Arg::Imm(Imm::Int(16)));
        assert_eq!(arg("$0xffffffffffffffff").arg, Arg::Imm(Imm::Int(0xffff_ffff_ffff_ffff)));
        assert_eq!(arg("$x+4").arg, Arg::Imm(Imm::Symbol("x".into(), 4)));
        assert_eq!(arg("OFFSET FLAT:x").arg, Arg::Imm(Imm::Symbol("x".into(), 0)));
        assert_eq!(arg("%xmm15").arg, Arg::Xmm(15));
        let o = arg("DWORD PTR [rdi]");
        assert_eq!(o.size, Some(Size::L));
        assert!(arg("*%rax").star);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, error) in [
            ("(%rax", "`(%rax` lacks its closing `)`"),
            ("(%rax,%foo)", "`%foo` is no register that can be part of an address"),
            ("(%rax,%rbx,3)", "`3` is no scale: 1, 2, 4 or 8 is"),
            ("()", "`()` names no address"),
            ("%foo", "`%foo` is no register that can be part of an address"),
            ("x@TPOFF", "`@TPOFF` addresses are not supported"),
            ("", "an operand is empty"),
        ] {
            assert_eq!(read(text, true).unwrap_err(), error, "{text}");
        }
    }
}
