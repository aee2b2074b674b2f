//! Machine code of AArch32: A32, and T32 (Thumb) with its instructions of 2 and of 4 bytes.
//!
//! The tables know encodings and mnemonics. What instructions do is not known here: they are
//! printed in forms that the reader of this dialect takes, and herd where it has one.

mod a32;
mod coprocessor;
mod field;
mod part;
mod t16;
mod t32;
#[cfg(test)]
mod tests;

use self::part::{CONDS, Part};
use crate::machine::{Decoded, Decoder, Flow, Mem, State, Style, Update};

/// Code in the Thumb state or in the Arm state.
pub fn decoder(thumb: bool) -> &'static dyn Decoder {
    match thumb {
        true => &Thumb,
        false => &A32,
    }
}

struct A32;

impl Decoder for A32 {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let bytes = bytes
            .first_chunk()
            .ok_or_else(|| format!("{} bytes are no Arm instruction", bytes.len()))?;
        let word = u32::from_le_bytes(*bytes);
        let (cond, part) =
            a32::decode(word, at).ok_or_else(|| format!("unknown Arm instruction 0x{word:08x}"))?;
        Ok(part.decoded(at, 4, cond))
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
        if let Some(part) = t16::it(first, state) {
            return Ok(part.decoded(at, 2, AL));
        }
        let (part, len) = if first < 0xe800 {
            let part = t16::decode(first, at, block.0 != 0)
                .ok_or_else(|| format!("unknown Thumb instruction 0x{first:04x}"))?;
            (part, 2)
        } else {
            let second = half(1)
                .ok_or_else(|| format!("nothing follows the half 0x{first:04x} of Thumb code"))?;
            let part = t32::decode(first << 16 | second, at)
                .ok_or_else(|| format!("unknown Thumb instruction 0x{first:04x} 0x{second:04x}"))?;
            (part, 4)
        };
        let cond = part.cond.unwrap_or(block.cond());
        Ok(part.decoded(at, len, cond))
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

/// Always: the condition that no mnemonic shows.
const AL: u8 = 14;

/// The state of an IT block as the architecture keeps it: the condition of the next
/// instruction, and a bit for each one more.
#[derive(Clone, Copy)]
struct Block(u8);

impl Block {
    fn cond(self) -> u8 {
        if self.0 == 0 { AL } else { self.0 >> 4 }
    }

    fn next(self) -> Block {
        match self.0 & 7 {
            0 => Block(0),
            _ => Block((self.0 & 0xe0) | (self.0 << 1 & 0x1f)),
        }
    }
}

impl Part {
    fn decoded(self, at: u64, len: u8, cond: u8) -> Decoded {
        let sets = if self.sets { "S" } else { "" };
        let name = CONDS[usize::from(cond) % 16];
        let flow = match (self.flow, cond) {
            (flow, AL) => flow,
            (Flow::Jump, _) => Flow::Branch,
            (Flow::Return, _) => Flow::MayReturn,
            (flow, _) => flow,
        };
        let mnemonic = format!("{}{sets}{name}{}", self.name, self.suffix);
        Decoded { at, len, mnemonic, operands: self.operands, flow }
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
