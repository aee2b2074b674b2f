//! RISC-V mnemonics: what each does and which operands it takes; the meaning of those with one
//! source stands in their rows. It does not read operands.

use super::float;
use super::insn::{Amo, Insn, Op1, Op2, Order};
use crate::microcode::Emit;
use litmake_ops::{BinOp, Temp, UnOp, tag};

/// How an instruction is written, and what it does.
#[derive(Clone, Debug)]
pub enum Shape {
    Plain(Insn),
    Li,
    La,
    /// `lui`, or `auipc` where relative.
    Lui {
        relative: bool,
    },
    Op2 {
        op: Op2,
        word: bool,
    },
    Op1 {
        op: Op1,
        word: bool,
    },
    Mv,
    /// A two-operand operation of which one operand is fixed: x0 first where `swap`, else
    /// `other` (0 for x0) second.
    Pseudo2 {
        op: Op2,
        word: bool,
        swap: bool,
        other: i64,
    },
    /// `sgt`: the operands the other way round.
    Greater {
        op: BinOp,
    },
    Load {
        bytes: u8,
        signed: bool,
    },
    Store {
        bytes: u8,
    },
    Lr {
        bytes: u8,
    },
    Sc {
        bytes: u8,
    },
    /// None: compare and swap.
    Amo {
        op: Option<Amo>,
        bytes: u8,
    },
    Fence,
    Branch {
        op: BinOp,
        holds: bool,
        swap: bool,
    },
    BranchZero {
        op: BinOp,
        holds: bool,
        swap: bool,
    },
    Jump {
        link: bool,
    },
    Jr,
    Jalr,
    Float(float::Shape),
}

impl Shape {
    pub fn takes_order(&self) -> bool {
        matches!(
            self,
            Shape::Load { .. }
                | Shape::Store { .. }
                | Shape::Lr { .. }
                | Shape::Sc { .. }
                | Shape::Amo { .. }
        )
    }
}

/// Takes the ordering annotation off a mnemonic.
pub fn order(name: &str) -> (&str, Order) {
    for (suffix, aq, rl) in
        [(".aqrl", true, true), (".aq.rl", true, true), (".aq", true, false), (".rl", false, true)]
    {
        if let Some(stem) = name.strip_suffix(suffix) {
            return (stem, Order { aq, rl });
        }
    }
    (name, Order::default())
}

/// Operations on two operands: name, in 64 bits, in 32; and whether a form with a constant
/// exists (`addi`, `addiw`).
const OPS: &[(&str, Op2, bool, bool)] = &[
    ("add", Op2::Bin(BinOp::Add), true, true),
    ("sub", Op2::Bin(BinOp::Sub), true, false),
    ("and", Op2::Bin(BinOp::And), false, true),
    ("or", Op2::Bin(BinOp::Or), false, true),
    ("xor", Op2::Bin(BinOp::Xor), false, true),
    ("sll", Op2::Shift(BinOp::Shl), true, true),
    ("srl", Op2::Shift(BinOp::Shr), true, true),
    ("sra", Op2::Shift(BinOp::Sar), true, true),
    ("slt", Op2::Bin(BinOp::LtS), false, true),
    ("mul", Op2::Bin(BinOp::Mul), true, false),
    ("mulh", Op2::Bin(BinOp::MulHiS), false, false),
    ("mulhu", Op2::Bin(BinOp::MulHiU), false, false),
    ("mulhsu", Op2::MulHiSU, false, false),
    ("div", Op2::Div { signed: true }, true, false),
    ("divu", Op2::Div { signed: false }, true, false),
    ("rem", Op2::Rem { signed: true }, true, false),
    ("remu", Op2::Rem { signed: false }, true, false),
    ("andn", Op2::AndNot, false, false),
    ("orn", Op2::OrNot, false, false),
    ("xnor", Op2::XorNot, false, false),
    ("min", Op2::Bin(BinOp::MinS), false, false),
    ("minu", Op2::Bin(BinOp::MinU), false, false),
    ("max", Op2::Bin(BinOp::MaxS), false, false),
    ("maxu", Op2::Bin(BinOp::MaxU), false, false),
    ("ror", Op2::Shift(BinOp::Ror), true, true),
    ("rol", Op2::RotateLeft, true, false),
    ("bset", Op2::BitSet, false, true),
    ("bclr", Op2::BitClear, false, true),
    ("binv", Op2::BitInvert, false, true),
    ("bext", Op2::BitExtract, false, true),
];

