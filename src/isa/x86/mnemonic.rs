//! The meaning of x86 mnemonics, in AT&T and in Intel syntax. It does not know operands, only the size that
//! a suffix gives them.

use super::insn::{Alu, Bit, Cond, Do, Flag, Predicate, Shift, Size, Vec2};
use litmake_ops::BinOp;

/// A prefix of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    Lock,
    /// One that changes nothing here.
    Other,
}

pub fn prefix(word: &str) -> Option<Prefix> {
    match word {
        "lock" => Some(Prefix::Lock),
        "rep" | "repe" | "repz" | "repne" | "repnz" | "bnd" | "notrack" | "data16" | "cs"
        | "ds" | "es" | "ss" | "xacquire" | "xrelease" | "rex.w" => Some(Prefix::Other),
        _ => None,
    }
}

/// Mnemonics that take a size suffix.
const SIZED: &[(&str, Do)] = &[
    ("mov", Do::Mov),
    ("lea", Do::Lea),
    ("add", Do::Alu(Alu::Add)),
    ("adc", Do::Alu(Alu::Adc)),
    ("sub", Do::Alu(Alu::Sub)),
    ("sbb", Do::Alu(Alu::Sbb)),
    ("and", Do::Alu(Alu::And)),
    ("or", Do::Alu(Alu::Or)),
    ("xor", Do::Alu(Alu::Xor)),
    ("cmp", Do::Cmp),
    ("test", Do::Test),
    ("inc", Do::Inc),
    ("dec", Do::Dec),
    ("neg", Do::Neg),
    ("not", Do::Not),
    ("shl", Do::Shift(Shift::Shl)),
    ("sal", Do::Shift(Shift::Shl)),
    ("shr", Do::Shift(Shift::Shr)),
    ("sar", Do::Shift(Shift::Sar)),
    ("rol", Do::Shift(Shift::Rol)),
    ("ror", Do::Shift(Shift::Ror)),
    ("shld", Do::DoubleShift { left: true }),
    ("shrd", Do::DoubleShift { left: false }),
    ("shlx", Do::ShiftX(Shift::Shl)),
    ("shrx", Do::ShiftX(Shift::Shr)),
    ("sarx", Do::ShiftX(Shift::Sar)),
    ("rorx", Do::ShiftX(Shift::Ror)),
    ("andn", Do::AndN),
    ("bt", Do::Bit(Bit::Test)),
    ("bts", Do::Bit(Bit::Set)),
    ("btr", Do::Bit(Bit::Reset)),
    ("btc", Do::Bit(Bit::Complement)),
    ("mulx", Do::MulX),
    ("imul", Do::Mul2),
    ("mul", Do::MulWide { signed: false }),
    ("div", Do::Div { signed: false }),
    ("idiv", Do::Div { signed: true }),
    ("bswap", Do::Bswap),
    ("popcnt", Do::Popcnt),
    ("bsf", Do::ScanForward { keep: true }),
    ("tzcnt", Do::ScanForward { keep: false }),
    ("bsr", Do::ScanReverse { keep: true }),
    ("lzcnt", Do::ScanReverse { keep: false }),
    ("push", Do::Push),
    ("pop", Do::Pop),
    ("xchg", Do::Xchg),
    // herd's name for an exchange without the prefix, which hardware locks all the same.
    ("uxch", Do::Xchg),
    ("xadd", Do::Xadd),
    ("cmpxchg", Do::Cmpxchg),
    ("movnti", Do::StoreNonTemporal),
];

const fn shift_parts(left: bool, bits: u8) -> Do {
    Do::ShiftParts { left, bits }
}

const fn arith(op: BinOp, size: Size, all: bool) -> Do {
    Do::FloatArith { op, size, all }
}

const fn compare(size: Size, op: Option<BinOp>, negated: bool) -> Do {
    Do::FloatMask(size, Predicate { op, negated })
}

