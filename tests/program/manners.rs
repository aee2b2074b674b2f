//! How the program answers: to mistakes, to signals, to questions about what it has, and to users of
//! other tools.

#![cfg(target_arch = "x86_64")]

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::scratch::{SB, Scratch};

/// A folder with a test, a list of it, and a profile of `cc`.
fn desk() -> Scratch {
    Scratch::with(&[
        ("sb.litmus", SB),
        ("lists/@all", "../sb.litmus\n"),
        ("cc.sh", "#!/bin/sh\nexec cc \"$@\"\n"),
        ("mine.yaml", "name: mine\ncompiler: ./cc.sh\nargs: ['-O2']\narch: X86_64\n"),
    ])
}

#[test]
fn a_mistake_gives_one_error_that_says_what_to_do() {
    let s = desk();
    s.write("wrong.litmus", &SB.replacen("(x, 1,", "(x, ,", 1));
    s.write("name.litmus", &SB.replacen("atomic_load_", "atomic_lod_", 1));
    s.write(
        "lisa.litmus",
        "LISA mp
{}
 P0 ;
 w[] x 1 ;
exists (x=1)
",
    );
    s.write(
        "keep.yaml",
        "stages:\n  - { name: tests, generate: { files: sb.litmus, keep: [threads=9] } }\n",
    );
    s.write(
        "made.yaml",
        "stages:\n  - { name: tests, generate: { families: c11-cas, keep: [name=zzz] } }\n",
    );
    for (args, expected) in [
        (&["sim", "sb.litmu"][..], "error: cannot read sb.litmu: No such file"),
        (&["sim", "--model", "aarch65", "sb.litmus"], "error: there is no model `aarch65`"),
        (
            &["sim", "--variant", "nobody", "sb.litmus"],
            "error: the model rc11 has no variant `nobody`",
        ),
        (
            &["sim", "lists/@all"],
            "error: lists/@all is a list of tests\n  help: the tests of a list are named by `@` before it: @lists/@all\n",
        ),
        (&["sim", "-gv", "sb.litmus"], "error: litmake has no option `-gv` of herd7\n"),
        (&["sim", "lisa.litmus"], "lisa.litmus:1:1: error: unsupported: tests in LISA\n"),
        (
            &["check", "--profile", "clang-22-aarch65-O2", "sb.litmus"],
            "error: there is no profile `clang-22-aarch65-O2`",
        ),
        (
            &["check", "--profile", "mine.yaml", "wrong.litmus", "-q"],
            "error source: wrong.litmus:4:28: error: expected an expression",
        ),
        (
            &["check", "--profile", "mine.yaml", "name.litmus", "-q"],
            "error source: name.litmus:5:11: error: unknown function",
        ),
        (
            &["check", "--profile", "mine.yaml", "--baseline", "none.json", "sb.litmus"],
            "error: there is no baseline none.json\n",
        ),
        (&["run", "keep.yaml"], "error: keep.yaml:2:"),
        (&["run", "made.yaml"], "error: made.yaml:2:"),
        (&["run", "non.yaml"], "error: cannot read the pipeline non.yaml"),
        (
            &["generate", "--family", "c11-cas", "--keep", "name=zzz"],
            "error: no test has name=zzz\n",
        ),
        (&["profiles", "clang-22-x86-O2"], "error: no profile fits\n  help: there is `"),
        (&["models", "aarch65"], "error: no model fits\n  help: there is `aarch64`\n"),
        (
            &["diff", "--old", "clang-19", "sb.litmus"],
            "error: the following required arguments were not provided:\n  --new",
        ),
    ] {
        let (status, out, err) = s.streams(args);
        let said = out.clone() + &err;
        assert_eq!(status, 2, "{args:?} {said}");
        let start = said.find(expected);
        assert!(start.is_some(), "{args:?}: `{expected}` is not in\n{said}");
        let errors =
            said.lines().filter(|l| l.contains("error: ") || l.starts_with("error ")).count();
        assert_eq!(errors, 1, "{args:?} {said}");
    }
}

