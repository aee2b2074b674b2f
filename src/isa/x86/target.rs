//! The answers to lifting's questions about x86, of 64 and of 32 bits: calling convention, and the code that it adds.
//!
//! It does not know the code that is lifted, nor what instructions mean.

use super::has_part;
use crate::machine::{Decoded, Operand};
use crate::relocate::{Fill, Fix};
use crate::target::{Bytes, Calls, Facts, Form, Loader, Lock, Rules, Target, Widening};
use litmake_litmus::Arch;
use object::{Architecture, elf};

pub fn target(arch: Arch, form: Form) -> Target {
    match arch {
        Arch::X86_64 => wide(form),
        _ => narrow(form),
    }
}

fn wide(form: Form) -> Target {
    Target {
        stack: "rsp",
        params: &["rdi", "rsi", "rdx", "rcx", "r8", "r9"],
        result: "rax",
        stack_params: 8,
        stack_start: 8,
        spare: &[
            "r10", "r11", "r8", "r9", "rdi", "rsi", "rcx", "rdx", "rax", "rbx", "r12", "r13",
            "r14", "r15", "rbp",
        ],
        floats: true,
        machines: &[Architecture::X86_64, Architecture::X86_64_X32],
        linker: Some("x86_64-linux-gnu"),
        emulator: Some("qemu-x86_64"),
        ..Target::new(Arch::X86_64, form, super::decode::decoder(true), &Wide)
    }
}

fn narrow(form: Form) -> Target {
    Target {
        stack: "ESP",
        // All parameters are on the stack.
        params: &[],
        result: "EAX",
        stack_params: 4,
        word: 4,
        stack_start: 12,
        // Those that have a name for their lowest byte first.
        spare: &["EBX", "ECX", "EDX", "EAX", "ESI", "EDI", "EBP"],
        machines: &[Architecture::I386],
        emulator: Some("qemu-i386"),
        ..Target::new(Arch::X86, form, super::decode::decoder(false), &Narrow)
    }
}

const NARROW: Facts = Facts {
    jump: "JMP {label}",
    copy: "MOV {to},{from}",
    jump_if_zero: &["cmpl $0,{base}", "je {label}"],
    ordered: true,
    loader: Some(Loader {
        address: &[elf::R_386_32, elf::R_386_GLOB_DAT, elf::R_386_JMP_SLOT],
        base: elf::R_386_RELATIVE,
        chosen: None,
    }),
    ..Facts::NONE
};

/// Code of 64 bits.
struct Wide;

/// Code of 32 bits.
struct Narrow;

const FACTS: Facts = Facts {
    jump: "jmp {label}",
    calls: Some(Calls {
        taken: &["rsp", "esp", "push", "pop", "pushq", "popq"],
        call: &["call {label}"],
        ret: &["ret"],
    }),
    lock: Some(Lock {
        address: "r10",
        take: &["again: movl 1 %r11d", "xchgl %r11d [%r10]", "cmpl 0 %r11d", "jne again"],
        release: &["movl 0 [%r10]"],
    }),
    copies: Some(Bytes {
        each: &["movq [%rsi+{at}] %rcx", "movq %rcx [%rdi+{at}]"],
        then: &["movq %rdi %rax"],
        ..Bytes::NONE
    }),
    compares: Some(Bytes {
        first: &["movl 0 %eax"],
        each: &["movq [%rdi+{at}] %rcx", "xorq [%rsi+{at}] %rcx", "orq %rcx %rax"],
        then: &["cmpq 0 %rax", "setne %al", "movzbl %al %eax"],
    }),
    jump_if_zero: &["cmpl $0,{base}", "je {label}"],
    ordered: true,
    kernel: Some("x86"),
    loader: Some(Loader {
        address: &[elf::R_X86_64_64, elf::R_X86_64_GLOB_DAT, elf::R_X86_64_JUMP_SLOT],
        base: elf::R_X86_64_RELATIVE,
        chosen: Some(elf::R_X86_64_IRELATIVE),
    }),
    ..Facts::NONE
};

impl Rules for Wide {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn of_go(&self, target: Target) -> Option<Target> {
        let params = &["rax", "rbx", "rcx", "rdi", "rsi", "r8", "r9", "r10", "r11"];
        Some(Target { params, ..target })
    }

    fn call_pushes(&self) -> i64 {
        8
    }

    fn takes_general(&self, mnemonic: &str, vector: bool) -> bool {
        takes_general(mnemonic, vector)
    }