/// Operations whose names follow no rule.
const ODD_OPS: &[(&str, Op2)] = &[
    ("sltu", Op2::Bin(BinOp::LtU)),
    ("sltiu", Op2::Bin(BinOp::LtU)),
    ("sh1add", Op2::ShiftAdd(1)),
    ("sh2add", Op2::ShiftAdd(2)),
    ("sh3add", Op2::ShiftAdd(3)),
    ("add.uw", Op2::ShiftAddUw(0)),
    ("sh1add.uw", Op2::ShiftAddUw(1)),
    ("sh2add.uw", Op2::ShiftAddUw(2)),
    ("sh3add.uw", Op2::ShiftAddUw(3)),
    ("slli.uw", Op2::ShiftUw),
    ("czero.eqz", Op2::ZeroIf { zero: true }),
    ("czero.nez", Op2::ZeroIf { zero: false }),
];

const UNARY: &[(&str, Op1, bool)] = &[
    ("sext.b", |e, a, _| e.un(UnOp::SignExt { from: 8 }, a, 64), false),
    ("sext.h", |e, a, _| e.un(UnOp::SignExt { from: 16 }, a, 64), false),
    ("sext.w", sign_extended_word, false),
    ("zext.b", |e, a, _| e.un(UnOp::ZeroExt { from: 8 }, a, 64), false),
    ("zext.h", |e, a, _| e.un(UnOp::ZeroExt { from: 16 }, a, 64), false),
    ("zext.w", |e, a, _| e.un(UnOp::ZeroExt { from: 32 }, a, 64), false),
    ("clz", |e, a, bits| e.un(UnOp::Clz, a, bits), false),
    ("clzw", |e, a, bits| e.un(UnOp::Clz, a, bits), true),
    ("ctz", trailing_zeros, false),
    ("ctzw", trailing_zeros, true),
    ("cpop", |e, a, bits| e.un(UnOp::PopCount, a, bits), false),
    ("cpopw", |e, a, bits| e.un(UnOp::PopCount, a, bits), true),
    ("rev8", |e, a, bits| e.un(UnOp::ByteSwap, a, bits), false),
    ("orc.b", or_of_bytes, false),
];

pub fn sign_extended_word(e: &mut Emit, a: Temp, _: u8) -> Temp {
    e.un(UnOp::SignExt { from: 32 }, a, 64)
}

fn trailing_zeros(e: &mut Emit, a: Temp, bits: u8) -> Temp {
    let reversed = e.un(UnOp::BitReverse, a, bits);
    e.un(UnOp::Clz, reversed, bits)
}

/// The lowest bit of a byte becomes whether any is set, and then all of them.
fn or_of_bytes(e: &mut Emit, a: Temp, bits: u8) -> Temp {
    let mut any = a;
    for by in [1, 2, 4] {
        let moved = e.bin_int(BinOp::Shr, any, by, bits);
        any = e.bin(BinOp::Or, any, moved, bits);
    }
    let any = e.bin_int(BinOp::And, any, 0x0101_0101_0101_0101, bits);
    e.bin_int(BinOp::Mul, any, 0xff, bits)
}

/// Pseudo-instructions of two registers: name, operation, 32 bits, x0 first, other operand.
const PSEUDO: &[(&str, Op2, bool, bool, i64)] = &[
    ("neg", Op2::Bin(BinOp::Sub), false, true, 0),
    ("negw", Op2::Bin(BinOp::Sub), true, true, 0),
    ("not", Op2::Bin(BinOp::Xor), false, false, -1),
    ("seqz", Op2::Bin(BinOp::LtU), false, false, 1),
    ("snez", Op2::Bin(BinOp::LtU), false, true, 0),
    ("sltz", Op2::Bin(BinOp::LtS), false, false, 0),
    ("sgtz", Op2::Bin(BinOp::LtS), false, true, 0),
];

/// Branches: name, comparison, whether it must hold, operands swapped.
const BRANCHES: &[(&str, BinOp, bool, bool)] = &[
    ("beq", BinOp::Eq, true, false),
    ("bne", BinOp::Ne, true, false),
    ("blt", BinOp::LtS, true, false),
    ("bltu", BinOp::LtU, true, false),
    ("bge", BinOp::LtS, false, false),
    ("bgeu", BinOp::LtU, false, false),
    ("bgt", BinOp::LtS, true, true),
    ("bgtu", BinOp::LtU, true, true),
    ("ble", BinOp::LtS, false, true),
    ("bleu", BinOp::LtU, false, true),
];

