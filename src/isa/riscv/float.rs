//! Floating point of 32 and 64 bits (F and D): loads, stores, moves, conversions, comparisons and
//! arithmetic, from names to meaning. Fused operations, square roots and other roundings than to
//! the nearest (towards zero, for integers) are refused.
//!
//! A number of 32 bits lies in the low half of its register, with ones above it. What reads a
//! register that has none there gets what is no number on a machine, and the low half here: no
//! compiler writes such code.

use super::insn::{Address, X};
use super::lower::Lower;
use crate::thread::Done;
use litmake_ops::{BinOp, Port, Temp, UnOp};

/// How an instruction changes the sign of its first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It becomes that of the second operand.
    Copy,
    Opposite,
    Xor,
}

/// An instruction by its name. Widths are in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Load(u8),
    Store(u8),
    ToX(u8),
    FromX(u8),
    /// A sign operation whose one source is both operands of [`Shape::Sign`].
    Sign1(Sign, u8),
    Sign(Sign, u8),
    Arith(BinOp, u8),
    Compare(BinOp, u8),
    ToInt {
        from: u8,
        to: u8,
        signed: bool,
    },
    FromInt {
        from: u8,
        signed: bool,
        to: u8,
    },
    Resize {
        from: u8,
        to: u8,
    },
}

/// An instruction with its operands. The number of a floating-point register is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Float {
    Load {
        bits: u8,
        rd: X,
        addr: Address,
    },
    Store {
        bits: u8,
        value: X,
        addr: Address,
    },
    /// An operation on up to two sources; a single one stands in both places.
    Op {
        shape: Shape,
        rd: X,
        a: X,
        b: X,
    },
}

/// The letters of widths.
const WIDTHS: [(&str, u8); 2] = [("s", 32), ("d", 64)];

const INTEGERS: [(&str, u8, bool); 4] =
    [("w", 32, true), ("wu", 32, false), ("l", 64, true), ("lu", 64, false)];

/// The meaning of an instruction at a width.
type OfWidth = fn(u8) -> Shape;

/// Names before the width.
const NAMED: [(&str, OfWidth); 13] = [
    ("fmv", |w| Shape::Sign1(Sign::Copy, w)),
    ("fneg", |w| Shape::Sign1(Sign::Opposite, w)),
    ("fabs", |w| Shape::Sign1(Sign::Xor, w)),
    ("fsgnj", |w| Shape::Sign(Sign::Copy, w)),
    ("fsgnjn", |w| Shape::Sign(Sign::Opposite, w)),
    ("fsgnjx", |w| Shape::Sign(Sign::Xor, w)),
    ("fadd", |w| Shape::Arith(BinOp::FloatAdd, w)),
    ("fsub", |w| Shape::Arith(BinOp::FloatSub, w)),
    ("fmul", |w| Shape::Arith(BinOp::FloatMul, w)),
    ("fdiv", |w| Shape::Arith(BinOp::FloatDiv, w)),
    ("feq", |w| Shape::Compare(BinOp::FloatEq, w)),
    ("flt", |w| Shape::Compare(BinOp::FloatLt, w)),
    ("fle", |w| Shape::Compare(BinOp::FloatLe, w)),
];

const SINGLES: [(&str, Shape); 8] = [
    ("flw", Shape::Load(32)),
    ("fld", Shape::Load(64)),
    ("fsw", Shape::Store(32)),
    ("fsd", Shape::Store(64)),
    ("fmv.x.w", Shape::ToX(32)),
    ("fmv.x.d", Shape::ToX(64)),
    ("fmv.w.x", Shape::FromX(32)),
    ("fmv.d.x", Shape::FromX(64)),
];

fn width(letter: &str) -> Option<u8> {
    WIDTHS.iter().find(|(l, _)| *l == letter).map(|(_, w)| *w)
}

fn integer(name: &str) -> Option<(u8, bool)> {
    INTEGERS.iter().find(|(n, ..)| *n == name).map(|(_, bits, signed)| (*bits, *signed))
}

/// The meaning of a lower-case mnemonic.
pub fn look_up(name: &str) -> Option<Shape> {
    if let Some((_, shape)) = SINGLES.iter().find(|(n, _)| *n == name) {
        return Some(*shape);
    }
    if let Some((to, from)) = name.strip_prefix("fcvt.").and_then(|n| n.split_once('.')) {
        return match (width(to), width(from), integer(to), integer(from)) {
            (Some(to), Some(from), ..) if from != to => Some(Shape::Resize { from, to }),
            (Some(to), _, _, Some((from, signed))) => Some(Shape::FromInt { from, signed, to }),
            (_, Some(from), Some((to, signed)), _) => Some(Shape::ToInt { from, to, signed }),
            _ => None,
        };
    }
    let (stem, letter) = name.split_once('.')?;
    let (_, shape) = NAMED.iter().find(|(n, _)| *n == stem)?;
    Some(shape(width(letter)?))
}

