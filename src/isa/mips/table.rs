//! The mnemonics of MIPS, and the shape of what follows each.

use super::insn::{Alu, Slot, Test, Unary};
use litmake_ops::{Tags, tag};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Nop,
    Directive,
    Set,
    Trap,
    /// A trap where two registers are equal.
    TrapEqual,
    Alu {
        op: Alu,
        word: bool,
    },
    /// With a constant that is sign-extended, or zero-extended in logic.
    AluImm {
        op: Alu,
        word: bool,
    },
    AddImm {
        word: bool,
    },
    Shift {
        op: Alu,
        word: bool,
        more: u8,
    },
    /// `rd = 0 - rs`, `rd = rs nor 0`
    FromZero {
        op: Alu,
        word: bool,
    },
    Move,
    Lui,
    Li {
        word: bool,
    },
    La,
    Multiply {
        word: bool,
        signed: bool,
    },
    Divide {
        word: bool,
        signed: bool,
    },
    /// The product, added to HI and LO or taken from them.
    Accumulate {
        signed: bool,
        subtract: bool,
    },
    /// An addition of a constant that is shifted left.
    AddUpper {
        word: bool,
        shift: u8,
    },
    FromHi,
    FromLo,
    ToHi,
    ToLo,
    Unary(Unary),
    Extract {
        word: bool,
    },
    Insert {
        word: bool,
    },
    MoveIf {
        zero: bool,
    },
    SelectOr0 {
        zero: bool,
    },
    ScaledAdd {
        word: bool,
    },
    Load {
        size: u8,
        signed: bool,
    },
    Store {
        size: u8,
    },
    LoadLinked {
        size: u8,
    },
    StoreConditional {
        size: u8,
    },
    Sync,
    Fence(Tags),
    /// `beq a, b, label`
    Branch2 {
        test: Test,
        slot: Slot,
    },
    /// `bltz a, label`
    Branch1 {
        test: Test,
        link: bool,
        slot: Slot,
    },
    Jump {
        link: bool,
        slot: Slot,
    },
    JumpReg {
        link: bool,
        slot: Slot,
    },
}

const fn alu(op: Alu, word: bool) -> Form {
    Form::Alu { op, word }
}

const fn imm(op: Alu, word: bool) -> Form {
    Form::AluImm { op, word }
}

const fn shift(op: Alu, word: bool, more: u8) -> Form {
    Form::Shift { op, word, more }
}

const fn load(size: u8, signed: bool) -> Form {
    Form::Load { size, signed }
}

const fn two(test: Test, slot: Slot) -> Form {
    Form::Branch2 { test, slot }
}

const fn one(test: Test, slot: Slot) -> Form {
    Form::Branch1 { test, link: false, slot }
}

const fn one_link(test: Test) -> Form {
    Form::Branch1 { test, link: true, slot: Slot::Delayed }
}

const fn jump(link: bool, slot: Slot) -> Form {
    Form::Jump { link, slot }
}

const fn jump_reg(link: bool, slot: Slot) -> Form {
    Form::JumpReg { link, slot }
}

const fn unary(op: Unary) -> Form {
    Form::Unary(op)
}

use Slot::{Compact, Delayed, Likely};

