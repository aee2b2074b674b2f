//! What the passes of compilers do to tests: the code that a front end makes allows nothing that the
//! source forbids, a wrong pass is named, and a right compiler is not blamed.
//!
//! `LITMAKE_TESTS=500` looks at so many tests of each level.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use litmake::diag::Source;
use litmake::generate::recipe::Recipe;
use litmake::litmus::{self, Arch, Test};
use litmake::passes::blame;
use litmake::passes::judge::Court;
use litmake::pipeline::plan::profile_folders;
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::profile::{Profile, Profiles};
use litmake::select::collect::{Wanted, collect};
use litmake::select::filter::Filter;
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;

fn count() -> usize {
    std::env::var("LITMAKE_TESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

fn profile(name: &str) -> Arc<Profile> {
    let profiles = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    profiles.find(&Disk, Path::new("."), name).unwrap_or_else(|e| panic!("{e}"))
}

/// The compiler of a profile, where it is here.
fn program(profile: &Profile) -> Option<PathBuf> {
    litmake_needs::need(&profile.compiler, process::find(&profile.compiler).ok_or("not installed"))
}

fn court() -> Court {
    Court::new(&["rc11".to_string(), "rc11-lb".to_string()]).unwrap_or_else(|e| panic!("{e}"))
}

fn tests(families: &[&str]) -> Vec<(String, Test)> {
    let mut out = Vec::new();
    for family in families {
        let keep = Filter::default();
        let wanted =
            Wanted { sample: Some((count().div_ceil(families.len()), 3)), ..Wanted::all(&keep) };
        let all = collect(&Recipe::new(Arch::C), &[Source::new("family", *family)], &wanted, 1);
        for (name, text) in all.unwrap_or_else(|e| panic!("{e}")).iter() {
            let test = litmus::read(&Source::new(name, text)).unwrap_or_else(|e| panic!("{e}"));
            out.push((format!("{family}/{name}"), test));
        }
    }
    out
}

/// The dialect's own test: before any pass has run, the code means what its source means.
#[test]
fn front_ends_add_no_outcomes() {
    let families =
        ["telechat-table3", "mix-table4", "c11-cas", "c11-idle", "c11-plain", "c11-helpers"];
    let tests = tests(&families);
    let mut court = court();
    for name in ["clang-14-x86_64-O2", "clang-22-x86_64-O0", "clang-22-aarch64-O1"] {
        let profile = profile(name);
        let Some(program) = program(&profile) else { continue };
        let runtime = Runtime::of(&profile, &program);
        let stop = litmake::stop::of_the_process();
        let (mut read, mut refused) = (0, Vec::new());
        for (test_name, test) in &tests {
            let compiler = Compiler {
                profile: &profile,
                program: &program,
                observe: Observe::Condition,
                storage: Storage::Pointers,
                helpers: false,
                runtime: &runtime,
                stop,
            };
            match blame::front_end(&compiler, test, &mut court) {
                Ok((code, wrong)) => {
                    assert!(
                        wrong.is_empty(),
                        "{name} {test_name} {wrong:?}\n{}",
                        litmus::write(&code)
                    );
                    let text = litmus::write(&code);
                    let again = litmus::read(&Source::new("again", text.as_str()));
                    let again = again.unwrap_or_else(|e| panic!("{e}"));
                    assert_eq!(litmus::write(&again), text);
                    read += 1;
                }
                Err(e) => refused.push(format!("{test_name}: {}", e.text())),
            }
        }
        assert!(refused.len() * 100 <= tests.len(), "{name} reads {read} tests, not {refused:#?}");
    }
}

struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        Scene { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).expect("a file is written");
    }

    fn litmake(&self, args: &[&str]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_litmake"))
            .args(args)
            .current_dir(self.dir.path())
            .env("LITMAKE_CACHE", self.dir.path().join("cache"))
            .env_remove("LITMAKE_CACHE_SHARED")
            .output()
            .expect("litmake starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (status.code(), text(stdout) + &text(stderr))
    }
}

/// Until LLVM 16, InstCombine made a load of a read-modify-write that adds nothing.
const IDLE: &str = "C idle
{ }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int r0 = atomic_fetch_add_explicit(y, 0, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_fetch_add_explicit(y, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r0=0 /\\ 1:r1=0)
";

/// The same on both sides, so that the load orders nothing.
const BOTH: &str = "C both
{ }
P0 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int u = atomic_fetch_add_explicit(x, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r0 = atomic_load_explicit(z, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(z, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int u = atomic_fetch_add_explicit(x, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r0=0)
";

#[test]
fn a_wrong_pass_is_named() {
    if !litmake_needs::here("clang-15") {
        return;
    }
    let s = Scene::new();
    s.write("both.litmus", BOTH);
    let (status, out) = s.litmake(&[
        "check",
        "--quiet",
        "--passes",
        "--storage",
        "pointers",
        "--profile",
        "clang-15-x86_64-O2",
        "both.litmus",
    ]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("the pass that did it: InstCombinePass on P0"), "{out}");
    assert!(out.contains("atomicrmw add") && out.contains("load atomic"), "{out}");
    let (status, out) =
        s.litmake(&["passes", "--profile", "clang-15-x86_64-O2", "--json", "both.litmus"]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("\"pass\":\"InstCombinePass\""), "{out}");
}

#[test]
fn a_right_compiler_is_not_blamed() {
    if !litmake_needs::here("clang-22") {
        return;
    }
    let s = Scene::new();
    s.write("both.litmus", BOTH);
    s.write("idle.litmus", IDLE);
    let (status, out) =
        s.litmake(&["passes", "--profile", "clang-22-x86_64-O2", "both.litmus", "idle.litmus"]);
    assert_eq!(status, Some(0), "{out}");
    let row: Vec<&str> = out
        .lines()
        .find(|l| l.starts_with("all passes"))
        .unwrap_or("")
        .split_whitespace()
        .collect();
    assert_eq!(row, ["all", "passes", "2", "2", "0", "0", "0"], "{out}");
}

#[test]
fn a_pass_alone_is_judged_by_what_it_is_given() {
    if !litmake_needs::here("opt-14") || !litmake_needs::here("clang-14") {
        return;
    }
    let s = Scene::new();
    s.write("both.litmus", BOTH);
    let passes = ["passes", "--tool", "opt-14", "--profile", "clang-14-x86_64-O2"];
    let with = |list: &'static str| [&passes[..], &["--opt", list, "both.litmus"]].concat();
    let (status, out) = s.litmake(&with("function(sroa,instcombine)"));
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("both: InstCombinePass adds outcomes"), "{out}");
    assert!(out.contains("0:r0=0; 1:r0=0"), "{out}");
    let (status, out) = s.litmake(&with("function(sroa,early-cse,gvn)"));
    assert_eq!(status, Some(0), "{out}");
    assert!(out.contains("GVN"), "{out}");
    let (status, out) = s.litmake(&with("no-such-pass"));
    assert_eq!(status, Some(3), "{out}");
    assert!(out.contains("no-such-pass"), "{out}");
}

#[test]
fn what_has_no_passes_of_llvm_says_so() {
    if !litmake_needs::here("gcc-12") {
        return;
    }
    let s = Scene::new();
    s.write("both.litmus", BOTH);
    let (status, out) = s.litmake(&["passes", "--profile", "gcc-12-x86_64-O2", "both.litmus"]);
    assert_eq!(status, Some(3), "{out}");
    assert!(out.contains("unsupported: the passes of gcc-12"), "{out}");
}
