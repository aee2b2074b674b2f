//! Finding models and includes, in folders that exist only here.

use litmake::cat::load::{Files, LoadOptions, Model, built_in_names, load_with};
use litmake::cat::stage::stage;
use litmake::diag::Result;
use litmake::litmus::Arch;
use std::collections::HashMap;
use std::path::Path;

struct Memory(HashMap<&'static str, &'static str>);

impl Files for Memory {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        Ok(self.0.get(path.to_str().unwrap_or("")).map(|s| s.to_string()))
    }
}

fn load(name: &str, dirs: &[&str], files: &[(&'static str, &'static str)]) -> Result<Model> {
    let mut options = LoadOptions::new(Arch::C);
    options.include_dirs = dirs.iter().map(|d| d.into()).collect();
    load_with(name, &options, &Memory(files.iter().copied().collect()))
}

fn error(name: &str, dirs: &[&str], files: &[(&'static str, &'static str)]) -> String {
    match load(name, dirs, files) {
        Ok(model) => panic!("{} was found", model.main().source.name),
        Err(e) => e.to_string(),
    }
}

fn found(name: &str, dirs: &[&str], files: &[(&'static str, &'static str)]) -> String {
    let model = load(name, dirs, files).unwrap_or_else(|e| panic!("{e}"));
    model.main().source.name.to_string()
}

#[test]
fn folders_come_before_built_in_models() {
    let files = [("a/sc.cat", "mine"), ("b/sc.cat", "other")];
    assert_eq!(found("sc", &[], &files), "<built-in>/sc.cat");
    assert_eq!(found("sc", &["a", "b"], &files), "a/sc.cat");
    assert_eq!(found("sc", &["c", "b"], &files), "b/sc.cat");
    assert_eq!(found("b/sc.cat", &["a"], &files), "b/sc.cat");
}

#[test]
fn includes_are_found_in_folders_then_beside_then_built_in() {
    let files = [
        ("m/model.cat", "include \"x.cat\" include \"cos.cat\""),
        ("m/x.cat", "let x = 0"),
        ("lib/x.cat", "let x = 1"),
    ];
    let names = |dirs: &[&str]| -> Vec<String> {
        let model = load("m/model.cat", dirs, &files[..2]).unwrap_or_else(|e| panic!("{e}"));
        model.files.iter().map(|f| f.source.name.to_string()).collect()
    };
    assert_eq!(
        names(&[]),
        ["<built-in>/stdlib.cat", "m/x.cat", "<built-in>/cos.cat", "m/model.cat"]
    );
    let e = error("m/model.cat", &["lib"], &files);
    assert!(e.starts_with("lib/x.cat:1:9: error: `1` has no meaning in cat"), "{e}");
}

#[test]
fn a_library_from_a_folder_takes_precedence_but_not_for_built_in_models() {
    let files = [
        ("lib/stdlib.cat", "let po-loc = po"),
        ("lib/cos.cat", "let fr = 0"),
        ("m.cat", "empty po-loc"),
    ];
    let names = |name| -> Vec<String> {
        let model = load(name, &["lib"], &files).unwrap_or_else(|e| panic!("{e}"));
        model.files.iter().map(|f| f.source.name.to_string()).collect()
    };
    assert_eq!(names("m.cat"), ["lib/stdlib.cat", "m.cat"]);
    assert_eq!(names("sc"), ["<built-in>/stdlib.cat", "<built-in>/cos.cat", "<built-in>/sc.cat"]);
}

#[test]
fn missing_models_and_files_are_errors_with_a_suggestion() {
    assert_eq!(
        error("rc1", &[], &[]),
        "error: there is no model `rc1`\n  help: did you mean `rc11`?"
    );
    assert_eq!(
        error("m.cat", &[], &[("m.cat", "M\ninclude \"co.cat\"")]),
        "m.cat:2:1: error: there is no file `co.cat`\n 2 | include \"co.cat\"\n   | ^^^^^^^^^^^^^^^^\n  \
         help: did you mean \"cos.cat\"?"
    );
}

