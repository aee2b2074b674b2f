//! Lifting with real compilers, where bytes, libraries and memory that cannot be written matter.
//! What the machine has no compiler for is left out, and said.

use std::process::Command;

use litmake::mix::By;
use litmake_needs::{here, holds};

use crate::mixes;
use crate::scratch::Scratch;

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
    let s = Scratch::with(&[]);
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
        std::fs::set_permissions(s.path(wrapper), mode).unwrap();
        let (status, text) = compiled(own, arch, args);
        assert_eq!(status, 0, "{text}");
        assert_eq!(compiled(&format!("./{wrapper}"), arch, args), (0, text));
    }
}

#[test]
fn a_lock_excludes_those_who_take_it() {
    if !here("gcc-12") || !here("clang-16") {
        return;
    }
    let s = Scratch::with(&[]);
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
fn arm_has_more_locations_than_registers() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write(
        "many.litmus",
        r"C many
{}
P0(volatile long long *z, volatile long long *y, volatile long long *b, volatile long long *a) {
long long r0 = *y;
  if (r0 == 1) {
    long long r1 = *z;
    long long r2 = *a;
if (r2 == 0) {
      *b = 1;
    }
  }
}
P1(volatile long long *y) { *y = 1; }
exists (0:r0=1 /\ 0:r1=0 /\ 0:r2=0)
",
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
    let s = Scratch::with(&[]);
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

/// However many tests are in one unit, each small array begins at a word of its own.
#[test]
fn small_arrays_side_by_side_are_told_apart() {
    let s = Scratch::with(&[]);
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
    let s = Scratch::with(&[]);
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
    let scratch = Scratch::with(&[]);
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
    let scratch = Scratch::with(&[]);
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
    assert!(
        said.contains("code of locks and clang-16-x86_64-cx16-O2 is wrong when it is mixed"),
        "{said}"
    );
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
    let scratch = Scratch::with(&[]);
    scratch.write("sb.litmus", MIXED);
    let profiles = ["--profile", "clang-16-armv7-O2", "--profile", "clang-16-armv8-O2"];
    let common = ["check", "--cache", "cache", "--split", "instruction", "--link", "ld"];
    let (status, said) = scratch.litmake(&[&common[..], &profiles[..], &["sb.litmus"]].concat());
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("of clang-16-armv8-O2 is too weak beside code of clang-16-armv7-O2"),
        "{said}"
    );
    assert!(said.contains("reduced to:") && said.contains("mended by `DMB ISH`"), "{said}");
}

#[test]
fn a_copy_that_is_called_through_a_table_has_its_own_size() {
    use litmake::litmus::Arch;
    use litmake::toolchain::{image::Image, lift};
    if !here("gcc") || !cfg!(target_arch = "x86_64") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("copy.c", "void *memcpy();\nvoid P0(long *x, long *y) { memcpy(x, y, 16UL); }\n");
    let args = ["-O1", "-fno-plt", "-fPIC", "-fno-builtin", "-w", "-c", "copy.c"];
    let done = Command::new("gcc").args(args).current_dir(s.dir()).status().unwrap();
    assert!(done.success());
    let object = std::fs::read(s.path("copy.o")).unwrap();
    let image = Image::new(Arch::X86_64, &object, &|_| None).unwrap();
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
        foreign: None,
        lists: false,
    };
    let lifted = lift::lift(&image, "P0", &given).unwrap();
    let text: Vec<&str> = lifted.lines.iter().map(|l| l.text.as_str()).collect();
    let copied = ["movq (y),%rcx", "movq %rcx,(x)", "movq (y+8),%rcx", "movq %rcx,(x+8)"];
    assert_eq!(text, copied);
}
