//! Code of several compilers in one test.

use super::*;

#[test]
fn profiles_that_are_clean_alone_can_clash() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = project(SOUND);
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
    let s = project(SOUND);
    // One statement a thread: there is nothing that compiling it alone could change.
    let one = r"C inc
{ x = 1; }
P0 (atomic_int* x) { int a = atomic_fetch_add_explicit(x, 1, memory_order_acq_rel); }
P1 (atomic_int* x) { int b = atomic_exchange_explicit(x, 7, memory_order_relaxed); }
exists (0:a=1 /\ 1:b=1)
";
    let branch = "C branch
{}
P0 (atomic_int* x) { for (int i = 1; i < 2; i++) atomic_store(x, i); }
P1 (atomic_int* x) { int b = 5; if (atomic_load(x) == 1) { b = atomic_load(x); } else b = 6; }
exists (1:b=0)
";
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
    let s = project(SOUND);
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
    assert!(text.contains("is too weak beside code of"), "{text}");
    // By threads, each profile is right by itself.
    s.write("p.yaml", &MIXES.replace("by: instruction", "by: thread"));
    assert_eq!(s.run(&[]).0, 0);
}

#[test]
fn what_a_link_needs_is_said() {
    let s = project(SOUND);
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
    assert!(text.contains("`target` is compared with itself"), "{text}");
    let others = "{ name: others, generate: { files: '*.litmus' } }\n  - { name: source, simulate: { from: others } }";
    let text = error(&MIXES.replace("{ name: source, simulate: { from: tests } }", others));
    assert!(text.contains("made from different lists of tests"), "{text}");
}

/// Armv8's store and Armv7's load are right alone and clash; the paper's figure 1 has this mix.
#[test]
fn one_mix_is_checked_in_the_notation_of_reports() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = project(SOUND);
    s.write("sb.litmus", &STORE_BUFFERING.replace("TYPE", "int"));
    let (v8, v7) = ("clang-16-armv8-O2", "clang-16-armv7-O2");
    let profiles = ["--profile", v8, "--profile", v7];
    let check = |mix: &str, more: &[&str]| {
        let args = [&["check", "-q", "--json", "--mix", mix, "sb.litmus"], more].concat();
        let (status, text) = s.litmake(&args);
        (status, serde_json::from_str::<serde_json::Value>(&text).unwrap_or(text.into()))
    };
    let (status, report) = check("(A(P0_0); B(P0_1)) || (A(P1_0); A(P1_1))", &profiles);
    assert_eq!(status, 1, "{report}");
    assert_eq!(report["findings"][0]["class"], "mixing");
    // The mix, and two profiles alone.
    assert_eq!(report["mixes"][0]["tests"], 3, "{report}");
    assert_eq!(report["mixes"][0]["assignments"], "3");
    assert!(report.get("compatibility").is_none(), "{report}");
    // The other way round, a store with its barrier and a load that needs none.
    for right in [
        "(B(P0_0); A(P0_1)) || (B(P1_0); A(P1_1))",
        "(comp_2(P0_0); c1(P0_1)) || (B(P1_0); clang-16-armv7-O2(P1_1))",
    ] {
        let (status, report) = check(right, &profiles);
        assert_eq!(status, 0, "{report}");
        assert_eq!(report["mixes"][0]["unknown"], serde_json::Value::Null, "{report}");
    }
    // What a report prints is accepted as it is, by each way to link.
    let found = report["findings"][0]["mix"].as_str().unwrap();
    for link in ["splice", "ld"] {
        let (status, again) = check(found, &["--link", link]);
        assert_eq!(status, 1, "{again}");
        assert_eq!(again["findings"][0]["mix"], found);
        assert_eq!(again["findings"][0]["id"], report["findings"][0]["id"], "{link}");
    }
    // By threads, each of which is right alone.
    let (status, report) = check("(A(P0)) || (B(P1))", &profiles);
    assert_eq!(status, 0, "{report}");
    // So says a pipeline.
    let mix = "(B(P0_0); B(P0_1)) || (B(P1_0); A(P1_1))";
    s.write("p.yaml", &MIXES.replace("from: code }", &format!("from: code, mix: '{mix}' }}")));
    let (status, report) = s.run(&[]);
    assert_eq!((status, &report["mixes"][0]["tests"]), (1, &3.into()), "{report}");
}

#[test]
fn a_wrong_mix_is_pointed_at() {
    let s = project(SOUND);
    s.write("sb.litmus", &STORE_BUFFERING.replace("TYPE", "int"));
    let profiles = ["--profile", "clang-16-armv8-O2", "--profile", "clang-16-armv7-O2"];
    for (mix, more, status, said) in [
        (
            "(A(P0_0)) || (B(P1_0)",
            &profiles[..],
            2,
            "--mix:1:14: error: this bracket is not closed",
        ),
        (
            "(A(P0_0)) || (C(P1_0))",
            &profiles,
            2,
            "--mix:1:15: error: `C` stands for profile 3, and there are 2",
        ),
        ("(A(P0_0)) || (A(P1_0))", &profiles, 2, "--profile clang-16-armv7-O2 is not in the mix"),
        ("(A(P0_0)) || (B(P1_0))", &[], 2, "--mix:1:2: error: "),
        ("(nothing(P0_0))", &[], 2, "--mix:1:2: error: "),
        (
            "(A(P0)) || (B(P1))",
            &[&profiles[..], &["--split", "instruction"]].concat(),
            2,
            "--split does not agree",
        ),
        ("(A(P0_0)) || (B(P1_0))", &["--link", "ld", "--passes"], 2, "--passes"),
    ] {
        let (was, text) = s.litmake(&[&["check", "--mix", mix, "sb.litmus"], more].concat());
        assert_eq!(was, status, "{mix}: {text}");
        assert!(text.contains(said), "{mix}: {text}");
    }
    if here("clang-16") {
        let mix = "(A(P0_0); B(P0_1)) || (A(P1_0); B(P2_0))";
        let args = ["check", "-q", "--mix", mix, "sb.litmus"];
        let (status, text) = s.litmake(&[&args[..], &profiles].concat());
        assert_eq!(status, 3, "{text}");
        assert!(text.contains("the mix:1:35: error: the test has no part `P2_0`"), "{text}");
    }
}
