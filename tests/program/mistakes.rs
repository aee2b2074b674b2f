//! First mistakes in files, a row each: what is wrong, and every part that the answer must have.

use crate::scratch::{SB, Scratch};

/// A pipeline with a mistake, and what is said about it.
const PIPELINES: &[(&str, &[&str])] = &[
    ("name: t\nstages:\n\t- name: a\n", &[":3:", "a tab in the indentation", "blanks"]),
    (
        "name: t\nstages:\n  - name: a\n    generate:\n\t  files: x\n",
        &[":5:", "a tab in the indentation"],
    ),
    (
        "name: t\nstages:\n  - name: a\n   generate: { files: x }\n",
        &[":4:4:", "indented by 3 blanks", "the keys beside `name` begin in column 5"],
    ),
    (
        "name: t\nstages:\n  - name: a\n    generate:\n      files: *.litmus\n",
        &[":5:14:", "in quotes: \"*.litmus\""],
    ),
    (
        "name: t\nstages:\n  - name: a\n    generate: { files: [*.litmus] }\n",
        &[":4:", "in quotes: \"*.litmus\""],
    ),
    // Every fault at once, each where it is.
    (
        "name: t\nstagse:\n  - name: a\n    generate: { fils: x }\n  - name: b\n    simulate: { from: a, modle: sc }\n",
        &[
            ":2:1: error: unknown key `stagse`",
            "did you mean `stages`?",
            ":4:17: error: unknown key `fils`",
            "did you mean `files`?",
            ":6:26: error: unknown key `modle`",
            "did you mean `model`?",
        ],
    ),
    (
        "stages:\n  - { name: a, generate: { files: x } }\n  - { name: b, simulate: { from: c } }\n  - { name: d, compile: { from: q, profile: p } }\n",
        &[":3:34: error: there is no stage `c`", ":4:33: error: there is no stage `q`"],
    ),
    (
        "stages:\n  - { name: a, generate: { files: x } }\n  - { name: b }\n  - { name: c }\n",
        &["the stage `b` has no kind", "the stage `c` has no kind"],
    ),
];

#[test]
fn mistakes_in_a_pipeline_are_answered_all_at_once() {
    for (text, expected) in PIPELINES {
        let s = Scratch::with(&[("p.yaml", text)]);
        let (status, said) = s.litmake(&["run", "p.yaml"]);
        assert_eq!(status, 2, "{text}\n{said}");
        for part in *expected {
            assert!(said.contains(part), "`{part}` is not said about\n{text}\n{said}");
        }
        let asked = expected.iter().filter(|e| e.contains("error: ")).count().max(1);
        let errors = said.matches("error: ").count();
        assert!(errors == asked || expected.len() == 2, "{errors} errors\n{text}\n{said}");
    }
}

#[test]
fn mistakes_in_a_profile_are_answered_all_at_once() {
    let profile =
        "name: mine\ncompilre: cc\nargs: [-O2]\narch: X86\nmodle: x86tso\ntimeout: long\n";
    let s = Scratch::with(&[("mine.yaml", profile), ("sb.litmus", SB)]);
    let (status, said) = s.litmake(&["check", "-p", "mine.yaml", "sb.litmus"]);
    assert_eq!(status, 2, "{said}");
    for part in ["mine.yaml:2:1:", "`compiler`", "mine.yaml:5:1:", "`model`", "mine.yaml:6:10:"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// A C file is a test if it has the text of one.
#[test]
fn a_program_is_no_test_and_a_test_may_be_named_like_one() {
    let program = "#include <stdatomic.h>\natomic_int x;\nvoid f(void) { x = 1; }\n";
    let s = Scratch::with(&[("program.c", program), ("plain.c", "int x;\n"), ("sb.c", SB)]);
    for file in ["program.c", "plain.c"] {
        let (status, said) = s.litmake(&["sim", file]);
        assert_eq!(status, 2, "{said}");
        for part in [&format!("{file}:1:1:"), "a program, and no litmus test", "litmake lift"] {
            assert!(said.contains(part), "{said}");
        }
    }
    let (status, said) = s.litmake(&["sim", "sb.c"]);
    assert!(status == 0 && said.starts_with("Test sb"), "{said}");
}

/// A variable of the environment is no part of what the command line must have.
#[test]
fn the_usage_has_only_what_is_required() {
    let s = Scratch::with(&[]);
    let mut command = s.command(&["explain"]);
    let (status, _, err) =
        crate::scratch::streams(command.env("LITMAKE_CACHE", "c").env("LITMAKE_HISTORY", "h"));
    assert!(status == 2 && err.contains("Usage: litmake explain <PIPELINE>"), "{err}");
    assert!(!err.contains("--cache"), "{err}");
}

/// A report is read as a whole, so there is a limit.
#[test]
fn a_report_that_is_too_large_is_not_read() {
    let s = Scratch::with(&[("large.json", "")]);
    let file = std::fs::File::options().write(true).open(s.path("large.json")).unwrap();
    file.set_len((256 << 20) + 1).unwrap();
    let (status, said) = s.litmake(&["report", "table", "large.json"]);
    assert!(status == 2 && said.contains("larger than 256 MiB"), "{said}");
}
