//! Reads lines of RISC-V assembly as instructions, pseudo-instructions unfolded. It does not
//! know what an instruction means.

use super::float::{self, Float};
use super::insn::{Address, Amo, Imm, Insn, Op2, Operand, Order, RA, X};
use super::regs;
use super::table::{self, Shape};
use crate::lex::{self, Refusal};
use crate::microcode::parse_int;
use litmake_ops::{BinOp, Tags, tag};

type Read<T> = Result<T, Refusal>;

/// Reads one line's text; `is_got` says whether a label is at an `auipc` of an offset-table
/// entry.
pub fn line(text: &str, is_got: &dyn Fn(&str) -> bool) -> Read<Option<Insn>> {
    let Some((name, args)) = lex::statement(text) else { return Ok(None) };
    Words { args, is_got, name: &name }.insn().map(Some)
}

/// Whether a line takes an address out of the offset table: what the later `ld` with
/// `%pcrel_lo` reads there is the address itself.
pub fn is_got(text: &str) -> bool {
    text.contains("%got_pcrel_hi(")
}

struct Words<'a> {
    name: &'a str,
    args: Vec<&'a str>,
    is_got: &'a dyn Fn(&str) -> bool,
}

/// An offset as written before a base register.
enum Offset {
    Bytes(i64),
    /// `%lo(x)`: the whole address is in the base already.
    Nothing,
    /// `%pcrel_lo(label)` where the label is at an offset-table entry.
    Got,
}

