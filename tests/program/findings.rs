//! Bugs and what is written about them, with the compilers that have them.

#![cfg(target_arch = "x86_64")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::scratch::{IDEMPOTENT, SB, Scratch, streams};

/// The same bug, its threads turned, by other names, in more of a test.
const IDEMPOTENT_TOO: &str = "C other
{}
P0 (atomic_int* lock, atomic_int* flag, atomic_int* data, atomic_int* more) {
  atomic_store_explicit(flag, 2, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  int old = atomic_exchange_explicit(lock, 3, memory_order_seq_cst);
  atomic_thread_fence(memory_order_seq_cst);
  int seen = atomic_load_explicit(data, memory_order_acquire);
  int got = atomic_load_explicit(more, memory_order_relaxed);
}
P1 (atomic_int* flag, atomic_int* data, atomic_int* lock) {
  atomic_store_explicit(data, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int old = atomic_fetch_or_explicit(lock, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int seen = atomic_load_explicit(flag, memory_order_relaxed);
}
P2 (atomic_int* lock, atomic_int* more) {
  atomic_store_explicit(more, 1, memory_order_relaxed);
}
exists (0:seen=0 /\\ 1:seen=0)
";

/// gcc 11 and 12 for Power: the failing side of a compare-exchange does not acquire.
const COMPARE: &str = "C compare
{ e=5; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y, int* e) {
  int r0 = atomic_compare_exchange_strong_explicit(y, e, 2, memory_order_release, memory_order_acquire);
  int r1 = *e;
  int r2 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r1=1 /\\ 1:r2=0)
";

const LOAD_BUFFERING: &str = "C lb
{}
P0 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
exists (0:r0=1 /\\ 1:r0=1)
";

/// The status of a script, and what it said.
fn started(s: &Scratch, args: &[&str]) -> (i32, String) {
    let (status, out, err) = streams(&mut s.shell(args));
    (status, out + &err)
}

/// The report of tests that show a bug.
fn checked(s: &Scratch, args: &[&str]) -> Value {
    let (status, report) = s.json(&[&["check", "-q", "--json"], args].concat());
    assert_eq!(status, 1, "{report:#}");
    report
}

fn missing(compilers: &[&str]) -> bool {
    !compilers.iter().all(|c| litmake_needs::here(c))
}

fn ids(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| f["id"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_bug_is_one_whichever_version_level_and_test_shows_it() {
    if missing(&["clang-14", "clang-15"]) {
        return;
    }
    let files = [("a.litmus", IDEMPOTENT), ("b.litmus", IDEMPOTENT_TOO)];
    let s = Scratch::among(&["clang-14", "clang-15"], &files);
    let mut seen = BTreeSet::new();
    // Each by itself, so that each reduces what it found.
    for (profile, test) in [("clang-14-x86_64-O1", "a.litmus"), ("clang-15-x86_64-O2", "b.litmus")]
    {
        let report =
            checked(&s, &["--storage", "pointers", "--profile", profile, "--cache", test, test]);
        let found = ids(&report);
        assert_eq!(found.len(), 1, "{profile} {test}: {report:#}");
        seen.extend(found);
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
    // And together, where what is known is looked for in the rest.
    let all = checked(
        &s,
        &[
            "--storage",
            "pointers",
            "--profile",
            "clang-14-x86_64-O1",
            "--profile",
            "clang-15-x86_64-O2",
            "a.litmus",
            "b.litmus",
        ],
    );
    assert_eq!(ids(&all), seen.into_iter().collect::<Vec<_>>());
    assert_eq!(all["findings"][0]["count"], 4, "{all:#}");
    assert!(all.get("not_looked_into").is_none());
}

#[test]
fn load_buffering_is_one_bug_of_a_family_and_one_line() {
    if missing(&["clang-14", "clang-16"]) {
        return;
    }
    let renamed = LOAD_BUFFERING.replace('x', "flag").replace("eflagists", "exists");
    let renamed = renamed.replace("eflagplicit", "explicit").replace("relaflaged", "relaxed");
    let s = Scratch::with(&[("tests/a.litmus", LOAD_BUFFERING), ("tests/b.litmus", &renamed)]);
    s.write(
        "p.yaml",
        "name: lb
stages:
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: weaker, simulate: { from: tests, model: rc11-lb } }
  - name: code
    matrix: { profile: [clang-14-aarch64-O2, clang-16-riscv64-O1] }
    compile: { from: tests, profile: '${profile}' }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, also: weaker, target: target } }
",
    );
    // It is one known line, and no red night.
    let (status, text) = s.litmake(&["run", "p.yaml", "--report", "r.json"]);
    assert_eq!(status, 0, "{text}");
    let lines: Vec<&str> = text.lines().filter(|l| l.contains("load buffering in clang")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("known load buffering in clang: 4 times on 2 profiles"), "{text}");
    assert!(text.contains("\nno new findings, 1 known\n"), "{text}");
    let report: Value = serde_json::from_str(&s.read("r.json")).unwrap();
    assert_eq!(report["findings"][0]["occurrences"].as_array().unwrap().len(), 4);
    // What is known of one profile is known of the other.
    s.litmake(&["baseline", "update", "r.json", "--baseline", "known.json"]);
    let other = s
        .read("p.yaml")
        .replace("[clang-14-aarch64-O2, clang-16-riscv64-O1]", "[clang-16-aarch64-O1]");
    s.write("p.yaml", &other);
    let (status, text) = s.litmake(&["run", "p.yaml", "--baseline", "known.json"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("no new findings, 1 known\n"), "{text}");
}

#[test]
fn a_baseline_of_single_tests_is_still_read() {
    if missing(&["clang-14"]) {
        return;
    }
    let s = Scratch::with(&[("tests/a.litmus", IDEMPOTENT), ("tests/b.litmus", LOAD_BUFFERING)]);
    s.write(
        "p.yaml",
        "name: old
baseline: known.json
stages:
  - { name: tests, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: code, compile: { from: tests, profile: clang-14-x86_64-O2 } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target } }
",
    );
    // As they were written when each test with a profile was a finding.
    let old = |test: &str| {
        serde_json::json!({
            "id": "0123456789ab", "class": "concurrency", "test": test, "source": "",
            "profiles": ["clang-14-x86_64-O2"], "model_source": "rc11", "model_target": "x86tso",
            "outcomes": { "forbidden": [], "source": [], "target": [] }, "reproducer": "",
            "status": "known",
        })
    };
    let known = serde_json::json!({
        "baseline": 1, "known": [old("tests/a.litmus"), old("tests/b.litmus")],
    });
    s.write("known.json", &known.to_string());
    let (status, text) = s.litmake(&["run", "p.yaml", "--report", "r.json"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("no new findings, 1 known\n"), "{text}");
    assert!(text.contains("fixed tests/b.litmus"), "{text}");
    let (_, text) = s.litmake(&["baseline", "update", "r.json", "--baseline", "known.json"]);
    assert_eq!(text, "known.json: 1 known finding\n");
    let now: Value = serde_json::from_str(&s.read("known.json")).unwrap();
    assert_eq!(now["baseline"], 2);
    let (status, text) = s.litmake(&["run", "p.yaml"]);
    assert_eq!(status, 0, "{text}");
}

#[test]
fn what_the_budget_does_not_reach_is_said_and_not_joined() {
    if missing(&["clang-14"]) {
        return;
    }
    let files = [("a.litmus", IDEMPOTENT), ("b.litmus", IDEMPOTENT_TOO)];
    let s = Scratch::among(&["clang-14"], &files);
    let args = ["check", "--storage", "pointers", "--profile", "clang-14-x86_64-O2"];
    let tests = ["a.litmus", "b.litmus"];
    let none = [&args[..], &["--investigate-seconds", "0"], &tests].concat();
    let (status, text) = s.litmake(&none);
    assert_eq!(status, 1, "what was not looked into may be new: {text}");
    assert!(text.contains("not looked into: 2 differences of clang"), "{text}");
    assert!(text.contains("\nno new findings, not looked into: 2\n"), "{text}");
    // Every difference is there all the same.
    let more = ["--occurrences", "1", "--details", "d.jsonl", "--json", "-q"];
    let (_, text) = s.litmake(&[&args[..], &more, &tests].concat());
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["findings"][0]["count"], 2, "{report:#}");
    assert_eq!(report["findings"][0]["occurrences"].as_array().unwrap().len(), 1);
    let lines: Vec<Value> =
        s.read("d.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let tests: BTreeSet<&str> = lines.iter().map(|l| l["test"].as_str().unwrap()).collect();
    assert_eq!(tests, BTreeSet::from(["a.litmus", "b.litmus"]));
    assert!(lines.iter().all(|l| l["id"] == report["findings"][0]["id"]), "{lines:?}");
    // Where nothing is to be reduced, the whole tests tell what the bug is.
    s.write("c.litmus", &IDEMPOTENT.replace("C idempotent", "C same").replace("r0", "got"));
    let plain = ["--investigate", "0", "--json", "-q", "a.litmus", "b.litmus", "c.litmus"];
    let (_, text) = s.litmake(&[&args[..], &plain].concat());
    let whole: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(ids(&whole), ids(&report), "{whole:#}");
}

/// Every text in a document under one of some keys.
fn under<'a>(value: &'a Value, keys: &[&str], out: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if keys.contains(&key.as_str()) => out.push(text),
                    value => under(value, keys, out),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|v| under(v, keys, out)),
        _ => {}
    }
}

/// The parts of a text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split_once(after)).map(|(p, _)| p).collect()
}

