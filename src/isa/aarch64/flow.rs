//! Branches, fences, hints and system registers.

use super::emit::{CONDITIONS, Cond, Emit, Lowered, Refusal};
use super::operand::Operand;
use super::regs::{Flag, Name, View};
use litmake_ops::{BinOp, Op, Port, Tags, Temp, UnOp, Val, tag};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Jump,
    /// `B.EQ`, `BEQ`.
    If(Cond),
    /// CBZ, CBNZ.
    Zero {
        negated: bool,
    },
    /// TBZ, TBNZ.
    Bit {
        negated: bool,
    },
    /// A comparison of two values of `bits` (0: those of the register) that branches
    /// (FEAT_CMPBR): the comparison, with its operands swapped or not.
    Compare {
        op: BinOp,
        swap: bool,
        bits: u8,
    },
    Call,
    CallTo,
    JumpTo,
    Return,
    Dmb,
    Dsb,
    Isb,
    /// No effect on the outcome of a test.
    Nop,
    /// Ends the thread (BRK, UDF).
    Trap,
    ReadSystem,
    WriteSystem,
}

/// Instructions that hint, sign and authenticate return addresses in place or strip what that
/// adds (addresses here are never signed), or mark branch targets.
const NOPS: &[&str] = &[
    "NOP",
    "HINT",
    "HLT",
    "BTI",
    "YIELD",
    "WFE",
    "WFI",
    "SEV",
    "SEVL",
    "PACIASP",
    "PACIBSP",
    "AUTIASP",
    "AUTIBSP",
    "PACIAZ",
    "PACIBZ",
    "AUTIAZ",
    "AUTIBZ",
    "PACIA1716",
    "PACIB1716",
    "AUTIA1716",
    "AUTIB1716",
    "XPACLRI",
    "PACIA",
    "PACIB",
    "AUTIA",
    "AUTIB",
    "XPACI",
    "XPACD",
    "CSDB",
    "SB",
    "SSBB",
    "PSSBB",
    "ESB",
    "DGH",
    "CLRBHB",
    "CHKFEAT",
];

const OTHERS: &[(&str, Flow)] = &[
    ("B", Flow::Jump),
    ("CBZ", Flow::Zero { negated: false }),
    ("CBNZ", Flow::Zero { negated: true }),
    ("TBZ", Flow::Bit { negated: false }),
    ("TBNZ", Flow::Bit { negated: true }),
    ("BL", Flow::Call),
    ("BLR", Flow::CallTo),
    ("BR", Flow::JumpTo),
    ("RET", Flow::Return),
    ("RETAA", Flow::Return),
    ("RETAB", Flow::Return),
    ("DMB", Flow::Dmb),
    ("DSB", Flow::Dsb),
    ("ISB", Flow::Isb),
    ("BRK", Flow::Trap),
    ("UDF", Flow::Trap),
    ("MRS", Flow::ReadSystem),
    ("MSR", Flow::WriteSystem),
    // An exclusive that lost its reservation fails; a store-conditional may fail anyway, and
    // none follows a CLREX without a load of its own.
    ("CLREX", Flow::Nop),
];

pub fn table() -> Vec<(String, Flow)> {
    let mut all: Vec<(String, Flow)> = Vec::new();
    all.extend(OTHERS.iter().map(|(n, f)| (n.to_string(), *f)));
    all.extend(NOPS.iter().map(|n| (n.to_string(), Flow::Nop)));
    for (name, op, swap) in COMPARES {
        for (size, bits) in [("", 0), ("B", 8), ("H", 16)] {
            let (op, swap) = (*op, *swap);
            all.push((format!("CB{size}{name}"), Flow::Compare { op, swap, bits }));
        }
    }
    for (name, test, negated) in CONDITIONS {
        let cond = Cond { test: *test, negated: *negated };
        for dot in [".", ""] {
            all.push((format!("B{dot}{name}"), Flow::If(cond)));
        }
        // The branch that is consistent (FEAT_HBC) decides alike.
        all.push((format!("BC.{name}"), Flow::If(cond)));
    }
    all
}

/// The comparisons of FEAT_CMPBR.
const COMPARES: &[(&str, BinOp, bool)] = &[
    ("EQ", BinOp::Eq, false),
    ("NE", BinOp::Ne, false),
    ("GT", BinOp::LtS, true),
    ("GE", BinOp::LeS, true),
    ("HI", BinOp::LtU, true),
    ("HS", BinOp::LeU, true),
    ("LT", BinOp::LtS, false),
    ("LE", BinOp::LeS, false),
    ("LO", BinOp::LtU, false),
    ("LS", BinOp::LeU, false),
];