/// Mnemonics as they stand, with the size they fix.
const FIXED: &[(&str, Do, Option<Size>)] = &[
    ("mfence", Do::Mfence, None),
    ("lfence", Do::Lfence, None),
    ("sfence", Do::Sfence, None),
    ("movabs", Do::Mov, Some(Size::Q)),
    ("movabsq", Do::Mov, Some(Size::Q)),
    ("movabsl", Do::Mov, Some(Size::L)),
    ("movntil", Do::StoreNonTemporal, Some(Size::L)),
    ("movntiq", Do::StoreNonTemporal, Some(Size::Q)),
    ("cmpxchg8b", Do::CmpxchgPair, Some(Size::L)),
    ("cmpxchg16b", Do::CmpxchgPair, Some(Size::Q)),
    ("leave", Do::Leave, None),
    ("leaveq", Do::Leave, None),
    ("leavel", Do::Leave, None),
    ("cbw", Do::ExtendAcc, Some(Size::W)),
    ("cbtw", Do::ExtendAcc, Some(Size::W)),
    ("cwde", Do::ExtendAcc, Some(Size::L)),
    ("cwtl", Do::ExtendAcc, Some(Size::L)),
    ("cdqe", Do::ExtendAcc, Some(Size::Q)),
    ("cltq", Do::ExtendAcc, Some(Size::Q)),
    ("cwd", Do::SignAcc, Some(Size::W)),
    ("cwtd", Do::SignAcc, Some(Size::W)),
    ("cdq", Do::SignAcc, Some(Size::L)),
    ("cltd", Do::SignAcc, Some(Size::L)),
    ("cqo", Do::SignAcc, Some(Size::Q)),
    ("cqto", Do::SignAcc, Some(Size::Q)),
    ("jmp", Do::Jump, None),
    ("jmpq", Do::Jump, None),
    ("jmpl", Do::Jump, None),
    ("call", Do::Call, None),
    ("callq", Do::Call, None),
    ("calll", Do::Call, None),
    ("ret", Do::Ret, None),
    ("retq", Do::Ret, None),
    ("retl", Do::Ret, None),
    ("clc", Do::Clc, None),
    ("stc", Do::Stc, None),
    ("cmc", Do::Cmc, None),
    ("fildll", Do::X87Load, Some(Size::Q)),
    ("fildq", Do::X87Load, Some(Size::Q)),
    ("fildl", Do::X87Load, Some(Size::L)),
    ("filds", Do::X87Load, Some(Size::W)),
    ("fild", Do::X87Load, None),
    ("fistpll", Do::X87StorePop, Some(Size::Q)),
    ("fistpq", Do::X87StorePop, Some(Size::Q)),
    ("fistpl", Do::X87StorePop, Some(Size::L)),
    ("fistps", Do::X87StorePop, Some(Size::W)),
    ("fistp", Do::X87StorePop, None),
    ("movd", Do::MovLow(Size::L), None),
    ("movntdq", Do::StoreNonTemporal, None),
    ("movntps", Do::StoreNonTemporal, None),
    ("movntpd", Do::StoreNonTemporal, None),
    ("movntdqa", Do::MovVec { atomic: false }, None),
    ("movhps", Do::MovHalf { high: true }, None),
    ("movhpd", Do::MovHalf { high: true }, None),
    ("movlps", Do::MovHalf { high: false }, None),
    ("movlpd", Do::MovHalf { high: false }, None),
    ("pxor", Do::Vec2(Vec2::Xor), None),
    ("xorps", Do::Vec2(Vec2::Xor), None),
    ("xorpd", Do::Vec2(Vec2::Xor), None),
    ("pand", Do::Vec2(Vec2::And), None),
    ("andps", Do::Vec2(Vec2::And), None),
    ("andpd", Do::Vec2(Vec2::And), None),
    ("pandn", Do::Vec2(Vec2::AndNot), None),
    ("andnps", Do::Vec2(Vec2::AndNot), None),
    ("andnpd", Do::Vec2(Vec2::AndNot), None),
    ("por", Do::Vec2(Vec2::Or), None),
    ("orps", Do::Vec2(Vec2::Or), None),
    ("orpd", Do::Vec2(Vec2::Or), None),
    ("punpcklqdq", Do::Vec2(Vec2::UnpackLow64), None),
    ("unpcklpd", Do::Vec2(Vec2::UnpackLow64), None),
    ("punpckhqdq", Do::Vec2(Vec2::UnpackHigh64), None),
    ("unpckhpd", Do::Vec2(Vec2::UnpackHigh64), None),
    ("punpckldq", Do::Vec2(Vec2::UnpackLow32), None),
    ("unpcklps", Do::Vec2(Vec2::UnpackLow32), None),
    ("punpckhdq", Do::Vec2(Vec2::UnpackHigh32), None),
    ("unpckhps", Do::Vec2(Vec2::UnpackHigh32), None),
    ("movhlps", Do::Vec2(Vec2::HighToLow), None),
    ("movlhps", Do::Vec2(Vec2::LowToHigh), None),
    ("pinsrb", Do::Insert(Size::B), None),
    ("pinsrw", Do::Insert(Size::W), None),
    ("pinsrd", Do::Insert(Size::L), None),
    ("pinsrq", Do::Insert(Size::Q), None),
    ("pextrb", Do::Extract(Size::B), None),
    ("pextrw", Do::Extract(Size::W), None),
    ("pextrd", Do::Extract(Size::L), None),
    ("pextrq", Do::Extract(Size::Q), None),
    ("movddup", Do::Duplicate, None),
    ("pshufd", Do::Shuffle32, None),
    ("shufpd", Do::Shuffle2(Size::Q), None),
    ("shufps", Do::Shuffle2(Size::L), None),
    ("palignr", Do::AlignRight, None),
    ("pcmpeqb", Do::EqualParts(8), None),
    ("pcmpeqw", Do::EqualParts(16), None),
    ("pcmpeqd", Do::EqualParts(32), None),
    ("pcmpeqq", Do::EqualParts(64), None),
    ("pmovmskb", Do::MoveMask, None),
    ("ptest", Do::TestVec, None),
    ("psrld", shift_parts(false, 32), None),
    ("pslld", shift_parts(true, 32), None),
    ("psrlq", shift_parts(false, 64), None),
    ("psllq", shift_parts(true, 64), None),
    ("cvtsi2ss", Do::FloatFromInt(Size::L), None),
    ("cvtsi2ssl", Do::FloatFromInt(Size::L), Some(Size::L)),
    ("cvtsi2ssq", Do::FloatFromInt(Size::L), Some(Size::Q)),
    ("cvttss2si", Do::FloatToInt(Size::L), None),
    ("cvttss2sil", Do::FloatToInt(Size::L), Some(Size::L)),
    ("cvttss2siq", Do::FloatToInt(Size::L), Some(Size::Q)),
    ("ucomiss", Do::FloatCompare(Size::L), None),
    ("comiss", Do::FloatCompare(Size::L), None),
    ("addss", arith(BinOp::FloatAdd, Size::L, false), None),
    ("addps", arith(BinOp::FloatAdd, Size::L, true), None),
    ("subss", arith(BinOp::FloatSub, Size::L, false), None),
    ("subps", arith(BinOp::FloatSub, Size::L, true), None),
    ("mulss", arith(BinOp::FloatMul, Size::L, false), None),
    ("mulps", arith(BinOp::FloatMul, Size::L, true), None),
    ("divss", arith(BinOp::FloatDiv, Size::L, false), None),
    ("divps", arith(BinOp::FloatDiv, Size::L, true), None),
    ("cmpeqss", compare(Size::L, Some(BinOp::FloatEq), false), None),
    ("cmpneqss", compare(Size::L, Some(BinOp::FloatEq), true), None),
    ("cmpltss", compare(Size::L, Some(BinOp::FloatLt), false), None),
    ("cmpnltss", compare(Size::L, Some(BinOp::FloatLt), true), None),
    ("cmpless", compare(Size::L, Some(BinOp::FloatLe), false), None),
    ("cmpnless", compare(Size::L, Some(BinOp::FloatLe), true), None),
    ("cmpunordss", compare(Size::L, None, false), None),
    ("cmpordss", compare(Size::L, None, true), None),
    ("cvtsi2sd", Do::FloatFromInt(Size::Q), None),
    ("cvtsi2sdl", Do::FloatFromInt(Size::Q), Some(Size::L)),
    ("cvtsi2sdq", Do::FloatFromInt(Size::Q), Some(Size::Q)),
    ("cvttsd2si", Do::FloatToInt(Size::Q), None),
    ("cvttsd2sil", Do::FloatToInt(Size::Q), Some(Size::L)),
    ("cvttsd2siq", Do::FloatToInt(Size::Q), Some(Size::Q)),
    ("ucomisd", Do::FloatCompare(Size::Q), None),
    ("comisd", Do::FloatCompare(Size::Q), None),
    ("addsd", arith(BinOp::FloatAdd, Size::Q, false), None),
    ("addpd", arith(BinOp::FloatAdd, Size::Q, true), None),
    ("subsd", arith(BinOp::FloatSub, Size::Q, false), None),
    ("subpd", arith(BinOp::FloatSub, Size::Q, true), None),
    ("mulsd", arith(BinOp::FloatMul, Size::Q, false), None),
    ("mulpd", arith(BinOp::FloatMul, Size::Q, true), None),
    ("divsd", arith(BinOp::FloatDiv, Size::Q, false), None),
    ("divpd", arith(BinOp::FloatDiv, Size::Q, true), None),
    ("cmpeqsd", compare(Size::Q, Some(BinOp::FloatEq), false), None),
    ("cmpneqsd", compare(Size::Q, Some(BinOp::FloatEq), true), None),
    ("cmpltsd", compare(Size::Q, Some(BinOp::FloatLt), false), None),
    ("cmpnltsd", compare(Size::Q, Some(BinOp::FloatLt), true), None),
    ("cmplesd", compare(Size::Q, Some(BinOp::FloatLe), false), None),
    ("cmpnlesd", compare(Size::Q, Some(BinOp::FloatLe), true), None),
    ("cmpunordsd", compare(Size::Q, None, false), None),
    ("cmpordsd", compare(Size::Q, None, true), None),
    ("cvtss2sd", Do::FloatResize(Size::L), None),
    ("cvtsd2ss", Do::FloatResize(Size::Q), None),
    ("cvtps2pd", Do::FloatResizeAll(Size::L), None),
    ("cvtpd2ps", Do::FloatResizeAll(Size::Q), None),
    ("cvtpd2psx", Do::FloatResizeAll(Size::Q), None),
    ("cvttps2dq", Do::FloatToInts(Size::L), None),
    ("cvttpd2dq", Do::FloatToInts(Size::Q), None),
    ("cvttpd2dqx", Do::FloatToInts(Size::Q), None),
    ("paddb", Do::AddParts { sub: false, size: Size::B }, None),
    ("paddw", Do::AddParts { sub: false, size: Size::W }, None),
    ("paddd", Do::AddParts { sub: false, size: Size::L }, None),
    ("paddq", Do::AddParts { sub: false, size: Size::Q }, None),
    ("psubb", Do::AddParts { sub: true, size: Size::B }, None),
    ("psubw", Do::AddParts { sub: true, size: Size::W }, None),
    ("psubd", Do::AddParts { sub: true, size: Size::L }, None),
    ("psubq", Do::AddParts { sub: true, size: Size::Q }, None),
    ("cvtdq2ps", Do::FloatFromInts(Size::L), None),
    ("cvtdq2pd", Do::FloatFromInts(Size::Q), None),
    ("psrldq", Do::ShiftBytes { left: false }, None),
    ("pslldq", Do::ShiftBytes { left: true }, None),
];

