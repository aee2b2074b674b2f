//! Where a bug began or ended among the builds of a compiler.

use crate::scratch::{IDEMPOTENT, Scratch};

const CLANGS: [&str; 6] = ["clang-13", "clang-14", "clang-15", "clang-16", "clang-19", "clang-22"];

fn scene() -> Scratch {
    Scratch::with(&[("idle.litmus", IDEMPOTENT)])
}

#[test]
fn the_build_in_which_a_bug_ended_is_found() {
    if !CLANGS.iter().all(|c| litmake_needs::here(c)) {
        return;
    }
    let s = scene();
    // Versions that lie beside the system's would be asked, too.
    let mut asked = s.command(&["bisect", "--profile", "clang-riscv64-O2", "idle.litmus"]);
    let (status, out, err) = crate::scratch::streams(asked.env("HOME", s.dir()));
    let out = out + &err;
    assert_eq!(status, 0, "{out}");
    let said =
        "the first good build is clang-16-riscv64-O2; the last bad one is clang-15-riscv64-O2";
    assert!(out.contains(said), "{out}");
    // Neither version between an end and the place is asked.
    assert!(!out.contains("clang-14") && !out.contains("clang-19"), "{out}");
    let (status, out) = s.litmake(&[
        "bisect",
        "--json",
        "--profile",
        "clang-riscv64-O2",
        "--build",
        "clang-19",
        "--build",
        "clang-22",
        "idle.litmus",
    ]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("\"says\":\"good\""), "{out}");
}

#[test]
fn the_first_bad_build_of_a_folder_is_found() {
    if !CLANGS.iter().all(|c| litmake_needs::here(c)) {
        return;
    }
    let s = scene();
    // As a compiler that gets worse would lie there, with a build that cannot run.
    let path = std::env::var_os("PATH").expect("a path");
    let find = |name: &str| {
        let found = std::env::split_paths(&path).map(|p| p.join(name)).find(|p| p.is_file());
        found.expect("it is here")
    };
    for (build, clang) in [
        ("1.0", "clang-22"),
        ("1.9", "clang-19"),
        ("1.10", "clang-16"),
        ("2.0", ""),
        ("2.1", "clang-15"),
        ("3.0", "clang-13"),
    ] {
        let bin = s.dir().join("builds").join(build).join("bin");
        std::fs::create_dir_all(&bin).expect("a folder");
        match clang {
            "" => std::fs::write(bin.join("clang"), "no program").expect("a file"),
            clang => std::os::unix::fs::symlink(find(clang), bin.join("clang")).expect("a link"),
        }
    }
    let how = ["bisect", "--profile", "clang-riscv64-O2", "--build", "./builds", "idle.litmus"];
    let (status, out) = s.litmake(&how);
    assert_eq!(status, 0, "{out}");
    let last = out.lines().find(|l| l.starts_with("the first bad build")).unwrap_or_default();
    assert!(last.contains("/2.1") && last.contains("/1.10"), "{out}");
    assert!(out.contains("the 1 between them cannot tell"), "{out}");
}

#[test]
fn git_is_told_good_bad_and_neither() {
    if !CLANGS.iter().all(|c| litmake_needs::here(c)) {
        return;
    }
    let s = scene();
    let git =
        |profile: &str, test: &str| s.litmake(&["bisect", "--git", "--profile", profile, test]);
    for (profile, test, expected) in [
        ("clang-16-riscv64-O2", "idle.litmus", 0),
        ("clang-riscv64-O2@clang-22", "idle.litmus", 0),
        ("clang-riscv64-O2@clang-15", "idle.litmus", 1),
        ("clang-riscv64-O2@./nowhere", "idle.litmus", 125),
        ("clang-riscv64-O2@clang-9999", "idle.litmus", 125),
        ("no-such-profile", "idle.litmus", 128),
        ("clang-16-riscv64-O2", "missing.litmus", 128),
    ] {
        let (status, out) = git(profile, test);
        assert_eq!(status, expected, "{profile} {test}: {out}");
    }
    // A mistake in the command itself ends the bisection; alone it is bad input as anywhere.
    for (args, expected) in [(["--git", "--nonsense"], 128), (["idle.litmus", "--nonsense"], 2)] {
        let (status, out) = s.litmake(&[&["bisect"], &args[..]].concat());
        assert_eq!(status, expected, "{args:?}: {out}");
    }
}

#[test]
fn a_row_of_one_build_is_an_error() {
    let s = scene();
    let (status, out) = s.litmake(&[
        "bisect",
        "--profile",
        "clang-22-riscv64-O2",
        "--build",
        "clang-22",
        "idle.litmus",
    ]);
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("two builds are needed"), "{out}");
}
