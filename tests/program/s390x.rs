//! Compilers for s390x, and mappings for it that somebody wrote by hand.

use litmake_needs::here;

use crate::scratch::Scratch;
use crate::written::judge;

const STORE_BUFFERING: &str = "C SB
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, ORDER);
  int r0 = atomic_load_explicit(y, ORDER);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, ORDER);
  int r1 = atomic_load_explicit(x, ORDER);
}
exists (0:r0=0 /\\ 1:r1=0)
";

/// A load overtakes an earlier store, unless both are sequentially consistent: compilers then write `bcr 14,0` or
/// `bcr 15,0` between them.
#[test]
fn a_store_that_is_seq_cst_serializes() {
    if !here("clang-22") || !here("s390x-linux-gnu-gcc-12") {
        return;
    }
    let test = |order: &str| STORE_BUFFERING.replace("ORDER", &format!("memory_order_{order}"));
    let s = Scratch::with(&[("sc.litmus", &test("seq_cst")), ("rlx.litmus", &test("relaxed"))]);
    for level in ["O0", "O1", "O2", "O3"] {
        for profile in [
            format!("clang-22-s390x-{level}"),
            format!("clang-22-s390x-z14-{level}"),
            format!("gcc-12-s390x-{level}"),
            format!("gcc-12-s390x-z10-{level}"),
        ] {
            let (status, text) = s.litmake(&["compile", "--profile", &profile, "sc.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
            assert_eq!(text.matches("bcr 1").count(), 2, "{profile}: {text}");
            let args = ["check", "--investigate", "0", "--profile", &profile, "sc.litmus"];
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
    s.write(
        "code.litmus",
        &s.litmake(&["compile", "--profile", "gcc-12-s390x-O2", "rlx.litmus"]).1,
    );
    let (_, text) = s.litmake(&["sim", "code.litmus"]);
    assert!(text.contains("States 4") && text.contains("\nOk"), "{text}");
}

/// A mapping as compilers have it.
const TABLE: &str = r#"name: mine
compiler: clang-22
args: ["--target=s390x-linux-gnu", "-ffreestanding", "-std=c11", "-march=z196", "-O2"]
arch: S390x
mapping:
  "load relaxed|acquire|seq_cst 32": "l {result}, 0({address})"
  "store relaxed|release 32": "st {value}, 0({address})"
  "store seq_cst 32": "st {value}, 0({address}); bcr 14, 0"
  "fence acquire|release|acq_rel": ""
  "fence seq_cst": "bcr 15, 0"
  "fetch_add relaxed|acquire|release|acq_rel|seq_cst 32": "laa {result}, {value}, 0({address})"
  '*': refuse
"#;

/// The table is right, and each change of one row is found: a serialization that is gone, an addition that is two steps.
#[test]
fn every_weaker_mapping_is_wrong() {
    if !here("clang-22") {
        return;
    }
    let never = "0:r0=0 /\\ 1:r1=0";
    let tests = [
        ("sb", ["store(x,1,S); int r0=load(y,S);", "store(y,1,S); int r1=load(x,S);"], never),
        (
            "sbf",
            [
                "store(x,1,R); fence(S); int r0=load(y,R);",
                "store(y,1,R); fence(S); int r1=load(x,R);",
            ],
            never,
        ),
        ("add", ["int r0=add(x,1,R);", "int r1=add(x,1,R);"], never),
    ];
    let judged = judge(&tests);
    let (status, text) = judged(TABLE);
    assert_eq!(status, 0, "{text}");
    for (old, new) in [
        ("; bcr 14, 0", ""),
        ("bcr 14, 0", "bcr 13, 0"),
        ("bcr 15, 0", "bcr 0, 0"),
        (
            "laa {result}, {value}, 0({address})",
            "l {result}, 0({address}); lr {temp}, {result}; ar {temp}, {value}; st {temp}, 0({address})",
        ),
    ] {
        let changed = TABLE.replacen(old, new, 1);
        assert_ne!(changed, TABLE, "{old}");
        let (status, text) = judged(&changed);
        assert_eq!(status, 1, "`{new}` for `{old}`: {text}");
    }
}
