//! The integer instructions: their variants, and the mnemonics that name them.

use litmake_ops::BinOp;

/// The meaning of an integer instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Int {
    Arith {
        sub: bool,
        flags: bool,
    },
    Compare {
        sub: bool,
    },
    CompareIf {
        sub: bool,
    },
    Neg {
        flags: bool,
    },
    Carry {
        sub: bool,
        flags: bool,
    },
    NegCarry {
        flags: bool,
    },
    Logic {
        op: BinOp,
        invert: bool,
        flags: bool,
    },
    Test,
    Mvn,
    Mov,
    MovWide {
        invert: bool,
    },
    MovKeep,
    Shift(BinOp),
    /// A bit field given as rotation and last bit (UBFM, SBFM, BFM).
    FieldRaw(Field),
    /// A bit field given as position and width: extracted, or inserted at the position.
    FieldOut(Field),
    FieldIn(Field),
    FieldClear,
    Extend {
        signed: bool,
        from: u8,
    },
    Extract,
    Mul,
    MulAdd {
        sub: bool,
    },
    MulNeg,
    MulLong {
        signed: bool,
    },
    MulLongNeg {
        signed: bool,
    },
    MulLongAdd {
        signed: bool,
        sub: bool,
    },
    MulHigh {
        signed: bool,
    },
    Div {
        signed: bool,
    },
    MinMax(BinOp),
    Unary(Unary),
    Select(Alter),
    Set {
        mask: bool,
    },
    SelectSame(Alter),
    Adr,
    Adrp,
}

/// How an instruction sets the bits around a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Zero,
    Sign,
    Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Clz,
    Cls,
    Ctz,
    Cnt,
    Rbit,
    Rev,
    Rev16,
    Rev32,
    Abs,
}

/// How a conditional select changes its second choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alter {
    Keep,
    Inc,
    Inv,
    Neg,
}

