//! The calling convention and the code patterns of each instruction set, for lifting: the places of
//! parameters, the registers that may hold new values, how a move is written.
//!
//! One table and a few functions. It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Update};
use crate::x86;
use litmake_litmus::Arch;

/// An instruction set as lifting needs it.
pub struct Target {
    /// The dialect of its tests.
    pub arch: Arch,
    /// Thumb code, on Arm.
    pub thumb: bool,
    /// The decoder of its machine code.
    pub decoder: &'static dyn Decoder,
    /// The stack pointer.
    pub stack: &'static str,
    /// The registers of a function's parameters, in order.
    pub params: &'static [&'static str],
    /// The register of a function's result.
    pub result: &'static str,
    /// The offset of the parameters on the stack from the stack pointer at the start.
    pub stack_params: i64,
    /// The bytes of a register.
    pub word: u8,
    /// The stack pointer at the start, modulo 16.
    pub stack_start: i64,
    /// The register in which callers pass the address of the function that they call.
    pub entry: Option<&'static str>,
    /// The register that points into the program's small variables from its start to its end.
    pub global: Option<&'static str>,
    /// A register that is 0 wherever a function begins, if the convention has one.
    pub zero: Option<&'static str>,
    /// Registers that may hold locations and spilled values, in order of preference.
    pub spare: &'static [&'static str],
}

/// The return address of a call that is inlined. No code lies at this address.
pub const RETURN: u64 = u64::MAX;

/// The target of a dialect; `None` where its code cannot be read.
pub fn of(arch: Arch, thumb: bool, big: bool, release6: bool) -> Option<Target> {
    Some(match arch {
        Arch::AArch64 => Target {
            arch,
            thumb,
            decoder: crate::aarch64::decode::decoder(),
            stack: "SP",
            params: &["X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7"],
            result: "X0",
            stack_params: 0,
            word: 8,
            stack_start: 0,
            entry: None,
            global: None,
            zero: None,
            spare: &[
                "X19", "X20", "X21", "X22", "X23", "X24", "X25", "X26", "X27", "X28", "X9", "X10",
                "X11", "X12", "X13", "X14", "X15", "X16", "X17", "X8", "X7", "X6", "X5", "X4",
                "X3", "X2", "X1", "X0", "X29", "X30",
            ],
        },
        Arch::Arm => Target {
            arch,
            thumb,
            decoder: crate::arm::decode::decoder(thumb),
            stack: "SP",
            params: &["R0", "R1", "R2", "R3"],
            result: "R0",
            stack_params: 0,
            word: 4,
            stack_start: 0,
            entry: None,
            global: None,
            zero: None,
            spare: &[
                "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R3", "R2", "R1", "R0",
                "R14",
            ],
        },
        Arch::RiscV => Target {
            arch,
            thumb,
            decoder: crate::riscv::decode::decoder(),
            stack: "x2",
            params: &["x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17"],
            result: "x10",
            stack_params: 0,
            word: 8,
            stack_start: 0,
            entry: None,
            global: Some("x3"),
            zero: None,
            spare: &[
                "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29",
                "x30", "x31", "x9", "x8", "x7", "x6", "x5", "x17", "x16", "x15", "x14", "x13",
                "x12", "x11", "x10", "x1",
            ],
        },
        Arch::X86_64 => Target {
            arch,
            thumb,
            decoder: crate::x86::decode::decoder(true),
            stack: "rsp",
            params: &["rdi", "rsi", "rdx", "rcx", "r8", "r9"],
            result: "rax",
            stack_params: 8,
            word: 8,
            stack_start: 8,
            entry: None,
            global: None,
            zero: None,
            spare: &[
                "r10", "r11", "r8", "r9", "rdi", "rsi", "rcx", "rdx", "rax", "rbx", "r12", "r13",
                "r14", "r15", "rbp",
            ],
        },
        Arch::X86 => Target {
            arch,
            thumb,
            decoder: crate::x86::decode::decoder(false),
            stack: "ESP",
            // All parameters are on the stack.
            params: &[],
            result: "EAX",
            stack_params: 4,
            word: 4,
            stack_start: 12,
            entry: None,
            global: None,
            zero: None,
            // Those that have a name for their lowest byte first.
            spare: &["EBX", "ECX", "EDX", "EAX", "ESI", "EDI", "EBP"],
        },
        Arch::Ppc => Target {
            arch,
            thumb,
            decoder: crate::ppc::decode::decoder(big),
            stack: "r1",
            params: &["r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"],
            result: "r3",
            stack_params: 96,
            word: 8,
            stack_start: 0,
            entry: Some("r12"),
            global: None,
            zero: None,
            spare: &[
                "r11", "r12", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23",
                "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31", "r10", "r9", "r8", "r7",
                "r6", "r5", "r4", "r3",
            ],
        },
        Arch::Mips => {
            use crate::mips::decode::{Release, decoder};
            let release = if release6 { Release::R6 } else { Release::R2 };
            Target {
                arch,
                thumb,
                decoder: decoder(big, release),
                stack: "$29",
                params: &["$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11"],
                result: "$2",
                stack_params: 0,
                word: 8,
                stack_start: 0,
                entry: Some("$25"),
                global: None,
                zero: None,
                spare: &[
                    "$16", "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$12", "$13", "$14",
                    "$15", "$24", "$30", "$25", "$3", "$2", "$11", "$10", "$9", "$8", "$7", "$6",
                    "$5", "$4",
                ],
            }
        }
        Arch::C | Arch::Llvm | Arch::Ptx | Arch::Spirv => return None,
    })
}

