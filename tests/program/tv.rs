//! `litmake tv` and `litmake tv-opt` as their users call them: statuses, streams, JSON, and the tests of a refutation.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::scratch::Scratch;

const WRONG: &str = "
define void @src(ptr %x) {
  store atomic i32 1, ptr %x release, align 4
  ret void
}
define void @tgt(ptr %x) {
  store atomic i32 1, ptr %x monotonic, align 4
  ret void
}
";

const RIGHT: &str = "
define void @src(ptr %x) {
  store atomic i32 1, ptr %x monotonic, align 4
  ret void
}
define void @tgt(ptr %x) {
  store atomic i32 1, ptr %x release, align 4
  ret void
}
";

const UNKNOWN: &str = "
define <vscale x 2 x i32> @src(ptr %x) {
  %r = load <vscale x 2 x i32>, ptr %x
  ret <vscale x 2 x i32> %r
}
define <vscale x 2 x i32> @tgt(ptr %x) {
  %r = load <vscale x 2 x i32>, ptr %x, align 4
  ret <vscale x 2 x i32> %r
}
";

#[test]
fn the_status_says_what_came_of_it() {
    let dir = Scratch::with(&[
        ("wrong.ll", WRONG),
        ("right.ll", RIGHT),
        ("unknown.ll", UNKNOWN),
        ("none.ll", "define void @f() {\n ret void\n}\n"),
    ]);
    let (status, out, err) = dir.streams(&["tv", "wrong.ll"]);
    assert_eq!((status, &*err), (1, ""), "{out}");
    for part in [
        "REFUTED",
        "outcome",
        "@src cannot have it",
        "@tgt has it",
        "forbids the cycle",
        "1 refuted",
    ] {
        assert!(out.contains(part), "{part} is missing:\n{out}");
    }
    let (status, out, _) = dir.streams(&["tv", "--accesses", "3", "right.ll"]);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("contexts up to 3 threads and 3 accesses"), "{out}");
    let last = out.lines().last().unwrap_or("");
    assert!(
        last.starts_with("litmake ") && last.contains(" tv llvm-lb: 1 pair: 1 holds for all "),
        "{last}"
    );
    let (status, out, _) = dir.streams(&["tv", "unknown.ll"]);
    assert_eq!(status, 3, "{out}");
    assert!(out.contains("not understood") && out.contains("vectors"), "{out}");
    let (status, _, err) = dir.streams(&["tv", "none.ll"]);
    assert_eq!(status, 2);
    assert!(err.contains("there are no functions `@src` and `@tgt`"), "{err}");
    let (status, _, err) = dir.streams(&["tv", "missing.ll"]);
    assert_eq!(status, 2);
    assert!(err.contains("missing.ll"), "{err}");
}

/// Two files, standard input, and JSON, without a home or a cache folder.
#[test]
fn programs_read_standard_input_and_json() {
    let dir = Scratch::with(&[(
        "a.ll",
        "define void @f(ptr %x) {\n store atomic i32 1, ptr %x seq_cst, align 4\n ret void\n}\n",
    )]);
    let mut command = dir.command(&["tv", "--json", "a.ll", "-"]);
    command.env_remove("HOME").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let text =
        "define void @f(ptr %x) {\n store atomic i32 1, ptr %x release, align 4\n ret void\n}\n";
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("reads");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let pair = &json["pairs"][0];
    assert_eq!((&pair["name"], &pair["verdict"]), (&"f".into(), &"refuted".into()));
    let example = &pair["counterexample"];
    assert!(example["forbidden_by"].as_array().is_some_and(|list| !list.is_empty()), "{json:#}");
    assert!(json["summary"].as_str().is_some_and(|s| s.contains("1 refuted")), "{json:#}");
    assert!(!dir.path("cache").exists());
}

