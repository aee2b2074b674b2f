//! The keys of results follow the code that computes them: a line is changed in each crate in turn, and
//! cargo is asked what the stages are told.
//!
//! It runs on a copy of the workspace in which every crate is empty for the compiler: what counts is
//! what build scripts read, and what cargo hands from one to the next.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Copy {
    dir: tempfile::TempDir,
    /// The crates that each crate's manifest names.
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Copy {
    fn new() -> Copy {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = tempfile::tempdir().unwrap();
        let mut uses = BTreeMap::new();
        let mut members = Vec::new();
        for entry in std::fs::read_dir(root.join("src")).unwrap() {
            let from = entry.unwrap().path();
            let Ok(manifest) = std::fs::read_to_string(from.join("Cargo.toml")) else { continue };
            let name = from.file_name().unwrap().to_string_lossy().into_owned();
            let to = dir.path().join("src").join(&name);
            copy(&from, &to);
            members.push(name.clone());
            if name != "build" {
                let (own, text) = emptied(&manifest);
                uses.insert(name, own);
                std::fs::write(to.join("Cargo.toml"), text).unwrap();
                std::fs::write(to.join("empty.rs"), "").unwrap();
            }
        }
        std::fs::copy(root.join("Cargo.lock"), dir.path().join("Cargo.lock")).unwrap();
        let mut text = "[workspace]\nresolver = \"3\"\nmembers = [\"src/*\"]\n[workspace.package]\nversion = \"0.1.0\"\nedition = \"2024\"\nrust-version = \"1.90\"\nlicense = \"MIT\"\n[workspace.lints]\n[workspace.dependencies]\nblake3 = \"1\"\n".to_string();
        for name in &members {
            text += &format!("litmake-{name} = {{ path = \"src/{name}\" }}\n");
        }
        std::fs::write(dir.path().join("Cargo.toml"), text).unwrap();
        Copy { dir, uses }
    }

    /// What each file of the stages is told, and the crate `passes`.
    fn keys(&self) -> BTreeMap<String, String> {
        let out = Command::new(env!("CARGO"))
            .args(["check", "--offline", "--quiet", "--package", "litmake-passes"])
            .args(["--message-format", "json"])
            .current_dir(self.dir.path())
            .env("CARGO_TARGET_DIR", self.dir.path().join("target"))
            .env_remove("RUSTFLAGS")
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let mut keys = BTreeMap::new();
        for line in String::from_utf8(out.stdout).unwrap().lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            let id = message["package_id"].as_str().unwrap_or_default();
            let keyed = ["/stage#", "/passes#"].iter().any(|end| id.contains(end));
            if message["reason"] == "build-script-executed" && keyed {
                let told = message["env"].as_array().unwrap().iter();
                keys.extend(told.map(|pair| {
                    let text = |i: usize| pair[i].as_str().unwrap();
                    let name = match text(0) {
                        "LITMAKE_CRATE" => "passes",
                        name => name.strip_prefix("LITMAKE_STAGE_").unwrap(),
                    };
                    (name.to_lowercase(), text(1).to_string())
                }));
            }
        }
        let both = keys.contains_key("passes") && keys.contains_key("simulate");
        assert!(both, "cargo does not tell what the build scripts said: {keys:?}");
        keys
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("src").join(name)
    }

    /// The keys that change with a line in a file.
    fn changed_by(&self, file: &str) -> BTreeSet<String> {
        let before = self.keys();
        let path = self.path(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}\nfn one_more_line() {{}}\n")).unwrap();
        let after = self.keys();
        before.into_iter().filter(|(name, key)| after[name] != *key).map(|(name, _)| name).collect()
    }

    /// A crate and all that it uses, however indirectly.
    fn closure(&self, name: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut todo = vec![name.to_string()];
        while let Some(name) = todo.pop() {
            if seen.insert(name.clone()) {
                todo.extend(self.uses[&name].iter().cloned());
            }
        }
        seen
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(std::fs::copy(&path, to).unwrap()),
        }
    }
}