/// Instructions without effect on what is simulated here.
const NOPS: &[&str] = &[
    "nop",
    "nopw",
    "nopl",
    "nopq",
    "endbr64",
    "endbr32",
    "pause",
    "clflush",
    "clflushopt",
    "clwb",
    "cld",
    "emms",
    "vzeroupper",
    "vzeroall",
    "prefetcht0",
    "prefetcht1",
    "prefetcht2",
    "prefetchnta",
    "prefetchw",
];

const STOPS: &[&str] = &["ud2", "hlt", "int3"];

/// Whole-register moves that want an aligned address, and those that do not.
const ALIGNED: &[&str] = &["movdqa", "movaps", "movapd"];
const UNALIGNED: &[&str] = &["movdqu", "movups", "movupd", "lddqu"];

const CONDITIONS: &[(&str, Flag, bool)] = &[
    ("o", Flag::Overflow, false),
    ("no", Flag::Overflow, true),
    ("b", Flag::Carry, false),
    ("c", Flag::Carry, false),
    ("nae", Flag::Carry, false),
    ("ae", Flag::Carry, true),
    ("nb", Flag::Carry, true),
    ("nc", Flag::Carry, true),
    ("e", Flag::Zero, false),
    ("z", Flag::Zero, false),
    ("ne", Flag::Zero, true),
    ("nz", Flag::Zero, true),
    ("be", Flag::CarryOrZero, false),
    ("na", Flag::CarryOrZero, false),
    ("a", Flag::CarryOrZero, true),
    ("nbe", Flag::CarryOrZero, true),
    ("s", Flag::Sign, false),
    ("ns", Flag::Sign, true),
    ("p", Flag::Parity, false),
    ("pe", Flag::Parity, false),
    ("np", Flag::Parity, true),
    ("po", Flag::Parity, true),
    ("l", Flag::Less, false),
    ("nge", Flag::Less, false),
    ("ge", Flag::Less, true),
    ("nl", Flag::Less, true),
    ("le", Flag::LessOrEqual, false),
    ("ng", Flag::LessOrEqual, false),
    ("g", Flag::LessOrEqual, true),
    ("nle", Flag::LessOrEqual, true),
    // herd's.
    ("lt", Flag::Less, false),
    ("gt", Flag::LessOrEqual, true),
];