#[test]
fn options_of_other_tools_do_what_they_do_there() {
    let s = desk();
    let own = s.streams(&["sim", "--model", "sc", "sb.litmus"]);
    let theirs = s.streams(&["sim", "-model", "sc", "sb.litmus"]);
    let lines = |(status, out, _): &(i32, String, String)| {
        let kept = out.lines().filter(|l| !l.starts_with("Time ")).map(String::from);
        (*status, kept.collect::<Vec<_>>())
    };
    assert_eq!(lines(&own), lines(&theirs));
    let made = |args: &[&str]| s.streams(&[&["generate", "--names"], args].concat()).1;
    let own = made(&["--arch", "AArch64", "--vocabulary", "PodWW PodRR Rfe Fre", "--threads", "2"]);
    let theirs = made(&["-arch", "AArch64", "-safe", "PodWW PodRR Rfe Fre", "-nprocs", "2"]);
    assert_eq!((own.is_empty(), &own), (false, &theirs));
    // One name for one thing; what it was called before is understood.
    let [new, old] = ["--family", "--families"]
        .map(|flag| made(&[flag, "c11-cas", "--sample", "5", "--seed", "1"]));
    assert_eq!((new.lines().count(), &new), (5, &old));
    let shapes = ["--arch", "C", "--vocabulary", "Pod** Rfe Fre"];
    let [new, old] =
        ["--shape", "--family"].map(|flag| made(&[&shapes[..], &[flag, "MP"]].concat()));
    assert_eq!((new.lines().count(), &new), (1, &old));
}

/// What herd7's files say by name: kinds, conditions, names; and its names of checks.
#[test]
fn files_of_herd_say_what_they_say_there() {
    let s = desk();
    let asm = |name: &str| {
        format!(
            r"X86_64 {name}
{{}}
 P0 | P1 ;
 movl $1,(x) | movl $1,(y) ;
 movl (y),%eax | movl (x),%eax ;
exists (0:rax=0 /\ 1:rax=0)
"
        )
    };
    s.write("a.litmus", &asm("A"));
    s.write("b.litmus", &asm("B"));
    s.write("kinds", "# a comment\nA Forbid\nB Required % another\n");
    s.write("conds", "B \"~exists (0:rax=1 /\\ 1:rax=1)\"\n");
    s.write("only-b", "B\n");
    let verdicts = |args: &[&str]| -> Vec<String> {
        let (_, out, err) = s.streams(&[&["sim"], args, &["a.litmus", "b.litmus"]].concat());
        assert_eq!(err, "");
        let told = |l: &&str| l.starts_with("Test ") || ["Ok", "No"].contains(l);
        out.lines().filter(told).map(String::from).collect()
    };
    // The kind is the quantifier: the same states are right under one and wrong under another.
    assert_eq!(verdicts(&[]), ["Test A Allowed", "Ok", "Test B Allowed", "Ok"]);
    assert_eq!(verdicts(&["-kinds", "kinds"]), ["Test A Forbidden", "No", "Test B Required", "No"]);
    assert_eq!(verdicts(&["--conds", "conds"])[2..], ["Test B Forbidden", "No"]);
    // A kind counts more than a condition's own.
    let both = verdicts(&["--conds", "conds", "--kinds", "kinds"]);
    assert_eq!(both[2..], ["Test B Required", "No"]);
    assert_eq!(verdicts(&["-names", "only-b"]), ["Test B Allowed", "Ok"]);
    assert_eq!(verdicts(&["-excl", "only-b"]), ["Test A Allowed", "Ok"]);
    // Of TSO without its checks everything is left, with them the buffers are.
    let states = |args: &[&str]| {
        let out = s.streams(&[&["sim", "--model", "sc", "a.litmus"], args].concat()).1;
        out.lines().find_map(|l| l.strip_prefix("States ")).map(String::from)
    };
    assert_eq!(states(&[]).as_deref(), Some("3"));
    assert_eq!(states(&["-skipcheck", "sc"]).as_deref(), Some("4"));
    // From standard input: a test, or the paths of some.
    for (arg, text) in [("-", asm("A")), ("@-", "a.litmus\n".to_string())] {
        let mut child = s.command(&["sim", arg]);
        let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        let out = String::from_utf8(out.stdout).unwrap();
        assert!(out.starts_with("Test A Allowed\nStates 4\n"), "{arg}: {out}");
    }
    s.write("bad-kind", "A nope\n");
    s.write("bad-cond", "A \"exists\n");
    s.write("nobody", "C\n");
    for (args, expected) in [
        (["--kinds", "bad-kind"], "bad-kind:1:1: error: `nope` is no kind of test"),
        (["--conds", "bad-cond"], "bad-cond:1:1: error: a `\"` is never closed"),
        (["--names", "nobody"], "error: none of 1 tests is left by --names and --exclude"),
        (["--skip-check", "nix"], "error: the model x86tso has no check named `nix`"),
    ] {
        let (status, _, err) = s.streams(&[&["sim", "a.litmus"], &args[..]].concat());
        assert!(status == 2 && err.starts_with(expected), "{args:?}: {err}");
    }
}

