//! Compilers of newer suites that lie beside the system's, as `scripts/newest` unpacks them.

use std::process::Command;

use litmake::toolchain::process;
use litmake_needs::need;

use crate::passes::PUBLISH;
use crate::scratch::Scratch;

/// It is found by its name, compiles, and is an installed version like the system's. gcc 12 for RISC-V loses the
/// release of a compare-exchange, and later versions do not.
#[test]
fn an_unpacked_compiler_is_one_like_any_other() {
    let command = "riscv64-linux-gnu-gcc-16";
    let found = process::find(command).ok_or("scripts/newest has it");
    let Some(program) = need(command, found) else { return };
    // A distribution that has this version needs none beside it.
    let beside = process::toolchains().iter().any(|folder| program.starts_with(folder));
    if beside {
        let loads = Command::new(&program).env("LD_TRACE_LOADED_OBJECTS", "1").output();
        let loads = String::from_utf8(loads.expect("it starts").stdout).expect("text");
        let root = program.ancestors().nth(3).expect("it lies in usr/bin of a folder");
        let of_others =
            |line: &&str| line.contains("=>") && !line.contains(&*root.to_string_lossy());
        assert_eq!(loads.lines().find(of_others), None, "a library of the system: {loads}");
    }
    let s = Scratch::with(&[]);
    s.write("publish.litmus", PUBLISH);
    let check = |profile| s.litmake(&["check", "--profile", profile, "publish.litmus"]);
    let (status, text) = check("gcc-16-riscv64-O2");
    assert_eq!(status, 0, "{text}");
    if need("gcc 12", process::find("riscv64-linux-gnu-gcc-12").ok_or("not installed")).is_some() {
        let (status, text) = check("gcc-12-riscv64-O2");
        assert_eq!(status, 1, "{text}");
        let absent = text.lines().find(|l| l.trim_start().starts_with("absent from"));
        assert!(absent.is_some_and(|l| l.contains("gcc") && l.contains("16")), "{text}");
    }
}

/// The `libatomic` of gcc 14 and later asks in functions of its own what the machine has. By its source, a load of
/// 128 bits is a pair of exclusives on Armv8.0, and one load of a pair from LSE2 on.
#[test]
fn questions_of_a_library_that_are_functions_are_followed() {
    let command = "aarch64-linux-gnu-gcc-16";
    let found = process::find(command).ok_or("scripts/newest has it");
    if need(command, found).is_none() {
        return;
    }
    let wide = "C wide
{}
P0 (_Atomic __int128 *x) {
  __int128 r0 = atomic_load_explicit(x, memory_order_acquire);
}
exists (0:r0=1)
";
    let s = Scratch::with(&[("wide.litmus", wide)]);
    for (profile, load, other) in
        [("gcc-16-aarch64-O2", "LDAXP", "LDP"), ("gcc-16-aarch64-armv8.4-a-O2", "LDP", "LDAXP")]
    {
        let (status, text) = s.litmake(&["compile", "--profile", profile, "wide.litmus"]);
        assert_eq!(status, 0, "{text}");
        assert!(text.contains(load) && !text.contains(other), "{profile}: {text}");
    }
}
