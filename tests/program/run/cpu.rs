//! Tests on processors from end to end: as a stage of a pipeline, and under an emulator.

use litmake_needs::{here, holds};
use serde_json::Value;

use super::{SOUND, executed, project};
use crate::scratch::Scratch;

const PIPELINE: &str = "stages:
  - { name: tests, generate: { suite: x86-conformance, limit: 3 } }
  - name: run
    run: { from: tests, device: cpu, environments: 2, iterations: 3, seconds: 60, results: r.json }
";

fn results(s: &Scratch, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(s.path(name)).unwrap()).unwrap()
}

/// The cells of a result file: environment, test, counts.
fn cells(results: &Value) -> Vec<(&str, &Value)> {
    let all = results.as_object().unwrap().iter().filter(|(k, _)| k.parse::<u32>().is_ok());
    let tests = all.flat_map(|(_, row)| row.as_object().unwrap());
    tests.filter(|(_, v)| v.get("weak").is_some()).map(|(k, v)| (k.as_str(), v)).collect()
}

#[test]
fn tests_run_on_the_processor_once_and_write_results() {
    let s = project(SOUND);
    s.write("p.yaml", PIPELINE);
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 3), "{report:#}");
    let first = results(&s, "r.json");
    let all = cells(&first);
    assert_eq!(all.len(), 6, "{first}");
    for (test, cell) in all {
        assert_eq!(cell["weak"], 0, "{test} is forbidden");
        // Three rounds of some instances each, for which there is time enough, by every group of workers.
        let instances = cell["interleaved"].as_u64().unwrap();
        assert!(instances > 0 && instances % 3 == 0, "{test}: {instances}");
    }
    // A measurement is not taken again, until it is asked for.
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 0));
    assert_eq!(results(&s, "r.json"), first);
    s.write("p.yaml", &PIPELINE.replace("iterations: 3", "iterations: 3, again: 1"));
    assert_eq!(executed(&s.run(&[]).1), 3);
    // Another setup is another measurement.
    s.write("p.yaml", &PIPELINE.replace("iterations: 3", "iterations: 3, set: { stride: 64 }"));
    assert_eq!(executed(&s.run(&[]).1), 3);
}

#[test]
fn what_only_gpus_have_is_refused() {
    let s = project(SOUND);
    for key in ["adapter: x", "preset: pte", "variant: checked", "scope: workgroup", "spin: true"] {
        s.write("p.yaml", &PIPELINE.replace("device: cpu", &format!("device: cpu, {key}")));
        let (status, text) = s.litmake(&["run", "p.yaml"]);
        assert!(status == 2 && text.contains("for tests on GPUs"), "{key}: {status} {text}");
    }
}

#[test]
fn without_a_profile_tests_are_built_by_what_cc_names_and_it_is_not_asked_twice() {
    let s = project(SOUND);
    let asked = s.path("asked");
    s.write("cc.sh", &format!("#!/bin/sh\necho \"$*\" >> {}\nexec cc \"$@\"\n", asked.display()));
    s.write("p.yaml", PIPELINE);
    let run = |cc: &str| {
        let args = ["run", "p.yaml", "--report", "report.json"];
        let out = s.command(&args).env("CC", cc).env("CFLAGS", "-DMINE").output().unwrap();
        let report = std::fs::read_to_string(s.path("report.json")).unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        executed(&serde_json::from_str(&report).unwrap())
    };
    let mine = format!("{} -DFIRST", s.path("cc.sh").display());
    assert_eq!(run(&mine), 3);
    let lines = std::fs::read_to_string(&asked).unwrap();
    assert!(lines.lines().any(|l| l.contains("-c tests0.c")), "{lines}");
    for line in lines.lines().filter(|l| l.contains(" -c ")) {
        let order = [" -O2", " -DFIRST", " -DMINE"].map(|arg| line.find(arg));
        assert!(order.is_sorted() && order[0].is_some(), "{line}");
    }
    std::fs::remove_file(&asked).unwrap();
    assert_eq!(run(&mine), 0);
    assert!(!asked.exists(), "{}", std::fs::read_to_string(&asked).unwrap());
    // Another compiler makes other measurements.
    assert_eq!(run("cc"), 3);
    // None is no compiler.
    let out =
        s.command(&["cpu", "tests/sb.litmus"]).env("CC", "no-such-compiler").output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(3) && said.contains("`CC` names none"), "{said}");
}

