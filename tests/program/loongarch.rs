//! Compilers for LoongArch, and mappings for it that somebody wrote by hand.

use litmake::toolchain::process;
use litmake_needs::{here, need};

use crate::scratch::Scratch;
use crate::written::judge;

const COHERENCE: &str = "C CoRR
{}
P0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
P1 (atomic_int* x) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)
";

/// gcc 14 puts hint 0x700 behind each relaxed load, since processors may take two loads of one place out of their
/// order; gcc 13 and clang do not. Where the processor keeps the order (LD_SEQ_SA), none is needed.
#[test]
fn relaxed_loads_of_one_place_need_a_hint() {
    let s = Scratch::with(&[("corr.litmus", COHERENCE)]);
    for (compiler, profile, found) in [
        ("loongarch64-linux-gnu-gcc-13", "gcc-13-loongarch64-O2", true),
        ("loongarch64-linux-gnu-gcc-16", "gcc-16-loongarch64-O2", false),
        ("loongarch64-linux-gnu-gcc-16", "gcc-16-loongarch64-la64v1.1-O2", false),
        ("clang-22", "clang-22-loongarch64-O2", true),
        ("clang-22", "clang-22-loongarch64-la64v1.1-O2", false),
    ] {
        if need(compiler, process::find(compiler).ok_or("scripts/newest has it")).is_none() {
            continue;
        }
        let args = ["check", "--investigate", "0", "--profile", profile, "corr.litmus"];
        let (status, text) = s.litmake(&args);
        assert_eq!(status, i32::from(found), "{profile}: {text}");
        let title = "LoongArch: a relaxed load does not order a later relaxed load";
        assert_eq!(text.contains(title), found, "{profile}: {text}");
        // Whose model it is, is said where it is used.
        assert_eq!(text.contains("litmake-loongarch allows what rc11 forbids"), found, "{text}");
    }
}

/// A compare-exchange of 128 bits that fails has loaded both halves apart (clang 22).
#[test]
fn a_wide_compare_exchange_that_fails_is_torn() {
    if !here("clang-22") {
        return;
    }
    let orders = "memory_order_relaxed, memory_order_relaxed";
    let wide = format!(
        "C wide
{{}}
P0 (_Atomic __int128* x) {{
  __int128 r0 = 7;
  int r1 = atomic_compare_exchange_strong_explicit(x, &r0, 9, {orders});
}}
P1 (_Atomic __int128* x) {{
  __int128 e = 0;
  int r2 = atomic_compare_exchange_strong_explicit(x, &e, 0x10000000000000001, {orders});
}}
exists (0:r0=0x10000000000000000)
"
    );
    let s = Scratch::with(&[("wide.litmus", &wide)]);
    for level in ["O0", "O2"] {
        let profile = format!("clang-22-loongarch64-la664-{level}");
        let args = ["check", "--investigate", "0", "--profile", &profile, "wide.litmus"];
        let (status, text) = s.litmake(&args);
        assert_eq!(status, 1, "{text}");
        assert!(text.contains("an atomic load becomes several smaller ones"), "{text}");
    }
}

/// What gcc 14 to 16 write, as a table.
const TABLE: &str = r#"name: mine
compiler: clang-22
args: ["--target=loongarch64-linux-gnu", "-ffreestanding", "-std=c11", "-O2"]
arch: LoongArch
mapping:
  "load relaxed 32": "ld.w {result}, {address}, 0; dbar 0x700"
  "load acquire 32": "ld.w {result}, {address}, 0; dbar 0b10100"
  "load seq_cst 32": "dbar 0b10001; ld.w {result}, {address}, 0; dbar 0b10100"
  "store relaxed 32": "st.w {value}, {address}, 0"
  "store release 32": "dbar 0b10010; st.w {value}, {address}, 0"
  "store seq_cst 32": "dbar 0b10010; st.w {value}, {address}, 0; dbar 0b11000"
  "fence acquire": "dbar 20"
  "fence release": "dbar 18"
  "fence seq_cst": "dbar 16"
  "exchange relaxed 32": "amswap.w {result}, {value}, {address}"
  "exchange acquire|release|acq_rel|seq_cst 32": "amswap_db.w {result}, {value}, {address}"
  '*': refuse
