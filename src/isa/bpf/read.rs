//! Reads lines of BPF assembly, as herd and as LLVM write it. It does not know what an instruction means.

use super::insn::{Address, Alu, Atomic, Insn, Operand, Part, R, Taken, Test};
use crate::lex::{Cursor, Tok};
use litmake_base::diag::{Result, nearest};
use litmake_ops::BinOp;

/// The words of fetching operations. Their result is in the register of the operand, as that of an exchange is:
/// machine code has no other. Like herd, this takes another register before `=`, which means nothing.
const FETCHES: [(&str, BinOp); 4] = [
    ("atomic_fetch_add", BinOp::Add),
    ("atomic_fetch_and", BinOp::And),
    ("atomic_fetch_or", BinOp::Or),
    ("atomic_fetch_xor", BinOp::Xor),
];

/// The words of exchanges, by the bytes that they access: those of herd, and those of LLVM where herd's are
/// others.
const EXCHANGES: [(&str, Atomic, u8); 6] = [
    ("xchg_64", Atomic::Exchange, 8),
    ("xchg_32_32", Atomic::Exchange, 4),
    ("xchg32_32", Atomic::Exchange, 4),
    ("cmpxchg_64", Atomic::CompareExchange, 8),
    ("cmpxchg32_32", Atomic::CompareExchange, 4),
    ("cmpxchg_32_32", Atomic::CompareExchange, 4),
];

/// The words that other instructions begin with, or that follow `=`.
const WORDS: [&str; 8] =
    ["lock", "store_release", "load_acquire", "goto", "gotol", "if", "exit", "call"];

const START: &str = "an instruction, such as `r1 = *(u32 *)(r2 + 0)`, `*(u32 *)(r2 + 0) = r1`, \
    `lock *(u64 *)(r2 + 0) += r1`, `r1 += 1`, `if r1 == 0 goto L` or `goto L`";

/// One instruction.
pub fn insn(c: &mut Cursor) -> Result<Insn> {
    let start = c.clone();
    match c.peek() {
        Tok::Punct('*') => {
            let (bytes, at) = place(c)?;
            c.expect('=')?;
            let value = operand(c)?;
            Ok(Insn::Store { bytes, release: false, at, value })
        }
        Tok::Word("lock") => {
            c.take();
            let (bytes, at) = place(c)?;
            let sign = c.clone();
            let op = match assigned(c)? {
                Some(Alu::Bin(op @ (BinOp::Add | BinOp::And | BinOp::Or | BinOp::Xor))) => op,
                _ => return Err(sign.expected("`+=`, `&=`, `|=` or `^=`")),
            };
            atomic(&start, Atomic::Op { op, fetch: false }, bytes, at, reg(c)?.0)
        }
        Tok::Word("store_release") => {
            c.take();
            c.expect('(')?;
            let (bytes, at) = cast(c)?;
            c.comma()?;
            let value = Operand::Reg(reg(c)?.0);
            c.expect(')')?;
            Ok(Insn::Store { bytes, release: true, at, value })
        }
        Tok::Word("goto" | "gotol") => {
            c.take();
            Ok(Insn::Jump { label: label(c)? })
        }
        Tok::Word("if") => {
            c.take();
            branch(c)
        }
        Tok::Word("exit") => {
            c.take();
            Ok(Insn::Exit)
        }
        Tok::Word("call" | "callx") => Err(start
            .fail("calls are not simulated")
            .help("a test has one function a thread, without calls")),
        Tok::Word(word) => match super::register(word) {
            Some((dst, part)) => {
                c.take();
                assignment(c, dst, part)
            }
            None => Err(unknown(&start, word)),
        },
        _ => Err(start.expected(START)),
    }
}

fn unknown(at: &Cursor, word: &str) -> Box<litmake_base::diag::Diag> {
    let words = WORDS.iter().copied();
    let known = words.chain(FETCHES.map(|f| f.0)).chain(EXCHANGES.map(|e| e.0));
    let error = at.fail(&format!("`{word}` begins no instruction of BPF that is known"));
    match nearest(word, known) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("registers are r0 to r9 and fp, and their low halves w0 to w9"),
    }
}

/// The text behind the register that an instruction sets.
fn assignment(c: &mut Cursor, dst: R, part: Part) -> Result<Insn> {
    let start = c.clone();
    match assigned(c)? {
        Some(op) => {
            let by = operand_of(c, part)?;
            Ok(Insn::Alu { op, part, dst, by })
        }
        None if c.eat('=') => value(c, dst, part),
        None => Err(start.expected("`=`, or an operator with `=` such as `+=`")),
    }
}

