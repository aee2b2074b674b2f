//! s390x machine code as text of the litmus dialect. It does not know what instructions mean.

use super::regs;
use super::table::{CONDITIONS, Does, Field, ROWS, Row, bits};
use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Style, Update};

/// The decoder of code, which has the highest byte first.
pub fn decoder() -> &'static dyn Decoder {
    &Z
}

struct Z;

static STYLE: Style = Style { immediate: "", memory };

fn memory(mem: &Mem) -> String {
    match (&mem.index, &mem.base) {
        (Some(index), Some(base)) => format!("{}({index},{base})", mem.offset),
        (None, Some(base)) => format!("{}({base})", mem.offset),
        (Some(index), None) => format!("{}({index},r0)", mem.offset),
        (None, None) => mem.offset.to_string(),
    }
}

impl Decoder for Z {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let cut = || format!("the s390x instruction at 0x{at:x} is cut off");
        let len = match bytes.first().ok_or_else(cut)? >> 6 {
            0 => 2,
            3 => 6,
            _ => 4,
        };
        let own = bytes.get(..len).ok_or_else(cut)?;
        let word = own.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        let word = word << (48 - 8 * len);
        let known = ROWS.iter().find(|row| row.is(word));
        let known = known.and_then(|row| Some((row, mnemonic(row, word)?, flow(row, word)?)));
        let Some((row, mnemonic, flow)) = known else {
            let shown: String = own.iter().map(|byte| format!("{byte:02x}")).collect();
            return Err(format!("{shown} at 0x{at:x} is no s390x instruction that is known here"));
        };
        let operands = row.fields.iter().flat_map(|field| operands(*field, word, at)).collect();
        Ok(Decoded { at, len: len as u8, mnemonic, operands, flow })
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

/// The name, with its condition; none where it has one that is always or never true and says so in no name. Counts
/// that are in a register have a place of their own.
fn mnemonic(row: &Row, word: u64) -> Option<String> {
    let mut name = row.name.to_string();
    let branches = matches!(row.does, Does::Branch | Does::JumpRegister);
    for field in row.fields {
        if let Field::Cond(place) = field {
            let mask = bits(word, *place, 4);
            let (condition, _) = CONDITIONS.iter().find(|(_, m)| u64::from(*m) == mask)?;
            if condition.is_empty() && !branches {
                return None;
            }
            name = name.replace('*', condition);
        }
    }
    let count = |field: &&Field| matches!(field, Field::Count | Field::Count20);
    if row.fields.iter().any(|field| count(&field)) && bits(word, 16, 4) != 0 {
        name.push_str(match row.fields.len() {
            2 => " $,$($)",
            _ => " $,$,$($)",
        });
    }
    Some(name)
}

fn general(word: u64, place: u8) -> String {
    regs::canonical(bits(word, place, 4) as u8).to_string()
}

/// A number of so many bits with its sign.
fn signed(value: u64, count: u8) -> i64 {
    let spare = 64 - u32::from(count);
    ((value << spare) as i64) >> spare
}

/// The offset of 20 bits, whose upper 8 stand behind the lower 12.
fn long_offset(word: u64) -> i64 {
    signed(bits(word, 32, 8) << 12 | bits(word, 20, 12), 20)
}

/// A register in an address, where it is not the one that stands for none.
fn part(word: u64, place: u8) -> Option<String> {
    Some(general(word, place)).filter(|_| bits(word, place, 4) != 0)
}

fn operands(field: Field, word: u64, at: u64) -> Vec<Operand> {
    let memory = |base, offset, index| {
        Operand::Mem(Mem { base: part(word, base), offset, index, update: Update::None })
    };
    let short = |place: u8| bits(word, place + 4, 12) as i64;
    let distance = |count| 2 * signed(bits(word, 16, count), count);
    let count = |offset| {
        let base = part(word, 16).map(Operand::Reg);
        [Operand::Imm(offset)].into_iter().chain(base).collect()
    };
    let last = |place, count| bits(word, place, count);
    vec![match field {
        Field::R(place) => Operand::Reg(general(word, place)),
        Field::F(place) => Operand::Reg(format!("f{}", bits(word, place, 4))),
        Field::V(place, high) => {
            Operand::Reg(format!("v{}", bits(word, high, 1) << 4 | bits(word, place, 4)))
        }
        Field::Last(place, n) if last(place, n) == 0 => return Vec::new(),
        Field::U(place, n) | Field::Last(place, n) => Operand::Imm(bits(word, place, n) as i64),
        Field::S(place, n) => Operand::Imm(signed(bits(word, place, n), n)),
        Field::Mem(place) => memory(place, short(place), None),
        Field::Mem20 => memory(16, long_offset(word), None),
        Field::Indexed => memory(16, short(16), part(word, 12)),
        Field::Indexed20 => memory(16, long_offset(word), part(word, 12)),
        Field::Bytes => memory(16, short(16), Some((bits(word, 8, 8) + 1).to_string())),
        Field::Count => return count(short(16)),
        Field::Count20 => return count(long_offset(word)),
        Field::Near => Operand::Code(at.wrapping_add_signed(distance(16))),
        Field::Far | Field::Data => Operand::Code(at.wrapping_add_signed(distance(32))),
        Field::Cond(_) => return Vec::new(),
        Field::None => Operand::Text("r0".to_string()),
    }]
}

/// Where control goes; none for a jump under a condition to an address in a register other than the return address.
fn flow(row: &Row, word: u64) -> Option<Flow> {
    let always = bits(word, 8, 4) == 15;
    Some(match row.does {
        Does::Trap => Flow::Trap,
        Does::Branch if always => Flow::Jump,
        Does::Branch | Does::BranchCount(_) | Does::CompareBranch(..) => Flow::Branch,
        Does::Call => Flow::Call,
        Does::CompareReturn(..) if bits(word, 16, 16) == 14 << 12 => Flow::MayReturn,
        Does::CompareReturn(..) => return None,
        Does::CallRegister if bits(word, 12, 4) == 0 => return None,
        Does::CallRegister => Flow::CallRegister,
        Does::JumpRegister => match (always, bits(word, 12, 4) == 14) {
            (true, true) => Flow::Return,
            (true, false) => Flow::JumpRegister,
            (false, true) => Flow::MayReturn,
            (false, false) => return None,
        },
        _ => Flow::Next,
    })
}
