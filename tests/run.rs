//! The program from end to end, in scratch folders, with compilers that are scripts around `cc`.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use litmake_needs::{here, need};
use serde_json::Value;

mod cpu;

/// Store buffering, sequentially consistent.
const SB: &str = include_str!("common/sb.litmus");

const MP: &str = "C mp
{}
P0 (int* data, atomic_int* flag) {
  *data = 42;
  atomic_store_explicit(flag, 1, memory_order_release);
}
P1 (int* data, atomic_int* flag) {
  int ready = atomic_load_explicit(flag, memory_order_acquire);
  int got = 42;
  if (ready) {
    got = *data;
  }
}
exists (1:ready=1 /\\ 1:got=0)
";

/// A compiler that takes sequentially consistent stores for relaxed ones.
const BUGGY: &str = "#!/bin/sh
test -f test.c && sed -i 's/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/' test.c
exec cc \"$@\"
";

const SOUND: &str = "#!/bin/sh\nexec cc \"$@\"\n";

/// Crashes on one test.
const CRASHING: &str = "#!/bin/sh
if test -f test.c && grep -q 42 test.c; then kill -SEGV $$; fi
exec cc \"$@\"
";

const PIPELINE: &str = "name: scratch
vars: { profiles: 'mine-O1,mine-O2' }
stages:
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - name: code
    matrix: { profile: ['${profiles}'] }
    compile: { from: tests, profile: '${profile}' }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target } }
";

struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new(compiler: &str) -> Scratch {
        let out = Scratch { dir: tempfile::tempdir().unwrap() };
        out.write("p.yaml", PIPELINE);
        out.write("tests/sb.litmus", SB);
        out.write("tests/mp.litmus", MP);
        out.compiler(compiler);
        let profile = format!(
            "name: mine-${{level}}\nmatrix: {{ level: [O1, O2] }}\ncompiler: {}\nargs: ['-${{level}}']\narch: X86_64\n",
            out.path("cc.sh").display()
        );
        out.write("profiles/mine.yaml", &profile);
        out
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn compiler(&self, text: &str) {
        self.write("cc.sh", text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path("cc.sh"), mode).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litmake"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_remove("GITHUB_ACTIONS")
            .env_remove("LITMAKE_CACHE")
            .stdin(Stdio::null());
        command
    }

    fn litmake(&self, args: &[&str]) -> (i32, String) {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        (status.code().unwrap_or(-1), text)
    }

    fn run(&self, more: &[&str]) -> (i32, Value) {
        let mut args = vec!["run", "p.yaml", "--report", "report.json"];
        args.extend(more);
        let (status, text) = self.litmake(&args);
        let report = std::fs::read_to_string(self.path("report.json"))
            .unwrap_or_else(|_| panic!("no report: {text}"));
        (status, serde_json::from_str(&report).unwrap())
    }
}

fn executed(report: &Value) -> u64 {
    let stages = report["stages"].as_array().unwrap();
    stages.iter().map(|s| s["executed"].as_u64().unwrap()).sum()
}

fn statuses(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| (f["test"].as_str().unwrap(), f["status"].as_str().unwrap())).collect()
}

#[test]
fn events_tell_of_the_tasks_and_then_of_each_finding_that_is_looked_into() {
    let s = Scratch::new(BUGGY);
    let (status, _) = s.run(&["--events", "events.jsonl"]);
    assert_eq!(status, 1);
    let text = std::fs::read_to_string(s.path("events.jsonl")).unwrap();
    let events: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(events[0]["event"], "started");
    let end = events.iter().position(|e| e["event"] == "finished").unwrap();
    let rest = &events[end + 1..];
    assert!(rest.iter().all(|e| e["event"] == "investigating"), "{rest:?}");
    // Two differences, which are one bug, and then what there is to know of that.
    let count = |e: &Value| (e["done"].as_u64().unwrap(), e["findings"].as_u64().unwrap());
    let counts: Vec<_> = rest.iter().map(count).collect();
    assert_eq!((counts[0], rest[0]["test"].as_str()), ((0, 2), Some("tests/sb.litmus")));
    let next = counts.iter().position(|c| *c == (2, 2)).unwrap();
    assert_eq!(rest[next]["test"], "");
    assert_eq!(counts[next + 1..], [(0, 1), (1, 1)]);
    assert_eq!(
        (&rest[next + 1]["test"], &rest[next + 2]["test"]),
        (&"tests/sb.litmus".into(), &"".into())
    );
}

#[test]
fn a_bug_is_found_once_and_nothing_runs_twice() {
    let s = Scratch::new(BUGGY);
    let (status, report) = s.run(&[]);
    assert_eq!(status, 1, "{report:#}");
    assert_eq!(statuses(&report), [("tests/sb.litmus", "new")], "one bug on two profiles");
    let finding = &report["findings"][0];
    assert_eq!(finding["class"], "concurrency");
    assert_eq!(finding["by_profile"], serde_json::json!({ "mine-O1": 1, "mine-O2": 1 }));
    let occurrences = finding["occurrences"].as_array().unwrap();
    assert_eq!(occurrences.len(), 2);
    for (occurrence, profile) in occurrences.iter().zip(["mine-O1", "mine-O2"]) {
        assert_eq!(occurrence["test"], "tests/sb.litmus");
        assert_eq!(occurrence["profiles"], serde_json::json!([profile]));
        assert_eq!(occurrence["outcomes"]["forbidden"], finding["outcomes"]["forbidden"]);
    }
    assert_eq!(finding["profiles"][0], "mine-O1");
    assert_eq!(
        (&finding["model_source"], &finding["model_target"]),
        (&"rc11".into(), &"x86tso".into())
    );
    assert_eq!(finding["outcomes"]["forbidden"], serde_json::json!([{ "0:r": "0", "1:r": "0" }]));
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (1, 0));
    // Every file touched: nothing is new.
    for name in ["tests/sb.litmus", "tests/mp.litmus", "p.yaml", "cc.sh"] {
        let file = std::fs::File::options().append(true).open(s.path(name)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    assert_eq!(executed(&s.run(&[]).1), 0);
    // The command that a finding names shows it again.
    let words: Vec<&str> = finding["command"].as_str().unwrap().split(' ').skip(1).collect();
    let (status, text) = s.litmake(&words);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("0:r=0; 1:r=0;"), "{text}");
}

#[test]
fn a_fresh_checkout_runs_nothing_and_changes_run_what_they_touch() {
    let s = Scratch::new(SOUND);
    s.write(
        "p.yaml",
        "stages:\n  - {name: tests, generate: {files: tests}}\n  - {name: a, simulate: {from: tests, model: sc}}\n  - {name: b, simulate: {from: tests, model: rc11}}\n  - {name: c, compare: {source: a, target: b}}\n",
    );
    let text = |i: usize, value: usize| {
        SB.replace("(x, 1,", &format!("(x, {value},")).replace("C sb", &format!("C t{i}"))
    };
    for i in 0..200 {
        s.write(&format!("tests/t{i:03}.litmus"), &text(i, 100 + i));
    }
    s.run(&[]);
    // Other inodes, other times, the same content.
    for i in 0..200 {
        let path = s.path(&format!("tests/t{i:03}.litmus"));
        let copy = s.path("copy");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::rename(&copy, &path).unwrap();
    }
    assert_eq!(executed(&s.run(&[]).1), 0);
    // A new name is nothing to a simulation; a new value is.
    s.write("tests/t007.litmus", &text(1007, 107));
    assert_eq!(executed(&s.run(&[]).1), 0);
    s.write("tests/t107.litmus", &text(107, 1107));
    s.write("tests/t108.litmus", &text(108, 1108));
    let ran = executed(&s.run(&[]).1);
    assert!((4..=6).contains(&ran), "both simulations of two tests, and what differs then: {ran}");
}

#[test]
fn an_archive_is_as_good_as_its_files() {
    let s = Scratch::new(BUGGY);
    let tar = |s: &Scratch| {
        let made =
            Command::new("tar").args(["cf", "t.tar", "tests"]).current_dir(s.dir.path()).status();
        assert!(made.is_ok_and(|m| m.success()), "tar is there");
    };
    tar(&s);
    s.write("p.yaml", &PIPELINE.replace("files: tests", "files: t.tar"));
    let (status, report) = s.run(&[]);
    assert_eq!(status, 1, "{report:#}");
    assert_eq!(statuses(&report), [("t.tar/tests/sb.litmus", "new")]);
    assert_eq!(executed(&s.run(&[]).1), 0);
    // The command of a finding finds the test in the archive.
    let command = report["findings"][0]["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let (status, text) = s.litmake(&words);
    assert_eq!(status, 1, "{text}");
    let (status, text) = s.litmake(&["sim", "t.tar/tests/sb.litmus", "t.tar"]);
    assert_eq!((status, text.matches("Observation sb ").count()), (0, 2), "{text}");
    // So is their folder.
    let (status, folder) = s.litmake(&["sim", "tests"]);
    let (_, archive) = s.litmake(&["sim", "t.tar"]);
    let observed = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|l| l.starts_with("Observation "));
        lines.map(str::to_string).collect()
    };
    assert_eq!((status, observed(&folder)), (0, observed(&archive)), "{folder}");
    std::fs::create_dir(s.dir.path().join("none")).unwrap();
    let (status, text) = s.litmake(&["sim", "none"]);
    assert_eq!((status, text.contains("there is no test in the folder none")), (2, true), "{text}");
    let (status, text) = s.litmake(&["sim", "t.tar/tests/no.litmus"]);
    assert_eq!((status, text.contains("it is not in the archive")), (2, true), "{text}");
    // Made anew with one test changed.
    s.write("tests/mp.litmus", &MP.replace("C mp", "C mp-renamed"));
    tar(&s);
    let ran = executed(&s.run(&[]).1);
    assert_eq!(ran, 0, "its threads are known");
    s.write("t.tar", "this is no archive");
    let (status, text) = s.litmake(&["run", "p.yaml"]);
    assert_eq!(status, 2);
    assert!(text.contains("cannot read t.tar: no tar file"), "{text}");
}

