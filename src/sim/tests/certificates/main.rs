//! Certificates: each test gets one that the checker confirms, with the outcomes that the simulator has; and
//! one that was damaged is not confirmed.

#![allow(clippy::print_stdout, reason = "figures are shown where they are asked for (--nocapture)")]

// Files that the tests of the whole program share name crates as it does.
extern crate self as litmake;
use litmake_base::{diag, file, rel};
use litmake_cat as cat;
use litmake_litmus as litmus;
use litmake_ops as ops;
use litmake_sim as sim;

#[path = "../shapes/drawn/mod.rs"]
#[allow(dead_code, reason = "not everything that it draws is used here")]
mod drawn;
#[path = "../../../../tests/common/exec.rs"]
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
mod exec;
#[path = "../../../../tests/common/kernel.rs"]
#[allow(dead_code, reason = "several tests share it, and not each uses all of it")]
mod kernel;

use std::time::{Duration, Instant};

use exec::Rng;
use litmake_certificate::{Confirmed, Wrong, check, prove};
use litmus::{Arch, Test};
use ops::eval::{eval_bin, eval_un};
use ops::{BinOp, UnOp, Val};
use sim::{Model, Options, Simulator};

fn model(name: &str, arch: Arch) -> Model {
    let loaded = cat::load(name, &cat::LoadOptions::new(arch)).unwrap_or_else(|e| panic!("{e}"));
    Model::load(&loaded).unwrap_or_else(|e| panic!("{e}"))
}

const DIALECTS: [Arch; 10] = [
    Arch::C,
    Arch::AArch64,
    Arch::Arm,
    Arch::X86_64,
    Arch::X86,
    Arch::RiscV,
    Arch::Ppc,
    Arch::Mips,
    Arch::LoongArch,
    Arch::Bpf,
];