"#;

/// The table is right, and each change of one row is found: a barrier that is gone, or orders less.
#[test]
fn every_weaker_mapping_is_wrong() {
    if !here("clang-22") {
        return;
    }
    let tests = [
        (
            "mp",
            ["store(x,1,R); store(y,1,L);", "int r0=load(y,A); int r1=load(x,R);"],
            "1:r0=1 /\\ 1:r1=0",
        ),
        (
            "lb",
            ["int r0=load(x,R); store(y,1,L);", "int r1=load(y,A); store(x,1,R);"],
            "0:r0=1 /\\ 1:r1=1",
        ),
        (
            "sb",
            ["store(x,1,S); int r0=load(y,S);", "store(y,1,S); int r1=load(x,S);"],
            "0:r0=0 /\\ 1:r1=0",
        ),
        (
            "mps",
            ["store(x,1,R); store(y,1,S);", "int r0=load(y,S); int r1=load(x,R);"],
            "1:r0=1 /\\ 1:r1=0",
        ),
        ("corr", ["store(x,1,R);", "int r0=load(x,R); int r1=load(x,R);"], "1:r0=1 /\\ 1:r1=0"),
        (
            "fences",
            [
                "store(x,1,R); fence(L); store(y,1,R);",
                "int r0=load(y,R); fence(A); int r1=load(x,R);",
            ],
            "1:r0=1 /\\ 1:r1=0",
        ),
        (
            "sbf",
            [
                "store(x,1,R); fence(S); int r0=load(y,R);",
                "store(y,1,R); fence(S); int r1=load(x,R);",
            ],
            "0:r0=0 /\\ 1:r1=0",
        ),
        (
            "swap",
            ["store(x,1,R); int r2=swap(y,1,L);", "int r0=swap(y,2,A); int r1=load(x,R);"],
            "1:r0=1 /\\ 1:r1=0",
        ),
    ];
    let judged = judge(&tests);
    let (status, text) = judged(TABLE);
    assert_eq!(status, 0, "{text}");
    for (row, old, new) in [
        ("load relaxed", "; dbar 0x700", ""),
        ("load acquire", "; dbar 0b10100", ""),
        ("load acquire", "dbar 0b10100", "dbar 0x700"),
        ("load acquire", "dbar 0b10100", "dbar 0b10101"),
        ("load acquire", "dbar 0b10100", "dbar 0b10110"),
        ("load seq_cst", "; dbar 0b10100", ""),
        ("store release", "dbar 0b10010; ", ""),
        ("store release", "dbar 0b10010", "dbar 0b11010"),
        ("store release", "dbar 0b10010", "dbar 0b10110"),
        ("store seq_cst", "dbar 0b10010; ", ""),
        ("fence acquire", "dbar 20", "dbar 22"),
        ("fence release", "dbar 18", "dbar 22"),
        ("fence seq_cst", "dbar 16", "dbar 18"),
        ("exchange acquire", "amswap_db", "amswap"),
    ] {
        let changed: Vec<String> = TABLE
            .lines()
            .map(|line| match line.contains(row) {
                true => line.replacen(old, new, 1),
                false => line.to_string(),
            })
            .collect();
        let changed = changed.join("\n");
        assert_ne!(changed, TABLE.trim_end(), "{row}: {old}");
        let (status, text) = judged(&changed);
        assert_eq!(status, 1, "{row} with `{new}` for `{old}`: {text}");
    }
    // Between a store and a load that are seq_cst, the store's barrier and the load's are one too many.
    let either = |from: &str| TABLE.replace(from, "");
    assert_eq!(judged(&either("; dbar 0b11000")).0, 0);
    assert_eq!(judged(&either("dbar 0b10001; ")).0, 0);
    let (status, text) = judged(&either("; dbar 0b11000").replace("dbar 0b10001; ", ""));
    assert_eq!(status, 1, "{text}");
}
