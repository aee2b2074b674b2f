//! Tables of atomic operations whose rows are functions of a library, from end to end.

use litmake_needs::here;

use crate::scratch::{Scratch, streams};

/// A library with a sequentially consistent store, and one that is a store of the processor alone.
const LIBRARY: &str = "int lib_load(int *p) { return *(volatile int *)p; }
void lib_weak(int *p, int v) { *(volatile int *)p = v; }
void lib_strong(int *p, int v) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
";

fn table(store: &str) -> String {
    format!(
        "name: mine\ncompiler: gcc-12\nargs: [\"-O2\"]\narch: X86_64\nlibraries: [./libmine.a]\nmapping:\n  \
         \"load seq_cst 32\": \"{{result}} = lib_load({{address}})\"\n  \
         \"store seq_cst 32\": \"{store}({{address}}, {{value}})\"\n"
    )
}

#[test]
fn functions_of_a_library_are_judged() {
    if !here("gcc-12") || !here("ar") {
        return;
    }
    let s = Scratch::with(&[("lib.c", LIBRARY), ("weak.yaml", &table("lib_weak"))]);
    s.write("strong.yaml", &table("lib_strong"));
    for (program, args) in [
        ("gcc-12", &["-O2", "-c", "lib.c", "-o", "lib.o"][..]),
        ("ar", &["rc", "libmine.a", "lib.o"][..]),
    ] {
        let (status, _, err) = streams(&mut s.program(program, args));
        assert_eq!(status, 0, "{err}");
    }
    let args = ["--quiet", "--family", "sc-operations", "--alone"];
    let (status, out, err) = s.streams(&[&["mapping", "strong.yaml"], &args[..]].concat());
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.contains("store seq_cst 32") && out.contains("xchg"), "{out}");
    let (status, out, err) = s.streams(&[&["mapping", "weak.yaml"], &args[..]].concat());
    assert_eq!(status, 1, "{out}{err}");
    let (status, _, err) = s.streams(&["mapping", "gcc-12-x86_64-O2"]);
    assert_eq!(status, 2, "{err}");
    assert!(err.contains("has no table"), "{err}");
}
