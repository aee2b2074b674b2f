//! Small random tests for the dialects whose accesses are one instruction each.

use super::exec::Rng;
use super::random::Size;
use litmake::litmus::Arch;
use std::fmt::Write;

const NAMES: [&str; 3] = ["x", "y", "z"];

/// Loads, stores, fences, atomic instructions and data dependencies, whichever of them the
/// dialect has.
pub fn listing(rng: &mut Rng, arch: Arch, size: Size) -> String {
    let names = &NAMES[..size.locations.min(NAMES.len())];
    let x86 = matches!(arch, Arch::X86 | Arch::X86_64);
    let mut init = String::new();
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut registers = Vec::new();
    for t in 0..size.threads {
        if !x86 {
            for (l, name) in names.iter().enumerate() {
                let _ = write!(init, "{t}:{}={name}; ", register(arch, 8 + l));
            }
        }
        let mut code = Vec::new();
        let mut last = None;
        for k in 0..size.length {
            let l = rng.below(names.len());
            let value = 1 + rng.below(2);
            if rng.one_in(4) {
                let fences = fences(arch);
                code.push(fences[rng.below(fences.len())].to_string());
            }
            let place = match arch {
                Arch::X86 => format!("[{}]", names[l]),
                Arch::X86_64 => format!("({})", names[l]),
                _ => register(arch, 8 + l),
            };
            // Registers 1 to 4 take what is read, 6 is for what is written.
            let (r, w) = (register(arch, 1 + k.min(3)), register(arch, 6));
            let reads = match rng.below(5) {
                0 | 1 => {
                    load(arch, &r, &place, &mut code);
                    true
                }
                2 => exchange(arch, &r, &place, value, &mut code),
                _ => {
                    match last {
                        Some(from) if rng.one_in(3) && !x86 => add(arch, &w, from, &mut code),
                        _ => constant(arch, &w, value, &mut code),
                    }
                    store(arch, &w, &place, value, &mut code);
                    false
                }
            };
            if reads {
                registers.push(format!("{t}:{}", shown(arch, 1 + k.min(3))));
                last = Some(1 + k.min(3));
            }
        }
        columns.push(code);
    }
    let mut text = format!("{} random\n{{\n{init}\n}}\n", arch.name());
    let heads: Vec<String> = (0..size.threads).map(|t| format!("P{t}")).collect();
    let _ = writeln!(text, "{} ;", heads.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> =
            columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(text, "{} ;", cells.join(" | "));
    }
    let mut atoms: Vec<String> = Vec::new();
    for _ in 0..size.observed.min(registers.len()) {
        atoms.push(format!("{}={}", registers[rng.below(registers.len())], rng.below(3)));
    }
    atoms.push(format!("[{}]={}", names[rng.below(names.len())], 1 + rng.below(2)));
    let _ = writeln!(text, "exists ({})", atoms.join(" /\\ "));
    text
}

fn register(arch: Arch, n: usize) -> String {
    match arch {
        Arch::RiscV => format!("x{}", n + 4),
        Arch::Ppc => format!("r{n}"),
        Arch::Mips => format!("${}", n + 2),
        Arch::X86 => ["EAX", "EAX", "EBX", "ECX", "EDX"][n.min(4)].into(),
        Arch::X86_64 => ["%eax", "%eax", "%ebx", "%ecx", "%edx"][n.min(4)].into(),
        _ => format!("R{n}"),
    }
}

/// The name that conditions use.
fn shown(arch: Arch, n: usize) -> String {
    match arch {
        Arch::X86_64 => ["rax", "rax", "rbx", "rcx", "rdx"][n.min(4)].into(),
        _ => register(arch, n),
    }
}

fn fences(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::RiscV => &["fence rw,rw", "fence r,rw", "fence rw,w", "fence w,r", "fence.tso"],
        Arch::Ppc => &["sync", "lwsync", "eieio", "isync"],
        Arch::Mips => &["sync"],
        Arch::X86 => &["MFENCE", "SFENCE", "LFENCE"],
        Arch::X86_64 => &["mfence", "sfence", "lfence"],
        _ => &["DMB", "DSB", "ISB", "DMB ST"],
    }
}

fn load(arch: Arch, r: &str, place: &str, code: &mut Vec<String>) {
    code.push(match arch {
        Arch::RiscV => format!("lw {r},0({place})"),
        Arch::Ppc => format!("lwz {r},0({place})"),
        Arch::Mips => format!("lw {r},0({place})"),
        Arch::X86 => format!("MOV {r},{place}"),
        Arch::X86_64 => format!("movl {place},{r}"),
        _ => format!("LDR {r},[{place}]"),
    });
}

fn constant(arch: Arch, w: &str, value: usize, code: &mut Vec<String>) {
    match arch {
        Arch::RiscV => code.push(format!("ori {w},x0,{value}")),
        Arch::Ppc => code.push(format!("li {w},{value}")),
        Arch::Mips => code.push(format!("li {w},{value}")),
        Arch::X86 | Arch::X86_64 => {}
        _ => code.push(format!("MOV {w},#{value}")),
    }
}

fn add(arch: Arch, w: &str, from: usize, code: &mut Vec<String>) {
    let from = register(arch, from);
    code.push(match arch {
        Arch::RiscV => format!("addi {w},{from},1"),
        Arch::Ppc => format!("addi {w},{from},1"),
        Arch::Mips => format!("addiu {w},{from},1"),
        _ => format!("ADD {w},{from},#1"),
    });
}

fn store(arch: Arch, w: &str, place: &str, value: usize, code: &mut Vec<String>) {
    code.push(match arch {
        Arch::RiscV => format!("sw {w},0({place})"),
        Arch::Ppc => format!("stw {w},0({place})"),
        Arch::Mips => format!("sw {w},0({place})"),
        Arch::X86 => format!("MOV {place},${value}"),
        Arch::X86_64 => format!("movl ${value},{place}"),
        _ => format!("STR {w},[{place}]"),
    });
}

/// An atomic exchange where the dialect has one; else a load. Always reads.
fn exchange(arch: Arch, r: &str, place: &str, value: usize, code: &mut Vec<String>) -> bool {
    match arch {
        Arch::RiscV => {
            constant(arch, "x10", value, code);
            code.push(format!("amoswap.w.aq {r},x10,({place})"));
        }
        Arch::X86_64 => {
            code.push(format!("movl ${value},{r}"));
            code.push(format!("xchgl {r},{place}"));
        }
        Arch::X86 => {
            code.push(format!("MOV {r},${value}"));
            code.push(format!("XCHG {place},{r}"));
        }
        _ => load(arch, r, place, code),
    }
    true
}
