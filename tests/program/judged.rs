//! Green means judged: the ways to judge less than was asked, and what each output says of them.

#![cfg(target_arch = "x86_64")]

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::scratch::{SB, Scratch};

pub const SOUND: &str = "#!/bin/sh\nexec cc \"$@\"\n";

/// Two plain accesses race.
const RACY: &str = "C racy
{}
P0 (int* x, int* y) {
  *x = 1;
  *y = 1;
}
P1 (int* x, int* y) {
  int r0 = *y;
  int r1 = *x;
}
exists (1:r0=1 /\\ 1:r1=0)
";

pub const PIPELINE: &str = "name: scratch
stages:
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: code, compile: { from: tests, profile: mine } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target } }
";

/// A pipeline with some tests and a profile of a compiler, which is a script.
pub fn project(compiler: &str, tests: &[(&str, &str)]) -> Scratch {
    let s = Scratch::with(&[("p.yaml", PIPELINE), ("cc.sh", compiler)]);
    let profile = format!(
        "name: mine\ncompiler: {}\nargs: ['-O2']\narch: X86_64\n",
        s.path("cc.sh").display()
    );
    s.write("profiles/mine.yaml", &profile);
    tests.iter().for_each(|(name, text)| s.write(&format!("tests/{name}"), text));
    s
}

/// The options by which a run writes every output, and the outputs.
pub const OUTPUTS: [&str; 10] = [
    "--report",
    "r.json",
    "--html",
    "r.html",
    "--junit",
    "r.xml",
    "--sarif",
    "r.sarif",
    "--history",
    "record",
];

/// No output of a run is green, and each says some words. `printed` is what the run printed.
pub fn none_is_green(s: &Scratch, printed: &str, words: &str) -> Value {
    let report: Value = serde_json::from_str(&s.read("r.json")).unwrap();
    assert_ne!(report["verdict"]["state"], "complete", "{report:#}");
    let (status, said) = s.litmake(&["site", "pages", "--history", "record"]);
    assert_eq!(status, 0, "{said}");
    let (_, list) = s.litmake(&["history", "list", "--history", "record"]);
    let (_, table) = s.litmake(&["history", "list", "--markdown", "--history", "record"]);
    let (_, last) = s.litmake(&["history", "show", "last", "--history", "record"]);
    let page = std::fs::read_dir(s.path("pages")).unwrap().map(|f| f.unwrap().path());
    let page = page.filter(|p| p.to_string_lossy().contains("run-")).last();
    let page = page.map_or(String::new(), |p| std::fs::read_to_string(p).unwrap());
    let outputs = [
        ("terminal", printed.to_string()),
        ("html", s.read("r.html")),
        ("junit", s.read("r.xml")),
        ("sarif", s.read("r.sarif")),
        ("history list", list),
        ("history list --markdown", table),
        ("history show", last),
        ("site", s.read("pages/index.html")),
        ("run page", page),
    ];
    for (name, text) in &outputs {
        for green in ["no new findings", "nothing new", "no bugs", "class=\"good\""] {
            assert!(!text.contains(green), "{name} says {green}: {text}");
        }
        assert!(text.contains(words), "{name} does not say {words}: {text}");
    }
    assert!(outputs[2].1.contains("<error message=\""), "{}", outputs[2].1);
    assert!(outputs[3].1.contains("\"executionSuccessful\": false"), "{}", outputs[3].1);
    report
}

#[test]
fn a_run_that_judged_everything_says_so() {
    let s = project(SOUND, &[("sb.litmus", SB), ("racy.litmus", RACY)]);
    let (status, text) = s.litmake(&[&["run", "p.yaml"][..], &OUTPUTS].concat());
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("\nno new findings\n"), "{text}");
    let words = "complete: 1 of 2 comparisons judged, 1 with an undefined source";
    for text in [text, s.read("r.html"), s.read("r.xml"), s.read("r.sarif")] {
        assert!(text.contains(words), "{text}");
    }
    let report: Value = serde_json::from_str(&s.read("r.json")).unwrap();
    let expected = serde_json::json!({
        "state": "complete", "asked": 2, "judged": 1, "undefined": 1, "not_compared": {},
        "errors": 0, "shard": null, "stopped": false,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&report["verdict"][key], value, "{key}");
    }
    let (_, list) = s.litmake(&["history", "list", "--history", "record"]);
    assert!(list.contains("nothing new") && list.contains(words), "{list}");
}