/// The operator of an assignment that also reads; nothing is taken where there is none.
fn assigned(c: &mut Cursor) -> Result<Option<Alu>> {
    let mut ahead = c.clone();
    let signed = ahead.eat_word("s");
    let op = match (ahead.take(), signed) {
        (Tok::Punct('+'), false) => Alu::Bin(BinOp::Add),
        (Tok::Punct('-'), false) => Alu::Bin(BinOp::Sub),
        (Tok::Punct('*'), false) => Alu::Bin(BinOp::Mul),
        (Tok::Punct('&'), false) => Alu::Bin(BinOp::And),
        (Tok::Punct('|'), false) => Alu::Bin(BinOp::Or),
        (Tok::Punct('^'), false) => Alu::Bin(BinOp::Xor),
        (Tok::Punct('/'), signed) => Alu::Div { signed },
        (Tok::Punct('%'), signed) => Alu::Rem { signed },
        (Tok::Punct('<'), false) if ahead.eat('<') => Alu::Shift(BinOp::Shl),
        (Tok::Punct('>'), false) if ahead.eat('>') => Alu::Shift(BinOp::Shr),
        (Tok::Punct('>'), true) if ahead.eat('>') => Alu::Shift(BinOp::Sar),
        _ => return Ok(None),
    };
    if !ahead.eat('=') {
        return Ok(None);
    }
    *c = ahead;
    Ok(Some(op))
}

/// The right side of `=`.
fn value(c: &mut Cursor, dst: R, part: Part) -> Result<Insn> {
    let start = c.clone();
    match c.peek() {
        Tok::Punct('*') => {
            let signed = sign(c);
            let (bytes, at) = place(c)?;
            if signed && part == Part::Low {
                return Err(start.fail("a load with its sign sets a whole register"));
            }
            Ok(Insn::Load { dst, bytes, signed, acquire: false, at })
        }
        Tok::Punct('(') => {
            c.take();
            let bits = match c.take() {
                Tok::Word("s8") => 8,
                Tok::Word("s16") => 16,
                Tok::Word("s32") if part == Part::Whole => 32,
                _ => return Err(start.expected("`(s8)`, `(s16)` or `(s32)` before a register")),
            };
            c.expect(')')?;
            Ok(Insn::Move { dst, part, from: reg(c)?.0, taken: Taken::Signed(bits) })
        }
        Tok::Punct('-') if negated(c) => {
            c.take();
            Ok(Insn::Move { dst, part, from: reg_of(c, part)?, taken: Taken::Negative })
        }
        Tok::Word(word) => {
            c.take();
            if super::register(word).is_some() {
                *c = start;
                return Ok(Insn::Move { dst, part, from: reg_of(c, part)?, taken: Taken::All });
            }
            named(c, &start, word, dst, part)
        }
        _ if c.is_int() => {
            let value = c.int()?;
            c.eat_word("ll");
            Ok(Insn::Const { dst, part, value })
        }
        _ => Err(start.expected("a register, a number, or an access such as `*(u32 *)(r2 + 0)`")),
    }
}

/// The right side of `=` where it begins with a word that is no register.
fn named(c: &mut Cursor, start: &Cursor, word: &str, dst: R, part: Part) -> Result<Insn> {
    if word == "load_acquire" {
        c.expect('(')?;
        let (bytes, at) = cast(c)?;
        c.expect(')')?;
        return Ok(Insn::Load { dst, bytes, signed: false, acquire: true, at });
    }
    if let Some((_, op)) = FETCHES.iter().find(|(name, _)| *name == word) {
        c.expect('(')?;
        let (bytes, at) = cast(c)?;
        c.comma()?;
        let value = reg(c)?.0;
        c.expect(')')?;
        return atomic(start, Atomic::Op { op: *op, fetch: true }, bytes, at, value);
    }
    if let Some((_, op, bytes)) = EXCHANGES.iter().find(|(name, ..)| *name == word) {
        c.expect('(')?;
        let at = address(c)?;
        c.comma()?;
        let value = match op {
            Atomic::CompareExchange => {
                if dst != 0 {
                    return Err(start.fail("the result of a compare-exchange is in r0"));
                }
                same(c, 0)?;
                c.comma()?;
                reg(c)?.0
            }
            _ => reg(c)?.0,
        };
        c.expect(')')?;
        return Ok(Insn::Atomic { op: *op, bytes: *bytes, at, value });
    }
    let swap = |stem: &str| word.strip_prefix(stem).and_then(|n| n.parse().ok());
    let taken = [("bswap", true), ("be", true), ("le", false)].iter().find_map(|(stem, turned)| {
        let bits: u8 = swap(stem).filter(|b| matches!(b, 16 | 32 | 64))?;
        Some(if *turned { Taken::Swapped(bits) } else { Taken::Cut(bits) })
    });
    if let Some(taken) = taken {
        return Ok(Insn::Move { dst, part: Part::Whole, from: reg(c)?.0, taken });
    }
    let off = c.addend()?;
    if part == Part::Whole && c.eat_word("ll") {
        return Ok(Insn::Location { dst, name: word.to_string(), off });
    }
    Err(unknown(start, word))
}

