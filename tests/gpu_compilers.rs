//! What compilers for GPUs make of C tests, simulated.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::io::Write;
use std::process::{Command, Output};

const MESSAGE: &str = r"C MP
{}
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\ 1:r1=0)
";

/// Runs the program on a test in a folder of its own.
fn litmake(args: &[&str], test: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("t.litmus"), test).unwrap();
    Command::new(env!("CARGO_BIN_EXE_litmake"))
        .args(args)
        .arg("t.litmus")
        .current_dir(dir.path())
        .env("LITMAKE_CACHE", dir.path().join("cache"))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

fn check(profile: &str, test: &str) -> (Option<i32>, String) {
    let output = litmake(&["check", "--profile", profile, "--investigate", "0"], test);
    (output.status.code(), said(&output))
}

fn are_here(programs: &[&str]) -> bool {
    programs.iter().all(|program| litmake_needs::here(program))
}

#[test]
fn the_translator_and_spirv_opt_keep_orders() {
    if !are_here(&["clang-14", "llvm-spirv-14", "spirv-dis", "spirv-opt"]) {
        return;
    }
    for profile in ["llvm-spirv-14-O2", "spirv-opt-O", "spirv-opt-eliminate-dead-code-aggressive"] {
        let (status, said) = check(profile, MESSAGE);
        assert_eq!(status, Some(0), "{profile}: {said}");
    }
    let output = litmake(&["compile", "--profile", "llvm-spirv-14-O2"], MESSAGE);
    let text = said(&output);
    for part in ["SPIRV MP", "OpAtomicStore", "OpAtomicLoad", "OpMemoryModel Physical64 OpenCL"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    // Without an order the code allows the outcome, so that the checks above can fail.
    let relaxed = MESSAGE.replace("release", "relaxed").replace("acquire", "relaxed");
    let output = litmake(&["compile", "--profile", "llvm-spirv-14-O2"], &relaxed);
    let code = said(&output);
    let simulated = litmake(&["sim", "--model", "spirv-opencl"], &code);
    assert!(said(&simulated).contains("Observation MP Sometimes"), "{}", said(&simulated));
}

/// LLVM's back end of release 22 stores and loads atomics plainly. Later ones do not.
#[test]
fn plain_accesses_for_atomics_are_found() {
    if !are_here(&["clang-22", "spirv-dis"]) {
        return;
    }
    let (status, said) = check("clang-22-spirv-O2", MESSAGE);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("1:r0=1; 1:r1=0;") && said.contains("OpStore %y"), "{said}");
}

#[test]
fn what_opencl_lacks_is_refused_by_name() {
    if !are_here(&["clang-14", "llvm-spirv-14"]) {
        return;
    }
    let narrow = MESSAGE.replace("atomic_int*", "_Atomic int8_t*");
    let (status, said) = check("llvm-spirv-14-O2", &narrow);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("atomics of OpenCL C that have other than 4 or 8 bytes"), "{said}");
}

/// NVIDIA's compiler, where somebody has installed it. Its licence is not free, so that `LITMAKE_REQUIRE` does not ask for it.
fn nvcc() -> Option<&'static str> {
    let here = |command: &&str| litmake::toolchain::process::find(command).is_some();
    let found = ["nvcc-13.5.37", "nvcc-13.0.88"].into_iter().find(here);
    if found.is_none() {
        let skipped = "skipped: CUDA C++ is compiled where `scripts/setup --cuda` was run";
        drop(writeln!(std::io::stderr(), "{skipped}"));
    }
    found
}

