//! The mnemonics of Power, and the shape of what follows each.

use super::insn::{Alu, CarryIn, CrBit, CrOp, EQ, Extend, GT, Half, LT, Spr, Unary};
use litmake_ops::{Tags, tag};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Nop,
    Trap,
    TrapIf {
        word: bool,
        imm: bool,
    },
    MulAdd(Half),
    /// A word among the code that is no instruction; it is not run into.
    Data,
    Alu(Alu),
    /// `subc a, b, c` is `subfc a, c, b`.
    SubCarry,
    ExtendShift,
    SubFrom,
    Logic {
        op: Alu,
        high: bool,
        record: bool,
    },
    Mulli,
    /// `operand`: the constant that an instruction of two registers adds.
    Carry {
        invert: bool,
        carry: CarryIn,
        operand: Operand,
    },
    Unary(Unary),
    Mr,
    Not,
    Li {
        high: bool,
    },
    AddImm {
        high: bool,
        negate: bool,
    },
    La,
    Rotate(Rotate),
    Sra {
        word: bool,
        imm: bool,
    },
    Compare {
        word: bool,
        signed: bool,
        imm: bool,
    },
    Isel(Option<CrBit>),
    SetB,
    SetBit {
        want: bool,
        negate: bool,
    },
    Cr {
        op: CrOp,
        operands: u8,
    },
    Mcrf,
    Mfcr,
    Mtcrf,
    Mtcr,
    Load {
        size: u8,
        extend: Extend,
        update: bool,
        indexed: bool,
    },
    Store {
        size: u8,
        reversed: bool,
        update: bool,
        indexed: bool,
    },
    LoadEx(u8),
    StoreEx(u8),
    Fence(Tags),
    Sync,
    ToSpr(Spr),
    FromSpr(Spr),
    Bc,
    /// `bt` and `bf`.
    Bit(bool),
}