impl Target {
    /// The same target where functions take their parameters as Go's compilers pass them
    /// (`cmd/compile/abi-internal.md`). `None` where Go's convention is not known.
    pub fn of_go(self) -> Option<Target> {
        let target = match self.arch {
            Arch::AArch64 => Target {
                params: &[
                    "X0", "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11",
                    "X12", "X13", "X14", "X15",
                ],
                stack_params: 8,
                ..self
            },
            Arch::RiscV => Target {
                params: &[
                    "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x8", "x9", "x18",
                    "x19", "x20", "x21", "x22", "x23",
                ],
                stack_params: 8,
                ..self
            },
            Arch::X86_64 => Target {
                params: &["rax", "rbx", "rcx", "rdi", "rsi", "r8", "r9", "r10", "r11"],
                ..self
            },
            Arch::Ppc => Target {
                params: &[
                    "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r14", "r15", "r16", "r17",
                ],
                stack_params: 32,
                entry: None,
                zero: Some("r0"),
                ..self
            },
            // Parameters and results are on the stack.
            Arch::Arm | Arch::X86 => Target { params: &[], result: "", stack_params: 4, ..self },
            _ => return None,
        };
        Some(target)
    }
}

/// Whether floating-point code is lifted.
pub fn lifts_floats(arch: Arch) -> bool {
    matches!(arch, Arch::AArch64 | Arch::X86_64 | Arch::RiscV)
}

/// A value that code computes from its own address.
pub enum Special {
    /// The register takes this address.
    Set(String, u64),
    /// The register takes the value at this address: its bytes, and whether it is sign-extended.
    Load(String, u64, u8, bool),
}

/// Pairs of opposite conditions.
const OPPOSITES: [(&str, &str); 7] = [
    ("EQ", "NE"),
    ("CS", "CC"),
    ("MI", "PL"),
    ("VS", "VC"),
    ("HI", "LS"),
    ("GE", "LT"),
    ("GT", "LE"),
];