#[test]
fn circles_of_includes_are_errors() {
    let files = [("a.cat", "include \"b.cat\""), ("b.cat", "include \"a.cat\"")];
    assert_eq!(
        error("a.cat", &[], &files),
        "b.cat:1:1: error: this include closes a circle\n 1 | include \"a.cat\"\n   | ^^^^^^^^^^^^^^^\n  \
         help: a.cat includes b.cat includes a.cat"
    );
}

#[test]
fn files_are_read_once_and_only_where_a_variant_asks() {
    let files = [
        (
            "m.cat",
            "include \"x.cat\" include \"x.cat\" if \"v\" include \"none.cat\" end if \"C\" include \"c.cat\" end",
        ),
        ("x.cat", "let x = 0"),
        ("c.cat", "let c = x"),
    ];
    let model = load("m.cat", &[], &files).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(model.files.len(), 4);
}

#[test]
fn the_fingerprint_is_of_what_was_read() {
    let print = |texts: [&'static str; 2], variants: &[&str], arch| {
        let mut options = LoadOptions::new(arch);
        options.variants = variants.iter().map(|v| v.to_string()).collect();
        let files = HashMap::from([("m.cat", texts[0]), ("x.cat", texts[1])]);
        let model = load_with("m.cat", &options, &Memory(files)).unwrap_or_else(|e| panic!("{e}"));
        model.fingerprint()
    };
    let base = print(["include \"x.cat\"", "let x = 0"], &[], Arch::C);
    assert_eq!(base, print(["include \"x.cat\"", "let x = 0"], &[], Arch::C));
    assert_ne!(base, print(["include \"x.cat\"", "let x = po"], &[], Arch::C));
    assert_ne!(base, print(["include \"x.cat\" ", "let x = 0"], &[], Arch::C));
    assert_ne!(base, print(["include \"x.cat\"", "let x = 0"], &["v"], Arch::C));
    assert_ne!(base, print(["include \"x.cat\"", "let x = 0"], &[], Arch::Arm));
}

#[test]
fn every_built_in_model_stages_for_its_architecture() {
    let fragments = [
        "stdlib",
        "cos",
        "cos-opt",
        "cross",
        "armv8",
        "herding-cats",
        "mips-sync",
        "spirv-axioms",
        "llvm-axioms",
        "amdgcn",
    ];
    for name in built_in_names().filter(|n| !fragments.contains(n)) {
        let archs: &[Arch] = match name {
            "aarch64" => &[Arch::AArch64],
            "aarch32" | "armv7" => &[Arch::Arm],
            "riscv" => &[Arch::RiscV],
            "ppc" => &[Arch::Ppc],
            n if n.starts_with("x86") => &[Arch::X86, Arch::X86_64],
            n if n.starts_with("mips") => &[Arch::Mips],
            "rc11" | "rc11-lb" | "c11" => &[Arch::C, Arch::Llvm],
            n if n.starts_with("llvm") => &[Arch::Llvm],
            "ptx" => &[Arch::Ptx],
            "bpf" => &[Arch::Bpf],
            n if n.starts_with("litmake-loongarch") => &[Arch::LoongArch],
            "litmake-s390x" => &[Arch::S390x],
            n if n.starts_with("gfx") => &[Arch::AmdGcn],
            "spirv" | "spirv-opencl" => &[Arch::Spirv],
            "sc" | "const-write" => &Arch::ALL,
            _ => &[Arch::C],
        };
        for &arch in archs {
            let options = LoadOptions::new(arch);
            let model = litmake::cat::load::load(name, &options).unwrap_or_else(|e| panic!("{e}"));
            let plan = stage(&model).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(plan.checks.len() >= 2, "{name} for {}", arch.name());
        }
    }
}
