//! Small random litmus tests, and larger ones, as texts.

use super::exec::Rng;
use std::fmt::Write;

/// How large a random test is.
#[derive(Clone, Copy)]
pub struct Size {
    pub threads: usize,
    /// Accesses a thread.
    pub length: usize,
    pub locations: usize,
    /// Registers that the condition names, at most.
    pub observed: usize,
}

/// The models that judge tests in C.
pub const C_MODELS: [&str; 9] = [
    "rc11",
    "rc11-lb",
    "c11",
    "opencl",
    "sc",
    "wgsl-rel-acq",
    "wgsl-sc-per-loc",
    "vulkan",
    "const-write",
];

const NAMES: [&str; 8] = ["x", "y", "z", "a", "b", "c", "d", "e"];

fn order(rng: &mut Rng, of: &[&str]) -> String {
    format!("memory_order_{}", of[rng.below(of.len())])
}

/// A C test: loads, stores, exchanges and fences of all orders, plain accesses, dependencies,
/// branches.
pub fn c11(rng: &mut Rng, size: Size) -> String {
    let names = &NAMES[..size.locations];
    let plain = |l: usize| size.locations > 2 && l + 1 == size.locations;
    let mut text = "C random\n{}\n".to_string();
    let mut registers = Vec::new();
    for t in 0..size.threads {
        let declare =
            |l: usize| format!("{}* {}", if plain(l) { "int" } else { "atomic_int" }, names[l]);
        let parameters: Vec<String> = (0..size.locations).map(declare).collect();
        let _ = writeln!(text, "P{t} ({}) {{", parameters.join(", "));
        let mut last: Option<usize> = None;
        let mut open = 0;
        for k in 0..size.length {
            let l = rng.below(size.locations);
            let (name, value) = (names[l], 1 + rng.below(2));
            if rng.one_in(6) {
                let o = order(rng, &["acquire", "release", "acq_rel", "seq_cst"]);
                let _ = writeln!(text, "  atomic_thread_fence({o});");
            }
            let value = match last {
                Some(r) if rng.one_in(4) => format!("r{r} + {value}"),
                Some(r) if rng.one_in(8) => format!("r{r}"),
                _ => value.to_string(),
            };
            match rng.below(8) {
                _ if plain(l) && rng.one_in(2) => {
                    let _ = writeln!(text, "  int r{k} = *{name};");
                    last = Some(k);
                }
                _ if plain(l) => {
                    let _ = writeln!(text, "  *{name} = {value};");
                }
                0 => {
                    let o = order(rng, &["relaxed", "acquire", "acq_rel", "seq_cst"]);
                    let what = ["exchange", "fetch_add"][rng.below(2)];
                    let _ = writeln!(
                        text,
                        "  int r{k} = atomic_{what}_explicit({name}, {value}, {o});"
                    );
                    last = Some(k);
                }
                1..=4 => {
                    let o = order(rng, &["relaxed", "acquire", "seq_cst"]);
                    let _ = writeln!(text, "  int r{k} = atomic_load_explicit({name}, {o});");
                    last = Some(k);
                }
                _ => {
                    let o = order(rng, &["relaxed", "release", "seq_cst"]);
                    let _ = writeln!(text, "  atomic_store_explicit({name}, {value}, {o});");
                }
            }
            if last == Some(k) && open == 0 {
                registers.push(format!("{t}:r{k}"));
            }
            if let Some(r) = last
                && k + 1 < size.length
                && rng.one_in(6)
            {
                let _ = writeln!(text, "  if (r{r} == 1) {{");
                open += 1;
                // What the branch declares is not seen after it.
                last = None;
            }
        }
        for _ in 0..=open {
            text.push_str("}\n");
        }
    }
    condition(rng, size, &mut text, &registers, names);
    text
}

/// An AArch64 test: plain, acquire, release, exclusive, atomic and narrower accesses, barriers,
/// address, data and control dependencies.
pub fn aarch64(rng: &mut Rng, size: Size, mixed: bool) -> String {
    let names = &NAMES[..size.locations];
    let mut init = String::new();
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut registers = Vec::new();
    let mut labels = 0;
    for t in 0..size.threads {
        for (l, name) in names.iter().enumerate() {
            let _ = write!(init, "{t}:X{}={name}; ", 20 + l);
        }
        let mut code: Vec<String> = Vec::new();
        let mut last: Option<usize> = None;
        for k in 0..size.length {
            let l = rng.below(size.locations);
            let (addr, value) = (format!("X{}", 20 + l), 1 + rng.below(2));
            match rng.below(10) {
                0 => code.push(["DMB SY", "DMB LD", "DMB ST", "ISB"][rng.below(4)].to_string()),
                1 if last.is_some() && labels < 3 => {
                    code.push(format!("CBNZ W{}, L{labels}", last.unwrap_or(0)));
                    code.push(format!("L{labels}:"));
                    labels += 1;
                }
                _ => {}
            }
            let mut index = String::new();
            if let Some(r) = last
                && rng.one_in(4)
            {
                code.push(format!("EOR W18,W{r},W{r}"));
                index = ",W18,SXTW".to_string();
            }
            let read = match rng.below(12) {
                0..=4 if !index.is_empty() => {
                    code.push(format!("LDR W{k},[{addr}{index}]"));
                    true
                }
                0..=2 => {
                    code.push(format!("LDR W{k},[{addr}]"));
                    true
                }
                3 => {
                    code.push(format!("{} W{k},[{addr}]", ["LDAR", "LDAPR"][rng.below(2)]));
                    true
                }
                4 if mixed => {
                    code.push(format!("{} W{k},[{addr}]", ["LDRB", "LDRH"][rng.below(2)]));
                    true
                }
                5 => {
                    let op = ["SWP", "SWPAL", "LDADDA", "LDADDL"][rng.below(4)];
                    code.push(format!("MOV W19,#{value}"));
                    code.push(format!("{op} W19,W{k},[{addr}]"));
                    true
                }
                6 => {
                    code.push(format!("MOV W19,#{value}"));
                    code.push(format!("LDXR W{k},[{addr}]"));
                    code.push(format!("STXR W17,W19,[{addr}]"));
                    true
                }
                other => {
                    match last {
                        Some(r) if rng.one_in(4) => code.push(format!("ADD W19,W{r},#{value}")),
                        _ => code.push(format!("MOV W19,#{value}")),
                    }
                    let op = match other {
                        7 => "STLR",
                        8 if mixed => ["STRB", "STRH"][rng.below(2)],
                        _ => "STR",
                    };
                    let index = if op == "STR" { index.as_str() } else { "" };
                    code.push(format!("{op} W19,[{addr}{index}]"));
                    false
                }
            };
            if read {
                registers.push(format!("{t}:X{k}"));
                last = Some(k);
            }
        }
        columns.push(code);
    }
    let mut text = format!("AArch64 random\n{{\n{init}\n}}\n");
    let heads: Vec<String> = (0..size.threads).map(|t| format!("P{t}")).collect();
    let _ = writeln!(text, "{} ;", heads.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> =
            columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(text, "{} ;", cells.join(" | "));
    }
    condition(rng, size, &mut text, &registers, names);
    text
}