impl Target {
    /// An instruction that uses its own address.
    pub fn special(&self, d: &Decoded) -> Option<Special> {
        if d.flow != Flow::Next {
            return None;
        }
        match (self.arch, d.mnemonic.as_str(), d.operands.as_slice()) {
            (Arch::AArch64, "ADR" | "ADRP", [Operand::Reg(r), Operand::Code(at)]) => {
                Some(Special::Set(r.clone(), *at))
            }
            (Arch::AArch64, "LDR" | "LDRSW", [Operand::Reg(r), Operand::Code(at)]) => {
                let size = match r.as_bytes()[0] {
                    b'W' => 4,
                    // Vector registers are not given constants.
                    b'S' | b'D' | b'Q' => return None,
                    _ if d.mnemonic == "LDRSW" => 4,
                    _ => 8,
                };
                Some(Special::Load(r.clone(), *at, size, d.mnemonic == "LDRSW"))
            }
            (Arch::RiscV, "auipc", [Operand::Reg(r), Operand::Imm(n)]) => {
                let upper = i64::from((*n as i32) << 12);
                Some(Special::Set(r.clone(), d.at.wrapping_add(upper as u64)))
            }
            (Arch::Ppc, "pla", [Operand::Reg(r), Operand::Code(at)]) => {
                Some(Special::Set(r.clone(), *at))
            }
            (Arch::Arm, "LDR", [Operand::Reg(r), Operand::Code(at)]) => {
                Some(Special::Load(r.clone(), *at, 4, false))
            }
            (Arch::Arm, "ADR", [Operand::Reg(r), Operand::Code(at)]) => {
                Some(Special::Set(r.clone(), *at))
            }
            _ => None,
        }
    }

    /// Whether an instruction accesses memory some bytes past a register. What reads tests is
    /// not as strict about that as machines are.
    pub fn takes_offset(&self, mnemonic: &str) -> bool {
        let starts = |list: &[&str]| list.iter().any(|p| mnemonic.starts_with(p));
        match self.arch {
            Arch::AArch64 => starts(&[
                "LDR", "STR", "LDP", "STP", "LDNP", "STNP", "LDUR", "STUR", "LDAPUR", "STLUR",
            ]),
            Arch::Arm => !starts(&["LDREX", "STREX", "LDA", "STL"]),
            Arch::RiscV => !starts(&["lr.", "sc.", "amo"]),
            _ => true,
        }
    }

    /// Whether the instruction behind a jump is executed before it.
    pub fn has_delay_slots(&self) -> bool {
        self.arch == Arch::Mips
    }

    /// A conditional return as a branch to [`RETURN`].
    pub fn conditional_return(&self, d: &Decoded) -> Option<Decoded> {
        let mut out = d.clone();
        out.flow = Flow::Branch;
        match self.arch {
            Arch::Ppc => out.mnemonic = d.mnemonic.strip_suffix("lr")?.to_string(),
            Arch::Arm => {
                out.mnemonic = format!("B{}", d.mnemonic.strip_prefix("BX")?);
                out.operands.clear();
            }
            _ => return None,
        }
        out.operands.push(Operand::Code(RETURN));
        Some(out)
    }

    /// Splits a conditional instruction into a branch to [`RETURN`], taken if the condition does not hold,
    /// and the instruction without its condition.
    pub fn unless(&self, d: &Decoded) -> Option<(Decoded, Decoded)> {
        if self.arch != Arch::Arm || d.mnemonic.len() < 4 {
            return None;
        }
        let (stem, cond) = d.mnemonic.split_at_checked(d.mnemonic.len() - 2)?;
        let (a, b) = OPPOSITES.iter().find(|(a, b)| *a == cond || *b == cond)?;
        let other = if *a == cond { b } else { a };
        let branch = Decoded {
            mnemonic: format!("B{other}"),
            operands: vec![Operand::Code(RETURN)],
            flow: Flow::Branch,
            ..d.clone()
        };
        Some((branch, Decoded { mnemonic: stem.to_string(), ..d.clone() }))
    }

    /// Whether a call is conditional in a way that [`Target::unless`] cannot split.
    pub fn strange_call(&self, d: &Decoded) -> bool {
        self.arch == Arch::Ppc && !["bl", "bcl", "bctrl", "blrl"].contains(&d.mnemonic.as_str())
    }

    /// Whether an instruction both restores registers and returns.
    pub fn returns_by_load(&self, d: &Decoded) -> bool {
        self.arch == Arch::Arm
            && ["POP", "LDM", "LDR"].iter().any(|m| d.mnemonic.to_ascii_uppercase().starts_with(m))
    }