/// The condition of this name, or of its negation.
pub fn condition(name: &str) -> Option<Cond> {
    CONDITIONS
        .iter()
        .find(|(n, ..)| *n == name)
        .map(|(_, flag, negated)| Cond { flag: *flag, negated: *negated })
}

pub fn suffix(name: &str) -> Option<(&str, Size)> {
    let size = match name.bytes().last()? {
        b'b' => Size::B,
        b'w' => Size::W,
        b'l' => Size::L,
        b'q' => Size::Q,
        _ => return None,
    };
    Some((&name[..name.len() - 1], size))
}

/// The meaning of a lower-case mnemonic, and the operand size that it says. With `avx`, aligned 16-byte
/// accesses are single-copy atomic.
pub fn look_up(name: &str, avx: bool) -> Option<(Do, Option<Size>)> {
    if NOPS.contains(&name) {
        return Some((Do::Nop, None));
    }
    if STOPS.contains(&name) {
        return Some((Do::Stop, None));
    }
    if let Some(found) = fixed(name).or_else(|| sized(name)) {
        return Some(found);
    }
    if let Some(found) = extending(name).or_else(|| conditional(name)) {
        return Some(found);
    }
    if ALIGNED.contains(&name) {
        return Some((Do::MovVec { atomic: avx }, None));
    }
    if UNALIGNED.contains(&name) {
        return Some((Do::MovVec { atomic: false }, None));
    }
    if let Some(found) = scalar(name) {
        return Some(found);
    }
    // AVX's forms, which have a `v` before the name and may have the element size after it.
    let name = name.strip_prefix('v')?;
    if let Some(found) = scalar(name) {
        return Some(found);
    }
    match name {
        "movq" => return Some((Do::MovLow(Size::Q), None)),
        "permilps" => return Some((Do::Shuffle32, None)),
        _ => {}
    }
    let whole = name
        .strip_suffix("64")
        .or(name.strip_suffix("32"))
        .or(name.strip_suffix("16"))
        .or(name.strip_suffix('8'))
        .unwrap_or(name);
    if ALIGNED.contains(&whole) {
        return Some((Do::MovVec { atomic: true }, None));
    }
    if UNALIGNED.contains(&whole) {
        return Some((Do::MovVec { atomic: false }, None));
    }
    let whole = match whole {
        "pxord" | "pxorq" => "pxor",
        "pandd" | "pandq" => "pand",
        "pord" | "porq" => "por",
        w => w,
    };
    fixed(whole).filter(|(what, _)| has_v_form(*what))
}

