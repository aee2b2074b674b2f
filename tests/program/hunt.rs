//! The hunt, and the families that it draws from, with the compilers that are installed.

#![cfg(target_arch = "x86_64")]

use std::process::Stdio;

use litmake_needs::here;
use serde_json::Value;

use crate::scratch::Scratch;

fn hunt(s: &Scratch, args: &[&str]) -> (i32, Value) {
    s.json(&[&["hunt", "--budget", "1h", "--json"], args].concat())
}

/// What is kept of a hunt, without what depends on time.
fn kept(s: &Scratch, state: &str) -> Value {
    let all: Value = serde_json::from_str(&s.read(&format!("{state}/hunt.json"))).unwrap();
    let mut hunt = all["hunt"].clone();
    // What a simulation is given up on depends on the machine.
    hunt.as_object_mut().unwrap().remove("unjudged");
    hunt
}

const SMALL: [&str; 6] = ["--profile", "clang-22-x86_64-O2", "--round", "6", "--seed", "5"];

/// Stopped and gone on with, a hunt comes to what it comes to in one go, and so does another with its seed.
#[test]
fn a_hunt_goes_on_where_it_was_and_is_the_same_for_the_same_seed() {
    if !here("clang-22") {
        return;
    }
    let s = Scratch::among(&["clang-22"], &[]);
    // Whether these tests show bugs of the compiler is another question, and the status says it.
    let (found, json) = hunt(&s, &[&SMALL[..], &["--state", "whole", "--rounds", "3"]].concat());
    assert_eq!(json["hunt"]["rounds"], 3, "status {found}");
    assert_eq!(json["hunt"]["tests"], 18);
    assert_eq!(found, i32::from(json["report"]["findings"] != serde_json::json!([])));
    assert!(json["hunt"]["sequences"]["X86_64"].as_u64().unwrap() > 20);
    hunt(&s, &[&SMALL[..], &["--state", "parts", "--rounds", "1"]].concat());
    assert_ne!(kept(&s, "parts"), kept(&s, "whole"));
    hunt(&s, &[&SMALL[..], &["--state", "parts", "--rounds", "3"]].concat());
    assert_eq!(kept(&s, "parts"), kept(&s, "whole"));
    // There is nothing left to do, which is said as before.
    let (status, _) = hunt(&s, &[&SMALL[..], &["--state", "parts", "--rounds", "3"]].concat());
    assert_eq!(status, found);
    assert_eq!(kept(&s, "parts"), kept(&s, "whole"));
    let other = [&SMALL[..4], &["--seed", "6", "--state", "other", "--rounds", "1"]].concat();
    hunt(&s, &other);
    assert_ne!(kept(&s, "other")["done"], kept(&s, "parts")["done"]);
}

/// An interrupt ends a hunt with what is whole, and its status says so.
#[test]
fn an_interrupted_hunt_is_kept() {
    if !here("clang-22") {
        return;
    }
    let s = Scratch::among(&["clang-22"], &[]);
    let args = [&["hunt", "--budget", "1h", "--state", "cut"], &SMALL[..]].concat();
    let mut child = s.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let state = s.path("cut").join("hunt.json");
    while !state.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // SAFETY: it is our own child, which has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let rounds = kept(&s, "cut")["rounds"].as_u64().unwrap();
    let more = (rounds + 1).to_string();
    hunt(&s, &[&SMALL[..], &["--state", "cut", "--rounds", &more]].concat());
    assert_eq!(kept(&s, "cut")["rounds"].as_u64(), Some(rounds + 1));
}

