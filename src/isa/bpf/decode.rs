//! BPF machine code as text of the litmus dialect, with the names of whole registers wherever they mean the
//! same, as herd reads no others.
//!
//! It does not know what instructions mean.

use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Style, Update};

/// The decoder of code in one of the byte orders.
pub fn decoder(big: bool) -> &'static dyn Decoder {
    if big { &Bpf { big: true } } else { &Bpf { big: false } }
}

struct Bpf {
    big: bool,
}

static STYLE: Style = Style { immediate: "", memory };

fn memory(mem: &Mem) -> String {
    let sign = if mem.offset < 0 { '-' } else { '+' };
    format!("{} {sign} {}", mem.base.as_deref().unwrap_or("r0"), mem.offset.unsigned_abs())
}

/// The operators of arithmetic, by the upper half of the opcode.
const ALU: [(u8, &str); 12] = [
    (0x00, "+="),
    (0x10, "-="),
    (0x20, "*="),
    (0x30, "/="),
    (0x40, "|="),
    (0x50, "&="),
    (0x60, "<<="),
    (0x70, ">>="),
    (0x90, "%="),
    (0xa0, "^="),
    (0xb0, "="),
    (0xc0, "s>>="),
];

const TESTS: [(u8, &str); 11] = [
    (0x10, "=="),
    (0x20, ">"),
    (0x30, ">="),
    (0x40, "&"),
    (0x50, "!="),
    (0x60, "s>"),
    (0x70, "s>="),
    (0xa0, "<"),
    (0xb0, "<="),
    (0xc0, "s<"),
    (0xd0, "s<="),
];

/// The patterns of read-modify-writes by their number, in 64 and in 32 bits; all but the first four have a
/// result.
const ATOMICS: [(i32, &str, &str); 10] = [
    (0x00, "lock *(u64 *)($) += $", "lock *(u32 *)($) += $"),
    (0x40, "lock *(u64 *)($) |= $", "lock *(u32 *)($) |= $"),
    (0x50, "lock *(u64 *)($) &= $", "lock *(u32 *)($) &= $"),
    (0xa0, "lock *(u64 *)($) ^= $", "lock *(u32 *)($) ^= $"),
    (0x01, "$ = atomic_fetch_add((u64 *)($), $)", "$ = atomic_fetch_add((u32 *)($), $)"),
    (0x41, "$ = atomic_fetch_or((u64 *)($), $)", "$ = atomic_fetch_or((u32 *)($), $)"),
    (0x51, "$ = atomic_fetch_and((u64 *)($), $)", "$ = atomic_fetch_and((u32 *)($), $)"),
    (0xa1, "$ = atomic_fetch_xor((u64 *)($), $)", "$ = atomic_fetch_xor((u32 *)($), $)"),
    (0xe1, "$ = xchg_64($, $)", "$ = xchg_32_32($, $)"),
    (0xf1, "r0 = cmpxchg_64($, r0, $)", "r0 = cmpxchg32_32($, r0, $)"),
];

/// The numbers of what the encoding counts among the read-modify-writes, and is none.
const LOAD_ACQUIRE: i32 = 0x100;
const STORE_RELEASE: i32 = 0x110;

const CALL: u8 = 0x85;

/// The source register of a call of a function of the program; other numbers are for functions of the kernel.
const OF_PROGRAM: u8 = 1;

/// Stands for the memory of parameters that are in no register: those of the function from offset 8 on, and those of
/// a function that it calls from -8 down.
const PARAMETERS: u8 = 11;

/// The distance from a function's stack to that of a function that it calls. The stack has 512 bytes; below it are
/// the registers that a call keeps, and the parameters for the function, which are [`PARAMETERS`] of both.
pub const FRAME: i64 = 1024;

/// The registers that a call keeps. The machine does that: no instruction says so.
const KEPT: [u8; 4] = [6, 7, 8, 9];

/// Stores to the stack the registers that a call keeps, or loads them again.
pub fn kept(stores: bool) -> Vec<Decoded> {
    let insn = |(n, number): (usize, u8)| {
        let base = Some("fp".to_string());
        let offset = -(520 + 8 * n as i64);
        let place = Operand::Mem(Mem { base, offset, index: None, update: Update::None });
        let (mnemonic, operands) = match stores {
            true => ("*(u64 *)($) = $", vec![place, reg(number)]),
            false => ("$ = *(u64 *)($)", vec![reg(number), place]),
        };
        Decoded { at: 0, len: 8, mnemonic: mnemonic.to_string(), operands, flow: Flow::Next }
    };
    KEPT.into_iter().enumerate().map(insn).collect()
}

/// The parts of an instruction's 8 bytes.
struct Fields {
    opcode: u8,
    dst: u8,
    src: u8,
    off: i16,
    imm: i32,
}

