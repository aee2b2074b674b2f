//! Logs and lists.

use std::io;
use std::path::{Path, PathBuf};

use litmake::diag::Source;
use litmake::litmus::log::{Kind, LogEntry, Observation, Seen, Verdict, compare, read, sum};
use litmake::litmus::{Quantifier, condition_text, list, place_brackets};

fn log(text: &str) -> Vec<LogEntry> {
    read(&Source::new("a.log", text)).unwrap()
}

fn entry(quantifier: Quantifier, positive: u64, negative: u64) -> LogEntry {
    LogEntry::new(
        "SB",
        quantifier,
        "exists (0:X0=1)",
        vec!["0:X0=0;".to_string(), "0:X0=1;".to_string()],
        (positive, negative),
    )
}

#[test]
fn printed_as_herd_does() {
    let mut e = entry(Quantifier::Exists, 1, 3);
    e.seconds = Some(0.014);
    e.hash = Some("12ab".to_string());
    assert_eq!(
        e.to_string(),
        "Test SB Allowed\nStates 2\n0:X0=0;\n0:X0=1;\nOk\nWitnesses\nPositive: 1 Negative: 3\n\
         Condition exists (0:X0=1)\nObservation SB Sometimes 1 3\nTime SB 0.01\nHash=12ab\n\n"
    );
    let e = entry(Quantifier::NotExists, 0, 3);
    assert!(e.to_string().starts_with("Test SB Forbidden\n"));
    assert!(e.to_string().contains(
        "\nOk\nWitnesses\nPositive: 3 Negative: 0\nCondition exists (0:X0=1)\nObservation SB Never 0 3\n"
    ));
    let mut e = entry(Quantifier::Forall, 4, 0);
    e.flag("data-race");
    e.flag("*undef*");
    e.cut = true;
    assert!(e.to_string().starts_with("Test SB Required\n"));
    assert!(e.to_string().contains(
        "\nLoop Undef\nWitnesses\nPositive: 4 Negative: 0\nFlag *undef*\nFlag data-race\nCondition"
    ));
    assert!(e.to_string().contains("Observation SB Always 4 0\n"));
    assert!(entry(Quantifier::Forall, 1, 1).verdict == Verdict::No);
    assert!(entry(Quantifier::NotExists, 1, 1).verdict == Verdict::No);
}

#[test]
fn printed_then_read() {
    for quantifier in [Quantifier::Exists, Quantifier::NotExists, Quantifier::Forall] {
        for counts in [(0, 3), (2, 0), (2, 3)] {
            let mut e = entry(quantifier, counts.0, counts.1);
            e.seconds = Some(0.25);
            e.hash = Some("12ab".to_string());
            e.cut = counts.0 == 2;
            if counts.1 == 0 {
                e.flag("*undef*");
            }
            assert_eq!(log(&format!("{e}{e}")), [e.clone(), e]);
        }
    }
}

#[test]
fn logs_of_machines() {
    let entries = log(
        "%%%% Results for SB %%%%\nX86 SB\n\"PodWR Fre\"\n{}\n P0 ;\nGenerated assembler\nnop\n\n\
         Test SB Allowed\nHistogram (2 states)\n94    *>0:EAX=0; 1:EAX=0;\n499 :>0:EAX=1; 1:EAX=0;\nOk\n\n\
         Witnesses\nPositive: 94, Negative: 499\nCondition exists (0:EAX=0 /\\ 1:EAX=0) is validated\n\
         Hash=7dbd\nObservation SB Sometimes 94 499\nTime SB 0.10\n\nRevision: 1\n",
    );
    assert_eq!(entries.len(), 1);
    let e = &entries[0];
    assert_eq!(e.kind, Kind::Allowed);
    assert_eq!(e.states, ["0:EAX=0; 1:EAX=0;", "0:EAX=1; 1:EAX=0;"]);
    assert_eq!((e.positive, e.negative), (94, 499));
    let seen = |count, holds| Seen { count, holds };
    assert_eq!(e.seen, [seen(94, true), seen(499, false)]);
    assert_eq!(e.condition, "exists (0:EAX=0 /\\ 1:EAX=0)");
    assert_eq!(e.observation, Some(Observation::Sometimes));
}

#[test]
fn logs_add_up() {
    let one = "Test SB Allowed\nHistogram (2 states)\n94    :>0:EAX=0; 1:EAX=1;\n6     :>0:EAX=1; 1:EAX=0;\n\
               No\n\nWitnesses\nPositive: 0, Negative: 100\n\
               Condition exists (0:EAX=0 /\\ 1:EAX=0) is NOT validated\n\
               Observation SB Never 0 100\nTime SB 0.25\n\n";
    let two = "Test SB Allowed\nHistogram (2 states)\n3     *>0:EAX=0; 1:EAX=0;\n7     :>1:EAX=0; 0:EAX=0x1;\n\
               Ok\n\nWitnesses\nPositive: 3, Negative: 7\n\
               Condition exists (0:EAX=0 /\\ 1:EAX=0) is validated\n\
               Observation SB Sometimes 3 7\nTime SB 0.25\n\n";
    let (one, two) = (log(one), log(two));
    let all: String = sum(&[one.clone(), two.clone()]).iter().map(ToString::to_string).collect();
    assert_eq!(
        all,
        "Test SB Allowed\nHistogram (3 states)\n3     *>0:EAX=0; 1:EAX=0;\n94    :>0:EAX=0; 1:EAX=1;\n\
         13    :>0:EAX=1; 1:EAX=0;\nOk\n\nWitnesses\nPositive: 3, Negative: 107\n\
         Condition exists (0:EAX=0 /\\ 1:EAX=0) is validated\n\
         Observation SB Sometimes 3 107\nTime SB 0.50\n\n"
    );
    assert_eq!(log(&all), sum(&[one, two]), "what is printed reads as it was");
    let model =
        log("Test SB Allowed\nStates 1\n0:EAX=0; 1:EAX=0;\nOk\nPositive: 1 Negative: 0\n\n");
    let mixed = sum(&[model, log(&all)]);
    assert_eq!((mixed[0].states.len(), mixed[0].seen.len()), (3, 0), "counts of some are none");
}

