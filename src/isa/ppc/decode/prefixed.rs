//! Prefixed instructions (Power10): a constant of 34 bits, relative to the instruction or not.

use super::field::{a, bits, reg, t};
use crate::machine::{Decoded, Flow, Mem, Operand, Update};

/// The primary opcode of prefixes.
pub const OPCODE: u32 = 1;

/// Where the prefix keeps the type of the suffix: how it is to be read.
const TYPE: u32 = 0xffe0_0000;
const EIGHT_BYTES: u32 = 0x0400_0000;
const MODIFIED: u32 = 0x0600_0000;

/// Prefix type, primary opcode of the suffix, mnemonic, and the kind of its first register.
const TABLE: &[(u32, u32, &str, &str)] = &[
    (MODIFIED, 32, "plwz", "r"),
    (MODIFIED, 34, "plbz", "r"),
    (MODIFIED, 36, "pstw", "r"),
    (MODIFIED, 38, "pstb", "r"),
    (MODIFIED, 40, "plhz", "r"),
    (MODIFIED, 42, "plha", "r"),
    (MODIFIED, 44, "psth", "r"),
    (MODIFIED, 48, "plfs", "f"),
    (MODIFIED, 50, "plfd", "f"),
    (MODIFIED, 52, "pstfs", "f"),
    (MODIFIED, 54, "pstfd", "f"),
    (EIGHT_BYTES, 41, "plwa", "r"),
    (EIGHT_BYTES, 50, "plxv", "vs"),
    (EIGHT_BYTES, 51, "plxv", "vs"),
    (EIGHT_BYTES, 54, "pstxv", "vs"),
    (EIGHT_BYTES, 55, "pstxv", "vs"),
    (EIGHT_BYTES, 56, "plq", "r"),
    (EIGHT_BYTES, 57, "pld", "r"),
    (EIGHT_BYTES, 60, "pstq", "r"),
    (EIGHT_BYTES, 61, "pstd", "r"),
];

pub fn decode(prefix: u32, suffix: u32, at: u64) -> Option<Decoded> {
    if prefix & 0xfff0_0000 == 0x0700_0000 {
        // Whatever follows is not looked at.
        let mnemonic = "nop".to_string();
        return (prefix & 0xf_ffff == 0).then(|| Decoded {
            at,
            len: 8,
            mnemonic,
            operands: Vec::new(),
            flow: Flow::Next,
        });
    }
    // Bits 18 and 19 of the prefix are reserved.
    if prefix & 0x000c_0000 != 0 {
        return None;
    }
    let kind = prefix & TYPE;
    let relative = bits(prefix, 20, 1) == 1;
    if relative && a(suffix) != 0 {
        return None;
    }
    let constant = i64::from(bits(prefix, 0, 18)) << 16 | i64::from(suffix & 0xffff);
    let constant = constant << 30 >> 30;
    let (mnemonic, first, memory) = if kind == MODIFIED && suffix >> 26 == 14 {
        let mnemonic = match (relative, a(suffix)) {
            (true, _) => "pla",
            (false, 0) => "pli",
            (false, _) => "paddi",
        };
        (mnemonic, reg(t(suffix)), false)
    } else {
        let find = |row: &&(u32, u32, &str, &str)| (row.0, row.1) == (kind, suffix >> 26);
        let (_, _, mnemonic, register) = TABLE.iter().find(find)?;
        let number = match *register {
            "vs" => t(suffix) | bits(suffix, 26, 1) << 5,
            _ => t(suffix),
        };
        if mnemonic.ends_with('q') && number % 2 == 1 {
            return None;
        }
        (*mnemonic, format!("{register}{number}"), true)
    };
    let mut operands = vec![Operand::Reg(first)];
    let base = (a(suffix) != 0).then(|| reg(a(suffix)));
    if relative {
        operands.push(Operand::Code(at.wrapping_add(constant as u64)));
    } else if memory {
        let (index, update) = (None, Update::None);
        operands.push(Operand::Mem(Mem { base, offset: constant, index, update }));
    } else {
        operands.extend(base.map(Operand::Reg));
        operands.push(Operand::Imm(constant));
    }
    Some(Decoded { at, len: 8, mnemonic: mnemonic.to_string(), operands, flow: Flow::Next })
}
