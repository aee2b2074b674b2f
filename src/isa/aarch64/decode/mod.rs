//! Machine code of AArch64 to litmus text, by tables: one row an encoding, one file a group of
//! the architecture's encoding tables.
//!
//! The text is what both this crate's reader and herd's take, so an alias stands only where
//! both know it (`CSET`, `MUL`, `LSL`; but `UBFM` for `UBFX` and `UXTB`, `ADDS WZR` for `CMN`,
//! `ORR W0,WZR,#85` for a MOV of what MOVZ cannot give, `HINT #25` for `PACIASP`), and an unscaled
//! load is written `LDR`. It does not know what
//! instructions mean. Instructions are little endian whatever the data is.

mod fields;
mod flow;
mod fp;
mod imm;
mod mem;
mod reg;
mod simd;
mod simd_mem;
#[cfg(test)]
mod tests;

use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Pattern, Style, Update};
use std::fmt::Write as _;
use std::sync::OnceLock;

struct AArch64Decoder;

/// The decoder of A64 code.
pub fn decoder() -> &'static dyn Decoder {
    &AArch64Decoder
}

/// An instruction and its address.
#[derive(Clone, Copy)]
struct Word {
    bits: u32,
    at: u64,
}

impl Word {
    /// `len` bits from bit `at` on.
    fn get(self, at: u8, len: u8) -> u32 {
        (self.bits >> at) & ((1 << len) - 1)
    }

    fn is(self, at: u8) -> bool {
        self.get(at, 1) != 0
    }

    fn signed(self, at: u8, len: u8) -> i64 {
        let shift = 64 - u32::from(len);
        (i64::from(self.get(at, len)) << shift) >> shift
    }
}

/// An instruction while its parts are decoded.
struct Out {
    name: String,
    operands: Vec<Operand>,
    flow: Flow,
}

impl Out {
    fn push(&mut self, operand: Operand) -> Option<()> {
        self.operands.push(operand);
        Some(())
    }

    fn reg(&mut self, name: String) -> Option<()> {
        self.push(Operand::Reg(name))
    }

    fn imm(&mut self, n: i64) -> Option<()> {
        self.push(Operand::Imm(n))
    }

    fn text(&mut self, text: impl Into<String>) -> Option<()> {
        self.push(Operand::Text(text.into()))
    }
}

/// Adds an operand, completes the mnemonic, or asks for more than the row's fixed bits; nothing
/// where the word is not of this row, so that the next rows are tried.
type Part = fn(Word, &mut Out) -> Option<()>;

/// One encoding. Rows of one file are tried in order: an alias stands before what it is an
/// alias of.
struct Row {
    pattern: Pattern,
    name: &'static str,
    parts: &'static [Part],
}

const fn row(pattern: &str, name: &'static str, parts: &'static [Part]) -> Row {
    Row { pattern: Pattern::new(pattern, 32), name, parts }
}

const GROUPS: [&[Row]; 7] =
    [imm::ROWS, reg::ROWS, flow::ROWS, mem::ROWS, simd::ROWS, simd_mem::ROWS, fp::ROWS];

/// The rows by bits 28 to 21, of which most encodings fix several.
const BUCKET: (u8, u8) = (21, 8);

fn bucket(word: Word) -> &'static [&'static Row] {
    static BUCKETS: OnceLock<Vec<Vec<&'static Row>>> = OnceLock::new();
    let buckets = BUCKETS.get_or_init(|| {
        let (at, len) = BUCKET;
        let fits = |row: &Row, n: u32| {
            let mask = row.pattern.mask >> at & ((1 << len) - 1);
            n & mask == row.pattern.value >> at & mask
        };
        let rows = || GROUPS.iter().flat_map(|rows| rows.iter());
        (0..1 << len).map(|n| rows().filter(|row| fits(row, n)).collect()).collect()
    });
    buckets.get(word.get(BUCKET.0, BUCKET.1) as usize).map_or(&[], |rows| rows)
}

impl Decoder for AArch64Decoder {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let Some(bits) = bytes.first_chunk::<4>() else {
            return Err(format!("{} bytes at {at:#x} are no instruction of 4", bytes.len()));
        };
        let word = Word { bits: u32::from_le_bytes(*bits), at };
        for row in bucket(word).iter().filter(|row| row.pattern.is(word.bits)) {
            let name = row.name.to_string();
            let mut out = Out { name, operands: Vec::new(), flow: Flow::Next };
            if row.parts.iter().all(|part| part(word, &mut out).is_some()) {
                let Out { name, operands, flow } = out;
                return Ok(Decoded { at, len: 4, mnemonic: name, operands, flow });
            }
        }
        Err(format!("unknown AArch64 instruction {:#010x} at {at:#x}", word.bits))
    }

    fn style(&self) -> &'static Style {
        &Style { immediate: "#", memory }
    }
}

/// `[X1]`, `[X1,#8]!`, `[X1],#8`, `[X1,W2,SXTW #3]`, `[X1],X2`.
fn memory(mem: &Mem) -> String {
    let mut out = format!("[{}", mem.base.as_deref().unwrap_or("XZR"));
    if mem.update == Update::Post {
        out.push(']');
    }
    match &mem.index {
        Some(index) => {
            let _ = write!(out, ",{index}");
        }
        None if mem.offset != 0 || mem.update != Update::None => {
            let _ = write!(out, ",#{}", mem.offset);
        }
        None => {}
    }
    match mem.update {
        Update::None => out.push(']'),
        Update::Pre => out.push_str("]!"),
        Update::Post => {}
    }
    out
}