    /// An instruction that uses its own address, rewritten to use another register; with that register and
    /// its value.
    pub fn position(&self, d: &Decoded) -> Option<(Decoded, &'static str, u64)> {
        if d.flow != Flow::Next {
            return None;
        }
        if self.arch == Arch::Ppc {
            return self.prefixed(d);
        }
        if self.arch != Arch::Arm {
            return None;
        }
        // A literal under a condition, or of a vector register, is memory that nobody writes.
        if let [Operand::Reg(first), Operand::Code(at)] = d.operands.as_slice()
            && ["LDR", "VLDR"].iter().any(|m| d.mnemonic.starts_with(m))
        {
            let spare = self.spare.iter().copied().find(|s| s != first)?;
            let base = Some(spare.to_string());
            let memory = Operand::Mem(Mem { base, offset: 0, index: None, update: Update::None });
            let operands = vec![Operand::Reg(first.clone()), memory];
            return Some((Decoded { operands, ..d.clone() }, spare, *at));
        }
        let is_pc = |o: &Operand| match o {
            Operand::Reg(r) => r == "PC",
            Operand::Mem(m) => m.base.as_deref() == Some("PC"),
            _ => false,
        };
        if !d.operands.iter().skip(1).any(is_pc) {
            return None;
        }
        let text = d.text(self.decoder.style(), &|_| String::new());
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let spare = self.spare.iter().copied().find(|s| !words.contains(s))?;
        let mut out = d.clone();
        for operand in out.operands.iter_mut().skip(1).filter(|o| is_pc(o)) {
            match operand {
                Operand::Reg(r) => *r = spare.to_string(),
                Operand::Mem(m) => m.base = Some(spare.to_string()),
                _ => {}
            }
        }
        let ahead = if d.len == 2 || self.thumb { 4 } else { 8 };
        Some((out, spare, d.at + ahead))
    }

    /// A load or store relative to its own address, rewritten to use another register as base.
    fn prefixed(&self, d: &Decoded) -> Option<(Decoded, &'static str, u64)> {
        let [Operand::Reg(first), Operand::Code(at)] = d.operands.as_slice() else {
            return None;
        };
        let spare = self.spare.iter().copied().find(|s| s != first)?;
        let (base, update) = (Some(spare.to_string()), Update::None);
        let memory = Operand::Mem(Mem { base, offset: 0, index: None, update });
        let out = Decoded {
            mnemonic: d.mnemonic.strip_prefix('p')?.to_string(),
            operands: vec![Operand::Reg(first.clone()), memory],
            ..d.clone()
        };
        Some((out, spare, *at))
    }

    /// The bytes by which a call moves the stack pointer to store its return address.
    pub fn call_pushes(&self) -> i64 {
        match self.arch {
            Arch::X86_64 => 8,
            Arch::X86 => 4,
            _ => 0,
        }
    }

    /// Whether code finds its own address by a call and its return address.
    pub fn asks_by_call(&self) -> bool {
        self.arch == Arch::X86
    }

    /// Whether it is x86, of 32 or 64 bits.
    pub fn is_x86(&self) -> bool {
        matches!(self.arch, Arch::X86 | Arch::X86_64)
    }

    /// Whether an instruction of x86, which may be one on a `vector` register, takes a general
    /// register in place of memory.
    pub fn takes_general(&self, mnemonic: &str, vector: bool) -> bool {
        let name = mnemonic.to_ascii_lowercase();
        let name = name.strip_prefix('v').unwrap_or(&name);
        if !vector {
            // A number in floating point is in memory or in a vector register.
            return !name.contains("2si");
        }
        matches!(name, "movd" | "movq") || name.starts_with("cvtsi2s")
    }

