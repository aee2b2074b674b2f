//! `litmake tv` and `litmake tv-opt` as their users call them: statuses, streams, JSON, and the tests of a refutation.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use litmake_needs::here;

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
    assert!(err.contains("there are no functions `@src` and `@tgt`, but `@"), "{err}");
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

/// Functions that compilers translate in the tests of machine code.
const SOURCE: &str = "#include <stdatomic.h>
void send(atomic_int *data, atomic_int *flag) {
  atomic_store_explicit(data, 1, memory_order_relaxed);
  atomic_store_explicit(flag, 1, ORDER);
}
int receive(atomic_int *data, atomic_int *flag) {
  int seen = atomic_load_explicit(flag, memory_order_acquire);
  return seen ? atomic_load_explicit(data, memory_order_relaxed) : RETURNS;
}
int add(atomic_int *x) { return atomic_fetch_add_explicit(x, 1, memory_order_relaxed); }
void publish(int *data, atomic_int *flag) {
  *data = 1;
  atomic_store_explicit(flag, 1, ORDER);
}
atomic_long counter;
long count(atomic_int *x) {
  atomic_store(x, 1);
  return atomic_load(&counter);
}
";

const RIGHT_WORDS: [&str; 2] = ["-DORDER=memory_order_release", "-DRETURNS=-1"];
const WEAK_WORDS: [&str; 2] = ["-DORDER=memory_order_relaxed", "-DRETURNS=-1"];

/// Compiles `f.c`, which is the source.
#[expect(clippy::disallowed_methods, reason = "a compiler of a test")]
fn compiles(dir: &Scratch, compiler: &str, words: &[&str], more: &[&str], to: &str) {
    let mut command = Command::new(compiler);
    command.current_dir(dir.dir()).args(more).args(words).args(["f.c", "-o", to]);
    assert!(command.status().expect("starts").success(), "{compiler} {more:?}");
}

/// The path of a compiler's library.
#[expect(clippy::disallowed_methods, reason = "a compiler of a test")]
fn library_of(compiler: &str) -> String {
    let output = Command::new(compiler).arg("-print-libgcc-file-name").output().expect("starts");
    String::from_utf8(output.stdout).expect("text").trim().to_string()
}

/// What compilers of several machines make of C holds, and what they make of weaker C does not: across levels, between
/// two levels of optimisation, and between two machines.
#[test]
fn machine_code_is_compared_across_levels_and_machines() {
    let compilers = ["gcc-12", "aarch64-linux-gnu-gcc-12", "riscv64-linux-gnu-gcc-12"];
    let compilers: Vec<&str> = compilers.into_iter().filter(|c| here(c)).collect();
    let text = SOURCE.replace("ORDER", "memory_order_release").replace("RETURNS", "-1");
    let dir = Scratch::with(&[("f.c", SOURCE), ("source.c", &text)]);
    let holds = |args: &[&str], pairs: &str| {
        let (status, out, err) = dir.streams(args);
        assert_eq!((status, &*err), (0, ""), "{args:?}: {out}");
        assert!(out.contains(pairs) && !out.contains("not understood"), "{args:?}: {out}");
    };
    let refuted = |args: &[&str]| {
        let (status, out, err) = dir.streams(args);
        assert_eq!((status, &*err), (1, ""), "{args:?}: {out}");
        out
    };
    for compiler in &compilers {
        let object = |name: &str| format!("{compiler}.{name}.o");
        for (words, level, name) in
            [(RIGHT_WORDS, "-O0", "O0"), (RIGHT_WORDS, "-O2", "O2"), (WEAK_WORDS, "-O2", "weak")]
        {
            compiles(&dir, compiler, &words, &[level, "-c"], &object(name));
        }
        let (plain, fast, weak) = (object("O0"), object("O2"), object("weak"));
        // On AArch64, read-modify-writes call functions of the compiler's library.
        let library = library_of(compiler);
        let outlined = ["--library", &library, "--known", "__aarch64_have_lse_atomics=1"];
        let files = ["tv", "--accesses", "2", &plain, &fast];
        holds(&[&files[..], &outlined].concat(), "5 pairs: ");
        let clang = ["--clang", "clang-14", "--model", "rc11-lb"];
        if here("clang-14") {
            let files = ["tv", "--accesses", "2", "source.c", &fast];
            holds(&[&files[..], &clang, &outlined].concat(), "5 pairs: ");
        }
        if *compiler != "gcc-12" {
            let out = refuted(&["tv", &fast, &weak, "--function", "send"]);
            assert!(out.contains("send: REFUTED under ") && out.contains("flag = "), "{out}");
            if here("clang-14") {
                let files = ["tv", "--function", "publish", "source.c", &weak];
                refuted(&[&files[..], &clang].concat());
            }
        }
    }
    if let [intel, arm, ..] = compilers[..] {
        let object = |compiler: &str, name: &str| format!("{compiler}.{name}.o");
        let (from, to) = (object(intel, "weak"), object(arm, "O2"));
        // x86 keeps the order of stores, which the release store keeps as well, and plain stores of Arm do not.
        holds(&["tv", &from, &to, "--function", "send"], "1 pair: ");
        let out = refuted(&["tv", &from, &object(arm, "weak"), "--function", "send"]);
        assert!(out.contains("under x86tso before and aarch64 after"), "{out}");
        let pair = |file: &str| format!("{file}:send");
        holds(&["lift", "--pair", &pair(&from), &pair(&to)], "1 pair: ");
        refuted(&["lift", "--pair", &pair(&from), &pair(&object(arm, "weak"))]);
    }
}