const AMOS: &[(&str, Option<Amo>)] = &[
    ("amoswap", Some(Amo::Swap)),
    ("amoadd", Some(Amo::Op(BinOp::Add))),
    ("amoand", Some(Amo::Op(BinOp::And))),
    ("amoor", Some(Amo::Op(BinOp::Or))),
    ("amoxor", Some(Amo::Op(BinOp::Xor))),
    ("amomax", Some(Amo::Op(BinOp::MaxS))),
    ("amomaxu", Some(Amo::Op(BinOp::MaxU))),
    ("amomin", Some(Amo::Op(BinOp::MinS))),
    ("amominu", Some(Amo::Op(BinOp::MinU))),
    ("amocas", None),
];

const ACCESSES: &[(&str, u8)] = &[("b", 1), ("h", 2), ("w", 4), ("d", 8)];

/// Names with a shape of their own.
fn single(name: &str) -> Option<Shape> {
    Some(match name {
        "nop" | "pause" | "wrs.nto" | "wrs.sto" => Shape::Plain(Insn::Nop),
        "unimp" | "ebreak" | "ecall" => Shape::Plain(Insn::Stop),
        "ret" => Shape::Plain(Insn::JumpReg { rd: 0, base: super::insn::RA, off: 0 }),
        "li" => Shape::Li,
        "la" | "lla" | "lga" => Shape::La,
        "lui" => Shape::Lui { relative: false },
        "auipc" => Shape::Lui { relative: true },
        "mv" | "move" => Shape::Mv,
        "sgt" => Shape::Greater { op: BinOp::LtS },
        "sgtu" => Shape::Greater { op: BinOp::LtU },
        "fence" => Shape::Fence,
        "fence.tso" => Shape::Plain(Insn::Fence(tag::Fence_tso)),
        "fence.i" => Shape::Plain(Insn::Fence(tag::Fence_i)),
        "j" | "tail" => Shape::Jump { link: false },
        "jal" | "call" => Shape::Jump { link: true },
        "jr" => Shape::Jr,
        "jalr" => Shape::Jalr,
        _ => return None,
    })
}

const SINGLES: &[&str] = &[
    "nop",
    "pause",
    "unimp",
    "ebreak",
    "ecall",
    "ret",
    "li",
    "la",
    "lla",
    "lga",
    "lui",
    "auipc",
    "mv",
    "sgt",
    "sgtu",
    "fence",
    "fence.tso",
    "fence.i",
    "j",
    "tail",
    "jal",
    "call",
    "jr",
    "jalr",
];

/// The meaning of a lower-case mnemonic without its ordering annotation.
pub fn look_up(name: &str) -> Option<Shape> {
    let float = || float::look_up(name).map(Shape::Float);
    let integer = single(name).or_else(|| access(name)).or_else(|| arithmetic(name));
    integer.or_else(|| branch(name)).or_else(float)
}

fn bytes(letter: &str) -> Option<u8> {
    ACCESSES.iter().find(|(l, _)| *l == letter).map(|(_, b)| *b)
}

fn access(name: &str) -> Option<Shape> {
    if let Some((stem, width)) = name.split_once('.') {
        let op = AMOS.iter().find(|(n, _)| *n == stem).map(|(_, op)| *op);
        return match (stem, op, bytes(width)) {
            ("lr", _, Some(bytes @ (4 | 8))) => Some(Shape::Lr { bytes }),
            ("sc", _, Some(bytes @ (4 | 8))) => Some(Shape::Sc { bytes }),
            (_, Some(op), Some(bytes)) => Some(Shape::Amo { op, bytes }),
            (_, Some(None), None) if width == "q" => Some(Shape::Amo { op: None, bytes: 16 }),
            _ => None,
        };
    }
    if let Some(width) = name.strip_prefix('l') {
        let (letter, signed) = match width.strip_suffix('u') {
            Some(letter) if letter != "d" => (letter, false),
            _ => (width, true),
        };
        return bytes(letter).map(|bytes| Shape::Load { bytes, signed });
    }
    bytes(name.strip_prefix('s')?).map(|bytes| Shape::Store { bytes })
}

