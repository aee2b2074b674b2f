//! Lifting with real compilers, where bytes, libraries and memory that cannot be written matter.
//! What the machine has no compiler for is left out, and said.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::path::PathBuf;
use std::process::Command;

use litmake::mix::By;
use litmake_needs::{here, holds};

#[path = "common/mixes.rs"]
mod mixes;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Exit status, and what it printed.
    fn litmake(&self, args: &[&str]) -> (i32, String) {
        let out = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_litmake")))
            .args(args)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = [out.stdout, out.stderr].concat();
        (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }
}

/// Stores 7 and takes it out again.
const EXCHANGE: &str = "C exchange
{}
P0 (_Atomic __int128* x) {
  atomic_store_explicit(x, 7, memory_order_seq_cst);
  __int128 a = atomic_exchange_explicit(x, 9, memory_order_seq_cst);
}
exists (not (0:a=7))
";

const LOAD: &str = "C load
{ x = 7; }
P0 (_Atomic __int128* x) { __int128 a = atomic_load_explicit(x, memory_order_seq_cst); }
exists (not (0:a=7))
";

const COUNT: &str = "C count
{}
P0 (_Atomic __int128* x) { __int128 a = atomic_fetch_add_explicit(x, 1, memory_order_seq_cst); }
P1 (_Atomic __int128* x) { __int128 a = atomic_fetch_add_explicit(x, 1, memory_order_seq_cst); }
exists (x=1)
";

#[test]
fn swapped_halves_come_out_swapped() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    s.write("exchange.litmus", EXCHANGE);
    s.write("load.litmus", LOAD);
    for (profile, test, status) in [
        // The store is the wrong way round, the exchange is not.
        ("clang-16-aarch64be-armv8.4-a-O2", "exchange.litmus", 1),
        // All is the wrong way round, but for what is there at the start.
        ("clang-16-aarch64be-armv8-a-O2", "exchange.litmus", 0),
        ("clang-16-aarch64be-armv8-a-O2", "load.litmus", 1),
        ("clang-16-aarch64-armv8.4-a-O2", "exchange.litmus", 0),
        ("clang-16-aarch64-armv8.4-a-O2", "load.litmus", 0),
    ] {
        let (found, text) = s.litmake(&["check", "--profile", profile, test]);
        assert_eq!(found, status, "{profile}, {test}: {text}");
    }
}

/// Store buffering of variables that clang would lay out as one, and find from one address.
const MERGED: &str = "C merged
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int a = atomic_load_explicit(y, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int a = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:a=0 /\\ 1:a=0)
";

