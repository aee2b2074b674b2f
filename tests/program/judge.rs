//! `litmake diff --old BUILD --new BUILD`: what a change to a compiler does, with compilers that are
//! scripts around `cc`, and with those that are installed.

#![cfg(target_arch = "x86_64")]

use litmake_needs::here;
use serde_json::Value;

use crate::scratch::{SB, Scratch};

const MP: &str = "C mp
{}
P0 (atomic_int* data, atomic_int* flag) {
  atomic_store_explicit(data, 42, memory_order_relaxed);
  atomic_store_explicit(flag, 1, memory_order_release);
}
P1 (atomic_int* data, atomic_int* flag) {
  int ready = atomic_load_explicit(flag, memory_order_acquire);
  int got = atomic_load_explicit(data, memory_order_relaxed);
}
exists (1:ready=1 /\\ 1:got=0)
";

const SOUND: &str = "#!/bin/sh\nexec cc \"$@\"\n";

/// Takes sequentially consistent stores for relaxed ones.
const BUGGY: &str = "#!/bin/sh
test -f test.c && sed -i 's/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/' test.c
exec cc \"$@\"
";

/// Two builds of gcc, and two tests.
fn builds(old: &str, new: &str) -> Scratch {
    let files = [("sb.litmus", SB), ("mp.litmus", MP), ("old/bin/gcc", old), ("new/bin/gcc", new)];
    Scratch::among(&[], &files)
}

/// The judgement of the new build.
fn judged(s: &Scratch, more: &[&str]) -> (i32, Value) {
    let args = ["diff", "--old", "./old", "--new", "./new", "--json", "sb.litmus", "mp.litmus"];
    s.json(&[&args[..], more].concat())
}

/// How many tasks of a kind were executed.
fn executed(report: &Value, kind: &str) -> u64 {
    let stages = report["stages"].as_array().unwrap().iter();
    stages.filter(|s| s["kind"] == kind).map(|s| s["executed"].as_u64().unwrap()).sum()
}

fn bugs(report: &Value) -> Vec<&str> {
    let all = report["bug_changes"].as_array().into_iter().flatten();
    all.map(|b| b["change"].as_str().unwrap()).collect()
}

#[test]
fn a_new_bug_is_told_and_only_changed_code_is_simulated() {
    let s = builds(SOUND, BUGGY);
    let (status, report) = judged(&s, &[]);
    assert_eq!((status, bugs(&report)), (1, vec!["new"]), "{report}");
    let change = &report["bug_changes"][0];
    assert_eq!(change["after"], serde_json::json!(["gcc-x86_64-O2@./new"]));
    assert_eq!(change["id"], report["findings"][0]["id"]);
    assert_eq!(report["findings"][0]["status"], "new");
    let changes = &report["changes"][0];
    assert_eq!(
        (&changes["compared"], &changes["code"], &changes["gained"]),
        (&2.into(), &1.into(), &1.into())
    );
    let threads = &changes["threads"];
    assert_eq!((&threads["compared"], &threads["changed"]), (&4.into(), &2.into()));
    let share = &threads["constructs"]["store seq_cst 32"];
    assert_eq!((&share["changed"], &share["compared"]), (&2.into(), &2.into()), "{threads}");
    assert!(threads["constructs"].get("store release 32").is_none(), "{threads}");
    // The other test is compiled, and that is all.
    assert_eq!(executed(&report, "compile"), 8);
    assert_eq!(executed(&report, "simulate"), 3, "the source and both codes of one test");
    let (status, report) = judged(&s, &[]);
    let all: u64 =
        report["stages"].as_array().unwrap().iter().map(|s| s["executed"].as_u64().unwrap()).sum();
    assert_eq!((status, all), (1, 0), "all is known");
    // A baseline that knows it, and one that is not there.
    s.write("report.json", &report.to_string());
    let update = ["baseline", "update", "report.json", "--baseline", "known.json"];
    assert_eq!(s.streams(&update).0, 0);
    let (status, report) = judged(&s, &["--baseline", "known.json"]);
    assert_eq!((status, bugs(&report)), (0, vec!["new"]), "{report}");
    let args = ["diff", "--old", "./old", "--new", "./new", "sb.litmus", "--baseline", "none.json"];
    let (status, _, err) = s.streams(&args);
    assert_eq!(
        (status, err.contains("error: there is no baseline none.json\n")),
        (2, true),
        "{err}"
    );
}

