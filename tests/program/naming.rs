//! Profiles are found by parts of their names, in every command and in pipelines; pipelines that come
//! with litmake by their names.

#![cfg(target_arch = "x86_64")]

use crate::scratch::{SB, Scratch};

/// A bug that clang 16 has no more.
const MENDED: &str = include_str!("../../pipelines/quickstart/idempotent-rmw.litmus");

fn compilers_are_here() -> bool {
    ["clang-14", "clang-16", "gcc-12"].iter().all(|c| litmake_needs::here(c))
}

#[test]
fn each_command_takes_parts_of_a_name() {
    if !compilers_are_here() {
        return;
    }
    let s = Scratch::with(&[("sb.litmus", SB), ("idempotent.litmus", MENDED)]);
    for (args, status, expected) in [
        (&["check", "-p", "clang-14", "idempotent.litmus"][..], 1, "clang-14-x86_64-O2"),
        (&["check", "-p", "O1-clang-14,O3-clang-14", "idempotent.litmus"], 1, "clang-14-x86_64-O3"),
        (&["compile", "-p", "gcc-12", "sb.litmus"], 0, "X86_64 sb"),
        (&["compile", "-p", "aarch64-clang", "sb.litmus"], 0, "AArch64 sb"),
        (
            &["diff", "-p", "clang-14", "-p", "clang-16", "idempotent.litmus"],
            1,
            "clang-16-x86_64-O2",
        ),
        (&["bisect", "-p", "clang", "idempotent.litmus"], 0, "last bad one is clang-1"),
        (&["abi", "-p", "clang-16", "-p", "gcc-12", "--type", "int"], 0, "complete"),
        (&["check", "-p", "x86_64", "sb.litmus"], 2, "say which: "),
        (&["check", "-p", "clang-99", "sb.litmus"], 2, "no `clang-99` is installed"),
        (&["check", "-p", "clagn", "sb.litmus"], 2, "did you mean `clang`?"),
    ] {
        let (code, said) = s.litmake(args);
        assert!(code == status && said.contains(expected), "{args:?}: {code} {said}");
    }
}

/// Whoever names no compiler is asked about those that are installed.
#[test]
fn a_check_without_a_profile_judges_the_installed_compilers() {
    if !compilers_are_here() {
        return;
    }
    let s = Scratch::with(&[("sb.litmus", SB)]);
    let (status, out, err) = s.streams(&["check", "sb.litmus"]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.contains("complete: "), "{out}");
    for family in ["clang-", " gcc-", "-x86_64-O2", "-aarch64-O2", "--profile names others"] {
        assert!(err.contains(family), "{err}");
    }
    let bare = Scratch::with(&[("sb.litmus", SB)]);
    let mut command = bare.command(&["check", "sb.litmus"]);
    let (status, out, err) = crate::scratch::streams(
        command
            .env("PATH", bare.dir())
            .env("HOME", bare.dir())
            .env("LITMAKE_TOOLCHAINS", bare.dir()),
    );
    assert_eq!(status, 3, "{out}{err}");
    assert!(err.contains("no C compiler is installed") && err.contains("apt-get install"), "{err}");
}

#[test]
fn pipelines_take_families_and_patterns() {
    if !compilers_are_here() {
        return;
    }
    let pipeline = "name: p\nvars: { profiles: [gcc-12, \"clang-1[46]-x86_64-O2\"] }\nstages:
  - { name: tests, generate: { files: sb.litmus } }
  - { name: source, simulate: { from: tests } }
  - { name: code, matrix: { profile: [\"${profiles}\"] }, compile: { from: tests, profile: \"${profile}\" } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target } }
  - { name: one, compile: { from: tests, profile: clang-16-O3 } }
";
    let s = Scratch::with(&[("sb.litmus", SB), ("p.yaml", pipeline)]);
    let (status, out, err) = s.streams(&["graph", "p.yaml", "--instances"]);
    assert_eq!(status, 0, "{err}");
    for one in ["gcc-12-x86_64-O2", "clang-14-x86_64-O2", "clang-16-x86_64-O2"] {
        assert!(out.contains(&format!("code[{one}]")), "{out}");
    }
    let (status, report) = s.run(&[]);
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["verdict"]["judged"], 3, "{report}");
    let compilers: Vec<&str> = report["compilers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|c| c["profile"].as_str())
        .collect();
    assert!(compilers.contains(&"clang-16-x86_64-O3"), "{compilers:?}");
}

#[test]
fn pipelines_that_come_with_litmake_run_by_name() {
    if !compilers_are_here() {
        return;
    }
    let s = Scratch::among(&["clang-14", "clang-16"], &[("mp.litmus", SB)]);
    // A folder of the name does not hide it.
    std::fs::create_dir(s.path("quickstart")).unwrap();
    let (status, said) = s.litmake(&["run", "quickstart", "--set", "profiles=clang-14,clang-16"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("a relaxed read-modify-write becomes a load"), "{said}");
    for (name, expected) in [
        ("quikstart", "did you mean `quickstart`, which comes with litmake?"),
        ("mp.litmus", "`litmake check mp.litmus` judges a test"),
        (".", "is a folder"),
        ("none.yaml", "cannot read the pipeline none.yaml"),
    ] {
        let (status, said) = s.litmake(&["run", name]);
        assert!(status == 2 && said.contains(expected), "{name}: {said}");
    }
    let (status, said) = s.litmake(&["explain", "quickstart", "code"]);
    assert!(status == 0 && said.contains("code[clang-14-x86_64-O2]"), "{said}");
}

/// Commands have the names that they had before, too.
#[test]
fn former_names_are_understood() {
    let s = Scratch::with(&[]);
    for [new, old] in [
        [&["list", "models", "rc11"][..], &["models", "rc11"]],
        [&["list", "pipelines", "abi"], &["pipelines", "abi"]],
        [&["list", "profiles", "gcc-12-x86_64-O2"], &["profiles", "gcc-12-x86_64-O2"]],
        [&["report", "table", "none.json"], &["table", "none.json"]],
        [&["report", "merge", "none.json"], &["merge", "none.json"]],
        [&["report", "baseline", "none.json"], &["baseline", "update", "none.json"]],
        [&["mutants", "confidence", "none.json"], &["confidence", "none.json"]],
    ] {
        let (a, b) = (s.streams(new), s.streams(old));
        assert_eq!(a, b, "{new:?}");
        assert!(!a.2.contains("unrecognized"), "{a:?}");
    }
}