fn read(text: &str) -> Test {
    let source = diag::Source::new("test.litmus", text.to_string());
    litmus::read(&source).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// The certificate of a test, where it has one: of the same outcomes as the simulator's, and confirmed.
fn certified(test: &Test, model: &Model) -> Result<(String, Confirmed), String> {
    let timeout = Some(Duration::from_secs(20));
    let options = Options { timeout, ..Options::default() };
    let problem = Simulator::default().problem(test, model, &options).map_err(|e| e.message)?;
    let start = Instant::now();
    let late = || timeout.is_some_and(|t| start.elapsed() > t);
    let proved = prove(&problem.lines, &late).map_err(|Wrong(e)| e)?;
    let (mut found, mut outcomes) = (problem.outcomes, proved.outcomes);
    found.sort_unstable();
    outcomes.sort_unstable();
    assert_eq!(problem.undefined, proved.undefined, "{}", proved.text);
    if !problem.undefined {
        assert_eq!(found, outcomes, "{}", proved.text);
    }
    let confirmed = check(&proved.text).unwrap_or_else(|e| panic!("{e}\n{}", proved.text));
    assert_eq!(confirmed.outcomes.len(), outcomes.len());
    Ok((proved.text, confirmed))
}

/// Random tests with the shapes of compiled code. All but a few have a certificate.
#[test]
fn drawn_tests_have_certificates() {
    let count = std::env::var("LITMAKE_CERTIFICATES").map_or(60, |n| n.parse().expect("a number"));
    for arch in DIALECTS {
        let model = model(arch.default_model(), arch);
        let mut good = 0;
        for seed in 0..count {
            let test = read(&drawn::test(&mut Rng::new(seed), arch, false));
            match certified(&test, &model) {
                Ok(_) => good += 1,
                Err(why) => println!("{} {seed}: {why}", arch.name()),
            }
        }
        println!("{}: {good} of {count}", arch.name());
        assert!(good * 10 >= count * 9, "{}: {good} of {count}", arch.name());
    }
}

/// Random tests of a kernel's primitives: locks, sections, annotations, events without a place.
#[test]
fn kernel_tests_have_certificates() {
    let model = kernel::model(true, true);
    let mut rng = Rng::new(5);
    let mut taken = 0;
    for _ in 0..40 {
        let text = kernel::test(&mut rng, 2, 3);
        let (certificate, _) =
            certified(&read(&text), &model).unwrap_or_else(|e| panic!("{e}\n{text}"));
        taken += usize::from(certificate.contains(" looks ") && certificate.contains(" locks "));
    }
    assert!(taken > 10, "{taken}");
}

/// A recursion that takes away what it has so far, as the kernel's model matches the ends of sections. It is decided
/// before the search, or else no certificate is confirmed.
#[test]
fn recursions_that_shrink_are_decided_before_the_search() {
    let text = "sections
include \"cos.cat\"
let rec opens = DMB.LD \\ domain(pairs) and closes = DMB.ST \\ range(pairs)
and ends = opens | closes and inside = [ends]; po; [ends]
and pairs = pairs | (([opens]; po; [closes]) \\ (inside; inside))
acyclic (po; pairs; po) | po-loc | rf | co | fr as kept
";
    let path = std::env::temp_dir().join(format!("sections-{}.cat", std::process::id()));
    file::write(&path, text).expect("a temporary file");
    let model = model(path.to_str().expect("a name"), Arch::AArch64);
    std::fs::remove_file(&path).expect("it is there");
    let test = |[a, b, c, d]: [&str; 4]| {
        read(&format!(
            "AArch64 LB
{{ 0:X1=x; 0:X3=y; 1:X1=y; 1:X3=x; 0:X2=1; 1:X2=1; }}
 P0 | P1 ;
 LDR W0,[X1] | LDR W0,[X1] ;
 {a} | DMB LD ;
 {b} | DMB LD ;
 {c} | DMB ST ;
 {d} | DMB ST ;
 STR W2,[X3] | STR W2,[X3] ;
exists (0:X0=1 /\\ 1:X0=1)
"
        ))
    };
    // What is inside a pair that is matched is not in the way; what is outside keeps no order.
    let (begin, end) = ("DMB LD", "DMB ST");
    for (code, states) in [
        ([begin, begin, end, end], 3),
        ([end, begin, end, begin], 3),
        ([end, end, begin, begin], 4),
    ] {
        let (_, confirmed) = certified(&test(code), &model).expect("a certificate");
        assert_eq!(confirmed.outcomes.len(), states, "{code:?}");
    }
    let searched = "test t\nmodel m\nthread\npath\nstep base rf\nstep base all\nstep var 0 0\n\
                    step minus 1 2\nstep inter 3 0\nstep fix 0 0\nrecursion 4\n\
                    check require is empty 5\n";
    let Err(Wrong(wrong)) = prove(searched, &|| false) else {
        panic!("it is decided by no search")
    };
    assert!(wrong.contains("takes away what a recursion has"), "{wrong}");
}

/// Tests of folders, each under its dialect's default model, where a variable names folders.
#[test]
fn tests_of_folders_have_certificates() {
    let Ok(folders) = std::env::var("LITMAKE_CERTIFY") else { return };
    for folder in folders.split(':') {
        let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder}: {e}"));
        let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "litmus"));
        paths.sort();
        let mut models: Vec<(Arch, Model)> = Vec::new();
        let (mut good, mut bytes, start) = (0, 0, Instant::now());
        for path in &paths {
            let text = file::read_text(path, 1 << 20).expect("a text");
            let test = match litmus::read(&diag::Source::new("test.litmus", text)) {
                Ok(test) => test,
                Err(e) => {
                    println!("{}: {}", path.display(), e.message);
                    continue;
                }
            };
            if !models.iter().any(|(a, _)| *a == test.arch) {
                models.push((test.arch, model(test.arch.default_model(), test.arch)));
            }
            let (_, model) = models.iter().find(|(a, _)| *a == test.arch).expect("it was added");
            match certified(&test, model) {
                Ok((text, _)) => {
                    good += 1;
                    bytes += text.len();
                }
                Err(why) => println!("{}: {why}", path.display()),
            }
        }
        let (all, took) = (paths.len(), start.elapsed().as_secs_f64());
        println!("{folder}: {good} of {all}, {bytes} bytes, {took:.1} s");
    }
}

