//! The Linux kernel's C through compilers: which headers are taken, what an edit of them does, what is refused, and
//! that threads stay what they are under locks and RCU. Where the headers are missing, that is said.

use std::path::{Path, PathBuf};

use litmake_needs::{here, need};

use crate::scratch::{Scratch, streams};

/// Store buffering with full fences: forbidden.
const SB: &str = "C SB
{}
P0(int *x, int *y) { int r0; WRITE_ONCE(*x, 1); smp_mb(); r0 = READ_ONCE(*y); }
P1(int *x, int *y) { int r0; WRITE_ONCE(*y, 1); smp_mb(); r0 = READ_ONCE(*x); }
exists (0:r0=0 /\\ 1:r0=0)
";

/// A message by release and acquire: forbidden.
const MP: &str = "C MP
{}
P0(int *x, int *y) { WRITE_ONCE(*x, 1); smp_store_release(y, 1); }
P1(int *x, int *y) { int r0; int r1; r0 = smp_load_acquire(y); r1 = READ_ONCE(*x); }
exists (1:r0=1 /\\ 1:r1=0)
";

/// Two threads that count under a lock, and one by a read-modify-write: no count is lost.
const COUNT: &str = "C count
{}
P0(int *x, spinlock_t *l, atomic_t *a) {
  int r0; spin_lock(l); r0 = *x; *x = r0 + 1; spin_unlock(l); atomic_inc(a);
}
P1(int *x, spinlock_t *l, atomic_t *a) {
  int r0; spin_lock(l); r0 = *x; *x = r0 + 1; spin_unlock(l); atomic_inc(a);
}
exists (0:r0=1 /\\ 1:r0=0)
";

const TARGETS: [(&str, &str, &str); 5] = [
    ("gcc-12-kernel-x86_64-O2", "gcc-12", "x86"),
    ("gcc-12-kernel-aarch64-llsc-O2", "aarch64-linux-gnu-gcc-12", "arm64"),
    ("gcc-12-kernel-aarch64-lse-O2", "aarch64-linux-gnu-gcc-12", "arm64"),
    ("gcc-12-kernel-riscv64-O2", "riscv64-linux-gnu-gcc-12", "riscv"),
    ("gcc-12-kernel-ppc64le-O2", "powerpc64le-linux-gnu-gcc-12", "powerpc"),
];

fn model() -> String {
    format!("{}/tests/kernel/linux.cfg", env!("CARGO_MANIFEST_DIR"))
}

/// The headers that `scripts/setup --kernel` brings for an architecture.
fn headers(arch: &str) -> Option<PathBuf> {
    let folders = litmake::toolchain::process::toolchains();
    let mut places = folders.iter().map(|dir| dir.join("kernel").join(arch));
    let found = places.find(|dir| dir.join("include/generated/autoconf.h").is_file());
    need("the kernel's headers", found.ok_or("`scripts/setup --kernel` brings them"))
}

#[test]
fn code_of_the_kernels_primitives_allows_no_more_than_the_model() {
    let s = Scratch::with(&[("SB.litmus", SB), ("MP.litmus", MP), ("count.litmus", COUNT)]);
    let model = model();
    for (profile, compiler, arch) in TARGETS {
        if !here(compiler) || headers(arch).is_none() {
            continue;
        }
        let args = ["check", "--profile", profile, "--source-model", &model, "--json"];
        let tests = ["SB.litmus", "MP.litmus", "count.litmus"];
        let (status, report) = s.json(&[&args[..], &tests].concat());
        assert_eq!(status, 0, "{profile}: {report:#}");
        let compared = &report["differences"][0]["compared"];
        assert_eq!(compared, 3, "{profile}: {report:#}");
    }
}

/// Makes a configured kernel for x86 beside its sources, for headers of its own in front of theirs.
fn own_kernel(s: &Scratch, good: &Path, name: &str) {
    let generated = good.join("arch/x86/include/generated");
    let own = s.path(name);
    std::fs::create_dir_all(own.join("arch/x86/include")).unwrap();
    for (from, to) in [
        (generated, "arch/x86/include/generated"),
        (good.join("include"), "include"),
        (good.join("source"), "source"),
    ] {
        std::os::unix::fs::symlink(from.canonicalize().unwrap(), own.join(to)).unwrap();
    }
}

/// A full fence that orders nothing in the processor.
const NO_FENCE: &str =
    "#include_next <asm/barrier.h>\n#undef __smp_mb\n#define __smp_mb() barrier()\n";

#[test]
fn an_edited_header_is_compiled_again_and_its_bug_is_found() {
    if !here("gcc-12") {
        return;
    }
    let Some(good) = headers("x86") else { return };
    let s = Scratch::with(&[("SB.litmus", SB)]);
    own_kernel(&s, &good, "linux");
    s.write("p.yaml", "name: mine\nextends: gcc-12-kernel-x86_64-O2\nkernel: linux\n");
    let model = model();
    let args = ["check", "--profile", "p.yaml", "--source-model", &model, "SB.litmus"];
    let (status, said) = s.litmake(&args);
    assert_eq!(status, 0, "{said}");
    s.write("linux/arch/x86/include/asm/barrier.h", NO_FENCE);
    let (status, said) = s.litmake(&args);
    assert_eq!(status, 1, "{said}");
    s.write("linux/arch/x86/include/asm/barrier.h", "#include_next <asm/barrier.h>\n");
    let (status, said) = s.litmake(&args);
    assert_eq!(status, 0, "{said}");
}