impl Words<'_> {
    fn insn(&self) -> Read<Insn> {
        let (stem, order) = table::order(self.name);
        let Some(shape) = table::look_up(stem) else {
            return Err(self.unknown());
        };
        if order != Order::default() && !shape.takes_order() {
            return Err(self.unknown());
        }
        match shape {
            Shape::Plain(insn) => {
                self.expect(0, "no operands")?;
                Ok(insn)
            }
            Shape::Li => {
                self.expect(2, "a register and a constant")?;
                let rd = self.reg(0)?;
                let value = Imm::Int(self.int(1)?);
                Ok(Insn::Const { rd, value })
            }
            Shape::La => {
                self.expect(2, "a register and a location")?;
                let rd = self.reg(0)?;
                let (name, off) = self.symbol(1)?;
                let value = Imm::Symbol(name, off);
                Ok(Insn::Const { rd, value })
            }
            Shape::Lui { relative } => self.lui(relative),
            Shape::Op2 { op, word } => self.op2(op, word),
            Shape::Op1 { op, word } => {
                self.expect(2, "two registers")?;
                let (rd, a) = (self.reg(0)?, self.reg(1)?);
                Ok(Insn::Op1 { op, word, rd, a })
            }
            Shape::Mv => {
                self.expect(2, "two registers")?;
                let (rd, a) = (self.reg(0)?, self.reg(1)?);
                Ok(Insn::Copy { rd, a })
            }
            Shape::Pseudo2 { op, word, swap, other } => {
                self.expect(2, "two registers")?;
                let (rd, r) = (self.reg(0)?, self.reg(1)?);
                // The missing operand is x0 or a constant.
                let (a, b) = match (swap, other) {
                    (true, _) => (0, Operand::Reg(r)),
                    (false, 0) => (r, Operand::Reg(0)),
                    (false, n) => (r, Operand::Imm(n)),
                };
                Ok(Insn::Op2 { op, word, rd, a, b })
            }
            Shape::Greater { op } => {
                self.expect(3, "three registers")?;
                let (rd, a, b) = (self.reg(0)?, self.reg(1)?, self.reg(2)?);
                Ok(Insn::Op2 { op: Op2::Bin(op), word: false, rd, a: b, b: Operand::Reg(a) })
            }
            Shape::Load { bytes, signed } => self.load(bytes, signed, order),
            Shape::Store { bytes } => self.store(bytes, order),
            Shape::Lr { bytes } => {
                self.expect(2, "a register and an address")?;
                let (rd, addr) = (self.reg(0)?, self.bare_address(1)?);
                Ok(Insn::LoadReserved { bytes, order, rd, addr })
            }
            Shape::Sc { bytes } => {
                self.expect(3, "two registers and an address")?;
                let (rd, value) = (self.reg(0)?, self.reg(1)?);
                let addr = self.bare_address(2)?;
                Ok(Insn::StoreConditional { bytes, order, rd, value, addr })
            }
            Shape::Amo { op, bytes } => self.amo(op, bytes, order),
            Shape::Fence => self.fence(),
            Shape::Branch { op, holds, swap } => {
                self.expect(3, "two registers and a label")?;
                let (a, b) = (self.reg(0)?, self.reg(1)?);
                let (a, b) = if swap { (b, a) } else { (a, b) };
                let target = self.label(2)?;
                Ok(Insn::Branch { op, holds, a, b, target })
            }
            Shape::BranchZero { op, holds, swap } => {
                self.expect(2, "a register and a label")?;
                let a = self.reg(0)?;
                let (a, b) = if swap { (0, a) } else { (a, 0) };
                let target = self.label(1)?;
                Ok(Insn::Branch { op, holds, a, b, target })
            }
            Shape::Jump { link } => self.jump(link),
            Shape::Float(shape) => self.float(shape),
            Shape::Jr => {
                self.expect(1, "a register")?;
                let (base, off) = self.jump_address(0)?;
                Ok(Insn::JumpReg { rd: 0, base, off })
            }
            Shape::Jalr => self.jalr(),
        }
    }

    fn jump(&self, link: bool) -> Read<Insn> {
        let rd = match self.args.len() {
            2 if link => self.reg(0)?,
            1 if link => RA,
            _ => {
                self.expect(1, "a label")?;
                0
            }
        };
        let target = self.label(self.args.len() - 1)?;
        Ok(Insn::Jump { rd, target })
    }

    fn jalr(&self) -> Read<Insn> {
        let (rd, at) = match self.args.len() {
            1 => (RA, 0),
            2 => (self.reg(0)?, 1),
            3 => {
                let (rd, base) = (self.reg(0)?, self.reg(1)?);
                let off = self.int(2)?;
                return Ok(Insn::JumpReg { rd, base, off });
            }
            _ => return Err(self.operands("a register")),
        };
        let (base, off) = self.jump_address(at)?;
        Ok(Insn::JumpReg { rd, base, off })
    }

    fn unknown(&self) -> Refusal {
        let (stem, order) = table::order(self.name);
        let names: Vec<String> = table::names().collect();
        let known = names.iter().map(String::as_str);
        let refusal = Refusal::unknown("RISC-V", self.name, known);
        if order != Order::default() && table::look_up(stem).is_some() {
            return refusal.help(format!("`{stem}` takes no ordering annotation"));
        }
        refusal
    }

    // Operands.

    fn expect(&self, count: usize, what: &str) -> Read<()> {
        if self.args.len() == count { Ok(()) } else { Err(self.operands(what)) }
    }

    fn operands(&self, what: &str) -> Refusal {
        format!("`{}` takes {what}", self.name).into()
    }

    fn reg(&self, at: usize) -> Read<X> {
        let text = self.args.get(at).copied().unwrap_or("");
        regs::number(text).ok_or_else(|| {
            format!("`{text}` is no register: x0 to x31, or an ABI name such as a0, is expected")
                .into()
        })
    }

    fn int(&self, at: usize) -> Read<i64> {
        let text = self.args.get(at).copied().unwrap_or("");
        lex::constant(text)
    }

    /// A name with an optional offset.
    fn symbol(&self, at: usize) -> Read<(String, i64)> {
        lex::location(self.args.get(at).copied().unwrap_or(""), is_name)
    }

    fn label(&self, at: usize) -> Read<String> {
        let text = self.args.get(at).copied().unwrap_or("");
        let text = text.strip_suffix("@plt").or(text.strip_suffix("@PLT")).unwrap_or(text);
        if is_name(text) {
            Ok(text.to_string())
        } else {
            Err(format!("`{text}` is no label").into())
        }
    }

    /// `%hi(x)` and its like: the relocation and what is in it.
    fn relocation<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let (name, inner) = text.strip_prefix('%')?.split_once('(')?;
        Some((name, inner.strip_suffix(')')?))
    }

    fn offset(&self, text: &str) -> Read<Offset> {
        if text.is_empty() {
            return Ok(Offset::Bytes(0));
        }
        if let Some(n) = parse_int(text).and_then(|n| i64::try_from(n).ok()) {
            return Ok(Offset::Bytes(n));
        }
        match self.relocation(text) {
            Some(("lo", _)) => Ok(Offset::Nothing),
            Some(("pcrel_lo", label)) if (self.is_got)(label.trim()) => Ok(Offset::Got),
            Some(("pcrel_lo", _)) => Ok(Offset::Nothing),
            _ => Err(format!("`{text}` is no offset").into()),
        }
    }

    /// `off(reg)`.
    fn based<'a>(&self, text: &'a str) -> Option<(&'a str, X)> {
        let open = text.rfind('(')?;
        let reg = regs::number(text[open + 1..].strip_suffix(')')?.trim())?;
        Some((text[..open].trim(), reg))
    }

    /// An address without an offset, as atomics take it.
    fn bare_address(&self, at: usize) -> Read<X> {
        let text = self.args.get(at).copied().unwrap_or("");
        match self.based(text) {
            Some((off, reg)) if off.is_empty() || parse_int(off) == Some(0) => Ok(reg),
            Some((off, _)) => {
                Err(format!("`{}` takes an address without an offset, not {off}", self.name).into())
            }
            None => Err(format!("`{text}` is no address such as (a0)").into()),
        }
    }

    fn jump_address(&self, at: usize) -> Read<(X, i64)> {
        let text = self.args.get(at).copied().unwrap_or("");
        match self.based(text) {
            Some((off, reg)) => match self.offset(off)? {
                Offset::Bytes(n) => Ok((reg, n)),
                _ => Ok((reg, 0)),
            },
            None => Ok((self.reg(at)?, 0)),
        }
    }

    // Shapes with more than one spelling.

    fn lui(&self, relative: bool) -> Read<Insn> {
        self.expect(2, "a register and %hi(location) or a constant")?;
        let rd = self.reg(0)?;
        let text = self.args[1];
        let value = match self.relocation(text) {
            Some(("hi" | "pcrel_hi" | "got_pcrel_hi", inner)) => {
                let (name, off) = lex::location(inner.trim(), is_name)?;
                Imm::Symbol(name, off)
            }
            Some((other, _)) => {
                return Err(format!("`%{other}` addresses are not supported").into());
            }
            None if relative => {
                let message = format!("`auipc` with `{text}` has no meaning in a litmus test");
                let help = "name a location, as in %pcrel_hi(x), or use `la`";
                return Err(Refusal::new(message).help(help));
            }
            None => {
                let n = self.int(1)?;
                Imm::Int(i64::from((n as i32).wrapping_shl(12)))
            }
        };
        Ok(Insn::Const { rd, value })
    }

    fn op2(&self, op: Op2, word: bool) -> Read<Insn> {
        self.expect(3, "three operands, the last a register or a constant")?;
        let (rd, a) = (self.reg(0)?, self.reg(1)?);
        let text = self.args[2];
        if let Some(b) = regs::number(text) {
            if self.name.ends_with('i') || self.name.ends_with("iw") || self.name == "sltiu" {
                return Err(format!("`{}` takes a constant, not `{text}`", self.name).into());
            }
            return Ok(op2(op, word, rd, a, Operand::Reg(b)));
        }
        match self.offset(text) {
            Ok(Offset::Bytes(n)) => Ok(op2(op, word, rd, a, Operand::Imm(n))),
            Ok(_) if op == Op2::Bin(BinOp::Add) => Ok(Insn::Copy { rd, a }),
            _ => Err(format!("`{text}` is no register and no constant").into()),
        }
    }

    fn freg(&self, at: usize) -> Read<X> {
        let text = self.args.get(at).copied().unwrap_or("");
        regs::float(text).ok_or_else(|| {
            format!("`{text}` is no floating-point register: f0 to f31, or an ABI name such as fa0, is expected")
                .into()
        })
    }

    /// `off(reg)`, or a location, as the second operand.
    fn address(&self) -> Read<Address> {
        let text = self.args[1];
        match self.based(text) {
            Some((off, base)) => match self.offset(off)? {
                Offset::Bytes(n) => Ok(Address::Base(base, n)),
                _ => Ok(Address::Base(base, 0)),
            },
            None => {
                let (name, off) = self.plain_symbol(text)?;
                Ok(Address::Symbol(name, off))
            }
        }
    }

    fn float(&self, shape: float::Shape) -> Read<Insn> {
        use float::Shape;
        let (sources, what) = match shape {
            Shape::Load(bits) | Shape::Store(bits) => {
                self.expect(2, "a floating-point register and an address such as 0(a0)")?;
                let (addr, rd) = (self.address()?, self.freg(0)?);
                return Ok(Insn::Float(match shape {
                    Shape::Load(_) => Float::Load { bits, rd, addr },
                    _ => Float::Store { bits, value: rd, addr },
                }));
            }
            Shape::Sign(..) | Shape::Arith(..) | Shape::Compare(..) => (2, "three registers"),
            _ => (1, "two registers"),
        };
        let mode = self.args.get(1 + sources).map(|m| m.to_ascii_lowercase());
        if self.args.len() < 1 + sources || self.args.len() > 2 + sources {
            return Err(self.operands(what));
        }
        if !float::rounds_as(shape, mode.as_deref()) {
            let message = match mode {
                Some(mode) => {
                    format!("`{}` with the rounding `{mode}` is not supported", self.name)
                }
                None => format!("`{}` is supported with the rounding `rtz` alone", self.name),
            };
            return Err(message.into());
        }
        let rd = match shape {
            Shape::ToX(_) | Shape::Compare(..) | Shape::ToInt { .. } => self.reg(0)?,
            _ => self.freg(0)?,
        };
        let a = match shape {
            Shape::FromX(_) | Shape::FromInt { .. } => self.reg(1)?,
            _ => self.freg(1)?,
        };
        let b = if sources == 2 { self.freg(2)? } else { a };
        Ok(Insn::Float(Float::Op { shape, rd, a, b }))
    }

    fn load(&self, bytes: u8, signed: bool, order: Order) -> Read<Insn> {
        self.expect(2, "a register and an address such as 0(a0)")?;
        let rd = self.reg(0)?;
        if let Some((off, a)) = self.based(self.args[1])
            && let Offset::Got = self.offset(off)?
        {
            return Ok(Insn::Copy { rd, a });
        }
        let addr = self.address()?;
        Ok(Insn::Load { bytes, signed, order, rd, addr })
    }

    fn store(&self, bytes: u8, order: Order) -> Read<Insn> {
        // `sw a0, x, t0` says which register may hold the address meanwhile.
        if self.args.len() != 3 {
            self.expect(2, "a register and an address such as 0(a0)")?;
        }
        let value = self.reg(0)?;
        let addr = self.address()?;
        Ok(Insn::Store { bytes, order, value, addr })
    }

    /// A location as an address, where a number or a register is a mistake.
    fn plain_symbol(&self, text: &str) -> Read<(String, i64)> {
        if regs::number(text).is_some() {
            return Err(format!("`{text}` is no address; write 0({text})").into());
        }
        lex::location(text, is_name)
            .map_err(|_| format!("`{text}` is no address such as 0(a0)").into())
    }

    fn amo(&self, op: Option<Amo>, bytes: u8, order: Order) -> Read<Insn> {
        self.expect(3, "two registers and an address such as (a0)")?;
        let (rd, value) = (self.reg(0)?, self.reg(1)?);
        let addr = self.bare_address(2)?;
        let Some(op) = op else {
            if bytes == 16 && (rd % 2 == 1 || value % 2 == 1) {
                let message = format!("`{}` takes pairs, which even registers name", self.name);
                let help = "the odd register after each is its pair's upper half";
                return Err(Refusal::new(message).help(help));
            }
            return Ok(Insn::Cas { bytes, order, rd, value, addr });
        };
        Ok(Insn::Amo { op, bytes, order, rd, value, addr })
    }

    fn fence(&self) -> Read<Insn> {
        let sets = match self.args.as_slice() {
            [] => ((true, true), (true, true)),
            [pred, succ] => (self.access_set(pred)?, self.access_set(succ)?),
            _ => return Err(self.operands("two sets of accesses, such as rw,w")),
        };
        Ok(match fence_tags(sets.0, sets.1) {
            Some(tags) => Insn::Fence(tags),
            None => Insn::Nop,
        })
    }

    /// Whether a set such as `iorw` holds reads and writes of memory; devices are none here.
    fn access_set(&self, text: &str) -> Read<(bool, bool)> {
        let lower = text.to_ascii_lowercase();
        let ok = !lower.is_empty() && lower.bytes().all(|b| b"iorw".contains(&b));
        if !ok && lower != "0" {
            let refusal = Refusal::new(format!("`{text}` is no set of accesses"));
            return Err(refusal.help("a set is written with letters of `iorw`, as in fence rw,w"));
        }
        Ok((lower.contains('r'), lower.contains('w')))
    }
}

