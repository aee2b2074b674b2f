//! Power machine code: instructions of 4 bytes, and the prefixed ones of 8.
//!
//! The tables know encodings and mnemonics. What instructions do is not known here: they are
//! printed in forms that the reader of this dialect takes, and herd where it has one.

mod branch;
mod field;
mod prefixed;
mod table;
#[cfg(test)]
mod tests;
mod vector;

use self::field::Row;
use crate::machine::{Decoded, Decoder, Flow, Mem, Style};

/// Code of a big-endian machine or of a little-endian one.
pub fn decoder(big_endian: bool) -> &'static dyn Decoder {
    match big_endian {
        true => &Power { big_endian: true },
        false => &Power { big_endian: false },
    }
}

struct Power {
    big_endian: bool,
}

impl Power {
    fn word(&self, bytes: &[u8], index: usize) -> Option<u32> {
        let bytes = bytes.get(4 * index..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) })
    }
}

impl Decoder for Power {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let word = self
            .word(bytes, 0)
            .ok_or_else(|| format!("{} bytes are no Power instruction", bytes.len()))?;
        if word >> 26 == prefixed::OPCODE {
            let suffix = self
                .word(bytes, 1)
                .ok_or_else(|| format!("nothing follows the prefix 0x{word:08x}"))?;
            return prefixed::decode(word, suffix, at)
                .ok_or_else(|| format!("unknown Power instruction 0x{word:08x} 0x{suffix:08x}"));
        }
        branch::decode(word, at)
            .or_else(|| plain(word, at))
            .ok_or_else(|| format!("unknown Power instruction 0x{word:08x}"))
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

fn plain(word: u32, at: u64) -> Option<Decoded> {
    let mut rows = table::TABLE.iter().chain(vector::TABLE);
    let row = rows.find(|row| row.matches(word))?;
    Some(row.decoded(word, at))
}

impl Row {
    fn matches(&self, word: u32) -> bool {
        let dot = if self.dot { 1 } else { 0 };
        word & self.mask & !dot == self.value && self.only.is_none_or(|only| only(word))
    }

    fn decoded(&self, word: u32, at: u64) -> Decoded {
        let mut mnemonic = self.name.to_string();
        if self.dot && word & 1 == 1 {
            mnemonic.push('.');
        }
        let mut operands = Vec::new();
        for field in self.fields {
            field.push(word, &mut operands);
        }
        let flow = if self.name == "trap" { Flow::Trap } else { Flow::Next };
        Decoded { at, len: 4, mnemonic, operands, flow }
    }
}

const STYLE: Style = Style { immediate: "", memory };

/// `8(r3)`, or `r3,r4`. As index forms are written, register 0 stands for no base.
fn memory(mem: &Mem) -> String {
    match (&mem.base, &mem.index) {
        (Some(base), Some(index)) => format!("{base},{index}"),
        (None, Some(index)) => format!("r0,{index}"),
        (Some(base), None) => format!("{}({base})", mem.offset),
        (None, None) => format!("{}(0)", mem.offset),
    }
}