#[test]
fn cuda_keeps_orders_at_the_scope_of_the_test() {
    let Some(nvcc) = nvcc() else { return };
    for level in ["O1", "O3"] {
        let profile = format!("{nvcc}-sm75-{level}");
        let tree = |scopes: &str| MESSAGE.replace("exists", &format!("{scopes}\nexists"));
        for (scopes, store) in [
            ("", "st.release.sys.b32"),
            ("scopes: (device (workgroup P0) (workgroup P1))", "st.release.gpu.b32"),
            ("scopes: (device (workgroup P0 P1))", "st.release.cta.b32"),
        ] {
            let (status, text) = check(&profile, &tree(scopes));
            assert_eq!(status, Some(0), "{profile} {scopes}: {text}");
            let code = said(&litmake(&["compile", "--profile", &profile], &tree(scopes)));
            assert!(code.contains("PTX MP") && code.contains(store), "{code}");
        }
        // Without an order the code allows the outcome, so that the checks above can fail.
        let relaxed = MESSAGE.replace("release", "relaxed").replace("acquire", "relaxed");
        let code = said(&litmake(&["compile", "--profile", &profile], &relaxed));
        let found = said(&litmake(&["sim", "--model", "ptx"], &code));
        assert!(found.contains("Observation MP Sometimes"), "{found}");
    }
}

/// Message passing as the languages of shaders have it, with data that is no atomic object.
const PLAIN_DATA: &str = r"C MP
{}
P0 (int* x, atomic_int* y) {
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = 2;
  if (r0 == 1)
    r1 = *x;
}
exists (1:r0=1 /\ 1:r1=0)
";

/// What a profile's code allows of a test.
fn of_code(profile: &str, test: &str) -> String {
    let output = litmake(&["compile", "--profile", profile], test);
    let code = said(&output);
    assert!(code.starts_with("SPIRV"), "{code}");
    said(&litmake(&["sim", "--model", "spirv"], &code))
}

#[test]
fn glsl_keeps_what_vulkan_promises() {
    if !are_here(&["glslangValidator", "spirv-opt", "spirv-dis"]) {
        return;
    }
    for test in [MESSAGE, PLAIN_DATA] {
        for profile in ["glslang", "glslang-opt-O", "glslang-opt-inline-entry-points-exhaustive"] {
            let (status, said) = check(profile, test);
            assert_eq!(status, Some(0), "{profile}: {said}");
            let found = of_code(profile, test);
            assert!(found.contains("Observation MP Never"), "{profile}: {found}");
        }
    }
    // Without the orders, the code allows the outcome; with plain data it has no meaning.
    let relaxed = |test: &str| test.replace("release", "relaxed").replace("acquire", "relaxed");
    let found = of_code("glslang", &relaxed(MESSAGE));
    assert!(found.contains("Observation MP Sometimes"), "{found}");
    let found = of_code("glslang", &relaxed(PLAIN_DATA));
    assert!(found.contains("Undef"), "{found}");
    // Each thread has the code of its own workgroup alone.
    let output = litmake(&["compile", "--profile", "glslang"], MESSAGE);
    let code = said(&output);
    assert_eq!(code.matches("OpAtomicStore").count(), 2, "{code}");
    assert!(
        code.contains("OpMemoryModel Logical Vulkan") && !code.contains("WorkgroupId"),
        "{code}"
    );
}

