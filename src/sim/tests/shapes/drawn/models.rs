//! Random cat models as somebody might try them out: unions of fences, dependencies and communication,
//! restricted to kinds of events, as requirements and flags.

use crate::exec::Rng;
use litmake::litmus::Arch;
use std::fmt::Write;

fn fences(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::AArch64 => &["DMB.SY", "DMB.LD", "DMB.ST", "DMB.ISH", "ISB", "F"],
        Arch::Arm => &["DMB", "DMB.ST", "DSB", "ISB", "F"],
        Arch::X86 | Arch::X86_64 => &["MFENCE", "SFENCE", "LFENCE", "F"],
        Arch::RiscV => &["Fence.rw.rw", "Fence.r.r", "Fence.r.rw", "Fence.w.w", "Fence.tso", "F"],
        Arch::Ppc => &["SYNC", "LWSYNC", "EIEIO", "ISYNC", "F"],
        Arch::Mips => &["SYNC", "F"],
        Arch::LoongArch => &["DBAR.rw.rw", "DBAR.r.rw", "DBAR.w.w", "DBAR.same", "DB", "F"],
        Arch::Bpf => &["SC", "AQ", "RL", "X"],
        _ => &["ACQ", "REL", "SC", "F"],
    }
}

fn set(rng: &mut Rng, arch: Arch) -> String {
    let all = ["R", "W", "M", "_", "IW", "R & X", "W & X", "RMW | F"];
    let more: &[&str] = match arch {
        Arch::AArch64 => &["A", "L", "Q"],
        Arch::RiscV => &["Acq", "Rel"],
        Arch::Bpf => &["AQ", "RL", "SC"],
        Arch::C => &["ACQ", "REL", "SC", "RLX", "NA"],
        _ => &["R"],
    };
    match rng.below(3) {
        0 => more[rng.below(more.len())].to_string(),
        1 => all[rng.below(3)].to_string(),
        _ => format!("({})", all[rng.below(all.len() - 1)]),
    }
}

/// A relation that program order contains, or that is in an instruction.
fn local(rng: &mut Rng, arch: Arch) -> String {
    let fence = fences(arch)[rng.below(fences(arch).len())];
    match rng.below(11) {
        0 | 1 => format!("(po; [{fence}]; po)"),
        2 => format!("([{}]; po; [{fence}]; po; [{}])", set(rng, arch), set(rng, arch)),
        3 => "addr".to_string(),
        4 => "data".to_string(),
        5 => format!("(ctrl; [{}])", set(rng, arch)),
        6 => format!("([{}]; po; [{}])", set(rng, arch), set(rng, arch)),
        7 => format!("([{}]; po-loc; [{}])", set(rng, arch), set(rng, arch)),
        8 => format!("(addr; po; [{}])", set(rng, arch)),
        9 => "rmw".to_string(),
        _ => "((addr | data); rfi)".to_string(),
    }
}

fn across(rng: &mut Rng) -> &'static str {
    ["rfe", "rfe", "fre", "coe", "rf", "fr", "co", "(rf; rmw)"][rng.below(8)]
}

/// Some relation; `inside` a recursive definition it may use the variable.
fn any(rng: &mut Rng, arch: Arch, depth: usize, inside: bool) -> String {
    if depth == 0 {
        return match rng.below(7) {
            0 if inside => "r".to_string(),
            0..=3 => local(rng, arch),
            4 => "po".to_string(),
            _ => across(rng).to_string(),
        };
    }
    let a = any(rng, arch, depth - 1, inside);
    let b = any(rng, arch, depth - 1, inside);
    match rng.below(8) {
        0..=2 => format!("({a} | {b})"),
        3 | 4 => format!("({a}; {b})"),
        5 => format!("({a} & {b})"),
        // The relation that is taken away may not mention the variable.
        6 => format!("({a} \\ {})", any(rng, arch, depth - 1, false)),
        _ => format!("([{}]; {a})", set(rng, arch)),
    }
}

pub fn model(rng: &mut Rng, arch: Arch) -> String {
    let mut text = "\"Random\"\ninclude \"cos.cat\"\n".to_string();
    if !rng.one_in(4) {
        text.push_str("acyclic po-loc | rf | co | fr as coherence\n");
    }
    if rng.one_in(2) {
        text.push_str("empty rmw & (fre; coe) as atomic\n");
    }
    let parts: Vec<String> = (0..1 + rng.below(3)).map(|_| local(rng, arch)).collect();
    let _ = writeln!(text, "let ppo = {}", parts.join(" | "));
    let depth = 1 + rng.below(2);
    let _ = writeln!(text, "let rec r = ppo | {}", any(rng, arch, depth, true));
    let com = ["rfe | fre | coe", "rf | fr | co", "rfe", "rfe | co"][rng.below(4)];
    let order = ["ppo", "r"][rng.below(2)];
    let _ = writeln!(text, "acyclic {order} | {com} as order");
    if rng.one_in(3) {
        let shape = ["irreflexive", "acyclic"][rng.below(2)];
        let _ = writeln!(text, "{shape} {} as other", any(rng, arch, 1, false));
    }
    if rng.one_in(6) {
        // A requirement that few tests meet.
        let _ = writeln!(text, "empty [{}]; {} as none", set(rng, arch), local(rng, arch));
    }
    for i in 0..1 + rng.below(3) {
        let shape = ["~empty", "empty", "~acyclic", "~irreflexive"][rng.below(4)];
        let what = match rng.below(3) {
            0 => format!("[{}]; {}", set(rng, arch), local(rng, arch)),
            1 => any(rng, arch, 1, false),
            _ => "r".to_string(),
        };
        let _ = writeln!(text, "flag {shape} ({what}) as flag{i}");
    }
    text
}