    /// The size suffix of a locked operation that leaves memory as it is, which compilers use as a fence;
    /// `None` for others.
    pub fn locked_nothing<'d>(&self, d: &'d Decoded) -> Option<&'d str> {
        let number = match self.arch {
            Arch::X86_64 => d.operands.first(),
            Arch::X86 => d.operands.last(),
            _ => None,
        };
        let name = d.mnemonic.as_str();
        let size = ["lock or", "lock add", "LOCK OR", "LOCK ADD"]
            .iter()
            .find_map(|stem| name.strip_prefix(stem));
        size.filter(|_| number == Some(&Operand::Imm(0)))
    }

    /// The name of a part of a register, by its bytes.
    pub fn view(&self, reg: &str, bytes: u8) -> String {
        match self.arch {
            Arch::AArch64 => match (reg.strip_prefix('X'), bytes) {
                (Some(n), ..=4) => format!("W{n}"),
                _ => reg.to_string(),
            },
            Arch::X86_64 => x86_view(reg, bytes),
            Arch::X86 => x86_part(reg, bytes),
            _ => reg.to_string(),
        }
    }

    /// The text of a jump to a label.
    pub fn jump(&self, label: &str) -> String {
        match self.arch {
            Arch::X86_64 => format!("jmp {label}"),
            Arch::X86 => format!("JMP {label}"),
            Arch::AArch64 | Arch::Arm => format!("B {label}"),
            Arch::RiscV => format!("j {label}"),
            _ => format!("b {label}"),
        }
    }

    /// Copies at least the lowest bytes of a register.
    pub fn copy(&self, to: &str, from: &str, bytes: u8) -> String {
        let (to, from) = match self.arch {
            Arch::X86_64 => {
                let bytes = bytes.max(4);
                (self.view(to, bytes), self.view(from, bytes))
            }
            Arch::X86 => (to.to_string(), from.to_string()),
            _ => (self.view(to, bytes), self.view(from, bytes)),
        };
        match self.arch {
            Arch::X86_64 => {
                format!("mov{} {from},{to}", if bytes <= 4 { "l" } else { "q" })
            }
            Arch::AArch64 | Arch::Arm | Arch::X86 => format!("MOV {to},{from}"),
            Arch::RiscV => format!("ori {to},{from},0"),
            Arch::Ppc => format!("mr {to},{from}"),
            _ => format!("move {to},{from}"),
        }
    }

    /// Copies a register so that the copy also depends on another register.
    pub fn dependent(&self, to: &str, on: &str, from: &str) -> Option<Vec<String>> {
        let (zero, add) = match self.arch {
            Arch::AArch64 => ("EOR", "ADD"),
            Arch::RiscV | Arch::Ppc => ("xor", "add"),
            Arch::Mips => ("xor", "daddu"),
            // Arm takes no locks, and x86 has no dependencies.
            Arch::X86_64
            | Arch::Arm
            | Arch::C
            | Arch::X86
            | Arch::Llvm
            | Arch::Ptx
            | Arch::Spirv => {
                return None;
            }
        };
        Some(vec![format!("{zero} {to},{on},{on}"), format!("{add} {to},{to},{from}")])
    }

    /// Loads an address from memory.
    pub fn load(&self, to: &str, base: &str, offset: usize) -> String {
        match self.arch {
            Arch::X86_64 => format!("movq {offset}({}),{}", self.view(base, 8), self.view(to, 8)),
            Arch::X86 => format!("MOV {to},[{base}{offset:+}]"),
            Arch::AArch64 | Arch::Arm => format!("LDR {to},[{base},#{offset}]"),
            _ => format!("ld {to},{offset}({base})"),
        }
    }

    /// Puts the lowest bytes of a register into another, extended to `to_bytes`.
    pub fn extend(
        &self,
        to: &str,
        from: &str,
        bytes: u8,
        to_bytes: u8,
        signed: bool,
    ) -> Option<Vec<String>> {
        if bytes >= to_bytes {
            return Some(vec![self.copy(to, from, bytes)]);
        }
        if self.arch == Arch::RiscV && !matches!((bytes, signed), (4, true) | (1, false)) {
            let (count, kind) = (64 - 8 * u32::from(bytes), if signed { 'a' } else { 'l' });
            let up = format!("slli {to},{from},{count}");
            return Some(vec![up, format!("sr{kind}i {to},{to},{count}")]);
        }
        if self.arch == Arch::X86 {
            let (kind, size) = (if signed { 'S' } else { 'Z' }, if bytes == 1 { 'B' } else { 'W' });
            // Four registers alone have a name for their lowest byte.
            let part = |reg: &str| Some(self.view(reg, bytes)).filter(|p| x86::has_part(p));
            let extend = |part: String| format!("MOV{kind}{size}L {to},{part}");
            return Some(match part(from) {
                Some(part) => vec![extend(part)],
                None => vec![self.copy(to, from, 4), extend(part(to)?)],
            });
        }
        if self.arch == Arch::Mips && (bytes, signed) == (4, false) {
            return Some(vec![format!("dsll {to},{from},32"), format!("dsrl {to},{to},32")]);
        }
        let line = match (self.arch, bytes, signed) {
            (Arch::AArch64, 4, false) => self.copy(to, from, 4),
            (Arch::AArch64, 1 | 2, false) => {
                let (to, from) = (self.view(to, 4), self.view(from, 4));
                format!("AND {to},{from},#{}", (1u32 << (8 * bytes)) - 1)
            }
            (Arch::AArch64, _, true) => {
                let (to, from) = (self.view(to, to_bytes), self.view(from, 4));
                let name = ["SXTB", "SXTH", "SXTW"][usize::from(bytes.min(4) / 2)];
                format!("{name} {to},{from}")
            }
            (Arch::X86_64, 4, false) => self.copy(to, from, 4),
            (Arch::X86_64, _, true) => {
                let size = ['b', 'w', 'l'][usize::from(bytes.min(4) / 2)];
                let whole = if to_bytes == 8 { 'q' } else { 'l' };
                let (from, to) = (self.view(from, bytes), self.view(to, to_bytes.max(4)));
                format!("movs{size}{whole} {from},{to}")
            }
            // A write to the low half clears the high one.
            (Arch::X86_64, 1 | 2, false) => {
                let size = if bytes == 1 { 'b' } else { 'w' };
                format!("movz{size}l {},{}", self.view(from, bytes), self.view(to, 4))
            }
            (Arch::RiscV, 4, true) => format!("addiw {to},{from},0"),
            (Arch::RiscV, 1, false) => format!("andi {to},{from},255"),
            // `andi.` would set a condition.
            (Arch::Ppc, _, false) => format!("clrldi {to},{from},{}", 64 - 8 * bytes),
            (Arch::Ppc, 4, true) => format!("extsw {to},{from}"),
            (Arch::Ppc, 2, true) => format!("extsh {to},{from}"),
            (Arch::Ppc, 1, true) => format!("extsb {to},{from}"),
            (Arch::Arm, 1 | 2, _) => {
                let (kind, size) =
                    (if signed { 'S' } else { 'U' }, if bytes == 1 { 'B' } else { 'H' });
                format!("{kind}XT{size} {to},{from}")
            }
            (Arch::Mips, 4, true) => format!("addu {to},{from},$0"),
            (Arch::Mips, 1, true) => format!("seb {to},{from}"),
            (Arch::Mips, 2, true) => format!("seh {to},{from}"),
            (Arch::Mips, 1 | 2, false) => format!("andi {to},{from},{}", (1u32 << (8 * bytes)) - 1),
            _ => return None,
        };
        Some(vec![line])
    }

    /// Puts a constant into a register.
    pub fn constant(&self, reg: &str, value: u64) -> String {
        let signed = value as i64;
        match self.arch {
            Arch::X86_64 if value <= u64::from(u32::MAX) => {
                format!("movl ${signed},{}", self.view(reg, 4))
            }
            Arch::X86_64 => format!("movq ${signed},{}", self.view(reg, 8)),
            Arch::X86 => format!("MOV {reg},${}", value as u32 as i32),
            Arch::AArch64 if value <= u64::from(u32::MAX) => {
                format!("MOV {},#{value}", self.view(reg, 4))
            }
            Arch::AArch64 => format!("MOV {reg},#{value}"),
            Arch::Arm => format!("MOV {reg},#{}", value as u32),
            Arch::RiscV if (-2048..2048).contains(&signed) => format!("ori {reg},x0,{signed}"),
            _ => format!("li {reg},{signed}"),
        }
    }

    /// Puts zero into a register, which may be a vector register of x86.
    pub fn cleared(&self, reg: &str) -> String {
        match (self.arch, reg.starts_with("xmm")) {
            (Arch::X86_64, true) => format!("pxor %{reg},%{reg}"),
            (Arch::X86, true) => format!("PXOR {0},{0}", reg.to_ascii_uppercase()),
            _ => self.constant(reg, 0),
        }
    }

    /// A memory operand that names a location directly, if the dialect has one.
    pub fn direct(&self, location: &str, offset: i64) -> Option<String> {
        match (self.arch, offset) {
            (Arch::X86_64, 0) => Some(format!("({location})")),
            (Arch::X86_64, _) => Some(format!("({location}{offset:+})")),
            (Arch::X86, 0) => Some(format!("[{location}]")),
            (Arch::X86, _) => Some(format!("[{location}{offset:+}]")),
            _ => None,
        }
    }
}

