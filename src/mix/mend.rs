//! Lists the barriers that could mend a mix, and adds one to the code of a part.
//!
//! It does not know whether a barrier mends anything.

use litmake_base::diag::Span;
use litmake_litmus::{Arch, Body, Line, Test};

/// The barriers of an instruction set, the weaker ones first.
pub fn barriers(arch: Arch) -> &'static [&'static str] {
    litmake_isa::of(arch).map_or(&[], |isa| isa.barriers())
}

/// Whether an instruction is a barrier and nothing else.
pub fn is_barrier(arch: Arch, line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
    litmake_isa::of(arch).is_some_and(|isa| isa.is_barrier(&name, line))
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
