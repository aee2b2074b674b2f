//! The program from end to end, in scratch folders, with compilers that are scripts around `cc`.

#![cfg(target_arch = "x86_64")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use litmake_needs::{here, need};
use serde_json::Value;

use crate::scratch::{SB, Scratch};

mod cpu;
mod devices;
mod ends;
mod failures;
mod levels;
mod locals;
mod mixes;
mod tables;
mod versions;
mod watch;

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

/// A compiler that takes sequentially consistent stores for relaxed ones.
const BUGGY: &str = "#!/bin/sh
test -f test.c && sed -i 's/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/' test.c
exec cc \"$@\"
";

const SOUND: &str = "#!/bin/sh\nexec cc \"$@\"\n";

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

/// A folder with the pipeline, two tests, and two profiles of a compiler, which is a script.
fn project(compiler: &str) -> Scratch {
    let out = Scratch::with(&[
        ("p.yaml", PIPELINE),
        ("tests/sb.litmus", SB),
        ("tests/mp.litmus", MP),
        ("cc.sh", compiler),
    ]);
    let profile = format!(
        "name: mine-${{level}}\nmatrix: {{ level: [O1, O2] }}\ncompiler: {}\nargs: ['-${{level}}']\narch: X86_64\n",
        out.path("cc.sh").display()
    );
    out.write("profiles/mine.yaml", &profile);
    out
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
    let s = project(BUGGY);
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
    let s = project(BUGGY);
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
    let s = project(SOUND);
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
    let s = project(BUGGY);
    let tar = |s: &Scratch| {
        let made = Command::new("tar").args(["cf", "t.tar", "tests"]).current_dir(s.dir()).status();
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
    std::fs::create_dir(s.dir().join("none")).unwrap();
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
    assert!(text.contains("t.tar: cannot read it: no tar file"), "{text}");
}

#[test]
fn a_sound_compiler_gives_no_findings() {
    let s = project(SOUND);
    let (status, report) = s.run(&[]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(statuses(&report), []);
    assert_eq!(report["errors"], serde_json::json!([]));
}

#[test]
fn reports_are_equal_whatever_the_jobs() {
    let mut texts = Vec::new();
    let s = project(BUGGY);
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
    let s = project(SOUND);
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
    let s = project(SOUND);
    assert_eq!(s.run(&[]).0, 0);
    s.write("cc.sh", &SOUND.replace("exec", "exec  "));
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 8), "only compiled: the code is equal");
    let (status, text) = s.litmake(&["explain", "p.yaml", "sb"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("code[mine-O1] P0 ran: what it reads changed"), "{text}");
    assert!(text.contains("cc.sh changed, from "), "{text}");
    assert!(text.contains("/cc.sh changed\n"), "which of its files: {text}");
    assert!(text.contains("target[mine-O1] did not run: nothing that it reads changed"), "{text}");
    let (_, text) = s.litmake(&["explain", "p.yaml", "code[mine-O1]"]);
    assert!(text.contains("4 tasks ran in the last run"), "{text}");
    s.write("cc.sh", BUGGY);
    assert_eq!(s.run(&[]).0, 1);
}

#[test]
fn a_broken_test_is_wrong_input_and_the_rest_goes_on() {
    let s = project(BUGGY);
    s.write(
        "tests/bad.litmus",
        "C bad
{}
P0 (int* x) { *x = ; }
exists (x=1)
",
    );
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
    let s = project(SOUND);
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
    let s = project(BUGGY);
    s.write("p.yaml", &PIPELINE.replace("name: scratch", "name: scratch\nbaseline: known.json"));
    assert_eq!(s.run(&[]).0, 1);
    let update = ["baseline", "update", "report.json", "--baseline", "known.json"];
    assert_eq!(s.litmake(&update), (0, "known.json: 1 known finding\n".into()));
    let (status, report) = s.run(&[]);
    assert_eq!(status, 0);
    assert_eq!(statuses(&report), [("tests/sb.litmus", "known")]);
    s.write("cc.sh", SOUND);
    let (status, report) = s.run(&[]);
    assert_eq!(status, 0);
    assert_eq!(statuses(&report), [("tests/sb.litmus", "fixed")]);
    assert_eq!(s.litmake(&update).1, "known.json: 0 known findings\n");
}

#[test]
fn parts_merge_into_the_whole() {
    let s = project(BUGGY);
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
    // A thread that several parts have counts once.
    assert_eq!(merged, whole);
    let report: Value = serde_json::from_str(&merged).unwrap();
    let stages = report["stages"].as_array().unwrap().iter();
    let tasks = stages.filter(|s| s["kind"] == "compile").map(|s| s["tasks"].as_u64().unwrap());
    assert_eq!(tasks.sum::<u64>(), 2 * 4, "four threads, two levels");
}

#[test]
fn other_formats_are_written() {
    let s = project(BUGGY);
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
    let s = project(SOUND);
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

#[test]
fn what_a_stage_left_out_is_counted_and_why() {
    let s = project(SOUND);
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
fn logs_of_two_models_are_compared() {
    let s = project(SOUND);
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
fn what_was_not_asked_for_does_not_run() {
    let s = project(SOUND);
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
fn names_of_tests_are_words_and_no_commands() {
    let s = project(BUGGY);
    let name = "tests/a $(touch run)\x1b[2J\n::error::b\u{202e}.litmus";
    std::fs::rename(s.path("tests/sb.litmus"), s.path(name)).unwrap();
    let formats = ["--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif"];
    let (status, report) = s.run(&formats);
    assert_eq!(status, 1);
    let finding = report["findings"].as_array().unwrap().iter().find(|f| f["test"] == name);
    let command = finding.unwrap()["command"].as_str().unwrap();
    let (_, words) = command.split_once(' ').unwrap();
    let shell = |script: String| {
        let out = Command::new("sh").args(["-c", &script]).current_dir(s.dir()).output();
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
    let (verdict, errors) = commands.split_first().unwrap();
    assert!(verdict.starts_with("::notice title=litmake::complete: "), "{commands:?}");
    assert!(
        !errors.is_empty() && errors.iter().all(|c| c.starts_with("::error file=tests/")),
        "{commands:?}"
    );
    let read = |name: &str| std::fs::read_to_string(s.path(name)).unwrap();
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    assert!(read("r.xml").chars().all(is_plain) && read("r.html").chars().all(is_plain));
    serde_json::from_str::<Value>(&read("r.sarif")).unwrap();
}

#[test]
fn what_is_no_file_is_refused_wherever_a_file_is_read() {
    let s = project(SOUND);
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
    let s = project(SOUND);
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