/// A test and the label behind it.
fn branch(c: &mut Cursor) -> Result<Insn> {
    let (a, part) = reg(c)?;
    let start = c.clone();
    let signed = c.eat_word("s");
    let test = |op, holds, swap| Test { op, holds, swap };
    let less = if signed { BinOp::LtS } else { BinOp::LtU };
    let test = match c.take() {
        Tok::Punct('=') if !signed && c.eat('=') => test(BinOp::Eq, true, false),
        Tok::Punct('!') if !signed && c.eat('=') => test(BinOp::Eq, false, false),
        Tok::Punct('&') if !signed => test(BinOp::And, true, false),
        Tok::Punct('<') if c.eat('=') => test(less, false, true),
        Tok::Punct('<') => test(less, true, false),
        Tok::Punct('>') if c.eat('=') => test(less, false, false),
        Tok::Punct('>') => test(less, true, true),
        _ => {
            return Err(
                start.expected("`==`, `!=`, `<`, `<=`, `>`, `>=`, one with `s` before, or `&`")
            );
        }
    };
    let b = operand_of(c, part)?;
    if !c.eat_word("goto") {
        return Err(c.expected("`goto` and a label"));
    }
    Ok(Insn::Branch { test, part, a, b, label: label(c)? })
}

fn label(c: &mut Cursor) -> Result<String> {
    match c.peek() {
        Tok::Word(word) => {
            c.take();
            Ok(word.to_string())
        }
        _ => Err(c.expected("a label")),
    }
}

fn atomic(start: &Cursor, op: Atomic, bytes: u8, at: Address, value: R) -> Result<Insn> {
    if bytes < 4 {
        return Err(start.fail("a read-modify-write accesses 32 or 64 bits"));
    }
    Ok(Insn::Atomic { op, bytes, at, value })
}

/// Whether a register follows a minus.
fn negated(c: &Cursor) -> bool {
    let mut ahead = c.clone();
    ahead.take();
    matches!(ahead.peek(), Tok::Word(word) if super::register(word).is_some())
}

/// The register that must come next: operand and result are one.
fn same(c: &mut Cursor, dst: R) -> Result<()> {
    let start = c.clone();
    match reg(c)?.0 == dst {
        true => Ok(()),
        false => Err(start
            .expected(&format!("{}, the register of the result", super::NAMES[usize::from(dst)]))),
    }
}

fn reg(c: &mut Cursor) -> Result<(R, Part)> {
    match c.peek() {
        Tok::Word(word) if super::register(word).is_some() => {
            c.take();
            super::register(word).ok_or_else(|| c.expected("a register"))
        }
        _ => Err(c.expected("a register")),
    }
}

/// A register as wide as another one.
fn reg_of(c: &mut Cursor, part: Part) -> Result<R> {
    let start = c.clone();
    match reg(c)? {
        (number, is) if is == part => Ok(number),
        _ if part == Part::Low => Err(start.expected("the low half of a register, such as w1")),
        _ => Err(start.expected("a whole register, such as r1")),
    }
}

fn operand(c: &mut Cursor) -> Result<Operand> {
    Ok(if c.is_int() { Operand::Imm(c.int()?) } else { Operand::Reg(reg(c)?.0) })
}

fn operand_of(c: &mut Cursor, part: Part) -> Result<Operand> {
    Ok(if c.is_int() { Operand::Imm(c.int()?) } else { Operand::Reg(reg_of(c, part)?) })
}

/// Whether the size in `*(s32 *)` has a sign. Nothing is taken.
fn sign(c: &Cursor) -> bool {
    let mut ahead = c.clone();
    ahead.take();
    ahead.take();
    matches!(ahead.peek(), Tok::Word(word) if word.starts_with('s'))
}

/// `*(u32 *)(r1 + 0)`
fn place(c: &mut Cursor) -> Result<(u8, Address)> {
    c.expect('*')?;
    cast(c)
}

/// `(u32 *)(r1 + 0)`
fn cast(c: &mut Cursor) -> Result<(u8, Address)> {
    c.expect('(')?;
    let bytes = match c.peek() {
        Tok::Word("u8" | "s8") => 1,
        Tok::Word("u16" | "s16") => 2,
        Tok::Word("u32" | "s32") => 4,
        Tok::Word("u64") => 8,
        _ => return Err(c.expected("a size: u8, u16, u32 or u64")),
    };
    c.take();
    c.expect('*')?;
    c.expect(')')?;
    c.expect('(')?;
    let at = address(c)?;
    c.expect(')')?;
    Ok((bytes, at))
}

/// `r1 + 0`
fn address(c: &mut Cursor) -> Result<Address> {
    let base = reg_of(c, Part::Whole)?;
    let start = c.clone();
    let off = if c.is_int() { c.int()? } else { return Err(start.expected("`+` and a number")) };
    match i16::try_from(off) {
        Ok(off) => Ok(Address { base, off: off.into() }),
        Err(_) => Err(start.fail("an offset is between -32768 and 32767")),
    }
}