/// gcc 12 for RISC-V: a compare-exchange loses its release and its acquire. A hunt finds that without
/// being told where, writes it to a folder, and does not call it new where a baseline knows it.
#[test]
fn a_known_bug_is_found_and_is_not_new_with_a_baseline() {
    if !here("riscv64-linux-gnu-gcc-12") {
        return;
    }
    let s = Scratch::among(&["riscv64-linux-gnu-gcc-12"], &[]);
    let args = ["--profile", "gcc-12-riscv64-O2", "--round", "24", "--rounds", "2"];
    let (status, json) =
        hunt(&s, &[&args[..], &["--state", "first", "--report", "report.json"]].concat());
    assert_eq!(status, 1, "{json}");
    let findings = json["report"]["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding["class"], "concurrency");
        let test = finding["reproducer"].as_str().unwrap();
        assert!(test.contains("compare_exchange"), "{test}");
        let folder = s.path(finding["folder"].as_str().unwrap());
        assert!(folder.join("repro.sh").exists() && folder.join("issue.md").exists());
    }
    let (status, _, err) =
        s.streams(&["baseline", "update", "report.json", "--baseline", "known.json"]);
    assert_eq!(status, 0, "{err}");
    let again = ["--state", "again", "--baseline", "known.json"];
    let (_, json) = hunt(&s, &[&args[..], &again].concat());
    let known: Vec<&Value> = findings.iter().map(|f| &f["id"]).collect();
    for finding in json["report"]["findings"].as_array().unwrap() {
        let is_known = known.contains(&&finding["id"]);
        assert_eq!(finding["status"] == "known", is_known, "{finding}");
    }
}

/// What the language allows though it looks like a bug: the model that hunts judge sources by is silent on
/// every control, and each is one, as sequential consistency tells it from what some machine does.
#[test]
fn what_sources_may_do_is_no_finding() {
    if !here("clang-22") {
        return;
    }
    let s = Scratch::with(&[]);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/controls");
    let count = std::fs::read_dir(folder).unwrap().count();
    let shown = |model: &str| {
        let profiles = ["--profile", "clang-22-aarch64-O2", "--profile", "clang-22-ppc64le-O2"];
        let how = ["check", "--json", "--investigate", "0", "--occurrences", "all"];
        let args = [&how[..], &["--source-model", model, folder]].concat();
        let (status, json) = s.json(&[&args[..], &profiles].concat());
        assert_eq!(json["errors"], serde_json::json!([]), "{json}");
        let findings = json["findings"].as_array().unwrap();
        let tests = findings.iter().flat_map(|f| f["occurrences"].as_array().unwrap());
        (status, tests.map(|o| o["test"].to_string()).collect::<String>())
    };
    let (status, tests) = shown("rc11-lb");
    assert_eq!(status, 0, "{tests}");
    let (status, tests) = shown("sc");
    assert_eq!(status, 1);
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(tests.contains(&name), "{name} is no control: nothing in it looks like a bug");
    }
    assert!(count >= 12);
}

#[test]
fn what_a_hunt_is_not_is_said() {
    let s = Scratch::with(&[]);
    let hunt = |args: &[&str]| s.streams(&[&["hunt"], args].concat());
    let (status, _, err) = hunt(&["--profile", "clang-22-x86_64-O2"]);
    assert!(status == 2 && err.contains("--budget"), "{err}");
    let (status, _, err) = hunt(&["--budget", "soon"]);
    assert!(status == 2 && err.contains("soon"), "{err}");
    let (status, _, err) = hunt(&["--budget", "1m", "--profile", "clang-22-vax-*"]);
    assert!(status == 2 && err.contains("clang-22-vax-*"), "{err}");
    if here("clang-22") {
        let args =
            ["--budget", "1h", "--rounds", "1", "--round", "1", "--profile", "clang-22-x86_64-O2"];
        // Whether this test shows a bug of the compiler is another question.
        assert!(hunt(&args).0 < 2);
        let (status, _, err) = hunt(&[&args[..], &["--seed", "9"]].concat());
        assert!(status == 2 && err.contains("another seed") && err.contains("--state"), "{err}");
    }
}

/// clang for BPF ends as if it crashed where its target lacks something. That is no failure.
#[test]
fn what_a_target_lacks_is_no_failure() {
    if !here("clang-22") {
        return;
    }
    let s = Scratch::among(&["clang-22"], &[]);
    let args = ["--round", "16", "--rounds", "1", "--profile", "clang-22-bpf-O2"];
    let (_, json) = hunt(&s, &args);
    let tally = &json["hunt"]["tally"];
    assert_eq!(tally["not_compared"]["failed"], Value::Null, "{tally}");
    let said = tally["reasons"]["not for the compiler"].to_string();
    assert!(said.contains("error in backend: Runtime fence is not supported"), "{said}");
}

