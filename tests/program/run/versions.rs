//! What a finding says, and what versions of a compiler differ in.

use super::*;

#[test]
fn one_outcome_that_the_source_does_not_have_is_a_finding() {
    let s = project(
        "#!/bin/sh\ntest -f test.c && sed -i -E 's/\\*(x|loc0) = 1;/*\\1 = 2;/' test.c\nexec cc \"$@\"\n",
    );
    s.write(
        "tests/seq.litmus",
        "C seq
{}
P0 (int* x) {
  *x = 1;
  int r = *x;
}
exists (0:r=1)
",
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
    let s = project(SOUND);
    for (version, text) in [("9", BUGGY), ("10", SOUND)] {
        s.write(&format!("cc-{version}"), text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(s.path(&format!("cc-{version}")), mode).unwrap();
    }
    let profile = format!(
        "name: cc-${{version}}-O1\nmatrix: {{ version: [10, 9, 8] }}\ncompiler: {}/cc-${{version}}\nargs: ['-O1']\narch: X86_64\n",
        s.dir().display()
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
    let s = project(SOUND);
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
    assert!(text.contains("known load buffering in cc.sh: 1 test [mine-O1]"), "{text}");
    let fault = "finding X86: a release store does not order an earlier relaxed load (";
    assert!(text.contains(fault) && text.contains("\n  in tests/lb-sc.litmus\n"), "{text}");
    assert!(text.contains("\n1 finding, 1 known\n"), "{text}");
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
    // What a baseline knows is no reason to fail; what it does not, is.
    s.write("report.json", &json);
    let update = ["baseline", "update", "report.json", "--baseline", "known.json"];
    assert_eq!(s.litmake(&update), (0, "known.json: 0 known findings, 1 known change\n".into()));
    let known = [&args[..], &["--baseline", "known.json"]].concat();
    let (status, text) = s.litmake(&known);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("the baseline knows the other outcomes of 1 of 1 test\n"), "{text}");
    assert!(!text.contains("0:r=0; 1:r=0;"), "{text}");
    let other =
        std::fs::read_to_string(s.path("known.json")).unwrap().replace("\"0:r\"", "\"0:s\"");
    s.write("other.json", &other);
    let (status, text) = s.litmake(&[&args[..], &["--baseline", "other.json"]].concat());
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("  - 0:r=0; 1:r=0;\n"), "{text}");
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
    // What was known and is gone is said, and forgotten by the next baseline.
    let (status, json) = s.litmake(&[&known[..], &["--json"]].concat());
    assert_eq!(status, 0, "{json}");
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["changes"][0]["gone"], serde_json::json!(["tests/sb.litmus"]));
    s.write("report.json", &json);
    assert_eq!(s.litmake(&update), (0, "known.json: 0 known findings\n".into()));
    let (status, text) = s.litmake(&["diff", "--profile", "cc-9-O1", "tests/sb.litmus"]);
    assert_eq!(status, 2);
    assert!(text.contains("two profiles are needed"), "{text}");
}