#[test]
fn each_path_in_each_report_exists_and_each_script_shows_its_bug() {
    if missing(&["clang-14"]) {
        return;
    }
    let s = Scratch::among(&["clang-14"], &[]);
    s.write(
        "p.yaml",
        "name: made
stages:
  - { name: tests, generate: { arch: C, cycles: ['PodRWRlxRlx RfeRlxRlx PodRWRlxRlx RfeRlxRlx'] } }
  - { name: files, generate: { files: tests } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: code, compile: { from: tests, profile: clang-14-aarch64-O2 } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target } }
  - { name: source-2, simulate: { from: files, model: rc11 } }
  - { name: code-2, compile: { from: files, profile: clang-14-x86_64-O2 } }
  - { name: target-2, simulate: { from: code-2 } }
  - { name: compare-2, compare: { source: source-2, target: target-2 } }
",
    );
    s.write("tests/a.litmus", IDEMPOTENT);
    for folder in [None, Some("found")] {
        let mut args = vec![
            "run", "p.yaml", "--report", "r.json", "--junit", "r.xml", "--sarif", "r.sarif",
            "--html", "r.html",
        ];
        args.extend(folder.iter().flat_map(|f| ["--findings", f]));
        let mut command = s.command(&args);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", s.path("summary.md"));
        let (status, text, _) = streams(&mut command);
        assert_eq!(status, 1, "{text}");
        let report: Value = serde_json::from_str(&s.read("r.json")).unwrap();
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 2, "{report:#}");
        let sarif: Value = serde_json::from_str(&s.read("r.sarif")).unwrap();
        let mut paths: Vec<&str> = Vec::new();
        under(&report, &["file", "folder"], &mut paths);
        under(&sarif, &["uri"], &mut paths);
        let xml = s.read("r.xml");
        paths.extend(between(&xml, " file=\"", "\""));
        paths.extend(between(&text, "::error file=", ","));
        paths.extend(between(&text, "  folder: ", "\n"));
        // The test in a file, in four formats; with folders, both bugs, and the folders.
        let expected = if folder.is_some() { 2 * 4 + 2 + 2 } else { 4 };
        assert_eq!(paths.len(), expected, "{paths:?}");
        for path in &paths {
            assert!(s.path(path).exists(), "{path} is not there");
        }
        for finding in findings {
            let command = finding["command"].as_str().unwrap();
            let page = s.read("r.html");
            let shown = page.replace("&#39;", "'").replace("&quot;", "\"").replace("&gt;", ">");
            let shown = shown.replace("&lt;", "<").replace("&amp;", "&");
            assert!(shown.contains(command), "{command}\n{page}");
            // The command of a report runs where the report is.
            let script = format!("litmake() {{ \"$LITMAKE\" \"$@\"; }}; {command}");
            let (status, said) = started(&s, &["-c", &script]);
            assert_eq!(status, 1, "{command}\n{said}");
        }
        if folder.is_none() {
            continue;
        }
        for finding in findings {
            check_folder(&s, finding);
        }
    }
}

