//! Reads lines of x86 assembly as instructions: prefixes, order and size of operands. It does
//! not know what an instruction means.

use super::insn::{Arg, Do, Insn, Size};
use super::mnemonic::{self, Prefix};
use super::operand::{self, Operand};
use crate::lex::Refusal;
use crate::microcode::parse_int;
use litmake_litmus::Line;

/// How the lines of one thread are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// 64-bit code.
    pub wide: bool,
    /// The destination comes first.
    pub intel: bool,
    /// Aligned 16-byte SSE accesses are single-copy atomic.
    pub avx: bool,
}

impl Syntax {
    /// The order of operands that a thread uses. 32-bit tests have the destination first, and
    /// 64-bit tests last; but a register that is written with `%` speaks for AT&T's syntax, and
    /// what only Intel's has for that.
    pub fn of(wide: bool, avx: bool, lines: &[Line]) -> Syntax {
        let percent = lines.iter().any(|l| l.text.contains('%'));
        let intel = !percent && (!wide || lines.iter().any(|l| only_intel(&l.text)));
        Syntax { wide, intel, avx }
    }
}

/// Whether a line without `%` makes sense in Intel's syntax only: it says `ptr`, extends without
/// saying from which size, or has last what cannot be written to.
fn only_intel(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    if lower.split(words).skip(1).any(|w| w == "ptr") {
        return true;
    }
    let name = lower.split_whitespace().next().unwrap_or("");
    if matches!(name, "movzx" | "movsx" | "movsxd") {
        return true;
    }
    let operands = lower.get(name.len()..).unwrap_or("");
    match operand::split(operands).as_slice() {
        [_, .., last] => {
            parse_int(last).is_some()
                || *last == "cl" && name.starts_with(['s', 'r'])
                || name == "lea" && last.contains('[')
        }
        _ => false,
    }
}

/// One line: an instruction, or only a `lock` that belongs to the next line.
#[derive(Debug, PartialEq)]
pub enum Read {
    Insn(Insn),
    Lock,
    Empty,
}

/// Reads one line's text.
pub fn line(text: &str, syntax: Syntax) -> Result<Read, Refusal> {
    let text = text.split('#').next().unwrap_or("");
    let mut rest = text.trim().trim_end_matches(';').trim_end();
    if rest.is_empty() {
        return Ok(Read::Empty);
    }
    let mut lock = false;
    let (name, operands) = loop {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let word = rest[..end].to_ascii_lowercase();
        let after = rest[end..].trim_start();
        match mnemonic::prefix(word.trim_end_matches(';')) {
            Some(p) => {
                lock |= p == Prefix::Lock;
                if after.is_empty() {
                    return Ok(if lock { Read::Lock } else { Read::Empty });
                }
                rest = after.trim_start_matches(';').trim_start();
            }
            None => break (word, after),
        }
    };
    let (what, size) = mnemonic::look_up(&name, syntax.avx).ok_or_else(|| unknown(&name))?;
    let mut insn = Insn { what, size: size.unwrap_or(Size::L), lock, args: Vec::new() };
    if what == Do::Nop || what == Do::Stop {
        return Ok(Read::Insn(insn));
    }
    let mut args = operand::split(operands)
        .into_iter()
        .map(|text| operand::read(text, syntax.wide))
        .collect::<Result<Vec<_>, _>>()?;
    if !syntax.intel {
        args.reverse();
    }
    put_in_order(&mut args, what);
    insn.size = settle_size(&name, &mut insn, size, &mut args, syntax)?;
    let indirect = args.iter().any(|a| a.star);
    insn.args = args.into_iter().map(|a| a.arg).collect();
    if matches!(what, Do::Jump | Do::JumpIf(_) | Do::Call) {
        mark_direct(&mut insn, indirect);
    }
    Ok(Read::Insn(insn))
}

fn unknown(name: &str) -> Refusal {
    let names: Vec<String> = mnemonic::names().collect();
    Refusal::unknown("x86", name, names.iter().map(String::as_str))
}

/// Instructions of which herd writes the operands in its own order have the memory operand (or
/// for a conditional move the register) where it can only be.
fn put_in_order(args: &mut [Operand], what: Do) {
    let [a, b] = args else { return };
    let is_mem = |o: &Operand| matches!(o.arg, Arg::Mem(_));
    let swap = match what {
        Do::Cmov(_) => is_mem(a),
        Do::Cmpxchg | Do::Xchg | Do::Xadd => is_mem(b),
        // Vector stores have memory first in either order of ours already.
        _ => false,
    };
    if swap {
        std::mem::swap(a, b);
    }
}

/// A jump's or call's target without a star is the name itself, not what is stored there.
fn mark_direct(insn: &mut Insn, indirect: bool) {
    if indirect {
        return;
    }
    if let [Arg::Mem(mem)] = insn.args.as_mut_slice() {
        let direct = mem.base.is_none() && mem.index.is_none() && !mem.got;
        if let (true, Some(symbol)) = (direct, mem.symbol.take()) {
            insn.args[0] = Arg::Imm(super::insn::Imm::Symbol(symbol, mem.disp));
        }
    }
}