/// The fence between such sets, where it orders memory at all.
pub fn fence_tags(pred: (bool, bool), succ: (bool, bool)) -> Option<Tags> {
    let which = |set| match set {
        (true, false) => Some(0),
        (false, true) => Some(1),
        (true, true) => Some(2),
        (false, false) => None,
    };
    let table = [
        [tag::Fence_r_r, tag::Fence_r_w, tag::Fence_r_rw],
        [tag::Fence_w_r, tag::Fence_w_w, tag::Fence_w_rw],
        [tag::Fence_rw_r, tag::Fence_rw_w, tag::Fence_rw_rw],
    ];
    let (pred, succ): (usize, usize) = (which(pred)?, which(succ)?);
    Some(table[pred][succ])
}

/// An operation on registers; adding nothing is a copy.
fn op2(op: Op2, word: bool, rd: X, a: X, b: Operand) -> Insn {
    match (op, &b) {
        (Op2::Bin(BinOp::Add), Operand::Imm(0)) if !word => Insn::Copy { rd, a },
        (Op2::Bin(BinOp::Add), Operand::Imm(0)) => {
            Insn::Op1 { op: table::sign_extended_word, word: false, rd, a }
        }
        _ => Insn::Op2 { op, word, rd, a, b },
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'/'))
}
