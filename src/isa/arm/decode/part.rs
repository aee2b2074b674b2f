//! Common parts of A32 and T32: instructions without their condition, and the text of operands.

use crate::machine::{Flow, Mem, Operand, Update};

pub const SP: u32 = 13;
pub const LR: u32 = 14;
pub const PC: u32 = 15;

pub const CONDS: [&str; 16] =
    ["EQ", "NE", "CS", "CC", "MI", "PL", "VS", "VC", "HI", "LS", "GE", "LT", "GT", "LE", "", ""];

/// An instruction, but for its place and its condition.
pub struct Part {
    pub name: &'static str,
    /// It sets the flags, and its mnemonic says so.
    pub sets: bool,
    /// Stands after the condition, such as `.F64`.
    pub suffix: &'static str,
    pub operands: Vec<Operand>,
    pub flow: Flow,
    /// Its own condition, other than that of the block that it is in.
    pub cond: Option<u8>,
}

impl Part {
    pub fn new(name: &'static str, operands: Vec<Operand>) -> Part {
        let (sets, suffix, flow, cond) = (false, "", Flow::Next, None);
        Part { name, sets, suffix, operands, flow, cond }
    }

    pub fn sets(self, sets: bool) -> Part {
        Part { sets, ..self }
    }

    pub fn flow(self, flow: Flow) -> Part {
        Part { flow, ..self }
    }
}

pub const fn bits(word: u32, low: u8, width: u8) -> u32 {
    word >> low & ((1 << width) - 1)
}

pub const fn bit(word: u32, n: u8) -> bool {
    word >> n & 1 == 1
}

/// The lowest `width` bits as a signed number.
pub fn signed(n: u32, width: u8) -> i64 {
    let spare = 32 - width;
    i64::from((n << spare) as i32 >> spare)
}

pub fn name(n: u32) -> String {
    match n {
        13 => "SP".to_string(),
        14 => "LR".to_string(),
        15 => "PC".to_string(),
        n => format!("R{n}"),
    }
}

pub fn reg(n: u32) -> Operand {
    Operand::Reg(name(n))
}

pub fn imm(n: u32) -> Operand {
    Operand::Imm(n.into())
}

pub const SHIFTS: [&str; 4] = ["LSL", "LSR", "ASR", "ROR"];

/// The shift of a second operand: its kind and its amount, 0 to 32. `None` is no shift; RRX
/// has the amount 0.
pub fn shift(kind: u32, amount: u32) -> Option<(&'static str, u32)> {
    match (kind & 3, amount) {
        (0, 0) => None,
        (1 | 2, 0) => Some((SHIFTS[kind as usize & 3], 32)),
        (3, 0) => Some(("RRX", 0)),
        (kind, amount) => Some((SHIFTS[kind as usize], amount)),
    }
}

pub fn shift_text(shift: (&str, u32)) -> String {
    match shift {
        ("RRX", _) => "RRX".to_string(),
        (kind, amount) => format!("{kind} #{amount}"),
    }
}

/// A register and its shift, as the last operands.
pub fn shifted(rm: u32, kind: u32, amount: u32) -> Vec<Operand> {
    let mut operands = vec![reg(rm)];
    operands.extend(shift(kind, amount).map(|s| Operand::Text(shift_text(s))));
    operands
}

/// An address: base and what is added to it.
pub fn mem(base: u32, offset: i64, update: Update) -> Operand {
    Operand::Mem(Mem { base: Some(name(base)), offset, index: None, update })
}

pub fn mem_index(base: u32, index: String, update: Update) -> Operand {
    Operand::Mem(Mem { base: Some(name(base)), offset: 0, index: Some(index), update })
}

/// How the bits P and W have it; `None` where that is another instruction.
pub fn update(pre: bool, writeback: bool) -> Option<Update> {
    match (pre, writeback) {
        (true, false) => Some(Update::None),
        (true, true) => Some(Update::Pre),
        (false, false) => Some(Update::Post),
        (false, true) => None,
    }
}

pub fn direction(up: bool, n: u32) -> i64 {
    if up { i64::from(n) } else { -i64::from(n) }
}

/// `{R4-R6,LR}`, written out.
pub fn list(mask: u32) -> Operand {
    let names: Vec<String> = (0..16).filter(|n| bit(mask, *n)).map(|n| name(n.into())).collect();
    Operand::Text(format!("{{{}}}", names.join(",")))
}

/// The base of a block of registers.
pub fn block_base(rn: u32, writeback: bool) -> Operand {
    match writeback {
        true => Operand::Text(format!("{}!", name(rn))),
        false => reg(rn),
    }
}

/// Where control goes after PC is loaded, or written from a register.
pub fn to_pc(from: u32) -> Flow {
    if from == LR { Flow::Return } else { Flow::JumpRegister }
}

pub fn barrier(option: u32) -> Option<Operand> {
    let name = match option {
        15 => "SY",
        14 => "ST",
        13 => "LD",
        11 => "ISH",
        10 => "ISHST",
        9 => "ISHLD",
        7 => "NSH",
        6 => "NSHST",
        5 => "NSHLD",
        3 => "OSH",
        2 => "OSHST",
        1 => "OSHLD",
        _ => return None,
    };
    Some(Operand::Text(name.to_string()))
}

pub fn hint(n: u32) -> Option<&'static str> {
    Some(match n {
        0 => "NOP",
        1 => "YIELD",
        2 => "WFE",
        3 => "WFI",
        4 => "SEV",
        5 => "SEVL",
        20 => "CSDB",
        _ => return None,
    })
}