/// The size an instruction works on: what its name says, or its registers, or its memory
/// operand; 32 bits where nothing does, as herd has it.
fn settle_size(
    name: &str,
    insn: &mut Insn,
    said: Option<Size>,
    args: &mut [Operand],
    syntax: Syntax,
) -> Result<Size, Refusal> {
    let hint = args.iter().find_map(|a| a.size);
    let reg = |o: &Operand| match o.arg {
        Arg::Reg(r) => Some(r.size),
        _ => None,
    };
    match &mut insn.what {
        Do::Mov | Do::StoreNonTemporal if args.iter().any(|a| matches!(a.arg, Arg::Xmm(_))) => {
            if insn.what == Do::Mov {
                if name != "movq" {
                    return Err(format!(
                        "`{name}` does not move vector registers; `movd`, `movq`, `movdqa` and their like do"
                    )
                    .into());
                }
                insn.what = Do::MovLow(Size::Q);
            }
            Ok(Size::Q)
        }
        Do::MovExtend { from, .. } => {
            let source = args.get(1);
            if name.ends_with('x') {
                let size = source.and_then(|s| reg(s).or(s.size));
                *from = size.ok_or_else(|| {
                    format!("the source of `{name}` has no size; say `byte ptr` or `word ptr`")
                })?;
            } else if let Some(size) = source.and_then(reg)
                && size != *from
            {
                return Err(mismatch(name, *from, size));
            }
            let to = args.first().and_then(reg).or(said);
            let to = to.ok_or_else(|| format!("`{name}` writes a register, destination"))?;
            if said.is_some_and(|s| s != to) {
                return Err(mismatch(name, said.unwrap_or(to), to));
            }
            Ok(to)
        }
        // Counts and inserted values have sizes of their own.
        Do::Shift(_) | Do::DoubleShift { .. } | Do::ShiftX(_) => {
            let count = if matches!(insn.what, Do::Shift(_)) { 1 } else { 2 };
            let sizes = args.iter().take(count).filter_map(reg).collect::<Vec<_>>();
            agree(name, said, &sizes, hint)
        }
        Do::Push | Do::Pop | Do::Leave | Do::Ret | Do::Call | Do::Jump => {
            let word = if syntax.wide { Size::Q } else { Size::L };
            Ok(said.or(args.first().and_then(reg)).unwrap_or(word))
        }
        Do::Insert(s) | Do::Extract(s) | Do::MovLow(s) => {
            // `movd %rax,%xmm0` is how old assemblers write `movq`.
            if let (Size::L, Some(Size::Q)) = (*s, args.iter().find_map(reg)) {
                *s = Size::Q;
            }
            Ok(*s)
        }
        Do::X87Load | Do::X87StorePop => match said.or(hint) {
            Some(size) => Ok(size),
            None => Err(format!("`{name}` needs a size, such as `qword ptr`").into()),
        },
        Do::CmpxchgPair | Do::ExtendAcc | Do::SignAcc => Ok(said.unwrap_or(Size::L)),
        Do::Mov if !syntax.wide && said.is_some() => {
            // herd's 32-bit dialect has `movb` with whole registers only.
            let size = said.unwrap_or(Size::L);
            if size < Size::L && args.iter().filter_map(reg).any(|s| s == Size::L) {
                return narrow_move(name, insn, size, args);
            }
            let sizes = args.iter().filter_map(reg).collect::<Vec<_>>();
            agree(name, said, &sizes, hint)
        }
        _ => {
            let sizes = args.iter().filter_map(reg).collect::<Vec<_>>();
            agree(name, said, &sizes, hint)
        }
    }
}

/// A byte or word move to or from a 32-bit register: extends what it loads, stores the low part.
fn narrow_move(
    name: &str,
    insn: &mut Insn,
    size: Size,
    args: &mut [Operand],
) -> Result<Size, Refusal> {
    match args {
        [Operand { arg: Arg::Reg(_), .. }, Operand { arg: Arg::Mem(_), .. }] => {
            insn.what = Do::MovExtend { from: size, signed: false };
            Ok(Size::L)
        }
        [_, Operand { arg: Arg::Reg(r), .. }] => {
            r.size = size;
            Ok(size)
        }
        _ => Err(mismatch(name, size, Size::L)),
    }
}

fn agree(
    name: &str,
    said: Option<Size>,
    registers: &[Size],
    hint: Option<Size>,
) -> Result<Size, Refusal> {
    let size = said.or(registers.first().copied()).or(hint).unwrap_or(Size::L);
    match registers.iter().find(|r| **r != size) {
        Some(other) => Err(mismatch(name, size, *other)),
        None => Ok(size),
    }
}

fn mismatch(name: &str, size: Size, register: Size) -> Refusal {
    let (bits, found) = (size.bits(), register.bits());
    let message = format!("`{name}` works on {bits} bits here, and a register operand has {found}");
    Refusal::new(message).help("give the register's part of that size, or another suffix")
}