/// What a manifest names of this workspace, and the manifest with nothing else, of an empty crate.
fn emptied(manifest: &str) -> (BTreeSet<String>, String) {
    let mut uses = BTreeSet::new();
    let mut out = String::new();
    let mut section = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let own = line.strip_prefix("litmake-").and_then(|l| l.split('.').next());
        match section {
            "[dev-dependencies]" | "[target.'cfg(unix)'.dependencies]" => continue,
            "[dependencies]" if !line.starts_with('[') => match own {
                Some(name) => drop(uses.insert(name.to_string())),
                None => continue,
            },
            "[lib]" if line.starts_with("path") => {
                out += "path = \"empty.rs\"\n";
                continue;
            }
            _ => {}
        }
        out += line;
        out += "\n";
    }
    (uses, out)
}

/// The stages that compute something, and crates that have a part in it whatever else has. It is said
/// here once more, by hand and by what each does, so that what is computed has something to agree with.
const PARTS: [(&str, &[&str]); 13] = [
    ("simulate", &["sim", "cat", "isa", "lang", "litmus", "ops", "base"]),
    ("compiled", &["toolchain", "profile", "isa", "lang", "litmus", "ops", "base"]),
    ("verdict", &["litmus", "base"]),
    ("dedupe", &["litmus", "base"]),
    ("diff", &["litmus", "base"]),
    ("generated", &["generate", "select", "sim", "cat", "base"]),
    ("mutate", &["mutate", "litmus"]),
    ("threads", &["mix", "lang", "litmus"]),
    ("split", &["mix", "litmus", "isa"]),
    ("link", &["mix", "toolchain"]),
    ("layout", &["toolchain", "profile"]),
    ("passes", &["passes", "stage", "toolchain", "sim"]),
    ("run", &["cpu", "gpu", "devices", "sim", "toolchain", "stats"]),
];

#[test]
fn a_line_in_any_crate_changes_the_keys_of_what_it_computes() {
    let copy = Copy::new();
    let crates: Vec<String> = copy.uses.keys().filter(|c| *c != "stage").cloned().collect();
    assert!(crates.len() > 15, "{crates:?}");
    for name in crates {
        let changed = copy.changed_by(&format!("{name}/mod.rs"));
        for (stage, parts) in PARTS {
            let has_a_part = parts.iter().any(|part| copy.closure(part).contains(&name));
            assert!(
                !has_a_part || changed.contains(stage),
                "a line in `{name}` can change what `{stage}` gives, and not its key"
            );
        }
        // Where nothing can be changed, nothing is done anew.
        match name.as_str() {
            "report" | "reduce" => {
                none_of(&changed, &["simulate", "compiled", "verdict", "generated"])
            }
            "toolchain" | "gpu" | "cpu" => none_of(&changed, &["simulate", "verdict", "generated"]),
            "sim" | "cat" => none_of(&changed, &["compiled", "split"]),
            "mix" => none_of(&changed, &["compiled", "mutate", "generated"]),
            _ => {}
        }
    }
}

fn none_of(changed: &BTreeSet<String>, names: &[&str]) {
    assert!(!names.iter().any(|n| changed.contains(*n)), "{names:?} in {changed:?}");
}

#[test]
fn a_line_in_a_stage_counts_there_and_one_in_a_test_nowhere() {
    let copy = Copy::new();
    let changed = copy.changed_by("stage/simulate.rs");
    assert!(changed.contains("simulate") && !changed.contains("compiled"), "{changed:?}");
    // Those who use all of it are told of all of it.
    assert!(changed.contains("passes"), "{changed:?}");
    let changed = copy.changed_by("stage/items.rs");
    // Verdicts are made from outcomes, and layouts from types; every other stage reads tests.
    let reads_tests = |stage: &str| !matches!(stage, "verdict" | "layout");
    assert!(
        PARTS.iter().filter(|(s, _)| reads_tests(s)).all(|(s, _)| changed.contains(*s)),
        "{changed:?}"
    );
    assert!(copy.changed_by("generate/tests.rs").is_empty(), "tests do not count");
}