/// Three compilers of one machine have their turns in two rounds, and a hunt that ends before says so.
#[test]
fn every_profile_has_its_turn() {
    if !here("clang-22") {
        return;
    }
    let s = Scratch::among(&["clang-22"], &[]);
    let args =
        ["--round", "2", "--profile", "clang-22-x86_64-O1,clang-22-x86_64-O2,clang-22-x86_64-O3"];
    let (status, json) = hunt(&s, &[&args[..], &["--rounds", "1"]].concat());
    assert!(status != 0, "{json}");
    let missing = json["report"]["verdict"]["missing"].to_string();
    assert!(missing.contains("a turn for 1 of 3 profiles"), "{missing}");
    let (_, json) = hunt(&s, &[&args[..], &["--rounds", "2"]].concat());
    assert_eq!(json["report"]["verdict"]["missing"], Value::Null, "{json}");
    assert_eq!(json["hunt"]["tally"]["profiles"].as_object().unwrap().len(), 3);
}

/// Of each family of axes: tests are read and simulated, none is racy, compilers take them, and the
/// lifting refuses no more than one in a hundred.
#[test]
fn tests_of_axes_have_no_races_and_are_compiled_and_lifted() {
    let profiles: Vec<&str> = [("clang-22", "clang-22-x86_64-O2"), ("gcc-12", "gcc-12-x86_64-O2")]
        .into_iter()
        .filter(|(compiler, _)| here(compiler))
        .map(|(_, profile)| profile)
        .collect();
    if profiles.is_empty() {
        return;
    }
    let s = Scratch::with(&[]);
    let families: Vec<&str> = litmake::generate::axes::FAMILIES.iter().map(|f| f.name).collect();
    let mut text = "name: axes\nstages:\n".to_string();
    let mut names = Vec::new();
    for family in families {
        text += &format!(
            "  - {{ name: {family}, generate: {{ families: {family}, sample: 60, seed: 11 }} }}\n\
             \x20 - {{ name: source-{family}, simulate: {{ from: {family}, model: rc11-lb, timeout: 20 }} }}\n"
        );
        for profile in &profiles {
            let name = format!("{family}-{profile}");
            text += &format!(
                "  - {{ name: code-{name}, compile: {{ from: {family}, profile: {profile} }} }}\n\
                 \x20 - {{ name: target-{name}, simulate: {{ from: code-{name}, timeout: 20 }} }}\n\
                 \x20 - {{ name: compare-{name}, compare: {{ source: source-{family}, target: target-{name} }} }}\n"
            );
            names.push(format!("compare-{name}"));
        }
    }
    std::fs::write(s.path("axes.yaml"), text).unwrap();
    let (_, out, err) = s.streams(&["run", "-q", "axes.yaml", "--report", "report.json"]);
    let report = std::fs::read_to_string(s.path("report.json"));
    let report: Value =
        serde_json::from_str(&report.unwrap_or_else(|e| panic!("{e}\n{out}\n{err}"))).unwrap();
    // What compilers make wrong is not what this is about; clang drops an update that changes nothing.
    let differences = report["differences"].as_array().unwrap();
    assert_eq!(differences.len(), names.len());
    let mut compared = 0;
    for d in differences {
        assert_eq!(d["undefined"], 0, "{d}");
        assert!(d["compared"].as_u64().unwrap() > 50, "{d}\n{out}");
        compared += d["compared"].as_u64().unwrap();
    }
    let errors = report["errors"].as_array().unwrap();
    let tests = 60 * names.len() as u64;
    assert!(compared >= tests * 98 / 100, "{compared} of {tests}: {errors:#?}");
    let refused =
        errors.iter().filter(|e| e["stage"].as_str().unwrap().starts_with("code")).count();
    assert!(refused as u64 * 100 <= tests, "{refused} of {tests} refused: {errors:#?}");
    let unread =
        errors.iter().filter(|e| e["stage"].as_str().unwrap().starts_with("source")).count();
    assert_eq!(unread, 0, "{errors:#?}");
}
