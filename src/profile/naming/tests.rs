//! The profiles that words stand for on machines with some compilers.

use std::io;
use std::path::PathBuf;

use super::*;

/// A machine that has some compilers and no files.
struct Machine(&'static [&'static str]);

impl Files for Machine {
    fn content(&self, _: &Path, _: u64) -> io::Result<Arc<[u8]>> {
        Err(io::ErrorKind::NotFound.into())
    }
    fn list(&self, _: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
    fn env(&self, _: &str) -> Option<String> {
        None
    }
    fn installed(&self, compiler: &str) -> bool {
        self.0.contains(&compiler)
    }
}

const DEBIAN: Machine =
    Machine(&["clang-14", "clang-16", "gcc-12", "aarch64-linux-gnu-gcc-12", "rustc"]);

/// The names that a word stands for, or the error with its advice.
fn named(machine: &Machine, word: &str) -> String {
    let known = Profiles::load(machine, &[], &[]);
    match known.named(machine, Path::new("."), word) {
        Ok(found) => found.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(" "),
        Err(e) => e.to_string(),
    }
}

#[test]
fn parts_of_a_name_stand_for_the_newest_installed_version() {
    for (word, expected) in [
        ("clang-aarch64", "clang-16-aarch64-O2"),
        ("clang-14-aarch64", "clang-14-aarch64-O2"),
        ("aarch64-O3-clang", "clang-16-aarch64-O3"),
        ("clang-aarch64-armv8.1-a", "clang-16-aarch64-armv8.1-a-O2"),
        ("armv8.1-a-gcc", "gcc-12-aarch64-armv8.1-a-O2"),
        ("clang-riscv64-pic", "clang-16-riscv64-pic-O2"),
        ("rustc-aarch64", "rustc-aarch64-O2"),
        ("clang-arm64", "clang-16-aarch64-O2"),
        ("amd64-gcc", "gcc-12-x86_64-O2"),
        // A name is itself, whether or not its compiler is installed.
        ("clang-13-x86_64-O0", "clang-13-x86_64-O0"),
        // Without any compiler of the family, it is the newest one known, which is then missing.
        ("gcc-ppc64le", "gcc-16-ppc64le-O2"),
        ("gcc-aarch64-O1, clang-14-x86_64", "gcc-12-aarch64-O1 clang-14-x86_64-O2"),
        ("clang-*-armv7-O2", "clang-14-armv7-O2 clang-16-armv7-O2"),
        ("", ""),
    ] {
        assert_eq!(named(&DEBIAN, word), expected, "{word}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_family_alone_is_for_this_machine() {
    for (word, expected) in [
        ("clang", "clang-16-x86_64-O2"),
        ("clang-14", "clang-14-x86_64-O2"),
        ("gcc", "gcc-12-x86_64-O2"),
        ("gcc-O3", "gcc-12-x86_64-O3"),
        ("rustc", "rustc-x86_64-O2"),
        ("clang++", "clang++-24-x86_64-O2"),
        ("clang-kernel", "clang-16-kernel-x86_64-O2"),
    ] {
        assert_eq!(named(&DEBIAN, word), expected, "{word}");
    }
}

#[test]
fn compilers_of_other_distributions_have_other_names() {
    let plain = Machine(&["gcc", "clang", "aarch64-linux-gnu-gcc"]);
    assert_eq!(named(&plain, "gcc-aarch64"), "gcc-aarch64-O2@gcc");
    assert_eq!(named(&plain, "clang-riscv64-O1"), "clang-riscv64-O1@clang");
    // A version that no profile lists.
    let ubuntu = Machine(&["clang-18"]);
    assert_eq!(named(&ubuntu, "clang-18-aarch64"), "clang-aarch64-O2@clang-18");
    // A version that is asked for is not another one.
    assert_eq!(named(&plain, "gcc-12-x86_64"), "gcc-12-x86_64-O2");
}

#[test]
fn words_that_stand_for_nothing_or_too_much_are_answered() {
    for (word, message, help) in [
        ("clagn-aarch64", "there is no profile `clagn-aarch64`", "did you mean `clang-aarch64`?"),
        (
            "aarch64",
            "`aarch64` fits several profiles",
            "say which: clang++-aarch64, clang-aarch64, ",
        ),
        ("gcc-nvptx", "there is no profile `gcc-nvptx`", "no profile has all of these parts"),
        (
            "clang-99-aarch64",
            "there is no profile `clang-99-aarch64`, and no `clang-99` is installed",
            "installed are 14, 16",
        ),
        ("watcom", "there is no profile `watcom`", "no profile has the part `watcom`"),
        ("clang-16-O9", "there is no profile `clang-16-O9`", "did you mean `clang-16-O0`?"),
        (
            "clang16-aarch64",
            "there is no profile `clang16-aarch64`",
            "did you mean `clang-16-aarch64`?",
        ),
        ("clang-22-*-O2", "no installed compiler", "`clang-22` is not installed"),
    ] {
        let said = named(&DEBIAN, word);
        assert!(said.contains(message) && said.contains(help), "{word}: {said}");
    }
}

#[test]
fn the_usual_compilers_are_for_this_machine_and_common_targets() {
    let usual = |machine: &Machine| -> Vec<String> {
        Profiles::load(machine, &[], &[]).usual(machine).iter().map(|p| p.name.clone()).collect()
    };
    let names = usual(&DEBIAN);
    assert!(names[0].contains(host()), "{names:?}");
    for one in ["clang-16-aarch64-O2", "clang-16-riscv64-O2", "gcc-12-aarch64-O2"] {
        assert!(names.iter().any(|n| n == one), "{one} is not in {names:?}");
    }
    assert!(!names.iter().any(|n| n.starts_with("gcc-12-riscv64")), "{names:?}");
    assert!(usual(&Machine(&[])).is_empty());
    assert!(!usual(&Machine(&["zig-0.13.0"])).is_empty());
}