/// `LITMAKE_KERNEL` names a kernel, or a folder of them; the key of a profile comes before it.
#[test]
fn the_variable_names_a_kernel_for_profiles_that_name_none() {
    if !here("gcc-12") {
        return;
    }
    let Some(good) = headers("x86") else { return };
    let s = Scratch::with(&[("SB.litmus", SB)]);
    own_kernel(&s, &good, "many/x86");
    s.write("many/x86/arch/x86/include/asm/barrier.h", NO_FENCE);
    own_kernel(&s, &good, "good");
    s.write("own.yaml", "name: mine\nextends: gcc-12-kernel-x86_64-O2\nkernel: good\n");
    let check = |profile: &str, kernel: &str| {
        let model = model();
        let args = ["check", "--profile", profile, "--source-model", &model, "SB.litmus"];
        let mut command = s.command(&args);
        if !kernel.is_empty() {
            command.env("LITMAKE_KERNEL", s.path(kernel));
        }
        streams(&mut command)
    };
    let shipped = "gcc-12-kernel-x86_64-O2";
    for (profile, kernel, expected) in [
        (shipped, "", 0),
        (shipped, "many/x86", 1),
        (shipped, "many", 1),
        (shipped, "good", 0),
        ("own.yaml", "many", 0),
    ] {
        let (status, out, err) = check(profile, kernel);
        assert_eq!(status, expected, "{profile} {kernel}: {out}{err}");
    }
    // A kernel that is not there is not replaced by another one.
    let (status, out, err) = check(shipped, "nowhere");
    assert_eq!(status, 3, "{out}{err}");
    assert!((out + &err).contains("nowhere/x86"), "{err}");
}

#[test]
fn threads_wait_for_sections_of_the_others() {
    if !here("gcc-12") || headers("x86").is_none() {
        return;
    }
    // What the kernel promises of grace periods: a section that sees what follows one sees what came before it.
    let s = Scratch::with(&[(
        "gp.litmus",
        "C gp
{}
P0(int *x, int *y) { WRITE_ONCE(*x, 1); synchronize_rcu(); WRITE_ONCE(*y, 1); }
P1(int *x, int *y) {
  int r0; int r1; rcu_read_lock(); r0 = READ_ONCE(*y); r1 = READ_ONCE(*x); rcu_read_unlock();
}
exists (1:r0=1 /\\ 1:r1=0)
",
    )]);
    let (status, code) =
        s.litmake(&["compile", "--profile", "gcc-12-kernel-x86_64-O2", "gp.litmus"]);
    assert_eq!(status, 0, "{code}");
    s.write("code.litmus", &code);
    let (status, said) = s.litmake(&["sim", "code.litmus"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("Observation gp Never 0 3"), "{said}");
}

#[test]
fn what_races_is_no_finding() {
    if !here("aarch64-linux-gnu-gcc-12") || headers("arm64").is_none() {
        return;
    }
    // AArch64 reorders the plain accesses of both threads, which the model would forbid of marked ones.
    let plain =
        MP.replace("WRITE_ONCE(*x, 1); smp_store_release(y, 1);", "*x = 1; WRITE_ONCE(*y, 1);");
    let plain = plain.replace("r1 = READ_ONCE(*x)", "r1 = *x");
    let s = Scratch::with(&[("race.litmus", &plain)]);
    let model = model().replace("linux.cfg", "racy.cfg");
    let profile = "gcc-12-kernel-aarch64-llsc-O2";
    let args = ["check", "--profile", profile, "--source-model", &model, "--json", "race.litmus"];
    let (status, report) = s.json(&args);
    // All that was asked is undefined, so that nothing was judged.
    assert_eq!(status, 3, "{report:#}");
    assert_eq!(report["differences"][0]["undefined"], 1, "{report:#}");
    assert_eq!(report["differences"][0]["undefined_positive"], 1, "{report:#}");
}

#[test]
fn what_the_headers_have_no_code_for_is_refused_by_name() {
    if !here("gcc-12") || headers("x86").is_none() {
        return;
    }
    let s = Scratch::with(&[(
        "srcu.litmus",
        "C srcu
{}
P0(int *x, struct srcu_struct *s) { int r0; r0 = srcu_read_lock(s); srcu_read_unlock(s, r0); }
exists (0:r0=1)
",
    )]);
    let (status, said) =
        s.litmake(&["compile", "--profile", "gcc-12-kernel-x86_64-O2", "srcu.litmus"]);
    assert_ne!(status, 0);
    assert!(said.contains("`srcu_read_lock` is not in the kernel's headers"), "{said}");
}

#[test]
fn a_wait_inside_of_its_own_section_is_refused() {
    if !here("gcc-12") || headers("x86").is_none() {
        return;
    }
    let body = "rcu_read_lock(); WRITE_ONCE(*x, 1); synchronize_rcu(); rcu_read_unlock();";
    let s = Scratch::with(&[(
        "gp.litmus",
        &format!(
            "C gp
{{}}
P0(int *x) {{ {body} }}
exists (x=1)
"
        ),
    )]);
    let (status, said) =
        s.litmake(&["compile", "--profile", "gcc-12-kernel-x86_64-O2", "gp.litmus"]);
    assert_ne!(status, 0);
    assert!(said.contains("inside of a section of the same thread"), "{said}");
}

#[test]
fn a_profile_without_headers_says_where_it_looked() {
    if !here("gcc-12") {
        return;
    }
    let s = Scratch::with(&[("SB.litmus", SB)]);
    s.write("p.yaml", "name: mine\nextends: gcc-12-kernel-x86_64-O2\nkernel: nowhere\n");
    let (status, said) = s.litmake(&["compile", "--profile", "p.yaml", "SB.litmus"]);
    assert_ne!(status, 0, "{said}");
    assert!(said.contains("nowhere") && said.contains("scripts/setup --kernel"), "{said}");
}