/// The folder of a finding has every file, and shows the bug wherever it is.
fn check_folder(s: &Scratch, finding: &Value) {
    let folder = finding["folder"].as_str().unwrap();
    let name =
        format!("{}-{}", finding["class"].as_str().unwrap(), finding["id"].as_str().unwrap());
    assert!(folder.ends_with(&name), "{folder}");
    for file in [
        "test.litmus",
        "original.litmus",
        "source.c",
        "code.litmus",
        "source.cert",
        "code.cert",
        "profile.yaml",
        "repro.sh",
        "issue.md",
        "finding.json",
    ] {
        assert!(s.path(folder).join(file).is_file(), "{folder}/{file}");
    }
    let own: Value = serde_json::from_str(&s.read(&format!("{folder}/finding.json"))).unwrap();
    assert_eq!(own["id"], finding["id"]);
    assert!(s.read(&format!("{folder}/source.c")).contains("memory_order_relaxed"));
    let [source, code] = ["source", "code"].map(|side| format!("{folder}/{side}.cert"));
    let (status, said) = s.litmake(&["certificate", "finding", &source, &code]);
    assert_eq!(status, 0, "{said}");
    // A folder needs nothing around it.
    let elsewhere = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .args(["-r".as_ref(), s.path(folder).as_os_str(), elsewhere.path().as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let script = elsewhere.path().join(Path::new(folder).file_name().unwrap()).join("repro.sh");
    let (status, said) = started(s, &[script.to_str().unwrap()]);
    assert_eq!(status, 1, "{said}");
}

#[test]
fn a_script_says_that_a_bug_is_gone() {
    if missing(&["powerpc64le-linux-gnu-gcc-12", "clang-16"]) {
        return;
    }
    let s = Scratch::among(&["powerpc64le-linux-gnu-gcc-12", "clang-16"], &[("a.litmus", COMPARE)]);
    let report = checked(&s, &["--findings", "f", "--profile", "gcc-12-ppc64le-O2", "a.litmus"]);
    let folder = report["findings"][0]["folder"].as_str().unwrap();
    let (status, said) = started(&s, &[&format!("{folder}/repro.sh")]);
    assert_eq!(status, 1, "{said}");
    // With a compiler that does not have it.
    let name = format!("{folder}/profile.yaml");
    let mut profile: Value = serde_json::from_str(&s.read(&name)).unwrap();
    profile["compiler"] = "clang-16".into();
    profile["args"] =
        serde_json::json!(["--target=powerpc64le-linux-gnu", "-ffreestanding", "-O2"]);
    s.write(&name, &profile.to_string());
    let (status, said) = started(&s, &[&format!("{folder}/repro.sh")]);
    assert_eq!(status, 0, "{said}");
}

#[test]
fn the_script_of_a_mix_shows_it() {
    if missing(&["clang-16"]) {
        return;
    }
    let sb = SB;
    let s = Scratch::among(&["clang-16"], &[("sb.litmus", sb)]);
    let report = checked(
        &s,
        &[
            "--split",
            "instruction",
            "--findings",
            "f",
            "--profile",
            "clang-16-armv7-O2",
            "--profile",
            "clang-16-armv8-O2",
            "sb.litmus",
        ],
    );
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{report:#}");
    assert_eq!(findings[0]["class"], "mixing");
    let folder = findings[0]["folder"].as_str().unwrap();
    let (status, said) = started(&s, &[&format!("{folder}/repro.sh")]);
    assert_eq!(status, 1, "{said}");
}

#[test]
fn a_report_is_of_its_schema() {
    if missing(&["clang-14"]) {
        return;
    }
    // One that has the bug, and one that does not.
    let s = Scratch::among(&["clang-14", "clang-16"], &[("a.litmus", IDEMPOTENT)]);
    let (status, schema) = s.litmake(&["schema", "report"]);
    assert_eq!(status, 0, "{schema}");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let report = checked(&s, &["--profile", "clang-14-x86_64-O2", "a.litmus"]);
    // Every key of the report is one of the schema's, wherever it stands.
    fn known(value: &Value, schema: &Value, all: &Value, at: &str) {
        let schema = match schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
            Some(name) => &all["$defs"][name],
            None => schema,
        };
        if let Some(any) = schema["anyOf"].as_array() {
            let some = any.iter().find(|s| s["type"] != "null").unwrap();
            return known(value, some, all, at);
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let at = format!("{at}.{key}");
                    match schema["properties"].get(key) {
                        Some(own) => known(value, own, all, &at),
                        None => {
                            let more = &schema["additionalProperties"];
                            assert!(more.is_object(), "{at} is not in the schema: {schema:#}");
                            known(value, more, all, &at);
                        }
                    }
                }
            }
            Value::Array(list) => {
                let tuple = schema["prefixItems"].as_array();
                for (i, value) in list.iter().enumerate() {
                    let item = tuple.map_or(&schema["items"], |t| &t[i]);
                    known(value, item, all, &format!("{at}[]"));
                }
            }
            Value::String(text) => {
                if let Some(words) = schema["enum"].as_array() {
                    assert!(words.iter().any(|w| w == text), "{at}: {text} is none of {words:?}");
                }
            }
            _ => {}
        }
    }
    known(&report, &schema, &schema, "report");
    for key in ["id", "class", "status", "reproducer", "occurrences"] {
        let finding = &schema["$defs"]["Finding"]["properties"];
        assert!(finding.get(key).is_some(), "{key}: {finding:#}");
    }
}