/// The last operand of an instruction that leaves a carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Reg,
    Imm,
    /// There is none; it adds this.
    Fixed(i64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rotate {
    Rlwinm,
    Rlwnm,
    Rlwimi,
    Rldicl,
    Rldicr,
    Rldic,
    Rldimi,
    Rldcl,
    Rldcr,
    Slwi,
    Srwi,
    Sldi,
    Srdi,
    Rotlwi,
    Rotldi,
    Rotrwi,
    Rotrdi,
    Rotlw,
    Rotld,
    Clrlwi,
    Clrldi,
    Clrrwi,
    Clrrdi,
    Clrlslwi,
    Clrlsldi,
    Extlwi,
    Extldi,
    Extrwi,
    Extrdi,
    Inslwi,
    Insrwi,
    Insrdi,
}

impl Rotate {
    pub fn is_word(self) -> bool {
        use Rotate::*;
        matches!(
            self,
            Rlwinm
                | Rlwnm
                | Rlwimi
                | Slwi
                | Srwi
                | Rotlwi
                | Rotrwi
                | Rotlw
                | Clrlwi
                | Clrrwi
                | Clrlslwi
                | Extlwi
                | Extrwi
                | Inslwi
                | Insrwi
        )
    }
}

impl Form {
    /// Whether a dot may follow, for comparing the result with 0.
    pub fn can_record(self) -> bool {
        match self {
            Form::Alu(op) => !matches!(op, Alu::Modsw | Alu::Moduw | Alu::Modsd | Alu::Modud),
            Form::Unary(op) => !matches!(
                op,
                Unary::Brh
                    | Unary::Brw
                    | Unary::Brd
                    | Unary::Popcntb
                    | Unary::Popcntw
                    | Unary::Popcntd
            ),
            Form::SubFrom | Form::Mr | Form::Not | Form::Rotate(_) | Form::Sra { .. } => true,
            Form::Carry { .. } | Form::SubCarry | Form::ExtendShift => true,
            _ => false,
        }
    }
}

const fn load(size: u8, extend: Extend) -> Form {
    Form::Load { size, extend, update: false, indexed: false }
}

const fn load_x(size: u8, extend: Extend) -> Form {
    Form::Load { size, extend, update: false, indexed: true }
}

const fn load_u(size: u8, extend: Extend, indexed: bool) -> Form {
    Form::Load { size, extend, update: true, indexed }
}

const fn store(size: u8) -> Form {
    Form::Store { size, reversed: false, update: false, indexed: false }
}

const fn store_x(size: u8, reversed: bool) -> Form {
    Form::Store { size, reversed, update: false, indexed: true }
}

const fn store_u(size: u8, indexed: bool) -> Form {
    Form::Store { size, reversed: false, update: true, indexed }
}

const fn carry(invert: bool, carry: CarryIn, operand: Operand) -> Form {
    Form::Carry { invert, carry, operand }
}

const fn logic(op: Alu, high: bool, record: bool) -> Form {
    Form::Logic { op, high, record }
}

const fn cmp(word: bool, signed: bool, imm: bool) -> Form {
    Form::Compare { word, signed, imm }
}

const fn cr(op: CrOp, operands: u8) -> Form {
    Form::Cr { op, operands }
}

use Extend::{Reversed, Sign, Zero};
use Operand::{Fixed, Imm, Reg};

/// Sorted by name. Branches by condition are not here.
pub const TABLE: &[(&str, Form)] = &[
    (".long", Form::Data),
    (".quad", Form::Data),
    ("add", Form::Alu(Alu::Add)),
    ("addc", carry(false, CarryIn::Zero, Reg)),
    ("adde", carry(false, CarryIn::Ca, Reg)),
    ("addi", Form::AddImm { high: false, negate: false }),
    ("addic", carry(false, CarryIn::Zero, Imm)),
    ("addis", Form::AddImm { high: true, negate: false }),
    ("addme", carry(false, CarryIn::Ca, Fixed(-1))),
    ("addze", carry(false, CarryIn::Ca, Fixed(0))),
    ("and", Form::Alu(Alu::And)),
    ("andc", Form::Alu(Alu::Andc)),
    ("andi.", logic(Alu::And, false, true)),
    ("andis.", logic(Alu::And, true, true)),
    ("bc", Form::Bc),
    ("bf", Form::Bit(false)),
    ("brd", Form::Unary(Unary::Brd)),
    ("brh", Form::Unary(Unary::Brh)),
    ("brw", Form::Unary(Unary::Brw)),
    ("bt", Form::Bit(true)),
    ("clrldi", Form::Rotate(Rotate::Clrldi)),
    ("clrlsldi", Form::Rotate(Rotate::Clrlsldi)),
    ("clrlslwi", Form::Rotate(Rotate::Clrlslwi)),
    ("clrlwi", Form::Rotate(Rotate::Clrlwi)),
    ("clrrdi", Form::Rotate(Rotate::Clrrdi)),
    ("clrrwi", Form::Rotate(Rotate::Clrrwi)),
    ("cmpd", cmp(false, true, false)),
    ("cmpdi", cmp(false, true, true)),
    ("cmpld", cmp(false, false, false)),
    ("cmpldi", cmp(false, false, true)),
    ("cmplw", cmp(true, false, false)),
    ("cmplwi", cmp(true, false, true)),
    ("cmpw", cmp(true, true, false)),
    ("cmpwi", cmp(true, true, true)),
    ("cntlzd", Form::Unary(Unary::Cntlzd)),
    ("cntlzw", Form::Unary(Unary::Cntlzw)),
    ("cnttzd", Form::Unary(Unary::Cnttzd)),
    ("cnttzw", Form::Unary(Unary::Cnttzw)),
    ("crand", cr(CrOp::And, 3)),
    ("crandc", cr(CrOp::Andc, 3)),
    ("crclr", cr(CrOp::Xor, 1)),
    ("creqv", cr(CrOp::Eqv, 3)),
    ("crmove", cr(CrOp::Or, 2)),
    ("crnand", cr(CrOp::Nand, 3)),
    ("crnor", cr(CrOp::Nor, 3)),
    ("crnot", cr(CrOp::Nor, 2)),
    ("cror", cr(CrOp::Or, 3)),
    ("crorc", cr(CrOp::Orc, 3)),
    ("crset", cr(CrOp::Eqv, 1)),
    ("crxor", cr(CrOp::Xor, 3)),
    ("dcbf", Form::Nop),
    ("dcbst", Form::Nop),
    ("dcbt", Form::Nop),
    ("dcbtst", Form::Nop),
    ("divd", Form::Alu(Alu::Divd)),
    ("divdu", Form::Alu(Alu::Divdu)),
    ("divw", Form::Alu(Alu::Divw)),
    ("divwu", Form::Alu(Alu::Divwu)),
    ("eieio", Form::Fence(tag::EIEIO)),
    ("eqv", Form::Alu(Alu::Eqv)),
    ("extldi", Form::Rotate(Rotate::Extldi)),
    ("extlwi", Form::Rotate(Rotate::Extlwi)),
    ("extrdi", Form::Rotate(Rotate::Extrdi)),
    ("extrwi", Form::Rotate(Rotate::Extrwi)),
    ("extsb", Form::Unary(Unary::Extsb)),
    ("extsh", Form::Unary(Unary::Extsh)),
    ("extsw", Form::Unary(Unary::Extsw)),
    ("extswsli", Form::ExtendShift),
    ("hwsync", Form::Fence(tag::PPC_SYNC)),
    ("inslwi", Form::Rotate(Rotate::Inslwi)),
    ("insrdi", Form::Rotate(Rotate::Insrdi)),
    ("insrwi", Form::Rotate(Rotate::Insrwi)),
    ("isel", Form::Isel(None)),
    ("iseleq", Form::Isel(Some(EQ))),
    ("iselgt", Form::Isel(Some(GT))),
    ("isellt", Form::Isel(Some(LT))),
    ("isync", Form::Fence(tag::ISYNC)),
    ("la", Form::La),
    ("lbarx", Form::LoadEx(1)),
    ("lbz", load(1, Zero)),
    ("lbzu", load_u(1, Zero, false)),
    ("lbzux", load_u(1, Zero, true)),
    ("lbzx", load_x(1, Zero)),
    ("ld", load(8, Zero)),
    ("ldarx", Form::LoadEx(8)),
    ("ldbrx", load_x(8, Reversed)),
    ("ldu", load_u(8, Zero, false)),
    ("ldux", load_u(8, Zero, true)),
    ("ldx", load_x(8, Zero)),
    ("lha", load(2, Sign)),
    ("lharx", Form::LoadEx(2)),
    ("lhau", load_u(2, Sign, false)),
    ("lhaux", load_u(2, Sign, true)),
    ("lhax", load_x(2, Sign)),
    ("lhbrx", load_x(2, Reversed)),
    ("lhz", load(2, Zero)),
    ("lhzu", load_u(2, Zero, false)),
    ("lhzux", load_u(2, Zero, true)),
    ("lhzx", load_x(2, Zero)),
    ("li", Form::Li { high: false }),
    ("lis", Form::Li { high: true }),
    ("lq", load(16, Zero)),
    ("lqarx", Form::LoadEx(16)),
    ("lwa", load(4, Sign)),
    ("lwarx", Form::LoadEx(4)),
    ("lwaux", load_u(4, Sign, true)),
    ("lwax", load_x(4, Sign)),
    ("lwbrx", load_x(4, Reversed)),
    ("lwsync", Form::Fence(tag::LWSYNC)),
    ("lwz", load(4, Zero)),
    ("lwzu", load_u(4, Zero, false)),
    ("lwzux", load_u(4, Zero, true)),
    ("lwzx", load_x(4, Zero)),
    ("maddhd", Form::MulAdd(Half::HighSigned)),
    ("maddhdu", Form::MulAdd(Half::HighUnsigned)),
    ("maddld", Form::MulAdd(Half::Low)),
    ("mcrf", Form::Mcrf),
    ("mfcr", Form::Mfcr),
    ("mfctr", Form::FromSpr(Spr::Ctr)),
    ("mflr", Form::FromSpr(Spr::Lr)),
    ("mfocrf", Form::Mfcr),
    ("modsd", Form::Alu(Alu::Modsd)),
    ("modsw", Form::Alu(Alu::Modsw)),
    ("modud", Form::Alu(Alu::Modud)),
    ("moduw", Form::Alu(Alu::Moduw)),
    ("mr", Form::Mr),
    ("msync", Form::Fence(tag::PPC_SYNC)),
    ("mtcr", Form::Mtcr),
    ("mtcrf", Form::Mtcrf),
    ("mtctr", Form::ToSpr(Spr::Ctr)),
    ("mtlr", Form::ToSpr(Spr::Lr)),
    ("mtocrf", Form::Mtcrf),
    ("mulhd", Form::Alu(Alu::Mulhd)),
    ("mulhdu", Form::Alu(Alu::Mulhdu)),
    ("mulhw", Form::Alu(Alu::Mulhw)),
    ("mulhwu", Form::Alu(Alu::Mulhwu)),
    ("mulld", Form::Alu(Alu::Mulld)),
    ("mulli", Form::Mulli),
    ("mullw", Form::Alu(Alu::Mullw)),
    ("nand", Form::Alu(Alu::Nand)),
    ("neg", Form::Unary(Unary::Neg)),
    ("nop", Form::Nop),
    ("nor", Form::Alu(Alu::Nor)),
    ("not", Form::Not),
    ("or", Form::Alu(Alu::Or)),
    ("orc", Form::Alu(Alu::Orc)),
    ("ori", logic(Alu::Or, false, false)),
    ("oris", logic(Alu::Or, true, false)),
    ("paddi", Form::AddImm { high: false, negate: false }),
    ("pla", Form::La),
    ("plbz", load(1, Zero)),
    ("pld", load(8, Zero)),
    ("plha", load(2, Sign)),
    ("plhz", load(2, Zero)),
    ("pli", Form::Li { high: false }),
    ("plq", load(16, Reversed)),
    ("plwa", load(4, Sign)),
    ("plwz", load(4, Zero)),
    ("popcntb", Form::Unary(Unary::Popcntb)),
    ("popcntd", Form::Unary(Unary::Popcntd)),
    ("popcntw", Form::Unary(Unary::Popcntw)),
    ("pstb", store(1)),
    ("pstd", store(8)),
    ("psth", store(2)),
    ("pstq", Form::Store { size: 16, reversed: true, update: false, indexed: false }),
    ("pstw", store(4)),
    ("ptesync", Form::Fence(tag::PPC_SYNC)),
    ("rldcl", Form::Rotate(Rotate::Rldcl)),
    ("rldcr", Form::Rotate(Rotate::Rldcr)),
    ("rldic", Form::Rotate(Rotate::Rldic)),
    ("rldicl", Form::Rotate(Rotate::Rldicl)),
    ("rldicr", Form::Rotate(Rotate::Rldicr)),
    ("rldimi", Form::Rotate(Rotate::Rldimi)),
    ("rlwimi", Form::Rotate(Rotate::Rlwimi)),
    ("rlwinm", Form::Rotate(Rotate::Rlwinm)),
    ("rlwnm", Form::Rotate(Rotate::Rlwnm)),
    ("rotld", Form::Rotate(Rotate::Rotld)),
    ("rotldi", Form::Rotate(Rotate::Rotldi)),
    ("rotlw", Form::Rotate(Rotate::Rotlw)),
    ("rotlwi", Form::Rotate(Rotate::Rotlwi)),
    ("rotrdi", Form::Rotate(Rotate::Rotrdi)),
    ("rotrwi", Form::Rotate(Rotate::Rotrwi)),
    ("setb", Form::SetB),
    ("setbc", Form::SetBit { want: true, negate: false }),
    ("setbcr", Form::SetBit { want: false, negate: false }),
    ("setnbc", Form::SetBit { want: true, negate: true }),
    ("setnbcr", Form::SetBit { want: false, negate: true }),
    ("sld", Form::Alu(Alu::Sld)),
    ("sldi", Form::Rotate(Rotate::Sldi)),
    ("slw", Form::Alu(Alu::Slw)),
    ("slwi", Form::Rotate(Rotate::Slwi)),
    ("srad", Form::Sra { word: false, imm: false }),
    ("sradi", Form::Sra { word: false, imm: true }),
    ("sraw", Form::Sra { word: true, imm: false }),
    ("srawi", Form::Sra { word: true, imm: true }),
    ("srd", Form::Alu(Alu::Srd)),
    ("srdi", Form::Rotate(Rotate::Srdi)),
    ("srw", Form::Alu(Alu::Srw)),
    ("srwi", Form::Rotate(Rotate::Srwi)),
    ("stb", store(1)),
    ("stbcx.", Form::StoreEx(1)),
    ("stbu", store_u(1, false)),
    ("stbux", store_u(1, true)),
    ("stbx", store_x(1, false)),
    ("std", store(8)),
    ("stdbrx", store_x(8, true)),
    ("stdcx.", Form::StoreEx(8)),
    ("stdu", store_u(8, false)),
    ("stdux", store_u(8, true)),
    ("stdx", store_x(8, false)),
    ("sth", store(2)),
    ("sthbrx", store_x(2, true)),
    ("sthcx.", Form::StoreEx(2)),
    ("sthu", store_u(2, false)),
    ("sthux", store_u(2, true)),
    ("sthx", store_x(2, false)),
    ("stq", store(16)),
    ("stqcx.", Form::StoreEx(16)),
    ("stw", store(4)),
    ("stwbrx", store_x(4, true)),
    ("stwcx.", Form::StoreEx(4)),
    ("stwu", store_u(4, false)),
    ("stwux", store_u(4, true)),
    ("stwx", store_x(4, false)),
    ("sub", Form::Alu(Alu::Sub)),
    ("subc", Form::SubCarry),
    ("subf", Form::SubFrom),
    ("subfc", carry(true, CarryIn::One, Reg)),
    ("subfe", carry(true, CarryIn::Ca, Reg)),
    ("subfic", carry(true, CarryIn::One, Imm)),
    ("subfme", carry(true, CarryIn::Ca, Fixed(-1))),
    ("subfze", carry(true, CarryIn::Ca, Fixed(0))),
    ("subi", Form::AddImm { high: false, negate: true }),
    ("subis", Form::AddImm { high: true, negate: true }),
    ("sync", Form::Sync),
    ("td", Form::TrapIf { word: false, imm: false }),
    ("tdi", Form::TrapIf { word: false, imm: true }),
    ("trap", Form::Trap),
    ("tw", Form::TrapIf { word: true, imm: false }),
    ("twi", Form::TrapIf { word: true, imm: true }),
    ("xor", Form::Alu(Alu::Xor)),
    ("xori", logic(Alu::Xor, false, false)),
    ("xoris", logic(Alu::Xor, true, false)),
];

pub fn form(name: &str) -> Option<Form> {
    TABLE.binary_search_by(|(n, _)| (*n).cmp(name)).ok().map(|i| TABLE[i].1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_sorted() {
        assert!(super::TABLE.is_sorted_by(|a, b| a.0 < b.0));
    }
}
