//! Reads lines of LoongArch assembly as instructions, pseudo-instructions unfolded. It does not know what an
//! instruction means.

use super::insn::{Imm, Insn};
use super::regs::{self, R, RA, ZERO};
use super::table::{Does, Field, Op2, ROWS, Row};
use crate::lex::{self, Refusal};
use crate::microcode::parse_int;
use litmake_ops::BinOp;

type Read<T> = Result<T, Refusal>;

/// Pseudo-instructions: the operands of each, and its instruction.
type Pseudo = (&'static str, &'static [Field], fn(Insn) -> Insn);

const R2: &[Field] = &[Field::Rd, Field::Rj];
/// A register and a label.
const TEST: &[Field] = &[Field::Rj, Field::Far];
const COMPARE: &[Field] = &[Field::Rj, Field::Rd, Field::Near];

const fn branch(op: BinOp, holds: bool) -> Does {
    Does::Branch(op, holds)
}

/// Compares with the register 0 where the pseudo-instruction names one register only.
fn does(insn: Insn, does: Does) -> Insn {
    Insn { does, ..insn }
}

/// The operands of a comparison the other way round.
fn turned(insn: Insn) -> Insn {
    Insn { rj: insn.rd, rd: insn.rj, ..insn }
}

const PSEUDO: &[Pseudo] = &[
    ("nop", &[], |i| does(i, Does::Nothing)),
    ("ud", &[Field::Unsigned(0, 5)], |i| does(i, Does::Trap)),
    ("ret", &[], |i| Insn { rj: RA, ..does(i, Does::JumpRegister) }),
    ("jr", &[Field::Rj], |i| does(i, Does::JumpRegister)),
    ("move", R2, |i| Insn { rk: Some(ZERO), ..does(i, Does::Op2(Op2::Bin(BinOp::Or), 64)) }),
    ("bltz", TEST, |i| does(i, branch(BinOp::LtS, true))),
    ("bgez", TEST, |i| does(i, branch(BinOp::LtS, false))),
    ("bgtz", TEST, |i| turned(does(i, branch(BinOp::LtS, true)))),
    ("blez", TEST, |i| turned(does(i, branch(BinOp::LtS, false)))),
    ("bgt", COMPARE, |i| turned(does(i, branch(BinOp::LtS, true)))),
    ("ble", COMPARE, |i| turned(does(i, branch(BinOp::LtS, false)))),
    ("bgtu", COMPARE, |i| turned(does(i, branch(BinOp::LtU, true)))),
    ("bleu", COMPARE, |i| turned(does(i, branch(BinOp::LtU, false)))),
];

/// Instructions that put a constant, or the address of a location, into a register.
const CONSTANTS: &[&str] = &["li.w", "li.d"];
const ADDRESSES: &[&str] = &["la", "la.local", "la.global", "la.pcrel", "la.got", "la.abs"];

/// Reads one line's text; nothing where there is no instruction.
pub fn line(text: &str) -> Read<Option<Insn>> {
    let Some((name, args)) = lex::statement(text) else { return Ok(None) };
    Words { name: &name, args: &args, at: 0 }.insn().map(Some)
}

struct Words<'a> {
    name: &'a str,
    args: &'a [&'a str],
    /// The number of the operand that is read next.
    at: usize,
}

impl<'a> Words<'a> {
    fn insn(mut self) -> Read<Insn> {
        let name = self.name;
        if CONSTANTS.contains(&name) {
            let rd = self.reg()?;
            let imm = Imm::Int(self.int()?);
            self.end("a register and a constant")?;
            // Adding to the register 0.
            return Ok(Insn { rd, imm, ..Insn::new(Does::Op2(Op2::Bin(BinOp::Add), 64)) });
        }
        if ADDRESSES.contains(&name) {
            let rd = self.reg()?;
            let (symbol, off) = lex::location(self.next(), is_name)?;
            self.end("a register and a location")?;
            return Ok(Insn { rd, imm: Imm::Upper(symbol, off), ..Insn::new(Does::Relative) });
        }
        if let Some((_, fields, made)) = PSEUDO.iter().find(|(pseudo, ..)| *pseudo == name) {
            let insn = self.operands(fields, Insn::new(Does::Nothing))?;
            return Ok(made(insn));
        }
        let Some(row) = ROWS.iter().find(|row| row.name == name) else {
            return Err(unknown(name));
        };
        let insn = self.operands(row.fields, Insn::new(row.does))?;
        self.checked(row, insn)
    }

    /// Refuses operands that no machine has.
    fn checked(&self, row: &Row, insn: Insn) -> Read<Insn> {
        match (row.does, &insn.imm) {
            (Does::Insert(bits) | Does::Extract(bits), Imm::Int(high))
                if *high < i64::from(insn.low) || *high >= i64::from(bits) =>
            {
                Err(format!(
                    "`{}` takes the highest bit and then the lowest, below {bits}",
                    self.name
                )
                .into())
            }
            (Does::Relative, Imm::Int(_)) => {
                let what = format!("`{}` with a number has no meaning in a litmus test", self.name);
                Err(Refusal::new(what).help("name a location, as in la.local $a0,x"))
            }
            (_, Imm::Int(_)) | (Does::Relative, Imm::Upper(..)) | (Does::Load(..), _) => Ok(insn),
            (Does::Store(_) | Does::Op2(Op2::Bin(BinOp::Add), 64), Imm::Lower) => Ok(insn),
            _ => Err(format!("`{}` takes no such part of an address", self.name).into()),
        }
    }

