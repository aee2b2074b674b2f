//! The meaning of each instruction as micro-ops.
//!
//! Registers have 32 bits; pairs of them hold 64. `exec` says which lanes run vector instructions, `vcc` and pairs of
//! scalar registers hold one bit a lane, `scc` is the condition of scalar instructions. It does not know the other
//! instructions of the thread.

use std::collections::HashSet;

use super::name_of;
use super::read::{self, Bank, Half, Insn, Operand};
use crate::microcode::{Emit, Labels, mask};
use litmake_ops::{BinOp, Code, Op, Port, Tags, Temp, UnOp};

pub(super) type Done = Result<(), String>;

/// Instructions that take time, or tell the hardware what comes.
const NOTHING: [&str; 8] = [
    "s_nop",
    "s_delay_alu",
    "s_clause",
    "s_set_inst_prefetch_distance",
    "s_inst_prefetch",
    "s_sleep",
    "s_code_end",
    "s_setprio",
];

/// The bits of a register that is no `v0` or `s0`. `exec` is kept as its opposite, so that the lane is active where
/// nothing was written.
pub(super) fn width_of(name: &str) -> u8 {
    if name == "vcc" { 64 } else { 1 }
}

/// Facts about a whole thread.
pub(super) struct Does {
    /// It changes the mask of active lanes. Where it does not, the lane is active from the start to the end.
    pub masks: bool,
    /// It asks whether an address lies in the memory of a lane or of a workgroup, and accesses that if so.
    pub asks: bool,
    /// The vector registers whose high half it writes. In another one this half is a part of an address that the
    /// register had at first, on which nothing may depend.
    pub wrote_high: HashSet<u16>,
}

pub(super) struct Lower<'a> {
    pub e: Emit,
    at: usize,
    labels: &'a Labels<'a>,
    /// What the thread does somewhere.
    does: &'a Does,
    code: &'a mut Code,
}

/// Where a value goes, the value, and its bits.
type Result64<'a> = (Operand<'a>, Temp, u8);