#[test]
fn a_sound_compiler_gives_no_findings() {
    let s = Scratch::new(SOUND);
    let (status, report) = s.run(&[]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(statuses(&report), []);
    assert_eq!(report["errors"], serde_json::json!([]));
}

#[test]
fn reports_are_equal_whatever_the_jobs() {
    let mut texts = Vec::new();
    let s = Scratch::new(BUGGY);
    for jobs in ["1", "2", "5"] {
        let cache = format!("cache-{jobs}");
        s.run(&["--stable", "--jobs", jobs, "--cache", &cache]);
        texts.push(std::fs::read_to_string(s.path("report.json")).unwrap());
    }
    s.run(&["--stable", "--cache", "cache-2"]);
    texts.push(std::fs::read_to_string(s.path("report.json")).unwrap());
    assert!(texts.iter().all(|t| *t == texts[0]));
    assert!(!texts[0].contains("seconds") && !texts[0].contains("executed"));
}

#[test]
fn a_dry_run_agrees_with_the_run() {
    let s = Scratch::new(SOUND);
    let (status, text) = s.litmake(&["run", "p.yaml", "--dry-run"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("10 tasks would run, and up to 8 after them"), "{text}");
    // Sources, threads, targets, verdicts; where both levels give equal code, half of the last two.
    let ran = executed(&s.run(&[]).1);
    assert!((2 + 8 + 2 + 2..=2 + 8 + 4 + 4).contains(&ran), "{ran}");
    let (_, text) = s.litmake(&["run", "p.yaml", "--dry-run"]);
    assert!(text.contains("nothing to run"), "{text}");
    s.write("tests/sb.litmus", &SB.replace("C sb", "C sb-renamed"));
    // A new name: the sources' outcomes are known, and so is the code of the threads.
    let (_, text) = s.litmake(&["run", "p.yaml", "--dry-run"]);
    assert!(text.contains("nothing to run"), "{text}");
    assert_eq!(executed(&s.run(&[]).1), 0);
    s.write("tests/sb.litmus", &SB.replace("y, 1", "y, 2"));
    let (_, text) = s.litmake(&["run", "p.yaml", "--dry-run"]);
    assert!(text.contains("tests are new or changed"), "{text}");
    assert!(text.contains("tests/sb.litmus"), "{text}");
    // One thread of it is new, at two levels.
    let stages = s.run(&[]).1["stages"].clone();
    let code = |s: &&Value| s["kind"] == "compile";
    let ran = |s: &Value| s["executed"].as_u64().unwrap();
    assert_eq!(stages.as_array().unwrap().iter().filter(code).map(ran).sum::<u64>(), 2);
}

#[test]
fn another_compiler_at_the_same_path_is_seen_and_explained() {
    let s = Scratch::new(SOUND);
    assert_eq!(s.run(&[]).0, 0);
    s.compiler(&SOUND.replace("exec", "exec  "));
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 8), "only compiled: the code is equal");
    let (status, text) = s.litmake(&["explain", "p.yaml", "sb"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("code[mine-O1] P0 ran: what it reads changed"), "{text}");
    assert!(text.contains("cc.sh changed, from "), "{text}");
    assert!(text.contains("      cc.sh changed\n"), "which of its files: {text}");
    assert!(text.contains("target[mine-O1] did not run: nothing that it reads changed"), "{text}");
    let (_, text) = s.litmake(&["explain", "p.yaml", "code[mine-O1]"]);
    assert!(text.contains("4 tasks ran in the last run"), "{text}");
    s.compiler(BUGGY);
    assert_eq!(s.run(&[]).0, 1);
}

#[test]
fn a_crash_costs_one_test_and_is_named() {
    let s = Scratch::new(CRASHING);
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
    s.compiler(SOUND);
    assert_eq!(s.run(&[]).0, 0);
}

#[test]
fn a_missing_compiler_is_named() {
    let s = Scratch::new(SOUND);
    std::fs::remove_file(s.path("cc.sh")).unwrap();
    let (status, report) = s.run(&[]);
    assert_eq!(status, 3);
    let message = report["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("cc.sh` is not installed"), "{message}");
    let (_, text) = s.litmake(&["doctor"]);
    assert!(text.contains("missing"), "{text}");
}

#[test]
fn a_broken_test_is_wrong_input_and_the_rest_goes_on() {
    let s = Scratch::new(BUGGY);
    s.write("tests/bad.litmus", "C bad\n{}\nP0 (int* x) { *x = ; }\nexists (x=1)\n");
    let (status, report) = s.run(&[]);
    assert_eq!(status, 2, "{report:#}");
    assert_eq!(statuses(&report).len(), 1);
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "said once: {errors:?}");
    let message = errors[0]["message"].as_str().unwrap();
    assert!(message.starts_with("tests/bad.litmus:3:"), "{message}");
}

#[test]
fn a_wrong_pipeline_is_pointed_at() {
    let s = Scratch::new(SOUND);
    s.write("p.yaml", &PIPELINE.replace("from: code", "from: cod"));
    let (status, text) = s.litmake(&["run", "p.yaml"]);
    assert_eq!(status, 2);
    assert!(text.starts_with("p.yaml:9:"), "{text}");
    assert!(text.contains("did you mean `code`?"), "{text}");
    let (status, text) = s.litmake(&["run", "none.yaml"]);
    assert_eq!(status, 2, "{text}");
    // Words of small languages inside: the very word, or all of what stands there otherwise.
    for (stage, message) in [
        (
            "generate: { families: [c11-plain, c11-plane] }",
            "p.yaml:2:50: error: `c11-plane` is no family of tests\n \
             2 |   - { name: a, generate: { families: [c11-plain, c11-plane] } }\n   \
             |                                                  ^^^^^^^^^\n  \
             help: did you mean `c11-plain`?\n",
        ),
        (
            "generate: { arch: C, cycles: [Rfe Pod*X Fre Pod**] }",
            "p.yaml:2:50: error: `Pod*X` is no relaxation of C\n",
        ),
        (
            "generate: { arch: C, cycles: [\"Rfe \\x50od*X\"] }",
            "p.yaml:2:46: error: `Pod*X` is no relaxation of C\n",
        ),
    ] {
        s.write("p.yaml", &format!("stages:\n  - {{ name: a, {stage} }}\n"));
        let (status, text) = s.litmake(&["run", "p.yaml"]);
        assert_eq!(status, 2, "{text}");
        assert!(text.starts_with(message), "{text}");
    }
}

#[test]
fn a_baseline_knows_and_forgets() {
    let s = Scratch::new(BUGGY);
    s.write("p.yaml", &PIPELINE.replace("name: scratch", "name: scratch\nbaseline: known.json"));
    assert_eq!(s.run(&[]).0, 1);
    let update = ["baseline", "update", "report.json", "--baseline", "known.json"];
    assert_eq!(s.litmake(&update), (0, "known.json: 1 known finding\n".into()));
    let (status, report) = s.run(&[]);
    assert_eq!(status, 0);
    assert_eq!(statuses(&report), [("tests/sb.litmus", "known")]);
    s.compiler(SOUND);
    let (status, report) = s.run(&[]);
    assert_eq!(status, 0);
    assert_eq!(statuses(&report), [("tests/sb.litmus", "fixed")]);
    assert_eq!(s.litmake(&update).1, "known.json: 0 known findings\n");
}

#[test]
fn parts_merge_into_the_whole() {
    let s = Scratch::new(BUGGY);
    for i in 0..12 {
        s.write(&format!("tests/t{i}.litmus"), if i % 2 == 0 { SB } else { MP });
    }
    s.run(&["--stable"]);
    let whole = std::fs::read_to_string(s.path("report.json")).unwrap();
    let mut parts = vec!["merge".to_string(), "--report".into(), "merged.json".into()];
    for i in 1..=3 {
        let name = format!("part{i}.json");
        let args = ["run", "p.yaml", "--stable", "--shard", &format!("{i}/3"), "--report", &name];
        s.litmake(&args);
        parts.push(name);
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    assert_eq!(s.litmake(&parts).0, 1);
    let merged = std::fs::read_to_string(s.path("merged.json")).unwrap();
    // A thread that two parts have is compiled in both.
    let threads = |text: &str| -> (Value, u64) {
        let mut report: Value = serde_json::from_str(text).unwrap();
        let stages = report["stages"].as_array_mut().unwrap().iter_mut();
        let tasks = stages.filter(|s| s["kind"] == "compile").map(|s| s["tasks"].take());
        let tasks = tasks.map(|t| t.as_u64().unwrap()).sum();
        (report, tasks)
    };
    let ((merged, in_parts), (whole, at_once)) = (threads(&merged), threads(&whole));
    assert_eq!(merged, whole);
    assert_eq!((at_once, in_parts), (2 * 4, 2 * 3 * 4), "four threads, two levels, three parts");
}

#[test]
fn other_formats_are_written() {
    let s = Scratch::new(BUGGY);
    let args = [
        "run", "p.yaml", "--junit", "j.xml", "--events", "e.jsonl", "--sarif", "s.sarif", "--html",
        "h.html",
    ];
    let mut command = s.command(&args);
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", s.path("summary.md"));
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(text.contains("::error file=tests/sb.litmus,"), "{text}");
    let summary = std::fs::read_to_string(s.path("summary.md")).unwrap();
    assert!(summary.contains("| tests/sb.litmus [mine-O1] |"), "{summary}");
    assert!(summary.contains("1 new, 0 known, 0 fixed, 0 errors"), "{summary}");
    let junit = std::fs::read_to_string(s.path("j.xml")).unwrap();
    assert!(junit.contains("failures=\"1\""), "{junit}");
    let sarif: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("s.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 1);
    let page = std::fs::read_to_string(s.path("h.html")).unwrap();
    assert!(page.contains("<b class=\"bad\">1 new finding</b>"), "{page}");
    // A row and a part of its own for each; what is looked into is drawn twice.
    assert_eq!(page.matches("<details id=").count(), 1, "{page}");
    assert!(page.contains("<code>0:r=0; 1:r=0;</code>"), "{page}");
    let looked_into = page.matches("What the target does").count();
    assert_eq!((page.matches("<svg ").count(), looked_into > 0), (2 * looked_into, true));
    for name in ["details", "table", "tr", "td", "pre", "div", "p", "svg", "a", "text", "code"] {
        let begun = [" ", ">"].map(|end| page.matches(&format!("<{name}{end}")).count());
        let ended = page.matches(&format!("</{name}>")).count();
        assert_eq!((begun.iter().sum::<usize>(), ended > 0), (ended, true), "{name}");
    }
    let events = std::fs::read_to_string(s.path("e.jsonl")).unwrap();
    let said: Vec<Value> = events.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(said.iter().any(|e| e["event"] == "finished"), "{events}");
    let last = said.last().unwrap();
    assert_eq!((&last["event"], &last["done"]), (&"investigating".into(), &last["findings"]));
}

#[test]
fn compiled_tests_can_be_read_and_simulated() {
    let s = Scratch::new(SOUND);
    let (status, text) = s.litmake(&["compile", "--profile", "mine-O2", "tests/sb.litmus"]);
    assert_eq!(status, 0, "{text}");
    s.write("lifted.litmus", &text);
    let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("Never 0 3"), "{text}");
    let (status, text) = s.litmake(&["compile", "--profile", "mine-O9", "tests/sb.litmus"]);
    assert_eq!(status, 2);
    assert!(text.contains("did you mean"), "{text}");
}

/// Tasks that each line of an event file says to have run.
fn reported(path: &Path) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let events = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    events.map(|e| e["executed"].as_u64().unwrap_or(0)).sum()
}

/// `LITMAKE_KILLS` says how often; each time at a random moment of a run on a cache of its own,
/// after which a normal run must come to what a clean one does, and must not do again what was
/// reported done.
#[test]
fn killed_runs_end_well() {
    let rounds: u64 = std::env::var("LITMAKE_KILLS").map_or(4, |n| n.parse().unwrap());
    let s = Scratch::new(BUGGY);
    for i in 0..30 {
        let text = if i % 2 == 0 { SB } else { MP };
        s.write(&format!("tests/t{i}.litmus"), &text.replace("= 42", &format!("= {}", 100 + i)));
    }
    let start = std::time::Instant::now();
    let (status, whole) = s.run(&["--cache", "timed"]);
    let length = start.elapsed().as_micros() as u64;
    let stages = whole["stages"].as_array().unwrap().iter().skip(1);
    let tasks: u64 = stages.map(|s| s["tasks"].as_u64().unwrap()).sum();
    s.run(&["--stable", "--cache", "clean"]);
    let clean = std::fs::read_to_string(s.path("report.json")).unwrap();
    let mut seed = 20_261_121u64;
    let (mut early, mut reported_done) = (0, 0);
    for round in 0..rounds {
        let cache = format!("killed-{round}");
        // What is killed before it has begun writes none.
        let _ = std::fs::remove_file(s.path("killed.jsonl"));
        let mut child = s
            .command(&["run", "p.yaml", "-q", "--cache", &cache, "--events", "killed.jsonl"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        std::thread::sleep(Duration::from_micros((seed >> 33) % (length * 9 / 8)));
        child.kill().unwrap();
        early += u64::from(child.wait().unwrap().code().is_none());
        let done = reported(&s.path("killed.jsonl"));
        reported_done += done;
        assert_eq!(s.run(&["--stable", "--cache", &cache, "--events", "after.jsonl"]).0, status);
        assert_eq!(std::fs::read_to_string(s.path("report.json")).unwrap(), clean, "{round}");
        let again = reported(&s.path("after.jsonl"));
        assert!(done + again <= tasks, "{round}: {done} were done, {again} ran after");
        let (status, text) = s.litmake(&["cache", "verify", "--cache", &cache]);
        assert_eq!(status, 0, "{round}: {text}");
        std::fs::remove_dir_all(s.path(&cache)).unwrap();
    }
    println!("{rounds} kills, {early} of them before the end; {reported_done} tasks reported done");
}

#[test]
fn two_processes_on_one_cache_agree() {
    let s = Scratch::new(BUGGY);
    let children: Vec<_> = ["a.json", "b.json"]
        .map(|name| {
            s.command(&["run", "p.yaml", "--stable", "--report", name])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .into();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }
    let text = |n: &str| std::fs::read_to_string(s.path(n)).unwrap();
    assert_eq!(text("a.json"), text("b.json"));
}

#[test]
fn two_processes_do_all_of_the_work() {
    let s = Scratch::new(SOUND);
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { arch: AArch64, vocabulary: 'Pod** DMB.SYd** DpAddrd* DpDatadW Rfe Fre Coe', size: 7, threads: 4 } }
  - { name: allowed, simulate: { from: tests, model: aarch64 } }
",
    );
    let children: Vec<_> = ["a.json", "b.json"]
        .map(|name| {
            s.command(&["run", "p.yaml", "-q", "--jobs", "1", "--report", name])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .into();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let read = |n: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(s.path(n)).unwrap()).unwrap()
    };
    let (a, b) = (read("a.json"), read("b.json"));
    let tasks = a["stages"][1]["tasks"].as_u64().unwrap();
    assert_eq!(a["stages"][1]["tasks"], b["stages"][1]["tasks"]);
    let [a, b] = [a, b].map(|r| r["stages"][1]["executed"].as_u64().unwrap());
    let sum = a + b;
    println!("{a} and {b} of {tasks} tasks");
    // How much is shared depends on when each of them learns of the other.
    assert!(sum >= tasks && sum <= 2 * tasks, "{sum} of {tasks}");
}

#[test]
fn a_cache_that_was_cut_is_said_and_made_whole() {
    let s = Scratch::new(SOUND);
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { arch: C, vocabulary: 'Pod** Rfe Fre Coe', size: 6, threads: 3 } }
  - { name: allowed, simulate: { from: tests } }
",
    );
    let (_, whole) = s.run(&["--stable"]);
    let folder = s.path("cache/segments");
    let files = |extension: &str| -> Vec<PathBuf> {
        let all = folder.read_dir().unwrap().map(|e| e.unwrap().path());
        all.filter(|p| p.extension().is_some_and(|e| e == extension)).collect()
    };
    let segments = files("seg");
    assert_eq!(segments.len(), files("idx").len(), "a run that ended has closed its cache");
    let file = std::fs::File::options().write(true).open(&segments[0]).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let (status, text) = s.litmake(&["run", "p.yaml", "--stable", "--report", "report.json"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains(" was cut from "), "{text}");
    let again = std::fs::read_to_string(s.path("report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), whole);
}

#[test]
fn what_a_stage_left_out_is_counted_and_why() {
    let s = Scratch::new(SOUND);
    s.write("twice/sb.litmus", SB);
    s.write("twice/copy.litmus", SB);
    let pipeline = |keep: &str| {
        s.write(
            "p.yaml",
            &format!(
                "stages:
  - name: made
    generate: {{ arch: C, vocabulary: Pod** Na Sc Rfe Fre Coe, size: 6, threads: 2, keep: '{keep}', exclude: 'LB*', limit: 20 }}
  - {{ name: files, generate: {{ files: tests, keep: 'name=sb*' }} }}
  - {{ name: weak, mutate: {{ from: made, weaken: orders }} }}
  - {{ name: twice, generate: {{ files: twice }} }}
  - {{ name: distinct, dedupe: {{ from: twice }} }}
"
            ),
        );
    };
    fn stage<'a>(report: &'a Value, name: &str) -> &'a Value {
        let stages = report["stages"].as_array().unwrap();
        stages.iter().find(|s| s["name"] == name).unwrap()
    }
    let dropped = |report: &Value, name: &str| -> (u64, u64) {
        let stage = stage(report, name);
        let sum =
            |v: &Value| v.as_object().map_or(0, |d| d.values().filter_map(Value::as_u64).sum());
        (stage["considered"].as_u64().unwrap_or(0), sum(&stage["dropped"]))
    };
    pipeline("threads=2");
    // A list of tests is made once.
    let lists = |report: &Value| stage(report, "made")["executed"].as_u64().unwrap();
    let (status, first) = s.run(&[]);
    assert_eq!(status, 0, "{first}");
    assert!(lists(&first) > 0);
    assert_eq!(lists(&s.run(&[]).1), 0);
    let (status, cold) = s.run(&["--stable", "--cache", "other"]);
    assert_eq!(status, 0, "{cold}");
    let tasks = |report: &Value, name: &str| stage(report, name)["tasks"].as_u64().unwrap();
    for report in [&cold, &s.run(&["--stable"]).1] {
        assert_eq!(*report, cold, "what is cached tells the same");
        let (considered, left) = dropped(report, "made");
        assert_eq!(considered, tasks(report, "made") + left);
        assert!(stage(report, "made")["dropped"]["excluded by name"].as_u64() > Some(0));
        assert!(stage(report, "made")["dropped"]["the same test as another"].as_u64() > Some(0));
        assert_eq!(dropped(report, "files"), (2, 1));
        let (considered, left) = dropped(report, "weak");
        assert_eq!(considered, tasks(report, "weak"));
        assert!(left > 0);
        assert_eq!(dropped(report, "distinct"), (2, 1));
    }
    // Other words, another list; one that has nothing is an error.
    pipeline("threads=3");
    let (status, other) = s.run(&[]);
    assert_eq!((status, tasks(&other, "made")), (2, 0));
}

#[test]
fn an_interrupt_keeps_what_was_done() {
    let s = Scratch::new("#!/bin/sh\ntest -f test.c && sleep 600\nexec cc \"$@\"\n");
    let mut child = s
        .command(&["run", "p.yaml", "--events", "e.jsonl"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let cache = s.path("cache/segments");
    while !cache.read_dir().is_ok_and(|mut d| d.next().is_some()) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: it is not waited for yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let (status, text) = s.litmake(&["cache", "verify"]);
    assert_eq!(status, 0, "{text}");
}

/// Files that are opened do not take the places of outputs that are closed.
#[test]
fn closed_outputs_do_no_harm() {
    use std::os::unix::process::CommandExt;
    let s = Scratch::new(BUGGY);
    let mut command = s.command(&["run", "p.yaml"]);
    // SAFETY: closing is what a child may do.
    unsafe {
        command.pre_exec(|| {
            (0..3).for_each(|fd| {
                libc::close(fd);
            });
            Ok(())
        });
    }
    assert_eq!(command.status().unwrap().code(), Some(1));
    let (status, text) = s.litmake(&["cache", "verify"]);
    assert_eq!(status, 0, "{text}");
    let (status, text) = s.litmake(&["run", "p.yaml"]);
    assert_eq!(status, 1, "{text}");
}

/// As with `| head`; and a full disk is an error that says so.
#[test]
fn a_reader_may_leave() {
    let s = Scratch::new(BUGGY);
    s.write("one.litmus", SB);
    let full = Path::new("/dev/full");
    for (args, wanted) in [
        (&["--help"][..], 0),
        (&["completions", "zsh"], 0),
        (&["schema", "reference"], 0),
        (&["graph", "p.yaml"], 0),
        (&["sim", "one.litmus"], 0),
        (&["run", "p.yaml"], 1),
        (&["run", "p.yaml", "--dry-run"], 0),
        (&["sim", "none.litmus"], 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status =
            s.command(args).stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(wanted), "{args:?}");
        if wanted == 0 && full.exists() {
            let full = std::fs::File::options().write(true).open(full).unwrap();
            let out = s.command(args).stdout(full).output().unwrap();
            let text = String::from_utf8_lossy(&out.stderr);
            assert!(!text.contains("panicked"), "{args:?}: {text}");
            if args[0] != "--help" {
                assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
                assert!(text.contains("cannot write the results"), "{args:?}: {text}");
            }
        }
    }
}

/// An interrupt ends a command that prints as it goes, with what it printed whole.
#[test]
fn an_interrupt_leaves_whole_results() {
    let s = Scratch::new(SOUND);
    for i in 0..4000 {
        s.write(&format!("many/t{i}.litmus"), &SB.replacen("SB", &format!("SB{i}"), 1));
    }
    let list: String = (0..4000).map(|i| format!("many/t{i}.litmus\n").repeat(50)).collect();
    s.write("list", &list);
    for jobs in ["-j1", "-j2"] {
        let out = std::fs::File::create(s.path("out")).unwrap();
        let mut child =
            s.command(&["sim", jobs, "@list"]).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
        while std::fs::metadata(s.path("out")).unwrap().len() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: it is not waited for yet.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let mut said = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        assert!(said.contains("stopped"), "{said}");
        let text = std::fs::read_to_string(s.path("out")).unwrap();
        let blocks = text.matches("\nHash=").count();
        assert!(text.ends_with("\n\n") && blocks == text.matches("Test ").count(), "{jobs}");
    }
}

#[test]
fn logs_of_two_models_are_compared() {
    let s = Scratch::new(SOUND);
    s.write("SB.litmus", &SB.replace("memory_order_seq_cst", "memory_order_relaxed"));
    for (model, more) in [("sc", &[][..]), ("rc11", &["--no-hash"])] {
        let args = [&["sim", "SB.litmus", "-m", model], more].concat();
        let out = s.command(&args).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        s.write(&format!("{model}.log"), &String::from_utf8(out.stdout).unwrap());
    }
    let hashes = |log: &str| std::fs::read_to_string(s.path(log)).unwrap().contains("Hash=");
    assert!(hashes("sc.log") && !hashes("rc11.log"));
    // What the first log has and another lacks is only not seen yet; the other way round it is wrong.
    let (status, said) = s.litmake(&["logs", "compare", "rc11.log", "sc.log"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.ends_with("sc against rc11: 0 equal, 1 with fewer states\n"), "{said}");
    let (status, said) = s.litmake(&["logs", "compare", "sc.log", "rc11.log"]);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("\n    + 0:"), "{said}");
    assert_eq!(s.litmake(&["logs", "diff", "rc11.log", "sc.log"]).0, 1);
    assert_eq!(
        s.litmake(&["logs", "diff", "sc.log", "./sc.log"]),
        (0, "./sc.log against sc.log: 1 equal\n".into())
    );
    let (status, said) = s.litmake(&["logs", "sum", "SB.litmus"]);
    assert_eq!(status, 2);
    assert!(said.starts_with("error: SB.litmus: there is no test in it\n  help: "), "{said}");
}

#[test]
fn watching_runs_what_an_edit_touches() {
    let s = Scratch::new(BUGGY);
    let mut child = s
        .command(&["run", "p.yaml", "--watch", "--report", "report.json", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let report = || -> Option<Value> {
        serde_json::from_str(&std::fs::read_to_string(s.path("report.json")).ok()?).ok()
    };
    let wait = |what: &dyn Fn(&Value) -> bool| {
        for _ in 0..3000 {
            if report().is_some_and(|r| what(&r)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    };
    assert!(wait(&|r| statuses(r).len() == 1));
    s.write("tests/sb.litmus", &SB.replace("seq_cst", "relaxed"));
    let fewer = wait(&|r| statuses(r).is_empty());
    let after = report().map(|r| executed(&r));
    // Its own report and cache are no edits, nor is a touch.
    let written = || std::fs::metadata(s.path("report.json")).unwrap().modified().unwrap();
    let (start, mut last) = (std::time::Instant::now(), written());
    while start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(400));
        if std::mem::replace(&mut last, written()) == last {
            break;
        }
    }
    let quiet = start.elapsed() < Duration::from_secs(60);
    assert!(quiet, "it comes to rest");
    s.write("tests/later.litmus", MP);
    assert!(wait(&|r| r["stages"][0]["tasks"] == 3), "a new file is seen");
    let _ = child.kill();
    let _ = child.wait();
    assert!(fewer, "the edit was seen");
    assert!(after.is_some_and(|n| n <= 8), "only what the edit touches ran: {after:?}");
}

#[test]
fn what_was_not_asked_for_does_not_run() {
    let s = Scratch::new(SOUND);
    let (status, report) = s.run(&["code:mine-O1"]);
    assert_eq!(status, 0);
    let names: Vec<&str> =
        report["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tests", "code[mine-O1]"]);
}

#[test]
fn the_shipped_pipelines_can_be_planned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("pipelines")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "yaml") {
            let out = Command::new(env!("CARGO_BIN_EXE_litmake"))
                .args(["graph", path.to_str().unwrap()])
                .current_dir(root)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "{}: {text}", path.display());
            count += 1;
        }
    }
    assert!(count >= 2);
}

#[test]
fn every_level_of_optimisation_is_lifted_and_sound() {
    let s = Scratch::new(SOUND);
    s.write(
        "profiles/mine.yaml",
        &format!(
            "name: mine-${{level}}\nmatrix: {{ level: [O0, O1, O2, O3, Os] }}\ncompiler: {}\nargs: ['-${{level}}']\narch: X86_64\n",
            s.path("cc.sh").display()
        ),
    );
    s.write(
        "tests/rmw.litmus",
        "C rmw
{}
P0 (atomic_int* x, atomic_int* y, atomic_long* z) {
  int a = atomic_fetch_add_explicit(x, 2, memory_order_acq_rel);
  int b = atomic_exchange_explicit(y, 1, memory_order_seq_cst);
  long c = atomic_fetch_or_explicit(z, 4, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y, atomic_long* z) {
  int e = 0;
  int d = atomic_compare_exchange_strong_explicit(y, &e, 3, memory_order_acquire, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  if (d) {
    atomic_store_explicit(x, 7, memory_order_release);
  } else {
    atomic_fetch_sub_explicit(z, 1, memory_order_relaxed);
  }
}
exists (0:a=0 /\\ 0:b=0 /\\ 1:d=1)
",
    );
    s.write(
        "tests/many.litmus",
        "C many
{}
P0 (atomic_int* a, atomic_int* b, atomic_int* c, atomic_int* d, atomic_int* e, atomic_int* f, atomic_int* g, atomic_int* h) {
  int r = atomic_load_explicit(h, memory_order_acquire);
  atomic_store_explicit(g, 1, memory_order_release);
  atomic_store_explicit(a, 1, memory_order_relaxed);
}
P1 (atomic_int* a, atomic_int* g, atomic_int* h) {
  int r = atomic_load_explicit(g, memory_order_acquire);
  atomic_store_explicit(h, 1, memory_order_release);
}
exists (0:r=1 /\\ 1:r=1)
",
    );
    let (status, report) = s.run(&["--set", "profiles=mine-O0,mine-O1,mine-O2,mine-O3,mine-Os"]);
    assert_eq!(status, 0, "{report:#}");
    let stages = report["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 2 + 3 * 5);
    let tasks = |s: &Value| if s["kind"] == "compile" { 8 } else { 4 };
    assert!(stages.iter().all(|s| s["tasks"] == tasks(s) && s["failed"] == 0), "{report:#}");
    let (_, text) = s.litmake(&["compile", "--profile", "mine-O0", "tests/mp.litmus"]);
    assert!(!text.contains("rbp") && !text.contains("movq"), "addresses are names: {text}");
}

/// Synchronised message passing with a read-modify-write and a compare-and-swap that may fail,
/// and the same without synchronisation.
fn message_passing(name: &str, release: &str, acquire: &str) -> String {
    format!(
        "C {name}
{{}}
P0 (atomic_int* x, atomic_int* y, atomic_uchar* b) {{
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int old = atomic_fetch_add_explicit(y, 1, {release});
  atomic_store_explicit(b, 200 + old, memory_order_relaxed);
}}
P1 (atomic_int* x, atomic_int* y, atomic_uchar* b) {{
  int a = atomic_load_explicit(y, {acquire});
  int c = atomic_load_explicit(x, memory_order_relaxed);
  unsigned char d = atomic_load_explicit(b, memory_order_relaxed);
}}
exists (1:a=1 /\\ 1:c=0 /\\ 1:d=200)
"
    )
}

#[test]
fn every_target_is_lifted_at_every_level() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = Scratch::new(SOUND);
    let (release, acquire) = ("memory_order_release", "memory_order_acquire");
    s.write("good.litmus", &message_passing("good", release, acquire));
    let relaxed = "memory_order_relaxed";
    s.write("weak.litmus", &message_passing("weak", relaxed, relaxed));
    let stack = ["SP", "rsp", "rbp", "x2)", "(r1)", "($29)", "_m"];
    for target in ["x86_64", "aarch64", "armv7", "riscv64", "ppc64le", "mips64el"] {
        for level in ["O0", "O2"] {
            let profile = format!("{CLANG}-{target}-{level}");
            let (status, text) = s.litmake(&["compile", "--profile", &profile, "good.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
            let frame = stack.iter().find(|word| text.contains(*word));
            assert_eq!(frame, None, "{profile}: the stack is left in {text}");
            s.write("lifted.litmus", &text);
            let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
            assert!(status == 0 && text.contains("Observation good Never"), "{profile}: {text}");
            let (status, text) = s.litmake(&["check", "--profile", &profile, "good.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
        // The lifted code is not stricter than the machine: what C allows is there.
        let profile = format!("{CLANG}-{target}-O2");
        let (_, text) = s.litmake(&["compile", "--profile", &profile, "weak.litmus"]);
        s.write("lifted.litmus", &text);
        let (_, text) = s.litmake(&["sim", "lifted.litmus"]);
        let wanted = if target == "x86_64" { "Never" } else { "Sometimes" };
        assert!(text.contains(&format!("Observation weak {wanted}")), "{profile}: {text}");
    }
}

#[test]
fn variables_are_lifted_by_name() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = Scratch::new(SOUND);
    s.write("mp.litmus", &message_passing("mp", "memory_order_release", "memory_order_acquire"));
    for target in ["x86_64", "aarch64", "armv7", "riscv64", "ppc64le", "mips64el"] {
        for storage in ["globals", "statics"] {
            let profile = format!("{CLANG}-{target}-O2");
            let args = ["compile", "--profile", &profile, "--storage", storage, "mp.litmus"];
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}, {storage}: {text}");
            s.write("lifted.litmus", &text);
            let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
            assert!(status == 0 && text.contains("Observation mp Never"), "{profile}: {text}");
        }
    }
}

/// Read-modify-writes, widths, a helper, a loop and a choice.
const MANY: &str = "C many
{ uint8_t b = 0; }
int add(atomic_int *p, int v) {
  return atomic_fetch_add_explicit(p, v, memory_order_acq_rel);
}
P0(atomic_int *x, _Atomic uint8_t *b) {
  atomic_store_explicit(b, 200, memory_order_relaxed);
  int r0 = add(x, 1);
}
P1(atomic_int *x, _Atomic uint8_t *b) {
  int r0 = 1;
  int r1 = atomic_compare_exchange_strong_explicit(x, &r0, 2, memory_order_acq_rel, memory_order_acquire);
  int r2 = 0;
  for (int i = 0; i < 2; i++) {
    r2 = r2 * 2 + r1;
  }
  uint8_t r3 = 0;
  if (r2 == 3 && r0 == 1) {
    r3 = atomic_load_explicit(b, memory_order_relaxed);
  }
}
exists (1:r1=1 /\\ 1:r3=0)
";

#[test]
fn a_test_means_the_same_in_every_language() {
    let s = Scratch::new(SOUND);
    for (name, text) in [("sb", SB), ("mp", MP), ("many", MANY)] {
        s.write(&format!("{name}.litmus"), text);
    }
    let states = |file: &str| {
        let (status, text) = s.litmake(&["sim", file]);
        assert_eq!(status, 0, "{text}");
        let lines = text.lines().skip_while(|l| !l.starts_with("States"));
        let verdict = |l: &&str| l.ends_with("Ok") || l.ends_with("No");
        let lines: Vec<&str> = lines.take_while(|l| !verdict(l)).collect();
        lines.join("\n")
    };
    let compilers = [
        ("rustc", "rustc-x86_64-O2"),
        ("g++-12", "g++-12-x86_64-O2"),
        ("clang++-16", "clang++-16-aarch64-O1"),
    ];
    let mut seen = std::collections::BTreeMap::new();
    for (compiler, profile) in compilers {
        if !here(compiler) {
            continue;
        }
        for name in ["sb", "mp", "many"] {
            let file = format!("{name}.litmus");
            let (status, text) = s.litmake(&["compile", "--profile", profile, &file]);
            assert_eq!(status, 0, "{profile}, {name}: {text}");
            s.write("lifted.litmus", &text);
            let states = states("lifted.litmus");
            let first = seen.entry(name).or_insert(states.clone());
            assert_eq!(*first, states, "{profile}, {name}");
            let (status, text) = s.litmake(&["check", "--profile", profile, &file]);
            assert_eq!(status, 0, "{profile}, {name}: {text}");
        }
        let (_, text) = s.litmake(&["compile", "--profile", profile, "--source", "many.litmus"]);
        let wanted = if compiler == "rustc" { "x: &AtomicI32" } else { "std::atomic<int> *x" };
        assert!(text.contains(wanted), "{text}");
    }
    let (status, text) = s.litmake(&["check", "--profile", "gcc-12-x86_64-O9", "mp.litmus"]);
    assert_eq!(status, 2, "{text}");
}

#[test]
fn a_store_that_only_a_callee_publishes_is_seen_to_vanish() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    // Between its two stores the first thread waits for the other, which reads the first of them.
    // Compilers that take a call to leave alone what the callee does not name drop that store.
    let s = Scratch::new(SOUND);
    s.write(
        "published.litmus",
        "C published
{}
P0 (int* x, atomic_int* y) {
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release);
  while (atomic_load_explicit(y, memory_order_acquire) != 0) {}
  *x = 2;
}
P1 (int* x, atomic_int* y) {
  while (atomic_load_explicit(y, memory_order_acquire) == 0) {}
  int r0 = *x;
  atomic_store_explicit(y, 0, memory_order_release);
}
exists (1:r0=0)
",
    );
    for target in ["x86_64", "aarch64", "armv7", "riscv64", "ppc64le"] {
        let profile = format!("{CLANG}-{target}-O2");
        for (more, wanted) in [(vec![], "Never"), (vec!["--helpers"], "Always")] {
            let mut args = vec!["compile", "--profile", &profile, "--storage", "statics"];
            args.extend(more);
            args.push("published.litmus");
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}: {text}");
            s.write("lifted.litmus", &text);
            let (_, text) = s.litmake(&["sim", "lifted.litmus"]);
            let wanted = format!("Observation published {wanted}");
            assert!(text.contains(&wanted), "{profile}: {text}");
        }
    }
    // Left to itself, `check` tries both.
    let profile = format!("{CLANG}-x86_64-O2");
    let args = ["check", "--profile", &profile, "--investigate", "0", "published.litmus"];
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("with static variables, atomic operations in functions"), "{text}");
    let args = ["check", "--profile", &profile, "--storage", "pointers", "published.litmus"];
    assert_eq!(s.litmake(&args).0, 0);
}

const RESULTS: &str = r#"{
  "0": {"RR Mutations Default": {"seq": 10, "interleaved": 0, "weak": 3, "durationSeconds": 1.5},
        "Store Coherency": {"seq": 10, "interleaved": 0, "weak": 1, "durationSeconds": 16}},
  "randomSeed": "webgpu"
}"#;

#[test]
fn results_of_mutants_are_analysed() {
    let s = Scratch::new(SOUND);
    s.write("a.json", RESULTS);
    s.write("b.json", &RESULTS.replace("\"weak\": 3", "\"weak\": 30"));
    let json = |args: &[&str]| -> Value {
        let (status, text) = s.litmake(args);
        assert_eq!(status, 0, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let score = json(&["mutants", "score", "a.json", "--json", "--svg", "five.svg"]);
    assert_eq!(score["reversing_po"]["killed"], 1);
    assert_eq!(score["weakening_po"]["avg_death_rate_per_s"], 0.062);
    assert_eq!(score["all"]["of"], 2);
    assert!(std::fs::read_to_string(s.path("five.svg")).unwrap().starts_with("<svg"));
    let merge =
        json(&["mutants", "merge", "--rep", "95", "--budget", "1/2", "a.json", "b.json", "--json"]);
    assert_eq!(merge["reproducible_tests"], 1);
    assert_eq!(merge["denominator"], 4);
    assert_eq!(merge["tests"]["RR Mutations Default"]["rates"]["b"], 20.0);
    let correlate = json(&["mutants", "correlate", "a.json", "--json"]);
    assert_eq!(correlate["n_envs"], 1);
    let confidence = json(&["confidence", "--budget", "6", "b.json", "--json"]);
    assert_eq!(confidence["reached"], 1);
    let (status, text) = s.litmake(&["mutants", "score", "p.yaml"]);
    assert_eq!(status, 2);
    assert!(text.contains("p.yaml: this is no JSON"), "{text}");
}

const GPU: &str = "stages:
  - { name: tests, generate: { suite: conformance, limit: 2 } }
  - name: run
    run: { from: tests, device: gpu, preset: site, environments: 1, iterations: 3, results: r.json }
";

fn has_gpu(s: &Scratch) -> bool {
    let (status, text) = s.litmake(&["mutants", "devices"]);
    need("a Vulkan device", if status == 0 { Ok(()) } else { Err(text) }).is_some()
}

#[test]
fn tests_run_on_a_gpu_once_and_write_results() {
    let s = Scratch::new(SOUND);
    s.write("p.yaml", GPU);
    if !has_gpu(&s) {
        return;
    }
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 2), "{report}");
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("r.json")).unwrap()).unwrap();
    assert_eq!(results["0"]["2+2W-CO"]["weak"], 0);
    assert_eq!(results["randomSeed"], "webgpu");
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 0));
}

#[test]
fn more_environments_on_a_gpu_measure_the_new_ones_alone_and_variants_apart() {
    let s = Scratch::new(SOUND);
    if !has_gpu(&s) {
        return;
    }
    let results = |environments: &str, variant: &str| -> Value {
        let with = format!("environments: {environments}, variant: {variant}");
        s.write("p.yaml", &GPU.replace("environments: 1", &with));
        let (status, report) = s.run(&[]);
        assert_eq!((status, executed(&report)), (0, 2), "{report}");
        serde_json::from_str(&std::fs::read_to_string(s.path("r.json")).unwrap()).unwrap()
    };
    let (one, three) = (results("1", "checked"), results("3", "checked"));
    assert_eq!(one["0"], three["0"]);
    assert!(three["2"]["2+2W-CO"]["durationSeconds"].as_f64().unwrap() > 0.0);
    let other = results("1", "spirv");
    assert_eq!(other["setup"]["variant"], "spirv");
    assert_ne!(other["0"], one["0"]);
}

#[test]
fn without_a_gpu_the_run_says_so_and_loses_nothing() {
    let s = Scratch::new(SOUND);
    s.write(
        "p.yaml",
        &format!(
            "{GPU}  - {{ name: simulate, simulate: {{ from: tests, model: wgsl-rel-acq }} }}\n"
        ),
    );
    let out = s
        .command(&["run", "p.yaml", "--report", "report.json"])
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(3), "{}", String::from_utf8_lossy(&out.stderr));
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(s.path("report.json")).unwrap()).unwrap();
    let message = report["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("there is no Vulkan device here"), "{message}");
    let simulated =
        report["stages"].as_array().unwrap().iter().find(|x| x["name"] == "simulate").unwrap();
    assert_eq!((simulated["tasks"].as_u64(), simulated["failed"].as_u64()), (Some(2), Some(0)));
    let out = s
        .command(&["mutants", "run"])
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&out.stderr).contains("install the driver of the GPU"));
}

const STORE_BUFFERING: &str = "C sb
{}
P0 (_Atomic TYPE* x, _Atomic TYPE* y) {
  atomic_store_explicit(x, 1, memory_order_seq_cst);
  TYPE a = atomic_load_explicit(y, memory_order_seq_cst);
}
P1 (_Atomic TYPE* x, _Atomic TYPE* y) {
  atomic_store_explicit(y, 1, memory_order_seq_cst);
  TYPE b = atomic_load_explicit(x, memory_order_seq_cst);
}
exists (0:a=0 /\\ 1:b=0)
";

#[test]
fn profiles_that_are_clean_alone_can_clash() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = Scratch::new(SOUND);
    s.write("sb.litmus", &STORE_BUFFERING.replace("TYPE", "int"));
    s.write("sb128.litmus", &STORE_BUFFERING.replace("TYPE", "__int128"));
    for (file, one, other) in [
        ("sb.litmus", "clang-16-armv7-O2", "clang-16-armv8-O2"),
        ("sb128.litmus", "clang-16-aarch64-armv8-a-O2", "clang-16-aarch64-armv8.4-a-O2"),
    ] {
        let split = ["check", "-q", "--split", "instruction", "--json"];
        for profile in [one, other] {
            let (status, text) = s.litmake(&[&split[..], &["--profile", profile, file]].concat());
            assert_eq!(status, 0, "{profile}: {text}");
        }
        let mixed = [&split[..], &["--profile", one, "--profile", other, file]].concat();
        let (status, text) = s.litmake(&mixed);
        assert_eq!(status, 1, "{text}");
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{text}");
        assert_eq!(findings[0]["class"], "mixing");
        assert_eq!(findings[0]["profiles"], serde_json::json!([one, other]));
        // One part is foreign, whichever profile is at home.
        let mix = findings[0]["mix"].as_str().unwrap();
        let parts = |profile: &str| mix.matches(profile).count();
        assert_eq!(parts(one).min(parts(other)), 1, "{mix}");
        let mixes = &report["mixes"][0];
        assert_eq!((&mixes["assignments"], &mixes["tests"]), (&"16".into(), &10.into()));
        // By whole threads there is no clash, and neither is one with itself.
        let whole = ["check", "--split", "thread", "--profile", one, "--profile", other, file];
        let (status, text) = s.litmake(&whole);
        assert_eq!(status, 0, "{text}");
    }
}

#[test]
fn one_profile_in_parts_is_that_profile() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = Scratch::new(SOUND);
    // One statement a thread: there is nothing that compiling it alone could change.
    let one = "C inc\n{ x = 1; }\n\
        P0 (atomic_int* x) { int a = atomic_fetch_add_explicit(x, 1, memory_order_acq_rel); }\n\
        P1 (atomic_int* x) { int b = atomic_exchange_explicit(x, 7, memory_order_relaxed); }\n\
        exists (0:a=1 /\\ 1:b=1)\n";
    let branch = "C branch\n{}\n\
        P0 (atomic_int* x) { for (int i = 1; i < 2; i++) atomic_store(x, i); }\n\
        P1 (atomic_int* x) { int b = 5; if (atomic_load(x) == 1) { b = atomic_load(x); } else b = 6; }\n\
        exists (1:b=0)\n";
    let states = |text: &str| -> Vec<String> {
        text.lines().filter(|l| l.ends_with(';')).map(str::to_string).collect()
    };
    for (name, test) in [("one.litmus", one), ("branch.litmus", branch)] {
        s.write(name, test);
        for target in ["x86_64", "aarch64", "armv7", "riscv64", "ppc64le", "mips64el"] {
            let profile = format!("{CLANG}-{target}-O2");
            let mut seen = Vec::new();
            for split in ["whole", "thread", "instruction"] {
                let args = ["compile", "--profile", &profile, "--split", split, name];
                let (status, text) = s.litmake(&args);
                assert_eq!(status, 0, "{profile}, {split}: {text}");
                s.write("lifted.litmus", &text);
                let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
                assert_eq!(status, 0, "{profile}, {split}: {text}");
                seen.push(states(&text));
            }
            assert!(!seen[0].is_empty());
            assert_eq!(seen[0], seen[1], "{profile}, {name}: by thread");
            assert_eq!(seen[0], seen[2], "{profile}, {name}: by instruction");
        }
    }
}

const MIXES: &str = "stages:
  - { name: tests, generate: { files: '*.litmus' } }
  - { name: source, simulate: { from: tests } }
  - { name: parts, split: { from: tests, by: instruction } }
  - name: code
    matrix: { profile: [clang-16-armv7-O2, clang-16-armv8-O2, clang-16-armv8-O3] }
    compile: { from: parts, profile: \"${profile}\" }
  - { name: mixes, link: { from: code } }
  - { name: target, simulate: { from: mixes } }
  - { name: compare, compare: { source: source, target: target } }
";

#[test]
fn a_pipeline_mixes_profiles_and_does_nothing_twice() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new(SOUND);
    let sb = STORE_BUFFERING.replace("TYPE", "int");
    s.write("sb.litmus", &sb);
    s.write("p.yaml", MIXES);
    let stage = |report: &Value, name: &str| -> (u64, u64) {
        let stages = report["stages"].as_array().unwrap();
        let stage = stages.iter().find(|x| x["name"] == name).unwrap();
        (stage["tasks"].as_u64().unwrap(), stage["executed"].as_u64().unwrap())
    };
    let (status, report) = s.run(&[]);
    assert_eq!(status, 1, "{report}");
    let finding = &report["findings"][0];
    assert_eq!(finding["class"], "mixing");
    assert_eq!(finding["profiles"], serde_json::json!(["clang-16-armv7-O2", "clang-16-armv8-O2"]));
    assert_eq!(finding["alike"]["clang-16-armv8-O2"][0], "clang-16-armv8-O3");
    assert_eq!(finding["clash"].as_array().unwrap().len(), 4, "{finding}");
    let mixes = &report["mixes"][0];
    assert_eq!((&mixes["assignments"], &mixes["combinations"]), (&"81".into(), &"16".into()));
    assert_eq!((&mixes["tests"], &mixes["simulated"]), (&10.into(), &10.into()));
    let sum = &report["compatibility"][0];
    assert_eq!(sum["adds_nothing"], serde_json::json!(["clang-16-armv8-O3"]));
    let found: Vec<u64> =
        sum["judged"].as_array().unwrap().iter().map(|j| j["found"].as_u64().unwrap()).collect();
    // Alone: none; the first with each of the others: one; the others with each other: none.
    assert_eq!(found, [0, 1, 1, 0, 0, 0], "{sum}");
    assert_eq!(stage(&report, "code[clang-16-armv7-O2]"), (2, 2), "equal parts are one");
    let (status, again) = s.run(&[]);
    assert_eq!((status, executed(&again)), (1, 0));
    let (_, text) = s.litmake(&["run", "p.yaml", "--dry-run"]);
    assert!(text.ends_with("nothing to run\n"), "{text}");
    // A second test of which all but one part is known.
    let other = sb.replace("C sb", "C sb2").replacen("x, 1", "x, 2", 1);
    s.write("sb2.litmus", &other);
    let (_, report) = s.run(&[]);
    assert_eq!(stage(&report, "parts"), (2, 1));
    assert_eq!(stage(&report, "code[clang-16-armv8-O2]"), (3, 1));
    assert_eq!(stage(&report, "mixes"), (2, 1));
    assert_eq!(stage(&report, "target").0, 10 + 16);
    assert_eq!(stage(&report, "compare"), (2, 1));
    // Another profile: its parts are compiled, and only mixes that have new code are simulated.
    s.write("p.yaml", &MIXES.replace("clang-16-armv8-O3", "clang-16-armv7-O3"));
    let (_, report) = s.run(&[]);
    assert_eq!(stage(&report, "code[clang-16-armv7-O2]"), (3, 0));
    assert_eq!(stage(&report, "code[clang-16-armv7-O3]"), (3, 3));
    assert_eq!(stage(&report, "target"), (26, 0));
    // The command asks the same, and finds it known.
    let check = ["check", "--split", "instruction", "--profile", "clang-16-armv7-O2"];
    let more = ["--profile", "clang-16-armv8-O2", "sb.litmus"];
    let (status, text) = s.litmake(&[&check[..], &more].concat());
    assert_eq!(status, 1);
    assert!(text.contains("mixing"), "{text}");
    // By threads, each profile is right by itself.
    s.write("p.yaml", &MIXES.replace("by: instruction", "by: thread"));
    assert_eq!(s.run(&[]).0, 0);
}

#[test]
fn what_a_link_needs_is_said() {
    let s = Scratch::new(SOUND);
    let error = |text: &str| -> String {
        s.write("p.yaml", text);
        let (status, text) = s.litmake(&["run", "p.yaml"]);
        assert_eq!(status, 2, "{text}");
        text
    };
    let text = error(&MIXES.replace("link: { from: code }", "link: { from: parts }"));
    assert!(text.contains("`link` consumes parts of tests"), "{text}");
    assert!(text.contains("put a `compile` stage between them"), "{text}");
    let text = error(&MIXES.replace("from: mixes }", "from: code }"));
    assert!(text.contains("`simulate` consumes tests, but the stage `code` gives parts"), "{text}");
    let text = error(&MIXES.replace("clang-16-armv8-O2", "clang-16-aarch64-O2"));
    assert!(text.contains("code for different machines cannot be mixed: AArch64, ARM"), "{text}");
    let text = error(&MIXES.replace("source: source", "source: target"));
    assert!(text.contains("made from different lists of tests"), "{text}");
}

/// Fails in a way of its own on one test, and compiles all others.
fn failing(how: &str) -> Scratch {
    Scratch::new(&format!(
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
    s.write("profiles/mine.yaml", &(profile + "timeout: 2\n"));
    let report = one_failed(&s, "hung: it took over 2 s");
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
    let s = Scratch::new(
        "#!/bin/sh\nif grep -q seq_cst test.c 2>/dev/null; then rm \"$0\"; fi\nexec cc \"$@\"\n",
    );
    let (status, report) = s.run(&["--jobs", "1"]);
    assert_eq!(status, 3, "{report:#}");
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 4, "{errors:?}");
    let said = |what: &str| {
        errors.iter().filter(|e| e["message"].as_str().unwrap().contains(what)).count()
    };
    assert_eq!(said("cc.sh changed while the run was on"), 2, "what it made last: {errors:?}");
    assert_eq!(said("cc.sh did not start: "), 2, "{errors:?}");
    let sources = &report["stages"][1];
    assert_eq!((&sources["name"], &sources["failed"]), (&"source".into(), &0.into()));
    s.compiler(SOUND);
    assert_eq!(s.run(&[]).0, 0);
}

/// A profile that compiles nothing costs two calls a batch, and one that shows what it reads; it is no
/// error of any one test.
#[test]
fn a_compiler_that_takes_nothing_is_not_asked_about_each_test() {
    let s = Scratch::new(
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
    let s = Scratch::new(&format!(
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
    s.compiler(SOUND);
    assert_eq!(s.run(&["--jobs", "1"]).0, 0);
}

#[test]
fn one_outcome_that_the_source_does_not_have_is_a_finding() {
    let s = Scratch::new(
        "#!/bin/sh\ntest -f test.c && sed -i -E 's/\\*(x|loc0) = 1;/*\\1 = 2;/' test.c\nexec cc \"$@\"\n",
    );
    s.write(
        "tests/seq.litmus",
        "C seq\n{}\nP0 (int* x) {\n  *x = 1;\n  int r = *x;\n}\nexists (0:r=1)\n",
    );
    let (status, text) =
        s.litmake(&["check", "--profile", "mine-O2", "tests/seq.litmus", "tests/sb.litmus"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("x86tso allows what rc11 forbids:\n    0:r=2;\n"), "{text}");
    assert!(text.contains("no execution of the source shows it, whatever the model"), "{text}");
    assert!(text.contains("1 finding\n"), "{text}");
}

/// Versions of one compiler, of which the first is wrong.
fn versions() -> Scratch {
    let s = Scratch::new(SOUND);
    for (version, text) in [("9", BUGGY), ("10", SOUND)] {
        s.write(&format!("cc-{version}"), text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(s.path(&format!("cc-{version}")), mode).unwrap();
    }
    let profile = format!(
        "name: cc-${{version}}-O1\nmatrix: {{ version: [10, 9, 8] }}\ncompiler: {}/cc-${{version}}\nargs: ['-O1']\narch: X86_64\n",
        s.dir.path().display()
    );
    s.write("profiles/versions.yaml", &profile);
    s
}

#[test]
fn a_finding_says_all_that_is_needed() {
    let s = versions();
    let noisy = SB
        .replace("{\n  atomic_store", "{\n  int unused = 7;\n  atomic_store")
        .replace("P1 (atomic", "P2 (atomic_int* z) {\n  int r = atomic_load(z);\n}\nP1 (atomic");
    // Threads are numbered in order.
    let noisy = noisy
        .replace("P2 (", "P9 (")
        .replace("P1 (", "P2 (")
        .replace("P9 (", "P1 (")
        .replace("1:r=0", "2:r=0 /\\ 1:r=0");
    s.write("tests/noisy.litmus", &noisy);
    let (status, text) = s.litmake(&["check", "--profile", "cc-9-O1", "tests/noisy.litmus"]);
    assert_eq!(status, 1, "{text}");
    for part in [
        "cc-9-O1, x86tso allows what rc11 forbids:\n    0:r=0; 1:r=0; 2:r=0;\n",
        "  present in cc 9\n  absent from cc 10\n  ended between cc 9 and 10\n",
        "  reduced to:
    C reduced
    {}
    P0(atomic_int *x, atomic_int *y) {
      atomic_store_explicit(x, 1, memory_order_seq_cst);
      int r0 = atomic_load_explicit(y, memory_order_seq_cst);
    }
    P1(atomic_int *x, atomic_int *y) {
      atomic_store_explicit(y, 1, memory_order_seq_cst);
      int r0 = atomic_load_explicit(x, memory_order_seq_cst);
    }
    exists (0:r0=0 /\\ 1:r0=0)
",
        "    0:r0=0; 1:r0=0;  -     yes     <- wrong\n    0:r0=0; 1:r0=1;  yes   yes\n",
        "  0:r0=0; 1:r0=0; under x86tso:\n",
        "  rc11 forbids that of the source:\n",
        "a cycle:\n",
        "  again: litmake check --profile cc-9-O1 --source-model rc11",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
    let (_, json) = s.litmake(&["check", "--json", "--profile", "cc-9-O1", "tests/noisy.litmus"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    let finding = &report["findings"][0];
    assert_eq!(finding["reproducer"], finding["reduced"]["source"]);
    let cycle = &finding["evidence"]["source"]["fails"][0];
    assert_eq!(cycle["is_cycle"], true);
    assert_eq!(cycle["edges"][0]["from"], cycle["edges"].as_array().unwrap().last().unwrap()["to"]);
    assert_eq!(finding["presence"][0]["shows"], "present");
    assert_eq!(finding["presence"][1]["shows"], "absent");
    // What is looked into does not run again.
    let (_, again) = s.litmake(&["check", "--json", "--profile", "cc-9-O1", "tests/noisy.litmus"]);
    assert_eq!(json, again);
    let (_, text) =
        s.litmake(&["check", "--investigate", "0", "--profile", "cc-9-O1", "tests/noisy.litmus"]);
    assert!(!text.contains("reduced to") && text.contains("source:"), "{text}");
}

#[test]
fn what_a_weaker_model_allows_is_labelled() {
    let s = Scratch::new(SOUND);
    let profile = std::fs::read_to_string(s.path("profiles/mine.yaml")).unwrap();
    s.write("profiles/mine.yaml", &(profile + "model: loose.cat\n"));
    s.write(
        "profiles/loose.cat",
        "\"Coherence alone\"\ninclude \"cos.cat\"\nacyclic po-loc | rf | co | fr\n",
    );
    let relaxed = |t: &str| t.replace("seq_cst", "relaxed");
    let lb = SB.replace("C sb", "C lb").replace(
        "  atomic_store_explicit(x, 1, memory_order_seq_cst);\n  int r = atomic_load_explicit(y, memory_order_seq_cst);",
        "  int r = atomic_load_explicit(y, memory_order_seq_cst);\n  atomic_store_explicit(x, 1, memory_order_seq_cst);",
    ).replace(
        "  atomic_store_explicit(y, 1, memory_order_seq_cst);\n  int r = atomic_load_explicit(x, memory_order_seq_cst);",
        "  int r = atomic_load_explicit(x, memory_order_seq_cst);\n  atomic_store_explicit(y, 1, memory_order_seq_cst);",
    ).replace("r=0", "r=1");
    s.write("tests/lb.litmus", &relaxed(&lb));
    s.write("tests/lb-sc.litmus", &lb);
    let check = [
        "check",
        "--storage",
        "pointers",
        "--profile",
        "mine-O1",
        "tests/lb.litmus",
        "tests/lb-sc.litmus",
    ];
    let (status, text) = s.litmake(&check);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("finding tests/lb.litmus (concurrency, load buffering, "), "{text}");
    assert!(text.contains("finding tests/lb-sc.litmus (concurrency, "), "{text}");
    assert!(text.ends_with("2 findings, 1 of them load buffering\n"), "{text}");
    // Of the one that is no load buffering the reduced test is none either.
    let (_, json) = s.litmake(&[&check[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&json).unwrap();
    let of = |name: &str| {
        let list = report["findings"].as_array().unwrap();
        list.iter().find(|f| f["test"] == name).unwrap().clone()
    };
    assert_eq!(of("tests/lb.litmus")["allowed_by"], serde_json::json!(["rc11-lb"]));
    let reduced = of("tests/lb-sc.litmus")["reduced"]["source"].as_str().unwrap().to_string();
    assert!(["acquire", "release"].iter().any(|o| reduced.contains(o)), "{reduced}");
    let counts = &report["differences"][0];
    assert_eq!((&counts["compared"], &counts["positive"]), (&2.into(), &2.into()));
    assert_eq!(counts["positive_under"], serde_json::json!({ "rc11-lb": 1 }));
    s.write("report.json", &json);
    let (status, table) = s.litmake(&["table", "report.json"]);
    assert_eq!(status, 0, "{table}");
    assert!(table.contains("X86_64 (cc.sh)\n"), "{table}");
    assert!(table.contains("  +ve rc11       2  100.00%\n"), "{table}");
    assert!(table.contains("  +ve rc11-lb    1   50.00%\n"), "{table}");
}

#[test]
fn versions_differ_in_code_and_in_outcomes() {
    let s = versions();
    let args = ["diff", "--profile", "cc-*-O1", "tests/sb.litmus", "tests/mp.litmus"];
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("cc-9-O1 -> cc-10-O1      2           1               1"), "{text}");
    assert!(text.contains("tests/sb.litmus: other code from cc-9-O1 and cc-10-O1\n"), "{text}");
    assert!(text.contains("  - 0:r=0; 1:r=0;\n"), "{text}");
    let (_, json) = s.litmake(&[&args[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(executed(&report), 0, "all is known");
    assert_eq!(report["changes"][0]["lost"], 1);
    assert_eq!(report["changes"][0]["tests"][0]["test"], "tests/sb.litmus");
    // Another version of which the code is equal is compiled, and not simulated.
    s.write("cc-9", SOUND);
    let (status, json) = s.litmake(&[&args[..], &["--json"]].concat());
    assert_eq!(status, 0, "{json}");
    let report: Value = serde_json::from_str(&json).unwrap();
    let of = |kind: &str| -> u64 {
        let stages = report["stages"].as_array().unwrap().iter();
        stages.filter(|s| s["kind"] == kind).map(|s| s["executed"].as_u64().unwrap()).sum()
    };
    assert_eq!((of("compile"), of("simulate")), (4, 0), "two threads a test");
    let (status, text) = s.litmake(&["diff", "--profile", "cc-9-O1", "tests/sb.litmus"]);
    assert_eq!(status, 2);
    assert!(text.contains("two profiles are needed"), "{text}");
}

#[test]
fn a_proposed_mapping_is_tested_before_any_compiler_has_it() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new(SOUND);
    s.write("sb.litmus", &STORE_BUFFERING.replace("TYPE", "int"));
    let (status, text) = s.litmake(&["compile", "--profile", "table-aarch64-jvm", "sb.litmus"]);
    assert_eq!(status, 0, "{text}");
    for word in ["LDAPR", "STLR", "DMB ISH"] {
        assert!(text.contains(word), "{text}");
    }
    let check = |more: &[&str]| -> (i32, Value) {
        let args = [&["check", "--split", "instruction", "--json", "sb.litmus"], more].concat();
        let (status, text) = s.litmake(&args);
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")))
    };
    let (table, compiler) = ("table-aarch64-jvm", "clang-16-aarch64-armv8-a-O2");
    assert_eq!(check(&["--profile", table]).0, 0, "right alone");
    let (status, report) = check(&["--profile", compiler, "--profile", table]);
    assert_eq!(status, 1, "{report}");
    assert_eq!(report["findings"][0]["class"], "mixing");
    assert_eq!(report["findings"][0]["profiles"], serde_json::json!([compiler, table]));
    let mappings = &report["compatibility"][0]["mappings"];
    assert_eq!(mappings["load seq_cst 32"].as_array().unwrap().len(), 2, "{mappings}");
    // Of the psABI's tables for RISC-V, the historical one does not fit to the newest one, and the
    // one between fits to both.
    let (a6c, a6s, a7) = ("table-riscv64-a6c", "table-riscv64-a6s", "table-riscv64-a7");
    assert_eq!(check(&["--profile", a6c, "--profile", a6s]).0, 0);
    if here("clang-22") {
        assert_eq!(check(&["--profile", a6s, "--profile", a7]).0, 0);
        assert_eq!(check(&["--profile", a6c, "--profile", a7]).0, 1);
    }
    // Power: each is right alone.
    let (leading, trailing) = ("table-ppc64le-leading", "table-ppc64le-trailing");
    assert_eq!(check(&["--profile", leading]).0, 0);
    assert_eq!(check(&["--profile", trailing]).0, 0);
    assert_eq!(check(&["--profile", leading, "--profile", trailing]).0, 1);
}

#[test]
fn a_table_refuses_what_it_has_no_row_for() {
    if !here("clang-16") {
        return;
    }
    let s = Scratch::new(SOUND);
    s.write("sb.litmus", &STORE_BUFFERING.replace("TYPE", "int"));
    let profile = "name: mine\ncompiler: clang-16\narch: AArch64\n\
        args: ['--target=aarch64-linux-gnu', '-O2']\nmapping:\n";
    s.write(
        "mine.yaml",
        &format!("{profile}  'store seq_cst 32': 'stlr {{value}}, [{{address}}]'\n  '*': refuse\n"),
    );
    let (status, text) = s.litmake(&["compile", "--profile", "./mine.yaml", "sb.litmus"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("no_row_table_load_seq_cst_32"), "{text}");
    s.write(
        "mine.yaml",
        &format!("{profile}  'stor seq_cst 32': 'stlr {{value}}, [{{address}}]'\n"),
    );
    let (status, text) = s.litmake(&["compile", "--profile", "./mine.yaml", "sb.litmus"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("`stor` is no operation (`store`?)"), "{text}");
}

#[test]
fn layouts_of_atomic_structures_are_compared() {
    if !here("clang-16") || !here("gcc-12") {
        return;
    }
    let s = Scratch::new(SOUND);
    s.write(
        "p.yaml",
        "stages:\n  - name: layout\n    layout:\n      profiles: [clang-16-x86_64-O2, clang-16-x86_64-O3, gcc-12-x86_64-O2]\n",
    );
    let (status, report) = s.run(&[]);
    assert_eq!(status, 1, "{report}");
    let findings = report["findings"].as_array().unwrap();
    let find = |ty: &str| findings.iter().find(|f| f["test"] == ty);
    let five = find("struct { char a[5]; }").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(five["class"], "abi-layout");
    assert_eq!(five["profiles"], serde_json::json!(["clang-16-x86_64-O2", "gcc-12-x86_64-O2"]));
    let code = &five["clash"][0]["code"];
    let text = |profile: &str| code[profile].as_str().unwrap().to_string();
    assert!(text("clang-16-x86_64-O2").starts_with("size 8, alignment 8, 3 of padding"), "{code}");
    assert!(
        text("gcc-12-x86_64-O2").starts_with("size 5, alignment 1, load __atomic_load"),
        "{code}"
    );
    for ty in ["int", "struct { char a[4]; }", "struct { long long a[1]; }"] {
        assert!(find(ty).is_none(), "{ty}: {report}");
    }
    let (status, again) = s.run(&[]);
    assert_eq!((status, executed(&again)), (1, 0));
    // Versions of one compiler agree with each other.
    let abi = ["abi", "--profile", "clang-16-x86_64-O2", "--profile", "clang-16-x86_64-O1"];
    let (status, text) = s.litmake(&abi);
    assert_eq!(status, 0, "{text}");
}

/// A compiler of which it is counted how often it compiles; it does as the script says, where `d` is
/// its folder.
fn counted(what: &str) -> String {
    let count = "case \"$*\" in *test.o*) echo >> $d/starts;; esac";
    format!("#!/bin/sh\nd=$(dirname \"$0\")\n{count}\n{what}\n")
}

const LAYOUTS: &str = "\
name: layouts
profiles: profiles
stages:
  - { name: layout, layout: { profiles: [mine-O1], types: [int, long] } }
";

/// What the stage found out about types: how many it has a layout of cannot be seen from outside,
/// but whether anything failed can.
#[test]
fn a_machine_that_is_broken_for_a_moment_is_not_taken_for_what_a_compiler_says() {
    let compile = "exec gcc \"$@\"";
    let full = "echo 'fatal error: error writing to test.o: No space left on device' >&2; exit 1";
    let s = Scratch::new(&counted(full));
    s.write("p.yaml", &LAYOUTS.replace("profiles: profiles\n", ""));
    // Nothing can be compiled: the machine is broken, and nothing is kept.
    let (status, report) = s.run(&[]);
    assert_eq!(status, 3, "{report}");
    let message = report["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("No space left") && message.contains("plain input"), "{message}");
    s.compiler(&counted(compile));
    assert_eq!(s.run(&[]).0, 0);
    // One that fails once, and for no reason.
    std::fs::remove_dir_all(s.path("cache")).unwrap();
    let _ = std::fs::remove_file(s.path("starts"));
    let once = format!(
        "case \"$*\" in *test.o*) ;; *) {compile};; esac\ntest -e $d/failed || {{ touch $d/failed; {full}; }}\n{compile}"
    );
    s.compiler(&counted(&once));
    assert_eq!(s.run(&[]).0, 0);
    assert!(s.path("failed").exists());
}

#[test]
fn a_type_that_a_compiler_refuses_is_none_of_its_layouts_until_it_is_asked_again() {
    // The second profile has no `long`.
    let refusing = "case \"$*\" in *-O2*) if grep -q 'typedef long' test.c; then echo 'error: no long' >&2; exit 1; fi;; esac\nexec gcc \"$@\"";
    let s = Scratch::new(&counted(refusing));
    s.write("p.yaml", "name: layouts\nstages:\n  - { name: layout, layout: { profiles: [mine-O1, mine-O2], types: [int, long] } }\n");
    let starts = || std::fs::read_to_string(s.path("starts")).unwrap().lines().count();
    assert_eq!(s.run(&[]).0, 0);
    let first = starts();
    let stable = |name: &str, more: &[&str]| {
        let mut args = vec!["run", "p.yaml", "--stable", "--report", name];
        args.extend(more);
        assert_eq!(s.litmake(&args).0, 0);
        std::fs::read(s.path(name)).unwrap()
    };
    let kept = stable("kept.json", &[]);
    assert_eq!(starts(), first, "what was refused is kept");
    let asked = stable("asked.json", &["--ask-again"]);
    assert!(starts() > first, "it is asked again");
    assert_eq!(kept, asked, "times are in no report");
}

#[test]
fn a_list_of_what_is_known_survives_a_disk_that_is_full() {
    let s = Scratch::new(BUGGY);
    assert_eq!(s.run(&[]).0, 1);
    let update = "baseline update report.json --baseline known.json";
    assert_eq!(s.litmake(&update.split(' ').collect::<Vec<_>>()).0, 0);
    let before = std::fs::read(s.path("known.json")).unwrap();
    // Files may not grow beyond a block, and who writes more is told so.
    let script =
        format!("trap '' XFSZ; ulimit -f 1; exec {} {update}", env!("CARGO_BIN_EXE_litmake"));
    let out = Command::new("sh").args(["-c", &script]).current_dir(s.dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write known.json"), "{said}");
    assert_eq!(std::fs::read(s.path("known.json")).unwrap(), before);
    let left =
        |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let names: Vec<String> = std::fs::read_dir(s.dir.path()).unwrap().map(left).collect();
    assert!(!names.iter().any(|n| n.ends_with(".tmp")), "{names:?}");
}

#[test]
fn events_that_cannot_be_written_are_no_silent_loss() {
    let s = Scratch::new(SOUND);
    let (status, said) = s.litmake(&["run", "p.yaml", "--events", "/dev/full"]);
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("cannot write events to /dev/full"), "{said}");
}

#[test]
fn names_of_tests_are_words_and_no_commands() {
    let s = Scratch::new(BUGGY);
    let name = "tests/a $(touch run)\x1b[2J\n::error::b\u{202e}.litmus";
    std::fs::rename(s.path("tests/sb.litmus"), s.path(name)).unwrap();
    let formats = ["--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif"];
    let (status, report) = s.run(&formats);
    assert_eq!(status, 1);
    let finding = report["findings"].as_array().unwrap().iter().find(|f| f["test"] == name);
    let command = finding.unwrap()["command"].as_str().unwrap();
    let (_, words) = command.split_once(' ').unwrap();
    let shell = |script: String| {
        let out = Command::new("sh").args(["-c", &script]).current_dir(s.dir.path()).output();
        String::from_utf8(out.unwrap().stdout).unwrap()
    };
    assert!(shell(format!("printf '%s|' {words}")).ends_with(&format!("|{name}|")), "{command}");
    assert!(!s.path("run").exists());
    let mut on_github = s.command(&["run", "p.yaml", "-v"]);
    let out = on_github.env("GITHUB_ACTIONS", "true").output().unwrap();
    let shown = String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap();
    assert!(shown.contains("\\u001b[2J"), "{shown}");
    assert!(!shown.contains(['\x1b', '\u{202e}']), "{shown}");
    let commands: Vec<&str> = shown.lines().filter(|l| l.trim_start().starts_with("::")).collect();
    assert!(
        !commands.is_empty() && commands.iter().all(|c| c.starts_with("::error file=tests/")),
        "{commands:?}"
    );
    let read = |name: &str| std::fs::read_to_string(s.path(name)).unwrap();
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    assert!(read("r.xml").chars().all(is_plain) && read("r.html").chars().all(is_plain));
    serde_json::from_str::<Value>(&read("r.sarif")).unwrap();
}

#[test]
fn what_is_no_file_is_refused_wherever_a_file_is_read() {
    let s = Scratch::new(SOUND);
    assert!(Command::new("mkfifo").arg(s.path("pipe")).status().unwrap().success());
    std::fs::create_dir(s.path("folder")).unwrap();
    s.write("list.yaml", &PIPELINE.replace("files: tests", "files: '@IT'"));
    s.write("test.yaml", &PIPELINE.replace("files: tests", "files: IT"));
    s.write("include.yaml", &format!("include: [IT]\n{PIPELINE}"));
    s.write("model.yaml", &PIPELINE.replace("model: rc11", "model: ./IT"));
    s.write("profile.yaml", &format!("profiles: [IT]\n{PIPELINE}"));
    s.write("baseline.yaml", &format!("baseline: IT\n{PIPELINE}"));
    for what in ["/dev/zero", "pipe", "folder"] {
        for kind in ["list", "test", "include", "model", "profile", "baseline"] {
            // Models are files by their names.
            let name = match (kind, what) {
                ("model", _) => {
                    let link = s.path("it.cat");
                    let _ = std::fs::remove_file(&link);
                    std::os::unix::fs::symlink(what, link).unwrap();
                    "it.cat"
                }
                _ => what,
            };
            let text = std::fs::read_to_string(s.path(&format!("{kind}.yaml"))).unwrap();
            s.write("now.yaml", &text.replace("IT", name));
            let (status, said) = s.litmake(&["run", "now.yaml"]);
            assert!((1..=3).contains(&status), "{kind} {what}: {status} {said}");
            assert!(said.contains("error"), "{kind} {what}: {said}");
        }
        let (status, said) = s.litmake(&["run", what]);
        assert_eq!(status, 2, "{what}: {said}");
        let (status, said) = s.litmake(&["sim", what]);
        assert!(status > 0, "{what}: {said}");
    }
}

#[test]
fn what_hides_a_profile_of_ours_is_said_once_and_can_be_forbidden() {
    let s = Scratch::new(SOUND);
    let hiding = format!(
        "name: gcc-12-x86_64-O2\ncompiler: {}\nargs: ['-O2', '-DHIDING']\narch: X86_64\n",
        s.path("cc.sh").display()
    );
    s.write("profiles/hiding.yaml", &hiding);
    let (status, said) = s.litmake(&["run", "p.yaml"]);
    assert_eq!(status, 0, "{said}");
    let warnings: Vec<&str> = said.lines().filter(|l| l.contains("hides")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    let warning = warnings[0];
    assert!(warning.contains("hiding.yaml") && warning.contains("gcc-12-x86_64-O2"), "{warning}");
    assert!(warning.contains("profiles/gcc"), "{warning}");
    let (status, said) = s.litmake(&["run", "p.yaml", "--no-local"]);
    assert_eq!(status, 2, "{said}");
    let variable = s.command(&["run", "p.yaml"]).env("LITMAKE_NO_LOCAL", "1").output().unwrap();
    assert_eq!(variable.status.code(), Some(2));
    // A model of ours by the name of its file is ours.
    s.write("sc.cat", "acyclic po as nothing-more\n");
    let allowed = |more: &[&str]| {
        let args = [&["sim", "tests/sb.litmus", "--model", "sc.cat"], more].concat();
        s.litmake(&args).1
    };
    assert!(allowed(&[]).contains("hides"));
    assert!(!allowed(&["--no-local"]).contains("hides"));
    assert_ne!(allowed(&[]), allowed(&["--no-local"]));
}
