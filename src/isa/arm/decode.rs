//! Machine code of AArch32: A32, and T32 (Thumb) with its instructions of 2 and of 4 bytes.
//!
//! Encodings and mnemonics are those of the rows. What instructions do is not known here: they are
//! printed in forms that the reader of this dialect takes, and herd where it has one.

#[cfg(test)]
mod tests;

use super::insn::Cond;
use super::row::{Set, decode};
use crate::machine::{Decoded, Decoder, Flow, Mem, State, Style, Update};

/// Code in the Thumb state or in the Arm state.
pub fn decoder(thumb: bool) -> &'static dyn Decoder {
    if thumb { &Thumb } else { &A32 }
}

struct A32;

impl Decoder for A32 {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let bytes = bytes
            .first_chunk()
            .ok_or_else(|| format!("{} bytes are no Arm instruction", bytes.len()))?;
        let word = u32::from_le_bytes(*bytes);
        let (row, fields) = decode(Set::A32, word, at, None)
            .ok_or_else(|| format!("unknown Arm instruction 0x{word:08x}"))?;
        Ok(row.decoded(fields, at, 4))
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

struct Thumb;

impl Decoder for Thumb {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        self.decode_after(&mut State::default(), bytes, at)
    }

    fn decode_after(&self, state: &mut State, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let half = |index: usize| -> Option<u32> {
            let bytes = bytes.get(2 * index..)?.first_chunk()?;
            Some(u16::from_le_bytes(*bytes).into())
        };
        let first =
            half(0).ok_or_else(|| format!("{} bytes are no Thumb instruction", bytes.len()))?;
        let block = Block(state.0);
        *state = State(block.next().0);
        if is_it(first) {
            // The conditions of a block stand on its instructions, so that it does nothing itself.
            *state = State(first as u8);
            let (mnemonic, operands) = ("NOP".to_string(), Vec::new());
            return Ok(Decoded { at, len: 2, mnemonic, operands, flow: Flow::Next });
        }
        let (found, len) = if first < 0xe800 {
            let found = decode(Set::T16, first, at, block.cond());
            (found.ok_or_else(|| format!("unknown Thumb instruction 0x{first:04x}"))?, 2)
        } else {
            let second = half(1)
                .ok_or_else(|| format!("nothing follows the half 0x{first:04x} of Thumb code"))?;
            let found = decode(Set::T32, first << 16 | second, at, block.cond());
            let unknown = || format!("unknown Thumb instruction 0x{first:04x} 0x{second:04x}");
            (found.ok_or_else(unknown)?, 4)
        };
        let (row, fields) = found;
        Ok(row.decoded(fields, at, len))
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

/// Whether a half is IT: 15 is no condition, and always has no other side.
fn is_it(half: u32) -> bool {
    let (cond, mask) = (half >> 4 & 15, half & 15);
    half >> 8 == 0xbf && mask != 0 && cond != 15 && (cond != 14 || mask.is_power_of_two())
}

/// The state of an IT block as the architecture keeps it: the condition of the next
/// instruction, and a bit for each one more.
#[derive(Clone, Copy)]
struct Block(u8);

impl Block {
    fn cond(self) -> Option<Cond> {
        (self.0 != 0).then(|| Cond((self.0 >> 4).min(Cond::AL.0)))
    }

    fn next(self) -> Block {
        match self.0 & 7 {
            0 => Block(0),
            _ => Block((self.0 & 0xe0) | (self.0 << 1 & 0x1f)),
        }
    }
}

const STYLE: Style = Style { immediate: "#", memory };

/// `[R0]`, `[R0,#4]!`, `[R0],-R1`.
fn memory(mem: &Mem) -> String {
    let base = mem.base.as_deref().unwrap_or("PC");
    let offset = match &mem.index {
        Some(index) => Some(index.clone()),
        None => (mem.offset != 0 || mem.update == Update::Post).then(|| format!("#{}", mem.offset)),
    };
    match (offset, mem.update) {
        (None, Update::Pre) => format!("[{base}]!"),
        (None, _) => format!("[{base}]"),
        (Some(offset), Update::None) => format!("[{base},{offset}]"),
        (Some(offset), Update::Pre) => format!("[{base},{offset}]!"),
        (Some(offset), Update::Post) => format!("[{base}],{offset}"),
    }
}