/// The option of a barrier: domain, and which accesses.
const OPTIONS: &[(&str, u8, Tags, Tags)] = &[
    ("SY", 15, tag::DMB_SY, tag::DSB_SY),
    ("ST", 14, tag::DMB_ST, tag::DSB_ST),
    ("LD", 13, tag::DMB_LD, tag::DSB_LD),
    ("ISH", 11, tag::DMB_ISH, tag::DSB_ISH),
    ("ISHST", 10, tag::DMB_ISHST, tag::DSB_ISHST),
    ("ISHLD", 9, tag::DMB_ISHLD, tag::DSB_ISHLD),
    ("NSH", 7, tag::DMB_NSH, tag::DSB_NSH),
    ("NSHST", 6, tag::DMB_NSHST, tag::DSB_NSHST),
    ("NSHLD", 5, tag::DMB_NSHLD, tag::DSB_NSHLD),
    ("OSH", 3, tag::DMB_OSH, tag::DSB_OSH),
    ("OSHST", 2, tag::DMB_OSHST, tag::DSB_OSHST),
    ("OSHLD", 1, tag::DMB_OSHLD, tag::DSB_OSHLD),
];

pub fn lower(flow: Flow, e: &mut Emit) -> Lowered {
    match flow {
        Flow::Jump => {
            let target = e.label(0)?;
            e.only(1)?;
            e.op(Op::Jump { target });
        }
        Flow::If(cond) => {
            let target = e.label(0)?;
            e.only(1)?;
            let cond = e.condition(cond);
            e.op(Op::Branch { cond, target });
        }
        Flow::Zero { negated } => {
            let v = e.gpr(0)?;
            let target = e.label(1)?;
            e.only(2)?;
            let value = e.read_raw(&v, Port::None);
            let cond = decided(e, value, v.bits, negated);
            e.op(Op::Branch { cond, target });
        }
        Flow::Bit { negated } => {
            let v = e.gpr(0)?;
            let bit = e.imm_in(1, 0..v.bits.into())?;
            let target = e.label(2)?;
            e.only(3)?;
            let value = e.read_raw(&v, Port::None);
            let value = e.bin_int(BinOp::And, value, 1 << bit, v.bits);
            let cond = decided(e, value, v.bits, negated);
            e.op(Op::Branch { cond, target });
        }
        Flow::Compare { op, swap, bits } => {
            let n = e.gpr(0)?;
            let a = e.read_raw(&n, Port::None);
            let b = match e.operands.get(1) {
                Some(Operand::Imm(k)) => e.number(*k),
                _ => {
                    let m = e.gpr_like(1, &n)?;
                    e.read_raw(&m, Port::None)
                }
            };
            let target = e.label(2)?;
            e.only(3)?;
            let width = if bits == 0 { n.bits } else { bits };
            let (a, b) = if swap { (b, a) } else { (a, b) };
            let cond = e.bin(op, a, b, width);
            e.op(Op::Branch { cond, target });
        }
        Flow::Call => {
            let target = e.label(0).map_err(|r| {
                r.help(
                    "a thread can only call code of its own; calls to functions must be resolved",
                )
            })?;
            e.only(1)?;
            link(e);
            e.op(Op::Jump { target });
        }
        Flow::CallTo => {
            let v = target_register(e, 0)?;
            let addr = e.read_raw(&v, Port::None);
            link(e);
            e.op(Op::JumpTo { addr });
        }
        Flow::JumpTo => {
            let v = target_register(e, 0)?;
            let addr = e.read_raw(&v, Port::None);
            e.op(Op::JumpTo { addr });
        }
        Flow::Return => {
            let v = match e.operands {
                [] => View::x(30),
                _ => target_register(e, 0)?,
            };
            let addr = e.read_raw(&v, Port::None);
            e.op(Op::JumpTo { addr });
        }
        Flow::Dmb => {
            let tags = barrier(e)?.0;
            e.op(Op::Fence { tags });
        }
        Flow::Dsb => {
            let tags = barrier(e)?.1;
            e.op(Op::Fence { tags });
        }
        Flow::Isb => {
            e.only(1)?;
            e.op(Op::Fence { tags: tag::ISB });
        }
        Flow::Nop => {}
        Flow::Trap => e.op(Op::Halt),
        Flow::ReadSystem => read_system(e)?,
        Flow::WriteSystem => write_system(e)?,
    }
    Ok(())
}

