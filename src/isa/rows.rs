//! Instructions as rows of words: the code that lifting puts in place of a library's functions.
//!
//! Blanks separate the operands, which stand in the order of machine code: registers, numbers,
//! `[base+8]` and `[0,index]` in memory, `=text` for anything else. `again` is the row that begins
//! with `again:`. It does not know what instructions there are.

use crate::machine::{Decoded, Flow, Mem, Operand, Update};

/// The instructions of some rows, and whether `again` is each.
pub fn decoded<'r>(
    rows: impl IntoIterator<Item = &'r str>,
) -> impl Iterator<Item = (bool, Decoded)> {
    rows.into_iter().map(|row| {
        let (again, row) = match row.strip_prefix("again: ") {
            Some(row) => (true, row),
            None => (false, row),
        };
        let mut words = row.split(' ');
        let mnemonic = words.next().unwrap_or_default().to_string();
        let operands: Vec<Operand> = words.map(operand).collect();
        let flow = if operands.contains(&AGAIN) { Flow::Branch } else { Flow::Next };
        (again, Decoded { at: 0, len: 4, mnemonic, operands, flow })
    })
}

const AGAIN: Operand = Operand::Code(0);

fn operand(word: &str) -> Operand {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    if let Some(text) = word.strip_prefix('=') {
        return Operand::Text(text.to_string());
    }
    if let Some(place) = word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
        let (base, index) = match place.strip_prefix("0,") {
            Some(index) => (None, Some(index.to_string())),
            None => (Some(place), None),
        };
        let (base, offset) = match base.and_then(|b| b.split_once('+')) {
            Some((base, offset)) => (Some(base), number(offset).unwrap_or(0)),
            None => (base, 0),
        };
        let base = base.map(String::from);
        return Operand::Mem(Mem { base, offset, index, update: Update::None });
    }
    match number(word) {
        Some(n) => Operand::Imm(n),
        None if word == "again" => AGAIN,
        None => Operand::Reg(word.to_string()),
    }
}