/// What a function of machine code returns is compared where a declaration or a source says what it is.
#[test]
fn a_declaration_says_what_machine_code_returns() {
    if !here("gcc-12") {
        return;
    }
    let dir = Scratch::with(&[("f.c", SOURCE)]);
    let other = ["-DORDER=memory_order_release", "-DRETURNS=3"];
    compiles(&dir, "gcc-12", &RIGHT_WORDS, &["-O2", "-c"], "one.o");
    compiles(&dir, "gcc-12", &other, &["-O2", "-c"], "other.o");
    let declared = "int receive(atomic_int *data, atomic_int *flag)";
    let (status, out, _) = dir.streams(&["tv", "one.o", "other.o", "--function", "receive"]);
    assert!(status == 0 && out.contains("what the functions return is not compared"), "{out}");
    let both = ["tv", "one.o", "other.o", "--function", "receive", "--signature"];
    let (status, out, _) = dir.streams(&[&both[..], &[declared]].concat());
    assert!(status == 1 && out.contains("the result = 3"), "{out}");
    let (status, out, _) = dir.streams(&["tv", "one.o", "one.o", "--signature", declared]);
    assert!(status == 0 && out.contains("5 unchanged"), "{out}");
    for (words, message) in [
        (["--signature", "receive(int)"], "the result is no integer"),
        (["--signature", "double receive(int *x)"], "the result is no integer"),
        (["--signature", "int receive"], "there is no `(`"),
        (["--function", "receive=take"], "there is no function `take` in the file after"),
        (["--function", "take"], "there is no pair of functions `take`"),
    ] {
        let (status, _, err) = dir.streams(&[&["tv", "one.o", "other.o"][..], &words].concat());
        assert!(status == 2 && err.contains(message), "{err}");
    }
    compiles(&dir, "gcc-12", &RIGHT_WORDS, &["-O2", "-S"], "one.s");
    let (status, _, err) = dir.streams(&["tv", "one.s", "other.o"]);
    assert!(status == 2 && err.contains("needs an assembler"), "{err}");
    let profile = ["--profile", "gcc-12-x86_64-O2", "--function", "send"];
    let (status, out, err) = dir.streams(&[&["tv", "one.s", "other.o"][..], &profile].concat());
    assert!(status == 0 && out.contains("1 unchanged"), "{out}{err}");
}

/// Bugs of compilers that trackers have (LLVM 56450 and 68428, and gcc 12 for Power and RISC-V): the source is compared
/// with the code that the compiler makes of it.
#[test]
fn bugs_of_compilers_are_found_in_their_code() {
    let text = "#include <stdatomic.h>
int idle(atomic_int *y) { return atomic_fetch_add_explicit(y, 0, memory_order_relaxed); }
int swap(volatile atomic_int *x, atomic_int *y) {
  atomic_exchange_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  return atomic_load_explicit(y, memory_order_relaxed);
}
long failing(atomic_int *x, atomic_int *y) {
  int want = 0;
  atomic_compare_exchange_strong_explicit(x, &want, 7, memory_order_release, memory_order_acquire);
  return want * 1000L + atomic_load_explicit(y, memory_order_relaxed);
}
int lost(atomic_int *x, atomic_int *y) {
  int want = 0;
  atomic_store_explicit(y, 1, memory_order_relaxed);
  return atomic_compare_exchange_strong_explicit(
      x, &want, 7, memory_order_acq_rel, memory_order_relaxed);
}
";
    let dir = Scratch::with(&[("f.c", text)]);
    if !here("clang-14") {
        return;
    }
    let arm = ["--target=aarch64-linux-gnu", "-march=armv8.1-a", "-ffreestanding"];
    for (compiler, words, function, others) in [
        ("clang-14", &[][..], "idle", &["failing"][..]),
        ("clang-14", &arm, "swap", &["idle"]),
        ("powerpc64le-linux-gnu-gcc-12", &[], "failing", &["idle", "swap"]),
        ("riscv64-linux-gnu-gcc-12", &[], "lost", &["idle", "swap"]),
    ] {
        if !here(compiler) {
            continue;
        }
        compiles(&dir, compiler, words, &["-O2", "-c"], "f.o");
        let verdict = |function: &str| {
            let files = ["tv", "--clang", "clang-14", "f.c", "f.o"];
            let limits = ["--accesses", "2", "--function", function];
            dir.streams(&[&files[..], &limits].concat())
        };
        let (status, out, err) = verdict(function);
        assert_eq!((status, &*err), (1, ""), "{compiler} {function}: {out}");
        for other in others {
            let (status, out, _) = verdict(other);
            assert_eq!(status, 0, "{compiler} {other}: {out}");
        }
    }
}
