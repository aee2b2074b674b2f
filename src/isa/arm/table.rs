//! The mnemonics of AArch32 taken apart: what they are, whether they set flags, when they are
//! executed; and the names of barriers' domains.

use super::insn::{Block, Cond, DataOp, Plus, Shift, Unary};
use litmake_ops::{Tags, tag};

/// The kinds of instruction by the shape of their operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Nop,
    Trap,
    It,
    Data(DataOp),
    Shift(Shift),
    Neg,
    MovWide,
    MovTop,
    Adr,
    Mul,
    MulAdd { subtract: bool },
    MulLong { signed: bool, plus: Plus },
    MulTop { add: bool, subtract: bool },
    MulHalf { add: bool, tops: (bool, bool) },
    Div { signed: bool },
    Unary(Unary),
    Extend { signed: bool, from: u8, add: bool },
    AddParts { bits: u8 },
    Select,
    Saturate { signed: bool },
    Extract { signed: bool },
    Bfi,
    Bfc,
    Load { size: u8, signed: bool },
    Store { size: u8 },
    LoadAcquire { size: u8 },
    StoreRelease { size: u8 },
    LoadDual,
    StoreDual,
    LoadBlock(Block),
    StoreBlock(Block),
    Push,
    Pop,
    LoadEx { size: u8, tags: Tags },
    StoreEx { size: u8, tags: Tags },
    Swap { size: u8 },
    Dmb,
    Dsb,
    Isb,
    Mcr,
    Branch { link: bool },
    BranchReg { link: bool },
    CompareBranch { nonzero: bool },
    Literal,
}

const EX: Tags = tag::EX;
const EXA: Tags = tag::EX.with(tag::A);
const EXL: Tags = tag::EX.with(tag::L);

