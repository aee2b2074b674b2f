//! Branches: what makes them, and where they go.

use super::field::{a, b, bits, t};
use crate::machine::{Decoded, Flow, Operand};

/// A branch that litmus tests can write. Absolute addresses are refused, and so are conditions
/// on both the counter and a bit.
pub fn decode(word: u32, at: u64) -> Option<Decoded> {
    let link = word & 1 == 1;
    let absolute = word & 2 != 0;
    match word >> 26 {
        18 if !absolute => {
            let flow = if link { Flow::Call } else { Flow::Jump };
            let target = at.wrapping_add(displacement(word, 26) as u64);
            Some(branch(at, "b", "", link, vec![Operand::Code(target)], flow))
        }
        16 if !absolute => {
            let (when, mut operands) = when(word)?;
            let flow = match (link, when) {
                (true, _) => Flow::Call,
                (false, "") => Flow::Jump,
                (false, _) => Flow::Branch,
            };
            let target = at.wrapping_add(displacement(word, 16) as u64);
            operands.push(Operand::Code(target));
            Some(branch(at, &format!("b{when}"), "", link, operands, flow))
        }
        19 if bits(b(word), 2, 3) == 0 => {
            let to = match bits(word, 1, 10) {
                16 => "lr",
                528 => "ctr",
                _ => return None,
            };
            let (when, operands) = when(word)?;
            // The counter cannot be both counted down and gone to.
            if to == "ctr" && when.starts_with('d') {
                return None;
            }
            let flow = match (link, to, when) {
                (true, _, _) => Flow::CallRegister,
                (false, "ctr", _) => Flow::JumpRegister,
                (false, _, "") => Flow::Return,
                (false, _, _) => Flow::MayReturn,
            };
            Some(branch(at, &format!("b{when}"), to, link, operands, flow))
        }
        _ => None,
    }
}

fn branch(
    at: u64,
    when: &str,
    to: &str,
    link: bool,
    operands: Vec<Operand>,
    flow: Flow,
) -> Decoded {
    let link = if link { "l" } else { "" };
    Decoded { at, len: 4, mnemonic: format!("{when}{to}{link}"), operands, flow }
}

/// The signed distance in the lowest `width` bits, in bytes.
fn displacement(word: u32, width: u32) -> i64 {
    let spare = 32 - width;
    i64::from(((word << spare) as i32 >> spare) & !3)
}

/// The condition in the mnemonic, and the field that it is about where that is not cr0. What
/// the program expects of it is left out.
fn when(word: u32) -> Option<(&'static str, Vec<Operand>)> {
    let (option, bit) = (t(word), a(word));
    let name = match option >> 2 {
        0b001 => ["ge", "le", "ne", "ns"][bit as usize % 4],
        0b011 => ["lt", "gt", "eq", "so"][bit as usize % 4],
        0b100 | 0b110 if option & 2 == 0 => return Some(("dnz", Vec::new())),
        0b100 | 0b110 => return Some(("dz", Vec::new())),
        0b101 | 0b111 => return Some(("", Vec::new())),
        _ => return None,
    };
    let field = match bit / 4 {
        0 => Vec::new(),
        n => vec![Operand::Text(format!("cr{n}"))],
    };
    Some((name, field))
}
