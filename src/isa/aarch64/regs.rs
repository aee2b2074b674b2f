//! The registers of AArch64 and their views. It knows names and widths, no instruction.
//!
//! A view is a register under one of its names: `W3` and `X3` are one register, `S3`, `D3` and
//! `V3` another. Registers hold 64 bits, vector registers 128, condition flags one bit each
//! (an instruction that reads only Z depends on nothing that wrote C).

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// X0 to X30.
    Gpr(u8),
    Sp,
    /// Reads as zero, discards what is written.
    Zero,
    Vec(u8),
    /// TPIDR_EL0.
    Thread,
    /// `X%name`: some register of the writer's choosing, other than all that are named.
    Symbolic(Box<str>),
}

/// A register, and how many of its low bits an operand means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub name: Name,
    pub bits: u8,
}

/// The condition flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    N,
    Z,
    C,
    V,
}

impl Flag {
    pub const ALL: [Flag; 4] = [Flag::N, Flag::Z, Flag::C, Flag::V];

    pub fn name(self) -> &'static str {
        match self {
            Flag::N => "PSTATE.N",
            Flag::Z => "PSTATE.Z",
            Flag::C => "PSTATE.C",
            Flag::V => "PSTATE.V",
        }
    }
}

impl View {
    pub fn x(n: u8) -> View {
        View { name: Name::Gpr(n), bits: 64 }
    }

    pub fn is_vec(&self) -> bool {
        matches!(self.name, Name::Vec(_))
    }

    /// The view that a word names, in any case.
    pub fn parse(word: &str) -> Option<View> {
        let lower = word.to_ascii_lowercase();
        if let Some(at) = lower.find('%') {
            let bits = match &lower[..at] {
                "" | "x" => 64,
                "w" => 32,
                _ => return None,
            };
            let name = word.get(at + 1..).filter(|n| !n.is_empty())?;
            return Some(View { name: Name::Symbolic(name.into()), bits });
        }
        let (name, bits) = match lower.as_str() {
            "sp" => (Name::Sp, 64),
            "wsp" => (Name::Sp, 32),
            "xzr" => (Name::Zero, 64),
            "wzr" => (Name::Zero, 32),
            "lr" => (Name::Gpr(30), 64),
            "fp" => (Name::Gpr(29), 64),
            "ip0" => (Name::Gpr(16), 64),
            "ip1" => (Name::Gpr(17), 64),
            _ => {
                let n = number(lower.get(1..)?)?;
                match lower.as_bytes()[0] {
                    b'x' if n <= 30 => (Name::Gpr(n), 64),
                    b'w' if n <= 30 => (Name::Gpr(n), 32),
                    b'b' => (Name::Vec(n), 8),
                    b'h' => (Name::Vec(n), 16),
                    b's' => (Name::Vec(n), 32),
                    b'd' => (Name::Vec(n), 64),
                    b'q' | b'v' => (Name::Vec(n), 128),
                    _ => return None,
                }
            }
        };
        Some(View { name, bits })
    }

    /// The register's own name, as states print it, and its width; the zero register has none.
    pub fn canonical(&self) -> Option<(String, u8)> {
        Some(match &self.name {
            Name::Gpr(n) => (format!("X{n}"), 64),
            Name::Sp => ("SP".to_string(), 64),
            Name::Zero => return None,
            Name::Thread => ("TPIDR_EL0".to_string(), 64),
            Name::Vec(n) => (format!("V{n}"), 128),
            Name::Symbolic(s) => (format!("%{s}"), 64),
        })
    }
}

/// A register number, without leading zeros.
fn number(digits: &str) -> Option<u8> {
    let plain = !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|n| plain && *n <= 31)
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = self.bits == 64;
        match &self.name {
            Name::Gpr(n) => write!(f, "{}{n}", if wide { 'X' } else { 'W' }),
            Name::Sp => f.write_str(if wide { "SP" } else { "WSP" }),
            Name::Zero => f.write_str(if wide { "XZR" } else { "WZR" }),
            Name::Thread => f.write_str("TPIDR_EL0"),
            Name::Symbolic(s) => write!(f, "{}%{s}", if wide { 'X' } else { 'W' }),
            Name::Vec(n) => {
                let letter = match self.bits {
                    8 => 'B',
                    16 => 'H',
                    32 => 'S',
                    64 => 'D',
                    _ => 'Q',
                };
                write!(f, "{letter}{n}")
            }
        }
    }
}