fn arithmetic(name: &str) -> Option<Shape> {
    if let Some((_, op)) = ODD_OPS.iter().find(|(n, _)| *n == name) {
        return Some(Shape::Op2 { op: *op, word: false });
    }
    if let Some((_, op, word)) = UNARY.iter().find(|(n, ..)| *n == name) {
        return Some(Shape::Op1 { op: *op, word: *word });
    }
    if let Some((_, op, word, swap, other)) = PSEUDO.iter().find(|(n, ..)| *n == name) {
        return Some(Shape::Pseudo2 { op: *op, word: *word, swap: *swap, other: *other });
    }
    OPS.iter().find_map(|(stem, op, has_word, has_imm)| {
        let word = match name.strip_prefix(stem)? {
            "" => false,
            "w" if *has_word => true,
            "i" if *has_imm => false,
            "iw" if *has_imm && *has_word => true,
            _ => return None,
        };
        Some(Shape::Op2 { op: *op, word })
    })
}

fn branch(name: &str) -> Option<Shape> {
    if let Some((_, op, holds, swap)) = BRANCHES.iter().find(|(n, ..)| *n == name) {
        return Some(Shape::Branch { op: *op, holds: *holds, swap: *swap });
    }
    let stem = name.strip_suffix('z')?;
    let (_, op, holds, swap) = BRANCHES.iter().find(|(n, ..)| *n == stem)?;
    (*op != BinOp::LtU).then_some(Shape::BranchZero { op: *op, holds: *holds, swap: *swap })
}

/// Every mnemonic, for suggestions.
pub fn names() -> impl Iterator<Item = String> {
    let words = SINGLES
        .iter()
        .copied()
        .chain(ODD_OPS.iter().map(|(n, _)| *n))
        .chain(UNARY.iter().map(|(n, ..)| *n))
        .chain(PSEUDO.iter().map(|(n, ..)| *n))
        .map(str::to_string);
    let ops = OPS.iter().flat_map(|(n, _, word, imm)| {
        let forms = [("", true), ("w", *word), ("i", *imm), ("iw", *word && *imm)];
        forms.into_iter().filter(|(_, has)| *has).map(move |(f, _)| format!("{n}{f}"))
    });
    let branches = BRANCHES.iter().flat_map(|(n, op, ..)| {
        let zero = (*op != BinOp::LtU).then(|| format!("{n}z"));
        zero.into_iter().chain([n.to_string()])
    });
    let accesses = ACCESSES.iter().flat_map(|(w, bytes)| {
        let unsigned = (*bytes < 8).then(|| format!("l{w}u"));
        let reserved = (*bytes >= 4).then(|| [format!("lr.{w}"), format!("sc.{w}")]);
        let amos = AMOS.iter().map(move |(n, _)| format!("{n}.{w}"));
        [format!("l{w}"), format!("s{w}")]
            .into_iter()
            .chain(unsigned)
            .chain(reserved.into_iter().flatten())
            .chain(amos)
    });
    let plain: Vec<String> = accesses.collect();
    let ordered: Vec<String> =
        plain.iter().flat_map(|n| [".aq", ".rl", ".aqrl"].map(|o| format!("{n}{o}"))).collect();
    words.chain(ops).chain(branches).chain(plain).chain(ordered).chain(float::names())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_known() {
        for name in names() {
            let (stem, o) = order(&name);
            let shape = look_up(stem);
            assert!(shape.is_some(), "{name}");
            if o != Order::default() {
                assert!(shape.is_some_and(|s| s.takes_order()), "{name}");
            }
        }
    }

    #[test]
    fn names_that_look_like_others() {
        for bad in [
            "", "l", "s", "z", "ldu", "lq", "lr.b", "sc.h", "amoadd.q", "subi", "divi", "andw",
            "bltuz", "bz", "sext", "amoswap", "mulw.aq", "é", "slliu",
        ] {
            assert!(look_up(bad).is_none(), "{bad}");
        }
        let is = |name: &str, shape: &str| assert_eq!(format!("{:?}", look_up(name)), shape);
        is("sltiu", "Some(Op2 { op: Bin(LtU), word: false })");
        is("slliw", "Some(Op2 { op: Shift(Shl), word: true })");
        is("amocas.q", "Some(Amo { op: None, bytes: 16 })");
        assert_eq!(order("sw.aq.rl").0, "sw");
        assert_eq!(order("lw.aq").1, Order { aq: true, rl: false });
    }
}