#[test]
fn a_compiler_is_what_it_says_and_not_what_it_is_called() {
    use std::os::unix::fs::PermissionsExt;
    let s = Scratch::new();
    s.write("t.litmus", MERGED);
    let compiled = |compiler: &str, arch: &str, args: &str| {
        let text = format!("name: p\ncompiler: {compiler}\nargs: [{args}]\narch: {arch}\n");
        s.write("p.yaml", &text);
        s.litmake(&["compile", "--profile", "p.yaml", "--storage", "globals", "t.litmus"])
    };
    // Under a name of the other kind, each gives what it gives under its own.
    for (own, wrapper, arch, args) in [
        ("gcc-12", "gnu-clang", "X86_64", "'-O2'"),
        ("clang-16", "gcc", "ARM", "'--target=arm-linux-gnueabihf', '-ffreestanding', '-O3'"),
    ] {
        if !here(own) {
            continue;
        }
        s.write(wrapper, &format!("#!/bin/sh\nexec {own} \"$@\"\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(s.0.path().join(wrapper), mode).unwrap();
        let (status, text) = compiled(own, arch, args);
        assert_eq!(status, 0, "{text}");
        assert_eq!(compiled(&format!("./{wrapper}"), arch, args), (0, text));
    }
}

#[test]
fn parts_of_big_endian_values_are_mirrored() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    s.write(
        "parts.litmus",
        "C parts\n{ x = 0x1122334455667788; }\n\
         P0 (atomic_ullong* x) { unsigned long long a = *x; int b = a >> 32; short c = a; }\n\
         locations [0:a; 0:b; 0:c;]\nexists (true)\n",
    );
    for target in ["aarch64be-armv8-a", "mips64", "aarch64", "mips64el"] {
        for level in ["O0", "O2"] {
            let profile = format!("clang-16-{target}-{level}");
            let (status, text) = s.litmake(&["check", "--profile", &profile, "parts.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

#[test]
fn a_lock_excludes_those_who_take_it() {
    if !here("gcc-12") || !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    s.write("count.litmus", COUNT);
    let (locked, inline) = ("gcc-12-x86_64-O2", "clang-16-x86_64-x86-64-v2-O2");
    let (status, text) = s.litmake(&["compile", "--profile", locked, "count.litmus"]);
    assert!(status == 0 && text.contains("libat_lock_x") && text.contains("Locks="), "{text}");
    let (status, text) = s.litmake(&["check", "--profile", locked, "count.litmus"]);
    assert_eq!(status, 0, "{text}");
    let clash = |locked: &str| {
        let both = ["--profile", locked, "--profile", inline];
        s.litmake(
            &[&["check", "--split", "thread", "--json"][..], &both, &["count.litmus"]].concat(),
        )
    };
    // One program runs on one machine: where the inline code runs, the library does not lock.
    let (status, text) = clash(locked);
    assert_eq!(status, 0, "{text}");
    // A library that never asks what the machine has locks there too.
    s.write(
        "locks.yaml",
        "name: locks\nextends: gcc-12-x86_64-O2\nruntime: { __libat_feat1: 1 }\n",
    );
    let (status, text) = clash("./locks.yaml");
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("\"class\": \"mixing\""), "{text}");
    // With the instruction in the processor, the library uses it too.
    let (status, text) =
        s.litmake(&["compile", "--profile", "gcc-12-x86_64-cx16-O2", "count.litmus"]);
    assert!(status == 0 && text.contains("cmpxchg16b") && !text.contains("lock_x"), "{text}");
}

#[test]
fn loads_that_write_are_crashes_where_nobody_else_writes() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    s.write("load.litmus", LOAD);
    s.write("const.litmus", &LOAD.replace("_Atomic", "const _Atomic"));
    s.write("exchange.litmus", EXCHANGE);
    for (profile, writes) in [
        ("clang-16-x86_64-cx16-O2", true),
        ("clang-16-aarch64-armv8-a-O2", true),
        ("clang-16-aarch64-armv8.4-a-O2", false),
    ] {
        for test in ["load.litmus", "const.litmus"] {
            let (status, text) = s.litmake(&["check", "--json", "--profile", profile, test]);
            assert_eq!(status == 1, writes, "{profile}, {test}: {text}");
            assert_eq!(text.contains("\"class\": \"runtime-crash\""), writes, "{profile}: {text}");
        }
        let (status, text) = s.litmake(&["check", "--profile", profile, "exchange.litmus"]);
        assert_eq!(status, 0, "{profile}: {text}");
    }
}

#[test]
fn arm_has_more_locations_than_registers() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    s.write(
        "many.litmus",
        "C many\n{}\n\
         P0(volatile long long *z, volatile long long *y, volatile long long *b, volatile long long *a) {\n\
           long long r0 = *y;\n  if (r0 == 1) {\n    long long r1 = *z;\n    long long r2 = *a;\n\
             if (r2 == 0) {\n      *b = 1;\n    }\n  }\n}\n\
         P1(volatile long long *y) { *y = 1; }\n\
         exists (0:r0=1 /\\ 0:r1=0 /\\ 0:r2=0)\n",
    );
    for level in ["O0", "O2"] {
        let profile = format!("clang-16-armv7-{level}");
        let (status, text) = s.litmake(&["compile", "--profile", &profile, "many.litmus"]);
        assert!(status == 0 && text.contains("0:SP=P0_pool"), "{profile}: {text}");
        s.write("lifted.litmus", &text);
        let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
        assert!(status == 0 && text.contains("Observation many Sometimes"), "{profile}: {text}");
    }
}

#[test]
fn what_crashes_when_it_is_run_is_said() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    s.write("load.litmus", LOAD);
    s.write("exchange.litmus", EXCHANGE);
    let run = ["check", "--run", "--json", "--profile", "clang-16-x86_64-cx16-O2"];
    let (status, text) = s.litmake(&[&run[..], &["load.litmus"]].concat());
    assert!(status == 1 && text.contains("\"signal\": 11"), "{text}");
    let (status, text) = s.litmake(&[&run[..], &["exchange.litmus"]].concat());
    assert!(status == 0 && !text.contains("\"signal\""), "{text}");
    // Parts of a test are not run.
    let (status, text) = s.litmake(&[&run[..], &["--split", "thread", "load.litmus"]].concat());
    assert!(status == 2 && text.contains("leave --split out"), "{text}");
}

#[test]
fn calls_and_returns_under_a_condition_keep_it() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{}
P0 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  if (r0 == 1) {
    atomic_store_explicit(y, 1, memory_order_relaxed);
  }
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r1 = atomic_load_explicit(y, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r1=1)
",
    );
    // Arm calls the function that stores, and returns, under a condition.
    for profile in ["clang-16-armv8-O2", "clang-16-armv7-O2", "clang-16-thumb-O2"] {
        let args = ["check", "--storage", "statics", "--helpers", "--profile", profile, "t.litmus"];
        let (status, text) = s.litmake(&args);
        assert_eq!(status, 0, "{profile}: {text}");
    }
}

