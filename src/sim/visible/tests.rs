//! A model cannot tell that events are left out: outcomes are those of the engine that leaves out nothing.

use super::{ARM_FULL, Excepted, PPC_FULL, Private};
use crate::{Engine, Model, Options, Simulator, States};
use litmake_base::diag::Source;
use litmake_cat::{self as cat, LoadOptions};
use litmake_litmus::{self as litmus, Arch};
use litmake_ops::{BARRIERS, TAG_TABLE, Tags, tag};

fn built_in(arch: Arch, name: &str) -> Model {
    let cat = cat::load(name, &LoadOptions::new(arch)).unwrap_or_else(|e| panic!("{e}"));
    Model::load(&cat).unwrap_or_else(|e| panic!("{e}"))
}

/// How many outcomes there are. The reference finds as many.
fn outcomes(text: &str, model: &Model) -> usize {
    let [found, all] = by_both(text, model);
    assert_eq!(found, all, "{text}");
    found.len()
}

/// The outcomes, and those that the reference finds.
fn by_both(text: &str, model: &Model) -> [States; 2] {
    let test = litmus::read(&Source::new("t.litmus", text.to_string()));
    let test = test.unwrap_or_else(|e| panic!("{e}\n{text}"));
    [Engine::Auto, Engine::Exhaustive].map(|engine| {
        let options = Options { engine, ..Options::default() };
        let found = Simulator::default().simulate(&test, model, &options);
        found.unwrap_or_else(|e| panic!("{e}\n{text}")).states
    })
}

/// A fence that orders only reads after it orders a private read, and so what depends on that one.
/// Expected is what herd7 says where both threads can reach `z`.
#[test]
fn what_depends_on_a_private_read_behind_a_fence_is_ordered() {
    let riscv = |fence: &str| {
        format!(
            "RISCV t\n{{ 0:x6=x; 0:x8=y; 1:x6=x; 1:x8=y; 1:x9=z; }}\nP0 | P1 ;\n\
             ori x5,x0,2 | lw x5,0(x8) ;\nsw x5,0(x6) | {fence} ;\nfence.tso | lw x7,0(x9) ;\n\
             ori x7,x0,1 | xor x10,x7,x7 ;\nsw x7,0(x8) | ori x10,x10,1 ;\n | sw x10,0(x6) ;\n\
             locations [x;]\nexists (x=2 /\\ 1:x5=1)\n"
        )
    };
    let model = built_in(Arch::RiscV, "riscv");
    for (fence, states) in [("fence r,r", 3), ("fence rw,r", 3), ("fence w,w", 4)] {
        assert_eq!(outcomes(&riscv(fence), &model), states, "{fence}");
    }
    let mips = |sync: &str| {
        format!(
            "MIPS t\n{{ 0:$6=x; 0:$8=y; 1:$6=x; 1:$8=y; 1:$9=z; }}\nP0 | P1 ;\n\
             ori $5,$0,2 | lw $5,0($8) ;\nsw $5,0($6) | {sync} ;\nsync | lw $7,0($9) ;\n\
             ori $7,$0,1 | xor $10,$7,$7 ;\nsw $7,0($8) | ori $10,$10,1 ;\n | sw $10,0($6) ;\n\
             locations [x;]\nexists (x=2 /\\ 1:$5=1)\n"
        )
    };
    let model = built_in(Arch::Mips, "mips-weak");
    for (sync, states) in [("sync 0x13", 3), ("sync 0x4", 4)] {
        assert_eq!(outcomes(&mips(sync), &model), states, "{sync}");
    }
}

/// Whether a private place is read hangs on a value: writes after it wait for that value. Load
/// buffering, which that forbids in both threads.
#[test]
fn writes_wait_for_the_condition_of_a_private_read() {
    let thread = |from: &str, to: &str| {
        [
            format!("LDR R0,[{from}]"),
            "CMP R0,#0".into(),
            "LDRNE R4,[R3]".into(),
            "MOV R5,#1".into(),
            format!("STR R5,[{to}]"),
        ]
    };
    let rows: String = thread("R1", "R2")
        .iter()
        .zip(thread("R2", "R1"))
        .map(|(a, b)| format!("{a} | {b} ;\n"))
        .collect();
    let text = format!(
        "ARM t\n{{ 0:R1=x; 0:R2=y; 0:R3=p; 1:R1=x; 1:R2=y; 1:R3=q; }}\nP0 | P1 ;\n{rows}\
         exists (0:R0=1 /\\ 1:R0=1)\n"
    );
    assert_eq!(outcomes(&text, &built_in(Arch::Arm, "aarch32")), 3);
}