/// Sorted by name.
#[rustfmt::skip]
pub const TABLE: &[(&str, Form)] = &[
    (".hword", Form::Literal),
    (".int", Form::Literal),
    (".long", Form::Literal),
    (".word", Form::Literal),
    ("adc", Form::Data(DataOp::Adc)),
    ("add", Form::Data(DataOp::Add)),
    ("addw", Form::Data(DataOp::Add)),
    ("adr", Form::Adr),
    ("and", Form::Data(DataOp::And)),
    ("asr", Form::Shift(Shift::Asr)),
    ("b", Form::Branch { link: false }),
    ("bfc", Form::Bfc),
    ("bfi", Form::Bfi),
    ("bic", Form::Data(DataOp::Bic)),
    ("bkpt", Form::Trap),
    ("bl", Form::Branch { link: true }),
    ("blx", Form::BranchReg { link: true }),
    ("bx", Form::BranchReg { link: false }),
    ("cbnz", Form::CompareBranch { nonzero: true }),
    ("cbz", Form::CompareBranch { nonzero: false }),
    ("clrex", Form::Nop),
    ("clz", Form::Unary(Unary::Clz)),
    ("cmn", Form::Data(DataOp::Cmn)),
    ("cmp", Form::Data(DataOp::Cmp)),
    ("cpy", Form::Data(DataOp::Mov)),
    ("csdb", Form::Nop),
    ("dmb", Form::Dmb),
    ("dsb", Form::Dsb),
    ("eor", Form::Data(DataOp::Eor)),
    ("isb", Form::Isb),
    ("it", Form::It),
    ("lda", Form::LoadAcquire { size: 4 }),
    ("ldab", Form::LoadAcquire { size: 1 }),
    ("ldaex", Form::LoadEx { size: 4, tags: EXA }),
    ("ldaexb", Form::LoadEx { size: 1, tags: EXA }),
    ("ldaexd", Form::LoadEx { size: 8, tags: EXA }),
    ("ldaexh", Form::LoadEx { size: 2, tags: EXA }),
    ("ldah", Form::LoadAcquire { size: 2 }),
    ("ldm", Form::LoadBlock(Block::Ia)),
    ("ldmda", Form::LoadBlock(Block::Da)),
    ("ldmdb", Form::LoadBlock(Block::Db)),
    ("ldmea", Form::LoadBlock(Block::Db)),
    ("ldmed", Form::LoadBlock(Block::Ib)),
    ("ldmfa", Form::LoadBlock(Block::Da)),
    ("ldmfd", Form::LoadBlock(Block::Ia)),
    ("ldmia", Form::LoadBlock(Block::Ia)),
    ("ldmib", Form::LoadBlock(Block::Ib)),
    ("ldr", Form::Load { size: 4, signed: false }),
    ("ldrb", Form::Load { size: 1, signed: false }),
    ("ldrd", Form::LoadDual),
    ("ldrex", Form::LoadEx { size: 4, tags: EX }),
    ("ldrexb", Form::LoadEx { size: 1, tags: EX }),
    ("ldrexd", Form::LoadEx { size: 8, tags: EX }),
    ("ldrexh", Form::LoadEx { size: 2, tags: EX }),
    ("ldrh", Form::Load { size: 2, signed: false }),
    ("ldrsb", Form::Load { size: 1, signed: true }),
    ("ldrsh", Form::Load { size: 2, signed: true }),
    ("lsl", Form::Shift(Shift::Lsl)),
    ("lsr", Form::Shift(Shift::Lsr)),
    ("mcr", Form::Mcr),
    ("mla", Form::MulAdd { subtract: false }),
    ("mls", Form::MulAdd { subtract: true }),
    ("mov", Form::Data(DataOp::Mov)),
    ("movt", Form::MovTop),
    ("movw", Form::MovWide),
    ("mul", Form::Mul),
    ("mvn", Form::Data(DataOp::Mvn)),
    ("neg", Form::Neg),
    ("nop", Form::Nop),
    ("orn", Form::Data(DataOp::Orn)),
    ("orr", Form::Data(DataOp::Orr)),
    ("pld", Form::Nop),
    ("pldw", Form::Nop),
    ("pop", Form::Pop),
    ("push", Form::Push),
    ("rbit", Form::Unary(Unary::Rbit)),
    ("rev", Form::Unary(Unary::Rev)),
    ("rev16", Form::Unary(Unary::Rev16)),
    ("revsh", Form::Unary(Unary::RevSh)),
    ("ror", Form::Shift(Shift::Ror)),
    ("rrx", Form::Shift(Shift::Rrx)),
    ("rsb", Form::Data(DataOp::Rsb)),
    ("rsc", Form::Data(DataOp::Rsc)),
    ("sbc", Form::Data(DataOp::Sbc)),
    ("sbfx", Form::Extract { signed: true }),
    ("sdiv", Form::Div { signed: true }),
    ("sel", Form::Select),
    ("sev", Form::Nop),
    ("sevl", Form::Nop),
    ("smlabb", Form::MulHalf { add: true, tops: (false, false) }),
    ("smlabt", Form::MulHalf { add: true, tops: (false, true) }),
    ("smlal", Form::MulLong { signed: true, plus: Plus::Wide }),
    ("smlatb", Form::MulHalf { add: true, tops: (true, false) }),
    ("smlatt", Form::MulHalf { add: true, tops: (true, true) }),
    ("smmla", Form::MulTop { add: true, subtract: false }),
    ("smmls", Form::MulTop { add: true, subtract: true }),
    ("smmul", Form::MulTop { add: false, subtract: false }),
    ("smulbb", Form::MulHalf { add: false, tops: (false, false) }),
    ("smulbt", Form::MulHalf { add: false, tops: (false, true) }),
    ("smull", Form::MulLong { signed: true, plus: Plus::Nothing }),
    ("smultb", Form::MulHalf { add: false, tops: (true, false) }),
    ("smultt", Form::MulHalf { add: false, tops: (true, true) }),
    ("ssat", Form::Saturate { signed: true }),
    ("stl", Form::StoreRelease { size: 4 }),
    ("stlb", Form::StoreRelease { size: 1 }),
    ("stlex", Form::StoreEx { size: 4, tags: EXL }),
    ("stlexb", Form::StoreEx { size: 1, tags: EXL }),
    ("stlexd", Form::StoreEx { size: 8, tags: EXL }),
    ("stlexh", Form::StoreEx { size: 2, tags: EXL }),
    ("stlh", Form::StoreRelease { size: 2 }),
    ("stm", Form::StoreBlock(Block::Ia)),
    ("stmda", Form::StoreBlock(Block::Da)),
    ("stmdb", Form::StoreBlock(Block::Db)),
    ("stmea", Form::StoreBlock(Block::Ia)),
    ("stmed", Form::StoreBlock(Block::Da)),
    ("stmfa", Form::StoreBlock(Block::Ib)),
    ("stmfd", Form::StoreBlock(Block::Db)),
    ("stmia", Form::StoreBlock(Block::Ia)),
    ("stmib", Form::StoreBlock(Block::Ib)),
    ("str", Form::Store { size: 4 }),
    ("strb", Form::Store { size: 1 }),
    ("strd", Form::StoreDual),
    ("strex", Form::StoreEx { size: 4, tags: EX }),
    ("strexb", Form::StoreEx { size: 1, tags: EX }),
    ("strexd", Form::StoreEx { size: 8, tags: EX }),
    ("strexh", Form::StoreEx { size: 2, tags: EX }),
    ("strh", Form::Store { size: 2 }),
    ("sub", Form::Data(DataOp::Sub)),
    ("subw", Form::Data(DataOp::Sub)),
    ("swp", Form::Swap { size: 4 }),
    ("swpb", Form::Swap { size: 1 }),
    ("sxtab", Form::Extend { signed: true, from: 8, add: true }),
    ("sxtah", Form::Extend { signed: true, from: 16, add: true }),
    ("sxtb", Form::Extend { signed: true, from: 8, add: false }),
    ("sxth", Form::Extend { signed: true, from: 16, add: false }),
    ("teq", Form::Data(DataOp::Teq)),
    ("tst", Form::Data(DataOp::Tst)),
    ("uadd16", Form::AddParts { bits: 16 }),
    ("uadd8", Form::AddParts { bits: 8 }),
    ("ubfx", Form::Extract { signed: false }),
    ("udf", Form::Trap),
    ("udiv", Form::Div { signed: false }),
    ("umaal", Form::MulLong { signed: false, plus: Plus::Both }),
    ("umlal", Form::MulLong { signed: false, plus: Plus::Wide }),
    ("umull", Form::MulLong { signed: false, plus: Plus::Nothing }),
    ("usat", Form::Saturate { signed: false }),
    ("uxtab", Form::Extend { signed: false, from: 8, add: true }),
    ("uxtah", Form::Extend { signed: false, from: 16, add: true }),
    ("uxtb", Form::Extend { signed: false, from: 8, add: false }),
    ("uxth", Form::Extend { signed: false, from: 16, add: false }),
    ("wfe", Form::Nop),
    ("wfi", Form::Nop),
    ("xor", Form::Data(DataOp::Eor)),
    ("yield", Form::Nop),
];

