//! The meaning of each instruction as micro-ops.
//!
//! A register holds a value of 64 bits: a signed one extended by its sign, another by zeros. An atomic
//! operation reads and then writes; one that leaves the memory as it is (a compare-exchange that fails)
//! is no write operation, as PTX says. It does not know the other instructions of the thread.

use std::collections::HashMap;

use super::access::{self, Access, Of};
use super::lex::{Base, Guard, Insn, Operand};
use super::types::{Kind, Type};
use crate::microcode::{Emit, Labels, mask};
use litmake_litmus::{self as litmus, Symbols};
use litmake_ops::{BinOp, Code, Label, Op, Port, Temp, UnOp, Val, tag};

type Read<T> = Result<T, String>;

const U32: Type = Type { kind: Kind::Unsigned, bits: 32 };

/// Special registers, by the beginnings of their names.
const SPECIAL: &[&str] = &[
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "clusterid",
    "nclusterid",
    "cluster_",
    "lanemask_",
    "clock",
    "pm",
    "envreg",
    "globaltimer",
    "dynamic_smem",
    "total_smem",
    "aggr_smem",
    "is_explicit",
    "reserved_smem",
    "current_graph",
];

/// The most barriers that a group of threads has.
const BARRIERS: i128 = 16;

pub(super) struct Lower<'a> {
    e: Emit,
    at: usize,
    /// The label that is behind the last instruction.
    end: Label,
    labels: &'a Labels<'a>,
    /// The variables that the thread has to itself.
    own: &'a HashMap<&'a str, litmus::Type>,
    code: &'a mut Code,
    symbols: &'a mut dyn Symbols,
}