/// The text of a dialect for the operations of the tests here.
struct Dialect {
    arch: Arch,
    /// Registers with the addresses of two shared places, a private one, and a third shared one.
    bases: [&'static str; 4],
    load: fn(usize, &str) -> String,
    store: fn(usize, &str) -> String,
    set: fn(usize, usize) -> String,
    /// A value that depends on a register, and is 1.
    depend: fn(usize, usize) -> Vec<String>,
    /// A load at an address to which a register with zero is added.
    load_at: fn(usize, &str, usize) -> Vec<String>,
    skip: fn(usize, &str) -> Vec<String>,
    register: fn(usize) -> String,
    fences: &'static [&'static str],
    full: &'static str,
    /// The fence with an annotation.
    fence: fn(&str) -> String,
}

const RISCV: Dialect = Dialect {
    arch: Arch::RiscV,
    bases: ["x6", "x8", "x9", "x11"],
    load: |r, b| format!("lw x{r},0({b})"),
    store: |r, b| format!("sw x{r},0({b})"),
    set: |r, v| format!("ori x{r},x0,{v}"),
    depend: |to, r| vec![format!("xor x{to},x{r},x{r}"), format!("ori x{to},x{to},1")],
    load_at: |r, b, i| vec![format!("add x{i},x{i},{b}"), format!("lw x{r},0(x{i})")],
    skip: |r, label| vec![format!("beq x{r},x0,{label}"), format!("{label}:")],
    register: |r| format!("x{r}"),
    fences: &[
        "fence r,r",
        "fence r,w",
        "fence r,rw",
        "fence w,r",
        "fence w,w",
        "fence w,rw",
        "fence rw,r",
        "fence rw,w",
        "fence rw,rw",
        "fence.tso",
    ],
    full: "fence rw,rw",
    fence: |tag| tag.to_lowercase().replacen('.', " ", 1).replace('.', ","),
};

const MIPS: Dialect = Dialect {
    arch: Arch::Mips,
    bases: ["$6", "$8", "$9", "$11"],
    load: |r, b| format!("lw ${r},0({b})"),
    store: |r, b| format!("sw ${r},0({b})"),
    set: |r, v| format!("ori ${r},$0,{v}"),
    depend: |to, r| vec![format!("xor ${to},${r},${r}"), format!("ori ${to},${to},1")],
    load_at: |r, b, i| vec![format!("addu ${i},${i},{b}"), format!("lw ${r},0(${i})")],
    skip: |r, label| vec![format!("beq ${r},$0,{label}"), format!("{label}:")],
    register: |r| format!("${r}"),
    fences: &["sync", "sync_wmb", "sync_mb", "sync_acquire", "sync_release", "sync_rmb"],
    full: "sync",
    fence: |tag| tag.to_lowercase().replace('.', "_"),
};

const AARCH64: Dialect = Dialect {
    arch: Arch::AArch64,
    bases: ["X16", "X18", "X19", "X20"],
    load: |r, b| format!("LDR W{r},[{b}]"),
    store: |r, b| format!("STR W{r},[{b}]"),
    set: |r, v| format!("MOV W{r},#{v}"),
    depend: |to, r| vec![format!("EOR W{to},W{r},W{r}"), format!("ADD W{to},W{to},#1")],
    load_at: |r, b, i| vec![format!("LDR W{r},[{b},W{i},SXTW]")],
    skip: |r, label| vec![format!("CBZ W{r},{label}"), format!("{label}:")],
    register: |r| format!("X{r}"),
    fences: &["DMB SY", "DMB LD", "DMB ST", "DSB ST", "DSB LD", "ISB"],
    full: "DMB SY",
    fence: |tag| tag.replace('.', " "),
};