fn scalar(name: &str) -> Option<(Do, Option<Size>)> {
    match name {
        "movss" => Some((Do::MovScalar(Size::L), None)),
        "movsd" => Some((Do::MovScalar(Size::Q), None)),
        _ => None,
    }
}

/// Whether an instruction has a form with `v` before its name.
fn has_v_form(what: Do) -> bool {
    let other = matches!(what, Do::MovScalar(_) | Do::X87Load | Do::X87StorePop);
    (what.is_vector() || what.is_float()) && !other
}

fn fixed(name: &str) -> Option<(Do, Option<Size>)> {
    FIXED.iter().find(|(n, ..)| *n == name).map(|(_, what, size)| (*what, *size))
}

fn sized(name: &str) -> Option<(Do, Option<Size>)> {
    let find = |name: &str| SIZED.iter().find(|(n, _)| *n == name).map(|(_, d)| *d);
    if let Some(what) = find(name) {
        return Some((what, None));
    }
    let (stem, size) = suffix(name)?;
    find(stem).map(|what| (what, Some(size)))
}

/// A mnemonic without the suffix that says 32 bits, where what is left is one.
pub fn without_long(name: &str) -> &str {
    match name.strip_suffix('l') {
        Some(stem) if fixed(name).is_none() && SIZED.iter().any(|(n, _)| *n == stem) => stem,
        _ => name,
    }
}