/// A mutant: what it looks for is allowed, where its compiler and the machine let it be.
fn mutant(name: &str, of: &str, p0: &str, p1: &str, condition: &str) -> String {
    format!(
        "C {name}
Mutates={of}
{{}}
P0 (atomic_int* x, atomic_int* y) {{ {p0} }}
P1 (atomic_int* x, atomic_int* y) {{ {p1} }}
exists ({condition})
"
    )
}

fn store(location: &str) -> String {
    format!("atomic_store_explicit({location}, 1, memory_order_relaxed);")
}

fn load(register: &str, location: &str) -> String {
    format!("int {register} = atomic_load_explicit({location}, memory_order_relaxed);")
}

#[test]
fn mutants_that_the_machine_lets_live_do_not_count() {
    let s = project(SOUND);
    let sb = [store("x") + &load("a", "y"), store("y") + &load("a", "x")];
    let mp = [store("x") + &store("y"), load("a", "y") + &load("b", "x")];
    s.write("tests/sb.litmus", &mutant("SB.w", "SB", &sb[0], &sb[1], "0:a=0 /\\ 1:a=0"));
    s.write("tests/mp.litmus", &mutant("MP.w", "MP", &mp[0], &mp[1], "1:a=1 /\\ 1:b=0"));
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { files: tests } }
  - name: run
    run: { from: tests, device: cpu, profile: mine-O2, environments: 1, iterations: 1, results: r.json }
",
    );
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (0, 2), "{report:#}");
    let all = results(&s, "r.json");
    // C11 allows both; x86-TSO keeps the order of loads and that of stores.
    let counted: Vec<&str> = cells(&all).iter().map(|c| c.0).collect();
    assert_eq!(counted, ["SB.w"]);
    assert_eq!(all["mutators"], serde_json::json!({ "SB.w": "SB" }));
    assert_eq!(
        all["leftOut"],
        serde_json::json!({
            "MP.w": "it cannot die: x86tso forbids its outcome in the code that mine-O2 makes of it"
        })
    );
    let (status, text) = s.litmake(&["mutants", "score", "r.json"]);
    assert_eq!(status, 0, "{text}");
    // The same on the command line; nothing is left to search for where no mutant can die.
    let (status, text) = s.litmake(&[
        "cpu",
        "--profile",
        "mine-O2",
        "--environments",
        "1",
        "--rounds",
        "1",
        "--seconds",
        "5",
        "tests/mp.litmus",
    ]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("left out: MP.w: it cannot die"), "{text}");
    assert!(text.contains("0 of 1 mutants can die") && !text.contains("Test MP.w"), "{text}");
}

#[test]
fn code_that_ends_by_a_signal_is_a_finding() {
    // Traps wherever the source stores 42, in the program that runs and nowhere else.
    let s = project(
        "#!/bin/sh
for f in bodies*.c; do test -f $f && sed -i 's/= 42;/= 42; __builtin_trap();/' $f; done
exec cc \"$@\"
",
    );
    s.write(
        "p.yaml",
        "stages:
  - { name: tests, generate: { files: tests } }
  - name: run
    run: { from: tests, device: cpu, profile: mine-O1, environments: 1, iterations: 1 }
",
    );
    let (status, report) = s.run(&[]);
    assert_eq!((status, executed(&report)), (1, 2), "{report:#}");
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["class"], "runtime-crash");
    assert_eq!(findings[0]["test"], "tests/mp.litmus");
}

/// Whether two threads can run at once; what they show together is not seen otherwise.
fn has_two_processors() -> bool {
    holds("two processors", std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2))
}