impl<'a> Lower<'a> {
    pub(super) fn new(
        at: usize,
        lines: usize,
        labels: &'a Labels<'a>,
        own: &'a HashMap<&'a str, litmus::Type>,
        code: &'a mut Code,
        symbols: &'a mut dyn Symbols,
    ) -> Lower<'a> {
        Lower { e: Emit::new(), at, end: lines as Label, labels, own, code, symbols }
    }

    pub(super) fn instruction(mut self, insn: &Insn) -> Read<Vec<Op>> {
        let guard = match insn.guard {
            Some(guard) => Some(self.guard(guard)?),
            None => None,
        };
        if let Some(target) = self.target(insn)? {
            self.e.op(match guard {
                Some(cond) => Op::Branch { cond, target },
                None => Op::Jump { target },
            });
            return Ok(self.e.finish());
        }
        match guard {
            None => self.plain(insn)?,
            Some(cond) => {
                let outer = self.e.begin();
                self.plain(insn)?;
                let yes = self.e.end(outer);
                self.e.op(Op::If { cond, yes, no: Vec::new() });
            }
        }
        Ok(self.e.finish())
    }

    fn guard(&mut self, guard: Guard) -> Read<Temp> {
        let value = self.register(guard.register)?;
        Ok(if guard.negated { self.e.un(UnOp::IsZero, value, 1) } else { value })
    }

    /// The target of an instruction that only jumps.
    fn target(&mut self, insn: &Insn) -> Read<Option<Label>> {
        match (insn.name, &insn.mods[..]) {
            ("ret", [] | ["uni"]) | ("exit", []) => Ok(Some(self.end)),
            ("bra", [] | ["uni"]) => match insn.operands[..] {
                [Operand::Name(name, 0)] => match self.labels.find(name, self.at) {
                    Some(label) => Ok(Some(label)),
                    None => Err(format!("there is no label `{name}` in this thread")),
                },
                _ => Err("expected a label".into()),
            },
            _ => Ok(None),
        }
    }

    fn plain(&mut self, insn: &Insn) -> Read<()> {
        let (mods, operands) = (&insn.mods[..], &insn.operands[..]);
        match insn.name {
            "ld" => self.load(mods, operands),
            "st" => self.store(mods, operands),
            "atom" => self.atomic(Of::Atomic, mods, operands),
            "red" => self.atomic(Of::Reduction, mods, operands),
            "fence" | "membar" => {
                let tags = access::fence(insn.name, mods)?;
                self.none(operands)?;
                self.e.op(Op::Fence { tags });
                Ok(())
            }
            "bar" | "barrier" => self.barrier(insn.name, mods, operands),
            "mov" => self.mov(mods, operands),
            "cvta" => match (mods, operands) {
                (["to", _, ty] | [_, ty], [dst, src]) => {
                    let ty = typed(ty)?;
                    let value = self.value(src, ty)?;
                    self.put(dst, value, ty)
                }
                _ => Err("expected a register and an address".into()),
            },
            "cvt" => self.convert(mods, operands),
            "setp" => self.setp(mods, operands),
            "selp" => match (mods, operands) {
                ([ty], [dst, yes, no, Operand::Reg(cond)]) => {
                    let ty = typed(ty)?;
                    let (yes, no) = (self.value(yes, ty)?, self.value(no, ty)?);
                    let cond = self.register(cond)?;
                    let value = self.e.select(cond, yes, no);
                    self.put(dst, value, ty)
                }
                _ => Err("expected a register, two values and a predicate".into()),
            },
            "trap" => {
                // The kernel is ended, so that there is no final state.
                let never = self.e.int(0);
                self.e.op(Op::Assume { cond: never });
                Ok(())
            }
            // Time passes.
            "nanosleep" => Ok(()),
            "call" => {
                Err("unsupported: a call; only code of a module, which is lifted, has functions"
                    .into())
            }
            _ => self.compute(insn),
        }
    }

    fn none(&self, operands: &[Operand]) -> Read<()> {
        match operands {
            [] => Ok(()),
            _ => Err("expected no operands".into()),
        }
    }

    fn register(&mut self, name: &str) -> Read<Temp> {
        self.not_special(name)?;
        let reg = self.code.reg(name, 64, true);
        Ok(self.e.read(reg, Port::None))
    }

    fn not_special(&self, name: &str) -> Read<()> {
        let special = SPECIAL.iter().any(|s| {
            name.strip_prefix(s).is_some_and(|rest| {
                s.ends_with('_') || !rest.starts_with(|c: char| c.is_ascii_alphabetic())
            })
        });
        match special || name.contains('.') {
            true => Err(format!("unsupported: the special register `%{name}`")),
            false => Ok(()),
        }
    }

    /// An operand within the width of a type, without its sign.
    fn value(&mut self, operand: &Operand, ty: Type) -> Read<Temp> {
        match operand {
            Operand::Reg(name) => {
                let value = self.register(name)?;
                Ok(match ty.bits {
                    64 => value,
                    bits => self.e.un(UnOp::ZeroExt { from: bits }, value, 64),
                })
            }
            Operand::Not(name) if ty.kind == Kind::Pred => {
                let value = self.register(name)?;
                Ok(self.e.un(UnOp::IsZero, value, 1))
            }
            Operand::Int(n) => Ok(self.e.int(*n as u128 & mask(ty.bits))),
            Operand::Name(name, off)
                if ty.bits >= 32 && self.labels.find(name, self.at).is_none() =>
            {
                let loc = self.location(name);
                Ok(self.e.val(Val::Ptr { loc, off: *off }))
            }
            _ => Err(format!("expected a value of {} bits", ty.bits)),
        }
    }

    /// An operand extended to 64 bits: by its sign if its type has one, else by zeros.
    fn extended(&mut self, operand: &Operand, ty: Type) -> Read<Temp> {
        let value = self.value(operand, ty)?;
        Ok(self.signed(value, ty))
    }

    fn signed(&mut self, value: Temp, ty: Type) -> Temp {
        match ty.is_signed() && ty.bits < 64 {
            true => self.e.un(UnOp::SignExt { from: ty.bits }, value, 64),
            false => value,
        }
    }

    /// Writes a value of a type, of which more bits may be set than the type has.
    fn put(&mut self, dst: &Operand, value: Temp, ty: Type) -> Read<()> {
        let name = match dst {
            Operand::Reg(name) => *name,
            Operand::Sink => return Ok(()),
            _ => return Err("expected a register as the first operand".into()),
        };
        self.not_special(name)?;
        let value = match ty.bits {
            64 => value,
            bits if ty.is_signed() => self.e.un(UnOp::SignExt { from: bits }, value, 64),
            bits => self.e.un(UnOp::ZeroExt { from: bits }, value, 64),
        };
        let reg = self.code.reg(name, 64, true);
        self.e.write(reg, value);
        Ok(())
    }

    fn location(&mut self, name: &str) -> u16 {
        match self.own.get(name) {
            Some(ty) => self.symbols.own(name, ty),
            None => self.symbols.location(name),
        }
    }

    fn address(&mut self, operand: &Operand) -> Read<Temp> {
        match operand {
            Operand::Memory(Base::Name(name), off) => {
                let loc = self.location(name);
                Ok(self.e.val(Val::Ptr { loc, off: *off }))
            }
            Operand::Memory(Base::Reg(name), off) => {
                self.not_special(name)?;
                let reg = self.code.reg(name, 64, true);
                let base = self.e.read(reg, Port::Addr);
                Ok(match off {
                    0 => base,
                    off => {
                        let off = self.e.signed((*off).into(), 64);
                        self.e.bin(BinOp::Add, base, off, 64)
                    }
                })
            }
            _ => Err("expected an address in brackets".into()),
        }
    }

    fn load(&mut self, mods: &[&str], operands: &[Operand]) -> Read<()> {
        let access = Access::read(Of::Load, mods)?;
        let ty = access.ty()?;
        let [dst, from] = operands else {
            return Err("expected a register and an address".into());
        };
        // The address may be in a register that is loaded.
        let mut values = Vec::new();
        for (part, at) in elements(access.parts(), dst, from, ty)? {
            let address = self.address(&at)?;
            values.push((part, self.e.load(address, ty.bytes(), access.tags(Of::Load).0)));
        }
        values.into_iter().try_for_each(|(part, value)| self.put(part, value, ty))
    }

    fn store(&mut self, mods: &[&str], operands: &[Operand]) -> Read<()> {
        let access = Access::read(Of::Store, mods)?;
        let ty = access.ty()?;
        let [to, value] = operands else {
            return Err("expected an address and a value".into());
        };
        for (part, at) in elements(access.parts(), value, to, ty)? {
            let address = self.address(&at)?;
            let value = self.value(part, ty)?;
            self.e.store(address, value, ty.bytes(), access.tags(Of::Store).1);
        }
        Ok(())
    }

    fn atomic(&mut self, of: Of, mods: &[&str], operands: &[Operand]) -> Read<()> {
        let access = Access::read(of, mods)?;
        let (ty, operation) = (access.ty()?, access.operation.unwrap_or(""));
        if matches!(mods.last(), Some(&"f32" | &"f64")) && !matches!(operation, "exch" | "cas") {
            return Err("unsupported: atomic operations on floating-point numbers".into());
        }
        let (dst, rest) = match (of, operands) {
            (Of::Atomic, [dst, rest @ ..]) => (dst, rest),
            (_, rest) => (&Operand::Sink, rest),
        };
        let swaps = matches!(operation, "cas" | "exch");
        if of == Of::Reduction && swaps {
            return Err(format!("unsupported: `.{operation}` without a result"));
        }
        let (to, values) = match rest {
            [to, one] if operation != "cas" => (to, [Some(one), None]),
            [to, one, two] if operation == "cas" => (to, [Some(one), Some(two)]),
            _ => return Err("expected an address and the operands of the operation".into()),
        };
        let address = self.address(to)?;
        let operand = |lower: &mut Self, i: usize| match values[i] {
            Some(operand) => lower.value(operand, ty),
            None => Err("expected one more operand".to_string()),
        };
        let first = operand(self, 0)?;
        let (read, write) = access.tags(of);
        let old = self.e.load(address, ty.bytes(), read);
        if operation == "cas" {
            let new = operand(self, 1)?;
            let same = self.e.bin(BinOp::Eq, old, first, ty.bits);
            self.e.if_else(same, |e| e.store(address, new, ty.bytes(), write), |_| ());
        } else {
            let new = self.updated(operation, old, first, ty)?;
            self.e.store(address, new, ty.bytes(), write);
        }
        self.put(dst, old, ty)
    }

    /// The new value of the location of an atomic operation.
    fn updated(&mut self, operation: &str, old: Temp, by: Temp, ty: Type) -> Read<Temp> {
        let bits = ty.bits;
        let op = match (operation, ty.is_signed()) {
            ("exch", _) => return Ok(by),
            ("add", _) => BinOp::Add,
            ("and", _) => BinOp::And,
            ("or", _) => BinOp::Or,
            ("xor", _) => BinOp::Xor,
            ("min", true) => BinOp::MinS,
            ("min", false) => BinOp::MinU,
            ("max", true) => BinOp::MaxS,
            ("max", false) => BinOp::MaxU,
            ("inc", _) => {
                // Up to the operand, and then from zero.
                let more = self.e.bin_int(BinOp::Add, old, 1, bits);
                let zero = self.e.int(0);
                let below = self.e.bin(BinOp::LtU, old, by, bits);
                return Ok(self.e.select(below, more, zero));
            }
            ("dec", _) => {
                // Down to zero, and then from the operand, from which it also starts where it was above.
                let less = self.e.bin_int(BinOp::Sub, old, 1, bits);
                let below = self.e.bin(BinOp::LeU, old, by, bits);
                let rest = self.e.un(UnOp::IsZero, old, bits);
                let down = self.e.select(below, less, by);
                return Ok(self.e.select(rest, by, down));
            }
            _ => return Err(format!("unsupported: the operation `.{operation}`")),
        };
        Ok(self.e.bin(op, old, by, bits))
    }

    /// A barrier that all threads of a group reach: an event that tells others, and one that waits for
    /// others to tell.
    fn barrier(&mut self, name: &str, mods: &[&str], operands: &[Operand]) -> Read<()> {
        match mods.strip_prefix(&["cta"]).unwrap_or(mods) {
            ["sync"] | ["sync", "aligned"] => {}
            _ => return Err(format!("unsupported: `{name}.{}`", mods.join("."))),
        }
        let number = match operands {
            [Operand::Int(n)] if (0..BARRIERS).contains(n) => *n,
            [Operand::Int(_)] => return Err("barriers are numbered from 0 to 15".into()),
            [_] => return Err("unsupported: a barrier whose number is computed".into()),
            [_, _] => return Err("unsupported: a barrier for a number of threads".into()),
            _ => return Err("expected the number of a barrier".into()),
        };
        let loc = self.symbols.location(&format!("barrier_{number}"));
        let addr = self.e.val(Val::Ptr { loc, off: 0 });
        for tags in [tag::PTX_ARRIVE, tag::PTX_WAIT] {
            self.e.op(Op::Touch { addr, size: 4, tags });
        }
        Ok(())
    }

    fn mov(&mut self, mods: &[&str], operands: &[Operand]) -> Read<()> {
        let ([ty], [dst, src]) = (mods, operands) else {
            return Err("expected a type, a register and a value".into());
        };
        let ty = typed(ty)?;
        match (dst, src) {
            (Operand::Group(parts), src) => {
                let part = part(ty, parts.len())?;
                let value = self.value(src, ty)?;
                for (i, dst) in parts.iter().enumerate() {
                    let shift = (i as u32 * u32::from(part.bits)).into();
                    let piece = self.e.bin_int(BinOp::Shr, value, shift, 64);
                    self.put(dst, piece, part)?;
                }
                Ok(())
            }
            (dst, Operand::Group(parts)) => {
                let part = part(ty, parts.len())?;
                let mut whole = self.e.int(0);
                for (i, src) in parts.iter().enumerate() {
                    let piece = self.value(src, part)?;
                    let shift = (i as u32 * u32::from(part.bits)).into();
                    let piece = self.e.bin_int(BinOp::Shl, piece, shift, 64);
                    whole = self.e.bin(BinOp::Or, whole, piece, 64);
                }
                self.put(dst, whole, ty)
            }
            (dst, src) => {
                let value = self.value(src, ty)?;
                self.put(dst, value, ty)
            }
        }
    }

    fn convert(&mut self, mods: &[&str], operands: &[Operand]) -> Read<()> {
        if mods.iter().any(|word| floating(word).is_some()) {
            return self.convert_floating(mods, operands);
        }
        let ([to, from], [dst, src]) = (mods, operands) else {
            return match mods {
                [_, _] => Err("expected a register and a value".into()),
                _ => Err(format!("unsupported: `cvt.{}`", mods.join("."))),
            };
        };
        if [to, from].into_iter().any(|t| t.starts_with(['f', 'b', 'e', 't'])) {
            return Err(format!("unsupported: `cvt.{to}.{from}`"));
        }
        let (to, from) = (typed(to)?, typed(from)?);
        let value = self.extended(src, from)?;
        self.put(dst, value, to)
    }

    /// A conversion from or to a number in floating point. A fraction is cut off, all else is rounded to the nearest.
    fn convert_floating(&mut self, mods: &[&str], operands: &[Operand]) -> Read<()> {
        let unsupported = || Err(format!("unsupported: `cvt.{}`", mods.join(".")));
        let ([how @ .., to, from], [dst, src]) = (mods, operands) else { return unsupported() };
        let (target, source) = (typed(to)?, typed(from)?);
        let value = self.extended(src, source)?;
        let whole = |ty: Type| matches!(ty.kind, Kind::Unsigned | Kind::Signed);
        let result = match (how, floating(to), floating(from)) {
            (["rn"], Some(_), None) if whole(source) => {
                let op = UnOp::FloatFromInt { from: source.bits, signed: source.is_signed() };
                self.e.un(op, value, target.bits)
            }
            (["rzi"], None, Some(_)) if whole(target) && target.bits >= 32 => {
                let op = UnOp::FloatToInt { from: source.bits, signed: target.is_signed() };
                let result = self.e.un(op, value, target.bits);
                // A NaN becomes 0, or the highest bit where one of the types has 64 bits.
                let wide = source.bits == 64 || target.bits == 64;
                let none = if wide { 1 << (target.bits - 1) } else { 0 };
                let none = self.e.int(none);
                let is_number = self.e.bin(BinOp::FloatEq, value, value, source.bits);
                self.e.select(is_number, result, none)
            }
            ([], Some(64), Some(32)) | (["rn"], Some(32), Some(64)) => {
                self.e.un(UnOp::FloatResize { from: source.bits }, value, target.bits)
            }
            _ => return unsupported(),
        };
        self.put(dst, result, target)
    }

    /// A comparison of two numbers in floating point. A word that ends with `u` also holds where one is no number.
    fn compare_floating(&mut self, how: &str, a: &Operand, b: &Operand, ty: Type) -> Read<Temp> {
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let (op, swapped, negated) = match how {
            "eq" => (BinOp::FloatEq, false, false),
            "lt" => (BinOp::FloatLt, false, false),
            "le" => (BinOp::FloatLe, false, false),
            "gt" => (BinOp::FloatLt, true, false),
            "ge" => (BinOp::FloatLe, true, false),
            "neu" => (BinOp::FloatEq, false, true),
            "ltu" => (BinOp::FloatLe, true, true),
            "leu" => (BinOp::FloatLt, true, true),
            "gtu" => (BinOp::FloatLe, false, true),
            "geu" => (BinOp::FloatLt, false, true),
            _ => return Err(format!("unsupported: the comparison `.{how}`")),
        };
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let value = self.e.bin(op, a, b, ty.bits);
        Ok(if negated { self.e.un(UnOp::IsZero, value, 1) } else { value })
    }

    /// A comparison of two values of a type.
    fn compare(&mut self, how: &str, a: &Operand, b: &Operand, ty: Type) -> Read<Temp> {
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let signed = ty.is_signed();
        let (op, swapped) = match how {
            "eq" => (BinOp::Eq, false),
            "ne" => (BinOp::Ne, false),
            "lt" if signed => (BinOp::LtS, false),
            "le" if signed => (BinOp::LeS, false),
            "gt" if signed => (BinOp::LtS, true),
            "ge" if signed => (BinOp::LeS, true),
            "lt" | "lo" => (BinOp::LtU, false),
            "le" | "ls" => (BinOp::LeU, false),
            "gt" | "hi" => (BinOp::LtU, true),
            "ge" | "hs" => (BinOp::LeU, true),
            _ => return Err(format!("unsupported: the comparison `.{how}`")),
        };
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        Ok(self.e.bin(op, a, b, ty.bits))
    }

    fn setp(&mut self, mods: &[&str], operands: &[Operand]) -> Read<()> {
        let compare = |lower: &mut Self, how: &str, a: &Operand, b: &Operand, word: &str| {
            let ty = typed(word)?;
            match floating(word) {
                Some(_) => lower.compare_floating(how, a, b, ty),
                None => lower.compare(how, a, b, ty),
            }
        };
        match (mods, operands) {
            ([how, ty], [dst, a, b]) => {
                let value = compare(self, how, a, b, ty)?;
                self.put(dst, value, Type::PRED)
            }
            ([how, join, ty], [dst, a, b, more]) => {
                let value = compare(self, how, a, b, ty)?;
                let more = self.value(more, Type::PRED)?;
                let value = self.e.bin(logic(join)?, value, more, 1);
                self.put(dst, value, Type::PRED)
            }
            _ => Err("expected a comparison, a type, a predicate and two values".into()),
        }
    }

    /// Instructions that compute a value from values.
    fn compute(&mut self, insn: &Insn) -> Read<()> {
        let Some((last, words)) = insn.mods.split_last() else { return Err(unsupported(insn)) };
        if floating(last).is_some() {
            return self.compute_floats(insn, last, words);
        }
        let Some(ty) = Type::named(last).filter(|_| !last.starts_with('f')) else {
            return Err(unsupported(insn));
        };
        let Some((dst, rest)) = insn.operands.split_first() else { return Err(unsupported(insn)) };
        let wide = Type { bits: ty.bits.saturating_mul(2), ..ty };
        let op = Self::binary(insn, words, ty.is_signed())?;
        if let Some(op) = op {
            let [a, b] = self.operands(rest, [ty, ty])?;
            let value = self.e.bin(op, a, b, ty.bits);
            return self.put(dst, value, ty);
        }
        let value = match (insn.name, words) {
            ("shl" | "shr", []) => {
                let [a, n] = self.operands(rest, [ty, U32])?;
                // Of 64 bits, so that a count beyond the width gives what PTX says.
                let a = self.signed(a, ty);
                let op = match (insn.name, ty.is_signed()) {
                    ("shl", _) => BinOp::Shl,
                    (_, true) => BinOp::Sar,
                    (_, false) => BinOp::Shr,
                };
                self.e.bin(op, a, n, 64)
            }
            ("mul", ["wide"]) if ty.bits < 64 => {
                let [a, b] = self.operands(rest, [ty, ty])?;
                let (a, b) = (self.signed(a, ty), self.signed(b, ty));
                let value = self.e.bin(BinOp::Mul, a, b, 64);
                return self.put(dst, value, wide);
            }
            ("mad", ["lo"]) => {
                let [a, b, c] = self.operands(rest, [ty, ty, ty])?;
                let product = self.e.bin(BinOp::Mul, a, b, ty.bits);
                self.e.bin(BinOp::Add, product, c, ty.bits)
            }
            ("mad", ["wide"]) if ty.bits < 64 => {
                let [a, b, c] = self.operands(rest, [ty, ty, wide])?;
                let (a, b) = (self.signed(a, ty), self.signed(b, ty));
                let product = self.e.bin(BinOp::Mul, a, b, 64);
                let value = self.e.bin(BinOp::Add, product, c, 64);
                return self.put(dst, value, wide);
            }
            ("neg", []) => self.unary(UnOp::Neg, rest, ty)?,
            ("not", []) => self.unary(UnOp::Not, rest, ty)?,
            ("cnot", []) => self.unary(UnOp::IsZero, rest, ty)?,
            ("abs", []) => {
                let [a] = self.operands(rest, [ty])?;
                let minus = self.e.un(UnOp::Neg, a, ty.bits);
                self.e.bin(BinOp::MaxS, a, minus, ty.bits)
            }
            ("brev", []) => self.unary(UnOp::BitReverse, rest, ty)?,
            ("popc" | "clz", []) => {
                let op = if insn.name == "clz" { UnOp::Clz } else { UnOp::PopCount };
                let value = self.unary(op, rest, ty)?;
                return self.put(dst, value, U32);
            }
            ("bfe", []) => {
                let [a, from, len] = rest else { return Err(unsupported(insn)) };
                let (from, len) = (constant(from)?, constant(len)?);
                let a = self.extended(a, ty)?;
                if len == 0 || from + len > u128::from(ty.bits) {
                    return Err("unsupported: a field that is empty or not inside".into());
                }
                let value = self.e.bin_int(BinOp::Shr, a, from, 64);
                let kind = if ty.is_signed() { Kind::Signed } else { Kind::Unsigned };
                return self.put(dst, value, Type { kind, bits: len as u8 });
            }
            ("bfi", []) => self.inserted(rest, ty)?,
            ("prmt", []) => {
                let [a, b, selector] = rest else { return Err(unsupported(insn)) };
                let selector = constant(selector)?;
                let [a, b] = [self.value(a, U32)?, self.value(b, U32)?];
                self.permuted(a, b, selector)?
            }
            ("shf", [way @ ("l" | "r"), how @ ("wrap" | "clamp")]) => {
                self.funnel(rest, way, how)?
            }
            ("lop3", []) => {
                let [a, b, c, table] = rest else { return Err(unsupported(insn)) };
                let table = constant(table)?;
                let [a, b, c] = [self.value(a, ty)?, self.value(b, ty)?, self.value(c, ty)?];
                self.by_table([a, b, c], table, ty)
            }
            _ => return Err(unsupported(insn)),
        };
        self.put(dst, value, ty)
    }

    /// The operation of an instruction that has two values of one type.
    fn binary(insn: &Insn, words: &[&str], signed: bool) -> Read<Option<BinOp>> {
        Ok(match (insn.name, words, signed) {
            ("add", [], _) => Some(BinOp::Add),
            ("sub", [], _) => Some(BinOp::Sub),
            ("mul", ["lo"], _) => Some(BinOp::Mul),
            ("mul", ["hi"], true) => Some(BinOp::MulHiS),
            ("mul", ["hi"], false) => Some(BinOp::MulHiU),
            ("div", [], true) => Some(BinOp::DivS),
            ("div", [], false) => Some(BinOp::DivU),
            ("rem", [], true) => Some(BinOp::RemS),
            ("rem", [], false) => Some(BinOp::RemU),
            ("min", [], true) => Some(BinOp::MinS),
            ("min", [], false) => Some(BinOp::MinU),
            ("max", [], true) => Some(BinOp::MaxS),
            ("max", [], false) => Some(BinOp::MaxU),
            ("and" | "or" | "xor", [], _) => Some(logic(insn.name)?),
            _ => None,
        })
    }

    /// Arithmetic in floating point.
    fn compute_floats(&mut self, insn: &Insn, last: &str, words: &[&str]) -> Read<()> {
        let op = match (insn.name, words) {
            ("add", [] | ["rn"]) => BinOp::FloatAdd,
            ("sub", [] | ["rn"]) => BinOp::FloatSub,
            ("mul", [] | ["rn"]) => BinOp::FloatMul,
            ("div", ["rn"]) => BinOp::FloatDiv,
            _ => return Err(unsupported(insn)),
        };
        let Some((dst, rest)) = insn.operands.split_first() else { return Err(unsupported(insn)) };
        let ty = typed(last)?;
        let [a, b] = self.operands(rest, [ty, ty])?;
        let value = self.e.bin(op, a, b, ty.bits);
        self.put(dst, value, ty)
    }

    /// `shf`: one half of two words that are shifted as one.
    fn funnel(&mut self, operands: &[Operand], way: &str, how: &str) -> Read<Temp> {
        let [low, high, n] = self.operands(operands, [U32, U32, U32])?;
        let high = self.e.bin_int(BinOp::Shl, high, 32, 64);
        let both = self.e.bin(BinOp::Or, low, high, 64);
        let n = match how {
            "wrap" => self.e.bin_int(BinOp::And, n, 31, 64),
            _ => self.e.bin_int(BinOp::MinU, n, 32, 64),
        };
        Ok(match way {
            "r" => self.e.bin(BinOp::Shr, both, n, 64),
            _ => {
                let moved = self.e.bin(BinOp::Shl, both, n, 64);
                self.e.bin_int(BinOp::Shr, moved, 32, 64)
            }
        })
    }

    /// `bfi`: a value with some of its bits from another.
    fn inserted(&mut self, operands: &[Operand], ty: Type) -> Read<Temp> {
        let [a, b, from, len] = operands else {
            return Err("expected four operands behind the first".into());
        };
        let (from, len) = (constant(from)?, constant(len)?);
        let [a, b] = [self.value(a, ty)?, self.value(b, ty)?];
        if len == 0 || from + len > u128::from(ty.bits) {
            return Err("unsupported: a field that is empty or not inside".into());
        }
        let field = mask(len as u8) << from;
        let a = self.e.bin_int(BinOp::Shl, a, from, 64);
        let a = self.e.bin_int(BinOp::And, a, field, 64);
        let b = self.e.bin_int(BinOp::And, b, mask(ty.bits) & !field, 64);
        Ok(self.e.bin(BinOp::Or, a, b, 64))
    }

    fn operands<const N: usize>(&mut self, list: &[Operand], types: [Type; N]) -> Read<[Temp; N]> {
        if list.len() != N {
            return Err(format!("expected {} operands, found {}", N + 1, list.len() + 1));
        }
        let mut out = [0; N];
        for ((slot, operand), ty) in out.iter_mut().zip(list).zip(types) {
            *slot = self.value(operand, ty)?;
        }
        Ok(out)
    }

    fn unary(&mut self, op: UnOp, list: &[Operand], ty: Type) -> Read<Temp> {
        let [a] = self.operands(list, [ty])?;
        Ok(self.e.un(op, a, ty.bits))
    }

    /// Four bytes of eight, each chosen by four bits: its place, and whether its sign is spread over it.
    fn permuted(&mut self, a: Temp, b: Temp, selector: u128) -> Read<Temp> {
        let high = self.e.bin_int(BinOp::Shl, b, 32, 64);
        let both = self.e.bin(BinOp::Or, a, high, 64);
        let mut whole = self.e.int(0);
        for i in 0..4u32 {
            let chosen = selector >> (4 * i) & 0xf;
            let byte = self.e.bin_int(BinOp::Shr, both, 8 * (chosen & 7), 64);
            let mut byte = self.e.un(UnOp::ZeroExt { from: 8 }, byte, 64);
            if chosen & 8 != 0 {
                byte = self.e.un(UnOp::SignExt { from: 8 }, byte, 64);
                byte = self.e.bin_int(BinOp::Sar, byte, 8, 64);
                byte = self.e.un(UnOp::ZeroExt { from: 8 }, byte, 64);
            }
            let byte = self.e.bin_int(BinOp::Shl, byte, (8 * i).into(), 64);
            whole = self.e.bin(BinOp::Or, whole, byte, 64);
        }
        Ok(whole)
    }

    /// Each bit of the result is the bit of the table that the three operands' bits number.
    fn by_table(&mut self, from: [Temp; 3], table: u128, ty: Type) -> Temp {
        let mut whole = self.e.int(0);
        for row in (0..8u32).filter(|row| table >> row & 1 != 0) {
            let mut all = self.e.int(mask(ty.bits));
            for (i, value) in from.into_iter().enumerate() {
                let set = row >> (2 - i) & 1 != 0;
                let bit = if set { value } else { self.e.un(UnOp::Not, value, ty.bits) };
                all = self.e.bin(BinOp::And, all, bit, ty.bits);
            }
            whole = self.e.bin(BinOp::Or, whole, all, ty.bits);
        }
        whole
    }
}