/// A tool of a web page has its input on standard input, no environment, and a folder that it may only read.
#[test]
fn a_tool_of_a_page_needs_no_folder() {
    let both = WRONG;
    let test = "C t\n{}\nP0(atomic_int* x) {\n  atomic_store(x, 1);\n}\nexists (x=1)\n";
    let dir = Scratch::with(&[]);
    let here = dir.path(".");
    let permit = |mode| {
        std::fs::set_permissions(&here, std::fs::Permissions::from_mode(mode)).expect("permits")
    };
    permit(0o555);
    let run = |args: &[&str], text: &str| {
        let mut command = dir.command(args);
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("reads");
        let output = child.wait_with_output().expect("ends");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (status, out, err) = run(&["tv", "-"], both);
    assert_eq!((status, &*err), (Some(1), ""), "{out}");
    assert!(out.lines().last().is_some_and(|l| l.ends_with("1 pair: 1 refuted")), "{out}");
    let (status, out, _) = run(&["tv", "--json", "-"], both);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((status, &json["pairs"][0]["verdict"]), (Some(1), &"refuted".into()));
    // The compiler need not be installed: then the answer names what is missing, and the test as `-`.
    let (status, out, err) = run(&["check", "-p", "gcc-x86_64-O2", "-"], test);
    assert!(matches!(status, Some(0 | 3)), "{out}{err}");
    let last = out.lines().last().unwrap_or("");
    let version = env!("CARGO_PKG_VERSION");
    assert!(last.starts_with(&format!("litmake {version} suite-")), "{out}{err}");
    assert!(last.contains(": 1 test, ") && last.ends_with(", 0 forbidden outcomes"), "{last}");
    assert!(!format!("{out}{err}").contains("stdin.litmus"), "{out}{err}");
    let (_, out, _) = run(&["check", "--json", "-p", "gcc-x86_64-O2", "-"], test);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["verdict"]["asked"], 1);
    permit(0o755);
    assert_eq!(std::fs::read_dir(&here).expect("the folder").count(), 0);
}

/// The tests of a refutation show it in the simulator: the one after the change has more outcomes.
#[test]
fn the_tests_of_a_refutation_show_it() {
    let dir = Scratch::with(&[("wrong.ll", WRONG)]);
    assert_eq!(dir.litmake(&["tv", "--tests", "wrong", "wrong.ll"]).0, 1);
    let states = |side: &str| {
        let file = format!("wrong/src.{side}.litmus");
        let (status, json) = dir.json(&["sim", "--model", "llvm-lb", "--json", &file]);
        assert_eq!(status, 0, "{json}");
        json["states"].as_array().map_or(0, Vec::len)
    };
    assert!(states("after") > states("before"));
}

/// In the place of `opt`: the streams and the status are those of `opt`, and a wrong one is found.
#[test]
fn it_stands_in_for_opt() {
    let before =
        "define void @f(ptr %x) {\n  store atomic i32 1, ptr %x release, align 4\n  ret void\n}\n";
    let script = |order: &str| {
        format!("#!/bin/sh\ncat > /dev/null\ncat <<'E'\n{}E\n", before.replace("release", order))
    };
    let dir = Scratch::with(&[
        ("f.ll", before),
        ("good", &script("release")),
        ("bad", &script("monotonic")),
        ("broken", "#!/bin/sh\necho no >&2\nexit 7\n"),
    ]);
    let run = |opt: &str| {
        let command =
            format!("chmod +x {opt}; \"$LITMAKE\" tv-opt --log log ./{opt} -S -passes=x < f.ll");
        let mut command = dir.program("sh", &["-c", &command]);
        command.env("LITMAKE", env!("CARGO_BIN_EXE_litmake"));
        crate::scratch::streams(&mut command)
    };
    let (status, out, err) = run("good");
    assert_eq!((status, &*err), (0, ""));
    assert_eq!(out, before);
    let (status, out, err) = run("bad");
    assert_eq!(status, 1);
    assert!(out.contains("monotonic") && err.contains("REFUTED"), "{out}\n{err}");
    let (status, _, err) = run("broken");
    assert_eq!((status, err.trim()), (7, "no"));
    assert_eq!(dir.read("log").lines().count(), 2);
}

#[test]
fn a_template_names_options_that_exist() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/compiler-explorer.properties");
    let text = std::fs::read_to_string(file).expect("reads");
    let options =
        text.lines().find_map(|l| l.strip_prefix("tools.litmake-tv.options=")).expect("options");
    let dir = Scratch::with(&[("right.ll", RIGHT)]);
    let mut args: Vec<&str> = options.split(' ').collect();
    args.push("right.ll");
    let (status, out) = dir.litmake(&args);
    assert_eq!(status, 0, "{out}");
}

/// C is read by clang, and a race before the change excuses.
#[test]
fn functions_of_c_are_compared() {
    if !litmake_needs::here("clang-14") {
        return;
    }
    let right = "#include <stdatomic.h>
int get(int *data, atomic_int *flag) {
  if (atomic_load_explicit(flag, memory_order_acquire)) return *data;
  return -1;
}
";
    let dir = Scratch::with(&[
        ("right.c", right),
        ("wrong.c", &right.replace("acquire", "relaxed")),
        ("more.c", &right.replace("  if", "  int early = *data; if")),
    ]);
    let tv = |after: &str| {
        dir.litmake(&["tv", "--clang", "clang-14", "--accesses", "3", "right.c", after])
    };
    let (status, out) = tv("wrong.c");
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("get: REFUTED"), "{out}");
    // A load whose value is dropped: intermediate code may have it.
    let (status, out) = tv("more.c");
    assert_eq!(status, 0, "{out}");
}