    fn locked_nothing<'d>(&self, d: &'d Decoded) -> Option<&'d str> {
        locked_nothing(d, d.operands.first())
    }

    fn view(&self, reg: &str, bytes: u8) -> String {
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

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::wide(fix, bytes, fill)
    }

    fn copy(&self, to: &str, from: &str, bytes: u8) -> String {
        let (bytes, size) = if bytes <= 4 { (4, 'l') } else { (bytes, 'q') };
        format!("mov{size} {},{}", self.view(from, bytes), self.view(to, bytes))
    }

    fn load(&self, to: &str, base: &str, offset: usize) -> String {
        format!("movq {offset}({}),{}", self.view(base, 8), self.view(to, 8))
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, to_bytes, signed } = widening;
        let line = match (bytes, signed) {
            (4, false) => self.copy(to, from, 4),
            (_, true) => {
                let size = ['b', 'w', 'l'][usize::from(bytes.min(4) / 2)];
                let whole = if to_bytes == 8 { 'q' } else { 'l' };
                let (from, to) = (self.view(from, bytes), self.view(to, to_bytes.max(4)));
                format!("movs{size}{whole} {from},{to}")
            }
            // A write to the low half clears the high one.
            (1 | 2, false) => {
                let size = if bytes == 1 { 'b' } else { 'w' };
                format!("movz{size}l {},{}", self.view(from, bytes), self.view(to, 4))
            }
            _ => return None,
        };
        Some(vec![line])
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        match u32::try_from(value) {
            Ok(_) => format!("movl ${value},{}", self.view(reg, 4)),
            Err(_) => format!("movq ${},{}", value as i64, self.view(reg, 8)),
        }
    }

    fn cleared(&self, reg: &str) -> String {
        match reg.starts_with("xmm") {
            true => format!("pxor %{reg},%{reg}"),
            false => self.constant(reg, 0),
        }
    }

    fn direct(&self, location: &str, offset: i64) -> Option<String> {
        Some(if offset == 0 { format!("({location})") } else { format!("({location}{offset:+})") })
    }

    fn fill(&self, bytes: u64) -> Option<Vec<String>> {
        let mut rows = ["movzbl %sil %esi", "movabsq 0x0101010101010101 %rcx", "imulq %rsi %rcx"]
            .map(String::from)
            .to_vec();
        let mut offset = 0;
        for (store, size) in [("movq %rcx", 8), ("movl %ecx", 4), ("movw %cx", 2), ("movb %cl", 1)]
        {
            while offset + size <= bytes {
                rows.push(format!("{store} [%rdi+{offset}]"));
                offset += size;
            }
        }
        rows.push("movq %rdi %rax".into());
        Some(rows)
    }
}

impl Rules for Narrow {
    fn facts(&self) -> &'static Facts {
        &NARROW
    }

    // Parameters and results are on the stack.
    fn of_go(&self, target: Target) -> Option<Target> {
        Some(Target { params: &[], result: "", stack_params: 4, ..target })
    }

    fn call_pushes(&self) -> i64 {
        4
    }

    fn asks_by_call(&self) -> bool {
        true
    }

    fn takes_general(&self, mnemonic: &str, vector: bool) -> bool {
        takes_general(mnemonic, vector)
    }

    fn locked_nothing<'d>(&self, d: &'d Decoded) -> Option<&'d str> {
        locked_nothing(d, d.operands.last())
    }

    fn view(&self, reg: &str, bytes: u8) -> String {
        let stem = reg.strip_prefix('E').unwrap_or(reg);
        match (bytes, stem.strip_suffix('X')) {
            (1, Some(letter)) => format!("{letter}L"),
            (1, None) => format!("{stem}L"),
            (2, _) => stem.to_string(),
            _ => reg.to_string(),
        }
    }

    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()> {
        super::relocate::narrow(fix, bytes, fill)
    }

    fn load(&self, to: &str, base: &str, offset: usize) -> String {
        format!("MOV {to},[{base}{offset:+}]")
    }

    fn widen(&self, widening: Widening) -> Option<Vec<String>> {
        let Widening { to, from, bytes, signed, .. } = widening;
        let (kind, size) = (if signed { 'S' } else { 'Z' }, if bytes == 1 { 'B' } else { 'W' });
        // Four registers alone have a name for their lowest byte.
        let part = |reg: &str| Some(self.view(reg, bytes)).filter(|p| has_part(p));
        let extend = |part: String| format!("MOV{kind}{size}L {to},{part}");
        Some(match part(from) {
            Some(part) => vec![extend(part)],
            None => vec![self.copy(to, from, 4), extend(part(to)?)],
        })
    }

    fn constant(&self, reg: &str, value: u64) -> String {
        format!("MOV {reg},${}", value as u32 as i32)
    }

    fn cleared(&self, reg: &str) -> String {
        match reg.starts_with("xmm") {
            true => format!("PXOR {0},{0}", reg.to_ascii_uppercase()),
            false => self.constant(reg, 0),
        }
    }

    fn direct(&self, location: &str, offset: i64) -> Option<String> {
        Some(if offset == 0 { format!("[{location}]") } else { format!("[{location}{offset:+}]") })
    }
}

fn takes_general(mnemonic: &str, vector: bool) -> bool {
    let name = mnemonic.to_ascii_lowercase();
    let name = name.strip_prefix('v').unwrap_or(&name);
    if !vector {
        // A number in floating point is in memory or in a vector register.
        return !name.contains("2si");
    }
    matches!(name, "movd" | "movq") || name.starts_with("cvtsi2s")
}

/// See [`Rules::locked_nothing`]; `number` is the operand that a constant would be.
fn locked_nothing<'d>(d: &'d Decoded, number: Option<&Operand>) -> Option<&'d str> {
    let name = d.mnemonic.as_str();
    let mut stems = ["lock or", "lock add", "LOCK OR", "LOCK ADD"].iter();
    let size = stems.find_map(|stem| name.strip_prefix(stem));
    size.filter(|_| number == Some(&Operand::Imm(0)))
}
