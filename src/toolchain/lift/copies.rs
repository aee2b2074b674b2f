//! Stand-ins for `memcpy` and `memcmp`, with which libraries copy and compare objects under a lock,
//! and for `memset`, with which compilers initialise structures. The C library has versions for
//! every kind of processor, and any order and size of its accesses is correct; the stand-ins access
//! 8 bytes at a time.
//!
//! It does not know the code around a call.

use litmake_isa::machine::{Decoded, Flow, Mem, Operand, Update};
use litmake_litmus::Arch;

/// The largest number of bytes to copy, as where an array starts with constants, and to compare or fill.
const MOST: u64 = 256;
const SMALL: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// Copies the number of bytes in the third argument from the second to the first; returns the
    /// first.
    Copy,
    /// Compares the bytes; the result is not 0 if they differ.
    Compare,
    /// Fills the number of bytes in the third argument with the second; returns the first.
    Fill,
}

impl Bytes {
    /// The name of the function.
    pub fn function(self) -> &'static str {
        match self {
            Bytes::Copy => "memcpy",
            Bytes::Compare => "memcmp",
            Bytes::Fill => "memset",
        }
    }
}

/// The work of a function on bytes.
pub fn works_on(function: &str) -> Option<Bytes> {
    match function {
        "memcpy" | "memmove" => Some(Bytes::Copy),
        "memcmp" => Some(Bytes::Compare),
        "memset" => Some(Bytes::Fill),
        _ => None,
    }
}

/// The code for this work on this number of bytes, in registers that calls do not preserve.
pub fn stand_in(arch: Arch, work: Bytes, bytes: u64) -> Option<Vec<Decoded>> {
    if bytes > MOST
        || bytes > SMALL && work != Bytes::Copy
        || work != Bytes::Fill && !bytes.is_multiple_of(8)
    {
        return None;
    }
    let (load, store, through, to, from) = match arch {
        Arch::AArch64 => ("LDR", "STR", "X16", "X0", "X1"),
        Arch::X86_64 => ("movq", "movq", "%rcx", "%rdi", "%rsi"),
        Arch::RiscV => ("ld", "sd", "x5", "x10", "x11"),
        Arch::Ppc => ("ld", "std", "r9", "r3", "r4"),
        Arch::Mips => ("ld", "sd", "$24", "$4", "$5"),
        _ => return None,
    };
    let at = |base: &str, offset: u64| {
        let (base, offset) = (Some(base.to_string()), offset as i64);
        Operand::Mem(Mem { base, offset, index: None, update: Update::None })
    };
    let insn = |mnemonic: &str, operands: Vec<Operand>| Decoded {
        at: 0,
        len: 4,
        mnemonic: mnemonic.to_string(),
        operands,
        flow: Flow::Next,
    };
    let mut out = Vec::new();
    if work == Bytes::Fill {
        // For the sizes in tests, compilers call the library on no other target.
        if arch != Arch::X86_64 {
            return None;
        }
        let (reg, number) = (|name: &str| Operand::Reg(name.to_string()), Operand::Imm);
        out.push(insn("movzbl", vec![reg("%sil"), reg("%esi")]));
        out.push(insn("movabsq", vec![number(0x0101_0101_0101_0101), reg("%rcx")]));
        out.push(insn("imulq", vec![reg("%rsi"), reg("%rcx")]));
        let parts = [("movq", "%rcx"), ("movl", "%ecx"), ("movw", "%cx"), ("movb", "%cl")];
        let mut offset = 0;
        for (store, part) in parts.into_iter().zip([8, 4, 2, 1]) {
            while offset + part <= bytes {
                out.push(insn(store.0, vec![reg(store.1), at(to, offset)]));
                offset += part;
            }
        }
        out.push(insn("movq", vec![reg(to), reg("%rax")]));
        return Some(out);
    }
    if work == Bytes::Compare {
        let reg = |name: &str| Operand::Reg(name.to_string());
        let number = Operand::Imm;
        match arch {
            Arch::Ppc => {}
            Arch::X86_64 => {
                let (rax, rcx) = (|| reg("%rax"), || reg("%rcx"));
                out.push(insn("movl", vec![number(0), reg("%eax")]));
                for offset in (0..bytes).step_by(8) {
                    out.push(insn("movq", vec![at("%rdi", offset), rcx()]));
                    out.push(insn("xorq", vec![at("%rsi", offset), rcx()]));
                    out.push(insn("orq", vec![rcx(), rax()]));
                }
                out.push(insn("cmpq", vec![number(0), rax()]));
                out.push(insn("setne", vec![reg("%al")]));
                out.push(insn("movzbl", vec![reg("%al"), reg("%eax")]));
                return Some(out);
            }
            // For the sizes in tests, compilers call the library on no other target.
            _ => return None,
        }
        out.push(insn("li", vec![reg("r9"), number(0)]));
        for offset in (0..bytes).step_by(8) {
            out.push(insn("ld", vec![reg("r10"), at("r3", offset)]));
            out.push(insn("ld", vec![reg("r11"), at("r4", offset)]));
            out.push(insn("xor", vec![reg("r10"), reg("r10"), reg("r11")]));
            out.push(insn("or", vec![reg("r9"), reg("r9"), reg("r10")]));
        }
        // 0 has 64 leading zeros.
        out.push(insn("cntlzd", vec![reg("r9"), reg("r9")]));
        out.push(insn("srdi", vec![reg("r9"), reg("r9"), number(6)]));
        out.push(insn("xori", vec![reg("r3"), reg("r9"), number(1)]));
        return Some(out);
    }
    for offset in (0..bytes).step_by(8) {
        let reg = || Operand::Reg(through.to_string());
        let order = |memory: Operand, loads: bool| match (arch, loads) {
            // The source comes first.
            (Arch::X86_64, true) => vec![memory, reg()],
            _ => vec![reg(), memory],
        };
        out.push(insn(load, order(at(from, offset), true)));
        out.push(insn(store, order(at(to, offset), false)));
    }
    if arch == Arch::X86_64 {
        let [to, result] = [to, "%rax"].map(|r| Operand::Reg(r.to_string()));
        out.push(insn("movq", vec![to, result]));
    }
    if arch == Arch::Mips {
        let [result, to] = ["$2", to].map(|r| Operand::Reg(r.to_string()));
        out.push(insn("move", vec![result, to]));
    }
    Some(out)
}
