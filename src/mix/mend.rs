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
        Arch::X86_64 | Arch::X86 => matches!(&*name, "mfence" | "lfence" | "sfence"),
        Arch::Llvm => name == "fence",
        Arch::Ptx => matches!(name.split('.').next(), Some("fence" | "membar" | "bar" | "barrier")),
        Arch::Spirv => name == "OpMemoryBarrier",
        Arch::C => false,
    }
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
