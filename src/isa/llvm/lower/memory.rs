//! Accesses to memory: loads, stores, read-modify-writes and fences, copies of memory, and the operations of
//! `libatomic`. It does not know what is computed with the values.

use super::super::access::UPPER_FIRST;
use super::super::types::{Float, Type};
use super::compute::{joined, lanes_of};
use super::{Lower, Read, float, lane, one};
use crate::microcode::{Emit, Swap, mask};
use litmake_ops::{BinOp, Op, Tags, Temp, UnOp, tag};

/// A copy of more bytes is refused.
const MOST_COPIED: u64 = 4096;

/// One of two numbers, told by their bits: the body of a read-modify-write has no choice.
pub fn either(e: &mut Emit, cond: Temp, yes: Temp, no: Temp, bits: u8) -> Temp {
    let all = e.un(UnOp::Neg, cond, bits);
    let none = e.un(UnOp::Not, all, bits);
    let (yes, no) = (e.bin(BinOp::And, yes, all, bits), e.bin(BinOp::And, no, none, bits));
    e.bin(BinOp::Or, yes, no, bits)
}

/// The value that a read-modify-write puts in place of the old one.
enum Update {
    /// The operation on the old value and the operand.
    Plain(BinOp),
    Float(BinOp, Float),
    /// The greater or the lesser of two numbers in floating point.
    Extreme {
        greater: bool,
        format: Float,
    },
    Nand,
    /// One more, and 0 behind the operand.
    Increment,
    /// One less, and the operand before 0 and behind the operand.
    Decrement,
    /// The difference, or the old value where it is below the operand.
    DifferenceIf,
    /// The difference, or 0 where the old value is below the operand.
    DifferenceOr0,
}

impl Update {
    fn named(op: &str, format: Option<Float>) -> Read<Update> {
        Ok(match (op, format) {
            ("add", None) => Update::Plain(BinOp::Add),
            ("sub", None) => Update::Plain(BinOp::Sub),
            ("and", None) => Update::Plain(BinOp::And),
            ("or", None) => Update::Plain(BinOp::Or),
            ("xor", None) => Update::Plain(BinOp::Xor),
            ("max", None) => Update::Plain(BinOp::MaxS),
            ("min", None) => Update::Plain(BinOp::MinS),
            ("umax", None) => Update::Plain(BinOp::MaxU),
            ("umin", None) => Update::Plain(BinOp::MinU),
            ("nand", None) => Update::Nand,
            ("uinc_wrap", None) => Update::Increment,
            ("udec_wrap", None) => Update::Decrement,
            ("usub_cond", None) => Update::DifferenceIf,
            ("usub_sat", None) => Update::DifferenceOr0,
            ("fadd", Some(format)) => Update::Float(BinOp::FloatAdd, format),
            ("fsub", Some(format)) => Update::Float(BinOp::FloatSub, format),
            ("fmax", Some(format)) => Update::Extreme { greater: true, format },
            ("fmin", Some(format)) => Update::Extreme { greater: false, format },
            _ => return Err(format!("unsupported: `atomicrmw {op}`")),
        })
    }

    fn of(&self, e: &mut Emit, old: Temp, value: Temp, bits: u8) -> Temp {
        let zero = e.int(0);
        match *self {
            Update::Plain(op) => e.bin(op, old, value, bits),
            Update::Float(op, format) => float::bin(e, op, old, value, format),
            Update::Extreme { greater, format } => float::extreme(e, greater, old, value, format),
            Update::Nand => {
                let both = e.bin(BinOp::And, old, value, bits);
                e.un(UnOp::Not, both, bits)
            }
            Update::Increment => {
                let (end, more) =
                    (e.bin(BinOp::LeU, value, old, bits), e.bin_int(BinOp::Add, old, 1, bits));
                either(e, end, zero, more, bits)
            }
            Update::Decrement => {
                let (first, behind) = (e.is_zero(old, bits), e.bin(BinOp::LtU, value, old, bits));
                let end = e.bin(BinOp::Or, first, behind, 1);
                let less = e.bin_int(BinOp::Sub, old, 1, bits);
                either(e, end, value, less, bits)
            }
            Update::DifferenceIf | Update::DifferenceOr0 => {
                let below = e.bin(BinOp::LtU, old, value, bits);
                let difference = e.bin(BinOp::Sub, old, value, bits);
                let other = if matches!(self, Update::DifferenceIf) { old } else { zero };
                either(e, below, other, difference, bits)
            }
        }
    }
}