fn form(name: &str) -> Option<Form> {
    TABLE.binary_search_by(|(n, _)| (*n).cmp(name)).ok().map(|i| TABLE[i].1)
}

impl Form {
    /// Whether an `s` may follow, for setting the flags.
    fn can_set_flags(self) -> bool {
        match self {
            Form::Data(op) => !op.is_test(),
            Form::Shift(_) | Form::Neg | Form::Mul => true,
            Form::MulLong { plus, .. } => plus != Plus::Both,
            Form::MulAdd { subtract } => !subtract,
            _ => false,
        }
    }

    fn can_be_conditional(self) -> bool {
        !matches!(self, Form::It | Form::CompareBranch { .. } | Form::Literal)
    }
}

/// A mnemonic taken apart: what it is, whether it sets flags, when it is executed.
pub fn split(mnemonic: &str) -> Option<(Form, bool, Cond)> {
    let bare =
        mnemonic.strip_suffix(".w").or_else(|| mnemonic.strip_suffix(".n")).unwrap_or(mnemonic);
    if let Some(form) = form(bare) {
        return Some((form, false, Cond::Al));
    }
    if bare.starts_with("it") && bare[2..].bytes().all(|b| matches!(b, b't' | b'e')) {
        return (bare.len() <= 5).then_some((Form::It, false, Cond::Al));
    }
    let (head, cond) = cut(bare, 2);
    if let Some(cond) = cond.and_then(Cond::named) {
        if let Some(form) = form(head).filter(|f| f.can_be_conditional()) {
            return Some((form, false, cond));
        }
        // `addseq`
        if let Some(form) = head.strip_suffix('s').and_then(form)
            && form.can_set_flags()
        {
            return Some((form, true, cond));
        }
    }
    let head = bare.strip_suffix('s')?;
    if let Some(form) = form(head).filter(|f| f.can_set_flags()) {
        return Some((form, true, Cond::Al));
    }
    // `addeqs`, as it was written once.
    let (head, cond) = cut(head, 2);
    let cond = cond.and_then(Cond::named)?;
    let form = form(head).filter(|f| f.can_set_flags())?;
    Some((form, true, cond))
}

