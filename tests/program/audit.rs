//! `litmake cache audit`: what it makes again, what it finds, and what it says that it did not cover.

#![cfg(target_arch = "x86_64")]

use serde_json::{Value, json};

use crate::scratch::Scratch;
use crate::stale::{BAD, PIPELINE, Place, WRAPPED};

fn audited(place: &Scratch, more: &[&str]) -> (i32, Value) {
    place.json(&[&["cache", "audit", "--json", "--cache", "cache"], more].concat())
}

/// Two empty files with one time.
fn two_files(place: &Place) {
    for name in ["one", "two"] {
        place.write(name, "");
        let file = std::fs::File::options().append(true).open(place.path(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
}

/// Makes one file of both.
fn joined(place: &Place) {
    std::fs::remove_file(place.path("one")).unwrap();
    std::fs::hard_link(place.path("two"), place.path("one")).unwrap();
}

/// litmake does not look at the inodes for which a shell asks, so one that asks whether two names lead to
/// one file is its blind spot.
#[test]
fn a_result_that_no_key_tells_from_another_is_found() {
    let place = Place::new(WRAPPED);
    place.write("bad.h", &format!("#ifdef WRONG\n{BAD}\n#endif\n"));
    two_files(&place);
    let script = "#!/bin/sh\nif [ %/one -ef %/two ]; then set -- -DWRONG \"$@\"; fi\nexec gcc -include %/bad.h \"$@\"\n";
    place.write("cc.sh", script);
    assert_eq!(place.run("cache").status, 0);
    let (status, told) = audited(&place.0, &["--sample", "100%"]);
    assert_eq!((status, &told["wrong"], &told["not_made"]), (0, &json!([]), &json!(0)), "{told}");
    assert_eq!(
        (told["made"].as_u64(), &told["with_probability"]),
        (told["claims"].as_u64(), &json!(1.0))
    );
    joined(&place);
    assert_eq!(place.run("cache").status, 0, "nothing tells it");
    let (status, text) =
        place.0.litmake(&["cache", "audit", "--sample", "100%", "--cache", "cache"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("code: ") && text.contains("the record "), "{text}");
    assert!(text.contains("a probability of 100.0%"), "{text}");
    let after = place.run("cache");
    assert_eq!((after.status, after.report), (1, place.run("fresh").report), "it is corrected");
    assert_eq!(audited(&place.0, &["--sample", "100%"]).0, 0);
}

#[test]
fn what_an_audit_did_not_cover_is_said() {
    let place = Place::new("compiler: gcc\nargs: [-O2]\n");
    let (status, said) = place.0.litmake(&["cache", "audit", "--cache", "cache"]);
    assert!(status == 2 && said.contains("knows of no run of a pipeline"), "{status}: {said}");
    assert_eq!(place.run("cache").status, 0);
    for wrong in ["0%", "101%", "5", "-1%", "x%"] {
        let sample = format!("--sample={wrong}");
        let (status, said) = place.0.litmake(&["cache", "audit", "--cache", "cache", &sample]);
        assert!(status == 2 && said.contains("such as 1%"), "{wrong}: {said}");
    }
    // The same seed chooses the same results.
    let some = ["--sample", "50%", "--seed", "7"];
    assert_eq!(audited(&place.0, &some), audited(&place.0, &some));
    // Another pipeline now: its results are not there, and the old ones belong to no run.
    let profile = std::fs::read_to_string(place.path("profiles/mine.yaml")).unwrap();
    place.write("profiles/mine.yaml", &profile.replace("-O2", "-O1"));
    std::fs::remove_file(place.path("sb.litmus")).unwrap();
    let (status, said) = place.0.litmake(&["cache", "audit", "--cache", "cache"]);
    assert_eq!(status, 3, "{said}");
    assert!(said.contains("pipelines that were not audited: 1"), "{said}");
}

/// A pipeline asks for audits of its own: every output says what was covered, except for stable
/// reports, and a wrong result is an error of the run.
#[test]
fn a_pipeline_audits_its_cache() {
    let place = Place::new(WRAPPED);
    // Not by `place.write`, in whose texts `%` is the folder.
    place.0.write("p.yaml", &format!("audit: 100%\n{PIPELINE}"));
    two_files(&place);
    place.write(
        "cc.sh",
        "#!/bin/sh\nif [ %/one -ef %/two ]; then set -- -O0 \"$@\" -O0; fi\nexec gcc \"$@\"\n",
    );
    let run = || place.0.run(&["--cache", "cache"]);
    let (status, report) = run();
    let told = &report["verdict"]["audit"];
    assert_eq!(
        (status, &told["wrong"], &told["claims"]),
        (0, &json!(0), &told["made"]),
        "{report:#}"
    );
    assert!(told["made"].as_u64() > Some(3), "{told}");
    joined(&place);
    let (status, report) = run();
    assert_eq!((status, &report["errors"][0]["stage"]), (3, &json!("code")), "{report:#}");
    let (status, said) = place.0.litmake(&["run", "p.yaml", "--cache", "cache"]);
    assert!(status == 0 && said.contains("audit: "), "{said}");
    assert!(!place.run("cache").report.contains("audit"));
    place.write("p.yaml", &format!("audit: 1\n{PIPELINE}"));
    let (status, said) = place.0.litmake(&["run", "p.yaml"]);
    assert!(status == 2 && said.contains("p.yaml:1:8") && said.contains("such as 1%"), "{said}");
}