/// Who asks for quiet gets what is asked for, and errors.
#[test]
fn quiet_is_quiet() {
    let s = desk();
    // A compiler that asks a server: what that one answers is no file that could be looked at again.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    s.write(
        "cc.sh",
        &format!("#!/bin/bash\n(: <>/dev/tcp/127.0.0.1/{port}) 2>/dev/null\nexec cc \"$@\"\n"),
    );
    s.write(
        "p.yaml",
        "stages:\n  - { name: tests, generate: { files: sb.litmus } }\n  \
         - { name: code, compile: { from: tests, profile: mine.yaml } }\n",
    );
    let (status, _, loud) = s.streams(&["run", "p.yaml"]);
    assert!(status == 0 && loud.contains("note: what `"), "{status}: {loud}");
    assert_eq!(s.streams(&["run", "-q", "p.yaml"]).2, "");
    s.write("q.yaml", "stages:\n  - { name: tests, generate: { files: '' } }\n");
    let (status, _, err) = s.streams(&["run", "-q", "q.yaml"]);
    assert!(status == 2 && err.contains("error: an empty text names no file"), "{err}");
}

#[test]
fn what_there_is_can_be_asked() {
    let s = desk();
    s.write(
        "profiles/mine.yaml",
        "name: mine-${version}-O2\nmatrix: { version: [9, 10] }\ncompiler: ./none-${version}\narch: X86_64\n",
    );
    let (status, out, _) = s.streams(&["profiles", "--json", "mine"]);
    let rows: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |key: &str| rows.iter().map(|r| r[key].clone()).collect::<Vec<_>>();
    assert_eq!((status, of("name")), (0, vec!["mine-9-O2".into(), "mine-10-O2".into()]));
    assert_eq!((of("installed"), of("level")), (vec![false.into(); 2], vec!["O2".into(); 2]));
    let (_, out, _) =
        s.streams(&["profiles", "--target", "aarch64", "--level", "O1", "--family", "clang"]);
    assert!(
        out.lines().count() > 3 && out.lines().all(|l| l.contains("aarch64") && l.contains("-O1 ")),
        "{out}"
    );
    let (_, out, _) = s.streams(&["profiles"]);
    assert!(out.contains("clang-${version}-aarch64-${level} "), "{out}");
    assert_eq!(s.streams(&["profiles", "mine", "--installed"]).0, 2);
    let (_, out, _) = s.streams(&["models", "x86"]);
    assert!(out.contains("x86tso ") && out.contains("(default for X86_64, X86)"), "{out}");
    assert!(!s.streams(&["models"]).1.contains("stdlib"));
    let (status, out, _) = s.streams(&["show", "SB+mfences", "--arch", "X86_64"]);
    s.write("shown.litmus", &out);
    let (_, log, _) = s.streams(&["sim", "shown.litmus"]);
    assert!(status == 0 && log.contains("Observation SB+mfences Never"), "{out}{log}");
    let (status, _, err) = s.streams(&["show", "MPP"]);
    assert!(status == 2 && err.contains("did you mean `MP`?"), "{err}");
    let (_, out, _) = s.streams(&["pipelines", "night"]);
    let names: Vec<_> = out.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(names, ["gpu-nightly", "nightly"], "{out}");
    assert!(out.contains("  The tests of each night\n"), "{out}");
    let (status, out, _) = s.streams(&["pipelines", "--copy", "mine", "quickstart"]);
    assert!(status == 0 && out.contains("mine/quickstart/store-buffering.litmus\n"), "{out}");
    let (status, out, err) = s.streams(&["run", "mine/quickstart.yaml", "tests"]);
    assert!(status == 0 && out.contains(" 4 tasks "), "{out}{err}");
    s.write("mine/quickstart.yaml", "my own");
    let (status, _, err) = s.streams(&["pipelines", "--copy", "mine", "quickstart"]);
    assert!(status == 2 && err.contains("mine/quickstart.yaml has another text"), "{err}");
}