impl Lower<'_> {
    pub(super) fn load(&mut self) -> Read<Vec<Temp>> {
        let swaps = self.eat(UPPER_FIRST);
        let (atomic, volatile) = (self.eat("atomic"), self.eat("volatile"));
        let by_lane = self.eat("elementwise");
        let ty = self.ty()?;
        self.expect(",")?;
        let address = self.pointer()?;
        let tags = self.access(atomic, volatile)?;
        if swaps {
            let size = swapped(&ty)?;
            let value = self.e.load(address, size, tags);
            return Ok(vec![self.e.un(UnOp::ByteSwap, value, 8 * size)]);
        }
        match self.at_once(&ty, atomic, by_lane)? {
            Some(size) => {
                let value = self.e.load(address, size, tags);
                Ok(lanes_of(&mut self.e, value, &ty))
            }
            None => self.read_memory(&ty, address, tags),
        }
    }

    /// The bytes of an aggregate that one access takes as a whole; `None`: there is an access for each of its parts. A
    /// vector is accessed as a whole if that is atomic, or if another atomic access of the thread is as wide: compilers
    /// make a vector's read-modify-write of a plain load and a compare-exchange. The language leaves open how plain
    /// vectors are accessed.
    fn at_once(&self, ty: &Type, atomic: bool, by_lane: bool) -> Read<Option<u8>> {
        match (atomic && !by_lane, ty.count()) {
            (_, 0 | 1) => Ok(None),
            (true, _) => whole(ty).map(Some),
            (false, _) => Ok(whole(ty).ok().filter(|size| !atomic && self.atomics.contains(size))),
        }
    }

    pub(super) fn read_memory(&mut self, ty: &Type, address: Temp, tags: Tags) -> Read<Vec<Temp>> {
        let mut out = Vec::new();
        for part in ty.scalars() {
            let size = bytes(part.bits)?;
            let at = self.e.add_int(address, part.at as i64, self.pointer);
            let value = self.e.load(at, size, tags);
            out.push(match u16::from(part.bits) < 8 * u16::from(size) {
                true => self.e.bin_int(BinOp::And, value, mask(part.bits), 8 * size),
                false => value,
            });
        }
        Ok(out)
    }

    pub(super) fn store(&mut self) -> Read<Vec<Temp>> {
        let swaps = self.eat(UPPER_FIRST);
        let (atomic, volatile) = (self.eat("atomic"), self.eat("volatile"));
        let by_lane = self.eat("elementwise");
        let (ty, value) = self.typed()?;
        self.expect(",")?;
        let address = self.pointer()?;
        let tags = self.access(atomic, volatile)?;
        if swaps {
            let size = swapped(&ty)?;
            let value = self.e.un(UnOp::ByteSwap, one(&value)?, 8 * size);
            self.e.store(address, value, size, tags);
            return Ok(Vec::new());
        }
        if let Some(size) = self.at_once(&ty, atomic, by_lane)? {
            let value = joined(&mut self.e, &value, lane(&ty).unwrap_or(8))?;
            self.e.store(address, value, size, tags);
            return Ok(Vec::new());
        }
        for (part, value) in ty.scalars().iter().zip(value) {
            let size = bytes(part.bits)?;
            let at = self.e.add_int(address, part.at as i64, self.pointer);
            self.e.store(at, value, size, tags);
        }
        Ok(Vec::new())
    }

    pub(super) fn atomicrmw(&mut self) -> Read<Vec<Temp>> {
        let swaps = self.eat(UPPER_FIRST);
        let volatile = self.eat("volatile");
        let op = self.take();
        let addr = self.pointer()?;
        self.expect(",")?;
        let (ty, bits) = self.lanes()?;
        let operand = self.value(&ty)?;
        let tags = self.access(true, volatile)?;
        let size = if ty.count() > 1 { whole(&ty)? } else { bytes(bits)? };
        if swaps {
            swapped(&ty)?;
        }
        let dst = self.e.temp();
        let swap =
            |e: &mut Emit, value| if swaps { e.un(UnOp::ByteSwap, value, bits) } else { value };
        let update = (op != "xchg").then(|| Update::named(op, ty.format())).transpose()?;
        let mut new = joined(&mut self.e, &operand, bits).map(|new| swap(&mut self.e, new));
        let body = match update {
            None => Vec::new(),
            Some(update) => self.e.block(|e| {
                let old = swap(e, dst);
                let old = if ty.count() > 1 { lanes_of(e, old, &ty) } else { vec![old] };
                let pairs = old.into_iter().zip(&operand);
                let lanes: Vec<Temp> = pairs.map(|(o, v)| update.of(e, o, *v, bits)).collect();
                new = joined(e, &lanes, bits).map(|new| swap(e, new));
            }),
        };
        self.e.op(Op::Rmw { dst, addr, size, tags, body, new: new? });
        let old = swap(&mut self.e, dst);
        Ok(if ty.count() > 1 { lanes_of(&mut self.e, old, &ty) } else { vec![old] })
    }

    /// A compare-exchange takes one of two ways: a read-modify-write of the expected value, or a
    /// load of another one (a weak one, of any).
    pub(super) fn cmpxchg(&mut self) -> Read<Vec<Temp>> {
        let swaps = self.eat(UPPER_FIRST);
        let weak = self.eat("weak");
        let volatile = self.eat("volatile");
        let addr = self.pointer()?;
        self.expect(",")?;
        let (ty, bits) = self.scalar()?;
        let want = self.value(&ty)?;
        let want = one(&want)?;
        self.expect(",")?;
        let (_, new) = self.typed()?;
        let new = one(&new)?;
        let success = self.access(true, volatile)?;
        let failure = self.order()? | success.among(tag::C_VOLATILE);
        let size = bytes(bits)?;
        if swaps {
            swapped(&ty)?;
        }
        let mut turned = |value| if swaps { self.e.un(UnOp::ByteSwap, value, bits) } else { value };
        let (want, new) = (turned(want), turned(new));
        let swap = Swap { addr, size, bits, want, new, weak, success, failure };
        let (old, ok) = self.e.compare_exchange(&swap);
        Ok(vec![if swaps { self.e.un(UnOp::ByteSwap, old, bits) } else { old }, ok])
    }

    pub(super) fn fence(&mut self) -> Read<Vec<Temp>> {
        let single = self.single()?;
        let order = self.order()?.without(tag::C_A);
        let tags = if single { tag::C_SIGNAL } else { order };
        self.e.op(Op::Fence { tags });
        Ok(Vec::new())
    }

    /// Copies or fills memory: in words, or in elements of a size that is told, each of which is accessed atomically.
    pub(super) fn memory(
        &mut self,
        name: &str,
        to: Temp,
        from: Temp,
        literals: &[&str],
    ) -> Read<()> {
        let number = |i: usize| literals.get(i).and_then(|n| n.parse::<u64>().ok());
        let size = number(2)
            .filter(|n| *n <= MOST_COPIED)
            .ok_or_else(|| format!("unsupported: `{name}` of unknown or great size"))?;
        let (tags, parts) = match name.contains(".element.unordered.atomic.") {
            true => {
                let element = number(3)
                    .filter(|n| matches!(n, 1 | 2 | 4 | 8 | 16) && size % n == 0)
                    .ok_or_else(|| format!("unsupported: `{name}` of such elements"))?;
                let parts = (0..size / element).map(|i| (i * element, element as u8)).collect();
                (tag::UNORDERED | tag::C_A, parts)
            }
            false => {
                let volatile = literals.get(3) == Some(&"true");
                let tags = if volatile { tag::C_VOLATILE } else { Tags::NONE };
                (tags, pieces(size, self.pointer / 8))
            }
        };
        if name.starts_with("llvm.memset.") {
            let ones = self.e.int(u128::MAX / 0xff);
            let byte = self.e.bin_int(BinOp::And, from, 0xff, 128);
            let pattern = self.e.bin(BinOp::Mul, byte, ones, 128);
            for (at, n) in parts {
                let to = self.e.add_int(to, at as i64, self.pointer);
                self.e.store(to, pattern, n, tags);
            }
            return Ok(());
        }
        // All is read before any of it is written, as of memory that overlaps.
        let mut read = Vec::new();
        for (at, n) in parts {
            let from = self.e.add_int(from, at as i64, self.pointer);
            read.push((at, n, self.e.load(from, n, tags)));
        }
        for (at, n, value) in read {
            let to = self.e.add_int(to, at as i64, self.pointer);
            self.e.store(to, value, n, tags);
        }
        Ok(())
    }

    /// An operation of `libatomic`, which compilers call for objects that they do not access
    /// themselves: with its size in its name and values by value, or with the size as the first
    /// argument and values through pointers.
    pub(super) fn library(
        &mut self,
        operation: &str,
        ty: &Type,
        args: &[(Type, Vec<Temp>)],
        literals: &[&str],
    ) -> Read<Vec<Temp>> {
        let unknown = || format!("unsupported: the library's `__atomic_{operation}`");
        let sized =
            operation.rsplit_once('_').and_then(|(op, n)| Some((op, n.parse::<u8>().ok()?)));
        let (op, size, first, by_value) = match sized {
            Some((op, size)) => (op, size, 0, true),
            None => {
                let size = literals.first().and_then(|n| n.parse().ok()).ok_or_else(unknown)?;
                (operation, size, 1, false)
            }
        };
        let bits = match size {
            1 | 2 | 4 | 8 | 16 => size * 8,
            _ => return Err(unknown()),
        };
        let arg = |i: usize| args.get(first + i).ok_or_else(unknown).and_then(|(_, v)| one(v));
        let order = |i: usize| -> Read<Tags> {
            let of = [tag::C_RLX, tag::C_ACQ, tag::C_ACQ, tag::C_REL, tag::C_ACQ_REL, tag::C_SC];
            let number = literals.get(first + i).and_then(|n| n.parse::<usize>().ok());
            number.and_then(|n| of.get(n)).map(|t| *t | tag::C_A).ok_or_else(unknown)
        };
        // A value that is given, by itself or through a pointer.
        let given = |this: &mut Self, i: usize| -> Read<Temp> {
            let value = arg(i)?;
            Ok(if by_value { value } else { this.e.load(value, size, Tags::NONE) })
        };
        let addr = arg(0)?;
        match op {
            "load" => {
                let value = self.e.load(addr, size, order(if by_value { 1 } else { 2 })?);
                if !by_value {
                    self.e.store(arg(1)?, value, size, Tags::NONE);
                }
                Ok(if by_value { vec![value] } else { Vec::new() })
            }
            "store" => {
                let value = given(self, 1)?;
                self.e.store(addr, value, size, order(2)?);
                Ok(Vec::new())
            }
            "exchange" => {
                let (new, dst) = (given(self, 1)?, self.e.temp());
                let tags = order(if by_value { 2 } else { 3 })?;
                self.e.op(Op::Rmw { dst, addr, size, tags, body: Vec::new(), new });
                if !by_value {
                    self.e.store(arg(2)?, dst, size, Tags::NONE);
                }
                Ok(if by_value { vec![dst] } else { Vec::new() })
            }
            "compare_exchange" => {
                let want = self.e.load(arg(1)?, size, Tags::NONE);
                let new = given(self, 2)?;
                let (success, failure) = (order(3)?, order(4)?);
                let swap = Swap { addr, size, bits, want, new, weak: false, success, failure };
                let (old, ok) = self.e.compare_exchange(&swap);
                let expected = arg(1)?;
                let no = self.e.block(|e| e.store(expected, old, size, Tags::NONE));
                self.e.op(Op::If { cond: ok, yes: Vec::new(), no });
                Ok(vec![ok])
            }
            _ => {
                let (op, new_value) = match (op.strip_prefix("fetch_"), op.strip_suffix("_fetch")) {
                    (Some(op), _) => (op, false),
                    (None, Some(op)) => (op, true),
                    (None, None) => return Err(unknown()),
                };
                let update = match op {
                    "add" | "sub" | "and" | "or" | "xor" | "nand" => Update::named(op, None)?,
                    _ => return Err(unknown()),
                };
                if *ty == Type::Void || !by_value {
                    return Err(unknown());
                }
                let (value, dst, tags) = (arg(1)?, self.e.temp(), order(2)?);
                let mut new = value;
                let body = self.e.block(|e| new = update.of(e, dst, value, bits));
                self.e.op(Op::Rmw { dst, addr, size, tags, body, new });
                Ok(vec![if new_value { update.of(&mut self.e, dst, value, bits) } else { dst }])
            }
        }
    }
}

