//! What the passes of compilers do to tests: the code that a front end makes allows nothing that the
//! source forbids, a wrong pass is named, and a right compiler is not blamed.
//!
//! `LITMAKE_TESTS=500` looks at so many tests of each level.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use litmake::diag::Source;
use litmake::generate::recipe::Recipe;
use litmake::litmus::{self, Arch, Test};
use litmake::passes::blame;
use litmake::passes::cross::Asked;
use litmake::passes::gcc::Pass;
use litmake::passes::judge::Court;
use litmake::passes::machine::Change;
use litmake::passes::omit::{self, Rest};
use litmake::passes::survey::{self, Survey};
use litmake::passes::without::{self, Opinion};
use litmake::pipeline::plan::profile_folders;
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::profile::{Profile, Profiles};
use litmake::select::collect::{Wanted, collect};
use litmake::select::filter::Filter;
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;

use crate::scratch::Scratch;

fn count() -> usize {
    std::env::var("LITMAKE_TESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

fn profile(name: &str) -> Arc<Profile> {
    let profiles = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    profiles.find(&Disk, Path::new("."), name).unwrap_or_else(|e| panic!("{e}"))
}

/// The compiler of a profile, where it is here.
fn program(profile: &Profile) -> Option<PathBuf> {
    litmake_needs::need(&profile.compiler, process::find(&profile.compiler).ok_or("not installed"))
}

fn court() -> Court {
    Court::new(&["rc11".to_string(), "rc11-lb".to_string()]).unwrap_or_else(|e| panic!("{e}"))
}

/// A compiler as `check` and `passes` use it.
fn compiler<'a>(profile: &'a Profile, program: &'a Path, runtime: &'a Runtime) -> Compiler<'a> {
    Compiler {
        profile,
        program,
        observe: Observe::Condition,
        storage: Storage::Pointers,
        helpers: false,
        runtime,
        stop: litmake::stop::of_the_process(),
    }
}

/// The one finding of `check --passes` on a test that is wrong.
fn finding(profile: &str, text: &str, more: &[&str]) -> serde_json::Value {
    let s = Scratch::with(&[("test.litmus", text)]);
    let how = ["check", "--quiet", "--json", "--passes", "--storage", "pointers", "--profile"];
    let (status, report) = s.json(&[&how[..], &[profile], more, &["test.litmus"]].concat());
    assert_eq!(status, 1, "{profile}: {report:#}");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(1), "{profile}: {report:#}");
    report["findings"][0].clone()
}

fn tests(families: &[&str], count: usize) -> Vec<(String, Test)> {
    let mut out = Vec::new();
    for family in families {
        let keep = Filter::default();
        let wanted =
            Wanted { sample: Some((count.div_ceil(families.len()), 3)), ..Wanted::all(&keep) };
        let all = collect(&Recipe::new(Arch::C), &[Source::new("family", *family)], &wanted, 1);
        for (name, text) in all.unwrap_or_else(|e| panic!("{e}")).iter() {
            let test =
                litmus::read(&Source::new(name.as_str(), text)).unwrap_or_else(|e| panic!("{e}"));
            out.push((format!("{family}/{name}"), test));
        }
    }
    out
}

/// The dialect's own test: before any pass has run, the code means what its source means.
#[test]
fn front_ends_add_no_outcomes() {
    let families =
        ["telechat-table3", "mix-table4", "c11-cas", "c11-idle", "c11-plain", "c11-helpers"];
    let tests = tests(&families, count());
    let mut court = court();
    for name in ["clang-14-x86_64-O2", "clang-22-x86_64-O0", "clang-22-aarch64-O1"] {
        let profile = profile(name);
        let Some(program) = program(&profile) else { continue };
        let runtime = Runtime::of(&profile, &program);
        let compiler = compiler(&profile, &program, &runtime);
        let (mut read, mut refused) = (0, Vec::new());
        for (test_name, test) in &tests {
            match blame::front_end(&compiler, test, &mut court) {
                Ok((code, wrong)) => {
                    assert!(
                        wrong.is_empty(),
                        "{name} {test_name} {wrong:?}\n{}",
                        litmus::write(&code)
                    );
                    let text = litmus::write(&code);
                    let again = litmus::read(&Source::new("again", text.as_str()));
                    let again = again.unwrap_or_else(|e| panic!("{e}"));
                    assert_eq!(litmus::write(&again), text);
                    read += 1;
                }
                Err(e) => refused.push(format!("{test_name}: {}", e.text())),
            }
        }
        assert!(refused.len() * 100 <= tests.len(), "{name} reads {read} tests, not {refused:#?}");
    }
}

