//! The operands of an AArch32 instruction as data: what a reader of text or of machine code fills in, and
//! what the meaning of a row reads. Neither spelling nor encoding is known here.

use crate::lex::R;
use crate::machine::Update;
use litmake_ops::Label;

pub const SP: R = R(13);
pub const LR: R = R(14);
pub const PC: R = R(15);

/// The name of a register that has a number; none for a symbolic one.
pub fn name_of(reg: R) -> Option<&'static str> {
    const NAMES: [&str; 16] = [
        "R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "SP",
        "LR", "PC",
    ];
    NAMES.get(usize::from(reg.0)).copied()
}

/// A condition, by its number in machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cond(pub u8);

impl Cond {
    pub const EQ: Cond = Cond(0);
    pub const AL: Cond = Cond(14);

    const NAMES: [&'static str; 15] =
        ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"];

    pub fn named(name: &str) -> Option<Cond> {
        let name = match name {
            "hs" => "cs",
            "lo" => "cc",
            name => name,
        };
        Cond::NAMES.iter().position(|n| *n == name).map(|n| Cond(n as u8))
    }

    pub fn name(self) -> &'static str {
        Cond::NAMES.get(usize::from(self.0)).copied().unwrap_or("al")
    }

    pub fn inverse(self) -> Cond {
        if self == Cond::AL { self } else { Cond(self.0 ^ 1) }
    }
}

impl Default for Cond {
    fn default() -> Cond {
        Cond::AL
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shift {
    #[default]
    Lsl,
    Lsr,
    Asr,
    Ror,
    /// Right by one through the carry.
    Rrx,
}

impl Shift {
    /// In the order of machine code.
    pub const ALL: [Shift; 4] = [Shift::Lsl, Shift::Lsr, Shift::Asr, Shift::Ror];

    const NAMES: [&'static str; 5] = ["LSL", "LSR", "ASR", "ROR", "RRX"];

    pub fn named(word: &str) -> Option<Shift> {
        let word = word.to_ascii_uppercase();
        let word = if word == "ASL" { "LSL" } else { &word };
        let all = Shift::ALL.into_iter().chain([Shift::Rrx]);
        all.zip(Shift::NAMES).find(|(_, name)| *name == word).map(|(shift, _)| shift)
    }

    pub fn name(self) -> &'static str {
        Shift::NAMES[self as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// 0 to 32.
    Imm(u8),
    Reg(R),
}

/// A name in the code that is no register, and an offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub off: i64,
}

/// The flexible second operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Imm(u32),
    Reg(R),
    Shifted(R, Shift, Amount),
    /// The address of something.
    Address(Symbol),
}

impl Operand {
    /// A shifted register; a shift by nothing is no shift.
    pub fn shifted(rm: R, shift: Shift, amount: Amount) -> Operand {
        match amount {
            Amount::Imm(0) if shift != Shift::Rrx => Operand::Reg(rm),
            amount => Operand::Shifted(rm, shift, amount),
        }
    }
}

impl Default for Operand {
    fn default() -> Operand {
        Operand::Imm(0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    Imm(i64),
    Reg { reg: R, negative: bool, shift: Shift, amount: u8 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mem {
    pub base: R,
    pub offset: Offset,
    pub update: Update,
}

impl Mem {
    /// A register holds the address.
    pub fn at(base: R) -> Mem {
        Mem { base, offset: Offset::Imm(0), update: Update::None }
    }
}

impl Default for Mem {
    fn default() -> Mem {
        Mem::at(R(0))
    }
}

/// Something beside registers and memory at registers that an instruction names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    #[default]
    None,
    /// An address in machine code.
    At(u64),
    /// A line of the thread.
    Line(Label),
    /// Memory with a name.
    Named(Symbol),
    /// No place but this value, as in `LDR R0,=x` and `.word 1`.
    Value(Operand),
}

/// A register of 64 bits of VFP and NEON, or half of one of the first sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V {
    D(u8),
    S(u8),
}

impl V {
    pub fn bits(self) -> u8 {
        match self {
            V::D(_) => 64,
            V::S(_) => 32,
        }
    }
}

impl Default for V {
    fn default() -> V {
        V::D(0)
    }
}

/// The operands of an instruction. A row's arguments say which of them count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    pub cond: Cond,
    /// Whether it sets the flags because its mnemonic says so.
    pub flags: bool,
    /// Registers by their letters in rows: the result, operands, an addend, the amount of a shift, and a
    /// register or two that memory is loaded into or stored from.
    pub d: R,
    pub n: R,
    pub m: R,
    pub a: R,
    pub s: R,
    pub t: R,
    pub u: R,
    /// Which of the alternatives of its spelling it is.
    pub x: u8,
    pub y: u8,
    /// Vector registers.
    pub f: V,
    pub g: V,
    pub imm: u32,
    /// A part of a register, from bit `lsb`.
    pub lsb: u8,
    pub width: u8,
    pub rotate: u8,
    pub operand: Operand,
    pub mem: Mem,
    pub place: Place,
    /// Registers in the order of memory; of vector registers, those of 64 bits.
    pub list: Vec<R>,
    /// Whether the base of a list is updated.
    pub writeback: bool,
    /// The conditions of an IT block.
    pub conds: Vec<Cond>,
    /// The bytes of an element of a vector, where the mnemonic says it.
    pub size: Option<u8>,
}

impl Fields {
    /// The register that a letter stands for.
    pub fn reg(&mut self, letter: u8) -> &mut R {
        match letter {
            b'n' => &mut self.n,
            b'm' => &mut self.m,
            b'a' => &mut self.a,
            b's' => &mut self.s,
            b't' => &mut self.t,
            b'u' => &mut self.u,
            _ => &mut self.d,
        }
    }

    /// The vector register that a letter stands for.
    pub fn vector(&mut self, letter: u8) -> &mut V {
        if letter == b'g' { &mut self.g } else { &mut self.f }
    }

    /// The alternative that a letter stands for.
    pub fn choice(&mut self, letter: u8) -> &mut u8 {
        if letter == b'y' { &mut self.y } else { &mut self.x }
    }
}