#[test]
fn a_fixed_bug_is_told_and_is_no_reason_to_fail() {
    let s = builds(BUGGY, SOUND);
    let (status, report) = judged(&s, &[]);
    assert_eq!((status, bugs(&report)), (0, vec!["fixed"]), "{report}");
    assert_eq!(report["changes"][0]["lost"], 1);
    assert_eq!(report["findings"][0]["status"], "fixed");
}

#[test]
fn equal_code_is_not_simulated_at_all() {
    let s = builds(BUGGY, BUGGY);
    let (status, report) = judged(&s, &[]);
    assert_eq!((status, bugs(&report).len()), (0, 0), "{report}");
    assert_eq!((executed(&report, "compile"), executed(&report, "simulate")), (8, 0));
    assert_eq!(report["changes"][0]["compared"], 2);
}

#[test]
fn the_judgement_reads_well_in_a_terminal_and_as_a_comment() {
    let s = builds(SOUND, BUGGY);
    let args =
        ["diff", "--old", "./old", "--new", "./new", "sb.litmus", "--markdown", "comment.md"];
    let (status, text, err) = s.streams(&[&args[..], &["--report", "r.json"]].concat());
    assert_eq!(status, 1, "{text}{err}");
    for part in [
        "gcc-x86_64-O2@./old -> gcc-x86_64-O2@./new: other code: 2 of 2 distinct threads, in 1 of 1 test\n",
        "    store seq_cst 32: 2 of 2\n",
        "  outcomes: 1 test gains some\n    sb.litmus\n      + 0:r=0; 1:r=0;\n",
        "\nnew: X86: a seq_cst store does not order a later seq_cst load: 1 test [gcc-x86_64-O2@./new] (",
        "  before: none; after: gcc-x86_64-O2@./new\n",
        " litmake check --profile gcc-x86_64-O2@./new ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.ends_with("\n1 new bug\n"), "{text}");
    let id = serde_json::from_str::<Value>(&s.read("r.json")).unwrap()["findings"][0]["id"].clone();
    let comment = s.read("comment.md");
    for part in
        ["### litmake: 1 new bug\n", &format!("| new | {} |", id.as_str().unwrap()), "```c\nC "]
    {
        assert!(comment.contains(part), "{part}\n{comment}");
    }
    // What is left out is said, and why.
    let left_out = "aarch64, aarch64-armv8.1-a, armv7, riscv64, ppc64le, mips64el\n";
    assert!(err.contains(&format!("compile for them: {left_out}")), "{err}");
    // A build is a profile for every command.
    let check = ["check", "--profile", "gcc-x86_64-O2@./new", "sb.litmus", "-q"];
    let (status, text, _) = s.streams(&check);
    assert_eq!(status, 1);
    assert!(text.contains("  present in gcc ./new\n"), "{text}");
}

#[test]
fn what_is_no_build_is_refused_in_one_line() {
    let s = builds(SOUND, SOUND);
    std::fs::create_dir(s.path("empty")).unwrap();
    s.write("cc.sh", SOUND);
    for (args, expected) in [
        (&["--old", "old", "--new", "./new"][..], "error: there is no compiler `old`"),
        (&["--old", "./none", "--new", "./new"], "error: there is no compiler `./none`"),
        (&["--old", "./empty", "--new", "./new"], "error: there is no compiler in ./empty"),
        (
            &["--old", "./cc.sh", "--new", "./new"],
            "error: it is not known which compiler `./cc.sh` is",
        ),
        (
            &["--old", "./old", "--new", "./new", "--target", "aarch65"],
            "error: gcc has no target `aarch65`\n  help: did you mean `aarch64`?",
        ),
        (
            &["--old", "./old", "--new", "./new", "--target", "aarch64"],
            "error: the build ./old has no `aarch64-linux-gnu-gcc`",
        ),
        (&["--old", "./old", "--new", "./new", "--level", "O9"], "error: gcc has no level `O9`"),
        (
            &["--old", "gcc-x86_64-O2@./old", "--new", "./new", "--level", "O1"],
            "error: a profile says what it compiles for",
        ),
    ] {
        let (status, out, err) = s.streams(&[&["diff"], args, &["sb.litmus"]].concat());
        assert_eq!(status, 2, "{args:?} {out}{err}");
        assert!(err.starts_with(expected), "{args:?} {err}");
    }
}

#[test]
fn a_profile_stands_for_a_build() {
    let s = builds(SOUND, BUGGY);
    s.write("cc.sh", BUGGY);
    s.write("mine.yaml", "name: mine\ncompiler: ./cc.sh\nargs: ['-O2']\narch: X86_64\n");
    for new in ["gcc-x86_64-O1@./new", "mine.yaml", "mine.yaml@./new/bin/gcc"] {
        let args = ["diff", "--old", "gcc-x86_64-O1@./old", "--new", new, "sb.litmus", "-q"];
        let (status, out, err) = s.streams(&args);
        assert_eq!(status, 1, "{new} {out}{err}");
    }
    let (status, out, err) =
        s.streams(&["diff", "--old", "./cc.sh", "--new", "gcc-x86_64-O1@./new", "sb.litmus", "-q"]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(out.starts_with("gcc-x86_64-O1@./cc.sh -> "), "{out}");
}

#[test]
fn builds_that_a_profile_lists_are_versions_in_order() {
    let s = builds(SOUND, SOUND);
    for (name, text) in [("r9", SOUND), ("r10", BUGGY), ("r11", BUGGY), ("r100", SOUND)] {
        s.write(&format!("builds/{name}/bin/gcc"), text);
    }
    s.write("builds/README", "no build");
    let profile =
        "name: mine-${version}\nbuilds: ../builds\ncompiler: gcc\nargs: ['-O2']\narch: X86_64\n";
    s.write("profiles/mine.yaml", profile);
    let (status, text, err) = s.streams(&["check", "--profile", "mine-r10", "sb.litmus", "-q"]);
    assert_eq!(status, 1, "{text}{err}");
    let said = "  present in gcc r10, r11\n  absent from gcc r9, r100\n  began between gcc r9 and r10\n  \
                ended between gcc r11 and r100\n";
    assert!(text.contains(said), "{text}");
    // As the file lists them.
    let list = "builds: [../builds/r100, ../builds/r10, ../builds/r9]";
    s.write("profiles/mine.yaml", &profile.replace("builds: ../builds", list));
    let (_, text, _) = s.streams(&["check", "--profile", "mine-r10", "sb.litmus", "-q"]);
    let said = "  began between gcc r100 and r10\n  ended between gcc r10 and r9\n";
    assert!(text.contains(said), "{text}");
    for (builds, expected) in [
        ("../none", "error: there is no build with `gcc` in ./none\n"),
        ("[../builds/r9, ../builds/r9]", "error: two builds are called `r9`\n"),
    ] {
        s.write("profiles/mine.yaml", &profile.replace("../builds", builds));
        let (status, _, err) = s.streams(&["check", "--profile", "mine-r9", "sb.litmus", "-q"]);
        assert_eq!(status, 2, "{err}");
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn the_suite_shows_known_kinds_of_bugs() {
    // A failing compare-exchange of LLVM 22 for Power, and unused exchanges of clang 16.
    for (old, new, target, expected, status) in [
        ("clang-19", "clang-22", "ppc64le", "new", 1),
        ("clang-16", "clang-19", "aarch64-armv8.1-a", "fixed", 0),
    ] {
        if !here(old) || !here(new) {
            continue;
        }
        let s = Scratch::among(&[old, new], &[]);
        let args = ["diff", "--old", old, "--new", new, "--target", target, "--json", "-q"];
        let (found, out, err) = s.streams(&args);
        let report: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        assert_eq!(report["errors"].as_array().unwrap().len(), 0, "{err}");
        assert!(bugs(&report).contains(&expected), "{old} {new}: {:?}", report["bug_changes"]);
        assert_eq!(found, status, "{old} {new}");
    }
}