#[test]
fn a_part_alone_is_not_the_whole() {
    let tests: Vec<String> = (0..8).map(|i| format!("t{i}.litmus")).collect();
    let tests: Vec<(&str, &str)> = tests.iter().map(|name| (name.as_str(), SB)).collect();
    let s = project(SOUND, &tests);
    for i in ["1", "2"] {
        let (shard, report) = (format!("{i}/2"), format!("part-{i}.json"));
        let (status, text) =
            s.litmake(&["run", "p.yaml", "--stable", "--shard", &shard, "--report", &report]);
        assert_eq!(status, 0, "{text}");
        assert!(text.contains(&format!("only part {i} of 2: no new findings")), "{text}");
        let report: Value = serde_json::from_str(&s.read(&report)).unwrap();
        assert_eq!(report["verdict"]["shard"], shard);
    }
    // One part alone.
    let args = ["merge", "part-1.json", "--report", "r.json", "--html", "r.html"];
    let more = ["--junit", "r.xml", "--sarif", "r.sarif"];
    let (status, text) = s.litmake(&[&args[..], &more].concat());
    assert_eq!(status, 3, "{text}");
    let (_, said) = s.litmake(&["history", "add", "r.json", "--history", "record"]);
    assert!(said.contains("part 2 of 2 is missing"), "{said}");
    none_is_green(&s, &text, "part 2 of 2 is missing");
    // The same part twice.
    let (status, text) = s.litmake(&["merge", "part-1.json", "part-1.json"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("part 1 of 2 is given twice"), "{text}");
    // Both: what a whole run says, to the byte.
    let (status, text) =
        s.litmake(&["merge", "part-2.json", "part-1.json", "--stable", "--report", "both.json"]);
    assert_eq!(status, 0, "{text}");
    s.litmake(&["run", "p.yaml", "--stable", "--report", "whole.json"]);
    assert_eq!(s.read("both.json"), s.read("whole.json"));
}

/// coreutils' `timeout` signals its child, and then the child's group.
#[test]
fn a_run_that_is_stopped_says_so_in_every_output_even_if_the_signal_comes_twice() {
    let s = project(SOUND, &[("sb.litmus", SB)]);
    // It says so and sleeps when it sees a test of ours.
    let asleep = s.path("asleep");
    s.write(
        "cc.sh",
        &format!(
            "#!/bin/sh\ngrep -q seq_cst test.c 2>/dev/null && touch {} && sleep 600\nexec cc \"$@\"\n",
            asleep.display()
        ),
    );
    let child = s
        .command(&[&["run", "p.yaml", "--jobs", "1"][..], &OUTPUTS].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !asleep.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    for _ in 0..2 {
        // SAFETY: it is not waited for yet.
        unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        std::thread::sleep(Duration::from_millis(50));
    }
    let out = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!((out.status.code(), out.status.signal()), (Some(143), None), "{printed}");
    let report = none_is_green(&s, &printed, "stopped before its end");
    assert_eq!(report["verdict"]["stopped"], true);
    assert_eq!(report["verdict"]["judged"], 0);
}

#[test]
fn a_run_without_its_compiler_has_judged_nothing() {
    let s = project(SOUND, &[("sb.litmus", SB)]);
    std::fs::remove_file(s.path("cc.sh")).unwrap();
    let (status, text) = s.litmake(&[&["run", "p.yaml"][..], &OUTPUTS].concat());
    assert_eq!(status, 3, "{text}");
    let report = none_is_green(&s, &text, "nothing judged: 0 of 1 comparison judged");
    let reasons = &report["verdict"]["not_compared"];
    assert_eq!(*reasons, serde_json::json!({ "a tool, device or model is missing": 1 }));
    // Both preparations of `check` lack it, and it is said once.
    let (status, text) = s.litmake(&["check", "--profile", "mine", "tests/sb.litmus"]);
    assert_eq!(status, 3, "{text}");
    assert_eq!(text.matches("is not installed").count(), 1, "{text}");
}

#[test]
fn sources_that_are_all_undefined_leave_nothing_judged_and_the_race_is_named() {
    let s = project(SOUND, &[("racy.litmus", RACY)]);
    let (status, text) = s.litmake(&[&["run", "p.yaml"][..], &OUTPUTS].concat());
    assert_eq!(status, 3, "{text}");
    let report = none_is_green(
        &s,
        &text,
        "nothing judged: 0 of 1 comparison judged, 1 with an undefined source",
    );
    let why = report["verdict"]["why_undefined"][0]["why"].as_str().unwrap().to_string();
    // One access of each thread, to one location.
    for access in ["(P0, line ", "(P1, line ", " race"] {
        assert!(why.contains(access), "{why}");
    }
    assert!(why.contains("[x]") ^ why.contains("[y]"), "{why}");
    let (status, text) = s.litmake(&["check", "--profile", "mine", "tests/racy.litmus"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("nothing judged") && text.contains(&why), "{text}");
    assert!(!text.contains("no new findings"), "{text}");
}

/// Store buffering by plain accesses to atomic objects: in C11 they are seq_cst, and no thread misses
/// the other's store. In herd they race.
#[test]
fn plain_accesses_to_atomic_objects_are_c11s_where_tests_are_compiled() {
    let plain = "C plain
{}
P0 (atomic_int* x, atomic_int* y) { *x = 1; int r0 = *y; }
P1 (atomic_int* x, atomic_int* y) { *y = 1; int r0 = *x; }
exists (0:r0=0 /\\ 1:r0=0)
";
    let s = project(SOUND, &[("plain.litmus", plain)]);
    let (status, text) = s.litmake(&[&["run", "p.yaml"][..], &OUTPUTS].concat());
    assert_eq!(status, 0, "{text}");
    let note = "1 test has accesses such as `*x = 1` to atomic objects";
    assert_eq!(text.matches(note).count(), 1, "{text}");
    for output in ["r.html", "r.xml", "r.sarif"] {
        assert_eq!(s.read(output).matches(note).count(), 1, "{output}");
    }
    // A compiler that makes them relaxed is wrong.
    s.write(
        "cc.sh",
        "#!/bin/sh\ntest -f test.c && sed -i 's/^  \\*\\([a-z0-9_]*\\) = 1;/  atomic_store_explicit(\\1, 1, memory_order_relaxed);/' test.c\nexec cc \"$@\"\n",
    );
    let check = ["check", "--profile", "mine", "--storage", "pointers", "tests/plain.litmus"];
    let (status, text) = s.litmake(&check);
    assert!(status == 1 && text.contains("1 finding"), "{text}");
    let twice = ["tests/plain.litmus", "tests/plain.litmus"];
    for (reading, outcomes, undefined, note) in [
        ("herd", "States 4", true, "as herd has them"),
        ("c11", "States 3", false, "as C11 has them"),
    ] {
        let (status, text) =
            s.litmake(&[&["sim", "--plain-atomics", reading][..], &twice].concat());
        assert_eq!(status, 0, "{text}");
        assert_eq!(text.matches(outcomes).count(), 2, "{text}");
        assert_eq!(text.contains("Undef"), undefined, "{text}");
        assert_eq!(text.matches(note).count(), 1, "{text}");
    }
}

#[test]
fn a_file_that_cannot_be_read_costs_itself_alone() {
    let s = project(SOUND, &[("sb.litmus", SB)]);
    std::os::unix::fs::symlink("nowhere", s.path("tests/gone.litmus")).unwrap();
    let (status, text) = s.litmake(&[&["run", "p.yaml"][..], &OUTPUTS].concat());
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("error tests: tests/gone.litmus: cannot read it"), "{text}");
    assert!(!text.contains("error: error"), "{text}");
    let report = none_is_green(&s, &text, "partial: 1 of 2 comparisons judged; 1 not compared");
    assert_eq!(report["verdict"]["not_compared"], serde_json::json!({ "cannot be read": 1 }));
    // `check` of the folder goes on, too.
    let (status, text) = s.litmake(&["check", "--profile", "mine", "tests"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("partial: 1 of 2 comparisons judged"), "{text}");
}

#[test]
fn names_that_nothing_reads_and_patterns_that_match_nothing_are_errors() {
    let s = project(SOUND, &[("sb.litmus", SB)]);
    let error = |from: &str, to: &str| {
        s.write("q.yaml", &PIPELINE.replace(from, to));
        let (status, text) = s.litmake(&["run", "q.yaml"]);
        assert_eq!(status, 2, "{text}");
        text
    };
    let text = error("stages:", "vars: { sampel: 1 }\nstages:");
    assert!(text.contains("nothing reads the variable `sampel`"), "{text}");
    let text = error("- { name: code,", "- { name: code, matrix: { profil: [mine] },");
    assert!(text.contains("nothing reads the variable `profil`"), "{text}");
    let text = error("{ files: tests }", "{ files: tests, keep: ['name=sb', 'name=mp'] }");
    assert!(text.contains("no test has name=mp"), "{text}");
    let text = error(
        "{ files: tests }",
        "{ arch: C, vocabulary: 'Pod** Rfe Fre Coe', size: 4, threads: 2, keep: ['name=MP*', 'name=none*'] }",
    );
    assert!(text.contains("no test has name=none*"), "{text}");
}

#[test]
fn the_place_of_an_error_begins_with_the_file() {
    let broken = SB.replace("P1", "P1 (");
    let s = project(SOUND, &[("broken.litmus", &broken), ("sb.litmus", SB)]);
    for args in [&["run", "p.yaml"][..], &["check", "--profile", "mine", "tests"]] {
        let (status, text) = s.litmake(args);
        assert_eq!(status, 2, "{text}");
        assert!(text.contains("error source: tests/broken.litmus:"), "{text}");
        assert!(!text.contains(": :"), "{text}");
    }
}

/// A model with so many ways through it that no judgement ends.
const ENDLESS: &str = "\"Endless\"
include \"cos.cat\"
with one from linearisations(M, po)
with two from linearisations(M, po)
acyclic one | two | rf | co | fr
";

#[test]
fn a_model_that_never_ends_costs_its_tests_alone() {
    let s = project(SOUND, &[("sb.litmus", SB)]);
    s.write("endless.cat", ENDLESS);
    s.write("one.litmus", SB);
    s.write(
        "q.yaml",
        &PIPELINE.replace(
            "  - { name: source, simulate: { from: tests, model: rc11 } }\n",
            "  - { name: source, simulate: { from: tests, model: endless.cat, timeout: 1 } }\n",
        ),
    );
    // Without the limit each of these takes minutes.
    let (status, text) = s.litmake(&["run", "q.yaml"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("no answer within 1 s") && text.contains("1 out of time"), "{text}");
    for engine in ["auto", "enumerate", "solve", "exhaustive"] {
        let args =
            ["sim", "--model", "endless.cat", "--timeout", "1", "--engine", engine, "one.litmus"];
        let (status, text) = s.litmake(&args);
        assert_eq!(status, 2, "{engine}: {text}");
        assert!(text.contains("no answer within 1 s"), "{engine}: {text}");
    }
}

#[test]
fn a_signal_reaches_into_a_model() {
    let s = project(SOUND, &[("sb.litmus", SB)]);
    s.write("endless.cat", ENDLESS);
    s.write("p.yaml", &PIPELINE.replace("model: rc11", "model: endless.cat, timeout: 600"));
    let mut child = s
        .command(&["run", "p.yaml", "source", "--events", "e.jsonl", "--report", "r.json"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The simulation has begun once the list of tests is known.
    let begun = || std::fs::read_to_string(s.path("e.jsonl")).is_ok_and(|e| e.contains("source"));
    while !begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    // SAFETY: it is not waited for yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let report: Value = serde_json::from_str(&s.read("r.json")).unwrap();
    assert_eq!(report["verdict"]["state"], "nothing-judged");
    assert_eq!(report["verdict"]["stopped"], true);
}

#[test]
fn a_large_model_is_read_within_the_time() {
    let s = Scratch::with(&[("sb.litmus", SB)]);
    let mut text = String::from("\"Large\"\ninclude \"cos.cat\"\n");
    for i in 0..400_000 {
        text.push_str(&format!("let x{i} = rf\n"));
    }
    s.write("large.cat", &text);
    let args = ["sim", "--model", "large.cat", "--timeout", "0.05", "sb.litmus"];
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("large.cat: it cannot be read in time"), "{text}");
}

#[test]
fn tests_with_equal_code_are_compared_and_have_not_failed() {
    let s = Scratch::with(&[("sb.litmus", SB), ("old/bin/gcc", SOUND), ("new/bin/gcc", SOUND)]);
    let args = ["diff", "--old", "./old", "--new", "./new", "--target", "x86_64", "sb.litmus"];
    let (status, text) = s.litmake(&[&args[..], &["--markdown", "c.md"]].concat());
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("complete: 1 of 1 comparison judged"), "{text}");
    assert!(text.ends_with("\nno new bugs\n") && !text.contains("failed"), "{text}");
    assert!(s.read("c.md").contains("complete: 1 of 1 comparison judged"), "{}", s.read("c.md"));
}
