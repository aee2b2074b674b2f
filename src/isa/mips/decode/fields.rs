//! The fields of MIPS encodings, and the rows of which tables are made.

use crate::machine::{Flow, Mem, Operand, Update};

/// One encoding.
pub type Row = crate::machine::Row<Field>;

pub const fn row(name: &'static str, mask: u32, value: u32, fields: &'static [Field]) -> Row {
    Row::new(name, mask, value, fields)
}

pub const fn goes(
    name: &'static str,
    mask: u32,
    value: u32,
    fields: &'static [Field],
    flow: Flow,
) -> Row {
    Row { flow, ..Row::new(name, mask, value, fields) }
}

/// Masks, by the fields that they keep.
pub const OP: u32 = 0x3f << 26;
pub const RS: u32 = 0x1f << 21;
pub const RT: u32 = 0x1f << 16;
pub const RD: u32 = 0x1f << 11;
pub const SA: u32 = 0x1f << 6;
pub const FUNCT: u32 = 0x3f;
pub const OPF: u32 = OP | FUNCT;

/// Opcodes of which a function in the low bits says more.
pub const SPECIAL: u32 = 0;
pub const REGIMM: u32 = 1;
pub const SPECIAL2: u32 = 0x1c;
pub const SPECIAL3: u32 = 0x1f;

pub const fn op(opcode: u32) -> u32 {
    opcode << 26
}

pub const fn f(opcode: u32, funct: u32) -> u32 {
    opcode << 26 | funct
}

/// An encoding whose shift-count field has this value.
pub const fn sa(opcode: u32, funct: u32, sa: u32) -> u32 {
    opcode << 26 | sa << 6 | funct
}

pub const fn regimm(rt: u32) -> u32 {
    op(REGIMM) | rt << 16
}

pub fn rs(word: u32) -> u32 {
    word >> 21 & 31
}

pub fn rt(word: u32) -> u32 {
    word >> 16 & 31
}

pub fn rd(word: u32) -> u32 {
    word >> 11 & 31
}

pub fn count(word: u32) -> u32 {
    word >> 6 & 31
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Rs,
    Rt,
    Rd,
    Sa,
    /// A shift by 32 more than the field says.
    Sa32,
    Simm,
    Uimm,
    /// A base register and 16 bits, or 9.
    Mem16,
    Mem9,
    /// A base register with an index register.
    Indexed,
    /// Targets of 16, 21 and 26 bits, relative to the next instruction.
    Branch16,
    Branch21,
    Branch26,
    /// The target in the 256 MiB of the next instruction.
    Jump,
    /// The position of a bit field: as it is, and 32 up.
    Pos,
    Pos32,
    /// Its size, of an extraction: by how much the position and the size are more than what
    /// stands there, and the width that both must fit in.
    Size(u8, u8, u8),
    /// Its size, of an insertion, from its last bit: by how much that is more.
    Last(u8),
    /// `lsa`'s count; `align`'s and `dalign`'s.
    Scale,
    Bytes4,
    Bytes8,
    /// Codes that only debuggers and kernels read.
    Code10,
    CodeLow10,
    Code20,
    /// A number in place of a register: a hint, an operation.
    Hint,
    /// A hardware register's number.
    Hardware,
    /// Places relative to the instruction: words, double words.
    Pc19,
    Pc18,
    Fs,
    Ft,
    Fd,
    Fr,
    /// Which condition flag, where it is not the first: of a comparison, of a branch or move.
    FlagSet,
    FlagRead,
}

pub fn reg(num: u32) -> Operand {
    Operand::Reg(format!("${num}"))
}

fn float(num: u32) -> Operand {
    Operand::Reg(format!("$f{num}"))
}

/// The low `bits` of `value`, as a signed number.
fn signed(value: u32, bits: u32) -> i64 {
    let spare = 32 - bits;
    i64::from(((value << spare) as i32) >> spare)
}

fn based(word: u32, offset: i64, index: Option<String>) -> Operand {
    let base = Some(format!("${}", rs(word)));
    Operand::Mem(Mem { base, offset, index, update: Update::None })
}

/// The address that a branch of that many bits goes to.
fn target(word: u32, bits: u32, at: u64) -> Operand {
    Operand::Code(at.wrapping_add(4).wrapping_add_signed(signed(word, bits) << 2))
}

impl Field {
    /// None where the encoding is reserved.
    pub fn operand(self, word: u32, at: u64) -> Option<Operand> {
        let imm = |n: u32| Operand::Imm(i64::from(n));
        let pos = count(word);
        Some(match self {
            Field::Rs => reg(rs(word)),
            Field::Rt => reg(rt(word)),
            Field::Rd => reg(rd(word)),
            Field::Sa | Field::Pos => imm(pos),
            Field::Sa32 | Field::Pos32 => imm(pos + 32),
            Field::Simm => Operand::Imm(signed(word, 16)),
            Field::Uimm => imm(word & 0xffff),
            Field::Mem16 => based(word, signed(word, 16), None),
            Field::Mem9 => based(word, signed(word >> 7, 9), None),
            Field::Indexed => based(word, 0, Some(format!("${}", rt(word)))),
            Field::Branch16 => target(word, 16, at),
            Field::Branch21 => target(word, 21, at),
            Field::Branch26 => target(word, 26, at),
            Field::Jump => {
                let region = at.wrapping_add(4) & !0x0fff_ffff;
                Operand::Code(region | u64::from(word & 0x03ff_ffff) << 2)
            }
            Field::Size(more, larger, width) => {
                let size = rd(word) + u32::from(larger) + 1;
                if pos + u32::from(more) + size > u32::from(width) {
                    return None;
                }
                imm(size)
            }
            Field::Last(more) => imm((rd(word) + u32::from(more)).checked_sub(pos)? + 1),
            Field::Scale => imm((pos & 3) + 1),
            Field::Bytes4 => imm(pos & 3),
            Field::Bytes8 => imm(pos & 7),
            Field::Code10 => imm(word >> 16 & 0x3ff),
            Field::CodeLow10 => imm(word >> 6 & 0x3ff),
            Field::Code20 => imm(word >> 6 & 0xf_ffff),
            Field::Hint => imm(rt(word)),
            Field::Hardware => reg(rd(word)),
            Field::Pc19 => Operand::Code(at.wrapping_add_signed(signed(word, 19) << 2)),
            Field::Pc18 => Operand::Code((at & !7).wrapping_add_signed(signed(word, 18) << 3)),
            Field::Fs => float(rd(word)),
            Field::Ft => float(rt(word)),
            Field::Fd => float(pos),
            Field::Fr => float(rs(word)),
            Field::FlagSet => Operand::Text(format!("$fcc{}", word >> 8 & 7)),
            Field::FlagRead => Operand::Text(format!("$fcc{}", word >> 18 & 7)),
        })
    }
}