/// Stores of one convention beside loads of another: which barriers go together differs between machines, so
/// each machine has a bug of its own.
#[test]
fn mixes_of_two_machines_are_two_bugs() {
    if missing(&["clang-16", "clang-22"]) {
        return;
    }
    let s = Scratch::among(&["clang-16", "clang-22"], &[("sb.litmus", STORE_BUFFERING)]);
    let mut seen = BTreeSet::new();
    for (n, pair) in [
        ["clang-16-armv7-O2", "clang-16-armv8-O2"],
        ["clang-16-armv7-O1", "clang-22-armv8-O1"],
        ["clang-16-riscv64-O2", "clang-22-riscv64-zalasr-O2"],
    ]
    .iter()
    .enumerate()
    {
        let cache = format!("cache{n}");
        let profiles = ["--profile", pair[0], "--profile", pair[1]];
        let how = ["--split", "instruction", "--cache", &cache];
        let report = checked(&s, &[&how[..], &profiles, &["sb.litmus"]].concat());
        assert_eq!(ids(&report).len(), 1, "{pair:?}: {report:#}");
        seen.extend(ids(&report));
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

const STORE_BUFFERING: &str = "C sb
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_seq_cst);
  int r0 = atomic_load_explicit(y, memory_order_seq_cst);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_seq_cst);
  int r0 = atomic_load_explicit(x, memory_order_seq_cst);
}
exists (0:r0=0 /\\ 1:r0=0)
";