pub const TABLE: &[(&str, Int)] = &[
    ("ADD", Int::Arith { sub: false, flags: false }),
    ("ADDS", Int::Arith { sub: false, flags: true }),
    ("SUB", Int::Arith { sub: true, flags: false }),
    ("SUBS", Int::Arith { sub: true, flags: true }),
    ("CMP", Int::Compare { sub: true }),
    ("CMN", Int::Compare { sub: false }),
    ("CCMP", Int::CompareIf { sub: true }),
    ("CCMN", Int::CompareIf { sub: false }),
    ("NEG", Int::Neg { flags: false }),
    ("NEGS", Int::Neg { flags: true }),
    ("ADC", Int::Carry { sub: false, flags: false }),
    ("ADCS", Int::Carry { sub: false, flags: true }),
    ("SBC", Int::Carry { sub: true, flags: false }),
    ("SBCS", Int::Carry { sub: true, flags: true }),
    ("NGC", Int::NegCarry { flags: false }),
    ("NGCS", Int::NegCarry { flags: true }),
    ("AND", Int::Logic { op: BinOp::And, invert: false, flags: false }),
    ("ANDS", Int::Logic { op: BinOp::And, invert: false, flags: true }),
    ("BIC", Int::Logic { op: BinOp::And, invert: true, flags: false }),
    ("BICS", Int::Logic { op: BinOp::And, invert: true, flags: true }),
    ("ORR", Int::Logic { op: BinOp::Or, invert: false, flags: false }),
    ("ORN", Int::Logic { op: BinOp::Or, invert: true, flags: false }),
    ("EOR", Int::Logic { op: BinOp::Xor, invert: false, flags: false }),
    ("EON", Int::Logic { op: BinOp::Xor, invert: true, flags: false }),
    ("TST", Int::Test),
    ("MVN", Int::Mvn),
    ("MOV", Int::Mov),
    ("MOVZ", Int::MovWide { invert: false }),
    ("MOVN", Int::MovWide { invert: true }),
    ("MOVK", Int::MovKeep),
    ("LSL", Int::Shift(BinOp::Shl)),
    ("LSLV", Int::Shift(BinOp::Shl)),
    ("LSR", Int::Shift(BinOp::Shr)),
    ("LSRV", Int::Shift(BinOp::Shr)),
    ("ASR", Int::Shift(BinOp::Sar)),
    ("ASRV", Int::Shift(BinOp::Sar)),
    ("ROR", Int::Shift(BinOp::Ror)),
    ("RORV", Int::Shift(BinOp::Ror)),
    ("UBFM", Int::FieldRaw(Field::Zero)),
    ("SBFM", Int::FieldRaw(Field::Sign)),
    ("BFM", Int::FieldRaw(Field::Keep)),
    ("UBFX", Int::FieldOut(Field::Zero)),
    ("SBFX", Int::FieldOut(Field::Sign)),
    ("BFXIL", Int::FieldOut(Field::Keep)),
    ("UBFIZ", Int::FieldIn(Field::Zero)),
    ("SBFIZ", Int::FieldIn(Field::Sign)),
    ("BFI", Int::FieldIn(Field::Keep)),
    ("BFC", Int::FieldClear),
    ("UXTB", Int::Extend { signed: false, from: 8 }),
    ("UXTH", Int::Extend { signed: false, from: 16 }),
    ("UXTW", Int::Extend { signed: false, from: 32 }),
    ("SXTB", Int::Extend { signed: true, from: 8 }),
    ("SXTH", Int::Extend { signed: true, from: 16 }),
    ("SXTW", Int::Extend { signed: true, from: 32 }),
    ("EXTR", Int::Extract),
    ("MUL", Int::Mul),
    ("MADD", Int::MulAdd { sub: false }),
    ("MSUB", Int::MulAdd { sub: true }),
    ("MNEG", Int::MulNeg),
    ("UMULL", Int::MulLong { signed: false }),
    ("SMULL", Int::MulLong { signed: true }),
    ("UMNEGL", Int::MulLongNeg { signed: false }),
    ("SMNEGL", Int::MulLongNeg { signed: true }),
    ("UMADDL", Int::MulLongAdd { signed: false, sub: false }),
    ("SMADDL", Int::MulLongAdd { signed: true, sub: false }),
    ("UMSUBL", Int::MulLongAdd { signed: false, sub: true }),
    ("SMSUBL", Int::MulLongAdd { signed: true, sub: true }),
    ("UMULH", Int::MulHigh { signed: false }),
    ("SMULH", Int::MulHigh { signed: true }),
    ("UDIV", Int::Div { signed: false }),
    ("SDIV", Int::Div { signed: true }),
    ("UMAX", Int::MinMax(BinOp::MaxU)),
    ("UMIN", Int::MinMax(BinOp::MinU)),
    ("SMAX", Int::MinMax(BinOp::MaxS)),
    ("SMIN", Int::MinMax(BinOp::MinS)),
    ("CLZ", Int::Unary(Unary::Clz)),
    ("CLS", Int::Unary(Unary::Cls)),
    ("CTZ", Int::Unary(Unary::Ctz)),
    ("CNT", Int::Unary(Unary::Cnt)),
    ("RBIT", Int::Unary(Unary::Rbit)),
    ("REV", Int::Unary(Unary::Rev)),
    ("REV64", Int::Unary(Unary::Rev)),
    ("REV16", Int::Unary(Unary::Rev16)),
    ("REV32", Int::Unary(Unary::Rev32)),
    ("ABS", Int::Unary(Unary::Abs)),
    ("CSEL", Int::Select(Alter::Keep)),
    ("CSINC", Int::Select(Alter::Inc)),
    ("CSINV", Int::Select(Alter::Inv)),
    ("CSNEG", Int::Select(Alter::Neg)),
    ("CSET", Int::Set { mask: false }),
    ("CSETM", Int::Set { mask: true }),
    ("CINC", Int::SelectSame(Alter::Inc)),
    ("CINV", Int::SelectSame(Alter::Inv)),
    ("CNEG", Int::SelectSame(Alter::Neg)),
    ("ADR", Int::Adr),
    ("ADRP", Int::Adrp),
];