#[test]
fn a_log_that_breaks_off() {
    let error = read(&Source::new("a.log", "Test SB Allowed\nStates 3\n0:X0=1;\n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.log:2:1: error: the log ends after 1 of 3 states\n 2 | States 3\n   | ^^^^^^^^\n  \
         help: the log was cut off; run the last test again"
    );
}

#[test]
fn comparison() {
    let expected = log(
        "Test A Allowed\nStates 2\n0:X0=16; [x]=1;\n0:X0=1; [x]=2;\nOk\n\nTest B Allowed\nStates 1\n[x]=1;\nNo\n\
         \nTest C Allowed\nStates 1\n[x]=1;\nUndef\n\nTest D Allowed\nStates 1\n[x]=1;\nNo\n",
    );
    let actual = log(
        "Test C Allowed\nStates 1\n[x]=1;\nOk\n\nTest B Allowed\nStates 2\n[x]=1;\n[x]=-2;\nNo\n\
         Test A Allowed\nStates 2\nx=2; 0:X0=1;\nx=1; 0:X0=0x10;\nOk\n\nTest E Allowed\nStates 0\nNo\n",
    );
    let diff = compare(&expected, &actual);
    assert_eq!(
        diff.to_string(),
        "differs  B\n  + [x]=-2;\ndiffers  C\n  - undefined\nmissing  D\n\
         only in the second log  E\n1 agree, 2 differ, 1 missing\n"
    );
    let same = compare(&expected, &expected);
    assert!(same.differ.is_empty() && same.missing.is_empty() && same.unexpected.is_empty());
}

#[test]
fn condition_text_is_herds() {
    let text = |arch: &str, condition: &str| {
        let t = crate::read(&format!("{arch} T\n{{}}\n P0 ;\n nop ;\n{condition}\n"));
        condition_text(&t.condition, t.arch, &place_brackets)
    };
    for (read, shown) in [
        ("", "forall (true)"),
        ("exists 0:X0=0x10", "exists (0:X0=16)"),
        ("~exists (x=1 /\\ (y=2 \\/ z!=-1))", "~exists ([x]=1 /\\ ([y]=2 \\/ not ([z]=-1)))"),
        ("forall (x=1 => y[1]=2)", "forall ([x]=1 => y[1]=2)"),
        ("exists ((x=1 => y=1) => z=[x])", "exists (([x]=1 => [y]=1) => [z]=[x])"),
        ("exists x=0xffffffffffffffff", "exists ([x]=-1)"),
        ("exists x={1,0x2}", "exists (x={1,2})"),
    ] {
        assert_eq!(text("AArch64", read), shown);
    }
    assert_eq!(text("AArch64", "exists x=0xBEEF0000"), "exists ([x]=3203334144)");
    assert_eq!(text("ARM", "exists x=0xBEEF0000"), "exists ([x]=-1091633152)");
}

fn files(path: &Path) -> io::Result<String> {
    match path.to_str().unwrap() {
        "t/all" => Ok("a.litmus # one\n\n# none\n  @sub/list\nsub/b.litmus\r\n".to_string()),
        "t/sub/list" => Ok("c.litmus\n../d.litmus".to_string()),
        "t/loop" => Ok("x\n@loop\n".to_string()),
        "t/broken" => Ok("x\n @none\n".to_string()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    }
}

#[test]
fn lists() {
    let paths =
        list::arguments(&["first.litmus".to_string(), "@t/all".to_string()], &files).unwrap();
    let want =
        ["first.litmus", "t/a.litmus", "t/sub/c.litmus", "t/sub/../d.litmus", "t/sub/b.litmus"];
    assert_eq!(paths, want.map(PathBuf::from));
    let error = |name: &str| list::read(Path::new(name), &files).unwrap_err().to_string();
    assert_eq!(
        error("t/loop"),
        "t/loop:2:1: error: the list t/loop contains itself\n 2 | @loop\n   | ^^^^^\n  \
         help: take this line out"
    );
    assert_eq!(
        error("t/broken"),
        "t/broken:2:2: error: cannot read the list t/none: no such file\n 2 |  @none\n   |  ^^^^^"
    );
    assert_eq!(
        error("t/none"),
        "error: cannot read the list t/none: no such file\n  help: a list names one test a line"
    );
}
