//! LoongArch machine code as text of the litmus dialect. It does not know what instructions mean.

use super::regs;
use super::table::{Does, Field, ROWS, Row, Vector};
use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Style, Update};

/// The decoder of LA64 code, which is little endian.
pub fn decoder() -> &'static dyn Decoder {
    &La64
}

struct La64;

static STYLE: Style = Style { immediate: "", memory };

fn memory(mem: &Mem) -> String {
    let base = mem.base.as_deref().unwrap_or("$r0");
    match &mem.index {
        Some(index) => format!("{base},{index}"),
        None => format!("{base},{}", mem.offset),
    }
}

impl Decoder for La64 {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let [a, b, c, d, ..] = *bytes else {
            return Err(format!("the LoongArch instruction at 0x{at:x} is cut off"));
        };
        let word = u32::from_le_bytes([a, b, c, d]);
        let Some(row) = ROWS.iter().find(|row| row.is(word)).filter(|row| is_defined(row, word))
        else {
            return Err(format!(
                "0x{word:08x} at 0x{at:x} is no LoongArch instruction that is known here"
            ));
        };
        let operands = row.fields.iter().map(|field| operand(*field, word, at)).collect();
        let mnemonic = row.name.to_string();
        let decoded = Decoded { at, len: 4, mnemonic, operands, flow: flow(row, word) };
        Ok(plain(decoded, word))
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

fn rd(word: u32) -> u32 {
    word & 31
}

fn rj(word: u32) -> u32 {
    word >> 5 & 31
}

fn rk(word: u32) -> u32 {
    word >> 10 & 31
}

/// Whether a field of bits ends above its start, and the constant of a vector is one that is known here.
fn is_defined(row: &Row, word: u32) -> bool {
    match row.does {
        Does::Insert(_) | Does::Extract(_) => match row.fields {
            [_, _, Field::Unsigned(high, bits), Field::Unsigned(low, _)] => {
                let mask = (1 << bits) - 1;
                word >> high & mask >= word >> low & mask
            }
            _ => false,
        },
        // Others are not parts of 10 bits in all places.
        Does::Vector(Vector::Fill) => word >> 17 & 1 == 0,
        _ => true,
    }
}

fn name(number: u32) -> String {
    regs::canonical(number as u8).to_string()
}

/// The low `bits` of `value`, as a signed number.
fn signed(value: u32, bits: u32) -> i64 {
    let spare = 32 - bits;
    i64::from(((value << spare) as i32) >> spare)
}

/// A branch's target, from its distance in instructions.
fn code(at: u64, distance: u32, bits: u32) -> Operand {
    Operand::Code(at.wrapping_add_signed(4 * signed(distance, bits)))
}

fn operand(field: Field, word: u32, at: u64) -> Operand {
    let low16 = word >> 10 & 0xffff;
    let based = |offset, index| {
        let base = Some(name(rj(word)));
        Operand::Mem(Mem { base, offset, index, update: Update::None })
    };
    match field {
        Field::Rd => Operand::Reg(name(rd(word))),
        Field::Rj => Operand::Reg(name(rj(word))),
        Field::Rk => Operand::Reg(name(rk(word))),
        Field::Fd => Operand::Reg(format!("$f{}", rd(word))),
        Field::Fj => Operand::Reg(format!("$f{}", rj(word))),
        Field::Vd => Operand::Reg(format!("$vr{}", rd(word))),
        Field::Vj => Operand::Reg(format!("$vr{}", rj(word))),
        Field::Unsigned(low, bits) => Operand::Imm(i64::from(word >> low & ((1 << bits) - 1))),
        Field::Signed(low, bits) => Operand::Imm(signed(word >> low, bits)),
        Field::Count => Operand::Imm(i64::from(word >> 15 & 3) + 1),
        Field::Mem12 => based(signed(word >> 10, 12), None),
        Field::Mem14 => based(4 * signed(word >> 10, 14), None),
        Field::Mem8 => based(8 * signed(word >> 10, 8), None),
        Field::Indexed => based(0, Some(name(rk(word)))),
        Field::Base => based(0, None),
        Field::Place => based(4 * signed(low16, 16), None),
        Field::Near => code(at, low16, 16),
        Field::Far => code(at, (word & 0x1f) << 16 | low16, 21),
        Field::Farthest => code(at, (word & 0x3ff) << 16 | low16, 26),
    }
}

fn flow(row: &Row, word: u32) -> Flow {
    match row.does {
        Does::Trap => Flow::Trap,
        _ if is_trap(row, word) => Flow::Trap,
        Does::Branch(..) | Does::BranchZero(_) => Flow::Branch,
        Does::Jump(false) => Flow::Jump,
        Does::Jump(true) => Flow::Call,
        Does::JumpRegister if rd(word) != 0 => Flow::CallRegister,
        Does::JumpRegister if rj(word) == u32::from(regs::RA) && word >> 10 & 0xffff == 0 => {
            Flow::Return
        }
        Does::JumpRegister => Flow::JumpRegister,
        _ => Flow::Next,
    }
}

/// Whether it is the instruction that assemblers call `ud`: an exchange that puts what it reads where its
/// address is, which machines refuse.
fn is_trap(row: &Row, word: u32) -> bool {
    row.name == "amswap.w" && rd(word) == rj(word) && rk(word) == 1
}

/// The aliases that assemblers have.
fn plain(insn: Decoded, word: u32) -> Decoded {
    let reg = |number| Operand::Reg(name(number));
    let (mnemonic, operands) = match insn.mnemonic.as_str() {
        "andi" if word & 0x3f_ffff == 0 => ("nop", vec![]),
        "amswap.w" if insn.flow == Flow::Trap => ("ud", vec![Operand::Imm(rd(word).into())]),
        "or" if rk(word) == 0 => ("move", vec![reg(rd(word)), reg(rj(word))]),
        "jirl" if insn.flow == Flow::Return => ("ret", vec![]),
        "jirl" if rd(word) == 0 && word >> 10 & 0xffff == 0 => ("jr", vec![reg(rj(word))]),
        _ => return insn,
    };
    Decoded { mnemonic: mnemonic.to_string(), operands, ..insn }
}