/// Pieces of a run of bytes that are accessed at once: words, each as wide as a pointer, and what is left.
fn pieces(size: u64, word: u8) -> Vec<(u64, u8)> {
    let (mut at, mut out) = (0, Vec::new());
    while at < size {
        let n = [8, 4, 2, 1]
            .into_iter()
            .find(|n| *n <= word && u64::from(*n) <= size - at)
            .unwrap_or(1);
        out.push((at, n));
        at += u64::from(n);
    }
    out
}

/// The bytes of a vector that is accessed as a whole.
fn whole(ty: &Type) -> Read<u8> {
    let bytes = u64::from(lane(ty).unwrap_or(0)) / 8 * ty.count();
    match (ty, bytes) {
        (Type::Vector(..), 2 | 4 | 8 | 16) => Ok(bytes as u8),
        _ => Err("unsupported: an atomic access to such a type".into()),
    }
}

/// The bytes of a number of which the upper byte comes first.
fn swapped(ty: &Type) -> Read<u8> {
    match (ty, lane(ty)) {
        (Type::Int(_) | Type::Float(_), Some(bits @ (8 | 16 | 32 | 64 | 128))) => Ok(bits / 8),
        _ => Err("unsupported: such a value where the upper byte comes first".into()),
    }
}

/// The bytes of an access to so many bits.
fn bytes(bits: u8) -> Read<u8> {
    let size = bits.div_ceil(8);
    match size.is_power_of_two() && size <= 16 {
        true => Ok(size),
        false => Err(format!("unsupported: an access to {bits} bits")),
    }
}