impl Bpf {
    fn fields(&self, bytes: &[u8]) -> Option<Fields> {
        let &[opcode, regs, o0, o1, i0, i1, i2, i3, ..] = bytes else { return None };
        let (low, high) = (regs & 15, regs >> 4);
        Some(match self.big {
            false => Fields {
                opcode,
                dst: low,
                src: high,
                off: i16::from_le_bytes([o0, o1]),
                imm: i32::from_le_bytes([i0, i1, i2, i3]),
            },
            true => Fields {
                opcode,
                dst: high,
                src: low,
                off: i16::from_be_bytes([o0, o1]),
                imm: i32::from_be_bytes([i0, i1, i2, i3]),
            },
        })
    }
}

impl Decoder for Bpf {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let fields = self.fields(bytes);
        let fields = fields.ok_or_else(|| format!("the BPF instruction at 0x{at:x} is cut off"))?;
        let opcode = fields.opcode;
        if opcode == 0x18 {
            let next = self.fields(bytes.get(8..).unwrap_or(&[]));
            let next = next.ok_or_else(|| format!("the BPF instruction at 0x{at:x} is cut off"))?;
            let value = i64::from(next.imm) << 32 | i64::from(fields.imm as u32);
            return match (fields.src, fields.dst, fields.off, next.opcode, next.off) {
                (0, 0..=10, 0, 0, 0) if (next.dst, next.src) == (0, 0) => {
                    let operands = vec![reg(fields.dst), Operand::Imm(value)];
                    let mnemonic = "$ = $ ll".to_string();
                    Ok(Decoded { at, len: 16, mnemonic, operands, flow: Flow::Next })
                }
                _ => {
                    Err(format!("the BPF instruction at 0x{at:x} loads what the kernel puts there"))
                }
            };
        }
        if opcode == CALL && fields.src != OF_PROGRAM {
            return Err(format!(
                "the call at 0x{at:x} is of a function of the kernel, whose code is in no library at hand"
            ));
        }
        let (pattern, operands, flow) = fields.decode(at).ok_or_else(|| {
            let Fields { dst, src, off, imm, .. } = fields;
            format!(
                "the BPF instruction at 0x{at:x} is not known here (opcode 0x{opcode:02x}, registers {dst} \
                 and {src}, offset {off}, number {imm})"
            )
        })?;
        Ok(Decoded { at, len: 8, mnemonic: pattern, operands, flow })
    }

    fn style(&self) -> &'static Style {
        &STYLE
    }
}

type Parts = (String, Vec<Operand>, Flow);

fn reg(number: u8) -> Operand {
    named('r', number)
}

fn named(letter: char, number: u8) -> Operand {
    Operand::Reg(if (letter, number) == ('r', 10) {
        "fp".into()
    } else {
        format!("{letter}{number}")
    })
}

fn next(pattern: impl Into<String>, operands: Vec<Operand>) -> Option<Parts> {
    Some((pattern.into(), operands, Flow::Next))
}

impl Fields {
    fn decode(&self, at: u64) -> Option<Parts> {
        let class = self.opcode & 7;
        let base = if class == 1 { self.src } else { self.dst };
        let plain = self.opcode & 0xf8 == 0x78;
        let given = base == PARAMETERS && self.off != 0 && plain && matches!(class, 1..=3);
        if [self.dst, self.src].iter().filter(|r| **r > 10).count() > usize::from(given) {
            return None;
        }
        match class {
            1..=3 => self.memory(),
            class @ (4 | 7) => self.arithmetic(class == 7),
            class @ (5 | 6) => self.jump(class == 5, at),
            _ => None,
        }
    }

    /// The second operand of arithmetic and tests. Fields that are not used are 0.
    fn second(&self, letter: char) -> Option<Operand> {
        match (self.opcode & 8, self.src, self.imm) {
            (0, 0, imm) => Some(Operand::Imm(imm.into())),
            (8, src, 0) => Some(named(letter, src)),
            _ => None,
        }
    }

    fn at(&self, base: u8) -> Operand {
        let (base, offset) = match (base, i64::from(self.off)) {
            (PARAMETERS, off @ ..0) => (10, -off - FRAME),
            (PARAMETERS, off) => (10, off),
            place => place,
        };
        let Operand::Reg(base) = reg(base) else { return Operand::Imm(0) };
        Operand::Mem(Mem { base: Some(base), offset, index: None, update: Update::None })
    }