/// A store of 2, beside a read-modify-write of another variable of 16 bits.
const NARROW: &str = "C narrow
{}
P0 (_Atomic int16_t* x, _Atomic int16_t* y) {
  int16_t r0 = atomic_fetch_xor_explicit(x, 1, memory_order_acq_rel);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (_Atomic int16_t* x, _Atomic int16_t* y) {
  atomic_store_explicit(y, 2, memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  int16_t r0 = atomic_load_explicit(x, memory_order_acquire);
}
exists (y=2 /\\ 1:r0=0)
";

#[test]
fn variables_side_by_side_are_told_apart() {
    let s = Scratch::new();
    s.write("narrow.litmus", NARROW);
    // These access the word in which a variable lies.
    for (compiler, profile) in [
        ("riscv64-linux-gnu-gcc-12", "gcc-12-riscv64-O2"),
        ("mips64el-linux-gnuabi64-gcc-12", "gcc-12-mips64el-O2"),
        ("clang-16", "clang-16-mips64el-O2"),
        ("clang-22", "clang-22-riscv64-O2"),
    ] {
        if !here(compiler) {
            continue;
        }
        for storage in ["globals", "statics"] {
            let args = ["check", "--storage", storage, "--profile", profile, "narrow.litmus"];
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}, {storage}: {text}");
        }
    }
}

/// However many tests are in one unit, each small array begins at a word of its own.
#[test]
fn small_arrays_side_by_side_are_told_apart() {
    let s = Scratch::new();
    for (name, ty) in [("a", "uint8_t"), ("b", "int16_t")] {
        let text = format!(
            "C {name}
{{ _Atomic {ty} s[2]; }}
P0 (_Atomic {ty}* s) {{ {ty} r0 = atomic_fetch_add_explicit(s + 1, 1, memory_order_seq_cst); }}
P1 (_Atomic {ty}* s) {{ atomic_store_explicit(s, 1, memory_order_seq_cst); }}
exists (s[0]=1 /\\ s[1]=1 /\\ 0:r0=0)
"
        );
        s.write(&format!("{name}.litmus"), &text);
    }
    for (compiler, profile) in [
        ("riscv64-linux-gnu-gcc-12", "gcc-12-riscv64-O2"),
        ("clang-19", "clang-19-riscv64-O2"),
        ("clang-19", "clang-19-mips64el-O2"),
    ] {
        if !here(compiler) {
            continue;
        }
        s.write(
            "p.yaml",
            &format!(
                "stages:
  - {{ name: tests, generate: {{ files: [a.litmus, b.litmus] }} }}
  - {{ name: source, simulate: {{ from: tests, model: rc11 }} }}
  - {{ name: code, compile: {{ from: tests, profile: {profile}, storage: statics }} }}
  - {{ name: target, simulate: {{ from: code }} }}
  - {{ name: compare, compare: {{ source: source, target: target }} }}
"
            ),
        );
        // One worker compiles both in one unit.
        let (status, text) = s.litmake(&["run", "p.yaml", "--jobs", "1"]);
        assert_eq!(status, 0, "{profile}: {text}");
    }
}

#[test]
fn an_address_of_the_stack_is_never_stored_as_a_value() {
    if !here("arm-linux-gnueabihf-gcc-12") {
        return;
    }
    let s = Scratch::new();
    // The register of the result holds the address of `r1` where the exchange is not tried.
    s.write(
        "weak.litmus",
        "C weak
{}
P0 (_Atomic uint16_t* x) { atomic_store_explicit(x, 2, memory_order_seq_cst); }
P1 (_Atomic uint16_t* x) {
  uint16_t r1 = 0;
  int r2 = atomic_compare_exchange_weak_explicit(x, &r1, 1, memory_order_release, memory_order_acquire);
}
exists (x=2 /\\ 1:r2=1)
",
    );
    s.write(
        "pic.yaml",
        "name: pic-${version}-${level}
extends: gcc-armv7
matrix: { version: [12], level: [O2] }
args: [-fPIC]
",
    );
    let args =
        ["check", "--storage", "globals", "--helpers", "--profile", "./pic.yaml", "weak.litmus"];
    let (status, text) = s.litmake(&args);
    assert!(status == 0 || status == 3 && text.contains("an address on the stack"), "{text}");
}

/// The condition fails on one of the ways to it, and the address is known where it holds.
#[test]
fn what_holds_under_a_condition_is_known_on_every_way_to_it() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{}
P0 (int* y, atomic_int* x) {
  int r0 = 1;
  int r1 = atomic_compare_exchange_strong_explicit(x, &r0, 1, memory_order_relaxed, memory_order_seq_cst);
  if (r1 == 1) {
    *y = 1;
  }
}
P1 (int* y, atomic_int* x) {
  int r0 = *y;
  atomic_store_explicit(x, 1, memory_order_seq_cst);
}
exists (0:r1=1 /\\ 1:r0=1)
",
    );
    for (compiler, profile) in
        [("clang-16", "clang-16-armv7-O2"), ("clang-19", "clang-19-armv7-O2")]
    {
        if here(compiler) {
            let args =
                ["check", "--storage", "statics", "--helpers", "--profile", profile, "t.litmus"];
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

/// Linkers write what saves and restores registers where Power's code is to be small.
#[test]
fn functions_that_linkers_write_are_followed() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{}
void h0(atomic_int *p, int v) { atomic_store_explicit(p, v, memory_order_release); }
int h1(atomic_int *p) { return atomic_load_explicit(p, memory_order_acquire); }
P0 (atomic_int* y, atomic_int* x) { h0(x, 1); h0(y, 1); int r0 = h1(x); }
P1 (atomic_int* y, atomic_int* x) { int r0 = h1(y); int r1 = h1(x); }
exists (1:r0=1 /\\ 1:r1=0)
",
    );
    if here("powerpc64le-linux-gnu-gcc-12") {
        let (status, text) = s.litmake(&["check", "--profile", "gcc-12-ppc64le-Os", "t.litmus"]);
        assert_eq!(status, 0, "{text}");
    }
}

/// Power's loads and stores with update move the register of their address, which is not the one that a test
/// has a location in.
#[test]
fn an_access_that_moves_its_address_leaves_the_location_where_it_is() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{ int x[4]; }
int8_t get(int8_t *p) { return *p; }
void put(int8_t *p, int8_t w) { *p = w; }
P0 (int *x) {
  int r0 = get((int8_t *)(x + 1));
  put((int8_t *)(x + 1), 1);
}
locations [0:r0;]
exists (0:r0=0 /\\ x[1]=0)
",
    );
    if here("powerpc64le-linux-gnu-gcc-12") {
        let profile = ["--profile", "gcc-12-ppc64le-O2", "t.litmus"];
        let (status, text) = s.litmake(&["check", profile[0], profile[1], profile[2]]);
        assert_eq!(status, 0, "{text}");
        let (status, text) = s.litmake(&["compile", profile[0], profile[1], profile[2]]);
        assert_eq!(status, 0, "{text}");
        assert!(!text.contains("lbzu"), "{text}");
    }
}