/// `MRS`, of the thread pointer or the flags.
fn read_system(e: &mut Emit) -> Lowered {
    let d = e.gpr(0)?;
    if let Some(thread) = thread_pointer(e, 1) {
        let value = e.read_raw(&thread, Port::None);
        e.write(&d, value);
        return e.only(2);
    }
    nzcv(e, 1)?;
    let bits = Flag::ALL.map(|flag| e.flag(flag));
    let mut all = e.int(0);
    for (i, bit) in bits.into_iter().enumerate() {
        let placed = e.bin_int(BinOp::Shl, bit, 31 - i as u128, 64);
        all = e.bin(BinOp::Or, all, placed, 64);
    }
    e.write(&d, all);
    Ok(())
}

/// `MSR`, to the thread pointer or the flags.
fn write_system(e: &mut Emit) -> Lowered {
    if let Some(thread) = thread_pointer(e, 0) {
        let s = e.gpr(1)?;
        let value = e.read(&s, Port::None);
        e.write(&thread, value);
        return e.only(2);
    }
    nzcv(e, 0)?;
    let s = e.gpr(1)?;
    let value = e.read_raw(&s, Port::None);
    for (i, flag) in Flag::ALL.into_iter().enumerate() {
        let bit = e.bin_int(BinOp::Shr, value, 31 - i as u128, 64);
        let bit = e.bin_int(BinOp::And, bit, 1, 64);
        e.set_flag(flag, bit);
    }
    Ok(())
}

fn decided(e: &mut Emit, value: Temp, width: u8, negated: bool) -> Temp {
    if negated {
        let zero = e.int(0);
        e.bin(BinOp::Ne, value, zero, width)
    } else {
        e.un(UnOp::IsZero, value, width)
    }
}

/// The link register gets the address of the instruction after this one.
fn link(e: &mut Emit) {
    let here = e.here;
    let next = e.val(Val::Code(here + 1));
    e.write(&View::x(30), next);
}

fn target_register(e: &Emit, i: usize) -> Lowered<View> {
    let v = e.gpr(i)?;
    e.only(i + 1)?;
    match v.bits {
        64 => Ok(v),
        _ => Err(e.missing(i, "an X register")),
    }
}

/// The annotation of a DMB and of a DSB with the option given.
fn barrier(e: &Emit) -> Lowered<(Tags, Tags)> {
    e.only(1)?;
    let found = match e.operands.first() {
        None => OPTIONS.first(),
        Some(Operand::Word(w)) => OPTIONS.iter().find(|o| o.0.eq_ignore_ascii_case(w)),
        // Other numbers of four bits are reserved, and act as SY.
        Some(Operand::Imm(n @ 0..16)) => {
            OPTIONS.iter().find(|o| i128::from(o.1) == *n).or(OPTIONS.first())
        }
        _ => None,
    };
    match found {
        Some((_, _, dmb, dsb)) => Ok((*dmb, *dsb)),
        None => {
            let refusal = e.missing(0, "a barrier's option, such as `SY`, `ISH` or `ISHLD`");
            let near = match e.operands.first() {
                Some(Operand::Word(w)) => {
                    litmake_base::diag::nearest(w, OPTIONS.iter().map(|o| o.0))
                }
                _ => None,
            };
            Err(match near {
                Some(near) => refusal.help(format!("did you mean `{near}`?")),
                None => refusal,
            })
        }
    }
}

/// The thread's pointer to data of its own is a register like any other.
fn thread_pointer(e: &Emit, i: usize) -> Option<View> {
    match e.operands.get(i) {
        Some(Operand::Word(w)) if w.eq_ignore_ascii_case("TPIDR_EL0") => {
            Some(View { name: Name::Thread, bits: 64 })
        }
        _ => None,
    }
}

/// The flags, beside the thread pointer, are what tests use of the system registers.
fn nzcv(e: &Emit, i: usize) -> Lowered {
    e.only(2)?;
    match e.operands.get(i) {
        Some(Operand::Word(w)) if w.eq_ignore_ascii_case("NZCV") => Ok(()),
        Some(_) => Err(Refusal::new("this system register is not supported")
            .on(i)
            .help("`NZCV` and `TPIDR_EL0` are")),
        None => Err(e.missing(i, "a system register")),
    }
}