const ARM: Dialect = Dialect {
    arch: Arch::Arm,
    bases: ["R0", "R1", "R2", "R9"],
    load: |r, b| format!("LDR R{r},[{b}]"),
    store: |r, b| format!("STR R{r},[{b}]"),
    set: |r, v| format!("MOV R{r},#{v}"),
    depend: |to, r| vec![format!("EOR R{to},R{r},R{r}"), format!("ADD R{to},R{to},#1")],
    load_at: |r, b, i| vec![format!("LDR R{r},[{b},R{i}]")],
    skip: |r, label| vec![format!("CMP R{r},#0"), format!("BEQ {label}"), format!("{label}:")],
    register: |r| format!("R{r}"),
    fences: &["DMB", "DMB ST", "DSB ST", "ISB"],
    full: "DMB",
    fence: |tag| tag.replace('.', " "),
};

const PPC: Dialect = Dialect {
    arch: Arch::Ppc,
    bases: ["r16", "r18", "r19", "r20"],
    load: |r, b| format!("lwz r{r},0({b})"),
    store: |r, b| format!("stw r{r},0({b})"),
    set: |r, v| format!("li r{r},{v}"),
    depend: |to, r| vec![format!("xor r{to},r{r},r{r}"), format!("addi r{to},r{to},1")],
    load_at: |r, b, i| vec![format!("lwzx r{r},r{i},{b}")],
    skip: |r, label| vec![format!("cmpwi r{r},0"), format!("beq {label}"), format!("{label}:")],
    register: |r| format!("r{r}"),
    fences: &["sync", "lwsync", "eieio", "isync"],
    full: "sync",
    fence: str::to_lowercase,
};

/// Numbers from a seed.
struct Seed(u64);