    fn operands(&mut self, fields: &[Field], mut insn: Insn) -> Read<Insn> {
        let mut bits = 0;
        for field in fields {
            match field {
                Field::Rd => insn.rd = self.reg()?,
                Field::Rj => insn.rj = self.reg()?,
                Field::Rk => insn.rk = Some(self.reg()?),
                Field::Fd | Field::Vd => insn.rd = self.vector()?,
                Field::Fj | Field::Vj => insn.rj = self.vector()?,
                Field::Unsigned(..) if bits == 1 => {
                    let low = self.int()?;
                    insn.low = u8::try_from(low).map_err(|_| format!("`{low}` is no bit"))?;
                }
                Field::Unsigned(..) | Field::Count => {
                    insn.imm = Imm::Int(self.int()?);
                    bits += 1;
                }
                Field::Signed(..) => insn.imm = self.constant()?,
                Field::Mem12 | Field::Mem14 | Field::Place => {
                    insn.rj = self.reg()?;
                    insn.imm = self.constant()?;
                }
                Field::Mem8 => {
                    insn.rj = self.reg()?;
                    insn.imm = self.constant()?;
                    // The number behind it is no offset.
                    bits = 1;
                }
                Field::Indexed => {
                    insn.rj = self.reg()?;
                    insn.rk = Some(self.reg()?);
                }
                Field::Base => {
                    insn.rj = self.reg()?;
                    let zero = self.args.get(self.at).is_some_and(|a| parse_int(a) == Some(0));
                    self.at += usize::from(zero);
                }
                Field::Near | Field::Far | Field::Farthest => insn.target = self.label()?,
            }
        }
        self.end(&written(fields))?;
        Ok(insn)
    }

    fn next(&mut self) -> &'a str {
        self.at += 1;
        self.args.get(self.at - 1).copied().unwrap_or("")
    }

    fn end(&self, what: &str) -> Read<()> {
        match self.at == self.args.len() {
            true => Ok(()),
            false => Err(format!("`{}` takes {what}", self.name).into()),
        }
    }

    fn reg(&mut self) -> Read<R> {
        let text = self.next();
        regs::number(text).ok_or_else(|| {
            format!("`{text}` is no register: $r0 to $r31, or a name such as $a0, is expected")
                .into()
        })
    }

    fn vector(&mut self) -> Read<R> {
        let text = self.next();
        regs::vector(text)
            .ok_or_else(|| format!("`{text}` is no register such as $f0, $fa0 or $vr0").into())
    }

    fn int(&mut self) -> Read<i64> {
        lex::constant(self.next())
    }

    /// A number, or a part of the address of a location, such as `%pc_lo12(x)`.
    fn constant(&mut self) -> Read<Imm> {
        let text = self.args.get(self.at).copied().unwrap_or("");
        let Some((part, inner)) = text.strip_prefix('%').and_then(|t| t.split_once('(')) else {
            return self.int().map(Imm::Int);
        };
        self.at += 1;
        let inner = inner.strip_suffix(')').unwrap_or(inner);
        match part {
            "pc_hi20" | "got_pc_hi20" => {
                let (name, off) = lex::location(inner, is_name)?;
                Ok(Imm::Upper(name, off))
            }
            "pc_lo12" => Ok(Imm::Lower),
            "got_pc_lo12" => Ok(Imm::Entry),
            other => Err(format!("`%{other}` addresses are not supported").into()),
        }
    }

    fn label(&mut self) -> Read<String> {
        let text = self.next();
        let inner = text.strip_prefix("%plt(").and_then(|t| t.strip_suffix(')'));
        let text = inner.unwrap_or(text);
        match is_name(text) {
            true => Ok(text.to_string()),
            false => Err(format!("`{text}` is no label").into()),
        }
    }
}

/// The operands in words, for people.
fn written(fields: &[Field]) -> String {
    let words = fields.iter().map(|field| match field {
        Field::Rd | Field::Rj | Field::Rk => "a register",
        Field::Fd | Field::Fj | Field::Vd | Field::Vj => "a register of floating point or vectors",
        Field::Unsigned(..) | Field::Signed(..) | Field::Count => "a number",
        Field::Mem8 | Field::Mem12 | Field::Mem14 | Field::Place => "a base register and an offset",
        Field::Indexed => "a base register and an index register",
        Field::Base => "a base register",
        Field::Near | Field::Far | Field::Farthest => "a label",
    });
    match words.collect::<Vec<_>>() {
        words if words.is_empty() => "no operands".to_string(),
        words => words.join(", "),
    }
}

fn unknown(name: &str) -> Refusal {
    let pseudo = PSEUDO.iter().map(|(name, ..)| *name);
    let names = ROWS.iter().map(|row| row.name).chain(pseudo);
    let known = names.chain(CONSTANTS.iter().chain(ADDRESSES).copied());
    Refusal::unknown("LoongArch", name, known)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/'))
}