/// Sorted by name.
pub const TABLE: &[(&str, Form)] = &[
    (".align", Form::Directive),
    (".cpload", Form::Directive),
    (".cprestore", Form::Directive),
    (".cpreturn", Form::Directive),
    (".cpsetup", Form::Directive),
    (".end", Form::Directive),
    (".ent", Form::Directive),
    (".fmask", Form::Directive),
    (".frame", Form::Directive),
    (".insn", Form::Directive),
    (".mask", Form::Directive),
    (".reloc", Form::Directive),
    (".set", Form::Set),
    ("add", alu(Alu::Add, true)),
    ("addi", Form::AddImm { word: true }),
    ("addiu", Form::AddImm { word: true }),
    ("addu", alu(Alu::Add, true)),
    ("and", alu(Alu::And, false)),
    ("andi", imm(Alu::And, false)),
    ("aui", Form::AddUpper { word: true, shift: 16 }),
    ("b", jump(false, Delayed)),
    ("bal", jump(true, Delayed)),
    ("balc", jump(true, Compact)),
    ("bc", jump(false, Compact)),
    ("beq", two(Test::Eq, Delayed)),
    ("beqc", two(Test::Eq, Compact)),
    ("beql", two(Test::Eq, Likely)),
    ("beqz", one(Test::Eq, Delayed)),
    ("beqzc", one(Test::Eq, Compact)),
    ("beqzl", one(Test::Eq, Likely)),
    ("bge", two(Test::Ge, Delayed)),
    ("bgec", two(Test::Ge, Compact)),
    ("bgeu", two(Test::Geu, Delayed)),
    ("bgeuc", two(Test::Geu, Compact)),
    ("bgez", one(Test::Ge, Delayed)),
    ("bgezal", one_link(Test::Ge)),
    ("bgezc", one(Test::Ge, Compact)),
    ("bgezl", one(Test::Ge, Likely)),
    ("bgt", two(Test::Gt, Delayed)),
    ("bgtu", two(Test::Gtu, Delayed)),
    ("bgtz", one(Test::Gt, Delayed)),
    ("bgtzc", one(Test::Gt, Compact)),
    ("bgtzl", one(Test::Gt, Likely)),
    ("ble", two(Test::Le, Delayed)),
    ("bleu", two(Test::Leu, Delayed)),
    ("blez", one(Test::Le, Delayed)),
    ("blezc", one(Test::Le, Compact)),
    ("blezl", one(Test::Le, Likely)),
    ("blt", two(Test::Lt, Delayed)),
    ("bltc", two(Test::Lt, Compact)),
    ("bltu", two(Test::Ltu, Delayed)),
    ("bltuc", two(Test::Ltu, Compact)),
    ("bltz", one(Test::Lt, Delayed)),
    ("bltzal", one_link(Test::Lt)),
    ("bltzc", one(Test::Lt, Compact)),
    ("bltzl", one(Test::Lt, Likely)),
    ("bne", two(Test::Ne, Delayed)),
    ("bnec", two(Test::Ne, Compact)),
    ("bnel", two(Test::Ne, Likely)),
    ("bnez", one(Test::Ne, Delayed)),
    ("bnezc", one(Test::Ne, Compact)),
    ("bnezl", one(Test::Ne, Likely)),
    ("break", Form::Trap),
    ("clo", unary(Unary::Clo)),
    ("clz", unary(Unary::Clz)),
    ("dadd", alu(Alu::Add, false)),
    ("daddi", Form::AddImm { word: false }),
    ("daddiu", Form::AddImm { word: false }),
    ("daddu", alu(Alu::Add, false)),
    ("dahi", Form::AddUpper { word: false, shift: 32 }),
    ("dati", Form::AddUpper { word: false, shift: 48 }),
    ("daui", Form::AddUpper { word: false, shift: 16 }),
    ("dclo", unary(Unary::Dclo)),
    ("dclz", unary(Unary::Dclz)),
    ("ddiv", Form::Divide { word: false, signed: true }),
    ("ddivu", Form::Divide { word: false, signed: false }),
    ("dext", Form::Extract { word: false }),
    ("dextm", Form::Extract { word: false }),
    ("dextu", Form::Extract { word: false }),
    ("dins", Form::Insert { word: false }),
    ("dinsm", Form::Insert { word: false }),
    ("dinsu", Form::Insert { word: false }),
    ("div", Form::Divide { word: true, signed: true }),
    ("divu", Form::Divide { word: true, signed: false }),
    ("dla", Form::La),
    ("dli", Form::Li { word: false }),
    ("dlsa", Form::ScaledAdd { word: false }),
    ("dmod", alu(Alu::Mod, false)),
    ("dmodu", alu(Alu::Modu, false)),
    ("dmuh", alu(Alu::Muh, false)),
    ("dmuhu", alu(Alu::Muhu, false)),
    ("dmul", alu(Alu::Mul, false)),
    ("dmult", Form::Multiply { word: false, signed: true }),
    ("dmultu", Form::Multiply { word: false, signed: false }),
    ("dmulu", alu(Alu::Mul, false)),
    ("dneg", Form::FromZero { op: Alu::Sub, word: false }),
    ("dnegu", Form::FromZero { op: Alu::Sub, word: false }),
    ("drotr", shift(Alu::Rotr, false, 0)),
    ("drotr32", shift(Alu::Rotr, false, 32)),
    ("drotrv", shift(Alu::Rotr, false, 0)),
    ("dsbh", unary(Unary::Dsbh)),
    ("dshd", unary(Unary::Dshd)),
    ("dsll", shift(Alu::Sll, false, 0)),
    ("dsll32", shift(Alu::Sll, false, 32)),
    ("dsllv", shift(Alu::Sll, false, 0)),
    ("dsra", shift(Alu::Sra, false, 0)),
    ("dsra32", shift(Alu::Sra, false, 32)),
    ("dsrav", shift(Alu::Sra, false, 0)),
    ("dsrl", shift(Alu::Srl, false, 0)),
    ("dsrl32", shift(Alu::Srl, false, 32)),
    ("dsrlv", shift(Alu::Srl, false, 0)),
    ("dsub", alu(Alu::Sub, false)),
    ("dsubu", alu(Alu::Sub, false)),
    ("ehb", Form::Nop),
    ("ext", Form::Extract { word: true }),
    ("ins", Form::Insert { word: true }),
    ("j", jump(false, Delayed)),
    ("jal", jump(true, Delayed)),
    ("jalr", jump_reg(true, Delayed)),
    ("jalr.hb", jump_reg(true, Delayed)),
    ("jalrc", jump_reg(true, Compact)),
    ("jr", jump_reg(false, Delayed)),
    ("jr.hb", jump_reg(false, Delayed)),
    ("jrc", jump_reg(false, Compact)),
    ("la", Form::La),
    ("lb", load(1, true)),
    ("lbu", load(1, false)),
    ("ld", load(8, false)),
    ("lh", load(2, true)),
    ("lhu", load(2, false)),
    ("li", Form::Li { word: true }),
    ("ll", Form::LoadLinked { size: 4 }),
    ("lld", Form::LoadLinked { size: 8 }),
    ("lsa", Form::ScaledAdd { word: true }),
    ("lui", Form::Lui),
    ("lw", load(4, true)),
    ("lwu", load(4, false)),
    ("madd", Form::Accumulate { signed: true, subtract: false }),
    ("maddu", Form::Accumulate { signed: false, subtract: false }),
    ("mfhi", Form::FromHi),
    ("mflo", Form::FromLo),
    ("mod", alu(Alu::Mod, true)),
    ("modu", alu(Alu::Modu, true)),
    ("move", Form::Move),
    ("movn", Form::MoveIf { zero: false }),
    ("movz", Form::MoveIf { zero: true }),
    ("msub", Form::Accumulate { signed: true, subtract: true }),
    ("msubu", Form::Accumulate { signed: false, subtract: true }),
    ("mthi", Form::ToHi),
    ("mtlo", Form::ToLo),
    ("muh", alu(Alu::Muh, true)),
    ("muhu", alu(Alu::Muhu, true)),
    ("mul", alu(Alu::Mul, true)),
    ("mult", Form::Multiply { word: true, signed: true }),
    ("multu", Form::Multiply { word: true, signed: false }),
    ("mulu", alu(Alu::Mul, true)),
    ("neg", Form::FromZero { op: Alu::Sub, word: true }),
    ("negu", Form::FromZero { op: Alu::Sub, word: true }),
    ("nop", Form::Nop),
    ("nor", alu(Alu::Nor, false)),
    ("not", Form::FromZero { op: Alu::Nor, word: false }),
    ("or", alu(Alu::Or, false)),
    ("ori", imm(Alu::Or, false)),
    ("pause", Form::Nop),
    ("pref", Form::Nop),
    ("rotr", shift(Alu::Rotr, true, 0)),
    ("rotrv", shift(Alu::Rotr, true, 0)),
    ("sb", Form::Store { size: 1 }),
    ("sc", Form::StoreConditional { size: 4 }),
    ("scd", Form::StoreConditional { size: 8 }),
    ("sd", Form::Store { size: 8 }),
    ("seb", unary(Unary::Seb)),
    ("seh", unary(Unary::Seh)),
    ("seleqz", Form::SelectOr0 { zero: true }),
    ("selnez", Form::SelectOr0 { zero: false }),
    ("seq", alu(Alu::Seq, false)),
    ("sh", Form::Store { size: 2 }),
    ("sll", shift(Alu::Sll, true, 0)),
    ("sllv", shift(Alu::Sll, true, 0)),
    ("slt", alu(Alu::Slt, false)),
    ("slti", imm(Alu::Slt, false)),
    ("sltiu", imm(Alu::Sltu, false)),
    ("sltu", alu(Alu::Sltu, false)),
    ("sne", alu(Alu::Sne, false)),
    ("sra", shift(Alu::Sra, true, 0)),
    ("srav", shift(Alu::Sra, true, 0)),
    ("srl", shift(Alu::Srl, true, 0)),
    ("srlv", shift(Alu::Srl, true, 0)),
    ("ssnop", Form::Nop),
    ("sub", alu(Alu::Sub, true)),
    ("subi", imm(Alu::Sub, true)),
    ("subiu", imm(Alu::Sub, true)),
    ("subu", alu(Alu::Sub, true)),
    ("sw", Form::Store { size: 4 }),
    ("sync", Form::Sync),
    ("sync_acquire", Form::Fence(tag::SYNC_ACQUIRE)),
    ("sync_mb", Form::Fence(tag::SYNC_MB)),
    ("sync_release", Form::Fence(tag::SYNC_RELEASE)),
    ("sync_rmb", Form::Fence(tag::SYNC_RMB)),
    ("sync_wmb", Form::Fence(tag::SYNC_WMB)),
    ("synci", Form::Nop),
    ("teq", Form::TrapEqual),
    ("wsbh", unary(Unary::Wsbh)),
    ("xor", alu(Alu::Xor, false)),
    ("xori", imm(Alu::Xor, false)),
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