/// `or $-1` makes a number of what the register held: here an argument, the address of `x`.
#[test]
fn a_register_filled_with_ones_is_not_what_it_was() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{}
int h0(atomic_int *p, int v) {
  return atomic_fetch_sub_explicit(p, v, memory_order_relaxed);
}
P0 (atomic_int* y, atomic_int* x) {
  int r0 = h0(y, -1);
  atomic_thread_fence(memory_order_seq_cst);
  int r1 = atomic_load_explicit(x, memory_order_seq_cst);
}
P1 (atomic_int* y, atomic_int* x) {
  atomic_store_explicit(x, 1, memory_order_seq_cst);
  atomic_thread_fence(memory_order_seq_cst);
  int r0 = atomic_load_explicit(y, memory_order_seq_cst);
}
exists (0:r1=0 /\\ 1:r0=0)
",
    );
    for profile in ["gcc-12-x86_64-Os", "gcc-12-x86_64-O1"] {
        if here("gcc-12") {
            let (status, text) = s.litmake(&["check", "--profile", profile, "t.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

#[test]
fn what_holds_under_a_condition_is_known_under_it_again() {
    let s = Scratch::new();
    // Arm code finds `y` by an offset from where it stands, in instructions under one condition.
    s.write(
        "t.litmus",
        "C t
{}
P0 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  if (r0 == 1) {
    atomic_store_explicit(y, 1, memory_order_release);
  }
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r1 = atomic_load_explicit(y, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r1=1)
",
    );
    for (compiler, profile) in [
        ("clang-16", "clang-16-armv8-O2"),
        ("clang-22", "clang-22-armv8-O2"),
        ("arm-linux-gnueabihf-gcc-12", "gcc-12-armv7-pic-O2"),
    ] {
        if here(compiler) {
            let args = ["check", "--storage", "globals", "--profile", profile, "t.litmus"];
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

/// Code under a condition and then under it again, and under the contrary, is one block: what a
/// register held before it (here the address of a variable on the stack) does not matter.
#[test]
fn what_is_written_on_both_sides_of_a_condition_is_written() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 2, memory_order_release);
  atomic_thread_fence(memory_order_acq_rel);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = 1;
  int r1 = atomic_compare_exchange_weak_explicit(y, &r0, 2, memory_order_release, memory_order_relaxed);
  atomic_store_explicit(x, 1, memory_order_release);
}
exists ([x]=2 /\\ [y]=2 /\\ 1:r1=1)
",
    );
    if here("arm-linux-gnueabihf-gcc-12") {
        let asked =
            ["--storage", "globals", "--helpers", "--profile", "gcc-12-armv7-pic-O2", "t.litmus"];
        let (status, text) = s.litmake(&[&["check"], &asked[..]].concat());
        assert_eq!(status, 0, "{text}");
        let (status, text) = s.litmake(&[&["compile"], &asked[..]].concat());
        assert_eq!(status, 0, "{text}");
        // This is what the code has to be for the test to mean anything.
        for part in ["STREXEQ R0", "CMPEQ R0,#0", "MOVEQ R0,#1", "MOVNE R0,#0"] {
            assert!(text.contains(part), "no {part}:\n{text}");
        }
    }
}

const OBJECT: &str = "C t
{ uint8_t s[32]; }
P0(uint8_t *s) {
  *(int64_t *)s = 1;
  atomic_store_explicit((atomic_int *)(s + 8), 1, memory_order_release);
}
P1(uint8_t *s) {
  int r0 = atomic_load_explicit((atomic_int *)(s + 8), memory_order_acquire);
  if (r0 == 1) { int64_t r1 = *(int64_t *)s; }
}
exists (1:r0=1 /\\ 1:r1=0)
";

/// `lwu` of what lies on the stack: the upper half is cleared.
#[test]
fn an_unsigned_part_of_a_slot_is_extended_on_mips() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{ _Atomic uint32_t x; _Atomic uint32_t y; }
P0(_Atomic uint32_t *y, _Atomic uint32_t *x) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, -1, memory_order_release);
}
P1(_Atomic uint32_t *y, _Atomic uint32_t *x) {
  uint32_t r0 = atomic_load_explicit(y, memory_order_acquire);
  uint32_t r1 = atomic_load_explicit(x + (r0 & 128) / 128 - (r0 > 0), memory_order_relaxed);
}
exists (1:r0=-1 /\\ 1:r1=0)
",
    );
    if here("mips64el-linux-gnuabi64-gcc-12") {
        let (status, text) = s.litmake(&["compile", "--profile", "gcc-12-mips64el-O0", "t.litmus"]);
        assert_eq!(status, 0, "{text}");
        // This is what the code has to be for the test to mean anything.
        assert!(text.contains(",32"), "{text}");
        let (status, text) = s.litmake(&["check", "--profile", "gcc-12-mips64el-O0", "t.litmus"]);
        assert_eq!(status, 0, "{text}");
    }
}