impl<'a> Lower<'a> {
    pub(super) fn new(
        at: usize,
        labels: &'a Labels<'a>,
        does: &'a Does,
        code: &'a mut Code,
    ) -> Lower<'a> {
        Lower { e: Emit::new(), at, labels, does, code }
    }

    pub(super) fn line(mut self, text: &str) -> Result<Vec<Op>, String> {
        // Two vector instructions at once: both read before one writes.
        let both = text.split_once("::").filter(|_| text.starts_with("v_dual_"));
        let (first, second) = both.map_or((text, None), |(first, second)| (first, Some(second)));
        let Some(insn) = read::read(first)? else { return Ok(Vec::new()) };
        let second = second.map(read::read).transpose()?.flatten();
        let vector = ["v_", "flat_", "global_", "scratch_", "ds_", "buffer_"]
            .iter()
            .any(|start| insn.name.starts_with(start))
            && !super::access::orders(insn.name);
        if !vector {
            self.scalar(&insn)?;
            return Ok(self.e.finish());
        }
        // Instructions that name a lane work whether or not it is active.
        let of_a_lane = ["v_readlane_", "v_writelane_", "v_readfirstlane_"];
        let for_all = of_a_lane.iter().any(|start| insn.name.starts_with(start));
        let active = (self.does.masks && !for_all).then(|| self.active());
        let outer = self.e.begin();
        self.vector(&insn, second.as_ref())?;
        let yes = self.e.end(outer);
        match active {
            None => yes.into_iter().for_each(|op| self.e.op(op)),
            Some(cond) => {
                let outer = self.e.begin();
                // A comparison gives 0 for a lane that is not active.
                if let (true, Some(dst)) =
                    (insn.name.starts_with("v_cmp_"), insn.operands.first().copied())
                {
                    let zero = self.e.int(0);
                    self.write(&dst, zero, LANE)?;
                }
                let no = self.e.end(outer);
                self.e.op(Op::If { cond, yes, no });
            }
        }
        Ok(self.e.finish())
    }

    /// Whether the lane is active.
    fn active(&mut self) -> Temp {
        let exec = self.code.reg("exec", 1, false);
        let off = self.e.read(exec, Port::None);
        self.e.un(UnOp::IsZero, off, 1)
    }

    fn vector(&mut self, insn: &Insn, second: Option<&Insn>) -> Done {
        if self.access(insn)? || self.does.asks && self.elsewhere(insn) {
            return Ok(());
        }
        let mut results = self.computed(insn)?;
        if let Some(second) = second {
            results.extend(self.computed(second)?);
        }
        for (dst, value, bits) in results {
            let clears = insn.short && bits == 16;
            self.write(&dst, value, if clears && is_whole(&dst) { 32 } else { bits })?;
        }
        Ok(())
    }

    /// The value of an operand, within so many bits.
    pub(super) fn value(
        &mut self,
        operand: &Operand,
        bits: u8,
        port: Port,
    ) -> Result<Temp, String> {
        let wrong = || Err(format!("expected a value of {bits} bits"));
        match *operand {
            Operand::Int(n) if bits < 64 || (-16..=64).contains(&n) => {
                Ok(self.e.int(n as u128 & mask(bits)))
            }
            Operand::Mask(name) if bits == 64 => Ok(self.lanes(name)),
            Operand::Name("src_private_base") if bits == 64 => Ok(self.e.int(PRIVATE)),
            Operand::Name("src_shared_base") if bits == 64 => Ok(self.e.int(SHARED)),
            Operand::LowMask(name) if bits == 32 => {
                let lanes = self.lanes(name);
                Ok(self.e.zero_extend(lanes, 32, 64))
            }
            Operand::Reg { bank, first, count, half } => {
                let low = self.register(bank, first, port);
                match (count, bits, half) {
                    (1, 32, None) => Ok(low),
                    (1, 8 | 16, None | Some(Half::Low)) => Ok(self.e.zero_extend(low, bits, 32)),
                    (1, 8 | 16, Some(Half::High)) => {
                        let high = self.e.bin_int(BinOp::Shr, low, 16, 32);
                        Ok(self.e.zero_extend(high, bits, 32))
                    }
                    (2, 64, None) => {
                        let high = self.register(bank, first + 1, port);
                        let high = self.e.bin_int(BinOp::Shl, high, 32, 64);
                        Ok(self.e.bin(BinOp::Or, low, high, 64))
                    }
                    _ => wrong(),
                }
            }
            _ => wrong(),
        }
    }

    fn register(&mut self, bank: Bank, number: u16, port: Port) -> Temp {
        let reg = self.code.reg(&name_of(bank, number), 32, true);
        self.e.read(reg, port)
    }

    fn lanes(&mut self, name: &str) -> Temp {
        if name == "exec" {
            return self.active();
        }
        let reg = self.code.reg(name, width_of(name), false);
        self.e.read(reg, Port::None)
    }

    /// A mask of lanes: a pair of registers where waves have 64 lanes, one register where they have 32.
    fn mask(&mut self, operand: &Operand) -> Result<Temp, String> {
        self.value(operand, mask_bits(operand), Port::None)
    }

    /// Writes so many bits, or the result for the lane. In half a register, the other half stays.
    pub(super) fn write(&mut self, dst: &Operand, value: Temp, bits: u8) -> Done {
        match *dst {
            Operand::Null => {}
            Operand::Mask("exec") | Operand::LowMask("exec") => {
                let active = self.e.bin_int(BinOp::And, value, 1, 64);
                let exec = self.code.reg("exec", 1, false);
                let set = |e: &mut Emit, off| {
                    let off = e.int(off);
                    e.write(exec, off);
                };
                self.e.if_else(active, |e| set(e, 0), |e| set(e, 1));
            }
            Operand::Mask(name) | Operand::LowMask(name) => {
                let reg = self.code.reg(name, width_of(name), false);
                self.e.write(reg, value);
            }
            Operand::Reg { bank, first, count: 1, half } => {
                let reg = self.code.reg(&name_of(bank, first), 32, true);
                let value = match (bits, half) {
                    (LANE | 32, None) => self.e.zero_extend(value, 32, 64),
                    (16, half) => {
                        let old = self.e.read(reg, Port::None);
                        let high = half == Some(Half::High);
                        let kept = if high { 0xffff } else { 0xffff_0000 };
                        let kept = match high || self.does.wrote_high.contains(&first) {
                            true => self.e.bin_int(BinOp::And, old, kept, 32),
                            false => self.e.int(0),
                        };
                        let value = match high {
                            true => self.e.bin_int(BinOp::Shl, value, 16, 32),
                            false => self.e.zero_extend(value, 16, 32),
                        };
                        self.e.bin(BinOp::Or, kept, value, 32)
                    }
                    _ => return Err(format!("expected registers for {bits} bits")),
                };
                self.e.write(reg, value);
            }
            Operand::Reg { bank, first, count: 2, half: None } if matches!(bits, LANE | 64) => {
                let (low, high) = (name_of(bank, first), name_of(bank, first + 1));
                let (low, high) = (self.code.reg(&low, 32, true), self.code.reg(&high, 32, true));
                let lower = self.e.zero_extend(value, 32, 64);
                self.e.write(low, lower);
                let upper = self.e.bin_int(BinOp::Shr, value, 32, 64);
                self.e.write(high, upper);
            }
            _ => return Err(format!("expected registers for {bits} bits as the first operand")),
        }
        Ok(())
    }

    /// Ends the run with an error where a register names another lane than the first, of which alone the values are known.
    fn first_lane(&mut self, lane: &Operand) -> Done {
        match lane {
            Operand::Int(0) => Ok(()),
            Operand::Int(_) => Err("unsupported: the value of a lane that is not active".into()),
            _ => {
                let lane = self.value(lane, 32, Port::None)?;
                let nowhere = |e: &mut Emit| {
                    let addr = e.int(PRIVATE);
                    e.load(addr, 4, Tags::NONE);
                };
                self.e.if_else(lane, nowhere, |_| ());
                Ok(())
            }
        }
    }

    /// The results of a vector instruction that computes.
    fn computed<'o>(&mut self, insn: &Insn<'o>) -> Result<Vec<Result64<'o>>, String> {
        let unknown = || format!("unsupported: `{}`", insn.name);
        let name = insn.name.strip_prefix("v_").ok_or_else(unknown)?;
        let name = name.strip_prefix("dual_").unwrap_or(name);
        let words = &insn.words[..];
        let o = &insn.operands[..];
        if !(words.is_empty() || name == "pk_mov_b32" && words == ["op_sel:[0,1]"]) {
            return Err(format!("unsupported: `{}`", words.join(" ")));
        }
        if let Some(rest) = name.strip_prefix("cmpx_").or_else(|| name.strip_prefix("cmp_")) {
            return self.compared(rest, name.starts_with("cmpx_"), o);
        }
        if let Some(done) = self.with_carry(name, o)? {
            return Ok(done);
        }
        if let Some((op, bits, reversed)) = binary(name) {
            let [dst, a, b] = o else { return Err("expected three operands".into()) };
            let value = self.binary(op, bits, reversed, a, b)?;
            return Ok(vec![(*dst, value, bits)]);
        }
        if let Some(value) = self.lanes_and_bits(name, o)? {
            return Ok(vec![(o[0], value, 32)]);
        }
        let one = |bits: u8, value: Temp| Ok(vec![(o[0], value, bits)]);
        match (name, o) {
            ("mov_b16" | "mov_b32" | "mov_b64" | "readfirstlane_b32", [_, a]) => {
                let bits = bits_of(name).unwrap_or(32);
                let value = self.value(a, bits, Port::None)?;
                one(bits, value)
            }
            ("not_b32" | "not_b16", [_, a]) => {
                let bits = bits_of(name).unwrap_or(32);
                let value = self.value(a, bits, Port::None)?;
                let value = self.e.un(UnOp::Not, value, bits);
                one(bits, value)
            }
            ("pk_mov_b32", [_, a, b]) => {
                // The low halves of both, or the low half of the first and the high half of the second.
                let (a, b) = match words.is_empty() {
                    true => (low_of(a), low_of(b)),
                    false => (low_of(a), high_of(b)),
                };
                let (a, b) = (self.value(&a, 32, Port::None)?, self.value(&b, 32, Port::None)?);
                let b = self.e.bin_int(BinOp::Shl, b, 32, 64);
                let value = self.e.bin(BinOp::Or, a, b, 64);
                one(64, value)
            }
            ("cndmask_b32", [_, _, _]) if insn.name.starts_with("v_dual_") => {
                let cond = Operand::LowMask("vcc");
                let value = self.chosen(32, &o[1], &o[2], &cond)?;
                one(32, value)
            }
            ("cndmask_b32" | "cndmask_b16", [_, no, yes, cond]) => {
                let bits = bits_of(name).unwrap_or(32);
                let value = self.chosen(bits, no, yes, cond)?;
                one(bits, value)
            }
            ("bfe_u32" | "bfe_i32", [_, a, Operand::Int(from), Operand::Int(count)])
                if (0..32).contains(from) && (1..=32 - from).contains(count) =>
            {
                let value = self.value(a, 32, Port::None)?;
                let value = self.e.bin_int(BinOp::Shr, value, *from as u128, 32);
                let value = match name {
                    "bfe_i32" => self.e.sign_extend(value, *count as u8, 32),
                    _ => self.e.zero_extend(value, *count as u8, 32),
                };
                one(32, value)
            }
            (_, [_, a, b, c]) => {
                let (first, second, bits) = ternary(name).ok_or_else(unknown)?;
                let last = if second == BinOp::Shl { 32 } else { bits };
                let a = self.value(a, bits, Port::None)?;
                let b = self.value(b, if first == BinOp::Shl { 32 } else { bits }, Port::None)?;
                let c = self.value(c, last, Port::None)?;
                let inner = self.apply(first, a, b, bits);
                let value = self.apply(second, inner, c, bits);
                one(bits, value)
            }
            _ => Err(unknown()),
        }
    }

    /// The results of 32 bits that are about lanes, single bits, and numbers of 16 and 24 bits.
    fn lanes_and_bits(&mut self, name: &str, o: &[Operand]) -> Result<Option<Temp>, String> {
        Ok(Some(match (name, o) {
            ("readlane_b32" | "writelane_b32", [_, a, lane]) => {
                self.first_lane(lane)?;
                self.value(a, 32, Port::None)?
            }
            // The number of active lanes before this one, which is the first, is added.
            ("mbcnt_lo_u32_b32" | "mbcnt_hi_u32_b32", [_, _, a]) => {
                self.value(a, 32, Port::None)?
            }
            ("mul_u32_u24" | "mul_i32_i24", [_, a, b]) => self.product_of_24(name, a, b)?,
            ("mad_u32_u24" | "mad_i32_i24", [_, a, b, c]) => {
                let product = self.product_of_24(name, a, b)?;
                let c = self.value(c, 32, Port::None)?;
                self.e.bin(BinOp::Add, product, c, 32)
            }
            ("bfrev_b32", [_, a]) => {
                let value = self.value(a, 32, Port::None)?;
                self.e.un(UnOp::BitReverse, value, 32)
            }
            ("cvt_u32_u16", [_, a]) => self.value(a, 16, Port::None)?,
            // A bit, whose number a register has.
            ("bfe_u32", [_, a, from @ Operand::Reg { .. }, Operand::Int(1)]) => {
                let (a, from) = (self.value(a, 32, Port::None)?, self.value(from, 32, Port::None)?);
                let value = self.apply(BinOp::Shr, a, from, 32);
                self.e.bin_int(BinOp::And, value, 1, 32)
            }
            _ => return Ok(None),
        }))
    }

    /// The low half of the product of numbers of 24 bits.
    fn product_of_24(&mut self, name: &str, a: &Operand, b: &Operand) -> Result<Temp, String> {
        let mut part = |operand: &Operand| {
            let value = self.value(operand, 32, Port::None)?;
            Ok::<Temp, String>(match name.ends_with("u24") {
                true => self.e.zero_extend(value, 24, 32),
                false => self.e.sign_extend(value, 24, 32),
            })
        };
        let (a, b) = (part(a)?, part(b)?);
        Ok(self.e.bin(BinOp::Mul, a, b, 32))
    }

    /// One of two values, by the lane's bit of a mask.
    fn chosen(
        &mut self,
        bits: u8,
        no: &Operand,
        yes: &Operand,
        cond: &Operand,
    ) -> Result<Temp, String> {
        let cond = self.mask(cond)?;
        let cond = self.e.bin_int(BinOp::And, cond, 1, 64);
        let (no, yes) = (self.value(no, bits, Port::None)?, self.value(yes, bits, Port::None)?);
        Ok(self.e.select(cond, yes, no))
    }

    /// An operation on two values; a shift takes its count modulo the width.
    fn apply(&mut self, op: BinOp, a: Temp, b: Temp, bits: u8) -> Temp {
        match op {
            BinOp::Shl | BinOp::Shr | BinOp::Sar => {
                let count = self.e.bin_int(BinOp::And, b, u128::from(bits - 1), 32);
                self.e.bin(op, a, count, bits)
            }
            _ => self.e.bin(op, a, b, bits),
        }
    }

    fn binary(
        &mut self,
        op: BinOp,
        bits: u8,
        reversed: bool,
        a: &Operand,
        b: &Operand,
    ) -> Result<Temp, String> {
        let (a, b) = if reversed { (b, a) } else { (a, b) };
        let shifts = matches!(op, BinOp::Shl | BinOp::Shr | BinOp::Sar);
        let a = self.value(a, bits, Port::None)?;
        let b = self.value(b, if shifts { bits.min(32) } else { bits }, Port::None)?;
        Ok(self.apply(op, a, b, bits))
    }

    /// `v_cmp_lt_i32 vcc, a, b`; the form with `x` sets the mask of active lanes, and names it on old machines.
    fn compared<'o>(
        &mut self,
        name: &str,
        sets: bool,
        operands: &[Operand<'o>],
    ) -> Result<Vec<Result64<'o>>, String> {
        let (dst, a, b) = match (sets, operands) {
            (true, [a, b]) => (Operand::Null, a, b),
            (_, [dst, a, b]) => (*dst, a, b),
            _ => return Err("expected a mask and two values".into()),
        };
        let value = self.test(name, a, b)?;
        let mut out = vec![(dst, value, LANE)];
        if sets {
            out.push((Operand::Mask("exec"), value, LANE));
        }
        Ok(out)
    }

    /// A comparison by its name without the beginning: `lt_i32`.
    fn test(&mut self, name: &str, a: &Operand, b: &Operand) -> Result<Temp, String> {
        let unknown = || format!("unsupported: the comparison `{name}`");
        let (relation, ty) = name.split_once('_').ok_or_else(unknown)?;
        let (signed, bits) = match ty {
            "i16" | "i32" | "i64" => (true, bits_of(name)),
            "u16" | "u32" | "u64" => (false, bits_of(name)),
            _ => return Err(unknown()),
        };
        let bits = bits.ok_or_else(unknown)?;
        let (op, swapped) = match (relation, signed) {
            ("eq", _) => (BinOp::Eq, false),
            ("ne" | "lg", _) => (BinOp::Ne, false),
            ("lt", true) => (BinOp::LtS, false),
            ("lt", false) => (BinOp::LtU, false),
            ("gt", true) => (BinOp::LtS, true),
            ("gt", false) => (BinOp::LtU, true),
            ("le", true) => (BinOp::LeS, false),
            ("le", false) => (BinOp::LeU, false),
            ("ge", true) => (BinOp::LeS, true),
            ("ge", false) => (BinOp::LeU, true),
            _ => return Err(unknown()),
        };
        let a = self.value(a, bits, Port::None)?;
        let b = self.value(b, bits, Port::None)?;
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        Ok(self.e.bin(op, a, b, bits))
    }

    /// Additions and subtractions of 32 bits that give a carry to a mask, and may take one.
    fn with_carry<'o>(
        &mut self,
        name: &str,
        operands: &[Operand<'o>],
    ) -> Result<Option<Vec<Result64<'o>>>, String> {
        let op = match name {
            "add_co_u32" | "addc_co_u32" | "add_co_ci_u32" => BinOp::Add,
            "sub_co_u32" | "subb_co_u32" | "sub_co_ci_u32" => BinOp::Sub,
            _ => return Ok(None),
        };
        let takes = !matches!(name, "add_co_u32" | "sub_co_u32");
        let (dst, carry, a, b, into) = match (takes, operands) {
            (false, [dst, carry, a, b]) => (dst, carry, a, b, None),
            (true, [dst, carry, a, b, into]) => (dst, carry, a, b, Some(into)),
            _ => return Err("expected a register, a mask and two values".into()),
        };
        let (a, b) = (self.value(a, 32, Port::None)?, self.value(b, 32, Port::None)?);
        let overflows = |lower: &mut Self, a, b, result| match op {
            BinOp::Add => lower.e.bin(BinOp::LtU, result, a, 32),
            _ => lower.e.bin(BinOp::LtU, a, b, 32),
        };
        let mut value = self.e.bin(op, a, b, 32);
        let mut out = overflows(self, a, b, value);
        if let Some(into) = into {
            let into = self.mask(into)?;
            let into = self.e.bin_int(BinOp::And, into, 1, 64);
            let more = self.e.bin(op, value, into, 32);
            let again = overflows(self, value, into, more);
            out = self.e.bin(BinOp::Or, out, again, 1);
            value = more;
        }
        Ok(Some(vec![(*dst, value, 32), (*carry, out, LANE)]))
    }

    fn scalar(&mut self, insn: &Insn) -> Done {
        if self.order(insn)? || NOTHING.contains(&insn.name) {
            return Ok(());
        }
        let unknown = || format!("unsupported: `{}`", insn.name);
        let name = insn.name.strip_prefix("s_").ok_or_else(unknown)?;
        if !insn.words.is_empty() {
            return Err(format!("unsupported: `{}`", insn.words.join(" ")));
        }
        let o = &insn.operands[..];
        if self.jump(name, o)? {
            return Ok(());
        }
        if let Some((how, bits)) = name.rsplit_once("_saveexec_b") {
            let [dst, src] = o else { return Err("expected two operands".into()) };
            let bits = if bits == "64" { 64 } else { 32 };
            let (src, exec) = (self.value(src, bits, Port::None)?, self.active());
            self.write(dst, exec, bits)?;
            let value = self.logic(how, src, exec, bits).ok_or_else(unknown)?;
            self.write(&Operand::Mask("exec"), value, 64)?;
            self.condition(value, bits);
            return Ok(());
        }
        if let Some(test) = name.strip_prefix("cmp_") {
            let [a, b] = o else { return Err("expected two values".into()) };
            let value = self.test(test, a, b)?;
            self.set_condition(value);
            return Ok(());
        }
        let bits = bits_of(name).ok_or_else(unknown)?;
        if self.counts(name, o, bits)? {
            return Ok(());
        }
        match (name, o) {
            ("mov_b32" | "mov_b64", [dst, a]) => {
                let value = self.value(a, bits, Port::None)?;
                return self.write(dst, value, bits);
            }
            ("movk_i32", [dst, a]) => {
                let value = self.value(a, 16, Port::None)?;
                let value = self.e.sign_extend(value, 16, 32);
                return self.write(dst, value, 32);
            }
            ("not_b32" | "not_b64", [dst, a]) => {
                let value = self.value(a, bits, Port::None)?;
                let value = self.e.un(UnOp::Not, value, bits);
                self.write(dst, value, bits)?;
                self.condition(value, bits);
            }
            ("cselect_b32" | "cselect_b64", [dst, a, b]) => {
                let scc = self.code.reg("scc", 1, false);
                let cond = self.e.read(scc, Port::None);
                let (a, b) = (self.value(a, bits, Port::None)?, self.value(b, bits, Port::None)?);
                let value = self.e.select(cond, a, b);
                self.write(dst, value, bits)?;
            }
            (_, [dst, a, b]) => {
                let stem = name.rsplit_once('_').map_or(name, |(stem, _)| stem);
                let value = if let Some((op, bits, reversed)) = binary(name) {
                    let value = self.binary(op, bits, reversed, a, b)?;
                    let is_signed = name.ends_with("i32");
                    let condition = match (op, is_signed) {
                        (BinOp::Add, true) => Some((BinOp::AddOverflows, a, b)),
                        (BinOp::Sub, true) => Some((BinOp::SubOverflows, a, b)),
                        (BinOp::Add, false) => Some((BinOp::LtU, dst, a)),
                        (BinOp::Sub, false) => Some((BinOp::LtU, a, b)),
                        (BinOp::MinS | BinOp::MinU | BinOp::MaxS | BinOp::MaxU, _) => {
                            return Err(unknown());
                        }
                        (BinOp::Mul, _) => return self.write(dst, value, bits),
                        _ => None,
                    };
                    if let Some((op, a, b)) = condition {
                        let first = self.value(a, bits, Port::None);
                        let first = if op == BinOp::LtU && a == dst { value } else { first? };
                        let second = self.value(b, bits, Port::None)?;
                        let carry = self.e.bin(op, first, second, bits);
                        self.write(dst, value, bits)?;
                        self.set_condition(carry);
                        return Ok(());
                    }
                    value
                } else {
                    let (a, b) =
                        (self.value(a, bits, Port::None)?, self.value(b, bits, Port::None)?);
                    self.logic(stem, a, b, bits).ok_or_else(unknown)?
                };
                self.write(dst, value, bits)?;
                self.condition(value, bits);
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Counts of bits, the place of a bit, a bit that is cleared; false for other scalar instructions.
    fn counts(&mut self, name: &str, o: &[Operand], bits: u8) -> Result<bool, String> {
        match (name, o) {
            ("bcnt1_i32_b32" | "bcnt1_i32_b64", [dst, a]) => {
                let value = self.value(a, bits, Port::None)?;
                let value = self.e.un(UnOp::PopCount, value, bits);
                self.write(dst, value, 32)?;
                self.condition(value, 32);
            }
            // The place of the lowest bit.
            ("ff1_i32_b32" | "ff1_i32_b64" | "ctz_i32_b32" | "ctz_i32_b64", [dst, a]) => {
                let value = self.value(a, bits, Port::None)?;
                let less = self.e.bin_int(BinOp::Sub, value, 1, bits);
                let not = self.e.un(UnOp::Not, value, bits);
                let below = self.e.bin(BinOp::And, less, not, bits);
                let place = self.e.un(UnOp::PopCount, below, bits);
                let none = self.e.int(mask(32));
                let value = self.e.select(value, place, none);
                self.write(dst, value, 32)?;
            }
            ("bitset0_b32" | "bitset0_b64", [dst, at]) => {
                let (old, at) =
                    (self.value(dst, bits, Port::None)?, self.value(at, 32, Port::None)?);
                let one = self.e.int(1);
                let bit = self.apply(BinOp::Shl, one, at, bits);
                let others = self.e.un(UnOp::Not, bit, bits);
                let value = self.e.bin(BinOp::And, old, others, bits);
                self.write(dst, value, bits)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A logical operation of masks by its name, with those that complement the second operand.
    fn logic(&mut self, name: &str, a: Temp, b: Temp, bits: u8) -> Option<Temp> {
        let (op, complements) = match name {
            "and" => (BinOp::And, false),
            "or" => (BinOp::Or, false),
            "xor" => (BinOp::Xor, false),
            "andn2" | "and_not1" => (BinOp::And, true),
            "orn2" | "or_not1" => (BinOp::Or, true),
            _ => return None,
        };
        let b = if complements { self.e.un(UnOp::Not, b, bits) } else { b };
        Some(self.e.bin(op, a, b, bits))
    }

    /// `scc` says whether a result is other than 0.
    fn condition(&mut self, value: Temp, bits: u8) {
        let zero = self.e.int(0);
        let is = self.e.bin(BinOp::Ne, value, zero, bits);
        self.set_condition(is);
    }

    fn set_condition(&mut self, value: Temp) {
        let scc = self.code.reg("scc", 1, false);
        self.e.write(scc, value);
    }

    /// Jumps and the end of the thread; false for other instructions.
    fn jump(&mut self, name: &str, operands: &[Operand]) -> Result<bool, String> {
        if name == "endpgm" || name == "setpc_b64" && operands == [RETURN] {
            self.e.op(Op::Halt);
            return Ok(true);
        }
        let condition = match name {
            "branch" => None,
            _ => match name.strip_prefix("cbranch_") {
                Some(condition) => Some(condition),
                None => return Ok(false),
            },
        };
        let target = match operands {
            [Operand::Name(name)] => self.labels.find(name, self.at),
            _ => return Err("expected a label".into()),
        };
        let target = target.ok_or("there is no such label in this thread")?;
        let Some(condition) = condition else {
            self.e.op(Op::Jump { target });
            return Ok(true);
        };
        let (value, holds) = match condition {
            "scc0" | "scc1" => {
                let scc = self.code.reg("scc", 1, false);
                (self.e.read(scc, Port::None), condition == "scc1")
            }
            "vccz" | "vccnz" => (self.lanes("vcc"), condition == "vccnz"),
            "execz" | "execnz" => (self.lanes("exec"), condition == "execnz"),
            _ => return Err(format!("unsupported: `s_cbranch_{condition}`")),
        };
        let cond = if holds { value } else { self.e.is_zero(value, 64) };
        self.e.op(Op::Branch { cond, target });
        Ok(true)
    }
}

/// Where the memory of a lane begins in the space of addresses. Locations of tests lie below.
pub(super) const PRIVATE: u128 = 1 << 48;

/// Where the memory of a workgroup begins.
const SHARED: u128 = 1 << 49;

/// The bits of the result for one lane, which goes to a mask of any width.
const LANE: u8 = 1;

/// The registers with the address to which a function returns.
const RETURN: Operand = Operand::Reg { bank: Bank::Scalar, first: 30, count: 2, half: None };

/// The bits that the end of a name says.
fn bits_of(name: &str) -> Option<u8> {
    let digits = name.rsplit_once('_')?.1.get(1..)?;
    digits.parse().ok().filter(|bits| matches!(bits, 16 | 32 | 64))
}

fn mask_bits(operand: &Operand) -> u8 {
    match operand {
        Operand::LowMask(_) | Operand::Reg { count: 1, .. } => 32,
        _ => 64,
    }
}

fn is_whole(operand: &Operand) -> bool {
    matches!(operand, Operand::Reg { half: None, .. })
}

fn low_of<'a>(operand: &Operand<'a>) -> Operand<'a> {
    match *operand {
        Operand::Reg { bank, first, .. } => Operand::Reg { bank, first, count: 1, half: None },
        other => other,
    }
}

fn high_of<'a>(operand: &Operand<'a>) -> Operand<'a> {
    match *operand {
        Operand::Reg { bank, first, .. } => {
            Operand::Reg { bank, first: first + 1, count: 1, half: None }
        }
        other => other,
    }
}

/// An operation of two values by the name of its instruction: the operation, its bits, and whether the operands change
/// places.
fn binary(name: &str) -> Option<(BinOp, u8, bool)> {
    let (stem, ty) = name.rsplit_once('_')?;
    let bits = bits_of(name)?;
    let signed = ty.starts_with('i');
    let reversed = stem.contains("rev");
    let stem = stem.strip_suffix("_nc").or_else(|| stem.strip_suffix("_co")).unwrap_or(stem);
    let op = match stem {
        "add" => BinOp::Add,
        "sub" | "subrev" => BinOp::Sub,
        "mul" | "mul_lo" => BinOp::Mul,
        "and" => BinOp::And,
        "or" => BinOp::Or,
        "xor" => BinOp::Xor,
        "lshl" | "lshlrev" => BinOp::Shl,
        "lshr" | "lshrrev" => BinOp::Shr,
        "ashr" | "ashrrev" => BinOp::Sar,
        "min" if signed => BinOp::MinS,
        "max" if signed => BinOp::MaxS,
        "min" => BinOp::MinU,
        "max" => BinOp::MaxU,
        _ => return None,
    };
    Some((op, bits, reversed))
}

/// An operation of three values: of the first two, and of its result and the third.
fn ternary(name: &str) -> Option<(BinOp, BinOp, u8)> {
    Some(match name {
        "add3_u32" => (BinOp::Add, BinOp::Add, 32),
        "or3_b32" => (BinOp::Or, BinOp::Or, 32),
        "xor3_b32" => (BinOp::Xor, BinOp::Xor, 32),
        "and_or_b32" => (BinOp::And, BinOp::Or, 32),
        "lshl_or_b32" => (BinOp::Shl, BinOp::Or, 32),
        "lshl_add_u32" => (BinOp::Shl, BinOp::Add, 32),
        "lshl_add_u64" => (BinOp::Shl, BinOp::Add, 64),
        "add_lshl_u32" => (BinOp::Add, BinOp::Shl, 32),
        "xad_u32" => (BinOp::Xor, BinOp::Add, 32),
        _ => return None,
    })
}