    fn memory(&self) -> Option<Parts> {
        let (size, mode) = (self.opcode & 0x18, self.opcode & 0xe0);
        let bits = match size {
            0x00 => 32,
            0x08 => 16,
            0x10 => 8,
            _ => 64,
        };
        let (dst, src, imm) = (self.dst, self.src, self.imm);
        match (self.opcode & 7, mode) {
            (1, 0x60) if imm == 0 => {
                next(format!("$ = *(u{bits} *)($)"), vec![reg(dst), self.at(src)])
            }
            (1, 0x80) if imm == 0 && bits < 64 => {
                next(format!("$ = *(s{bits} *)($)"), vec![reg(dst), self.at(src)])
            }
            (2, 0x60) if src == 0 => {
                next(format!("*(u{bits} *)($) = $"), vec![self.at(dst), Operand::Imm(imm.into())])
            }
            (3, 0x60) if imm == 0 => {
                next(format!("*(u{bits} *)($) = $"), vec![self.at(dst), reg(src)])
            }
            (3, 0xc0) if imm == LOAD_ACQUIRE => {
                next(format!("$ = load_acquire((u{bits} *)($))"), vec![reg(dst), self.at(src)])
            }
            (3, 0xc0) if imm == STORE_RELEASE => {
                next(format!("store_release((u{bits} *)($), $)"), vec![self.at(dst), reg(src)])
            }
            (3, 0xc0) if bits >= 32 => {
                let (_, whole, half) = ATOMICS.iter().find(|(number, ..)| *number == imm)?;
                let pattern = if bits == 64 { *whole } else { *half };
                let mut operands = vec![self.at(dst), reg(src)];
                if pattern.starts_with('$') {
                    operands.insert(0, reg(src));
                }
                next(pattern, operands)
            }
            _ => None,
        }
    }

    fn arithmetic(&self, whole: bool) -> Option<Parts> {
        let letter = if whole { 'r' } else { 'w' };
        let dst = named(letter, self.dst);
        let code = self.opcode & 0xf0;
        match (code, self.opcode & 8, self.off) {
            // The negative.
            (0x80, 0, 0) if (self.src, self.imm) == (0, 0) => {
                next("$ = -$", vec![dst.clone(), dst])
            }
            // Byte orders.
            (0xd0, source, 0) if self.src == 0 && matches!(self.imm, 16 | 32 | 64) => {
                let stem = match (whole, source) {
                    (false, 0) => "le",
                    (false, _) => "be",
                    (true, 0) => "bswap",
                    (true, _) => return None,
                };
                next(format!("$ = {stem}{} $", self.imm), vec![reg(self.dst), reg(self.dst)])
            }
            // Moves with a sign.
            (0xb0, 8, bits @ (8 | 16 | 32)) if self.imm == 0 && (whole || bits < 32) => {
                next(format!("$ = (s{bits})$"), vec![dst, named(letter, self.src)])
            }
            (0x30 | 0x90, _, 1) => {
                let sign = if code == 0x30 { "s/=" } else { "s%=" };
                next(format!("$ {sign} $"), vec![dst, self.second(letter)?])
            }
            // A whole register is cleared above a number of 32 bits.
            (0xb0, 0, 0) if !whole && self.src == 0 => {
                let value = i64::from(self.imm as u32);
                next("$ = $", vec![reg(self.dst), Operand::Imm(value)])
            }
            (_, _, 0) => {
                let (_, sign) = ALU.iter().find(|(c, _)| *c == code)?;
                next(format!("$ {sign} $"), vec![dst, self.second(letter)?])
            }
            _ => None,
        }
    }

    fn jump(&self, whole: bool, at: u64) -> Option<Parts> {
        let code = self.opcode & 0xf0;
        let to = |by: i64| Operand::Code(at.wrapping_add(8).wrapping_add((8 * by) as u64));
        let none = (self.dst, self.src) == (0, 0);
        let (off, imm) = (i64::from(self.off), i64::from(self.imm));
        match (code, self.opcode & 8, whole) {
            (0x00, 0, true) if none && imm == 0 => {
                Some(("goto $".into(), vec![to(off)], Flow::Jump))
            }
            (0x00, 0, false) if none && off == 0 => {
                Some(("goto $".into(), vec![to(imm)], Flow::Jump))
            }
            (0x80, 0, true) if (self.dst, off) == (0, 0) => {
                Some(("call $".into(), vec![to(imm)], Flow::Call))
            }
            (0x90, 0, true) if none && (off, imm) == (0, 0) => {
                Some(("exit".into(), Vec::new(), Flow::Return))
            }
            _ => {
                let letter = if whole { 'r' } else { 'w' };
                let (_, sign) = TESTS.iter().find(|(c, _)| *c == code)?;
                let operands = vec![named(letter, self.dst), self.second(letter)?, to(off)];
                Some((format!("if $ {sign} $ goto $"), operands, Flow::Branch))
            }
        }
    }
}