#[test]
fn shells_complete_profiles_models_and_stages() {
    let s = desk();
    s.write("p.yaml", "stages:\n  - { name: some-tests, generate: { files: sb.litmus } }\n");
    let complete = |words: &[&str]| -> String {
        let out = s
            .command(&[&["--", "litmake"], words].concat())
            .env("LITMAKE_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "true")
            .env("_CLAP_IFS", "\n")
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert!(
        complete(&["check", "--profile", "clang-22-aarch64-O"]).contains("clang-22-aarch64-O2")
    );
    assert!(complete(&["sim", "--model", "aar"]).contains("aarch64"));
    assert!(complete(&["run", "p.yaml", "so"]).contains("some-tests"));
    assert!(complete(&["che"]).contains("check"));
    for shell in ["bash", "zsh", "fish"] {
        let (status, script, err) = s.streams(&["completions", shell]);
        assert!(status == 0 && script.contains("LITMAKE_COMPLETE"), "{shell} {script}{err}");
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let s = desk();
    let (status, _, err) = s.streams(&["man", "pages"]);
    assert_eq!(status, 0, "{err}");
    for (page, part) in [("litmake.1", ".TH litmake 1"), ("litmake-diff.1", "\\-\\-old")] {
        let text = std::fs::read_to_string(s.path("pages").join(page)).unwrap();
        assert!(text.contains(part), "{page}: {text}");
    }
}

#[test]
fn a_check_has_the_outputs_of_a_run_and_keeps_them_when_it_is_stopped() {
    let s = desk();
    let files =
        ["--report", "r.json", "--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif"];
    let args = [&["check", "--profile", "mine.yaml", "sb.litmus", "-q"], &files[..]].concat();
    let written = |status: i32| -> Value {
        for name in ["r.html", "r.xml", "r.sarif"] {
            assert!(std::fs::metadata(s.path(name)).is_ok_and(|m| m.len() > 0), "{status}: {name}");
            std::fs::remove_file(s.path(name)).unwrap();
        }
        let report = std::fs::read_to_string(s.path("r.json")).unwrap();
        std::fs::remove_file(s.path("r.json")).unwrap();
        serde_json::from_str(&report).unwrap()
    };
    let (status, out, err) = s.streams(&args);
    assert_eq!(status, 0, "{out}{err}");
    assert_eq!(written(status)["stopped"], Value::Null);
    // A compiler that says that it was started, and then takes its time over tests.
    s.write(
        "cc.sh",
        "#!/bin/sh\nif grep -q atomic_store test.c; then touch \"$HERE/started\"; sleep 600; fi\nexec cc \"$@\"\n",
    );
    s.write(
        "mine.yaml",
        &format!(
            "name: mine\ncompiler: ./cc.sh\nargs: ['-O2']\narch: X86_64\nenv: {{ HERE: '{}' }}\n",
            s.dir().display()
        ),
    );
    for (signal, expected) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let mut child =
            s.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !s.path("started").exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // SAFETY: it is not waited for yet.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert_eq!(child.wait().unwrap().code(), Some(expected));
        assert_eq!(written(expected)["stopped"], true);
        std::fs::remove_file(s.path("started")).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn a_link_to_nothing_costs_its_test_and_no_other() {
    let s = desk();
    std::fs::create_dir(s.path("folder")).unwrap();
    s.write("folder/sb.litmus", SB);
    for name in ["gone.litmus", "gone"] {
        std::os::unix::fs::symlink("nowhere", s.path(&format!("folder/{name}"))).unwrap();
    }
    let (status, text) = s.litmake(&["sim", "folder"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("States "), "{text}");
    let errors: Vec<&str> = text.lines().filter(|l| l.contains("error: ")).collect();
    assert_eq!(errors.len(), 1, "{text}");
    assert!(errors[0].contains("gone.litmus"), "{text}");
}