const RUNS: &str = "stages:
  - { name: tests, generate: { files: tests } }
  - name: run
    run: { from: tests, device: cpu, profile: mine-O2, environments: 8, seconds: 0.2 }
";

#[test]
fn a_compiler_that_drops_order_is_seen_on_the_processor() {
    if !has_two_processors() {
        return;
    }
    // It takes sequentially consistent stores for relaxed ones, in the program that runs.
    let s = project(
        "#!/bin/sh
for f in bodies*.c; do
  test -f $f && sed -i 's/^\\(.*atomic_store.*\\)memory_order_seq_cst/\\1memory_order_relaxed/' $f
done
exec cc \"$@\"
",
    );
    s.write("p.yaml", RUNS);
    let (status, report) = s.run(&[]);
    assert_eq!(status, 1, "{report:#}");
    let findings = report["findings"].as_array().unwrap();
    let shown: Vec<_> = findings.iter().map(|f| (&f["class"], &f["test"])).collect();
    assert_eq!(shown, [(&"conformance".into(), &"tests/sb.litmus".into())], "{findings:?}");
    s.write("cc.sh", SOUND);
    assert_eq!(s.run(&[]).0, 0);
}

/// `fetch_add(x, 0)` whose place between two fences makes them meet; clang 13 to 15 load instead.
const IDEMPOTENT: &str = "C idempotent
{}
P0 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int u = atomic_fetch_add_explicit(x, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r = atomic_load_explicit(z, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y, atomic_int* z) {
  atomic_store_explicit(z, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int u = atomic_fetch_add_explicit(x, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  int r = atomic_load_explicit(y, memory_order_relaxed);
}
locations [0:u; 1:u;]
exists (0:r=0 /\\ 1:r=0)
";

#[test]
fn a_bug_of_a_real_compiler_is_seen_on_the_processor() {
    if !has_two_processors() {
        return;
    }
    let s = project(SOUND);
    s.write("idempotent.litmus", IDEMPOTENT);
    for (compiler, args, found) in [
        ("clang-14", "--target=x86_64-linux-gnu", true),
        ("clang-16", "--target=x86_64-linux-gnu", false),
        ("gcc-12", "-m64", false),
    ] {
        if !here(compiler) {
            continue;
        }
        s.write(
            "real.yaml",
            &format!("name: real\ncompiler: {compiler}\nargs: ['{args}', '-O2']\narch: X86_64\n"),
        );
        let (status, text) =
            s.litmake(&["cpu", "--profile", "real.yaml", "--seconds", "2", "idempotent.litmus"]);
        assert_eq!(status, i32::from(found), "{compiler}: {text}");
        assert_eq!(
            text.contains("violation: idempotent: 0:r=0; 0:u=0; 1:r=0; 1:u=0;"),
            found,
            "{text}"
        );
    }
}

#[test]
fn foreign_code_runs_under_an_emulator_and_is_labelled() {
    let s = project(SOUND);
    s.write(
        "tests/const.litmus",
        "C const
{ const atomic_int x=1; }
P0 (atomic_int* x) { int r = atomic_load_explicit(x, memory_order_relaxed); }
exists (0:r=1)
",
    );
    let targets = [
        ("aarch64-linux-gnu-gcc-12", "", "AArch64", "qemu-aarch64"),
        ("riscv64-linux-gnu-gcc-12", "", "RISCV", "qemu-riscv64"),
        ("clang-14", "'--target=aarch64-linux-gnu', ", "AArch64", "qemu-aarch64"),
    ];
    for (compiler, first, arch, emulator) in targets {
        if !here(compiler) || !here(emulator) {
            continue;
        }
        s.write(
            "far.yaml",
            &format!("name: far\ncompiler: {compiler}\nargs: [{first}'-O2']\narch: {arch}\n"),
        );
        let run = |test: &str| s.litmake(&["cpu", "--profile", "far.yaml", "--json", test]);
        let (status, text) = run("tests/mp.litmus");
        assert_eq!(status, 0, "{compiler}: {text}");
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert!(line["machine"]["emulator"].as_str().unwrap().ends_with(emulator), "{line}");
        // One thread after the other, in both orders, and no rate.
        let states: Vec<&Value> =
            line["states"].as_array().unwrap().iter().map(|s| &s["state"]).collect();
        assert_eq!(
            states,
            [
                &serde_json::json!({ "1:got": "42", "1:ready": "0" }),
                &serde_json::json!({ "1:got": "42", "1:ready": "1" })
            ],
            "{compiler}"
        );
        assert_eq!(line["rate"], 0.0);
        let (status, text) = s.litmake(&["cpu", "--profile", "far.yaml", "tests/const.litmus"]);
        assert_eq!(status, 0, "{compiler}: {text}");
        assert!(text.contains("Emulated: values and crashes mean something"), "{text}");
    }
    // Code that writes where the source only reads is ended by a signal there too.
    if here("clang-14") && here("qemu-aarch64") {
        s.write("far.yaml", "name: far\ncompiler: clang-14\nargs: ['--target=aarch64-linux-gnu', '-O2']\narch: AArch64\n");
        s.write(
            "wide.litmus",
            "C wide
{ const _Atomic __int128 k=7; }
P0 (_Atomic __int128* k) { __int128 r = atomic_load_explicit(k, memory_order_seq_cst); }
exists (0:r=7)
",
        );
        let (status, text) = s.litmake(&["cpu", "--profile", "far.yaml", "wide.litmus"]);
        assert_eq!(status, 1, "{text}");
        assert!(text.contains("crash: wide: the test was ended by signal 11"), "{text}");
    }
}

/// A folder of C runs where litmake is not, and says of each test what the model allows and no more.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn tests_run_from_a_folder_without_litmake() {
    let s = Scratch::with(&[]);
    let atomic = |name: &str, body: &str, condition: &str| {
        s.write(
            &format!("tests/{name}.litmus"),
            &format!(
                "C {name}
{{ y=-3; int16_t z[2]; long n; p=&x; }}
{body}
locations [z; n; p;]
{condition}
"
            ),
        );
    };
    let threads = "P0(atomic_int *x, int16_t *z, int **p, int *y) { int r0 = *y; z[1] = -5; *p = y; \
                   atomic_store_explicit(x, 70000, memory_order_relaxed); }\n\
                   P1(atomic_int *x, long *n) { int r1 = atomic_load_explicit(x, memory_order_relaxed); *n = 1l << 40; }";
    atomic("signed", threads, "exists (0:r0 < 0 /\\ (1:r1=70000 \\/ 1:r1=0))");
    atomic("never", threads, "~exists (0:r0=1 \\/ n=3)");
    atomic("always", threads, "forall (0:r0=-3 /\\ p=y /\\ not (p=x))");
    let (status, text) = s.litmake(&["cpu", "--code", "folder", "--environments", "3", "tests"]);
    assert_eq!(status, 0, "{text}");
    let run = || {
        let out = s.program("sh", &["folder/run.sh", "0.3"]).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    s.write("machine.log", &run());
    let (_, model) = s.litmake(&["sim", "tests"]);
    s.write("model.log", &model);
    let log = s.read("machine.log");
    assert_eq!(log.matches("\nOk\n").count(), 3, "{log}");
    assert!(log.contains("is validated") && !log.contains("NOT validated"), "{log}");
    assert!(
        log.contains("[n]=1099511627776;") && log.contains("z={0,-5};") && log.contains("[p]=y;"),
        "{log}"
    );
    let (status, text) = s.litmake(&["logs", "compare", "machine.log", "model.log"]);
    assert!(status <= 1, "{text}");
    assert!(!text.contains("more"), "the machine shows what the model has not: {text}");
    // Another folder's files are not written over.
    let (status, text) = s.litmake(&["cpu", "--code", "tests", "tests"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("has other files"), "{text}");
}