/// The last `n` bytes apart from the rest.
fn cut(word: &str, n: usize) -> (&str, Option<&str>) {
    match word.len().checked_sub(n) {
        Some(at) if word.is_char_boundary(at) => (&word[..at], Some(&word[at..])),
        _ => (word, None),
    }
}

/// The first is what no option means.
pub const DMB: [(&str, Tags); 13] = [
    ("sy", tag::DMB),
    ("st", tag::ARM_DMB_ST),
    ("ld", tag::ARM_DMB_LD),
    ("ish", tag::ARM_DMB_ISH),
    ("ishst", tag::ARM_DMB_ISHST),
    ("ishld", tag::ARM_DMB_ISHLD),
    ("osh", tag::DMB_OSH),
    ("oshst", tag::DMB_OSHST),
    ("oshld", tag::DMB_OSHLD),
    ("nsh", tag::DMB_NSH),
    ("un", tag::DMB_NSH),
    ("nshst", tag::DMB_NSHST),
    ("nshld", tag::DMB_NSHLD),
];

pub const DSB: [(&str, Tags); 13] = [
    ("sy", tag::DSB),
    ("st", tag::ARM_DSB_ST),
    ("ld", tag::DSB_LD),
    ("ish", tag::ARM_DSB_ISH),
    ("ishst", tag::ARM_DSB_ISHST),
    ("ishld", tag::DSB_ISHLD),
    ("osh", tag::DSB_OSH),
    ("oshst", tag::DSB_OSHST),
    ("oshld", tag::DSB_OSHLD),
    ("nsh", tag::DSB_NSH),
    ("un", tag::DSB_NSH),
    ("nshst", tag::DSB_NSHST),
    ("nshld", tag::DSB_NSHLD),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn mnemonics_are_split_into_base_flags_and_condition() {
        let is = |word: &str, base: &str, flags: bool, cond: Cond| {
            let (found, s, c) = split(word).expect(word);
            assert!(Some(found) == form(base), "{word}");
            assert_eq!((s, c), (flags, cond), "{word}");
        };
        is("bls", "b", false, Cond::Ls);
        is("blt", "b", false, Cond::Lt);
        is("blle", "bl", false, Cond::Le);
        is("bics", "bic", true, Cond::Al);
        is("teq", "teq", false, Cond::Al);
        is("teqeq", "teq", false, Cond::Eq);
        is("movs", "mov", true, Cond::Al);
        is("movseq", "mov", true, Cond::Eq);
        is("moveqs", "mov", true, Cond::Eq);
        is("movteq", "movt", false, Cond::Eq);
        is("movlt", "mov", false, Cond::Lt);
        is("strhs", "str", false, Cond::Cs);
        is("mlals", "mla", false, Cond::Ls);
        is("smlals", "smlal", true, Cond::Al);
        is("ldrsheq", "ldrsh", false, Cond::Eq);
        is("bne.w", "b", false, Cond::Ne);
        is("lsls", "lsl", true, Cond::Al);
        is("adcs", "adc", true, Cond::Al);
        is("strexeq", "strex", false, Cond::Eq);
        assert!(split("cmps").is_none());
        assert!(split("ldrs").is_none());
        assert!(split("ités").is_none());
    }
}