/// Tests whose threads are compiled together and once have the answers of those that are compiled one at a time.
#[test]
fn many_tests_at_once_are_tests_one_at_a_time() {
    let families = ["telechat-table3", "c11-cas", "c11-plain", "c11-helpers"];
    let read = |text| litmus::read(&Source::new("test", text)).unwrap_or_else(|e| panic!("{e}"));
    let mut tests: Vec<Test> =
        tests(&families, count() / 4).into_iter().map(|(_, test)| test).collect();
    tests.extend([IDLE, BOTH].map(read));
    let (mut court, mut wrong) = (court(), 0);
    for (name, storage, helpers) in [
        ("clang-15-x86_64-O2", Storage::Pointers, false),
        ("clang-22-ppc64le-O1", Storage::Pointers, false),
        ("clang-16-aarch64-O2", Storage::Statics, true),
    ] {
        let profile = profile(name);
        let Some(program) = program(&profile) else { continue };
        let runtime = Runtime::of(&profile, &program);
        let compiler = Compiler { storage, helpers, ..compiler(&profile, &program, &runtime) };
        let mut many = Survey::new(&compiler);
        many.prepare(&tests.iter().collect::<Vec<_>>());
        let ready = tests.iter().filter(|test| many.is_ready(test)).count();
        assert!(ready * 10 >= tests.len() * 9, "{name}: {ready} of {}", tests.len());
        for test in &tests {
            let [many, one] = [many.of(test, &mut court), survey::one(&compiler, test, &mut court)]
                .map(|found| {
                    let mut found = serde_json::json!(found.map_err(|e| e.text()));
                    // How much was printed and what was known before is no answer.
                    if let Some(passes) = found.get_mut("Ok").and_then(|p| p.as_object_mut()) {
                        wrong += usize::from(passes.contains_key("guilty"));
                        passes.remove("dumps");
                        passes.remove("simulated");
                    }
                    found
                });
            assert_eq!(many, one, "{name} {}", test.name);
        }
    }
    if litmake_needs::here("clang-15") {
        assert!(wrong > 0, "the fault of clang 15 shows in some test");
    }
}