/// Bugs of the corpus beside the tree, with compilers that have them: the folder, the source, how it is
/// checked, and whether its two lines of profiles have one bug.
#[expect(clippy::type_complexity, reason = "a table, read once")]
const CORPUS: &[(&str, &str, &[&str], [&[&str]; 2])] = &[
    ("02-", "source", &[], [&["clang-14-x86_64-O2"], &["clang-15-x86_64-O1"]]),
    (
        "04-",
        "source",
        &[],
        [&["clang-14-aarch64-armv8.1-a-O2"], &["clang-16-aarch64-armv8.1-a-O1"]],
    ),
    ("09-", "source", &[], [&["gcc-11-ppc64le-O1"], &["gcc-12-ppc64le-O2"]]),
    ("11-", "source", &[], [&["gcc-12-riscv64-O1"], &["gcc-12-riscv64-O2"]]),
    (
        "17-",
        "source",
        &["--split", "instruction"],
        [&["clang-16-armv7-O2", "clang-16-armv8-O2"], &["clang-16-armv7-O1", "clang-22-armv8-O1"]],
    ),
    ("22-", "source", &[], [&["clang-14-x86_64-cx16-O2"], &["clang-16-x86_64-cx16-O1"]]),
    ("26-", "source", &[], [&["clang-14-aarch64-O2"], &["clang-22-riscv64-O1"]]),
];

