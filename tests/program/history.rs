//! `litmake history` and `litmake site`: what they print, and what wrong input is told.

use litmake::report::coverage::Gather;
use litmake::report::verdict::Verdict;
use litmake::report::{Compiler, Finding, Report};
use serde_json::Value;

use crate::scratch::Scratch;

/// A report of a compiler of some version that judged one test, which shows a bug or does not.
fn write(s: &Scratch, name: &str, version: &str, shows: bool) {
    let mut coverage = Gather::default();
    coverage.add(&["head".to_string()], false, [("t.litmus", shows)].into_iter());
    let finding = Finding {
        id: "0123456789ab".into(),
        family: "clang".into(),
        test: "t.litmus".into(),
        profiles: vec!["head".into()],
        reproducer: "atomic_exchange(x, 1)".into(),
        ..Finding::default()
    };
    let report = Report {
        pipeline: "nightly | <b>".into(),
        compilers: vec![Compiler {
            profile: "head".into(),
            compiler: "clang".into(),
            version: format!("clang version {version}"),
            ..Compiler::default()
        }],
        coverage: coverage.finish(),
        findings: if shows { vec![finding.once()] } else { Vec::new() },
        verdict: Verdict::of_judged(1),
        ..Report::default()
    };
    s.write(name, &report.json());
}

#[test]
fn a_record_is_kept_listed_and_noted_in() {
    let s = Scratch::with(&[]);
    let run = |args: &[&str]| s.litmake(args);
    write(&s, "one.json", "16.0.6", true);
    write(&s, "two.json", "22.1.0", false);
    let (status, said) = run(&["history", "list"]);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("history is no record of runs"), "{said}");
    for (report, date, commit) in
        [("one.json", "2026-11-21", "c1"), ("two.json", "2026-11-22T02:00:00Z", "c2")]
    {
        let args = ["history", "add", report, "--date", date, "--commit", commit, "--host", ""];
        let (status, said) = run(&args);
        assert_eq!(status, 0, "{said}");
        assert!(said.starts_with("history: added 202611"), "{said}");
    }
    let (_, bugs) = run(&["history", "bugs"]);
    let row: Vec<&str> =
        bugs.lines().nth(1).unwrap().split("  ").filter(|c| !c.is_empty()).collect();
    let expected = [
        "0123456789ab",
        "fixed",
        "exchange in clang",
        "2026-11-21",
        "2026-11-21",
        "2026-11-22",
        "clang 16.0.6",
    ];
    assert_eq!(row.iter().map(|c| c.trim()).collect::<Vec<_>>(), expected, "{bugs}");
    let (_, list) = run(&["history", "list", "--markdown"]);
    assert!(list.contains("| nightly \\| &lt;b> | clang 22.1.0 | 1 fixed | 0 |"), "{list}");
    let note =
        ["history", "note", "0123456789ab", "--owner", "ada", "--tracker", "#7", "--text", "seen"];
    assert_eq!(run(&note).0, 0);
    assert_eq!(run(&["history", "note", "0123456789ab", "--owner", ""]).0, 0);
    let (_, json) = run(&["history", "bugs", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let bug = &json["bugs"][0];
    assert_eq!((&bug["owner"], &bug["tracker"]), (&Value::Null, &"#7".into()), "{bug:#}");
    assert_eq!(
        bug["compilers"],
        serde_json::json!({ "clang 16.0.6": true, "clang 22.1.0": false })
    );
    assert_eq!(bug["notes"][0][1], "seen");
    assert_eq!(bug["spans"][0]["first_bad"], "clang 16.0.6");
    assert_eq!(bug["spans"][0]["first_good"], "clang 22.1.0");
    // A person's word on the state.
    let (status, said) = run(&["history", "note", "0123456789ab", "--state", "invalid"]);
    assert_eq!((status, said.contains("invalid)")), (0, true), "{said}");
    assert!(run(&["history", "bugs"]).1.contains("0123456789ab  invalid"));
    assert_eq!(run(&["history", "note", "0123456789ab", "--state", "open"]).0, 0);
    let (_, shown) = run(&["history", "show", "last"]);
    assert!(shown.contains("commit: c2") && !shown.contains("host:"), "{shown}");
    assert!(shown.contains("fixed  exchange in clang  not on head"), "{shown}");
    let (_, json) = run(&["history", "show", "20261121", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&json).unwrap()["bugs"][0]["on"],
        serde_json::json!([[0, 1]])
    );
    let (status, said) = run(&["site", "pages"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.starts_with("pages/index.html: 11 files"), "{said}");
}

/// Runs of one second stand in the order in which they were added.
#[test]
fn runs_of_one_second_stay_in_order() {
    let s = Scratch::with(&[]);
    let versions: Vec<String> = (10..20).map(|n| format!("{n}.0.1")).collect();
    for version in &versions {
        write(&s, "run.json", version, true);
        let args = ["history", "add", "run.json", "--date", "2026-11-21", "--host", ""];
        assert_eq!(s.litmake(&args).0, 0);
    }
    let folder = litmake::history::folder::Folder::new(&s.path("history"));
    let history = litmake::history::lives::History::of(folder.read().unwrap().kept);
    let told: Vec<String> = history.runs.iter().map(litmake::history::tell::compilers).collect();
    let expected: Vec<String> = versions.iter().map(|v| format!("clang {v}")).collect();
    assert_eq!(told, expected);
}

#[test]
fn wrong_input_is_told_what_to_do() {
    let s = Scratch::with(&[]);
    write(&s, "one.json", "16.0.6", true);
    let said = |args: &[&str]| {
        let (status, said) = s.litmake(args);
        assert_eq!(status, 2, "{said}");
        said
    };
    assert!(said(&["history", "add", "none.json"]).contains("cannot read none.json"));
    assert!(said(&["history", "add", "one.json", "--date", "soon"]).contains("such as 2026-11-23"));
    assert!(said(&["site", "pages"]).contains("litmake history add REPORT"));
    assert_eq!(s.litmake(&["history", "add", "one.json"]).0, 0);
    assert!(
        said(&["history", "note", "nobody", "--text", "x"])
            .contains("`litmake history bugs` lists them")
    );
    assert!(
        said(&["history", "note", "0123456789ab"])
            .contains("give --state, --duplicate-of, --owner, --tracker or --text")
    );
    let sent = said(&["history", "note", "0123456789ab", "--state", "sent"]);
    assert!(sent.contains("with --tracker"), "{sent}");
    for (other, expected) in
        [("0123456789ab", "name the bug that stays"), ("none", "there is no bug")]
    {
        let duplicate = said(&["history", "note", "0123456789ab", "--duplicate-of", other]);
        assert!(duplicate.contains(expected), "{duplicate}");
    }
    assert!(said(&["site", "pages", "--url", "example.org"]).contains("https://"));
    assert!(said(&["history", "show", "1999"]).contains("`last` is the last one"));
    // A record in which a file is broken is read without it.
    std::fs::write(s.path("history/runs/x.json"), "[").unwrap();
    let (status, list) = s.litmake(&["history", "list"]);
    assert!(status == 0 && list.contains("warning:") && list.contains("is left out"), "{list}");
}