/// Until LLVM 16, InstCombine made a load of a read-modify-write that adds nothing.
const IDLE: &str = "C idle
{ }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int r0 = atomic_fetch_add_explicit(y, 0, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_fetch_add_explicit(y, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r0=0 /\\ 1:r1=0)
";

/// The same on both sides, so that the load orders nothing.
const BOTH: &str = "C both
{ }
P0 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int u = atomic_fetch_add_explicit(x, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r0 = atomic_load_explicit(z, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(z, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int u = atomic_fetch_add_explicit(x, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r0=0)
";

#[test]
fn a_wrong_pass_is_named() {
    if !litmake_needs::here("clang-15") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("both.litmus", BOTH);
    let (status, out) = s.litmake(&[
        "check",
        "--quiet",
        "--passes",
        "--storage",
        "pointers",
        "--profile",
        "clang-15-x86_64-O2",
        "both.litmus",
    ]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("the pass that did it: InstCombinePass on P0"), "{out}");
    assert!(out.contains("atomicrmw add") && out.contains("load atomic"), "{out}");
    let (status, out) =
        s.litmake(&["passes", "--profile", "clang-15-x86_64-O2", "--json", "both.litmus"]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("\"pass\":\"InstCombinePass\""), "{out}");
}

#[test]
fn a_right_compiler_is_not_blamed() {
    if !litmake_needs::here("clang-22") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("both.litmus", BOTH);
    s.write("idle.litmus", IDLE);
    let (status, out) =
        s.litmake(&["passes", "--profile", "clang-22-x86_64-O2", "both.litmus", "idle.litmus"]);
    assert_eq!(status, 0, "{out}");
    let row: Vec<&str> = out
        .lines()
        .find(|l| l.starts_with("all passes"))
        .unwrap_or("")
        .split_whitespace()
        .collect();
    assert_eq!(row, ["all", "passes", "2", "2", "0", "0", "0"], "{out}");
}

/// What was found of a test is not looked for again, unless the compiler or the way that it is asked is another one.
#[test]
fn what_passes_did_is_remembered() {
    if !litmake_needs::here("clang-15") {
        return;
    }
    let s = Scratch::with(&[("both.litmus", BOTH), ("idle.litmus", IDLE)]);
    let asked = |profile: &str, more: &[&str]| {
        let how = ["passes", "--json", "--profile", profile];
        s.litmake(&[&how[..], more, &["both.litmus", "idle.litmus"]].concat())
    };
    let records = || s.json(&["cache", "stats", "--json"]).1["kinds"]["actions"]["records"].clone();
    let first = asked("clang-15-x86_64-O2", &[]);
    assert_eq!(first.0, 1, "{}", first.1);
    let kept = records();
    assert_eq!(asked("clang-15-x86_64-O2", &[]), first);
    assert_eq!(records(), kept);
    for (profile, more) in [
        ("clang-15-x86_64-O1", &[][..]),
        ("clang-15-x86_64-O2", &["--helpers"]),
        ("clang-15-x86_64-O2", &["--storage", "statics"]),
    ] {
        let before = records();
        asked(profile, more);
        assert_ne!(records(), before, "{profile} {more:?}");
    }
}

/// A pass list that runs nothing is no success.
#[test]
fn what_runs_no_pass_says_so() {
    let s = Scratch::with(&[("both.litmus", BOTH)]);
    let asked = |list: &str, profile: &str| {
        s.litmake(&["passes", "--opt", list, "--profile", profile, "both.litmus"])
    };
    let (status, out) = asked(" ", "clang-14-x86_64-O2");
    assert!(status == 2 && out.contains("--opt names no pass"), "{out}");
    let (status, out) = asked("sroa", "gcc-12-x86_64-O2");
    assert!(status == 2 && out.contains("gcc-12 is not of LLVM"), "{out}");
    if litmake_needs::here("opt-14") && litmake_needs::here("clang-14") {
        let (status, out) = asked("sroa", "clang-14-x86_64-O0");
        assert!(status == 3 && out.contains("none of the passes ran"), "{out}");
    }
}

#[test]
fn a_pass_alone_is_judged_by_what_it_is_given() {
    if !litmake_needs::here("opt-14") || !litmake_needs::here("clang-14") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("both.litmus", BOTH);
    let passes = ["passes", "--tool", "opt-14", "--profile", "clang-14-x86_64-O2"];
    let with = |list: &'static str| [&passes[..], &["--opt", list, "both.litmus"]].concat();
    let (status, out) = s.litmake(&with("function(sroa,instcombine)"));
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("both: InstCombinePass adds outcomes"), "{out}");
    assert!(out.contains("0:r0=0; 1:r0=0"), "{out}");
    let (status, out) = s.litmake(&with("function(sroa,early-cse,gvn)"));
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("GVN"), "{out}");
    let (status, out) = s.litmake(&with("no-such-pass"));
    assert_eq!(status, 3, "{out}");
    assert!(out.contains("no-such-pass"), "{out}");
}

#[test]
fn what_has_no_passes_of_llvm_says_so() {
    if !litmake_needs::here("gcc-12") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("both.litmus", BOTH);
    let (status, out) = s.litmake(&["passes", "--profile", "gcc-12-x86_64-O2", "both.litmus"]);
    assert_eq!(status, 3, "{out}");
    assert!(out.contains("unsupported: the passes of gcc-12"), "{out}");
}

/// The text of a link to Compiler Explorer, read as the site reads it.
fn state_of_link(text: &str) -> serde_json::Value {
    let start = "https://godbolt.org/clientstate/";
    let at = text.find(start).unwrap_or_else(|| panic!("no link in {text}")) + start.len();
    let coded = text[at..].split_whitespace().next().expect("a state");
    let json = URL_SAFE_NO_PAD.decode(coded).expect("base64");
    serde_json::from_slice(&json).expect("JSON")
}

#[test]
fn an_issue_has_all_that_a_tracker_wants() {
    if !litmake_needs::here("clang-15") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("both.litmus", BOTH);
    let how = ["check", "--quiet", "--storage", "pointers", "--profile", "clang-15-riscv64-O2"];
    let with = |more: &[&'static str]| s.litmake(&[&how[..], more, &["both.litmus"]].concat());
    let (status, out) = with(&["--issue", "llvm"]);
    assert_eq!(status, 1, "{out}");
    for part in [
        "# clang: a relaxed read-modify-write becomes a load (InstCombinePass)\n",
        "atomic_fetch_add_explicit(y, 0, memory_order_relaxed);",
        "clang-15 ",
        "-print-after-all",
        "## Before it\n\n```llvm\ndefine ",
        "atomicrmw add",
        "## After it\n\n```llvm\ndefine ",
        "synchronises with",
        "reads what was there before",
        "## Versions",
        "ended between clang 15 and 16",
        "0:r0=0; 1:r0=0;",
        "litmake check",
    ] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
    let session = &state_of_link(&out)["sessions"][0];
    let source = session["source"].as_str().expect("a source");
    assert!(source.contains("atomic_fetch_add_explicit(y, 0"), "{source}");
    assert!(out.contains(source.trim()), "the source is that of the issue");
    assert_eq!(session["compilers"][0]["id"], "cclang1500");
    let options = session["compilers"][0]["options"].as_str().expect("options");
    assert!(options.contains("riscv64") && options.contains("-O2"), "{options}");
    // Another tracker has nothing to do with it, and says so.
    let (status, out) = with(&["--issue", "gcc"]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("it is not of this tracker's compiler"), "{out}");
    // What is written into a folder is the same text but for the command.
    let (_, out) = with(&["--passes", "--findings", "found"]);
    let folder = std::fs::read_dir(s.dir().join("found")).expect("a folder");
    let folder = folder.flatten().next().expect("a finding").path();
    let text = std::fs::read_to_string(folder.join("issue.md")).expect("an issue");
    assert!(text.contains("(InstCombinePass)\n") && text.contains("## Before it"), "{out}{text}");
}

#[test]
fn an_issue_for_gcc_is_plain_text() {
    if !litmake_needs::here("powerpc64le-linux-gnu-gcc-12") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("compare.litmus", COMPARE);
    let (status, out) = s.litmake(&[
        "check",
        "--quiet",
        "--storage",
        "pointers",
        "--issue",
        "gcc",
        "--profile",
        "gcc-12-ppc64le-O2",
        "compare.litmus",
    ]);
    assert_eq!(status, 1, "{out}");
    assert!(!out.contains("```") && !out.contains("## "), "{out}");
    for part in
        ["Summary: ", "powerpc64le-linux-gnu-gcc-12 ", "12.2", "reads what was there before"]
    {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
    let session = &state_of_link(&out)["sessions"][0];
    assert_eq!(session["compilers"][0]["id"], "cppc64leg1220");
}

/// The failing side of a compare-exchange does not acquire (gcc 11 and 12 for Power).
const COMPARE: &str = "C compare
{ e=5; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y, int* e) {
  int r0 = atomic_compare_exchange_strong_explicit(y, e, 2, memory_order_release, memory_order_acquire);
  int r1 = *e;
  int r2 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r1=1 /\\ 1:r2=0)
";

/// Tests that reduce to two forms of one fault.
#[test]
fn a_pass_on_intermediate_code_is_one_bug_of_all_targets() {
    if !litmake_needs::here("clang-15") || !litmake_needs::here("clang-14") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("both.litmus", BOTH);
    s.write("idle.litmus", IDLE);
    let check = |profile: &'static str, more: &[&'static str], tests: &[&'static str]| {
        let how = ["check", "--quiet", "--json", "--storage", "pointers", "--profile", profile];
        let (status, out) = s.litmake(&[&how[..], more, tests].concat());
        let report: serde_json::Value =
            serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"));
        (status, report["findings"].as_array().cloned().unwrap_or_default())
    };
    let tests = ["both.litmus", "idle.litmus"];
    let (_, without) = check("clang-15-riscv64-O2", &[], &tests);
    assert_eq!(without.len(), 1, "{without:#?}");
    let (status, bugs) = check("clang-15-riscv64-O2", &["--passes"], &tests);
    assert_eq!(status, 1);
    let [bug] = &bugs[..] else { panic!("{bugs:#?}") };
    assert_eq!(bug["mechanism"]["pass"], "InstCombinePass");
    assert_eq!(bug["mechanism"]["change"], "load");
    assert_eq!(bug["mechanism"]["pass_certainty"], "shown");
    assert_eq!(bug["mechanism"]["moved"], "relaxed read-modify-write");
    let title = "clang: a relaxed read-modify-write becomes a load (InstCombinePass)";
    assert_eq!(bug["title"], title);
    assert!(bug["first_bad"].as_str().is_some_and(|c| c.starts_with("clang 1")), "{bug:#}");
    assert_eq!(bug["pass"]["operation"], "read-modify-write relaxed 32");
    assert_eq!(bug["pass"]["sure"], "shown");
    assert_eq!(bug["count"], 2, "{bug:#}");
    assert_eq!(bug["forms"], serde_json::json!([without[0]["id"]]));
    // Another version and another target of the same pass have the same bug.
    for profile in ["clang-14-riscv64-O1", "clang-15-ppc64le-O2"] {
        let (_, other) = check(profile, &["--passes"], &tests[..1]);
        assert_eq!(other.len(), 1, "{profile}: {other:#?}");
        assert_eq!(other[0]["id"], bug["id"], "{profile}");
    }
    // A baseline that was written with passes knows it without them, and the page shows the pass.
    let how = ["--passes", "--report", "report.json", "--html", "page.html"];
    check("clang-15-riscv64-O2", &how, &tests);
    let page = std::fs::read_to_string(s.dir().join("page.html")).expect("a page");
    assert!(page.contains("The pass that did it: InstCombinePass"));
    let title = "clang: a relaxed read-modify-write becomes a load (InstCombinePass)";
    assert!(page.contains(title));
    let (_, out) = s.litmake(&["baseline", "update", "report.json", "--baseline", "known.json"]);
    for more in [&["--baseline", "known.json"][..], &["--passes", "--baseline", "known.json"]] {
        let (status, found) = check("clang-15-riscv64-O2", more, &tests);
        assert_eq!(status, 0, "{out}{found:#?}");
        assert!(found.iter().all(|f| f["status"] == "known"), "{found:#?}");
    }
}

/// Behind the pass that writes atomic instructions as a target has them, code is simulated where it has a meaning, and
/// refused by name where it has none.
#[test]
fn code_of_targets_is_simulated_or_refused_by_name() {
    if !litmake_needs::here("clang-22") {
        return;
    }
    let s = Scratch::with(&[]);
    s.write("both.litmus", BOTH);
    s.write("compare.litmus", COMPARE);
    for (profile, refused) in [
        ("clang-22-aarch64-O2", None),
        ("clang-22-armv7-O1", None),
        ("clang-22-riscv64-O2", None),
        ("clang-22-ppc64le-O2", Some("llvm.ppc.cfence")),
    ] {
        for test in ["both.litmus", "compare.litmus"] {
            let (status, out) = s.litmake(&["passes", "--json", "--profile", profile, test]);
            assert_eq!(status, 0, "{profile} {test}: {out}");
            // The verdict is on a line of its own, behind those of the tests.
            let mut lines = out.lines().map(|line| {
                serde_json::from_str::<serde_json::Value>(line)
                    .unwrap_or_else(|e| panic!("{e}: {out}"))
            });
            let line = lines.next().unwrap_or_default();
            assert_eq!(lines.next().unwrap_or_default()["verdict"]["state"], "complete", "{out}");
            let passes = &line["passes"];
            assert!(passes.get("guilty").is_none(), "{profile} {test}: {out}");
            assert!(passes.get("refused").is_none(), "{profile} {test}: {out}");
            let lowered = passes["lowered"]["why"].as_str();
            match (lowered, refused) {
                (None, None) => {}
                (Some(why), Some(name)) => assert!(why.contains(name), "{profile} {test}: {why}"),
                // A test without an access that needs it.
                (None, Some(_)) => {}
                (Some(why), None) => panic!("{profile} {test}: {why}"),
            }
        }
    }
}

/// A compare-exchange that publishes, whose release is lost (gcc 12 for RISC-V).
pub const PUBLISH: &str = "C publish
{ e=0; }
P0 (atomic_int* x, atomic_int* y, int* e) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_compare_exchange_strong_explicit(y, e, 1, memory_order_acq_rel, memory_order_acquire);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)
";

/// Power's barrier is missing where RTL begins; RISC-V's RTL asks for the order until instructions are written.
#[test]
fn dumps_of_gcc_say_where_an_order_ends() {
    for (compiler, profile, test, pass, operation) in [
        (
            "powerpc64le-linux-gnu-gcc-12",
            "gcc-12-ppc64le-O2",
            COMPARE,
            "expand",
            "compare-exchange",
        ),
        ("riscv64-linux-gnu-gcc-12", "gcc-12-riscv64-O2", PUBLISH, "final", "compare-exchange"),
    ] {
        if !litmake_needs::here(compiler) {
            continue;
        }
        let finding = finding(profile, test, &[]);
        assert_eq!(finding["pass"]["pass"], pass, "{finding:#}");
        assert_eq!(finding["pass"]["sure"], "likely", "{finding:#}");
        // Both are passes that gcc cannot leave out, and the fault is there without those that it can.
        let why = finding["pass"]["why"].as_str().unwrap_or_default();
        assert!(why.contains(&format!("gcc cannot leave {pass} out")), "{why}");
        assert!(why.contains("wrong all the same"), "{why}");
        // It is not shown, so the bug is not told by it.
        assert!(finding["mechanism"].get("pass").is_none(), "{finding:#}");
        assert!(finding["pass"]["target"].as_str().is_some_and(|t| !t.is_empty()), "{finding:#}");
        let said = finding["pass"]["operation"].as_str().unwrap_or_default();
        assert!(said.starts_with(operation), "{finding:#}");
    }
}

/// A pass of gcc that it can leave out, and that has no part in the fault.
#[test]
fn gcc_leaves_out_a_pass_that_is_asked_about() {
    let profile = profile("gcc-12-riscv64-O2");
    let Some(program) = program(&profile) else { return };
    let runtime = Runtime::of(&profile, &program);
    let compiler = compiler(&profile, &program, &runtime);
    let mut court = court();
    let test = litmus::read(&Source::new("test", PUBLISH)).unwrap_or_else(|e| panic!("{e}"));
    let source = court.source(&test).unwrap_or_else(|e| panic!("{e}"));
    let asked = Asked { test: &test, source: &source, shown: &[] };
    let mut ask = |name: &str, rtl: bool, others: &[Pass]| {
        let pass = Pass { name: name.into(), rtl };
        without::opinion(&compiler, &asked, &mut court, &pass, others).map_err(|e| e.text())
    };
    assert_eq!(ask("fre1", false, &[]), Ok(Opinion::Wrong));
    // There is no machine code without this one.
    let other = Pass { name: "cse1".into(), rtl: true };
    let needed = Opinion::Needed { others: 1, of: 1, is_wrong: true };
    assert_eq!(ask("ira", true, &[other]), Ok(needed));
}

/// An exchange of which nobody reads the result: its volatile object keeps passes on intermediate code from changing it, and
/// on machine code the result goes into the zero register, so that no fence orders it (LLVM 68428).
const DROPPED: &str = "C dropped
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1 (atomic_int* x, volatile atomic_int* y) {
  int u = atomic_exchange_explicit(y, 2, memory_order_release);
  atomic_thread_fence(memory_order_acquire);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=0 /\\ y=2)
";

#[test]
fn skipping_passes_is_a_second_opinion_on_machine_code() {
    if !litmake_needs::here("clang-14") {
        return;
    }
    let finding = finding("clang-14-aarch64-armv8.1-a-O2", DROPPED, &["--investigate", "0"]);
    assert_eq!(finding["mechanism"]["pass"], "aarch64-dead-defs", "{finding:#}");
    assert_eq!(finding["pass"]["operation"], "read-modify-write release 32", "{finding:#}");
    assert_eq!(finding["mechanism"]["target"], "AArch64", "{finding:#}");
    assert_eq!(finding["pass"]["sure"], "shown", "{finding:#}");
    let why = finding["pass"]["why"].as_str().unwrap_or_default();
    let named =
        "becomes wrong where AArch64 Dead register definitions (aarch64-dead-defs) runs on P1";
    assert!(why.contains(named), "{why}");
    // Where `llc` can go on behind the pass, that is left out alone.
    if litmake_needs::here("llc-14") {
        assert!(why.contains("(aarch64-dead-defs) alone is left out, the code is right"), "{why}");
    }
}

/// The pass that did it, one that has no part in it, and one without which there is no code.
#[test]
fn code_generation_goes_on_without_one_pass() {
    if !litmake_needs::here("clang-14") || !litmake_needs::here("llc-14") {
        return;
    }
    let profile = profile("clang-14-aarch64-armv8.1-a-O2");
    let Some(program) = program(&profile) else { return };
    let runtime = Runtime::of(&profile, &program);
    let compiler = compiler(&profile, &program, &runtime);
    let rest = Rest::of(&compiler).unwrap_or_else(|e| panic!("{}", e.text()));
    let mut court = court();
    let test = litmus::read(&Source::new("test", DROPPED)).unwrap_or_else(|e| panic!("{e}"));
    let source = court.source(&test).unwrap_or_else(|e| panic!("{e}"));
    let asked = Asked { test: &test, source: &source, shown: &[] };
    let mut without = |pass: &str| {
        let change = Change { pass: pass.into(), ..Change::default() };
        rest.opinion(&asked, &mut court, &change).map_err(|e| e.text())
    };
    assert_eq!(
        without("AArch64 Dead register definitions (aarch64-dead-defs)"),
        Ok(omit::Opinion::Right)
    );
    assert_eq!(without("Machine code sinking (machine-sink)"), Ok(omit::Opinion::Wrong));
    assert_eq!(without("Greedy Register Allocator (greedy)"), Ok(omit::Opinion::Needed));
    let nameless = without("Machine code sinking");
    assert!(nameless.as_ref().is_err_and(|why| why.contains("no short name")), "{nameless:?}");
}

/// An addition of 8 bits whose result is used: gcc 16 for MIPS has a machine description that reads a register which
/// nothing sets, so that a pass makes it a not-and.
const NARROW: &str = "C narrow
{}
P0 (_Atomic int8_t* x) { int8_t r0 = atomic_fetch_add_explicit(x, 1, memory_order_relaxed); }
P1 (_Atomic int8_t* x) { int8_t r0 = atomic_load_explicit(x, memory_order_relaxed); }
exists (0:r0=0 /\\ 1:r0=-1)
";

/// No order is lost, and nothing is there that orders: the name of an instruction says that it computes something else.
#[test]
fn a_pass_of_gcc_that_changes_what_is_computed_is_named() {
    if program(&profile("gcc-16-mips64el-O2")).is_none() {
        return;
    }
    let finding = finding("gcc-16-mips64el-O2", NARROW, &["--investigate", "0"]);
    let pass = &finding["pass"];
    assert_eq!(pass["pass"], "combine", "{finding:#}");
    assert_eq!(pass["sure"], "shown", "{finding:#}");
    let why = pass["why"].as_str().unwrap_or_default();
    assert!(why.contains("where gcc leaves combine out, the code is right"), "{why}");
    assert!(pass["before"].as_str().is_some_and(|code| code.contains("sync_old_add_12")));
    assert!(pass["after"].as_str().is_some_and(|code| code.contains("sync_old_nand_12")));
    assert_eq!(pass["operation"], "read-modify-write relaxed 8", "{finding:#}");
}

/// A load of 128 bits becomes a compare-exchange, which writes: it crashes where constants cannot be written.
const CONSTANT: &str = "C constant
{ k=7; }
P0 (_Atomic __int128* k) { __int128 r0 = atomic_load_explicit(k, memory_order_seq_cst); }
exists (not (0:r0=7))
";

/// Halves of a big-endian pair are swapped where instructions are selected: no pass that may be skipped is needed for it.
const HALVES: &str = "C halves
{}
P0 (_Atomic __int128* x) {
  atomic_store_explicit(x, 7, memory_order_seq_cst);
  __int128 r0 = atomic_exchange_explicit(x, 9, memory_order_seq_cst);
}
exists (not (0:r0=7))
";

#[test]
fn writes_and_wrong_values_have_passes_too() {
    if !litmake_needs::here("clang-16") {
        return;
    }
    let pass = |profile: &str, test: &str| finding(profile, test, &[])["pass"].clone();
    let found = pass("clang-16-x86_64-cx16-O2", CONSTANT);
    let name = found["pass"].as_str().unwrap_or_default();
    assert!(name.contains("atomic-expand"), "{found:#}");
    assert!(
        found["operation"].as_str().unwrap_or_default().starts_with("compare-exchange"),
        "{found:#}"
    );
    let found = pass("clang-16-aarch64be-armv8.4-a-O2", HALVES);
    let name = found["pass"].as_str().unwrap_or_default();
    assert!(name.contains("Instruction Selection"), "{found:#}");
    assert_eq!(found["sure"], "shown", "{found:#}");
}
