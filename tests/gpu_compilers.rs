//! What compilers for GPUs make of C tests, simulated.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::process::{Command, Output};

const MESSAGE: &str = "C MP\n{}\n\
    P0 (atomic_int* x, atomic_int* y) {\n  atomic_store_explicit(x, 1, memory_order_relaxed);\n  \
    atomic_store_explicit(y, 1, memory_order_release);\n}\n\
    P1 (atomic_int* x, atomic_int* y) {\n  int r0 = atomic_load_explicit(y, memory_order_acquire);\n  \
    int r1 = atomic_load_explicit(x, memory_order_relaxed);\n}\nexists (1:r0=1 /\\ 1:r1=0)\n";

/// Runs the program on a test in a folder of its own.
fn litmake(args: &[&str], test: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.litmus"), test).unwrap();
    Command::new(env!("CARGO_BIN_EXE_litmake"))
        .args(args)
        .arg("t.litmus")
        .current_dir(dir.path())
        .env("LITMAKE_CACHE", dir.path().join("cache"))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

fn check(profile: &str, test: &str) -> (Option<i32>, String) {
    let output = litmake(&["check", "--profile", profile, "--investigate", "0"], test);
    (output.status.code(), said(&output))
}

fn are_here(programs: &[&str]) -> bool {
    programs.iter().all(|program| litmake_needs::here(program))
}

#[test]
fn the_translator_and_spirv_opt_keep_orders() {
    if !are_here(&["clang-14", "llvm-spirv-14", "spirv-dis", "spirv-opt"]) {
        return;
    }
    for profile in ["llvm-spirv-14-O2", "spirv-opt-O", "spirv-opt-eliminate-dead-code-aggressive"] {
        let (status, said) = check(profile, MESSAGE);
        assert_eq!(status, Some(0), "{profile}: {said}");
    }
    let output = litmake(&["compile", "--profile", "llvm-spirv-14-O2"], MESSAGE);
    let text = said(&output);
    for part in ["SPIRV MP", "OpAtomicStore", "OpAtomicLoad", "OpMemoryModel Physical64 OpenCL"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    // Without an order the code allows the outcome, so that the checks above can fail.
    let relaxed = MESSAGE.replace("release", "relaxed").replace("acquire", "relaxed");
    let output = litmake(&["compile", "--profile", "llvm-spirv-14-O2"], &relaxed);
    let code = said(&output);
    let simulated = litmake(&["sim", "--model", "spirv-opencl"], &code);
    assert!(said(&simulated).contains("Observation MP Sometimes"), "{}", said(&simulated));
}

/// LLVM's back end of release 22 stores and loads atomics plainly. Later ones do not.
#[test]
fn plain_accesses_for_atomics_are_found() {
    if !are_here(&["clang-22", "spirv-dis"]) {
        return;
    }
    let (status, said) = check("clang-22-spirv-O2", MESSAGE);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("1:r0=1; 1:r1=0;") && said.contains("OpStore %y"), "{said}");
}

#[test]
fn what_opencl_lacks_is_refused_by_name() {
    if !are_here(&["clang-14", "llvm-spirv-14"]) {
        return;
    }
    let narrow = MESSAGE.replace("atomic_int*", "_Atomic int8_t*");
    let (status, said) = check("llvm-spirv-14-O2", &narrow);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("atomics of OpenCL C that have other than 4 or 8 bytes"), "{said}");
}
