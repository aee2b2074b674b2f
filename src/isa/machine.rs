//! Machine code: what a decoder of an instruction set gives, with the parts that lifting
//! rewrites kept apart from the text.
//!
//! It does not know object files, relocations, nor what instructions mean: an instruction's
//! meaning is had by printing it and reading the text with [`super::Isa::thread`].

use std::fmt::Write as _;

/// A decoded instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The address of its first byte.
    pub at: u64,
    /// Bytes that it takes.
    pub len: u8,
    /// As litmus tests write it, without operands; where it has a `$` for each of them, they go there.
    pub mnemonic: String,
    /// In the order in which litmus tests write them.
    pub operands: Vec<Operand>,
    /// Where control goes after it.
    pub flow: Flow,
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register, by the name that litmus tests give it.
    Reg(String),
    /// A number, without the sign that some dialects put before it ([`Style::immediate`]).
    Imm(i64),
    /// Anything else that stands as it is: a condition, a barrier's kind, a shift.
    Text(String),
    /// An address in the code or in data beside it; a label once it is known.
    Code(u64),
    /// A place in memory.
    Mem(Mem),
}

/// A memory operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mem {
    /// The register that the address begins with; `None` where there is none.
    pub base: Option<String>,
    /// The bytes that are added to it.
    pub offset: i64,
    /// An index register with its extension or scale, as written.
    pub index: Option<String>,
    /// How the access changes the base register.
    pub update: Update,
}

/// How an access changes its base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Not at all.
    None,
    /// It is set to the address before the access.
    Pre,
    /// The access is at the base; then the offset or index is added.
    Post,
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To its [`Operand::Code`] only.
    Jump,
    /// To its [`Operand::Code`] or to the next instruction.
    Branch,
    /// To its [`Operand::Code`], and later to the next instruction.
    Call,
    /// To an address in a register, and later to the next instruction.
    CallRegister,
    /// To an address in a register that is not the return address.
    JumpRegister,
    /// Back to the caller.
    Return,
    /// Back to the caller or to the next instruction.
    MayReturn,
    /// Nowhere: a trap.
    Trap,
}

/// The influence of earlier instructions on the decoding of the next one; the default is that of an entry
/// to code. Only Thumb has any: an IT instruction makes the next ones conditional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State(pub u8);

/// A decoder. Code is `bytes`, the first of them at address `at`. Errors name what was found.
pub trait Decoder: Sync {
    /// The first instruction of `bytes`.
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String>;

    /// Decodes an instruction after others. `state` holds the influence of those, and then that of this one
    /// too.
    fn decode_after(&self, state: &mut State, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let _ = state;
        self.decode(bytes, at)
    }

    /// How this dialect writes operands.
    fn style(&self) -> &'static Style;
}

/// The fixed bits of an encoding: a word is of it where `word & mask == value`.
#[derive(Clone, Copy)]
pub struct Pattern {
    pub(crate) mask: u32,
    pub(crate) value: u32,
}

impl Pattern {
    /// A pattern from its bits, the highest first: `0` and `1` are fixed, other characters are not, blanks are for the
    /// eye, and `;` ends them. A pattern of another length does not compile.
    pub(crate) const fn new(bits: &str, len: u32) -> Pattern {
        let bytes = bits.as_bytes();
        let (mut mask, mut value, mut found, mut i) = (0u32, 0u32, 0, 0);
        while i < bytes.len() && bytes[i] != b';' {
            let b = bytes[i];
            i += 1;
            if b == b' ' {
                continue;
            }
            mask = mask << 1 | (b == b'0' || b == b'1') as u32;
            value = value << 1 | (b == b'1') as u32;
            found += 1;
        }
        assert!(found == len, "bits are missing or too many");
        Pattern { mask, value }
    }

    pub(crate) const fn is(&self, word: u32) -> bool {
        word & self.mask == self.value
    }
}

/// One encoding of a table.
pub struct Row<F: 'static> {
    pub(crate) name: &'static str,
    pub(crate) pattern: Pattern,
    /// The operands in the order in which they are written.
    pub(crate) fields: &'static [F],
    pub(crate) flow: Flow,
}

impl<F> Row<F> {
    /// An encoding after which control goes on.
    pub(crate) const fn new(
        name: &'static str,
        mask: u32,
        value: u32,
        fields: &'static [F],
    ) -> Row<F> {
        Row { name, pattern: Pattern { mask, value }, fields, flow: Flow::Next }
    }

    pub(crate) const fn is(&self, word: u32) -> bool {
        self.pattern.is(word)
    }
}

/// How a dialect writes operands.
pub struct Style {
    /// Stands before a number: `#` in Arm's dialects, `$` in x86's.
    pub immediate: &'static str,
    /// A memory operand, without its instruction.
    pub memory: fn(&Mem) -> String,
}

impl Decoded {
    /// The text of the instruction; `label` gives the name of an address in the code.
    pub fn text(&self, style: &Style, label: &dyn Fn(u64) -> String) -> String {
        let mut parts = self.mnemonic.split('$');
        let mut out = parts.next().unwrap_or_default().to_string();
        let pattern = self.mnemonic.contains('$');
        for (i, operand) in self.operands.iter().enumerate() {
            if !pattern {
                out.push_str(if i == 0 { " " } else { "," });
            }
            match operand {
                Operand::Reg(name) | Operand::Text(name) => out.push_str(name),
                Operand::Imm(n) => {
                    let _ = write!(out, "{}{n}", style.immediate);
                }
                Operand::Code(at) => out.push_str(&label(*at)),
                Operand::Mem(mem) => out.push_str(&(style.memory)(mem)),
            }
            out.push_str(parts.next().unwrap_or_default());
        }
        out
    }
}