impl Seed {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// A test of two threads: the first has private memory between two shared accesses, and some of the fences; the
/// second orders its accesses by a full fence.
fn random(seed: &mut Seed, dialect: &Dialect, fences: &[&str]) -> String {
    let [x, y, p, z] = dialect.bases;
    let mut code: Vec<String> = Vec::new();
    let reads = seed.below(3) != 0;
    if reads {
        code.push((dialect.load)(3, x));
    } else {
        code.extend([(dialect.set)(4, 2), (dialect.store)(4, x)]);
    }
    // Registers with values, the latest last.
    let mut values = vec![3];
    for _ in 0..1 + seed.below(4) {
        match seed.below(9) {
            0 | 1 => code.push(fences[seed.below(fences.len())].into()),
            2 | 3 => {
                code.push((dialect.load)(5, p));
                values.push(5);
            }
            4 => code.extend([(dialect.set)(4, 1), (dialect.store)(4, p)]),
            5 => {
                let r = values[values.len() - 1];
                code.extend((dialect.depend)(4, r));
                code.push((dialect.store)(4, p));
            }
            6 => {
                code.push((dialect.depend)(4, 3).swap_remove(0));
                code.extend((dialect.load_at)(5, z, 4));
                values.push(5);
            }
            7 => {
                let label = format!("L{}", code.len());
                code.extend((dialect.skip)(values[values.len() - 1], &label));
                code.push(fences[seed.below(fences.len())].into());
            }
            _ => code.push((dialect.store)(values[seed.below(values.len())], p)),
        }
    }
    let latest = values[values.len() - 1];
    let last = match seed.below(5) {
        0 => (dialect.set)(4, 1),
        1 => {
            code.extend((dialect.skip)(latest, "L"));
            (dialect.set)(4, 1)
        }
        _ => {
            let all = (dialect.depend)(4, latest);
            code.extend_from_slice(&all[..1]);
            all[1].clone()
        }
    };
    code.push(last);
    let late = seed.below(4) == 0;
    code.push(if late { (dialect.load)(7, y) } else { (dialect.store)(4, y) });
    let mut other: Vec<String> = Vec::new();
    // The second thread answers each access with one of the other kind, or both write.
    match late {
        true => other.extend([(dialect.set)(4, 2), (dialect.store)(4, y)]),
        false => other.push((dialect.load)(3, y)),
    }
    other.push(dialect.full.into());
    match reads {
        true => other.extend([(dialect.set)(4, 2), (dialect.store)(4, x)]),
        false => other.push((dialect.load)(7, x)),
    }
    let rows = (0..code.len().max(other.len())).map(|i| {
        let cell = |c: &Vec<String>| c.get(i).cloned().unwrap_or_default();
        format!("{} | {} ;\n", cell(&code), cell(&other))
    });
    let (a, b) = ((dialect.register)(3), (dialect.register)(7));
    format!(
        "{} t\n{{ 0:{x}=x; 0:{y}=y; 0:{p}=p; 0:{z}=z; 1:{x}=x; 1:{y}=y; }}\nP0 | P1 ;\n{}\
         locations [x;y;z;0:{a};0:{b};1:{a};1:{b};]\nexists (x=1)\n",
        dialect.arch.name(),
        rows.collect::<String>()
    )
}

struct One(String);

impl cat::load::Files for One {
    fn read(&self, path: &std::path::Path) -> std::io::Result<Option<String>> {
        Ok(path.ends_with("one.cat").then(|| self.0.clone()))
    }
}

fn own(arch: Arch, text: &str) -> Model {
    let (options, files) = (LoadOptions::new(arch), One(text.into()));
    let cat = cat::load::load_with("one.cat", &options, &files);
    Model::load(&cat.unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap_or_else(|e| panic!("{e}"))
}

fn is_left_out(model: &Model, arch: Arch) -> bool {
    model.private(arch) != Private::Events
}

/// Pieces of text, each with the text that replaces it.
type Changes<'a> = &'a [(&'a str, &'a str)];

/// The models that come of one change each.
fn mutants(text: &str, changes: Changes) -> Vec<String> {
    let change = |(from, to): &(&str, &str)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    changes.iter().map(change).collect()
}

fn judged(dialect: &Dialect, models: &[Model], tests: usize) {
    let mut seed = Seed(7);
    for _ in 0..tests {
        let text = random(&mut seed, dialect, dialect.fences);
        for model in models {
            outcomes(&text, model);
        }
    }
}

/// Outcomes under models that somebody changed are the same with private events and without.
#[test]
fn what_is_left_out_is_left_out_of_changed_models_only_where_they_cannot_tell() {
    let riscv = include_str!("../../../models/riscv.cat");
    let mips = include_str!("../../../models/mips-weak.cat")
        .replace("include \"mips-sync.cat\"", &include_str!("../../../models/mips-sync.cat")[12..]);
    let cases: [(&Dialect, &str, Changes); 2] = [
        (
            &RISCV,
            riscv,
            &[
                ("let r12 = (addr | data); [W]; rfi; [R]", "let r12 = 0"),
                ("ordered(R, Fence.r.rw, M)", "ordered(R, Fence.r.rw, R)"),
                ("ordered(M, Fence.rw.rw, M)", "ordered(M, Fence.rw.rw, W)"),
                ("ordered(M, Fence.rw.rw, M)", "ordered(W, Fence.rw.rw, M)"),
                ("ordered(R, Fence.r.w, W)", "ordered(R, Fence.r.w, R)"),
                ("let r11 = ctrl; [W]", "let r11 = ctrl; [R]"),
                ("let r11 = ctrl; [W]", "let r11 = ctrl"),
                ("let r10 = data; [W]", "let r10 = 0"),
                ("let r13 = addr; [M]; po; [W]", "let r13 = [W]; po; [R]"),
                ("let r13 = addr; [M]; po; [W]", "let r13 = [R]; po; [W]; po; [W]"),
                ("let r13 = addr; [M]; po; [W]", "let r13 = po \\ (M * R)"),
                ("let r13 = addr; [M]; po; [W]", "let r13 = [R]; po; [R]; data"),
                ("acyclic co | rf | fr | po-loc as load-value", "acyclic co | rf | po-loc as l"),
                ("let r1 = [M]; po-loc; [W]", "let r1 = [M]; po-loc; [M]"),
                ("empty rmw & (fre; coe) as atomicity", "empty [W]; po-loc; [R] as none"),
                ("empty rmw & (fre; coe) as atomicity", "irreflexive fre; po; rfe; po as cycle"),
            ],
        ),
        (
            &MIPS,
            &mips,
            &[
                ("(addr | data); rfi | sync", "sync"),
                ("ctrl; [W]", "ctrl"),
                ("[M]; fencerel(SYNC.RELEASE); [W]", "[W]; fencerel(SYNC.RELEASE); [M]"),
                ("[R]; fencerel(SYNC.RMB); [R]", "[R]; fencerel(SYNC.RMB); [M]"),
                ("po-loc; [W]\n", "po-loc\n"),
                ("po-loc; [W]\n", "[R]; po; [R]\n"),
            ],
        ),
    ];
    let (mut left_out, mut kept) = (0, 0);
    for (dialect, text, changes) in cases {
        let models: Vec<Model> =
            mutants(text, changes).iter().map(|t| own(dialect.arch, t)).collect();
        let some = models.iter().filter(|m| is_left_out(m, dialect.arch)).count();
        (left_out, kept) = (left_out + some, kept + models.len() - some);
        judged(dialect, &models, 20);
    }
    assert!(left_out > 5 && kept > 3, "left out under {left_out}, kept under {kept}");
}

/// The same under the built-in models.
#[test]
fn built_in_models_cannot_tell_what_is_left_out() {
    let cases: [(&Dialect, &[&str]); 5] = [
        (&RISCV, &["riscv", "sc"]),
        (&MIPS, &["mips", "mips-weak", "sc"]),
        (&AARCH64, &["aarch64", "sc"]),
        (&ARM, &["armv7", "aarch32"]),
        (&PPC, &["ppc"]),
    ];
    for (dialect, names) in cases {
        let models: Vec<Model> = names.iter().map(|n| built_in(dialect.arch, n)).collect();
        for (model, name) in models.iter().zip(names) {
            assert!(is_left_out(model, dialect.arch), "{name}");
        }
        judged(dialect, &models, 150);
    }
}

/// A model whose answer has an exception less loses outcomes, and the tests above are such that it shows: they would
/// find an argument that is wrong.
#[test]
fn each_exception_is_needed() {
    let cases: [(&Dialect, &[&str], &str); 5] = [
        (&RISCV, &["riscv"], ""),
        (&MIPS, &["mips-weak"], ""),
        (&AARCH64, &["aarch64"], ""),
        (&ARM, &["armv7", "aarch32"], "ISB"),
        (&PPC, &["ppc"], "isync"),
    ];
    for (dialect, names, instruction_fence) in cases {
        for name in names {
            let private = built_in(dialect.arch, name).private(dialect.arch);
            let Private::LeftOut(excepted) = private else {
                panic!("{name} needs all events");
            };
            // An answer with less, and the fence of tests that show it.
            let mut less: Vec<(Excepted, String)> = Vec::new();
            // Of full fences the derivation shows nothing.
            let fences = excepted.unless.among(BARRIERS).without(ARM_FULL.with(PPC_FULL));
            for (tag, word, _) in TAG_TABLE.iter().filter(|(tag, ..)| fences.meets(*tag)) {
                let unless = excepted.unless.without(*tag);
                let wrong = Excepted { unless, ..excepted };
                less.push((wrong, (dialect.fence)(word)));
            }
            if excepted.once {
                let wrong = Excepted { once: false, ..excepted };
                less.push((wrong, dialect.full.into()));
            }
            if excepted.addressed {
                let wrong = Excepted { addressed: false, ..excepted };
                less.push((wrong, instruction_fence.into()));
            }
            for (wrong, fence) in less {
                let model = built_in(dialect.arch, name);
                assert!(model.private.set((dialect.arch, Private::LeftOut(wrong))).is_ok());
                let mut seed = Seed(7);
                let found = (0..5000).any(|_| {
                    let text = random(&mut seed, dialect, &[&fence]);
                    let [found, all] = by_both(&text, &model);
                    found != all
                });
                assert!(found, "{name} without the exception of {fence}");
            }
        }
    }
}

/// Every model with coherence forbids reads of later writes.
#[test]
fn coherence_is_found_in_plans() {
    let c = ["rc11", "rc11-lb", "c11", "opencl", "go", "wgsl-sc-per-loc", "wgsl-rel-acq", "vulkan"];
    let mut all: Vec<(Arch, &str)> = c.iter().map(|n| (Arch::C, *n)).collect();
    all.extend([
        (Arch::AArch64, "aarch64"),
        (Arch::AArch64, "sc"),
        (Arch::Arm, "aarch32"),
        (Arch::Arm, "armv7"),
        (Arch::X86_64, "x86tso"),
        (Arch::X86_64, "x86tso-herd2025"),
        (Arch::RiscV, "riscv"),
        (Arch::Ppc, "ppc"),
        (Arch::Mips, "mips"),
        (Arch::Mips, "mips-weak"),
        (Arch::Llvm, "llvm"),
        (Arch::Llvm, "llvm-lb"),
        (Arch::Ptx, "ptx"),
        (Arch::Spirv, "spirv"),
        (Arch::Spirv, "spirv-opencl"),
    ]);
    for (arch, name) in all {
        assert!(!built_in(arch, name).visible(arch).early, "{name}");
    }
    let naked = "\"naked\"\ninclude \"cos.cat\"\nacyclic po | co | fr as none\n";
    assert!(own(Arch::AArch64, naked).visible(Arch::AArch64).early);
}

/// The fences that the derivation excepts, by reasoning: those that order only writes before them, since a private
/// write comes after what its value depends on; and those that order only reads after them, since what depends on a
/// private read comes after it.
#[test]
fn exceptions_are_fences_for_one_kind_of_access() {
    use super::derive::left_out;
    let cases = [
        (Arch::AArch64, "sc", Tags::NONE),
        (Arch::X86_64, "x86tso", Tags::NONE),
        (Arch::X86_64, "x86tso-herd2025", Tags::NONE),
        (Arch::Mips, "mips", Tags::NONE),
        (Arch::Mips, "mips-weak", tag::SYNC_WMB | tag::SYNC_RMB),
        (
            Arch::RiscV,
            "riscv",
            tag::Fence_w_r | tag::Fence_w_w | tag::Fence_w_rw | tag::Fence_r_r | tag::Fence_rw_r,
        ),
    ];
    for (arch, name, unless) in cases {
        let cat = cat::load(name, &LoadOptions::new(arch)).unwrap_or_else(|e| panic!("{e}"));
        let plan = cat::stage::stage(&cat).unwrap_or_else(|e| panic!("{e}"));
        let found = left_out(&plan, arch, Excepted::default(), super::derive::MOST_RUNS);
        assert_eq!(found, Some(Excepted::unless(unless)), "{name}");
    }
}

/// What is known of large models is what is derived from them, without a bound on time.
#[test]
fn what_is_remembered_of_a_model_is_derived_from_it() {
    let (none, addressed) =
        (Excepted::default(), Excepted { addressed: true, ..Excepted::default() });
    for (name, arch, first) in [
        ("aarch64", Arch::AArch64, Excepted::unless(tag::NoRet)),
        ("aarch32", Arch::Arm, none),
        ("armv7", Arch::Arm, addressed),
        ("ppc", Arch::Ppc, Excepted { once: true, ..addressed }),
    ] {
        assert_eq!(derived_at_leisure(name, arch, first), super::derived(name), "{name}");
    }
}

fn derived_at_leisure(name: &str, arch: Arch, first: Excepted) -> Option<Excepted> {
    let model = built_in(arch, name);
    let plan = &model.fast.as_ref().expect("a plan").plan;
    super::derive::left_out(plan, arch, first, 100_000)
}

/// A fence for reads does not see the read of an atomic operation that returns nothing. It sees the private read of a
/// value that comes from there. Expected is what herd7 says.
#[test]
fn what_a_discarded_read_orders_through_private_memory_is_ordered() {
    let test = |private: &str| {
        format!(
            "AArch64 t\n{{ 0:X1=x; 0:X2=p; 0:X3=y; 1:X1=x; 1:X3=y; }}\nP0 | P1 ;\n\
             MOV W0,#1 | MOV W0,#1 ;\nSTADD W0,[X1] | STR W0,[X3] ;\nLDR W4,[X1] | MOV W2,#2 ;\n\
             {private} DMB LD | DMB SY ;\nLDR W6,[X3] | STR W2,[X1] ;\n\
             exists (0:X4=3 /\\ 0:X6=0)\n"
        )
    };
    let model = built_in(Arch::AArch64, "aarch64");
    assert_eq!(outcomes(&test(""), &model), 5);
    let through = test("STR W4,[X2] | ;\nLDR W5,[X2] | ;\n");
    assert_eq!(outcomes(&through, &model), 4);
    let Private::LeftOut(excepted) = model.private(Arch::AArch64) else {
        panic!("all events are needed");
    };
    let wrong = Private::LeftOut(Excepted::unless(excepted.unless.without(tag::NoRet)));
    let model = built_in(Arch::AArch64, "aarch64");
    assert!(model.private.set((Arch::AArch64, wrong)).is_ok());
    assert_eq!(by_both(&through, &model).map(|found| found.len()), [5, 4]);
}
