//! Certificates from the command line: of tests, and of both sides of a finding.

use crate::scratch::{SB, Scratch};

#[test]
fn a_test_is_certified_and_damage_is_told() {
    let s = Scratch::with(&[("sb.litmus", SB)]);
    let (status, out) = s.litmake(&["sim", "--certify", "certs", "sb.litmus"]);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("States 3"), "{out}");
    let files: Vec<_> =
        std::fs::read_dir(s.path("certs")).unwrap().map(|e| e.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let name = format!("certs/{}", file.file_name().unwrap().to_str().unwrap());
    let (status, out) = s.litmake(&["certificate", "check", "--outcomes", &name]);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("has 3 outcomes and no other"), "{out}");
    assert_eq!(out.lines().filter(|l| l.ends_with(';')).count(), 3, "{out}");
    // Two tests of one name do not share a file.
    s.write("again.litmus", SB);
    let (status, out) = s.litmake(&["sim", "--certify", "two", "sb.litmus", "again.litmus"]);
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("another test of this name has its certificate"), "{out}");
    // One that says that a state is not there.
    let text = s.read(&name);
    let model = text.lines().find(|l| l.starts_with("shows ")).expect("a clause");
    s.write("bad.cert", &text.replacen(model, &model.replace("shows 0", "model"), 1));
    let (status, out) = s.litmake(&["certificate", "check", &name, "bad.cert"]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("bad.cert: NOT CONFIRMED: `model "), "{out}");
    let (status, out) = s.litmake(&["certificate", "check", "no.cert"]);
    assert_eq!(status, 2, "{out}");
    assert!(out.contains("cannot read no.cert"), "{out}");
}

/// Takes sequentially consistent stores for relaxed ones.
#[cfg(target_arch = "x86_64")]
const BUGGY: &str = "#!/bin/sh
test -f test.c && sed -i 's/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/' test.c
exec cc \"$@\"
";

#[cfg(target_arch = "x86_64")]
#[test]
fn a_finding_has_a_certificate_of_each_side() {
    let s = Scratch::among(&[], &[("sb.litmus", SB), ("new/bin/gcc", BUGGY)]);
    let args =
        ["check", "--profile", "gcc-x86_64-O2@./new", "--findings", "f", "--json", "sb.litmus"];
    let (status, report) = s.json(&args);
    assert_eq!(status, 1, "{report:#}");
    let folder = report["findings"][0]["folder"].as_str().unwrap();
    let [source, code] = ["source", "code"].map(|side| format!("{folder}/{side}.cert"));
    let (status, out) = s.litmake(&["certificate", "finding", &source, &code]);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("the code allows, and the source forbids: "), "{out}");
    // Turned round it is no finding.
    let (status, out) = s.litmake(&["certificate", "finding", &code, &source]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("no finding"), "{out}");
}
