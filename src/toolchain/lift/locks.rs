//! Stand-ins for the locks that `libatomic` takes for operations that a processor cannot do
//! atomically.
//!
//! The library hashes an object's address into a table of mutexes of the C library. Mutexes are
//! assumed to be correct, so their code is not followed; a spin lock that only acquires and
//! releases stands for it. Each location has its own lock, as it has when addresses differ enough.
//! This module does not know the code around a call.

use litmake_isa::machine::{Decoded, Flow, Mem, Operand, Update};
use litmake_litmus::Arch;

/// The distance from an object to its lock. No object is that large, and the sum is an address in
/// 32 bits, too.
pub const FAR: i64 = 0x2000_0000;

/// Whether a function of the library takes the lock of the object that its first argument points
/// to, or releases it; `None` for other functions.
pub fn takes(function: &str) -> Option<bool> {
    match function {
        "libat_lock_1" | "libat_lock_n" => Some(true),
        "libat_unlock_1" | "libat_unlock_n" => Some(false),
        _ => None,
    }
}

/// A stand-in: the register with the lock's address, and the instructions. Jumps go to the marked
/// instruction.
pub struct StandIn {
    /// The register with the lock's address.
    pub address: &'static str,
    /// The instructions, and whether jumps go to each.
    pub code: Vec<(bool, Decoded)>,
}

/// The stand-in for taking or releasing a lock, with registers that calls do not preserve.
pub fn stand_in(arch: Arch, takes: bool) -> Option<StandIn> {
    let reg = |name: &str| Operand::Reg(name.to_string());
    let text = |t: &str| Operand::Text(t.to_string());
    let imm = Operand::Imm;
    let again = Operand::Code(0);
    let at = |base: &str| {
        let base = Some(base.to_string());
        Operand::Mem(Mem { base, offset: 0, index: None, update: Update::None })
    };
    // Power's reservations use the sum of two registers, of which the first may be absent.
    let indexed = |index: &str| {
        let index = Some(index.to_string());
        Operand::Mem(Mem { base: None, offset: 0, index, update: Update::None })
    };
    let insn = |first: bool, mnemonic: &str, operands: Vec<Operand>| {
        let flow = match operands.contains(&Operand::Code(0)) {
            true => Flow::Branch,
            false => Flow::Next,
        };
        let mnemonic = mnemonic.to_string();
        (first, Decoded { at: 0, len: 4, mnemonic, operands, flow })
    };
    let (address, code) = match (arch, takes) {
        (Arch::AArch64, true) => (
            "X16",
            vec![
                insn(false, "MOV", vec![reg("W17"), imm(1)]),
                insn(true, "SWPA", vec![reg("W17"), reg("W15"), at("X16")]),
                insn(false, "CBNZ", vec![reg("W15"), again]),
            ],
        ),
        (Arch::AArch64, false) => ("X16", vec![insn(false, "STLR", vec![reg("WZR"), at("X16")])]),
        (Arch::X86_64, true) => (
            "r10",
            vec![
                insn(true, "movl", vec![imm(1), reg("%r11d")]),
                insn(false, "xchgl", vec![reg("%r11d"), at("%r10")]),
                insn(false, "cmpl", vec![imm(0), reg("%r11d")]),
                insn(false, "jne", vec![again]),
            ],
        ),
        (Arch::X86_64, false) => ("r10", vec![insn(false, "movl", vec![imm(0), at("%r10")])]),
        (Arch::Arm, true) => (
            "R12",
            vec![
                insn(false, "MOV", vec![reg("R3"), imm(1)]),
                insn(true, "LDREX", vec![reg("R2"), at("R12")]),
                insn(false, "CMP", vec![reg("R2"), imm(0)]),
                insn(false, "BNE", vec![again.clone()]),
                insn(false, "STREX", vec![reg("R2"), reg("R3"), at("R12")]),
                insn(false, "CMP", vec![reg("R2"), imm(0)]),
                insn(false, "BNE", vec![again]),
                insn(false, "DMB", vec![text("ISH")]),
            ],
        ),
        (Arch::Arm, false) => (
            "R12",
            vec![
                insn(false, "MOV", vec![reg("R3"), imm(0)]),
                insn(false, "DMB", vec![text("ISH")]),
                insn(false, "STR", vec![reg("R3"), at("R12")]),
            ],
        ),
        (Arch::RiscV, true) => (
            "x5",
            vec![
                insn(false, "ori", vec![reg("x6"), reg("x0"), imm(1)]),
                insn(true, "amoswap.w.aq", vec![reg("x7"), reg("x6"), at("x5")]),
                insn(false, "bne", vec![reg("x7"), reg("x0"), again]),
            ],
        ),
        (Arch::RiscV, false) => (
            "x5",
            vec![
                insn(false, "fence", vec![text("rw"), text("w")]),
                insn(false, "sw", vec![reg("x0"), at("x5")]),
            ],
        ),
        (Arch::Ppc, true) => (
            "r11",
            vec![
                insn(false, "li", vec![reg("r9"), imm(1)]),
                insn(true, "lwarx", vec![reg("r10"), indexed("r11")]),
                insn(false, "cmpwi", vec![reg("r10"), imm(0)]),
                insn(false, "bne", vec![again.clone()]),
                insn(false, "stwcx.", vec![reg("r9"), indexed("r11")]),
                insn(false, "bne", vec![again]),
                insn(false, "isync", Vec::new()),
            ],
        ),
        (Arch::Ppc, false) => (
            "r11",
            vec![
                insn(false, "li", vec![reg("r9"), imm(0)]),
                insn(false, "lwsync", Vec::new()),
                insn(false, "stw", vec![reg("r9"), at("r11")]),
            ],
        ),
        (Arch::Mips, true) => (
            "$24",
            vec![
                insn(true, "ll", vec![reg("$15"), at("$24")]),
                insn(false, "bne", vec![reg("$15"), reg("$0"), again.clone()]),
                insn(false, "li", vec![reg("$15"), imm(1)]),
                insn(false, "sc", vec![reg("$15"), at("$24")]),
                insn(false, "beq", vec![reg("$15"), reg("$0"), again]),
                insn(false, "sync", Vec::new()),
            ],
        ),
        (Arch::Mips, false) => (
            "$24",
            vec![insn(false, "sync", Vec::new()), insn(false, "sw", vec![reg("$0"), at("$24")])],
        ),
        // These dialects have no stand-in; its object would have to be in a parameter's register.
        _ => return None,
    };
    Some(StandIn { address, code })
}