#[test]
fn bugs_of_the_corpus_have_one_identity_and_scripts_that_show_them() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/bugs");
    if !litmake_needs::beside("../shared/bugs", corpus.is_dir()) {
        return;
    }
    let folders = std::fs::read_dir(&corpus).unwrap();
    let folders: Vec<PathBuf> = folders.map(|f| f.unwrap().path()).collect();
    let compiler = |p: &&str| match p.split('-').collect::<Vec<_>>()[..] {
        ["gcc", version, "ppc64le", ..] => format!("powerpc64le-linux-gnu-gcc-{version}"),
        ["gcc", version, "riscv64", ..] => format!("riscv64-linux-gnu-gcc-{version}"),
        ["clang", version, ..] => format!("clang-{version}"),
        _ => panic!("{p}"),
    };
    for (start, source, how, profiles) in CORPUS {
        let compilers: Vec<String> = profiles.concat().iter().map(compiler).collect();
        let s = Scratch::among(&compilers.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        let named = |f: &&PathBuf| f.file_name().unwrap().to_str().unwrap().starts_with(start);
        let Some(folder) = folders.iter().find(named) else { continue };
        let test = std::fs::read_to_string(folder.join(format!("{source}.litmus"))).unwrap();
        s.write("test.litmus", &test);
        let mut seen = BTreeSet::new();
        for (n, profiles) in profiles.iter().enumerate() {
            let needed: Vec<String> = profiles.iter().map(compiler).collect();
            if missing(&needed.iter().map(String::as_str).collect::<Vec<_>>()) {
                continue;
            }
            // The first is reduced and looked into; the identity of the other is that of the test as it was found.
            let (cache, found) = (format!("cache{start}{n}"), format!("found{start}{n}"));
            let mut args = vec!["--cache", &cache, "--findings", &found];
            args.extend(*how);
            if n > 0 {
                args.extend(["--investigate", "0"]);
            }
            args.extend(profiles.iter().flat_map(|p| ["--profile", p]));
            args.push("test.litmus");
            let (status, report) = s.json(&[&["check", "-q", "--json"], &args[..]].concat());
            // The corpus has load buffering as its control: a difference that is known without a baseline.
            let shown = i32::from(*start != "26-");
            assert_eq!(status, shown, "{start}: {report:#}");
            assert_eq!(ids(&report).len(), 1, "{start}: {report:#}");
            seen.extend(ids(&report));
            if n > 0 {
                continue;
            }
            let folder = report["findings"][0]["folder"].as_str().unwrap();
            let (status, said) = started(&s, &[&format!("{folder}/repro.sh")]);
            assert_eq!(status, shown, "{start} {profiles:?}: {said}");
            assert!(shown == 1 || said.contains("known load buffering"), "{said}");
            let id = format!("({})", ids(&report)[0]);
            assert!(said.contains(&id), "{start} {profiles:?}: {id} is not in {said}");
            // Each side has a certificate. A write to what is read-only is no outcome.
            let [source, code] = ["source", "code"].map(|side| format!("{folder}/{side}.cert"));
            let (status, said) = s.litmake(&["certificate", "finding", &source, &code]);
            let crashes = report["findings"][0]["class"] == "runtime-crash";
            assert_eq!(status, i32::from(crashes), "{start} {profiles:?}: {said}");
        }
        assert!(seen.len() <= 1, "{start}: {seen:?}");
    }
}

