//! Compilers that crash, hang, vanish or give garbage: what is named, reduced and kept.

use super::*;

/// Crashes on one test.
const CRASHING: &str = "#!/bin/sh
if test -f test.c && grep -q 42 test.c; then kill -SEGV $$; fi
exec cc \"$@\"
";

#[test]
fn a_crash_costs_one_test_and_is_named() {
    let s = project(CRASHING);
    let (status, report) = s.run(&[]);
    assert_eq!(status, 3);
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2, "{errors:?}");
    for error in errors {
        assert_eq!(error["test"], "tests/mp.litmus");
        assert!(error["message"].as_str().unwrap().contains("crashed (signal 11)"));
    }
    let compared = |r: &Value| r["stages"][4]["failed"].clone();
    assert_eq!(compared(&report), serde_json::json!(0));
    s.write("cc.sh", SOUND);
    assert_eq!(s.run(&[]).0, 0);
}

#[test]
fn a_missing_compiler_is_named() {
    let s = project(SOUND);
    std::fs::remove_file(s.path("cc.sh")).unwrap();
    let (status, report) = s.run(&[]);
    assert_eq!(status, 3);
    let message = report["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("cc.sh` is not installed"), "{message}");
    let (_, text) = s.litmake(&["doctor"]);
    assert!(text.contains("missing"), "{text}");
}

/// Fails in a way of its own on one test, and compiles all others.
fn failing(how: &str) -> Scratch {
    project(&format!(
        "#!/bin/sh\nif test -f test.c && grep -q 42 test.c; then {how}; fi\nexec cc \"$@\"\n"
    ))
}

/// The run ends with the status of failures, one test has failed for each level, and the other
/// was compared.
fn one_failed(s: &Scratch, message: &str) -> Value {
    let (status, report) = s.run(&[]);
    assert_eq!(status, 3, "{report:#}");
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2, "{errors:?}");
    for error in errors {
        assert_eq!(error["test"], "tests/mp.litmus");
        assert!(error["stage"].as_str().unwrap().starts_with("code[mine-O"), "{error}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains("cc.sh") && said.contains(message), "{said}");
    }
    let compared: u64 = report["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["compared"].as_u64().unwrap())
        .sum();
    assert_eq!(compared, 2);
    report
}

/// The smallest source with which the failing compiler fails.
const SMALLEST: &str = "C mp\n{}\nP0(int *data) {\n  *data = 42;\n}\nexists (true)\n";

#[test]
fn a_compiler_that_hangs_is_given_up_and_named() {
    let s = failing("sleep 600");
    let profile = std::fs::read_to_string(s.path("profiles/mine.yaml")).unwrap();
    s.write("profiles/mine.yaml", &(profile + "timeout: 1\n"));
    let report = one_failed(&s, "hung: it took over 1 s");
    assert!(report["errors"][0]["reproducer"].as_str().unwrap().contains("42"));
}

#[test]
fn a_crash_is_reduced_to_what_crashes() {
    let s = failing("kill -SEGV $$");
    let report = one_failed(&s, "crashed (signal 11)");
    assert_eq!(report["errors"][0]["reproducer"], SMALLEST);
    let (_, text) = s.litmake(&["run", "p.yaml"]);
    assert!(text.contains("reduced to:\n    C mp\n"), "{text}");
    // A driver that tells of its child's crash is no less a crash.
    let said = failing("echo 'test.c:1: internal compiler error: in expand' >&2; exit 4");
    let report = one_failed(&said, "crashed: test.c:1: internal compiler error");
    assert_eq!(report["errors"][0]["reproducer"], SMALLEST);
}

/// The reduction of a failure is kept under the compiler's key: the next run starts the compiler to
/// see that it still fails, and no more.
#[test]
fn a_crash_is_reduced_once() {
    let s = failing("echo . >> $(dirname $0)/count; kill -SEGV $$");
    let starts = |s: &Scratch| s.read("count").lines().count();
    let report = one_failed(&s, "crashed (signal 11)");
    let first = starts(&s);
    assert_eq!(report["errors"][0]["reproducer"], SMALLEST);
    let report = one_failed(&s, "crashed (signal 11)");
    assert_eq!(report["errors"][0]["reproducer"], SMALLEST);
    let second = starts(&s) - first;
    assert!(second * 4 < first, "{second} starts after {first}");
}

#[test]
fn garbage_for_an_object_file_is_named() {
    let s = failing("echo garbage > test.o; exit 0");
    let report = one_failed(&s, "wrote an object file that cannot be read");
    assert_eq!(report["errors"][0]["reproducer"], SMALLEST);
    one_failed(&failing("exit 0"), "left no object file");
}

#[test]
fn a_compiler_that_vanishes_is_named_and_nothing_of_it_is_kept() {
    // It goes when it sees a test of ours, of which the small one that it is known by has nothing.
    let s = project(
        "#!/bin/sh\nif grep -q seq_cst test.c 2>/dev/null; then rm \"$0\"; fi\nexec cc \"$@\"\n",
    );
    let (status, report) = s.run(&["--jobs", "1"]);
    assert_eq!(status, 3, "{report:#}");
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 4, "{errors:?}");
    let said = |what: &str| {
        errors.iter().filter(|e| e["message"].as_str().unwrap().contains(what)).count()
    };
    assert_eq!(said("cc.sh` is not installed"), 4, "it is looked for again: {errors:?}");
    let sources = &report["stages"][1];
    assert_eq!((&sources["name"], &sources["failed"]), (&"source".into(), &0.into()));
    s.write("cc.sh", SOUND);
    assert_eq!(s.run(&[]).0, 0);
}

/// A profile that compiles nothing costs two calls a batch, and one that shows what it reads; it is no
/// error of any one test.
#[test]
fn a_compiler_that_takes_nothing_is_not_asked_about_each_test() {
    let s = project(
        "#!/bin/sh\ntest -f test.c && echo >> \"$(dirname \"$0\")/calls\"\n\
         echo 'no such machine' >&2\nexit 1\n",
    );
    for n in 0..10 {
        s.write(&format!("tests/mp{n}.litmus"), &MP.replace("42", &format!("5{n}")));
    }
    let (status, report) = s.run(&["--jobs", "1"]);
    assert_eq!(status, 3, "{report:#}");
    let stages = report["stages"].as_array().unwrap();
    let numbers = |name: &str| {
        let stage = stages.iter().find(|s| s["name"] == name).unwrap();
        ["tasks", "executed", "cached", "failed", "skipped"].map(|k| stage[k].as_u64().unwrap_or(0))
    };
    let tests = numbers("tests")[0];
    // Two threads a test.
    assert_eq!(numbers("code[mine-O1]"), [2 * tests, 2 * tests, 0, 2 * tests, 0]);
    assert_eq!(numbers("target[mine-O1]"), [tests, 0, 0, 0, tests]);
    let calls = std::fs::read_to_string(s.path("calls")).unwrap().lines().count();
    assert_eq!(
        calls,
        2 * (2 + 4),
        "of each level: what it reads, the tests, nothing, each with and without a library"
    );
}

#[test]
fn what_stands_beside_a_test_must_not_change_its_code() {
    // Where there are several tests in a unit, it is a compiler of another kind.
    let s = project(&format!(
        "#!/bin/sh\nif test -f test.c && grep -q t1_ test.c; then {}\nfi\nexec cc \"$@\"\n",
        BUGGY.lines().nth(1).unwrap()
    ));
    assert_eq!(s.run(&["--jobs", "1"]).0, 1, "so it goes unseen");
    s.write(
        "p.yaml",
        &PIPELINE.replace("profile: '${profile}' }", "profile: '${profile}', alone: 1 }"),
    );
    let (status, report) = s.run(&["--jobs", "1"]);
    assert_eq!(status, 3, "{report:#}");
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 4, "two threads, two levels: {errors:?}");
    let said = errors[0]["message"].as_str().unwrap();
    assert!(said.contains("makes other code of it alone"), "{said}");
    s.write("cc.sh", SOUND);
    assert_eq!(s.run(&["--jobs", "1"]).0, 0);
}