fn condition(rng: &mut Rng, size: Size, text: &mut String, registers: &[String], names: &[&str]) {
    let mut atoms: Vec<String> = Vec::new();
    for _ in 0..size.observed.min(registers.len()) {
        let r = &registers[rng.below(registers.len())];
        atoms.push(format!("{r}={}", rng.below(3)));
    }
    if rng.one_in(2) {
        atoms.push(format!("[{}]={}", names[rng.below(names.len())], 1 + rng.below(2)));
    }
    if rng.one_in(8) && !registers.is_empty() {
        let _ = writeln!(text, "filter (not ({}=1))", registers[rng.below(registers.len())]);
    }
    let all = if atoms.is_empty() { "true".to_string() } else { atoms.join(" /\\ ") };
    let _ = writeln!(text, "exists ({all})");
}

/// A random relation of depth at most `depth`, in cat; `r` stands for the variable of a
/// recursive definition where `inside` says so.
pub fn relation(rng: &mut Rng, depth: usize, inside: bool) -> String {
    const BASE: [&str; 12] =
        ["po", "po", "rf", "rf", "co", "co", "fr", "fr", "rfe", "po-loc", "loc", "data | ctrl"];
    if depth == 0 {
        return match rng.below(12) {
            0 if inside => "r".to_string(),
            0 => "id".to_string(),
            1 => format!("[{}]", set(rng, 1)),
            _ => format!("({})", BASE[rng.below(BASE.len())]),
        };
    }
    let mut sub = || relation(rng, depth - 1, inside);
    let (a, b) = (sub(), sub());
    // What is taken away may not mention the variable.
    let closed = relation(rng, depth - 1, false);
    match rng.below(14) {
        0..=2 => format!("({a} | {b})"),
        3 => format!("({a} & {b})"),
        4..=6 => format!("({a}; {b})"),
        7..=9 => format!("({a} \\ {closed})"),
        10 => format!("({a})^-1"),
        11 => format!("({a})+"),
        12 => format!("({} * {})", set(rng, 1), set(rng, 1)),
        _ => format!("([{}]; {a})", set(rng, 1)),
    }
}

fn set(rng: &mut Rng, depth: usize) -> String {
    match if depth == 0 { rng.below(5) } else { 3 + rng.below(6) } {
        0 => "R".to_string(),
        1 => "W".to_string(),
        2 => "M".to_string(),
        3 => "IW".to_string(),
        4 => "FW".to_string(),
        5 => format!("(domain ({}))", relation(rng, 1, false)),
        6 => format!("(range ({}))", relation(rng, 1, false)),
        7 => format!("({} \\ {})", set(rng, 0), set(rng, 1)),
        _ => format!("(~{})", set(rng, 1)),
    }
}

/// A random model: some requirements that are not hopeless, and flags of every kind.
pub fn model(rng: &mut Rng) -> String {
    let mut text = "\"Random\"\ninclude \"cos.cat\"\n".to_string();
    if rng.one_in(2) {
        text.push_str("acyclic po-loc | rf | co | fr as coherence\n");
    }
    let _ = writeln!(text, "let rec r = {} | {}", relation(rng, 1, false), relation(rng, 2, true));
    let checks = ["acyclic", "irreflexive", "empty", "~acyclic", "~irreflexive", "~empty"];
    for i in 0..3 {
        let pick = if rng.one_in(3) { checks.len() } else { 3 };
        let shape = checks[rng.below(pick)];
        let rel = if rng.one_in(3) { "r".to_string() } else { relation(rng, 2, false) };
        let rel = if shape == "empty" { format!("({rel}) & rf") } else { rel };
        let _ = writeln!(text, "{shape} {rel} as require{i}");
    }
    for i in 0..4 {
        let shape = checks[rng.below(checks.len())];
        let rel = if rng.one_in(3) { "r".to_string() } else { relation(rng, 2, false) };
        let kind = if i == 3 { "undefined_unless" } else { "flag" };
        let _ = writeln!(text, "{kind} {shape} {rel} as flag{i}");
    }
    text
}