/// LLVM passes the values of 128-bit operations to libatomic in the wrong registers on MIPS.
const WIDE: &str = "C wide
{}
P0 (_Atomic __int128 *x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  atomic_store_explicit(x, 1, memory_order_release);
}
P1 (atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
exists (0:r0=1 /\\ [x]=0)
";

/// A mix in which one compiler made every part needs no mix: it is what that compiler does to a whole test.
#[test]
fn what_one_compiler_of_a_mix_does_alone_is_its_own_bug() {
    if missing(&["clang-22", "mips64el-linux-gnuabi64-gcc-12"]) {
        return;
    }
    let compilers = ["clang-22", "mips64el-linux-gnuabi64-gcc-12"];
    let s = Scratch::among(&compilers, &[("a.litmus", WIDE)]);
    let (clang, gcc) = ("clang-22-mips64el-O2", "gcc-12-mips64el-O2");
    let mixed = ["--split", "instruction", "--profile", clang, "--profile", gcc, "a.litmus"];
    let mixed = checked(&s, &mixed);
    let alone = checked(&s, &["--profile", clang, "a.litmus"]);
    assert_eq!(ids(&mixed), ids(&alone), "{mixed:#}");
    let finding = &mixed["findings"][0];
    assert_eq!(finding["class"], "concurrency");
    assert_eq!(finding["profiles"], serde_json::json!([clang]));
    assert!(finding["mix"].is_null() && finding["reduced"].is_object(), "{finding:#}");
    assert!(!finding["command"].as_str().unwrap().contains("--split"), "{finding:#}");
}

/// LLVM 97252, GCC 68616: what a thread wrote before it gave the object away is kept until after it has it
/// back.
const SURVIVES: &str = "C survives
{}
P0 (int* x, atomic_int* y) {
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release);
  int r1 = atomic_load_explicit(y, memory_order_acquire);
  if (r1 == 2) {
    int r0 = *x;
  }
}
P1 (int* x, atomic_int* y) {
  int r2 = atomic_load_explicit(y, memory_order_acquire);
  if (r2 == 1) {
    *x = 2;
    atomic_store_explicit(y, 2, memory_order_release);
  }
}
exists (0:r1=2 /\\ 0:r0=1)
";

/// The operations that synchronise may differ.
#[test]
fn what_survives_a_call_is_one_bug_whatever_it_is() {
    if missing(&["clang-22"]) {
        return;
    }
    let other = SURVIVES
        .replacen("*x = 1;", "*x = 3;", 1)
        .replace("int r1 = atomic_load_explicit(y, ", "int r1 = atomic_fetch_add_explicit(y, 0, ")
        .replace("0:r0=1", "0:r0=3");
    let s = Scratch::among(&["clang-22"], &[("a.litmus", SURVIVES), ("b.litmus", &other)]);
    let check = |tests: &[&str]| {
        let profile = "clang-22-x86_64-O2";
        let how = ["--storage", "statics", "--helpers", "--profile", profile];
        checked(&s, &[&how, tests].concat())
    };
    let found: Vec<Vec<String>> =
        ["a.litmus", "b.litmus"].iter().map(|test| ids(&check(&[test]))).collect();
    assert_eq!(found[0].len(), 1);
    assert_eq!(found[0], found[1]);
    let both = check(&["a.litmus", "b.litmus"]);
    assert_eq!(ids(&both), found[0]);
    assert_eq!(both["findings"][0]["count"], 2);
    let cause = both["findings"][0]["cause"].as_str().unwrap();
    assert!(cause.starts_with("a value survives a call"), "{cause}");
    let presence = both["findings"][0]["presence"].as_array().unwrap();
    let own = presence.iter().find(|p| p["profile"] == "clang-22-x86_64-O2").unwrap();
    assert_eq!(own["shows"], "present");
}