/// Tests whose certificates are damaged: paths that are not taken, dependencies, coherence, atomic updates,
/// accesses of several sizes, addresses as values, scopes.
fn victims() -> Vec<(Test, Model)> {
    let texts = [
        (
            "x86tso",
            r"X86_64 SB
{ x=0; y=0; }
 P0 | P1 ;
 movl $1,(x) | movl $1,(y) ;
 movl (y),%eax | movl (x),%eax ;
exists (0:rax=0 /\ 1:rax=0)
",
        ),
        (
            "aarch64",
            r"AArch64 MP
{ 0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y; }
 P0 | P1 ;
 MOV W0,#1 | LDR W0,[X3] ;
 STR W0,[X1] | CBNZ W0,L0 ;
 DMB SY | L0: ;
 STR W0,[X3] | LDR W2,[X1] ;
exists (1:X0=1 /\ 1:X2=0)
",
        ),
        (
            "rc11",
            r"C cas
{}
P0 (atomic_int* x, atomic_int* y) {
  int e = 0;
  int r0 = atomic_compare_exchange_strong_explicit(x, &e, 1, memory_order_acq_rel, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r1 = atomic_load_explicit(y, memory_order_acquire);
  atomic_fetch_add_explicit(x, 2, memory_order_release);
}
exists (0:r0=1 /\ 1:r1=1 /\ x=3)
",
        ),
        (
            "ptx",
            r"PTX MP
{ }
 P0 | P1 ;
 st.relaxed.gpu.u32 [x], 1 | ld.relaxed.gpu.u32 r0, [y] ;
 fence.acq_rel.gpu | fence.acq_rel.gpu ;
 st.relaxed.gpu.u32 [y], 1 | ld.relaxed.gpu.u32 r1, [x] ;
scopes: (system (gpu (cta P0) (cta P1)))
exists (1:r0=1 /\ 1:r1=0)
",
        ),
        (
            "ptx",
            r"PTX barrier
{ }
 P0 | P1 ;
 st.weak.u32 [x], 1 | bar.sync 0 ;
 bar.sync 0 | ld.weak.u32 r0, [x] ;
scopes: (system (gpu (cta P0 P1)))
exists (1:r0=0)
",
        ),
        (
            "rc11",
            r"C float
{ x=3; }
P0 (atomic_int* x, atomic_int* y) {
  float f = atomic_load_explicit(x, memory_order_relaxed);
  int r0 = f / 2;
  double d = f * 0.5f;
  if (d < f) atomic_store_explicit(y, 2 * d, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r1 = atomic_load_explicit(y, memory_order_relaxed);
  atomic_store_explicit(x, 7, memory_order_relaxed);
}
exists (0:r0=3 /\ 1:r1=7)
",
        ),
    ];
    let fixed = texts.into_iter().map(|(name, text)| {
        let test = read(text);
        let model = model(name, test.arch);
        (test, model)
    });
    let lock = "C lock
{}
P0 (int *x, spinlock_t *l) { take(l); r0 = get(x); put(x, 1); release(l); }
P1 (int *x, spinlock_t *l) { r1 = is_taken(l); take(l); r2 = get(x); put(x, 2); release(l); }
exists (0:r0=2 /\\ 1:r2=0)
";
    let fixed = fixed.chain([(read(lock), kernel::model(true, true))]);
    let drawn = DIALECTS.into_iter().zip([3, 5, 7, 11, 13, 17, 19, 23, 29]).map(|(arch, seed)| {
        let test = read(&drawn::test(&mut Rng::new(seed), arch, false));
        (test, model(arch.default_model(), arch))
    });
    fixed.chain(drawn).collect()
}

/// The lines before the claim, and those of the claim.
fn parts(text: &str) -> (Vec<String>, Vec<String>) {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let at = lines.iter().position(|l| l == "claim").expect("a claim");
    let claim = lines.split_off(at);
    (lines, claim)
}

fn whole(lines: &[String], claim: &[String]) -> String {
    let all = lines.iter().chain(claim);
    all.map(|l| format!("{l}\n")).collect()
}

/// The line with each of its words left out, doubled, or made another one.
fn damages(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out = Vec::new();
    let with = |at: usize, word: &[&str]| {
        let parts = [&words[..at], word, &words[at + 1..]].concat();
        parts.join(" ")
    };
    for (at, word) in words.iter().enumerate() {
        out.push(with(at, &[]));
        out.push(with(at, &[word, word]));
        out.push(match word.strip_prefix('!') {
            Some(rest) => with(at, &[rest]),
            None => with(at, &[&format!("!{word}")]),
        });
        let turned: Vec<&str> = word.splitn(2, ['<', '>', '=']).collect();
        if let [a, b] = turned[..] {
            let mark = &word[a.len()..word.len() - b.len()];
            out.push(with(at, &[&format!("{b}{mark}{a}")]));
            out.push(with(at, &[&format!("{a}{mark}{}", b.parse::<u64>().map_or(0, |n| n + 1))]));
        }
        if let Ok(n) = word.parse::<u64>() {
            out.push(with(at, &[&(n + 1).to_string()]));
        }
        for kind in ["values", "model", "shows 0", "so"] {
            if at == 0 && ["values", "model", "shows", "so"].contains(word) {
                out.push(with(at, &[kind]));
            }
        }
    }
    out
}

/// A claim cannot be changed: a damaged certificate is rejected, or claims the same and proves it.
#[test]
fn damaged_certificates_are_rejected() {
    let (mut rejected, mut harmless) = (0, 0);
    for (test, model) in victims() {
        let (text, confirmed) =
            certified(&test, &model).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        let (lines, claim) = parts(&text);
        let mut try_one = |claim: &[String], what: &str| match check(&whole(&lines, claim)) {
            Err(_) => rejected += 1,
            Ok(other) => {
                harmless += 1;
                let sorted = |c: &Confirmed| {
                    let mut all = c.outcomes.clone();
                    all.sort();
                    (all, c.undefined)
                };
                assert_eq!(sorted(&other), sorted(&confirmed), "{what}\n{text}");
            }
        };
        // Long certificates are damaged in some places only.
        let step = claim.len().div_ceil(60);
        for at in (0..claim.len()).step_by(step) {
            let line = &claim[at];
            let mut without = claim.clone();
            without.remove(at);
            try_one(&without, line);
            let mut twice = claim.clone();
            twice.insert(at, line.clone());
            try_one(&twice, line);
            let mut turned = claim.clone();
            turned.swap(at, (at + 1) % claim.len());
            try_one(&turned, line);
            for damaged in damages(line).into_iter().filter(|d| d != line) {
                let mut other = claim.clone();
                other[at] = damaged;
                try_one(&other, line);
            }
        }
        // Each line of what is trusted is under the seal.
        for at in 0..lines.len() {
            let mut other = lines.clone();
            other[at].push_str(" 1");
            assert!(check(&whole(&other, &claim)).is_err(), "{}", lines[at]);
            other.remove(at);
            assert!(check(&whole(&other, &claim)).is_err(), "{}", lines[at]);
        }
    }
    println!("{rejected} rejected, {harmless} harmless");
    assert!(rejected > 1000, "{rejected}");
}

/// An outcome that is left out cannot be proved away, whatever is said of the executions that show it.
#[test]
fn an_outcome_that_is_left_out_is_missed() {
    let mut tried = 0;
    for (test, model) in victims() {
        let (text, confirmed) =
            certified(&test, &model).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        let (lines, claim) = parts(&text);
        for gone in 0..confirmed.outcomes.len() {
            for instead in ["values", "model", "shows 0", "so", ""] {
                let first = 1 + 4 * gone;
                let mut kept = claim.clone();
                kept.drain(first..first + 4);
                let renamed = kept.into_iter().filter_map(|line| {
                    let Some(rest) = line.strip_prefix("shows ") else { return Some(line) };
                    let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                    match number.parse::<usize>().expect("a number") {
                        n if n == gone && instead.is_empty() => None,
                        n if n == gone => Some(format!("{instead} {rest}")),
                        n => Some(format!("shows {} {rest}", n - usize::from(n > gone))),
                    }
                });
                let other: Vec<String> = renamed.collect();
                tried += 1;
                assert!(check(&whole(&lines, &other)).is_err(), "{gone} {instead}\n{text}");
            }
        }
    }
    println!("{tried} tried");
    assert!(tried > 100, "{tried}");
}

/// Undefined behaviour is shown by one execution, and by none that has none.
#[test]
fn undefined_behaviour_is_shown() {
    let race = include_str!("../../../../tests/program/controls/racy-data.litmus");
    let overflow = "C overflow
{ x=2147483646; }
P0 (atomic_int* x) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  int r1 = r0 + 1;
}
P1 (atomic_int* x) {
  atomic_store_explicit(x, 2147483647, memory_order_relaxed);
}
exists (0:r1=0)
";
    let rc11 = model("rc11", Arch::C);
    for text in [race, overflow] {
        let (certificate, confirmed) =
            certified(&read(text), &rc11).unwrap_or_else(|e| panic!("{e}"));
        assert!(confirmed.undefined && confirmed.outcomes.is_empty(), "{certificate}");
    }
    // The same of a test without: its executions show nothing undefined.
    let defined = read(&overflow.replace("2147483647", "7"));
    let (certificate, confirmed) = certified(&defined, &rc11).unwrap_or_else(|e| panic!("{e}"));
    assert!(!confirmed.undefined && confirmed.outcomes.len() == 2, "{certificate}");
    let (lines, mut claim) = parts(&certificate);
    claim.truncate(5);
    claim[1] = "undefined".to_string();
    claim.push("end".to_string());
    let wrong = check(&whole(&lines, &claim)).err().expect("it is not undefined");
    assert!(wrong.0.contains("undefined"), "{wrong}");
}

/// The certificate is of this test and no other: making it again gives the same first part.
#[test]
fn a_certificate_can_be_made_again() {
    for (test, model) in victims() {
        let seal =
            || certified(&test, &model).unwrap_or_else(|e| panic!("{}: {e}", test.name)).1.seal;
        assert_eq!(seal(), seal());
    }
}

/// A value as certificates write it.
fn word(v: Val) -> String {
    match v {
        Val::Int(n) => n.to_string(),
        Val::Ptr { loc, off } => format!("@{loc}{off:+}"),
        Val::Code(at) => format!("#{at}"),
    }
}

/// The value of one operation on two values, as a certificate has it.
fn computed(op: &str, width: u8, a: Val, b: Val) -> Option<String> {
    let lines = format!(
        "test t\nmodel m\nobserve 128 0 register 0 v\nvalue constant {}\nvalue constant {}\nvalue {}\n\
         thread\npath\nfinal 0 2\n",
        word(a),
        word(b),
        op.replace("WIDTH", &width.to_string()),
    );
    let proved = prove(&lines, &|| false).ok()?;
    check(&proved.text).unwrap_or_else(|e| panic!("{e}\n{}", proved.text));
    Some(proved.outcomes[0][0].clone())
}

/// The operations that the checker knows.
const TWO: [BinOp; 37] = {
    use BinOp::*;
    [
        Add,
        Sub,
        Mul,
        MulHiU,
        MulHiS,
        DivU,
        RemU,
        DivS,
        RemS,
        And,
        Or,
        Xor,
        Shl,
        Shr,
        Sar,
        Ror,
        Eq,
        Ne,
        LtU,
        LeU,
        LtS,
        LeS,
        MinU,
        MaxU,
        MinS,
        MaxS,
        AddOverflows,
        SubOverflows,
        MulOverflows,
        ShlOverflows,
        FloatAdd,
        FloatSub,
        FloatMul,
        FloatDiv,
        FloatEq,
        FloatLt,
        FloatLe,
    ]
};
const ONE: [UnOp; 19] = {
    use UnOp::*;
    [
        Not,
        Neg,
        SignExt { from: 8 },
        SignExt { from: 32 },
        ZeroExt { from: 8 },
        ZeroExt { from: 64 },
        IsZero,
        Clz,
        ByteSwap,
        BitReverse,
        PopCount,
        FloatFromInt { from: 32, signed: true },
        FloatFromInt { from: 64, signed: false },
        FloatToInt { from: 16, signed: true },
        FloatToInt { from: 32, signed: false },
        FloatToInt { from: 64, signed: true },
        FloatResize { from: 16 },
        FloatResize { from: 32 },
        FloatResize { from: 64 },
    ]
};

/// Numbers, addresses and code that operations are tried on.
fn operands() -> Vec<Val> {
    let small = [0, 1, 2, 3, 7, 8, 15, 31, 32, 63, 64, 127, 128, 255];
    let large = [
        u8::MAX.into(),
        i32::MAX as u128,
        u32::MAX.into(),
        1 << 31,
        1 << 63,
        u64::MAX.into(),
        u128::MAX,
    ];
    // In floating point: numbers about 1, 2/3, the greatest, the least, infinity, and none.
    let float = [
        0x3c00,
        0x3955,
        0x7bff,
        0x8001,
        0xfc00,
        0x3f80_0001,
        0x3f2a_aaab,
        0x477f_efff,
        0x477f_f000,
        0x7f7f_ffff,
        0xff80_0000,
        0x7fc0_0000,
        0x3f00_1000_0000_0000,
        0x3e70_0000_0000_0000,
        0x40ef_fdff_ffff_ffff,
        0x47ef_ffff_f000_0000,
        0xbfe5_5555_5555_5555,
        0x7ff8_0000_0000_0000,
    ];
    let small = small.into_iter().chain(float);
    let numbers = small.chain(large).map(Val::Int);
    let addresses = [(0, 0), (0, 4), (1, 0), (1, -8)].map(|(loc, off)| Val::Ptr { loc, off });
    numbers.chain(addresses).chain([Val::Code(3)]).collect()
}

/// The checker's arithmetic is its own. That of the micro-ops, which is tested against Rust's, agrees.
#[test]
fn arithmetic_is_that_of_micro_ops() {
    let values = operands();
    for width in [8, 16, 32, 64, 128] {
        for a in &values {
            for op in ONE {
                let (name, from) = sim::certify::one_operand(op);
                let own = computed(&format!("one {name} WIDTH 0 {from}"), width, *a, *a);
                assert_eq!(own, eval_un(op, *a, width).map(word), "{op:?} {width} {a:?}");
            }
            for (b, op) in values.iter().flat_map(|b| TWO.map(|op| (b, op))) {
                let own = computed(&format!("two {op:?} WIDTH 0 1"), width, *a, *b);
                let wanted = eval_bin(op, *a, *b, width);
                assert_eq!(own, wanted.map(word), "{op:?} {width} {a:?} {b:?}");
            }
        }
    }
}