/// MIPS stores by halves what may lie across two words, which variables of bytes may.
#[test]
fn variables_are_aligned_for_their_members() {
    let s = Scratch::new();
    s.write("t.litmus", OBJECT);
    for (compiler, profile) in [
        ("mips64el-linux-gnuabi64-gcc-12", "gcc-12-mips64el-pic-O2"),
        ("g++-12", "g++-12-x86_64-O2"),
    ] {
        if here(compiler) {
            let args = ["check", "--storage", "globals", "--profile", profile, "t.litmus"];
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

/// A library saves all of a register, of which the code after it takes the part that was set.
#[test]
fn what_a_slot_of_the_stack_holds_matters_bit_by_bit() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{ uint8_t s[32]; }
P0(uint8_t *s) {
  __uint128_t r0 = atomic_load_explicit((_Atomic __uint128_t *)s, memory_order_acquire);
  atomic_store_explicit((_Atomic uint8_t *)(s + 16), 1, memory_order_release);
}
P1(uint8_t *s) {
  uint8_t r0 = atomic_load_explicit((_Atomic uint8_t *)(s + 16), memory_order_acquire);
  atomic_store_explicit((_Atomic __uint128_t *)s, 1, memory_order_release);
}
exists (0:r0=1 /\\ 1:r0=1)
",
    );
    if here("gcc-12") {
        let (status, text) = s.litmake(&["compile", "--profile", "gcc-12-x86_64-Os", "t.litmus"]);
        assert_eq!(status, 0, "{text}");
        // This is what the code has to be for the test to mean anything.
        assert!(text.contains("movb (s+16),%bpl") && text.contains("%rbp"), "{text}");
        let (status, text) = s.litmake(&["check", "--profile", "gcc-12-x86_64-Os", "t.litmus"]);
        assert_eq!(status, 0, "{text}");
    }
}

/// Where a branch goes under a condition, what instructions left there under it is known again.
#[test]
fn what_holds_on_one_side_is_known_after_a_branch() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{}
P0(atomic_int *z, int *x) {
  *x = 1;
  atomic_store_explicit(z, 1, memory_order_release);
}
P1(atomic_int *z, int *x) {
  int r0 = atomic_load_explicit(z, memory_order_acquire);
  if (r0 == 1) {
    atomic_thread_fence(memory_order_acquire);
    int r1 = *x;
  }
}
exists (1:r0=1 /\\ 1:r1=0)
",
    );
    if here("arm-linux-gnueabihf-gcc-12") {
        let profile = "gcc-12-armv7-pic-O2";
        let asked = ["--storage", "globals", "--helpers", "--profile", profile, "t.litmus"];
        let (status, text) = s.litmake(&[&["compile"], &asked[..]].concat());
        assert_eq!(status, 0, "{text}");
        assert!(text.contains("MOVNE R3,#0"), "{text}");
        let (status, text) = s.litmake(&[&["check"], &asked[..]].concat());
        assert_eq!(status, 0, "{text}");
    }
}

/// Mixes of some profiles, joined by their code and really linked, with and without the calls.
fn both_ways(profiles: &[&str], gnu: bool, by: By) {
    let profiles: Vec<String> = profiles.iter().map(|p| p.to_string()).collect();
    let request = mixes::Request { profiles: &profiles, mixes: 6, tests: 4, gnu, by, until: None };
    let loaded = mixes::profiles(&request).unwrap();
    let (linker, arch) = (if gnu { "GNU ld" } else { "lld" }, loaded[0].arch);
    if !holds(&format!("{linker} for {}", arch.name()), mixes::linker(&request, arch).is_some())
        || !loaded.iter().all(|p| here(&p.compiler))
    {
        return;
    }
    let counts = mixes::compare(&request).unwrap();
    assert_eq!(counts.different, [], "{profiles:?}");
    assert_eq!(counts.equal, 6, "{profiles:?}: {:?}", counts.refused);
    assert!(counts.with_calls > 0, "{profiles:?}");
}

#[test]
fn linked_parts_allow_what_joined_parts_allow() {
    both_ways(&["clang-16-x86_64-O2", "gcc-12-x86_64-O2"], true, By::Instruction);
    both_ways(&["clang-16-aarch64-O2", "clang-14-aarch64-armv8.1-a-O2"], false, By::Instruction);
    both_ways(&["clang-16-armv7-O2", "clang-16-armv8-O2"], false, By::Instruction);
    both_ways(&["clang-16-riscv64-O2", "clang-14-riscv64-O2"], false, By::Instruction);
    both_ways(&["clang-16-ppc64le-O2", "clang-14-ppc64le-O2"], false, By::Instruction);
    both_ways(&["clang-16-mips64el-O2", "clang-14-mips64el-O2"], false, By::Instruction);
    both_ways(&["clang-16-aarch64-O2", "gcc-12-aarch64-O2"], true, By::Thread);
}

/// Armv7 has the barrier behind a store, Armv8 needs none between its stores and its loads.
const MIXED: &str = "C SB
{}
P0 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(z, 1, memory_order_relaxed);
  atomic_store(x, 1);
  int a = atomic_load(y);
}
P1 (atomic_int* x, atomic_int* y) { atomic_store(y, 1); int a = atomic_load(x); }
exists (0:a=0 /\\ 1:a=0)
";

