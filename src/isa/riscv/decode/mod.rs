//! RISC-V machine code as text of the litmus dialect: RV64GC with Zacas, Zabha, Zalasr, Zba, Zbb, Zbs,
//! Zicond, Zcb and Zawrs.
//!
//! `base`, `atomic` and `float` are the tables of encodings, and `fields` reads the fields of an encoding.
//! `compressed` turns an instruction of 16 bits into the one of 32 that it stands for. It does not know
//! what instructions mean.

mod atomic;
mod base;
mod compressed;
mod fields;
mod float;
#[cfg(test)]
mod tests;

use self::fields::{Field, Row, reg};
use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Style};

/// The decoder of RV64 code, which is little endian.
pub fn decoder() -> &'static dyn Decoder {
    &Rv64
}

struct Rv64;

static STYLE: Style = Style { immediate: "", memory };

fn memory(mem: &Mem) -> String {
    format!("{}({})", mem.offset, mem.base.as_deref().unwrap_or("x0"))
}

impl Decoder for Rv64 {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let (word, len) = match *bytes {
            [a, b, c, d, ..] if a & 3 == 3 => (u32::from_le_bytes([a, b, c, d]), 4),
            [a, b, ..] if a & 3 != 3 => {
                let half = u16::from_le_bytes([a, b]);
                let word = compressed::expand(half).ok_or_else(|| {
                    format!("0x{half:04x} at 0x{at:x} is no compressed RISC-V instruction")
                })?;
                (word, 2)
            }
            _ => return Err(format!("the RISC-V instruction at 0x{at:x} is cut off")),
        };
        let Some((row, order)) = row(word) else {
            return Err(format!(
                "0x{word:08x} at 0x{at:x} is no RISC-V instruction that is known here"
            ));
        };
        let operands = row.fields.iter().filter_map(|f| f.operand(word, at)).collect();
        let mnemonic = format!("{}{order}", row.name);
        let decoded = Decoded { at, len, mnemonic, operands, flow: flow(word) };
        Ok(plain(decoded, word))
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

/// The row of an encoding, and the ordering annotation of its name.
fn row(word: u32) -> Option<(&'static Row, &'static str)> {
    let rows = match word & 0x7f {
        atomic::OPCODE => {
            let row = atomic::ROWS.iter().find(|r| r.is(word))?;
            let order = ["", ".rl", ".aq", ".aqrl"][(word >> 25 & 3) as usize];
            return atomic::is_valid(row, word).then_some((row, order));
        }
        opcode if float::OPCODES.contains(&opcode) => float::ROWS,
        _ => base::ROWS,
    };
    rows.iter().find(|r| r.is(word)).map(|r| (r, ""))
}

const RA: u32 = 1;

fn flow(word: u32) -> Flow {
    let (rd, rs1) = (Field::rd(word), Field::rs1(word));
    match word & 0x7f {
        base::BRANCH => Flow::Branch,
        base::JAL if rd == 0 => Flow::Jump,
        base::JAL => Flow::Call,
        base::JALR if rd != 0 => Flow::CallRegister,
        base::JALR if rs1 == RA && word >> 20 == 0 => Flow::Return,
        base::JALR => Flow::JumpRegister,
        base::SYSTEM if base::is_trap(word) => Flow::Trap,
        _ => Flow::Next,
    }
}

/// The aliases that litmus tests are written with, herd's own among them.
fn plain(mut insn: Decoded, word: u32) -> Decoded {
    let (rd, rs1) = (Field::rd(word), Field::rs1(word));
    let named = match insn.mnemonic.as_str() {
        "addi" if word == base::NOP => ("nop", vec![]),
        "addi" if rs1 == 0 => ("li", vec![reg(rd), insn.operands.remove(2)]),
        "addi" if word >> 20 == 0 => ("mv", vec![reg(rd), reg(rs1)]),
        "addiw" if word >> 20 == 0 => ("sext.w", vec![reg(rd), reg(rs1)]),
        "jal" if rd == 0 => ("j", vec![insn.operands.remove(1)]),
        "jalr" if insn.flow == Flow::Return => ("ret", vec![]),
        "jalr" if rd == 0 && word >> 20 == 0 => ("jr", vec![reg(rs1)]),
        _ => return insn,
    };
    let (mnemonic, operands): (&str, Vec<Operand>) = named;
    Decoded { mnemonic: mnemonic.to_string(), operands, ..insn }
}
