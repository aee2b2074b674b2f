//! `observe: none`: locals are not kept, and shared locations alone are compared, whether a compiler
//! is given threads by themselves or tests as a whole.

use super::*;

/// Stores 3 where the source stores 2.
const THREE: &str = "#!/bin/sh
test -f test.c && sed -i 's/, 2,/, 3,/' test.c
exec cc \"$@\"
";

/// Drops a load whose value nobody uses.
const DROPS: &str = "#!/bin/sh
test -f test.c && sed -i 's/^.*atomic_load_explicit(z.*$/int b = 0;/' test.c
exec cc \"$@\"
";

const TWO: &str = "C two
{}
P0 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(x, 1, memory_order_seq_cst);
  int a = atomic_exchange_explicit(y, 2, memory_order_relaxed);
  int b = atomic_load_explicit(z, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(y, 1, memory_order_seq_cst);
  atomic_store_explicit(x, 2, memory_order_seq_cst);
  atomic_store_explicit(z, 1, memory_order_seq_cst);
}
exists (x=1 /\\ y=1 /\\ 0:a=0 /\\ 0:b=1)
";

/// Without locals, threads behind pointers (which are compiled by themselves) and tests with variables (which
/// are compiled as a whole).
fn without_locals(compiler: &str, test: &str, storage: &str) -> (Scratch, i32, Value) {
    let s = project(compiler);
    let keys = format!("profile: '${{profile}}', observe: none, storage: {storage} }}");
    s.write("p.yaml", &PIPELINE.replace("profile: '${profile}' }", &keys));
    for name in ["tests/sb.litmus", "tests/mp.litmus"] {
        std::fs::remove_file(s.path(name)).unwrap();
    }
    s.write("tests/two.litmus", test);
    let (status, report) = s.run(&[]);
    (s, status, report)
}

#[test]
fn without_locals_shared_locations_alone_are_compared() {
    for storage in ["pointers", "globals"] {
        for (compiler, found) in [(SOUND, false), (DROPS, false), (THREE, true)] {
            let (_, status, report) = without_locals(compiler, TWO, storage);
            assert_eq!(report["errors"], serde_json::json!([]), "{report:#}");
            assert_eq!(status, i32::from(found), "{storage}: {report:#}");
            let findings = report["findings"].as_array().unwrap();
            assert_eq!(!findings.is_empty(), found, "{report:#}");
            for finding in findings {
                let names = finding["outcomes"].to_string();
                assert!(names.contains("[y]") || names.contains("\"y\""), "{names}");
                assert!(!names.contains("0:a"), "{names}");
            }
        }
    }
}

#[test]
fn a_test_that_shows_only_locals_says_so() {
    let locals = TWO.replace("x=1 /\\ y=1 /\\ ", "");
    for storage in ["pointers", "globals"] {
        let (_, status, report) = without_locals(SOUND, &locals, storage);
        assert_eq!(status, 3, "{report:#}");
        let errors = report["errors"].to_string();
        assert!(errors.contains("name a shared location"), "{errors}");
    }
}

#[test]
fn mixes_of_parts_keep_locals() {
    let s = project(SOUND);
    s.write(
        "p.yaml",
        "name: scratch
stages:
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: parts, split: { from: tests, by: thread } }
  - { name: code, compile: { from: parts, profile: mine-O1, observe: none } }
  - { name: mixes, link: { from: code } }
  - { name: target, simulate: { from: mixes } }
  - { name: compare, compare: { source: source, target: target } }
",
    );
    let (status, text) = s.litmake(&["run", "p.yaml"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("leave out `observe: none`"), "{text}");
}
