//! Lists the barriers that could mend a mix, and adds one to the code of a part.
//!
//! It does not know whether a barrier mends anything.

use litmake_base::diag::Span;
use litmake_litmus::{Arch, Body, Line, Test};

/// The barriers of an instruction set, the weaker ones first.
pub fn barriers(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::AArch64 => &["DMB ISHST", "DMB ISHLD", "DMB ISH"],
        Arch::Arm => &["DMB ISHST", "DMB ISH"],
        Arch::RiscV => {
            &["fence w,w", "fence r,r", "fence r,rw", "fence rw,w", "fence.tso", "fence rw,rw"]
        }
        Arch::Ppc => &["lwsync", "sync"],
        Arch::Mips => &["sync"],
        Arch::X86_64 | Arch::X86 => &["mfence"],
        Arch::C | Arch::Llvm | Arch::Ptx | Arch::Spirv => &[],
    }
}

/// Whether an instruction is a barrier and nothing else.
pub fn is_barrier(arch: Arch, line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
    match arch {
        Arch::AArch64 | Arch::Arm => matches!(&*name, "dmb" | "dsb" | "isb"),
        Arch::RiscV => name == "fence" || name.starts_with("fence."),
        Arch::Ppc => matches!(&*name, "sync" | "hwsync" | "lwsync" | "isync" | "eieio"),
        Arch::Mips => name == "sync",
        Arch::X86_64 | Arch::X86 => {
            matches!(&*name, "mfence" | "lfence" | "sfence") || is_locked_idle(line)
        }
        Arch::Llvm => name == "fence",
        Arch::Ptx => matches!(name.split('.').next(), Some("fence" | "membar" | "bar" | "barrier")),
        Arch::Spirv => name == "OpMemoryBarrier",
        Arch::C => false,
    }
}

/// Whether an instruction of x86 is a locked one that changes nothing, such as `lock addl $0,(%rsp)`:
/// compilers write it as a full barrier.
fn is_locked_idle(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    let Some(rest) = line.strip_prefix("lock") else { return false };
    let rest = rest.trim_start_matches([';', ' ', '\t']);
    let Some((name, operands)) = rest.split_once(char::is_whitespace) else { return false };
    let zero = |operand: &str| matches!(operand.trim(), "$0" | "$0x0");
    (name.starts_with("add") || name.starts_with("or")) && (operands.split(',').any(zero))
}

/// A compiled part with a barrier before or after its code.
pub fn with_barrier(part: &Test, barrier: &str, before: bool) -> Test {
    let mut out = part.clone();
    let line = Line { labels: Vec::new(), text: barrier.to_string(), span: Span::default() };
    for body in &mut out.threads {
        if let Body::Asm(lines) = body {
            let at = if before { 0 } else { lines.len() };
            lines.insert(at, line.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_instruction_that_changes_nothing_is_a_barrier_of_x86() {
        let is = |line: &str| is_barrier(Arch::X86_64, line);
        for barrier in
            ["mfence", "lock addl $0,(%rsp)", "LOCK OR [ESP],$0", "lock; orq $0x0,-8(%rsp)"]
        {
            assert!(is(barrier), "{barrier}");
        }
        for other in
            ["lock addl $1,(%rdi)", "addl $0,(%rsp)", "lock xaddl %eax,(%rdi)", "movl $0,(%rdi)"]
        {
            assert!(!is(other), "{other}");
        }
        assert!(!is_barrier(Arch::AArch64, "lock addl $0,(%rsp)"));
    }
}