#[test]
fn a_mix_is_reduced_and_says_what_would_mend_it() {
    if !here("clang-16") {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("sb.litmus", MIXED);
    let profiles = ["--profile", "clang-16-armv7-O2", "--profile", "clang-16-armv8-O2"];
    let common = ["check", "--cache", "cache", "--split", "instruction"];
    let (status, said) = scratch.litmake(&[&common[..], &profiles[..], &["sb.litmus"]].concat());
    assert_eq!(status, 1, "{said}");
    for place in [
        "`DMB ISH` before each `load seq_cst 32` of clang-16-armv7-O2",
        "`DMB ISH` behind each `store seq_cst 32` of clang-16-armv8-O2",
    ] {
        assert!(said.contains(&format!("mended by {place}")), "{said}");
    }
    // The store that has nothing to do with it is gone.
    let reduced = said.split("reduced to:").nth(1).expect("it is reduced");
    assert!(!reduced.contains("(z, 1"), "{said}");
}

#[test]
fn libraries_find_the_machine_that_runs_all_of_a_mix() {
    if !here("clang-16") || !here("gcc-12") {
        return;
    }
    let scratch = Scratch::new();
    scratch.write(
        "add.litmus",
        "C add
{}
P0 (_Atomic __int128* x) { __int128 a = atomic_fetch_add(x, 1); }
P1 (_Atomic __int128* x) { __int128 a = atomic_fetch_add(x, 1); }
exists (x=1)
",
    );
    // Where there is `cmpxchg16b`, the library's functions do not lock either.
    let one = ["--profile", "gcc-12-x86_64-O2", "--profile", "clang-16-x86_64-cx16-O2"];
    let common = ["check", "--cache", "cache", "--split", "instruction"];
    let (status, said) = scratch.litmake(&[&common[..], &one[..], &["add.litmus"]].concat());
    assert_eq!(status, 0, "{said}");
    // A profile that says what is found there locks, and loses what others add.
    scratch.write(
        "locks.yaml",
        "name: locks
compiler: gcc-12
args: [\"-O2\", \"-std=c11\"]
arch: X86_64
runtime: { __libat_feat1: 1 }
",
    );
    let other = ["--profile", "locks.yaml", "--profile", "clang-16-x86_64-cx16-O2"];
    let (status, said) = scratch.litmake(&[&common[..], &other[..], &["add.litmus"]].concat());
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("mixing"), "{said}");
}

#[test]
fn check_links_with_a_linker() {
    if !here("clang-16") {
        return;
    }
    let linkers = litmake::toolchain::ld::linkers(litmake::litmus::Arch::Arm, false);
    if !holds("a linker for Arm", !linkers.is_empty()) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("sb.litmus", MIXED);
    let profiles = ["--profile", "clang-16-armv7-O2", "--profile", "clang-16-armv8-O2"];
    let common = ["check", "--cache", "cache", "--split", "instruction", "--link", "ld"];
    let (status, said) = scratch.litmake(&[&common[..], &profiles[..], &["sb.litmus"]].concat());
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("mixing"), "{said}");
    assert!(said.contains("reduced to:") && said.contains("mended by `DMB ISH`"), "{said}");
}

#[test]
fn parts_of_a_word_are_changed_in_big_endian_code() {
    let s = Scratch::new();
    s.write(
        "t.litmus",
        "C t
{ x = 0x1234; y = 5; }
P0 (atomic_short* x, _Atomic signed char* y) {
  short r0 = atomic_fetch_add_explicit(x, 2, memory_order_acq_rel);
  signed char r1 = atomic_exchange_explicit(y, 7, memory_order_seq_cst);
  signed char r2 = atomic_load_explicit(y, memory_order_relaxed);
}
exists (not (0:r0=0x1234 /\\ 0:r1=5 /\\ 0:r2=7 /\\ x=0x1236))
",
    );
    let of =
        [("mips64-linux-gnuabi64-gcc-12", "gcc-12-mips64-O2"), ("clang-19", "clang-19-mips64-O2")];
    for (compiler, profile) in of {
        for storage in ["pointers", "globals"] {
            if here(compiler) {
                let args = ["check", "--storage", storage, "--profile", profile, "t.litmus"];
                let (status, text) = s.litmake(&args);
                assert_eq!(status, 0, "{profile}, {storage}: {text}");
            }
        }
    }
}

#[test]
fn what_a_library_never_runs_here_need_not_be_understood() {
    // `__atomic_exchange` chooses by the size, and copies large objects by string instructions.
    let s = Scratch::new();
    s.write("t.litmus", EXCHANGE);
    if here("clang-16") {
        let (status, text) = s.litmake(&["check", "--profile", "clang-16-x86_64-O2", "t.litmus"]);
        assert_eq!(status, 0, "{text}");
    }
}