/// Every mnemonic, for suggestions.
pub fn names() -> impl Iterator<Item = String> {
    let named = NAMED.iter().flat_map(|(n, _)| WIDTHS.map(|(w, _)| format!("{n}.{w}")));
    let conversions = INTEGERS.iter().flat_map(|(i, ..)| {
        WIDTHS.iter().flat_map(move |(w, _)| [format!("fcvt.{i}.{w}"), format!("fcvt.{w}.{i}")])
    });
    let resize = ["fcvt.s.d", "fcvt.d.s"].map(str::to_string);
    let singles = SINGLES.iter().map(|(n, _)| n.to_string());
    singles.chain(named).chain(conversions).chain(resize)
}

/// The roundings of which one may stand at the end of an instruction; none is `dyn`.
pub fn rounds_as(shape: Shape, mode: Option<&str>) -> bool {
    match shape {
        Shape::ToInt { .. } => mode == Some("rtz"),
        Shape::FromInt { .. } | Shape::Resize { .. } | Shape::Arith(..) => {
            matches!(mode, None | Some("dyn" | "rne"))
        }
        _ => mode.is_none(),
    }
}

impl Lower<'_> {
    pub fn float(&mut self, insn: &Float) -> Done {
        match insn {
            Float::Load { bits, rd, addr } => {
                let addr = self.address(addr)?;
                let value = self.e.load(addr, bits / 8, litmake_ops::Tags::NONE);
                self.write_float(*rd, value, *bits);
            }
            Float::Store { bits, value, addr } => {
                let value = self.read_float(*value, *bits, Port::Data);
                let addr = self.address(addr)?;
                self.e.store(addr, value, bits / 8, litmake_ops::Tags::NONE);
            }
            Float::Op { shape, rd, a, b } => self.float_op(*shape, *rd, *a, *b),
        }
        Ok(())
    }

    fn float_op(&mut self, shape: Shape, rd: X, a: X, b: X) {
        match shape {
            Shape::Load(_) | Shape::Store(_) => {}
            Shape::ToX(bits) => {
                let value = self.read_float(a, bits, Port::None);
                self.write_loaded(rd, value, bits / 8, true);
            }
            Shape::FromX(bits) => {
                let value = self.read(a, Port::None);
                let value = self.low(value, bits);
                self.write_float(rd, value, bits);
            }
            Shape::Sign1(sign, bits) | Shape::Sign(sign, bits) => {
                let (x, y) =
                    (self.read_float(a, bits, Port::None), self.read_float(b, bits, Port::None));
                let top = 1u128 << (bits - 1);
                let mut of = self.e.bin_int(BinOp::And, y, top, bits);
                if sign == Sign::Opposite {
                    of = self.e.bin_int(BinOp::Xor, of, top, bits);
                }
                let value = match sign {
                    Sign::Xor => self.e.bin(BinOp::Xor, x, of, bits),
                    _ => {
                        let rest = self.e.bin_int(BinOp::And, x, top - 1, bits);
                        self.e.bin(BinOp::Or, rest, of, bits)
                    }
                };
                self.write_float(rd, value, bits);
            }
            Shape::Arith(op, bits) => {
                let (x, y) =
                    (self.read_float(a, bits, Port::None), self.read_float(b, bits, Port::None));
                let value = self.e.bin(op, x, y, bits);
                self.write_float(rd, value, bits);
            }
            Shape::Compare(op, bits) => {
                let (x, y) =
                    (self.read_float(a, bits, Port::None), self.read_float(b, bits, Port::None));
                let value = self.e.bin(op, x, y, bits);
                self.write(rd, value);
            }
            Shape::ToInt { from, to, signed } => {
                let x = self.read_float(a, from, Port::None);
                let value = self.e.un(UnOp::FloatToInt { from, signed }, x, to);
                // A NaN becomes the largest number.
                let most = self.e.int(u128::MAX >> (128 - u32::from(to - u8::from(signed))));
                let is_number = self.e.bin(BinOp::FloatEq, x, x, from);
                let value = self.e.select(is_number, value, most);
                // One of 32 bits is sign-extended, with or without a sign of its own.
                self.write_loaded(rd, value, to / 8, true);
            }
            Shape::FromInt { from, signed, to } => {
                let x = self.read(a, Port::None);
                let value = self.e.un(UnOp::FloatFromInt { from, signed }, x, to);
                self.write_float(rd, value, to);
            }
            Shape::Resize { from, to } => {
                let x = self.read_float(a, from, Port::None);
                let value = self.e.un(UnOp::FloatResize { from }, x, to);
                self.write_float(rd, value, to);
            }
        }
    }

    fn low(&mut self, value: Temp, bits: u8) -> Temp {
        match bits {
            64 => value,
            from => self.e.un(UnOp::ZeroExt { from }, value, 64),
        }
    }

    fn read_float(&mut self, num: X, bits: u8, port: Port) -> Temp {
        let reg = self.code.reg(&format!("f{num}"), 64, false);
        let value = self.e.read(reg, port);
        self.low(value, bits)
    }

    fn write_float(&mut self, num: X, value: Temp, bits: u8) {
        let reg = self.code.reg(&format!("f{num}"), 64, false);
        let value = match bits {
            64 => value,
            _ => self.e.bin_int(BinOp::Or, value, 0xffff_ffff_0000_0000, 64),
        };
        self.e.write(reg, value);
    }
}