/// Writes a program into a folder that takes words as `spirv-opt` does, and makes releases and acquires relaxed.
fn wrong_tool(dir: &std::path::Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join("wrong-opt");
    let text = r#"#!/bin/sh
if [ "$1" = --help ]; then
  printf '  --keep-all\n  --lose-orders\n  --lose-types\n  -h, --help\n'
elif [ "$1" = --lose-orders ]; then
  spirv-dis --raw-id "$2" | sed -E 's/(OpConstant %[0-9]+) (8260|16450)$/\1 0/' |
    spirv-as --preserve-numeric-ids - -o "$4"
elif [ "$1" = --lose-types ]; then
  spirv-dis --raw-id "$2" | sed -E 's/= OpAtomicLoad %[0-9]+ (%[0-9]+).*/= OpCopyObject %2 \1/' |
    spirv-as --preserve-numeric-ids - -o "$4"
else
  cp "$2" "$4"
fi
"#;
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_step_behind_glslang_that_loses_orders_is_found() {
    if !are_here(&["glslangValidator", "spirv-dis", "spirv-as"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tool = wrong_tool(dir.path());
    let profile = dir.path().join("mine.yaml");
    let step = format!("{} --lose-orders {{in}} -o {{out}}", tool.display());
    std::fs::write(&profile, format!("name: mine\nextends: glslang\nthen: [\"{step}\"]\n"))
        .unwrap();
    let (status, said) = check(&profile.to_string_lossy(), MESSAGE);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("1:r0=1; 1:r1=0;"), "{said}");
}

#[test]
fn passes_of_spirv_opt_are_judged_one_by_one() {
    if !are_here(&["glslangValidator", "spirv-dis", "spirv-as", "spirv-opt"]) {
        return;
    }
    let passes = |more: &[&str]| {
        let output = litmake(&[&["passes", "--profile", "glslang"], more].concat(), MESSAGE);
        (output.status.code(), said(&output))
    };
    let (status, text) = passes(&["--opt", "O,ccp,inline-entry-points-exhaustive,strip-debug"]);
    assert_eq!(status, Some(0), "{text}");
    let row = |name: &str| {
        let line = text.lines().find(|l| l.split(' ').next() == Some(name));
        let numbers = line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().skip(1);
        numbers.map(|n| n.parse().unwrap()).collect::<Vec<u32>>()
    };
    // How often it ran, changed code, added outcomes, made none, met code without a meaning, was not understood.
    assert_eq!(row("O"), [1, 1, 0, 0, 0, 0]);
    assert_eq!(row("strip-debug"), [1, 0, 0, 0, 0, 0]);
    let (status, text) = passes(&["--opt", "all"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.lines().count() > 40 && text.contains("ssa-rewrite"), "{text}");
    let (status, text) = passes(&["--opt", "cpp"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("`cpp` is no pass of") && text.contains("ccp"), "{text}");
    // A pass that is wrong is named, with what it did.
    let dir = tempfile::tempdir().unwrap();
    let tool = wrong_tool(dir.path());
    let (status, text) = passes(&["--opt", "all", "--tool", &tool.to_string_lossy()]);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("MP: lose-orders adds outcomes") && !text.contains("keep-all adds"),
        "{text}"
    );
    assert!(text.contains("MP: lose-types makes an invalid module"), "{text}");
}

#[test]
fn what_shaders_lack_is_refused_by_name() {
    if !are_here(&["glslangValidator", "naga", "spirv-opt", "spirv-dis"]) {
        return;
    }
    let narrow = MESSAGE.replace("atomic_int*", "_Atomic int8_t*");
    let wide = MESSAGE.replace("atomic_int*", "_Atomic int64_t*");
    let sequential = MESSAGE.replace("memory_order_release", "memory_order_seq_cst");
    for (profile, test, why) in [
        ("glslang", &narrow, "atomics of 8 and 16 bits, which GLSL lacks"),
        ("glslang", &sequential, "`memory_order_seq_cst`, which GLSL lacks"),
        ("naga", &wide, "integers of 64 bits, which WGSL lacks"),
        ("naga", &MESSAGE.to_string(), "`memory_order_release`, which WGSL lacks"),
    ] {
        let (status, said) = check(profile, test);
        assert_eq!(status, Some(3), "{said}");
        assert!(said.contains(why), "{said}");
    }
    let (status, said) = check("glslang", &wide);
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn wgsl_is_coherent_and_orders_nothing_else() {
    if !are_here(&["naga", "spirv-opt", "spirv-dis"]) {
        return;
    }
    let relaxed = MESSAGE.replace("release", "relaxed").replace("acquire", "relaxed");
    // Two reads of one location, and the same of two.
    let coherent = relaxed.replace("atomic_store_explicit(x, 1", "atomic_store_explicit(y, 2");
    let coherent = coherent.replace("_explicit(x, memory", "_explicit(y, memory");
    let coherent = coherent.replace("1:r0=1 /\\ 1:r1=0", "1:r0=1 /\\ 1:r1=2");
    for (test, seen) in [(&relaxed, "Sometimes"), (&coherent, "Never")] {
        for profile in ["naga", "naga-opt-O"] {
            let (status, said) = check(profile, test);
            assert_eq!(status, Some(0), "{profile}: {said}");
            let found = of_code(profile, test);
            assert!(found.contains(&format!("Observation MP {seen}")), "{profile}: {found}");
        }
    }
}

#[test]
fn profiles_of_shaders_and_of_c_are_not_measured_by_one_model() {
    let output =
        litmake(&["check", "--profile", "glslang", "--profile", "llvm-spirv-14-O2"], MESSAGE);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("different memory models"), "{}", said(&output));
}

#[test]
fn a_shader_can_be_printed_whole() {
    if !are_here(&["glslangValidator"]) {
        return;
    }
    let output = litmake(&["compile", "--source", "--profile", "glslang"], MESSAGE);
    let text = said(&output);
    for part in ["#version 450", "gl_SemanticsRelease", "void main()", "case 1u: t0_P1();"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// Message passing in operations that name a scope.
fn scoped(scope: &str, tree: &str) -> String {
    let named = |order: &str| format!("memory_order_{order}, memory_scope_{scope})");
    ["release", "acquire", "relaxed"]
        .iter()
        .fold(MESSAGE.to_string(), |text, order| {
            text.replace(&format!("memory_order_{order})"), &named(order))
        })
        .replace("exists", &format!("scopes: (system (device {tree}))\nexists"))
}

const TOGETHER: &str = "(workgroup P0 P1)";
const APART: &str = "(workgroup P0) (workgroup P1)";

/// The scopes that operations name are those of the code.
#[test]
fn scopes_go_through_compilers() {
    if !are_here(&["clang-14", "clang-22", "llvm-spirv-14", "spirv-dis"]) {
        return;
    }
    for (profile, scope, tree, status) in [
        ("llvm-spirv-14-O2", "work_group", TOGETHER, 0),
        ("llvm-spirv-14-O2", "device", APART, 0),
        ("clang-22-nvptx-O2", "work_group", TOGETHER, 0),
    ] {
        let (found, said) = check(profile, &scoped(scope, tree));
        assert_eq!(found, Some(status), "{profile} {scope}: {said}");
    }
    // Code for a workgroup is too weak for threads of two.
    let code = said(&litmake(
        &["compile", "--profile", "llvm-spirv-14-O2"],
        &scoped("work_group", TOGETHER),
    ));
    let observation = |code: &str| said(&litmake(&["sim", "--model", "spirv-opencl"], code));
    assert!(observation(&code).contains("Observation MP Never"), "{code}");
    let apart = code.replace(
        "scopes: (system (workgroup P0 P1))",
        "scopes: (system (workgroup P0) (workgroup P1))",
    );
    assert_ne!(apart, code);
    assert!(observation(&apart).contains("Undef"), "{apart}");
}

#[test]
fn what_a_language_cannot_say_of_groups_is_refused_by_name() {
    let barrier = MESSAGE.replace("  int r0", "  barrier(CLK_GLOBAL_MEM_FENCE);\n  int r0");
    let local = MESSAGE.replace("atomic_int* y", "local atomic_int* y");
    let device = scoped("device", APART);
    for (profile, test, why) in [
        ("clang-14-x86_64-O2", &barrier, "barriers in `c`"),
        ("llvm-spirv-14-O2", &local, "locations in the memory of a workgroup in `opencl`"),
        ("g++-12-x86_64-O2", &device, "operations that name scopes in `c++`"),
        ("glslang", &device, "operations that name scopes in `glsl`"),
    ] {
        let output = said(&litmake(&["compile", "--source", "--profile", profile], test));
        assert!(output.contains(why), "{profile}: {output}");
    }
}
