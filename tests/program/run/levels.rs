//! Code of the installed compilers, at every level and for every target: lifted, and sound.

use super::*;

#[test]
fn every_level_of_optimisation_is_lifted_and_sound() {
    let s = project(SOUND);
    s.write(
        "profiles/mine.yaml",
        &format!(
            "name: mine-${{level}}\nmatrix: {{ level: [O0, O1, O2, O3, Os] }}\ncompiler: {}\nargs: ['-${{level}}']\narch: X86_64\n",
            s.path("cc.sh").display()
        ),
    );
    s.write(
        "tests/rmw.litmus",
        "C rmw
{}
P0 (atomic_int* x, atomic_int* y, atomic_long* z) {
  int a = atomic_fetch_add_explicit(x, 2, memory_order_acq_rel);
  int b = atomic_exchange_explicit(y, 1, memory_order_seq_cst);
  long c = atomic_fetch_or_explicit(z, 4, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y, atomic_long* z) {
  int e = 0;
  int d = atomic_compare_exchange_strong_explicit(y, &e, 3, memory_order_acquire, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  if (d) {
    atomic_store_explicit(x, 7, memory_order_release);
  } else {
    atomic_fetch_sub_explicit(z, 1, memory_order_relaxed);
  }
}
exists (0:a=0 /\\ 0:b=0 /\\ 1:d=1)
",
    );
    s.write(
        "tests/many.litmus",
        "C many
{}
P0 (atomic_int* a, atomic_int* b, atomic_int* c, atomic_int* d, atomic_int* e, atomic_int* f, atomic_int* g, atomic_int* h) {
  int r = atomic_load_explicit(h, memory_order_acquire);
  atomic_store_explicit(g, 1, memory_order_release);
  atomic_store_explicit(a, 1, memory_order_relaxed);
}
P1 (atomic_int* a, atomic_int* g, atomic_int* h) {
  int r = atomic_load_explicit(g, memory_order_acquire);
  atomic_store_explicit(h, 1, memory_order_release);
}
exists (0:r=1 /\\ 1:r=1)
",
    );
    let (status, report) = s.run(&["--set", "profiles=mine-O0,mine-O1,mine-O2,mine-O3,mine-Os"]);
    assert_eq!(status, 0, "{report:#}");
    let stages = report["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 2 + 3 * 5);
    let tasks = |s: &Value| if s["kind"] == "compile" { 8 } else { 4 };
    assert!(stages.iter().all(|s| s["tasks"] == tasks(s) && s["failed"] == 0), "{report:#}");
    let (_, text) = s.litmake(&["compile", "--profile", "mine-O0", "tests/mp.litmus"]);
    assert!(!text.contains("rbp") && !text.contains("movq"), "addresses are names: {text}");
}

/// Synchronised message passing with a read-modify-write and a compare-and-swap that may fail,
/// and the same without synchronisation.
fn message_passing(name: &str, release: &str, acquire: &str) -> String {
    format!(
        "C {name}
{{}}
P0 (atomic_int* x, atomic_int* y, atomic_uchar* b) {{
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int old = atomic_fetch_add_explicit(y, 1, {release});
  atomic_store_explicit(b, 200 + old, memory_order_relaxed);
}}
P1 (atomic_int* x, atomic_int* y, atomic_uchar* b) {{
  int a = atomic_load_explicit(y, {acquire});
  int c = atomic_load_explicit(x, memory_order_relaxed);
  unsigned char d = atomic_load_explicit(b, memory_order_relaxed);
}}
exists (1:a=1 /\\ 1:c=0 /\\ 1:d=200)
"
    )
}

#[test]
fn every_target_is_lifted_at_every_level() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = project(SOUND);
    let (release, acquire) = ("memory_order_release", "memory_order_acquire");
    s.write("good.litmus", &message_passing("good", release, acquire));
    let relaxed = "memory_order_relaxed";
    s.write("weak.litmus", &message_passing("weak", relaxed, relaxed));
    let stack = ["SP", "rsp", "rbp", "x2)", "(r1)", "($29)", "_m"];
    for target in ["x86_64", "aarch64", "armv7", "riscv64", "ppc64le", "mips64el"] {
        for level in ["O0", "O2"] {
            let profile = format!("{CLANG}-{target}-{level}");
            let (status, text) = s.litmake(&["compile", "--profile", &profile, "good.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
            let frame = stack.iter().find(|word| text.contains(*word));
            assert_eq!(frame, None, "{profile}: the stack is left in {text}");
            s.write("lifted.litmus", &text);
            let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
            assert!(status == 0 && text.contains("Observation good Never"), "{profile}: {text}");
            let (status, text) = s.litmake(&["check", "--profile", &profile, "good.litmus"]);
            assert_eq!(status, 0, "{profile}: {text}");
        }
        // The lifted code is not stricter than the machine: what C allows is there.
        let profile = format!("{CLANG}-{target}-O2");
        let (_, text) = s.litmake(&["compile", "--profile", &profile, "weak.litmus"]);
        s.write("lifted.litmus", &text);
        let (_, text) = s.litmake(&["sim", "lifted.litmus"]);
        let wanted = if target == "x86_64" { "Never" } else { "Sometimes" };
        assert!(text.contains(&format!("Observation weak {wanted}")), "{profile}: {text}");
    }
}

#[test]
fn variables_are_lifted_by_name() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    let s = project(SOUND);
    s.write("mp.litmus", &message_passing("mp", "memory_order_release", "memory_order_acquire"));
    for target in ["x86_64", "aarch64", "armv7", "riscv64", "ppc64le", "mips64el"] {
        for storage in ["globals", "statics"] {
            let profile = format!("{CLANG}-{target}-O2");
            let args = ["compile", "--profile", &profile, "--storage", storage, "mp.litmus"];
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}, {storage}: {text}");
            s.write("lifted.litmus", &text);
            let (status, text) = s.litmake(&["sim", "lifted.litmus"]);
            assert!(status == 0 && text.contains("Observation mp Never"), "{profile}: {text}");
        }
    }
}

/// Read-modify-writes, widths, a helper, a loop and a choice.
const MANY: &str = "C many
{ uint8_t b = 0; }
int add(atomic_int *p, int v) {
  return atomic_fetch_add_explicit(p, v, memory_order_acq_rel);
}
P0(atomic_int *x, _Atomic uint8_t *b) {
  atomic_store_explicit(b, 200, memory_order_relaxed);
  int r0 = add(x, 1);
}
P1(atomic_int *x, _Atomic uint8_t *b) {
  int r0 = 1;
  int r1 = atomic_compare_exchange_strong_explicit(x, &r0, 2, memory_order_acq_rel, memory_order_acquire);
  int r2 = 0;
  for (int i = 0; i < 2; i++) {
    r2 = r2 * 2 + r1;
  }
  uint8_t r3 = 0;
  if (r2 == 3 && r0 == 1) {
    r3 = atomic_load_explicit(b, memory_order_relaxed);
  }
}
exists (1:r1=1 /\\ 1:r3=0)
";

#[test]
fn a_test_means_the_same_in_every_language() {
    let s = project(SOUND);
    for (name, text) in [("sb", SB), ("mp", MP), ("many", MANY)] {
        s.write(&format!("{name}.litmus"), text);
    }
    let states = |file: &str| {
        let (status, text) = s.litmake(&["sim", file]);
        assert_eq!(status, 0, "{text}");
        let lines = text.lines().skip_while(|l| !l.starts_with("States"));
        let verdict = |l: &&str| l.ends_with("Ok") || l.ends_with("No");
        let lines: Vec<&str> = lines.take_while(|l| !verdict(l)).collect();
        lines.join("\n")
    };
    let compilers = [
        ("rustc", "rustc-x86_64-O2"),
        ("g++-12", "g++-12-x86_64-O2"),
        ("clang++-16", "clang++-16-aarch64-O1"),
    ];
    let mut seen = std::collections::BTreeMap::new();
    for (compiler, profile) in compilers {
        if !here(compiler) {
            continue;
        }
        for name in ["sb", "mp", "many"] {
            let file = format!("{name}.litmus");
            let (status, text) = s.litmake(&["compile", "--profile", profile, &file]);
            assert_eq!(status, 0, "{profile}, {name}: {text}");
            s.write("lifted.litmus", &text);
            let states = states("lifted.litmus");
            let first = seen.entry(name).or_insert(states.clone());
            assert_eq!(*first, states, "{profile}, {name}");
            let (status, text) = s.litmake(&["check", "--profile", profile, &file]);
            assert_eq!(status, 0, "{profile}, {name}: {text}");
        }
        let (_, text) = s.litmake(&["compile", "--profile", profile, "--source", "many.litmus"]);
        let wanted = if compiler == "rustc" { "x: &AtomicI32" } else { "std::atomic<int> *x" };
        assert!(text.contains(wanted), "{text}");
    }
    let (status, text) = s.litmake(&["check", "--profile", "gcc-12-x86_64-O9", "mp.litmus"]);
    assert_eq!(status, 2, "{text}");
}

#[test]
fn a_store_that_only_a_callee_publishes_is_seen_to_vanish() {
    const CLANG: &str = "clang-16";
    if !here(CLANG) {
        return;
    }
    // Between its two stores the first thread waits for the other, which reads the first of them.
    // Compilers that take a call to leave alone what the callee does not name drop that store.
    let s = project(SOUND);
    s.write(
        "published.litmus",
        "C published
{}
P0 (int* x, atomic_int* y) {
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release);
  while (atomic_load_explicit(y, memory_order_acquire) != 0) {}
  *x = 2;
}
P1 (int* x, atomic_int* y) {
  while (atomic_load_explicit(y, memory_order_acquire) == 0) {}
  int r0 = *x;
  atomic_store_explicit(y, 0, memory_order_release);
}
exists (1:r0=0)
",
    );
    for target in ["x86_64", "aarch64", "armv7", "riscv64", "ppc64le"] {
        let profile = format!("{CLANG}-{target}-O2");
        for (more, wanted) in [(vec![], "Never"), (vec!["--helpers"], "Always")] {
            let mut args = vec!["compile", "--profile", &profile, "--storage", "statics"];
            args.extend(more);
            args.push("published.litmus");
            let (status, text) = s.litmake(&args);
            assert_eq!(status, 0, "{profile}: {text}");
            s.write("lifted.litmus", &text);
            let (_, text) = s.litmake(&["sim", "lifted.litmus"]);
            let wanted = format!("Observation published {wanted}");
            assert!(text.contains(&wanted), "{profile}: {text}");
        }
    }
    // Left to itself, `check` tries both.
    let profile = format!("{CLANG}-x86_64-O2");
    let args = ["check", "--profile", &profile, "--investigate", "0", "published.litmus"];
    let (status, text) = s.litmake(&args);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("with static variables, atomic operations in functions"), "{text}");
    let args = ["check", "--profile", &profile, "--storage", "pointers", "published.litmus"];
    assert_eq!(s.litmake(&args).0, 0);
}