/// The `movz` and `movs` families.
fn extending(name: &str) -> Option<(Do, Option<Size>)> {
    let (signed, rest) = match (name.strip_prefix("movs"), name.strip_prefix("movz")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return None,
    };
    let from_only = |from| Some((Do::MovExtend { from, signed }, None));
    let both = |from, to| Some((Do::MovExtend { from, signed }, Some(to)));
    match rest {
        // `movzx` and `movsx` leave it to the source, which the reader looks at.
        "x" => from_only(Size::B),
        "xd" if signed => from_only(Size::L),
        "b" if !signed => from_only(Size::B),
        "w" if !signed => from_only(Size::W),
        "bw" => both(Size::B, Size::W),
        "bl" => both(Size::B, Size::L),
        "bq" => both(Size::B, Size::Q),
        "wl" => both(Size::W, Size::L),
        "wq" => both(Size::W, Size::Q),
        "lq" if signed => both(Size::L, Size::Q),
        _ => None,
    }
}

fn conditional(name: &str) -> Option<(Do, Option<Size>)> {
    if let Some(rest) = name.strip_prefix("cmov") {
        if let Some(cond) = condition(rest) {
            return Some((Do::Cmov(cond), None));
        }
        let (rest, size) = suffix(rest)?;
        return condition(rest).map(|c| (Do::Cmov(c), Some(size)));
    }
    if let Some(rest) = name.strip_prefix("set") {
        let cond = condition(rest).or_else(|| condition(rest.strip_suffix('b')?))?;
        return Some((Do::Set(cond), Some(Size::B)));
    }
    let cond = condition(name.strip_prefix('j')?)?;
    Some((Do::JumpIf(cond), None))
}

/// Every mnemonic without its suffix, for suggestions.
pub fn names() -> impl Iterator<Item = String> {
    let plain = SIZED
        .iter()
        .map(|(n, _)| *n)
        .chain(FIXED.iter().map(|(n, ..)| *n))
        .chain(NOPS.iter().copied())
        .chain(STOPS.iter().copied())
        .chain(ALIGNED.iter().copied())
        .chain(UNALIGNED.iter().copied())
        .map(str::to_string);
    let suffixed = SIZED.iter().flat_map(|(n, _)| ["b", "w", "l", "q"].map(|s| format!("{n}{s}")));
    let conditional =
        CONDITIONS.iter().flat_map(|(c, ..)| ["j", "set", "cmov"].map(|p| format!("{p}{c}")));
    let extending =
        ["movzbl", "movzbw", "movzwl", "movsbl", "movswl", "movslq", "movzx", "movsx", "movsxd"];
    plain.chain(suffixed).chain(conditional).chain(extending.map(str::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_and_conditions_do_not_clash() {
        let l = |n| look_up(n, false);
        assert_eq!(l("movl"), Some((Do::Mov, Some(Size::L))));
        assert_eq!(l("sbb"), Some((Do::Alu(Alu::Sbb), None)));
        assert_eq!(l("sbbq"), Some((Do::Alu(Alu::Sbb), Some(Size::Q))));
        assert_eq!(l("subb"), Some((Do::Alu(Alu::Sub), Some(Size::B))));
        assert_eq!(
            l("cmovl"),
            condition("l").map(|c| (Do::Cmov(c), None)),
            "`cmovl` is `less`, not a size"
        );
        assert_eq!(l("cmovll"), condition("l").map(|c| (Do::Cmov(c), Some(Size::L))));
        assert_eq!(l("setb"), condition("b").map(|c| (Do::Set(c), Some(Size::B))));
        assert_eq!(l("shll"), Some((Do::Shift(Shift::Shl), Some(Size::L))));
        assert_eq!(l("btsl"), Some((Do::Bit(Bit::Set), Some(Size::L))));
        assert_eq!(
            l("movslq"),
            Some((Do::MovExtend { from: Size::L, signed: true }, Some(Size::Q)))
        );
        assert_eq!(l("vmovdqa"), Some((Do::MovVec { atomic: true }, None)));
        assert_eq!(l("movdqa"), Some((Do::MovVec { atomic: false }, None)));
        assert_eq!(l("vmovdqu64"), Some((Do::MovVec { atomic: false }, None)));
        for bad in ["", "v", "vmov", "vadd", "mv", "movx", "jxx", "é", "lockadd"] {
            assert_eq!(l(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_listed_name_is_known() {
        for name in names() {
            assert!(look_up(&name, false).is_some(), "{name}");
        }
    }
}