/// An element of an array is read where a flag says.
const ELEMENT: &str = "C element
{ _Atomic __int128 x[2]; atomic_int y; }
P0 (_Atomic __int128* x, atomic_int* y) {
  atomic_store_explicit(&x[1], 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (_Atomic __int128* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
  __int128 r1 = atomic_load_explicit(&x[r0], memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)
";

#[test]
fn a_lock_of_an_element_that_only_a_run_tells_is_that_of_the_array() {
    let s = Scratch::new();
    s.write("element.litmus", ELEMENT);
    for (compiler, family, depends) in [
        ("gcc-12", "gcc-12-x86_64", ""),
        ("aarch64-linux-gnu-gcc-12", "gcc-12-aarch64", "EOR X16,X0,X0"),
        ("riscv64-linux-gnu-gcc-12", "gcc-12-riscv64", "xor x5,x10,x10"),
        ("powerpc64le-linux-gnu-gcc-12", "clang-16-ppc64le", ""),
        ("mips64el-linux-gnuabi64-gcc-12", "gcc-12-mips64el", "xor $24,$4,$4"),
    ] {
        if !here(compiler) || family.starts_with("clang") && !here("clang-16") {
            continue;
        }
        for (level, storage) in [("O0", "pointers"), ("O2", "pointers"), ("O2", "statics")] {
            let profile = format!("{family}-{level}");
            let args = ["compile", "--profile", &profile, "--storage", storage, "element.litmus"];
            let (status, text) = s.litmake(&args);
            // The lock's address depends on what the element's does.
            let right = match family {
                // The object is known to be aligned, and the library has an instruction for it.
                "clang-16-ppc64le" => !text.contains("libat_lock") && text.contains("lq "),
                _ => text.contains("libat_lock_x") && text.contains(depends),
            };
            assert!(status == 0 && right, "{profile}, {storage}: {text}");
            let (status, text) = s.litmake(&["check", "--profile", &profile, "element.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

#[test]
fn an_object_of_a_known_location_is_known_to_be_aligned() {
    let s = Scratch::new();
    s.write(
        "swap.litmus",
        "C swap\n{}\nP0 (_Atomic __int128* x) {\n  __int128 e = 0;\n  int r0 = \
         atomic_compare_exchange_strong_explicit(x, &e, 2, memory_order_seq_cst, \
         memory_order_seq_cst);\n}\nexists (not (0:r0=1 /\\ x=2))\n",
    );
    // Up to clang 16 that is the library's function for objects of any size and alignment.
    for (compiler, level) in [("clang-16", "O0"), ("clang-16", "O2"), ("clang-19", "O2")] {
        if !here(compiler) || !here("gcc") {
            continue;
        }
        let profile = format!("{compiler}-x86_64-{level}");
        let (status, text) = s.litmake(&["check", "--profile", &profile, "swap.litmus"]);
        assert_eq!(status, 0, "{profile}: {text}");
    }
}

#[test]
fn elements_of_arrays_are_found_at_every_level() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new();
    let element = ELEMENT
        .replace("__int128", "short")
        .replace("memory_order_relaxed", "memory_order_seq_cst");
    s.write("element.litmus", &element);
    for target in ["x86_64", "aarch64", "riscv64", "ppc64le", "mips64el", "mips64", "armv7"] {
        for storage in ["pointers", "globals", "statics"] {
            let profile = format!("clang-16-{target}-O0");
            let args = ["compile", "--profile", &profile, "--storage", storage, "element.litmus"];
            let (status, text) = s.litmake(&args);
            // Other tools know no types but those of machine code.
            assert!(status == 0 && !text.contains("atomic"), "{profile}, {storage}: {text}");
        }
        let profile = format!("clang-16-{target}-O0");
        let (status, text) = s.litmake(&["check", "--profile", &profile, "element.litmus"]);
        assert_eq!(status, 0, "{profile}: {text}");
    }
}

#[test]
fn an_element_of_a_big_endian_array_is_turned_as_its_value_is() {
    if !here("clang-22") {
        return;
    }
    let s = Scratch::new();
    s.write("element.litmus", ELEMENT);
    for level in ["O0", "O2"] {
        for march in ["armv8-a", "armv8.1-a"] {
            let profile = format!("clang-22-aarch64be-{march}-{level}");
            let (status, text) = s.litmake(&["check", "--profile", &profile, "element.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

#[test]
fn a_copy_that_is_called_through_a_table_has_its_own_size() {
    use litmake::litmus::Arch;
    use litmake::toolchain::{image::Image, lift};
    if !here("gcc") || !cfg!(target_arch = "x86_64") {
        return;
    }
    let s = Scratch::new();
    s.write("copy.c", "void *memcpy();\nvoid P0(long *x, long *y) { memcpy(x, y, 16UL); }\n");
    let args = ["-O1", "-fno-plt", "-fPIC", "-fno-builtin", "-w", "-c", "copy.c"];
    let done = Command::new("gcc").args(args).current_dir(s.0.path()).status().unwrap();
    assert!(done.success());
    let object = std::fs::read(s.0.path().join("copy.o")).unwrap();
    let image = Image::new(Arch::X86_64, &object, &[]).unwrap();
    let given = lift::Given {
        thread: 0,
        params: &["x".to_string(), "y".to_string()],
        globals: &[],
        unit: &|_| 16,
        members: &Default::default(),
        published: None,
        array: &|_| false,
        flags: &Default::default(),
        instead: &|_| None,
        calls: false,
    };
    let lifted = lift::lift(&image, "P0", &given).unwrap();
    let text: Vec<&str> = lifted.lines.iter().map(|l| l.text.as_str()).collect();
    let copied = ["movq (y),%rcx", "movq %rcx,(x)", "movq (y+8),%rcx", "movq %rcx,(x+8)"];
    assert_eq!(text, copied);
}

/// Elements and members that are not the first, which no register has room for at `-O0`.
#[test]
fn a_pool_has_addresses_within_locations() {
    let s = Scratch::new();
    let test = |ty: &str| {
        format!(
            "C within\n{{ _Atomic {ty} x[2]; }}\nP0 (_Atomic {ty}* x) {{\n  \
             atomic_store_explicit(x, 1, memory_order_seq_cst);\n  {ty} r0 = \
             atomic_fetch_add_explicit(x + 1, 1, memory_order_seq_cst);\n}}\n\
             P1 (_Atomic {ty}* x) {{\n  {ty} r1 = 0;\n  int r0 = \
             atomic_compare_exchange_strong_explicit(x + 1, &r1, 5, memory_order_seq_cst, \
             memory_order_seq_cst);\n  {ty} r2 = atomic_load_explicit(x, \
             memory_order_seq_cst);\n}}\nexists (1:r0=0 /\\ 1:r2=0)\n"
        )
    };
    s.write("within.litmus", &test("int64_t"));
    for compiler in ["clang-16", "clang-19", "clang-22"] {
        if !here(compiler) {
            continue;
        }
        for target in ["armv7", "thumb", "armv8", "armv7-pic"] {
            let profile = format!("{compiler}-{target}-O0");
            let (status, text) = s.litmake(&["compile", "--profile", &profile, "within.litmus"]);
            assert!(status == 0 && text.contains("_pool"), "{profile}: {text}");
            let (status, text) = s.litmake(&["check", "--profile", &profile, "within.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

/// A message in members of one object.
const MEMBERS: &str = "C members
{ uint8_t s[32]; uint8_t t[16]; }
P0 (uint8_t* s) {
  *(int16_t *)(s + 2) = 0x0102;
  atomic_store_explicit((_Atomic __int128 *)(s + 16), 3, memory_order_release);
}
P1 (uint8_t* s) {
  __int128 r0 = atomic_load_explicit((_Atomic __int128 *)(s + 16), memory_order_acquire);
  if (r0 == 3) {
    int r1 = *(int16_t *)(s + 2);
  }
}
P2 (uint8_t* t) {
  *(int64_t *)t = 5;
  int r0 = atomic_fetch_add_explicit((_Atomic int *)(t + 8), 1, memory_order_relaxed);
  int r1 = atomic_load_explicit((_Atomic int *)(t + (8 + (r0 & 128))), memory_order_relaxed);
}
exists (1:r0=3 /\\ not (1:r1=258) \\/ not (2:r1=1))
";

#[test]
fn members_of_big_endian_objects_are_their_values() {
    let s = Scratch::new();
    s.write("members.litmus", MEMBERS);
    // One byte of a member too: where that lies, nothing tells.
    s.write("both.litmus", &MEMBERS.replace("*(int16_t *)(s + 2) = ", "s[3] = "));
    for (compiler, profiles) in [
        ("clang-16", &["clang-16-aarch64be-armv8-a", "clang-16-aarch64-armv8-a"][..]),
        ("clang-22", &["clang-22-aarch64be-armv8.1-a", "clang-22-aarch64be-armv8.4-a"][..]),
    ] {
        if !here(compiler) {
            continue;
        }
        for profile in profiles.iter().flat_map(|p| ["O0", "O2"].map(|l| format!("{p}-{l}"))) {
            let (status, text) = s.litmake(&["compile", "--profile", &profile, "members.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
            // Loops of exclusive pairs take their time.
            if profile.contains("armv8.4") {
                let (status, text) = s.litmake(&["check", "--profile", &profile, "members.litmus"]);
                assert_eq!(status, 0, "{profile}: {text}");
            }
            if profile.contains("be-") {
                let (status, text) = s.litmake(&["compile", "--profile", &profile, "both.litmus"]);
                assert!(status != 0 && text.contains("a part of a value"), "{profile}: {text}");
            }
        }
    }
}

#[test]
fn what_is_above_a_part_of_an_address_is_cleared() {
    let s = Scratch::new();
    let element = ELEMENT
        .replace("__int128", "short")
        .replace("x[r0]", "x[r0 & 1]")
        .replace("memory_order_relaxed", "memory_order_seq_cst");
    s.write("element.litmus", &element);
    for (compiler, from) in
        [("clang-16", "clang-16"), ("clang-22", "clang-22"), ("gcc-12", "gcc-12")]
    {
        if !here(compiler) {
            continue;
        }
        for level in ["O0", "O1", "O2"] {
            let profile = format!("{from}-x86_64-{level}");
            let (status, text) = s.litmake(&["check", "--profile", &profile, "element.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
    }
}

#[test]
fn mips_of_release_6_has_a_library_of_its_own() {
    let library = "/usr/lib/gcc-cross/mipsisa64r6el-linux-gnuabi64/12/libatomic.a";
    let package = "the package libgcc-12-dev-mips64r6el-cross";
    if !holds(package, std::path::Path::new(library).exists()) {
        return;
    }
    let s = Scratch::new();
    s.write("count.litmus", COUNT);
    for (compiler, profile) in [
        ("mips64el-linux-gnuabi64-gcc-12", "gcc-12-mips64r6el-O2"),
        ("clang-16", "clang-16-mips64r6el-O2"),
        ("clang-22", "clang-22-mips64r6el-O0"),
    ] {
        if !here(compiler) {
            continue;
        }
        let (status, text) = s.litmake(&["compile", "--profile", profile, "count.litmus"]);
        assert!(status == 0 && text.contains("libat_lock_x"), "{profile}: {text}");
        // Clang passes 128 bits where the library does not look for them.
        let (status, text) = s.litmake(&["check", "--profile", profile, "count.litmus"]);
        assert_eq!(status, i32::from(profile.starts_with("clang")), "{profile}: {text}");
    }
}

#[test]
fn an_object_behind_a_pointer_has_the_lock_of_the_one_that_is_published() {
    let s = Scratch::new();
    s.write(
        "published.litmus",
        "C published\n{\n __int128 x; __int128* y=0;\n}\n\
         P0(__int128 *_Atomic *y, _Atomic __int128 *x) {\n  \
         atomic_store_explicit(x, 1, memory_order_relaxed);\n  \
         atomic_store_explicit(y, (__int128 *)x, memory_order_release);\n}\n\
         P1(__int128 *_Atomic *y) {\n  \
         __int128 *r0 = atomic_load_explicit(y, memory_order_acquire);\n  if (r0) {\n    \
         __int128 r1 = atomic_load_explicit((_Atomic __int128 *)r0, memory_order_relaxed);\n  \
         }\n}\nexists (not (1:r0=0) /\\ 1:r1=0)\n",
    );
    for (compiler, profile) in [
        ("riscv64-linux-gnu-gcc-12", "gcc-12-riscv64-O2"),
        ("aarch64-linux-gnu-gcc-12", "gcc-12-aarch64-O2"),
        ("mips64el-linux-gnuabi64-gcc-12", "gcc-12-mips64el-O2"),
    ] {
        if !here(compiler) {
            continue;
        }
        let (status, text) = s.litmake(&["check", "--profile", profile, "published.litmus"]);
        assert_eq!(status, 0, "{profile}: {text}");
    }
}