/// A part of a register of 32-bit code.
fn x86_part(reg: &str, bytes: u8) -> String {
    let stem = reg.strip_prefix('E').unwrap_or(reg);
    match (bytes, stem.strip_suffix('X')) {
        (1, Some(letter)) => format!("{letter}L"),
        (1, None) => format!("{stem}L"),
        (2, _) => stem.to_string(),
        _ => reg.to_string(),
    }
}

fn x86_view(reg: &str, bytes: u8) -> String {
    if let Some(n) = reg.strip_prefix('r').filter(|n| n.bytes().all(|b| b.is_ascii_digit())) {
        let suffix = match bytes {
            1 => "b",
            2 => "w",
            4 => "d",
            _ => "",
        };
        return format!("%r{n}{suffix}");
    }
    let stem = reg.strip_prefix('r').unwrap_or(reg);
    match (bytes, stem.strip_suffix('x')) {
        (1, Some(letter)) => format!("%{letter}l"),
        (1, None) => format!("%{stem}l"),
        (2, _) => format!("%{stem}"),
        (4, _) => format!("%e{stem}"),
        _ => format!("%r{stem}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(arch: Arch, from: &str, bytes: u8, to_bytes: u8, signed: bool) -> Vec<String> {
        let target = of(arch, false, false, false).unwrap();
        let to = target.spare[0];
        target.extend(to, from, bytes, to_bytes, signed).unwrap_or_default()
    }

    #[test]
    fn parts_of_registers_are_extended_to_all_of_the_other() {
        let x86 = |bytes, to, signed| extended(Arch::X86_64, "rax", bytes, to, signed).join(";");
        assert_eq!(x86(4, 8, true), "movslq %eax,%r10");
        assert_eq!(x86(2, 8, true), "movswq %ax,%r10");
        assert_eq!(x86(1, 4, true), "movsbl %al,%r10d");
        assert_eq!(x86(1, 8, false), "movzbl %al,%r10d");
        let narrow = |from, bytes, signed| extended(Arch::X86, from, bytes, 4, signed).join(";");
        assert_eq!(narrow("EAX", 1, false), "MOVZBL EBX,AL");
        assert_eq!(narrow("ESI", 2, true), "MOVSWL EBX,SI");
        assert_eq!(narrow("ESI", 1, true), "MOV EBX,ESI;MOVSBL EBX,BL");
        // A condition that is in use stays.
        assert_eq!(extended(Arch::Ppc, "r3", 1, 8, false), ["clrldi r11,r3,56"]);
        assert_eq!(extended(Arch::Mips, "$2", 4, 8, true), ["addu $16,$2,$0"]);
        assert_eq!(extended(Arch::Mips, "$2", 4, 8, false), ["dsll $16,$2,32", "dsrl $16,$16,32"]);
    }
}
