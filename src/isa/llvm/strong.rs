//! A line of code as strong as any target can make it: each barrier and each ordered access is sequentially consistent.
//!
//! A target's instruction for a barrier may order more than the word that stands for it. What such code still allows, no
//! target's barriers forbid. It does not know models.

/// The orders that become sequentially consistent.
const ORDERS: [&str; 3] = ["acquire", "release", "acq_rel"];

/// The line with the strongest order that each of its operations can have. Relaxed accesses stay relaxed.
pub fn strongest(line: &str) -> String {
    let call = line.trim_start();
    if call.starts_with("call ") && call.contains("@llvm.ppc.cfence") {
        return "fence seq_cst".into();
    }
    if call.starts_with("call ") && call.contains("@llvm.ppc.lwsync") {
        return line.replace("@llvm.ppc.lwsync", "@llvm.ppc.sync");
    }
    let code = call.split_once(" = ").map_or(call, |(_, code)| code);
    let word = code.split(' ').next().unwrap_or_default();
    if !matches!(word, "fence" | "load" | "store" | "atomicrmw" | "cmpxchg") {
        return line.into();
    }
    let raised = |word| if ORDERS.contains(&word) { "seq_cst" } else { word };
    line.split(' ').map(raised).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::strongest;

    #[test]
    fn barriers_and_ordered_accesses_become_sequentially_consistent() {
        for (line, expected) in [
            ("fence acquire", "fence seq_cst"),
            ("%0 = load atomic i32, ptr @y acquire", "%0 = load atomic i32, ptr @y seq_cst"),
            ("store atomic i32 1, ptr @y monotonic", "store atomic i32 1, ptr @y monotonic"),
            (
                "%1 = cmpxchg ptr @x, i32 0, i32 1 acq_rel monotonic",
                "%1 = cmpxchg ptr @x, i32 0, i32 1 seq_cst monotonic",
            ),
            ("call void @llvm.ppc.lwsync()", "call void @llvm.ppc.sync()"),
            ("call void @llvm.ppc.cfence.i32(i32 %0)", "fence seq_cst"),
            ("%0 = add i32 %acquire, 1", "%0 = add i32 %acquire, 1"),
        ] {
            assert_eq!(strongest(line), expected);
        }
    }
}
