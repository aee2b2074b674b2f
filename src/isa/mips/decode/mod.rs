//! MIPS64 machine code as text of the litmus dialect, for releases 2 to 5 and for release 6,
//! which gives some encodings to other instructions.
//!
//! `base` holds what all releases share, `old` what release 6 took away, `r6` what it put in
//! place, `float` the encodings of floating point, and `fields` what stands in an encoding.
//! [`without_delay_slots`] puts decoded code into the order in which it is executed, and
//! [`without_halves`] makes plain accesses of unaligned ones. What instructions mean is not known here.

mod base;
mod fields;
mod float;
mod old;
mod r6;
mod slots;
#[cfg(test)]
mod tests;
mod unaligned;

pub use self::slots::without_delay_slots;
pub use self::unaligned::without_halves;

use self::fields::{rd, reg, rs, rt};
use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Style};

/// A release of the instruction set, which decides how code is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// 2 to 5.
    R2,
    /// 6, which encodes many instructions anew.
    R6,
}

/// The decoder of MIPS64 code.
pub fn decoder(big_endian: bool, release: Release) -> &'static dyn Decoder {
    match (big_endian, release) {
        (false, Release::R2) => &Mips64 { big_endian: false, release: Release::R2 },
        (true, Release::R2) => &Mips64 { big_endian: true, release: Release::R2 },
        (false, Release::R6) => &Mips64 { big_endian: false, release: Release::R6 },
        (true, Release::R6) => &Mips64 { big_endian: true, release: Release::R6 },
    }
}

struct Mips64 {
    big_endian: bool,
    release: Release,
}

static STYLE: Style = Style { immediate: "", memory };

fn memory(mem: &Mem) -> String {
    let base = mem.base.as_deref().unwrap_or("$0");
    match &mem.index {
        Some(index) => format!("{index}({base})"),
        None => format!("{}({base})", mem.offset),
    }
}

impl Decoder for Mips64 {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let &[a, b, c, d, ..] = bytes else {
            return Err(format!("the MIPS instruction at 0x{at:x} is cut off"));
        };
        let word = match self.big_endian {
            true => u32::from_be_bytes([a, b, c, d]),
            false => u32::from_le_bytes([a, b, c, d]),
        };
        let own = match self.release {
            Release::R2 => old::ROWS.iter().find(|r| r.is(word)),
            Release::R6 => r6::find(word),
        };
        let row = own
            .or_else(|| base::ROWS.iter().find(|r| r.is(word)))
            .or_else(|| float::find(word, self.release));
        let operands = row.and_then(|row| {
            row.fields.iter().map(|f| f.operand(word, at)).collect::<Option<Vec<Operand>>>()
        });
        let (Some(row), Some(operands)) = (row, operands) else {
            let release = match self.release {
                Release::R2 => "2",
                Release::R6 => "6",
            };
            return Err(format!(
                "0x{word:08x} at 0x{at:x} is no instruction of MIPS64 release {release} that is \
                 known here"
            ));
        };
        let (mnemonic, flow) = (row.name.to_string(), row.flow);
        Ok(plain(Decoded { at, len: 4, mnemonic, operands, flow }, word))
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

const RA: u32 = 31;

/// The aliases that litmus tests are written with, herd's own among them, and where control
/// goes in forms that only registers tell apart.
fn plain(mut insn: Decoded, word: u32) -> Decoded {
    let (rs, rt, rd) = (rs(word), rt(word), rd(word));
    let to_register = |r| if r == RA { Flow::Return } else { Flow::JumpRegister };
    let flow = insn.flow;
    let offset = word & 0xffff;
    let (mnemonic, operands, flow) = match insn.mnemonic.as_str() {
        "or" | "daddu" if rt == 0 => ("move", vec![reg(rd), reg(rs)], flow),
        "addiu" | "daddiu" | "ori" if rs == 0 => {
            ("li", vec![reg(rt), insn.operands.remove(2)], flow)
        }
        "beq" if rs == 0 && rt == 0 => ("b", vec![insn.operands.remove(2)], Flow::Jump),
        "bgezal" if rs == 0 => ("bal", vec![insn.operands.remove(1)], Flow::Call),
        "jalr" | "jalr.hb" if rd == 0 => {
            let name = if insn.mnemonic == "jalr" { "jr" } else { "jr.hb" };
            (name, vec![reg(rs)], to_register(rs))
        }
        "jalr" | "jalr.hb" if rd == RA => {
            insn.operands.remove(0);
            return insn;
        }
        "jr" | "jr.hb" => return Decoded { flow: to_register(rs), ..insn },
        "jic" if offset == 0 => ("jrc", vec![reg(rt)], to_register(rt)),
        "jialc" if offset == 0 => ("jalrc", vec![reg(rt)], flow),
        "teq" if rs == rt => return Decoded { flow: Flow::Trap, ..insn },
        "break" | "syscall" | "sync" => {
            // Codes that say nothing are not written.
            while insn.operands.last() == Some(&Operand::Imm(0)) {
                insn.operands.pop();
            }
            return insn;
        }
        _ => return insn,
    };
    Decoded { mnemonic: mnemonic.to_string(), operands, flow, ..insn }
}
