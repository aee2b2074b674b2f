//! Stages without tests: proposed mappings, and layouts of types.

use super::*;

#[test]
fn a_proposed_mapping_is_tested_before_any_compiler_has_it() {
    if !here("clang-16") {
        return;
    }
    let s = project(SOUND);
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
    let s = project(SOUND);
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
    let s = project(SOUND);
    s.write(
        "p.yaml",
        "stages:\n  - name: layout\n    layout:\n      profiles: [clang-16-x86_64-O2, clang-16-x86_64-O3, gcc-12-x86_64-O2]\n",
    );
    let (status, report) = s.run(&[]);
    assert_eq!(status, 1, "{report}");
    let findings = report["findings"].as_array().unwrap();
    let all = |f: &serde_json::Value| f["occurrences"].as_array().unwrap().clone();
    let find = |ty: &str| findings.iter().find(|f| all(f).iter().any(|o| o["test"] == ty));
    let five = find("struct { char a[5]; }").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(five["class"], "abi-layout");
    assert_eq!(five["profiles"], serde_json::json!(["clang-16-x86_64-O2", "gcc-12-x86_64-O2"]));
    // The compilers differ by a rule, which is one bug: clang pads to a power of two what gcc leaves as it is.
    assert_eq!(five["id"], find("struct { char a[7]; }").unwrap()["id"]);
    assert!(five["cause"].as_str().unwrap().contains("padded to a power of two"), "{five}");
    // Where both call the library, it is another.
    assert_ne!(five["id"], find("struct { char a[9]; }").unwrap()["id"]);
    let first = &five["clash"][0]["code"];
    let text = |profile: &str| first[profile].as_str().unwrap().to_string();
    assert!(text("clang-16-x86_64-O2").contains("of padding, load inline"), "{first}");
    assert!(text("gcc-12-x86_64-O2").contains("alignment 1, load __atomic_load"), "{first}");
    for ty in ["int", "struct { char a[4]; }", "struct { long long a[1]; }"] {
        assert!(find(ty).is_none(), "{ty}: {report}");
    }
    // The command of a finding names the type, and shows it again.
    let command = shlex::split(five["command"].as_str().unwrap()).unwrap();
    let args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains(five["id"].as_str().unwrap()), "{text}");
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
  - { name: layout, layout: { profiles: [mine-O1, mine-O2], types: [int, long] } }
";

#[test]
fn a_type_that_a_compiler_refuses_is_none_of_its_layouts_until_it_is_asked_again() {
    // The second profile has no `long`.
    let refusing = "case \"$*\" in *-O2*) if grep -q 'typedef long' test.c; then echo 'error: no long' >&2; exit 1; fi;; esac\nexec gcc \"$@\"";
    let s = project(&counted(refusing));
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

/// What the stage found out about types: how many it has a layout of cannot be seen from outside,
/// but whether anything failed can.
#[test]
fn a_machine_that_is_broken_for_a_moment_is_not_taken_for_what_a_compiler_says() {
    let compile = "exec gcc \"$@\"";
    let full = "echo 'fatal error: error writing to test.o: No space left on device' >&2; exit 1";
    let s = project(&counted(full));
    s.write("p.yaml", &LAYOUTS.replace("profiles: profiles\n", ""));
    // Nothing can be compiled: the machine is broken, and nothing is kept.
    let (status, report) = s.run(&[]);
    assert_eq!(status, 3, "{report}");
    let message = report["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("No space left") && message.contains("plain input"), "{message}");
    s.write("cc.sh", &counted(compile));
    assert_eq!(s.run(&[]).0, 0);
    // One that fails once, and for no reason.
    std::fs::remove_dir_all(s.path("cache")).unwrap();
    let _ = std::fs::remove_file(s.path("starts"));
    let once = format!(
        "case \"$*\" in *test.o*) ;; *) {compile};; esac\ntest -e $d/failed || {{ touch $d/failed; {full}; }}\n{compile}"
    );
    s.write("cc.sh", &counted(&once));
    assert_eq!(s.run(&[]).0, 0);
    assert!(s.path("failed").exists());
}