/// The pairs of a value and its address in an access. A vector has one for each element, with addresses one
/// behind the other.
fn elements<'o, 't>(
    parts: Option<usize>,
    value: &'o Operand<'t>,
    at: &Operand<'t>,
    ty: Type,
) -> Read<Vec<(&'o Operand<'t>, Operand<'t>)>> {
    match (parts, value, at) {
        (None, Operand::Group(_), _) => Err("expected one value".into()),
        (None, value, at) => Ok(vec![(value, at.clone())]),
        (Some(parts), Operand::Group(list), Operand::Memory(base, offset))
            if list.len() == parts =>
        {
            let behind = |i: usize| offset.checked_add(i as i64 * i64::from(ty.bytes()));
            let one = |(i, part)| Some((part, Operand::Memory(*base, behind(i)?)));
            let all: Option<Vec<_>> = list.iter().enumerate().map(one).collect();
            all.ok_or_else(|| "the address is out of range".into())
        }
        (Some(parts), ..) => Err(format!("expected an address and {parts} values in braces")),
    }
}

fn typed(word: &str) -> Read<Type> {
    Type::named(word).ok_or_else(|| format!("unsupported: the type `.{word}`"))
}

/// The bits of a type of numbers in floating point.
fn floating(word: &str) -> Option<u8> {
    match word {
        "f32" => Some(32),
        "f64" => Some(64),
        _ => None,
    }
}

/// The type of one of so many parts of a value.
fn part(ty: Type, count: usize) -> Read<Type> {
    match (ty.bits, count) {
        (16 | 32 | 64, 2) | (32 | 64, 4) => {
            Ok(Type { kind: Kind::Bits, bits: ty.bits / count as u8 })
        }
        _ => Err(format!("unsupported: {count} parts of a value of {} bits", ty.bits)),
    }
}

fn logic(word: &str) -> Read<BinOp> {
    match word {
        "and" => Ok(BinOp::And),
        "or" => Ok(BinOp::Or),
        "xor" => Ok(BinOp::Xor),
        _ => Err(format!("unsupported: `.{word}`")),
    }
}

fn constant(operand: &Operand) -> Read<u128> {
    match operand {
        Operand::Int(n) if *n >= 0 => Ok(*n as u128),
        _ => Err("unsupported: a place that is computed".into()),
    }
}

/// The refusal of an instruction that has no meaning here.
fn unsupported(insn: &Insn) -> String {
    let dots: String = insn.mods.iter().map(|m| format!(".{m}")).collect();
    format!("unsupported: the instruction `{}{dots}`", insn.name)
}
